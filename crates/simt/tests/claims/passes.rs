//! What an address is in any pass of a loop, and what a name at it stands for.

use shaderlint_simt::Atomic;

use super::{check, claims};

#[test]
fn an_address_of_one_name_in_two_namespaces_is_two() {
    let spaces = "namespace P { cbuffer D { uint at; } } namespace Q { cbuffer E { uint at; } }";
    let body = |other: &str| format!("uint x = P::at; if (gi & 1) x = {other}; InterlockedAdd(C[x], 1);");
    check(spaces, &body("P::at"), &["sum"]);
    check(spaces, &body("Q::at"), &[]);
}

/// How many additions are claims.
fn added(globals: &str, body: &str) -> usize {
    let claims = claims(globals, body).into_iter();
    claims.filter(|claim| claim.operation == Atomic::Add).count()
}

/// An atomic in a loop whose passes are not counted, before `x` changes.
fn in_a_loop(atomic: &str, change: &str) -> String {
    format!("uint x = 1; uint i = 0; do {{ {atomic} {change} i++; }} while (i < Src[id.x]);")
}

#[test]
fn in_any_pass_only_what_is_known_to_be_alike_is() {
    let at_x = "InterlockedAdd(C[x], 1);";
    let globals = "static uint tid; StructuredBuffer<uint> T[64]; ConsumeStructuredBuffer<uint> Q; RWStructuredBuffer<uint> V;
        Texture2D<uint> Tex; SamplerState A; SamplerState B;
        struct Member { StructuredBuffer<uint> s; }; uint of_member(Member m) { return m.s[0]; }
        uint of_static() { return tid; } void set(uint v) { tid = v; } uint lane() { return WaveGetLaneIndex(); }
        uint ticket() { uint r; InterlockedExchange(cell, 1, r); return r; } uint kept() { static uint n; return n++; }
        uint most() { uint r; InterlockedMax(V[0], 1, r); return r; } uint own() { return V[tid]; }
        uint constant() { return n + 3; } uint found(uint at) { return Src[at]; }
        uint sampled(SamplerState s) { return Tex.SampleLevel(s, float2(0, 0), 0); }";
    for change in [
        "x = of_static();",
        "x = tid; tid = gi;",
        "x = tid; set(gi);",
        "x = lane();",
        "x = ticket();",
        "x = most();",
        "x = kept();",
        "x = own();",
        "x = C.IncrementCounter();",
        "x = Q.Consume();",
        "x = V[0];",
        "x = Unknown();",
        "x = t[0];",
        "x = u[0];",
        "x = m.s[0];",
        "x = of_member(m);",
        "switch (gi) { case 0: continue; default: break; } x++;",
        "for (uint j = 0; j < 4; ++j) { if (j == gi) return; } x++;",
        "x += x == i ? Src[gi] : lane();",
    ] {
        let body = "tid = gi; StructuredBuffer<uint> t = T[gi]; StructuredBuffer<uint> u = T[0]; Member m; m.s = T[gi];";
        let change = change.replace("u[0];", "u[0]; u = T[i + gi];");
        assert_eq!(
            added(globals, &format!("{body} {}", in_a_loop(at_x, &change))),
            0,
            "{change}"
        );
    }
    for change in [
        "x = constant();",
        "x = found(x);",
        "x = Src[x];",
        "x = g[x];",
        "x = k;",
        "x += i;",
        "x = t[2];",
        "x = sampled(A);",
        "x = tid;",
    ] {
        let body = "StructuredBuffer<uint> t = T[n]; tid = 3;";
        assert_eq!(
            added(globals, &format!("{body} {}", in_a_loop(at_x, change))),
            1,
            "{change}"
        );
    }
}

#[test]
fn in_any_pass_what_may_tell_lanes_is_no_data() {
    let by_x = "if (x == 0) InterlockedAdd(C[0], 1);";
    let globals =
        "static uint tid; uint of_static() { return tid; } uint lane() { return WaveGetLaneIndex(); }";
    for change in [
        "x = WaveGetLaneIndex();",
        "x = lane();",
        "x = of_static();",
        "x = tid;",
        "x = Lane();",
        "x = C.IncrementCounter();",
    ] {
        assert_eq!(
            added(globals, &format!("tid = gi; {}", in_a_loop(by_x, change))),
            0,
            "{change}"
        );
    }
    check(
        "static uint tid;",
        &in_a_loop("if (tid == 5) InterlockedAdd(C[0], 1);", "tid = gi;"),
        &[],
    );
    check("", &in_a_loop(by_x, "x = Src[id.x];"), &["sum"]);
    // Nor is it after the loop.
    check("", &format!("{} {by_x}", in_a_loop("", "x = gi;")), &[]);
    check("", &format!("{} {by_x}", in_a_loop("", "x = Src[gi];")), &["sum"]);
}

#[test]
fn what_a_parameter_stands_for_tells_an_address() {
    let globals = "Texture2D<uint> T; Texture2D<uint> U; Texture2D<float> V; Texture2D<float> W; SamplerState A; SamplerState B; StructuredBuffer<uint> S; StructuredBuffer<uint> R;
        uint load(Texture2D<uint> t) { return t.Load(uint3(0, 0, 0)); }
        float sample(Texture2D<float> t) { return t.SampleLevel(A, float2(0, 0), 0); }
        float by(SamplerState s) { return V.SampleLevel(s, float2(0, 0), 0); }
        uint size(Texture2D<uint> t) { uint w, h; t.GetDimensions(w, h); return w; }
        uint length(StructuredBuffer<uint> s) { uint n, stride; s.GetDimensions(n, stride); return n; }";
    for [one, other] in [
        ["load(T)", "load(U)"],
        ["sample(V)", "sample(W)"],
        ["by(A)", "by(B)"],
        ["size(T)", "size(U)"],
        ["length(S)", "length(R)"],
    ] {
        let at = |otherwise: &str| {
            format!("uint x; if (gi & 1) x = {one}; else x = {otherwise}; InterlockedAdd(C[x], 1);")
        };
        check(globals, &at(other), &[]);
        check(globals, &at(one), &["sum"]);
    }
}

#[test]
fn a_part_of_what_is_alike_is_one_place() {
    let claims = |change: &str| {
        let loop_ = format!(
            "uint p[4] = {{ 1, 2, 3, k }}; uint i = gi; do {{ InterlockedAdd(C[p[1]], 1); {change} i += 64; }} while (i < Src[id.x]);"
        );
        added("", &loop_)
    };
    for change in [
        "p[1] = 0;",
        "p[n] = k;",
        "p[p[0]] = p[2];",
        "p[1] += 2;",
        "p[2]++;",
    ] {
        assert_eq!(claims(change), 1, "{change}");
    }
    for change in [
        "p[1] = gi;",
        "p[gi & 3] = 0;",
        "if (gi == 3) p[1] = 5;",
        "p[p[0]] = 0; p[0] = i;",
    ] {
        assert_eq!(claims(change), 0, "{change}");
    }
}
