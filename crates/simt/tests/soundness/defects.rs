//! Kernels that once were said to have a defect, and similar ones that have one.

use super::{check_races, compared, first_entry, kernel, shader};

#[test]
fn a_race_under_a_condition_is_one_where_the_condition_can_hold() {
    let condition = |body: &str| {
        let shader = shader(&kernel("groupshared uint n; cbuffer C { uint width; };", body));
        let races = first_entry(&shader).races;
        let text =
            |place: shaderlint_hlsl::Span| String::from_utf8_lossy(place.slice(&shader.text)).into_owned();
        races
            .iter()
            .map(|race| race.condition.map(|under| (text(under.condition), under.thread)))
            .collect::<Vec<_>>()
    };
    let known = |text: &str, thread: u32| vec![Some((text.to_owned(), thread))];
    let clear = "if (gi == 0) n = 0;";
    assert_eq!(
        condition(&format!("{clear} if (Src[dtid.x] > 5) InterlockedAdd(n, 1);")),
        known("Src[dtid.x] > 5", 1)
    );
    assert_eq!(
        condition("g[gi] = gi; if (width > 5) Out[dtid.x] = g[63 - gi];"),
        known("width > 5", 0)
    );
    assert_eq!(
        condition(
            "if (Src[dtid.x] > 5) InterlockedAdd(n, 1); GroupMemoryBarrier(); if (gi == 0) Out[0] = n;"
        ),
        known("Src[dtid.x] > 5", 1)
    );
    // No input meets it, none was seen to, or it is not understood.
    assert_eq!(
        condition(&format!(
            "{clear} if (gi > 63 + (Src[dtid.x] & 0)) InterlockedAdd(n, 1);"
        )),
        []
    );
    assert_eq!(
        condition(&format!(
            "{clear} if (Src[dtid.x] == 12345) InterlockedAdd(n, 1);"
        )),
        []
    );
    assert_eq!(
        condition(&format!("{clear} if (unheard(dtid.x)) InterlockedAdd(n, 1);")),
        []
    );
    // Which of two conditions hold together only the host knows.
    assert_eq!(
        condition("if (Src[0] > 5 && gi == 0) n = 0; if (Src[1] > 5) InterlockedAdd(n, 1);"),
        []
    );
    assert_eq!(
        condition(&format!(
            "{clear} GroupMemoryBarrierWithGroupSync(); if (width > 5) InterlockedAdd(n, 1);"
        )),
        []
    );
}

#[test]
fn a_race_within_bounds_of_the_host_is_one() {
    let given = |body: &str| {
        let globals =
            "groupshared uint n; cbuffer C { uint Count; float2 Size; bool A; bool B; uint Leader; };";
        let shader = shader(&kernel(globals, body));
        let races = first_entry(&shader).races;
        let given = races.iter().map(|race| {
            let given = race.given.iter();
            let given = given.map(|instance| format!("{} = {}", instance.bound, instance.value));
            (race.index, given.collect::<Vec<_>>().join(", "))
        });
        given.collect::<Vec<_>>()
    };
    let at = |index: u32, text: &str| vec![(index, text.to_owned())];
    let fill = "g[gi] = Src[dtid.x]; GroupMemoryBarrierWithGroupSync();";
    let bound = |condition: &str| format!("{fill} if ({condition}) g[gi] += g[gi ^ 1]; Out[dtid.x] = g[gi];");
    let in_first = "SV_GroupID = 0, Count = 64";
    assert_eq!(
        given(&format!(
            "{fill} if (gi < 32 && dtid.x + 1 < Count) g[gi] += g[gi + 1]; Out[0] = n;"
        )),
        at(1, in_first)
    );
    assert_eq!(given(&bound("dtid.x < Count"))[0], (0, in_first.to_owned()));
    assert_eq!(given(&bound("gi < Count"))[0], (0, "Count = 64".to_owned()));
    assert_eq!(
        given(&bound("dtid.x + 0.5 < Size.x"))[0],
        (0, "SV_GroupID = 0, Size.x = 64".to_owned())
    );
    // What only one of them depends on besides holds for some inputs.
    assert_eq!(
        given(
            "if (gi == 0 && dtid.x < Count) n = 0; if (dtid.x < Count && Src[dtid.x] > 5) InterlockedAdd(n, 1);"
        ),
        at(0, in_first)
    );
    assert_eq!(
        given(
            "if (gi == 0 && dtid.x < Count) n = 0; if (dtid.x < Count && Src[gi] > 7) InterlockedAdd(n, 1);"
        ),
        at(0, in_first)
    );
    // Of these the host may let hold one at a time, or none for so many threads.
    for body in [
        "if (A && gi == 0) n = 0; if (B) InterlockedAdd(n, 1);",
        "if (Count) g[gi] = Src[gi]; if (Leader) Out[gi] = g[gi ^ 1];",
        "if (Count > 0 && gi == 0) n = 0; if (Leader > 0 && Src[0] > 5) InterlockedAdd(n, 1);",
        "if (gi == Leader) n = 0; if (gi + 1 == Leader) InterlockedAdd(n, 1);",
        "if (dtid.x < Count && gi == 0) n = 0; if (dtid.x >= Count) InterlockedAdd(n, 1);",
        "if (Src[0] > 5 && gi == 0) n = 0; if (dtid.x < Count && Src[1] > 5) InterlockedAdd(n, 1);",
        "if (dtid.x < Count && gi == 0) n = 0; if (dtid.x >= Count && Src[1] > 5) InterlockedAdd(n, 1);",
    ] {
        assert_eq!(given(body), [], "{body}");
    }
}

