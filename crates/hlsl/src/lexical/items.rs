//! Splits the text into its top-level items by its brackets, so that one broken function does not affect others.

use super::{Item, ItemKind, Lexer, TemplateParameter, TextProblem, tokens, words};
use crate::span::{Cause, Span};

/// The maximum of unknown macros in a row.
pub(super) const MAX_MACROS: usize = 8;
/// The maximum depth of namespaces and buffers.
const MAX_CONTEXTS: usize = 64;

/// A namespace or `cbuffer` that is open.
struct Context {
    /// Index of the token that closes it; past the last token if none does.
    close: usize,
    namespace: u32,
    is_buffer: bool,
}

/// The head of a context, up to its brace.
struct ContextHead {
    /// Index of the brace.
    open: usize,
    /// The full name of the namespace that it opens, with its colons.
    namespace: Option<Vec<u8>>,
    is_buffer: bool,
}

/// The surroundings of an item.
#[derive(Clone, Copy, Default)]
struct Around {
    namespace: u32,
    is_buffer: bool,
    in_braces: bool,
    /// Start of the unknown macros before it.
    macros: Option<u32>,
}

impl Lexer<'_> {
    /// Walks the top level: finds each item, notes it, edits it.
    pub(super) fn split(&mut self) {
        let count = self.out.tokens.len();
        let mut contexts: Vec<Context> = Vec::new();
        let mut index = 0;
        let mut macros = None;
        // Inside a buffer whose brackets are macros, judging by their names.
        let mut in_buffer = false;
        while index < count {
            let (close, namespace) = contexts
                .last()
                .map_or((usize::MAX, 0), |top| (top.close, top.namespace));
            let in_braces = contexts.last().is_some_and(|top| top.is_buffer);
            let is_buffer = in_buffer || in_braces;
            if index >= close {
                contexts.pop();
                self.blank_tokens(index, index + 1);
                index += 1;
                continue;
            }
            if self.is(index, b';') || self.is(index, b'}') || self.is(index, b')') {
                if !self.is(index, b';') {
                    let span = Span {
                        start: self.start(index),
                        end: self.end(index),
                    };
                    self.out
                        .problems
                        .push(TextProblem::new("unmatched bracket", span));
                }
                self.blank_tokens(index, index + 1);
                index += 1;
                continue;
            }
            if let Some(end) = self.unknown_macro(index) {
                self.tell_macro(index, end - 1);
                self.add_item(index, end, ItemKind::Skipped, Around::default());
                if let Some(opens) = words::bracket_of_buffer(self.word(index)) {
                    in_buffer = opens;
                    macros = None;
                } else {
                    macros.get_or_insert(self.start(index));
                }
                index = end;
                continue;
            }
            let macros_before = macros.take();
            let mut head = index;
            while self.is(head, b'[')
                && let Some(close) = self.partner(head)
            {
                head = close + 1;
            }
            if contexts.len() < MAX_CONTEXTS
                && let Some(head) = self.context_head(head, namespace)
            {
                let open = head.open;
                contexts.push(self.open_context(index, head, namespace));
                index = open + 1;
                continue;
            }
            let (end, kind) = self.find_item(index, close.min(count));
            let end = end.max(index + 1).min(count);
            let around = Around {
                namespace,
                is_buffer,
                in_braces,
                macros: macros_before,
            };
            self.add_item(index, end, kind, around);
            if kind == ItemKind::Skipped && words::is_macro_like(self.word(index)) {
                self.tell_macro(index, self.end_of_macro(index));
                macros = macros_before.or(Some(self.start(index)));
            }
            index = end;
        }
    }

    /// Reports a macro that no file defines, once.
    pub(super) fn tell_macro(&mut self, index: usize, last: usize) {
        let span = Span {
            start: self.start(index),
            end: self.end(last),
        };
        if self.macros.insert(self.word(index)) {
            let name = String::from_utf8_lossy(self.word(index)).into_owned();
            self.out.problems.push(TextProblem {
                message: "unknown macro".to_owned(),
                span,
                cause: Cause::Name(name),
            });
        }
    }

    /// The end (excluded) of a name that can only be an undefined macro: it is not a type, with or without arguments,
    /// and stands on lines of its own before a complete declaration.
    fn unknown_macro(&self, first: usize) -> Option<usize> {
        let end = self.lone_name(first)?;
        let mut next = end;
        for _ in 0..MAX_MACROS {
            if self.is(next, b'[') || self.begins_declaration(next) {
                return Some(end);
            }
            next = self.lone_name(next)?;
        }
        None
    }

    /// The end (excluded) of a name that is not a type, with or without arguments, at the end of a line.
    fn lone_name(&self, index: usize) -> Option<usize> {
        let word = self.word(index);
        let is_type = self.is_type(word)
            || words::is_template_type(word)
            || self.templates.contains(word)
            || matches!(word, b"unsigned" | b"signed" | b"short" | b"long");
        if word.is_empty() || is_type || words::is_keyword(word) || words::is_modifier(word) {
            return None;
        }
        let last = if self.is(index + 1, b'(') {
            self.partner(index + 1)?
        } else {
            index
        };
        let between = self.end(last) as usize..self.start(last + 1) as usize;
        self.text.get(between)?.contains(&b'\n').then_some(last + 1)
    }

    /// Whether two words start here: a type, or a declaring word, and another word.
    pub(super) fn begins_declaration(&self, index: usize) -> bool {
        let end = if self.is(index + 1, b'<') {
            self.template_end(index + 1, self.out.tokens.len())
        } else {
            Some(index)
        };
        !self.word(index).is_empty() && end.is_some_and(|end| !self.word(end + 1).is_empty())
    }

    /// The full name of a namespace, with its colons.
    fn namespace(&self, id: u32) -> Vec<u8> {
        self.out.namespaces.get(id as usize).cloned().unwrap_or_default()
    }

    fn add_namespace(&mut self, name: Vec<u8>) -> u32 {
        let id = u32::try_from(self.out.namespaces.len()).unwrap_or(0);
        self.out.namespaces.push(name);
        id
    }

    /// The head of a namespace or buffer whose keyword is at `head`, in the namespace `outer`.
    fn context_head(&self, head: usize, outer: u32) -> Option<ContextHead> {
        let count = self.out.tokens.len();
        match self.word(head) {
            b"namespace" => {
                let mut name = self.namespace(outer);
                let mut open = head + 1;
                while open < count && !self.word(open).is_empty() || self.is(open, b':') {
                    let word = self.word(open);
                    if !word.is_empty() {
                        name.extend_from_slice(word);
                        name.extend_from_slice(b"::");
                    }
                    open += 1;
                }
                (self.is(open, b'{') && name.len() < 1024).then_some(ContextHead {
                    open,
                    namespace: Some(name),
                    is_buffer: false,
                })
            }
            // A dialect's buffer of constants and resources. Its name qualifies the names of its members.
            b"ShaderResourceGroup" | b"partial" => {
                let named = head + 1 + usize::from(self.word(head) == b"partial");
                let mut open = named + 1;
                while self.is(open, b':') || !self.word(open).is_empty() {
                    open += 1;
                }
                let mut name = self.namespace(outer);
                name.extend_from_slice(self.word(named));
                name.extend_from_slice(b"::");
                let is_group = self.is(open, b'{') && self.word(named - 1) == b"ShaderResourceGroup";
                is_group.then_some(ContextHead {
                    open,
                    namespace: Some(name),
                    is_buffer: true,
                })
            }
            b"cbuffer" | b"tbuffer" => {
                let mut open = head + 1;
                while open < count.min(head + 32) && !self.is(open, b'{') && !self.is(open, b';') {
                    open += 1;
                }
                self.is(open, b'{').then_some(ContextHead {
                    open,
                    namespace: None,
                    is_buffer: true,
                })
            }
            _ => None,
        }
    }

    /// Opens a context in the namespace `outer`, and blanks its head from `first` to the brace.
    fn open_context(&mut self, first: usize, head: ContextHead, outer: u32) -> Context {
        let ContextHead { open, is_buffer, .. } = head;
        let namespace = head.namespace.map_or(outer, |name| self.add_namespace(name));
        self.note_head(first, open);
        self.blank_tokens(first, open + 1);
        Context {
            close: self.partner(open).unwrap_or(self.out.tokens.len()),
            namespace,
            is_buffer,
        }
    }

    fn add_item(&mut self, first: usize, end: usize, kind: ItemKind, around: Around) {
        let span = Span {
            start: self.start(first),
            end: self.end(end - 1),
        };
        let mut item = Item {
            kind,
            span,
            namespace: around.namespace,
            in_buffer: around.is_buffer,
            in_braces_of_buffer: around.in_braces,
            groupshared: false,
            coherent: false,
            after_macros: around.macros,
            numthreads: None,
            wave_size: None,
            too_deep: false,
            template: Vec::new(),
        };
        let next_deep = self.deep.partition_point(|&index| (index as usize) < first);
        item.too_deep = self
            .deep
            .get(next_deep)
            .is_some_and(|&index| (index as usize) < end);
        if self.word(first) == b"template" {
            self.note_template(first, end);
        }
        if kind == ItemKind::Skipped || item.too_deep {
            self.blank_tokens(first, end);
        } else if kind == ItemKind::Template {
            self.edit_template(first, end, &mut item);
        } else {
            self.edit(first, end, &mut item);
        }
        self.out.items.push(item);
    }

    /// Removes `template <…>`. Its parameters are types in this item only.
    fn edit_template(&mut self, first: usize, end: usize, item: &mut Item) {
        let Some(close) = self.template_end(first + 1, end) else {
            return self.blank_tokens(first, end);
        };
        let mut added = Vec::new();
        let mut start = first + 2;
        for index in first + 2..=close {
            if index < close && !self.is(index, b',') {
                continue;
            }
            if let Some(parameter) = self.template_parameter(start, index) {
                let name = parameter.name.slice(self.text);
                if parameter.ty.is_none() && self.types.insert(name) {
                    added.push(name);
                }
                item.template.push(parameter);
            }
            start = index + 1;
        }
        self.blank_tokens(first, close + 1);
        self.edit(close + 1, end, item);
        for word in added {
            self.types.remove(word);
        }
    }

    /// The template parameter that these tokens declare.
    fn template_parameter(&self, first: usize, end: usize) -> Option<TemplateParameter> {
        let span = |first: usize, end: usize| Span {
            start: self.start(first),
            end: self.end(end - 1),
        };
        let equals = (first..end).find(|&index| self.is(index, b'=')).unwrap_or(end);
        let name = equals.checked_sub(1).filter(|&name| name >= first)?;
        let is_type = matches!(self.word(first), b"typename" | b"class");
        Some(TemplateParameter {
            name: span(name, name + 1),
            ty: (!is_type && name > first).then(|| span(first, name)),
            default: (equals + 1 < end).then(|| span(equals + 1, end)),
        })
    }

    /// The end (excluded) and the kind of the item that starts at a token.
    fn find_item(&mut self, first: usize, limit: usize) -> (usize, ItemKind) {
        let mut index = first;
        let is_template = self.word(first) == b"template";
        let mut kind = if is_template {
            ItemKind::Skipped
        } else {
            ItemKind::Declaration
        };
        if is_template && self.is(first + 1, b'<') {
            index = self.template_end(first + 1, limit).unwrap_or(first + 1) + 1;
            if self.word(index) == b"using" {
                kind = ItemKind::Template;
            }
        }
        // `MACRO(x)` without a semicolon, before something else.
        if words::is_macro_like(self.word(first))
            && self.is(first + 1, b'(')
            && let Some(close) = self.partner(first + 1)
            && (!self.word(close + 1).is_empty() || self.is(close + 1, b'['))
        {
            return (close + 1, ItemKind::Skipped);
        }
        let (mut parameters, mut equals, mut structure, mut attributes_only) = (false, false, false, true);
        while index < limit {
            let Some(token) = self.token(index) else { break };
            match token.kind {
                tokens::TokenKind::Punct(b'[') => {
                    if !attributes_only && self.is_numthreads(index) {
                        let alone = (first..index).all(|other| words::is_macro_like(self.word(other)));
                        return (index, if alone { ItemKind::Skipped } else { kind });
                    }
                    index = self.partner(index).unwrap_or(index) + 1;
                    continue;
                }
                tokens::TokenKind::Punct(b'(') => {
                    let before = self.word(index.saturating_sub(1));
                    parameters |= !matches!(before, b"register" | b"packoffset");
                    let Some(close) = self.partner(index) else {
                        // Nothing in this item is reliable: continue after its line.
                        return (self.resynchronise(index, limit), kind);
                    };
                    index = close;
                }
                tokens::TokenKind::Punct(b'{') => {
                    let close = self.partner(index).filter(|&close| close < limit);
                    let state = index > first && words::is_sampler(self.word(first)) && !parameters;
                    if state && let Some(close) = close {
                        // The settings of a sampler.
                        self.blank_tokens(index, close + 1);
                        if !self.is(close + 1, b';') {
                            self.insert_semicolon(index - 1);
                            return (close + 1, kind);
                        }
                        index = close;
                    } else if structure || equals {
                        let Some(close) = close else {
                            return (self.resynchronise(index, limit), kind);
                        };
                        if is_template && structure {
                            kind = ItemKind::Template;
                        }
                        if structure && !equals && !self.continues_declaration(close + 1) {
                            self.insert_semicolon(close);
                            return (close + 1, kind);
                        }
                        index = close;
                    } else {
                        let end = close.map_or_else(|| self.resynchronise(index, limit), |close| close + 1);
                        let body_end = close.map_or_else(|| self.end(end - 1), |close| self.start(close));
                        let kind = if parameters && is_template {
                            ItemKind::Template
                        } else if parameters {
                            ItemKind::Function {
                                body: (self.end(index), body_end.max(self.end(index))),
                            }
                        } else {
                            kind
                        };
                        return (end, kind);
                    }
                }
                tokens::TokenKind::Punct(b'}') => return (index, kind),
                tokens::TokenKind::Punct(b';') => return (index + 1, kind),
                tokens::TokenKind::Punct(b'=') => equals = true,
                tokens::TokenKind::Word => {
                    attributes_only = false;
                    if !parameters {
                        structure |= matches!(
                            self.word(index),
                            b"struct" | b"class" | b"interface" | b"enum" | b"union"
                        );
                    }
                }
                _ => {}
            }
            index += 1;
        }
        (limit, kind)
    }

    /// Whether the declaration continues after the brace that closes a struct.
    fn continues_declaration(&self, index: usize) -> bool {
        if self.is(index, b';') {
            return true;
        }
        !self.word(index).is_empty()
            && [b';', b'=', b'[', b',', b':']
                .iter()
                .any(|&punct| self.is(index + 1, punct))
    }

    /// Whether `[numthreads(…)]` stands here. An array may be `[NumThreads]` long, but the attribute has arguments.
    pub(super) fn is_numthreads(&self, index: usize) -> bool {
        self.is(index, b'[')
            && self.word(index + 1).eq_ignore_ascii_case(b"numthreads")
            && self.is(index + 2, b'(')
    }

    /// Where the next item may start after an unclosed bracket: after a brace at the start of a line, or at a
    /// `[numthreads`.
    fn resynchronise(&self, open: usize, limit: usize) -> usize {
        let mut index = open + 1;
        while index < limit {
            if self.is_numthreads(index) {
                return index;
            }
            if self.is(index, b'}') {
                let start = self.start(index) as usize;
                if start == 0 || self.text.get(start - 1) == Some(&b'\n') {
                    return index + 1;
                }
            }
            index += 1;
        }
        limit
    }

    /// The index of the `>` that closes the template list opened at `open`.
    pub(super) fn template_end(&self, open: usize, limit: usize) -> Option<usize> {
        let mut depth = 0usize;
        for index in open..limit.min(open + 64) {
            let token = self.token(index)?;
            match token.kind {
                tokens::TokenKind::Punct(b'<') => depth += 1,
                tokens::TokenKind::Punct(b'>') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(index);
                    }
                }
                tokens::TokenKind::Punct(
                    b',' | b':' | b'(' | b')' | b'*' | b'+' | b'-' | b'/' | b'=' | b'.',
                )
                | tokens::TokenKind::Word
                | tokens::TokenKind::Number => {}
                _ => return None,
            }
        }
        None
    }

    /// Writes a semicolon into the white space after a token, if there is any.
    pub(super) fn insert_semicolon(&mut self, index: usize) {
        let end = self.end(index);
        if self.blank_at(end) {
            self.put(end, b';');
        }
    }

    pub(super) fn blank_at(&self, offset: u32) -> bool {
        let byte = self.out.blank.get(offset as usize);
        byte.is_some_and(u8::is_ascii_whitespace)
    }
}
