//! What declarations say about memory beyond their types: the order of matrices, the width of small numbers, the
//! encoding of texels, the dimensions of a texture, and attributes for Vulkan.
//!
//! The types of the tree leave these out. This module compares them as written, in the order of the text, including
//! the marks of the structs and aliases that a declaration names. Two spellings of the same mark count as different.

use std::collections::HashSet;

use memchr::memmem;
use shaderlint_hlsl::{MatrixOrder, Shader, Span};

pub(super) struct Declarations<'a> {
    shader: &'a Shader,
    /// The names of structs, `typedef`s and `using`s, each with the span of its declaration.
    types: Vec<(&'a [u8], Span)>,
}

/// The kind of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextOf {
    Declaration,
    /// Only its own words and the types that it names count, not the number of its statements.
    Function,
}

impl<'a> Declarations<'a> {
    pub fn new(shader: &'a Shader) -> Declarations<'a> {
        let structs = shader.structs.iter().map(|of| {
            let name = of.name.split('<').next().unwrap_or_default();
            let own = name.rsplit("::").next().unwrap_or_default();
            (own.as_bytes(), of.span)
        });
        Declarations {
            shader,
            types: structs.chain(aliases(&shader.text)).collect(),
        }
    }

    /// All marks of a declaration.
    pub fn marks(&self, declaration: Span) -> Vec<String> {
        let mut marks = Vec::new();
        self.collect(declaration, TextOf::Declaration, &mut HashSet::new(), &mut marks);
        marks
    }

    /// The marks in functions that no declaration of the file covers: those of resources from a heap, which only
    /// local variables declare, and the orders of matrices that are loaded or stored as bytes. Empty if no function
    /// has a heap, a `Load<` or a `Store<`: other accesses name components, so the order has no effect.
    pub fn marks_of_functions(&self, functions: &[Span]) -> Vec<String> {
        let text = &self.shader.text;
        let has = |is_such: fn(&[u8]) -> bool| functions.iter().any(|of| is_such(of.slice(text)));
        let has_heap = has(|text| memmem::find(text, b"DescriptorHeap").is_some());
        if !has_heap && !has(has_typed_access) {
            return Vec::new();
        }
        let mut marks = Vec::new();
        let mut seen = HashSet::new();
        for function in functions {
            self.collect(*function, TextOf::Function, &mut seen, &mut marks);
        }
        marks.retain(|mark| has_heap || is_order(mark.as_bytes()) || is_separator(mark));
        if marks.iter().all(|mark| is_separator(mark)) {
            marks.clear();
        }
        marks
    }

    fn collect(&self, span: Span, of: TextOf, seen: &mut HashSet<Span>, marks: &mut Vec<String>) {
        if !seen.insert(span) {
            return;
        }
        let first = marks.len();
        let text = span.slice(&self.shader.text);
        let mut at = 0;
        let mut depth = 0u32;
        // The last word gave the order of the next matrix.
        let mut is_ordered = false;
        let mut last_sign = b' ';
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with(b"[[") {
                let length = rest.windows(2).position(|two| two == b"]]");
                let length = length.map_or(rest.len(), |at| at + 2);
                let attribute = String::from_utf8_lossy(rest.get(..length).unwrap_or(rest));
                marks.push(attribute.split_whitespace().collect());
                at += length;
                continue;
            }
            let length = rest.iter().take_while(|byte| is_of_word(**byte)).count();
            if let Some(word) = rest.get(..length).filter(|word| !word.is_empty()) {
                if word == b"struct" || word == b"class" {
                    last_sign = b' ';
                }
                let is_coherent = matches!(word, b"globallycoherent" | b"reordercoherent");
                if is_order(word) || is_mark(word) || is_coherent && of == TextOf::Function {
                    marks.push(String::from_utf8_lossy(word).into_owned());
                    is_ordered |= is_order(word);
                } else if is_matrix(word) {
                    let place = span.start as usize + at;
                    marks.extend(self.order_at(place).filter(|_| !is_ordered));
                    is_ordered = false;
                }
                for (_, declared) in self.types.iter().filter(|(name, _)| *name == word) {
                    self.collect(*declared, TextOf::Declaration, seen, marks);
                }
                at += length;
                continue;
            }
            let sign = rest.first().copied().unwrap_or_default();
            match (sign, of) {
                // The body of a method.
                (b'{', TextOf::Declaration) if last_sign == b')' => {
                    at += body_length(rest);
                    last_sign = b'}';
                    continue;
                }
                (b'{', _) => depth += 1,
                (b'}', _) => depth = depth.saturating_sub(1),
                (b';' | b',', TextOf::Declaration) if depth > 0 => {
                    marks.push(char::from(sign).to_string());
                }
                _ => {}
            }
            is_ordered &= sign != b';';
            if !sign.is_ascii_whitespace() {
                last_sign = sign;
            }
            at += 1;
        }
        // The separators between members only show which member has a mark; without marks they say nothing.
        if marks.iter().skip(first).all(|mark| is_separator(mark)) {
            marks.truncate(first);
        }
    }

