//! Values that the host sets: their names, and which conditions depend on nothing else.

use std::collections::BTreeSet;

use shaderlint_hlsl::{BinaryOp, ResourceKind, Scalar, Type};

use crate::exec::{Machine, Observer};
use crate::finding::Instance;
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Term, Terms};

/// The nesting depth of operations up to which a condition is examined.
const MAX_DEPTH: u32 = 16;

/// How many atoms of a condition are examined.
const MAX_LOOKED_AT: usize = 1024;

/// More than any group has threads.
pub(crate) const MANY: u32 = 1 << 20;

/// Values of the host for which all threads are within bounds.
#[derive(Default)]
pub(crate) struct Within {
    /// Words by atom.
    pub atoms: Vec<(u32, u32)>,
    /// The same for the message.
    pub said: Vec<Instance>,
}

impl<O: Observer> Machine<'_, O> {
    /// The name and type of a component of a value that the host sets.
    pub fn host_name(&self, name: Symbol, component: u32) -> Option<(String, Scalar)> {
        let mut name = self.terms.name(name).to_owned();
        let global = self.shader.globals.iter().find(|global| global.name == name)?;
        let (mut ty, mut component) = (&global.ty, component);
        loop {
            match ty {
                Type::Resource(ResourceKind::ConstantBuffer, Some(element)) => ty = element,
                Type::Array(element, _) => {
                    let size = u32::try_from(self.shader.components(element)).ok()?.max(1);
                    name = format!("{name}[{}]", component / size);
                    (ty, component) = (element, component % size);
                }
                Type::Struct(id) => {
                    let fields = &self.shader.structs.get(id.0 as usize)?.fields;
                    let size = |ty: &Type| u32::try_from(self.shader.components(ty)).unwrap_or(u32::MAX);
                    let field = fields.iter().find(|field| {
                        let is_here = component < size(&field.ty);
                        if !is_here {
                            component -= size(&field.ty);
                        }
                        is_here
                    })?;
                    name.push_str(&field.selector());
                    ty = &field.ty;
                }
                Type::Scalar(scalar) => return Some((name, *scalar)),
                Type::Vector(scalar, _) => {
                    let part = ["x", "y", "z", "w"].get(component as usize)?;
                    return Some((format!("{name}.{part}"), *scalar));
                }
                Type::Matrix(scalar, _, columns) => {
                    let columns = u32::from(*columns).max(1);
                    let (row, column) = (component / columns, component % columns);
                    return Some((format!("{name}[{row}][{column}]"), *scalar));
                }
                _ => return None,
            }
        }
    }

    /// As [`Self::within_bounds`], for a condition that another condition extends: the other depends on the same
    /// values of the host, and perhaps on more.
    pub fn within_bounds_of(&self, condition: &Value, other: &Value) -> Option<Within> {
        let within = self.within_bounds(&[condition])?;
        let of_other = self.terms.host_values(other);
        let mut bounds = within.atoms.iter().map(|(atom, _)| *atom);
        let is_shared = bounds.all(|atom| self.terms.name_of(atom).is_none() || of_other.contains(&atom));
        is_shared.then_some(within)
    }

    /// Changes these values to those of the second group of a dispatch, if the condition fails in the first group and
    /// holds in the second.
    pub fn in_a_group(&self, mut within: Within, condition: &Value) -> Within {
        let mut atoms = BTreeSet::new();
        if !self.terms.is_of_the_host(condition, &mut atoms, 0) {
            return within;
        }
        let axis = |atom: &u32| match self.terms.term(*atom) {
            Some(Term::Apply(Op::GroupId(axis), _)) => Some((*atom, *axis)),
            _ => None,
        };
        atoms.retain(|atom| within.atoms.iter().all(|(known, _)| known != atom));
        let of_group: Vec<(u32, u8)> = atoms.iter().filter_map(axis).collect();
        let with = |number: u32| {
            let groups = of_group.iter().map(|(atom, _)| (*atom, number));
            within.atoms.iter().copied().chain(groups).collect::<Vec<_>>()
        };
        let holds = |number: u32| {
            let word = self.terms.value_given(condition, &with(number));
            word.is_some_and(|word| word != 0)
        };
        if !of_group.is_empty() && !holds(0) && holds(1) {
            within.atoms = with(1);
            let groups = of_group.iter().map(|(_, axis)| {
                let letter = ["x", "y", "z"]
                    .get(usize::from(*axis))
                    .copied()
                    .unwrap_or_default();
                Instance {
                    bound: format!("SV_GroupID.{letter}"),
                    value: 1,
                }
            });
            within.said.splice(0..0, groups.collect::<Vec<_>>());
        }
        within
    }

    /// Values of the host for which all threads are within bounds, if the conditions hold for them in the first
    /// group: `id.x < Count` and `id.x + 8 < Count` hold if `Count` is the number of threads. `Levels != 1` and
    /// `Levels != 2` hold, too: the message names 3 for `Levels`, which a host may well set.
    ///
    /// That two conditions hold for some values is not enough: a host may well ensure that only one of them holds at
    /// a time. But a host that has a kernel work on `Count` elements also has it work on as many as there are
    /// threads, and on very many. So conditions that depend only on the host and hold for both numbers are bounds.
    /// All conditions have to depend on the same values, so that two flags are no bounds.
    pub fn within_bounds(&self, conditions: &[&Value]) -> Option<Within> {
        let mut atoms = BTreeSet::new();
        let mut bounds: Option<Vec<(u32, (Symbol, u32))>> = None;
        for condition in conditions {
            let mut of_this = BTreeSet::new();
            if !self.terms.is_of_the_host(condition, &mut of_this, 0) {
                return None;
            }
            let named = of_this
                .iter()
                .filter_map(|atom| Some((*atom, self.terms.name_of(*atom)?)));
            let named: Vec<(u32, (Symbol, u32))> = named.collect();
            if named.is_empty() || bounds.as_ref().is_some_and(|known| *known != named) {
                return None;
            }
            bounds = Some(named);
            atoms.append(&mut of_this);
        }
        let bounds = bounds?;
        let bounds: Option<Vec<(u32, String, Scalar)>> = bounds
            .into_iter()
            .map(|(atom, (name, component))| {
                let (name, scalar) = self.host_name(name, component)?;
                Some((atom, name, scalar))
            })
            .collect();
        let bounds = bounds?;
        let by_group: Vec<u32> = atoms
            .into_iter()
            .filter(|atom| matches!(self.terms.term(*atom), Some(Term::Apply(Op::GroupId(_), _))))
            .collect();
        let given = |number: u32| -> Option<Vec<(u32, u32)>> {
            let word = |scalar: Scalar| match scalar {
                Scalar::Int | Scalar::Uint => Some(number),
                Scalar::Float => Some((number as f32).to_bits()),
                _ => None,
            };
            let of_bounds = bounds
                .iter()
                .map(|(atom, _, scalar)| Some((*atom, word(*scalar)?)));
            let of_group = by_group.iter().map(|atom| Some((*atom, 0)));
            of_bounds.chain(of_group).collect()
        };
        let holds = |given: &[(u32, u32)]| {
            conditions.iter().all(|condition| {
                let word = self.terms.value_given(condition, given);
                word.is_some_and(|word| word != 0)
            })
        };
        let mut number = self.lanes as u32;
        let mut atoms = given(number)?;
        if !(holds(&atoms) && holds(&given(MANY)?)) {
            return None;
        }
        // A choice rather than a bound: the host may well choose the next number after those that the
        // conditions compare with.
        let next = self.terms.next_choice(conditions).filter(|next| *next < number);
        if let Some(next) = next
            && let Some(chosen) = given(next).filter(|chosen| holds(chosen))
        {
            (number, atoms) = (next, chosen);
        }
        let group = (!by_group.is_empty()).then(Instance::first_group);
        let bounds = bounds
            .into_iter()
            .map(|(_, bound, _)| Instance { bound, value: number });
        Some(Within {
            atoms,
            said: group.into_iter().chain(bounds).collect(),
        })
    }
}

