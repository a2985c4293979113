//! The parts of the text of a scan's forms: elements, totals and names.

use std::borrow::Cow;
use std::fmt::Write;

use shaderlint_hlsl::{LocalId, Span};
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Elements, Kind, Rewrite, Shape, WAVE_SIZES};

use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{Barriers, barrier_of, neutral};
use crate::fixes::waves::operator::{accumulated, combined, of_wave, prefix};
use crate::fixes::waves::totals::{Totals, is_all_threads, length_by_name};
use crate::source::element::{Row, array_of_parts, element_name, row_of_elements};
use crate::source::group_size::{count_by_name, has_literal_size, size_by_name};
use crate::source::names::{further_name, local_name};
use crate::source::text::{indented, on_one_line, operand};
use crate::source::words::is_part;

/// The parts of the text of the forms.
#[derive(Clone)]
pub(super) struct Text<'a> {
    pub context: &'a Context<'a>,
    pub scan: Cow<'a, Collective>,
    pub rewrite: Cow<'a, Rewrite>,
    pub totals: String,
    pub barrier: &'static str,
    pub neutral: String,
    pub ty: String,
    pub is_inclusive: bool,
    /// The statements that store the total, as the file spells them: the text before the total, and the text behind
    /// it.
    pub stored: Vec<(String, String)>,
    /// Threads of the group.
    pub lanes: u32,
    /// The name for their number; `None` where the text has a number.
    pub size: Option<String>,
    /// The number of elements, by its name where every size that a name may get is one for the ladder's steps.
    pub count: String,
    /// Builds may have other numbers of elements, since the file has a name.
    pub is_count_named: bool,
    /// A form may say the number: a proof for it covers every build, or the file's own text does.
    pub is_count_known: bool,
    /// The parts for the other scans of the statements.
    pub others: Vec<Text<'a>>,
}

/// The names in the linear forms.
pub(super) struct Names {
    pub totals: String,
    pub wave: String,
    pub lane: String,
    pub first: String,
    pub stride: String,
    pub earlier: String,
}

/// The text of a scan of a wave's lanes.
pub(super) struct OfLanes {
    /// The first value of the result's variable.
    pub begin: String,
    /// The statements that follow.
    pub rest: String,
}

/// The number of elements from which three scans at once were faster than the ladder; two always were.
const THREE_FROM: u32 = 64;

const COMPONENTS: [char; 4] = ['x', 'y', 'z', 'w'];

impl<'a> Text<'a> {
    /// `None` for a total in a place that a macro spells, and for more results, or other ones, than a form is written
    /// for.
    pub fn new(
        context: &'a Context<'a>,
        scan: &'a Collective,
        rewrite: &'a Rewrite,
        totals: &str,
    ) -> Option<Self> {
        let mut text = Text::with_one_result(context, Cow::Borrowed(scan), rewrite, totals.to_owned())?;
        if scan.beside.is_empty() {
            return Some(text);
        }
        let is_more = match scan.beside.len() {
            1 => false,
            2 => scan.count < THREE_FROM,
            _ => true,
        };
        let is_more = is_more || scan.vector.is_some();
        if is_more || !rewrite.stored.is_empty() || !rewrite.other_places.is_empty() {
            return None;
        }
        let mut names = vec![totals.to_owned()];
        for beside in &scan.beside {
            let Elements::Array {
                global, component, ..
            } = &beside.output
            else {
                return None;
            };
            let (_, element, _) = array_of_parts(context.shader, *global, component.unwrap_or(0))?;
            // The proof shows whether its elements begin there.
            let own = scan.further(beside, element);
            let name = further_name(context.shader, totals, &names);
            names.push(name.clone());
            let other = Text::with_one_result(context, Cow::Owned(own), rewrite, name)?;
            text.others.push(other);
        }
        Some(text)
    }

    fn with_one_result(
        context: &'a Context<'a>,
        scan: Cow<'a, Collective>,
        rewrite: &'a Rewrite,
        totals: String,
    ) -> Option<Self> {
        let stored = rewrite.stored.iter().map(|stored| {
            let (whole, value) = (stored.whole, stored.value);
            let text = |start: u32, end: u32| on_one_line(context.shader, Span { start, end });
            let behind = if value.end < whole.end {
                text(value.end, whole.end)?
            } else {
                String::new()
            };
            Some((text(whole.start, value.start)?, behind))
        });
        let stored = stored.collect::<Option<_>>()?;
        let ty = element_name(context.shader, &scan)?;
        let lanes = context.analysis.group_size.iter().product();
        let in_figures = scan.count.to_string();
        // Each step of such a ladder is by a thread for each element: there are no fewer threads for any size.
        let has_thread_for_each = scan.shape == Shape::Doubling && scan.count < lanes;
        let named = { count_by_name(context, &scan) }.filter(|_| has_thread_for_each);
        Some(Text {
            stored,
            context,
            rewrite: Cow::Borrowed(rewrite),
            totals,
            barrier: barrier_of(&scan),
            neutral: neutral(scan.operator, scan.element, &ty),
            ty,
            is_inclusive: scan.kind == Kind::InclusiveScan,
            lanes,
            size: size_by_name(context, &scan).filter(|_| !has_literal_size(context)),
            is_count_named: named.as_ref().is_some_and(|named| *named != in_figures),
            is_count_known: has_literal_size(context) || named.is_some(),
            count: named.unwrap_or(in_figures),
            others: Vec::new(),
            scan,
        })
    }

