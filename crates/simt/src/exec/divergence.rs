//! Barriers that some threads of the group reach and others do not.
//!
//! A barrier within divergent control flow is undefined (MS docs of `GroupMemoryBarrierWithGroupSync`; FXC rejects
//! it, DXC does not). A thread that is not active here certainly went another way, whatever the inputs are: where a
//! condition is not known, all threads that it may concern run both arms. So it suffices that one active thread's
//! guard is known to hold, or was seen to hold for some input.
//!
//! Threads whose guards differ by what the host sets, as after `if (id.x >= n) return;`, are another matter: they
//! diverge only for some values of `n`. The run looks for such values. If there are any, and others for which all
//! threads stay, the run goes on as if all stayed: where only some stay the kernel is undefined, and where none stays
//! nothing happens.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Expr, ExprKind, GlobalId, Loop, Scalar, Span, Stmt, StmtKind};

use crate::exec::host::MANY;
use crate::exec::undef_flow::{FilledInPart, HostValue};
use crate::exec::{Machine, Observer};
use crate::finding::{Divergence, NamedValue, Point};
use crate::terms::column::{Column, Mask};
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Terms};

/// A branch that some threads took and others did not.
#[derive(Clone, Copy)]
pub(crate) struct Parting {
    /// The condition, or the statement by which threads left.
    pub span: Span,
    /// Threads that did not go this way.
    pub elsewhere: Mask,
    /// Threads for which it is not known.
    pub perhaps: Mask,
    /// Whether the condition holds for the threads that went this way.
    pub holds: bool,
}

impl Parting {
    /// Whether a thread went elsewhere, or perhaps did.
    fn is_of(&self, thread: usize, perhaps: bool) -> bool {
        self.elsewhere.contains(thread) || (perhaps && self.perhaps.contains(thread))
    }
}

/// How many threads' guards are tried.
const MAX_ASKED: usize = 64;

/// A condition is tried on values of at most this many names that the host sets.
const MAX_UNKNOWNS: usize = 3;

