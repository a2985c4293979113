//! What the engine calls the shapes in which groups scan and reduce, and what it calls nothing.

use shaderlint_hlsl::Shader;
use shaderlint_simt::{Analysis, Elements, Kind, analyze};

fn run(threads: &str, globals: &str, body: &str) -> (Shader, Analysis) {
    let source = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n{globals}\n[numthreads({threads})]\n\
         void main(uint gi : SV_GroupIndex, uint3 tid : SV_GroupThreadID, uint3 id : SV_DispatchThreadID) {{\n\
         {body}\n}}\n"
    )
    .replace("SYNC", "GroupMemoryBarrierWithGroupSync()");
    let (shader, problems) = shaderlint_hlsl::parse(source.into_bytes());
    assert!(problems.is_empty(), "{problems:?}");
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    let analysis = analyze(&shader, entry);
    (shader, analysis)
}

/// Each collective as `kind operator count/segment shape input -> output`, and each race.
#[track_caller]
fn check(threads: &str, globals: &str, body: &str, expected: &[&str]) {
    let (shader, analysis) = run(threads, globals, body);
    let local = |local: &shaderlint_hlsl::LocalId| {
        let (_, kernel) = shader.entry_points().next().expect("an entry point");
        kernel.locals[local.0 as usize].name.clone()
    };
    let place = |elements: &Elements| {
        let name = |global: &shaderlint_hlsl::GlobalId| shader.globals[global.0 as usize].name.clone();
        match elements {
            Elements::Array {
                global,
                offset,
                component,
                axis,
            } => {
                let part = component.map_or(String::new(), |part| format!(".{part}"));
                let axis = if *axis > 0 {
                    format!("|{axis}")
                } else {
                    String::new()
                };
                format!("{}+{offset}{part}{axis}", name(global))
            }
            Elements::Spread { global, .. } => format!("{}~", name(global)),
            Elements::Cell {
                global,
                index,
                component,
                axis,
            } => {
                let part = component.map_or(String::new(), |part| format!(".{part}"));
                let axis = if *axis > 0 {
                    format!("|{axis}")
                } else {
                    String::new()
                };
                format!("{}[{index}]{part}{axis}", name(global))
            }
            Elements::Register { local: id, .. } => local(id),
            Elements::Expression { span, thread, .. } => {
                format!(
                    "{} of {thread}",
                    String::from_utf8_lossy(span.slice(&shader.text))
                )
            }
            Elements::OneRegister {
                local: id, thread, ..
            } => format!("{} of {thread}", local(id)),
        }
    };
    let mut found: Vec<String> = Vec::new();
    for c in &analysis.collectives {
        let reversed = if c.reversed { "reversed " } else { "" };
        let kind = match c.kind {
            Kind::InclusiveScan => "inclusive",
            Kind::ExclusiveScan => "exclusive",
            Kind::Reduction => "reduction",
        };
        let (operator, shape) = (c.operator, c.shape);
        let (input, output) = (place(&c.input), place(&c.output));
        found.push(format!(
            "{reversed}{kind} {operator:?} {}/{} {shape:?} {input} -> {output}",
            c.count, c.segment
        ));
    }
    found.extend(analysis.races.iter().map(|race| format!("race [{}]", race.index)));
    assert_eq!(found, expected, "{:?}\n{body}", analysis.stopped);
}

const LOAD: &str = "g[gi] = Src[id.x]; SYNC;";

