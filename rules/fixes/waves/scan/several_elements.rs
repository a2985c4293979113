//! The linear form with two or four elements for each lane.

use std::fmt::Write;

use shaderlint_hlsl::Type;
use shaderlint_simt::{Elements, LaneMap};

use super::text::{Names, Text, in_words, last, without_padding};
use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{Barriers, WaveForm};
use crate::source::group_size::has_literal_size;
use crate::source::text::indented;

/// The number of elements from which it pays to move them from registers to an array and back.
const STAGED_FROM: u32 = 128;

impl Text<'_> {
    /// The linear form with two or four elements for each lane. With vectors it was not faster than with one, where
    /// one for each lane is enough.
    pub(super) fn several_elements_per_lane(&self, barriers: Barriers) -> Option<WaveForm> {
        let is_of_vectors = self.scan.vector.is_some();
        if is_of_vectors && self.scan.count <= self.lanes || !self.others.is_empty() || self.is_count_named {
            return None;
        }
        match has_literal_size(self.context) {
            true if is_of_vectors => self.vectors_per_lane(barriers),
            true => self.vector_per_lane(barriers),
            false => self.named_size_per_lane(barriers),
        }
    }

    /// The best number of elements for each lane, if more than one; `None` where it does not divide the number of
    /// elements, or for vectors, which fit into no vector.
    pub(super) fn each(&self) -> Option<u32> {
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

    fn vector_per_lane(&self, barriers: Barriers) -> Option<WaveForm> {
        let each = self.each()?;
        let stage = self.stage();
        // A thread without an element has no place for one in the array.
        if stage.is_some() && (self.scan.count < STAGED_FROM || self.scan.count < self.lanes) {
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
        let (ty, index) = (&self.ty, &self.rewrite.lane);
        let barrier = self.barrier;
        let (own, placed) = self.first_of_lane(input, each)?;
        let active = self.scan.count / each;
        let input = &without_padding(input);
        let read = self.vector(input, each, &own)?;
        let sum = format!("{elements}.{}", last(each));
        let mut block = Code::new(format!(
            "    // {} scan by waves, {} elements a lane; assumes a 1-D group packed into waves in order.\n",
            self.kind(),
            in_words(each)
        ));
        if barriers.first {
            block.push_barrier(barrier);
        }
        if let Elements::Register { local, .. } = &self.scan.input {
            let element = self.element(input, index, 0)?;
            let _ = writeln!(block, "    {element} = {};", self.local(*local)?);
            block.push_barrier(barrier);
        }
        let running = self.running(each, &elements);
        let scan = format!("{result} = {}({sum});", self.prefix()?);
        let total = self.combined(&result, &sum);
        let store = format!("if ({lane} + 1 == WaveGetLaneCount())\n    {totals}[{wave}] = {total};\n");
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
        after.push_str(&self.store_total(&is_last, &total));
        let indices = format!(
            "    uint {wave} = {index} / WaveGetLaneCount();\n    uint {lane} = WaveGetLaneIndex();\n"
        );
        block.text += &placed;
        if active == self.lanes {
            let _ = write!(
                block,
                "    {ty}{each} {elements} = {read};\n{}    {ty} {scan}\n{indices}{}",
                indented(&running, 1),
                indented(&store, 1),
            );
            block.push_barrier(barrier);
            block.text += &indented(&after, 1);
        } else {
            let _ = write!(
                block,
                "    {ty}{each} {elements} = {neutral};\n    {ty} {result} = {neutral};\n{indices}\
                 \x20   if ({index} < {active})\n    {{\n        {elements} = {read};\n{}        {scan}\n{}    }}\n",
                indented(&running, 2),
                indented(&store, 2),
                neutral = self.neutral,
            );
            block.push_barrier(barrier);
            let after = indented(&after, 2);
            let _ = write!(block, "    if ({index} < {active})\n    {{\n{after}    }}\n");
        }
        let registers = self.outputs().filter(|elements| !is_array(elements));
        for (number, output) in registers.enumerate() {
            if number == 0 {
                block.push_barrier(barrier);
            }
            let from = self.element(arrays.first()?, index, 0)?;
            let _ = writeln!(block, "    {} = {from};", self.own(output)?);
        }
        self.end(&mut block, barriers)?;
        let totals = self.totals(active.div_ceil(4))?;
        Some(WaveForm::new(block, None, totals, &[LaneMap::Linear]))
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
}
