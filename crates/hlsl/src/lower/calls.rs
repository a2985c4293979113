//! Calls of constructors, functions and methods of structs.

use std::cmp::Ordering;

use tree_sitter::Node;

use super::Lowering;
use super::names::packed;
use super::operands::{as_value, as_values, opaque};
use super::parts::{Part, part};
use super::relations::{Given, distance, preference};
use super::scoping::{A_LOOPS, Variable};
use super::unmodelled::UNMODELLED;
use crate::Intrinsic;
use crate::span::Span;
use crate::tree::{Direction, Expr, ExprKind, FunctionId};
use crate::types::{Scalar, StructId, Type};

/// The meaning of a called name, if the file declares it.
enum Callee {
    Methods {
        object: Expr,
        overloads: Vec<FunctionId>,
    },
    /// Methods of the current struct, called without an object.
    StaticMethods(Vec<FunctionId>),
    Object(Expr),
    Function(FunctionId),
    /// Compilers may call different functions. All return this type.
    Open(Type),
    /// A loop's variable in one version of the language, something else in another.
    LoopVariable,
}

/// Whether the language has a function of this name. DXC 3.7 prefers it to a template of the file, with or without
/// arguments in `<>`.
fn is_of_language(name: &[u8]) -> bool {
    let own = name.rsplit(|byte| *byte == b':').next().unwrap_or_default();
    Intrinsic::from_name(&String::from_utf8_lossy(own)).is_some() || pure_function(own, None).is_some()
}

/// The return type of functions that only read their arguments and have no variant of [`Intrinsic`].
fn pure_function(name: &[u8], argument: Option<&Type>) -> Option<Type> {
    let of = |scalar| Some(argument.map_or(Type::Unknown, |ty| ty.with_scalar(scalar)));
    match name {
        b"ddx" | b"ddy" | b"ddx_coarse" | b"ddy_coarse" | b"ddx_fine" | b"ddy_fine" | b"fwidth"
        | b"noise" => of(Scalar::Float),
        b"isnormal" => of(Scalar::Bool),
        b"asfloat16" => of(Scalar::Half),
        b"asuint16" => of(Scalar::Uint16),
        b"asint16" => of(Scalar::Int16),
        b"dot2add" => Some(Type::FLOAT),
        b"pack_u8" | b"pack_s8" | b"pack_clamp_u8" | b"pack_clamp_s8" => Some(Type::UINT),
        b"unpack_u8u32" => Some(Type::Vector(Scalar::Uint, 4)),
        b"D3DCOLORtoUBYTE4" | b"unpack_s8s32" => Some(Type::Vector(Scalar::Int, 4)),
        b"CheckAccessFullyMapped" => Some(Type::BOOL),
        _ => None,
    }
}

impl<'a> Lowering<'a> {
    pub(super) fn call(&mut self, node: Node, span: Span) -> Expr {
        let mut arguments = Vec::new();
        if let Some(list) = part(node, Part::Arguments) {
            let mut cursor = list.walk();
            for argument in list.named_children(&mut cursor) {
                arguments.push(self.expression(argument));
            }
        }
        let Some(callee) = part(node, Part::Function) else {
            return opaque(arguments, Type::Unknown, span);
        };
        match callee.kind() {
            "field_expression" => {
                let object = self.part_expression(callee, Part::Argument);
                let Some(field) = part(callee, Part::Field) else {
                    arguments.push(object);
                    return opaque(arguments, Type::Unknown, span);
                };
                let (name, of) = if field.kind() == "template_method" {
                    let name = part(field, Part::Name).map_or(&[][..], |name| self.node_source(name));
                    (name, self.template_argument(field))
                } else {
                    (self.node_source(field), None)
                };
                self.method_call(object, name, of, arguments, span)
            }
            "template_function" => {
                let name = part(callee, Part::Name).map_or(&[][..], |name| self.node_source(name));
                let callee_span = self.span(callee);
                if self.names_value(name, callee_span) {
                    self.unknown_name(name, callee_span);
                    self.told.insert(span);
                    return opaque(arguments, Type::Unknown, span);
                }
                let ty = self.type_at(callee_span);
                if ty.scalar().is_some() {
                    return self.constructor(&ty, arguments, span);
                }
                let explicit = self.template_arguments(callee);
                let is_in_struct = self.body.this.is_some() || self.body.owner.is_some();
                let is_hidden = is_in_struct && self.lexed.member_templates.contains(name);
                if !is_hidden && let Some(id) = self.instantiate(name, &explicit, &arguments) {
                    return if is_of_language(name) {
                        opaque(arguments, Type::Unknown, span)
                    } else {
                        self.call_function(id, arguments, span)
                    };
                }
                if !self.functions.contains_key(name)
                    && Intrinsic::from_name(&String::from_utf8_lossy(name)).is_some()
                {
                    return self.named_call(name, callee_span, arguments, span);
                }
                self.unknown_name(name, callee_span);
                self.told.insert(span);
                opaque(arguments, Type::Unknown, span)
            }
            "identifier"
            | "qualified_identifier"
            | "primitive_type"
            | "type_identifier"
            | "sized_type_specifier" => {
                let callee_span = self.span(callee);
                self.named_call(self.source(callee_span), callee_span, arguments, span)
            }
            _ => {
                let object = self.expression(callee);
                self.call_object(object, arguments, span)
            }
        }
    }