#[test]
fn sweeps() {
    let up = "uint offset = 1; for (uint d = 64; d > 0; d >>= 1) { SYNC;
        if (gi < d) { uint a = offset * (2 * gi + 1) - 1, b = offset * (2 * gi + 2) - 1; g[I(b)] += g[I(a)]; } offset *= 2; }";
    let down = "if (gi == 0) g[I(127)] = 0;
        for (uint d = 1; d < 128; d *= 2) { offset >>= 1; SYNC;
        if (gi < d) { uint a = offset * (2 * gi + 1) - 1, b = offset * (2 * gi + 2) - 1;
        uint t = g[I(a)]; g[I(a)] = g[I(b)]; g[I(b)] += t; } } SYNC;";
    let body = |load: &str| format!("{load} {up} {down} Out[2 * id.x] = g[I(2 * gi)];");
    let load = "g[I(2 * gi)] = Src[2 * id.x]; g[I(2 * gi + 1)] = Src[2 * id.x + 1];";
    let plain = "uint I(uint i) { return i; }";
    let padded = "uint I(uint i) { return i + (i >> 5); }";
    let expected = "exclusive Add 128/128 Sweeps g+0 -> g+0";
    check(
        "64,1,1",
        &format!("groupshared uint g[128]; {plain}"),
        &body(load),
        &[expected],
    );
    let expected = "exclusive Add 128/128 Sweeps g~ -> g~";
    check(
        "64,1,1",
        &format!("groupshared uint g[132]; {padded}"),
        &body(load),
        &[expected],
    );
    // Brent–Kung: inclusive, no clearing.
    let brent_kung = "uint s; for (s = 1; s < 64; s *= 2) { uint i = (gi + 1) * s * 2 - 1; if (i < 64) g[i] += g[i - s]; SYNC; }
        for (s = 16; s > 0; s /= 2) { uint i = (gi + 1) * s * 2 - 1; if (i + s < 64) g[i + s] += g[i]; SYNC; }";
    check(
        "64,1,1",
        "groupshared uint g[64];",
        &format!("{LOAD} {brent_kung} Out[id.x] = g[gi];"),
        &["inclusive Add 64/64 Sweeps g+0 -> g+0"],
    );
}

#[test]
fn other_scans() {
    let g = "groupshared uint g[64];";
    let scan = |ladder: &str, expected: &str| {
        check(
            "64,1,1",
            g,
            &format!("{LOAD} {ladder} Out[id.x] = g[gi];"),
            &[expected],
        );
    };
    scan(
        "for (uint s = 1; s < 64; s <<= 1) { if (gi & s) g[gi] += g[(gi & ~(s - 1)) - 1]; SYNC; }",
        "inclusive Add 64/64 Tree g+0 -> g+0",
    );
    scan(
        "if (gi == 0) { for (uint i = 1; i < 64; ++i) g[i] += g[i - 1]; } SYNC;",
        "inclusive Add 64/64 Serial g+0 -> g+0",
    );
    scan(
        "for (uint s = 1; s < 64; s <<= 1) { uint v = gi + s < 64 ? g[gi + s] : 0; SYNC; g[gi] += v; SYNC; }",
        "reversed inclusive Add 64/64 Tree g+0 -> g+0",
    );
    scan(
        "for (uint s = 1; s < 16; s <<= 1) { uint v = (gi & 15) >= s ? g[gi - s] : 0; SYNC; g[gi] += v; SYNC; }",
        "inclusive Add 64/16 Tree g+0 -> g+0",
    );
    scan(
        "for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; SYNC; g[gi] = max(g[gi], v); SYNC; }",
        "inclusive MaxUint 64/64 Doubling g+0 -> g+0",
    );
    check(
        "64,1,1",
        "groupshared uint2 g[64];",
        "g[gi].x = Src[id.x]; SYNC; uint f = 0;
         for (uint s = 1; s < 64; s <<= 1) {
             if (f == 0) g[gi].y = gi >= s ? g[gi].x + g[gi - s].x : g[gi].x; else g[gi].x = gi >= s ? g[gi].y + g[gi - s].y : g[gi].y;
             f = 1 - f; SYNC; }
         Out[id.x] = g[gi].x;",
        &["inclusive Add 64/64 Doubling g+0.0 -> g+0.0"],
    );
}

