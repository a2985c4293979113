//! Constant expressions, folded with HLSL's wrapping arithmetic.
//!
//! WGSL refuses constant expressions that overflow, so they must not reach it unfolded.

use shaderlint_hlsl::{
    BinaryOp, Expr, ExprKind, Intrinsic, LocalId, Loop, Scalar, Shader, StmtKind, Storage, Type, UnaryOp,
    expressions,
};

/// Folds no deeper expression.
const DEPTH: u32 = 128;
/// Most components of a folded value.
const COMPONENTS: usize = 1 << 14;
/// Counts no more passes of a loop.
const MOST_PASSES: u32 = 1 << 10;

/// The bit patterns of the components of `expr`, in order, if it is constant.
pub(super) fn fold(shader: &Shader, expr: &Expr) -> Option<Vec<u32>> {
    Fold {
        shader,
        budget: 1 << 16,
        locals: Vec::new(),
    }
    .expr(expr, DEPTH)
}

/// As [`fold`], for a scalar.
pub(super) fn fold_scalar(shader: &Shader, expr: &Expr) -> Option<u32> {
    only(&fold(shader, expr)?)
}

fn only(bits: &[u32]) -> Option<u32> {
    match bits {
        [bits] => Some(*bits),
        _ => None,
    }
}

/// Whether a loop provably ends within so many passes: its head declares scalars that only its step writes, and its condition
/// and step otherwise consist of constants.
pub(super) fn ends_within(shader: &Shader, a_loop: &Loop, passes: u32) -> bool {
    let (Some(condition), Some(step)) = (&a_loop.condition, &a_loop.step) else {
        return false;
    };
    let body = std::slice::from_ref(&a_loop.body);
    let is_kept = |local: LocalId| {
        let may_write = |expr: &Expr| match &expr.kind {
            ExprKind::Assign { target, .. } | ExprKind::Step { target, .. } => names(target, local),
            ExprKind::Call(_, operands)
            | ExprKind::Intrinsic(_, operands)
            | ExprKind::Opaque(operands)
            | ExprKind::Method {
                arguments: operands, ..
            } => operands.iter().any(|operand| names(operand, local)),
            _ => false,
        };
        let mut others = expressions(body).chain(expressions(&a_loop.init));
        !others.any(|expr| expr.descendants().any(may_write))
    };
    let declared = a_loop.init.iter().filter_map(|statement| match &statement.kind {
        StmtKind::Declare {
            local,
            init: Some(init),
        } if is_kept(*local) => Some((*local, fold_scalar(shader, init)?)),
        _ => None,
    });
    let mut fold = Fold {
        shader,
        budget: 1 << 16,
        locals: declared.collect(),
    };
    for _ in 0..=passes.min(MOST_PASSES) {
        match fold.scalar(condition) {
            Some(0) => return true,
            Some(_) => {}
            None => return false,
        }
        if fold.step(step).is_none() {
            return false;
        }
    }
    false
}

/// Whether an expression may name the variable or a part of it.
fn names(expr: &Expr, local: LocalId) -> bool {
    match &expr.kind {
        ExprKind::Local(named) => *named == local,
        ExprKind::Swizzle(of, _) | ExprKind::Field(of, _) | ExprKind::Index(of, _) => names(of, local),
        _ => false,
    }
}

struct Fold<'a> {
    shader: &'a Shader,
    budget: u32,
    /// The values of known variables.
    locals: Vec<(LocalId, u32)>,
}

