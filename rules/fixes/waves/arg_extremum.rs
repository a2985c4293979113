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
//! Values are `uint`s: a NaN would belong to no thread, and HLSL has no atomics of floats.

use std::fmt::Write;

use shaderlint_hlsl::{Scalar, Shader, Type};
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Companions, Elements, LaneMap, Operator, Order, Rewrite};

use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::{WaveForm, barrier_of};
use crate::fixes::waves::group_helper::{Helper, Wanted, function_name};
use crate::fixes::waves::totals::{Totals, name_beside};
use crate::source::element::{part_of, scalar_part};
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
    let shader = context.shader;
    let leaves_nothing = rewrite.other_places.is_empty()
        && rewrite.further_results.is_empty()
        && rewrite.live_values.is_empty();
    let copied = copied(context, reduction, rewrite, companions).filter(|_| leaves_nothing);
    let Some([value, copies]) = copied else {
        return Vec::new();
    };
    let (least, barrier) = (reduction.operator == Operator::MinUint, barrier_of(reduction));
    let kept = further_name(shader, &name_beside(shader, reduction, ["Best", "_best"]), &[]);
    let name = function_name(shader, &["Group", "Arg", if least { "Min" } else { "Max" }]);
    let comment = format!(
        "The number of the thread with the {} value; of equal ones the first{}.\n\
         // Two calls need a barrier between them.",
        if least { "least" } else { "greatest" },
        match companions.order {
            Order::Ascending => "",
            Order::BitReversed => " in\n// bit-reversed order",
        }
    );
    let search = Search {
        shader,
        barrier,
        least,
        order: companions.order,
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

/// The helper's arguments, and the statement that copies what belongs to the best element; `None` for too few
/// elements, or where no form is written for them.
fn copied(
    context: &Context<'_>,
    reduction: &Collective,
    rewrite: &Rewrite,
    companions: &Companions,
) -> Option<[String; 2]> {
    let shader = context.shader;
    let lanes: u32 = context.analysis.group_size.iter().product();
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
    let is_plain = reduction.element == Scalar::Uint && reduction.vector.is_none();
    if !is_plain || reduction.count != lanes || reduction.count < FASTER_FROM {
        return None;
    }
    let array = shader.globals.get(global.0 as usize)?;
    let Type::Array(element, _) = &array.ty else {
        return None;
    };
    let (_, key) = scalar_part(shader, element, component.unwrap_or(0).into())?;
    let lane = &rewrite.lane;
    let copies = copies(
        context,
        reduction,
        companions,
        &local_name(shader, reduction, BEST),
    )?;
    let body = match copies.as_slice() {
        [copy] => format!("        {copy}\n"),
        copies => format!("    {{\n        {}\n    }}\n", copies.join("\n        ")),
    };
    Some([
        format!("{}[{lane}]{key}, {lane}", array.name),
        format!("    if ({lane} == 0)\n{body}"),
    ])
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
        let ranked = |of: &str| match order {
            Order::Ascending => of.to_owned(),
            Order::BitReversed => format!("reversebits({of})"),
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
        let of_thread = ranked(&thread);
        let _ = write!(
            code,
            "    uint {rank} = WaveActiveMin({value} == {kept}[0] ? {of_thread} : 0xffffffff);\n\
             \x20   if (WaveIsFirstLane())\n\
             \x20       InterlockedMin({kept}[1], {rank});\n"
        );
        code.push_barrier(barrier);
        let _ = write!(code, "    return {};\n}}", ranked(&format!("{kept}[1]")));
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
