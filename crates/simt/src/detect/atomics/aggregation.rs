//! Where one thread can make an atomic for all active threads of its wave, in place.
//!
//! # Why that is right
//!
//! "Concurrent atomics … are serialized in an undefined order" (D3D11.3 functional spec, 7.14.2). So the
//! threads of a wave at one statement may make their atomics directly after each other, in the order of their
//! lanes. One atomic that adds the sum of their amounts has the same effect. The first thread gets the value
//! that this atomic finds; each other thread gets that value plus the amounts of the lanes before it
//! (`WavePrefixSum`; "active lanes with smaller index", learn.microsoft.com). The cell ends with the same
//! value. [`crate::compare::refinement`] proves this for the exact text of the replacement.
//!
//! The wave intrinsics determine at run time which lanes take part: the active ones, which in a branch are
//! those that took it. The other conditions are checked here:
//!
//! - *All active threads use the same cell.* The claim states this for each step
//!   ([`crate::detect::atomics::contention`]), if the run looked at every call and iteration that gets there.
//!   Threads that have drifted apart in a loop are in different iterations. So inside a loop, and in a function
//!   that a loop calls, the place must not depend on anything that changes between iterations.
//! - *The place may be evaluated once instead of by each thread.* Nothing in it has effects or reads memory
//!   that changes.
//! - *No thread can observe when the atomic is made.* If the old value is handed out (`WaveReadLaneFirst`), no
//!   thread goes on before the atomic is made, and every run of the new code is a possible run of the old code.
//!   If nothing uses the old value, threads may go on before their first lane has made the atomic. Then they
//!   must have no way to observe it but the group's barriers. So only atomics that commute with this one and
//!   return nothing may access the cell, or, if it is groupshared, also plain accesses, which without a barrier
//!   would be races. And there must be no fence by which a thread could rely on its own atomic being done.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Expr, ExprKind, Function, FunctionId, GlobalId, Intrinsic, LocalId, Method, Scalar, Shader, Span, Stmt,
    StmtKind, Storage, Type, expressions,
};

use crate::detect::coverage::{body_of, reached};
use crate::exec::atomic::combining;
use crate::exec::handle::is_heap;
use crate::facts::calls::Atomic;
use crate::facts::effects::EffectsCache;
use crate::facts::kernel::Kernel;
use crate::finding::{Cells, ContendedAtomic, NotCombined, OldValueUse, Parts};

/// The parts of an atomic's call.
#[derive(Clone, Copy)]
struct Call<'a> {
    intrinsic: Intrinsic,
    object: Option<&'a Expr>,
    /// The cell; for a method, its address.
    place: &'a Expr,
    /// The amount, and the target of the old value.
    operands: &'a [Expr],
}

impl<'a> Call<'a> {
    fn of(expr: &'a Expr) -> Option<Call<'a>> {
        let (intrinsic, object, arguments) = match &expr.kind {
            ExprKind::Intrinsic(intrinsic, arguments) if intrinsic.is_atomic() => {
                (*intrinsic, None, arguments)
            }
            ExprKind::Method {
                object,
                method: Method::Atomic(intrinsic),
                arguments,
            } => (*intrinsic, Some(&**object), arguments),
            _ => return None,
        };
        let (place, operands) = arguments.split_first()?;
        Some(Call {
            intrinsic,
            object,
            place,
            operands,
        })
    }

    /// The target of the old value, if the call has one.
    fn old(&self) -> Option<&'a Expr> {
        match self.intrinsic {
            Intrinsic::InterlockedCompareStore => None,
            intrinsic => self.operands.get(intrinsic.atomic_values()),
        }
    }

    /// The global that the cell belongs to.
    fn root(&self) -> Option<GlobalId> {
        let mut expr = self.object.unwrap_or(self.place);
        loop {
            match &expr.kind {
                ExprKind::Global(global) => return Some(*global),
                ExprKind::Index(base, _) | ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => {
                    expr = base;
                }
                _ => return None,
            }
        }
    }
}