impl Terms {
    /// One more than the greatest number that the conditions compare with by equality; `None` if they compare in
    /// other ways.
    fn next_choice(&self, conditions: &[&Value]) -> Option<u32> {
        let mut greatest = None;
        let mut seen = BTreeSet::new();
        let mut left: Vec<Value> = conditions.iter().map(|condition| (*condition).clone()).collect();
        while let Some(value) = left.pop() {
            for atom in value.atoms() {
                if seen.len() >= MAX_LOOKED_AT || !seen.insert(atom) {
                    continue;
                }
                let Some(Term::Apply(op, arguments)) = self.term(atom) else {
                    continue;
                };
                match op {
                    Op::Binary(BinaryOp::Equal, Scalar::Int | Scalar::Uint) => {
                        greatest = greatest.max(arguments.iter().filter_map(Value::known).max());
                    }
                    Op::Binary(BinaryOp::Less | BinaryOp::LessEqual, _) => return None,
                    _ => {}
                }
                left.extend(arguments.iter().cloned());
            }
        }
        greatest?.checked_add(1)
    }

    /// The values of the host that a value depends on, as far as it is examined.
    fn host_values(&self, value: &Value) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut left = vec![value.clone()];
        while let Some(value) = left.pop() {
            for atom in value.atoms() {
                if seen.len() >= MAX_LOOKED_AT || !seen.insert(atom) {
                    continue;
                }
                if self.name_of(atom).is_some() {
                    found.insert(atom);
                } else if let Some(Term::Apply(_, arguments)) = self.term(atom) {
                    left.extend(arguments.iter().cloned());
                }
            }
        }
        found
    }

    /// Whether a value depends on nothing unknown except what the host sets. Collects the atoms in it.
    pub fn is_of_the_host(&self, value: &Value, seen: &mut BTreeSet<u32>, depth: u32) -> bool {
        value.atoms().all(|atom| {
            if !seen.insert(atom) {
                return true;
            }
            match self.term(atom) {
                Some(Term::Apply(Op::Uniform { .. }, arguments)) => arguments.is_empty(),
                Some(Term::Apply(Op::GroupId(_), _)) => true,
                Some(Term::Apply(op, arguments)) if op.is_arithmetic() => {
                    depth < MAX_DEPTH
                        && arguments
                            .iter()
                            .all(|argument| self.is_of_the_host(argument, seen, depth + 1))
                }
                _ => false,
            }
        })
    }

    pub fn name_of(&self, atom: u32) -> Option<(Symbol, u32)> {
        match self.term(atom)? {
            Term::Apply(Op::Uniform { name, component }, _) => Some((*name, *component)),
            _ => None,
        }
    }
}
