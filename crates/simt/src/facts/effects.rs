//! What statements may touch according to their text: variables, arrays and barriers.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::FxHashMap;
use shaderlint_hlsl::{
    Direction, Expr, ExprKind, FunctionId, GlobalId, Intrinsic, LocalId, Method, Scalar, Shader, Span, Stmt,
    StmtKind, Storage, Type,
};

use crate::facts::calls::{Atomic, Unknown, atomic_method, status_argument};

/// An upper bound on what statements read and write when they run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Effects {
    /// Locals of the current function.
    pub read: BTreeSet<LocalId>,
    pub written: BTreeSet<LocalId>,
    pub declared: BTreeSet<LocalId>,
    /// Locals that may stand for another resource afterwards.
    pub rebound: BTreeSet<LocalId>,
    /// Groupshared arrays.
    pub shared_read: BTreeSet<GlobalId>,
    pub shared_written: BTreeSet<GlobalId>,
    /// `static` globals.
    pub statics: BTreeSet<GlobalId>,
    /// Resources written to, or changed by atomics.
    pub device_written: BTreeSet<GlobalId>,
    /// A write to a resource that a variable or parameter stands for.
    pub handle_written: bool,
    /// How often groupshared arrays of scalars are named.
    pub shared_uses: u32,
    /// A loop, or groupshared memory that is no array of scalars.
    pub repeats: bool,
    /// A loop.
    pub loops: bool,
    /// Functions that are called, directly or indirectly.
    pub functions: BTreeSet<FunctionId>,
    /// Everything named that the shader declares outside functions.
    pub globals: BTreeSet<GlobalId>,
    /// A group barrier.
    pub barrier: bool,
    pub wave: bool,
    /// How often `WaveReadLaneAt` is named; `u32::MAX` if a loop may evaluate one again.
    pub lane_reads: u32,
    /// A wave intrinsic whose result depends on which lanes take part.
    pub cooperates: bool,
    /// A wave intrinsic that combines the lanes' values.
    pub combines_lanes: bool,
    /// A barrier that orders accesses to resources too.
    pub device_barrier: bool,
    /// A load from a writable resource, or an atomic on one: when it happens may show.
    pub device_observed: bool,
    /// An atomic that may be a claim.
    pub atomic: bool,
    /// A `continue` of a loop around the statements.
    pub jumps: bool,
    /// A return from, or a discard in, the current function.
    pub leaves: bool,
    /// A call of unknown code, and a call of what may be a macro.
    pub calls_unknown: bool,
    pub calls_macro: bool,
    /// Something that is not understood and may write to anything that its text could name.
    pub opaque: bool,
}

impl Effects {
    /// Adds a use of a global; `written` if the use is the target of a write.
    fn global(&mut self, shader: &Shader, global: GlobalId, ty: &Type, written: bool) {
        self.globals.insert(global);
        match shader
            .globals
            .get(global.0 as usize)
            .map(|declared| declared.storage)
        {
            Some(Storage::Groupshared) => {
                let scalars = matches!(ty, Type::Array(element, _) if matches!(**element, Type::Scalar(_)));
                self.shared_uses = self.shared_uses.saturating_add(1);
                self.repeats |= !scalars;
                self.shared_read.insert(global);
                if written {
                    self.shared_written.insert(global);
                }
            }
            Some(Storage::Static) if written => {
                self.statics.insert(global);
            }
            Some(Storage::Resource) if written => {
                self.device_written.insert(global);
            }
            Some(Storage::Resource) => self.device_observed |= ty.is_writable(),
            // It is not known who sees the write.
            Some(Storage::Unknown) if written => self.opaque = true,
            _ => {}
        }
    }

