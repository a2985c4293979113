//! What both kernels are given, made from their own declarations.

mod support;

use std::collections::BTreeSet;

use shaderlint_verify::Lowered;
use shaderlint_verify::run::{Case, InputPlan, Inputs, Trial, Values, cases, make_inputs, more_cases};
use support::{devices, lowered, words};

fn kernel() -> Lowered {
    lowered(
        "cbuffer C { uint Count; float Scale; int3 Flags; bool IsOn; };
StructuredBuffer<uint> Words; Buffer<float> Floats; ByteAddressBuffer Raw; Texture2D<int> Texels;
RWStructuredBuffer<uint> Out; RWStructuredBuffer<uint> Bins; AppendStructuredBuffer<uint2> List;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    if (id.x >= Count || !IsOn) return;
    uint x = Words[id.x] + Raw.Load(id.x * 4) + (uint)(Floats[id.x] * Scale) + Texels[id.xy] + Flags.z;
    Out[id.x] += x;
    InterlockedAdd(Bins[x & 3], 1);
    if (x & 1) List.Append(uint2(id.x, x));
}",
    )
}

fn inputs(values: Values, groups: u32) -> Inputs {
    let plan = InputPlan {
        values,
        ..InputPlan::default()
    };
    make_inputs(&[&kernel()], [groups, 1, 1], &plan)
}

fn floats(inputs: &Inputs, name: &str) -> Vec<f32> {
    words(&inputs.buffers[name])
        .into_iter()
        .map(f32::from_bits)
        .collect()
}

#[test]
fn several_groups_and_one_and_a_count_that_does_not_divide() {
    let cases = cases(&InputPlan::default(), None);
    let shown: Vec<_> = cases.iter().map(|case| (case.about, case.groups[0])).collect();
    let expected = [
        ("any words", 3),
        ("edge values", 1),
        ("few values", 3),
        ("counts that are no multiple of the group size", 5),
    ];
    assert_eq!(shown, expected);
    let counts = cases.iter().map(|case| {
        let inputs = make_inputs(&[&kernel()], case.groups, &case.inputs);
        inputs.uniforms["Count"][0]
    });
    assert_eq!(counts.collect::<Vec<u32>>(), [192, 64, 192, 299]);
}

/// The words of a uniform in each of the extra cases.
fn uniform(cases: &[Case], name: &str, word: usize) -> Vec<u32> {
    let of_case = |case: &Case| make_inputs(&[&kernel()], case.groups, &case.inputs).uniforms[name][word];
    cases.iter().map(of_case).collect()
}

#[test]
fn uniforms_are_small_and_sampled() {
    let more = more_cases(&[&kernel()], &InputPlan::default());
    let about: Vec<&str> = more.iter().map(|case| case.about).collect();
    let expected = [["small uniforms"; 4].as_slice(), &["sampled uniforms"; 6]].concat();
    assert_eq!(about[..10], expected);
    assert_eq!(about[10..], ["textures that end within the group"]);
    assert!(more.iter().all(|case| case.is_extra && case.groups == [1, 1, 1]));
    let (small, sampled) = (&more[..4], &more[4..10]);
    // What may be a mode or a flag is each of 0 to 3, a bool each of the two as often.
    for word in 0..3 {
        let modes: BTreeSet<u32> = uniform(small, "Flags", word).into_iter().collect();
        assert_eq!(modes, BTreeSet::from([0, 1, 2, 3]));
    }
    assert_eq!(uniform(small, "IsOn", 0).iter().sum::<u32>(), 2);
    let on: BTreeSet<u32> = uniform(sampled, "IsOn", 0).into_iter().collect();
    assert_eq!(on, BTreeSet::from([0, 1]));
    let integers: Vec<i32> = (0..3)
        .flat_map(|word| uniform(sampled, "Flags", word))
        .map(u32::cast_signed)
        .collect();
    assert!(
        integers.iter().any(|x| *x < 0) && integers.contains(&64),
        "{integers:?}"
    );
    assert!(integers.iter().any(|x| *x > 64), "{integers:?}");
    let scales: Vec<f32> = uniform(sampled, "Scale", 0)
        .into_iter()
        .map(f32::from_bits)
        .collect();
    assert!(
        scales.iter().any(|x| *x <= 0.0) && scales.iter().any(|x| x.fract() != 0.0),
        "{scales:?}"
    );
    // Sums are exact where these are large.
    for (case, scale) in sampled.iter().zip(scales) {
        assert!(case.inputs.values == Values::Few || scale.abs() < 2.0, "{scale}");
    }
    // What is given is given, and calls for no other case.
    let mut given = InputPlan::default();
    for name in ["Count", "Scale", "Flags", "IsOn"] {
        given.uniforms.insert(name.into(), vec![5.0]);
    }
    let more = more_cases(&[&kernel()], &given);
    assert_eq!(more.len(), 1);
    assert_eq!(uniform(&more, "Count", 0), [5]);
}

