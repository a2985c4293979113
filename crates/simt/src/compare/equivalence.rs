//! Do two kernels write the same, at every wave size and under several lane maps?
//!
//! Both kernels run on the same free atoms: the same buffer element, group index or uniform is the same atom in
//! both. They are equal for every input at that wave size and map (see [`crate::terms::value`]) if
//!
//! - neither races nor accesses an array out of bounds,
//! - each thread writes the same terms to the same places in the same order (or another thread does, where no
//!   one can observe which: [`pairs`]), and
//! - each loop of the second kernel that is not proved to end is a loop of the first.
//!
//! Terms that differ are evaluated on random inputs. Only a difference seen there is reported
//! ([`crate::compare::counterexample`]); everything else is "not proved".
//!
//! The same writes in the same order of each thread may still be ordered differently by barriers and fences.
//! That is compared too, where this group or another one can observe it ([`crate::exec::device_order`]).

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{ResourceKind, Scalar, Shader, Type};

use crate::compare::counterexample::difference;
use crate::compare::outcome::{Outcome, WaveRun};
use crate::compare::pairing::{are_ordered_alike, by_resource, pairs};
use crate::compare::trace::Trace;
use crate::exec::Write;
use crate::exec::atomic_history::are_served_alike;
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::facts::qualifiers::Qualifiers;
use crate::terms::affine::Affine;
use crate::terms::rounding::Doubt;
use crate::terms::value::{Op, Value};
use crate::terms::{Floats, Term, Terms};
use crate::waves::{LaneMap, Packing};

/// Compares two kernels under each of `maps`, at every wave size that both allow. The iterator makes each run
/// on demand. Without a common wave size, every run is "not proved". The result holds for inputs whose floats
/// satisfy `floats`.
pub fn compare_with<'a>(
    floats: Floats,
    first: impl Into<Kernel<'a>>,
    second: impl Into<Kernel<'a>>,
    maps: &'a [LaneMap],
) -> impl Iterator<Item = WaveRun> + 'a {
    let (first, second) = (first.into(), second.into());
    let allows = |kernel: Kernel<'_>, size: u32| kernel.wave_sizes().any(|allowed| allowed == size);
    let both = move |size: &u32| allows(first, *size) && allows(second, *size);
    let have_common = WAVE_SIZES.iter().any(both);
    let sizes = move || {
        WAVE_SIZES
            .into_iter()
            .filter(move |size| both(size) || !have_common)
    };
    let cases = maps
        .iter()
        .flat_map(move |map| sizes().map(move |wave_size| Packing { wave_size, map: *map }));
    cases.map(move |packing| {
        if have_common {
            return compare_at(floats, first, second, packing);
        }
        let why = "the two kernels have no wave size in common".to_owned();
        WaveRun::new(packing, Outcome::NotProved(why), false)
    })
}

/// Proves that a kernel is equal to itself for these floats, which is less work than a search for a difference.
/// A kernel with code that the run does not understand has unknown terms, and equals no kernel.
///
/// # Errors
///
/// Returns the reason why it is not proved.
pub fn proved_of_itself<'a>(floats: Floats, kernel: impl Into<Kernel<'a>>) -> Result<(), String> {
    let kernel = kernel.into();
    let declared = kernel.function().and_then(|function| function.wave_size);
    let packing = Packing {
        wave_size: declared.map_or(WAVE_SIZES[0], |(least, _)| least),
        map: LaneMap::Linear,
    };
    let mut terms = Terms::of(floats);
    let mut run = || {
        let trace = Trace::of(kernel, &mut terms, packing);
        trace.map_err(|outcome| outcome.reason())
    };
    let (first, second) = (run()?, run()?);
    let same = |a: &Write, b: &Write| {
        (a.resource, a.component, a.thread) == (b.resource, b.component, b.thread)
            && (&a.index, &a.part, &a.guard, &a.value) == (&b.index, &b.part, &b.guard, &b.value)
    };
    let mut writes = first.writes.iter().zip(&second.writes);
    if first.writes.len() == second.writes.len() && writes.all(|(a, b)| same(a, b)) {
        Ok(())
    } else {
        Err("the kernel contains code that shaderlint does not understand".to_owned())
    }
}

