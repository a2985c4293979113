//! Places: what an expression names, and loading and storing there.

use std::rc::Rc;

use shaderlint_hlsl::{Expr, ExprKind, GlobalId, LocalId, ResourceKind, Shader, Span, Storage, Type};

use crate::claim::{CONSTANT_FROM_HEAP, FROM_HEAP, from_heap};
use crate::column::Column;
use crate::flow::Source;
use crate::machine::{MAX_COMPONENTS, Machine, Run, Write};
use crate::undefined::{self, Suspect};
use crate::value::{Op, Value};
use crate::window::Size;

/// What an expression names, rather than its value.
#[derive(Clone)]
pub(crate) struct Place {
    pub root: Root,
    /// Components from the root's start, by thread.
    pub base: Column,
    /// Components from `base` on.
    pub components: Vec<u32>,
}

#[derive(Clone)]
pub(crate) enum Root {
    Local(LocalId),
    Static(GlobalId),
    Shared(GlobalId),
    /// An element of a resource.
    Device {
        resource: GlobalId,
        index: Vec<Column>,
    },
    /// Not a place: its components.
    Value(Vec<Column>),
}

/// Conflicts of one access in which it is asked whether what was written differs.
const MAX_COMPARED: u32 = 4;

/// Added to an index that is certainly outside: no variable has as many components.
const OUTSIDE: u32 = 1 << 31;

/// The base of an element outside, by its index.
pub(crate) fn outside(index: u32) -> Value {
    Value::Known(index | OUTSIDE)
}

/// The index an element's base outside stands for. Of large unsigned ones the bits below the sign tell what they mean:
/// something below zero.
fn index_outside(base: u32) -> i32 {
    (base << 1).cast_signed() >> 1
}

