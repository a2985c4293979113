//! What the order in which atomics are served shows in.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{FunctionId, GlobalId, Shader};

use crate::claim::Claims;
use crate::machine::{BUDGET, Machine};
use crate::terms::column::Column;
use crate::terms::{Symbol, Terms};
use crate::transfer::resource_name;
use crate::wave::{LaneMap, WAVE_SIZES, Waves, is_group};

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
}

/// See [`Unordered`].
#[must_use]
pub fn unordered(shader: &Shader, entry: FunctionId) -> Unordered {
    let function = shader.functions.get(entry.0 as usize);
    let group = function.and_then(|function| function.group_size);
    let Some(group) = group.filter(|group| is_group(*group)) else {
        return Unordered::default();
    };
    let mut terms = Terms::default();
    let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
    let Some(mut machine) = Machine::new(shader, &mut terms, entry, waves, BUDGET) else {
        return Unordered::default();
    };
    machine.claims = Some(Claims::default());
    machine.run();
    let order = machine.claims.take().unwrap_or_default().order;
    let named = |symbols: BTreeSet<Symbol>| -> BTreeSet<String> {
        let names = symbols
            .into_iter()
            .map(|name| machine.terms.name(name).to_owned());
        names.collect()
    };
    let mut as_sets = if order.is_spread {
        order.written
    } else {
        order.unordered.into_keys().collect()
    };
    as_sets.retain(|name| !order.overwritten.contains(name));
    Unordered {
        as_sets: named(as_sets),
        overwritten: named(order.overwritten),
    }
}

impl Machine<'_> {
    /// Elements are put where the device says.
    pub fn note_appended(&mut self, resource: GlobalId) {
        let name = self.terms.symbol(resource_name(self.shader, resource));
        if let Some(claims) = &mut self.claims {
            claims.order.unordered.insert(name, u32::MAX);
        }
    }

    /// Notes a store to a resource, or to groupshared memory where there is none.
    pub fn note_order<'c>(&mut self, resource: Option<Symbol>, columns: impl Iterator<Item = &'c Column>) {
        if self.claims.is_none() {
            return;
        }
        let (active, guard) = (self.state.active, self.state.guard.clone());
        let depends = |column: &Column| {
            let mut threads = active.threads();
            threads.any(|thread| self.terms.facts(column.at(thread)).counters != 0)
        };
        let is_open = depends(&guard) || { columns }.any(depends);
        let Some(order) = self.claims.as_mut().map(|claims| &mut claims.order) else {
            return;
        };
        if let Some(resource) = resource {
            order.written.insert(resource);
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
