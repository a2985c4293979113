//! The configuration of a file: a `shaderlint.toml`, else a `shadertoolsconfig.json`, in its folder or above.
//!
//! A [`Project`] has all settings for a file, including those of the command line. Its paths are relative to
//! the working directory, or absolute outside of it, so that printed paths can be opened.

mod levels;
pub(crate) mod shaderlint_toml;
pub(crate) mod shadertools;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use ignore::gitignore::Gitignore;
use shaderlint_hlsl::{Version, predefined, unity_defines};
use shaderlint_linter::{FixForm, GivenLevel, Rule, ShaderModel};

pub(crate) use levels::LevelSettings;

use crate::cli::{RuleArgs, SourceArgs};
use crate::support::config_error::ConfigError;
use crate::support::definition::{Define, overlaid};
use crate::support::paths::{here, shown};
use crate::support::{snippets, terminal};
use crate::workspace::walk;

/// The settings for the files under one configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Project {
    /// The configuration files, the nearest first.
    pub files: Vec<PathBuf>,
    /// The folder of the farthest configuration file. Stray headers are looked up in this tree.
    pub root: Option<PathBuf>,
    pub profile: Option<ShaderModel>,
    /// The command line or the editor gives the profile, so other runs may have another one.
    pub is_profile_of_run: bool,
    /// The version of HLSL, if one is given. Otherwise nothing is proved that differs between versions.
    pub version: Option<Version>,
    pub defines: Vec<Define>,
    pub include_dirs: Vec<PathBuf>,
    /// Prefixes of include paths, each with the folder that it stands for.
    pub virtual_dirs: Vec<(String, PathBuf)>,
    pub variants: Vec<Variant>,
    /// The patterns of the files to check in folders, as written. Empty for every shader.
    pub include: Vec<String>,
    included: Option<Gitignore>,
    /// The patterns of the files to leave out, as written.
    pub exclude: Vec<String>,
    excluded: Option<Gitignore>,
    /// The file that counts the known findings.
    pub baseline: Option<PathBuf>,
    pub levels: LevelSettings,
    /// The preferred form of a fix that has two.
    pub form: FixForm,
    /// Probable mistakes in the configuration files, which can be read nevertheless.
    pub doubts: Vec<ConfigError>,
}

/// A further configuration of every file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub name: String,
    pub defines: Vec<Define>,
}

impl Project {
    /// The level of `rule` in the file `path`, with the selection of the command line applied.
    pub fn level(&self, of_run: &RuleArgs, rule: &Rule, path: &str) -> GivenLevel {
        of_run.over(rule, self.levels.given(rule, path))
    }

    /// All settings that readings of files depend on, as text.
    pub fn reading(&self) -> String {
        let Project {
            profile,
            version,
            defines,
            include_dirs,
            virtual_dirs,
            variants,
            levels,
            form,
            ..
        } = self;
        format!(
            "{profile:?} {version:?} {defines:?} {include_dirs:?} {virtual_dirs:?} {variants:?} {levels:?} {form:?}"
        )
    }

    /// Its definitions, and those of its variants.
    pub fn all_definitions(&self) -> impl Iterator<Item = &Define> {
        let of_variants = self.variants.iter().flat_map(|variant| &variant.defines);
        self.defines.iter().chain(of_variants)
    }

    /// The macros that are defined before a file of this text is read. The project's definitions override
    /// those of the compiler and the engine.
    pub fn defines_of(&self, text: &[u8]) -> Vec<Define> {
        let given = self.given_model(text);
        let major = given.unwrap_or(ShaderModel::WAVES).major;
        let of_compiler = predefined(major, given.map(|model| model.minor), self.version);
        let of_engine = unity_defines(text, &self.defines);
        overlaid(&overlaid(&of_compiler, &of_engine), &self.defines)
    }

    fn model_of(&self, text: &[u8]) -> ShaderModel {
        self.given_model(text).unwrap_or(ShaderModel::WAVES)
    }

    fn given_model(&self, text: &[u8]) -> Option<ShaderModel> {
        self.profile.or_else(|| ShaderModel::named_in(text))
    }

    /// The version of HLSL of a file of this text under `defines`, which a variant may have changed.
    pub fn version_of(&self, text: &[u8], defines: &[Define]) -> Option<Version> {
        let version = Version::defined(defines).or(self.version);
        if self.model_of(text) >= ShaderModel::WAVES {
            return version;
        }
        // FXC has only one language, and DXC raises such a model.
        let is_older = version.is_none_or(|version| !version.is_like_cpp());
        is_older.then_some(version.unwrap_or(Version::V2016))
    }

    /// The folders of headers, wherever they lie.
    pub fn header_folders(&self) -> impl Iterator<Item = &PathBuf> {
        let of_names = self.virtual_dirs.iter().map(|(_, folder)| folder);
        self.include_dirs.iter().chain(of_names)
    }

    /// Whether a file found in a folder counts as a shader.
    pub fn includes(&self, path: &Path) -> bool {
        self.included
            .as_ref()
            .map_or_else(|| walk::is_shader(path), |included| is_matched(included, path))
    }

    /// Whether to leave out a file found in a folder.
    pub fn excludes(&self, path: &Path) -> bool {
        self.excluded
            .as_ref()
            .is_some_and(|excluded| is_matched(excluded, path))
    }
}

/// Whether a pattern matches the path, or a folder above it.
fn is_matched(patterns: &Gitignore, path: &Path) -> bool {
    let path = here(path);
    // The matcher panics on paths outside of its folder.
    path.starts_with(patterns.path()) && patterns.matched_path_or_any_parents(&path, false).is_ignore()
}

