//! What real shaders have beyond the plain language: inherited methods, interfaces, groups of resources, templates.

mod outlines;

use outlines::check;

#[test]
fn inherited_methods() {
    check(
        r"
struct Shape { uint width; uint area() { return width * 2; } void grow(uint by) { width += by; } };
struct Plain { uint depth; };
struct Box : Shape, Plain
{
    uint height;
    void init(uint n) { grow(n); width = n; height = area(); }
    uint area() { return Shape::area() * height + depth; }
};
struct Crate : Box { uint lid; };
uint use_it(Crate c) { c.init(1); c.width++; c.grow(c.lid); return c.area() + c.depth; }
",
        r"
(struct Shape (width uint))
(struct Plain (depth uint))
(struct Box (Shape Shape) (Plain Plain) (height uint))
(struct Crate (Box Box) (lid uint))
(fn Shape::area uint (this Shape)
  (return (* (.width this) 2u)))
(fn Shape::grow void (inout this Shape) (by uint)
  (+= (.width this) by))
(fn Box::init void (inout this Box) (n uint)
  (Shape::grow (.Shape this) n)
  (= (.width (.Shape this)) n)
  (= (.height this) (Box::area this)))
(fn Box::area uint (this Box)
  (return (+ (* (Shape::area (.Shape this)) (.height this)) (.depth (.Plain this)))))
(fn use_it uint (c Crate)
  (Box::init (.Box c) 1u)
  (x++ (.width (.Shape (.Box c))))
  (Shape::grow (.Shape (.Box c)) (.lid c))
  (return (+ (Box::area (.Box c)) (.depth (.Plain (.Box c))))))
",
    );
}

#[test]
fn static_methods_call_each_other_by_their_names() {
    check(
        r"
uint high(uint v) { return v; }
struct Base { static uint base(uint v) { return v; } };
struct Bits : Base
{
    uint held;
    static uint key(uint v) { return low(v) + high(v) + base(v) + own(); }
    static uint low(uint v) { return v & 3; }
    static uint high(uint v) { return v >> 2; }
    uint own() { return held + key(held); }
};
",
        r"
(struct Base)
(struct Bits (Base Base) (held uint))
(fn high uint (v uint)
  (return v))
(fn Base::base uint (v uint)
  (return v))
(fn Bits::key uint (v uint)
  (return (+ (+ (+ (Bits::low v) (Bits::high v)) (Base::base v)) (as uint (?)))))
(fn Bits::low uint (v uint)
  (return (& v 3u)))
(fn Bits::high uint (v uint)
  (return (>> v 2u)))
(fn Bits::own uint (this Bits)
  (return (+ (.held this) (Bits::key (.held this)))))
! unsupported expression: own()
",
    );
}

#[test]
fn macros_of_headers_that_are_not_there() {
    check(
        r"
CBUFFER_START(Params)
float4 size;
uint limit;
CBUFFER_END

Texture2D<float> depth;
CBUFFER_START(More)
uint more;
CBUFFER_END
UNITY_INSTANCING
cbuffer Own { uint own; }
Header_Begin
static const uint four = 4;
DECLARE_LIGHT(a, b)
RWStructuredBuffer<Unknown> odd;
CBUFFER_END
[numthreads(4, 1, 1)]
void main(uint i : SV_GroupIndex) { more; }
Elsewhere
named;
ReturnType
made(uint x) { return x; }
unsigned
int count;
",
        r"
(uniform size float4)
(uniform limit uint)
(resource depth Texture<float>)
(uniform more uint)
(uniform own uint)
(const four uint 4u)
(resource coherent odd RwStructuredBuffer<?>)
(uniform named ?)
(uniform count uint)
(fn main void (i uint :SV_GroupIndex) [4 1 1]
  more)
(fn made ? (x uint)
  (return x))
! unknown macro: CBUFFER_START(Params)
! unknown macro: CBUFFER_END
! unknown macro: UNITY_INSTANCING
! unknown macro: Header_Begin
! unknown macro: DECLARE_LIGHT(a, b)
! unknown name `Elsewhere`: Elsewhere
! unknown name `ReturnType`: ReturnType
! unknown name `Unknown`: Unknown
",
    );
}

