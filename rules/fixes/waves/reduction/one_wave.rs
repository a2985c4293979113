//! The form of a reduction in which the wave of thread 0 combines all elements.

use std::fmt::Write;
use std::ops::RangeInclusive;

use shaderlint_hlsl::{GlobalId, LocalId, Scalar, Shader, Type};
use shaderlint_simt::{Collective, Elements, LaneMap, Operator};

use super::is_of_parts;
use super::ladder::Ladder;
use crate::describe::element;
use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{Barriers, WaveForm, barrier_of, neutral};
use crate::fixes::waves::operator::{accumulated, names, of_wave};
use crate::fixes::waves::totals::goes_with_size;
use crate::source::element::{array_of_elements, element_name, part_of, scalar_part};
use crate::source::group_size::{all_threads_by_name, has_literal_size, length_text};
use crate::source::lines;
use crate::source::words::words;

/// The names of the results of the same statements, as many as one wave was measured to be faster for. None is
/// another one with a number: a taken name gets a number.
const RESULT_NAMES: [&str; 10] = [
    "waveTotal",
    "waveSecond",
    "waveThird",
    "waveFourth",
    "waveFifth",
    "waveSixth",
    "waveSeventh",
    "waveEighth",
    "waveNinth",
    "waveTenth",
];

/// As many results, if some are vectors.
const MOST_VECTORS: usize = 4;

/// The numbers of elements for which one wave was faster than the ladder: of scalars, and of vectors of two, three
/// and four (`docs/measurements.md`).
const BY_ONE_WAVE: [RangeInclusive<u32>; 4] = [64..=512, 64..=512, 64..=512, 128..=512];

pub(super) fn is_fast_by_one_wave(reduction: &Collective) -> bool {
    let width = usize::from(reduction.vector.unwrap_or(1)) - 1;
    let counts = BY_ONE_WAVE.get(width);
    counts.is_some_and(|counts| counts.contains(&reduction.count))
}

/// The forms of one wave, the one with the fewest barriers first.
pub(super) fn forms(ladder: Ladder<'_>, registers: &[LocalId]) -> Vec<WaveForm> {
    if !is_fast_by_one_wave(ladder.reduction) {
        return Vec::new();
    }
    let Some(by_one_wave) = ByOneWave::of(ladder, registers) else {
        return Vec::new();
    };
    let barriers = [false, true].into_iter();
    let barriers = barriers.flat_map(|first| [false, true].map(|last| Barriers { first, last }));
    barriers.map(|barriers| by_one_wave.form(barriers)).collect()
}

/// One of several results: its elements, and its place.
struct Part {
    operator: Operator,
    element: Scalar,
    ty: String,
    /// The array, and the selector behind an element's index.
    array: String,
    component: String,
    offset: u32,
    /// The array of the result, and the index.
    stored_in: String,
    index: u32,
    /// The variable for the elements combined so far.
    total: String,
}

/// The array of an element, or the row of an array of arrays.
struct Row<'s> {
    name: String,
    element: &'s Type,
    /// The element's index, and the number of elements.
    index: u32,
    length: u32,
}

