//! The configurations of a file: the sets of definitions under which builds compile it.
//!
//! One is the default. Others are declared: the variants of the project, the definitions that `#pragma kernel` lines
//! give their kernels, and the keywords of `#pragma multi_compile` and `#pragma shader_feature`. The rest are
//! explored: if conditional compilation leaves out a region that may matter to the rules, this searches for
//! definitions that turn the region on. The expansion of the region decides whether it matters
//! ([`Definitions::reach`]): a macro may open an entry point there, call a function, or declare memory.

mod declared;
#[cfg(feature = "gpu")]
mod unread;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use shaderlint_hlsl::{
    Exploration, Includes, KernelVariant, KeywordSet, Preprocessed, Problem, Text, Version, keyword_sets,
    preprocess,
};

use crate::support::definition::{Define, overlaid};
use crate::support::words::{contains, words};
use crate::workspace::config::Project;
use declared::{Declared, choices, declared};

/// Words that make a region matter to the rules, or a function. The words that make a file matter are others
/// ([`WORDS`](crate::workspace::prefilter::WORDS)): a file is only parsed for them, but a region costs a reading. So a
/// region that only has wave or quad intrinsics gets none, and appends count by their calls, which may be far from the
/// declaration of the buffer.
pub(crate) const TELLING: [&[u8]; 6] = [
    b"Barrier",
    b"Interlocked",
    b"groupshared",
    b"IncrementCounter",
    b"DecrementCounter",
    b".Append(",
];

/// The maximum of configurations read beside the default one and those of kernels.
pub(crate) const MAX_CONFIGURATIONS: usize = 8;

/// A file under one set of definitions, preprocessed.
pub(crate) struct Configuration {
    pub name: ConfigurationName,
    pub defines: Vec<Define>,
    pub unit: Preprocessed,
    pub problems: Vec<Problem>,
}

/// How findings name a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ConfigurationName {
    /// The default one, which findings do not name.
    #[default]
    Default,
    /// Any other one of all entry points, such as "with keyword FAST".
    Other(String),
    /// One in which only these entry points are compiled, with their own definitions. `under` is the text about
    /// definitions and keywords; it may be empty.
    OfKernels { kernels: Vec<String>, under: String },
}

impl ConfigurationName {
    /// The name; `None` for the default configuration.
    pub fn label(&self) -> Option<String> {
        self.label_in(self.kernels().unwrap_or_default())
    }

    /// The name in a finding in these kernels.
    pub fn label_in(&self, kernels: &[String]) -> Option<String> {
        match self {
            ConfigurationName::Default => None,
            ConfigurationName::Other(label) => Some(label.clone()),
            ConfigurationName::OfKernels { under, .. } => {
                let kernels = format!("in kernel {}", kernels.join(", "));
                Some(spaced(&[&kernels, under]))
            }
        }
    }

    /// The entry points that are compiled in the configuration; `None` for all.
    pub fn kernels(&self) -> Option<&[String]> {
        match self {
            ConfigurationName::OfKernels { kernels, .. } => Some(kernels),
            _ => None,
        }
    }
}

/// Those of these parts that have text, with spaces between them.
fn spaced(parts: &[&str]) -> String {
    let parts = parts.iter().filter(|part| !part.is_empty()).copied();
    parts.collect::<Vec<_>>().join(" ")
}

/// The configurations of one file.
pub(crate) struct Configurations<'a> {
    path: &'a str,
    text: &'a Text,
    project: &'a Project,
    includes: &'a dyn Includes,
    base: Vec<Define>,
    declared: Vec<Declared>,
    /// There are more declared configurations than are read.
    omits_declared: bool,
    /// Entry points that are compiled without definitions of their own, and those with such definitions.
    as_it_stands: Vec<KernelVariant>,
    of_kernels: Vec<KernelVariant>,
    /// The definitions of the declared configurations, and all keywords: a fix's text must be valid under each of
    /// them.
    given: Vec<Define>,
    sets: Vec<KeywordSet>,
}

