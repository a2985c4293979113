//! Wave forms of a reduction.
//!
//! # Why they are right, and what they assume
//!
//! Each wave combines the elements of its lanes (`WaveActiveSum`). The totals of the waves are then combined in one
//! cell of the array that the elements passed through, where the ladder leaves the total, or which it overwrites.
//!
//! - By an atomic, where there is one for the operator: the thread whose own element the cell is sets it to the
//!   identity, and after a barrier the first lane of each wave adds its wave's total. Every thread is in exactly one
//!   wave, so the cell ends as the combination of all elements, whichever threads the waves hold and in whatever order
//!   the atomics are served: nothing is assumed.
//! - Else by an array of the waves' totals, numbered by `wave = index / lanes`: distinct for distinct waves, and without
//!   gaps, if the group is packed linearly, as every implementation seen does with 1-D groups. The first wave adds them
//!   up, a wave's width at a time: it alone is sure to be either full or the only one. It also is the only one to do so
//!   because the order in which floats are added may differ from wave to wave: threads must not end up with different
//!   totals. At least 4 lanes are in a wave (hlsl-specs, `HLSL_SM_6_6_WaveSize.md`): ceil(N / 4) totals are enough.
//!
//! - Where neither is (floats in a group with rows), or is slower (vectors of floats), and of several results, by one wave: the
//!   one that holds thread 0 combines all elements of the array, as many a pass as it has lanes, numbered by
//!   `WavePrefixCountBits(true)` whichever they are. A barrier later thread 0 stores what all of these lanes come to. Nothing is
//!   assumed.
//!
//! Afterwards the rest of the ladder's array holds its elements, not partial results, and a variable that held the
//! total for one thread holds it for all. The proof shows whether other code reads these.

mod blocks;
mod helper;
mod ladder;
mod one_wave;

pub(crate) use ladder::atomic;

use std::fmt::Write;

use shaderlint_hlsl::{LocalId, Shader, Type};
use shaderlint_linter::{Context, FixForm};
use shaderlint_simt::{Collective, Elements, Rewrite};

use crate::fixes::waves::arg_extremum;
use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{WaveForm, barrier_of, neutral};
use crate::fixes::waves::operator::{accumulated, names};
use crate::fixes::waves::totals::{Totals, length_by_name};
use crate::source::element::element_name;
use crate::source::group_size::{all_threads_by_name, has_literal_size, size_by_name};
use crate::source::text::Spelled;
use ladder::{Cell, Ladder};

/// What a form leaves.
#[derive(Clone, Copy)]
struct Ending {
    /// The total is in every element of the cell's array, not only in the cell.
    everywhere: bool,
    barrier: bool,
}

/// The forms that may replace the reduction, the one that does least first. `totals` is the name for the array of the
/// waves' totals.
pub(crate) fn forms(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    totals: &str,
) -> Vec<WaveForm> {
    let Some(registers) = registers(reduction, rewrite) else {
        return Vec::new();
    };
    let ladder = Ladder {
        context,
        reduction,
        rewrite,
    };
    let calls = helper::forms(ladder, &registers, totals);
    if reduction.blocks > 1 {
        return calls;
    }
    let blocks = if is_of_parts(context.shader, reduction) || is_best_by_one_wave(context, reduction) {
        one_wave::forms(ladder, &registers)
    } else {
        let nothing_more = Ending {
            everywhere: false,
            barrier: false,
        };
        // All threads read the cell into variables: its next writer may have to wait for them.
        let more = Ending {
            everywhere: registers.is_empty(),
            barrier: true,
        };
        let endings = [nothing_more, more].into_iter();
        let blocks = endings.filter_map(|ending| by_waves(ladder, &registers, totals, ending));
        blocks.collect()
    };
    let [first, second] = match context.form {
        FixForm::Helper => [calls, blocks],
        FixForm::Inline => [blocks, calls],
    };
    first.into_iter().chain(second).collect()
}

/// Whether one wave should combine all elements: no atomic does, and either the waves' totals cannot be numbered, or
/// they were measured to take longer.
fn is_best_by_one_wave(context: &Context<'_>, reduction: &Collective) -> bool {
    atomic(reduction).is_none() && (context.has_rows() || are_totals_slower(reduction))
}

/// Whether there are several results, or one in a part of an element or in a row of an array of arrays.
fn is_of_parts(shader: &Shader, reduction: &Collective) -> bool {
    let is_in_row = match reduction.output {
        Elements::Cell { global, .. } => {
            let array = shader.globals.get(global.0 as usize).map(|global| &global.ty);
            matches!(array, Some(Type::Array(row, _)) if matches!(**row, Type::Array(..)))
        }
        _ => false,
    };
    let is_part = matches!(
        reduction.output,
        Elements::Cell {
            component: Some(_),
            ..
        }
    );
    is_part || is_in_row || !reduction.beside.is_empty()
}