#[test]
fn reductions() {
    let g = "groupshared uint g[64];";
    let reduce = |ladder: &str, expected: &str| {
        check(
            "64,1,1",
            g,
            &format!("{LOAD} {ladder} if (gi == 0) Out[0] = g[0];"),
            &[expected],
        );
    };
    let tree = "reduction Add 64/64 Tree g+0 -> g[0]";
    reduce(
        "for (uint s = 1; s < 64; s *= 2) { if (gi % (2 * s) == 0) g[gi] += g[gi + s]; SYNC; }",
        tree,
    );
    reduce(
        "for (uint s = 1; s < 64; s *= 2) { uint i = 2 * s * gi; if (i < 64) g[i] += g[i + s]; SYNC; }",
        tree,
    );
    reduce(
        "for (uint s = 32; s > 0; s >>= 1) { if (gi < s) g[gi] += g[gi + s]; SYNC; }",
        tree,
    );
    reduce(
        "if (gi < 32) g[gi] += g[gi + 32]; SYNC; if (gi < 16) g[gi] += g[gi + 16]; SYNC; if (gi < 8) g[gi] += g[gi + 8]; SYNC;
         if (gi < 4) g[gi] += g[gi + 4]; SYNC; if (gi < 2) g[gi] += g[gi + 2]; SYNC; if (gi < 1) g[gi] += g[gi + 1]; SYNC;",
        tree,
    );
    reduce(
        "for (uint s = 32; s > 0; s >>= 1) { uint v = g[gi ^ s]; SYNC; g[gi] = min(g[gi], v); SYNC; }",
        "reduction MinUint 64/64 Tree g+0 -> g[0]",
    );
    reduce(
        "if (gi == 0) { uint sum = 0; for (uint i = 0; i < 64; ++i) sum += g[i]; g[0] = sum; } SYNC;",
        "reduction Add 64/64 Serial g+0 -> g[0]",
    );
    // The last wave without barriers is no reduction but a race.
    let last_wave = "if (gi < 32) { g[gi] += g[gi + 32]; g[gi] += g[gi + 16]; g[gi] += g[gi + 8]; g[gi] += g[gi + 4]; g[gi] += g[gi + 2]; g[gi] += g[gi + 1]; }";
    let (_, analysis) = run("64,1,1", g, &format!("{LOAD} {last_wave}"));
    assert!(analysis.collectives.is_empty() && !analysis.races.is_empty());
}

#[test]
fn look_alikes() {
    let none = |ladder: &str| {
        let body = format!("{LOAD} {ladder} Out[id.x] = g[gi];");
        check("64,1,1", "groupshared uint g[64];", &body, &[]);
    };
    none("uint v = g[gi] + g[(gi + 1) & 63] + g[(gi + 63) & 63]; SYNC; g[gi] = v; SYNC;");
    none("uint v = g[63 - gi]; SYNC; g[gi] = v; SYNC;");
    none("for (uint s = 1; s < 32; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; SYNC; g[gi] += v; SYNC; }");
    none("for (uint s = 1; s < 64; s <<= 1) { uint v = gi > s ? g[gi - s] : 0; SYNC; g[gi] += v; SYNC; }");
    none("for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; SYNC; g[gi] -= v; SYNC; }");
    none("for (uint k = 2; k <= 64; k <<= 1) for (uint j = k >> 1; j > 0; j >>= 1) { uint a = g[gi], b = g[gi ^ j];
        bool up = (gi & k) == 0, low = (gi & j) == 0; SYNC; g[gi] = up == low ? min(a, b) : max(a, b); SYNC; }");
}

