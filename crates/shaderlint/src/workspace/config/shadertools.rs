//! `shadertoolsconfig.json`: the configuration of HLSL Tools, for projects without a `shaderlint.toml`.
//!
//! All such files apply, from the shader's folder upwards to one with `"root": true`. The nearest one wins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde::Deserialize;

use super::{NO_FOLDER, Project, is_inside, upwards};
use crate::support::config_error::{ConfigError, text_of};
use crate::support::definition::{is_name, overlaid};
use crate::support::error_text;
use crate::support::paths::{here, shown};

pub(crate) const NAME: &str = "shadertoolsconfig.json";

/// The keys that shaderlint reads; editors have more.
#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    root: bool,
    #[serde(rename = "hlsl.preprocessorDefinitions")]
    definitions: BTreeMap<String, serde_json::Value>,
    #[serde(rename = "hlsl.additionalIncludeDirectories")]
    include_dirs: Vec<PathBuf>,
    #[serde(rename = "hlsl.virtualDirectoryMappings")]
    virtual_dirs: BTreeMap<String, PathBuf>,
}

/// Reads the file at `path` and those above it.
pub(super) fn read(path: &Path, fence: Option<&[PathBuf]>) -> Result<Project> {
    let mut project = Project::default();
    let nearest = here(path);
    let folders = nearest
        .parent()
        .into_iter()
        .flat_map(|folder| upwards(folder, fence));
    let above = folders
        .skip(1)
        .map(|folder| folder.join(NAME))
        .filter(|path| path.is_file() && is_inside(path, fence));
    for path in std::iter::once(path.to_owned()).chain(above.map(|path| shown(&path))) {
        let text = text_of(&path)?;
        let file = file(&path, &text)?;
        let is_root = file.root;
        add(&mut project, &path, &text, file);
        if is_root {
            break;
        }
    }
    Ok(project)
}

/// Parses such a file. Its paths are relative to its folder.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Project> {
    let mut project = Project::default();
    add(&mut project, path, text, file(path, text)?);
    Ok(project)
}

fn file(path: &Path, text: &str) -> Result<File> {
    // Editors allow comments and trailing commas in it.
    let value: serde_json::Value = parse_to_serde_value(text, &ParseOptions::default()).map_err(|error| {
        let range = error.range();
        ConfigError::new(path, text, range.start..range.end, error.kind().to_string())
    })?;
    let file: File = serde_json::from_value(value)
        .map_err(|error| ConfigError::new(path, text, 0..0, error_text::of_serde(&error.to_string(), &[])))?;
    if let Some(name) = file.definitions.keys().find(|name| !is_name(name)) {
        let start = text.find(&format!("\"{name}\"")).unwrap_or(0);
        return Err(ConfigError::new(
            path,
            text,
            start..start + name.len() + 2,
            format!("`{name}` is not a name"),
        )
        .into());
    }
    Ok(file)
}

/// Adds the settings of a file to those of nearer files, which win.
fn add(project: &mut Project, path: &Path, text: &str, file: File) {
    let folder = path.parent().unwrap_or(Path::new(""));
    for missing in file.include_dirs.iter().chain(file.virtual_dirs.values()) {
        if !folder.join(missing).is_dir() {
            let written = serde_json::Value::from(missing.to_string_lossy()).to_string();
            let start = text.find(&written);
            let place = start.map_or(0..0, |start| start..start + written.len());
            project
                .doubts
                .push(ConfigError::new(path, text, place, NO_FOLDER));
        }
    }
    let definitions: Vec<_> = file
        .definitions
        .into_iter()
        .map(|(name, value)| (name, value_of(&value)))
        .collect();
    project.defines = overlaid(&definitions, &project.defines);
    project.include_dirs.extend(
        file.include_dirs
            .into_iter()
            .map(|path| shown(&folder.join(path))),
    );
    for (name, path) in file.virtual_dirs {
        if !project.virtual_dirs.iter().any(|(known, _)| *known == name) {
            project.virtual_dirs.push((name, shown(&folder.join(path))));
        }
    }
    project.files.push(path.to_owned());
    project.root = Some(folder.to_owned());
}

fn value_of(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Bool(value) => u8::from(*value).to_string(),
        other => other.to_string(),
    }
}
