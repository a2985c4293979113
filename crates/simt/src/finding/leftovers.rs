//! Where a construct leaves its result and its partial results.

use shaderlint_hlsl::{GlobalId, LocalId, Span};

/// LeftoverPlaces that hold something that a construct leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftoverPlaces {
    /// Groupshared arrays and their cells.
    pub cells: Vec<(GlobalId, u32)>,
    /// Variables, their components and threads.
    pub registers: Vec<(LocalId, u32, u32)>,
}

/// One place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeftoverPlace {
    Cell(GlobalId, u32),
    Register(LocalId, u32, u32),
}

impl LeftoverPlaces {
    pub fn add(&mut self, place: LeftoverPlace) {
        match place {
            LeftoverPlace::Cell(global, cell) => self.cells.push((global, cell)),
            LeftoverPlace::Register(local, component, thread) => {
                self.registers.push((local, component, thread));
            }
        }
    }

    pub fn append(&mut self, mut other: LeftoverPlaces) {
        self.cells.append(&mut other.cells);
        self.registers.append(&mut other.registers);
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.registers.is_empty()
    }
}

/// What a construct leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leftovers {
    /// The last statement of the construct.
    pub last: Span,
    /// For a reduction: the places of partial results.
    pub parts: LeftoverPlaces,
    /// The places of the result and of what the construct derives from it. Empty if the last statement may
    /// itself use the result.
    pub result: LeftoverPlaces,
}
