//! Functions, globals, structs, enumerations, type names, and the declarators of local variables.

use tree_sitter::Node;

use super::Lowering;
use super::constants::Constant;
use super::operands::opaque;
use super::parts::{Part, part};
use super::scoping::Variable;
use super::typing::array_of;
use crate::lexical::{Item, is_macro_like};
use crate::span::Span;
use crate::tree::{Expr, ExprKind, FunctionId, Global, GlobalId, LocalId, Stmt, StmtKind, Storage};
use crate::types::{ResourceKind, Type};

/// The parts of one declarator.
pub(super) struct Declarator<'a, 't> {
    pub name: &'a [u8],
    pub name_span: Span,
    pub ty: Type,
    pub init: Option<Node<'t>>,
    /// The first length is left out: the initialiser determines it.
    pub unsized_array: bool,
}

impl<'a> Lowering<'a> {
    /// Reads a declaration at the top level. Returns the function that it declares, if any.
    pub(super) fn declaration(&mut self, item: &'a Item, node: Node) -> Option<FunctionId> {
        match node.kind() {
            "function_definition" => return self.function(item, node, None),
            "declaration" | "field_declaration" => {
                let declarator = part(node, Part::Declarator)?;
                if declarator.kind() == "function_declarator" {
                    return self.function(item, node, None);
                }
                self.globals(item, node);
            }
            "struct_specifier" | "class_specifier" | "enum_specifier" | "type_definition"
            | "alias_declaration" => self.type_declaration(node),
            "using_declaration" => self.using(node),
            ";" | "comment" | "static_assert_declaration" => {}
            "expression_statement" if node.named_child_count() == 0 => {}
            _ => {
                let span = self.span(node);
                self.problem("expected a declaration", span);
            }
        }
        None
    }