#[test]
fn what_is_chosen_with_the_least_does_not_hide_it() {
    let ladder = |payload: &str| {
        format!(
            "{LOAD} {{PAYLOAD}} for (uint s = 32; s > 0; s >>= 1) {{ if (gi < s && g[gi + s] < g[gi]) {{ {payload} g[gi] = g[gi + s]; }} SYNC; }} Out[gi] = g[0];"
        )
    };
    let arrays = "groupshared uint g[64]; groupshared uint h[64];";
    let payload = "h[gi] = h[gi + s];";
    let with = |payload: &str, before: &str| ladder(payload).replace("{PAYLOAD}", before);
    check(
        "64, 1, 1",
        arrays,
        &with("", ""),
        &["reduction MinUint 64/64 Tree g+0 -> g[0]"],
    );
    let least = ["reduction MinUint 64/64 Tree g+0 -> g[0]"];
    check("64, 1, 1", arrays, &with(payload, "h[gi] = gi; SYNC;"), &least);
    check(
        "64, 1, 1",
        arrays,
        &with(payload, "h[gi] = Src[id.x + 1]; SYNC;"),
        &least,
    );
    check(
        "64, 1, 1",
        arrays,
        &with("own = gi + s;", "uint own = gi;"),
        &least,
    );
    // Equal ones may be told apart: either is the least.
    let ties = with(payload, "h[gi] = Src[id.x + 1]; SYNC;").replace(
        "g[gi + s] < g[gi])",
        "(g[gi + s] < g[gi] || g[gi + s] == g[gi] && h[gi + s] < h[gi]))",
    );
    check("64, 1, 1", arrays, &ties, &least);
    check(
        "64, 1, 1",
        arrays,
        &ties.replace("h[gi + s] < h[gi]))", "h[gi + s] < h[gi] || h[gi] > 9))"),
        &[],
    );
    // The places of all elements in order are more than that of the least.
    let sort = "uint k = g[gi] = Src[id.x]; h[gi] = gi; SYNC; for (uint s = 2; s <= 64; s <<= 1) for (uint d = s >> 1; d > 0; \
         d >>= 1) { uint o = gi ^ d; if (o > gi) { bool up = (gi & s) == 0; if (up == (g[o] < g[gi])) { uint t = g[gi]; \
         g[gi] = g[o]; g[o] = t; t = h[gi]; h[gi] = h[o]; h[o] = t; } } SYNC; } Out[gi] = h[gi];";
    check("64, 1, 1", arrays, sort, &[]);
    // The choice may be made by masks.
    let masks = "g[gi] = Src[id.x]; h[gi] = gi; SYNC; for (uint s = 32; s > 0; s >>= 1) { if (gi < s) { uint a = g[gi], \
         b = g[gi + s], most = max(a, b); uint mask = most == a ? ~0u : 0; g[gi] = most; \
         h[gi] = (mask & h[gi]) | (~mask & h[gi + s]); } SYNC; } if (gi == 0) Out[0] = KEPT;";
    check(
        "64, 1, 1",
        arrays,
        &masks.replace("KEPT", "h[0]"),
        &["reduction MaxUint 64/64 Tree g+0 -> g[0]"],
    );
    check(
        "64, 1, 1",
        arrays,
        &masks.replace("KEPT", "g[0]"),
        &["reduction MaxUint 64/64 Tree g+0 -> g[0]"],
    );
}

const HALVING: &str =
    "for (uint s = 32; s > 0; s >>= 1) { if (gi < s) g[gi] += g[gi + s]; SYNC; } if (gi == 0) Out[0] = g[0];";

#[test]
fn elements_from_the_buffer_in_a_struct() {
    let view = "struct View { uint start; StructuredBuffer<uint> data; uint Get(uint i) { return data[start + i]; } };
        groupshared uint g[64];";
    let body = format!("View v; v.start = 4; v.data = Src; g[gi] = v.Get(id.x); SYNC; {HALVING}");
    check("64,1,1", view, &body, &["reduction Add 64/64 Tree g+0 -> g[0]"]);
    // Two loads of one element are not known to be the same: nothing rests on it.
    let body = format!(
        "View v; v.start = 4; v.data = Src; g[gi] = v.Get(gi) - v.Get(gi); SYNC;
         if (g[0] == 0) {{ g[0] = gi; }} SYNC; {HALVING}"
    );
    check("64,1,1", view, &body, &["reduction Add 64/64 Tree g+0 -> g[0]"]);
}

