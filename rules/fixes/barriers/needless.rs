//! A barrier that the group does not need, taken out.
//!
//! The analysis names barriers that are needless as long as all others stay, by the accesses between them. Of several
//! that are needless one by one, the first in the text goes. The next goes only if the kernel without the former ones,
//! analyzed anew, does not need it either: so all that are reported can go together.
//!
//! Each step is then proved in a second way, as every other fix is: the kernel without the barriers runs to its end, no
//! two threads race in it, and it writes the same terms as the kernel with them, in an order of device memory that is as
//! strong. Kernels with wave operations have no needless barriers (the analysis names none), so one wave size shows what
//! all others do.
//!
//! Other configurations may need a barrier that this one does not, other callers of a function too. So only barriers in
//! the text of the entry point itself count, in the linted file, where every configuration leads to the same proof.

use shaderlint_hlsl::{FileId, Span, Stmt, StmtKind, calls, statements, threads_in};
use shaderlint_linter::{At, Context, Edit, Fix, Proof, Safety, ShaderModel, fixed_shader};
use shaderlint_simt::{Floats, LaneMap, Outcome, compare_with, look_for_defects};

use crate::fixes::barriers::moved::Moved;
use crate::source::configuration::{self, Replacement};
use crate::source::statements::is_barrier;
use crate::source::unit::begins_in_all;
use crate::source::words::words;

/// The most steps that the runs for one kernel may take, counted by those of its first run.
const MAX_STEPS: u64 = 12_000_000;

/// A barrier that the group does not need.
pub(crate) struct Needless {
    pub call: Span,
    /// `None` where nobody sees it.
    pub fix: Option<Fix>,
}

/// The needless barriers of a kernel, in the order of the text: all of them can go. None beside a ladder that has a
/// finding of its own: its wave form replaces the barriers around it as well.
pub(crate) fn barriers(context: &Context<'_>) -> Vec<Needless> {
    let has_ladder = !context.analysis.collectives.is_empty() && context.shader_model >= ShaderModel::WAVES;
    let needless = &context.analysis.needless_barriers;
    // For each: an analysis and a comparison of two runs alone, and two analyses and another comparison together with
    // those before.
    let runs = context.analysis.steps.saturating_mul(7 * needless.len() as u64);
    if has_ladder || needless.is_empty() || runs > MAX_STEPS {
        return Vec::new();
    }
    if !is_kernel_of_threads(context) || is_called(context) {
        return Vec::new();
    }
    let candidates = needless.iter().filter_map(|call| candidate(context, *call));
    let candidates: Vec<Candidate> = candidates.collect();
    if !context.shows(ShaderModel::ANY) {
        let silent = |candidate: Candidate| candidate.needless(None);
        return candidates.into_iter().map(silent).collect();
    }
    let (mut removed, mut found) = (Vec::new(), Vec::new());
    for candidate in candidates {
        if (context.is_stopped)() {
            break;
        }
        let edit = candidate.edit.clone();
        if !stays_needless(context, &removed, candidate.call)
            || !is_proved(context, std::slice::from_ref(&edit))
        {
            continue;
        }
        let is_first = removed.is_empty();
        removed.push(edit.clone());
        if !is_first && !is_proved(context, &removed) {
            removed.pop();
            continue;
        }
        found.push(candidate.needless(Some(fix(edit))));
    }
    found
}

fn fix(edit: Edit) -> Fix {
    let proof = "the fix is proved: without this barrier, no two threads of the group race, and the kernel writes the \
                 same values";
    Fix {
        title: "remove this barrier".to_owned(),
        safety: Safety::Safe,
        proof: Some(Proof::new(proof, Vec::new())),
        notes: Vec::new(),
        edits: vec![edit],
        other_form: None,
    }
}

/// A barrier that may go.
struct Candidate {
    call: Span,
    edit: Edit,
}

impl Candidate {
    fn needless(self, fix: Option<Fix>) -> Needless {
        Needless { call: self.call, fix }
    }
}

/// The barrier as a statement of the entry point that can be taken out in every configuration.
fn candidate(context: &Context<'_>, call: Span) -> Option<Candidate> {
    let shader = context.shader;
    let body = context.function(context.entry)?.body.as_deref()?;
    let holds = |place: Span| place.start <= call.start && call.end <= place.end;
    let statement = in_blocks(body).find(|statement| holds(statement.span) && is_barrier(statement))?;
    let span = statement.span;
    let replacement = Replacement {
        function: context.entry,
        over: span,
        form: "",
        adds_memory: false,
    };
    let is_in_linted_file = shader.origins.editable(span)?.file == FileId(0);
    let may_go = is_in_linted_file
        && begins_in_all(shader, span)
        && configuration::holds_in_all(shader, context.entry, &replacement);
    may_go.then(|| Candidate {
        call,
        edit: Edit::new(At::Over(span), ""),
    })
}

/// The statements that are among others in braces. Without one of these, the rest is still a program.
fn in_blocks(body: &[Stmt]) -> impl Iterator<Item = &Stmt> {
    let blocks = statements(body).filter_map(|statement| match &statement.kind {
        StmtKind::Block(inner) => Some(inner),
        _ => None,
    });
    body.iter().chain(blocks.flatten())
}

/// Whether the entry point is a kernel of several threads: no node of a work graph, whose barriers may order records, and
/// no function that kernels of other files call.
fn is_kernel_of_threads(context: &Context<'_>) -> bool {
    context.function(context.entry).is_some_and(|entry| {
        let head = Span {
            start: entry.span.start,
            end: entry.name_span.start,
        };
        let mut words = words(head.slice(&context.shader.text));
        let is_node = words.any(|word| word.eq_ignore_ascii_case(b"node"));
        threads_in(context.analysis.group_size) > 1 && !is_node && !entry.is_called_elsewhere
    })
}

/// Whether some function calls the entry point: there the barrier may stand between other accesses.
fn is_called(context: &Context<'_>) -> bool {
    let mut bodies = context
        .shader
        .functions
        .iter()
        .filter_map(|function| function.body.as_deref());
    bodies.any(|body| calls(body).any(|called| called == context.entry))
}

/// Whether the kernel without the `removed` barriers, too, has no need of this one.
fn stays_needless(context: &Context<'_>, removed: &[Edit], call: Span) -> bool {
    if removed.is_empty() {
        return true;
    }
    fixed_shader(context.shader, context.entry, removed).is_some_and(|(fixed, entry)| {
        let moved = Moved::by(removed, &[]).span(call);
        look_for_defects(&fixed, entry, None)
            .needless_barriers
            .contains(&moved)
    })
}

/// Whether the kernel with these edits races as little and writes the same.
///
/// Terms do not show in which order a float sum is made. It is the same here: no thread finds other values without the
/// barriers, and the statements that it executes are the same.
fn is_proved(context: &Context<'_>, edits: &[Edit]) -> bool {
    let Some((fixed, entry)) = fixed_shader(context.shader, context.entry, edits) else {
        return false;
    };
    // A barrier may keep a defect from being seen.
    let seen = look_for_defects(&fixed, entry, None);
    if !seen.is_right() || !seen.uninitialised.is_empty() {
        return false;
    }
    let mut runs = compare_with(Floats::Any, context.kernel(), (&fixed, entry), &[LaneMap::Linear]);
    runs.next().is_some_and(|run| {
        let is_same = matches!(
            run.outcome,
            Outcome::Equal | Outcome::Reassociates | Outcome::RoundsBeyond(_)
        );
        is_same && !run.assumes_convergence
    })
}
