//! Files that change on disk: which ones the editor watches for the server, and which ones matter.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lsp_types::notification::{DidChangeWatchedFiles, Notification};
use lsp_types::request::RegisterCapability;
use lsp_types::{
    DidChangeWatchedFilesRegistrationOptions, FileChangeType, FileSystemWatcher, GlobPattern, Registration,
    RegistrationParams,
};

use super::session::Session;
use crate::support::paths::here;
use crate::workspace::config::shaderlint_toml::NAMES;
use crate::workspace::config::{Project, shadertools};
use crate::workspace::walk::{EXTENSIONS, SHARED_EXTENSIONS};

impl Session {
    /// Makes the editor watch shaders, configurations and baselines with the usual names.
    pub fn watch_workspace(&mut self) {
        let usual = EXTENSIONS
            .iter()
            .chain(&SHARED_EXTENSIONS)
            .chain(&["toml"])
            .map(|ending| format!("*.{ending}"));
        self.watch(usual.chain([shadertools::NAME.to_owned()]).collect());
    }

    /// Makes the editor watch the other files that are read under this configuration.
    pub fn watch_project(&mut self, project: &Project) {
        let patterns = project.include.iter().map(Path::new);
        let named = self
            .settings
            .all()
            .filter_map(|settings| settings.config.as_ref());
        let named = named.chain(&project.baseline);
        let read = patterns.chain(named.map(PathBuf::as_path));
        self.watch(read.filter_map(ending).collect());
    }

    /// Makes the editor watch files with the extensions of these included files.
    pub fn watch_included<'a>(&mut self, files: impl Iterator<Item = &'a str>) {
        self.watch(files.map(Path::new).filter_map(ending).collect());
    }

    fn watch(&mut self, mut names: BTreeSet<String>) {
        names.retain(|name| !self.watched.contains(name));
        if !self.client.watches_files || names.is_empty() {
            return;
        }
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let pattern = match all[..] {
            [one] => format!("**/{one}"),
            _ => format!("**/{{{}}}", all.join(",")),
        };
        let options = DidChangeWatchedFilesRegistrationOptions {
            watchers: vec![FileSystemWatcher {
                glob_pattern: GlobPattern::String(pattern),
                kind: None,
            }],
        };
        self.client.ask::<RegisterCapability>(RegistrationParams {
            registrations: vec![Registration {
                id: format!("watch-{}", self.watched.len()),
                method: DidChangeWatchedFiles::METHOD.to_owned(),
                register_options: serde_json::to_value(options).ok(),
            }],
        });
        self.watched.append(&mut names);
    }

    /// Handles files that changed on disk. Ignores open documents, which have the text of the editor.
    pub fn notice_changes(&mut self, changes: impl Iterator<Item = (PathBuf, FileChangeType)>) {
        let changes = changes.filter(|(path, _)| !self.documents.contains_key(path));
        let changes: Vec<(PathBuf, FileChangeType)> = changes.collect();
        let configuring = self.configuring();
        if changes
            .iter()
            .any(|(path, _)| configuring.iter().any(|name| path.ends_with(name)))
        {
            self.restart();
            return;
        }
        if changes.iter().any(|(_, how)| *how != FileChangeType::CHANGED) {
            self.options.files.forget();
        }
        // A file that only has the extension of a configuration or a baseline does not matter.
        let is_alike = |path: &Path| {
            configuring
                .iter()
                .any(|name| name.extension() == path.extension())
        };
        let paths = changes.into_iter().map(|(path, _)| path);
        let paths: Vec<PathBuf> = paths.filter(|path| !is_alike(path)).collect();
        for path in &paths {
            self.options.files.changed(path);
        }
        self.changed_on_disk(&paths);
    }

    /// The names of configurations and baselines, with as much of their paths as is known.
    fn configuring(&self) -> Vec<PathBuf> {
        let usual = NAMES.iter().chain(&[shadertools::NAME]).map(PathBuf::from);
        let checked = self.units.values().filter_map(|unit| unit.checked.as_ref());
        let baselines = checked.filter_map(|checked| checked.baseline.as_deref().map(here));
        usual
            .chain(self.settings.all().filter_map(|settings| settings.config.clone()))
            .chain(baselines)
            .collect()
    }
}

/// The pattern for names with the extension of `name`. `None` if `name` is a pattern that leaves the
/// extension open: such files are watched once they are included.
fn ending(name: &Path) -> Option<String> {
    let ending = name.extension()?.to_str()?;
    let is_plain = ending
        .chars()
        .all(|letter| letter.is_alphanumeric() || letter == '_');
    is_plain.then(|| format!("*.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_those_that_are_written() {
        let of = |name: &str| ending(Path::new(name));
        assert_eq!(of("*.inc"), Some("*.inc".to_owned()));
        assert_eq!(of("/src/**/a.b.hlsl"), Some("*.hlsl".to_owned()));
        for open in ["shaders/", "shaders/**", "*.[ch]", "*.h*", "a", ".hidden"] {
            assert_eq!(of(open), None, "{open}");
        }
    }
}
