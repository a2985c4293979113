//! Structs and enumerations.

use std::borrow::Cow;

use tree_sitter::Node;

use super::Lowering;
use super::constants::Constant;
use super::parts::{Part, part};
use crate::lexical::{Item, ItemKind};
use crate::span::Span;
use crate::tree::{Field, Struct};
use crate::types::{Scalar, StructId, Type};

/// Structs that nest deeper, or that a walk visits more fields of, have no type.
const MAX_STRUCT_DEPTH: u32 = 32;
const MAX_STRUCT_FIELDS: u32 = 4096;

impl<'a> Lowering<'a> {
    /// Declares the struct or enumeration whose body a node holds.
    pub(super) fn declare_type(&mut self, node: Node) -> Type {
        let name = part(node, Part::Name).map_or(&[][..], |name| self.node_source(name));
        let Some(body) = part(node, Part::Body) else {
            return Type::Unknown;
        };
        if node.kind() == "enum_specifier" {
            let base = part(node, Part::Base).map_or(Type::INT, |base| self.type_of_node(base));
            self.enumerators_of(name, &base, body);
            if !name.is_empty() {
                self.declare_name(name, base.clone());
            }
            return base;
        }
        self.structure(node, name, body)
    }

    fn enumerators_of(&mut self, enumeration: &[u8], base: &Type, body: Node) {
        let scalar = base.scalar().unwrap_or(Scalar::Int);
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
            let value = next.and_then(|value| value.convert(scalar).or(Some(value)));
            if let Some(value) = value {
                for prefix in [&[][..], enumeration] {
                    let own = if prefix.is_empty() {
                        name.to_vec()
                    } else {
                        [prefix, b"::", name].concat()
                    };
                    if !self.namespace.is_empty() {
                        let full = [self.namespace, own.as_slice()].concat();
                        self.enumerators.insert(Cow::Owned(full), value);
                    }
                    if !self.holder.is_empty() {
                        let held = [self.holder, b"::", own.as_slice()].concat();
                        self.enumerators.insert(Cow::Owned(held), value);
                    }
                    self.enumerators.insert(Cow::Owned(own), value);
                }
            }
            next = next
                .and_then(|value| value.convert(Scalar::Int))
                .map(|value| Constant::Int(value.bits().cast_signed().wrapping_add(1)));
        }
    }

    fn structure(&mut self, node: Node, name: &'a [u8], body: Node) -> Type {
        let mut fields = Vec::new();
        let (mut depth, mut visits) = (0, 0u32);
        let mut bases_known = true;
        let mut base_fields = Vec::new();
        let mut cursor = node.walk();
        let bases: Vec<Node> = node
            .named_children(&mut cursor)
            .filter(|child| child.kind() == "base_class_clause")
            .collect();
        for clause in bases {
            let mut inner = clause.walk();
            let names: Vec<Node> = clause.named_children(&mut inner).collect();
            for base in names {
                let ty = self.type_of_node(base);
                let Type::Struct(id) = ty else {
                    bases_known = false;
                    continue;
                };
                let Some(base) = self.shader.structs.get(id.0 as usize) else {
                    continue;
                };
                // Methods need an object of their struct to be called on. A base of fields alone is taken in whole:
                // the semantics of an entry point's parameter stand among its own fields.
                if self.bases.contains_key(&id) || self.with_methods.contains(&id) {
                    base_fields.push(u32::try_from(fields.len()).unwrap_or(u32::MAX));
                    fields.push(Field {
                        name: base.name.clone(),
                        ty,
                        semantic: None,
                    });
                } else {
                    fields.extend(base.fields.iter().cloned());
                }
            }
        }
        let mut methods = Vec::new();
        let outer = std::mem::replace(&mut self.holder, name);
        let mut cursor = body.walk();
        for child in body.named_children(&mut cursor) {
            match child.kind() {
                "field_declaration" if child.has_error() => bases_known = false,
                "field_declaration" => self.fields(child, &mut fields),
                "function_definition" => methods.push(child),
                "struct_specifier" | "enum_specifier" | "type_definition" | "alias_declaration" => {
                    self.type_declaration(child);
                }
                "ERROR" => bases_known = false,
                _ => {}
            }
        }
        self.holder = outer;
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
        if depth > MAX_STRUCT_DEPTH || visits > MAX_STRUCT_FIELDS || !bases_known {
            let message = if bases_known {
                "this struct is too large"
            } else {
                "this struct could not be read"
            };
            self.problem(message, span);
            if !name.is_empty() {
                self.declare_name(name, Type::Unknown);
            }
            return Type::Unknown;
        }
        let id = StructId(u32::try_from(self.shader.structs.len()).unwrap_or(u32::MAX));
        self.shader.structs.push(Struct {
            name: String::from_utf8_lossy(name).into_owned(),
            fields,
            span,
        });
        self.struct_sizes.push((depth, visits));
        if !base_fields.is_empty() {
            self.bases.insert(id, base_fields);
        }
        if !name.is_empty() {
            self.declare_name(name, Type::Struct(id));
        }
        if self.body.returns.is_none() {
            let outer = std::mem::replace(&mut self.holder, name);
            for method in methods {
                if !method.has_error() {
                    self.method(id, method);
                }
            }
            self.holder = outer;
        }
        Type::Struct(id)
    }

    fn fields(&mut self, node: Node, fields: &mut Vec<Field>) {
        let Some(base) = part(node, Part::Type) else {
            return;
        };
        let base = self.type_of_node(base);
        let (is_static, is_const) = self.specifiers(node);
        let mut cursor = node.walk();
        let bitfield = node
            .named_children(&mut cursor)
            .any(|child| child.kind() == "bitfield_clause");
        let mut cursor = node.walk();
        let declarators: Vec<Node> = node.children_by_field_name("declarator", &mut cursor).collect();
        if is_static
            && is_const
            && let [declarator] = declarators.as_slice()
        {
            self.static_constant(*declarator, &base, part(node, Part::DefaultValue));
        }
        for declarator in declarators {
            if is_static || declarator.kind() == "function_declarator" {
                continue;
            }
            if let Some(declared) = self.declarator(declarator, base.clone()) {
                fields.push(Field {
                    name: String::from_utf8_lossy(declared.name).into_owned(),
                    ty: if bitfield { Type::Unknown } else { declared.ty },
                    semantic: self.semantic(declared.name_span),
                });
            }
        }
    }

    /// A `static const` member: a constant that the struct gives its name to.
    fn static_constant(&mut self, declarator: Node, base: &Type, value: Option<Node>) {
        let (Type::Scalar(scalar), Some(value)) = (base, value) else {
            return;
        };
        if self.holder.is_empty() || declarator.kind() != "field_identifier" {
            return;
        }
        let value = self.expression(value);
        if let Some(value) = self.evaluate(&value).and_then(|value| value.convert(*scalar)) {
            let name = self.node_source(declarator);
            let held = [self.holder, b"::", name].concat();
            self.enumerators.insert(Cow::Owned(held), value);
        }
    }

    /// The semantic behind a name.
    pub(super) fn semantic(&self, name: Span) -> Option<String> {
        let span = self.lexed.semantics.get(&name.start)?;
        Some(String::from_utf8_lossy(self.source(*span)).into_owned())
    }

    fn method(&mut self, id: StructId, node: Node) {
        // Methods belong to no item of their own; their attributes mean nothing here.
        let item = Item {
            kind: ItemKind::Declaration,
            span: self.span(node),
            namespace: 0,
            in_cbuffer: false,
            groupshared: false,
            coherent: false,
            numthreads: None,
            wave_size: None,
            too_deep: false,
            template: Vec::new(),
        };
        self.function(&item, node, Some(id));
    }
}
