//! Barriers and fences order writes to device memory for other groups too.

use crate::{kernel, runs_of, words};

const OTHER: &str = "not proved: other barriers order the accesses to device memory";
const ALL: &str = "AllMemoryBarrierWithGroupSync();";
const GROUP: &str = "GroupMemoryBarrierWithGroupSync();";
const DEVICE: &str = "DeviceMemoryBarrierWithGroupSync();";

/// What other groups may see.
const PUBLISHED: &str = "globallycoherent RWStructuredBuffer<uint> D; globallycoherent RWStructuredBuffer<uint> Flag;
globallycoherent RWByteAddressBuffer Raw; globallycoherent RWTexture2D<uint> T; AppendStructuredBuffer<uint> List;
globallycoherent RWStructuredBuffer<uint> Many[4];
void Sync() { AllMemoryBarrierWithGroupSync(); }
void Publish(globallycoherent RWStructuredBuffer<uint> flag) { flag[0] = 1; }
void Put(RWStructuredBuffer<uint> where, uint at, uint value) { where[at] = value; }
";

#[track_caller]
fn check_with(before: &str, expected: &str, pairs: &[[&str; 2]]) {
    for [first, second] in pairs {
        assert_eq!(said_with(before, [first, second]), expected, "{first} | {second}");
        for body in [first, second] {
            assert_eq!(said_with(before, [body, body]), "equal", "{body}");
        }
    }
}

/// What is said of two bodies in which barriers are written short.
fn said_with(before: &str, bodies: [&str; 2]) -> String {
    let [a, b] = bodies.map(|body| {
        let body = body
            .replace("ALL", ALL)
            .replace("GROUP", GROUP)
            .replace("DEVICE", DEVICE)
            .replace("FENCE", "DeviceMemoryBarrier();")
            .replace("RAISE", "if (gi == 0) Flag[0] = 1;");
        kernel("", before, &body)
    });
    words(&runs_of([&a, &b]))
}

