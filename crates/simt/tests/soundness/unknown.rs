//! Names of which no file at hand says what they are: macros, types, and templates that are not read.

use shaderlint_simt::Found;

use super::{check_not_equal, check_races, first_entry, kernel, ladder_with, rewritable, shader};

#[test]
fn an_unknown_macro_before_a_statement_is_no_declaration() {
    let sync = "void sync(uint n) { GroupMemoryBarrierWithGroupSync(); }";
    for unknown in [
        "BEGIN GroupMemoryBarrierWithGroupSync();",
        "Begin sync(gi);",
        "SYNC uint n = 3;",
        "SYNC h[0] = 3;",
    ] {
        let body = format!("g[gi] = gi; {unknown} Out[gi] = g[63 - gi];");
        check_races(&format!("groupshared uint h[64]; {sync}"), &body, 0);
    }
    check_races("", "ONLY_FIRST g[0] = gi;", 0);
    // Nor does it hide the array from what follows.
    let hidden = "{ RESET g[gi] = 0; }";
    assert_eq!(
        rewritable("", &ladder_with(hidden, "GroupMemoryBarrierWithGroupSync();")),
        [false; 0]
    );
}

/// It may say that each thread has one of its own, or that all share one: nothing rests on either.
#[test]
fn an_unknown_macro_before_a_variable_may_be_its_storage_class() {
    for behind in [
        "STORAGE uint v = 64;",
        "STORAGE\nuint v = 64;",
        "STORAGE(1)\nOTHER\nuint v = 64;",
    ] {
        check_races(behind, "g[0] = v;", 0);
        check_races(behind, "g[0] = gi + v;", 0);
        check_races(behind, "if (v < gi) g[0] = gi;", 0);
        check_races(behind, "g[0] = gi;", 1);
        for claim in [
            "uint s; InterlockedAdd(Out[v], 1, s); Out[s] = 1;",
            "uint s; v = gi; InterlockedAdd(Out[v], 1, s); Out[s] = 1;",
        ] {
            assert!(
                first_entry(&shader(&kernel(behind, claim))).claims.is_empty(),
                "{behind} {claim}"
            );
        }
        let guarded = "if (v > 3) { GroupMemoryBarrierWithGroupSync(); } Out[dtid.x] = 1;";
        let analysis = first_entry(&shader(&kernel(behind, guarded)));
        assert!(analysis.divergences.is_empty(), "{behind}");
        let by_thread = "if (gi < 32 && v > 3) { GroupMemoryBarrierWithGroupSync(); } Out[dtid.x] = 1;";
        let analysis = first_entry(&shader(&kernel(behind, by_thread)));
        assert!(analysis.divergences.is_empty(), "{behind}");
        check_not_equal(
            [behind; 2],
            ["Out[dtid.x] = v;", "Out[dtid.x] = WaveReadLaneFirst(v);"],
        );
        assert_eq!(
            rewritable(
                behind,
                &ladder_with("", "if (v > 0) GroupMemoryBarrierWithGroupSync();")
            ),
            [false; 0]
        );
    }
    let shared = "STORAGE\nuint h[64];";
    check_races(shared, "h[0] = gi; g[gi] = h[1];", 0);
    check_not_equal(
        [shared; 2],
        [
            "h[gi] = 1; Out[dtid.x] = h[gi];",
            "h[gi] = 2; Out[dtid.x] = h[gi];",
        ],
    );
    let again = "uint n = Src[gi]; for (uint i = 0; i < n; ++i) { h[gi] += i; }";
    check_not_equal(
        [shared; 2],
        [
            &format!("{again} Out[dtid.x] = h[gi];"),
            &format!("{again} {again} Out[dtid.x] = h[gi];"),
        ],
    );
}

#[test]
fn an_unknown_macro_may_let_threads_leave() {
    check_races("", "LEAVE_UNLESS(gi == 0); g[0] = gi;", 0);
    check_races("", "LEAVE_UNLESS_FIRST; g[0] = gi;", 0);
    // All that are at a barrier are still here.
    let sync = "GroupMemoryBarrierWithGroupSync();";
    check_races("", &format!("LEAVE_UNLESS(gi == 0); {sync} g[0] = gi;"), 1);
}

