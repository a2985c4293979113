//! What is being done, on a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that comes and goes. Nothing where standard error is no terminal, or a log's.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub fn new(is_quiet: bool) -> Progress {
        let bar = ProgressBar::new_spinner();
        let is_ci = std::env::var_os("CI").is_some();
        if is_quiet || is_ci || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}: {msg} {elapsed}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    pub fn step(&self, kernel: &str, step: &str) {
        self.0.set_prefix(kernel.to_owned());
        self.0.set_message(step.to_owned());
        // Before the first step there is nothing to show.
        if !self.0.is_hidden() {
            self.0.enable_steady_tick(Duration::from_millis(120));
        }
    }

    /// Writes to standard output while no line is there.
    pub fn print(&self, text: &str) -> anyhow::Result<()> {
        self.aside(|| crate::terminal::print(text.as_bytes()))
    }

    /// Something that may write to the terminal, while no line is there.
    pub fn aside<T>(&self, job: impl FnOnce() -> T) -> T {
        self.0.suspend(job)
    }

    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}
