//! Expressions whose meaning depends on the order in which their parts are evaluated, which HLSL leaves open. There
//! are three cases:
//!
//! - An argument of a call changes what another one reads or changes, or one side of an assignment changes what the
//!   other side reads or changes. DXC evaluates the arguments of functions and intrinsics from right to left, and a
//!   value before the place that it is assigned to.
//! - A call changes a variable under two names. HLSL copies arguments in and out, and does not specify the order; DXC
//!   passes the variables themselves.
//! - The place of an argument that is copied back depends on something that changes while the place is evaluated, as
//!   in `f(a[i++])`: DXC evaluates it twice.
//!
//! The operands of an operator and the elements of a list are evaluated from left to right.

use shaderlint_hlsl::{BinaryOp, Direction, Expr, ExprKind, Shader, Type, Version};

use crate::facts::effects::{Effects, EffectsCache};

impl Effects {
    /// Whether an evaluation with these effects may have another result, or leave something else, if it comes after
    /// one with the other effects. Calls of unknown code are not considered.
    fn may_be_changed_by(&self, other: &Effects) -> bool {
        let on_device = |effects: &Effects| effects.device_observed || !effects.device_written.is_empty();
        !self.read.is_disjoint(&other.written)
            || !self.globals.is_disjoint(&other.statics)
            || !self.shared_read.is_disjoint(&other.shared_written)
            || !self.globals.is_disjoint(&other.device_written)
            || other.handle_written && (self.handle_written || on_device(self))
            || other.barrier && (self.barrier || self.touches_shared() || on_device(self))
    }
}

impl EffectsCache {
    /// Whether the meaning of an expression, or of a part of it, depends on the compiler.
    pub fn hangs_on_order(&mut self, shader: &Shader, expr: &Expr) -> bool {
        if !self.has_side_effects(shader, expr) {
            return false;
        }
        let key = std::ptr::from_ref(expr);
        if let Some(known) = self.unordered.get(&key) {
            return *known;
        }
        let hangs = self.is_unordered(shader, expr) || { expr.children() }
            .into_iter()
            .any(|part| self.hangs_on_order(shader, part));
        self.unordered.insert(key, hangs);
        hangs
    }

    fn is_unordered(&mut self, shader: &Shader, expr: &Expr) -> bool {
        if let ExprKind::Call(function, arguments) = &expr.kind
            && let Some(function) = shader.functions.get(function.0 as usize)
        {
            let outputs = function.parameters.iter().zip(arguments);
            let outputs = outputs.filter(|(parameter, _)| parameter.direction != Direction::In);
            let outputs: Vec<&Expr> = outputs.map(|(_, argument)| argument).collect();
            // The SPIR-V of `f(a[i++])` evaluates `i++` once, its DXIL twice.
            let mut indices = outputs.iter().flat_map(|argument| indices(argument));
            let is_opaque = |index: &Expr| matches!(index.kind, ExprKind::Opaque(_));
            let is_moved = indices.any(|index| !is_opaque(index) && self.has_side_effects(shader, index));
            if is_moved || pairs(&outputs).any(|(one, other)| overlap(one, other)) {
                return true;
            }
        }
        let parts: Vec<Vec<&Expr>> = match &expr.kind {
            ExprKind::Call(_, arguments)
            | ExprKind::Intrinsic(_, arguments)
            | ExprKind::Method { arguments, .. } => arguments.iter().map(|one| vec![one]).collect(),
            // A variable that is the whole target is read and assigned last.
            ExprKind::Assign { target, op, value }
                if !matches!(target.kind, ExprKind::Local(_) | ExprKind::Global(_)) =>
            {
                // The location of the target, and for `x.a += …` also its value.
                let of_target = if op.is_some() {
                    vec![&**target]
                } else {
                    indices(target)
                };
                vec![of_target, vec![value]]
            }
            _ => return false,
        };
        let effects: Vec<Effects> = { parts.iter() }
            .map(|parts| {
                let mut effects = Effects::default();
                for part in parts {
                    self.expression(shader, part, false, &mut effects);
                }
                effects
            })
            .collect();
        pairs(&effects).any(|(one, other)| one.may_be_changed_by(other) || other.may_be_changed_by(one))
    }
}

