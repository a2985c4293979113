//! Initialiser lists and constructors.

use tree_sitter::Node;

use super::Lowering;
use super::operands::{as_values, opaque};
use crate::span::Span;
use crate::tree::{Expr, ExprKind};
use crate::types::Type;

impl Lowering<'_> {
    /// An expression, or a `{…}` that initialises a value of this type.
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

    /// The leaves of nested lists. HLSL flattens them into one list.
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
        let mut leaves = Vec::new();
        if node.kind() == "initializer_list" {
            self.flatten(node, &mut leaves);
        } else {
            leaves.push(self.expression(node));
        }
        leaves
            .iter()
            .map(|leaf| self.shader.components(&leaf.ty).max(1))
            .sum()
    }

    /// A value of a type, from values that hold its components in order.
    pub(super) fn construct(&mut self, values: Vec<Expr>, ty: &Type, span: Span) -> Expr {
        let wanted = self.shader.components(ty);
        let mut position = 0usize;
        let mut arguments = Vec::with_capacity(values.len());
        // The types of all values decide which components each value initialises.
        let mut fits = wanted > 0 && self.shader.is_known(ty);
        for value in values {
            fits &= self.shader.is_known(&value.ty);
            // One unknown value among known ones is most likely a scalar.
            let count = self.shader.components(&value.ty).max(1);
            let given = |component| self.component_scalar(&value.ty, component);
            let takes = |component| self.component_scalar(ty, position.saturating_add(component));
            // Each component converts to the type of the component that it initialises. If these have one type, one
            // conversion does that.
            let (is_one, is_same) = (
                (1..count).all(|component| takes(component) == takes(0)),
                (0..count).all(|component| takes(component) == given(component)),
            );
            let value = match takes(0) {
                Some(scalar) if is_one && value.ty.scalar().is_some() => self.convert_scalar(value, scalar),
                _ => {
                    fits &= is_same;
                    value
                }
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
            opaque(as_values(arguments), ty.clone(), span)
        }
    }
}