    /// Adds the effects of an intrinsic, without those of its arguments.
    fn intrinsic(&mut self, intrinsic: Intrinsic) {
        self.barrier |= intrinsic.is_group_barrier();
        if intrinsic.is_wave() {
            let tells_place = matches!(
                intrinsic,
                Intrinsic::WaveGetLaneIndex | Intrinsic::WaveGetLaneCount
            );
            self.wave = true;
            let reads = u32::from(intrinsic == Intrinsic::WaveReadLaneAt);
            self.lane_reads = self.lane_reads.saturating_add(reads);
            self.cooperates |= !tells_place;
            self.combines_lanes |= !tells_place && !moves_registers(intrinsic);
        }
        self.atomic |= Atomic::of_intrinsic(intrinsic).is_some();
        self.device_barrier |= matches!(
            intrinsic,
            Intrinsic::AllMemoryBarrierWithGroupSync
                | Intrinsic::DeviceMemoryBarrierWithGroupSync
                | Intrinsic::AllMemoryBarrier
                | Intrinsic::DeviceMemoryBarrier
        );
    }

    pub fn touches_shared(&self) -> bool {
        !self.shared_read.is_empty() || !self.shared_written.is_empty()
    }

    /// Whether one run could combine `count` elements in one place. A load at most doubles the number of elements
    /// that a thread's values depend on, if no value depended on more than one before.
    pub fn could_gather(&self, count: usize) -> bool {
        let most = 1usize.checked_shl(self.shared_uses).unwrap_or(usize::MAX);
        self.repeats || self.opaque || most >= count
    }

    /// Whether running changes only one groupshared array, and waits for no thread.
    pub fn only_stores_in_one_array(&self) -> bool {
        let changes_more = !self.written.is_empty()
            || !self.declared.is_empty()
            || !self.statics.is_empty()
            || !self.device_written.is_empty()
            || self.handle_written
            || self.device_observed
            || self.atomic
            || self.barrier
            || self.wave
            || self.jumps
            || self.leaves
            || self.calls_unknown
            || self.calls_macro
            || self.opaque;
        self.shared_written.len() == 1 && !changes_more
    }

    /// Whether running changes only variables, waits for no thread, and does not affect other threads.
    pub fn is_of_own_variables(&self) -> bool {
        let changes_more = !self.statics.is_empty()
            || !self.device_written.is_empty()
            || self.handle_written
            || self.atomic
            || self.calls_unknown
            || self.opaque;
        !(changes_more || self.touches_shared() || self.barrier || self.wave)
    }

    /// Whether lanes read each other's values.
    pub fn reads_lanes(&self) -> bool {
        self.lane_reads > 0
    }

    /// Whether evaluating changes anything that outlives the evaluation, or depends on which threads evaluate it: the
    /// language version decides whether all threads evaluate an operand of `?:`, `&&` or `||`.
    pub fn has_side_effects(&self) -> bool {
        !self.written.is_empty()
            || self.cooperates
            || !self.shared_written.is_empty()
            || !self.statics.is_empty()
            || !self.device_written.is_empty()
            || self.handle_written
            || self.barrier
            || self.opaque
    }

    /// The effects of several statements together.
    pub fn of_all(effects: &[Effects]) -> Effects {
        let mut all = Effects::default();
        for of_one in effects {
            all.add(of_one);
        }
        all
    }

    pub fn add(&mut self, other: &Effects) {
        self.read.extend(&other.read);
        self.written.extend(&other.written);
        self.declared.extend(&other.declared);
        self.rebound.extend(&other.rebound);
        self.add_globals(other);
        self.leaves |= other.leaves;
        self.jumps |= other.jumps;
    }

    /// Notes an assignment to a place.
    fn rebind(&mut self, place: &Expr) {
        if let (ExprKind::Local(local), Type::Resource(..)) = (&place.kind, &place.ty) {
            self.rebound.insert(*local);
        }
    }

    fn call(&mut self, unknown: Option<Unknown>) {
        if let Some(Unknown { is_macro }) = unknown {
            self.calls_unknown = true;
            self.calls_macro |= is_macro;
        }
    }