    /// The matrix order that `#pragma pack_matrix` sets at a place of the text.
    fn order_at(&self, place: usize) -> Option<String> {
        let before = self.shader.matrix_orders.iter().rev();
        let mut before = before.filter(|(at, _)| *at as usize <= place);
        let (_, order) = before.next()?;
        let word = match order {
            MatrixOrder::RowMajor => "row_major",
            MatrixOrder::ColumnMajor => "column_major",
        };
        Some(word.to_owned())
    }
}

/// Two lists of marks for a message. Separators are shown only if the lists differ in nothing else.
pub(super) fn shown(lists: &[Vec<String>; 2]) -> [String; 2] {
    let words = |marks: &[String], all: bool| {
        let marks = marks.iter().filter(|mark| all || !is_separator(mark));
        let words: Vec<&str> = marks.map(String::as_str).collect();
        match words.join(" ") {
            none if none.is_empty() => "nothing".to_owned(),
            words => format!("`{words}`"),
        }
    };
    let [a, b] = lists;
    if words(a, false) == words(b, false) {
        [words(a, true), words(b, true)]
    } else {
        [words(a, false), words(b, false)]
    }
}

/// The types of small numbers that a text names, in order. The target decides which types they are, but equal names
/// always mean equal types.
pub(super) fn small_numbers(text: &[u8]) -> Vec<&'static str> {
    const NAMES: [&str; 8] = [
        "half",
        "float16_t",
        "min16float",
        "min10float",
        "int16_t",
        "min16int",
        "min12int",
        "min16uint",
    ];
    let of_word = |word: &[u8]| {
        let names = NAMES.into_iter().chain(["uint16_t"]);
        names.into_iter().find(|name| {
            let shape = word.strip_prefix(name.as_bytes());
            shape.is_some_and(|shape| matches!(shape, [] | [b'1'..=b'4'] | [b'1'..=b'4', b'x', b'1'..=b'4']))
        })
    };
    text.split(|byte| !is_of_word(*byte))
        .filter_map(of_word)
        .collect()
}

