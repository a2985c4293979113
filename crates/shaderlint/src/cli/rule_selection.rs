//! The rules that the command line selects, and the names that it uses for them.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};
use shaderlint_linter::{Category, GivenLevel, Level, Rule};
use shaderlint_rules::{RULES, named};

use crate::support::suggestions::{likeness, no_such_rule};

/// The name of all rules on the command line.
const ALL: &str = "ALL";

/// The rules that the command line asks for.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RuleArgs {
    /// Check only these rules or categories; ALL for all of them
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = RuleNames, hide_possible_values = true)]
    pub select: Vec<String>,
    /// Also check these
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = RuleNames, hide_possible_values = true)]
    pub extend_select: Vec<String>,
    /// Do not check these
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = RuleNames, hide_possible_values = true)]
    pub ignore: Vec<String>,
}

impl RuleArgs {
    /// The level of a rule that has the level `configured` in its configuration. Ignored rules are off. With
    /// `--select`, rules that are not selected are off, too. If the configuration turns off a rule that is
    /// selected and not ignored, the rule gets the level of its category.
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

/// Parses a name of rules on the command line. Shells complete ids, categories and [`ALL`], but no aliases.
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

/// Accepts any word as the rule to explain: the command itself reports an unknown rule. Shells complete ids.
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

/// Parses the name of one rule or several: an id, an alias or a category.
pub(crate) fn rule_or_category(name: &str) -> Result<String, String> {
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
