//! The lexical pass: before parsing, it removes what tree-sitter-hlsl misreads from the text, byte for byte.
//!
//! The grammar is C++ with additions. HLSL's attribute lists, registers, semantics, `cbuffer`s, casts and modifiers
//! are blanked or replaced in a copy of the text of the same length. Side tables keep them by their offsets, so every
//! span of the parse is a span of the text. It is one pass over the tokens, linear in the text.

mod edits;
mod heads;
mod inventory;
mod items;
mod macros;
mod needed;
mod tokens;
mod words;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::span::{Cause, Span};
use crate::tree::Direction;
pub(crate) use inventory::Inventory;
pub use needed::declared_words;
pub(crate) use needed::{WantedText, leave_out_unnamed};
pub(crate) use tokens::{Token, TokenKind};
pub(crate) use words::{bracket_of_buffer, is_language_word, is_macro_like, is_sampler};

/// Brackets nested deeper than this are not parsed.
const MAX_NESTING: usize = 1000;

/// The kind of a top-level item, as seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// A function with a body: the byte range between its braces, both excluded.
    Function { body: (u32, u32) },
    /// Anything that declares: a global, a struct, a prototype, a typedef.
    Declaration,
    /// A template with a body, or an alias template: it is read where it is named.
    Template,
    /// Any other template: blanked.
    Skipped,
}

/// One declaration at the top of the text, of a namespace or of a `cbuffer`.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub kind: ItemKind,
    /// With its attributes.
    pub span: Span,
    /// Index into [`Lexed::namespaces`].
    pub namespace: u32,
    /// In a `cbuffer` or another constant buffer: all threads share it, and the host sets it.
    pub in_buffer: bool,
    /// The buffer has real braces, not only macros that look like a buffer's.
    pub in_braces_of_buffer: bool,
    pub groupshared: bool,
    pub coherent: bool,
    /// Start of the undefined macros before it, which may be part of it.
    pub after_macros: Option<u32>,
    /// The whole attribute and its arguments.
    pub numthreads: Option<(Span, Span)>,
    pub wave_size: Option<Span>,
    pub too_deep: bool,
    /// The parameters of `template <…>`, in order.
    pub template: Vec<TemplateParameter>,
}

impl Item {
    /// The item with the macros before it.
    pub fn whole(&self) -> Span {
        Span {
            start: self.after_macros.unwrap_or(self.span.start),
            end: self.span.end,
        }
    }
}

/// A type or a number that a template takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TemplateParameter {
    pub name: Span,
    /// The type, if the parameter is a number.
    pub ty: Option<Span>,
    pub default: Option<Span>,
}

/// Something in the expanded text that could not be read. Never fatal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextProblem {
    pub message: String,
    pub span: Span,
    pub cause: Cause,
}

impl TextProblem {
    pub(crate) fn new(message: &str, span: Span) -> Self {
        TextProblem {
            message: message.to_owned(),
            span,
            cause: Cause::Text,
        }
    }
}

/// The result of the lexical pass.
pub(crate) struct Lexed {
    /// As long as the text.
    pub blank: Vec<u8>,
    pub tokens: Vec<Token>,
    /// The other bracket of each bracket token; `u32::MAX` if it has none.
    pub partner: Vec<u32>,
    pub items: Vec<Item>,
    /// Bodies of methods that are left out, with their braces, in order.
    pub unread_bodies: Vec<Span>,
    /// Full names with a trailing `::`; the first is the empty one.
    pub namespaces: Vec<Vec<u8>>,
    /// Start of a name → the semantic that follows it.
    pub semantics: FxHashMap<u32, Span>,
    /// Start of a parameter's name → its direction, unless that is `in`.
    pub directions: FxHashMap<u32, Direction>,
    /// Starts of the names of parameters with `groupshared`. Compilers refuse them, or pass a reference.
    pub shared_parameters: FxHashSet<u32>,
    /// Start of a cast's parenthesis (now a `~`) → the range of tokens between its parentheses.
    pub casts: FxHashMap<u32, (u32, u32)>,
    /// Start and end of an expression whose parentheses are removed → the places of the two parentheses.
    pub parentheses: FxHashMap<u32, (u32, u32)>,
    /// Start of the text after an attribute list → start of the list.
    pub attributes: FxHashMap<u32, u32>,
    /// Start of a loop → the arguments of its `[unroll]`.
    pub passes: FxHashMap<u32, Span>,
    /// Start of a loop → the arguments of a macro before it that may be `[unroll]`.
    pub limits: FxHashMap<u32, Span>,
    /// Starts of the members that replace macros in a struct: their declarations are unknown.
    pub hidden_members: FxHashSet<u32>,
    /// The names of templates among the members of structs, which are removed from the text.
    pub member_templates: FxHashSet<Vec<u8>>,
    /// Tokens of words in attributes that the language does not know: names of attributes, and their arguments.
    pub in_attributes: Vec<usize>,
    /// Tokens of words at places where the language allows none: in the heads of buffers, namespaces and templates.
    /// They are macros, even if other declarations have the same names.
    pub misplaced: Vec<usize>,
    /// Start of an attribute's arguments → their edited text.
    pub kept: FxHashMap<u32, Vec<u8>>,
    pub problems: Vec<TextProblem>,
}

