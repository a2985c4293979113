//! Claims: atomics that many threads of a wave make on one cell, or on few.
//!
//! Looked for in a run of their own, which goes on where a proof of the whole kernel could not. Of a claim only three
//! things are said, and each holds by itself, whatever the rest of the kernel does:
//!
//! - *The address is the same for all active threads*: their terms are equal, and equal terms are equal values
//!   ([`crate::value`]). Where a loop's passes cannot be counted, it is shown for a pass that may be any: all that the
//!   loop writes is unknown in it, thread by thread.
//! - *Several threads of a wave may make it in one step*: [`crate::together`].
//! - *Nothing depends on what it found*, or it was made into an address: values remember the atomics they came from
//!   ([`crate::flow`]), and all that a run decides, addresses or stores is asked for them.
//!
//! Then one thread may make the atomic for all of its wave: atomics on one cell "are serialized in an undefined order"
//! (D3D11.3 functional spec 7.14.2), and threads that are at one place may come there one right after the other.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{
    BinaryOp, Case, Expr, FunctionId, GlobalId, LocalId, Loop, ResourceKind, Scalar, Shader, Span, Stmt,
    StmtKind, Type,
};

use crate::aggregate;
use crate::bins;
use crate::column::{Column, Mask};
use crate::effects::Effects;
use crate::finding::{Amount, Atomic, Cells, Claim, Found, Stop};
use crate::flow::{Facts, Mark, Source};
use crate::fold;
use crate::machine::{BUDGET, Halt, LoopState, MAX_COMPONENTS, Machine, Run, TOO_MANY_STEPS};
use crate::order::Order;
use crate::parts;
use crate::passes::Held;
use crate::terms::Terms;
use crate::value::Value;
use crate::wave::{LaneMap, WAVE_SIZES, Waves};

/// Fewer threads than this gain nothing by aggregating: it is the smallest wave there is.
const MIN_LANES: usize = 4;
/// Stands for a resource that is none of the shader's globals; its index says which.
pub(crate) const FROM_HEAP: GlobalId = GlobalId(u32::MAX);
/// The same for one that no shader writes to.
pub(crate) const CONSTANT_FROM_HEAP: GlobalId = GlobalId(u32::MAX - 1);

/// Stands for a resource of this kind that no global names.
pub(crate) fn from_heap(kind: ResourceKind) -> GlobalId {
    if kind.is_writable() {
        FROM_HEAP
    } else {
        CONSTANT_FROM_HEAP
    }
}

/// An atomic, by its place.
type Key = (FunctionId, Span);

/// What a run for claims has seen.
#[derive(Default)]
pub(crate) struct Claims {
    sites: Sites,
    numbers: BTreeMap<Key, usize>,
    /// By bit: what was found there was made into an address or kept; anything depends on it.
    slots: Cell<u64>,
    used: Cell<u64>,
    /// Statements with an atomic in them were not looked at, in some pass or call.
    misses: bool,
    pub order: Order,
    /// Where an atomic's cell is looked up: the names that no file declares in it ([`crate::undeclared`]).
    pub supposed: Option<BTreeSet<String>>,
    /// Of such names those to which something was stored.
    pub stored: BTreeSet<String>,
    /// Something is looked up that is given to a macro of which nothing is known.
    pub in_macro: bool,
    /// In runs of one part of the group after another ([`parts`]): the threads of those that ended, by atomic.
    counted: Option<BTreeMap<Key, u32>>,
}

pub(crate) type Sites = BTreeMap<Key, Site>;

#[derive(Clone, Default)]
pub(crate) struct Site {
    claim: Option<Claim>,
    /// It was also met with addresses that may be many.
    is_spread: bool,
    /// It was also met with addresses that may differ, be they few.
    varies: bool,
    /// In runs of parts: the one that it was met with.
    address: Option<Vec<Value>>,
}

/// An atomic that the active threads are about to make.
pub(crate) struct Met<'m> {
    pub name: &'m str,
    /// What tells the cell from others of its resource or array.
    pub address: &'m [Column],
    pub amount: &'m [Column],
    /// What is taken for one thing in all threads, in its address.
    pub supposed: &'m BTreeSet<String>,
    /// Elements of the groupshared array; `None` on the device.
    pub cells: Option<u32>,
    pub place: Span,
    pub span: Span,
}

