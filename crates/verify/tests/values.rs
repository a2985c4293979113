//! Expressions and statements: what devices compute against what the CPU expects.

mod support;

use shaderlint_hlsl::Version;
use shaderlint_verify::lower;
use support::{check_kernel, check_lane, check_out, sample, shader};

#[test]
fn integer_operators() {
    check_lane("", "r = x + 3;", |_, x| x.wrapping_add(3));
    check_lane("", "r = x - gi * 7;", |gi, x| x.wrapping_sub(gi * 7));
    check_lane("", "r = x * x;", |_, x| x.wrapping_mul(x));
    check_lane("", "r = x / (gi + 1);", |gi, x| x / (gi + 1));
    check_lane("", "r = x % (gi + 1);", |gi, x| x % (gi + 1));
    let zero_or = |quotient: Option<u32>| quotient.unwrap_or(u32::MAX);
    check_lane("", "r = x / (gi & 3);", |gi, x| zero_or(x.checked_div(gi & 3)));
    check_lane("", "r = (uint2(x, x) % uint2(gi & 3, 1)).x;", |gi, x| {
        zero_or(x.checked_rem(gi & 3))
    });
    check_lane("", "r = (x & 0xff00) | (gi ^ 5) | ~x;", |gi, x| {
        (x & 0xff00) | (gi ^ 5) | !x
    });
    check_lane("", "r = -x;", |_, x| x.wrapping_neg());
}

#[test]
fn signed_division_and_modulo_truncate() {
    check_lane(
        "",
        "int y = (int)x; int d = (int)gi - 80; r = (uint)(y / d);",
        |gi, x| {
            x.cast_signed()
                .wrapping_div(gi.cast_signed() - 80)
                .cast_unsigned()
        },
    );
    check_lane(
        "",
        "int y = (int)x; int d = (int)gi - 80; r = (uint)(y % d);",
        |gi, x| {
            x.cast_signed()
                .wrapping_rem(gi.cast_signed() - 80)
                .cast_unsigned()
        },
    );
}

#[test]
fn shifts_take_five_bits() {
    check_lane("", "r = x << gi;", |gi, x| x << (gi & 31));
    check_lane("", "r = x >> gi;", |gi, x| x >> (gi & 31));
    check_lane("", "r = (uint)((int)x >> (int)gi);", |gi, x| {
        (x.cast_signed() >> (gi & 31)).cast_unsigned()
    });
    check_lane("", "r = x << 33;", |_, x| x << 1);
    check_lane("", "int y = (int)x; y <<= 3; y >>= 35; r = (uint)y;", |_, x| {
        ((x.cast_signed() << 3) >> 3).cast_unsigned()
    });
}

#[test]
fn comparisons_are_signed_where_operands_are() {
    check_lane(
        "",
        "r = (x < 5) + 2 * (x >= gi) + 4 * (x == gi) + 8 * (x != 0);",
        |gi, x| u32::from(x < 5) + 2 * u32::from(x >= gi) + 4 * u32::from(x == gi) + 8 * u32::from(x != 0),
    );
    check_lane(
        "",
        "int y = (int)x; r = (y < 5) + 2 * (y <= -1) + 4 * (y > (int)gi);",
        |gi, x| {
            let y = x.cast_signed();
            u32::from(y < 5) + 2 * u32::from(y <= -1) + 4 * u32::from(y > gi.cast_signed())
        },
    );
}

#[test]
fn constants_wrap_and_keep_their_bits() {
    check_lane(
        "static const uint big = 0xffffffffu + 2u; static const int low = -2147483647 - 1;",
        "r = big + (uint)low + x;",
        |_, x| x.wrapping_add(1).wrapping_add(0x8000_0000),
    );
    check_lane(
        "",
        "r = asuint(-0.0f) + asuint(1.0f / 0.0f) * (x & 1);",
        |_, x| 0x8000_0000u32.wrapping_add(0x7f80_0000 * (x & 1)),
    );
    check_lane(
        "static const uint table[4] = { 5, 6, 7, 9 };",
        "r = table[x & 3] + table[2];",
        |_, x| [5, 6, 7, 9][(x & 3) as usize] + 7,
    );
    check_lane(
        "static const float2 pair = float2(1.5, -2.0);",
        "r = asuint(pair.y);",
        |_, _| (-2.0f32).to_bits(),
    );
}