/// A name for a type that only the host's headers know stands for anything.
#[test]
fn what_is_of_an_unknown_type_may_be_anything() {
    let cells = |declared: &str, body: &str| {
        let shader = shader(&kernel(declared, body));
        let claims = first_entry(&shader).claims;
        claims.iter().map(|claim| claim.cells).collect::<Vec<_>>()
    };
    assert_eq!(cells("", "uint b = Src[dtid.x]; InterlockedAdd(Out[b], 1);"), []);
    assert_eq!(
        cells("", "u32 b = Src[dtid.x]; InterlockedAdd(Out[b], 1);"),
        [],
        "a variable"
    );
    assert_eq!(
        cells("", "u32 b = 5; InterlockedAdd(Out[b + 1], 1);"),
        [],
        "an operation on it"
    );
    assert_eq!(
        cells(
            "struct S { u32 bin; }; StructuredBuffer<S> Items;",
            "S one = Items[dtid.x]; InterlockedAdd(Out[one.bin], 1);"
        ),
        [],
        "a member"
    );
    assert_eq!(
        cells(
            "void f(out u32 x) { x = 3; }",
            "uint b = gi; f(b); InterlockedAdd(Out[b], 1);"
        ),
        [],
        "an argument that is written"
    );
    assert_eq!(
        cells("u32 f(uint x) { return x; }", "InterlockedAdd(Out[f(gi)], 1);"),
        [],
        "a result"
    );
    assert_eq!(
        cells("static u32 b;", "b = Src[dtid.x]; InterlockedAdd(Out[b], 1);"),
        [],
        "a static variable"
    );
    // What becomes of the old value is not seen.
    let found = |body: &str| first_entry(&shader(&kernel("", body))).claims[0].found;
    assert_eq!(
        found("uint at; InterlockedAdd(Out[0], 1, at); Out[at] = 4;"),
        Found::Slot
    );
    assert_eq!(
        found("u32 at; InterlockedAdd(Out[0], 1, at); Out[at] = 4;"),
        Found::Otherwise
    );
    // Two values of a loop's variable, and the halves of a vector, are not the same.
    check_races(
        "",
        "g[gi] = gi; GroupMemoryBarrierWithGroupSync(); u32 i = gi; Out[dtid.x] = g[i + 1]; g[gi] = 0;",
        0,
    );
    check_races(
        "struct In { u32 t; };",
        "In s; s.t = gi; g[s.t] = gi; GroupMemoryBarrierWithGroupSync(); Out[dtid.x] = g[63 - s.t];",
        0,
    );
    let differ = "uint3 v = Unknown[dtid.x]; Out[dtid.x] = ";
    check_not_equal(["", ""], [&format!("{differ} v.x;"), &format!("{differ} v.y;")]);
    let twice = |second: &str| format!("u32 i = 0; uint a = 2 * i; i = gi; {second} Out[dtid.x] = a;");
    check_not_equal(["", ""], [&twice(""), &twice("a = 2 * i;")]);
}

/// Before a keyword one by whose name it is an attribute is taken for that, and no other.
#[test]
fn an_unknown_macro_before_a_keyword_is_a_statement() {
    let sync = "GroupMemoryBarrierWithGroupSync();";
    for (unknown, expected) in [
        ("GROUP_SYNC\n", 0),
        ("GROUP_SYNC() ", 0),
        ("SYNC_LOOP(gi) ", 0),
        ("GROUP_BRANCH_BARRIER() ", 0),
        ("IF_BRANCH(n) ", 0),
        ("BRANCH(n) ", 0),
        ("FOR_LOOP(i, 2) ", 0),
        ("MY_LOOP ", 0),
        ("START_BRANCH ", 0),
        ("SMAA_BRANCH\n", 1),
        ("UNITY_FLATTEN ", 1),
    ] {
        check_races(
            "",
            &format!("g[gi] = gi; {unknown}if (gi == 0) Out[0] = g[63];"),
            expected,
        );
    }
    let outside = |body: &str| first_entry(&shader(&kernel("", body))).out_of_bounds.len();
    assert_eq!(
        outside("uint n = 64; ADJUST_N while (n == 64) { g[gi + n] = 1; n = 0; }"),
        0
    );
    assert_eq!(
        outside("uint n = 64; MY_LOOP while (n == 64) { g[gi + n] = 1; n = 0; }"),
        1
    );
    assert_eq!(
        outside("uint n = 64; LOOP_CLAMP(n) for (uint i = 0; i < 2; ++i) g[gi + n] = 1;"),
        0
    );
    assert_eq!(
        outside("uint n = 64; UNROLL_N(2) for (uint i = 0; i < 2; ++i) g[gi + n] = 1;"),
        1
    );
    assert_eq!(
        outside("if (gi > 70) g[0] = 1; ELSEIF_IN_RANGE else g[gi + 64] = 1;"),
        0
    );
    assert_eq!(
        outside("if (gi > 70) g[0] = 1; else BRANCH if (gi < 70) g[gi + 64] = 1;"),
        1
    );
    // A call behind it is no declaration.
    for unknown in ["GROUP_SYNC\n", "group_sync "] {
        check_races(
            "",
            &format!("g[gi] = 0; {unknown}InterlockedAdd(g[gi ^ 1], 1);"),
            0,
        );
    }
    assert_eq!(outside("EARLY_OUT InterlockedAdd(g[200], 1);"), 0);
    let halves = |unknown: &str| {
        format!(
            "g[gi] = Src[dtid.x]; {sync} for (uint s = 32; s > 0; s >>= 1) {{
             {unknown} if (gi < s) g[gi] += g[gi + s]; {sync} }} if (gi == 0) Out[gid.x] = g[0];"
        )
    };
    assert_eq!(rewritable("", &halves("BRANCH")), [true]);
    assert_eq!(rewritable("", &halves("HALVE_AGAIN")), [false; 0]);
    let after = halves("").replace("if (gi == 0)", "UNKNOWN if (gi == 0)");
    // The ladder is one, and what comes of its result is not known: no form is proved.
    assert_eq!(rewritable("", &after), [true]);
    let after = shader(&kernel("", &after));
    let (entry, _) = after.entry_points().next().expect("a kernel");
    let known = shaderlint_simt::proved_of_itself(shaderlint_simt::Floats::Any, (&after, entry));
    assert_eq!(known, Err("what `UNKNOWN` stands for is not known".to_owned()));
}

