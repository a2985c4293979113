//! The form of a reduction that is a call: what the waves do is a function of the file.

use std::fmt::Write;

use shaderlint_hlsl::{LocalId, Span, Type};
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Elements, LaneMap, Operator, Rewrite};

use super::{
    FirstWave, accumulated, atomic, cell, combined, is_fast_by_one_wave, is_of_parts, is_right_for_any_size,
    is_slower, left_settled, names, of_wave, own_elements, packings,
};
use crate::element::{array_of_elements, element_name};
use crate::form::{WaveForm, barrier_of, neutral};
use crate::group_helper::{Helper, function_name, inner_name};
use crate::sole_use::{Left, SoleUse};
use crate::totals::{Totals, length_by_name, total_name};
use crate::unit::{Unit, words};
use crate::written::{all_threads_by_name, has_literal_size, is_known_at, local_name, without_suffix};

/// What becomes of the waves' results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// An atomic combines them.
    Atomic,
    /// The first wave does.
    FirstWave,
    /// There are none: the wave of thread 0 combines the values of all, which pass through the ladder's array.
    OneWave,
}

/// What the forms are written with.
struct Text<'a> {
    context: &'a Context<'a>,
    reduction: &'a Collective,
    rewrite: &'a Rewrite,
    ty: String,
    barrier: &'static str,
    way: Way,
    /// Threads of the group.
    lanes: u32,
    /// What the file calls their number; `None` where it has figures.
    size: Option<String>,
}

/// From how many elements on the call was seen to be faster than the ladder where its array goes, of vectors of two, three and four
/// floats (`docs/measurements.md`).
const FLOATS_FROM: [u32; 3] = [64, 64, 256];

/// The call, with what it needs declared; of one result in whole elements.
pub(super) fn forms(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    registers: &[LocalId],
    totals: &str,
) -> Vec<WaveForm> {
    if is_of_parts(reduction) {
        return Vec::new();
    }
    let text = Text::new(context, reduction, rewrite);
    text.and_then(|text| text.forms(registers, totals))
        .unwrap_or_default()
}

impl<'a> Text<'a> {
    fn new(context: &'a Context<'a>, reduction: &'a Collective, rewrite: &'a Rewrite) -> Option<Self> {
        let is_fixed = has_literal_size(context);
        let is_for_any_size = is_right_for_any_size(context, reduction, rewrite);
        if !is_fixed && !is_for_any_size {
            return None;
        }
        let way = if atomic(reduction).is_some() {
            Way::Atomic
        } else if context.has_rows() {
            Way::OneWave
        } else {
            Way::FirstWave
        };
        Some(Text {
            context,
            reduction,
            rewrite,
            way,
            ty: element_name(context.shader, reduction)?,
            barrier: barrier_of(reduction),
            lanes: lanes_of(context),
            size: (!is_fixed)
                .then(|| all_threads_by_name(context, reduction))
                .flatten(),
        })
    }

