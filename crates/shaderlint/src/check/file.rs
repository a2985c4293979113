//! The check of one file: the stages of [`crate::check`] in their order, and the fixes around them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use shaderlint_hlsl::{Text, decode};
use shaderlint_linter::settle;

use crate::check::baseline::Baselines;
use crate::check::file_report::FileReport;
use crate::check::includers::Includers;
use crate::check::options::{FixMode, Options, Target};
use crate::check::readings::{Role, Root, UnitReadings};
use crate::check::union::union;
use crate::check::{callers, comments, findings};
use crate::support::encoding::encoded_like;
use crate::support::{atomic_write, panics};
use crate::workspace::prefilter;
use crate::workspace::project_file::read_file;
use crate::workspace::walk::InputOrigin;

/// Checks one file, and fixes it if the options say so. A panic becomes an error: the run still checks the other
/// files. A stopped check is an error too, for a partial report may be wrong: the missing part may have been the
/// objection to a fix.
pub(crate) fn check_file(target: &Target, options: &Options, role: Role) -> Result<FileReport> {
    let name = target.input.path.display().to_string();
    let context = format!("internal error while analysing {name}, please report");
    panics::as_error(&context, || {
        let check = Check {
            name: &name,
            target,
            options,
            role,
        };
        let checked = check.run()?;
        ensure!(!options.stop.is_set(), "{name}: stopped");
        Ok(checked)
    })
}

/// The check of one file.
struct Check<'a> {
    name: &'a str,
    target: &'a Target,
    options: &'a Options,
    role: Role,
}

impl Check<'_> {
    fn run(&self) -> Result<FileReport> {
        let input = &self.target.input;
        let bytes = read_file(&self.options.files, &input.path)?;
        let Some(text) = decode(&bytes) else {
            // A folder may hold any file, but a file that the user names must be readable.
            ensure!(
                input.origin == InputOrigin::Found,
                "{}: not a text file (UTF-8, or UTF-16 with a byte order mark)",
                self.name
            );
            return Ok(FileReport::default());
        };
        #[cfg(test)]
        panics::if_asked(&text, "panic while looking");
        match self.options.fix {
            None => Ok(self.report_on(&text)),
            Some(mode) => self.fix(&bytes, &text, mode),
        }
    }

    /// Makes one fix at a time, and checks the text after each.
    fn fix(&self, bytes: &[u8], text: &Text, mode: FixMode) -> Result<FileReport> {
        let (name, options) = (self.name, self.options);
        // Findings of the baseline are not fixed.
        let baseline = options.baseline_of(&self.target.project);
        let may_be_read = |path: &&PathBuf| options.files.may_be_checked(path);
        let baselines = Baselines::at(baseline.iter().filter(may_be_read))?;
        let check = |text: &[u8]| {
            let mut checked = [self.report_on(&text.into())];
            baselines.apply(&mut checked);
            let [checked] = checked;
            checked
        };
        let settled = settle(text, mode.unsafe_too, check, |checked| &checked.report.findings);
        let mut checked = settled.last;
        checked.fixed.rules = settled.fixed;
        if *settled.text != **text {
            let fixed = encoded_like(bytes, text, &settled.text);
            let fixed = fixed.with_context(|| format!("{name}: not fixed"))?;
            if mode.in_place {
                atomic_write::replace(&self.target.input.path, bytes, &fixed)
                    .with_context(|| format!("{name}: not fixed"))?;
            } else {
                checked.fixed.diff = Some((text.to_vec(), settled.text));
            }
            checked.fixed.bytes = Some(fixed.into());
        }
        Ok(checked)
    }

    /// The way of a text to its report: the stages of [`crate::check`].
    fn report_on(&self, text: &Text) -> FileReport {
        let (target, options) = (self.target, self.options);
        let root = Root {
            name: self.name,
            text,
            project: &target.project,
            role: self.role,
        };
        let mut checked = FileReport::new(target, options);
        let may_find = prefilter::needs_parse(root.name, text, &options.search(root.project));
        // Without findings, only its comments are checked, and they are the same in every file that includes it.
        checked.is_unit = self.role == Role::Unit || !may_find;
        if may_find {
            let UnitReadings {
                readings, lookups, ..
            } = Arc::unwrap_or_clone(options.reading_store().take(root));
            findings::add(
                &mut checked,
                union(readings),
                &lookups,
                target.input.origin,
                self.role,
            );
        }
        comments::check(&mut checked, root, options);
        callers::leave_out_called(&mut checked, text, options);
        let mut includers = Includers::of(Path::new(self.name), text, options);
        if self.role == Role::Included {
            // What it lacks by itself, its includers provide.
            checked.leave_to_includers();
            includers.add_fixable(&mut checked, text);
        }
        includers.judge(&mut checked);
        checked.keep_needed_sources(text);
        checked
    }
}
