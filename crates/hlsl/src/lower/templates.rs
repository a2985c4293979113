//! Templates. Each is read again for every set of types and numbers that it is used with.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};
use tree_sitter::{Node, Tree};

use super::constants::Constant;
use super::parts::{Part, part};
use super::{Lowering, Name};
use crate::lexical::{Item, Token};
use crate::span::Span;
use crate::tree::{Expr, ExprKind, FunctionId};
use crate::type_names::{is_type_name, type_name};
use crate::types::Type;

/// The maximum depth of nested instances.
const MAX_DEPTH: usize = 8;
/// The maximum of bytes of template text read for all instances.
const MAX_WORK: usize = 4 << 20;

/// The value of a template parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Binding {
    Type(Type),
    Number(Constant),
}

/// Identifies an instance: the start of the template in the text, and the values of its parameters.
pub(super) type Key = (u32, Vec<Binding>);

#[derive(Default)]
pub(super) struct Templates<'a> {
    pub(super) functions: FxHashMap<Name<'a>, Vec<&'a Item>>,
    /// Templates of structs and aliases.
    types: FxHashMap<Name<'a>, &'a Item>,
    /// Specialisations (`template <>`): read instead of the template if its parameters have these values.
    special: Vec<(Key, &'a Item)>,
    /// Starts of templates that have a specialisation which was not understood.
    untold: FxHashSet<u32>,
    instances: Vec<(Key, FunctionId)>,
    pub type_instances: Vec<(Key, Type)>,
    /// The start of the last declaration of each name.
    declared: Option<FxHashMap<&'a [u8], u32>>,
    /// The instances being read, each inside the previous one.
    open: Vec<Key>,
    work: usize,
    /// The next function is an instance: calls do not find it by its name.
    pub is_open: bool,
}

impl Templates<'_> {
    /// Whether the current text is an instance of a template.
    pub(super) fn is_instance(&self) -> bool {
        !self.open.is_empty()
    }
}

/// The struct, function or alias that a template declares.
fn declared(tree: &Tree) -> Option<Node<'_>> {
    tree.root_node().named_child(0).filter(|node| !node.has_error())
}

impl<'a> Lowering<'a> {
    pub(super) fn declare_template(&mut self, item: &'a Item, node: Node) {
        let name = match node.kind() {
            "struct_specifier" | "class_specifier" | "alias_declaration" => part(node, Part::Name),
            "function_definition" => {
                part(node, Part::Declarator).and_then(|declarator| part(declarator, Part::Declarator))
            }
            _ => return,
        };
        let Some(name) = name else { return };
        if matches!(name.kind(), "template_type" | "template_function") {
            self.declare_special(item, name, node.kind() == "function_definition");
            return;
        }
        if !matches!(name.kind(), "identifier" | "type_identifier") {
            // A method outside of its struct.
            self.problem("unsupported template", item.span);
            return;
        }
        let full = self.full_name(self.node_source(name));
        if node.kind() == "function_definition" {
            self.templates.functions.entry(full).or_default().push(item);
        } else {
            self.templates.types.insert(full, item);
        }
    }

    /// Declares a specialisation. If its template is not clear, the candidates are not read any more.
    fn declare_special(&mut self, item: &'a Item, name: Node, is_function: bool) {
        let base = part(name, Part::Name).map_or(&[][..], |name| self.node_source(name));
        let of: Vec<&Item> = if is_function {
            self.resolve(&self.templates.functions, base).unwrap_or_default()
        } else {
            Vec::from_iter(self.resolve(&self.templates.types, base))
        };
        let given = self.template_arguments(name);
        let is_of_types = given
            .iter()
            .any(|binding| matches!(binding, Some(Binding::Type(_))));
        let may_be_told = item.template.is_empty() && !(is_of_types && self.names_qualified_types());
        let bindings = match of.as_slice() {
            [of] if may_be_told && given.len() == of.template.len() && given.iter().all(Option::is_some) => {
                self.with_defaults(of, given)
            }
            _ => None,
        };
        if let ([of], Some(bindings)) = (of.as_slice(), bindings) {
            self.templates.special.push(((of.span.start, bindings), item));
        } else {
            self.templates.untold.extend(of.iter().map(|of| of.span.start));
            self.problem("unsupported specialisation", item.span);
        }
    }

