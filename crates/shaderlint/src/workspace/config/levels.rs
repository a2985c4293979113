//! The levels of rules: `[levels]` and `[[override]]`.

use std::fmt;
use std::path::Path;

use ignore::gitignore::Gitignore;
use shaderlint_linter::{GivenLevel, Level, Rule};

use super::is_matched;

/// Levels by name: a rule's id, an alias of rules, or a category.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels(pub Vec<(String, Level)>);

impl Levels {
    /// The level given for `rule`: by its id, else by an alias, else by its category.
    fn of(&self, rule: &Rule) -> Option<GivenLevel> {
        let given = |is_meant: &dyn Fn(&str) -> bool| {
            let mut levels = self.0.iter();
            levels.find(|(name, _)| is_meant(name)).map(|(_, level)| *level)
        };
        let of_rule = given(&|name| name == rule.id).or_else(|| given(&|name| rule.is_named(name)));
        let of_category = || given(&|name| name == rule.category.to_string()).map(GivenLevel::OfCategory);
        of_rule.map(GivenLevel::OfRule).or_else(of_category)
    }
}

/// Other levels for some files.
#[derive(Clone)]
pub(crate) struct Override {
    pub paths: Gitignore,
    /// The patterns of `paths`, as written.
    pub patterns: Vec<String>,
    pub levels: Levels,
}

/// Overrides that are written alike print alike: a compiled pattern would print its internal state.
impl fmt::Debug for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Override {
            paths,
            patterns,
            levels,
        } = self;
        write!(f, "{:?} {patterns:?} {levels:?}", paths.path())
    }
}

/// The levels of a configuration, from the general to the specific.
#[derive(Clone, Debug, Default)]
pub(crate) struct LevelSettings {
    pub levels: Levels,
    pub overrides: Vec<Override>,
}

impl LevelSettings {
    /// The level of `rule` in the file `path`. If several overrides give it a level, the last one wins.
    pub fn given(&self, rule: &Rule, path: &str) -> GivenLevel {
        let fitting = self.overrides.iter().rev();
        let mut fitting = fitting.filter(|one| is_matched(&one.paths, Path::new(path)));
        fitting
            .find_map(|one| one.levels.of(rule))
            .or_else(|| self.levels.of(rule))
            .unwrap_or_else(|| GivenLevel::OfCategory(rule.category.level()))
    }
}
