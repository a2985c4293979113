//! The methods of resources, by name.

use shaderlint_hlsl::Method;

#[test]
fn methods_keep_their_names() {
    let names = [
        "GetDimensions",
        "Load",
        "Load2",
        "Load3",
        "Load4",
        "Store",
        "Store2",
        "Store3",
        "Store4",
        "InterlockedAdd",
        "InterlockedCompareStore",
        "IncrementCounter",
        "DecrementCounter",
        "Append",
        "Consume",
        "Sample",
        "SampleCmpLevelZero",
        "Gather",
        "GatherCmpRed",
        "CalculateLevelOfDetailUnclamped",
    ];
    for name in names {
        let method = Method::from_name(name);
        assert_eq!(method.as_ref().map(Method::name), Some(name));
    }
    for name in ["", "load", "Load1", "Load5", "Store22", "InterlockedMul", "abs"] {
        assert_eq!(Method::from_name(name), None, "{name}");
    }
}

#[test]
fn samples_differ_by_comparison_and_derivatives() {
    let forms = [
        ("Sample", false, true),
        ("SampleBias", false, true),
        ("SampleLevel", false, false),
        ("SampleGrad", false, false),
        ("SampleCmp", true, true),
        ("SampleCmpLevel", true, false),
        ("SampleCmpLevelZero", true, false),
        ("SampleCmpGrad", true, false),
    ];
    for (name, compares, takes_derivatives) in forms {
        let method = Method::Sample {
            name: name.into(),
            compares,
            takes_derivatives,
        };
        assert_eq!(Method::from_name(name), Some(method));
    }
}
