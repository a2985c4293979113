//! The form of a reduction of each of several blocks of a group's elements.
//!
//! # Why it is right, and what it assumes
//!
//! A block has a power of two of elements, and so has a wave, and blocks fill the group: a block either is within a
//! wave, or consists of whole waves. So does `part`, the smaller of the two. In steps that double, each lane combines
//! what it has with what the lane has whose index differs in one bit (a butterfly): both then have the same, bit for
//! bit, since the operators commute. In the end all lanes of a part have its total. A block of several parts has these
//! combined from an array by all of its threads, in the same order. At least 4 lanes are in a wave (hlsl-specs,
//! `HLSL_SM_6_6_WaveSize.md`): a total for each 4 threads is enough.
//!
//! It assumes that waves hold consecutive threads, and that a partly filled wave holds whole blocks: only the last wave
//! is partly filled, and blocks fill the group.

use std::fmt::Write;

use shaderlint_hlsl::LocalId;
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Elements, LaneMap};

use super::ladder::Ladder;
use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{WaveForm, barrier_of};
use crate::fixes::waves::group_helper::{Helper, Wanted, function_name};
use crate::fixes::waves::operator::{accumulated, in_words, names, result_name};
use crate::fixes::waves::sole_use::{ResultsIn, SoleUse, Taken};
use crate::fixes::waves::totals::Totals;
use crate::source::element::{array_of_elements, element_name};
use crate::source::group_size::has_literal_size;
use crate::source::names::{inner_name, local_name};
use crate::source::text::Spelled;

/// The fewest lanes of a wave.
const LEAST_LANES: u32 = 4;

/// The forms with a call.
pub(super) fn forms(ladder: Ladder<'_>, registers: &[LocalId], totals: &str) -> Vec<WaveForm> {
    let forms = Blocks::of(ladder).and_then(|blocks| blocks.forms(registers, totals));
    forms.unwrap_or_default()
}

/// The parts of the text of the forms.
struct Blocks<'a> {
    ladder: Ladder<'a>,
    ty: String,
    barrier: &'static str,
    /// The number of elements in a block.
    length: u32,
}

impl<'a> Blocks<'a> {
    fn of(ladder: Ladder<'a>) -> Option<Self> {
        let Ladder {
            context, reduction, ..
        } = ladder;
        let length = reduction.count;
        let fills_group = length * reduction.blocks == ladder.lanes();
        let is_known = has_literal_size(context) && !context.has_rows();
        let is_one = reduction.beside.is_empty() && reduction.companions.is_none();
        if !length.is_power_of_two() || !fills_group || !is_known || !is_one {
            return None;
        }
        Some(Blocks {
            ladder,
            ty: element_name(context.shader, reduction)?,
            barrier: barrier_of(reduction),
            length,
        })
    }

    fn context(&self) -> &'a Context<'a> {
        self.ladder.context
    }

