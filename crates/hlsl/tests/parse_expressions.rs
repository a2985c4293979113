//! Expressions in, typed tree out.

mod outlines;

use outlines::check;

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
  (let h bool (as bool (min (as float (< a b)) (as float (> q w))))))
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
fn calls_in_parentheses_are_no_casts() {
    check(
        r"
ByteAddressBuffer words;
struct S { static uint one() { return 1; } };
uint f(uint x) { return x; }
void g(uint a, uint b)
{
    uint c = (f(a)) + a * b;
    uint d = (f(a)) - b, e = -(words.Load(a)) + a * b;
    uint h = (S::one()) + a * (f(b)) + (f(f(a))) * b;
}
",
        r"
(struct S)
(resource words ByteAddressBuffer)
(fn S::one uint
  (return 1u))
(fn f uint (x uint)
  (return x))
(fn g void (a uint) (b uint)
  (let c uint (+ (f a) (* a b)))
  (let d uint (- (f a) b))
  (let e uint (+ (neg (.Load words a)) (* a b)))
  (let h uint (+ (+ (S::one) (* a (f b))) (* (f (f a)) b))))
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
void shared_array(uint data[64], inout uint other[2]) { data[0] = other[1]; }
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
  (return (+ (+ (+ (+ (pick x) (?uint i)) (pick (as float2 w))) (pick u (as uint i))) (later 1u))))
(fn min uint (a uint) (b uint)
  (return 0u))
(fn shadows uint (a uint)
  (return (+ (?uint a 1) (max a 1u))))
! unsupported expression: pick(i)
! unsupported expression: min(a, 1)
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
    u = select(b, u, 1) + and(b, i > 3) + NonUniformResourceIndex(u);
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
  (= u (as uint (+ (+ (+ (+ (as float (WavePrefixSum u)) (as float (WaveActiveSum (as uint b)))) (as float (WaveActiveCountBits (as bool u)))) (as float (WavePrefixCountBits (> i 3)))) (as float (WaveReadLaneAt u (as uint i))))))
  (= u (+ (+ (+ (+ (.x (WaveActiveBallot (as bool i))) (WaveGetLaneIndex)) (WaveGetLaneCount)) (WaveMultiPrefixSum u (.xyxy u2))) (QuadReadAcrossX u)))
  (= u2 (WaveReadLaneFirst u2))
  (if (&& (&& (WaveIsFirstLane) (WaveActiveAllTrue (as bool u))) (WaveActiveAllEqual x))
    (block))
  (InterlockedAdd cell (as uint i))
  (InterlockedMax cell (as uint i) u)
  (InterlockedCompareExchange cell 0u (as uint i) u)
  (AllMemoryBarrierWithGroupSync)
  (= u (+ (+ (select b u 1u) (as uint (and b (> i 3)))) (as uint u)))
  (sincos (as float x) (.x v) (.y v))
  (= x (+ (log10 x) (modf (as float i) x)))
  (asuint (asdouble u (as uint i)) u (.x u2)))
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
  (= u (+ (+ (+ (* u (as uint (neg 1))) (& u (as uint (~ 3)))) (<< 1u u)) (<< 1u 3u)))
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
! unsupported expression: InterlockedAdd(bins[0])
",
    );
}

/// Compilers compute with them in 64 bits. Where that comes to something else it is not known what is meant.
#[test]
fn literals_are_computed_where_64_bits_say_the_same() {
    check(
        r"
void f(uint u, float x)
{
    u = 1 << 31;
    u = (1 << 31) >> 31;
    u = 1u << 31 >> 31;
    u = 0xFFFFFFFF + 1;
    u = (0xFFFFFFFF + 1) / 2;
    u = 0xFFFFFFFF + 1 > 0;
    u = 0xFFFFFFFFu + 1 > 0;
    u = 1 << 40;
    u = ~0;
    u = -1 > 0;
    x = 1.0 / 3.0;
    x = 2147483648 * 2 * 1.0;
    x = 0.1 + 0.2 == 0.3;
    x = 0.1f + 0.2f == 0.3f;
    u = 2.3 * 100;
    u = (uint)(2.3f * 100);
    u = (uint)(2.5 * 100);
}
",
        r"
(fn f void (u uint) (x float)
  (= u (as uint (<< 1 31)))
  (= u (as uint (?int (<< 1 31) 31)))
  (= u (>> (<< 1u 31u) 31u))
  (= u (as uint (? 4294967295u 1)))
  (= u (as uint (? (as ? (? 4294967295u 1)) 2)))
  (= u (as uint (? (as ? (? 4294967295u 1)) 0)))
  (= u (as uint (> (+ 4294967295u 1u) 0u)))
  (= u (as uint (?int 1 40)))
  (= u (as uint (~ 0)))
  (= u (as uint (> (neg 1) 0)))
  (= x (/ 1.0f 3.0f))
  (= x (as float (? (as ? (? 2147483648u 2)) 1.0f)))
  (= x (as float (?bool (+ 0.1f 0.2f) 0.3f)))
  (= x (as float (== (+ 0.1f 0.2f) 0.3f)))
  (= u (as uint (?float 2.3f 100.0f)))
  (= u (as uint (* 2.3f 100.0f)))
  (= u (as uint (* 2.5f 100.0f))))
! unsupported expression: (1 << 31) >> 31
! unsupported expression: 0xFFFFFFFF + 1
! unsupported expression: 0xFFFFFFFF + 1
! unsupported expression: 0xFFFFFFFF + 1
! unsupported expression: 1 << 40
! unsupported expression: 2147483648 * 2
! unsupported expression: 0.1 + 0.2 == 0.3
! unsupported expression: 2.3 * 100
",
    );
}

/// The grammar takes `-x++` for `(-x)++`.
#[test]
fn steps_behind_a_variable_come_before_what_stands_before_it() {
    check(
        r"
void f(uint u, int i, float v[4])
{
    int a = -i++ - ~u--;
    int b = (int)(float)u++ + (int)-v[u]--;
    bool c = !u++ && -(u)++;
    int d = - --i + -(i++) - -++u;
    +u--;
}
",
        r"
(fn f void (u uint) (i int) (v float[4])
  (let a int (as int (- (as uint (neg (x++ i))) (~ (x-- u)))))
  (let b int (+ (as int (as float (x++ u))) (as int (neg (x-- (at v u))))))
  (let c bool (&& (! (as bool (x++ u))) (as bool (neg (x++ u)))))
  (let d int (as int (- (as uint (+ (neg (--x i)) (neg (x++ i)))) (neg (++x u)))))
  (x-- u))
",
    );
}
