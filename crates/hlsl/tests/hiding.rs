//! Names with several meanings: what hides which is known, or nothing is said of it.

use shaderlint_hlsl::{ExprKind, Function, Scalar, Shader, StmtKind, Type, expressions, parse};

fn shader(globals: &str, body: &str) -> (Shader, Vec<String>) {
    let text = format!("{globals}\nuint Main(uint x) {{ int two = 2; return {body}; }}\n");
    let (shader, problems) = parse(text.into_bytes());
    (
        shader,
        problems.into_iter().map(|problem| problem.message).collect(),
    )
}

/// What `Main` calls, by the function's place among those of the text.
fn called(globals: &str, body: &str) -> Vec<u32> {
    let (shader, _) = shader(globals, body);
    let main = shader.functions.iter().find(|function| function.name == "Main");
    let body = main.and_then(|main| main.body.as_deref()).unwrap_or_default();
    let calls = expressions(body).filter_map(|expr| match expr.kind {
        ExprKind::Call(function, _) => Some(function.0),
        _ => None,
    });
    calls.collect()
}

#[test]
fn a_template_beside_functions() {
    let both = "uint F(uint x) { return 0; } template<typename T> T F(T x) { return x; }";
    assert_eq!(
        called(both, "F(x)"),
        [0u32; 0],
        "both fit: to C++ it is the function, to DXC the template"
    );
    let named_as_intrinsic = "template<typename T> T max(T a, T b) { return a + b; }";
    assert_eq!(
        called(named_as_intrinsic, "max(x, x)"),
        [0u32; 0],
        "DXC takes the intrinsic"
    );
    for call in ["max<uint>(x, x)", "max<float>(x, 1)"] {
        assert_eq!(called(named_as_intrinsic, call), [0u32; 0], "{call}");
    }
    let of_one = "template<typename T> T reversebits(T a) { return a; }";
    for call in ["reversebits(1)", "reversebits(x)", "reversebits<uint>(x)"] {
        assert_eq!(called(of_one, call), [0u32; 0], "{call}");
    }
    assert_eq!(called(both, "F(two)"), [0u32; 0], "the template fits better");
    let inner = "uint F(uint x) { return 0; }
namespace N { template<typename T> T F(T x) { return x; } uint G(uint x) { return F(x); } }";
    let (shader, _) = shader(inner, "N::G(x)");
    let has_call = |function: &&Function| {
        let body = function.body.as_deref().unwrap_or_default();
        expressions(body).any(|expr| matches!(expr.kind, ExprKind::Call(..)))
    };
    let callers: Vec<&str> = shader
        .functions
        .iter()
        .filter(has_call)
        .map(|f| &*f.name)
        .collect();
    assert_eq!(callers, ["Main"], "the inner template hides the outer function");
}

/// `F(4)` is a conversion where a type hides the function.
#[test]
fn functions_and_types_of_one_name() {
    let function = "uint F(uint x) { return 9; }";
    assert_eq!(called(function, "F(x)"), [0]);
    let both = format!("{function} namespace N {{ typedef int F; uint G(uint x) {{ return F(x); }} }}");
    let (shader, _) = shader(&both, "N::G(x)");
    let inner = shader.functions.iter().find(|function| function.name == "N::G");
    let body = inner.and_then(|inner| inner.body.as_deref()).unwrap_or_default();
    assert!(!expressions(body).any(|expr| matches!(expr.kind, ExprKind::Call(..))));
}

/// Methods of a struct in another one, or in a function, may name what that has.
#[test]
fn methods_of_inner_structs() {
    let has_body = |text: &str| {
        let (shader, _) = parse(text.as_bytes().to_vec());
        let method = shader
            .functions
            .iter()
            .find(|function| function.name.ends_with("Get"));
        method.is_some_and(|method| method.body.is_some())
    };
    assert!(has_body("struct M { uint a; uint Get() { return F(); } };"));
    assert!(has_body(
        "namespace N { struct M { uint a; uint Get() { return 1; } }; }"
    ));
    let inner = "struct M { uint a; uint Get() { return F(); } };";
    assert!(!has_body(&format!(
        "uint F() {{ return 1; }} struct Q {{ static uint F() {{ return 2; }} {inner} M m; }};"
    )));
    assert!(!has_body(&format!(
        "uint F() {{ return 1; }} void Use() {{ {inner} M m; }}"
    )));
}

