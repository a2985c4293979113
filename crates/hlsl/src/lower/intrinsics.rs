//! Calls of intrinsic functions: their arguments converted, and their types.

use super::Lowering;
use super::operands::{as_value, as_values, opaque};
use super::relations::{arithmetic, common, shape};
use super::signatures::{
    Signature, UINT4, converts_scalars, counts_in_floats, is_of_floats, is_of_width, signature,
};
use super::wide::exceeds_32_bits;
use crate::Intrinsic;
use crate::span::Span;
use crate::tree::{Expr, ExprKind};
use crate::types::{Scalar, Type};

/// Whether one argument is a vector or matrix with one component and another has several. Operators would splat the
/// first; intrinsics truncate the other (DXC 1.7).
fn has_one_beside_more(arguments: &[Expr]) -> bool {
    let length = |value: &Expr| match value.ty {
        Type::Vector(_, count) => Some(count),
        Type::Matrix(_, rows, columns) => Some(rows * columns),
        _ => None,
    };
    let mut lengths = arguments.iter().filter_map(length);
    lengths.clone().any(|length| length == 1) && lengths.any(|length| length > 1)
}

/// Converts enumerations and literals among the arguments to the types that DXC gives them. If that conversion is
/// unknown, returns the unchanged arguments as an error.
///
/// No intrinsic has an overload for enumerations. DXC chooses the float overload if all arguments are enumerations,
/// and the `int` overload if another one is an `int` or a `bool`. For literals alone it chooses a 64-bit overload.
fn settled(
    lowering: &Lowering<'_>,
    intrinsic: Intrinsic,
    arguments: Vec<Expr>,
    is_literal: bool,
) -> Result<Vec<Expr>, Vec<Expr>> {
    use Intrinsic as I;
    if has_one_beside_more(&arguments) {
        return Err(arguments);
    }
    let is_bool = |value: &Expr| value.ty.scalar() == Some(Scalar::Bool);
    // If an operand is no `bool`, DXC combines bits or generates invalid code.
    if matches!(intrinsic, I::And | I::Or) && !arguments.iter().all(is_bool) {
        return Err(arguments);
    }
    if is_literal {
        let is_small = |value: &Expr| matches!(value.kind, ExprKind::Literal(bits) if bits < 1 << 16);
        let is_settled = match intrinsic {
            // DXC chooses the unsigned overload for an expression.
            I::FirstBitHigh | I::Sign => arguments.iter().all(is_small),
            I::ReverseBits | I::WaveActiveProduct | I::WavePrefixProduct | I::WaveMultiPrefixProduct => false,
            I::WaveActiveSum | I::WavePrefixSum | I::WaveMultiPrefixSum | I::Mul | I::Dot | I::Mad => {
                arguments.iter().all(is_small)
            }
            _ => true,
        };
        return if is_settled { Ok(arguments) } else { Err(arguments) };
    }
    // DXC has these only for `float`, and `reversebits` converts a float to an `int`.
    let is_double = |value: &Expr| value.ty.scalar() == Some(Scalar::Double);
    let of_float = |value: &Expr| value.ty.scalar().is_some_and(Scalar::is_float);
    if is_of_floats(intrinsic) && arguments.iter().any(is_double)
        || intrinsic == I::ReverseBits && arguments.iter().any(of_float)
    {
        return Err(arguments);
    }
    let is_enum = |value: &Expr| value.ty.scalar().is_some_and(Scalar::is_enum);
    let is_condition = matches!(signature(intrinsic), Signature::Condition(_));
    if is_condition || intrinsic.is_atomic() || !arguments.iter().any(is_enum) {
        return Ok(arguments);
    }
    let is_float = |value: &Expr| value.ty.scalar().is_some_and(Scalar::is_float);
    let is_known = |value: &Expr| !matches!(value.ty.scalar(), None | Some(Scalar::UintEnum(_)));
    let scalar = match intrinsic {
        I::CountBits | I::FirstBitLow => Scalar::Int,
        I::FirstBitHigh | I::ReverseBits | I::Select => return Err(arguments),
        _ if intrinsic.is_wave() || arguments.iter().all(is_enum) || arguments.iter().any(is_float) => {
            Scalar::Float
        }
        _ if arguments.iter().all(is_known) => Scalar::Int,
        _ => return Err(arguments),
    };
    let as_number = |value: Expr| {
        if is_enum(&value) {
            lowering.convert_scalar(value, scalar)
        } else {
            value
        }
    };
    Ok(arguments.into_iter().map(as_number).collect())
}

