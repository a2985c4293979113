//! Progress where there is no terminal to show it on.

pub(crate) struct Progress;

impl Progress {
    pub fn of_files(_: usize, _: bool) -> Progress {
        Progress
    }

    pub fn done(&self) {}

    pub fn begin(&self, _: &'static str, _: usize) {}

    #[cfg(feature = "gpu")]
    pub fn new(_: bool) -> Progress {
        Progress
    }

    #[cfg(feature = "gpu")]
    pub fn step(&self, _: &str, _: &str) {}

    #[cfg(feature = "gpu")]
    pub fn print(&self, text: &str) -> anyhow::Result<()> {
        crate::support::terminal::print(text.as_bytes())
    }

    #[cfg(feature = "gpu")]
    pub fn aside<T>(&self, job: impl FnOnce() -> T) -> T {
        job()
    }

    pub fn clear(&self) {}
}
