//! Shrinks a difference to a small dispatch and few inputs.

use std::time::{Duration, Instant};

use shaderlint_hlsl::Scalar;

use super::trial::TrialRun;
use super::{Case, Difference, Inputs, RunError};
use crate::{Binding, BindingKind};

/// The search runs both kernels at most this often, and starts no run after this many seconds: one run may take long.
const BUDGET: u32 = 64;
const BUDGET_S: u64 = 20;

/// The smallest dispatch with a difference that was found, with the fewest inputs that still show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimal {
    pub groups: [u32; 3],
    /// The first non-zero words of read-only buffers, in order.
    pub inputs: Vec<InputWord>,
    /// The total number of such words.
    pub input_count: u64,
    pub difference: Difference,
}

/// One component of an element of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputWord {
    /// The binding's name.
    pub binding: String,
    pub element: u64,
    /// As in [`Difference::index`].
    pub index: Vec<u64>,
    pub word: u32,
    pub scalar: Scalar,
    pub bits: u32,
}

/// [`Minimal::inputs`] lists at most this many words.
const SHOWN: usize = 8;

/// Tries fewer groups, then sets inputs to zero in halves, quarters and so on while a difference remains: after Zeller and
/// Hildebrandt, *Simplifying and isolating failure-inducing input*, 2002.
/// `None` if the difference does not show again.
pub(super) fn minimise(run: &TrialRun<'_>, case: &Case) -> Result<Option<Minimal>, RunError> {
    let (mut budget, start) = (BUDGET, Instant::now());
    let mut differs = |inputs: &Inputs, groups: [u32; 3]| -> Result<Option<Difference>, RunError> {
        budget = budget.saturating_sub(1);
        if budget == 0 || start.elapsed() > Duration::from_secs(BUDGET_S) {
            return Ok(None);
        }
        Ok(run.compare(inputs, groups)?.first)
    };
    let [x, ..] = case.groups;
    let smaller = (1..x).map(|x| [x, 1, 1]).chain([case.groups]);
    let mut found = None;
    for groups in smaller {
        let inputs = run.trial.inputs(&Case {
            groups,
            ..case.clone()
        });
        if let Some(difference) = differs(&inputs, groups)? {
            found = Some((groups, inputs, difference));
            break;
        }
    }
    let Some((groups, mut inputs, mut difference)) = found else {
        return Ok(None);
    };
    let bindings: Vec<Binding> = (run.trial.flagged.bindings.iter())
        .filter(|binding| binding.kind == BindingKind::ReadOnlyStorage)
        .cloned()
        .collect();
    let mut left = words(&bindings, &inputs);
    let mut size = left.len();
    while size > 0 {
        let mut start = 0;
        while start < left.len() {
            let end = (start + size).min(left.len());
            let mut fewer = inputs.clone();
            for word in left.get(start..end).unwrap_or_default() {
                word.clear(&bindings, &mut fewer);
            }
            match differs(&fewer, groups)? {
                Some(seen) => {
                    (inputs, difference) = (fewer, seen);
                    left.drain(start..end);
                }
                None => start = end,
            }
        }
        size /= 2;
    }
    Ok(Some(Minimal {
        groups,
        input_count: u64::try_from(left.len()).unwrap_or(u64::MAX),
        inputs: left.into_iter().take(SHOWN).collect(),
        difference,
    }))
}

/// The non-zero words.
fn words(bindings: &[Binding], inputs: &Inputs) -> Vec<InputWord> {
    let mut words = Vec::new();
    for binding in bindings {
        let Some(bytes) = inputs.buffers.get(&binding.name) else {
            continue;
        };
        let stride = binding.element.stride.max(4) as usize;
        for (element, bytes) in (0u64..).zip(bytes.chunks_exact(stride)) {
            for (number, word) in (0u32..).zip(&binding.element.words) {
                let bits = super::compare::word_at(bytes, word.offset).unwrap_or(0);
                if bits != 0 {
                    words.push(InputWord {
                        binding: binding.name.clone(),
                        element,
                        index: inputs.index(binding, element),
                        word: number,
                        scalar: word.scalar,
                        bits,
                    });
                }
            }
        }
    }
    words
}

impl InputWord {
    fn clear(&self, bindings: &[Binding], inputs: &mut Inputs) {
        let Some(binding) = bindings.iter().find(|binding| binding.name == self.binding) else {
            return;
        };
        let Some(offset) = binding.element.words.get(self.word as usize).map(|w| w.offset) else {
            return;
        };
        let stride = u64::from(binding.element.stride.max(4));
        let start = usize::try_from(self.element * stride + u64::from(offset)).unwrap_or(usize::MAX);
        let bytes = inputs.buffers.get_mut(&self.binding);
        let word = bytes.and_then(|bytes| bytes.get_mut(start..start.checked_add(4)?));
        if let Some(word) = word {
            word.fill(0);
        }
    }
}
