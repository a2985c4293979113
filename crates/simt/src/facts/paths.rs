//! How the threads of a group reach some statements: through which calls, all of them or only some, and past what
//! code.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Direction, Expr, ExprKind, Function, FunctionId, GlobalId, LocalId, Loop, Shader, Span, Stmt, StmtKind,
    Storage, calls, expressions, statements,
};

use crate::facts::calls::{Unknown, is_name};
use crate::facts::differing_statements::span_of;
use crate::facts::effects::EffectsCache;
use crate::facts::kernel::Kernel;
use crate::facts::naming_heuristics::{is_named_as_macro, is_of_name};

/// The code that a kernel runs besides a stretch of statements.
pub(crate) struct Surroundings<'a> {
    pub kernel: Kernel<'a>,
    /// The stretch, with its function, and the statements in other functions that lead to it.
    pub spans: &'a [(FunctionId, Span)],
    /// Code that precedes them in the text may run after them as well.
    pub repeats: bool,
    /// The groupshared arrays that the stretch touches.
    pub arrays: &'a BTreeSet<GlobalId>,
    /// The functions that the stretch calls.
    pub called: &'a BTreeSet<FunctionId>,
}

impl Surroundings<'_> {
    /// Whether all code that the entry point reaches is understood, as far as the stretch depends on it.
    ///
    /// The comparison of the stretch starts from an arbitrary state: the code before it may have left anything there.
    /// But that code has to be parsed, as it may declare something. Code that may run after the stretch must not read
    /// dead values. A macro may read them. A variable of another file is none of these arrays, and a function of
    /// another file reaches only the arrays that [`EffectsCache::reach`] returns. The operands of an expression that
    /// is not understood need not cover all of its text, so the text may name an array only where an operand does.
    pub fn is_understood(&self) -> bool {
        let mut effects = EffectsCache::default();
        let functions = effects
            .of_function(self.kernel.shader, self.kernel.entry)
            .functions;
        let in_reach = effects.reach(self.kernel.shader, false);
        let is_apart = self.arrays.is_disjoint(&in_reach);
        functions.iter().chain([&self.kernel.entry]).all(|function| {
            let of = self.kernel.shader.functions.get(function.0 as usize);
            let Some(body) = of.and_then(|of| of.body.as_deref()) else {
                return false;
            };
            let is_read = statements(body).all(|statement| !matches!(statement.kind, StmtKind::Opaque));
            let mut all = expressions(body);
            is_read
                && all.all(|expr| {
                    self.kernel.shader.leaked(expr).is_none()
                        && (!matches!(expr.kind, ExprKind::Opaque(_))
                            || self.is_before(*function, expr)
                            || is_apart && self.is_outside(*function, expr) && self.is_of_another_file(expr))
                })
        })
    }

    /// Whether there is a macro before the stretch, by which some threads may have left.
    pub fn has_macro_before(&self) -> bool {
        let mut bodies = self.spans.iter().filter_map(|(function, _)| {
            let of = self.kernel.shader.functions.get(function.0 as usize)?;
            Some((*function, of.body.as_deref()?))
        });
        bodies.any(|(function, body)| {
            let mut before = expressions(body).filter(|expr| self.is_before(function, expr));
            before.any(|expr| self.is_macro(expr))
        })
    }

    fn is_before(&self, function: FunctionId, expr: &Expr) -> bool {
        let mut spans = self.spans.iter();
        !self.repeats && spans.any(|(of, span)| *of == function && expr.span.end <= span.start)
    }

    /// Whether an expression is no part of the stretch.
    fn is_outside(&self, function: FunctionId, expr: &Expr) -> bool {
        let mut spans = self.spans.iter();
        !self.called.contains(&function)
            && !spans
                .any(|(of, span)| *of == function && span.start < expr.span.end && expr.span.start < span.end)
    }

    fn is_macro(&self, expr: &Expr) -> bool {
        let is_unknown = matches!(expr.kind, ExprKind::Opaque(_));
        let name = is_name(self.kernel.shader, expr).then(|| expr.span.slice(&self.kernel.shader.text));
        is_unknown
            && (Unknown::of(self.kernel.shader, expr).is_some_and(|call| call.is_macro)
                || name.is_some_and(is_named_as_macro))
    }

    /// Whether an expression that is not understood can only be a function's call or a variable, of another file.
    fn is_of_another_file(&self, expr: &Expr) -> bool {
        let ExprKind::Opaque(operands) = &expr.kind else {
            return true;
        };
        let is_known = is_name(self.kernel.shader, expr)
            || !operands.is_empty()
            || Unknown::of(self.kernel.shader, expr).is_some();
        let text = expr.span.slice(&self.kernel.shader.text);
        let words = || text.split(|byte| !is_of_name(*byte));
        // A macro in the text of the expression itself may be anything.
        let own = expr.own_spans();
        let has_macro = own
            .iter()
            .flat_map(|span| {
                span.slice(&self.kernel.shader.text)
                    .split(|byte| !is_of_name(*byte))
            })
            .any(|word| word.first().is_some_and(u8::is_ascii_alphabetic) && is_named_as_macro(word));
        let names_unseen = |id: &GlobalId| {
            let Some(global) = self.kernel.shader.globals.get(id.0 as usize) else {
                return true;
            };
            let is_it = |part: &&Expr| matches!(part.kind, ExprKind::Global(named) if named == *id);
            let named = words()
                .filter(|word| *word == global.own_name().as_bytes())
                .count();
            named > expr.descendants().filter(is_it).count()
        };
        is_known && !has_macro && !self.is_macro(expr) && !self.arrays.iter().any(names_unseen)
    }
}