/// All write one value, and each reads after it wrote.
#[test]
fn one_value_is_written_under_a_bound_too() {
    let globals = "cbuffer C { uint Count; uint U; };";
    check_races(
        globals,
        "if (dtid.x >= Count) return; g[0] = U; Out[gi] = g[0];",
        0,
    );
    check_races(globals, "if (dtid.x < Count) { g[0] = U; Out[gi] = g[0]; }", 0);
    check_races(globals, "if (dtid.x < Count) { g[0] = gi; Out[gi] = g[0]; }", 1);
    // An atomic beside a write that leaves what was there.
    let clear = "g[gi] = 0; GroupMemoryBarrierWithGroupSync();";
    check_races(
        globals,
        &format!(
            "{clear} if (gi == 0) {{ if (U == 5) g[0] = 0; if (U == 6) InterlockedAdd(g[0], 1); }}
             if (gi == 1 && U == 6) InterlockedAdd(g[0], 1);"
        ),
        0,
    );
}

/// Who counts groupshared elements by `SV_DispatchThreadID` means one group.
#[test]
fn a_race_of_the_first_group_is_one() {
    let given = |body: &str| {
        let shader = shader(&kernel("", body));
        let races = first_entry(&shader).races;
        let said =
            |race: &shaderlint_simt::Race| (race.index, race.given[0].bound.clone(), race.given[0].value);
        races.iter().map(said).collect::<Vec<_>>()
    };
    let ladder = |wait: &str| {
        format!(
            "uint sum = Src[dtid.x]; g[dtid.x] = sum; for (uint s = 1; s < 64; s <<= 1) {{
             GroupMemoryBarrierWithGroupSync(); if (dtid.x >= s) sum += g[dtid.x - s]; {wait} g[dtid.x] = sum; }}
             Out[dtid.x] = sum;"
        )
    };
    assert_eq!(given(&ladder("")), [(1, "SV_GroupID".to_owned(), 0)]);
    assert_eq!(given(&ladder("GroupMemoryBarrierWithGroupSync();")), []);
}