#[test]
fn one_thread_adds_from_zero() {
    let g = "groupshared uint g[64];";
    let body = |loop_: &str| {
        format!("g[gi] = Src[id.x]; SYNC; if (gi == 0) {{ uint sum = 0; {loop_} Out[0] = sum; }}")
    };
    let adds = "for (uint i = 0; i < 64; ++i) sum += g[i];";
    check(
        "64,1,1",
        g,
        &body(adds),
        &["reduction Add 64/64 Serial g+0 -> sum of 0"],
    );
    // The total on the way to something else.
    check("64,1,1", g, &body(&format!("{adds} sum *= 3;")), &[]);
    // A row for each of some threads.
    let rows = "g[gi] = Src[id.x]; h[gi] = 1; SYNC; if (gi < 4) { uint sum = 0;
        for (uint i = 0; i < 64; ++i) sum += big[gi * 64 + i]; Out[gi] = sum; }";
    let rows = format!("for (uint r = 0; r < 4; ++r) big[r * 64 + gi] = Src[r * 64 + gi]; {rows}");
    let g4 = "groupshared uint g[64]; groupshared uint h[64]; groupshared uint big[256];";
    check("64,1,1", g4, &rows, &[]);
    check(
        "64,1,1",
        g,
        &body("for (uint i = 0; i < 65; ++i) sum += g[i & 63];"),
        &[],
    );
}

#[test]
fn functions_of_constants_are_worked_out() {
    let g = "groupshared uint g[64]; static const uint Rounds = log2(64);";
    let body = "g[gi] = Src[id.x]; SYNC;
        for (uint k = 0; k < Rounds; ++k) {
            uint t = g[gi]; if (gi >= 1u << k) t += g[gi - (1u << k)]; SYNC; g[gi] = t; SYNC; }
        Out[id.x] = g[gi];";
    check("64,1,1", g, body, &["inclusive Add 64/64 Doubling g+0 -> g+0"]);
}

#[test]
fn ladders_in_a_loop() {
    let g = "uint passes; groupshared uint g[64];";
    let tiles = |passes: &str, end: &str| {
        format!(
            "for (uint t = 0; t < {passes}; ++t) {{ g[gi] = Src[64 * t + gi]; SYNC;
             for (uint s = 32; s > 0; s >>= 1) {{ if (gi < s) g[gi] += g[gi + s]; SYNC; }}
             if (gi == 1) Out[t] = g[0]; {end} }}"
        )
    };
    let found = "reduction Add 64/64 Tree g+0 -> g[0]";
    check("64,1,1", g, &tiles("4", "SYNC;"), &[found]);
    check("64,1,1", g, &tiles("passes", "SYNC;"), &[found]);
    // Each pass writes where another thread of the one before may still read.
    let (_, analysis) = run("64,1,1", g, &tiles("4", ""));
    assert_eq!(analysis.races.len(), 1);
    // A pass alone is right.
    check("64,1,1", g, &tiles("passes", ""), &[found, "race [0]"]);
    // Another thing in each pass.
    let body = "for (uint t = 0; t < 2; ++t) { g[gi] = Src[64 * t + gi]; SYNC;
        for (uint s = 32; s > 0; s >>= 1) { if (gi < s) g[gi] = t == 0 ? g[gi] + g[gi + s] : max(g[gi], g[gi + s]); SYNC; }
        if (gi == 0) Out[t] = g[0]; SYNC; }";
    check("64,1,1", g, body, &[]);
}

#[test]
fn what_takes_long_and_is_done_by_each_thread_alone_is_left_out() {
    let march =
        "float March(float x) { float y = x; for (uint i = 0; i < 400; ++i) y = y * y + x * i; return y; }
        groupshared float g[1024];";
    let body = |load: &str| {
        format!(
            "g[gi] = {load}; SYNC;
             for (uint s = 512; s > 0; s >>= 1) {{ if (gi < s) g[gi] += g[gi + s]; SYNC; }}
             if (gi == 0) Out[0] = uint(g[0]);"
        )
    };
    let terms: Vec<String> = (0..24).map(|n| format!("March(Src[id.x + {n}])")).collect();
    let found = "reduction FloatAdd 1024/1024 Tree g+0 -> g[0]";
    check("1024,1,1", march, &body(&terms.join(" + ")), &[found]);
    // What the ladder itself needs is not left out.
    let wrong = body(&terms.join(" + ")).replace("gi < s)", "gi < s && March(gi) > 0)");
    check("1024,1,1", march, &wrong, &[]);
    // A call that the run is in by the time it notices.
    let loops = "for (uint i = 0; i < 400; ++i) y = y * y + sin(x) * i;".repeat(24);
    let long = format!(
        "float March(float x) {{ float y = x; {loops} return y; }}
        groupshared float g[1024];"
    );
    check("1024,1,1", &long, &body("March(Src[id.x])"), &[found]);
    check(
        "1024,1,1",
        &long,
        &body("March(Src[id.x])").replace("gi < s)", "gi < s && March(gi) > 0)"),
        &[],
    );
}

