//! Replaces the elements that a candidate works on by free atoms.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use shaderlint_hlsl::{GlobalId, LocalId};

use crate::detect::Detectors;
use crate::exec::Machine;
use crate::facts::effects::Effects;
use crate::facts::layout::Layout;
use crate::finding::Elements;
use crate::terms::column::Column;
use crate::terms::value::Value;

/// Which values become atoms.
#[derive(Clone, Copy)]
pub(crate) struct Freeing {
    /// Known cells become atoms too.
    pub known_cells: bool,
    /// If several rows hold a variable's values, it takes the last one instead of the first.
    pub from_last: bool,
}

/// The maximum number of rows recorded for one value.
const MAX_HOLDERS: usize = 8;

/// A place that elements may be in: one component of an array's elements or of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Cells(GlobalId, usize),
    Register(LocalId, usize),
}

/// By value: the first cell of each row that contains it.
type Holders = FxHashMap<Value, Vec<(Home, u32)>>;

/// The free atoms of a probe.
pub(crate) struct Atoms {
    pub first: u32,
    /// By atom: its place, and the element of the place.
    origins: Vec<(Home, u32)>,
    layouts: Layouts,
    /// Variable components that hold the values of cells, by thread.
    pub twins: Vec<Twin>,
    /// For some written variable, several rows hold its values.
    pub has_choice: bool,
}

/// The proof assumes that the variable and these cells are equal at the start.
pub(crate) struct Twin {
    pub local: LocalId,
    pub component: usize,
    /// By thread: the array and cell with the thread's value, if any.
    pub cells: Vec<Option<(GlobalId, usize)>>,
}

/// How the cells of the touched arrays and the components of variables are laid out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layouts {
    /// `None` for an array whose elements do not consist of scalars, or of too many.
    arrays: FxHashMap<GlobalId, Option<Layout>>,
    /// Variables with several components.
    vectors: BTreeSet<LocalId>,
}

impl Layouts {
    pub fn array(&self, global: GlobalId) -> Option<&Layout> {
        self.arrays.get(&global)?.as_ref()
    }

    /// The component's number, if an array's elements have several components.
    pub fn component(&self, global: GlobalId, component: usize) -> Option<u8> {
        let layout = self.array(global).filter(|layout| layout.width() > 1);
        layout.map(|_| component as u8)
    }

    pub fn axis(&self, global: GlobalId) -> u8 {
        self.array(global).map_or(0, |layout| layout.axis)
    }
}

