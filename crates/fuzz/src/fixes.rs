//! Fixes: the fixed text reads as well as before, the finding is gone, and the kernels are proved equal once more, this
//! time from the texts of the files.

use shaderlint_hlsl::{ExprKind, FunctionId, NoIncludes, Problem, Shader, expressions, read};
use shaderlint_linter::{
    Category, Diagnostic, Report, Safety, Settings, Verdict, apply, check_shader, settle,
};
use shaderlint_rules::RULES;
use shaderlint_simt::{LaneMap, Outcome, WaveRun, compare};

use crate::checks;

/// The longest text that is looked at: more of it shows no more.
const LONGEST: usize = 4096;

/// What is found in a text, and what could not be read of it.
fn look(text: &[u8]) -> (Shader, Vec<Problem>, Report) {
    let (shader, problems) = read("0", text, &[], &NoIncludes);
    let report = check_shader(&shader, RULES, &Settings::default());
    (shader, problems, report)
}

/// Every fix by itself, and all of them.
///
/// # Panics
/// Where something is wrong.
pub fn fixes(bytes: &[u8]) {
    if bytes.len() <= LONGEST {
        check_fixes(bytes);
    }
}

/// What was offered for a text, and is right.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The rules that found something, and which of the findings have a fix.
    pub found: Vec<(&'static str, bool)>,
}

/// As [`fixes`], of a text of any length.
///
/// # Panics
/// Where something is wrong.
pub fn check_fixes(bytes: &[u8]) -> Checked {
    let (shader, unread, report) = look(bytes);
    checks::report(&shader.sources, &report);
    let found = report
        .findings
        .iter()
        .map(|finding| (finding.rule, finding.fix.is_some()));
    let checked = Checked {
        found: found.collect(),
    };
    if report.findings.iter().all(|finding| finding.fix.is_none()) {
        return checked;
    }
    for finding in &report.findings {
        let Some(fix) = &finding.fix else { continue };
        let fixed = apply(bytes, [fix]);
        assert_eq!(fixed.count, 1, "a fix that cannot be made: {fix:?}");
        let shown = || format!("after `{}`:\n{}", fix.title, String::from_utf8_lossy(&fixed.text));
        let (fixed_shader, left, again) = look(&fixed.text);
        assert!(left.len() <= unread.len(), "{left:?} {}", shown());
        assert!(
            count(&again, |other| other.rule == finding.rule)
                < count(&report, |other| other.rule == finding.rule),
            "still found: {} {}",
            finding.message,
            shown()
        );
        let is_error = |other: &Diagnostic| other.category == Category::Correctness;
        assert!(
            count(&again, is_error) <= count(&report, is_error),
            "a new mistake: {:?} {}",
            again.findings,
            shown()
        );
        if let Err(message) = prove(&shader, &fixed_shader, finding) {
            panic!("{message} {}", shown());
        }
    }
    let settled = settle(bytes, true, |text| look(text).2, |report| &report.findings);
    assert!(settled.fixed > 0, "fixes that are not made");
    let has_fix = |finding: &Diagnostic| finding.fix.is_some();
    assert!(
        !settled.last.findings.iter().any(has_fix),
        "it never settles:\n{}",
        String::from_utf8_lossy(&settled.text)
    );
    checked
}

fn count(report: &Report, of: impl Fn(&Diagnostic) -> bool) -> usize {
    report.findings.iter().filter(|finding| of(finding)).count()
}

/// The text with all fixes that should leave what it computes as it is; `None` where there are none.
#[must_use]
pub fn faster(text: &[u8]) -> Option<Vec<u8>> {
    let look = |text: &[u8]| {
        let mut findings = look(text).2.findings;
        findings.retain(|finding| finding.category == Category::Perf);
        findings
    };
    let settled = settle(text, true, look, |findings| findings);
    (settled.fixed > 0).then_some(settled.text)
}

/// Whether every entry point does what it did. Rules about atomics and about mistakes change what is done: no more is
/// asked of them than that nothing is told apart that was proved to be one thing.
fn prove(before: &Shader, after: &Shader, finding: &Diagnostic) -> Result<(), String> {
    let entries = |shader: &Shader| -> Vec<(FunctionId, String)> {
        let entries = shader.entry_points();
        entries
            .map(|(id, function)| (id, function.name.clone()))
            .collect()
    };
    let (old, new) = (entries(before), entries(after));
    let names = |entries: &[(FunctionId, String)]| -> Vec<String> {
        entries.iter().map(|(_, name)| name.clone()).collect()
    };
    if names(&old) != names(&new) {
        return Err("the entry points are others".to_owned());
    }
    if !matches!(finding.verdict, Verdict::Proved | Verdict::Reassociates) {
        return Ok(());
    }
    let is_unsafe = finding
        .fix
        .as_ref()
        .is_some_and(|fix| fix.safety == Safety::Unsafe);
    let mut proved = 0;
    for ((old, name), (new, _)) in old.iter().zip(&new) {
        let maps = maps(before, *old);
        let runs: Vec<WaveRun> = compare((before, *old), (after, *new), &maps).collect();
        let is_told = |run: &WaveRun| matches!(run.outcome, Outcome::Equal);
        if runs.iter().all(is_told) {
            proved += 1;
            continue;
        }
        let with_itself = compare((before, *old), (before, *old), &maps);
        for (run, with_itself) in runs.iter().zip(with_itself) {
            let is_fine = match &run.outcome {
                Outcome::Equal => true,
                // Of sums of floats no more is known of a kernel and itself.
                Outcome::Reassociates => is_unsafe || matches!(with_itself.outcome, Outcome::Reassociates),
                // It was like that before, and is not the one that the finding is about. What an unknown call may do to an
                // array that is new is not known either.
                Outcome::NotProved(_) => {
                    matches!(with_itself.outcome, Outcome::NotProved(_))
                        || calls_unknown(before, *old) && text(before, *old) == text(after, *new)
                }
                _ => false,
            };
            if !is_fine {
                return Err(format!("`{name}` is another kernel: {run:?}"));
            }
        }
        proved += usize::from(runs.iter().all(|run| run.outcome.is_equal()));
    }
    if proved == 0 {
        return Err("no kernel is proved equal".to_owned());
    }
    Ok(())
}

fn text(shader: &Shader, entry: FunctionId) -> &[u8] {
    let function = shader.functions.get(entry.0 as usize);
    function.map_or(&[], |function| function.span.slice(&shader.text))
}

/// Whether there is something in a kernel that is not understood.
fn calls_unknown(shader: &Shader, entry: FunctionId) -> bool {
    let body = shader
        .functions
        .get(entry.0 as usize)
        .and_then(|function| function.body.as_deref());
    expressions(body.unwrap_or_default()).any(|part| matches!(part.kind, ExprKind::Opaque(_)))
}

/// The lane maps that a fix has to hold under: a group of one row is packed in order by every implementation known.
fn maps(shader: &Shader, entry: FunctionId) -> Vec<LaneMap> {
    let function = shader.functions.get(entry.0 as usize);
    match function.and_then(|function| function.group_size) {
        Some([_, 1, 1]) => vec![LaneMap::Linear],
        _ => LaneMap::ALL.to_vec(),
    }
}
