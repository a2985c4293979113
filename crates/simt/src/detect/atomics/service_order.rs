//! Where the order shows in which the device serves atomics and schedules threads.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{FunctionId, GlobalId, Shader};

use crate::detect::Detectors;
use crate::exec::transfer::resource_name;
use crate::exec::{BUDGET, Machine, RunMode};
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::terms::affine::Affine;
use crate::terms::column::Column;
use crate::terms::source::Source;
use crate::terms::{Symbol, Terms};
use crate::waves::{LaneMap, Waves};

/// A run's writes to resources, as far as the order of atomics affects them.
#[derive(Default)]
pub(crate) struct Order {
    written: BTreeSet<Symbol>,
    /// Resources with a store that depends on an atomic's result, with `shared_stores` as of the first such
    /// store.
    unordered: BTreeMap<Symbol, u32>,
    /// Resources for which a counter may have started anew between two such stores.
    overwritten: BTreeSet<Symbol>,
    /// The number of plain stores to groupshared memory so far.
    shared_stores: u32,
    /// Such a store went to groupshared memory. What threads read there may depend on the order too.
    is_spread: bool,
    /// Resources where the stored value, or whether the store runs, depends on an atomic's result, not only the
    /// address.
    chosen: BTreeSet<Symbol>,
    places: BTreeMap<Symbol, ElementOwners>,
    /// The atomics on groupshared memory, by array.
    atomics: BTreeMap<GlobalId, Served>,
    /// Some atomic returned a value, and values derived from it do not record which atomic it was.
    is_untold: bool,
}

/// Which threads access which elements of a resource.
#[derive(Default)]
struct ElementOwners {
    owners: BTreeMap<Vec<Affine>, u16>,
    /// Several threads access one element, or it is unknown which threads do.
    is_shared: bool,
    is_stored: bool,
    is_loaded: bool,
    atomics: Option<Served>,
}

/// The maximum number of elements of a resource to tell apart.
const MAX_PLACES: usize = 1 << 16;

/// What the atomics on one memory do with its cells.
#[derive(Clone, PartialEq, Eq)]
enum Served {
    /// All atomics use the operation of this name, which combines its operand with the cell. They leave the
    /// same result in every order.
    Alike(String),
    Unlike,
}

impl Served {
    /// Adds one more atomic. `combined` is as for [`crate::exec::Observer::atomic_on`].
    fn note(known: Option<Served>, combined: Option<&str>) -> Served {
        let one = combined.map_or(Served::Unlike, |name| Served::Alike(name.to_owned()));
        match known {
            Some(known) if known != one => Served::Unlike,
            _ => one,
        }
    }
}

/// The names of resources whose contents differ between runs of an entry point, as nothing fixes which thread
/// an atomic serves first. Over-approximates: it may name resources that do not differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unordered {
    /// Their elements may come in another order or at other indices. They should still be equal as sets of
    /// elements.
    pub as_sets: BTreeSet<String>,
    /// A thread may take an index where another thread has stored before, e.g. if a counter restarts in each
    /// iteration of a loop. Then it is open too which of the earlier elements remain, so there is nothing to
    /// compare.
    pub overwritten: BTreeSet<String>,
    /// Their contents may depend on the order of threads or atomics, even as a set. So different elements in
    /// two runs do not show that the kernels may leave different results. `None` if this may apply to every
    /// resource.
    pub contested: Option<BTreeSet<String>>,
}

/// See [`Unordered`].
#[must_use]
pub fn unordered(shader: &Shader, entry: FunctionId) -> Unordered {
    let kernel = Kernel::new(shader, entry);
    let Some(group) = kernel.group() else {
        return Unordered::default();
    };
    let mut terms = Terms::default();
    let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
    let Some(mut machine) = Machine::<Detectors>::new(kernel, &mut terms, waves, RunMode::Atomics, BUDGET)
    else {
        return Unordered::default();
    };
    machine.observer = Detectors::of_atomics();
    let stopped = machine.run();
    let is_followed = stopped.is_none() && !machine.is_exhausted();
    let claims = machine.observer.contention.take().unwrap_or_default();
    let is_followed =
        is_followed && !machine.approximation.misses && !machine.state.ordering.observed.unfollowed;
    let order = claims.order;
    let named = |symbols: BTreeSet<Symbol>| -> BTreeSet<String> {
        let names = symbols
            .into_iter()
            .map(|name| machine.terms.name(name).to_owned());
        names.collect()
    };
    let is_somewhere = order
        .written
        .iter()
        .any(|name| machine.terms.is_any_resource(*name));
    let contested = order
        .contested()
        .filter(|_| is_followed && !is_somewhere)
        .map(&named);
    let mut as_sets = if order.is_spread {
        order.written
    } else {
        order.unordered.into_keys().collect()
    };
    as_sets.retain(|name| !order.overwritten.contains(name));
    Unordered {
        as_sets: named(as_sets),
        overwritten: named(order.overwritten),
        contested,
    }
}

