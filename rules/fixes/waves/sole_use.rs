//! An array that only a ladder uses: it goes with the ladder.
//!
//! A call takes the thread's own elements and returns its result. Where the elements are stored for the ladder alone,
//! and each thread reads only its own result behind it, neither needs the array: the stored values become arguments,
//! and the results variables. The array goes if nothing else names it.
//!
//! **Why this is right.** The proof of the whole fix covers what the kernel leaves: which value is which element,
//! that indices with the same text are equal, and whether a removed barrier orders anything else. No proof of one
//! kernel shows that nothing else names the array, so every mention of its name in the unit's files must be one that
//! goes.

use shaderlint_hlsl::{
    Expr, ExprKind, Function, Global, GlobalId, Intrinsic, LocalId, Shader, Span, Stmt, StmtKind, Storage,
    Type, blank_comments, expressions, statements,
};
use shaderlint_linter::{At, Context, Edit};
use shaderlint_simt::{Collective, Rewrite, StepEdit};

use crate::fixes::waves::last_calls::only_called_by;
use crate::source::statements::group_barrier;
use crate::source::text::{in_parentheses, on_one_line, text_in_file};
use crate::source::unit::Unit;
use crate::source::words::words;

/// The longest value that may move, in bytes.
const LONGEST: usize = 100;

/// An array whose elements are stored for a ladder alone, with the code that uses it.
#[derive(Clone)]
pub(crate) struct SoleUse {
    /// Its declaration, if nothing else names it.
    pub declaration: Option<Span>,
    /// Statements before the ladder that go: those that store elements, barriers behind them, and variables of the
    /// ladder.
    pub gone: Vec<Span>,
    /// The ladder.
    pub over: Span,
    /// With the barriers behind it.
    pub to_barrier: Span,
    /// The arguments of the call: the values of the thread's elements, except for those in registers, and further
    /// ones. As the file spells them, and expanded.
    pub values: Vec<[String; 2]>,
    /// One of these has more components than an element, or fewer.
    pub is_of_another_width: bool,
    /// Each read of a result behind the ladder: its place, and the result's number.
    pub reads: Vec<(Span, usize)>,
    /// There is one read, and it is the whole value of the next statement, a declaration or a `return`: the call may
    /// go there.
    pub takes_call: bool,
    /// The text for each result: as the file spells it, and expanded.
    results: Vec<[String; 2]>,
}

/// Where a ladder leaves the results that a thread reads.
#[derive(Clone, Copy)]
pub(crate) enum Left<'a> {
    /// Each in the element of the value, in this component.
    Own(&'a str),
    /// One for all threads, in the element of this index.
    Cell(u32),
    Variables,
}

/// The elements that a thread takes: how many, and the component of each.
#[derive(Clone, Copy)]
pub(crate) struct Taken<'a> {
    pub each: u32,
    pub component: &'a str,
}

impl SoleUse {
    /// `None` where the elements serve anything else among the statements around the ladder.
    pub fn of(
        context: &Context<'_>,
        found: &Collective,
        rewrite: &Rewrite,
        taken: Taken<'_>,
        left: Left<'_>,
    ) -> Option<SoleUse> {
        let shader = context.shader;
        let around = Around::of(context, found)?;
        let stored = StoredBefore::of(shader, &around, found, rewrite, taken)?;
        let read = ReadBehind::of(shader, &around, rewrite, &stored, left)?;
        // The call replaces the ladder, or the read.
        let end = match read.reads.as_slice() {
            [(read_at, _)] if read.takes_call => read_at.start,
            _ => found.span.start,
        };
        let StoredBefore { values, mut gone, .. } = stored;
        if { stored.first }.is_some_and(|first| may_mean_else(shader, around.function, first, end, &values)) {
            return None;
        }
        let is_in_array = !matches!(left, Left::Variables);
        let has_all = values.len() == taken.each as usize;
        let has_none = values.is_empty() && stored.count == 0 && !is_in_array;
        if !rewrite.also.is_empty() || is_in_array == read.reads.is_empty() || !has_all && !has_none {
            return None;
        }
        let going = stored.count + read.outright;
        let is_all = around.goes_with_ladder(shader, found, rewrite, going);
        let declaration = is_all.then_some(around.declared.span);
        let to_barrier = around.to_barrier(found);
        let edited = { read.reads.iter() }
            .map(|(read, _)| read)
            .chain(gone.iter().chain(&read.removed))
            .chain([&found.span, &to_barrier])
            .chain(&declaration);
        if !are_in_one_file(shader, edited) {
            return None;
        }
        // The statements right before the ladder go with it, and comments on its steps.
        let mut start = found.span.start;
        while let Some(last) = gone.pop_if(|last| is_blank(shader, last.end, start)) {
            start = last.start;
        }
        gone.extend(read.removed);
        Some(SoleUse {
            declaration,
            gone,
            over: Span { start, ..found.span },
            to_barrier: Span { start, ..to_barrier },
            values,
            is_of_another_width: stored.is_of_another_width,
            reads: read.reads,
            takes_call: read.takes_call,
            results: Vec::new(),
        })
    }

