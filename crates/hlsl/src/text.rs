//! The text of a file, and values derived from it.

use std::any::{Any, TypeId};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// The bytes of a file, with values that depend on them alone.
///
/// A header of an engine occurs in hundreds of translation units, and each is read under several sets of definitions.
/// Values that do not depend on these are computed once: see [`Text::derived`]. Clones share them.
#[derive(Clone)]
pub struct Text(Arc<Shared>);

struct Shared {
    bytes: Box<[u8]>,
    derived: Mutex<FxHashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// A value that depends on the text of a file alone: not on its path, the files that it includes, or definitions.
pub trait Derived: Any + Send + Sync {
    fn of(text: &Text) -> Self;
}

impl Text {
    /// The derived value of this type, computed on first use.
    ///
    /// Two concurrent threads may both compute it. No lock is held meanwhile, so `T::of` may use other derived
    /// values.
    #[must_use]
    pub fn derived<T: Derived>(&self) -> Arc<T> {
        let key = TypeId::of::<T>();
        let lock = || self.0.derived.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&key).cloned();
        if let Some(known) = known.and_then(|known| known.downcast::<T>().ok()) {
            return known;
        }
        let made = Arc::new(T::of(self));
        lock().insert(key, Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        made
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Text(Arc::new(Shared {
            bytes: bytes.into(),
            derived: Mutex::default(),
        }))
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl<const N: usize> From<&[u8; N]> for Text {
    fn from(bytes: &[u8; N]) -> Self {
        bytes.as_slice().into()
    }
}

impl From<&Vec<u8>> for Text {
    fn from(bytes: &Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Self {
        text.clone()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self))
    }
}
