//! Places: what expressions denote.

use memchr::memmem;
use shaderlint_hlsl::{Expr, ExprKind, GlobalId, LocalId, ResourceKind, Shader, Span, Storage, Type};

use crate::exec::Observer;
use crate::exec::{MAX_COMPONENTS, Machine, Run};
use crate::terms::column::Column;
use crate::terms::value::{Op, Value};

/// What an expression denotes, rather than its value.
#[derive(Clone)]
pub(crate) struct Place {
    pub root: Root,
    /// By thread: the offset in components from the root's start.
    pub base: Column,
    /// Components, counted from `base`.
    pub components: Components,
}

/// Which components, in order. A constant may have very many; the run looks at few of them.
#[derive(Clone, Debug)]
pub(crate) enum Components {
    Run { start: u32, count: u32 },
    Picked(Vec<u32>),
}

impl Components {
    pub fn first_of(count: usize) -> Components {
        Components::Run {
            start: 0,
            count: u32::try_from(count).unwrap_or(u32::MAX),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Components::Run { count, .. } => *count as usize,
            Components::Picked(components) => components.len(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let (run, picked) = match self {
            Components::Run { start, count } => (*start..start.saturating_add(*count), &[][..]),
            Components::Picked(components) => (0..0, components.as_slice()),
        };
        run.chain(picked.iter().copied())
    }

    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The components after the first `skip`, at most `count` of them.
    fn part(&self, skip: usize, count: u32) -> Components {
        match self {
            Components::Run { start, count: all } => {
                let skip = u32::try_from(skip).unwrap_or(u32::MAX).min(*all);
                Components::Run {
                    start: start.saturating_add(skip),
                    count: count.min(all - skip),
                }
            }
            Components::Picked(components) => {
                let components = components.iter().copied();
                Components::Picked(components.skip(skip).take(count as usize).collect())
            }
        }
    }
}

#[derive(Clone)]
pub(crate) enum Root {
    Local(LocalId),
    Static(GlobalId),
    Shared(GlobalId),
    /// A value that the host sets.
    Uniform(GlobalId),
    /// A variable of unknown storage, which threads may share: each read gives another value.
    Unknown,
    /// An element of a resource, or a part of it.
    Device {
        resource: GlobalId,
        index: Vec<Column>,
    },
    /// Not a place: the components of a value.
    Value(Vec<Column>),
}

/// Added to an index that is certainly outside: no variable has this many components.
const OUTSIDE: u32 = 1 << 31;

/// The largest number of components of a vector or matrix that a swizzle picks from.
const MAX_PICKED: usize = 16;

/// The base of an element outside, for its index.
pub(crate) fn outside(index: u32) -> Value {
    Value::Known(index | OUTSIDE)
}

/// The index that the base of an element outside stands for. A large unsigned index is a negative number: the bits
/// below the sign determine it.
pub(crate) fn index_outside(base: u32) -> i32 {
    (base << 1).cast_signed() >> 1
}

/// The extent of a load or store at an index.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub elements: u32,
    /// Components of each element.
    pub components: u32,
}

impl Size {
    /// One element.
    pub fn element(components: u32) -> Size {
        Size {
            elements: 1,
            components,
        }
    }
}

/// The elements of a place: each has `count` components, and they are `stride` components apart.
#[derive(Clone, Copy)]
struct Elements {
    count: u32,
    stride: u32,
    length: u32,
}

impl<'a, O: Observer> Machine<'a, O> {
    /// The place that an expression denotes; its value if it denotes none.
    pub fn place(&mut self, expr: &'a Expr) -> Run<Place> {
        let mut place = self.named_place(expr)?;
        if place.components.len() > MAX_COMPONENTS {
            // A whole variable is cut to this size, since its parts can still be followed. A larger part cannot
            // be followed.
            if matches!(expr.kind, ExprKind::Index(..) | ExprKind::Field(..)) {
                return Self::stop("a value too large to follow", expr.span);
            }
            // A constant array keeps its declared length.
            if !matches!(place.root, Root::Value(_)) {
                place.components = place.components.part(0, MAX_COMPONENTS as u32);
            }
        }
        Ok(place)
    }

