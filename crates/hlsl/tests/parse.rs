//! Source in, typed tree out.

mod outlines;

use outlines::check;

#[test]
fn literals() {
    check(
        r"
static const int a = 1;
static const uint b = 0x10u, c = 0xFFFFFFFF, d = 1u, e = 010;
static const float f = 1.0, g = 1.f, h = .5, i = 2e-3, j = 1e+2f;
static const half k = 1h;
static const bool l = true;
void f0() { uint m = 5000000000; float2 n = 1.xx; float o = 0.5.x; int p = -1 - -2; double q = 1.0L; }
",
        r"
(const a int 1)
(const b uint 16u)
(const c uint 4294967295u)
(const d uint 1u)
(const e uint 8u)
(const f float 1.0f)
(const g float 1.0f)
(const h float 0.5f)
(const i float 0.002f)
(const j float 100.0f)
(const k half 1.0h)
(const l bool true)
(fn f0 void
  (let m uint (as uint (?int64_t)))
  (let n float2 (as float2 (.xx 1)))
  (let o float (.x 0.5f))
  (let p int (- (neg 1) (neg 2)))
  (let q double (?double)))
",
    );
}

#[test]
fn globals_and_storage() {
    check(
        r"
static const uint N = 4;
static uint counter = 0;
uint plain;
const uint with_value = 3;
groupshared float4 tile[N * 2][with_value], one;
globallycoherent RWStructuredBuffer<uint> out_buffer : register(u0, space1);
StructuredBuffer<uint2> in_buffer[2] : register(t0);
Texture2D<float4> colour : register(t1), depth : register(t2);
Texture2D untyped;
SamplerState linear_clamp : register(s0) { Filter = MIN_MAG_MIP_LINEAR; };
RWByteAddressBuffer bytes;
ConsumeStructuredBuffer<vector<uint, 2> > queue;
row_major float4x4 transform;
static const float weights[] = { 0.25, 0.5, 0.25 };
static const uint2 pairs[2] = { { 1, 2 }, { 3, 4 } };
",
        r"
(const N uint 4u)
(static counter uint 0u)
(uniform plain uint)
(uniform with_value uint 3u)
(groupshared tile float4[8][3])
(groupshared one float4)
(resource coherent out_buffer RwStructuredBuffer<uint>)
(resource in_buffer StructuredBuffer<uint2>[2])
(resource colour Texture<float4>)
(resource depth Texture<float4>)
(resource untyped Texture<float4>)
(resource linear_clamp Sampler)
(resource bytes RwByteAddressBuffer)
(resource queue ConsumeStructuredBuffer<uint2>)
(uniform transform float4x4)
(const weights float[3] (new float[3] 0.25f 0.5f 0.25f))
(const pairs uint2[2] (new uint2[2] 1u 2u 3u 4u))
",
    );
}

#[test]
fn constant_buffers() {
    check(
        r"
struct Params { uint size; float2 scale[2]; };
cbuffer First : register(b0) { uint count : packoffset(c0.x); float4 tint; };
cbuffer Second
{
    uint other;
    Params nested;
}
tbuffer Third : register(t3) { uint third; }
ConstantBuffer<Params> whole : register(b1);
[[vk::binding(0, 1)]] cbuffer Fourth : register(b2) { uint fourth; }
uint read(uint i) { return count + other + whole.size + nested.size + uint(whole.scale[i].y) + third + fourth; }
",
        r"
(struct Params (size uint) (scale float2[2]))
(uniform count uint)
(uniform tint float4)
(uniform other uint)
(uniform nested Params)
(uniform third uint)
(resource whole ConstantBuffer<Params>)
(uniform fourth uint)
(fn read uint (i uint)
  (return (+ (+ (+ (+ (+ (+ count other) (.size whole)) (.size nested)) (as uint (.y (at (.scale whole) i)))) third) fourth)))
",
    );
}