/// What is certain is one access of a thread, the other may never happen.
#[test]
fn of_two_accesses_of_a_thread_each_has_its_condition() {
    let globals = "cbuffer C { uint U; };";
    let never = "if (U * U == 3) g[0] = 5;";
    check_races(
        globals,
        &format!("if (gi == 0) {{ g[0] = 0; {never} }} if (gi == 1) Out[0] = g[0];"),
        1,
    );
    let clear = "g[gi] = 0; GroupMemoryBarrierWithGroupSync();";
    check_races(
        globals,
        &format!("{clear} if (gi == 0) {{ g[0] = 0; {never} }} if (gi == 1) Out[0] = g[0];"),
        0,
    );
    check_races(
        globals,
        &format!(
            "{clear} if (gi == 0) {{ InterlockedAdd(g[0], 1); {never} }} if (gi == 1) InterlockedAdd(g[0], 1);"
        ),
        0,
    );
    check_races(
        globals,
        &format!("{clear} if (gi == 0) {{ {never} g[0] = 7; }} if (gi == 1) Out[0] = g[0];"),
        1,
    );
}

#[test]
fn a_bool_is_true_or_false() {
    let globals =
        "cbuffer C { bool B; bool3 Many; }; StructuredBuffer<bool> Flags; struct S { uint n; bool is; };
                   StructuredBuffer<S> Some; ByteAddressBuffer Bytes;";
    for flag in ["B", "Many.y", "Flags[3]", "Some[1].is", "Bytes.Load<bool>(4)"] {
        let divergent = |condition: &str| {
            let body = format!("if ({condition} && gi < 5) return; GroupMemoryBarrierWithGroupSync();");
            let analysis = first_entry(&shader(&kernel(globals, &body)));
            analysis.divergences.len()
        };
        assert_eq!(divergent(&format!("(uint){flag} > 1")), 0, "{flag}");
        assert_eq!(divergent(&format!("{flag} && {flag} != true")), 0, "{flag}");
        check_races(
            globals,
            &format!(
                "for (uint i = 0; i < (uint){flag}; i++) {{ g[gi] = i; GroupMemoryBarrierWithGroupSync(); Out[dtid.x] = g[gi ^ 1]; }}"
            ),
            0,
        );
    }
    let body = "if ((uint)B == 1 && gi < 5) return; GroupMemoryBarrierWithGroupSync();";
    assert_eq!(first_entry(&shader(&kernel(globals, body))).divergences.len(), 1);
}

#[test]
fn a_texel_is_the_same_however_it_is_read() {
    let globals = "Texture2D<uint> Map; groupshared uint last;";
    check_races(globals, "last = Map.Load(int3(dtid.xy, 0)); Out[0] = last;", 2);
    check_races(globals, "last = Map[dtid.xy]; Out[0] = last;", 2);
    // As many numbers as there are dimensions.
    let more = format!("{globals} Texture3D<uint> Deep; static StructuredBuffer<uint> same = Src;");
    for (one, other) in [
        ("Map[uint3(0, 0, 5)]", "Map[uint2(0, 0)]"),
        ("Map[1]", "Map[uint2(1, 1)]"),
        ("Src[uint2(1, 2)]", "Src[1]"),
        ("same[3]", "Src[3]"),
    ] {
        check_races(
            &more,
            &format!("if (gi > 1) return; last = gi == 0 ? {one} : {other};"),
            0,
        );
    }
    check_races(
        &more,
        "if (gi > 1) return; last = gi == 0 ? Deep[uint3(0, 0, 5)] : Deep[uint3(0, 0, 0)];",
        1,
    );
    // One value is written by all.
    check_races(globals, "last = Map.Load(int3(gid.xy, 0));", 0);
    check_races(
        globals,
        "if (gi > 1) return; last = gi == 0 ? Map[gid.xy] : Map.Load(uint3(gid.xy, 0));",
        0,
    );
}

