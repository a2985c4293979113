//! What variables hold in an arbitrary iteration of a loop.
//!
//! Threads iterate together. A variable that is uniform before the loop and that all threads change by uniform values
//! is uniform in each iteration, though not known. A variable that begins as the thread's number and steps by uniform
//! values keeps its distance from the other threads' (affine). A variable that data have a part in may be anything,
//! for each thread. Nothing is known of the others, not even whether they tell the threads apart.
//!
//! A value is uniform only if it is known to be a function of uniform values: arithmetic, reads by all threads at one
//! place, and calls of functions that do no more than that. Data are values read from memory, and the results of such
//! functions. These are neither uniform nor data: expressions that name lanes or number the threads, expressions that
//! are not understood, and `static` variables that the loop writes.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{
    BinaryOp, Counter, Direction, Expr, ExprKind, FunctionId, GlobalId, LocalId, Loop, Method, Stmt,
    StmtKind, Storage, Type, statements,
};

use crate::exec::{Machine, Observer};
use crate::facts::calls::status_argument;
use crate::facts::effects::Effects;
use crate::terms::column::Column;

/// What a variable holds in any iteration, across threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uniformity {
    /// One value, the same for all threads.
    Uniform,
    /// The value before the loop, plus a number that is the same for all threads.
    Affine,
    /// Data: a value of each thread's own.
    Varying,
    /// The value may tell the threads apart.
    Unknown,
}

/// Which threads reach a statement in an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reachability {
    All,
    /// The threads' numbers may decide whether all, some or none of them do.
    Some,
    /// Data decide.
    ByData,
}

/// A change of a variable.
struct Change<'a> {
    local: LocalId,
    /// What is added to it, or assigned to it, or the expression that writes it through an operand. `None` for `++`
    /// and `--`.
    value: Option<&'a Expr>,
    adds: bool,
    /// The part of it that changes, if not all of it does.
    part: Option<&'a Expr>,
    /// An expression changes it through one of its operands.
    is_given: bool,
    comes: Reachability,
}

struct Changes<'a, 'm, O> {
    machine: &'m Machine<'a, O>,
    /// The effects of the loop, and of each function that it calls.
    effects: &'m Effects,
    callees: BTreeMap<FunctionId, Effects>,
    begun: &'m [Vec<Column>],
    all: Vec<Change<'a>>,
    /// Variables known to hold data.
    data: BTreeSet<LocalId>,
    /// Variables that change and may still be uniform.
    alike: BTreeSet<LocalId>,
}

impl<'a, O: Observer> Machine<'a, O> {
    /// What the variables that a loop writes hold in any of its iterations, given what they hold before the first.
    pub fn in_any_iteration(
        &mut self,
        l: &'a Loop,
        effects: &Effects,
        begun: &[Vec<Column>],
    ) -> BTreeMap<LocalId, Uniformity> {
        let functions = effects.functions.iter();
        let callees = functions.map(|function| (*function, self.effects.of_function(self.shader, *function)));
        let callees = callees.collect();
        let written = &effects.written;
        let mut changes = Changes {
            machine: self,
            effects,
            callees,
            begun,
            all: Vec::new(),
            data: BTreeSet::new(),
            alike: BTreeSet::new(),
        };
        let is_alike = |local: &LocalId| is_one(self, changes.held(*local));
        changes.alike = written.iter().copied().filter(is_alike).collect();
        // Iterates to a fixpoint: whether data decide a condition depends on which variables hold data.
        loop {
            let before = (changes.data.len(), changes.alike.len());
            changes.all.clear();
            let mut comes = Reachability::All;
            changes.statement(&l.body, &mut comes);
            for expr in l.condition.iter().chain(&l.step) {
                changes.expression(expr, Reachability::All);
            }
            changes.settle();
            if before == (changes.data.len(), changes.alike.len()) {
                break;
            }
        }
        let held = |local: &LocalId| {
            let mut of_it = changes
                .all
                .iter()
                .filter(|change| change.local == *local)
                .peekable();
            if changes.alike.contains(local) {
                Uniformity::Uniform
            } else if changes.data.contains(local) {
                Uniformity::Varying
            } else if of_it.peek().is_some() && of_it.all(|change| changes.is_step(change)) {
                Uniformity::Affine
            } else {
                Uniformity::Unknown
            }
        };
        written.iter().map(|local| (*local, held(local))).collect()
    }
}

