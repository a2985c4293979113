//! Functions, globals, structs, enumerations, type names, and the declarators of local variables.

use std::borrow::Cow;

use tree_sitter::Node;

use super::constants::Constant;
use super::typing::array_of;
use super::{Body, Lowering};
use crate::lexical::Item;
use crate::span::Span;
use crate::tree::{
    Direction, Expr, ExprKind, Field, Function, FunctionId, Global, GlobalId, LocalId, Parameter, Stmt,
    StmtKind, Storage, Struct,
};
use crate::types::{ResourceKind, StructId, Type};

/// Structs that nest deeper, or that a walk visits more fields of, have no type.
const MAX_STRUCT_DEPTH: u32 = 32;
const MAX_STRUCT_FIELDS: u32 = 4096;

/// What one declarator declares.
pub(super) struct Declarator<'a, 't> {
    pub name: &'a [u8],
    pub name_span: Span,
    pub ty: Type,
    pub init: Option<Node<'t>>,
    /// The first length is left out: the initialiser tells it.
    pub unsized_array: bool,
}

impl<'a> Lowering<'a> {
    /// A declaration at the top level. The function it defines or declares, if it does.
    pub(super) fn declaration(&mut self, item: &'a Item, node: Node) -> Option<FunctionId> {
        match node.kind() {
            "function_definition" => return self.function(item, node, None),
            "declaration" | "field_declaration" => {
                let declarator = node.child_by_field_name("declarator")?;
                if declarator.kind() == "function_declarator" {
                    return self.function(item, node, None);
                }
                self.globals(item, node);
            }
            "struct_specifier" | "class_specifier" | "enum_specifier" | "type_definition"
            | "alias_declaration" => self.type_declaration(node),
            ";" | "comment" | "using_declaration" | "static_assert_declaration" => {}
            _ => {
                let span = self.span(node);
                self.problem("this is no declaration", span);
            }
        }
        None
    }

    /// `struct`, `enum`, `typedef` or `using`.
    pub(super) fn type_declaration(&mut self, node: Node) {
        match node.kind() {
            "type_definition" => {
                let Some(base) = node.child_by_field_name("type") else {
                    return;
                };
                let base = self.type_of_node(base);
                let mut cursor = node.walk();
                let declarators: Vec<Node> = node.children_by_field_name("declarator", &mut cursor).collect();
                for declarator in declarators {
                    if let Some(declared) = self.declarator(declarator, base.clone()) {
                        self.declare_name(declared.name, declared.ty);
                    }
                }
            }
            "alias_declaration" => {
                if let (Some(name), Some(ty)) =
                    (node.child_by_field_name("name"), node.child_by_field_name("type"))
                {
                    let name = self.node_source(name);
                    let ty = self.type_of_node(ty);
                    self.declare_name(name, ty);
                }
            }
            _ => {
                self.declare_type(node);
            }
        }
    }

    fn declare_name(&mut self, name: &'a [u8], ty: Type) {
        if let Some(full) = self.full_name(name) {
            self.types.insert(full, ty.clone());
            self.types.entry(Cow::Borrowed(name)).or_insert(ty);
        } else {
            self.types.insert(Cow::Borrowed(name), ty);
        }
    }

    /// Declares the struct or enumeration whose body a node holds.
    pub(super) fn declare_type(&mut self, node: Node) -> Type {
        let name = node
            .child_by_field_name("name")
            .map_or(&[][..], |name| self.node_source(name));
        let Some(body) = node.child_by_field_name("body") else {
            return Type::Unknown;
        };
        if node.kind() == "enum_specifier" {
            let base = node
                .child_by_field_name("base")
                .map_or(Type::INT, |base| self.type_of_node(base));
            self.enumerators_of(name, &base, body);
            if !name.is_empty() {
                self.declare_name(name, base.clone());
            }
            return base;
        }
        self.structure(node, name, body)
    }

