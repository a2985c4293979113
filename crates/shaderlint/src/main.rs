//! The program. Its code is in the library beside it, where fuzz targets can call it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Parse trees and terms are many small pieces, which all threads allocate and free.
#[cfg(not(target_family = "wasm"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    shaderlint::main()
}
