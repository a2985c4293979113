//! The inputs of a kernel: from `--set` and from the `kernel.toml` beside its file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use serde::Deserialize;
use shaderlint_hlsl::{ResourceKind, Scalar, Shader, Storage, Type};
use toml::Spanned;

use crate::support::config_error::{ConfigError, text_of};
use crate::support::error_text::mistake;
use crate::support::suggestions::most_like;
use crate::workspace::config::is_meant;
use crate::workspace::walk;

/// The file with the inputs of the kernels of a folder.
const FILE: &str = "kernel.toml";

/// The maximum length of a buffer: with 16 bytes per element, devices can allocate it.
const MAX_LENGTH: u32 = 1 << 24;

/// A `kernel.toml`, overridden by the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    file: KernelToml,
    set: Vec<(String, Vec<f64>)>,
}

/// The given inputs of one kernel. All other inputs are sampled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Given {
    /// The groups of every compared dispatch.
    pub groups: Option<[u32; 3]>,
    /// Components of uniforms, by name.
    pub set: BTreeMap<String, Vec<f64>>,
    /// Lengths of buffers in elements, by name.
    pub lengths: BTreeMap<String, u32>,
    /// Components of a buffer's elements, repeated up to its length, by name.
    pub contents: BTreeMap<String, Vec<f64>>,
}

/// Values by name, with the place of the name in the text.
type Named<T> = BTreeMap<Spanned<String>, T>;

/// A `kernel.toml`, or its table for one entry point.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KernelToml {
    groups: Option<Spanned<[u32; 3]>>,
    #[serde(deserialize_with = "numbers")]
    set: Named<Vec<f64>>,
    lengths: Named<Spanned<u32>>,
    #[serde(deserialize_with = "numbers")]
    contents: Named<Vec<f64>>,
    /// The inputs of single entry points, which override those for all. Their tables have no further entry points.
    entry: Named<KernelToml>,
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

fn numbers<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Named<Vec<f64>>, D::Error> {
    let read = Named::<Components>::deserialize(from)?;
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
    /// The settings for the kernels of the file at `path`. `shader` is that file.
    pub fn of_file(path: &Path, shader: &Shader, set: &[(String, Vec<f64>)]) -> Result<Settings> {
        let beside = path.with_file_name(FILE);
        let mut file = KernelToml::default();
        if is_meant(&beside) {
            let text = text_of(&beside)?;
            file = parse(&beside, &text)?;
            let is_elsewhere = |name: &str| is_in_neighbour(path, name);
            if let Some((place, message)) = file.misfit(shader, &is_elsewhere) {
                return Err(ConfigError::new(&beside, &text, place, message).into());
            }
        }
        Ok(Settings {
            file,
            set: set.to_vec(),
        })
    }

    /// The inputs of the kernel of this name.
    pub fn of(&self, entry: &str) -> Given {
        let mut given = Given::default();
        given.add(&self.file);
        let own = self.file.entry.iter().find(|(name, _)| *name.get_ref() == entry);
        if let Some((_, own)) = own {
            given.add(own);
        }
        given.set.extend(self.set.iter().cloned());
        given
    }
}

impl Given {
    fn add(&mut self, table: &KernelToml) {
        fn plain<T: Clone>(named: &Named<T>) -> impl Iterator<Item = (String, T)> {
            named
                .iter()
                .map(|(name, value)| (name.get_ref().clone(), value.clone()))
        }
        let groups = table.groups.as_ref().map(|groups| *groups.get_ref());
        self.groups = groups.or(self.groups);
        self.set.extend(plain(&table.set));
        let lengths = plain(&table.lengths).map(|(name, length)| (name, *length.get_ref()));
        self.lengths.extend(lengths);
        self.contents.extend(plain(&table.contents));
    }
}

