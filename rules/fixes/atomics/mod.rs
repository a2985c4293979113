//! One atomic for each wave in the place of one for each thread.

pub(crate) mod few_cells;
mod known_proofs;
pub(crate) mod one_cell;
