//! Relations between types: the common type of two operands, and the distance of a conversion.

use std::cmp::Ordering;

use crate::types::{Scalar, Type};

/// The rank in the usual conversions: the higher rank wins.
fn rank(scalar: Scalar) -> u8 {
    match scalar {
        Scalar::Bool => 0,
        Scalar::Enum(_) => 1,
        Scalar::Int16 => 2,
        Scalar::Uint16 => 3,
        Scalar::Int => 4,
        Scalar::UintEnum(_) => 5,
        Scalar::Uint => 6,
        Scalar::Int64 => 7,
        Scalar::Uint64 => 8,
        Scalar::Half => 9,
        Scalar::Float => 10,
        Scalar::Double => 11,
    }
}

fn wider(a: Scalar, b: Scalar) -> Scalar {
    if rank(a) >= rank(b) { a } else { b }
}

/// Arithmetic converts `bool` to `int`.
pub(super) fn arithmetic(ty: &Type) -> Type {
    if ty.scalar() == Some(Scalar::Bool) {
        ty.with_scalar(Scalar::Int)
    } else {
        ty.clone()
    }
}

/// The type to which two operands are converted; `None` if HLSL has none.
pub(super) fn common(a: &Type, b: &Type) -> Option<Type> {
    if a == b {
        return Some(a.clone());
    }
    match (a, b) {
        (Type::Unknown, other) | (other, Type::Unknown) => return Some(other.clone()),
        _ => {}
    }
    let scalars = (a.scalar()?, b.scalar()?);
    let scalar = match scalars {
        // Such an enumeration has 16 bits in DXC, and is an `int` in C++.
        (Scalar::Enum(_) | Scalar::UintEnum(_), Scalar::Int16 | Scalar::Uint16)
        | (Scalar::Int16 | Scalar::Uint16, Scalar::Enum(_) | Scalar::UintEnum(_)) => return None,
        (Scalar::Enum(_), Scalar::Bool) | (Scalar::Bool, Scalar::Enum(_)) => Scalar::Int,
        // DXC takes the wider type as unsigned (`CombineBasicTypes`), C++ with its own sign.
        (Scalar::Uint16, Scalar::Int | Scalar::Int64)
        | (Scalar::Int | Scalar::Int64, Scalar::Uint16)
        | (Scalar::Uint, Scalar::Int64)
        | (Scalar::Int64, Scalar::Uint) => return None,
        (a, b) => wider(a, b),
    };
    Some(shape(a, b)?.with_scalar(scalar))
}

/// The common shape of two numeric types: a scalar takes the other shape, and the shorter of two vectors wins.
#[expect(clippy::many_single_char_names, reason = "rows and columns")]
pub(super) fn shape(a: &Type, b: &Type) -> Option<Type> {
    Some(match (a, b) {
        (Type::Scalar(_), other) | (other, Type::Scalar(_)) => other.clone(),
        (Type::Vector(_, 1), Type::Vector(..)) => b.clone(),
        (Type::Vector(..), Type::Vector(_, 1)) => a.clone(),
        (Type::Vector(s, m), Type::Vector(_, n)) => Type::Vector(*s, *m.min(n)),
        // DXC splats a matrix with one element, and truncates others.
        (Type::Matrix(_, 1, 1), Type::Matrix(_, q, d)) if (*q, *d) != (1, 1) => return None,
        (Type::Matrix(_, r, c), Type::Matrix(_, 1, 1)) if (*r, *c) != (1, 1) => return None,
        (Type::Matrix(s, r, c), Type::Matrix(_, q, d)) => Type::Matrix(*s, *r.min(q), *c.min(d)),
        (Type::Matrix(_, r, c), Type::Vector(s, n)) | (Type::Vector(s, n), Type::Matrix(_, r, c))
            if r * c == *n =>
        {
            Type::Vector(*s, *n)
        }
        _ => return None,
    })
}

/// The distance of a conversion, for overload resolution: 0 means no conversion. `None` if there is no conversion.
#[expect(clippy::many_single_char_names, reason = "rows and columns")]
pub(super) fn distance(from: &Type, to: &Type) -> Option<u32> {
    if from == to {
        return Some(0);
    }
    match (from, to) {
        (Type::Unknown, _) | (_, Type::Unknown) => return Some(1),
        // An unsized array parameter takes any length.
        (Type::Array(a, _), Type::Array(b, 0)) | (Type::Array(a, 0), Type::Array(b, _)) if a == b => {
            return Some(1);
        }
        (Type::Resource(a, None), Type::Resource(b, _)) | (Type::Resource(a, _), Type::Resource(b, None))
            if a == b =>
        {
            return Some(1);
        }
        _ => {}
    }
    let (a, b) = (from.scalar()?, to.scalar()?);
    let scalar = match (a, b) {
        _ if a == b => 0,
        _ if a.is_enum() || b.is_enum() => 4,
        _ if a.is_float() == b.is_float() && rank(a) < rank(b) => 1,
        _ if a.is_float() == b.is_float() => 2,
        _ if rank(a) < rank(b) => 3,
        _ => 4,
    };
    let shape = match (from, to) {
        (Type::Scalar(_), Type::Scalar(_)) => 0,
        (Type::Vector(_, m), Type::Vector(_, n)) if m == n => 0,
        (Type::Matrix(_, r, c), Type::Matrix(_, q, d)) if r == q && c == d => 0,
        (Type::Scalar(_), Type::Vector(_, 1)) | (Type::Vector(_, 1), Type::Scalar(_)) => 1,
        (Type::Scalar(_) | Type::Vector(_, 1), Type::Vector(..) | Type::Matrix(..)) => 10,
        (Type::Vector(_, m), Type::Vector(_, n)) if m > n => 20,
        (Type::Vector(..) | Type::Matrix(..), Type::Scalar(_)) => 30,
        (Type::Matrix(_, r, c), Type::Matrix(_, q, d)) if r >= q && c >= d => 20,
        (Type::Matrix(_, r, c), Type::Vector(_, n)) | (Type::Vector(_, n), Type::Matrix(_, r, c))
            if r * c == *n =>
        {
            15
        }
        _ => return None,
    };
    Some(scalar + shape)
}

