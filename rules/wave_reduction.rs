//! Wave forms of a reduction.
//!
//! # Why they are right, and what they assume
//!
//! Each wave combines its own lanes' elements (`WaveActiveSum`). What the waves come to is then combined in one cell of
//! the array that the elements went through, which the ladder leaves the total in or at least uses up.
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
//! The rest of the ladder's array holds its elements afterwards, not partial results, and a variable that held the total
//! for one thread holds it for all. Whether anybody reads that is for the proof to find out.

mod helper;

use std::fmt::Write;
use std::ops::RangeInclusive;

use shaderlint_hlsl::{GlobalId, LocalId, Scalar, Shader, Type};
use shaderlint_linter::{Context, FixForm};
use shaderlint_simt::{Collective, Elements, LaneMap, Operator, Rewrite};

use crate::element::{self, array_of_elements, element_name, part_of, scalar_part};
use crate::form::{WaveForm, barrier_of, neutral};
use crate::lines;
use crate::totals::{Totals, goes_with_size, length_by_name};
use crate::wave_choice;
use crate::written::{all_threads_by_name, has_literal_size, local_name, size_by_name};

/// Elements that one thread combines before its wave does, at most.
const MOST_A_THREAD: u32 = 4;

/// What stands for an operator in a form.
struct Names {
    what: &'static str,
    wave: &'static str,
    atomic: Option<&'static str>,
}

/// Where the waves' totals are combined.
struct Cell {
    array: String,
    index: u32,
    /// The thread whose own cell it is until then.
    owner: u32,
}

/// What a form leaves.
#[derive(Clone, Copy)]
struct Ending {
    /// The total in every element of the cell's array, not in the cell alone.
    everywhere: bool,
    barrier: bool,
}

/// The forms that may take the reduction's place, the one that does least first.
/// `totals` is what to call the array of the waves' totals.
pub(crate) fn forms(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    totals: &str,
) -> Vec<WaveForm> {
    let Some(registers) = registers(reduction, rewrite) else {
        return Vec::new();
    };
    let calls = helper::forms(context, reduction, rewrite, &registers, totals);
    let blocks = if is_of_parts(reduction) || is_best_by_one_wave(context, reduction) {
        one_wave_forms(context, reduction, rewrite, &registers)
    } else {
        let nothing_more = Ending {
            everywhere: false,
            barrier: false,
        };
        // Where variables hold the total all threads read the cell: its next writer may have to wait for them.
        let more = Ending {
            everywhere: registers.is_empty(),
            barrier: true,
        };
        let endings = [nothing_more, more].into_iter();
        let blocks =
            endings.filter_map(|ending| write(context, reduction, rewrite, (&registers, totals), ending));
        blocks.collect()
    };
    let [first, second] = match context.form {
        FixForm::Helper => [calls, blocks],
        FixForm::Inline => [blocks, calls],
    };
    first.into_iter().chain(second).collect()
}

/// Whether a form that names the group's size, or does without, is right for whichever that is: nothing in it is a figure that another
/// size would change.
fn is_right_for_any_size(context: &Context<'_>, reduction: &Collective, rewrite: &Rewrite) -> bool {
    let lanes = context.analysis.group_size.iter().product::<u32>();
    let takes_first = !matches!(reduction.input, Elements::Array { offset: 1.., .. });
    let leaves_first = cell(context.shader, reduction, lanes).is_none_or(|cell| cell.index == 0);
    reduction.count.is_multiple_of(lanes) && takes_first && leaves_first && goes_with_size(rewrite).is_none()
}

