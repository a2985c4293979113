//! `hillis-steele-scan`: a doubling ladder that computes a scan.

use shaderlint_linter::{Category, Context, Finding, Label, Rule, Safety, ShaderModel};
use shaderlint_simt::{Collective, Elements, Kind, Operator, Shape};

use crate::wave_form;

pub(crate) const RULE: Rule = Rule {
    id: "hillis-steele-scan",
    category: Category::Perf,
    summary: "a doubling ladder through groupshared memory that computes a scan",
    aliases: &["wave-prefix-sum-vs-scan-with-atomics"],
    explanation: include_str!("hillis_steele_scan.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let ladders = context
        .analysis
        .collectives
        .iter()
        .filter(|scan| scan.shape == Shape::Doubling);
    findings.extend(ladders.filter_map(|scan| finding(context, scan)));
}

fn finding(context: &Context<'_>, scan: &Collective) -> Option<Finding> {
    let needed = needed_model(scan.operator).filter(|needed| *needed <= context.shader_model)?;
    let kind = match scan.kind {
        Kind::InclusiveScan => "inclusive",
        Kind::ExclusiveScan => "exclusive",
    };
    let fix = wave_form::fix(context, scan);
    let mut notes = vec![proof(context, scan)];
    notes.push(if context.has_rows() {
        let [x, y, z] = context.analysis.group_size;
        format!(
            "a wave form needs shader model {needed}; nothing is promised of which threads of a \
             {x}\u{d7}{y}\u{d7}{z} group share a wave, so it must not divide the index by the wave size"
        )
    } else {
        format!(
            "the wave form passes one barrier instead; it needs shader model {needed} and waves that hold \
             consecutive threads, as every known implementation packs 1-D groups"
        )
    });
    if is_rounded(scan.operator) {
        notes.push("floats are combined in another order: results differ in their last bits".to_owned());
    } else if fix.as_ref().is_some_and(|fix| fix.safety == Safety::Unsafe) {
        notes.push("the fix is proved for the macros as they are; #if or -D may change them".to_owned());
    }
    Some(Finding {
        rule: RULE.id,
        entry: context.entry,
        message: format!(
            "hand-rolled {kind} scan of {} {}s (Hillis\u{2013}Steele)",
            scan.lanes,
            scan.element.name()
        ),
        primary: Label {
            place: scan.span,
            text: format!(
                "{} rounds, {} barriers, counted in the run",
                scan.rounds, scan.barriers
            ),
        },
        secondary: declarations(context, scan).chain(barriers(scan)).collect(),
        notes,
        fix,
    })
}

/// The oldest shader model with a prefix intrinsic for the operator: there is none for `min` and `max`.
fn needed_model(operator: Operator) -> Option<ShaderModel> {
    match operator {
        Operator::Add | Operator::FloatAdd | Operator::Mul | Operator::FloatMul => Some(ShaderModel::WAVES),
        Operator::And | Operator::Or | Operator::Xor => Some(ShaderModel::MULTI_PREFIX),
        Operator::MinUint
        | Operator::MaxUint
        | Operator::MinInt
        | Operator::MaxInt
        | Operator::MinFloat
        | Operator::MaxFloat => None,
    }
}

fn is_rounded(operator: Operator) -> bool {
    matches!(operator, Operator::FloatAdd | Operator::FloatMul)
}

/// What was proved, as a formula.
fn proof(context: &Context<'_>, scan: &Collective) -> String {
    let element = |elements: &Elements, index: &str| match elements {
        Elements::Array { global, offset } => {
            let name = context.global(*global).map_or("?", |global| &global.name);
            match (offset, index) {
                (0, _) => format!("{name}[{index}]"),
                (offset, "0") => format!("{name}[{offset}]"),
                _ => format!("{name}[{index} + {offset}]"),
            }
        }
        Elements::Register { local } => {
            let function = context.function(scan.function);
            let local = function.and_then(|function| function.locals.get(local.0 as usize));
            format!("{} of thread {index}", local.map_or("?", |local| &local.name))
        }
    };
    let sign = match scan.operator {
        Operator::Mul | Operator::FloatMul => "\u{d7}",
        Operator::And => "&",
        Operator::Or => "|",
        Operator::Xor => "^",
        _ => "+",
    };
    let last = match scan.kind {
        Kind::InclusiveScan => "i",
        Kind::ExclusiveScan => "i-1",
    };
    let up_to = if is_rounded(scan.operator) {
        ", up to rounding"
    } else {
        ""
    };
    format!(
        "proved: {} = {} {sign} \u{2026} {sign} {} for all i < {}, race-free{up_to}",
        element(&scan.output, "i"),
        element(&scan.input, "0"),
        element(&scan.input, last),
        scan.lanes,
    )
}

fn declarations<'a>(context: &'a Context<'_>, scan: &'a Collective) -> impl Iterator<Item = Label> + 'a {
    let arrays = scan.arrays.iter().filter_map(|array| context.global(*array));
    arrays.map(|array| Label {
        place: array.span,
        text: "the elements pass through this array".to_owned(),
    })
}

fn barriers(scan: &Collective) -> impl Iterator<Item = Label> + '_ {
    scan.barrier_spans.iter().enumerate().map(|(number, span)| Label {
        place: *span,
        text: if number == 0 {
            "every thread waits for the slowest".to_owned()
        } else {
            String::new()
        },
    })
}
