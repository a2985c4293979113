//! Code that is only a fallback for wave code.

use shaderlint_hlsl::{FileSpan, Inactive, Sources};

use crate::support::words::contains;

/// Prefixes of the names of wave intrinsics.
const WAVE_INTRINSICS: [&[u8]; 9] = [
    b"WaveActive",
    b"WavePrefix",
    b"WaveMultiPrefix",
    b"WaveMatch",
    b"WaveRead",
    b"WaveGetLane",
    b"WaveIsFirstLane",
    b"QuadRead",
    b"QuadAny",
];

/// The compiled regions with another branch of the same `#if` that has wave intrinsics, if the condition tests for
/// wave support. Under any other condition the two branches are two programs: if one of them uses waves, perhaps by a
/// fix, that says nothing about the other.
pub(super) fn fallbacks<'a>(
    sources: &'a Sources,
    inactive: &'a [Inactive],
) -> impl Iterator<Item = FileSpan> + 'a {
    inactive.iter().filter_map(|inactive| {
        let text = sources.text(inactive.region);
        let has_waves = WAVE_INTRINSICS.iter().any(|name| contains(text, name));
        let taken = inactive.taken.filter(|_| has_waves)?;
        let asks = |condition| asks_for_waves(sources.text(condition));
        (asks(inactive.condition) || asks(taken.condition)).then_some(taken.region)
    })
}

/// Parts of names, in lower case, with which projects say that a target has wave intrinsics.
const CAPABILITIES: [&str; 14] = [
    "wave",
    "warp",
    "subgroup",
    "simd",
    "ballot",
    "shuffle",
    "intrinsic",
    "sm6",
    "sm_6",
    "shader_model",
    "shadermodel",
    "shader_target",
    "dx_compiler",
    "dxc",
];

fn asks_for_waves(condition: &[u8]) -> bool {
    let condition = String::from_utf8_lossy(condition).to_lowercase();
    CAPABILITIES.iter().any(|part| condition.contains(part))
}