/// The packings of threads into waves that a form is right under: any, where an atomic brings the waves together. Rows and quads of a
/// group of one row are packed in order.
fn packings(context: &Context<'_>, reduction: &Collective) -> &'static [LaneMap] {
    if atomic(reduction).is_none() {
        &[LaneMap::Linear]
    } else if context.has_rows() {
        &LaneMap::ALL
    } else {
        &[LaneMap::Linear, LaneMap::Ragged(1)]
    }
}

/// Whether one wave is to combine all: no atomic does, and either the waves' totals cannot be numbered or they were seen to
/// take longer.
fn is_best_by_one_wave(context: &Context<'_>, reduction: &Collective) -> bool {
    atomic(reduction).is_none() && (context.has_rows() || are_totals_slower(reduction))
}

/// Whether it leaves several results, or one in a part of an element.
fn is_of_parts(reduction: &Collective) -> bool {
    let is_part = matches!(
        reduction.output,
        Elements::Cell {
            component: Some(_),
            ..
        }
    );
    is_part || !reduction.beside.is_empty()
}

/// What a form calls the results of the same statements, as many as one wave was seen to be faster for. None is another one with
/// a number, which is what a name becomes that is taken.
const OF_RESULTS: [&str; 4] = ["waveTotal", "waveSecond", "waveThird", "waveFourth"];

/// How many elements, of a type or of vectors of two, three and four of it, one wave was seen to be faster for than the ladder
/// (`docs/measurements.md`).
const BY_ONE_WAVE: [RangeInclusive<u32>; 4] = [64..=512, 64..=512, 64..=512, 128..=512];

fn is_fast_by_one_wave(reduction: &Collective) -> bool {
    let width = usize::from(reduction.vector.unwrap_or(1)) - 1;
    let counts = BY_ONE_WAVE.get(width);
    counts.is_some_and(|counts| counts.contains(&reduction.count))
}

fn one_wave_forms(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    registers: &[LocalId],
) -> Vec<WaveForm> {
    if !is_fast_by_one_wave(reduction) {
        return Vec::new();
    }
    let barriers = [(false, false), (false, true), (true, false), (true, true)];
    let forms = barriers.map(|barriers| by_one_wave(context, reduction, rewrite, registers, barriers));
    forms.into_iter().flatten().collect()
}

/// What one of several results is made of, and where it goes.
struct Part {
    operator: Operator,
    element: Scalar,
    ty: String,
    /// The array, and behind the element's index what names the component.
    array: String,
    component: String,
    offset: u32,
    index: u32,
    /// What the form calls what was combined so far.
    total: String,
}

/// All that the reduction's statements leave in their arrays: one part of each result, or `None` if one of them is made of
/// something else. That the elements of a further result begin in the array that it ends in is for the proof to find out.
fn parts(context: &Context<'_>, reduction: &Collective) -> Option<Vec<Part>> {
    let shader = context.shader;
    let total = |number: usize| Some(local_name(shader, reduction, OF_RESULTS.get(number)?));
    let Elements::Array { global, offset, .. } = reduction.input else {
        return None;
    };
    if !is_of_parts(reduction) {
        let array = array_of_elements(shader, reduction, global)?.to_owned();
        return Some(vec![Part {
            operator: reduction.operator,
            element: reduction.element,
            ty: element_name(shader, reduction)?,
            array,
            component: String::new(),
            offset,
            index: 0,
            total: total(0)?,
        }]);
    }
    let results = results(reduction)?;
    let mut parts: Vec<Part> = Vec::new();
    let mut taken: Vec<(GlobalId, usize)> = Vec::new();
    for (operator, global, component) in &results {
        if taken.contains(&(*global, *component)) {
            continue;
        }
        let declared = shader.globals.get(global.0 as usize)?;
        let Type::Array(of_array, length) = &declared.ty else {
            return None;
        };
        let own = part_of(shader, of_array, *component)?;
        let all = (0..usize::from(own.width.unwrap_or(1))).map(|number| own.first + number);
        // A vector is one where all of it is combined alike.
        let is_whole = all
            .clone()
            .all(|number| results.contains(&(*operator, *global, number)));
        let (ty, name) = if is_whole {
            taken.extend(all.map(|number| (*global, number)));
            let width = own.width.map(|width| width.to_string()).unwrap_or_default();
            (format!("{}{width}", own.scalar.name()), own.name)
        } else {
            let (scalar, name) = scalar_part(shader, of_array, *component)?;
            (scalar.name().to_owned(), name)
        };
        let is_plain = matches!(own.scalar, Scalar::Uint | Scalar::Int | Scalar::Float);
        if *length < reduction.count || offset != 0 || !is_plain {
            return None;
        }
        parts.push(Part {
            operator: *operator,
            element: own.scalar,
            ty,
            array: declared.name.clone(),
            component: name,
            offset: 0,
            index: 0,
            total: total(parts.len())?,
        });
    }
    Some(parts)
}

/// The operator of each result that is left in the first element of an array, and its place: the array and the component.
fn results(reduction: &Collective) -> Option<Vec<(Operator, GlobalId, usize)>> {
    let outputs = reduction
        .beside
        .iter()
        .map(|beside| (beside.operator, &beside.output, 1));
    let own = (
        reduction.operator,
        &reduction.output,
        reduction.vector.unwrap_or(1),
    );
    let places = std::iter::once(own)
        .chain(outputs)
        .map(|(operator, output, width)| match *output {
            Elements::Cell {
                global,
                index: 0,
                component,
                axis: 0,
            } => {
                let first = usize::from(component.unwrap_or(0));
                Some((0..usize::from(width)).map(move |number| (operator, global, first + number)))
            }
            _ => None,
        });
    let places: Vec<_> = places.collect::<Option<_>>()?;
    Some(places.into_iter().flatten().collect())
}

/// The form of one wave, with a barrier before and one behind what variables are left with.
fn by_one_wave(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    registers: &[LocalId],
    (first, last): (bool, bool),
) -> Option<WaveForm> {
    let shader = context.shader;
    let lanes = context.analysis.group_size.iter().product::<u32>();
    let barrier = barrier_of(reduction);
    let mut parts = parts(context, reduction)?;
    let cell = if let [part] = parts.as_mut_slice()
        && !is_of_parts(reduction)
    {
        let cell = cell(shader, reduction, lanes)?;
        part.index = cell.index;
        Some(cell)
    } else {
        None
    };
    let is_fixed = has_literal_size(context);
    let is_of_all = |part: &Part| part.offset == 0 && part.index == 0;
    let is_right_for_any_size = reduction.count.is_multiple_of(lanes)
        && parts.iter().all(is_of_all)
        && goes_with_size(rewrite).is_none();
    let count = if is_fixed {
        reduction.count.to_string()
    } else {
        let size = all_threads_by_name(context, reduction).filter(|_| is_right_for_any_size)?;
        match reduction.count / lanes {
            1 => size,
            each => format!("{each} * {size}"),
        }
    };
    let [element, of_wave_lanes] =
        ["waveElement", "waveLanes"].map(|wanted| local_name(shader, reduction, wanted));
    let stored = |part: &Part| {
        let array = cell.as_ref().map_or(&part.array, |cell| &cell.array);
        format!("{array}[{}]{}", part.index, part.component)
    };
    let mut what: Vec<String> = Vec::new();
    for part in &parts {
        let of_part = names(part.operator).what;
        if what.is_empty() {
            what.push(of_part.to_owned());
        } else if !what.iter().any(|known| known.eq_ignore_ascii_case(of_part)) {
            what.push(of_part.to_lowercase());
        }
    }
    let what = match what.as_slice() {
        [one] if parts.len() > 1 => format!("{one}s"),
        what => lines::listed(what),
    };
    let each = |indent: usize, statement: &dyn Fn(&Part) -> String| {
        parts.iter().fold(String::new(), |mut text, part| {
            let _ = writeln!(text, "{:indent$}{};", "", statement(part));
            text
        })
    };
    let barrier_first = if first {
        format!("    {barrier}();\n")
    } else {
        String::new()
    };
    // What stands for one statement or for several.
    let block = |indent: usize, statements: String| match parts.len() {
        1 => statements,
        _ => format!("{0:indent$}{{\n{statements}{0:indent$}}}\n", ""),
    };
    let text = |count: &str| {
        let combined = each(12, &|part| {
            let at = match part.offset {
                0 => element.clone(),
                offset => format!("{element} + {offset}"),
            };
            let read = format!("{}[{at}]{}", part.array, part.component);
            accumulated(part.operator, &part.total, &read)
        });
        format!(
            "{{\n    // {what} by the wave of thread 0, whichever lanes it has.\n{barrier_first}{declared}\
             \x20   if (WaveActiveAnyTrue({index} == 0))\n    {{\n\
             \x20       uint {of_wave_lanes} = WaveActiveCountBits(true);\n\
             \x20       for (uint {element} = WavePrefixCountBits(true); {element} < {count}; {element} += {of_wave_lanes})\n\
             {combined}{of_waves}    }}\n\
             \x20   {barrier}();\n\
             \x20   if ({index} == 0)\n{stores}\
             \x20   {barrier}();\n",
            declared = each(4, &|part| {
                format!(
                    "{} {} = {}",
                    part.ty,
                    part.total,
                    neutral(part.operator, part.element, &part.ty)
                )
            }),
            index = rewrite.lane,
            combined = block(8, combined),
            of_waves = each(8, &|part| {
                let of_wave = of_wave_by(part.operator, part.element, &part.ty, &part.total);
                format!("{} = {of_wave}", part.total)
            }),
            stores = block(4, each(8, &|part| format!("{} = {}", stored(part), part.total))),
        )
    };
    let mut end = match &cell {
        Some(cell) => left(shader, reduction, rewrite, registers, cell)?,
        None => left_of_several(context, reduction, rewrite, registers)?,
    };
    if last {
        let _ = writeln!(end, "    {barrier}();");
    }
    end.push('}');
    let expanded = (!is_fixed).then(|| text(&reduction.count.to_string()) + &end);
    let block = text(&count) + &end;
    Some(WaveForm::new(block, expanded, Vec::new(), &LaneMap::ALL))
}

/// What a wave's lanes come to, of a value of each.
fn of_wave(reduction: &Collective, value: &str) -> String {
    of_wave_by(
        reduction.operator,
        reduction.element,
        &reduction.element_name(),
        value,
    )
}

fn of_wave_by(operator: Operator, element: Scalar, ty: &str, value: &str) -> String {
    let wave = names(operator).wave;
    match (operator, element) {
        // These take unsigned operands.
        (Operator::And | Operator::Or | Operator::Xor, Scalar::Int) => {
            format!("{ty}({wave}(u{ty}({value})))")
        }
        _ => format!("{wave}({value})"),
    }
}

/// Statements that leave the total, and what else the ladder leaves, in variables.
fn left(
    shader: &Shader,
    reduction: &Collective,
    rewrite: &Rewrite,
    registers: &[LocalId],
    cell: &Cell,
) -> Option<String> {
    let function = shader.functions.get(reduction.function.0 as usize)?;
    let name = |local: LocalId| Some(&function.locals.get(local.0 as usize)?.name);
    let mut text = String::new();
    for local in registers {
        let _ = writeln!(text, "    {} = {}[{}];", name(*local)?, cell.array, cell.index);
    }
    Some(text + &left_settled(shader, reduction, rewrite)?)
}

/// Statements that leave each of several results, and what else the ladder leaves, in variables.
fn left_of_several(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    registers: &[LocalId],
) -> Option<String> {
    let function = context.function(reduction.function)?;
    let own = registers.iter().map(|local| (*local, Some(&reduction.output)));
    let further = rewrite.further.iter().map(|(local, number)| {
        let beside = reduction.beside.get(*number);
        (*local, beside.map(|beside| &beside.output))
    });
    let mut text = String::new();
    for (local, place) in own.chain(further) {
        let name = &function.locals.get(local.0 as usize)?.name;
        let place = element::text(context, reduction, place?, "");
        let _ = writeln!(text, "    {name} = {place};");
    }
    Some(text + &left_settled(context.shader, reduction, rewrite)?)
}

/// Statements that leave in variables what does not depend on the elements.
fn left_settled(shader: &Shader, reduction: &Collective, rewrite: &Rewrite) -> Option<String> {
    let function = shader.functions.get(reduction.function.0 as usize)?;
    let mut text = String::new();
    for (local, value) in &rewrite.settled {
        let name = &function.locals.get(local.0 as usize)?.name;
        let _ = writeln!(text, "    {name} = {value};");
    }
    Some(text)
}

/// The variables that the total is left in; `None` if it is left somewhere that a form does not write to.
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
    outputs.into_iter().chain(&rewrite.also).map(register).collect()
}

