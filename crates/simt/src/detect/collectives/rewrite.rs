//! What code in a construct's place can use, and what it has to leave.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Direction, ExprKind, Function, GlobalId, LocalId, Method, Scalar, Span, Stmt, StmtKind, Type, expressions,
};

use crate::detect::Detectors;
use crate::detect::collectives::executed::Executed;
use crate::detect::collectives::partial_results::Watch;
use crate::detect::collectives::result_merging::vector_width;
use crate::exec::Machine;
use crate::exec::control::root;
use crate::exec::memory::Shared;
use crate::facts::effects::{Effects, EffectsCache};
use crate::facts::stable::Stable;
use crate::finding::{Beside, Elements, FinalValue, LastStep, Obstacle, Rewrite, StepEdit, Stored};
use crate::terms::column::Column;
use crate::terms::value::Value;

/// The results of a construct.
pub(crate) struct Results<'r> {
    pub output: &'r Elements,
    /// Other places that hold the same result.
    pub also: Vec<Elements>,
    /// Further results.
    pub beside: &'r [Beside],
    /// All elements of a scan combined; `None` for a reduction.
    pub total: Option<&'r Value>,
}

impl Machine<'_, Detectors> {
    /// What code in the place of the statements needs to know. The statements with the effects `last` have run
    /// since.
    pub fn rewrite(
        &mut self,
        watch: &Watch,
        ran: Executed<'_>,
        results: Results<'_>,
        last: &[Effects],
    ) -> Result<Rewrite, Obstacle> {
        let Results {
            output,
            mut also,
            beside,
            total,
        } = results;
        let (effects, span) = (&Effects::of_all(ran.effects), ran.span());
        let mut written = Effects::of_all(last).written;
        written.extend(&effects.written);
        // A scan is rewritten for one result at a time.
        let beside = if total.is_none() { beside } else { &[] };
        let stored = self.stored(watch, ran, effects, total)?;
        let function = self.function().ok_or(Obstacle::Unfollowed)?;
        let body = function.body.as_deref().unwrap_or_default();
        let outside = self.effects.of_statements_outside(self.shader, body, span);
        let used_outside: BTreeSet<LocalId> = outside.read.union(&outside.written).copied().collect();
        let after = self.effects.of_statements_after(self.shader, body, span);
        let is_handed_out = |local: &LocalId| {
            let mut parameters = function.parameters.iter();
            parameters.any(|parameter| parameter.local == *local && parameter.direction != Direction::In)
        };
        // A variable need not be left if nothing reads it any more, except in another build.
        let is_read = |local: &LocalId| after.read.contains(local) || after.opaque || is_handed_out(local);
        let mut declared = effects.declared.iter();
        if let Some(local) = declared.find(|local| used_outside.contains(local)) {
            return Err(Obstacle::Declares(*local));
        }
        // The new code cannot write to a variable that the construct itself declares.
        if let Elements::Register { local, .. } | Elements::OneRegister { local, .. } = output
            && effects.declared.contains(local)
        {
            return Err(Obstacle::NoPlace);
        }
        if matches!(output, Elements::Expression { .. }) {
            return Err(Obstacle::NoPlace);
        }
        let (mut live_values, mut dead_variables, mut further_results) = (Vec::new(), Vec::new(), Vec::new());
        for local in effects.written.difference(&effects.declared) {
            let is_in = |elements: &Elements| match elements {
                Elements::Register {
                    local: own,
                    component: None,
                }
                | Elements::OneRegister {
                    local: own,
                    component: None,
                    ..
                } => own == local,
                _ => false,
            };
            if !used_outside.contains(local) || is_in(output) {
                continue;
            }
            let is_own = also.iter().any(is_in);
            let mut others = beside.iter();
            let other = others.position(|other| other.also.iter().any(is_in));
            let left = match (is_own, other, self.value_left(*local)) {
                (true, ..) => FinalValue::Result(None),
                (_, Some(other), _) => FinalValue::Result(Some(other)),
                (_, None, Some(number)) => FinalValue::Number(number),
                (_, None, None) => FinalValue::Other,
            };
            if !is_read(local) {
                also.retain(|place| !is_in(place));
                dead_variables.push((*local, left));
                continue;
            }
            match left {
                FinalValue::Result(None) => {}
                FinalValue::Result(Some(other)) => further_results.push((*local, other)),
                FinalValue::Number(number) => live_values.push((*local, number)),
                FinalValue::Other => return Err(Obstacle::Leaves(*local)),
            }
        }
        let (lane, row) = self.lane_and_row(function, span, &written)?;
        Ok(Rewrite {
            last_step: None,
            lane,
            row,
            live_values,
            dead_variables,
            further_results,
            other_places: also,
            stored,
            ends_with_barrier: watch.settled,
        })
    }

    /// Expressions in scope at `span` that hold a thread's number in the group; or its place in a row, and the
    /// row. None of them uses a variable in `written`, which the construct changes.
    fn lane_and_row(
        &mut self,
        function: &Function,
        span: Span,
        written: &BTreeSet<LocalId>,
    ) -> Result<(String, Option<String>), Obstacle> {
        let mut scope = Vec::new();
        scope.extend(function.parameters.iter().map(|parameter| parameter.local));
        in_scope(function.body.as_deref().unwrap_or_default(), span, &mut scope);
        // A later declaration shadows an earlier one of the same name.
        let visible = scope.iter().enumerate().filter(|(index, local)| {
            let name = |local: &LocalId| function.locals.get(local.0 as usize).map(|l| &l.name);
            !scope[index + 1..].iter().any(|later| name(later) == name(local))
        });
        // The value at the end of the run need not be the one at the construct.
        let visible = visible.filter(|(_, local)| !written.contains(local));
        // An unstable variable may hold the number only in this execution, as in the first iteration of a loop.
        // Prefer stable ones.
        let stable = Stable::of(self.shader, function, &mut EffectsCache::default()).locals;
        let holding = |wanted: &dyn Fn(u32) -> u32| {
            let held = visible.clone().filter_map(|(_, local)| {
                let expression = self.index_expression(*local, wanted)?;
                Some((!stable.contains(local), expression.len(), expression))
            });
            held.min().map(|(.., expression)| expression)
        };
        let [width, height, depth] = self.group;
        let has_rows = width > 1 && height > 1 && depth == 1;
        match holding(&|thread| thread) {
            Some(lane) => Ok((lane, None)),
            None if has_rows => {
                let place = holding(&|thread| thread % width).ok_or(Obstacle::NoIndex)?;
                let row = holding(&|thread| thread / width).ok_or(Obstacle::NoIndex)?;
                Ok((place, Some(row)))
            }
            None => Err(Obstacle::NoIndex),
        }
    }

    /// What code in the place of a reduction needs to know if it ends before the last step. That step stays
    /// where it is and reads the total instead of computing it. The proof of the replacement checks that the
    /// remaining statements read no other partial results.
    pub fn rewrite_before_last_step(
        &mut self,
        watch: &Watch,
        ran: Executed<'_>,
        input: &Elements,
        output: &Elements,
        totals: &[Value],
    ) -> Option<Rewrite> {
        let &Elements::Array {
            global,
            offset,
            component,
            axis,
        } = input
        else {
            return None;
        };
        let makes_steps = |effects: &Effects| effects.barrier || !effects.shared_written.is_empty();
        let (_, earlier) = ran.effects.split_last()?;
        let (before, last) = ran.split_at(earlier.iter().rposition(makes_steps)? + 1)?;
        let cell = Elements::Cell {
            global,
            index: offset,
            component,
            axis,
        };
        // A variable that must hold the total as well, and the edits of the last step.
        let (also, changes) = match output {
            Elements::Cell { .. } if *output != cell => return None,
            Elements::Cell { .. } => {
                let stores = |effects: &Effects| effects.shared_written.contains(&global);
                let store = self.only_writer(last.statements, &stores)?;
                (None, vec![StepEdit::Remove(store)])
            }
            Elements::OneRegister {
                local,
                component: None,
                ..
            }
            | Elements::Register {
                local,
                component: None,
            } => match self.total_expressions(watch, last.span(), totals) {
                reads if reads.is_empty() => {
                    let gives = |effects: &Effects| effects.written.contains(local);
                    let goes = StepEdit::Remove(self.only_writer(last.statements, &gives)?);
                    match initial_value(last.statements, *local) {
                        Some(value) => (None, vec![StepEdit::ReadTotal(value), goes]),
                        None => (Some(*local), vec![goes]),
                    }
                }
                reads => (None, reads),
            },
            _ => (None, self.total_expressions(watch, last.span(), totals)),
        };
        if changes.is_empty() {
            return None;
        }
        // The values of other variables before the last step are no longer known.
        let (of_before, of_last) = (Effects::of_all(before.effects), Effects::of_all(last.effects));
        let mut shared = of_before.written.intersection(&of_last.written);
        let is_declared = |local: LocalId| of_last.declared.contains(&local);
        if shared.any(|local| Some(*local) != also) || also.is_some_and(is_declared) {
            return None;
        }
        let also = also.into_iter().map(|local| Elements::Register {
            local,
            component: None,
        });
        let results = Results {
            output: &cell,
            also: also.collect(),
            beside: &[],
            total: None,
        };
        let rewrite = self.rewrite(watch, before, results, last.effects).ok()?;
        Some(Rewrite {
            last_step: Some(LastStep {
                before: before.span(),
                edits: changes,
                cell,
            }),
            ends_with_barrier: false,
            ..rewrite
        })
    }

    /// The span of the only loop or expression statement, except declarations, whose effects satisfy `writes`;
    /// searches nested blocks. Returns the whole `if` if it guards nothing else, or only stores to one array.
    fn only_writer(&mut self, statements: &[Stmt], writes: &dyn Fn(&Effects) -> bool) -> Option<Span> {
        let mut writers = statements.iter().filter(|statement| {
            let effects = self
                .effects
                .of_statements(self.shader, std::slice::from_ref(statement));
            !matches!(statement.kind, StmtKind::Declare { .. }) && writes(&effects)
        });
        let (writer, None) = (writers.next()?, writers.next()) else {
            return None;
        };
        match &writer.kind {
            StmtKind::Block(body) => self.only_writer(body, writes),
            StmtKind::If {
                condition,
                then,
                otherwise: None,
            } => {
                let then_effects = self
                    .effects
                    .of_statements(self.shader, std::slice::from_ref(then));
                if then_effects.only_stores_in_one_array()
                    && !self.effects.has_side_effects(self.shader, condition)
                {
                    return Some(writer.span);
                }
                let inner = self.only_writer(std::slice::from_ref(then), writes)?;
                let (is_all, has_braces) = match &then.kind {
                    StmtKind::Block(body) => (matches!(&body[..], [only] if only.span == inner), true),
                    _ => (then.span == inner, false),
                };
                if is_all && !self.effects.has_side_effects(self.shader, condition) {
                    Some(writer.span)
                } else {
                    (has_braces || !is_all).then_some(inner)
                }
            }
            StmtKind::Expr(_) | StmtKind::Loop(_) => Some(writer.span),
            _ => None,
        }
    }

    /// The statements within `span` that store the total of the construct's elements: in device memory, or in a
    /// groupshared scalar. Fails unless the statements change nothing else but the construct's arrays and
    /// variables, so that other code can take their place.
    fn stored(
        &self,
        watch: &Watch,
        ran: Executed<'_>,
        effects: &Effects,
        total: Option<&Value>,
    ) -> Result<Vec<Stored>, Obstacle> {
        let span = ran.span();
        let is_total = |value: &Value| Some(value) == total;
        let given =
            |array: &Shared| matches!(array.cells(), [cell] if is_total(cell)).then_some(array.global);
        let shared: BTreeSet<GlobalId> = self.state.shared.iter().filter_map(given).collect();
        let body = self.function().and_then(|function| function.body.as_deref());
        let (mut stored, mut on_device) = (Vec::new(), 0);
        for expr in expressions(body.unwrap_or_default()) {
            let (place, value) = match &expr.kind {
                ExprKind::Assign {
                    target,
                    op: None,
                    value,
                } => (root(target), value.span),
                ExprKind::Method {
                    object,
                    method: Method::Store { words: 1 },
                    arguments,
                } => match arguments.as_slice() {
                    [_, value] => (root(object), value.span),
                    _ => continue,
                },
                _ => continue,
            };
            let is_within = span.start <= expr.span.start && expr.span.end <= span.end;
            if let ExprKind::Global(global) = place.kind
                && is_within
            {
                let is_on_device = effects.device_written.contains(&global);
                on_device += u32::from(is_on_device);
                if is_on_device || shared.contains(&global) {
                    stored.push(Stored {
                        whole: expr.span,
                        value,
                    });
                }
            }
        }
        let writes = self.state.writes.get(watch.writes_before..).unwrap_or_default();
        let are_totals = writes.iter().all(|write| is_total(&write.value));
        let device_written = effects
            .device_written
            .iter()
            .filter(|_| !are_totals || on_device == 0);
        let mut otherwise = device_written.chain(&effects.statics);
        if let Some(global) = otherwise.next() {
            Err(Obstacle::Writes(*global))
        } else if effects.leaves {
            Err(Obstacle::MayLeave)
        } else if effects.opaque {
            Err(Obstacle::Unfollowed)
        } else if effects.handle_written {
            Err(Obstacle::WritesHandle)
        } else if ran.events.last().copied().unwrap_or(self.state.events) - watch.events_before != on_device {
            Err(Obstacle::SharesMemory)
        } else {
            Ok(stored)
        }
    }

    /// The outermost expressions within `span` that evaluated to the total: to all of its components, if it is a
    /// vector.
    fn total_expressions(&self, watch: &Watch, span: Span, totals: &[Value]) -> Vec<StepEdit> {
        let holds = |outer: Span, inner: Span| outer.start <= inner.start && inner.end <= outer.end;
        let is_noticed = |own: Span, number: usize, total: &Value| {
            watch.noticed.iter().any(|(place, _, value)| {
                let is_here = matches!(place, Elements::Expression { span: other, .. } if *other == own);
                let is_component = totals.len() == 1 || place.component().map(usize::from) == Some(number);
                is_here && is_component && value == total
            })
        };
        let spans = watch.noticed.iter().filter_map(|(place, ..)| match place {
            Elements::Expression { span: own, .. } if holds(span, *own) => Some((*own, place)),
            _ => None,
        });
        let is_total = |(own, place): &(Span, &Elements)| {
            let width = || vector_width(self.shader, self.state.frame.function, place);
            (totals.len() == 1 || width().map(usize::from) == Some(totals.len()))
                && totals
                    .iter()
                    .enumerate()
                    .all(|(number, total)| is_noticed(*own, number, total))
        };
        let spans: BTreeSet<Span> = spans.filter(is_total).map(|(own, _)| own).collect();
        let is_outermost = |own: &&Span| !spans.iter().any(|other| other != *own && holds(*other, **own));
        spans
            .iter()
            .filter(is_outermost)
            .map(|own| StepEdit::ReadTotal(*own))
            .collect()
    }

    /// The number that a variable holds in all threads now, as HLSL text.
    fn value_left(&self, local: LocalId) -> Option<String> {
        let variable = self.function()?.locals.get(local.0 as usize)?;
        let Type::Scalar(scalar) = variable.ty else {
            return None;
        };
        let columns = self.state.frame.locals.get(local.0 as usize)?;
        literal(scalar, columns.first()?.uniform(self.all)?.known()?)
    }

    /// HLSL text that reads each thread's `wanted` number from this variable, if it holds that.
    fn index_expression(&self, local: LocalId, wanted: &dyn Fn(u32) -> u32) -> Option<String> {
        let variable = self.function()?.locals.get(local.0 as usize)?;
        let columns = self.state.frame.locals.get(local.0 as usize)?;
        let component = columns.iter().position(|column| match column {
            Column::Lanes(values) => (0u32..)
                .zip(values.iter())
                .all(|(thread, value)| *value == Value::Known(wanted(thread))),
            Column::Uniform(value) => self.lanes == 1 && *value == Value::Known(0),
        })?;
        let mut path = variable.name.clone();
        let mut ty = &variable.ty;
        let mut component = component;
        loop {
            match ty {
                Type::Scalar(Scalar::Uint) => return Some(path),
                // The wave form compares and divides the index: keep it unsigned.
                Type::Scalar(Scalar::Int) => return Some(format!("uint({path})")),
                Type::Vector(scalar, _) => {
                    path.push('.');
                    path.push(char::from(*b"xyzw".get(component)?));
                    return Some(if *scalar == Scalar::Uint {
                        path
                    } else {
                        format!("uint({path})")
                    });
                }
                Type::Struct(id) => {
                    let field = self
                        .shader
                        .structs
                        .get(id.0 as usize)?
                        .fields
                        .iter()
                        .find(|field| {
                            let count = self.shader.components(&field.ty);
                            let here = component < count;
                            if !here {
                                component -= count;
                            }
                            here
                        })?;
                    path.push_str(&field.selector());
                    ty = &field.ty;
                }
                _ => return None,
            }
        }
    }
}