#[test]
fn few_elements_in_a_large_group() {
    let bins = "groupshared uint bins[4];";
    let load = "if (gi < 4) bins[gi] = Src[gi]; SYNC;";
    let ladder = |end: &str| {
        format!(
            "{load} for (uint s = 1; s < {end}; s <<= 1) {{ uint v = 0; if (gi < 4 && gi >= s) v = bins[gi - s]; SYNC;
             if (gi < 4) bins[gi] += v; SYNC; }} Out[id.x] = bins[gi & 3];"
        )
    };
    check(
        "64,1,1",
        bins,
        &ladder("4"),
        &["inclusive Add 4/4 Doubling bins+0 -> bins+0"],
    );
    check("64,1,1", bins, &ladder("2"), &[]);
    // Two halves that take turns.
    let turns = "uint own = gi < 4 ? Src[gi] : 0; if (gi < 4) turn[0][gi] = own;
        for (uint i = 0; i < 2; i++) { SYNC; if (gi >= 4) continue; uint s = 1 << i;
        if (gi >= s) own += turn[i & 1][gi - s]; turn[!(i & 1)][gi] = own; } SYNC; Out[id.x] = turn[0][gi & 3];";
    check(
        "128,1,1",
        "groupshared uint turn[2][4];",
        turns,
        &["inclusive Add 4/4 Doubling turn+0 -> turn+0"],
    );
    // The first element is no element but the sum of none.
    check(
        "128,1,1",
        "groupshared uint turn[2][4];",
        &turns.replace("gi < 4 ? Src[gi] : 0", "gi > 0 && gi < 4 ? Src[gi - 1] : 0"),
        &["exclusive Add 4/4 Doubling turn+1 -> turn+0"],
    );
    // The first rungs of a ladder that never gets to its end.
    check(
        "16,1,1",
        "groupshared uint turn[16];",
        "turn[gi] = Src[gi]; SYNC; for (uint s = 1; s < 4; s <<= 1) { uint v = gi >= s ? turn[gi - s] : 0; SYNC; turn[gi] += v; SYNC; }
         Out[gi] = turn[gi];",
        &[],
    );
}

#[test]
fn the_last_step_may_be_taken_on_the_way_out() {
    let rungs = "for (uint s = 64; s > 1; s >>= 1) { if (gi < s) g[gi] += g[gi + s]; SYNC; }";
    let check = |last: &str, expected: &[&str]| {
        let body = format!("{LOAD} {rungs} {last}");
        let globals = "groupshared uint g[128]; uint Sum(uint a, uint b) { return a + b; }";
        check("128,1,1", globals, &body, expected);
    };
    check(
        "if (gi == 0) Out[id.x] = g[0] + g[1];",
        &["reduction Add 128/128 Tree g+0 -> g[0] + g[1] of 0"],
    );
    check(
        "if (gi == 0) Out[id.x] = (g[0] + g[1]) / 128;",
        &["reduction Add 128/128 Tree g+0 -> g[0] + g[1] of 0"],
    );
    check(
        "if (gi > 0) return; if (Src[0] > 4) return; uint sum = g[0] + g[1]; Out[id.x] = sum;",
        &["reduction Add 128/128 Tree g+0 -> sum of 0"],
    );
    // What it is given to does not last.
    check(
        "if (gi == 0) { uint mean = Sum(g[0], g[1]); mean /= 128; Out[id.x] = mean; }",
        &["reduction Add 128/128 Tree g+0 -> Sum(g[0], g[1]) of 0"],
    );
    check("if (gi == 0) Out[id.x] = Sum(g[0], g[2]);", &[]);
    check("if (gi == 0) Out[id.x] = g[0] + g[2];", &[]);
    check("if (gi == 0) Out[id.x] = g[0] + 2 * g[1];", &[]);
    // Not looked at: a cell is for all threads, and most are gone.
    check("if (gi > 0) return; g[0] += g[1]; Out[id.x] = g[0];", &[]);
}

