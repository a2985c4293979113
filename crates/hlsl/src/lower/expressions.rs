//! Expressions.

use tree_sitter::Node;

use super::conversions::{arithmetic, as_value, opaque, shape};
use super::{Lowering, literals};
use crate::span::Span;
use crate::tree::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::types::{ResourceKind, Scalar, Type};

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

impl<'a> Lowering<'a> {
    /// Lowers an expression. What is not understood is `Opaque` with what is.
    pub(super) fn expression(&mut self, node: Node) -> Expr {
        let span = self.span(node);
        if !self.enter() {
            return opaque(Vec::new(), Type::Unknown, span);
        }
        let expr = self.expression_kind(node, span);
        self.leave();
        expr
    }

    fn expression_kind(&mut self, node: Node, span: Span) -> Expr {
        match node.kind() {
            "identifier"
            | "field_identifier"
            | "number_literal"
            | "true"
            | "false"
            | "qualified_identifier"
            | "type_identifier" => self.name(span),
            "this" => self.name(span),
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
                let left = self.field_expression_of(node, "left");
                let right = self.field_expression_of(node, "right");
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
                let ty = node
                    .child_by_field_name("type")
                    .map_or(Type::Unknown, |ty| self.type_of_node(ty));
                match node.child_by_field_name("value") {
                    Some(value) => self.initializer(value, &ty),
                    None => self.children(node, span),
                }
            }
            "initializer_list" => self.initializer(node, &Type::Unknown),
            "sizeof_expression" => self.size_of(node, span),
            _ => self.children(node, span),
        }
    }

    /// A node that is not understood: its parts may be.
    fn children(&mut self, node: Node, span: Span) -> Expr {
        let mut operands = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            operands.push(self.expression(child));
        }
        opaque(operands, Type::Unknown, span)
    }

    pub(super) fn field_expression_of(&mut self, node: Node, field: &str) -> Expr {
        match node.child_by_field_name(field) {
            Some(child) => self.expression(child),
            None => opaque(Vec::new(), Type::Unknown, self.span(node)),
        }
    }

    /// A name or a literal; the lexical pass makes names of some literals.
    fn name(&mut self, span: Span) -> Expr {
        let text = self.source(span);
        let expr = |kind: ExprKind, ty: Type| Expr { kind, ty, span };
        let is_number = match text {
            b"true" | b"false" => true,
            [b'0'..=b'9', ..] => true,
            [b'.', rest @ ..] => rest.first().is_some_and(u8::is_ascii_digit),
            _ => false,
        };
        if is_number {
            return match literals::literal(text) {
                (ty, Some(bits)) => expr(ExprKind::Literal(bits), ty),
                (ty, None) => opaque(Vec::new(), ty, span),
            };
        }
        if let Some(&local) = self.body.scope.get(text) {
            return expr(ExprKind::Local(local), self.local_type(local));
        }
        if let Some((this, id)) = self.body.this
            && let Some(found) = self.shader.structs.get(id.0 as usize)
            && let Some(index) = found
                .fields
                .iter()
                .position(|field| field.name.as_bytes() == text)
        {
            let ty = found
                .fields
                .get(index)
                .map_or(Type::Unknown, |field| field.ty.clone());
            let object = expr(ExprKind::Local(this), Type::Struct(id));
            return expr(
                ExprKind::Field(Box::new(object), u32::try_from(index).unwrap_or(0)),
                ty,
            );
        }
        // `a :: b` may be written with spaces.
        let packed: Vec<u8>;
        let mut key = text;
        if text.contains(&b':') {
            packed = text
                .iter()
                .copied()
                .filter(|byte| !byte.is_ascii_whitespace())
                .collect();
            key = packed.strip_prefix(b"::").unwrap_or(&packed);
        }
        if let Some(global) = self.resolve(&self.globals, key) {
            let ty = self
                .shader
                .globals
                .get(global.0 as usize)
                .map_or(Type::Unknown, |global| global.ty.clone());
            return expr(ExprKind::Global(global), ty);
        }
        if let Some(value) = self.resolve(&self.enumerators, key) {
            return expr(ExprKind::Literal(value.bits()), value.ty());
        }
        if !text.starts_with(b"\"") && !text.starts_with(b"'") {
            self.unknown_name(text, span);
        }
        opaque(Vec::new(), Type::Unknown, span)
    }

    fn binary_expression(&mut self, node: Node, span: Span) -> Expr {
        let left = self.field_expression_of(node, "left");
        let right = self.field_expression_of(node, "right");
        let op = node
            .child_by_field_name("operator")
            .and_then(|op| binary_op(self.node_source(op)));
        match op {
            Some(op) => self.binary(op, left, right, span),
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
        if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
            let left = self.convert_scalar(left, Scalar::Bool);
            let right = self.convert_scalar(right, Scalar::Bool);
            let Some(ty) = shape(&left.ty, &right.ty) else {
                return opaque(vec![as_value(left), as_value(right)], Type::BOOL, span);
            };
            let (left, right) = (self.convert(left, &ty), self.convert(right, &ty));
            return make(left, right, ty);
        }
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let ty = arithmetic(&left.ty);
            if let (Some(scalar), Some(shape)) = (ty.scalar(), shape(&ty, &right.ty).or(Some(ty.clone()))) {
                let ty = shape.with_scalar(scalar);
                let (left, right) = (self.convert(left, &ty), self.convert(right, &ty));
                return make(left, right, ty);
            }
            return opaque(vec![as_value(left), as_value(right)], left_type(&ty), span);
        }
        let common = self.common_of(&left, &right).filter(|ty| ty.scalar().is_some());
        let Some(common) = common else {
            let ty = if op.is_comparison() {
                Type::BOOL
            } else {
                Type::Unknown
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
        let Some(op) = node.child_by_field_name("operator") else {
            return self.children(node, span);
        };
        let text = self.node_source(op);
        if text == b"(" {
            return self.cast(node, self.span(op), span);
        }
        let operand = self.field_expression_of(node, "argument");
        let op = match text {
            b"-" => UnaryOp::Negate,
            b"!" | b"not" => UnaryOp::Not,
            b"~" => UnaryOp::Complement,
            b"+" => return operand,
            _ => return opaque(vec![operand], Type::Unknown, span),
        };
        if operand.ty != Type::Unknown && operand.ty.scalar().is_none() {
            return opaque(vec![operand], Type::Unknown, span);
        }
        let operand = match op {
            UnaryOp::Not => self.convert_scalar(operand, Scalar::Bool),
            UnaryOp::Negate | UnaryOp::Complement => {
                let ty = arithmetic(&operand.ty);
                if ty == Type::Unknown {
                    return opaque(vec![as_value(operand)], ty, span);
                }
                self.convert(operand, &ty)
            }
        };
        let ty = operand.ty.clone();
        Expr {
            kind: ExprKind::Unary(op, Box::new(operand)),
            ty,
            span,
        }
    }

    /// `(T)x`, which the lexical pass wrote as `~  x`.
    fn cast(&mut self, node: Node, place: Span, span: Span) -> Expr {
        let operand = self.field_expression_of(node, "argument");
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
        let mut expr = self.convert(operand, &ty);
        expr.span = span;
        expr
    }

    fn update_expression(&mut self, node: Node, span: Span) -> Expr {
        let target = self.field_expression_of(node, "argument");
        self.note_write(&target);
        let op = node.child_by_field_name("operator");
        let argument = node.child_by_field_name("argument");
        let (Some(op), Some(argument)) = (op, argument) else {
            return opaque(vec![target], Type::Unknown, span);
        };
        let increment = self.node_source(op) == b"++";
        let prefix = op.start_byte() < argument.start_byte();
        let ty = target.ty.clone();
        Expr {
            kind: ExprKind::Step {
                target: Box::new(target),
                increment,
                prefix,
            },
            ty,
            span,
        }
    }

    fn assignment(&mut self, node: Node, span: Span) -> Expr {
        let target = self.field_expression_of(node, "left");
        self.note_write(&target);
        let ty = target.ty.clone();
        let Some(right) = node.child_by_field_name("right") else {
            return opaque(vec![target], ty, span);
        };
        let operator = node
            .child_by_field_name("operator")
            .map_or(&b"="[..], |op| self.node_source(op));
        if operator == b"=" {
            let value = self.initializer(right, &ty);
            let value = self.convert(value, &ty);
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
        let Some(operation) = operation.filter(|ty| ty.scalar().is_some()) else {
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
        let condition = self.field_expression_of(node, "condition");
        let yes = self.field_expression_of(node, "consequence");
        let no = self.field_expression_of(node, "alternative");
        let condition = self.convert_scalar(condition, Scalar::Bool);
        self.select(condition, yes, no, span)
    }

    /// `condition ? yes : no`, the arms converted to their common type.
    fn select(&mut self, condition: Expr, yes: Expr, no: Expr, span: Span) -> Expr {
        let Some(mut ty) = self.common_of(&yes, &no) else {
            return opaque(vec![condition, as_value(yes), as_value(no)], Type::Unknown, span);
        };
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

    fn member(&mut self, node: Node, span: Span) -> Expr {
        let object = self.field_expression_of(node, "argument");
        let Some(field) = node.child_by_field_name("field") else {
            return opaque(vec![object], Type::Unknown, span);
        };
        let name = self.node_source(field);
        self.member_of(object, name, span)
    }

    /// `object.name`, a field or a swizzle.
    pub(super) fn member_of(&mut self, object: Expr, name: &[u8], span: Span) -> Expr {
        let holder = Self::constant_buffer_element(&object.ty).unwrap_or(&object.ty);
        if let Type::Struct(id) = holder {
            let field = self.shader.structs.get(id.0 as usize).and_then(|found| {
                let index = found
                    .fields
                    .iter()
                    .position(|field| field.name.as_bytes() == name)?;
                Some((u32::try_from(index).ok()?, found.fields.get(index)?.ty.clone()))
            });
            return match field {
                Some((index, ty)) => Expr {
                    kind: ExprKind::Field(Box::new(object), index),
                    ty,
                    span,
                },
                None => opaque(vec![object], Type::Unknown, span),
            };
        }
        match swizzle(&object.ty, name) {
            Some((components, ty)) => Expr {
                kind: ExprKind::Swizzle(Box::new(object), components),
                ty,
                span,
            },
            None => opaque(vec![object], Type::Unknown, span),
        }
    }

    fn subscript(&mut self, node: Node, span: Span) -> Expr {
        let object = self.field_expression_of(node, "argument");
        let index = node
            .child_by_field_name("indices")
            .or_else(|| node.child_by_field_name("index"));
        let index = index.and_then(|list| {
            if list.kind() == "subscript_argument_list" {
                if list.named_child_count() == 1 {
                    list.named_child(0)
                } else {
                    None
                }
            } else {
                Some(list)
            }
        });
        let Some(index) = index else {
            return opaque(vec![object], Type::Unknown, span);
        };
        let index = self.expression(index);
        let index = self.index_value(index);
        let ty = match &object.ty {
            Type::Array(element, _) => (**element).clone(),
            Type::Vector(scalar, _) => Type::Scalar(*scalar),
            Type::Matrix(scalar, _, columns) => Type::Vector(*scalar, *columns),
            Type::Resource(
                ResourceKind::StructuredBuffer
                | ResourceKind::RwStructuredBuffer
                | ResourceKind::Buffer
                | ResourceKind::RwBuffer
                | ResourceKind::Texture
                | ResourceKind::RwTexture,
                Some(element),
            ) => (**element).clone(),
            _ => return opaque(vec![object, as_value(index)], Type::Unknown, span),
        };
        Expr {
            kind: ExprKind::Index(Box::new(object), Box::new(index)),
            ty,
            span,
        }
    }

    /// `sizeof(T)`, where every component of `T` has one size.
    fn size_of(&mut self, node: Node, span: Span) -> Expr {
        let ty = if let Some(ty) = node.child_by_field_name("type") {
            self.type_of_node(ty)
        } else if let Some(value) = node.child_by_field_name("value") {
            let inner = self.span(value);
            let named = self.type_at(Span {
                start: inner.start + 1,
                end: inner.end.saturating_sub(1),
            });
            if named == Type::Unknown {
                self.expression(value).ty
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
            Ok(bytes) if words && count > 0 && count <= 4096 => Expr {
                kind: ExprKind::Literal(bytes),
                ty: Type::UINT,
                span,
            },
            _ => opaque(Vec::new(), Type::UINT, span),
        }
    }

    /// An expression, or a `{…}` that becomes a value of the type.
    pub(super) fn initializer(&mut self, node: Node, ty: &Type) -> Expr {
        if node.kind() != "initializer_list" {
            return self.expression(node);
        }
        let span = self.span(node);
        let mut leaves = Vec::new();
        if self.enter() {
            self.flatten(node, &mut leaves);
            self.leave();
        }
        self.construct(leaves, ty, span)
    }

    /// The leaves of nested lists, which HLSL sees as one.
    fn flatten(&mut self, node: Node, leaves: &mut Vec<Expr>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if child.kind() == "initializer_list" {
                if self.enter() {
                    self.flatten(child, leaves);
                    self.leave();
                }
            } else {
                leaves.push(self.expression(child));
            }
        }
    }

    /// How many scalars an initialiser holds.
    pub(super) fn count_components(&mut self, node: Node) -> usize {
        let problems = self.problems.len();
        let mut leaves = Vec::new();
        if node.kind() == "initializer_list" {
            self.flatten(node, &mut leaves);
        } else {
            leaves.push(self.expression(node));
        }
        self.problems.truncate(problems);
        leaves
            .iter()
            .map(|leaf| self.shader.components(&leaf.ty).max(1))
            .sum()
    }

    /// A value of a type from values that hold its components in order.
    pub(super) fn construct(&mut self, values: Vec<Expr>, ty: &Type, span: Span) -> Expr {
        let wanted = self.shader.components(ty);
        let mut position = 0usize;
        let mut arguments = Vec::with_capacity(values.len());
        let mut fits = wanted > 0;
        for value in values {
            // One unknown value among known ones is most likely a scalar.
            let count = self.shader.components(&value.ty).max(1);
            let value = match self.component_scalar(ty, position) {
                Some(scalar) if value.ty.scalar().is_some() || value.ty == Type::Unknown && wanted > 0 => {
                    if value.ty == Type::Unknown {
                        fits = false;
                        value
                    } else {
                        self.convert_scalar(value, scalar)
                    }
                }
                _ => value,
            };
            position = position.saturating_add(count);
            arguments.push(value);
        }
        if fits && position == wanted {
            Expr {
                kind: ExprKind::Construct(arguments),
                ty: ty.clone(),
                span,
            }
        } else {
            opaque(arguments.into_iter().map(as_value).collect(), ty.clone(), span)
        }
    }
}

fn left_type(ty: &Type) -> Type {
    ty.clone()
}

/// The components a member name selects, and the type of the selection.
fn swizzle(ty: &Type, name: &[u8]) -> Option<(Vec<u8>, Type)> {
    let scalar = ty.scalar()?;
    let components: Vec<u8> = if let Type::Matrix(_, rows, columns) = ty {
        let zero_based = name.starts_with(b"_m");
        let size = if zero_based { 4 } else { 3 };
        if name.is_empty() || !name.len().is_multiple_of(size) {
            return None;
        }
        name.chunks(size)
            .map(|part| {
                let digits = part.strip_prefix(if zero_based { &b"_m"[..] } else { b"_" })?;
                let [row, column] = digits else { return None };
                let base = if zero_based { b'0' } else { b'1' };
                let (row, column) = (row.checked_sub(base)?, column.checked_sub(base)?);
                (row < *rows && column < *columns).then(|| row * columns + column)
            })
            .collect::<Option<_>>()?
    } else {
        let width = if let Type::Vector(_, n) = ty { *n } else { 1 };
        let position = |set: &[u8; 4], byte: &u8| {
            let index = set.iter().position(|member| member == byte)?;
            u8::try_from(index).ok().filter(|index| *index < width)
        };
        let of = |set: &[u8; 4]| {
            name.iter()
                .map(|byte| position(set, byte))
                .collect::<Option<Vec<u8>>>()
        };
        of(b"xyzw").or_else(|| of(b"rgba"))?
    };
    let ty = match components.len() {
        1 => Type::Scalar(scalar),
        n @ 2..=4 => Type::Vector(scalar, u8::try_from(n).ok()?),
        _ => return None,
    };
    Some((components, ty))
}
