//! Cancels work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A token that cancels work: whoever has a copy can set it, and the work asks for it now and then.
#[derive(Clone, Default)]
pub(crate) struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is(&self, other: &Cancellation) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Once set, it stays set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