impl Lexed {
    /// The left-out bodies in this place.
    pub fn unread_bodies_in(&self, place: Span) -> &[Span] {
        let bodies = &self.unread_bodies;
        let first = bodies.partition_point(|body| body.start < place.start);
        let end = bodies.partition_point(|body| body.start < place.end);
        bodies.get(first..end).unwrap_or_default()
    }
}

/// State of the pass.
struct Lexer<'a> {
    text: &'a [u8],
    out: Lexed,
    /// Indices of the tokens at which the nesting is beyond [`MAX_NESTING`], ascending.
    deep: Vec<u32>,
    /// Names the text declares as types.
    types: FxHashSet<&'a [u8]>,
    templates: FxHashSet<&'a [u8]>,
    /// Macros that no file at hand defines.
    macros: FxHashSet<&'a [u8]>,
}

/// Runs the pass over a text below 4 GiB.
pub(crate) fn lex(text: &[u8]) -> Lexed {
    let all = Span {
        start: 0,
        end: u32::MAX,
    };
    lex_parts(text, &[all])
}

/// The same for parts of a text, given in order and separated by spaces.
pub(crate) fn lex_parts(text: &[u8], parts: &[Span]) -> Lexed {
    let mut blank = text.to_vec();
    let tokens = tokens::tokenize(text, &mut blank, parts);
    let (partner, deep) = match_brackets(&tokens);
    let mut lexer = Lexer {
        text,
        out: Lexed {
            blank,
            tokens,
            partner,
            items: Vec::new(),
            unread_bodies: Vec::new(),
            namespaces: vec![Vec::new()],
            semantics: FxHashMap::default(),
            directions: FxHashMap::default(),
            shared_parameters: FxHashSet::default(),
            casts: FxHashMap::default(),
            parentheses: FxHashMap::default(),
            attributes: FxHashMap::default(),
            passes: FxHashMap::default(),
            limits: FxHashMap::default(),
            hidden_members: FxHashSet::default(),
            member_templates: FxHashSet::default(),
            in_attributes: Vec::new(),
            misplaced: Vec::new(),
            kept: FxHashMap::default(),
            problems: Vec::new(),
        },
        deep,
        types: FxHashSet::default(),
        templates: FxHashSet::default(),
        macros: FxHashSet::default(),
    };
    lexer.collect_types();
    lexer.split();
    lexer.out
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "fewer tokens than bytes, and these are below 4 GiB"
)]
fn match_brackets(tokens: &[Token]) -> (Vec<u32>, Vec<u32>) {
    let mut partner = vec![u32::MAX; tokens.len()];
    let mut deep = Vec::new();
    let mut stack: Vec<(u8, u32)> = Vec::new();
    // The depth of possible template brackets: a parser has to consider both readings of each.
    let mut angles = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        let TokenKind::Punct(punct) = token.kind else {
            continue;
        };
        let index = index as u32;
        match punct {
            b'<' => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            b';' | b'{' | b'}' | b')' | b'&' | b'|' => angles = 0,
            _ => {}
        }
        if punct == b'<' && angles > MAX_NESTING {
            deep.push(index);
        }
        let open = match punct {
            b'(' | b'[' | b'{' => {
                stack.push((punct, index));
                if stack.len() > MAX_NESTING {
                    deep.push(index);
                }
                continue;
            }
            b')' => b'(',
            b']' => b'[',
            b'}' => {
                // A brace closes all brackets that are still open inside it.
                while stack.last().is_some_and(|(top, _)| *top != b'{') {
                    stack.pop();
                }
                b'{'
            }
            _ => continue,
        };
        if let Some(&(top, other)) = stack.last()
            && top == open
        {
            stack.pop();
            if let Some(slot) = partner.get_mut(other as usize) {
                *slot = index;
            }
            if let Some(slot) = partner.get_mut(index as usize) {
                *slot = other;
            }
        }
    }
    (partner, deep)
}

