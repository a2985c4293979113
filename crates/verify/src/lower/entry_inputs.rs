//! The inputs of the entry point: system values, lane built-ins and late statics.

use naga::{BinaryOperator, BuiltIn, Expression, Statement};
use shaderlint_hlsl::{Scalar, Span, Type};

use super::LowerError;
use super::body::{Body, Place, Value};
use super::module::{LoweredGlobal, ModuleBuilder};
use super::reach::Instance;

/// Lowers the entry point's function.
pub(super) fn lower_entry_function(
    module: &mut ModuleBuilder<'_>,
    instance: &Instance,
) -> Result<naga::Function, LowerError> {
    let mut body = Body::new(module, instance)?;
    let mut inputs = EntryInputs {
        body: &mut body,
        built_ins: Vec::new(),
    };
    inputs.set_all()?;
    body.late_statics()?;
    body.finish()
}

/// Turns WGSL's built-ins, which are arguments of the entry point, into what HLSL names.
struct EntryInputs<'b, 'm, 'a> {
    body: &'b mut Body<'m, 'a>,
    /// The arguments so far.
    built_ins: Vec<(BuiltIn, Value)>,
}

impl EntryInputs<'_, '_, '_> {
    fn set_all(&mut self) -> Result<(), LowerError> {
        let source = self.body.source;
        if source.returns != Type::Void {
            return Err(LowerError::unsupported(
                "an entry point that returns a value",
                source.name_span,
            ));
        }
        self.set_lane_variables();
        for parameter in &source.parameters {
            let Some(local) = source.locals.get(parameter.local.0 as usize) else {
                return Err(LowerError::unsupported(
                    "a parameter without a variable",
                    source.name_span,
                ));
            };
            let place = self.body.local(parameter.local, local.span)?;
            self.set(&local.name, parameter.semantic.as_deref(), &place, local.span)?;
        }
        Ok(())
    }

    /// Sets the variables that callees read built-ins from.
    fn set_lane_variables(&mut self) {
        for (variable, built_in) in [
            (self.body.module.lane_count, BuiltIn::SubgroupSize),
            (self.body.module.lane_index, BuiltIn::SubgroupInvocationId),
            (self.body.module.thread_index, BuiltIn::LocalInvocationIndex),
        ] {
            if let Some(variable) = variable {
                let pointer = self.body.add(Expression::GlobalVariable(variable));
                let value = self.built_in(built_in);
                self.body.push(Statement::Store { pointer, value });
            }
        }
    }

    /// Sets a parameter or a field of one: a struct without a semantic has those of its fields.
    fn set(
        &mut self,
        name: &str,
        semantic: Option<&str>,
        place: &Place,
        span: Span,
    ) -> Result<(), LowerError> {
        if let Some(semantic) = semantic {
            return self.set_system_value(semantic, place, span);
        }
        let shader = self.body.module.shader;
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
            let place = self.body.field(place, at, &field.ty);
            self.set(&field.name, field.semantic.as_deref(), &place, span)?;
        }
        Ok(())
    }

    fn set_system_value(&mut self, semantic: &str, place: &Place, span: Span) -> Result<(), LowerError> {
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
        let value = self.body.convert(value, &from, &place.ty, span)?;
        self.body.store(place, value, span)
    }

    /// `SV_GroupThreadID`.
    fn group_thread_id(&mut self) -> Result<Value, LowerError> {
        if self.body.module.workgroup_size == self.body.module.group_size {
            return Ok(self.built_in(BuiltIn::LocalInvocationId));
        }
        let [columns, rows, _] = self.body.module.group_size;
        let index = self.built_in(BuiltIn::LocalInvocationIndex);
        let body = &mut *self.body;
        let (columns, rows) = (body.uint(columns), body.uint(rows));
        let x = body.emit_binary(BinaryOperator::Modulo, index, columns);
        let row = body.emit_binary(BinaryOperator::Divide, index, columns);
        let y = body.emit_binary(BinaryOperator::Modulo, row, rows);
        let z = body.emit_binary(BinaryOperator::Divide, row, rows);
        self.uint3([x, y, z])
    }

    /// `SV_DispatchThreadID`: `SV_GroupID * numthreads + SV_GroupThreadID`.
    fn dispatch_thread_id(&mut self) -> Result<Value, LowerError> {
        if self.body.module.workgroup_size == self.body.module.group_size {
            return Ok(self.built_in(BuiltIn::GlobalInvocationId));
        }
        let size = self.body.module.group_size.map(|n| self.body.uint(n));
        let size = self.uint3(size)?;
        let (group, thread) = (self.built_in(BuiltIn::WorkGroupId), self.group_thread_id()?);
        let first = self.body.emit_binary(BinaryOperator::Multiply, group, size);
        Ok(self.body.emit_binary(BinaryOperator::Add, first, thread))
    }

    fn uint3(&mut self, components: [Value; 3]) -> Result<Value, LowerError> {
        let body = &mut *self.body;
        let ty = body.module.vector_type(Scalar::Uint, 3, body.source.name_span)?;
        let components = components.to_vec();
        Ok(body.add(Expression::Compose { ty, components }))
    }

    /// The argument of the entry point that is this built-in. Its first use adds it.
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
        let name = match built_in {
            BuiltIn::LocalInvocationIndex => "group_index",
            BuiltIn::LocalInvocationId => "group_thread_id",
            BuiltIn::WorkGroupId => "group_id",
            BuiltIn::GlobalInvocationId => "dispatch_thread_id",
            BuiltIn::SubgroupSize => "subgroup_size",
            _ => "subgroup_invocation_id",
        };
        let ty = self.body.module.unnamed_type(inner);
        let binding = naga::Binding::BuiltIn(built_in);
        let value = self.body.argument(name, ty, Some(binding));
        self.built_ins.push((built_in, value));
        value
    }
}

impl Body<'_, '_> {
    /// Sets the mutable statics whose initialisers do not fold.
    fn late_statics(&mut self) -> Result<(), LowerError> {
        let shader = self.module.shader;
        for id in std::mem::take(&mut self.module.late_statics) {
            let (Some(global), Some(LoweredGlobal::Variable(variable))) = (
                shader.globals.get(id.0 as usize),
                self.module.globals.get(&id).cloned(),
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
}
