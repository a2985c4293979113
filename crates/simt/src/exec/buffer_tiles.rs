//! Tiles: a group's own stretch of a resource, modelled as if it were groupshared memory.
//!
//! Ladders also run over a `RWStructuredBuffer`, with barriers that order device memory at each rung. The rest of the
//! engine assumes that any thread of the device may have written what is loaded from such a resource. So such a
//! kernel runs once more, as a [`TiledKernel`]: resources that it both loads and stores are arrays there, and an
//! index into one is relative to where the group's elements begin. This run yields only collectives, no defects; the
//! first run treats the resources as always.
//!
//! # Why what is proved there holds
//!
//! - *Within the group.* "This storage class causes memory barriers and syncs to flush data across the entire GPU
//!   such that other groups can see writes. Without this specifier, a memory barrier or sync will flush a UAV only
//!   within the current group" (learn.microsoft.com, *Variable Syntax*, `globallycoherent`). So within the group a
//!   barrier that names device memory orders a resource as a barrier that names groupshared memory orders groupshared
//!   memory. The argument of [`crate::exec::memory`] therefore holds with the intervals that end at these barriers,
//!   and at these alone ([`Machine::barrier`]). Where two threads meet in an interval the run proves nothing, and
//!   reports nothing either.
//! - *Which cells.* Every index of the run that counts is the same start plus a number. Two of them name one element
//!   exactly if the numbers are equal, whatever the start is. Any other index may be anywhere: a load there gives an
//!   unknown value, and a store makes everything unknown. A load from an element outside the tile gives an unknown
//!   value, too, and a store there changes nothing inside; a candidate that does either is rejected.
//! - *Initial values.* The cells begin as unknown values: the host or an earlier dispatch may have left anything.
//! - *Other groups.* The claim is about one group whose elements no other group writes meanwhile. Where the start
//!   grows with the group's number by `n`, the tile is no longer than `n`: the tiles of the groups of a row share
//!   no element. If all stores of the kernel are seen to lie in the tile, the kernel itself ensures what the claim
//!   needs; otherwise nothing is claimed. Where the start is the same for all groups, several groups would race
//!   whatever the kernel computes. Such a kernel can only be meant for one group, and the claim is about that group.
//!   Resources that are `globallycoherent` or changed by atomics are meant to be shared with other groups: nothing is
//!   claimed about them.
//! - *Aliases.* Two globals are two resources, as everywhere in this crate; a kernel that hands the resource on to a
//!   function or a variable is not considered. The resource is assumed to be as large as the indices need, as only
//!   the host knows its size. A typed buffer (`RWBuffer<uint>`) is assumed to have the 32-bit format that its type
//!   names: every device can load from those formats.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shaderlint_hlsl::{
    Direction, Expr, ExprKind, FunctionId, GlobalId, Method, ResourceKind, Scalar, Shader, Stmt, Storage,
    Type, statements,
};

use crate::exec::Observer;
use crate::exec::memory::Shared;
use crate::exec::place::{Components, Place, Root, Size, outside};
use crate::exec::{Machine, Run};
use crate::facts::kernel::Kernel;
use crate::finding::Extent;
use crate::terms::column::Column;
use crate::terms::operator::Operator;
use crate::terms::value::{Op, Part, Value};
use crate::terms::{Term, Terms};

/// Elements of a tile per thread: a group works on one or two elements a thread, or keeps that many in each of two
/// halves.
const ELEMENTS_A_THREAD: u32 = 4;
/// The largest number of cells of a tile.
const MAX_CELLS: u32 = 1 << 16;
/// The largest step by which a start may grow with the group's number: then no two of the 65,535 groups of a row meet
/// by wrapping around.
const MAX_STEP: u32 = 1 << 16;

/// A kernel modelled through tiles.
pub(crate) struct TiledKernel {
    /// The resources are declared as groupshared arrays. The functions' bodies are unchanged.
    pub shader: Shader,
    /// With the stride of the index from one element to the next.
    pub resources: Vec<(GlobalId, u32)>,
}

