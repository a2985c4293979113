//! Whether several threads of a wave may be at one place in one step.
//!
//! Two threads may be here together if their guards may both hold. A guard is split into conditions. If a condition
//! depends on an input of this thread's own, such as an element that only this thread has read, then it may hold
//! whatever the other thread's conditions are. The remaining conditions of both threads (`id.x < count`, `slot <
//! max`) are evaluated together on sampled inputs until all hold. Such a sample is a witness: `id.x == 0` holds for
//! one of the threads only, in every group.
//!
//! The analysis assumes that the code is not dead: that a thread's own inputs can satisfy all conditions on them.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{BinaryOp, UnaryOp};

use crate::exec::{Machine, Observer};
use crate::facts::naming_heuristics::may_name_one;
use crate::terms::operator::Operator;
use crate::terms::sample::Sample;
use crate::terms::shape::MAX_ATOMS;
use crate::terms::source::Source;
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Term, Terms, fingerprint};

/// How many pairs of threads are tried.
const MAX_PAIRS: usize = 24;
/// How many inputs are sampled for each pair.
const SAMPLES: u64 = 64;
/// The depth of nested choices (selects) that the search follows.
const MAX_CHOICES: usize = 8;

/// The limits of a search for inputs.
struct Search {
    /// How many more atoms the search may examine.
    left: usize,
    /// The depth of the choices around.
    depth: usize,
    allows_names: bool,
}

/// A condition of a guard.
struct Condition {
    value: Value,
    holds: bool,
    /// Fingerprints of the inputs it depends on; `None` if it may tell threads apart and so elect one.
    inputs: Option<BTreeSet<u64>>,
    /// It also depends on something that may tell threads apart. It may hold whatever that is, but only through an
    /// input of this thread's own.
    needs_own: bool,
}

impl<O: Observer> Machine<'_, O> {
    /// Whether two of the active threads that share a wave may both be here.
    pub fn several_of_a_wave(&self) -> bool {
        let active = self.state.active;
        let shared: Vec<Vec<usize>> = self
            .waves
            .members
            .iter()
            .map(|wave| {
                let threads = wave.iter().map(|(_, thread)| *thread);
                threads
                    .filter(|thread| active.contains(*thread))
                    .take(4)
                    .collect()
            })
            .filter(|threads: &Vec<usize>| threads.len() > 1)
            .collect();
        // A few pairs of each of several waves, spread over the group.
        let stride = shared.len().div_ceil(MAX_PAIRS / 3).max(1);
        let mut pairs = shared.iter().step_by(stride).flat_map(|threads| {
            let ends = threads.windows(2).map(|pair| (pair[0], pair[1]));
            ends.take(3)
        });
        // An input that distant threads depend on too is no thread's own.
        let threads: Vec<usize> = active.threads().collect();
        let far = [threads.len() / 2, threads.len().saturating_sub(1)];
        let far = far.map(|number| threads.get(number).copied().unwrap_or(0));
        pairs.any(|(a, b)| {
            let apart = far.iter().filter(|thread| ![a, b].contains(*thread));
            let common = apart.flat_map(|thread| self.terms.conditions(self.state.guard.at(*thread)));
            let common = inputs_of(&common.collect::<Vec<_>>());
            let (a, b) = (self.state.guard.at(a), self.state.guard.at(b));
            self.terms.may_both_hold(a, b, &common)
        })
    }
}