    /// Whether a name means a variable, a member or a constant here. It then hides a template: `name < N > (x)` is two
    /// comparisons, though the grammar reads a call.
    fn names_value(&mut self, name: &'a [u8], span: Span) -> bool {
        self.body.initialised == Some(name)
            || !matches!(self.variable(name), Variable::None)
            || self.outer_name(name, span).is_some()
    }

    /// `object(arguments)`. It is opaque if the object cannot be called.
    fn call_object(&mut self, object: Expr, arguments: Vec<Expr>, span: Span) -> Expr {
        if let Some((object, found)) = self.methods_of_held(&object, b"operator()") {
            return self.call_method(&found, object, arguments, span);
        }
        let mut operands = arguments;
        operands.push(object);
        opaque(operands, Type::Unknown, span)
    }

    /// The first type in the `<…>` of a node.
    fn template_argument(&mut self, node: Node) -> Option<Type> {
        let list = part(node, Part::Arguments)?;
        let first = list.named_child(0)?;
        Some(self.type_at(self.span(first)))
    }

    /// A call by name: of a declaration of the file, otherwise of a type, otherwise of an intrinsic.
    fn named_call(&mut self, name: &'a [u8], name_span: Span, arguments: Vec<Expr>, span: Span) -> Expr {
        match self.declared_callee(name, name_span, &arguments, span) {
            Some(Callee::Methods { object, overloads }) => {
                return self.call_method(&overloads, object, arguments, span);
            }
            Some(Callee::StaticMethods(overloads)) => return self.call_static(&overloads, arguments, span),
            Some(Callee::Object(object)) => return self.call_object(object, arguments, span),
            Some(Callee::Function(id)) => return self.call_function(id, arguments, span),
            Some(Callee::Open(returns)) => return opaque(arguments, returns, span),
            Some(Callee::LoopVariable) => return self.neither(A_LOOPS, span),
            None => {}
        }
        let ty = self.type_at(name_span);
        if ty.scalar().is_some() {
            return self.constructor(&ty, arguments, span);
        }
        // A compiler calls an intrinsic only if nothing else has the name.
        if let Some(object) = self.outer_name(name, name_span) {
            return self.call_object(object, arguments, span);
        }
        let text = String::from_utf8_lossy(name);
        if let Some(intrinsic) = Intrinsic::from_name(&text) {
            return self.intrinsic(intrinsic, arguments, span);
        }
        if name == b"NonUniformResourceIndex"
            && let Ok([index]) = <[Expr; 1]>::try_from(arguments.clone())
        {
            // The span includes `NonUniformResourceIndex`, which a varying index needs.
            return Expr {
                span,
                ..as_value(index)
            };
        }
        if let Some(ty) = pure_function(name, arguments.first().map(|argument| &argument.ty)) {
            self.told.insert(span);
            return opaque(as_values(arguments), ty, span);
        }
        if UNMODELLED.contains(&name) {
            self.problem(&format!("shaderlint does not follow `{text}`"), span);
        } else {
            self.unknown_name(name, name_span);
        }
        self.told.insert(span);
        for argument in &arguments {
            self.note_write(argument);
        }
        opaque(arguments, Type::Unknown, span)
    }