fn is_numeric(expr: &Expr) -> bool {
    expr.ty.scalar().is_some()
}

/// A call in the text: the intrinsic and its place.
#[derive(Clone, Copy)]
struct Call {
    intrinsic: Intrinsic,
    span: Span,
}

impl Call {
    fn with(self, arguments: Vec<Expr>, ty: Type) -> Expr {
        Expr {
            kind: ExprKind::Intrinsic(self.intrinsic, arguments),
            ty,
            span: self.span,
        }
    }

    /// A call that reads its arguments and has an unknown value.
    fn opaque(self, arguments: Vec<Expr>, ty: Type) -> Expr {
        opaque(as_values(arguments), ty, self.span)
    }
}

impl Lowering<'_> {
    /// A call of an intrinsic with converted arguments, or its value if that is certain.
    pub(super) fn intrinsic(&mut self, intrinsic: Intrinsic, arguments: Vec<Expr>, span: Span) -> Expr {
        let call = self.settled_call(Call { intrinsic, span }, arguments);
        self.note_unsettled(&call);
        call
    }

    fn settled_call(&mut self, call: Call, arguments: Vec<Expr>) -> Expr {
        let Call { intrinsic, .. } = call;
        if converts_scalars(intrinsic) && arguments.iter().any(|argument| self.is_unsettled(argument)) {
            return call.opaque(arguments, Type::Unknown);
        }
        let is_literal =
            !arguments.is_empty() && { arguments.iter() }.all(|value| self.is_literal_int(value));
        // Compilers compute a call with only literals in 64 bits.
        if is_literal && arguments.iter().any(exceeds_32_bits) {
            return call.opaque(arguments, Type::Unknown);
        }
        // Lanes exchange literals in 64 bits.
        let may_grow = intrinsic == Intrinsic::WaveMultiPrefixProduct;
        let is_wide = |value: &Expr| {
            let is_of_literals = || self.is_of_literals(value);
            match value.ty.scalar() {
                Some(Scalar::Int | Scalar::Uint) => {
                    is_of_literals() && (may_grow || !self.is_small_literal(value))
                }
                Some(scalar) => scalar.is_float() && is_of_literals(),
                None => false,
            }
        };
        if intrinsic.is_wave() && arguments.iter().any(is_wide) {
            return call.opaque(arguments, Type::Unknown);
        }
        let arguments = match settled(self, intrinsic, arguments, is_literal) {
            Ok(arguments) => arguments,
            Err(arguments) => return call.opaque(arguments, Type::Unknown),
        };
        // The documentation of `reversebits` has a `uint`; DXC has the argument's own type (`reversebits` in
        // gen_intrin_main.txt).
        let is_signed = |value: &Expr| matches!(value.ty.scalar(), Some(Scalar::Bool | Scalar::Int));
        if intrinsic == Intrinsic::ReverseBits && arguments.iter().all(is_signed) {
            let reversed = self.typed_call(call, arguments);
            return self.convert_scalar(reversed, Scalar::Int);
        }
        let typed = self.typed_call(call, arguments);
        let mut whole = self.of_literals_alone(typed);
        if let ExprKind::Intrinsic(intrinsic, arguments) = &whole.kind
            && whole.ty == Type::FLOAT
            && let Some(value) = self.folded(*intrinsic, arguments)
        {
            whole.kind = value;
        }
        whole
    }

    /// A call with settled arguments. The overloads that DXC has beside the [`Signature`] come first.
    fn typed_call(&mut self, call: Call, arguments: Vec<Expr>) -> Expr {
        let Call { intrinsic, span } = call;
        if intrinsic.is_atomic() {
            return self.atomic(call, arguments);
        }
        if counts_in_floats(intrinsic)
            && let Some(value) = arguments.first()
            && value.ty.scalar() == Some(Scalar::Bool)
        {
            let mut arguments = arguments;
            if let Some(value) = arguments.first_mut() {
                let truth = std::mem::replace(value, opaque(Vec::new(), Type::Unknown, span));
                *value = self.convert_scalar(truth, Scalar::Uint);
            }
            let count = self.typed_call(call, arguments);
            return self.convert_scalar(count, Scalar::Float);
        }
        if let (true, [value]) = (is_of_width(intrinsic), arguments.as_slice())
            && let Some(scalar) = value.ty.scalar()
            && (scalar.is_float()
                || matches!(
                    scalar,
                    Scalar::Int16 | Scalar::Uint16 | Scalar::Int64 | Scalar::Uint64
                ))
        {
            // DXC converts a float to an `int` for some of these and to a `uint` for others.
            let ty = match intrinsic {
                Intrinsic::ReverseBits => value.ty.clone(),
                _ => value.ty.with_scalar(Scalar::Uint),
            };
            return call.opaque(arguments, ty);
        }
        self.call_by_signature(call, arguments)
    }

    fn call_by_signature(&mut self, call: Call, arguments: Vec<Expr>) -> Expr {
        match signature(call.intrinsic) {
            Signature::Nullary(ty) if arguments.is_empty() => call.with(arguments, ty),
            Signature::Floats(count) if arguments.len() == count => {
                match self.convert_to_common(arguments, true) {
                    Ok((arguments, ty)) => call.with(arguments, ty),
                    Err(arguments) => call.opaque(arguments, Type::Unknown),
                }
            }
            Signature::FloatsToScalar(count) if arguments.len() == count => {
                match self.convert_to_common(arguments, true) {
                    Ok((arguments, ty)) => {
                        let scalar = ty.scalar().unwrap_or(Scalar::Float);
                        call.with(arguments, Type::Scalar(scalar))
                    }
                    Err(arguments) => call.opaque(arguments, Type::FLOAT),
                }
            }
            Signature::Numbers(count) if arguments.len() == count => {
                match self.convert_to_common(arguments, false) {
                    Ok((arguments, ty)) => call.with(arguments, ty),
                    Err(arguments) => call.opaque(arguments, Type::Unknown),
                }
            }
            Signature::Map(argument, result) if arguments.len() == 1 => {
                let arguments = match argument {
                    Some(scalar) => self.convert_scalars(arguments, scalar),
                    None => arguments,
                };
                let ty = match arguments.first() {
                    Some(value) if is_numeric(value) => value.ty.with_scalar(result),
                    Some(value)
                        if call.intrinsic == Intrinsic::WaveActiveAllEqual && value.ty != Type::Unknown =>
                    {
                        Type::BOOL
                    }
                    _ => Type::Unknown,
                };
                call.with(arguments, ty)
            }
            Signature::Condition(ty) if arguments.len() == 1 => {
                call.with(self.convert_each(arguments, &[Type::BOOL]), ty)
            }
            Signature::Fixed(types, ty) if arguments.len() == types.len() => {
                call.with(self.convert_each(arguments, types), ty)
            }
            Signature::Same(rest) if arguments.len() == rest.len() + 1 => {
                let ty = arguments.first().map_or(Type::Unknown, |value| value.ty.clone());
                let types = std::iter::once(&ty).chain(rest);
                let converted = self.convert_each(arguments, types);
                call.with(converted, ty)
            }
            Signature::Special => self.special(call, arguments),
            _ => call.opaque(arguments, Type::Unknown),
        }
    }

    /// Converts the component type of each argument.
    fn convert_scalars(&self, arguments: Vec<Expr>, scalar: Scalar) -> Vec<Expr> {
        let converted = arguments.into_iter();
        converted
            .map(|value| self.convert_scalar(value, scalar))
            .collect()
    }

    /// Converts each argument to the type at its position.
    fn convert_each<'t>(&self, arguments: Vec<Expr>, types: impl IntoIterator<Item = &'t Type>) -> Vec<Expr> {
        let converted = arguments.into_iter().zip(types);
        converted.map(|(value, ty)| self.convert(value, ty)).collect()
    }

    /// Converts the arguments to their common type. It is a floating-point type if `floats`, and also if all
    /// arguments are `bool`: numeric functions have no overload for `bool`, and DXC takes their first overload.
    fn convert_to_common(
        &mut self,
        arguments: Vec<Expr>,
        floats: bool,
    ) -> Result<(Vec<Expr>, Type), Vec<Expr>> {
        let mut rest = arguments.iter();
        let Some(mut widest) = rest.next() else {
            return Err(arguments);
        };
        let mut ty = widest.ty.clone();
        for argument in rest {
            match self.common_of(widest, argument) {
                Some(of_two) => {
                    let whole = common(&ty, &argument.ty).and_then(|all| shape(&all, &of_two));
                    if argument.ty.scalar() == of_two.scalar() && widest.ty.scalar() != of_two.scalar() {
                        widest = argument;
                    }
                    ty = match (whole, of_two.scalar()) {
                        (Some(shape), Some(scalar)) => shape.with_scalar(scalar),
                        _ => of_two,
                    };
                }
                None => return Err(arguments),
            }
        }
        let Some(scalar) = ty.scalar() else {
            return Err(arguments);
        };
        let ty = if floats && !scalar.is_float() || scalar == Scalar::Bool {
            ty.with_scalar(Scalar::Float)
        } else {
            arithmetic(&ty)
        };
        let types = std::iter::repeat(&ty);
        Ok((self.convert_each(arguments, types), ty))
    }

    /// `Interlocked…(place, values…[, out original])`.
    fn atomic(&mut self, call: Call, arguments: Vec<Expr>) -> Expr {
        let values = call.intrinsic.atomic_values();
        let original = arguments.len() == values + 2;
        for place in arguments
            .first()
            .into_iter()
            .chain(arguments.last().filter(|_| original))
        {
            self.note_write(place);
        }
        let Some(ty) = arguments.first().map(|place| place.ty.clone()) else {
            return opaque(arguments, Type::Void, call.span);
        };
        if arguments.len() <= values || arguments.len() > values + 2 {
            return opaque(arguments, Type::Void, call.span);
        }
        let arguments = arguments
            .into_iter()
            .enumerate()
            .map(|(index, argument)| {
                if (1..=values).contains(&index) {
                    self.to_atomic(argument, &ty)
                } else {
                    argument
                }
            })
            .collect();
        call.with(arguments, Type::Void)
    }

    /// A function of its first argument that writes its results to the other arguments.
    fn with_results(&mut self, call: Call, arguments: Vec<Expr>) -> Expr {
        let Call { intrinsic, span } = call;
        for (index, argument) in arguments.iter().enumerate() {
            if intrinsic.may_write(index) {
                self.note_write(argument);
            }
        }
        let mut arguments = arguments;
        let argument = arguments.first_mut().map(|first| {
            let operand = std::mem::replace(first, opaque(Vec::new(), Type::Unknown, span));
            let is_float = operand.ty.scalar().is_some_and(Scalar::is_float);
            let operand = if intrinsic == Intrinsic::AsUint || is_float || self.is_unsettled(&operand) {
                operand
            } else {
                self.convert_scalar(operand, Scalar::Float)
            };
            *first = as_value(operand);
            first.ty.clone()
        });
        let ty = match intrinsic {
            Intrinsic::SinCos | Intrinsic::AsUint => Type::Void,
            _ => argument.unwrap_or(Type::Unknown),
        };
        call.with(arguments, ty)
    }

    /// A call of an intrinsic with rules of its own.
    fn special(&mut self, call: Call, arguments: Vec<Expr>) -> Expr {
        use Intrinsic as I;
        match (call.intrinsic, arguments.len()) {
            (I::AsUint, 1) => {
                let of = arguments.first().filter(|value| is_numeric(value));
                let ty = of.map_or(Type::Unknown, |value| value.ty.with_scalar(Scalar::Uint));
                call.with(arguments, ty)
            }
            (I::AsUint | I::SinCos, 3) | (I::Frexp | I::Modf, 2) => self.with_results(call, arguments),
            (I::Clip, 1) => call.with(arguments, Type::Void),
            (I::Refract, 3) => self.refract(call, arguments),
            (I::WaveMatch, 1) => call.with(arguments, UINT4),
            (I::WaveMultiPrefixCountBits, 2) => {
                call.with(self.convert_each(arguments, &[Type::BOOL, UINT4]), Type::UINT)
            }
            (I::All | I::Any, 1) => call.with(self.convert_scalars(arguments, Scalar::Bool), Type::BOOL),
            (I::Dot, 2) => match self.convert_to_common(arguments, false) {
                Ok((arguments, ty)) => {
                    let scalar = ty.scalar().unwrap_or(Scalar::Float);
                    call.with(arguments, Type::Scalar(scalar))
                }
                Err(arguments) => call.opaque(arguments, Type::Unknown),
            },
            (I::FirstBitHigh | I::FirstBitLow, 1) => self.first_bit(call, arguments),
            (I::Transpose, 1) => match arguments.first().map(|value| value.ty.clone()) {
                Some(Type::Matrix(scalar, rows, columns)) => {
                    call.with(arguments, Type::Matrix(scalar, columns, rows))
                }
                _ => call.opaque(arguments, Type::Unknown),
            },
            (I::Mul, 2) => self.multiply(call, arguments),
            (I::And | I::Or, 2) => self.logical(call, arguments),
            (I::Select, 3) => self.select_call(call, arguments),
            _ => call.opaque(arguments, Type::Unknown),
        }
    }

    /// `refract(ray, normal, ratio)`: two vectors of a common type, and a scalar of its component type.
    fn refract(&mut self, call: Call, mut arguments: Vec<Expr>) -> Expr {
        let ratio = arguments.split_off(2);
        match self.convert_to_common(arguments, true) {
            Ok((mut arguments, ty)) => {
                let scalar = Type::Scalar(ty.scalar().unwrap_or(Scalar::Float));
                arguments.extend(self.convert_each(ratio, [&scalar]));
                call.with(arguments, ty)
            }
            Err(arguments) => call.opaque(arguments.into_iter().chain(ratio).collect(), Type::Unknown),
        }
    }

    /// `firstbithigh` and `firstbitlow` of an `int` or a `uint`, which stay unconverted. The result is a `uint`.
    fn first_bit(&self, call: Call, arguments: Vec<Expr>) -> Expr {
        let as_word = |value: Expr| match value.ty.scalar() {
            Some(Scalar::Int | Scalar::Uint) => value,
            _ => self.convert_scalar(value, Scalar::Uint),
        };
        let arguments: Vec<Expr> = arguments.into_iter().map(as_word).collect();
        let ty = arguments
            .first()
            .map_or(Type::UINT, |value| value.ty.with_scalar(Scalar::Uint));
        call.with(arguments, ty)
    }

    /// `and` and `or`, of `bool`s in a common shape.
    fn logical(&self, call: Call, arguments: Vec<Expr>) -> Expr {
        let arguments = self.convert_scalars(arguments, Scalar::Bool);
        let ty = match arguments.as_slice() {
            [a, b] => shape(&a.ty, &b.ty),
            _ => None,
        };
        match ty {
            Some(ty) => call.with(self.convert_each(arguments, [&ty, &ty]), ty),
            None => call.opaque(arguments, Type::Unknown),
        }
    }

    /// `select(condition, yes, no)`: component by component if the condition is a vector, otherwise as a whole.
    fn select_call(&mut self, call: Call, arguments: Vec<Expr>) -> Expr {
        let Ok([condition, yes, no]) = <[Expr; 3]>::try_from(arguments) else {
            return call.opaque(Vec::new(), Type::Unknown);
        };
        let condition = self.convert_scalar(condition, Scalar::Bool);
        let Some(common) = self.common_of(&yes, &no) else {
            return call.opaque(vec![condition, yes, no], Type::Unknown);
        };
        let ty = match (common.scalar(), shape(&condition.ty, &common)) {
            (Some(scalar), Some(shape)) if matches!(condition.ty, Type::Vector(..)) => {
                shape.with_scalar(scalar)
            }
            _ => common,
        };
        let (yes, no) = (self.convert(yes, &ty), self.convert(no, &ty));
        call.with(vec![condition, yes, no], ty)
    }

    /// `mul`: the product of scalars, vectors and matrices in every combination.
    fn multiply(&mut self, call: Call, arguments: Vec<Expr>) -> Expr {
        let scalar = match arguments.as_slice() {
            [a, b] => self.common_of_scalars(a, b),
            _ => None,
        };
        let Some(scalar) = scalar else {
            return call.opaque(arguments, Type::Unknown);
        };
        let arguments = self.convert_scalars(arguments, scalar);
        let ty = match arguments.as_slice() {
            [a, b] => match (&a.ty, &b.ty) {
                (Type::Scalar(_), other) | (other, Type::Scalar(_)) => Some(other.clone()),
                (Type::Vector(..), Type::Vector(..)) => Some(Type::Scalar(scalar)),
                (Type::Vector(..), Type::Matrix(_, _, columns)) => Some(Type::Vector(scalar, *columns)),
                (Type::Matrix(_, rows, _), Type::Vector(..)) => Some(Type::Vector(scalar, *rows)),
                (Type::Matrix(_, rows, _), Type::Matrix(_, _, columns)) => {
                    Some(Type::Matrix(scalar, *rows, *columns))
                }
                _ => None,
            },
            _ => None,
        };
        match ty {
            Some(ty) => call.with(arguments, ty),
            None => call.opaque(arguments, Type::Unknown),
        }
    }

    fn common_of_scalars(&self, a: &Expr, b: &Expr) -> Option<Scalar> {
        let flat = |expr: &Expr| {
            let scalar = expr.ty.scalar()?;
            Some(Expr {
                kind: expr.kind.clone(),
                ty: Type::Scalar(scalar),
                span: expr.span,
            })
        };
        let scalar = self.common_of(&flat(a)?, &flat(b)?)?.scalar()?;
        Some(if scalar == Scalar::Bool {
            Scalar::Float
        } else {
            scalar
        })
    }
}
