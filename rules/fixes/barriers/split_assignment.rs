//! An assignment as two statements, with a barrier between its reads and its write.
//!
//! `if (i >= s) g[i] += g[i - s];` reads in some threads what it writes in others. With the value in a variable, a
//! barrier can stand between the read and the write: this is the order of the flagged kernel in which every read
//! comes before every write. The index and the condition are evaluated again behind the barrier: no evaluation
//! changes what they are made of.

use std::fmt::Write;

use shaderlint_hlsl::{Expr, ExprKind, Scalar, Span, Stmt, StmtKind, Storage, Type};
use shaderlint_linter::{At, Context, Edit};
use shaderlint_simt::is_pure;

use crate::fixes::barriers::advice::Place;
use crate::source::names::free;
use crate::source::statements::BARRIER;
use crate::source::text::on_one_line_and_comments;
use crate::source::unit::Unit;
use crate::source::words::words;

/// The scalar types of the variable for a value.
const SCALARS: [Scalar; 4] = [Scalar::Bool, Scalar::Int, Scalar::Uint, Scalar::Float];

/// The types of the variable for a value.
pub(crate) fn type_names() -> impl Iterator<Item = String> {
    let of = |scalar: Scalar| (1..=4).map(move |components| type_name(scalar, components));
    SCALARS.into_iter().flat_map(of)
}

fn type_name(scalar: Scalar, components: u8) -> String {
    match components {
        1 => scalar.name().to_owned(),
        components => format!("{}{components}", scalar.name()),
    }
}

/// An assignment with a barrier between its reads and its write.
pub(crate) struct SplitAssignment {
    pub edit: Edit,
    /// The parts that are read and written, and where they are in the edit's expanded text.
    pub kept: [(Span, u32); 2],
}

/// The assignment as two statements with a barrier between; `None` where the text does not show its parts, or where
/// its target may differ behind the barrier.
///
/// With `is_before`, another barrier comes before the two.
pub(crate) fn split_assignment(
    context: &Context<'_>,
    place: &Place,
    outermost: &Stmt,
    is_before: bool,
) -> Option<SplitAssignment> {
    let shader = context.shader;
    let (conditions, assignment) = conditions(context, place, outermost)?;
    let statement = assignment.span;
    let StmtKind::Expr(Expr {
        kind: ExprKind::Assign { target, value, .. },
        ..
    }) = &assignment.kind
    else {
        return None;
    };
    let ty = match &target.ty {
        Type::Scalar(scalar) if SCALARS.contains(scalar) => type_name(*scalar, 1),
        Type::Vector(scalar, components) if SCALARS.contains(scalar) => type_name(*scalar, *components),
        _ => return None,
    };
    if !is_pure(shader, value) || !is_same_behind(context, target) {
        return None;
    }
    let expanded = String::from_utf8_lossy(statement.slice(&shader.text)).into_owned();
    let target_text = String::from_utf8_lossy(target.span.slice(&shader.text)).into_owned();
    let without_comments = |span| Some(on_one_line_and_comments(shader, span)?.0);
    let written = without_comments(statement)?;
    let written_place = without_comments(target.span)?;
    let in_file = conditions.iter().map(|condition| without_comments(*condition));
    let in_file: Vec<String> = in_file.collect::<Option<_>>()?;
    let (all, comments) = on_one_line_and_comments(shader, outermost.span)?;
    let unit = Unit::of(shader);
    if !is_all(&all, &in_file, &written) {
        return None;
    }
    // In every build, whatever the macros in it expand to.
    let reach = unit.reach(all.as_bytes());
    let is_named = |name: &str| {
        let mut named = words(&reach.text).chain(words(outermost.span.slice(&shader.text)));
        named.any(|word| word == name.as_bytes()) || reach.may_paste(name)
    };
    let name = free("value", |name| {
        is_named(name)
            || unit.is_given(name.as_bytes())
            || unit.is_macro_or_template(name.as_bytes())
            || unit.may_be_pasted(name.as_bytes())
    });
    let form = Form {
        ty,
        name,
        is_operand: is_operand(value),
        is_before,
    };
    let (text, _) = form.of(&in_file, &written, &written_place)?;
    // The comments are about the whole statement, which becomes two.
    let above: String = comments.iter().flat_map(|comment| [comment, "\n"]).collect();
    let conditions = conditions.iter().map(|condition| {
        let text = String::from_utf8_lossy(condition.slice(&shader.text));
        text.trim_end().to_owned()
    });
    let (expanded, kept) = form.of(&conditions.collect::<Vec<String>>(), &expanded, &target_text)?;
    let part = |kept: KeptText| {
        let start = statement.start + kept.start;
        let end = start + kept.length;
        (Span { start, end }, kept.at)
    };
    let edit = Edit {
        is_block: above.is_empty() && !is_before,
        expanded: Some(expanded),
        ..Edit::new(At::Over(outermost.span), above + &text)
    };
    Some(SplitAssignment {
        edit,
        kept: kept.map(part),
    })
}