/// Said of a type in a function with whose names something else is called, too.
const OF_FUNCTION: &str = "a name that is declared here has another meaning elsewhere";

/// Where the names of a function's own type end, and that `::` leaves them out, is not followed.
#[test]
fn types_of_functions() {
    let told = |globals: &str, body: &str| {
        let function = format!("uint F(uint x) {{ {body} return 0; }}");
        let (_, problems) = shader(&format!("{globals} {function}"), "F(x)");
        problems.iter().any(|problem| problem == OF_FUNCTION)
    };
    assert!(!told(
        "",
        "enum Size { N = 64 }; struct S { uint a; }; typedef uint T; S s; s.a = N;"
    ));
    assert!(told("enum Size { M = 32 };", "enum Size { N = 64 };"));
    assert!(told("static const uint N = 32;", "enum { N = 64 };"));
    assert!(told("struct S { uint a; };", "struct S { uint b; }; ::S s;"));
    assert!(told("typedef uint T;", "typedef float T;"));
    assert!(told("static const uint N = 32;", "typedef enum { N = 64 } Size;"));
    assert!(told("static const uint N = 32;", "enum { N = 64 } size;"));
    assert!(told(
        "static const uint N = 32;",
        "struct { enum { N = 64 }; uint a; } s;"
    ));
    assert!(told("struct S { uint a; };", "struct S { uint b; } s;"));
    assert!(!told("", "struct S { uint b; } s; s.b = 1;"));
    assert!(told(
        "uint G() { return T(4.5f); } typedef uint T;",
        "using T = int;"
    ));
    assert!(told("", "{ enum { N = 64 }; } enum { N = 32 };"));
}

#[test]
fn functions_of_a_used_namespace() {
    let both =
        "namespace N { uint F(float x) { return 2; } } uint F(uint x) { return 0; } using namespace N;";
    assert_eq!(called(both, "F(1.5)"), [0u32; 0]);
    let one = "namespace N { uint F(float x) { return 2; } } using namespace N;";
    assert_eq!(called(one, "F(1.5)"), [0]);
}

#[test]
fn constants_and_variables_of_one_name() {
    for globals in [
        "static const uint K = 0; struct S { uint v; enum { J = 1, K = 2 }; uint Get() { return K; } };",
        "static const uint K = 0; template<uint K> uint Get() { return K; } uint Use() { return Get<2>(); }",
        "static const uint K = 0; namespace N { enum E { J, L, K }; uint Get() { return K; } }",
    ] {
        let (_, problems) = shader(globals, "x");
        assert_eq!(problems, ["a variable and a constant of this name"], "{globals}");
    }
}

#[test]
fn what_is_inherited_hides_what_is_outside() {
    let globals = "static const uint K = 0; struct B { static const uint K = 2; }; struct S : B { uint Get() { return K; } };";
    let (shader, problems) = shader(globals, "x");
    assert_eq!(problems, [""; 0]);
    let get = shader
        .functions
        .iter()
        .find(|function| function.name.ends_with("Get"));
    let body = get.and_then(|get| get.body.as_deref()).unwrap_or_default();
    let names: Vec<u32> = expressions(body)
        .filter_map(|expr| match expr.kind {
            ExprKind::Global(id) => Some(id.0),
            _ => None,
        })
        .collect();
    let of_base = shader
        .globals
        .iter()
        .rposition(|global| global.name.ends_with('K'));
    assert_eq!(
        names,
        [of_base.and_then(|at| u32::try_from(at).ok()).unwrap_or(0)]
    );
}

