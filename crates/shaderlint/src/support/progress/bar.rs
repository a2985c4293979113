//! A progress line on a terminal.

use std::io::IsTerminal;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time between two updates of the line.
const TICK: Duration = Duration::from_millis(120);
/// Work on files that takes less time shows no progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// A line that disappears at the end. It is hidden in CI, and if standard error is not a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Counts the files that were checked. The line appears once this takes a while.
    pub fn of_files(count: usize, is_quiet: bool) -> Progress {
        let count = u64::try_from(count).ok();
        let bar = ProgressBar::with_draw_target(count, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{pos} of {len} files {msg} {wide_bar} {elapsed}") {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.set_message("looked at");
        if is_shown(is_quiet) {
            let bar = bar.downgrade();
            thread::spawn(move || {
                thread::sleep(PATIENCE);
                if let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK);
                }
            });
        }
        Progress(bar)
    }

    /// One more file is done.
    pub fn done(&self) {
        self.0.inc(1);
    }

    /// Starts another step, which processes `count` files.
    pub fn begin(&self, what: &'static str, count: usize) {
        self.0.set_message(what);
        self.0.set_length(u64::try_from(count).unwrap_or_default());
        self.0.set_position(0);
    }

    #[cfg(feature = "gpu")]
    pub fn new(is_quiet: bool) -> Progress {
        let bar = ProgressBar::new_spinner();
        if !is_shown(is_quiet) {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}: {msg} {elapsed}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    #[cfg(feature = "gpu")]
    pub fn step(&self, kernel: &str, step: &str) {
        self.0.set_prefix(kernel.to_owned());
        self.0.set_message(step.to_owned());
        // Before the first step there is nothing to show.
        if !self.0.is_hidden() {
            self.0.enable_steady_tick(TICK);
        }
    }

    /// Writes to standard output while the line is hidden.
    #[cfg(feature = "gpu")]
    pub fn print(&self, text: &str) -> anyhow::Result<()> {
        self.aside(|| crate::support::terminal::print(text.as_bytes()))
    }

    /// Runs a job that may write to the terminal, while the line is hidden.
    #[cfg(feature = "gpu")]
    pub fn aside<T>(&self, job: impl FnOnce() -> T) -> T {
        self.0.suspend(job)
    }

    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

fn is_shown(is_quiet: bool) -> bool {
    !is_quiet && std::env::var_os("CI").is_none() && std::io::stderr().is_terminal()
}