/// The initial value of this variable's declaration in these statements or nested blocks.
fn initial_value(statements: &[Stmt], wanted: LocalId) -> Option<Span> {
    statements.iter().find_map(|statement| match &statement.kind {
        StmtKind::Declare { local, init } if *local == wanted => init.as_ref().map(|init| init.span),
        StmtKind::Block(body) => initial_value(body, wanted),
        StmtKind::If { then, .. } => initial_value(std::slice::from_ref(then), wanted),
        _ => None,
    })
}

/// A word as an HLSL literal of this type.
fn literal(scalar: Scalar, word: u32) -> Option<String> {
    match scalar {
        Scalar::Uint => Some(format!("{word}u")),
        Scalar::Int => Some(word.cast_signed().to_string()),
        Scalar::Bool => Some((word != 0).to_string()),
        _ => None,
    }
}

/// The variables declared before `span` in the blocks around it.
fn in_scope(statements: &[Stmt], span: Span, scope: &mut Vec<LocalId>) {
    for statement in statements {
        if statement.span.start >= span.start {
            return;
        }
        let around = statement.span.end >= span.end;
        match &statement.kind {
            StmtKind::Declare { local, .. } => scope.push(*local),
            StmtKind::Block(body) if around => in_scope(body, span, scope),
            StmtKind::If { then, otherwise, .. } if around => {
                for arm in std::iter::once(then).chain(otherwise) {
                    if arm.span.start <= span.start && arm.span.end >= span.end {
                        in_scope(std::slice::from_ref(arm), span, scope);
                    }
                }
            }
            StmtKind::Loop(l) if around => {
                in_scope(&l.init, span, scope);
                in_scope(std::slice::from_ref(&l.body), span, scope);
            }
            StmtKind::Switch { cases, .. } if around => {
                for case in cases {
                    in_scope(&case.body, span, scope);
                }
            }
            _ => {}
        }
    }
}
