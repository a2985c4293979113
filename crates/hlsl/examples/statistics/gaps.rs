//! How well a function was read, and what is not understood in it.

use std::collections::HashSet;

use shaderlint_hlsl::{
    Cause, Expr, ExprKind, Function, Problem, Shader, Span, Stmt, StmtKind, Type, statements,
};

/// How well a function was read; the better the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Every statement is understood, and every expression has a type.
    Whole,
    /// Understood but for what uses a name that the unit does not declare, as an include of it is nowhere.
    MissingInclude,
    /// The same, though all includes are there: whoever builds it defines the name.
    Undeclared,
    /// There are other expressions of unknown type.
    OpaqueExpression,
    OpaqueStatement,
    /// It names a barrier, but there is no function around it.
    NoFunction,
}

impl Level {
    /// Those of functions in which nothing is amiss but what the text at hand lacks.
    pub const READ: [Level; 3] = [Level::Whole, Level::MissingInclude, Level::Undeclared];
    pub const ALL: [Level; 6] = [
        Level::Whole,
        Level::MissingInclude,
        Level::Undeclared,
        Level::OpaqueExpression,
        Level::OpaqueStatement,
        Level::NoFunction,
    ];
}

/// What is not understood in a function.
#[derive(Default)]
struct Gaps<'a> {
    statements: Vec<Span>,
    expressions: Vec<&'a Expr>,
}

impl<'a> Gaps<'a> {
    fn statements(&mut self, body: &'a [Stmt]) {
        for stmt in statements(body) {
            if matches!(stmt.kind, StmtKind::Opaque) {
                self.statements.push(stmt.span);
            }
            stmt.expressions().for_each(|expr| self.expression(expr));
        }
    }

    /// Innermost first.
    fn expression(&mut self, expr: &'a Expr) {
        // What comes out of a descriptor heap is known by the type it is converted to.
        if matches!((&expr.kind, &expr.ty), (ExprKind::Cast(_), Type::Resource(..))) {
            return;
        }
        let known = self.expressions.len();
        expr.children().for_each(|part| self.expression(part));
        // An expression around a gap is one for that reason.
        let is_innermost = self.expressions.len() == known;
        if is_innermost && matches!(expr.kind, ExprKind::Opaque(_)) && expr.ty == Type::Unknown {
            self.expressions.push(expr);
        }
    }
}

/// A translation unit, and what is declared in it.
pub struct Unit<'a> {
    pub shader: &'a Shader,
    problems: &'a [Problem],
    lacks_includes: bool,
    /// The names that may be declared outside of functions.
    declared: HashSet<&'a [u8]>,
}

impl<'a> Unit<'a> {
    pub fn new(shader: &'a Shader, problems: &'a [Problem]) -> Self {
        let mut bodies: Vec<Span> = shader.functions.iter().filter_map(|f| body(shader, f)).collect();
        bodies.sort_unstable();
        let mut declared = HashSet::new();
        let mut at = 0;
        for body in bodies.into_iter().filter(|body| body.start < body.end) {
            if body.start >= at {
                let between = Span {
                    start: at,
                    end: body.start,
                };
                declare(between.slice(&shader.text), &mut declared);
            }
            at = at.max(body.end);
        }
        declare(shader.text.get(at as usize..).unwrap_or_default(), &mut declared);
        let lacks_includes = problems
            .iter()
            .any(|problem| matches!(problem.cause, Cause::Missing(_)));
        Unit {
            shader,
            problems,
            lacks_includes,
            declared,
        }
    }

    /// How well one of its functions was read, and why not better.
    pub fn assess(&self, function: &Function) -> (Level, Vec<String>) {
        let mut gaps = Gaps::default();
        gaps.statements(function.body.as_deref().unwrap_or_default());
        let undeclared = if self.lacks_includes {
            Level::MissingInclude
        } else {
            Level::Undeclared
        };
        let what = |span: Span| first_line(span.slice(&self.shader.text));
        let statements = gaps
            .statements
            .into_iter()
            .map(|span| match self.unknown_call(span) {
                Some(name) => (undeclared, name),
                None => (
                    Level::OpaqueStatement,
                    format!("{}: {}", self.told(span), what(span)),
                ),
            });
        let expressions = gaps.expressions.into_iter();
        let expressions = expressions.map(|gap| match self.undeclared(function, gap) {
            Some(name) => (undeclared, name),
            None => (Level::OpaqueExpression, what(gap.span)),
        });
        let gaps = statements.chain(expressions);
        let gaps: Vec<(Level, String)> = gaps.collect();
        let level = gaps.iter().map(|(level, _)| *level).max().unwrap_or(Level::Whole);
        let causes = gaps.into_iter().filter(|(of, _)| *of == level);
        (level, causes.map(|(_, cause)| cause).collect())
    }

    /// What the front end said of this place.
    fn told(&self, span: Span) -> &str {
        let at = self.shader.origins.locate(span);
        let told = self.problems.iter().find(|problem| {
            problem.place.is_some_and(|place| {
                at.is_some_and(|at| at.file == place.file && at.start <= place.start && place.end <= at.end)
            })
        });
        told.map_or("", |problem| problem.message.as_str())
    }