    /// The callee of this name for these arguments, if the file declares it.
    fn declared_callee(
        &mut self,
        name: &'a [u8],
        name_span: Span,
        arguments: &[Expr],
        span: Span,
    ) -> Option<Callee> {
        // A method called from another one.
        let this = self.body.this.map(|(this, id)| {
            let object = Expr {
                kind: ExprKind::Local(this),
                ty: Type::Struct(id),
                span: name_span,
            };
            (object, id)
        });
        if let Some((this, id)) = &this
            && let Some((object, overloads)) = self.methods_of(this, *id, name)
        {
            return Some(Callee::Methods { object, overloads });
        }
        if this.is_none()
            && let Some(id) = self.body.owner
            && let object = opaque(Vec::new(), Type::Struct(id), name_span)
            && let Some((_, overloads)) = self.methods_of(&object, id, name)
        {
            return Some(Callee::StaticMethods(overloads));
        }
        let packed = packed(name);
        let key = &*packed;
        let variable = self.variable(key);
        // It names an object in one version, and possibly a function in another one.
        if let Variable::Either(_, local) = variable
            && matches!(self.local_type(local), Type::Struct(_))
        {
            return Some(Callee::LoopVariable);
        }
        if let Variable::One(local) | Variable::Either(Some(local), _) = variable {
            // A variable hides the function even if it cannot be called (FXC: X3005).
            return Some(Callee::Object(Expr {
                kind: self.local(local),
                ty: self.local_type(local),
                span: name_span,
            }));
        }
        // A member hides a function outside of the struct.
        if let Some((this, id)) = &this
            && let Some(field) = self.field_of(this, *id, key, name_span)
        {
            return Some(Callee::Object(field));
        }
        if let Some(overloads) = self.resolve(&self.functions, key) {
            let Some(id) = self.best_overload(&overloads, arguments, 0) else {
                let instance = self.instantiate(key, &[], arguments).map(Callee::Function);
                return Some(instance.unwrap_or_else(|| Callee::Open(self.shared_return(&overloads))));
            };
            // In a namespace or a function, a type may hide the function. Then this is a conversion.
            let is_type = self.resolve(&self.types, key).is_some();
            return Some(
                if is_type || self.has_rivals(key) || self.is_of_intrinsic(key, arguments, span) {
                    Callee::Open(self.shared_return(&overloads))
                } else {
                    Callee::Function(id)
                },
            );
        }
        if let Some(id) = self.instantiate(key, &[], arguments) {
            return Some(if is_of_language(key) {
                Callee::Open(Type::Unknown)
            } else {
                Callee::Function(id)
            });
        }
        self.qualified_callee(name_span, this.as_ref(), arguments)
    }

    /// The method that `S::f` names: a static one, or that of a base of `this`.
    fn qualified_callee(
        &mut self,
        name_span: Span,
        this: Option<&(Expr, StructId)>,
        arguments: &[Expr],
    ) -> Option<Callee> {
        let (Type::Struct(id), method) = self.qualified(name_span)? else {
            return None;
        };
        if self.lexed.member_templates.contains(method) {
            return None;
        }
        let overloads = self.methods.get(&(id, method)).cloned()?;
        if let Some((this, own)) = this
            && let Some(object) = self.as_base(this, *own, id)
        {
            return Some(Callee::Methods { object, overloads });
        }
        let best = self.best_overload(&overloads, arguments, 0)?;
        let is_static = self.static_methods.contains(&best);
        is_static.then_some(Callee::Function(best))
    }

    /// The type that all overloads return, if they agree.
    fn shared_return(&self, overloads: &[FunctionId]) -> Type {
        let mut types = overloads
            .iter()
            .filter_map(|id| self.shader.functions.get(id.0 as usize))
            .map(|function| &function.returns);
        match types.next() {
            Some(first) if types.all(|other| other == first) => first.clone(),
            _ => Type::Unknown,
        }
    }

    /// `float3(a, b)`.
    fn constructor(&mut self, ty: &Type, arguments: Vec<Expr>, span: Span) -> Expr {
        if let [argument] = arguments.as_slice()
            && (argument.ty != *ty || matches!(argument.kind, ExprKind::Literal(_)))
            && distance(&argument.ty, ty).is_some()
        {
            let mut arguments = arguments;
            if let Some(argument) = arguments.pop() {
                let mut expr = self.convert(argument, ty);
                expr.span = span;
                return expr;
            }
            return opaque(Vec::new(), ty.clone(), span);
        }
        if let ([argument], true) = (arguments.as_slice(), matches!(ty, Type::Scalar(_)))
            && argument.ty == *ty
        {
            // `uint(x)` of a `uint` is a value, not the place `x`.
            return arguments.into_iter().next().map_or_else(
                || opaque(Vec::new(), ty.clone(), span),
                |argument| Expr {
                    kind: ExprKind::Cast(Box::new(argument)),
                    ty: ty.clone(),
                    span,
                },
            );
        }
        self.construct(arguments, ty, span)
    }

