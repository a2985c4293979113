//! The fix of a ladder: a wave form in its place.
//!
//! A form replaces the statements of a ladder: it reads what they read and leaves what they left. `scan` and
//! `reduction` say why each form is right and what it assumes. The fix does not rely on that: before it is offered,
//! the fixed kernel is compared with the flagged one at every wave size, under every packing for which the form
//! should be right.

use shaderlint_hlsl::{Scalar, Shader, Span, blank_comments};
use shaderlint_linter::{At, Caveat, Context, Edit, Fix, FixForm, FixNote, NoFix, Reason, Safety};
use shaderlint_simt::{
    Collective, Elements, FinalValue, Kind, LaneMap, Needs, Obstacle, Operator, Rewrite, StepEdit,
    proved_of_itself,
};

use crate::describe::element;
use crate::fixes::too_long;
use crate::fixes::waves::declarations::declarations;
use crate::fixes::waves::fit::Fit;
use crate::fixes::waves::form::{WaveForm, barrier_of};
use crate::fixes::waves::last_calls::only_called_by;
use crate::fixes::waves::proof::{ProvedEqual, Scope, prove};
use crate::fixes::waves::refusal::{Refusal, no_form, no_index, not_replaceable, other_results};
use crate::fixes::waves::totals::{Totals, fits, totals_declared, totals_name};
use crate::fixes::waves::{arg_extremum, reduction, scan};
use crate::source::configuration::{AS_CONFIGURED, Replacement, holds_in_all};
use crate::source::group_size::{has_literal_size, width_by_name};
use crate::source::names::local_name;
use crate::source::text::{Spelled, in_parentheses};
use crate::source::unit::Unit;
use crate::source::words::words;

/// A replacement that is proved to keep the kernel's results at every wave size.
pub(crate) struct Proved {
    pub fix: Fix,
    /// It is right only where waves hold consecutive threads.
    pub is_linear: bool,
    /// How many barriers a thread passes in the replacement.
    pub barriers: usize,
}