#[test]
fn structs_and_semantics() {
    check(
        r"
struct Inner { float3 position : POSITION; nointerpolation uint flags : FLAGS0; };
struct Outer : Inner { Inner inner[2]; row_major float2x2 m; uint a, b[3]; };
float4 vertex(Inner v : IN, uint id : SV_VertexID) : SV_Position
{
    Outer o = (Outer)0;
    o.inner[1].position.xy = v.position.yx;
    o.b[2] = o.a++;
    return float4(o.position, o.inner[0].flags);
}
",
        r"
(struct Inner (position float3 :POSITION) (flags uint :FLAGS0))
(struct Outer (Inner Inner) (inner Inner[2]) (m float2x2) (a uint) (b uint[3]))
(fn vertex float4 (v Inner :IN) (id uint :SV_VertexID)
  (let o Outer (as Outer 0))
  (= (.xy (.position (at (.inner o) 1))) (.yx (.position v)))
  (= (at (.b o) 2) (x++ (.a o)))
  (return (new float4 (.position (.Inner o)) (as float (.flags (at (.inner o) 0))))))
",
    );
}

#[test]
fn struct_methods() {
    check(
        r"
struct Counter
{
    uint value;
    uint get() { return value; }
    void bump(uint by) { value += by; }
    void twice() { bump(get()); }
    static uint zero() { return 0; }
};
uint use_it()
{
    Counter c;
    c.value = Counter::zero();
    c.bump(2);
    return c.get();
}
",
        r"
(struct Counter (value uint))
(fn Counter::get uint (this Counter)
  (return (.value this)))
(fn Counter::bump void (inout this Counter) (by uint)
  (+= (.value this) by))
(fn Counter::twice void (inout this Counter)
  (Counter::bump this (Counter::get this)))
(fn Counter::zero uint
  (return 0u))
(fn use_it uint
  (let c Counter)
  (= (.value c) (Counter::zero))
  (Counter::bump c 2u)
  (return (Counter::get c)))
",
    );
}

#[test]
fn entry_point_attributes() {
    check(
        r#"
static const uint GROUP = 8;
enum Shape { Rows = 2, Columns };
[RootSignature("x")]
[numthreads(GROUP * 2, Shape::Columns, 1)]
[WaveSize(16, 64)]
void main(uint3 id : SV_DispatchThreadID, uint gi : SV_GroupIndex) { }
[NumThreads(GROUP >> 1, (GROUP > 4) ? 2 : 1, (uint)1)] [WaveSize(32)] void second() { }
[numthreads(UNKNOWN, 1, 1)] void third() { }
[shader("compute")] void no_size() { }
"#,
        r#"
(const GROUP uint 8u)
(fn main void (id uint3 :SV_DispatchThreadID) (gi uint :SV_GroupIndex) [16 3 1] [wave 16 64])
(fn second void [4 2 1] [wave 32 32])
(fn third void)
(fn no_size void)
! unknown name `UNKNOWN`: UNKNOWN
! the group size is not a positive constant: [numthreads(UNKNOWN, 1, 1)]
"#,
    );
}

#[test]
fn statement_attributes() {
    check(
        r"
void f(uint n)
{
    [unroll] [fastopt] for (uint i = 0; i < n; ++i) { }
    [loop] while (n > 0) n--;
    [loop] do { n += 1; } while (n < 4);
    [branch] if (n == 1) { } else [flatten] if (n == 2) return;
    [branch] switch (n) { case 0: case 1: n = 2; break; default: n = 3; }
    for (uint j = 0; j < n; ++j)
        [unroll(4)]
        for (uint k = 0; k < n; ++k)
            n ^= k;
    UNROLL for (;;) break;
    LOOP_HINT(3) for (;;) { continue; }
}
",
        r"
(fn f void (n uint)
  (loop ((let i uint 0u)) (< i n) (++x i)
    (block))
  (loop () (> n 0u) _
    (x-- n))
  (do () (< n 4u) _
    (block
      (+= n 1u)))
  (if (== n 1u)
    (block)
    (if (== n 2u)
      (return)))
  (switch n
    (case 0u)
    (case 1u
      (= n 2u)
      (break))
    (case _
      (= n 3u)))
  (loop ((let j uint 0u)) (< j n) (++x j)
    (loop ((let k uint 0u)) (< k n) (++x k)
      (^= n k)))
  (loop () _ _
    (break))
  (loop () _ _
    (block
      (continue))))
",
    );
}

