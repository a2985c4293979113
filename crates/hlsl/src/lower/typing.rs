//! Written types.

use std::sync::Arc;

use tree_sitter::Node;

use super::Lowering;
use super::constants::Constant;
use super::names::split_scope;
use super::parts::{Part, part};
use super::scoping::Variable;
use super::templates::Binding;
use crate::lexical::{Token, TokenKind};
use crate::preprocess::is_word;
use crate::span::Span;
use crate::type_names;
use crate::types::{Scalar, Type};

/// The maximum of nested array dimensions. Deeper arrays have no type.
const MAX_DIMENSIONS: u32 = 16;

impl<'a> Lowering<'a> {
    /// The type that a node names.
    pub(super) fn type_of_node(&mut self, node: Node) -> Type {
        match node.kind() {
            "struct_specifier" | "class_specifier" | "enum_specifier" if part(node, Part::Body).is_some() => {
                self.declare_type(node)
            }
            _ => {
                let span = self.span(node);
                let ty = self.type_at(span);
                if ty == Type::Unknown {
                    self.unknown_type(span);
                }
                ty
            }
        }
    }

    /// Reports an unknown type, unless this front end deliberately does not model it.
    fn unknown_type(&mut self, span: Span) {
        let written = self.source(span);
        let end = written
            .iter()
            .position(|byte| !(is_word(*byte) || *byte == b':'))
            .unwrap_or(written.len());
        let name = written.get(..end).unwrap_or_default();
        if !name.is_empty()
            && !type_names::is_without_model(name)
            && self.resolve(&self.types, name).is_none()
        {
            self.unknown_name(name, span);
        }
    }

    /// The type named by the tokens of a span.
    pub(super) fn type_at(&mut self, span: Span) -> Type {
        let tokens = &self.lexed.tokens;
        let first = tokens.partition_point(|token| token.start < span.start);
        let end = first
            + tokens
                .get(first..)
                .unwrap_or_default()
                .partition_point(|token| token.start < span.end);
        self.type_of_tokens(first, end)
    }

    /// The type named by a range of tokens.
    pub(super) fn type_of_tokens(&mut self, first: usize, end: usize) -> Type {
        let mut index = first;
        let ty = self.read_type(&mut index, end, 0);
        // The outermost length comes first.
        let mut lengths = Vec::new();
        while index < end && self.lexed.tokens.get(index).is_some_and(|token| token.is(b'[')) {
            let close = self.lexed.partner.get(index).map_or(end, |&close| close as usize);
            let length = self.constant_of_tokens(index + 1, close.min(end));
            lengths.push(length.and_then(Constant::to_u32).unwrap_or(0));
            index = close.saturating_add(1);
        }
        lengths.into_iter().rev().fold(ty, array_of)
    }

    /// The value of the constant expression in these tokens.
    fn constant_of_tokens(&mut self, first: usize, end: usize) -> Option<Constant> {
        let tokens = &self.lexed.tokens;
        let start = tokens.get(first)?;
        if first + 1 == end {
            return self.constant_token(*start);
        }
        let last = tokens.get(first..end)?.last()?;
        let span = Span {
            start: start.start,
            end: last.end,
        };
        let values = self.constants(&mut super::parser()?, span.slice(&self.lexed.blank), span.start);
        values.into_iter().next().flatten()
    }

    fn constant_token(&self, token: Token) -> Option<Constant> {
        let word = token.bytes(self.text);
        match token.kind {
            TokenKind::Number => {
                let (ty, bits) = super::literals::literal(word);
                Constant::of(bits?, ty.scalar()?)
            }
            TokenKind::Word => {
                if matches!(word, b"true" | b"false") {
                    return Some(Constant::Bool(word == b"true"));
                }
                match self.variable(word) {
                    Variable::One(local) => return self.body.values.get(&local).copied(),
                    Variable::Either(..) => return None,
                    Variable::None => {}
                }
                if let Some((value, _)) = self.resolve(&self.enumerators, word) {
                    return Some(value);
                }
                let global = self.resolve(&self.globals, word)?;
                self.global_values.get(global.0 as usize).copied().flatten()
            }
            _ => None,
        }
    }

    /// The arguments between the `<` at `open` and its `>` at `close`, separated by commas.
    fn template_list(&mut self, open: usize, close: usize, depth: u32) -> Vec<Option<Binding>> {
        let lexed = self.lexed;
        let mut bindings = Vec::new();
        let mut first = open + 1;
        let mut nested = 0usize;
        for index in open + 1..=close {
            let Some(token) = lexed.tokens.get(index) else {
                break;
            };
            match token.kind {
                TokenKind::Punct(b'<' | b'(') => nested += 1,
                TokenKind::Punct(b'>' | b')') if index < close => nested = nested.saturating_sub(1),
                _ => {}
            }
            if index == close || nested == 0 && token.is(b',') {
                if index > first {
                    bindings.push(self.template_argument_of_tokens(first, index, depth));
                }
                first = index + 1;
            }
        }
        bindings
    }

    /// A type or a number among template arguments.
    pub(super) fn template_argument_of_tokens(
        &mut self,
        first: usize,
        end: usize,
        depth: u32,
    ) -> Option<Binding> {
        let mut index = first;
        let ty = self.read_type(&mut index, end, depth + 1);
        if ty != Type::Unknown && index == end {
            return Some(Binding::Type(ty));
        }
        self.constant_of_tokens(first, end).map(Binding::Number)
    }

