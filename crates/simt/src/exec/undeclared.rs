//! Undeclared names in an atomic's place: buffers, variables and constants of a header that was not found.
//!
//! It is not known what such a name stands for, so nothing is proved of it: it may be a macro whose text names a
//! variable of the thread's own. The run proves what holds *if* the name is the same thing in all threads, as
//! buffers, their members and constants are. The claim lists the names that it assumes this of. A name that an
//! unreadable declaration may declare is never among them.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Counter, Expr, ExprKind, Method, Shader};

use crate::exec::Observer;
use crate::exec::atomic::Cell;
use crate::exec::control;
use crate::exec::handle::{FROM_HEAP, is_heap};
use crate::exec::opaque::MAX_COUNT;
use crate::exec::place::{Components, Place, Root};
use crate::exec::{Machine, Run};
use crate::facts::calls::{after, atomic_method};
use crate::facts::naming_heuristics::{
    is_named_as_constant, is_named_as_macro, is_named_as_one, is_named_as_variable, is_of_name,
};
use crate::terms::column::Column;

/// How many characters of a statement are examined.
const MAX_CALL: usize = 1000;

impl<'a, O: Observer> Machine<'a, O> {
    /// The place of an atomic, and the names that the run assumes to be the same for all threads.
    pub fn cell(&mut self, target: &'a Expr) -> Run<(Place, BTreeSet<String>)> {
        self.assuming_uniform(Some(target), &[], |machine| {
            let mut index = Vec::new();
            if !machine.undeclared_cell(target, &mut index)? {
                return machine.place(target);
            }
            let root = Root::Device {
                resource: FROM_HEAP,
                index,
            };
            Ok(Place {
                root,
                base: Column::ZERO,
                components: Components::first_of(1),
            })
        })
    }

    /// What threads read from elements of an undeclared object with a variable's name: data, as from any buffer.
    /// `None` if all threads use one index: each of them may still read an element of its own.
    pub fn undeclared_element(&mut self, operands: &'a [Expr], expr: &'a Expr) -> Run<Option<Vec<Column>>> {
        let [object, at] = operands else { return Ok(None) };
        let is_element = self.over_approximates()
            && !self.mode.serves_lane_by_lane()
            && self.is_undeclared_variable(object)
            && matches!(after(self.shader, object, expr), Some([b'[', ..]))
            && !self.is_left_in(object)
            && at.descendants().all(looks_only);
        if !is_element {
            return Ok(None);
        }
        let at = self.eval(at)?;
        let is_one = |column: &Column| column.uniform(self.state.active).is_some();
        if at.iter().all(is_one) {
            return Ok(None);
        }
        let mut index = vec![self.named_once(object)];
        index.extend(at);
        let count = self.parts(&expr.ty).clamp(1, MAX_COUNT) as u32;
        let element = (0..count).map(|component| self.load_device(FROM_HEAP, &index, component));
        Ok(Some(element.collect()))
    }

    /// Whether this is an undeclared name of a variable.
    fn is_undeclared_variable(&mut self, expr: &Expr) -> bool {
        let name = undeclared_name(self.shader, expr);
        name.is_some_and(|name| is_named_as_variable(name) && self.is_one(name))
    }

    /// Whether threads may read back what they stored there.
    fn is_left_in(&self, object: &Expr) -> bool {
        let name = undeclared_name(self.shader, object);
        name.is_some_and(|name| self.approximation.stored.contains(name))
    }

    /// Whether nothing in the text suggests that each thread has its own object of this name: neither the name
    /// itself, nor an unreadable declaration that may be its own, nor an assignment to it, nor a macro that takes it.
    fn is_one(&mut self, name: &'a str) -> bool {
        let text = &self.shader.text;
        let is_one =
            || is_named_as_one(name) && !uses(text, name.as_bytes()).any(|used| used.may_tell_threads());
        *self.cache.undeclared.entry(name).or_insert_with(is_one)
    }

