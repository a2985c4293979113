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
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{ResourceKind, Scalar, Shader, Type};

use crate::compare::counterexample::{Difference, difference};
use crate::detect::Detectors;
use crate::exec::atomic_history::{Steps, are_served_alike};
use crate::exec::device_order::{Event, Observed, keeps_order};
use crate::exec::{BUDGET, Machine, RunMode, Write};
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::facts::naming_heuristics::is_of_name;
use crate::facts::paths::has_results;
use crate::finding::{Race, Stop, element_text};
use crate::terms::affine::Affine;
use crate::terms::operator::Operator;
use crate::terms::rounding::Doubt;
use crate::terms::value::{Op, Value};
use crate::terms::{Floats, Symbol, Term, Terms};
use crate::waves::{LaneMap, Packing};

/// What two kernels do at one wave size under one lane map.
#[derive(Clone, Debug)]
pub struct WaveRun {
    pub wave_size: u32,
    pub map: LaneMap,
    pub outcome: Outcome,
    /// One of the kernels assumes that all threads reach its barriers. The outcome holds for inputs for which
    /// they do.
    pub assumes_convergence: bool,
    /// The first kernel races or leaves an array, so it has no results to compare with.
    pub is_first_wrong: bool,
}

impl WaveRun {
    pub(crate) fn new(packing: Packing, outcome: Outcome, assumes_convergence: bool) -> WaveRun {
        WaveRun {
            wave_size: packing.wave_size,
            map: packing.map,
            outcome,
            assumes_convergence,
            is_first_wrong: false,
        }
    }

    pub(crate) fn packing(&self) -> Packing {
        Packing {
            wave_size: self.wave_size,
            map: self.map,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Outcome {
    /// Equal bit for bit, for every input, if each float operation is made as written: both make the same ones.
    Equal,
    /// The same float sums or products, in another order.
    Reassociates,
    /// Equal for numbers that no operation rounds or flushes. The effect of rounding or flushing may show in
    /// more than the value of a float.
    RoundsBeyond(Doubt),
    Differs(Difference),
    /// The second kernel reads or writes outside a groupshared array.
    OutOfBounds {
        is_write: bool,
        array: String,
        length: u32,
        index: i32,
        thread: u32,
    },
    /// The second kernel races.
    Races {
        /// As [`element_text`] formats it.
        element: String,
        race: Box<Race>,
    },
    /// The two write different terms, and no inputs are known for which the kernels differ.
    Undecided,
    NotProved(String),
}

impl Outcome {
    #[must_use]
    pub fn is_equal(&self) -> bool {
        matches!(self, Outcome::Equal | Outcome::Reassociates)
    }

    /// Why nothing is proved. Empty for a difference, which has a place and values of its own.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Outcome::OutOfBounds {
                is_write,
                array,
                length,
                index,
                thread,
            } => {
                let accesses = if *is_write { "writes" } else { "reads" };
                format!("thread {thread} {accesses} {array}[{index}], which has {length} elements")
            }
            Outcome::Races { element, race } => {
                format!(
                    "threads {} and {} race on {element}",
                    race.first.thread, race.second.thread
                )
            }
            Outcome::RoundsBeyond(doubt) => doubt.reason().to_owned(),
            Outcome::Undecided => {
                "the kernels write different terms, but no inputs tell them apart".to_owned()
            }
            Outcome::NotProved(why) => why.clone(),
            Outcome::Equal | Outcome::Reassociates | Outcome::Differs(_) => String::new(),
        }
    }
}

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
        let trace = trace(kernel, &mut terms, packing);
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

/// What a run of a kernel did.
pub(crate) struct Trace {
    writes: Vec<Write>,
    /// Loops that are not proved to end.
    pub unended: Rc<FxHashSet<(Symbol, Value)>>,
    /// Those of them that may wait for other groups.
    pub waits_for_others: Rc<FxHashSet<(Symbol, Value)>>,
    /// An index that differs between threads selects a resource, without `NonUniformResourceIndex`.
    pub has_unmarked_index: bool,
    /// What the kernel reads from writable device memory.
    observed: Observed,
    /// Other groups may see its writes.
    is_published: bool,
    /// Its barriers and fences.
    events: Rc<Vec<Event>>,
    /// Its atomics on groupshared memory.
    steps: Rc<Vec<Steps>>,
    pub assumes_convergence: bool,
}