impl<'a, O: Observer> Changes<'a, '_, O> {
    /// Updates what is known of the variables from how they change.
    fn settle(&mut self) {
        for change in &self.all {
            let value = change.value;
            // If the place is uniform, all threads change the same part.
            let is_alike = !change.is_given
                && value
                    .into_iter()
                    .chain(change.part)
                    .all(|expr| self.is_alike(expr));
            if change.comes != Reachability::All || !is_alike {
                self.alike.remove(&change.local);
            }
            let has_data = value.is_some_and(|value| self.has_data(value));
            if change.comes == Reachability::ByData || has_data && !is_alike {
                self.data.insert(change.local);
            }
        }
    }

    /// Whether all threads add the same number to an integer.
    fn is_step(&self, change: &Change<'_>) -> bool {
        let function = self.machine.function();
        let variable = function.and_then(|function| function.locals.get(change.local.0 as usize));
        let is_integer = variable
            .and_then(|variable| variable.ty.scalar())
            .is_some_and(|scalar| !scalar.is_float());
        is_integer
            && change.adds
            && change.comes == Reachability::All
            && change.value.is_none_or(|value| self.is_alike(value))
    }

    /// Whether data have a part in a value.
    fn has_data(&self, value: &Expr) -> bool {
        // A work list rather than recursion, for trees may be deep.
        let mut left = vec![value];
        while let Some(part) = left.pop() {
            let has = match &part.kind {
                ExprKind::Local(local) => self.data.contains(local) || self.holds_data(*local),
                ExprKind::Global(global) => self.is_memory(*global),
                ExprKind::Call(function, _) => {
                    let callee = self.callees.get(function);
                    callee.is_some_and(|callee| Self::is_computed(callee) && self.reads(callee))
                }
                _ => false,
            };
            if has {
                return true;
            }
            match &part.kind {
                // The result of an atomic may number the threads.
                ExprKind::Intrinsic(intrinsic, _) if intrinsic.is_atomic() => {}
                ExprKind::Method {
                    object,
                    method,
                    arguments,
                } => {
                    let is_element = method.is_read() || *method == Method::Counter(Counter::Consume);
                    left.extend(arguments);
                    left.extend(Some(&**object).filter(|_| is_element));
                }
                _ => left.extend(part.children()),
            }
        }
        false
    }

    /// Whether a value is uniform.
    fn is_alike(&self, value: &Expr) -> bool {
        value.descendants().all(|part| match &part.kind {
            ExprKind::Literal(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Ternary(..)
            | ExprKind::Assign { .. }
            | ExprKind::Step { .. }
            | ExprKind::Index(..)
            | ExprKind::Field(..)
            | ExprKind::Swizzle(..)
            | ExprKind::Cast(_)
            | ExprKind::Construct(_)
            | ExprKind::Comma(..) => true,
            ExprKind::Local(local) if self.machine.shader.holds_resource(&part.ty) => {
                self.is_one_resource(*local)
            }
            ExprKind::Local(local) => {
                self.alike.contains(local)
                    || !self.effects.written.contains(local) && is_one(self.machine, self.held(*local))
            }
            ExprKind::Global(global) => self.is_alike_global(*global),
            // Nothing names the resource that it returns.
            ExprKind::Call(..) if self.machine.shader.holds_resource(&part.ty) => false,
            ExprKind::Call(function, _) => {
                let callee = self.callees.get(function);
                callee.is_some_and(|callee| {
                    let mut named = callee.globals.iter();
                    // Memory that others may write meanwhile need not be a named global.
                    Self::is_computed(callee)
                        && !callee.device_observed
                        && named.all(|global| self.is_alike_global(*global))
                })
            }
            ExprKind::Intrinsic(intrinsic, _) => {
                !(intrinsic.is_wave() || intrinsic.is_atomic() || intrinsic.is_group_barrier())
            }
            // Only methods whose level of detail does not depend on neighbouring threads.
            ExprKind::Method { object, method, .. } => {
                matches!(object.ty, Type::Resource(..)) && method.is_read() && !method.takes_derivatives()
            }
            ExprKind::Opaque(_) => false,
        })
    }

    /// Whether all threads read one value at one place of this global. That is not known if other groups may write to
    /// it meanwhile.
    fn is_alike_global(&self, global: GlobalId) -> bool {
        let declared = self.machine.shader.globals.get(global.0 as usize);
        declared.is_some_and(|declared| match declared.storage {
            Storage::Groupshared | Storage::Const | Storage::Uniform => true,
            Storage::Static => {
                let columns = self.machine.state.statics.get(&global);
                !self.effects.statics.contains(&global)
                    && columns.is_some_and(|columns| is_one(self.machine, columns))
            }
            Storage::Resource => !declared.ty.is_writable(),
            Storage::Unknown => false,
        })
    }

    /// Whether a value read from this global is data.
    fn is_memory(&self, global: GlobalId) -> bool {
        let declared = self.machine.shader.globals.get(global.0 as usize);
        declared.is_some_and(|declared| match declared.storage {
            Storage::Const | Storage::Uniform | Storage::Unknown => false,
            Storage::Groupshared | Storage::Resource => true,
            Storage::Static => {
                let columns = self.machine.state.statics.get(&global).into_iter().flatten();
                !self.effects.statics.contains(&global)
                    && columns.into_iter().any(|column| self.machine.is_data(column))
            }
        })
    }

    /// Whether a function's result follows from its arguments and from what it reads, so that equal calls give equal
    /// results.
    fn is_computed(callee: &Effects) -> bool {
        let exchanges = callee.atomic
            || callee.handle_written
            || callee.device_observed && !callee.device_written.is_empty()
            || !callee.shared_written.is_empty();
        let is_known = !callee.wave && !callee.calls_unknown && !callee.opaque;
        is_known && !exchanges && callee.statics.is_empty()
    }

    /// Whether a function reads data from memory, and otherwise only uniform globals.
    fn reads(&self, callee: &Effects) -> bool {
        let is_told = |global: &GlobalId| self.is_alike_global(*global) || self.is_memory(*global);
        let mut named = callee.globals.iter();
        named.clone().all(is_told) && named.any(|global| self.is_memory(*global))
    }

    /// Whether a variable stands for one resource in all iterations and for all threads.
    fn is_one_resource(&self, local: LocalId) -> bool {
        let alias = self.machine.state.frame.aliases.get(&local);
        let is_bound_here = self.effects.rebound.contains(&local) || self.effects.declared.contains(&local);
        alias.is_some_and(|(resource, index)| {
            let declared = self.machine.shader.globals.get(resource.0 as usize);
            !is_bound_here
                && declared.is_some_and(|declared| !declared.ty.is_writable())
                && is_one(self.machine, index)
        })
    }

    /// What a variable held before the loop.
    fn held(&self, local: LocalId) -> &[Column] {
        self.begun.get(local.0 as usize).map_or(&[], Vec::as_slice)
    }

    fn holds_data(&self, local: LocalId) -> bool {
        let mut columns = self.held(local).iter();
        columns.any(|column| self.machine.is_data(column))
    }

    /// Which threads reach what a condition guards, given which threads reach the condition.
    fn under(&self, comes: Reachability, condition: &Expr) -> Reachability {
        if self.has_data(condition) {
            Reachability::ByData
        } else if self.is_alike(condition) {
            comes
        } else {
            comes.max(Reachability::Some)
        }
    }

    /// Collects the changes in a statement. `comes` becomes which threads go on after it.
    fn statement(&mut self, statement: &'a Stmt, comes: &mut Reachability) {
        match &statement.kind {
            StmtKind::Declare { local, init } => {
                if let Some(value) = init {
                    self.expression(value, *comes);
                    self.all.push(Change {
                        local: *local,
                        value: Some(value),
                        adds: false,
                        part: None,
                        is_given: false,
                        comes: *comes,
                    });
                }
            }
            StmtKind::Block(body) => {
                for statement in body {
                    self.statement(statement, comes);
                }
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                self.expression(condition, *comes);
                let inside = self.under(*comes, condition);
                for arm in std::iter::once(then).chain(otherwise) {
                    let mut after = inside;
                    self.statement(arm, &mut after);
                }
                if statements(std::slice::from_ref(statement)).any(leaves) {
                    *comes = inside.max(Reachability::Some);
                }
            }
            StmtKind::Loop(l) => {
                for statement in &l.init {
                    self.statement(statement, comes);
                }
                let body = std::slice::from_ref(&l.body);
                let inside = match &l.condition {
                    Some(condition) if !statements(body).any(leaves) => self.under(*comes, condition),
                    Some(condition) if self.has_data(condition) => Reachability::ByData,
                    _ => (*comes).max(Reachability::Some),
                };
                let mut after = inside;
                self.statement(&l.body, &mut after);
                for expr in l.condition.iter().chain(&l.step) {
                    self.expression(expr, inside);
                }
                if statements(body).any(leaves_all) {
                    *comes = inside.max(Reachability::Some);
                }
            }
            StmtKind::Switch { value, cases } => {
                self.expression(value, *comes);
                let mut inside = self.under(*comes, value).max(Reachability::Some);
                for statement in cases.iter().flat_map(|case| &case.body) {
                    self.statement(statement, &mut inside);
                }
                // A `break` only leaves the switch.
                let goes = |one: &Stmt| leaves(one) && !matches!(one.kind, StmtKind::Break);
                if statements(std::slice::from_ref(statement)).any(goes) {
                    *comes = inside;
                }
            }
            StmtKind::Expr(expr) => self.expression(expr, *comes),
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    self.expression(value, *comes);
                }
            }
            StmtKind::Opaque => *comes = (*comes).max(Reachability::Some),
            StmtKind::Break | StmtKind::Continue | StmtKind::Discard => {}
        }
    }

    /// The arguments that a call may write to.
    fn written_arguments(&self, call: &'a Expr) -> Vec<&'a Expr> {
        match &call.kind {
            ExprKind::Call(function, arguments) => {
                let callee = self.machine.shader.functions.get(function.0 as usize);
                let parameters = callee.map_or(&[][..], |callee| &callee.parameters);
                let pairs = parameters.iter().zip(arguments);
                let written = pairs.filter(|(parameter, _)| parameter.direction != Direction::In);
                written.map(|(_, argument)| argument).collect()
            }
            ExprKind::Intrinsic(intrinsic, arguments) => {
                let pairs = arguments.iter().enumerate();
                let written = pairs.filter(|(index, _)| intrinsic.may_write(*index));
                written.map(|(_, argument)| argument).collect()
            }
            ExprKind::Opaque(arguments) => arguments.iter().collect(),
            ExprKind::Method {
                object,
                method,
                arguments,
            } if !method.is_read() => {
                let object = Some(&**object).filter(|object| !matches!(object.ty, Type::Resource(..)));
                object.into_iter().chain(arguments).collect()
            }
            _ => status_argument(call).into_iter().collect(),
        }
    }

    /// Collects the changes within an expression. Data may decide whether a nested part is evaluated.
    fn expression(&mut self, expr: &'a Expr, comes: Reachability) {
        for part in expr.descendants() {
            let is_top = std::ptr::eq(part, expr)
                || matches!(&expr.kind, ExprKind::Comma(a, b) if std::ptr::eq(part, &raw const **a) || std::ptr::eq(part, &raw const **b));
            let comes = if is_top { comes } else { Reachability::ByData };
            let (target, value, adds) = match &part.kind {
                ExprKind::Assign {
                    target,
                    op: None,
                    value,
                } => match added(target, value) {
                    Some(value) => (target, Some(value), true),
                    None => (target, Some(&**value), false),
                },
                ExprKind::Assign { target, op, value } => {
                    let adds = matches!(op, Some(BinaryOp::Add | BinaryOp::Sub));
                    (target, Some(&**value), adds)
                }
                ExprKind::Step { target, .. } => (target, None, true),
                ExprKind::Call(..)
                | ExprKind::Intrinsic(..)
                | ExprKind::Opaque(_)
                | ExprKind::Method { .. } => {
                    let given = self.written_arguments(part).into_iter().filter_map(variable);
                    self.all.extend(given.map(|local| Change {
                        local,
                        value: Some(part),
                        adds: false,
                        part: None,
                        is_given: true,
                        comes,
                    }));
                    continue;
                }
                _ => continue,
            };
            let Some(local) = variable(target) else { continue };
            let is_whole = matches!(target.kind, ExprKind::Local(_));
            self.all.push(Change {
                local,
                value,
                adds: adds && is_whole,
                part: (!is_whole).then_some(&**target),
                is_given: false,
                comes,
            });
        }
    }
}