impl TiledKernel {
    /// `None` if no resource is both loaded and stored, or if all such are used in ways that are not followed.
    pub fn new(kernel: Kernel<'_>) -> Option<TiledKernel> {
        let Kernel { shader, entry } = kernel;
        let lanes = kernel.group()?.into_iter().product();
        let uses = uses(shader, entry);
        let candidates = uses
            .into_iter()
            .filter(|(_, uses)| uses.loaded && uses.stored && !uses.otherwise);
        let arrays: Vec<(GlobalId, Type)> = candidates
            .filter_map(|(id, _)| Some((id, array(shader, id, lanes)?)))
            .collect();
        if arrays.is_empty() {
            return None;
        }
        let stride = |id: &GlobalId| match shader.globals[id.0 as usize].ty {
            Type::Resource(kind, _) if kind.is_by_address() => 4,
            _ => 1,
        };
        let resources = arrays.iter().map(|(id, _)| (*id, stride(id))).collect();
        let mut shader = shader.clone();
        for (id, array) in arrays {
            let global = shader.globals.get_mut(id.0 as usize)?;
            global.storage = Storage::Groupshared;
            global.ty = array;
        }
        Some(TiledKernel { shader, resources })
    }
}

/// The tile of a resource, as an array type.
fn array(shader: &Shader, resource: GlobalId, lanes: u32) -> Option<Type> {
    let global = shader.globals.get(resource.0 as usize)?;
    let Type::Resource(kind, element) = &global.ty else {
        return None;
    };
    let element = match (kind, element) {
        (ResourceKind::RwByteAddressBuffer, _) => Arc::new(Type::Scalar(Scalar::Uint)),
        (ResourceKind::RwStructuredBuffer, Some(element)) => element.clone(),
        // `unorm` and `snorm` formats change the value that is stored.
        (ResourceKind::RwBuffer, Some(element))
            if matches!(element.scalar(), Some(Scalar::Uint | Scalar::Int | Scalar::Float))
                && !global
                    .span
                    .slice(&shader.text)
                    .windows(4)
                    .any(|word| word == b"norm") =>
        {
            element.clone()
        }
        _ => return None,
    };
    if !shader.is_known(&element) {
        return None;
    }
    let width = u32::try_from(shader.components(&element)).ok()?;
    let elements = (MAX_CELLS.checked_div(width)?).min(ELEMENTS_A_THREAD.saturating_mul(lanes));
    (!global.coherent && elements >= lanes).then_some(Type::Array(element, elements))
}

/// How the functions that an entry point calls use a resource.
#[derive(Clone, Copy, Default)]
struct Uses {
    loaded: bool,
    stored: bool,
    /// As a whole, by an atomic, or by something that is not understood.
    otherwise: bool,
}

/// What an expression does with a place.
#[derive(Clone, Copy)]
struct Access {
    loads: bool,
    stores: bool,
    otherwise: bool,
}

const LOAD: Access = Access {
    loads: true,
    stores: false,
    otherwise: false,
};
const STORE: Access = Access {
    loads: false,
    stores: true,
    otherwise: false,
};
const BOTH: Access = Access { loads: true, ..STORE };
const OTHERWISE: Access = Access {
    otherwise: true,
    ..BOTH
};

impl Uses {
    fn add(&mut self, access: Access) {
        self.loaded |= access.loads;
        self.stored |= access.stores;
        self.otherwise |= access.otherwise;
    }
}

