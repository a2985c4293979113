//! The dispatches that two kernels are compared over.

use shaderlint_hlsl::Scalar;

use super::inputs::SMALL;
use super::{InputPlan, Values};
use crate::{BindingKind, Lowered};

/// One dispatch of both kernels, and what it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is particular about what it reads, in a few words.
    pub about: &'static str,
    pub groups: [u32; 3],
    pub inputs: InputPlan,
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

/// One group for each small number that integer uniforms are besides the count: what only some mode or flag does. None
/// where all of the kernels' integer uniforms are given.
///
/// A kernel may be meant for other numbers and never end with these: only what the interpreter followed to its end is for
/// devices.
#[must_use]
pub fn small_cases(kernels: &[&Lowered], given: &InputPlan) -> Vec<Case> {
    let is_free = |kernel: &&Lowered| {
        let members = kernel.bindings.iter().filter_map(|binding| match &binding.kind {
            BindingKind::Uniform { members } => Some(members),
            _ => None,
        });
        members.flatten().any(|member| {
            let is_integer = |scalar| matches!(scalar, Scalar::Int | Scalar::Uint);
            !member.is_size
                && !given.uniforms.contains_key(&member.name)
                && member.words.iter().any(|word| is_integer(word.scalar))
        })
    };
    if !kernels.iter().any(is_free) {
        return Vec::new();
    }
    let case = |small: u32| Case {
        about: "small integers in constant buffers",
        groups: [1, 1, 1],
        inputs: InputPlan {
            small: Some(small),
            ..given.clone()
        },
    };
    (0..SMALL).map(case).collect()
}
