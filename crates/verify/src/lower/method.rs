//! Methods of buffers and textures.

use naga::{AtomicFunction, BinaryOperator, Expression, Statement};
use shaderlint_hlsl::{Counter, Expr, Method, Scalar, Span, Type};

use super::LowerError;
use super::body::{Body, Place, Value};
use super::convert::WORDS;
use super::module::Buffer;
use super::texture_use::{is_read_texture, is_texture};
use super::types::naga_scalar;

impl Body<'_, '_> {
    pub(super) fn method(
        &mut self,
        object: &Expr,
        method: &Method,
        arguments: &[Expr],
        ty: &Type,
        span: Span,
    ) -> Result<Option<Value>, LowerError> {
        if is_texture(&object.ty)
            && let Ok(texture) = self.buffer(object)
            && texture.dimensions.is_some()
        {
            match (method, arguments) {
                (Method::Load { .. }, [at]) => {
                    let place = self.texel(object, &texture, at, span)?;
                    return self.load_as(&place, ty, span).map(Some);
                }
                (Method::GetDimensions, outs) => {
                    self.texture_dimensions(object, outs, span)?;
                    return Ok(None);
                }
                _ => {}
            }
        }
        if is_read_texture(&object.ty) {
            // The hash takes the texture, then the arguments.
            let read: Vec<&Expr> = std::iter::once(object).chain(arguments).collect();
            if *method == Method::GetDimensions {
                return Err(LowerError::unsupported(
                    "the size of a texture that is sampled, or of a level of it",
                    span,
                ));
            }
            let name = format!("{}.{}", self.global_name(object), method.name());
            if matches!(method, Method::Load { .. }) {
                self.module.free.insert(name.clone());
            }
            return self.hashed(&name, &read, ty, span).map(Some);
        }
        let buffer = self.buffer(object)?;
        if buffer.bytes
            && let Method::Atomic(atomic) = method
            && let [address, rest @ ..] = arguments
        {
            let word = self.word_index(address)?;
            let place = self.element(object, &buffer, word)?;
            self.atomic_on(*atomic, &place, rest, span)?;
            return Ok(None);
        }
        match (method, arguments) {
            (Method::Load { .. }, [index]) if !buffer.bytes => {
                let index = self.value_as(index, &Type::UINT)?;
                let place = self.element(object, &buffer, index)?;
                self.load_as(&place, ty, span).map(Some)
            }
            (Method::Load { .. }, [address]) if buffer.bytes => {
                self.load_words(object, &buffer, address, ty, span).map(Some)
            }
            (Method::Store { words }, [address, value]) if buffer.bytes => {
                // `Store` stores as many words as its value has.
                let count = Some(usize::from(*words)).filter(|words| *words > 1);
                self.store_words(object, &buffer, address, value, count)?;
                Ok(None)
            }
            (Method::GetDimensions, outs) => {
                self.dimensions(&buffer, outs, span)?;
                Ok(None)
            }
            (Method::Counter(counter @ (Counter::Increment | Counter::Decrement)), []) => {
                let value = self.count(&buffer, *counter == Counter::Increment, span)?;
                self.convert(value, &Type::UINT, ty, span).map(Some)
            }
            (Method::Counter(Counter::Append), [value]) => {
                let slot = self.count(&buffer, true, span)?;
                let place = self.element(object, &buffer, slot)?;
                let value = self.value_as(value, &buffer.element)?;
                self.store(&place, value, span)?;
                Ok(None)
            }
            (Method::Counter(Counter::Consume), []) => {
                let slot = self.count(&buffer, false, span)?;
                let place = self.element(object, &buffer, slot)?;
                self.load_as(&place, ty, span).map(Some)
            }
            _ => Err(LowerError::unsupported(
                format_args!("the method `{}` in this form", method.name()),
                span,
            )),
        }
    }

    /// A byte address as the index of a 32-bit word.
    fn word_index(&mut self, address: &Expr) -> Result<Value, LowerError> {
        let address = self.value_as(address, &Type::UINT)?;
        let two = self.uint(2);
        Ok(self.emit_binary(BinaryOperator::ShiftRight, address, two))
    }

    fn word(&mut self, object: &Expr, buffer: &Buffer, first: Value, at: usize) -> Result<Place, LowerError> {
        let mut index = first;
        if let Ok(at @ 1..) = u32::try_from(at) {
            let at = self.uint(at);
            index = self.emit_binary(BinaryOperator::Add, first, at);
        }
        self.element(object, buffer, index)
    }

