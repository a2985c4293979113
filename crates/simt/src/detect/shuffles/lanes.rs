//! Recognises a scan or total of the lanes' initial values, in every wave.

use shaderlint_hlsl::{LocalId, Scalar};

use crate::detect::collectives::pattern;
use crate::finding::{Elements, Holders, Kind};
use crate::terms::column::Column;
use crate::terms::operator::Operator;
use crate::terms::value::Value;

/// A variable of the lanes holds this in every wave.
#[derive(Clone, PartialEq)]
pub(crate) struct Pattern {
    pub kind: Kind,
    pub reversed: bool,
    pub operator: Operator,
    pub element: Scalar,
    pub input: Elements,
    pub output: Elements,
    pub holders: Holders,
}

/// The free atoms: one block per component, with the active lanes of one wave after the other.
pub(crate) struct Lanes {
    pub first: u32,
    /// By block: the place that its atoms stand for.
    pub homes: Vec<Elements>,
    /// By wave: its active threads, ascending by lane.
    pub waves: Vec<Vec<usize>>,
    pub threads: usize,
}

/// A form in which lanes may hold the result.
#[derive(Clone, Copy)]
struct Form {
    kind: Kind,
    reversed: bool,
    holders: Holders,
}

impl Lanes {
    /// The scan or total of one block that a column holds, if any.
    pub fn holds(&self, place: &Elements, scalar: Scalar, column: &Column, totals: bool) -> Option<Pattern> {
        let mut values = self.waves.iter().flatten().map(|thread| column.at(*thread));
        let operator = values.find_map(|value| pattern::run(value)?.0)?;
        if !operator.is_on(scalar) {
            return None;
        }
        let form = |kind, reversed, holders| Form {
            kind,
            reversed,
            holders,
        };
        let forms: &[Form] = if totals {
            &[
                form(Kind::Reduction, false, Holders::AllLanes),
                form(Kind::Reduction, false, Holders::FirstLane),
            ]
        } else {
            &[
                form(Kind::InclusiveScan, false, Holders::AllLanes),
                form(Kind::ExclusiveScan, false, Holders::AllLanes),
                form(Kind::InclusiveScan, true, Holders::AllLanes),
                form(Kind::ExclusiveScan, true, Holders::AllLanes),
            ]
        };
        let blocks = || (0u32..).zip(&self.homes);
        let (form, home) = forms.iter().find_map(|form| {
            let mut blocks = blocks();
            let (_, home) = blocks.find(|(block, _)| self.is_of_form(*form, *block, operator, column))?;
            Some((*form, home))
        })?;
        let Form {
            kind,
            reversed,
            holders,
        } = form;
        Some(Pattern {
            kind,
            reversed,
            operator,
            element: scalar,
            input: home.clone(),
            output: place.clone(),
            holders,
        })
    }

    fn is_of_form(&self, form: Form, block: u32, operator: Operator, column: &Column) -> bool {
        let mut start = self.first + block * self.threads as u32;
        self.waves.iter().all(|wave| {
            let count = wave.len() as u32;
            let end = start + count;
            let holds = (0..count).zip(wave).all(|(lane, thread)| {
                let (from, to) = match (form.kind, form.reversed) {
                    (Kind::InclusiveScan, false) => (start, start + lane + 1),
                    (Kind::InclusiveScan, true) => (start + lane, end),
                    (Kind::ExclusiveScan, false) => (start, start + lane),
                    (Kind::ExclusiveScan, true) => (start + lane + 1, end),
                    (Kind::Reduction, _) => {
                        let is_held = match form.holders {
                            Holders::AllLanes => true,
                            Holders::FirstLane => lane == 0,
                        };
                        if !is_held {
                            return true;
                        }
                        (start, end)
                    }
                };
                match column.at(*thread) {
                    Value::Known(word) => from == to && *word == operator.identity(),
                    value => pattern::run(value).is_some_and(|(own, first, last)| {
                        (first, last) == (from, to) && own.is_none_or(|own| own == operator)
                    }),
                }
            });
            start = end;
            holds
        })
    }
}

/// Component `component` of a variable with `count` components.
pub(crate) fn register(local: LocalId, component: usize, count: usize) -> Elements {
    Elements::Register {
        local,
        component: (count > 1).then_some(component as u8),
    }
}
