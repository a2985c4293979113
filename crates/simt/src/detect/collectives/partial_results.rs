//! Watches a running candidate: how far partial results grow, and which of them may be kept.

use std::borrow::Cow;
use std::collections::BTreeSet;

use shaderlint_hlsl::{Expr, LocalId, Scalar, Span, Type};

use crate::detect::Detectors;
use crate::detect::collectives::atoms::Layouts;
use crate::detect::collectives::pattern;
use crate::exec::Machine;
use crate::facts::layout::{Layout, MAX_WIDTH};
use crate::finding::Elements;
use crate::terms::column::Column;
use crate::terms::packed16::Half;
use crate::terms::value::Value;

/// Values that may hold results, with their place and type.
pub(crate) type Row<'r> = (Elements, Scalar, Cow<'r, [Value]>);

pub(crate) struct Watch {
    pub depth: u32,
    /// The number of loops around the candidate in its function.
    pub loops: usize,
    /// The number of stores to resources before the candidate.
    pub writes_before: usize,
    /// The number of events before the candidate in which another thread or the device could take part.
    pub events_before: u32,
    /// The first of the candidate's atoms.
    pub first: u32,
    pub layouts: Layouts,
    /// Variables and the scalar types of their components.
    pub registers: Vec<(LocalId, Vec<Scalar>)>,
    /// The growing numbers of elements in the largest partial results.
    pub widths: Vec<u32>,
    /// The growing widths of windows: x(i-w+1) ⊕ … ⊕ x(i) in thread i's element.
    pub windows: Vec<u32>,
    /// Values given to variables that may be a total, also to variables of blocks inside the candidate.
    pub noticed: Vec<(Elements, Scalar, Value)>,
    /// The most elements that a partial result combined before there was a scan.
    pub before_scan: u32,
    pub barriers: u32,
    pub barrier_spans: Vec<Span>,
    /// A barrier or fence ordered device memory.
    pub orders_device: bool,
    /// No groupshared access since the last barrier.
    pub settled: bool,
}