#[test]
fn a_static_member_given_outside_its_struct() {
    let value = |globals: &str| {
        let (shader, problems) = shader(&format!("namespace N {{ struct B {globals}"), "N::B::v");
        let member = shader.globals.iter().find(|global| global.name == "N::B::v");
        let init = member.and_then(|member| member.init.clone());
        (init.map(|init| init.kind), problems)
    };
    for given in [
        "{ static uint v; }; uint B::v = 2; }",
        "{ static const uint v; }; const uint B::v = 2; }",
        "{ static uint v; }; } uint N::B::v = 2;",
    ] {
        let (init, problems) = value(given);
        assert!(matches!(init, Some(ExprKind::Literal(2))), "{given}");
        assert_eq!(problems, [""; 0], "{given}");
    }
    let (init, problems) = value("{ static uint v; }; uint B::v; }");
    assert!(init.is_none(), "zero, as every static without a value");
    assert_eq!(problems, [""; 0]);
    for unknown in [
        ("{ static uint v; }; }", &[][..]),
        (
            "{ static uint v; }; float B::v = 2; }",
            &["unsupported declaration"],
        ),
        (
            "{ static uint v; }; uint C::v = 2; }",
            &["unsupported declaration"],
        ),
    ] {
        let (init, problems) = value(unknown.0);
        assert!(matches!(init, Some(ExprKind::Opaque(_))), "{}", unknown.0);
        assert_eq!(problems, unknown.1, "{}", unknown.0);
    }
    let (init, problems) = value("{ static uint v; }; uint B::v = 2; uint B::v = 3; }");
    assert!(matches!(init, Some(ExprKind::Literal(2))));
    assert_eq!(problems, ["unsupported declaration"]);
}

/// A compiler takes what HLSL gives a name where the file gives it none: types and intrinsics alike.
#[test]
fn names_of_hlsl_that_the_file_gives_to_others() {
    let callable = "struct F { uint operator()(uint x) { return x; } };";
    let calls = |globals: &str, body: &str| called(&format!("{callable}\n{globals}"), body);
    assert_eq!(calls("static F WaveActiveSum;", "WaveActiveSum(x)"), [0]);
    assert_eq!(calls("static uint WaveActiveSum;", "WaveActiveSum(x)"), [0u32; 0]);
    let intrinsics = |globals: &str| {
        let (shader, _) = shader(&format!("{callable}\n{globals}"), "0");
        let bodies = shader.functions.iter().filter_map(|f| f.body.as_deref());
        bodies
            .flat_map(expressions)
            .filter(|expr| matches!(expr.kind, ExprKind::Intrinsic(..)))
            .count()
    };
    for (members, found) in [
        (
            "struct G { F other; uint Get(uint x) { return WaveActiveSum(x); } };",
            1,
        ),
        (
            "struct G { F WaveActiveSum; uint Get(uint x) { return WaveActiveSum(x); } };",
            0,
        ),
        (
            "struct A { uint WaveActiveSum(uint x) { return x; } }; struct B : A { };
             struct C : B { uint Get(uint x) { return WaveActiveSum(x); } };",
            0,
        ),
    ] {
        assert_eq!(intrinsics(members), found, "{members}");
    }
    for (globals, body, ty) in [
        ("", "uint64_t(x)", Type::Scalar(Scalar::Uint64)),
        ("typedef uint uint64_t;", "uint64_t(x)", Type::UINT),
        ("typedef uint uint2;", "(uint2)x", Type::UINT),
        ("namespace N { typedef uint uint2; }", "(N::uint2)x", Type::UINT),
        ("namespace N { typedef uint word; }", "(N::uint2)x", Type::Unknown),
        (
            "template<typename uint64_t> uint64_t Id(uint64_t x) { return x; }",
            "Id<uint>(x)",
            Type::UINT,
        ),
    ] {
        let (shader, _) = shader(globals, body);
        let main = shader.functions.iter().find(|function| function.name == "Main");
        let body_of = main.and_then(|main| main.body.as_deref()).unwrap_or_default();
        let returned = body_of.iter().find_map(|statement| match &statement.kind {
            StmtKind::Return(Some(value)) => Some(match &value.kind {
                ExprKind::Cast(inner) if value.ty == Type::UINT && inner.ty != Type::UINT => inner.ty.clone(),
                _ => value.ty.clone(),
            }),
            _ => None,
        });
        assert_eq!(returned, Some(ty), "{globals} {body}");
    }
}