#[test]
fn interfaces_are_structs_without_fields() {
    check(
        r"
interface Op { uint apply(uint x); };
struct Plus : Op { uint by; uint apply(uint x) { return x + by; } };
uint use_it(uint a) { Plus p; p.by = a; return p.apply(2); }
",
        r"
(struct Op)
(struct Plus (by uint))
(fn Plus::apply uint (this Plus) (x uint)
  (return (+ x (.by this))))
(fn use_it uint (a uint)
  (let p Plus)
  (= (.by p) a)
  (return (Plus::apply p 2u)))
",
    );
}

#[test]
fn groups_of_resources() {
    check(
        r"
ShaderResourceGroup Pass : SRG_PerPass
{
    RWStructuredBuffer<uint> m_out;
    struct Constants { uint size; };
    Constants m_constants;
    Sampler m_sampler { AddressU = Clamp; };
    uint size() { return m_constants.size; }
}
partial ShaderResourceGroup View { uint m_count; };
void f(uint i) { Pass::m_out[i] = Pass::size() + View::m_count; }
",
        r"
(struct Constants (size uint))
(resource Pass::m_out RwStructuredBuffer<uint>)
(uniform Pass::m_constants Constants)
(resource Pass::m_sampler Sampler)
(uniform View::m_count uint)
(fn size uint
  (return (.size Pass::m_constants)))
(fn f void (i uint)
  (= (at Pass::m_out i) (+ (size) View::m_count)))
",
    );
}

#[test]
fn descriptor_heaps() {
    check(
        r"
void f(uint i)
{
    RWStructuredBuffer<uint> b = ResourceDescriptorHeap[NonUniformResourceIndex(i)];
    SamplerState s = SamplerDescriptorHeap[0];
    b[i] = 1;
}
",
        r"
(fn f void (i uint)
  (let b RwStructuredBuffer<uint> (as RwStructuredBuffer<uint> (? (?) (as uint i))))
  (let s Sampler (as Sampler (? (?) 0)))
  (= (at b i) 1u))
",
    );
}

#[test]
fn templates_are_read_where_they_are_called() {
    check(
        r"
template <typename T> T ratio(T a, T b) { return (a + b - 1) / b; }
template <class T> void swap(inout T left, inout T right) { T kept = left; left = right; right = kept; }
template <uint N, typename T> T power(T x) { T r = (T)1; for (uint i = 0; i < N; ++i) r *= x; return r; }
template <typename T> T of_both(vector<T, 2> v) { return ratio(v.x, v.y); }
static const uint T = 3;
uint use_it(uint a, float b)
{
    a = ratio(a, 4) + ratio(7, a);
    swap(a, a);
    b = power<3>(b) + power<2, float>(1);
    return of_both(uint2(a, 2)) + (T)-a;
}
",
        r"
(const T uint 3u)
(fn use_it uint (a uint) (b float)
  (= a (+ (ratio a 4u) (ratio 7u a)))
  (swap a a)
  (= b (+ (power b) (power 1.0f)))
  (return (- (+ (of_both (new uint2 a 2u)) T) a)))
(fn ratio uint (a uint) (b uint)
  (return (/ (- (+ a b) 1u) b)))
(fn swap void (inout left uint) (inout right uint)
  (let kept uint left)
  (= left right)
  (= right kept))
(fn power float (x float)
  (let r float 1.0f)
  (loop ((let i uint 0u)) (< i 3u) (++x i)
    (*= r x))
  (return r))
(fn power float (x float)
  (let r float 1.0f)
  (loop ((let i uint 0u)) (< i 2u) (++x i)
    (*= r x))
  (return r))
(fn of_both uint (v uint2)
  (return (ratio (.x v) (.y v))))
",
    );
}

