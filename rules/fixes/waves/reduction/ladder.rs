//! The ladder that a form of a reduction replaces.

use std::fmt::Write;

use shaderlint_hlsl::{GlobalId, LocalId, Scalar, Shader, Type};
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Elements, LaneMap, Rewrite};

use crate::fixes::waves::form::neutral;
use crate::fixes::waves::operator::{combined, names, of_wave};
use crate::fixes::waves::totals::goes_with_size;
use crate::source::element::{array_of_elements, element_name};
use crate::source::names::local_name;

/// The most elements that a thread combines before its wave does.
const MOST_A_THREAD: u32 = 4;

/// A reduction, and what a form needs to know to replace it.
#[derive(Clone, Copy)]
pub(super) struct Ladder<'a> {
    pub context: &'a Context<'a>,
    pub reduction: &'a Collective,
    pub rewrite: &'a Rewrite,
}

/// Where the waves' totals are combined.
pub(super) struct Cell {
    pub array: String,
    pub index: u32,
    /// The thread whose own cell it is until then.
    pub owner: u32,
}

impl Cell {
    pub fn text(&self) -> String {
        format!("{}[{}]", self.array, self.index)
    }
}

impl<'a> Ladder<'a> {
    pub fn shader(&self) -> &'a Shader {
        self.context.shader
    }

    /// Threads of the group.
    pub fn lanes(&self) -> u32 {
        self.context.analysis.group_size.iter().product()
    }

    /// The elements that the ladder combines, in all blocks.
    pub fn elements(&self) -> u32 {
        self.reduction.count * self.reduction.blocks
    }

    /// `wanted` as a name for a variable of a form.
    pub fn name(&self, wanted: &str) -> String {
        local_name(self.shader(), self.reduction, wanted)
    }

    /// A variable of the function that holds the ladder.
    pub fn variable(&self, local: LocalId) -> Option<&'a str> {
        let function = self.context.function(self.reduction.function)?;
        Some(&function.locals.get(local.0 as usize)?.name)
    }

    /// The combination of a wave's lanes, of one value each.
    pub fn of_wave(&self, value: &str) -> String {
        let ty = self.reduction.element_name();
        of_wave(self.reduction.operator, self.reduction.element, &ty, value)
    }

    /// Whether a form with a name for the group's size, or without the size, is right for any size: it has no number
    /// that another size would change.
    pub fn is_right_for_any_size(&self) -> bool {
        let takes_first = !matches!(self.reduction.input, Elements::Array { offset: 1.., .. });
        let leaves_first = self.cell().is_none_or(|cell| cell.index == 0);
        self.reduction.count.is_multiple_of(self.lanes())
            && takes_first
            && leaves_first
            && goes_with_size(self.context, self.reduction, self.rewrite).is_none()
    }

    /// The packings of threads into waves for which a form is right: any, where an atomic combines the waves. Rows
    /// and quads of a group with one row are packed in order.
    pub fn packings(&self) -> &'static [LaneMap] {
        if atomic(self.reduction).is_none() {
            &[LaneMap::Linear]
        } else if self.context.has_rows() {
            &LaneMap::ALL
        } else {
            &[LaneMap::Linear, LaneMap::Ragged(1)]
        }
    }

    /// Statements that leave in variables the values that do not depend on the elements, except in those that need
    /// none.
    pub fn leave_live_values(&self, but: &[LocalId]) -> Option<String> {
        let mut text = String::new();
        let needed = { self.rewrite.live_values.iter() }.filter(|(local, _)| !but.contains(local));
        for (local, value) in needed {
            let _ = writeln!(text, "    {} = {value};", self.variable(*local)?);
        }
        Some(text)
    }

    /// Statements that leave the total, and the other values of the ladder, in variables.
    pub fn leave(&self, registers: &[LocalId], cell: &Cell) -> Option<String> {
        let mut text = String::new();
        for local in registers {
            let _ = writeln!(text, "    {} = {};", self.variable(*local)?, cell.text());
        }
        Some(text + &self.leave_live_values(&[])?)
    }

    /// The cell of the total; else the first cell that the ladder takes an element from, or passes one through.
    pub fn cell(&self) -> Option<Cell> {
        let (reduction, lanes) = (self.reduction, self.lanes());
        let input = match reduction.input {
            Elements::Array { global, offset, .. } => Some((global, offset)),
            _ => None,
        };
        let output = match reduction.output {
            Elements::Cell { global, index, .. } => Some((global, index)),
            _ => None,
        };
        let passed = reduction.arrays.iter().map(|array| (*array, 0));
        let places: Vec<(GlobalId, u32)> = match output {
            Some(output) => vec![output],
            None => input.into_iter().chain(passed).collect(),
        };
        let (array, index, name) = places.into_iter().find_map(|(array, index)| {
            Some((array, index, array_of_elements(self.shader(), reduction, array)?))
        })?;
        let owner = match input {
            Some((of_input, offset)) if of_input == array => index.checked_sub(offset)? % lanes,
            _ => index % lanes,
        };
        Some(Cell {
            array: name.to_owned(),
            index,
            owner,
        })
    }

    /// A thread's own elements, combined, with the name `size` for the number of threads or with a number.
    pub fn own_elements(&self, size: Option<&str>) -> Option<String> {
        let (shader, reduction, lanes) = (self.shader(), self.reduction, self.lanes());
        let index = &self.rewrite.lane;
        match reduction.input {
            Elements::Register {
                local,
                component: None,
            } => Some(self.variable(local)?.to_owned()),
            Elements::Array {
                global,
                offset,
                component: None,
                ..
            } => {
                let name = array_of_elements(shader, reduction, global)?;
                let element = |after: u32| match after {
                    0 => format!("{name}[{index}]"),
                    after => format!("{name}[{index} + {after}]"),
                };
                let all = self.elements();
                if all < lanes {
                    let ty = element_name(shader, reduction)?;
                    let neutral = neutral(reduction.operator, reduction.element, &ty);
                    let count = reduction.count;
                    return Some(format!("{index} < {count} ? {} : {neutral}", element(offset)));
                }
                let elements = all / lanes;
                if !all.is_multiple_of(lanes) || elements > MOST_A_THREAD {
                    return None;
                }
                if size.is_some() && offset > 0 {
                    return None;
                }
                let further = |number: u32| match (size, number) {
                    (None, _) => element(offset + number * lanes),
                    (Some(size), 1) => format!("{name}[{index} + {size}]"),
                    (Some(size), _) => format!("{name}[{index} + {number} * {size}]"),
                };
                Some((1..elements).fold(element(offset), |all, number| {
                    combined(reduction.operator, &all, &further(number))
                }))
            }
            _ => None,
        }
    }
}

/// The atomic that combines by the reduction's operator.
pub(crate) fn atomic(reduction: &Collective) -> Option<&'static str> {
    let is_word = matches!(reduction.element_type(), Type::Scalar(Scalar::Int | Scalar::Uint));
    names(reduction.operator).atomic.filter(|_| is_word)
}