/// Two different types of small numbers of one kind, which the engine treats as one type.
pub(super) fn unlike_numbers(names: &[&'static str]) -> Option<[&'static str; 2]> {
    const KINDS: [&[&str]; 3] = [
        &["half", "float16_t", "min16float", "min10float"],
        &["int16_t", "min16int", "min12int"],
        &["uint16_t", "min16uint"],
    ];
    KINDS.into_iter().find_map(|kind| {
        let mut of_kind = names.iter().filter(|name| kind.contains(name));
        let first = of_kind.next()?;
        // Beside `float16_t`, `half` is the same type.
        let is_other = |name: &&&str| {
            let native = ["half", "float16_t"];
            *name != first && !(native.contains(*name) && native.contains(first))
        };
        Some([*first, *of_kind.find(is_other)?])
    })
}

pub(super) fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_separator(mark: &str) -> bool {
    matches!(mark, ";" | ",")
}

fn is_order(word: &[u8]) -> bool {
    matches!(word, b"row_major" | b"column_major")
}

fn is_mark(word: &[u8]) -> bool {
    if matches!(
        word,
        b"unorm" | b"snorm" | b"SamplerComparisonState" | b"ConstantBuffer" | b"TextureBuffer"
    ) {
        return true;
    }
    let base = [&b"RW"[..], b"RasterizerOrdered", b"Feedback"]
        .into_iter()
        .find_map(|prefix| word.strip_prefix(prefix))
        .unwrap_or(word);
    let shape = base
        .strip_prefix(b"Texture")
        .or_else(|| base.strip_prefix(b"texture"));
    let shape = shape.map(|shape| shape.strip_suffix(b"Array").unwrap_or(shape));
    matches!(shape, Some(b"1D" | b"2D" | b"2DMS" | b"3D" | b"Cube" | b"CUBE"))
}

/// Whether a word is a matrix type, for example `matrix` or `float4x4`.
fn is_matrix(word: &[u8]) -> bool {
    word == b"matrix" || matches!(word, [.., _, b'1'..=b'4', b'x', b'1'..=b'4'])
}

/// Whether a text has a `Load<` or a `Store<`.
fn has_typed_access(text: &[u8]) -> bool {
    [&b"Load"[..], b"Store"].into_iter().any(|name| {
        let mut places =
            (0..text.len()).filter(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(name)));
        places.any(|at| {
            let behind = text.get(at + name.len()..).unwrap_or_default();
            behind.trim_ascii_start().starts_with(b"<")
        })
    })
}

/// The length of a body from its opening brace through the closing one.
fn body_length(text: &[u8]) -> usize {
    let mut depth = 0u32;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// Each name that a `typedef` or `using` declares, with its text.
fn aliases(text: &[u8]) -> Vec<(&[u8], Span)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| is_of_word(**byte)).count();
        let word = rest.get(..length).unwrap_or_default();
        if !matches!(word, b"typedef" | b"using") {
            at += length.max(1);
            continue;
        }
        let mut depth = 0u32;
        let end = rest.iter().position(|byte| {
            match byte {
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *byte == b';'
        });
        let statement = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
        let span = Span {
            start: u32::try_from(at).unwrap_or(u32::MAX),
            end: u32::try_from(at + statement.len()).unwrap_or(u32::MAX),
        };
        if word == b"using" {
            let mut words = statement.split(|byte| !is_of_word(*byte)).skip(1);
            found.extend(words.find(|word| !word.is_empty()).map(|name| (name, span)));
        } else {
            found.extend(declared_names(statement).into_iter().map(|name| (name, span)));
        }
        at += statement.len().max(length);
    }
    found
}

/// The names at the ends of a `typedef`'s declarators.
fn declared_names(statement: &[u8]) -> Vec<&[u8]> {
    let mut names = Vec::new();
    let (mut depth, mut at) = (0u32, 0);
    let mut last: &[u8] = &[];
    while let Some(rest) = statement.get(at..).filter(|rest| !rest.is_empty()) {
        let length = rest.iter().take_while(|byte| is_of_word(**byte)).count();
        if let Some(word) = rest.get(..length).filter(|word| !word.is_empty()) {
            if depth == 0 {
                last = word;
            }
            at += length;
            continue;
        }
        match rest.first() {
            Some(b'{' | b'<' | b'(' | b'[') => depth += 1,
            Some(b'}' | b'>' | b')' | b']') => depth = depth.saturating_sub(1),
            Some(b',') if depth == 0 => names.push(last),
            _ => {}
        }
        at += 1;
    }
    names.push(last);
    names
}