#[test]
fn comparisons_are_no_templates() {
    check(
        r"
void f(uint gi, uint N, uint q, uint w, int a, int b)
{
    if (gi < N && (q) > (w)) { return; }
    bool c = a < b || a > b;
    bool d = gi<N && q>w;
    uint e = a < b ? gi >> 1 : (gi >= N);
    uint g = (q >> 2) > w;
    q >>= 2;
    bool h = min(a < b, q > (w));
}
",
        r"
(fn f void (gi uint) (N uint) (q uint) (w uint) (a int) (b int)
  (if (&& (< gi N) (> q w))
    (block
      (return)))
  (let c bool (|| (< a b) (> a b)))
  (let d bool (&& (< gi N) (> q w)))
  (let e uint (?: (< a b) (>> gi 1u) (as uint (>= gi N))))
  (let g uint (as uint (> (>> q 2u) w)))
  (>>= q 2u)
  (let h bool (as bool (min (as int (< a b)) (as int (> q w))))))
",
    );
}

#[test]
fn casts_and_parentheses() {
    check(
        r"
struct S { uint a; float b; };
typedef uint Word;
void f(float x, float y, uint u, int i, uint v[4])
{
    uint a = (uint)x * 2;
    int b = (int)-x - (int)(y);
    float c = -(float)u / (x) * y - (x);
    S s = (S)0;
    uint d[2] = (uint[2])0;
    float3 e = (float3)x;
    float2 g = (float2)e;
    uint h = (Word)(i) & (v[1]) + (uint)v[2];
    uint k = (const uint)i, l = (unsigned int)i;
    bool m = (u) != (i);
    float n = (float)(int)x;
    uint o = uint(x) + uint2(1, i).y + (u);
}
",
        r"
(struct S (a uint) (b float))
(fn f void (x float) (y float) (u uint) (i int) (v uint[4])
  (let a uint (* (as uint x) 2u))
  (let b int (- (as int (neg x)) (as int y)))
  (let c float (- (* (/ (neg (as float u)) x) y) x))
  (let s S (as S 0))
  (let d uint[2] (as uint[2] 0))
  (let e float3 (as float3 x))
  (let g float2 (as float2 e))
  (let h uint (& (as uint i) (+ (at v 1) (at v 2))))
  (let k uint (as uint i))
  (let l uint (as uint i))
  (let m bool (!= u (as uint i)))
  (let n float (as float (as int x)))
  (let o uint (+ (+ (as uint x) (.y (new uint2 1u (as uint i)))) u)))
",
    );
}

#[test]
fn conversions() {
    check(
        r"
void f(bool b, int i, uint u, float x, half h, int16_t s, uint64_t l, float3 v3, float2 v2, uint4 u4, float2x2 m)
{
    float a = i + u;
    float c = u * 2.0;
    half d = h * 2.0 + i;
    int e = b + b;
    float2 g = v3 * v2 + 1;
    float3 k = v3 * i;
    bool2 n = v2 > 0 && !(v2 == v3.xy);
    int o = s + 1, p = ~b;
    uint64_t q = l + u;
    u <<= i; i >>= u; u *= x; i += u; v3 *= 2; u4.xy += v2;
    x = b ? i : u;
    float2 r = n ? v2 : 0;
    uint t = i << u;
    m = m * 2;
    float y = m[0][1] + m._12 + m._m10;
    u = b & (i > 3);
    u = -b;
    if (i) while (x) { u = !u; }
}
",
        r"
(fn f void (b bool) (i int) (u uint) (x float) (h half) (s int16_t) (l uint64_t) (v3 float3) (v2 float2) (u4 uint4) (m float2x2)
  (let a float (as float (+ (as uint i) u)))
  (let c float (* (as float u) 2.0f))
  (let d half (+ (* h 2.0h) (as half i)))
  (let e int (+ (as int b) (as int b)))
  (let g float2 (+ (* (as float2 v3) v2) (as float2 1)))
  (let k float3 (* v3 (as float3 i)))
  (let n bool2 (&& (> v2 (as float2 0)) (! (== v2 (.xy v3)))))
  (let o int (as int (+ s 1)))
  (let p int (~ (as int b)))
  (let q uint64_t (+ l (as uint64_t u)))
  (<<= u (as uint i))
  (>>= i (as int u))
  (*= u x)
  (+= i u)
  (*= v3 (as float3 2))
  (+= (.xy u4) v2)
  (= x (as float (?: b (as uint i) u)))
  (let r float2 (?: n v2 (as float2 0)))
  (let t uint (as uint (<< i (as int u))))
  (= m (* m (as float2x2 2)))
  (let y float (+ (+ (at (at m 0) 1) (._1 m)) (._2 m)))
  (= u (as uint (& (as int b) (as int (> i 3)))))
  (= u (as uint (neg (as int b))))
  (if (as bool i)
    (loop () (as bool x) _
      (block
        (= u (as uint (! (as bool u))))))))
",
    );
}

