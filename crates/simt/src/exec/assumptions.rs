//! What a run assumes.

use std::collections::BTreeSet;

use shaderlint_hlsl::GlobalId;

use crate::exec::Observer;
use crate::exec::assumed_barriers::AssumedBarriers;
use crate::exec::undef_flow::FilledInPart;
use crate::exec::{Machine, Read, RunMode};
use crate::facts::kernel::Kernel;
use crate::terms::Terms;
use crate::waves::Waves;

/// What a run assumes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Assumptions<'s> {
    /// Resources that are modelled through tiles.
    pub tiles: &'s [(GlobalId, u32)],
    /// The run is of the first group: where `SV_DispatchThreadID` counts elements, of the only group.
    pub is_first_group: bool,
    /// Reads of groupshared memory that may return any value.
    pub finds_anything: Option<&'s BTreeSet<Read>>,
    /// Barriers that the kernel does not have.
    pub barriers: Option<&'s AssumedBarriers>,
    /// The host sets bounds that leave some elements of this array unwritten. The run reports only threads within the
    /// bounds that combine written and unwritten elements.
    pub filled: Option<&'s FilledInPart>,
    /// The run skims from its start ([`Limits::skims`](crate::exec::Limits::skims)).
    pub skims: bool,
}

impl<'s> Assumptions<'s> {
    /// The same assumptions for a run that leaves nothing out.
    pub fn to_the_full(self) -> Assumptions<'s> {
        Assumptions { skims: false, ..self }
    }

    /// Whether the kernel runs as it is: without tiles, and with no read assumed to return any value.
    pub fn is_of_kernel_itself(self) -> bool {
        self.tiles.is_empty() && self.finds_anything.is_none()
    }

    /// The group of a kernel about to run under these assumptions, as [`Machine::new`] makes it.
    pub fn new_machine<'m, O: Observer>(
        self,
        kernel: Kernel<'m>,
        terms: &'m mut Terms,
        waves: Waves,
        mode: RunMode,
        budget: u64,
    ) -> Option<Machine<'m, O>>
    where
        's: 'm,
    {
        let mut machine = Machine::new(kernel, terms, waves, mode, budget)?;
        machine.open_tiles(self.tiles);
        machine.assuming = self;
        machine.limits.skims = self.skims;
        Some(machine)
    }
}
