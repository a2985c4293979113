//! The declarations that a wave form adds to a file, and those that go.

use shaderlint_hlsl::{FileSpan, Shader, Span, blank_comments};
use shaderlint_linter::{At, Edit};
use shaderlint_simt::Collective;

use crate::fixes::waves::form::WaveForm;
use crate::fixes::waves::refusal::{Refusal, no_place};
use crate::fixes::waves::totals::{Totals, totals_place};
use crate::source::text::text_in_file;
use crate::source::unit::Unit;

/// The edits of declarations: those of the form go where the array was that goes with the ladder, if one does, or
/// behind what they need.
pub(crate) fn declarations(
    shader: &Shader,
    found: &Collective,
    form: &WaveForm,
) -> Result<Vec<Edit>, Refusal> {
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
        // A comment on the array's line stays behind the totals, which take the array's place.
        let keeps_comment = !in_file.is_empty() && matches!(at, At::Over(gone) if is_commented(shader, gone));
        if let Some(helper) = new_helper.filter(|_| behind == at.span() && !keeps_comment) {
            in_file.push(helper.set_off(shader, at));
            in_figures.push(helper.text.expanded.text.clone());
        } else if let Some(helper) = new_helper {
            // The last declaration behind the helper's totals may be that of the array that goes.
            let at = match gone {
                Some(gone) if gone == behind && at != At::Over(gone) => At::Over(gone),
                _ => At::After(behind),
            };
            edits.push(Edit {
                expanded: Some(helper.text.expanded.text.clone()),
                ..Edit::new(at, helper.set_off(shader, at))
            });
        }
        if !in_file.is_empty() {
            edits.push(Edit {
                expanded: Some(in_figures.join("\n")),
                ..Edit::new(at, in_file.join("\n"))
            });
        }
    }
    let stands_there = |edit: &Edit| Some(edit.at) == gone.map(At::Over);
    if let Some(gone) = gone.filter(|_| !edits.iter().any(stands_there)) {
        edits.push(Edit::new(At::Over(gone), ""));
    }
    Ok(edits)
}

/// Whether a comment follows a declaration on its line.
fn is_commented(shader: &Shader, declared: Span) -> bool {
    let place = shader.origins.locate(declared);
    let behind = place.and_then(|place| shader.sources.get(place.file)?.text.get(place.end as usize..));
    let line = behind.and_then(|behind| behind.split(|byte| *byte == b'\n').next());
    line.is_some_and(|line| line.trim_ascii_start().starts_with(b"/"))
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
