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

pub(crate) use helper::other_form;

use std::borrow::Cow;
use std::fmt::Write;

use shaderlint_hlsl::{LocalId, Span, Type};
use shaderlint_linter::{Context, FixForm};
use shaderlint_simt::{Collective, Elements, Kind, LaneMap, Operator, Rewrite, WAVE_SIZES};

use crate::fixes::waves::form::{Barriers, WaveForm, barrier_of, neutral};
use crate::fixes::waves::totals::{Totals, length_by_name};
use crate::source::element::{Row, array_of_parts, element_name, row_of_elements};
use crate::source::group_size::{has_literal_size, size_by_name};
use crate::source::names::{further_name, local_name};
use crate::source::text::{indented, on_one_line, operand};
use crate::source::words::is_part;

/// The number of elements from which one wave was slower than the ladder.
pub(crate) const SLOWER_BY_ONE_WAVE: u32 = 1024;

/// The number of elements from which it pays to move them from registers to an array and back.
const STAGED_FROM: u32 = 128;

/// The forms that may replace the scan, the best one first. `totals` is the name for the array of the waves' totals.
pub(crate) fn forms(
    context: &Context<'_>,
    scan: &Collective,
    rewrite: &Rewrite,
    totals: &str,
) -> Vec<WaveForm> {
    let Some(text) = Text::new(context, scan, rewrite, totals) else {
        return Vec::new();
    };
    // No later reader waits for a register; the next reader of an array may have to.
    let in_register = matches!(scan.output, Elements::Register { .. }) && rewrite.also.is_empty();
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
    let calls = text.by_helper(&barriers);
    let mut blocks = with(&|barriers| text.of_several(barriers), &barriers);
    // A thread that takes its own element waits for nobody.
    barriers.retain(|barriers| !barriers.first || scan.reversed);
    blocks.extend(with(&|barriers| text.of_one(barriers), &barriers));
    let [first, second] = match context.form {
        FixForm::Helper => [calls, blocks],
        FixForm::Inline => [blocks, calls],
    };
    first.into_iter().chain(second).collect()
}

/// The parts of the text of the forms.
#[derive(Clone)]
struct Text<'a> {
    context: &'a Context<'a>,
    scan: Cow<'a, Collective>,
    rewrite: &'a Rewrite,
    totals: String,
    prefix: &'static str,
    active: &'static str,
    sign: &'static str,
    barrier: &'static str,
    neutral: String,
    ty: String,
    is_inclusive: bool,
    /// The statements that store the total, as the file spells them: the text before the total, and the text behind
    /// it.
    stored: Vec<(String, String)>,
    /// Threads of the group.
    lanes: u32,
    /// The name for their number; `None` where the text has a number.
    size: Option<String>,
    /// The parts for the other scans of the statements.
    others: Vec<Text<'a>>,
}

/// The number of elements from which three scans at once were faster than the ladder; two always were.
const THREE_FROM: u32 = 64;

/// The names of an element and a result of each of several scans. None is another one with a number: a taken name
/// gets a number.
const OF_RESULTS: [(&str, &str); 3] = [
    ("waveElement", "waveScan"),
    ("waveSecond", "waveSecondScan"),
    ("waveThird", "waveThirdScan"),
];

impl<'a> Text<'a> {
    /// `None` for operators without a wave prefix, for a total in a place that a macro spells, and for more results,
    /// or other ones, than a form is written for.
    fn new(
        context: &'a Context<'a>,
        scan: &'a Collective,
        rewrite: &'a Rewrite,
        totals: &str,
    ) -> Option<Self> {
        let mut text = Text::of_one_result(context, Cow::Borrowed(scan), rewrite, totals.to_owned())?;
        if scan.beside.is_empty() {
            return Some(text);
        }
        let is_more = match scan.beside.len() {
            1 => false,
            2 => scan.count < THREE_FROM,
            _ => true,
        };
        let is_more = is_more || scan.vector.is_some();
        if is_more || !rewrite.stored.is_empty() || !rewrite.also.is_empty() {
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
            let other = Text::of_one_result(context, Cow::Owned(own), rewrite, name)?;
            text.others.push(other);
        }
        Some(text)
    }

