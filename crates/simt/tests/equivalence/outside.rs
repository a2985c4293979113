//! What lies beyond the end of every resource is read as 0 and not written, so that differences there are none.

use super::said_behind;

const TEXTURES: &str = "Texture2D<uint> T; RWTexture2D<uint> U; Texture3D<int> V;";

fn said(bodies: [&str; 2]) -> String {
    said_behind(TEXTURES, bodies)
}

const UNSEEN: &str = "not proved: the two write different terms that were not seen to differ";

#[test]
fn a_read_outside_is_no_difference() {
    for [guarded, plain] in [
        ["Y[id.x] = id.x == 0 ? 0 : X[id.x - 1];", "Y[id.x] = X[id.x - 1];"],
        ["Y[id.x] = 0;", "Y[id.x] = X[id.x + 0x80000000u];"],
        ["Z[id.x] = 0;", "Z[id.x] = Y[gi - 64];"],
        [
            "Out.Store(4 * id.x, 0);",
            "Out.Store(4 * id.x, In.Load(4 * (gi - 64)));",
        ],
        ["Y[id.x] = 0;", "Y[id.x] = T[uint2(100000, id.x)];"],
        ["Y[id.x] = 0;", "Y[id.x] = T[uint2(id.x, 16384)];"],
        ["Y[id.x] = 0;", "Y[id.x] = V[int3(id.xy, -1)];"],
        [
            "int2 at = int2(id.xy) - 1; uint x = 0; if (at.x >= 0 && at.y >= 0) x = T[at]; Y[gi] = x;",
            "Y[gi] = T.Load(int3(int2(id.xy) - 1, 0));",
        ],
        // What is made of it, and what it decides.
        ["Y[id.x] = 1;", "Y[id.x] = X[gi - 64] + 1;"],
        ["Y[id.x] = 1;", "if (X[gi - 64] == 0) Y[id.x] = 1;"],
        // Neither is what the other reads.
        ["Y[id.x] = X[gi - 64];", "Y[id.x] = X[gi - 65];"],
    ] {
        assert_eq!(said([guarded, plain]), UNSEEN, "{guarded} {plain}");
        assert_eq!(said([plain, guarded]), UNSEEN, "{plain} {guarded}");
    }
}

#[test]
fn a_write_outside_is_no_difference() {
    for [guarded, plain] in [
        ["if (id.x > 0) Y[id.x - 1] = 5;", "Y[id.x - 1] = 5;"],
        [
            "if (id.x > 0) U[id.xy - uint2(1, 0)] = 5;",
            "U[id.xy - uint2(1, 0)] = 5;",
        ],
        [
            "Y[id.x] = 1;",
            "Y[id.x] = 1; U[uint2(gi, 20000 + 1000 * g.x)] = 5;",
        ],
        [
            "Y[id.x] = 1;",
            "Y[id.x] = 1; if (g.x == 0) U[uint2(gi, 20000)] = 5;",
        ],
    ] {
        assert_eq!(said([guarded, plain]), UNSEEN, "{guarded} {plain}");
    }
}

/// Only what is outside is nothing: a guard before it, the other threads, and what is in a resource that is large enough.
#[test]
fn what_is_inside_still_differs() {
    for (first, second, place) in [
        (
            "Y[id.x] = id.x == 0 ? 7 : X[id.x - 1];",
            "Y[id.x] = id.x == 0 ? 8 : X[id.x - 1];",
            "Y[0]",
        ),
        (
            "if (id.x > 0 && X[id.x - 1] != 1) Y[id.x] = 2;",
            "if (id.x > 0 && X[id.x - 1] != 1) Y[id.x] = 2; else if (id.x == 0) Y[0] = 3;",
            "Y[0]",
        ),
        (
            "if (id.x == 0 || X[id.x - 1] != 1) Y[id.x] = 2;",
            "if (id.x == 0 || X[id.x - 1] != 1) Y[id.x] = 3;",
            "Y[0]",
        ),
        ("Y[id.x] = X[id.x - 1];", "Y[id.x] = X[id.x - 2];", "Y[2]"),
        ("Y[id.x] = 0;", "Y[id.x] = X[id.x + 1000000];", "Y[0]"),
        ("Y[id.x] = 0;", "Y[id.x] = T[uint2(16383, id.x)];", "Y[0]"),
    ] {
        let said = said([first, second]);
        assert!(
            said.starts_with(&format!("{place}: ")),
            "{said}: {first} {second}"
        );
    }
}
