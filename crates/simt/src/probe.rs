//! Candidates: runs of statements that may be a collective, tried out in the middle of a run.
//!
//! Where a statement touches groupshared memory and a barrier follows in its block, the state is copied, every cell and
//! variable whose value is not known becomes a free atom, and the statements are run. If afterwards some place holds
//! x0 ⊕ … ⊕ xi for every thread i, and nothing raced, the statements *are* a scan of these atoms: for every input, by
//! the argument in [`crate::value`], and in this place of this kernel, since all that stayed known is known there.
//! Two places that hold the same term get the same atom: that only uses that they are equal there.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use shaderlint_hlsl::{FunctionId, GlobalId, LocalId, Scalar, Span, Stmt, Type};

use crate::column::Column;
use crate::effects::Effects;
use crate::finding::{Collective, Elements, Kind, Operator, Shape};
use crate::machine::{Machine, Report, State};
use crate::value::Value;

/// Statements tried as the start of a candidate, per entry point.
const MAX_PROBES: usize = 96;

#[derive(Default)]
pub(crate) struct Prober {
    pub enabled: bool,
    watch: Option<Watch>,
    tried: BTreeSet<(FunctionId, Span)>,
    /// What was found, with the tick at its start.
    found: Vec<(u64, Collective)>,
    /// Statements the run itself has started.
    tick: u64,
}

/// What a block's run leaves for its probing.
#[derive(Default)]
pub(crate) struct Trail {
    /// By statement that was run: the tick at its start.
    ticks: Vec<u64>,
    starts: Vec<Start>,
}

/// A statement that may be a collective's first.
struct Start {
    index: usize,
    state: State,
    /// Of the statement and those after it, as far as all of them could be replaced.
    effects: Vec<Effects>,
}

/// What is seen while a candidate runs.
struct Watch {
    depth: u32,
    arrays: Vec<(GlobalId, Scalar)>,
    registers: Vec<(LocalId, Scalar)>,
    /// Widths of the windows that places held at barriers, growing.
    widths: Vec<u32>,
    barriers: u32,
    barrier_spans: Vec<Span>,
    /// No groupshared access since the last barrier.
    settled: bool,
}

/// A place that elements may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Home {
    Cell(GlobalId),
    Register(LocalId),
}

/// The free atoms of a probe.
struct Atoms {
    first: u32,
    /// By atom: the place it stands for, and which element of it.
    origins: Vec<(Home, u32)>,
}

/// What a row of one value a thread turned out to hold.
struct Scan {
    kind: Kind,
    operator: Operator,
    /// The atom of the first element.
    first: u32,
}

impl Prober {
    pub fn is_probing(&self) -> bool {
        self.watch.is_some()
    }

    pub fn at_barrier(&mut self, span: Span) {
        if let Some(watch) = &mut self.watch {
            watch.barriers += 1;
            watch.settled = true;
            if !watch.barrier_spans.contains(&span) {
                watch.barrier_spans.push(span);
            }
        }
    }

    /// Groupshared memory was touched.
    pub fn accessed(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.settled = false;
        }
    }

    /// The collectives found, in the order in which they run.
    pub fn finish(&mut self) -> Vec<Collective> {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|(tick, _)| *tick);
        found.into_iter().map(|(_, collective)| collective).collect()
    }
}

