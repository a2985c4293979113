//! Undefined values that are read, and whether they matter.
//!
//! Groupshared memory "must be written before it is read" (D3D11.3 functional spec 18.6), and a read outside an array
//! gives an undefined value. Neither is a defect if the value is dropped, as in an arm of `?:` that is not selected.
//! So the read only records the atom that stands for such a value. The run reports it where a thread stores it, or a
//! sum with it, to a resource: whatever else is added, the stored word is undefined.

use shaderlint_hlsl::{GlobalId, Span, Type};

use crate::exec::{Machine, Observer};
use crate::finding::{Access, NamedValue, OutOfBounds, Uninitialised};
use crate::terms::column::{Column, Mask};
use crate::terms::operator::Operator;
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Term, Terms};

/// An undefined value that was read.
#[derive(Clone, Copy)]
pub(crate) struct Suspect {
    pub array: GlobalId,
    pub cell: Cell,
    pub thread: u16,
    pub site: u32,
    pub interval: u32,
}

#[derive(Clone, Copy)]
pub(crate) enum Cell {
    /// Nothing was written to this cell.
    Unwritten(u32),
    /// There is no such element.
    Outside(i32),
}

/// A groupshared array that the threads write only within bounds that the host sets.
#[derive(Clone, Debug)]
pub(crate) struct FilledInPart {
    pub array: GlobalId,
    /// Numbers for these bounds, by which only some threads are within them in the first group.
    pub given: Vec<HostValue>,
    /// The threads that are.
    pub within: Mask,
}

/// A number for a value that the host sets.
#[derive(Clone, Debug)]
pub(crate) struct HostValue {
    pub atom: u32,
    pub value: NamedValue,
}

/// How many are recorded: each yields at most one finding.
const MAX_SUSPECTS: usize = 64;

