//! Progress on a terminal; WebAssembly has none.

#[cfg(not(target_family = "wasm"))]
mod bar;
#[cfg(target_family = "wasm")]
mod silent;

#[cfg(not(target_family = "wasm"))]
pub(crate) use bar::Progress;
#[cfg(target_family = "wasm")]
pub(crate) use silent::Progress;
