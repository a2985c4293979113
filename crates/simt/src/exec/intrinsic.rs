//! Intrinsic functions (barriers, waves, arithmetic), and the values of an entry point's parameters.

use std::rc::Rc;

use shaderlint_hlsl::{BinaryOp, Expr, Function, Intrinsic, Scalar, Type};

use crate::exec::Observer;
use crate::exec::{Machine, Run};
use crate::terms::column::{Column, Mask};
use crate::terms::fold;
use crate::terms::operator::Operator;
use crate::terms::value::{Op, Value};

impl<'a, O: Observer> Machine<'a, O> {
    /// Gives the current frame its variables.
    pub fn open_frame(&mut self) {
        let count = self.function().map_or(0, |function| function.locals.len());
        self.state.frame.locals = (0..count as u32)
            .map(|local| self.uninitialised(shaderlint_hlsl::LocalId(local)))
            .collect();
    }

    /// Initialises the entry point's variables and parameters, and the `static` globals.
    pub fn bind_parameters(&mut self, function: &'a Function) {
        self.open_frame();
        for parameter in &function.parameters {
            let index = parameter.local.0 as usize;
            let Some(local) = function.locals.get(index) else {
                continue;
            };
            let value = self.input(parameter.semantic.as_deref(), &local.name, &local.ty);
            if let Some(slot) = self.state.frame.locals.get_mut(index) {
                *slot = value;
            }
        }
        for id in self.named.clone() {
            let Some(global) = self.shader.globals.get(id.0 as usize) else {
                continue;
            };
            if global.storage == shaderlint_hlsl::Storage::Static {
                let count = self.parts(&global.ty).min(crate::exec::MAX_COMPONENTS);
                let value = match &global.init {
                    Some(init) => self.eval(init).unwrap_or_default(),
                    None => vec![Column::ZERO; count],
                };
                self.state.statics.insert(id, value);
            }
        }
    }

    /// The value of a parameter, or of a field of one: a struct without a semantic has those of its fields. A value
    /// without a semantic occurs in a kernel that no compiler accepts, or in a function that runs like a kernel. No
    /// two such values are known to be equal.
    fn input(&mut self, semantic: Option<&str>, name: &str, ty: &Type) -> Vec<Column> {
        let shader = self.shader;
        match (ty, semantic) {
            (Type::Struct(id), None) => {
                let fields = shader.structs.get(id.0 as usize).map_or(&[][..], |s| &s.fields);
                fields
                    .iter()
                    .flat_map(|field| {
                        let name = format!("{name}.{}", field.name);
                        self.input(field.semantic.as_deref(), &name, &field.ty)
                    })
                    .collect()
            }
            (_, Some(semantic)) => self.system_value(&semantic.to_ascii_lowercase(), ty),
            // The blank keeps this apart from every name and semantic. The case of the name is kept: another
            // case is another name.
            (_, None) => self.system_value(&format!("parameter {name}"), ty),
        }
    }

    /// The value of a parameter with this semantic, in lower case, component by component.
    fn system_value(&mut self, semantic: &str, ty: &Type) -> Vec<Column> {
        let count = self.parts(ty) as u32;
        let [width, height, _] = self.group.map(|size| size as usize);
        let lanes = self.lanes;
        let is_truth = ty.scalar() == Some(Scalar::Bool);
        let of_thread = |component: u32, thread: usize| match component {
            0 => thread % width,
            1 => thread / width % height,
            _ => thread / (width * height),
        } as u32;
        let values: Vec<Column> = (0..count)
            .map(|component| match semantic {
                "sv_groupindex" => Column::from_fn(lanes, |thread| Value::Known(thread as u32)),
                "sv_groupthreadid" => {
                    if self.group.get(component as usize) == Some(&1) {
                        return Column::ZERO;
                    }
                    Column::from_fn(lanes, |thread| Value::Known(of_thread(component, thread)))
                }
                "sv_groupid" => Column::Uniform(self.group_id(component)),
                "sv_dispatchthreadid" => {
                    let group = self.group_id(component);
                    let size = self.group.get(component as usize).copied().unwrap_or(1);
                    let first = self.terms.combine(Operator::Mul, &group, &Value::Known(size));
                    if size == 1 {
                        return Column::Uniform(first);
                    }
                    Column::from_fn(lanes, |thread| {
                        self.terms
                            .combine(Operator::Add, &first, &Value::Known(of_thread(component, thread)))
                    })
                }
                _ => {
                    let name = self.terms.symbol(semantic);
                    Column::from_fn(lanes, |thread| {
                        self.terms
                            .apply(Op::Uniform { name, component }, &[Value::Known(thread as u32)])
                    })
                }
            })
            .collect();
        if !is_truth {
            return values;
        }
        let truth = |column: &Column| {
            self.map([column], |machine, values| {
                fold::cast(machine.terms, Scalar::Uint, Scalar::Bool, values[0])
            })
        };
        values.iter().map(truth).collect()
    }

