//! Finds included files.
//!
//! Real projects are written on Windows, and built with include paths that none of their files states. So
//! names match in any case, and a file that is found nowhere is looked up in the trees by the end of its
//! path.

mod lookups;

use std::cell::{Ref, RefCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use shaderlint_hlsl::{Includes, SourceFile, Text};

use crate::support::paths::{here, is_same, without_dots};
use crate::workspace::config::Project;
use crate::workspace::files::Files;
use crate::workspace::include_search::{self, Sought};
pub(crate) use lookups::Lookups;
use lookups::{Choice, Refused};

/// The search for the files that one translation unit includes.
///
/// As in DXC, `"path"` is searched beside the including file, beside the files that include that one, and in
/// the include folders. `<path>` is searched in the include folders only. Virtual folders come before all of
/// these.
///
/// A build may have folders or a search of its own. So a file that is found in none of these places is
/// searched beside the including files in spite of `<>`, and then in the trees.
pub(crate) struct Search<'a> {
    files: &'a Files,
    project: &'a Project,
    lookups: RefCell<Lookups>,
    /// The record of the questions and their answers, if one is kept.
    answers: Option<RefCell<Answers>>,
    /// The absolute path of a file, and a text that replaces its own.
    replaced: Option<(PathBuf, Text)>,
}

/// The arguments of [`Includes::resolve`]: the including files, the path, and whether it is in angle
/// brackets.
pub(crate) type Question = (Vec<String>, String, bool);

/// The questions in order, each once, with their answers. Asking them again in this order records the same
/// choices and refusals in the same order.
#[derive(Default)]
pub(crate) struct Answers {
    pub in_order: Vec<(Question, Option<SourceFile>)>,
    asked: HashSet<Question>,
}

impl<'a> Search<'a> {
    pub fn new(files: &'a Files, project: &'a Project) -> Self {
        Search {
            files,
            project,
            lookups: RefCell::default(),
            answers: None,
            replaced: None,
        }
    }

    /// Records the questions and their answers.
    pub fn recorded(self) -> Self {
        Search {
            answers: Some(RefCell::default()),
            ..self
        }
    }

    /// Replaces the text of the file `path` by `text`.
    pub fn with(self, path: &Path, text: &Text) -> Self {
        Search {
            replaced: Some((here(path), text.clone())),
            ..self
        }
    }

    /// Whether the file with this name and text includes what is sought. If includes with an unknown file count, so do
    /// the other files that an ambiguous include may mean, and what these include.
    pub fn includes_one(&self, name: &str, text: &Text, sought: Sought<'_>) -> bool {
        if include_search::reaches(name, text, self, sought) {
            return true;
        }
        let mut seen = HashSet::new();
        // Searching the includes of each file may add more choices.
        while let Some(other) = {
            let lookups = self.lookups.borrow();
            let mut others = lookups.others();
            others
                .find(|other| sought.if_unknown && !seen.contains(*other))
                .cloned()
        } {
            let file = self.files.read(&other);
            seen.insert(other);
            let is_or_reaches = |file: SourceFile| {
                sought.is(&file) || include_search::reaches(&file.path, &file.text, self, sought)
            };
            if file.is_some_and(is_or_reaches) {
                return true;
            }
        }
        false
    }

    pub fn into_lookups(self) -> Lookups {
        self.lookups.into_inner()
    }

