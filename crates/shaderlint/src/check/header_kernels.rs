//! The kernels that shaderlint checks for a header: the findings in a header come from the files that include it.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use rustc_hash::{FxHashMap, FxHashSet};
use shaderlint_hlsl::{Directives, SourceFile, Text, declared_words};

use crate::check::candidates::mentioning;
use crate::check::options::{Options, Target};
use crate::support::paths::{here, is_same, shown};
use crate::support::words::words;
use crate::workspace::include_search::Sought;
use crate::workspace::walk::{Input, InputOrigin};

/// The most kernels in which a header is checked by itself.
const MAX_KERNELS: usize = 8;

/// The files with a kernel that include `header`, directly or not, the nearest first. Excluded files are not among
/// them.
pub(crate) fn including(header: &Path, options: &Options) -> Result<Vec<Target>> {
    let mut found = Vec::new();
    for path in mentioning(header, options).into_keys() {
        if options.stop.is_set() {
            break;
        }
        if is_same(&path, header) || !options.files.may_have_entry(&path) {
            continue;
        }
        let project = (options.project_of)(&path)?;
        options.files.allow(project.header_folders());
        let is_excluded = !project.includes(&path) || project.excludes(&path);
        let target = Target {
            input: Input {
                path: shown(&path),
                origin: InputOrigin::Includer,
            },
            project,
        };
        let is_header = |file: &SourceFile| is_same(Path::new(&file.path), header);
        if !is_excluded && target.may_include(options, Sought::file(&is_header)) {
            found.push(target);
        }
    }
    let header = here(header);
    found.sort_by_cached_key(|target| {
        let path = here(&target.input.path);
        let shared = path.components().zip(header.components());
        let shared = shared.take_while(|(a, b)| a == b).count();
        (Reverse(shared), path.components().count(), path)
    });
    Ok(found)
}

/// The files in which to check `header`: all of them, or as few as together name what the header declares. Each one in
/// turn adds as many names as possible, and the nearest comes first among equals.
pub(crate) fn most_telling(header: &Path, mut including: Vec<Target>, options: &Options) -> Vec<Target> {
    if including.len() <= MAX_KERNELS {
        return including;
    }
    let text = options.files.read(header).map(|file| file.text);
    let mut names = Names::of(header, text.as_ref());
    let mut named: Vec<FxHashSet<usize>> = including
        .iter()
        .map(|target| names.named_in(target, options))
        .collect();
    let mut chosen = BTreeSet::new();
    while chosen.len() < MAX_KERNELS {
        let count = |at: usize| named.get(at).map_or(0, FxHashSet::len);
        let next = (0..including.len()).max_by_key(|at| (count(*at), Reverse(*at)));
        let Some(next) = next.filter(|at| count(*at) > 0 || chosen.is_empty()) else {
            break;
        };
        let new = named.get(next).cloned().unwrap_or_default();
        for names in &mut named {
            names.retain(|name| !new.contains(name));
        }
        chosen.insert(next);
    }
    let mut at = 0..;
    including.retain(|_| at.next().is_some_and(|at| chosen.contains(&at)));
    including
}

/// The names that a header declares, and which of them other files contain.
struct Names<'a> {
    header: &'a Path,
    numbers: FxHashMap<Vec<u8>, usize>,
    /// By the path of the file.
    known: FxHashMap<String, FxHashSet<usize>>,
}

impl<'a> Names<'a> {
    fn of(header: &'a Path, text: Option<&Text>) -> Self {
        let declared = text.map(|text| declared_words(text));
        let lines = text.map(Text::derived::<Directives>);
        let defines = lines.iter().flat_map(|lines| lines.iter());
        let defines = defines.filter(|line| line.keyword == b"define");
        let macros = defines.filter_map(|line| words(&line.argument).next());
        let all = declared.into_iter().flatten().chain(macros.map(<[u8]>::to_vec));
        let all: BTreeSet<Vec<u8>> = all.collect();
        Names {
            header,
            numbers: all.into_iter().zip(0..).collect(),
            known: FxHashMap::default(),
        }
    }

    /// Those that occur in a file, or in one that it includes beside the header.
    fn named_in(&mut self, target: &Target, options: &Options) -> FxHashSet<usize> {
        let path = target.input.path.display().to_string();
        let Some(SourceFile { text, .. }) = options.files.read(&target.input.path) else {
            return FxHashSet::default();
        };
        let included = RefCell::new(Vec::new());
        let collect = |file: &SourceFile| {
            included.borrow_mut().push(file.clone());
            false
        };
        let search = options.search(&target.project);
        search.includes_one(&path, &text, Sought::file(&collect).for_certain());
        let mut found = self.named_by(&text);
        for file in included.into_inner() {
            if is_same(Path::new(&file.path), self.header) {
                continue;
            }
            if !self.known.contains_key(&file.path) {
                let named = self.named_by(&file.text);
                self.known.insert(file.path.clone(), named);
            }
            found.extend(self.known.get(&file.path).into_iter().flatten());
        }
        found
    }

    fn named_by(&self, text: &[u8]) -> FxHashSet<usize> {
        words(text)
            .filter_map(|word| self.numbers.get(word).copied())
            .collect()
    }
}
