//! How fast text is preprocessed: as it comes, and dense with macro calls.

use std::fmt::Write;

use divan::Bencher;
use divan::counter::BytesCount;
use shaderlint_hlsl::{NoIncludes, preprocess};

fn main() {
    divan::main();
}

const KERNEL: &str = "
// Each thread adds the element that is `offset` before it.
[numthreads(64, 1, 1)]
void scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{
    shared_values[gi] = input[id.x]; /* in place */
    GroupMemoryBarrierWithGroupSync();
    for (uint offset = 1; offset < 64; offset <<= 1)
    {
        uint before = gi >= offset ? shared_values[gi - offset] : 0;
        GroupMemoryBarrierWithGroupSync();
        shared_values[gi] += before;
        GroupMemoryBarrierWithGroupSync();
    }
    output[id.x] = shared_values[gi];
}
";

fn measure(bencher: Bencher, text: &str) {
    bencher
        .counter(BytesCount::of_str(text))
        .bench(|| preprocess("bench.hlsl", text.as_bytes(), &[], &NoIncludes));
}

#[divan::bench]
fn plain(bencher: Bencher) {
    measure(bencher, &KERNEL.repeat(2_000));
}

/// 200 macros defined of which none is called.
#[divan::bench]
fn with_definitions(bencher: Bencher) {
    let mut text = String::new();
    for index in 0..200 {
        writeln!(text, "#define Setting_{index}_of_shader(a) ((a) + {index})")
            .expect("a string can be written to");
    }
    measure(bencher, &(text + &KERNEL.repeat(2_000)));
}

#[divan::bench]
fn skipped(bencher: Bencher) {
    measure(bencher, &format!("#if 0\n{}\n#endif\n", KERNEL.repeat(2_000)));
}

#[divan::bench]
fn calls(bencher: Bencher) {
    let line = "    value = MAX(LOAD(gi), LOAD(gi + STEP)) * SCALE;\n";
    let text = "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n#define LOAD(i) shared_values[(i) & 63]\n\
                #define STEP 4\n#define SCALE 2.0f\n"
        .to_owned();
    measure(bencher, &(text + &line.repeat(10_000)));
}