#[test]
fn a_total_is_a_part_of_what_uses_partial_results() {
    let globals = "groupshared uint g[128]; RWStructuredBuffer<uint> Level;";
    let up = "uint d; for (d = 1; d < 128; d <<= 1) { uint to = 2 * gi * d + 2 * d - 1; if (to < 128) g[to] += g[to - d]; SYNC; }";
    let total = "reduction Add 128/128 Tree g+0 -> g[127]";
    let check = |body: &str, expected: &[&str]| check("128,1,1", globals, body, expected);
    check(&format!("{LOAD} {up} if (gi == 0) Out[0] = g[127];"), &[total]);
    check(
        &format!("{LOAD} {up} if (gi < 2) Out[gi] = g[63 + 64 * gi];"),
        &[],
    );
    check(&format!("{LOAD} {up} if (g[63] > 7) Out[0] = g[127];"), &[]);
    // Every level is stored: a pyramid.
    let levels = "uint v; for (uint s = 64; s > 0; s >>= 1) { if (gi < s) { v = g[gi] + g[gi + s]; g[gi] = v; STORE } SYNC; }";
    let pyramid = |store: &str| {
        format!(
            "{LOAD} {} if (gi == 0) Out[0] = g[0];",
            levels.replace("STORE", store)
        )
    };
    check(&pyramid(""), &["reduction Add 128/128 Tree g+0 -> g[0]"]);
    check(&pyramid("Level[s + gi] = v;"), &[]);
    for used in [
        "if (gi == 0) Out[2] = g[Src[0]];",
        "if (gi == 0) InterlockedAdd(Out[2], g[63]);",
        "if (WaveActiveAnyTrue(g[63] > 3)) Out[2] = 1;",
    ] {
        check(&format!("{LOAD} {up} if (gi == 0) Out[0] = g[127]; {used}"), &[]);
    }
    // Its elements may be used once more.
    check(
        &format!("{LOAD} {up} if (gi == 0) Out[0] = g[127]; Out[id.x + 1] = g[gi & 126];"),
        &[total],
    );
}

/// The first element of a transform is the sum of all elements, and one result of many.
#[test]
fn a_transform_is_no_reduction() {
    let globals = "groupshared uint g[128];";
    let hadamard =
        "for (uint s = 64; s > 0; s >>= 1) { uint at = (gi / s) * 2 * s + gi % s; SYNC; if (gi < 64) {
        uint a = g[at], b = g[at + s]; g[at] = a + b; g[at + s] = OTHER; } } SYNC;";
    let load = "g[gi] = Src[id.x];";
    let total = "reduction Add 128/128 Tree g+0 -> g[0]";
    for other in ["a - b", "(a - b) * (at | 1)"] {
        let steps = hadamard.replace("OTHER", other);
        let check = |results: &str, expected: &[&str]| {
            check("128,1,1", globals, &format!("{load} {steps} {results}"), expected);
        };
        check("if (gi == 0) Out[0] = g[0];", &[total]);
        check("Out[id.x] = g[gi];", &[]);
        check("Out[id.x] = g[127 - gi];", &[]);
    }
    // Means and their like are made of the total.
    let up = "for (uint s = 64; s > 0; s >>= 1) { if (gi < s) g[gi] += g[gi + s]; SYNC; }";
    let mean = "if (gi == 0) { g[1] = g[0] / 128; g[2] = 3 * g[0] + 1; } SYNC; Out[id.x] = g[1] + g[2];";
    check("128,1,1", globals, &format!("{LOAD} {up} {mean}"), &[total]);
}

