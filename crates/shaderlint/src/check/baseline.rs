//! Baselines: a file counts the known findings by file and rule, and shaderlint reports only what exceeds the count.
//!
//! Counts survive edits that move findings about. A baseline does not count findings that a comment suppresses.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use shaderlint_linter::Diagnostic;
use shaderlint_rules::RULES;
use toml::Spanned;

use crate::check::file_report::FileReport;
use crate::support::config_error::{ConfigError, text_of};
use crate::support::error_text::mistake;
use crate::support::paths::here;
use crate::support::suggestions::no_such_rule;

const ABOUT: &str = "\
# Known findings, counted by file and rule: shaderlint reports only what exceeds the count.
# Written by `shaderlint --write-baseline`.
";

/// How many findings of each rule are known in each file. Paths are relative to the baseline's folder, with `/`.
pub(crate) type Counts = BTreeMap<String, BTreeMap<String, usize>>;

/// The baselines of a run, each read once.
#[derive(Default)]
pub(crate) struct Baselines(BTreeMap<PathBuf, Baseline>);

struct Baseline {
    text: String,
    counts: Counts,
}

impl Baselines {
    /// The baselines of these files.
    pub fn read(checked: &[FileReport]) -> Result<Baselines> {
        Baselines::at(checked.iter().filter_map(|one| one.baseline.as_ref()))
    }

    pub fn at<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Baselines> {
        let mut baselines = Baselines::default();
        for path in paths {
            if !baselines.0.contains_key(path) {
                ensure!(
                    path.exists(),
                    "{}: no such baseline; --write-baseline writes it",
                    path.display()
                );
                let text = text_of(path)?;
                let counts = parse(path, &text)?;
                baselines.0.insert(path.clone(), Baseline { text, counts });
            }
        }
        Ok(baselines)
    }

    /// Sets known findings aside. If a file has more findings of a rule than the baseline counts, all of them stay:
    /// the count does not say which are new.
    pub fn apply(&self, checked: &mut [FileReport]) {
        let found = count(checked);
        for one in checked {
            let Some((baseline, known)) = one.baseline.as_ref().and_then(|path| self.0.get_key_value(path))
            else {
                continue;
            };
            let of = |counts: &Counts, key: &str, rule: &str| {
                counts
                    .get(key)
                    .and_then(|of_file| of_file.get(rule))
                    .copied()
                    .unwrap_or(0)
            };
            let FileReport {
                report,
                sources,
                known: put_aside,
                ..
            } = one;
            let mut left = Vec::new();
            for mut finding in std::mem::take(&mut report.findings) {
                let path = sources
                    .get(finding.primary.place.file)
                    .map_or("", |file| &file.path);
                let key = key(baseline, Path::new(path));
                let known = of(&known.counts, &key, finding.rule);
                let found = found
                    .get(baseline)
                    .map_or(0, |counts| of(counts, &key, finding.rule));
                if found <= known {
                    put_aside.push(finding);
                    continue;
                }
                if known > 0 {
                    finding.notes.push(format!(
                        "the baseline counts {known} of these in this file, but there are {found}"
                    ));
                }
                left.push(finding);
            }
            report.findings = left;
        }
    }

    /// The entries that count more findings than there are, for files that were checked as units and files that are
    /// gone. `is_on` says whether a rule was on for a file.
    pub fn stale(&self, checked: &[FileReport], is_on: impl Fn(&str, &Path) -> bool) -> Vec<ConfigError> {
        let found = count(checked);
        let mut stale = Vec::new();
        for (path, baseline) in &self.0 {
            let units: HashSet<String> = checked
                .iter()
                .filter(|one| one.is_unit && one.baseline.as_ref() == Some(path))
                .map(|one| key(path, Path::new(&one.path)))
                .collect();
            for (file, rule, known) in entries(&baseline.counts) {
                let file_path = folder_of(path).join(file);
                let is_gone = !file_path.exists();
                let found = found.get(path).and_then(|counts| counts.get(file)?.get(rule));
                let found = found.copied().unwrap_or(0);
                let is_judged = || is_gone || (units.contains(file) && is_on(rule, &file_path));
                if is_rule(rule) && found < known && is_judged() {
                    let left = if found == 1 {
                        "1 is".to_owned()
                    } else {
                        format!("{found} are")
                    };
                    let message = format!(
                        "{} counts {known} {rule} in {file}, but {left} left: --write-baseline lowers the \
                         count",
                        path.display()
                    );
                    stale.push(baseline.told(path, file, rule, message));
                }
            }
        }
        stale
    }

