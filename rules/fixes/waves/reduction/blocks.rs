//! The function by which the lanes of a block exchange their values, for a reduction of each of several blocks of a
//! group's elements.
//!
//! # Why it is right, and what it assumes
//!
//! A block has a power of two of elements, and so has a wave, and blocks fill the group: a block either is within a
//! wave, or consists of whole waves. So does `part`, the smaller of the two. In steps that double, each lane combines
//! what it has with what the lane has whose index differs in one bit (a butterfly): both then have the same, since the
//! operators commute; of floats, minima and maxima may differ in the sign of zero or at a NaN, which the finding says.
//! In the end all lanes of a part have its total. A block of several parts has these
//! combined from an array by all of its threads, in the same order. At least 4 lanes are in a wave (hlsl-specs,
//! `HLSL_SM_6_6_WaveSize.md`): a total for each 4 threads is enough.
//!
//! It assumes that waves hold consecutive threads, and that a partly filled wave holds whole blocks: only the last wave
//! is partly filled, and blocks fill the group.

use std::fmt::Write;

use super::ladder::Ladder;
use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::barrier_of;
use crate::fixes::waves::operator::{accumulated, result_name};
use crate::source::group_size::has_literal_size;
use crate::source::names::inner_name;

/// Whether the function is right for the blocks: they have a power of two of elements and fill a group of one row, of
/// a size in figures.
pub(super) fn are_exchanged(ladder: Ladder<'_>) -> bool {
    let Ladder {
        context, reduction, ..
    } = ladder;
    reduction.count.is_power_of_two()
        && ladder.elements() == ladder.lanes()
        && has_literal_size(context)
        && !context.has_rows()
        && reduction.companions.is_none()
}

/// The function, which returns the total of the thread's block.
pub(super) fn function(ladder: Ladder<'_>, ty: &str, name: &str, totals: &str) -> Code {
    let (shader, operator, length) = (ladder.shader(), ladder.reduction.operator, ladder.reduction.count);
    let inner = |wanted: &str| inner_name(shader, wanted);
    let [value, thread, result] = ["value", "thread", result_name(operator)].map(inner);
    let [part, stride, first, next] = ["part", "stride", "first", "next"].map(inner);
    let read = format!("WaveReadLaneAt({result}, WaveGetLaneIndex() ^ {stride})");
    let mut code = Code::new(format!(
        "{ty} {name}({ty} {value}, uint {thread})\n{{\n\
         \x20   {ty} {result} = {value};\n\
         \x20   uint {part} = min(WaveGetLaneCount(), {length});\n\
         \x20   for (uint {stride} = 1; {stride} < {part}; {stride} *= 2)\n\
         \x20       {};\n\
         \x20   if ({thread} % {part} == 0)\n\
         \x20       {totals}[{thread} / {part}] = {result};\n",
        accumulated(operator, &result, &read)
    ));
    code.push_barrier(barrier_of(ladder.reduction));
    let further = format!("{totals}[{first} + {next}]");
    let _ = write!(
        code,
        "    uint {first} = {thread} / {length} * ({length} / {part});\n\
         \x20   {result} = {totals}[{first}];\n\
         \x20   for (uint {next} = 1; {next} < {length} / {part}; ++{next})\n\
         \x20       {};\n\
         \x20   return {result};\n}}",
        accumulated(operator, &result, &further)
    );
    code
}
