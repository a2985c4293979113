//! Structs and enumerations.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use tree_sitter::Node;

use super::constants::Constant;
use super::parts::{Part, part};
use super::templates::Key;
use super::{Lowering, Name};
use crate::lexical::{Item, ItemKind};
use crate::preprocess::words;
use crate::span::Span;
use crate::tree::{Field, Struct};
use crate::types::{EnumId, Scalar, StructId, Type};

/// A struct with more nested levels, or more fields in a walk over it, has no type.
const MAX_STRUCT_DEPTH: u32 = 32;
const MAX_STRUCT_FIELDS: u32 = 4096;

impl<'a> Lowering<'a> {
    /// Declares the struct or enumeration that a node defines.
    pub(super) fn declare_type(&mut self, node: Node) -> Type {
        let name = part(node, Part::Name).map_or(&[][..], |name| self.node_source(name));
        let Some(body) = part(node, Part::Body) else {
            return Type::Unknown;
        };
        if node.kind() == "enum_specifier" {
            let base = part(node, Part::Base).map_or(Type::INT, |base| self.type_of_node(base));
            let id = EnumId(self.enumerations);
            self.enumerations += 1;
            let ty = match base.scalar() {
                Some(Scalar::Int) => Type::Scalar(Scalar::Enum(id)),
                Some(Scalar::Uint) => Type::Scalar(Scalar::UintEnum(id)),
                _ => Type::Unknown,
            };
            let words = self.node_source(node).split(|byte| !byte.is_ascii_alphanumeric());
            let is_scoped = words.skip(1).find(|word| !word.is_empty());
            let is_scoped = is_scoped.is_some_and(|word| matches!(word, b"class" | b"struct"));
            if is_scoped {
                self.scoped_enumerations.insert(id);
            }
            let ty = self.enumerators_of(name, ty, is_scoped, body);
            if !name.is_empty() {
                self.declare_name(name, ty.clone());
            }
            return ty;
        }
        self.structure(node, Cow::Borrowed(name), body, None)
    }

    /// The type of an enumeration; declares its enumerators. If the type is unknown, the enumerators are still
    /// numbers, for lengths of arrays. If a number exceeds the range of `int`, the type is unknown: DXC makes the
    /// enumeration wider.
    fn enumerators_of(&mut self, enumeration: &[u8], ty: Type, is_scoped: bool, body: Node) -> Type {
        let scalar = ty.scalar().unwrap_or(Scalar::Int);
        let is_int = matches!(scalar, Scalar::Int | Scalar::Enum(_));
        // Each enumerator twice, by its own name and qualified by the enumeration's, with the earlier meaning of that
        // name.
        let (mut names, mut is_wide) = (Vec::new(), false);
        let mut next = Some(Constant::Int(0));
        let mut cursor = body.walk();
        for node in body.named_children(&mut cursor) {
            let Some(name) = part(node, Part::Name) else {
                continue;
            };
            let name = self.node_source(name);
            if let Some(value) = part(node, Part::Value) {
                let value = self.expression(value);
                next = self.evaluate(&value);
            }
            is_wide |= is_int && matches!(next, Some(Constant::Uint(value)) if i32::try_from(value).is_err());
            let value = next.and_then(|value| value.convert(scalar).or(Some(value)));
            if let Some(value) = value {
                let of_enumeration = [enumeration, b"::", name].concat();
                for own in [name, &of_enumeration] {
                    let full = [&*self.namespace, own].concat();
                    let before = self
                        .enumerators
                        .insert(Cow::Owned(full.clone()), (value, ty.clone()));
                    names.push((full, before));
                }
            }
            next = next
                .and_then(|value| value.convert(Scalar::Int))
                .map(|value| Constant::Int(value.bits().cast_signed().wrapping_add(1)));
        }
        let ty = if is_wide { Type::Unknown } else { ty };
        for (number, (name, before)) in names.into_iter().enumerate().rev() {
            match before {
                // Outside of its braces, only the qualified name is valid.
                Some(before) if is_scoped && number % 2 == 0 => {
                    self.enumerators.insert(Cow::Owned(name), before);
                }
                None if is_scoped && number % 2 == 0 => {
                    self.enumerators.remove(name.as_slice());
                }
                _ if is_wide => {
                    if let Some((_, of)) = self.enumerators.get_mut(name.as_slice()) {
                        *of = Type::Unknown;
                    }
                }
                _ => {}
            }
        }
        ty
    }

