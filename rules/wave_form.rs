//! Wave forms, to stand where a ladder stood: what they have in common.
//!
//! A form replaces the statements in place: it reads what they read and leaves what they left. Why each is right, and
//! what it assumes, is said where it is written, in `wave_scan` and `wave_reduction`. None of this is believed: the
//! fixed kernel is compared with the flagged one at every wave size, under every packing that the form is to be right
//! under, before it is offered.

use shaderlint_hlsl::{ExprKind, Intrinsic, Local, LocalId, Scalar, Shader, Span, Type, expressions};
use shaderlint_linter::{
    At, Context, Edit, Fix, Level, NoFix, Safety, ShaderModel, fixed_shader, whole_shaders,
};
use shaderlint_simt::{
    Amid, Analysis, Collective, Doubt, Elements, Instance, Kind, LaneMap, Left, NOT_SEEN_TO_DIFFER, Needs,
    Obstacle, Operator, Outcome, Rewrite, StepEdit, WaveRun, analyze, compare_stretch, compare_with,
    proved_of_itself,
};

use crate::configuration;
use crate::element::{self, array_of_elements, element_name, row_of_elements};
use crate::totals::{Totals, fits, goes_with_size, totals_declared, totals_name, totals_place};
use crate::unit::{Unit, without_comments, words};
use crate::written::{has_literal_size, local_name, size_by_name};
use crate::{wave_reduction, wave_scan, witness};

/// The barrier that orders no more than groupshared memory.
pub(crate) const BARRIER: &str = "GroupMemoryBarrierWithGroupSync";

/// The barrier of the forms that stand for a ladder: of groupshared memory, which they work on; of all memory where one
/// of the ladder's barriers, or a fence in it, orders device memory, as other groups may rely on that.
pub(crate) fn barrier_of(found: &Collective) -> &'static str {
    if found.orders_device {
        "AllMemoryBarrierWithGroupSync"
    } else {
        BARRIER
    }
}

/// Text that replaces a construct, and what it needs declared.
pub(crate) struct WaveForm {
    /// Statements, four spaces an indentation step, without a line break at the end.
    pub block: String,
    /// The same with the group's size in figures, where `block` has its name.
    pub expanded: Option<String>,
    /// Of each of its results.
    pub totals: Vec<Totals>,
    /// The packings of threads into waves that it is right under.
    pub maps: &'static [LaneMap],
}

/// Why no form is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// None is written for such a construct: its elements, or its arrays.
    NoForm(NoFix),
    /// There is one, and this is in its way.
    NotProved(NoFix),
    /// What comes after the construct was seen to depend on more than its result.
    HasOtherUses,
}

impl Refusal {
    fn because(reason: &'static str, text: impl AsRef<str>) -> Self {
        Refusal::NotProved(NoFix::new(reason, text))
    }

    pub fn no_fix(self) -> NoFix {
        match self {
            Refusal::NoForm(why) | Refusal::NotProved(why) => why,
            Refusal::HasOtherUses => NoFix::new(
                "other-uses",
                "what comes after it depends on more than its result",
            ),
        }
    }
}

/// The highest level of a ladder by itself: `info` if measurements showed no form that is faster.
pub(crate) fn worth(refusal: Option<&Refusal>) -> Level {
    match refusal {
        Some(Refusal::NotProved(why)) if why.reason == SLOWER => Level::Info,
        _ => Level::Error,
    }
}

/// The reason for no fix where the ladder was seen to be as fast.
const SLOWER: &str = "slower";

/// The array of the waves' totals has nowhere to be declared.
fn no_place() -> Refusal {
    let text = "there is no place in this file to declare an array for the per-wave totals";
    Refusal::because("no-place", text)
}

/// The fixed text does not read as the kernel that it was.
fn not_read() -> Refusal {
    Refusal::because(
        "not-read",
        "the text with the wave form in it is not read as the same kernel",
    )
}

/// No variable holds the thread's index, and the group's width has a name that means nothing here.
fn no_index() -> Refusal {
    Refusal::because("no-thread-index", NO_INDEX)
}

const NO_INDEX: &str = "no variable here holds the thread's number in its group";

/// The form would leave out what the construct makes besides.
fn other_results() -> Refusal {
    let text = "the same statements make other results, which the wave form of one would leave out";
    Refusal::because("other-results", text)
}

/// Of a fix that it is not tried to prove.
pub(crate) fn too_long() -> NoFix {
    NoFix::new("too-long", "proving a fix would take too long")
}

/// Bytes of text that may be read for the proofs of what is offered for one kernel: where it calls what is not there, all
/// of a unit is read for each.
pub(crate) const MAX_TEXT: usize = 4_000_000;

/// A replacement that is proved to leave the whole kernel's results as they were, at every wave size.
pub(crate) struct Proved {
    pub fix: Fix,
    /// It is right only where waves hold consecutive threads.
    pub is_linear: bool,
}

