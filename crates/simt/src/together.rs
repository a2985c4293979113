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
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashSet, FxHasher};
use shaderlint_hlsl::{BinaryOp, UnaryOp};

use crate::flow::Source;
use crate::machine::Machine;
use crate::sample::Sample;
use crate::terms::{Symbol, Term, Terms};
use crate::value::{Op, Value};

/// Pairs of threads that are tried.
const MAX_PAIRS: usize = 24;
/// Inputs that are sampled for each.
const SAMPLES: u64 = 24;
/// Atoms of a condition that are looked at.
const MAX_ATOMS: usize = 4096;

/// A condition of a guard.
struct Condition {
    value: Value,
    holds: bool,
    /// The inputs it depends on, by a fingerprint; `None` where that does not tell threads apart.
    inputs: Option<BTreeSet<u64>>,
}

impl Machine<'_> {
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
        let others = |of: &[Condition]| inputs_of(of).union(common).copied().collect::<BTreeSet<u64>>();
        let (all_a, all_b) = (others(&of_a), others(&of_b));
        let rest_a = shared_part(of_a, &all_b);
        let rest_b = shared_part(of_b, &all_a);
        let rest: Vec<Condition> = rest_a.into_iter().chain(rest_b).collect();
        rest.is_empty()
            || (0..SAMPLES).any(|seed| {
                let mut sample = Sample::new(self, seed);
                rest.iter()
                    .all(|condition| (sample.value(&condition.value) != 0) == condition.holds)
            })
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
                _ => conditions.push(Condition {
                    inputs: self.inputs_of(&value),
                    value,
                    holds,
                }),
            }
        }
        conditions
    }

    /// What a value depends on that is no arithmetic. `None` if that may tell one thread of a wave from the others.
    fn inputs_of(&self, value: &Value) -> Option<BTreeSet<u64>> {
        let mut inputs = BTreeSet::new();
        let mut seen = FxHashSet::default();
        let mut waiting = atoms(value);
        while let Some(atom) = waiting.pop() {
            if !seen.insert(atom) {
                continue;
            }
            if seen.len() > MAX_ATOMS {
                return None;
            }
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
                    Op::Same
                    | Op::Offset
                    | Op::Unary(..)
                    | Op::Binary(..)
                    | Op::Cast { .. }
                    | Op::Select
                    | Op::Intrinsic { .. } => waiting.extend(arguments.iter().flat_map(atoms)),
                },
            }
        }
        Some(inputs)
    }
}

impl Terms {
    /// Whether an expression that is not understood may tell one lane of a wave from the others: it names lanes, or it
    /// is given nothing that was read anywhere.
    fn may_choose(&self, text: Symbol, arguments: &[Value]) -> bool {
        let text = self.name(text);
        let is_read = || {
            [".Load", ".Sample", ".Gather"]
                .iter()
                .any(|read| text.contains(read))
        };
        names_lanes(text) || !(is_read() || arguments.iter().any(|argument| self.has_data(argument)))
    }

    /// Whether a value was made of something that was read.
    fn has_data(&self, value: &Value) -> bool {
        let mut seen = FxHashSet::default();
        let mut waiting = atoms(value);
        while let Some(atom) = waiting.pop() {
            if !seen.insert(atom) || seen.len() > MAX_ATOMS {
                continue;
            }
            match self.term(atom) {
                Some(Term::Input { .. } | Term::Fresh(_)) => return true,
                Some(Term::Apply(Op::Load { .. } | Op::VolatileLoad { .. } | Op::Havoc { .. }, _)) => {
                    return true;
                }
                Some(Term::Apply(_, arguments)) => waiting.extend(arguments.iter().flat_map(atoms)),
                None => {}
            }
        }
        false
    }
}

/// The atoms that a value is a term over.
fn atoms(value: &Value) -> Vec<u32> {
    match value {
        Value::Known(_) => Vec::new(),
        Value::Run { start, end, .. } => (*start..*end).collect(),
        Value::Sum(sum) => sum.parts.iter().flat_map(|part| part.start..part.end).collect(),
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

fn inputs_of(conditions: &[Condition]) -> BTreeSet<u64> {
    let inputs = conditions
        .iter()
        .filter_map(|condition| condition.inputs.as_ref());
    inputs.flatten().copied().collect()
}

fn names_lanes(text: &str) -> bool {
    ["Wave", "Lane", "Quad", "lane", "wave"]
        .iter()
        .any(|word| text.contains(word))
}

fn fingerprint(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}
