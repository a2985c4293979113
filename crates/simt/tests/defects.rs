//! Defects that are certain, and what is near one and is none.

use shaderlint_hlsl::Shader;
use shaderlint_simt::{Analysis, WaveEffect, analyze};

fn run(threads: &str, globals: &str, body: &str) -> (Shader, Analysis) {
    let source = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; cbuffer Host {{ uint n; uint m; float scale; }};\n\
         groupshared uint g[64];\n{globals}\n[numthreads({threads})]\n\
         void main(uint gi : SV_GroupIndex, uint3 tid : SV_GroupThreadID, uint3 id : SV_DispatchThreadID) {{\n\
         {body}\n}}\n"
    )
    .replace("SYNC", "GroupMemoryBarrierWithGroupSync()");
    let shader = shaderlint_hlsl::parse(source.into_bytes()).0;
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    let analysis = analyze(&shader, entry);
    (shader, analysis)
}

/// Each defect, by kind and witness.
fn found(threads: &str, globals: &str, body: &str) -> Vec<String> {
    let (shader, analysis) = run(threads, globals, body);
    let text = |span: shaderlint_hlsl::Span| String::from_utf8_lossy(span.slice(&shader.text)).into_owned();
    let name = |array: shaderlint_hlsl::GlobalId| shader.globals[array.0 as usize].name.clone();
    let mut all: Vec<String> = Vec::new();
    for found in &analysis.divergences {
        let parted = found.parted.map_or("?".to_owned(), text);
        let given: Vec<String> = found
            .given
            .iter()
            .map(|given| format!(" {} = {}", given.name, given.word))
            .collect();
        all.push(format!(
            "{} here, {} not: {parted}{}",
            found.here,
            found.away,
            given.concat()
        ));
    }
    for found in &analysis.out_of_bounds {
        let verb = if found.access.is_write { "writes" } else { "reads" };
        all.push(format!(
            "{} {verb} {}[{}]",
            found.access.thread,
            name(found.array),
            found.index
        ));
    }
    for found in analysis.races.iter().filter(|race| !race.given.is_empty()) {
        let given = found.given.iter();
        let given: Vec<String> = given
            .map(|given| format!(" {} = {}", given.bound, given.value))
            .collect();
        all.push(format!(
            "race on {}[{}]{}",
            name(found.array),
            found.index,
            given.concat()
        ));
    }
    for found in &analysis.uninitialised {
        all.push(format!(
            "{} reads {}[{}] unwritten",
            found.read.thread,
            name(found.array),
            found.index
        ));
    }
    all
}

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    assert_eq!(found("64, 1, 1", "", body), expected, "{body}");
}

#[test]
fn barriers_that_some_threads_do_not_reach() {
    check("if (gi < 32) { SYNC; }", &["0 here, 32 not: gi < 32"]);
    check(
        "if (gi < 32) { Out[gi] = 1; } else { SYNC; }",
        &["32 here, 0 not: gi < 32"],
    );
    check(
        "if (gi >= 48) return; SYNC; Out[gi] = 1;",
        &["0 here, 48 not: return;"],
    );
    check(
        "for (uint i = 0; i < gi; ++i) { SYNC; }",
        &["1 here, 0 not: i < gi"],
    );
    check("if (n > 3) { if (gi < 32) SYNC; }", &["0 here, 32 not: gi < 32"]);
    check("g[gi] = gi; SYNC; if (gi < 32) Out[gi] = g[gi + 1]; SYNC;", &[]);
    check("if (n > 3) SYNC;", &[]);
    check("if (n > 3) return; SYNC;", &[]);
    check("if (Src[gi] > 3) return; SYNC;", &[]);
    check("if (Src[gi] > 3) { SYNC; }", &[]);
    check("LEAVE(gi < 32); SYNC;", &[]);
    // Those that others wait for went another way before.
    check("if (gi < 32) { if (n > 3) SYNC; }", &["0 here, 32 not: gi < 32"]);
    check(
        "if (gi < 32) { if (Src[gi] > 3) SYNC; }",
        &["0 here, 32 not: gi < 32"],
    );
    check("if (gi < 32) { if ((n & 3) > 3) SYNC; }", &[]);
}

