//! What a group leaves for given inputs, where it is known.

use shaderlint_hlsl::{NoIncludes, read};
use shaderlint_simt::{Given, LaneMap, evaluate};

/// Which thread gets which slot is open, each time anew: nobody knows what is left.
#[test]
fn what_nobody_knows_is_not_made_up() {
    let text = "\
#define BLOCK 64
StructuredBuffer<int> Src;
RWStructuredBuffer<int> Out;
groupshared uint Counter;
[numthreads(BLOCK, 1, 1)]
void Reduce(uint3 globalId : SV_DispatchThreadID, uint3 gid : SV_GroupID, uint3 local : SV_GroupThreadID)
{
    const uint lane = globalId.x - gid.x * BLOCK;
    for (uint round = 0; round < 3; ++round)
    {
        if (lane == 0) Counter = 0;
        GroupMemoryBarrierWithGroupSync();
        int val = Src[round - gid.x * BLOCK + lane];
        if (val > 3)
        {
            uint index0;
            {
                uint waveTotal = WaveActiveCountBits(true);
                uint waveFirst = 0;
                if (WaveIsFirstLane())
                    InterlockedAdd(Counter, waveTotal, waveFirst);
                index0 = WaveReadLaneFirst(waveFirst) + WavePrefixCountBits(true);
            }
            Out[gid.x * 4 * BLOCK + index0] = val;
        }
        GroupMemoryBarrierWithGroupSync();
    }
}
";
    let (shader, problems) = read("a.hlsl", text.as_bytes(), &[], &NoIncludes);
    assert!(problems.is_empty(), "{problems:?}");
    let (entry, _) = shader.entry_points().next().expect("the kernel");
    let given =
        |_: &str, index: &[u32], _: u32| index.first().map_or(0, |index| 5 * u32::from(*index < 1000));
    let groups = [0, 1, 2].map(|group| ([group, 0, 0], &given as &Given<'_>));
    let left = evaluate(&shader, entry, 4, LaneMap::Linear, &groups);
    let left: Vec<_> = left.into_iter().flatten().flatten().collect();
    // Where no thread claims a slot there is nothing to make up.
    assert!(left.iter().all(|group| group.words.is_empty()), "{left:?}");
}
