//! Gives up on drivers that hang.

use std::sync::mpsc;
use std::time::Duration;

use super::{RunError, guarded};

/// Runs `work` on a separate thread, and abandons it if it reports no step for this many seconds.
pub(super) fn watched<T: Send + 'static>(
    silence_s: u64,
    work: impl FnOnce(mpsc::Sender<&'static str>) -> Result<T, RunError> + Send + 'static,
    on_step: &mut dyn FnMut(&str),
) -> Result<T, RunError> {
    let patience = Duration::from_secs(silence_s);
    let (steps, said) = mpsc::channel();
    let (done, result) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        // If nobody listens, the caller has abandoned this thread.
        let _ = done.send(guarded(|| work(steps)));
    });
    loop {
        match said.recv_timeout(patience) {
            Ok(step) => on_step(step),
            Err(mpsc::RecvTimeoutError::Timeout) => return Err(RunError::Silent(silence_s)),
            // The device is closed: the result is available, or will be at once.
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let worked = result
        .recv_timeout(patience)
        .map_err(|_| RunError::Silent(silence_s))?;
    // Drivers cannot handle being closed while the process ends. Closing is all that is left to do.
    let _ = worker.join();
    worked
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// To the watchdog, this is a hanging driver.
    #[test]
    fn who_is_silent_is_given_up() {
        let mut heard = Vec::new();
        let hanging = |steps: mpsc::Sender<&'static str>| -> Result<(), RunError> {
            let _ = steps.send("compiling");
            // Longer than the watchdog waits, but not forever: the test's process has to end.
            std::thread::sleep(Duration::from_secs(30));
            drop(steps);
            Ok(())
        };
        let start = Instant::now();
        let given_up = watched(1, hanging, &mut |step| heard.push(step.to_owned()));
        assert_eq!(given_up, Err(RunError::Silent(1)));
        assert_eq!(heard, ["compiling"]);
        assert!(start.elapsed() < Duration::from_secs(20));
        // The next is still tried.
        assert_eq!(watched(1, |_| Ok(7), &mut |_| ()), Ok(7));
    }

    #[test]
    fn a_panic_on_the_way_is_said() {
        let broken = |_| -> Result<(), RunError> { panic!("a driver's answer that nobody expects") };
        let said = watched(1, broken, &mut |_| ())
            .expect_err("it panicked")
            .to_string();
        assert_eq!(said, "wgpu failed: a driver's answer that nobody expects");
    }
}