    /// Adds the effects that a call passes on to its caller.
    fn add_globals(&mut self, other: &Effects) {
        self.shared_read.extend(&other.shared_read);
        self.shared_written.extend(&other.shared_written);
        self.statics.extend(&other.statics);
        self.device_written.extend(&other.device_written);
        self.handle_written |= other.handle_written;
        self.shared_uses = self.shared_uses.saturating_add(other.shared_uses);
        self.repeats |= other.repeats;
        self.loops |= other.loops;
        self.functions.extend(&other.functions);
        self.globals.extend(&other.globals);
        self.barrier |= other.barrier;
        self.wave |= other.wave;
        self.lane_reads = self.lane_reads.saturating_add(other.lane_reads);
        self.cooperates |= other.cooperates;
        self.combines_lanes |= other.combines_lanes;
        self.device_barrier |= other.device_barrier;
        self.device_observed |= other.device_observed;
        self.atomic |= other.atomic;
        self.calls_unknown |= other.calls_unknown;
        self.calls_macro |= other.calls_macro;
        self.opaque |= other.opaque;
    }
}

/// Effects of statements, and of the functions they call, each computed once.
#[derive(Default)]
pub(crate) struct EffectsCache {
    functions: BTreeMap<FunctionId, Option<Effects>>,
    /// By address in the single tree that runs: whether an expression has side effects, and whether it calls unknown
    /// code.
    expressions: FxHashMap<*const Expr, (bool, bool)>,
    /// By address: [`EffectsCache::hangs_on_order`].
    pub(super) unordered: FxHashMap<*const Expr, bool>,
    uncalled: Option<Rc<Effects>>,
    counted: Counted,
}

/// Which statements count.
#[derive(Clone, Copy, Default)]
enum Counted {
    #[default]
    All,
    /// Statements outside this span.
    Outside(Span),
    /// Of these, statements that do not end before it.
    After(Span),
}

impl Counted {
    fn leaves_out(self, statement: Span) -> bool {
        let (Counted::Outside(span) | Counted::After(span)) = self else {
            return false;
        };
        let is_within = span.start <= statement.start && statement.end <= span.end;
        is_within || matches!(self, Counted::After(_)) && statement.end <= span.start
    }
}

impl EffectsCache {
    pub fn of_statements(&mut self, shader: &Shader, statements: &[Stmt]) -> Effects {
        let mut effects = Effects::default();
        for statement in statements {
            self.statement(shader, statement, &mut effects);
        }
        effects
    }

    pub fn of_expression(&mut self, shader: &Shader, expr: &Expr) -> Effects {
        let mut effects = Effects::default();
        self.expression(shader, expr, false, &mut effects);
        effects
    }

    /// The effects of the statements, in all blocks, that are outside `span`.
    pub fn of_statements_outside(&mut self, shader: &Shader, statements: &[Stmt], span: Span) -> Effects {
        self.of_counted(shader, statements, Counted::Outside(span))
    }

    /// The effects of the statements that may run after those under `span`: the statements after these, and those
    /// around them in loops.
    pub fn of_statements_after(&mut self, shader: &Shader, statements: &[Stmt], span: Span) -> Effects {
        self.of_counted(shader, statements, Counted::After(span))
    }

    fn of_counted(&mut self, shader: &Shader, statements: &[Stmt], counted: Counted) -> Effects {
        let around = std::mem::replace(&mut self.counted, counted);
        let effects = self.of_statements(shader, statements);
        self.counted = around;
        effects
    }

    /// [`Effects::has_side_effects`] of an expression of `shader`.
    pub fn has_side_effects(&mut self, shader: &Shader, expr: &Expr) -> bool {
        self.told(shader, expr).0
    }

    /// [`Effects::calls_unknown`] of an expression of `shader`.
    pub fn calls_unknown(&mut self, shader: &Shader, expr: &Expr) -> bool {
        self.told(shader, expr).1
    }

    fn told(&mut self, shader: &Shader, expr: &Expr) -> (bool, bool) {
        let key = std::ptr::from_ref(expr);
        if let Some(known) = self.expressions.get(&key) {
            return *known;
        }
        let effects = self.of_expression(shader, expr);
        let told = (effects.has_side_effects(), effects.calls_unknown);
        self.expressions.insert(key, told);
        told
    }

    /// Whether an expression, besides having a value, only reads other lanes.
    pub fn only_reads_lanes(&mut self, shader: &Shader, expr: &Expr) -> bool {
        let mut effects = self.of_expression(shader, expr);
        let only_reads = effects.reads_lanes() && !effects.combines_lanes;
        effects.cooperates = false;
        only_reads && !effects.has_side_effects()
    }

