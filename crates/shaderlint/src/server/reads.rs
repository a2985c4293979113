//! Which files a unit depends on.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use shaderlint_hlsl::SourceFile;

use crate::check::file_report::FileReport;
use crate::check::options::{Options, Target};
use crate::support::paths::{here, name_of};
use crate::workspace::include_search::Sought;

/// The files that are read with a file, as far as its includes name them, under an `#if` or not.
#[derive(Default)]
pub(super) struct Reads {
    files: HashSet<PathBuf>,
    /// The names of included files, in lower case and without folders. A new file with such a name may be
    /// meant from then on.
    names: HashSet<String>,
    /// An `#include` uses a macro, so it may mean any file.
    is_open: bool,
}

impl Reads {
    /// What the file of `target` includes, directly or not.
    pub fn of(target: &Target, options: &Options) -> Reads {
        let (files, names) = (RefCell::<HashSet<_>>::default(), RefCell::<HashSet<_>>::default());
        let note_file = |file: &SourceFile| {
            files.borrow_mut().insert(here(Path::new(&file.path)));
            false
        };
        let note_name = |written: &str| {
            let name = Path::new(&written.replace('\\', "/"))
                .file_name()
                .map(PathBuf::from);
            names.borrow_mut().extend(name.as_deref().and_then(name_of));
            false
        };
        let is_open = target.may_include(options, Sought::file(&note_file).or_written(&note_name));
        Reads {
            files: files.into_inner(),
            names: names.into_inner(),
            is_open,
        }
    }

    /// The files that the result of a check depends on. The files that include the checked one are among
    /// them, since they affect its fixes.
    pub fn of_check(checked: &FileReport, target: &Target, options: &Options) -> Reads {
        let mut reads = Reads::of(target, options);
        // `included` is empty if the check skipped the file, because no rule could find anything in it.
        if !checked.included.is_empty() {
            reads.is_open = false;
            reads.files = checked
                .included
                .iter()
                .map(|file| here(Path::new(&file.path)))
                .collect();
        }
        let includers = checked.includers.iter();
        reads.files.extend(includers.map(|file| here(Path::new(file))));
        reads
    }

    /// Whether the contents of the file `path` may matter.
    pub fn has(&self, path: &Path) -> bool {
        let is_named = || name_of(path).is_some_and(|name| self.names.contains(&name));
        self.is_open || self.files.contains(path) || is_named()
    }
}
