//! What cannot be lowered is said with its place, and nothing panics.

mod support;

use shaderlint_hlsl::{Expr, ExprKind, Function, FunctionId, LocalId, Shader, Span, Stmt, StmtKind, Type};
use support::{lowered, try_lower};

/// The kernel is refused with this message, at this text.
#[track_caller]
fn check(source: &str, message: &str, at: &str) {
    let error = match try_lower(source) {
        Ok(kernel) => panic!("lowered: {:?}", shaderlint_verify::wgsl(&kernel, false)),
        Err(error) => error,
    };
    assert!(error.message.contains(message), "{error}");
    let place = String::from_utf8_lossy(error.span.slice(source.as_bytes())).into_owned();
    assert!(place.contains(at), "{error} at `{place}`");
}

fn kernel(declarations: &str, body: &str) -> String {
    format!(
        "RWStructuredBuffer<uint> Out; {declarations}\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex) {{ {body} }}\n"
    )
}

/// By rows or by columns: nothing in the type tells.
#[test]
fn matrices_as_bytes_are_refused() {
    let message = "a matrix as bytes, whose order in memory is unknown";
    let declarations = "RWByteAddressBuffer Bytes; struct S { uint n; float2x2 m[2]; };";
    for (body, at) in [
        ("S s = (S)0; Bytes.Store<S>(0, s);", "s"),
        (
            "Bytes.Store<float2x2>(0, float2x2(1, 2, 3, 4));",
            "float2x2(1, 2, 3, 4)",
        ),
        (
            "Out[gi] = (uint)Bytes.Load<float2x2>(0)[0][1];",
            "Bytes.Load<float2x2>(0)",
        ),
        ("Out[gi] = (uint)Bytes.Load<S>(0).m[0][0][1];", "Bytes.Load<S>(0)"),
    ] {
        check(&kernel(declarations, body), message, at);
    }
}

#[test]
fn refusals_name_their_place() {
    check(
        &kernel("RWTexture2D<float4> tex[2];", "tex[1][uint2(gi, 0)] = 1;"),
        "the array of resources `tex`",
        "tex",
    );
    for place in ["m.x", "m[1]", "ms[gi].y"] {
        let declarations = "groupshared uint2 m, ms[64];";
        let body = format!("InterlockedMin({place}, gi);");
        check(
            &kernel(declarations, &body),
            "an atomic on a component of a vector",
            place,
        );
    }
    check(&kernel("", "double d = 1; Out[gi] = (uint)d;"), "double", "");
    check(
        &kernel("", "if (gi > 3) discard; Out[gi] = 1;"),
        "discard",
        "discard",
    );
    check(
        &kernel(
            "uint f(uint n) { return n == 0 ? 1 : n * f(n - 1); }",
            "Out[gi] = f(gi);",
        ),
        "calls itself",
        "f(",
    );
    check(
        &kernel("", "GroupMemoryBarrier(); Out[gi] = 1;"),
        "barrier",
        "GroupMemoryBarrier()",
    );
    check(
        &kernel("", "uint n = 0; InterlockedAdd(n, 1); Out[gi] = n;"),
        "atomic",
        "n",
    );
    check(
        &kernel(
            "",
            "switch (gi) { case 0: Out[gi] = 1; case 1: Out[gi] = 2; break; }",
        ),
        "falls through",
        "Out[gi] = 1",
    );
    check(
        &kernel("", "uint a = WaveMatch(gi).x; Out[gi] = a;"),
        "WaveMatch",
        "WaveMatch",
    );
    check(&kernel("", "Out[gi] = gi / 0;"), "division by zero", "0");
    check(
        "RWStructuredBuffer<uint> Out;\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_Position) { Out[gi] = 1; }",
        "SV_Position",
        "gi",
    );
}

#[test]
fn only_what_is_reached_is_bound() {
    let source = "StructuredBuffer<uint> Unused; Texture2D<float4> AlsoUnused; cbuffer C { uint a; uint b; };
RWStructuredBuffer<uint> Out; void other() { Out[0] = Unused[0] + b; }
[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex) { Out[gi] = a; }";
    let kernel = lowered(source);
    let names: Vec<&str> = kernel.bindings.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["Out", "Uniforms"]);
    assert!(!kernel.uses_subgroups);
    assert_eq!(kernel.group_size, [64, 1, 1]);
}

#[test]
fn subgroups_are_enabled_where_asked() {
    let kernel = lowered(&kernel("", "Out[gi] = WaveActiveSum(gi);"));
    assert!(kernel.uses_subgroups);
    let text = shaderlint_verify::wgsl(&kernel, true).unwrap();
    assert!(text.starts_with("enable subgroups;\n"));
    assert!(
        !shaderlint_verify::wgsl(&kernel, false)
            .unwrap()
            .contains("enable")
    );
}

#[test]
fn names_that_wgsl_reserves_are_renamed() {
    lowered(
        "struct ptr { uint fn; }; StructuredBuffer<uint> array; RWStructuredBuffer<uint> vec2; groupshared uint f32[64];
uint select1(uint var1) { uint loop1 = var1; return loop1; }
[numthreads(64, 1, 1)] void main1(uint let : SV_GroupIndex) { f32[let] = array[let]; vec2[let] = select1(f32[let]); }",
    );
}

fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr {
        kind,
        ty,
        span: Span::default(),
    }
}

/// An entry point around these statements.
fn entry(body: Vec<Stmt>) -> Shader {
    let function = Function {
        name: "main".into(),
        name_span: Span::default(),
        span: Span::default(),
        parameters: Vec::new(),
        locals: Vec::new(),
        returns: Type::Void,
        body: Some(body),
        group_size: Some([1, 1, 1]),
        group_size_span: Span::default(),
        wave_size: None,
        is_instance: false,
        is_called_elsewhere: false,
    };
    Shader {
        functions: vec![function],
        ..Shader::default()
    }
}

