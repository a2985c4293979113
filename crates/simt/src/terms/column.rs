//! One value per thread, and sets of threads.

use std::rc::Rc;

use crate::facts::kernel::MAX_THREADS;
use crate::terms::value::Value;

/// A set of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Mask([u64; MAX_THREADS / 64]);

impl Mask {
    pub const EMPTY: Mask = Mask([0; MAX_THREADS / 64]);

    /// The first `count` threads.
    pub fn first(count: usize) -> Mask {
        let mut mask = Mask::EMPTY;
        for (word, bits) in mask.0.iter_mut().enumerate() {
            let left = count.saturating_sub(word * 64);
            *bits = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
        }
        mask
    }

    pub fn contains(&self, thread: usize) -> bool {
        self.0
            .get(thread / 64)
            .is_some_and(|word| word >> (thread % 64) & 1 == 1)
    }

    pub fn insert(&mut self, thread: usize) {
        if let Some(word) = self.0.get_mut(thread / 64) {
            *word |= 1 << (thread % 64);
        }
    }

    /// The first `lanes` threads as words, one bit per thread.
    pub fn words(self, lanes: usize) -> impl Iterator<Item = u32> {
        let words = self
            .0
            .into_iter()
            .flat_map(|word| [word as u32, (word >> 32) as u32]);
        words.take(lanes.div_ceil(32))
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn or(mut self, other: Mask) -> Mask {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
        self
    }

    pub fn and(mut self, other: Mask) -> Mask {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word &= more;
        }
        self
    }

    pub fn without(mut self, other: Mask) -> Mask {
        for (word, less) in self.0.iter_mut().zip(other.0) {
            *word &= !less;
        }
        self
    }

    /// The threads in ascending order.
    pub fn threads(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(index, mut word)| {
            std::iter::from_fn(move || {
                if word == 0 {
                    return None;
                }
                let bit = word.trailing_zeros() as usize;
                word &= word - 1;
                Some(index * 64 + bit)
            })
        })
    }
}

/// One value for each thread of the group. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Column {
    /// All threads have the same value.
    Uniform(Value),
    /// By thread. The entries of inactive threads are meaningless.
    Lanes(Rc<[Value]>),
}

/// A column opened for reading thread by thread, without a branch on its variant.
#[derive(Clone, Copy)]
pub(crate) struct Row<'c> {
    values: &'c [Value],
    /// 0 if all threads share the first value.
    step: usize,
}

impl<'c> Row<'c> {
    #[inline]
    pub fn at(self, thread: usize) -> &'c Value {
        self.values.get(thread * self.step).unwrap_or(&Value::Known(0))
    }
}

impl Column {
    pub fn row(&self) -> Row<'_> {
        match self {
            Column::Uniform(value) => Row {
                values: std::slice::from_ref(value),
                step: 0,
            },
            Column::Lanes(values) => Row { values, step: 1 },
        }
    }

    pub const ZERO: Column = Column::Uniform(Value::Known(0));

    pub fn at(&self, thread: usize) -> &Value {
        match self {
            Column::Uniform(value) => value,
            Column::Lanes(values) => values.get(thread).unwrap_or(&Value::Known(0)),
        }
    }

    /// The value that all threads of `mask` share, if they do.
    pub fn uniform(&self, mask: Mask) -> Option<&Value> {
        match self {
            Column::Uniform(value) => Some(value),
            Column::Lanes(_) => {
                let mut threads = mask.threads();
                let first = self.at(threads.next()?);
                threads.all(|thread| self.at(thread) == first).then_some(first)
            }
        }
    }

    pub fn from_fn(lanes: usize, value: impl FnMut(usize) -> Value) -> Column {
        Column::Lanes((0..lanes).map(value).collect())
    }

    /// This column with `other`'s values at the threads of `mask`; `all` is the set of all threads.
    pub fn overlay(&self, other: &Column, mask: Mask, all: Mask, lanes: usize) -> Column {
        if mask == all {
            return other.clone();
        }
        if let (Column::Uniform(old), Column::Uniform(new)) = (self, other)
            && old == new
        {
            return self.clone();
        }
        Column::from_fn(lanes, |thread| {
            if mask.contains(thread) {
                other.at(thread).clone()
            } else {
                self.at(thread).clone()
            }
        })
    }
}
