//! Whole kernels: scans, atomics, counters, waves; a flagged kernel against its fix.

mod support;

use std::collections::BTreeSet;

use shaderlint_verify::lower_repeated;
use shaderlint_verify::run::{
    InputPlan, Inputs, Mode, RunError, TimingPlan, Trial, make_inputs, probe_waves, time,
};
use support::{check_out, compared, devices, execute, lowered, sample, shader, span_of, words};

fn scan_kernel(size: u32, ty: &str, ladder: &str) -> String {
    format!(
        "StructuredBuffer<{ty}> In; RWStructuredBuffer<{ty}> Out;
groupshared {ty} g[{size}]; groupshared {ty} h[{size}]; groupshared {ty} totals[{size}];
[numthreads({size}, 1, 1)]
void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {{
    g[gi] = In[id.x];
    GroupMemoryBarrierWithGroupSync();
    {ladder}
    Out[id.x] = g[gi];
}}
"
    )
}

const SINGLE: &str = "for (uint s = 1; s < SIZE; s <<= 1) {
        TYPE v = gi >= s ? g[gi - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        g[gi] += v;
        GroupMemoryBarrierWithGroupSync();
    }";

const DOUBLE: &str = "bool flip = false;
    for (uint s = 1; s < SIZE; s *= 2) {
        if (flip) g[gi] = gi >= s ? h[gi] + h[gi - s] : h[gi];
        else h[gi] = gi >= s ? g[gi] + g[gi - s] : g[gi];
        flip = !flip;
        GroupMemoryBarrierWithGroupSync();
    }
    if (flip) g[gi] = h[gi];
    GroupMemoryBarrierWithGroupSync();";

const WAVES: &str = "{
    TYPE element = g[gi];
    TYPE scan = WavePrefixSum(element) + element;
    TYPE total = WaveActiveSum(element);
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

fn scan(size: u32, ty: &str, ladder: &str) -> String {
    let ladder = ladder.replace("SIZE", &size.to_string()).replace("TYPE", ty);
    scan_kernel(size, ty, &ladder)
}

#[test]
fn every_scan_is_the_prefix_sum() {
    for size in [32, 64, 256, 1024] {
        for ladder in [SINGLE, DOUBLE, WAVES] {
            let kernel = lowered(&scan(size, "uint", ladder));
            for device in devices() {
                let groups = [3, 1, 1];
                let inputs = make_inputs(&[&kernel], groups, &InputPlan::default());
                let input = words(&inputs.buffers["In"]);
                let out = &execute(&device, &kernel, &inputs, groups)["Out"];
                for (input, out) in input.chunks(size as usize).zip(out.chunks(size as usize)) {
                    let mut sum = 0u32;
                    for (x, got) in input.iter().zip(out) {
                        sum = sum.wrapping_add(*x);
                        assert_eq!(*got, sum, "{size} on {}: {ladder}", device.info.name);
                    }
                }
            }
        }
    }
}

#[test]
fn a_right_fix_matches_and_a_wrong_one_does_not() {
    let flagged = lowered(&scan(256, "uint", SINGLE));
    let fixed = lowered(&scan(256, "uint", WAVES));
    let wrong = lowered(&scan(
        256,
        "uint",
        &WAVES.replace("first < wave;", "first + 1 < wave;"),
    ));
    for (right, fixed) in [(true, &fixed), (false, &wrong)] {
        let mut trial = Trial::new(&flagged, fixed);
        trial.timing = Some(TimingPlan {
            groups: 8,
            dispatches: 1,
            runs: 15,
            warm_up: 1,
        });
        for (adapter, report) in compared(&trial) {
            let report = report.unwrap();
            assert_eq!(report.is_match(), right, "{adapter:?}: {:?}", report.comparisons);
            let first = &report.comparisons[0];
            assert_eq!(first.first.is_some(), !right);
            assert!(first.written > 700);
            let waves = report.waves.unwrap();
            assert!(waves.is_linear && waves.min >= 4 && waves.max <= 128, "{waves:?}");
            if right && adapter.has_timestamps {
                let timing = report.timing.unwrap();
                assert!(timing.flagged.min_ms > 0.0 && timing.flagged.min_ms <= timing.flagged.median_ms);
                assert!(timing.fixed.median_ms <= timing.fixed.max_ms && timing.speed_up() > 0.0);
            }
        }
    }
}