fn write(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    (registers, totals): (&[LocalId], &str),
    ending: Ending,
) -> Option<WaveForm> {
    let shader = context.shader;
    let lanes = context.analysis.group_size.iter().product::<u32>();
    let operator = names(reduction.operator);
    let barrier = barrier_of(reduction);
    let cell = cell(shader, reduction, lanes)?;
    let is_fixed = has_literal_size(context);
    if !is_fixed && !is_right_for_any_size(context, reduction, rewrite) {
        return None;
    }
    let in_figures = own_elements(shader, reduction, rewrite, (lanes, None))?;
    let has_name = !is_fixed && reduction.count > lanes;
    let own = if has_name {
        let size = all_threads_by_name(context, reduction)?;
        own_elements(shader, reduction, rewrite, (lanes, Some(&size)))?
    } else {
        in_figures.clone()
    };
    let total = local_name(shader, reduction, "waveTotal");
    let ty = element_name(shader, reduction)?;
    let index = &rewrite.lane;
    let place = format!("{}[{}]", cell.array, cell.index);
    let (owner, neutral) = (cell.owner, neutral(reduction.operator, reduction.element, &ty));
    let mut form = WaveForm::new(String::new(), None, Vec::new(), packings(context, reduction));
    let block = &mut form.block;
    if let Some(atomic) = atomic(reduction) {
        let text = |own: &str| {
            format!(
                "{{\n    // {what} by waves, whichever threads they hold.\n\
                 \x20   {ty} {total} = {of_own};\n\
                 \x20   if ({index} == {owner})\n\
                 \x20       {place} = {neutral};\n\
                 \x20   {barrier}();\n\
                 \x20   if (WaveIsFirstLane())\n\
                 \x20       {atomic}({place}, {total});\n\
                 \x20   {barrier}();\n",
                what = operator.what,
                of_own = of_wave(reduction, own),
            )
        };
        *block = text(&own);
        form.expanded = has_name.then(|| text(&in_figures));
    } else {
        if context.has_rows() {
            return None;
        }
        let name = |wanted: &str| local_name(shader, reduction, wanted);
        let (wave, lane) = (name("waveIndex"), name("waveLane"));
        let (waves, first) = (name("waveCount"), name("firstWave"));
        let size = if is_fixed {
            lanes.to_string()
        } else {
            size_by_name(context, reduction)?
        };
        let first_wave = FirstWave {
            reduction,
            ty: &ty,
            thread: index,
            result: &total,
            totals,
            place: &place,
            names: [&wave, &lane, &waves, &first],
        };
        let text = |size: &str, own: &str| {
            let what = operator.what;
            let statements = first_wave.combines(own, size);
            format!(
                "{{\n    // {what} by waves; assumes a 1-D group packed into waves in order.\n{statements}"
            )
        };
        *block = text(&size, &own);
        form.expanded = (!is_fixed).then(|| text(&lanes.to_string(), &in_figures));
        form.totals.push(Totals {
            declaration: format!("groupshared {ty} {totals}"),
            length: Some(if is_fixed {
                (lanes.div_ceil(4).to_string(), lanes.div_ceil(4))
            } else {
                length_by_name(context, reduction, rewrite)?
            }),
        });
        form.keeps_totals = true;
    }
    let mut end = left(shader, reduction, rewrite, registers, &cell)?;
    if ending.everywhere {
        let all = matches!(reduction.input, Elements::Array { offset: 0, .. }) && reduction.count == lanes;
        let array = Some(&cell.array).filter(|_| all && cell.index == owner)?;
        let _ = write!(
            end,
            "    if ({index} != {owner})\n        {array}[{index}] = {place};\n"
        );
    }
    if ending.barrier {
        let _ = writeln!(end, "    {barrier}();");
    }
    end.push('}');
    for text in [Some(&mut form.block), form.expanded.as_mut()]
        .into_iter()
        .flatten()
    {
        text.push_str(&end);
    }
    Some(form)
}