pub(crate) fn fix(context: &Context<'_>, found: &Collective) -> Result<Proved, Refusal> {
    // Whether a reduction is told hangs on its proof.
    if !context.wants_fixes && found.kind != Kind::Reduction {
        return Err(Refusal::because("not-asked", "none was asked for"));
    }
    let rewrite = found
        .rewrite
        .as_ref()
        .map_err(|obstacle| not_replaceable(context, found, *obstacle))?;
    let collectives = context.analysis.collectives.iter();
    let is_other = |other: &&Collective| other.span.start != found.span.start;
    let proofs = 1 + collectives.take_while(is_other).count() as u64;
    let found = &found.without_last_step();
    let rewrite = &with_what_others_read(context.shader, found, rewrite)
        .map_err(|obstacle| not_replaceable(context, found, obstacle))?;
    let (rewrite, index) = &match &rewrite.row {
        Some(row) => {
            let (rewrite, index) = with_index(context, found, rewrite, row).ok_or_else(no_index)?;
            (rewrite, Some(index))
        }
        None => (rewrite.clone(), None),
    };
    let write = |totals: &str| {
        let mut forms = if found.kind == Kind::Reduction {
            wave_reduction::forms(context, found, rewrite, totals)
        } else {
            wave_scan::forms(context, found, rewrite, totals)
        };
        for (form, [index, in_figures]) in forms.iter_mut().zip(index.iter().cycle()) {
            let expanded = form.expanded.as_ref().unwrap_or(&form.block);
            let expanded = expanded.replacen("{\n", &format!("{{\n{in_figures}"), 1);
            form.expanded = (index != in_figures || form.expanded.is_some()).then_some(expanded);
            form.block = form.block.replacen("{\n", &format!("{{\n{index}"), 1);
        }
        forms
    };
    let forms = write(&totals_name(context.shader, found));
    if forms.is_empty() && !found.beside.is_empty() {
        return Err(other_results());
    }
    let slower = wave_reduction::slower(found).filter(|_| found.kind == Kind::Reduction && forms.is_empty());
    if let Some(why) = slower {
        return Err(Refusal::because(SLOWER, why));
    }
    if !forms.is_empty() && context.analysis.steps.saturating_mul(proofs) > MAX_STEPS {
        return Err(Refusal::NotProved(too_long()));
    }
    let mut why_not = no_form(context, found, rewrite);
    for (number, form) in forms.into_iter().enumerate() {
        if let [totals] = form.totals.as_slice()
            && let Some(array) = totals_declared(context.shader, found, totals)
            && let Some(mut form) = write(array).into_iter().nth(number)
        {
            form.totals.clear();
            if let Ok(fix) = proved(context, found, form) {
                return Ok(fix);
            }
        }
        match proved(context, found, form) {
            Err(why) if why_not != Refusal::HasOtherUses => why_not = why,
            Err(_) => {}
            fix => return fix,
        }
    }
    // A form that leaves the total in an element shows nothing of who reads that element for itself.
    if why_not == Refusal::HasOtherUses && rewrite.last_step.is_some() {
        let text = "its last step, or what comes after it, reads more than the total";
        return Err(Refusal::because("other-uses", text));
    }
    // Even a form that is not proved may show that it has other uses, or the statements alone be proved: that was tried first.
    if matches!(&why_not, Refusal::NotProved(why) if why.reason == NOT_PROVED) {
        if !found.instances.is_empty() {
            return Err(not_replaceable(context, found, Obstacle::SomeRuns));
        }
        results_are_known(context, found.needs)?;
    }
    Err(why_not)
}

/// A rewrite whose form works the thread's index out first, and that declaration: with the width of the group as the file calls it,
/// and in figures.
fn with_index(
    context: &Context<'_>,
    found: &Collective,
    rewrite: &Rewrite,
    row: &str,
) -> Option<(Rewrite, [String; 2])> {
    let name = local_name(context.shader, found, "waveThread");
    let lane = &rewrite.lane;
    let declared = |width: &str| format!("    uint {name} = {row} * {width} + {lane};\n");
    let [width, ..] = context.analysis.group_size;
    let in_figures = declared(&width.to_string());
    let by_name = if has_literal_size(context) {
        in_figures.clone()
    } else {
        declared(&size_by_name(context, found)?)
    };
    let rewrite = Rewrite {
        lane: name,
        row: None,
        ..rewrite.clone()
    };
    Some((rewrite, [by_name, in_figures]))
}

/// What becomes of the kernel's results in a fix can only be proved if they are known of the kernel itself.
fn results_are_known(context: &Context<'_>, needs: Needs) -> Result<(), Refusal> {
    proved_of_itself(needs.floats(), (context.shader, context.entry)).map_err(|reason| {
        let text = format!(
            "no fix can be proved, as the results of the kernel itself are not fully known: {reason}"
        );
        Refusal::because("unknown-results", text)
    })
}

