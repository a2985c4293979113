//! Kernels that run for ever, are too large, or say what makes no sense.

use std::fs;

use super::{BARRIER, case, each, folder, kernel, run, survives};

/// What is quadratic in the number of statements of a block shows here.
#[test]
fn long_kernels() {
    let rung =
        |n: u32| format!("{{ uint l = gi >= {n} ? g[gi - {n}] : 0; {BARRIER} g[gi] += l; {BARRIER} }}\n");
    let ladder = each(1000, |n| rung(1 << (n % 6)));
    let racy = each(1000, |n| {
        format!("if (gi >= {0}) g[gi] += g[gi - {0}]; {BARRIER}\n", 1 << (n % 6))
    });
    survives(
        "long",
        &[
            case("ladder", kernel("", &ladder), ""),
            case(
                "racy-ladder",
                kernel("", &racy),
                "racy-ladder.hlsl:9:14: error[groupshared-race]",
            ),
            case(
                "races",
                kernel("", &"g[gi] += g[(gi + 1) % 64];\n".repeat(2000)),
                "groupshared-race",
            ),
            case(
                "barriers",
                kernel("", &format!("g[gi] += gi; {BARRIER}\n").repeat(10_000)),
                "",
            ),
            case("no-barriers", kernel("", &"g[gi] += gi;\n".repeat(20_000)), ""),
        ],
    );
}

#[test]
fn run_without_end() {
    let body = |name, body: &str, says| case(name, kernel("", body), says);
    survives(
        "endless",
        &[
            body("while-true", "while (true) {}", ""),
            body("for-ever", "for (;;) {}", ""),
            body(
                "for-ever-with-barrier",
                &format!("for (;;) {{ g[gi] += 1; {BARRIER} }}"),
                "",
            ),
            body(
                "billions",
                "for (uint i = 0; i < 4294967295u; i++) { g[gi] += 1; }",
                "",
            ),
            body(
                "billions-with-barrier",
                &format!("for (uint i = 0; i < 4294967295u; i++) {{ g[gi] += 1; {BARRIER} }}"),
                "",
            ),
            body(
                "nested",
                "for (uint i = 0; i < 65535; i++) for (uint j = 0; j < 65535; j++) for (uint k = 0; k < 65535; k++) g[gi] += i;",
                "",
            ),
            body("overflow", "for (int i = 0; i >= 0; i++) g[gi] += 1;", ""),
            body("no-step", "for (uint i = 0; i < 10;) {}", ""),
            body("do", "do { continue; } while (1);", ""),
            body(
                "not-a-number",
                "for (float f = 0.0 / 0.0; !(f > 1); f += 1) { g[gi] += 1; }",
                "",
            ),
            body(
                "spin",
                "uint x; do { InterlockedCompareExchange(g[0], 0, 1, x); } while (x != 0);",
                "",
            ),
            body("itself", "main(gi);", "calls nested too deeply"),
            case(
                "recursion",
                kernel("uint f(uint a) { return f(a + 1); }", "g[gi] = f(gi);"),
                "calls nested too deeply",
            ),
            case(
                "two",
                kernel(
                    "uint h(uint a); uint f(uint a) { return h(a) + h(a); } uint h(uint a) { return f(a) + f(a); }",
                    "g[gi] = f(gi);",
                ),
                "calls nested too deeply",
            ),
            case(
                "doubling",
                kernel(
                    &("uint f0(uint a) { return a; }\n".to_owned()
                        + &each(60, |n| {
                            format!("uint f{}(uint a) {{ return f{n}(a) + f{n}(a); }}\n", n + 1)
                        })),
                    "g[gi] = f60(gi);",
                ),
                "calls nested too deeply",
            ),
        ],
    );
}

