//! Expressions.

use tree_sitter::Node;

use super::constants::Constant;
use super::names::packed;
use super::operands::{as_value, opaque, skippable};
use super::parts::{Part, part};
use super::relations::{arithmetic, shape};
use super::scoping::{ITS_OWN, Variable};
use super::{Lowering, literals, rays};
use crate::span::Span;
use crate::tree::{BinaryOp, Expr, ExprKind, LocalId, UnaryOp};
use crate::types::{Scalar, Type};

/// Whether the result depends on whether the operands are signed, and that is unknown.
fn is_open(op: BinaryOp, operands: &Type) -> bool {
    use BinaryOp as B;
    let asks_for_sign = matches!(
        op,
        B::Div | B::Mod | B::Shr | B::Less | B::LessEqual | B::Greater | B::GreaterEqual
    );
    asks_for_sign && operands.scalar().is_some_and(Scalar::is_enum)
}

fn binary_op(text: &[u8]) -> Option<BinaryOp> {
    Some(match text {
        b"+" => BinaryOp::Add,
        b"-" => BinaryOp::Sub,
        b"*" => BinaryOp::Mul,
        b"/" => BinaryOp::Div,
        b"%" => BinaryOp::Mod,
        b"&" => BinaryOp::And,
        b"|" => BinaryOp::Or,
        b"^" => BinaryOp::Xor,
        b"<<" => BinaryOp::Shl,
        b">>" => BinaryOp::Shr,
        b"<" => BinaryOp::Less,
        b"<=" => BinaryOp::LessEqual,
        b">" => BinaryOp::Greater,
        b">=" => BinaryOp::GreaterEqual,
        b"==" => BinaryOp::Equal,
        b"!=" => BinaryOp::NotEqual,
        b"&&" => BinaryOp::LogicalAnd,
        b"||" => BinaryOp::LogicalOr,
        _ => return None,
    })
}

/// The name of the method that overloads a binary operator.
fn operator_name(op: BinaryOp) -> &'static [u8] {
    match op {
        BinaryOp::Add => b"operator+",
        BinaryOp::Sub => b"operator-",
        BinaryOp::Mul => b"operator*",
        BinaryOp::Div => b"operator/",
        BinaryOp::Mod => b"operator%",
        BinaryOp::And => b"operator&",
        BinaryOp::Or => b"operator|",
        BinaryOp::Xor => b"operator^",
        BinaryOp::Shl => b"operator<<",
        BinaryOp::Shr => b"operator>>",
        BinaryOp::Less => b"operator<",
        BinaryOp::LessEqual => b"operator<=",
        BinaryOp::Greater => b"operator>",
        BinaryOp::GreaterEqual => b"operator>=",
        BinaryOp::Equal => b"operator==",
        BinaryOp::NotEqual => b"operator!=",
        BinaryOp::LogicalAnd => b"operator&&",
        BinaryOp::LogicalOr => b"operator||",
    }
}

/// The maximum of operators before `x++` to look through. The rest of the lowering cannot handle more either.
const MAX_OPERATORS: usize = 64;

impl<'a> Lowering<'a> {
    /// Lowers an expression. A part that is not understood is `Opaque`, with the parts that are understood inside.
    pub(super) fn expression(&mut self, node: Node) -> Expr {
        let span = self.span(node);
        if !self.enter() {
            return opaque(Vec::new(), Type::Unknown, span);
        }
        let expr = self.expression_kind(node, span);
        if let "binary_expression" | "unary_expression" | "conditional_expression" = node.kind() {
            self.note_unsettled(&expr);
        }
        self.leave();
        expr
    }

    fn expression_kind(&mut self, node: Node, span: Span) -> Expr {
        match node.kind() {
            "this"
            | "identifier"
            | "field_identifier"
            | "number_literal"
            | "true"
            | "false"
            | "qualified_identifier"
            | "type_identifier" => self.name(span),
            "parenthesized_expression" => match node.named_child(0) {
                Some(inner) => self.expression(inner),
                None => opaque(Vec::new(), Type::Unknown, span),
            },
            "binary_expression" => self.binary_expression(node, span),
            "unary_expression" => self.unary_expression(node, span),
            "update_expression" => self.update_expression(node, span),
            "assignment_expression" => self.assignment(node, span),
            "conditional_expression" => self.conditional(node, span),
            "comma_expression" => {
                let left = self.part_expression(node, Part::Left);
                let right = self.part_expression(node, Part::Right);
                let ty = right.ty.clone();
                Expr {
                    kind: ExprKind::Comma(Box::new(left), Box::new(right)),
                    ty,
                    span,
                }
            }
            "field_expression" => self.member(node, span),
            "subscript_expression" => self.subscript(node, span),
            "call_expression" => self.call(node, span),
            "compound_literal_expression" => {
                let ty = part(node, Part::Type).map_or(Type::Unknown, |ty| self.type_of_node(ty));
                match part(node, Part::Value) {
                    Some(value) => self.initializer(value, &ty),
                    None => self.children(node, span),
                }
            }
            "initializer_list" => self.initializer(node, &Type::Unknown),
            "sizeof_expression" => self.size_of(node, span),
            _ => self.children(node, span),
        }
    }

