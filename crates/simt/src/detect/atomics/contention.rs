//! Contention: atomics that many threads of a wave make on one cell, or on few.
//!
//! They have a run of their own, which continues where a proof of the whole kernel could not. A claim states
//! only three facts, and each holds on its own, whatever the rest of the kernel does:
//!
//! - *The address is the same for all active threads*: their terms are equal, and equal terms are equal values
//!   ([`crate::terms::value`]). If the run cannot count a loop's iterations, it proves this for an arbitrary
//!   iteration, in which all variables that the loop writes are unknown, for each thread separately.
//! - *Several threads of a wave may make it in one step*: [`crate::exec::may_happen_in_parallel`].
//! - *Nothing depends on its result*, or the result became an address: values record the atomics that they
//!   derive from ([`crate::terms::taint`]), and the run checks all values that it branches on, uses as an
//!   address, or stores.
//!
//! Then one thread may make the atomic for its whole wave: atomics on one cell "are serialized in an undefined
//! order" (D3D11.3 functional spec 7.14.2), and threads at one place may make theirs directly after each other.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{Counter, FunctionId, GlobalId, Span};

use crate::detect::Detectors;
use crate::detect::atomics::service_order::Order;
use crate::detect::atomics::{address_cardinality, aggregation};
use crate::exec::over_approximation::Approximation;
use crate::exec::{AtomicAccess, Machine};
use crate::facts::calls::Atomic;
use crate::facts::effects::Effects;
use crate::facts::kernel::Kernel;
use crate::finding::{Amount, Cells, ContendedAtomic, Meanwhile, NotCombined, OldValueUse};
use crate::terms::column::{Column, Mask};
use crate::terms::source::{Mark, Source};
use crate::terms::taint::Taint;
use crate::terms::value::Value;

/// The fewest threads worth aggregating: the size of the smallest wave.
const MIN_LANES: usize = 4;
/// An atomic, by its function and span.
type Key = (FunctionId, Span);

/// What a run has seen of atomics.
#[derive(Default)]
pub(crate) struct Contention {
    sites: Sites,
    numbers: BTreeMap<Key, usize>,
    /// One bit per atomic: in `slots` if its result became an address or was kept, in `used` if anything
    /// depends on it.
    slots: Cell<u64>,
    used: Cell<u64>,
    pub order: Order,
    /// In chunked runs ([`super::chunked_claims`]): the number of threads in finished chunks, by atomic.
    counted: Option<BTreeMap<Key, u32>>,
}

pub(crate) type Sites = BTreeMap<Key, Site>;

#[derive(Clone, Default)]
pub(crate) struct Site {
    claim: Option<ContendedAtomic>,
    /// The threads that have reached it at any time.
    threads: Mask,
    /// Some access used addresses that may be many.
    is_spread: bool,
    /// Some access used addresses that may differ between threads, even if they are few.
    varies: bool,
    /// The address of its accesses in chunked runs.
    address: Option<Vec<Value>>,
    /// By the calls around it: the address of its accesses in iterations of a loop.
    in_loops: BTreeMap<Vec<Span>, Vec<Value>>,
    /// Its groupshared array, and the barrier intervals of its accesses.
    array: Option<GlobalId>,
    intervals: BTreeSet<u32>,
}

impl Site {
    /// Merges a further execution of the atomic.
    fn add(&mut self, again: ContendedAtomic) {
        let Some(claim) = &mut self.claim else {
            self.claim = Some(again);
            return;
        };
        claim.assumed_uniform.extend(again.assumed_uniform);
        claim.is_certain &= again.is_certain;
        claim.has_known_cell &= again.has_known_cell;
        if again.meanwhile == Meanwhile::Unknown {
            claim.meanwhile = again.meanwhile;
        }
        if claim.amount != again.amount {
            claim.amount = Amount::Varying;
        }
        claim.cells = match (claim.cells, again.cells) {
            (Cells::Few(a), Cells::Few(b)) => Cells::Few(a.max(b)),
            (Cells::One, cells) | (cells, Cells::One) => cells,
        };
    }
}

impl Contention {
    /// An empty set of claims for chunked runs.
    pub fn in_parts() -> Contention {
        Contention {
            counted: Some(BTreeMap::new()),
            ..Contention::default()
        }
    }

    /// Ends the run of a chunk.
    pub fn end_part(&mut self) {
        let Some(counted) = &mut self.counted else { return };
        for (key, site) in &mut self.sites {
            let threads = std::mem::take(&mut site.threads);
            *counted.entry(*key).or_default() += threads.threads().count() as u32;
        }
    }

    /// A snapshot for [`Contention::go_back`].
    pub fn so_far(&self) -> Sites {
        self.sites.clone()
    }

    /// Restores a snapshot. Addresses that were seen to differ still count.
    pub fn go_back(&mut self, so_far: Sites) {
        let seen = std::mem::replace(&mut self.sites, so_far);
        for (key, site) in seen {
            if site.is_spread || site.varies {
                let known = self.sites.entry(key).or_default();
                known.is_spread |= site.is_spread;
                known.varies |= site.varies;
            }
        }
    }