/// Where a statement began.
pub(crate) struct Whereabouts {
    active: Mask,
    guard: Column,
    loops: usize,
}

/// The claims of an entry point. Of code with wave intrinsics those that are there at every wave size: a leader of a wave
/// of 4 is one of any wave. Also where the run had to stop early, if it is not known what was left.
pub(crate) fn of_entry(shader: &Shader, entry: FunctionId, group: [u32; 3]) -> (Vec<Claim>, Option<Stop>) {
    let mut claims: Vec<Claim> = Vec::new();
    let mut early = None;
    let mut budget = BUDGET;
    let mut terms = Terms::default();
    for (number, wave_size) in WAVE_SIZES.into_iter().enumerate() {
        terms.clear();
        let waves = Waves::new(group, wave_size, LaneMap::Linear);
        let Some(mut machine) = Machine::new(shader, &mut terms, entry, waves, budget) else {
            return (claims, early);
        };
        machine.claims = Some(Claims::default());
        let stopped = machine.run();
        // A pass that may be any ends with the steps, and nobody is told.
        let stopped = stopped.or_else(|| {
            let span = machine.is_exhausted().then_some(machine.function()?.name_span)?;
            Some(Stop {
                reason: TOO_MANY_STEPS.to_owned(),
                span,
            })
        });
        budget = machine.budget;
        let uses_waves = machine.report.used_waves;
        let seen = machine.claims.take().unwrap_or_default();
        let seen = seen.finish((shader, entry), stopped.is_none());
        if number == 0 {
            claims = seen;
            early = stopped;
            if let Some(found) = early.as_ref().and_then(|_| parts::claims(shader, entry, group)) {
                // Of those with other addresses less is known there.
                claims.retain(|claim| found.iter().all(|other| other.span != claim.span));
                claims.extend(found);
                claims.sort_by_key(|claim| claim.span);
                early = None;
            }
        } else {
            let same = |a: &Claim, b: &Claim| {
                (a.function, a.span, a.cells, a.found) == (b.function, b.span, b.cells, b.found)
            };
            claims.retain_mut(|claim| {
                let other = seen.iter().find(|other| same(claim, other));
                if other.is_none_or(|other| other.parts.is_none()) {
                    claim.parts = None;
                }
                other.is_some()
            });
        }
        if !uses_waves || claims.is_empty() {
            break;
        }
    }
    (claims, early)
}

impl Atomic {
    /// The claims among functions and methods. Minima and maxima, mostly the bounds of a tile, are left alone.
    pub(crate) fn of_name(name: &str) -> Option<Atomic> {
        Some(match name {
            "InterlockedAdd" => Atomic::Add,
            "InterlockedAnd" => Atomic::And,
            "InterlockedOr" => Atomic::Or,
            "InterlockedXor" => Atomic::Xor,
            "IncrementCounter" => Atomic::Increment,
            "DecrementCounter" => Atomic::Decrement,
            "Append" => Atomic::Append,
            "Consume" => Atomic::Consume,
            _ => return None,
        })
    }

    fn counts(self) -> bool {
        matches!(self, Atomic::Add | Atomic::Increment | Atomic::Decrement)
    }
}

impl Claims {
    /// Those of runs of one part of the group after another.
    pub fn in_parts() -> Claims {
        Claims {
            counted: Some(BTreeMap::new()),
            ..Claims::default()
        }
    }

    /// A part's run has ended.
    pub fn end_part(&mut self) {
        let Some(counted) = &mut self.counted else { return };
        for (key, site) in &mut self.sites {
            if let Some(claim) = &mut site.claim {
                *counted.entry(*key).or_default() += std::mem::take(&mut claim.lanes);
            }
        }
    }

    /// To be given back to [`Machine::any_pass`].
    pub fn so_far(&self) -> Sites {
        self.sites.clone()
    }

    fn mark(&mut self, key: Key) -> Mark {
        let next = self.numbers.len();
        Mark::new(*self.numbers.entry(key).or_insert(next))
    }