    /// A node that is not understood, with its parts lowered.
    fn children(&mut self, node: Node, span: Span) -> Expr {
        let mut operands = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            operands.push(self.expression(child));
        }
        opaque(operands, Type::Unknown, span)
    }

    pub(super) fn part_expression(&mut self, node: Node, field: Part) -> Expr {
        match part(node, field) {
            Some(child) => self.expression(child),
            None => opaque(Vec::new(), Type::Unknown, self.span(node)),
        }
    }

    /// A name or a literal: the lexical pass turns some literals into names.
    fn name(&mut self, span: Span) -> Expr {
        let text = self.source(span);
        let expr = |kind: ExprKind, ty: Type| Expr { kind, ty, span };
        let is_number = match text {
            b"true" | b"false" | [b'0'..=b'9', ..] => true,
            [b'.', rest @ ..] => rest.first().is_some_and(u8::is_ascii_digit),
            _ => false,
        };
        if is_number {
            return match literals::literal(text) {
                (ty, Some(bits)) => expr(ExprKind::Literal(bits), ty),
                (ty, None) => {
                    // Literals in the tree are not that wide.
                    self.told.insert(span);
                    opaque(Vec::new(), ty, span)
                }
            };
        }
        let variable = |local: LocalId| expr(self.local(local), self.local_type(local));
        if self.body.initialised == Some(text) {
            return self.neither(ITS_OWN, span);
        }
        match self.variable(text) {
            Variable::One(local) => return variable(local),
            Variable::Either(own, leaked) => {
                let (own, leaked) = (own.map(variable), variable(leaked));
                return match own.or_else(|| self.outer_name(text, span)) {
                    Some(own) => self.either(own, leaked, span),
                    None => leaked,
                };
            }
            Variable::None => {}
        }
        if let Some(outer) = self.outer_name(text, span) {
            return outer;
        }
        let is_heap = matches!(text, b"ResourceDescriptorHeap" | b"SamplerDescriptorHeap");
        if is_heap {
            self.told.insert(span);
        } else if !matches!(text, [b'"' | b'\'', ..]) {
            self.unknown_name(text, span);
        }
        opaque(Vec::new(), Type::Unknown, span)
    }

    /// The meaning of a name that is not a variable of the function: a field of the current object, a global, or a
    /// constant.
    pub(super) fn outer_name(&mut self, text: &'a [u8], span: Span) -> Option<Expr> {
        let expr = |kind: ExprKind, ty: Type| Some(Expr { kind, ty, span });
        if let Some((this, id)) = self.body.this
            && let Some(object) = expr(ExprKind::Local(this), Type::Struct(id))
            && let Some(field) = self.field_of(&object, id, text, span)
        {
            return Some(field);
        }
        let key = packed(text);
        let member = self.qualified(span);
        // Own and inherited members have precedence.
        let own = self.body.this.as_ref().map(|(_, id)| Type::Struct(*id));
        let own = own.and_then(|own| self.resolve_member(&self.globals, &own, &key));
        let found = own.or_else(|| self.resolve(&self.globals, &key)).or_else(|| {
            let (holder, own) = member.as_ref()?;
            self.resolve_member(&self.globals, holder, own)
        });
        let enumerator = self.resolve(&self.enumerators, &key).or_else(|| {
            let (holder, own) = member.as_ref()?;
            self.resolve_member(&self.enumerators, holder, own)
        });
        if found.is_some() && enumerator.is_some() {
            // One of them hides the other, but this does not determine which.
            self.problem("a variable and a constant of this name", span);
            self.told.insert(span);
            return Some(opaque(Vec::new(), Type::Unknown, span));
        }
        if let Some(global) = found {
            let ty = self
                .shader
                .globals
                .get(global.0 as usize)
                .map_or(Type::Unknown, |global| global.ty.clone());
            return expr(ExprKind::Global(global), ty);
        }
        if let Some((value, ty)) = enumerator {
            if ty == Type::Unknown {
                return Some(opaque(Vec::new(), ty, span));
            }
            return expr(ExprKind::Literal(value.bits()), ty);
        }
        expr(ExprKind::Literal(rays::constant(text)?), Type::UINT)
    }

    fn binary_expression(&mut self, node: Node, span: Span) -> Expr {
        let left = self.part_expression(node, Part::Left);
        let right = self.part_expression(node, Part::Right);
        let op = part(node, Part::Operator).and_then(|op| binary_op(self.node_source(op)));
        match op {
            Some(op) => {
                let whole = self.binary(op, left, right, span);
                let whole = self.narrow(whole);
                self.without_large_choices(whole)
            }
            None => opaque(vec![left, right], Type::Unknown, span),
        }
    }

    /// `left op right` with both operands converted.
    pub(super) fn binary(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let make = |left: Expr, right: Expr, ty: Type| Expr {
            kind: ExprKind::Binary(op, Box::new(left), Box::new(right)),
            ty,
            span,
        };
        if let Some((object, found)) = self.methods_of_held(&left, operator_name(op)) {
            return self.call_method(&found, object, vec![right], span);
        }
        if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
            if self.is_unsettled(&left) || self.is_unsettled(&right) {
                return opaque(vec![as_value(left), skippable(right)], Type::Unknown, span);
            }
            let left = self.convert_scalar(left, Scalar::Bool);
            let right = self.convert_scalar(right, Scalar::Bool);
            let Some(ty) = shape(&left.ty, &right.ty) else {
                return opaque(vec![as_value(left), skippable(right)], Type::BOOL, span);
            };
            let (left, right) = (self.convert(left, &ty), self.convert(right, &ty));
            return make(left, right, ty);
        }
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let left = self.shifted(left, &right);
            let ty = arithmetic(&left.ty);
            let count = self.evaluate(&right).map(Constant::bits);
            if count.is_some_and(|count| count > 31) && self.evaluate(&left).is_some() {
                // A device uses five bits of the count. DXC shifts all bits out when it folds constants.
                return opaque(vec![left, right], ty, span);
            }
            let scalar = ty.scalar().filter(|scalar| !scalar.is_enum());
            if let (Some(scalar), Some(shape)) = (scalar, shape(&ty, &right.ty).or(Some(ty.clone()))) {
                let ty = shape.with_scalar(scalar);
                let (left, right) = (self.convert(left, &ty), self.convert(right, &ty));
                return make(left, right, ty);
            }
            return opaque(vec![as_value(left), as_value(right)], ty, span);
        }
        let common = self.common_of(&left, &right).filter(|ty| ty.scalar().is_some());
        let (left, right, common) = match common {
            // The values of two non-negative constants are the same as signed numbers.
            Some(ty) if is_open(op, &ty) => {
                let is_plain =
                    |expr: &Expr| { self.evaluate(expr) }.is_some_and(|it| it.bits().cast_signed() >= 0);
                let is_settled = is_plain(&left) && is_plain(&right);
                let (left, right) = (
                    self.convert_scalar(left, Scalar::Int),
                    self.convert_scalar(right, Scalar::Int),
                );
                (left, right, is_settled.then_some(Type::INT))
            }
            common => (left, right, common),
        };
        let Some(common) = common else {
            // The result has the shape of the operands.
            let ty = match shape(&left.ty, &right.ty) {
                Some(shape) if op.is_comparison() && shape.scalar().is_some() => {
                    shape.with_scalar(Scalar::Bool)
                }
                _ => Type::Unknown,
            };
            return opaque(vec![as_value(left), as_value(right)], ty, span);
        };
        let operand = if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
            common
        } else {
            arithmetic(&common)
        };
        let ty = if op.is_comparison() {
            operand.with_scalar(Scalar::Bool)
        } else {
            operand.clone()
        };
        let (left, right) = (self.convert(left, &operand), self.convert(right, &operand));
        make(left, right, ty)
    }

    fn unary_expression(&mut self, node: Node, span: Span) -> Expr {
        let Some(op) = part(node, Part::Operator) else {
            return self.children(node, span);
        };
        let operand = self.part_expression(node, Part::Argument);
        self.unary(op, operand, span)
    }

    fn unary(&mut self, op: Node, operand: Expr, span: Span) -> Expr {
        let text = self.node_source(op);
        if text == b"(" {
            return self.cast(self.span(op), operand, span);
        }
        let op = match text {
            b"-" => UnaryOp::Negate,
            b"!" | b"not" => UnaryOp::Not,
            b"~" => UnaryOp::Complement,
            // As for all operators, a `bool` operand becomes an `int`.
            b"+" => {
                let ty = arithmetic(&operand.ty);
                return if ty == operand.ty {
                    operand
                } else {
                    self.convert(operand, &ty)
                };
            }
            _ => return opaque(vec![operand], Type::Unknown, span),
        };
        if operand.ty != Type::Unknown && operand.ty.scalar().is_none() {
            let name: &[u8] = match op {
                UnaryOp::Negate => b"operator-",
                UnaryOp::Not => b"operator!",
                UnaryOp::Complement => b"operator~",
            };
            if let Some((object, found)) = self.methods_of_held(&operand, name) {
                return self.call_method(&found, object, Vec::new(), span);
            }
            return opaque(vec![operand], Type::Unknown, span);
        }
        if let (UnaryOp::Negate, ExprKind::Literal(bits)) = (op, &operand.kind)
            && operand.ty == Type::UINT
            && literals::is_free(self.source(operand.span))
        {
            // This is how the smallest `int` is written. The value of other such literals depends on the version.
            let is_decimal = !self.source(operand.span).starts_with(b"0");
            if *bits != 0x8000_0000 || !is_decimal {
                return opaque(vec![operand], Type::Unknown, span);
            }
            // It is the complement of a literal within the range of `int`.
            let largest = Expr {
                kind: ExprKind::Literal(!bits),
                ty: Type::INT,
                span: operand.span,
            };
            return Expr {
                kind: ExprKind::Unary(UnaryOp::Complement, Box::new(largest)),
                ty: Type::INT,
                span,
            };
        }
        let is_open = match op {
            UnaryOp::Not => self.is_unsettled(&operand),
            UnaryOp::Negate | UnaryOp::Complement => operand.ty == Type::Unknown,
        };
        if is_open {
            return opaque(vec![as_value(operand)], Type::Unknown, span);
        }
        let operand = match op {
            UnaryOp::Not => self.convert_scalar(operand, Scalar::Bool),
            UnaryOp::Negate | UnaryOp::Complement => {
                let ty = arithmetic(&operand.ty);
                self.convert(operand, &ty)
            }
        };
        let ty = operand.ty.clone();
        self.without_large_choices(Expr {
            kind: ExprKind::Unary(op, Box::new(operand)),
            ty,
            span,
        })
    }

    /// `(T)x`, which the lexical pass rewrote to `~  x`.
    fn cast(&mut self, place: Span, operand: Expr, span: Span) -> Expr {
        let ty = self
            .lexed
            .casts
            .get(&place.start)
            .map_or(Type::Unknown, |&(first, end)| {
                self.type_of_tokens(first as usize, end as usize)
            });
        if ty == Type::Unknown {
            return opaque(vec![as_value(operand)], ty, span);
        }
        let is_made_of_literals = self.is_literal_int(&operand) || self.is_free_literal(&operand);
        let mut expr = self.fit(operand, &ty);
        if is_made_of_literals && !matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Cast(_)) {
            // The type stays, but the expression no longer takes the type of the other operand.
            let kind = ExprKind::Cast(Box::new(expr));
            return Expr { kind, ty, span };
        }
        expr.span = span;
        expr
    }

    fn update_expression(&mut self, node: Node, span: Span) -> Expr {
        let (Some(step), Some(mut target)) = (part(node, Part::Operator), part(node, Part::Argument)) else {
            return self.children(node, span);
        };
        let increment = self.node_source(step) == b"++";
        let prefix = step.start_byte() < target.start_byte();
        // The grammar reads `-x++` as `(-x)++`, but the postfix `++` binds tighter.
        let mut operators = Vec::new();
        while !prefix
            && operators.len() < MAX_OPERATORS
            && target.kind() == "unary_expression"
            && let (Some(op), Some(operand)) = (part(target, Part::Operator), part(target, Part::Argument))
        {
            operators.push((op, self.span(target).start));
            target = operand;
        }
        let start = if prefix {
            span.start
        } else {
            self.span(target).start
        };
        let target = self.expression(target);
        self.note_write(&target);
        let step = Expr {
            ty: target.ty.clone(),
            kind: ExprKind::Step {
                target: Box::new(target),
                increment,
                prefix,
            },
            span: Span { start, ..span },
        };
        let operators = operators.into_iter().rev();
        operators.fold(step, |operand, (op, start)| {
            self.unary(op, operand, Span { start, ..span })
        })
    }

    fn assignment(&mut self, node: Node, span: Span) -> Expr {
        let target = self.part_expression(node, Part::Left);
        self.note_write(&target);
        let ty = target.ty.clone();
        let Some(right) = part(node, Part::Right) else {
            return opaque(vec![target], ty, span);
        };
        let operator = part(node, Part::Operator).map_or(&b"="[..], |op| self.node_source(op));
        if operator == b"=" {
            let value = self.initializer(right, &ty);
            let value = self.fit(value, &ty);
            let kind = ExprKind::Assign {
                target: Box::new(target),
                op: None,
                value: Box::new(value),
            };
            return Expr { kind, ty, span };
        }
        let value = self.expression(right);
        let op = operator.strip_suffix(b"=").and_then(binary_op);
        let Some(op) = op.filter(|op| !op.is_comparison()) else {
            return opaque(vec![target, as_value(value)], ty, span);
        };
        let operation = if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            Some(arithmetic(&ty))
        } else {
            self.common_of(&target, &value).map(|common| arithmetic(&common))
        };
        let Some(operation) = operation.filter(|ty| ty.scalar().is_some() && !is_open(op, ty)) else {
            if ty == Type::Unknown || value.ty == Type::Unknown {
                let kind = ExprKind::Assign {
                    target: Box::new(target),
                    op: Some(op),
                    value: Box::new(value),
                };
                return Expr { kind, ty, span };
            }
            return opaque(vec![target, as_value(value)], ty, span);
        };
        let value = self.convert(value, &operation);
        let kind = ExprKind::Assign {
            target: Box::new(target),
            op: Some(op),
            value: Box::new(value),
        };
        Expr { kind, ty, span }
    }

    fn conditional(&mut self, node: Node, span: Span) -> Expr {
        let condition = self.part_expression(node, Part::Condition);
        let yes = self.part_expression(node, Part::Consequence);
        let no = self.part_expression(node, Part::Alternative);
        if self.is_unsettled(&condition) {
            let operands = vec![as_value(condition), skippable(yes), skippable(no)];
            return opaque(operands, Type::Unknown, span);
        }
        let condition = self.convert_scalar(condition, Scalar::Bool);
        self.select(condition, yes, no, span)
    }

    /// `condition ? yes : no`, with its arms converted to their common type.
    fn select(&mut self, condition: Expr, yes: Expr, no: Expr, span: Span) -> Expr {
        let common = self.common_of_large_literals(&yes, &no);
        let Some(mut ty) = common.or_else(|| self.common_of(&yes, &no)) else {
            return opaque(
                vec![condition, skippable(yes), skippable(no)],
                Type::Unknown,
                span,
            );
        };
        // DXC converts two enumerators to `int`, unless they are from an `enum class`.
        if let Some(Scalar::Enum(id) | Scalar::UintEnum(id)) = ty.scalar()
            && !self.scoped_enumerations.contains(&id)
        {
            ty = ty.with_scalar(Scalar::Int);
        }
        if let (Type::Vector(..), Some(_)) = (&condition.ty, ty.scalar())
            && let Some(wider) = shape(&condition.ty, &ty)
            && let Some(scalar) = ty.scalar()
        {
            ty = wider.with_scalar(scalar);
        }
        let (yes, no) = (self.convert(yes, &ty), self.convert(no, &ty));
        let condition = match (&condition.ty, &ty) {
            (Type::Vector(_, m), Type::Vector(_, n)) if m != n => {
                self.convert(condition, &Type::Vector(Scalar::Bool, *n))
            }
            _ => condition,
        };
        Expr {
            kind: ExprKind::Ternary(Box::new(condition), Box::new(yes), Box::new(no)),
            ty,
            span,
        }
    }

    /// `sizeof(T)`, if every component of `T` has the same size.
    fn size_of(&mut self, node: Node, span: Span) -> Expr {
        let ty = if let Some(ty) = part(node, Part::Type) {
            self.type_of_node(ty)
        } else if let Some(value) = part(node, Part::Value) {
            let inner = self.span(value);
            let named = self.type_at(Span {
                start: inner.start + 1,
                end: inner.end.saturating_sub(1),
            });
            if named == Type::Unknown {
                let value = self.expression(value);
                // DXC gives each component of it 8 bytes.
                if self.is_of_literals(&value) {
                    Type::Unknown
                } else {
                    value.ty
                }
            } else {
                named
            }
        } else {
            Type::Unknown
        };
        let count = self.shader.components(&ty);
        let words =
            (0..count.min(4096)).all(|index| self.component_scalar(&ty, index).is_some_and(Scalar::is_word));
        match u32::try_from(count.saturating_mul(4)) {
            Ok(bytes) if words && count > 0 && count <= 4096 && self.shader.is_known(&ty) => Expr {
                kind: ExprKind::Literal(bytes),
                ty: Type::UINT,
                span,
            },
            _ => {
                // The size of this type depends on the target.
                self.told.insert(span);
                opaque(Vec::new(), Type::UINT, span)
            }
        }
    }
}
