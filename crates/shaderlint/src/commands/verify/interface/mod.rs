//! Whether one host program can bind the same resources to two kernels. Otherwise a comparison is impossible.
//!
//! If only one side gives a resource a register or an offset, the resource counts as bound by its name, which both
//! sides share.

mod blocks;
mod marks;

use std::cell::OnceCell;
use std::collections::HashMap;

use anyhow::{Result, bail};
use shaderlint_hlsl::{Function, FunctionId, Global, Shader, Span, Storage, Type};
use shaderlint_simt::WAVE_SIZES;

use self::blocks::Block;
use self::marks::{Declarations, is_of_word, shown, small_numbers, unlike_numbers};

use super::pair::{Pair, reachable, reachable_text};
use crate::commands::kernel;
use crate::workspace::project_file::TranslationUnit;

/// A kernel and its file's path.
struct Kernel<'a> {
    path: &'a str,
    shader: &'a Shader,
    entry: FunctionId,
    declarations: Declarations<'a>,
    /// The globals that it names.
    used: Vec<&'a Global>,
    /// The members outside of any block, computed once.
    loose: OnceCell<Vec<&'a Global>>,
}

/// Fails with the first thing that the host would have to provide differently to the two kernels: threads, waves,
/// buffers by their kind, element, layout and register, and members of constant buffers by their place.
pub(super) fn check(flagged: &TranslationUnit, other: &TranslationUnit, pair: &Pair) -> Result<()> {
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
    for texts in [
        ("the root signature", kernels.map(Kernel::root_signature)),
        (
            "what host code gives its parameters",
            kernels.map(Kernel::host_parameters),
        ),
    ] {
        if let (what, [a, b]) = texts
            && a != b
        {
            return unlike(
                what,
                kernels,
                [a, b].map(|text| text.unwrap_or_else(|| "nothing".to_owned())),
            );
        }
    }
    let pairs = shared(kernels);
    for pair in &pairs {
        is_alike(kernels, *pair)?;
    }
    order_of_members(kernels)?;
    blocks_of_members(kernels, &pairs)?;
    for pair in pairs.iter().filter(|pair| pair[0].storage == Storage::Uniform) {
        place_of_member(kernels, *pair)?;
    }
    meaning_of_words(kernels)?;
    // A buffer that only one kernel has is never the same as a buffer that only the other has.
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
            "the kernels have different interfaces: `{}` in {}, and {path} has no `{}`",
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
    bail!("the kernels have different interfaces: {what} is {a} in {first}, and {b} in {second}")
}

/// The globals that both files have and at least one kernel names.
fn shared<'a>([first, second]: [&Kernel<'a>; 2]) -> Vec<[&'a Global; 2]> {
    let of_first = first.used.iter().map(|one| (Some(*one), second.named(&one.name)));
    let of_second = (second.used.iter())
        .filter(|two| !first.used.iter().any(|one| one.name == two.name))
        .map(|two| (first.named(&two.name), Some(*two)));
    let pairs = of_first.chain(of_second);
    pairs.filter_map(|(one, two)| Some([one?, two?])).collect()
}

fn is_alike(kernels: [&Kernel<'_>; 2], globals: [&Global; 2]) -> Result<()> {
    let of_both =
        |of: fn(&Kernel<'_>, &Global) -> String| [0, 1].map(|which| of(kernels[which], globals[which]));
    let texts = || of_both(|kernel, global| format!("`{}`", kernel.text(global)));
    let what = format!("`{}`", globals[0].name);
    let [a, b] = of_both(|kernel, global| layout(kernel.shader, &global.ty));
    if globals[0].storage != globals[1].storage || a != b || globals[0].coherent != globals[1].coherent {
        let texts = texts();
        // The difference is inside a struct.
        let said = if texts[0] == texts[1] { [a, b] } else { texts };
        return unlike(&what, kernels, said);
    }
    let marks = [0, 1].map(|which| kernels[which].declarations.marks(globals[which].span));
    if marks[0] != marks[1] {
        let [a, b] = texts();
        // The difference is elsewhere, in a struct or an alias.
        let said = if a == b {
            shown(&marks).map(|marks| format!("{a} with {marks}"))
        } else {
            [a, b]
        };
        return unlike(&what, kernels, said);
    }
    let [a, b] = of_both(|kernel, global| registers(&declarator(kernel.shader, global)));
    let is_uniform = globals[0].storage == Storage::Uniform;
    if a != b && (is_uniform || !a.is_empty() && !b.is_empty()) {
        return unlike(&what, kernels, texts());
    }
    // The settings of a sampler, and a member's value before host code sets it.
    let [a, b] = of_both(value);
    if a != b {
        return unlike(&what, kernels, texts());
    }
    Ok(())
}

/// Members that both have come in the same order.
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
            unlike("the order of the members that host code sets", kernels, said)
        }
        None => Ok(()),
    }
}