/// A template among a struct's members may be what a call means, beside or instead of a function of its name.
#[test]
fn a_template_among_members_may_be_called() {
    let sync = "GroupMemoryBarrierWithGroupSync();";
    let outside = |globals: &str, index: &str| {
        let body = format!("S s; g[gi + {index}] = 1;");
        first_entry(&shader(&kernel(globals, &body))).out_of_bounds.len()
    };
    let own = "uint F(uint x) { return 64; }";
    let template = "template<typename T> uint F(T x) { return 0; }";
    let inside = "uint G() { return F(1.0f); }";
    assert_eq!(outside(&format!("struct S {{ {own} uint a; }};"), "s.F(1.0f)"), 1);
    assert_eq!(
        outside(&format!("struct S {{ {own} {template} uint a; }};"), "s.F(1.0f)"),
        0
    );
    assert_eq!(
        outside(
            &format!("struct B {{ {own} uint a; }}; struct S : B {{ {template} }};"),
            "s.F(1.0f)"
        ),
        0,
        "that of a derived struct hides it"
    );
    assert_eq!(
        outside(&format!("{own} struct S {{ uint a; {inside} }};"), "s.G()"),
        1
    );
    assert_eq!(
        outside(
            &format!("{own} struct S {{ uint a; {inside} {template} }};"),
            "s.G()"
        ),
        0,
        "it hides a function"
    );
    let operator = "uint operator+(uint x) { return 64; }";
    let of_any = "template<typename T> uint operator + (T x) { return 0; }";
    assert_eq!(
        outside(&format!("struct S {{ uint a; {operator} }};"), "(s + 1.0f)"),
        1
    );
    assert_eq!(
        outside(
            &format!("struct S {{ uint a; {operator} {of_any} }};"),
            "(s + 1.0f)"
        ),
        0
    );
    let meet = "struct S { uint a; void Sync(uint x) {} TEMPLATE };";
    let body = "S s; g[gi] = 1; s.Sync(0.5); Out[gi] = g[63 - gi];";
    check_races(&meet.replace("TEMPLATE", ""), body, 1);
    let other = format!("template<typename T> void Sync(T x) {{ {sync} }}");
    check_races(&meet.replace("TEMPLATE", &other), body, 0);
    let returns = |what: u32| {
        format!("struct S {{ uint a; {own} template<typename T> uint F(T x) {{ return {what}; }} }};")
    };
    check_not_equal([&returns(2), &returns(3)], ["S s; Out[dtid.x] = s.F(0.5f);"; 2]);
}