fn compare_at(floats: Floats, first: Kernel<'_>, second: Kernel<'_>, packing: Packing) -> WaveRun {
    let run =
        |outcome: Outcome, assumes_convergence: bool| WaveRun::new(packing, outcome, assumes_convergence);
    let mut terms = Terms::of(floats);
    terms.note_derivations();
    let expected = match Trace::of(first, &mut terms, packing) {
        Ok(trace) => trace,
        Err(outcome) => {
            let why = format!("in the first kernel: {}", outcome.reason());
            return WaveRun {
                is_first_wrong: matches!(outcome, Outcome::Races { .. } | Outcome::OutOfBounds { .. }),
                ..run(Outcome::NotProved(why), false)
            };
        }
    };
    let got = match Trace::of(second, &mut terms, packing) {
        Ok(trace) => trace,
        Err(outcome) => return run(outcome, expected.assumes_convergence),
    };
    let assumes_convergence = expected.assumes_convergence || got.assumes_convergence;
    // We assume that the first kernel ends. Then a loop of the second ends too if it is entered in the same way
    // with the same values.
    if !got.unended.is_subset(&expected.unended) {
        let why = "a loop that is not proved to end".to_owned();
        return run(Outcome::NotProved(why), assumes_convergence);
    }
    let outcome = compare_traces(&mut terms, [first.shader, second.shader], [&expected, &got], &[]);
    run(outcome, assumes_convergence)
}

/// Downgrades an outcome where `precise` or `snorm` may make equal terms differ. `values` are those that the
/// kernels leave.
fn as_written<'v>(
    terms: &Terms,
    shaders: [&Shader; 2],
    mut values: impl Iterator<Item = &'v Value>,
    outcome: Outcome,
) -> Outcome {
    let [own, others] = shaders.map(Qualifiers::of);
    let mut combines_floats = || {
        let mut seen = FxHashSet::default();
        values.any(|value| terms.combines_floats(value, &mut seen))
    };
    let is_precise = !own.precise.is_empty() || !others.precise.is_empty();
    let why = match outcome {
        Outcome::Reassociates | Outcome::RoundsBeyond(_)
            if is_precise && terms.doubted(Doubt::Order).is_some() =>
        {
            "the kernels combine floats in different orders despite `precise`"
        }
        // Elsewhere, the compiler may fuse two operations.
        Outcome::Equal | Outcome::Reassociates | Outcome::RoundsBeyond(_)
            if own.precise != others.precise && (!matches!(outcome, Outcome::Equal) || combines_floats()) =>
        {
            "the kernels combine floats, and `precise` marks different values in them"
        }
        Outcome::Differs(_) if own.has_norm || others.has_norm => {
            "shaderlint does not compare conversions to `unorm` or `snorm`"
        }
        outcome => return outcome,
    };
    Outcome::NotProved(why.to_owned())
}

/// Whether threads of one group may store different components of one texel. A "store on typed uav must write
/// to all four components of the UAV" (DXIL.rst, validation rules). So a compiler loads the texel and stores
/// all of it, and one thread may undo another one's store. The comparison, however, is of component writes.
fn parts_texels(shader: &Shader, terms: &Terms, writes: &[Write]) -> bool {
    by_resource(writes).iter().any(|(resource, writes)| {
        let name = terms.name(*resource);
        let width = texel_width(shader, name);
        // The type of a resource from a descriptor heap is unknown here. A call that is not understood has no
        // index.
        if width.is_none() && declared_type(shader, name).is_some() {
            return false;
        }
        let indexed = writes.iter().filter(|write| !write.index.is_empty());
        let indexed: Vec<(Vec<Option<Affine>>, &Write)> = indexed
            .map(|write| {
                (
                    write.index.iter().map(|index| terms.affine(index)).collect(),
                    *write,
                )
            })
            .collect();
        // Grouped by the indices that are known in all writes, and by thread.
        let is_known = |position: usize| {
            let mut all = indexed.iter().map(|(index, _)| index.get(position));
            all.all(|one| one.is_some_and(Option::is_some))
        };
        let mut stored: BTreeMap<Vec<Option<Affine>>, BTreeMap<u16, BTreeSet<u32>>> = BTreeMap::new();
        for (index, write) in &indexed {
            let index = index
                .iter()
                .enumerate()
                .filter(|(position, _)| is_known(*position));
            let index = index.map(|(_, index)| *index).collect();
            let components = stored.entry(index).or_default().entry(write.thread).or_default();
            if write.part == Value::Known(0) {
                components.insert(write.component);
            }
        }
        let is_whole =
            |components: &BTreeSet<u32>| width.is_some_and(|width| components.len() == usize::from(width));
        // It need not be known which resource of the heap this is.
        let is_followed = indexed.iter().all(|(index, _)| {
            let own = if width.is_some() {
                &index[..]
            } else {
                &index[index.len() - 1..]
            };
            own.iter().all(Option::is_some)
        });
        stored.values().any(|threads| {
            let is_one_thread = threads.len() == 1 && is_followed;
            !is_one_thread && !threads.values().all(is_whole)
        })
    })
}

