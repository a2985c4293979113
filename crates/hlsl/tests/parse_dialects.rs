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
(struct Box (Shape Shape) (depth uint) (height uint))
(struct Crate (Box Box) (lid uint))
(fn Shape::area uint (this Shape)
  (return (* (.width this) 2u)))
(fn Shape::grow void (inout this Shape) (by uint)
  (+= (.width this) by))
(fn Box::init void (inout this Box) (n uint)
  (Shape::grow (.Shape this) n)
  (= (.width (.Shape this)) n)
  (= (.height this) (Shape::area (.Shape this))))
(fn Box::area uint (this Box)
  (return (+ (* (Shape::area (.Shape this)) (.height this)) (.depth this))))
(fn use_it uint (c Crate)
  (Box::init (.Box c) 1u)
  (x++ (.width (.Shape (.Box c))))
  (Shape::grow (.Shape (.Box c)) (.lid c))
  (return (+ (Box::area (.Box c)) (.depth (.Box c)))))
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
(resource m_out RwStructuredBuffer<uint>)
(uniform m_constants Constants)
(resource m_sampler Sampler)
(uniform m_count uint)
(fn size uint
  (return (.size m_constants)))
(fn f void (i uint)
  (= (at m_out i) (+ (size) m_count)))
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
