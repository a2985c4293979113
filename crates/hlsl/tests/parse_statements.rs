//! Statements in, typed tree out.

mod outlines;

use outlines::check;

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
(const primes [static 0 of f] uint[3] (new uint[3] 2u 3u 5u))
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
  (let v float3 (new float3 1.0f (as float a) 2.5f))
  (, (= a (= b 3u)) (= n 4u))
  (let g float3)
  (let h float2x3)
  (let p float (.x v))
  ???
  (discard))
! could not parse this statement: if (n) uint inner = 3;
",
    );
}

#[test]
fn static_variables_of_functions_are_globals() {
    check(
        r"
cbuffer C { uint count; };
uint twice(uint n) { uint r = n; r += n; return r; }
uint f(uint n) {
    const uint four = 4;
    static uint calls, first = n, host = count, eight = 2 * four;
    static const uint two = twice(1), own = n;
    static const float2 pair[] = { float2(1, 2) };
    { static uint calls; ++calls; }
    return ++calls + first + host + eight + two + own + uint(pair[0].x);
}
",
        "\
(uniform count uint)
(static calls [static 0 of f] uint)
(static first [static 1 of f, is set] bool)
(static first [static 1 of f] uint)
(static host [static 2 of f] uint count)
(static eight [static 3 of f] uint 8u)
(const two [static 4 of f] uint (twice 1u))
(static own [static 5 of f, is set] bool)
(static own [static 5 of f] uint)
(const pair [static 6 of f] float2[1] (new float2[1] (new float2 1.0f 2.0f)))
(static calls [static 7 of f] uint)
(fn twice uint (n uint)
  (let r uint n)
  (+= r n)
  (return r))
(fn f uint (n uint)
  (let four uint 4u)
  (if (! first [static 1 of f, is set])
    (block
      (= first [static 1 of f] n)
      (= first [static 1 of f, is set] true)))
  (if (! own [static 5 of f, is set])
    (block
      (= own [static 5 of f] n)
      (= own [static 5 of f, is set] true)))
  (block
    (++x calls [static 7 of f]))
  (return (+ (+ (+ (+ (+ (+ (++x calls [static 0 of f]) first [static 1 of f]) host [static 2 of f]) eight [static 3 of f]) two [static 4 of f]) own [static 5 of f]) (as uint (.x (at pair [static 6 of f] 0))))))
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
