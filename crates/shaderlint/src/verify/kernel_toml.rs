//! What a kernel is given when it is run: from `--set` and from the `kernel.toml` beside its file.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use shaderlint_hlsl::{Scalar, Shader};

/// The file that says what the kernels of a folder are given.
const FILE: &str = "kernel.toml";

/// Elements a buffer may be said to have: with 16 bytes each they are what devices give.
const MAX_LENGTH: u32 = 1 << 24;

/// A `kernel.toml`, and the command line over it.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    file: KernelToml,
    set: Vec<(String, Vec<f64>)>,
}

/// What one kernel is given. Everything else is sampled.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Given {
    /// Groups of every dispatch that is compared.
    pub groups: Option<[u32; 3]>,
    /// Components of uniforms, by name.
    #[serde(deserialize_with = "numbers")]
    pub set: BTreeMap<String, Vec<f64>>,
    /// Lengths of buffers in elements, by name.
    pub lengths: BTreeMap<String, u32>,
    /// Components of a buffer's elements, repeated up to its length, by name.
    #[serde(deserialize_with = "numbers")]
    pub contents: BTreeMap<String, Vec<f64>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KernelToml {
    groups: Option<[u32; 3]>,
    #[serde(deserialize_with = "numbers")]
    set: BTreeMap<String, Vec<f64>>,
    lengths: BTreeMap<String, u32>,
    #[serde(deserialize_with = "numbers")]
    contents: BTreeMap<String, Vec<f64>>,
    /// By entry point, over what stands above.
    entry: BTreeMap<String, Given>,
}

