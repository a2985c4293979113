//! Where a collective leaves its result, and where partial results.

use rustc_hash::FxHashSet;
use shaderlint_hlsl::GlobalId;

use crate::detect::Detectors;
use crate::detect::collectives::partial_results::Watch;
use crate::detect::collectives::pattern;
use crate::exec::Machine;
use crate::exec::memory::Shared;
use crate::finding::leftovers::{LeftoverPlace, LeftoverPlaces, Leftovers};
use crate::finding::{Collective, Elements};
use crate::terms::Term;
use crate::terms::operator::Operator;
use crate::terms::value::Value;

/// The maximum number of atoms to look at when tracing which values a total went into.
const MAX_MADE_OF: usize = 1 << 16;

/// The elements from `first` to `end`, combined by an operator.
#[derive(Clone, Copy)]
pub(super) struct Total {
    pub operator: Operator,
    pub first: u32,
    pub end: u32,
}

impl Machine<'_, Detectors> {
    /// Where a reduction leaves its total, and where parts of it.
    pub(super) fn leftovers_of_total(
        &self,
        watch: &Watch,
        collective: &Collective,
        totals: &[Total],
        has_companions: bool,
    ) -> Leftovers {
        let is_total = |value: &Value| {
            pattern::run(value).is_some_and(|(operator, start, end)| {
                let mut beside = collective.beside.iter();
                let is_its = |own| own == collective.operator || beside.any(|other| other.operator == own);
                end - start == collective.count && operator.is_some_and(is_its)
            })
        };
        let may_be_of_sorted = collective.may_be_of_sorted();
        // If the elements were sorted, every other value may be a result too.
        let is_rest = |value: &Value| value.known().is_none() && !is_total(value);
        let is_of_parts = |value: &Value| {
            if may_be_of_sorted {
                is_rest(value)
            } else {
                totals.iter().any(|total| is_part(value, *total))
            }
        };
        let mut left = MAX_MADE_OF;
        let mut is_of_all = |value: &Value| {
            totals
                .iter()
                .any(|total| self.is_of_all(value, *total, &mut left))
        };
        let mut parts = self.places(watch, &mut |value| is_of_parts(value));
        let mut result = self.places(watch, &mut |value| {
            is_total(value) || is_rest(value) && !is_of_parts(value) && is_of_all(value)
        });
        // The cells of a transform depend on all elements but not on their total: they are more than the total.
        // A companion depends on all elements too, and lies where the total does.
        let mut left = MAX_MADE_OF;
        let mut is_of_total = |(global, cell): &(GlobalId, u32)| {
            let array = self.state.shared.iter().find(|array| array.global == *global);
            let value = array.and_then(|array| array.cells().get(*cell as usize));
            let mut totals = totals.iter();
            value.is_none_or(|value| totals.all(|total| self.is_of_total(value, *total, &mut left)))
        };
        let (of_total, others): (Vec<_>, Vec<_>) = result.cells.into_iter().partition(&mut is_of_total);
        let rank = |(global, cell): &(GlobalId, u32)| {
            let layout = watch.layouts.array(*global);
            layout.map(|layout| cell / u32::try_from(layout.width().max(1)).unwrap_or(1))
        };
        let ranks: FxHashSet<Option<u32>> = of_total.iter().map(rank).collect();
        let is_companion = |cell: &(GlobalId, u32)| has_companions && ranks.contains(&rank(cell));
        let (companions, others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_companion);
        result.cells = of_total;
        result.cells.extend(companions);
        parts.cells.extend(others);
        Leftovers {
            parts,
            result,
            ..Leftovers::default()
        }
    }

    /// Whether a partial result of the elements was stored in a resource, as a level of a pyramid is.
    pub(super) fn stores_a_part(&self, watch: &Watch, total: Total) -> bool {
        let writes = self.state.writes.iter().skip(watch.writes_before);
        writes.into_iter().any(|write| is_part(&write.value, total))
    }

    /// The places of the results of scans of `count` elements in `outputs`. The other half of a double buffer
    /// holds many of the same values, but it is not in `outputs`, and it does not hold the longest value.
    pub(super) fn places_of_scans<'e>(
        &self,
        watch: &Watch,
        outputs: impl Iterator<Item = &'e Elements>,
        count: u32,
        is_of_words: bool,
    ) -> LeftoverPlaces {
        let is_result = |value: &Value| value.known().is_none() && (!is_of_words || value.atom_count() > 1);
        let mut places = LeftoverPlaces::default();
        let mut longest: Option<&Value> = None;
        for output in outputs {
            let ends = self.ends(watch, output, count);
            for (place, value) in ends.into_iter().filter(|(_, value)| is_result(value)) {
                places.add(place);
                if longest.is_none_or(|longest| longest.atom_count() < value.atom_count()) {
                    longest = Some(value);
                }
            }
        }
        if let Some(longest) = longest.filter(|_| is_of_words) {
            let mut is_longest = |value: &Value| value == longest;
            places.append(self.places(watch, &mut is_longest));
        }
        places
    }

    /// The places of `count` elements of `output`, with their values.
    fn ends(&self, watch: &Watch, output: &Elements, count: u32) -> Vec<(LeftoverPlace, &Value)> {
        let cells = |global: GlobalId| {
            let array = self.state.shared.iter().find(|array| array.global == global);
            array.map_or(&[][..], Shared::cells)
        };
        match output {
            Elements::Array {
                global,
                offset,
                component,
                ..
            } => {
                let (layout, cells) = (watch.layouts.array(*global), cells(*global));
                let component = usize::from(component.unwrap_or(0));
                let ranks = (*offset..offset.saturating_add(count)).zip(layout.into_iter().cycle());
                let numbers = ranks.map(|(rank, layout)| layout.cell(rank as usize, component));
                numbers
                    .filter_map(|number| {
                        Some((LeftoverPlace::Cell(*global, number as u32), cells.get(number)?))
                    })
                    .collect()
            }
            Elements::Spread { global, .. } => {
                let cells = (0..).zip(cells(*global));
                cells
                    .map(|(number, value)| (LeftoverPlace::Cell(*global, number), value))
                    .collect()
            }
            Elements::Register { local, component } => {
                let component = component.unwrap_or(0);
                let columns = self.state.frame.locals.get(local.0 as usize);
                let column = columns.and_then(|columns| columns.get(usize::from(component)));
                let threads = (0..self.lanes as u32).zip(column.into_iter().cycle());
                threads
                    .map(|(thread, column)| {
                        let place = LeftoverPlace::Register(*local, u32::from(component), thread);
                        (place, column.at(thread as usize))
                    })
                    .collect()
            }
            Elements::Cell { .. } | Elements::OneRegister { .. } | Elements::Expression { .. } => Vec::new(),
        }
    }

    /// The places of the values with this property.
    fn places(&self, watch: &Watch, is_such: &mut dyn FnMut(&Value) -> bool) -> LeftoverPlaces {
        let mut places = LeftoverPlaces::default();
        for array in &self.state.shared {
            if watch.layouts.array(array.global).is_some() {
                let cells = (0u32..).zip(array.cells());
                let cells = cells.filter(|(_, value)| is_such(value));
                places.cells.extend(cells.map(|(cell, _)| (array.global, cell)));
            }
        }
        if watch.depth != self.state.frame.depth {
            return places;
        }
        for (local, _) in &watch.registers {
            let columns = self.state.frame.locals.get(local.0 as usize);
            for (component, column) in (0u32..).zip(columns.into_iter().flatten()) {
                let threads = 0..self.lanes as u32;
                let threads = threads.filter(|thread| is_such(column.at(*thread as usize)));
                places
                    .registers
                    .extend(threads.map(|thread| (*local, component, thread)));
            }
        }
        places
    }

    /// Whether a value depends on all elements of a total, in any way. True if the search exceeds `left`.
    fn is_of_all(&self, value: &Value, Total { first, end, .. }: Total, left: &mut usize) -> bool {
        let mut seen = FxHashSet::default();
        let mut elements = 0;
        let mut waiting: Vec<u32> = value.atoms().collect();
        while let Some(atom) = waiting.pop() {
            if !seen.insert(atom) {
                continue;
            }
            let Some(next) = left.checked_sub(1) else {
                return true;
            };
            *left = next;
            if (first..end).contains(&atom) {
                elements += 1;
            } else if let Some(Term::Apply(_, arguments)) = self.terms.term(atom) {
                waiting.extend(arguments.iter().flat_map(Value::atoms));
            }
        }
        elements == end - first
    }

    /// Whether a value depends on the elements only through their total, as a mean does. False if the search
    /// exceeds `left`.
    fn is_of_total(&self, value: &Value, total: Total, left: &mut usize) -> bool {
        let Total { operator, first, end } = total;
        let mut seen = FxHashSet::default();
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            let (own, whole) = match value {
                Value::Known(_) => continue,
                Value::Run { operator, start, end } => (*operator, vec![(*start, *end)]),
                Value::Sum(sum) => {
                    let parts = sum.parts.iter().map(|part| (part.start, part.end));
                    (sum.operator, parts.collect())
                }
            };
            for (start, stop) in whole {
                if own == operator && (start, stop) == (first, end) {
                    continue;
                }
                if start < end && first < stop {
                    return false;
                }
                for atom in (start..stop).filter(|atom| seen.insert(*atom)) {
                    let Some(next) = left.checked_sub(1) else {
                        return false;
                    };
                    *left = next;
                    if let Some(Term::Apply(_, arguments)) = self.terms.term(atom) {
                        waiting.extend(arguments);
                    }
                }
            }
        }
        true
    }
}

/// Whether a value is a partial result of a total: several of its elements, but not all.
fn is_part(value: &Value, total: Total) -> bool {
    let Total { operator, first, end } = total;
    let is_inside = |start: u32, stop: u32| first <= start && stop <= end;
    let combined = match value {
        Value::Known(_) => 0,
        Value::Run {
            operator: own,
            start,
            end: stop,
        } if *own == operator && is_inside(*start, *stop) => stop - start,
        Value::Sum(sum) if sum.operator == operator => {
            let are_inside = sum.parts.iter().all(|part| is_inside(part.start, part.end));
            let count = sum.parts.iter().map(|part| part.end - part.start).sum();
            if are_inside { count } else { 0 }
        }
        _ => 0,
    };
    (2..end - first).contains(&combined)
}