    /// Whether the types that a statement declares, and their enumerators, are named only in its block. Otherwise
    /// their meaning is not followed: `::S` may be a global type, and enumerators stay visible to all later code.
    pub(super) fn is_of_its_block(&self, node: Node) -> bool {
        let mut names: FxHashSet<&[u8]> = FxHashSet::default();
        let mut open = vec![node];
        while let Some(part_of) = open.pop() {
            let has_body = part(part_of, Part::Body).is_some();
            let name = || part(part_of, Part::Name).map(|name| self.node_source(name));
            match part_of.kind() {
                "struct_specifier" | "class_specifier" | "enum_specifier" if has_body => names.extend(name()),
                "alias_declaration" | "enumerator" => names.extend(name()),
                "type_definition" => {
                    let mut cursor = part_of.walk();
                    let declarators = part_of.children_by_field_name("declarator", &mut cursor);
                    names.extend(declarators.filter_map(|one| words(self.node_source(one)).next()));
                }
                _ => {}
            }
            let mut cursor = part_of.walk();
            open.extend(part_of.named_children(&mut cursor));
        }
        if names.is_empty() {
            return true;
        }
        let mut block = node;
        while let Some(parent) = block.parent().filter(|_| block.kind() != "compound_statement") {
            block = parent;
        }
        let block = self.span(block);
        let before = self.text.get(..block.start as usize).unwrap_or_default();
        let behind = self.text.get(block.end as usize..).unwrap_or_default();
        !words(before)
            .chain(words(behind))
            .any(|word| names.contains(word))
    }

    /// The struct in a node. An instance of a template has the instance's name.
    pub(super) fn structure(
        &mut self,
        node: Node,
        name: Name<'a>,
        body: Node,
        instance: Option<&Key>,
    ) -> Type {
        let mut fields = Vec::new();
        let mut understood = self.base_fields(node, &mut fields);
        let bases = u32::try_from(fields.len()).unwrap_or(0);
        // Declarations inside the struct are named after it.
        let scope = if name.is_empty() {
            self.namespace.clone()
        } else {
            Cow::Owned([&*self.namespace, &*name, b"::"].concat())
        };
        let of_bases = fields.iter().filter_map(|field| match field.ty {
            Type::Struct(id) => Some(id),
            _ => None,
        });
        self.open_structs.push((scope.clone(), of_bases.collect()));
        let outer = std::mem::replace(&mut self.namespace, scope.clone());
        let mut methods = Vec::new();
        let mut cursor = body.walk();
        for child in body.named_children(&mut cursor) {
            match child.kind() {
                _ if child.has_error() && child.kind() != "function_definition" => understood = false,
                "field_declaration" => {
                    let declarator = part(child, Part::Declarator);
                    if declarator.is_some_and(|part| part.kind() == "function_declarator") {
                        methods.push(child);
                    } else {
                        self.fields(child, &mut fields);
                    }
                }
                "function_definition" => methods.push(child),
                "struct_specifier" | "class_specifier" | "enum_specifier" | "type_definition"
                | "alias_declaration" => self.type_declaration(child),
                // Which methods of a base it adds, and which of them a call then means, is not followed.
                "using_declaration" => understood = false,
                _ => {}
            }
        }
        self.namespace = outer;
        self.open_structs.pop();
        self.hide_widths(&mut fields);
        // The meaning of two members with one name depends on where they are named.
        understood &= bases == 0 || self.have_own_names(&fields);
        let ty = self.declare_struct(node, name, fields, understood);
        if let Some(key) = instance {
            // Its methods may name it.
            self.templates.type_instances.push((key.clone(), ty.clone()));
            if let Some(own) = part(node, Part::Name).map(|name| self.node_source(name)) {
                self.types.insert(Cow::Owned([&*scope, own].concat()), ty.clone());
            }
        }
        let Type::Struct(id) = ty else { return ty };
        self.scopes.push(scope.clone());
        if bases > 0 {
            self.bases.insert(id, (0..bases).collect());
        }
        let outer = std::mem::replace(&mut self.namespace, scope);
        self.methods_of_struct(id, node, &methods);
        self.namespace = outer;
        ty
    }