#[test]
fn conversions() {
    check_lane(
        "",
        "bool b = x; r = b ? 3 : 4;",
        |_, x| if x == 0 { 4 } else { 3 },
    );
    check_lane("", "r = asuint((float)x) ^ asuint((float)(int)x);", |_, x| {
        #[expect(clippy::cast_precision_loss)]
        let floats = ((x as f32).to_bits(), (x.cast_signed() as f32).to_bits());
        floats.0 ^ floats.1
    });
    check_lane(
        "",
        "float f = (float)(x & 1023) * 0.5; r = (uint)f + (uint)(int)(f - 100.0);",
        |_, x| {
            let half = (x & 1023) / 2;
            #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
            let signed = ((x & 1023) as f32 * 0.5 - 100.0) as i32;
            half.wrapping_add(signed.cast_unsigned())
        },
    );
    check_lane("", "half h = 0.5; r = asuint((float)h);", |_, _| 0.5f32.to_bits());
    check_lane(
        "",
        "float nan = asfloat(0x7fc00000 | x & 0x80000000); int2 v = (int2)float2(nan, -1.5);
         r = 10 + (uint)v.y + 100 * (uint)v.x + (uint)(int)nan + (uint)nan;",
        |_, _| 9,
    );
}

#[test]
fn vectors_and_swizzles() {
    check_lane(
        "",
        "uint4 v = uint4(x, gi, 3, 4); v.xy = v.yx; r = v.x * 2 + v.y;",
        |gi, x| (gi * 2).wrapping_add(x),
    );
    check_lane(
        "",
        "uint4 v = 7; v.zx = uint2(x, gi); v.w += v.z; v.xy.y = 9; r = v.x + v.y + v.z + v.w;",
        |gi, x| gi.wrapping_add(9).wrapping_add(x).wrapping_add(x.wrapping_add(7)),
    );
    check_lane(
        "",
        "uint3 v = uint3(gi, x, 1); uint i = x & 1; v[i] = 40; r = v[0] ^ v[1] ^ v[2];",
        |gi, x| {
            if x.is_multiple_of(2) {
                0b10_1000 ^ x ^ 1
            } else {
                gi ^ 0b10_1000 ^ 1
            }
        },
    );
    check_lane(
        "",
        "uint2 a = x.xx; bool2 c = a < uint2(9, 0); uint2 s = c ? uint2(1, 1) : uint2(5, 6); r = s.x * 10 + s.y + (any(c) ? 100 : 0) + (all(c) ? 1000 : 0);",
        |_, x| (if x < 9 { 1 } else { 5 }) * 10 + 6 + if x < 9 { 100 } else { 0 },
    );
    check_lane(
        "",
        "int2 v = int2((int)x, -3); v++; --v.y; r = (uint)(v.x * v.y);",
        |_, x| x.cast_signed().wrapping_add(1).wrapping_mul(-3).cast_unsigned(),
    );
}

#[test]
fn structs_arrays_and_nesting() {
    let declarations =
        "struct Inner { uint a; bool b; float2 c; }; struct Outer { Inner one; Inner many[3]; uint z; };";
    check_lane(
        declarations,
        "Outer o = (Outer)0; o.many[gi % 3].a = x; o.many[gi % 3].b = x > 4; o.one = o.many[gi % 3]; o.z += o.one.a; Outer p = o; r = p.z + (p.one.b ? 1 : 0) + p.many[(gi + 1) % 3].a;",
        |_, x| x.wrapping_add(u32::from(x > 4)),
    );
    check_lane(
        "",
        "uint a[4] = { 1, 2, 3, 4 }; a[x & 3] += gi; uint b[4] = a; r = b[0] * b[1] + b[2] * b[3];",
        |gi, x| {
            let mut a = [1u32, 2, 3, 4];
            a[(x & 3) as usize] += gi;
            a[0] * a[1] + a[2] * a[3]
        },
    );
    check_lane(
        "",
        "uint m[2][3]; for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) m[i][j] = i * 10 + j; r = m[x & 1][2];",
        |_, x| (x & 1) * 10 + 2,
    );
}