impl<'a> Machine<'a> {
    /// About to run the statement at `index` of a block: notes what is needed should a construct start there.
    pub fn leave_trail(&mut self, statements: &'a [Stmt], index: usize, trail: &mut Trail) {
        if !self.prober.enabled || self.prober.is_probing() {
            return;
        }
        self.prober.tick += 1;
        trail.ticks.push(self.prober.tick);
        let Some((first, rest)) = statements.get(index..).and_then(<[Stmt]>::split_first) else {
            return;
        };
        let everyone = self.state.active == self.all && self.state.alive == self.all;
        if !everyone || self.state.guard != Column::Uniform(Value::TRUE) {
            return;
        }
        let key = (self.state.frame.function, first.span);
        if self.prober.tried.len() >= MAX_PROBES || self.prober.tried.contains(&key) {
            return;
        }
        let mut of_one = |statement| {
            self.effects
                .of_statements(self.shader, std::slice::from_ref(statement))
        };
        let of_first = of_one(first);
        if !of_first.touches_shared() {
            return;
        }
        let effects: Vec<Effects> = std::iter::once(of_first)
            .chain(rest.iter().map(of_one))
            .take_while(is_replaceable)
            .collect();
        if self.could_be_a_collective(&effects) {
            self.prober.tried.insert(key);
            trail.starts.push(Start {
                index,
                state: self.state.clone(),
                effects,
            });
        }
    }

    /// Tries each start of a block as a collective's, the last first. Of two collectives one of which contains the
    /// other the inner one is wanted: a candidate ends before the statement in which one was found already.
    pub fn probe(&mut self, statements: &'a [Stmt], Trail { ticks, starts }: Trail) {
        if starts.is_empty() {
            return;
        }
        let state = self.state.clone();
        let report = std::mem::take(&mut self.report);
        for start in starts.into_iter().rev() {
            let started = ticks.get(start.index).copied().unwrap_or_default();
            let later = self.prober.found.iter().map(|(tick, _)| *tick);
            let inner = later.filter(|tick| *tick >= started).min();
            let end = inner.map_or(statements.len(), |inner| {
                ticks.partition_point(|tick| *tick <= inner).saturating_sub(1)
            });
            let statements = statements.get(start.index..end).unwrap_or_default();
            let effects = start.effects.get(..statements.len()).unwrap_or(&start.effects);
            if self.could_be_a_collective(effects)
                && let Some(collective) = self.try_start(&statements[..effects.len()], effects, &start.state)
            {
                self.prober.found.push((started, collective));
            }
        }
        self.state = state;
        self.report = report;
    }

    /// An exclusive scan gathers all elements but one.
    fn could_be_a_collective(&self, effects: &[Effects]) -> bool {
        let mut all = Effects::default();
        for of_one in effects {
            all.add(of_one);
        }
        all.barrier && all.could_gather(self.lanes - 1)
    }

    fn try_start(
        &mut self,
        statements: &'a [Stmt],
        effects: &[Effects],
        state: &State,
    ) -> Option<Collective> {
        let mut all = Effects::default();
        for of_one in effects {
            all.add(of_one);
        }
        // Known cells among unknown ones may be padding the ladder relies on, or elements that happen to be known.
        let is_mixed = state
            .shared
            .iter()
            .filter(|array| {
                all.shared_read.contains(&array.global) || all.shared_written.contains(&array.global)
            })
            .any(|array| {
                let known = array.cells().iter().filter(|cell| cell.known().is_some()).count();
                known > 0 && known < array.cells().len()
            });
        let attempts: &[bool] = if is_mixed { &[true, false] } else { &[false] };
        attempts.iter().find_map(|frees_known_cells| {
            self.report = Report::default();
            self.state = state.clone();
            let found = self.try_candidate(statements, effects, &all, *frees_known_cells);
            self.prober.watch = None;
            found
        })
    }