#[test]
fn floats_match_within_their_bound() {
    let flagged = lowered(&scan(128, "float", SINGLE));
    let fixed = lowered(&scan(128, "float", WAVES));
    let mut trial = Trial::new(&flagged, &fixed);
    trial.timing = Some(TimingPlan {
        groups: 1,
        dispatches: 1,
        runs: 15,
        warm_up: 0,
    });
    trial.depth = Some(7 + 64);
    for (_, report) in compared(&trial) {
        let report = report.unwrap();
        assert!(report.is_match(), "{:?}", report.comparisons);
    }
}

#[test]
fn the_ladder_alone_is_repeated() {
    let source = scan(64, "uint", SINGLE);
    let shader = shader(&source);
    let (entry, _) = shader.entry_points().next().unwrap();
    let ladder = span_of(&source, &SINGLE.replace("SIZE", "64").replace("TYPE", "uint"));
    let twice = lower_repeated(&shader, entry, ladder, 2).unwrap();
    let text = shaderlint_verify::wgsl(&twice, false).unwrap();
    assert!(naga::front::wgsl::parse_str(&text).is_ok(), "{text}");
    for device in devices() {
        let inputs = make_inputs(&[&twice], [1, 1, 1], &InputPlan::default());
        let out = &execute(&device, &twice, &inputs, [1, 1, 1])["Out"];
        let mut expected = words(&inputs.buffers["In"]);
        for _ in 0..2 {
            let mut sum = 0u32;
            for x in &mut expected {
                sum = sum.wrapping_add(*x);
                *x = sum;
            }
        }
        assert_eq!(out, &expected);
    }
    let nowhere = lower_repeated(&shader, entry, shaderlint_hlsl::Span { start: 0, end: 3 }, 2).unwrap_err();
    assert!(nowhere.message.contains("nothing to repeat"), "{nowhere}");
}

#[test]
fn atomics_return_the_old_value() {
    let source = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out;
groupshared uint bins[8]; groupshared int low; struct Cell { uint pad; uint count; }; groupshared Cell cells[2];
RWByteAddressBuffer Bytes;
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) {
    if (gi < 8) bins[gi] = 0;
    if (gi == 0) { low = 1000; cells[1].count = 5; cells[1].pad = 1; }
    GroupMemoryBarrierWithGroupSync();
    uint before; InterlockedAdd(bins[In[gi] & 7], 1, before);
    InterlockedMin(low, (int)In[gi]);
    InterlockedAdd(cells[1].count, 2);
    uint old; Bytes.InterlockedOr(4, 1u << (gi & 31), old);
    uint seen; InterlockedCompareExchange(bins[7], 0xffffffff, 0, seen);
    GroupMemoryBarrierWithGroupSync();
    Cell c = cells[1];
    Out[gi] = gi < 8 ? bins[gi] : gi == 8 ? (uint)low : gi == 9 ? c.count + c.pad : gi == 10 ? Bytes.Load(4) : before < 64 && (seen <= 64) ? 1 : 0;
}";
    let input = sample();
    check_out(source, &input, |_, out| {
        for bin in 0..8 {
            let expected = input.iter().filter(|x| **x & 7 == bin).count();
            assert_eq!(out[bin as usize] as usize, expected, "bin {bin}");
        }
        assert_eq!(
            out[8].cast_signed(),
            input.iter().map(|x| x.cast_signed()).min().unwrap()
        );
        assert_eq!(out[9], 5 + 128 + 1);
        assert!(out[11..].iter().all(|x| *x == 1));
    });
}

