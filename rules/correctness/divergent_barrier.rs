//! `divergent-barrier`: a barrier that some threads of the group reach and others do not.

use shaderlint_hlsl::{Span, StmtKind};
use shaderlint_linter::{Category, Context, Finding, Label, Level, Rule, ShaderModel, Verdict};
use shaderlint_simt::{Divergence, Point, uses_shared_memory};

use crate::describe::witness;
use crate::source::statements::statements_around;
use crate::source::words::words;

pub(crate) const RULE: Rule = Rule {
    id: "divergent-barrier",
    category: Category::Correctness,
    summary: "a barrier that not every thread of the group reaches",
    aliases: &[],
    explanation: include_str!("divergent_barrier.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let divergences = context.analysis.divergences.iter();
    findings.extend(divergences.map(|divergence| finding(context, divergence)));
}

fn finding(context: &Context<'_>, divergence: &Divergence) -> Finding {
    let Divergence { here, away, .. } = divergence;
    let given = witness::given(&divergence.given);
    let iterations = witness::iterations(context, &divergence.around);
    // A first barrier needs no mention. One that only some inputs reach need not be passed for the named ones.
    let is_passed = |since: &Point| {
        let mut places = witness::calls(&since.around).chain([since.span]);
        divergence.given.is_empty() || !places.any(|place| is_conditional(context, place))
    };
    let when = divergence
        .since
        .as_ref()
        .filter(|since| is_passed(since))
        .and_then(|since| witness::when(context, Some(since), divergence.span, &[&divergence.around]));
    let when = when.map_or(String::new(), |when| format!(" {when}"));
    let returns = |place: Span| {
        words(place.slice(&context.shader.text))
            .next()
            .is_some_and(|word| word == b"return")
    };
    let parted = divergence.parted.map(|place| Label {
        place,
        text: if returns(place) {
            format!("thread {away} returns here, thread {here} does not")
        } else {
            format!("thread {away} diverges from thread {here} here")
        },
    });
    let called = words(divergence.span.slice(&context.shader.text)).next();
    let is_of_shared = called == Some(b"GroupMemoryBarrierWithGroupSync");
    let orders_nothing = is_of_shared && !uses_shared_memory(context.shader, context.entry);
    let [waits, why, advice] = if called == Some(b"DispatchMesh") {
        [
            "calls it",
            "DispatchMesh is undefined behaviour unless every thread of the group calls it: it waits for them all",
            "call it in every thread: it uses the counts of the group's first thread",
        ]
    } else {
        [
            "waits",
            "such a barrier is undefined behaviour: DXC accepts it, and FXC rejects it if it is needed",
            if orders_nothing {
                "this build of the kernel uses no groupshared memory, and this barrier orders nothing else: \
                 remove it"
            } else {
                "let every thread reach the barrier: apply the condition only to the work before and after it"
            },
        ]
    };
    let mut notes = vec![
        format!("thread {here} gets here{when}{iterations}; thread {away} does not{given}"),
        why.to_owned(),
        advice.to_owned(),
    ];
    if !divergence.given.is_empty() && !orders_nothing {
        notes.push(
            "instead, if the host never sets such values, remove the test on which the threads diverge"
                .to_owned(),
        );
    }
    Finding {
        entry: context.entry,
        message: "a barrier that not every thread of the group reaches".to_owned(),
        shape: None,
        verdict: Verdict::Divergent,
        needs: ShaderModel::ANY,
        worth: Level::Error,
        primary: Label {
            place: divergence.span,
            text: format!("thread {here} {waits} here, thread {away} does not"),
        },
        secondary: parted.into_iter().collect(),
        notes,
        fix: None,
        no_fix: None,
    }
}

/// Whether a statement is under a condition.
fn is_conditional(context: &Context<'_>, place: Span) -> bool {
    let around = statements_around(context.shader, place).unwrap_or_default();
    let mut around = around.iter();
    around.any(|statement| matches!(statement.kind, StmtKind::If { .. } | StmtKind::Switch { .. }))
}