impl<O: Observer> Machine<'_, O> {
    /// Whether a guard is known to hold, at least for some inputs.
    pub fn is_known_to_hold(&self, guard: &Value) -> bool {
        if self.state.convergence.is_assumed(guard) {
            self.terms.note_left_out(guard);
            return true;
        }
        *guard == Value::TRUE
    }

    /// Reports the barrier at `span` if one thread is here for certain and another one is not.
    pub fn look_for_divergence(&mut self, span: Span) {
        let state = &self.state;
        if state.convergence.is_uncertain() || self.observer.is_trying() {
            return;
        }
        let Some(away) = self.all.without(state.active).threads().next() else {
            return;
        };
        // Most threads share one guard.
        let mut known: Option<(Value, bool)> = None;
        let mut may_be_here = |here: &usize| {
            let guard = state.guard.at(*here);
            if self.is_known_to_hold(guard) {
                return true;
            }
            match &known {
                Some((known, holds)) if known == guard => *holds,
                _ => {
                    let holds = self.terms.seen_to_hold(guard, &[]);
                    known = Some((guard.clone(), holds));
                    holds
                }
            }
        };
        let found = state
            .active
            .threads()
            .take(MAX_ASKED)
            .find(|here| may_be_here(here));
        if let Some(here) = found {
            self.report_divergence(span, here, away, Vec::new());
        }
    }

    fn report_divergence(&mut self, span: Span, here: usize, away: usize, given: Vec<NamedValue>) {
        if self.observer.is_trying() || self.report.divergences.iter().any(|known| known.span == span) {
            return;
        }
        let Point { span, around } = self.point(span);
        let partings = self.paths.exits.iter().chain(&self.paths.partings);
        self.report.divergences.push(Divergence {
            span,
            here: here as u32,
            away: away as u32,
            parted: partings
                .rev()
                .find(|parting| parting.is_of(away, !given.is_empty()))
                .map(|parting| parting.span),
            given,
            since: self.state.barriers.since.as_deref().cloned(),
            around,
        });
    }

    /// Reports the first barrier of a loop whose condition depends on the host, if some threads reach it in the first
    /// iteration and others have left before. The run does not follow later iterations.
    pub fn look_into_first_iteration(&mut self, l: &Loop, condition: &Column) {
        let state = &self.state;
        let is_first = state
            .frame
            .loops
            .last()
            .is_some_and(|innermost| innermost.number == 0);
        let may_look = is_first
            && !state.convergence.is_uncertain()
            && !self.over_approximates()
            && !self.observer.is_trying();
        if !may_look || state.active != self.all || state.alive != self.all {
            return;
        }
        let Some(span) = self.first_barrier(std::slice::from_ref(&l.body)) else {
            return;
        };
        let guard = self.state.guard.clone();
        let guards: Vec<Value> = (0..self.lanes)
            .map(|thread| self.terms.and(guard.at(thread), condition.at(thread)))
            .collect();
        if let Some(witness) = self.parting(&guards) {
            self.report_parting(span, witness);
        }
    }

    /// The first barrier in these statements that every thread executing them reaches before anything by which it
    /// could leave.
    fn first_barrier(&mut self, statements: &[Stmt]) -> Option<Span> {
        for statement in statements {
            match &statement.kind {
                StmtKind::Block(inner) => {
                    if let Some(found) = self.first_barrier(inner) {
                        return Some(found);
                    }
                }
                StmtKind::Expr(expr) => {
                    if let ExprKind::Intrinsic(intrinsic, _) = expr.kind
                        && intrinsic.is_group_barrier()
                    {
                        return Some(expr.span);
                    }
                }
                _ => {}
            }
            // An unknown macro may be anything.
            let mut parts = statement.expressions().flat_map(Expr::descendants);
            let is_unknown = parts.any(|part| matches!(part.kind, ExprKind::Opaque(_)));
            let effects = self
                .effects
                .of_statements(self.shader, std::slice::from_ref(statement));
            if is_unknown
                || effects.leaves
                || effects.jumps
                || effects.opaque
                || effects.barrier
                || breaks(statement)
            {
                return None;
            }
        }
        None
    }

    fn parting(&self, guards: &[Value]) -> Option<Witness> {
        let scalar_of = |name, component| self.host_name(name, component).map(|(_, scalar)| scalar);
        self.terms.parting(guards, self.group, scalar_of)
    }

    /// Numbers of the host by which only some of these guards hold, if all hold where the numbers are large.
    pub fn filled_in_part(&mut self, array: GlobalId, guards: &[Value]) -> Option<FilledInPart> {
        let witness = self.parting(guards)?;
        let is_large = |(atom, word): &(u32, u32)| {
            let name = self.terms.name_of(*atom);
            let scalar = name.and_then(|(name, component)| Some(self.host_name(name, component)?.1));
            match scalar {
                Some(Scalar::Float) => *word == (MANY as f32).to_bits(),
                _ => *word == MANY,
            }
        };
        if !witness.stay.iter().all(is_large) {
            return None;
        }
        let given = witness.given.into_iter().map(|(symbol, component, word)| {
            let (name, scalar) = self.host_name(symbol, component)?;
            let op = Op::Uniform {
                name: symbol,
                component,
            };
            let atom = self.terms.apply(op, &[]).atoms().next()?;
            let value = NamedValue { name, scalar, word };
            Some(HostValue { atom, value })
        });
        let given: Vec<HostValue> = given.collect::<Option<_>>()?;
        let words: Vec<(u32, u32)> = given.iter().map(|of| (of.atom, of.value.word)).collect();
        let mut within = Mask::EMPTY;
        for (thread, guard) in guards.iter().enumerate() {
            if self.terms.value_given(guard, &words)? != 0 {
                within.insert(thread);
            }
        }
        Some(FilledInPart { array, given, within })
    }

    fn report_parting(&mut self, span: Span, witness: Witness) {
        let given = witness.given.into_iter().filter_map(|(name, component, word)| {
            let (name, scalar) = self.host_name(name, component)?;
            Some(NamedValue { name, scalar, word })
        });
        let given = given.collect();
        self.report_divergence(span, witness.here, witness.away, given);
    }

    /// Goes on as if all threads were at the barrier. It does so if they may diverge only by what the host sets.
    /// Where the run looks for collectives it does so whatever they may diverge by; the collectives then hold for
    /// groups that stay together. Returns the guard under which all threads are here.
    pub fn assume_all_stay(&mut self, span: Span) -> Option<Value> {
        let state = &self.state;
        if self.over_approximates() || state.active != self.all || state.alive != self.all {
            return None;
        }
        let Column::Lanes(guards) = state.guard.clone() else {
            return None;
        };
        let inputs = match self.parting(&guards) {
            Some(witness) => {
                let inputs = witness.stay.clone();
                if !self.state.convergence.is_uncertain() {
                    self.report_parting(span, witness);
                }
                Some(inputs)
            }
            None if self.mode.assumes_convergence_without_inputs() => {
                self.noticed.assumed_convergence = true;
                None
            }
            None => return None,
        };
        let everyone = self.terms.apply(Op::Same, &guards);
        self.state.guard = Column::Uniform(everyone.clone());
        self.state.convergence.assume(everyone.clone(), inputs);
        Some(everyone)
    }
}