pub(crate) fn fix(context: &Context<'_>, found: &Collective) -> Result<Proved, Refusal> {
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
            arg_extremum::forms(context, found, rewrite, companions)
        } else if found.kind == Kind::Reduction {
            reduction::forms(context, found, rewrite, totals)
        } else {
            scan::forms(context, found, rewrite, totals)
        };
        for (form, index) in forms.iter_mut().zip(index.iter().cycle()) {
            if index.in_file != index.expanded {
                form.expanded.get_or_insert_with(|| form.block.clone());
            }
            form.block.text.insert_str(0, &index.in_file);
            if let Some(expanded) = &mut form.expanded {
                expanded.text.insert_str(0, &index.expanded);
            }
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
    let slower = match found.kind {
        Kind::Reduction => reduction::slower(found),
        _ => scan::slower(context, found),
    };
    if let Some(why) = slower.filter(|_| forms.is_empty()) {
        return Err(Refusal::because(Reason::Slower, why));
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
        let text = "the ladder's last step, or code after it, reads more than the total";
        return Err(Refusal::because(Reason::OtherUses, text));
    }
    // The proofs above come first: even one that fails may show other uses of the result, and one of the statements
    // alone may succeed.
    if matches!(&why_not, Refusal::NotProved(why) if why.reason == Reason::NotProved) {
        if !found.instances.is_empty() {
            return Err(not_replaceable(context, found, Obstacle::SomeRuns));
        }
        results_are_known(context, found.needs)?;
        if found.companions.is_some() {
            return Err(not_replaceable(context, found, Obstacle::Companions));
        }
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
    proved_of_itself(needs.floats(), context.kernel()).map_err(|reason| {
        let text = format!("shaderlint could not follow the original kernel to its end: {reason}");
        Refusal::because(Reason::UnknownResults, text)
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
    for (local, left) in std::mem::take(&mut rewrite.dead_variables) {
        let name = function.and_then(|function| function.locals.get(local.0 as usize));
        let name = name.map(|local| local.name.as_bytes());
        let names_it = |text: &&[u8]| words(text).any(|word| Some(word) == name || word == b"include");
        if behind.is_none_or(|behind| names_it(&behind)) || chosen.iter().any(names_it) {
            match left {
                FinalValue::Number(value) => rewrite.live_values.push((local, value)),
                FinalValue::Result(None) => rewrite.other_places.push(Elements::Register {
                    local,
                    component: None,
                }),
                FinalValue::Result(Some(number)) => rewrite.further_results.push((local, number)),
                FinalValue::Other => return Err(Obstacle::Leaves(local)),
            }
        }
    }
    Ok(rewrite)
}

/// The fix with this form, if it is proved.
fn proved(context: &Context<'_>, found: &Collective, form: WaveForm) -> Result<Proved, Refusal> {
    let shader = context.shader;
    let fit = Fit::of(shader, found, &form);
    let block = Spelled {
        in_file: fit.text(&form.block),
        expanded: fit.text(form.expanded.as_ref().unwrap_or(&form.block)),
    };
    if let Some(why) = may_change(shader, found, &form, &block.expanded) {
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
        .fold(found.span.to(fit.over), Span::to);
    let helper = form.helper.iter().map(|helper| &*helper.text.in_file.text);
    let of_form: Vec<&str> = std::iter::once(&*block.in_file).chain(helper).collect();
    let replacement = Replacement {
        function: found.function,
        over: whole,
        form: &of_form.join("\n"),
        adds_memory: !form.totals.is_empty(),
    };
    let may_be_missed = form
        .sole_use
        .as_ref()
        .is_some_and(|sole| sole.may_be_missed(shader));
    let holds_in_all = !may_be_missed && holds_in_all(shader, context.entry, &replacement);
    let barriers = form.barriers() + fit.count(barrier_of(found));
    let mut edits = declarations(shader, found, &form)?;
    edits.extend(form.sole_use.iter().flat_map(|sole| sole.edits(shader)));
    edits.push(Edit {
        at: match form.sole_use {
            None => At::OverChoices(fit.over),
            Some(_) => At::Over(fit.over),
        },
        is_block: fit.is_block(),
        text: block.in_file,
        expanded: form.expanded.map(|_| block.expanded),
    });
    edits.extend(of_last_step);
    let called = { found.rewrite.iter() }.flat_map(|rewrite| only_called_by(shader, found, rewrite));
    let uncalled = called.map(|function| Edit::new(At::Over(function.span), ""));
    let uncalled: Vec<Edit> = uncalled.collect();
    let scope = Scope {
        maps: form.maps,
        needs: found.needs,
    };
    let proved = prove(context, &edits, &uncalled, scope)?;
    edits.extend(uncalled.into_iter().filter(|_| proved.is_whole));
    let doubt = doubt(context, &proved, holds_in_all);
    // Minima and maxima of floats are exact, but wave intrinsics promise nothing about NaNs and the two zeros.
    let has_floats = found.element == Scalar::Float || found.operators().any(Operator::is_on_floats);
    let is_exact = proved.is_exact && found.needs == Needs::default() && !has_floats;
    let fix = Fix {
        title: "replace the ladder with wave intrinsics".to_owned(),
        safety: if is_exact && doubt.is_none() {
            Safety::Safe
        } else {
            Safety::Unsafe
        },
        proof: Some(proved.proof),
        notes: doubt.into_iter().collect(),
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
fn doubt(context: &Context<'_>, proved: &ProvedEqual, holds_in_all: bool) -> Option<FixNote> {
    // Nothing is promised for a group that diverges at a barrier, and a wave is not whole once threads have left it.
    let is_as_one = context.analysis.divergences.is_empty() && !proved.may_start_divergent;
    if proved.ends_races {
        Some(Caveat::DataRace.note(ENDS_RACES))
    } else if !is_as_one {
        Some(AS_ONE.into())
    } else if !holds_in_all {
        Some(AS_CONFIGURED.into())
    } else {
        None
    }
}

/// Whether there is memory for the totals of the form, beside those of the kernel's other ladders.
fn has_memory(context: &Context<'_>, found: &Collective, form: &WaveForm) -> Result<(), Refusal> {
    let others = context.analysis.collectives.iter();
    let others = others.filter(|other| other.span.start != found.span.start && other.tiles.is_empty());
    let words = |of: &Collective| u32::from(of.vector.unwrap_or(1));
    let slots = others.map(|other| other.count.div_ceil(4) * words(other));
    let own = { form.totals.iter() }.map(|totals| totals.slots() * words(found));
    fits(context.shader, slots.chain([own.sum()])).map_err(|why| Refusal::because(Reason::Memory, why))
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
    let edits = step.edits.iter().map(|step| match *step {
        StepEdit::ReadTotal(total) => Edit::new(At::Over(in_parentheses(context.shader, total)), &*read),
        StepEdit::Remove(statement) => Edit::new(At::Over(statement), ""),
    });
    edits.collect()
}

/// A note on a fix that holds if the group does not diverge.
const AS_ONE: &str = "the fix is proved for groups whose threads all reach every barrier";

/// A note on a fix of a kernel that races.
const ENDS_RACES: &str = "the original kernel has a data race; with the fix, none is found";

/// The most steps that the proofs of an entry point's fixes may take, counted by those of its first run.
const MAX_STEPS: u64 = 4_000_000;

/// Why the text of the form in the file may not be the proved text. The proof is about expanded text, but the file's
/// text is expanded once more: a macro with the name of anything in the form (a fallback for `WavePrefixSum`, say)
/// would change it. A form does not qualify names, so it cannot name declarations in a namespace; and `using` could
/// bring in names.
fn may_change(shader: &Shader, found: &Collective, form: &WaveForm, block: &str) -> Option<NoFix> {
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
            let text = format!("shaderlint writes no form for names in a namespace, such as `{name}`");
            return Some(NoFix::new(Reason::Namespaces, text).named(name));
        }
        if unit.may_use_namespace() {
            let text = "shaderlint writes no form where `using` may bring in names of a namespace";
            return Some(NoFix::new(Reason::Namespaces, text));
        }
    }
    let declarations: Vec<Spelled> = form.totals.iter().map(Totals::lines).collect();
    let declarations = declarations.iter().map(|lines| &*lines.expanded);
    let helper = form.helper.iter().map(|helper| &*helper.text.expanded.text);
    let mut texts = std::iter::once(block).chain(declarations).chain(helper);
    texts.find_map(|text| unit.may_change(shader, function, words(&blank_comments(text.as_bytes()))))
}
