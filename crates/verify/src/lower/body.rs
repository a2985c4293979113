//! The naga function under construction: its locals, expressions and statements.

use naga::{BinaryOperator, Expression, Handle, MathFunction, Statement};
use shaderlint_hlsl::{Expr, Function, FunctionId, Global, LocalId, Scalar, Span, Type};

use super::LowerError;
use super::module::ModuleBuilder;
use super::reach::Instance;
use super::types::{Shape, literal, simplify};

pub(super) type Value = Handle<Expression>;

/// Deepest nesting of statements and expressions together.
const DEPTH: u32 = 300;

/// Memory behind a pointer.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) pointer: Value,
    /// The HLSL type of the value; a vector of one component is a scalar.
    pub(super) ty: Type,
    pub(super) shape: Shape,
    /// Of a texel, whether it lies inside the texture. Outside, reads give 0 and writes do nothing.
    pub(super) inside: Option<Value>,
}

impl Place {
    pub(super) fn plain(pointer: Value, ty: Type) -> Self {
        Self {
            pointer,
            ty,
            shape: Shape::VALUE,
            inside: None,
        }
    }

    /// The place of a texel that is known to be inside.
    pub(super) fn anywhere(&self) -> Place {
        Place {
            inside: None,
            ..self.clone()
        }
    }
}

/// The function under construction.
pub(super) struct Body<'m, 'a> {
    pub(super) module: &'m mut ModuleBuilder<'a>,
    pub(super) instance: Instance,
    pub(super) source: &'a Function,
    pub(super) function: naga::Function,
    /// The block that statements go to.
    pub(super) block: naga::Block,
    locals: Vec<Option<Place>>,
    depth: u32,
}

impl<'m, 'a> Body<'m, 'a> {
    /// A function without parameters and statements.
    pub(super) fn new(module: &'m mut ModuleBuilder<'a>, instance: &Instance) -> Result<Self, LowerError> {
        let shader = module.shader;
        let Some(source) = shader.functions.get(instance.function.0 as usize) else {
            return Err(LowerError::unsupported("no such function", Span::default()));
        };
        Ok(Body {
            module,
            instance: instance.clone(),
            source,
            function: naga::Function {
                name: Some(source.name.clone()),
                ..naga::Function::default()
            },
            block: naga::Block::new(),
            locals: vec![None; source.locals.len()],
            depth: 0,
        })
    }

    /// Adds an argument of the function.
    pub(super) fn argument(
        &mut self,
        name: &str,
        ty: Handle<naga::Type>,
        binding: Option<naga::Binding>,
    ) -> Value {
        let index = u32::try_from(self.function.arguments.len()).unwrap_or(u32::MAX);
        self.function.arguments.push(naga::FunctionArgument {
            name: Some(name.to_owned()),
            ty,
            binding,
        });
        self.add(Expression::FunctionArgument(index))
    }

    /// The place of a local variable, which its first use makes.
    pub(super) fn local(&mut self, id: LocalId, span: Span) -> Result<Place, LowerError> {
        if let Some(Some(place)) = self.locals.get(id.0 as usize) {
            return Ok(place.clone());
        }
        let Some(local) = self.source.locals.get(id.0 as usize) else {
            return Err(LowerError::unsupported("an unknown variable", span));
        };
        let ty = self.module.value_type(&local.ty, local.span)?;
        let pointer = self.variable(Some(local.name.clone()), ty);
        let place = Place::plain(pointer, simplify(&local.ty));
        self.set_local(id, place.clone());
        Ok(place)
    }

    pub(super) fn set_local(&mut self, id: LocalId, place: Place) {
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
        let naga_ty = self.module.value_type(ty, span)?;
        let pointer = self.variable(None, naga_ty);
        Ok(Place::plain(pointer, simplify(ty)))
    }

    /// Adds an expression and evaluates it here.
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

    /// Adds the result of a statement that the caller pushes next.
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

    /// Runs `inner` one level deeper, up to a limit.
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

    /// naga's own operator, without HLSL's rules.
    pub(super) fn emit_binary(&mut self, op: BinaryOperator, left: Value, right: Value) -> Value {
        self.add(Expression::Binary { op, left, right })
    }

    /// naga's own function of one to four arguments, without HLSL's rules.
    pub(super) fn emit_math(&mut self, fun: MathFunction, arg: Value, more: &[Value]) -> Value {
        let mut more = more.iter().copied();
        self.add(Expression::Math {
            fun,
            arg,
            arg1: more.next(),
            arg2: more.next(),
            arg3: more.next(),
        })
    }

    pub(super) fn uint(&mut self, value: u32) -> Value {
        self.add(Expression::Literal(naga::Literal::U32(value)))
    }

    pub(super) fn zero(&mut self, ty: &Type, span: Span) -> Result<Value, LowerError> {
        let ty = self.module.value_type(ty, span)?;
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

    /// Reads the value back from a variable: WGSL refuses constant expressions that are NaN or infinite.
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

    /// Whether WGSL sees a constant expression here.
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
    pub(super) fn shader_function(&self, id: FunctionId) -> Option<&'a Function> {
        let shader = self.module.shader;
        shader.functions.get(id.0 as usize)
    }

    /// The name of the global that `expr` names.
    pub(super) fn global_name(&self, expr: &Expr) -> &'a str {
        self.named_global(expr).map_or("", |global| &global.name)
    }

    /// The global that `expr` names, outliving this borrow.
    pub(super) fn named_global(&self, expr: &Expr) -> Option<&'a Global> {
        let shader = self.module.shader;
        let id = self.instance.global_of(self.source, expr)?;
        shader.globals.get(id.0 as usize)
    }
}