#[test]
fn overloads_and_directions() {
    check(
        r"
uint pick(uint a) { return 1; }
uint pick(float a) { return 2; }
uint pick(float2 a) { return 3; }
uint pick(uint a, uint b = 5) { return a + b; }
void move(out uint a, inout float b, in uint c, const int d = 7) { a = c + d; b *= 2; }
void shared_array(groupshared uint data[64], inout uint other[2]) { data[0] = other[1]; }
groupshared uint lds[64];
uint later(uint a);
uint use_all(float x, int i, uint u, uint2 w)
{
    move(u, x, i);
    move(w.x, x, x, 3u);
    uint o[2];
    shared_array(lds, o);
    return pick(x) + pick(i) + pick(w) + pick(u, i) + later(1);
}
uint later(uint a) { return a; }
uint min(uint a, uint b) { return 0; }
uint shadows(uint a) { return min(a, 1) + max(a, 1); }
",
        r"
(groupshared lds uint[64])
(fn pick uint (a uint)
  (return 1u))
(fn pick uint (a float)
  (return 2u))
(fn pick uint (a float2)
  (return 3u))
(fn pick uint (a uint) (b uint = 5u)
  (return (+ a b)))
(fn move void (out a uint) (inout b float) (c uint) (d int = 7)
  (= a (+ c (as uint d)))
  (*= b 2.0f))
(fn shared_array void (data uint[64]) (inout other uint[2])
  (= (at data 0) (at other 1)))
(fn later uint (a uint)
  (return a))
(fn use_all uint (x float) (i int) (u uint) (w uint2)
  (move u x (as uint i) 7)
  (move (.x w) x (as uint x) 3)
  (let o uint[2])
  (shared_array lds o)
  (return (+ (+ (+ (+ (pick x) (pick (as uint i))) (pick (as float2 w))) (pick u (as uint i))) (later 1u))))
(fn min uint (a uint) (b uint)
  (return 0u))
(fn shadows uint (a uint)
  (return (+ (min a 1u) (max a 1u))))
",
    );
}

#[test]
fn names() {
    check(
        r"
namespace A
{
    static const uint k = 3;
    uint f() { return k; }
    namespace B { uint f() { return k + A::f(); } enum E { One = 1 }; }
    uint g() { return B::f() + B::One; }
}
namespace C { static const uint k = 4; uint f() { return k; } }
uint h() { return A::k + C::k + A::B::f() + C::f() + A::B::E::One; }
using Word = uint;
typedef uint Row[4];
typedef struct { uint x; } Anonymous;
uint new_names(uint sample, uint new, uint line, uint point)
{
    Row row; Word w = sample + new + line + point; Anonymous a;
    { uint w = 2; row[w] = 1; }
    a.x = w;
    return a.x;
}
",
        r"
(struct  (x uint))
(const k uint 3u)
(const k uint 4u)
(fn f uint
  (return k))
(fn f uint
  (return (+ k (f))))
(fn g uint
  (return (+ (f) 1u)))
(fn f uint
  (return k))
(fn h uint
  (return (+ (+ (+ (+ k k) (f)) (f)) 1u)))
(fn new_names uint (sample uint) (new uint) (line uint) (point uint)
  (let row uint[4])
  (let w uint (+ (+ (+ sample new) line) point))
  (let a )
  (block
    (let w uint 2u)
    (= (at row w) 1u))
  (= (.x a) w)
  (return (.x a)))
",
    );
}

