//! Fixes: the fixed text must parse as well as before, the finding must be gone, and the kernels must be proved equal
//! again, this time from the texts of the files, in every known reading.

use std::mem::discriminant;

use shaderlint::fuzzing::findings;
use shaderlint_hlsl::{FunctionId, Shader, Sources};
use shaderlint_linter::{
    Assumption, Category, Caveat, Diagnostic, FileEdit, Fix, Report, Safety, Verdict, apply, settle,
    whole_shaders,
};
use shaderlint_simt::{
    Kernel, LaneMap, Needs, Outcome, WaveRun, calls_unknown, compare, compare_stretch, compare_with,
};

use crate::checks;
use crate::independent::{check_memory, check_order, check_types, text_reached};
use crate::ladders::Reading;

/// The maximum length of a text: longer ones show nothing more.
const LONGEST: usize = 4096;

/// The findings of the program in a file.
fn look(text: &[u8]) -> (Sources, Report) {
    findings(text).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Checks every fix by itself, and all of them together.
///
/// # Panics
/// If something is wrong.
pub fn fixes(bytes: &[u8]) {
    if bytes.len() <= LONGEST
        && let Err(wrong) = check_fixes(bytes, &[Reading::plain()])
    {
        panic!("{wrong}");
    }
}

/// The correct findings and fixes for a text.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The rules with a finding, each with whether the finding has a fix.
    pub found: Vec<(&'static str, bool)>,
}

/// As [`fixes`], for a text of any length with these readings.
///
/// # Errors
/// A description of what is wrong.
///
/// # Panics
/// If a place is invalid, or the program itself panics.
pub fn check_fixes(bytes: &[u8], readings: &[Reading]) -> Result<Checked, String> {
    let (sources, report) = look(bytes);
    checks::report(&sources, &report);
    let found = report
        .findings
        .iter()
        .map(|finding| (finding.rule, finding.fix.is_some()));
    let checked = Checked {
        found: found.collect(),
    };
    if report.findings.iter().all(|finding| finding.fix.is_none()) {
        return Ok(checked);
    }
    for finding in &report.findings {
        check_fix(bytes, finding, &report, readings)?;
    }
    let settled = settle(bytes, true, |text| look(text).1, |report| &report.findings);
    assert!(!settled.fixed.is_empty(), "fixes that are not made");
    let has_fix = |finding: &Diagnostic| finding.fix.is_some();
    if settled.last.findings.iter().any(has_fix) {
        let text = String::from_utf8_lossy(&settled.text);
        return Err(format!("it never settles:\n{text}"));
    }
    Ok(checked)
}

/// Checks the finding's fix by itself, if it has one.
fn check_fix(
    bytes: &[u8],
    finding: &Diagnostic,
    report: &Report,
    readings: &[Reading],
) -> Result<(), String> {
    let Some(fix) = &finding.fix else {
        return Ok(());
    };
    let fixed = apply(bytes, [fix]);
    assert_eq!(fixed.count, 1, "a fix that cannot be made: {fix:?}");
    let wrong = |what: String| {
        let text = String::from_utf8_lossy(&fixed.text);
        Err(format!(
            "{what} after `{}` ({:?}):\n{text}",
            fix.title, fix.safety
        ))
    };
    let again = look(&fixed.text).1;
    // Races are reported together, and a barrier may end some of them: then others are reported.
    let is_racy = finding.verdict == Verdict::Racy;
    let is_it = |other: &Diagnostic| {
        let is_same = || other.message == finding.message && other.notes == finding.notes;
        other.rule == finding.rule && (!is_racy || is_same())
    };
    if count(&again, is_it) >= count(report, is_it) {
        return wrong(format!("still found: {}", finding.message));
    }
    // An uninitialised element that the ladder reads may be read in several expressions of its fix.
    let is_unwritten = |other: &Diagnostic| other.verdict == Verdict::Uninitialised;
    let reads_unwritten = count(report, is_unwritten) > 0;
    let is_error = |other: &Diagnostic| {
        other.category == Category::Correctness && !(reads_unwritten && is_unwritten(other))
    };
    if count(&again, is_error) > count(report, is_error) {
        return wrong(format!("a new mistake: {:?}", again.findings));
    }
    let mut proved = 0;
    let needed = readings
        .iter()
        .filter(|reading| reading.is_declared || fix.safety == Safety::Safe);
    for reading in needed.clone() {
        match check_in(reading, bytes, &fixed.text, finding.verdict, fix) {
            Ok(count) => proved += count,
            Err(what) => return wrong(format!("in {reading}: {what}")),
        }
    }
    // Perhaps only a build knows the size of the group.
    let unknown = names_of_sizes(bytes);
    let is_sized = proved == 0 && is_equal(finding.verdict) && !unknown.is_empty();
    for (reading, size) in needed.flat_map(|reading| SIZES.map(|size| (reading, size))) {
        if !is_sized {
            break;
        }
        let [before, after] = [bytes, &fixed.text].map(|text| sized(text, &unknown, size));
        match check_in(reading, &before, &after, finding.verdict, fix) {
            Ok(count) => proved += count,
            Err(what) => return wrong(format!("in {reading}, at size {size}: {what}")),
        }
    }
    // The fixes of rules about atomics and about defects change what is done. For them it suffices that kernels
    // proved equal are not found to differ.
    if proved == 0 && is_equal(finding.verdict) {
        return wrong("no kernel is proved equal".to_owned());
    }
    Ok(())
}

/// The sizes at which kernels are compared if only a build knows the size of their group.
const SIZES: [u32; 4] = [16, 32, 64, 256];

/// The names in `numthreads` that the text does not define.
fn names_of_sizes(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words = |text: &str| text.split(|c| !is_word(c)).map(str::to_owned).collect::<Vec<_>>();
    let sizes = text.split("numthreads").skip(1);
    let sizes = sizes.filter_map(|rest| rest.split(')').next());
    let mut names: Vec<String> = sizes.flat_map(words).collect();
    names.retain(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    names.sort();
    names.dedup();
    // Whatever stands for the size in the text would be another declaration of the name.
    let all = words(&text);
    let declares = |name: &String| {
        all.windows(2)
            .any(|pair| &pair[1] == name && matches!(&*pair[0], "define" | "uint" | "int"))
    };
    if names.iter().any(declares) {
        Vec::new()
    } else {
        names
    }
}

/// The text in a build in which the first of these names is `size`, and the others are 1.
fn sized(text: &[u8], names: &[String], size: u32) -> Vec<u8> {
    let values = std::iter::once(size).chain(std::iter::repeat(1));
    let defines = names.iter().zip(values);
    let defines = defines.map(|(name, value)| format!("#define {name} {value}\n"));
    let defines = defines.collect::<Vec<_>>().concat();
    [defines.as_bytes(), text].concat()
}

fn count(report: &Report, of: impl Fn(&Diagnostic) -> bool) -> usize {
    report.findings.iter().filter(|finding| of(finding)).count()
}

/// Whether the fix of such a finding preserves the results.
fn is_equal(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Proved | Verdict::Reassociates)
}

/// The text with all fixes that should preserve its results, including unsafe ones if `unsafe_too`; `None` if there
/// are none.
#[must_use]
pub fn faster(text: &[u8], unsafe_too: bool) -> Option<Vec<u8>> {
    let look = |text: &[u8]| {
        let mut findings = look(text).1.findings;
        findings.retain(|finding| finding.category == Category::Perf);
        findings
    };
    let settled = settle(text, unsafe_too, look, |findings| findings);
    (!settled.fixed.is_empty()).then_some(settled.text)
}

/// The entry points of both texts that a reading compiles.
///
/// # Errors
/// If the two texts have different entry points.
pub fn entries(
    reading: &Reading,
    before: &Shader,
    after: &Shader,
) -> Result<Vec<(FunctionId, FunctionId, String)>, String> {
    let of = |shader: &Shader| -> Vec<(FunctionId, String)> {
        let entries = shader.entry_points();
        entries
            .map(|(id, function)| (id, function.name.clone()))
            .collect()
    };
    let (old, new) = (of(before), of(after));
    if !old
        .iter()
        .map(|(_, name)| name)
        .eq(new.iter().map(|(_, name)| name))
    {
        return Err("the entry points are others".to_owned());
    }
    let pairs = old.into_iter().zip(new);
    Ok(pairs
        .filter(|((_, name), _)| reading.compiles(name))
        .map(|((old, name), (new, _))| (old, new, name))
        .collect())
}

/// Checks that every entry point which a reading compiles still does the same. Returns for how many this is proved.
fn check_in(
    reading: &Reading,
    before: &[u8],
    after: &[u8],
    verdict: Verdict,
    fix: &Fix<FileEdit>,
) -> Result<usize, String> {
    let (before, unread) = reading.read(before);
    let (after, left) = reading.read(after);
    if left.len() > unread.len() {
        return Err(format!("what was read is not any more: {left:?}"));
    }
    check_types(&before, &after)?;
    let mut proved = 0;
    for (old, new, name) in entries(reading, &before, &after)? {
        let of_entry = |what: String| format!("`{name}`: {what}");
        let (old, new) = (Kernel::new(&before, old), Kernel::new(&after, new));
        check_memory(old, new).map_err(of_entry)?;
        check_order(old, new).map_err(of_entry)?;
        if is_equal(verdict) {
            proved += usize::from(prove(old, new, fix).map_err(of_entry)?);
        }
    }
    Ok(proved)
}

/// Whether an entry point is proved to do the same as before, under the conditions that the fix names. It need not be
/// proved if the engine cannot prove the original equal to itself, and either no text that the entry point reaches
/// has changed, or a note on the fix says that the kernel is not followed to its end.
fn prove(before: Kernel<'_>, after: Kernel<'_>, fix: &Fix<FileEdit>) -> Result<bool, String> {
    let safety = fix.safety;
    // A slip may leave a group size that no compiler accepts: no build has such a kernel.
    let Some(group) = before.group() else {
        return Ok(false);
    };
    let maps = maps(group);
    let runs: Vec<WaveRun> = compare(before, after, &maps).collect();
    if runs.iter().all(|run| matches!(run.outcome, Outcome::Equal))
        || is_proved_conditionally(before, after, &maps, fix)
    {
        return Ok(true);
    }
    let is_open = has_caveat(fix, Caveat::Unfollowed);
    let is_untouched = text_reached(before) == text_reached(after);
    for (run, with_itself) in runs.iter().zip(compare(before, before, &maps)) {
        let is_fine = match &run.outcome {
            Outcome::Equal => true,
            // For sums of floats, nothing better is proved about a kernel and itself.
            Outcome::Reassociates => {
                safety == Safety::Unsafe || matches!(with_itself.outcome, Outcome::Reassociates)
            }
            Outcome::RoundsBeyond(_) => {
                safety == Safety::Unsafe || matches!(with_itself.outcome, Outcome::RoundsBeyond(_))
            }
            // The effect of an unknown call on a new array is unknown.
            Outcome::Undecided | Outcome::NotProved(_) => {
                let is_followed = !matches!(with_itself.outcome, Outcome::Undecided | Outcome::NotProved(_));
                is_untouched && (!is_followed || calls_unknown(before.shader, before.entry))
                    || is_open && !is_followed && !with_itself.is_first_wrong
            }
            // It was wrong before, and nothing in it has changed.
            other => is_untouched && discriminant(other) == discriminant(&with_itself.outcome),
        };
        if !is_fine {
            return Err(format!("it is another kernel: {run:?}"));
        }
    }
    let is_proved = |outcome: &Outcome| outcome.is_equal() || matches!(outcome, Outcome::RoundsBeyond(_));
    Ok(runs.iter().all(|run| is_proved(&run.outcome)))
}

/// Whether equality is proved under a condition that an unsafe fix names: no float is NaN, all threads reach the
/// barriers, or the original kernel has a data race. This may compare the changed statements by themselves.
fn is_proved_conditionally(
    before: Kernel<'_>,
    after: Kernel<'_>,
    maps: &[LaneMap],
    fix: &Fix<FileEdit>,
) -> bool {
    if fix.safety == Safety::Safe {
        return false;
    }
    let proof = fix.proof.as_ref();
    let assumes = |assumption| proof.is_some_and(|proof| proof.assumes(assumption));
    let needs = Needs {
        numbers: assumes(Assumption::NoNan),
        ..Needs::default()
    };
    let is_in_place = assumes(Assumption::AllReachBarriers) || has_caveat(fix, Caveat::DataRace);
    let is_proved = |run: WaveRun| run.outcome.is_equal() || matches!(run.outcome, Outcome::RoundsBeyond(_));
    if needs.numbers && compare_with(needs.floats(), before, after, maps).all(is_proved) {
        return true;
    }
    let whole = |kernel: Kernel<'_>| whole_shaders(kernel.shader, kernel.entry, &[]).map(|[whole, _]| whole);
    if let (true, Some(first), Some(second)) = (is_in_place || needs.numbers, whole(before), whole(after)) {
        let runs = compare_stretch(needs.floats(), (&first.0, first.1), (&second.0, second.1), maps);
        return runs.is_some_and(|mut runs| runs.all(is_proved));
    }
    false
}

fn has_caveat(fix: &Fix<FileEdit>, caveat: Caveat) -> bool {
    fix.notes.iter().any(|note| note.caveat == Some(caveat))
}

/// The lane maps under which a fix has to hold: every known implementation packs a group of one row in order.
fn maps(group: [u32; 3]) -> Vec<LaneMap> {
    match group {
        [_, 1, 1] => vec![LaneMap::Linear],
        _ => LaneMap::ALL.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use shaderlint_linter::{Fix, Safety, Verdict};

    use super::check_in;
    use crate::ladders::{Language, Reading};

    /// Compares two kernels in a reading.
    fn compared(reading: &Reading, before: &str, after: &str) -> Result<usize, String> {
        let file = |body: &str| {
            format!(
                "#ifdef OTHER\n#define K 3\n#else\n#define K 2\n#endif\nRWStructuredBuffer<uint> Out;\n\
                 [numthreads(64, 1, 1)] void Aside(uint i : SV_GroupIndex) {{ Out[i] = 1; }}\n\
                 [numthreads(64, 1, 1)] void Main(uint i : SV_GroupIndex) {{ {body} }}"
            )
        };
        let (before, after) = (file(before), file(after));
        let fix = Fix {
            title: String::new(),
            safety: Safety::Safe,
            proof: None,
            notes: Vec::new(),
            edits: Vec::new(),
            other_form: None,
        };
        check_in(
            reading,
            before.as_bytes(),
            after.as_bytes(),
            Verdict::Proved,
            &fix,
        )
    }

    fn is_told_apart(reading: &Reading, before: &str, after: &str) -> bool {
        let wrong = compared(reading, before, after);
        wrong.is_err_and(|wrong| wrong.starts_with("`Main`: it is another kernel"))
    }

    #[test]
    fn a_fix_is_wrong_under_a_definition() {
        let (before, after) = ("Out[i] = i * K;", "Out[i] = i + i;");
        let other = Reading {
            defines: vec!["OTHER".to_owned()],
            ..Reading::plain()
        };
        assert_eq!(compared(&Reading::plain(), before, after), Ok(2));
        assert!(is_told_apart(&other, before, after));
        let of_another = Reading {
            entries: Some(vec!["Aside".to_owned()]),
            ..other
        };
        assert_eq!(compared(&of_another, before, after), Ok(1));
    }

    #[test]
    fn a_fix_is_wrong_in_an_older_version() {
        let before = "uint s = 7, n = 0; for (uint s = 1; s < 4; s <<= 1) n += s; Out[i] = n + s;";
        let after = "uint s = 7; Out[i] = 3 + s;";
        let older = Reading {
            language: Language::V2018,
            ..Reading::plain()
        };
        assert_eq!(compared(&Reading::plain(), before, after), Ok(2));
        assert!(is_told_apart(&older, before, after));
    }

    #[test]
    fn what_is_not_read_any_more_is_told() {
        let wrong = compared(&Reading::plain(), "Out[i] = 1;", "Out[i] = Unknown(1);");
        assert!(wrong.is_err_and(|wrong| wrong.starts_with("what was read is not any more")));
    }
}