fn pairs<T>(all: &[T]) -> impl Iterator<Item = (&T, &T)> {
    { all.iter().enumerate() }
        .flat_map(|(number, one)| all.iter().skip(number + 1).map(move |other| (one, other)))
}

/// Whether two places are the same, or one is a part of the other, as far as the text shows. Elements with different
/// indices are apart, and so are elements whose indices are not known.
fn overlap(one: &Expr, other: &Expr) -> bool {
    let (one, other) = (path(one), path(other));
    let is_same = |(one, other): (&&Expr, &&Expr)| match (&one.kind, &other.kind) {
        (ExprKind::Local(a), ExprKind::Local(b)) => a == b,
        (ExprKind::Global(a), ExprKind::Global(b)) => a == b,
        (ExprKind::Field(_, a), ExprKind::Field(_, b)) => a == b,
        (ExprKind::Swizzle(_, a), ExprKind::Swizzle(_, b)) => a.iter().any(|component| b.contains(component)),
        (ExprKind::Index(_, a), ExprKind::Index(_, b)) => match (&a.kind, &b.kind) {
            (ExprKind::Local(a), ExprKind::Local(b)) => a == b,
            (ExprKind::Literal(a), ExprKind::Literal(b)) => a == b,
            _ => false,
        },
        // `v[0]` and `v.x`
        (ExprKind::Index(..), ExprKind::Swizzle(..)) | (ExprKind::Swizzle(..), ExprKind::Index(..)) => true,
        _ => false,
    };
    !one.is_empty() && !other.is_empty() && one.iter().zip(&other).all(is_same)
}

/// The steps from a place's variable to the place.
fn path(place: &Expr) -> Vec<&Expr> {
    let mut path = vec![place];
    let mut whole = place;
    while let ExprKind::Index(base, _) | ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) = &whole.kind {
        whole = base;
        path.push(whole);
    }
    path.reverse();
    path
}

/// The expressions that locate a place, without the variable that it is a part of: `a[i].x = a[j].x = 0` assigns two
/// parts of one variable, in either order.
fn indices(place: &Expr) -> Vec<&Expr> {
    let mut indices = Vec::new();
    let mut whole = place;
    loop {
        whole = match &whole.kind {
            ExprKind::Index(base, index) => {
                indices.push(&**index);
                base
            }
            ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => base,
            ExprKind::Global(_) => return indices,
            ExprKind::Local(_) if !matches!(whole.ty, Type::Resource(..)) => return indices,
            _ => {
                indices.push(whole);
                return indices;
            }
        };
    }
}

/// Whether the version of HLSL decides what an expression leaves: since 2021 an operand of `&&`, `||` or `?:` is not
/// evaluated if another operand decides, and before 2021 it always is. If the version is not known, either is
/// possible.
#[must_use]
pub fn hangs_on_version(shader: &Shader, expr: &Expr) -> bool {
    let writes = |part: &Expr| {
        let effects = EffectsCache::default().of_expression(shader, part);
        let reads_only = Effects {
            cooperates: false,
            ..effects
        };
        reads_only.has_side_effects()
    };
    let is_cut_short = shader.version.is_some_and(|version| version >= Version::V2021);
    !is_cut_short
        && expr.descendants().any(|part| match &part.kind {
            ExprKind::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, _, right) => writes(right),
            ExprKind::Ternary(_, yes, no) => writes(yes) || writes(no),
            _ => false,
        })
}

/// Whether the meaning of an expression depends on the order in which its parts are evaluated, which HLSL leaves
/// open.
#[must_use]
pub fn hangs_on_order(shader: &Shader, expr: &Expr) -> bool {
    EffectsCache::default().hangs_on_order(shader, expr)
}
