//! Kernels to which a host would have to give other things are not compared.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]

use super::pairs;

/// What is said of two files with these texts. Each test writes them to a folder of its own.
fn of_two(texts: [&str; 2]) -> String {
    let test = std::thread::current()
        .name()
        .unwrap_or_default()
        .replace("::", "-");
    pairs::of_two(&test, texts, &[])
}

/// What a kernel with these globals and this body is.
fn kernel(globals: &str, body: &str) -> String {
    format!(
        "{globals}\n[numthreads(64, 1, 1)]\nvoid Main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {{ {body} }}\n"
    )
}

/// The first of these is in the one kernel where the second is in the other.
#[track_caller]
fn differ(globals: &str, body: &str, change: [&str; 2], expected: &str) {
    let first = kernel(globals, body);
    let second = first.replace(change[0], change[1]);
    assert_ne!(first, second, "{}", change[0]);
    let said = of_two([&first, &second]);
    assert_eq!(
        said,
        format!("2 error: the kernels have different interfaces: {expected}\n")
    );
    // What is said is due to the difference.
    for same in [first, second] {
        let said = of_two([&same, &same.replace("gi :", "index :")]);
        assert!(!said.contains("two interfaces"), "{said}");
    }
}

/// Neither the text nor what it names differs in more than a spelling.
#[track_caller]
fn alike(globals: [&str; 2], body: &str) {
    let [first, second] = globals.map(|globals| kernel(globals, body));
    let said = of_two([&first, &second]);
    assert_eq!(
        said,
        "0 Main: proved equal at every wave size under every lane map tried\n"
    );
}

const OUT: &str = "RWStructuredBuffer<float> Y; ";

#[test]
fn blocks_are_bound_alike() {
    let two = "cbuffer A : register(b0) { uint a; } cbuffer B : register(b1) { uint b; } RWStructuredBuffer<uint> Y;";
    let body = "Y[id.x] = a + 2 * b;";
    for (change, expected) in [
        (
            ["A : register(b0)", "A : register(b2)"],
            "where `a` stands is `cbuffer A : register(b0)` in a.hlsl, and `cbuffer A : register(b2)` in b.hlsl",
        ),
        (
            ["register(b1)", "register(b1, space1)"],
            "where `b` stands is `cbuffer B : register(b1)` in a.hlsl, and `cbuffer B : register(b1, space1)` in b.hlsl",
        ),
        (
            ["cbuffer B : register(b1) { uint b; }", "uint b;"],
            "where `b` stands is `cbuffer B : register(b1)` in a.hlsl, and no `cbuffer` in b.hlsl",
        ),
        (
            ["} cbuffer B : register(b1) {", ""],
            "where `b` stands is `cbuffer B : register(b1)` in a.hlsl, and `cbuffer A : register(b0)` in b.hlsl",
        ),
        (
            ["cbuffer B", "tbuffer B"],
            "where `b` stands is `cbuffer B : register(b1)` in a.hlsl, and `tbuffer B : register(b1)` in b.hlsl",
        ),
        (
            ["cbuffer A", "[[vk::binding(3)]] cbuffer A"],
            "where `a` stands is `cbuffer A : register(b0)` in a.hlsl, and `[[vk::binding(3)]] cbuffer A : register(b0)` in b.hlsl",
        ),
    ] {
        differ(two, body, change, expected);
    }
    differ(
        "cbuffer A { uint a; } RWStructuredBuffer<uint> Y;",
        "Y[id.x] = a;",
        ["cbuffer A", "cbuffer B"],
        "where `a` stands is `cbuffer A` in a.hlsl, and `cbuffer B` in b.hlsl",
    );
    // With a register the name is for people, and without one it is what is bound.
    alike([two, &two.replace("cbuffer A", "cbuffer First")], body);
    alike([two, &two.replace(" : register(b0)", "")], body);
    alike(
        [two, &two.replace("register(b0)", "register( b0, space0 )")],
        body,
    );
}

