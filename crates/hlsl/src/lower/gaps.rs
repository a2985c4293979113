//! Reports what is not understood: each gap once, where it starts.

use memchr::memmem;
use rustc_hash::FxHashSet;

use super::Lowering;
use crate::lexical::{TextProblem, Token, is_macro_like};
use crate::span::{Cause, Span};
use crate::tree::{Expr, ExprKind};
use crate::types::Type;
use crate::walk::statements;

impl<'a> Lowering<'a> {
    /// Reports, once, a name that is not understood. The expression around the name needs no report of its own.
    pub(super) fn unknown_name(&mut self, name: &'a [u8], span: Span) {
        self.told.insert(span);
        if !self.unknown.insert(name) {
            return;
        }
        let is_declared =
            self.functions.contains_key(name) || self.depth_of(&self.templates.functions, name).is_some();
        let name = String::from_utf8_lossy(name).into_owned();
        let (message, cause) = if is_declared {
            let message = format!("unsupported use of `{name}`");
            (message, Cause::Text)
        } else {
            (format!("unknown name `{name}`"), Cause::Name(name))
        };
        self.tell(TextProblem { message, span, cause });
    }

    /// Reports the opaque expressions whose reason is not reported yet.
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
                self.problem("unsupported expression", span);
            }
        }
        for own in words {
            self.tell_macros(own);
        }
    }

    /// The names of all variables declared as a `RayQuery`.
    fn ray_queries(&self) -> FxHashSet<&'a [u8]> {
        const QUERY: &[u8] = b"RayQuery";
        if memmem::find(self.text, QUERY).is_none() {
            return FxHashSet::default();
        }
        let words = (0..self.lexed.tokens.len()).filter(|at| self.word_at(*at) == QUERY);
        let names = words.map(|at| self.word_at(self.end_of_template(at + 1) + 1));
        names.filter(|name| !name.is_empty()).collect()
    }

    /// Reports the words in this place that only a macro can have and that nothing declares.
    fn tell_macros(&mut self, place: Span) {
        let tokens = &self.lexed.tokens;
        let first = tokens.partition_point(|token| token.start < place.start);
        let end = tokens.partition_point(|token| token.end <= place.end);
        for at in first..end {
            let word = self.word_at(at);
            let Some(&Token { start, end, .. }) = self.lexed.tokens.get(at) else {
                return;
            };
            let span = Span { start, end };
            if is_macro_like(word) && self.outer_name(word, span).is_none() {
                self.unknown_name(word, span);
            }
        }
    }
}

/// The search for gaps in expressions.
struct Gaps<'t> {
    text: &'t [u8],
    /// Names of ray queries. Their type has no model, and no declaration of it is missing.
    queries: FxHashSet<&'t [u8]>,
    /// Opaque expressions that were reported, or that need no report. If such an expression has a known type, the
    /// language defines it.
    known: &'t FxHashSet<Span>,
    places: Vec<Span>,
    /// The own text of expressions that the language defines and that are not modelled.
    words: Vec<Span>,
}

impl Gaps<'_> {
    /// Adds the opaque expressions whose operands are all understood. Returns whether this expression or an operand
    /// is not understood: then the surrounding expression needs no report.
    ///
    /// Recursive: the lowering has limited the depth of the tree.
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
            self.words.extend(expr.own_spans());
            return false;
        }
        if !unclear {
            self.places.push(expr.span);
        }
        true
    }
}