/// HLSL does not say which side of an assignment comes first, nor which argument of a call, nor what a variable is that a call
/// changes by two names. Each body beside what it leaves if the first one does, and if the last one does (DXC 1.8).
#[test]
fn no_order_is_made_up() {
    let globals =
        "static uint st = 1; uint next(inout uint n) { return ++n; } uint set() { st = 3; return 1; }
                   uint read() { return st; } uint two(uint a, uint b) { return 100 * a + b; }
                   void swap(inout uint a, inout uint b) { a = b + 5; b = a + 7; }
                   struct M { uint v; uint f(uint a, uint b) { return v * 10000 + two(a, b); }
                              void both(inout uint a) { v = 4; a += v; } };";
    let is_open = |body: &str, meanings: [&str; 2]| {
        let made = format!("uint n = 1; uint a[4] = {{ 0, 1, 2, 3 }}; {body}");
        for meaning in meanings {
            let store = format!("Out[gi] = {meaning};");
            let (equal, differ) = compared([globals, globals], [&made, &store]);
            assert!(!equal && !differ, "{body} is {meaning}");
        }
        // Whatever it is, it is that.
        assert!(compared([globals, globals], [&made, &made]).0, "{body}");
    };
    is_open("a[n] = n = 3; Out[gi] = a[1];", ["3", "1"]);
    is_open("a[n++] = n; Out[gi] = a[1];", ["2", "1"]);
    is_open("a[n] = next(n); Out[gi] = a[1];", ["2", "1"]);
    is_open("a[st] = set() + 8; Out[gi] = a[1];", ["9", "1"]);
    is_open("a[0] += a[0] = 3; Out[gi] = a[0];", ["3", "6"]);
    is_open("Out[gi] = two(n++, n);", ["102", "101"]);
    is_open("Out[gi] = two(next(n), next(n));", ["203", "302"]);
    is_open("Out[gi] = two(set(), read());", ["103", "101"]);
    is_open("Out[gi] = mad(n++, n++, n++);", ["5", "7"]);
    is_open(
        "next(a[n++]); Out[gi] = a[1] * 100 + a[2] * 10 + n;",
        ["222", "123"],
    );
    is_open("next(a[set()]); Out[gi] = a[1] * st;", ["6", "6"]);
    is_open("swap(n, n); Out[gi] = n;", ["8", "13"]);
    is_open("swap(a[1], a[1]); Out[gi] = a[1];", ["8", "13"]);
    is_open("M m; m.v = 3; Out[gi] = m.f(m.v++, m.v);", ["30304", "40303"]);
    is_open("M m; m.v = 1; m.both(m.v); Out[gi] = m.v;", ["5", "8"]);
    let is = |body: &str, meaning: &str| {
        let made = format!("uint n = 1; uint a[4] = {{ 0, 1, 2, 3 }}; {body}");
        let store = format!("Out[gi] = {meaning};");
        assert!(
            compared([globals, globals], [&made, &store]).0,
            "{body} is {meaning}"
        );
    };
    is("a[n++] = gi; Out[gi] = a[1] + n;", "gi + 2");
    is("a[two(0, n)] = two(0, n) + 4; Out[gi] = a[1];", "5");
    is("next(a[two(0, n)]); Out[gi] = a[1];", "2");
    is("n = n++ + 1; Out[gi] = n;", "2");
    is("n += n++; Out[gi] = n;", "3");
    is("n = a[n++]; Out[gi] = n;", "1");
    is("Out[gi] = n++ * 100 + n;", "102");
    is("Out[gi] = n * 100 + next(n);", "102");
    is("uint2 v = uint2(n++, n); Out[gi] = two(v.x, v.y);", "102");
    is("swap(a[1], a[2]); Out[gi] = two(a[1], a[2]);", "714");
    is(
        "uint2 v = uint2(1, 2); swap(v.x, v.y); Out[gi] = two(v.x, v.y);",
        "714",
    );
    is("M m; m.v = 3; Out[gi] = m.f(1, m.v);", "30103");
    // Two parts of one.
    is("a[0] = a[1] = 3; Out[gi] = a[0] + a[1];", "6");
    is("uint2 v = gi; v.x = v.y = n; Out[gi] = v.x + v.y;", "2");
}

