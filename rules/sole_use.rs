//! An array that serves a ladder and nothing else: it goes with the ladder.
//!
//! A call takes the thread's own elements and gives its result. Where the elements are stored for the ladder alone, and what is read
//! behind it is a result of the thread that reads it, neither needs the array: the values that are stored are what the call is given,
//! and results are variables. The array goes if nothing else names it.
//!
//! **Why this is right.** What the kernel leaves is for the proof of the whole fix to find out: which value is which element, that
//! indices of one text are one, and whether a barrier that goes orders anything else. What no proof of one kernel shows is that
//! nothing else names the array: so each place of the unit's files that has its name must be one that goes.

use shaderlint_hlsl::{
    Expr, ExprKind, Function, Global, GlobalId, Intrinsic, LocalId, Shader, Span, Stmt, StmtKind, Storage,
    Type, blank_comments, expressions, statements,
};
use shaderlint_linter::{At, Context, Edit};
use shaderlint_simt::{Collective, Rewrite, StepEdit};

use crate::form::WaveForm;
use crate::last_calls::only_called_by;
use crate::statements::group_barrier;
use crate::unit::{Unit, words};
use crate::written::{in_parentheses, on_one_line, text_in_file};

/// How long a value may be that moves, in bytes.
const LONGEST: usize = 100;

/// What there is of an array around a ladder that its elements are stored for alone.
#[derive(Clone)]
pub(crate) struct SoleUse {
    /// Its declaration, if nothing else names it.
    pub declaration: Option<Span>,
    /// Statements before the ladder that go: what stores elements, barriers behind that, and variables of the ladder's.
    pub gone: Vec<Span>,
    /// The ladder.
    pub over: Span,
    /// With the barriers behind it.
    pub to_barrier: Span,
    /// What the call is given: the values of the thread's elements, but where they are in registers, and what else there is to give.
    /// As the file has it, and as it is expanded.
    pub values: Vec<[String; 2]>,
    /// One of these has more components than an element, or fewer.
    pub is_of_another_width: bool,
    /// Each read of a result behind the ladder: its place, and the result's number.
    pub reads: Vec<(Span, usize)>,
    /// There is one read, which is all that the next statement declares a variable with, or returns: the call may stand there.
    pub takes_call: bool,
    /// What each result is read as: as the file has it, and as it is expanded.
    results: Vec<[String; 2]>,
}

/// Where a ladder leaves the results that a thread reads.
#[derive(Clone, Copy)]
pub(crate) enum Left<'a> {
    /// Each in the element that it took a value from, in the component that this names.
    Own(&'a str),
    /// One of all threads, in the element of this index.
    Cell(u32),
    Variables,
}

