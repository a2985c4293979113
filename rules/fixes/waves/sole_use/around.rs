//! The statements around a ladder that may be about its array alone.

use shaderlint_hlsl::{
    BinaryOp, Expr, ExprKind, Function, Global, GlobalId, Intrinsic, LocalId, Shader, Span, Stmt, StmtKind,
    Storage, expressions, statements,
};
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Rewrite, StepEdit};

use super::store::{Store, place};
use super::{ResultsIn, Taken};
use crate::fixes::waves::last_calls::only_called_by;
use crate::source::statements::{group_barrier, uses_of};
use crate::source::text::{Spelled, in_parentheses, on_one_line};
use crate::source::unit::{Choice, Unit};
use crate::source::words::{is_part, words};

/// The statements around a ladder that may be about its array alone.
pub(super) struct Around<'s> {
    pub array: GlobalId,
    pub declared: &'s Global,
    pub function: &'s Function,
    /// Back to the last statement that uses the array otherwise than to store an element.
    pub before: &'s [Stmt],
    /// The statement right before the ladder.
    previous: Option<&'s Stmt>,
    pub ladder: &'s [Stmt],
    /// Up to the next statement that stores an element.
    pub behind: &'s [Stmt],
    /// The store of that statement.
    pub next_store: Option<Store<'s>>,
}

impl<'s> Around<'s> {
    pub fn of(context: &Context<'s>, found: &Collective) -> Option<Around<'s>> {
        let shader = context.shader;
        let &[array] = found.arrays.as_slice() else {
            return None;
        };
        let declared = shader.globals.get(array.0 as usize)?;
        if declared.storage != Storage::Groupshared {
            return None;
        }
        let function = context.function(found.function)?;
        let (list, first, last) = list_with(function.body.as_deref()?, found.span)?;
        let (before, behind) = (list.get(..first)?, list.get(last + 1..)?);
        let store = |statement| Store::of(shader, statement, array);
        let is_other_use = |statement: &'s Stmt| {
            let mut parts = expressions(std::slice::from_ref(statement));
            parts.any(|part| is_array(part, array)) && store(statement).is_none()
        };
        let start = before.iter().rposition(is_other_use).map_or(0, |at| at + 1);
        let end = behind.iter().position(|statement| store(statement).is_some());
        let (behind, rest) = behind.split_at(end.unwrap_or(behind.len()));
        Some(Around {
            array,
            declared,
            function,
            before: before.get(start..)?,
            previous: before.last(),
            ladder: list.get(first..=last)?,
            behind,
            next_store: rest.first().and_then(store),
        })
    }

    /// The ladder with the barriers right behind it.
    pub fn to_barrier(&self, found: &Collective) -> Span {
        let barriers = self.behind.iter().take_while(|statement| is_removable(statement));
        barriers.fold(found.span, |over, barrier| over.to(barrier.span))
    }

