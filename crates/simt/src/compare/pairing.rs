//! The pairs of equal writes of two kernels, and whether both kernels order them alike.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::compare::trace::Trace;
use crate::exec::Write;
use crate::exec::device_order::keeps_order;
use crate::terms::operator::Operator;
use crate::terms::value::{Part, Value};
use crate::terms::{Symbol, Terms};

/// Whether the second kernel orders equal writes as the first does, as far as anyone can observe.
///
/// - If a kernel reads writable memory, each write must come after the same barriers. Together with the history
///   of each load (see [`crate::terms::history`]), that fixes the order of all accesses.
/// - Writes that other groups may see must be ordered at least as strongly as in the first kernel
///   ([`crate::exec::device_order`]).
/// - Otherwise the order shows only where several threads write to one place. So the writes to each resource
///   must be ordered as strongly, or each of its places must have only one writing thread.
pub(super) fn are_ordered_alike(terms: &Terms, traces: [&Trace; 2], pairs: &[(&Write, &Write)]) -> bool {
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
            places(&writes).is_some_and(|places| {
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
pub(super) fn pairs<'w>(
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
            let places = places(writes)?;
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
/// unknown part in each index: then indices are equal where these constants are.
fn places<'w>(writes: &[&'w Write]) -> Option<Vec<CellOffset>> {
    let mut unknown: Option<Vec<Unknown<'w>>> = None;
    let mut place = |write: &'w Write| {
        if write.component == u32::MAX || write.part != Value::Known(0) {
            return None;
        }
        let (own, numbers): (Vec<Unknown<'w>>, Vec<u32>) = write.index.iter().map(split).unzip();
        let is_one = *unknown.get_or_insert_with(|| own.clone()) == own;
        is_one.then_some((write.component, numbers))
    };
    writes.iter().map(|write| place(write)).collect()
}

/// An index without the constant that is added to it: an operator, its parts, and its constant unless it is `+`.
type Unknown<'v> = (Operator, Cow<'v, [Part]>, Option<u32>);

/// An index as an unknown part and a constant that is added to it.
fn split(index: &Value) -> (Unknown<'_>, u32) {
    match index {
        Value::Known(number) => ((Operator::Add, Cow::Borrowed(&[]), None), *number),
        Value::Run { operator, start, end } => {
            let part = Part {
                start: *start,
                end: *end,
                factor: 1,
            };
            ((*operator, Cow::Owned(vec![part]), None), 0)
        }
        Value::Sum(sum) => match sum.operator {
            Operator::Add => ((Operator::Add, Cow::Borrowed(&*sum.parts), None), sum.constant),
            other => ((other, Cow::Borrowed(&*sum.parts), Some(sum.constant)), 0),
        },
    }
}

/// The writes to each resource, in order.
pub(super) fn by_resource(writes: &[Write]) -> BTreeMap<Symbol, Vec<&Write>> {
    let mut of_resources: BTreeMap<Symbol, Vec<&Write>> = BTreeMap::new();
    for write in writes {
        of_resources.entry(write.resource).or_default().push(write);
    }
    of_resources
}