#[test]
fn matrices() {
    check_lane(
        "",
        "float2x3 m = float2x3(1, 2, 3, 4, 5, 6); float2 v = mul(m, float3(1, 10, 100)); float3 w = mul(float2(1, 10), m); r = (uint)(v.x + v.y * 1000 + w.z + m[1][0] + m._m02);",
        |_, _| {
            // m = [1 2 3; 4 5 6]
            321 + 654_000 + 63 + 4 + 3
        },
    );
    check_lane(
        "",
        "float2x2 m = float2x2(1, 2, 3, 4); m[0] = float2(5, 6); float2x2 t = transpose(m) * m + m; float2x2 q = mul(m, m); r = (uint)(t[0][1] + 100 * t[1][1] + 10000 * q[0][1]);",
        |_, _| {
            // m = [5 6; 3 4]; transpose = [5 3; 6 4]; product by component [25 18; 18 16]
            24 + 100 * 20 + 10_000 * (5 * 6 + 6 * 4)
        },
    );
}

#[test]
fn loops_of_every_kind() {
    check_lane(
        "",
        "for (uint i = 0; i < (x & 15); i++) { if (i == 3) continue; if (i == 11) break; r += i; }",
        |_, x| (0..(x & 15)).take_while(|i| *i != 11).filter(|i| *i != 3).sum(),
    );
    check_lane(
        "",
        "uint i = 0; while (i < 10) { i++; if (i & 1) continue; r += i * x; }",
        |_, x| x.wrapping_mul(30),
    );
    check_lane(
        "",
        "uint i = x & 7; do { r++; i--; if (r > 20) break; } while (i > 0 && i < 100);",
        |_, x| match x & 7 {
            0 => 1,
            n => n,
        },
    );
    check_lane(
        "",
        "for (uint i = 0; i < 3; i++) { uint t = 5; t += i; for (uint j = 0; j < 4; ++j) { if (j > i) break; r += t * j; } }",
        |_, _| (0..3).map(|i| (0..=i).map(|j| (5 + i) * j).sum::<u32>()).sum(),
    );
    check_lane(
        "",
        "for (uint i = 0, j = 9; i < j; i++, j--) r = r * 10 + j;",
        |_, _| 98_765,
    );
    check_lane("", "for (;;) { r += 2; if (r > (x & 31)) break; }", |_, x| {
        let mut r = 0;
        while r <= x & 31 {
            r += 2;
        }
        r
    });
}

#[test]
fn switches_and_early_returns() {
    check_lane(
        "",
        "switch (x & 7) { case 0: case 1: r = 10; break; case 2: { r = 20; break; } default: r = 30; break; case 5: if (gi > 9) r = 51; else r = 52; break; }",
        |gi, x| match x & 7 {
            0 | 1 => 10,
            2 => 20,
            5 => {
                if gi > 9 {
                    51
                } else {
                    52
                }
            }
            _ => 30,
        },
    );
    check_lane(
        "",
        "for (int i = 0; i < 6; i++) { switch (i) { case 2: continue; case -1: break; case 4: r += 100; break; default: r += 1; } r += 10; }",
        |_, _| 5 * 10 + 100 + 4,
    );
    check_lane(
        "uint f(int k) { switch (k) { case 0: return 7; case 1: return 8; } return 9; }",
        "r = f((int)(x & 3));",
        |_, x| match x & 3 {
            0 => 7,
            1 => 8,
            _ => 9,
        },
    );
    check_lane(
        "uint f(uint k) { for (uint i = 0; i < 20; i++) { if (i * i > k) return i; } return 99; }",
        "r = f(x & 255) + f(1000);",
        |_, x| (0..20).find(|i| i * i > (x & 255)).unwrap_or(99) + 99,
    );
}