/// Whether perhaps only some threads reach the `rest` of a block in a function: if an earlier statement leaves, or if
/// the conditions and loops around the rest are not known to be the same for all threads. A condition or the bounds
/// of a loop are the same if they consist of literals and values of the host, and nothing in the loop leaves it or
/// begins the next iteration.
pub(crate) fn may_part(shader: &Shader, function: &Function, around: &[&Stmt], rest: &[Stmt]) -> bool {
    let body = function.body.as_deref().unwrap_or_default();
    let start = span_of(rest).start;
    let is_in_loop = |statement: &Stmt| {
        around.iter().any(|outer| {
            matches!(outer.kind, StmtKind::Loop(_))
                && outer.span.start <= statement.span.start
                && statement.span.end <= outer.span.end
        })
    };
    let parts = statements(body).any(|statement| match statement.kind {
        StmtKind::Return(_) | StmtKind::Discard => statement.span.start < start || is_in_loop(statement),
        StmtKind::Break | StmtKind::Continue => is_in_loop(statement),
        _ => false,
    });
    parts
        || around.iter().any(|outer| match &outer.kind {
            StmtKind::Block(_) => false,
            StmtKind::If { condition, .. } => !is_given_by_host(shader, condition, &BTreeSet::new()),
            StmtKind::Loop(l) => !is_for_all(shader, l),
            _ => true,
        })
}

/// Whether all threads run a loop equally often, as far as its head shows: the head counts, and the body does not
/// change the counters.
fn is_for_all(shader: &Shader, l: &Loop) -> bool {
    let mut effects = EffectsCache::default();
    let body = effects.of_statements(shader, std::slice::from_ref(&l.body));
    let none = BTreeSet::new();
    let mut counters = BTreeSet::new();
    for init in &l.init {
        let StmtKind::Declare {
            local,
            init: Some(init),
        } = &init.kind
        else {
            return false;
        };
        if !is_given_by_host(shader, init, &none) || body.written.contains(local) {
            return false;
        }
        counters.insert(*local);
    }
    let mut head = l.condition.iter().chain(&l.step);
    let steps = l
        .step
        .as_ref()
        .map(|step| effects.of_expression(shader, step).written);
    steps.is_none_or(|written| written.is_subset(&counters))
        && head.all(|expr| is_given_by_host(shader, expr, &counters))
}