/// What the statements are written with by which the first wave combines the totals of all.
struct FirstWave<'a> {
    reduction: &'a Collective,
    ty: &'a str,
    /// The number of the thread.
    thread: &'a str,
    /// The variable of the wave's total.
    result: &'a str,
    totals: &'a str,
    /// Where all come to in the end.
    place: &'a str,
    /// Variables: of the wave's number, of the lane's, of the number of waves, and of the first total of a pass.
    names: [&'a str; 4],
}

impl FirstWave<'_> {
    /// The statements, of each thread's `own` value and the `size` of the group.
    fn combines(&self, own: &str, size: &str) -> String {
        let FirstWave {
            reduction,
            ty,
            thread,
            result,
            totals,
            place,
            names: [wave, lane, waves, first],
        } = self;
        let barrier = barrier_of(reduction);
        let neutral = neutral(reduction.operator, reduction.element, ty);
        let next = format!("{first} + {lane}");
        let of_totals = of_wave(
            reduction,
            &format!("{next} < {waves} ? {totals}[{next}] : {neutral}"),
        );
        format!(
            "    {ty} {result} = {of_own};\n\
             \x20   uint {wave} = {thread} / WaveGetLaneCount();\n\
             \x20   uint {lane} = WaveGetLaneIndex();\n\
             \x20   if ({lane} == 0)\n\
             \x20       {totals}[{wave}] = {result};\n\
             \x20   {barrier}();\n\
             \x20   if ({wave} == 0)\n\
             \x20   {{\n\
             \x20       uint {waves} = ({size} + WaveGetLaneCount() - 1) / WaveGetLaneCount();\n\
             \x20       {result} = {neutral};\n\
             \x20       for (uint {first} = 0; {first} < {waves}; {first} += WaveGetLaneCount())\n\
             \x20           {combined};\n\
             \x20       if ({lane} == 0)\n\
             \x20           {place} = {result};\n\
             \x20   }}\n\
             \x20   {barrier}();\n",
            of_own = of_wave(reduction, own),
            combined = accumulated(reduction.operator, result, &of_totals),
        )
    }
}

