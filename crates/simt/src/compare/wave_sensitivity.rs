//! How a kernel with wave intrinsics depends on the wave size and on how threads are packed into waves.
//!
//! The group runs at every size that HLSL and the kernel's `[WaveSize]` allow, on the same free atoms. A 1-D
//! group is packed linearly, as by every known implementation. For groups with more rows nothing is promised
//! (`HLSL_SM_6_6_Derivatives.md`), so they also run packed row by row and in quads.
//!
//! Only certain effects count: an out-of-bounds access or a race that some of these runs have and others do
//! not; or a word that all runs write to one place, if its terms differ and differed on random inputs. A
//! difference in *where* results are written may be intended. So may differing results of a kernel without a
//! barrier, which does not combine its waves' results.

use std::collections::BTreeMap;
use std::rc::Rc;

use shaderlint_hlsl::Shader;

use crate::compare::ResourceCell;
use crate::detect::Detectors;
use crate::detect::witness::borne_out;
use crate::exec::assumptions::Assumptions;
use crate::exec::{Machine, Report, RunMode, Write};
use crate::facts::kernel::Kernel;
use crate::finding::{OutOfBounds, Race, WaveDependence, WaveEffect};
use crate::terms::Terms;
use crate::terms::formula::{indices, part};
use crate::terms::value::Value;
use crate::waves::{LaneMap, Waves, maps};

#[derive(Clone)]
struct Run {
    map: LaneMap,
    waves: Waves,
    /// The run reached its end.
    whole: bool,
    report: Rc<Report>,
    /// The final content of each cell and the thread that wrote it; only for a proved run.
    results: Option<Rc<Results>>,
}

/// The final value of each cell in the first group, and the thread that wrote it.
type Results = BTreeMap<ResourceCell, (Value, u16)>;

/// The first way in which the kernel depends on its waves, if it does.
pub(crate) fn dependence(kernel: Kernel<'_>, has_barrier: bool, budget: &mut u64) -> Option<WaveDependence> {
    let group = kernel.group()?;
    let mut terms = Terms::default();
    let mut runs: Vec<Run> = Vec::new();
    for map in maps(group) {
        for size in kernel.wave_sizes() {
            let waves = Waves::new(group, size, *map);
            // A run depends on its waves alone, so two maps with the same waves share one run.
            if let Some(same) = runs.iter().find(|run| run.waves == waves) {
                let same = same.clone();
                runs.push(Run { map: *map, ..same });
                continue;
            }
            let mut machine = Machine::<Detectors>::new(kernel, &mut terms, waves, RunMode::Plain, *budget)?;
            let stopped = machine.run();
            *budget = machine.limits.budget;
            let report = std::mem::take(&mut machine.report);
            let is_proved = stopped.is_none() && !report.unproved && report.out_of_bounds.is_empty();
            let results = is_proved
                .then(|| results(machine.terms, &machine.state.writes))
                .flatten();
            let waves = machine.waves;
            runs.push(Run {
                map: *map,
                waves,
                whole: stopped.is_none(),
                report: Rc::new(report),
                results: results.map(Rc::new),
            });
        }
    }
    let mut found = outside(&runs).or_else(|| race(kernel, &mut terms, &runs));
    if has_barrier {
        found = found.or_else(|| difference(&terms, kernel.shader, &runs));
    }
    found
}

/// The dependence, with the wave sizes that show the effect under the map of the first breaking run.
fn of_runs(runs: &[Run], breaking: &[&Run], sound: &Run, effect: WaveEffect) -> Option<WaveDependence> {
    let map = breaking.first()?.map;
    let is_breaking = |run: &Run| breaking.iter().any(|one| std::ptr::eq(*one, run));
    let is_in_part = runs.iter().any(|run| {
        let is_known = is_breaking(run) || run.whole && !run.report.unproved;
        run.map == map && !is_known
    });
    Some(WaveDependence {
        sizes: breaking
            .iter()
            .filter(|run| run.map == map)
            .map(|run| run.waves.size)
            .collect(),
        map,
        sound: (sound.waves.size, sound.map),
        is_in_part,
        effect,
    })
}

fn outside(runs: &[Run]) -> Option<WaveDependence> {
    let all = runs.iter().flat_map(|run| &run.report.out_of_bounds);
    all.clone().find_map(|access| {
        let has = |run: &&Run| {
            let place = |known: &OutOfBounds| (known.array, known.access.span);
            run.report
                .out_of_bounds
                .iter()
                .any(|known| place(known) == place(access))
        };
        let breaking: Vec<&Run> = runs.iter().filter(has).collect();
        let sound = runs
            .iter()
            .find(|run| run.whole && run.report.out_of_bounds.is_empty())?;
        of_runs(runs, &breaking, sound, WaveEffect::OutOfBounds(access.clone()))
    })
}

