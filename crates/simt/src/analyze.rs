//! One entry point, run and looked at.

use shaderlint_hlsl::{FunctionId, Shader};

use crate::claim::Claims;
use crate::effects::EffectsCache;
use crate::finding::{Analysis, Claim, Collective, Race};
use crate::machine::{BUDGET, Machine};
use crate::value::Terms;
use crate::wave::{LaneMap, WAVE_SIZES, Waves};

/// Runs an entry point's thread group and says what it computes together and where it races.
///
/// Code with wave intrinsics is run at every wave size under the linear map; a race is one only if it is there in all
/// of these runs.
#[must_use]
pub fn analyze(shader: &Shader, entry: FunctionId) -> Analysis {
    let group = shader
        .functions
        .get(entry.0 as usize)
        .and_then(|function| function.group_size)
        .unwrap_or_default();
    let mut analysis = Analysis {
        group_size: group,
        ..Analysis::default()
    };
    let size = group.into_iter().fold(1, u32::saturating_mul);
    if !(1..=1024).contains(&size) {
        return analysis;
    }
    let effects = EffectsCache::default().of_function(shader, entry);
    if effects.atomic {
        analysis.claims = claims(shader, entry, group);
    }
    // All else there is to find goes through groupshared memory.
    if !effects.touches_shared() && !effects.opaque {
        return analysis;
    }
    let mut uses_waves = false;
    // The runs share the steps that one may take: what cannot be confirmed in all of them is not said.
    let mut budget = BUDGET;
    for (number, wave_size) in WAVE_SIZES.into_iter().enumerate() {
        let mut terms = Terms::default();
        let waves = Waves::new(group, wave_size, LaneMap::Linear);
        let Some(mut machine) = Machine::new(shader, &mut terms, entry, waves) else {
            return analysis;
        };
        machine.prober.enabled = number == 0 || !analysis.collectives.is_empty();
        machine.budget = budget;
        let stopped = machine.run();
        budget = machine.budget;
        let races = std::mem::take(&mut machine.report.races);
        if number == 0 {
            analysis.stopped = stopped;
            analysis.collectives = machine.prober.finish();
            analysis.races = races;
            uses_waves = machine.report.used_waves;
        } else {
            let same = |a: &Race, b: &Race| {
                a.array == b.array && (a.first.span, a.second.span) == (b.first.span, b.second.span)
            };
            // What is found may rest on the wave size at hand, which is known in each run.
            let collectives = machine.prober.finish();
            let same_scan = |a: &Collective, b: &Collective| {
                (a.span, a.function, a.kind, a.operator) == (b.span, b.function, b.kind, b.operator)
                    && (&a.input, &a.output, a.count, a.shape) == (&b.input, &b.output, b.count, b.shape)
            };
            analysis
                .collectives
                .retain(|scan| collectives.iter().any(|other| same_scan(scan, other)));
            analysis
                .races
                .retain(|race| races.iter().any(|other| same(race, other)));
        }
        if !uses_waves || (analysis.races.is_empty() && analysis.collectives.is_empty()) {
            break;
        }
    }
    analysis
}

/// The claims of an entry point. Of code with wave intrinsics those that are there at every wave size: a leader of a wave
/// of 4 is one of any wave.
fn claims(shader: &Shader, entry: FunctionId, group: [u32; 3]) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut budget = BUDGET;
    for (number, wave_size) in WAVE_SIZES.into_iter().enumerate() {
        let mut terms = Terms::default();
        let waves = Waves::new(group, wave_size, LaneMap::Linear);
        let Some(mut machine) = Machine::new(shader, &mut terms, entry, waves) else {
            return claims;
        };
        machine.claims = Some(Claims::default());
        machine.budget = budget;
        let stopped = machine.run();
        budget = machine.budget;
        let uses_waves = machine.report.used_waves;
        let seen = machine
            .claims
            .take()
            .unwrap_or_default()
            .finish(stopped.is_none());
        if number == 0 {
            claims = seen;
        } else {
            let same = |a: &Claim, b: &Claim| {
                (a.function, a.span, a.cells, a.found) == (b.function, b.span, b.cells, b.found)
            };
            claims.retain(|claim| seen.iter().any(|other| same(claim, other)));
        }
        if !uses_waves || claims.is_empty() {
            break;
        }
    }
    claims
}
