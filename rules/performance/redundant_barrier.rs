//! `redundant-barrier`: a barrier without which the group does the same.

use shaderlint_hlsl::statements;
use shaderlint_linter::{Category, Context, Finding, Label, Level, Rule, ShaderModel, Verdict};
use shaderlint_simt::uses_shared_memory;

use crate::fixes::barriers::needless::{self, Needless};
use crate::source::statements::is_barrier;

pub(crate) const RULE: Rule = Rule {
    id: "redundant-barrier",
    category: Category::Perf,
    summary: "a barrier at which no thread needs to wait for another",
    aliases: &[],
    explanation: include_str!("redundant_barrier.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let needless = needless::barriers(context).into_iter();
    findings.extend(needless.map(|barrier| finding(context, barrier)));
}

fn finding(context: &Context<'_>, needless: Needless) -> Finding {
    let barriers = context.reached().filter_map(|function| function.body.as_deref());
    let is_only_one = barriers
        .flat_map(statements)
        .filter(|one| is_barrier(one))
        .count()
        == 1;
    let why = if !uses_shared_memory(context.shader, context.entry) {
        "the kernel uses no groupshared memory"
    } else if is_only_one {
        "no thread accesses a groupshared element that another thread writes"
    } else {
        "between the barriers around it, no thread accesses a groupshared element that another thread writes"
    };
    Finding {
        entry: context.entry,
        message: "a barrier that the group does not need".to_owned(),
        shape: None,
        verdict: Verdict::Proved,
        needs: ShaderModel::ANY,
        worth: Level::Info,
        primary: Label {
            place: needless.call,
            text: "no thread needs to wait for another here".to_owned(),
        },
        secondary: Vec::new(),
        notes: vec![
            why.to_owned(),
            "nor does it order accesses to buffers or textures that no other barrier orders".to_owned(),
        ],
        fix: needless.fix,
        no_fix: None,
    }
}
