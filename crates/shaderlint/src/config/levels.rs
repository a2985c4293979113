//! How much it matters what a rule finds: `[levels]`, `[[override]]`, `--select` and `--ignore`.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};
use ignore::gitignore::Gitignore;
use shaderlint_linter::{Category, GivenLevel, Level, Rule};
use shaderlint_rules::{RULES, named};

use super::is_matched;
use crate::likeness::{likeness, no_such_rule};

/// Levels by what they are given for: a rule's id, an alias of rules, or a category.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels(pub Vec<(String, Level)>);

impl Levels {
    /// What is said of `rule`: of itself, else under an alias, else of its category.
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
    /// The patterns of that, as written.
    pub patterns: Vec<String>,
    pub levels: Levels,
}

/// Alike for what is written alike: a compiled pattern shows what it happens to hold.
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

/// What a configuration says of levels, from the general to the special.
#[derive(Clone, Debug, Default)]
pub(crate) struct LevelSettings {
    pub levels: Levels,
    pub overrides: Vec<Override>,
}

impl LevelSettings {
    /// What holds for what `rule` finds in the file `path`. Of several overrides that speak of it the last one holds.
    pub fn given(&self, rule: &Rule, path: &str) -> GivenLevel {
        let fitting = self.overrides.iter().rev();
        let mut fitting = fitting.filter(|one| is_matched(&one.paths, Path::new(path)));
        fitting
            .find_map(|one| one.levels.of(rule))
            .or_else(|| self.levels.of(rule))
            .unwrap_or_else(|| GivenLevel::OfCategory(rule.category.level()))
    }
}

/// What the command line calls all rules.
const ALL: &str = "ALL";

/// The rules that the command line asks for.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RuleArgs {
    /// Look for these rules or categories only; ALL is all of them
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = RuleNames, hide_possible_values = true)]
    pub select: Vec<String>,
    /// Look for these besides
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = RuleNames, hide_possible_values = true)]
    pub extend_select: Vec<String>,
    /// Do not look for these
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = RuleNames, hide_possible_values = true)]
    pub ignore: Vec<String>,
}

impl RuleArgs {
    /// What is left of the level that a configuration gives a rule. What is asked for by name is not off.
    pub fn over(&self, rule: &Rule, configured: GivenLevel) -> GivenLevel {
        let is_meant = |names: &[String]| {
            names
                .iter()
                .any(|name| name == ALL || rule.is_named(name) || *name == rule.category.to_string())
        };
        let is_selected = is_meant(&self.select) || is_meant(&self.extend_select);
        if is_meant(&self.ignore) || !(self.select.is_empty() || is_selected) {
            GivenLevel::OfRule(Level::Off)
        } else if is_selected && configured.level() == Level::Off {
            GivenLevel::OfCategory(rule.category.level())
        } else {
            configured
        }
    }
}

/// Reads what rules are called on the command line. Shells complete rules' own ids and the categories.
#[derive(Clone, Copy, Debug)]
struct RuleNames;

impl TypedValueParser for RuleNames {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, name: &OsStr) -> Result<String, clap::Error> {
        if name == ALL {
            return Ok(ALL.to_owned());
        }
        rule_or_category.parse_ref(command, arg, name)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let categories = Category::ALL
            .iter()
            .map(|category| PossibleValue::new(category.name()));
        Some(Box::new(ids().chain(categories).chain([PossibleValue::new(ALL)])))
    }
}

/// Reads any word as the rule to explain: what is wrong with it is said there. Shells complete rules' own ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleId;

impl TypedValueParser for RuleId {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, name: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, name)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(ids()))
    }
}

fn ids() -> impl Iterator<Item = PossibleValue> {
    RULES
        .iter()
        .map(|rule| PossibleValue::new(rule.id).help(rule.summary))
}

/// Reads what rules are called, one or many at once.
pub(super) fn rule_or_category(name: &str) -> Result<String, String> {
    let is_category = Category::ALL.iter().any(|category| category.to_string() == name);
    if is_category || named(name).next().is_some() {
        Ok(name.to_owned())
    } else {
        let mut categories = Category::ALL.iter().map(|category| category.name());
        let meant = categories.find(|category| likeness(name, category) > 0.8);
        Err(match meant {
            Some(category) => format!("no rule or category is called `{name}`; did you mean `{category}`?"),
            None => no_such_rule(name),
        })
    }
}