    fn enumerators_of(&mut self, enumeration: &[u8], base: &Type, body: Node) {
        let scalar = base.scalar().unwrap_or(crate::Scalar::Int);
        let mut next = Some(Constant::Int(0));
        let mut cursor = body.walk();
        for node in body.named_children(&mut cursor) {
            let Some(name) = node.child_by_field_name("name") else {
                continue;
            };
            let name = self.node_source(name);
            if let Some(value) = node.child_by_field_name("value") {
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
                    self.enumerators.insert(Cow::Owned(own), value);
                }
            }
            next = next
                .and_then(|value| value.convert(crate::Scalar::Int))
                .map(|value| Constant::Int(value.bits().cast_signed().wrapping_add(1)));
        }
    }

    fn structure(&mut self, node: Node, name: &'a [u8], body: Node) -> Type {
        let mut fields = Vec::new();
        let (mut depth, mut visits) = (0, 0u32);
        let mut bases_known = true;
        let mut cursor = node.walk();
        let bases: Vec<Node> = node
            .named_children(&mut cursor)
            .filter(|child| child.kind() == "base_class_clause")
            .collect();
        for clause in bases {
            let mut inner = clause.walk();
            let names: Vec<Node> = clause.named_children(&mut inner).collect();
            for base in names {
                if let Type::Struct(id) = self.type_of_node(base)
                    && let Some(base) = self.shader.structs.get(id.0 as usize)
                {
                    fields.extend(base.fields.iter().cloned());
                } else {
                    bases_known = false;
                }
            }
        }
        let mut methods = Vec::new();
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
        if !name.is_empty() {
            self.declare_name(name, Type::Struct(id));
        }
        if self.body.returns.is_none() {
            for method in methods {
                if !method.has_error() {
                    self.method(id, method);
                }
            }
        }
        Type::Struct(id)
    }

    fn fields(&mut self, node: Node, fields: &mut Vec<Field>) {
        let Some(base) = node.child_by_field_name("type") else {
            return;
        };
        let base = self.type_of_node(base);
        let is_static = self.specifiers(node).0;
        let mut cursor = node.walk();
        let bitfield = node
            .named_children(&mut cursor)
            .any(|child| child.kind() == "bitfield_clause");
        let mut cursor = node.walk();
        let declarators: Vec<Node> = node.children_by_field_name("declarator", &mut cursor).collect();
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

    fn semantic(&self, name: Span) -> Option<String> {
        let span = self.lexed.semantics.get(&name.start)?;
        Some(String::from_utf8_lossy(self.source(*span)).into_owned())
    }

    /// Whether `static` and `const` stand in a declaration.
    pub(super) fn specifiers(&self, node: Node) -> (bool, bool) {
        let (mut is_static, mut is_const) = (false, false);
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "storage_class_specifier" => is_static |= self.node_source(child) == b"static",
                "type_qualifier" => is_const |= self.node_source(child) == b"const",
                // Both stand before the declarators, of which there may be very many.
                "init_declarator" | "identifier" | "array_declarator" => break,
                _ => {}
            }
        }
        (is_static, is_const)
    }

    /// Name, type and initialiser of a declarator; `None` for pointers, functions and the like.
    pub(super) fn declarator<'t>(&mut self, node: Node<'t>, base: Type) -> Option<Declarator<'a, 't>> {
        let mut node = node;
        let mut init = None;
        if node.kind() == "init_declarator" {
            init = node.child_by_field_name("value");
            node = node.child_by_field_name("declarator")?;
        }
        let mut ty = base;
        let mut unsized_array = false;
        while node.kind() == "array_declarator" {
            let length = if let Some(size) = node.child_by_field_name("size") {
                unsized_array = false;
                let size = self.expression(size);
                let length = self.evaluate(&size).and_then(Constant::to_u32);
                if length.is_none() {
                    self.problem("the length of this array is not a constant", size.span);
                }
                length.unwrap_or(0)
            } else {
                unsized_array = true;
                0
            };
            ty = array_of(ty, length);
            node = node.child_by_field_name("declarator")?;
        }
        if !matches!(
            node.kind(),
            "identifier" | "field_identifier" | "type_identifier" | "primitive_type"
        ) {
            return None;
        }
        let name_span = self.span(node);
        Some(Declarator {
            name: self.source(name_span),
            name_span,
            ty,
            init,
            unsized_array,
        })
    }

    /// The declarator's type, with the length its initialiser tells, and the initialiser itself.
    fn initialized(&mut self, declared: &Declarator<'a, '_>) -> (Type, Option<Expr>) {
        let mut ty = declared.ty.clone();
        let Some(init) = declared.init else {
            return (ty, None);
        };
        if declared.unsized_array
            && let Type::Array(element, 0) = &ty
        {
            let count = self.count_components(init) / self.shader.components(element).max(1);
            ty = array_of((**element).clone(), u32::try_from(count).unwrap_or(0));
        }
        let value = self.initializer(init, &ty);
        let value = self.convert(value, &ty);
        (ty, Some(value))
    }

    /// The declarators of a local declaration; `false` if one is not understood.
    pub(super) fn declarators(&mut self, node: Node, span: Span, out: &mut Vec<Stmt>) -> bool {
        let Some(base) = node.child_by_field_name("type") else {
            return false;
        };
        let base = self.type_of_node(base);
        let (is_static, is_const) = self.specifiers(node);
        let mut cursor = node.walk();
        let declarators: Vec<Node> = node.children_by_field_name("declarator", &mut cursor).collect();
        for declarator in declarators {
            if declarator.kind() == "function_declarator" {
                // A prototype inside a function: nothing happens here.
                continue;
            }
            let Some(declared) = self.declarator(declarator, base.clone()) else {
                return false;
            };
            let (ty, init) = self.initialized(&declared);
            let value = init
                .as_ref()
                .filter(|_| is_const)
                .and_then(|init| self.evaluate(init));
            let local = self.declare_local(declared.name, ty, declared.name_span, is_static);
            if let Some(value) = value {
                self.body.values.insert(local, value);
            }
            out.push(Stmt {
                kind: StmtKind::Declare { local, init },
                span,
            });
        }
        true
    }

    fn globals(&mut self, item: &Item, node: Node) {
        let Some(base) = node.child_by_field_name("type") else {
            return;
        };
        let base = self.type_of_node(base);
        let (is_static, is_const) = self.specifiers(node);
        let mut cursor = node.walk();
        let declarators: Vec<Node> = node.children_by_field_name("declarator", &mut cursor).collect();
        let span = Span {
            start: self.attribute_start(item, node),
            end: self.span(node).end,
        };
        for declarator in declarators {
            let Some(declared) = self.declarator(declarator, base.clone()) else {
                self.problem("this declaration is not understood", span);
                continue;
            };
            let (ty, init) = self.initialized(&declared);
            let mut inner = &ty;
            while let Type::Array(element, _) = inner {
                inner = element;
            }
            let storage = if item.in_cbuffer {
                Storage::Uniform
            } else if item.groupshared {
                Storage::Groupshared
            } else if matches!(inner, Type::Resource(..)) {
                Storage::Resource
            } else if is_static && is_const {
                Storage::Const
            } else if is_static {
                Storage::Static
            } else {
                Storage::Uniform
            };
            let value = init
                .as_ref()
                .filter(|_| is_const && storage != Storage::Groupshared)
                .and_then(|init| self.evaluate(init));
            let id = GlobalId(u32::try_from(self.shader.globals.len()).unwrap_or(u32::MAX));
            self.shader.globals.push(Global {
                name: String::from_utf8_lossy(declared.name).into_owned(),
                ty,
                storage,
                init,
                span,
                name_span: declared.name_span,
                coherent: item.coherent,
            });
            self.global_values.push(value);
            if let Some(full) = self.full_name(declared.name) {
                self.globals.insert(full, id);
                self.globals.entry(Cow::Borrowed(declared.name)).or_insert(id);
            } else {
                self.globals.insert(Cow::Borrowed(declared.name), id);
            }
        }
    }

    /// Where an item starts, if this node is the first of it.
    fn attribute_start(&self, item: &Item, node: Node) -> u32 {
        let start = self.span(node).start;
        let between = Span {
            start: item.span.start,
            end: start,
        };
        let blank = between.slice(&self.lexed.blank);
        if blank.iter().all(u8::is_ascii_whitespace) {
            item.span.start.min(start)
        } else {
            start
        }
    }

    fn method(&mut self, id: StructId, node: Node) {
        // Methods belong to no item of their own; their attributes mean nothing here.
        let item = Item {
            kind: crate::lexical::ItemKind::Declaration,
            span: self.span(node),
            namespace: 0,
            in_cbuffer: false,
            groupshared: false,
            coherent: false,
            numthreads: None,
            wave_size: None,
            too_deep: false,
        };
        self.function(&item, node, Some(id));
    }

    /// A function or a method, with or without its body.
    fn function(&mut self, item: &Item, node: Node, method_of: Option<StructId>) -> Option<FunctionId> {
        let declarator = node.child_by_field_name("declarator")?;
        if declarator.kind() != "function_declarator" {
            let span = self.span(node);
            self.problem("this function is not understood", span);
            return None;
        }
        let name_node = declarator.child_by_field_name("declarator")?;
        let name_span = self.span(name_node);
        let written = self.source(name_span);
        let returns = node
            .child_by_field_name("type")
            .map_or(Type::Unknown, |ty| self.type_of_node(ty));
        let (is_static, _) = self.specifiers(node);
        // `S::f(…) {…}` outside of its struct.
        let mut method_of = method_of;
        let mut name = written;
        if let Some(colon) = written.windows(2).rposition(|pair| pair == b"::") {
            name = written.get(colon + 2..).unwrap_or_default();
            if let Some(Type::Struct(id)) =
                self.resolve(&self.types, written.get(..colon).unwrap_or_default())
            {
                method_of = Some(id);
            }
        }
        self.body = Body {
            returns: Some(returns.clone()),
            ..Body::default()
        };
        let mut parameters = Vec::new();
        if let Some(id) = method_of.filter(|_| !is_static) {
            let local = self.declare_local(b"this", Type::Struct(id), name_span, false);
            self.body.this = Some((local, id));
            parameters.push(Parameter {
                local,
                direction: Direction::In,
                semantic: None,
                default: None,
            });
        }
        let mut understood = true;
        if let Some(list) = declarator.child_by_field_name("parameters") {
            let mut cursor = list.walk();
            for parameter in list.named_children(&mut cursor) {
                match self.parameter(parameter) {
                    Some(Some(parameter)) => parameters.push(parameter),
                    Some(None) => {}
                    None => understood = false,
                }
            }
        }
        if !understood {
            let span = self.span(declarator);
            self.problem("the parameters of this function are not understood", span);
        }
        let id = self.function_id(name, &parameters, method_of, is_static, understood);
        let span = Span {
            start: self.attribute_start(item, node),
            end: self.span(node).end,
        };
        let shown = method_of
            .and_then(|id| self.shader.structs.get(id.0 as usize))
            .map_or_else(String::new, |owner| format!("{}::", owner.name))
            + &String::from_utf8_lossy(name);
        let function = Function {
            name: shown,
            name_span,
            span,
            parameters,
            // Callers inside the body see the parameters.
            locals: self.body.locals.clone(),
            returns,
            body: None,
            group_size: None,
            group_size_span: Span::default(),
            wave_size: None,
        };
        let index = id.0 as usize;
        if let Some(slot) = self.shader.functions.get_mut(index) {
            *slot = function;
        } else {
            self.shader.functions.push(function);
        }
        let body = node.child_by_field_name("body").map(|body| self.block(body));
        let locals = std::mem::take(&mut self.body.locals);
        let written_this = self.body.this_written;
        if let Some(function) = self.shader.functions.get_mut(index) {
            function.body = body;
            function.locals = locals;
            if written_this && let Some(this) = function.parameters.first_mut() {
                this.direction = Direction::InOut;
            }
        }
        self.body = Body::default();
        Some(id)
    }

    /// The id of a function: that of its prototype, or a new one.
    fn function_id(
        &mut self,
        name: &'a [u8],
        parameters: &[Parameter],
        method_of: Option<StructId>,
        is_static: bool,
        understood: bool,
    ) -> FunctionId {
        let types = |function: &Function| -> Vec<Type> {
            function
                .parameters
                .iter()
                .filter_map(|parameter| function.locals.get(parameter.local.0 as usize))
                .map(|local| local.ty.clone())
                .collect()
        };
        let own: Vec<Type> = parameters
            .iter()
            .filter_map(|parameter| self.body.locals.get(parameter.local.0 as usize))
            .map(|local| local.ty.clone())
            .collect();
        let full = self.full_name(name);
        let known = match (method_of, &full) {
            (Some(id), _) => self.methods.get(&(id, name)),
            (None, Some(full)) => self.functions.get(full),
            (None, None) => self.functions.get(name),
        };
        let prototype = known.into_iter().flatten().copied().find(|id| {
            self.shader
                .functions
                .get(id.0 as usize)
                .is_some_and(|function| function.body.is_none() && types(function) == own)
        });
        if let Some(id) = prototype {
            return id;
        }
        let id = FunctionId(u32::try_from(self.shader.functions.len()).unwrap_or(u32::MAX));
        if !understood {
            return id;
        }
        if let Some(owner) = method_of {
            self.methods.entry((owner, name)).or_default().push(id);
            if is_static {
                self.static_methods.insert(id);
            }
            return id;
        }
        if let Some(full) = full {
            self.functions.entry(full).or_default().push(id);
        }
        self.functions.entry(Cow::Borrowed(name)).or_default().push(id);
        id
    }

    /// `Some(None)` is `void`.
    #[expect(clippy::option_option, reason = "a parameter, none, or something else")]
    fn parameter(&mut self, node: Node) -> Option<Option<Parameter>> {
        let ty = self.type_of_node(node.child_by_field_name("type")?);
        let Some(declarator) = node.child_by_field_name("declarator") else {
            if ty == Type::Void {
                return Some(None);
            }
            let span = self.span(node);
            let local = self.declare_local(&[], ty, span, false);
            return Some(Some(Parameter {
                local,
                direction: Direction::In,
                semantic: None,
                default: None,
            }));
        };
        let declared = self.declarator(declarator, ty)?;
        let default = node.child_by_field_name("default_value").map(|value| {
            let value = self.expression(value);
            self.convert(value, &declared.ty)
        });
        let direction = self
            .lexed
            .directions
            .get(&declared.name_span.start)
            .copied()
            .unwrap_or(Direction::In);
        let semantic = self.semantic(declared.name_span);
        let local = self.declare_local(declared.name, declared.ty, declared.name_span, false);
        Some(Some(Parameter {
            local,
            direction,
            semantic,
            default,
        }))
    }

    /// Notes that a place is written: a method that writes to its own fields takes `this` by reference.
    pub(super) fn note_write(&mut self, place: &Expr) {
        let Some((this, _)) = self.body.this else { return };
        let mut place = place;
        while let ExprKind::Index(inner, _) | ExprKind::Field(inner, _) | ExprKind::Swizzle(inner, _) =
            &place.kind
        {
            place = inner;
        }
        if let ExprKind::Local(local) = place.kind {
            self.body.this_written |= local == this;
        }
    }

    /// The type of a local.
    pub(super) fn local_type(&self, id: LocalId) -> Type {
        self.body
            .locals
            .get(id.0 as usize)
            .map_or(Type::Unknown, |local| local.ty.clone())
    }

    /// Whether a type is a constant buffer over a struct.
    pub(super) fn constant_buffer_element(ty: &Type) -> Option<&Type> {
        match ty {
            Type::Resource(ResourceKind::ConstantBuffer, Some(element)) => Some(element),
            _ => None,
        }
    }
}
