//! The calls and loop iterations that a run is in.

use std::rc::Rc;

use shaderlint_hlsl::{FunctionId, LocalId, Span};

use crate::exec::{Machine, Observer};
use crate::finding::{Around, Iteration, NamedValue, Point};

/// Kept at each access; names are looked up only for a report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Position {
    /// Iterations of the loops of the current function, outermost first.
    iterations: Vec<LoopIteration>,
    caller: Option<Rc<Caller>>,
}

/// Where a function was called.
#[derive(Debug)]
pub(crate) struct Caller {
    call: Span,
    position: Position,
}

/// An iteration of a loop, with its variable's value if that is known.
#[derive(Clone, Copy, Debug)]
struct LoopIteration {
    of: Span,
    number: u32,
    variable: Option<(FunctionId, LocalId, u32)>,
}

impl<O: Observer> Machine<'_, O> {
    pub fn position(&self) -> Position {
        let frame = &self.state.frame;
        let iterations = frame.loops.iter().filter_map(|around| {
            Some(LoopIteration {
                of: around.span?,
                number: around.number,
                variable: around.variable.and_then(|local| {
                    let column = frame.locals.get(local.0 as usize)?.first()?;
                    let value = column.uniform(self.state.active)?.known()?;
                    Some((frame.function, local, value))
                }),
            })
        });
        Position {
            iterations: iterations.collect(),
            caller: frame.caller.clone(),
        }
    }

    /// The calls that the run is in, innermost first, if a loop is around it or around one of them.
    pub fn calls_in_loop(&self) -> Option<Vec<Span>> {
        let callers = || {
            std::iter::successors(self.state.frame.caller.as_deref(), |at| {
                at.position.caller.as_deref()
            })
        };
        let is_in_loop = !self.state.frame.loops.is_empty()
            || callers().any(|caller| !caller.position.iterations.is_empty());
        is_in_loop.then(|| callers().map(|caller| caller.call).collect())
    }

    /// A call at `span`, from here.
    pub fn caller(&self, call: Span) -> Rc<Caller> {
        let position = self.position();
        Rc::new(Caller { call, position })
    }

    /// The point at which the run is at `span`.
    pub fn point(&self, span: Span) -> Point {
        let around = self.around(&self.position());
        Point { span, around }
    }

    pub fn around(&self, position: &Position) -> Vec<Around> {
        let mut around = match &position.caller {
            Some(caller) => {
                let mut around = self.around(&caller.position);
                around.push(Around::Call(caller.call));
                around
            }
            None => Vec::new(),
        };
        let name = |(function, local, value): (FunctionId, LocalId, u32)| {
            let function = self.shader.functions.get(function.0 as usize)?;
            let variable = function.locals.get(local.0 as usize)?;
            Some(NamedValue {
                name: variable.name.clone(),
                scalar: variable.ty.scalar()?,
                word: value,
            })
        };
        around.extend(position.iterations.iter().map(|within| Around::Loop {
            of: within.of,
            iteration: Iteration {
                number: within.number,
                variable: within.variable.and_then(name),
            },
        }));
        around
    }
}
