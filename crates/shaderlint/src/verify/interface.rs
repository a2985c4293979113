//! Whether a host could give two kernels the same: nothing else can be compared.

use anyhow::{Result, bail};
use shaderlint_hlsl::{FunctionId, Global, Shader, Storage, Type};
use shaderlint_simt::WAVE_SIZES;

use super::pair::{Pair, reachable_text};
use crate::kernel;
use crate::lint::Unit;

/// A kernel, and what its file is called.
struct Kernel<'a> {
    path: &'a str,
    shader: &'a Shader,
    entry: FunctionId,
    /// What it names of all that is declared outside functions.
    used: Vec<&'a Global>,
}

/// Fails with the first thing that the host would have to give the two in another way: threads, waves, buffers by their
/// kind, element and register, and members of constant buffers by their place.
pub(super) fn check(flagged: &Unit, other: &Unit, pair: &Pair) -> Result<()> {
    let first = Kernel::new(flagged, pair.flagged);
    let second = Kernel::new(other, pair.fixed);
    let kernels = [&first, &second];
    let [a, b] = kernels.map(Kernel::group_size);
    if a != b {
        let [a, b] = [a, b].map(|[x, y, z]| format!("{x}×{y}×{z}"));
        return unlike("the group", kernels, [a, b]);
    }
    let [a, b] = kernels.map(Kernel::wave_sizes);
    if !WAVE_SIZES
        .iter()
        .any(|size| [a, b].iter().all(|(least, most)| (least..=most).contains(&size)))
    {
        let [a, b] = [a, b].map(|(least, most)| format!("[WaveSize({least}, {most})]"));
        return unlike("the size of waves", kernels, [a, b]);
    }
    for one in &first.used {
        if let Some(two) = second.named(&one.name) {
            is_alike(kernels, [one, two])?;
        }
    }
    for two in &second.used {
        if let Some(one) = first.named(&two.name) {
            is_alike(kernels, [one, two])?;
        }
    }
    order_of_members(kernels)?;
    places_of_members(kernels)?;
    // A buffer that one alone has is never the same as another one of the other.
    let [of_first, of_second] = [(&first, &second), (&second, &first)].map(|(kernel, other)| {
        let own = kernel
            .used
            .iter()
            .filter(|global| other.named(&global.name).is_none());
        own.copied().collect::<Vec<&Global>>()
    });
    let alone = |kernel: &Kernel<'_>, global: &Global, other: &Kernel<'_>| {
        let Kernel { path, .. } = other;
        bail!(
            "these are kernels of two interfaces: `{}` in {}, and {path} has no `{}`",
            kernel.text(global),
            kernel.path,
            global.name
        )
    };
    if let (Some(one), Some(_)) = (of_first.first(), of_second.first()) {
        return alone(&first, one, &second);
    }
    if let Some(one) = of_first.iter().find(|global| global.ty.is_writable()) {
        return alone(&first, one, &second);
    }
    if let Some(two) = of_second.iter().find(|global| global.ty.is_writable()) {
        return alone(&second, two, &first);
    }
    Ok(())
}

