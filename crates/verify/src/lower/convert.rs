//! Conversions between HLSL types.

use naga::{Expression, ScalarKind, SwizzleComponent};
use shaderlint_hlsl::{Intrinsic, Scalar, Span, Type};

use super::LowerError;
use super::body::{Body, Value};
use super::types::{naga_scalar, simplify, vector_size};

/// Takes apart values of at most this many components.
const COMPONENTS: usize = 1024;
/// A byte-addressed access moves at most this many words.
pub(super) const WORDS: usize = 64;

const SWIZZLE: [SwizzleComponent; 4] = [
    SwizzleComponent::X,
    SwizzleComponent::Y,
    SwizzleComponent::Z,
    SwizzleComponent::W,
];

impl Body<'_, '_> {
    /// `value` of type `from` as a value of type `to`.
    pub(super) fn convert(
        &mut self,
        value: Value,
        from: &Type,
        to: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        let (from, to) = (simplify(from), simplify(to));
        if from == to {
            return Ok(value);
        }
        match (&from, &to) {
            (Type::Scalar(source), Type::Scalar(target)) => {
                self.convert_component(value, *source, *target, span)
            }
            (Type::Scalar(source), Type::Vector(target, n)) => {
                let value = self.convert_component(value, *source, *target, span)?;
                self.splat(value, *n, span)
            }
            (Type::Vector(source, _), Type::Scalar(target)) => {
                let value = self.add(Expression::AccessIndex {
                    base: value,
                    index: 0,
                });
                self.convert_component(value, *source, *target, span)
            }
            (Type::Vector(source, n), Type::Vector(target, m)) if m <= n => {
                let value = if m < n {
                    let size = vector_size(*m)
                        .ok_or_else(|| LowerError::unsupported("a vector of this size", span))?;
                    self.add(Expression::Swizzle {
                        size,
                        vector: value,
                        pattern: SWIZZLE,
                    })
                } else {
                    value
                };
                self.convert_components(value, *m, *source, *target, span)
            }
            (Type::Matrix(_, rows, columns), Type::Matrix(_, to_rows, to_columns))
                if to_rows <= rows && to_columns <= columns =>
            {
                let mut components = Vec::new();
                for index in 0..u32::from(*to_rows) {
                    let row = self.add(Expression::AccessIndex { base: value, index });
                    let (row_from, row_to) = (
                        Type::Vector(Scalar::Float, *columns),
                        Type::Vector(Scalar::Float, *to_columns),
                    );
                    components.push(self.convert(row, &row_from, &row_to, span)?);
                }
                let ty = self.module.value_type(&to, span)?;
                Ok(self.add(Expression::Compose { ty, components }))
            }
            _ => self.convert_by_component(value, &from, &to, span),
        }
    }

    fn convert_by_component(
        &mut self,
        value: Value,
        from: &Type,
        to: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        let mut parts = Vec::new();
        self.take_apart(value, from, &mut parts, span)?;
        let wanted = self.module.shader.components(to);
        if let [part] = parts.as_slice() {
            let part = *part;
            if wanted > COMPONENTS {
                return Err(LowerError::unsupported("a conversion to a type this large", span));
            }
            parts = vec![part; wanted];
        }
        if parts.len() < wanted || wanted == 0 {
            return Err(LowerError::unsupported("this conversion", span));
        }
        parts.truncate(wanted);
        self.put_together(to, &mut parts.into_iter(), span)
    }

    /// The scalar components of a value, in order.
    pub(super) fn take_apart(
        &mut self,
        value: Value,
        ty: &Type,
        parts: &mut Vec<(Value, Scalar)>,
        span: Span,
    ) -> Result<(), LowerError> {
        if parts.len() > COMPONENTS {
            return Err(LowerError::unsupported("a value this large", span));
        }
        let ty = simplify(ty);
        if let Type::Scalar(scalar) = ty {
            parts.push((value, scalar));
            return Ok(());
        }
        for (index, inner) in (0u32..).zip(self.part_types(&ty, span)?) {
            let part = self.add(Expression::AccessIndex { base: value, index });
            self.deeper(span, |body| body.take_apart(part, &inner, parts, span))?;
        }
        Ok(())
    }