/// The variables for the total; `None` if the total is in a place that no form writes to.
fn registers(reduction: &Collective, rewrite: &Rewrite) -> Option<Vec<LocalId>> {
    let in_cell = matches!(reduction.output, Elements::Cell { .. });
    let outputs = Some(&reduction.output).filter(|_| !in_cell);
    let register = |place: &Elements| match place {
        Elements::Register {
            local,
            component: None,
        }
        | Elements::OneRegister {
            local,
            component: None,
            ..
        } => Some(*local),
        _ => None,
    };
    outputs
        .into_iter()
        .chain(&rewrite.other_places)
        .map(register)
        .collect()
}

/// The form in which each wave combines the elements of its threads.
fn by_waves(ladder: Ladder<'_>, registers: &[LocalId], totals: &str, ending: Ending) -> Option<WaveForm> {
    let cell = ladder.cell()?;
    let is_by_name = !has_literal_size(ladder.context);
    if is_by_name && !ladder.is_right_for_any_size() {
        return None;
    }
    let in_figures = ladder.own_elements(None)?;
    let has_name = is_by_name && ladder.reduction.count > ladder.lanes();
    let own = if has_name {
        let size = all_threads_by_name(ladder.context, ladder.reduction)?;
        ladder.own_elements(Some(&size))?
    } else {
        in_figures.clone()
    };
    let own = Spelled {
        in_file: own,
        expanded: in_figures,
    };
    let mut form = if let Some(atomic) = atomic(ladder.reduction) {
        by_atomic(ladder, &cell, atomic, &own, has_name)?
    } else {
        by_totals(ladder, &cell, totals, &own)?
    };
    let end = end(ladder, registers, &cell, ending)?;
    for code in std::iter::once(&mut form.block).chain(&mut form.expanded) {
        code.text += &end;
        if ending.barrier {
            code.push_barrier(barrier_of(ladder.reduction));
        }
    }
    Some(form)
}

/// An atomic combines the waves' totals. `has_name` says whether a thread's `own` elements name the group's size.
fn by_atomic(
    ladder: Ladder<'_>,
    cell: &Cell,
    atomic: &str,
    own: &Spelled,
    has_name: bool,
) -> Option<WaveForm> {
    let reduction = ladder.reduction;
    let what = names(reduction.operator).what;
    let barrier = barrier_of(reduction);
    let ty = element_name(ladder.shader(), reduction)?;
    let (total, index) = (ladder.name("waveTotal"), &ladder.rewrite.lane);
    let (place, owner) = (cell.text(), cell.owner);
    let neutral = neutral(reduction.operator, reduction.element, &ty);
    let text = |own: &str| {
        let mut code = Code::new(format!(
            "    // {what} by waves, whichever threads they hold.\n\
             \x20   {ty} {total} = {of_own};\n\
             \x20   if ({index} == {owner})\n\
             \x20       {place} = {neutral};\n",
            of_own = ladder.of_wave(own),
        ));
        code.push_barrier(barrier);
        let _ = write!(
            code,
            "    if (WaveIsFirstLane())\n\
             \x20       {atomic}({place}, {total});\n"
        );
        code.push_barrier(barrier);
        code
    };
    let expanded = has_name.then(|| text(&own.expanded));
    Some(WaveForm::new(
        text(&own.in_file),
        expanded,
        Vec::new(),
        ladder.packings(),
    ))
}

/// The first wave combines the waves' totals, which pass through an array.
fn by_totals(ladder: Ladder<'_>, cell: &Cell, totals: &str, own: &Spelled) -> Option<WaveForm> {
    let Ladder {
        context,
        reduction,
        rewrite,
    } = ladder;
    if context.has_rows() {
        return None;
    }
    let lanes = ladder.lanes();
    let is_fixed = has_literal_size(context);
    let ty = element_name(ladder.shader(), reduction)?;
    let total = ladder.name("waveTotal");
    let [wave, lane, waves, first] =
        ["waveIndex", "waveLane", "waveCount", "firstWave"].map(|wanted| ladder.name(wanted));
    let size = if is_fixed {
        lanes.to_string()
    } else {
        size_by_name(context, reduction)?
    };
    let first_wave = FirstWave {
        ladder,
        ty: &ty,
        thread: &rewrite.lane,
        result: &total,
        totals,
        place: &cell.text(),
        names: [&wave, &lane, &waves, &first],
    };
    let text = |size: &str, own: &str| {
        let what = names(reduction.operator).what;
        let mut code = Code::new(format!(
            "    // {what} by waves; assumes a 1-D group packed into waves in order.\n"
        ));
        first_wave.combine(&mut code, own, size);
        code
    };
    let length = if is_fixed {
        (lanes.div_ceil(4).to_string(), lanes.div_ceil(4))
    } else {
        length_by_name(context, reduction, rewrite)?
    };
    let totals = Totals {
        ty: ty.clone(),
        name: totals.to_owned(),
        length: Some(length),
    };
    Some(WaveForm::new(
        text(&size, &own.in_file),
        (!is_fixed).then(|| text(&lanes.to_string(), &own.expanded)),
        vec![totals],
        ladder.packings(),
    ))
}