#[test]
fn members_lie_at_the_same_bytes() {
    let body = "Y[id.x] = asfloat(b);";
    let natural = format!("cbuffer C {{ float2 a; uint b; }} {OUT}");
    let offset = |member: &str, [first, second]: [&str; 2]| {
        format!(
            "the offset of `{member}` in its constant buffer is {first} in a.hlsl, and {second} in b.hlsl"
        )
    };
    differ(
        &natural,
        body,
        ["uint b", "uint b : packoffset(c3.x)"],
        &offset("b", ["8 bytes", "48 bytes"]),
    );
    differ(
        &natural.replace("uint b", "uint b : packoffset(c1)"),
        body,
        ["packoffset(c1)", "packoffset(c1.y)"],
        &offset("b", ["16 bytes", "20 bytes"]),
    );
    // Whether something may follow in the last register of an array is not for this program to say.
    differ(
        &natural.replace("float2 a", "float a[2]"),
        body,
        ["uint b", "uint b : packoffset(c2)"],
        &offset("b", ["not known", "32 bytes"]),
    );
    // A vector is not parted, and what is larger than a register begins one.
    for (members, placed) in [
        ("float2 a; uint b;", "float2 a; uint b : packoffset(c0.z);"),
        ("uint b;", "uint b : packoffset(c0);"),
        (
            "uint a; float4x4 m; uint b;",
            "uint a; float4x4 m; uint b : packoffset(c5.x);",
        ),
        ("uint a; float4 m[3]; uint b;", "uint b : packoffset(c4);"),
        ("float3 a; float2 c; uint b;", "uint b : packoffset(c1.z);"),
        ("uint a : packoffset(c7); uint b;", "uint b : packoffset(c7.y);"),
    ] {
        let globals = [members, placed].map(|members| format!("cbuffer C {{ {members} }} {OUT}"));
        alike([&globals[0], &globals[1]], body);
    }
    // Each declarator is a member of its own.
    differ(
        &format!("cbuffer C {{ uint a, b; }} {OUT}"),
        body,
        ["uint a, b", "uint b"],
        "what precedes `b` in its constant buffer is uint in a.hlsl, and nothing in b.hlsl",
    );
    alike(
        [
            &format!("cbuffer C {{ uint a, b; }} {OUT}"),
            &format!("cbuffer C {{ uint a; uint b; }} {OUT}"),
        ],
        body,
    );
    differ(
        &format!("uint b; {OUT}"),
        body,
        ["uint b", "uint b : register(c2)"],
        "`b` is `uint b` in a.hlsl, and `uint b : register(c2)` in b.hlsl",
    );
    differ(
        &format!("const uint b = 1; {OUT}"),
        body,
        ["b = 1", "b = 2"],
        "`b` is `const uint b = 1` in a.hlsl, and `const uint b = 2` in b.hlsl",
    );
}

