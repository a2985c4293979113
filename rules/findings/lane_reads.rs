//! Findings about ladders that read other lanes.

use shaderlint_linter::{Context, Finding, Label, Level, NoFix, Reason, ShaderModel, Verdict};
use shaderlint_simt::{Elements, Holders, Kind, Operator, WaveLadder};

use crate::describe::{collective, element};
use crate::fixes::waves::operator::{names, prefix};

/// Scans for which there is an intrinsic. The others have none in shader model 6.0: for them a ladder is the way.
pub(crate) fn scans(context: &Context<'_>) -> Vec<Finding> {
    let ladders = context.analysis.wave_ladders.iter();
    let has_intrinsic = |ladder: &&WaveLadder| prefix(ladder.operator).is_some();
    ladders
        .filter(|ladder| ladder.kind != Kind::Reduction && has_intrinsic(ladder))
        .map(|ladder| finding(context, ladder))
        .collect()
}

pub(crate) fn reductions(context: &Context<'_>) -> Vec<Finding> {
    let ladders = context.analysis.wave_ladders.iter();
    let reductions = ladders.filter(|ladder| ladder.kind == Kind::Reduction);
    reductions.map(|ladder| finding(context, ladder)).collect()
}

fn finding(context: &Context<'_>, ladder: &WaveLadder) -> Finding {
    let kind = match (ladder.kind, ladder.reversed) {
        (Kind::InclusiveScan, false) => "inclusive scan",
        (Kind::ExclusiveScan, false) => "exclusive scan",
        (Kind::InclusiveScan, true) => "reversed inclusive scan",
        (Kind::ExclusiveScan, true) => "reversed exclusive scan",
        (Kind::Reduction, _) => collective::name(ladder.operator),
    };
    let reads = match ladder.reads {
        (1, 1) => "1 read".to_owned(),
        (least, most) if least == most => format!("{least} reads"),
        (least, most) => format!("{least} to {most} reads"),
    };
    let mut notes = vec![proof(context, ladder), advice(ladder)];
    if ladder.needs_both_arms {
        notes.push(
            "from HLSL 2021 on, only the lanes that select an arm of `?:` evaluate it: the other lanes are \
             inactive, and reading them is undefined"
                .to_owned(),
        );
    }
    if !ladder.operator.is_exact() {
        notes.push(
            "wave intrinsics combine floats in another order, so results may round differently".to_owned(),
        );
    }
    Finding {
        entry: context.entry,
        message: format!(
            "hand-rolled {kind} of a wave's {}s by lane reads, in {}",
            ladder.element.name(),
            waves(&ladder.sizes)
        ),
        shape: Some("shuffle"),
        verdict: if ladder.operator.is_exact() {
            Verdict::Proved
        } else {
            Verdict::Reassociates
        },
        needs: ShaderModel::WAVES,
        // In the measurements reads of other lanes were as fast.
        worth: Level::Info,
        primary: Label {
            place: ladder.span,
            text: format!("{reads} of other lanes, one after the other"),
        },
        secondary: Vec::new(),
        notes,
        fix: None,
        no_fix: Some(NoFix::new(
            Reason::LaneReads,
            "shaderlint writes no fix for ladders of lane reads",
        )),
    }
}

fn waves(sizes: &[u32]) -> String {
    match sizes {
        [only] => format!("waves of {only} lanes"),
        [least, .., most] => format!("waves of {least} to {most} lanes"),
        [] => "waves of no size".to_owned(),
    }
}

/// The proved statement, as a formula.
fn proof(context: &Context<'_>, ladder: &WaveLadder) -> String {
    let name = |elements: &Elements| element::register(context, ladder.function, elements);
    let (input, output) = (name(&ladder.input), name(&ladder.output));
    let lanes = match (ladder.kind, ladder.reversed) {
        (Kind::Reduction, _) => "all lanes",
        (Kind::InclusiveScan, false) => "the lanes up to i",
        (Kind::ExclusiveScan, false) => "the lanes before i",
        (Kind::InclusiveScan, true) => "the lanes from i on",
        (Kind::ExclusiveScan, true) => "the lanes after i",
    };
    let combined = collective::combination(ladder.operator);
    let holder = match (ladder.kind, ladder.holders) {
        (Kind::Reduction, Holders::AllLanes) => "every lane's",
        (Kind::Reduction, Holders::FirstLane) => "the first lane's",
        _ => "lane i's",
    };
    let up_to = if ladder.operator.is_exact() {
        ""
    } else {
        ", up to rounding"
    };
    let packing = if context.has_rows() {
        "threads in order, row by row or in 2\u{d7}2 quads"
    } else {
        "consecutive threads"
    };
    let versions = if ladder.needs_both_arms {
        ", before HLSL 2021"
    } else {
        ""
    };
    format!(
        "proved: {holder} `{output}` ends as {combined} of `{input}` over {lanes}{up_to}, in waves that hold \
         {packing}{versions}"
    )
}

/// The intrinsics with the same result.
fn advice(ladder: &WaveLadder) -> String {
    let needed = ShaderModel::WAVES;
    let active = names(ladder.operator).wave;
    // Scans are reported only for an operator with a prefix: sums and products.
    let prefix = prefix(ladder.operator).unwrap_or_default();
    let sign = match ladder.operator {
        Operator::Add | Operator::FloatAdd => "+",
        _ => "\u{d7}",
    };
    match (ladder.kind, ladder.reversed) {
        (Kind::Reduction, _) => {
            format!("{active} gives every active lane the result; it needs shader model {needed}")
        }
        (Kind::InclusiveScan, false) => {
            format!(
                "{prefix} {sign} the lane's own element gives the same result; it needs shader model {needed}"
            )
        }
        (Kind::ExclusiveScan, false) => {
            format!("{prefix} gives the same result; it needs shader model {needed}")
        }
        (_, true) if ladder.operator == Operator::Add => {
            let own = if ladder.kind == Kind::ExclusiveScan {
                " - the lane's own element"
            } else {
                ""
            };
            format!("{active} - {prefix}{own} gives the same result; it needs shader model {needed}")
        }
        (_, true) => format!(
            "HLSL has no intrinsic that scans from the last lane: {active} gives the total, and {prefix}, which \
             needs shader model {needed}, scans from the first lane"
        ),
    }
}