impl Terms {
    fn may_both_hold(&self, a: &Value, b: &Value, common: &BTreeSet<u64>) -> bool {
        if a == b {
            return true;
        }
        let (mut of_a, mut of_b) = (self.conditions(a), self.conditions(b));
        let is_in_both = |one: &Condition, others: &[Condition]| {
            others
                .iter()
                .any(|other| (&other.value, other.holds) == (&one.value, one.holds))
        };
        let in_both: Vec<bool> = of_a.iter().map(|one| is_in_both(one, &of_b)).collect();
        of_b.retain(|one| !is_in_both(one, &of_a));
        let mut in_both = in_both.into_iter();
        of_a.retain(|_| !in_both.next().unwrap_or(false));
        if of_a
            .iter()
            .chain(&of_b)
            .any(|condition| condition.inputs.is_none())
        {
            return false;
        }
        let elected = |of: &[Condition]| {
            of.iter()
                .filter_map(|one| self.elected(one))
                .collect::<Vec<u32>>()
        };
        let (elected_a, elected_b) = (elected(&of_a), elected(&of_b));
        if !elected_a.is_empty() && elected_a != elected_b {
            return false;
        }
        let others = |of: &[Condition]| inputs_of(of).union(common).copied().collect::<BTreeSet<u64>>();
        let (all_a, all_b) = (others(&of_a), others(&of_b));
        let rest_a = shared_part(of_a, &all_b);
        let rest_b = shared_part(of_b, &all_a);
        let rest: Vec<Condition> = rest_a.into_iter().chain(rest_b).collect();
        if rest.iter().any(|condition| condition.needs_own) {
            return false;
        }
        rest.is_empty()
            || (0..SAMPLES).any(|seed| {
                let mut sample = Sample::new(self, seed);
                // Sums over the iterations of a loop: often small, as in the first iterations.
                sample.has_few_iterations = seed.is_multiple_of(2);
                // A size is small compared with what is divided by it.
                sample.has_all_magnitudes = seed % 4 > 1;
                rest.iter()
                    .all(|condition| (sample.value(&condition.value) != 0) == condition.holds)
            })
    }

    /// The number that an equality requires a value to have, if the value comes from code that was not followed, such
    /// as a loop: `gi == best`, or `best - gi == 0`. With all constants moved to one side, the equality says which
    /// number the other side is. That side may be the same for all threads. Then it has one value, and if two threads
    /// require different numbers, the condition holds for only one of them.
    fn elected(&self, condition: &Condition) -> Option<u32> {
        let Some(Term::Apply(Op::Binary(op, _), [left, right])) = self.single(&condition.value) else {
            return None;
        };
        let is_equality = match op {
            BinaryOp::Equal => condition.holds,
            BinaryOp::NotEqual => !condition.holds,
            _ => false,
        };
        let is_unfollowed =
            |term: &Term<'_>| matches!(term, Term::Fresh(_) | Term::Apply(Op::Havoc { .. }, _));
        let is_unfollowed = |side: &Value| self.is_made_of(side, is_unfollowed);
        // The order of the sides may differ by thread.
        let (asked, other) = match (is_equality, is_unfollowed(left), is_unfollowed(right)) {
            (true, true, _) => (left, right),
            (true, false, true) => (right, left),
            _ => return None,
        };
        Some(known_part(other).wrapping_sub(known_part(asked)))
    }

    /// The conditions whose conjunction is the guard.
    fn conditions(&self, guard: &Value) -> Vec<Condition> {
        let mut conditions = Vec::new();
        let mut waiting = vec![(guard.clone(), true)];
        while let Some((value, holds)) = waiting.pop() {
            match self.single(&value) {
                Some(Term::Apply(Op::Unary(UnaryOp::Not, _), arguments)) => {
                    waiting.extend(arguments.iter().map(|argument| (argument.clone(), !holds)));
                }
                Some(Term::Apply(Op::Binary(BinaryOp::LogicalAnd, _), arguments)) if holds => {
                    waiting.extend(arguments.iter().map(|argument| (argument.clone(), true)));
                }
                Some(Term::Apply(Op::Binary(BinaryOp::LogicalOr, _), arguments)) if !holds => {
                    waiting.extend(arguments.iter().map(|argument| (argument.clone(), false)));
                }
                _ if value.known().is_some() => {}
                _ => {
                    let understood = self.inputs_of(&value).or_else(|| self.inputs_of_bound(&value));
                    let needs_own = understood.is_none();
                    conditions.push(Condition {
                        inputs: understood.or_else(|| self.inputs_of_part(&value, holds)),
                        needs_own,
                        value,
                        holds,
                    });
                }
            }
        }
        conditions
    }

    /// Whether the first argument, which selects one of the others, may tell threads apart.
    fn is_unclear(&self, arguments: &[Value], search: &mut Search) -> bool {
        if search.depth >= MAX_CHOICES {
            return false;
        }
        let allows_names = std::mem::replace(&mut search.allows_names, false);
        search.depth += 1;
        let condition = arguments
            .first()
            .and_then(|condition| self.inputs_within(condition, search));
        search.depth -= 1;
        search.allows_names = allows_names;
        condition.is_none()
    }

