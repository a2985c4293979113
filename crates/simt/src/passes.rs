//! What variables hold in a pass of a loop that may be any of its passes.
//!
//! Threads take their passes together. A variable that begins alike for all and is changed alike by all is one number in
//! each pass, though not known; one that begins as the thread's number and steps by what is the same for all keeps its
//! distance from the others'. What data have a part in may be anything, for each thread. Of the rest nothing is known,
//! not even whether it tells the threads apart.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{
    BinaryOp, Direction, Expr, ExprKind, LocalId, Loop, Stmt, StmtKind, Storage, statements,
};

use crate::column::Column;
use crate::machine::Machine;
use crate::opaque::is_read;

/// What a variable holds in any pass, by thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// One value, the same for all.
    One,
    /// What it held before the loop, and a number that is the same for all.
    Stepped,
    /// A value of each thread's own.
    Own,
    /// It may tell the threads apart.
    Untold,
}

/// Who comes to a statement of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Comes {
    All,
    /// Whether all do, or none, or some, their numbers may tell.
    Some,
    /// Data tell.
    ByData,
}

/// A change of a variable.
struct Change<'a> {
    local: LocalId,
    /// What is added to it; otherwise what it becomes. `None` for one more or less.
    value: Option<&'a Expr>,
    adds: bool,
    /// A value that is found or given from somewhere.
    is_given: bool,
    comes: Comes,
}

struct Changes<'a, 'm> {
    machine: &'m Machine<'a>,
    /// What the loop writes.
    written: &'m BTreeSet<LocalId>,
    begun: &'m [Vec<Column>],
    all: Vec<Change<'a>>,
    /// Variables that hold data, as far as is known.
    data: BTreeSet<LocalId>,
    /// Variables that are changed and may be one for all.
    alike: BTreeSet<LocalId>,
}

impl<'a> Machine<'a> {
    /// What the variables that a loop writes hold in any of its passes, given what they hold before the first.
    pub fn in_any_pass(
        &self,
        l: &'a Loop,
        written: &BTreeSet<LocalId>,
        begun: &[Vec<Column>],
    ) -> BTreeMap<LocalId, Held> {
        let mut changes = Changes {
            machine: self,
            written,
            begun,
            all: Vec::new(),
            data: BTreeSet::new(),
            alike: BTreeSet::new(),
        };
        let is_alike = |local: &LocalId| is_one(self, changes.held(*local));
        changes.alike = written.iter().copied().filter(is_alike).collect();
        // Which conditions data tell is known when all that holds data is.
        loop {
            let before = (changes.data.len(), changes.alike.len());
            changes.all.clear();
            let mut comes = Comes::All;
            changes.statement(&l.body, &mut comes);
            for expr in l.condition.iter().chain(&l.step) {
                changes.expression(expr, Comes::All);
            }
            changes.settle();
            if before == (changes.data.len(), changes.alike.len()) {
                break;
            }
        }
        let held = |local: &LocalId| {
            let mut of_it = changes.all.iter().filter(|change| change.local == *local);
            if changes.alike.contains(local) {
                Held::One
            } else if changes.data.contains(local) {
                Held::Own
            } else if of_it.all(|change| changes.is_step(change)) {
                Held::Stepped
            } else {
                Held::Untold
            }
        };
        written.iter().map(|local| (*local, held(local))).collect()
    }
}

