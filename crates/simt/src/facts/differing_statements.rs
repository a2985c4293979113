//! The statements in which two otherwise equal texts differ.

use std::collections::BTreeSet;
use std::ops::Range;

use shaderlint_hlsl::{
    Expr, ExprKind, Function, FunctionId, Global, Intrinsic, LocalId, Shader, Span, Stmt, StmtKind, Storage,
    Type,
};

/// Statements that threads run if a condition holds.
#[derive(Clone, Copy)]
pub(crate) struct Tail<'a> {
    pub condition: &'a Expr,
    pub statements: &'a [Stmt],
}

pub(crate) fn span_of(statements: &[Stmt]) -> Span {
    match statements {
        [only] => only.span,
        [first, .., last] => first.span.to(last.span),
        [] => Span::default(),
    }
}

/// The parts of a span before and after another span inside it.
pub(crate) fn outside(whole: Span, inner: Span) -> [Span; 2] {
    let before = Span {
        end: inner.start,
        ..whole
    };
    let behind = Span {
        start: inner.end,
        ..whole
    };
    [before, behind]
}

/// The only block in which two bodies differ, and its differing statements.
pub(crate) struct Difference<'a> {
    pub blocks: [&'a [Stmt]; 2],
    pub ranges: [Range<usize>; 2],
    /// The statements of the first body around that block.
    pub around: Vec<&'a Stmt>,
}

/// Finds where two bodies differ: the innermost block that holds all differences.
pub(crate) fn difference<'a>(shaders: [&Shader; 2], blocks: [&'a [Stmt]; 2]) -> Option<Difference<'a>> {
    let text = |side: usize, span: Span| span.slice(&shaders[side].text);
    let is_same = |a: &Stmt, b: &Stmt| text(0, a.span) == text(1, b.span);
    let [old, new] = blocks;
    let before = old.iter().zip(new).take_while(|(a, b)| is_same(a, b)).count();
    let rest = [&old[before..], &new[before..]];
    let of_ends = rest[0].iter().rev().zip(rest[1].iter().rev());
    let behind = of_ends.take_while(|(a, b)| is_same(a, b)).count();
    let ranges = blocks.map(|block| before..block.len() - behind);
    if let ([a], [b]) = (&old[ranges[0].clone()], &new[ranges[1].clone()])
        && let Some(inner) = bodies(a, b)
    {
        let [of_old, of_new] = inner;
        let around_old = outside(a.span, of_old.span).map(|span| text(0, span));
        let around_new = outside(b.span, of_new.span).map(|span| text(1, span));
        let mut both = around_old.into_iter().zip(around_new);
        if both.all(|(old, new)| are_alike(old, new)) {
            let mut found = difference(shaders, inner.map(block_of))?;
            found.around.push(a);
            return Some(found);
        }
    }
    ranges
        .iter()
        .all(|range| !range.is_empty())
        .then_some(Difference {
            blocks,
            ranges,
            around: Vec::new(),
        })
}

/// The tails of the two sequences of differing statements, without their common end (one tail may be empty), and the
/// variable that each tail declares last.
pub(crate) type Tails<'a> = ([Tail<'a>; 2], Option<[LocalId; 2]>);

/// The tails of two sequences of differing statements, if the last statements of both have the same condition.
pub(crate) fn tails<'a>(shaders: [&Shader; 2], differ: [&'a [Stmt]; 2]) -> Option<Tails<'a>> {
    let text = |side: usize, span: Span| span.slice(&shaders[side].text);
    let inner = |side: usize| {
        let [.., _, last] = differ[side] else { return None };
        match &last.kind {
            StmtKind::If {
                condition,
                then,
                otherwise: None,
            } => Some((condition, block_of(then), outside(last.span, then.span)[0])),
            _ => None,
        }
    };
    let (old, new) = (inner(0)?, inner(1)?);
    if text(0, old.2) != text(1, new.2) {
        return None;
    }
    let is_same = |a: &Stmt, b: &Stmt| text(0, a.span) == text(1, b.span);
    let of_ends = old.1.iter().rev().zip(new.1.iter().rev());
    let behind = of_ends.take_while(|(a, b)| is_same(a, b)).count();
    let rest = |statements: &'a [Stmt]| statements.get(..statements.len() - behind);
    let [a, b] = [rest(old.1)?, rest(new.1)?];
    let declared = |statements: &[Stmt]| match statements.last()?.kind {
        StmtKind::Declare { local, .. } => Some(local),
        _ => None,
    };
    let both = declared(a).zip(declared(b)).map(|(a, b)| [a, b]);
    let tail = |condition, statements| Tail {
        condition,
        statements,
    };
    Some(([tail(old.0, a), tail(new.0, b)], both))
}

/// The inner statements of two statements, if these may differ in nothing else.
fn bodies<'a>(a: &'a Stmt, b: &'a Stmt) -> Option<[&'a Stmt; 2]> {
    match (&a.kind, &b.kind) {
        (StmtKind::Block(_), StmtKind::Block(_)) => Some([a, b]),
        (StmtKind::Loop(a), StmtKind::Loop(b)) => Some([&a.body, &b.body]),
        (
            StmtKind::If {
                then: a,
                otherwise: None,
                ..
            },
            StmtKind::If {
                then: b,
                otherwise: None,
                ..
            },
        ) => Some([a, b]),
        _ => None,
    }
}

/// The statements of a block, or the one statement in place of a block.
fn block_of(statement: &Stmt) -> &[Stmt] {
    match &statement.kind {
        StmtKind::Block(body) => body,
        _ => std::slice::from_ref(statement),
    }
}

