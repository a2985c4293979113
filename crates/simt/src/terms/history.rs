//! The history of device memory, interned as a number: equal numbers mean equal histories.
//!
//! What a thread loads from a writable resource is a function of what the threads have done to device memory up
//! to then, in which order, and which barriers they have passed. Each step is interned together with the
//! history before it, so two loads with one number have one history, even in two kernels. A count would not do:
//! it confuses a load after a store with one after another load, and a load before a barrier with the one after
//! it.
//!
//! The history contains the barriers and fences that order something; [`crate::exec::device_order`] defines
//! which do.
//!
//! Of a store, the history contains only its kind, resource and threads. The stored values and addresses are
//! compared separately: each thread must make the same writes in the same order, so after equally many writes,
//! these are the same ones.

use crate::terms::column::Mask;
use crate::terms::{Symbol, Terms};

/// A step of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Load(Symbol, u32),
    Store(Symbol, u32),
    /// An atomic that returns its old value.
    Atomic,
    /// A barrier that orders device memory, with the number of the condition under which the threads pass it; 0
    /// for none.
    Barrier(u32),
    /// A barrier that does not order device memory.
    Wait(u32),
    /// A fence that orders device memory without waiting for the group; `waited` is the history at the group's
    /// last wait.
    Fence {
        under: u32,
        waited: u32,
    },
    /// Statements that were not followed.
    Unfollowed,
}

/// A step, with the number of the history before it and the threads that take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Moment {
    before: u32,
    step: Step,
    threads: Mask,
}

/// Where a write lies among the barriers and fences ([`crate::exec::device_order`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ordered {
    /// The number of those passed that order accesses to device memory, without repetitions.
    pub passed: u32,
    /// The number of all barriers and fences.
    pub events: u32,
    /// The number of barriers that order device memory.
    pub interval: u32,
}

impl Terms {
    /// The number of the history `before`, extended by this step of these threads.
    pub fn history(&mut self, before: u32, step: Step, threads: Mask) -> u32 {
        let moment = Moment {
            before,
            step,
            threads,
        };
        let next = u32::try_from(self.moments.len() + 1).unwrap_or(u32::MAX);
        *self.moments.entry(moment).or_insert(next)
    }
}