/// From how many elements on the form was seen to be faster than the ladder, of vectors of two, three and four floats
/// (`docs/measurements.md`). Of integers, which the device combines by itself, it always is.
const FLOATS_FROM: [u32; 3] = [64, 256, 512];

/// Whether a form with a total for each wave was seen to take longer than the ladder.
fn are_totals_slower(reduction: &Collective) -> bool {
    is_slower(reduction, FLOATS_FROM)
}

/// Whether it has fewer vectors of floats than a form pays for.
fn is_slower(reduction: &Collective, floats_from: [u32; 3]) -> bool {
    let width = reduction
        .vector
        .and_then(|width| usize::from(width).checked_sub(2));
    let least = width.and_then(|width| floats_from.get(width));
    reduction.element.is_float() && least.is_some_and(|least| reduction.count < *least)
}

/// Why no form is offered: all would be slower.
pub(crate) fn slower(reduction: &Collective) -> Option<String> {
    let is_slower = match &reduction.companions {
        Some(_) => reduction.count < wave_choice::FASTER_FROM,
        None => are_totals_slower(reduction),
    };
    is_slower.then(|| {
        format!(
            "of {} {}s no form was seen to be faster than such a ladder on an NVIDIA H100 or H200",
            reduction.count,
            reduction.element_name()
        )
    })
}