#[test]
fn claimed_slots_match_in_any_order() {
    let per_lane = "RWStructuredBuffer<uint> Out; RWStructuredBuffer<uint> Next;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) { if (id.x % 3 == 0) return; uint slot; InterlockedAdd(Next[0], 1, slot); Out[slot] = id.x; }";
    let per_wave = per_lane.replace(
        "InterlockedAdd(Next[0], 1, slot);",
        "uint n = WaveActiveCountBits(true); uint before = WavePrefixCountBits(true); if (WaveIsFirstLane()) InterlockedAdd(Next[0], n, slot); slot = WaveReadLaneFirst(slot) + before;",
    );
    let (flagged, fixed) = (lowered(per_lane), lowered(&per_wave));
    assert!(flagged.bindings.iter().any(|b| b.name == "Next" && b.is_atomic));
    let mut trial = Trial::new(&flagged, &fixed);
    trial.unordered = BTreeSet::from(["Out".to_owned()]);
    trial.timing = Some(TimingPlan {
        groups: 16,
        dispatches: 2,
        runs: 15,
        warm_up: 1,
    });
    for (_, report) in compared(&trial) {
        let report = report.unwrap();
        assert!(report.is_match(), "{:?}", report.comparisons);
    }
}

#[test]
fn hidden_counters_count() {
    let source = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out; AppendStructuredBuffer<uint2> List;
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) { if (In[gi] > 40) List.Append(uint2(gi, In[gi])); Out[gi] = Out.IncrementCounter(); }";
    let kernel = lowered(source);
    let names: Vec<&str> = kernel.bindings.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["In", "Out", "Out.counter", "List", "List.counter"]);
    for device in devices() {
        let mut plan = InputPlan::default();
        plan.contents
            .insert("In".into(), sample().into_iter().map(f64::from).collect());
        let inputs = make_inputs(&[&kernel], [1, 1, 1], &plan);
        let left = execute(&device, &kernel, &inputs, [1, 1, 1]);
        let expected = sample().iter().filter(|x| **x > 40).count();
        assert_eq!(left["List.counter"], [u32::try_from(expected).unwrap()]);
        assert_eq!(left["Out.counter"], [64]);
        let mut tickets = left["Out"].clone();
        tickets.sort_unstable();
        assert!(tickets.iter().copied().eq(0..64));
        let mut listed: Vec<&[u32]> = left["List"].chunks(2).take(expected).collect();
        listed.sort_unstable();
        assert!(listed.iter().all(|pair| sample()[pair[0] as usize] == pair[1]));
    }
}

