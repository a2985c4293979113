//! Templates of functions: read anew for each set of types they are called with.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use tree_sitter::{Node, Parser};

use super::constants::Constant;
use super::parts::{Part, part};
use super::{Lowering, Name};
use crate::lexical::Item;
use crate::tree::{Expr, ExprKind, FunctionId};
use crate::types::Type;

/// Instances that are read inside of each other.
const MAX_DEPTH: usize = 8;
/// Bytes of templates read for all their instances.
const MAX_WORK: usize = 4 << 20;

/// What a name of a template stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Binding {
    Type(Type),
    Number(Constant),
}

/// What an instance is one of: the start of the template in the text, and what its names stand for.
type Key = (u32, Vec<Binding>);

#[derive(Default)]
pub(super) struct Templates<'a> {
    by_name: FxHashMap<Name<'a>, Vec<&'a Item>>,
    instances: Vec<(Key, FunctionId)>,
    /// The instances being read, each inside the one before.
    open: Vec<Key>,
    work: usize,
    /// The function read next is an instance: no call finds it by its name.
    pub is_open: bool,
}

impl<'a> Lowering<'a> {
    pub(super) fn declare_template(&mut self, item: &'a Item, node: Node) {
        let declarator = part(node, Part::Declarator);
        let Some(name) = declarator.and_then(|declarator| part(declarator, Part::Declarator)) else {
            return;
        };
        if name.kind() != "identifier" {
            // A specialisation, or a method outside of its struct.
            return;
        }
        let name = self.node_source(name);
        if let Some(full) = self.full_name(name) {
            self.templates.by_name.entry(full).or_default().push(item);
        }
        self.templates
            .by_name
            .entry(Cow::Borrowed(name))
            .or_default()
            .push(item);
    }

    /// The types and numbers in the `<…>` of a callee.
    pub(super) fn template_arguments(&mut self, callee: Node) -> Vec<Option<Binding>> {
        let Some(list) = part(callee, Part::Arguments) else {
            return Vec::new();
        };
        let mut cursor = list.walk();
        let nodes: Vec<Node> = list.named_children(&mut cursor).collect();
        let of_node = |node: Node| {
            let ty = self.type_at(self.span(node));
            if ty != Type::Unknown {
                return Some(Binding::Type(ty));
            }
            let value = self.expression(node);
            self.evaluate(&value).map(Binding::Number)
        };
        nodes.into_iter().map(of_node).collect()
    }

    /// The instance of a template that takes these arguments, if there is a template and it can be told.
    pub(super) fn instantiate(
        &mut self,
        name: &[u8],
        explicit: &[Option<Binding>],
        arguments: &[Expr],
    ) -> Option<FunctionId> {
        let items = self.resolve(&self.templates.by_name, name)?;
        items
            .into_iter()
            .find_map(|item| self.instance(item, explicit, arguments))
    }

    fn instance(
        &mut self,
        item: &'a Item,
        explicit: &[Option<Binding>],
        arguments: &[Expr],
    ) -> Option<FunctionId> {
        let text = item.span.slice(&self.lexed.blank);
        self.templates.work += text.len();
        if self.templates.open.len() >= MAX_DEPTH || self.templates.work > MAX_WORK {
            return None;
        }
        let mut parser = Parser::new();
        parser
            .set_language(&tree_sitter_hlsl::LANGUAGE_HLSL.into())
            .ok()?;
        let tree = parser.parse(text, None)?;
        let node = tree.root_node().named_child(0).filter(|node| !node.has_error())?;
        let outer = std::mem::replace(&mut self.base, i64::from(item.span.start));
        let found = self.instance_of(item, node, explicit, arguments);
        self.base = outer;
        found
    }

