//! The meaning of a name at its place: namespaces, the scopes of structs, `using`.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use tree_sitter::Node;

use super::{Lowering, Name};
use crate::lexical::Item;
use crate::span::Span;
use crate::types::{StructId, Type};

/// The maximum of `using namespace` to follow.
const MAX_USED: usize = 64;

/// The prefix of a name that is looked up in the outermost scope only.
const ROOT: &[u8] = b"::";

/// A name without the `::` before it.
pub(super) fn within_root(name: &[u8]) -> &[u8] {
    name.strip_prefix(ROOT).unwrap_or(name)
}

/// A written name without the white space in it.
pub(super) fn packed(written: &[u8]) -> Cow<'_, [u8]> {
    let written = written.trim_ascii();
    if written.iter().any(u8::is_ascii_whitespace) {
        let bytes = written.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
        Cow::Owned(bytes.collect())
    } else {
        Cow::Borrowed(written)
    }
}

/// The operators that a struct may have as methods, by their names.
const OPERATORS: [&[u8]; 22] = [
    b"operator+",
    b"operator-",
    b"operator*",
    b"operator/",
    b"operator%",
    b"operator&",
    b"operator|",
    b"operator^",
    b"operator<<",
    b"operator>>",
    b"operator<",
    b"operator<=",
    b"operator>",
    b"operator>=",
    b"operator==",
    b"operator!=",
    b"operator&&",
    b"operator||",
    b"operator!",
    b"operator~",
    b"operator[]",
    b"operator()",
];

/// An operator's name without the white space in it; any other name unchanged.
pub(super) fn operator_or(name: &[u8]) -> &[u8] {
    let packed = packed(name);
    let operator = OPERATORS.into_iter().find(|operator| *operator == &*packed);
    operator.unwrap_or(name)
}

/// `a::b::c` as `a::b` and `c`.
pub(super) fn split_scope(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = name.windows(2).rposition(|pair| pair == b"::")?;
    Some((name.get(..colon)?, name.get(colon + 2..)?))
}

/// The scope around a scope; both end in `::` or are empty.
fn outer_scope(scope: &[u8]) -> &[u8] {
    let inner = scope.get(..scope.len().saturating_sub(2)).unwrap_or_default();
    let end = split_scope(inner).map_or(0, |(outer, _)| outer.len() + 2);
    scope.get(..end).unwrap_or_default()
}

