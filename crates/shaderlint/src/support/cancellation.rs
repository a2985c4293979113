//! Ending work early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends work early. Who has a copy can say so, and who works asks now and then.
#[derive(Clone, Default)]
pub(crate) struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is(&self, other: &Cancellation) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Once it is set it stays so.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