/// The conditions around an assignment that guard nothing else, each from its `if` to the guarded statement, and the
/// assignment.
fn conditions<'c>(
    context: &Context<'c>,
    place: &Place,
    outermost: &'c Stmt,
) -> Option<(Vec<Span>, &'c Stmt)> {
    let mut inner = outermost;
    let mut conditions = Vec::new();
    while inner.span != place.statement {
        inner = match &inner.kind {
            StmtKind::If {
                condition,
                then,
                otherwise: None,
            } if is_kept(context, condition) => {
                conditions.push(Span {
                    start: inner.span.start,
                    end: then.span.start,
                });
                then
            }
            StmtKind::Block(body) => match &**body {
                [only] => only,
                _ => return None,
            },
            _ => return None,
        };
    }
    Some((conditions, inner))
}

/// Whether a text is these conditions and the statement, apart from braces, and nothing else: the fix would drop or
/// repeat a call of a macro that expands to nothing in this build.
fn is_all(text: &str, conditions: &[String], statement: &str) -> bool {
    let mut rest = text;
    for condition in conditions {
        let behind = rest.strip_prefix(condition.trim_end());
        let Some(behind) = behind.filter(|_| is_condition(condition.trim_end())) else {
            return false;
        };
        rest = behind.trim_start_matches([' ', '{']);
    }
    let behind = rest.strip_prefix(statement);
    behind.is_some_and(|behind| behind.trim_end_matches([' ', '}']).is_empty())
}

/// Whether a text is an `if`, perhaps behind attributes, with a condition in one pair of parentheses.
fn is_condition(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, behind)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        rest = behind.trim_start();
    }
    let inner = rest
        .strip_prefix("if")
        .and_then(|rest| rest.trim_start().strip_prefix('(')?.strip_suffix(')'));
    inner.is_some_and(|inner| {
        let mut depth = 0_i32;
        inner.bytes().all(|byte| {
            depth += match byte {
                b'(' => 1,
                b')' => -1,
                _ => 0,
            };
            depth >= 0
        })
    })
}

/// How an assignment is split.
struct Form {
    /// The type and name of the variable.
    ty: String,
    name: String,
    /// The value needs no parentheses as an operand.
    is_operand: bool,
    /// Another barrier comes first.
    is_before: bool,
}

/// A part of a text, and where it begins in the new text.
struct KeptText {
    start: u32,
    length: u32,
    at: u32,
}