    /// Whether a compiler may choose another function, or a template, over the overload found here.
    fn has_rivals(&self, name: &[u8]) -> bool {
        // A template of an inner scope hides the function. In one scope C++ prefers the function if it takes the arguments without
        // conversion, and DXC 3.7 prefers the template.
        let template = self.depth_of(&self.templates.functions, name);
        let by_template = template.is_some() && template >= self.depth_of(&self.functions, name);
        // `using namespace` adds overloads to those of the scope itself.
        let used = self.used.iter();
        let spread = used.filter(|(_, used)| self.functions.contains_key([used, name].concat().as_slice()));
        let is_here = self.functions.contains_key(name);
        by_template || spread.count() + usize::from(is_here) > 1
    }

    /// Whether an intrinsic of this name also takes these arguments. Then compilers may call either.
    fn is_of_intrinsic(&mut self, name: &[u8], arguments: &[Expr], span: Span) -> bool {
        let Some(intrinsic) = Intrinsic::from_name(&String::from_utf8_lossy(name)) else {
            return false;
        };
        let call = self.intrinsic(intrinsic, arguments.to_vec(), span);
        !matches!(call.kind, ExprKind::Opaque(..))
    }

    /// The overload that every compiler calls; `skip` parameters are implicit. `None` if compilers may differ.
    ///
    /// Either only this overload takes the arguments, or it takes each argument at least as well as every other
    /// overload, and one argument better ([`preference`]). This is the rule of C++. DXC sums the costs of the
    /// conversions (`ScoreFunction` in SemaHLSL.cpp), and such an overload has the least sum.
    pub(super) fn best_overload(
        &self,
        overloads: &[FunctionId],
        arguments: &[Expr],
        skip: usize,
    ) -> Option<FunctionId> {
        let viable = overloads.iter().copied();
        let viable: Vec<FunctionId> = viable.filter(|id| self.takes(*id, arguments, skip)).collect();
        let is_best = |one: &&FunctionId| {
            let mut others = viable.iter().filter(|other| other != one);
            others.all(|other| self.is_better(**one, *other, arguments, skip))
        };
        let best = viable.iter().find(is_best).copied()?;
        (!self.has_open_matrix(best, overloads, arguments, skip)).then_some(best)
    }

    /// Whether the choice may depend on how compilers truncate and reshape vectors and matrices. It does not if a
    /// parameter has the argument's own type, or if all overloads have the same type at that position.
    fn has_open_matrix(
        &self,
        best: FunctionId,
        overloads: &[FunctionId],
        arguments: &[Expr],
        skip: usize,
    ) -> bool {
        let is_matrix = |ty: &Type| matches!(ty, Type::Matrix(..));
        arguments.iter().enumerate().any(|(at, argument)| {
            let parameter = |id| Some(self.taken_by(id, skip + at)?.1);
            let chosen = parameter(best);
            let types = || overloads.iter().filter_map(|id| parameter(*id));
            (is_matrix(&argument.ty) || types().any(is_matrix))
                && chosen != Some(&argument.ty)
                && types().any(|ty| Some(ty) != chosen)
        })
    }

    /// The direction and the type of a function's parameter.
    fn taken_by(&self, id: FunctionId, at: usize) -> Option<(Direction, &Type)> {
        let function = self.shader.functions.get(id.0 as usize)?;
        let parameter = function.parameters.get(at)?;
        let local = function.locals.get(parameter.local.0 as usize)?;
        Some((parameter.direction, &local.ty))
    }