impl SoleUse {
    /// Of a ladder of `each` elements a thread; behind an element stands what names the component that it takes. `None` where its
    /// elements serve anything else among the statements around it.
    pub fn of(
        context: &Context<'_>,
        found: &Collective,
        rewrite: &Rewrite,
        (each, given): (u32, &str),
        left: Left<'_>,
    ) -> Option<SoleUse> {
        let shader = context.shader;
        let &[array] = found.arrays.as_slice() else {
            return None;
        };
        let declared = shader.globals.get(array.0 as usize)?;
        if declared.storage != Storage::Groupshared {
            return None;
        }
        let function = context.function(found.function)?;
        let body = function.body.as_deref()?;
        let (list, first, last) = list_with(body, found.span)?;
        let is_used = |expr: &&Expr| matches!(expr.kind, ExprKind::Global(of) if of == array);
        let uses_it =
            |statement: &Stmt| expressions(std::slice::from_ref(statement)).any(|expr| is_used(&expr));
        let (before, behind) = (list.get(..first)?, list.get(last + 1..)?);
        let store = move |statement| Store::of(shader, statement, array);
        let is_before =
            |statement: &Stmt| uses_it(statement) && Store::of(shader, statement, array).is_none();
        let start = before.iter().rposition(is_before).map_or(0, |at| at + 1);
        let before = before.get(start..)?;
        let end = behind.iter().position(|statement| store(statement).is_some());
        let (behind, next) = behind.split_at(end.unwrap_or(behind.len()));
        let of_next = next.first().and_then(store);
        let of_next = of_next
            .iter()
            .flat_map(|store| store.condition.iter().chain(&store.values));
        let is_removable =
            |statement: &Stmt| group_barrier(statement) == Some(Intrinsic::GroupMemoryBarrierWithGroupSync);
        let barriers = behind.iter().take_while(|statement| is_removable(statement));
        let to_barrier = barriers.fold(found.span, |over, barrier| over.to(barrier.span));

        let mut indices: Vec<String> = Vec::new();
        let mut values = Vec::new();
        let width = shader.components(&found.element_type());
        let mut is_of_another_width = false;
        let (mut stores, mut first_value) = (0, None);
        let mut gone = Vec::new();
        for statement in before {
            if let Some(store) = store(statement) {
                stores += store.values.len();
                gone.push(statement.span);
                if store.component == given {
                    values.push(store.value(shader)?);
                    let is_other = |value: &&Expr| shader.components(&value.uncast().ty) != width;
                    is_of_another_width |= store.values.iter().any(is_other);
                    indices.push(store.index);
                    first_value.get_or_insert(statement.span.start);
                }
            } else if stores > 0 && is_removable(statement) || is_dead(function, rewrite, found, statement) {
                gone.push(statement.span);
            }
        }
        // The last step, where it stays in the text.
        let steps = rewrite.last_step.iter().flat_map(|step| &step.edits);
        let steps: Vec<&StepEdit> = steps.collect();
        let is_of_step = |expr: &&Expr| {
            let mut steps = steps.iter().map(|step| step.span());
            steps.any(|step| step.start <= expr.span.start && expr.span.end <= step.end)
        };
        let mut reads = Vec::new();
        let read = expressions(behind).chain(of_next.flat_map(|value| value.descendants()));
        let is_bare = !matches!(left, Left::Own(component) if !component.is_empty());
        for expr in read.filter(|expr| !is_of_step(expr)) {
            let Some((index, component)) = place(shader, expr, array) else {
                continue;
            };
            if component.is_empty() != is_bare {
                continue;
            }
            let result = match left {
                Left::Own(own) => indices
                    .iter()
                    .position(|known| *known == index && component == own)?,
                Left::Cell(cell) => (index.trim_end_matches(['u', 'U']) == cell.to_string()).then_some(0)?,
                Left::Variables => return None,
            };
            reads.push((expr.span, result));
        }
        let read_outright = reads.len();
        let mut of_steps = Vec::new();
        for step in &steps {
            match step {
                StepEdit::ReadTotal(total) => reads.push((in_parentheses(shader, *total), 0)),
                StepEdit::Remove(statement) => of_steps.push(*statement),
            }
        }
        let next = behind.iter().find(|statement| !is_removable(statement));
        let takes_call =
            matches!(reads.as_slice(), [(read, _)] if next.is_some_and(|next| is_all_of(next, *read)));
        // The call stands in place of the ladder, or of the read.
        let end = match reads.as_slice() {
            [(read, _)] if takes_call => read.start,
            _ => found.span.start,
        };
        if first_value.is_some_and(|first| may_mean_else(shader, function, first, end, &values)) {
            return None;
        }
        let is_in_array = !matches!(left, Left::Variables);
        let is_whole = rewrite.also.is_empty()
            && is_in_array != reads.is_empty()
            && (values.len() == each as usize || values.is_empty() && stores == 0 && !is_in_array);
        if !is_whole {
            return None;
        }

        let bodies = shader
            .functions
            .iter()
            .filter_map(|function| function.body.as_deref());
        let uses = bodies.flat_map(expressions).filter(is_used).count();
        let in_ladder = expressions(list.get(first..=last)?);
        let in_steps = expressions(behind).filter(is_of_step);
        let called = only_called_by(shader, found, rewrite);
        let in_called = called.iter().filter_map(|function| function.body.as_deref());
        let going = in_ladder.chain(in_steps).chain(in_called.flat_map(expressions));
        let known = going.filter(is_used).count() + stores + read_outright;
        let name = declared.own_name();
        let is_all = uses == known
            && is_declared_alone(shader, declared)
            && Unit::of(shader).times_named(name) == uses + 1
            && !Unit::of(shader).may_be_pasted(name.as_bytes());
        let declaration = is_all.then_some(declared.span);
        let read = reads.iter().map(|(read, _)| read);
        let edited = read
            .chain(gone.iter().chain(&of_steps))
            .chain([&found.span, &to_barrier])
            .chain(&declaration);
        if !are_in_one_file(shader, edited) {
            return None;
        }
        // What stands right before the ladder goes with it, and comments on its steps.
        let mut start = found.span.start;
        while let Some(last) = gone.pop_if(|last| is_blank(shader, last.end, start)) {
            start = last.start;
        }
        gone.extend(of_steps);
        Some(SoleUse {
            declaration,
            gone,
            over: Span { start, ..found.span },
            to_barrier: Span { start, ..to_barrier },
            values,
            is_of_another_width,
            reads,
            takes_call,
            results: Vec::new(),
        })
    }