    fn forms(&self, registers: &[LocalId], totals: &str) -> Option<Vec<WaveForm>> {
        let (shader, reduction) = (self.context.shader, self.reduction);
        let wave = names(reduction.operator).wave;
        let word = wave.trim_start_matches("WaveActive").trim_start_matches("Bit");
        let name = function_name(shader, &["Group", word]);
        let comment = format!(
            "The {} of the values of the group's threads{}\n// Two calls need a barrier between them.",
            match reduction.operator {
                Operator::And => "bitwise and",
                Operator::Or => "bitwise or",
                Operator::Xor => "bitwise exclusive or",
                _ => self.result(),
            },
            match self.way {
                Way::Atomic => ".",
                Way::FirstWave => ". Takes waves to hold consecutive threads.",
                Way::OneWave => ", by the wave of thread 0.",
            }
        );
        let (kept, kept_name) = self.kept(totals)?;
        let known = self.size_at_top(&kept_name);
        if known.is_none() && self.way == Way::FirstWave {
            return None;
        }
        let threads = || inner_name(shader, "threads");
        let takes_size = known.is_none() && self.way == Way::OneWave;
        let sizes = known.unwrap_or_else(|| [threads(), threads()]);
        let write = |name: &str, kept: &str| {
            sizes.each_ref().map(|size| match self.way {
                Way::Atomic => self.by_atomic(name, kept),
                Way::FirstWave => self.by_totals(name, kept, size),
                Way::OneWave => self.by_one_wave((name, kept), size, takes_size),
            })
        };
        let helpers = Helper::all(shader, reduction, &name, (&kept_name, &comment), write);
        let sole_use = self.sole_use(registers).filter(|_| self.is_fast_alone());
        let calls_with_array = self.way != Way::OneWave && !is_slower(reduction, super::FLOATS_FROM);
        let mut forms = Vec::new();
        for helper in helpers {
            let new = || { kept.iter() }.filter(|_| !helper.is_declared).cloned().collect();
            let form = |(block, expanded): (String, Option<String>)| WaveForm {
                helper: Some(helper.clone()),
                keeps_totals: kept.is_some(),
                is_flat: true,
                ..WaveForm::new(block, expanded, new(), self.maps())
            };
            if let Some(mut sole_use) = sole_use.clone() {
                let keeps_in =
                    |array: &str| words(helper.text.as_bytes()).any(|word| word == array.as_bytes());
                if self.array().is_some_and(keeps_in) {
                    sole_use.declaration = None;
                }
                let mut given = vec![self.given(&sole_use)?, self.rewrite.lane.clone()];
                if takes_size {
                    let in_figures = self.lanes.to_string();
                    let size = self.size.clone().unwrap_or_else(|| in_figures.clone());
                    given.push(sole_use.also_given([size, in_figures]));
                }
                let call = format!("{}({})", helper.name, given.join(", "));
                let result = if sole_use.takes_call {
                    call.clone()
                } else {
                    self.result_variable()
                };
                forms.extend(sole_use.forms(&[result], |first| {
                    let call = Some(&*call).filter(|_| !sole_use.takes_call);
                    let block = self.without_array(call, registers, first)?;
                    Some(form((block, None)))
                }));
            }
            for first in [false, true].into_iter().filter(|_| calls_with_array) {
                forms.extend(self.calling(&helper.name, registers, first).map(&form));
            }
        }
        Some(forms)
    }

    /// The groupshared memory that the helper keeps values in: its declaration, where it is new, and its name.
    fn kept(&self, totals: &str) -> Option<(Option<Totals>, String)> {
        let (shader, reduction) = (self.context.shader, self.reduction);
        let slots = self.lanes.div_ceil(4);
        let (length, name) = match self.way {
            Way::OneWave => return Some((None, self.array()?.to_owned())),
            Way::Atomic => (None, total_name(shader, reduction)),
            Way::FirstWave if has_literal_size(self.context) => {
                (Some((slots.to_string(), slots)), totals.to_owned())
            }
            Way::FirstWave => {
                let length = length_by_name(self.context, reduction, self.rewrite)?;
                (Some(length), totals.to_owned())
            }
        };
        let declaration = format!("groupshared {} {name}", self.ty);
        Some((Some(Totals { declaration, length }), name))
    }

