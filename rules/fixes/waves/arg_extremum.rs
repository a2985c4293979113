//! The wave form of a ladder that finds the least or greatest element and what belongs to it.
//!
//! # Why it is right, and what it assumes
//!
//! Two reductions by atomics find the thread of that element: first the least value of all, then the least rank among
//! the threads with this value. A thread's rank is its place in the order in which the ladder prefers equal elements;
//! no two threads have the same. Every thread is in exactly one wave, so both results are the same whichever threads
//! the waves hold: nothing is assumed. The form then copies to the first element what belongs to this thread.
//! [`shaderlint_simt`] says why a function of such a rank is the ladder's choice; the proof of the fix shows, as for
//! any other, that the form does what this ladder did.
//!
//! HLSL has no atomics of floats. For these, each wave finds its best value and the least rank among its threads with it.
//! The first wave then does the same with the waves: it is the only one to be sure of being full, or the only one. This
//! takes waves to hold consecutive threads of a 1-D group, and no float to be NaN: a NaN equals nothing, so the form
//! might find no element. It then copies some element of the array.

use std::fmt::Write;

use shaderlint_hlsl::{Scalar, Shader, Type};
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Companions, Elements, LaneMap, Operator, Order, Rewrite};

use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{WaveForm, barrier_of, neutral};
use crate::fixes::waves::group_helper::{Helper, Wanted, function_name};
use crate::fixes::waves::totals::{Totals, length_by_name, name_beside};
use crate::source::element::{part_of, scalar_part};
use crate::source::group_size::{has_literal_size, size_by_name};
use crate::source::names::{further_name, inner_name, local_name};
use crate::source::text::Spelled;

/// The number of elements from which the form was faster than the ladder (`docs/measurements.md`).
pub(crate) const FASTER_FROM: u32 = 64;

/// The forms that may replace the ladder, the one that does least first: with a declared helper, or a new one;
/// without a barrier behind the copy, or with one for later readers.
pub(crate) fn forms(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    companions: &Companions,
) -> Vec<WaveForm> {
    let leaves_nothing = rewrite.other_places.is_empty()
        && rewrite.further_results.is_empty()
        && rewrite.live_values.is_empty();
    let parts = Parts::of(context, reduction, companions).filter(|_| leaves_nothing);
    let Some(parts) = parts else {
        return Vec::new();
    };
    if reduction.element == Scalar::Float {
        let forms = by_totals(context, reduction, rewrite, companions.order, &parts);
        return forms.unwrap_or_default();
    }
    by_atomics(context, reduction, rewrite, companions.order, &parts)
}

/// The forms in which atomics combine the waves.
fn by_atomics(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    order: Order,
    parts: &Parts,
) -> Vec<WaveForm> {
    let shader = context.shader;
    let lanes: u32 = context.analysis.group_size.iter().product();
    if reduction.element != Scalar::Uint || reduction.count != lanes {
        return Vec::new();
    }
    let lane = &rewrite.lane;
    let value = format!("{}, {lane}", parts.key(lane));
    let copies = match parts.copies.as_slice() {
        [copy] => format!("        {copy}\n"),
        copies => format!("    {{\n        {}\n    }}\n", copies.join("\n        ")),
    };
    let copies = format!("    if ({lane} == 0)\n{copies}");
    let (least, barrier) = (reduction.operator == Operator::MinUint, barrier_of(reduction));
    let kept = further_name(shader, &name_beside(shader, reduction, ["Best", "_best"]), &[]);
    let name = function_name(shader, &["Group", "Arg", if least { "Min" } else { "Max" }]);
    let comment = format!(
        "The number of the thread with the {} value; of equal ones the first{}.\n\
         // Two calls need a barrier between them.",
        if least { "least" } else { "greatest" },
        match order {
            Order::Ascending => "",
            Order::BitReversed => " in\n// bit-reversed order",
        }
    );
    let search = Search {
        shader,
        barrier,
        least,
        order,
    };
    let write = |name: &str, kept: &str| Spelled::alike(search.helper(name, kept));
    let wanted = Wanted {
        name: &name,
        totals: &kept,
        comment: &comment,
    };
    let helpers = Helper::all(shader, reduction, &wanted, write);
    let forms = helpers.flat_map(|helper| [(helper.clone(), false), (helper, true)]);
    let forms = forms.map(|(helper, waits_last)| {
        let best = local_name(shader, reduction, BEST);
        let mut block = Code::new(format!("    uint {best} = {}({value});\n{copies}", helper.name));
        if waits_last {
            block.push_barrier(barrier);
        }
        let totals = Totals {
            ty: "uint".to_owned(),
            name: kept.clone(),
            length: Some(("2".to_owned(), 2)),
        };
        let new = { [totals].into_iter() }.filter(|_| !helper.is_declared).collect();
        WaveForm {
            keeps_totals: true,
            is_flat: true,
            helper: Some(helper),
            ..WaveForm::new(block, None, new, &LaneMap::ALL)
        }
    });
    forms.collect()
}

/// The name of the variable for the thread of the best element.
const BEST: &str = "best";