impl<'a> Machine<'a> {
    /// The place an expression names; its value where it names none.
    pub fn place(&mut self, expr: &'a Expr) -> Run<Place> {
        let count = self.shader.components(&expr.ty);
        // Of what a name alone means more cannot be followed, but its parts can.
        let is_part = matches!(expr.kind, ExprKind::Index(..) | ExprKind::Field(..));
        if is_part && count > MAX_COMPONENTS {
            return Self::stop("a part too large to be followed", expr.span);
        }
        let count = count.min(MAX_COMPONENTS) as u32;
        let whole = |root| Place {
            root,
            base: Column::ZERO,
            components: (0..count).collect(),
        };
        match &expr.kind {
            ExprKind::Local(local) => Ok(match self.state.frame.aliases.get(local) {
                Some((resource, index)) => whole(Root::Device {
                    resource: *resource,
                    index: index.clone(),
                }),
                None => whole(Root::Local(*local)),
            }),
            ExprKind::Global(global) => {
                let Some(declared) = self.shader.globals.get(global.0 as usize) else {
                    return Self::stop("an unknown name", expr.span);
                };
                Ok(whole(match declared.storage {
                    Storage::Groupshared => Root::Shared(*global),
                    Storage::Static => Root::Static(*global),
                    Storage::Resource => Root::Device {
                        resource: *global,
                        index: Vec::new(),
                    },
                    Storage::Const => {
                        // An array is as long as its declaration says: no cap here.
                        let place = self.constant(*global)?;
                        return Ok(Place::of_value(place));
                    }
                    Storage::Uniform => {
                        let name = self.terms.symbol(&declared.name);
                        let values = (0..count)
                            .map(|component| {
                                Column::Uniform(self.terms.apply(Op::Uniform { name, component }, &[]))
                            })
                            .collect();
                        Root::Value(values)
                    }
                }))
            }
            ExprKind::Index(base, index) => {
                let mut place = self.place(base)?;
                let index_value = self.eval(index)?;
                if index_value.is_empty() && self.claims.is_some() {
                    return Self::stop("an index that is not understood", expr.span);
                }
                // Which of an array of resources is part of the index too.
                if let Root::Device { index: indices, .. } = &mut place.root
                    && is_resource(&base.ty)
                {
                    indices.extend(index_value);
                    place.components = (0..count).collect();
                    return Ok(place);
                }
                let Some(index) = index_value.into_iter().next() else {
                    return Self::stop("an index that is not understood", expr.span);
                };
                if let (Root::Shared(window), Type::Resource(..)) = (&place.root, &base.ty) {
                    return Ok(self.place_in_window(*window, &index, Size::element(count)));
                }
                let (stride, length) = match &base.ty {
                    Type::Array(_, length) => (count, *length),
                    Type::Vector(_, length) => (1, u32::from(*length)),
                    Type::Matrix(_, rows, columns) => (u32::from(*columns), u32::from(*rows)),
                    _ => {
                        return Self::stop("an index into something that is not understood", expr.span);
                    }
                };
                // A resource's elements are addressed by their components alone: a part chosen by an index that is not
                // one known number is taken out of the whole element's value (and cannot be stored to).
                if let Root::Device { .. } = &place.root {
                    if let Some(index) = index.uniform(self.state.active).and_then(Value::known) {
                        let skip = (index as usize).saturating_mul(stride as usize);
                        place.components = place
                            .components
                            .iter()
                            .copied()
                            .skip(skip)
                            .take(count as usize)
                            .collect();
                        if place.components.len() != count as usize {
                            return Self::stop("an index past the end of an element", expr.span);
                        }
                        return Ok(place);
                    }
                    let columns = self.load(&place, expr.span);
                    place = Place::of_value(columns);
                }
                // Swizzled or strided components are picked through the list, whole ones through the base.
                let start = place.components.first().copied().unwrap_or(0);
                let contiguous = (start..)
                    .zip(&place.components)
                    .all(|(expected, component)| expected == *component);
                let mut start = start;
                if !contiguous {
                    // What is loaded is packed: its components count from 0 again.
                    let columns = self.load(&place, expr.span);
                    start = 0;
                    place = Place::of_value(columns);
                }
                place.components = (0..count).collect();
                if place.base == Column::ZERO && (start, stride) == (0, 1) && self.is_below(&index, length) {
                    place.base = index;
                    return Ok(place);
                }
                let base_offset = place.base.clone();
                place.base = self.map([&base_offset, &index], |m, v| match (v[0], v[1]) {
                    (Value::Known(base), Value::Known(index)) if *base < OUTSIDE => {
                        if *index < length {
                            Value::Known(
                                index
                                    .saturating_mul(stride)
                                    .saturating_add(start)
                                    .saturating_add(*base),
                            )
                        } else {
                            outside(*index)
                        }
                    }
                    (Value::Known(_), Value::Known(_)) => v[0].clone(),
                    _ => m.terms.apply(
                        Op::Same,
                        &[
                            v[0].clone(),
                            v[1].clone(),
                            Value::Known(stride),
                            Value::Known(start),
                        ],
                    ),
                });
                Ok(place)
            }
            ExprKind::Field(base, _) if is_resource(&expr.ty) => {
                self.place(base)?;
                Ok(whole(self.some_resource(&expr.ty)))
            }
            ExprKind::Field(base, field) => {
                let mut place = self.place(base)?;
                let of = match &base.ty {
                    // The members of a `ConstantBuffer<S>` are those of its one element.
                    Type::Resource(ResourceKind::ConstantBuffer, Some(element)) => {
                        place.components = (0..self.shader.components(element) as u32).collect();
                        element
                    }
                    ty => ty,
                };
                let Type::Struct(id) = of else {
                    return Self::stop("a field of something that is not understood", expr.span);
                };
                let fields = &self.shader.structs[id.0 as usize].fields;
                let skip: usize = fields
                    .iter()
                    .take(*field as usize)
                    .map(|field| self.shader.components(&field.ty))
                    .fold(0, usize::saturating_add);
                let components = place
                    .components
                    .iter()
                    .copied()
                    .skip(skip)
                    .take(count as usize)
                    .collect();
                Ok(Place { components, ..place })
            }
            ExprKind::Swizzle(base, picks) => {
                let place = self.place(base)?;
                let components = picks
                    .iter()
                    .map(|pick| {
                        place
                            .components
                            .get(usize::from(*pick))
                            .or(place.components.first())
                            .copied()
                    })
                    .collect::<Option<Vec<u32>>>()
                    .unwrap_or_default();
                Ok(Place { components, ..place })
            }
            _ => {
                let value = self.eval(expr)?;
                match &expr.ty {
                    Type::Resource(..) if self.claims.is_some() && value.is_empty() => {
                        Ok(whole(self.some_resource(&expr.ty)))
                    }
                    _ => Ok(Place::of_value(value)),
                }
            }
        }
    }

