//! The fix of a ladder: a wave form in its place.
//!
//! A form replaces the statements of a ladder: it reads what they read and leaves what they left. `scan` and
//! `reduction` say why each form is right and what it assumes. The fix does not rely on that: before it is offered,
//! the fixed kernel is compared with the flagged one at every wave size, under every packing for which the form
//! should be right.

use shaderlint_hlsl::{FileSpan, FunctionId, Intrinsic, Scalar, Shader, Span, blank_comments};
use shaderlint_linter::{At, Context, Edit, Fix, FixForm, NoFix, Safety, ShaderModel};
use shaderlint_simt::{
    Collective, Elements, Kind, LaneMap, Left, Needs, Obstacle, Operator, Rewrite, StepEdit, proved_of_itself,
};

use crate::fixes::too_long;
use crate::fixes::waves::form::{WaveForm, barrier_of};
use crate::fixes::waves::last_calls::only_called_by;
use crate::fixes::waves::proof::{NOT_PROVED, Proof, Scope, prove};
use crate::fixes::waves::refusal::{
    Refusal, SLOWER, no_form, no_index, no_place, not_replaceable, other_results,
};
use crate::fixes::waves::totals::{Totals, fits, totals_declared, totals_name, totals_place};
use crate::fixes::waves::{choice, reduction, scan};
use crate::source::configuration::{AS_CONFIGURED, Replacement, holds_in_all};
use crate::source::element;
use crate::source::group_size::{has_literal_size, width_by_name};
use crate::source::names::local_name;
use crate::source::text::{Spelled, in_parentheses, text_in_file};
use crate::source::unit::Unit;
use crate::source::words::words;

/// A replacement that is proved to keep the kernel's results at every wave size.
pub(crate) struct Proved {
    pub fix: Fix,
    /// It is right only where waves hold consecutive threads.
    pub is_linear: bool,
    /// How many barriers a thread passes in the replacement.
    barriers: usize,
}