    /// The text of a form with the values written into it, as the file spells them or expanded.
    pub fn filled(&self, text: &str, which: usize) -> String {
        let values = self.values.iter().enumerate();
        values.fold(text.to_owned(), |text, (number, texts)| {
            text.replace(&value(number), &texts[which])
        })
    }

    /// The same for a form that replaces `over` and leaves these results.
    pub fn replaced(&self, over: Span, results: &[String]) -> SoleUse {
        let results = results.iter();
        SoleUse {
            over,
            results: results
                .map(|result| [0, 1].map(|which| self.filled(result, which)))
                .collect(),
            ..self.clone()
        }
    }

    /// The arguments of the call from the thread's stored elements, if it has any.
    pub fn given(&self) -> Vec<String> {
        (0..self.values.len()).map(value).collect()
    }

    /// A further argument of the call, as the file spells it and expanded.
    pub fn also_given(&mut self, texts: [String; 2]) -> String {
        self.values.push(texts);
        value(self.values.len() - 1)
    }

    /// The edits of the statements before the ladder, and of the reads behind it.
    pub fn edits(&self, shader: &Shader) -> impl Iterator<Item = Edit> {
        let over = |at: Span, [text, expanded]: [String; 2]| Edit {
            at: At::Over(at),
            text,
            expanded: Some(expanded),
        };
        let gone = self.gone.iter().map(move |gone| over(*gone, Default::default()));
        let reads = self.reads.iter().map(move |(read, element)| {
            let result = self.results.get(*element).cloned().unwrap_or_default();
            let is_operand = result.iter().any(|text| text.contains(' ')) && !stands_alone(shader, *read);
            over(
                *read,
                if is_operand {
                    result.map(|text| format!("({text})"))
                } else {
                    result
                },
            )
        });
        gone.chain(reads)
    }
}

/// The statements around a ladder that may be about its array alone.
struct Around<'s> {
    array: GlobalId,
    declared: &'s Global,
    function: &'s Function,
    /// Back to the last statement that uses the array otherwise than to store an element.
    before: &'s [Stmt],
    ladder: &'s [Stmt],
    /// Up to the next statement that stores an element.
    behind: &'s [Stmt],
    /// The store of that statement.
    next_store: Option<Store<'s>>,
}

impl<'s> Around<'s> {
    fn of(context: &Context<'s>, found: &Collective) -> Option<Around<'s>> {
        let shader = context.shader;
        let &[array] = found.arrays.as_slice() else {
            return None;
        };
        let declared = shader.globals.get(array.0 as usize)?;
        if declared.storage != Storage::Groupshared {
            return None;
        }
        let function = context.function(found.function)?;
        let (list, first, last) = list_with(function.body.as_deref()?, found.span)?;
        let (before, behind) = (list.get(..first)?, list.get(last + 1..)?);
        let store = |statement| Store::of(shader, statement, array);
        let is_other_use = |statement: &'s Stmt| {
            let mut parts = expressions(std::slice::from_ref(statement));
            parts.any(|part| is_array(part, array)) && store(statement).is_none()
        };
        let start = before.iter().rposition(is_other_use).map_or(0, |at| at + 1);
        let end = behind.iter().position(|statement| store(statement).is_some());
        let (behind, rest) = behind.split_at(end.unwrap_or(behind.len()));
        Some(Around {
            array,
            declared,
            function,
            before: before.get(start..)?,
            ladder: list.get(first..=last)?,
            behind,
            next_store: rest.first().and_then(store),
        })
    }

    /// The ladder with the barriers right behind it.
    fn to_barrier(&self, found: &Collective) -> Span {
        let barriers = self.behind.iter().take_while(|statement| is_removable(statement));
        barriers.fold(found.span, |over, barrier| over.to(barrier.span))
    }