/// Each has a size of its own, none of which a group divides.
#[test]
fn textures_have_sizes_of_their_own() {
    let kernel = lowered(
        "Texture2D<uint> B; RWTexture2D<uint> A, C; RWTexture3D<uint> D; [numthreads(8, 8, 1)]
void main(uint3 id : SV_DispatchThreadID) { A[id.xy] = B[id.xy]; C[id.xy] = 1; D[id] = 2; }",
    );
    let sizes = |is_ragged: bool, is_tight: bool| {
        let plan = InputPlan {
            is_ragged,
            is_tight,
            ..InputPlan::default()
        };
        let inputs = make_inputs(&[&kernel], [2, 1, 1], &plan);
        ["A.size", "B.size", "C.size", "D.size"].map(|name| inputs.uniforms[name].clone())
    };
    assert_eq!(
        sizes(false, false),
        [[128, 64, 1], [128, 64, 1], [128, 64, 1], [128, 64, 4]]
    );
    assert_eq!(
        sizes(true, false),
        [[126, 62, 1], [125, 61, 1], [124, 60, 1], [123, 59, 3]]
    );
    assert_eq!(
        sizes(false, true),
        [[14, 6, 1], [13, 5, 1], [12, 6, 1], [11, 5, 7]]
    );
}

/// Words are in cells of which nothing is made that is found there; in others zeros.
#[test]
fn cells_begin_with_words_where_no_kernel_looks() {
    let blind = "RWStructuredBuffer<uint> Bins; RWTexture2D<uint> Texels; [numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) { uint o, unused; InterlockedAdd(Bins[gi & 3], 1); InterlockedMax(Texels[uint2(gi, 0)], gi, unused); }";
    let start = |sources: [&str; 2], values: Values, is_ragged: bool| {
        let kernels = sources.map(lowered);
        let plan = InputPlan {
            values,
            is_ragged,
            ..InputPlan::default()
        };
        let inputs = make_inputs(&[&kernels[0], &kernels[1]], [1, 1, 1], &plan);
        ["Bins", "Texels"].map(|name| words(&inputs.buffers[name]).iter().any(|word| *word != 0))
    };
    for (values, is_ragged, expected) in [
        (Values::Any, false, false),
        (Values::Few, false, false),
        (Values::Edges, false, true),
        (Values::Any, true, true),
    ] {
        assert_eq!(start([blind, blind], values, is_ragged), [expected; 2]);
    }
    for (old, new) in [
        // A slot is claimed, a cell is read, what is left depends on the order.
        (
            "InterlockedAdd(Bins[gi & 3], 1)",
            "InterlockedAdd(Bins[gi & 3], 1, o); Bins[o] = 1",
        ),
        (
            "InterlockedAdd(Bins[gi & 3], 1)",
            "InterlockedAdd(Bins[gi & 3], 1, o); if (o > 5) Texels[uint2(0, 0)] = 1",
        ),
        (
            "InterlockedAdd(Bins[gi & 3], 1)",
            "InterlockedAdd(Bins[gi & 3], 1); o = Bins[0]",
        ),
        (
            "InterlockedAdd(Bins[gi & 3], 1)",
            "InterlockedExchange(Bins[gi & 3], 1, o)",
        ),
    ] {
        let other = blind.replace(old, new);
        for sources in [[blind, &other], [&other, blind]] {
            assert_eq!(start(sources, Values::Edges, false), [false, true], "{new}");
        }
    }
}

#[test]
fn any_words_are_of_the_whole_range() {
    let inputs = inputs(Values::Any, 3);
    for name in ["Words", "Raw", "Texels"] {
        let all = words(&inputs.buffers[name]);
        assert!(all.len() >= 192, "{name}");
        // Each bit is set in about half of them.
        for bit in 0..32 {
            let set = all.iter().filter(|word| **word >> bit & 1 == 1).count();
            assert!(
                (all.len() / 3..all.len() * 2 / 3).contains(&set),
                "{name}: bit {bit}, {set}"
            );
        }
    }
    let all = floats(&inputs, "Floats");
    assert!(
        all.iter()
            .all(|x| (2f32.powi(-8)..2f32.powi(8)).contains(&x.abs()))
    );
    assert!(
        all.iter().any(|x| *x < 0.0)
            && all.iter().any(|x| x.abs() < 0.1)
            && all.iter().any(|x| x.abs() > 50.0)
    );
}

