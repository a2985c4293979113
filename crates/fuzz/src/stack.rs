//! Runs targets on a deep stack: deeply nested text is parsed and dropped by recursion, and the program's threads
//! have deep stacks, too.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::Target;

/// The same size as in the program.
const STACK_SIZE: usize = 256 << 20;

struct Worker {
    inputs: SyncSender<(Target, Vec<u8>)>,
    done: Receiver<()>,
}

/// The one thread for all inputs: starting a thread for each would take longer than most inputs do.
static WORKER: OnceLock<Mutex<Worker>> = OnceLock::new();

/// Runs the target on a thread with a deep stack.
///
/// # Panics
/// If the target does. In a fuzzer, the target's panic ends the process first.
pub fn on_deep_stack(target: Target, bytes: &[u8]) {
    let worker = WORKER.get_or_init(|| {
        let (inputs, jobs) = sync_channel::<(Target, Vec<u8>)>(0);
        let (finished, done) = sync_channel(0);
        let work = move || {
            for (target, bytes) in jobs {
                target(&bytes);
                if finished.send(()).is_err() {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE).spawn(work);
        drop(thread.expect("a thread"));
        Mutex::new(Worker { inputs, done })
    });
    let worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
    let is_done = worker.inputs.send((target, bytes.to_vec())).is_ok() && worker.done.recv().is_ok();
    assert!(is_done, "the target panicked");
}