    /// `struct`, `enum`, `typedef` or `using`.
    pub(super) fn type_declaration(&mut self, node: Node) {
        match node.kind() {
            "type_definition" => {
                let Some(base) = part(node, Part::Type) else {
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
                if let (Some(name), Some(ty)) = (part(node, Part::Name), part(node, Part::Type)) {
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

    /// Whether a declaration has `static`, and whether it has `const`.
    pub(super) fn specifiers(&self, node: Node) -> (bool, bool) {
        let (mut is_static, mut is_const) = (false, false);
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "storage_class_specifier" => is_static |= self.node_source(child) == b"static",
                "type_qualifier" => is_const |= self.node_source(child) == b"const",
                // Both precede the declarators, which may be very many.
                "init_declarator" | "identifier" | "array_declarator" => break,
                _ => {}
            }
        }
        (is_static, is_const)
    }

    /// The name, type and initialiser of a declarator; `None` for pointers, functions and other kinds.
    pub(super) fn declarator<'t>(&mut self, node: Node<'t>, base: Type) -> Option<Declarator<'a, 't>> {
        let mut node = node;
        let mut init = None;
        if node.kind() == "init_declarator" {
            init = part(node, Part::Value);
            node = part(node, Part::Declarator)?;
        }
        let mut ty = base;
        let mut unsized_array = false;
        while node.kind() == "array_declarator" {
            let length = if let Some(size) = part(node, Part::Size) {
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
            node = part(node, Part::Declarator)?;
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

    /// The declarator's type, with the length from its initialiser, and the initialiser itself.
    fn initialized(&mut self, declared: &Declarator<'a, '_>) -> (Type, Option<Expr>) {
        let mut ty = declared.ty.clone();
        let Some(init) = declared.init else {
            return (ty, None);
        };
        if declared.unsized_array
            && let Type::Array(element, 0) = &ty
        {
            let of_one = self.shader.components(element).max(1);
            let count = if self.shader.is_known(element) {
                self.count_components(init) / of_one
            } else {
                0
            };
            ty = array_of((**element).clone(), u32::try_from(count).unwrap_or(0));
        }
        self.body.initialised = Some(declared.name);
        let value = self.initializer(init, &ty);
        self.body.initialised = None;
        let value = self.fit(value, &ty);
        (ty, Some(value))
    }

    /// The declarators of a local declaration; `false` if one is not understood.
    pub(super) fn declarators(&mut self, node: Node, span: Span, out: &mut Vec<Stmt>) -> bool {
        let Some(base) = part(node, Part::Type) else {
            return false;
        };
        let base = self.type_of_node(base);
        let (is_static, is_const) = self.specifiers(node);
        let mut cursor = node.walk();
        let declarators: Vec<Node> = node.children_by_field_name("declarator", &mut cursor).collect();
        for declarator in declarators {
            if declarator.kind() == "function_declarator" {
                if base == Type::Unknown {
                    // This is no prototype, but an unknown macro and a call.
                    return false;
                }
                // A prototype inside a function has no effect.
                continue;
            }
            let value = part(declarator, Part::Value);
            if base == Type::Unknown && value.is_some_and(|value| value.kind() == "argument_list") {
                // The same, with arguments that cannot be parameters.
                return false;
            }
            let Some(declared) = self.declarator(declarator, base.clone()) else {
                return false;
            };
            if base == Type::Unknown && self.is_variable(declared.name) {
                // This is no declaration, but an unknown macro and an assignment.
                return false;
            }
            let (ty, init) = self.initialized(&declared);
            let value = init
                .as_ref()
                .filter(|_| is_const)
                .and_then(|init| self.evaluate(init));
            let local = self.declare_local(declared.name, ty, declared.name_span);
            if is_static {
                if !self.static_local(local, init, is_const, span, out) {
                    return false;
                }
                continue;
            }
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

    fn is_variable(&self, name: &[u8]) -> bool {
        self.variable(name) != Variable::None || self.resolve(&self.globals, name).is_some()
    }

    pub(super) fn globals(&mut self, item: &Item, node: Node) {
        let Some(written) = part(node, Part::Type) else {
            return;
        };
        let base = self.type_of_node(written);
        // The unread text may specify the storage. A macro in place of the type may do so as well.
        let may_hide_storage = item.after_macros.is_some()
            || self.is_broken
            || base == Type::Unknown && !item.in_buffer && is_macro_like(self.node_source(written));
        let (is_static, is_const) = self.specifiers(node);
        let mut cursor = node.walk();
        let declarators: Vec<Node> = node.children_by_field_name("declarator", &mut cursor).collect();
        let span = Span {
            start: self.attribute_start(item, node),
            end: self.span(node).end,
        };
        for declarator in declarators {
            let Some(mut declared) = self.declarator(declarator, base.clone()) else {
                if !self.member_outside(declarator, &base) {
                    self.problem("unsupported declaration", span);
                }
                continue;
            };
            if node.kind() == "field_declaration" {
                declared.init = value_of_member(node, declarator);
            }
            let (ty, mut init) = self.initialized(&declared);
            let mut inner = &ty;
            while let Type::Array(element, _) = inner {
                inner = element;
            }
            // A resource that is assigned later has no initial value.
            let is_elsewhere = node.kind() == "field_declaration" || matches!(inner, Type::Resource(..));
            if is_static && init.is_none() && is_elsewhere {
                init = Some(self.value_elsewhere(&ty, declared.name_span));
            }
            let storage = if matches!(inner, Type::Resource(..)) && !item.groupshared {
                Storage::Resource
            } else if item.groupshared && item.in_braces_of_buffer {
                // DXC makes it groupshared, but crashes on an atomic on it. DXC's SPIR-V has no such variable.
                Storage::Unknown
            } else if item.groupshared {
                Storage::Groupshared
            } else if is_static && is_const {
                Storage::Const
            } else if is_static {
                Storage::Static
            } else if may_hide_storage {
                Storage::Unknown
            } else {
                Storage::Uniform
            };
            let value = init
                .as_ref()
                .filter(|_| is_const && storage != Storage::Groupshared)
                .and_then(|init| self.evaluate(init));
            let global = Global {
                name: String::from_utf8_lossy(&self.full_name(declared.name)).into_owned(),
                ty,
                storage,
                init,
                span,
                name_span: declared.name_span,
                coherent: item.coherent || storage == Storage::Resource && may_hide_storage,
            };
            let id = self.add_global(global, value);
            self.globals.insert(self.full_name(declared.name), id);
        }
    }

    /// Adds a global with its value, if that is known. No name refers to the global yet.
    pub(super) fn add_global(&mut self, global: Global, value: Option<Constant>) -> GlobalId {
        let id = GlobalId(u32::try_from(self.shader.globals.len()).unwrap_or(u32::MAX));
        self.shader.globals.push(global);
        self.global_values.push(value);
        id
    }

    /// The value of a static member that has none in its struct. It is opaque until [`Self::member_outside`] finds
    /// one, which may never happen, for example for a member of a template. The member's number distinguishes it from
    /// others with the same text.
    fn value_elsewhere(&mut self, ty: &Type, span: Span) -> Expr {
        let number = Expr {
            kind: ExprKind::Literal(u32::try_from(self.shader.globals.len()).unwrap_or(u32::MAX)),
            ty: Type::UINT,
            span,
        };
        let unseen = opaque(Vec::new(), Type::UINT, span);
        self.told.insert(span);
        opaque(vec![number, unseen], ty.clone(), span)
    }

    /// `uint S::v = 2;` gives a static member its value; without an initialiser the value is zero. `false` if this is
    /// something else.
    fn member_outside(&mut self, node: Node, base: &Type) -> bool {
        let mut name = node;
        while let "init_declarator" | "array_declarator" = name.kind() {
            match part(name, Part::Declarator) {
                Some(inner) => name = inner,
                None => return false,
            }
        }
        let Some((holder, own)) = self.qualified(self.span(name)) else {
            return false;
        };
        let Some(id) = self.resolve_member(&self.globals, &holder, own) else {
            return false;
        };
        let Some(member) = self.shader.globals.get(id.0 as usize) else {
            return false;
        };
        let is_open = member
            .init
            .as_ref()
            .is_some_and(|init| matches!(init.kind, ExprKind::Opaque(_)) && self.told.contains(&init.span));
        let (ty, is_const) = (member.ty.clone(), member.storage == Storage::Const);
        let mut inner = &ty;
        while let Type::Array(element, _) = inner {
            inner = element;
        }
        if !is_open || inner != base {
            return false;
        }
        let init = if node.kind() == "init_declarator" {
            let Some(value) = part(node, Part::Value) else {
                return false;
            };
            let value = self.initializer(value, &ty);
            Some(self.fit(value, &ty))
        } else {
            None
        };
        let value = init
            .as_ref()
            .filter(|_| is_const)
            .and_then(|init| self.evaluate(init));
        if let Some(slot) = self.global_values.get_mut(id.0 as usize) {
            *slot = value;
        }
        if let Some(member) = self.shader.globals.get_mut(id.0 as usize) {
            member.init = init;
        }
        true
    }

    /// Start of the item, if this node is the first of the item.
    pub(super) fn attribute_start(&self, item: &Item, node: Node) -> u32 {
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

    /// Notes a write to a place: a method that writes to its own fields takes `this` by reference.
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

/// The initialiser of a static member: the grammar puts it beside the declarator.
fn value_of_member<'t>(declaration: Node<'t>, declarator: Node<'t>) -> Option<Node<'t>> {
    let mut cursor = declaration.walk();
    let mut values = declaration.children_by_field_name("default_value", &mut cursor);
    let mut inner = declaration.walk();
    let next = declaration
        .children_by_field_name("declarator", &mut inner)
        .find(|other| other.start_byte() > declarator.start_byte());
    values.find(|value| {
        value.start_byte() > declarator.start_byte()
            && next.is_none_or(|next| value.start_byte() < next.start_byte())
    })
}