    fn of_one_result(
        context: &'a Context<'a>,
        scan: Cow<'a, Collective>,
        rewrite: &'a Rewrite,
        totals: String,
    ) -> Option<Self> {
        let (prefix, active, sign) = match scan.operator {
            Operator::Add | Operator::FloatAdd => ("WavePrefixSum", "WaveActiveSum", "+"),
            Operator::Mul | Operator::FloatMul => ("WavePrefixProduct", "WaveActiveProduct", "*"),
            _ => return None,
        };
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
        Some(Text {
            stored,
            context,
            rewrite,
            totals,
            prefix,
            active,
            sign,
            barrier: barrier_of(&scan),
            neutral: neutral(scan.operator, scan.element, &ty),
            ty,
            is_inclusive: scan.kind == Kind::InclusiveScan,
            lanes: context.analysis.group_size.iter().product(),
            size: size_by_name(context, &scan).filter(|_| !has_literal_size(context)),
            others: Vec::new(),
            scan,
        })
    }

    /// The text of a form as the file spells the group's size, and, where that is a name, with a number for it.
    fn written(&self, write: impl Fn(&Self) -> Option<String>) -> Option<(String, Option<String>)> {
        let block = write(self)?;
        if self.size.is_none() {
            return Some((block, None));
        }
        let in_figures = Text {
            size: None,
            ..self.clone()
        };
        Some((block, Some(write(&in_figures)?)))
    }

    fn name(&self, wanted: &str) -> String {
        local_name(self.context.shader, &self.scan, wanted)
    }