/// The reason for no fix where a form was not proved equal.
const NOT_PROVED: &str = "not-proved";

/// A rewrite that also leaves what other builds may read: a variable that the file names behind the construct, or where an `#if`
/// chooses, be it by a macro that stands for nothing here.
fn with_what_others_read(
    shader: &Shader,
    found: &Collective,
    rewrite: &Rewrite,
) -> Result<Rewrite, Obstacle> {
    let mut rewrite = rewrite.clone();
    let function = shader.functions.get(found.function.0 as usize);
    let unit = Unit::of(shader);
    let behind = function.and_then(|function| unit.text_behind(shader, found.span, function.span));
    let choices = unit.choices.iter().filter(|choice| !choice.is_guard);
    let chosen: Vec<&[u8]> = choices.map(|choice| unit.text_of(choice)).collect();
    for (local, left) in std::mem::take(&mut rewrite.unread) {
        let name = function.and_then(|function| function.locals.get(local.0 as usize));
        let name = name.map(|local| local.name.as_bytes());
        let names_it = |text: &&[u8]| words(text).any(|word| Some(word) == name || word == b"include");
        if behind.is_none_or(|behind| names_it(&behind)) || chosen.iter().any(names_it) {
            match left {
                Left::Number(value) => rewrite.settled.push((local, value)),
                Left::Result(None) => rewrite.also.push(Elements::Register {
                    local,
                    component: None,
                }),
                Left::Result(Some(number)) => rewrite.further.push((local, number)),
                Left::Other => return Err(Obstacle::Leaves(local)),
            }
        }
    }
    Ok(rewrite)
}

/// The reason for no fix where nothing in the construct by itself is in the way of a form.
pub(crate) const NO_FORM: &str = "no-form";

/// Why no form is written for the construct, if it is for none.
fn no_form(context: &Context<'_>, found: &Collective, rewrite: &Rewrite) -> Refusal {
    let mut places = [&found.input, &found.output].into_iter().chain(&rewrite.also);
    let is_component = |place: &Elements| match place {
        Elements::Array { component, .. }
        | Elements::Cell { component, .. }
        | Elements::Register { component, .. }
        | Elements::OneRegister { component, .. } => component.is_some(),
        _ => false,
    };
    let why = if places.clone().any(is_component) {
        let text = "no wave form is written for components of vectors or structs";
        NoFix::new("components", text)
    } else if let Some(why) = places.find_map(|place| no_form_of_place(context.shader, found, place)) {
        why
    } else if element_name(context.shader, found).is_none() {
        let text = format!("no wave form is written for {}s", found.element_name());
        NoFix::new("element-type", text)
    } else if !has_literal_size(context) {
        no_form_of_name(context, found, rewrite)
    } else {
        NoFix::new(
            NO_FORM,
            "no wave form is written for elements and arrays like these",
        )
    };
    Refusal::NoForm(why)
}

/// The same of one place of elements.
fn no_form_of_place(shader: &Shader, found: &Collective, place: &Elements) -> Option<NoFix> {
    let (global, is_spread) = match place {
        Elements::Array { global, .. } | Elements::Cell { global, .. } => (*global, false),
        Elements::Spread { global, .. } => (*global, true),
        _ => return None,
    };
    let array = shader.globals.get(global.0 as usize)?;
    let name = array.own_name();
    let of_what = match &array.ty {
        _ if found.kind != Kind::Reduction && row_of_elements(shader, found, place).is_some() => return None,
        Type::Array(element, _) if matches!(**element, Type::Array(..)) => "an array of arrays",
        _ if is_spread => "where others are between them",
        _ if array_of_elements(shader, found, global).is_none() => "an array of another type",
        _ => return None,
    };
    let text = match array.ty {
        Type::Array(..) | Type::Resource(..) => {
            format!("no wave form is written for elements in `{name}`, {of_what}")
        }
        _ => format!("no wave form is written that leaves its result in `{name}`, which is no array"),
    };
    Some(NoFix::new("array", text).named(name))
}

/// The same where the group's size has a name.
fn no_form_of_name(context: &Context<'_>, found: &Collective, rewrite: &Rewrite) -> NoFix {
    let function = context.function(found.function);
    let settled = goes_with_size(rewrite).and_then(|local| {
        let local = function?.locals.get(local.0 as usize)?;
        Some(&*local.name)
    });
    if let Some(left) = settled {
        let text = format!(
            "the group's size has a name, and the ladder leaves a number in `{left}` that may depend on it"
        );
        return NoFix::new("named-size", text).named(left);
    }
    let is_by_atomic = found.kind == Kind::Reduction && wave_reduction::atomic(found).is_some();
    let text = if size_by_name(context, found).is_none() && !is_by_atomic {
        "a wave form needs the group's size, whose name may mean something else here, or nothing"
    } else {
        "the group's size has a name, for which no form of such a ladder is written"
    };
    NoFix::new("named-size", text)
}

