//! What a rule is and how rules run: rules, findings, fixes, settings, suppressions.
//!
//! A [`Rule`] looks at what the run of one entry point showed ([`Context`]) and reports it as a [`Finding`] in spans
//! of the expanded text. [`check_shader`] runs every rule over every entry point and maps the findings to files
//! ([`Diagnostic`]), one for each place. [`apply`] and [`settle`] make the edits.
//!
//! **Invariants.** No I/O. No panic and no failure on any input. This crate knows no rule by name.

#![forbid(unsafe_code)]

mod check;
mod diagnose;
mod edits;
mod finding;
mod fix;
mod fixed;
mod habits;
mod layout;
mod level;
mod no_fix;
mod place;
mod proof;
mod reach;
mod rule;
mod shader_model;
mod shared_fixes;
mod suppress;
mod unused;

pub use check::{Allowed, Report, check_shader};
pub use finding::{
    At, Caveat, Diagnostic, Edit, FileEdit, Finding, Fix, FixForm, FixNote, Label, OtherForm, Safety, Verdict,
};
pub use fix::{Applied, MAX_PASSES, Settled, apply, settle};
pub use fixed::{fixed_shader, whole_shaders};
pub use level::{Category, GivenLevel, Level};
pub use no_fix::{NoFix, Reason};
pub use proof::{Assumption, Proof};
pub use rule::{Context, Rule, Settings};
pub use shader_model::ShaderModel;
pub use suppress::{Suppression, suppressions};
pub use unused::unused_suppressions;