    fn kind(&self) -> &'static str {
        match (self.is_inclusive, self.scan.reversed) {
            (true, false) => "Inclusive",
            (false, false) => "Exclusive",
            (true, true) => "Inclusive reversed",
            (false, true) => "Exclusive reversed",
        }
    }

    /// The variable `local` of the function that holds the scan.
    fn local(&self, local: LocalId) -> Option<&str> {
        let function = self.context.shader.functions.get(self.scan.function.0 as usize)?;
        Some(&function.locals.get(local.0 as usize)?.name)
    }

    /// Element `at + after` of the array, `None` for elements elsewhere.
    fn element(&self, elements: &Elements, at: &str, after: u32) -> Option<String> {
        let (Row { before, behind, .. }, index) = self.indexed(elements, at, after)?;
        Some(format!("{before}[{index}]{behind}"))
    }

    /// The same in parts: the array, and the index in it. A reversed scan counts elements from the last one.
    fn indexed(&self, elements: &Elements, at: &str, after: u32) -> Option<(Row, String)> {
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

    /// The thread's own element.
    fn own(&self, elements: &Elements) -> Option<String> {
        match elements {
            Elements::Register {
                local,
                component: None,
            } if !self.scan.reversed => Some(self.local(*local)?.to_owned()),
            _ => self.element(elements, &self.rewrite.lane, 0),
        }
    }

    /// Every place for the result.
    fn outputs(&self) -> impl Iterator<Item = &Elements> {
        std::iter::once(&self.scan.output).chain(&self.rewrite.also)
    }

    /// Stores the total, which the thread with the `condition` has in `total`.
    fn store_total(&self, condition: &str, total: &str) -> String {
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

    /// The end of every form: values that the ladder leaves in variables, and a barrier.
    fn end(&self, block: &mut String, barriers: Barriers) -> Option<()> {
        let barrier = self.barrier;
        for (local, value) in &self.rewrite.settled {
            let _ = writeln!(block, "    {} = {value};", self.local(*local)?);
        }
        if barriers.last {
            let _ = writeln!(block, "    {barrier}();");
        }
        block.push('}');
        Some(())
    }

    /// The declarations of the waves' totals, with this number of `slots` where the file has a number for the group's
    /// size.
    fn totals(&self, slots: u32) -> Option<Vec<Totals>> {
        let length = if has_literal_size(self.context) {
            (slots.to_string(), slots)
        } else {
            length_by_name(self.context, &self.scan, self.rewrite)?
        };
        let totals = std::iter::once(self).chain(&self.others).map(|of| Totals {
            declaration: format!("groupshared {} {}", of.ty, of.totals),
            length: Some(length.clone()),
        });
        Some(totals.collect())
    }

    /// The loop that adds the totals of the earlier waves to each result, with `active` scanning threads.
    fn add_totals(&self, names: &Names, results: &[(&str, &Text<'_>)], active: u32) -> String {
        let step = if has_literal_size(self.context) && every_total_is_fetched(active) {
            "WaveGetLaneCount()"
        } else {
            "WaveActiveCountBits(true)"
        };
        let Names {
            wave, lane, first, ..
        } = names;
        let adds = results.iter().map(|(result, of)| {
            let (sign, active, totals, neutral) = (of.sign, of.active, &of.totals, &of.neutral);
            format!(
                "{result} {sign}= {active}({first} + {lane} < {wave} ? {totals}[{first} + {lane}] : {neutral});\n"
            )
        });
        format!(
            "for (uint {first} = 0; {first} < {wave}; {first} += {step})\n{}",
            block(adds)
        )
    }

    fn names(&self) -> Names {
        Names {
            totals: self.totals.clone(),
            wave: self.name("waveIndex"),
            lane: self.name("waveLane"),
            first: self.name("firstWave"),
        }
    }

    /// The linear form with one element for each thread.
    fn of_one(&self, barriers: Barriers) -> Option<WaveForm> {
        if self.scan.count > self.lanes {
            return None;
        }
        let (block, expanded) = self.written(|text| text.of_own(barriers))?;
        let totals = self.totals(self.lanes.div_ceil(4))?;
        Some(WaveForm::new(block, expanded, totals, &[LaneMap::Linear]))
    }

    fn of_own(&self, barriers: Barriers) -> Option<String> {
        let names = self.names();
        let Names { wave, lane, .. } = &names;
        let texts: Vec<&Text<'_>> = std::iter::once(self).chain(&self.others).collect();
        // The names for each result.
        let variables: Vec<(String, String)> = { OF_RESULTS.iter().take(texts.len()) }
            .map(|(element, result)| (self.name(element), self.name(result)))
            .collect();
        let all = || texts.iter().zip(&variables);
        let totals_of = |of: &Text<'_>, element: &str, result: &str| {
            if of.is_inclusive {
                result.to_owned()
            } else {
                format!("{result} {} {element}", of.sign)
            }
        };
        let what = if texts.len() > 1 { "scans" } else { "scan" };
        let mut text = format!(
            "{{\n    // {} {what} by waves; assumes a 1-D group packed into waves in order.\n",
            self.kind()
        );
        if barriers.first {
            let _ = writeln!(text, "    {}();", self.barrier);
        }
        for (of, (element, _)) in all() {
            let _ = writeln!(text, "    {} {element} = {};", of.ty, of.own(&of.scan.input)?);
        }
        for (of, (element, result)) in all() {
            let own = if of.is_inclusive {
                format!(" {} {element}", of.sign)
            } else {
                String::new()
            };
            let _ = writeln!(text, "    {} {result} = {}({element}){own};", of.ty, of.prefix);
        }
        let stores = all().map(|(of, (element, result))| {
            let total = totals_of(of, element, result);
            format!("{}[{wave}] = {total};\n", of.totals)
        });
        let results: Vec<(&str, &Text<'_>)> = all().map(|(of, (_, result))| (&**result, *of)).collect();
        let _ = write!(
            text,
            "    uint {wave} = {index} / WaveGetLaneCount();\n\
             \x20   uint {lane} = WaveGetLaneIndex();\n\
             \x20   if ({lane} + 1 == WaveGetLaneCount())\n{}\
             \x20   {}();\n{}",
            indented(&block(stores), 1),
            self.barrier,
            indented(&self.add_totals(&names, &results, self.lanes), 1),
            index = self.rewrite.lane,
        );
        for (of, (_, result)) in all() {
            for output in of.outputs() {
                let _ = writeln!(text, "    {} = {result};", of.own(output)?);
            }
        }
        if let Some((element, result)) = variables.first() {
            let is_last = format!("{} == {}", self.rewrite.lane, self.lanes - 1);
            let total = totals_of(self, element, result);
            text.push_str(&indented(&self.store_total(&is_last, &total), 1));
        }
        self.end(&mut text, barriers)?;
        Some(text)
    }

    /// The linear form with two or four elements for each lane. With vectors it was not faster than with one, where
    /// one for each lane is enough.
    fn of_several(&self, barriers: Barriers) -> Option<WaveForm> {
        let is_of_vectors = self.scan.vector.is_some();
        if is_of_vectors && self.scan.count <= self.lanes || !self.others.is_empty() {
            return None;
        }
        match has_literal_size(self.context) {
            true if is_of_vectors => self.of_vectors(barriers),
            true => self.of_figures(barriers),
            false => self.of_names(barriers),
        }
    }

    /// The best number of elements for each lane, if more than one; `None` where it does not divide the number of
    /// elements, or for vectors, which fit into no vector.
    fn each(&self) -> Option<u32> {
        if self.scan.vector.is_some() {
            return None;
        }
        let count = self.scan.count;
        let fits = |each: &u32| count.is_multiple_of(*each) && count / each <= self.lanes;
        let best: &[u32] = match count {
            128.. => &[4, 2],
            64.. => &[2],
            // There are more elements than threads.
            _ if count > self.lanes => &[2],
            _ => &[],
        };
        best.iter().copied().find(fits)
    }

    fn of_figures(&self, barriers: Barriers) -> Option<WaveForm> {
        let each = self.each()?;
        let stage = self.stage();
        if stage.is_some() && self.scan.count < STAGED_FROM {
            return None;
        }
        let input = match &self.scan.input {
            Elements::Register { .. } => stage.as_ref()?,
            elsewhere => elsewhere,
        };
        let names = self.names();
        let Names {
            totals, wave, lane, ..
        } = &names;
        let (elements, result) = (self.name("waveElements"), self.name("waveScan"));
        let (ty, index, sign) = (&self.ty, &self.rewrite.lane, self.sign);
        let barrier = self.barrier;
        let (own, placed) = self.first_of_lane(input, each)?;
        let active = self.scan.count / each;
        let input = &without_padding(input);
        let read = self.vector(input, each, &own)?;
        let sum = format!("{elements}.{}", last(each));
        let mut block = format!(
            "{{\n    // {} scan by waves, {} elements a lane; assumes a 1-D group packed into waves in order.\n",
            self.kind(),
            in_words(each)
        );
        if barriers.first {
            let _ = writeln!(block, "    {barrier}();");
        }
        if let Elements::Register { local, .. } = &self.scan.input {
            let _ = writeln!(
                block,
                "    {} = {};\n    {barrier}();",
                self.element(input, index, 0)?,
                self.local(*local)?
            );
        }
        let running = self.running(each, &elements);
        let scan = format!("{result} = {}({sum});", self.prefix);
        let store =
            format!("if ({lane} + 1 == WaveGetLaneCount())\n    {totals}[{wave}] = {result} {sign} {sum};\n");
        let mut after = self.add_totals(&names, &[(&result, self)], active);
        let is_array = |elements: &&Elements| !matches!(elements, Elements::Register { .. });
        let mut arrays: Vec<&Elements> = self.outputs().filter(is_array).collect();
        if arrays.is_empty() {
            arrays.extend(&stage);
        }
        if arrays
            .iter()
            .any(|array| matches!(array, Elements::Spread { .. }) == placed.is_empty())
        {
            return None;
        }
        for output in &arrays {
            after.push_str(&self.write_vector(&without_padding(output), each, &own, &elements, &result)?);
        }
        let is_last = format!("{index} == {}", active - 1);
        after.push_str(&self.store_total(&is_last, &format!("{result} {sign} {sum}")));
        let indices = format!(
            "    uint {wave} = {index} / WaveGetLaneCount();\n    uint {lane} = WaveGetLaneIndex();\n"
        );
        block.push_str(&placed);
        if active == self.lanes {
            let _ = write!(
                block,
                "    {ty}{each} {elements} = {read};\n{}    {ty} {scan}\n{indices}{}    {barrier}();\n{}",
                indented(&running, 1),
                indented(&store, 1),
                indented(&after, 1),
            );
        } else {
            let _ = write!(
                block,
                "    {ty}{each} {elements} = {neutral};\n    {ty} {result} = {neutral};\n{indices}\
                 \x20   if ({index} < {active})\n    {{\n        {elements} = {read};\n{}        {scan}\n{}    }}\n\
                 \x20   {barrier}();\n    if ({index} < {active})\n    {{\n{}    }}\n",
                indented(&running, 2),
                indented(&store, 2),
                indented(&after, 2),
                neutral = self.neutral,
            );
        }
        let registers = self.outputs().filter(|elements| !is_array(elements));
        for (number, output) in registers.enumerate() {
            if number == 0 {
                let _ = writeln!(block, "    {barrier}();");
            }
            let from = self.element(arrays.first()?, index, 0)?;
            let _ = writeln!(block, "    {} = {from};", self.own(output)?);
        }
        self.end(&mut block, barriers)?;
        let totals = self.totals(active.div_ceil(4))?;
        Some(WaveForm::new(block, None, totals, &[LaneMap::Linear]))
    }

    /// The index of a lane's first element, where each takes `each`, and its declaration. There is a declaration if
    /// padding comes before the element: the index is computed once.
    fn first_of_lane(&self, input: &Elements, each: u32) -> Option<(String, String)> {
        let own = format!("{each} * {}", self.rewrite.lane);
        if !matches!(input, Elements::Spread { .. }) {
            return Some((own, String::new()));
        }
        let (_, first) = self.indexed(input, &own, 0)?;
        let place = self.name("wavePlace");
        let declared = format!("    uint {place} = {first};\n");
        Some((place, declared))
    }

    /// The array that the elements passed through in the ladder, for elements that begin or end in registers.
    fn stage(&self) -> Option<Elements> {
        let mut places = std::iter::once(&self.scan.input).chain(self.outputs());
        places.find(|place| matches!(place, Elements::Register { .. }))?;
        let global = *self.scan.arrays.first()?;
        let array = self.context.shader.globals.get(global.0 as usize)?;
        let is_long_enough = matches!(array.ty, Type::Array(_, length) if length >= self.scan.count);
        is_long_enough.then_some(Elements::Array {
            global,
            offset: 0,
            component: None,
            axis: 0,
        })
    }

    /// The elements from `at`, as a vector.
    fn vector(&self, input: &Elements, each: u32, at: &str) -> Option<String> {
        let elements = (0..each).map(|after| self.element(input, at, after));
        let elements = elements.collect::<Option<Vec<_>>>()?.join(", ");
        Some(format!("{}{each}({elements})", self.ty))
    }

    /// Makes each component the combination of the components up to it.
    fn running(&self, each: u32, elements: &str) -> String {
        let pairs = COMPONENTS.iter().zip(COMPONENTS.iter().skip(1));
        pairs
            .take(each.saturating_sub(1) as usize)
            .fold(String::new(), |mut text, (before, own)| {
                let _ = writeln!(text, "{elements}.{own} {}= {elements}.{before};", self.sign);
                text
            })
    }

    /// Writes the lane's elements from `at`: `result`, which has the elements before the lane, combined with the
    /// lane's earlier elements.
    fn write_vector(
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
                format!("{result} {} {elements}.{component}", self.sign)
            });
            let _ = writeln!(text, "{} = {value};", self.element(output, at, after)?);
        }
        Some(text)
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
fn without_padding(elements: &Elements) -> Elements {
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
fn block(statements: impl ExactSizeIterator<Item = String>) -> String {
    let count = statements.len();
    let statements = indented(&statements.collect::<String>(), 1);
    match count {
        1 => statements,
        _ => format!("{{\n{statements}}}\n"),
    }
}

/// The names in the linear forms.
struct Names {
    totals: String,
    wave: String,
    lane: String,
    first: String,
}

const COMPONENTS: [char; 4] = ['x', 'y', 'z', 'w'];

/// The last component of a vector with `each` components.
fn last(each: u32) -> char {
    let number = each.saturating_sub(1) as usize;
    COMPONENTS.get(number).copied().unwrap_or('x')
}

fn in_words(each: u32) -> &'static str {
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