#[test]
fn wave_intrinsics_see_their_wave() {
    let source = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out;
uint lanes() { return WaveGetLaneCount() * 1000 + WaveGetLaneIndex(); }
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) {
    uint x = In[gi];
    bool odd = x & 1;
    uint4 ballot = WaveActiveBallot(odd);
    uint o = gi * 16;
    Out[o] = lanes();
    Out[o + 1] = WaveIsFirstLane() ? 1 : 0;
    Out[o + 2] = WaveActiveSum(x);
    Out[o + 3] = WavePrefixSum(x);
    Out[o + 4] = WaveActiveMin(x);
    Out[o + 5] = (uint)WaveActiveMax((int)x);
    Out[o + 6] = WaveActiveBitAnd(x) + WaveActiveBitOr(x) * 3 + WaveActiveBitXor(x) * 5;
    Out[o + 7] = WaveActiveCountBits(odd) * 100 + WavePrefixCountBits(odd);
    Out[o + 8] = ballot.x;
    Out[o + 9] = WaveReadLaneAt(x, 2);
    Out[o + 10] = WaveReadLaneFirst(x);
    Out[o + 11] = (WaveActiveAllTrue(x < 100) ? 1 : 0) + (WaveActiveAnyTrue(x == 7) ? 2 : 0) + (WaveActiveAllEqual(x) ? 4 : 0);
    Out[o + 12] = WavePrefixProduct(x | 1);
    Out[o + 13] = WaveActiveProduct(x | 1);
    Out[o + 14] = WaveReadLaneFirst(odd) ? 1 : 0;
    uint n = 0;
    if (gi % 3 == 1) n = WaveActiveCountBits(true);
    Out[o + 15] = n;
}";
    let kernel = lowered(source);
    let input = sample();
    for device in devices() {
        let mut plan = InputPlan {
            elements_per_thread: 16,
            ..InputPlan::default()
        };
        plan.contents
            .insert("In".into(), input.iter().copied().map(f64::from).collect());
        let inputs = make_inputs(&[&kernel], [1, 1, 1], &plan);
        let out = &execute(&device, &kernel, &inputs, [1, 1, 1])["Out"];
        let seen = probe_waves(&device, [64, 1, 1]).unwrap();
        let size = seen.max as usize;
        println!("{}: waves of {size}", device.info.name);
        for gi in 0..64usize {
            let (first, lane) = (gi / size * size, gi % size);
            let wave = &input[first..first + size.min(64)];
            let before = &wave[..lane];
            let sum = |xs: &[u32]| xs.iter().fold(0u32, |a, x| a.wrapping_add(*x));
            let product = |xs: &[u32]| xs.iter().fold(1u32, |a, x| a.wrapping_mul(x | 1));
            let odd = |xs: &[u32]| u32::try_from(xs.iter().filter(|x| **x & 1 == 1).count()).unwrap();
            let fold = |f: fn(u32, u32) -> u32| wave.iter().copied().reduce(f).unwrap();
            let threes = (first..first + wave.len()).filter(|i| i % 3 == 1).count();
            let expected = [
                u32::try_from(size * 1000 + lane).unwrap(),
                u32::from(lane == 0),
                sum(wave),
                sum(before),
                *wave.iter().min().unwrap(),
                wave.iter()
                    .map(|x| x.cast_signed())
                    .max()
                    .unwrap()
                    .cast_unsigned(),
                fold(|a, b| a & b)
                    .wrapping_add(fold(|a, b| a | b).wrapping_mul(3))
                    .wrapping_add(fold(|a, b| a ^ b).wrapping_mul(5)),
                odd(wave) * 100 + odd(before),
                (0u32..32).zip(wave).map(|(i, x)| (x & 1) << i).sum(),
                wave[2],
                wave[0],
                u32::from(wave.iter().all(|x| *x < 100))
                    + 2 * u32::from(wave.contains(&7))
                    + 4 * u32::from(wave.iter().all(|x| *x == wave[0])),
                product(before),
                product(wave),
                wave[0] & 1,
                if gi % 3 == 1 {
                    u32::try_from(threes).unwrap()
                } else {
                    0
                },
            ];
            for (at, expected) in expected.iter().enumerate() {
                assert_eq!(
                    out[gi * 16 + at],
                    *expected,
                    "thread {gi}, value {at}, on {}",
                    device.info.name
                );
            }
        }
    }
}

#[test]
fn flat_groups_show_their_lane_map() {
    for device in devices() {
        for size in [[64, 1, 1], [8, 8, 1], [4, 4, 4]] {
            let waves = probe_waves(&device, size).unwrap();
            println!(
                "{} {size:?}: {}..{}, linear {}",
                device.info.name, waves.min, waves.max, waves.is_linear
            );
            assert_eq!(waves.first_lanes.len(), 64);
            assert!((0u32..).zip(&waves.first_lanes).all(|(gi, first)| *first <= gi));
        }
    }
}

/// A group of rows keeps its shape, and with it its true waves, unless lane ids are asked for.
#[test]
fn groups_of_rows_are_one_row_where_lanes_have_ids() {
    let source = "RWStructuredBuffer<uint> Out;
[numthreads(8, 8, 1)]
void main(uint gi : SV_GroupIndex) {
    Out[gi] = WaveReadLaneAt(gi, WaveGetLaneIndex()) + 100 * (gi % WaveGetLaneCount() == WaveGetLaneIndex() ? 1 : 0);
}";
    assert_eq!(lowered(source).workgroup_size, [64, 1, 1]);
    check_out(source, &[], |_, out| assert!(out.iter().copied().eq(100..164)));
    let source = "RWStructuredBuffer<uint> Out;
uint First(uint gi) { return WaveIsFirstLane() ? gi : 0; }
[numthreads(8, 8, 1)]
void main(uint gi : SV_GroupIndex) { Out[gi] = WaveActiveSum(First(gi)) + (WaveReadLaneFirst(gi) << 16); }";
    assert_eq!(lowered(source).workgroup_size, [8, 8, 1]);
    check_out(source, &[], |_, out| {
        assert!(out.iter().all(|first| first >> 16 == first & 0xFFFF));
    });
}

