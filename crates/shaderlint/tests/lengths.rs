//! What `shaderlint verify` says of what it had to guess: how long buffers are, and what uniforms may be.
#![cfg(feature = "gpu")]

use std::path::Path;
use std::process::Command;

const GLOBALS: &str =
    "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out, Pairs; RWStructuredBuffer<float> Floats; cbuffer C { uint Count; bool IsOn; };
groupshared uint Shared[64];
[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID)";

/// What is said of two bodies, with broken lines made whole, in a folder of this name with this `kernel.toml`.
fn said(name: &str, bodies: [&str; 2], toml: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    std::fs::write(folder.join("kernel.toml"), toml).expect("the folder can be written to");
    for (name, body) in ["a.hlsl", "b.hlsl"].into_iter().zip(bodies) {
        let text = format!("{GLOBALS}\n{{\n    {body}\n}}\n");
        std::fs::write(folder.join(name), text).expect("the folder can be written to");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .args(["verify", "a.hlsl", "b.hlsl", "--no-timing"])
        .current_dir(&folder)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.replace(&format!("\n{}", " ".repeat(15)), " ")
        .replace("\n    ", " ")
}

#[test]
fn buffers_that_are_too_short_are_named() {
    let through = "Pairs[2 * id.x] = id.x; Pairs[2 * id.x + 1] = Src[id.x]; Out[id.x] = Pairs[2 * id.x] + Pairs[2 * id.x + 1];";
    let known = "Pairs[2 * id.x] = id.x; Pairs[2 * id.x + 1] = Src[id.x]; Out[id.x] = Src[id.x] + id.x;";
    // What the kernels reach is seen.
    let fits = said("fits", [through, known], "");
    let has_adapter = !fits.contains("no GPU adapter");
    assert!(!has_adapter || fits.contains(" words alike in "), "{fits}");
    // Not where it hangs on a sine whether they do.
    let [through, known] = [through, known].map(|body| format!("if (sin((float)id.x) < 2) {{ {body} }}"));
    let [through, known] = [&*through, &*known];
    let short = said("short", [through, known], "");
    let text = "not comparable, as both kernels leave the same values with more elements in Pairs than 192 (`lengths` in kernel.toml): Out[32] is 32, should be 0";
    assert!(!has_adapter || short.contains(text), "{short}");
    assert!(!short.contains("NOT equivalent"), "{short}");
    let long = said("long", [through, known], "lengths = { Pairs = 1000 }");
    assert!(!has_adapter || long.contains(" words alike in "), "{long}");
    let set = said("set", [through, known], "lengths = { Pairs = 64 }");
    assert!(!has_adapter || set.contains("NOT equivalent"), "{set}");
}

#[test]
fn uniforms_are_varied_where_the_kernels_end() {
    let on = said(
        "on",
        ["Out[id.x] = IsOn ? Src[id.x] : 1;", "Out[id.x] = Src[id.x];"],
        "",
    );
    assert!(
        on.contains("differs at Out[0], with IsOn = 0: expected 1, got "),
        "{on}"
    );
    let negative = said("negative", ["Out[id.x] = (int)Count < 0;", "Out[id.x] = 0;"], "");
    assert!(negative.contains("NOT equivalent"), "{negative}");
    // It may never end.
    let endless = "uint x = 0; for (uint i = 0; i != Count; i += 2) x += Src[i]; Out[id.x] = x;";
    let other = "uint x = 0; for (uint i = 0; i != Count; i += 2) { x += Src[i]; } Out[id.x] = x + 0;";
    let remark = "  not run with small uniforms or sampled uniforms: then the kernels may not end, or may \
         access elements outside their arrays\n";
    let endless = said("endless", [endless, other], "");
    assert!(endless.contains(remark), "{endless}");
}

/// What stands for an intrinsic tells arguments apart that the intrinsic does not.
#[test]
fn a_difference_of_stand_ins_is_none_of_the_kernels() {
    let bodies = [
        "Out[id.x] = (uint)pack_u8(uint4(Src[id.x] & 255, 0, 1, 2));",
        "Out[id.x] = (uint)pack_u8(uint4(Src[id.x], 0, 1, 2));",
    ];
    let said = said("stand-ins", bodies, "");
    let text = "not comparable, as a hash replaces (uint)pack_u8 here, and this hash differs where (uint)pack_u8 itself may return equal values: Out[63] is ";
    assert!(said.contains("no GPU adapter") || said.contains(text), "{said}");
    assert!(!said.contains("NOT equivalent"), "{said}");
}

/// Of threads that race, or read what nobody wrote, anything may come.
#[test]
fn what_a_kernel_that_races_leaves_is_no_measure() {
    let body = |between: &str| {
        format!(
            "uint i = id.x & 63; Shared[i] = Src[id.x]; GroupMemoryBarrierWithGroupSync();
             uint x = Shared[63 - i]; {between} Shared[i] = x + 1; GroupMemoryBarrierWithGroupSync(); Out[id.x] = Shared[i];"
        )
    };
    let [racing, ordered] = ["", "GroupMemoryBarrierWithGroupSync();"].map(body);
    let unwritten = "Out[id.x] = Shared[id.x & 63];";
    let pairs = [
        ("racing", [racing.as_str(), "Out[id.x] = 5;"]),
        ("unwritten", [unwritten, "Out[id.x] = 5;"]),
    ];
    for (name, bodies) in pairs {
        let said = said(name, bodies, "");
        let text = "not comparable, as another order of threads or atomics may leave other values: ";
        assert!(said.contains("no GPU adapter") || said.contains(text), "{said}");
        assert!(!said.contains("NOT equivalent"), "{said}");
    }
    let said = said("ordered", [&ordered, "Out[id.x] = 5;"], "");
    assert!(said.contains("NOT equivalent"), "{said}");
}

/// Which of two zeros a minimum gives is left open, and so are the bits of a NaN: another device may leave the other ones.
#[test]
fn what_the_language_leaves_open_is_no_difference() {
    let minima = |order: &str| {
        format!(
            "uint i = id.x; float a = asfloat(Src[i] & 0x80000000), b = asfloat(Src[i + 1] & 0x80000000);
             float c = asfloat(Src[i + 2] & 0x80000000); Out[i] = asuint({order});"
        )
    };
    let minima = [minima("min(min(a, b), c)"), minima("min(min(c, b), a)")];
    let nans = |sign: &str| format!("float a = Src[id.x] * 0.0; Out[id.x] = asuint({sign}(a / a));");
    let nans = [nans("-"), nans("")];
    let pairs = [
        (
            "zeros",
            minima,
            "D3D does not specify which of two equal floats `min` or `max` returns",
        ),
        ("nans", nans, "D3D does not specify the bits of a NaN"),
    ];
    for (name, [flagged, other], why) in pairs {
        let said = said(name, [&flagged, &other], "");
        let text = format!("not comparable, as {why}: ");
        assert!(said.contains("no GPU adapter") || said.contains(&text), "{said}");
        assert!(said.contains("  verdict      not proved"), "{said}");
    }
    // A NaN is no number, and 2 is none of two zeros.
    let numbers = [
        "Out[id.x] = 2;",
        "Out[id.x] = asuint(min(asfloat(Src[id.x]), 0));",
    ];
    let said = said("numbers", numbers, "");
    assert!(said.contains("NOT equivalent"), "{said}");
}

/// The terms of a product do not say in which order its constants are multiplied: bits that hang on that are not compared.
#[test]
fn bits_of_products_that_may_round_otherwise_are_no_difference() {
    let product = |order: &str| {
        format!(
            "precise float x = Src[id.x] * 0.1, y = Src[id.x + 64] * 0.3; precise float r = {order}; Out[id.x] = asuint(r);"
        )
    };
    for [flagged, other] in [["-(x * y)", "(-x) * y"], ["abs(x * y)", "abs(x) * abs(y)"]] {
        let said = said("products", [&product(flagged), &product(other)], "");
        assert!(said.contains("  verdict      not proved"), "{said}");
    }
    // What is exact in every order is compared.
    let exact = |order: &str| format!("float x = Src[id.x] & 15; float r = {order}; Out[id.x] = asuint(r);");
    let said = said("exact", [&exact("x * 3"), &exact("x * -3")], "");
    assert!(
        said.contains("128: differs at Out[0]: expected 1091567616"),
        "{said}"
    );
}

/// A device may flush denormals or keep them. Neither the terms nor the interpreter tell two kernels apart by that.
#[test]
fn what_hangs_on_denormals_is_no_difference_of_the_kernels() {
    let of = |value: &str| format!("uint x = Src[id.x] & 15; float h = 1e38; Floats[id.x] = {value};");
    let pairs = [
        ["asfloat(x + 1) * h", "0"],
        ["(1e-30 * x) * (1e-30 * x) * h", "0"],
        ["asfloat(x + 65536) + 0.0", "0"],
        ["(asfloat(x + 1) + 0.0) * h", "0"],
        ["min(asfloat(x + 1), 1.0) * h", "0"],
        ["asfloat(asuint(max(asfloat(x << 31), 0.0)) | 0x3f800000)", "1"],
        ["asfloat(asuint(asfloat(x << 31) + 0.0) | 0x3f800000)", "1"],
        [
            "1 / max(asfloat(x | 0x7fc00000), asfloat(2 * x | 0x7fc00000))",
            "asfloat(0x7fc00000)",
        ],
    ];
    for [flagged, other] in pairs {
        let said = said("denormals", [&of(flagged), &of(other)], "");
        assert!(!said.contains("differs at"), "{flagged}, {other}: {said}");
    }
    // As a whole number a denormal is a number as any other.
    let words = ["Out[id.x] = asuint(asfloat(Src[id.x] & 15));", "Out[id.x] = 1;"];
    let said = said("words", words, "");
    assert!(said.contains("NOT equivalent: in waves of 4"), "{said}");
}

/// Each step may lose some of the bits that no order of the steps before it tells.
#[test]
fn what_is_left_of_rounded_numbers_is_no_difference() {
    let of = |before: &str, value: &str| {
        format!(
            "uint x = Src[id.x]; float q = (x & 1) * 1e-7 + 1; float a = 1.401 * q, b = .813 * q, c = 2.513 * q, d = .546 * q;
             float e = 2.122 * q, f = 1.543 * q, g = .497 * q; {before} float s = a + b + c + d + e + f + g, r = s;
             r = r * 1.7 - 15.879105; r = r * 30.3 - 4.811368815; r = r * 40.9 - 1.967849845; Floats[id.x] = {value};"
        )
    };
    let bodies = [
        of("", "r"),
        of(
            "float unused = g + f + e + d + c + b + a;",
            "((x * x + x) & 1) == 0 ? r : 0",
        ),
    ];
    let said = said("rounded", bodies.each_ref().map(String::as_str), "");
    assert!(!said.contains("NOT equivalent"), "{said}");
}

/// With a sign it is undefined, and DXC makes the one of the other.
#[test]
fn what_a_division_by_zero_gives_is_no_difference() {
    for bodies in [
        ["i % j", "i - i / j * j"],
        ["i % j == 0 ? 1 : 2", "i / j * j == i ? 1 : 2"],
    ] {
        let of = |value: &str| format!("int i = Src[id.x], j = Src[id.x + 64]; Out[id.x] = {value};");
        let said = said("by-zero", [&of(bodies[0]), &of(bodies[1])], "");
        assert!(!said.contains("NOT equivalent"), "{said}");
    }
}

/// Near a pole of `tan`, or where a divisor comes near 0, a last bit of a sum makes any difference.
#[test]
fn what_a_function_makes_of_how_a_sum_rounds_contradicts_no_proof() {
    for function in ["tan(1e7 * ({}))", "1 / ({})", "log({})", "rsqrt({})"] {
        let of = |sum: &str| {
            let inputs = "uint x = Src[id.x] & 0x7fffff | 0x3f800000;
                float a = asfloat(x), b = (Src[id.x + 64] & 7) * 3e-8, c = -asfloat(x ^ 1);";
            format!("{inputs} Floats[id.x] = {};", function.replace("{}", sum))
        };
        let said = said("magnified", [&of("a + (b + c)"), &of("(a + b) + c")], "");
        let verdict = "  verdict      proved equal at every wave size under every lane map tried, up to the order of float operations\n";
        assert!(said.contains(verdict), "{function}: {said}");
    }
}

/// Devices run WGSL, which has no `precise`: they may take `x + 1e9 - 1e9` for `x`.
#[test]
fn what_a_device_makes_of_precise_floats_is_no_difference() {
    let bodies = [
        "precise float x = Src[id.x] & 15; precise float y = x + 1e9; precise float z = y - 1e9; Floats[id.x] = z;",
        "precise float x = Src[id.x] & 15; Floats[id.x] = 0;",
    ];
    let said = said("precise", bodies, "");
    assert!(said.contains("  verdict      not proved"), "{said}");
    let differs = said.contains("should be");
    assert!(
        !differs || said.contains("not comparable, as WGSL has no `precise`: "),
        "{said}"
    );
}
