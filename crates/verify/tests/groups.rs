//! Places to which several groups write.

mod support;

use shaderlint_verify::interpret::contested;
use shaderlint_verify::run::Trial;
use support::{lowered, shader};

/// The indices in `Out` that groups of the first case contest.
fn indices(body: &str) -> Vec<u32> {
    let text = format!(
        "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out;
[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID, uint gi : SV_GroupIndex) {{ {body} }}"
    );
    let (shader, kernel) = (shader(&text), lowered(&text));
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    let trial = Trial::new(&kernel, &kernel);
    let places = contested((&shader, entry), &trial, &trial.cases[0]);
    places
        .into_iter()
        .filter_map(|(_, index, _)| index.first().copied())
        .collect()
}

#[test]
fn groups_contest_what_they_write_unlike_words_to() {
    assert_eq!(indices("Out[gi] = In[id.x];"), (0..64).collect::<Vec<u32>>());
    assert_eq!(indices("Out[id.x + 1] = 1; if (gi < 2) Out[gi] = id.x;"), [0, 1]);
    // Threads of one group, too, but not where a barrier comes between.
    assert_eq!(indices("if (gi < 4) Out[gi / 2] = gi;"), [0, 1]);
    assert_eq!(
        indices("if (gi < 4) Out[gi / 2] = gi; AllMemoryBarrierWithGroupSync(); if (gi < 1) Out[0] = 7;"),
        [1]
    );
    // To places of their own, like words, and what is not followed.
    for none in [
        "Out[id.x] = In[id.x];",
        "Out[gi] = gi;",
        "uint x; InterlockedAdd(Out[0], 1, x); Out[x] = id.x;",
    ] {
        assert_eq!(indices(none), [0; 0], "{none}");
    }
}