/// The message about an include folder that is missing or not a folder.
pub(crate) const NO_FOLDER: &str = "no such folder";

/// Finds the project of each file. Reads each configuration once.
pub(crate) struct Projects {
    args: SourceArgs,
    /// The projects by configuration file. `None` stands for files without one.
    read: HashMap<Option<PathBuf>, Arc<Project>>,
    /// The configuration file found from each folder, if any.
    found: HashMap<PathBuf, Option<PathBuf>>,
    /// If given, configurations are searched in these folders only.
    fence: Option<Vec<PathBuf>>,
}

impl Projects {
    /// Warns about contradictory definitions and missing folders on the command line. The last definition
    /// wins, as in compilers.
    pub fn new(args: &SourceArgs) -> Self {
        for (index, (name, value)) in args.defines.iter().enumerate() {
            let earlier = args.defines.iter().take(index).rfind(|(other, _)| other == name);
            if let Some((_, other)) = earlier.filter(|(_, other)| other != value) {
                let message =
                    format!("-D defines `{name}` as `{other}` and as `{value}`: the last one holds");
                terminal::warn(&message);
            }
        }
        for folder in args.include_dirs.iter().filter(|folder| !folder.is_dir()) {
            terminal::warn(&format!("-I {}: {NO_FOLDER}", folder.display()));
        }
        Projects {
            args: args.clone(),
            read: HashMap::new(),
            found: HashMap::new(),
            fence: None,
        }
    }

    /// Searches these folders only, besides a configuration that `args` names. Prints no warnings, since
    /// nobody would read them.
    pub fn within(args: &SourceArgs, folders: &[PathBuf]) -> Self {
        Projects {
            args: args.clone(),
            read: HashMap::new(),
            found: HashMap::new(),
            fence: Some(folders.to_vec()),
        }
    }

    /// The project of a configuration with this text.
    #[cfg(feature = "gpu")]
    pub fn written(path: &Path, text: &str) -> Result<Project> {
        let mut project = shaderlint_toml::parse(path, text)?;
        Projects::within(&SourceArgs::default(), &[]).command_line_wins(&mut project);
        Ok(project)
    }

    /// The project of the file `path`.
    pub fn of(&mut self, path: &Path) -> Result<Arc<Project>> {
        let configuration = match &self.args.config {
            Some(named) => Some(named.clone()),
            None if self.args.isolated => None,
            None => {
                let path = here(path);
                let folder = path.parent().unwrap_or(Path::new(""));
                self.found
                    .entry(folder.to_owned())
                    .or_insert_with(|| find_upwards(folder, self.fence.as_deref()))
                    .clone()
            }
        };
        if let Some(known) = self.read.get(&configuration) {
            return Ok(Arc::clone(known));
        }
        let mut project = match &configuration {
            Some(path) if is_json(path) => shadertools::read(path, self.fence.as_deref())?,
            Some(path) => shaderlint_toml::read(path)?,
            None => Project::default(),
        };
        if self.fence.is_none() {
            project.doubts.iter().for_each(snippets::doubt);
        }
        self.command_line_wins(&mut project);
        let project = Arc::new(project);
        self.read.insert(configuration, Arc::clone(&project));
        Ok(project)
    }

    fn command_line_wins(&self, project: &mut Project) {
        project.is_profile_of_run = self.args.profile.is_some();
        project.profile = self.args.profile.or(project.profile);
        // The command line wins over the configuration. Within either, the option wins over the macro.
        let version = self.args.hlsl_version.or(Version::defined(&self.args.defines));
        let in_file = || project.version.or(Version::defined(&project.defines));
        project.version = version.or_else(in_file);
        project.defines = overlaid(&project.defines, &self.args.defines);
        let defined = project
            .defines
            .iter_mut()
            .find(|(name, _)| name == Version::MACRO);
        if let (Some((_, value)), Some(version)) = (defined, project.version) {
            *value = version.number().to_string();
        }
        project.include_dirs = [&self.args.include_dirs[..], &project.include_dirs].concat();
    }
}

/// The nearest `shaderlint.toml`. If no folder above has one, the nearest `shadertoolsconfig.json`.
fn find_upwards(folder: &Path, fence: Option<&[PathBuf]>) -> Option<PathBuf> {
    [&shaderlint_toml::NAMES[..], &[shadertools::NAME]]
        .iter()
        .find_map(|names| {
            let mut paths =
                upwards(folder, fence).flat_map(|folder| names.iter().map(|name| folder.join(name)));
            paths.find(|path| is_meant(path) && is_inside(path, fence))
        })
        .map(|path| shown(&path))
}

/// Whether the path names a file to read, or an error to report: a folder, or a dangling link.
pub(crate) fn is_meant(path: &Path) -> bool {
    path.is_file() || path.is_dir() || (path.is_symlink() && !path.exists())
}

/// The folder and those above it, within the fence.
fn upwards<'a>(folder: &'a Path, fence: Option<&'a [PathBuf]>) -> impl Iterator<Item = &'a Path> {
    let is_inside =
        move |folder: &&Path| fence.is_none_or(|fence| fence.iter().any(|root| folder.starts_with(root)));
    folder.ancestors().take_while(is_inside)
}

/// Whether a file lies in a folder of the fence, after links are followed.
fn is_inside(path: &Path, fence: Option<&[PathBuf]>) -> bool {
    let Some(fence) = fence else { return true };
    let real = |path: &Path| path.canonicalize().ok();
    let is_below = |path: &Path, folder| real(folder).is_some_and(|folder| path.starts_with(folder));
    real(path).is_some_and(|path| fence.iter().any(|folder| is_below(&path, folder)))
}

fn is_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}
