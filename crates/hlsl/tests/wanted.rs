//! What a unit's kernels do not name is not read.

use shaderlint_hlsl::{FileId, Includes, Shader, SourceFile, Wanted, preprocess, read_preprocessed};

struct Header<'a>(&'a str);

impl Includes for Header<'_> {
    fn resolve(&self, _: &[&str], path: &str, _: bool) -> Option<SourceFile> {
        Some(SourceFile {
            path: path.to_owned(),
            text: self.0.as_bytes().into(),
        })
    }
}

const KERNEL: &str = "#include \"header.hlsli\"
groupshared uint g_Sum[64];
[numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) { g_Sum[i] = ";

/// The kernel that leaves `value` in groupshared memory.
fn read(header: &str, value: &str) -> (Shader, Vec<String>) {
    read_under(&[], header, value)
}

/// The same under definitions of these names.
fn read_under(defined: &[&str], header: &str, value: &str) -> (Shader, Vec<String>) {
    let main = format!("{KERNEL}{value}; }}\n");
    let defines: Vec<(String, String)> = defined
        .iter()
        .map(|name| ((*name).to_owned(), "1".to_owned()))
        .collect();
    let (unit, problems) = preprocess("main.hlsl", main.as_bytes(), &defines, &Header(header));
    let wanted = Wanted {
        file: &|file| file == FileId(0),
        words: &[b"groupshared"],
        is_known: &|_| false,
    };
    let (shader, problems) = read_preprocessed(unit, problems, Some(&wanted));
    (
        shader,
        problems.into_iter().map(|problem| problem.message).collect(),
    )
}

/// Names of the functions and globals that were read, for a kernel that leaves `value`.
fn names(header: &str, value: &str) -> Vec<String> {
    let (shader, problems) = read(header, value);
    assert_eq!(problems, [""; 0], "{header}");
    let functions = shader.functions.iter().map(|function| function.name.clone());
    let globals = shader.globals.iter().map(|global| global.name.clone());
    let mut names: Vec<String> = functions.chain(globals).collect();
    names.retain(|name| name != "main" && name != "g_Sum");
    names.sort();
    names
}

fn check(header: &str, value: &str, expected: &[&str]) {
    assert_eq!(names(header, value), expected, "{header}");
}

#[test]
fn what_is_named_is_read_and_the_rest_is_not() {
    let header = "uint Twice(uint x) { return x + x; } uint Thrice(uint x) { return Twice(x) + x; }
uint Other(uint x) { return Thrice(x); } static const uint K = 3, L = K; Texture2D<float4> t : register(t0);";
    check(header, "Thrice(i)", &["Thrice", "Twice"]);
    check(header, "L", &["K", "L"]);
    check(header, "Other(K)", &["K", "L", "Other", "Thrice", "Twice"]);
    check(header, "i", &[]);
    check(
        "uint F(uint x) { return x; } uint F(uint x, uint y) { return y; }",
        "F(i)",
        &["F", "F"],
    );
    check("uint F(uint x); uint F(uint x) { return x; }", "F(i)", &["F"]);
    check("cbuffer C { uint a; uint b; }", "b", &["b"]);
    check(
        "RWStructuredBuffer<uint> a[2] : register(u0); Buffer<uint> b : register(t0);",
        "a[0][i]",
        &["a"],
    );
}

#[test]
fn what_a_name_stands_for_is_read_whole() {
    let helper = "uint Helper(uint x) { return x; }";
    let body = "struct S { uint v; uint Get() { return Helper(v); } };";
    check(
        &format!("{helper} {body} S Make(uint v) {{ S s; s.v = v; return s; }}"),
        "Make(i).Get()",
        &["Helper", "Make", "S::Get"],
    );
    check(
        &format!(
            "{helper} struct S {{ uint v; uint Get(); }}; uint S::Get() {{ return Helper(v); }} S Make(uint v) {{ S s; s.v = v; return s; }}"
        ),
        "Make(i).Get()",
        &["Helper", "Make", "S::Get"],
    );
    check(
        "enum Kind { One = 1, Two = 2 }; uint Get(uint x) { return Two + x; }",
        "Get(i)",
        &["Get"],
    );
    check(
        "struct V { uint v; V operator+(V o) { V r; r.v = v + o.v; return r; } uint Get() { return v; } }; V Make(uint v) { V r; r.v = v; return r; }",
        "(Make(i) + Make(1)).Get()",
        &["Make", "V::Get", "V::operator+"],
    );
    check(
        "namespace N { uint F(uint x) { return x; } uint G(uint x) { return x; } } using namespace N;",
        "F(i)",
        &["F"],
    );
    let template = "template<typename T> T Square(T x) { return x * x; }";
    check(&format!("{template} {helper}"), "Square(i)", &["Square"]);
    check("typedef uint word; static word w = 1;", "w", &["w"]);
}

/// A variable that nothing names, and whose initial value is made by changing one that is named.
#[test]
fn what_changes_something_is_read() {
    let change = "static uint s = 0; uint Init() { s = 2; return 1; }";
    check(
        &format!("{change} static uint r = Init();"),
        "s",
        &["Init", "r", "s"],
    );
    check("static uint s = 0; static uint r = s = 2;", "s", &["r", "s"]);
    check(
        "static uint s = 0; static uint r[2] = { s++, 1 };",
        "s",
        &["r", "s"],
    );
    check(
        "static uint s = 0, t = 1; static bool r = 1 == 2, q = 1 <= 2;",
        "s",
        &["s", "t"],
    );
}

#[test]
fn a_kernel_with_nothing_to_find_is_not_read() {
    let header = "uint Lonely(uint x) { GroupMemoryBarrierWithGroupSync(); return x; }";
    let main = "#include \"header.hlsli\"\nRWBuffer<uint> b;\n[numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) { b[i] = i; }";
    for (words, functions) in [([b"Barrier".as_slice()], 0), ([b"numthreads".as_slice()], 1)] {
        let (unit, problems) = preprocess("main.hlsl", main.as_bytes(), &[], &Header(header));
        let wanted = Wanted {
            file: &|file| file == FileId(0),
            words: &words,
            is_known: &|_| false,
        };
        let (shader, problems) = read_preprocessed(unit, problems, Some(&wanted));
        assert_eq!((shader.functions.len(), problems.len()), (functions, 0));
        assert!(!shader.text.is_empty() && shader.sources.files.len() == 2);
    }
}

/// A struct's members are read with it, and of its methods those that may be called.
#[test]
fn methods_that_nothing_names_are_only_declared() {
    let helpers = "uint Helper(uint x) { return x; } uint Other(uint x) { return x; } static uint s_Count;";
    let of = |methods: &str, value: &str| {
        let make = "S Make(uint v) { S s; s.v = v; return s; }";
        let header = format!("{helpers} struct S {{ uint v; {methods} uint w; }}; {make}");
        let (shader, problems) = read(&header, value);
        assert_eq!(problems, [""; 0], "{methods}");
        assert_eq!(shader.structs[0].fields.len(), 2, "{methods}");
        let functions = shader.functions.iter();
        let functions = functions.filter(|function| function.body.is_some() && function.name != "main");
        let mut names: Vec<String> = functions.map(|function| function.name.clone()).collect();
        names.sort();
        names.join(" ")
    };
    let two = "uint Get() { return Helper(v); } uint Else() { return Other(v); }";
    assert_eq!(of(two, "Make(i).Get()"), "Helper Make S::Get");
    assert_eq!(of(two, "Make(i).Else()"), "Make Other S::Else");
    assert_eq!(of(two, "Make(i).v"), "Make");
    // By way of each other, in either order.
    let calls = "uint A() { return B(); } uint B() { return Helper(v); } uint C() { return A(); }";
    assert_eq!(of(calls, "Make(i).A()"), "Helper Make S::A S::B");
    let back = "uint B() { return Helper(v); } uint A() { return B(); }";
    assert_eq!(of(back, "Make(i).A()"), "Helper Make S::A S::B");
    // All of one name, and those of operators.
    let overloads = "uint F(uint x) { return x; } uint F() { return Helper(v); }";
    assert_eq!(of(overloads, "Make(i).F()"), "Helper Make S::F S::F");
    let operator = "uint operator[](uint x) { return Helper(x); } uint Else() { return Other(v); }";
    assert!(of(operator, "Make(i)[1]").starts_with("Helper Make S::operator"));
    let marked = "static uint Get() { return Helper(1); } uint Else() : SV_Target { return Other(v); }";
    assert_eq!(of(marked, "S::Get()"), "Helper Other S::Else S::Get");
}

/// What is left out is not complained of; what is wanted is.
#[test]
fn only_what_is_wanted_is_complained_of() {
    let header = "uint Good(uint x) { return x; } uint Bad(uint x) { return gone + x; }";
    assert_eq!(read(header, "Good(i)").1, [""; 0]);
    assert_eq!(read(header, "Bad(i)").1, ["unknown name `gone`"]);
}

/// Definitions that change nothing of what is read come to the same; those that move it, or take another arm, do not.
#[test]
fn what_is_read_to_the_same_is_known() {
    let is_same = |header: &str| {
        let [plain, other] =
            [&[][..], &["X"]].map(|defined| read_under(defined, header, "Twice(i)").0.likeness);
        assert!(plain.is_some(), "{header}");
        plain == other
    };
    let unneeded = "uint Twice(uint x) { return x + x; }\nuint Other(uint x)\n{\n#ifdef X\n    x++;\n#endif\n    return x;\n}\n";
    assert!(is_same(unneeded));
    assert!(is_same(
        &unneeded
            .replace("uint Other(uint x)", "namespace N { uint Other(uint x)")
            .replace("return x;\n}", "return x;\n} }")
    ));
    let method = "struct S { uint v;\n uint Get() { return v; }\n uint Else()\n{\n#ifdef X\n v++;\n#endif\n return v;\n} uint w; };\n\
         uint Twice(uint x) { S s; s.v = x; return s.Get(); }\n";
    assert!(is_same(method));
    for header in [
        &method.replace("s.Get()", "s.Else()"),
        &method.replace("return v; }", "return Else(); }"),
        // Another member.
        &method.replace("} uint w;", "}\n#ifdef X\n uint u;\n#endif\n uint w;"),
        &method.replace("} uint w;", "}\n#ifdef X\n uint w;\n#else\n uint w;\n#endif\n"),
        // Needed.
        &unneeded.replace("x + x", "Other(x)"),
        // Other arms of the same text.
        "uint Twice(uint x)\n{\n#ifdef X\n    return x;\n#else\n    return x;\n#endif\n}\n",
        // The same text in another place, in another namespace, in a buffer, as another type.
        "#ifdef X\nuint Twice(uint x) { return x; }\n#endif\n#ifndef X\nuint Twice(uint x) { return x; }\n#endif\n",
        "#ifdef X\nnamespace N {\n#endif\nuint Twice(uint x) { return x; }\n#ifdef X\n}\n#endif\n",
        "#ifdef X\ncbuffer B {\n#endif\nuint Twice;\n#ifdef X\n}\n#endif\n",
        "#ifdef X\ntypedef float T;\n#else\ntypedef uint T;\n#endif\nuint Twice(T x) { return x; }\n",
        "uint Twice(uint x) { return x; }\n#ifdef X\n#error no\n#endif\n",
    ] {
        assert!(!is_same(header), "{header}");
    }
    // What is known is not read.
    let header = "uint Twice(uint x) { return x + x; }";
    let main = format!("{KERNEL}Twice(i); }}\n");
    let (unit, problems) = preprocess("main.hlsl", main.as_bytes(), &[], &Header(header));
    let wanted = Wanted {
        file: &|file| file == FileId(0),
        words: &[b"groupshared"],
        is_known: &|_| true,
    };
    let (shader, _) = read_preprocessed(unit, problems, Some(&wanted));
    assert!(shader.functions.is_empty() && shader.likeness.is_some());
}