#[test]
fn sizes_that_cannot_be() {
    let group = |name, size: &str, says| case(name, kernel("", "").replace("64, 1, 1", size), says);
    survives(
        "groups",
        &[
            group("none", "0, 1, 1", "the thread group has no threads"),
            group(
                "many",
                "2048, 1, 1",
                "the thread group has 2048 threads, but D3D allows at most 1024",
            ),
            group(
                "cube",
                "65536, 65536, 65536",
                "the thread group has 281474976710656 threads",
            ),
            group("more", "1024, 1024, 64", "the thread group has 67108864 threads"),
            group(
                "most",
                "4294967295, 4294967295, 4294967295",
                "the thread group has 79228162458924105385300197375 threads",
            ),
            group(
                "negative",
                "-1, 1, 1",
                "the group size is not a positive constant",
            ),
            group(
                "division",
                "1 / 0, 1, 1",
                "the group size is not a positive constant",
            ),
            group(
                "long",
                "99999999999999999999, 1, 1",
                "the group size is not a positive constant",
            ),
            group("empty", "", "the group size is not a positive constant"),
        ],
    );
    let folder = folder("groups");
    fs::write(
        folder.join("many.hlsl"),
        kernel("", "").replace("64, 1, 1", "2048, 1, 1"),
    )
    .unwrap();
    let (code, said) = run(&folder, &["wgsl", "many.hlsl"]);
    assert!(
        code == 2 && said.contains("a group of 2048 threads") && said.contains("many.hlsl:4:1"),
        "{said}"
    );

    let array = |name, length: &str, says| {
        let body = format!("h[gi] = gi; {BARRIER} o[gi] = h[gi ^ 1]; h[0] += gi;");
        case(
            name,
            kernel(&format!("groupshared uint h[{length}];"), &body),
            says,
        )
    };
    let local = |name, length: &str, says| {
        case(
            name,
            kernel(
                "",
                &format!("uint h[{length}]; h[gi] = gi; o[gi] = h[gi ^ 1]; h[0] += gi;"),
            ),
            says,
        )
    };
    let no_constant = "the length of this array is not a constant";
    survives(
        "arrays",
        &[
            array("billions", "4294967295", ""),
            array("more-billions", "4294967296", no_constant),
            array("none", "0", ""),
            array("negative", "-1", no_constant),
            array("unknown", "X", no_constant),
            array("square", "65536][65536", ""),
            array("cube", "4294967295][4294967295][4294967295", ""),
            array("dimensions", &vec!["2"; 200].join("]["), ""),
            local("local-billions", "4294967295", ""),
            local("local-negative", "-1", no_constant),
            local("local-square", "65536][65536", ""),
            local("local-wide", "64][4096", ""),
            local("local-dimensions", &vec!["2"; 200].join("]["), ""),
        ],
    );
}

#[test]
fn structs_that_cannot_be() {
    let rungs = |first: &str, count, next: fn(u32) -> String| first.to_owned() + &each(count, next);
    let powers = "struct A { uint a[65536]; uint b[65536]; }; struct B { A a[65536]; A b[65536]; }; \
        struct C { B a[65536]; B b[65536]; }; struct D { C a[65536]; C b[65536]; C c; };";
    let pick = "b[gi].b[gi].b[gi].b[gi]";
    survives(
        "structs",
        &[
            case(
                "itself",
                kernel(
                    "struct S { S s; uint a; }; groupshared S s[64];",
                    "s[gi] = (S)0; s[gi].a = 1;",
                ),
                "",
            ),
            case(
                "each-other",
                kernel(
                    "struct T; struct S { T t; }; struct T { S s; }; groupshared S s[64];",
                    "s[gi] = (S)0;",
                ),
                "",
            ),
            case(
                "deep",
                kernel(
                    &(rungs("struct S0 { uint a; };\n", 2000, |n| {
                        format!("struct S{} {{ S{n} a; }};\n", n + 1)
                    }) + "groupshared S2000 s[64];"),
                    "s[gi] = (S2000)0;",
                ),
                "this struct is too large",
            ),
            case(
                "doubling",
                kernel(
                    &(rungs("struct S0 { uint a; };\n", 70, |n| {
                        format!("struct S{} {{ S{n} a, b; }};\n", n + 1)
                    }) + "groupshared S70 s[64];"),
                    "S70 t = s[0]; s[gi] = t;",
                ),
                "this struct is too large",
            ),
            case(
                "powers",
                kernel(
                    &format!("{powers} groupshared D d;"),
                    &format!("d.{pick} = gi; D x = d; o[gi] = d.{pick};"),
                ),
                "",
            ),
            case(
                "local-powers",
                kernel(
                    powers,
                    &format!("D d; d.{pick} = gi; d.c.{} = 1; o[gi] = d.{pick};", &pick[6..]),
                ),
                "",
            ),
            case(
                "typedefs",
                kernel(
                    &(rungs("typedef uint T0;\n", 70, |n| {
                        format!("typedef T{n} T{}[2];\n", n + 1)
                    }) + "groupshared T70 t;"),
                    "T70 x;",
                ),
                "",
            ),
        ],
    );
}
