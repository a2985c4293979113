//! What belongs to the least or greatest of several elements.

use super::{kernel, runs_of, words};

const BEFORE: &str = "struct Best { uint key; uint index; uint2 more[2]; };
groupshared Best b[64]; groupshared uint least; groupshared uint first; groupshared uint other[8];";

const LOAD: &str = "b[gi].key = KEY; b[gi].index = X[id.x + 64]; b[gi].more[1].y = X[gi]; B ";

const LADDER: &str = "for (uint i = 32; i > 0; i >>= 1) {
    if (gi < i && b[gi].key > b[gi + i].key) { b[gi].key = b[gi + i].key; b[gi].index = b[gi + i].index; } B }";

const BY_WAVES: &str = "if (gi == 0) { least = 0xffffffff; first = 0xffffffff; } B
    uint m = WaveActiveMin(b[gi].key);
    if (WaveIsFirstLane()) InterlockedMin(least, m); B
    m = WaveActiveMin(b[gi].key == least ? reversebits(gi) : 0xffffffff);
    if (WaveIsFirstLane()) InterlockedMin(first, m); B
    uint w = reversebits(first); if (gi == 0) { b[0].key = b[w].key; b[0].index = b[w].index; } B";

const LEFT: &str = "if (gi == 0) { Y[g.x] = b[0].key; Z[g.x] = b[0].index; }";

fn said_of(key: &str, [ladder, waves]: [&str; 2]) -> String {
    let [first, second] = [ladder, waves].map(|statements| {
        let body = format!("{} {statements} {LEFT}", LOAD.replace("KEY", key));
        kernel(
            "",
            BEFORE,
            &body
                .replace("B ", "GroupMemoryBarrierWithGroupSync(); ")
                .replace("B\n", "GroupMemoryBarrierWithGroupSync();\n"),
        )
    });
    words(&runs_of([&first, &second]))
}

#[test]
fn a_ladder_that_carries_an_index_is_two_reductions() {
    for key in [
        "X[id.x]",
        "X[id.x] + X[gi]",
        "min(X[id.x], 7)",
        "X[g.x]",
        "gi < 40 ? X[id.x] : 0xffffffff",
    ] {
        assert_eq!(said_of(key, [LADDER, BY_WAVES]), "equal", "{key}");
    }
    // The greatest, and the first of equal neighbours.
    let [greatest, by_waves] = [LADDER, BY_WAVES].map(|text| {
        text.replace("].key > ", "].key < ")
            .replace("least = 0xffffffff", "least = 0")
            .replace("WaveActiveMin(b[gi].key);", "WaveActiveMax(b[gi].key);")
            .replace("InterlockedMin(least", "InterlockedMax(least")
    });
    assert_eq!(said_of("X[id.x]", [&greatest, &by_waves]), "equal");
    let neighbours = "for (uint i = 1; i < 64; i <<= 1) {
        if (gi % (2 * i) == 0 && b[gi].key > b[gi + i].key) { b[gi].key = b[gi + i].key; b[gi].index = b[gi + i].index; } B }";
    let in_order = BY_WAVES
        .replace("reversebits(gi)", "gi")
        .replace("reversebits(first)", "first");
    assert_eq!(said_of("X[id.x]", [neighbours, &in_order]), "equal");
    // The later of equal ones is that with the least rank if ranks go down.
    let later = neighbours.replace("].key > ", "].key >= ");
    let from_last = in_order
        .replace("? gi :", "? 63 - gi :")
        .replace("w = first", "w = 63 - first");
    assert_eq!(said_of("X[id.x]", [&later, &from_last]), "equal");
}

#[test]
fn another_choice_is_not_proved() {
    let swapped = LADDER.replace("].key > ", "].key >= ");
    let ranked = |old: &str, new: &str| {
        assert!(BY_WAVES.contains(old), "{old}");
        BY_WAVES.replace(old, new)
    };
    let wrong = [
        // Another one of equal elements.
        ranked("reversebits(gi)", "gi").replace("reversebits(first)", "first"),
        ranked("reversebits(gi)", "63 - gi").replace("reversebits(first)", "63 - first"),
        // Another element.
        ranked("= reversebits(first)", "= reversebits(first) ^ 1"),
        ranked("= reversebits(first)", "= reversebits(first) + 1"),
        ranked("= reversebits(first)", "= first"),
        ranked("b[0].index = b[w].index", "b[0].index = b[w].more[1].y"),
        // Two have one rank, or that of none.
        ranked("reversebits(gi)", "reversebits(gi & 31)"),
        ranked("reversebits(gi) :", "~gi :").replace("reversebits(first)", "~first"),
        ranked(
            "0xffffffff);\n    if (WaveIsFirstLane()) InterlockedMin(first",
            "5);\n    if (WaveIsFirstLane()) InterlockedMin(first",
        ),
        // What is compared is no minimum of all, or nothing that is in it.
        ranked(
            "m = WaveActiveMin(b[gi].key);",
            "m = WaveActiveMin(gi < 32 ? b[gi].key : 7);",
        ),
        ranked("b[gi].key == least", "b[gi].index == least"),
        ranked("b[gi].key == least", "b[gi].key + 1 == least"),
        ranked("b[gi].key == least", "b[gi].key != least"),
        ranked("b[gi].key == least", "b[gi].key <= least + 1"),
        // Not all take part.
        ranked(
            "m = WaveActiveMin(b[gi].key == least",
            "m = WaveActiveMin(gi > 0 && b[gi].key == least",
        ),
        ranked("InterlockedMin(first, m);", "InterlockedMax(first, m);"),
        // Others write meanwhile.
        ranked("if (gi == 0) { b[0]", "b[gi].index = gi; if (gi == 0) { b[0]"),
        ranked(
            "if (gi == 0) { b[0]",
            "if (gi == 1) b[5].index = gi; if (gi == 0) { b[0]",
        ),
        // It is no element of the array.
        ranked("b[0].index = b[w].index", "b[0].index = other[w]"),
        ranked("b[0].index = b[w].index", "b[0].index = b[0].more[w].y"),
    ];
    for waves in &wrong {
        let said = said_of("X[id.x]", [LADDER, waves]);
        assert!(!said.contains("equal"), "{waves}: {said}");
    }
    let said = said_of("X[id.x]", [&swapped, BY_WAVES]);
    assert!(!said.contains("equal"), "{said}");
    // Of floats none may be equal to the least.
    let [ladder, waves] = [LADDER, BY_WAVES].map(|text| {
        text.replace("b[gi].key", "asfloat(b[gi].key)")
            .replace("asfloat(b[gi].key) = ", "b[gi].key = ")
            .replace("> b[gi + i].key", "> asfloat(b[gi + i].key)")
            .replace("uint m =", "float f =")
            .replace("least, m", "least, asuint(f)")
            .replace("== least", "== asfloat(least)")
    });
    let said = said_of("X[id.x]", [&ladder, &waves]);
    assert!(!said.contains("equal"), "{said}");
    // Keys that are made in another order are not the same bits.
    let keys = "asuint(F[gi] + F[gi + 64] + F[gi + 128])";
    let other = BY_WAVES.replace(
        "uint m = WaveActiveMin(b[gi].key)",
        "uint m = WaveActiveMin(asuint(F[gi] + (F[gi + 64] + F[gi + 128])))",
    );
    assert_ne!(other, BY_WAVES);
    let said = said_of(keys, [LADDER, &other]);
    assert!(said.starts_with("not proved"), "{said}");
}
