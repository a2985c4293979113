//! Values computed from a unit, kept as long as the unit.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// At most one value of each type. A change to a copy of the unit may invalidate them, so a copy starts empty.
#[derive(Default)]
pub struct Memo(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl Clone for Memo {
    fn clone(&self) -> Self {
        Memo::default()
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo")
    }
}

impl Memo {
    /// The value of this type, made by `find` if there is none as yet.
    pub(crate) fn get_or_make<T: Any + Send + Sync>(&self, find: impl FnOnce() -> T) -> Arc<T> {
        let known = || {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().find_map(|one| Arc::clone(one).downcast().ok())
        };
        known().unwrap_or_else(|| {
            let found = Arc::new(find());
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.push(found.clone());
            found
        })
    }
}
