//! Atomics: what they find, and what they leave.

use super::said;

/// In what two kernels are unlike, and their atomics on a place `P`, of which `o` is written.
const ATOMICS: [(&str, [&str; 2]); 17] = [
    ("another cell", ["Add(P[0], 1, o)", "Add(P[1], 1, o)"]),
    ("another amount", ["Add(P[0], 1, o)", "Add(P[0], 2, o)"]),
    ("another operation", ["Add(P[0], 1, o)", "Max(P[0], 1, o)"]),
    (
        "what the cell held",
        ["Add(P[0], 1, o)", "if (gi == 0) P[0] += 7; SYNC; Add(P[0], 1, o)"],
    ),
    (
        "the order",
        [
            "Add(P[0], 1, o); Add(P[1], gi, t)",
            "Add(P[1], gi, o); Add(P[0], 1, t)",
        ],
    ),
    ("whose cell", ["Add(P[gi], 1, o)", "Add(P[gi ^ 1], 1, o)"]),
    (
        "what is left there",
        ["Exchange(P[0], gi, o)", "Exchange(P[0], gi + 1, o)"],
    ),
    (
        "what came before",
        [
            "if (gi < 32) Add(P[0], 1, o)",
            "if (gi >= 32) Add(P[0], 1, t); SYNC; if (gi < 32) Add(P[0], 1, o)",
        ],
    ),
    (
        "what it is compared with",
        [
            "CompareExchange(P[0], 0, gi, o)",
            "CompareExchange(P[0], 1, gi, o)",
        ],
    ),
    (
        "who takes part",
        ["if (gi < 32) Add(P[0], 1, o)", "if (gi < 16) Add(P[0], 1, o)"],
    ),
    (
        "on which condition",
        ["if (X[gi] > 3) Add(P[0], 1, o)", "if (X[gi] > 4) Add(P[0], 1, o)"],
    ),
    (
        "what others make later",
        ["Add(P[0], 1, o)", "Add(P[0], 1, o); if (gi == 63) Add(P[0], 100)"],
    ),
    (
        "what others made",
        [
            "if (gi < 2) Add(P[0], gi + 1); Add(P[0], 1, o)",
            "if (gi < 2) Add(P[0], 2 - gi); Add(P[0], 1, o)",
        ],
    ),
    (
        "a barrier between",
        [
            "Add(P[0], 1); Add(P[0], 1, o)",
            "Add(P[0], 1); SYNC; Add(P[0], 1, o)",
        ],
    ),
    (
        "which of two",
        [
            "Exchange(P[0], gi, o); Exchange(P[1], gi, t)",
            "Exchange(P[0], gi, t); Exchange(P[1], gi, o)",
        ],
    ),
    (
        "a cell on which others work",
        [
            "Add(P[0], 1, o); o = gi == 0 ? o : 0",
            "Add(P[0], gi == 0 ? 1 : 2, o); o = gi == 0 ? o : 0",
        ],
    ),
    (
        "which time",
        [
            "Add(P[0], 1, o); SYNC; Add(P[0], 0, t)",
            "Add(P[0], 1, t); SYNC; Add(P[0], 0, o)",
        ],
    ),
];

/// The operations on a groupshared array, or on a buffer.
fn atomics(operations: &str, array: &str) -> String {
    let (begin, sync) = match array {
        "s" => ("s[gi] = X[gi];", "GroupMemoryBarrierWithGroupSync()"),
        _ => ("", "DeviceMemoryBarrierWithGroupSync()"),
    };
    let mut body = operations.replace("SYNC", sync);
    for name in ["Add", "Max", "CompareExchange", "Exchange"] {
        body = body.replace(&format!("{name}(P["), &format!("Interlocked{name}({array}["));
    }
    format!(
        "uint o = 0, t = 0; {begin} {sync}; {}; Y[id.x] = o;",
        body.replace("P[", &format!("{array}["))
    )
}

#[test]
fn what_an_atomic_finds_depends_on_all_that_has_a_part_in_it() {
    for array in ["s", "Z"] {
        for (what, operations) in ATOMICS {
            let [first, second] = operations.map(|operations| atomics(operations, array));
            let outcome = said([&first, &second]);
            assert!(outcome.starts_with("not proved"), "{what}: {outcome}: {second}");
            // And on nothing else.
            for body in [first, second] {
                let renamed = body.replace("o = 0, t = 0", "t = 0, o = 0");
                assert_eq!(said([&body, &renamed]), "equal", "{what}: {body}");
            }
        }
    }
}

#[test]
fn of_atomics_only_what_is_used_has_to_be_the_same() {
    let sync = "GroupMemoryBarrierWithGroupSync();";
    let of = |atomics: &str| {
        let atomics = atomics.replace("SYNC", sync);
        format!("uint o; s[gi] = 0; {sync} {atomics}; {sync} Y[id.x] = s[gi];")
    };
    for [first, second] in [
        // One atomic for all, whether or not there is a variable for what each finds.
        ["InterlockedAdd(s[0], 1)", "if (gi == 0) InterlockedAdd(s[0], 64)"],
        [
            "InterlockedAdd(s[0], 1, o)",
            "if (gi == 0) InterlockedAdd(s[0], 64)",
        ],
        [
            "InterlockedAdd(s[0], 1, o)",
            "InterlockedAdd(s[0], 1, o); InterlockedAdd(s[0], 0)",
        ],
        // An atomic under a condition adds nothing where the condition does not hold.
        [
            "if (X[gi] > 3) InterlockedAdd(s[0], X[gi])",
            "InterlockedAdd(s[0], X[gi] > 3 ? X[gi] : 0)",
        ],
        ["InterlockedExchange(s[gi / 2], X[gi])"; 2],
        // Of an earlier interval what it left.
        [
            "InterlockedAdd(s[1], 1); SYNC InterlockedAdd(s[1], 1, o); Z[gi] = o",
            "if (gi == 0) InterlockedAdd(s[1], 64); SYNC InterlockedAdd(s[1], 1, o); Z[gi] = o",
        ],
    ] {
        let outcome = said([&of(first), &of(second)]);
        assert_eq!(outcome, "equal", "{first}: {second}");
    }
    for [first, second] in [
        [
            "if (X[gi] > 3) InterlockedAdd(s[0], 1)",
            "if (X[gi] > 4) InterlockedAdd(s[0], 1)",
        ],
        [
            "InterlockedExchange(s[0], gi)",
            "InterlockedExchange(s[0], gi ^ 1)",
        ],
        [
            "InterlockedExchange(s[0], gi)",
            "if (gi == 63) InterlockedExchange(s[0], gi)",
        ],
    ] {
        let outcome = said([&of(first), &of(second)]);
        assert_ne!(outcome, "equal", "{first}: {second}");
    }
    // The same again is another time: each may end otherwise.
    let clear = format!("{sync} if (gi == 0) s[0] = 0; {sync}");
    let exchange = format!("InterlockedExchange(s[0], gi); {sync}");
    let of_two = |last: &str| format!("{clear} {exchange} uint a = s[0]; {clear} {exchange} Z[gi] = {last};");
    assert_eq!(said([&of_two("a == s[0]"); 2]), "equal");
    assert_ne!(said([&of_two("a == s[0]"), &of_two("true")]), "equal");
}
