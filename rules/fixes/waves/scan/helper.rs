//! The form that calls a function of the file.

use std::fmt::Write;

use shaderlint_linter::{Context, FixForm, OtherForm};
use shaderlint_simt::{Collective, Elements, Kind, LaneMap};

use super::text::{Names, Text, last, without_padding};
use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{Barriers, WaveForm};
use crate::fixes::waves::group_helper::{Helper, Wanted, function_name};
use crate::fixes::waves::operator::{in_words, names, prefix, result_name};
use crate::fixes::waves::sole_use::{ResultsIn, SoleUse, Taken};
use crate::source::names::inner_name;
use crate::source::text::{Spelled, indented, operand, without_suffix};

/// How many times as fast as the call the form in place was on an NVIDIA H200, from a number of elements: with the
/// elements in an array, and in registers. Speed-ups over Hillis–Steele of `uint`s, one for each thread
/// (docs/measurements.md).
const SPEED_IN_PLACE: [(u32, [f64; 2]); 6] = [
    (32, [1.0, 1.0]),
    (64, [1.0, 1.0]),
    (128, [1.64, 1.50]),
    (256, [1.51, 1.35]),
    (512, [1.44, 1.34]),
    (1024, [1.40, 1.30]),
];

/// The number of elements from which a call without an array was faster than the ladder (docs/measurements.md).
const WITHOUT_ARRAY_FROM: u32 = 64;

/// The other form of a fix, with its relative speed where that was measured.
pub(crate) fn other_form(context: &Context<'_>, scan: &Collective, of: FixForm) -> OtherForm {
    let lanes: u32 = context.analysis.group_size.iter().product();
    let is_scan = scan.kind != Kind::Reduction;
    let has_intrinsic = prefix(scan.operator).is_some();
    let is_plain = scan.count == lanes && scan.vector.is_none() && scan.beside.is_empty();
    let is_measured = is_scan && has_intrinsic && is_plain;
    let measured = SPEED_IN_PLACE
        .iter()
        .rfind(|(from, _)| *from <= scan.count && is_measured);
    let ratio = measured.map(|(_, [in_array, in_register])| match scan.output {
        Elements::Register { .. } => *in_register,
        _ => *in_array,
    });
    let speed = match ratio {
        None => String::new(),
        Some(1.0) => " (as fast on an NVIDIA H200)".to_owned(),
        Some(ratio) => {
            let ratio = if of == FixForm::Helper { ratio } else { 1.0 / ratio };
            format!(" ({ratio:.1} times as fast on an NVIDIA H200)")
        }
    };
    let how = match of {
        FixForm::Helper => "in place",
        FixForm::Inline => "by a function",
    };
    OtherForm {
        form: of.other(),
        text: format!("{how}{speed}"),
    }
}