    /// The same, without a limit on its size.
    fn named_place(&mut self, expr: &'a Expr) -> Run<Place> {
        let count = self.parts(&expr.ty);
        let whole = |root| Place {
            root,
            base: Column::ZERO,
            components: Components::first_of(count),
        };
        match &expr.kind {
            ExprKind::Local(local) => Ok(match self.state.frame.aliases.get(local) {
                Some((resource, index)) => whole(Root::Device {
                    resource: *resource,
                    index: index.clone(),
                }),
                None => whole(Root::Local(*local)),
            }),
            ExprKind::Global(global) => self.place_of_global(*global, expr),
            ExprKind::Index(base, index) => self.element_place(base, index, expr),
            ExprKind::Field(base, _) if is_resource(&expr.ty) => {
                self.named_place(base)?;
                Ok(whole(self.some_resource(&expr.ty)))
            }
            ExprKind::Field(base, field) => self.field_place(base, *field, expr),
            ExprKind::Swizzle(base, picks) => {
                let place = self.named_place(base)?;
                let components: Vec<u32> = place.components.iter().take(MAX_PICKED).collect();
                let picks = picks
                    .iter()
                    .map(|pick| components.get(usize::from(*pick)).or(components.first()).copied());
                Ok(Place {
                    components: Components::Picked(picks.collect::<Option<_>>().unwrap_or_default()),
                    ..place
                })
            }
            ExprKind::Call(..) | ExprKind::Cast(_) if matches!(expr.ty, Type::Resource(..)) => {
                Ok(whole(self.root_of_handle(expr)?))
            }
            _ => {
                let value = self.eval(expr)?;
                match &expr.ty {
                    Type::Resource(..) if self.over_approximates() && value.is_empty() => {
                        Ok(whole(self.some_resource(&expr.ty)))
                    }
                    _ => Ok(Place::of_value(value)),
                }
            }
        }
    }

    /// The place that a global's name denotes.
    fn place_of_global(&mut self, global: GlobalId, expr: &Expr) -> Run<Place> {
        let Some(declared) = self.shader.globals.get(global.0 as usize) else {
            return Self::stop("an unknown name", expr.span);
        };
        let root = match declared.storage {
            Storage::Groupshared => Root::Shared(global),
            Storage::Static => Root::Static(global),
            // A `static` resource stands for the resource that was last assigned to it.
            Storage::Resource if declared.init.is_some() && !self.over_approximates() => {
                self.some_resource(&declared.ty)
            }
            Storage::Resource => Root::Device {
                resource: global,
                index: Vec::new(),
            },
            Storage::Const => {
                let value = self.constant(global)?;
                return Ok(Place::of_value(value));
            }
            Storage::Uniform => Root::Uniform(global),
            Storage::Unknown => Root::Unknown,
        };
        Ok(Place {
            root,
            base: Column::ZERO,
            components: Components::first_of(self.parts(&expr.ty)),
        })
    }

    /// The place of the element `base[index]`.
    fn element_place(&mut self, base: &'a Expr, index: &'a Expr, expr: &'a Expr) -> Run<Place> {
        let count = u32::try_from(self.parts(&expr.ty)).unwrap_or(u32::MAX);
        let mut place = match self.variable(base) {
            // The elements need the root of the whole, not its components.
            Some(root) => Place {
                root,
                base: Column::ZERO,
                components: Components::first_of(0),
            },
            None => self.named_place(base)?,
        };
        let index_value = self.eval(index)?;
        if index_value.is_empty() && self.over_approximates() {
            return Self::stop("an unsupported index", expr.span);
        }
        if matches!(&base.ty, Type::Array(..)) && self.shader.holds_resource(&base.ty) {
            let is_marked = is_marked(self.shader, index);
            self.note_index_of_resources(&index_value, is_marked);
        }
        // The index that selects one of an array of resources is part of the place's index too.
        if let Root::Device { index: indices, .. } = &mut place.root
            && is_resource(&base.ty)
        {
            indices.extend(index_value);
            place.components = Components::first_of(count as usize);
            return Ok(place);
        }
        let Some(index) = index_value.into_iter().next() else {
            return Self::stop("an unsupported index", expr.span);
        };
        if let (Root::Shared(tile), Type::Resource(..)) = (&place.root, &base.ty) {
            return Ok(self.place_in_tile(*tile, &index, Size::element(count)));
        }
        let (stride, length) = match &base.ty {
            Type::Array(_, length) => (count, *length),
            Type::Vector(_, length) => (1, u32::from(*length)),
            Type::Matrix(_, rows, columns) => (u32::from(*columns), u32::from(*rows)),
            _ => {
                return Self::stop("an index into an unsupported expression", expr.span);
            }
        };
        if let Root::Device { .. } = &place.root
            && let Some(index) = index.uniform(self.state.active).and_then(Value::known)
        {
            let skip = (index as usize).saturating_mul(stride as usize);
            place.components = place.components.part(skip, count);
            if place.components.len() != count as usize {
                return Self::stop("an index past the end of an element", expr.span);
            }
            return Ok(place);
        }
        Ok(self.element_in(
            place,
            Elements {
                count,
                stride,
                length,
            },
            index,
            expr.span,
        ))
    }

