//! Types of expressions that DXC has otherwise than the documentation tells, or that are not known: nothing rests on them.

use super::{kernel, runs_of, words};

/// Checks that neither value is proved of expressions.
#[track_caller]
fn check_open(before: &str, variables: &str, values: [&str; 2], expressions: &[&str]) {
    let others = values.map(|value| kernel("", before, &format!("{variables} Y[id.x] = {value};")));
    for expression in expressions {
        let kernel = kernel("", before, &format!("{variables} Y[id.x] = {expression};"));
        for other in &others {
            for pair in [[&kernel, other], [other, &kernel]] {
                let said = words(&runs_of(pair.map(String::as_str)));
                assert!(said.starts_with("not proved"), "{expression}: {said}");
            }
        }
    }
}

/// Beside an `int` a bit field of type `uint` is the wider one, and chooses the overload.
#[test]
fn what_is_made_of_a_bit_field_chooses_no_overload() {
    check_open(
        "struct B { uint a : 3; }; uint of(int x) { return 1; } uint of(uint x) { return 2; }
         template<typename T> uint size(T x) { T y = x - x - 1; bool c = y < 0; if (c) return 1; return 2; }",
        "int x = gi; B b; b.a = 3;",
        ["1", "2"],
        &[
            "of(b.a + 1)",
            "of(1 + b.a)",
            "of(b.a * 2 + 1)",
            "of(+b.a - 1)",
            "of(b.a + x)",
            "of((b.a + 1) * x)",
            "of(true ? b.a : 1)",
            "of(max(b.a, 1))",
            "of(clamp(b.a, 0, 1))",
            "of(abs(b.a - 1))",
            "of((x, b.a + 1))",
            "size(b.a + 1)",
        ],
    );
}

/// Operators spread a vector of one component, intrinsics cut the other (DXC 1.7).
#[test]
fn a_vector_of_one_beside_a_longer_one_in_an_intrinsic_is_not_known() {
    let variables = "uint2 m = uint2(X[gi], X[gi + 1]); uint1 q = X[gi + 2]; uint1x1 p = X[gi + 2];";
    check_open(
        "uint of(uint1 x) { return 1; } uint of(uint2 x) { return 2; }",
        variables,
        ["1", "2"],
        &["of(max(m, q))", "of(min(q, m))"],
    );
    check_open(
        "",
        variables,
        ["max(m.x, q.x)", "max(m.y, q.x)"],
        &["(max(m, q)).y", "(max(q, m)).y", "(max(p, m)).y"],
    );
    check_open(
        "",
        variables,
        ["m.x * q.x", "m.x * q.x + m.y * q.x"],
        &["dot(m, q)", "dot(q, m)"],
    );
    check_open(
        "",
        variables,
        ["m.x", "q.x"],
        &[
            "select(bool2(true, true), m, q).x",
            "select((q == q), m, m).x",
            "clamp(m, q, q).x",
            "mad(m, q, q).x",
        ],
    );
}

#[test]
fn a_matrix_of_one_element_beside_a_larger_one_is_not_known() {
    check_open(
        "uint of(int1x1 x) { return 1; } uint of(int2x2 x) { return 2; }",
        "int2x2 m = 3; int1x1 q = 4;",
        ["1", "2"],
        &["of(m + q)", "of(q * m)", "of(true ? m : q)"],
    );
}

/// A comparison has its operands' shape.
#[test]
fn a_comparison_with_an_operand_of_unknown_type_is_no_scalar() {
    check_open(
        "struct B { uint a : 3; }; uint of(bool x) { return 1; } uint of(bool2 x) { return 2; }
         uint of(float x) { return 1; } uint of(float2 x) { return 2; }",
        "uint2 v = uint2(gi, 1); int2 w = 1; float f = gi; B b; b.a = 3;",
        ["1", "2"],
        &[
            "of(b.a < v)",
            "of(v == b.a)",
            "of(!(v % b.a))",
            "of(f - (gi ? w : 2147483648))",
            "of(select(b.a == v, 1.0f, 2.0f))",
            "of(select(v == b.a, true, false))",
            "of(b.a == v ? 1.0f : 2.0f)",
            "of(b.a == v && true)",
            "of(f16tof32(v % b.a))",
            "of(countbits(v % b.a) * 1.0f)",
            "of(firstbithigh(v % b.a) * 1.0f)",
            "of(reversebits(v % b.a) * 1.0f)",
        ],
    );
    for comparison in ["v < 3ll", "3ll == v", "v < 3ll && true", "!(v < 3ll)"] {
        let of = "uint of(bool x) { return 1; } uint of(bool2 x) { return 2; }";
        let [call, two] = [format!("of({comparison})"), "2".to_owned()]
            .map(|value| kernel("", of, &format!("uint2 v = uint2(gi, 1); Y[id.x] = {value};")));
        assert_eq!(words(&runs_of([&call, &two])), "equal", "{comparison}");
    }
}