    fn is_better(&self, one: FunctionId, other: FunctionId, arguments: &[Expr], skip: usize) -> bool {
        let orders = arguments.iter().enumerate().map(|(at, argument)| {
            let ((way, one), (other_way, other)) =
                (self.taken_by(one, skip + at)?, self.taken_by(other, skip + at)?);
            let given = Given {
                ty: &argument.ty,
                is_literal: self.is_of_literals(argument),
            };
            let order = preference(given, one, other)?;
            // An `out` argument is converted when it is written back.
            let is_given = way == Direction::In && other_way == Direction::In;
            let is_told = is_given || one == other || *one == argument.ty || *other == argument.ty;
            is_told.then_some(order)
        });
        let orders: Option<Vec<Ordering>> = orders.collect();
        orders.is_some_and(|orders| {
            orders.iter().all(|order| order.is_le()) && orders.iter().any(|order| order.is_lt())
        })
    }

    /// Whether a function takes the arguments, possibly after conversions.
    fn takes(&self, id: FunctionId, arguments: &[Expr], skip: usize) -> bool {
        let Some(function) = self.shader.functions.get(id.0 as usize) else {
            return false;
        };
        let parameters = function.parameters.get(skip..).unwrap_or_default();
        let Some(missing) = parameters.get(arguments.len()..) else {
            return false;
        };
        let mut given = parameters.iter().zip(arguments);
        missing.iter().all(|missing| missing.default.is_some())
            && given.all(|(parameter, argument)| {
                let Some(local) = function.locals.get(parameter.local.0 as usize) else {
                    return true;
                };
                // If an argument's struct derives from the parameter's struct, only its base is written back, without
                // a conversion.
                let comes_back = parameter.direction != Direction::In && !matches!(local.ty, Type::Struct(_));
                self.distance(&argument.ty, &local.ty).is_some()
                    && (!comes_back || distance(&local.ty, &argument.ty).is_some())
            })
    }

    /// A call of a known function, with converted arguments and default arguments.
    fn call_function(&mut self, id: FunctionId, arguments: Vec<Expr>, span: Span) -> Expr {
        let Some(function) = self.shader.functions.get(id.0 as usize) else {
            return opaque(arguments, Type::Unknown, span);
        };
        let returns = function.returns.clone();
        let signature: Vec<(Type, Direction, Option<Expr>)> = function
            .parameters
            .iter()
            .map(|parameter| {
                let ty = function
                    .locals
                    .get(parameter.local.0 as usize)
                    .map_or(Type::Unknown, |local| local.ty.clone());
                let needs_default = parameter.default.is_some();
                (
                    ty,
                    parameter.direction,
                    parameter.default.clone().filter(|_| needs_default),
                )
            })
            .collect();
        let mut arguments = arguments.into_iter();
        let mut converted = Vec::with_capacity(signature.len());
        for (ty, direction, default) in signature {
            let Some(argument) = arguments.next().or(default) else {
                break;
            };
            if direction == Direction::In {
                let keep = matches!(ty, Type::Array(..) | Type::Resource(..));
                converted.push(if keep { argument } else { self.fit(argument, &ty) });
            } else {
                self.note_write(&argument);
                converted.push(self.to_base(argument, &ty));
            }
        }
        Expr {
            kind: ExprKind::Call(id, converted),
            ty: returns,
            span,
        }
    }

    /// A call of a static method without an object.
    fn call_static(&mut self, overloads: &[FunctionId], arguments: Vec<Expr>, span: Span) -> Expr {
        let overloads = overloads.iter().copied();
        let own: Vec<FunctionId> = overloads.filter(|id| self.static_methods.contains(id)).collect();
        match self.best_overload(&own, &arguments, 0) {
            Some(id) => self.call_function(id, arguments, span),
            None => opaque(arguments, self.shared_return(&own), span),
        }
    }

    /// A call of a method of a struct, `this` first.
    pub(super) fn call_method(
        &mut self,
        overloads: &[FunctionId],
        object: Expr,
        arguments: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let own: Vec<FunctionId> = overloads
            .iter()
            .copied()
            .filter(|id| !self.static_methods.contains(id))
            .collect();
        if let Some(id) = self.best_overload(&own, &arguments, 1) {
            let mut all = vec![object];
            all.extend(arguments);
            return self.call_function(id, all, span);
        }
        if let Some(id) = self.best_overload(overloads, &arguments, 0)
            && self.static_methods.contains(&id)
        {
            return self.call_function(id, arguments, span);
        }
        self.note_write(&object);
        for argument in &arguments {
            self.note_write(argument);
        }
        let mut operands = vec![object];
        operands.extend(arguments);
        opaque(operands, self.shared_return(overloads), span)
    }
}
