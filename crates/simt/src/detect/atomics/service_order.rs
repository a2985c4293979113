//! What the order in which atomics are served, and threads go on, shows in.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{FunctionId, GlobalId, Shader};

use crate::detect::Detectors;
use crate::exec::transfer::resource_name;
use crate::exec::{BUDGET, Machine};
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::terms::affine::Affine;
use crate::terms::column::Column;
use crate::terms::source::Source;
use crate::terms::{Symbol, Terms};
use crate::waves::{LaneMap, Waves};

/// The resources a run has written to, as far as atomics are concerned.
#[derive(Default)]
pub(crate) struct Order {
    written: BTreeSet<Symbol>,
    /// Where something depends on what an atomic found; with `shared_stores` as it was at the first such store.
    unordered: BTreeMap<Symbol, u32>,
    /// Where a counter may have begun anew between two such stores.
    overwritten: BTreeSet<Symbol>,
    /// Plain stores to groupshared memory up to now.
    shared_stores: u32,
    /// Groupshared memory is written at such places: what is read there is anybody's.
    is_spread: bool,
    /// What is stored, or whether, depends on what an atomic found: not its place alone.
    chosen: BTreeSet<Symbol>,
    places: BTreeMap<Symbol, Places>,
    /// By array: the atomics on groupshared memory.
    atomics: BTreeMap<GlobalId, Served>,
    /// An atomic found something, and the values made of it do not say which atomic that was.
    is_untold: bool,
}

/// Which threads access which places of a resource.
#[derive(Default)]
struct Places {
    owners: BTreeMap<Vec<Affine>, u16>,
    /// Several threads access one place, or it is not known which do.
    is_shared: bool,
    is_stored: bool,
    is_loaded: bool,
    atomics: Option<Served>,
}

/// Places of a resource that are told apart.
const MAX_PLACES: usize = 1 << 16;

/// What atomics do with the cells of one memory.
#[derive(Clone, PartialEq, Eq)]
enum Served {
    /// All combine their operands by the operation of this name: in whichever order, they leave the same.
    Alike(String),
    Unlike,
}

impl Served {
    fn note(known: Option<Served>, name: &str) -> Served {
        let combines = !name.starts_with("InterlockedExchange") && !name.starts_with("InterlockedCompare");
        match known {
            Some(known) if known != Served::Alike(name.to_owned()) => Served::Unlike,
            _ if combines => Served::Alike(name.to_owned()),
            _ => Served::Unlike,
        }
    }
}

/// The names of resources whose contents differ from one run of an entry point to the next, as nothing fixes which thread an
/// atomic serves first. It may name more resources than do differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unordered {
    /// Their elements come in another order or at other places. Compared as sets of elements they should still be the same.
    pub as_sets: BTreeSet<String>,
    /// A thread may take a place that another one has stored to before, as where a counter begins anew in each pass of a loop:
    /// which of the earlier elements stay is open, too. There is nothing to compare.
    pub overwritten: BTreeSet<String>,
    /// What is left there may be something else in another order of the threads or of the atomics, even as a set: that two
    /// runs leave unlike elements shows no difference of what they may leave. `None` if that may hold of any.
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
    let Some(mut machine) = Machine::<Detectors>::new(kernel, &mut terms, waves, BUDGET) else {
        return Unordered::default();
    };
    machine.look_for_claims();
    let stopped = machine.run();
    let is_followed = stopped.is_none() && !machine.is_exhausted();
    let claims = machine.observer.claims.take().unwrap_or_default();
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
    /// See [`Unordered::contested`]. Where something is read that another thread changes, anything may be made of it. Else
    /// what is left in a place is one thread's, or what atomics of one kind come to.
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
    /// Elements are put where the device says.
    pub fn note_appended(&mut self, resource: GlobalId) {
        let name = self.terms.symbol(resource_name(self.shader, resource));
        if let Some(claims) = &mut self.observer.claims {
            claims.order.unordered.insert(name, u32::MAX);
        }
    }

    /// Notes that something is found by an atomic: on one of several cells, or one too many to be told apart, what it is made
    /// into does not bear its mark.
    pub fn note_found(&mut self, source: Source) {
        let is_told = matches!(source, Source::Counter(mark) | Source::Other(mark) if mark.bit() != 0);
        if let Some(claims) = &mut self.observer.claims {
            claims.order.is_untold |= !is_told;
        }
    }

    /// Notes an access of a resource that is no atomic: a load, or a store.
    pub fn note_access(&mut self, resource: GlobalId, index: &[Column], part: &Column, is_store: bool) {
        if self.observer.claims.is_none() {
            return;
        }
        let name = self.terms.symbol(resource_name(self.shader, resource));
        let active = self.state.active;
        let all = || index.iter().chain([part]);
        let place = |thread: usize| -> Option<Vec<Affine>> {
            all().map(|column| self.terms.affine(column.at(thread))).collect()
        };
        // A place that an atomic gave to the thread is its own: [`Machine::note_order`] asks whether it is given again.
        let is_given = |thread: &usize| {
            let mut columns = all();
            is_store && columns.any(|column| self.terms.facts(column.at(*thread)).slots != 0)
        };
        let places = active.threads().filter(|thread| !is_given(thread));
        let places: Vec<_> = places.map(|thread| (place(thread), thread as u16)).collect();
        let Some(claims) = &mut self.observer.claims else {
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

    /// Notes an atomic on a resource, or on a groupshared array.
    pub fn note_atomic(&mut self, memory: GlobalId, is_on_device: bool, name: &str) {
        let resource = self.terms.symbol(resource_name(self.shader, memory));
        let Some(claims) = &mut self.observer.claims else {
            return;
        };
        if is_on_device {
            let known = claims.order.places.entry(resource).or_default();
            known.atomics = Some(Served::note(known.atomics.take(), name));
        } else {
            let known = claims.order.atomics.remove(&memory);
            claims.order.atomics.insert(memory, Served::note(known, name));
        }
    }

    /// Notes a store of a value to a resource, or to groupshared memory where there is none, at these places.
    pub fn note_order<'c>(
        &mut self,
        resource: Option<Symbol>,
        places: impl Iterator<Item = &'c Column>,
        value: &Column,
    ) {
        if self.observer.claims.is_none() {
            return;
        }
        let (active, guard) = (self.state.active, self.state.guard.clone());
        let depends = |column: &Column| {
            let mut threads = active.threads();
            threads.any(|thread| self.terms.facts(column.at(thread)).counters != 0)
        };
        let is_chosen = depends(&guard) || depends(value);
        let is_open = is_chosen || { places }.any(depends);
        let Some(order) = self.observer.claims.as_mut().map(|claims| &mut claims.order) else {
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
