//! The form of a reduction that calls a function of the file.

use std::fmt::Write;

use shaderlint_hlsl::{LocalId, Span, Type};
use shaderlint_simt::{Elements, LaneMap};

use super::blocks;
use super::ladder::{Ladder, atomic};
use super::one_wave::is_fast_by_one_wave;
use super::{FirstWave, is_of_parts, is_slower};
use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{WaveForm, barrier_of, neutral};
use crate::fixes::waves::group_helper::{Helper, Wanted, function_name};
use crate::fixes::waves::operator::{accumulated, combined, in_words, names, result_name};
use crate::fixes::waves::sole_use::{ResultsIn, SoleUse, Taken};
use crate::fixes::waves::totals::{Totals, length_by_name, total_name};
use crate::source::element::{array_of_elements, element_name};
use crate::source::group_size::{all_threads_by_name, has_literal_size, is_known_at};
use crate::source::names::{inner_name, local_name};
use crate::source::text::{Spelled, without_suffix};
use crate::source::unit::Unit;
use crate::source::words::words;

/// How the waves' results are combined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By an atomic.
    Atomic,
    /// By the first wave.
    FirstWave,
    /// The wave of thread 0 combines the values of all threads, which pass through the ladder's array; the other
    /// waves have no results.
    OneWave,
    /// The lanes of each of several blocks exchange theirs.
    Exchange,
}

/// The parts of the text of the forms.
struct Text<'a> {
    ladder: Ladder<'a>,
    ty: String,
    barrier: &'static str,
    way: Way,
    /// Threads of the group.
    lanes: u32,
    /// The name for their number; `None` where the file has a number.
    size: Option<String>,
}

/// The number of vectors of two, three and four floats from which the call was faster than the ladder without its
/// array (`docs/measurements.md`).
const FLOATS_FROM: [u32; 3] = [64, 64, 256];

/// The forms with a call, and the declarations that they need; for one result in whole elements.
pub(super) fn forms(ladder: Ladder<'_>, registers: &[LocalId], totals: &str) -> Vec<WaveForm> {
    if is_of_parts(ladder.shader(), ladder.reduction) {
        return Vec::new();
    }
    let text = Text::new(ladder);
    text.and_then(|text| text.forms(registers, totals))
        .unwrap_or_default()
}

impl<'a> Text<'a> {
    fn new(ladder: Ladder<'a>) -> Option<Self> {
        let Ladder {
            context, reduction, ..
        } = ladder;
        let is_fixed = has_literal_size(context);
        let is_of_blocks = reduction.blocks > 1;
        if is_of_blocks && !blocks::are_exchanged(ladder) {
            return None;
        }
        let is_for_any_size = ladder.is_right_for_any_size();
        if !is_fixed && !is_for_any_size {
            return None;
        }
        let way = if is_of_blocks {
            Way::Exchange
        } else if atomic(reduction).is_some() {
            Way::Atomic
        } else if context.has_rows() {
            Way::OneWave
        } else {
            Way::FirstWave
        };
        Some(Text {
            ladder,
            way,
            ty: element_name(context.shader, reduction)?,
            barrier: barrier_of(reduction),
            lanes: ladder.lanes(),
            size: (!is_fixed)
                .then(|| all_threads_by_name(context, reduction))
                .flatten(),
        })
    }