    fn instance_of(
        &mut self,
        item: &'a Item,
        node: Node,
        explicit: &[Option<Binding>],
        arguments: &[Expr],
    ) -> Option<FunctionId> {
        let key = (item.span.start, self.bindings(item, node, explicit, arguments)?);
        if self.templates.open.contains(&key) {
            // HLSL has no recursion.
            return None;
        }
        let mut instances = self.templates.instances.iter();
        if let Some((_, function)) = instances.find(|(known, _)| *known == key) {
            return self.best_overload(&[*function], arguments, 0);
        }
        // The names of the template, for as long as it is read.
        let mut types = Vec::new();
        let mut numbers = Vec::new();
        for (name, binding) in item.template.iter().zip(&key.1) {
            let name = Cow::Borrowed(self.source(*name));
            match binding.clone() {
                Binding::Type(ty) => types.push((name.clone(), self.types.insert(name, ty))),
                Binding::Number(value) => {
                    numbers.push((name.clone(), self.enumerators.insert(name, value)));
                }
            }
        }
        let body = std::mem::take(&mut self.body);
        let (namespace, too_deep) = (self.namespace, self.too_deep);
        self.namespace = self.namespace_of(item);
        self.templates.open.push(key.clone());
        let is_open = std::mem::replace(&mut self.templates.is_open, true);
        let function = self.function(item, node, None);
        self.templates.is_open = is_open;
        self.templates.open.pop();
        (self.namespace, self.too_deep) = (namespace, too_deep);
        self.body = body;
        for (name, before) in types.into_iter().rev() {
            match before {
                Some(ty) => self.types.insert(name, ty),
                None => self.types.remove(&name),
            };
        }
        for (name, before) in numbers.into_iter().rev() {
            match before {
                Some(value) => self.enumerators.insert(name, value),
                None => self.enumerators.remove(&name),
            };
        }
        let function = function?;
        self.templates.instances.push((key, function));
        self.best_overload(&[function], arguments, 0)
    }

    /// What the template's names stand for in a call: as given, else as the arguments tell. `None` if they do not.
    fn bindings(
        &self,
        item: &Item,
        node: Node,
        explicit: &[Option<Binding>],
        arguments: &[Expr],
    ) -> Option<Vec<Binding>> {
        if explicit.len() > item.template.len() {
            return None;
        }
        let mut bindings = explicit.to_vec();
        bindings.resize(item.template.len(), None);
        // A literal fits itself to the others.
        let is_literal = |argument: &&Expr| matches!(argument.kind, ExprKind::Literal(_));
        let parameters = part(part(node, Part::Declarator)?, Part::Parameters)?;
        let mut cursor = parameters.walk();
        let parameters: Vec<Node> = parameters
            .named_children(&mut cursor)
            .filter(|child| child.kind() != "comment")
            .collect();
        let given: Vec<bool> = bindings.iter().map(Option::is_some).collect();
        for literals in [false, true] {
            for (parameter, argument) in parameters.iter().zip(arguments) {
                if is_literal(&argument) != literals {
                    continue;
                }
                let written = part(*parameter, Part::Type).map_or(&[][..], |ty| self.node_source(ty));
                let Some((name, ty)) = deduced(written, &argument.ty) else {
                    continue;
                };
                let at = item.template.iter().position(|own| self.source(*own) == name);
                let Some(at) = at.filter(|&at| !given.get(at).copied().unwrap_or(true)) else {
                    continue;
                };
                let is_array = part(*parameter, Part::Declarator)
                    .is_some_and(|declarator| declarator.kind() == "array_declarator");
                if ty == Type::Unknown || is_array {
                    return None;
                }
                let ty = Some(Binding::Type(ty));
                match bindings.get_mut(at) {
                    Some(slot) if slot.is_none() => *slot = ty,
                    Some(slot) if *slot != ty && !literals => return None,
                    _ => {}
                }
            }
        }
        bindings.into_iter().collect()
    }
}

/// The name of a type in a parameter written `T` or `vector<T, …>`, and what an argument says it is.
fn deduced<'w>(written: &'w [u8], argument: &Type) -> Option<(&'w [u8], Type)> {
    let written = written.trim_ascii();
    let Some(inner) = written.strip_prefix(b"vector") else {
        return Some((written, argument.clone()));
    };
    let inner = inner.trim_ascii_start().strip_prefix(b"<")?;
    let end = inner.iter().position(|byte| *byte == b',')?;
    let scalar = argument.scalar().map_or(Type::Unknown, Type::Scalar);
    Some((inner.get(..end)?.trim_ascii(), scalar))
}