    /// Whether the array goes with the ladder: every mention of it goes. Besides the ladder, its last step and the
    /// functions that only the ladder calls, `going` uses of it go.
    fn goes_with_ladder(&self, shader: &Shader, found: &Collective, rewrite: &Rewrite, going: usize) -> bool {
        let is_used = |part: &&Expr| is_array(part, self.array);
        let bodies = { shader.functions.iter() }.filter_map(|function| function.body.as_deref());
        let uses = bodies.flat_map(expressions).filter(is_used).count();
        let in_steps = expressions(self.behind).filter(|part| is_of_last_step(rewrite, part));
        let called = only_called_by(shader, found, rewrite);
        let in_called = called.iter().filter_map(|function| function.body.as_deref());
        let with_ladder = expressions(self.ladder)
            .chain(in_steps)
            .chain(in_called.flat_map(expressions));
        let name = self.declared.own_name();
        let unit = Unit::of(shader);
        uses == with_ladder.filter(is_used).count() + going
            && is_declared_alone(shader, self.declared)
            && unit.times_named(name) == uses + 1
            && !unit.may_be_pasted(name.as_bytes())
    }
}

/// The elements that are stored before a ladder, for the ladder alone.
struct StoredBefore {
    /// The index of each element whose component the ladder takes, and the value.
    indices: Vec<String>,
    values: Vec<[String; 2]>,
    /// One of these has more components than an element, or fewer.
    is_of_another_width: bool,
    /// Where the first of these statements begins.
    first: Option<u32>,
    /// How many values are stored, also in components that the ladder does not take.
    count: usize,
    /// The statements that go.
    gone: Vec<Span>,
}

impl StoredBefore {
    fn of(
        shader: &Shader,
        around: &Around<'_>,
        found: &Collective,
        rewrite: &Rewrite,
        taken: Taken<'_>,
    ) -> Option<StoredBefore> {
        let width = shader.components(&found.element_type());
        let mut stored = StoredBefore {
            indices: Vec::new(),
            values: Vec::new(),
            is_of_another_width: false,
            first: None,
            count: 0,
            gone: Vec::new(),
        };
        for statement in around.before {
            if let Some(store) = Store::of(shader, statement, around.array) {
                stored.count += store.values.len();
                stored.gone.push(statement.span);
                if store.component == taken.component {
                    stored.values.push(store.value(shader)?);
                    let is_other = |value: &&Expr| shader.components(&value.uncast().ty) != width;
                    stored.is_of_another_width |= store.values.iter().any(is_other);
                    stored.indices.push(store.index);
                    stored.first.get_or_insert(statement.span.start);
                }
            } else if stored.count > 0 && is_removable(statement)
                || is_dead(around.function, rewrite, found, statement)
            {
                stored.gone.push(statement.span);
            }
        }
        Some(stored)
    }
}

/// The reads of the array behind a ladder.
struct ReadBehind {
    /// Each read of a result: its place, and the result's number.
    reads: Vec<(Span, usize)>,
    /// How many of these are outside of the last step of the ladder.
    outright: usize,
    /// Statements of the last step that go.
    removed: Vec<Span>,
    /// As in [`SoleUse`].
    takes_call: bool,
}

impl ReadBehind {
    /// `None` where a read is of anything but a result.
    fn of(
        shader: &Shader,
        around: &Around<'_>,
        rewrite: &Rewrite,
        stored: &StoredBefore,
        left: Left<'_>,
    ) -> Option<ReadBehind> {
        let mut reads = Vec::new();
        let next_store = around.next_store.iter();
        let next_store = next_store.flat_map(|store| store.condition.iter().chain(&store.values));
        let parts = expressions(around.behind).chain(next_store.flat_map(|value| value.descendants()));
        let is_bare = !matches!(left, Left::Own(component) if !component.is_empty());
        for part in parts.filter(|part| !is_of_last_step(rewrite, part)) {
            let Some((index, component)) = place(shader, part, around.array) else {
                continue;
            };
            if component.is_empty() != is_bare {
                continue;
            }
            let mut indices = stored.indices.iter();
            let result = match left {
                Left::Own(own) => indices.position(|known| *known == index && component == own)?,
                Left::Cell(cell) => (index.trim_end_matches(['u', 'U']) == cell.to_string()).then_some(0)?,
                Left::Variables => return None,
            };
            reads.push((part.span, result));
        }
        let outright = reads.len();
        let mut removed = Vec::new();
        for step in rewrite.last_step.iter().flat_map(|step| &step.edits) {
            match step {
                StepEdit::ReadTotal(total) => reads.push((in_parentheses(shader, *total), 0)),
                StepEdit::Remove(statement) => removed.push(*statement),
            }
        }
        let next = { around.behind.iter() }.find(|statement| !is_removable(statement));
        let takes_call =
            matches!(reads.as_slice(), [(read, _)] if next.is_some_and(|next| is_all_of(next, *read)));
        Some(ReadBehind {
            reads,
            outright,
            removed,
            takes_call,
        })
    }
}

