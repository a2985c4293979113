//! The linear form with one element for each thread.

use std::fmt::Write;

use shaderlint_simt::LaneMap;

use super::text::{Names, Text, as_one};
use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{Barriers, WaveForm};
use crate::source::text::indented;

/// The names of an element and a result of each of several scans. None is another one with a number: a taken name
/// gets a number.
const RESULT_NAMES: [(&str, &str); 3] = [
    ("waveElement", "waveScan"),
    ("waveSecond", "waveSecondScan"),
    ("waveThird", "waveThirdScan"),
];

impl Text<'_> {
    /// The linear form with one element for each thread.
    pub(super) fn one_element_per_lane(&self, barriers: Barriers) -> Option<WaveForm> {
        if self.scan.count > self.lanes {
            return None;
        }
        let (block, expanded) = self.written(|text| text.own_element_code(barriers))?;
        let totals = self.totals(self.lanes.div_ceil(4))?;
        Some(WaveForm::new(block, expanded, totals, &[LaneMap::Linear]))
    }

    fn own_element_code(&self, barriers: Barriers) -> Option<Code> {
        let names = self.names();
        let Names { wave, lane, .. } = &names;
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
        for (of, (element, _)) in all() {
            let _ = writeln!(block, "    {} {element} = {};", of.ty, of.own(&of.scan.input)?);
        }
        for (of, (element, result)) in all() {
            let begin = of.of_lanes(element, result, &names, of.is_inclusive).begin;
            let _ = writeln!(block, "    {} {result} = {begin};", of.ty);
        }
        let rest = all().map(|(of, (element, result))| {
            of.of_lanes(element, result, &names, of.is_inclusive).rest
        });
        let stores = all().map(|(of, (element, result))| {
            let total = totals_of(of, element, result);
            format!("{}[{wave}] = {total};\n", of.totals)
        });
        let results: Vec<(&str, &Text<'_>)> = all().map(|(of, (_, result))| (&**result, *of)).collect();
        let _ = write!(
            block,
            "    uint {wave} = {index} / WaveGetLaneCount();\n\
             \x20   uint {lane} = WaveGetLaneIndex();\n{}\
             \x20   if ({lane} + 1 == WaveGetLaneCount())\n{}",
            indented(&rest.collect::<String>(), 1),
            indented(&as_one(stores), 1),
            index = self.rewrite.lane,
        );
        block.push_barrier(self.barrier);
        block.text += &indented(&self.add_totals(&names, &results, self.lanes), 1);
        for (of, (_, result)) in all() {
            for output in of.outputs() {
                let _ = writeln!(block, "    {} = {result};", of.own(output)?);
            }
        }
        if let Some((element, result)) = variables.first() {
            let is_last = format!("{} == {}", self.rewrite.lane, self.lanes - 1);
            let total = totals_of(self, element, result);
            block.text += &indented(&self.store_total(&is_last, &total), 1);
        }
        self.end(&mut block, barriers)?;
        Some(block)
    }
}
