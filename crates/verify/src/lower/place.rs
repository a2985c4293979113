//! Places: memory that a kernel loads from and stores to.

use naga::{BinaryOperator, Expression, Statement};
use shaderlint_hlsl::{Expr, ExprKind, GlobalId, Scalar, Span, Type};

use super::body::{Body, Place, Value};
use super::module::{Buffer, LoweredGlobal};
use super::types::{Shape, simplify, vector_size};
use super::{LowerError, constant};

/// Copies arrays of at most this many elements one by one.
const COMPONENTS: u32 = 1024;

/// The target of an assignment.
pub(super) enum Target {
    Place(Place),
    /// A swizzle: its components in order, and the value's type.
    Components(Vec<Place>, Type),
}

/// Whether `expr` names memory, rather than a computed value.
pub(super) fn is_memory(expr: &Expr, is_constant: &dyn Fn(GlobalId) -> bool) -> bool {
    let mut at = expr;
    loop {
        match &at.kind {
            ExprKind::Local(_) => return true,
            ExprKind::Global(id) => return !is_constant(*id),
            ExprKind::Index(base, _) | ExprKind::Field(base, _) => at = base,
            _ => return false,
        }
    }
}

impl Body<'_, '_> {
    pub(super) fn names_memory(&self, expr: &Expr) -> bool {
        is_memory(expr, &|id| {
            matches!(
                self.module.globals.get(&id),
                Some(LoweredGlobal::Constant(_) | LoweredGlobal::Inline) | None
            )
        })
    }

    /// The place that `expr` names. A value gets a variable of its own.
    pub(super) fn place(&mut self, expr: &Expr) -> Result<Place, LowerError> {
        self.deeper(expr.span, |body| body.place_inner(expr))
    }

    fn place_inner(&mut self, expr: &Expr) -> Result<Place, LowerError> {
        match &expr.kind {
            ExprKind::Local(id) => self.local(*id, expr.span),
            ExprKind::Global(id) => match self.module.globals.get(id).cloned() {
                Some(LoweredGlobal::Variable(variable)) => {
                    let shader = self.module.shader;
                    let ty = shader
                        .globals
                        .get(id.0 as usize)
                        .map_or(Type::Unknown, |global| simplify(&global.ty));
                    Ok(Place {
                        pointer: self.add(Expression::GlobalVariable(variable)),
                        ty,
                        shape: self.module.shape_of(*id, false),
                        inside: None,
                    })
                }
                Some(LoweredGlobal::Uniform { member, ty }) => {
                    let Some(uniforms) = self.module.uniforms else {
                        return Err(LowerError::unsupported("a uniform without a buffer", expr.span));
                    };
                    let base = self.add(Expression::GlobalVariable(uniforms));
                    Ok(Place {
                        pointer: self.add(Expression::AccessIndex { base, index: member }),
                        ty: simplify(&ty),
                        shape: Shape {
                            storage: true,
                            ..Shape::VALUE
                        },
                        inside: None,
                    })
                }
                Some(LoweredGlobal::Buffer(_)) => {
                    Err(LowerError::unsupported("a whole buffer as a value", expr.span))
                }
                Some(LoweredGlobal::Constant(_) | LoweredGlobal::Inline) => self.spill(expr),
                None => Err(LowerError::unsupported("an unknown global", expr.span)),
            },
            ExprKind::Index(base, index) => self.index_place(expr, base, index),
            ExprKind::Field(base, field) if self.names_memory(base) => {
                let base = self.place(base)?;
                Ok(self.field(&base, *field, &expr.ty))
            }
            ExprKind::Swizzle(base, components) if components.len() == 1 && self.names_memory(base) => {
                let base = self.place(base)?;
                self.component(&base, components.first().copied().unwrap_or(0), expr.span)
            }
            _ => self.spill(expr),
        }
    }

    fn index_place(&mut self, expr: &Expr, base: &Expr, index: &Expr) -> Result<Place, LowerError> {
        if let Type::Resource(..) = base.ty {
            let buffer = self.buffer(base)?;
            if buffer.bytes {
                return Err(LowerError::unsupported(
                    "a subscript of a byte address buffer",
                    expr.span,
                ));
            }
            if buffer.dimensions.is_some() {
                return self.texel(base, &buffer, index, expr.span);
            }
            let index = self.index_value(index)?;
            return self.element(base, &buffer, index);
        }
        let (base, base_ty) = (self.place(base)?, &base.ty);
        let Some(ty) = element_type(base_ty) else {
            return Err(LowerError::unsupported("a subscript of this value", expr.span));
        };
        if matches!(base.ty, Type::Scalar(_)) {
            return Ok(base);
        }
        let fixed = constant::fold_scalar(self.module.shader, index).filter(|at| *at < length(&base.ty));
        let pointer = if let Some(index) = fixed {
            self.add(Expression::AccessIndex {
                base: base.pointer,
                index,
            })
        } else {
            let index = self.index_value(index)?;
            self.add(Expression::Access {
                base: base.pointer,
                index,
            })
        };
        Ok(Place {
            pointer,
            ty: simplify(&ty),
            shape: base.shape,
            inside: base.inside,
        })
    }

