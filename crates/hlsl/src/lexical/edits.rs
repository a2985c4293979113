//! Edits one item token by token: removes what the grammar cannot read.

use super::{Item, ItemKind, Lexer, TokenKind, words};
use crate::span::Span;
use crate::tree::Direction;

/// An open bracket.
#[derive(Default)]
pub(super) struct Frame {
    /// `?` that wait for their `:`.
    questions: u32,
    /// A `case` or `default` that waits for its `:`.
    label: bool,
    /// Start of the name being declared, if the text shows it.
    name: Option<u32>,
    /// The name is known: an initialiser or an array length follows.
    name_known: bool,
    direction: Option<Direction>,
    is_shared: bool,
    /// It holds statements.
    pub is_block: bool,
    /// It holds the members of a struct.
    pub has_members: bool,
    /// The next brace opens the members of a struct.
    names_struct: bool,
}

impl Frame {
    /// The state of the same bracket at the start of the next statement.
    fn next(&self) -> Frame {
        Frame {
            is_block: self.is_block,
            has_members: self.has_members,
            ..Frame::default()
        }
    }
}

/// State of the walk over one item.
pub(super) struct Walk {
    pub frames: Vec<Frame>,
    /// The `>` that close a template list, as token indices.
    closers: Vec<usize>,
    /// Index of the last token that belonged to a blanked attribute list.
    pub attribute_end: Option<usize>,
    /// Index of the closing parenthesis of the last cast.
    cast_end: Option<usize>,
    /// Start of the attribute list whose statement follows.
    pub pending: Option<u32>,
    /// The arguments of an `[unroll]` in it.
    passes: Option<Span>,
    first: usize,
    pub end: usize,
}

