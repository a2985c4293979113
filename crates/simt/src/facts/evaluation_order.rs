//! Expressions that mean one thing or another by the order in which their parts are evaluated, which HLSL leaves open.
//!
//! An argument of a call changes what another one reads or changes, or one side of an assignment what the other one does: DXC
//! evaluates arguments from right to left, functions' and intrinsics' alike, and the value before the place that it is given
//! to. Or a call changes a variable by two names: arguments are copied in and out, says HLSL, and not in which order; DXC
//! passes variables as they are. Or the place of an argument that is copied back hangs on something that changes as it is
//! worked out, as in `f(a[i++])`: DXC works it out twice.
//!
//! The operands of an operator and the elements of a list come from left to right.

use shaderlint_hlsl::{BinaryOp, Direction, Expr, ExprKind, Shader, Type, Version};

use crate::facts::effects::{Effects, EffectsCache};

impl Effects {
    /// Whether what is evaluated with these effects may come out otherwise, or leave something else, behind what has the
    /// others. What a call of something unknown does is not asked.
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
    /// Whether an expression, or a part of it, leaves to the compiler what it means.
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
            // Its SPIR-V has `i++` once in `f(a[i++])`, its DXIL twice.
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
            // A variable that is all of the target is read and assigned last.
            ExprKind::Assign { target, op, value }
                if !matches!(target.kind, ExprKind::Local(_) | ExprKind::Global(_)) =>
            {
                // Where it is, and of `x.a += …` what is there.
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

/// Whether two places are one, or one of them is a part of the other, as far as can be read off: elements of other numbers
/// are apart, and so are those whose numbers are not told.
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

/// A place from its variable on.
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

/// What a place is looked up by besides the variable that it is a part of: `a[i].x = a[j].x = 0` are two parts of one, in
/// whichever order they are written.
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

/// Whether an expression leaves one thing or another by the version of HLSL: from 2021 on an operand of `&&`, `||` or `?:` is not
/// evaluated where another one decides, before it always is. Where the version is not known, either may be.
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

/// Whether an expression means one thing or another by the order in which its parts are evaluated, which HLSL leaves open.
#[must_use]
pub fn hangs_on_order(shader: &Shader, expr: &Expr) -> bool {
    EffectsCache::default().hangs_on_order(shader, expr)
}