impl Machine<'_, Detectors> {
    /// The layouts of the arrays, with elements counted along `axis`.
    pub fn layouts(&self, touched: &BTreeSet<GlobalId>, axis: u8) -> Layouts {
        let layout =
            |id: &GlobalId| Layout::of(self.shader, &self.shader.globals.get(id.0 as usize)?.ty, axis);
        let arrays = touched.iter().map(|id| (*id, layout(id))).collect();
        let locals = self.function().map_or(&[][..], |function| &function.locals);
        let is_vector = |local: &shaderlint_hlsl::Local| self.shader.components(&local.ty) > 1;
        let vectors = (0u32..).zip(locals).filter(|(_, local)| is_vector(local));
        Layouts {
            arrays,
            vectors: vectors.map(|(id, _)| LocalId(id)).collect(),
        }
    }

    /// Replaces every unknown value in the touched arrays and read variables by an atom.
    pub fn free(
        &mut self,
        layouts: Layouts,
        effects: &Effects,
        Freeing {
            known_cells: frees_known_cells,
            from_last,
        }: Freeing,
    ) -> Atoms {
        let is_free = |cell: &Value| frees_known_cells || cell.known().is_none();
        let mut origins: Vec<(Home, u32)> = Vec::new();
        let mut known = Holders::default();
        for array in &self.state.shared {
            let Some(layout) = layouts.array(array.global) else {
                continue;
            };
            for (component, rank, cell) in layout.cells(array.cells().len()) {
                if let Some(cell) = array.cells().get(cell).filter(|cell| is_free(cell)) {
                    let home = Home::Cells(array.global, component);
                    let holders = known.entry(cell.clone()).or_default();
                    if holders.len() < MAX_HOLDERS && !holders.iter().any(|(other, _)| *other == home) {
                        holders.push((home, origins.len() as u32));
                    }
                    origins.push((home, rank));
                }
            }
        }
        // A variable that differs by thread becomes atoms. A value that a cell holds too becomes the cell's
        // atom.
        let mut registers: Vec<(LocalId, usize, Vec<u32>)> = Vec::new();
        let mut mixed: Vec<(LocalId, usize)> = Vec::new();
        let mut twins: Vec<Twin> = Vec::new();
        let mut taken = Vec::new();
        let locals: BTreeSet<&LocalId> = effects.read.iter().chain(&effects.written).collect();
        for local in locals {
            let columns = self.state.frame.locals.get(local.0 as usize);
            for (component, column) in columns.into_iter().flatten().enumerate() {
                let Column::Lanes(values) = column else {
                    continue;
                };
                // If some threads' values are known, the others stand for elements only if a cell holds them
                // too.
                if values.iter().any(|value| self.terms.is_place(value)) {
                    if !values.iter().all(|value| self.terms.is_place(value)) {
                        mixed.push((*local, component));
                    }
                    continue;
                }
                let taken = effects.written.contains(local).then_some(&mut taken);
                let shared = shared_cells(&known, values, taken, from_last);
                if let Some(atoms) = &shared {
                    let cells = atoms.iter().map(|atom| cell_of(&layouts, &origins, *atom));
                    twins.push(Twin {
                        local: *local,
                        component,
                        cells: cells.collect(),
                    });
                }
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
        self.put_in_cells(first, &layouts, is_free);
        for (local, component, atoms) in registers {
            let columns = self.state.frame.locals.get_mut(local.0 as usize);
            if let Some(column) = columns.and_then(|columns| columns.get_mut(component)) {
                *column = Column::Lanes(atoms.into_iter().map(|atom| Value::atom(first + atom)).collect());
            }
        }
        let mut atoms = Atoms {
            first,
            origins,
            layouts,
            twins,
            has_choice: !taken.is_empty(),
        };
        for (local, component) in mixed {
            let twin = self.put_in_mixed(&atoms, &known, local, component);
            atoms.twins.extend(twin);
        }
        atoms
    }

    /// Puts the atoms from `first` on into the free cells of the arrays.
    fn put_in_cells(&mut self, first: u32, layouts: &Layouts, is_free: impl Fn(&Value) -> bool) {
        let mut next = first;
        for array in &mut self.state.shared {
            let Some(layout) = layouts.arrays.get(&array.global) else {
                continue;
            };
            let (cells, _) = array.open();
            let Some(layout) = layout else {
                for cell in cells.iter_mut().filter(|cell| is_free(cell)) {
                    *cell = self.terms.fresh();
                }
                continue;
            };
            for (.., cell) in layout.cells(cells.len()) {
                if let Some(cell) = cells.get_mut(cell).filter(|cell| is_free(cell)) {
                    *cell = Value::atom(next);
                    next += 1;
                }
            }
        }
    }

    /// Frees a variable component that is known for some threads. It becomes the atom of the cell with the same
    /// value, if that cell is free and the thread's own; a known value stays otherwise.
    fn put_in_mixed(
        &mut self,
        atoms: &Atoms,
        known: &Holders,
        local: LocalId,
        component: usize,
    ) -> Option<Twin> {
        let Atoms {
            first,
            origins,
            layouts,
            ..
        } = atoms;
        let columns = self.state.frame.locals.get_mut(local.0 as usize)?;
        let Column::Lanes(values) = columns.get_mut(component)? else {
            return None;
        };
        let is_own = |atom: u32, thread: usize| match origins.get(atom as usize) {
            Some((Home::Cells(global, _), rank)) => {
                let length = layouts.array(*global).map_or(1, Layout::row_length);
                *rank as usize % length.max(1) == thread
            }
            _ => false,
        };
        let mut cells = vec![None; values.len()];
        let freed = values.iter().enumerate().map(|(thread, value)| {
            let mut holders = known.get(value).into_iter().flatten();
            match holders.find(|(_, atom)| is_own(*atom, thread)) {
                Some((_, atom)) => {
                    cells[thread] = cell_of(layouts, origins, *atom);
                    Value::atom(first + atom)
                }
                None if self.terms.is_place(value) => value.clone(),
                None => self.terms.fresh(),
            }
        });
        *values = freed.collect();
        Some(Twin {
            local,
            component,
            cells,
        })
    }
}

/// The cells that hold the values of a variable. Several rows may hold all of them: for example, `lo` and `hi`
/// begin as one value, and each is stored in an array of its own. A written variable then takes a row that no
/// earlier variable has `taken`. Any choice is sound, as the rows hold the same values.
fn shared_cells(
    known: &Holders,
    values: &[Value],
    taken: Option<&mut Vec<Home>>,
    from_last: bool,
) -> Option<Vec<u32>> {
    let in_row = |home: Home| {
        let cells = values.iter().map(|value| {
            let (_, atom) = known.get(value)?.iter().find(|(own, _)| *own == home)?;
            Some(*atom)
        });
        Some((home, cells.collect::<Option<Vec<u32>>>()?))
    };
    let homes = known.get(values.first()?)?.iter();
    let mut rows: Vec<(Home, Vec<u32>)> = homes.filter_map(|(home, _)| in_row(*home)).collect();
    if rows.is_empty() {
        let firsts = values.iter().map(|value| Some(known.get(value)?.first()?.1));
        return firsts.collect();
    }
    if from_last {
        rows.reverse();
    }
    let mut number = 0;
    if let Some(taken) = taken.filter(|_| rows.len() > 1) {
        let free = rows.iter().position(|(home, _)| !taken.contains(home));
        number = free.unwrap_or(0);
        taken.push(rows[number].0);
    }
    Some(rows.swap_remove(number).1)
}

fn cell_of(layouts: &Layouts, origins: &[(Home, u32)], atom: u32) -> Option<(GlobalId, usize)> {
    match origins.get(atom as usize)? {
        (Home::Cells(global, component), rank) => {
            let layout = layouts.array(*global)?;
            Some((*global, layout.cell(*rank as usize, *component)))
        }
        (Home::Register(..), _) => None,
    }
}

impl Atoms {
    fn origin(&self, atom: u32) -> Option<&(Home, u32)> {
        self.origins.get(atom.checked_sub(self.first)? as usize)
    }

    /// The place whose elements are the `count` consecutive atoms from `first` on.
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
                component: self.layouts.component(global, component),
                axis: self.layouts.axis(global),
            }),
            Home::Register(local, component) => (offset == 0).then(|| Elements::Register {
                local,
                component: self.layouts.vectors.contains(&local).then_some(component as u8),
            }),
        }
    }

    /// The array that all these atoms come from, if they all come from one component of it, and the atoms,
    /// sorted and without duplicates.
    pub fn of_one_array(&self, atoms: impl Iterator<Item = u32>) -> Option<(GlobalId, Vec<u32>)> {
        let mut own: Option<Home> = None;
        let mut all: Vec<u32> = Vec::new();
        for atom in atoms {
            let (home, _) = *self.origin(atom)?;
            if *own.get_or_insert(home) != home {
                return None;
            }
            all.push(atom);
        }
        all.sort_unstable();
        all.dedup();
        match own? {
            Home::Cells(global, _) => Some((global, all)),
            Home::Register(..) => None,
        }
    }

    /// The element number of an atom within its place.
    pub fn place_of(&self, atom: u32) -> Option<u32> {
        self.origin(atom).map(|(_, element)| *element)
    }

    /// The atom of another element of the same place.
    pub fn beside(&self, atom: u32, element: u32) -> Option<u32> {
        let (home, own) = *self.origin(atom)?;
        let other = (atom + element).checked_sub(own)?;
        (self.origin(other) == Some(&(home, element))).then_some(other)
    }

    /// Whether the `count` atoms from `first` on are all elements of their place, or all along its axis.
    pub fn are_all(&self, first: u32, count: u32) -> bool {
        if let Some((Home::Cells(global, _), offset)) = self.origin(first)
            && let Some(layout) = self.layouts.array(*global)
            && count as usize == layout.row_length()
        {
            return offset.is_multiple_of(count);
        }
        let home = |atom: u32| self.origin(atom).map(|(home, _)| *home);
        let own = home(first);
        own.is_some() && home(first.wrapping_sub(1)) != own && home(first + count) != own
    }

    /// Whether a cell still holds its own atom.
    pub fn is_untouched(&self, global: GlobalId, component: usize, index: u32, cell: &Value) -> bool {
        match cell {
            Value::Run { start, end, .. } if end - start == 1 => {
                self.origin(*start) == Some(&(Home::Cells(global, component), index))
            }
            _ => false,
        }
    }
}
