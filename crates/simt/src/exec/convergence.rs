//! What the run knows, and what it assumes, about whether the threads of the group stay together.

use std::rc::Rc;

use crate::terms::value::Value;

/// Whether the threads of the group stay together.
///
/// A barrier needs all of them. Where some may have left, the run *assumes* that all have stayed, and what it proves
/// holds for inputs for which they do.
///
/// What happens is *uncertain* if it is proved, but not known to happen for any input:
/// - from an assumption on for which the run knows no inputs: it may be *vacuous*;
/// - from code that is not understood up to the next barrier. The code may be a macro by which threads leave, and
///   threads that left pass no more barriers, so at the next one all are here again;
/// - during one access that a compiler may leave out
///   ([`Machine::uncertainly`](crate::exec::Machine::uncertainly)).
#[derive(Clone)]
pub(crate) struct Convergence {
    /// The guard that all live threads shared at the last of the kernel's outermost statements. Where it does not
    /// hold, the whole group has left by a `return`.
    group_guard: Value,
    /// The guard under which all threads have stayed; true if nothing is assumed.
    assumed: Value,
    /// Words of atoms under which it holds, in the first group, as far as they are known.
    inputs: Rc<Vec<(u32, u32)>>,
    may_be_vacuous: bool,
    is_uncertain: bool,
}

impl Convergence {
    /// The threads that enter a kernel.
    pub fn at_entry() -> Convergence {
        Convergence {
            group_guard: Value::TRUE,
            assumed: Value::TRUE,
            inputs: Rc::default(),
            may_be_vacuous: false,
            is_uncertain: false,
        }
    }

    /// Notes by which `return` the whole group may have left; barriers play no part. Called at the kernel's outermost
    /// statements, which threads miss only by a `return`, with the guard that all live threads share: all of them are
    /// here where it holds, and none where it does not.
    pub fn note_group_guard(&mut self, guard: &Value) {
        self.group_guard = guard.clone();
    }

    /// Whether the guard holds wherever the whole group has not left by a `return`. Where it has left, no thread reads
    /// groupshared memory any more.
    pub fn holds_unless_group_left(&self, guard: &Value) -> bool {
        *guard == self.group_guard
    }

    /// Assumes that this guard, which says that all threads are here, holds. `inputs` are words of atoms for which it
    /// does, if any are known.
    pub fn assume(&mut self, guard: Value, inputs: Option<Vec<(u32, u32)>>) {
        self.assumed = guard;
        if let Some(inputs) = inputs {
            self.inputs = Rc::new(inputs);
        } else {
            self.may_be_vacuous = true;
            self.is_uncertain = true;
        }
    }

    /// Whether the guard is the one that the run assumes.
    pub fn is_assumed(&self, guard: &Value) -> bool {
        *guard == self.assumed
    }

    /// Whether the run assumes anything.
    pub fn is_conditional(&self) -> bool {
        self.assumed != Value::TRUE
    }

    /// Words of atoms under which the assumption holds, in the first group.
    pub fn inputs(&self) -> &[(u32, u32)] {
        &self.inputs
    }

    /// Whether the run made an assumption without knowing inputs for which it holds.
    pub fn may_be_vacuous(&self) -> bool {
        self.may_be_vacuous
    }

    /// Whether it is unknown if what happens here happens for any input.
    pub fn is_uncertain(&self) -> bool {
        self.is_uncertain
    }

    /// Sets whether what follows is uncertain, up to the next barrier or the next such call.
    pub fn set_uncertain(&mut self, is_uncertain: bool) {
        self.is_uncertain = is_uncertain;
    }

    /// All threads wait for each other, so all that are left are here.
    pub fn reconverge(&mut self) {
        self.is_uncertain = self.may_be_vacuous;
    }
}