#[test]
fn floats_are_computed_as_they_are_read() {
    let globals =
        "cbuffer C { float F; float2 P; }; StructuredBuffer<float> Floats; groupshared float f[64];";
    let clear = "g[gi] = 0; f[gi] = 0; GroupMemoryBarrierWithGroupSync();";
    // None of these ever holds.
    for condition in [
        "F > 0 && F * 0.5 > F",
        "F * 0.5 != F / 2",
        "F > 0 && F + 1 < F",
        "P.x > 0 && P.y > 0 && P.x + P.y < P.x",
        "F > 100 && F * 1.5 < 100",
        "P.x * P.x + P.y * P.y < 4 && P.x > 3",
        "Floats[0] > 0 && Floats[0] + 1 < Floats[0]",
    ] {
        check_races(
            globals,
            &format!("{clear} if (gi == 0) g[0] = 1; if ({condition}) Out[gi] = g[0];"),
            0,
        );
        let body = format!("if ({condition} && gi < 5) return; GroupMemoryBarrierWithGroupSync();");
        let analysis = first_entry(&shader(&kernel(globals, &body)));
        assert_eq!(analysis.divergences.len(), 0, "{condition}");
    }
    check_races(
        globals,
        &format!("{clear} if (gi == 0) g[0] = 1; if (F + 1 > 3) Out[gi] = g[0];"),
        1,
    );
    // Two threads write one value.
    for (one, other) in [
        ("Floats[0] / 4", "Floats[0] * 0.25"),
        ("Floats[0] + Floats[1]", "Floats[0] - (-Floats[1])"),
        ("-Floats[0]", "Floats[0] * -1"),
        ("Floats[0] * 2 + Floats[0]", "3 * Floats[0]"),
    ] {
        check_races(
            globals,
            &format!("{clear} if (gi == 0) f[0] = {one}; if (gi == 1) f[0] = {other};"),
            0,
        );
    }
    check_races(
        globals,
        &format!("{clear} if (gi == 0) f[0] = Floats[0]; if (gi == 1) f[0] = Floats[0] + 1;"),
        1,
    );
}

/// A thread that waits until another one has written comes after it.
#[test]
fn who_waits_in_a_loop_comes_later() {
    let globals = "groupshared uint flag; globallycoherent RWStructuredBuffer<uint> Flag; uint many;
                   void Spin() { uint o = 0; while (o == 0) InterlockedAdd(flag, 0, o); }";
    let write = "if (gi == 0) { g[0] = 1; GroupMemoryBarrier(); uint o; InterlockedExchange(flag, 1, o); }";
    let read = "GroupMemoryBarrier(); Out[0] = g[0];";
    for wait in [
        "uint o = 0; while (o == 0) InterlockedAdd(flag, 0, o);",
        "for (;;) { uint o; InterlockedAdd(flag, 0, o); if (o) break; }",
        "uint o; do { InterlockedOr(flag, 0, o); } while (o == 0);",
        "while (Flag[0] == 0) {}",
        "bool done = false; while (!done) { uint o; InterlockedAdd(flag, 0, o); if (o) done = true; }",
        "uint i = 0; while (i < 1) { uint o; InterlockedAdd(flag, 0, o); if (o == 0) continue; i++; }",
        "uint i = 0; while (i < 1) { uint o; InterlockedAdd(flag, 0, o); for (uint j = 0; j < o; j++) i++; }",
        "for (uint i = 0; i <= many; i++) { uint o = 0; while (o == 0) InterlockedAdd(flag, 0, o); }",
        "for (uint i = 0; i <= many; i++) Spin();",
    ] {
        let body = format!(
            "if (gi == 0) flag = 0; GroupMemoryBarrierWithGroupSync(); {write} if (gi == 32) {{ {wait} {read} }}"
        );
        check_races(globals, &body, 0);
        let reader_first = format!(
            "if (gi == 0) flag = 0; GroupMemoryBarrierWithGroupSync(); if (gi == 32) {{ {wait} {read} }} {write}"
        );
        check_races(globals, &reader_first, 0);
    }
    let body = format!(
        "if (gi == 0) flag = 0; GroupMemoryBarrierWithGroupSync(); {write}
         if (gi == 32) {{ uint sum = 0; for (uint i = 0; i < many; i++) sum += Flag[i]; {read} }}"
    );
    check_races(globals, &body, 1);
    // Its wave waits with it.
    let body = format!(
        "if (gi == 0) flag = 0; GroupMemoryBarrierWithGroupSync(); {write}
         if (gi == 32) Spin(); uint all = WaveActiveSum(1); if (gi == 33) {{ {read} }}"
    );
    check_races(globals, &body, 0);
}