/// The parts of a form.
struct Parts {
    /// The array of the keys, and the selector behind an element's index.
    array: String,
    selector: String,
    /// The statements that copy what belongs to the best element.
    copies: Vec<String>,
}

impl Parts {
    /// `None` for too few elements, or where no form is written for them.
    fn of(context: &Context<'_>, reduction: &Collective, companions: &Companions) -> Option<Parts> {
        let shader = context.shader;
        let (
            &Elements::Array {
                global,
                offset: 0,
                component,
                axis: 0,
            },
            &Elements::Cell { index: 0, .. },
        ) = (&reduction.input, &reduction.output)
        else {
            return None;
        };
        if reduction.vector.is_some() || reduction.count < FASTER_FROM {
            return None;
        }
        let array = shader.globals.get(global.0 as usize)?;
        let Type::Array(element, _) = &array.ty else {
            return None;
        };
        let (_, selector) = scalar_part(shader, element, component.unwrap_or(0).into())?;
        let best = local_name(shader, reduction, BEST);
        Some(Parts {
            array: array.name.clone(),
            selector,
            copies: copies(context, reduction, companions, &best)?,
        })
    }

    /// The key of the element with this index.
    fn key(&self, index: &str) -> String {
        format!("{}[{index}]{}", self.array, self.selector)
    }
}

/// A thread's rank, or the thread of a rank.
fn ranked(order: Order, of: &str) -> String {
    match order {
        Order::Ascending => of.to_owned(),
        Order::BitReversed => format!("reversebits({of})"),
    }
}

/// The forms in which the first wave finds the best of the waves' best elements: without a barrier behind the copy, or
/// with one for later readers.
fn by_totals(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    order: Order,
    parts: &Parts,
) -> Option<Vec<WaveForm>> {
    let shader = context.shader;
    let lanes: u32 = context.analysis.group_size.iter().product();
    if context.has_rows() || reduction.count != lanes {
        return None;
    }
    let in_figures = lanes.to_string();
    let (size, length) = if has_literal_size(context) {
        (
            in_figures.clone(),
            (lanes.div_ceil(4).to_string(), lanes.div_ceil(4)),
        )
    } else {
        (
            size_by_name(context, reduction)?,
            length_by_name(context, reduction, rewrite)?,
        )
    };
    let best = name_beside(shader, reduction, ["WaveBest", "_wave_best"]);
    let of_ranks = name_beside(shader, reduction, ["WaveRanks", "_wave_ranks"]);
    let totals = |ty: String, name: &str| Totals {
        ty,
        name: name.to_owned(),
        length: Some(length.clone()),
    };
    let totals = [
        totals(reduction.element_name(), &best),
        totals("uint".to_owned(), &of_ranks),
    ];
    let waves = Waves {
        shader,
        reduction,
        thread: &rewrite.lane,
        order,
        parts,
        best: &best,
        ranks: &of_ranks,
    };
    let write = |size: &str, waits_last: bool| {
        let mut code = waves.code(size);
        if waits_last {
            code.push_barrier(barrier_of(reduction));
        }
        code
    };
    let forms = [false, true].into_iter().map(|waits_last| {
        let expanded = (size != in_figures).then(|| write(&in_figures, waits_last));
        let block = write(&size, waits_last);
        WaveForm::new(block, expanded, totals.to_vec(), &[LaneMap::Linear])
    });
    Some(forms.collect())
}

/// How the first wave finds the best element.
struct Waves<'a> {
    shader: &'a Shader,
    reduction: &'a Collective,
    thread: &'a str,
    order: Order,
    parts: &'a Parts,
    /// The arrays of each wave's best key, and of its rank.
    best: &'a str,
    ranks: &'a str,
}

