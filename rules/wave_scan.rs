//! The linear wave form of a scan of one or two elements a thread.
//!
//! # Why it is right, and what it assumes
//!
//! Each wave scans its own elements (`WavePrefixSum`), its last lane stores the wave's total, and after a barrier each
//! thread adds the totals of the waves before its own, summed a wave's width at a time. Of a partly filled wave no lane
//! is the last: it is the group's last wave, whose total nobody adds. `wave = index / lanes` numbers
//! the waves in the order of their elements if the group is packed linearly: what every implementation seen does with
//! 1-D groups, and the one assumption. `wave` is at most (N - 1) / 4 because no wave is smaller than 4 lanes
//! (hlsl-specs, `HLSL_SM_6_6_WaveSize.md`), whatever the packing: so ceil(N / 4) totals are never run out of.
//! The loop's `WaveActiveSum` needs all lanes of the wave: they agree on `wave`. In a partly filled last wave fewer
//! lanes fetch totals than `WaveGetLaneCount()` says; where that would skip some, the form steps by the active lanes.
//!
//! With two elements a thread, neighbours, the waves scan the pairs, and each thread tells its two elements apart. What
//! a thread reads then need not be what it wrote: where the ladder began with a barrier, the form may have to as well.

use std::fmt::Write;

use shaderlint_hlsl::Scalar;
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Elements, Kind, LaneMap, Operator, Rewrite, WAVE_SIZES};

use crate::wave_form::{
    BARRIER, Totals, WaveForm, array_of_elements, has_literal_size, length_by_name, local_name, neutral,
    totals_name,
};

/// Where a form has barriers besides its own.
#[derive(Clone, Copy)]
struct Barriers {
    first: bool,
    last: bool,
}

/// The forms that may take the scan's place, the one that waits least first.
pub(crate) fn forms(context: &Context<'_>, scan: &Collective, rewrite: &Rewrite) -> Vec<WaveForm> {
    if context.has_rows() {
        return Vec::new();
    }
    // In a register nothing after the ladder waits for it; in an array the next reader may.
    let in_register = matches!(scan.output, Elements::Register { .. }) && rewrite.also.is_empty();
    let last = [!in_register && rewrite.ends_with_barrier, true];
    let first: &[bool] = if is_of_pairs(context, scan) {
        &[false, true]
    } else {
        &[false]
    };
    let mut barriers: Vec<Barriers> = first
        .iter()
        .flat_map(|first| last.map(|last| Barriers { first: *first, last }))
        .collect();
    barriers.dedup_by_key(|barriers| (barriers.first, barriers.last));
    barriers
        .into_iter()
        .filter_map(|barriers| write(context, scan, rewrite, barriers))
        .collect()
}

fn is_of_pairs(context: &Context<'_>, scan: &Collective) -> bool {
    let [lanes, ..] = context.analysis.group_size;
    scan.count > lanes
}

