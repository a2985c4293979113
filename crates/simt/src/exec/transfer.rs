//! Loads from places, and stores to them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use shaderlint_hlsl::{BinaryOp, GlobalId, Scalar, Shader, Span, Storage, Type};

use crate::exec::Observer;
use crate::exec::handle::{CONSTANT_FROM_HEAP, FROM_HEAP};
use crate::exec::memory::{Action, Touch};
use crate::exec::place::{Place, Root, index_outside};
use crate::exec::undef_flow;
use crate::exec::undef_flow::Suspect;
use crate::exec::{Machine, Run, Write};
use crate::terms::column::Column;
use crate::terms::history::Step;
use crate::terms::ranked::Ranked;
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Terms};

/// How many missing components of a value are made up if its element is not known: each of them may change any
/// element.
const MAX_MISSING: usize = 64;

impl<O: Observer> Machine<'_, O> {
    /// The values at a place.
    pub fn load(&mut self, place: &Place, span: Span) -> Vec<Column> {
        match &place.root {
            Root::Local(local) => {
                let slot = |machine: &mut Self, columns: &mut Vec<Column>| {
                    if let Some(slot) = machine.state.frame.locals.get_mut(local.0 as usize) {
                        std::mem::swap(slot, columns);
                    }
                };
                self.gather_from(slot, place)
            }
            Root::Static(global) => {
                let slot = |machine: &mut Self, columns: &mut Vec<Column>| {
                    if let Some(slot) = machine.state.statics.get_mut(global) {
                        std::mem::swap(slot, columns);
                    }
                };
                self.gather_from(slot, place)
            }
            Root::Value(columns) => self.gather(columns, place),
            Root::Unknown => {
                O::uses_as_place(self, &place.base);
                self.not_known(place.components.len())
            }
            Root::Uniform(global) => {
                let components = place.components.iter();
                components
                    .map(|component| self.load_uniform(*global, &place.base, component))
                    .collect()
            }
            Root::Shared(global) => {
                let site = self.site(span);
                let components = place.components.iter();
                components
                    .map(|component| self.load_shared(*global, &place.base, component, site))
                    .collect()
            }
            Root::Device { resource, index } => {
                O::accessed_device(self, *resource, index, &place.base, false);
                let components = place.components.iter();
                components
                    .map(|component| self.load_part(*resource, index, &place.base, component))
                    .collect()
            }
        }
    }

    /// A component of a value that the host sets. At an unknown offset, the component equals another one only if the
    /// offsets are equal terms.
    fn load_uniform(&mut self, global: GlobalId, base: &Column, component: u32) -> Column {
        O::uses_as_place(self, base);
        let declared = self.shader.globals.get(global.0 as usize);
        let name = declared.map_or("", |declared| &declared.name);
        let name = self.terms.symbol(name);
        self.map_all(&[base], |terms, base| {
            let (start, rest) = match base {
                [Value::Known(base)] => (*base, &[][..]),
                unknown => (0, unknown),
            };
            let component = start.saturating_add(component);
            terms.apply(Op::Uniform { name, component }, rest)
        })
    }

    /// A component of a part of a resource's element. A read at an unknown index is not known to equal a read at a
    /// known one, even where the indices are the same.
    fn load_part(&mut self, resource: GlobalId, index: &[Column], part: &Column, component: u32) -> Column {
        if let Column::Uniform(Value::Known(part)) = part {
            return self.load_device(resource, index, part.saturating_add(component));
        }
        if let Some(read) = self.load_known_parts(resource, index, part, component) {
            return read;
        }
        let index: Vec<Column> = index.iter().chain([part]).cloned().collect();
        self.load_device(resource, &index, component)
    }

    /// The same if each thread knows its part and no thread writes the resource: each component equals the one that
    /// other accesses read.
    fn load_known_parts(
        &mut self,
        resource: GlobalId,
        index: &[Column],
        part: &Column,
        component: u32,
    ) -> Option<Column> {
        let known = |thread: usize| part.at(thread).known();
        let parts: Option<BTreeSet<u32>> = self.state.active.threads().map(known).collect();
        let parts = parts.filter(|_| !self.is_written(resource))?;
        O::uses_as_place(self, part);
        let read: BTreeMap<u32, Column> = parts
            .into_iter()
            .map(|part| {
                let column = self.load_device(resource, index, part.saturating_add(component));
                (part, column)
            })
            .collect();
        let lanes = self.lanes;
        Some(Column::from_fn(lanes, |thread| {
            let own = known(thread).and_then(|part| read.get(&part));
            // No thread uses the value of an inactive thread.
            own.map_or(Value::Known(0), |column| column.at(thread).clone())
        }))
    }

    /// Whether a kernel may write a resource, or an array.
    fn is_written(&self, resource: GlobalId) -> bool {
        let declared = self.shader.globals.get(resource.0 as usize);
        match declared.map(|declared| &declared.ty) {
            _ if declared.is_some_and(|declared| declared.storage == Storage::Groupshared) => true,
            Some(Type::Resource(kind, _)) => kind.is_writable(),
            Some(Type::Array(element, _)) => {
                matches!(&**element, Type::Resource(kind, _) if kind.is_writable())
            }
            _ => resource != CONSTANT_FROM_HEAP,
        }
    }

    /// As [`Self::gather`], for a variable, which `swap` takes out and puts back: it may have thousands of
    /// components.
    fn gather_from(&mut self, swap: impl Fn(&mut Self, &mut Vec<Column>), place: &Place) -> Vec<Column> {
        let mut columns = Vec::new();
        swap(self, &mut columns);
        let values = self.gather(&columns, place);
        swap(self, &mut columns);
        values
    }

    /// Components of a variable at an offset that may differ by thread.
    fn gather(&mut self, columns: &[Column], place: &Place) -> Vec<Column> {
        O::uses_as_place(self, &place.base);
        place
            .components
            .iter()
            .map(|component| {
                if let Column::Uniform(Value::Known(base)) = &place.base {
                    return match columns.get(base.saturating_add(component) as usize) {
                        Some(column) => column.clone(),
                        None => self.fresh_columns(1).pop().unwrap_or(Column::ZERO),
                    };
                }
                let is_known = |m: &Self| {
                    m.state
                        .active
                        .threads()
                        .all(|thread| place.base.at(thread).known().is_some())
                };
                if self.over_approximates() && !is_known(self) {
                    return self.some_element(columns, &place.base);
                }
                let lanes = self.lanes;
                Column::from_fn(lanes, |thread| {
                    let index = place.base.at(thread).known();
                    match index.and_then(|base| columns.get(base.saturating_add(component) as usize)) {
                        Some(column) => column.at(thread).clone(),
                        // One of these values, but it is not known which.
                        None if index.is_none() => {
                            let mut arguments: Vec<Value> =
                                vec![place.base.at(thread).clone(), Value::Known(component)];
                            arguments.extend(columns.iter().map(|column| column.at(thread).clone()));
                            self.terms.apply(Op::Same, &arguments)
                        }
                        None => self.terms.fresh(),
                    }
                })
            })
            .collect()
    }

    pub fn load_shared(&mut self, global: GlobalId, base: &Column, component: u32, site: u32) -> Column {
        if self.mode.serves_lane_by_lane() {
            // Others may write this memory meanwhile, as they may write a resource.
            return self.load_device(global, std::slice::from_ref(base), component);
        }
        O::accessed(self);
        self.note_plain(global, site);
        O::uses_as_place(self, base);
        let Some(number) = self.state.shared.iter().position(|array| array.global == global) else {
            return self.not_known(1).pop().unwrap_or(Column::ZERO);
        };
        if self.may_find_anything(global, site) {
            return self.load_anything(number, base, component);
        }
        let array = &self.state.shared[number];
        let (active, interval) = (self.state.active, self.state.interval_of(array));
        let (mut unproved, on_device) = (array.is_blurred(interval), array.on_device);
        let mut may_meet_writes = unproved && array.may_be_written_in(interval);
        let mut anywhere = None;
        let mut conflicts = Vec::new();
        let mut suspects = Vec::new();
        let remembers = self.remembers_reads();
        let declared = self.shader.globals.get(global.0 as usize).filter(|_| remembers);
        let own_name = declared.map(|declared| self.terms.symbol(&declared.name));
        let touch_of_all = self.touch(site, on_device);
        let mut reads = Vec::new();
        let is_recorded = self.mode.is_on_numbers();
        let index = base;
        let chosen = self.load_chosen(number, index, component, touch_of_all);
        let (base, guard) = (base.row(), self.state.guard.row());
        let (cells, tracks) = self.state.shared[number].open_to_read();
        let values = Column::from_fn(self.lanes, |thread| {
            if !active.contains(thread) {
                return Value::Known(0);
            }
            if let Some(chosen) = chosen.get(&thread) {
                return chosen.clone();
            }
            let Value::Known(base) = base.at(thread) else {
                // The read may be anywhere in the array: it may meet any write of this interval.
                anywhere.get_or_insert_with(|| base.at(thread).clone());
                return self.terms.fresh();
            };
            let cell = base.saturating_add(component);
            let (Some(value), Some(track)) = (cells.get(cell as usize), tracks.get_mut(cell as usize)) else {
                // Outside: an undefined value, or for a resource one that another group may be changing.
                let value = self.terms.fresh();
                unproved |= on_device;
                if remembers && touch_of_all.by(thread, guard).is_unconditional {
                    suspects.push((
                        value.clone(),
                        thread,
                        undef_flow::Cell::Outside(index_outside(*base)),
                    ));
                }
                return value;
            };
            let touch = touch_of_all.by(thread, guard);
            if is_recorded {
                reads.push((cell, touch));
            }
            if let Some(conflict) = track.read(cell, interval, touch) {
                conflicts.push((conflict, value.clone()));
                return self.terms.fresh();
            }
            if !touch.is_unconditional {
                return self.terms.assuming(guard.at(thread), value);
            }
            if own_name.is_some_and(|name| self.terms.is_uninitialised(value, name, cell)) {
                suspects.push((value.clone(), thread, undef_flow::Cell::Unwritten(cell)));
            }
            value.clone()
        });
        for (cell, touch) in reads {
            O::accessed_cell(self, global, cell, touch, None);
        }
        for (value, thread, cell) in suspects {
            let suspect = Suspect {
                array: global,
                cell,
                thread: thread as u16,
                site,
                interval,
            };
            self.suspect(&value, suspect);
        }
        if let Some(base) = anywhere {
            O::gives(self, self.state.shared[number].cells());
            O::gives(self, active.threads().map(|thread| index.at(thread)));
            self.noticed.counts_by_group |= self.terms.is_of_group(&base);
            may_meet_writes |= self.state.shared[number].may_be_written_in(interval);
            self.state.shared[number].blur(interval);
            unproved = true;
        }
        self.report.unproved |= unproved;
        if may_meet_writes {
            self.leave_unsettled(site, site);
        }
        for (conflict, value) in conflicts {
            O::forgets(self, [&value]);
            self.conflict(global, conflict, None);
        }
        values
    }

    /// A read that is assumed to return any value; the values of the cells may flow into it.
    fn load_anything(&mut self, number: usize, base: &Column, component: u32) -> Column {
        let cells = self.state.shared[number].cells();
        let found = self.state.active.threads().flat_map(|thread| {
            let known = base.at(thread).known();
            let cell = known.map(|base| base.saturating_add(component) as usize);
            cell.map_or(cells, |cell| cells.get(cell..=cell).unwrap_or_default())
        });
        O::gives(self, found);
        // A construct with such a read is not free of races, whatever else it does.
        self.report.unproved |= self.observer.is_trying();
        self.not_known(1).pop().unwrap_or(Column::ZERO)
    }

    /// Reads of an array's cells at indices that a reduction selected ([`crate::terms::ranked`]). Data decide which
    /// cell it is, but it is one of few. The read counts as a read of each of them. If another thread writes one of
    /// them, nothing is proved, but no race is certain either.
    fn load_chosen(
        &mut self,
        number: usize,
        base: &Column,
        component: u32,
        touch_of_all: Touch,
    ) -> BTreeMap<usize, Value> {
        let mut read = BTreeMap::new();
        // Others may write the memory of a tile of a resource.
        if self.state.shared[number].on_device {
            return read;
        }
        let is_open = |thread: &usize| base.at(*thread).known().is_none();
        let threads: Vec<usize> = self.state.active.threads().filter(is_open).collect();
        let mut known: Vec<(Value, Option<Ranked>)> = Vec::new();
        for thread in threads {
            let index = base.at(thread);
            let at = known.iter().position(|(known, _)| known == index);
            let at = at.unwrap_or_else(|| {
                known.push((index.clone(), self.terms.ranked(index)));
                known.len() - 1
            });
            let Some((_, Some(ranked))) = known.get(at) else {
                continue;
            };
            let array = &self.state.shared[number];
            let interval = self.state.interval_of(array);
            let touch = Touch {
                is_unconditional: false,
                action: Action::Mixed,
                ..touch_of_all.by(thread, self.state.guard.row())
            };
            let (cells, tracks) = self.state.shared[number].open_to_read();
            let elements = ranked.elements.iter().map(|(key, base)| {
                let cell = base.checked_add(component)?;
                let (value, track) = (cells.get(cell as usize)?, tracks.get_mut(cell as usize)?);
                let is_alone = track.read(cell, interval, touch).is_none();
                is_alone.then(|| (key.clone(), value.clone()))
            });
            let elements: Option<Vec<(Value, Value)>> = elements.collect();
            let value = elements.and_then(|elements| self.terms.of_first_best(ranked.operator, &elements));
            read.extend(value.map(|value| (thread, value)));
        }
        read
    }

    /// Whether a read is assumed to return any value.
    fn may_find_anything(&self, array: GlobalId, site: u32) -> bool {
        let site = self.sites.get(site as usize);
        let reads = self.assuming.finds_anything.zip(site);
        reads.is_some_and(|(reads, site)| reads.contains(&(array, site.span, self.state.barriers.interval)))
    }

    pub fn load_device(&mut self, resource: GlobalId, index: &[Column], component: u32) -> Column {
        for column in index {
            O::uses_as_place(self, column);
        }
        let writable = self.is_written(resource);
        let global = self.shader.globals.get(resource.0 as usize);
        let ty = global.map(|global| &global.ty);
        if let ([address], 1..) = (index, component)
            && matches!(ty, Some(Type::Resource(kind, _)) if kind.is_by_address())
            && !writable
        {
            // The word is the same, whichever kind of load reads it.
            let bytes = [Column::Uniform(Value::Known(4 * component))];
            let address = self.binary(
                BinaryOp::Add,
                Some(Scalar::Uint),
                std::slice::from_ref(address),
                &bytes,
            );
            return self.load_device(resource, &address, 0);
        }
        let name = self.terms.symbol(resource_name(self.shader, resource));
        let columns: Vec<&Column> = index.iter().collect();
        if !writable {
            let op = Op::Load {
                resource: name,
                component,
            };
            return self.map_all(&columns, |terms, values| terms.apply(op, values));
        }
        self.state.events += 1;
        let event = self.record_device_event(Step::Load(name, component));
        let op = Op::VolatileLoad {
            resource: name,
            component,
            event,
        };
        let lanes = self.lanes;
        Column::from_fn(lanes, |thread| {
            let mut arguments: Vec<Value> = columns.iter().map(|column| column.at(thread).clone()).collect();
            arguments.push(Value::Known(thread as u32));
            self.terms.apply(op, &arguments)
        })
    }

    /// Stores a value's components for the active threads.
    pub fn store(&mut self, place: &Place, values: &[Column], span: Span) -> Run<()> {
        let missing = place.components.len().saturating_sub(values.len());
        if missing > MAX_MISSING && !matches!(place.base, Column::Uniform(_)) {
            return Self::stop("a value with too many parts to follow", span);
        }
        if missing > 0 {
            let mut all = values.to_vec();
            all.extend(self.not_known(missing));
            return self.store(place, &all, span);
        }
        // A place of unknown type keeps none of these values, and the run does not follow them.
        for lost in values.iter().skip(place.components.len()) {
            O::uses(self, lost);
        }
        match &place.root {
            Root::Local(local) => {
                let index = local.0 as usize;
                let mut columns = self
                    .state
                    .frame
                    .locals
                    .get_mut(index)
                    .map(std::mem::take)
                    .unwrap_or_default();
                self.scatter(&mut columns, place, values);
                if let Some(slot) = self.state.frame.locals.get_mut(index) {
                    *slot = columns;
                }
                Ok(())
            }
            Root::Static(global) => {
                let mut columns = self
                    .state
                    .statics
                    .get_mut(global)
                    .map(std::mem::take)
                    .unwrap_or_default();
                self.scatter(&mut columns, place, values);
                self.state.statics.insert(*global, columns);
                Ok(())
            }
            Root::Shared(global) => {
                let site = self.site(span);
                for (component, value) in place.components.iter().zip(values) {
                    self.store_shared(*global, &place.base, component, value, site);
                }
                Ok(())
            }
            Root::Device { resource, index } => {
                O::accessed_device(self, *resource, index, &place.base, true);
                if place.components.len() == 0 && !values.is_empty() {
                    // The type of the place is not known: its new value may be anything.
                    let unknown = self.not_known(1).pop().unwrap_or(Column::ZERO);
                    self.store_part(*resource, index, &place.base, 0, &unknown);
                }
                for (component, value) in place.components.iter().zip(values) {
                    self.look_for_undefined(index, value, span);
                    self.store_part(*resource, index, &place.base, component, value);
                }
                Ok(())
            }
            Root::Value(_) | Root::Uniform(_) | Root::Unknown => {
                Self::stop("an assignment to something that is not an lvalue", span)
            }
        }
    }

    fn scatter(&mut self, columns: &mut [Column], place: &Place, values: &[Column]) {
        O::uses_as_place(self, &place.base);
        let (active, all, lanes) = (self.state.active, self.all, self.lanes);
        for (component, value) in place.components.iter().zip(values) {
            if let Column::Uniform(Value::Known(base)) = &place.base {
                if let Some(column) = columns.get_mut(base.saturating_add(component) as usize) {
                    *column = column.overlay(value, active, all, lanes);
                }
                continue;
            }
            let unknown = active
                .threads()
                .filter(|thread| place.base.at(*thread).known().is_none());
            O::gives(
                self,
                unknown.flat_map(|thread| [place.base.at(thread), value.at(thread)]),
            );
            for (index, column) in columns.iter_mut().enumerate() {
                let old = column.clone();
                let unknown = active
                    .threads()
                    .filter(|thread| place.base.at(*thread).known().is_none());
                O::forgets(self, unknown.map(|thread| old.at(thread)));
                *column = Column::from_fn(lanes, |thread| {
                    if !active.contains(thread) {
                        return old.at(thread).clone();
                    }
                    match place.base.at(thread) {
                        Value::Known(base) if base.saturating_add(component) as usize == index => {
                            value.at(thread).clone()
                        }
                        Value::Known(_) => old.at(thread).clone(),
                        // This element may be the one.
                        _ => self.terms.fresh(),
                    }
                });
            }
        }
    }

    pub fn store_shared(
        &mut self,
        global: GlobalId,
        base: &Column,
        component: u32,
        value: &Column,
        site: u32,
    ) {
        if self.mode.serves_lane_by_lane() {
            return self.store_device(global, std::slice::from_ref(base), component, value);
        }
        O::accessed(self);
        self.note_plain(global, site);
        O::uses_as_place(self, base);
        O::uses_as_place(self, value);
        let Some(number) = self.state.shared.iter().position(|array| array.global == global) else {
            return;
        };
        O::stored(self, None, std::iter::once(base), value);
        let array = &self.state.shared[number];
        let (active, interval) = (self.state.active, self.state.interval_of(array));
        let (mut unproved, on_device) = (array.is_blurred(interval), array.on_device);
        let mut anywhere = None;
        let mut conflicts = Vec::new();
        let touch_of_all = self.touch(site, on_device);
        let mut writes = Vec::new();
        let is_recorded = self.mode.is_on_numbers();
        let mut is_outside = false;
        let mut outside = None;
        let mut forgotten = Vec::new();
        let declared = self.shader.globals.get(global.0 as usize);
        let name = declared.map(|declared| self.terms.symbol(&declared.name));
        let mut fills_in_part = false;
        let given = [base, value];
        let (base, value, guard) = (base.row(), value.row(), self.state.guard.row());
        let convergence = &self.state.convergence;
        let (cells, tracks) = self.state.shared[number].open();
        for thread in active.threads() {
            let Value::Known(base) = base.at(thread) else {
                anywhere.get_or_insert_with(|| base.at(thread).clone());
                continue;
            };
            let touch = touch_of_all.by(thread, guard);
            let cell = base.saturating_add(component);
            let (Some(slot), Some(track)) = (cells.get_mut(cell as usize), tracks.get_mut(cell as usize))
            else {
                unproved = true;
                is_outside = true;
                if touch.is_unconditional && !convergence.is_uncertain() {
                    outside.get_or_insert((thread as u16, index_outside(*base)));
                }
                continue;
            };
            fills_in_part = fills_in_part
                || !touch.is_unconditional
                    && name.is_some_and(|name| self.terms.is_uninitialised(slot, name, cell));
            let new = value.at(thread);
            // Where the group has left, no thread reads the cell any more.
            let new = if touch.is_unconditional || convergence.holds_unless_group_left(guard.at(thread)) {
                new.clone()
            } else {
                self.terms.select(guard.at(thread), new, slot)
            };
            if is_recorded {
                writes.push((cell, touch, [slot.clone(), new.clone()]));
            }
            if let Some(conflict) = track.write(cell, interval, touch, *slot == new) {
                let old = std::mem::replace(slot, self.terms.fresh());
                conflicts.push((conflict, [new, old]));
            } else {
                *slot = new;
            }
        }
        if let Some(base) = &anywhere {
            self.noticed.counts_by_group |= self.terms.is_of_group(base);
            // Nothing in the array is known any more, whatever else was written there.
            if self.mode.tracks_marks() {
                forgotten = cells.to_vec();
            }
            cells.fill_with(|| self.terms.fresh());
            self.state.shared[number].stray(interval);
            self.forget_reads(global, None);
            let given = given
                .into_iter()
                .flat_map(|column| active.threads().map(|thread| column.at(thread)));
            O::gives(self, given);
            O::forgets(self, &forgotten);
            unproved = true;
        }
        if anywhere.is_some() || is_outside {
            self.strays(global);
        }
        if let Some((thread, index)) = outside {
            self.report_outside(global, index, thread, true, site);
        }
        if fills_in_part {
            self.note_filled_in_part(global);
        }
        self.report.unproved |= unproved;
        if self.state.shared[number].is_blurred(interval) {
            self.leave_unsettled(site, site);
        }
        for (cell, touch, change) in writes {
            O::accessed_cell(self, global, cell, touch, Some(change));
        }
        for (conflict, values) in conflicts {
            O::forgets(self, &values);
            self.conflict(global, conflict, Some(&values));
        }
    }

    pub fn store_device(&mut self, resource: GlobalId, index: &[Column], component: u32, value: &Column) {
        self.store_part(resource, index, &Column::ZERO, component, value);
    }

    /// Stores a component of a part of a resource's element.
    fn store_part(
        &mut self,
        resource: GlobalId,
        index: &[Column],
        part: &Column,
        component: u32,
        value: &Column,
    ) {
        for column in index.iter().chain([part, value]) {
            O::uses_as_place(self, column);
        }
        let name = self.terms.symbol(resource_name(self.shader, resource));
        O::stored(self, Some(name), index.iter().chain([part]), value);
        // Loads after this store differ from loads before it.
        self.record_device_event(Step::Store(name, component));
        let state = &mut self.state;
        state.events += 1;
        // The declaration, which shows whether other groups see the write, is not known.
        state.publishes |= resource == FROM_HEAP;
        let ordered = state.ordered();
        let writes = Rc::make_mut(&mut state.writes);
        for thread in state.active.threads() {
            let (start, part) = match part.at(thread) {
                Value::Known(part) => (*part, Value::Known(0)),
                part => (0, part.clone()),
            };
            writes.push(Write {
                resource: name,
                component: component.saturating_add(start),
                part,
                index: index.iter().map(|column| column.at(thread).clone()).collect(),
                thread: thread as u16,
                guard: state.guard.at(thread).clone(),
                value: value.at(thread).clone(),
                ordered,
            });
        }
    }
}

/// The name of a resource that no global names.
pub(crate) const ANY_RESOURCE: &str = "a resource";

impl Terms {
    /// Whether the name may stand for any resource.
    pub(crate) fn is_any_resource(&self, name: Symbol) -> bool {
        self.name(name) == ANY_RESOURCE
    }
}

/// The name of a resource. A resource from a heap or an argument is none of the shader's globals.
pub(crate) fn resource_name(shader: &Shader, resource: GlobalId) -> &str {
    shader
        .globals
        .get(resource.0 as usize)
        .map_or(ANY_RESOURCE, |declared| &declared.name)
}