#[test]
fn names_of_constants_are_template_arguments() {
    check(
        r"
namespace block { static const uint Size = 3; }
static const uint Count = 2;
template <uint N> uint times(uint x) { return x * N; }
uint f(uint a) { return times<Count>(a) + times<block::Size>(a) + times<2 * Count>(a); }
uint g(uint Count) { return times<Count>(1); }
",
        r"
(const block::Size uint 3u)
(const Count uint 2u)
(fn f uint (a uint)
  (return (+ (+ (times a) (times a)) (times a))))
(fn times uint (x uint)
  (return (* x 2u)))
(fn times uint (x uint)
  (return (* x 3u)))
(fn times uint (x uint)
  (return (* x 4u)))
(fn g uint (Count uint)
  (return (as uint (? 1))))
! unsupported use of `times`: times<Count>
",
    );
}

/// `first < Count > (a)` is two comparisons where a variable hides the template.
#[test]
fn variables_hide_templates() {
    let text = |hides: &str, call: &str| {
        format!(
            "static const uint Count = 2;\nenum {{ One = 1 }};\ntemplate <uint N> bool first(uint x) {{ return x < N; }}\n\
             namespace inner {{ {hides}\n{call} }}\n"
        )
    };
    let use_it = "bool f(uint a) { return first<Count>(a); }";
    for (hides, call) in [
        ("", "bool f(uint a) { uint first = 0; return first<Count>(a); }"),
        ("", "bool f(uint a, uint first) { return first<2>(a); }"),
        (
            "",
            "bool f(uint a) { uint first = first<Count>(a); return first; }",
        ),
        (
            "",
            "bool f(uint a) { return all(bool2(a > 1, 1)); } struct S { uint first; bool g(uint a) { return first<Count>(a); } };",
        ),
        ("static uint first = 1;", use_it),
        ("cbuffer C { uint first; }", use_it),
        ("enum { first = 1 };", use_it),
    ] {
        let (_, problems) = shaderlint_hlsl::parse(text(hides, call).into_bytes());
        let problems: Vec<&str> = problems.iter().map(|one| &*one.message).collect();
        assert!(
            problems
                .iter()
                .any(|one| one.contains("unsupported use of `first`")),
            "{hides} {call}: {problems:?}"
        );
    }
    let (_, problems) = shaderlint_hlsl::parse(text("", use_it).into_bytes());
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn templates_that_cannot_be_told() {
    check(
        r"
template <typename T> T same(T a, T b) { return a; }
template <typename T> T zero() { return (T)0; }
template <typename T> T again(T a) { return again(a); }
namespace inner { template <typename T> T twice(T a) { return a + offset(); } uint offset() { return 1; } }
template <typename T> struct Held { T held; };
template <typename T> struct Held<T[2]> { T first; T second; };
void f(uint a, float b) { a = same(a, b); a = zero(); b = zero<float>(); a = again(a); a = inner::twice(a); }
void g() { Held<uint> perhaps_another; }
struct Mixed { template <typename T> T get(T a) { return a + x; } uint x; uint y() { return x; } };
uint h(Mixed m) { return m.y() + m.get<uint>(1); }
",
        r"
(struct Mixed (x uint))
(fn offset uint
  (return 1u))
(fn f void (a uint) (b float)
  (= a (as uint (? a b)))
  (= a (as uint (?)))
  (= b (zero))
  (= a (again a))
  (= a (as uint (? a))))
(fn zero float
  (return 0.0f))
(fn again uint (a uint)
  (return (as uint (? a))))
(fn g void
  (let perhaps_another ?))
(fn Mixed::y uint (this Mixed)
  (return (.x this)))
(fn h uint (m Mixed)
  (return (+ (Mixed::y m) (as uint (? m 1)))))
! could not parse this declaration: template <typename T> struct Held<T[2]> { T first; T second; };
! unsupported use of `same`: same
! unsupported use of `zero`: zero
! unsupported use of `again`: again
! unsupported use of `inner::twice`: inner::twice
! unknown name `Held`: Held<uint>
! unsupported expression: m.get<uint>(1)
",
    );
}

#[test]
fn templates_of_templates() {
    check(
        r"
template <typename T> T pick(T a) { return a; }
template <> uint pick<uint>(uint a) { return 0; }
template <int N> uint factorial() { return N * factorial<N - 1>(); }
template <> uint factorial<0>() { return 1; }
template <typename T> T second(T a[2]) { return a[1]; }
template <typename T> struct Held
{
    T held;
    Held<T> self() { return this; }
    static Held<T> of(T held) { Held made; made.held = held; return made; }
};
uint f(uint a, float2 b[2])
{
    return pick(a) + (uint)pick<float>(1) + factorial<1>() + (uint)second(b).y + Held<uint>::of(a).self().held;
}
",
        r"
(struct Held<uint> (held uint))
(fn f uint (a uint) (b float2[2])
  (return (+ (+ (+ (+ (pick a) (as uint (pick 1.0f))) (factorial)) (as uint (.y (second b)))) (.held (Held<uint>::self (Held<uint>::of a))))))
(fn pick uint (a uint)
  (return 0u))
(fn pick float (a float)
  (return a))
(fn factorial uint
  (return (* 1u (factorial))))
(fn factorial uint
  (return 1u))
(fn second float2 (a float2[2])
  (return (at a 1)))
(fn Held<uint>::self Held<uint> (this Held<uint>)
  (return this))
(fn Held<uint>::of Held<uint> (held uint)
  (let made Held<uint>)
  (= (.held made) held)
  (return made))
",
    );
}

#[test]
fn constants_of_a_struct() {
    check(
        r"
static const uint N = 7;
struct Ring
{
    const static uint N = 4 * 4;
    enum Kind { First = 2, Second };
    uint at;
    uint wrap(uint by) { return (at + by) % N; }
    static uint last() { return N - 1; }
};
uint f(uint x) { uint own[Ring::N], plain[N]; return x < Ring::N ? Ring::Second : N; }
",
        r"
(struct Ring (at uint))
(const N uint 7u)
(const Ring::N uint (as uint (* 4 4)))
(fn Ring::wrap uint (this Ring) (by uint)
  (return (% (+ (.at this) by) Ring::N)))
(fn Ring::last uint
  (return (- Ring::N 1u)))
(fn f uint (x uint)
  (let own uint[16])
  (let plain uint[7])
  (return (?: (< x Ring::N) 3u N)))
",
    );
}

#[test]
fn functions_that_give_back_through_their_arguments() {
    check(
        r"
Texture2D<float4> image;
uint f(float a) { float2 sc; float whole; sincos(a, sc.x, sc.y); float part = modf(a, whole); return image.Length.x; }
",
        r"
(resource image Texture<float4>)
(fn f uint (a float)
  (let sc float2)
  (let whole float)
  (sincos (as float a) (.x sc) (.y sc))
  (let part float (modf (as float a) whole))
  (return (.x (?uint3 (as Texture<float4> image)))))
",
    );
}

#[test]
fn amazon_shader_language() {
    check(
        r"
rootconstant float s_scale;
option enum class Mode { None, Twice } o_mode;
float f(float x) { return o_mode == Mode::Twice ? x * s_scale : x; }
",
        r"
(uniform s_scale float)
(uniform o_mode enum)
(fn f float (x float)
  (return (?: (== o_mode 1u) (* x s_scale) x)))
",
    );
}

#[test]
fn inline_ray_tracing() {
    check(
        r"
RaytracingAccelerationStructure scene;
bool f(float3 at)
{
    RayDesc ray;
    ray.Origin = at;
    RayQuery<(RAY_FLAG_CULL_OPAQUE | RAY_FLAG_SKIP_TRIANGLES) | 4> query;
    query.TraceRayInline(scene, RAY_FLAG_NONE, 0xFF, ray);
    while (query.Proceed()) query.CommitNonOpaqueTriangleHit();
    return query.CommittedStatus() == COMMITTED_TRIANGLE_HIT && query.CommittedRayT() < ray.TMax;
}
",
        r"
(struct RayDesc (Origin float3) (TMin float) (Direction float3) (TMax float))
(resource scene AccelerationStructure)
(fn f bool (at float3)
  (let ray RayDesc)
  (= (.Origin ray) at)
  (let query ?)
  (?void query scene 0u 255 ray)
  (loop () (?bool query) _
    (?void query))
  (return (&& (== (?uint query) 1u) (< (?float query) (.TMax ray)))))
",
    );
}

#[test]
fn what_templates_are_read_with_their_arguments_tell() {
    check(
        r"
template <typename T> struct Buf { uint slot; };
template <typename T, uint N> struct Row { T v[N]; };
struct Named : Buf<float> { uint b; };
template <typename T> uint slot_of(Buf<T> b, T v) { return b.slot + (uint)v; }
template <typename T> T first(StructuredBuffer<T> b) { return b[0]; }
template <typename T, uint N> uint count_of(Row<T, N> r) { return N; }
template <typename T> T inner(StructuredBuffer<Buf<T> > b) { return (T)b[0].slot; }
template <typename T> uint which(T a) { return 0; }
template <typename T> uint which(Buf<T> a) { return 1; }
template <typename T> T mixed(T a, T b, float x) { return a; }
template <typename T> T mixed(T a, T b, float2 x) { return b; }
StructuredBuffer<uint> u; StructuredBuffer<Buf<float> > bufs; Texture2D<float> t;
void f(Buf<float> b, Named n, Row<uint, 3> r, uint x)
{
    x = slot_of(b, 2.0);
    x = slot_of(n, 2.0);
    x = count_of(r);
    x = first(u);
    float y = inner(bufs);
    x = first(t);
    x = count_of(b);
    x = which(b);
    x = which(x);
    x = mixed(x, x, 2.0);
}
",
        r"
(struct Buf<float> (slot uint))
(struct Named (Buf<float> Buf<float>) (b uint))
(struct Row<uint, 3> (v uint[3]))
(resource u StructuredBuffer<uint>)
(resource bufs StructuredBuffer<Buf<float>>)
(resource t Texture<float>)
(fn f void (b Buf<float>) (n Named) (r Row<uint, 3>) (x uint)
  (= x (slot_of b 2.0f))
  (= x (slot_of (.Buf<float> n) 2.0f))
  (= x (count_of r))
  (= x (first u))
  (let y float (inner bufs))
  (= x (as uint (? t)))
  (= x (as uint (? b)))
  (= x (as uint (? b)))
  (= x (which x))
  (= x (mixed x x 2.0f)))
(fn slot_of uint (b Buf<float>) (v float)
  (return (+ (.slot b) (as uint v))))
(fn count_of uint (r Row<uint, 3>)
  (return 3u))
(fn first uint (b StructuredBuffer<uint>)
  (return (at b 0)))
(fn inner float (b StructuredBuffer<Buf<float>>)
  (return (as float (.slot (at b 0)))))
(fn which uint (a Buf<float>)
  (return 0u))
(fn which uint (a Buf<float>)
  (return 1u))
(fn which uint (a uint)
  (return 0u))
(fn mixed uint (a uint) (b uint) (x float)
  (return a))
(fn mixed uint (a uint) (b uint) (x float2)
  (return b))
! unsupported use of `first`: first
! unsupported use of `count_of`: count_of
! unsupported use of `which`: which
",
    );
}

/// What it stands for may say who shares the variable, but not what is written out.
#[test]
fn a_macro_before_a_variable_may_be_its_storage_class() {
    check(
        r"
STATIC_CONST
uint limit = 64;
SHARED float tile[64];
LAYOUT(0)
OTHER
uint first, second;
ALIGNED(16) uint third;
COHERENT
RWStructuredBuffer<uint> buffer;
EXPORTED
static const uint four = 4;
EXPORTED static uint five = 5;
EXPORTED
groupshared uint six[4];
EXPORTED
cbuffer Own { uint own; }
GLOBAL_CBUFFER_START(Params)
uint a;
CBUFFER_END
uint b;
DECLARE(x);
uint c;
PRIVATE_UINT d;
Elsewhere e;
cbuffer Known { PACKED_VALUES f; }
",
        r"
(unknown limit uint 64u)
(unknown tile float[64])
(unknown first uint)
(unknown second uint)
(unknown third uint)
(resource coherent buffer RwStructuredBuffer<uint>)
(const four uint 4u)
(static five uint 5u)
(groupshared six uint[4])
(uniform own uint)
(uniform a uint)
(uniform b uint)
(uniform c uint)
(unknown d ?)
(uniform e ?)
(uniform f ?)
! unknown macro: STATIC_CONST
! unknown macro: SHARED
! unknown macro: LAYOUT(0)
! unknown macro: OTHER
! unknown macro: ALIGNED(16)
! unknown macro: COHERENT
! unknown macro: EXPORTED
! unknown macro: GLOBAL_CBUFFER_START(Params)
! unknown macro: CBUFFER_END
! expected a declaration: DECLARE(x);
! unknown name `PRIVATE_UINT`: PRIVATE_UINT
! unknown name `Elsewhere`: Elsewhere
! unknown name `PACKED_VALUES`: PACKED_VALUES
",
    );
}

/// They may be modifiers or whole members: nothing of the struct is taken for granted but the members that are seen.
#[test]
fn macros_among_members() {
    check(
        r"
uint helper() { return 1; }
struct S
{
    PADDED
    uint a;
    PADDED uint b;
    DECLARE(x)
    uint c;
    uint get() { return a + helper(); }
    FIELDS
};
struct T : S { uint own; uint sum() { return own + helper(); } };
struct W { Missing m; uint a; };
struct V { VEC4 POSITION; VEC4 colour, NORMAL; };
void use(T t, S s)
{
    uint v = s.get() + t.sum() + t.own + s.c;
    S q = { 1, 2, 3 };
    W w = { q, 2 };
    v = sizeof(S) + sizeof(W);
}
",
        r"
(struct S ( ?) (a uint) ( ?) (b uint) ( ?) (c uint) ( ?))
(struct T (S S) (own uint))
(struct W (m ?) (a uint))
(struct V (POSITION ?) (colour ?) (NORMAL ?))
(fn helper uint
  (return 1u))
(fn S::get uint (inout this S) extern)
(fn T::sum uint (inout this T) extern)
(fn use void (t T) (s S)
  (let v uint (+ (+ (+ (S::get s) (T::sum t)) (.own t)) (.c s)))
  (let q S (?S 1u 2u 3u))
  (let w W (?W (as S q) 2))
  (= v (+ (?uint) (?uint))))
! unknown macro: PADDED
! unknown macro: DECLARE(x)
! unknown macro: FIELDS
! unknown name `Missing`: Missing
! unknown name `VEC4`: VEC4
! unsupported expression: { 1, 2, 3 }
! unsupported expression: { q, 2 }
",
    );
}

#[test]
fn macros_before_a_kernel() {
    check(
        r"
[numthreads(8, 8, 1)]
ROOT
void a() {}
[numthreads(8, 8, 1)]
ROOT(Layout)
void b() {}
FIRST SECOND [numthreads(8, 8, 1)] void c() {}
FIRST SECOND uint d;
FIRST SECOND(3) StructuredBuffer<uint> e;
odd(3) uint f;
",
        r"
(unknown d uint)
(resource coherent e StructuredBuffer<uint>)
(unknown f uint)
(fn a void [8 8 1])
(fn b void [8 8 1])
(fn c void [8 8 1])
! unknown macro: ROOT
! unknown macro: FIRST
! unknown macro: SECOND
! could not parse this declaration: odd(3) uint f;
",
    );
}