/// Whether another shader of the folder contains this word: a name that the file at `path` lacks may be declared
/// there.
fn is_in_neighbour(path: &Path, word: &str) -> bool {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .map(|file| file.path())
        .filter(|file| file.file_name() != path.file_name() && walk::is_shader(file))
        .filter_map(|file| std::fs::read(file).ok())
        .any(|text| {
            text.split(|byte| !is_part(byte))
                .any(|part| part == word.as_bytes())
        })
}

/// Parses the text of a file.
pub(crate) fn parse(path: &Path, text: &str) -> Result<KernelToml> {
    let wrong = |place: Range<usize>, message: String| ConfigError::new(path, text, place, message);
    let file: KernelToml = toml::from_str(text).map_err(|error| mistake(path, text, &error, &[]))?;
    for table in file.entry.values().chain([&file]) {
        check_ranges(table, &wrong)?;
    }
    match file.entry.values().find_map(|own| own.entry.keys().next()) {
        Some(name) => Err(wrong(
            name.span(),
            "the table of an entry point cannot hold another one".to_owned(),
        )
        .into()),
        None => Ok(file),
    }
}

fn check_ranges(
    table: &KernelToml,
    wrong: &dyn Fn(Range<usize>, String) -> ConfigError,
) -> Result<(), ConfigError> {
    let is_out =
        |groups: &&Spanned<[u32; 3]>| !groups.get_ref().iter().all(|count| (1..=1024).contains(count));
    if let Some(groups) = table.groups.as_ref().filter(is_out) {
        let message = "`groups` are three numbers from 1 to 1024".to_owned();
        return Err(wrong(groups.span(), message));
    }
    let is_out = |length: &u32| !(1..=MAX_LENGTH).contains(length);
    let length = table.lengths.iter().find(|(_, length)| is_out(length.get_ref()));
    match length {
        Some((name, length)) => {
            let message = format!(
                "the length of `{}` is a number from 1 to {MAX_LENGTH}",
                name.get_ref()
            );
            Err(wrong(length.span(), message))
        }
        None => Ok(()),
    }
}

impl KernelToml {
    /// The first setting that no kernel of the folder can have. This knows only the kernels of one file: a name that
    /// another file contains is not an error.
    fn misfit(&self, shader: &Shader, is_elsewhere: &dyn Fn(&str) -> bool) -> Option<(Range<usize>, String)> {
        let entries: Vec<&str> = (shader.entry_points())
            .map(|(_, function)| function.name.as_str())
            .collect();
        let is_left_alone = |misfit: &Misfit| misfit.unknown.as_deref().is_some_and(is_elsewhere);
        let mut misfits = self.own_misfits(shader);
        misfits.retain(|misfit| !is_left_alone(misfit));
        for (name, table) in &self.entry {
            let place = name.span();
            let name = name.get_ref().as_str();
            if entries.contains(&name) {
                misfits.extend(table.own_misfits(shader));
            } else if !is_elsewhere(name) {
                misfits.push(Misfit {
                    message: or_like("kernel beside this file", name, &entries),
                    unknown: Some(name.to_owned()),
                    place,
                });
            }
        }
        let first = misfits.into_iter().min_by_key(|misfit| misfit.place.start);
        first.map(|misfit| (misfit.place, misfit.message))
    }

    /// The misfits of this table, without those of its entry points.
    fn own_misfits(&self, shader: &Shader) -> Vec<Misfit> {
        let of_set =
            (self.set.iter()).map(|(name, numbers)| (name, unsettable(shader, name.get_ref(), numbers)));
        let of_lengths = (self.lengths.keys()).map(|name| (name, not_as_long(shader, name.get_ref())));
        let of_contents = (self.contents.keys()).map(|name| (name, no_such_buffer(shader, name.get_ref())));
        let all = of_set.chain(of_lengths).chain(of_contents);
        let misfits = all.filter_map(|(name, why)| {
            let why = why?;
            Some(Misfit {
                place: name.span(),
                unknown: why.is_unknown.then(|| variable(name.get_ref()).to_owned()),
                message: why.message,
            })
        });
        misfits.collect()
    }
}