pub(crate) fn fix(context: &Context<'_>, found: &Collective) -> Result<Proved, Refusal> {
    // Only its proof says whether to report a reduction.
    if !context.wants_fixes && found.kind != Kind::Reduction {
        return Err(Refusal::because("not-asked", "none was asked for"));
    }
    let rewrite = found
        .rewrite
        .as_ref()
        .map_err(|obstacle| not_replaceable(context, found, *obstacle))?;
    let collectives = context.analysis.collectives.iter();
    let is_other = |other: &&Collective| other.span.start != found.span.start;
    let proofs = 1 + collectives.take_while(is_other).count() as u64;
    let found = &found.without_last_step();
    let rewrite = &with_what_others_read(context.shader, found, rewrite)
        .map_err(|obstacle| not_replaceable(context, found, obstacle))?;
    let (rewrite, index) = &match &rewrite.row {
        Some(row) => {
            let (rewrite, index) = with_index(context, found, rewrite, row).ok_or_else(no_index)?;
            (rewrite, Some(index))
        }
        None => (rewrite.clone(), None),
    };
    let write = |totals: &str| {
        let mut forms = if let Some(companions) = &found.companions {
            choice::forms(context, found, rewrite, companions)
        } else if found.kind == Kind::Reduction {
            reduction::forms(context, found, rewrite, totals)
        } else {
            scan::forms(context, found, rewrite, totals)
        };
        for (form, index) in forms.iter_mut().zip(index.iter().cycle()) {
            let expanded = form.expanded.as_ref().unwrap_or(&form.block);
            let expanded = expanded.replacen("{\n", &format!("{{\n{}", index.expanded), 1);
            let is_by_name = index.in_file != index.expanded;
            form.expanded = (is_by_name || form.expanded.is_some()).then_some(expanded);
            form.block = form.block.replacen("{\n", &format!("{{\n{}", index.in_file), 1);
            form.is_flat &= index.in_file.is_empty();
        }
        forms
    };
    let mut forms = write(&totals_name(context.shader, found));
    // Of a kernel that races only the statements can be proved alone, and the other uses of the array are not among
    // these.
    if !context.analysis.races.is_empty() {
        forms.retain(|form| form.sole_use.is_none());
    }
    let is_there = |form: FixForm| forms.iter().any(|written| written.kind() == form);
    let has_both = FixForm::ALL.into_iter().all(is_there);
    let other_form = |of: FixForm| has_both.then(|| scan::other_form(context, found, of));
    if forms.is_empty() && !found.beside.is_empty() {
        return Err(other_results());
    }
    let slower = reduction::slower(found).filter(|_| found.kind == Kind::Reduction && forms.is_empty());
    if let Some(why) = slower {
        return Err(Refusal::because(SLOWER, why));
    }
    if forms.is_empty() && found.companions.is_some() {
        return Err(not_replaceable(context, found, Obstacle::Companions));
    }
    if !forms.is_empty() && context.analysis.steps.saturating_mul(proofs) > MAX_STEPS {
        return Err(Refusal::NotProved(too_long()));
    }
    let is_by_atomic = found.kind == Kind::Reduction && reduction::atomic(found).is_some();
    let mut why_not = no_form(context, found, rewrite, is_by_atomic);
    for (number, form) in forms.into_iter().enumerate() {
        let other_form = other_form(form.kind());
        let proved = |form| {
            let mut proved = proved(context, found, form)?;
            proved.fix.other_form.clone_from(&other_form);
            Ok(proved)
        };
        if let [totals] = form.totals.as_slice()
            && let Some(array) = totals_declared(context.shader, found, totals)
            && let Some(mut form) = write(array).into_iter().nth(number)
        {
            form.totals.clear();
            if let Ok(fix) = proved(form) {
                return Ok(fix);
            }
        }
        match proved(form) {
            Err(why) if why_not != Refusal::HasOtherUses => why_not = why,
            Err(_) => {}
            fix => return fix,
        }
    }
    // A form that leaves the total in an element does not show whether other code reads that element.
    if why_not == Refusal::HasOtherUses && rewrite.last_step.is_some() {
        let text = "its last step, or what comes after it, reads more than the total";
        return Err(Refusal::because("other-uses", text));
    }
    // The proofs above come first: even one that fails may show other uses of the result, and one of the statements
    // alone may succeed.
    if matches!(&why_not, Refusal::NotProved(why) if why.reason == NOT_PROVED) {
        if !found.instances.is_empty() {
            return Err(not_replaceable(context, found, Obstacle::SomeRuns));
        }
        results_are_known(context, found.needs)?;
    }
    Err(why_not)
}

/// A rewrite for forms that first compute the thread's index, and the declaration of the index: with the file's name
/// for the group's width, and with a number.
fn with_index(
    context: &Context<'_>,
    found: &Collective,
    rewrite: &Rewrite,
    row: &str,
) -> Option<(Rewrite, Spelled)> {
    let name = local_name(context.shader, found, "waveThread");
    let lane = &rewrite.lane;
    let declared = |width: &str| format!("    uint {name} = {row} * {width} + {lane};\n");
    let [width, ..] = context.analysis.group_size;
    let in_figures = declared(&width.to_string());
    let by_name = if has_literal_size(context) {
        in_figures.clone()
    } else {
        declared(&width_by_name(context, found)?)
    };
    let rewrite = Rewrite {
        lane: name,
        row: None,
        ..rewrite.clone()
    };
    let declaration = Spelled {
        in_file: by_name,
        expanded: in_figures,
    };
    Some((rewrite, declaration))
}

/// No proof can show that a fix keeps results that are unknown in the kernel itself.
fn results_are_known(context: &Context<'_>, needs: Needs) -> Result<(), Refusal> {
    proved_of_itself(needs.floats(), (context.shader, context.entry)).map_err(|reason| {
        let text = format!(
            "no fix can be proved, as the results of the kernel itself are not fully known: {reason}"
        );
        Refusal::because("unknown-results", text)
    })
}