    /// Whether a type with `const` or `volatile`, before or after it or hidden in another name, may be a template
    /// argument: templates distinguish it from the plain type.
    fn names_qualified_types(&self) -> bool {
        let tokens = &self.lexed.tokens;
        let is_one_of = |at: usize, puncts: &[u8]| {
            let token = tokens.get(at);
            token.is_some_and(|token| puncts.iter().any(|punct| token.is(*punct)))
        };
        let is_qualifier = |at: &usize| {
            tokens
                .get(*at)
                .is_some_and(|token| matches!(token.word(self.text), b"const" | b"volatile"))
        };
        let names_another = |at: usize| {
            let mut before = tokens.get(..at).unwrap_or_default().iter().rev();
            let ends = |token: &&Token| [b';', b'{', b'}'].into_iter().any(|punct| token.is(punct));
            let mut statement = before.by_ref().take_while(|token| !ends(token));
            statement.any(|token| matches!(token.word(self.text), b"typedef" | b"using"))
        };
        let mut qualifiers = (0..tokens.len()).filter(is_qualifier);
        qualifiers.any(|at| {
            let is_first = at.checked_sub(1).is_some_and(|before| is_one_of(before, b"<"));
            is_first || is_one_of(at + 1, b">,") || is_one_of(at + 2, b">,") || names_another(at)
        })
    }

    /// Marks the templates that an unreadable template names: it may be a specialisation of any of them.
    pub(super) fn distrust_templates(&mut self, item: &Item) {
        let tokens = &self.lexed.tokens;
        let first = tokens.partition_point(|token| token.start < item.span.start);
        for token in tokens.get(first..).unwrap_or_default() {
            if token.start >= item.span.end || token.is(b'{') {
                break;
            }
            let name = token.word(self.text);
            let functions = self.resolve(&self.templates.functions, name).unwrap_or_default();
            let of = functions
                .into_iter()
                .chain(self.resolve(&self.templates.types, name));
            self.templates.untold.extend(of.map(|of| of.span.start));
        }
    }

