//! The settings of the editor, under `shaderlint`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use shaderlint_hlsl::Version;
use shaderlint_linter::ShaderModel;

use crate::cli::SourceArgs;
use crate::support::definition::definition;
use crate::support::error_text;
use crate::support::target::{hlsl_version, profile};

/// The settings that the command line has as arguments.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Settings {
    /// Whether "fix all" also makes unsafe fixes.
    pub unsafe_fixes: bool,
    /// Whether the editor gets the diagnostics of files that are not open. Counts at the start.
    pub workspace_diagnostics: bool,
    pub profile: Option<String>,
    pub hlsl_version: Option<String>,
    /// Configuration in place of those found.
    pub config: Option<PathBuf>,
    pub defines: Vec<String>,
    pub include_dirs: Vec<PathBuf>,
}

impl Settings {
    /// Reads the settings of the editor, whether they are under `shaderlint` or not.
    pub fn read(value: serde_json::Value) -> Result<Settings, String> {
        let value = match value {
            serde_json::Value::Null => return Ok(Settings::default()),
            serde_json::Value::Object(mut map) => match map.remove("shaderlint") {
                Some(inner) => return Settings::read(inner),
                None => serde_json::Value::Object(map),
            },
            other => other,
        };
        let settings: Settings =
            serde_json::from_value(value).map_err(|error| error_text::of_serde(&error.to_string(), &[]))?;
        settings.shader_model()?;
        settings.version()?;
        for text in &settings.defines {
            definition(text)?;
        }
        Ok(settings)
    }

    pub fn shader_model(&self) -> Result<Option<ShaderModel>, String> {
        self.profile.as_deref().map(profile).transpose()
    }

    fn version(&self) -> Result<Option<Version>, String> {
        self.hlsl_version.as_deref().map(hlsl_version).transpose()
    }

    /// The settings as arguments. Relative paths start in the folder `root`.
    pub fn source_args(&self, root: &Path) -> SourceArgs {
        SourceArgs {
            defines: self
                .defines
                .iter()
                .filter_map(|text| definition(text).ok())
                .collect(),
            include_dirs: self.include_dirs.iter().map(|path| root.join(path)).collect(),
            profile: self.shader_model().ok().flatten(),
            hlsl_version: self.version().ok().flatten(),
            config: self.config.as_ref().map(|path| root.join(path)),
            isolated: false,
        }
    }
}

/// The settings of the editor, which may differ between workspace folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FolderSettings {
    /// Those of the folders that have none of their own.
    pub common: Settings,
    pub by_folder: BTreeMap<PathBuf, Settings>,
}

impl FolderSettings {
    /// The settings of a workspace folder, or of files outside of all.
    pub fn of(&self, folder: Option<&Path>) -> &Settings {
        let own = folder.and_then(|folder| self.by_folder.get(folder));
        own.unwrap_or(&self.common)
    }

    pub fn all(&self) -> impl Iterator<Item = &Settings> {
        std::iter::once(&self.common).chain(self.by_folder.values())
    }

    /// The include folders that are missing, as absolute paths. Relative ones start in the workspace folder that has
    /// the setting; a common one must be in one of them.
    pub fn missing_folders(&self, folders: &[PathBuf]) -> Vec<PathBuf> {
        let is_missing = |path: &PathBuf| !path.is_dir();
        let of_one = self.by_folder.iter().flat_map(|(folder, settings)| {
            let of_it = settings.include_dirs.iter().map(|path| folder.join(path));
            of_it.filter(is_missing)
        });
        let users: Vec<&PathBuf> = { folders.iter() }
            .filter(|folder| !self.by_folder.contains_key(*folder))
            .collect();
        let of_all = self.common.include_dirs.iter().filter_map(|path| {
            let mut places = users.iter().map(|folder| folder.join(path));
            let first = places.next()?;
            (is_missing(&first) && places.all(|place| is_missing(&place))).then_some(first)
        });
        of_one.chain(of_all).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_read_with_or_without_our_name() {
        let expected = Settings {
            unsafe_fixes: true,
            profile: Some("cs_6_6".to_owned()),
            hlsl_version: Some("2018".to_owned()),
            ..Settings::default()
        };
        let plain = json!({ "unsafeFixes": true, "profile": "cs_6_6", "hlslVersion": "2018", "other": 1 });
        assert_eq!(
            Settings::read(json!({ "shaderlint": plain })),
            Ok(expected.clone())
        );
        assert_eq!(Settings::read(plain), Ok(expected));
        assert_eq!(Settings::read(json!(null)), Ok(Settings::default()));
        for wrong in [
            json!({ "profile": "cs_9_9" }),
            json!({ "hlslVersion": "2019" }),
            json!({ "unsafeFixes": 1 }),
            json!({ "defines": ["1A"] }),
        ] {
            assert!(Settings::read(wrong).is_err());
        }
    }
}