/// What is not defined, or not as it seems, decides nothing.
#[test]
fn conversions_are_those_of_the_language() {
    let outside = |body: &str| {
        let shader = shader(&kernel("", body));
        let analysis = first_entry(&shader);
        assert_eq!(analysis.stopped, None, "{body}");
        analysis.out_of_bounds.len()
    };
    // The upper left part of a matrix stays.
    let part = "uint2x2 part = (uint2x2)uint2x3(1, 2, 3, 4, 5, 6);";
    assert_eq!(
        outside(&format!("{part} g[gi + (part[1][1] == 5 ? 0 : 64)] = 7;")),
        0
    );
    assert_eq!(
        outside(&format!("{part} g[gi + (part[1][0] == 4 ? 64 : 0)] = 7;")),
        1
    );
    // The smallest int, and a number that is an int in some versions and none in others.
    assert_eq!(outside("g[gi + ((int)gi > -2147483648 ? 0 : 64)] = 7;"), 0);
    assert_eq!(outside("g[gi + ((int)gi > -2147483648 ? 64 : 0)] = 7;"), 1);
    assert_eq!(outside("int i = gi; g[gi + (i < 2147483648 ? 64 : 0)] = 7;"), 0);
    assert_eq!(outside("int i = gi; g[gi + (i < 2147483648 ? 0 : 64)] = 7;"), 0);
    assert_eq!(outside("g[gi + (gi < 2147483648 ? 64 : 0)] = 7;"), 1);
}

/// As in the last levels of a pyramid, where lanes pass values on instead of waiting.
#[test]
fn a_value_passed_on_by_its_reader_has_been_read() {
    let body = |pass_on: &str| {
        format!(
            "g[gi] = Src[dtid.x]; GroupMemoryBarrierWithGroupSync(); uint v = g[gi]; {pass_on}
             if ((gi & 1) == 0) g[gi + 1] = w; GroupMemoryBarrierWithGroupSync(); Out[dtid.x] = g[gi];"
        )
    };
    check_races(
        "",
        &body("uint w = max(v, WaveReadLaneAt(v, WaveGetLaneIndex() ^ 1));"),
        0,
    );
    check_races("", &body("uint w = v + WaveGetLaneIndex();"), 1);
}

/// What an input can be is told by its type, and by its address in a buffer of bytes.
#[test]
fn inputs_are_of_their_types() {
    let write = "g[gi] = Src[dtid.x]; if (CONDITION) g[(gi + 1) % 64] = 9; GroupMemoryBarrierWithGroupSync(); Out[dtid.x] = g[gi];";
    let races = |globals: &str, condition: &str, expected| {
        check_races(globals, &write.replace("CONDITION", condition), expected);
    };
    races("uint B;", "B > 1", 1);
    races("bool B;", "(uint)B > 1", 0);
    races(
        "struct S { uint a; bool b; }; StructuredBuffer<S> In;",
        "(uint)In[0].b > 1",
        0,
    );
    races("StructuredBuffer<bool> In;", "(uint)In[dtid.x] > 1", 0);
    races("Texture2D<unorm float> T;", "T[dtid.xy] > 1.5", 0);
    races("Texture2D<float> T;", "T[dtid.xy] > 1.5", 1);
    let words =
        |second: &str| format!("if (gi == 0) n = In.Load(4); if (width > 3 && gi == 1) n = {second};");
    let globals = "groupshared uint n; uint width; ByteAddressBuffer In;";
    check_races(globals, &words("In.Load2(0).y"), 0);
    check_races(globals, &words("In.Load4(4).x"), 0);
    check_races(globals, &words("In.Load2(0).x"), 1);
}

#[test]
fn a_dispatch_of_meshes_is_a_barrier() {
    let payload = "struct Payload { uint ids[64]; }; groupshared Payload p;";
    check_races(payload, "p.ids[gi] = gi; DispatchMesh(64, 1, 1, p);", 0);
    check_races(payload, "p.ids[gi] = gi; Look(64, 1, 1, p);", 1);
}

