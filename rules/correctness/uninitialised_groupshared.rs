//! `uninitialised-groupshared`: groupshared memory that is read before anything was written to it.

use shaderlint_linter::{Category, Context, Finding, Label, Level, Rule, ShaderModel, Verdict};
use shaderlint_simt::Uninitialised;

use crate::describe::witness;

pub(crate) const RULE: Rule = Rule {
    id: "uninitialised-groupshared",
    category: Category::Correctness,
    summary: "a thread reads groupshared memory that no thread has written, and stores the value",
    aliases: &[],
    explanation: include_str!("uninitialised_groupshared.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let reads = context.analysis.uninitialised.iter();
    findings.extend(reads.map(|read| finding(context, read)));
}

fn finding(context: &Context<'_>, found: &Uninitialised) -> Finding {
    let element = witness::element(context, found.array, found.index);
    let thread = found.read.thread;
    let iterations = witness::iterations(context, &found.read.around);
    let when = witness::when(
        context,
        found.since.as_ref(),
        found.read.span,
        &[&found.read.around],
    );
    let when = when.map_or(String::new(), |when| format!(" {when}"));
    let given = witness::given(&found.given);
    let mut secondary = vec![Label {
        place: found.used,
        text: "the undefined value is stored here".to_owned(),
    }];
    secondary.extend(context.global(found.array).map(|array| Label {
        place: array.span,
        text: "has undefined contents when a group starts".to_owned(),
    }));
    let mut notes = vec![
        format!("thread {thread} reads {element}{when}{iterations}{given}"),
        "implementations may clear groupshared memory, but need not: write every element before you read it"
            .to_owned(),
    ];
    if !found.given.is_empty() {
        notes.push("instead, if the host never sets such values, remove the test on them".to_owned());
    }
    Finding {
        entry: context.entry,
        message: format!("{element} is read, but no thread has written it"),
        shape: None,
        verdict: Verdict::Uninitialised,
        needs: ShaderModel::ANY,
        worth: Level::Error,
        primary: Label {
            place: found.read.span,
            text: format!("thread {thread} reads {element}"),
        },
        secondary,
        notes,
        fix: None,
        no_fix: None,
    }
}
