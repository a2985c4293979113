//! The commands, a module each.

#[cfg(feature = "gpu")]
mod adapters;
#[cfg(feature = "gpu")]
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod init;
#[cfg(feature = "gpu")]
mod kernel;
pub(crate) mod preprocess;
pub(crate) mod rules;
#[cfg(feature = "gpu")]
pub(crate) mod verify;
#[cfg(feature = "gpu")]
pub(crate) mod wgsl;