    /// The record, if there is one.
    pub fn answers(&self) -> Option<Ref<'_, Answers>> {
        self.answers.as_ref().map(RefCell::borrow)
    }

    /// The first of these files that exists. Some compilers distinguish `a` from `A`, or require each folder
    /// of `a/../b` to exist. If these would take another file, the choice is recorded as ambiguous.
    fn first_of(&self, spelled: &[PathBuf], from: &str, written: &str) -> Option<SourceFile> {
        let mut paths = spelled.iter();
        let taken = paths.find_map(|path| {
            let file = self.files.read(&without_dots(path))?;
            let is_exact = file.path == path.to_string_lossy() || self.files.is_there(path);
            Some((file, is_exact))
        });
        let (file, is_exact) = taken?;
        if !is_exact && let Some(other) = paths.find(|path| path.is_file()) {
            self.note_choice(from, written, Path::new(&file.path), std::slice::from_ref(other));
        }
        Some(file)
    }

    /// The file `beside` an including file, else the nearest file in the trees whose path ends like `path`.
    fn nearest_in_trees(
        &self,
        from: &str,
        written: &str,
        path: &str,
        beside: Option<PathBuf>,
    ) -> Option<SourceFile> {
        let mut found = self.files.ending_like(path, Path::new(from));
        if let Some(beside) = beside {
            found.retain(|path| !is_same(path, &beside));
            found.insert(0, beside);
        }
        let (taken, others) = found.split_first()?;
        if !others.is_empty() {
            self.note_choice(from, written, taken, others);
        }
        self.files.read(taken)
    }

    fn note_choice(&self, from: &str, written: &str, taken: &Path, others: &[PathBuf]) {
        self.lookups.borrow_mut().note_choice(Choice {
            from: from.to_owned(),
            written: written.to_owned(),
            taken: taken.to_owned(),
            others: others.to_vec(),
        });
    }
}

impl Includes for Search<'_> {
    fn resolve(&self, readers: &[&str], written: &str, angled: bool) -> Option<SourceFile> {
        let from = readers.first().copied().unwrap_or_default();
        let path = written.replace('\\', "/");
        let in_virtual = self.project.virtual_dirs.iter().filter_map(|(name, folder)| {
            let rest = below(&path, name)?;
            Some(folder.join(rest))
        });
        let under = |folders: &[&Path]| {
            let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.join(&path)).collect();
            paths.into_iter()
        };
        let beside: Vec<&Path> = readers
            .iter()
            .filter_map(|file| Path::new(*file).parent())
            .collect();
        let given: Vec<&Path> = self.project.include_dirs.iter().map(PathBuf::as_path).collect();
        let spelled = if angled {
            in_virtual.chain(under(&given)).collect()
        } else {
            in_virtual
                .chain(under(&[beside.as_slice(), &given].concat()))
                .collect::<Vec<_>>()
        };
        let found = self.first_of(&spelled, from, written);
        let mut found = found.or_else(|| {
            let beside = under(&beside).map(|path| without_dots(&path));
            let near = beside
                .filter(|_| angled)
                .find(|path| self.files.read(path).is_some());
            self.nearest_in_trees(from, written, &path, near)
        });
        if let (Some(file), Some((path, text))) = (&mut found, &self.replaced)
            && is_same(Path::new(&file.path), path)
        {
            file.text = text.clone();
        }
        if found.is_none()
            && let Some(path) =
                { spelled.iter().map(|path| without_dots(path)) }.find(|path| self.files.refuses(path))
        {
            self.lookups.borrow_mut().note_refused(Refused {
                from: from.to_owned(),
                written: written.to_owned(),
                path,
            });
        }
        if let Some(answers) = &self.answers {
            let readers = readers.iter().map(|reader| (*reader).to_owned()).collect();
            let question = (readers, written.to_owned(), angled);
            let mut answers = answers.borrow_mut();
            if answers.asked.insert(question.clone()) {
                answers.in_order.push((question, found.clone()));
            }
        }
        found
    }
}

/// The rest of `path` below the virtual folder `name`.
fn below<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let path = path.trim_start_matches('/');
    let name = name.trim_matches(['/', '\\']).replace('\\', "/");
    let (start, rest) = path.split_at_checked(name.len())?;
    if start.eq_ignore_ascii_case(&name) {
        rest.strip_prefix('/')
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_folders_are_whole_components_in_any_case() {
        assert_eq!(below("/Engine/Private/a.ush", "/engine"), Some("Private/a.ush"));
        assert_eq!(below("Engine/Private/a.ush", "/Engine/Private/"), Some("a.ush"));
        assert_eq!(below("/Engines/a.ush", "/Engine"), None);
        assert_eq!(below("/Eng", "/Engine"), None);
    }
}