    /// The claims, in order of their text. `is_complete` if the run went to its end.
    pub fn finish(mut self, (shader, entry): (&Shader, FunctionId), is_complete: bool) -> Vec<Claim> {
        let sites = std::mem::take(&mut self.sites);
        let is_all = is_complete && !self.misses;
        let sites = sites.into_iter().filter(|(_, site)| !site.is_spread);
        let mut claims: Vec<Claim> = sites
            .filter_map(|(key, site)| {
                let bit = self.mark(key).bit();
                let mut claim = site.claim?;
                let counted = self.counted.as_ref().and_then(|counted| counted.get(&key));
                claim.lanes = counted.copied().unwrap_or(claim.lanes);
                claim.found = match claim.operation {
                    Atomic::Append | Atomic::Consume => Found::Slot,
                    _ if self.slots.get() & bit != 0 => Found::Slot,
                    _ if self.used.get() & bit != 0 || !is_complete || bit == 0 => Found::Otherwise,
                    _ => Found::Unused,
                };
                let is_whole = claim.supposed.is_empty() && is_all && !site.varies;
                if is_whole || matches!(claim.cells, Cells::Few(_)) {
                    claim.parts = aggregate::parts(shader, entry, &claim);
                }
                Some(claim)
            })
            .collect();
        claims.sort_by_key(|claim| claim.span);
        claims
    }
}

impl<'a> Machine<'a> {
    /// Notes an atomic; where the value that it finds comes from.
    pub fn meet_atomic(&mut self, met: &Met<'_>) -> Source {
        for amount in met.amount {
            self.uses(amount);
            let threads = self.state.active.threads();
            self.note_leftovers(threads.map(|thread| amount.at(thread)));
        }
        let key = (self.state.frame.function, met.span);
        let Some(claims) = &mut self.claims else {
            return Source::UNKNOWN;
        };
        let mark = claims.mark(key);
        let active = self.state.active;
        let operation = Atomic::of_name(met.name);
        let is_one = met.address.iter().all(|column| column.uniform(active).is_some());
        let source = match operation {
            // What is consumed is an element, not the number of one.
            Some(Atomic::Consume) => Source::Spread,
            _ if !is_one => Source::Spread,
            Some(operation) if operation.counts() => Source::Counter(mark),
            _ => Source::Other(mark),
        };
        let Some(operation) = operation else {
            return source;
        };
        if let Some(claims) = self.claims.as_mut().filter(|claims| claims.in_macro) {
            claims.sites.entry(key).or_default().is_spread = true;
            return source;
        }
        if let Some(claims) = self.claims.as_mut().filter(|_| !is_one) {
            claims.sites.entry(key).or_default().varies = true;
        }
        self.note_address(key, met.address);
        let amount = self.amount(met.amount);
        if amount == Amount::Known(0) && operation == Atomic::Add {
            // An atomic load: all find the same.
            return Source::UNKNOWN;
        }
        let lanes = active.threads().count();
        let cells = if is_one {
            Some(Cells::One)
        } else if operation == Atomic::Add {
            bins::few(self, met.address, met.cells).map(Cells::Few)
        } else {
            None
        };
        let site = self.claims.as_ref().and_then(|claims| claims.sites.get(&key));
        let is_known = site.is_some_and(|site| site.claim.is_some());
        if cells.is_some() && (lanes < MIN_LANES || !(is_known || self.several_of_a_wave())) {
            if let Some(claims) = self.claims.as_mut().filter(|claims| claims.counted.is_some()) {
                // Too few in this part: who they are among all is not known.
                claims.sites.entry(key).or_default().is_spread = true;
            }
            return source;
        }
        let is_certain = active == self.all && self.state.guard == Column::Uniform(Value::TRUE);
        let Some(claims) = &mut self.claims else {
            return source;
        };
        let site = claims.sites.entry(key).or_default();
        let Some(cells) = cells else {
            site.is_spread = true;
            return source;
        };
        let claim = site.claim.get_or_insert(Claim {
            operation,
            cells,
            amount,
            found: Found::Otherwise,
            is_shared: met.cells.is_some(),
            lanes: 0,
            is_certain,
            place: met.place,
            span: met.span,
            function: key.0,
            supposed: BTreeSet::new(),
            parts: None,
        });
        claim.supposed.extend(met.supposed.iter().cloned());
        claim.lanes = claim.lanes.max(u32::try_from(lanes).unwrap_or(u32::MAX));
        claim.is_certain &= is_certain;
        if claim.amount != amount {
            claim.amount = Amount::Varying;
        }
        claim.cells = match (claim.cells, cells) {
            (Cells::Few(a), Cells::Few(b)) => Cells::Few(a.max(b)),
            (Cells::One, cells) | (cells, Cells::One) => cells,
        };
        source
    }