    fn read_type(&mut self, index: &mut usize, end: usize, depth: u32) -> Type {
        let (lexed, text) = (self.lexed, self.text);
        let token_at = |at: usize| lexed.tokens.get(at).filter(|_| at < end);
        let word_at = |at: usize| -> &'a [u8] { token_at(at).map_or(&[], |token| token.word(text)) };
        let is = |at: usize, punct: u8| token_at(at).is_some_and(|token| token.is(punct));
        let mut unsigned = false;
        while let word @ (b"const" | b"struct" | b"snorm" | b"unorm" | b"unsigned" | b"signed" | b"static"
        | b"class" | b"enum" | b"precise" | b"row_major" | b"column_major"
        | b"globallycoherent" | b"typename") = word_at(*index)
        {
            unsigned |= word == b"unsigned";
            *index += 1;
        }
        let mut full = Vec::new();
        if is(*index, b':') && is(*index + 1, b':') {
            full.extend_from_slice(b"::");
            *index += 2;
        }
        let mut word = word_at(*index);
        if word.is_empty() {
            return if unsigned { Type::UINT } else { Type::Unknown };
        }
        *index += 1;
        full.extend_from_slice(word);
        while is(*index, b':') && is(*index + 1, b':') && !word_at(*index + 2).is_empty() {
            word = word_at(*index + 2);
            full.extend_from_slice(b"::");
            full.extend_from_slice(word);
            *index += 3;
        }
        let mut arguments = None;
        if is(*index, b'<') && depth < 8 {
            let Some(close) = template_end(&lexed.tokens, *index, end) else {
                return Type::Unknown;
            };
            arguments = Some(self.template_list(*index, close, depth));
            *index = close + 1;
        }
        if let Some(arguments) = &arguments {
            match (word, arguments.as_slice()) {
                (b"vector", [element, length]) => {
                    return match (scalar_of(element.as_ref()), count_of(length.as_ref())) {
                        (Some(scalar), Some(n)) => Type::Vector(scalar, n),
                        _ => Type::Unknown,
                    };
                }
                (b"matrix", [element, rows, columns]) => {
                    let counts = (count_of(rows.as_ref()), count_of(columns.as_ref()));
                    return match (scalar_of(element.as_ref()), counts) {
                        (Some(scalar), (Some(rows), Some(columns))) => Type::Matrix(scalar, rows, columns),
                        _ => Type::Unknown,
                    };
                }
                (b"vector" | b"matrix", _) => return Type::Unknown,
                _ => {}
            }
            if let Some(ty) = self.type_instance(&full, arguments) {
                return self.member_type(ty, index, end);
            }
        }
        // A compiler considers HLSL's own types only if nothing else has the name: a type of the file or of a
        // template hides them (`HLSLExternalSource::LookupUnqualified` in DXC).
        if let Some(ty) = self.resolve(&self.types, &full) {
            return if arguments.is_some() { Type::Unknown } else { ty };
        }
        if let Some(ty) = type_names::builtin(&full) {
            return if unsigned && ty.scalar() == Some(Scalar::Int) {
                ty.with_scalar(Scalar::Uint)
            } else {
                ty
            };
        }
        if let Some((scope, own)) = split_scope(&full)
            && let Some(holder) = self.resolve(&self.types, scope)
        {
            return self
                .resolve_member(&self.types, &holder, own)
                .unwrap_or(Type::Unknown);
        }
        let element = match arguments.and_then(|arguments| arguments.into_iter().next()) {
            Some(Some(Binding::Type(ty))) => Some(ty),
            Some(_) => Some(Type::Unknown),
            None => None,
        };
        type_names::resource(word, element).unwrap_or(Type::Unknown)
    }

    /// The type `T` of `S<…>::T`; `S<…>` itself if nothing follows.
    fn member_type(&mut self, ty: Type, index: &mut usize, end: usize) -> Type {
        let tokens = &self.lexed.tokens;
        let is_colon = |at: usize| at < end && tokens.get(at).is_some_and(|token| token.is(b':'));
        if !is_colon(*index) || !is_colon(*index + 1) {
            return ty;
        }
        let name = tokens
            .get(*index + 2)
            .map_or(&[][..], |token| token.word(self.text));
        *index += 3;
        self.resolve_member(&self.types, &ty, name)
            .unwrap_or(Type::Unknown)
    }
}

fn scalar_of(binding: Option<&Binding>) -> Option<Scalar> {
    match binding? {
        Binding::Type(Type::Scalar(scalar)) => Some(*scalar),
        _ => None,
    }
}

/// The number of rows, columns or components.
fn count_of(binding: Option<&Binding>) -> Option<u8> {
    match binding? {
        Binding::Number(value) => u8::try_from(value.to_u32()?)
            .ok()
            .filter(|count| (1..=4).contains(count)),
        Binding::Type(_) => None,
    }
}

/// The index of the `>` that closes the list opened at `open`.
fn template_end(tokens: &[Token], open: usize, end: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().take(end).skip(open) {
        match token.kind {
            TokenKind::Punct(b'<') => depth += 1,
            TokenKind::Punct(b'>') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// An array of `length` elements.
pub(super) fn array_of(element: Type, length: u32) -> Type {
    let mut depth = 0;
    let mut inner = &element;
    while let Type::Array(next, _) = inner {
        depth += 1;
        inner = next;
    }
    if depth >= MAX_DIMENSIONS {
        Type::Unknown
    } else {
        Type::Array(Arc::new(element), length)
    }
}