#[test]
fn intrinsics() {
    check(
        r"
groupshared uint cell;
void f(uint u, int i, float x, bool b, float3 v, uint2 u2, float3x3 m)
{
    x = min(u, i) + max(x, 1) + clamp(i, 0, 5) + mad(u, 2, 1) + lerp(0, 1, x) + abs(i) + sign(x);
    x = dot(v, v) + length(v.xy) + distance(v, 0) + dot(u2, u2) + saturate(i) + pow(2, x);
    u = asuint(x) + asuint(1.0f) + countbits(i) + firstbithigh(i) + firstbitlow(u) + reversebits(u) + f32tof16(x);
    v = cross(v, normalize(v)) + mul(m, v) + mul(v, m) + asfloat(u) + mul(2, v);
    b = all(v) || any(u2) || isnan(x);
    m = mul(m, transpose(m));
    u = WavePrefixSum(u) + WaveActiveSum(b) + WaveActiveCountBits(u) + WavePrefixCountBits(i > 3) + WaveReadLaneAt(u, i);
    u = WaveActiveBallot(i).x + WaveGetLaneIndex() + WaveGetLaneCount() + WaveMultiPrefixSum(u, u2.xyxy) + QuadReadAcrossX(u);
    u2 = WaveReadLaneFirst(u2);
    if (WaveIsFirstLane() && WaveActiveAllTrue(u) && WaveActiveAllEqual(x)) { }
    InterlockedAdd(cell, i);
    InterlockedMax(cell, i, u);
    InterlockedCompareExchange(cell, 0, i, u);
    AllMemoryBarrierWithGroupSync();
    u = select(b, u, 1) + and(b, u) + NonUniformResourceIndex(u);
    sincos(x, v.x, v.y);
    x = log10(x) + modf(i, x);
    asuint(asdouble(u, i), u, u2.x);
}
",
        r"
(groupshared cell uint)
(fn f void (u uint) (i int) (x float) (b bool) (v float3) (u2 uint2) (m float3x3)
  (= x (+ (+ (+ (+ (+ (+ (as float (min u (as uint i))) (max x 1.0f)) (as float (clamp i 0 5))) (as float (mad u 2u 1u))) (lerp 0.0f 1.0f x)) (as float (abs i))) (as float (sign x))))
  (= x (+ (+ (+ (+ (+ (dot v v) (length (.xy v))) (distance v (as float3 0))) (as float (dot u2 u2))) (saturate (as float i))) (pow 2.0f x)))
  (= u (+ (+ (+ (+ (+ (+ (asuint x) (asuint 1.0f)) (countbits (as uint i))) (firstbithigh i)) (firstbitlow u)) (reversebits u)) (f32tof16 x)))
  (= v (+ (+ (+ (+ (cross v (normalize v)) (mul m v)) (mul v m)) (as float3 (asfloat u))) (mul 2.0f v)))
  (= b (|| (|| (all (as bool3 v)) (any (as bool2 u2))) (isnan x)))
  (= m (mul m (transpose m)))
  (= u (+ (+ (+ (+ (WavePrefixSum u) (as uint (WaveActiveSum (as int b)))) (WaveActiveCountBits (as bool u))) (WavePrefixCountBits (> i 3))) (WaveReadLaneAt u (as uint i))))
  (= u (+ (+ (+ (+ (.x (WaveActiveBallot (as bool i))) (WaveGetLaneIndex)) (WaveGetLaneCount)) (WaveMultiPrefixSum u (.xyxy u2))) (QuadReadAcrossX u)))
  (= u2 (WaveReadLaneFirst u2))
  (if (&& (&& (WaveIsFirstLane) (WaveActiveAllTrue (as bool u))) (WaveActiveAllEqual x))
    (block))
  (InterlockedAdd cell (as uint i))
  (InterlockedMax cell (as uint i) u)
  (InterlockedCompareExchange cell 0u (as uint i) u)
  (AllMemoryBarrierWithGroupSync)
  (= u (+ (+ (select b u 1u) (as uint (and b (as bool u)))) (as uint u)))
  (sincos (as float x) (.x v) (.y v))
  (= x (+ (log10 x) (modf (as float i) x)))
  (asuint (asdouble u (as uint i)) u (.x u2)))
",
    );
}

