//! `groupshared-out-of-bounds`: an index that a groupshared array does not have, by some thread at some step.

use shaderlint_hlsl::Type;
use shaderlint_linter::{Category, Context, Finding, Label, Level, Rule, ShaderModel, Verdict};
use shaderlint_simt::OutOfBounds;

use crate::describe::witness;

pub(crate) const RULE: Rule = Rule {
    id: "groupshared-out-of-bounds",
    category: Category::Correctness,
    summary: "a thread accesses an element outside a groupshared array",
    aliases: &[],
    explanation: include_str!("groupshared_out_of_bounds.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let accesses = context.analysis.out_of_bounds.iter();
    findings.extend(accesses.map(|access| finding(context, access)));
}

fn finding(context: &Context<'_>, outside: &OutOfBounds) -> Finding {
    let element = witness::element(context, outside.array, outside.index);
    let array = context.global(outside.array);
    let length = match array.map(|array| &array.ty) {
        Some(Type::Array(_, length)) => *length,
        _ => 1,
    };
    let thread = outside.access.thread;
    let (verb, consequence) = if outside.access.is_write {
        (
            "writes",
            "a write outside an array leaves all groupshared memory undefined",
        )
    } else {
        (
            "reads",
            "a read outside an array gives an undefined value, and the kernel stores it in a resource",
        )
    };
    let iterations = witness::iterations(context, &outside.access.around);
    let when = witness::when(
        context,
        outside.since.as_ref(),
        outside.access.span,
        &[&outside.access.around],
    );
    let when = when.map_or(String::new(), |when| format!(" {when}"));
    Finding {
        entry: context.entry,
        message: format!("{element} is outside the array, which has {}", elements(length)),
        shape: None,
        verdict: Verdict::OutOfBounds,
        needs: ShaderModel::ANY,
        worth: Level::Error,
        primary: Label {
            place: outside.access.span,
            text: format!("thread {thread} {verb} {element}"),
        },
        secondary: array
            .map(|array| Label {
                place: array.span,
                text: match length {
                    1 => "1 element, at 0".to_owned(),
                    _ => format!("{}, 0 to {}", elements(length), length.saturating_sub(1)),
                },
            })
            .into_iter()
            .collect(),
        notes: vec![
            format!("thread {thread} {verb} {element}{when}{iterations}"),
            consequence.to_owned(),
        ],
        fix: None,
        no_fix: None,
    }
}

fn elements(length: u32) -> String {
    format!("{length} element{}", if length == 1 { "" } else { "s" })
}
