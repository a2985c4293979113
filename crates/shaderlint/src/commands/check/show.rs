//! `--show-files` and `--show-settings`: the files that shaderlint would check, and the settings of one.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use shaderlint_hlsl::Version;
use shaderlint_rules::RULES;

use super::job::{Job, job};
use crate::cli::{CheckArgs, Outcome};
use crate::support::definition::Define;
use crate::support::terminal::{self, WIDTH, wrap};
use crate::workspace::config::{Project, Projects};
use crate::workspace::walk::EXTENSIONS;

/// The width of the names of settings, and the column where their values begin.
const NAME: usize = 13;
const MARGIN: usize = NAME + 4;

/// Prints the files that a run would check, a line each.
pub(crate) fn files(args: &CheckArgs) -> Result<Outcome> {
    let Job { inputs, failures, .. } = job(args, None)?;
    let lines = inputs
        .iter()
        .map(|target| format!("{}\n", target.input.path.display()));
    terminal::print(lines.collect::<String>().as_bytes())?;
    for failure in &failures {
        terminal::complain(&failure.text);
    }
    Ok(if failures.is_empty() {
        Outcome::Clean
    } else {
        Outcome::Failure
    })
}

/// Prints the settings of one file.
pub(crate) fn settings(args: &CheckArgs, file: &Path) -> Result<Outcome> {
    ensure!(!file.is_dir(), "{}: a folder; name a file in it", file.display());
    ensure!(file.is_file(), "{}: no such file", file.display());
    let project = Projects::new(&args.source).of(file)?;
    terminal::print(describe(args, &project, file).as_bytes())?;
    Ok(Outcome::Clean)
}

fn describe(args: &CheckArgs, project: &Project, file: &Path) -> String {
    let paths = |paths: &[std::path::PathBuf]| -> Vec<String> {
        let shown = paths.iter().map(|path| path.display().to_string());
        // Seen from inside, the folder itself has an empty name.
        shown
            .map(|path| if path.is_empty() { ".".to_owned() } else { path })
            .collect()
    };
    let profile = project.profile;
    let excluded = if project.excludes(file) {
        vec![
            if args.files.force_exclude {
                "yes"
            } else {
                "yes, unless named"
            }
            .to_owned(),
        ]
    } else {
        vec!["no".to_owned()]
    };
    let include = match &project.include[..] {
        [] => {
            let endings = EXTENSIONS.map(|extension| format!("*.{extension}")).join(" ");
            wrap(&endings, WIDTH - MARGIN)
                .lines()
                .map(str::to_owned)
                .collect()
        }
        patterns => patterns.to_vec(),
    };
    let baseline = args
        .baseline
        .baseline
        .clone()
        .or_else(|| project.baseline.clone());
    let virtual_dirs = project.virtual_dirs.iter();
    let variants = project.variants.iter();
    let settings = [
        ("configuration", paths(&project.files)),
        (
            "shader model",
            vec![
                profile.map_or("what the file asks for, else 6.0".to_owned(), |model| {
                    model.to_string()
                }),
            ],
        ),
        (
            "HLSL version",
            vec![project.version.map_or("any", Version::name).to_owned()],
        ),
        ("defines", project.defines.iter().map(definition).collect()),
        ("include-dirs", paths(&project.include_dirs)),
        (
            "virtual-dirs",
            virtual_dirs
                .map(|(name, folder)| format!("{name} is {}", folder.display()))
                .collect(),
        ),
        (
            "variants",
            variants
                .map(|variant| {
                    let defines: Vec<String> = variant.defines.iter().map(definition).collect();
                    format!("{}: {}", variant.name, defines.join(" "))
                })
                .collect(),
        ),
        ("levels", levels(args, project, file)),
        ("form of fixes", vec![project.form.name().to_owned()]),
        ("include", include),
        ("exclude", project.exclude.clone()),
        ("is excluded", excluded),
        ("baseline", paths(baseline.as_slice())),
    ];
    let mut shown = format!("{}\n", file.display());
    for (name, values) in settings {
        let none = ["none".to_owned()];
        let values = if values.is_empty() { &none[..] } else { &values };
        for (index, value) in values.iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let _ = writeln!(shown, "  {name:<NAME$}  {value}");
        }
    }
    shown
}

/// The rules whose level in this file is not the default.
fn levels(args: &CheckArgs, project: &Project, file: &Path) -> Vec<String> {
    let path = file.display().to_string();
    let given = RULES.iter().filter_map(|rule| {
        let level = project.level(&args.rules, rule, &path).level();
        (level != rule.category.level()).then(|| format!("{} = {level}", rule.id))
    });
    given.collect()
}

fn definition(definition: &Define) -> String {
    let (name, value) = definition;
    format!("{name}={value}")
}
