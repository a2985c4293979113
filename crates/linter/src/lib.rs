//! What a rule is and how rules run: rules, findings, fixes, settings, suppressions.
//!
//! A [`Rule`] looks at what one entry point's run showed ([`Context`]) and says what it found ([`Finding`]), in spans of
//! the expanded text. [`check_shader`] runs every rule over every entry point and maps the findings to files
//! ([`Diagnostic`]), once a place. [`apply`] and [`settle`] make the edits.
//!
//! **Invariants.** No I/O. No panic and no failure on any input. This crate knows no rule by name.

#![forbid(unsafe_code)]

mod check;
mod finding;
mod fix;
mod habits;
mod layout;
mod place;
mod reach;
mod rule;
mod suppress;

pub use check::{Report, check_shader};
pub use finding::{At, Diagnostic, Edit, FileEdit, Finding, Fix, Label, NoFix, OtherForm, Safety, Verdict};
pub use fix::{Applied, MAX_PASSES, Settled, apply, fixed_shader, settle, whole_shaders};
pub use rule::{Category, Context, FixForm, GivenLevel, Level, Rule, Settings, ShaderModel};
pub use suppress::{Allowed, Suppression, suppressions, unused_suppressions};