impl Waves<'_> {
    /// The statements for a group of `size` threads.
    fn code(&self, size: &str) -> Code {
        let Waves {
            reduction,
            thread,
            order,
            parts,
            best: keys,
            ranks,
            ..
        } = *self;
        let is_least = reduction.operator == Operator::MinFloat;
        let (word, of_two) = if is_least { ("Min", "min") } else { ("Max", "max") };
        let [wave, lane, count, first, second, key, rank, best, is_best] = [
            "waveIndex",
            "waveLane",
            "waveCount",
            "firstWave",
            "nextWave",
            if is_least { "waveLeast" } else { "waveGreatest" },
            "waveRank",
            BEST,
            "isBest",
        ]
        .map(|wanted| local_name(self.shader, reduction, wanted));
        let ty = reduction.element_name();
        let neutral = neutral(reduction.operator, reduction.element, &ty);
        let own = parts.key(thread);
        let pass = |number: &str| {
            format!("        for (uint {number} = 0; {number} < {count}; {number} += WaveGetLaneCount())\n")
        };
        let mut code = Code::new(format!(
            "    // The element with the {what} value; assumes a 1-D group packed into waves in order.\n\
             \x20   uint {wave} = {thread} / WaveGetLaneCount();\n\
             \x20   uint {lane} = WaveGetLaneIndex();\n\
             \x20   {ty} {key} = WaveActive{word}({own});\n\
             \x20   uint {rank} = WaveActiveMin({own} == {key} ? {own_rank} : 0xffffffff);\n\
             \x20   if ({lane} == 0)\n    {{\n\
             \x20       {keys}[{wave}] = {key};\n\
             \x20       {ranks}[{wave}] = {rank};\n    }}\n",
            what = if is_least { "least" } else { "greatest" },
            own_rank = ranked(order, thread),
        ));
        code.push_barrier(barrier_of(reduction));
        let (at, next) = (format!("{first} + {lane}"), format!("{second} + {lane}"));
        let _ = write!(
            code,
            "    if ({wave} == 0)\n    {{\n\
             \x20       uint {count} = ({size} + WaveGetLaneCount() - 1) / WaveGetLaneCount();\n\
             \x20       {key} = {neutral};\n\
             {first_pass}\
             \x20           {key} = {of_two}({key}, WaveActive{word}({at} < {count} ? {keys}[{at}] : {neutral}));\n\
             \x20       {rank} = 0xffffffff;\n\
             {second_pass}        {{\n\
             \x20           bool {is_best} = {next} < {count} ? {keys}[{next}] == {key} : false;\n\
             \x20           {rank} = min({rank}, WaveActiveMin({is_best} ? {ranks}[{next}] : 0xffffffff));\n\
             \x20       }}\n    }}\n\
             \x20   if ({thread} == 0)\n    {{\n\
             \x20       uint {best} = {of_rank} % {size};\n        {copies}\n    }}\n",
            first_pass = pass(&first),
            second_pass = pass(&second),
            of_rank = ranked(order, &rank),
            copies = parts.copies.join("\n        "),
        );
        code
    }
}

/// How the thread of the least or greatest element is found.
struct Search<'a> {
    shader: &'a Shader,
    barrier: &'static str,
    least: bool,
    order: Order,
}

impl Search<'_> {
    /// The function of this name, which keeps the value and the rank in the array `kept`.
    fn helper(&self, name: &str, kept: &str) -> Code {
        let Search {
            barrier,
            least,
            order,
            ..
        } = *self;
        let inner = |wanted: &str| inner_name(self.shader, wanted);
        let [value, thread, best, rank] = [
            "value",
            "thread",
            if least { "least" } else { "greatest" },
            "rank",
        ]
        .map(inner);
        let (word, neutral) = if least {
            ("Min", "0xffffffff")
        } else {
            ("Max", "0")
        };
        let mut code = Code::new(format!(
            "uint {name}(uint {value}, uint {thread})\n{{\n\
             \x20   uint {best} = WaveActive{word}({value});\n\
             \x20   if ({thread} == 0)\n    {{\n\
             \x20       {kept}[0] = {neutral};\n\
             \x20       {kept}[1] = 0xffffffff;\n    }}\n"
        ));
        code.push_barrier(barrier);
        let _ = write!(
            code,
            "    if (WaveIsFirstLane())\n\
             \x20       Interlocked{word}({kept}[0], {best});\n"
        );
        code.push_barrier(barrier);
        let of_thread = ranked(order, &thread);
        let _ = write!(
            code,
            "    uint {rank} = WaveActiveMin({value} == {kept}[0] ? {of_thread} : 0xffffffff);\n\
             \x20   if (WaveIsFirstLane())\n\
             \x20       InterlockedMin({kept}[1], {rank});\n"
        );
        code.push_barrier(barrier);
        let _ = write!(code, "    return {};\n}}", ranked(order, &format!("{kept}[1]")));
        code
    }
}

/// The statements that copy to the first element what belongs to the best one.
fn copies(
    context: &Context<'_>,
    reduction: &Collective,
    companions: &Companions,
    best: &str,
) -> Option<Vec<String>> {
    let shader = context.shader;
    let Elements::Cell {
        global, component, ..
    } = reduction.output
    else {
        return None;
    };
    let own = (global, usize::from(component.unwrap_or(0)));
    let mut all: Vec<_> = companions.components.iter().copied().chain([own]).collect();
    all.sort_unstable();
    let mut copies = Vec::new();
    while let Some(&(global, component)) = all.first() {
        let array = shader.globals.get(global.0 as usize)?;
        let Type::Array(element, _) = &array.ty else {
            return None;
        };
        // The whole element or vector, where all of it is chosen.
        let part = part_of(shader, element, component)?;
        let of_part = part.first..part.first + usize::from(part.width.unwrap_or(1));
        let is_all = |of: std::ops::Range<usize>| {
            of.clone()
                .all(|number| all.contains(&(global, number)))
                .then_some(of)
        };
        let (range, name) = if let Some(range) = is_all(0..shader.components(element)) {
            (range, String::new())
        } else if let Some(range) = is_all(of_part) {
            (range, part.name)
        } else {
            (
                component..component + 1,
                scalar_part(shader, element, component)?.1,
            )
        };
        all.retain(|(of, number)| *of != global || !range.contains(number));
        copies.push(format!("{0}[0]{name} = {0}[{best}]{name};", array.name));
    }
    Some(copies)
}
