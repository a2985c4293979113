//! The analysis of an entry point, and the runs that it consists of.
//!
//! | runs | find | when |
//! |---|---|---|
//! | [`atomics::contended`] | contended atomics | the kernel has atomics |
//! | [`ladders::of_entry`] | scans and reductions through reads of other lanes | it reads other lanes |
//! | [`group::run`] | scans, reductions, races and other defects in groupshared memory | it synchronises |
//! | [`amid_unordered_reads`] | confirms these collectives, and adds others | no barrier orders some read with a write |
//! | [`in_buffer_tiles`] | adds collectives in device memory | a barrier orders device memory |

mod findings;
mod group;
mod host_bounds;

use std::collections::BTreeSet;

use shaderlint_hlsl::{FunctionId, Shader};

use crate::analyze::findings::{add_collectives, overlap};
use crate::detect::atomics;
use crate::detect::shuffles::ladders;
use crate::exec::assumed_barriers::AssumedBarriers;
use crate::exec::assumptions::Assumptions;
use crate::exec::buffer_tiles::TiledKernel;
use crate::exec::{Read, RunMode};
use crate::facts::effects::{Effects, EffectsCache};
use crate::facts::kernel::Kernel;
use crate::facts::reachable_globals::Beginning;
use crate::finding::{Amid, Analysis, Collective, Obstacle};

/// Runs an entry point's thread group, and returns what the group computes together and where it races.
///
/// Code with wave intrinsics runs at every wave size under the linear map. A race counts only if all of these
/// runs have it.
#[must_use]
pub fn analyze(shader: &Shader, entry: FunctionId) -> Analysis {
    let kernel = Kernel::new(shader, entry);
    let Some(group) = kernel.group() else {
        return of_no_group(kernel);
    };
    let effects = EffectsCache::default().of_function(shader, entry);
    let synchronises = effects.touches_shared() || effects.barrier || effects.opaque;
    let is_of_interest = effects.atomic || effects.reads_lanes() || synchronises;
    let mut analysis = Analysis {
        group_size: group,
        ..Analysis::default()
    };
    if !is_of_interest || Beginning::of(shader).has_effects {
        return analysis;
    }
    // All other findings need groupshared memory, or a barrier that not all threads reach.
    if synchronises {
        let found = group::run(kernel, &effects, RunMode::Collectives, Assumptions::default());
        analysis = found.analysis;
        if !found.unordered.is_empty() {
            let amid = amid_unordered_reads(kernel, &effects, &found.unordered);
            take_confirmed(&mut analysis, amid, &found.unordered);
        }
        if effects.device_barrier && effects.barrier && effects.device_observed {
            add_collectives(&mut analysis.collectives, in_buffer_tiles(kernel));
        }
    }
    if effects.atomic {
        (analysis.contended_atomics, analysis.atomics_stopped) = atomics::contended(kernel);
    }
    if effects.reads_lanes() {
        analysis.wave_ladders = ladders::of_entry(kernel);
    }
    analysis
}

/// The defects of a kernel and nothing else: as it is, or with barriers inserted.
#[must_use]
pub fn look_for_defects(shader: &Shader, entry: FunctionId, assumed: Option<&AssumedBarriers>) -> Analysis {
    let kernel = Kernel::new(shader, entry);
    if kernel.group().is_none() {
        return of_no_group(kernel);
    }
    let effects = EffectsCache::default().of_function(shader, entry);
    let assuming = Assumptions {
        barriers: assumed,
        ..Assumptions::default()
    };
    group::run(kernel, &effects, RunMode::Plain, assuming).analysis
}

/// The empty analysis of a function without a group size that D3D allows.
fn of_no_group(kernel: Kernel<'_>) -> Analysis {
    let declared = kernel.function().and_then(|function| function.group_size);
    Analysis {
        group_size: declared.unwrap_or_default(),
        ..Analysis::default()
    }
}

/// The collectives that a run finds if it assumes that unordered reads may return anything.
///
/// A kernel may read a total while it stores the elements of the next ladder. The read races, but the stored
/// elements and the ladder's results are the same whatever the read returns: no two writes conflict, and no
/// other read conflicts with a write. So the argument of [`crate::exec::memory`] holds for each choice of what
/// these reads return. Values derived from such a read are unknown, and so is a condition that depends on them.
fn amid_unordered_reads(kernel: Kernel<'_>, effects: &Effects, reads: &BTreeSet<Read>) -> Vec<Collective> {
    let assuming = Assumptions {
        finds_anything: Some(reads),
        ..Assumptions::default()
    };
    group::run(kernel, effects, RunMode::Collectives, assuming)
        .analysis
        .collectives
}

/// Keeps the collectives that hold whatever unordered reads return, and those that take part in a reported
/// race, as its finding names them. Adds those that only the run `amid` such reads found.
fn take_confirmed(analysis: &mut Analysis, mut amid: Vec<Collective>, unordered: &BTreeSet<Read>) {
    let races = &analysis.races;
    let has_part = |collective: &Collective| races.iter().any(|race| race.has_part(collective));
    analysis.collectives.retain_mut(|known| {
        let mut same = amid.iter().filter(|found| overlap(known, found)).peekable();
        let is_confirmed = same.peek().is_some();
        known.assumes_convergence |= same.any(|found| found.assumes_convergence);
        is_confirmed || has_part(known)
    });
    amid.retain(|found| analysis.collectives.iter().all(|known| !overlap(known, found)));
    for found in &mut amid {
        let of_its_arrays = unordered.iter().find(|(array, ..)| found.arrays.contains(array));
        found.amid = found.amid.or(of_its_arrays.map(|(_, read, _)| Amid::Read(*read)));
        found.rewrite = Err(Obstacle::SomeRuns);
    }
    analysis.collectives.append(&mut amid);
}

/// The collectives that a run finds if it treats a group's tiles of buffers as arrays.
fn in_buffer_tiles(kernel: Kernel<'_>) -> Vec<Collective> {
    let Some(TiledKernel { shader, resources }) = TiledKernel::new(kernel) else {
        return Vec::new();
    };
    let viewed = Kernel::new(&shader, kernel.entry);
    let effects = EffectsCache::default().of_function(&shader, kernel.entry);
    let assuming = Assumptions {
        tiles: &resources,
        ..Assumptions::default()
    };
    group::run(viewed, &effects, RunMode::Collectives, assuming)
        .analysis
        .collectives
}
