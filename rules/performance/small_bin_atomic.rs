//! `small-bin-atomic`: the threads of a wave add to a few cells between them.

use shaderlint_hlsl::calls;
use shaderlint_linter::{Category, Context, Finding, Rule, ShaderModel};
use shaderlint_simt::{Cells, ContendedAtomic};

use crate::describe::claim;
use crate::findings::atomic;
use crate::fixes::atomics::few_cells;

pub(crate) const RULE: Rule = Rule {
    id: "small-bin-atomic",
    category: Category::Perf,
    summary: "every thread adds to one of a few cells with its own atomic",
    aliases: &["interlocked-bin-without-wave-prereduce"],
    explanation: include_str!("small_bin_atomic.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    findings.extend(context.analysis.contended_atomics.iter().filter_map(|few| {
        let Cells::Few(bins) = few.cells else { return None };
        let message = format!(
            "{} each add to one of {bins} cells of {} with an atomic",
            claim::threads(few),
            claim::counters(context, few)
        );
        let mut finding = atomic::finding(context, few, message, advice(context, few, bins));
        finding.notes.extend(of_one_call(context, few));
        Some(finding)
    }));
}

/// Where a function does the atomic, its other calls may have other cells.
fn of_one_call(context: &Context<'_>, few: &ContendedAtomic) -> Option<String> {
    let bodies = context.reached().filter_map(|function| function.body.as_deref());
    let count = bodies
        .flat_map(calls)
        .filter(|called| *called == few.function)
        .count();
    let name = &context.function(few.function)?.name;
    (count > 1)
        .then(|| format!("this describes one of {count} calls of {name}: other calls may use other cells"))
}

fn advice(context: &Context<'_>, few: &ContendedAtomic, bins: u32) -> String {
    if let Some((code, model)) = few_cells::code(context, few) {
        let indented = code.replace('\n', "\n    ");
        return format!(
            "help: make one atomic for each cell that occurs in a wave (shader model {model}):\n    {indented}"
        );
    }
    let (all, own) = if claim::is_counted(few) {
        ("WaveActiveCountBits", "CountBits")
    } else {
        ("WaveActiveSum", "Sum")
    };
    // Each lane gets its part of the atomic's old value by its place among the lanes of its cell.
    let handed_out = |prefix: &str| {
        let is_unused = few.parts.as_ref().is_ok_and(|parts| parts.old.is_none());
        let part = format!(
            "; where the old value is used, {prefix}{own} gives each lane its offset from that value"
        );
        if is_unused { String::new() } else { part }
    };
    if context.shader_model >= ShaderModel::MULTI_PREFIX {
        format!(
            "WaveMatch finds the lanes of a wave that use the same cell, and one of them can make the atomic for all of them{}",
            handed_out("WaveMultiPrefix")
        )
    } else {
        format!(
            "a loop over the {bins} cells with {all} needs one atomic per cell and wave{}; from shader \
             model 6.5 on, WaveMatch finds the lanes that use the same cell",
            handed_out("WavePrefix")
        )
    }
}
