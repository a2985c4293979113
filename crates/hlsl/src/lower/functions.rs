//! Functions, methods and their parameters.

use std::borrow::Cow;

use tree_sitter::Node;

use super::names::{operator_or, packed, split_scope, within_root};
use super::parts::{Part, part};
use super::scoping::Doubt;
use super::{Body, Lowering};
use crate::lexical::Item;
use crate::span::Span;
use crate::tree::{Direction, Function, FunctionId, Parameter};
use crate::types::{Scalar, StructId, Type};

/// The maximum of overloads of one name.
const MAX_OVERLOADS: usize = 64;

/// The parts of a function's declaration before its parameters.
struct Head<'a> {
    /// Without its scope.
    name: &'a [u8],
    /// With its scope.
    name_span: Span,
    /// The struct that has it as a method.
    owner: Option<StructId>,
    is_static: bool,
}

/// Adds an overload, or replaces the one that it redefines.
fn add_overload(overloads: &mut Vec<FunctionId>, id: FunctionId, same: Option<FunctionId>) {
    if let Some(slot) = overloads.iter_mut().find(|known| same == Some(**known)) {
        *slot = id;
    } else if overloads.len() < MAX_OVERLOADS {
        overloads.push(id);
    }
}

impl<'a> Lowering<'a> {
    /// A function or a method, with or without its body.
    pub(super) fn function(
        &mut self,
        item: &Item,
        node: Node,
        method_of: Option<StructId>,
    ) -> Option<FunctionId> {
        let body = part(node, Part::Body);
        let (outer, scope) = (std::mem::take(&mut self.body), self.namespace.clone());
        let used = self.used.len();
        let function = self.function_with(item, node, method_of, body);
        self.used.truncate(used);
        // A struct inside a function may have methods.
        self.body = outer;
        self.namespace = scope;
        function
    }

    /// Declares a method for the methods before it: they assume that it writes to its object.
    pub(super) fn prototype(&mut self, item: &Item, node: Node, method_of: StructId) {
        let outer = std::mem::take(&mut self.body);
        let function = self.function_with(item, node, Some(method_of), None);
        self.body = outer;
        if let Some(id) = function
            && !self.static_methods.contains(&id)
            && let Some(function) = self.shader.functions.get_mut(id.0 as usize)
            && let Some(this) = function.parameters.first_mut()
        {
            this.direction = Direction::InOut;
        }
    }

    fn function_with(
        &mut self,
        item: &Item,
        node: Node,
        method_of: Option<StructId>,
        body: Option<Node>,
    ) -> Option<FunctionId> {
        let declarator = part(node, Part::Declarator)?;
        if declarator.kind() != "function_declarator" {
            let span = self.span(node);
            self.problem("unsupported function", span);
            return None;
        }
        let name_node = part(declarator, Part::Declarator)?;
        let returns = part(node, Part::Type).map_or(Type::Unknown, |ty| self.type_of_node(ty));
        let head = self.head(node, name_node, method_of);
        self.body = Body {
            returns: Some(returns.clone()),
            owner: head.owner,
            ..Body::default()
        };
        let mut parameters = Vec::new();
        if let Some(id) = head.owner.filter(|_| !head.is_static) {
            let local = self.declare_local(b"this", Type::Struct(id), head.name_span);
            self.body.this = Some((local, id));
            parameters.push(Parameter {
                local,
                direction: Direction::In,
                semantic: None,
                default: None,
            });
        }
        let understood = self.parameters(declarator, &mut parameters);
        let id = self.function_id(&head, &parameters, understood, body.is_some());
        let known = self.shader.functions.get(id.0 as usize);
        if body.is_none() && known.is_some_and(|function| function.body.is_some()) {
            // It is declared again after its definition.
            return Some(id);
        }
        let shown = self.shown_name(&head);
        self.body.name = format!("{}{shown}", String::from_utf8_lossy(&self.namespace));
        let function = Function {
            name: shown,
            name_span: head.name_span,
            span: Span {
                start: self.attribute_start(item, node),
                end: self.span(node).end,
            },
            parameters,
            // Calls inside the body refer to the parameters.
            locals: self.body.locals.clone(),
            returns,
            body: None,
            group_size: None,
            group_size_span: Span::default(),
            wave_size: None,
            is_instance: self.templates.is_instance(),
            is_called_elsewhere: false,
        };
        self.declare_function(id, function);
        self.define_function(id, body);
        Some(id)
    }