    /// The variable that the statement right before the ladder declares with the thread's own element.
    pub fn holder(&self, shader: &Shader, rewrite: &Rewrite, taken: Taken<'_>) -> Option<&'s str> {
        let StmtKind::Declare {
            local,
            init: Some(value),
        } = &self.previous?.kind
        else {
            return None;
        };
        let (index, component) = place(shader, value, self.array)?;
        let is_own = index == rewrite.lane && component == taken.component;
        let local = self.function.locals.get(local.0 as usize).filter(|_| is_own)?;
        Some(&local.name)
    }

    /// The variables that the ladder leaves, and that only text in these places uses besides the ladder: a form that
    /// edits these need not leave them. Nothing else in the files has their names.
    pub fn left_for(&self, shader: &Shader, rewrite: &Rewrite, places: &[Span]) -> Vec<LocalId> {
        let is_in_them = |of: &Span| {
            places
                .iter()
                .any(|place| place.start <= of.start && of.end <= place.end)
        };
        let is_for_them = |local: &LocalId| {
            let uses = uses_of(self.function, *local);
            let name = self
                .function
                .locals
                .get(local.0 as usize)
                .map(|local| &*local.name);
            uses.iter().all(is_in_them)
                && name.is_some_and(|name| Unit::of(shader).times_named(name) == uses.len() + 1)
        };
        let left = rewrite.live_values.iter().map(|(local, _)| *local);
        left.filter(is_for_them).collect()
    }

    /// The statements before the ladder that declare these variables alone, with a constant.
    pub fn declarations_of(&self, locals: &[LocalId]) -> impl Iterator<Item = Span> {
        let is_of_them = |statement: &&Stmt| {
            matches!(&statement.kind, StmtKind::Declare { local, .. } if locals.contains(local))
                && declares_constant(self.function, statement)
        };
        { self.before.iter() }
            .filter(is_of_them)
            .map(|statement| statement.span)
    }

    /// Whether a read behind the ladder is of the `own` element of the one thread that makes it, under its number:
    /// `if (t == N - 1) Total[g] = v[base + N - 1];` where the thread's own element is `v[base + t]`.
    ///
    /// The index of the read is that of the own element, with the number in the place of the thread's name. In a sum,
    /// a sum or a product may stand in the place of a name, whatever its own names mean.
    fn is_of_one_thread(&self, shader: &Shader, read: &Expr, index: &str, own: &str) -> bool {
        let is_made_of = |text: &str, signs: &[u8]| {
            text.bytes()
                .all(|byte| is_part(byte) || byte.is_ascii_whitespace() || signs.contains(&byte))
        };
        let has_index = |name: &Expr, number: &Expr| {
            let texts = [name, number].map(|part| on_one_line(shader, part.uncast().span));
            let [Some(name), Some(number)] = texts else {
                return false;
            };
            let with_number = |part: &str| {
                if part.trim() == name {
                    number.clone()
                } else {
                    part.trim().to_owned()
                }
            };
            let parts: Vec<String> = own.split('+').map(with_number).collect();
            is_made_of(own, b".+") && is_made_of(&number, b".+-*") && parts.join(" + ") == index
        };
        statements(self.behind).any(|statement| {
            let StmtKind::If { condition, then, .. } = &statement.kind else {
                return false;
            };
            let ExprKind::Binary(BinaryOp::Equal, a, b) = &condition.uncast().kind else {
                return false;
            };
            then.span.start <= read.span.start
                && read.span.end <= then.span.end
                && (has_index(a, b) || has_index(b, a))
        })
    }

    /// Whether an `#if` in the function, but not around the ladder, has an arm that names the array. Readings that
    /// compile other arms have other statements around the ladder, so they would not agree on the edits of a form
    /// without the array.
    pub fn is_named_by_choice(&self, shader: &Shader, found: &Collective) -> bool {
        let unit = Unit::of(shader);
        let places = [found.span, self.function.span].map(|span| shader.origins.locate(span));
        let [Some(ladder), Some(function)] = places else {
            return true;
        };
        let is_within = |choice: &&Choice| {
            choice.file == function.file.0 as usize
                && function.start as usize <= choice.start
                && choice.end <= function.end as usize
        };
        let is_around_ladder = |choice: &Choice| {
            ladder.file == function.file
                && choice.start <= ladder.start as usize
                && ladder.end as usize <= choice.end
        };
        let name = self.declared.own_name().as_bytes();
        let mut choices = unit.choices.iter().filter(is_within);
        choices
            .any(|choice| !is_around_ladder(choice) && words(unit.text_of(choice)).any(|word| word == name))
    }

    /// Whether the array goes with the ladder: every mention of it goes. Besides the ladder, its last step and the
    /// functions that only the ladder calls, `going` uses of it go.
    pub fn goes_with_ladder(
        &self,
        shader: &Shader,
        found: &Collective,
        rewrite: &Rewrite,
        going: usize,
    ) -> bool {
        let is_used = |part: &&Expr| is_array(part, self.array);
        let bodies = { shader.functions.iter() }.filter_map(|function| function.body.as_deref());
        let uses = bodies.flat_map(expressions).filter(is_used).count();
        let in_steps = expressions(self.behind).filter(|part| is_of_last_step(rewrite, part));
        let called = only_called_by(shader, found, rewrite);
        let in_called = called.iter().filter_map(|function| function.body.as_deref());
        let with_ladder = expressions(self.ladder)
            .chain(in_steps)
            .chain(in_called.flat_map(expressions));
        let name = self.declared.own_name();
        let unit = Unit::of(shader);
        uses == with_ladder.filter(is_used).count() + going
            && is_declared_alone(shader, self.declared)
            && unit.times_named(name) == uses + 1
            && !unit.may_be_pasted_as_defined(name.as_bytes())
    }
}

/// The elements that are stored before a ladder, for the ladder alone.
pub(super) struct StoredBefore {
    /// The index of each element whose component the ladder takes, and the value.
    pub indices: Vec<String>,
    pub values: Vec<Spelled>,
    /// One of these has more components than an element, or fewer.
    pub is_of_another_width: bool,
    /// Where the first of these statements begins.
    pub first: Option<u32>,
    /// How many values are stored, also in components that the ladder does not take.
    pub count: usize,
    /// The statements that go.
    pub gone: Vec<Span>,
}

impl StoredBefore {
    pub fn of(
        shader: &Shader,
        around: &Around<'_>,
        found: &Collective,
        rewrite: &Rewrite,
        taken: Taken<'_>,
    ) -> Option<StoredBefore> {
        let width = shader.components(&found.element_type());
        let mut stored = StoredBefore {
            indices: Vec::new(),
            values: Vec::new(),
            is_of_another_width: false,
            first: None,
            count: 0,
            gone: Vec::new(),
        };
        for statement in around.before {
            if let Some(store) = Store::of(shader, statement, around.array) {
                stored.count += store.values.len();
                stored.gone.push(statement.span);
                if store.component == taken.component {
                    stored.values.push(store.value(shader)?);
                    let is_other = |value: &&Expr| shader.components(&value.uncast().ty) != width;
                    stored.is_of_another_width |= store.values.iter().any(is_other);
                    stored.indices.push(store.index);
                    stored.first.get_or_insert(statement.span.start);
                }
            } else if stored.count > 0 && is_removable(statement)
                || is_dead(around.function, rewrite, found, statement)
            {
                stored.gone.push(statement.span);
            }
        }
        Some(stored)
    }
}

/// The reads of the array behind a ladder.
pub(super) struct ReadBehind {
    /// Each read of a result: its place, and the result's number.
    pub reads: Vec<(Span, usize)>,
    /// How many of these are outside of the last step of the ladder.
    pub outright: usize,
    /// Statements of the last step that go.
    pub removed: Vec<Span>,
    /// As in [`SoleUse`].
    pub takes_call: bool,
}

impl ReadBehind {
    /// `None` where a read is of anything but a result.
    pub fn of(
        shader: &Shader,
        around: &Around<'_>,
        rewrite: &Rewrite,
        stored: &StoredBefore,
        left: ResultsIn<'_>,
    ) -> Option<ReadBehind> {
        let mut reads = Vec::new();
        let next_store = around.next_store.iter();
        let next_store = next_store.flat_map(|store| store.condition.iter().chain(&store.values));
        let parts = expressions(around.behind).chain(next_store.flat_map(|value| value.descendants()));
        let is_bare = !matches!(left, ResultsIn::OwnElement(component) if !component.is_empty());
        for part in parts.filter(|part| !is_of_last_step(rewrite, part)) {
            let Some((index, component)) = place(shader, part, around.array) else {
                continue;
            };
            if component.is_empty() != is_bare {
                continue;
            }
            let mut indices = stored.indices.iter();
            let result = match left {
                ResultsIn::OwnElement(own) => indices.position(|known| {
                    component == own
                        && (*known == index || around.is_of_one_thread(shader, part, &index, known))
                })?,
                ResultsIn::Cell(cell) => {
                    (index.trim_end_matches(['u', 'U']) == cell.to_string()).then_some(0)?
                }
                ResultsIn::Variables => return None,
            };
            reads.push((part.span, result));
        }
        let outright = reads.len();
        let mut removed = Vec::new();
        for step in rewrite.last_step.iter().flat_map(|step| &step.edits) {
            match step {
                StepEdit::ReadTotal(total) => reads.push((in_parentheses(shader, *total), 0)),
                StepEdit::Remove(statement) => removed.push(*statement),
            }
        }
        let next = { around.behind.iter() }.find(|statement| !is_removable(statement));
        let takes_call =
            matches!(reads.as_slice(), [(read, _)] if next.is_some_and(|next| is_all_of(next, *read)));
        Some(ReadBehind {
            reads,
            outright,
            removed,
            takes_call,
        })
    }
}

fn is_array(part: &Expr, array: GlobalId) -> bool {
    matches!(part.kind, ExprKind::Global(of) if of == array)
}

/// Whether an expression is in the ladder's last step, where this stays in the text.
fn is_of_last_step(rewrite: &Rewrite, part: &Expr) -> bool {
    let mut steps = rewrite.last_step.iter().flat_map(|step| &step.edits);
    steps.any(|step| step.span().start <= part.span.start && part.span.end <= step.span().end)
}

/// Whether a statement is a barrier that a form may do without.
fn is_removable(statement: &Stmt) -> bool {
    group_barrier(statement) == Some(Intrinsic::GroupMemoryBarrierWithGroupSync)
}

/// Whether a declaration declares one array, outside of any namespace.
fn is_declared_alone(shader: &Shader, array: &Global) -> bool {
    let shares_declaration = shader.globals.iter().filter(|other| other.span == array.span);
    !array.name.contains("::") && shares_declaration.count() == 1
}

/// The block that contains the statements of `span`, and which of its statements they are.
fn list_with(body: &[Stmt], span: Span) -> Option<(&[Stmt], usize, usize)> {
    let blocks = statements(body).filter_map(|statement| match &statement.kind {
        StmtKind::Block(list) => Some(list.as_slice()),
        _ => None,
    });
    std::iter::once(body).chain(blocks).find_map(|list| {
        let first = list
            .iter()
            .position(|statement| statement.span.start == span.start)?;
        let last = list
            .iter()
            .rposition(|statement| statement.span.end == span.end)?;
        (first <= last).then_some((list, first, last))
    })
}

/// Whether an expression is the whole value of a declaration or a `return`.
fn is_all_of(statement: &Stmt, expr: Span) -> bool {
    match &statement.kind {
        StmtKind::Declare {
            init: Some(value), ..
        }
        | StmtKind::Return(Some(value)) => value.uncast().span == expr,
        _ => false,
    }
}

/// Whether a statement declares a single variable, which only the ladder uses, with a constant.
fn is_dead(function: &Function, rewrite: &Rewrite, found: &Collective, statement: &Stmt) -> bool {
    let StmtKind::Declare { local, .. } = &statement.kind else {
        return false;
    };
    let uses = uses_of(function, *local);
    let is_left = |of: &LocalId| of == local;
    let settled = rewrite.live_values.iter().map(|(local, _)| local);
    let mut left = settled.chain(rewrite.further_results.iter().map(|(local, _)| local));
    declares_constant(function, statement)
        && !uses.is_empty()
        && { uses.iter() }.all(|of| found.span.start <= of.start && of.end <= found.span.end)
        && !left.any(is_left)
}

/// Whether a statement declares a single variable, with a constant.
fn declares_constant(function: &Function, statement: &Stmt) -> bool {
    let StmtKind::Declare { init, .. } = &statement.kind else {
        return false;
    };
    let body = function.body.as_deref().unwrap_or_default();
    let is_constant = init
        .as_ref()
        .is_none_or(|init| matches!(init.uncast().kind, ExprKind::Literal(_)));
    let shares_span = |other: &&Stmt| {
        matches!(other.kind, StmtKind::Declare { .. })
            && other.span.start < statement.span.end
            && statement.span.start < other.span.end
    };
    is_constant && statements(body).filter(shares_span).count() == 1
}