    fn statement(&mut self, shader: &Shader, statement: &Stmt, effects: &mut Effects) {
        let counted = self.counted;
        if counted.leaves_out(statement.span) {
            return;
        }
        // In another iteration, all of the loop comes after.
        if let (StmtKind::Loop(_), Counted::After(span)) = (&statement.kind, counted) {
            self.counted = Counted::Outside(span);
        }
        self.parts(shader, statement, effects);
        self.counted = counted;
    }

    fn parts(&mut self, shader: &Shader, statement: &Stmt, effects: &mut Effects) {
        match &statement.kind {
            StmtKind::Declare { local, init } => {
                effects.declared.insert(*local);
                if let Some(init) = init {
                    effects.written.insert(*local);
                    self.expression(shader, init, false, effects);
                }
            }
            StmtKind::Expr(expr) => {
                self.expression(shader, expr, false, effects);
                effects.call(Unknown::of_statement(shader, expr));
            }
            StmtKind::Block(body) => {
                for statement in body {
                    self.statement(shader, statement, effects);
                }
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                self.expression(shader, condition, false, effects);
                self.statement(shader, then, effects);
                if let Some(otherwise) = otherwise {
                    self.statement(shader, otherwise, effects);
                }
            }
            StmtKind::Loop(l) => {
                effects.repeats = true;
                effects.loops = true;
                for statement in &l.init {
                    self.statement(shader, statement, effects);
                }
                let lane_reads = std::mem::take(&mut effects.lane_reads);
                for expr in l.condition.iter().chain(&l.step) {
                    self.expression(shader, expr, false, effects);
                }
                let jumps = effects.jumps;
                self.statement(shader, &l.body, effects);
                effects.jumps = jumps;
                if effects.lane_reads > 0 {
                    effects.lane_reads = u32::MAX;
                }
                effects.lane_reads = effects.lane_reads.saturating_add(lane_reads);
            }
            StmtKind::Switch { value, cases } => {
                self.expression(shader, value, false, effects);
                for case in cases {
                    if let Some(label) = &case.label {
                        self.expression(shader, label, false, effects);
                    }
                    for statement in &case.body {
                        self.statement(shader, statement, effects);
                    }
                }
            }
            StmtKind::Return(value) => {
                effects.leaves = true;
                if let Some(value) = value {
                    self.expression(shader, value, false, effects);
                }
            }
            StmtKind::Discard => effects.leaves = true,
            StmtKind::Break => {}
            StmtKind::Continue => effects.jumps = true,
            StmtKind::Opaque => effects.opaque = true,
        }
    }