fn is_array(part: &Expr, array: GlobalId) -> bool {
    matches!(part.kind, ExprKind::Global(of) if of == array)
}

/// Whether an expression is in the ladder's last step, where this stays in the text.
fn is_of_last_step(rewrite: &Rewrite, part: &Expr) -> bool {
    let mut steps = rewrite.last_step.iter().flat_map(|step| &step.edits);
    steps.any(|step| step.span().start <= part.span.start && part.span.end <= step.span().end)
}

/// Whether a statement is a barrier that a form may do without.
fn is_removable(statement: &Stmt) -> bool {
    group_barrier(statement) == Some(Intrinsic::GroupMemoryBarrierWithGroupSync)
}

/// A placeholder for a value that moves, until its text is known: no text of HLSL.
fn value(number: usize) -> String {
    format!("\u{1}{number}\u{1}")
}

/// Whether an expression is a whole value or argument, as far as the text around it tells.
fn stands_alone(shader: &Shader, expr: Span) -> bool {
    let before = shader.text.get(..expr.start as usize).unwrap_or_default();
    let behind = shader.text.get(expr.end as usize..).unwrap_or_default();
    let before = before.trim_ascii_end();
    let is_assigned = before.ends_with(b"=") && !before.ends_with(b"==");
    (is_assigned
        || [b"(", b",", &b"return"[..]]
            .iter()
            .any(|end| before.ends_with(end)))
        && matches!(behind.trim_ascii_start().first(), Some(b';' | b',' | b')'))
}

/// Whether a declaration declares one array, outside of any namespace.
fn is_declared_alone(shader: &Shader, array: &Global) -> bool {
    let shares_declaration = shader.globals.iter().filter(|other| other.span == array.span);
    !array.name.contains("::") && shares_declaration.count() == 1
}

/// The block that contains the statements of `span`, and which of its statements they are.
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

/// The index of an element, and the selector of a component behind it.
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

/// A store of an element by a statement.
struct Store<'s> {
    index: String,
    /// The selector of the component.
    component: String,
    /// The condition, where there are two values.
    condition: Option<&'s Expr>,
    values: Vec<&'s Expr>,
}