fn uses(shader: &Shader, entry: FunctionId) -> BTreeMap<GlobalId, Uses> {
    let mut uses: BTreeMap<GlobalId, Uses> = BTreeMap::new();
    let mut seen = BTreeSet::from([entry]);
    let mut waiting = vec![entry];
    while let Some(function) = waiting.pop() {
        let function = shader.functions.get(function.0 as usize);
        let body = function
            .and_then(|function| function.body.as_deref())
            .unwrap_or_default();
        let expressions = statements(body).flat_map(Stmt::expressions);
        // A work list rather than recursion, for trees may be deep.
        let mut left: Vec<(&Expr, Access)> = expressions.map(|expr| (expr, LOAD)).collect();
        while let Some((expr, access)) = left.pop() {
            let mut note = |global: &GlobalId, access| uses.entry(*global).or_default().add(access);
            match &expr.kind {
                ExprKind::Global(global) => note(global, OTHERWISE),
                ExprKind::Index(base, index) => {
                    match &base.kind {
                        ExprKind::Global(global) => note(global, access),
                        _ => left.push((base, access)),
                    }
                    left.push((index, LOAD));
                }
                ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => left.push((base, access)),
                ExprKind::Assign { target, op, value } => {
                    left.push((target, if op.is_some() { BOTH } else { STORE }));
                    left.push((value, LOAD));
                }
                ExprKind::Step { target, .. } => left.push((target, BOTH)),
                ExprKind::Intrinsic(intrinsic, arguments) => {
                    let access = |index| {
                        if intrinsic.may_write(index) {
                            OTHERWISE
                        } else {
                            LOAD
                        }
                    };
                    left.extend(
                        (0..)
                            .zip(arguments)
                            .map(|(index, argument)| (argument, access(index))),
                    );
                }
                ExprKind::Opaque(arguments) => {
                    left.extend(arguments.iter().map(|argument| (argument, OTHERWISE)));
                }
                ExprKind::Call(callee, arguments) => {
                    if seen.insert(*callee) {
                        waiting.push(*callee);
                    }
                    let callee = shader.functions.get(callee.0 as usize);
                    let access = |index: usize| match callee.and_then(|callee| callee.parameters.get(index)) {
                        Some(parameter) if parameter.direction == Direction::In => LOAD,
                        Some(parameter) if parameter.direction == Direction::Out => STORE,
                        _ => BOTH,
                    };
                    left.extend(
                        (0..)
                            .zip(arguments)
                            .map(|(index, argument)| (argument, access(index))),
                    );
                }
                ExprKind::Method {
                    object,
                    method,
                    arguments,
                } => {
                    let access = match method {
                        Method::GetDimensions => None,
                        Method::Load { .. } => Some(LOAD),
                        Method::Store { .. } => Some(STORE),
                        _ => Some(OTHERWISE),
                    };
                    match (&object.kind, access) {
                        (ExprKind::Global(_), None) => {}
                        (ExprKind::Global(global), Some(access)) => note(global, access),
                        _ => left.push((object, OTHERWISE)),
                    }
                    left.extend(arguments.iter().map(|argument| (argument, LOAD)));
                }
                _ => left.extend(expr.children().map(|part| (part, LOAD))),
            }
        }
    }
    uses
}

/// What the run knows of a tile.
pub(crate) struct Tile {
    resource: GlobalId,
    /// The length of its array.
    elements: u32,
    /// The stride of the index from one element to the next.
    stride: u32,
    start: Option<Start>,
    /// The run saw a store that may lie outside.
    strays: bool,
}

/// Where a tile begins.
struct Start {
    /// The terms that all indices have in common.
    parts: Vec<Part>,
    is_of_group: bool,
    /// The number of elements up to where the next group's begin.
    reach: u32,
}