/// [`ContendedAtomic::is_old_value_read`]. An atomic that is not a statement of its own is not checked, and counts as
/// unread.
pub(crate) fn is_old_value_read(shader: &Shader, claim: &ContendedAtomic) -> bool {
    let function = shader.functions.get(claim.function.0 as usize);
    let atomic = function.and_then(|function| {
        let statement = statement_at(function.body.as_deref()?, claim, &mut Vec::new())?;
        let StmtKind::Expr(expr) = &statement.kind else {
            return None;
        };
        Some((function, Call::of(expr)?.old()?))
    });
    atomic.is_some_and(|(function, old)| never_read(function, old).is_none())
}

/// The parts of a claim's call, if one thread can make it for its wave.
pub(crate) fn parts(kernel: Kernel<'_>, claim: &ContendedAtomic) -> Result<Parts, NotCombined> {
    let shader = kernel.shader;
    if claim.cells == Cells::One && claim.old_value == OldValueUse::Otherwise {
        return Err(NotCombined::OldValue);
    }
    let function = shader.functions.get(claim.function.0 as usize);
    let body = function.and_then(|function| function.body.as_deref());
    let (function, body) = function.zip(body).ok_or(NotCombined::Unfollowed)?;
    let mut around = Vec::new();
    let statement = statement_at(body, claim, &mut around).ok_or(NotCombined::NotAStatement)?;
    let StmtKind::Expr(expr) = &statement.kind else {
        return Err(NotCombined::NotAStatement);
    };
    let call = Call::of(expr).ok_or(NotCombined::NotAStatement)?;
    let amount = call.operands.first().ok_or(NotCombined::Operator)?;
    let Type::Scalar(cell @ (Scalar::Int | Scalar::Uint)) = amount.ty else {
        return Err(NotCombined::Type);
    };
    if call.object.is_none() && call.place.ty != amount.ty {
        return Err(NotCombined::Type);
    }
    let operator = combining(call.intrinsic, cell).ok_or(NotCombined::Operator)?;
    let given = match &amount.kind {
        // An implicit cast.
        ExprKind::Cast(inner) if inner.span == amount.span => inner,
        _ => amount,
    };
    let Type::Scalar(Scalar::Int | Scalar::Uint) = given.ty else {
        return Err(NotCombined::Type);
    };
    let scope = Scope::new(kernel, claim.function, &around);
    let old = call.old();
    let unused = old.and_then(|old| never_read(function, old));
    let old = match (claim.cells, claim.old_value) {
        (Cells::One, OldValueUse::Slot) => Some(old.filter(|old| is_word(&old.ty)).ok_or(NotCombined::Type)?),
        (Cells::One, _) if claim.is_old_value_read => return Err(NotCombined::OldValue),
        (Cells::One, _) => None,
        (Cells::Few(_), _) => old.filter(|_| unused.is_none()),
    };
    let index = match (claim.cells, call.object) {
        (Cells::One, Some(object)) => (scope.is_cell(object) && scope.is_steady(call.place)).then_some(None),
        (Cells::One, None) => scope.is_cell(call.place).then_some(None),
        (Cells::Few(_), Some(object)) => scope.is_cell(object).then_some(Some(call.place)),
        (Cells::Few(_), None) => scope.index_of_cell(call.place).map(Some),
    };
    let index = index.ok_or(NotCombined::Cell)?;
    let is_put_off = claim.cells == Cells::One && old.is_none();
    if let Some(told) = is_put_off.then(|| told(kernel, expr, call)).flatten() {
        return Err(told);
    }
    let array = call.root().filter(|root| {
        let global = shader.globals.get(root.0 as usize);
        global.is_some_and(|global| global.storage == Storage::Groupshared)
    });
    Ok(Parts {
        statement: statement.span,
        is_alone: block_of(body, statement).is_some(),
        name: Atomic::of_intrinsic(call.intrinsic)
            .map(|_| call.intrinsic.name())
            .ok_or(NotCombined::Operator)?,
        operator,
        object: call.object.map(|object| object.span),
        place: in_parentheses(&shader.text, call.place.span),
        amount: in_parentheses(&shader.text, given.span),
        quantity: claim.quantity,
        old: old.map(|old| in_parentheses(&shader.text, old.span)),
        unused,
        index: index.map(|index| index.span),
        cell,
        array,
    })
}

