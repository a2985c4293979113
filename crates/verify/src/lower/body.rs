//! One function: parameters, locals, and the making of naga expressions.

use naga::{BinaryOperator, BuiltIn, Expression, Handle, Statement};
use shaderlint_hlsl::{Direction, Function, LocalId, Scalar, Span, Type};

use super::LowerError;
use super::module::{GlobalPlace, Unit, literal};
use super::place::Place;
use super::reach::Instance;
use super::types::{Shape, simplify};

pub(super) type Value = Handle<Expression>;

/// Deepest nesting of statements and expressions together.
const DEPTH: u32 = 300;

/// A function being lowered.
pub(super) struct Body<'u, 'a> {
    pub(super) unit: &'u mut Unit<'a>,
    pub(super) instance: Instance,
    pub(super) source: &'a Function,
    pub(super) function: naga::Function,
    /// The block that statements go to.
    pub(super) block: naga::Block,
    locals: Vec<Option<Place>>,
    built_ins: Vec<(BuiltIn, Value)>,
    depth: u32,
}

pub(super) fn lower_function(
    unit: &mut Unit<'_>,
    instance: &Instance,
    is_entry: bool,
) -> Result<naga::Function, LowerError> {
    let shader = unit.shader;
    let Some(source) = shader.functions.get(instance.function.0 as usize) else {
        return Err(LowerError::unsupported("no such function", Span::default()));
    };
    let Some(statements) = &source.body else {
        return Err(LowerError::unsupported(
            "a function without a body",
            source.name_span,
        ));
    };
    let mut body = Body {
        unit,
        instance: instance.clone(),
        source,
        function: naga::Function {
            name: Some(source.name.clone()),
            ..naga::Function::default()
        },
        block: naga::Block::new(),
        locals: vec![None; source.locals.len()],
        built_ins: Vec::new(),
        depth: 0,
    };
    if is_entry {
        body.entry_parameters()?;
    } else {
        body.parameters()?;
    }
    body.statements(statements)?;
    body.finish()
}