/// `::name` is the one outside of all namespaces.
#[test]
fn names_of_the_outermost_scope() {
    let both = "uint F(uint x) { return 0; }
namespace N { uint F(uint x) { return 1; } uint Outer(uint x) { return ::F(x); } uint Own(uint x) { return F(x); } }";
    assert_eq!(called(both, "N::Own(::F(x))"), [3, 0]);
    let callee = |text: &str, of: &str| {
        let (shader, _) = shader(text, "0");
        let function = shader
            .functions
            .iter()
            .find(|function| function.name.ends_with(of));
        let body = function
            .and_then(|function| function.body.as_deref())
            .unwrap_or_default();
        expressions(body).find_map(|expr| match expr.kind {
            ExprKind::Call(function, _) => Some(function.0),
            _ => None,
        })
    };
    assert_eq!(callee(both, "Outer"), Some(0));
    assert_eq!(callee(both, "Own"), Some(1));
    let nested = "namespace A { uint K(uint x) { return x; } }
namespace B { namespace A { uint K(uint x) { return x; } } uint Outer(uint x) { return ::A::K(x); } uint Own(uint x) { return A::K(x); } }";
    assert_eq!(callee(nested, "Outer"), Some(0));
    assert_eq!(callee(nested, "Own"), Some(1));
    let variables =
        "static uint v; namespace N { static uint v; static ::A a; uint Get() { uint v = 3; return ::v; } }";
    let (shader, _) = shader(&format!("struct A {{ uint x; }}; {variables}"), "0");
    let get = shader
        .functions
        .iter()
        .find(|function| function.name.ends_with("Get"));
    let body = get.and_then(|get| get.body.as_deref()).unwrap_or_default();
    let read = expressions(body).find_map(|expr| match expr.kind {
        ExprKind::Global(global) => Some(shader.globals[global.0 as usize].name.clone()),
        _ => None,
    });
    assert_eq!(read.as_deref(), Some("v"));
}

/// The last number in `Main`, if all in it is known.
fn returned(globals: &str, before: &str, value: &str) -> Option<u32> {
    let text = format!("{globals}\nuint Main(uint x, float y) {{ {before} return {value}; }}\n");
    let (shader, _) = parse(text.into_bytes());
    let main = shader.functions.iter().find(|function| function.name == "Main")?;
    let kinds: Vec<&ExprKind> = expressions(main.body.as_deref()?)
        .map(|expr| &expr.kind)
        .collect();
    let is_known = !kinds.iter().any(|kind| matches!(kind, ExprKind::Opaque(..)));
    let numbers = kinds.iter().rev().find_map(|kind| match kind {
        ExprKind::Literal(bits) => Some(*bits),
        _ => None,
    });
    numbers.filter(|_| is_known)
}

#[test]
fn enumerators_are_where_they_are_declared() {
    let scoped = "enum E { P = 3 }; enum class F { P = 7 };";
    assert_eq!(returned(scoped, "", "P"), Some(3));
    assert_eq!(returned(scoped, "", "(uint)F::P"), Some(7));
    assert_eq!(
        returned("enum class F { P = 7, Q = P + 1 };", "", "(uint)F::Q"),
        Some(8)
    );
    // One that a block declares hides a variable of the function; which one is meant is left open.
    assert_eq!(returned("", "{ enum Z { y = 4 }; }", "y"), None);
    assert_eq!(returned("", "{ enum class Z { y = 4 }; }", "2"), Some(2));
}

#[test]
fn wide_enumerations_are_left_open() {
    let wide = "enum E { A = 0xffffffff, B = -1, C };";
    for value in ["A", "B", "E::C", "A == B"] {
        assert_eq!(returned(wide, "", value), None, "{value}");
    }
    assert_eq!(
        returned("enum E : uint { A = 0xffffffff };", "", "A"),
        Some(0xffff_ffff)
    );
}