    /// The entries whose rule does not exist.
    pub fn unknown(&self) -> Vec<ConfigError> {
        let unknown = self.0.iter().flat_map(|(path, baseline)| {
            let entries = entries(&baseline.counts).filter(|(_, rule, _)| !is_rule(rule));
            entries.map(move |(file, rule, _)| {
                let ids: Vec<&str> = shaderlint_rules::named(rule).map(|rule| rule.id).collect();
                let message = if ids.is_empty() {
                    no_such_rule(rule)
                } else {
                    format!(
                        "a baseline counts by rule: `{rule}` stands for {}",
                        ids.join(", ")
                    )
                };
                baseline.told(path, file, rule, message)
            })
        });
        unknown.collect()
    }
}

impl Baseline {
    /// An error about an entry, at its place in the baseline.
    fn told(&self, path: &Path, file: &str, rule: &str, message: String) -> ConfigError {
        type Places = BTreeMap<String, BTreeMap<String, Spanned<usize>>>;
        let places: Places = toml::from_str(&self.text).unwrap_or_default();
        let count = places.get(file).and_then(|rules| Some(rules.get(rule)?.span()));
        let count = count.unwrap_or(0..0);
        let before = self.text.get(..count.start).unwrap_or_default();
        let start = before.rfind(rule).unwrap_or(count.start);
        ConfigError::new(path, &self.text, start..count.end, message)
    }
}

fn entries(counts: &Counts) -> impl Iterator<Item = (&str, &str, usize)> {
    counts
        .iter()
        .flat_map(|(file, rules)| rules.iter().map(move |(rule, known)| (&**file, &**rule, *known)))
}

fn is_rule(id: &str) -> bool {
    RULES.iter().any(|rule| rule.id == id)
}

/// Writes the findings to the baselines, for the files that were checked and the rules that are on (`is_on`). Entries
/// of other files stay while those files exist. Returns the paths of the baselines.
pub(crate) fn write(checked: &[FileReport], is_on: &dyn Fn(&str, &Path) -> bool) -> Result<Vec<PathBuf>> {
    let found = count(checked);
    let mut written = Vec::new();
    let paths: HashSet<&PathBuf> = checked.iter().filter_map(|one| one.baseline.as_ref()).collect();
    for path in paths {
        let mut counts = if path.exists() {
            parse(path, &text_of(path)?)?
        } else {
            Counts::new()
        };
        let seen: HashSet<String> = checked
            .iter()
            .filter(|one| one.baseline.as_ref() == Some(path))
            .map(|one| key(path, Path::new(&one.path)))
            .collect();
        counts.retain(|file, rules| {
            let file_path = folder_of(path).join(file);
            rules.retain(|rule, _| !(seen.contains(file) && is_on(rule, &file_path)));
            !rules.is_empty() && file_path.exists()
        });
        for (file, rules) in found.get(path).cloned().unwrap_or_default() {
            counts.entry(file).or_default().extend(rules);
        }
        std::fs::write(path, text(&counts)).with_context(|| path.display().to_string())?;
        written.push(path.clone());
    }
    written.sort();
    Ok(written)
}

pub(crate) fn parse(path: &Path, text: &str) -> Result<Counts> {
    toml::from_str(text).map_err(|error| mistake(path, text, &error, &[]).into())
}

fn text(counts: &Counts) -> String {
    let mut text = ABOUT.to_owned();
    for (file, rules) in counts {
        let _ = write!(text, "\n[{}]\n", toml::Value::String(file.clone()));
        for (rule, count) in rules {
            let _ = writeln!(text, "{rule} = {count}");
        }
    }
    text
}

/// Counts the findings by baseline, file and rule, including those set aside.
fn count(checked: &[FileReport]) -> HashMap<PathBuf, Counts> {
    let mut counts: HashMap<PathBuf, Counts> = HashMap::new();
    for one in checked {
        let Some(baseline) = &one.baseline else {
            continue;
        };
        let mut add = |finding: &Diagnostic| {
            let path = one
                .sources
                .get(finding.primary.place.file)
                .map_or("", |file| &file.path);
            let of_baseline = counts.entry(baseline.clone()).or_default();
            let of_file = of_baseline.entry(key(baseline, Path::new(path))).or_default();
            *of_file.entry(finding.rule.to_owned()).or_default() += 1;
        };
        one.report.findings.iter().for_each(&mut add);
        one.known.iter().for_each(&mut add);
    }
    counts
}

fn folder_of(baseline: &Path) -> &Path {
    let folder = baseline.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The name of a file in a baseline.
fn key(baseline: &Path, file: &Path) -> String {
    let file = here(file);
    let name = file.strip_prefix(here(folder_of(baseline))).unwrap_or(&file);
    let name = name.display().to_string();
    if cfg!(windows) {
        name.replace('\\', "/")
    } else {
        name
    }
}