/// What it leaves in its other arguments is not known either.
#[test]
fn a_function_with_results_of_an_operand_of_unknown_type_leaves_something() {
    for call in [
        "sincos(b.a * f, s, c);",
        "c = modf(b.a * f, s);",
        "c = frexp(b.a * f, s);",
    ] {
        let variables = format!("float f = F[gi], s = 5, c = 5; B b; b.a = 3; {call}");
        check_open("struct B { uint a : 3; };", &variables, ["5", "6"], &["uint(s)"]);
    }
}

/// DXC keeps 16 bits of it.
#[test]
fn a_literal_from_two_to_the_31_on_beside_16_bits_is_not_known() {
    check_open(
        "",
        "min16uint h = min16uint(X[gi]); min16int i = min16int(X[gi]);",
        ["1", "0"],
        &[
            "(h + 2147483648) >> 31",
            "(i | 0x80000000) >> 31",
            "(true ? 0x80000000 : h) >> 31",
            "max(h, 0xffffffff) >> 31",
        ],
    );
}

/// Made of literals alone it is a literal, which takes 16 bits.
#[test]
fn what_is_made_of_literals_beside_16_bits_is_not_known() {
    check_open(
        "uint of(int x) { return 1; } uint of(float x) { return 1; }
         uint of(min16int x) { return 2; } uint of(min16float x) { return 2; }",
        "min16int s = min16int(X[gi]); min16float h = min16float(F[gi]); bool b = gi & 1;",
        ["1", "2"],
        &[
            "of((b ? 5 : 7) * s)",
            "of((1, 2) * s)",
            "of((1 << 2) * s)",
            "of(5.0 % 3 * h)",
            "of(s * min(1, 2))",
            "of(h + sqrt(2.0))",
            "of(abs(5) * s)",
            "of(floor(2.5) * h)",
            "of(select(b, 1, 2) * s)",
            "of((1).x * s)",
            "of(b ? (65535 >> 3) : s)",
            "of(max(1 + 2, s))",
            "of(clamp(s, 1 + 2, 4))",
        ],
    );
    check_open(
        "",
        "min16int s = min16int(X[gi]); bool b = gi & 1;",
        ["int(s) * (b ? 100 : 200)", "uint(int(s) * (b ? 100 : 200))"],
        &["(b ? 100 : 200) * s", "s *= (b ? 100 : 200)"],
    );
}

/// A literal has 64 bits.
#[test]
fn a_literal_beside_a_double_is_no_float() {
    let as_float = "double d = gi; double e = (float).3;";
    for literal in [".3", "abs(.3)", "(.1 + .2)", "(b ? .3 : 5)", "(.3).x"] {
        let (product, value) = (
            format!("uint({literal} * d)"),
            format!("uint(e * d) + uint({literal} == e)"),
        );
        check_open(
            "",
            &format!("{as_float} bool b = true;"),
            ["uint((float).3 * d)", "uint(e * d) + 1"],
            &[&product, &value],
        );
    }
    check_open(
        "",
        "double a = (float).3; double b = .3; double c = .1 + .2; double2 d = .3;",
        ["uint(a * 1000000000)", "7"],
        &[
            "uint(b * 1000000000)",
            "uint(c * 1000000000)",
            "uint(d.x * 1000000000)",
        ],
    );
    let kernels = ["d * 2.5", "d * 2.5f"]
        .map(|value| kernel("", "", &format!("double d = gi; Y[id.x] = uint({value});")));
    assert_eq!(words(&runs_of([&kernels[0], &kernels[1]])), "equal");
}

/// DXC takes it for one without a sign.
#[test]
fn the_sign_of_an_expression_of_literals_is_not_known() {
    check_open(
        "",
        "",
        ["1", "-1"],
        &["sign(~31)", "sign(1 - 2)", "sign(-5 >> 1)"],
    );
    check_open("", "", ["31", "2"], &["firstbithigh(~4)"]);
}