#[test]
fn what_is_published_is_ordered_as_much_as_before() {
    check_with(
        PUBLISHED,
        OTHER,
        &[
            ["D[id.x] = 1; ALL RAISE", "D[id.x] = 1; RAISE"],
            ["D[id.x] = 1; ALL RAISE", "D[id.x] = 1; GROUP RAISE"],
            ["D[id.x] = 1; DEVICE RAISE", "D[id.x] = 1; GROUP RAISE"],
            ["D[id.x] = 1; DEVICE RAISE", "D[id.x] = 1; FENCE RAISE"],
            ["D[id.x] = 1; ALL RAISE", "D[id.x] = 1; RAISE ALL"],
            ["D[id.x] = 1; ALL RAISE", "ALL D[id.x] = 1; RAISE"],
            // A fence completes each thread's accesses, and the group waits for that.
            ["D[id.x] = 1; FENCE GROUP RAISE", "D[id.x] = 1; FENCE RAISE"],
            ["D[id.x] = 1; FENCE GROUP RAISE", "D[id.x] = 1; GROUP RAISE"],
            ["D[id.x] = 1; FENCE GROUP RAISE", "D[id.x] = 1; GROUP FENCE RAISE"],
            ["D[id.x] = 1; GROUP FENCE RAISE", "D[id.x] = 1; FENCE GROUP RAISE"],
            ["D[id.x] = 1; FENCE Flag[gi] = 1;", "D[id.x] = 1; Flag[gi] = 1;"],
            [
                "D[id.x] = 1; FENCE Flag[gi] = 1;",
                "FENCE D[id.x] = 1; Flag[gi] = 1;",
            ],
            [
                "D[id.x] = 1; FENCE Flag[gi] = 1;",
                "D[id.x] = 1; GroupMemoryBarrier(); Flag[gi] = 1;",
            ],
            [
                "D[id.x] = 1; FENCE Flag[gi] = 1;",
                "D[id.x] = 1; if (gi < 32) { FENCE } Flag[gi] = 1;",
            ],
            // In the order of several.
            [
                "D[gi] = 1; ALL D[gi + 64] = 1; ALL RAISE",
                "D[gi] = 1; ALL D[gi + 64] = 1; RAISE",
            ],
            [
                "D[gi] = 1; ALL D[gi + 64] = 1; ALL RAISE",
                "D[gi] = 1; D[gi + 64] = 1; ALL RAISE",
            ],
            // In whatever the data are, and whichever of them other groups are told to see.
            ["Y[id.x] = 1; ALL RAISE", "Y[id.x] = 1; RAISE"],
            [
                "D[id.x] = 1; ALL if (gi == 0) Y[0] = 1;",
                "D[id.x] = 1; if (gi == 0) Y[0] = 1;",
            ],
            [
                "Raw.Store(4 * id.x, 1); ALL RAISE",
                "Raw.Store(4 * id.x, 1); RAISE",
            ],
            ["T[id.xy] = 1; ALL RAISE", "T[id.xy] = 1; GROUP RAISE"],
            ["Many[1][id.x] = 1; ALL RAISE", "Many[1][id.x] = 1; GROUP RAISE"],
            [
                "List.Append(id.x); ALL if (gi == 0) Y[0] = 1;",
                "List.Append(id.x); if (gi == 0) Y[0] = 1;",
            ],
            ["Put(D, id.x, 1); Sync(); RAISE", "Put(D, id.x, 1); RAISE"],
            [
                "D[id.x] = 1; Sync(); if (gi == 0) Publish(Y);",
                "D[id.x] = 1; if (gi == 0) Publish(Y);",
            ],
            // An atomic whose result nobody asks for.
            [
                "Y[id.x] = 1; ALL if (gi == 0) InterlockedOr(Z[0], 1);",
                "Y[id.x] = 1; GROUP if (gi == 0) InterlockedOr(Z[0], 1);",
            ],
            [
                "Out.Store(4 * id.x, 1); DEVICE if (gi == 0) Out.InterlockedAdd(0, 1);",
                "Out.Store(4 * id.x, 1); if (gi == 0) Out.InterlockedAdd(0, 1);",
            ],
            // Under a condition, or in a loop.
            [
                "D[id.x] = 1; ALL RAISE",
                "D[id.x] = 1; if (Count > 3) { ALL } RAISE",
            ],
            [
                "D[id.x] = 1; if (Count > 3) { ALL } RAISE",
                "D[id.x] = 1; if (Count > 4) { ALL } RAISE",
            ],
            [
                "D[id.x] = 1; if (Count > 3) { ALL } RAISE",
                "D[id.x] = 1; if (Count > 3) { GROUP } RAISE",
            ],
            [
                "for (uint i = 0; i < 3; ++i) { D[3 * id.x + i] = i; ALL } RAISE",
                "for (uint i = 0; i < 3; ++i) { if (i < 2) { ALL } D[3 * id.x + i] = i; } RAISE",
            ],
            [
                "D[id.x] = 1; [unroll] for (uint i = 0; i < 2; ++i) { ALL } RAISE",
                "D[id.x] = 1; [unroll] for (uint i = 0; i < 2; ++i) { GROUP } RAISE",
            ],
        ],
    );
}