/// A setting that does not fit the shader.
struct Misfit {
    place: Range<usize>,
    message: String,
    /// The name, if the shader lacks it.
    unknown: Option<String>,
}

/// Why an input cannot be given.
pub(super) struct Why {
    pub message: String,
    /// The shader has nothing of this name.
    is_unknown: bool,
}

impl Why {
    fn unknown(kind: &str, name: &str, known: &[&str]) -> Why {
        Why {
            message: or_like(kind, name, known),
            is_unknown: true,
        }
    }

    fn unfit(message: String) -> Why {
        Why {
            message,
            is_unknown: false,
        }
    }
}

/// Why `name` cannot be set to `numbers`.
pub(super) fn unsettable(shader: &Shader, name: &str, numbers: &[f64]) -> Option<Why> {
    let uniforms = shader.globals.iter().filter_map(|global| {
        let ty = match (&global.ty, global.storage) {
            (Type::Resource(ResourceKind::ConstantBuffer, element), _) => element.as_deref(),
            (ty, Storage::Uniform | Storage::Unknown) => Some(ty),
            _ => None,
        };
        Some((global.name.as_str(), ty?))
    });
    let uniforms: Vec<(&str, &Type)> = uniforms.collect();
    let whole = variable(name);
    let Some((_, ty)) = uniforms.iter().find(|(known, _)| *known == whole) else {
        let names: Vec<&str> = uniforms.iter().map(|(known, _)| *known).collect();
        return Some(Why::unknown("uniform", whole, &names));
    };
    let count = shader.components(ty);
    if whole != name {
        let message = format!("`{whole}` is set as a whole, to {count} numbers");
        return Some(Why::unfit(message));
    }
    if count > 0 && numbers.len() > count {
        let given = numbers.len();
        let message = format!("`{name}` is set to {given} numbers but has {count}");
        return Some(Why::unfit(message));
    }
    let is_whole = matches!(ty.scalar(), Some(Scalar::Int | Scalar::Uint));
    let fraction = numbers.iter().find(|number| is_whole && number.fract() != 0.0)?;
    let message = format!("`{name}` is set to {fraction} but holds whole numbers");
    Some(Why::unfit(message))
}

/// Why `name` cannot have a length.
fn not_as_long(shader: &Shader, name: &str) -> Option<Why> {
    let is_texture = |ty: &Type| matches!(ty, Type::Resource(kind, _) if kind.is_texture());
    let mut globals = shader.globals.iter();
    if globals.any(|global| global.name == name && is_texture(&global.ty)) {
        let message = format!("`{name}` is a texture, and textures are as large as the dispatch");
        return Some(Why::unfit(message));
    }
    no_such_buffer(shader, name)
}

fn no_such_buffer(shader: &Shader, name: &str) -> Option<Why> {
    let is_buffer = |ty: &Type| match ty {
        Type::Resource(kind, _) => !matches!(
            kind,
            ResourceKind::ConstantBuffer | ResourceKind::Sampler | ResourceKind::AccelerationStructure
        ),
        _ => false,
    };
    let buffers = shader.globals.iter().filter(|global| is_buffer(&global.ty));
    let buffers: Vec<&str> = buffers.map(|global| global.name.as_str()).collect();
    if buffers.contains(&name) {
        return None;
    }
    Some(Why::unknown("buffer", name, &buffers))
}

/// The name of the variable, without members and indices.
fn variable(name: &str) -> &str {
    name.split(['.', '[']).next().unwrap_or(name)
}

/// The maximum of names in a list.
const LISTED: usize = 8;