    /// Whether a struct has static members, enumerators or types.
    fn has_scoped(&self, id: StructId) -> bool {
        let Some(scope) = self.scopes.get(id.0 as usize) else {
            return false;
        };
        let names = self.globals.keys().chain(self.enumerators.keys());
        let mut names = names.chain(self.types.keys());
        names.any(|name| name.starts_with(scope))
    }

    /// Adds the bases of a struct, as one field each. `false` if one is unknown.
    fn base_fields(&mut self, node: Node, fields: &mut Vec<Field>) -> bool {
        let mut known = true;
        let mut cursor = node.walk();
        let clauses = node
            .named_children(&mut cursor)
            .filter(|child| child.kind() == "base_class_clause");
        for clause in clauses {
            let mut inner = clause.walk();
            for base in clause.named_children(&mut inner) {
                if base.kind() == "access_specifier" {
                    continue;
                }
                let ty = self.type_of_node(base);
                let Type::Struct(id) = ty else {
                    known = false;
                    continue;
                };
                let is_empty = self.shader.parts(&ty) == 0
                    && !self.with_methods.contains(&id)
                    && !self.bases.contains_key(&id)
                    && !self.has_scoped(id);
                if let Some(base) = self.shader.structs.get(id.0 as usize)
                    && !is_empty
                {
                    fields.push(Field {
                        name: base.name.clone(),
                        ty,
                        semantic: None,
                        is_base: true,
                    });
                }
            }
        }
        known
    }

    /// Whether all members of a struct, including inherited ones, have different names.
    fn have_own_names(&self, fields: &[Field]) -> bool {
        let mut names = FxHashSet::default();
        let mut waiting: Vec<&Field> = fields.iter().collect();
        while let Some(field) = waiting.pop() {
            match (field.is_base, &field.ty) {
                (true, Type::Struct(id)) => {
                    let base = self.shader.structs.get(id.0 as usize);
                    waiting.extend(base.into_iter().flat_map(|base| &base.fields));
                }
                // A member without a name has been reported.
                _ if !field.name.is_empty() && !names.insert(&field.name) => return false,
                _ => {}
            }
        }
        true
    }

    /// Adds a struct, unless it exceeds the limits.
    fn declare_struct(&mut self, node: Node, name: Name<'a>, fields: Vec<Field>, understood: bool) -> Type {
        let (mut depth, mut visits) = (0, 0u32);
        for field in &fields {
            let mut inner = &field.ty;
            while let Type::Array(element, _) = inner {
                inner = element;
            }
            let (below, size) = match inner {
                Type::Struct(id) => self.struct_sizes.get(id.0 as usize).copied().unwrap_or((0, 1)),
                _ => (0, 1),
            };
            depth = depth.max(below + 1);
            visits = visits.saturating_add(size);
        }
        let span = self.span(node);
        let ty = if !understood {
            self.problem("could not parse this struct", span);
            Type::Unknown
        } else if depth > MAX_STRUCT_DEPTH || visits > MAX_STRUCT_FIELDS {
            self.problem("this struct is too large", span);
            Type::Unknown
        } else {
            let id = StructId(u32::try_from(self.shader.structs.len()).unwrap_or(u32::MAX));
            self.shader.structs.push(Struct {
                name: String::from_utf8_lossy(name.split(|byte| *byte == b'#').next().unwrap_or_default())
                    .into_owned(),
                fields,
                span,
            });
            self.struct_sizes.push((depth, visits));
            Type::Struct(id)
        };
        if !name.is_empty() {
            self.declare_name(name, ty.clone());
        }
        ty
    }

    /// Reads the methods of a struct. A method may call later ones, so all are declared first.
    fn methods_of_struct(&mut self, id: StructId, node: Node, methods: &[Node]) {
        if self.node_source(node).starts_with(b"interface") {
            // The structs that implement it have the methods, too.
            return;
        }
        let items: Vec<(Item, Node)> = methods
            .iter()
            .map(|&method| (self.item_of_member(method), method))
            .collect();
        for (item, method) in &items {
            if part(*method, Part::Declarator).is_some_and(|part| !part.has_error()) {
                self.prototype(item, *method, id);
            } else {
                self.problem("could not parse this method", item.span);
            }
        }
        // The surroundings of the struct have names of their own: another struct has methods, and a function has
        // constants.
        let is_within = !self.open_structs.is_empty() || self.body.returns.is_some();
        if is_within || self.may_hide_names(id) {
            return;
        }
        for (item, method) in &items {
            if method.kind() == "function_definition"
                && part(*method, Part::Declarator).is_some_and(|part| !part.has_error())
            {
                self.function(item, *method, Some(id));
            }
        }
    }