    fn mark(&mut self, key: Key) -> Mark {
        let next = self.numbers.len();
        Mark::new(*self.numbers.entry(key).or_insert(next))
    }

    /// The claims, in source order. `is_complete` is false if the run stopped early.
    pub fn finish(
        mut self,
        kernel: Kernel<'_>,
        around: &Approximation,
        is_complete: bool,
    ) -> Vec<ContendedAtomic> {
        let sites = std::mem::take(&mut self.sites);
        let is_all = is_complete && !around.misses;
        let sites = sites.into_iter().filter(|(_, site)| !site.is_spread);
        let mut claims: Vec<ContendedAtomic> = sites
            .filter_map(|(key, site)| {
                let bit = self.mark(key).bit();
                let mut claim = site.claim?;
                let counted = self.counted.as_ref().and_then(|counted| counted.get(&key));
                let met = || site.threads.threads().count() as u32;
                claim.lanes = counted.copied().unwrap_or_else(met);
                claim.old_value = match claim.operation {
                    Atomic::Counter(Counter::Append | Counter::Consume) => OldValueUse::Slot,
                    _ if self.slots.get() & bit != 0 => OldValueUse::Slot,
                    _ if self.used.get() & bit != 0 || !is_complete || bit == 0 => OldValueUse::Otherwise,
                    _ => OldValueUse::Unused,
                };
                claim.is_old_value_read = aggregation::is_old_value_read(kernel.shader, &claim);
                // A statement without a barrier that stands for several has all its iterations in one interval.
                let mut intervals = site.intervals.iter();
                let plain = site
                    .array
                    .and_then(|array| intervals.find_map(|interval| around.plain.get(&(array, *interval))));
                claim.meanwhile = match (plain, around.open_barrier) {
                    _ if !is_all || claim.meanwhile == Meanwhile::Unknown => Meanwhile::Unknown,
                    (_, Some(barrier)) => Meanwhile::Unreached(barrier),
                    (Some(place), None) => Meanwhile::Plain(*place),
                    (None, None) => Meanwhile::Atomics,
                };
                let is_whole = claim.assumed_uniform.is_empty() && is_all && !site.varies;
                if is_whole || matches!(claim.cells, Cells::Few(_)) {
                    claim.parts = aggregation::parts(kernel, &claim);
                }
                Some(claim)
            })
            .collect();
        claims.sort_by_key(|claim| claim.span);
        claims
    }
}

