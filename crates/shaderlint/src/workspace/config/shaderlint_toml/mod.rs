//! `shaderlint.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use shaderlint_hlsl::Version;
use shaderlint_linter::{FixForm, Level, ShaderModel};
use toml::Spanned;

use super::levels::{LevelSettings, Levels, Override};
use super::{NO_FOLDER, Project, Variant};
use crate::cli::rule_or_category;
use crate::support::config_error::{ConfigError, text_of};
use crate::support::definition::{Define, definition, is_name};
use crate::support::error_text::mistake;
use crate::support::paths::{here, shown};
use crate::support::target::{hlsl_version, profile};

/// The names of the file. If a folder has both, the first one wins.
pub(crate) const NAMES: [&str; 2] = ["shaderlint.toml", ".shaderlint.toml"];

/// Tables and their keys, for hints about a key that is written in another table.
const TABLES: [(&str, &[&str]); 4] = [
    ("files", &["include", "exclude"]),
    ("preprocess", &["defines", "include-dirs", "virtual-dirs"]),
    ("target", &["hlsl"]),
    ("fix", &["form"]),
];

/// How shaderlint checks the files in and below this file's folder.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    /// Target shader model, such as cs_6_6; by default the one that a file asks for, or else cs_6_0.
    #[serde(default, deserialize_with = "profile_or_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    profile: Option<ShaderModel>,
    /// File with the counts of known findings: shaderlint reports only what exceeds them. `shaderlint --write-baseline` writes it.
    baseline: Option<PathBuf>,
    #[serde(default)]
    target: Target,
    #[serde(default)]
    fix: Fix,
    #[serde(default)]
    files: Files,
    #[serde(default)]
    preprocess: Preprocess,
    /// Further configurations in which to read every file.
    #[serde(default, rename = "variant")]
    variants: Vec<VariantTable>,
    /// The level of a rule or of a category of rules.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "schema::levels"))]
    levels: BTreeMap<RuleName, Level>,
    /// Other levels for some files; the last entry that matches a file applies.
    #[serde(default, rename = "override")]
    overrides: Vec<OverrideTable>,
}

/// The target of the shaders.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
struct Target {
    /// Version of HLSL, as -HV of DXC; without it, shaderlint proves only what holds in every version.
    #[serde(deserialize_with = "version_or_none")]
    #[cfg_attr(test, schemars(schema_with = "schema::version"))]
    hlsl: Option<Version>,
}

/// The form of fixes.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
struct Fix {
    /// The form to try first where there are two: a function and a call of it, or all in place.
    #[cfg_attr(test, schemars(schema_with = "schema::form"))]
    form: FixForm,
}

/// Which files of a folder shaderlint checks.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
struct Files {
    /// Patterns of shader files, as in .gitignore; by default .hlsl, .compute, .usf and others.
    #[cfg_attr(test, schemars(with = "Option<Vec<String>>"))]
    include: Option<Vec<Spanned<String>>>,
    /// Patterns of files to skip, as in .gitignore.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    exclude: Vec<Spanned<String>>,
}

/// How source files become translation units.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Preprocess {
    /// Macros that the build defines for every file.
    #[cfg_attr(test, schemars(schema_with = "schema::defines"))]
    defines: Defines,
    /// Folders in which to look for included files, relative to this file's folder.
    #[cfg_attr(test, schemars(with = "Vec<PathBuf>"))]
    include_dirs: Vec<Spanned<PathBuf>>,
    /// Prefixes of include paths, and the folders that they stand for.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, PathBuf>"))]
    virtual_dirs: BTreeMap<String, Spanned<PathBuf>>,
}

/// A further configuration in which to read every file.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct VariantTable {
    /// The name that its findings show.
    #[cfg_attr(test, schemars(with = "String"))]
    name: Spanned<String>,
    /// Macros to define in addition to those for every file.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "schema::defines"))]
    defines: Defines,
}

/// Other levels for some files.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct OverrideTable {
    /// Patterns of the files, as in .gitignore.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    paths: Vec<Spanned<String>>,
    /// The level there of a rule or of a category of rules.
    #[cfg_attr(test, schemars(schema_with = "schema::levels"))]
    levels: BTreeMap<RuleName, Level>,
}

/// `["A", "B=2"]` or `{ A = true, B = 2 }`.
#[derive(Default)]
struct Defines(Vec<Define>);

/// Reads the file at `path`. Its paths are relative to its folder.
pub(super) fn read(path: &Path) -> Result<Project> {
    parse(path, &text_of(path)?)
}

