//! What is not followed, and what it names.

use super::{check, check_unequal, kernel, runs_of, words};

const TEXTURES: &str =
    "Texture2D<float> T; Texture2D<float> U; Texture2D<float> Ts[4]; Texture2D<float> Us[4];
SamplerState A; SamplerState B; ";

#[test]
fn what_a_parameter_stands_for_is_part_of_what_is_not_understood() {
    let sampled =
        "float f(Texture2D<float> t, SamplerState a, float2 at) { return t.SampleLevel(a, at, 0); }";
    let loaded = "float f(Texture2D<float> t, SamplerState a, float2 at) { return t.Load(uint3(at, 0)); }";
    let sized = "float f(Texture2D<float> t, SamplerState a, float2 at) { uint w, h; t.GetDimensions(w, h); return w; }";
    let written = |function: &str, value: &str| {
        let before = format!("{TEXTURES}{function}");
        kernel("", &before, &format!("G[id.x] = {value};"))
    };
    for function in [sampled, loaded, sized] {
        let [first, second] = ["f(T, A, id.xy)", "f(U, A, id.xy)"].map(|call| written(function, call));
        check_unequal(&first, &second);
        assert_eq!(words(&runs_of([&first, &first])), "equal");
        let [first, second] =
            ["f(Ts[1], A, id.xy)", "f(Ts[2], A, id.xy)"].map(|call| written(function, call));
        check_unequal(&first, &second);
    }
    let [first, second] = ["f(T, A, id.xy)", "f(T, B, id.xy)"].map(|call| written(sampled, call));
    check_unequal(&first, &second);
    let buffers = "float f(StructuredBuffer<uint> b) { uint n, s; b.GetDimensions(n, s); return n; }
        StructuredBuffer<uint> X2;";
    check_unequal(&written(buffers, "f(X)"), &written(buffers, "f(X2)"));
    // An array of them is not followed.
    let arrays = "float f(Texture2D<float> t[4], float2 at) { return t[1].SampleLevel(A, at, 0); }";
    check_unequal(&written(arrays, "f(Ts, id.xy)"), &written(arrays, "f(Us, id.xy)"));
}