    /// Whether a struct may have further members that are not visible here, so a name in its methods may have another
    /// meaning than it seems to. Such methods are not followed.
    fn may_hide_names(&self, id: StructId) -> bool {
        let Some(declared) = self.shader.structs.get(id.0 as usize) else {
            return true;
        };
        let bases = self.bases.get(&id).into_iter().flatten();
        let mut bases = bases.filter_map(|&at| declared.fields.get(at as usize));
        declared.fields.iter().any(|field| field.name.is_empty())
            || bases.any(|base| matches!(base.ty, Type::Struct(base) if self.may_hide_names(base)))
    }

    fn fields(&mut self, node: Node, fields: &mut Vec<Field>) {
        if self.lexed.hidden_members.contains(&self.span(node).start) {
            // Its declarations may come first and have any length.
            fields.push(Field {
                name: String::new(),
                ty: Type::Unknown,
                semantic: None,
                is_base: false,
            });
            return;
        }
        let Some(base) = part(node, Part::Type) else {
            return;
        };
        let base = self.type_of_node(base);
        if self.specifiers(node).0 {
            // It is a global with a qualified name.
            let item = self.item_of_member(node);
            self.globals(&item, node);
            return;
        }
        let mut cursor = node.walk();
        let bitfield = node
            .named_children(&mut cursor)
            .any(|child| child.kind() == "bitfield_clause");
        let mut cursor = node.walk();
        let declarators: Vec<Node> = node.children_by_field_name("declarator", &mut cursor).collect();
        for declarator in declarators {
            if let Some(declared) = self.declarator(declarator, base.clone()) {
                fields.push(Field {
                    name: String::from_utf8_lossy(declared.name).into_owned(),
                    ty: if bitfield { Type::Unknown } else { declared.ty },
                    semantic: self.semantic(declared.name_span),
                    is_base: false,
                });
            }
        }
    }

    /// Whether a member is an input or output of a stage: it has a semantic, which is not the width of a bit field.
    fn is_of_stage(&self, field: &Field) -> bool {
        let is_float = field.ty.scalar().is_some_and(Scalar::is_float);
        match (&field.semantic, &field.ty) {
            (Some(name), _) => is_float || name.to_ascii_lowercase().starts_with("sv_"),
            (None, Type::Struct(id)) => {
                let inner = self.shader.structs.get(id.0 as usize);
                inner.is_some_and(|inner| inner.fields.iter().any(|field| self.is_of_stage(field)))
            }
            _ => false,
        }
    }

    /// The text after a member may be the width of a bit field, given by an unknown macro or a computation. It is a
    /// semantic if it is a plain name and other members of the struct certainly have semantics.
    fn hide_widths(&self, fields: &mut [Field]) {
        let is_of_stage = fields.iter().any(|field| self.is_of_stage(field));
        for field in fields {
            let is_integer = field.ty.scalar().is_some_and(|scalar| !scalar.is_float());
            let semantic = field.semantic.as_deref().filter(|_| is_integer);
            let may_be_width = |name: &str| !is_of_stage || name.contains('(');
            if semantic.is_some_and(may_be_width) {
                field.ty = Type::Unknown;
            }
        }
    }

    /// The semantic after a name.
    pub(super) fn semantic(&self, name: Span) -> Option<String> {
        let span = self.lexed.semantics.get(&name.start)?;
        Some(String::from_utf8_lossy(self.source(*span)).into_owned())
    }

    /// Members are not items of their own, and their attributes have no effect here.
    fn item_of_member(&self, node: Node) -> Item {
        Item {
            kind: ItemKind::Declaration,
            span: self.span(node),
            namespace: 0,
            in_buffer: false,
            in_braces_of_buffer: false,
            groupshared: false,
            coherent: false,
            after_macros: None,
            numthreads: None,
            wave_size: None,
            too_deep: false,
            template: Vec::new(),
        }
    }
}