    /// The forms without the array: with the barriers that stood behind the ladder, or without; or with one before the call. `write`
    /// writes one with what [`SoleUse::given`] says in place of values.
    pub fn forms(
        &self,
        results: &[String],
        write: impl Fn(bool) -> Option<WaveForm>,
    ) -> impl Iterator<Item = WaveForm> {
        let mut ways = vec![(self.to_barrier, false), (self.over, false), (self.over, true)];
        ways.dedup();
        let filled = |text: &str, which: usize| {
            let values = self.values.iter().enumerate();
            values.fold(text.to_owned(), |text, (number, texts)| {
                text.replace(&value(number), &texts[which])
            })
        };
        let results: Vec<[String; 2]> = { results.iter() }
            .map(|result| [filled(result, 0), filled(result, 1)])
            .collect();
        ways.into_iter().filter_map(move |(over, first)| {
            let mut form = write(first)?;
            if !self.values.is_empty() {
                let expanded = form.expanded.as_ref().unwrap_or(&form.block);
                form.expanded = Some(filled(expanded, 1));
                form.block = filled(&form.block, 0);
            }
            form.sole_use = Some(SoleUse {
                over,
                results: results.clone(),
                ..self.clone()
            });
            Some(form)
        })
    }

    /// What the call is given where the thread's elements are stored for it, if they are.
    pub fn given(&self) -> Vec<String> {
        (0..self.values.len()).map(value).collect()
    }

    /// What else the call is given: as the file has it, and as it is expanded.
    pub fn also_given(&mut self, texts: [String; 2]) -> String {
        self.values.push(texts);
        value(self.values.len() - 1)
    }

    /// What becomes of the statements before the ladder, and of what is read behind it.
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

/// Stands for a value that moves until its text is written: no text of HLSL.
fn value(number: usize) -> String {
    format!("\u{1}{number}\u{1}")
}

/// Whether an expression is all of a value or an argument, as far as the text before and behind it tells.
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

/// Whether a declaration of groupshared memory is of one array, in no namespace.
fn is_declared_alone(shader: &Shader, array: &Global) -> bool {
    let shares_declaration = shader.globals.iter().filter(|other| other.span == array.span);
    !array.name.contains("::") && shares_declaration.count() == 1
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

/// What a statement stores in an element of the array.
struct Store<'s> {
    index: String,
    /// What names the component.
    component: String,
    /// The condition, where one chooses between two values.
    condition: Option<&'s Expr>,
    values: Vec<&'s Expr>,
}

impl<'s> Store<'s> {
    /// By `g[i] = x;`, or by `if (c) g[i] = x; else g[i] = y;`.
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

    /// The value as the file has it, and as it is expanded.
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

/// The same of an expression that becomes a part of `c ? x : y`.
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

/// An expression as the file has it, and as it is expanded.
fn texts(shader: &Shader, value: &Expr) -> Option<[String; 2]> {
    let of_file = on_one_line(shader, value.span)?;
    let expanded = String::from_utf8_lossy(value.span.slice(&shader.text)).into_owned();
    Some([of_file, expanded.split_whitespace().collect::<Vec<_>>().join(" ")])
}

/// Whether a statement declares a variable with an expression and nothing else, or returns it.
fn is_all_of(statement: &Stmt, expr: Span) -> bool {
    match &statement.kind {
        StmtKind::Declare {
            init: Some(value), ..
        }
        | StmtKind::Return(Some(value)) => value.uncast().span == expr,
        _ => false,
    }
}

/// Whether values that move from `start` to `end` may be something else there: where a directive defines a macro anew, or a variable
/// that is declared between hides a name of theirs. Of types in functions the front end tells where they may hide anything.
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

/// Whether a statement declares a variable that only the ladder uses, alone and with a constant.
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

/// Whether the file has nothing but comments between two places.
fn is_blank(shader: &Shader, start: u32, end: u32) -> bool {
    let text = text_in_file(shader, Span { start, end });
    text.is_some_and(|text| blank_comments(text.as_bytes()).trim_ascii().is_empty())
}

/// Whether edits can be made in all of these, in one file.
fn are_in_one_file<'s>(shader: &Shader, mut spans: impl Iterator<Item = &'s Span>) -> bool {
    let file_of = |span: &Span| Some(shader.origins.editable(*span)?.file);
    let first = spans.next().and_then(file_of);
    first.is_some() && spans.all(|span| file_of(span) == first)
}