impl<'a> Body<'_, 'a> {
    fn finish(mut self) -> Result<naga::Function, LowerError> {
        if self.function.result.is_some() && !matches!(self.block.last(), Some(Statement::Return { .. })) {
            // HLSL leaves the value of a path without `return` undefined.
            let zero = self.zero(&self.source.returns, self.source.name_span)?;
            self.push(Statement::Return { value: Some(zero) });
        }
        self.function.body = self.block;
        Ok(self.function)
    }

    fn parameters(&mut self) -> Result<(), LowerError> {
        let source = self.source;
        for parameter in &source.parameters {
            let Some(local) = source.locals.get(parameter.local.0 as usize) else {
                return Err(LowerError::unsupported(
                    "a parameter without a variable",
                    source.name_span,
                ));
            };
            if matches!(local.ty, Type::Resource(..)) {
                continue;
            }
            let ty = self.unit.value_type(&local.ty, local.span)?;
            let index = u32::try_from(self.function.arguments.len()).unwrap_or(u32::MAX);
            let is_pointer = parameter.direction != Direction::In;
            let argument_type = if is_pointer {
                self.unit.module.types.insert(
                    naga::Type {
                        name: None,
                        inner: naga::TypeInner::Pointer {
                            base: ty,
                            space: naga::AddressSpace::Function,
                        },
                    },
                    naga::Span::UNDEFINED,
                )
            } else {
                ty
            };
            self.function.arguments.push(naga::FunctionArgument {
                name: Some(local.name.clone()),
                ty: argument_type,
                binding: None,
            });
            let argument = self.add(Expression::FunctionArgument(index));
            if is_pointer {
                let place = Place::plain(argument, simplify(&local.ty));
                self.set_local(parameter.local, place);
            } else {
                let place = self.local(parameter.local, local.span)?;
                self.push(Statement::Store {
                    pointer: place.pointer,
                    value: argument,
                });
            }
        }
        if source.returns != Type::Void {
            let ty = self.unit.value_type(&source.returns, source.name_span)?;
            self.function.result = Some(naga::FunctionResult { ty, binding: None });
        }
        Ok(())
    }

    fn entry_parameters(&mut self) -> Result<(), LowerError> {
        let source = self.source;
        if source.returns != Type::Void {
            return Err(LowerError::unsupported(
                "an entry point that returns a value",
                source.name_span,
            ));
        }
        self.lanes();
        for parameter in &source.parameters {
            let Some(local) = source.locals.get(parameter.local.0 as usize) else {
                return Err(LowerError::unsupported(
                    "a parameter without a variable",
                    source.name_span,
                ));
            };
            let place = self.local(parameter.local, local.span)?;
            self.input(&local.name, parameter.semantic.as_deref(), &place, local.span)?;
        }
        for id in std::mem::take(&mut self.unit.late_statics) {
            let shader = self.unit.shader;
            let (Some(global), Some(GlobalPlace::Variable(variable))) = (
                shader.globals.get(id.0 as usize),
                self.unit.globals.get(&id).cloned(),
            ) else {
                continue;
            };
            if let Some(init) = &global.init {
                let pointer = self.add(Expression::GlobalVariable(variable));
                let value = self.value_as(init, &global.ty)?;
                self.push(Statement::Store { pointer, value });
            }
        }
        Ok(())
    }

    /// Sets an entry parameter or a field of one: a struct without a semantic has those of its fields.
    fn input(
        &mut self,
        name: &str,
        semantic: Option<&str>,
        place: &Place,
        span: Span,
    ) -> Result<(), LowerError> {
        let shader = self.unit.shader;
        if let Some(semantic) = semantic {
            return self.system_value(semantic, place, span);
        }
        let fields = match &place.ty {
            Type::Struct(id) => shader.structs.get(id.0 as usize).map(|s| &s.fields),
            _ => None,
        };
        let Some(fields) = fields else {
            return Err(LowerError::unsupported(
                format_args!("the input `{name}` of the entry point has no semantic"),
                span,
            ));
        };
        for (at, field) in (0u32..).zip(fields) {
            let place = self.field(place, at, &field.ty);
            self.input(&field.name, field.semantic.as_deref(), &place, span)?;
        }
        Ok(())
    }

    /// Sets the variables that callees read built-ins from.
    fn lanes(&mut self) {
        for (variable, built_in) in [
            (self.unit.lane_count, BuiltIn::SubgroupSize),
            (self.unit.lane_index, BuiltIn::SubgroupInvocationId),
            (self.unit.thread_index, BuiltIn::LocalInvocationIndex),
        ] {
            if let Some(variable) = variable {
                let pointer = self.add(Expression::GlobalVariable(variable));
                let value = self.built_in(built_in);
                self.push(Statement::Store { pointer, value });
            }
        }
    }

    /// `SV_GroupThreadID`.
    fn group_thread_id(&mut self) -> Result<Value, LowerError> {
        if self.unit.workgroup_size == self.unit.group_size {
            return Ok(self.built_in(BuiltIn::LocalInvocationId));
        }
        let [columns, rows, _] = self.unit.group_size;
        let index = self.built_in(BuiltIn::LocalInvocationIndex);
        let (columns, rows) = (self.uint(columns), self.uint(rows));
        let mut binary = |op, left, right| self.add(Expression::Binary { op, left, right });
        let x = binary(BinaryOperator::Modulo, index, columns);
        let row = binary(BinaryOperator::Divide, index, columns);
        let y = binary(BinaryOperator::Modulo, row, rows);
        let z = binary(BinaryOperator::Divide, row, rows);
        self.uint3([x, y, z])
    }

    /// `SV_DispatchThreadID`: `SV_GroupID * numthreads + SV_GroupThreadID`.
    fn dispatch_thread_id(&mut self) -> Result<Value, LowerError> {
        if self.unit.workgroup_size == self.unit.group_size {
            return Ok(self.built_in(BuiltIn::GlobalInvocationId));
        }
        let size = self.unit.group_size.map(|n| self.uint(n));
        let size = self.uint3(size)?;
        let (group, thread) = (self.built_in(BuiltIn::WorkGroupId), self.group_thread_id()?);
        let mut binary = |op, left, right| self.add(Expression::Binary { op, left, right });
        let first = binary(BinaryOperator::Multiply, group, size);
        Ok(binary(BinaryOperator::Add, first, thread))
    }

    fn uint3(&mut self, components: [Value; 3]) -> Result<Value, LowerError> {
        let ty = self.unit.vector_type(Scalar::Uint, 3, self.source.name_span)?;
        let components = components.to_vec();
        Ok(self.add(Expression::Compose { ty, components }))
    }

    fn system_value(&mut self, semantic: &str, place: &Place, span: Span) -> Result<(), LowerError> {
        const UINT3: Type = Type::Vector(Scalar::Uint, 3);
        let (value, from) = match semantic.to_ascii_lowercase().as_str() {
            "sv_groupindex" => (self.built_in(BuiltIn::LocalInvocationIndex), Type::UINT),
            "sv_groupthreadid" => (self.group_thread_id()?, UINT3),
            "sv_groupid" => (self.built_in(BuiltIn::WorkGroupId), UINT3),
            "sv_dispatchthreadid" => (self.dispatch_thread_id()?, UINT3),
            _ => {
                return Err(LowerError::unsupported(
                    format_args!("the semantic `{semantic}` in a compute kernel"),
                    span,
                ));
            }
        };
        let value = self.convert(value, &from, &place.ty, span)?;
        self.store(place, value, span)
    }

    fn built_in(&mut self, built_in: BuiltIn) -> Value {
        if let Some((_, value)) = self.built_ins.iter().find(|(b, _)| *b == built_in) {
            return *value;
        }
        let inner = match built_in {
            BuiltIn::LocalInvocationId | BuiltIn::WorkGroupId | BuiltIn::GlobalInvocationId => {
                naga::TypeInner::Vector {
                    size: naga::VectorSize::Tri,
                    scalar: naga::Scalar::U32,
                }
            }
            _ => naga::TypeInner::Scalar(naga::Scalar::U32),
        };
        let ty = self
            .unit
            .module
            .types
            .insert(naga::Type { name: None, inner }, naga::Span::UNDEFINED);
        let index = u32::try_from(self.function.arguments.len()).unwrap_or(u32::MAX);
        self.function.arguments.push(naga::FunctionArgument {
            name: Some(
                match built_in {
                    BuiltIn::LocalInvocationIndex => "group_index",
                    BuiltIn::LocalInvocationId => "group_thread_id",
                    BuiltIn::WorkGroupId => "group_id",
                    BuiltIn::GlobalInvocationId => "dispatch_thread_id",
                    BuiltIn::SubgroupSize => "subgroup_size",
                    _ => "subgroup_invocation_id",
                }
                .into(),
            ),
            ty,
            binding: Some(naga::Binding::BuiltIn(built_in)),
        });
        let value = self.add(Expression::FunctionArgument(index));
        self.built_ins.push((built_in, value));
        value
    }

    /// The place of a local; made at its first use.
    pub(super) fn local(&mut self, id: LocalId, span: Span) -> Result<Place, LowerError> {
        if let Some(Some(place)) = self.locals.get(id.0 as usize) {
            return Ok(place.clone());
        }
        let Some(local) = self.source.locals.get(id.0 as usize) else {
            return Err(LowerError::unsupported("an unknown variable", span));
        };
        let ty = self.unit.value_type(&local.ty, local.span)?;
        let pointer = self.variable(Some(local.name.clone()), ty);
        let place = Place::plain(pointer, simplify(&local.ty));
        self.set_local(id, place.clone());
        Ok(place)
    }

    fn set_local(&mut self, id: LocalId, place: Place) {
        if let Some(slot) = self.locals.get_mut(id.0 as usize) {
            *slot = Some(place);
        }
    }

    fn variable(&mut self, name: Option<String>, ty: Handle<naga::Type>) -> Value {
        let variable = self.function.local_variables.append(
            naga::LocalVariable { name, ty, init: None },
            naga::Span::UNDEFINED,
        );
        self.add(Expression::LocalVariable(variable))
    }

    /// A fresh variable of this type.
    pub(super) fn temporary(&mut self, ty: &Type, span: Span) -> Result<Place, LowerError> {
        let naga_ty = self.unit.value_type(ty, span)?;
        let pointer = self.variable(None, naga_ty);
        Ok(Place::plain(pointer, simplify(ty)))
    }

    /// Adds an expression; it is evaluated here.
    pub(super) fn add(&mut self, expression: Expression) -> Value {
        let needs_emit = !expression.needs_pre_emit();
        let handle = self
            .function
            .expressions
            .append(expression, naga::Span::UNDEFINED);
        if needs_emit {
            let range = naga::Range::new_from_bounds(handle, handle);
            self.push(Statement::Emit(range));
        }
        handle
    }

    /// Adds the result of a statement that is yet to be pushed.
    pub(super) fn add_result(&mut self, expression: Expression) -> Value {
        self.function
            .expressions
            .append(expression, naga::Span::UNDEFINED)
    }

    pub(super) fn push(&mut self, statement: Statement) {
        self.block.push(statement, naga::Span::UNDEFINED);
    }

    /// Runs `fill` with a block of its own and returns that block.
    pub(super) fn nested(
        &mut self,
        fill: impl FnOnce(&mut Self) -> Result<(), LowerError>,
    ) -> Result<naga::Block, LowerError> {
        let outer = std::mem::take(&mut self.block);
        let result = fill(self);
        let inner = std::mem::replace(&mut self.block, outer);
        result.map(|()| inner)
    }

    /// Runs `inner` one level deeper, unless that is too deep.
    pub(super) fn deeper<T>(
        &mut self,
        span: Span,
        inner: impl FnOnce(&mut Self) -> Result<T, LowerError>,
    ) -> Result<T, LowerError> {
        if self.depth >= DEPTH {
            return Err(LowerError::unsupported("code nested this deep", span));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    pub(super) fn uint(&mut self, value: u32) -> Value {
        self.add(Expression::Literal(naga::Literal::U32(value)))
    }

    pub(super) fn zero(&mut self, ty: &Type, span: Span) -> Result<Value, LowerError> {
        let ty = self.unit.value_type(ty, span)?;
        Ok(self.add(Expression::ZeroValue(ty)))
    }

    /// A scalar constant of this bit pattern.
    pub(super) fn literal(&mut self, scalar: Scalar, bits: u32, span: Span) -> Result<Value, LowerError> {
        if let Some(literal) = literal(scalar, bits) {
            return Ok(self.add(Expression::Literal(literal)));
        }
        if !matches!(scalar, Scalar::Float | Scalar::Half) {
            return Err(LowerError::unsupported(
                format_args!("`{}` has no WGSL type", scalar.name()),
                span,
            ));
        }
        let pattern = self.uint(bits);
        let pattern = self.read_at_run_time(pattern, &Type::UINT, span)?;
        Ok(self.bit_cast(pattern, naga::ScalarKind::Float))
    }

    /// The value as it is read from a variable: WGSL refuses constant expressions that are NaN or infinite.
    fn read_at_run_time(&mut self, value: Value, ty: &Type, span: Span) -> Result<Value, LowerError> {
        let pointer = self.temporary(ty, span)?.pointer;
        self.push(Statement::Store { pointer, value });
        Ok(self.add(Expression::Load { pointer }))
    }

    /// The float with the bits of a value of type `ty`.
    pub(super) fn float_of_bits(&mut self, value: Value, ty: &Type, span: Span) -> Result<Value, LowerError> {
        let value = if self.is_constant(value) {
            self.read_at_run_time(value, ty, span)?
        } else {
            value
        };
        Ok(self.bit_cast(value, naga::ScalarKind::Float))
    }

    /// Whether WGSL takes this for a constant expression.
    fn is_constant(&self, value: Value) -> bool {
        use Expression as E;
        match &self.function.expressions[value] {
            E::Literal(_) | E::Constant(_) | E::ZeroValue(_) => true,
            E::Compose { components, .. } => components.iter().all(|part| self.is_constant(*part)),
            E::Splat { value: of, .. }
            | E::Swizzle { vector: of, .. }
            | E::AccessIndex { base: of, .. }
            | E::Unary { expr: of, .. }
            | E::As { expr: of, .. } => self.is_constant(*of),
            E::Binary { left, right, .. } => self.is_constant(*left) && self.is_constant(*right),
            E::Select {
                condition,
                accept,
                reject,
            } => [condition, accept, reject]
                .into_iter()
                .all(|part| self.is_constant(*part)),
            E::Math {
                arg,
                arg1,
                arg2,
                arg3,
                ..
            } => [Some(arg), arg1.as_ref(), arg2.as_ref(), arg3.as_ref()]
                .into_iter()
                .flatten()
                .all(|part| self.is_constant(*part)),
            _ => false,
        }
    }

    pub(super) fn bit_cast(&mut self, value: Value, kind: naga::ScalarKind) -> Value {
        self.add(Expression::As {
            expr: value,
            kind,
            convert: None,
        })
    }

    /// The function that `id` names, outliving this borrow.
    pub(super) fn shader_function(&self, id: shaderlint_hlsl::FunctionId) -> Option<&'a Function> {
        let shader = self.unit.shader;
        shader.functions.get(id.0 as usize)
    }

    pub(super) fn shape_of_global(&self, id: shaderlint_hlsl::GlobalId, storage: bool) -> Shape {
        Shape {
            storage,
            atomic: self.unit.reach.atomics.contains_key(&id).then_some(id),
            path: Vec::new(),
        }
    }
}