impl<'a> Changes<'a, '_> {
    /// Takes in what follows for the variables from how they are changed.
    fn settle(&mut self) {
        for change in &self.all {
            let value = change.value;
            let is_alike = !change.is_given && value.is_none_or(|value| self.is_alike(value));
            if change.comes != Comes::All || !is_alike {
                self.alike.remove(&change.local);
            }
            let has_data = change.is_given || value.is_some_and(|value| self.has_data(value));
            if change.comes == Comes::ByData || has_data && !is_alike {
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
            && change.comes == Comes::All
            && change.value.is_none_or(|value| self.is_alike(value))
    }

    /// Whether data have a part in a value.
    fn has_data(&self, value: &Expr) -> bool {
        value.descendants().any(|part| match &part.kind {
            ExprKind::Local(local) => self.data.contains(local) || self.holds_data(*local),
            ExprKind::Global(global) => {
                let declared = self.machine.shader.globals.get(global.0 as usize);
                !declared.is_some_and(|of| matches!(of.storage, Storage::Uniform | Storage::Const))
            }
            ExprKind::Call(..) | ExprKind::Method { .. } | ExprKind::Opaque(_) => true,
            ExprKind::Intrinsic(intrinsic, _) => intrinsic.is_wave(),
            _ => false,
        })
    }

    /// Whether a value is the same for all threads: what one finds somewhere, or a function gives, another does too.
    fn is_alike(&self, value: &Expr) -> bool {
        value.descendants().all(|part| match &part.kind {
            ExprKind::Local(local) => {
                self.alike.contains(local)
                    || !self.written.contains(local) && is_one(self.machine, self.held(*local))
            }
            ExprKind::Global(global) => {
                let statics = self.machine.state.statics.get(global);
                statics.is_none_or(|columns| is_one(self.machine, columns))
            }
            ExprKind::Intrinsic(intrinsic, _) => !intrinsic.is_wave(),
            _ => true,
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

    /// Who comes to what a condition leads to, of those who come to it.
    fn under(&self, comes: Comes, condition: &Expr) -> Comes {
        if self.has_data(condition) {
            Comes::ByData
        } else if self.is_alike(condition) {
            comes
        } else {
            comes.max(Comes::Some)
        }
    }

    /// The changes of a statement; `comes` is who goes on after it.
    fn statement(&mut self, statement: &'a Stmt, comes: &mut Comes) {
        match &statement.kind {
            StmtKind::Declare { local, init } => {
                if let Some(value) = init {
                    self.expression(value, *comes);
                    self.all.push(Change {
                        local: *local,
                        value: Some(value),
                        adds: false,
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
                    *comes = inside.max(Comes::Some);
                }
            }
            StmtKind::Loop(l) => {
                for statement in &l.init {
                    self.statement(statement, comes);
                }
                let body = std::slice::from_ref(&l.body);
                let inside = match &l.condition {
                    Some(condition) if !statements(body).any(leaves) => self.under(*comes, condition),
                    Some(condition) if self.has_data(condition) => Comes::ByData,
                    _ => (*comes).max(Comes::Some),
                };
                let mut after = inside;
                self.statement(&l.body, &mut after);
                for expr in l.condition.iter().chain(&l.step) {
                    self.expression(expr, inside);
                }
            }
            StmtKind::Switch { value, cases } => {
                self.expression(value, *comes);
                let mut inside = self.under(*comes, value).max(Comes::Some);
                for statement in cases.iter().flat_map(|case| &case.body) {
                    self.statement(statement, &mut inside);
                }
            }
            StmtKind::Expr(expr) => self.expression(expr, *comes),
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    self.expression(value, *comes);
                }
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Discard | StmtKind::Opaque => {}
        }
    }

    /// The arguments of a call that it may write to.
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
            ExprKind::Method { name, arguments, .. } if !is_read(name) => arguments.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The changes within an expression. Where only some of it is evaluated, that may depend on data.
    fn expression(&mut self, expr: &'a Expr, comes: Comes) {
        for part in expr.descendants() {
            let is_top = std::ptr::eq(part, expr)
                || matches!(&expr.kind, ExprKind::Comma(a, b) if std::ptr::eq(part, &raw const **a) || std::ptr::eq(part, &raw const **b));
            let comes = if is_top { comes } else { Comes::ByData };
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
                        value: None,
                        adds: false,
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
                is_given: false,
                comes: if is_whole { comes } else { comes.max(Comes::Some) },
            });
        }
    }
}

/// What is added to a variable: of `i = i + n` and the like.
fn added<'a>(target: &Expr, value: &'a Expr) -> Option<&'a Expr> {
    let is_it = |expr: &Expr| matches!((&expr.kind, &target.kind), (ExprKind::Local(a), ExprKind::Local(b)) if a == b);
    match &value.kind {
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) if is_it(a) => Some(b),
        ExprKind::Binary(BinaryOp::Add, a, b) if is_it(b) => Some(a),
        _ => None,
    }
}

/// Whether all threads hold the same.
fn is_one(machine: &Machine<'_>, columns: &[Column]) -> bool {
    let mut columns = columns.iter();
    columns.all(|column| column.uniform(machine.state.active).is_some())
}

/// The variable that a place is, or is a part of.
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

/// Whether threads may go another way from a statement than to the next one.
fn leaves(statement: &Stmt) -> bool {
    matches!(
        statement.kind,
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Discard | StmtKind::Opaque
    )
}