/// As in a histogram: where every element is touched between the same barriers, one is met wherever data lead.
#[test]
fn data_lead_to_an_element_that_is_touched() {
    let count = "InterlockedAdd(g[Src[dtid.x] & 63], 1);";
    let sync = "GroupMemoryBarrierWithGroupSync();";
    for (body, expected) in [
        (format!("g[gi] = 0; {count}"), 1),
        (format!("g[gi] = 0; {sync} {count}"), 0),
        (format!("g[gi] = 0; {sync} {count} Out[dtid.x] = g[gi];"), 1),
        (format!("g[gi] = 0; {sync} {count} {sync} Out[dtid.x] = g[gi];"), 0),
        (format!("InterlockedExchange(g[gi], 0, Out[gi]); {count}"), 0),
        (
            "if (gi == 0) { for (uint i = 0; i < 64; ++i) g[i] = 0; } InterlockedAdd(g[Src[dtid.x] & 63], 1);"
                .to_owned(),
            1,
        ),
        // Only read, be it atomically.
        (format!("uint v; Out[gi] = g[gi]; InterlockedAdd(g[Src[dtid.x] & 63], 0, v); {sync}"), 0),
        // Of one value, or one that each has written before.
        ("g[gi] = 0; g[Src[dtid.x] & 63] = 0;".to_owned(), 0),
        ("for (uint i = 0; i < 64; ++i) g[i] = i * i; Out[dtid.x] = g[Src[dtid.x] & 63];".to_owned(), 0),
        // Under a condition, and in one.
        (format!("g[gi] = 0; if (dtid.x < Count) {{ {count} }}"), 1),
        (format!("g[gi] = 0; if (Src[dtid.x + 9] > 3) {{ {count} }}"), 1),
        (format!("if (Src[dtid.x] > 3) g[gi] = 0; {count}"), 0),
        // Elements of a thread's own, or that may be, and those that nobody touches.
        (
            "if (gi < 16) { for (uint i = 0; i < 4; ++i) g[4 * gi + i] = 0; InterlockedAdd(g[4 * gi + Src[dtid.x]], 1); }"
                .to_owned(),
            0,
        ),
        ("if (gi < 16) { for (uint i = 0; i < 4; ++i) g[4 * gi + i] = 0; InterlockedAdd(g[4 * gi + (Src[dtid.x] & 3)], 1); }".to_owned(), 0),
        ("if (gi < 32) g[gi] = 0; else InterlockedAdd(g[32 + (Src[dtid.x] & 31)], 1);".to_owned(), 0),
        // It is not known what leads there, or it is always one element.
        ("g[gi] = 0; InterlockedAdd(g[Rank(gi) & 63], 1);".to_owned(), 0),
        ("g[gi] = 0; InterlockedAdd(g[Count], 1);".to_owned(), 0),
        ("uint own; InterlockedAdd(Out[0], 1, own); g[gi] = 0; g[own & 63] = 1;".to_owned(), 0),
    ] {
        check_races("uint Count;", &body, expected);
    }
    let parts = "struct P { uint a, b; }; groupshared P p[64];";
    let body = |cleared: &str| format!("p[gi].{cleared} = 0; InterlockedAdd(p[Src[dtid.x] & 63].b, 1);");
    check_races(parts, &body("b"), 1);
    check_races(parts, &body("a"), 0);
}

/// A condition that the engine does not work out may be false for all inputs.
#[test]
fn no_race_is_told_under_a_condition_that_is_not_worked_out() {
    let race = "g[gi] = gi; if (gi > 0) Out[gi] = g[gi - 1];";
    for condition in [
        "sign(int(2)) != 1",
        "dot(uint2(3, 0), uint2(1, 1)) != 3",
        "uint64_t(gi >> 6) > 0xFFFFFFFF",
    ] {
        check_races("", &format!("if ({condition}) {{ {race} }}"), 0);
    }
    for (condition, expected) in [
        ("length(float2(i, 0)) > 0.5", 0),
        ("dot(uint2(Count, 0), uint2(1, 1)) != 1", 0),
        ("saturate(Other * 0.5) > 1.5", 0),
        ("Other * 0.5 > 1.5", 1),
        ("Other != 7", 1),
    ] {
        let body = format!("for (uint i = 0; i < Count; ++i) if ({condition}) {{ {race} }}");
        check_races("uint Count, Other;", &body, expected);
    }
}

