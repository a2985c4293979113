//! Helpers that every layer may use, and that depend on no layer.

pub(crate) mod atomic_write;
pub(crate) mod cancellation;
pub(crate) mod config_error;
pub(crate) mod definition;
pub(crate) mod encoding;
pub(crate) mod error_text;
pub(crate) mod failure;
pub(crate) mod panics;
pub(crate) mod paths;
pub(crate) mod progress;
pub(crate) mod snippets;
pub(crate) mod source_text;
pub(crate) mod suggestions;
pub(crate) mod target;
pub(crate) mod terminal;
pub(crate) mod uri;
#[cfg(all(feature = "gpu", target_os = "linux"))]
pub(crate) mod vulkan_layers;
pub(crate) mod words;