    /// In runs of parts: the address of an atomic, whoever makes it and whatever it adds. Another one in another part is one
    /// of many.
    fn note_address(&mut self, key: Key, address: &[Column]) {
        let active = self.state.active;
        let Some(claims) = self.claims.as_mut().filter(|claims| claims.counted.is_some()) else {
            return;
        };
        let known = address.iter().map(|column| column.uniform(active).cloned());
        let known: Option<Vec<Value>> = known
            .map(|value| value.filter(|value| value.known().is_some()))
            .collect();
        let site = claims.sites.entry(key).or_default();
        site.is_spread |= known.is_none() || site.address.is_some() && site.address != known;
        site.address = known;
    }

    fn amount(&self, amount: &[Column]) -> Amount {
        let active = self.state.active;
        match amount.first().map(|column| column.uniform(active)) {
            None => Amount::Known(1),
            Some(Some(Value::Known(word))) => Amount::Known(word.cast_signed()),
            // In runs of parts, of one of them.
            Some(Some(_)) if self.claims.as_ref().is_none_or(|claims| claims.counted.is_none()) => {
                Amount::Uniform
            }
            Some(Some(_)) => Amount::Varying,
            Some(None) => Amount::Varying,
        }
    }

    /// Elements of type `ty` that a groupshared variable holds.
    pub fn elements(&self, array: GlobalId, ty: &Type) -> u32 {
        let global = self.shader.globals.get(array.0 as usize);
        let all = global.map_or(0, |global| self.shader.components(&global.ty));
        u32::try_from(all / self.shader.components(ty).max(1)).unwrap_or(u32::MAX)
    }

    fn facts(&self, column: &Column) -> Option<(&Claims, Facts)> {
        let claims = self.claims.as_ref().filter(|claims| !claims.numbers.is_empty())?;
        let facts = match column {
            Column::Uniform(value) => self.terms.facts(value),
            Column::Lanes(_) => {
                let threads = self.state.active.threads();
                Facts::joined(threads.map(|thread| self.terms.facts(column.at(thread))))
            }
        };
        Some((claims, facts))
    }

    /// Something depends on these values.
    pub fn uses(&self, column: &Column) {
        if let Some((claims, facts)) = self.facts(column) {
            claims.used.set(claims.used.get() | facts.counters);
        }
    }

    /// These values say where something is, or are kept somewhere.
    pub fn uses_as_place(&self, column: &Column) {
        self.uses(column);
        if let Some((claims, facts)) = self.facts(column) {
            claims.slots.set(claims.slots.get() | facts.slots);
        }
    }

    /// Statements of these effects depend on what they read.
    pub fn uses_in(&self, effects: &Effects) {
        if self.claims.is_none() {
            return;
        }
        let read = effects.read.difference(&effects.declared);
        let locals = read.filter_map(|local| self.state.frame.locals.get(local.0 as usize));
        for column in locals.chain(self.state.statics.values()).flatten() {
            self.uses(column);
        }
    }

    /// Whether what these statements read was made from the number that an atomic found.
    fn may_place_slots(&self, effects: &Effects) -> bool {
        let locals = effects.read.iter();
        let mut columns = locals
            .filter_map(|local| self.state.frame.locals.get(local.0 as usize))
            .flatten();
        columns.any(|column| self.facts(column).is_some_and(|(_, facts)| facts.slots != 0))
    }

