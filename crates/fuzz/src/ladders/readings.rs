//! The readings of a file that the generator knows: their definitions, their version of the language, and the entry
//! points that are compiled.

use std::fmt;

use shaderlint_hlsl::{
    NoIncludes, Problem, Shader, Version, preprocess, read, read_preprocessed, unity_defines,
};

use super::older_scopes::hoisted;

/// One build of a file. A safe fix preserves the results in each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Macros that are defined to 1.
    pub defines: Vec<String>,
    pub language: Language,
    /// The entry points that this build compiles; `None` for all.
    pub entries: Option<Vec<String>>,
    /// The file itself declares this build, by `#pragma kernel` or keywords, or this is the build without any
    /// definition. An unsafe fix has to hold in it, too.
    pub is_declared: bool,
}

/// A version of HLSL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    V2018,
    #[default]
    V2021,
}

impl Reading {
    /// The file as it stands, with all its entry points.
    #[must_use]
    pub fn plain() -> Reading {
        Reading {
            is_declared: true,
            ..Reading::default()
        }
    }

    /// The file's tree in this reading. Readings are applied only here.
    ///
    /// Only `__HLSL_VERSION` tells `crates/hlsl` the version of the language. All other differences are rewritten
    /// here, independently of that crate's treatment of versions. An input for the version belongs here as well.
    #[must_use]
    pub fn read(&self, text: &[u8]) -> (Shader, Vec<Problem>) {
        let one = |name: &str| (name.to_owned(), "1".to_owned());
        let mut defines: Vec<(String, String)> = self.defines.iter().map(|name| one(name)).collect();
        defines.extend(unity_defines(text, &defines));
        match self.language {
            Language::V2021 => {
                let (mut unit, problems) = preprocess("0", text, &defines, &NoIncludes);
                unit.version = Some(Version::V2021);
                read_preprocessed(unit, problems, None)
            }
            Language::V2018 => {
                defines.push(("__HLSL_VERSION".to_owned(), "2018".to_owned()));
                let text = hoisted(&String::from_utf8_lossy(text));
                read("0", text.as_bytes(), &defines, &NoIncludes)
            }
        }
    }

    /// Whether this build compiles the entry point of this name, in any namespace.
    #[must_use]
    pub fn compiles(&self, entry: &str) -> bool {
        let entry = entry.rsplit("::").next().unwrap_or(entry);
        let entries = self.entries.as_ref();
        entries.is_none_or(|entries| entries.iter().any(|name| name == entry))
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.language {
            Language::V2018 => write!(f, "HLSL 2018")?,
            Language::V2021 => write!(f, "HLSL 2021")?,
        }
        for name in &self.defines {
            write!(f, " -D {name}")?;
        }
        match &self.entries {
            Some(entries) => write!(f, ", of {}", entries.join(", ")),
            None => Ok(()),
        }
    }
}

/// The choices of builds, drawn while the file is written.
#[derive(Default)]
pub(super) struct Builds {
    axes: Vec<Axis>,
    /// The file has another meaning before HLSL 2021.
    pub has_scopes: bool,
}

/// Every build makes one of these choices, independently of the other axes.
pub(super) struct Axis {
    pub choices: Vec<Choice>,
    pub is_declared: bool,
}

#[derive(Clone, Default)]
pub(super) struct Choice {
    pub define: Option<String>,
    pub entries: Option<Vec<String>>,
}

impl Builds {
    pub fn add(&mut self, axis: Axis) {
        self.axes.push(axis);
    }

    /// The first choice along each axis; each other choice combined with the first ones along the other axes; the
    /// last choices together. If scopes matter, the readings with the first and the last choices exist for HLSL 2018,
    /// too.
    pub fn readings(&self) -> Vec<Reading> {
        let first = vec![0; self.axes.len()];
        let last: Vec<usize> = self.axes.iter().map(|axis| axis.choices.len() - 1).collect();
        let mut chosen = vec![first.clone()];
        for (number, axis) in self.axes.iter().enumerate() {
            for choice in 1..axis.choices.len() {
                let mut other = first.clone();
                if let Some(place) = other.get_mut(number) {
                    *place = choice;
                }
                chosen.push(other);
            }
        }
        if self.axes.len() > 1 {
            chosen.push(last.clone());
        }
        let mut readings: Vec<Reading> = chosen.iter().map(|chosen| self.reading(chosen)).collect();
        if self.has_scopes {
            let older = [first, last].map(|chosen| Reading {
                language: Language::V2018,
                is_declared: false,
                ..self.reading(&chosen)
            });
            readings.extend(older);
        }
        readings.dedup();
        readings
    }

    fn reading(&self, chosen: &[usize]) -> Reading {
        let mut reading = Reading::plain();
        for (axis, choice) in self.axes.iter().zip(chosen) {
            reading.is_declared &= axis.is_declared || *choice == 0;
            if let Some(choice) = axis.choices.get(*choice) {
                reading.defines.extend(choice.define.clone());
                reading.entries = reading.entries.take().or_else(|| choice.entries.clone());
            }
        }
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, Builds, Choice};

    #[test]
    fn every_choice_is_in_a_reading() {
        let choice = |name: &str| Choice {
            define: (!name.is_empty()).then(|| name.to_owned()),
            entries: None,
        };
        let mut builds = Builds::default();
        builds.add(Axis {
            choices: vec![choice(""), choice("EXTRA")],
            is_declared: false,
        });
        builds.add(Axis {
            choices: vec![choice("SMALL"), choice("BIG")],
            is_declared: true,
        });
        builds.has_scopes = true;
        let readings: Vec<String> = builds.readings().iter().map(ToString::to_string).collect();
        let expected = [
            "HLSL 2021 -D SMALL",
            "HLSL 2021 -D EXTRA -D SMALL",
            "HLSL 2021 -D BIG",
            "HLSL 2021 -D EXTRA -D BIG",
            "HLSL 2018 -D SMALL",
            "HLSL 2018 -D EXTRA -D BIG",
        ];
        assert_eq!(readings, expected);
        let declared: Vec<bool> = builds.readings().iter().map(|one| one.is_declared).collect();
        assert_eq!(declared, [true, false, true, false, false, false]);
    }
}
