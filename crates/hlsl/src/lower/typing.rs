//! Types as they are written.

use std::sync::Arc;

use tree_sitter::Node;

use super::Lowering;
use super::parts::{Part, part};
use crate::lexical::TokenKind;
use crate::span::Span;
use crate::type_names;
use crate::types::{Scalar, Type};

/// Arrays of arrays deeper than this have no type.
const MAX_DIMENSIONS: u32 = 16;

impl<'a> Lowering<'a> {
    /// The type a node names.
    pub(super) fn type_of_node(&mut self, node: Node) -> Type {
        match node.kind() {
            "struct_specifier" | "class_specifier" | "enum_specifier" if part(node, Part::Body).is_some() => {
                self.declare_type(node)
            }
            _ => self.type_at(self.span(node)),
        }
    }

    /// The type the tokens under a span name.
    pub(super) fn type_at(&self, span: Span) -> Type {
        let tokens = &self.lexed.tokens;
        let first = tokens.partition_point(|token| token.start < span.start);
        let end = first
            + tokens
                .get(first..)
                .unwrap_or_default()
                .partition_point(|token| token.start < span.end);
        self.type_of_tokens(first, end)
    }

    /// The type a range of tokens names.
    pub(super) fn type_of_tokens(&self, first: usize, end: usize) -> Type {
        let mut index = first;
        let ty = self.read_type(&mut index, end, 0);
        // Lengths stand outermost first.
        let mut lengths = Vec::new();
        while index < end && self.lexed.tokens.get(index).is_some_and(|token| token.is(b'[')) {
            let close = self.lexed.partner.get(index).map_or(end, |&close| close as usize);
            lengths.push(if close == index + 2 {
                self.number(index + 1).unwrap_or(0)
            } else {
                0
            });
            index = close.saturating_add(1);
        }
        lengths.into_iter().rev().fold(ty, array_of)
    }

    fn number(&self, index: usize) -> Option<u32> {
        let token = self.lexed.tokens.get(index)?;
        match token.kind {
            TokenKind::Number => super::literals::literal(token.bytes(self.text)).1,
            TokenKind::Word => {
                let word = token.bytes(self.text);
                if let Some(local) = self.body.scope.get(word) {
                    return self.body.values.get(local)?.to_u32();
                }
                if let Some(value) = self.resolve(&self.enumerators, word) {
                    return value.to_u32();
                }
                let global = self.resolve(&self.globals, word)?;
                self.global_values
                    .get(global.0 as usize)
                    .copied()
                    .flatten()?
                    .to_u32()
            }
            _ => None,
        }
    }

    fn read_type(&self, index: &mut usize, end: usize, depth: u32) -> Type {
        let word_at = |at: usize| -> &'a [u8] {
            if at < end {
                self.lexed
                    .tokens
                    .get(at)
                    .map_or(&[], |token| token.word(self.text))
            } else {
                &[]
            }
        };
        let is =
            |at: usize, punct: u8| at < end && self.lexed.tokens.get(at).is_some_and(|token| token.is(punct));
        let mut unsigned = false;
        while let word @ (b"const" | b"struct" | b"snorm" | b"unorm" | b"unsigned" | b"signed" | b"static"
        | b"class" | b"enum" | b"precise" | b"row_major" | b"column_major"
        | b"globallycoherent") = word_at(*index)
        {
            unsigned |= word == b"unsigned";
            *index += 1;
        }
        let start = *index;
        let mut word = word_at(*index);
        if word.is_empty() {
            return if unsigned { Type::UINT } else { Type::Unknown };
        }
        *index += 1;
        let mut full = word.to_vec();
        while is(*index, b':') && is(*index + 1, b':') && !word_at(*index + 2).is_empty() {
            word = word_at(*index + 2);
            full.extend_from_slice(b"::");
            full.extend_from_slice(word);
            *index += 3;
        }
        let mut arguments = Vec::new();
        let mut numbers = Vec::new();
        let mut has_arguments = false;
        if is(*index, b'<') && depth < 8 {
            has_arguments = true;
            *index += 1;
            while *index < end && !is(*index, b'>') {
                let is_type = self.types.contains_key(word_at(*index));
                if let Some(number) = self.number(*index).filter(|_| !is_type) {
                    numbers.push(number);
                    *index += 1;
                } else if word_at(*index).is_empty() {
                    *index += 1;
                } else {
                    arguments.push(self.read_type(index, end, depth + 1));
                }
            }
            *index += 1;
        }
        let _ = start;
        let count = |at: usize| {
            numbers
                .get(at)
                .and_then(|&n| u8::try_from(n).ok())
                .filter(|n| (1..=4).contains(n))
        };
        match word {
            b"vector" if has_arguments => match (arguments.first().and_then(Type::scalar), count(0)) {
                (Some(scalar), Some(n)) => return Type::Vector(scalar, n),
                _ => return Type::Unknown,
            },
            b"matrix" if has_arguments => {
                return match (arguments.first().and_then(Type::scalar), count(0), count(1)) {
                    (Some(scalar), Some(rows), Some(columns)) => Type::Matrix(scalar, rows, columns),
                    _ => Type::Unknown,
                };
            }
            _ => {}
        }
        if let Some(ty) = type_names::builtin(word) {
            return if unsigned && ty.scalar() == Some(Scalar::Int) {
                ty.with_scalar(Scalar::Uint)
            } else {
                ty
            };
        }
        if let Some(ty) = self.resolve(&self.types, &full) {
            return if has_arguments { Type::Unknown } else { ty };
        }
        type_names::resource(word, arguments.into_iter().next()).unwrap_or(Type::Unknown)
    }
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
