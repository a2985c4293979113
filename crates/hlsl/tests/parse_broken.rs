//! What cannot be read is a problem at its place, and what stands beside it is read.

mod outlines;

use outlines::check;
use shaderlint_hlsl::parse;

#[test]
fn broken_function_between_good_ones() {
    check(
        r"
uint first() { return 1; }
uint broken(uint a) { if (a { return 2; } uint x = = 3; a++; return a; }
uint third() { return first(); }
",
        r"
(fn first uint
  (return 1u))
(fn broken uint (a uint)
  ???)
(fn third uint
  (return (first)))
! could not parse this statement: if (a { return 2; } uint x = = 3; a++; return a;
",
    );
}

#[test]
fn broken_statement_stays_alone() {
    check(
        r"
void f(uint a)
{
    a = 1;
    a = a + + * 3;
    for (uint i = 0; i < 4; i++) { a = ) 3; a = 2; }
    a = 5;
}
",
        r"
(fn f void (a uint)
  (= a 1u)
  (= a (as uint (? (as uint a) (as ? (? 3)))))
  (loop ((let i uint 0u)) (< i 4u) (x++ i)
    (block
      ???
      (= a 2u)))
  (= a 5u))
! could not parse this statement: a = ) 3;
! unsupported expression: * 3
",
    );
}

#[test]
fn unclosed_function() {
    check(
        r"
void bad(uint a)
{
    if (a) {
        a = 1;
}

[numthreads(64, 1, 1)]
void good(uint gi : SV_GroupIndex)
{
    gi = 2;
}
",
        r"
(fn bad void (a uint)
  (if (as bool a)
    (block
      (= a 1u)))
  ???)
(fn good void (gi uint :SV_GroupIndex) [64 1 1]
  (= gi 2u))
! could not parse this statement: 
",
    );
}

#[test]
fn stray_braces() {
    check(
        r"
uint f() { return 1; } }
uint g() { return f(); }
",
        r"
(fn f uint
  (return 1u))
(fn g uint
  (return (f)))
! unmatched bracket: }
",
    );
}

#[test]
fn unexpanded_macros() {
    check(
        r"
STATIC_CONST uint a = 1;
DECLARE_THING(x)
uint f(uint b)
{
    BEGIN_SCOPE(b)
    b = 2;
    END_SCOPE
    return b;
}
#pragma ignored
#define ALSO_IGNORED 3
uint g() { return 2; }
",
        r"
(unknown a uint 1u)
(fn f uint (b uint)
  (? b)
  (= b 2u)
  (?)
  (return b))
(fn g uint
  (return 2u))
! unknown macro: STATIC_CONST
! unknown macro: DECLARE_THING(x)
! unknown name `BEGIN_SCOPE`: BEGIN_SCOPE
! unknown name `END_SCOPE`: END_SCOPE
",
    );
}

#[test]
fn unknown_names() {
    check(
        r"
uint f(uint a) { return nothing(a, other) + a; }
",
        r"
(fn f uint (a uint)
  (return (+ (as uint (? a (?))) a)))
! unknown name `other`: other
! unknown name `nothing`: nothing
",
    );
}

/// The first problem of `statement`, inside a function between two assignments.
fn told(statement: &str) -> String {
    let source = format!(
        "struct S {{ uint m; }}; void f(uint a, uint b, S s, uint2 v) {{ a = 1; {statement}\n b = 2; }}"
    );
    let (shader, problems) = parse(source.into_bytes());
    let Some(problem) = problems.first() else {
        return "nothing".to_owned();
    };
    let at = String::from_utf8_lossy(problem.span.slice(&shader.text)).into_owned();
    let at = at.lines().next().unwrap_or_default().to_owned();
    format!("{}: {at}", problem.message)
}

#[test]
fn nothing_is_passed_over_in_silence() {
    let statements = [
        // What the grammar recovers from.
        ("a = b c;", "could not parse this statement: a = b c;"),
        ("a = 1 b = 2;", "could not parse this statement: a = 1 b = 2;"),
        ("a = (b;", "could not parse this statement: a = (b;"),
        ("a = b[;", "could not parse this statement: a = b[;"),
        ("a = b ? 1;", "could not parse this statement: a = b ? 1;"),
        ("a = a <<< 2;", "could not parse this statement: a = a <<< 2;"),
        ("a b c;", "could not parse this statement: a b c;"),
        ("uint c = ;", "could not parse this statement: uint c = ;"),
        ("return a b;", "could not parse this statement: return a b;"),
        (
            "if (a) uint c = 2;",
            "could not parse this statement: uint c = 2;",
        ),
        ("case 3: b = 1;", "unsupported statement: case 3: b = 1;"),
        ("else b = 1;", "unknown name `else`: else"),
        // What is C++ and no HLSL.
        ("a->b = 1;", "could not parse this statement: a->b = 1;"),
        ("*a = 2;", "unsupported expression: *a"),
        ("b = &a;", "unsupported expression: &a"),
        ("goto x;", "unknown name `goto`: goto"),
        // What means nothing.
        ("Foo c;", "unknown name `Foo`: Foo"),
        ("c = 1;", "unknown name `c`: c"),
        ("a = g(b);", "unknown name `g`: g"),
        // What the language has.
        (
            "printf(\"%u\", a);",
            "shaderlint does not follow `printf`: printf(\"%u\", a)",
        ),
        (
            "SetMeshOutputCounts(a, 1);",
            "shaderlint does not follow `SetMeshOutputCounts`: SetMeshOutputCounts(a, 1)",
        ),
        ("a.foo = 1;", "unsupported expression: a.foo"),
        ("a = v.z;", "unsupported expression: v.z"),
        ("s.n = 1;", "unsupported expression: s.n"),
        ("a = s;", "unsupported expression: s"),
        ("a = s + 1;", "unsupported expression: s + 1"),
        ("f(a);", "unsupported expression: f(a)"),
        ("a = b.Load(3);", "unsupported expression: b.Load(3)"),
        ("a = abs(b, b);", "unsupported expression: abs(b, b)"),
        ("a = \"x\";", "unsupported expression: \"x\""),
    ];
    for (statement, expected) in statements {
        assert_eq!(told(statement), expected, "{statement}");
    }
}