/// The end of both forms, before the last barrier: what they leave besides the total in its cell.
fn end(ladder: Ladder<'_>, registers: &[LocalId], cell: &Cell, ending: Ending) -> Option<String> {
    let (reduction, index) = (ladder.reduction, &ladder.rewrite.lane);
    let mut end = ladder.leave(registers, cell)?;
    if ending.everywhere {
        let all =
            matches!(reduction.input, Elements::Array { offset: 0, .. }) && reduction.count == ladder.lanes();
        let Cell { array, owner, .. } = cell;
        let place = (all && cell.index == *owner).then(|| cell.text())?;
        let _ = write!(
            end,
            "    if ({index} != {owner})\n        {array}[{index}] = {place};\n"
        );
    }
    Some(end)
}

/// The parts of the statements in which the first wave combines all waves' totals.
struct FirstWave<'a> {
    ladder: Ladder<'a>,
    ty: &'a str,
    /// The number of the thread.
    thread: &'a str,
    /// The variable of the wave's total.
    result: &'a str,
    totals: &'a str,
    /// The place of the result.
    place: &'a str,
    /// The variables for the number of the wave, the number of the lane, the number of waves, and the first total of
    /// a pass.
    names: [&'a str; 4],
}

impl FirstWave<'_> {
    /// Adds the statements, for each thread's `own` value and the `size` of the group.
    fn combine(&self, code: &mut Code, own: &str, size: &str) {
        let FirstWave {
            ladder,
            ty,
            thread,
            result,
            totals,
            place,
            names: [wave, lane, waves, first],
        } = self;
        let reduction = ladder.reduction;
        let barrier = barrier_of(reduction);
        let neutral = neutral(reduction.operator, reduction.element, ty);
        let next = format!("{first} + {lane}");
        let of_totals = ladder.of_wave(&format!("{next} < {waves} ? {totals}[{next}] : {neutral}"));
        let _ = write!(
            code,
            "    {ty} {result} = {of_own};\n\
             \x20   uint {wave} = {thread} / WaveGetLaneCount();\n\
             \x20   uint {lane} = WaveGetLaneIndex();\n\
             \x20   if ({lane} == 0)\n\
             \x20       {totals}[{wave}] = {result};\n",
            of_own = ladder.of_wave(own),
        );
        code.push_barrier(barrier);
        let _ = write!(
            code,
            "    if ({wave} == 0)\n\
             \x20   {{\n\
             \x20       uint {waves} = ({size} + WaveGetLaneCount() - 1) / WaveGetLaneCount();\n\
             \x20       {result} = {neutral};\n\
             \x20       for (uint {first} = 0; {first} < {waves}; {first} += WaveGetLaneCount())\n\
             \x20           {combined};\n\
             \x20       if ({lane} == 0)\n\
             \x20           {place} = {result};\n\
             \x20   }}\n",
            combined = accumulated(reduction.operator, result, &of_totals),
        );
        code.push_barrier(barrier);
    }
}

/// The number of vectors of two, three and four floats from which the form was faster than the ladder
/// (`docs/measurements.md`). For integers, which the device combines by itself, it always is.
const FLOATS_FROM: [u32; 3] = [64, 256, 512];

/// Whether a form with a total for each wave was measured to be slower than the ladder.
fn are_totals_slower(reduction: &Collective) -> bool {
    is_slower(reduction, FLOATS_FROM)
}

/// Whether there are too few vectors of floats for a form to pay.
fn is_slower(reduction: &Collective, floats_from: [u32; 3]) -> bool {
    let width = reduction
        .vector
        .and_then(|width| usize::from(width).checked_sub(2));
    let least = width.and_then(|width| floats_from.get(width));
    reduction.element.is_float() && least.is_some_and(|least| reduction.count < *least)
}

/// Why no form is offered: all would be slower. That of blocks never was.
pub(crate) fn slower(reduction: &Collective) -> Option<String> {
    let is_slower = match &reduction.companions {
        _ if reduction.blocks > 1 => false,
        Some(_) => reduction.count < arg_extremum::FASTER_FROM,
        None => are_totals_slower(reduction),
    };
    is_slower.then(|| {
        format!(
            "no wave form of such a ladder over {} {}s was faster on an NVIDIA H100 or H200",
            reduction.count,
            reduction.element_name()
        )
    })
}