    fn group_id(&mut self, component: u32) -> Value {
        if self.assuming.is_first_group {
            return Value::Known(0);
        }
        self.terms.apply(Op::GroupId(component as u8), &[])
    }

    pub fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &'a [Expr],
        expr: &'a Expr,
    ) -> Run<Vec<Column>> {
        self.spend(expr.span)?;
        if intrinsic.is_group_barrier() {
            self.barrier(expr.span, intrinsic)?;
            return Ok(Vec::new());
        }
        if intrinsic.is_atomic() {
            return self.atomic(intrinsic, arguments, expr);
        }
        if intrinsic.is_memory_barrier() {
            Rc::make_mut(&mut self.state.barriers.passed).push(expr.span);
            self.pass_fence(
                intrinsic != Intrinsic::DeviceMemoryBarrier,
                intrinsic != Intrinsic::GroupMemoryBarrier,
            );
            return Ok(Vec::new());
        }
        if intrinsic == Intrinsic::Clip {
            return Self::stop("a discard in a kernel", expr.span);
        }
        if (0..arguments.len()).any(|index| intrinsic.may_write(index)) {
            return self.opaque(arguments, expr);
        }
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.eval(argument)?);
        }
        if intrinsic.is_wave() {
            self.report.used_waves = true;
            if self.state.barriers.waited.and(self.state.active) != Mask::EMPTY {
                // The rest of the wave waits here for a thread that may have waited.
                self.state.barriers.waited = self.state.barriers.waited.or(self.state.active);
            }
            self.state.barriers.exchanges += u32::from(!arguments.is_empty());
            for value in values.iter().flatten() {
                O::uses(self, value);
                let threads = self.state.active.threads();
                O::gives(self, threads.map(|thread| value.at(thread)));
            }
            return Ok(self.wave(intrinsic, arguments, &values, expr));
        }
        let count = self.parts(&expr.ty);
        let scalar = arguments
            .first()
            .and_then(|argument| argument.ty.scalar())
            .unwrap_or(Scalar::Uint);
        if let Some(columns) = self.arithmetic(intrinsic, scalar, &values) {
            return Ok(columns);
        }
        // Component by component if the intrinsic works so, else a term of all components.
        let by_component = intrinsic.is_by_component()
            && values
                .iter()
                .all(|value| value.len() == count || value.len() == 1);
        Ok((0..count)
            .map(|component| {
                let columns: Vec<&Column> = values
                    .iter()
                    .flat_map(|value| {
                        if by_component {
                            std::slice::from_ref(value.get(component).unwrap_or(&value[0]))
                        } else {
                            value.as_slice()
                        }
                    })
                    .collect();
                let component = if by_component { 0 } else { component as u8 };
                let op = Op::Intrinsic {
                    intrinsic,
                    scalar,
                    component,
                };
                self.map_all(&columns, |terms, values| {
                    // Compilers may reorder float operations before this one, so a known result of theirs
                    // counts only in functions that round (`terms::known_floats`).
                    let rounds = matches!(
                        intrinsic,
                        Intrinsic::Floor
                            | Intrinsic::Ceil
                            | Intrinsic::Trunc
                            | Intrinsic::Exp2
                            | Intrinsic::Pow
                    );
                    let known = |value: &Value| match value.known() {
                        None if rounds && scalar.is_float() => terms.known_float(value),
                        known => known,
                    };
                    let known: Option<Vec<u32>> = values.iter().map(known).collect();
                    let folded = known.and_then(|known| {
                        let exact = fold::intrinsic(intrinsic, scalar, &known);
                        exact.or_else(|| terms.power(intrinsic, &known))
                    });
                    match folded {
                        Some(word) => Value::Known(word),
                        None => terms.apply(op, values),
                    }
                })
            })
            .collect())
    }

    /// Intrinsics that are another spelling of ordinary arithmetic.
    fn arithmetic(
        &mut self,
        intrinsic: Intrinsic,
        scalar: Scalar,
        values: &[Vec<Column>],
    ) -> Option<Vec<Column>> {
        let zip = |machine: &mut Self, operator: Operator, a: &[Column], b: &[Column]| -> Vec<Column> {
            a.iter()
                .zip(b)
                .map(|(a, b)| {
                    machine.map([a, b], |m, v| {
                        if fold::is_open(operator, v[0], v[1]) {
                            m.terms.fresh()
                        } else {
                            m.terms.combine(operator, v[0], v[1])
                        }
                    })
                })
                .collect()
        };
        Some(match (intrinsic, values) {
            (Intrinsic::Min | Intrinsic::Max, [a, b]) => zip(self, fold::extremum(intrinsic, scalar)?, a, b),
            (Intrinsic::Clamp, [value, low, high]) => {
                let raised = zip(self, fold::extremum(Intrinsic::Max, scalar)?, value, low);
                let clamped = zip(self, fold::extremum(Intrinsic::Min, scalar)?, &raised, high);
                // Compilers differ if the lower bound is the larger one.
                let bounds = low.iter().zip(high);
                let clamped = clamped.iter().zip(bounds);
                let settle = |m: &mut Self, v: [&Value; 3]| {
                    if fold::are_ordered(scalar, v[1], v[2]) {
                        v[0].clone()
                    } else {
                        m.terms.fresh()
                    }
                };
                clamped
                    .map(|(value, (low, high))| self.map([value, low, high], settle))
                    .collect()
            }
            (Intrinsic::Mad, [a, b, c]) => {
                let product = self.binary(BinaryOp::Mul, Some(scalar), a, b);
                if scalar == Scalar::Float {
                    let sums = product.iter().zip(c);
                    return Some(
                        sums.map(|(a, c)| self.map([a, c], |m, [a, c]| m.terms.fused(a, c)))
                            .collect(),
                    );
                }
                self.binary(BinaryOp::Add, Some(scalar), &product, c)
            }
            (Intrinsic::Mul, [a, b]) if a.len() == 1 && b.len() == 1 => {
                self.binary(BinaryOp::Mul, Some(scalar), a, b)
            }
            (Intrinsic::AsUint | Intrinsic::AsInt | Intrinsic::AsFloat, [a]) if scalar.is_word() => a.clone(),
            (Intrinsic::And, [a, b]) => self.binary(BinaryOp::LogicalAnd, Some(Scalar::Bool), a, b),
            (Intrinsic::Or, [a, b]) => self.binary(BinaryOp::LogicalOr, Some(Scalar::Bool), a, b),
            (Intrinsic::Select, [condition, a, b]) => a
                .iter()
                .zip(b)
                .enumerate()
                .map(|(index, (a, b))| {
                    let condition = condition
                        .get(index)
                        .or(condition.first())
                        .unwrap_or(&Column::ZERO);
                    self.map([condition, a, b], |m, v| m.terms.select(v[0], v[1], v[2]))
                })
                .collect(),
            (Intrinsic::Any | Intrinsic::All, [a]) => {
                let zero = vec![Column::ZERO; a.len()];
                let bits = if scalar == Scalar::Bool {
                    a.clone()
                } else {
                    self.binary(BinaryOp::NotEqual, Some(scalar), a, &zero)
                };
                let op = if intrinsic == Intrinsic::Any {
                    BinaryOp::LogicalOr
                } else {
                    BinaryOp::LogicalAnd
                };
                let mut bits = bits.into_iter();
                let mut result = bits.next()?;
                for bit in bits {
                    result = self.binary(op, Some(Scalar::Bool), &[result], &[bit]).pop()?;
                }
                vec![result]
            }
            _ => return None,
        })
    }
}