/// Why no other statements can take the construct's place.
fn not_replaceable(context: &Context<'_>, found: &Collective, obstacle: Obstacle) -> Refusal {
    let (groups, loops): (Vec<&Instance>, Vec<&Instance>) = found
        .instances
        .iter()
        .partition(|instance| instance.is_of_group());
    let bounds: Vec<&str> = loops.into_iter().map(|instance| &*instance.bound).collect();
    Refusal::NotProved(match (bounds.as_slice(), found.amid) {
        _ if !found.windows.is_empty() => {
            let text = "its elements pass through a buffer, which other groups may write meanwhile";
            NoFix::new("in-buffer", text)
        }
        // Whatever comes in between, there would be no form.
        ([], _) if is_of_no_form(obstacle) => of_obstacle(context.shader, found, obstacle),
        ([], Some(amid)) => of_amid(context, found, amid),
        ([], None) if !groups.is_empty() => {
            let text = "it is proved of the first group only, whose SV_GroupID is 0";
            NoFix::new("first-group", text)
        }
        ([], None) => match lives_on(context.shader, found) {
            Some(local) => {
                let text = format!(
                    "after the loop, `{}` is the loop's variable before HLSL 2021 and another one since: pass -HV, or set \
                     `hlsl` in shaderlint.toml",
                    local.name
                );
                NoFix::new("language-version", text)
                    .named(&*local.name)
                    .at(local.span)
            }
            None => of_obstacle(context.shader, found, obstacle),
        },
        ([bound], _) => {
            let text = format!("the loop's bound {bound} is known at run time only");
            NoFix::new("unknown-bound", text).named(*bound)
        }
        (bounds, _) => {
            let bounds = bounds.join(" and ");
            let text = format!("the loops' bounds {bounds} are known at run time only");
            NoFix::new("unknown-bound", text).named(bounds)
        }
    })
}

/// Whether no form is written for constructs of the kind.
fn is_of_no_form(obstacle: Obstacle) -> bool {
    matches!(
        obstacle,
        Obstacle::Segmented(_) | Obstacle::Halves | Obstacle::Companions | Obstacle::ElementsPerThread
    )
}

fn of_amid(context: &Context<'_>, found: &Collective, amid: Amid) -> NoFix {
    let (text, place) = match amid {
        Amid::Read(read) => (
            format!(
                "the read {} may come while its elements are stored: no barrier is known to be between",
                witness::on_lines(context, &[read], found.span)
            ),
            read,
        ),
        Amid::Barrier(barrier) => (
            format!(
                "not all inputs are known to lead to {}",
                witness::barrier(context, barrier, found.span)
            ),
            barrier,
        ),
    };
    NoFix::new("unordered-reads", text).at(place)
}

fn of_obstacle(shader: &Shader, found: &Collective, obstacle: Obstacle) -> NoFix {
    let function = shader.functions.get(found.function.0 as usize);
    let of_local = |id: LocalId, reason: &'static str, text: &dyn Fn(&str) -> String| {
        let local = function.and_then(|function| function.locals.get(id.0 as usize));
        match local {
            Some(local) => NoFix::new(reason, text(&format!("`{}`", local.name)))
                .named(&*local.name)
                .at(local.span),
            None => NoFix::new(reason, text("a variable")),
        }
    };
    match obstacle {
        Obstacle::Segmented(length) => {
            let text = format!("no wave form is written for scans that start anew every {length} elements");
            NoFix::new("segmented", text)
        }
        Obstacle::Halves => NoFix::new("halves", "no wave form is written for sums in halves of words"),
        Obstacle::Companions => {
            let text = "no wave form is written where other values, such as an index, are chosen with it";
            NoFix::new("companions", text)
        }
        Obstacle::ElementsPerThread => {
            let text = "wave forms of a scan are written for one or two elements a thread only";
            NoFix::new("elements-per-thread", text)
        }
        Obstacle::Declares(id) => of_local(id, "declares", &|name| {
            format!("{name}, which these statements declare, is used after them")
        }),
        Obstacle::NoPlace => {
            let text =
                "its result is a part of an expression, which a wave form would have to be written into";
            NoFix::new("result-in-expression", text)
        }
        Obstacle::Leaves(id) => of_local(id, "leaves", &|name| {
            format!(
                "{name}, which these statements leave, is used after them, and not one number in all threads"
            )
        }),
        Obstacle::NoIndex => NoFix::new("no-thread-index", NO_INDEX),
        Obstacle::MayLeave => NoFix::new("may-return", "threads may return from among these statements"),
        Obstacle::Writes(id) => match shader.globals.get(id.0 as usize) {
            Some(written) => {
                let text = format!("these statements also write `{}`", written.name);
                NoFix::new("writes", text).named(&*written.name)
            }
            None => NoFix::new("writes", "these statements also write a variable"),
        },
        Obstacle::WritesHandle => {
            let text = "these statements also write a resource that a variable or parameter stands for";
            NoFix::new("writes", text)
        }
        Obstacle::SharesMemory => {
            let text = "these statements also make an atomic, or read a resource that can be written";
            NoFix::new("shared-memory", text)
        }
        Obstacle::Unfollowed => NoFix::new("unfollowed", "one of these statements is not followed"),
        Obstacle::SomeRuns => NoFix::new("some-runs", "it is proved of some of the kernel's runs only"),
    }
}

