//! The configurations that the project, the kernels and the keywords declare.

use shaderlint_hlsl::{KernelVariant, KeywordSet, Preprocessed, directives, keyword_sets};

use super::{ConfigurationName, MAX_CONFIGURATIONS, spaced};
use crate::support::definition::{Define, overlaid};
use crate::support::words;
use crate::workspace::config::Project;

/// The maximum of sets of definitions from `#pragma kernel` lines that are read. In each, only the kernels of its
/// lines run.
const MAX_KERNELS: usize = 64;

/// A declared configuration, not preprocessed yet.
pub(super) struct Declared {
    pub name: ConfigurationName,
    pub over: Vec<Define>,
    pub without: Vec<String>,
}

/// The configurations that the project, the kernels and the keywords declare beside the default one, and whether
/// there are more. If each kernel has definitions of its own, every choice of keywords comes with the definitions of
/// a kernel.
pub(super) fn declared(
    project: &Project,
    of_kernels: &[KernelVariant],
    is_built_alone: bool,
    choices: &[Choice],
) -> (Vec<Declared>, bool) {
    let default = Choice::default();
    let (first, others) = choices.split_first().unwrap_or((&default, &[]));
    let of_project = |choice: &Choice| -> Vec<Declared> {
        let variants = project.variants.iter();
        let variants = variants.map(|variant| {
            let label = spaced(&[&format!("in variant {}", variant.name), &choice.label()]);
            choice.over(ConfigurationName::Other(label), &variant.defines)
        });
        variants.collect()
    };
    // The definitions distinguish kernels of one name.
    let defines = |variant: &KernelVariant| {
        let is_named = |other: &&KernelVariant| other.kernels == variant.kernels;
        if of_kernels.iter().filter(is_named).count() < 2 || variant.defines.is_empty() {
            return String::new();
        }
        let defines = variant.defines.iter().map(|(name, value)| match &**value {
            "" | "1" => name.clone(),
            value => format!("{name}={value}"),
        });
        format!("with {}", defines.collect::<Vec<_>>().join(" "))
    };
    let of_kernels = |choice: &Choice| -> Vec<Declared> {
        let kernels = of_kernels.iter().map(|variant| {
            let name = ConfigurationName::OfKernels {
                kernels: variant.kernels.clone(),
                under: spaced(&[&defines(variant), &choice.label()]),
            };
            choice.over(name, &variant.defines)
        });
        kernels.collect()
    };
    let mut kernels = of_kernels(first);
    let mut all = of_project(first);
    if is_built_alone {
        let alone = |choice: &Choice| choice.over(ConfigurationName::Other(choice.label()), &[]);
        all.extend(others.iter().map(alone));
    }
    all.extend(others.iter().flat_map(of_project));
    all.extend(others.iter().flat_map(of_kernels));
    let omits_declared = all.len() > MAX_CONFIGURATIONS || kernels.len() > MAX_KERNELS;
    all.truncate(MAX_CONFIGURATIONS);
    kernels.truncate(MAX_KERNELS);
    kernels.extend(all);
    (kernels, omits_declared)
}

/// Keywords that a build defines together: at most one of each set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    defined: Vec<String>,
    /// Keywords of the default choice that a build with this choice lacks.
    removed: Vec<String>,
}

impl Choice {
    /// Takes one keyword, or none, from a set. `default` is the keyword of that set in the default choice.
    fn take(&mut self, other: Option<&String>, default: Option<&String>) {
        self.defined.extend(other.cloned());
        self.removed.extend(default.cloned());
    }

    /// The text about the keywords; empty for the default choice.
    fn label(&self) -> String {
        match &self.defined[..] {
            [] if self.removed.is_empty() => String::new(),
            [] => format!("without keyword {}", self.removed.join(" ")),
            [one] => format!("with keyword {one}"),
            several => format!("with keywords {}", several.join(" ")),
        }
    }

    /// This choice with definitions on top.
    fn over(&self, name: ConfigurationName, defines: &[Define]) -> Declared {
        let own = self.defined.iter();
        let own: Vec<Define> = own.map(|keyword| (keyword.clone(), "1".to_owned())).collect();
        Declared {
            name,
            over: overlaid(&own, defines),
            without: self.removed.clone(),
        }
    }
}

/// The choices of keywords that builds make, the default first. A set counts if its keywords may change what is
/// compiled, and if the project defines none of them for all builds. If there are more choices than are read, the
/// result is a few choices that define each keyword once, and `true`.
pub(super) fn choices(text: &[u8], unit: &Preprocessed, project: &Project) -> (Vec<Choice>, bool) {
    let mut sets = keyword_sets(text);
    let is_fixed = |keyword: &String| project.defines.iter().any(|(name, _)| name == keyword);
    sets.retain(|KeywordSet(choices)| !choices.iter().flatten().any(is_fixed));
    if sets.is_empty() {
        return (Vec::new(), false);
    }
    let may_include = unit.inactive.iter().any(|inactive| {
        let file = unit.sources.get(inactive.region.file);
        let region = inactive.region.start as usize..inactive.region.end as usize;
        let lines = directives(file.and_then(|file| file.text.get(region)).unwrap_or_default());
        lines.iter().any(|line| line.keyword.starts_with(b"include"))
    });
    let in_pragmas = |keyword: &String| -> usize {
        let pragmas = directives(text)
            .into_iter()
            .filter(|line| line.keyword == b"pragma");
        pragmas
            .map(|line| words::times_named(&line.argument, keyword))
            .sum()
    };
    let is_named = |keyword: &String| {
        let files = unit.sources.files.iter();
        let times: usize = files.map(|file| words::times_named(&file.text, keyword)).sum();
        times > in_pragmas(keyword)
    };
    sets.retain(|KeywordSet(choices)| may_include || choices.iter().flatten().any(is_named));
    let defaults: Vec<Option<String>> = sets.iter().map(KeywordSet::default).collect();
    let others: Vec<Vec<&Option<String>>> = sets
        .iter()
        .zip(&defaults)
        .map(|(KeywordSet(choices), default)| choices.iter().filter(|choice| *choice != default).collect())
        .collect();
    let count = sets.iter().fold(1, |count: usize, KeywordSet(choices)| {
        count.saturating_mul(choices.len())
    });
    let mut all = vec![Choice::default()];
    if count > MAX_CONFIGURATIONS + 1 {
        // Each keyword once, together with the keywords at the same position in the other sets.
        let longest = others.iter().map(Vec::len).max().unwrap_or(0);
        all.extend((0..longest).map(|number| {
            let mut choice = Choice::default();
            for (others, default) in others.iter().zip(&defaults) {
                if let Some(other) = others.get(number) {
                    choice.take(other.as_ref(), default.as_ref());
                }
            }
            choice
        }));
        return (all, true);
    }
    for (others, default) in others.iter().zip(&defaults) {
        let further: Vec<Choice> = others
            .iter()
            .flat_map(|other| all.iter().map(move |known| (known, other)))
            .map(|(known, other)| {
                let mut choice = known.clone();
                choice.take(other.as_ref(), default.as_ref());
                choice
            })
            .collect();
        all.extend(further);
    }
    (all, false)
}