/// One handle with the same arguments is one resource; two handles may be one or two.
#[test]
fn what_a_function_gives_is_told_by_its_arguments() {
    let before = format!(
        "{TEXTURES}Texture2D<float> f(uint i) {{ if (i == 0) return T; return U; }}
        Texture2D<float> heap(uint i) {{ return ResourceDescriptorHeap[i]; }}
        RWStructuredBuffer<float> Rw(uint i) {{ return ResourceDescriptorHeap[i]; }}
        RWStructuredBuffer<float> Either(uint i) {{ if (i == 0) return Rw(1); return Rw(2); }}
        struct H {{ uint i; Texture2D<float> Get() {{ return ResourceDescriptorHeap[i]; }} }};
        void put(RWStructuredBuffer<float> to, uint at, float v) {{ to[at] = v; }}"
    );
    let body = |text: &str| kernel("", &before, text);
    let of_count = |given: &str| format!("H a = {{ Count }}; H b = {{ Count + 1 }}; G[id.x] = {given};");
    let same = [
        [
            of_count("a.Get().SampleLevel(A, id.xy, 0)"),
            of_count("a.Get().SampleLevel(A, id.xy, 0)"),
        ],
        [of_count("a.Get()[id.xy]"), of_count("heap(Count)[id.xy]")],
        [
            "Rw(Count)[id.x] = 1;".to_owned(),
            "put(Rw(Count), id.x, 1);".to_owned(),
        ],
        ["Rw(2)[id.x] = 1;".to_owned(), "Either(1)[id.x] = 1;".to_owned()],
        [
            "G[id.x] = f(0)[id.xy];".to_owned(),
            "G[id.x] = T[id.xy];".to_owned(),
        ],
    ];
    for [first, second] in same {
        assert_eq!(
            words(&runs_of([&body(&first), &body(&second)])),
            "equal",
            "{first} {second}"
        );
    }
    let pairs = [
        ["G[id.x] = f(0)[id.xy];", "G[id.x] = f(1)[id.xy];"],
        [
            "G[id.x] = f(0).SampleLevel(A, id.xy, 0);",
            "G[id.x] = f(1).SampleLevel(A, id.xy, 0);",
        ],
        ["G[id.x] = f(Count)[id.xy];", "G[id.x] = f(Count + 1)[id.xy];"],
        ["G[id.x] = heap(0)[id.xy];", "G[id.x] = heap(1)[id.xy];"],
        ["G[id.x] = heap(id.x)[id.xy];", "G[id.x] = heap(id.y)[id.xy];"],
        ["Rw(0)[id.x] = 1;", "Rw(1)[id.x] = 1;"],
        [
            "Rw(0)[id.x] = 1; Rw(1)[id.x] = 2;",
            "Rw(1)[id.x] = 2; Rw(0)[id.x] = 1;",
        ],
        [
            "Rw(0)[id.x] = 1; G[id.x] = Rw(1)[id.x];",
            "G[id.x] = Rw(1)[id.x]; Rw(0)[id.x] = 1;",
        ],
        ["put(Rw(0), id.x, 1);", "put(Rw(1), id.x, 1);"],
        ["Either(Count)[id.x] = 1;", "Either(Count + 1)[id.x] = 1;"],
        [
            "uint n = X[id.x]; for (uint i = 0; i < n; ++i) { Rw(0)[i] = 1; }",
            "uint n = X[id.x]; for (uint i = 0; i < n; ++i) { Rw(1)[i] = 1; }",
        ],
    ];
    for [first, second] in pairs {
        check_unequal(&body(first), &body(second));
    }
    let [first, second] = ["a.Get()[id.xy]", "b.Get()[id.xy]"].map(of_count);
    check_unequal(&body(&first), &body(&second));
    // None of these is known to be another one.
    let [first, second] = ["Rw(0)[id.x] = 1;", "Rw(1)[id.x] = 1;"].map(body);
    assert!(words(&runs_of([&first, &second])).starts_with("not proved"));
}

/// The first level of a texture is what a subscript reads.
#[test]
fn a_load_of_the_first_level_is_a_subscript() {
    let reading = |texel: &str| kernel("", TEXTURES, &format!("G[id.x] = {texel};"));
    let subscript = reading("T[id.xy]");
    for load in [
        "T.Load(int3(id.xy, 0))",
        "T.Load(uint3(id.x, id.y, 0))",
        "T.mips[0][id.xy]",
    ] {
        assert_eq!(words(&runs_of([&subscript, &reading(load)])), "equal", "{load}");
    }
    for other in [
        "T.Load(int3(id.xy, 1))",
        "T.Load(int3(id.yx, 0))",
        "T.Load(int3(id.xy, Count))",
        "T.Load(id)",
        "U.Load(int3(id.xy, 0))",
    ] {
        check_unequal(&subscript, &reading(other));
    }
    // Which level it is, is not known: nothing is said.
    let of_any_level = runs_of([&subscript, &reading("T.Load(int3(id.xy, Count))")]);
    assert!(
        words(&of_any_level).starts_with("not proved"),
        "{}",
        words(&of_any_level)
    );
}

#[test]
fn what_a_variable_stands_for_is_part_of_what_is_not_understood() {
    let body = |text: &str| kernel("", TEXTURES, text);
    let pairs = [
        ["Texture2D<float> t = T;", "Texture2D<float> t = U;"],
        ["Texture2D<float> t = T; t = U;", "Texture2D<float> t = U; t = T;"],
        [
            "Texture2D<float> t; if (Count) t = T; else t = U;",
            "Texture2D<float> t; if (Count) t = U; else t = T;",
        ],
        // Another one after a loop that is not followed.
        [
            "Texture2D<float> t = T; for (uint i = 0; i < X[0]; ++i) t = U;",
            "Texture2D<float> t = T;",
        ],
    ];
    for [first, second] in pairs {
        for used in ["t.SampleLevel(A, id.xy, 0)", "t[id.xy]"] {
            let [first, second] = [first, second].map(|text| body(&format!("{text} G[id.x] = {used};")));
            check_unequal(&first, &second);
        }
    }
    let samplers = ["s = A; else s = B;", "s = B; else s = A;"];
    let samplers = samplers.map(|text| {
        body(&format!(
            "SamplerState s; if (Count) {text} G[id.x] = T.SampleLevel(s, id.xy, 0);"
        ))
    });
    check_unequal(&samplers[0], &samplers[1]);
    // One that a call hands back.
    let before = "void f(out StructuredBuffer<float> t) { t = F2; }";
    let [first, second] = ["f(t);", ""].map(|call| {
        let body = format!("StructuredBuffer<float> t = F; {call} G[id.x] = t[id.x];");
        kernel("", &format!("StructuredBuffer<float> F2; {before}"), &body)
    });
    check_unequal(&first, &second);
}