    /// The inputs of an order comparison with a name, such as the name of a count that one thread left in groupshared
    /// memory. Whatever the count is, all threads read the same one. And as with every name, there are many values
    /// less than it, and many greater.
    fn inputs_of_bound(&self, value: &Value) -> Option<BTreeSet<u64>> {
        let Some(Term::Apply(Op::Binary(op, _), [left, right])) = self.single(value) else {
            return None;
        };
        if !op.is_comparison() || matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
            return None;
        }
        let (mut inputs, bound) = match (self.inputs_of(left), self.inputs_of(right)) {
            (Some(inputs), None) => (inputs, right),
            (None, Some(inputs)) => (inputs, left),
            _ => return None,
        };
        inputs.insert(fingerprint(&bound.atoms().collect::<Vec<u32>>()));
        self.is_variable_name(bound).then_some(inputs)
    }

    /// The inputs of a comparison where one side may tell one thread of a wave from the others, and the other side
    /// may not. Whatever the former is, some data for the latter satisfy the comparison. A lone name that nothing
    /// marks as a constant's stands for a number that the host sets, such as a count: there are many values less than
    /// it, and many greater. If one of two such conditions suffices, it may be either.
    fn inputs_of_part(&self, value: &Value, holds: bool) -> Option<BTreeSet<u64>> {
        let (op, left, right) = match self.single(value) {
            Some(Term::Apply(Op::Unary(UnaryOp::Not, _), [inner])) => {
                return self.inputs_of_part(inner, !holds);
            }
            Some(Term::Apply(Op::Binary(op, _), [left, right])) => (op, left, right),
            _ => return self.inputs_beside_names(value),
        };
        if matches!(
            (op, holds),
            (BinaryOp::LogicalOr, true) | (BinaryOp::LogicalAnd, false)
        ) {
            let either = [left, right].into_iter();
            let mut inputs =
                either.filter_map(|one| self.inputs_of(one).or_else(|| self.inputs_of_part(one, holds)));
            return inputs.find(|inputs| !inputs.is_empty());
        }
        if !op.is_comparison() {
            return self.inputs_beside_names(value);
        }
        let (mut inputs, unclear) = match (self.inputs_of(left), self.inputs_of(right)) {
            (Some(inputs), None) => (inputs, right),
            (None, Some(inputs)) => (inputs, left),
            _ => return self.inputs_beside_names(value),
        };
        if !matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) && self.is_variable_name(unclear) {
            inputs.insert(fingerprint(&unclear.atoms().collect::<Vec<u32>>()));
        }
        if inputs.is_empty() {
            return self.inputs_beside_names(value);
        }
        Some(inputs)
    }

    /// The inputs that arithmetic computes a value from. `None` if they may tell one thread of a wave from the
    /// others.
    fn inputs_of(&self, value: &Value) -> Option<BTreeSet<u64>> {
        self.inputs_found(value, false)
    }

    /// The same for a number that may depend on unknown variables, as in `color * g_strength`: whatever their values
    /// are, some data satisfy a condition on the number.
    fn inputs_beside_names(&self, value: &Value) -> Option<BTreeSet<u64>> {
        let inputs = self.inputs_found(value, true)?;
        (!inputs.is_empty()).then_some(inputs)
    }

    fn inputs_found(&self, value: &Value, allows_names: bool) -> Option<BTreeSet<u64>> {
        let mut search = Search {
            left: MAX_ATOMS,
            depth: MAX_CHOICES,
            allows_names,
        };
        // The first look takes a choice as plain arithmetic. That suffices if its condition cannot tell threads
        // apart.
        let inputs = self.inputs_within(value, &mut search);
        inputs.or_else(|| {
            search.left = MAX_ATOMS;
            search.depth = 0;
            self.inputs_within(value, &mut search)
        })
    }

    fn inputs_within(&self, value: &Value, search: &mut Search) -> Option<BTreeSet<u64>> {
        let mut inputs = BTreeSet::new();
        let mut seen = FxHashSet::default();
        let mut waiting: Vec<u32> = value.atoms().collect();
        while let Some(atom) = waiting.pop() {
            if !seen.insert(atom) {
                continue;
            }
            search.left = search.left.checked_sub(1)?;
            match self.term(atom)? {
                Term::Input { .. } | Term::Fresh(_) => {
                    inputs.insert(fingerprint(&atom));
                }
                Term::Apply(op, arguments) => match op {
                    Op::AtomicResult { source, .. } => match source {
                        // Any thread may find any of the numbers, so the result is sampled.
                        Source::Counter(_) => {}
                        Source::Spread => {
                            inputs.insert(fingerprint(&atom));
                        }
                        Source::Other(_) => return None,
                    },
                    Op::UnknownByThread { .. } | Op::Mark { .. } => return None,
                    // All threads that read one place may find the same value.
                    Op::VolatileLoad { .. } => {
                        let place = arguments.split_last().map_or(&[][..], |(_, place)| place);
                        inputs.insert(fingerprint(&(op, place)));
                    }
                    Op::Opaque { .. } if search.allows_names && self.is_variable_name(&Value::atom(atom)) => {
                    }
                    // The name is a condition here, not a number.
                    Op::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, _)
                        if search.allows_names && arguments.iter().any(|one| self.is_variable_name(one)) =>
                    {
                        return None;
                    }
                    // The name chooses the value, which the second look follows, or it is one of the choices.
                    Op::Select
                        if search.allows_names
                            && (search.depth >= MAX_CHOICES
                                && arguments.first().is_some_and(|one| self.is_variable_name(one))
                                || arguments.iter().skip(1).any(|one| self.is_variable_name(one))) =>
                    {
                        return None;
                    }
                    // An expression that is not understood may elect one of the lanes whose numbers it gets.
                    Op::Opaque { text, .. } if self.may_choose(*text, arguments) => return None,
                    Op::Load { .. }
                    | Op::Uniform { .. }
                    | Op::GroupId(_)
                    | Op::Uninitialised { .. }
                    | Op::Free { .. }
                    | Op::Opaque { .. }
                    | Op::Havoc { .. } => {
                        inputs.insert(fingerprint(&atom));
                    }
                    // Whichever arm is chosen, the value depends on the inputs that both share.
                    Op::Select if self.is_unclear(arguments, search) => {
                        let [_, yes, no] = arguments else { return None };
                        search.depth += 1;
                        let (yes, no) = (self.inputs_within(yes, search), self.inputs_within(no, search));
                        search.depth -= 1;
                        let (yes, no) = (yes?, no?);
                        let both: Vec<u64> = yes.intersection(&no).copied().collect();
                        if both.is_empty() {
                            return None;
                        }
                        inputs.extend(both);
                    }
                    op if op.is_arithmetic() => waiting.extend(arguments.iter().flat_map(Value::atoms)),
                    _ => return None,
                },
            }
        }
        Some(inputs)
    }

    /// Whether an expression that is not understood may tell one lane of a wave from the others: it names lanes, or
    /// nothing that it gets was read from memory.
    fn may_choose(&self, text: Symbol, arguments: &[Value]) -> bool {
        let text = self.name(text);
        let is_read = || {
            [".Load", ".Sample", ".Gather"]
                .iter()
                .any(|read| text.contains(read))
        };
        may_name_one(text)
            || arguments
                .iter()
                .any(|argument| self.is_made_of(argument, |term| self.names_lanes(term)))
            || !(is_read() || arguments.iter().any(|argument| self.has_data(argument)))
    }
}