/// To DXC it is an `int`, but for an `enum class`.
#[test]
fn one_of_two_enumerators_has_a_type() {
    let overloads = "uint F(E a) { return 0; } uint F(int a) { return 1; }";
    let call = |declared: &str, call: &str| called(&format!("{declared} static E e; {overloads}"), call);
    assert_eq!(call("enum E { P };", "F(x ? e : P)"), [1]);
    assert_eq!(call("enum E { P };", "F(e)"), [0]);
    assert_eq!(call("enum class E { P };", "F(x ? e : E::P)"), [0]);
}

/// DXC works them out in 64 bits, and rounds what they come to.
#[test]
fn floats_of_literals_are_rounded_once() {
    let bits = |value: f64| Some((value as f32).to_bits());
    assert_eq!(returned("", "", "asuint((float)(2.30 * 3))"), bits(2.30 * 3.0));
    for value in ["uint(0.29 * 100)", "uint((0.1 + 0.7) * 10)", "(uint)(8.20 * 100)"] {
        assert_eq!(returned("", "", value), None, "{value}");
    }
    assert_eq!(returned("", "float q = (2.30 - 0.70) * 10;", "1"), None);
    assert_eq!(returned("", "float q = (2.50 - 0.50) * 10;", "1"), Some(1));
}

/// `half` and `min16float` are two types to DXC, and `min12int` and `min16int`: which overload it takes is left open.
#[test]
fn overloads_for_small_numbers_are_left_open() {
    let call = |overloads: &str, argument: &str| {
        let globals = "static half h; static min16float m; static min16int i; static bool b; static bool2 b2;
static float f; static float2x2 square; static uint1 one;";
        called(&format!("{globals} {overloads}"), &format!("F({argument})"))
    };
    let two =
        |one: &str, other: &str| format!("uint F({one} a) {{ return 0; }} uint F({other} a) {{ return 1; }}");
    for (one, other, argument) in [
        ("half", "uint", "m"),
        ("min16float", "float", "h"),
        ("half", "min16float", "h"),
        ("min12int", "min16int", "i"),
        ("half", "min16float2", "f"),
    ] {
        assert_eq!(
            call(&two(one, other), argument),
            [0u32; 0],
            "{one} {other} {argument}"
        );
    }
    assert_eq!(call("uint F(half a) { return 0; }", "m"), [0]);
    assert_eq!(call(&two("half", "float"), "x"), [1]);
    assert_eq!(call(&two("half", "float"), "f"), [1]);
    // `+` makes an `int` of a `bool`.
    assert_eq!(call(&two("bool", "int"), "+b"), [1]);
    assert_eq!(call(&two("bool", "int"), "b"), [0]);
    assert_eq!(call(&two("bool2", "int2"), "+b2"), [1]);
    // One component is no vector that is cut.
    assert_eq!(call(&two("float1", "uint2"), "one"), [0u32; 0]);
    assert_eq!(call(&two("int", "float1"), "square"), [0u32; 0]);
}

/// As DXC has them (1.7, all pairs).
#[test]
fn a_scalar_finds_its_overload_among_those_of_vectors() {
    let call = |parameters: &[&str], argument: &str| {
        let overload = |(n, ty): (usize, &&str)| format!("uint F({ty} a) {{ return {n}; }} ");
        let overloads: String = parameters.iter().enumerate().map(overload).collect();
        called(
            &format!("static float f; static float1 f1; static int i; {overloads}"),
            &format!("F({argument})"),
        )
    };
    let all = [
        "half1", "half2", "half3", "half4", "float4", "float3", "float2", "float1",
    ];
    for argument in ["f", "f1", "f * 2.0"] {
        assert_eq!(call(&all, argument), [7], "{argument}");
    }
    for (one, other, argument) in [
        ("float1", "half2", "i"),
        ("int2", "float2", "i"),
        ("int1", "uint1", "i"),
        ("half1", "int2", "f"),
    ] {
        assert_eq!(call(&[one, other], argument), [0], "{one} {other} {argument}");
        assert_eq!(call(&[other, one], argument), [1], "{one} {other} {argument}");
    }
    // Ambiguous; or the type speaks for one and the length for the other; and a literal has a type of its own.
    for (one, other, argument) in [
        ("float2", "float3", "f"),
        ("half1", "int1", "f"),
        ("float2", "half1", "f"),
        ("float2", "half1", "i"),
        ("float2", "half1", "1.5"),
    ] {
        assert_eq!(
            call(&[one, other], argument),
            [0u32; 0],
            "{one} {other} {argument}"
        );
    }
}

