//! Texts no one would write: nothing panics, nothing overflows the stack, nothing takes quadratic time.

#[path = "outlines/print.rs"]
mod print;

use std::fmt::Write;
use std::time::{Duration, Instant};

use print::outline;
use shaderlint_hlsl::{Shader, parse};

const KERNEL: &str = r#"#define IGNORED 1
static const uint SIZE = 64; // threads
enum Mode { Add = 1, Mul };
struct Item { uint key; float value : VALUE; uint get() { return key; } };
cbuffer Params : register(b0) { uint count : packoffset(c0); float2 scale[2]; };
StructuredBuffer<Item> items : register(t0);
RWStructuredBuffer<vector<uint, 2> > result : register(u0);
RWByteAddressBuffer raw;
groupshared uint lds[SIZE * 2];
/* a comment */
typedef uint Row[4];
namespace N { uint twice(in uint a, out uint b) { b = a; return a << 1; } }
[numthreads(SIZE, 1, 1)] [WaveSize(32)]
void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{
    Item item = items[id.x];
    float x = (float)item.key * 1.5e-2f - item.value.x;
    lds[gi] = id.x < count && (gi) > (3u) ? item.get() : 0;
    GroupMemoryBarrierWithGroupSync();
    [unroll(4)] for (uint s = SIZE >> 1; s > 0; s >>= 1)
    {
        if (gi < s) lds[gi] += lds[gi + s];
        else { continue; }
        GroupMemoryBarrierWithGroupSync();
    }
    [branch] switch (gi) { case 0: x = -1; break; default: x = 2.xx.y; }
    do { x--; } while (x > 0 && !(gi >= 4));
    Row row = { 1, 2, 3, 4 };
    uint other, r = N::twice(row[gi % 4], other) ^ Mode::Mul;
    raw.Store<uint>(gi * 4, WavePrefixSum(r)); static_assert(true, "text\"");
    result[gi].xy = uint2(lds[0], asuint(x));
}
"#;

fn text_of(source: &str) -> Shader {
    parse(source.as_bytes().to_vec()).0
}

#[test]
fn the_kernel_itself_is_understood() {
    let (shader, problems) = parse(KERNEL.as_bytes().to_vec());
    assert_eq!(problems, []);
    assert!(!outline(&shader).contains("???"), "{}", outline(&shader));
}

#[test]
fn every_prefix_and_every_suffix() {
    for cut in 0..KERNEL.len() {
        let _ = outline(&text_of(&KERNEL[..cut]));
        let _ = outline(&text_of(&KERNEL[cut..]));
    }
}

#[test]
fn every_byte_left_out_or_replaced() {
    for cut in 0..KERNEL.len() {
        let mut text = KERNEL.as_bytes().to_vec();
        text.remove(cut);
        let _ = parse(text);
        for byte in [b'(', b'}', b'<', b'[', 0, 0xFF] {
            let mut text = KERNEL.as_bytes().to_vec();
            text[cut] = byte;
            let _ = parse(text);
        }
    }
}

#[test]
fn spans_are_ranges_of_the_text() {
    let (shader, _) = parse(KERNEL.as_bytes().to_vec());
    assert_eq!(shader.text, KERNEL.as_bytes());
    let main = shader.entry_points().next().expect("main").1;
    assert!(main.span.slice(&shader.text).starts_with(b"[numthreads"));
    assert_eq!(main.name_span.slice(&shader.text), b"main");
    assert_eq!(
        main.group_size_span.slice(&shader.text),
        b"[numthreads(SIZE, 1, 1)]"
    );
    let starts: Vec<&[u8]> = main
        .body
        .iter()
        .flatten()
        .map(|stmt| stmt.span.slice(&shader.text))
        .collect();
    assert!(
        starts
            .iter()
            .any(|text| text.starts_with(b"[unroll(4)] for") && text.ends_with(b"}"))
    );
    assert!(starts.iter().any(|text| text.starts_with(b"[branch] switch")));
    assert!(starts.contains(&&b"GroupMemoryBarrierWithGroupSync();"[..]));
}

#[test]
fn empty_and_binary() {
    let _ = parse(Vec::new());
    let _ = parse(vec![0; 4096]);
    let _ = parse(vec![0xFF; 4096]);
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..300).map(|_| noise()).collect();
        let _ = parse(bytes);
        let text: Vec<u8> = (0..300)
            .map(|_| b" \n(){}[]<>;:,.=?+-*&|!~#\"'/\\ab1_0xuf"[usize::from(noise()) % 36])
            .collect();
        let _ = parse(text);
    }
}

