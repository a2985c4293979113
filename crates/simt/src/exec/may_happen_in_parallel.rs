//! Whether several threads of a wave may be at one place in one step.
//!
//! Two threads may be here together if their guards may both hold. A guard is taken apart into conditions. A condition
//! may hold for one thread whatever the other's are if it depends on something of this thread's own, such as an element
//! that it alone has read. The others (`id.x < count`, `slot < max`) are computed for sampled inputs, those of both
//! threads together, until all hold. That is a witness: `id.x == 0` holds for one of them only, in every group.
//!
//! One thing is taken for granted: that the code is not dead, that is, that a thread's own inputs may be such that all
//! conditions on them hold.

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

/// Pairs of threads that are tried.
const MAX_PAIRS: usize = 24;
/// Inputs that are sampled for each.
const SAMPLES: u64 = 64;
/// Choices within choices that are followed.
const MAX_CHOICES: usize = 8;

/// How far inputs are looked for.
struct Search {
    /// Atoms that may be looked at yet.
    left: usize,
    /// Choices around.
    depth: usize,
    allows_names: bool,
}

/// A condition of a guard.
struct Condition {
    value: Value,
    holds: bool,
    /// The inputs it depends on, by a fingerprint; `None` where that does not tell threads apart.
    inputs: Option<BTreeSet<u64>>,
    /// It also depends on something that may tell threads apart: it may hold whatever that is, by an input of this
    /// thread's own alone.
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
        // A few pairs each of waves all over the group.
        let stride = shared.len().div_ceil(MAX_PAIRS / 3).max(1);
        let mut pairs = shared.iter().step_by(stride).flat_map(|threads| {
            let ends = threads.windows(2).map(|pair| (pair[0], pair[1]));
            ends.take(3)
        });
        // What threads far away depend on too is no thread's own.
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
                // What passes of a loop add up to: often little, as in the first ones.
                sample.has_few_passes = seed.is_multiple_of(2);
                // A size is small beside what is divided by it.
                sample.has_all_magnitudes = seed % 4 > 1;
                rest.iter()
                    .all(|condition| (sample.value(&condition.value) != 0) == condition.holds)
            })
    }

    /// The number that a condition asks of something that came of what was not followed, such as a loop: `gi == best`, or
    /// `best - gi == 0`. With what is known taken to one side, an equality says that a number is that of its other side.
    /// That side may be the same for all threads: then it has one value, and of two threads who ask for other numbers the
    /// condition holds for one alone.
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
        // Which side comes first may differ by thread.
        let (asked, other) = match (is_equality, is_unfollowed(left), is_unfollowed(right)) {
            (true, true, _) => (left, right),
            (true, false, true) => (right, left),
            _ => return None,
        };
        Some(known_part(other).wrapping_sub(known_part(asked)))
    }

    /// The conditions that a guard is made of, all of which must hold.
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

    /// Whether the first of these, by which one of the others is chosen, may tell threads apart.
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

    /// The inputs of a comparison with a name, such as that of a count which one thread left in groupshared memory: whatever
    /// that is, it is the same one for whoever reads it, and as of all names less than it, or more, are many.
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

    /// The inputs of a comparison of which one side may tell one thread of a wave from the others, and the other may not.
    /// Whatever the one is, there is data for the other by which it holds. A name alone, which nothing says is that of a
    /// constant, is taken for a number that the host sets, such as a count: less than it, or more, are many.
    /// Of two such conditions of which one suffices it may be either.
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

    /// What a value depends on that is no arithmetic. `None` if that may tell one thread of a wave from the others.
    fn inputs_of(&self, value: &Value) -> Option<BTreeSet<u64>> {
        self.inputs_found(value, false)
    }

    /// The same of a number in which there may be variables that are not known, as in `color * g_strength`: whatever they
    /// are, there is data by which a condition on it holds.
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
        // What is chosen by something clear needs no second look.
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
                        // Which thread finds which number is open: sampled.
                        Source::Counter(_) => {}
                        Source::Spread => {
                            inputs.insert(fingerprint(&atom));
                        }
                        Source::Other(_) => return None,
                    },
                    // All that read one place may find the same, whatever thread they are.
                    Op::VolatileLoad { .. } => {
                        let place = arguments.split_last().map_or(&[][..], |(_, place)| place);
                        inputs.insert(fingerprint(&(op, place)));
                    }
                    Op::Opaque { .. } if search.allows_names && self.is_variable_name(&Value::atom(atom)) => {
                    }
                    // What decides, and is no number.
                    Op::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, _)
                        if search.allows_names && arguments.iter().any(|one| self.is_variable_name(one)) =>
                    {
                        return None;
                    }
                    // By such a one it is chosen what it is: looked into in a second look.
                    Op::Select
                        if search.allows_names
                            && (search.depth >= MAX_CHOICES
                                && arguments.first().is_some_and(|one| self.is_variable_name(one))
                                || arguments.iter().skip(1).any(|one| self.is_variable_name(one))) =>
                    {
                        return None;
                    }
                    // What is not understood may choose a lane, of those whose numbers it gets.
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
                    // Whichever it is, it depends on what both do.
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

    /// Whether an expression that is not understood may tell one lane of a wave from the others: it names lanes, or it
    /// is given nothing that was read anywhere.
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

/// Those of a thread's conditions that do not hang on an input of its own: one that neither the other thread's
/// conditions nor these depend on.
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

/// What of a number is known: the constant of a sum of words. Of any other value nothing is.
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
