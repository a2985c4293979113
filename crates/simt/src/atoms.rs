//! The elements a candidate works on, as free atoms.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use shaderlint_hlsl::{GlobalId, LocalId, Type};

use crate::column::Column;
use crate::effects::Effects;
use crate::finding::Elements;
use crate::machine::Machine;
use crate::value::Value;

/// A place that elements may be in: a component of an array's elements, or of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Cells(GlobalId, usize),
    Register(LocalId, usize),
}

/// The free atoms of a probe.
pub(crate) struct Atoms {
    pub first: u32,
    /// By atom: the place it stands for, and which element of it.
    origins: Vec<(Home, u32)>,
    /// Components of the elements of each array, where there are several.
    widths: FxHashMap<GlobalId, usize>,
}

impl Machine<'_> {
    /// Components of an array's elements; 1 where they are not vectors.
    pub fn width(&self, array: GlobalId) -> usize {
        match self.shader.globals.get(array.0 as usize).map(|global| &global.ty) {
            Some(Type::Array(element, _)) => match &**element {
                Type::Vector(_, width) => usize::from(*width).max(1),
                _ => 1,
            },
            _ => 1,
        }
    }

    /// Replaces every value that is not known in the touched arrays and the read variables by an atom; known cells too
    /// if told so.
    pub fn free(
        &mut self,
        touched: &BTreeSet<GlobalId>,
        effects: &Effects,
        frees_known_cells: bool,
    ) -> Atoms {
        let is_free = |cell: &Value| frees_known_cells || cell.known().is_none();
        let widths: FxHashMap<GlobalId, usize> = touched.iter().map(|id| (*id, self.width(*id))).collect();
        let width = |array: GlobalId| widths.get(&array).copied().unwrap_or(1);
        let mut origins: Vec<(Home, u32)> = Vec::new();
        let mut known: FxHashMap<Value, u32> = FxHashMap::default();
        let arrays = self.state.shared.iter();
        for array in arrays.filter(|array| touched.contains(&array.global)) {
            let width = width(array.global);
            for component in 0..width {
                let row = array.cells().iter().skip(component).step_by(width);
                for (index, cell) in (0u32..).zip(row).filter(|(_, cell)| is_free(cell)) {
                    known.entry(cell.clone()).or_insert(origins.len() as u32);
                    origins.push((Home::Cells(array.global, component), index));
                }
            }
        }
        // A variable that differs by thread: its values are atoms, those it shares with a cell the cell's.
        let mut registers: Vec<(LocalId, usize, Vec<u32>)> = Vec::new();
        let locals: BTreeSet<&LocalId> = effects.read.iter().chain(&effects.written).collect();
        for local in locals {
            let columns = self.state.frame.locals.get(local.0 as usize);
            for (component, column) in columns.into_iter().flatten().enumerate() {
                let Column::Lanes(values) = column else {
                    continue;
                };
                if values.iter().any(|value| value.known().is_some()) {
                    continue;
                }
                let shared: Option<Vec<u32>> = values.iter().map(|value| known.get(value).copied()).collect();
                let atoms = shared.unwrap_or_else(|| {
                    let start = origins.len() as u32;
                    let threads = 0..values.len() as u32;
                    origins.extend(threads.map(|thread| (Home::Register(*local, component), thread)));
                    (start..origins.len() as u32).collect()
                });
                registers.push((*local, component, atoms));
            }
        }
        let first = self.terms.inputs(origins.len() as u32);
        let mut next = first;
        let arrays = self.state.shared.iter_mut();
        for array in arrays.filter(|array| touched.contains(&array.global)) {
            let width = width(array.global);
            let (cells, _) = array.open();
            for component in 0..width {
                let row = cells.iter_mut().skip(component).step_by(width);
                for cell in row.filter(|cell| is_free(cell)) {
                    *cell = Value::atom(next);
                    next += 1;
                }
            }
        }
        for (local, component, atoms) in registers {
            let columns = self.state.frame.locals.get_mut(local.0 as usize);
            if let Some(column) = columns.and_then(|columns| columns.get_mut(component)) {
                *column = Column::Lanes(atoms.into_iter().map(|atom| Value::atom(first + atom)).collect());
            }
        }
        Atoms {
            first,
            origins,
            widths,
        }
    }
}

impl Atoms {
    fn origin(&self, atom: u32) -> Option<&(Home, u32)> {
        self.origins.get(atom.checked_sub(self.first)? as usize)
    }

    /// The place whose elements are `count` consecutive atoms from `first` on.
    pub fn elements(&self, first: u32, count: u32) -> Option<Elements> {
        let start = first.checked_sub(self.first)? as usize;
        let origins = self.origins.get(start..start + count as usize)?;
        let (home, offset) = *origins.first()?;
        let mut places = (offset..).zip(origins);
        if !places.all(|(index, origin)| *origin == (home, index)) {
            return None;
        }
        match home {
            Home::Cells(global, component) => Some(Elements::Array {
                global,
                offset,
                component: self.component(global, component),
            }),
            Home::Register(local, 0) if offset == 0 => Some(Elements::Register { local }),
            Home::Register(..) => None,
        }
    }

    /// Which component that is, where the array's elements have several.
    pub fn component(&self, global: GlobalId, component: usize) -> Option<u8> {
        let width = self.widths.get(&global).copied().unwrap_or(1);
        (width > 1).then_some(component as u8)
    }

    /// The one array, and one component of it, that all these atoms are from.
    pub fn array_of(&self, atoms: &[u32]) -> Option<GlobalId> {
        let home = |atom: u32| self.origin(atom).map(|(home, _)| *home);
        let own = home(*atoms.first()?)?;
        match own {
            Home::Cells(global, _) if atoms.iter().all(|atom| home(*atom) == Some(own)) => Some(global),
            _ => None,
        }
    }

    /// Which element of its place an atom is.
    pub fn place_of(&self, atom: u32) -> Option<u32> {
        self.origin(atom).map(|(_, element)| *element)
    }

    /// Whether `count` atoms from `first` on are all there are of their place.
    pub fn are_all(&self, first: u32, count: u32) -> bool {
        let home = |atom: u32| self.origin(atom).map(|(home, _)| *home);
        let own = home(first);
        own.is_some() && home(first.wrapping_sub(1)) != own && home(first + count) != own
    }

    /// A cell that still holds the atom it was given.
    pub fn is_untouched(&self, global: GlobalId, component: usize, index: u32, cell: &Value) -> bool {
        match cell {
            Value::Run { start, end, .. } if end - start == 1 => {
                self.origin(*start) == Some(&(Home::Cells(global, component), index))
            }
            _ => false,
        }
    }
}