    /// The element at this index of a place that holds several.
    fn element_in(&mut self, mut place: Place, elements: Elements, index: Column, span: Span) -> Place {
        let Elements {
            count,
            stride,
            length,
        } = elements;
        // Swizzled or strided components are picked through the list, whole ones through the base.
        let (mut start, contiguous) = match &place.components {
            Components::Run { start, .. } => (*start, true),
            Components::Picked(picked) => {
                let start = picked.first().copied().unwrap_or(0);
                let are_next = (start..).zip(picked).all(|(next, picked)| next == *picked);
                (start, are_next)
            }
        };
        if !contiguous {
            // The loaded value is packed: its components count from 0 again.
            let columns = self.load(&place, span);
            start = 0;
            place = Place::of_value(columns);
        }
        place.components = Components::first_of(count as usize);
        if place.base == Column::ZERO && (start, stride) == (0, 1) && self.is_below(&index, length) {
            place.base = index;
            return place;
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
                Op::Offset,
                &[
                    v[0].clone(),
                    v[1].clone(),
                    Value::Known(stride),
                    Value::Known(start),
                    Value::Known(length),
                ],
            ),
        });
        place
    }

    /// The place of the field `field` of `base`.
    fn field_place(&mut self, base: &'a Expr, field: u32, expr: &'a Expr) -> Run<Place> {
        let count = u32::try_from(self.parts(&expr.ty)).unwrap_or(u32::MAX);
        let mut place = self.named_place(base)?;
        let of = match &base.ty {
            // The members of a `ConstantBuffer<S>` are those of its one element.
            Type::Resource(ResourceKind::ConstantBuffer, Some(element)) => {
                place.components = Components::first_of(self.parts(element));
                element
            }
            ty => ty,
        };
        let Type::Struct(id) = of else {
            return Self::stop("a field of an unsupported expression", expr.span);
        };
        let fields = &self.shader.structs[id.0 as usize].fields;
        let skip: usize = fields
            .iter()
            .take(field as usize)
            .map(|field| self.parts(&field.ty))
            .fold(0, usize::saturating_add);
        let components = place.components.part(skip, count);
        Ok(Place { components, ..place })
    }

    /// Notes that an index chooses among several resources.
    pub fn note_index_of_resources(&mut self, index: &[Column], is_marked: bool) {
        let active = self.state.active;
        let mut differing = index.iter().filter(|column| column.uniform(active).is_none());
        self.report.has_unmarked_index |= !is_marked && differing.next().is_some();
    }

    /// The variable that an expression names.
    fn variable(&self, expr: &Expr) -> Option<Root> {
        match expr.kind {
            ExprKind::Local(local) if !self.state.frame.aliases.contains_key(&local) => {
                Some(Root::Local(local))
            }
            ExprKind::Global(global) => match self.shader.globals.get(global.0 as usize)?.storage {
                Storage::Groupshared => Some(Root::Shared(global)),
                Storage::Static => Some(Root::Static(global)),
                Storage::Uniform => Some(Root::Uniform(global)),
                Storage::Unknown => Some(Root::Unknown),
                Storage::Const | Storage::Resource => None,
            },
            _ => None,
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
        if let Some(value) = self.cache.constants.get(&global) {
            return Ok(value.clone());
        }
        let declared = &self.shader.globals[global.0 as usize];
        let value = match &declared.init {
            Some(init) => {
                // A constant whose initialiser refers to itself, even indirectly, has no value.
                self.cache
                    .constants
                    .insert(global, vec![Column::Uniform(Value::Known(0)); 0]);
                self.eval(init)?
            }
            None => vec![Column::ZERO; self.parts(&declared.ty).min(MAX_COMPONENTS)],
        };
        self.cache.constants.insert(global, value.clone());
        Ok(value)
    }
}

impl Place {
    /// A whole value that is in no place.
    fn of_value(columns: Vec<Column>) -> Place {
        Place {
            components: Components::first_of(columns.len()),
            root: Root::Value(columns),
            base: Column::ZERO,
        }
    }

    /// The groupshared variable and the cell that each thread accesses.
    pub fn in_shared(&self) -> Option<(GlobalId, Column)> {
        match &self.root {
            Root::Shared(global) => Some((*global, self.base.clone())),
            _ => None,
        }
    }

    /// The resource, and the index into it and into its element.
    pub fn on_device(&self) -> Option<(GlobalId, Vec<Column>)> {
        match &self.root {
            Root::Device { resource, index } => {
                let part = Some(&self.base).filter(|base| **base != Column::ZERO);
                Some((*resource, index.iter().chain(part).cloned().collect()))
            }
            _ => None,
        }
    }
}

/// Whether an index is marked as one that differs between threads.
fn is_marked(shader: &Shader, index: &Expr) -> bool {
    let text = index.span.slice(&shader.text);
    memmem::find(text, b"NonUniformResourceIndex").is_some()
}

pub(crate) fn is_resource(ty: &Type) -> bool {
    match ty {
        Type::Resource(..) => true,
        Type::Array(element, _) => is_resource(element),
        _ => false,
    }
}