impl<'a> Configurations<'a> {
    /// The configurations of the file `path` with the text `text`, and the default configuration.
    pub fn of(
        path: &'a str,
        text: &'a Text,
        project: &'a Project,
        includes: &'a dyn Includes,
    ) -> (Self, Configuration) {
        let base = project.defines_of(text);
        let (mut unit, problems) = preprocess(path, text, &base, includes);
        let kernels = std::mem::take(&mut unit.kernels).into_iter();
        let (as_it_stands, of_kernels): (Vec<KernelVariant>, Vec<KernelVariant>) =
            kernels.partition(|variant| variant.defines.is_empty());
        let (choices, has_more) = choices(text, &unit, project);
        let is_built_alone = !as_it_stands.is_empty() || of_kernels.is_empty();
        let (declared, omits_declared) = declared(project, &of_kernels, is_built_alone, &choices);
        let sets = keyword_sets(text);
        // Also keywords that no condition tests: the text of a fix must not use such a name for something else.
        let keywords = sets
            .iter()
            .flat_map(|KeywordSet(choices)| choices.iter().flatten());
        let keywords = keywords.map(|keyword| (keyword.clone(), "1".to_owned()));
        let of_declared = declared.iter().flat_map(|one| one.over.iter().cloned());
        let given = of_declared.chain(keywords).collect();
        let configurations = Configurations {
            path,
            text,
            project,
            includes,
            base: base.clone(),
            declared,
            omits_declared: omits_declared || has_more,
            as_it_stands,
            of_kernels,
            given,
            sets,
        };
        let default = configurations.configuration(ConfigurationName::Default, base, unit, problems);
        (configurations, default)
    }

    /// Whether the project and the file declare more configurations than [`Configurations::declared`] returns.
    pub fn omits_declared(&self) -> bool {
        self.omits_declared
    }

    /// The configurations that the project and the file declare beside the default one. The iterator makes each when
    /// it reaches it, and skips those with the text of the default one.
    pub fn declared<'d>(&'d self, default: &'d [u8]) -> impl Iterator<Item = Configuration> + 'd {
        self.declared.iter().filter_map(move |one| {
            let base = self.base.iter().filter(|(name, _)| !one.without.contains(name));
            let defines = overlaid(&base.cloned().collect::<Vec<_>>(), &one.over);
            let (unit, problems) = preprocess(self.path, self.text, &defines, self.includes);
            let is_it = one.name.kernels().is_some()
                || unit.text != *default
                || self.version(&defines) != self.version(&self.base);
            is_it.then(|| self.configuration(one.name.clone(), defines, unit, problems))
        })
    }

    /// A configuration with the definitions `over` on top of `under`.
    pub fn with(&self, under: &[Define], over: &[Define]) -> Configuration {
        let defines = overlaid(under, over);
        let (unit, problems) = preprocess(self.path, self.text, &defines, self.includes);
        self.configuration(self.beside_base(&defines), defines, unit, problems)
    }

    /// All configurations of a file except the default one, whatever their regions hold. No region is turned on
    /// against a definition of the project or of `-D`: these describe the build in question.
    #[cfg(feature = "gpu")]
    pub fn others(&self, default: &Configuration) -> Vec<Configuration> {
        let is_any = |_: &str, _: shaderlint_hlsl::FileSpan, _: &[u8]| true;
        let is_build = |defines: &[Define]| {
            self.is_build(defines) && self.project.defines.iter().all(|one| defines.contains(one))
        };
        let mut exploration = Exploration::new(&is_any, &is_build);
        exploration.note(&default.unit, &default.defines);
        let mut all: Vec<Configuration> = self.declared(&default.unit.text).collect();
        for one in &all {
            exploration.note(&one.unit, &one.defines);
        }
        while all.len() < MAX_CONFIGURATIONS
            && let Some(one) = self.explored(&mut exploration)
        {
            all.push(one);
        }
        all
    }

    /// The macros to which a build may give other values than these configurations do. The default one comes first.
    #[cfg(feature = "gpu")]
    pub fn unread(&self, read: &[&Configuration]) -> std::collections::BTreeSet<String> {
        unread::unread(read, &|name| {
            let is_keyword =
                |KeywordSet(choices): &KeywordSet| choices.iter().flatten().any(|one| one == name);
            self.project.defines.iter().any(|(known, _)| known == name)
                || !self.omits_declared && self.sets.iter().any(is_keyword)
                || name == Version::MACRO && self.version(&self.base).is_some()
        })
    }

    /// The next configuration that turns on a region which no earlier one turned on.
    pub fn explored(&self, exploration: &mut Exploration<'_>) -> Option<Configuration> {
        let found = exploration.next(|defines| preprocess(self.path, self.text, defines, self.includes))?;
        let name = self.beside_base(&found.defines);
        Some(self.configuration(name, found.defines, found.unit, found.problems))
    }

    /// The name of a configuration with these definitions that nothing declares.
    fn beside_base(&self, defines: &[Define]) -> ConfigurationName {
        ConfigurationName::Other(difference(&self.base, defines))
    }

