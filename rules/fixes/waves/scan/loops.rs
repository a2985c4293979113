//! Forms with loops over elements: for a group size with a name, and for one wave that scans all elements.

use std::fmt::Write;

use shaderlint_simt::LaneMap;

use super::text::{Names, Text, in_words, last};
use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{Barriers, WaveForm};
use crate::source::group_size::has_literal_size;
use crate::source::text::indented;
use crate::source::words::words;

/// The numbers of elements for which one wave beats the ladder.
const BY_ONE_WAVE: std::ops::RangeInclusive<u32> = 128..=256;

/// The number of elements from which several for each lane pay in loops.
const BY_NAME_FROM: u32 = 128;

/// The elements of a lane, as text.
struct Lane {
    /// Their number.
    each: String,
    in_words: String,
    /// The declaration of the number.
    declared: String,
    /// The number of threads that take elements.
    threads: String,
    active: u32,
}

impl Text<'_> {
    /// The form for a group size with a name: right for any value of the name.
    pub(super) fn named_size_per_lane(&self, barriers: Barriers) -> Option<WaveForm> {
        if self.scan.count < BY_NAME_FROM && self.scan.count <= self.lanes {
            return None;
        }
        let size = self.size.as_ref()?;
        let few = self.scan.count / self.lanes;
        if !matches!(few, 1 | 2) || self.scan.count != few * self.lanes {
            return None;
        }
        // A constant at the function's head may be a variable inside.
        let function = self.context.shader.functions.get(self.scan.function.0 as usize)?;
        let is_local = |word: &[u8]| function.locals.iter().any(|local| local.name.as_bytes() == word);
        if words(size.as_bytes()).any(is_local) {
            return None;
        }
        let (block, expanded) = self.written(|text| text.counted_per_lane(few, barriers))?;
        let totals = self.totals(self.lanes.div_ceil(4))?;
        Some(WaveForm::new(block, expanded, totals, &[LaneMap::Linear]))
    }

    /// The form for more vectors than threads: each lane takes as many as divide their number.
    pub(super) fn vectors_per_lane(&self, barriers: Barriers) -> Option<WaveForm> {
        let count = self.scan.count;
        let fits = |each: &u32| count.is_multiple_of(*each) && count / each <= self.lanes;
        let each = [4, 2].into_iter().find(fits)?;
        let active = count / each;
        let lane = Lane {
            each: each.to_string(),
            in_words: in_words(each).to_owned(),
            declared: String::new(),
            threads: active.to_string(),
            active,
        };
        let block = self.in_loops(&lane, barriers)?;
        let totals = self.totals(active.div_ceil(4))?;
        Some(WaveForm::new(block, None, totals, &[LaneMap::Linear]))
    }

    /// The text for `few` elements for each thread. A lane takes four where four divide the number of all elements,
    /// else `few`.
    fn counted_per_lane(&self, few: u32, barriers: Barriers) -> Option<Code> {
        let count = match &self.size {
            None => self.scan.count.to_string(),
            Some(size) if few == 1 => size.clone(),
            Some(size) => format!("{few} * {size}"),
        };
        let each = self.name("waveEach");
        let lane = Lane {
            in_words: each.clone(),
            declared: format!("    const uint {each} = {count} % 4 == 0 ? 4u : {few}u;\n"),
            threads: format!("{count} / {each}"),
            active: self.lanes,
            each,
        };
        self.in_loops(&lane, barriers)
    }

    fn in_loops(&self, of_lane: &Lane, barriers: Barriers) -> Option<Code> {
        let names = self.names();
        let Names {
            totals, wave, lane, ..
        } = &names;
        let Lane {
            each,
            in_words,
            declared,
            threads,
            active,
        } = of_lane;
        let (sum, result) = (self.name("waveSum"), self.name("waveScan"));
        let (element, place) = (self.name("waveElement"), self.name("wavePlace"));
        let (number, end) = (self.name("waveNumber"), self.name("waveEnd"));
        let (ty, index, prefix) = (&self.ty, &self.rewrite.lane, self.prefix()?);
        let barrier = self.barrier;
        let mut block = Code::new(format!(
            "    // {} scan by waves, {in_words} elements a lane; assumes a 1-D group packed into waves in order.\n",
            self.kind()
        ));
        if barriers.first {
            block.push_barrier(barrier);
        }
        let mut write = String::new();
        for output in self.outputs() {
            let to = self.element(output, &place, 0)?;
            let _ = writeln!(write, "            {to} = {result};");
        }
        let from = self.element(&self.scan.input, &format!("{place} + {number}"), 0)?;
        let step = format!("            {};\n", self.accumulated(&result, &element));
        let write = if self.is_inclusive {
            step + &write
        } else {
            write + &step
        };
        let _ = write!(
            block,
            "{declared}    {ty} {sum} = {neutral};\n\
             \x20   {ty} {result} = {neutral};\n\
             \x20   uint {wave} = {index} / WaveGetLaneCount();\n\
             \x20   uint {lane} = WaveGetLaneIndex();\n\
             \x20   uint {place} = {each} * {index};\n\
             \x20   if ({index} < {threads})\n    {{\n\
             \x20       for (uint {number} = 0; {number} < {each}; ++{number})\n\
             \x20           {summed};\n\
             \x20       {result} = {prefix}({sum});\n\
             \x20       if ({lane} + 1 == WaveGetLaneCount())\n\
             \x20           {totals}[{wave}] = {total};\n\
             \x20   }}\n",
            neutral = self.neutral,
            summed = self.accumulated(&sum, &from),
            total = self.combined(&result, &sum),
        );
        block.push_barrier(barrier);
        let _ = write!(
            block,
            "    if ({index} < {threads})\n    {{\n{fetch}\
             \x20       for (uint {end} = {place} + {each}; {place} < {end}; ++{place})\n        {{\n\
             \x20           {ty} {element} = {from_place};\n{write}        }}\n{store}    }}\n",
            from_place = self.element(&self.scan.input, &place, 0)?,
            fetch = indented(&self.add_totals(&names, &[(&result, self)], *active), 2),
            store = indented(
                &self.store_total(&format!("{index} + 1 == {threads}"), &result),
                2
            ),
        );
        self.end(&mut block, barriers)?;
        Some(block)
    }

    /// The wave of the first thread takes all elements. Only where the file has a number for the group size: each
    /// lane takes a number of elements that divides the number of all.
    pub(super) fn by_one_wave(&self, barriers: Barriers) -> Option<WaveForm> {
        let count = self.scan.count;
        if !BY_ONE_WAVE.contains(&count) || !has_literal_size(self.context) {
            return None;
        }
        let each = self.each()?;
        let (elements, result) = (self.name("waveElements"), self.name("waveScan"));
        let (first, place) = (self.name("waveFirst"), self.name("wavePlace"));
        let (before, rank) = (self.name("waveBefore"), self.name("waveRank"));
        let (ty, prefix) = (&self.ty, self.prefix()?);
        let sum = format!("{elements}.{}", last(each));
        let mut write = String::new();
        for output in self.outputs() {
            write.push_str(&self.write_vector(output, each, &place, &elements, &result)?);
        }
        let mut block = Code::new(format!(
            "    // {} scan by the wave of thread 0, {} elements a lane, whichever lanes it has.\n",
            self.kind(),
            in_words(each)
        ));
        if barriers.first {
            block.push_barrier(self.barrier);
        }
        let _ = write!(
            block,
            "    if (WaveActiveAnyTrue({index} == 0))\n    {{\n\
             \x20       {ty} {before} = {neutral};\n\
             \x20       uint {rank} = WavePrefixCountBits(true);\n\
             \x20       for (uint {first} = 0; {first} < {count}; {first} += {each} * WaveActiveCountBits(true))\n        {{\n\
             \x20           uint {place} = {first} + {each} * {rank};\n\
             \x20           {ty}{each} {elements} = {neutral};\n\
             \x20           if ({place} < {count})\n\
             \x20               {elements} = {read};\n{running}\
             \x20           {ty} {result} = {scanned};\n\
             \x20           {accumulated};\n\
             \x20           if ({place} < {count})\n            {{\n{write}            }}\n        }}\n{store}    }}\n",
            index = self.rewrite.lane,
            neutral = self.neutral,
            read = self.vector(&self.scan.input, each, &place)?,
            running = indented(&self.running(each, &elements), 3),
            scanned = self.combined(&before, &format!("{prefix}({sum})")),
            accumulated = self.accumulated(&before, &self.of_wave(&sum)),
            write = indented(&write, 4),
            store = indented(
                &self.store_total(&format!("{} == 0", self.rewrite.lane), &before),
                2
            ),
        );
        self.end(&mut block, barriers)?;
        Some(WaveForm::new(block, None, Vec::new(), &LaneMap::ALL))
    }
}
