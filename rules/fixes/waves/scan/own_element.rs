//! The linear form with one element for each thread.

use std::fmt::Write;

use shaderlint_simt::LaneMap;

use super::text::{Names, OfLanes, Text, as_one};
use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{Barriers, WaveForm};
use crate::source::text::{indented, is_figure};

/// The names of an element and a result of each of several scans. None is another one with a number: a taken name
/// gets a number.
const RESULT_NAMES: [(&str, &str); 3] = [
    ("waveElement", "waveScan"),
    ("waveSecond", "waveSecondScan"),
    ("waveThird", "waveThirdScan"),
];

impl Text<'_> {
    /// The linear form with one element for each thread, or for the first threads of the group.
    ///
    /// Threads without an element skip the scan and wait at the barriers. In each wave the lanes with an element come
    /// first, so every lane that is read has one. Only the last wave that scans may be partly filled, and no wave adds
    /// its total. There are no fewer threads than elements: in this build, as the proof shows; and in others, where the
    /// ladder needs a thread for each element itself.
    pub(super) fn one_element_per_lane(&self, barriers: Barriers) -> Option<WaveForm> {
        let is_of_all = self.scan.count == self.lanes;
        let is_of_first = self.scan.count < self.lanes && self.is_count_known;
        if !is_of_all && !is_of_first {
            return None;
        }
        let (block, expanded) = self.written(|text| text.own_element_code(barriers))?;
        let slots = self.scan.count.div_ceil(4);
        let mut totals = self.totals(slots)?;
        if self.is_count_named {
            for of in &mut totals {
                of.length = Some((format!("({} + 3) / 4", self.count), slots));
            }
        }
        Some(WaveForm::new(block, expanded, totals, &[LaneMap::Linear]))
    }

    fn own_element_code(&self, barriers: Barriers) -> Option<Code> {
        let names = self.names();
        let Names { wave, lane, .. } = &names;
        let is_of_all = self.scan.count == self.lanes;
        let texts: Vec<&Text<'_>> = std::iter::once(self).chain(&self.others).collect();
        // The names for each result.
        let variables: Vec<(String, String)> = { RESULT_NAMES.iter().take(texts.len()) }
            .map(|(element, result)| (self.name(element), self.name(result)))
            .collect();
        let all = || texts.iter().zip(&variables);
        let totals_of = |of: &Text<'_>, element: &str, result: &str| {
            if of.is_inclusive {
                result.to_owned()
            } else {
                of.combined(result, element)
            }
        };
        let what = if texts.len() > 1 { "scans" } else { "scan" };
        let mut block = Code::new(format!(
            "    // {} {what} by waves; assumes a 1-D group packed into waves in order.\n",
            self.kind()
        ));
        if barriers.first {
            block.push_barrier(self.barrier);
        }
        let lanes_of = |of: &Text<'_>, element: &str, result: &str| {
            of.of_lanes(element, result, &names, of.is_inclusive)
        };
        let (mut first, mut scans, mut rest) = (String::new(), String::new(), String::new());
        for (of, (element, result)) in all() {
            let OfLanes { begin, rest: further } = lanes_of(of, element, result);
            let own = of.own(&of.scan.input)?;
            let ty = if is_of_all {
                format!("{} ", of.ty)
            } else {
                let neutral = &of.neutral;
                let _ = write!(
                    block,
                    "    {ty} {element} = {neutral};\n    {ty} {result} = {neutral};\n",
                    ty = of.ty
                );
                String::new()
            };
            let _ = writeln!(first, "{ty}{element} = {own};");
            let _ = writeln!(scans, "{ty}{result} = {begin};");
            rest += &further;
        }
        let stores = all().map(|(of, (element, result))| {
            let total = totals_of(of, element, result);
            format!("{}[{wave}] = {total};\n", of.totals)
        });
        let results: Vec<(&str, &Text<'_>)> = all().map(|(of, (_, result))| (&**result, *of)).collect();
        let index = &self.rewrite.lane;
        let numbers = format!(
            "uint {wave} = {index} / WaveGetLaneCount();\n\
             uint {lane} = WaveGetLaneIndex();\n"
        );
        let store = format!("{rest}if ({lane} + 1 == WaveGetLaneCount())\n{}", as_one(stores));
        let mut after = self.add_totals(&names, &results, self.scan.count);
        for (of, (_, result)) in all() {
            for output in of.outputs() {
                let _ = writeln!(after, "{} = {result};", of.own(output)?);
            }
        }
        if let Some((element, result)) = variables.first() {
            let last = if is_figure(&self.count) {
                (self.scan.count - 1).to_string()
            } else {
                format!("{} - 1", self.count)
            };
            let is_last = format!("{index} == {last}");
            after += &self.store_total(&is_last, &totals_of(self, element, result));
        }
        if is_of_all {
            block.text += &indented(&format!("{first}{scans}{numbers}{store}"), 1);
            block.push_barrier(self.barrier);
            block.text += &indented(&after, 1);
        } else {
            let has_element = format!("if ({index} < {})\n", self.count);
            let guarded = |code: &str| format!("{has_element}{{\n{}}}\n", indented(code, 1));
            block.text += &indented(&(numbers + &guarded(&format!("{first}{scans}{store}"))), 1);
            block.push_barrier(self.barrier);
            block.text += &indented(&guarded(&after), 1);
        }
        self.end(&mut block, barriers)?;
        Some(block)
    }
}