/// What is added to a variable in an assignment such as `i = i + n`.
fn added<'a>(target: &Expr, value: &'a Expr) -> Option<&'a Expr> {
    let is_it = |expr: &Expr| matches!((&expr.kind, &target.kind), (ExprKind::Local(a), ExprKind::Local(b)) if a == b);
    match &value.kind {
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) if is_it(a) => Some(b),
        ExprKind::Binary(BinaryOp::Add, a, b) if is_it(b) => Some(a),
        _ => None,
    }
}

/// Whether these columns are uniform.
fn is_one<O>(machine: &Machine<'_, O>, columns: &[Column]) -> bool {
    let mut columns = columns.iter();
    columns.all(|column| column.uniform(machine.state.active).is_some())
}

/// The variable that a place is a part of.
fn variable(place: &Expr) -> Option<LocalId> {
    let mut place = place;
    loop {
        place = match &place.kind {
            ExprKind::Local(local) => return Some(*local),
            ExprKind::Index(base, _)
            | ExprKind::Field(base, _)
            | ExprKind::Swizzle(base, _)
            | ExprKind::Cast(base) => base,
            _ => return None,
        };
    }
}

/// Whether control may go from a statement elsewhere than to the next one.
fn leaves(statement: &Stmt) -> bool {
    matches!(
        statement.kind,
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Discard | StmtKind::Opaque
    )
}

/// Whether threads may leave all loops around a statement.
fn leaves_all(statement: &Stmt) -> bool {
    leaves(statement) && !matches!(statement.kind, StmtKind::Break | StmtKind::Continue)
}