/// The conditions of a thread that do not depend on an input of its own. An input is the thread's own if neither the
/// other thread's conditions nor these depend on it.
fn shared_part(conditions: Vec<Condition>, others: &BTreeSet<u64>) -> Vec<Condition> {
    let mut rest: Vec<Condition> = Vec::new();
    let mut own = conditions;
    loop {
        let bound: BTreeSet<u64> = rest
            .iter()
            .filter_map(|condition| condition.inputs.as_ref())
            .flatten()
            .chain(others)
            .copied()
            .collect();
        let hangs_on_own = |condition: &Condition| {
            let mut inputs = condition.inputs.iter().flatten();
            inputs.any(|input| !bound.contains(input))
        };
        let (free, more): (Vec<Condition>, Vec<Condition>) = own.into_iter().partition(hangs_on_own);
        if more.is_empty() {
            return rest;
        }
        rest.extend(more);
        own = free;
    }
}

/// The known summand of a number: the constant of a sum of words, or 0 for any other unknown value.
fn known_part(value: &Value) -> u32 {
    match value {
        Value::Known(number) => *number,
        Value::Sum(sum) if sum.operator == Operator::Add => sum.constant,
        _ => 0,
    }
}

fn inputs_of(conditions: &[Condition]) -> BTreeSet<u64> {
    let inputs = conditions
        .iter()
        .filter_map(|condition| condition.inputs.as_ref());
    inputs.flatten().copied().collect()
}
