//! Times a Hillis–Steele scan and its wave form on every adapter: the scan alone, repeated inside the kernel.
//!
//! `cargo run --release -p shaderlint-verify --example scans [passes]`

use shaderlint_hlsl::Span;
use shaderlint_verify::run::{Trial, compare_and_time_everywhere};
use shaderlint_verify::{LowerError, Lowered, lower, lower_repeated};

const LADDER: &str = "for (uint s = 1; s < SIZE; s <<= 1) {
        uint v = gi >= s ? g[gi - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        g[gi] += v;
        GroupMemoryBarrierWithGroupSync();
    }";

const WAVES: &str = "{
        uint element = g[gi];
        uint scan = WavePrefixSum(element) + element;
        uint total = WaveActiveSum(element);
        uint wave = gi / WaveGetLaneCount();
        uint lane = WaveGetLaneIndex();
        if (WaveIsFirstLane())
            totals[wave] = total;
        GroupMemoryBarrierWithGroupSync();
        for (uint first = 0; first < wave; first += WaveGetLaneCount())
            scan += WaveActiveSum(first + lane < wave ? totals[first + lane] : 0);
        g[gi] = scan;
        GroupMemoryBarrierWithGroupSync();
    }";

/// The kernel, and the kernel with its scan repeated.
fn kernels(size: u32, scan: &str, passes: u32) -> Result<(Lowered, Lowered), LowerError> {
    let scan = scan.replace("SIZE", &size.to_string());
    let source = format!(
        "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out; groupshared uint g[{size}]; groupshared uint totals[{size}];
[numthreads({size}, 1, 1)]
void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {{
    g[gi] = In[id.x];
    GroupMemoryBarrierWithGroupSync();
    {scan}
    Out[id.x] = g[gi];
}}
"
    );
    let start = source
        .find(&scan)
        .and_then(|at| u32::try_from(at).ok())
        .unwrap_or(0);
    let end = start + u32::try_from(scan.len()).unwrap_or(0);
    let (shader, _) = shaderlint_hlsl::parse(source.into_bytes());
    let Some((entry, _)) = shader.entry_points().next() else {
        return Err(LowerError {
            message: "no entry point".into(),
            span: Span::default(),
        });
    };
    Ok((
        lower(&shader, entry)?,
        lower_repeated(&shader, entry, Span { start, end }, passes)?,
    ))
}

fn main() -> Result<(), LowerError> {
    let passes = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(64);
    for size in [32, 64, 128, 256, 512, 1024] {
        let (ladder, ladder_repeated) = kernels(size, LADDER, passes)?;
        let (waves, waves_repeated) = kernels(size, WAVES, passes)?;
        let mut trial = Trial::new(&ladder, &waves);
        trial.timed = Some((&ladder_repeated, &waves_repeated));
        for (adapter, report) in compare_and_time_everywhere(&trial) {
            match report {
                Ok(report) => {
                    let (lanes, matches) = (report.waves.map_or(0, |w| w.max), report.comparison.is_match());
                    print!("{} {size}: waves of {lanes}, match {matches}", adapter.name);
                    match report.timing {
                        Some(t) => println!(
                            ", {passes} passes over {} threads: ladder {:.3} ms ({:.3}..{:.3}), waves {:.3} ms ({:.3}..{:.3}), copy {:.3} ms, {:.2}x",
                            t.threads,
                            t.flagged.median_ms,
                            t.flagged.min_ms,
                            t.flagged.max_ms,
                            t.fixed.median_ms,
                            t.fixed.min_ms,
                            t.fixed.max_ms,
                            t.copy.median_ms,
                            t.speed_up()
                        ),
                        None => println!(", not timed"),
                    }
                }
                Err(error) => println!("{} {size}: {error}", adapter.name),
            }
        }
    }
    Ok(())
}
