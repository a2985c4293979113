//! What the files that include another one make of its fixes, and of its comments.
//!
//! A fix is proved of a file as it is read by itself. Whoever includes the file compiles the same text with macros and
//! beside functions of their own, and there it may be wrong: a group of 64 threads needs more wave totals than the 32
//! that it was proved for. So a fix stays only if every file of the workspace that includes this one, whether or not it
//! is to be looked at, has nothing against it in any of its readings ([`Reading::objection`]). Where one includes it only under
//! definitions that nobody tried, nothing is known, and there is no fix either.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use shaderlint_hlsl::{Includes, SourceFile, Text, decode, is_cpp, may_spell};
use shaderlint_linter::{Diagnostic, NoFix, Rule, Settings, Verdict};

use crate::config::{Definition, Project, here, shown};
use crate::includes::{OfWorkspace, Search, is_same, name_of};
use crate::lint::{Looked, Options, Role};
use crate::scan;
use crate::variants::{Reading, readings};
use crate::walk;

/// Of a file that more than so many include nothing is fixed.
const MAX_INCLUDERS: usize = 32;

/// The files of the workspace that may include this one, directly or not: see [`Files::mentioning`](crate::includes::Files).
pub(crate) fn mentioning(file: &Path, options: &Options) -> BTreeMap<PathBuf, bool> {
    let of_workspace = ByFolder {
        options,
        projects: RefCell::default(),
    };
    options.files.mentioning(file, &of_workspace)
}

/// What holds for a file holds for those beside it.
struct ByFolder<'a> {
    options: &'a Options,
    projects: RefCell<HashMap<PathBuf, Arc<Project>>>,
}

impl ByFolder<'_> {
    fn project_of(&self, path: &Path) -> Arc<Project> {
        let folder = path.parent().unwrap_or(path).to_owned();
        let mut projects = self.projects.borrow_mut();
        let project = projects.entry(folder).or_insert_with(|| {
            // A configuration that cannot be read is complained of elsewhere.
            let project = (self.options.project_of)(path).unwrap_or_default();
            self.options.files.allow(project.header_folders());
            project
        });
        Arc::clone(project)
    }
}

impl OfWorkspace for ByFolder<'_> {
    fn is_unit(&self, path: &Path) -> bool {
        walk::is_shader(path) || walk::may_include_shaders(path) || self.project_of(path).includes(path)
    }

    fn resolve(&self, from: &Path, written: &str) -> Option<PathBuf> {
        let project = self.project_of(from);
        let search = Search::new(&self.options.files, &project);
        let file = search.resolve(&from.display().to_string(), written, false)?;
        Some(here(Path::new(&file.path)))
    }
}

/// What was found in a file has fixes only where all who include it agree, and a comment in it is without need only where
/// none of them needs it. `text` is what it was looked at with.
pub(crate) fn keep_what_all_includers_agree_on(looked: &mut Looked, text: &Text, options: &Options) {
    let is_theirs = |finding: &Diagnostic| finding.fix.is_some() || finding.verdict == Verdict::Unused;
    if !looked.report.findings.iter().any(is_theirs) {
        return;
    }
    let path = Path::new(&looked.path).to_owned();
    let is_it = |other: &str| is_same(Path::new(other), &path);
    for (includer, names_it) in mentioning(&path, options) {
        // Of all C++ headers with a macro in an `#include` hardly one includes shaders: it has the words of the name then.
        let spells_it = || {
            let text = options
                .files
                .bytes(&includer)
                .ok()
                .and_then(|bytes| decode(&bytes));
            text.is_some_and(|text| may_spell(&text, &name_of(&path).unwrap_or_default()))
        };
        let may_include = || walk::is_shader(&includer) || options.files.is_named(&includer) || spells_it();
        if options.stop.is_set() || is_same(&includer, &path) || !names_it && !may_include() {
            continue;
        }
        let name = shown(&includer).display().to_string();
        let at = (&*path, text);
        let use_of = look((&includer, names_it), &name, at, options, &is_it).unwrap_or(Use::Unknown);
        if matches!(use_of, Use::None) {
            continue;
        }
        let are_too_many = looked.includers.len() >= MAX_INCLUDERS;
        looked.report.findings.retain_mut(|finding| match &use_of {
            _ if are_too_many => {
                let text = format!("more than {MAX_INCLUDERS} files include this one");
                finding.withdraw(NoFix::new("many-includers", text));
                finding.verdict != Verdict::Unused
            }
            Use::Read(readings) if finding.verdict == Verdict::Unused => {
                let place = finding.primary.place;
                let may_use = |reading: &Reading| reading.is_in_part() || reading.uses(place, &is_it);
                !readings.iter().any(may_use)
            }
            Use::Read(readings) => {
                let mut readings = readings.iter();
                if let Some(why) = readings.find_map(|reading| reading.objection(finding, &name, &is_it)) {
                    finding.withdraw(why);
                }
                true
            }
            _ => {
                let text = format!("{name} may include this file under other definitions");
                finding.withdraw(NoFix::new("unread-includer", text).named(&*name));
                finding.verdict != Verdict::Unused
            }
        });
        if are_too_many {
            return;
        }
        looked.includers.push(name);
    }
}

/// What a file has of another one.
enum Use {
    None,
    /// It includes it in one of these.
    Read(Vec<Reading>),
    /// It includes it under definitions that were not tried.
    Unknown,
}

/// Looks at a file where it includes the one at `path`, were `text` in that. `names_it` says whether its name is in the file
/// or in what that includes.
fn look(
    (includer, names_it): (&Path, bool),
    name: &str,
    (path, text): (&Path, &Text),
    options: &Options,
    is_it: &dyn Fn(&str) -> bool,
) -> Result<Use> {
    let Some(own) = options
        .files
        .bytes(includer)
        .ok()
        .and_then(|bytes| decode(&bytes))
    else {
        return Ok(Use::None);
    };
    // What includes it there is a C++ compiler.
    if is_cpp(&own) {
        return Ok(Use::None);
    }
    let project = (options.project_of)(includer)?;
    options.files.allow(project.header_folders());
    let search = Search::new(&options.files, &project).with(path, text);
    let includes_it = |if_unknown: bool| {
        let is_it = |file: &SourceFile| is_it(&file.path);
        scan::includes_one(name, &own, &search, if_unknown, &is_it, &|_| false)
    };
    if !includes_it(true) {
        return Ok(Use::None);
    }
    let level = |rule: &Rule, path: &str| options.level(&project, rule, path);
    let settings = Settings {
        shader_model: project.profile,
        level: &level,
        is_stopped: &|| options.stop.is_set(),
        edited: Some(is_it),
    };
    // What is found in it is what it allows.
    let role = if scan::names_entry(&own) {
        Role::Unit
    } else {
        Role::StrayHeader
    };
    let readings = readings(name, &own, &project, &search, &settings, role);
    let includes = readings.iter().any(|reading| !reading.numbers(is_it).is_empty());
    let given: Vec<Definition> = project.all_definitions().cloned().collect();
    let file_name = name_of(path).unwrap_or_default();
    let may_include = || {
        readings
            .iter()
            .any(|reading| reading.may_include(&file_name, &given))
    };
    Ok(if includes && !readings.iter().any(Reading::is_cut) {
        Use::Read(readings)
    } else if includes || names_it || includes_it(false) || may_include() {
        // One that names it may have it by a macro that other definitions make.
        Use::Unknown
    } else {
        Use::None
    })
}