/// The number of components of a resource's texels, if there are several and a store writes them together.
fn texel_width(shader: &Shader, name: &str) -> Option<u8> {
    let mut ty = declared_type(shader, name)?;
    while let Type::Array(element, _) = ty {
        ty = element;
    }
    match ty {
        Type::Resource(ResourceKind::RwBuffer | ResourceKind::RwTexture, Some(texel)) => match &**texel {
            Type::Vector(_, width) if *width > 1 => Some(*width),
            _ => None,
        },
        _ => None,
    }
}

fn declared_type<'s>(shader: &'s Shader, name: &str) -> Option<&'s Type> {
    let global = shader.globals.iter().find(|global| global.name == name)?;
    Some(&global.ty)
}

/// Whether the written component of the resource's elements is a float.
fn is_float(shader: &Shader, terms: &Terms, write: &Write) -> bool {
    let mut ty = declared_type(shader, terms.name(write.resource));
    while let Some(Type::Array(element, _) | Type::Resource(_, Some(element))) = ty {
        ty = Some(element);
    }
    let Some(ty) = ty else { return false };
    let mut scalars = Vec::new();
    scalars_of(shader, ty, &mut scalars);
    if write.part != Value::Known(0) || write.component as usize >= scalars.len() {
        return !scalars.is_empty() && scalars.iter().all(|scalar| scalar.is_float());
    }
    scalars[write.component as usize].is_float()
}

/// The scalar types of a type's components, in order; cut off if there are very many.
fn scalars_of(shader: &Shader, ty: &Type, scalars: &mut Vec<Scalar>) {
    const MOST: usize = 4096;
    match ty {
        Type::Struct(id) => {
            let fields = shader.structs.get(id.0 as usize).map_or(&[][..], |of| &of.fields);
            for field in fields {
                scalars_of(shader, &field.ty, scalars);
            }
        }
        Type::Array(element, length) => {
            for _ in 0..*length {
                if scalars.len() >= MOST {
                    return;
                }
                scalars_of(shader, element, scalars);
            }
        }
        ty => {
            let count = shader.components(ty).min(MOST.saturating_sub(scalars.len()));
            scalars.extend(ty.scalar().into_iter().cycle().take(count));
        }
    }
}

/// Whether two kernels write the same. Both also leave the values `left`.
pub(super) fn compare_traces(
    terms: &mut Terms,
    shaders: [&Shader; 2],
    traces: [&Trace; 2],
    left: &[Value],
) -> Outcome {
    if (shaders.iter().zip(traces)).any(|(shader, trace)| parts_texels(shader, terms, &trace.writes)) {
        let why = "a store to one component writes the whole texel, and other threads may write to it";
        return Outcome::NotProved(why.to_owned());
    }
    let [expected, got] = traces;
    let why = if !expected.waits_for_others.is_subset(&got.waits_for_others) {
        Some("one kernel lacks a loop that may wait for other groups")
    } else if got.has_unmarked_index && !expected.has_unmarked_index {
        Some("the resource index differs between threads, but lacks `NonUniformResourceIndex`")
    } else if got.assumes_convergence && !expected.assumes_convergence {
        Some("a barrier that some threads may not reach")
    } else {
        None
    };
    if let Some(why) = why {
        return Outcome::NotProved(why.to_owned());
    }
    let outcome = compare_writes(terms, shaders[0], traces, left);
    let values = traces[1].writes.iter().flat_map(Write::values).chain(left);
    as_written(terms, shaders, values, outcome)
}