fn unlike(what: &str, kernels: [&Kernel<'_>; 2], said: [String; 2]) -> Result<()> {
    let [a, b] = said;
    let [first, second] = kernels.map(|kernel| kernel.path);
    bail!("these are kernels of two interfaces: {what} is {a} in {first}, and {b} in {second}")
}

fn is_alike(kernels: [&Kernel<'_>; 2], globals: [&Global; 2]) -> Result<()> {
    let [a, b] = [0, 1].map(|which| layout(kernels[which].shader, &globals[which].ty));
    let texts = || [0, 1].map(|which| format!("`{}`", kernels[which].text(globals[which])));
    let what = format!("`{}`", globals[0].name);
    if globals[0].storage != globals[1].storage || a != b || globals[0].coherent != globals[1].coherent {
        return unlike(&what, kernels, texts());
    }
    let registers = [0, 1].map(|which| register(&kernels[which].text(globals[which])));
    if let [Some(one), Some(other)] = registers
        && one != other
    {
        return unlike(&what, kernels, texts());
    }
    Ok(())
}

/// Members that both have come in one order.
fn order_of_members(kernels: [&Kernel<'_>; 2]) -> Result<()> {
    let members = |which: usize| {
        let shader = kernels[which].shader;
        let uniforms = shader
            .globals
            .iter()
            .filter(|global| global.storage == Storage::Uniform);
        uniforms
            .map(|global| global.name.as_str())
            .filter(|name| kernels[1 - which].named(name).is_some())
            .collect::<Vec<&str>>()
    };
    let [a, b] = [members(0), members(1)];
    match a.iter().zip(&b).find(|(a, b)| a != b) {
        Some((one, other)) => {
            let said = [one, other].map(|name| format!("first `{name}`"));
            unlike("of the members that host code sets, the order", kernels, said)
        }
        None => Ok(()),
    }
}

/// What comes before a member in its constant buffer is as large in both: the same types.
fn places_of_members(kernels: [&Kernel<'_>; 2]) -> Result<()> {
    for one in kernels[0]
        .used
        .iter()
        .filter(|global| global.storage == Storage::Uniform)
    {
        let Some(two) = kernels[1].named(&one.name) else {
            continue;
        };
        let [a, b] = [(kernels[0], *one), (kernels[1], two)].map(|(kernel, member)| kernel.before(member));
        if let ([Some(a), Some(b)], true) = ([&a, &b], a != b) {
            let what = format!("what comes before `{}` in its constant buffer", one.name);
            let said = [a, b].map(|types| match types.as_slice() {
                [] => "nothing".to_owned(),
                types => types.join(", "),
            });
            return unlike(&what, kernels, said);
        }
    }
    Ok(())
}

impl<'a> Kernel<'a> {
    fn new(unit: &'a Unit, entry: FunctionId) -> Kernel<'a> {
        let shader = &unit.shader;
        let texts = reachable_text(shader, entry);
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let names = |name: &str| {
            let mut words = texts.iter().flat_map(|text| text.split(|byte| !is_word(byte)));
            words.any(|word| word == name.as_bytes())
        };
        let is_given = |global: &&Global| matches!(global.storage, Storage::Resource | Storage::Uniform);
        let globals = shader.globals.iter().filter(is_given);
        Kernel {
            path: kernel::path(unit),
            shader,
            entry,
            used: globals.filter(|global| names(&global.name)).collect(),
        }
    }

    fn named(&self, name: &str) -> Option<&'a Global> {
        let mut globals = self.shader.globals.iter();
        globals.find(|global| {
            global.name == name && matches!(global.storage, Storage::Resource | Storage::Uniform)
        })
    }

    fn group_size(&self) -> [u32; 3] {
        let function = self.shader.functions.get(self.entry.0 as usize);
        function
            .and_then(|function| function.group_size)
            .unwrap_or_default()
    }

    fn wave_sizes(&self) -> (u32, u32) {
        let function = self.shader.functions.get(self.entry.0 as usize);
        function
            .and_then(|function| function.wave_size)
            .unwrap_or((4, 128))
    }

    /// The types of the members before one in its `cbuffer`; `None` if it is in none.
    fn before(&self, member: &Global) -> Option<Vec<String>> {
        let text = self.shader.text.get(..member.span.start as usize)?;
        let mut depth = 0u32;
        let brace = text.iter().rposition(|byte| match byte {
            b'}' => {
                depth += 1;
                false
            }
            b'{' if depth > 0 => {
                depth -= 1;
                false
            }
            byte => *byte == b'{',
        })?;
        let of_block = text.get(..brace)?;
        let start = of_block
            .iter()
            .rposition(|byte| matches!(byte, b';' | b'}'))
            .map_or(0, |end| end + 1);
        let head = String::from_utf8_lossy(of_block.get(start..)?).into_owned();
        if !head
            .split_whitespace()
            .any(|word| matches!(word, "cbuffer" | "tbuffer"))
        {
            return None;
        }
        let is_before = |global: &&Global| {
            let at = global.span.start as usize;
            global.storage == Storage::Uniform && (brace..member.span.start as usize).contains(&at)
        };
        let before = self.shader.globals.iter().filter(is_before);
        Some(before.map(|global| layout(self.shader, &global.ty)).collect())
    }

    /// A declaration on one line, without its semicolon.
    fn text(&self, global: &Global) -> String {
        let text = String::from_utf8_lossy(global.span.slice(&self.shader.text)).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").trim_end_matches(';').trim_end().to_owned()
    }
}

/// The register or offset that a declaration gives, without blanks.
fn register(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let given = ["register(", "packoffset("]
        .into_iter()
        .find_map(|word| text.split_once(word));
    let (_, given) = given?;
    // `register(t0)` is in space 0.
    let given = given.split_once(')').map_or(given, |(given, _)| given);
    Some(given.trim_end_matches(",space0").to_owned())
}

/// A type with all that it is made of; the names of members are left out.
fn layout(shader: &Shader, ty: &Type) -> String {
    match ty {
        Type::Struct(id) => {
            let fields = shader.structs.get(id.0 as usize).map_or(&[][..], |of| &of.fields);
            let fields: Vec<String> = fields.iter().map(|field| layout(shader, &field.ty)).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Type::Array(element, length) => format!("{}[{length}]", layout(shader, element)),
        Type::Resource(kind, Some(element)) => format!("{kind:?}<{}>", layout(shader, element)),
        ty => format!("{ty:?}"),
    }
}
