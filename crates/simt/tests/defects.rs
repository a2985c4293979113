//! Defects that are certain, and what is near one and is none.

use shaderlint_hlsl::Shader;
use shaderlint_simt::{Analysis, analyze};

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
            .map(|(name, value)| format!(" {name} = {value}"))
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