    fn forms(&self, registers: &[LocalId], totals: &str) -> Option<Vec<WaveForm>> {
        let (shader, reduction) = (self.ladder.context.shader, self.ladder.reduction);
        let of_what = if self.way == Way::Exchange {
            "Block"
        } else {
            "Group"
        };
        let name = function_name(shader, &[of_what, names(reduction.operator).word]);
        let comment = format!(
            "The {} of the values of {}\n// Two calls need a barrier between them.",
            in_words(reduction.operator),
            match self.way {
                Way::Atomic => "the group's threads.".to_owned(),
                Way::FirstWave => "the group's threads. Takes waves to hold consecutive threads.".to_owned(),
                Way::OneWave => "the group's threads, by the wave of thread 0.".to_owned(),
                Way::Exchange => format!(
                    "each block of {} threads. Takes waves to hold consecutive threads.",
                    reduction.count
                ),
            }
        );
        let (kept, kept_name) = self.memory(totals)?;
        let known = self.size_at_top(&kept_name);
        if known.is_none() && self.way == Way::FirstWave {
            return None;
        }
        let threads = || inner_name(shader, "threads");
        let takes_size = known.is_none() && self.way == Way::OneWave;
        let sizes = known.unwrap_or_else(|| Spelled::alike(threads()));
        let write = |name: &str, kept: &str| {
            sizes.map(|size| match self.way {
                Way::Atomic => self.by_atomic(name, kept),
                Way::FirstWave => self.by_totals(name, kept, size),
                Way::OneWave => self.by_one_wave(name, kept, size, takes_size),
                Way::Exchange => blocks::function(self.ladder, &self.ty, name, kept),
            })
        };
        let wanted = Wanted {
            name: &name,
            totals: &kept_name,
            comment: &comment,
        };
        let helpers = Helper::all(shader, reduction, &wanted, write);
        let sole_use = self.sole_use(registers).filter(|_| self.is_fast_alone());
        let calls_with_array = match self.way {
            Way::OneWave => false,
            Way::Atomic | Way::FirstWave => !is_slower(reduction, super::FLOATS_FROM),
            Way::Exchange => true,
        };
        let mut forms = Vec::new();
        for helper in helpers {
            let new = || { kept.iter() }.filter(|_| !helper.is_declared).cloned().collect();
            let form = |(block, expanded): (Code, Option<Code>)| WaveForm {
                helper: Some(helper.clone()),
                keeps_totals: kept.is_some(),
                is_flat: true,
                ..WaveForm::new(block, expanded, new(), self.maps())
            };
            if let Some(mut sole_use) = sole_use.clone() {
                let keeps_in = |array: &str| {
                    words(helper.text.in_file.text.as_bytes()).any(|word| word == array.as_bytes())
                };
                if self.array().is_some_and(keeps_in) {
                    sole_use.declaration = None;
                }
                let mut given = vec![self.given(&sole_use)?, self.ladder.rewrite.lane.clone()];
                if takes_size {
                    let in_figures = self.lanes.to_string();
                    let size = self.size.clone().unwrap_or_else(|| in_figures.clone());
                    given.push(sole_use.also_given(Spelled {
                        in_file: size,
                        expanded: in_figures,
                    }));
                }
                let call = format!("{}({})", helper.name, given.join(", "));
                let result = if sole_use.takes_call {
                    call.clone()
                } else {
                    self.result_variable()
                };
                forms.extend(WaveForm::without_array(&sole_use, &[result], |first| {
                    let call = Some(&*call).filter(|_| !sole_use.takes_call);
                    let block = self.without_array(call, registers, first, &sole_use.left_for_reads)?;
                    Some(form((block, None)))
                }));
            }
            for first in [false, true].into_iter().filter(|_| calls_with_array) {
                forms.extend(self.with_array(&helper.name, registers, first).map(&form));
            }
        }
        Some(forms)
    }

    /// The helper's groupshared memory: its declaration, where it is new, and its name.
    fn memory(&self, totals: &str) -> Option<(Option<Totals>, String)> {
        let (shader, reduction) = (self.ladder.context.shader, self.ladder.reduction);
        let slots = self.lanes.div_ceil(4);
        let (length, name) = match self.way {
            Way::OneWave => return Some((None, self.array()?.to_owned())),
            Way::Atomic => (None, total_name(shader, reduction)),
            Way::FirstWave | Way::Exchange if has_literal_size(self.ladder.context) => {
                (Some((slots.to_string(), slots)), totals.to_owned())
            }
            Way::FirstWave | Way::Exchange => {
                let length = length_by_name(self.ladder.context, reduction, self.ladder.rewrite)?;
                (Some(length), totals.to_owned())
            }
        };
        let totals = Totals {
            ty: self.ty.clone(),
            name: name.clone(),
            length,
        };
        Some((Some(totals), name))
    }