/// A variable that the construct declares in the header of a loop, and that is named behind it in some versions only.
fn lives_on<'a>(shader: &'a Shader, found: &Collective) -> Option<&'a Local> {
    let function = shader.functions.get(found.function.0 as usize)?;
    let body = function.body.as_deref().unwrap_or_default();
    let leaked = expressions(body).filter_map(|expr| match shader.leaked(expr)?.kind {
        ExprKind::Local(local) => function.locals.get(local.0 as usize),
        _ => None,
    });
    let is_own = |local: &&Local| found.span.start <= local.span.start && local.span.end <= found.span.end;
    let mut own = leaked.filter(is_own);
    own.next()
}

/// The fix that puts the form there, if it is proved.
fn proved(context: &Context<'_>, found: &Collective, mut form: WaveForm) -> Result<Proved, Refusal> {
    let shader = context.shader;
    let mut over = found.span;
    if let Some((whole, [before, behind])) = replaced(shader, found.span) {
        over = whole;
        for text in std::iter::once(&mut form.block).chain(&mut form.expanded) {
            text.insert_str(0, &before);
            if !behind.is_empty() {
                text.push('\n');
                text.push_str(behind.trim_end());
            }
        }
    }
    let others = context.analysis.collectives.iter();
    let others = others.filter(|other| other.span.start != found.span.start && other.windows.is_empty());
    let words = |of: &Collective| u32::from(of.vector.unwrap_or(1));
    let slots = others.map(|other| other.count.div_ceil(4) * words(other));
    let own: u32 = form
        .totals
        .iter()
        .map(|totals| totals.length.1 * words(found))
        .sum();
    if let Some(why) = may_change(shader, found, &form) {
        return Err(Refusal::NotProved(why));
    }
    if own > 0 {
        fits(shader, slots.chain([own])).map_err(|why| Refusal::because("memory", why))?;
    }
    let of_last_step = last_step(context, found);
    let whole = of_last_step
        .iter()
        .fold(found.span, |whole, edit| whole.to(edit.at.span()));
    // Min and max of floats are exact. Wave intrinsics promise nothing of NaNs and of the two zeros.
    // Of a group that parts ways at a barrier nothing is promised, and a wave that some threads have left is not whole.
    let holds_in_all = configuration::holds_in_all(
        shader,
        context.entry,
        found.function,
        whole,
        (&form.block, !form.totals.is_empty()),
    );
    let is_as_one = context.analysis.divergences.is_empty();
    let has_floats = found.element == Scalar::Float || found.operators().any(Operator::is_on_floats);
    let mut edits = Vec::new();
    if !form.totals.is_empty() {
        let declared = |length: &dyn Fn(&Totals) -> String| {
            let totals = form.totals.iter();
            let lines = totals.map(|totals| format!("{}[{}];", totals.declaration, length(totals)));
            lines.collect::<Vec<_>>().join("\n")
        };
        edits.push(Edit {
            at: totals_place(shader, found).ok_or_else(no_place)?,
            text: declared(&|totals| totals.length.0.clone()),
            expanded: Some(declared(&|totals| totals.length.1.to_string())),
        });
    }
    edits.push(Edit {
        at: At::Over(over),
        text: form.block,
        expanded: form.expanded,
    });
    edits.extend(of_last_step);
    let proof = prove(context, &edits, form.maps, found.needs)?;
    let is_as_one = is_as_one && !proof.may_part;
    let needs_nothing = found.needs == Needs::default();
    let is_safe =
        proof.is_exact && !proof.ends_races && needs_nothing && !has_floats && is_as_one && holds_in_all;
    let of_fix = if proof.ends_races {
        Some(ENDS_RACES)
    } else if !is_as_one {
        Some(AS_ONE)
    } else if !holds_in_all {
        Some(AS_CONFIGURED)
    } else {
        None
    };
    let fix = Fix {
        title: "replace the ladder by wave intrinsics".to_owned(),
        safety: if is_safe { Safety::Safe } else { Safety::Unsafe },
        proof: Some(proof.text),
        notes: of_fix.into_iter().map(str::to_owned).collect(),
        edits,
    };
    Ok(Proved {
        fix,
        is_linear: form.maps == [LaneMap::Linear],
    })
}

