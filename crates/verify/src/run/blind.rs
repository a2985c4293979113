//! Buffers with cells that atomics change and that affect nothing else.

use std::collections::{BTreeMap, BTreeSet};

use naga::valid::FunctionInfo;
use naga::{AtomicFunction, Block, Expression, Function, GlobalVariable, Handle, LocalVariable, Statement};

use crate::{Binding, Lowered};

/// The numbers of the bindings whose cells only commuting atomics change, if the kernel uses none of the values that
/// these return, and does not read the cells otherwise.
///
/// Such a kernel behaves the same whatever the initial cells and the order of the atomics. So any initial words are
/// safe: they cannot lead two kernels to different paths or into endless loops. The kernels then differ only if they
/// change a cell differently, for example with an `Or` instead of a `Max`. A kernel that claims slots is not blind:
/// with other initial words, a slot may be beyond the end of the list.
pub(super) fn blind_cells(kernel: &Lowered) -> BTreeSet<u32> {
    let module = &kernel.module;
    let functions = module
        .functions
        .iter()
        .map(|(handle, function)| (function, &kernel.info[handle]));
    let entries = (module.entry_points.iter().enumerate())
        .map(|(number, entry)| (&entry.function, kernel.info.get_entry_point(number)));
    let mut is_blind: BTreeMap<Handle<GlobalVariable>, bool> = BTreeMap::new();
    for (function, info) in functions.chain(entries) {
        let uses = Uses::new(function, info);
        for (global, is_one) in uses.atomics() {
            let known = is_blind.entry(global).or_insert(true);
            *known &= is_one;
        }
    }
    let variable = |binding: &&Binding| {
        let mut globals = module.global_variables.iter();
        let of = globals.find(|(_, global)| global.binding.is_some_and(|at| at.binding == binding.binding));
        of.is_some_and(|(handle, _)| is_blind.get(&handle) == Some(&true))
    };
    let bindings = kernel.bindings.iter().filter(variable);
    bindings.map(|binding| binding.binding).collect()
}

/// The pointers and values in the statements of a function.
struct Uses<'f> {
    function: &'f Function,
    info: &'f FunctionInfo,
    /// Pointers and the values stored there.
    stores: Vec<(Handle<Expression>, Handle<Expression>)>,
    atomics: Vec<(Handle<Expression>, AtomicFunction, Option<Handle<Expression>>)>,
}

impl<'f> Uses<'f> {
    fn new(function: &'f Function, info: &'f FunctionInfo) -> Self {
        let mut uses = Uses {
            function,
            info,
            stores: Vec::new(),
            atomics: Vec::new(),
        };
        let mut waiting = vec![&function.body];
        while let Some(block) = waiting.pop() {
            for statement in block {
                waiting.extend(uses.note(statement));
            }
        }
        uses
    }

    /// Notes a statement. Returns the blocks inside it.
    fn note<'s>(&mut self, statement: &'s Statement) -> Vec<&'s Block> {
        match statement {
            Statement::Store { pointer, value } => self.stores.push((*pointer, *value)),
            Statement::Atomic {
                pointer, fun, result, ..
            } => self.atomics.push((*pointer, *fun, *result)),
            Statement::Block(block) => return vec![block],
            Statement::If { accept, reject, .. } => return vec![accept, reject],
            Statement::Switch { cases, .. } => return cases.iter().map(|case| &case.body).collect(),
            Statement::Loop { body, continuing, .. } => return vec![body, continuing],
            _ => {}
        }
        Vec::new()
    }

    /// The globals that this function changes atomically or reads, and whether it is blind to their contents.
    fn atomics(&self) -> Vec<(Handle<GlobalVariable>, bool)> {
        let mut all = Vec::new();
        for (pointer, fun, result) in &self.atomics {
            let commutes = !matches!(fun, AtomicFunction::Exchange { .. });
            let is_unused = result.is_none_or(|result| self.is_dead(result, &mut BTreeSet::new()));
            all.extend(
                self.global(*pointer)
                    .map(|global| (global, commutes && is_unused)),
            );
        }
        for (_, expression) in self.function.expressions.iter() {
            if let Expression::Load { pointer } = expression {
                all.extend(self.global(*pointer).map(|global| (global, false)));
            }
        }
        all
    }

    fn global(&self, pointer: Handle<Expression>) -> Option<Handle<GlobalVariable>> {
        let mut at = pointer;
        loop {
            match &self.function.expressions[at] {
                Expression::GlobalVariable(global) => return Some(*global),
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => at = *base,
                _ => return None,
            }
        }
    }

    /// Whether a value is only stored in variables that are never read, or whose values are dead in turn.
    fn is_dead(&self, value: Handle<Expression>, seen: &mut BTreeSet<Handle<LocalVariable>>) -> bool {
        let variables: Vec<Option<Handle<LocalVariable>>> = (self.stores.iter())
            .filter(|(_, stored)| *stored == value)
            .map(|(pointer, _)| self.variable(*pointer))
            .collect();
        self.info[value].ref_count == variables.len()
            && variables.into_iter().all(|variable| {
                variable
                    .is_some_and(|variable| seen.insert(variable) && self.is_dead_variable(variable, seen))
            })
    }

    fn is_dead_variable(
        &self,
        variable: Handle<LocalVariable>,
        seen: &mut BTreeSet<Handle<LocalVariable>>,
    ) -> bool {
        let is_it = |pointer: Handle<Expression>| self.variable(pointer) == Some(variable);
        let expressions = || self.function.expressions.iter();
        let uses: usize = expressions()
            .filter(|(handle, _)| is_it(*handle))
            .map(|(handle, _)| self.info[handle].ref_count)
            .sum();
        let stores = self.stores.iter().filter(|(pointer, _)| is_it(*pointer)).count();
        let loads: Vec<Handle<Expression>> = expressions()
            .filter(|(_, expression)| matches!(expression, Expression::Load { pointer } if is_it(*pointer)))
            .map(|(handle, _)| handle)
            .collect();
        uses == stores + loads.len() && loads.into_iter().all(|load| self.is_dead(load, seen))
    }

    fn variable(&self, pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        match &self.function.expressions[pointer] {
            Expression::LocalVariable(variable) => Some(*variable),
            _ => None,
        }
    }
}