#[test]
fn edges_are_among_the_values() {
    let inputs = inputs(Values::Edges, 3);
    let all: BTreeSet<u32> = words(&inputs.buffers["Words"]).into_iter().collect();
    for edge in [0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff] {
        assert!(all.contains(&edge), "{edge}");
    }
    let all = floats(&inputs, "Floats");
    // None is NaN or infinite; some are denormal, of either sign, and they are of unlike magnitudes.
    assert!(all.iter().all(|x| x.is_finite() && x.to_bits() != 0x8000_0000));
    assert!(
        all.iter().any(|x| x.is_subnormal() && *x < 0.0) && all.iter().any(|x| x.is_subnormal() && *x > 0.0)
    );
    for magnitude in [0.0, 1.0, 2f32.powi(20), 2f32.powi(-20), f32::MIN_POSITIVE] {
        assert!(
            all.iter().any(|x| x.abs().to_bits() == magnitude.to_bits()),
            "{magnitude}"
        );
    }
    let few: BTreeSet<u32> = words(&self::inputs(Values::Few, 3).buffers["Words"])
        .into_iter()
        .collect();
    assert_eq!(few, (0..8).collect());
}

#[test]
fn outputs_are_poisoned_and_counters_are_zero() {
    let inputs = inputs(Values::Any, 3);
    let out = words(&inputs.buffers["Out"]);
    assert_eq!(out.iter().collect::<BTreeSet<_>>().len(), out.len());
    assert!(words(&inputs.buffers["Bins"]).iter().all(|word| *word == 0));
    assert_eq!(words(&inputs.buffers["List.counter"]), [0]);
    let list = words(&inputs.buffers["List"]);
    assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), 2 * 192);
}

#[test]
fn uniforms_are_set_or_sampled() {
    let mut plan = InputPlan::default();
    let sampled = make_inputs(&[&kernel()], [2, 1, 1], &plan).uniforms;
    assert_eq!((&sampled["Count"], &sampled["IsOn"]), (&vec![128], &vec![1]));
    assert!((1.0..2.0).contains(&f32::from_bits(sampled["Scale"][0])));
    for (name, numbers) in [
        ("Count", vec![100.0]),
        ("Scale", vec![0.5]),
        ("Flags", vec![1.0, -2.0]),
    ] {
        plan.uniforms.insert(name.into(), numbers);
    }
    plan.contents.insert("Words".into(), vec![7.0, 8.0]);
    plan.lengths.insert("Out".into(), 10);
    let inputs = make_inputs(&[&kernel()], [2, 1, 1], &plan);
    let set = &inputs.uniforms;
    assert_eq!((set["Count"][0], set["Scale"][0]), (100, 0.5f32.to_bits()));
    assert_eq!(set["Flags"], [1, u32::MAX - 1, 1]);
    assert_eq!(words(&inputs.buffers["Words"])[..4], [7, 8, 7, 8]);
    assert_eq!(inputs.buffers["Out"].len(), 40);
}

/// A word that one kernel alone writes is another one, whichever leaves it.
#[test]
fn what_is_written_is_told_from_what_is_left() {
    let text = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out; [numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) { if (id.x != 5) Out[id.x] = In[id.x]; }";
    let all = lowered(&text.replace("if (id.x != 5) ", ""));
    let one_less = lowered(text);
    for device in devices() {
        for [first, second] in [[&all, &one_less], [&one_less, &all]] {
            let mut trial = Trial::new(first, second);
            trial.is_untimed = true;
            let inputs = trial.inputs(&trial.cases[0]);
            let left = |kernel| {
                device
                    .compile(kernel, shaderlint_verify::run::Mode::Checked)
                    .unwrap()
                    .run(&device, &inputs, [3, 1, 1])
                    .unwrap()
            };
            let (a, b) = (left(first), left(second));
            let compared = shaderlint_verify::run::compare(
                &[first, second],
                &inputs,
                &a,
                &b,
                shaderlint_verify::run::Tolerance::Exact,
                &BTreeSet::new(),
                &BTreeSet::new(),
            );
            let difference = compared.first.unwrap();
            assert_eq!((compared.differing, difference.index), (1, vec![5]));
            let poison = words(&inputs.buffers["Out"])[5];
            assert!([difference.expected, difference.got].contains(&poison));
        }
    }
}