/// The maximum depth of nested calls that return a resource.
const MAX_CALLS: u32 = 4;

/// The span of a call's argument, with the parentheses around it, which a macro may have added.
fn in_parentheses(text: &[u8], mut span: Span) -> Span {
    loop {
        let before = text
            .get(..span.start as usize)
            .unwrap_or_default()
            .trim_ascii_end();
        let after = text.get(span.end as usize..).unwrap_or_default();
        let blanks = after.len() - after.trim_ascii_start().len();
        if !before.ends_with(b"(") || after.get(blanks) != Some(&b')') {
            return span;
        }
        span = Span {
            start: u32::try_from(before.len()).unwrap_or(span.start + 1) - 1,
            end: span.end + u32::try_from(blanks).unwrap_or(0) + 1,
        };
    }
}

fn is_word(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(Scalar::Int | Scalar::Uint))
}

/// The statement that consists of the claim's call, with the loops and switches around it. A call in a loop's
/// head is no such statement: no other one can replace it.
pub(crate) fn statement_at<'a>(
    statements: &'a [Stmt],
    claim: &ContendedAtomic,
    around: &mut Vec<&'a Stmt>,
) -> Option<&'a Stmt> {
    let holds =
        |statement: &&Stmt| statement.span.start <= claim.span.start && claim.span.end <= statement.span.end;
    let statement = statements.iter().find(holds)?;
    match &statement.kind {
        StmtKind::Expr(expr) => (expr.span == claim.span).then_some(statement),
        StmtKind::Block(body) => statement_at(body, claim, around),
        StmtKind::If { then, otherwise, .. } => {
            let mut arms = std::iter::once(then).chain(otherwise);
            arms.find_map(|arm| statement_at(std::slice::from_ref(&**arm), claim, around))
        }
        StmtKind::Loop(l) => {
            around.push(statement);
            statement_at(std::slice::from_ref(&l.body), claim, around)
        }
        StmtKind::Switch { cases, .. } => {
            around.push(statement);
            let mut cases = cases.iter();
            cases.find_map(|case| statement_at(&case.body, claim, around))
        }
        _ => None,
    }
}

/// The variables that are assigned as a whole.
fn assigned(statement: &Stmt) -> impl Iterator<Item = LocalId> {
    let body = std::slice::from_ref(statement);
    let targets = expressions(body).filter_map(|expr| match &expr.kind {
        ExprKind::Assign { target, .. } => Some(target),
        _ => None,
    });
    targets.filter_map(|target| match target.kind {
        ExprKind::Local(local) => Some(local),
        _ => None,
    })
}

/// The block that contains only this statement, if there is one.
pub(crate) fn block_of<'a>(body: &'a [Stmt], statement: &Stmt) -> Option<&'a Stmt> {
    let mut blocks = shaderlint_hlsl::statements(body);
    blocks.find(|block| match &block.kind {
        StmtKind::Block(body) => matches!(body.as_slice(), [only] if only.span == statement.span),
        _ => false,
    })
}

/// Decides whether an expression has the same value for all active threads of a wave, however often each of
/// them evaluates it.
struct Scope<'a> {
    shader: &'a Shader,
    function: Option<&'a Function>,
    /// Variables whose value may differ between iterations of an enclosing loop, or between cases.
    changing: BTreeSet<LocalId>,
    /// The function may be called repeatedly, so any of its variables may differ between calls.
    is_repeated: bool,
}