    /// The text of a form as the file spells the group's size, and, where that is a name, with a number for it.
    pub fn written(&self, write: impl Fn(&Self) -> Option<Code>) -> Option<(Code, Option<Code>)> {
        let block = write(self)?;
        if self.size.is_none() && !self.is_count_named {
            return Some((block, None));
        }
        let in_figures = Text {
            size: None,
            count: self.scan.count.to_string(),
            ..self.clone()
        };
        Some((block, Some(write(&in_figures)?)))
    }

    /// The combination of two values.
    pub fn combined(&self, a: &str, b: &str) -> String {
        combined(self.scan.operator, a, b)
    }

    /// The statement that combines a variable with a value.
    pub fn accumulated(&self, variable: &str, value: &str) -> String {
        accumulated(self.scan.operator, variable, value)
    }

    /// The combination of a wave's lanes, of one value each.
    pub fn of_wave(&self, value: &str) -> String {
        of_wave(self.scan.operator, self.scan.element, &self.ty, value)
    }

    /// The intrinsic for the scan of a wave's lanes.
    pub fn prefix(&self) -> Option<&'static str> {
        prefix(self.scan.operator)
    }

    /// The scan of a wave's lanes, of one `value` each, which leaves each lane its `result`.
    ///
    /// Where no intrinsic scans by the operator, the lanes read each other's results, in steps that double. A lane
    /// below the stride reads lane 0, which holds the first value alone: a value that the lane's own result has already,
    /// so it changes nothing if the operator is idempotent. All lanes of the wave run the loop, as often as each other;
    /// a lane that is read comes before its reader, so in a partly filled wave it is active.
    pub fn of_lanes(&self, value: &str, result: &str, names: &Names, is_inclusive: bool) -> OfLanes {
        let Names {
            lane,
            stride,
            earlier,
            ..
        } = names;
        if let Some(prefix) = prefix(self.scan.operator) {
            let before = format!("{prefix}({value})");
            let begin = if is_inclusive {
                self.combined(&before, value)
            } else {
                before
            };
            return OfLanes {
                begin,
                rest: String::new(),
            };
        }
        let (begin, first) = if is_inclusive {
            (value.to_owned(), String::new())
        } else {
            let neutral = &self.neutral;
            let first = format!("if ({lane} == 0)\n    {result} = {neutral};\n");
            (
                format!("WaveReadLaneAt({value}, max(WaveGetLaneIndex(), 1) - 1)"),
                first,
            )
        };
        let read = format!("WaveReadLaneAt({result}, max({lane}, {stride}) - {stride})");
        let body = if self.scan.operator.is_idempotent() {
            format!("    {};\n", self.accumulated(result, &read))
        } else {
            format!(
                "{{\n    {ty} {earlier} = {read};\n    if ({lane} >= {stride})\n        {combined};\n}}\n",
                ty = self.ty,
                combined = self.accumulated(result, earlier)
            )
        };
        OfLanes {
            begin,
            rest: format!(
                "{first}for (uint {stride} = 1; {stride} < WaveGetLaneCount(); {stride} *= 2)\n{body}"
            ),
        }
    }

    pub fn name(&self, wanted: &str) -> String {
        local_name(self.context.shader, &self.scan, wanted)
    }

    pub fn kind(&self) -> &'static str {
        match (self.is_inclusive, self.scan.reversed) {
            (true, false) => "Inclusive",
            (false, false) => "Exclusive",
            (true, true) => "Inclusive reversed",
            (false, true) => "Exclusive reversed",
        }
    }

    /// The variable `local` of the function that holds the scan.
    pub fn local(&self, local: LocalId) -> Option<&str> {
        let function = self.context.shader.functions.get(self.scan.function.0 as usize)?;
        Some(&function.locals.get(local.0 as usize)?.name)
    }

    pub fn names(&self) -> Names {
        Names {
            totals: self.totals.clone(),
            wave: self.name("waveIndex"),
            lane: self.name("waveLane"),
            first: self.name("firstWave"),
            stride: self.name("waveStride"),
            earlier: self.name("waveEarlier"),
        }
    }

    /// The thread's own element.
    pub fn own(&self, elements: &Elements) -> Option<String> {
        match elements {
            Elements::Register {
                local,
                component: None,
            } if !self.scan.reversed => Some(self.local(*local)?.to_owned()),
            _ => self.element(elements, &self.rewrite.lane, 0),
        }
    }

    /// Every place for the result.
    pub fn outputs(&self) -> impl Iterator<Item = &Elements> {
        std::iter::once(&self.scan.output).chain(&self.rewrite.other_places)
    }

    /// Element `at + after` of the array, `None` for elements elsewhere.
    pub fn element(&self, elements: &Elements, at: &str, after: u32) -> Option<String> {
        let (Row { before, behind, .. }, index) = self.indexed(elements, at, after)?;
        Some(format!("{before}[{index}]{behind}"))
    }

    /// The same in parts: the array, and the index in it. A reversed scan counts elements from the last one.
    pub fn indexed(&self, elements: &Elements, at: &str, after: u32) -> Option<(Row, String)> {
        let shader = self.context.shader;
        let row = match *elements {
            Elements::Array {
                global,
                offset,
                component: Some(component),
                ..
            } => {
                let (array, scalar, part) = array_of_parts(shader, global, component)?;
                Row {
                    before: array.to_owned(),
                    behind: (scalar == self.scan.element).then_some(part)?,
                    offset,
                    padding: None,
                }
            }
            _ => row_of_elements(shader, &self.scan, elements)?,
        };
        if self.scan.reversed {
            let index = self.index_from_end(&row, at, after)?;
            return Some((row, index));
        }
        let (size, offset) = match &self.size {
            Some(size) if row.offset == self.lanes => (format!("{size} + "), 0),
            _ => (String::new(), row.offset),
        };
        // `at` is a multiple of the number of elements for each lane, and no padding is between these.
        let padding = row.padding.map_or(String::new(), |padding| {
            format!(" + ({} >> {padding})", as_factor(at))
        });
        let index = match offset + after {
            0 => format!("{size}{at}{padding}"),
            after => format!("{size}{at} + {after}{padding}"),
        };
        Some((row, index))
    }

    /// The index of the element `at + after` before the last one.
    fn index_from_end(&self, row: &Row, at: &str, after: u32) -> Option<String> {
        if row.padding.is_some() {
            return None;
        }
        let at = as_factor(at);
        match &self.size {
            None => Some(format!(
                "{} - {at}",
                (row.offset + self.scan.count - 1).checked_sub(after)?
            )),
            Some(size) if row.offset == 0 && self.scan.count == self.lanes => Some(format!(
                "{} - {} - {at}",
                operand(self.context.shader, size),
                after + 1
            )),
            Some(_) => None,
        }
    }

    /// The index of a lane's first element, where each takes `each`, and its declaration. There is a declaration if
    /// padding comes before the element: the index is computed once.
    pub fn first_of_lane(&self, input: &Elements, each: u32) -> Option<(String, String)> {
        let own = format!("{each} * {}", self.rewrite.lane);
        if !matches!(input, Elements::Spread { .. }) {
            return Some((own, String::new()));
        }
        let (_, first) = self.indexed(input, &own, 0)?;
        let place = self.name("wavePlace");
        let declared = format!("    uint {place} = {first};\n");
        Some((place, declared))
    }

    /// The elements from `at`, as a vector.
    pub fn vector(&self, input: &Elements, each: u32, at: &str) -> Option<String> {
        let elements = (0..each).map(|after| self.element(input, at, after));
        let elements = elements.collect::<Option<Vec<_>>>()?.join(", ");
        Some(format!("{}{each}({elements})", self.ty))
    }

    /// Makes each component the combination of the components up to it.
    pub fn running(&self, each: u32, elements: &str) -> String {
        let pairs = COMPONENTS.iter().zip(COMPONENTS.iter().skip(1));
        pairs
            .take(each.saturating_sub(1) as usize)
            .fold(String::new(), |mut text, (before, own)| {
                let step = self.accumulated(&format!("{elements}.{own}"), &format!("{elements}.{before}"));
                let _ = writeln!(text, "{step};");
                text
            })
    }

    /// Writes the lane's elements from `at`: `result`, which has the elements before the lane, combined with the
    /// lane's earlier elements.
    pub fn write_vector(
        &self,
        output: &Elements,
        each: u32,
        at: &str,
        elements: &str,
        result: &str,
    ) -> Option<String> {
        let mut text = String::new();
        for after in 0..each {
            let before = if self.is_inclusive {
                Some(after)
            } else {
                after.checked_sub(1)
            };
            let component = before.and_then(|before| COMPONENTS.get(before as usize));
            let value = component.map_or(result.to_owned(), |component| {
                self.combined(result, &format!("{elements}.{component}"))
            });
            let _ = writeln!(text, "{} = {value};", self.element(output, at, after)?);
        }
        Some(text)
    }

    /// The loop that adds the totals of the earlier waves to each result, with `active` scanning threads. Where a name
    /// tells their number, it steps by the lanes that are active in any number.
    pub fn add_totals(&self, names: &Names, results: &[(&str, &Text<'_>)], active: u32) -> String {
        let is_fixed = has_literal_size(self.context) && !self.is_count_named;
        let step = if is_fixed && every_total_is_fetched(active) {
            "WaveGetLaneCount()"
        } else {
            "WaveActiveCountBits(true)"
        };
        let Names {
            wave, lane, first, ..
        } = names;
        let adds = results.iter().map(|(result, of)| {
            let (totals, neutral) = (&of.totals, &of.neutral);
            let fetched = format!("{first} + {lane} < {wave} ? {totals}[{first} + {lane}] : {neutral}");
            format!("{};\n", of.accumulated(result, &of.of_wave(&fetched)))
        });
        format!(
            "for (uint {first} = 0; {first} < {wave}; {first} += {step})\n{}",
            as_one(adds)
        )
    }

    /// Stores the total, which the thread with the `condition` has in `total`.
    pub fn store_total(&self, condition: &str, total: &str) -> String {
        let stores = self
            .stored
            .iter()
            .fold(String::new(), |mut text, (before, behind)| {
                let _ = writeln!(text, "    {before} {total}{behind};");
                text
            });
        match self.stored.len() {
            0 => String::new(),
            1 => format!("if ({condition})\n{stores}"),
            _ => format!("if ({condition})\n{{\n{stores}}}\n"),
        }
    }

    /// The declarations of the waves' totals, with this number of `slots` where the file has a number for the group's
    /// size.
    pub fn totals(&self, slots: u32) -> Option<Vec<Totals>> {
        let length = if has_literal_size(self.context) {
            (slots.to_string(), slots)
        } else {
            length_by_name(self.context, &self.scan, &self.rewrite)?
        };
        let totals = std::iter::once(self).chain(&self.others).map(|of| Totals {
            ty: of.ty.clone(),
            name: of.totals.clone(),
            length: Some(length.clone()),
        });
        Some(totals.collect())
    }

    /// The end of every form: values that the ladder leaves in variables, and a barrier.
    pub fn end(&self, block: &mut Code, barriers: Barriers) -> Option<()> {
        for (local, value) in &self.rewrite.live_values {
            let size = { self.size.as_ref() }.filter(|_| is_all_threads(self.context, value));
            let value = size.unwrap_or(value);
            let _ = writeln!(block, "    {} = {value};", self.local(*local)?);
        }
        if barriers.last {
            block.push_barrier(self.barrier);
        }
        Some(())
    }
}

/// An index in parentheses, unless it is a product.
fn as_factor(index: &str) -> Cow<'_, str> {
    let is_of_product = |byte: u8| is_part(byte) || matches!(byte, b'.' | b' ' | b'*');
    if index.bytes().all(is_of_product) {
        Cow::Borrowed(index)
    } else {
        Cow::Owned(format!("({index})"))
    }
}