#[test]
fn the_types_of_its_operands_are_part_of_what_is_not_understood() {
    let [first, second] = ["uint", "int"].map(|ty| {
        let body = format!("{ty} x = X[id.x]; G[id.x] = T.SampleLevel(A, x, 0);");
        kernel("", TEXTURES, &body)
    });
    check_unequal(&first, &second);
}

#[test]
fn statements_that_are_not_followed_mean_what_their_names_stand_for() {
    let loop_of =
        |step: &str| format!("float x = 0; int i = 0; while (N[i] != 0) {{ {step} i++; }} G[id.x] = x;");
    let pairs = [
        ["typedef uint T;", "typedef int T;", "x += (float)(T)N[i];"],
        ["enum E { K = 1 };", "enum E { K = 2 };", "x += K;"],
        [
            "template<uint M> float f(float v) { return v * M; } static const uint K = 2;",
            "template<uint M> float f(float v) { return v * M; } static const uint K = 3;",
            "x += f<K>(N[i]);",
        ],
        // What is declared in another order.
        [
            "static uint a = 1; static uint b = 2;",
            "static uint b = 1; static uint a = 2;",
            "x += a;",
        ],
        [
            "static uint a; static uint b;",
            "static uint b; static uint a;",
            "x += a;",
        ],
    ];
    for [one, other, step] in pairs {
        let set = |before: &str| match before.starts_with("static uint a;") {
            _ if !before.contains("static uint") || before.contains('=') => String::new(),
            true => "a = 1; b = 2;".to_owned(),
            false => "b = 1; a = 2;".to_owned(),
        };
        let [first, second] =
            [one, other].map(|before| kernel("", before, &format!("{} {}", set(before), loop_of(step))));
        check_unequal(&first, &second);
        // A call of a template in a sum is not understood, and so not what its arguments stand for.
        let said = words(&runs_of([&first, &first]));
        assert_eq!(said == "equal", !one.contains("template"), "{said}: {first}");
    }
    // The arguments of the template around it.
    let template = "template<typename T> float f(int v) { return (float)(T)v; }
        template<typename T> float h() { float x = 0; int i = 0; while (N[i] != 0) { x += f<T>(N[i]); i++; } return x; }";
    let [first, second] =
        ["h<int>()", "h<uint>()"].map(|call| kernel("", template, &format!("G[id.x] = {call};")));
    check_unequal(&first, &second);
    assert_eq!(words(&runs_of([&first, &first])), "equal");
    // The label of a case.
    let [first, second] = ["1", "2"].map(|label| {
        let body = "uint x = id.x; switch (X[id.x]) { case K: x = 3; break; default: break; } Y[id.x] = x;";
        kernel("", "", &format!("const uint K = {label}; {body}"))
    });
    check_unequal(&first, &second);
    assert_eq!(words(&runs_of([&first, &first])), "equal");
    // The types of its resources.
    let [first, second] = ["uint", "int"].map(|ty| {
        let before = format!("typedef {ty} T; StructuredBuffer<T> S;");
        let body = "float x = 0; int i = 0; while (S[i] != 0) { x += S[i]; i++; } G[id.x] = x;";
        kernel("", &before, body)
    });
    check_unequal(&first, &second);
}

