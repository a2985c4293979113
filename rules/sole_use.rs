//! An array that serves a ladder and nothing else: it goes with the ladder.
//!
//! A call takes the thread's own elements and gives its result. Where the elements are stored for the ladder alone, and read behind
//! it each by the thread that it belongs to, neither needs the array: the values that are stored are what the call is given, and
//! results are variables. The array is not declared any more then.
//!
//! **Why this is right.** What the kernel leaves is for the proof of the whole fix to find out: which value is which element, that
//! indices of one text are one, and whether a barrier that goes orders anything else. What no proof of one kernel shows is that
//! nothing else names the array: so each place of the unit's files that has its name must be one that goes.

use shaderlint_hlsl::{
    Expr, ExprKind, Function, Global, GlobalId, Intrinsic, LocalId, Shader, Span, Stmt, StmtKind, Storage,
    expressions, statements,
};
use shaderlint_linter::{At, Context, Edit};
use shaderlint_simt::{Collective, Elements, Rewrite};

use crate::statements::group_barrier;
use crate::unit::{Unit, code_of_files, without_comments, words};
use crate::written::{on_one_line, text_in_file};

/// How long a value may be that moves, in bytes.
const LONGEST: usize = 100;

/// What there is of an array that only a ladder uses.
#[derive(Clone)]
pub(crate) struct SoleUse {
    /// Its declaration.
    pub declaration: Span,
    /// Statements before the ladder that go: what stores elements, barriers behind that, and variables of the ladder's.
    pub gone: Vec<Span>,
    /// The ladder.
    pub over: Span,
    /// With the barriers behind it.
    pub to_barrier: Span,
    /// The values of the thread's elements, as the file has them and as they are expanded; none where they are in registers.
    pub values: Vec<[String; 2]>,
    /// Each read of a result behind the ladder: its place, and the element's number.
    pub reads: Vec<(Span, usize)>,
    /// What is read in place of it, for each element.
    pub results: Vec<String>,
}

impl SoleUse {
    /// Of a ladder of `each` elements a thread; behind an element stands what names the component that is scanned, and the one that
    /// the result is left in. `None` where anything else names the array.
    pub fn of(
        context: &Context<'_>,
        found: &Collective,
        rewrite: &Rewrite,
        each: u32,
        [given, left]: [&str; 2],
    ) -> Option<SoleUse> {
        let shader = context.shader;
        let [array] = found.arrays.as_slice() else {
            return None;
        };
        let declared = declared_alone(shader, *array)?;
        let function = context.function(found.function)?;
        let body = function.body.as_deref()?;
        let (list, first, last) = list_with(body, found.span)?;
        let (before, behind) = (list.get(..first)?, list.get(last + 1..)?);
        let is_removable =
            |statement: &Stmt| group_barrier(statement) == Some(Intrinsic::GroupMemoryBarrierWithGroupSync);
        let barriers = behind.iter().take_while(|statement| is_removable(statement));
        let to_barrier = barriers.fold(found.span, |over, barrier| over.to(barrier.span));

        let mut indices: Vec<String> = Vec::new();
        let mut values = Vec::new();
        let mut stores = 0;
        let mut gone = Vec::new();
        for statement in before {
            if let Some((index, component, value)) = stored(shader, statement, *array) {
                stores += 1;
                gone.push(statement.span);
                if component == given {
                    indices.push(index);
                    values.push(texts(shader, value)?);
                }
            } else if stores > 0 && is_removable(statement) || is_dead(function, rewrite, found, statement) {
                gone.push(statement.span);
            }
        }
        let mut reads = Vec::new();
        for expr in expressions(behind) {
            if let Some((index, component)) = element(shader, expr, *array, left) {
                let is_it = |known: &String| *known == index && component == left;
                reads.push((expr.span, indices.iter().position(is_it)?));
            }
        }
        let is_in_array = !matches!(found.output, Elements::Register { .. });
        let is_whole = rewrite.also.is_empty()
            && is_in_array != reads.is_empty()
            && (values.len() == each as usize || values.is_empty() && stores == 0 && !is_in_array);
        if !is_whole {
            return None;
        }

        let is_used = |expr: &&Expr| matches!(expr.kind, ExprKind::Global(of) if of == *array);
        let bodies = shader
            .functions
            .iter()
            .filter_map(|function| function.body.as_deref());
        let uses = bodies.flat_map(expressions).filter(is_used).count();
        let in_ladder = list.get(first..=last)?;
        let known = expressions(in_ladder).filter(is_used).count() + stores + reads.len();
        let name = declared.own_name();
        let is_named_elsewhere = uses != known
            || times_named(shader, name) != uses + 1
            || Unit::of(shader).may_be_pasted(name.as_bytes());
        let read = reads.iter().map(|(read, _)| read);
        let edited = read
            .chain(&gone)
            .chain([&found.span, &to_barrier, &declared.span]);
        if is_named_elsewhere || !are_in_one_file(shader, edited) {
            return None;
        }
        // What stands right before the ladder goes with it, and comments on its steps.
        let mut start = found.span.start;
        while let Some(last) = gone.pop_if(|last| is_blank(shader, last.end, start)) {
            start = last.start;
        }
        Some(SoleUse {
            declaration: declared.span,
            gone,
            over: Span { start, ..found.span },
            to_barrier: Span { start, ..to_barrier },
            values,
            reads,
            results: Vec::new(),
        })
    }