#[test]
fn functions_copy_their_arguments() {
    check_lane(
        "void swap(inout uint a, inout uint b) { uint t = a; a = b; b = t; }",
        "uint y = gi; swap(x, y); r = x * 3 + y;",
        |gi, x| (gi * 3).wrapping_add(x),
    );
    check_lane(
        "void split(uint v, out uint low, out float high) { low = v & 0xffff; high = (float)(v >> 16); v = 3; }",
        "uint2 s; split(x, s.x, s.y); r = s.x + s.y * 5 + x;",
        |_, x| (x & 0xffff).wrapping_add((x >> 16) * 5).wrapping_add(x),
    );
    check_lane(
        "groupshared uint g[64]; void bump(inout uint c) { c += 5; }",
        "g[gi] = x; bump(g[gi]); r = g[gi];",
        |_, x| x.wrapping_add(5),
    );
    check_lane(
        "uint read(StructuredBuffer<uint> b, uint i) { return b[i] + b.Load(i); } uint twice(StructuredBuffer<uint> c, uint i) { return read(c, i); }",
        "r = twice(In, gi);",
        |_, x| x.wrapping_mul(2),
    );
    check_lane(
        "static uint calls = 4; static uint seven; uint next() { calls++; return calls; }",
        "seven = 7; r = next() * 100 + next() * 10 + seven;",
        |_, _| 500 + 60 + 7,
    );
    check_lane(
        "uint count() { static uint n = 3; n += 2; return n; }",
        "count(); r = count();",
        |_, _| 7,
    );
    // Given its value where it is first reached, and then kept.
    check_lane(
        "uint once(uint a) { static uint n = a; static const uint m = a + 1; ++n; return n * 100 + m; }",
        "once(3); r = once(7);",
        |_, _| 504,
    );
}

#[test]
fn the_arm_not_taken_is_not_evaluated() {
    check_lane(
        "groupshared uint g[64];",
        "g[gi] = x; GroupMemoryBarrierWithGroupSync(); r = gi >= 3 ? g[gi - 3] : 0;",
        |gi, _| {
            if gi >= 3 { sample()[gi as usize - 3] } else { 0 }
        },
    );
    check_lane(
        "",
        "uint n = 0; bool a = x > 5 && ++n > 0; bool b = x > 5 || ++n > 0; r = n * 4 + (a ? 2 : 0) + (b ? 1 : 0);",
        |_, x| {
            if x > 5 { 4 + 3 } else { 4 + 1 }
        },
    );
    check_lane(
        "",
        "uint n = 1; r = (x & 1) ? (n = 5) + 1 : n++; r = r * 10 + n;",
        |_, x| if x & 1 == 1 { 65 } else { 12 },
    );
}

#[test]
fn before_2021_all_operands_are_evaluated() {
    let source = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out;\n[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex) { uint all = WaveActiveSum(1u); uint n = gi % 4 == 0 ? WaveActiveSum(1u) : WaveActiveSum(1u); \
         bool is_all = gi % 4 == 0 && WaveActiveSum(1u) == all; Out[gi] = In[0] * 0 + (n == all) * 2 + is_all; }\n";
    let mut shader = shader(source);
    shader.version = Some(Version::V2018);
    let (entry, _) = shader.entry_points().next().unwrap();
    let kernel = lower(&shader, entry).unwrap();
    check_kernel(&kernel, &sample(), |_, out| {
        for (gi, got) in out.iter().enumerate() {
            assert_eq!(*got, if gi % 4 == 0 { 3 } else { 2 }, "thread {gi}");
        }
    });
}

#[test]
fn assignments_compute_in_the_wider_type() {
    check_lane("", "int i = (int)(x & 63); i *= 1.5; r = (uint)i;", |_, x| {
        (x & 63) * 3 / 2
    });
    check_lane("", "uint a, b; a = b = x + 1; a += b -= 1; r = a;", |_, x| {
        x.wrapping_add(1).wrapping_add(x)
    });
    check_lane(
        "",
        "uint i = 0; uint a[3] = { 0, 0, 0 }; a[i++] = 5; a[i++] += 6; r = a[0] * 100 + a[1] * 10 + i;",
        |_, _| 562,
    );
}