    /// Runs a pass of a loop that may be any of its passes, for its claims. Those that were met in the passes so far
    /// count no more: what they showed holds for these passes only. Gives the variables that may tell the threads apart
    /// after the loop.
    pub fn any_pass(
        &mut self,
        statement: &'a Stmt,
        l: &'a Loop,
        begun: &[Vec<Column>],
        so_far: Sites,
    ) -> Vec<LocalId> {
        if let Some(claims) = &mut self.claims {
            let seen = std::mem::replace(&mut claims.sites, so_far);
            for (key, site) in seen {
                if site.is_spread || site.varies {
                    let known = claims.sites.entry(key).or_default();
                    known.is_spread |= site.is_spread;
                    known.varies |= site.varies;
                }
            }
        }
        let effects = self
            .effects
            .of_statements(self.shader, std::slice::from_ref(statement));
        let held = self.in_any_pass(l, &effects, begun);
        let untold = held.iter().filter(|(_, held)| **held == Held::Untold);
        let untold = untold.map(|(local, _)| *local).collect();
        if !effects.atomic && !self.may_place_slots(&effects) {
            return untold;
        }
        let before = self.state.clone();
        self.forget(&effects, |machine, local| {
            // What becomes of a `static` variable is not looked at.
            let held = local.and_then(|local| held.get(&local));
            match held.copied().unwrap_or(Held::Untold) {
                Held::One | Held::Stepped => Column::Uniform(machine.terms.fresh()),
                Held::Own => machine.unknown(),
                Held::Untold => machine.untold(),
            }
        });
        for (local, _) in held.iter().filter(|(_, held)| **held == Held::Stepped) {
            let index = local.0 as usize;
            let steps = self.state.frame.locals.get(index).cloned();
            let (Some(begun), Some(steps)) = (begun.get(index), steps) else {
                continue;
            };
            let stepped = self.binary(BinaryOp::Add, Some(Scalar::Uint), begun, &steps);
            if let Some(slot) = self.state.frame.locals.get_mut(index) {
                *slot = stepped;
            }
        }
        let guard = self.state.guard.clone();
        self.state.frame.loops.push(LoopState::any_pass(guard));
        // Claims met before a halt were met.
        let halted = self.pass(l).is_err();
        self.state = before;
        let untested = l.condition.as_ref().filter(|_| !l.tests_first);
        let mut aside = untested.into_iter().chain(&l.step);
        if halted || aside.any(|expr| self.effects.of_expression(self.shader, expr).atomic) {
            self.miss_claims(&effects);
        }
        untold
    }

    pub fn leave_untold(&mut self, locals: &[LocalId]) {
        for local in locals {
            let count = self.state.frame.locals.get(local.0 as usize).map_or(0, Vec::len);
            let untold = (0..count).map(|_| self.untold()).collect();
            if let Some(slot) = self.state.frame.locals.get_mut(local.0 as usize) {
                *slot = untold;
            }
        }
    }

    /// Statements of these effects are not looked at for claims, or not to their end.
    pub fn miss_claims(&mut self, effects: &Effects) {
        if let Some(claims) = &mut self.claims {
            claims.misses |= effects.atomic || effects.opaque;
        }
    }

    /// Statements that are not followed, with what they do: all that they write is unknown from here on.
    pub fn pass_unfollowed(&mut self, effects: &Effects, span: Span) -> Run<()> {
        self.uses_in(effects);
        if effects.opaque {
            return Self::stop("a loop or switch that is not understood", span);
        }
        self.forget(effects, |machine, _| machine.unknown());
        self.state.interval += u32::from(effects.barrier);
        if effects.leaves {
            let returns = self
                .function()
                .map_or(0, |function| self.parts(&function.returns).min(MAX_COMPONENTS));
            self.state.frame.result = self.fresh_columns(returns);
            self.state.guard = self.unknown();
        }
        Ok(())
    }

    /// A value of each thread's own.
    pub fn unknown(&mut self) -> Column {
        Column::from_fn(self.lanes, |_| self.terms.fresh())
    }

    /// An element of a variable, of which it is not known which.
    pub fn some_element(&mut self, columns: &[Column], base: &Column) -> Column {
        let active = self.state.active;
        for column in columns {
            self.uses(column);
        }
        if base.uniform(active).is_some() && columns.iter().all(|column| column.uniform(active).is_some()) {
            return Column::Uniform(self.terms.fresh());
        }
        self.unknown()
    }

    fn pass(&mut self, l: &'a Loop) -> Run<()> {
        if let Some(condition) = l.condition.as_ref().filter(|_| l.tests_first) {
            let value = self.condition(condition)?;
            let (yes, _, maybe) = self.split(&value);
            if !maybe.is_empty() {
                self.state.guard = self.guards(&value, maybe).0;
            }
            self.state.active = yes.or(maybe);
        }
        self.statement(&l.body)
    }