/// What becomes of the last step of a reduction, where it stays in the text: it reads the total that the form leaves, or has nothing to
/// store any more.
fn last_step(context: &Context<'_>, found: &Collective) -> Vec<Edit> {
    let step = found
        .rewrite
        .as_ref()
        .ok()
        .and_then(|rewrite| rewrite.last_step.as_ref());
    let Some(step) = step else {
        return Vec::new();
    };
    let read = element::text(context, found, &step.cell, "");
    let edit = |at: Span, text: &str| Edit {
        at: At::Over(at),
        text: text.to_owned(),
        expanded: None,
    };
    let edits = step.edits.iter().map(|step| match *step {
        StepEdit::ReadTotal(total) => edit(in_parentheses(context.shader, total), &read),
        StepEdit::Remove(statement) => edit(statement, ""),
    });
    edits.collect()
}

/// An expression with the parentheses around it, and those that a macro has there; but for those of a call.
fn in_parentheses(shader: &Shader, expression: Span) -> Span {
    let names_call = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'>');
    let mut whole = expression;
    loop {
        let before = shader.text.get(..whole.start as usize).unwrap_or_default();
        let behind = shader.text.get(whole.end as usize..).unwrap_or_default();
        let before = before.trim_ascii_end().strip_suffix(b"(");
        let behind = behind.trim_ascii_start().strip_prefix(b")");
        let Some((before, behind)) = before.zip(behind) else {
            return whole;
        };
        if before.trim_ascii_end().last().is_some_and(names_call) {
            return whole;
        }
        whole = Span {
            start: before.len() as u32,
            end: (shader.text.len() - behind.len()) as u32,
        };
    }
}

/// What the wave form that is offered needs: what it was proved under.
pub(crate) fn needs(found: &Collective, proved: &Proved, needed: ShaderModel) -> String {
    let packing = if proved.is_linear {
        LINEAR
    } else if found.kind == Kind::Reduction {
        ANY
    } else {
        ANY_BY_ONE_WAVE
    };
    let barriers = barriers(found, &proved.fix);
    format!("the wave form {barriers}needs shader model {needed} and {packing}")
}

/// Said of the barriers in a fix, with what comes after it.
fn barriers(found: &Collective, fix: &Fix) -> String {
    let barrier = barrier_of(found);
    let edits = fix.edits.iter();
    let barriers: usize = edits.map(|edit| edit.text.matches(barrier).count()).sum();
    match barriers {
        0 => String::new(),
        1 => "passes one barrier instead; it ".to_owned(),
        2 => "passes two barriers instead; it ".to_owned(),
        more => format!("passes {more} barriers instead; it "),
    }
}

/// Said of a fix that holds if the group does not part ways.
const AS_ONE: &str = "the fix is proved of a group whose threads all reach every barrier";

/// Said of a fix that stands for a kernel without its races.
const ENDS_RACES: &str = "the kernel races as it stands; with the fix no race is found any more";

/// Said of a fix that another configuration might not bear.
pub(crate) const AS_CONFIGURED: &str =
    "the fix is proved for the macros as they are; #if or -D may change them";

/// The same of one that was tried out, and is not proved.
pub(crate) const AS_TRIED: &str =
    "the fix was tried out with the macros as they are; #if or -D may change them";

/// What wave forms make of floats that the ladder does not.
pub(crate) fn of_floats(found: &Collective) -> Vec<String> {
    let rounds = "a wave form combines floats in another order, so results may round differently";
    let of_extrema = "wave intrinsics do not say what they make of NaNs, nor of which zero is less";
    let picks_floats = |operator: Operator| operator.is_extremum() && operator.is_on_floats();
    let said = [
        (!found.is_exact(), rounds),
        (found.operators().any(picks_floats), of_extrema),
    ];
    let said = said.into_iter().filter(|(is_so, _)| *is_so);
    said.map(|(_, text)| text.to_owned()).collect()
}

/// Said of what the linear forms assume.
pub(crate) const LINEAR: &str =
    "waves that hold consecutive threads, as every known implementation packs 1-D groups";

/// Said of the forms of a reduction that assume nothing.
pub(crate) const ANY: &str = "nothing else: any threads may share a wave";

/// The same of a scan.
const ANY_BY_ONE_WAVE: &str = "nothing of which threads share a wave: that of thread 0 scans all elements";

/// Why there is no fix for such a group.
pub(crate) fn no_packing(context: &Context<'_>, what: &str) -> NoFix {
    let [x, y, z] = context.analysis.group_size;
    let text = format!("no wave form is written for {what} in a group of {x}\u{d7}{y}\u{d7}{z}");
    NoFix::new("rows", text)
}

/// Steps that the proofs of an entry point's fixes may take together, counted by those of its first run.
const MAX_STEPS: u64 = 4_000_000;

