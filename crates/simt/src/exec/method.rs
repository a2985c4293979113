//! Methods of resources: loads, stores, atomics and counters.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Expr, ExprKind, Method, ResourceKind, Shader, Type};

use crate::exec::Observer;
use crate::exec::atomic::Cell;
use crate::exec::{MAX_COMPONENTS, Machine, Run};
use crate::facts::layout::is_of_words;
use crate::terms::column::Column;

impl<'a, O: Observer> Machine<'a, O> {
    pub fn method(
        &mut self,
        object: &'a Expr,
        method: &Method,
        arguments: &'a [Expr],
        expr: &'a Expr,
    ) -> Run<Vec<Column>> {
        let place = self.place(object)?;
        if let Some((tile, _)) = place.in_shared() {
            return self.method_of_tile(tile, object, method, arguments, expr);
        }
        let count = self.parts(&expr.ty).min(MAX_COMPONENTS);
        let (Some((resource, mut index)), Type::Resource(kind, _)) = (place.on_device(), &object.ty) else {
            return self.opaque_of(Some((object, place)), arguments, expr);
        };
        let by_address = kind.is_by_address();
        match (method, arguments) {
            (Method::Load { .. }, [at]) if *kind != ResourceKind::Texture => {
                index.extend(self.eval(at)?);
                if by_address && !is_of_words(self.shader, &expr.ty) {
                    // Not the words at that address: another type may have other values there, in another
                    // order.
                    index.push(self.told_by_types([&expr.ty]));
                }
                O::accessed_device(self, resource, &index, &Column::ZERO, false);
                let value = (0..count as u32)
                    .map(|component| self.load_device(resource, &index, component))
                    .collect();
                Ok(self.with_truths(value, &expr.ty))
            }
            (Method::Load { .. }, [at]) if is_first_level(self.shader, at) => {
                // The same texel as a subscript reads.
                let mut texel = self.eval(at)?;
                texel.pop();
                index.extend(texel);
                O::accessed_device(self, resource, &index, &Column::ZERO, false);
                let value = (0..count as u32)
                    .map(|component| self.load_device(resource, &index, component))
                    .collect();
                Ok(self.with_truths(value, &expr.ty))
            }
            (Method::Store { .. }, [at, value]) if by_address => {
                index.extend(self.eval(at)?);
                let ty = &value.ty;
                let mut value = self.eval(value)?;
                O::accessed_device(self, resource, &index, &Column::ZERO, true);
                if !is_of_words(self.shader, ty) {
                    // The mapping of components to bytes is not followed: only an identical store leaves the
                    // same.
                    value.push(self.told_by_types([ty]));
                    let all = self.as_one(&value);
                    self.store_device(resource, &index, u32::MAX, &all);
                    return Ok(Vec::new());
                }
                for (component, value) in (0u32..).zip(&value) {
                    self.store_device(resource, &index, component, value);
                }
                Ok(Vec::new())
            }
            (Method::Atomic(intrinsic), _) if by_address => {
                let Some((at, operands)) = arguments.split_first() else {
                    return self.opaque_of(Some((object, place)), arguments, expr);
                };
                let (at, assumed_uniform) =
                    self.assuming_uniform(None, std::slice::from_ref(at), |machine| machine.eval(at))?;
                if at.is_empty() {
                    return Self::stop("an unsupported address", expr.span);
                }
                index.extend(at);
                let cell = Cell {
                    resource,
                    index: &index,
                    component: 0,
                    assumed_uniform: &assumed_uniform,
                };
                self.atomic_on_device(*intrinsic, &cell, operands, object.span, expr)
            }
            (Method::Counter(counter), _) => {
                if self.mode.serves_lane_by_lane() {
                    return Self::stop("a counter within an atomic", expr.span);
                }
                let cell = Cell {
                    resource,
                    index: &index,
                    component: u32::MAX,
                    assumed_uniform: &BTreeSet::new(),
                };
                self.count_on_device(*counter, &cell, arguments, object.span, expr, count)
            }
            _ => self.opaque_of(Some((object, place)), arguments, expr),
        }
    }
}

/// Whether the last component of a texel's place, its level, is the literal 0. The level in a variable is not known.
fn is_first_level(shader: &Shader, at: &Expr) -> bool {
    let within = at.uncast();
    let ExprKind::Construct(parts) = &within.kind else {
        return false;
    };
    let is_zero = |level: &Expr| matches!(level.uncast().kind, ExprKind::Literal(0));
    // There is more than the level.
    parts.len() > 1
        && parts.last().is_some_and(is_zero)
        && shader.components(&within.ty) == shader.components(&at.ty)
}