/// The atomic that combines by the reduction's operator.
pub(crate) fn atomic(reduction: &Collective) -> Option<&'static str> {
    let is_word = matches!(reduction.element_type(), Type::Scalar(Scalar::Int | Scalar::Uint));
    names(reduction.operator).atomic.filter(|_| is_word)
}

fn names(operator: Operator) -> Names {
    let (what, wave, atomic) = match operator {
        Operator::Add => ("Sum", "WaveActiveSum", Some("InterlockedAdd")),
        Operator::FloatAdd => ("Sum", "WaveActiveSum", None),
        Operator::Mul | Operator::FloatMul => ("Product", "WaveActiveProduct", None),
        Operator::MinUint | Operator::MinInt | Operator::MinFloat => {
            ("Minimum", "WaveActiveMin", Some("InterlockedMin"))
        }
        Operator::MaxUint | Operator::MaxInt | Operator::MaxFloat => {
            ("Maximum", "WaveActiveMax", Some("InterlockedMax"))
        }
        Operator::And => ("And", "WaveActiveBitAnd", Some("InterlockedAnd")),
        Operator::Or => ("Or", "WaveActiveBitOr", Some("InterlockedOr")),
        Operator::Xor => ("Xor", "WaveActiveBitXor", Some("InterlockedXor")),
    };
    Names { what, wave, atomic }
}

