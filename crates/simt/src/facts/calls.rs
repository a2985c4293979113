//! Classifies calls: atomics, calls that only read, and calls of unknown code.

use shaderlint_hlsl::{Counter, Expr, ExprKind, Intrinsic, Method, ResourceKind, Scalar, Shader, Type};

use crate::facts::naming_heuristics::{is_named_as_macro, is_of_name};

/// An atomic that may be a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    Add,
    And,
    Or,
    Xor,
    Counter(Counter),
}

impl Atomic {
    /// Whether it moves a counter that has no address, and moves it by one only.
    #[must_use]
    pub fn is_of_hidden_counter(self) -> bool {
        matches!(self, Atomic::Counter(_))
    }

    /// The atomic that an intrinsic makes, if it may be a claim. Minima and maxima are left out: they mostly
    /// compute the bounds of a tile.
    pub(crate) fn of_intrinsic(intrinsic: Intrinsic) -> Option<Atomic> {
        Some(match intrinsic {
            Intrinsic::InterlockedAdd => Atomic::Add,
            Intrinsic::InterlockedAnd => Atomic::And,
            Intrinsic::InterlockedOr => Atomic::Or,
            Intrinsic::InterlockedXor => Atomic::Xor,
            _ => return None,
        })
    }

    /// The atomic that a method makes, if it may be a claim.
    pub(crate) fn of_method(method: &Method) -> Option<Atomic> {
        match method {
            Method::Atomic(intrinsic) => Atomic::of_intrinsic(*intrinsic),
            Method::Counter(counter) => Some(Atomic::Counter(*counter)),
            _ => None,
        }
    }

    /// Whether every thread that makes it finds a different number.
    pub(crate) fn counts(self) -> bool {
        matches!(
            self,
            Atomic::Add | Atomic::Counter(Counter::Increment | Counter::Decrement)
        )
    }
}

/// The method that may be a claim ([`Atomic::of_method`]) that an expression calls by its text, on an object that is
/// not known.
pub(crate) fn atomic_method(shader: &Shader, expr: &Expr) -> Option<Method> {
    let ExprKind::Opaque(operands) = &expr.kind else {
        return None;
    };
    let called = after(shader, operands.first()?, expr)?.strip_prefix(b".")?;
    let name = called.split(|byte| *byte == b'(').next()?;
    let method = Method::from_name(str::from_utf8(name.trim_ascii()).ok()?)?;
    Atomic::of_method(&method).is_some().then_some(method)
}

/// The text that follows `first` in the expression that it begins.
pub(crate) fn after<'a>(shader: &'a Shader, first: &Expr, whole: &Expr) -> Option<&'a [u8]> {
    let text = whole.span.slice(&shader.text);
    let length = first.span.end.checked_sub(first.span.start)? as usize;
    let begins = first.span.start == whole.span.start;
    begins.then(|| text.get(length..).unwrap_or_default().trim_ascii_start())
}

/// A call of unknown code.
#[derive(Clone, Copy)]
pub(crate) struct Unknown {
    /// By its name ([`crate::facts::naming_heuristics`]).
    pub is_macro: bool,
}

impl Unknown {
    /// The unknown code that an expression calls.
    pub fn of(shader: &Shader, expr: &Expr) -> Option<Unknown> {
        let is_unknown = match &expr.kind {
            ExprKind::Opaque(_) => true,
            // The methods of resources are known.
            ExprKind::Method { object, method, .. } => {
                !matches!(object.ty, Type::Resource(..)) && !method.is_read()
            }
            _ => false,
        };
        if !is_unknown {
            return None;
        }
        let text = expr.span.slice(&shader.text).trim_ascii();
        let called = text.iter().position(|byte| *byte == b'(');
        let called = called.filter(|_| text.ends_with(b")"))?;
        Some(Unknown::by_name(text.get(..called).unwrap_or_default()))
    }

    /// The unknown code that a statement calls by a name alone.
    pub fn of_statement(shader: &Shader, expr: &Expr) -> Option<Unknown> {
        is_name(shader, expr).then(|| Unknown::by_name(expr.span.slice(&shader.text)))
    }

    fn by_name(name: &[u8]) -> Unknown {
        Unknown {
            is_macro: is_named_as_macro(name),
        }
    }
}

/// Whether an expression that is not understood is only a name.
pub(crate) fn is_name(shader: &Shader, expr: &Expr) -> bool {
    let expr = expr.uncast();
    let text = expr.span.slice(&shader.text);
    matches!(&expr.kind, ExprKind::Opaque(operands) if operands.is_empty())
        && text.iter().copied().all(is_of_name)
}

/// The variable in which a load or sample stores whether everything it read is resident: its last argument, "a
/// variable to store the status" (learn.microsoft.com on `Load`, `Sample`, `Gather` and related methods), if there
/// are that many.
pub(crate) fn status_argument(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Method {
        object,
        method,
        arguments,
    } = &expr.kind
    else {
        return None;
    };
    let Type::Resource(kind, _) = object.ty else {
        return None;
    };
    let least = match method {
        Method::Load { .. } if kind == ResourceKind::Texture => 3,
        Method::Load { .. } => 2,
        Method::Gather { .. } => 3,
        Method::Sample { .. } => 4,
        _ => return None,
    };
    let last = arguments.last().filter(|_| arguments.len() >= least);
    last.filter(|last| matches!(last.ty, Type::Scalar(Scalar::Uint | Scalar::Int)))
}