/// `None` for operators without a wave prefix, and elements that are not where the form could take them from.
fn write(
    context: &Context<'_>,
    scan: &Collective,
    rewrite: &Rewrite,
    barriers: Barriers,
) -> Option<WaveForm> {
    let shader = context.shader;
    let (prefix, active, sign) = match scan.operator {
        Operator::Add | Operator::FloatAdd => ("WavePrefixSum", "WaveActiveSum", "+"),
        Operator::Mul | Operator::FloatMul => ("WavePrefixProduct", "WaveActiveProduct", "*"),
        _ => return None,
    };
    if !matches!(scan.element, Scalar::Uint | Scalar::Int | Scalar::Float) {
        return None;
    }
    let function = shader.functions.get(scan.function.0 as usize)?;
    let has_pairs = is_of_pairs(context, scan);
    let index = &rewrite.lane;
    let place = |elements: &Elements, second: bool| -> Option<String> {
        Some(match elements {
            Elements::Array {
                global,
                offset,
                component: None,
                ..
            } => {
                let array = array_of_elements(shader, scan, *global)?;
                let own = if has_pairs {
                    format!("2 * {index}")
                } else {
                    index.clone()
                };
                match offset + u32::from(second) {
                    0 => format!("{array}[{own}]"),
                    after if has_pairs => format!("{array}[{own} + {after}]"),
                    before => format!("{array}[{before} + {own}]"),
                }
            }
            Elements::Register {
                local,
                component: None,
            } if !has_pairs => function.locals.get(local.0 as usize)?.name.clone(),
            _ => return None,
        })
    };
    let is_fixed = has_literal_size(context);
    let slots = context.analysis.group_size[0].div_ceil(4);
    let length = if is_fixed {
        (slots.to_string(), slots)
    } else {
        length_by_name(shader, scan, rewrite)?
    };
    let step = if is_fixed && every_total_is_fetched(context.analysis.group_size[0]) {
        "WaveGetLaneCount()"
    } else {
        "WaveActiveCountBits(true)"
    };
    let name = |wanted: &str| local_name(shader, scan, wanted);
    let totals = totals_name(shader, scan);
    let (element, result, pair) = (name("waveElement"), name("waveScan"), name("wavePair"));
    let (wave, lane, first) = (name("waveIndex"), name("waveLane"), name("firstWave"));
    let ty = scan.element.name();
    let is_inclusive = scan.kind == Kind::InclusiveScan;
    let kind = if is_inclusive { "Inclusive" } else { "Exclusive" };
    // What a wave scans: with pairs, exclusively.
    let scanned = if has_pairs { &pair } else { &element };
    let (own, total) = if is_inclusive && !has_pairs {
        (format!(" {sign} {element}"), result.clone())
    } else {
        (String::new(), format!("{result} {sign} {scanned}"))
    };

    let mut block =
        format!("{{\n    // {kind} scan by waves; assumes a 1-D group packed into waves in order.\n");
    if barriers.first {
        let _ = writeln!(block, "    {BARRIER}();");
    }
    let _ = writeln!(block, "    {ty} {element} = {};", place(&scan.input, false)?);
    if has_pairs {
        let second = place(&scan.input, true)?;
        let _ = writeln!(block, "    {ty} {pair} = {element} {sign} {second};");
    }
    let _ = write!(
        block,
        "    {ty} {result} = {prefix}({scanned}){own};\n\
         \x20   uint {wave} = {index} / WaveGetLaneCount();\n\
         \x20   uint {lane} = WaveGetLaneIndex();\n\
         \x20   if ({lane} + 1 == WaveGetLaneCount())\n\
         \x20       {totals}[{wave}] = {total};\n\
         \x20   {BARRIER}();\n\
         \x20   for (uint {first} = 0; {first} < {wave}; {first} += {step})\n\
         \x20       {result} {sign}= {active}({first} + {lane} < {wave} ? {totals}[{first} + {lane}] : {neutral});\n",
        neutral = neutral(scan.operator, scan.element),
    );
    for output in std::iter::once(&scan.output).chain(&rewrite.also) {
        let (first, second) = if is_inclusive && has_pairs {
            (
                format!("{result} {sign} {element}"),
                format!("{result} {sign} {pair}"),
            )
        } else {
            (result.clone(), format!("{result} {sign} {element}"))
        };
        let _ = writeln!(block, "    {} = {first};", place(output, false)?);
        if has_pairs {
            let _ = writeln!(block, "    {} = {second};", place(output, true)?);
        }
    }
    for (local, value) in &rewrite.settled {
        let name = &function.locals.get(local.0 as usize)?.name;
        let _ = writeln!(block, "    {name} = {value};");
    }
    if barriers.last {
        let _ = writeln!(block, "    {BARRIER}();");
    }
    block.push('}');
    Some(WaveForm {
        block,
        expanded: None,
        totals: Some(Totals {
            declaration: format!("groupshared {ty} {totals}"),
            length,
        }),
        maps: &[LaneMap::Linear],
    })
}

/// Whether the active lanes of a partly filled last wave are enough to fetch the totals before it in the
/// passes that stepping by the wave's size makes.
fn every_total_is_fetched(lanes: u32) -> bool {
    WAVE_SIZES.into_iter().all(|size| {
        let (waves, rest) = (lanes / size, lanes % size);
        rest == 0 || rest >= waves.min(size)
    })
}