    /// Whether the index of a heap is an undeclared name, or a member of one. Such an index is the same for all
    /// threads: an index that differs has to be marked by `NonUniformResourceIndex` (HLSL specifications, INF-0003:
    /// dynamic resource binding), and nothing in the text assigns it a value, which might be marked.
    pub fn is_index_of_heap(&mut self, index: &Expr) -> bool {
        let is_path = |text: &str| text.bytes().all(|byte| is_of_name(byte) || byte == b'.');
        let text = str::from_utf8(index.span.slice(&self.shader.text)).unwrap_or_default();
        let name = undeclared_name(self.shader, root(index));
        is_path(text) && name.is_some_and(|name| self.is_one(name))
    }

    /// Stores to an element of an undeclared object with a variable's name; a macro might change more. No stored
    /// value is read back, and every load from a writable resource gives a new value. So the result is the same if
    /// the object is a variable of each thread's own.
    pub fn store_undeclared(&mut self, target: &'a Expr, value: &[Column]) -> Run<bool> {
        let Some(name) = undeclared_name(self.shader, root(target)) else {
            return Ok(false);
        };
        if !is_named_as_variable(name) || !self.over_approximates() {
            return Ok(false);
        }
        let mut index = Vec::new();
        let names = BTreeSet::from([name.to_owned()]);
        if !self.with_assumed_uniform(names, |machine| machine.undeclared_cell(target, &mut index))? {
            return Ok(false);
        }
        self.approximation.stored.insert(name.to_owned());
        for value in value {
            self.store_device(FROM_HEAP, &index, 0, value);
        }
        Ok(true)
    }

    /// Looks something up in a run for claims as if each undeclared name in a place, or in the `indices` that select
    /// a part of it, were the same thing for all threads. Returns these names, too.
    pub fn assuming_uniform<T>(
        &mut self,
        place: Option<&Expr>,
        indices: &[Expr],
        look_up: impl FnOnce(&mut Self) -> Run<T>,
    ) -> Run<(T, BTreeSet<String>)> {
        let mut names = BTreeSet::new();
        let may_assume = self.over_approximates();
        let exprs = place.into_iter().chain(indices).enumerate();
        let exprs = exprs.map(|(number, expr)| (expr, number == 0 && place.is_some()));
        let mut exprs = exprs.take_while(|_| may_assume);
        if !exprs.all(|(expr, is_place)| self.undeclared_in(expr, is_place, &mut names)) {
            names.clear();
        }
        let found = self.with_assumed_uniform(names.clone(), look_up)?;
        Ok((found, names))
    }

    fn with_assumed_uniform<T>(
        &mut self,
        names: BTreeSet<String>,
        look_up: impl FnOnce(&mut Self) -> Run<T>,
    ) -> Run<T> {
        self.approximation.assumed_uniform = (!names.is_empty()).then_some(names);
        let found = look_up(self);
        self.approximation.assumed_uniform = None;
        found
    }