impl Lexer<'_> {
    /// Edits the tokens `first..end` of one item.
    pub(super) fn edit(&mut self, first: usize, end: usize, item: &mut Item) {
        let mut walk = Walk {
            frames: vec![Frame::default()],
            closers: Vec::new(),
            attribute_end: None,
            cast_end: None,
            pending: None,
            passes: None,
            first,
            end,
        };
        let mut index = first;
        while index < end {
            let Some(token) = self.token(index) else { break };
            let is_attribute = token.is(b'[') && self.is_attribute(&walk, index);
            if !is_attribute && let Some(start) = walk.pending.take() {
                self.out.attributes.insert(token.start, start);
                if let Some(passes) = walk.passes.take() {
                    self.out.passes.insert(token.start, passes);
                }
            }
            index = match token.kind {
                TokenKind::Word => self.edit_word(&mut walk, index, item),
                TokenKind::Punct(b'[') if is_attribute => self.edit_attribute(&mut walk, index, item),
                TokenKind::Punct(punct) => self.edit_punct(&mut walk, index, punct, item),
                TokenKind::Number | TokenKind::Text => index + 1,
            };
        }
    }

    /// Whether a statement or a declaration may start at this token.
    fn at_statement(&self, walk: &Walk, index: usize) -> bool {
        if index == walk.first || walk.attribute_end == Some(index - 1) {
            return true;
        }
        if self.is(index - 1, b';') || self.is(index - 1, b'{') || self.is(index - 1, b'}') {
            return true;
        }
        matches!(self.word(index - 1), b"else" | b"do")
    }

    fn is_attribute(&self, walk: &Walk, index: usize) -> bool {
        let Some(close) = self.partner(index).filter(|&close| close < walk.end) else {
            return false;
        };
        // No expression starts with a bracket.
        if self.at_statement(walk, index) || self.is(index - 1, b'(') || self.is(index - 1, b',') {
            return true;
        }
        // `struct [raypayload] S`.
        if matches!(self.word(index - 1), b"struct" | b"class") {
            return true;
        }
        (self.is(index - 1, b')') || self.is(index - 1, b':'))
            && words::is_statement_attribute(self.word(index + 1))
            && (words::is_attributed_keyword(self.word(close + 1))
                || self.is(close + 1, b'[')
                || self.is(close + 1, b'{'))
    }

    fn edit_attribute(&mut self, walk: &mut Walk, index: usize, item: &mut Item) -> usize {
        let close = self.partner(index).unwrap_or(index);
        let span = Span {
            start: self.start(index),
            end: self.end(close),
        };
        // `[unroll(4)]` and `[[unroll(4)]]`.
        let first = index + 1 + usize::from(self.is(index + 1, b'['));
        let name = self.word(first);
        if self.is(first + 1, b'(')
            && let Some(inner) = self.partner(first + 1)
        {
            let arguments = Span {
                start: self.end(first + 1),
                end: self.start(inner),
            };
            let is_unroll = name.eq_ignore_ascii_case(b"unroll");
            if is_unroll || name.eq_ignore_ascii_case(b"numthreads") {
                if is_unroll {
                    walk.passes = Some(arguments);
                } else {
                    item.numthreads = Some((span, arguments));
                }
                // Its arguments are parsed separately, and edited like any expression.
                let mut next = first + 2;
                while next < inner {
                    next = match self.token(next).map(|token| token.kind) {
                        Some(TokenKind::Word) => self.edit_word(walk, next, item),
                        Some(TokenKind::Punct(punct)) => self.edit_punct(walk, next, punct, item),
                        _ => next + 1,
                    };
                }
                self.keep(arguments);
            } else if name.eq_ignore_ascii_case(b"WaveSize") {
                item.wave_size = Some(arguments);
                self.keep(arguments);
            }
        }
        self.note_attributes(index, close);
        self.blank_tokens(index, close + 1);
        walk.attribute_end = Some(close);
        walk.pending.get_or_insert(span.start);
        close + 1
    }

    /// Keeps the edited text of an attribute's arguments, which is blanked next.
    pub(super) fn keep(&mut self, arguments: Span) {
        let bytes = arguments.slice(&self.out.blank).to_vec();
        self.out.kept.insert(arguments.start, bytes);
    }

    /// Notes and blanks a modifier.
    fn edit_modifier(&mut self, walk: &mut Walk, index: usize, item: &mut Item) -> usize {
        let start = self.start(index);
        let is_outermost = walk.frames.len() == 1;
        match (self.word(index), walk.frames.last_mut()) {
            (b"groupshared", _) if is_outermost => item.groupshared = true,
            (b"groupshared", Some(frame)) => frame.is_shared = true,
            (b"globallycoherent", _) if is_outermost => item.coherent = true,
            (b"out", Some(frame)) => {
                frame.direction = Some(match frame.direction {
                    None => Direction::Out,
                    // `in out` is `inout`.
                    Some(_) => Direction::InOut,
                });
            }
            (b"inout", Some(frame)) => frame.direction = Some(Direction::InOut),
            (b"in", Some(frame)) => {
                frame.direction = Some(match frame.direction {
                    Some(Direction::Out | Direction::InOut) => Direction::InOut,
                    Some(Direction::In) | None => Direction::In,
                });
            }
            _ => {}
        }
        let at_statement = self.at_statement(walk, index);
        self.blank_tokens(index, index + 1);
        if at_statement {
            walk.attribute_end = Some(index);
            let before = self.out.attributes.get(&start).copied();
            walk.pending.get_or_insert(before.unwrap_or(start));
        }
        index + 1
    }

    fn edit_word(&mut self, walk: &mut Walk, index: usize, item: &mut Item) -> usize {
        let word = self.word(index);
        let start = self.start(index);
        let next_is_word = !self.word(index + 1).is_empty();
        let member = index > walk.first && self.is(index - 1, b'.');
        if words::is_modifier(word) && next_is_word && !member {
            return self.edit_modifier(walk, index, item);
        }
        if matches!(word, b"case" | b"default")
            && let Some(frame) = walk.frames.last_mut()
        {
            frame.label = true;
        }
        if matches!(word, b"struct" | b"class" | b"interface")
            && let Some(frame) = walk.frames.last_mut()
        {
            frame.names_struct = true;
        }
        if words::is_macro_like(word) && self.at_statement(walk, index) && !self.is_type(word) {
            if let Some(next) = self.edit_macro(walk, index, item) {
                return next;
            }
        } else if self.is(index + 1, b'(')
            && index > walk.first
            && walk.frames.last().is_some_and(|frame| frame.is_block)
            && !words::is_keyword(word)
            && self.at_statement(walk, index)
            && let Some(close) = self.partner(index + 1)
            && !self.word(close + 1).is_empty()
        {
            self.insert_semicolon(close);
        }
        if word == b"RayQuery"
            && let Some(close) = self.flags_end(index + 1, walk.end)
        {
            // The flags do not matter to the query, and the grammar reads no operators there: only the first flag stays.
            let is_flag = |at: &usize| {
                let token = self.token(*at);
                token.is_some_and(|token| matches!(token.kind, TokenKind::Word | TokenKind::Number))
            };
            let kept = (index + 2..close).find(is_flag).unwrap_or(close);
            self.blank_tokens(index + 2, kept);
            self.blank_tokens(kept + 1, close);
            return close + 1;
        }
        if self.is(index + 1, b'<')
            && let Some(close) = self.template_list(walk, index)
        {
            walk.closers.push(close);
        }
        if word == b"interface" && next_is_word {
            // An interface is read as a struct without fields.
            for (offset, byte) in (start..).zip(*b"struct   ") {
                self.put(offset, byte);
            }
        }
        if matches!(word, b"static_assert" | b"_Static_assert")
            && let Some(close) = self.partner(index + 1).filter(|_| self.is(index + 1, b'('))
        {
            // The assertion holds, or the code does not compile: it has no effect.
            self.blank_tokens(index, close + 1);
            return close + 1;
        }
        if word == b"template" && walk.frames.len() > 1 && self.is(index + 1, b'<') {
            return self.edit_member_template(walk, index);
        }
        if word == b"operator" && !next_is_word {
            return self.edit_operator(walk, index);
        }
        let foreign =
            words::is_foreign_keyword(word) || (word == b"class" || word == b"template") && !next_is_word;
        // `signed int` and its kin stay types.
        let sized = matches!(word, b"signed" | b"short" | b"long") && next_is_word;
        if foreign && !sized {
            for offset in start..self.end(index) {
                self.put(offset, b'_');
            }
        }
        if !words::is_keyword(word)
            && let Some(frame) = walk.frames.last_mut()
            && !frame.name_known
        {
            frame.name = Some(start);
        }
        index + 1
    }

    /// Removes a template from a struct's members, for its calls are not known here. Keeps every word that may be its
    /// name.
    fn edit_member_template(&mut self, walk: &Walk, index: usize) -> usize {
        self.note_template(index, walk.end);
        let mut end = index + 1;
        let mut operator = None;
        while end < walk.end && !self.is(end, b'{') && !self.is(end, b';') {
            if self.word(end) == b"operator" {
                operator = Some(end);
            }
            if self.is(end, b'(') {
                let first = operator.unwrap_or(end - 1);
                let name = Span {
                    start: self.start(first),
                    end: self.start(end),
                }
                .slice(self.text);
                let name = name
                    .iter()
                    .copied()
                    .filter(|byte| !byte.is_ascii_whitespace())
                    .collect();
                self.out.member_templates.insert(name);
            }
            end += 1;
        }
        if self.is(end, b'{') {
            end = self.partner(end).unwrap_or(end);
        }
        self.blank_tokens(index, end + 1);
        end + 1
    }

    /// `operator+` and its kin become one name, up to the parameters.
    fn edit_operator(&mut self, walk: &mut Walk, index: usize) -> usize {
        let mut end = index + 1;
        // `operator()` and `operator[]`.
        if (self.is(end, b'(') || self.is(end, b'[')) && self.partner(end) == Some(end + 1) {
            end += 2;
        }
        while end < index + 4
            && matches!(self.token(end), Some(token) if matches!(token.kind, TokenKind::Punct(punct) if punct != b'(' && punct != b';'))
        {
            end += 1;
        }
        for offset in self.start(index)..self.end(end - 1) {
            self.put(offset, b'_');
        }
        if let Some(frame) = walk.frames.last_mut() {
            frame.name = Some(self.start(index));
        }
        end
    }

    /// The `>` that closes a list of flags opened by the `<` at `open`: an expression without comparisons.
    fn flags_end(&self, open: usize, limit: usize) -> Option<usize> {
        if !self.is(open, b'<') || self.is(open + 1, b'>') {
            return None;
        }
        let mut index = open + 1;
        while index < limit {
            match self.token(index)?.kind {
                TokenKind::Punct(b'>') => return Some(index),
                TokenKind::Punct(b'(') => index = self.partner(index)? + 1,
                TokenKind::Punct(b';' | b'{' | b'}') => return None,
                _ => index += 1,
            }
        }
        None
    }

    /// The `>` of the template list after the name at `index`, if its `<` opens one.
    fn template_list(&self, walk: &Walk, index: usize) -> Option<usize> {
        let close = self.template_end(index + 1, walk.end)?;
        let word = self.word(index);
        if words::is_template_type(word) {
            return Some(close);
        }
        let argument = self.word(index + 2);
        let is_type = self.is_type(argument) || words::is_template_type(argument);
        let called = self.is(close + 1, b'(');
        let member = index > walk.first && self.is(index - 1, b'.');
        // `a < b > (c)` has no useful meaning, but a called member has one.
        let call = called && (is_type || (member && close == index + 3 && !argument.is_empty()));
        // A declaration with an undeclared type: at a statement, or among a function's parameters.
        let in_header = walk.frames.len() == 2
            && walk
                .frames
                .iter()
                .all(|frame| !frame.is_block && frame.questions == 0)
            && walk.frames.last().is_some_and(|frame| !frame.name_known);
        let after = self.word(close + 1);
        let declares = !after.is_empty()
            && !words::is_keyword(after)
            && (self.at_statement(walk, index) || in_header)
            && [b';', b'=', b'[', b',', b')', b'(', b':']
                .iter()
                .any(|&punct| self.is(close + 2, punct));
        let is_template = self.templates.contains(word)
            && (called || !self.word(close + 1).is_empty() || self.is_type(word));
        (call || declares || is_template).then_some(close)
    }

    fn edit_punct(&mut self, walk: &mut Walk, index: usize, punct: u8, item: &mut Item) -> usize {
        let start = self.start(index);
        match punct {
            b'>' => {
                if let Some(place) = walk.closers.iter().rposition(|&closer| closer == index) {
                    walk.closers.swap_remove(place);
                } else {
                    // It closes no template list. The lowering reads the operator from the text.
                    self.put(start, b'<');
                }
            }
            b'(' => {
                if let Some(frame) = walk.frames.last_mut() {
                    frame.names_struct = false;
                }
                if let Some(next) = self.edit_parenthesis(walk, index) {
                    return next;
                }
                walk.frames.push(Frame::default());
            }
            b'[' => {
                if let Some(frame) = walk.frames.last_mut() {
                    frame.name_known = true;
                }
                walk.frames.push(Frame::default());
            }
            b'{' => {
                let is_list = index > walk.first
                    && (self.is(index - 1, b'=')
                        || self.is(index - 1, b',')
                        || self.is(index - 1, b'(')
                        || self.word(index - 1) == b"return"
                        || self.is(index - 1, b'{')
                            && !walk.frames.last().is_some_and(|frame| frame.is_block));
                let mut has_members = false;
                if let Some(frame) = walk.frames.last_mut() {
                    frame.questions = 0;
                    has_members = !is_list && std::mem::take(&mut frame.names_struct);
                }
                walk.frames.push(Frame {
                    is_block: !is_list,
                    has_members,
                    ..Frame::default()
                });
            }
            b')' | b']' | b'}' => {
                self.end_declarator(walk);
                if walk.frames.len() > 1 {
                    walk.frames.pop();
                }
                if punct == b'}'
                    && let Some(frame) = walk.frames.last_mut()
                {
                    *frame = frame.next();
                }
            }
            b',' => {
                self.end_declarator(walk);
                if let Some(frame) = walk.frames.last_mut() {
                    frame.questions = 0;
                }
            }
            b';' => {
                if let Some(frame) = walk.frames.last_mut() {
                    *frame = frame.next();
                }
            }
            b'=' => {
                if let Some(frame) = walk.frames.last_mut() {
                    frame.name_known = true;
                }
            }
            b'?' => {
                if let Some(frame) = walk.frames.last_mut() {
                    frame.questions += 1;
                    frame.name_known = true;
                }
            }
            b':' => return self.edit_colon(walk, index, item),
            _ => {}
        }
        index + 1
    }

    fn end_declarator(&mut self, walk: &mut Walk) {
        if let Some(frame) = walk.frames.last_mut() {
            if let (Some(name), Some(direction)) = (frame.name, frame.direction.take())
                && direction != Direction::In
            {
                self.out.directions.insert(name, direction);
            }
            if let (Some(name), true) = (frame.name, std::mem::take(&mut frame.is_shared)) {
                self.out.shared_parameters.insert(name);
            }
            frame.name = None;
            frame.name_known = false;
        }
    }

    /// `(T)x` becomes `~  x`. The parentheses around a plain name or a call are removed, because they look like a cast.
    fn edit_parenthesis(&mut self, walk: &mut Walk, index: usize) -> Option<usize> {
        let close = self.partner(index).filter(|&close| close < walk.end)?;
        let after_cast = index > walk.first && walk.cast_end == Some(index - 1);
        let before_ok = index == walk.first || after_cast || {
            let before = self.token(index - 1)?;
            match before.kind {
                TokenKind::Word => matches!(self.word(index - 1), b"return" | b"case" | b"else" | b"do"),
                TokenKind::Number | TokenKind::Text => false,
                TokenKind::Punct(b'>') => self.out.blank.get(before.start as usize) == Some(&b'<'),
                TokenKind::Punct(punct) => !matches!(punct, b')' | b']'),
            }
        };
        if !before_ok {
            return None;
        }
        let (begins_operand, sign) = match self.token(close + 1)?.kind {
            TokenKind::Word | TokenKind::Number | TokenKind::Text => (true, false),
            TokenKind::Punct(punct) => (
                matches!(punct, b'(' | b'~' | b'!'),
                matches!(punct, b'-' | b'+' | b'{'),
            ),
        };
        // `!=` after the parenthesis is no operand.
        let begins_operand = begins_operand && !(self.is(close + 1, b'!') && self.is(close + 2, b'='));
        let inner = index + 1 + usize::from(self.word(index + 1) == b"const");
        let word = self.word(inner);
        if word.is_empty() && !matches!(self.token(inner)?.kind, TokenKind::Number) {
            return None;
        }
        let known = self.is_type(word) || matches!(word, b"vector" | b"matrix" | b"struct");
        if !words::is_keyword(word) || word == b"struct" {
            let type_end = self.type_end(inner, close);
            if type_end == Some(close) && (begins_operand || known && sign) {
                self.blank_tokens(index, close + 1);
                self.put(self.start(index), b'~');
                let range = (u32::try_from(inner).ok()?, u32::try_from(close).ok()?);
                self.out.casts.insert(self.start(index), range);
                walk.cast_end = Some(close);
                return Some(close + 1);
            }
        }
        if self.is_postfix(index + 1, close) {
            let (open_at, close_at) = (self.start(index), self.start(close));
            self.put(open_at, b' ');
            self.put(close_at, b' ');
            for side in [self.start(index + 1), self.end(close - 1)] {
                self.out.parentheses.insert(side, (open_at, close_at));
            }
        }
        None
    }

    /// The end (excluded) of the type that starts at a token.
    fn type_end(&self, first: usize, limit: usize) -> Option<usize> {
        let mut index = first;
        while matches!(
            self.word(index),
            b"struct" | b"unsigned" | b"signed" | b"snorm" | b"unorm" | b"const"
        ) {
            index += 1;
            if index == limit {
                return Some(index);
            }
        }
        if self.word(index).is_empty() {
            return None;
        }
        index += 1;
        while self.is(index, b':') && self.is(index + 1, b':') && !self.word(index + 2).is_empty() {
            index += 3;
        }
        if self.is(index, b'<') {
            index = self.template_end(index, limit)? + 1;
        }
        while self.is(index, b'[') && index < limit {
            index = self.partner(index)? + 1;
        }
        Some(index)
    }

    /// Whether the tokens are only a name or a literal, followed by members, indices and calls.
    fn is_postfix(&self, first: usize, end: usize) -> bool {
        let mut index = first;
        let starts = match self.token(index).map(|token| token.kind) {
            Some(TokenKind::Word) => !words::is_keyword(self.word(index)),
            Some(TokenKind::Number) => true,
            _ => false,
        };
        index += 1;
        while starts && index < end {
            if self.is(index, b'[') || self.is(index, b'(') {
                let Some(close) = self.partner(index) else {
                    return false;
                };
                index = close + 1;
            } else if self.is(index, b'.') && !self.word(index + 1).is_empty() {
                index += 2;
            } else if self.is(index, b':') && self.is(index + 1, b':') && !self.word(index + 2).is_empty() {
                index += 3;
            } else {
                return false;
            }
        }
        starts && index == end
    }

    fn edit_colon(&mut self, walk: &mut Walk, index: usize, item: &mut Item) -> usize {
        if self.is(index + 1, b':') && self.adjacent(index) {
            return index + 2;
        }
        let Some(frame) = walk.frames.last_mut() else {
            return index + 1;
        };
        if frame.questions > 0 {
            frame.questions -= 1;
            return index + 1;
        }
        if frame.label {
            *frame = frame.next();
            return index + 1;
        }
        let name = frame.name;
        frame.name_known = true;
        let semantic = self.word(index + 1);
        if semantic.is_empty() || index == walk.first {
            return index + 1;
        }
        // `struct A : B` and `enum A : uint`, `public:`.
        if matches!(self.word(index - 1), b"public" | b"private" | b"protected")
            || index >= 2
                && matches!(
                    self.word(index - 2),
                    b"struct" | b"class" | b"interface" | b"enum"
                )
        {
            return index + 1;
        }
        let mut end = index + 2;
        if self.is(end, b'(')
            && let Some(close) = self.partner(end)
        {
            end = close + 1;
        }
        if end > walk.end {
            return index + 1;
        }
        if semantic != b"register" && semantic != b"packoffset" {
            let span = Span {
                start: self.start(index + 1),
                end: self.end(end - 1),
            };
            let of_function = self.is(index - 1, b')') && matches!(item.kind, ItemKind::Function { .. });
            if let Some(name) = name
                && !of_function
            {
                self.out.semantics.entry(name).or_insert(span);
            }
        }
        self.blank_tokens(index, end);
        end
    }
}