impl Fold<'_> {
    fn scalar(&mut self, expr: &Expr) -> Option<u32> {
        only(&self.expr(expr, DEPTH)?)
    }

    /// Performs a loop's step, if it changes known variables alone.
    fn step(&mut self, step: &Expr) -> Option<()> {
        let (target, value) = match &step.kind {
            ExprKind::Comma(first, second) => {
                self.step(first)?;
                return self.step(second);
            }
            ExprKind::Step {
                target, increment, ..
            } => {
                let scalar = target.ty.scalar()?;
                matches!(scalar, Scalar::Int | Scalar::Uint).then_some(())?;
                let op = if *increment { BinaryOp::Add } else { BinaryOp::Sub };
                (target, binary(op, scalar, self.scalar(target)?, 1)?)
            }
            ExprKind::Assign { target, op, value } if target.ty == value.ty => {
                let new = self.scalar(value)?;
                match op {
                    Some(op) => (
                        target,
                        binary(*op, value.ty.scalar()?, self.scalar(target)?, new)?,
                    ),
                    None => (target, new),
                }
            }
            _ => return None,
        };
        let ExprKind::Local(named) = target.kind else {
            return None;
        };
        let known = self.locals.iter_mut().find(|(local, _)| *local == named)?;
        known.1 = value;
        Some(())
    }

    fn expr(&mut self, expr: &Expr, depth: u32) -> Option<Vec<u32>> {
        let depth = depth.checked_sub(1)?;
        self.budget = self.budget.checked_sub(1)?;
        match &expr.kind {
            ExprKind::Literal(bits) => {
                is_word_like(expr.ty.scalar()?).then_some(())?;
                Some(vec![*bits])
            }
            ExprKind::Local(id) => {
                let (_, bits) = self.locals.iter().find(|(local, _)| local == id)?;
                Some(vec![*bits])
            }
            ExprKind::Global(id) => {
                let global = self.shader.globals.get(id.0 as usize)?;
                if global.storage != Storage::Const {
                    return None;
                }
                let init = global.init.as_ref()?;
                let bits = self.expr(init, depth)?;
                if init.ty == global.ty {
                    return Some(bits);
                }
                self.convert(&bits, &init.ty, &global.ty)
            }
            ExprKind::Unary(op, operand) => {
                let scalar = operand.ty.scalar()?;
                let bits = self.expr(operand, depth)?;
                bits.into_iter().map(|x| unary(*op, scalar, x)).collect()
            }
            ExprKind::Binary(op, left, right) => {
                let scalar = left.ty.scalar()?;
                let left = self.expr(left, depth)?;
                let right = self.expr(right, depth)?;
                zip(&left, &right, |a, b| binary(*op, scalar, a, b))
            }
            ExprKind::Ternary(condition, yes, no) if condition.ty == Type::BOOL => {
                match self.expr(condition, depth)?.as_slice() {
                    [0] => self.expr(no, depth),
                    [_] => self.expr(yes, depth),
                    _ => None,
                }
            }
            ExprKind::Cast(operand) => {
                let bits = self.expr(operand, depth)?;
                self.convert(&bits, &operand.ty, &expr.ty)
            }
            ExprKind::Construct(arguments) => {
                let mut bits = Vec::new();
                for argument in arguments {
                    let part = self.expr(argument, depth)?;
                    match (argument.ty.scalar(), expr.ty.scalar()) {
                        (Some(from), Some(to)) if from != to => {
                            for x in part {
                                bits.push(convert_scalar(from, to, x)?);
                            }
                        }
                        _ => bits.extend(part),
                    }
                    if bits.len() > COMPONENTS {
                        return None;
                    }
                }
                (bits.len() == self.shader.components(&expr.ty)).then_some(bits)
            }
            ExprKind::Swizzle(operand, components) => {
                let bits = self.expr(operand, depth)?;
                components
                    .iter()
                    .map(|c| bits.get(usize::from(*c)).copied())
                    .collect()
            }
            ExprKind::Index(base, index) => {
                let index = match self.expr(index, depth)?.as_slice() {
                    [index] => *index as usize,
                    _ => return None,
                };
                let bits = self.expr(base, depth)?;
                let size = self.shader.components(&expr.ty);
                let start = index.checked_mul(size)?;
                bits.get(start..start.checked_add(size)?).map(<[u32]>::to_vec)
            }
            ExprKind::Intrinsic(intrinsic, arguments) => self.intrinsic(*intrinsic, arguments, depth),
            _ => None,
        }
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, arguments: &[Expr], depth: u32) -> Option<Vec<u32>> {
        match (intrinsic, arguments) {
            (Intrinsic::AsFloat | Intrinsic::AsInt | Intrinsic::AsUint, [argument]) => {
                is_word_like(argument.ty.scalar()?).then_some(())?;
                self.expr(argument, depth)
            }
            (Intrinsic::Min | Intrinsic::Max, [a, b]) if a.ty == b.ty => {
                let scalar = a.ty.scalar()?;
                let (left, right) = (self.expr(a, depth)?, self.expr(b, depth)?);
                let op = if intrinsic == Intrinsic::Min {
                    BinaryOp::Less
                } else {
                    BinaryOp::Greater
                };
                zip(&left, &right, |x, y| {
                    Some(if binary(op, scalar, x, y)? == 1 { x } else { y })
                })
            }
            _ => None,
        }
    }

    fn convert(&self, bits: &[u32], from: &Type, to: &Type) -> Option<Vec<u32>> {
        if from == to {
            return Some(bits.to_vec());
        }
        let wanted = self.shader.components(to);
        if wanted == 0 || wanted > COMPONENTS {
            return None;
        }
        match (from.scalar(), to.scalar()) {
            (Some(source), Some(target)) => {
                let converted: Vec<u32> = bits
                    .iter()
                    .map(|x| convert_scalar(source, target, *x))
                    .collect::<Option<_>>()?;
                match converted.as_slice() {
                    [one] => Some(vec![*one; wanted]),
                    // A matrix keeps rows apart: only its full shape is a prefix.
                    _ if matches!(from, Type::Matrix(..)) && converted.len() != wanted => None,
                    many => many.get(..wanted).map(<[u32]>::to_vec),
                }
            }
            (Some(_), None) if bits.iter().all(|x| *x == 0) => Some(vec![0; wanted]),
            _ => None,
        }
    }
}