#[test]
fn resources() {
    check(
        r"
struct Item { uint key; float value; };
StructuredBuffer<Item> items;
RWStructuredBuffer<Item> sorted[2];
RWByteAddressBuffer raw;
Buffer<float4> typed;
RWTexture2D<uint> image;
Texture2D<float3> colour;
SamplerState samp;
AppendStructuredBuffer<Item> append;
ConsumeStructuredBuffer<uint> consume;
void f(uint i, float x, int2 at, uint3 v)
{
    sorted[1][i].value = items[i].key + items.Load(i).value;
    uint a = raw.Load(i * 4) + raw.Load3(8).z;
    Item b = raw.Load<Item>(0);
    raw.Store(0, i); raw.Store3(4, v); raw.Store<float>(8, i); raw.Store(4, x);
    uint original;
    raw.InterlockedAdd(4, 1, original); raw.InterlockedOr(8, i);
    uint slot = sorted[0].IncrementCounter();
    x = typed[i].x + typed.Load(i).y;
    image[at] += 1; InterlockedMax(image[at], i);
    float3 c = colour[at] + colour.SampleLevel(samp, x.xx, 0) + colour.Load(int3(at, 0));
    uint w, h; colour.GetDimensions(w, h); items.GetDimensions(w, h);
    append.Append(b); i = consume.Consume();
    items.Unheard(of); i = image.mips[0][at];
}
",
        r"
(struct Item (key uint) (value float))
(resource items StructuredBuffer<Item>)
(resource sorted RwStructuredBuffer<Item>[2])
(resource raw RwByteAddressBuffer)
(resource typed Buffer<float4>)
(resource image RwTexture<uint>)
(resource colour Texture<float3>)
(resource samp Sampler)
(resource append AppendStructuredBuffer<Item>)
(resource consume ConsumeStructuredBuffer<uint>)
(fn f void (i uint) (x float) (at int2) (v uint3)
  (= (.value (at (at sorted 1) i)) (+ (as float (.key (at items i))) (.value (.Load items i))))
  (let a uint (+ (.Load raw (* i 4u)) (.z (.Load3 raw 8u))))
  (let b Item (.Load raw 0u))
  (.Store raw 0u i)
  (.Store3 raw 4u v)
  (.Store raw 8u (as float i))
  (.Store raw 4u x)
  (let original uint)
  (.InterlockedAdd raw 4u 1u original)
  (.InterlockedOr raw 8u i)
  (let slot uint (.IncrementCounter (at sorted 0)))
  (= x (+ (.x (at typed i)) (.y (.Load typed i))))
  (+= (at image at) 1u)
  (InterlockedMax (at image at) i)
  (let c float3 (+ (+ (at colour at) (.SampleLevel colour samp (.xx x) 0)) (.Load colour (new int3 at 0))))
  (let w uint)
  (let h uint)
  (.GetDimensions colour w h)
  (.GetDimensions items w h)
  (.Append append b)
  (= i (.Consume consume))
  (? items (?))
  (= i (as uint (? (? (? image) 0) (as int2 at)))))
! unknown name `of`: of
",
    );
}