    fn reduction(&self) -> &'a Collective {
        self.ladder.reduction
    }

    fn forms(&self, registers: &[LocalId], totals: &str) -> Option<Vec<WaveForm>> {
        let shader = self.context().shader;
        let operator = self.reduction().operator;
        let name = function_name(shader, &["Block", names(operator).word]);
        let comment = format!(
            "The {} of the values of each block of {} threads. Takes waves to hold consecutive threads.\n\
             // Two calls need a barrier between them.",
            in_words(operator),
            self.length,
        );
        let slots = self.ladder.lanes().div_ceil(LEAST_LANES);
        let memory = Totals {
            ty: self.ty.clone(),
            name: totals.to_owned(),
            length: Some((slots.to_string(), slots)),
        };
        let wanted = Wanted {
            name: &name,
            totals,
            comment: &comment,
        };
        let helpers = Helper::all(shader, self.reduction(), &wanted, |name, totals| {
            Spelled::alike(self.function(name, totals))
        });
        let sole_use = self.sole_use(registers);
        let mut forms = Vec::new();
        for helper in helpers {
            let new = { [&memory].into_iter() }.filter(|_| !helper.is_declared);
            let totals: Vec<Totals> = new.cloned().collect();
            let form = |block: Code| WaveForm {
                helper: Some(helper.clone()),
                keeps_totals: true,
                is_flat: true,
                ..WaveForm::new(block, None, totals.clone(), &[LaneMap::Linear])
            };
            if let Some(sole_use) = &sole_use {
                let given = sole_use.given().into_iter().next();
                let given = given.or_else(|| self.own_element())?;
                let call = self.call(&helper, &given);
                let result = if sole_use.takes_call {
                    call.clone()
                } else {
                    self.result_variable()
                };
                forms.extend(WaveForm::without_array(sole_use, &[result], |first| {
                    let call = Some(&*call).filter(|_| !sole_use.takes_call);
                    Some(form(self.alone(call, registers, first)?))
                }));
            }
            for first in [false, true] {
                forms.extend(self.with_array(&helper, registers, first).map(&form));
            }
        }
        Some(forms)
    }

    fn function(&self, name: &str, totals: &str) -> Code {
        let reduction = self.reduction();
        let inner = |wanted: &str| inner_name(self.context().shader, wanted);
        let [value, thread, result] = ["value", "thread", result_name(reduction.operator)].map(inner);
        let [part, stride, first, next] = ["part", "stride", "first", "next"].map(inner);
        let (ty, length) = (&self.ty, self.length);
        let read = format!("WaveReadLaneAt({result}, WaveGetLaneIndex() ^ {stride})");
        let mut code = Code::new(format!(
            "{ty} {name}({ty} {value}, uint {thread})\n{{\n\
             \x20   {ty} {result} = {value};\n\
             \x20   uint {part} = min(WaveGetLaneCount(), {length});\n\
             \x20   for (uint {stride} = 1; {stride} < {part}; {stride} *= 2)\n\
             \x20       {};\n\
             \x20   if ({thread} % {part} == 0)\n\
             \x20       {totals}[{thread} / {part}] = {result};\n",
            accumulated(reduction.operator, &result, &read)
        ));
        code.push_barrier(self.barrier);
        let _ = write!(
            code,
            "    uint {first} = {thread} / {length} * ({length} / {part});\n\
             \x20   {result} = {totals}[{first}];\n\
             \x20   for (uint {next} = 1; {next} < {length} / {part}; ++{next})\n\
             \x20       {};\n",
            accumulated(
                reduction.operator,
                &result,
                &format!("{totals}[{first} + {next}]")
            )
        );
        let _ = write!(code, "    return {result};\n}}");
        code
    }

    fn call(&self, helper: &Helper, given: &str) -> String {
        format!("{}({given}, {})", helper.name, self.ladder.rewrite.lane)
    }

    fn result_variable(&self) -> String {
        let reduction = self.reduction();
        local_name(self.context().shader, reduction, result_name(reduction.operator))
    }

    /// The thread's own element.
    fn own_element(&self) -> Option<String> {
        match self.reduction().input {
            Elements::Register {
                local,
                component: None,
            } => Some(self.ladder.variable(local)?.to_owned()),
            Elements::Array {
                global,
                offset: 0,
                component: None,
                ..
            } => {
                let array = array_of_elements(self.context().shader, self.reduction(), global)?;
                Some(format!("{array}[{}]", self.ladder.rewrite.lane))
            }
            _ => None,
        }
    }

    /// The first thread of each block reads the result from its own element, or all read it from variables.
    fn sole_use(&self, registers: &[LocalId]) -> Option<SoleUse> {
        let left = match self.reduction().output {
            Elements::Cell { index: 0, .. } => ResultsIn::OwnElement(""),
            _ if !registers.is_empty() => ResultsIn::Variables,
            _ => return None,
        };
        let taken = Taken {
            each: 1,
            component: "",
        };
        SoleUse::of(self.context(), self.reduction(), self.ladder.rewrite, taken, left)
    }

    /// The `call`, unless it goes elsewhere, and the variables that it leaves.
    fn alone(&self, call: Option<&str>, registers: &[LocalId], first: bool) -> Option<Code> {
        let mut block = self.begin(first);
        let result = match registers {
            [] => format!("{} {}", self.ty, self.result_variable()),
            [first, ..] => self.ladder.variable(*first)?.to_owned(),
        };
        if let Some(call) = call {
            let _ = writeln!(block, "    {result} = {call};");
        }
        self.end(block, registers)
    }

    /// The call with the elements in the array. The first element of each block becomes the result.
    fn with_array(&self, helper: &Helper, registers: &[LocalId], first: bool) -> Option<Code> {
        let (reduction, lane) = (self.reduction(), &self.ladder.rewrite.lane);
        let call = self.call(helper, &self.own_element()?);
        let mut block = self.begin(first);
        if let [register, ..] = registers {
            let _ = writeln!(block, "    {} = {call};", self.ladder.variable(*register)?);
        } else {
            let Elements::Cell {
                global,
                index: 0,
                component: None,
                ..
            } = reduction.output
            else {
                return None;
            };
            let array = array_of_elements(self.context().shader, reduction, global)?;
            let result = self.result_variable();
            let _ = write!(
                block,
                "    {} {result} = {call};\n\
                 \x20   if ({lane} % {} == 0)\n        {array}[{lane}] = {result};\n",
                self.ty, self.length
            );
            block.push_barrier(self.barrier);
        }
        self.end(block, registers)
    }

    fn begin(&self, first: bool) -> Code {
        let mut block = Code::default();
        if first {
            block.push_barrier(self.barrier);
        }
        block
    }

    /// The block with its end: further variables that the ladder leaves.
    fn end(&self, mut block: Code, registers: &[LocalId]) -> Option<Code> {
        if let [first, further @ ..] = registers {
            for local in further {
                let (to, from) = (self.ladder.variable(*local)?, self.ladder.variable(*first)?);
                let _ = writeln!(block, "    {to} = {from};");
            }
        }
        block.text += &self.ladder.leave_live_values()?;
        Some(block)
    }
}
