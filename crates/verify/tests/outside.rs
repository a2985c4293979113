//! What the interpreter says of writes outside of what kernels are given.

mod support;

use shaderlint_simt::LaneMap;
use shaderlint_verify::interpret::{Interpretation, interpret};
use shaderlint_verify::lower;
use shaderlint_verify::run::{Trial, cases};
use support::shader;

const GLOBALS: &str =
    "Texture2D<uint> T; RWTexture2D<uint> U; RWStructuredBuffer<uint> Out, Given; StructuredBuffer<uint> In;";

/// What is said of two bodies, the same at every wave size; `Given` has 100 elements.
fn said(bodies: [&str; 2]) -> Interpretation {
    let [first, second] = bodies.map(|body| {
        shader(&format!(
            "{GLOBALS} [numthreads(8, 8, 1)] void main(uint3 id : SV_DispatchThreadID, uint gi : SV_GroupIndex) {{ {body} }}"
        ))
    });
    let entries = [&first, &second].map(|shader| shader.entry_points().next().unwrap().0);
    let [a, b] = [(&first, entries[0]), (&second, entries[1])];
    let mut trial = Trial::new(&lower(a.0, a.1).unwrap(), &lower(b.0, b.1).unwrap());
    let mut plan = trial.timed_inputs.clone();
    plan.lengths.insert("Given".into(), 100);
    trial.cases = cases(&plan, None);
    let mut all: Vec<_> = interpret(a, b, &trial, &[LaneMap::Linear])
        .into_iter()
        .map(|run| run.outcome)
        .collect();
    all.dedup();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn nothing_is_written_outside() {
    let copy = "U[id.xy] = T[id.xy];";
    for more in [
        "U[id.xy + 4000000] = 3;",
        "U[int2(id.xy) - int2(gi + 1000, 0)] = 5;",
        "U[uint2(id.x, id.y + 5000)] = 5;",
        "Given[gi + 100] = 1;",
        "Out[gi - 64] = 1;",
    ] {
        let both = format!("{copy} {more}");
        for bodies in [[copy, &both], [&both, copy]] {
            let outcome = said(bodies);
            let Interpretation::Equal { words } = outcome else {
                panic!("{more} {outcome:?}");
            };
            // The copies alone: of two groups, of one, of two and of two.
            assert_eq!(words, 64 * 7, "{more}");
        }
    }
}

#[test]
fn what_is_written_inside_differs() {
    let copy = "U[id.xy] = T[id.xy];";
    for (more, place) in [
        ("U[uint2(id.x, id.y + 8)] = 5;", "U[0][8]"),
        ("Given[gi + 36] = 1;", "Given[36]"),
        // However many elements the host gives it.
        ("Out[gi + 100000] = 1;", "Out[100000]"),
    ] {
        let both = format!("{copy} {more}");
        for bodies in [[copy, &both], [&both, copy]] {
            let Interpretation::Differs { place: at, .. } = said(bodies) else {
                panic!("{more}");
            };
            assert_eq!(at, place);
        }
    }
}