#[test]
fn a_bound_of_the_host_may_part_the_group() {
    check(
        "if (id.x >= n) return; SYNC;",
        &["0 here, 63 not: return; n = 33"],
    );
    check("if (id.x < n) { SYNC; }", &["0 here, 63 not: id.x < n n = 33"]);
    check(
        "if (id.x >= n || gi >= m) return; SYNC;",
        &["0 here, 63 not: return; n = 33 m = 1048576"],
    );
    check(
        "if (gi >= scale) return; SYNC;",
        &["0 here, 63 not: return; scale = 1107558400"],
    );
    check("if (id.x / 64 >= n) return; SYNC;", &[]);
    check("if (id.x >= n * 64) return; SYNC;", &[]);
    check("if (n % 64 != 0) return; if (id.x >= n) return; SYNC;", &[]);
    check("if (id.x >= Src[0]) return; SYNC;", &[]);
    let tiles = |before: &str, head: &str, body: &str| {
        format!("{before} for (uint t = 0; {head}; t += 64) {{ {body} }}")
    };
    let sum = "g[gi] = Src[t + gi]; SYNC; Out[gi] += g[63 - gi]; SYNC;";
    let leave = "if (id.x >= n) return;";
    check(&tiles(leave, "t < n", sum), &["0 here, 63 not: return; n = 33"]);
    check(
        &tiles(leave, "t < m", sum),
        &["0 here, 63 not: return; n = 33 m = 1048576"],
    );
    check(&tiles("", "t < n", sum), &[]);
    check(&tiles("", "id.x + t < n", sum), &["0 here, 63 not: ? n = 33"]);
    check(&tiles("if (id.x >= n * 64) return;", "t < n", sum), &[]);
    check(&tiles(leave, "t < Src[0]", sum), &[]);
    check(
        &tiles(leave, "t < n", &format!("if (Src[t] > 3) break; {sum}")),
        &[],
    );
    check(&tiles(leave, "t < n", "if (t > 64) { SYNC; }"), &[]);
    check(&tiles(leave, "t < n", &format!("UNHEARD(t); {sum}")), &[]);
}

#[test]
fn races_between_passes() {
    let tile = "g[gi] = Src[i * 64 + gi]; SYNC; sum += g[63 - gi];";
    let pass = |head: &str, after: &str| {
        format!("uint sum = 0; for (uint i = 0; {head}; ++i) {{ {tile} {after} }} Out[id.x] = sum;")
    };
    check(&pass("i < n", ""), &["race on g[0] n = 2"]);
    check(&pass("i < n", "SYNC;"), &[]);
    check(&pass("i < (n + 63) / 64", ""), &["race on g[0] n = 128"]);
    check(&pass("i < Src[3]", ""), &["race on g[0] Src[3] = 2"]);
    check(&pass("i < min(n, 1)", ""), &[]);
    // The loop does not get to a second pass, or nothing is known of that.
    check(&pass("i < n", "if (Src[i] > 3) break;"), &[]);
    check(&pass("i < LEFT(i)", ""), &[]);
    // What may be the number of threads by intent, and then races no more.
    check("g[gi % n] = gi; for (uint i = 0; i < n; ++i) { SYNC; }", &[]);
    check("for (uint i = 0; i < n; ++i) { g[gi % n] = gi; SYNC; }", &[]);
    check(
        "for (uint s = n / 2; s > 0; s /= 2) { if (gi < s) g[gi] += g[gi + s]; SYNC; } Out[gi] = g[0];",
        &[],
    );
}

#[test]
fn accesses_outside() {
    check("g[gi + 1] = gi;", &["63 writes g[64]"]);
    check("g[gi - 1] = gi;", &["0 writes g[-1]"]);
    check("if (gi < 63) g[gi + 1] = gi;", &[]);
    check("if (id.x < n) g[gi + 1] = gi;", &[]);
    check("g[gi] = gi; SYNC; Out[gi] = g[gi + 1];", &["63 reads g[64]"]);
    check("g[gi] = gi; SYNC; Out[gi] = gi < 63 ? g[gi + 1] : 0;", &[]);
    check(
        "g[gi] = gi; SYNC; uint v = g[gi + 1]; if (gi < 63) Out[gi] = v;",
        &[],
    );
    check(
        "g[gi] = gi; SYNC; uint v = g[gi + 1]; Out[gi] = v + 3;",
        &["63 reads g[64]"],
    );
    check("g[gi] = gi; SYNC; uint v = g[gi + 1]; Out[gi] = min(v, 3);", &[]);
    check("g[Src[gi]] = gi;", &[]);
}

/// What was copied from a cell that nothing was written to is not that of the cell it was copied to. The copy races.
#[test]
fn a_cell_that_a_copy_was_written_to_is_written() {
    for body in [
        "if (gi == 1) g[gi] = g[0]; else g[gi] = Src[gi]; SYNC; Out[gi] = g[gi];",
        "if (gi == 0) g[1] = g[0]; SYNC; if (gi == 2) Out[gi] = g[1];",
    ] {
        let found = found("64, 1, 1", "", body);
        assert!(
            !found.iter().any(|one| one.contains("g[1] unwritten")),
            "{found:?}"
        );
    }
    check("if (gi == 2) Out[gi] = g[1];", &["2 reads g[1] unwritten"]);
}