impl Form {
    /// `place = …;` or `place op= …;` as two statements, and where the read value and the written place are in them.
    fn of(&self, conditions: &[String], statement: &str, place: &str) -> Option<(String, [KeptText; 2])> {
        let (operator, behind) = statement.strip_prefix(place)?.split_once('=')?;
        let operator = operator.trim();
        if !["", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"].contains(&operator) {
            return None;
        }
        let value = behind.trim_end().strip_suffix(';')?.trim();
        let start = statement.len() - behind.trim_start().len();
        let (before, after) = match (operator, self.is_operand) {
            ("", _) => (String::new(), ""),
            (_, true) => (format!("{place} {operator} "), ""),
            (_, false) => (format!("{place} {operator} ("), ")"),
        };
        let Form { ty, name, .. } = self;
        let mut guards = String::new();
        let mut indentation = "    ".to_owned();
        for condition in conditions {
            let _ = writeln!(guards, "{indentation}{condition}");
            indentation += "    ";
        }
        let declared = if conditions.is_empty() {
            format!("{indentation}{ty} {name}")
        } else {
            format!("    {ty} {name} = 0;\n{guards}{indentation}{name}")
        };
        let barrier = if self.is_before {
            format!("{BARRIER}();\n")
        } else {
            String::new()
        };
        let head = format!("{barrier}{{\n{declared} = {before}");
        let middle = format!("{after};\n    {BARRIER}();\n{guards}{indentation}");
        let text = format!("{head}{value}{middle}{place} = {name};\n}}");
        let kept = |start: usize, part: &str, at: usize| {
            Some(KeptText {
                start: u32::try_from(start).ok()?,
                length: u32::try_from(part.len()).ok()?,
                at: u32::try_from(at).ok()?,
            })
        };
        let read = kept(start, value, head.len())?;
        let written = kept(0, place, head.len() + value.len() + middle.len())?;
        Some((text, [read, written]))
    }
}

/// Whether an expression binds at least as tightly as an operand of any operator.
fn is_operand(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Cast(inner) => is_operand(inner),
        ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Ternary(..)
        | ExprKind::Assign { .. }
        | ExprKind::Step { .. }
        | ExprKind::Comma(..)
        | ExprKind::Opaque(_) => false,
        ExprKind::Literal(_)
        | ExprKind::Local(_)
        | ExprKind::Global(_)
        | ExprKind::Index(..)
        | ExprKind::Field(..)
        | ExprKind::Swizzle(..)
        | ExprKind::Construct(_)
        | ExprKind::Call(..)
        | ExprKind::Intrinsic(..)
        | ExprKind::Method { .. } => true,
    }
}

/// Whether a place is the same behind a barrier: no index in it changes.
fn is_same_behind(context: &Context<'_>, place: &Expr) -> bool {
    match &place.kind {
        ExprKind::Global(_) => true,
        ExprKind::Index(inner, index) => is_same_behind(context, inner) && is_kept(context, index),
        ExprKind::Field(inner, _) | ExprKind::Swizzle(inner, _) => is_same_behind(context, inner),
        _ => false,
    }
}

/// Whether an index or a condition has the same value behind a barrier: it reads no memory that threads share, and
/// changes nothing.
fn is_kept(context: &Context<'_>, value: &Expr) -> bool {
    let is_shared = |global| {
        context.global(global).is_none_or(|global| {
            matches!(
                global.storage,
                Storage::Groupshared | Storage::Resource | Storage::Unknown
            )
        })
    };
    let mut parts = value.descendants();
    parts.all(|part| match &part.kind {
        ExprKind::Global(global) => !is_shared(*global),
        ExprKind::Literal(_)
        | ExprKind::Local(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Ternary(..)
        | ExprKind::Index(..)
        | ExprKind::Field(..)
        | ExprKind::Swizzle(..)
        | ExprKind::Cast(_)
        | ExprKind::Construct(_) => true,
        ExprKind::Assign { .. }
        | ExprKind::Step { .. }
        | ExprKind::Call(..)
        | ExprKind::Intrinsic(..)
        | ExprKind::Method { .. }
        | ExprKind::Comma(..)
        | ExprKind::Opaque(_) => false,
    })
}