    fn version(&self, defines: &[Define]) -> Option<Version> {
        self.project.version_of(self.text, defines)
    }

    fn configuration(
        &self,
        name: ConfigurationName,
        defines: Vec<Define>,
        mut unit: Preprocessed,
        problems: Vec<Problem>,
    ) -> Configuration {
        unit.given.extend(self.given.iter().cloned());
        unit.version = self.version(&defines);
        Configuration {
            name,
            defines,
            unit,
            problems,
        }
    }

    /// Whether a build may have exactly these definitions: one keyword of each set, or none if the set allows that.
    pub fn is_build(&self, defines: &[Define]) -> bool {
        self.sets.iter().all(|KeywordSet(choices)| {
            let is_chosen = |keyword: &&String| defines.iter().any(|(name, _)| name == *keyword);
            match choices.iter().flatten().filter(is_chosen).count() {
                0 => choices.contains(&None),
                chosen => chosen == 1,
            }
        })
    }

    /// Whether `#pragma kernel` lines name the compiled kernels, and this one is not among them.
    pub fn leaves_out(&self, name: &str) -> bool {
        let mut all = self.as_it_stands.iter().chain(&self.of_kernels).peekable();
        all.peek().is_some() && !all.any(|variant| variant.kernels.iter().any(|one| one == name))
    }

    /// Whether a build compiles anything in a configuration that is not one of kernels. It does not if `#pragma
    /// kernel` lines give each kernel definitions that this one lacks.
    pub fn builds_any(&self, defines: &[Define]) -> bool {
        let all = self.as_it_stands.iter().chain(&self.of_kernels);
        let mut kernels = all.flat_map(|variant| &variant.kernels).peekable();
        kernels.peek().is_none() || kernels.any(|name| self.builds(name, defines, || false))
    }

    /// Whether a build compiles the entry point `name` in a configuration that is not one of kernels. It does if, for
    /// one of the lines that name it, the configuration has all definitions of the line and none that only other
    /// lines make. If no line names it, it does if a file spells the name (`names_it`: otherwise a macro pastes it
    /// together) and no line defines a macro of that name.
    pub fn builds(&self, name: &str, defines: &[Define], names_it: impl FnOnce() -> bool) -> bool {
        if self.of_kernels.is_empty() {
            return true;
        }
        let added: Vec<&Define> = defines.iter().filter(|one| !self.base.contains(one)).collect();
        let mut of_kernels = self.of_kernels.iter().flat_map(|variant| &variant.defines);
        let is_of_some = |name: &str| {
            let mut of_kernels = self.of_kernels.iter().flat_map(|variant| &variant.defines);
            of_kernels.any(|(known, _)| known == name)
        };
        // The definitions of other kernels are not made for this one.
        let is_met = |variant: &KernelVariant| {
            let mut others = added.iter().filter(|one| !variant.defines.contains(one));
            variant.defines.iter().all(|one| added.contains(&one))
                && others.all(|(name, _)| !is_of_some(name))
        };
        let all = self.as_it_stands.iter().chain(&self.of_kernels);
        let mut named = all
            .filter(|variant| variant.kernels.iter().any(|one| one == name))
            .peekable();
        if named.peek().is_some() {
            named.any(is_met)
        } else {
            !of_kernels.any(|(known, _)| known == name) && names_it()
        }
    }
}

/// Whether the text of a region, or its possible expansion, matters to the rules: it contains one of [`TELLING`] or
/// calls one of these functions.
pub(crate) fn is_telling(text: &[u8], called: &HashSet<Vec<u8>>) -> bool {
    TELLING.iter().any(|word| contains(text, word))
        || !called.is_empty() && words(text).any(|word| called.contains(word))
}

/// The definitions that `defines` adds to `base`, and those that it lacks.
fn difference(base: &[Define], defines: &[Define]) -> String {
    let added = defines.iter().filter(|definition| !base.contains(definition));
    let added = added.map(|(name, value)| format!("-D {name}={value}"));
    let is_gone = |name: &str| defines.iter().all(|(known, _)| known != name);
    let removed = base.iter().filter(|(name, _)| is_gone(name));
    let removed = removed.map(|(name, _)| format!("-D {name}"));
    let said =
        |word: &str, these: Vec<String>| (!these.is_empty()).then(|| format!("{word} {}", these.join(" ")));
    let parts = [said("with", added.collect()), said("without", removed.collect())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