impl Order {
    /// See [`Unordered::contested`]. A read of what another thread changes may affect anything. Without one,
    /// each place holds what one thread left there, or the result of atomics of one kind.
    fn contested(&self) -> Option<BTreeSet<Symbol>> {
        let is_unlike = |atomics: &Option<Served>| *atomics == Some(Served::Unlike);
        let mut contested = self.chosen.clone();
        for (resource, places) in &self.places {
            let is_served = places.atomics.is_some();
            let is_shared = places.is_shared || is_served;
            if places.is_loaded && is_shared && (places.is_stored || is_served) {
                return None;
            }
            if places.is_stored && is_shared || is_unlike(&places.atomics) {
                contested.insert(*resource);
            }
        }
        let mut of_group = self.atomics.values();
        let is_open = self.is_spread || self.is_untold || of_group.any(|atomics| *atomics == Served::Unlike);
        (!is_open).then_some(contested)
    }
}

impl Machine<'_, Detectors> {
    /// Called for an append: the device chooses the index.
    pub fn note_appended(&mut self, resource: GlobalId) {
        let name = self.terms.symbol(resource_name(self.shader, resource));
        if let Some(claims) = &mut self.observer.contention {
            claims.order.unordered.insert(name, u32::MAX);
        }
    }

    /// Notes the provenance of an atomic's result. If the atomic may use several cells, or there are too many
    /// atomics to tell apart, values derived from the result carry no mark.
    pub fn note_found(&mut self, source: Source) {
        if let Some(claims) = &mut self.observer.contention {
            claims.order.is_untold |= source.mark().bit() == 0;
        }
    }

    /// Notes a plain load or store of a resource.
    pub fn note_access(&mut self, resource: GlobalId, index: &[Column], part: &Column, is_store: bool) {
        if self.observer.contention.is_none() {
            return;
        }
        let name = self.terms.symbol(resource_name(self.shader, resource));
        let active = self.state.active;
        let all = || index.iter().chain([part]);
        let place = |thread: usize| -> Option<Vec<Affine>> {
            all().map(|column| self.terms.affine(column.at(thread))).collect()
        };
        // An index that an atomic gave to the thread belongs to it: [`Machine::note_order`] checks whether
        // another thread gets it too.
        let is_given = |thread: &usize| {
            let mut columns = all();
            is_store && columns.any(|column| self.terms.taint(column.at(*thread)).slots != 0)
        };
        let places = active.threads().filter(|thread| !is_given(thread));
        let places: Vec<_> = places.map(|thread| (place(thread), thread as u16)).collect();
        let Some(claims) = &mut self.observer.contention else {
            return;
        };
        let known = claims.order.places.entry(name).or_default();
        known.is_stored |= is_store;
        known.is_loaded |= !is_store;
        for (place, thread) in places {
            let is_own = place.filter(|_| known.owners.len() < MAX_PLACES);
            let is_own = is_own.is_some_and(|place| *known.owners.entry(place).or_insert(thread) == thread);
            known.is_shared |= !is_own;
        }
    }

    /// Notes an atomic on a resource or on a groupshared array.
    pub fn note_atomic(&mut self, memory: GlobalId, is_on_device: bool, combined: Option<&str>) {
        let resource = self.terms.symbol(resource_name(self.shader, memory));
        let Some(claims) = &mut self.observer.contention else {
            return;
        };
        if is_on_device {
            let known = claims.order.places.entry(resource).or_default();
            known.atomics = Some(Served::note(known.atomics.take(), combined));
        } else {
            let known = claims.order.atomics.remove(&memory);
            claims.order.atomics.insert(memory, Served::note(known, combined));
        }
    }

    /// Notes a store of a value at these indices to a resource, or to groupshared memory if `resource` is
    /// `None`.
    pub fn note_order<'c>(
        &mut self,
        resource: Option<Symbol>,
        places: impl Iterator<Item = &'c Column>,
        value: &Column,
    ) {
        if self.observer.contention.is_none() {
            return;
        }
        let (active, guard) = (self.state.active, self.state.guard.clone());
        let depends = |column: &Column| {
            let mut threads = active.threads();
            threads.any(|thread| self.terms.taint(column.at(thread)).marks != 0)
        };
        let is_chosen = depends(&guard) || depends(value);
        let is_open = is_chosen || { places }.any(depends);
        let Some(order) = self.observer.contention.as_mut().map(|claims| &mut claims.order) else {
            return;
        };
        if let Some(resource) = resource {
            order.written.insert(resource);
            if is_chosen {
                order.chosen.insert(resource);
            }
            if is_open {
                let first = *order.unordered.entry(resource).or_insert(order.shared_stores);
                if first < order.shared_stores {
                    order.overwritten.insert(resource);
                }
            }
        } else {
            order.is_spread |= is_open;
            order.shared_stores += 1;
        }
    }
}