impl<'a> Lexer<'a> {
    fn token(&self, index: usize) -> Option<Token> {
        self.out.tokens.get(index).copied()
    }

    fn is(&self, index: usize, punct: u8) -> bool {
        self.token(index).is_some_and(|token| token.is(punct))
    }

    /// The word at an index; empty if there is none.
    fn word(&self, index: usize) -> &'a [u8] {
        self.token(index).map_or(&[], |token| token.word(self.text))
    }

    /// The index of the other bracket.
    fn partner(&self, index: usize) -> Option<usize> {
        self.out
            .partner
            .get(index)
            .copied()
            .filter(|&other| other != u32::MAX)
            .map(|other| other as usize)
    }

    /// Byte offset of a token's start; the end of the text past the last one.
    fn start(&self, index: usize) -> u32 {
        self.token(index)
            .map_or_else(|| self.text_end(), |token| token.start)
    }

    fn end(&self, index: usize) -> u32 {
        self.token(index)
            .map_or_else(|| self.text_end(), |token| token.end)
    }

    fn text_end(&self) -> u32 {
        u32::try_from(self.text.len()).unwrap_or(u32::MAX)
    }

    /// Blanks the tokens of an index range, the end excluded.
    fn blank_tokens(&mut self, first: usize, end: usize) {
        if first < end {
            let (from, to) = (self.start(first), self.end(end - 1));
            tokens::blank_range(&mut self.out.blank, from as usize, to as usize);
        }
    }

    fn put(&mut self, offset: u32, byte: u8) {
        if let Some(slot) = self.out.blank.get_mut(offset as usize) {
            *slot = byte;
        }
    }

    fn is_type(&self, word: &[u8]) -> bool {
        crate::type_names::builtin(word).is_some() || self.types.contains(word)
    }

    /// Whether two tokens touch.
    fn adjacent(&self, index: usize) -> bool {
        self.end(index) == self.start(index + 1)
    }

    /// Notes the names that `struct`, `enum`, `typedef` and `using` declare, wherever they stand.
    fn collect_types(&mut self) {
        let mut index = 0;
        while index < self.out.tokens.len() {
            match self.word(index) {
                b"struct" | b"class" | b"enum" | b"interface" => {
                    let name = self.word(index + 1);
                    let name = if name == b"class" {
                        self.word(index + 2)
                    } else {
                        name
                    };
                    if !name.is_empty() {
                        self.types.insert(name);
                    }
                }
                b"using" if self.is(index + 2, b'=') => {
                    self.types.insert(self.word(index + 1));
                }
                b"typedef" => {
                    let mut name: &[u8] = &[];
                    let mut next = index + 1;
                    while next < self.out.tokens.len() && !self.is(next, b';') {
                        if matches!(self.token(next), Some(token) if token.is(b'{') || token.is(b'['))
                            && let Some(close) = self.partner(next)
                        {
                            next = close;
                        } else if !self.word(next).is_empty() {
                            name = self.word(next);
                        }
                        next += 1;
                    }
                    self.types.insert(name);
                    index = next;
                }
                b"template" => {
                    // `class T` among the parameters declares nothing outside of the template.
                    let parameters = self.template_end(index + 1, self.out.tokens.len());
                    // The declared name: the word before the first `(` or `{` after the parameters.
                    let limit = (index + 200).min(self.out.tokens.len());
                    let mut next = index + 1;
                    while next < limit && !self.is(next, b'(') && !self.is(next, b'{') && !self.is(next, b';')
                    {
                        next += 1;
                    }
                    let head = parameters.map_or(index, |end| end + 1);
                    let name = if matches!(self.word(head), b"struct" | b"class" | b"using") {
                        self.word(head + 1)
                    } else {
                        self.word(next.saturating_sub(1))
                    };
                    if !name.is_empty() {
                        self.templates.insert(name);
                    }
                    index = parameters.unwrap_or(index);
                }
                _ => {}
            }
            index += 1;
        }
    }
}