#[test]
fn matrices_lie_in_one_order() {
    let with = |of: &str, [first, second]: [&str; 2]| {
        format!("`{of}` with {first} in a.hlsl, and `{of}` with {second} in b.hlsl")
    };
    let read = "Y[id.x] = M[0][1];";
    differ(
        &format!("row_major float4x4 M; {OUT}"),
        read,
        ["row_major", "column_major"],
        "`M` is `row_major float4x4 M` in a.hlsl, and `column_major float4x4 M` in b.hlsl",
    );
    let pragma = format!("#pragma pack_matrix(row_major)\nfloat4x4 M; {OUT}");
    differ(
        &pragma,
        read,
        ["#pragma pack_matrix(row_major)", ""],
        &format!("`M` is {}", with("float4x4 M", ["`row_major`", "nothing"])),
    );
    differ(
        &format!("float4x4 M;\n#pragma pack_matrix(row_major)\n{OUT}"),
        read,
        [
            "float4x4 M;\n#pragma pack_matrix(row_major)\n",
            "#pragma pack_matrix(row_major)\nfloat4x4 M;\n",
        ],
        &format!("`M` is {}", with("float4x4 M", ["nothing", "`row_major`"])),
    );
    differ(
        &format!("typedef row_major float4x4 Rows; Rows M; {OUT}"),
        read,
        ["row_major ", ""],
        &format!("`M` is {}", with("Rows M", ["`row_major`", "nothing"])),
    );
    differ(
        &format!("StructuredBuffer<row_major float3x4> M; {OUT}"),
        "Y[id.x] = M[0][0][1];",
        ["row_major ", ""],
        "`M` is `StructuredBuffer<row_major float3x4> M` in a.hlsl, and `StructuredBuffer<float3x4> M` in b.hlsl",
    );
    let held = format!("struct S {{ row_major float4x4 m; float4x4 n; }}; StructuredBuffer<S> B; {OUT}");
    differ(
        &held,
        "Y[id.x] = B[0].m[0][1];",
        ["row_major ", ""],
        &format!(
            "`B` is {}",
            with("StructuredBuffer<S> B", ["`row_major`", "nothing"])
        ),
    );
    differ(
        &held,
        "Y[id.x] = B[0].m[0][1];",
        [
            "row_major float4x4 m; float4x4 n;",
            "float4x4 m; row_major float4x4 n;",
        ],
        &format!(
            "`B` is {}",
            with("StructuredBuffer<S> B", ["`row_major ; ;`", "`; row_major ;`"])
        ),
    );
    for body in [
        "S s; s.m = 0; s.m[0][1] = 1; R.Store<S>(0, s);",
        "Y[id.x] = R.Load<S>(0).m[0][1];",
    ] {
        differ(
            &format!("struct S {{ row_major float4x4 m; }}; RWByteAddressBuffer R; {OUT}"),
            body,
            ["row_major ", ""],
            "what the functions declare about memory that is accessed as bytes or through a heap is `row_major` in a.hlsl, and nothing in b.hlsl",
        );
    }
    // Only a variable of the kernel declares what a heap holds.
    let of_heap = "Y[id.x] = a[gi].m[0][1];";
    for [declared, body] in [
        [
            "struct S { MARK float4x4 m; };",
            "StructuredBuffer<S> a = ResourceDescriptorHeap[3];",
        ],
        [
            "struct S { float4x4 m; };",
            "MARK RWStructuredBuffer<S> a = ResourceDescriptorHeap[3];",
        ],
    ] {
        let mark = if declared.contains("MARK") {
            "row_major"
        } else {
            "globallycoherent"
        };
        let texts = [mark, ""].map(|mark| {
            kernel(&format!("{declared} {OUT}"), &format!("{body} {of_heap}")).replace("MARK", mark)
        });
        let said = of_two([&texts[0], &texts[1]]);
        assert!(
            said.contains(&format!("through a heap is `{mark}` in a.hlsl")),
            "{said}"
        );
        assert!(of_two([&texts[1], &texts[1]]).contains("proved equal"), "{said}");
    }
    differ(
        &format!("cbuffer C {{ row_major float3x4 m; float b; }} {OUT}"),
        "Y[id.x] = b;",
        ["row_major ", ""],
        "what precedes `b` in its constant buffer is `row_major` in a.hlsl, and nothing in b.hlsl",
    );
    // The pragma and the word are one thing, and the order of a variable is its own affair.
    alike([&pragma, &format!("row_major float4x4 M; {OUT}")], read);
    alike(
        [
            &format!("float Sum(float2x2 m) {{ return m[0][0]; }} {OUT}"),
            &format!("float Sum(row_major float2x2 m) {{ return m[0][0]; }} {OUT}"),
        ],
        "Y[id.x] = Sum(float2x2(1, 2, 3, 4));",
    );
}

