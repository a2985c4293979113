//! The dispatches that two kernels are compared over.

use super::inputs::SMALL;
use super::{InputPlan, Numbers, Values};
use crate::{BindingKind, Lowered, UniformMember};

/// One dispatch of both kernels, and what it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is particular about what it reads, in a few words.
    pub about: &'static str,
    pub groups: [u32; 3],
    pub inputs: InputPlan,
    /// It is run beside the others if the kernels were seen to end ([`more_cases`]).
    pub is_extra: bool,
}

/// Several groups and one, words of all kinds, and counts that are no multiple of the group's size. What `given` sets is
/// the same in all of them; `groups`, if given, is the dispatch of each.
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
    // In x alone: kernels of rows often name their groups by x only, and groups that write the same cells race.
    vec![
        case("any words", [3, 1, 1], plan(Values::Any, false)),
        case("edge values", [1, 1, 1], plan(Values::Edges, false)),
        case("few values", [3, 1, 1], plan(Values::Few, false)),
        case(
            "counts that do not divide the group",
            [5, 1, 1],
            plan(Values::Any, true),
        ),
    ]
}

/// Dispatches with other uniforms than counts, one group each: small numbers, as only some mode or flag does what it does,
/// and sampled ones; none where all of the kernels' uniforms are given. And one whose textures end among what is reached.
///
/// A kernel may be meant for other numbers, and never end with these or leave its arrays: they are only for kernels that do
/// neither, whatever they are given ([`crate::interpret::end`]). Two that are equal are so with all of these numbers then.
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

/// Dispatches with sampled uniforms.
const SAMPLED: u32 = 6;