impl Text<'_> {
    /// The linear forms with a call: each thread passes one element, or the sum of as many as divide the number of
    /// all, and gets the result of the elements before them. None where the statements have several results, or
    /// threads take no element.
    pub(super) fn by_helper(&self, barriers: &[Barriers]) -> Vec<WaveForm> {
        let each = self.scan.count / self.lanes;
        let is_even = self.scan.count.is_multiple_of(self.lanes);
        if !self.others.is_empty() || !is_even || ![1, 2, 4].contains(&each) {
            return Vec::new();
        }
        let is_inclusive = self.is_inclusive && each == 1;
        let kind = if is_inclusive { "Inclusive" } else { "Exclusive" };
        let operator = self.scan.operator;
        let name = function_name(self.context.shader, &["Group", kind, names(operator).word]);
        let which = if is_inclusive { "up to" } else { "before" };
        let comment = format!(
            "The {} of the values of the threads {which} this one. Takes waves to hold consecutive threads.\n\
             // Two calls need a barrier between them.",
            in_words(operator)
        );
        let write = |name: &str, totals: &str| Spelled::alike(self.function(name, totals, is_inclusive));
        let wanted = Wanted {
            name: &name,
            totals: &self.totals,
            comment: &comment,
        };
        let helpers = Helper::all(self.context.shader, &self.scan, &wanted, write);
        // A thread that takes its own element has written it itself.
        let waits_first = each > 1 || self.scan.reversed;
        let barriers = barriers.iter().filter(|barriers| waits_first || !barriers.first);
        let is_large = |of: &SoleUse| of.values.is_empty() || self.scan.count >= WITHOUT_ARRAY_FROM;
        let sole_use = self.sole_use(each).filter(is_large);
        let mut forms = Vec::new();
        for helper in helpers {
            if let Some(sole_use) = &sole_use {
                let given = sole_use.given();
                let call = match given.as_slice() {
                    [value] if sole_use.takes_call && self.stored.is_empty() => {
                        Some(format!("{}({value}, {})", helper.name, self.rewrite.lane))
                    }
                    _ => None,
                };
                let results = match &call {
                    Some(call) => vec![call.clone()],
                    None => self.results(given.len()),
                };
                let mut alone = self.clone();
                let left = &mut alone.rewrite.to_mut().live_values;
                left.retain(|(local, _)| !sole_use.left_for_reads.contains(local));
                forms.extend(WaveForm::without_array(sole_use, &results, |first| {
                    let barriers = Barriers { first, last: false };
                    alone.with_call(helper.clone(), barriers, |text, block, of| match call {
                        Some(_) => Some(String::new()),
                        None => text.kept_in_variables(block, each, sole_use, of),
                    })
                }));
            }
            let calls = barriers
                .clone()
                .filter_map(|with| self.call(helper.clone(), each, is_inclusive, *with));
            forms.extend(calls);
        }
        forms
    }

    fn sole_use(&self, each: u32) -> Option<SoleUse> {
        if self.scan.reversed || self.scan.vector.is_some() {
            return None;
        }
        let component = |elements: &Elements| match elements {
            Elements::Array { .. } => Some(self.indexed(elements, "", 0)?.0.behind),
            Elements::Spread { .. } | Elements::Register { component: None, .. } => Some(String::new()),
            _ => None,
        };
        let [given, left] = [component(&self.scan.input)?, component(&self.scan.output)?];
        let left = match &self.scan.output {
            Elements::Register { .. } => ResultsIn::Variables,
            _ => ResultsIn::OwnElement(&left),
        };
        let taken = Taken {
            each,
            component: &given,
        };
        SoleUse::of(self.context, &self.scan, &self.rewrite, taken, left)
    }

    /// The stored values are arguments of the call, and a variable keeps the result: the one in which the scan leaves
    /// it, or a new one.
    fn kept_in_variables(
        &self,
        block: &mut Code,
        each: u32,
        sole_use: &SoleUse,
        call: &dyn Fn(&str) -> String,
    ) -> Option<String> {
        let ty = &self.ty;
        let is_told_total = self.is_inclusive && each == 1;
        let mut taken: Vec<String> = match sole_use.values.len() {
            0 => vec![self.own(&self.scan.input)?],
            _ => sole_use.given(),
        };
        if each > 1 || !is_told_total && !self.stored.is_empty() {
            for (name, value) in self.elements(taken.len()).zip(&mut taken) {
                let _ = writeln!(block, "    {ty} {name} = {value};");
                *value = name;
            }
        }
        let given = { taken.into_iter() }.reduce(|all, value| self.combined(&all, &value))?;
        let (declared, result) = if sole_use.reads.is_empty() {
            (String::new(), self.own(&self.scan.output)?)
        } else {
            (format!("{ty} "), self.result())
        };
        let _ = writeln!(block, "    {declared}{result} = {};", call(&given));
        Some(if is_told_total {
            result
        } else {
            self.combined(&result, &given)
        })
    }

    /// The thread's result for each of its elements.
    fn results(&self, count: usize) -> Vec<String> {
        let elements: Vec<String> = self.elements(count).collect();
        let results = (0..count).map(|number| {
            let own = usize::from(self.is_inclusive && count > 1);
            let before = elements.iter().take(number + own).cloned();
            before.fold(self.result(), |all, element| self.combined(&all, &element))
        });
        results.collect()
    }

    /// The variables for the thread's elements.
    fn elements(&self, count: usize) -> impl Iterator<Item = String> {
        let names: &[&str] = if count == 1 {
            &["element"]
        } else {
            &["first", "second", "third", "fourth"]
        };
        names.iter().map(|name| self.name(name))
    }

    /// The variable for the result.
    fn result(&self) -> String {
        self.name(result_name(self.scan.operator))
    }

    fn call(&self, helper: Helper, each: u32, is_inclusive: bool, barriers: Barriers) -> Option<WaveForm> {
        self.with_call(helper, barriers, |text, block, call| {
            if each > 1 {
                text.call_with_sum(block, each, call)
            } else if is_inclusive || text.stored.is_empty() {
                text.call_in_place(block, call)
            } else {
                text.call_with_variable(block, call)
            }
        })
    }

    /// `take` writes the statements with the call, and returns the last thread's total.
    fn with_call(
        &self,
        helper: Helper,
        barriers: Barriers,
        take: impl Fn(&Self, &mut Code, &dyn Fn(&str) -> String) -> Option<String>,
    ) -> Option<WaveForm> {
        let call = |value: &str| format!("{}({value}, {})", helper.name, self.rewrite.lane);
        let (block, expanded) = self.written(|text| {
            let mut block = Code::default();
            if barriers.first {
                block.push_barrier(text.barrier);
            }
            let total = take(text, &mut block, &call)?;
            let is_last = match &text.size {
                Some(size) => format!(
                    "{} == {} - 1",
                    text.rewrite.lane,
                    operand(text.context.shader, size)
                ),
                None => format!("{} == {}", text.rewrite.lane, text.lanes - 1),
            };
            block.text += &indented(&text.store_total(&is_last, &total), 1);
            text.end(&mut block, barriers)?;
            Some(block)
        })?;
        let mut totals = self.totals(self.lanes.div_ceil(4))?;
        if helper.is_declared {
            totals.clear();
        }
        Some(WaveForm {
            helper: Some(helper),
            keeps_totals: true,
            is_flat: true,
            ..WaveForm::new(block, expanded, totals, &[LaneMap::Linear])
        })
    }

    /// The function: a scan of one value for each thread.
    fn function(&self, name: &str, totals: &str, is_inclusive: bool) -> Code {
        let inner = |wanted: &str| inner_name(self.context.shader, wanted);
        let [value, thread, result] = ["value", "thread", result_name(self.scan.operator)].map(inner);
        let names = Names {
            totals: totals.to_owned(),
            wave: inner("wave"),
            lane: inner("lane"),
            first: inner("first"),
            stride: inner("stride"),
            earlier: inner("earlier"),
        };
        let Names { wave, lane, .. } = &names;
        let ty = &self.ty;
        let of_totals = Text {
            totals: totals.to_owned(),
            neutral: without_suffix(self.context.shader, &self.neutral),
            ..self.clone()
        };
        let add = of_totals.add_totals(&names, &[(&result, &of_totals)], self.lanes);
        let scan = of_totals.of_lanes(&value, &result, &names, is_inclusive);
        let total = if is_inclusive {
            result.clone()
        } else {
            self.combined(&result, &value)
        };
        let mut code = Code::new(format!(
            "{ty} {name}({ty} {value}, uint {thread})\n{{\n\
             \x20   {ty} {result} = {begin};\n\
             \x20   uint {wave} = {thread} / WaveGetLaneCount();\n\
             \x20   uint {lane} = WaveGetLaneIndex();\n{rest}\
             \x20   if ({lane} + 1 == WaveGetLaneCount())\n\
             \x20       {totals}[{wave}] = {total};\n",
            begin = scan.begin,
            rest = indented(&scan.rest, 1),
        ));
        code.push_barrier(self.barrier);
        let _ = write!(code, "{}    return {result};\n}}", indented(&add, 1));
        code
    }

    /// One statement replaces each thread's own element by the result. The last thread then has the total of an
    /// inclusive scan.
    fn call_in_place(&self, block: &mut Code, call: &dyn Fn(&str) -> String) -> Option<String> {
        let mut outputs = self.outputs();
        let first = self.own(outputs.next()?)?;
        let _ = writeln!(block, "    {first} = {};", call(&self.own(&self.scan.input)?));
        for output in outputs {
            let _ = writeln!(block, "    {} = {first};", self.own(output)?);
        }
        Some(first)
    }

    /// The same with variables: the total is the sum of both.
    fn call_with_variable(&self, block: &mut Code, call: &dyn Fn(&str) -> String) -> Option<String> {
        let (element, result) = (self.name("waveElement"), self.name("waveScan"));
        let ty = &self.ty;
        let _ = writeln!(block, "    {ty} {element} = {};", self.own(&self.scan.input)?);
        let _ = writeln!(block, "    {ty} {result} = {};", call(&element));
        for output in self.outputs() {
            let _ = writeln!(block, "    {} = {result};", self.own(output)?);
        }
        Some(self.combined(&result, &element))
    }

    /// Each thread passes the sum of `each` neighbouring elements.
    fn call_with_sum(&self, block: &mut Code, each: u32, call: &dyn Fn(&str) -> String) -> Option<String> {
        let is_register = |elements: &Elements| matches!(elements, Elements::Register { .. });
        let mut places = std::iter::once(&self.scan.input).chain(self.outputs());
        if self.scan.vector.is_some() || places.any(is_register) {
            return None;
        }
        let (elements, result) = (self.name("waveElements"), self.name("waveScan"));
        let ty = &self.ty;
        let (at, declared) = self.first_of_lane(&self.scan.input, each)?;
        let is_padded = |elements: &Elements| matches!(elements, Elements::Spread { .. });
        if self
            .outputs()
            .any(|output| is_padded(output) == declared.is_empty())
        {
            return None;
        }
        block.text += &declared;
        let read = self.vector(&without_padding(&self.scan.input), each, &at)?;
        let _ = writeln!(block, "    {ty}{each} {elements} = {read};");
        block.text += &indented(&self.running(each, &elements), 1);
        let sum = format!("{elements}.{}", last(each));
        let _ = writeln!(block, "    {ty} {result} = {};", call(&sum));
        for output in self.outputs() {
            let write = self.write_vector(&without_padding(output), each, &at, &elements, &result)?;
            block.text += &indented(&write, 1);
        }
        Some(self.combined(&result, &sum))
    }
}