#[test]
fn more_order_is_no_other() {
    check_with(
        PUBLISHED,
        "equal",
        &[
            ["D[id.x] = 1; RAISE", "D[id.x] = 1; ALL RAISE"],
            ["D[id.x] = 1; GROUP RAISE", "D[id.x] = 1; ALL RAISE"],
            ["D[id.x] = 1; DEVICE RAISE", "D[id.x] = 1; ALL RAISE"],
            ["D[id.x] = 1; DEVICE GROUP RAISE", "D[id.x] = 1; ALL RAISE"],
            ["D[id.x] = 1; ALL ALL ALL RAISE", "D[id.x] = 1; ALL RAISE"],
            ["D[id.x] = 1; FENCE GROUP RAISE", "D[id.x] = 1; ALL RAISE"],
            [
                "D[id.x] = 1; FENCE GROUP GROUP RAISE",
                "D[id.x] = 1; FENCE GROUP RAISE",
            ],
            [
                "D[id.x] = 1; FENCE RAISE",
                "D[id.x] = 1; AllMemoryBarrier(); RAISE",
            ],
            [
                "D[id.x] = 1; if (gi < 9) { FENCE } RAISE",
                "D[id.x] = 1; FENCE RAISE",
            ],
            [
                "D[id.x] = 1; if (Count > 3) { ALL } RAISE",
                "D[id.x] = 1; ALL RAISE",
            ],
            ["D[id.x] = 1; Sync(); RAISE", "D[id.x] = 1; ALL RAISE"],
            [
                "for (uint i = 0; i < 3; ++i) { D[3 * id.x + i] = i; ALL ALL } RAISE",
                "for (uint i = 0; i < 3; ++i) { D[3 * id.x + i] = i; ALL } RAISE",
            ],
            // All before it, or all after it.
            ["D[id.x] = 1; ALL", "D[id.x] = 1;"],
            ["ALL D[id.x] = 1; RAISE", "D[id.x] = 1; RAISE"],
            ["ALL D[id.x] = 1; GROUP RAISE ALL", "D[id.x] = 1; GROUP RAISE"],
        ],
    );
    // Nobody else sees it, and each element is of one thread.
    check_with(
        "",
        "equal",
        &[
            ["Y[id.x] = 1; ALL Y[id.x] = 2;", "Y[id.x] = 1; Y[id.x] = 2;"],
            ["Y[id.x] = 1; ALL Z[id.x] = 2;", "Y[id.x] = 1; Z[id.x] = 2;"],
        ],
    );
}

#[test]
fn a_loop_that_is_not_followed_may_order_something() {
    let fences = "for (uint i = 0; i < Count; ++i) { FENCE }";
    let loops = format!("D[id.x] = 1; {fences} RAISE");
    let outcome = said_with(PUBLISHED, [&loops, &loops]);
    assert_eq!(outcome, "equal");
    let outcome = said_with(
        PUBLISHED,
        [&loops, &loops.replace("FENCE", "GroupMemoryBarrier();")],
    );
    assert!(outcome.starts_with("not proved"), "{outcome}");
}

/// Where something is read, all that was done before and after it has to be.
#[test]
fn what_orders_a_read_is_the_same() {
    let read = "uint t = D[id.x ^ 1]; Flag[gi] = t;";
    for (first, second) in [
        ("FENCE GROUP", "FENCE"),
        ("FENCE GROUP", "GROUP FENCE"),
        ("ALL", "GROUP"),
        ("if (Count > 3) { ALL }", "ALL"),
        ("if (Count > 3) { ALL }", "if (Count > 4) { ALL }"),
        ("GROUP", ""),
    ] {
        let [first, second] = [first, second].map(|order| format!("D[id.x] = 1; {order} {read}"));
        let outcome = said_with(PUBLISHED, [&first, &second]);
        assert!(outcome.starts_with("not proved"), "{first} | {second}: {outcome}");
        assert_eq!(said_with(PUBLISHED, [&first, &first]), "equal", "{first}");
    }
    for (first, second) in [
        ("ALL ALL", "ALL"),
        ("GROUP DEVICE ALL GROUP", "ALL"),
        ("GROUP GROUP", "GROUP"),
    ] {
        let [first, second] = [first, second].map(|order| format!("D[id.x] = 1; {order} {read}"));
        assert_eq!(
            said_with(PUBLISHED, [&first, &second]),
            "equal",
            "{first} | {second}"
        );
    }
}
