//! Why files were not understood in full, over a whole run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{Cause, Problem};

use super::summary::counted;
use crate::check::file_report::FileReport;

/// The most names on a line.
const MAX_NAMES: usize = 3;

/// A line for each cause: how many files have it, and what can be done about it. The unknown names of a file
/// that lacks an include do not count: the include may declare them. `checked` has the problems of each file,
/// including those of the headers that it shares with others.
pub(crate) fn causes(checked: &[FileReport]) -> String {
    let (mut missing, mut names) = (Files::default(), Files::default());
    let (mut unread, mut stopped, mut cut) = (0, 0, 0);
    for one in checked.iter().filter(|one| one.is_partial) {
        let (mut includes, mut unknown) = (BTreeSet::new(), BTreeSet::new());
        for problem in &one.problems {
            match &problem.cause {
                Cause::Missing(name) => includes.insert(name.clone()),
                Cause::Name(name) => unknown.insert(name.clone()),
                _ => false,
            };
        }
        if includes.is_empty() {
            names.add(unknown);
        }
        missing.add(includes);
        let is_of_text =
            |problem: &Problem| matches!(problem.cause, Cause::Text | Cause::Condition | Cause::Unread);
        unread += usize::from(one.problems.iter().any(is_of_text));
        // The line about names covers a run that stops at an unknown name.
        let is_told = |stop: &Problem| one.problems.iter().any(|problem| starts_like(problem, stop));
        stopped += usize::from(!one.report.stops.iter().all(is_told));
        cut += usize::from(one.elsewhere.iter().any(|problem| problem.cause == Cause::Builds));
    }
    let mut lines = Vec::new();
    if !missing.by_name.is_empty() {
        let is_virtual = |name: &String| name.starts_with('/');
        let names = missing.by_name.keys();
        let help = match (names.clone().any(is_virtual), names.clone().all(is_virtual)) {
            (_, true) => "use `virtual-dirs` to say where they are",
            (true, false) => "use -I to say where they are, and `virtual-dirs` for paths that begin with /",
            (false, false) => "use -I to say where they are",
        };
        let count = counted(missing.by_name.len(), "include", "includes");
        lines.push(format!("{count} not found: {}; {help}", missing.most_frequent()));
    }
    if names.count > 0 {
        let verb = if names.count == 1 { "uses" } else { "use" };
        let files = counted(names.count, "file", "files");
        lines.push(format!(
            "{files} {verb} unknown names: {}; use -D for those that the build defines",
            names.most_frequent()
        ));
    }
    if unread > 0 {
        let files = counted(unread, "file has", "files have");
        lines.push(format!("{files} text that shaderlint does not understand"));
    }
    if stopped > 0 {
        let files = counted(stopped, "file has", "files have");
        lines.push(format!(
            "{files} kernels that shaderlint cannot follow to their end"
        ));
    }
    if cut > 0 {
        let files = counted(cut, "file declares", "files declare");
        lines.push(format!("{files} more builds than shaderlint read"));
    }
    lines.iter().flat_map(|line| ["  ", line, "\n"]).collect()
}

/// One problem of each cause, and the number of further ones.
pub(crate) fn by_cause<'a>(problems: impl Iterator<Item = &'a Problem>) -> Vec<(&'a Problem, usize)> {
    let mut shown: Vec<(&Problem, usize)> = Vec::new();
    for problem in problems {
        match shown.iter_mut().find(|known| known.0.cause == problem.cause) {
            Some((_, more)) => *more += 1,
            None => shown.push((problem, 0)),
        }
    }
    shown
}

fn starts_like(a: &Problem, b: &Problem) -> bool {
    let start = |problem: &Problem| problem.place.map(|place| (place.file, place.start));
    start(a).is_some() && start(a) == start(b)
}

/// The number of files that have a cause, in all and by the name in the cause.
#[derive(Default)]
struct Files {
    by_name: BTreeMap<String, usize>,
    count: usize,
}

impl Files {
    fn add(&mut self, names: BTreeSet<String>) {
        self.count += usize::from(!names.is_empty());
        for name in names {
            *self.by_name.entry(name).or_default() += 1;
        }
    }

    /// `a (12 files), b (3 files) and 2 more`
    fn most_frequent(&self) -> String {
        let mut names: Vec<(&String, &usize)> = self.by_name.iter().collect();
        names.sort_by_key(|(_, count)| Reverse(**count));
        let first = names.iter().take(MAX_NAMES);
        let first = first.map(|(name, count)| format!("`{name}` ({})", counted(**count, "file", "files")));
        let first = first.collect::<Vec<_>>().join(", ");
        match names.len().saturating_sub(MAX_NAMES) {
            0 => first,
            more => format!("{first} and {more} more"),
        }
    }
}