    /// What becomes of the statements before the ladder, and of what is read behind it.
    pub fn edits(&self, shader: &Shader) -> impl Iterator<Item = Edit> {
        let over = |at: Span, text: String| Edit {
            at: At::Over(at),
            text,
            expanded: None,
        };
        let gone = self.gone.iter().map(move |gone| over(*gone, String::new()));
        let reads = self.reads.iter().map(move |(read, element)| {
            let result = self.results.get(*element).cloned().unwrap_or_default();
            let is_operand = result.contains(' ') && !stands_alone(shader, *read);
            over(*read, if is_operand { format!("({result})") } else { result })
        });
        gone.chain(reads)
    }
}

/// Whether an expression is all of a value or an argument, as far as the text before and behind it tells.
fn stands_alone(shader: &Shader, expr: Span) -> bool {
    let before = shader.text.get(..expr.start as usize).unwrap_or_default();
    let behind = shader.text.get(expr.end as usize..).unwrap_or_default();
    let before = before.trim_ascii_end();
    let is_assigned = before.ends_with(b"=") && !before.ends_with(b"==");
    (is_assigned || before.ends_with(b"(") || before.ends_with(b","))
        && matches!(behind.trim_ascii_start().first(), Some(b';' | b',' | b')'))
}

/// The array, if a declaration of groupshared memory is its own and in no namespace.
fn declared_alone(shader: &Shader, array: GlobalId) -> Option<&Global> {
    let declared = shader.globals.get(array.0 as usize)?;
    let shares_declaration = shader.globals.iter().filter(|other| other.span == declared.span);
    let is_plain = declared.storage == Storage::Groupshared && !declared.name.contains("::");
    (is_plain && shares_declaration.count() == 1).then_some(declared)
}

/// The list of statements in braces that has those of `span` in it, and which of it they are.
fn list_with(body: &[Stmt], span: Span) -> Option<(&[Stmt], usize, usize)> {
    let blocks = statements(body).filter_map(|statement| match &statement.kind {
        StmtKind::Block(list) => Some(list.as_slice()),
        _ => None,
    });
    std::iter::once(body).chain(blocks).find_map(|list| {
        let first = list
            .iter()
            .position(|statement| statement.span.start == span.start)?;
        let last = list
            .iter()
            .rposition(|statement| statement.span.end == span.end)?;
        (first <= last).then_some((list, first, last))
    })
}