#[test]
fn variables_of_a_loop_are_told_by_what_they_stand_for() {
    let of = |parameters: &str, call: &str| {
        let before = format!(
            "StructuredBuffer<uint> S1; StructuredBuffer<uint> S2;
             float f({parameters}) {{ float x = 0; int i = 0; while (s[i] != 0) {{ x += s[i]; i++; }} return x; }}"
        );
        kernel("", &before, &format!("G[id.x] = {call};"))
    };
    let one = of("StructuredBuffer<uint> s", "f(S1)");
    check_unequal(&one, &of("StructuredBuffer<uint> s", "f(S2)"));
    let swapped = of("StructuredBuffer<uint> s", "f(S2)")
        .replace("S1; StructuredBuffer<uint> S2;", "S2; StructuredBuffer<uint> S1;");
    check_unequal(&one, &swapped);
    let two = of("StructuredBuffer<uint> s, StructuredBuffer<uint> t", "f(S1, S2)");
    check_unequal(
        &two,
        &of("StructuredBuffer<uint> t, StructuredBuffer<uint> s", "f(S1, S2)"),
    );
    // Not by their names.
    let names = "uint n = 0; for (uint i = 0; i < X[gi]; ++i) { n += i; } Y[id.x] = n;";
    let others = "uint m = 0; for (uint j = 0; j < X[gi]; ++j) { m += j; } Y[id.x] = m;";
    check("equal", &[[names, others]]);
}

#[test]
fn what_is_no_word_is_not_taken_for_one_in_byte_address_buffers() {
    let structs = "struct K { uint64_t a; uint b; }; struct H { uint16_t a; uint16_t b; }; struct W { uint a; float b; };";
    let pairs = [
        [
            "K k; k.a = X[id.x]; k.b = 5; Out.Store<K>(id.x * 16, k);",
            "uint64_t a = X[id.x]; Out.Store<uint64_t>(id.x * 16, a); Out.Store(id.x * 16 + 4, 5);",
        ],
        [
            "H h; h.a = (uint16_t)X[id.x]; h.b = (uint16_t)5; Out.Store<H>(id.x * 16, h);",
            "Out.Store<uint16_t>(id.x * 16, (uint16_t)X[id.x]); Out.Store<uint16_t>(id.x * 16 + 4, (uint16_t)5);",
        ],
        [
            "uint16_t2 v = uint16_t2(X[0], X[1]); Out.Store<uint16_t2>(id.x * 16, v);",
            "Out.Store<uint16_t>(id.x * 16, (uint16_t)X[0]); Out.Store<uint16_t>(id.x * 16 + 4, (uint16_t)X[1]);",
        ],
        [
            "float2x2 m = float2x2(1, 2, 3, 4); Out.Store<float2x2>(id.x * 16, m);",
            "Out.Store<float4>(id.x * 16, float4(1, 2, 3, 4));",
        ],
        [
            "Y[id.x] = In.Load<uint16_t>(id.x * 4);",
            "Y[id.x] = In.Load<uint>(id.x * 4);",
        ],
        [
            "Y[id.x] = (uint)In.Load<uint64_t2>(id.x * 4).y;",
            "Y[id.x] = (uint)In.Load<uint2>(id.x * 4).y;",
        ],
        // The low half of it lies at the address: that is not known, and neither is that it differs.
        [
            "Y[id.x] = (uint)In.Load<uint64_t>(id.x * 8);",
            "Y[id.x] = In.Load(id.x * 8);",
        ],
    ];
    for pair in pairs {
        let [first, second] = pair.map(|body| kernel("", structs, body));
        let said = words(&runs_of([&first, &second]));
        assert!(said.starts_with("not proved"), "{said}: {pair:?}");
        assert_eq!(words(&runs_of([&first, &first])), "equal", "{pair:?}");
    }
    let [first, second] = [
        "W w; w.a = X[id.x]; w.b = 5; Out.Store<W>(id.x * 8, w);",
        "Out.Store(id.x * 8, X[id.x]); Out.Store(id.x * 8 + 4, asuint(5.0f));",
    ]
    .map(|body| kernel("", structs, body));
    assert_eq!(words(&runs_of([&first, &second])), "equal");
}