    /// The types and numbers in the `<…>` of a callee or a type.
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
            // The grammar reads a lone name as a type, even if it is that of a constant.
            let lone = (node.kind() == "type_descriptor" && node.named_child_count() == 1)
                .then(|| part(node, Part::Type))
                .flatten();
            let value = self.expression(lone.unwrap_or(node));
            self.evaluate(&value).map(Binding::Number)
        };
        nodes.into_iter().map(of_node).collect()
    }

    /// The template instance that a call with these arguments means; `None` if no template takes them, or if
    /// compilers may differ.
    pub(super) fn instantiate(
        &mut self,
        name: &[u8],
        explicit: &[Option<Binding>],
        arguments: &[Expr],
    ) -> Option<FunctionId> {
        let items = self.resolve(&self.templates.functions, name)?;
        let instances = items.into_iter();
        let instances: Vec<FunctionId> = instances
            .filter_map(|item| self.instance(item, explicit, arguments))
            .collect();
        self.best_overload(&instances, arguments, 0)
    }

    /// The values of the parameters of the template `name` in a type, if the type is exactly one instance of it.
    pub(super) fn instance_of(&self, name: &[u8], ty: &Type) -> Option<Vec<Binding>> {
        let item = self.resolve(&self.templates.types, name)?;
        let known = self.templates.type_instances.iter();
        let mut known = known.filter(|((of, _), known)| *of == item.span.start && known == ty);
        let ((_, bindings), _) = known.next()?;
        known
            .all(|((_, other), _)| other == bindings)
            .then(|| bindings.clone())
    }

    /// The instance of a type template for these arguments.
    pub(super) fn type_instance(&mut self, name: &[u8], arguments: &[Option<Binding>]) -> Option<Type> {
        let item = self.resolve(&self.templates.types, name)?;
        let given = arguments.to_vec();
        let key = (item.span.start, self.with_defaults(item, given)?);
        let mut known = self.templates.type_instances.iter();
        if let Some((_, ty)) = known.find(|(known, _)| *known == key) {
            return Some(ty.clone());
        }
        let item = self.specialised(item, &key)?;
        let tree = self.parsed(item)?;
        let node = declared(&tree)?;
        let ty = self.bound(item, &key, false, |lowering| {
            if node.kind() == "alias_declaration" {
                return part(node, Part::Type).map(|ty| lowering.type_of_node(ty));
            }
            let shown = lowering.instance_name(name, &key.1);
            let body = part(node, Part::Body)?;
            Some(lowering.structure(node, Cow::Owned(shown), body, Some(&key)))
        })??;
        if !self
            .templates
            .type_instances
            .iter()
            .any(|(known, _)| *known == key)
        {
            self.templates.type_instances.push((key, ty.clone()));
        }
        Some(ty)
    }

    /// `Name<uint, 4>`, with a unique number after a `#`: several structs may have one name.
    fn instance_name(&self, name: &[u8], bindings: &[Binding]) -> Vec<u8> {
        let shown: Vec<String> = bindings
            .iter()
            .map(|binding| match binding {
                Binding::Type(ty) => type_name(&self.shader, ty),
                Binding::Number(Constant::Bool(value)) => value.to_string(),
                Binding::Number(Constant::Int(value)) => value.to_string(),
                Binding::Number(Constant::Uint(value)) => value.to_string(),
                Binding::Number(Constant::Float(value)) => value.to_string(),
            })
            .collect();
        let own = super::names::split_scope(name).map_or(name, |(_, own)| own);
        let number = self.shader.structs.len();
        let rest = format!("<{}>#{number}", shown.join(", "));
        [own, rest.as_bytes()].concat()
    }

    /// The item to read for these values: the template, or its specialisation. `None` if that is not clear.
    fn specialised(&self, item: &'a Item, key: &Key) -> Option<&'a Item> {
        if self.templates.untold.contains(&key.0) {
            return None;
        }
        let mut special = self.templates.special.iter();
        Some(special.find(|(of, _)| of == key).map_or(item, |(_, item)| *item))
    }

    /// Whether a template names something that is declared after it. The meaning of such a name in an instance
    /// depends on whether the name depends on the template's arguments, and on where it is looked up. A struct whose
    /// base may depend on the arguments counts too: a name may be found in that base.
    fn names_later(&mut self, item: &Item) -> bool {
        if self.templates.declared.is_none() {
            self.templates.declared = Some(self.last_declarations());
        }
        let tokens = self.tokens_of(item);
        let head = tokens
            .iter()
            .position(|token| token.is(b'{'))
            .unwrap_or(tokens.len());
        let is_struct = tokens[..head]
            .iter()
            .any(|token| matches!(token.word(self.text), b"struct" | b"class"));
        let mut bases = tokens[..head]
            .windows(2)
            .skip_while(|pair| !pair[0].is(b':') || pair[1].is(b':'));
        if is_struct && bases.any(|pair| pair[1].is(b'<')) {
            return true;
        }
        let declared = self.templates.declared.as_ref();
        let word = |token: Option<&Token>| token.map_or(&[][..], |token| token.word(self.text));
        // Its own names: parameters, variables, members, and itself.
        let is_type = |word: &[u8]| {
            !matches!(
                word,
                b"" | b"return" | b"else" | b"case" | b"in" | b"out" | b"inout"
            )
        };
        let own = |name: &[u8]| {
            tokens
                .windows(2)
                .any(|pair| pair[1].word(self.text) == name && is_type(pair[0].word(self.text)))
        };
        (head..tokens.len()).any(|at| {
            let name = word(tokens.get(at));
            let is_member = at > 0 && tokens[at - 1].is(b'.');
            let is_later = declared
                .and_then(|declared| declared.get(name))
                .is_some_and(|start| *start >= item.span.end);
            let is_called = tokens.get(at + 1).is_some_and(|next| next.is(b'('));
            is_later && !is_member && !is_type_name(name) && (is_called || !own(name))
        })
    }

    /// The last declaration of each name at file scope: the name is the last word before the parameters, the body,
    /// the value or the end of a declaration.
    fn last_declarations(&self) -> FxHashMap<&'a [u8], u32> {
        let mut last = FxHashMap::default();
        for item in &self.lexed.items {
            let mut depth = 0_usize;
            let mut before: &'a [u8] = &[];
            let tokens = self.tokens_of(item);
            let head = item.template.last().map_or(0, |parameter| parameter.name.end);
            for token in tokens.iter().filter(|token| token.start >= head) {
                let ends = [b'(', b'{', b'=', b';', b',', b'[', b':']
                    .into_iter()
                    .any(|punct| token.is(punct));
                if ends && depth == 0 && !before.is_empty() {
                    last.insert(before, item.span.start);
                }
                if [b'(', b'{', b'['].into_iter().any(|punct| token.is(punct)) {
                    depth += 1;
                } else if [b')', b'}', b']'].into_iter().any(|punct| token.is(punct)) {
                    depth = depth.saturating_sub(1);
                }
                before = token.word(self.text);
            }
        }
        last
    }

    /// The syntax of a template's text, within the limits.
    fn parsed(&mut self, item: &Item) -> Option<Tree> {
        if self.names_later(item) {
            return None;
        }
        let text = item.span.slice(&self.lexed.blank);
        self.templates.work += text.len();
        if self.templates.open.len() >= MAX_DEPTH || self.templates.work > MAX_WORK {
            return None;
        }
        super::parser()?.parse(text, None)
    }

    /// Reads an instance. Its parameters have the values of `key` while it is read.
    fn bound<T>(
        &mut self,
        item: &'a Item,
        key: &Key,
        is_function: bool,
        read: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        if self.templates.open.contains(key) {
            // HLSL has no recursion.
            return None;
        }
        let own = self.namespace_of(item);
        let namespace = std::mem::replace(&mut self.namespace, own);
        let mut types = Vec::new();
        let mut numbers = Vec::new();
        for (parameter, binding) in item.template.iter().zip(&key.1) {
            let name = self.full_name(self.source(parameter.name));
            match binding.clone() {
                Binding::Type(ty) => types.push((name.clone(), self.types.insert(name, ty))),
                Binding::Number(value) => {
                    numbers.push((name.clone(), self.enumerators.insert(name, (value, value.ty()))));
                }
            }
        }
        let body = std::mem::take(&mut self.body);
        let open_structs = std::mem::take(&mut self.open_structs);
        let base = std::mem::replace(&mut self.base, i64::from(item.span.start));
        let too_deep = self.too_deep;
        self.templates.open.push(key.clone());
        let is_open = std::mem::replace(&mut self.templates.is_open, is_function);
        let result = read(self);
        self.templates.is_open = is_open;
        self.templates.open.pop();
        self.too_deep = too_deep;
        self.base = base;
        self.namespace = namespace;
        self.body = body;
        self.open_structs = open_structs;
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
        Some(result)
    }

    fn instance(
        &mut self,
        item: &'a Item,
        explicit: &[Option<Binding>],
        arguments: &[Expr],
    ) -> Option<FunctionId> {
        let tree = self.parsed(item)?;
        let node = declared(&tree)?;
        let base = std::mem::replace(&mut self.base, i64::from(item.span.start));
        let own = self.namespace_of(item);
        let namespace = std::mem::replace(&mut self.namespace, own);
        let bindings = self.bindings(item, node, explicit, arguments);
        self.namespace = namespace;
        self.base = base;
        let key = (item.span.start, bindings?);
        let mut instances = self.templates.instances.iter();
        if let Some((_, function)) = instances.find(|(known, _)| *known == key) {
            return self.best_overload(&[*function], arguments, 0);
        }
        let read = self.specialised(item, &key)?;
        let special = if std::ptr::eq(read, item) {
            None
        } else {
            Some(self.parsed(read)?)
        };
        let node = match &special {
            Some(tree) => declared(tree)?,
            None => node,
        };
        let function = self.bound(read, &key, true, |lowering| lowering.function(read, node, None))??;
        self.templates.instances.push((key, function));
        self.best_overload(&[function], arguments, 0)
    }

    /// The values of the template's parameters in a call: explicit, or deduced from the arguments. `None` if some are
    /// unknown.
    fn bindings(
        &mut self,
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
        // A literal adapts to the other arguments.
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
                let Some(written) = part(*parameter, Part::Type).map(|ty| self.span(ty)) else {
                    continue;
                };
                let declarator = part(*parameter, Part::Declarator);
                let of = element_of(declarator, &argument.ty)?;
                // A literal beyond the range of `int` becomes an `int` nevertheless; a vector of literals has
                // components of 8 bytes.
                let is_large = argument.ty == Type::UINT && self.is_literal_int(argument);
                let is_wide = !matches!(argument.ty, Type::Scalar(_)) && self.is_of_literals(argument);
                if is_large || is_wide {
                    return None;
                }
                for (at, told) in self.deduced(item, written, of)? {
                    if given.get(at).copied().unwrap_or(true) {
                        continue;
                    }
                    if told == Binding::Type(Type::Unknown) {
                        return None;
                    }
                    let told = Some(told);
                    match bindings.get_mut(at) {
                        Some(slot) if slot.is_none() => *slot = told,
                        Some(slot) if *slot != told && !literals => return None,
                        _ => {}
                    }
                }
            }
        }
        self.with_defaults(item, bindings)
    }

    /// The values of all parameters. Missing ones get their defaults.
    fn with_defaults(&mut self, item: &Item, mut bindings: Vec<Option<Binding>>) -> Option<Vec<Binding>> {
        if bindings.len() > item.template.len() {
            return None;
        }
        bindings.resize(item.template.len(), None);
        for (binding, parameter) in bindings.iter_mut().zip(&item.template) {
            if let (None, Some(default)) = (&binding, parameter.default) {
                *binding = self.template_argument_at(default);
            }
            // `uint N` converts its value to a `uint`.
            if let (Some(Binding::Number(value)), Some(ty)) = (&binding, parameter.ty) {
                let scalar = self.type_at(ty).scalar();
                *binding = scalar
                    .and_then(|scalar| value.convert(scalar))
                    .map(Binding::Number);
            }
        }
        bindings.into_iter().collect()
    }

    fn template_argument_at(&mut self, span: Span) -> Option<Binding> {
        let tokens = &self.lexed.tokens;
        let first = tokens.partition_point(|token| token.start < span.start);
        let end = tokens.partition_point(|token| token.start < span.end);
        self.template_argument_of_tokens(first, end, 0)
    }
}

/// The element type of an argument, for a parameter that is an array, with one level per dimension.
fn element_of<'t>(declarator: Option<Node>, argument: &'t Type) -> Option<&'t Type> {
    let (mut declarator, mut element) = (declarator, argument);
    while let Some(array) = declarator.filter(|node| node.kind() == "array_declarator") {
        let Type::Array(inner, _) = element else {
            return None;
        };
        element = inner;
        declarator = part(array, Part::Declarator);
    }
    Some(element)
}
