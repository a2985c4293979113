//! Textures that are used as the arrays they are.

mod support;

use std::collections::BTreeMap;

use shaderlint_verify::run::{InputPlan, Values, make_inputs};
use support::{devices, execute, lowered, try_lower, words};

/// What a kernel leaves in each buffer, by name, and what was there before; of one group, on every adapter.
fn left(source: &str, check: impl Fn(&BTreeMap<String, Vec<u32>>, &BTreeMap<String, Vec<u32>>)) {
    let kernel = lowered(source);
    for device in devices() {
        let inputs = make_inputs(&[&kernel], [2, 1, 1], &InputPlan::default());
        let before = inputs.buffers.iter();
        let before = before.map(|(name, bytes)| (name.clone(), words(bytes))).collect();
        check(&before, &execute(&device, &kernel, &inputs, [2, 1, 1]));
    }
}

/// 8×8 threads a group: 2 groups reach 16 columns of 128, and 8 rows of 64.
#[test]
fn texels_lie_row_after_row() {
    let source = "Texture2D<uint> In; RWTexture2D<uint> Out; RWTexture2D<float2> Pairs; RWStructuredBuffer<uint> Sizes;
[numthreads(8, 8, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
    int2 at = (int2)id.xy;
    Out[at] = In[at] + 2 * In.Load(int3(at.yx, 0));
    Out[id.xy] += 1;
    Pairs[at].y = 0.5;
    // Outside: nothing is read or written.
    Out[at - int2(1000, 0)] = 7;
    Out[uint2(id.x, id.y + 64)] = In[uint2(at.x + 128, 0)];
    uint w, h;
    Out.GetDimensions(w, h);
    if (id.x + id.y == 0) { Sizes[0] = w; Sizes[1] = h; Sizes[2] = In[uint2(0, 64)]; Sizes[3] = Out.Load(int2(0, 0)); }
}
";
    left(source, |before, after| {
        let (input, out) = (&before["In"], &after["Out"]);
        assert_eq!((input.len(), out.len()), (128 * 64, 128 * 64));
        let texel = |x: usize, y: usize| input[y * 128 + x];
        for (at, word) in out.iter().enumerate() {
            let (x, y) = (at % 128, at / 128);
            let expected = if x < 16 && y < 8 {
                texel(x, y)
                    .wrapping_add(2u32.wrapping_mul(texel(y, x)))
                    .wrapping_add(1)
            } else {
                before["Out"][at]
            };
            assert_eq!(*word, expected, "({x}, {y})");
        }
        let half = 0.5f32.to_bits();
        assert_eq!(after["Pairs"][1], half);
        assert_eq!(after["Pairs"][0], before["Pairs"][0]);
        assert_eq!(after["Sizes"][..4], [128, 64, 0, out[0]]);
    });
}

#[test]
fn atomics_on_texels_count() {
    let source = "RWTexture2D<uint> Bins; RWTexture3D<int> Least;
void count(RWTexture2D<uint> bins, uint x) { uint before; InterlockedAdd(bins[uint2(x, 1)], 2, before); }
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
    count(Bins, id.x & 3);
    count(Bins, 100000);
    InterlockedMin(Least[uint3(0, 0, 1)], -(int)id.x);
}
";
    left(source, |_, after| {
        assert_eq!(after["Bins"][128..133], [64, 64, 64, 64, 0]);
        assert_eq!(after["Least"][128 * 64].cast_signed(), -127);
    });
}

/// Outside of a texture nothing is counted, but what the atomic is given is computed all the same.
#[test]
fn operands_of_an_atomic_outside_are_evaluated() {
    let source = "RWTexture2D<uint> Bins; RWStructuredBuffer<uint> Out, Given, Found;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID)
{
    Given[id.x] = 0;
    for (uint n = 0; n < 2; n++)
    {
        uint found = 9;
        // The second pass is outside.
        InterlockedAdd(Bins[uint2(id.x, 1000 * n)], ++Given[id.x], found);
        Out[id.x] = found + 1;
        InterlockedCompareExchange(Bins[uint2(id.x, 1000 * n)], n, ++Given[id.x], found);
        Found[id.x] = found;
    }
}
";
    left(source, |_, after| {
        assert_eq!(after["Bins"][..128], [1; 128]);
        assert_eq!(after["Given"][..128], [4; 128]);
        assert_eq!(after["Out"][..128], [1; 128]);
        assert_eq!(after["Found"][..128], [0; 128]);
    });
}

/// Threads that are ragged end within the texture's last columns.
#[test]
fn a_texture_is_as_large_as_the_dispatch() {
    let kernel = lowered(
        "RWTexture3D<uint4> Out; [numthreads(32, 2, 3)] void main(uint3 id : SV_DispatchThreadID) { Out[id] = id.x; }",
    );
    for (is_ragged, expected) in [(false, [192, 128, 4]), (true, [182, 127, 2])] {
        let plan = InputPlan {
            values: Values::Few,
            is_ragged,
            ..InputPlan::default()
        };
        let inputs = make_inputs(&[&kernel], [3, 2, 1], &plan);
        assert_eq!(inputs.uniforms["Out.size"], expected);
        let texels: u32 = expected.iter().product();
        assert_eq!(inputs.buffers["Out"].len(), texels as usize * 16);
        let out = &kernel.bindings[0];
        let [width, height, _] = expected.map(u64::from);
        assert_eq!(inputs.index(out, (height + 3) * width + 5), [5, 3, 1]);
        let texel = ((height + 3) * width + 5) as usize;
        assert_eq!(inputs.texel(out, &[5, 3, 1]), Some(texel));
        assert_eq!(inputs.texel(out, &[expected[0], 0, 0]), None);
    }
}

#[test]
fn what_is_no_array_is_replaced_or_refused() {
    let kernel = |declared: &str, body: &str| {
        format!(
            "{declared}\nSamplerState S; RWStructuredBuffer<float4> Out; cbuffer C {{ uint Level; }}\n\
             [numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) {{ {body} }}\n"
        )
    };
    let replaced = |declared: &str, body: &str| {
        lowered(&kernel(declared, body))
            .replaced
            .into_iter()
            .collect::<Vec<_>>()
    };
    let texture = "Texture2D<float4> T;";
    assert_eq!(
        replaced(texture, "Out[id.x] = T[id.xy] + T.Load(int3(id.xy, 0));"),
        [""; 0]
    );
    assert_eq!(
        replaced(texture, "Out[id.x] = T[id.xy] + T.SampleLevel(S, id.xy, 0);"),
        ["T.SampleLevel"]
    );
    // One level may be the other.
    assert_eq!(
        replaced(texture, "Out[id.x] = T[id.xy] + T.Load(int3(id.xy, Level));"),
        ["T.Load", "T[]"]
    );
    assert_eq!(
        replaced("Texture2D<unorm float4> T;", "Out[id.x] = T[id.xy];"),
        ["T[]"]
    );
    let refused = |declared: &str, body: &str| try_lower(&kernel(declared, body)).unwrap_err().message;
    assert_eq!(
        refused("RWTexture2D<unorm float4> T;", "T[id.xy] = 2;"),
        "unsupported: `T`: `unorm` texels have no WGSL type"
    );
    assert_eq!(
        refused("RWTexture2D<float4> T[2];", "T[1][id.xy] = 2;"),
        "unsupported: the array of resources `T`"
    );
}
