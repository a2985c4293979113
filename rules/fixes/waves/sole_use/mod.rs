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

mod around;
mod store;

use shaderlint_hlsl::{Function, Global, LocalId, Shader, Span, blank_comments};
use shaderlint_linter::{At, Context, Edit};
use shaderlint_simt::{Collective, Rewrite};

use crate::source::text::{Spelled, text_in_file};
use crate::source::unit::Unit;
use crate::source::words::words;
use around::{Around, ReadBehind, StoredBefore};

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
    /// The arguments of the call: the values of the thread's elements, except for those that stay where they are, and
    /// further ones. As the file spells them, and expanded.
    pub values: Vec<Spelled>,
    /// One of these has more components than an element, or fewer.
    pub is_of_another_width: bool,
    /// Variables that the ladder leaves for these reads alone.
    pub left_for_reads: Vec<LocalId>,
    /// Each read of a result behind the ladder: its place, and the result's number.
    pub reads: Vec<(Span, usize)>,
    /// There is one read, and it is the whole value of the next statement, a declaration or a `return`: the call may
    /// go there.
    pub takes_call: bool,
    /// The text for each result: as the file spells it, and expanded.
    results: Vec<Spelled>,
}

/// Where a ladder leaves the results that a thread reads.
#[derive(Clone, Copy)]
pub(crate) enum ResultsIn<'a> {
    /// Each in the element of the value, in this component.
    OwnElement(&'a str),
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
        left: ResultsIn<'_>,
    ) -> Option<SoleUse> {
        let shader = context.shader;
        let around = Around::of(context, found)?;
        if around.is_named_by_choice(shader, found) {
            return None;
        }
        let stored = StoredBefore::of(shader, &around, found, rewrite, taken)?;
        let read = ReadBehind::of(shader, &around, rewrite, &stored, left)?;
        // The call replaces the ladder, or the read.
        let end = match read.reads.as_slice() {
            [(read_at, _)] if read.takes_call => read_at.start,
            _ => found.span.start,
        };
        let StoredBefore {
            mut values, mut gone, ..
        } = stored;
        if { stored.first }.is_some_and(|first| may_mean_else(shader, around.function, first, end, &values)) {
            return None;
        }
        let is_in_array = !matches!(left, ResultsIn::Variables);
        let has_all = values.len() == taken.each as usize;
        let has_none = values.is_empty() && stored.count == 0 && !is_in_array;
        if !rewrite.other_places.is_empty() || is_in_array == read.reads.is_empty() || !has_all && !has_none {
            return None;
        }
        if has_none && taken.each == 1 {
            let holder = around.holder(shader, rewrite, taken);
            values.extend(holder.map(|name| Spelled::alike(name.to_owned())));
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
        let reads = read.reads.iter().map(|(read, _)| *read);
        let places: Vec<Span> = reads.chain(gone.iter().copied()).chain([found.span]).collect();
        let mut left_for_reads = around.left_for(shader, rewrite, &places);
        left_for_reads.retain(|local| !is_named_in(around.function, *local, &values));
        gone.extend(around.declarations_of(&left_for_reads));
        gone.sort_by_key(|gone| gone.start);
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
            left_for_reads,
            reads: read.reads,
            takes_call: read.takes_call,
            results: Vec::new(),
        })
    }

    /// Whether a build with other definitions may name the array that goes, by a name that `##` puts together.
    pub fn may_be_missed(&self, shader: &Shader) -> bool {
        let is_gone = |array: &&Global| Some(array.span) == self.declaration;
        let mut arrays = shader.globals.iter().filter(is_gone);
        arrays.any(|array| Unit::of(shader).may_be_pasted(array.own_name().as_bytes()))
    }

    /// The text of a form with the values written into it, as the file spells them or expanded.
    pub fn filled(&self, text: &Spelled) -> Spelled {
        let values = self.values.iter().enumerate();
        values.fold(text.clone(), |text, (number, given)| Spelled {
            in_file: text.in_file.replace(&value(number), &given.in_file),
            expanded: text.expanded.replace(&value(number), &given.expanded),
        })
    }

    /// The same for a form that replaces `over` and leaves these results.
    pub fn replaced(&self, over: Span, results: &[String]) -> SoleUse {
        let results = results.iter();
        SoleUse {
            over,
            results: results
                .map(|result| self.filled(&Spelled::alike(result.clone())))
                .collect(),
            ..self.clone()
        }
    }

    /// The arguments of the call from the thread's stored elements, if it has any.
    pub fn given(&self) -> Vec<String> {
        (0..self.values.len()).map(value).collect()
    }

    /// A further argument of the call, as the file spells it and expanded.
    pub fn also_given(&mut self, argument: Spelled) -> String {
        self.values.push(argument);
        value(self.values.len() - 1)
    }

    /// The edits of the statements before the ladder, and of the reads behind it.
    pub fn edits(&self, shader: &Shader) -> impl Iterator<Item = Edit> {
        let over = |at: Span, text: Spelled| Edit {
            expanded: Some(text.expanded),
            ..Edit::new(At::Over(at), text.in_file)
        };
        let gone = self.gone.iter().map(move |gone| over(*gone, Spelled::default()));
        let reads = self.reads.iter().map(move |(read, element)| {
            let result = self.results.get(*element).cloned().unwrap_or_default();
            let has_blank = result.in_file.contains(' ') || result.expanded.contains(' ');
            let is_operand = has_blank && !stands_alone(shader, *read);
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

/// Whether values that move from `start` to `end` may mean something else there: a directive may redefine a macro, or
/// a variable in between may hide one of their names. Of types in functions the front end reports where they may hide
/// anything.
fn may_mean_else(shader: &Shader, function: &Function, start: u32, end: u32, values: &[Spelled]) -> bool {
    let text = text_in_file(shader, Span { start, end });
    let has_directive = text.is_none_or(|text| blank_comments(text.as_bytes()).contains(&b'#'));
    let locals = (0..).map(LocalId).zip(&function.locals);
    let mut hiding = locals.filter(|(_, local)| start < local.span.start && local.span.start < end);
    has_directive || hiding.any(|(local, _)| is_named_in(function, local, values))
}

/// Whether one of these texts has the name of a variable.
fn is_named_in(function: &Function, local: LocalId, values: &[Spelled]) -> bool {
    let Some(local) = function.locals.get(local.0 as usize) else {
        return false;
    };
    let mut values = values.iter().flat_map(|value| [&value.in_file, &value.expanded]);
    values.any(|value| words(value.as_bytes()).any(|word| word == local.name.as_bytes()))
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