    /// A subscript as an int or uint.
    fn index_value(&mut self, index: &Expr) -> Result<Value, LowerError> {
        match simplify(&index.ty) {
            Type::Scalar(Scalar::Int | Scalar::Uint) => self.value(index),
            Type::Scalar(_) => self.value_as(index, &Type::UINT),
            _ => Err(LowerError::unsupported(
                "a subscript that is not a number",
                index.span,
            )),
        }
    }

    /// The buffer that `expr` names.
    pub(super) fn buffer(&self, expr: &Expr) -> Result<Buffer, LowerError> {
        let place = self
            .instance
            .global_of(self.source, expr)
            .and_then(|global| self.module.globals.get(&global));
        match place {
            Some(LoweredGlobal::Buffer(buffer)) => Ok(buffer.clone()),
            _ => Err(LowerError::unsupported("this resource", expr.span)),
        }
    }

    /// Element `index` of the buffer that `expr` names.
    pub(super) fn element(
        &mut self,
        expr: &Expr,
        buffer: &Buffer,
        index: Value,
    ) -> Result<Place, LowerError> {
        let Some(global) = self.instance.global_of(self.source, expr) else {
            return Err(LowerError::unsupported("this resource", expr.span));
        };
        let base = self.add(Expression::GlobalVariable(buffer.variable));
        Ok(Place {
            pointer: self.add(Expression::Access { base, index }),
            ty: buffer.element.clone(),
            shape: self.module.shape_of(global, true),
            inside: None,
        })
    }

    pub(super) fn field(&mut self, base: &Place, field: u32, ty: &Type) -> Place {
        Place {
            pointer: self.add(Expression::AccessIndex {
                base: base.pointer,
                index: field,
            }),
            ty: simplify(ty),
            shape: base.shape.field(field),
            inside: base.inside,
        }
    }

    /// Component `at` of a vector (or of a matrix, counted by rows).
    fn component(&mut self, base: &Place, at: u8, span: Span) -> Result<Place, LowerError> {
        let at = u32::from(at);
        let mut pointer = base.pointer;
        let scalar = match &base.ty {
            Type::Scalar(scalar) if at == 0 => {
                return Ok(Place {
                    ty: Type::Scalar(*scalar),
                    ..base.clone()
                });
            }
            Type::Vector(scalar, n) if at < u32::from(*n) => {
                pointer = self.add(Expression::AccessIndex {
                    base: pointer,
                    index: at,
                });
                *scalar
            }
            Type::Matrix(scalar, rows, columns) if at < u32::from(*rows) * u32::from(*columns) => {
                let columns = u32::from(*columns);
                for index in [at / columns, at % columns] {
                    pointer = self.add(Expression::AccessIndex { base: pointer, index });
                }
                *scalar
            }
            _ => return Err(LowerError::unsupported("this swizzle", span)),
        };
        Ok(Place {
            pointer,
            ty: Type::Scalar(scalar),
            shape: base.shape.clone(),
            inside: base.inside,
        })
    }

    fn spill(&mut self, expr: &Expr) -> Result<Place, LowerError> {
        let value = self.value(expr)?;
        let place = self.temporary(&expr.ty, expr.span)?;
        self.push(Statement::Store {
            pointer: place.pointer,
            value,
        });
        Ok(place)
    }

    /// The target of an assignment to `expr`.
    pub(super) fn target(&mut self, expr: &Expr) -> Result<Target, LowerError> {
        if self.names_memory(expr) {
            return Ok(Target::Place(self.place(expr)?));
        }
        // A swizzle of a swizzle is one swizzle.
        let mut components: Option<Vec<u8>> = None;
        let mut at = expr;
        while let ExprKind::Swizzle(base, swizzle) = &at.kind {
            components = Some(match components {
                None => swizzle.clone(),
                Some(outer) => outer
                    .iter()
                    .filter_map(|c| swizzle.get(usize::from(*c)).copied())
                    .collect(),
            });
            at = base;
        }
        let Some(components) = components.filter(|_| self.names_memory(at)) else {
            return Err(LowerError::unsupported(
                "a write to something that is not an lvalue",
                expr.span,
            ));
        };
        let base = self.place(at)?;
        let mut places = Vec::new();
        for component in components {
            places.push(self.component(&base, component, expr.span)?);
        }
        if places.len() == 1
            && let Some(place) = places.pop()
        {
            return Ok(Target::Place(place));
        }
        Ok(Target::Components(places, simplify(&expr.ty)))
    }

    pub(super) fn load_target(&mut self, target: &Target, span: Span) -> Result<Value, LowerError> {
        match target {
            Target::Place(place) => self.load(place, span),
            Target::Components(places, ty) => {
                let mut components = Vec::new();
                for place in places {
                    components.push(self.load(place, span)?);
                }
                let ty = self.module.value_type(ty, span)?;
                Ok(self.add(Expression::Compose { ty, components }))
            }
        }
    }

