//! A panic is a bug in this program. It is reported as one, and ends the work on at most one file.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Result, anyhow};

thread_local! {
    /// The position of the thread's last panic.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Records the position of a panic for [`as_error`], instead of printing the panic.
pub(crate) fn keep_quiet() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or(String::new(), |place| {
            format!(" ({}:{})", place.file(), place.line())
        });
        PLACE.set(place);
    }));
}

/// The result of `work`. A panic becomes an error: `context` and the panic's message.
pub(crate) fn as_error<T>(context: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(anyhow!("{context}: {}", describe(&*panic))))
}

fn describe(panic: &(dyn Any + Send)) -> String {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic");
    format!("{message}{}", PLACE.take())
}

/// Panics if `text` contains `words`, so that a test can cause a panic.
#[cfg(test)]
pub(crate) fn if_asked(text: &[u8], words: &str) {
    let is_asked = text.windows(words.len()).any(|window| window == words.as_bytes());
    assert!(!is_asked, "asked to {words}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let error = as_error("while testing", || -> Result<()> { panic!("no {}", 1) });
        assert_eq!(
            error.map_err(|error| error.to_string()),
            Err("while testing: no 1".to_owned())
        );
    }
}