/// A rewrite that also leaves what other builds may read: a variable that the file names behind the construct, or
/// where an `#if` chooses, even in a macro that expands to nothing here.
fn with_what_others_read(
    shader: &Shader,
    found: &Collective,
    rewrite: &Rewrite,
) -> Result<Rewrite, Obstacle> {
    let mut rewrite = rewrite.clone();
    let function = shader.functions.get(found.function.0 as usize);
    let unit = Unit::of(shader);
    let behind = function.and_then(|function| unit.text_behind(shader, found.span, function.span));
    let choices = unit.choices.iter().filter(|choice| !choice.is_guard);
    let chosen: Vec<&[u8]> = choices.map(|choice| unit.text_of(choice)).collect();
    for (local, left) in std::mem::take(&mut rewrite.unread) {
        let name = function.and_then(|function| function.locals.get(local.0 as usize));
        let name = name.map(|local| local.name.as_bytes());
        let names_it = |text: &&[u8]| words(text).any(|word| Some(word) == name || word == b"include");
        if behind.is_none_or(|behind| names_it(&behind)) || chosen.iter().any(names_it) {
            match left {
                Left::Number(value) => rewrite.settled.push((local, value)),
                Left::Result(None) => rewrite.also.push(Elements::Register {
                    local,
                    component: None,
                }),
                Left::Result(Some(number)) => rewrite.further.push((local, number)),
                Left::Other => return Err(Obstacle::Leaves(local)),
            }
        }
    }
    Ok(rewrite)
}

/// The fix with this form, if it is proved.
fn proved(context: &Context<'_>, found: &Collective, mut form: WaveForm) -> Result<Proved, Refusal> {
    let shader = context.shader;
    let over = fit(shader, found, &mut form);
    if let Some(why) = may_change(shader, found, &form) {
        return Err(Refusal::NotProved(why));
    }
    if form.keeps_totals {
        has_memory(context, found, &form)?;
    }
    let of_last_step = match form.sole_use {
        None => last_step(context, found),
        Some(_) => Vec::new(),
    };
    // A choice with code where results are read makes the fix unsafe anyway: it is in the function.
    let gone = form.sole_use.iter().flat_map(|sole| &sole.gone).copied();
    let whole = of_last_step
        .iter()
        .map(|edit| edit.at.span())
        .chain(gone)
        .fold(found.span.to(over), Span::to);
    let replacement = Replacement {
        function: found.function,
        over: whole,
        form: &form.text(),
        adds_memory: !form.totals.is_empty(),
    };
    let holds_in_all = holds_in_all(shader, context.entry, &replacement);
    let barriers = form.barriers(barrier_of(found));
    let mut edits = declarations(shader, found, &form)?;
    edits.extend(form.sole_use.iter().flat_map(|sole| sole.edits(shader)));
    edits.push(Edit {
        at: match form.sole_use {
            None => At::OverChoices(over),
            Some(_) => At::Over(over),
        },
        text: form.block,
        expanded: form.expanded,
    });
    edits.extend(of_last_step);
    let called = { found.rewrite.iter() }.flat_map(|rewrite| only_called_by(shader, found, rewrite));
    let uncalled = called.map(|function| Edit {
        at: At::Over(function.span),
        text: String::new(),
        expanded: None,
    });
    let uncalled: Vec<Edit> = uncalled.collect();
    let scope = Scope {
        maps: form.maps,
        needs: found.needs,
    };
    let proof = prove(context, &edits, &uncalled, scope)?;
    edits.extend(uncalled.into_iter().filter(|_| proof.is_whole));
    let doubt = doubt(context, &proof, holds_in_all);
    // Minima and maxima of floats are exact, but wave intrinsics promise nothing about NaNs and the two zeros.
    let has_floats = found.element == Scalar::Float || found.operators().any(Operator::is_on_floats);
    let is_exact = proof.is_exact && found.needs == Needs::default() && !has_floats;
    let fix = Fix {
        title: "replace the ladder by wave intrinsics".to_owned(),
        safety: if is_exact && doubt.is_none() {
            Safety::Safe
        } else {
            Safety::Unsafe
        },
        proof: Some(proof.text),
        notes: doubt.into_iter().map(str::to_owned).collect(),
        edits,
        other_form: None,
    };
    Ok(Proved {
        fix,
        is_linear: form.maps == [LaneMap::Linear],
        barriers,
    })
}