/// All threads of a group write one element, which its number tells; that a ladder is found does not hide it.
#[test]
fn threads_race_beside_a_ladder_on_the_element_of_their_group() {
    let sync = "GroupMemoryBarrierWithGroupSync();";
    let ladder = format!(
        "for (uint s = 1; s < 64; s <<= 1) {{ uint v = gi >= s ? g[gi - s] : 0; {sync} g[gi] += v; {sync} }} Out[dtid.x] = g[gi];"
    );
    check_races("", &format!("g[dtid.x / 64] = Src[dtid.x]; {sync} {ladder}"), 1);
    check_races("", &format!("g[gi] = Src[dtid.x]; {sync} {ladder}"), 0);
}

/// Only the host knows how often the loops run, and no barrier is in them: one pass is enough.
#[test]
fn threads_race_in_a_pass_without_a_barrier() {
    let pass = |body: &str| format!("for (uint i = 0; i < Count; ++i) {{ {body} }}");
    for (body, expected) in [
        ("g[gi] = i + gi; if (gi > 0) Out[gi] = g[gi - 1];", 1),
        (
            "if (Limit < dtid.x) return; g[gi] = i + gi; if (gi > 0) Out[gi] = g[gi - 1];",
            1,
        ),
        ("InterlockedAdd(g[Src[dtid.x + i] & 63], 1);", 0),
        ("g[gi] += i;", 0),
        ("g[63 - gi] = i; Out[gi] = g[63 - gi];", 0),
        // Of no pass it is known that there is one.
        ("g[gi] = gi; if (i > 0 && gi > 0) Out[gi] = g[gi - 1];", 0),
    ] {
        check_races("uint Count, Limit;", &pass(body), expected);
    }
    // One word of a buffer, in whichever load.
    let race = "g[gi] = gi; if (gi > 0) Out[gi] = g[gi - 1];";
    for (load, expected) in [("Load(12)", 0), ("Load2(8).y", 0), ("Load(8)", 1)] {
        let body = format!("for (uint i = 0; i < Raw.Load4(0).w; ++i) if (Raw.{load} != 1) {{ {race} }}");
        check_races("ByteAddressBuffer Raw;", &body, expected);
    }
    let counted = pass("InterlockedAdd(g[Src[dtid.x + i] & 63], 1);");
    check_races("uint Count;", &format!("g[gi] = 0; {counted}"), 1);
    let sync = "GroupMemoryBarrierWithGroupSync();";
    check_races("uint Count;", &format!("g[gi] = 0; {sync} {counted}"), 0);
}

/// Only the host knows how often the loop runs. The engine looks for a ladder in it with likely numbers of passes.
#[test]
fn what_stops_the_passes_of_a_loop_is_told() {
    let globals = "RWStructuredBuffer<uint> Log; uint many; uint Note(uint i) { Log[i] = 1; return i; }";
    let stop = |value: &str| {
        let body = format!(
            "for (uint n = 0; n < many; n++) {{ g[gi] = {value}; GroupMemoryBarrierWithGroupSync();
                 for (uint s = 32; s > 0; s >>= 1) {{ if (gi < s) g[gi] += g[gi + s]; GroupMemoryBarrierWithGroupSync(); }} }}"
        );
        let shader = shader(&kernel(globals, &body));
        let analysis = first_entry(&shader);
        assert_eq!(analysis.stopped, None, "{body}");
        analysis.passes_stopped.map(|stop| stop.reason)
    };
    assert_eq!(stop("gi < n ? n : 0"), None);
    assert_eq!(
        stop("gi < n ? Note(n) : 0").as_deref(),
        Some("a side effect in an arm of ?:")
    );
}