    /// The name that a statement calls, if nothing declares it: it is a macro, and its arguments may be anything.
    fn unknown_call(&self, span: Span) -> Option<String> {
        let text = span.slice(&self.shader.text);
        let name = words(text).next()?;
        let is_called = text.strip_prefix(name)?.trim_ascii_start().starts_with(b"(");
        (is_called && !self.declared.contains(name)).then(|| String::from_utf8_lossy(name).into_owned())
    }

    /// A name in this expression that nothing in the unit declares. The type of a variable counts as in it.
    fn undeclared(&self, function: &Function, gap: &Expr) -> Option<String> {
        let text = &self.shader.text;
        let mut spans = vec![gap.span];
        let named: Vec<&[u8]> = words(gap.span.slice(text)).collect();
        let locals = function.locals.iter();
        let of_unknown_type =
            locals.filter(|local| local.ty == Type::Unknown && named.contains(&local.name.as_bytes()));
        for local in of_unknown_type {
            let before = text.get(..local.span.start as usize).unwrap_or_default();
            let start = before.iter().rposition(|byte| b";{}(,".contains(byte));
            spans.push(Span {
                start: u32::try_from(start.unwrap_or(0)).unwrap_or(0),
                end: local.span.start,
            });
        }
        for global in &self.shader.globals {
            let holds_unknown = match &global.ty {
                Type::Unknown => true,
                Type::Resource(_, element) => element.as_deref() == Some(&Type::Unknown),
                Type::Array(element, _) => **element == Type::Unknown,
                _ => false,
            };
            if holds_unknown && named.contains(&global.name.as_bytes()) {
                spans.push(global.span);
            }
        }
        let mut names = spans.into_iter().flat_map(|span| words(span.slice(text)));
        let is_local = |name: &[u8]| function.locals.iter().any(|local| local.name.as_bytes() == name);
        let name =
            names.find(|name| !self.declared.contains(name) && !is_local(name) && !is_keyword(name))?;
        Some(String::from_utf8_lossy(name).into_owned())
    }
}

/// The body of a function, with its braces.
fn body(shader: &Shader, function: &Function) -> Option<Span> {
    function.body.as_ref()?;
    let after = Span {
        start: function.name_span.end,
        end: function.span.end,
    };
    let brace = after.slice(&shader.text).iter().position(|byte| *byte == b'{')?;
    Some(Span {
        start: after.start + u32::try_from(brace).ok()?,
        end: after.end,
    })
}

/// The names that a text outside of functions may declare: what stands behind a type outside of parentheses and
/// brackets, and enumerators.
fn declare<'a>(text: &'a [u8], declared: &mut HashSet<&'a [u8]>) {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let tokens: Vec<&[u8]> = text
        .chunk_by(|a, b| is_word(*a) && is_word(*b))
        .filter(|token| !token.trim_ascii().is_empty())
        .collect();
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        let around = |at: Option<usize>| {
            at.and_then(|at| tokens.get(at))
                .and_then(|token| token.first().copied())
        };
        match token.first() {
            Some(b'(' | b'[') => depth += 1,
            Some(b')' | b']') => depth = depth.saturating_sub(1),
            Some(first) if is_word(*first) && depth == 0 => {
                let before = around(at.checked_sub(1)).unwrap_or(b' ');
                let after = around(Some(at + 1)).unwrap_or(b' ');
                let behind_type = (is_word(before) || before == b'>') && !is_word(after) && after != b'<';
                let in_list = matches!(before, b',' | b'{') && b";,=:[}".contains(&after);
                if behind_type || in_list {
                    declared.insert(token);
                }
            }
            _ => {}
        }
    }
}

/// Names, without numbers and what follows a dot.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'.';
    let words = text.split(move |byte| !is_word(byte));
    words.filter_map(|word| {
        let name = word.split(|byte| *byte == b'.').next()?;
        name.first()
            .is_some_and(|first| !first.is_ascii_digit())
            .then_some(name)
    })
}

/// Whether a word is the language's own, so that no declaration of it is missed.
fn is_keyword(name: &[u8]) -> bool {
    const WORDS: [&[u8]; 8] = [
        b"const", b"static", b"in", b"out", b"inout", b"precise", b"return", b"sizeof",
    ];
    const TYPES: [&[u8]; 9] = [
        b"float", b"int", b"uint", b"half", b"bool", b"double", b"min16", b"RW", b"Texture",
    ];
    // Work graphs and ray tracing.
    const STARTS: [&[u8]; 4] = [b"RayDesc", b"RayQuery", b"RAY_FLAG", b"GROUP_S"];
    let is_of_graph = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    WORDS.contains(&name)
        || TYPES.iter().chain(&STARTS).any(|start| name.starts_with(start))
        || is_of_graph(b"NodeOutput")
        || is_of_graph(b"NodeInput")
}

pub fn first_line(text: &[u8]) -> String {
    let line = text
        .split(|byte| *byte == b'\n')
        .find(|line| !line.trim_ascii().is_empty());
    String::from_utf8_lossy(line.unwrap_or_default())
        .trim()
        .chars()
        .take(100)
        .collect()
}
