//! Expressions, for their values or their effects.

use naga::{Expression, Statement, SwizzleComponent};
use shaderlint_hlsl::{BinaryOp, Direction, Expr, ExprKind, FunctionId, Scalar, Span, Storage, Type};

use super::body::{Body, Place, Value};
use super::module::LoweredGlobal;
use super::place::Target;
use super::texture_use::is_read_texture;
use super::types::{simplify, vector_size};
use super::{LowerError, constant};

/// A larger expression is evaluated only where it is needed.
const CHEAP: usize = 16;

impl Body<'_, '_> {
    /// The value of `expr`, of its own type.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<Value, LowerError> {
        let value = self.deeper(expr.span, |body| body.expr(expr, true))?;
        value.ok_or_else(|| LowerError::unsupported("the value of something that has none", expr.span))
    }

    /// The value of `expr`, converted to `ty`.
    pub(super) fn value_as(&mut self, expr: &Expr, ty: &Type) -> Result<Value, LowerError> {
        let value = self.value(expr)?;
        self.convert(value, &expr.ty, ty, expr.span)
    }

    /// Evaluates `expr` for its effects.
    pub(super) fn effect(&mut self, expr: &Expr) -> Result<(), LowerError> {
        self.deeper(expr.span, |body| body.expr(expr, false)).map(|_| ())
    }

    /// `None` where the expression has no value, or where the caller wants none and it has effects.
    fn expr(&mut self, expr: &Expr, wanted: bool) -> Result<Option<Value>, LowerError> {
        let span = expr.span;
        if let Some(value) = self.try_fold(expr)? {
            return Ok(Some(value));
        }
        match &expr.kind {
            ExprKind::Literal(bits) => match simplify(&expr.ty) {
                Type::Scalar(scalar) => self.literal(scalar, *bits, span).map(Some),
                _ => Err(LowerError::unsupported("a literal of this type", span)),
            },
            ExprKind::Global(id) => match self.module.globals.get(id).cloned() {
                Some(LoweredGlobal::Constant(constant)) => Ok(Some(self.add(Expression::Constant(constant)))),
                Some(LoweredGlobal::Inline) => {
                    let shader = self.module.shader;
                    match shader.globals.get(id.0 as usize) {
                        Some(global) if global.init.is_some() => match &global.init {
                            Some(init) => self.value_as(init, &global.ty).map(Some),
                            None => Ok(None),
                        },
                        _ => Err(LowerError::unsupported("a constant without a value", span)),
                    }
                }
                _ => self.load_named(expr).map(Some),
            },
            ExprKind::Local(_) => self.load_named(expr).map(Some),
            ExprKind::Unary(op, operand) => self.unary(*op, operand).map(Some),
            ExprKind::Binary(op, left, right) => self.binary_expr(*op, left, right, span).map(Some),
            ExprKind::Ternary(condition, yes, no) => self.ternary(condition, yes, no, expr, wanted),
            ExprKind::Assign { target, op, value } => self.assign(target, *op, value, span, wanted),
            ExprKind::Step {
                target,
                increment,
                prefix,
            } => self.step(target, *increment, *prefix, span).map(Some),
            ExprKind::Index(base, index) => self.index(expr, base, index).map(Some),
            ExprKind::Field(base, field) => {
                if self.names_memory(base) {
                    return self.load_named(expr).map(Some);
                }
                let base = self.value(base)?;
                Ok(Some(self.add(Expression::AccessIndex { base, index: *field })))
            }
            ExprKind::Swizzle(base, components) => self.swizzle(base, components, span).map(Some),
            ExprKind::Cast(operand) => self.cast(operand, &expr.ty, span).map(Some),
            ExprKind::Construct(arguments) => self.construct(arguments, &expr.ty, span).map(Some),
            ExprKind::Call(function, arguments) => self.call(*function, arguments, span),
            ExprKind::Intrinsic(intrinsic, arguments) => {
                self.intrinsic(*intrinsic, arguments, &expr.ty, span)
            }
            ExprKind::Method {
                object,
                method,
                arguments,
            } => self.method(object, method, arguments, &expr.ty, span),
            ExprKind::Comma(first, second) => {
                self.effect(first)?;
                self.deeper(span, |body| body.expr(second, wanted))
            }
            // A hash needs the value's type.
            ExprKind::Opaque(operands) if wanted && expr.ty != Type::Unknown => {
                let text = String::from_utf8_lossy(span.slice(&self.module.shader.text));
                // The name is the text up to the arguments, with a cast before it.
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                let mut opened = text
                    .match_indices('(')
                    .map(|(at, _)| text.get(..at).unwrap_or(&text));
                let called = opened.find(|before| before.trim_end().ends_with(is_part));
                let name = called.unwrap_or(&text).trim().to_owned();
                let operands: Vec<&Expr> = operands.iter().collect();
                self.hashed(&name, &operands, &expr.ty, span).map(Some)
            }
            ExprKind::Opaque(_) => Err(LowerError::unsupported(
                "code that shaderlint does not understand",
                span,
            )),
        }
    }

    fn load_named(&mut self, expr: &Expr) -> Result<Value, LowerError> {
        let place = self.place(expr)?;
        self.load_as(&place, &expr.ty, expr.span)
    }

    fn try_fold(&mut self, expr: &Expr) -> Result<Option<Value>, LowerError> {
        let foldable = matches!(
            expr.kind,
            ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Ternary(..)
                | ExprKind::Cast(_)
                | ExprKind::Swizzle(..)
                | ExprKind::Construct(_)
        ) && matches!(simplify(&expr.ty), Type::Scalar(_) | Type::Vector(..));
        if !foldable {
            return Ok(None);
        }
        match constant::fold(self.module.shader, expr) {
            Some(bits) => self.folded(&expr.ty, &bits, expr.span).map(Some),
            None => Ok(None),
        }
    }

    /// A constant scalar or vector. One bit pattern stands for every component.
    pub(super) fn folded(&mut self, ty: &Type, bits: &[u32], span: Span) -> Result<Value, LowerError> {
        match simplify(ty) {
            Type::Vector(scalar, n) => {
                if let [bits] = bits {
                    let value = self.literal(scalar, *bits, span)?;
                    return self.splat(value, n, span);
                }
                let mut components = Vec::new();
                for bits in bits {
                    components.push(self.literal(scalar, *bits, span)?);
                }
                let ty = self.module.value_type(ty, span)?;
                Ok(self.add(Expression::Compose { ty, components }))
            }
            Type::Scalar(scalar) => self.literal(scalar, bits.first().copied().unwrap_or(0), span),
            _ => Err(LowerError::unsupported("a constant of this type", span)),
        }
    }

    fn binary_expr(
        &mut self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) -> Result<Value, LowerError> {
        let is_logical = matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr);
        let is_lazy = !self.evaluates_all() && !self.is_cheap(right);
        if is_logical && simplify(&left.ty) == Type::BOOL && is_lazy {
            let result = self.temporary(&Type::BOOL, span)?;
            let left = self.value(left)?;
            self.push(Statement::Store {
                pointer: result.pointer,
                value: left,
            });
            let rest = self.nested(|body| {
                let value = body.value_as(right, &Type::BOOL)?;
                body.push(Statement::Store {
                    pointer: result.pointer,
                    value,
                });
                Ok(())
            })?;
            let (accept, reject) = if op == BinaryOp::LogicalAnd {
                (rest, naga::Block::new())
            } else {
                (naga::Block::new(), rest)
            };
            self.push(Statement::If {
                condition: left,
                accept,
                reject,
            });
            return Ok(self.add(Expression::Load {
                pointer: result.pointer,
            }));
        }
        let a = self.value(left)?;
        let b = self.right_operand(op, right, &left.ty)?;
        self.binary(op, a, b, &left.ty, span)
    }

    fn ternary(
        &mut self,
        condition: &Expr,
        yes: &Expr,
        no: &Expr,
        expr: &Expr,
        wanted: bool,
    ) -> Result<Option<Value>, LowerError> {
        let span = expr.span;
        let test = self.value(condition)?;
        let is_simple = matches!(simplify(&expr.ty), Type::Scalar(_) | Type::Vector(..));
        let is_scalar = simplify(&condition.ty) == Type::BOOL;
        let is_eager = self.evaluates_all() || self.is_cheap(yes) && self.is_cheap(no);
        if !is_scalar || is_simple && is_eager {
            let accept = self.value_as(yes, &expr.ty)?;
            let reject = self.value_as(no, &expr.ty)?;
            return Ok(Some(self.add(Expression::Select {
                condition: test,
                accept,
                reject,
            })));
        }
        if expr.ty == Type::Void || !wanted {
            let accept = self.nested(|body| body.effect(yes))?;
            let reject = self.nested(|body| body.effect(no))?;
            self.push(Statement::If {
                condition: test,
                accept,
                reject,
            });
            return Ok(None);
        }
        let result = self.temporary(&expr.ty, span)?;
        let mut arm = |arm: &Expr| {
            self.nested(|body| {
                let value = body.value_as(arm, &expr.ty)?;
                body.push(Statement::Store {
                    pointer: result.pointer,
                    value,
                });
                Ok(())
            })
        };
        let (accept, reject) = (arm(yes)?, arm(no)?);
        self.push(Statement::If {
            condition: test,
            accept,
            reject,
        });
        Ok(Some(self.add(Expression::Load {
            pointer: result.pointer,
        })))
    }

    /// Whether `&&`, `||` and `?:` evaluate all operands: before HLSL 2021, and only where the version is given.
    fn evaluates_all(&self) -> bool {
        let version = self.module.shader.version;
        version.is_some_and(|version| !version.is_like_cpp())
    }

    /// Whether a needless evaluation of `expr` is cheap and harmless: no memory but locals, no calls, no effects.
    fn is_cheap(&self, expr: &Expr) -> bool {
        let (mut size, mut cheap) = (0, true);
        for e in expr.descendants() {
            size += 1;
            cheap &= match &e.kind {
                ExprKind::Literal(_)
                | ExprKind::Local(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Ternary(..)
                | ExprKind::Field(..)
                | ExprKind::Swizzle(..)
                | ExprKind::Cast(_)
                | ExprKind::Construct(_) => true,
                ExprKind::Global(id) => matches!(
                    self.module.globals.get(id),
                    Some(LoweredGlobal::Constant(_) | LoweredGlobal::Uniform { .. })
                ),
                _ => false,
            };
        }
        cheap && size <= CHEAP
    }

    fn assign(
        &mut self,
        target: &Expr,
        op: Option<BinaryOp>,
        value: &Expr,
        span: Span,
        wanted: bool,
    ) -> Result<Option<Value>, LowerError> {
        let place = self.target(target)?;
        let new = match op {
            None => self.value_as(value, &target.ty)?,
            Some(op) => {
                let right = self.right_operand(op, value, &value.ty)?;
                let old = self.load_target(&place, span)?;
                let old = self.convert(old, &target.ty, &value.ty, span)?;
                let result = self.binary(op, old, right, &value.ty, span)?;
                self.convert(result, &value.ty, &target.ty, span)?
            }
        };
        self.store_target(&place, new, span)?;
        if wanted { Ok(Some(new)) } else { Ok(None) }
    }

    fn step(
        &mut self,
        target: &Expr,
        increment: bool,
        prefix: bool,
        span: Span,
    ) -> Result<Value, LowerError> {
        let place = self.target(target)?;
        let old = self.load_target(&place, span)?;
        let ty = simplify(&target.ty);
        let one = match ty.scalar() {
            Some(Scalar::Int | Scalar::Uint) => 1,
            Some(Scalar::Float | Scalar::Half) => 1f32.to_bits(),
            _ => return Err(LowerError::unsupported("a step of this type", span)),
        };
        let one = self.folded(&ty, &[one], span)?;
        let op = if increment { BinaryOp::Add } else { BinaryOp::Sub };
        let new = self.binary(op, old, one, &ty, span)?;
        self.store_target(&place, new, span)?;
        Ok(if prefix { new } else { old })
    }

    fn index(&mut self, expr: &Expr, base: &Expr, index: &Expr) -> Result<Value, LowerError> {
        if is_read_texture(&base.ty) && self.buffer(base).is_err() {
            let name = format!("{}[]", self.global_name(base));
            self.module.free.insert(name.clone());
            return self.hashed(&name, &[base, index], &expr.ty, expr.span);
        }
        if let ExprKind::Global(id) = &base.kind
            && let Some(LoweredGlobal::Constant(constant)) = self.module.globals.get(id).cloned()
            && matches!(base.ty, Type::Array(..))
        {
            if let Some(at) = constant::fold_scalar(self.module.shader, index)
                && let Type::Array(_, length) = base.ty
                && at < length
            {
                let base = self.add(Expression::Constant(constant));
                return Ok(self.add(Expression::AccessIndex { base, index: at }));
            }
            let index = self.value_as(index, &Type::UINT)?;
            let base = self.add(Expression::Constant(constant));
            return Ok(self.add(Expression::Access { base, index }));
        }
        self.load_named(expr)
    }

    fn swizzle(&mut self, base: &Expr, components: &[u8], span: Span) -> Result<Value, LowerError> {
        let ty = simplify(&base.ty);
        let value = self.value(base)?;
        let invalid = || LowerError::unsupported("this swizzle", span);
        match ty {
            Type::Scalar(_) if components.iter().any(|c| *c != 0) => Err(invalid()),
            Type::Scalar(_) => {
                let n = u8::try_from(components.len()).map_err(|_| invalid())?;
                self.splat(value, n, span)
            }
            Type::Vector(_, n) => {
                let mut pattern = [SwizzleComponent::X; 4];
                for (slot, component) in pattern.iter_mut().zip(components) {
                    *slot = match component {
                        c if *c >= n => return Err(invalid()),
                        0 => SwizzleComponent::X,
                        1 => SwizzleComponent::Y,
                        2 => SwizzleComponent::Z,
                        _ => SwizzleComponent::W,
                    };
                }
                match components {
                    [one] => Ok(self.add(Expression::AccessIndex {
                        base: value,
                        index: u32::from(*one),
                    })),
                    many => {
                        let size = u8::try_from(many.len())
                            .ok()
                            .and_then(vector_size)
                            .ok_or_else(invalid)?;
                        Ok(self.add(Expression::Swizzle {
                            size,
                            vector: value,
                            pattern,
                        }))
                    }
                }
            }
            Type::Matrix(scalar, _, _) => {
                let mut all = Vec::new();
                self.take_apart(value, &ty, &mut all, span)?;
                let mut parts = Vec::new();
                for component in components {
                    parts.push(*all.get(usize::from(*component)).ok_or_else(invalid)?);
                }
                let n = u8::try_from(parts.len()).map_err(|_| invalid())?;
                self.put_together(&Type::Vector(scalar, n), &mut parts.into_iter(), span)
            }
            _ => Err(invalid()),
        }
    }

    fn cast(&mut self, operand: &Expr, ty: &Type, span: Span) -> Result<Value, LowerError> {
        if matches!(ty, Type::Struct(_) | Type::Array(..))
            && constant::fold_scalar(self.module.shader, operand) == Some(0)
        {
            return self.zero(ty, span);
        }
        let value = self.value(operand)?;
        self.convert(value, &operand.ty, ty, span)
    }

    fn construct(&mut self, arguments: &[Expr], ty: &Type, span: Span) -> Result<Value, LowerError> {
        let ty = simplify(ty);
        if let (Type::Scalar(_), [argument]) = (&ty, arguments) {
            return self.value_as(argument, &ty);
        }
        let parts = self.part_types(&ty, span)?;
        let fits = parts.len() == arguments.len()
            && parts
                .iter()
                .zip(arguments)
                .all(|(part, argument)| simplify(part) == simplify(&argument.ty));
        if fits {
            let mut components = Vec::new();
            for argument in arguments {
                components.push(self.value(argument)?);
            }
            let ty = self.module.value_type(&ty, span)?;
            return Ok(self.compose(ty, components));
        }
        let mut scalars = Vec::new();
        for argument in arguments {
            let value = self.value(argument)?;
            self.take_apart(value, &argument.ty, &mut scalars, span)?;
        }
        if scalars.len() != self.module.shader.components(&ty) {
            return Err(LowerError::unsupported(
                "a value with too few or too many components",
                span,
            ));
        }
        self.put_together(&ty, &mut scalars.into_iter(), span)
    }

    fn call(&mut self, id: FunctionId, arguments: &[Expr], span: Span) -> Result<Option<Value>, LowerError> {
        let Some(callee) = self.shader_function(id) else {
            return Err(LowerError::unsupported("a call of an unknown function", span));
        };
        if callee.body.is_none() {
            let is_in = |parameter: &shaderlint_hlsl::Parameter| parameter.direction == Direction::In;
            if !callee.parameters.iter().all(is_in) {
                let what = format_args!("`{}`, which has no body and writes to an argument", callee.name);
                return Err(LowerError::unsupported(what, span));
            }
            let arguments: Vec<&Expr> = arguments.iter().collect();
            return self
                .hashed(&callee.name, &arguments, &callee.returns, span)
                .map(Some);
        }
        let Some(instance) = self.instance.callee(self.source, callee, id, arguments) else {
            return Err(LowerError::unsupported(
                "a resource argument that is not the name of a global",
                span,
            ));
        };
        let Some(function) = self.module.functions.get(&instance).copied() else {
            return Err(LowerError::unsupported(
                "a call of a function that could not be lowered",
                span,
            ));
        };
        let mut values = Vec::new();
        // The call copies these out at its end, in order of the parameters.
        let mut outs: Vec<(Target, Place, &Type, &Expr)> = Vec::new();
        for (at, parameter) in callee.parameters.iter().enumerate() {
            let Some(local) = callee.locals.get(parameter.local.0 as usize) else {
                return Err(LowerError::unsupported("a parameter without a variable", span));
            };
            let Some(argument) = arguments.get(at).or(parameter.default.as_ref()) else {
                return Err(LowerError::unsupported("a call with too few arguments", span));
            };
            if matches!(local.ty, Type::Resource(..)) {
                continue;
            }
            if parameter.direction == Direction::In {
                values.push(self.value_as(argument, &local.ty)?);
                continue;
            }
            // Copying it out as a whole would undo what other threads wrote to other parts meanwhile.
            if matches!(local.ty, Type::Array(..) | Type::Struct(_)) && self.is_groupshared(argument) {
                return Err(LowerError::unsupported(
                    "groupshared memory passed to a function or method that changes it",
                    span,
                ));
            }
            let target = self.target(argument)?;
            let copy = self.temporary(&local.ty, span)?;
            if parameter.direction == Direction::InOut {
                let old = self.load_target(&target, span)?;
                let old = self.convert(old, &argument.ty, &local.ty, span)?;
                self.push(Statement::Store {
                    pointer: copy.pointer,
                    value: old,
                });
            }
            values.push(copy.pointer);
            outs.push((target, copy, &local.ty, argument));
        }
        let result =
            (callee.returns != Type::Void).then(|| self.add_result(Expression::CallResult(function)));
        self.push(Statement::Call {
            function,
            arguments: values,
            result,
        });
        for (target, copy, ty, argument) in outs {
            let value = self.add(Expression::Load {
                pointer: copy.pointer,
            });
            let value = self.convert(value, ty, &argument.ty, span)?;
            self.store_target(&target, value, span)?;
        }
        Ok(result)
    }

    /// Whether a place is in groupshared memory.
    fn is_groupshared(&self, mut place: &Expr) -> bool {
        while let ExprKind::Index(of, _)
        | ExprKind::Field(of, _)
        | ExprKind::Swizzle(of, _)
        | ExprKind::Cast(of) = &place.kind
        {
            place = of;
        }
        let ExprKind::Global(id) = place.kind else {
            return false;
        };
        let global = self.module.shader.globals.get(id.0 as usize);
        global.is_some_and(|global| global.storage == Storage::Groupshared)
    }
}
