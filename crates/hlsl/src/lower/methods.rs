//! Methods of resources.

use super::Lowering;
use super::operands::opaque;
use super::rays::query_method;
use crate::intrinsic::Intrinsic;
use crate::method::{Counter, Method};
use crate::span::Span;
use crate::tree::{Expr, ExprKind, UnaryOp};
use crate::types::{ResourceKind as Kind, Scalar, Type};

fn uints(count: u8) -> Type {
    if count == 1 {
        Type::UINT
    } else {
        Type::Vector(Scalar::Uint, count)
    }
}

impl<'a> Lowering<'a> {
    /// `object.name<of>(arguments)`.
    pub(super) fn method_call(
        &mut self,
        object: Expr,
        name: &'a [u8],
        of: Option<Type>,
        arguments: Vec<Expr>,
        span: Span,
    ) -> Expr {
        if let Some((object, found)) = self.methods_of_held(&object, name) {
            return self.call_method(&found, object, arguments, span);
        }
        let method = Method::from_name(&String::from_utf8_lossy(name));
        if let Type::Resource(kind, element) = object.ty.clone() {
            let element = element.map_or(Type::Unknown, |element| (*element).clone());
            return match method {
                Some(method) => self.resource_method(object, kind, &element, method, of, arguments, span),
                None => self.unknown_method(object, arguments, span),
            };
        }
        self.note_write(&object);
        let mut operands = vec![object];
        operands.extend(arguments);
        let is_counter = matches!(
            method,
            Some(Method::Counter(Counter::Increment | Counter::Decrement))
        );
        let result = query_method(name).or_else(|| is_counter.then_some(Type::UINT));
        if result.is_some() {
            self.told.insert(span);
        }
        opaque(operands, result.unwrap_or(Type::Unknown), span)
    }

    #[expect(clippy::too_many_arguments, reason = "a call, taken apart")]
    fn resource_method(
        &mut self,
        object: Expr,
        kind: Kind,
        element: &Type,
        method: Method,
        of: Option<Type>,
        arguments: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let bytes = kind.is_by_address();
        let texture = kind.is_texture();
        // The result, the types that its arguments are converted to, and their greatest number.
        let (ty, parameters): (Type, Vec<Type>) = match &method {
            Method::GetDimensions => (Type::Void, Vec::new()),
            Method::Load { words } if bytes => (of.unwrap_or_else(|| uints(*words)), vec![Type::UINT]),
            Method::Load { words: 1 } if texture => (element.clone(), Vec::new()),
            Method::Load { words: 1 } => (element.clone(), vec![Type::Unknown]),
            Method::Store { words } if bytes => {
                let value = match (of, *words) {
                    (Some(of), _) => of,
                    (None, 1) => match arguments.get(1).map(|value| &value.ty) {
                        // `Store` is a template: it stores other values without conversion.
                        Some(Type::Scalar(Scalar::Int | Scalar::Uint | Scalar::Bool)) => Type::UINT,
                        _ => Type::Unknown,
                    },
                    (None, words) => uints(words),
                };
                (Type::Void, vec![Type::UINT, value])
            }
            Method::Atomic(intrinsic) if bytes => {
                let is_extremum = matches!(intrinsic, Intrinsic::InterlockedMin | Intrinsic::InterlockedMax);
                let word = match arguments.get(1) {
                    Some(value) if is_extremum => self.type_of_extremum(value),
                    _ => Some(Type::UINT),
                };
                let Some(word) = word else {
                    return self.unknown_method(object, arguments, span);
                };
                let mut parameters = vec![Type::UINT];
                parameters.resize(1 + intrinsic.atomic_values(), word);
                (Type::Void, parameters)
            }
            Method::Counter(counter) => match (counter, kind) {
                (Counter::Increment | Counter::Decrement, Kind::RwStructuredBuffer) => {
                    (Type::UINT, Vec::new())
                }
                (Counter::Append, Kind::AppendStructuredBuffer) => (Type::Void, vec![element.clone()]),
                (Counter::Consume, Kind::ConsumeStructuredBuffer) => (element.clone(), Vec::new()),
                _ => return self.unknown_method(object, arguments, span),
            },
            Method::Sample { compares: true, .. } if texture => (Type::FLOAT, Vec::new()),
            Method::Sample { compares: false, .. } if texture => (element.clone(), Vec::new()),
            Method::Gather { .. } if texture => (
                Type::Vector(element.scalar().unwrap_or(Scalar::Float), 4),
                Vec::new(),
            ),
            Method::CalculateLevelOfDetail { .. } if texture => (Type::FLOAT, Vec::new()),
            // A resource of this kind has no such method.
            _ => return self.unknown_method(object, arguments, span),
        };
        let mut parameters = parameters.into_iter();
        let mut converted = Vec::with_capacity(arguments.len());
        for argument in arguments {
            converted.push(match parameters.next() {
                Some(Type::Unknown) if matches!(method, Method::Load { .. }) => self.to_index(argument),
                Some(to) if matches!(method, Method::Atomic(_)) => self.to_atomic(argument, &to),
                Some(to) => self.convert(argument, &to),
                None => {
                    self.note_write(&argument);
                    argument
                }
            });
        }
        Expr {
            kind: ExprKind::Method {
                object: Box::new(object),
                method,
                arguments: converted,
            },
            ty,
            span,
        }
    }

    /// The type in which a minimum or maximum at an address compares: DXC has an overload for `int` and one for `uint`. `None` if the
    /// value does not show which: DXC takes the one for `uint` for `~0`, and the one for `int` for a `bool`.
    fn type_of_extremum(&self, value: &Expr) -> Option<Type> {
        let is_literal =
            |value: &Expr| matches!(value.kind, ExprKind::Literal(_)) && self.is_literal_int(value);
        match &value.kind {
            _ if is_literal(value) => Some(Type::UINT),
            ExprKind::Unary(UnaryOp::Negate, operand) if is_literal(operand) => Some(Type::INT),
            _ if self.is_literal_int(value) => None,
            _ => { [Type::INT, Type::UINT] }.into_iter().find(|ty| *ty == value.ty),
        }
    }

    fn unknown_method(&mut self, object: Expr, arguments: Vec<Expr>, span: Span) -> Expr {
        for argument in &arguments {
            self.note_write(argument);
        }
        let mut operands = vec![object];
        operands.extend(arguments);
        opaque(operands, Type::Unknown, span)
    }
}