/// DXC has 8 bytes for each component.
#[test]
fn the_size_of_a_vector_of_literals_is_not_known() {
    check_open(
        "template<typename T> uint size(T x) { return sizeof(T); }",
        "",
        ["16", "8"],
        &[
            "sizeof(1.0.xx)",
            "sizeof((gi ? 1 : 2).xx)",
            "sizeof(sin(1.0).xx)",
            "sizeof(max(1.0.xx, 2.0))",
            "size(1.0.xx)",
            "size(1.0.xx + 2)",
        ],
    );
}

/// As a `literal int` of 64 bits or as a `uint` it is the same number.
#[test]
fn a_choice_between_literals_may_have_a_large_one() {
    let same = |pair: [&str; 2]| {
        let kernels = pair.map(|value| kernel("", "", &format!("bool t = X[gi] > 3; Y[id.x] = {value};")));
        words(&runs_of([&kernels[0], &kernels[1]]))
    };
    assert_eq!(
        same(["(t ? 0 : 0xffffffff) ^ X[gi]", "X[gi] ^ (t ? 0u : 0xffffffffu)"]),
        "equal"
    );
    let variables = "bool t = X[gi] > 3; float f = F[gi];";
    for (open, as_read) in [
        (
            "uint((t ? 0 : 0xffffffff) < int(gi))",
            "uint((t ? 0u : 0xffffffffu) < gi)",
        ),
        (
            "uint((t ? -1 : 0xffffffff) * 0.5f)",
            "uint((t ? ~0u : 0xffffffffu) * 0.5f)",
        ),
        (
            "(t ? 1 : 0xffffffff) / (t ? 3 : 0x80000001)",
            "(t ? 1u : 0xffffffffu) / (t ? 3u : 0x80000001u)",
        ),
        (
            "(t ? 1 : 0xffffffff) % (t ? 3 : 0x80000001)",
            "(t ? 1u : 0xffffffffu) % (t ? 3u : 0x80000001u)",
        ),
        ("(t ? 1 : 0xffffffff) >> 1", "(t ? 1u : 0xffffffffu) >> 1"),
        (
            "(t ? 0 : 0xffffffff) / 0x80000000",
            "(t ? 0u : 0xffffffffu) / 0x80000000u",
        ),
        (
            "uint(-(t ? 1 : 0xffffffff) > f)",
            "uint(-(t ? 1u : 0xffffffffu) > f)",
        ),
        (
            "uint(~(t ? 1 : 0xffffffff) > f)",
            "uint(~(t ? 1u : 0xffffffffu) > f)",
        ),
    ] {
        check_open("", variables, [as_read, "7"], &[open]);
    }
    check_open(
        "template<typename T> uint size(T x) { T y = x - x - 1; bool c = y < 0; if (c) return 1; return 2; }",
        variables,
        ["1", "2"],
        &[
            "size(t ? 0 : 0xffffffff)",
            "size((0, 0xffffffff))",
            "size((0xffffffff).x)",
            "size(0xffffffff & 0xfffffffe)",
        ],
    );
}

/// Of what has no known type the parts that not every version evaluates may be left out as well.
#[test]
fn what_is_done_behind_an_operator_of_unknown_type_may_not_be_done() {
    let before = "struct B { uint p : 5; };";
    let with = |statement: &str| {
        let body = format!("uint u = 5, r = 1; B b; b.p = 29; {statement} Y[id.x] = u + r - r;");
        kernel("", before, &body)
    };
    let [always, never] = [with("u++;"), with("")];
    for statement in [
        "if (gi < 5 || b.p <= u++) r = 2;",
        "if (gi < 5 && (b.p || u++)) r = 2;",
        "r = r ? 1 : b.p + u++;",
        "r = b.p ? u++ : 1;",
        "uint q = gi < 5 ? 1 : 0xffffffffff + u++;",
        "r = (b.p || (u = 6)) + 1;",
        "if (r || (b.p == (u++, 3))) r = 2;",
        "if (0xffffffffff || u++) r = 2;",
        "if (r && (0xffffffffff + u++)) r = 2;",
        "r = gi < 5 ? 1e60 : u++;",
    ] {
        let kernel = with(statement);
        for other in [&always, &never] {
            for pair in [[&kernel, other], [other, &kernel]] {
                let said = words(&runs_of(pair.map(String::as_str)));
                assert!(said.starts_with("not proved"), "{statement}: {said}");
            }
        }
    }
}