/// Whether an expression consists of literals, values of the host, and these variables.
fn is_given_by_host(shader: &Shader, expr: &Expr, variables: &BTreeSet<LocalId>) -> bool {
    expr.descendants().all(|part| match &part.kind {
        ExprKind::Literal(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Cast(_)
        | ExprKind::Step { .. }
        | ExprKind::Assign { .. }
        | ExprKind::Field(..)
        | ExprKind::Swizzle(..) => true,
        ExprKind::Local(local) => variables.contains(local),
        ExprKind::Global(global) => {
            let global = shader.globals.get(global.0 as usize);
            global.is_some_and(|global| matches!(global.storage, Storage::Uniform | Storage::Const))
        }
        _ => false,
    })
}

/// Whether one of the calls on the way to a function is nested in other statements, or comes after one that leaves.
pub(crate) fn is_led_there(shader: &Shader, way: &[(FunctionId, usize)]) -> bool {
    way.iter().any(|(caller, call)| {
        let of = shader.functions.get(caller.0 as usize);
        let body = of.and_then(|of| of.body.as_deref());
        let (Some(body), Some((call, _))) = (body, call_in(shader, *caller, *call)) else {
            return true;
        };
        let leaves = statements(body).any(|statement| {
            matches!(statement.kind, StmtKind::Return(_) | StmtKind::Discard)
                && statement.span.start < call.span.start
        });
        leaves || !body.iter().any(|statement| std::ptr::eq(statement, call))
    })
}

/// The functions through which an entry point reaches a function, each with the number of its call, and whether one
/// of these calls is in a loop. `None` if there is more than one way.
pub(crate) fn way_to(
    Kernel { shader, entry }: Kernel<'_>,
    function: FunctionId,
) -> Option<(Vec<(FunctionId, usize)>, bool)> {
    let reached = EffectsCache::default().of_function(shader, entry).functions;
    let mut way = Vec::new();
    let (mut wanted, mut is_in_loop) = (function, false);
    while wanted != entry {
        let mut callers = reached.iter().chain([&entry]).copied().flat_map(|caller| {
            let of = shader.functions.get(caller.0 as usize);
            let body = of.and_then(|of| of.body.as_deref()).unwrap_or_default();
            let numbered = calls(body).enumerate();
            numbered
                .filter(move |(_, callee)| *callee == wanted)
                .map(move |(number, _)| (caller, number))
        });
        let only = callers.next().filter(|_| callers.next().is_none())?;
        if way.len() > reached.len() {
            return None;
        }
        let (_, is_repeated) = call_in(shader, only.0, only.1)?;
        is_in_loop |= is_repeated;
        way.push(only);
        wanted = only.0;
    }
    way.reverse();
    Some((way, is_in_loop))
}

/// The statement in a function whose value is the call with this number, and whether it is in a loop. `None` if the
/// statement does more: it might read groupshared memory before or after the call, or make the call for some threads
/// only.
pub(crate) fn call_in(shader: &Shader, caller: FunctionId, number: usize) -> Option<(&Stmt, bool)> {
    let body = shader.functions.get(caller.0 as usize)?.body.as_deref()?;
    let mut count = 0;
    let is_it = |statement: &&Stmt| {
        let own = statement.expressions().flat_map(Expr::descendants);
        let own = own.filter(|expr| matches!(expr.kind, ExprKind::Call(..))).count();
        count += own;
        own > 0 && count > number
    };
    let statement = statements(body).find(is_it)?;
    let value = match &statement.kind {
        StmtKind::Expr(expr) => match &expr.kind {
            ExprKind::Assign {
                target,
                op: None,
                value,
            } if matches!(target.kind, ExprKind::Local(_)) => Some(&**value),
            _ => Some(expr),
        },
        StmtKind::Declare { init: value, .. } | StmtKind::Return(value) => value.as_ref(),
        _ => None,
    };
    let ExprKind::Call(_, arguments) = &value?.uncast().kind else {
        return None;
    };
    let mut effects = EffectsCache::default();
    let does_more = arguments.iter().any(|argument| {
        let of = effects.of_expression(shader, argument);
        of.touches_shared() || !of.functions.is_empty()
    });
    let is_within =
        |outer: &Stmt| outer.span.start <= statement.span.start && statement.span.end <= outer.span.end;
    let mut loops = statements(body).filter(|outer| matches!(outer.kind, StmtKind::Loop(_)));
    (!does_more).then(|| (statement, loops.any(is_within)))
}

/// Whether an entry point has results besides its stores: the vertices of a mesh shader.
pub(crate) fn has_results(kernel: Kernel<'_>) -> bool {
    let mut parameters = kernel
        .function()
        .into_iter()
        .flat_map(|function| &function.parameters);
    parameters.any(|parameter| parameter.direction != Direction::In)
}