    pub(super) fn expression(&mut self, shader: &Shader, expr: &Expr, written: bool, effects: &mut Effects) {
        effects.call(Unknown::of(shader, expr));
        // A variable, a member of a struct or a function's result may stand for any resource.
        if expr.ty.is_writable() && !matches!(expr.kind, ExprKind::Global(_) | ExprKind::Index(..)) {
            effects.device_observed = true;
            effects.handle_written |= written;
        }
        match &expr.kind {
            ExprKind::Literal(_) => {}
            ExprKind::Local(local) => {
                effects.read.insert(*local);
                if written {
                    effects.written.insert(*local);
                }
            }
            ExprKind::Global(global) => effects.global(shader, *global, &expr.ty, written),
            ExprKind::Field(a, _) | ExprKind::Swizzle(a, _) => {
                self.expression(shader, a, written, effects);
            }
            ExprKind::Index(a, b) => {
                self.expression(shader, a, written, effects);
                self.expression(shader, b, false, effects);
            }
            ExprKind::Unary(..)
            | ExprKind::Cast(_)
            | ExprKind::Binary(..)
            | ExprKind::Comma(..)
            | ExprKind::Ternary(..)
            | ExprKind::Construct(_) => {
                for part in expr.children() {
                    self.expression(shader, part, false, effects);
                }
            }
            ExprKind::Assign { target, value, op } => {
                effects.device_observed |= op.is_some() && is_on_device(shader, target);
                effects.opaque |= !is_place(target);
                effects.rebind(target);
                self.expression(shader, target, true, effects);
                self.expression(shader, value, false, effects);
            }
            ExprKind::Step { target, .. } => {
                effects.device_observed |= is_on_device(shader, target);
                effects.opaque |= !is_place(target);
                self.expression(shader, target, true, effects);
            }
            ExprKind::Opaque(arguments) => {
                effects.atomic |= atomic_method(shader, expr).is_some();
                for (number, argument) in arguments.iter().enumerate() {
                    // If the whole is written, this is a part of the first operand, as far as that is a place.
                    let argument = if written && number == 0 {
                        argument.uncast()
                    } else {
                        argument
                    };
                    effects.device_observed |= is_on_device(shader, argument);
                    self.expression(shader, argument, true, effects);
                }
            }
            ExprKind::Call(function, arguments) => {
                let callee = shader.functions.get(function.0 as usize);
                for (index, argument) in arguments.iter().enumerate() {
                    let parameter = callee.and_then(|f| f.parameters.get(index));
                    let is_out = parameter.is_none_or(|parameter| parameter.direction != Direction::In);
                    if is_out {
                        effects.rebind(argument);
                    }
                    // A copy of a handle writes to the same resource.
                    let written = is_out || argument.ty.is_writable();
                    self.expression(shader, argument, written, effects);
                }
                let of_callee = self.of_function(shader, *function);
                effects.functions.insert(*function);
                effects.add_globals(&of_callee);
            }
            ExprKind::Intrinsic(intrinsic, arguments) => {
                effects.intrinsic(*intrinsic);
                for (index, argument) in arguments.iter().enumerate() {
                    let out = intrinsic.may_write(index);
                    effects.device_observed |= out && is_on_device(shader, argument);
                    self.expression(shader, argument, out, effects);
                }
            }
            ExprKind::Method {
                object,
                method,
                arguments,
            } => {
                let writes = !method.is_read();
                let is_store = matches!(method, Method::Store { .. });
                effects.device_observed |= object.ty.is_writable() && !is_store;
                effects.atomic |= Atomic::of_method(method).is_some();
                self.expression(shader, object, writes, effects);
                let status = status_argument(expr);
                for argument in arguments {
                    let is_status = status.is_some_and(|status| std::ptr::eq(status, argument));
                    self.expression(shader, argument, writes || is_status, effects);
                }
            }
        }
    }

    /// The effects of the functions that no entry point visibly calls, and of those that a template may find by the
    /// types of its arguments.
    pub fn of_uncalled(&mut self, shader: &Shader) -> Rc<Effects> {
        if let Some(known) = &self.uncalled {
            return Rc::clone(known);
        }
        let mut called = BTreeSet::new();
        for (entry, _) in shader.entry_points() {
            called.insert(entry);
            called.extend(&self.of_function(shader, entry).functions);
        }
        let mut effects = Effects::default();
        for function in (0..shader.functions.len() as u32).map(FunctionId) {
            if !called.contains(&function) || is_found_by_type(shader, function) {
                effects.add_globals(&self.of_function(shader, function));
            }
        }
        let effects = Rc::new(effects);
        self.uncalled = Some(Rc::clone(&effects));
        effects
    }

    /// The groupshared and `static` variables of the text that a call of unknown code may reach.
    ///
    /// A function can only name what is declared before it, as in C. Unknown code is in a file that was not found,
    /// and so comes before everything declared after the last such file; if no file is missing, it comes before the
    /// text. A function that is declared before the unknown code may be defined after it: so the unknown code may
    /// call functions that no entry point visibly calls. A template of another file may call methods of its
    /// arguments, and functions for their types, wherever these are. A macro may name anything that exists where it
    /// is used.
    pub fn reach(&mut self, shader: &Shader, is_macro: bool) -> BTreeSet<GlobalId> {
        let last_gap = shader.gaps.last().copied();
        let aside = self.of_uncalled(shader);
        let variables = (0u32..).map(GlobalId).zip(&shader.globals);
        let variables =
            variables.filter(|(_, global)| matches!(global.storage, Storage::Groupshared | Storage::Static));
        variables
            .filter(|(id, global)| {
                let is_before_gap = last_gap.is_some_and(|gap| global.span.start < gap);
                is_macro || is_before_gap || aside.globals.contains(id)
            })
            .map(|(id, _)| id)
            .collect()
    }

