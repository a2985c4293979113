//! The dispatches in which two kernels are compared.

use super::inputs::SMALL;
use super::{InputPlan, Numbers, Values};
use crate::{BindingKind, Lowered, UniformMember};

/// One dispatch of both kernels, and its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The particularity of its inputs, in a few words.
    pub about: &'static str,
    pub groups: [u32; 3],
    pub inputs: InputPlan,
    /// It runs in addition to the others if both kernels were seen to end ([`more_cases`]).
    pub is_extra: bool,
}

/// Cases with several groups and with one, with words of all kinds, and with counts that are not a multiple of the
/// group's size. The inputs in `given` are the same in all of them. `groups`, if given, is the dispatch of each.
#[must_use]
pub fn cases(given: &InputPlan, groups: Option<[u32; 3]>) -> Vec<Case> {
    let plan = |values: Values, is_ragged: bool| InputPlan {
        values,
        is_ragged,
        ..given.clone()
    };
    let case = |about: &'static str, dispatch: [u32; 3], inputs: InputPlan| Case {
        about,
        groups: groups.unwrap_or(dispatch),
        inputs,
        is_extra: false,
    };
    // Several groups in x only: kernels with rows often identify their groups by x alone, and groups that write to
    // the same cells race.
    vec![
        case("any words", [3, 1, 1], plan(Values::Any, false)),
        case("edge values", [1, 1, 1], plan(Values::Edges, false)),
        case("few values", [3, 1, 1], plan(Values::Few, false)),
        case(
            "counts that are no multiple of the group size",
            [5, 1, 1],
            plan(Values::Any, true),
        ),
    ]
}

/// Dispatches of one group each whose uniforms are not counts: small numbers, for some code runs only under some mode
/// or flag, and sampled numbers. There are none if all uniforms of the kernels are given. One more case has textures
/// that end among the texels that threads reach.
///
/// A kernel may be meant for other numbers, and may never end with these, or leave its arrays. So these cases are
/// only for kernels that end and stay in their arrays with any inputs ([`crate::interpret::end`]). Two such kernels
/// that are equal are then equal with all of these numbers.
#[must_use]
pub fn more_cases(kernels: &[&Lowered], given: &InputPlan) -> Vec<Case> {
    let bindings = || kernels.iter().flat_map(|kernel| &kernel.bindings);
    let is_free = |member: &UniformMember| !member.is_size && !given.uniforms.contains_key(&member.name);
    let has_free = bindings().any(|binding| match &binding.kind {
        BindingKind::Uniform { members } => members.iter().any(is_free),
        _ => false,
    });
    let mut cases = Vec::new();
    let mut add = |about: &'static str, inputs: InputPlan| {
        cases.push(Case {
            about,
            groups: [1, 1, 1],
            inputs,
            is_extra: true,
        });
    };
    let plan = |numbers: Numbers, values: Values| InputPlan {
        values,
        numbers,
        ..given.clone()
    };
    if has_free {
        for more in 0..SMALL {
            let inputs = plan(Numbers::Small(more), Values::Any);
            add("small uniforms", inputs);
        }
        for number in 0..SAMPLED {
            let values = if number % 2 == 0 { Values::Few } else { Values::Any };
            let inputs = plan(Numbers::Sampled(number), values);
            add("sampled uniforms", inputs);
        }
    }
    if bindings().any(|binding| binding.dimensions.is_some()) {
        let inputs = InputPlan {
            is_tight: true,
            ..given.clone()
        };
        add("textures that end within the group", inputs);
    }
    cases
}

/// The number of dispatches with sampled uniforms.
const SAMPLED: u32 = 6;
