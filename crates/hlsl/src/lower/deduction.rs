//! Template argument deduction.
//!
//! It matches a parameter's written type with the argument's type from the outside in. `T` becomes that type,
//! `StructuredBuffer<T>` gives the element's type to `T`, and `S<T, N>` matches an argument that is an instance of
//! the template `S`, or has one as a base. As in C++, parts that deduce nothing are skipped. Contradicting deductions
//! are no match.

use std::ops::Range;

use super::Lowering;
use super::constants::Constant;
use super::templates::Binding;
use crate::lexical::Item;
use crate::span::Span;
use crate::type_names;
use crate::types::Type;

/// The maximum depth of template arguments, and of bases that are searched.
const MAX_DEPTH: u32 = 8;

impl Lowering<'_> {
    /// The template parameters that a function parameter's written type deduces from an argument: their indices and values. `None` if
    /// the two do not match.
    pub(super) fn deduced(
        &self,
        item: &Item,
        written: Span,
        argument: &Type,
    ) -> Option<Vec<(usize, Binding)>> {
        let tokens = &self.lexed.tokens;
        let first = tokens.partition_point(|token| token.start < written.start);
        let end = tokens.partition_point(|token| token.start < written.end);
        let mut told = Vec::new();
        let argument = Binding::Type(argument.clone());
        self.deduce(item, first..end, &argument, &mut told, 0)?;
        Some(told)
    }

    fn deduce(
        &self,
        item: &Item,
        written: Range<usize>,
        argument: &Binding,
        told: &mut Vec<(usize, Binding)>,
        depth: u32,
    ) -> Option<()> {
        let tokens = self.lexed.tokens.get(written.clone())?;
        let (name, list) = tokens.split_first()?;
        let word = name.word(self.text);
        if list.is_empty() {
            let own = item.template.iter().position(|own| self.source(own.name) == word);
            told.extend(own.map(|own| (own, argument.clone())));
            return Some(());
        }
        let Binding::Type(ty) = argument else {
            return Some(());
        };
        let [open, .., close] = list else { return Some(()) };
        if !open.is(b'<') || !close.is(b'>') || depth >= MAX_DEPTH {
            // For example `S::T`.
            return Some(());
        }
        let arguments = self.written_arguments(written.start + 1, written.end - 1);
        for (written, given) in arguments.into_iter().zip(self.arguments_of(word, ty)?) {
            self.deduce(item, written, &given, told, depth + 1)?;
        }
        Some(())
    }

    /// The arguments between the `<` at `open` and its `>` at `close`, as ranges of tokens.
    fn written_arguments(&self, open: usize, close: usize) -> Vec<Range<usize>> {
        let (mut ranges, mut first, mut nested) = (Vec::new(), open + 1, 0usize);
        for index in open + 1..=close {
            let is = |punct| self.lexed.tokens.get(index).is_some_and(|token| token.is(punct));
            if index == close || nested == 0 && is(b',') {
                ranges.push(first..index);
                first = index + 1;
            } else if is(b'<') || is(b'(') {
                nested += 1;
            } else if is(b'>') || is(b')') {
                nested = nested.saturating_sub(1);
            }
        }
        ranges
    }

    /// The arguments in the `<…>` of a type that is written `name<…>`. `None` if it is not.
    fn arguments_of(&self, name: &[u8], ty: &Type) -> Option<Vec<Binding>> {
        let number = |count: u8| Binding::Number(Constant::Int(i32::from(count)));
        match (name, ty) {
            (b"vector", Type::Vector(scalar, count)) => {
                Some(vec![Binding::Type(Type::Scalar(*scalar)), number(*count)])
            }
            // It becomes a vector.
            (b"vector", Type::Scalar(_)) => Some(vec![Binding::Type(ty.clone())]),
            (b"matrix", Type::Matrix(scalar, rows, columns)) => {
                let element = Binding::Type(Type::Scalar(*scalar));
                Some(vec![element, number(*rows), number(*columns)])
            }
            (_, Type::Resource(kind, Some(element))) => match type_names::resource(name, None) {
                Some(Type::Resource(written, _)) if written == *kind => {
                    Some(vec![Binding::Type((**element).clone())])
                }
                _ => None,
            },
            (_, Type::Struct(_)) => self.instance_arguments(name, ty, 0),
            _ => None,
        }
    }

    /// The same for a struct, which must be an instance of the template `name` or derive from one.
    fn instance_arguments(&self, name: &[u8], ty: &Type, depth: u32) -> Option<Vec<Binding>> {
        let Type::Struct(id) = ty else { return None };
        if let Some(bindings) = self.instance_of(name, ty) {
            return Some(bindings);
        }
        if depth >= MAX_DEPTH {
            return None;
        }
        let bases = self.bases.get(id)?;
        let fields = &self.shader.structs.get(id.0 as usize)?.fields;
        let mut of_bases = bases
            .iter()
            .filter_map(|&at| self.instance_arguments(name, &fields.get(at as usize)?.ty, depth + 1));
        let only = of_bases.next()?;
        of_bases.all(|other| other == only).then_some(only)
    }
}