#[test]
fn math_intrinsics() {
    check_lane("", "r = min(x, 77) + max(gi, 30) + clamp(x, 5, 9);", |gi, x| {
        x.min(77) + gi.max(30) + x.clamp(5, 9)
    });
    check_lane(
        "",
        "r = countbits(x) + 100 * firstbithigh(x | 1) + 10000 * firstbitlow(x | 0x80000000);",
        |_, x| x.count_ones() + 100 * (x | 1).ilog2() + 10_000 * (x | 0x8000_0000).trailing_zeros(),
    );
    check_lane(
        "",
        "r = reversebits(x) ^ asuint(abs((float)(int)(x & 255) - 128.0));",
        |_, x| {
            #[expect(clippy::cast_precision_loss)]
            let float = ((x & 255) as f32 - 128.0).abs();
            x.reverse_bits() ^ float.to_bits()
        },
    );
    check_lane(
        "",
        "float2 v = float2(x & 15, 3); r = (uint)(dot(v, v) + floor(2.5) + ceil(0.5) + saturate(7.0) + lerp(0.0, 10.0, 0.5) + mad(v.x, 2.0, 1.0) + length(float2(3, 4)));",
        |_, x| {
            let v = x & 15;
            v * v + 9 + 2 + 1 + 1 + 5 + 2 * v + 1 + 5
        },
    );
    check_lane(
        "",
        "r = (uint)sign((int)x) + f32tof16(1.5) + (uint)f16tof32(0x4500) + (isnan(asfloat(x)) ? 100000 : 0);",
        |_, x| {
            x.cast_signed()
                .signum()
                .cast_unsigned()
                .wrapping_add(0x3e00 + 5)
                .wrapping_add(if f32::from_bits(x).is_nan() { 100_000 } else { 0 })
        },
    );
}

/// `f != 0` and `bool(f)` are one comparison, of NaN as well; `lerp` is what DXIL has for it, bit for bit.
#[test]
fn forms_that_dxil_does_not_tell_apart() {
    check_lane(
        "",
        "float nan = asfloat(0x7fc00000 | x), zero = asfloat(x & 0);
         r = (nan ? 1u : 0u) + (nan != 0 ? 2u : 0u) + (bool(nan) ? 4u : 0u) + (zero ? 8u : 0u) + (zero != 0 ? 16u : 0u);",
        |_, _| 7,
    );
    check_lane(
        "",
        "float a = 3 + (x & 63), b = 1.1 * gi, t = 0.3; r = asuint(lerp(a, b, t)) == asuint(a + t * (b - a));",
        |_, _| 1,
    );
}

