//! The dispatches that two kernels are compared over.

use super::{InputPlan, Values};
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