    pub(super) fn store_target(
        &mut self,
        target: &Target,
        value: Value,
        span: Span,
    ) -> Result<(), LowerError> {
        match target {
            Target::Place(place) => self.store(place, value, span),
            Target::Components(places, _) => {
                for (index, place) in (0u32..).zip(places) {
                    let part = self.add(Expression::AccessIndex { base: value, index });
                    self.store(place, part, span)?;
                }
                Ok(())
            }
        }
    }

    /// Stores a value of type `ty` in the place that an `out` argument names.
    pub(super) fn store_out(
        &mut self,
        out: &Expr,
        value: Value,
        ty: &Type,
        span: Span,
    ) -> Result<(), LowerError> {
        let target = self.target(out)?;
        let value = self.convert(value, ty, &out.ty, span)?;
        self.store_target(&target, value, span)
    }

    /// Reads a place as a value of type `ty`.
    pub(super) fn load_as(&mut self, place: &Place, ty: &Type, span: Span) -> Result<Value, LowerError> {
        let value = self.load(place, span)?;
        self.convert(value, &place.ty, ty, span)
    }

    /// Reads a place as a value of its HLSL type.
    pub(super) fn load(&mut self, place: &Place, span: Span) -> Result<Value, LowerError> {
        if let Some(condition) = place.inside {
            let accept = self.load(&place.anywhere(), span)?;
            let reject = self.zero(&place.ty, span)?;
            return Ok(self.add(Expression::Select {
                condition,
                accept,
                reject,
            }));
        }
        if self.module.types.is_plain(&place.ty, &place.shape) {
            return Ok(self.add(Expression::Load {
                pointer: place.pointer,
            }));
        }
        if let Some(parts) = self.parts(place, span)? {
            let mut components = Vec::new();
            for part in parts {
                components.push(self.deeper(span, |body| body.load(&part, span))?);
            }
            let ty = self.module.value_type(&place.ty, span)?;
            return Ok(self.compose(ty, components));
        }
        let loaded = self.add(Expression::Load {
            pointer: place.pointer,
        });
        if place.shape.storage && place.ty.scalar() == Some(Scalar::Bool) {
            let zero = self.zero(&place.ty.with_scalar(Scalar::Uint), span)?;
            return Ok(self.emit_binary(BinaryOperator::NotEqual, loaded, zero));
        }
        Ok(loaded)
    }

    /// Writes a value of the place's HLSL type.
    pub(super) fn store(&mut self, place: &Place, value: Value, span: Span) -> Result<(), LowerError> {
        if let Some(condition) = place.inside {
            let accept = self.nested(|body| body.store(&place.anywhere(), value, span))?;
            self.push(Statement::If {
                condition,
                accept,
                reject: naga::Block::new(),
            });
            return Ok(());
        }
        let mut value = value;
        if !self.module.types.is_plain(&place.ty, &place.shape) {
            if let Some(parts) = self.parts(place, span)? {
                for (index, part) in (0u32..).zip(parts) {
                    let component = self.add(Expression::AccessIndex { base: value, index });
                    self.deeper(span, |body| body.store(&part, component, span))?;
                }
                return Ok(());
            }
            if place.shape.storage && place.ty.scalar() == Some(Scalar::Bool) {
                value = self.add(Expression::As {
                    expr: value,
                    kind: naga::ScalarKind::Uint,
                    convert: Some(4),
                });
            }
        }
        self.push(Statement::Store {
            pointer: place.pointer,
            value,
        });
        Ok(())
    }

    /// The elements of an array or the fields of a struct.
    fn parts(&mut self, place: &Place, span: Span) -> Result<Option<Vec<Place>>, LowerError> {
        let shader = self.module.shader;
        match &place.ty {
            Type::Array(element, length) => {
                if *length > COMPONENTS {
                    return Err(LowerError::unsupported("a copy of an array this long", span));
                }
                let mut parts = Vec::new();
                for index in 0..*length {
                    parts.push(Place {
                        pointer: self.add(Expression::AccessIndex {
                            base: place.pointer,
                            index,
                        }),
                        ty: simplify(element),
                        shape: place.shape.clone(),
                        inside: place.inside,
                    });
                }
                Ok(Some(parts))
            }
            Type::Struct(id) => {
                let Some(structure) = shader.structs.get(id.0 as usize) else {
                    return Err(LowerError::unsupported("an unknown struct", span));
                };
                Ok(Some(
                    (0u32..)
                        .zip(&structure.fields)
                        .map(|(at, field)| self.field(place, at, &field.ty))
                        .collect(),
                ))
            }
            _ => Ok(None),
        }
    }
}

/// The type of a subscript of `ty`.
pub(super) fn element_type(ty: &Type) -> Option<Type> {
    match ty {
        Type::Array(element, _) => Some(Type::clone(element)),
        Type::Vector(scalar, _) | Type::Scalar(scalar) => Some(Type::Scalar(*scalar)),
        Type::Matrix(scalar, _, columns) => Some(Type::Vector(*scalar, *columns)),
        _ => None,
    }
}

fn length(ty: &Type) -> u32 {
    match ty {
        Type::Array(_, length) => *length,
        Type::Vector(_, n) => vector_size(*n).map_or(1, u32::from),
        Type::Matrix(_, rows, _) => u32::from(*rows),
        _ => 1,
    }
}
