//! What has happened to device memory: told by a number, the same only where the same has happened.
//!
//! What a thread loads from a resource that is written to is a function of what the threads have done to device memory
//! up to then, in which order, and which barriers they have passed. Each step of that is interned with the one before:
//! two loads with one number have one history, in whichever kernel. A count would not do: a load after a store is not
//! the one after another load, and a load before a barrier is not the one after it.
//!
//! Of barriers and fences those are in it that order something: which, [`crate::exec::device_order`] says.
//!
//! Of the stores only their kind, resource and threads are in it. What they store, and where, is compared by itself: each
//! thread's writes have to be the same ones in the same order, so as many of them are the same ones.

use crate::terms::column::Mask;
use crate::terms::{Symbol, Terms};

/// A step of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Load(Symbol, u32),
    Store(Symbol, u32),
    /// An atomic that tells what it has found.
    Atomic,
    /// A barrier that orders device memory, with the number of the condition under which it is passed; 0 for none.
    Barrier(u32),
    /// One that does not.
    Wait(u32),
    /// Device memory is ordered without waiting for the group: with what had happened when the group last waited.
    Fence {
        under: u32,
        waited: u32,
    },
    /// Statements that were not followed.
    Unfollowed,
}

/// A step, with the number of what came before it and the threads that took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Moment {
    before: u32,
    step: Step,
    threads: Mask,
}

/// How far a write has come in the barriers and fences ([`crate::exec::device_order`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ordered {
    /// The number of those that order what was done to device memory, without repetitions.
    pub passed: u32,
    /// Of all.
    pub events: u32,
    /// Barriers that order device memory.
    pub interval: u32,
}

impl Terms {
    /// The number of the history that is another one with this step of these threads.
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