impl Machine<'_, Detectors> {
    /// Notes an atomic, and returns the provenance of its result.
    pub fn meet_atomic(&mut self, met: &AtomicAccess<'_>) -> Source {
        for amount in met.amount {
            self.uses(amount);
            let threads = self.state.active.threads();
            self.note_leftovers(threads.map(|thread| amount.at(thread)));
        }
        let key = (self.state.frame.function, met.span);
        let Some(claims) = &mut self.observer.contention else {
            return Source::UNKNOWN;
        };
        let mark = claims.mark(key);
        let active = self.state.active;
        let operation = met.operation;
        let mut address = met.address.iter().map(|column| column.uniform(active));
        let is_one = address.clone().all(|value| value.is_some());
        let is_at_number = address.all(|value| value.is_some_and(|value| value.known().is_some()));
        let source = source_of(operation, mark, is_one);
        let Some(operation) = operation else {
            return source;
        };
        // A counter that also stores its own old values counts nothing.
        let site = claims.sites.entry(key).or_default();
        if self.approximation.in_macro || met.undoes {
            site.is_spread = true;
            return source;
        }
        site.varies |= !is_one;
        self.note_address(key, met.address, is_one);
        if let Some(claims) = &mut self.observer.contention {
            let site = claims.sites.entry(key).or_default();
            site.threads = site.threads.or(active);
        }
        let amount = self.amount(met.amount);
        if amount == Amount::Known(0) && operation == Atomic::Add {
            // An atomic load: all threads get the same value.
            return Source::UNKNOWN;
        }
        let lanes = active.threads().count();
        let cells = if is_one {
            Some(Cells::One)
        } else if operation == Atomic::Add {
            address_cardinality::few(self, met.address, met.cells).map(Cells::Few)
        } else {
            None
        };
        let site = self
            .observer
            .contention
            .as_ref()
            .and_then(|claims| claims.sites.get(&key));
        let is_known = site.is_some_and(|site| site.claim.is_some());
        if cells.is_some() && (lanes < MIN_LANES || !(is_known || self.several_of_a_wave())) {
            if let Some(claims) = self
                .observer
                .contention
                .as_mut()
                .filter(|claims| claims.counted.is_some())
            {
                // This chunk has too few threads, and they cannot be located within the whole group.
                claims.sites.entry(key).or_default().is_spread = true;
            }
            return source;
        }
        let is_certain = active == self.all && self.state.guard == Column::Uniform(Value::TRUE);
        let open = self.open_barrier_before(met.span);
        let Some(claims) = &mut self.observer.contention else {
            return source;
        };
        self.approximation.open_barrier = self.approximation.open_barrier.or(open);
        let meanwhile = if self.approximation.several_with_barriers == 0 {
            Meanwhile::Atomics
        } else {
            Meanwhile::Unknown
        };
        let has_known_cell = self.approximation.standing_for_several == 0 && is_at_number;
        let site = claims.sites.entry(key).or_default();
        site.array = met.array;
        site.intervals.insert(self.state.barriers.interval);
        let Some(cells) = cells else {
            site.is_spread = true;
            return source;
        };
        site.add(ContendedAtomic {
            operation,
            cells,
            amount,
            quantity: met.quantity,
            old_value: OldValueUse::Otherwise,
            is_old_value_read: true,
            is_shared: met.cells.is_some(),
            lanes: 0,
            is_certain,
            has_known_cell,
            meanwhile,
            place: met.place,
            span: met.span,
            function: key.0,
            assumed_uniform: met.assumed_uniform.clone(),
            parts: Err(NotCombined::Unfollowed),
        });
        source
    }

    /// Notes the address of an atomic, whatever threads make it and whatever they add. In chunked runs, another
    /// address in another chunk makes it spread. So does another address in another iteration, as where all
    /// threads go through the bins one by one: in each iteration they share one of the cells that each of them
    /// adds to. The loop may be around a call of the function with the atomic.
    fn note_address(&mut self, key: Key, address: &[Column], is_one: bool) {
        let active = self.state.active;
        let calls = self.calls_in_loop().filter(|_| is_one);
        let iterations = &self.approximation.of_iterations;
        let mut values = address.iter().filter_map(|column| column.uniform(active));
        let differs = is_one && values.any(|value| self.terms.is_computed_from(value, iterations));
        let Some(claims) = &mut self.observer.contention else {
            return;
        };
        let known = address.iter().map(|column| column.uniform(active).cloned());
        let known: Option<Vec<Value>> = known
            .map(|value| value.filter(|value| value.known().is_some()))
            .collect();
        let is_counted = claims.counted.is_some();
        let site = claims.sites.entry(key).or_default();
        site.is_spread |= differs;
        if is_counted {
            let is_other = site.address.is_some() && site.address != known;
            site.is_spread |= known.is_none() || is_other;
            site.address = known;
        } else if let (Some(calls), Some(known)) = (calls, known) {
            let before = site.in_loops.insert(calls, known.clone());
            site.is_spread |= before.is_some_and(|before| before != known);
        }
    }

    fn amount(&self, amount: &[Column]) -> Amount {
        let active = self.state.active;
        match amount.first().map(|column| column.uniform(active)) {
            None => Amount::Known(1),
            Some(Some(Value::Known(word))) => Amount::Known(word.cast_signed()),
            // In chunked runs, this value belongs to one chunk only.
            Some(Some(_))
                if self
                    .observer
                    .contention
                    .as_ref()
                    .is_none_or(|claims| claims.counted.is_none()) =>
            {
                Amount::Uniform
            }
            Some(Some(_)) => Amount::Varying,
            Some(None) => Amount::Varying,
        }
    }

    /// What a column's values depend on; `None` before the run has reached an atomic.
    pub fn taint(&self, column: &Column) -> Option<(&Contention, Taint)> {
        let claims = self
            .observer
            .contention
            .as_ref()
            .filter(|claims| !claims.numbers.is_empty())?;
        let taint = match column {
            Column::Uniform(value) => self.terms.taint(value),
            Column::Lanes(_) => {
                let threads = self.state.active.threads();
                Taint::joined(threads.map(|thread| self.terms.taint(column.at(thread))))
            }
        };
        Some((claims, taint))
    }

    /// Something depends on these values.
    pub fn uses(&self, column: &Column) {
        if let Some((claims, taint)) = self.taint(column) {
            claims.used.set(claims.used.get() | taint.marks);
        }
    }

    /// These values are used as an address, or are kept somewhere.
    pub fn uses_as_place(&self, column: &Column) {
        self.uses(column);
        if let Some((claims, taint)) = self.taint(column) {
            claims.slots.set(claims.slots.get() | taint.slots);
        }
    }

    /// Unfollowed statements with these effects depend on what they read.
    pub fn uses_in(&self, effects: &Effects) {
        if self.observer.contention.is_none() {
            return;
        }
        let read = effects.read.difference(&effects.declared);
        let locals = read.filter_map(|local| self.state.frame.locals.get(local.0 as usize));
        for column in locals.chain(self.state.statics.values()).flatten() {
            self.uses(column);
        }
    }
}

/// The provenance of an atomic's result. `is_one` says whether all threads use one cell.
fn source_of(operation: Option<Atomic>, mark: Mark, is_one: bool) -> Source {
    match operation {
        // A consume returns an element, not its index.
        Some(Atomic::Counter(Counter::Consume)) => Source::Spread,
        _ if !is_one => Source::Spread,
        Some(operation) if operation.counts() => Source::Counter(mark),
        _ => Source::Other(mark),
    }
}
