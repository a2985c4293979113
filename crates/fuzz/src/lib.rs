//! Fuzz targets: for any bytes, nothing panics, and reports refer to places inside the input.
//!
//! A target takes bytes and panics if something is wrong. libFuzzer drives them (`fuzz_targets`, behind the feature
//! `libfuzzer`), and so do the tests: with inputs that once failed (`fixtures/hostile`) and with some hundred edits
//! of the fixtures. Inputs are texts, so that libFuzzer's findings can be read and kept as they are.

#![forbid(unsafe_code)]

mod checks;
mod configuration;
mod edits;
mod fixes;
mod independent;
mod input;
mod ladders;
mod random;
mod seeds;
mod server;
mod stack;
mod targets;

pub use configuration::configuration;
pub use edits::{mutate, mutate_in_place};
pub use fixes::{Checked, check_fixes, entries, faster, fixes};
pub use ladders::{Feature, Ladder, Language, Reading, ladder, seeds_asked};
pub use seeds::{kernels, scripts, settings};
pub use server::server;
pub use stack::on_deep_stack;
pub use targets::{engine, linter, parser, preprocessor};

/// A fuzz target: panics if the result for the bytes is wrong.
pub type Target = fn(&[u8]);

/// The texts that a target starts from.
pub type Seeds = fn() -> &'static [Vec<u8>];

/// Every target with its name and the texts that it starts from.
pub const TARGETS: [(&str, Target, Seeds); 7] = [
    ("preprocessor", preprocessor, kernels),
    ("parser", parser, kernels),
    ("engine", engine, kernels),
    ("linter", linter, kernels),
    ("fixes", fixes, kernels),
    ("configuration", configuration, settings),
    ("server", server, scripts),
];