/// Some compilers end a loop after the passes that `[unroll(n)]` names, and others do not.
#[test]
fn a_loop_that_is_unrolled_in_part_may_end_there() {
    let sync = "GroupMemoryBarrierWithGroupSync();";
    let sum = |before: &str| {
        format!(
            "g[gi] = Src[dtid.x]; {sync} {before} for (uint s = 32; s > 0; s >>= 1) {{
             if (gi < s) g[gi] += g[gi + s]; {sync} }} if (gi == 0) Out[gid.x] = g[0];"
        )
    };
    for (before, expected) in [
        ("[unroll(6)]", &[true][..]),
        ("[unroll(64)]", &[true]),
        ("[unroll]", &[true]),
        ("UNROLL_N(6)", &[true]),
        ("[unroll(5)]", &[]),
        ("UNROLL(5)", &[]),
        ("UNROLL_6", &[true]),
        ("UNROLL_5", &[]),
        ("[[unroll(5)]]", &[]),
        ("[unroll(PASSES)]", &[]),
    ] {
        assert_eq!(rewritable("", &sum(before)), expected, "{before}");
    }
    let outside = |body: &str| first_entry(&shader(&kernel("", body))).out_of_bounds.len();
    let body = |n: u32| format!("[unroll({n})] for (uint i = 0; i < 4; ++i) g[i * 16 + gi] = 1;");
    assert_eq!(outside(&body(1)), 0);
    assert_eq!(outside(&body(2)), 1, "in the second pass");
    let body = |n: u32| format!("uint i = 0; [unroll({n})] while (i < 2) {{ g[i * 16 + gi] = 1; ++i; }}");
    assert_eq!(outside(&body(1)), 0);
    assert_eq!(outside(&body(2)), 1);
    let body = |n: u32| format!("uint i = 0; [unroll({n})] do {{ g[i * 16 + gi] = 1; ++i; }} while (i < 2);");
    assert_eq!(outside(&body(1)), 0);
    assert_eq!(outside(&body(2)), 1);
    let counted =
        |n: u32| format!("uint n = 0; [unroll({n})] for (uint i = 0; i < Src[gi]; ++i) n += i; Out[gi] = n;");
    check_not_equal([""; 2], [&counted(3), &counted(4)]);
}

/// As of functions that are run like kernels.
#[test]
fn inputs_without_a_semantic_may_differ() {
    let races = |parameters: &str, index: &str| {
        let kernel = kernel("struct S { uint a; uint b; };", &format!("g[{index}] = gi;"));
        let kernel = kernel.replace("void main(", &format!("void main({parameters}, "));
        first_entry(&shader(&kernel)).races.len()
    };
    assert_eq!(races("uint a", "a ^ a"), 1);
    for (parameters, index) in [
        ("uint a, uint b", "a ^ b"),
        ("uint a, uint A", "a ^ A"),
        ("S s", "s.a ^ s.b"),
    ] {
        assert_eq!(races(parameters, index), 0, "{parameters}");
    }
}

/// A store to what no file declares is no end of the run: what is named like a variable is some buffer.
#[test]
fn a_store_to_an_undeclared_variable_is_one_to_some_buffer() {
    let race = "g[gi] = gi; Out[gi] = g[63 - gi];";
    for store in [
        "image[gi] = 1;",
        "image[uint2(gi, 0)].xyz = 1.5;",
        "images.first[gi] += gi;",
    ] {
        check_races("", &format!("{store} {race}"), 1);
        check_races("", &format!("{race} {store}"), 1);
        // It may be a macro that waits, or one that writes to what is read.
        check_races("", &format!("g[gi] = gi; {store} Out[gi] = g[63 - gi];"), 0);
        let analysis = first_entry(&shader(&kernel("", &format!("{store} Out[gi] = g[gi];"))));
        assert!(analysis.uninitialised.is_empty(), "{store}");
    }
    // What is named like a macro may let threads leave, and what a call gives may be anything.
    for store in ["IMAGE[gi] = 1;", "image(gi) = 1;"] {
        check_races("", &format!("{store} {race}"), 0);
    }
    for bodies in [
        ["image[gi] = 1;", "image[gi + 1] = 1;"],
        ["image[gi] = 1;", "image[gi] = 2;"],
        ["image[gi] = 1;", "image[gi] = 1u;"],
        ["image[gi] = 1;", "image[gi] += 1;"],
        ["image[gi] = 1;", "image[gi].x = 1;"],
        ["image[gi] = 1;", ""],
        ["image[0] = gi;", "if (gi == 0) image[0] = gi;"],
        ["image[gi] = 1; Out[gi] = 1;", "Out[gi] = 1; image[gi] = 1;"],
        ["image[gi] = 1; other[gi] = 1;", "other[gi] = 1; image[gi] = 1;"],
        [
            "image[gi] = 1; uint v = image[gi]; Out[gi] = v - v;",
            "image[gi] = 1; Out[gi] = image[gi] - image[gi];",
        ],
        [
            "uint v = image[gi]; image[gi] = 1; Out[gi] = v;",
            "image[gi] = 1; Out[gi] = image[gi];",
        ],
        [
            "uint v = image[gi ^ 1]; Out[gi] = v - v; image[gi] = 1;",
            "Out[gi] = image[gi ^ 1] - image[gi ^ 1]; image[gi] = 1;",
        ],
    ] {
        check_not_equal(["", ""], bodies);
    }
}