    /// Runs each case of a switch for its claims, as if the threads took it whose values may be its label.
    pub fn any_case(&mut self, value: &Column, cases: &'a [Case]) {
        for case in cases {
            let before = self.state.clone();
            let chosen = match case.label.as_ref().map(|label| self.condition(label)) {
                Some(Ok(label)) => self.map([value, &label], |m, v| {
                    fold::binary(m.terms, BinaryOp::Equal, Scalar::Uint, v[0], v[1])
                }),
                _ => self.unknown(),
            };
            let (yes, _, maybe) = self.split(&chosen);
            if !maybe.is_empty() {
                self.state.guard = self.guards(&chosen, maybe).0;
            }
            self.state.active = yes.or(maybe);
            let guard = self.state.guard.clone();
            self.state.frame.loops.push(LoopState::any_pass(guard));
            if self.block(&case.body).is_err() {
                let effects = self.effects.of_statements(self.shader, &case.body);
                self.miss_claims(&effects);
            }
            self.state = before;
        }
    }

    pub fn whereabouts(&self) -> Whereabouts {
        Whereabouts {
            active: self.state.active,
            guard: self.state.guard.clone(),
            loops: self.state.frame.loops.len(),
        }
    }

    /// A run for claims goes on after a statement that is not followed, with all unknown that it may have written. It
    /// may have told one thread from the others, too: nothing is shown by what it wrote.
    pub fn pass_over(&mut self, statement: &'a Stmt, before: Whereabouts, halt: Halt) -> Run<()> {
        if matches!(halt, Halt::LeaveLoop) || self.is_exhausted() {
            return Err(halt);
        }
        self.state.active = before.active.and(self.state.alive);
        self.state.guard = before.guard;
        self.state.frame.loops.truncate(before.loops);
        let mut effects = self
            .effects
            .of_statements(self.shader, std::slice::from_ref(statement));
        self.miss_claims(&effects);
        if effects.opaque {
            let locals = self.state.frame.locals.len();
            effects.written = (0..).take(locals).map(LocalId).collect();
            effects.read.clone_from(&effects.written);
            effects.declared.clear();
            effects.statics = self.state.statics.keys().copied().collect();
            effects.shared_written = self.state.shared.iter().map(|array| array.global).collect();
        }
        self.uses_in(&effects);
        self.forget(&effects, |machine, _| machine.untold());
        if effects.leaves {
            let returns = self
                .function()
                .map_or(0, |function| self.parts(&function.returns).min(MAX_COMPONENTS));
            self.state.frame.result = self.atomic_results(returns, Source::UNKNOWN);
            self.state.guard = self.untold();
            if matches!(statement.kind, StmtKind::Return(_)) {
                self.state.active = Mask::EMPTY;
            }
        }
        Ok(())
    }

    /// A value of each thread's own, which may tell the threads apart.
    pub fn untold(&mut self) -> Column {
        let mut columns = self.atomic_results(1, Source::UNKNOWN);
        columns.pop().unwrap_or(Column::ZERO)
    }

    /// The descriptor heap: one for all threads, though no operand says so.
    pub fn is_heap(&self, expr: &Expr) -> bool {
        is_heap(self.shader, expr)
    }

    /// Leaves `unknown` in all that statements of these effects may write.
    fn forget(&mut self, effects: &Effects, unknown: impl Fn(&mut Self, Option<LocalId>) -> Column) {
        for local in &effects.written {
            let count = self.state.frame.locals.get(local.0 as usize).map_or(0, Vec::len);
            let columns = (0..count).map(|_| unknown(self, Some(*local))).collect();
            if let Some(slot) = self.state.frame.locals.get_mut(local.0 as usize) {
                *slot = columns;
            }
        }
        for local in &effects.rebound {
            self.state.frame.aliases.remove(local);
        }
        for global in &effects.statics {
            let count = self.state.statics.get(global).map_or(0, Vec::len);
            let columns = (0..count).map(|_| unknown(self, None)).collect();
            self.state.statics.insert(*global, columns);
        }
        for array in &mut self.state.shared {
            if effects.shared_written.contains(&array.global) {
                for cell in array.cells_mut() {
                    *cell = self.terms.fresh();
                }
            }
        }
        self.state.events += 1;
    }
}

pub(crate) fn is_heap(shader: &Shader, expr: &Expr) -> bool {
    let text = expr.span.slice(&shader.text);
    matches!(text, b"ResourceDescriptorHeap" | b"SamplerDescriptorHeap")
}

impl LoopState {
    fn any_pass(guard: Column) -> LoopState {
        LoopState {
            breaks: Mask::EMPTY,
            continues: Mask::EMPTY,
            guard,
            number: 0,
            variable: None,
            is_any_pass: true,
        }
    }
}