#[test]
fn a_load_may_leave_a_status() {
    let before = format!("{TEXTURES}Buffer<uint> V;");
    for call in [
        "T.Load(int3(id.xy, 0), int2(0, 0), status)",
        "V.Load(id.x, status)",
        "In.Load(id.x * 4, status)",
        "T.SampleLevel(A, id.xy, 0, int2(0, 0), status)",
        "T.Gather(A, id.xy, int2(0, 0), status).x",
    ] {
        let [first, second] = ["status", "7"].map(|stored| {
            kernel(
                "",
                &before,
                &format!("uint status = 7; G[id.x] = {call}; Y[id.x] = {stored};"),
            )
        });
        check_unequal(&first, &second);
    }
    // What tells where is no status.
    let [first, second] = ["at", "0"].map(|stored| {
        let body = format!("uint at = 0; G[id.x] = T.SampleLevel(A, id.xy, at); Y[id.x] = {stored};");
        kernel("", &before, &body)
    });
    assert_eq!(words(&runs_of([&first, &second])), "equal");
}

/// What a specialisation is given becomes of its parameter's type, as in a call.
#[test]
fn a_specialisation_is_told_by_what_it_is_given() {
    let said = |before: &str, call: &str, value: &str| {
        let pair = [
            kernel("", before, &format!("Y[id.x] = {call};")),
            kernel("", before, &format!("Y[id.x] = {value};")),
        ];
        words(&runs_of([&pair[0], &pair[1]]))
    };
    for (before, call) in [
        (
            "template<uint K> uint f() { return 1; } template<> uint f<3>() { return 9; }",
            "f<3>()",
        ),
        (
            "template<int K> uint f() { return 1; } template<> uint f<3u>() { return 9; }",
            "f<3>()",
        ),
        (
            "template<bool K> uint f() { return 1; } template<> uint f<1>() { return 9; }",
            "f<true>()",
        ),
        (
            "template<typename T, uint K> uint f() { return 1; } template<> uint f<uint, 3>() { return 9; }",
            "f<uint, 3>()",
        ),
        (
            "template<uint K> struct S { static uint f() { return 1; } }; template<> struct S<3> { static uint f() { return 9; } };",
            "S<3>::f()",
        ),
    ] {
        assert_eq!(said(before, call, "9"), "equal", "{before}");
    }
    // To a template `const uint` is another type.
    let template = "template<typename T> uint f() { return 1; }";
    for (special, call) in [
        ("template<> uint f<const uint>() { return 9; }", "f<uint>()"),
        ("template<> uint f<uint const>() { return 9; }", "f<uint>()"),
        ("template<> uint f<uint>() { return 9; }", "f<const uint>()"),
        (
            "typedef const uint U; template<> uint f<U>() { return 9; }",
            "f<uint>()",
        ),
        (
            "using U = const uint; template<> uint f<uint>() { return 9; }",
            "f<U>()",
        ),
    ] {
        let before = format!(
            "{} {template} {special}",
            if special.contains(" U") {
                ""
            } else {
                "typedef uint V;"
            }
        );
        for value in ["1", "9"] {
            let said = said(&before, call, value);
            assert!(said.starts_with("not proved"), "{said}: {before}");
        }
    }
}

