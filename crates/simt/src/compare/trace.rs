//! What a run of a kernel does, as far as others can observe it.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{ResourceKind, Shader, Type};

use crate::compare::outcome::Outcome;
use crate::detect::Detectors;
use crate::exec::atomic_history::Steps;
use crate::exec::device_order::{Event, Observed};
use crate::exec::{BUDGET, Machine, RunMode, Write};
use crate::facts::kernel::Kernel;
use crate::facts::paths::has_results;
use crate::facts::qualifiers::Qualifiers;
use crate::finding::{Stop, element_text};
use crate::terms::operator::Operator;
use crate::terms::value::Value;
use crate::terms::{Symbol, Terms};
use crate::waves::Packing;

/// What a run of a kernel did.
pub(super) struct Trace {
    pub writes: Vec<Write>,
    /// Loops that are not proved to end.
    pub unended: Rc<FxHashSet<(Symbol, Value)>>,
    /// Those of them that may wait for other groups.
    pub waits_for_others: Rc<FxHashSet<(Symbol, Value)>>,
    /// An index that differs between threads selects a resource, without `NonUniformResourceIndex`.
    pub has_unmarked_index: bool,
    /// What the kernel reads from writable device memory.
    pub observed: Observed,
    /// Other groups may see its writes.
    pub is_published: bool,
    /// Its barriers and fences.
    pub events: Rc<Vec<Event>>,
    /// Its atomics on groupshared memory.
    pub steps: Rc<Vec<Steps>>,
    pub assumes_convergence: bool,
}

impl Trace {
    /// Runs a kernel.
    pub fn of(kernel: Kernel<'_>, terms: &mut Terms, packing: Packing) -> Result<Trace, Outcome> {
        let unfit = || Outcome::NotProved("the thread group has an unsupported size".to_owned());
        let group = kernel.group().ok_or_else(unfit)?;
        if has_results(kernel) {
            let why =
                "shaderlint does not compare what the kernel's parameters pass to later stages".to_owned();
            return Err(Outcome::NotProved(why));
        }
        let machine =
            Machine::<Detectors>::new(kernel, terms, packing.of(group), RunMode::Comparison, BUDGET);
        let mut machine = machine.ok_or_else(unfit)?;
        let stopped = machine.run();
        Trace::of_run(kernel.shader, &mut machine, stopped)
    }

    /// The trace of a run that has ended or stopped.
    pub fn of_run(
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
        let is_published = machine.state.publishes || Qualifiers::of(shader).is_coherent;
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
}

/// In byte-address buffers, identifies each word by its address, whichever part of a store it was. Values of
/// other types are not split into components ([`crate::facts::layout::is_of_words`]).
pub(super) fn by_address(shader: &Shader, terms: &mut Terms, writes: &mut [Write]) {
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