#[test]
fn resources_are_of_one_shape_and_format() {
    let read = "Y[id.x] = T.Load(0).x;";
    let sample = "Y[id.x] = T.SampleLevel(S, 0, 0).x;";
    for (globals, body, change, expected) in [
        (
            "Texture2D<float4> T;",
            read,
            ["Texture2D", "Texture3D"],
            "`T` is `Texture2D<float4> T` in a.hlsl, and `Texture3D<float4> T` in b.hlsl",
        ),
        (
            "typedef Texture2D<float4> Image; Image T;",
            read,
            ["Texture2D", "Texture3D"],
            "`T` is `Image T` with `Texture2D` in a.hlsl, and `Image T` with `Texture3D` in b.hlsl",
        ),
        (
            "Texture2D<float4> T; SamplerState S;",
            sample,
            ["Texture2D", "Texture2DArray"],
            "`T` is `Texture2D<float4> T` in a.hlsl, and `Texture2DArray<float4> T` in b.hlsl",
        ),
        (
            "Texture2D<float4> T; SamplerState S;",
            sample,
            ["SamplerState", "SamplerComparisonState"],
            "`S` is `SamplerState S` in a.hlsl, and `SamplerComparisonState S` in b.hlsl",
        ),
        (
            "Texture2D<float4> T; SamplerState S { Filter = MIN_MAG_MIP_POINT; };",
            sample,
            ["POINT", "LINEAR"],
            "`S` is `SamplerState S { Filter = MIN_MAG_MIP_POINT; }` in a.hlsl, and `SamplerState S { Filter = MIN_MAG_MIP_LINEAR; }` in b.hlsl",
        ),
        (
            "RWTexture2D<unorm float4> T;",
            "T[id.xy] = 0.5;",
            ["unorm", "snorm"],
            "`T` is `RWTexture2D<unorm float4> T` in a.hlsl, and `RWTexture2D<snorm float4> T` in b.hlsl",
        ),
        (
            "StructuredBuffer<float> T : register(t0), U : register(t1);",
            "Y[id.x] = T[id.x] + U[id.x];",
            ["register(t1)", "register(t2)"],
            "`U` is `StructuredBuffer<float> T : register(t0), U : register(t1)` in a.hlsl, and `StructuredBuffer<float> T : register(t0), U : register(t2)` in b.hlsl",
        ),
        (
            "StructuredBuffer<half> T;",
            "Y[id.x] = T[id.x];",
            ["half", "min16float"],
            "small number type 1 in the text is `half` in a.hlsl, and `min16float` in b.hlsl",
        ),
    ] {
        differ(&format!("{globals} {OUT}"), body, change, expected);
    }
}

#[test]
fn attributes_are_those_of_the_other() {
    for (globals, body, change, expected) in [
        (
            "[[vk::binding(0)]] StructuredBuffer<float> X;",
            "Y[id.x] = X[0];",
            ["(0)", "(3)"],
            "`X` is `[[vk::binding(0)]] StructuredBuffer<float> X` in a.hlsl, and `[[vk::binding(3)]] StructuredBuffer<float> X` in b.hlsl",
        ),
        (
            "[[vk::constant_id(0)]] const uint N = 3;",
            "Y[id.x] = N;",
            ["(0)", "(1)"],
            "`N` is `[[vk::constant_id(0)]] const uint N = 3` in a.hlsl, and `[[vk::constant_id(1)]] const uint N = 3` in b.hlsl",
        ),
        (
            "[[vk::image_format(\"r8\")]] RWTexture2D<float> T;",
            "T[id.xy] = 0.5;",
            ["r8", "r32f"],
            "`T` is `[[vk::image_format(\"r8\")]] RWTexture2D<float> T` in a.hlsl, and `[[vk::image_format(\"r32f\")]] RWTexture2D<float> T` in b.hlsl",
        ),
        (
            "struct S { uint a; [[vk::offset(4)]] uint b; }; [[vk::push_constant]] S P;",
            "Y[id.x] = P.b;",
            ["(4)", "(16)"],
            "`P` is `[[vk::push_constant]] S P` with `[[vk::push_constant]] [[vk::offset(4)]]` in a.hlsl, and `[[vk::push_constant]] S P` with `[[vk::push_constant]] [[vk::offset(16)]]` in b.hlsl",
        ),
    ] {
        differ(&format!("{globals} {OUT}"), body, change, expected);
    }
    let signed = |signature: &str| kernel(OUT, "Y[id.x] = 1;").replace("[num", &format!("{signature}[num"));
    let said = of_two([
        &signed("[RootSignature(\"UAV(u0)\")] "),
        &signed("[RootSignature(\"UAV(u1)\")] "),
    ]);
    assert_eq!(
        said,
        "2 error: the kernels have different interfaces: the root signature is `\"UAV(u0)\"` in a.hlsl, and \
         `\"UAV(u1)\"` in b.hlsl\n"
    );
}