    fn try_candidate(
        &mut self,
        statements: &'a [Stmt],
        effects: &[Effects],
        all: &Effects,
        frees_known_cells: bool,
    ) -> Option<Collective> {
        let touched: BTreeSet<GlobalId> = all.shared_read.union(&all.shared_written).copied().collect();
        let interval = self.state.interval;
        if self
            .state
            .shared
            .iter()
            .any(|array| touched.contains(&array.global) && array.is_blurred(interval))
        {
            return None;
        }
        let atoms = self.free(&touched, all, frees_known_cells);
        let scalar_of = |ty: &Type| ty.scalar().filter(|_| matches!(ty, Type::Scalar(_)));
        let arrays = touched
            .iter()
            .filter_map(|id| match &self.shader.globals.get(id.0 as usize)?.ty {
                Type::Array(element, _) => scalar_of(element).map(|scalar| (*id, scalar)),
                _ => None,
            })
            .collect();
        let function = self.function()?;
        let registers = all
            .written
            .iter()
            .filter_map(|id| Some((*id, scalar_of(&function.locals.get(id.0 as usize)?.ty)?)))
            .collect();
        self.prober.watch = Some(Watch {
            depth: self.state.frame.depth,
            arrays,
            registers,
            widths: Vec::new(),
            barriers: 0,
            barrier_spans: Vec::new(),
            settled: false,
        });
        let entry_events = self.state.events;
        let mut best: Option<Collective> = None;
        let mut so_far = Effects::default();
        for (statement, of_one) in statements.iter().zip(effects) {
            if self.statement(statement).is_err() {
                break;
            }
            so_far.add(of_one);
            let clean = !self.report.unproved
                && self.report.out_of_bounds.is_empty()
                && !self.report.used_waves
                && self.state.events == entry_events
                && self.state.active == self.all;
            if !clean {
                break;
            }
            let changes_nothing = !of_one.touches_shared() && of_one.written.is_empty();
            if !so_far.barrier || changes_nothing {
                continue;
            }
            self.observe_partial_results();
            let Some(collective) = self.classify(&atoms, &so_far, statements[0].span.to(statement.span))
            else {
                continue;
            };
            let news = best
                .as_ref()
                .is_none_or(|known| (known.kind, &known.output) != (collective.kind, &collective.output));
            if news {
                best = Some(collective);
            }
        }
        best
    }

    /// Replaces every value that is not known in the touched arrays and the read variables by an atom; known cells too
    /// if told so.
    fn free(&mut self, touched: &BTreeSet<GlobalId>, effects: &Effects, frees_known_cells: bool) -> Atoms {
        let mut origins: Vec<(Home, u32)> = Vec::new();
        let mut known: FxHashMap<Value, u32> = FxHashMap::default();
        for array in self
            .state
            .shared
            .iter()
            .filter(|array| touched.contains(&array.global))
        {
            for (index, cell) in (0u32..).zip(array.cells()) {
                if frees_known_cells || cell.known().is_none() {
                    known.entry(cell.clone()).or_insert(origins.len() as u32);
                    origins.push((Home::Cell(array.global), index));
                }
            }
        }
        // A variable that differs by thread: its values are atoms, those it shares with a cell the cell's.
        let mut shares: Vec<(LocalId, usize, Vec<Option<u32>>)> = Vec::new();
        for local in effects
            .read
            .iter()
            .chain(&effects.written)
            .collect::<BTreeSet<_>>()
        {
            let columns = self
                .state
                .frame
                .locals
                .get(local.0 as usize)
                .map_or(&[][..], |columns| columns);
            for (component, column) in columns.iter().enumerate() {
                let Column::Lanes(values) = column else {
                    continue;
                };
                if values.iter().any(|value| value.known().is_some()) {
                    continue;
                }
                let shared: Vec<Option<u32>> = values.iter().map(|value| known.get(value).copied()).collect();
                let shared = if shared.iter().all(Option::is_some) {
                    shared
                } else {
                    vec![None; shared.len()]
                };
                shares.push((*local, component, shared));
            }
        }
        let mut registers = Vec::new();
        for (local, component, shared) in &shares {
            let atoms: Vec<u32> = (0u32..)
                .zip(shared)
                .map(|(thread, shared)| {
                    shared.unwrap_or_else(|| {
                        origins.push((Home::Register(*local), thread));
                        origins.len() as u32 - 1
                    })
                })
                .collect();
            registers.push((*local, *component, atoms));
        }
        let first = self.terms.inputs(origins.len() as u32);
        let mut next = first;
        for array in self
            .state
            .shared
            .iter_mut()
            .filter(|array| touched.contains(&array.global))
        {
            for cell in array.cells_mut() {
                if frees_known_cells || cell.known().is_none() {
                    *cell = Value::atom(next);
                    next += 1;
                }
            }
        }
        for (local, component, atoms) in registers {
            if let Some(column) = self.state.frame.locals[local.0 as usize].get_mut(component) {
                *column = Column::Lanes(atoms.into_iter().map(|atom| Value::atom(first + atom)).collect());
            }
        }
        Atoms { first, origins }
    }