/// The index of an element, and what names a component behind it.
fn place(shader: &Shader, expr: &Expr, array: GlobalId) -> Option<(String, String)> {
    let mut part = expr;
    loop {
        match &part.kind {
            ExprKind::Index(of, at) if matches!(of.kind, ExprKind::Global(of) if of == array) => {
                let component = Span {
                    start: part.span.end,
                    end: expr.span.end,
                };
                let component = String::from_utf8_lossy(component.slice(&shader.text)).into_owned();
                return Some((on_one_line(shader, at.span)?, component));
            }
            ExprKind::Swizzle(of, _) | ExprKind::Field(of, _) => part = of,
            _ => return None,
        }
    }
}

/// An element of the array with its component, if it has one of this length.
fn element(shader: &Shader, expr: &Expr, array: GlobalId, component: &str) -> Option<(String, String)> {
    let place = place(shader, expr, array)?;
    (place.1.is_empty() == component.is_empty()).then_some(place)
}

/// Where a statement stores what in an element: the index, what names the component, and the value.
fn stored<'s>(shader: &Shader, statement: &'s Stmt, array: GlobalId) -> Option<(String, String, &'s Expr)> {
    let StmtKind::Expr(Expr {
        kind: ExprKind::Assign {
            target,
            op: None,
            value,
        },
        ..
    }) = &statement.kind
    else {
        return None;
    };
    let (index, component) = place(shader, target, array)?;
    Some((index, component, value))
}

/// An expression as the file has it, and as it is expanded.
fn texts(shader: &Shader, value: &Expr) -> Option<[String; 2]> {
    let of_file = on_one_line(shader, value.span).filter(|text| text.len() <= LONGEST)?;
    let expanded = String::from_utf8_lossy(value.span.slice(&shader.text)).into_owned();
    Some([of_file, expanded.split_whitespace().collect::<Vec<_>>().join(" ")])
}

/// Whether a statement declares a variable that only the ladder uses, alone and with a constant.
fn is_dead(function: &Function, rewrite: &Rewrite, found: &Collective, statement: &Stmt) -> bool {
    let StmtKind::Declare { local, init } = &statement.kind else {
        return false;
    };
    let body = function.body.as_deref().unwrap_or_default();
    let is_constant = init
        .as_ref()
        .is_none_or(|init| matches!(init.uncast().kind, ExprKind::Literal(_)));
    let mut uses = expressions(body).filter(|expr| matches!(expr.kind, ExprKind::Local(of) if of == *local));
    let shares_span = |other: &&Stmt| {
        matches!(other.kind, StmtKind::Declare { .. })
            && other.span.start < statement.span.end
            && statement.span.start < other.span.end
    };
    let is_left = |of: &LocalId| of == local;
    let settled = rewrite.settled.iter().map(|(local, _)| local);
    let mut left = settled.chain(rewrite.further.iter().map(|(local, _)| local));
    is_constant
        && uses.all(|of| found.span.start <= of.span.start && of.span.end <= found.span.end)
        && statements(body).filter(shares_span).count() == 1
        && !left.any(is_left)
}

/// Whether the file has nothing but comments between two places.
fn is_blank(shader: &Shader, start: u32, end: u32) -> bool {
    let text = text_in_file(shader, Span { start, end });
    text.is_some_and(|text| without_comments(text.as_bytes()).trim_ascii().is_empty())
}

/// Whether edits can be made in all of these, in one file.
fn are_in_one_file<'s>(shader: &Shader, mut spans: impl Iterator<Item = &'s Span>) -> bool {
    let file_of = |span: &Span| Some(shader.origins.editable(*span)?.file);
    let first = spans.next().and_then(file_of);
    first.is_some() && spans.all(|span| file_of(span) == first)
}

/// How often the unit's files have a name, with what is left out of this build.
fn times_named(shader: &Shader, name: &str) -> usize {
    let named =
        code_of_files(shader).map(|text| words(&text).filter(|word| *word == name.as_bytes()).count());
    named.sum()
}