#[test]
fn what_a_device_cannot_do_is_an_error() {
    let kernel = lowered(&scan(64, "uint", SINGLE));
    // Of 16 bytes each in WGSL.
    let shared = lowered(
        "RWStructuredBuffer<uint> Out; groupshared uint3 g[16384]; groupshared float f;
        [numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) { g[i] = i; f = 1; Out[i] = g[i].x + f; }",
    );
    assert_eq!(shared.shared_bytes(), (16 << 14) + 4);
    for device in devices() {
        let said = device.compile(&shared, Mode::Checked).err();
        let said = said.map(|error| error.to_string()).unwrap_or_default();
        let expected = "too large for the adapter: 262148 bytes of groupshared memory, as WGSL lays it out, the limit is ";
        assert!(said.starts_with(expected), "{said}");
        let small = make_inputs(&[&kernel], [1, 1, 1], &InputPlan::default());
        let run = |inputs: &Inputs, groups: [u32; 3]| {
            let compiled = device.compile(&kernel, Mode::Checked)?;
            compiled.run(&device, inputs, groups)
        };
        let too_many = run(&small, [u32::MAX, 1, 1]);
        assert!(matches!(too_many, Err(RunError::TooLarge(_))), "{too_many:?}");
        let nothing = run(&Inputs::default(), [1, 1, 1]);
        assert!(matches!(nothing, Err(RunError::Input(_))), "{nothing:?}");
        let plan = TimingPlan {
            groups: 4,
            dispatches: 3,
            runs: 1,
            warm_up: 0,
        };
        if let Some(timing) = time(&device, &kernel, &kernel, &InputPlan::default(), plan).unwrap() {
            assert_eq!((timing.threads, timing.plan.runs), (4 * 3 * 64, 15));
        }
    }
}

/// What has no WGSL form is some function of what it is given, the same in every kernel.
#[test]
fn textures_and_missing_functions_are_hashes_of_their_arguments() {
    let source = "Texture2D<float4> Image; SamplerState Linear; Texture2D<uint> Other; RWStructuredBuffer<uint> Out;
float Weigh(float x, uint n);
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) {
    float4 texel = Image.Load(int3(gi, 3, 1));
    float4 sampled = Image.SampleLevel(Linear, float2(gi, 0.5), 0);
    uint again = asuint(Image.Load(int3(gi, 3, 1)).y) == asuint(texel.y) ? 1 : 0;
    Out[gi] = 2 * (asuint(texel.x) ^ asuint(texel.w) ^ asuint(sampled.z) ^ Other[uint2(gi, 1)] ^ Other.Load(int3(gi, 1, 2)) ^ asuint(Weigh(texel.x, gi))) + again;
}";
    let kernel = lowered(source);
    let names: Vec<&str> = kernel.replaced.iter().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "Image.Load",
            "Image.SampleLevel",
            "Other.Load",
            "Other[]",
            "Weigh"
        ]
    );
    assert_eq!(kernel.bindings.len(), 1);
    check_out(source, &[], |_, out| {
        assert!(
            out.iter().all(|word| word & 1 == 1),
            "the same arguments, the same value"
        );
        let different: BTreeSet<u32> = out.iter().copied().collect();
        assert!(
            different.len() > 60,
            "other arguments, other values: {different:?}"
        );
    });
    let elsewhere = lowered(&source.replace("uint2(gi, 1)", "uint2(gi, 2)"));
    for (fixed, is_alike) in [(&kernel, true), (&elsewhere, false)] {
        let mut trial = Trial::new(&kernel, fixed);
        trial.is_untimed = true;
        for (_, report) in compared(&trial) {
            assert_eq!(report.unwrap().is_match(), is_alike);
        }
    }
}