/// Whether a statement is a barrier at which all threads wait and that orders groupshared memory.
pub(crate) fn is_barrier(statement: &Stmt) -> bool {
    let StmtKind::Expr(expr) = &statement.kind else {
        return false;
    };
    matches!(
        expr.kind,
        ExprKind::Intrinsic(
            Intrinsic::GroupMemoryBarrierWithGroupSync | Intrinsic::AllMemoryBarrierWithGroupSync,
            _
        )
    )
}

/// The common functions of two shaders, by their numbers in each, and the function that differs.
pub(crate) struct OneText {
    pub functions: Vec<[FunctionId; 2]>,
    pub differs: [FunctionId; 2],
}

/// The function in which two shaders differ, if their texts are otherwise equal, except that the second one declares
/// more: groupshared arrays and functions, with names that do not occur in the first.
///
/// The text before the function may be longer by these declarations, and by nothing else. No code that both shaders
/// have calls a function with such a name. Where the stretch calls one, it runs as part of the stretch.
pub(crate) fn are_one_text(old: &Shader, new: &Shader) -> Option<OneText> {
    let words = words(&old.text);
    let is_new = |name: &str| !words.contains(name.rsplit("::").next().unwrap_or_default().as_bytes());
    let ids = || (0u32..).map(FunctionId);
    let (added, kept): (Vec<_>, Vec<_>) = ids()
        .zip(&new.functions)
        .partition(|(_, function)| is_new(&function.name));
    let is_one_list = old.structs.len() == new.structs.len()
        && old.version == new.version
        && old.matrix_orders.is_empty()
        && new.matrix_orders.is_empty()
        && old.functions.len() == kept.len();
    let pairs: Vec<_> = ids()
        .zip(&old.functions)
        .zip(&kept)
        .filter(|_| is_one_list)
        .collect();
    if pairs.iter().any(|((_, a), (_, b))| a.name != b.name) {
        return None;
    }
    let text_of = |shader: &'_ Shader, function: &Function| function.span.slice(&shader.text).to_vec();
    let mut differing = pairs
        .iter()
        .filter(|((_, a), (_, b))| text_of(old, a) != text_of(new, b));
    let ((was_id, a), (is_id, b)) = differing.next()?;
    if differing.next().is_some() {
        return None;
    }
    if old.text.get(a.span.end as usize..)? != new.text.get(b.span.end as usize..)? {
        return None;
    }
    let was = old.text.get(..a.span.start as usize)?;
    let is = new.text.get(..b.span.start as usize)?;
    let known: BTreeSet<&str> = old.globals.iter().map(|global| &*global.name).collect();
    let is_declared = |global: &&Global| !known.contains(&*global.name);
    let globals: Vec<&Global> = new.globals.iter().filter(is_declared).collect();
    let are_arrays =
        (globals.iter()).all(|global| global.storage == Storage::Groupshared && is_new(&global.name));
    let are_plain = added.iter().all(|(_, function)| is_plain_function(new, function));
    if !are_arrays || !are_plain || old.globals.len() + globals.len() != new.globals.len() {
        return None;
    }
    let mut spans: Vec<Span> = globals.iter().map(|global| global.span).collect();
    spans.extend(added.iter().map(|(_, function)| function.span));
    spans.sort_by_key(|span| span.start);
    let mut without = Vec::with_capacity(was.len());
    let mut from = 0;
    for span in spans {
        if span.end > b.span.start {
            return None;
        }
        without.extend_from_slice(is.get(from..span.start as usize)?);
        from = span.end as usize;
    }
    without.extend_from_slice(is.get(from..)?);
    are_alike(was, &without).then(|| OneText {
        functions: pairs.iter().map(|((was, _), (is, _))| [*was, *is]).collect(),
        differs: [*was_id, *is_id],
    })
}

/// Whether a function is an ordinary one: no entry point, method or template, and without state of its own.
fn is_plain_function(shader: &Shader, function: &Function) -> bool {
    let of_function = words(function.span.slice(&shader.text));
    function.body.is_some()
        && function.group_size.is_none()
        && !function.is_instance
        && !function.name.contains("::")
        && !DECLARING
            .iter()
            .chain(&[&b"operator"[..]])
            .any(|word| of_function.contains(word))
}

/// Keywords by which statements declare more than variables of their own.
pub(crate) const DECLARING: [&[u8]; 7] = [
    b"struct",
    b"class",
    b"enum",
    b"typedef",
    b"using",
    b"template",
    b"static",
];

/// Whether two texts are equal up to whitespace. With a line comment they have to be equal as they are, since a line
/// break ends the comment.
pub(crate) fn are_alike(one: &[u8], other: &[u8]) -> bool {
    let [parts, others] = [one, other].map(|text| {
        text.split(u8::is_ascii_whitespace)
            .filter(|part| !part.is_empty())
    });
    let may_have_comment = || one.windows(2).any(|pair| pair == b"//");
    one == other || !may_have_comment() && parts.eq(others)
}

pub(crate) fn words(text: &[u8]) -> BTreeSet<&[u8]> {
    let is_other = |byte: &u8| !(byte.is_ascii_alphanumeric() || *byte == b'_');
    text.split(is_other).filter(|word| !word.is_empty()).collect()
}

/// A type by its name: each parse of a text may number its structs differently.
pub(crate) fn spelled(shader: &Shader, ty: &Type) -> String {
    match ty {
        Type::Struct(id) => {
            let declared = shader.structs.get(id.0 as usize);
            declared.map(|declared| declared.name.clone()).unwrap_or_default()
        }
        Type::Array(element, length) => format!("{}[{length}]", spelled(shader, element)),
        Type::Resource(kind, element) => {
            let element = element.as_ref().map(|element| spelled(shader, element));
            format!("{kind:?}<{}>", element.unwrap_or_default())
        }
        ty => format!("{ty:?}"),
    }
}