impl<'a> Lowering<'a> {
    pub(super) fn namespace_of(&self, item: &Item) -> Name<'a> {
        let namespaces = &self.lexed.namespaces;
        Cow::Borrowed(namespaces.get(item.namespace as usize).map_or(&[], Vec::as_slice))
    }

    /// The key of a name that is declared here.
    pub(super) fn full_name(&self, name: impl Into<Name<'a>>) -> Name<'a> {
        let name = name.into();
        if self.namespace.is_empty() {
            name
        } else {
            Cow::Owned([&*self.namespace, &*name].concat())
        }
    }

    /// Looks a name up in the surrounding scopes, from the inside out, including what each scope inherits and uses. A
    /// name with a leading `::` is looked up in the outermost scope only.
    pub(super) fn resolve<T: Clone>(&self, map: &FxHashMap<Name<'a>, T>, name: &[u8]) -> Option<T> {
        self.resolve_scoped(map, name).map(|(_, found)| found)
    }

    /// The depth of the scope that has a name: a deeper declaration hides others.
    pub(super) fn depth_of<T: Clone>(&self, map: &FxHashMap<Name<'a>, T>, name: &[u8]) -> Option<usize> {
        self.resolve_scoped(map, name).map(|(depth, _)| depth)
    }

    /// The innermost scope that a name is looked up in, and the name in it.
    fn first_scope<'n>(&self, name: &'n [u8]) -> (&[u8], &'n [u8]) {
        match name.strip_prefix(ROOT) {
            Some(name) => (&[], name),
            None => (&self.namespace, name),
        }
    }

    fn resolve_scoped<T: Clone>(&self, map: &FxHashMap<Name<'a>, T>, name: &[u8]) -> Option<(usize, T)> {
        let (mut scope, name) = self.first_scope(name);
        loop {
            if let Some(found) = self.resolve_in(map, scope, name) {
                return Some((scope.len(), found));
            }
            let used = self.used.iter().filter(|(within, _)| &**within == scope);
            for (_, used) in used {
                if let Some(found) = map.get([used, name].concat().as_slice()) {
                    return Some((scope.len(), found.clone()));
                }
            }
            if scope.is_empty() {
                return None;
            }
            scope = outer_scope(scope);
        }
    }

    /// Looks a name up in one scope and, if the scope is a struct, in its bases.
    fn resolve_in<T: Clone>(&self, map: &FxHashMap<Name<'a>, T>, scope: &[u8], name: &[u8]) -> Option<T> {
        if scope.is_empty() {
            return map.get(name).cloned();
        }
        if let Some(found) = map.get([scope, name].concat().as_slice()) {
            return Some(found.clone());
        }
        let mut open = self.open_structs.iter().rev();
        if let Some((_, bases)) = open.find(|(open, _)| &**open == scope) {
            let scopes = bases.iter().filter_map(|base| self.scopes.get(base.0 as usize));
            return { scopes }.find_map(|scope| self.resolve_in(map, scope, name));
        }
        match self.types.get(scope.strip_suffix(b"::")?)? {
            Type::Struct(id) => self.resolve_in_bases(map, *id, name),
            _ => None,
        }
    }

    /// Looks a name up in a struct and its bases.
    pub(super) fn resolve_member<T: Clone>(
        &self,
        map: &FxHashMap<Name<'a>, T>,
        holder: &Type,
        name: &[u8],
    ) -> Option<T> {
        let Type::Struct(id) = holder else { return None };
        self.resolve_in(map, self.scopes.get(id.0 as usize)?, name)
    }

    /// The type before the last `::` of a written name, and the name after it.
    pub(super) fn qualified(&mut self, span: Span) -> Option<(Type, &'a [u8])> {
        let (scope, own) = split_scope(self.source(span))?;
        let end = span.start + u32::try_from(scope.len()).ok()?;
        let holder = self.type_at(Span {
            start: span.start,
            end,
        });
        matches!(holder, Type::Struct(_)).then_some((holder, own.trim_ascii()))
    }

    fn resolve_in_bases<T: Clone>(
        &self,
        map: &FxHashMap<Name<'a>, T>,
        id: StructId,
        name: &[u8],
    ) -> Option<T> {
        let fields = &self.shader.structs.get(id.0 as usize)?.fields;
        let bases = self.bases.get(&id)?;
        bases.iter().find_map(|&at| match fields.get(at as usize)?.ty {
            Type::Struct(base) => {
                let scope = self.scopes.get(base.0 as usize)?;
                self.resolve_in(map, scope, name)
            }
            _ => None,
        })
    }

    /// Declares a type by its name, until the current block ends.
    pub(super) fn declare_name(&mut self, name: impl Into<Name<'a>>, ty: Type) {
        let full = self.full_name(name);
        let before = self.types.insert(full.clone(), ty);
        if self.body.returns.is_some() {
            // A marker among the variables, so that the type's scope ends with theirs.
            self.body.undo.push((&[], None));
            self.body.undo_types.push((self.body.undo.len(), full, before));
        }
    }

    /// Removes the types declared since `undo` had this length.
    pub(super) fn close_types(&mut self, mark: usize) {
        while let Some((at, name, before)) = self.body.undo_types.pop() {
            if at <= mark {
                self.body.undo_types.push((at, name, before));
                break;
            }
            match before {
                Some(ty) => self.types.insert(name, ty),
                None => self.types.remove(&name),
            };
        }
    }

    /// The name in a `using`, and whether it is a namespace.
    fn used_name(&self, node: Node) -> (bool, Cow<'a, [u8]>) {
        let written = self.node_source(node);
        let words = written.strip_prefix(b"using").unwrap_or(written);
        let words = words.strip_suffix(b";").unwrap_or(words).trim_ascii();
        match words.strip_prefix(b"namespace") {
            Some(name)
                if name
                    .first()
                    .is_some_and(|next| !next.is_ascii_alphanumeric() && *next != b'_') =>
            {
                (true, packed(name))
            }
            _ => (false, packed(words)),
        }
    }

    pub(super) fn uses_namespace(&self, node: Node) -> bool {
        self.used_name(node).0
    }

    /// `using namespace A;` or `using A::b;`.
    pub(super) fn using(&mut self, node: Node) {
        let span = self.span(node);
        let (is_namespace, name) = self.used_name(node);
        if is_namespace {
            self.use_namespace(&name, span);
            return;
        }
        let Some((_, own)) = split_scope(&name) else {
            return;
        };
        let full: Name<'a> = Cow::Owned([&*self.namespace, own].concat());
        let mut known = false;
        if let Some(ty) = self.resolve(&self.types, &name) {
            self.types.insert(full.clone(), ty);
            known = true;
        }
        if let Some(global) = self.resolve(&self.globals, &name) {
            self.globals.insert(full.clone(), global);
            known = true;
        }
        if let Some(value) = self.resolve(&self.enumerators, &name) {
            self.enumerators.insert(full.clone(), value);
            known = true;
        }
        if let Some(functions) = self.resolve(&self.functions, &name) {
            self.functions.entry(full).or_default().extend(functions);
            known = true;
        }
        if !known {
            self.problem("unsupported `using`", span);
        }
    }

    fn use_namespace(&mut self, name: &[u8], span: Span) {
        // From the inside out, like every other name.
        let (mut scope, name) = self.first_scope(name);
        let name = [name, b"::"].concat();
        let found = loop {
            let full = [scope, &name].concat();
            if self.lexed.namespaces.iter().any(|known| known.starts_with(&full)) {
                break Some(full);
            }
            if scope.is_empty() {
                break None;
            }
            scope = outer_scope(scope);
        };
        match found {
            Some(full) if self.used.len() < MAX_USED => {
                self.used.push((self.namespace.clone(), Cow::Owned(full)));
            }
            _ => self.problem("unsupported `using`", span),
        }
    }
}