impl Tile {
    /// The element that an index names, counted from the tile's start; `None` if that is not known. The first
    /// suitable index fixes where the tile begins.
    fn element(&mut self, terms: &Terms, index: &Value) -> Option<u32> {
        let (parts, constant) = match index {
            Value::Known(word) => (Vec::new(), *word),
            Value::Run { operator, start, end } if *operator == Operator::Add || end - start == 1 => {
                let (start, end) = (*start, *end);
                (
                    vec![Part {
                        start,
                        end,
                        factor: 1,
                    }],
                    0,
                )
            }
            Value::Sum(sum) if sum.operator == Operator::Add => (sum.parts.clone(), sum.constant),
            _ => return None,
        };
        match &self.start {
            Some(start) if start.parts == parts => {}
            Some(_) => return None,
            None => self.start = Some(self.begin(terms, parts)?),
        }
        constant
            .is_multiple_of(self.stride)
            .then_some(constant / self.stride)
    }

    /// Takes these parts as the start, if they are the same for all threads of a group, and if groups whose starts
    /// differ share no element.
    fn begin(&self, terms: &Terms, parts: Vec<Part>) -> Option<Start> {
        let mut step = None;
        for part in &parts {
            for atom in part.start..part.end {
                match terms.term(atom)? {
                    Term::Apply(Op::Uniform { .. }, []) => {}
                    Term::Apply(Op::GroupId(_), _) if step.is_none() => step = Some(part.factor),
                    _ => return None,
                }
            }
        }
        let reach = match step {
            Some(step) if step > MAX_STEP || !step.is_multiple_of(self.stride) => return None,
            Some(step) => self.elements.min(step / self.stride),
            None => self.elements,
        };
        Some(Start {
            parts,
            is_of_group: step.is_some(),
            reach,
        })
    }

    fn extent(&self, terms: &Terms) -> Extent {
        let parts = self.start.iter().flat_map(|start| &start.parts);
        let atoms = parts.flat_map(|part| (part.start..part.end).map(|atom| (part.factor, atom)));
        let words: Vec<String> = atoms
            .map(|(factor, atom)| {
                let name = match terms.term(atom) {
                    Some(Term::Apply(Op::GroupId(component), _)) => {
                        let letter = ["x", "y", "z"].get(usize::from(*component));
                        format!("SV_GroupID.{}", letter.copied().unwrap_or_default())
                    }
                    Some(Term::Apply(Op::Uniform { name, component: 0 }, _)) => terms.name(*name).to_owned(),
                    Some(Term::Apply(Op::Uniform { name, component }, _)) => {
                        format!("{}[{component}]", terms.name(*name))
                    }
                    _ => String::new(),
                };
                match factor {
                    1 => name,
                    factor => format!("{} * {name}", factor.cast_signed()),
                }
            })
            .collect();
        Extent {
            resource: self.resource,
            start: words.join(" + "),
            stride: self.stride,
        }
    }
}

impl<'a, O: Observer> Machine<'a, O> {
    /// Turns the arrays of a [`TiledKernel`] into tiles.
    pub fn open_tiles(&mut self, resources: &[(GlobalId, u32)]) {
        for (resource, stride) in resources {
            let Some(number) = self
                .state
                .shared
                .iter()
                .position(|array| array.global == *resource)
            else {
                continue;
            };
            let Some(Type::Array(element, elements)) = self
                .shader
                .globals
                .get(resource.0 as usize)
                .map(|global| &global.ty)
            else {
                continue;
            };
            let width = self.shader.components(element);
            let cells = (0..*elements as usize * width)
                .map(|_| self.terms.fresh())
                .collect();
            let mut tile = Shared::new(*resource, cells);
            tile.on_device = true;
            self.state.shared[number] = tile;
            self.tiles.push(Tile {
                resource: *resource,
                elements: *elements,
                stride: *stride,
                start: None,
                strays: false,
            });
        }
    }

    fn tile(&mut self, resource: GlobalId) -> Option<&mut Tile> {
        self.tiles.iter_mut().find(|tile| tile.resource == resource)
    }

    /// Notes a store that may lie outside an array, perhaps in another group's tile. Stores of a trial do not
    /// count, since the trial's code also runs on its own.
    pub fn strays(&mut self, array: GlobalId) {
        let is_probing = self.observer.is_trying();
        if let Some(tile) = self.tile(array) {
            tile.strays |= !is_probing;
        }
    }

