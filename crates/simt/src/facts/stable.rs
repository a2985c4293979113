//! Which variables of a function have a single value, whenever they are read.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Direction, Expr, ExprKind, Function, GlobalId, LocalId, Scalar, Shader, Stmt, StmtKind, Storage,
    statements,
};

use crate::facts::effects::EffectsCache;

/// What the text of a function shows about its variables.
pub(crate) struct Stable<'a> {
    /// Variables that are assigned only at their declaration.
    unwritten: BTreeSet<LocalId>,
    /// The declarations of variables whose value is computed from the function's inputs, constants, and each other:
    /// whenever it is computed, it is the same.
    pub declarations: Vec<&'a Stmt>,
    /// These variables, and the inputs that nothing writes.
    pub locals: BTreeSet<LocalId>,
}

impl<'a> Stable<'a> {
    pub fn of(shader: &Shader, function: &'a Function, effects: &mut EffectsCache) -> Self {
        let body = function.body.as_deref().unwrap_or_default();
        let mut written = BTreeSet::new();
        for expr in statements(body).flat_map(Stmt::expressions) {
            written.extend(effects.of_expression(shader, expr).written);
        }
        let all = (0..function.locals.len() as u32).map(LocalId);
        let unwritten: BTreeSet<LocalId> = all.filter(|local| !written.contains(local)).collect();
        let inputs = function.parameters.iter();
        let inputs = inputs.filter(|parameter| parameter.direction == Direction::In);
        let mut stable = Stable {
            locals: inputs
                .map(|parameter| parameter.local)
                .filter(|local| unwritten.contains(local))
                .collect(),
            declarations: Vec::new(),
            unwritten,
        };
        for statement in statements(body) {
            if let StmtKind::Declare {
                local,
                init: Some(init),
            } = &statement.kind
                && stable.unwritten.contains(local)
                && !is_long(shader, init, effects)
                && stable.gives_one_value(shader, init, effects)
            {
                stable.locals.insert(*local);
                stable.declarations.push(statement);
            }
        }
        stable
    }

    /// Whether an expression has one value in each thread, whenever it is evaluated.
    pub fn gives_one_value(&self, shader: &Shader, expr: &Expr, effects: &mut EffectsCache) -> bool {
        let of = effects.of_expression(shader, expr);
        let is_constant = |global: &GlobalId| {
            let global = shader.globals.get(global.0 as usize);
            global.is_some_and(|global| {
                matches!(
                    global.storage,
                    Storage::Uniform | Storage::Const | Storage::Resource
                )
            })
        };
        let does_more = of.has_side_effects()
            || of.touches_shared()
            || of.device_observed
            || of.atomic
            || of.wave
            || of.calls_unknown;
        let is_understood = !expr
            .descendants()
            .any(|part| matches!(part.kind, ExprKind::Opaque(_)));
        is_understood
            && !does_more
            && of.globals.iter().all(is_constant)
            && of.read.iter().all(|local| self.locals.contains(local))
    }
}

/// Whether functions compute this float, which may take long. A value that decides where a thread is, or where it
/// goes, rarely depends on a float.
fn is_long(shader: &Shader, init: &Expr, effects: &mut EffectsCache) -> bool {
    let is_float = init.ty.scalar().is_some_and(Scalar::is_float);
    is_float && !effects.of_expression(shader, init).functions.is_empty()
}