/// What the fix rests on besides its proof.
fn doubt(context: &Context<'_>, proof: &Proof, holds_in_all: bool) -> Option<&'static str> {
    // Nothing is promised for a group that diverges at a barrier, and a wave is not whole once threads have left it.
    let is_as_one = context.analysis.divergences.is_empty() && !proof.may_part;
    if proof.ends_races {
        Some(ENDS_RACES)
    } else if !is_as_one {
        Some(AS_ONE)
    } else if !holds_in_all {
        Some(AS_CONFIGURED)
    } else {
        None
    }
}

/// Fits the form into the text around the ladder, and says what it takes the place of.
fn fit(shader: &Shader, found: &Collective, form: &mut WaveForm) -> Span {
    let (over, before, behind, is_flat) = if let Some(sole) = &form.sole_use {
        (sole.over, String::new(), String::new(), true)
    } else if let Some((whole, [before, behind])) = replaced(shader, found.span) {
        let is_flat = form.is_flat && stands_in_block(shader, found.function, whole);
        (whole, before, behind, is_flat)
    } else {
        return found.span;
    };
    for text in std::iter::once(&mut form.block).chain(&mut form.expanded) {
        if is_flat {
            *text = without_braces(text);
        }
        text.insert_str(0, &before);
        if !behind.is_empty() {
            text.push('\n');
            text.push_str(behind.trim_end());
        }
    }
    over
}

/// Whether there is memory for the totals of the form, beside those of the kernel's other ladders.
fn has_memory(context: &Context<'_>, found: &Collective, form: &WaveForm) -> Result<(), Refusal> {
    let others = context.analysis.collectives.iter();
    let others = others.filter(|other| other.span.start != found.span.start && other.windows.is_empty());
    let words = |of: &Collective| u32::from(of.vector.unwrap_or(1));
    let slots = others.map(|other| other.count.div_ceil(4) * words(other));
    let own = { form.totals.iter() }.map(|totals| totals.slots() * words(found));
    fits(context.shader, slots.chain([own.sum()])).map_err(|why| Refusal::because("memory", why))
}

/// The edits of declarations: those of the form go where the array was that goes with the ladder, if one does, or
/// behind what they need.
fn declarations(shader: &Shader, found: &Collective, form: &WaveForm) -> Result<Vec<Edit>, Refusal> {
    let gone = form.sole_use.as_ref().and_then(|sole| sole.declaration);
    let new_helper = form.helper.as_ref().filter(|helper| !helper.is_declared);
    let of_others = new_helper.and_then(|helper| helper.totals_of(shader));
    let at = match (of_others, gone) {
        (Some(array), _) => Some(At::After(array)),
        (None, Some(gone)) => Some(At::Over(gone)),
        (None, None) => totals_place(shader, found),
    };
    let mut edits = Vec::new();
    if !form.totals.is_empty() || new_helper.is_some() {
        let at = at
            .filter(|at| stands_with(shader, *at, found.span))
            .ok_or_else(no_place)?;
        let lines = form.totals.iter().map(Totals::lines);
        let (mut in_file, mut in_figures): (Vec<String>, Vec<String>) =
            lines.map(|line| (line.in_file, line.expanded)).unzip();
        let behind = match at {
            At::Before(place) => place,
            At::After(place) | At::Over(place) | At::OverChoices(place) => last_declaration(shader, place),
        };
        if let Some(helper) = new_helper.filter(|_| behind == at.span()) {
            in_file.push(helper.set_off(shader, at));
            in_figures.push(helper.text.expanded.clone());
        } else if let Some(helper) = new_helper {
            let at = At::After(behind);
            edits.push(Edit {
                at,
                text: helper.set_off(shader, at),
                expanded: Some(helper.text.expanded.clone()),
            });
        }
        if !in_file.is_empty() {
            edits.push(Edit {
                at,
                text: in_file.join("\n"),
                expanded: Some(in_figures.join("\n")),
            });
        }
    }
    let stands_there = |edit: &Edit| Some(edit.at) == gone.map(At::Over);
    if let Some(gone) = gone.filter(|_| !edits.iter().any(stands_there)) {
        edits.push(Edit {
            at: At::Over(gone),
            text: String::new(),
            expanded: None,
        });
    }
    Ok(edits)
}

/// Whether each `#if` that chooses the text at a place chooses the ladder too: otherwise a build may have one without
/// the other.
fn stands_with(shader: &Shader, at: At, ladder: Span) -> bool {
    let places = [at.span(), ladder].map(|span| shader.origins.locate(span));
    let [Some(place), Some(ladder)] = places else {
        return false;
    };
    Unit::of(shader).choices.iter().all(|choice| {
        let holds = |place: FileSpan| {
            choice.file == place.file.0 as usize
                && (choice.start..choice.end).contains(&(place.start as usize))
        };
        choice.is_guard || !holds(place) || holds(ladder)
    })
}

/// The last of the declarations that follow a declaration, one on each line.
fn last_declaration(shader: &Shader, declared: Span) -> Span {
    let follows = |one: Span, next: Span| {
        let between = Span {
            start: one.end,
            end: next.start,
        };
        let text = (one.end <= next.start)
            .then(|| text_in_file(shader, between))
            .flatten();
        text.is_some_and(|text| {
            let code = blank_comments(text.as_bytes());
            code.iter()
                .all(|byte| *byte == b';' || byte.is_ascii_whitespace())
                && text.matches('\n').count() == 1
        })
    };
    let mut last = declared;
    while let Some(next) = shader.globals.iter().find(|next| follows(last, next.span)) {
        last = next.span;
    }
    last
}

/// The edits of a reduction's last step, where it stays in the text: it reads the total that the form leaves, or has
/// nothing to store any more.
fn last_step(context: &Context<'_>, found: &Collective) -> Vec<Edit> {
    let step = found
        .rewrite
        .as_ref()
        .ok()
        .and_then(|rewrite| rewrite.last_step.as_ref());
    let Some(step) = step else {
        return Vec::new();
    };
    let read = element::text(context, found, &step.cell, "");
    let edit = |at: Span, text: &str| Edit {
        at: At::Over(at),
        text: text.to_owned(),
        expanded: None,
    };
    let edits = step.edits.iter().map(|step| match *step {
        StepEdit::ReadTotal(total) => edit(in_parentheses(context.shader, total), &read),
        StepEdit::Remove(statement) => edit(statement, ""),
    });
    edits.collect()
}

/// What the offered wave form needs: the assumptions of its proof.
pub(crate) fn needs(found: &Collective, proved: &Proved, needed: ShaderModel) -> String {
    let packing = if proved.is_linear {
        LINEAR
    } else if found.kind == Kind::Reduction {
        ANY
    } else {
        ANY_BY_ONE_WAVE
    };
    let barriers = in_words(proved.barriers);
    format!("the wave form {barriers}needs shader model {needed} and {packing}")
}

/// The beginning of a sentence about so many barriers.
fn in_words(barriers: usize) -> String {
    match barriers {
        0 => String::new(),
        1 => "passes one barrier instead; it ".to_owned(),
        2 => "passes two barriers instead; it ".to_owned(),
        3 => "passes three barriers instead; it ".to_owned(),
        more => format!("passes {more} barriers instead; it "),
    }
}

/// A note on a fix that holds if the group does not diverge.
const AS_ONE: &str = "the fix is proved of a group whose threads all reach every barrier";

/// A note on a fix of a kernel that races.
const ENDS_RACES: &str = "the kernel races as it stands; with the fix no race is found any more";

/// How wave forms treat floats otherwise than the ladder.
pub(crate) fn of_floats(found: &Collective) -> Vec<String> {
    let rounds = "a wave form combines floats in another order, so results may round differently";
    let of_extrema = "wave intrinsics do not say what they make of NaNs, nor of which zero is less";
    let picks_floats = |operator: Operator| operator.is_extremum() && operator.is_on_floats();
    let said = [
        (!found.is_exact(), rounds),
        (found.operators().any(picks_floats), of_extrema),
    ];
    let said = said.into_iter().filter(|(is_so, _)| *is_so);
    said.map(|(_, text)| text.to_owned()).collect()
}

/// What the linear forms assume.
pub(crate) const LINEAR: &str =
    "waves that hold consecutive threads, as every known implementation packs 1-D groups";

/// What the other forms of a reduction assume.
pub(crate) const ANY: &str = "nothing else: any threads may share a wave";

/// What the other forms of a scan assume.
const ANY_BY_ONE_WAVE: &str = "nothing of which threads share a wave: that of thread 0 scans all elements";

/// Why there is no fix for such a group.
pub(crate) fn no_packing(context: &Context<'_>, what: &str) -> NoFix {
    let [x, y, z] = context.analysis.group_size;
    let text = format!("no wave form is written for {what} in a group of {x}\u{d7}{y}\u{d7}{z}");
    NoFix::new("rows", text)
}

/// The most steps that the proofs of an entry point's fixes may take, counted by those of its first run.
const MAX_STEPS: u64 = 4_000_000;

/// The text that a form replaces: the statements, the rest of the macro calls that they are part of, and a semicolon
/// behind such a call. Barriers in that rest, before the statements and behind them, stay. `None` where the rest has
/// more.
fn replaced(shader: &Shader, statements: Span) -> Option<(Span, [String; 2])> {
    let whole = shader.origins.whole_calls(statements);
    let [before, behind] =
        [(whole.start, statements.start), (statements.end, whole.end)].map(|(start, end)| {
            let text = Span { start, end }.slice(&shader.text).trim_ascii();
            let calls = text.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let calls: Vec<&[u8]> = calls.filter(|call| !call.is_empty()).collect();
            let names = calls
                .iter()
                .map(|call| std::str::from_utf8(call.strip_suffix(b"()")?).ok());
            let names = names.collect::<Option<Vec<&str>>>()?;
            let is_barrier =
                |name: &&str| Intrinsic::from_name(name.trim()).is_some_and(Intrinsic::is_group_barrier);
            names.iter().all(is_barrier).then(|| {
                let calls = names.iter().map(|name| format!("{name}();\n"));
                calls.collect::<String>()
            })
        });
    let is_followed = shader.text.get(whole.end as usize) == Some(&b';');
    let end = whole.end + u32::from(is_followed);
    Some((Span { end, ..whole }, [before?, behind?]))
}

/// Whether several statements with their declarations may replace a statement: it is among others in braces, and in
/// no `switch`, which may jump over declarations.
fn stands_in_block(shader: &Shader, function: FunctionId, statement: Span) -> bool {
    let Some(function) = shader.functions.get(function.0 as usize) else {
        return false;
    };
    let before = Span {
        end: statement.start,
        ..function.span
    };
    let before = blank_comments(before.slice(&shader.text));
    let is_of_switch = words(&before).any(|word| word == b"switch");
    !is_of_switch && matches!(before.trim_ascii_end().last(), Some(b';' | b'{' | b'}'))
}

/// The statements of a block.
fn without_braces(block: &str) -> String {
    let inner = block
        .strip_prefix("{\n")
        .and_then(|block| block.strip_suffix('}'));
    let lines = inner.unwrap_or(block).lines();
    let lines = lines.map(|line| line.strip_prefix("    ").unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Why the text of the form in the file may not be the proved text. The proof is about expanded text, but the file's
/// text is expanded once more: a macro with the name of anything in the form (a fallback for `WavePrefixSum`, say)
/// would change it. A form does not qualify names, so it cannot name declarations in a namespace; and `using` could
/// bring in names.
fn may_change(shader: &Shader, found: &Collective, form: &WaveForm) -> Option<NoFix> {
    let unit = Unit::of(shader);
    let function = found.function;
    if unit.is_expanded(shader, b"namespace") {
        let functions = shader
            .functions
            .get(function.0 as usize)
            .map(|function| &*function.name);
        let arrays = found
            .arrays
            .iter()
            .filter_map(|array| shader.globals.get(array.0 as usize));
        let mut names = functions.into_iter().chain(arrays.map(|array| &*array.name));
        if let Some(name) = names.find(|name| name.contains("::")) {
            let text = format!("no form is written for what is in a namespace, as `{name}` is");
            return Some(NoFix::new("namespaces", text).named(name));
        }
        if unit.may_name(b"using") {
            let text = "no form is written where `using` may bring names of a namespace in";
            return Some(NoFix::new("namespaces", text));
        }
    }
    let block = form.expanded.as_ref().unwrap_or(&form.block);
    let declaration = form.totals.iter().map(|totals| &totals.declaration);
    let helper = form.helper.iter().map(|helper| &helper.text.expanded);
    let mut texts = std::iter::once(block).chain(declaration).chain(helper);
    texts.find_map(|text| unit.may_change(shader, function, words(&blank_comments(text.as_bytes()))))
}