fn compare_writes(terms: &mut Terms, shader: &Shader, traces: [&Trace; 2], left: &[Value]) -> Outcome {
    // The program order of each thread. A run records the writes of one statement thread by thread.
    let per_thread = |trace: &Trace| {
        let mut writes: Vec<Write> = trace.writes.clone();
        writes.sort_by_key(|write| write.thread);
        for write in &mut writes {
            // The sign of a zero is unknown.
            if let Some(word) = terms.known_float(&write.value).filter(|word| word << 1 != 0) {
                write.value = Value::Known(word);
            }
        }
        writes
    };
    let steps = traces.map(|trace| trace.steps.as_slice());
    let entered: Vec<Value> = traces[1].unended.iter().map(|(_, given)| given.clone()).collect();
    let [expected, got] = traces.map(per_thread);
    if let Some(pairs) = pairs(terms, traces, [&expected, &got]) {
        if !are_ordered_alike(terms, traces, &pairs) {
            return Outcome::NotProved(
                "the kernels order accesses to device memory by different barriers".to_owned(),
            );
        }
        let values = got.iter().flat_map(Write::values).chain(&entered).chain(left);
        if !are_served_alike(terms, steps, values) {
            let why = "other atomics may change the memory of an atomic whose result is used";
            return Outcome::NotProved(why.to_owned());
        }
        return rounded(terms, shader, &got, left);
    }
    let is_float = |write: &Write| is_float(shader, terms, write);
    match difference(terms, shader, &expected, &got, &is_float) {
        Some(difference) => Outcome::Differs(difference),
        None => Outcome::Undecided,
    }
}

/// Whether equal writes are equal bit for bit, or up to the order of float operations and what these flush.
/// Neither, if the doubt may show in more than the value of a float: in whether or where something is written,
/// or in bits that are not a float's.
///
/// Which of two floats that compare equal a minimum returns does not matter to a float: `docs/proved.md` states
/// this for zeros and NaNs.
///
/// A value stored in a resource may be loaded again. A load does not record how the value was made, so it
/// counts as doubted too. The uses of the values `left` are not visible here.
fn rounded(terms: &Terms, shader: &Shader, writes: &[Write], left: &[Value]) -> Outcome {
    let mut inexact = false;
    let left_out = terms.left_out();
    for doubt in Doubt::ALL {
        let Some(mut search) = terms.doubted(doubt) else {
            continue;
        };
        let stored = writes.iter().filter(|write| search.finds(&write.value));
        let stored = stored.map(|write| write.resource).collect();
        let mut search = search.through(stored);
        let mut smooth = FxHashSet::default();
        let mut shows = |write: &Write| {
            let mut place = write.index.iter().chain([&write.part, &write.guard]);
            place.any(|value| search.finds(value))
                || if is_float(shader, terms, write) {
                    search.finds_beyond_a_jump(&write.value, &mut smooth)
                } else {
                    search.finds(&write.value)
                }
        };
        let is_shown = writes.iter().any(&mut shows);
        let mut looked_at = left.iter().chain(&left_out);
        if is_shown || looked_at.any(|value| search.finds(value)) {
            return Outcome::RoundsBeyond(doubt);
        }
        // A new search, as the first one skips values it has seen.
        let again = terms.doubted(doubt).filter(|_| doubt != Doubt::Pick);
        inexact |= again.is_some_and(|mut search| writes.iter().any(|write| search.finds(&write.value)));
    }
    if inexact {
        Outcome::Reassociates
    } else {
        Outcome::Equal
    }
}

impl Terms {
    /// Whether the value is a float sum or product of several parts, or derives from one. Skips the atoms in
    /// `seen`, which do not.
    fn combines_floats(&self, value: &Value, seen: &mut FxHashSet<u32>) -> bool {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            let operator = match value {
                Value::Run { operator, start, end } if end - start > 1 => Some(*operator),
                Value::Sum(sum) => Some(sum.operator),
                _ => None,
            };
            if operator.is_some_and(|operator| !operator.is_exact()) {
                return true;
            }
            for atom in value.atoms() {
                if seen.insert(atom)
                    && let Some(Term::Apply(op, arguments)) = self.term(atom)
                    && !matches!(op, Op::Load { .. } | Op::VolatileLoad { .. })
                {
                    waiting.extend(arguments);
                }
            }
        }
        false
    }
}
