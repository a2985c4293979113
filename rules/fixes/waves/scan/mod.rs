//! Wave forms of a scan.
//!
//! # Why they are right, and what they assume
//!
//! **Linear.** Each wave scans its own elements (`WavePrefixSum`), its last lane stores the wave's total, and after a
//! barrier each thread adds the totals of the earlier waves, summed a wave's width at a time. In a partly filled wave
//! no lane is the last: it is the last wave that scans, and nobody adds its total. `wave = index / lanes` numbers the
//! waves in the order of their elements if the group is packed linearly: every implementation seen does so with 1-D
//! groups, and this is the one assumption. `wave` is at most (N - 1) / 4 because no wave has fewer than 4 lanes
//! (hlsl-specs, `HLSL_SM_6_6_WaveSize.md`), whatever the packing: ceil(N / 4) totals always suffice. The loop's
//! `WaveActiveSum` needs all lanes of the wave: they agree on `wave`. In a partly filled last wave fewer lanes fetch
//! totals than `WaveGetLaneCount()` says; where that would skip some, the form steps by the active lanes.
//!
//! **Several elements a lane.** A prefix over a wave takes most of the time. So the first threads take two or four
//! neighbouring elements each, and the others none: fewer waves scan, and fewer totals are fetched. A thread may then
//! read elements that others wrote, and write elements that others read next: where the ladder began or ended without
//! a barrier, the form may need one.
//!
//! **Reversed.** A scan from the last element is a scan from the first one with elements counted from the end. Each
//! lane then takes elements of other threads, so where the ladder began without a barrier, the form may need one.
//!
//! **One wave.** Where the packing is unknown, the wave of the first thread scans all elements, in passes of as many
//! as its lanes take, in the order of its lanes: `WavePrefixCountBits(true)` numbers them, whichever they are.
//!
//! **A call.** The linear form for one element a lane goes into a function of the file ([`helper`]). A thread with
//! several elements passes their sum.
//!
//! The call comes first (`adr/0015-call-a-helper.md`). Measurements say which of the other forms is offered for how
//! many elements (`docs/measurements.md`): one element a lane below 64 elements, two from there, four from 128; one
//! wave for 128 to 256 elements, where it beats every ladder.

mod helper;
mod loops;
mod own_element;
mod several_elements;
mod text;

pub(crate) use helper::other_form;

use shaderlint_linter::{Context, FixForm};
use shaderlint_simt::{Collective, Elements, Rewrite, Shape};

use crate::fixes::waves::form::{Barriers, WaveForm};
use crate::fixes::waves::operator::prefix;
use text::Text;

/// The number of elements from which one wave was slower than the ladder.
pub(crate) const SLOWER_BY_ONE_WAVE: u32 = 1024;

/// The number of elements from which a form was faster than the ladder where some threads have none
/// (`docs/measurements.md`): than one by one thread, or in small groups; and than steps of many threads.
const FASTER_FROM: u32 = 32;
const FASTER_WITH_MANY_THREADS_FROM: u32 = 16;
const MANY_THREADS: u32 = 128;

/// The same where lanes read each other.
const FASTER_BY_LANE_READS_FROM: u32 = 16;

/// The forms that may replace the scan, the best one first. `totals` is the name for the array of the waves' totals.
pub(crate) fn forms(
    context: &Context<'_>,
    scan: &Collective,
    rewrite: &Rewrite,
    totals: &str,
) -> Vec<WaveForm> {
    let text = Text::new(context, scan, rewrite, totals).filter(|_| slower(context, scan).is_none());
    let Some(text) = text else {
        return Vec::new();
    };
    // No later reader waits for a register; the next reader of an array may have to.
    let in_register = matches!(scan.output, Elements::Register { .. }) && rewrite.other_places.is_empty();
    let last = [!in_register && rewrite.ends_with_barrier, true];
    let mut barriers: Vec<Barriers> = [false, true]
        .into_iter()
        .flat_map(|first| last.map(|last| Barriers { first, last }))
        .collect();
    barriers.dedup();
    let with = |form: &dyn Fn(Barriers) -> Option<WaveForm>, barriers: &[Barriers]| -> Vec<WaveForm> {
        barriers.iter().filter_map(|barriers| form(*barriers)).collect()
    };
    if context.has_rows() {
        return with(&|barriers| text.by_one_wave(barriers), &barriers);
    }
    let calls = without_array(context, scan, rewrite, totals, &barriers)
        .into_iter()
        .chain(text.by_helper(&barriers));
    let calls: Vec<WaveForm> = calls.collect();
    let mut blocks = with(&|barriers| text.several_elements_per_lane(barriers), &barriers);
    // A thread that takes its own element waits for nobody.
    barriers.retain(|barriers| !barriers.first || scan.reversed);
    blocks.extend(with(&|barriers| text.one_element_per_lane(barriers), &barriers));
    let [first, second] = match context.form {
        FixForm::Helper => [calls, blocks],
        FixForm::Inline => [blocks, calls],
    };
    first.into_iter().chain(second).collect()
}

/// Why no form is offered: all would be slower.
pub(crate) fn slower(context: &Context<'_>, scan: &Collective) -> Option<String> {
    let lanes: u32 = context.analysis.group_size.iter().product();
    let from = match prefix(scan.operator) {
        Some(_) if scan.count >= lanes => 0,
        None if scan.count >= lanes => FASTER_BY_LANE_READS_FROM,
        _ if scan.shape == Shape::Serial || lanes < MANY_THREADS => FASTER_FROM,
        _ => FASTER_WITH_MANY_THREADS_FROM,
    };
    (scan.count < from).then(|| {
        format!(
            "no wave form of such a scan of {} {}s by {lanes} threads was faster on an NVIDIA H200",
            scan.count,
            scan.element_name()
        )
    })
}

/// The calls that leave the result of a scan in a variable alone, where the scan leaves it in an array as well. Code
/// behind the scan often reads only the variable; the proof shows whether it does.
fn without_array(
    context: &Context<'_>,
    scan: &Collective,
    rewrite: &Rewrite,
    totals: &str,
    barriers: &[Barriers],
) -> Vec<WaveForm> {
    let is_in_array = matches!(scan.output, Elements::Array { .. });
    let [variable @ Elements::Register { component: None, .. }] = rewrite.other_places.as_slice() else {
        return Vec::new();
    };
    if !is_in_array {
        return Vec::new();
    }
    let mut scan = scan.clone();
    scan.output = variable.clone();
    let rewrite = Rewrite {
        other_places: Vec::new(),
        ..rewrite.clone()
    };
    let text = Text::new(context, &scan, &rewrite, totals);
    let forms = text.map_or(Vec::new(), |text| text.by_helper(barriers));
    forms.into_iter().filter(|form| form.sole_use.is_some()).collect()
}
