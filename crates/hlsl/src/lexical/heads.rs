//! Words that the grammar of HLSL does not allow in text that the pass removes: in lists of attributes, and in the
//! heads of buffers, namespaces and templates. No parser sees them, and each may be a macro with any expansion.

use super::macros::is_attribute_macro;
use super::{Lexer, words};

impl Lexer<'_> {
    /// Notes the words in a list of attributes between two brackets that are not known attributes. Such a word may be
    /// a macro: `[GROUP]` may be `[numthreads(64, 1, 1)]`.
    pub(super) fn note_attributes(&mut self, open: usize, close: usize) {
        let mut depth = 0_usize;
        for at in open + 1..close {
            let word = self.word(at);
            if self.is(at, b'(') {
                depth += 1;
            } else if self.is(at, b')') {
                depth = depth.saturating_sub(1);
            }
            let is_name = || {
                if self.is(at + 1, b':') {
                    words::is_vendor(word)
                } else if self.is(at - 1, b':') {
                    words::is_attribute_of_vendor(word)
                } else {
                    words::is_attribute(word)
                        || is_attribute_macro(word, self.is(at + 1, b'('), self.word(close + 1))
                }
            };
            if !(word.is_empty() || depth == 0 && is_name()) {
                self.out.in_attributes.push(at);
            }
        }
    }

    /// Notes the words that do not belong between the attributes of a `cbuffer` or a namespace and its brace at
    /// `open`. The keyword and the name come first. After them, only words after a colon belong there, for example `:
    /// register(b0)`.
    pub(super) fn note_head(&mut self, first: usize, open: usize) {
        let mut at = first;
        while let (true, Some(close)) = (self.is(at, b'['), self.partner(at)) {
            self.note_attributes(at, close);
            at = close + 1;
        }
        // After the keyword and the name.
        at += 2 + usize::from(self.word(at) == b"partial");
        while at < open {
            if self.is(at, b':') {
                at += 1 + usize::from(!self.is(at + 1, b':'));
                if self.word(at - 1) == b"register" && self.is(at, b'(') {
                    at = self.partner(at).unwrap_or(at) + 1;
                }
            } else {
                self.out.misplaced.push(at - usize::from(self.is(at, b'(')));
                at += 1;
            }
        }
    }

    /// Notes the words that do not belong in `template <…>`: each parameter is a type with a name, or `typename` with
    /// a name.
    pub(super) fn note_template(&mut self, template: usize, limit: usize) {
        let Some(close) = self.template_end(template + 1, limit) else {
            return;
        };
        let mut depth = 0_usize;
        // The words of a parameter. A list in brackets ends one word, as in `vector<uint, 2> value`.
        let mut parameter = Vec::new();
        let mut is_default = false;
        for at in template + 1..=close {
            let ends = depth == 1 && (self.is(at, b',') || at == close);
            if ends {
                self.note_parameter(&parameter);
                parameter.clear();
                is_default = false;
            }
            if self.is(at, b'<') {
                depth += 1;
            } else if self.is(at, b'>') {
                depth = depth.saturating_sub(1);
            } else if depth == 1 && !ends {
                is_default |= self.is(at, b'=');
                if !is_default && !self.is(at, b':') && !self.is(at - 1, b':') {
                    parameter.push(at);
                }
            }
        }
    }

    /// Notes the words of a parameter that is not exactly a type and a name.
    fn note_parameter(&mut self, parameter: &[usize]) {
        let is_part = |at: usize| {
            words::is_modifier(self.word(at))
                || matches!(
                    self.word(at),
                    b"const" | b"unsigned" | b"signed" | b"short" | b"long"
                )
        };
        let parts: Vec<usize> = parameter.iter().copied().skip_while(|&at| is_part(at)).collect();
        let misplaced = match parts[..] {
            // A parameter without a name.
            [declaring] if matches!(self.word(declaring), b"typename" | b"class") => &[],
            [_, _, ref others @ ..] => others,
            ref alone => alone,
        };
        self.out.misplaced.extend(misplaced);
    }
}
