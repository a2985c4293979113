//! What is wrong in files that are no shaders: configurations and baselines.

use std::path::{Path, PathBuf};

use lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString};
use shaderlint_rules::RULES;

use super::lines::{Encoding, Lines};
use crate::baseline::Baselines;
use crate::config::{Misconfigured, here};
use crate::lint::{Looked, Options, Target};

/// What stands where findings have their rule.
pub(super) const CONFIGURATION: &str = "configuration";
const BASELINE: &str = "baseline";

/// Something to say of such a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Notice {
    pub path: PathBuf,
    pub diagnostic: Diagnostic,
}

impl Notice {
    pub fn is_error(&self) -> bool {
        self.diagnostic.severity == Some(DiagnosticSeverity::ERROR)
    }
}

/// What keeps a configuration from holding, if it has a place.
pub(super) fn of_error(error: &anyhow::Error, encoding: Encoding) -> Option<Notice> {
    let error = error.downcast_ref()?;
    Some(notice(error, CONFIGURATION, DiagnosticSeverity::ERROR, encoding))
}

/// What is most likely a mistake.
pub(super) fn doubts(doubts: &[Misconfigured], code: &str, encoding: Encoding) -> Vec<Notice> {
    let doubts = doubts.iter();
    doubts
        .map(|doubt| notice(doubt, code, DiagnosticSeverity::WARNING, encoding))
        .collect()
}

/// Puts aside what the baseline knows. One that cannot be read knows nothing; what is stale in one is told.
pub(super) fn baseline(
    target: &Target,
    options: &Options,
    looked: &mut Looked,
    encoding: Encoding,
) -> Vec<Notice> {
    let path = looked.baseline.clone();
    let Some(path) = path.filter(|path| options.files.may_be_looked_at(path)) else {
        return Vec::new();
    };
    let baselines = match Baselines::at(std::iter::once(&path)) {
        Ok(baselines) => baselines,
        Err(error) => {
            let at = match error.downcast() {
                Ok(misconfigured) => misconfigured,
                Err(error) => crate::config::misconfigured(&path, "", 0..0, format!("{error:#}")),
            };
            return vec![notice(&at, BASELINE, DiagnosticSeverity::ERROR, encoding)];
        }
    };
    baselines.apply(std::slice::from_mut(looked));
    let is_on = |id: &str, file: &Path| {
        let rule = RULES.iter().find(|rule| rule.id == id);
        rule.is_none_or(|rule| options.looks_for(&target.project, rule, &file.display().to_string()))
    };
    let stale = baselines.stale(std::slice::from_ref(looked), is_on);
    let unknown = baselines.unknown();
    [unknown, stale]
        .iter()
        .flat_map(|told| doubts(told, BASELINE, encoding))
        .collect()
}

fn notice(at: &Misconfigured, code: &str, severity: DiagnosticSeverity, encoding: Encoding) -> Notice {
    let [start, end] = [at.place.start, at.place.end].map(|offset| u32::try_from(offset).unwrap_or(u32::MAX));
    Notice {
        path: here(Path::new(&at.file.path)),
        diagnostic: Diagnostic {
            range: Lines::new(&at.file.text, encoding).range(start, end),
            severity: Some(severity),
            code: Some(NumberOrString::String(code.to_owned())),
            source: Some("shaderlint".to_owned()),
            message: at.message.clone(),
            ..Diagnostic::default()
        },
    }
}