    /// A resource that a function gives or a struct holds. Which one is not followed: perhaps one for each thread, and
    /// another each time. What is loaded from it is equal to nothing else, and it is none of the groupshared arrays.
    fn some_resource(&mut self, ty: &Type) -> Root {
        let mut resource = ty;
        while let Type::Array(element, _) = resource {
            resource = element;
        }
        let resource = match resource {
            Type::Resource(kind, _) => from_heap(*kind),
            _ => FROM_HEAP,
        };
        let index = if self.claims.is_some() {
            self.untold()
        } else {
            Column::from_fn(self.lanes, |_| self.terms.fresh())
        };
        Root::Device {
            resource,
            index: vec![index],
        }
    }

    /// Whether all active threads' values are known and less than `length`.
    fn is_below(&self, index: &Column, length: u32) -> bool {
        let index = index.row();
        let mut active = self.state.active.threads();
        active.all(|thread| matches!(index.at(thread), Value::Known(index) if *index < length))
    }

    /// The value of a `static const`.
    fn constant(&mut self, global: GlobalId) -> Run<Vec<Column>> {
        if let Some(value) = self.constants.get(&global) {
            return Ok(value.clone());
        }
        let declared = &self.shader.globals[global.0 as usize];
        let value = match &declared.init {
            Some(init) => {
                // A constant that names itself, however far round, is worth nothing.
                self.constants
                    .insert(global, vec![Column::Uniform(Value::Known(0)); 0]);
                self.eval(init)?
            }
            None => vec![Column::ZERO; self.shader.components(&declared.ty).min(MAX_COMPONENTS)],
        };
        self.constants.insert(global, value.clone());
        Ok(value)
    }

    /// The values in a place.
    pub fn load(&mut self, place: &Place, span: Span) -> Vec<Column> {
        match &place.root {
            Root::Local(local) => {
                let columns = self.state.frame.locals.get(local.0 as usize);
                let columns = columns.cloned().unwrap_or_default();
                self.gather(&columns, place)
            }
            Root::Static(global) => {
                let columns = self.state.statics.get(global).cloned().unwrap_or_default();
                self.gather(&columns, place)
            }
            Root::Value(columns) => self.gather(columns, place),
            Root::Shared(global) => {
                let site = self.site(span);
                let components = place.components.iter();
                components
                    .map(|component| self.load_shared(*global, &place.base, *component, site))
                    .collect()
            }
            Root::Device { resource, index } => {
                let components = place.components.iter();
                components
                    .map(|component| self.load_device(*resource, index, *component))
                    .collect()
            }
        }
    }

