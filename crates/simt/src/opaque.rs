//! What is not understood: terms of its text and of what it is given.

use shaderlint_hlsl::{Expr, ExprKind, Intrinsic, Type};

use crate::column::Column;
use crate::machine::{Machine, Run};
use crate::place::Root;
use crate::value::Op;

impl<'a> Machine<'a> {
    /// Something not understood: a term of its text and operands, which it may also have written to.
    pub fn opaque(&mut self, operands: &'a [Expr], expr: &'a Expr) -> Run<Vec<Column>> {
        self.opaque_with(Vec::new(), operands, expr)
    }

    /// The same, of some values besides the operands: which of an array of resources is meant.
    pub fn opaque_with(
        &mut self,
        mut columns: Vec<Column>,
        operands: &'a [Expr],
        expr: &'a Expr,
    ) -> Run<Vec<Column>> {
        let text = expr.span.slice(&self.shader.text);
        if text.starts_with(b"DispatchMesh") {
            // "The DispatchMesh call implies a GroupMemoryBarrierWithGroupSync()": DirectX mesh shader specification.
            self.barrier(expr.span, Intrinsic::GroupMemoryBarrierWithGroupSync)?;
        }
        let text = String::from_utf8_lossy(text).into_owned();
        let text = self.terms.symbol(&text);
        let mut places = Vec::new();
        // An operand is of a type that is not known.
        let mut is_partly_known = false;
        for operand in operands {
            let is_place = matches!(
                operand.kind,
                ExprKind::Local(_)
                    | ExprKind::Global(_)
                    | ExprKind::Index(..)
                    | ExprKind::Field(..)
                    | ExprKind::Swizzle(..)
            );
            let place = self.place(operand)?;
            if matches!(operand.ty, Type::Resource(..)) {
                if let Some((_, index)) = place.on_device() {
                    columns.extend(index);
                }
                continue;
            }
            if matches!(operand.ty, Type::Array(..)) && place.in_shared().is_some() {
                return Self::stop(
                    "a groupshared array passed to something that is not understood",
                    operand.span,
                );
            }
            let value = self.load(&place, operand.span);
            // What is no place is a term of all that it is made of.
            is_partly_known |= match &operand.ty {
                Type::Unknown => value.is_empty(),
                ty => !self.shader.is_known(ty),
            };
            columns.extend(value);
            if is_place && !matches!(place.root, Root::Value(_) | Root::Uniform(_)) {
                places.push((place, operand.span));
            }
        }
        let known_read = match &expr.kind {
            ExprKind::Method { name, .. } => ["Load", "Sample", "Gather"]
                .iter()
                .any(|read| name.starts_with(read)),
            ExprKind::Intrinsic(intrinsic, arguments) => {
                !(0..arguments.len()).any(|index| intrinsic.may_write(index))
            }
            _ => false,
        };
        if !known_read {
            // A barrier may hide behind an unknown name.
            self.state.epoch += 1;
        }
        for column in &columns {
            self.uses(column);
        }
        let has_nothing = self.claims.is_some() && columns.is_empty();
        if (is_partly_known || has_nothing) && !self.is_heap(expr) {
            // Equal terms would say that what is not seen is equal too.
            let count = self.shader.components(&expr.ty).clamp(1, 64);
            for (place, span) in places {
                let changed = self.not_known(place.components.len());
                self.store(&place, &changed, span)?;
            }
            return Ok(self.not_known(count));
        }
        // All that is read in one term: as often as there are results it would be too much to write down.
        let arguments: Vec<&Column> = columns.iter().collect();
        let all = self.map_all(&arguments, |terms, values| terms.apply(Op::Same, values));
        let result = |machine: &mut Self, component: u8| {
            let op = Op::Opaque { text, component };
            machine.map_all(&[&all], |terms, values| terms.apply(op, values))
        };
        let count = self.shader.components(&expr.ty).clamp(1, 64);
        let value = (0..count)
            .map(|component| result(self, component as u8))
            .collect();
        if !known_read {
            for (number, (place, span)) in places.into_iter().enumerate() {
                // Each component of each argument is a value of its own.
                let argument = self.terms.symbol(&format!("argument {number}"));
                let changed = (0..place.components.len() as u32)
                    .map(|component| {
                        let op = Op::Havoc {
                            text,
                            place: argument,
                            component,
                        };
                        self.map_all(&[&all], |terms, values| terms.apply(op, values))
                    })
                    .collect::<Vec<_>>();
                self.store(&place, &changed, span)?;
            }
        }
        Ok(value)
    }
}