impl<'a> Scope<'a> {
    fn new(kernel: Kernel<'a>, function: FunctionId, around: &[&Stmt]) -> Scope<'a> {
        let Kernel { shader, entry } = kernel;
        let mut effects = EffectsCache::default();
        let mut changing = BTreeSet::new();
        for statement in around {
            let effects = effects.of_statements(shader, std::slice::from_ref(*statement));
            changing.extend(effects.declared);
            // A write through a resource does not change which resource it is.
            let is_resource = |local: &LocalId| {
                let variable = shader.functions.get(function.0 as usize);
                let variable = variable.and_then(|function| function.locals.get(local.0 as usize));
                variable.is_some_and(|variable| matches!(variable.ty, Type::Resource(..)))
            };
            changing.extend(
                effects
                    .written
                    .iter()
                    .copied()
                    .filter(|local| !is_resource(local)),
            );
            changing.extend(assigned(statement));
        }
        Scope {
            shader,
            function: shader.functions.get(function.0 as usize),
            changing,
            is_repeated: function != entry && repeated(kernel).contains(&function),
        }
    }

    /// Whether the expression is a cell, the same one for all threads.
    fn is_cell(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Global(global) => {
                let storage = self
                    .shader
                    .globals
                    .get(global.0 as usize)
                    .map(|global| global.storage);
                matches!(storage, Some(Storage::Groupshared | Storage::Resource))
            }
            // A parameter that aliases a resource.
            ExprKind::Local(local) => matches!(expr.ty, Type::Resource(..)) && self.is_steady_local(*local),
            ExprKind::Index(base, index) => self.is_cell(base) && self.is_steady(index),
            ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => self.is_cell(base),
            ExprKind::Call(function, arguments) => {
                matches!(expr.ty, Type::Resource(..))
                    && gives_one(self.shader, *function, MAX_CALLS)
                    && arguments.iter().all(|argument| self.is_steady(argument))
            }
            _ => false,
        }
    }