impl<'s> Row<'s> {
    fn of(shader: &'s Shader, global: GlobalId, index: u32) -> Option<Row<'s>> {
        let declared = shader.globals.get(global.0 as usize)?;
        let Type::Array(element, length) = &declared.ty else {
            return None;
        };
        let (name, element, index, length) = match &**element {
            Type::Array(element, columns) => {
                let (row, column) = (index.checked_div(*columns)?, index.checked_rem(*columns)?);
                (format!("{}[{row}]", declared.name), element, column, *columns)
            }
            _ => (declared.name.clone(), element, index, *length),
        };
        Some(Row {
            name,
            element,
            index,
            length,
        })
    }
}

/// All results of the reduction's statements in their arrays, or `None` if one of them comes from other elements. The
/// elements of a result in the array of the first one's elements are as far from it as these are from the first
/// result; others begin at the place of their result. The proof shows whether that is so.
fn parts(ladder: Ladder<'_>) -> Option<Vec<Part>> {
    let (shader, reduction) = (ladder.shader(), ladder.reduction);
    let total = |number: usize| Some(ladder.name(RESULT_NAMES.get(number)?));
    let Elements::Array {
        global: ref input,
        offset,
        ..
    } = reduction.input
    else {
        return None;
    };
    if !is_of_parts(shader, reduction) {
        let array = array_of_elements(shader, reduction, *input)?.to_owned();
        return Some(vec![Part {
            operator: reduction.operator,
            element: reduction.element,
            ty: element_name(shader, reduction)?,
            stored_in: array.clone(),
            array,
            component: String::new(),
            offset,
            index: 0,
            total: total(0)?,
        }]);
    }
    let results = results(reduction)?;
    let mut parts: Vec<Part> = Vec::new();
    let mut taken: Vec<(GlobalId, u32, usize)> = Vec::new();
    for (operator, global, index, component) in &results {
        if taken.contains(&(*global, *index, *component)) {
            continue;
        }
        let begin = match &reduction.output {
            Elements::Cell {
                global: of_first,
                index: first,
                ..
            } if of_first == input && global == input => (index + offset).checked_sub(*first)?,
            _ => *index,
        };
        let (result, from) = (
            Row::of(shader, *global, *index)?,
            Row::of(shader, *global, begin)?,
        );
        let of_array = result.element;
        let own = part_of(shader, of_array, *component)?;
        let all = (0..usize::from(own.width.unwrap_or(1))).map(|number| own.first + number);
        // A vector is one part if all of its components are combined alike.
        let is_whole = all
            .clone()
            .all(|number| results.contains(&(*operator, *global, *index, number)));
        let (ty, name) = if is_whole {
            taken.extend(all.map(|number| (*global, *index, number)));
            let width = own.width.map(|width| width.to_string()).unwrap_or_default();
            (format!("{}{width}", own.scalar.name()), own.name)
        } else {
            let (scalar, name) = scalar_part(shader, of_array, *component)?;
            (scalar.name().to_owned(), name)
        };
        let is_plain = matches!(own.scalar, Scalar::Uint | Scalar::Int | Scalar::Float);
        if from.length - from.index < reduction.count || !is_plain {
            return None;
        }
        parts.push(Part {
            operator: *operator,
            element: own.scalar,
            ty,
            array: from.name,
            stored_in: result.name,
            component: name,
            offset: from.index,
            index: result.index,
            total: total(parts.len())?,
        });
    }
    // More vectors were not measured.
    let has_vectors = results.len() > parts.len();
    (parts.len() <= MOST_VECTORS || !has_vectors).then_some(parts)
}

/// The operator and the place of each result: the array, the element and the component.
fn results(reduction: &Collective) -> Option<Vec<(Operator, GlobalId, u32, usize)>> {
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
                index,
                component,
                axis: 0,
            } => {
                let first = usize::from(component.unwrap_or(0));
                Some((0..usize::from(width)).map(move |number| (operator, global, index, first + number)))
            }
            _ => None,
        });
    let places: Vec<_> = places.collect::<Option<_>>()?;
    Some(places.into_iter().flatten().collect())
}

/// The parts of the text of the form.
struct ByOneWave<'a> {
    ladder: Ladder<'a>,
    parts: Vec<Part>,
    /// The number of elements, as the file spells it and as a number.
    count: String,
    count_in_figures: String,
    /// The statements that leave results in variables.
    left: String,
}

impl<'a> ByOneWave<'a> {
    fn of(ladder: Ladder<'a>, registers: &[LocalId]) -> Option<Self> {
        let reduction = ladder.reduction;
        let mut parts = parts(ladder)?;
        let left = if let [part] = parts.as_mut_slice()
            && !is_of_parts(ladder.shader(), reduction)
        {
            let cell = ladder.cell()?;
            part.index = cell.index;
            let left = ladder.leave(registers, &cell)?;
            part.stored_in = cell.array;
            left
        } else {
            left_of_several(ladder, registers)?
        };
        let count_in_figures = reduction.count.to_string();
        let count = if has_literal_size(ladder.context) {
            count_in_figures.clone()
        } else {
            let lanes = ladder.lanes();
            let size = all_threads_by_name(ladder.context, reduction)?;
            let is_of_all = |part: &Part| {
                (part.offset, part.index) == (0, 0)
                    || part.array == part.stored_in
                        && part.offset == part.index
                        && part.offset.is_multiple_of(reduction.count)
                        && is_of_length(ladder.shader(), &part.array, &size)
            };
            let is_right_for_any_size = reduction.count.is_multiple_of(lanes)
                && parts.iter().all(is_of_all)
                && goes_with_size(ladder.context, ladder.reduction, ladder.rewrite).is_none();
            if !is_right_for_any_size {
                return None;
            }
            match reduction.count / lanes {
                1 => size,
                each => format!("{each} * {size}"),
            }
        };
        Some(ByOneWave {
            ladder,
            parts,
            count,
            count_in_figures,
            left,
        })
    }

    /// The form with these barriers: the last one comes after the results are in variables.
    fn form(&self, barriers: Barriers) -> WaveForm {
        let text = |count: &str| {
            let mut code = self.statements(count, barriers.first);
            code.text += &self.left;
            if barriers.last {
                code.push_barrier(barrier_of(self.ladder.reduction));
            }
            code
        };
        let is_by_name = !has_literal_size(self.ladder.context);
        let expanded = is_by_name.then(|| text(&self.count_in_figures));
        WaveForm::new(text(&self.count), expanded, Vec::new(), &LaneMap::ALL)
    }