/// What a form takes the place of: the statements, the rest of the macro calls that they are parts of, and the semicolon that often
/// stands behind such a call. Barriers in that rest, which stay, before the statements and behind them; `None` where it is more.
fn replaced(shader: &Shader, statements: Span) -> Option<(Span, [String; 2])> {
    let whole = shader.origins.whole_calls(statements);
    let [before, behind] =
        [(whole.start, statements.start), (statements.end, whole.end)].map(|(start, end)| {
            let text = Span { start, end }.slice(&shader.text).trim_ascii();
            let calls = text.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let calls: Vec<&[u8]> = calls.filter(|call| !call.is_empty()).collect();
            let names = calls
                .iter()
                .map(|call| std::str::from_utf8(call.strip_suffix(b"()")?).ok());
            let names = names.collect::<Option<Vec<&str>>>()?;
            let is_barrier =
                |name: &&str| Intrinsic::from_name(name.trim()).is_some_and(Intrinsic::is_group_barrier);
            names.iter().all(is_barrier).then(|| {
                let calls = names.iter().map(|name| format!("{name}();\n"));
                calls.collect::<String>()
            })
        });
    let is_followed = shader.text.get(whole.end as usize) == Some(&b';');
    let end = whole.end + u32::from(is_followed);
    Some((Span { end, ..whole }, [before?, behind?]))
}

/// What is proved of a fix.
struct Proof {
    text: String,
    /// Bit for bit.
    is_exact: bool,
    /// The kernel races as it stands, and does not any more.
    ends_races: bool,
    /// It is about the statements alone, and not all threads may come to them.
    may_part: bool,
}

/// What is proved of the edits. It ends with the first run that is not equal: most forms that cannot be proved fail the
/// first, and those that take the most runs would take the longest in vain.
///
/// Where the whole kernel cannot be compared, the statements are by themselves: what is not followed elsewhere is no matter to
/// them ([`compare_stretch`]). A kernel that is wrong has no results to keep. Where it is wrong in that it races, such as
/// in the partial results that the next pass of a loop overwrites, a fix with which nothing races any more leaves what was
/// meant.
fn prove(context: &Context<'_>, edits: &[Edit], maps: &[LaneMap], needs: Needs) -> Result<Proof, Refusal> {
    let fixed = fixed_shader(context.shader, context.entry, edits);
    let (fixed, entry) = fixed.ok_or_else(not_read)?;
    let flagged = (context.shader, context.entry);
    let whole = compare_with(needs.floats(), flagged, (&fixed, entry), maps);
    let refused = match proof_by(context, whole, maps, needs) {
        Err(Refusal::NotProved(why)) if why.reason == NOT_PROVED => why,
        whole => {
            return whole.map(|proof| Proof {
                may_part: false,
                ..proof
            });
        }
    };
    let is_right = |analysis: &Analysis| {
        analysis.races.is_empty() && analysis.out_of_bounds.is_empty() && analysis.divergences.is_empty()
    };
    let in_place = || {
        let ends_races = !context.analysis.races.is_empty();
        let is_otherwise_right =
            context.analysis.out_of_bounds.is_empty() && context.analysis.divergences.is_empty();
        let ends = || {
            let analysis = analyze(&fixed, entry);
            is_right(&analysis) && analysis.stopped.is_none()
        };
        if !is_otherwise_right || ends_races && !ends() {
            return None;
        }
        let [flagged, fixed] = whole_shaders(context.shader, context.entry, edits)?;
        let runs = compare_stretch(needs.floats(), (&flagged.0, flagged.1), (&fixed.0, fixed.1), maps)?;
        let proof = proof_by(context, runs, maps, needs).ok()?;
        Some(Proof { ends_races, ..proof })
    };
    in_place().ok_or(Refusal::NotProved(refused))
}

/// The same of one way to compare the two.
fn proof_by(
    context: &Context<'_>,
    compared: impl Iterator<Item = WaveRun>,
    maps: &[LaneMap],
    needs: Needs,
) -> Result<Proof, Refusal> {
    let mut runs = Vec::new();
    for run in compared {
        if (context.is_stopped)() {
            return Err(Refusal::NotProved(too_long()));
        }
        match &run.outcome {
            Outcome::Equal | Outcome::Reassociates | Outcome::RoundsBeyond(_) => runs.push(run),
            Outcome::Differs(_) => return Err(Refusal::HasOtherUses),
            outcome => {
                let packed = match run.map {
                    LaneMap::Linear => String::new(),
                    map => format!(", {}", map.name()),
                };
                let text = match outcome {
                    Outcome::NotProved(reason) if reason == NOT_SEEN_TO_DIFFER => {
                        "the wave form could not be proved equal, though no inputs were found for which it differs"
                            .to_owned()
                    }
                    outcome => format!(
                        "the wave form could not be proved equal (waves of {}{packed}): {}",
                        run.wave_size,
                        outcome.reason()
                    ),
                };
                return Err(Refusal::because(NOT_PROVED, text));
            }
        }
    }
    let is_exact = runs.iter().all(|run| matches!(run.outcome, Outcome::Equal));
    Ok(Proof {
        text: proof(&runs, maps) + of_needs(needs),
        is_exact,
        ends_races: false,
        may_part: runs.iter().any(|run| run.presumes),
    })
}

