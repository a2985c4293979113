//! Declarations in, typed tree out: globals, structs, functions, names.

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
static const uint NumThreads = 8 * 8;
groupshared uint cells[NumThreads];
[numthreads(NumThreads, 1, 1)] void named() { cells[0] = 0; }
"#,
        r#"
(const GROUP uint 8u)
(const NumThreads uint (as uint (* 8 8)))
(groupshared cells uint[64])
(fn main void (id uint3 :SV_DispatchThreadID) (gi uint :SV_GroupIndex) [16 3 1] [wave 16 64])
(fn second void [4 2 1] [wave 32 32])
(fn third void)
(fn no_size void)
(fn named void [64 1 1]
  (= (at cells 0) 0u))
! unknown name `UNKNOWN`: UNKNOWN
! the group size is not a positive constant: [numthreads(UNKNOWN, 1, 1)]
"#,
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
(const A::k uint 3u)
(const C::k uint 4u)
(fn f uint
  (return A::k))
(fn f uint
  (return (+ A::k (f))))
(fn g uint
  (return (+ (f) 1u)))
(fn f uint
  (return C::k))
(fn h uint
  (return (+ (+ (+ (+ A::k C::k) (f)) (f)) 1u)))
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
  (= i (as uint (? (as ? (? (as ? (? image)) 0)) (as int2 at)))))
! unknown name `of`: of
! unsupported expression: image.mips
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
! unknown name `Unheard`: Unheard<uint>
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
fn a_constant_buffer_where_its_struct_is_wanted() {
    check(
        r"
struct Camera { float near; uint2 size; };
struct Other { float near; };
ConstantBuffer<Camera> camera : register(b0);
float Far(float scale, Camera c) { return c.near * scale; }
float Wide(Other o) { return o.near; }
void main() { float a = Far(2.0, camera); Camera copy = camera; float b = Wide(camera); }
",
        r"
(struct Camera (near float) (size uint2))
(struct Other (near float))
(resource camera ConstantBuffer<Camera>)
(fn Far float (scale float) (c Camera)
  (return (* (.near c) scale)))
(fn Wide float (o Other)
  (return (.near o)))
(fn main void
  (let a float (Far 2.0f (new Camera (.near camera) (.size camera))))
  (let copy Camera (new Camera (.near camera) (.size camera)))
  (let b float (?float camera)))
! unsupported expression: Wide(camera)
",
    );
}

#[test]
fn methods_of_what_a_constant_buffer_holds() {
    check(
        r"
struct Base { float far; float Far() { return far; } };
struct Camera : Base { float near; float Eye(float d) { return near + d + Far(); } float operator[](uint i) { return near; } };
ConstantBuffer<Camera> camera;
ConstantBuffer<Camera> several[2];
void main() { float a = camera.Eye(1.0), b = several[1].Far(), c = camera[0], d = camera.Near(); }
",
        r"
(struct Base (far float))
(struct Camera (Base Base) (near float))
(resource camera ConstantBuffer<Camera>)
(resource several ConstantBuffer<Camera>[2])
(fn Base::Far float (this Base)
  (return (.far this)))
(fn Camera::Eye float (this Camera) (d float)
  (return (+ (+ (.near this) d) (Base::Far (.Base this)))))
(fn Camera::operator[] float (this Camera) (i uint)
  (return (.near this)))
(fn main void
  (let a float (Camera::Eye (new Camera (.Base camera) (.near camera)) 1.0f))
  (let b float (Base::Far (.Base (new Camera (.Base (at several 1)) (.near (at several 1))))))
  (let c float (Camera::operator[] (new Camera (.Base camera) (.near camera)) 0u))
  (let d float (as float (? camera))))
! unsupported expression: camera.Near()
",
    );
}