#[test]
fn loops_and_declarations() {
    check(
        r"
void f(uint n)
{
    uint a = 1, b, c[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
    int2 i;
    for (i.x = 0, i.y = 1; i.x < 4; i.x++, --i.y) ;
    for (uint s = n >> 1;; s >>= 1) { if (s == 0) break; }
    const uint k = 4;
    uint d[k + 1];
    static const uint primes[] = { 2, 3, 5 };
    float3 v = { 1, a, 2.5 };
    a = b = 3, n = 4;
    vector<float, 3> g; matrix<float, 2, 3> h;
    precise float p = v.x;
    if (n) uint inner = 3;
    discard;
}
",
        r"
(fn f void (n uint)
  (let a uint 1u)
  (let b uint)
  (let c uint[2][3] (new uint[2][3] 1u 2u 3u 4u 5u 6u))
  (let i int2)
  (loop ((, (= (.x i) 0) (= (.y i) 1))) (< (.x i) 4) (, (x++ (.x i)) (--x (.y i)))
    (block))
  (loop ((let s uint (>> n 1u))) _ (>>= s 1u)
    (block
      (if (== s 0u)
        (break))))
  (let k uint 4u)
  (let d uint[5])
  (let static primes uint[3] (new uint[3] 2u 3u 5u))
  (let v float3 (new float3 1.0f (as float a) 2.5f))
  (, (= a (= b 3u)) (= n 4u))
  (let g float3)
  (let h float2x3)
  (let p float (.x v))
  ???
  (discard))
! this statement could not be read: if (n) uint inner = 3;
",
    );
}

#[test]
fn templates_of_structs() {
    check(
        r"
template<typename T> T twice(T a) { return a + a; }
template<uint N> struct Block { uint x[N]; };
uint f(uint a) { Block<4> b; return twice<uint>(a) + twice(a); }
",
        r"
(struct Block<4> (x uint[4]))
(fn f uint (a uint)
  (let b Block<4>)
  (return (+ (twice a) (twice a))))
(fn twice uint (a uint)
  (return (+ a a)))
",
    );
}

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
! this statement could not be read: if (a { return 2; } uint x = = 3; a++; return a;
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
  (= a (+ a (as uint (? 3))))
  (loop ((let i uint 0u)) (< i 4u) (x++ i)
    (block
      ???
      (= a 2u)))
  (= a 5u))
! this statement could not be read: a = ) 3;
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
! this statement could not be read: 
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
(uniform a uint 1u)
(fn f uint (b uint)
  (? b)
  (= b 2u)
  (?)
  (return b))
(fn g uint
  (return 2u))
! unknown name `BEGIN_SCOPE`: BEGIN_SCOPE
! unknown name `END_SCOPE`: END_SCOPE
",
    );
}