    /// The result of a method that makes an atomic on an undeclared object. `None` if the expression is no such
    /// method.
    pub fn undeclared_method(&mut self, operands: &'a [Expr], expr: &'a Expr) -> Run<Option<Vec<Column>>> {
        let Some((object, arguments)) = operands.split_first().filter(|_| self.over_approximates()) else {
            return Ok(None);
        };
        let Some(method) = atomic_method(self.shader, expr) else {
            return Ok(None);
        };
        let (addresses, expected) = match method {
            Method::Atomic(_) => (1, 2..=3),
            Method::Counter(Counter::Append) => (0, 1..=1),
            // The methods of the counter.
            _ => (0, 0..=0),
        };
        if !expected.contains(&arguments.len()) {
            return Ok(None);
        }
        let Some((at, operands)) = arguments.split_at_checked(addresses) else {
            return Ok(None);
        };
        let (cell, assumed_uniform) = self.assuming_uniform(Some(object), at, |machine| {
            let mut index = Vec::new();
            if !machine.undeclared_cell(object, &mut index)? {
                return Ok(None);
            }
            for at in at {
                index.extend(machine.eval(at)?);
            }
            Ok(Some(index))
        })?;
        let Some(index) = cell else { return Ok(None) };
        let cell = Cell {
            resource: FROM_HEAP,
            index: &index,
            component: 0,
            assumed_uniform: &assumed_uniform,
        };
        let given = match method {
            Method::Atomic(intrinsic) => {
                self.atomic_on_device(intrinsic, &cell, operands, object.span, expr)?
            }
            Method::Counter(counter) => {
                self.count_on_device(counter, &cell, operands, object.span, expr, 1)?
            }
            _ => return Ok(None),
        };
        // If the object is something else, the method may write to its arguments.
        for argument in arguments.iter().take(2) {
            let variable = control::root(argument.uncast());
            if !matches!(variable.kind, ExprKind::Local(_) | ExprKind::Global(_)) {
                // A value, which was evaluated already.
                continue;
            }
            let place = self.place(variable)?;
            if matches!(place.root, Root::Local(_) | Root::Static(_) | Root::Shared(_)) {
                let changed = self.not_known(place.components.len());
                self.store(&place, &changed, argument.span)?;
            }
        }
        Ok(Some(given))
    }

    /// The value of an undeclared name that is assumed to have one value for all threads.
    pub fn assumed_uniform(&mut self, name: &Expr) -> Option<Vec<Column>> {
        let names = self.approximation.assumed_uniform.as_ref()?;
        let text = undeclared_name(self.shader, name)?;
        names.contains(text).then(|| vec![self.named_once(name)])
    }

    /// Collects the undeclared names in an expression. `false` if one of them may be another thing for each thread,
    /// or if the expression does more than look up one place: the assumption about a name would then affect values
    /// that no claim reports it for.
    ///
    /// The object of an atomic is in memory. A name in an index may be a `static` variable, which each thread has for
    /// itself, unless it is a constant's name.
    fn undeclared_in(&mut self, expr: &Expr, is_place: bool, names: &mut BTreeSet<String>) -> bool {
        if let Some(name) = undeclared_name(self.shader, expr) {
            names.insert(name.to_owned());
            return (is_place || is_named_as_constant(name)) && self.is_one(name);
        }
        let expr = expr.uncast();
        let is_part = matches!(&expr.kind, ExprKind::Opaque(parts) if is_place && !parts.is_empty());
        let mut children = expr.children().enumerate();
        looks_only(expr)
            && children.all(|(number, child)| self.undeclared_in(child, is_part && number == 0, names))
    }

    /// Whether an expression denotes an undeclared object, or an element or part of one. Appends to `index` what
    /// identifies the part.
    fn undeclared_cell(&mut self, expr: &'a Expr, index: &mut Vec<Column>) -> Run<bool> {
        if self.approximation.assumed_uniform.is_none() {
            return Ok(false);
        }
        if undeclared_name(self.shader, expr).is_some() {
            index.push(self.named_once(expr));
            return Ok(true);
        }
        let expr = expr.uncast();
        let ExprKind::Opaque(operands) = &expr.kind else {
            return Ok(false);
        };
        let Some((object, indices)) = operands.split_first() else {
            return Ok(false);
        };
        let is_part = matches!(after(self.shader, object, expr), Some([b'[' | b'.', ..]));
        if !is_part || !self.undeclared_cell(object, index)? {
            return Ok(false);
        }
        for at in indices {
            let at = self.eval(at)?;
            index.extend(at);
        }
        Ok(true)
    }
}

/// The text of an undeclared name, qualified or not.
pub(crate) fn undeclared_name<'s>(shader: &'s Shader, expr: &Expr) -> Option<&'s str> {
    let expr = expr.uncast();
    let text = str::from_utf8(expr.span.slice(&shader.text)).ok()?;
    let is_name = matches!(&expr.kind, ExprKind::Opaque(operands) if operands.is_empty())
        && !is_heap(shader, expr)
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && !matches!(text, "" | "this")
        && text.bytes().all(|byte| is_of_name(byte) || byte == b':');
    is_name.then_some(text)
}