/// Parses a text and checks that a function after it is still understood.
#[track_caller]
fn survives(text: &str) {
    let started = Instant::now();
    let (shader, _) = parse(format!("{text}\nuint after() {{ return 1; }}\n").into_bytes());
    let _ = outline(&shader);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "took {:?}",
        started.elapsed()
    );
    assert!(
        shader.functions.iter().any(|function| function.name == "after"),
        "what follows is lost"
    );
}

#[test]
fn deep_nesting() {
    let n = 20_000;
    survives(&format!(
        "void f() {{ int a = {}1{}; }}",
        "(".repeat(n),
        ")".repeat(n)
    ));
    survives(&format!(
        "void f() {{ {}{} }}",
        "{".repeat(5 * n),
        "}".repeat(5 * n)
    ));
    survives(&format!(
        "void f(int a) {{ a = {}0{}; }}",
        "a[".repeat(n),
        "]".repeat(n)
    ));
    survives(&format!(
        "void f(int a) {{ a = {}0{}; }}",
        "f(".repeat(900),
        ")".repeat(900)
    ));
    survives(&format!(
        "void f(int a) {{ {}{} }}",
        "{ a++; ".repeat(900),
        "}".repeat(900)
    ));
    survives(&format!("{} {}", "namespace N { ".repeat(n), "}".repeat(n)));
    survives(&format!(
        "struct S {} int a; {};",
        "{ struct T ".repeat(n),
        "}".repeat(n)
    ));
    survives(&format!("uint a[1] = {}1{};", "{".repeat(900), "}".repeat(900)));
}

#[test]
fn too_deep_an_expression_costs_its_statement_only() {
    let deep = format!("{}1{}", "-(".repeat(300), ")".repeat(300));
    let shader = text_of(&format!(
        "static const uint c = {deep}; uint f(uint a) {{ a = {deep}; a = 2; }}"
    ));
    assert!(outline(&shader).ends_with("(fn f uint (a uint)\n  ???\n  (= a 2u))\n"));
}

#[test]
fn long_chains() {
    let n = 100_000;
    survives(&format!("void f(int a) {{ a = a{}; }}", " + a".repeat(n)));
    survives(&format!("void f(int a) {{ {} a; }}", "a = ".repeat(n)));
    survives(&format!("void f(int a) {{ a = {} a; }}", "- ".repeat(n)));
    survives(&format!("void f(int a) {{ a = {} a; }}", "(int)".repeat(n)));
    survives(&format!("void f(int a) {{ a = {} 1; }}", "a ? 1 : ".repeat(n)));
    survives(&format!("void f(int a) {{ a = a{}; }}", ".x".repeat(n)));
    survives(&format!("void f(int a) {{ a{}; }}", "[0]".repeat(n)));
    survives(&format!("void f(int a) {{ a = a{}; }}", ", a".repeat(n)));
    survives(&format!(
        "void f(int a) {{ {} a = 1; }}",
        "if (a) a = 2; else ".repeat(20_000)
    ));
    survives(&format!("void f(int a) {{ {} a = 1; }}", "for (;;) ".repeat(n)));
    survives(&format!("uint a{};", "[2]".repeat(n)));
    survives(&format!("uint a{};", ", a".repeat(n)));
    survives(&format!("uint a[] = {{ {} 1 }};", "1, ".repeat(n)));
    survives(&format!("enum E {{ {} Z }};", "A, ".repeat(n)));
    survives(&"[a] ".repeat(n));
    survives(&format!("void f(int a) {{ {} }}", "a < ".repeat(n)));
}

#[test]
fn growing_types() {
    let mut arrays = "typedef uint T0;\n".to_owned();
    let mut structs = "struct S0 { uint a; };\n".to_owned();
    let mut constants = "static const uint C0 = 1;\n".to_owned();
    for n in 1..5_000 {
        let before = n - 1;
        let _ = writeln!(arrays, "typedef T{before} T{n}[2];");
        let _ = writeln!(structs, "struct S{n} {{ S{before} a, b; }};");
        let _ = writeln!(constants, "static const uint C{n} = C{before} + 1;");
    }
    survives(&arrays);
    survives(&structs);
    survives(&constants);
}

#[test]
fn ten_megabytes() {
    let copies = 10_000_000 / KERNEL.len();
    survives(&KERNEL.replace("\"text\\\"\";", "").repeat(copies));
    let started = Instant::now();
    let _ = parse("a(){{ ".repeat(500_000).into_bytes());
    assert!(started.elapsed() < Duration::from_secs(20));
    survives(&"}\n)] ".repeat(500_000));
}
