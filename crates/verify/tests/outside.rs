//! What is said of reads and writes outside of what kernels are given.

mod support;

use shaderlint_simt::LaneMap;
use shaderlint_verify::interpret::{Interpretation, interpret};
use shaderlint_verify::lower;
use shaderlint_verify::run::{Report, Trial, cases};
use support::{compared, lowered, shader};

const GLOBALS: &str =
    "Texture2D<uint> T; RWTexture2D<uint> U; RWStructuredBuffer<uint> Out, Given; StructuredBuffer<uint> In;";

/// What is said of two bodies, the same at every wave size; `Given` has 100 elements.
fn said(bodies: [&str; 2]) -> Interpretation {
    let [first, second] = bodies.map(|body| {
        shader(&format!(
            "{GLOBALS} [numthreads(8, 8, 1)] void main(uint3 id : SV_DispatchThreadID, uint gi : SV_GroupIndex) {{ {body} }}"
        ))
    });
    let entries = [&first, &second].map(|shader| shader.entry_points().next().expect("an entry point").0);
    let [a, b] = [(&first, entries[0]), (&second, entries[1])];
    let lowered_of = |(shader, entry)| lower(shader, entry).expect("it has a WGSL form");
    let mut trial = Trial::new(&lowered_of(a), &lowered_of(b));
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

/// What each device showed of two bodies, with so many elements in `Out`.
fn reports(bodies: [&str; 2], length: Option<u32>) -> Vec<Report> {
    let [first, second] = bodies.map(|body| {
        lowered(&format!(
            "{GLOBALS} AppendStructuredBuffer<uint> List; RWByteAddressBuffer Bytes;
[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID, uint gi : SV_GroupIndex) {{ {body} }}"
        ))
    });
    let mut trial = Trial::new(&first, &second);
    trial.is_untimed = true;
    trial.unordered.insert("List".into());
    let mut plan = trial.timed_inputs.clone();
    plan.lengths
        .extend(length.map(|length| ("Out".to_owned(), length)));
    trial.cases = cases(&plan, None);
    let reports = compared(&trial).into_iter();
    reports.map(|(_, report)| report.expect("it runs")).collect()
}

/// Of a buffer that is as long as the harness takes it to be, and of none else.
#[test]
fn what_only_longer_buffers_decide_is_no_difference() {
    let through = "Out[2 * id.x] = id.x; Out[2 * id.x + 1] = In[id.x]; Given[id.x] = Out[2 * id.x] + Out[2 * id.x + 1];";
    let known = "Out[2 * id.x] = id.x; Out[2 * id.x + 1] = In[id.x]; Given[id.x] = In[id.x] + id.x;";
    let bytes = "Bytes.Store3(12 * id.x, uint3(1, 2, id.x)); Out[id.x] = Bytes.Load(12 * id.x + 8);";
    let known_bytes = "Bytes.Store3(12 * id.x, uint3(1, 2, id.x)); Out[id.x] = id.x;";
    for (bodies, name) in [
        ([through, known], "Out"),
        ([known, through], "Out"),
        ([bytes, known_bytes], "Bytes"),
        // A texture that is wide enough for whatever is written may be too narrow.
        (
            [
                "U[2 * id.xy] = 1; Out[id.x] = U[2 * id.xy];",
                "U[2 * id.xy] = 1; Out[id.x] = 1;",
            ],
            "U",
        ),
    ] {
        for report in reports(bodies, None) {
            assert!(!report.is_difference() && !report.is_match(), "{report:?}");
            assert_eq!(report.short.iter().collect::<Vec<_>>(), [name], "{bodies:?}");
        }
    }
    // It is long enough, or it is known how long it is.
    for report in reports([through, known], Some(1000)) {
        assert!(report.is_match(), "{report:?}");
    }
    for report in reports([through, known], Some(192)) {
        assert!(report.is_difference(), "{report:?}");
    }
}

#[test]
fn what_longer_buffers_do_not_decide_is_a_difference() {
    for bodies in [
        ["Out[2 * id.x] = id.x;", "Out[2 * id.x] = id.x + 1;"],
        // The length is asked for.
        [
            "uint n, size; Out.GetDimensions(n, size); Out[id.x] = n;",
            "uint n, size; Out.GetDimensions(n, size); Out[id.x] = min(n, 64);",
        ],
        // In a list that is too short it is chance which elements find room.
        ["List.Append(id.x); List.Append(id.x);", "List.Append(id.x);"],
    ] {
        for report in reports(bodies, None) {
            assert!(
                report.is_difference() && report.short.is_empty(),
                "{bodies:?} {report:?}"
            );
        }
    }
}