    /// The only index that selects the cell, if all other indices are the same for all threads.
    fn index_of_cell(&self, expr: &'a Expr) -> Option<&'a Expr> {
        let indices = indices(expr);
        let mut telling = indices.iter().copied().filter(|index| !self.is_alike(index));
        let (only, None) = (telling.next()?, telling.next()) else {
            return None;
        };
        if !matches!(only.ty, Type::Scalar(Scalar::Int | Scalar::Uint)) {
            return None;
        }
        let is_steady = indices
            .iter()
            .all(|index| std::ptr::eq(*index, only) || self.is_steady(index));
        (is_steady && self.is_cell(root(expr))).then_some(only)
    }

    /// Whether an expression consists only of values that are the same for all threads.
    fn is_alike(&self, expr: &Expr) -> bool {
        expr.descendants().all(|part| match &part.kind {
            ExprKind::Literal(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Cast(_)
            | ExprKind::Field(..)
            | ExprKind::Swizzle(..) => true,
            ExprKind::Global(global) => {
                let global = self.shader.globals.get(global.0 as usize);
                global.is_some_and(|global| matches!(global.storage, Storage::Uniform | Storage::Const))
            }
            _ => false,
        })
    }

    fn is_steady_local(&self, local: LocalId) -> bool {
        let variable = self
            .function
            .and_then(|function| function.locals.get(local.0 as usize));
        let is_one_resource = variable.is_some_and(|variable| {
            let parameters = self
                .function
                .into_iter()
                .flat_map(|function| &function.parameters);
            let mut parameters = parameters.map(|parameter| parameter.local);
            matches!(variable.ty, Type::Resource(..)) && parameters.any(|parameter| parameter == local)
        });
        variable.is_some() && !self.changing.contains(&local) && (is_one_resource || !self.is_repeated)
    }

    /// Whether an expression has no effects and a value that does not change.
    fn is_steady(&self, expr: &Expr) -> bool {
        let own = match &expr.kind {
            ExprKind::Literal(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Ternary(..)
            | ExprKind::Cast(_)
            | ExprKind::Construct(_)
            | ExprKind::Index(..)
            | ExprKind::Field(..)
            | ExprKind::Swizzle(..) => true,
            ExprKind::Local(local) => !matches!(expr.ty, Type::Resource(..)) && self.is_steady_local(*local),
            ExprKind::Global(global) => {
                let global = self.shader.globals.get(global.0 as usize);
                global.is_some_and(|global| match global.storage {
                    Storage::Uniform | Storage::Const => true,
                    Storage::Resource => is_read_only(&global.ty),
                    Storage::Groupshared | Storage::Static | Storage::Unknown => false,
                })
            }
            ExprKind::Intrinsic(intrinsic, arguments) => {
                let writes = (0..arguments.len()).any(|index| intrinsic.may_write(index));
                !writes
                    && !intrinsic.is_wave()
                    && !intrinsic.is_group_barrier()
                    && !intrinsic.is_memory_barrier()
            }
            ExprKind::Method { method, .. } => *method == Method::Load { words: 1 },
            _ => false,
        };
        own && expr.children().all(|child| self.is_steady(child))
    }
}

fn is_read_only(ty: &Type) -> bool {
    match ty {
        Type::Resource(kind, _) => !kind.is_writable(),
        Type::Array(element, _) => is_read_only(element),
        _ => false,
    }
}

/// Whether a function has no effects, and its result depends only on its arguments and on what does not change.
fn gives_one(shader: &Shader, function: FunctionId, calls: u32) -> bool {
    let callee = shader.functions.get(function.0 as usize);
    let Some(body) = callee.and_then(|callee| callee.body.as_deref()) else {
        return false;
    };
    let is_plain =
        |statement: &Stmt| matches!(statement.kind, StmtKind::Declare { .. } | StmtKind::Return(_));
    let holds = |expr: &Expr| match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Local(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Ternary(..)
        | ExprKind::Cast(_)
        | ExprKind::Construct(_)
        | ExprKind::Field(..)
        | ExprKind::Swizzle(..) => true,
        // The index may select a resource, but not read the contents of one that is writable.
        ExprKind::Index(base, _) => !matches!(&base.ty, Type::Resource(kind, _) if kind.is_writable()),
        ExprKind::Global(global) => {
            let storage = shader.globals.get(global.0 as usize).map(|global| global.storage);
            matches!(
                storage,
                Some(Storage::Uniform | Storage::Const | Storage::Resource)
            )
        }
        ExprKind::Call(inner, _) => calls > 0 && gives_one(shader, *inner, calls - 1),
        ExprKind::Opaque(operands) => is_heap(shader, operands.first().map_or(expr, Expr::uncast)),
        _ => false,
    };
    body.iter().all(is_plain) && expressions(body).all(holds)
}

/// The functions that a loop or switch of the kernel calls, directly or not.
fn repeated(Kernel { shader, entry }: Kernel<'_>) -> BTreeSet<FunctionId> {
    let mut called = BTreeSet::new();
    for id in reached(shader, entry) {
        let mut left: Vec<&Stmt> = body_of(shader, id).iter().collect();
        while let Some(statement) = left.pop() {
            if matches!(statement.kind, StmtKind::Loop(_) | StmtKind::Switch { .. }) {
                called.extend(shaderlint_hlsl::calls(std::slice::from_ref(statement)));
            } else {
                left.extend(statement.children());
            }
        }
    }
    called
        .into_iter()
        .flat_map(|function| reached(shader, function))
        .collect()
}

/// The variable `old`, if atomics store their results in it and nothing else uses it.
fn never_read(function: &Function, old: &Expr) -> Option<LocalId> {
    let ExprKind::Local(local) = old.kind else {
        return None;
    };
    let is_it = |expr: &Expr| matches!(expr.kind, ExprKind::Local(other) if other == local);
    let body = function.body.as_deref().unwrap_or_default();
    let is_parameter = function
        .parameters
        .iter()
        .any(|parameter| parameter.local == local);
    let named = expressions(body).filter(|expr| is_it(expr)).count();
    let calls = expressions(body).filter_map(Call::of);
    let stored = calls.filter(|call| call.old().is_some_and(is_it)).count();
    (!is_parameter && named == stored).then_some(local)
}

/// What would let code observe that a thread goes on before its atomic is made, if the old value is not used.
fn told(Kernel { shader, entry }: Kernel<'_>, atomic: &Expr, call: Call<'_>) -> Option<NotCombined> {
    let Some(root) = call.root() else {
        return Some(NotCombined::Alias);
    };
    let global = shader.globals.get(root.0 as usize);
    let is_shared = global.is_some_and(|global| global.storage == Storage::Groupshared);
    let functions = reached(shader, entry);
    let bodies = functions.iter().map(|id| body_of(shader, *id));
    let mut left: Vec<&Expr> = bodies.flat_map(roots_of).collect();
    let own = part_of(root, call.place);
    let is_another_cell = |place: &Expr| {
        own.zip(part_of(root, place))
            .is_some_and(|(own, other)| own.is_apart_from(other))
    };
    while let Some(expr) = left.pop() {
        if matches!(expr.kind, ExprKind::Intrinsic(intrinsic, _) if intrinsic.is_memory_barrier()) {
            return Some(NotCombined::MemoryBarrier(expr.span));
        }
        if is_another_cell(expr) {
            left.extend(indices(expr));
            continue;
        }
        if matches!(expr.kind, ExprKind::Global(other) if other == root) && !is_shared {
            return Some(NotCombined::OtherUse(expr.span));
        }
        let other = Call::of(expr).filter(|other| other.root() == Some(root));
        let Some(other) = other else {
            left.extend(expr.children());
            continue;
        };
        if is_another_cell(other.place) {
            left.extend(other.operands);
            left.extend(indices(other.place));
            continue;
        }
        let is_itself = std::ptr::eq(expr, atomic);
        if !is_itself && other.intrinsic != call.intrinsic {
            return Some(NotCombined::OtherAtomic(expr.span));
        }
        if !is_itself && other.operands.len() != 1 {
            return Some(NotCombined::OtherResult(expr.span));
        }
        left.extend(other.operands);
        left.extend(indices(other.object.unwrap_or(other.place)));
        left.extend(other.object.map(|_| other.place));
    }
    None
}

/// An element of a resource or an array, or a member of an element.
#[derive(Clone, Copy)]
struct ElementPart {
    /// The element's index, if it is a literal.
    number: Option<u32>,
    member: Option<u32>,
}

impl ElementPart {
    /// Whether the two share no memory.
    fn is_apart_from(self, other: ElementPart) -> bool {
        let differ =
            |own: Option<u32>, other: Option<u32>| own.zip(other).is_some_and(|(own, other)| own != other);
        differ(self.number, other.number) || differ(self.member, other.member)
    }
}

/// The part of `root` that a place denotes.
fn part_of(root: GlobalId, place: &Expr) -> Option<ElementPart> {
    let (element, member) = match &place.kind {
        ExprKind::Field(element, member) => (&**element, Some(*member)),
        _ => (place, None),
    };
    let ExprKind::Index(base, index) = &element.kind else {
        return None;
    };
    let number = match index.uncast().kind {
        ExprKind::Literal(number) => Some(number),
        _ => None,
    };
    matches!(base.kind, ExprKind::Global(global) if global == root).then_some(ElementPart { number, member })
}

/// The indices on the path from a cell to its root.
fn indices(cell: &Expr) -> Vec<&Expr> {
    let indices = towards_root(cell).filter_map(|part| match &part.kind {
        ExprKind::Index(_, index) => Some(&**index),
        _ => None,
    });
    indices.collect()
}

/// The outermost object that a cell belongs to.
fn root(cell: &Expr) -> &Expr {
    towards_root(cell).last().unwrap_or(cell)
}

fn towards_root(cell: &Expr) -> impl Iterator<Item = &Expr> {
    std::iter::successors(Some(cell), |part| match &part.kind {
        ExprKind::Index(base, _) | ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => Some(base),
        _ => None,
    })
}

/// The top-level expressions of the statements.
fn roots_of(statements: &[Stmt]) -> Vec<&Expr> {
    let mut roots = Vec::new();
    let mut left: Vec<&Stmt> = statements.iter().collect();
    while let Some(statement) = left.pop() {
        roots.extend(statement.expressions());
        left.extend(statement.children());
    }
    roots
}
