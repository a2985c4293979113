//! Cancellation of work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that cancels work. Any clone can set it; the worker polls it.
#[derive(Clone, Default)]
pub(crate) struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is(&self, other: &Cancellation) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Once set, the flag stays set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