impl<'s> Store<'s> {
    /// `g[i] = x;`, or `if (c) g[i] = x; else g[i] = y;`.
    fn of(shader: &Shader, statement: &'s Stmt, array: GlobalId) -> Option<Store<'s>> {
        match &statement.kind {
            StmtKind::Expr(Expr {
                kind:
                    ExprKind::Assign {
                        target,
                        op: None,
                        value,
                    },
                ..
            }) => {
                let (index, component) = place(shader, target, array)?;
                let (condition, values) = (None, vec![value.as_ref()]);
                Some(Store {
                    index,
                    component,
                    condition,
                    values,
                })
            }
            StmtKind::If {
                condition,
                then,
                otherwise: Some(otherwise),
            } => {
                let [mut then, otherwise] = [then, otherwise].map(|arm| match &arm.kind {
                    StmtKind::Block(list) => match list.as_slice() {
                        [only] => Store::of(shader, only, array),
                        _ => None,
                    },
                    _ => Store::of(shader, arm, array),
                });
                let (own, other) = (then.take()?, otherwise?);
                let is_one = own.index == other.index && own.component == other.component;
                let are_plain = own.condition.is_none() && other.condition.is_none();
                (is_one && are_plain).then(|| Store {
                    condition: Some(condition),
                    values: [own.values, other.values].concat(),
                    ..own
                })
            }
            _ => None,
        }
    }

    /// The value as the file spells it, and expanded.
    fn value(&self, shader: &Shader) -> Option<[String; 2]> {
        let [first, others @ ..] = self.values.as_slice() else {
            return None;
        };
        let mut value = texts(shader, first)?;
        if let (Some(condition), [other]) = (self.condition, others) {
            let is_scalar = |part: &Expr| matches!(part.uncast().ty, Type::Scalar(_));
            if ![condition, first, other].into_iter().all(is_scalar) {
                return None;
            }
            let [condition, first, other] =
                [condition, first, other].map(|part| operand_of_choice(shader, part));
            let (condition, first, other) = (condition?, first?, other?);
            value = [0, 1].map(|text| format!("{} ? {} : {}", condition[text], first[text], other[text]));
        }
        (value[0].len() <= LONGEST).then_some(value)
    }
}

/// The same for an operand of `c ? x : y`.
fn operand_of_choice(shader: &Shader, part: &Expr) -> Option<[String; 2]> {
    let texts = texts(shader, part)?;
    let is_looser = matches!(
        part.uncast().kind,
        ExprKind::Ternary(..) | ExprKind::Assign { .. } | ExprKind::Comma(..)
    );
    Some(if is_looser {
        texts.map(|text| format!("({text})"))
    } else {
        texts
    })
}

/// An expression as the file spells it, and expanded.
fn texts(shader: &Shader, value: &Expr) -> Option<[String; 2]> {
    let of_file = on_one_line(shader, value.span)?;
    let expanded = String::from_utf8_lossy(value.span.slice(&shader.text)).into_owned();
    Some([of_file, expanded.split_whitespace().collect::<Vec<_>>().join(" ")])
}

/// Whether an expression is the whole value of a declaration or a `return`.
fn is_all_of(statement: &Stmt, expr: Span) -> bool {
    match &statement.kind {
        StmtKind::Declare {
            init: Some(value), ..
        }
        | StmtKind::Return(Some(value)) => value.uncast().span == expr,
        _ => false,
    }
}

/// Whether values that move from `start` to `end` may mean something else there: a directive may redefine a macro, or
/// a variable in between may hide one of their names. Types in functions cannot: the front end reports where they may
/// hide anything.
fn may_mean_else(shader: &Shader, function: &Function, start: u32, end: u32, values: &[[String; 2]]) -> bool {
    let text = text_in_file(shader, Span { start, end });
    let has_directive = text.is_none_or(|text| blank_comments(text.as_bytes()).contains(&b'#'));
    let locals = function.locals.iter();
    let mut hiding = locals.filter(|local| start < local.span.start && local.span.start < end);
    let is_named = |name: &str| {
        let mut values = values.iter().flatten();
        values.any(|value| words(value.as_bytes()).any(|word| word == name.as_bytes()))
    };
    has_directive || hiding.any(|local| is_named(&local.name))
}

/// Whether a statement declares a single variable, which only the ladder uses, with a constant.
fn is_dead(function: &Function, rewrite: &Rewrite, found: &Collective, statement: &Stmt) -> bool {
    let StmtKind::Declare { local, init } = &statement.kind else {
        return false;
    };
    let body = function.body.as_deref().unwrap_or_default();
    let is_constant = init
        .as_ref()
        .is_none_or(|init| matches!(init.uncast().kind, ExprKind::Literal(_)));
    let uses = expressions(body).filter(|expr| matches!(expr.kind, ExprKind::Local(of) if of == *local));
    let uses: Vec<Span> = uses.map(|expr| expr.span).collect();
    let shares_span = |other: &&Stmt| {
        matches!(other.kind, StmtKind::Declare { .. })
            && other.span.start < statement.span.end
            && statement.span.start < other.span.end
    };
    let is_left = |of: &LocalId| of == local;
    let settled = rewrite.settled.iter().map(|(local, _)| local);
    let mut left = settled.chain(rewrite.further.iter().map(|(local, _)| local));
    is_constant
        && !uses.is_empty()
        && { uses.iter() }.all(|of| found.span.start <= of.start && of.end <= found.span.end)
        && statements(body).filter(shares_span).count() == 1
        && !left.any(is_left)
}

/// Whether the file has only comments between two places.
fn is_blank(shader: &Shader, start: u32, end: u32) -> bool {
    let text = text_in_file(shader, Span { start, end });
    text.is_some_and(|text| blank_comments(text.as_bytes()).trim_ascii().is_empty())
}

/// Whether all of these places can be edited, and are in one file.
fn are_in_one_file<'s>(shader: &Shader, mut spans: impl Iterator<Item = &'s Span>) -> bool {
    let file_of = |span: &Span| Some(shader.origins.editable(*span)?.file);
    let first = spans.next().and_then(file_of);
    first.is_some() && spans.all(|span| file_of(span) == first)
}
