//! Resolves an expression of a resource's type to its resource: a global, an element of an array of globals, an entry
//! of a heap, or the result of a function.
//!
//! A handle is a global and the indices that select the resource in an array or in the heap. Two expressions are
//! known to stand for one resource if both parts are equal as terms: the indices of a heap are terms of the text and
//! all that it is given. Two expressions are never known to stand for different resources. A handle that differs by
//! thread stays separate by thread: an atomic on it has an address of each thread's own.
//!
//! A function returns a resource as it returns any value, in columns: a mark, the global, the indices. So the run
//! joins the results of several `return`s as it joins values. The resource is one global's only if mark and global
//! are the same for all threads; the mark encodes the number of indices. Where threads returned nothing, the mark is
//! 0; where it is not known which `return` they took, it is a term that is no number. In either case nothing is known
//! of the resource.

use shaderlint_hlsl::{Expr, ExprKind, GlobalId, LocalId, ResourceKind, Shader, Type};

use crate::exec::Observer;
use crate::exec::place::Root;
use crate::exec::{Machine, Run};
use crate::terms::column::Column;
use crate::terms::value::Value;

/// A resource, and the indices that select it among several.
pub(crate) type Handle = (GlobalId, Vec<Column>);

/// Stands for a resource that is none of the shader's globals; its index identifies it.
pub(crate) const FROM_HEAP: GlobalId = GlobalId(u32::MAX);
/// The same for a resource that no shader writes to.
pub(crate) const CONSTANT_FROM_HEAP: GlobalId = GlobalId(u32::MAX - 1);

/// Stands for a resource of this kind that no global names.
pub(crate) fn from_heap(kind: ResourceKind) -> GlobalId {
    if kind.is_writable() {
        FROM_HEAP
    } else {
        CONSTANT_FROM_HEAP
    }
}

pub(crate) fn is_heap(shader: &Shader, expr: &Expr) -> bool {
    let text = expr.span.slice(&shader.text);
    matches!(text, b"ResourceDescriptorHeap" | b"SamplerDescriptorHeap")
}

impl<'a, O: Observer> Machine<'a, O> {
    /// Whether this is the descriptor heap: the same for all threads, though no operand shows that.
    pub fn is_heap(&self, expr: &Expr) -> bool {
        is_heap(self.shader, expr)
    }

    /// The resource that an expression stands for in a context of type `ty`. `None` if that is not known.
    ///
    /// The type is part of a heap's index too: the type of a resource decides the layout and meaning of its contents.
    pub fn handle(&mut self, expr: &'a Expr, ty: &Type) -> Run<Option<Handle>> {
        let named = expr.uncast();
        if let ExprKind::Call(function, arguments) = &named.kind
            && matches!(named.ty, Type::Resource(..))
        {
            let given = self.call(*function, arguments, named)?;
            return Ok(self.given_handle(&given));
        }
        let place = self.place(named)?;
        if let Some(handle) = place.on_device() {
            return Ok(Some(handle));
        }
        let mut which = self.load(&place, named.span);
        if which.is_empty() {
            return Ok(None);
        }
        which.push(self.told_by_types([ty]));
        Ok(Some((of_heap(ty), which)))
    }

    /// Encodes a resource as a function's result.
    pub fn give_handle(&mut self, value: &'a Expr, ty: &Type) -> Run<Vec<Column>> {
        let Some((GlobalId(global), indices)) = self.handle(value, ty)? else {
            return Ok(vec![Column::ZERO]);
        };
        let mark = u32::try_from(indices.len() + 1).unwrap_or(0);
        let told = [mark, global].map(|word| Column::Uniform(Value::Known(word)));
        Ok(told.into_iter().chain(indices).collect())
    }

    /// The resource that a function returned.
    fn given_handle(&self, given: &[Column]) -> Option<Handle> {
        let [mark, global, indices @ ..] = given else {
            return None;
        };
        let known = |column: &Column| column.uniform(self.state.active)?.known();
        let count = known(mark)?.checked_sub(1)?;
        let indices = indices.get(..count as usize)?;
        Some((GlobalId(known(global)?), indices.to_vec()))
    }

    /// The resource that an expression stands for, known or not.
    pub fn root_of_handle(&mut self, expr: &'a Expr) -> Run<Root> {
        Ok(match self.handle(expr, &expr.ty)? {
            Some((resource, index)) => Root::Device { resource, index },
            None => self.some_resource(&expr.ty),
        })
    }

    /// An unknown resource: each thread may have its own, and another one each time. A value loaded from it equals
    /// nothing else, and it is none of the groupshared arrays.
    pub fn some_resource(&mut self, ty: &Type) -> Root {
        let mut resource = ty;
        while let Type::Array(element, _) = resource {
            resource = element;
        }
        let index = if self.over_approximates() {
            self.unknown_by_thread()
        } else {
            Column::from_fn(self.lanes, |_| self.terms.fresh())
        };
        Root::Device {
            resource: of_heap(resource),
            index: vec![index],
        }
    }

    /// Binds a variable declared as a resource to its initialiser's resource.
    pub fn alias(&mut self, local: LocalId, init: &'a Expr, ty: &Type) -> Run<()> {
        match self.handle(init, ty)? {
            Some(handle) => {
                self.state.frame.aliases.insert(local, handle);
            }
            None => {
                self.state.frame.aliases.remove(&local);
            }
        }
        Ok(())
    }
}

/// Stands for a resource of this type that no global names.
fn of_heap(ty: &Type) -> GlobalId {
    match ty {
        Type::Resource(kind, _) => from_heap(*kind),
        _ => FROM_HEAP,
    }
}