    /// The place of a resource's elements at an index, in its tile.
    pub fn place_in_tile(&mut self, resource: GlobalId, index: &Column, size: Size) -> Place {
        O::uses_as_place(self, index);
        let active = self.state.active;
        let number = self.tiles.iter().position(|tile| tile.resource == resource);
        let base = Column::from_fn(self.lanes, |thread| {
            if !active.contains(thread) {
                return Value::Known(0);
            }
            let tile = number.and_then(|number| self.tiles.get_mut(number));
            let element = tile.and_then(|tile| {
                let element = tile.element(self.terms, index.at(thread))?;
                let reach = tile.start.as_ref().map_or(0, |start| start.reach);
                let last = element.saturating_add(size.elements - 1);
                Some((element, last < reach))
            });
            match element {
                Some((element, true)) => Value::Known(element.saturating_mul(size.components)),
                Some((element, false)) => outside(element),
                None => self.terms.fresh(),
            }
        });
        Place {
            root: Root::Shared(resource),
            base,
            components: Components::first_of((size.elements * size.components) as usize),
        }
    }

    /// Methods of a resource that is modelled through a tile.
    pub fn method_of_tile(
        &mut self,
        resource: GlobalId,
        object: &'a Expr,
        method: &Method,
        arguments: &'a [Expr],
        expr: &'a Expr,
    ) -> Run<Vec<Column>> {
        let (at, value) = match (method, arguments) {
            (Method::GetDimensions, _) => return self.opaque(arguments, expr),
            (Method::Store { .. }, [at, value]) => (at, Some(value)),
            (Method::Load { .. }, [at]) => (at, None),
            // A resource with any other method has no tile.
            _ => return Self::stop("an unsupported method", expr.span),
        };
        let is_by_address = matches!(object.ty, Type::Resource(kind, _) if kind.is_by_address());
        let ty = value.map_or(&expr.ty, |value| &value.ty);
        let count = self.shader.components(ty) as u32;
        if count == 0 || (is_by_address && !ty.scalar().is_some_and(Scalar::is_word)) {
            return Self::stop("an unsupported method", expr.span);
        }
        let Some(index) = self.eval(at)?.into_iter().next() else {
            return Self::stop("an unsupported index", expr.span);
        };
        let values = match value {
            Some(value) => Some(self.eval(value)?),
            None => None,
        };
        let size = if is_by_address {
            Size {
                elements: count,
                components: 1,
            }
        } else {
            Size::element(count)
        };
        let place = self.place_in_tile(resource, &index, size);
        match values {
            Some(values) => {
                self.store(&place, &values, expr.span)?;
                Ok(Vec::new())
            }
            None => Ok(self.load(&place, expr.span)),
        }
    }

    /// The extents of the tiles of these resources. `None` if the elements of one of them may not be this
    /// group's.
    pub fn tile_extents(&self, resources: &[GlobalId], is_to_the_end: bool) -> Option<Vec<Extent>> {
        let used = self
            .tiles
            .iter()
            .filter(|tile| resources.contains(&tile.resource));
        let extents = used.map(|tile| {
            let start = tile.start.as_ref()?;
            let holds = !start.is_of_group || is_to_the_end && !tile.strays;
            holds.then(|| tile.extent(self.terms))
        });
        extents.collect()
    }

    /// Whether this atom is the same for all groups. An atom that differs between groups must not be replaced by a
    /// number: that would hide that their tiles share elements.
    pub fn is_same_for_all_groups(&self, atom: u32) -> bool {
        match self.terms.term(atom) {
            Some(Term::Apply(Op::Uniform { .. }, arguments)) => arguments.is_empty(),
            Some(Term::Apply(Op::Load { .. }, arguments)) => {
                arguments.iter().all(|argument| argument.known().is_some())
            }
            _ => false,
        }
    }
}