    /// The results, as the comment names them: "Sum and minimum".
    fn what(&self) -> String {
        let mut what: Vec<String> = Vec::new();
        for part in &self.parts {
            let of_part = names(part.operator).what;
            if what.is_empty() {
                what.push(of_part.to_owned());
            } else if !what.iter().any(|known| known.eq_ignore_ascii_case(of_part)) {
                what.push(of_part.to_lowercase());
            }
        }
        match what.as_slice() {
            [one] if self.parts.len() > 1 => format!("{one}s"),
            what => lines::listed(what),
        }
    }

    /// A statement for each part.
    fn each(&self, indent: usize, statement: impl Fn(&Part) -> String) -> String {
        self.parts.iter().fold(String::new(), |mut text, part| {
            let _ = writeln!(text, "{:indent$}{};", "", statement(part));
            text
        })
    }

    /// A statement for each part, as a single statement.
    fn each_as_one(&self, indent: usize, statement: impl Fn(&Part) -> String) -> String {
        let statements = self.each(indent + 4, statement);
        match self.parts.len() {
            1 => statements,
            _ => format!("{0:indent$}{{\n{statements}{0:indent$}}}\n", ""),
        }
    }

    fn statements(&self, count: &str, waits_first: bool) -> Code {
        let (what, index) = (self.what(), &self.ladder.rewrite.lane);
        let reduction = self.ladder.reduction;
        let barrier = barrier_of(reduction);
        let [element, of_wave_lanes] = ["waveElement", "waveLanes"].map(|wanted| self.ladder.name(wanted));
        let declared = self.each(4, |part| {
            let neutral = neutral(part.operator, part.element, &part.ty);
            format!("{} {} = {neutral}", part.ty, part.total)
        });
        // A block of elements begins behind whole blocks of as many.
        let number = |number: u32| match number / reduction.count {
            _ if count == self.count_in_figures => number.to_string(),
            0 => "0".to_owned(),
            1 => count.to_owned(),
            blocks => format!("{blocks} * {count}"),
        };
        let combined = self.each_as_one(8, |part| {
            let at = match part.offset {
                0 => element.clone(),
                offset => format!("{element} + {}", number(offset)),
            };
            let read = format!("{}[{at}]{}", part.array, part.component);
            accumulated(part.operator, &part.total, &read)
        });
        let of_waves = self.each(8, |part| {
            let of_wave = of_wave(part.operator, part.element, &part.ty, &part.total);
            format!("{} = {of_wave}", part.total)
        });
        let stores = self.each_as_one(4, |part| {
            format!(
                "{}[{}]{} = {}",
                part.stored_in,
                number(part.index),
                part.component,
                part.total
            )
        });
        let mut code = Code::new(format!(
            "    // {what} by the wave of thread 0, whichever lanes it has.\n"
        ));
        if waits_first {
            code.push_barrier(barrier);
        }
        let _ = write!(
            code,
            "{declared}    if (WaveActiveAnyTrue({index} == 0))\n    {{\n\
             \x20       uint {of_wave_lanes} = WaveActiveCountBits(true);\n\
             \x20       for (uint {element} = WavePrefixCountBits(true); {element} < {count}; {element} += {of_wave_lanes})\n\
             {combined}{of_waves}    }}\n"
        );
        code.push_barrier(barrier);
        let _ = write!(code, "    if ({index} == 0)\n{stores}");
        code.push_barrier(barrier);
        code
    }
}

/// Whether the array's length goes with the group's size: it names it.
fn is_of_length(shader: &Shader, array: &str, size: &str) -> bool {
    let array = shader.globals.iter().find(|global| global.name == array);
    array
        .and_then(|array| length_text(shader, array))
        .is_some_and(|length| {
            words(size.as_bytes()).all(|word| words(length.as_bytes()).any(|own| own == word))
        })
}

/// Statements that leave each of several results, and the other values of the ladder, in variables.
fn left_of_several(ladder: Ladder<'_>, registers: &[LocalId]) -> Option<String> {
    let Ladder {
        context,
        reduction,
        rewrite,
    } = ladder;
    let own = registers.iter().map(|local| (*local, Some(&reduction.output)));
    let further = rewrite.further_results.iter().map(|(local, number)| {
        let beside = reduction.beside.get(*number);
        (*local, beside.map(|beside| &beside.output))
    });
    let mut text = String::new();
    for (local, place) in own.chain(further) {
        let place = element::text(context, reduction, place?, "");
        let _ = writeln!(text, "    {} = {place};", ladder.variable(local)?);
    }
    Some(text + &ladder.leave_live_values(&[])?)
}