/// One component or several.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number, true, false or a list of them")]
enum Components {
    One(Component),
    Several(Vec<Component>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number, true or false")]
enum Component {
    Truth(bool),
    Number(f64),
}

impl Component {
    fn number(&self) -> f64 {
        match self {
            Component::Truth(truth) => f64::from(u8::from(*truth)),
            Component::Number(number) => *number,
        }
    }
}

fn numbers<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<f64>>, D::Error> {
    let read = BTreeMap::<String, Components>::deserialize(from)?;
    let numbers = |components: Components| match components {
        Components::One(one) => vec![one.number()],
        Components::Several(several) => several.iter().map(Component::number).collect(),
    };
    Ok(read
        .into_iter()
        .map(|(name, components)| (name, numbers(components)))
        .collect())
}

impl Settings {
    /// What holds for the kernels of the file at `path`.
    pub fn of_file(path: &Path, set: &[(String, Vec<f64>)]) -> Result<Settings> {
        let beside = path.with_file_name(FILE);
        let file = match std::fs::read_to_string(&beside) {
            Ok(text) => parse(&beside, &text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => KernelToml::default(),
            Err(error) => return Err(error).with_context(|| beside.display().to_string()),
        };
        Ok(Settings {
            file,
            set: set.to_vec(),
        })
    }

    /// What the kernel of this name is given.
    pub fn of(&self, entry: &str) -> Given {
        let KernelToml {
            groups,
            set,
            lengths,
            contents,
            entry: entries,
        } = self.file.clone();
        let mut given = Given {
            groups,
            set,
            lengths,
            contents,
        };
        if let Some(own) = entries.get(entry).cloned() {
            given.groups = own.groups.or(given.groups);
            given.set.extend(own.set);
            given.lengths.extend(own.lengths);
            given.contents.extend(own.contents);
        }
        given.set.extend(self.set.iter().cloned());
        given
    }
}

/// What is in a file of this text.
pub(crate) fn parse(path: &Path, text: &str) -> Result<KernelToml> {
    let file: KernelToml =
        toml::from_str(text).with_context(|| format!("{} is not understood", path.display()))?;
    let groups = [file.groups]
        .into_iter()
        .chain(file.entry.values().map(|given| given.groups));
    for groups in groups.flatten() {
        ensure!(
            groups.iter().all(|count| (1..=1024).contains(count)),
            "{}: `groups` are three numbers from 1 to 1024",
            path.display()
        );
    }
    let lengths = file
        .lengths
        .iter()
        .chain(file.entry.values().flat_map(|given| &given.lengths));
    for (name, length) in lengths {
        ensure!(
            (1..=MAX_LENGTH).contains(length),
            "{}: the length of `{name}` is a number from 1 to {MAX_LENGTH}",
            path.display()
        );
    }
    Ok(file)
}

impl Given {
    /// What is set and is not in the shader, or not so: of a file's neighbours, perhaps.
    pub fn misfits(&self, shader: &Shader) -> Vec<String> {
        let declared = |name: &str| {
            let variable = name.split(['.', '[']).next().unwrap_or(name);
            shader.globals.iter().find(|global| global.name == variable)
        };
        let mut misfits = Vec::new();
        let names = self
            .set
            .keys()
            .chain(self.lengths.keys())
            .chain(self.contents.keys());
        for name in names.filter(|name| declared(name).is_none()) {
            misfits.push(format!("`{name}` is set, and there is none"));
        }
        for (name, numbers) in &self.set {
            // Of a member it is not known here of what type it is.
            let Some(global) = declared(name).filter(|global| global.name == *name) else {
                continue;
            };
            let count = shader.components(&global.ty);
            if count > 0 && numbers.len() > count {
                misfits.push(format!(
                    "`{name}` is set to {} numbers and has {count}",
                    numbers.len()
                ));
            }
            let is_whole = matches!(global.ty.scalar(), Some(Scalar::Int | Scalar::Uint));
            if let Some(number) = numbers.iter().find(|number| is_whole && number.fract() != 0.0) {
                misfits.push(format!("`{name}` is set to {number} and is of whole numbers"));
            }
        }
        misfits
    }
}

/// Parses `NAME=VALUE[,VALUE]…`.
pub(super) fn setting(argument: &str) -> Result<(String, Vec<f64>), String> {
    let (name, values) = argument
        .split_once('=')
        .ok_or("give a uniform and its value, as in `Count=100`")?;
    let numbers: Result<Vec<f64>, String> = values.split(',').map(number).collect();
    if name.trim().is_empty() {
        return Err("which uniform?".to_owned());
    }
    Ok((name.trim().to_owned(), numbers?))
}

fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let number = match (text, hexadecimal) {
        ("true", _) => Some(1.0),
        ("false", _) => Some(0.0),
        (_, Some(digits)) => u32::from_str_radix(digits, 16).ok().map(f64::from),
        (_, None) => text.parse().ok(),
    };
    number.ok_or_else(|| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_name_and_numbers() {
        assert_eq!(setting("Count=100"), Ok(("Count".into(), vec![100.0])));
        assert_eq!(
            setting("Scale = 0.5,-2, 0xff,true"),
            Ok(("Scale".into(), vec![0.5, -2.0, 255.0, 1.0]))
        );
        assert_eq!(setting("Count=many"), Err("`many` is no number".into()));
        assert!(setting("Count").is_err());
    }

    #[test]
    fn an_entry_point_has_its_own_settings_over_the_files() {
        let text = "groups = [2, 1, 1]\nset = { Count = 100, IsOn = true }\nlengths = { Out = 8 }
[entry.Main]\nset = { Count = [1, 2.5] }\ncontents = { Src = [7] }\n";
        let settings = Settings {
            file: toml::from_str(text).unwrap(),
            set: vec![("IsOn".into(), vec![0.0])],
        };
        let given = settings.of("Main");
        assert_eq!(given.groups, Some([2, 1, 1]));
        assert_eq!(given.set["Count"], [1.0, 2.5]);
        assert_eq!(
            (given.lengths["Out"], given.contents["Src"].as_slice()),
            (8, &[7.0][..])
        );
        let other = settings.of("Other");
        assert_eq!(
            (other.set["Count"].as_slice(), other.set["IsOn"].as_slice()),
            (&[100.0][..], &[0.0][..])
        );
        assert!(other.contents.is_empty());
        assert!(toml::from_str::<KernelToml>("sett = {}").is_err());
    }
}