#[test]
fn reads_of_what_nobody_wrote() {
    check(
        "if (gi < 63) g[gi] = gi; SYNC; Out[gi] = g[gi];",
        &["63 reads g[63] unwritten"],
    );
    check("Out[gi] = g[gi];", &["0 reads g[0] unwritten"]);
    check(
        "if (gi == 0) Out[gi] = g[gi]; g[gi] = 3;",
        &["0 reads g[0] unwritten"],
    );
    check("g[gi] += 1; SYNC; Out[gi] = g[gi];", &["0 reads g[0] unwritten"]);
    // Another thread may come first, and what is not known may have written.
    check("if (gi == 0) Out[gi] = g[1]; if (gi == 1) g[1] = 3;", &[]);
    check("g[Src[gi]] = 1; SYNC; Out[gi] = g[gi];", &[]);
    check("Out[gi] = g[0]; g[Src[gi]] = 1;", &[]);
    check("CLEAR(g); SYNC; Out[gi] = g[gi];", &[]);
    check("CLEAR; SYNC; Out[gi] = g[gi];", &[]);
    check("if (n > 3) g[gi] = gi; SYNC; if (n > 3) Out[gi] = g[gi];", &[]);
    check(
        "if (gi < 63) g[gi] = gi; SYNC; uint v = g[gi]; if (gi < 63) Out[gi] = v;",
        &[],
    );
}

/// The sizes at which a kernel is wrong, and what is wrong there.
fn waves(threads: &str, body: &str) -> String {
    let globals = "groupshared uint totals[64]; groupshared uint few[2]; groupshared uint total;";
    let (shader, analysis) = run(threads, globals, body);
    let Some(found) = analysis.wave_dependence else {
        return "none".to_owned();
    };
    let what = match &found.effect {
        WaveEffect::OutOfBounds(access) => {
            format!(
                "{}[{}]",
                shader.globals[access.array.0 as usize].name, access.index
            )
        }
        WaveEffect::Races(race) => format!("race [{}]", race.index),
        WaveEffect::Differs { place, got, .. } => format!("{place} is {got}"),
    };
    format!("{:?} {}: {what}", found.sizes, found.map.name())
}

#[test]
fn results_that_depend_on_the_waves() {
    let sum = |wave: &str, totals: &str, count: &str| {
        format!(
            "uint x = Src[gi]; uint own = WaveActiveSum(x); uint wave = {wave};
             if (WaveIsFirstLane()) {totals}[wave] = own; SYNC;
             uint sum = 0; for (uint i = 0; i < {count}; ++i) sum += {totals}[i];
             Out[gi] = sum;"
        )
    };
    let adapts = sum(
        "gi / WaveGetLaneCount()",
        "totals",
        "(64 + WaveGetLaneCount() - 1) / WaveGetLaneCount()",
    );
    assert_eq!(waves("64, 1, 1", &adapts), "none");
    // The lanes of a row-by-row or quad-wise wave are not of one quotient.
    assert!(
        waves("8, 8, 1", &adapts).contains("row by row"),
        "{}",
        waves("8, 8, 1", &adapts)
    );
    let of_32 = sum("gi / 32", "totals", "2");
    assert!(
        waves("64, 1, 1", &of_32).starts_with("[4, 8, 16] linear: race"),
        "{}",
        waves("64, 1, 1", &of_32)
    );
    let short = sum("gi / WaveGetLaneCount()", "few", "2");
    assert_eq!(waves("64, 1, 1", &short), "[4, 8, 16] linear: few[2]");
    assert_eq!(waves("64, 1, 1", "Out[gi] = WaveActiveSum(Src[gi]);"), "none");
    let one_wave = "if (gi == 0) total = 0; SYNC; uint x = WaveActiveSum(Src[gi]); if (gi == 0) total = x; SYNC; Out[gi] = total;";
    assert!(
        waves("64, 1, 1", one_wave).starts_with("[4, 8, 16, 32] linear: Out[0] is Src[0] + "),
        "{}",
        waves("64, 1, 1", one_wave)
    );
    assert_eq!(
        waves(
            "32, 1, 1",
            "uint n = WaveGetLaneCount(); if (n == 32) { g[gi] = WavePrefixSum(Src[gi]); SYNC; Out[gi] = g[31 - gi]; }"
        ),
        "none"
    );
}

#[test]
fn a_barrier_under_a_guard_that_never_holds_is_none() {
    let body = |condition: &str| {
        format!("uint mode = n & 3; if ({condition}) {{ if (gi < 5) SYNC; }} Out[id.x] = 1;")
    };
    assert_eq!(found("64, 1, 1", "", &body("mode > 3")), Vec::<String>::new());
    assert_eq!(found("64, 1, 1", "", &body("mode > 2")).len(), 1);
}