/// An argument of a call, for overload resolution.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub ty: &'a Type,
    /// It consists of literals without a suffix.
    pub is_literal: bool,
}

/// Which of two parameters requires less conversion of an argument: `Less` means `one`. `None` if that is not
/// certain, or if compilers prefer neither.
///
/// The argument's own type comes first. Between two types with the same component type, the argument's shape is
/// preferred, and for a scalar argument another scalar. A conversion between `int`, `uint` and `float` is better than
/// truncating a vector. Between two scalars, an integer argument prefers an integer to a float, and a `float` to a
/// `half` (DXC 1.8, observed for all pairs).
pub(super) fn preference(given: Given<'_>, one: &Type, other: &Type) -> Option<Ordering> {
    let Given {
        ty: argument,
        is_literal,
    } = given;
    if one == other {
        return Some(Ordering::Equal);
    }
    // The overload depends on which small type it really is.
    let is_small = |ty: &Type| ty.scalar().is_some_and(Scalar::is_small);
    if is_small(argument) || is_small(one) && is_small(other) {
        return None;
    }
    if !is_literal && let Some(order) = preference_of_scalar(argument, one, other) {
        return Some(order).filter(|order| order.is_ne());
    }
    let is_preferred = |one: &Type, other: &Type| {
        if one == argument {
            return true;
        }
        let (Some(given), Some(a), Some(b)) = (argument.scalar(), one.scalar(), other.scalar()) else {
            return false;
        };
        let has_shape = |ty: &Type| *argument == ty.with_scalar(given);
        let is_word = |scalar: Scalar| matches!(scalar, Scalar::Int | Scalar::Uint);
        let is_usual = |scalar: Scalar| is_word(scalar) || scalar == Scalar::Float;
        let is_cut = matches!(argument, Type::Vector(_, 2..)) && [given, a, b].into_iter().all(is_usual);
        if a == b || is_cut && !has_shape(other) {
            return has_shape(one) && !has_shape(other);
        }
        let is_less = match a {
            Scalar::Int | Scalar::Uint => b.is_float(),
            Scalar::Float => b == Scalar::Half,
            _ => false,
        };
        is_word(given) && is_less && has_shape(one) && has_shape(other)
    };
    match (is_preferred(one, other), is_preferred(other, one)) {
        (true, false) => Some(Ordering::Less),
        (false, true) => Some(Ordering::Greater),
        _ => None,
    }
}

/// [`preference`] for an argument that is a scalar or a vector with one component, between two parameters that are
/// scalars or vectors. `None` for all other types.
///
/// A `float` prefers `float` to all others. An `int` prefers `int`, `uint`, `float`, `half`, in this order. A `uint`
/// prefers `uint`. One component is preferred to several (DXC 1.7, all pairs of 1 to 4 components). The result is
/// `Equal` if DXC prefers neither. If one parameter has the better type and the other the better length, DXC takes
/// the better type; here the result is `Equal`.
fn preference_of_scalar(argument: &Type, one: &Type, other: &Type) -> Option<Ordering> {
    let (Type::Scalar(given) | Type::Vector(given, 1)) = argument else {
        return None;
    };
    let rank = |to: &Type| {
        let (Type::Scalar(scalar) | Type::Vector(scalar, _)) = to else {
            return None;
        };
        Some(match (given, scalar) {
            (Scalar::Float, Scalar::Float) | (Scalar::Int, Scalar::Int) | (Scalar::Uint, Scalar::Uint) => 0,
            (Scalar::Float, Scalar::Int | Scalar::Uint | Scalar::Half)
            | (Scalar::Int, Scalar::Uint)
            | (Scalar::Uint, Scalar::Int) => 1,
            (Scalar::Int | Scalar::Uint, Scalar::Float) => 2,
            (Scalar::Int | Scalar::Uint, Scalar::Half) => 3,
            _ => return None,
        })
    };
    let is_long = |to: &Type| matches!(to, Type::Vector(_, 2..));
    let by_scalar = rank(one)?.cmp(&rank(other)?);
    let by_length = is_long(one).cmp(&is_long(other));
    Some(if by_length == by_scalar.reverse() {
        Ordering::Equal
    } else {
        by_scalar.then(by_length)
    })
}