/// The message that a name does not exist, with the name that may have been meant.
fn or_like(kind: &str, name: &str, known: &[&str]) -> String {
    let mut listed = known.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    if known.len() > LISTED {
        listed = format!("{listed} and {} more", known.len() - LISTED);
    }
    let instead = match (most_like(name, known.iter().copied()), known) {
        (_, []) => ": there is none".to_owned(),
        (Some(only), [_]) => format!("; did you mean `{only}`?"),
        (Some(meant), _) => format!("; did you mean `{meant}`? There are {listed}"),
        (None, _) => format!("; there are {listed}"),
    };
    format!("no {kind} is called `{name}`{instead}")
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// The first misfit in the file, as `shown: message`, where the folder's other shaders have these words.
    fn misfit(text: &str, elsewhere: &[&str]) -> Option<String> {
        let source = "cbuffer C { uint Count; float2 Scale; }; StructuredBuffer<uint> Source;
RWStructuredBuffer<uint> Out;\n[numthreads(4, 1, 1)] void Main(uint i : SV_GroupIndex) { Out[i] = Source[i] + Count; }";
        let shader = shaderlint_hlsl::read("a.hlsl", source.as_bytes(), &[], &shaderlint_hlsl::NoIncludes).0;
        let file: KernelToml = toml::from_str(text).unwrap();
        let (place, message) = file.misfit(&shader, &|name| elsewhere.contains(&name))?;
        Some(format!("{}: {message}", &text[place]))
    }

    #[test]
    fn what_no_kernel_has_is_told_at_its_place() {
        let said = |text: &str| misfit(text, &["Other", "Size"]).unwrap_or_default();
        assert_eq!(
            said("set = { Out = 1 }"),
            "Out: no uniform is called `Out`; did you mean `Count`? There are Count, Scale"
        );
        assert_eq!(
            said("lengths = { Count = 1 }"),
            "Count: no buffer is called `Count`; did you mean `Out`? There are Source, Out"
        );
        assert_eq!(
            said("set = { \"Scale.x\" = 1 }"),
            "\"Scale.x\": `Scale` is set as a whole, to 2 numbers"
        );
        assert_eq!(
            said("groups = [1, 1, 1]\n[entry.Mian]\nset = { Nope = 1 }"),
            "Mian: no kernel beside this file is called `Mian`; did you mean `Main`?"
        );
        assert_eq!(
            said("set = { Cuont = 1 }\n[entry.Mian]"),
            "Cuont: no uniform is called `Cuont`; did you mean `Count`? There are Count, Scale"
        );
        assert_eq!(
            said("[entry.Main]\nlengths = { Size = 4 }"),
            "Size: no buffer is called `Size`; there are Source, Out"
        );
        assert_eq!(
            said("contents = { source = [1] }"),
            "source: no buffer is called `source`; did you mean `Source`? There are Source, Out"
        );
        assert_eq!(
            said("[entry.Main]\nset = { Scale = [1, 2, 3] }"),
            "Scale: `Scale` is set to 3 numbers but has 2"
        );
        assert_eq!(
            said("set = { Count = 0.5 }"),
            "Count: `Count` is set to 0.5 but holds whole numbers"
        );
        // Names that a neighbour may have.
        assert_eq!(
            said("set = { Size = 1, Count = 2 }\n[entry.Other]\nset = { Size = 2 }"),
            ""
        );
    }

    #[test]
    fn what_is_out_of_range_is_told_at_its_place() {
        let said = |text: &str| {
            let error = parse(Path::new("kernel.toml"), text).expect_err(text);
            let wrong: &ConfigError = error.downcast_ref().expect("a place");
            format!("{}: {}", &text[wrong.place.clone()], wrong.message)
        };
        assert_eq!(
            said("[entry.A]\ngroups = [1, 0, 1]"),
            "[1, 0, 1]: `groups` are three numbers from 1 to 1024"
        );
        assert_eq!(
            said("[entry.A]\n[entry.A.entry.B]"),
            "B: the table of an entry point cannot hold another one"
        );
        assert_eq!(
            said("lengths = { Out = 0 }"),
            "0: the length of `Out` is a number from 1 to 16777216"
        );
        assert_eq!(
            said("groups = [1, 1, 1]\nsets = {}"),
            "sets: no key is called `sets` here; did you mean `set`?"
        );
    }
}