    fn load_words(
        &mut self,
        object: &Expr,
        buffer: &Buffer,
        address: &Expr,
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        self.check_order(ty, span)?;
        let first = self.word_index(address)?;
        let mut scalars = Vec::new();
        self.scalars_of(ty, &mut scalars, span)?;
        let mut parts = Vec::new();
        for (at, scalar) in scalars.into_iter().enumerate() {
            let place = self.word(object, buffer, first, at)?;
            let bits = self.load(&place, span)?;
            parts.push(match scalar {
                Scalar::Uint | Scalar::Bool => (bits, Scalar::Uint),
                _ => (self.bit_cast(bits, naga_scalar(scalar, span)?.kind), scalar),
            });
        }
        self.put_together(ty, &mut parts.into_iter(), span)
    }

    fn store_words(
        &mut self,
        object: &Expr,
        buffer: &Buffer,
        address: &Expr,
        value: &Expr,
        count: Option<usize>,
    ) -> Result<(), LowerError> {
        let span = value.span;
        self.check_order(&value.ty, span)?;
        let first = self.word_index(address)?;
        let stored = self.value(value)?;
        let mut parts = Vec::new();
        self.take_apart(stored, &value.ty, &mut parts, span)?;
        if parts.len() > WORDS || count.is_some_and(|count| count != parts.len()) {
            return Err(LowerError::unsupported("a store of this many words", span));
        }
        for (at, (part, scalar)) in parts.into_iter().enumerate() {
            let bits = match scalar {
                Scalar::Uint => part,
                Scalar::Bool => self.convert_component(part, scalar, Scalar::Uint, span)?,
                _ => self.bit_cast(part, naga::ScalarKind::Uint),
            };
            let place = self.word(object, buffer, first, at)?;
            self.store(&place, bits, span)?;
        }
        Ok(())
    }

    /// Refuses matrices: their order in memory depends on `row_major`, `#pragma pack_matrix` and the compiler's options.
    fn check_order(&self, ty: &Type, span: Span) -> Result<(), LowerError> {
        match ty {
            Type::Matrix(..) => Err(LowerError::unsupported(
                "a matrix as bytes, whose order in memory is unknown",
                span,
            )),
            Type::Array(element, _) => self.check_order(element, span),
            Type::Struct(id) => {
                let declared = self.module.shader.structs.get(id.0 as usize);
                let mut fields = declared.into_iter().flat_map(|of| &of.fields);
                fields.try_for_each(|field| self.check_order(&field.ty, span))
            }
            _ => Ok(()),
        }
    }

    fn dimensions(&mut self, buffer: &Buffer, outs: &[Expr], span: Span) -> Result<(), LowerError> {
        let variable = self.add(Expression::GlobalVariable(buffer.variable));
        let mut length = self.add(Expression::ArrayLength(variable));
        if buffer.bytes {
            let four = self.uint(4);
            length = self.emit_binary(BinaryOperator::Multiply, length, four);
        }
        let stride = self.uint(buffer.stride);
        if outs.is_empty() || outs.len() > 2 {
            return Err(LowerError::unsupported(
                "`GetDimensions` with this many arguments",
                span,
            ));
        }
        for (out, value) in outs.iter().zip([length, stride]) {
            self.store_out(out, value, &Type::UINT, span)?;
        }
        Ok(())
    }

    /// Counts the hidden counter up and gives its old value, or down and gives its new one.
    fn count(&mut self, buffer: &Buffer, up: bool, span: Span) -> Result<Value, LowerError> {
        let Some(counter) = buffer.counter else {
            return Err(LowerError::unsupported("a counter of this buffer", span));
        };
        let pointer = self.add(Expression::GlobalVariable(counter));
        let one = self.uint(1);
        let ty = self.module.value_type(&Type::UINT, span)?;
        let old = self.add_result(Expression::AtomicResult {
            ty,
            comparison: false,
        });
        self.push(Statement::Atomic {
            pointer,
            fun: if up {
                AtomicFunction::Add
            } else {
                AtomicFunction::Subtract
            },
            value: one,
            result: Some(old),
        });
        if up {
            return Ok(old);
        }
        Ok(self.emit_binary(BinaryOperator::Subtract, old, one))
    }
}