#[test]
fn what_host_code_gives_to_parameters_comes_in_one_order() {
    let entry = |parameters: &str| kernel(OUT, "Y[id.x] = a;").replace("uint gi : SV_GroupIndex", parameters);
    let said = of_two([
        &entry("uniform uint a, uniform uint b"),
        &entry("uniform uint b, uniform uint a"),
    ]);
    assert_eq!(
        said,
        "2 error: the kernels have different interfaces: what host code gives its parameters is uint a, \
         uint b in a.hlsl, and uint b, uint a in b.hlsl\n"
    );
}

#[test]
fn words_that_change_what_is_computed_are_written_alike() {
    differ(
        &format!("StructuredBuffer<float> X; {OUT}"),
        "half h = X[id.x]; Y[id.x] = h;",
        ["half", "min16float"],
        "small number type 1 in the text is `half` in a.hlsl, and `min16float` in b.hlsl",
    );
    differ(
        &format!("StructuredBuffer<min16float> X; {OUT}"),
        "min16float h = X[id.x]; half x; min16float y; Y[id.x] = h;",
        ["min16float y;", ""],
        "small number type 4 in the text is `min16float` in a.hlsl, and missing in b.hlsl",
    );
    differ(
        "RWStructuredBuffer<float> Y[4];",
        "Y[NonUniformResourceIndex(gi & 3)][id.x] = 1;",
        ["NonUniformResourceIndex", ""],
        "the number of `NonUniformResourceIndex` is 1 in a.hlsl, and 0 in b.hlsl",
    );
}

#[test]
fn members_without_a_block_lie_at_the_same_places() {
    let out = "RWStructuredBuffer<uint> Y;";
    for (globals, change, expected) in [
        (
            "uint a; uint b; ",
            ["uint a;", "static uint a;"],
            "what precedes `b` in its constant buffer is uint in a.hlsl, and nothing in b.hlsl",
        ),
        (
            "uint a[3]; uint b; ",
            ["a[3]", "a[2]"],
            "what precedes `b` in its constant buffer is uint[3] in a.hlsl, and uint[2] in b.hlsl",
        ),
    ] {
        differ(&format!("{globals}{out}"), "Y[id.x] = b;", change, expected);
    }
}

#[test]
fn what_stands_in_a_namespace_is_compared_as_well() {
    differ(
        "namespace N { StructuredBuffer<uint> B : register(t0); } RWStructuredBuffer<uint> Y;",
        "Y[id.x] = N::B[id.x];",
        ["register(t0)", "register(t1)"],
        "`N::B` is `StructuredBuffer<uint> B : register(t0)` in a.hlsl, and `StructuredBuffer<uint> B : register(t1)` in b.hlsl",
    );
}

#[test]
fn widths_of_bit_fields_are_part_of_a_layout() {
    let said = ["uint a : 20; uint c : 20;", "uint a : 8; uint c : 24;"].map(|fields| {
        kernel(
            &format!("struct S {{ {fields} uint d; }}; StructuredBuffer<S> B; RWStructuredBuffer<uint> Y;"),
            "Y[id.x] = B[id.x].d;",
        )
    });
    let said = of_two([&said[0], &said[1]]);
    assert!(
        said.contains("the kernels have different interfaces: `B` is"),
        "{said}"
    );
}

#[test]
fn small_floats_of_two_types_are_not_told_apart() {
    let body = "half h = (half)X[id.x]; min16float m = (min16float)X[id.x]; Y[id.x] = h;";
    let first = kernel(&format!("StructuredBuffer<float> X; {OUT}"), body);
    let said = of_two([&first, &first.replace("Y[id.x] = h", "Y[id.x] = m")]);
    assert_eq!(
        said,
        "2 error: cannot tell `half` from `min16float`: the target decides what each holds\n"
    );
}
