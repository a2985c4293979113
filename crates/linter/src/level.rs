//! Categories and levels of findings.

use std::fmt;

/// The subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// The code is right and could be faster.
    Perf,
    /// The code is wrong.
    Correctness,
    /// A comment for the linter is not true.
    Suppression,
}

impl Category {
    pub const ALL: [Category; 3] = [Category::Perf, Category::Correctness, Category::Suppression];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Category::Perf => "perf",
            Category::Correctness => "correctness",
            Category::Suppression => "suppression",
        }
    }

    /// The default level of its findings.
    #[must_use]
    pub fn level(self) -> Level {
        match self {
            Category::Correctness => Level::Error,
            Category::Perf | Category::Suppression => Level::Warn,
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not shown.
    Off,
    /// Shown, but no reason to fail.
    Info,
    Warn,
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Off => "off",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        })
    }
}

/// The level that a configuration gives a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenLevel {
    /// It names the rule: every finding of the rule has this level.
    OfRule(Level),
    /// It names the category, or says nothing: a finding may have a lower level.
    OfCategory(Level),
}

impl GivenLevel {
    /// The rule's level, for any finding.
    #[must_use]
    pub fn level(self) -> Level {
        match self {
            GivenLevel::OfRule(level) | GivenLevel::OfCategory(level) => level,
        }
    }

    /// The level of a finding with the level `worth` by itself.
    #[must_use]
    pub fn of(self, worth: Level) -> Level {
        match self {
            GivenLevel::OfRule(level) => level,
            GivenLevel::OfCategory(level) => level.min(worth),
        }
    }
}