/// Whether a statement may end the loop that directly holds it.
pub(crate) fn breaks(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Break => true,
        StmtKind::Loop(_) | StmtKind::Switch { .. } => false,
        _ => statement.children().any(breaks),
    }
}

/// Values of the host for which two threads diverge.
struct Witness {
    here: usize,
    away: usize,
    given: Vec<(Symbol, u32, u32)>,
    /// Words of atoms for which no threads diverge.
    stay: Vec<(u32, u32)>,
}

impl Terms {
    /// Values of the host that satisfy the guards of some threads and not of others, in the first group, if other
    /// values satisfy all guards.
    fn parting(
        &self,
        guards: &[Value],
        [width, height, depth]: [u32; 3],
        scalar_of: impl Fn(Symbol, u32) -> Option<Scalar>,
    ) -> Option<Witness> {
        let mut seen = BTreeSet::new();
        if !guards
            .iter()
            .all(|guard| self.is_of_the_host(guard, &mut seen, 0))
        {
            return None;
        }
        let unknowns: Vec<u32> = seen
            .into_iter()
            .filter(|atom| self.name_of(*atom).is_some())
            .collect();
        if unknowns.len() > MAX_UNKNOWNS {
            return None;
        }
        // Small numbers that split the group along each axis, and more than there are.
        let numbers = [MANY, width / 2 + 1, height / 2 + 1, depth / 2 + 1, 0, 1];
        let words = |scalar: Scalar| -> Option<Vec<u32>> {
            Some(match scalar {
                Scalar::Int | Scalar::Uint => numbers.to_vec(),
                Scalar::Float => numbers.map(|number| (number as f32).to_bits()).to_vec(),
                Scalar::Bool => vec![0, 1],
                _ => return None,
            })
        };
        let of_unknowns = unknowns.iter().map(|atom| {
            let (name, component) = self.name_of(*atom)?;
            words(scalar_of(name, component)?)
        });
        let of_unknowns: Vec<Vec<u32>> = of_unknowns.collect::<Option<_>>()?;
        let (mut parted, mut together): (Option<Witness>, _) = (None, None);
        let choices: usize = of_unknowns.iter().map(Vec::len).product();
        for choice in 0..choices {
            let mut rest = choice;
            let given: Vec<(u32, u32)> = unknowns
                .iter()
                .zip(&of_unknowns)
                .map(|(atom, words)| {
                    let word = words[rest % words.len()];
                    rest /= words.len();
                    (*atom, word)
                })
                .collect();
            let last = guards.len() - 1;
            let corners = [0, width as usize - 1, (width * (height - 1)) as usize, last];
            let holds: Option<Vec<(usize, bool)>> = corners
                .into_iter()
                .map(|thread| Some((thread, self.value_given(&guards[thread], &given)? != 0)))
                .collect();
            let Some(holds) = holds else { continue };
            let here = holds.iter().find(|(_, holds)| *holds);
            let away = holds.iter().find(|(_, holds)| !holds);
            match (here, away) {
                (Some((here, _)), Some((away, _))) if parted.is_none() => {
                    let given = given.iter().filter_map(|(atom, word)| {
                        let (name, component) = self.name_of(*atom)?;
                        Some((name, component, *word))
                    });
                    parted = Some(Witness {
                        here: *here,
                        away: *away,
                        given: given.collect(),
                        stay: Vec::new(),
                    });
                }
                (Some(_), None) if together.is_none() => {
                    let all_stay = guards
                        .iter()
                        .all(|guard| self.value_given(guard, &given).is_some_and(|word| word != 0));
                    together = all_stay.then_some(given);
                }
                _ => {}
            }
            if let (Some(witness), Some(stay)) = (&mut parted, &mut together) {
                witness.stay = std::mem::take(stay);
                return parted;
            }
        }
        None
    }
}