    /// The ladder's array, if it has an element for each thread.
    fn array(&self) -> Option<&'a str> {
        let &[array] = self.reduction.arrays.as_slice() else {
            return None;
        };
        let shader = self.context.shader;
        let Type::Array(_, length) = shader.globals.get(array.0 as usize)?.ty else {
            return None;
        };
        array_of_elements(shader, self.reduction, array).filter(|_| length >= self.lanes)
    }

    /// Whether the call was seen to be faster than the ladder, where the array serves nothing else.
    fn is_fast_alone(&self) -> bool {
        match self.way {
            Way::OneWave => is_fast_by_one_wave(self.reduction),
            Way::Atomic | Way::FirstWave => !is_slower(self.reduction, FLOATS_FROM),
        }
    }

    /// The packings of threads into waves that it is right under.
    fn maps(&self) -> &'static [LaneMap] {
        match self.way {
            Way::OneWave => &LaneMap::ALL,
            Way::Atomic | Way::FirstWave => packings(self.context, self.reduction),
        }
    }

    /// The number of threads as a helper may call it, which stands behind these totals or the ladder's array, and in figures. Its name
    /// has one definition: another one may stand before the helper, or come in another build.
    fn size_at_top(&self, totals: &str) -> Option<[String; 2]> {
        let in_figures = self.lanes.to_string();
        if has_literal_size(self.context) {
            return Some([in_figures.clone(), in_figures]);
        }
        let shader = self.context.shader;
        let size = self.size.as_deref()?;
        let unit = Unit::of(shader);
        let arrays = shader.globals.iter().enumerate().filter(|(number, array)| {
            let is_own = { self.reduction.arrays.iter() }.any(|own| own.0 as usize == *number);
            is_own || array.name == totals
        });
        let arrays: Vec<Span> = arrays.map(|(_, array)| array.span).collect();
        let is_known = words(size.as_bytes()).all(|word| {
            unit.definitions(word).len() <= 1 && arrays.iter().all(|array| is_known_at(shader, *array, word))
        });
        is_known.then(|| [size.to_owned(), in_figures])
    }

    /// All lanes of each wave, and by an atomic all waves.
    fn by_atomic(&self, name: &str, total: &str) -> String {
        let [value, thread, result] = self.inner();
        let (ty, barrier) = (&self.ty, self.barrier);
        format!(
            "{ty} {name}({ty} {value}, uint {thread})\n{{\n\
             \x20   {ty} {result} = {of_wave};\n\
             \x20   if ({thread} == 0)\n\
             \x20       {total} = {neutral};\n\
             \x20   {barrier}();\n\
             \x20   if (WaveIsFirstLane())\n\
             \x20       {atomic}({total}, {result});\n\
             \x20   {barrier}();\n\
             \x20   return {total};\n}}",
            of_wave = of_wave(self.reduction, &value),
            neutral = without_suffix(
                self.context.shader,
                &neutral(self.reduction.operator, self.reduction.element, ty)
            ),
            atomic = atomic(self.reduction).unwrap_or_default(),
        )
    }

    /// All lanes of each wave, and by the first wave all waves.
    fn by_totals(&self, name: &str, totals: &str, size: &str) -> String {
        let [value, thread, result] = self.inner();
        let inner = |wanted: &str| inner_name(self.context.shader, wanted);
        let [wave, lane, waves, first] = ["wave", "lane", "waves", "first"].map(inner);
        let ty = &self.ty;
        let place = format!("{totals}[0]");
        let first_wave = FirstWave {
            reduction: self.reduction,
            ty,
            thread: &thread,
            result: &result,
            totals,
            place: &place,
            names: [&wave, &lane, &waves, &first],
        };
        let statements = first_wave.combines(&value, size);
        format!("{ty} {name}({ty} {value}, uint {thread})\n{{\n{statements}    return {place};\n}}")
    }

    /// One wave, as many a pass as it has lanes, whichever these are.
    fn by_one_wave(&self, (name, array): (&str, &str), size: &str, takes_size: bool) -> String {
        let [value, thread, result] = self.inner();
        let inner = |wanted: &str| inner_name(self.context.shader, wanted);
        let [lanes, element] = ["lanes", "element"].map(inner);
        let (ty, barrier, reduction) = (&self.ty, self.barrier, self.reduction);
        let more = if takes_size {
            format!(", uint {size}")
        } else {
            String::new()
        };
        format!(
            "{ty} {name}({ty} {value}, uint {thread}{more})\n{{\n\
             \x20   {array}[{thread}] = {value};\n\
             \x20   {barrier}();\n\
             \x20   {ty} {result} = {neutral};\n\
             \x20   if (WaveActiveAnyTrue({thread} == 0))\n    {{\n\
             \x20       uint {lanes} = WaveActiveCountBits(true);\n\
             \x20       for (uint {element} = WavePrefixCountBits(true); {element} < {size}; {element} += {lanes})\n\
             \x20           {accumulated};\n\
             \x20       {result} = {of_wave};\n    }}\n\
             \x20   {barrier}();\n\
             \x20   if ({thread} == 0)\n\
             \x20       {array}[0] = {result};\n\
             \x20   {barrier}();\n\
             \x20   return {array}[0];\n}}",
            neutral = neutral(reduction.operator, reduction.element, ty),
            accumulated = accumulated(reduction.operator, &result, &format!("{array}[{element}]")),
            of_wave = of_wave(reduction, &result),
        )
    }

    /// The names of a helper's parameters and of its result.
    fn inner(&self) -> [String; 3] {
        ["value", "thread", self.result()].map(|wanted| inner_name(self.context.shader, wanted))
    }

    /// What the values come to.
    fn result(&self) -> &'static str {
        match self.reduction.operator {
            Operator::Add | Operator::FloatAdd => "sum",
            Operator::Mul | Operator::FloatMul => "product",
            Operator::MinUint | Operator::MinInt | Operator::MinFloat => "minimum",
            Operator::MaxUint | Operator::MaxInt | Operator::MaxFloat => "maximum",
            Operator::And | Operator::Or | Operator::Xor => "bits",
        }
    }

    fn result_variable(&self) -> String {
        local_name(self.context.shader, self.reduction, self.result())
    }

    fn sole_use(&self, registers: &[LocalId]) -> Option<SoleUse> {
        let each = self.reduction.count / self.lanes;
        let is_whole = matches!(
            self.reduction.input,
            Elements::Array { component: None, .. } | Elements::Register { component: None, .. }
        );
        let left = match self.reduction.output {
            Elements::Cell { index, .. } => Left::Cell(index),
            _ if !registers.is_empty() => Left::Variables,
            _ => return None,
        };
        if !is_whole || !self.reduction.count.is_multiple_of(self.lanes) {
            return None;
        }
        SoleUse::of(self.context, self.reduction, self.rewrite, (each, ""), left)
    }

    /// What the call is given where nothing else uses the array.
    fn given(&self, sole_use: &SoleUse) -> Option<String> {
        let values = sole_use.given();
        let ty = &self.ty;
        // An element is converted as it is stored.
        let of_one = values.len() == 1;
        let values = values
            .into_iter()
            .map(|value| match (of_one, sole_use.is_of_another_width) {
                (true, _) => value,
                (false, true) => format!("({ty})({value})"),
                (false, false) => format!("{ty}({value})"),
            });
        values
            .reduce(|all, value| combined(self.reduction.operator, &all, &value))
            .or_else(|| {
                own_elements(
                    self.context.shader,
                    self.reduction,
                    self.rewrite,
                    (self.lanes, None),
                )
            })
    }

    /// The `call`, unless it stands elsewhere, and what it leaves in variables.
    fn without_array(&self, call: Option<&str>, registers: &[LocalId], first: bool) -> Option<String> {
        let mut block = self.begun(first);
        let result = match registers {
            [] => format!("{} {}", self.ty, self.result_variable()),
            [first, ..] => self.variable(*first)?.to_owned(),
        };
        if let Some(call) = call {
            let _ = writeln!(block, "    {result} = {call};");
        }
        self.end(&mut block, registers)?;
        Some(block)
    }

    /// The call of the elements in the array, whose first becomes the result; as the file has it, and with the size in figures.
    fn calling(&self, helper: &str, registers: &[LocalId], first: bool) -> Option<(String, Option<String>)> {
        let in_figures = self.calling_by(helper, registers, first, None)?;
        let is_by_name = !has_literal_size(self.context) && self.reduction.count > self.lanes;
        if !is_by_name {
            return Some((in_figures, None));
        }
        let by_name = self.calling_by(helper, registers, first, Some(self.size.as_deref()?))?;
        Some((by_name, Some(in_figures)))
    }

    fn calling_by(
        &self,
        helper: &str,
        registers: &[LocalId],
        first: bool,
        size: Option<&str>,
    ) -> Option<String> {
        let (shader, reduction) = (self.context.shader, self.reduction);
        let lane = &self.rewrite.lane;
        let own = own_elements(shader, reduction, self.rewrite, (self.lanes, size))?;
        let mut block = self.begun(first);
        if let [register, ..] = registers {
            let _ = writeln!(
                block,
                "    {} = {helper}({own}, {lane});",
                self.variable(*register)?
            );
        } else {
            let cell = cell(shader, reduction, self.lanes)?;
            let result = self.result_variable();
            let _ = write!(
                block,
                "    {} {result} = {helper}({own}, {lane});\n\
                 \x20   if ({lane} == {})\n\
                 \x20       {}[{}] = {result};\n\
                 \x20   {}();\n",
                self.ty, cell.owner, cell.array, cell.index, self.barrier
            );
        }
        self.end(&mut block, registers)?;
        Some(block)
    }

    fn begun(&self, first: bool) -> String {
        let mut block = "{\n".to_owned();
        if first {
            let _ = writeln!(block, "    {}();", self.barrier);
        }
        block
    }

    /// What the ladder leaves in further variables.
    fn end(&self, block: &mut String, registers: &[LocalId]) -> Option<()> {
        if let [first, further @ ..] = registers {
            for local in further {
                let _ = writeln!(
                    block,
                    "    {} = {};",
                    self.variable(*local)?,
                    self.variable(*first)?
                );
            }
        }
        block.push_str(&left_settled(self.context.shader, self.reduction, self.rewrite)?);
        block.push('}');
        Some(())
    }

    fn variable(&self, local: LocalId) -> Option<&str> {
        let function = self.context.function(self.reduction.function)?;
        Some(&function.locals.get(local.0 as usize)?.name)
    }
}

fn lanes_of(context: &Context<'_>) -> u32 {
    context.analysis.group_size.iter().product()
}