/// Without `precise` a compiler may combine operations: DXC makes `7.0 * x` of `x * 0.7 * 10.0`. So what rounds is not known,
/// whatever it is taken of, nor what may round in another order, nor the sign of a zero. Nor is a NaN told from a number.
#[test]
fn what_rounds_is_not_known() {
    let said = |value: &str, table: &dyn Fn(u32) -> u32| {
        let table: Vec<String> = (0..64).map(|thread| table(thread).to_string()).collect();
        let before = format!("static const uint Table[64] = {{ {} }};", table.join(", "));
        let pair = [
            kernel("", &before, &format!("float x = gi; Y[id.x] = {value};")),
            kernel("", &before, "Y[id.x] = Table[gi];"),
        ];
        words(&runs_of([&pair[0], &pair[1]]))
    };
    let float = |thread: u32| thread as f32;
    assert_eq!(
        said(
            "uint(x * 0.5f * 3 + 0.25f)",
            &|thread| (float(thread) * 1.5 + 0.25) as u32
        ),
        "equal"
    );
    assert_eq!(
        said("uint(x * 2 * 2 * 0.5f * 2 * 0.25f)", &|thread| thread),
        "equal"
    );
    assert_eq!(
        said("asuint(x * 0.5f + 1)", &|thread| {
            (float(thread) * 0.5 + 1.0).to_bits()
        }),
        "equal"
    );
    let rounded: [(&str, &dyn Fn(u32) -> u32); 11] = [
        // Each of these is exact as it stands, but DXC makes a product of the factors alone, of 36 bits.
        ("uint(((x * 2.5f - 1) * 5 + 1) * 3)", &|thread| {
            (((float(thread) * 2.5 - 1.0) * 5.0 + 1.0) * 3.0) as u32
        }),
        ("uint((x * 0) * 3 * 5)", &|_| 0),
        ("asuint(0 - x * 0) >> 31", &|_| 0),
        ("uint(((x - 16777216.0f) + 16777216.0f) + 1)", &|thread| {
            thread + 1
        }),
        ("uint(((half)(x - 2048) + (half)2048) + (half)1)", &|thread| {
            thread + 1
        }),
        ("uint(x * 0.7f * 10)", &|thread| {
            (float(thread) * 0.7 * 10.0) as u32
        }),
        ("uint((x + 16777216.0f) - 16777216.0f)", &|thread| {
            ((float(thread) + 16_777_216.0) - 16_777_216.0) as u32
        }),
        ("uint(mad(x, 1.6666666f, 0.33333334f))", &|thread| {
            (float(thread) * 1.666_666_6 + 0.333_333_34) as u32
        }),
        ("uint(((x + 0.1f) - 0.1f) == x)", &|thread| {
            u32::from(((float(thread) + 0.1) - 0.1).to_bits() == float(thread).to_bits())
        }),
        (
            "uint(asfloat(0x7fc00000 | gi) != asfloat(0x7fc00000 | gi))",
            &|_| 1,
        ),
        ("uint(asfloat(0x7fc00000 | gi) < 1)", &|_| 0),
    ];
    for (value, table) in rounded {
        let said = said(value, table);
        assert!(said.starts_with("not proved"), "{said}: {value}");
    }
}

/// Each component of a list becomes of the type that it is for.
#[test]
fn lists_are_converted_component_by_component() {
    let said = |list: &str, value: &str| {
        let before =
            "struct C { bool on; uint weight; }; struct D { uint2 k; uint l; }; struct E { int k[2]; };";
        let [list, value] = [list, value].map(|text| kernel("", before, text));
        words(&runs_of([&list, &value]))
    };
    for (list, value) in [
        (
            "C c = { X[gi], 2 }; Y[id.x] = c.on + c.weight;",
            "Y[id.x] = (X[gi] != 0) + 2;",
        ),
        (
            "D d = { X[gi], 2, 3 }; Y[id.x] = d.k.x + d.l;",
            "Y[id.x] = X[gi] + 3;",
        ),
        (
            "D d = { uint3(X[gi], 2, 3) }; Y[id.x] = d.k.x + d.l;",
            "Y[id.x] = X[gi] + 3;",
        ),
        (
            "E e = { 5, 6 }; D d = { 1, 2, 3 }; uint u[3] = { d }; Y[id.x] = u[2];",
            "Y[id.x] = 3;",
        ),
    ] {
        assert_eq!(said(list, value), "equal", "{list}");
    }
    // In DXC 2, 1 and 1.
    for list in [
        "C c = { uint2(1, 2) }; Y[id.x] = c.weight;",
        "E e = { 1, 1 }; float2 f = { e }; Y[id.x] = asuint(f.y) == 1 ? 2 : 1;",
        "E e = { 5, 6 }; bool b[2] = { e }; Y[id.x] = uint(b[1]);",
    ] {
        for value in ["1", "2", "6"] {
            let said = said(list, &format!("Y[id.x] = {value};"));
            assert!(said.starts_with("not proved"), "{said}: {list}");
        }
    }
}
