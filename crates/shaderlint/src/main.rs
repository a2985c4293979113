//! The program. Its code is in the library beside it, so that fuzzing needs no second program.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Parse trees and terms are many small pieces, made and dropped by all threads.
#[cfg(not(target_family = "wasm"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    shaderlint::main()
}