    /// Notes how wide the windows are that some place holds: x(i-w+1) ⊕ … ⊕ x(i) in thread i's element.
    pub fn observe_partial_results(&mut self) {
        let Some(watch) = &self.prober.watch else {
            return;
        };
        let lanes = self.lanes;
        let last = watch.widths.last().copied().unwrap_or(1);
        let mut widest = last;
        for (id, _) in &watch.arrays {
            let Some(array) = self.state.shared.iter().find(|array| array.global == *id) else {
                continue;
            };
            for row in array.cells().chunks_exact(lanes) {
                widest = widest.max(window(row).unwrap_or(0));
            }
        }
        if watch.depth == self.state.frame.depth {
            for (id, _) in &watch.registers {
                if let Some(Column::Lanes(values)) = self
                    .state
                    .frame
                    .locals
                    .get(id.0 as usize)
                    .and_then(|columns| columns.first())
                {
                    widest = widest.max(window(values).unwrap_or(0));
                }
            }
        }
        if widest > last
            && let Some(watch) = &mut self.prober.watch
        {
            watch.widths.push(widest);
        }
    }

    /// What the places hold after the candidate's statements, if one of them holds a scan.
    fn classify(&mut self, atoms: &Atoms, effects: &Effects, span: Span) -> Option<Collective> {
        let watch = self.prober.watch.as_ref()?;
        let lanes = self.lanes;
        let mut results: Vec<(Elements, Scalar, Scan)> = Vec::new();
        for (id, scalar) in &watch.arrays {
            let array = self.state.shared.iter().find(|array| array.global == *id)?;
            let cells = array.cells();
            for offset in 0..(cells.len() + 1).saturating_sub(lanes) {
                if let Some(scan) = scan_in(&cells[offset..offset + lanes])
                    && scan.operator.is_on(*scalar)
                {
                    results.push((
                        Elements::Array {
                            global: *id,
                            offset: offset as u32,
                        },
                        *scalar,
                        scan,
                    ));
                }
            }
        }
        for (id, scalar) in &watch.registers {
            if effects.declared.contains(id) {
                continue;
            }
            if let Some(Column::Lanes(values)) = self
                .state
                .frame
                .locals
                .get(id.0 as usize)
                .and_then(|columns| columns.first())
                && let Some(scan) = scan_in(values)
                && scan.operator.is_on(*scalar)
            {
                results.push((Elements::Register { local: *id }, *scalar, scan));
            }
        }
        // Where elements and padding before them both hold a scan, the elements' own place is meant.
        let in_place = |(elements, _, scan): &&(Elements, Scalar, Scan)| {
            atoms.elements(scan.first, lanes).as_ref() == Some(elements)
        };
        let (output, element, scan) = results.iter().find(in_place).or(results.first())?;
        let input = atoms.elements(scan.first, lanes)?;
        let widths: Vec<u32> = watch.widths.iter().copied().filter(|width| *width > 1).collect();
        let doubling = (1u32..)
            .zip(&widths)
            .all(|(round, width)| *width == (1 << round.min(31)).min(lanes as u32))
            && widths.last() == Some(&(lanes as u32));
        let also = results
            .iter()
            .filter(|(elements, _, other)| {
                elements != output && other.kind == scan.kind && other.first == scan.first
            })
            .map(|(elements, ..)| elements.clone())
            .collect();
        let mut collective = Collective {
            kind: scan.kind,
            operator: scan.operator,
            element: *element,
            input,
            rewrite: None,
            output: output.clone(),
            lanes: lanes as u32,
            shape: if doubling { Shape::Doubling } else { Shape::Other },
            rounds: widths.len() as u32,
            barriers: watch.barriers,
            barrier_spans: watch.barrier_spans.clone(),
            arrays: effects
                .shared_read
                .union(&effects.shared_written)
                .copied()
                .collect(),
            span,
            function: self.state.frame.function,
        };
        let settled = watch.settled;
        collective.rewrite = self.rewrite(effects, &collective.output, also, span, settled);
        Some(collective)
    }
}

