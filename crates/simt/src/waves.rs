//! How the threads of a group are distributed over waves.

use crate::terms::sample::SplitMix;

/// The packing of a group's threads into waves.
///
/// HLSL promises none of these: "no relation between the values of `SV_GroupIndex` and the return value of
/// `WaveGetLaneIndex()` should be assumed" for 2-D and 3-D groups, and even a 1-D group may be split "in an
/// implementation-defined way" (hlsl-specs, HLSL_SM_6_6_Derivatives.md and introduction.tex). Every known
/// implementation packs 1-D groups linearly; lavapipe packs rows; helper lanes suggest quads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneMap {
    /// Consecutive `SV_GroupIndex`, waves filled up.
    Linear,
    /// Each x-row of the group starts a wave of its own.
    Rows,
    /// 2×2 quads of threads, row by row of quads, waves filled up.
    Quads,
    /// Any threads in any order in partly filled waves, from this seed.
    Ragged(u64),
}

/// The packings of a group of more than one row.
const MAPS_OF_ROWS: [LaneMap; 3] = [LaneMap::Linear, LaneMap::Rows, LaneMap::Quads];

/// The packings under which a group of these sizes runs.
pub(crate) fn maps(group: [u32; 3]) -> &'static [LaneMap] {
    if group[1] > 1 || group[2] > 1 {
        &MAPS_OF_ROWS
    } else {
        &MAPS_OF_ROWS[..1]
    }
}

impl LaneMap {
    /// The maps that a proof "under any map" runs.
    pub const ALL: [LaneMap; 4] = [LaneMap::Linear, LaneMap::Rows, LaneMap::Quads, LaneMap::Ragged(1)];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LaneMap::Linear => "linear",
            LaneMap::Rows => "row by row",
            LaneMap::Quads => "2×2 quads",
            LaneMap::Ragged(_) => "ragged",
        }
    }
}

/// Waves of one size, packed in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    pub wave_size: u32,
    pub map: LaneMap,
}

impl Packing {
    /// The waves of a group with these sizes.
    pub fn of(self, group: [u32; 3]) -> Waves {
        Waves::new(group, self.wave_size, self.map)
    }
}

/// The waves of one group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waves {
    pub size: u32,
    /// For each wave the thread at each occupied lane, ascending by lane.
    pub members: Vec<Vec<(u32, usize)>>,
    /// For each thread its wave and lane.
    pub place: Vec<(usize, u32)>,
}

impl Waves {
    pub fn new(group: [u32; 3], size: u32, map: LaneMap) -> Waves {
        let threads = group.iter().product::<u32>() as usize;
        let width = group[0].max(1) as usize;
        let size_of_wave = size.max(1) as usize;
        let mut waves: Vec<Vec<(u32, usize)>> = Vec::new();
        let pack = |order: Vec<usize>, waves: &mut Vec<Vec<(u32, usize)>>| {
            for chunk in order.chunks(size_of_wave) {
                waves.push((0..).zip(chunk.iter().copied()).collect());
            }
        };
        match map {
            LaneMap::Linear => pack((0..threads).collect(), &mut waves),
            LaneMap::Rows => {
                for row in (0..threads).step_by(width) {
                    pack((row..(row + width).min(threads)).collect(), &mut waves);
                }
            }
            LaneMap::Quads => {
                let height = group[1].max(1) as usize;
                let mut order: Vec<usize> = (0..threads).collect();
                order.sort_by_key(|thread| {
                    let (x, y, z) = (thread % width, thread / width % height, thread / width / height);
                    (z, y / 2, x / 2, y % 2, x % 2)
                });
                pack(order, &mut waves);
            }
            LaneMap::Ragged(seed) => {
                let mut random = SplitMix(seed);
                let mut order: Vec<usize> = (0..threads).collect();
                for last in (1..threads).rev() {
                    order.swap(last, random.below(last + 1));
                }
                let mut rest = order.as_slice();
                while !rest.is_empty() {
                    let (chunk, after) = rest.split_at((1 + random.below(size_of_wave)).min(rest.len()));
                    rest = after;
                    let mut lanes: Vec<u32> = (0..size).collect();
                    for last in (1..lanes.len()).rev() {
                        lanes.swap(last, random.below(last + 1));
                    }
                    let mut wave: Vec<(u32, usize)> = lanes.into_iter().zip(chunk.iter().copied()).collect();
                    wave.sort_unstable();
                    waves.push(wave);
                }
            }
        }
        let mut place = vec![(0, 0); threads];
        for (number, wave) in waves.iter().enumerate() {
            for (lane, thread) in wave {
                if let Some(slot) = place.get_mut(*thread) {
                    *slot = (number, *lane);
                }
            }
        }
        Waves {
            size,
            members: waves,
            place,
        }
    }
}

impl Waves {
    /// One wave with a thread at each of these lanes.
    pub fn one(size: u32, lanes: &[u32]) -> Waves {
        Waves {
            size,
            members: vec![lanes.iter().copied().zip(0..).collect()],
            place: lanes.iter().map(|lane| (0, *lane)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::kernel::WAVE_SIZES;

    #[test]
    fn every_thread_is_in_one_wave_under_every_map() {
        for group in [
            [64, 1, 1],
            [8, 8, 1],
            [6, 6, 1],
            [4, 4, 4],
            [100, 1, 1],
            [2, 32, 1],
        ] {
            for size in WAVE_SIZES {
                for map in LaneMap::ALL {
                    let waves = Waves::new(group, size, map);
                    let mut seen: Vec<usize> = waves
                        .members
                        .iter()
                        .flatten()
                        .map(|(_, thread)| *thread)
                        .collect();
                    seen.sort_unstable();
                    assert_eq!(
                        seen,
                        (0..group.iter().product::<u32>() as usize).collect::<Vec<_>>()
                    );
                    assert!(waves.members.iter().flatten().all(|(lane, _)| *lane < size));
                }
            }
        }
    }
}
