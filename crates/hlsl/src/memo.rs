//! What was worked out of a unit, kept as long as the unit is.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::tree::Shader;

/// One value of each type. What is changed in a copy of the unit may change them: a copy has none.
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

impl Shader {
    /// What `find` works out of the whole unit, which is done once for each type. The unit must not be changed after.
    pub fn once<T: Any + Send + Sync>(&self, find: impl FnOnce(&Shader) -> T) -> Arc<T> {
        let known = || {
            let known = self.memo.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().find_map(|one| Arc::clone(one).downcast().ok())
        };
        known().unwrap_or_else(|| {
            let found = Arc::new(find(self));
            let mut known = self.memo.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.push(found.clone());
            found
        })
    }
}