#[test]
fn uniforms_and_byte_addresses() {
    let source = "cbuffer Settings { uint count; float3 scale; uint table[3]; bool flag; };
ByteAddressBuffer In; RWByteAddressBuffer Out;
[numthreads(16, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    uint2 pair = In.Load2(id.x * 8);
    uint bytes; In.GetDimensions(bytes);
    Out.Store(id.x * 8, pair.x + count + (flag ? 1 : 0) + table[2]);
    Out.Store(id.x * 8 + 4, asuint(asfloat(0x40000000) * 2.0) + pair.y + bytes * 0 + (scale.y > 0.5 ? 0 : 1));
}";
    let kernel = support::lowered(source);
    for device in support::devices() {
        let mut plan = shaderlint_verify::run::InputPlan {
            elements_per_thread: 2,
            ..Default::default()
        };
        plan.contents
            .insert("In".into(), sample().into_iter().map(f64::from).collect());
        let inputs = shaderlint_verify::run::make_inputs(&[&kernel], [1, 1, 1], &plan);
        let out = &support::execute(&device, &kernel, &inputs, [1, 1, 1])["Out"];
        for (pair, got) in sample().chunks(2).zip(out.chunks(2)) {
            assert_eq!(got[0], pair[0].wrapping_add(16 + 1 + 16));
            assert_eq!(got[1], 4f32.to_bits().wrapping_add(pair[1]));
        }
    }
}

/// WGSL leaves gaps behind vectors of three; HLSL has none.
#[test]
fn strides_are_those_of_hlsl() {
    let source = "struct Node { float3 a; float2 b; uint c[2]; };
StructuredBuffer<float3> Triples; StructuredBuffer<Node> Nodes; RWStructuredBuffer<uint> Out;
[numthreads(16, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    uint n, triple, nodes, node, own, word;
    Triples.GetDimensions(n, triple);
    Nodes.GetDimensions(nodes, node);
    Out.GetDimensions(own, word);
    Out[id.x] = n + nodes * 100 + own * 10000 + ((triple + node * 100 + word * 10000) << 12);
}";
    let kernel = support::lowered(source);
    for device in support::devices() {
        let mut plan = shaderlint_verify::run::InputPlan::default();
        plan.lengths.extend([("Triples".into(), 3), ("Nodes".into(), 5)]);
        let inputs = shaderlint_verify::run::make_inputs(&[&kernel], [1, 1, 1], &plan);
        let out = &support::execute(&device, &kernel, &inputs, [1, 1, 1])["Out"];
        let expected = 3u32 + 5 * 100 + 16 * 10_000;
        let strides = 12u32 + 28 * 100 + 4 * 10_000;
        assert!(
            out.iter()
                .all(|word| *word == expected.wrapping_add(strides << 12)),
            "{out:?}"
        );
    }
}

/// In rows, and with lane ids laid end to end.
#[test]
fn thread_ids_of_every_kind() {
    for lane in ["0", "0 * WaveGetLaneIndex()", "0 * QuadReadLaneAt(gi, 0)"] {
        thread_ids(lane);
    }
}

fn thread_ids(lane: &str) {
    let source = "struct Ids { uint3 group : SV_GroupID; uint2 thread : SV_GroupThreadID; };
RWStructuredBuffer<uint> Out;
[numthreads(4, 2, 2)]
void main(Ids ids, uint gi : SV_GroupIndex, int3 id : SV_DispatchThreadID, uint gx : SV_GroupID) {
    Out[gi + gx * 16] = (uint)id.x + 100 * (uint)id.y + 10000 * (uint)id.z + 1000000 * ids.group.x + 10000000 * ids.thread.y + LANE;
}";
    let kernel = support::lowered(&source.replace("LANE", lane));
    assert_eq!(kernel.is_flattened(), lane != "0");
    for device in support::devices() {
        let inputs = shaderlint_verify::run::make_inputs(
            &[&kernel],
            [2, 1, 1],
            &shaderlint_verify::run::InputPlan::default(),
        );
        let out = &support::execute(&device, &kernel, &inputs, [2, 1, 1])["Out"];
        for group in 0..2 {
            for gi in 0..16 {
                let (x, y, z) = (gi % 4, gi / 4 % 2, gi / 8);
                let expected = (group * 4 + x) + 100 * y + 10_000 * z + 1_000_000 * group + 10_000_000 * y;
                assert_eq!(
                    out[(group * 16 + gi) as usize],
                    expected,
                    "group {group} thread {gi}"
                );
            }
        }
    }
}

#[test]
fn structs_in_buffers_keep_their_fields() {
    let source = "struct Record { bool live; float3 at; uint tag; bool2 flags; };
StructuredBuffer<uint> In; RWStructuredBuffer<Record> Records; RWStructuredBuffer<uint> Out;
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) {
    Record r; r.live = In[gi] > 7; r.at = float3(1, gi, 3); r.tag = gi; r.flags = bool2(true, gi & 1);
    Records[gi] = r;
    Records[gi].at.z = 8;
    Record s = Records[gi];
    Out[gi] = (s.live ? 1 : 0) + (s.flags.y ? 2 : 0) + (uint)s.at.y * 4 + (uint)s.at.z * 1000 + s.tag * 100000;
}";
    let input = sample();
    check_out(source, &input, |_, out| {
        for (gi, x) in (0u32..).zip(&input) {
            assert_eq!(
                out[gi as usize],
                u32::from(*x > 7) + 2 * (gi & 1) + gi * 4 + 8000 + gi * 100_000
            );
        }
    });
}