    /// Components of a variable at an offset that may differ by thread.
    fn gather(&mut self, columns: &[Column], place: &Place) -> Vec<Column> {
        self.uses_as_place(&place.base);
        place
            .components
            .iter()
            .map(|component| {
                if let Column::Uniform(Value::Known(base)) = &place.base {
                    return match columns.get(base.saturating_add(*component) as usize) {
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
                if self.claims.is_some() && !is_known(self) {
                    return self.some_element(columns, &place.base);
                }
                let lanes = self.lanes;
                Column::from_fn(lanes, |thread| {
                    let index = place.base.at(thread).known();
                    match index.and_then(|base| columns.get(base.saturating_add(*component) as usize)) {
                        Some(column) => column.at(thread).clone(),
                        // Among the values there are, but which one is not known.
                        None if index.is_none() => {
                            let mut arguments: Vec<Value> =
                                vec![place.base.at(thread).clone(), Value::Known(*component)];
                            arguments.extend(columns.iter().map(|column| column.at(thread).clone()));
                            self.terms.apply(Op::Same, &arguments)
                        }
                        None => self.terms.fresh(),
                    }
                })
            })
            .collect()
    }

    fn load_shared(&mut self, global: GlobalId, base: &Column, component: u32, site: u32) -> Column {
        let Some(number) = self.state.shared.iter().position(|array| array.global == global) else {
            return self.fresh_columns(1).pop().unwrap_or(Column::ZERO);
        };
        self.prober.accessed();
        self.uses_as_place(base);
        let array = &self.state.shared[number];
        let (active, interval) = (self.state.active, self.state.interval_of(array));
        let (mut unproved, on_device) = (array.is_blurred(interval), array.on_device);
        let mut anywhere = false;
        let mut conflicts = Vec::new();
        let mut suspects = Vec::new();
        let remembers = self.remembers_reads();
        let touches = self.touches(site, on_device);
        let (base, guard) = (base.row(), self.state.guard.row());
        let (cells, tracks) = self.state.shared[number].open_to_read();
        let values = Column::from_fn(self.lanes, |thread| {
            if !active.contains(thread) {
                return Value::Known(0);
            }
            let Value::Known(base) = base.at(thread) else {
                // Read somewhere in the array: it may meet any write of this interval.
                anywhere = true;
                return self.terms.fresh();
            };
            let cell = base.saturating_add(component);
            let (Some(value), Some(track)) = (cells.get(cell as usize), tracks.get_mut(cell as usize)) else {
                // Outside: an undefined value, or one that another group may be changing.
                let value = self.terms.fresh();
                unproved |= on_device;
                if remembers && touches.of(thread, guard).is_certain() {
                    suspects.push((
                        value.clone(),
                        thread,
                        undefined::Cell::Outside(index_outside(*base)),
                    ));
                }
                return value;
            };
            let touch = touches.of(thread, guard);
            if let Some(conflict) = track.read(cell, interval, touch) {
                conflicts.push(conflict);
                return self.terms.fresh();
            }
            if !touch.definite {
                return self.terms.assuming(guard.at(thread), value);
            }
            if remembers && self.terms.is_uninitialised(value) {
                suspects.push((value.clone(), thread, undefined::Cell::Unwritten(cell)));
            }
            value.clone()
        });
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
        if anywhere {
            self.state.shared[number].blur(interval);
            unproved = true;
        }
        self.report.unproved |= unproved;
        for conflict in conflicts {
            self.conflict(global, conflict, true);
        }
        values
    }

    pub fn load_device(&mut self, resource: GlobalId, index: &[Column], component: u32) -> Column {
        for column in index {
            self.uses_as_place(column);
        }
        let declared = self.shader.globals.get(resource.0 as usize);
        let writable = match declared.map(|declared| &declared.ty) {
            Some(Type::Resource(kind, _)) => kind.is_writable(),
            Some(Type::Array(element, _)) => {
                matches!(&**element, Type::Resource(kind, _) if kind.is_writable())
            }
            _ => resource != CONSTANT_FROM_HEAP,
        };
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
        let op = Op::VolatileLoad {
            resource: name,
            component,
            event: self.state.events,
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
        if self.claims.is_some() && missing > 0 {
            let mut all = values.to_vec();
            all.extend(self.atomic_results(missing, Source::Other(0)));
            return self.store(place, &all, span);
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
                    self.store_shared(*global, &place.base, *component, value, site);
                }
                Ok(())
            }
            Root::Device { resource, index } => {
                for (component, value) in place.components.iter().zip(values) {
                    self.look_for_undefined(index, value, span);
                    self.store_device(*resource, index, *component, value);
                }
                Ok(())
            }
            Root::Value(_) => Self::stop("an assignment to something that is no place", span),
        }
    }

    fn scatter(&mut self, columns: &mut [Column], place: &Place, values: &[Column]) {
        self.uses_as_place(&place.base);
        let (active, all, lanes) = (self.state.active, self.all, self.lanes);
        for (component, value) in place.components.iter().zip(values) {
            if let Column::Uniform(Value::Known(base)) = &place.base {
                if let Some(column) = columns.get_mut(base.saturating_add(*component) as usize) {
                    *column = column.overlay(value, active, all, lanes);
                }
                continue;
            }
            for (index, column) in columns.iter_mut().enumerate() {
                let old = column.clone();
                *column = Column::from_fn(lanes, |thread| {
                    if !active.contains(thread) {
                        return old.at(thread).clone();
                    }
                    match place.base.at(thread) {
                        Value::Known(base) if base.saturating_add(*component) as usize == index => {
                            value.at(thread).clone()
                        }
                        Value::Known(_) => old.at(thread).clone(),
                        // Perhaps this one.
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
        let Some(number) = self.state.shared.iter().position(|array| array.global == global) else {
            return;
        };
        self.prober.accessed();
        self.uses_as_place(base);
        self.uses_as_place(value);
        let array = &self.state.shared[number];
        let (active, interval) = (self.state.active, self.state.interval_of(array));
        let (mut unproved, on_device) = (array.is_blurred(interval), array.on_device);
        // Terms may be long: a few of an access' conflicts tell whether there is a race.
        let mut left = if self.prober.is_probing() { 0 } else { MAX_COMPARED };
        let mut anywhere = false;
        let mut conflicts = Vec::new();
        let touches = self.touches(site, on_device);
        let mut is_outside = false;
        let mut outside = None;
        let (base, value, guard) = (base.row(), value.row(), self.state.guard.row());
        let (cells, tracks) = self.state.shared[number].open();
        for thread in active.threads() {
            let Value::Known(base) = base.at(thread) else {
                anywhere = true;
                continue;
            };
            let touch = touches.of(thread, guard);
            let cell = base.saturating_add(component);
            let (Some(slot), Some(track)) = (cells.get_mut(cell as usize), tracks.get_mut(cell as usize))
            else {
                unproved = true;
                is_outside = true;
                if touch.is_certain() {
                    outside.get_or_insert((thread as u16, index_outside(*base)));
                }
                continue;
            };
            let new = value.at(thread);
            let new = if touch.definite {
                new.clone()
            } else {
                self.terms.select(guard.at(thread), new, slot)
            };
            if let Some(conflict) = track.write(cell, interval, touch, *slot == new) {
                // A write of what is there already changes nothing for anybody; and two writes whose values are not
                // understood may well be of one value.
                let (first, second) = (&conflict.first, &conflict.second);
                let counts = left > 0 && first.happens_with(second) && first.epoch == second.epoch;
                left -= u32::from(counts);
                let distinct = counts && self.terms.seen_to_differ(&new, slot, conflict.first_writes);
                conflicts.push((conflict, distinct));
                *slot = self.terms.fresh();
            } else {
                *slot = new;
            }
        }
        if anywhere {
            // Written somewhere in the array: nothing in it is known any more.
            cells.fill_with(|| self.terms.fresh());
            self.state.shared[number].blur(interval);
            self.forget_reads(global, None);
            unproved = true;
        }
        if anywhere || is_outside {
            self.strays(global);
        }
        if let Some((thread, index)) = outside {
            self.report_outside(global, index, thread, true, site);
        }
        self.report.unproved |= unproved;
        for (conflict, distinct) in conflicts {
            self.conflict(global, conflict, distinct);
        }
    }

    pub fn store_device(&mut self, resource: GlobalId, index: &[Column], component: u32, value: &Column) {
        for column in index.iter().chain([value]) {
            self.uses_as_place(column);
        }
        let name = self.terms.symbol(resource_name(self.shader, resource));
        let state = &mut self.state;
        // A load after this store is not one before it.
        state.events += 1;
        let writes = Rc::make_mut(&mut state.writes);
        for thread in state.active.threads() {
            writes.push(Write {
                resource: name,
                component,
                index: index.iter().map(|column| column.at(thread).clone()).collect(),
                thread: thread as u16,
                guard: state.guard.at(thread).clone(),
                value: value.at(thread).clone(),
            });
        }
    }
}

impl Place {
    /// All of a value that is in no place.
    fn of_value(columns: Vec<Column>) -> Place {
        Place {
            components: (0..columns.len() as u32).collect(),
            root: Root::Value(columns),
            base: Column::ZERO,
        }
    }

    /// The groupshared variable and the cell each thread names.
    pub fn in_shared(&self) -> Option<(GlobalId, Column)> {
        match &self.root {
            Root::Shared(global) => Some((*global, self.base.clone())),
            _ => None,
        }
    }

    /// The resource and the index into it.
    pub fn on_device(&self) -> Option<(GlobalId, Vec<Column>)> {
        match &self.root {
            Root::Device { resource, index } => Some((*resource, index.clone())),
            _ => None,
        }
    }
}

/// A resource that a heap or an argument gave is none of the shader's globals.
fn resource_name(shader: &Shader, resource: GlobalId) -> &str {
    shader
        .globals
        .get(resource.0 as usize)
        .map_or("a resource", |declared| &declared.name)
}

fn is_resource(ty: &Type) -> bool {
    match ty {
        Type::Resource(..) => true,
        Type::Array(element, _) => is_resource(element),
        _ => false,
    }
}