#[test]
fn ternaries_are_no_semantics() {
    check(
        r"
uint f(uint a, uint b)
{
    uint c = a ? b : a;
    switch (a) { case 1: b = a ? 1 : 2; break; }
    return a ? (b ? a : b) : c;
}
",
        r"
(fn f uint (a uint) (b uint)
  (let c uint (?: (as bool a) b a))
  (switch a
    (case 1u
      (= b (as uint (?: (as bool a) 1 2)))
      (break)))
  (return (?: (as bool a) (?: (as bool b) a b) c)))
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

#[test]
fn declarations_mixed_with_types() {
    check(
        r"
struct S { uint a; } first, second[2];
static const struct { uint2 b; } anonymous = { { 1, 2 } };
template<typename T> struct Box { T v; };
Box<uint> boxed;
uint f(Unheard<uint> a, uint b) { Unheard<uint> c; return second[b].a + anonymous.b.y + first.a; }
uint with_default(uint a, uint b = 4);
uint with_default(uint a, uint b) { return a + b; }
uint g() { return with_default(1) + with_default(1, 2); }
",
        r"
(struct S (a uint))
(struct  (b uint2))
(struct Box<uint> (v uint))
(uniform first S)
(uniform second S[2])
(const anonymous  (new  1u 2u))
(uniform boxed Box<uint>)
(fn f uint (a ?) (b uint)
  (let c ?)
  (return (+ (+ (.a (at second b)) (.y (.b anonymous))) (.a first))))
(fn with_default uint (a uint) (b uint = 4u)
  (return (+ a b)))
(fn g uint
  (return (+ (with_default 1u 4u) (with_default 1u 2u))))
",
    );
}

#[test]
fn explicit_this() {
    check(
        r"
struct S { uint a; float b; uint get(uint a) { return this.a + a; } void set(uint to) { this.a = to; } };
StructuredBuffer<S> all;
uint f(uint i) { S s = all[i]; s.set(i); return all[i].get(1) + s.get(2); }
",
        r"
(struct S (a uint) (b float))
(resource all StructuredBuffer<S>)
(fn S::get uint (this S) (a uint)
  (return (+ (.a this) a)))
(fn S::set void (inout this S) (to uint)
  (= (.a this) to))
(fn f uint (i uint)
  (let s S (at all i))
  (S::set s i)
  (return (+ (S::get (at all i) 1u) (S::get s 2u))))
",
    );
}

#[test]
fn loop_variables_may_live_on() {
    check(
        r"
uint f() { uint s = 0; for (uint i = 0; i < 4; i++) s += i; for (i = 0; i < 4; i++) s += i; return s; }
",
        r"
(fn f uint
  (let s uint 0u)
  (loop ((let i uint 0u)) (< i 4u) (x++ i)
    (+= s i))
  (loop ((= i 0u)) (< i 4u) (x++ i)
    (+= s i))
  (return s))
",
    );
}

#[test]
fn literals_take_the_type_they_meet() {
    check(
        r"
void f(uint u, float x, half h, min16uint s)
{
    bool a = u == 0 && u > 0xFF && x > 0 && h < 0.5 && s == 3;
    u = u * -1 + (u & ~3) + (1 << u) + (1u << 3);
    x = x * 2 + 1 / 2 + 1 / 2.0;
    s = s * 2;
}
",
        r"
(fn f void (u uint) (x float) (h half) (s uint16_t)
  (let a bool (&& (&& (&& (&& (== u 0u) (> u 255u)) (> x 0.0f)) (< h 0.5h)) (== s 3u)))
  (= u (+ (+ (+ (* u (as uint (neg 1))) (& u (as uint (~ 3)))) (as uint (<< 1 (as int u)))) (<< 1u 3u)))
  (= x (+ (+ (* x 2.0f) (as float (/ 1 2))) (/ 1.0f 2.0f)))
  (= s (* s 2u)))
",
    );
}

#[test]
fn nested_calls_and_members() {
    check(
        r"
struct Pair { uint2 a; float3x3 m; };
Pair make(uint2 a) { Pair p; p.a = a; p.m = 0; return p; }
groupshared Pair pairs[4][2];
void f(uint i)
{
    uint a = make(uint2(i, 1)).a.y, b = pairs[i][1].a[0];
    pairs[i][0].m[1].yz = float2(pairs[0][0].m._m00_m11);
    pairs[i][0].m[1][i] += 1;
    make(i.xx);
    uint4 v = uint4(uint2(1, 2), i, (uint)3.5).wzyx;
    v[i] = v.x, v.y ^= 3;
    float3 colour = float4(1, 2, 3, 4).rgb;
}
",
        r"
(struct Pair (a uint2) (m float3x3))
(groupshared pairs Pair[4][2])
(fn make Pair (a uint2)
  (let p Pair)
  (= (.a p) a)
  (= (.m p) (as float3x3 0))
  (return p))
(fn f void (i uint)
  (let a uint (.y (.a (make (new uint2 i 1u)))))
  (let b uint (at (.a (at (at pairs i) 1)) 0))
  (= (.yz (at (.m (at (at pairs i) 0)) 1)) (new float2 (._0_4 (.m (at (at pairs 0) 0)))))
  (+= (at (at (.m (at (at pairs i) 0)) 1) i) 1.0f)
  (make (.xx i))
  (let v uint4 (.wzyx (new uint4 (new uint2 1u 2u) i 3u)))
  (, (= (at v i) (.x v)) (^= (.y v) 3u))
  (let colour float3 (.xyz (new float4 1.0f 2.0f 3.0f 4.0f))))
",
    );
}

#[test]
fn atomics_on_every_place() {
    check(
        r"
struct Cell { uint n; int m; };
groupshared uint bins[8];
groupshared Cell cells[2];
RWStructuredBuffer<Cell> out_cells;
RWBuffer<uint> counts;
void f(uint i, inout uint old)
{
    InterlockedAdd(bins[i & 7], 1);
    InterlockedMin(cells[i].m, i);
    InterlockedExchange(out_cells[i].n, 3, old);
    InterlockedOr(counts[i], 1u << i, old);
    InterlockedCompareStore(bins[0], 0, i);
    InterlockedAdd(bins[0]);
}
",
        r"
(struct Cell (n uint) (m int))
(groupshared bins uint[8])
(groupshared cells Cell[2])
(resource out_cells RwStructuredBuffer<Cell>)
(resource counts RwBuffer<uint>)
(fn f void (i uint) (inout old uint)
  (InterlockedAdd (at bins (& i 7u)) 1u)
  (InterlockedMin (.m (at cells i)) (as int i))
  (InterlockedExchange (.n (at out_cells i)) 3u old)
  (InterlockedOr (at counts i) (<< 1u i) old)
  (InterlockedCompareStore (at bins 0) 0u i)
  (?void (at bins 0)))
",
    );
}