fn compare_at(floats: Floats, first: Kernel<'_>, second: Kernel<'_>, packing: Packing) -> WaveRun {
    let run =
        |outcome: Outcome, assumes_convergence: bool| WaveRun::new(packing, outcome, assumes_convergence);
    let mut terms = Terms::of(floats);
    terms.note_derivations();
    let expected = match trace(first, &mut terms, packing) {
        Ok(trace) => trace,
        Err(outcome) => {
            let why = format!("in the first kernel: {}", outcome.reason());
            return WaveRun {
                is_first_wrong: matches!(outcome, Outcome::Races { .. } | Outcome::OutOfBounds { .. }),
                ..run(Outcome::NotProved(why), false)
            };
        }
    };
    let got = match trace(second, &mut terms, packing) {
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
    let [words, other_words] = shaders.map(Words::of);
    let mut combines_floats = || {
        let mut seen = FxHashSet::default();
        values.any(|value| terms.combines_floats(value, &mut seen))
    };
    let is_precise = !words.precise.is_empty() || !other_words.precise.is_empty();
    let why = match outcome {
        Outcome::Reassociates | Outcome::RoundsBeyond(_)
            if is_precise && terms.doubted(Doubt::Order).is_some() =>
        {
            "the kernels combine floats in different orders despite `precise`"
        }
        // Elsewhere, the compiler may fuse two operations.
        Outcome::Equal | Outcome::Reassociates | Outcome::RoundsBeyond(_)
            if words.precise != other_words.precise
                && (!matches!(outcome, Outcome::Equal) || combines_floats()) =>
        {
            "the kernels combine floats, and `precise` marks different values in them"
        }
        Outcome::Differs(_) if words.has_norm || other_words.has_norm => {
            "shaderlint does not compare conversions to `unorm` or `snorm`"
        }
        outcome => return outcome,
    };
    Outcome::NotProved(why.to_owned())
}

/// Words in a shader's text that change the meaning of floats or resources.
struct Words {
    /// The text after each `precise`, to the end of its statement, whatever variable it declares.
    precise: Vec<Vec<u8>>,
    /// The text contains `unorm` or `snorm`.
    has_norm: bool,
    /// The text contains `globallycoherent`, or a macro that may stand for it.
    is_coherent: bool,
}

impl Words {
    fn of(shader: &Shader) -> Arc<Words> {
        shader.once(|shader| {
            let text = &shader.text;
            let mut words = Words {
                precise: Vec::new(),
                has_norm: false,
                is_coherent: shader.globals.iter().any(|global| global.coherent),
            };
            let mut end = 0;
            for word in text.split(|byte| !is_of_name(*byte)) {
                end += word.len();
                match word {
                    b"precise" => {
                        let behind = text.get(end..).unwrap_or_default();
                        let statement = behind.split(|byte| *byte == b';').next().unwrap_or_default();
                        let letters = statement.iter().filter(|byte| !byte.is_ascii_whitespace());
                        words.precise.push(letters.copied().collect());
                    }
                    b"unorm" | b"snorm" => words.has_norm = true,
                    // Also on a parameter or a variable.
                    b"globallycoherent" => words.is_coherent = true,
                    _ => {}
                }
                end += 1;
            }
            words
        })
    }
}

fn trace(kernel: Kernel<'_>, terms: &mut Terms, packing: Packing) -> Result<Trace, Outcome> {
    let unfit = || Outcome::NotProved("the thread group has an unsupported size".to_owned());
    let group = kernel.group().ok_or_else(unfit)?;
    if has_results(kernel) {
        let why = "shaderlint does not compare what the kernel's parameters pass to later stages".to_owned();
        return Err(Outcome::NotProved(why));
    }
    let machine = Machine::<Detectors>::new(kernel, terms, packing.of(group), RunMode::Comparison, BUDGET);
    let mut machine = machine.ok_or_else(unfit)?;
    let stopped = machine.run();
    finished(kernel.shader, &mut machine, stopped)
}

/// The trace of a run that has ended or stopped.
pub(crate) fn finished(
    shader: &Shader,
    machine: &mut Machine<'_, Detectors>,
    stopped: Option<Stop>,
) -> Result<Trace, Outcome> {
    if let Some(access) = machine.report.out_of_bounds.first() {
        let array = &shader.globals[access.array.0 as usize];
        let length = match &array.ty {
            Type::Array(_, length) => *length,
            _ => 1,
        };
        return Err(Outcome::OutOfBounds {
            is_write: access.access.is_write,
            array: array.name.clone(),
            length,
            index: access.index,
            thread: access.access.thread,
        });
    }
    if let Some(race) = machine.report.races.first() {
        return Err(Outcome::Races {
            element: element_text(shader, race.array, race.index.into()),
            race: Box::new(race.clone()),
        });
    }
    if let Some(Stop { reason, .. }) = stopped {
        return Err(Outcome::NotProved(reason));
    }
    if let Some(name) = machine.report.open_name {
        let name = String::from_utf8_lossy(name.slice(&shader.text));
        let why = format!("the meaning of `{}` is unknown", name.trim());
        return Err(Outcome::NotProved(why));
    }
    if machine.report.unproved {
        return Err(Outcome::NotProved(
            "shaderlint cannot follow all accesses to groupshared memory, so some may race".to_owned(),
        ));
    }
    // A thread at a barrier that others never reach may wait forever or not: HLSL leaves it undefined.
    let assumes_convergence =
        machine.state.convergence.is_conditional() || !machine.report.divergences.is_empty();
    let unended = machine.state.loops.unended.clone();
    let waits_for_others = machine.state.loops.waits_for_others.clone();
    let has_unmarked_index = machine.report.has_unmarked_index;
    let observed = machine.state.ordering.observed.clone();
    let is_published = machine.state.publishes || Words::of(shader).is_coherent;
    let events = machine.state.ordering.events().clone();
    let steps = machine.state.atomics.steps.clone();
    let mut writes = machine.state.writes.to_vec();
    by_address(shader, machine.terms, &mut writes);
    Ok(Trace {
        writes,
        unended,
        waits_for_others,
        has_unmarked_index,
        observed,
        is_published,
        events,
        steps,
        assumes_convergence,
    })
}

/// In byte-address buffers, identifies each word by its address, whichever part of a store it was. Values of
/// other types are not split into components ([`crate::facts::layout::is_of_words`]).
pub(crate) fn by_address(shader: &Shader, terms: &mut Terms, writes: &mut [Write]) {
    let bytes: Vec<Symbol> = (shader.globals.iter())
        .filter(|global| is_by_address(&global.ty))
        .map(|global| terms.symbol(&global.name))
        .collect();
    for write in writes {
        let is_word = write.component != 0 && write.component != u32::MAX;
        if is_word
            && bytes.contains(&write.resource)
            && let [.., address] = &mut *write.index
        {
            let offset = Value::Known(4u32.wrapping_mul(write.component));
            *address = terms.combine(Operator::Add, address, &offset);
            write.component = 0;
        }
    }
}

fn is_by_address(ty: &Type) -> bool {
    match ty {
        Type::Resource(kind, _) => *kind == ResourceKind::RwByteAddressBuffer,
        Type::Array(element, _) => is_by_address(element),
        _ => false,
    }
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

/// The writes to each resource, in order.
fn by_resource(writes: &[Write]) -> BTreeMap<Symbol, Vec<&Write>> {
    let mut of_resources: BTreeMap<Symbol, Vec<&Write>> = BTreeMap::new();
    for write in writes {
        of_resources.entry(write.resource).or_default().push(write);
    }
    of_resources
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
pub(crate) fn compare_traces(
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

/// Whether the second kernel orders equal writes as the first does, as far as anyone can observe.
///
/// - If a kernel reads writable memory, each write must come after the same barriers. Together with the history
///   of each load (see [`crate::terms::history`]), that fixes the order of all accesses.
/// - Writes that other groups may see must be ordered at least as strongly as in the first kernel
///   ([`crate::exec::device_order`]).
/// - Otherwise the order shows only where several threads write to one place. So the writes to each resource
///   must be ordered as strongly, or each of its places must have only one writing thread.
fn are_ordered_alike(terms: &Terms, traces: [&Trace; 2], pairs: &[(&Write, &Write)]) -> bool {
    let are_observed = traces.iter().any(|trace| !trace.observed.is_none());
    // Neither kernel reads there what another thread writes.
    let is_moved = |(a, b): &(&Write, &Write)| a.thread != b.thread;
    let kept = || pairs.iter().filter(|pair| !is_moved(pair));
    if are_observed && kept().any(|(a, b)| a.ordered.passed != b.ordered.passed) {
        return false;
    }
    let events = traces.map(|trace| trace.events.as_slice());
    let keep_order = |writes: &[(&Write, &Write)]| {
        let places = writes.iter().map(|(a, b)| (&a.ordered, &b.ordered));
        keeps_order(terms, events, places)
    };
    let mut of_resources: BTreeMap<Symbol, Vec<(&Write, &Write)>> = BTreeMap::new();
    for (a, b) in kept() {
        of_resources.entry(a.resource).or_default().push((a, b));
    }
    if traces.iter().any(|trace| trace.is_published)
        || of_resources.keys().any(|name| terms.is_any_resource(*name))
    {
        return keep_order(&kept().copied().collect::<Vec<_>>());
    }
    of_resources.values().all(|writes| {
        keep_order(writes) || {
            let writes: Vec<&Write> = writes.iter().map(|(a, _)| *a).collect();
            places(terms, &writes).is_some_and(|places| {
                let mut owners = BTreeMap::new();
                let mut owned = places.into_iter().zip(writes);
                owned.all(|(place, write)| *owners.entry(place).or_insert(write.thread) == write.thread)
            })
        }
    })
}

/// Pairs each write of the first kernel with the equal write of the second; `None` if the writes differ. Each
/// thread's writes are in program order, one thread after the other.
///
/// The writing thread must be the same in both, unless no one can observe it. That is so if neither kernel
/// reads the resource nor lets other groups know about its writes: then only the final contents matter. They
/// follow from what is written to each place, provided that a group writes no place twice: then the writes have
/// no order, whichever threads make them. If two groups write to one place, either may be the last, in both
/// kernels.
fn pairs<'w>(
    terms: &Terms,
    traces: [&Trace; 2],
    writes: [&'w [Write]; 2],
) -> Option<Vec<(&'w Write, &'w Write)>> {
    let [expected, got] = writes.map(by_resource);
    if writes[0].len() != writes[1].len() || !expected.keys().eq(got.keys()) {
        return None;
    }
    let are_hidden = !traces.iter().any(|trace| trace.is_published)
        && !expected.keys().any(|resource| terms.is_any_resource(*resource));
    let is_same = |(a, b): &(&Write, &Write)| {
        (a.component, &a.index, &a.part) == (b.component, &b.index, &b.part)
            && (&a.guard, &a.value) == (&b.guard, &b.value)
    };
    let mut pairs = Vec::with_capacity(writes[0].len());
    for ((resource, expected), (_, got)) in expected.into_iter().zip(got) {
        let of_threads = || expected.iter().copied().zip(got.iter().copied());
        if expected.len() == got.len()
            && of_threads().all(|pair| pair.0.thread == pair.1.thread && is_same(&pair))
        {
            pairs.extend(of_threads());
            continue;
        }
        let is_unseen = are_hidden && traces.iter().all(|trace| trace.observed.is_none_of(resource));
        let by_place = |writes: &[&'w Write]| {
            let count = writes.len();
            let places = places(terms, writes)?;
            let by_place: BTreeMap<_, &Write> = places.into_iter().zip(writes.iter().copied()).collect();
            (by_place.len() == count).then(|| by_place.into_values().collect::<Vec<_>>())
        };
        let [expected, got] = [by_place(&expected)?, by_place(&got)?];
        let moved: Vec<(&Write, &Write)> = expected.into_iter().zip(got).collect();
        if !is_unseen || !moved.iter().all(is_same) {
            return None;
        }
        pairs.extend(moved);
    }
    Some(pairs)
}

/// A place in a resource: the component, and the constant part of each index, whose unknown part is the same in
/// all writes.
type CellOffset = (u32, Vec<u32>);

/// The places that the writes go to, by the constant part of each index. `None` unless all writes have the same
/// unknown part in each index.
fn places(terms: &Terms, writes: &[&Write]) -> Option<Vec<CellOffset>> {
    let mut unknown: Option<Vec<Option<(u8, u32)>>> = None;
    let place = |write: &&Write| {
        if write.component == u32::MAX || write.part != Value::Known(0) {
            return None;
        }
        let affine: Option<Vec<Affine>> = write.index.iter().map(|index| terms.affine(index)).collect();
        let affine = affine?;
        let of_group: Vec<Option<(u8, u32)>> = affine.iter().map(|index| index.of_group).collect();
        let is_one = *unknown.get_or_insert_with(|| of_group.clone()) == of_group;
        let numbers = affine.iter().map(|index| index.constant).collect();
        is_one.then_some((write.component, numbers))
    };
    writes.iter().map(place).collect()
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
