//! Silencing messages of Vulkan layers.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The variable that disables Mesa's layer for the default device.
const NO_LAYER: &str = "NODEVICE_SELECT";

/// Silences a message that appears where there is no session, as in containers and in CI. Mesa's layer that
/// puts the default device first asks a Wayland server for that device. The Wayland library then prints
/// `error: XDG_RUNTIME_DIR is invalid or not set in the environment.`, twice for each listing of adapters.
///
/// An environment variable can be set safely only for a program that starts. So this program replaces its
/// process by a new run of itself, in which the variable disables the layer. If that fails, the message
/// appears.
pub(crate) fn hush() {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let is_asked = |directory: &OsStr| Path::new(directory).is_absolute();
    let is_quiet = given("XDG_RUNTIME_DIR").as_deref().is_some_and(is_asked)
        || given(NO_LAYER).is_some()
        // The user selects a device through the layer.
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