fn zip(left: &[u32], right: &[u32], op: impl Fn(u32, u32) -> Option<u32>) -> Option<Vec<u32>> {
    (left.len() == right.len()).then_some(())?;
    left.iter().zip(right).map(|(a, b)| op(*a, *b)).collect()
}

fn is_word_like(scalar: Scalar) -> bool {
    scalar.is_word() || scalar == Scalar::Half
}

fn is_f32(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Float | Scalar::Half)
}

fn unary(op: UnaryOp, scalar: Scalar, x: u32) -> Option<u32> {
    Some(match (op, scalar.underlying()) {
        (UnaryOp::Negate, Scalar::Int | Scalar::Uint) => x.wrapping_neg(),
        (UnaryOp::Negate, Scalar::Float | Scalar::Half) => x ^ 0x8000_0000,
        (UnaryOp::Not, Scalar::Bool) => u32::from(x == 0),
        (UnaryOp::Complement, Scalar::Int | Scalar::Uint) => !x,
        _ => return None,
    })
}

#[expect(clippy::float_cmp, reason = "HLSL's own equality")]
fn binary(op: BinaryOp, scalar: Scalar, a: u32, b: u32) -> Option<u32> {
    use BinaryOp as B;
    if is_f32(scalar) {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        return Some(match op {
            B::Add => (x + y).to_bits(),
            B::Sub => (x - y).to_bits(),
            B::Mul => (x * y).to_bits(),
            B::Div => (x / y).to_bits(),
            B::Mod => (x % y).to_bits(),
            B::Less => u32::from(x < y),
            B::LessEqual => u32::from(x <= y),
            B::Greater => u32::from(x > y),
            B::GreaterEqual => u32::from(x >= y),
            B::Equal => u32::from(x == y),
            B::NotEqual => u32::from(x != y),
            _ => return None,
        });
    }
    let scalar = scalar.underlying();
    let signed = scalar == Scalar::Int;
    if !(signed || matches!(scalar, Scalar::Uint | Scalar::Bool)) {
        return None;
    }
    let (x, y) = (a.cast_signed(), b.cast_signed());
    let less = if signed { x < y } else { a < b };
    Some(match op {
        B::Add => a.wrapping_add(b),
        B::Sub => a.wrapping_sub(b),
        B::Mul => a.wrapping_mul(b),
        B::Div | B::Mod if b == 0 => return None,
        B::Div if signed => x.wrapping_div(y).cast_unsigned(),
        B::Div => a / b,
        B::Mod if signed => x.wrapping_rem(y).cast_unsigned(),
        B::Mod => a % b,
        B::And => a & b,
        B::Or => a | b,
        B::Xor => a ^ b,
        B::Shl => a << (b & 31),
        B::Shr if signed => (x >> (b & 31)).cast_unsigned(),
        B::Shr => a >> (b & 31),
        B::Less => u32::from(less),
        B::LessEqual => u32::from(less || a == b),
        B::Greater => u32::from(!less && a != b),
        B::GreaterEqual => u32::from(!less),
        B::Equal => u32::from(a == b),
        B::NotEqual => u32::from(a != b),
        B::LogicalAnd => u32::from(a != 0 && b != 0),
        B::LogicalOr => u32::from(a != 0 || b != 0),
    })
}

/// Converts as devices do: a float saturates to the integer's range, and a NaN becomes 0.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "that is the conversion"
)]
fn convert_scalar(from: Scalar, to: Scalar, x: u32) -> Option<u32> {
    if !is_word_like(from) || !is_word_like(to) {
        return None;
    }
    let value = f32::from_bits(x);
    Some(match (from.underlying(), to.underlying()) {
        (Scalar::Float | Scalar::Half, Scalar::Float | Scalar::Half) => x,
        (Scalar::Float | Scalar::Half, Scalar::Int) => (value as i32).cast_unsigned(),
        (Scalar::Float | Scalar::Half, Scalar::Uint) => value as u32,
        (Scalar::Float | Scalar::Half, Scalar::Bool) => u32::from(value != 0.0),
        (Scalar::Int, Scalar::Float | Scalar::Half) => (x.cast_signed() as f32).to_bits(),
        (_, Scalar::Float | Scalar::Half) => (x as f32).to_bits(),
        (_, Scalar::Bool) => u32::from(x != 0),
        _ => x,
    })
}