    /// The ladder's array, if it has an element for each thread.
    fn array(&self) -> Option<&'a str> {
        let &[array] = self.ladder.reduction.arrays.as_slice() else {
            return None;
        };
        let shader = self.ladder.context.shader;
        let Type::Array(_, length) = shader.globals.get(array.0 as usize)?.ty else {
            return None;
        };
        array_of_elements(shader, self.ladder.reduction, array).filter(|_| length >= self.lanes)
    }

    /// Whether the call was measured to be faster than the ladder, where nothing else uses the array.
    fn is_fast_alone(&self) -> bool {
        match self.way {
            Way::OneWave => is_fast_by_one_wave(self.ladder.reduction),
            Way::Atomic | Way::FirstWave => !is_slower(self.ladder.reduction, FLOATS_FROM),
            Way::Exchange => true,
        }
    }

    /// The packings of threads into waves for which it is right.
    fn maps(&self) -> &'static [LaneMap] {
        match self.way {
            Way::OneWave => &LaneMap::ALL,
            Way::Atomic | Way::FirstWave => self.ladder.packings(),
            Way::Exchange => &[LaneMap::Linear],
        }
    }

    /// The number of threads as a helper may name it behind these totals or the ladder's array, and as a number. The
    /// name has one definition: another one may come before the helper, or in another build.
    fn size_at_top(&self, totals: &str) -> Option<Spelled> {
        let in_figures = self.lanes.to_string();
        if has_literal_size(self.ladder.context) {
            return Some(Spelled::alike(in_figures));
        }
        let shader = self.ladder.context.shader;
        let size = self.size.as_deref()?;
        let unit = Unit::of(shader);
        let arrays = shader.globals.iter().enumerate().filter(|(number, array)| {
            let is_own = { self.ladder.reduction.arrays.iter() }.any(|own| own.0 as usize == *number);
            is_own || array.name == totals
        });
        let arrays: Vec<Span> = arrays.map(|(_, array)| array.span).collect();
        let is_known = words(size.as_bytes()).all(|word| {
            unit.definitions(word).len() <= 1 && arrays.iter().all(|array| is_known_at(shader, *array, word))
        });
        is_known.then(|| Spelled {
            in_file: size.to_owned(),
            expanded: in_figures,
        })
    }

    /// Each wave combines its lanes, and an atomic the waves.
    fn by_atomic(&self, name: &str, total: &str) -> Code {
        let [value, thread, result] = self.inner();
        let (ty, barrier) = (&self.ty, self.barrier);
        let mut code = Code::new(format!(
            "{ty} {name}({ty} {value}, uint {thread})\n{{\n\
             \x20   {ty} {result} = {of_wave};\n\
             \x20   if ({thread} == 0)\n\
             \x20       {total} = {neutral};\n",
            of_wave = self.ladder.of_wave(&value),
            neutral = without_suffix(
                self.ladder.context.shader,
                &neutral(self.ladder.reduction.operator, self.ladder.reduction.element, ty)
            ),
        ));
        code.push_barrier(barrier);
        let _ = write!(
            code,
            "    if (WaveIsFirstLane())\n\
             \x20       {atomic}({total}, {result});\n",
            atomic = atomic(self.ladder.reduction).unwrap_or_default(),
        );
        code.push_barrier(barrier);
        let _ = write!(code, "    return {total};\n}}");
        code
    }

    /// Each wave combines its lanes, and the first wave the waves.
    fn by_totals(&self, name: &str, totals: &str, size: &str) -> Code {
        let [value, thread, result] = self.inner();
        let inner = |wanted: &str| inner_name(self.ladder.context.shader, wanted);
        let [wave, lane, waves, first] = ["wave", "lane", "waves", "first"].map(inner);
        let ty = &self.ty;
        let place = format!("{totals}[0]");
        let first_wave = FirstWave {
            ladder: self.ladder,
            ty,
            thread: &thread,
            result: &result,
            totals,
            place: &place,
            names: [&wave, &lane, &waves, &first],
        };
        let mut code = Code::new(format!("{ty} {name}({ty} {value}, uint {thread})\n{{\n"));
        first_wave.combine(&mut code, &value, size);
        let _ = write!(code, "    return {place};\n}}");
        code
    }

    /// One wave combines all, in passes of as many as it has lanes.
    fn by_one_wave(&self, name: &str, array: &str, size: &str, takes_size: bool) -> Code {
        let [value, thread, result] = self.inner();
        let inner = |wanted: &str| inner_name(self.ladder.context.shader, wanted);
        let [lanes, element] = ["lanes", "element"].map(inner);
        let (ty, barrier, reduction) = (&self.ty, self.barrier, self.ladder.reduction);
        let more = if takes_size {
            format!(", uint {size}")
        } else {
            String::new()
        };
        let mut code = Code::new(format!(
            "{ty} {name}({ty} {value}, uint {thread}{more})\n{{\n\
             \x20   {array}[{thread}] = {value};\n"
        ));
        code.push_barrier(barrier);
        let _ = write!(
            code,
            "    {ty} {result} = {neutral};\n\
             \x20   if (WaveActiveAnyTrue({thread} == 0))\n    {{\n\
             \x20       uint {lanes} = WaveActiveCountBits(true);\n\
             \x20       for (uint {element} = WavePrefixCountBits(true); {element} < {size}; {element} += {lanes})\n\
             \x20           {accumulated};\n\
             \x20       {result} = {of_wave};\n    }}\n",
            neutral = neutral(reduction.operator, reduction.element, ty),
            accumulated = accumulated(reduction.operator, &result, &format!("{array}[{element}]")),
            of_wave = self.ladder.of_wave(&result),
        );
        code.push_barrier(barrier);
        let _ = write!(
            code,
            "    if ({thread} == 0)\n\
             \x20       {array}[0] = {result};\n"
        );
        code.push_barrier(barrier);
        let _ = write!(code, "    return {array}[0];\n}}");
        code
    }

    /// The names of a helper's parameters and of its result.
    fn inner(&self) -> [String; 3] {
        let result = result_name(self.ladder.reduction.operator);
        ["value", "thread", result].map(|wanted| inner_name(self.ladder.context.shader, wanted))
    }

    fn result_variable(&self) -> String {
        let reduction = self.ladder.reduction;
        local_name(
            self.ladder.context.shader,
            reduction,
            result_name(reduction.operator),
        )
    }

    fn sole_use(&self, registers: &[LocalId]) -> Option<SoleUse> {
        let elements = self.ladder.elements();
        let is_whole = matches!(
            self.ladder.reduction.input,
            Elements::Array { component: None, .. } | Elements::Register { component: None, .. }
        );
        let left = match self.ladder.reduction.output {
            // The first thread of a block reads the block's result from its own element.
            Elements::Cell { index: 0, .. } if self.way == Way::Exchange => ResultsIn::OwnElement(""),
            Elements::Cell { index, .. } => ResultsIn::Cell(index),
            _ if !registers.is_empty() => ResultsIn::Variables,
            _ => return None,
        };
        if !is_whole || !elements.is_multiple_of(self.lanes) {
            return None;
        }
        let taken = Taken {
            each: elements / self.lanes,
            component: "",
        };
        SoleUse::of(
            self.ladder.context,
            self.ladder.reduction,
            self.ladder.rewrite,
            taken,
            left,
        )
    }

    /// The argument of the call where nothing else uses the array.
    fn given(&self, sole_use: &SoleUse) -> Option<String> {
        let values = sole_use.given();
        let ty = &self.ty;
        // A store to an element converts its value.
        let of_one = values.len() == 1;
        let values = values
            .into_iter()
            .map(|value| match (of_one, sole_use.is_of_another_width) {
                (true, _) => value,
                (false, true) => format!("({ty})({value})"),
                (false, false) => format!("{ty}({value})"),
            });
        values
            .reduce(|all, value| combined(self.ladder.reduction.operator, &all, &value))
            .or_else(|| self.ladder.own_elements(None))
    }

    /// The `call`, unless it goes elsewhere, and the variables that it leaves, except those that need nothing.
    fn without_array(
        &self,
        call: Option<&str>,
        registers: &[LocalId],
        first: bool,
        but: &[LocalId],
    ) -> Option<Code> {
        let mut block = self.begin(first);
        let result = match registers {
            [] => format!("{} {}", self.ty, self.result_variable()),
            [first, ..] => self.ladder.variable(*first)?.to_owned(),
        };
        if let Some(call) = call {
            let _ = writeln!(block, "    {result} = {call};");
        }
        self.end(&mut block, registers, but)?;
        Some(block)
    }

    /// The call with the elements in the array, whose first becomes the result; as the file spells the size, and with
    /// a number for it.
    fn with_array(&self, helper: &str, registers: &[LocalId], first: bool) -> Option<(Code, Option<Code>)> {
        let in_figures = self.with_array_and_size(helper, registers, first, None)?;
        let is_by_name = !has_literal_size(self.ladder.context) && self.ladder.reduction.count > self.lanes;
        if !is_by_name {
            return Some((in_figures, None));
        }
        let by_name = self.with_array_and_size(helper, registers, first, Some(self.size.as_deref()?))?;
        Some((by_name, Some(in_figures)))
    }

    fn with_array_and_size(
        &self,
        helper: &str,
        registers: &[LocalId],
        first: bool,
        size: Option<&str>,
    ) -> Option<Code> {
        let lane = &self.ladder.rewrite.lane;
        let own = self.ladder.own_elements(size)?;
        let mut block = self.begin(first);
        if let [register, ..] = registers {
            let _ = writeln!(
                block,
                "    {} = {helper}({own}, {lane});",
                self.ladder.variable(*register)?
            );
        } else {
            let cell = self.ladder.cell()?;
            let (is_owner, place) = match self.way {
                Way::Exchange => (
                    format!("{lane} % {} == 0", self.ladder.reduction.count),
                    format!("{}[{lane}]", cell.array),
                ),
                _ => (format!("{lane} == {}", cell.owner), cell.text()),
            };
            let result = self.result_variable();
            let _ = write!(
                block,
                "    {ty} {result} = {helper}({own}, {lane});\n\
                 \x20   if ({is_owner})\n\
                 \x20       {place} = {result};\n",
                ty = self.ty,
            );
            block.push_barrier(self.barrier);
        }
        self.end(&mut block, registers, &[])?;
        Some(block)
    }

    fn begin(&self, first: bool) -> Code {
        let mut block = Code::default();
        if first {
            block.push_barrier(self.barrier);
        }
        block
    }

    /// The end of the block: further variables that the ladder leaves, except those that need nothing.
    fn end(&self, block: &mut Code, registers: &[LocalId], but: &[LocalId]) -> Option<()> {
        if let [first, further @ ..] = registers {
            for local in further {
                let _ = writeln!(
                    block,
                    "    {} = {};",
                    self.ladder.variable(*local)?,
                    self.ladder.variable(*first)?
                );
            }
        }
        block.text += &self.ladder.leave_live_values(but)?;
        Some(())
    }
}
