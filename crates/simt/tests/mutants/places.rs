//! What expressions name, and loading and storing there.

use shaderlint_hlsl::{Expr, ExprKind, GlobalId, ResourceKind, Storage, Type};

use super::{Cell, Compiler, Memory, Op, Place, Result, Slot};

impl Compiler<'_> {
    pub(super) fn place(&mut self, expr: &Expr) -> Result<Place> {
        let count = self.shader.components(&expr.ty) as u32;
        let whole = |memory| Place {
            memory: Some(memory),
            value: Vec::new(),
            at: None,
            components: (0..count).collect(),
        };
        match &expr.kind {
            ExprKind::Local(local) => {
                let (first, count) = self.local(*local);
                Ok(whole(Memory::Slots(first, count)))
            }
            ExprKind::Global(id) => {
                let global = &self.shader.globals[id.0 as usize];
                Ok(match global.storage {
                    Storage::Groupshared => {
                        let arrays = &self.program.shared;
                        let position = arrays.iter().position(|(known, _)| known == id);
                        whole(Memory::Shared(position.ok_or("an unknown array")?))
                    }
                    Storage::Resource | Storage::Uniform => {
                        let scalar = match &global.ty {
                            Type::Resource(
                                ResourceKind::StructuredBuffer
                                | ResourceKind::RwStructuredBuffer
                                | ResourceKind::Buffer
                                | ResourceKind::RwBuffer,
                                Some(element),
                            ) => Self::scalar(element)?,
                            other => Self::scalar(other)?,
                        };
                        let name = global.name.clone();
                        self.program.resources.insert(*id, (scalar, name));
                        let (resource, index) = (*id, Vec::new());
                        whole(Memory::Device { resource, index })
                    }
                    Storage::Const => {
                        let (first, count) = self.constant(*id)?;
                        whole(Memory::Slots(first, count))
                    }
                    Storage::Static => return Err("a static variable".into()),
                    Storage::Unknown => return Err("a variable of an unknown storage class".into()),
                })
            }
            ExprKind::Index(base, index) => {
                let mut place = self.place(base)?;
                let index = self.eval(index)?;
                if let (Type::Resource(..), Some(Memory::Device { index: indices, .. })) =
                    (&base.ty, &mut place.memory)
                {
                    indices.extend(index);
                    place.components = (0..count).collect();
                    return Ok(place);
                }
                let (stride, length) = match &base.ty {
                    Type::Array(_, length) => (count, *length),
                    Type::Vector(_, length) => (1, u32::from(*length)),
                    Type::Matrix(_, rows, columns) => (u32::from(*columns), u32::from(*rows)),
                    other => return Err(format!("an index into {other:?}")),
                };
                let is_plain = matches!(place.memory, Some(Memory::Slots(..) | Memory::Shared(_)));
                let start = place.components.first().copied().unwrap_or(0);
                if !is_plain || !(start..).zip(&place.components).all(|(a, b)| a == *b) {
                    return Err("an index into something picked apart".into());
                }
                let to = self.fresh();
                let (base, index) = (place.at, index[0]);
                self.emit(Op::Index {
                    to,
                    base,
                    index,
                    stride,
                    length,
                });
                place.at = Some(to);
                place.components = (start..start + count).collect();
                Ok(place)
            }
            ExprKind::Field(base, field) => {
                let mut place = self.place(base)?;
                let Type::Struct(id) = &base.ty else {
                    return Err("a field of no struct".into());
                };
                let fields = &self.shader.structs[id.0 as usize].fields;
                let before = fields.iter().take(*field as usize);
                let skip: usize = before.map(|field| self.shader.components(&field.ty)).sum();
                let picks = skip..skip + count as usize;
                place.pick(picks);
                Ok(place)
            }
            ExprKind::Swizzle(base, picks) => {
                let mut place = self.place(base)?;
                place.pick(picks.iter().map(|pick| usize::from(*pick)));
                Ok(place)
            }
            _ => {
                let value = self.eval(expr)?;
                Ok(Place {
                    memory: None,
                    components: (0..value.len() as u32).collect(),
                    value,
                    at: None,
                })
            }
        }
    }

    /// A constant's value, put in its slots where it is first met by this thread.
    fn constant(&mut self, id: GlobalId) -> Result<(Slot, u32)> {
        let global = &self.shader.globals[id.0 as usize];
        let init = global.init.as_ref().ok_or("a constant without a value")?;
        let place = if let Some(place) = self.statics.get(&id) {
            *place
        } else {
            let place = (self.program.slots, self.shader.components(&global.ty) as u32);
            self.program.slots += place.1;
            self.statics.insert(id, place);
            place
        };
        let value = self.eval(init)?;
        for (to, from) in (place.0..).zip(value) {
            self.emit(Op::Move(to, from));
        }
        Ok(place)
    }

    pub(super) fn cells(place: &Place) -> Result<impl Iterator<Item = Cell> + '_> {
        let memory = place.memory.clone().ok_or("a value that is no place")?;
        Ok(place.components.iter().map(move |component| Cell {
            memory: memory.clone(),
            at: place.at,
            component: *component,
        }))
    }

    pub(super) fn load(&mut self, place: &Place, ty: &Type) -> Result<Vec<Slot>> {
        if place.memory.is_none() {
            let values = place.components.iter();
            return Ok(values.map(|component| place.value[*component as usize]).collect());
        }
        if matches!(ty, Type::Resource(..)) {
            return Err("a resource as a value".into());
        }
        Ok(Self::cells(place)?
            .map(|cell| {
                let to = self.fresh();
                self.emit(Op::Load(to, cell));
                to
            })
            .collect())
    }

    pub(super) fn store(&mut self, place: &Place, values: &[Slot]) -> Result<()> {
        for (cell, value) in Self::cells(place)?.zip(values) {
            self.emit(Op::Store(cell, *value));
        }
        Ok(())
    }
}

impl Place {
    fn pick(&mut self, picks: impl Iterator<Item = usize>) {
        let of = |pick: usize| *self.components.get(pick).unwrap_or(&self.components[0]);
        self.components = picks.map(of).collect();
    }
}