/// The object that an element or part belongs to, where the expression is not understood.
pub(crate) fn root(expr: &Expr) -> &Expr {
    let mut root = expr.uncast();
    while let ExprKind::Opaque(operands) = &root.kind
        && let Some(object) = operands.first()
    {
        root = object.uncast();
    }
    root
}

/// Whether an expression looks up only what its parts look up, and changes nothing.
fn looks_only(expr: &Expr) -> bool {
    !matches!(
        expr.kind,
        ExprKind::Assign { .. }
            | ExprKind::Step { .. }
            | ExprKind::Call(..)
            | ExprKind::Intrinsic(..)
            | ExprKind::Method { .. }
            | ExprKind::Comma(..)
    )
}

/// An occurrence of a name in the text.
struct Used<'t> {
    before: &'t [u8],
    after: &'t [u8],
}

fn uses<'t>(text: &'t [u8], name: &'t [u8]) -> impl Iterator<Item = Used<'t>> {
    let places = memchr::memmem::find_iter(text, name);
    places.filter_map(move |start| {
        let (before, after) = (text.get(..start)?, text.get(start + name.len()..)?);
        let is_whole = !before.last().copied().is_some_and(is_of_name)
            && !after.first().copied().is_some_and(is_of_name);
        is_whole.then(|| Used {
            before: before.trim_ascii_end(),
            after: after.trim_ascii_start(),
        })
    })
}

impl Used<'_> {
    fn may_tell_threads(&self) -> bool {
        self.stands_as_declared() || self.is_assigned() || self.is_given_to_macro()
    }

    /// Whether it follows a type, a parameter's macro or another variable.
    fn stands_as_declared(&self) -> bool {
        let is_next = self.before.ends_with(b",") && matches!(self.after, [b';', ..] | [b'=', _, ..]);
        let last = self.before.last();
        is_next
            || last.is_some_and(|byte| is_of_name(*byte) || matches!(byte, b'>' | b')' | b']' | b'&' | b'*'))
    }

    /// Whether it or one of its members is assigned to.
    fn is_assigned(&self) -> bool {
        if self.before.ends_with(b"++") || self.before.ends_with(b"--") {
            return true;
        }
        let mut after = self.after;
        while let [b'.', member @ ..] = after {
            let member = member.trim_ascii_start();
            let length = member.iter().take_while(|byte| is_of_name(**byte)).count();
            after = member.get(length..).unwrap_or_default().trim_ascii_start();
        }
        match after {
            [b'=', second, ..] => *second != b'=',
            [b'+', b'+' | b'=', ..] | [b'-', b'-' | b'=', ..] => true,
            [b'*' | b'/' | b'%' | b'&' | b'|' | b'^', b'=', ..] => true,
            [b'<', b'<', b'=', ..] | [b'>', b'>', b'=', ..] => true,
            _ => false,
        }
    }

    /// Whether it is an argument of a macro. By convention, a call of a name without lowercase letters is a macro's.
    /// The macro may declare its argument, or evaluate it in one thread only.
    fn is_given_to_macro(&self) -> bool {
        let mut depth = 0;
        for (at, byte) in self.before.iter().enumerate().rev().take(MAX_CALL) {
            match byte {
                b')' => depth += 1,
                b'(' if depth > 0 => depth -= 1,
                b'(' => {
                    let called = self.before.get(..at).unwrap_or_default().trim_ascii_end();
                    let length = called.iter().rev().take_while(|byte| is_of_name(**byte)).count();
                    let (_, name) = called.split_at(called.len() - length);
                    if name.iter().any(u8::is_ascii_alphabetic) && is_named_as_macro(name) {
                        return true;
                    }
                }
                b';' | b'{' | b'}' => return false,
                _ => {}
            }
        }
        false
    }
}
