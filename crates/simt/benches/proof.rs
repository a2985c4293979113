//! One proof of a Hillis–Steele ladder, by group size: parse excluded.

use shaderlint_hlsl::Shader;

fn main() {
    divan::main();
}

fn ladder(lanes: u32) -> Shader {
    let source = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[{lanes}];
[numthreads({lanes}, 1, 1)]
void main(uint gi : SV_GroupIndex) {{
    g[gi] = Src[gi];
    GroupMemoryBarrierWithGroupSync();
    for (uint s = 1; s < {lanes}; s <<= 1) {{
        uint v = (gi >= s) ? g[gi - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        g[gi] += v;
        GroupMemoryBarrierWithGroupSync();
    }}
    Out[gi] = g[gi];
}}"
    );
    shaderlint_hlsl::parse(source.into_bytes()).0
}

#[divan::bench(args = [64, 256, 1024])]
fn analyze(bencher: divan::Bencher, lanes: u32) {
    let shader = ladder(lanes);
    let Some((entry, _)) = shader.entry_points().next() else {
        return;
    };
    bencher.bench_local(|| shaderlint_simt::analyze(&shader, entry));
}