/// Parses `text` as the file at `path`.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Project> {
    let file: File = toml::from_str(text).map_err(|error| mistake(path, text, &error, &TABLES))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let matcher = |patterns: &[Spanned<String>]| -> Result<Gitignore> {
        let mut matcher = GitignoreBuilder::new(here(folder));
        matcher.allow_unclosed_class(false);
        for pattern in patterns {
            matcher
                .add_line(None, pattern.get_ref())
                .map_err(|error| ConfigError::new(path, text, pattern.span(), error.to_string()))?;
        }
        Ok(matcher.build()?)
    };
    let mut overrides = Vec::new();
    for table in file.overrides {
        overrides.push(Override {
            paths: matcher(&table.paths)?,
            patterns: table.paths.into_iter().map(Spanned::into_inner).collect(),
            levels: levels(table.levels),
        });
    }
    for (index, variant) in file.variants.iter().enumerate() {
        let name = &variant.name;
        if file.variants.iter().take(index).any(|other| other.name == *name) {
            let message = format!("a second variant called `{}`", name.get_ref());
            return Err(ConfigError::new(path, text, name.span(), message).into());
        }
    }
    let variants = file.variants.into_iter().map(|variant| Variant {
        name: variant.name.into_inner(),
        defines: variant.defines.0,
    });
    let in_folder = |path: PathBuf| shown(&folder.join(path));
    let Preprocess {
        defines,
        include_dirs,
        virtual_dirs,
    } = file.preprocess;
    let folders = include_dirs.iter().chain(virtual_dirs.values());
    let missing = folders.filter(|written| !folder.join(written.get_ref()).is_dir());
    let doubts = missing.map(|written| ConfigError::new(path, text, written.span(), NO_FOLDER));
    Ok(Project {
        doubts: doubts.collect(),
        files: vec![path.to_owned()],
        root: Some(folder.to_owned()),
        profile: file.profile,
        is_profile_of_run: false,
        version: file.target.hlsl,
        defines: defines.0,
        include_dirs: include_dirs
            .into_iter()
            .map(|path| in_folder(path.into_inner()))
            .collect(),
        virtual_dirs: virtual_dirs
            .into_iter()
            .map(|(name, path)| (name, in_folder(path.into_inner())))
            .collect(),
        variants: variants.collect(),
        included: file.files.include.as_deref().map(matcher).transpose()?,
        include: patterns(file.files.include.unwrap_or_default()),
        excluded: Some(matcher(&file.files.exclude)?),
        exclude: patterns(file.files.exclude),
        baseline: file.baseline.map(in_folder),
        levels: LevelSettings {
            levels: levels(file.levels),
            overrides,
        },
        form: file.fix.form,
    })
}

fn patterns(written: Vec<Spanned<String>>) -> Vec<String> {
    written.into_iter().map(Spanned::into_inner).collect()
}

fn levels(table: BTreeMap<RuleName, Level>) -> Levels {
    Levels(table.into_iter().map(|(name, level)| (name.0, level)).collect())
}

fn profile_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ShaderModel>, D::Error> {
    deserializer.deserialize_str(Parsed(profile)).map(Some)
}

fn version_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Version>, D::Error> {
    deserializer.deserialize_str(Parsed(hlsl_version)).map(Some)
}

impl<'de> Deserialize<'de> for Defines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DefinesVisitor)
    }
}

struct DefinesVisitor;

impl<'de> Visitor<'de> for DefinesVisitor {
    type Value = Defines;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("definitions: [\"A\", \"B=2\"] or { A = true, B = 2 }")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Defines, A::Error> {
        let mut defines: Vec<Define> = Vec::new();
        while let Some(Item((name, value))) = items.next_element()? {
            if defines
                .iter()
                .any(|(known, other)| *known == name && *other != value)
            {
                return Err(A::Error::custom(format!("`{name}` is defined twice")));
            }
            defines.push((name, value));
        }
        Ok(Defines(defines))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Defines, A::Error> {
        let mut defines = Vec::new();
        while let Some((Name(name), Value(value))) = entries.next_entry()? {
            defines.push((name, value));
        }
        Ok(Defines(defines))
    }
}

/// `A` or `B=2`.
struct Item(Define);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Parsed(definition)).map(Item)
    }
}

/// The key of an entry in a table of definitions.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Parsed(|text: &str| {
            is_name(text)
                .then(|| text.to_owned())
                .ok_or_else(|| format!("`{text}` is not a name"))
        });
        deserializer.deserialize_str(name).map(Name)
    }
}

/// A rule's id, an alias, or a category.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RuleName(String);

impl<'de> Deserialize<'de> for RuleName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_str(Parsed(rule_or_category))
            .map(RuleName)
    }
}

/// A string that a function parses. An error of the function is reported at the position of the string.
struct Parsed<F>(F);

impl<T, F: Fn(&str) -> Result<T, String>> Visitor<'_> for Parsed<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

/// The value of a macro: a string, a number, or a boolean as 1 or 0.
struct Value(String);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl Visitor<'_> for ValueVisitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, an integer or a boolean")
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
                Ok(Value(u8::from(value).to_string()))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
                Ok(Value(value.to_owned()))
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

#[cfg(test)]
mod schema;