    /// The head of a function. `S::f(…) {…}` may be outside of its struct or namespace: this enters the scope that it
    /// names.
    fn head(&mut self, node: Node, name_node: Node, method_of: Option<StructId>) -> Head<'a> {
        let name_span = self.span(name_node);
        let written = self.source(name_span);
        let (is_static, _) = self.specifiers(node);
        let mut head = Head {
            name: written,
            name_span,
            owner: method_of,
            is_static,
        };
        if let Some((scope, own)) = split_scope(written) {
            head.name = own;
            if let Some(Type::Struct(id)) = self.resolve(&self.types, &packed(scope)) {
                head.owner = Some(id);
                let known = self.methods.get(&(id, own)).map_or(&[][..], Vec::as_slice);
                head.is_static |=
                    !known.is_empty() && known.iter().all(|id| self.static_methods.contains(id));
                self.namespace = self.scopes.get(id.0 as usize).cloned().unwrap_or_default();
            } else {
                self.namespace = Cow::Owned([&*self.namespace, within_root(&packed(scope)), b"::"].concat());
            }
        }
        head.name = operator_or(head.name);
        head
    }

    /// A function's name with its struct, and without the arguments of a specialisation.
    fn shown_name(&self, head: &Head<'_>) -> String {
        let owner = head.owner.and_then(|id| self.shader.structs.get(id.0 as usize));
        let owner = owner.map_or_else(String::new, |owner| format!("{}::", owner.name));
        let name = head.name;
        let own = match name.iter().position(|byte| *byte == b'<') {
            Some(end) if !name.starts_with(b"operator") => name.get(..end).unwrap_or(name),
            _ => name,
        };
        owner + &String::from_utf8_lossy(own)
    }

    /// Adds a function without its body, or replaces its prototype.
    fn declare_function(&mut self, id: FunctionId, function: Function) {
        if let Some(slot) = self.shader.functions.get_mut(id.0 as usize) {
            // Only the prototype may have the defaults.
            let declared = std::mem::replace(slot, function).parameters;
            for (parameter, declared) in slot.parameters.iter_mut().zip(declared) {
                if parameter.default.is_none() {
                    parameter.default = declared.default;
                }
            }
        } else {
            self.shader.functions.push(function);
        }
    }

    /// Reads the body of a function that is declared.
    fn define_function(&mut self, id: FunctionId, body: Option<Node>) {
        // Names in the body are resolved like any others.
        self.templates.is_open = false;
        // A parameter's default that is nested too deeply does not make a statement opaque.
        self.too_deep = false;
        self.body.doubt = Doubt::default();
        let body = body.map(|body| self.block(body));
        let locals = std::mem::take(&mut self.body.locals);
        let written_this = self.body.this_written;
        if let Some(function) = self.shader.functions.get_mut(id.0 as usize) {
            function.body = body;
            function.locals = locals;
            if written_this && let Some(this) = function.parameters.first_mut() {
                this.direction = Direction::InOut;
            }
        }
    }

    /// Declares the parameters of a function; `false` if one is not understood.
    fn parameters(&mut self, declarator: Node, parameters: &mut Vec<Parameter>) -> bool {
        let mut understood = true;
        if let Some(list) = part(declarator, Part::Parameters) {
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
            self.problem("unsupported parameters of this function", span);
        }
        understood
    }

    /// The id of a function: that of its prototype, or a new one.
    fn function_id(
        &mut self,
        head: &Head<'a>,
        parameters: &[Parameter],
        understood: bool,
        has_body: bool,
    ) -> FunctionId {
        let name = head.name;
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
        let known = match head.owner {
            _ if self.templates.is_open => None,
            Some(id) => self.methods.get(&(id, name)),
            None => self.functions.get(&full),
        };
        let same = known.into_iter().flatten().copied().find(|id| {
            self.shader
                .functions
                .get(id.0 as usize)
                .is_some_and(|function| types(function) == own)
        });
        let is_defined = same
            .and_then(|id| self.shader.functions.get(id.0 as usize))
            .is_some_and(|function| function.body.is_some());
        if let Some(id) = same
            && !(is_defined && has_body)
        {
            return id;
        }
        // A second body belongs to another type that is the same type here.
        let is_small = |ty: &Type| ty.scalar().is_some_and(Scalar::is_small);
        let same = same.filter(|_| !own.iter().any(is_small));
        let id = FunctionId(u32::try_from(self.shader.functions.len()).unwrap_or(u32::MAX));
        if !understood || self.templates.is_open {
            return id;
        }
        if let Some(owner) = head.owner {
            add_overload(self.methods.entry((owner, name)).or_default(), id, same);
            self.with_methods.insert(owner);
            if head.is_static {
                self.static_methods.insert(id);
            }
            return id;
        }
        add_overload(self.functions.entry(full).or_default(), id, same);
        id
    }

    /// `Some(None)` is `void`, and `None` is not understood.
    #[expect(clippy::option_option, reason = "a parameter, none, or something else")]
    fn parameter(&mut self, node: Node) -> Option<Option<Parameter>> {
        let ty = self.type_of_node(part(node, Part::Type)?);
        let Some(declarator) = part(node, Part::Declarator) else {
            if ty == Type::Void {
                return Some(None);
            }
            let span = self.span(node);
            let local = self.declare_local(&[], ty, span);
            return Some(Some(Parameter {
                local,
                direction: Direction::In,
                semantic: None,
                default: None,
            }));
        };
        let declared = self.declarator(declarator, ty)?;
        let start = declared.name_span.start;
        if self.lexed.shared_parameters.contains(&start) {
            return None;
        }
        let default = part(node, Part::DefaultValue).map(|value| {
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
        let local = self.declare_local(declared.name, declared.ty, declared.name_span);
        Some(Some(Parameter {
            local,
            direction,
            semantic,
            default,
        }))
    }
}