impl Machine<'_, Detectors> {
    /// A watch for a candidate that touches arrays of these layouts and writes these variables.
    pub fn watch(&self, layouts: &Layouts, written: &BTreeSet<LocalId>) -> Option<Watch> {
        let function = self.function()?;
        let registers = written.iter().filter_map(|id| {
            let layout = Layout::of(self.shader, &function.locals.get(id.0 as usize)?.ty, 0)?;
            // In an array, every element is a component.
            let copies = self.state.frame.locals.get(id.0 as usize)?.len() / layout.width().max(1);
            (copies * layout.width() <= MAX_WIDTH).then(|| (*id, layout.scalars.repeat(copies)))
        });
        Some(Watch {
            depth: self.state.frame.depth,
            loops: self.state.frame.loops.len(),
            writes_before: self.state.writes.len(),
            events_before: self.state.events,
            first: 0,
            registers: registers.collect(),
            layouts: layouts.clone(),
            widths: Vec::new(),
            windows: Vec::new(),
            noticed: Vec::new(),
            before_scan: 0,
            barriers: 0,
            barrier_spans: Vec::new(),
            orders_device: false,
            settled: false,
        })
    }

    /// The rows of values that may hold results: one component of an array's elements, or a variable of all
    /// threads.
    pub fn rows(&self, watch: &Watch) -> Vec<Row<'_>> {
        let mut rows = Vec::new();
        for array in &self.state.shared {
            let Some(layout) = watch.layouts.array(array.global) else {
                continue;
            };
            let cells = array.cells();
            let count = cells.len() / layout.width().max(1);
            for (component, scalar) in layout.scalars.iter().enumerate() {
                let place = Elements::Array {
                    global: array.global,
                    offset: 0,
                    component: watch.layouts.component(array.global, component),
                    axis: layout.axis,
                };
                let row = if layout.width() == 1 && layout.axis == 0 {
                    Cow::from(cells)
                } else {
                    let ranks = (0..count).filter_map(|rank| cells.get(layout.cell(rank, component)));
                    ranks.cloned().collect()
                };
                rows.push((place, *scalar, row));
            }
        }
        if watch.depth == self.state.frame.depth {
            for (id, scalars) in &watch.registers {
                let columns = self.state.frame.locals.get(id.0 as usize);
                for (component, (column, scalar)) in columns.into_iter().flatten().zip(scalars).enumerate() {
                    let row = match column {
                        Column::Lanes(values) => Cow::from(&**values),
                        Column::Uniform(value) => Cow::from(std::slice::from_ref(value)),
                    };
                    let place = Elements::Register {
                        local: *id,
                        component: (scalars.len() > 1).then_some(component as u8),
                    };
                    rows.push((place, *scalar, row));
                }
            }
        }
        rows
    }

    /// The rows, with each value replaced by the sum of inputs whose half equals this half of the value.
    pub fn rows_in_half(&mut self, watch: &Watch, half: Half) -> Vec<(Elements, Scalar, Vec<Value>)> {
        let rows = self.rows(watch).into_iter();
        let of_words = rows.filter(|(_, scalar, _)| matches!(scalar, Scalar::Int | Scalar::Uint));
        let mut rows: Vec<(Elements, Scalar, Vec<Value>)> = of_words
            .map(|(place, scalar, row)| (place, scalar, row.into_owned()))
            .collect();
        for value in rows.iter_mut().flat_map(|(.., row)| row) {
            // Neither an element nor an identity, so part of no scan.
            let none = Value::Known(1);
            *value = self.terms.sum_in_half(half, value).unwrap_or(none);
        }
        rows
    }

    /// A variable is declared with a value or combined with one, perhaps the total of the last partial results.
    pub fn notice(&mut self, local: LocalId, value: &[Column]) {
        let variable = self
            .function()
            .and_then(|function| function.locals.get(local.0 as usize));
        let Some(ty) = variable.map(|variable| &variable.ty) else {
            return;
        };
        self.notice_at(ty, value, |component, thread| Elements::OneRegister {
            local,
            component,
            thread,
        });
    }

    /// A variable gets another value, so what was noticed for it is void.
    pub fn forget_noticed(&mut self, local: LocalId) {
        if let Some(watch) = self.observer.prober.watch.as_mut() {
            watch.noticed.retain(
                |(place, ..)| !matches!(place, Elements::OneRegister { local: other, .. } if *other == local),
            );
        }
    }

    /// Notices the value of an expression, which may be used without a variable, e.g. in a store to a resource.
    /// Skips loops inside the candidate, where the value differs by iteration.
    pub fn notice_expression(&mut self, expr: &Expr, value: &[Column]) {
        let loops = self.state.frame.loops.len();
        let watch = self.observer.prober.watch.as_ref();
        if watch.is_some_and(|watch| watch.loops < loops) {
            return;
        }
        self.notice_at(&expr.ty, value, |component, thread| Elements::Expression {
            span: expr.span,
            component,
            thread,
        });
    }

    fn notice_at(&mut self, ty: &Type, value: &[Column], place: impl Fn(Option<u8>, u32) -> Elements) {
        let Some(watch) = self.observer.prober.watch.as_mut() else {
            return;
        };
        let (Some(scalar), true) = (ty.scalar(), watch.depth == self.state.frame.depth) else {
            return;
        };
        let first = self.state.active.threads().next().unwrap_or(0);
        for (component, column) in value.iter().enumerate() {
            let value = column.at(first);
            if value.atom_count() as usize >= self.lanes.min(pattern::LEAST as usize) {
                let component = (value_count(ty) > 1).then_some(component as u8);
                watch
                    .noticed
                    .push((place(component, first as u32), scalar, value.clone()));
            }
        }
    }

    /// Records how far partial results have grown.
    pub fn observe_partial_results(&mut self) {
        let Some(mut watch) = self.observer.prober.watch.take() else {
            return;
        };
        let halved = self.terms.has_halves(watch.first).then(|| {
            let mut rows = self.rows_in_half(&watch, Half::High);
            rows.extend(self.rows_in_half(&watch, Half::Low));
            rows
        });
        let rows = match &halved {
            Some(rows) => borrowed(rows),
            None => self.rows(&watch),
        };
        let values = rows.iter().flat_map(|(_, _, row)| row.iter());
        let widest = values.map(Value::atom_count).max().unwrap_or(0);
        if widest > watch.widths.last().copied().unwrap_or(1) {
            watch.widths.push(widest);
            let has_scan = || {
                rows.iter().any(|(place, _, row)| {
                    pattern::scan(row, self.lanes as u32, row_length(&watch, place, row)).is_some()
                })
            };
            if !has_scan() {
                watch.before_scan = widest;
            }
        }
        let chunks = rows.iter().flat_map(|(place, _, row)| {
            let length = row_length(&watch, place, row).clamp(1, self.lanes as u32);
            let chunks = row.chunks_exact(length as usize);
            chunks.chain(std::iter::once(pattern::between_untouched(row)))
        });
        let window = chunks.filter_map(pattern::window).max().unwrap_or(0);
        if window > watch.windows.last().copied().unwrap_or(1) {
            watch.windows.push(window);
        }
        self.observer.prober.watch = Some(watch);
    }
}

/// Rows in the form of [`Machine::rows`].
pub(crate) fn borrowed(rows: &[(Elements, Scalar, Vec<Value>)]) -> Vec<Row<'_>> {
    let rows = rows.iter();
    rows.map(|(place, scalar, row)| (place.clone(), *scalar, Cow::from(row)))
        .collect()
}

/// The number of elements along the axis of the row's place.
pub(crate) fn row_length(watch: &Watch, place: &Elements, row: &[Value]) -> u32 {
    let length = match place {
        Elements::Array { global, .. } => watch.layouts.array(*global).map(Layout::row_length),
        _ => None,
    };
    length.unwrap_or(row.len()) as u32
}

fn value_count(ty: &Type) -> usize {
    match ty {
        Type::Vector(_, count) => usize::from(*count),
        _ => 1,
    }
}