#[test]
fn broken_trees_do_not_panic() {
    let lit = || expr(ExprKind::Literal(1), Type::UINT);
    let broken = [
        expr(ExprKind::Local(LocalId(9)), Type::UINT),
        expr(ExprKind::Global(shaderlint_hlsl::GlobalId(9)), Type::UINT),
        expr(ExprKind::Call(FunctionId(9), vec![]), Type::UINT),
        expr(ExprKind::Field(Box::new(lit()), 5), Type::UINT),
        expr(
            ExprKind::Swizzle(Box::new(lit()), vec![3, 200]),
            Type::Vector(shaderlint_hlsl::Scalar::Uint, 2),
        ),
        expr(ExprKind::Index(Box::new(lit()), Box::new(lit())), Type::Unknown),
        expr(
            ExprKind::Construct(vec![lit(); 9]),
            Type::Vector(shaderlint_hlsl::Scalar::Uint, 77),
        ),
        expr(
            ExprKind::Cast(Box::new(lit())),
            Type::Struct(shaderlint_hlsl::StructId(4)),
        ),
        expr(
            ExprKind::Cast(Box::new(lit())),
            Type::Array(std::sync::Arc::new(Type::UINT), u32::MAX),
        ),
        expr(ExprKind::Opaque(vec![lit()]), Type::Unknown),
        expr(
            ExprKind::Assign {
                target: Box::new(lit()),
                op: None,
                value: Box::new(lit()),
            },
            Type::UINT,
        ),
        expr(
            ExprKind::Method {
                object: Box::new(lit()),
                method: shaderlint_hlsl::Method::Load { words: 1 },
                arguments: vec![],
            },
            Type::UINT,
        ),
        expr(
            ExprKind::Intrinsic(shaderlint_hlsl::Intrinsic::InterlockedAdd, vec![]),
            Type::Void,
        ),
        expr(
            ExprKind::Intrinsic(shaderlint_hlsl::Intrinsic::Dot, vec![]),
            Type::Void,
        ),
    ];
    for expr in broken {
        let shader = entry(vec![Stmt {
            kind: StmtKind::Expr(expr.clone()),
            span: Span::default(),
        }]);
        assert!(
            shaderlint_verify::lower(&shader, FunctionId(0)).is_err(),
            "{expr:?}"
        );
    }
    assert!(shaderlint_verify::lower(&Shader::default(), FunctionId(3)).is_err());
}

#[test]
fn deep_trees_are_refused() {
    let mut deep = expr(ExprKind::Literal(1), Type::UINT);
    for _ in 0..2000 {
        deep = expr(
            ExprKind::Unary(shaderlint_hlsl::UnaryOp::Complement, Box::new(deep)),
            Type::UINT,
        );
    }
    let shader = entry(vec![Stmt {
        kind: StmtKind::Expr(deep),
        span: Span::default(),
    }]);
    let error = shaderlint_verify::lower(&shader, FunctionId(0)).unwrap_err();
    assert!(error.message.contains("deep"), "{error}");
    let mut nested = Stmt {
        kind: StmtKind::Block(vec![]),
        span: Span::default(),
    };
    for _ in 0..2000 {
        nested = Stmt {
            kind: StmtKind::Block(vec![nested]),
            span: Span::default(),
        };
    }
    assert!(shaderlint_verify::lower(&entry(vec![nested]), FunctionId(0)).is_err());
}

/// Some compilers end a loop after the passes that `[unroll(n)]` names, and others do not.
#[test]
fn loops_that_may_be_cut_are_refused() {
    let constant = "static const uint SIZE = 32;";
    for head in [
        "[unroll(4)] for (uint i = 0; i < 4; ++i)",
        "[unroll(8)] for (uint i = 0; i < 4; i++)",
        "[unroll(6)] for (uint i = SIZE; i > 0; i >>= 1)",
        "[unroll(6)] for (int i = 4; i >= 0; i = i - 1)",
        "[unroll(3)] for (uint i = 8;; i >>= 1)",
        "[unroll(2)] for (int i = 0, k = 4; i < k; i++, k--)",
        "[unroll] for (uint i = 0; i < 4; ++i)",
    ] {
        let source = kernel(constant, &format!("{head} Out[gi] += i;"));
        let refused = try_lower(&source).err();
        assert!(refused.is_none(), "{head}: {refused:?}");
    }
    let message = "a loop that may run longer than its `[unroll]` count";
    for text in [
        "[unroll(2)] for (uint i = 0; i < 4; ++i) Out[gi] += i;",
        "[unroll(3)] for (uint i = 0; i <= 3; i++) Out[gi] += i;",
        "[unroll(5)] for (uint i = SIZE; i > 0; i >>= 1) Out[gi] += i;",
        "[unroll(4)] for (uint i = 0; i < gi; ++i) Out[gi] += i;",
        "[unroll(4)] for (uint i = 0; i < 4; ++i) { Out[gi] += i; i -= gi & 1; }",
        "[unroll(4)] for (uint i = 0; i < 4; i += gi) Out[gi] += i;",
        "[unroll(3)] for (;;) { if (gi > 3) break; Out[gi] += 1; }",
        "[unroll(1)] for (int i = 0, k = 4; i < k; i++, k--) Out[gi] += i;",
        "[unroll(2)] for (int i = 0, k = 4; i < k; i++, k--) { Out[gi] += i; k += 1; }",
        "uint i = 0; [unroll(4)] while (i < 8) { Out[gi] += i; ++i; }",
    ] {
        check(&kernel(constant, text), message, "Out[gi]");
    }
}