/// What has to be so of floats.
pub(crate) fn of_needs(needs: Needs) -> &'static str {
    match (needs.numbers, needs.powers) {
        (false, false) => "",
        (true, false) => ", if no float is NaN",
        (false, true) => ", if powers of whole numbers are exact",
        (true, true) => ", if no float is NaN and powers of whole numbers are exact",
    }
}

/// What equal runs say.
fn proof(runs: &[WaveRun], maps: &[LaneMap]) -> String {
    let sizes = runs.iter().map(|run| run.wave_size);
    let sizes = match (sizes.clone().min(), sizes.max()) {
        (Some(least), Some(most)) if least < most => format!("wave sizes {least} to {most}"),
        (least, _) => format!("wave size {}", least.unwrap_or_default()),
    };
    let names: Vec<&str> = maps.iter().map(|map| map.name()).collect();
    let names = format!(
        "lane map{}: {}",
        if names.len() == 1 { "" } else { "s" },
        names.join(", ")
    );
    let up_to = up_to(runs);
    let presumes = runs.iter().any(|run| run.presumes);
    let given = if presumes {
        ", for inputs for which all threads reach its barriers"
    } else {
        ""
    };
    format!("proved of the fix: the kernel writes the same{up_to} at {sizes} ({names}){given}")
}

/// But for what the kernel is the same.
fn up_to(runs: &[WaveRun]) -> String {
    let beyond = runs.iter().find_map(|run| match run.outcome {
        Outcome::RoundsBeyond(doubt) => Some(doubt),
        _ => None,
    });
    let what = match beyond {
        Some(Doubt::Order) => "rounding",
        Some(Doubt::Flush) => "denormals that are flushed",
        Some(Doubt::Pick) => "which of two equal floats `min` or `max` gives",
        None if runs.iter().all(|run| matches!(run.outcome, Outcome::Equal)) => return String::new(),
        None => return ", up to rounding,".to_owned(),
    };
    format!(", up to {what}, on which more than the value of a float may hang,")
}

/// Why the file's text of the form may not be what was proved. The proof is about expanded text, but the file's is expanded
/// once more: a macro with the name of anything the form spells (a fallback for `WavePrefixSum`, say) would change it.
/// What is declared in a namespace would have to be qualified, which the form does not do; and `using` could bring in names.
fn may_change(shader: &Shader, found: &Collective, form: &WaveForm) -> Option<NoFix> {
    let unit = Unit::of(shader);
    let function = found.function;
    if unit.is_expanded(shader, b"namespace") {
        let functions = shader
            .functions
            .get(function.0 as usize)
            .map(|function| &*function.name);
        let arrays = found
            .arrays
            .iter()
            .filter_map(|array| shader.globals.get(array.0 as usize));
        let mut names = functions.into_iter().chain(arrays.map(|array| &*array.name));
        if let Some(name) = names.find(|name| name.contains("::")) {
            let text = format!("no form is written for what is in a namespace, as `{name}` is");
            return Some(NoFix::new("namespaces", text).named(name));
        }
        if unit.may_name(b"using") {
            let text = "no form is written where `using` may bring names of a namespace in";
            return Some(NoFix::new("namespaces", text));
        }
    }
    let block = form.expanded.as_ref().unwrap_or(&form.block);
    let declaration = form.totals.iter().map(|totals| &totals.declaration);
    let mut texts = std::iter::once(block).chain(declaration);
    texts.find_map(|text| unit.may_change(shader, function, words(&without_comments(text.as_bytes()))))
}

/// The identity of an operator, as HLSL text of a type.
pub(crate) fn neutral(operator: Operator, element: Scalar) -> &'static str {
    match (operator, element) {
        (Operator::Add | Operator::Or | Operator::Xor, Scalar::Int) => "0",
        (Operator::Mul, Scalar::Int) => "1",
        (Operator::Mul, _) => "1u",
        (Operator::FloatAdd, _) => "0.0",
        (Operator::FloatMul, _) => "1.0",
        (Operator::And, Scalar::Int) => "-1",
        (Operator::And | Operator::MinUint, _) => "0xffffffffu",
        (Operator::MinInt, _) => "2147483647",
        (Operator::MaxInt, _) => "int(0x80000000u)",
        (Operator::MinFloat, _) => "asfloat(0x7f800000u)",
        (Operator::MaxFloat, _) => "asfloat(0xff800000u)",
        (Operator::Add | Operator::Or | Operator::Xor | Operator::MaxUint, _) => "0u",
    }
}