/// The blocks of members can be bound in the same way, and both sides group the members into blocks in the same way.
fn blocks_of_members<'a>(kernels: [&Kernel<'a>; 2], pairs: &[[&'a Global; 2]]) -> Result<()> {
    let mut known: [HashMap<Option<u32>, Option<u32>>; 2] = Default::default();
    for pair in pairs.iter().filter(|pair| pair[0].storage == Storage::Uniform) {
        let blocks = [0, 1].map(|which| Block::of(kernels[which].shader, pair[which]));
        let what = || format!("where `{}` stands", pair[0].name);
        let heads = || {
            let head = |which: usize| match blocks[which] {
                Some(block) => format!("`{}`", kernels[which].line(block.head)),
                None => "no `cbuffer`".to_owned(),
            };
            [head(0), head(1)]
        };
        let [a, b] = blocks.map(|block| block.map(|block| block.head.start));
        let is_one = |which: usize, from: Option<u32>, to: Option<u32>, known: &mut [HashMap<_, _>; 2]| {
            *known[which].entry(from).or_insert(to) == to
        };
        if !is_one(0, a, b, &mut known) || !is_one(1, b, a, &mut known) {
            return unlike(&what(), kernels, heads());
        }
        let [Some(one), Some(other)] = blocks else {
            if a != b {
                return unlike(&what(), kernels, heads());
            }
            continue;
        };
        let texts = [0, 1].map(|which| heads()[which].split_whitespace().collect::<String>());
        let [of_one, of_other] = texts.map(|text| registers(&text));
        let is_bound_alike = !of_one.is_empty() && of_one == of_other;
        let [kind, other_kind] = [one.kind(), other.kind()].map(Option::unwrap_or_default);
        let [marks, other_marks] =
            [0, 1].map(|which| kernels[which].declarations.marks([one, other][which].head));
        let is_alike = kind.0 == other_kind.0
            && marks == other_marks
            && (of_one == of_other || of_one.is_empty() || of_other.is_empty())
            && (kind.1 == other_kind.1 || is_bound_alike);
        if !is_alike {
            return unlike(&what(), kernels, heads());
        }
    }
    Ok(())
}

/// The members before a member in its constant buffer have the same size in both: the same types, or the same
/// offsets.
fn place_of_member(kernels: [&Kernel<'_>; 2], pair: [&Global; 2]) -> Result<()> {
    let members = [0, 1].map(|which| {
        let shader = kernels[which].shader;
        match Block::of(shader, pair[which]) {
            Some(block) => block.up_to(pair[which]),
            None => kernels[which].loose_up_to(pair[which]),
        }
    });
    let name = &pair[0].name;
    if [0, 1]
        .iter()
        .any(|which| blocks::are_placed(kernels[*which].shader, &members[*which]))
    {
        let offsets = [0, 1].map(|which| blocks::offset(kernels[which].shader, &members[which]));
        if offsets[0].is_none() || offsets[0] != offsets[1] {
            let said =
                offsets.map(|offset| offset.map_or("not known".to_owned(), |byte| format!("{byte} bytes")));
            return unlike(
                &format!("the offset of `{name}` in its constant buffer"),
                kernels,
                said,
            );
        }
        return Ok(());
    }
    let before = [0, 1].map(|which| {
        let before = members[which].iter().filter(|member| member.name != *name);
        let Kernel {
            shader, declarations, ..
        } = kernels[which];
        let types = before.map(|member| (layout(shader, &member.ty), declarations.marks(member.span)));
        types.unzip::<String, Vec<String>, Vec<String>, Vec<Vec<String>>>()
    });
    let what = format!("what precedes `{name}` in its constant buffer");
    let [(a, marks), (b, other_marks)] = before;
    if a != b {
        let said = [a, b].map(|types| match types.as_slice() {
            [] => "nothing".to_owned(),
            types => types.join(", "),
        });
        return unlike(&what, kernels, said);
    }
    let marks = [marks.concat(), other_marks.concat()];
    if marks[0] != marks[1] {
        return unlike(&what, kernels, shown(&marks));
    }
    Ok(())
}

/// The meaning of words that the tree leaves out: small numbers, matrices as bytes, and the non-uniformity of
/// resource indices.
fn meaning_of_words(kernels: [&Kernel<'_>; 2]) -> Result<()> {
    let marks = kernels.map(|kernel| kernel.declarations.marks_of_functions(&kernel.functions()));
    if marks[0] != marks[1] {
        let what = "what the functions declare about memory that is accessed as bytes or through a heap";
        return unlike(what, kernels, shown(&marks));
    }
    let numbers = kernels.map(|kernel| small_numbers(&kernel.shader.text));
    // Their positions matter only if the text has several of these types.
    let is_one = |numbers: &[&str]| numbers.windows(2).all(|two| two[0] == two[1]);
    let are_alike = numbers[0] == numbers[1]
        || numbers[0].first() == numbers[1].first() && numbers.iter().all(|numbers| is_one(numbers));
    if !are_alike {
        let alike = numbers[0].iter().zip(&numbers[1]).take_while(|(a, b)| a == b);
        let at = alike.count();
        let said = numbers.map(|names| match names.get(at) {
            Some(name) => format!("`{name}`"),
            None => "missing".to_owned(),
        });
        return unlike(
            &format!("small number type {} in the text", at + 1),
            kernels,
            said,
        );
    }
    let is_one_text = kernels[0].shader.text == kernels[1].shader.text;
    if let Some([one, other]) = numbers
        .iter()
        .find_map(|numbers| unlike_numbers(numbers))
        .filter(|_| !is_one_text)
    {
        bail!("cannot tell `{one}` from `{other}`: the target decides what each holds");
    }
    let marked = kernels.map(|kernel| {
        let texts = reachable_text(kernel.shader, kernel.entry);
        let words = texts
            .iter()
            .flat_map(|text| text.split(|byte| !is_of_word(*byte)));
        words.filter(|word| *word == b"NonUniformResourceIndex").count()
    });
    if marked[1] < marked[0] {
        let said = marked.map(|count| count.to_string());
        return unlike("the number of `NonUniformResourceIndex`", kernels, said);
    }
    Ok(())
}

impl<'a> Kernel<'a> {
    fn new(unit: &'a TranslationUnit, entry: FunctionId) -> Kernel<'a> {
        let shader = &unit.shader;
        let texts = reachable_text(shader, entry);
        let names = |name: &str| {
            let mut words = texts
                .iter()
                .flat_map(|text| text.split(|byte| !is_of_word(*byte)));
            words.any(|word| word == name.as_bytes())
        };
        let is_given = |global: &&Global| matches!(global.storage, Storage::Resource | Storage::Uniform);
        let globals = shader.globals.iter().filter(is_given);
        Kernel {
            path: kernel::path(unit),
            shader,
            entry,
            declarations: Declarations::new(shader),
            used: globals
                .filter(|global| global.name.rsplit("::").next().is_some_and(names))
                .collect(),
            loose: OnceCell::new(),
        }
    }

    /// The members outside of any block, up to this one and including it.
    fn loose_up_to(&self, member: &Global) -> Vec<&'a Global> {
        let loose = self.loose.get_or_init(|| blocks::without_block(self.shader));
        let before = loose.iter().copied();
        before
            .filter(|global| global.name_span.start <= member.name_span.start)
            .collect()
    }

    fn named(&self, name: &str) -> Option<&'a Global> {
        let mut globals = self.shader.globals.iter();
        globals.find(|global| {
            global.name == name && matches!(global.storage, Storage::Resource | Storage::Uniform)
        })
    }

    fn function(&self) -> Option<&'a Function> {
        self.shader.functions.get(self.entry.0 as usize)
    }

    fn group_size(&self) -> [u32; 3] {
        self.function()
            .and_then(|function| function.group_size)
            .unwrap_or_default()
    }

    fn wave_sizes(&self) -> (u32, u32) {
        self.function()
            .and_then(|function| function.wave_size)
            .unwrap_or((4, 128))
    }

    /// The spans of the entry point and of every function that it may call.
    fn functions(&self) -> Vec<Span> {
        let functions = reachable(self.shader, self.entry).into_iter();
        functions
            .filter_map(|id| self.shader.functions.get(id.0 as usize))
            .map(|function| function.span)
            .collect()
    }

    /// The content of the entry point's `[RootSignature]`.
    fn root_signature(&self) -> Option<String> {
        let function = self.function()?;
        let head = Span {
            start: function.span.start,
            end: function.name_span.start,
        };
        let head = self.line(head);
        let (_, said) = head.split_once("RootSignature")?;
        let said = said.split_once(")]").map_or(said, |(said, _)| said);
        Some(format!("`{}`", said.trim_start().trim_start_matches('(').trim()))
    }

    /// The entry point's parameters without a semantic, which the host would have to set.
    fn host_parameters(&self) -> Option<String> {
        let function = self.function()?;
        let given = function
            .parameters
            .iter()
            .filter(|parameter| parameter.semantic.is_none());
        let locals = given.filter_map(|parameter| function.locals.get(parameter.local.0 as usize));
        let texts = locals.filter_map(|local| {
            let ty = layout(self.shader, &local.ty);
            // The members of a struct have semantics of their own.
            let is_told = matches!(local.ty, Type::Struct(id) if self.has_semantics(id.0));
            (!is_told).then(|| format!("{ty} {}", local.name))
        });
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    fn has_semantics(&self, id: u32) -> bool {
        let declared = self.shader.structs.get(id as usize);
        declared.is_some_and(|of| of.fields.iter().all(|field| field.semantic.is_some()))
    }

    /// A declaration on one line, without its semicolon.
    fn text(&self, global: &Global) -> String {
        self.line(global.span).trim_end_matches(';').trim_end().to_owned()
    }

    fn line(&self, span: Span) -> String {
        let text = String::from_utf8_lossy(span.slice(&self.shader.text)).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ")
    }
}

/// The initial value after `=`, or the settings between braces, of something that host code sets.
fn value(kernel: &Kernel<'_>, global: &Global) -> String {
    let text = kernel.text(global);
    let at = text.find(['=', '{']);
    let at = at.filter(|_| !matches!(global.ty, Type::Struct(_)));
    at.and_then(|at| text.get(at..)).unwrap_or_default().to_owned()
}

/// The text after the declared name, up to a comma, semicolon or `=` outside of brackets, without blanks.
fn declarator(shader: &Shader, global: &Global) -> String {
    let behind = Span {
        start: global.name_span.end,
        end: global.span.end,
    };
    let text = String::from_utf8_lossy(behind.slice(&shader.text)).into_owned();
    let mut depth = 0u32;
    let ends = |letter: char| {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(letter, ',' | ';' | '=')
    };
    let own = text.split(ends).next().unwrap_or_default();
    own.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// The registers in a declaration without blanks.
fn registers(text: &str) -> String {
    let given = text
        .split("register(")
        .skip(1)
        .filter_map(|given| given.split(')').next());
    // `register(t0)` means space 0.
    let given: Vec<String> = given
        .map(|given| given.trim_end_matches(",space0").to_ascii_lowercase())
        .collect();
    given.join(" ")
}

/// A type with all its fields, without the names of members.
fn layout(shader: &Shader, ty: &Type) -> String {
    match ty {
        Type::Struct(id) => {
            let fields = shader.structs.get(id.0 as usize).map_or(&[][..], |of| &of.fields);
            // Only the text tells the width of a bit field.
            let is_unknown = fields.iter().any(|field| field.ty == Type::Unknown);
            if let Some(of) = shader.structs.get(id.0 as usize).filter(|_| is_unknown) {
                let text = String::from_utf8_lossy(of.span.slice(&shader.text));
                return text.split_whitespace().collect::<Vec<&str>>().join(" ");
            }
            let fields: Vec<String> = fields.iter().map(|field| layout(shader, &field.ty)).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Type::Array(element, length) => format!("{}[{length}]", layout(shader, element)),
        Type::Resource(kind, Some(element)) => format!("{kind:?}<{}>", layout(shader, element)),
        Type::Scalar(scalar) => scalar.name().to_owned(),
        Type::Vector(scalar, width) => format!("{}{width}", scalar.name()),
        Type::Matrix(scalar, rows, columns) => format!("{}{rows}x{columns}", scalar.name()),
        ty => format!("{ty:?}"),
    }
}