impl<O: Observer> Machine<'_, O> {
    /// Whether undefined reads may be recorded now: nothing so far may have written in an unknown way.
    pub fn remembers_reads(&self) -> bool {
        !self.observer.is_trying()
            && !self.state.convergence.is_uncertain()
            && self.state.barriers.epoch == 0
            && self.suspects.len() < MAX_SUSPECTS
    }

    /// Records an undefined read; `value` is the atom that was read.
    pub fn suspect(&mut self, value: &Value, suspect: Suspect) {
        if let Value::Run { start, .. } = value
            && self.suspects.len() < MAX_SUSPECTS
        {
            self.suspects.entry(*start).or_insert(suspect);
        }
    }

    /// Reports the undefined values among those that the threads store to a resource.
    pub fn look_for_undefined(&mut self, index: &[Column], value: &Column, span: Span) {
        if self.suspects.is_empty() || self.state.convergence.is_uncertain() || self.observer.is_trying() {
            return;
        }
        let state = &self.state;
        let mut used: Vec<Suspect> = Vec::new();
        for thread in state.active.threads() {
            let filled = self.assuming.filled;
            let is_within = filled.is_none_or(|filled| filled.within.contains(thread));
            if !is_within || !self.is_known_to_hold(state.guard.at(thread)) {
                continue;
            }
            let values = index.iter().chain([value]).map(|column| column.at(thread));
            for value in values.filter(|value| filled.is_none() || self.terms.holds_written(value)) {
                self.add_undefined_parts(value, &mut used);
            }
        }
        for suspect in used {
            self.report_undefined(suspect, span);
        }
    }

    /// Adds the recorded atoms that are summands of the value: for each site, at most one unwritten cell and one
    /// access outside the array.
    fn add_undefined_parts(&self, value: &Value, used: &mut Vec<Suspect>) {
        let mut add = |start: u32, end: u32| {
            let among = self
                .suspects
                .iter()
                .filter(|(atom, _)| (start..end).contains(atom));
            for (_, suspect) in among {
                let kind = |suspect: &Suspect| (suspect.site, matches!(suspect.cell, Cell::Outside(_)));
                if used.iter().all(|known| kind(known) != kind(suspect)) {
                    used.push(*suspect);
                }
            }
        };
        let is_sum =
            |operator: Operator| matches!(operator, Operator::Add | Operator::FloatAdd | Operator::Xor);
        match value {
            Value::Run { operator, start, end } if is_sum(*operator) => add(*start, *end),
            Value::Sum(sum) if is_sum(sum.operator) => {
                // An even multiple of an arbitrary word is not an arbitrary word.
                for part in sum.parts.iter().filter(|part| part.factor % 2 == 1) {
                    add(part.start, part.end);
                }
            }
            _ => {}
        }
    }

    /// Drops the reads of a cell, or of all cells, in this interval: another thread may have written there before the
    /// read.
    pub fn forget_reads(&mut self, array: GlobalId, cell: Option<u32>) {
        let interval = self.state.barriers.interval;
        self.suspects.retain(|_, suspect| {
            let is_it = match suspect.cell {
                Cell::Unwritten(read) => cell.is_none_or(|cell| cell == read),
                Cell::Outside(_) => false,
            };
            !(is_it && (suspect.array, suspect.interval) == (array, interval))
        });
        let element = cell.map(|cell| self.element_of(array, cell));
        self.report.uninitialised.retain(|known| {
            let is_it = element.is_none_or(|element| element == known.index);
            !(is_it && (known.array, known.interval) == (array, interval))
        });
    }

    /// Reports an access outside an array. Arrays of arrays are left out: it is not known which index is meant.
    pub fn report_outside(&mut self, array: GlobalId, index: i32, thread: u16, is_write: bool, site: u32) {
        let (Some(site), Some(global)) = (
            self.sites.get(site as usize),
            self.shader.globals.get(array.0 as usize),
        ) else {
            return;
        };
        let is_element = match &global.ty {
            Type::Array(element, length) => {
                !matches!(**element, Type::Array(..)) && !(0..i64::from(*length)).contains(&i64::from(index))
            }
            _ => false,
        };
        let mut known = self.report.out_of_bounds.iter();
        let is_news = known.all(|known| (known.array, known.access.span) != (array, site.span));
        if is_element && is_news {
            let found = OutOfBounds {
                array,
                index,
                access: Access {
                    thread: u32::from(thread),
                    is_write,
                    span: site.span,
                    around: self.around(&site.position),
                },
                since: site.since.as_deref().cloned(),
            };
            self.report.out_of_bounds.push(found);
        }
    }

    /// Notes whether an array is filled in part, at the first store to it under a condition.
    pub fn note_filled_in_part(&mut self, array: GlobalId) {
        let Column::Lanes(guards) = self.state.guard.clone() else {
            return;
        };
        let is_noted = !self.noticed.conditional_fills.insert(array);
        if is_noted || self.over_approximates() || !self.remembers_reads() || self.state.active != self.all {
            return;
        }
        if let Some(filled) = self.filled_in_part(array, &guards) {
            self.noticed.filled_in_part.push(filled);
        }
    }

    fn report_undefined(&mut self, suspect: Suspect, used: Span) {
        let Some(site) = self.sites.get(suspect.site as usize) else {
            return;
        };
        let access = Access {
            thread: u32::from(suspect.thread),
            is_write: false,
            span: site.span,
            around: self.around(&site.position),
        };
        match suspect.cell {
            Cell::Outside(index) => {
                self.report_outside(suspect.array, index, suspect.thread, false, suspect.site);
            }
            Cell::Unwritten(cell) => {
                let index = self.element_of(suspect.array, cell);
                let mut known = self.report.uninitialised.iter();
                if known.all(|known| known.read.span != site.span) {
                    let found = Uninitialised {
                        array: suspect.array,
                        index,
                        read: access,
                        used,
                        given: Vec::new(),
                        since: site.since.as_deref().cloned(),
                        interval: suspect.interval,
                    };
                    self.report.uninitialised.push(found);
                }
            }
        }
    }
}

impl Terms {
    /// Whether a sum has a part that is no initial value of groupshared memory.
    fn holds_written(&self, value: &Value) -> bool {
        let is_initial =
            |atom: u32| matches!(self.term(atom), Some(Term::Apply(Op::Uninitialised { .. }, _)));
        value.atoms().any(|atom| !is_initial(atom))
    }

    /// Whether this is the initial value of this cell, to which nothing was written. The initial value of another
    /// cell, copied here, does not count.
    pub fn is_uninitialised(&self, value: &Value, array: Symbol, cell: u32) -> bool {
        let own = Op::Uninitialised { array, index: cell };
        matches!(self.single(value), Some(Term::Apply(op, _)) if *op == own)
    }
}
