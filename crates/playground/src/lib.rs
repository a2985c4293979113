//! shaderlint as a WebAssembly module that imports nothing. JavaScript calls [`question`] for a buffer and
//! writes the question into it. Then it calls [`answer`] for the length of the answer, and reads the answer
//! at [`answered`].

#![cfg(target_family = "wasm")]

use std::sync::{Mutex, PoisonError};

/// The question before the call of [`answer`], the answer after it.
static BYTES: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// A buffer for a question of `length` bytes.
#[expect(unsafe_code, reason = "the name is exported, and no other is called so")]
#[unsafe(no_mangle)]
pub extern "C" fn question(length: usize) -> *mut u8 {
    let mut bytes = BYTES.lock().unwrap_or_else(PoisonError::into_inner);
    *bytes = vec![0; length];
    bytes.as_mut_ptr()
}

/// Answers the question. Returns the length of the answer, in bytes.
#[expect(unsafe_code, reason = "the name is exported, and no other is called so")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    let mut bytes = BYTES.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = shaderlint::playground::answer(&String::from_utf8_lossy(&bytes));
    *bytes = answer.into_bytes();
    bytes.len()
}

/// The address of the answer.
#[expect(unsafe_code, reason = "the name is exported, and no other is called so")]
#[unsafe(no_mangle)]
pub extern "C" fn answered() -> *const u8 {
    BYTES.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}