/// The statement that combines a variable with a value.
fn accumulated(operator: Operator, variable: &str, value: &str) -> String {
    match operator {
        Operator::Add | Operator::FloatAdd => format!("{variable} += {value}"),
        Operator::Mul | Operator::FloatMul => format!("{variable} *= {value}"),
        Operator::And => format!("{variable} &= {value}"),
        Operator::Or => format!("{variable} |= {value}"),
        Operator::Xor => format!("{variable} ^= {value}"),
        _ => format!("{variable} = {}", combined(operator, variable, value)),
    }
}

fn combined(operator: Operator, a: &str, b: &str) -> String {
    match operator {
        Operator::Add | Operator::FloatAdd => format!("{a} + {b}"),
        Operator::Mul | Operator::FloatMul => format!("{a} * {b}"),
        Operator::And => format!("{a} & {b}"),
        Operator::Or => format!("{a} | {b}"),
        Operator::Xor => format!("{a} ^ {b}"),
        Operator::MinUint | Operator::MinInt | Operator::MinFloat => format!("min({a}, {b})"),
        Operator::MaxUint | Operator::MaxInt | Operator::MaxFloat => format!("max({a}, {b})"),
    }
}

/// The cell that the ladder leaves the total in; else the first that it takes an element from, or passes one through.
fn cell(shader: &Shader, reduction: &Collective, lanes: u32) -> Option<Cell> {
    let input = match reduction.input {
        Elements::Array { global, offset, .. } => Some((global, offset)),
        _ => None,
    };
    let output = match reduction.output {
        Elements::Cell { global, index, .. } => Some((global, index)),
        _ => None,
    };
    let passed = reduction.arrays.iter().map(|array| (*array, 0));
    let places: Vec<(GlobalId, u32)> = match output {
        Some(output) => vec![output],
        None => input.into_iter().chain(passed).collect(),
    };
    let (array, index, name) = places
        .into_iter()
        .find_map(|(array, index)| Some((array, index, array_of_elements(shader, reduction, array)?)))?;
    let owner = match input {
        Some((of_input, offset)) if of_input == array => index.checked_sub(offset)? % lanes,
        _ => index % lanes,
    };
    Some(Cell {
        array: name.to_owned(),
        index,
        owner,
    })
}

/// All that one thread takes part with, the number of the group's threads in figures or by its name.
fn own_elements(
    shader: &Shader,
    reduction: &Collective,
    rewrite: &Rewrite,
    (lanes, size): (u32, Option<&str>),
) -> Option<String> {
    let index = &rewrite.lane;
    match reduction.input {
        Elements::Register {
            local,
            component: None,
        } => {
            let function = shader.functions.get(reduction.function.0 as usize)?;
            Some(function.locals.get(local.0 as usize)?.name.clone())
        }
        Elements::Array {
            global,
            offset,
            component: None,
            ..
        } => {
            let name = array_of_elements(shader, reduction, global)?;
            let element = |after: u32| match after {
                0 => format!("{name}[{index}]"),
                after => format!("{name}[{index} + {after}]"),
            };
            if reduction.count < lanes {
                let ty = element_name(shader, reduction)?;
                let neutral = neutral(reduction.operator, reduction.element, &ty);
                let count = reduction.count;
                return Some(format!("{index} < {count} ? {} : {neutral}", element(offset)));
            }
            let elements = reduction.count / lanes;
            if !reduction.count.is_multiple_of(lanes) || elements > MOST_A_THREAD {
                return None;
            }
            if size.is_some() && offset > 0 {
                return None;
            }
            let further = |number: u32| match (size, number) {
                (None, _) => element(offset + number * lanes),
                (Some(size), 1) => format!("{name}[{index} + {size}]"),
                (Some(size), _) => format!("{name}[{index} + {number} * {size}]"),
            };
            Some((1..elements).fold(element(offset), |all, number| {
                combined(reduction.operator, &all, &further(number))
            }))
        }
        _ => None,
    }
}
