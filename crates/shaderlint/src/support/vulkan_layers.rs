//! Keeps Vulkan's layers from printing errors where there is no display.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Leaves out Mesa's layer that puts the default device first.
const NO_LAYER: &str = "NODEVICE_SELECT";

/// Keeps Vulkan's loader from complaining where there is no session, as in containers and in CI: Mesa's layer that puts
/// the default device first asks a Wayland server for it, and its library says `error: XDG_RUNTIME_DIR is invalid or not
/// set in the environment.`, twice for each time that adapters are listed. A variable is safely set for a program that
/// starts only: this one starts itself anew, in its own place. Where that fails, all that is lost is the silence.
pub(crate) fn hush() {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let is_asked = |directory: &OsStr| Path::new(directory).is_absolute();
    let is_quiet = given("XDG_RUNTIME_DIR").as_deref().is_some_and(is_asked)
        || given(NO_LAYER).is_some()
        // Somebody wants the layer.
        || given("MESA_VK_DEVICE_SELECT").is_some();
    if is_quiet {
        return;
    }
    if let Ok(this) = std::env::current_exe() {
        let _ = Command::new(this)
            .args(std::env::args_os().skip(1))
            .env(NO_LAYER, "1")
            .exec();
    }
}
