//! The settings of the editor, under `shaderlint`.

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