#[test]
fn elements_counted_by_the_dispatch_are_those_of_its_first_group() {
    let globals = "groupshared uint g[128]; uint count;";
    let ladder = "for (uint s = 64; s > 0; s >>= 1) { if (id.x < s) g[id.x] += g[id.x + s]; SYNC; }";
    let body = format!("g[id.x] = Src[id.x]; SYNC; {ladder} if (id.x == 0) Out[0] = g[0];");
    let total = "reduction Add 128/128 Tree g+0 -> g[0]";
    check("128,1,1", globals, &body, &[total]);
    let source = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n{globals}\n[numthreads(128,1,1)]\n\
         void main(uint3 id : SV_DispatchThreadID) {{ {} }}",
        body.replace("SYNC", "GroupMemoryBarrierWithGroupSync()")
    );
    let shader = shaderlint_hlsl::parse(source.into_bytes()).0;
    let (entry, _) = shader
        .entry_points()
        .next()
        .expect("the test's kernel has an entry point");
    let found = analyze(&shader, entry).collectives;
    let instances = |number: usize| -> Vec<(String, u32)> {
        let instances = found[number].instances.iter();
        instances
            .map(|instance| (instance.bound.clone(), instance.value))
            .collect()
    };
    assert_eq!(instances(0), [("SV_GroupID".to_owned(), 0)]);
    assert!(found[0].rewrite.is_err());
}

/// Where the array begins is no matter to what the ladder is.
#[test]
fn a_ladder_beside_other_elements_is_one() {
    for (offset, length) in [(1, 65), (3, 70), (32, 96)] {
        check(
            "64, 1, 1",
            &format!("groupshared uint g[{length}];"),
            &format!(
                "g[gi + {offset}] = Src[id.x]; SYNC; for (uint s = 1; s < 64; s <<= 1) {{ uint l = gi >= s ? g[gi + {offset} - s] \
                 : 0; SYNC; g[gi + {offset}] += l; SYNC; }} Out[id.x] = g[gi + {offset}];"
            ),
            &[&format!("inclusive Add 64/64 Doubling g+{offset} -> g+{offset}")],
        );
    }
}

/// A choice between two floats is their minimum if neither is NaN, which the proof of a form supposes, and no other proof.
#[test]
fn floats_are_compared_as_numbers() {
    let ladder = "g[gi] = Src[id.x]; SYNC; for (uint s = 32; s > 0; s >>= 1) { if (gi < s && g[gi + s] < g[gi]) \
         g[gi] = g[gi + s]; SYNC; } if (gi == 0) Out[0] = g[0];";
    check(
        "64, 1, 1",
        "groupshared float g[64];",
        ladder,
        &["reduction MinFloat 64/64 Tree g+0 -> g[0]"],
    );
    let shader = |body: &str| {
        let text = format!(
            "StructuredBuffer<float> A, B; RWStructuredBuffer<float> Out;
[numthreads(64, 1, 1)] void main(uint i : SV_DispatchThreadID) {{ float a = A[i], b = B[i]; Out[i] = {body}; }}"
        );
        shaderlint_hlsl::parse(text.into_bytes()).0
    };
    let [chosen, least] = ["a < b ? a : b", "min(a, b)"].map(shader);
    let entry = |shader: &shaderlint_hlsl::Shader| shader.entry_points().next().expect("a kernel").0;
    let sides = [(&chosen, entry(&chosen)), (&least, entry(&least))];
    let proved = |floats| {
        let runs =
            shaderlint_simt::compare_with(floats, sides[0], sides[1], &[shaderlint_simt::LaneMap::Linear]);
        runs.into_iter().all(|run| run.outcome.is_equal())
    };
    assert!(proved(shaderlint_simt::Floats::Numbers));
    assert!(!proved(shaderlint_simt::Floats::Any));
}
