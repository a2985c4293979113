//! One proof by shape and group size, and what a kernel costs in which there is nothing to prove: parse excluded.

use divan::Bencher;
use shaderlint_hlsl::Shader;

const SIZES: [u32; 5] = [64, 128, 256, 512, 1024];

/// In a kernel without a candidate.
const LOOPS: [usize; 3] = [0, 100, 1000];

const HILLIS_STEELE: &str = "
    for (uint s = 1; s < N; s <<= 1) {
        uint v = (gi >= s) ? g[gi - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        g[gi] += v;
        GroupMemoryBarrierWithGroupSync();
    }
    Out[gi] = g[gi];";

const BLELLOCH: &str = "
    for (uint up = 1; up < N; up <<= 1) {
        uint right = 2 * up * (gi + 1) - 1;
        if (right < N) g[right] += g[right - up];
        GroupMemoryBarrierWithGroupSync();
    }
    if (gi == 0) g[N - 1] = 0;
    for (uint down = N / 2; down > 0; down >>= 1) {
        GroupMemoryBarrierWithGroupSync();
        uint right = 2 * down * (gi + 1) - 1;
        if (right < N) {
            uint left = g[right - down];
            g[right - down] = g[right];
            g[right] += left;
        }
    }
    GroupMemoryBarrierWithGroupSync();
    Out[gi] = g[gi];";

const REDUCTION: &str = "
    for (uint s = N / 2; s > 0; s >>= 1) {
        if (gi < s) g[gi] += g[gi + s];
        GroupMemoryBarrierWithGroupSync();
    }
    if (gi == 0) Out[0] = g[0];";

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

/// A kernel that loads an element a thread and goes through a ladder of as many elements, here called `N`.
fn kernel(ladder: &str, lanes: u32) -> Shader {
    let source = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[N];
[numthreads(N, 1, 1)]
void main(uint gi : SV_GroupIndex) {{
    g[gi] = Src[gi];
    GroupMemoryBarrierWithGroupSync();{ladder}
}}"
    );
    shaderlint_hlsl::parse(source.replace('N', &lanes.to_string()).into_bytes()).0
}

fn analyze(bencher: Bencher, shader: &Shader, collectives: usize) {
    let (entry, _) = shader.entry_points().next().expect("a kernel");
    let found = shaderlint_simt::analyze(shader, entry).collectives;
    assert_eq!(found.len(), collectives);
    bencher.bench_local(|| shaderlint_simt::analyze(shader, entry));
}

#[divan::bench(args = SIZES)]
fn hillis_steele(bencher: Bencher, lanes: u32) {
    analyze(bencher, &kernel(HILLIS_STEELE, lanes), 1);
}

#[divan::bench(args = SIZES)]
fn blelloch(bencher: Bencher, lanes: u32) {
    analyze(bencher, &kernel(BLELLOCH, lanes), 1);
}

#[divan::bench(args = SIZES)]
fn tree_reduction(bencher: Bencher, lanes: u32) {
    analyze(bencher, &kernel(REDUCTION, lanes), 1);
}

/// A kernel without groupshared memory, barriers and atomics.
fn plain(loops: usize) -> String {
    let body =
        "    for (uint i = 0; i < 64; ++i) { sum = sum * 3 + Src[(id.x + i) & 1023]; }\n".repeat(loops);
    format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {{
    uint sum = 0;
{body}    Out[id.x] = sum;
}}"
    )
}

/// It is not run however long it is, only looked through.
#[divan::bench(args = LOOPS)]
fn no_candidate(bencher: Bencher, loops: usize) {
    analyze(bencher, &shaderlint_hlsl::parse(plain(loops).into_bytes()).0, 0);
}

/// For comparison, what it takes to read such a kernel.
#[divan::bench(args = LOOPS)]
fn no_candidate_read(bencher: Bencher, loops: usize) {
    let text = plain(loops).into_bytes();
    bencher.bench_local(|| shaderlint_hlsl::parse(text.clone()));
}
