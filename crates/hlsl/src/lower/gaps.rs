//! What was not understood is told, each gap once and where it starts.

use rustc_hash::FxHashSet;

use super::Lowering;
use crate::lexical::{TextProblem, is_macro_like};
use crate::span::{Cause, Span};
use crate::tree::{Expr, ExprKind};
use crate::types::Type;
use crate::walk::statements;

impl<'a> Lowering<'a> {
    /// Reports a name of which it is not known what it means, once. What the name stands in needs no report of its own.
    pub(super) fn unknown_name(&mut self, name: &'a [u8], span: Span) {
        self.told.insert(span);
        if !self.unknown.insert(name) {
            return;
        }
        let is_declared =
            self.functions.contains_key(name) || self.depth_of(&self.templates.functions, name).is_some();
        let name = String::from_utf8_lossy(name).into_owned();
        let (message, cause) = if is_declared {
            let message = format!("`{name}` is declared, and not understood here");
            (message, Cause::Text)
        } else {
            (format!("unknown name `{name}`"), Cause::Name(name))
        };
        self.tell(TextProblem { message, span, cause });
    }

    /// Reports the expressions that are opaque for no reason told so far.
    pub(super) fn tell_gaps(&mut self) {
        let mut gaps = Gaps {
            text: self.text,
            queries: self.ray_queries(),
            known: &self.told,
            places: Vec::new(),
            words: Vec::new(),
        };
        for function in &self.shader.functions {
            let own = statements(function.body.as_deref().unwrap_or_default())
                .flat_map(crate::Stmt::expressions)
                .chain(
                    function
                        .parameters
                        .iter()
                        .filter_map(|parameter| parameter.default.as_ref()),
                );
            for expr in own {
                gaps.find(expr);
            }
        }
        for init in self
            .shader
            .globals
            .iter()
            .filter_map(|global| global.init.as_ref())
        {
            gaps.find(init);
        }
        let Gaps { places, words, .. } = gaps;
        for span in places {
            if self.told.insert(span) {
                self.problem("this expression is not understood", span);
            }
        }
        for own in words {
            self.tell_macros(own);
        }
    }

    /// What is declared as a `RayQuery`, anywhere.
    fn ray_queries(&self) -> FxHashSet<&'a [u8]> {
        let words = (0..self.lexed.tokens.len()).filter(|at| self.word_at(*at) == b"RayQuery");
        let names = words.map(|at| self.word_at(self.end_of_template(at + 1) + 1));
        names.filter(|name| !name.is_empty()).collect()
    }

    /// Reports the words in a place that only a macro has, and that nothing declares.
    fn tell_macros(&mut self, place: Span) {
        let first = self
            .lexed
            .tokens
            .partition_point(|token| token.start < place.start);
        let tokens = self.lexed.tokens.get(first..).unwrap_or_default().iter();
        let spans: Vec<Span> = tokens
            .take_while(|token| token.end <= place.end)
            .map(|token| Span {
                start: token.start,
                end: token.end,
            })
            .collect();
        for span in spans {
            let word = self.source(span);
            if is_macro_like(word) && self.outer_name(word, span).is_none() {
                self.unknown_name(word, span);
            }
        }
    }
}

/// What is looked for in expressions.
struct Gaps<'t> {
    text: &'t [u8],
    /// Names of ray queries. Of their type there is no model, and nothing is missing.
    queries: FxHashSet<&'t [u8]>,
    /// Opaque expressions of which it was told why, or that need no word: of those of a known type it is known what they are.
    known: &'t FxHashSet<Span>,
    places: Vec<Span>,
    /// Places between the operands of expressions that are known and have no model.
    words: Vec<Span>,
}

impl Gaps<'_> {
    /// Adds opaque expressions all of whose operands are understood; whether this one or an operand is not, so that of what it
    /// stands in nothing need be told.
    ///
    /// Recursive: the tree is no deeper than what made it.
    fn find(&mut self, expr: &Expr) -> bool {
        let mut unclear = false;
        for child in expr.children() {
            unclear |= self.find(child);
        }
        if !matches!(expr.kind, ExprKind::Opaque(_)) {
            let is_query = || self.queries.contains(expr.span.slice(self.text));
            return unclear || expr.ty == Type::Unknown && !is_query();
        }
        if expr.ty != Type::Unknown && self.known.contains(&expr.span) {
            self.note_words(expr);
            return false;
        }
        if !unclear {
            self.places.push(expr.span);
        }
        true
    }

    fn note_words(&mut self, expr: &Expr) {
        let mut start = expr.span.start;
        let mut operands: Vec<Span> = expr.children().map(|child| child.span).collect();
        operands.sort_unstable_by_key(|span| span.start);
        for operand in operands {
            let end = operand.start.max(start);
            self.words.push(Span { start, end });
            start = operand.end.max(end);
        }
        let end = expr.span.end.max(start);
        self.words.push(Span { start, end });
    }
}
