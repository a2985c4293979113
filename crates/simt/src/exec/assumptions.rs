//! What a run takes to be so.

use std::collections::BTreeSet;

use shaderlint_hlsl::GlobalId;

use crate::exec::Observer;
use crate::exec::assumed_barriers::Supposed;
use crate::exec::{Machine, Read};
use crate::facts::kernel::Kernel;
use crate::terms::Terms;
use crate::waves::Waves;

/// What a run takes to be so.
#[derive(Clone, Copy, Default)]
pub(crate) struct Assumptions<'s> {
    /// Resources that are seen through windows.
    pub windows: &'s [(GlobalId, u32)],
    /// It is the first group: where elements are counted by `SV_DispatchThreadID`, it is the only one.
    pub is_first_group: bool,
    /// Reads of groupshared memory that may find anything.
    pub finds_anything: Option<&'s BTreeSet<Read>>,
    /// Barriers that the kernel does not have.
    pub supposed: Option<&'s Supposed>,
    /// Nothing but defects is looked for.
    pub defects_alone: bool,
    /// Long loops in which the threads do nothing together are not followed to their end.
    pub skims: bool,
}

impl<'s> Assumptions<'s> {
    /// The same of a run that leaves nothing out.
    pub fn to_the_full(self) -> Assumptions<'s> {
        Assumptions { skims: false, ..self }
    }

    /// The kernel is run as it is: not through windows, and with no read taken to find anything.
    pub fn is_of_kernel_itself(self) -> bool {
        self.windows.is_empty() && self.finds_anything.is_none()
    }

    /// The group of a kernel about to run under these assumptions, as [`Machine::new`] makes it.
    pub fn machine<'m, O: Observer>(
        self,
        kernel: Kernel<'m>,
        terms: &'m mut Terms,
        waves: Waves,
        budget: u64,
    ) -> Option<Machine<'m, O>>
    where
        's: 'm,
    {
        let mut machine = Machine::new(kernel, terms, waves, budget)?;
        machine.open_windows(self.windows);
        machine.assuming = self;
        Some(machine)
    }
}