/// DXC reshapes a vector to a matrix, and cuts both, by costs of its own.
#[test]
fn overloads_between_matrices_and_others_are_left_open() {
    let call = |one: &str, other: &str, argument: &str| {
        called(
            &format!(
                "static float f; static float2 f2; static float4 f4; static int4 i4; static float1x1 one; static float2x2 four;
                uint F({one} a) {{ return 0; }} uint F({other} a) {{ return 1; }}"
            ),
            &format!("F({argument})"),
        )
    };
    for (one, other, argument) in [
        ("float2x2", "int4", "f4"),
        ("float1x4", "uint4", "f4"),
        ("int2x2", "float4", "i4"),
        ("float1x1", "int", "f2"),
        ("float2", "int", "one"),
        ("float2x2", "int", "one"),
        ("float2x2", "float2", "f"),
    ] {
        assert_eq!(call(one, other, argument), [0u32; 0], "{one} {other} {argument}");
        assert_eq!(call(other, one, argument), [0u32; 0], "{other} {one} {argument}");
    }
    for (one, other, argument) in [
        ("float2x2", "float4", "four"),
        ("float4", "float2x2", "f4"),
        ("float2x2", "float3x3", "four"),
        ("float", "float2x2", "f"),
    ] {
        assert_eq!(call(one, other, argument), [0], "{one} {other} {argument}");
        assert_eq!(call(other, one, argument), [1], "{other} {one} {argument}");
    }
}

/// DXC has them for `float`, and reverses the bits of an `int` that a float becomes.
#[test]
fn intrinsics_that_floats_have_are_left_open_for_others() {
    let globals = "static double d; static float f;";
    for value in ["floor(d)", "sqrt(d)", "lerp(d, d, d)", "reversebits(f)"] {
        assert_eq!(
            returned(globals, &format!("uint q = (uint){value};"), "1"),
            None,
            "{value}"
        );
    }
    for value in ["floor(f)", "abs(d)", "reversebits(x)"] {
        assert_eq!(
            returned(globals, &format!("uint q = (uint){value};"), "1"),
            Some(1),
            "{value}"
        );
    }
}

#[test]
fn names_that_are_not_followed_are_told_with_the_reason() {
    for (body, message) in [
        (
            "{ uint x = x; y = x; }",
            "the initialiser reads its own variable, which has no value yet",
        ),
        ("{ enum Z { x = 4 }; } y = x;", OF_FUNCTION),
        (
            "for (uint x = 0; x < 4; x++) {} x = 3; y = x;",
            "before HLSL 2021, a name here means a loop's variable; from HLSL 2021 on, it means another variable: pass -HV",
        ),
    ] {
        let text = format!("void Main(uint x, float y) {{ {body} }}\n");
        let (_, problems) = parse(text.into_bytes());
        let messages: Vec<&str> = problems.iter().map(|problem| &*problem.message).collect();
        assert_eq!(messages, [message], "{body}");
    }
}

/// Whether such a parameter is a copy hangs on the compiler.
#[test]
fn groupshared_parameters_are_not_understood() {
    let (_, problems) = shader("uint First(groupshared uint a[64]) { return a[0]; }", "x");
    assert_eq!(problems[0], "unsupported parameters of this function");
}

/// What is no function cannot be called, though there is one of its name outside.
#[test]
fn a_variable_hides_a_function() {
    let (shader, problems) = shader(
        "uint F(uint x) { return x; } uint G(uint F) { return F(1); }",
        "x",
    );
    assert_eq!(problems, ["unsupported expression"]);
    let of_g = shader.functions.iter().find(|function| function.name == "G");
    let body = of_g.and_then(|g| g.body.as_deref()).unwrap_or_default();
    assert!(!expressions(body).any(|expr| matches!(expr.kind, ExprKind::Call(..))));
}