impl Atoms {
    /// The place whose elements are `lanes` consecutive atoms from `first` on.
    fn elements(&self, first: u32, lanes: usize) -> Option<Elements> {
        let start = first.checked_sub(self.first)? as usize;
        let origins = self.origins.get(start..start + lanes)?;
        let (home, offset) = *origins.first()?;
        if !(offset..)
            .zip(origins)
            .all(|(index, origin)| *origin == (home, index))
        {
            return None;
        }
        match home {
            Home::Cell(global) => Some(Elements::Array { global, offset }),
            Home::Register(local) => (offset == 0).then_some(Elements::Register { local }),
        }
    }
}

/// Whether statements change nothing but groupshared memory and variables, so that other code can take their place.
fn is_replaceable(effects: &Effects) -> bool {
    effects.device_written.is_empty() && effects.statics.is_empty() && !effects.leaves && !effects.opaque
}

/// A run of atoms: operator (`None` for a single atom), first, one past the last.
fn run(value: &Value) -> Option<(Option<Operator>, u32, u32)> {
    match value {
        Value::Run { operator, start, end } => Some(((end - start > 1).then_some(*operator), *start, *end)),
        _ => None,
    }
}

/// The operator of the longest run in a row, by its last two values; a row of two may have only single atoms but one.
fn operator_of(row: &[Value]) -> Option<Operator> {
    row.iter().rev().find_map(|value| run(value)?.0)
}

/// The scan a row holds: thread i's value is the fold of the first i + 1 atoms, or of the first i.
fn scan_in(row: &[Value]) -> Option<Scan> {
    let count = u32::try_from(row.len()).ok()?;
    let (_, first, end) = run(row.last()?)?;
    let kind = match end - first {
        n if n == count => Kind::InclusiveScan,
        n if n + 1 == count => Kind::ExclusiveScan,
        _ => return None,
    };
    let operator = operator_of(row)?;
    let shift = u32::from(kind == Kind::ExclusiveScan);
    let holds = (0u32..).zip(row).all(|(thread, value)| {
        let length = thread + 1 - shift;
        if length == 0 {
            return *value == Value::Known(operator.identity());
        }
        run(value).is_some_and(|(own, start, end)| {
            start == first && end == first + length && own.is_none_or(|own| own == operator)
        })
    });
    holds.then_some(Scan {
        kind,
        operator,
        first,
    })
}

/// The width of the windows a row holds, if it holds windows of one width (cut off at the first element).
fn window(row: &[Value]) -> Option<u32> {
    let count = u32::try_from(row.len()).ok()?;
    let (_, start, end) = run(row.last()?)?;
    let width = end - start;
    let exclusive = row.first().is_some_and(|value| value.known().is_some());
    let first = end.checked_sub(count - u32::from(exclusive))?;
    let operator = operator_of(row);
    (0u32..)
        .zip(row)
        .all(|(thread, value)| {
            let to = thread + u32::from(!exclusive);
            if to == 0 {
                return true;
            }
            run(value).is_some_and(|(own, start, end)| {
                end == first + to
                    && start == first + to.saturating_sub(width)
                    && (own.is_none() || own == operator)
            })
        })
        .then_some(width)
}