    /// The effects of a function and all it calls, as far as its caller can observe them.
    pub fn of_function(&mut self, shader: &Shader, function: FunctionId) -> Effects {
        match self.functions.get(&function) {
            Some(Some(effects)) => effects.clone(),
            // Recursion, which HLSL forbids: nothing more to add on this path.
            Some(None) => Effects::default(),
            None => {
                self.functions.insert(function, None);
                let effects = match shader
                    .functions
                    .get(function.0 as usize)
                    .and_then(|f| f.body.as_ref())
                {
                    Some(body) => self.of_counted(shader, body, Counted::All),
                    None => Effects {
                        opaque: true,
                        ..Effects::default()
                    },
                };
                self.functions.insert(function, Some(effects.clone()));
                effects
            }
        }
    }
}

/// Whether an earlier template may find a function by the types of its arguments: a method, or a function for a
/// struct or an enumeration, which C++ looks up again where the template is used.
fn is_found_by_type(shader: &Shader, function: FunctionId) -> bool {
    let Some(function) = shader.functions.get(function.0 as usize) else {
        return false;
    };
    let mut parameters = function.parameters.iter();
    function.name.contains("::")
        || parameters.any(|parameter| {
            let local = function.locals.get(parameter.local.0 as usize);
            local.is_some_and(|local| names_own_type(&local.ty))
        })
}

fn names_own_type(ty: &Type) -> bool {
    match ty {
        Type::Struct(_) => true,
        Type::Array(element, _) | Type::Resource(_, Some(element)) => names_own_type(element),
        ty => matches!(ty.scalar(), Some(Scalar::Enum(_) | Scalar::UintEnum(_))),
    }
}

/// Whether an assignment can write to this target. An assignment to anything else was misread, so its effects are
/// unknown.
fn is_place(target: &Expr) -> bool {
    match &target.kind {
        ExprKind::Index(of, _) | ExprKind::Field(of, _) | ExprKind::Swizzle(of, _) => is_place(of),
        ExprKind::Literal(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Ternary(..)
        | ExprKind::Cast(_)
        | ExprKind::Construct(_)
        | ExprKind::Comma(..) => false,
        _ => true,
    }
}

/// Whether a function may use groupshared memory, itself or through its calls.
#[must_use]
pub fn uses_shared_memory(shader: &Shader, function: FunctionId) -> bool {
    let effects = EffectsCache::default().of_function(shader, function);
    effects.touches_shared() || effects.calls_unknown || effects.opaque
}

/// Whether evaluating an expression changes nothing, and calls no unknown code.
#[must_use]
pub fn is_pure(shader: &Shader, expr: &Expr) -> bool {
    let (has_side_effects, calls_unknown) = EffectsCache::default().told(shader, expr);
    !has_side_effects && !calls_unknown
}

/// Whether a function may run code that is not in the text, itself or through its calls.
#[must_use]
pub fn calls_unknown(shader: &Shader, function: FunctionId) -> bool {
    let effects = EffectsCache::default().of_function(shader, function);
    effects.calls_unknown || effects.opaque
}

/// Whether a wave intrinsic returns one lane's value, or tells which lane that is.
fn moves_registers(intrinsic: Intrinsic) -> bool {
    matches!(
        intrinsic,
        Intrinsic::WaveReadLaneAt
            | Intrinsic::WaveReadLaneFirst
            | Intrinsic::WaveIsFirstLane
            | Intrinsic::QuadReadLaneAt
            | Intrinsic::QuadReadAcrossX
            | Intrinsic::QuadReadAcrossY
            | Intrinsic::QuadReadAcrossDiagonal
    )
}

/// Whether a place is in a resource.
fn is_on_device(shader: &Shader, place: &Expr) -> bool {
    match &place.kind {
        ExprKind::Index(base, _) | ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => {
            is_on_device(shader, base)
        }
        ExprKind::Global(global) => shader
            .globals
            .get(global.0 as usize)
            .is_some_and(|global| global.storage == Storage::Resource),
        _ => matches!(place.ty, Type::Resource(..)),
    }
}