/// The same array without padding, for a lane that counts from its first element's index.
pub(super) fn without_padding(elements: &Elements) -> Elements {
    match *elements {
        Elements::Spread { global, .. } => Elements::Array {
            global,
            offset: 0,
            component: None,
            axis: 0,
        },
        _ => elements.clone(),
    }
}

/// Statements as a single statement.
pub(super) fn as_one(statements: impl ExactSizeIterator<Item = String>) -> String {
    let count = statements.len();
    let statements = indented(&statements.collect::<String>(), 1);
    match count {
        1 => statements,
        _ => format!("{{\n{statements}}}\n"),
    }
}

/// The last component of a vector with `each` components.
pub(super) fn last(each: u32) -> char {
    let number = each.saturating_sub(1) as usize;
    COMPONENTS.get(number).copied().unwrap_or('x')
}

pub(super) fn in_words(each: u32) -> &'static str {
    if each == 2 { "two" } else { "four" }
}

/// Whether the active lanes of a partly filled last wave suffice to fetch the totals before it in steps of the wave's
/// size.
fn every_total_is_fetched(lanes: u32) -> bool {
    WAVE_SIZES.into_iter().all(|size| {
        let (waves, rest) = (lanes / size, lanes % size);
        rest == 0 || rest >= waves.min(size)
    })
}
