//! What the rules about scans say of one.

use shaderlint_linter::{Context, Finding, Label, Safety, ShaderModel};
use shaderlint_simt::{Collective, Elements, Kind, Operator};

use crate::wave_form;

/// The finding for a scan that `rule` is about; `shape` is what the construct is known as. `None` where the target has
/// no wave intrinsic for it.
pub(crate) fn finding(
    context: &Context<'_>,
    rule: &'static str,
    shape: &str,
    scan: &Collective,
) -> Option<Finding> {
    let needed = needed_model(scan.operator).filter(|needed| *needed <= context.shader_model)?;
    let kind = match scan.kind {
        Kind::InclusiveScan => "inclusive",
        Kind::ExclusiveScan => "exclusive",
        Kind::Reduction => return None,
    };
    let kind = if scan.reversed {
        format!("reversed {kind}")
    } else {
        kind.to_owned()
    };
    let fix = wave_form::fix(context, scan);
    let mut notes = vec![proof(context, scan)];
    notes.push(if context.has_rows() {
        let [x, y, z] = context.analysis.group_size;
        format!(
            "a wave form needs shader model {needed}; nothing is promised of which threads share a \
             wave in a group of {x}\u{d7}{y}\u{d7}{z}, so it must not divide the index by the wave size"
        )
    } else {
        let barriers = match fix.as_ref().map_or(0, wave_form::barriers) {
            0 => "",
            1 => "passes one barrier instead; it ",
            _ => "passes two barriers instead; it ",
        };
        format!(
            "the wave form {barriers}needs shader model {needed} and waves that hold consecutive threads, as every \
             known implementation packs 1-D groups"
        )
    });
    if !scan.operator.is_exact() {
        notes.push("floats are combined in another order: results differ in their last bits".to_owned());
    } else if fix.as_ref().is_some_and(|fix| fix.safety == Safety::Unsafe) {
        notes.push("the fix is proved for the macros as they are; #if or -D may change them".to_owned());
    }
    Some(Finding {
        rule,
        entry: context.entry,
        message: format!("{shape} {kind} scan of {} {}s", scan.count, scan.element.name()),
        primary: Label {
            place: scan.span,
            text: format!(
                "{}, {}, counted in the run",
                counted(scan.rounds, "round"),
                counted(scan.barriers, "barrier")
            ),
        },
        secondary: declarations(context, scan).chain(barriers(scan)).collect(),
        notes,
        fix,
    })
}

fn counted(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
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

/// What was proved, as a formula.
fn proof(context: &Context<'_>, scan: &Collective) -> String {
    let name = |global| context.global(global).map_or("?", |global| &global.name);
    let element = |elements: &Elements, index: &str| match elements {
        Elements::Array {
            global,
            offset,
            component,
        } => {
            let part = component.and_then(|component| [".x", ".y", ".z", ".w"].get(usize::from(component)));
            let part = part.copied().unwrap_or_default();
            match (offset, index) {
                (0, _) => format!("{}[{index}]{part}", name(*global)),
                (offset, "0") => format!("{}[{offset}]{part}", name(*global)),
                _ => format!("{}[{index} + {offset}]{part}", name(*global)),
            }
        }
        Elements::Spread { global } | Elements::Cell { global, .. } => {
            format!("element {index} of {}", name(*global))
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
    let last = (scan.count - 1).to_string();
    let (from, to) = match (scan.kind == Kind::InclusiveScan, scan.reversed) {
        (true, false) => ("0", "i"),
        (false, false) => ("0", "i-1"),
        (true, true) => ("i", &*last),
        (false, true) => ("i+1", &*last),
    };
    let afresh = if scan.segment < scan.count {
        format!(", afresh every {} elements", scan.segment)
    } else {
        String::new()
    };
    let up_to = if scan.operator.is_exact() {
        ""
    } else {
        ", up to rounding"
    };
    format!(
        "proved: {} = {} {sign} \u{2026} {sign} {} for all i < {}{afresh}, race-free{up_to}",
        element(&scan.output, "i"),
        element(&scan.input, from),
        element(&scan.input, to),
        scan.count,
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