    /// The types of a value's scalar components, in order.
    pub(super) fn scalars_of(
        &mut self,
        ty: &Type,
        scalars: &mut Vec<Scalar>,
        span: Span,
    ) -> Result<(), LowerError> {
        if scalars.len() > WORDS {
            return Err(LowerError::unsupported("a load of this many words", span));
        }
        let ty = simplify(ty);
        if let Type::Scalar(scalar) = ty {
            scalars.push(scalar);
            return Ok(());
        }
        for part in self.part_types(&ty, span)? {
            self.deeper(span, |body| body.scalars_of(&part, scalars, span))?;
        }
        Ok(())
    }

    /// Converts scalar components and builds a value of type `ty` of them.
    pub(super) fn put_together(
        &mut self,
        ty: &Type,
        parts: &mut dyn Iterator<Item = (Value, Scalar)>,
        span: Span,
    ) -> Result<Value, LowerError> {
        let ty = simplify(ty);
        if let Type::Scalar(scalar) = ty {
            let Some((value, from)) = parts.next() else {
                return Err(LowerError::unsupported("too few components", span));
            };
            return self.convert_component(value, from, scalar, span);
        }
        let mut components = Vec::new();
        for inner in self.part_types(&ty, span)? {
            components.push(self.deeper(span, |body| body.put_together(&inner, parts, span))?);
        }
        let ty = self.module.value_type(&ty, span)?;
        Ok(self.compose(ty, components))
    }

    /// A value of a composite type. A struct without fields has one value.
    pub(super) fn compose(&mut self, ty: naga::Handle<naga::Type>, components: Vec<Value>) -> Value {
        self.add(if components.is_empty() {
            Expression::ZeroValue(ty)
        } else {
            Expression::Compose { ty, components }
        })
    }

    /// The types of a composite type's parts.
    pub(super) fn part_types(&self, ty: &Type, span: Span) -> Result<Vec<Type>, LowerError> {
        let shader = self.module.shader;
        match ty {
            Type::Vector(scalar, n) => Ok(vec![Type::Scalar(*scalar); usize::from(*n)]),
            Type::Matrix(scalar, rows, columns) => {
                Ok(vec![Type::Vector(*scalar, *columns); usize::from(*rows)])
            }
            Type::Array(element, length) if (*length as usize) <= COMPONENTS => {
                Ok(vec![Type::clone(element); *length as usize])
            }
            Type::Struct(id) => shader
                .structs
                .get(id.0 as usize)
                .map(|s| s.fields.iter().map(|field| field.ty.clone()).collect())
                .ok_or_else(|| LowerError::unsupported("an unknown struct", span)),
            _ => Err(LowerError::unsupported("a value of this type", span)),
        }
    }

    pub(super) fn convert_component(
        &mut self,
        value: Value,
        from: Scalar,
        to: Scalar,
        span: Span,
    ) -> Result<Value, LowerError> {
        self.convert_components(value, 1, from, to, span)
    }

    /// Converts each component of a vector of this size, or a scalar.
    ///
    /// D3D's `ftoi` turns a NaN into 0; WGSL turns it into any integer, naga into the least. The WGSL for `uint` gives 0 as
    /// well.
    fn convert_components(
        &mut self,
        value: Value,
        size: u8,
        from: Scalar,
        to: Scalar,
        span: Span,
    ) -> Result<Value, LowerError> {
        let scalars = (naga_scalar(from, span)?, naga_scalar(to, span)?);
        if scalars.0 == scalars.1 {
            return Ok(value);
        }
        let (from, to) = (scalars.0.kind, scalars.1.kind);
        let converted = self.add(Expression::As {
            expr: value,
            kind: to,
            convert: Some(if to == ScalarKind::Bool {
                naga::BOOL_WIDTH
            } else {
                4
            }),
        });
        if (from, to) != (ScalarKind::Float, ScalarKind::Sint) {
            return Ok(converted);
        }
        let nothing = self.literal(Scalar::Int, 0, span)?;
        let nothing = self.splat(nothing, size, span)?;
        let is_nan = self.classify(value, size, Intrinsic::IsNan, span)?;
        Ok(self.add(Expression::Select {
            condition: is_nan,
            accept: nothing,
            reject: converted,
        }))
    }

    /// A vector of `n` copies; the value itself for 1.
    pub(super) fn splat(&mut self, value: Value, n: u8, span: Span) -> Result<Value, LowerError> {
        if n == 1 {
            return Ok(value);
        }
        let size = vector_size(n).ok_or_else(|| LowerError::unsupported("a vector of this size", span))?;
        Ok(self.add(Expression::Splat { size, value }))
    }
}