/// A race that replays on numbers confirm at the sizes it names.
fn race(kernel: Kernel<'_>, terms: &mut Terms, runs: &[Run]) -> Option<WaveDependence> {
    // A wave dependence must hold for all inputs.
    let is_sure = |race: &&Race| race.given.is_empty() && race.condition.is_none();
    let mut all = runs.iter().flat_map(|run| &run.report.races).filter(is_sure);
    all.find_map(|race| {
        let sound = runs.iter().find(|run| run.whole && run.report.races.is_empty())?;
        let in_run = |run: &Run| {
            let place = |known: &Race| (known.array, known.first.span, known.second.span);
            let mut met = run.report.races.iter().filter(is_sure);
            let met = met.find(|known| place(known) == place(race))?.clone();
            borne_out(kernel, terms, &run.waves, Assumptions::default(), vec![met]).pop()
        };
        let met: Vec<Option<Race>> = runs.iter().map(in_run).collect();
        let breaking = runs.iter().zip(&met).filter(|(_, met)| met.is_some());
        let breaking: Vec<&Run> = breaking.map(|(run, _)| run).collect();
        let mut met = met.into_iter().flatten();
        let mut told = met.next()?;
        let is_met_otherwise = met.any(|other| !told.is_met_like(&other));
        told.wave_size = is_met_otherwise.then_some(breaking.first()?.waves.size);
        of_runs(runs, &breaking, sound, WaveEffect::Races(told))
    })
}

fn difference(terms: &Terms, shader: &Shader, runs: &[Run]) -> Option<WaveDependence> {
    let proved: Vec<(&Run, &Results)> = runs
        .iter()
        .filter_map(|run| Some((run, run.results.as_deref()?)))
        .collect();
    if proved.len() < runs.len() {
        return None;
    }
    // The reference is the run that most others agree with; among several, the one with the largest waves.
    let agreeing = |results: &Results| {
        let same = |others: &Results| {
            results.len() == others.len()
                && results
                    .iter()
                    .zip(others)
                    .all(|((a, (x, _)), (b, (y, _)))| (a, x) == (b, y))
        };
        proved.iter().filter(|(_, others)| same(others)).count()
    };
    let (sound, expected) = *proved
        .iter()
        .max_by_key(|(run, results)| (agreeing(results), run.waves.size))?;
    if proved
        .iter()
        .any(|(_, results)| !results.keys().eq(expected.keys()))
    {
        return None;
    }
    let seen = |results: &Results| {
        let differing = expected
            .iter()
            .zip(results)
            .find(|((_, (a, _)), (_, (b, _)))| a != b && terms.seen_to_differ(a, b, true, None, &[]));
        differing.map(|((cell, (expected, _)), (_, (got, thread)))| {
            (cell.clone(), expected.clone(), got.clone(), *thread)
        })
    };
    let breaking: Vec<&Run> = proved
        .iter()
        .filter(|(_, results)| seen(results).is_some())
        .map(|(run, _)| *run)
        .collect();
    let (cell, expected, got, thread) = seen(breaking.first()?.results.as_ref()?)?;
    let name = terms.name(cell.resource);
    let effect = WaveEffect::Differs {
        place: format!(
            "{name}{}{}",
            indices(&cell.index),
            part(shader, name, cell.component)
        ),
        thread: u32::from(thread),
        expected: terms.formula(shader, &expected, false),
        got: terms.formula(shader, &got, false),
    };
    of_runs(runs, &breaking, sound, effect)
}

/// The final content of each cell. `None` if it is not certain: a write has an unknown condition, or two
/// threads write different values to one cell.
fn results(terms: &Terms, writes: &[Write]) -> Option<Results> {
    let mut results = Results::new();
    for write in writes {
        let index: Option<Vec<u32>> = write
            .index
            .iter()
            .map(|index| terms.value_given(index, &[]))
            .collect();
        let part = terms.value_given(&write.part, &[])?;
        let cell = ResourceCell {
            resource: write.resource,
            component: write.component.wrapping_add(part),
            index: index?,
        };
        if write.guard != Value::TRUE {
            return None;
        }
        let known = results.insert(cell, (write.value.clone(), write.thread));
        if known.is_some_and(|(value, thread)| thread != write.thread && value != write.value) {
            return None;
        }
    }
    Some(results)
}
