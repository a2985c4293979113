//! Why a ladder gets no wave form.

use shaderlint_hlsl::{ExprKind, Local, LocalId, Shader, Type, expressions};
use shaderlint_linter::{Context, Level, NoFix, Reason};
use shaderlint_simt::{Amid, Collective, Elements, Instance, Kind, Obstacle, Rewrite};

use crate::describe::witness;
use crate::fixes::waves::totals::goes_with_size;
use crate::source::element::{array_of_elements, element_name, row_of_elements};
use crate::source::group_size::{has_literal_size, size_by_name};

/// Why no form is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No form is written for the construct: for its elements, or its arrays.
    NoForm(NoFix),
    /// There is a form, and this is in its way.
    NotProved(NoFix),
    /// Later code was seen to depend on more than the result.
    HasOtherUses,
}

impl Refusal {
    pub fn because(reason: Reason, text: impl AsRef<str>) -> Self {
        Refusal::NotProved(NoFix::new(reason, text))
    }

    pub fn no_fix(self) -> NoFix {
        match self {
            Refusal::NoForm(why) | Refusal::NotProved(why) => why,
            Refusal::HasOtherUses => NoFix::new(
                Reason::OtherUses,
                "later code depends on more than the ladder's result",
            ),
        }
    }
}

/// The highest level of a ladder by itself: `info` if no measurement showed a faster form.
pub(crate) fn worth(refusal: Option<&Refusal>) -> Level {
    match refusal {
        Some(Refusal::NotProved(why)) if why.reason == Reason::Slower => Level::Info,
        _ => Level::Error,
    }
}

/// There is no place to declare the array of the waves' totals.
pub(crate) fn no_place() -> Refusal {
    let text = "this file has no place to declare an array for the per-wave totals";
    Refusal::because(Reason::NoPlace, text)
}

/// The fixed text has no such kernel any more.
pub(crate) fn not_read() -> Refusal {
    Refusal::because(
        Reason::NotRead,
        "with the wave form in it, the file no longer parses as the same kernel",
    )
}

/// No variable holds the thread's index, and the name of the group's width means nothing here.
pub(crate) fn no_index() -> Refusal {
    Refusal::because(Reason::NoThreadIndex, NO_INDEX)
}

const NO_INDEX: &str = "no variable in scope holds the thread's index in its group";

/// The form would leave out other results of the construct.
pub(crate) fn other_results() -> Refusal {
    let text = "the ladder computes several results, and the wave form of one would drop the others";
    Refusal::because(Reason::OtherResults, text)
}

/// Why no form is written for the construct. A form that combines by an atomic does not need the size of the group.
pub(crate) fn no_form(
    context: &Context<'_>,
    found: &Collective,
    rewrite: &Rewrite,
    is_by_atomic: bool,
) -> Refusal {
    let mut places = [&found.input, &found.output]
        .into_iter()
        .chain(&rewrite.other_places);
    let is_component = |place: &Elements| match place {
        Elements::Array { component, .. }
        | Elements::Cell { component, .. }
        | Elements::Register { component, .. }
        | Elements::OneRegister { component, .. } => component.is_some(),
        _ => false,
    };
    let why = if found.blocks > 1 {
        let text = format!(
            "shaderlint writes no wave form for such reductions of several blocks of {} elements",
            found.count
        );
        NoFix::new(Reason::Segmented, text)
    } else if places.clone().any(is_component) {
        let text = "shaderlint writes no wave form for components of vectors or structs";
        NoFix::new(Reason::Components, text)
    } else if let Some(why) = places.find_map(|place| no_form_of_place(context.shader, found, place)) {
        why
    } else if element_name(context.shader, found).is_none() {
        let text = format!("shaderlint writes no wave form for {}s", found.element_name());
        NoFix::new(Reason::ElementType, text)
    } else if !has_literal_size(context) {
        no_form_of_name(context, found, rewrite, is_by_atomic)
    } else {
        NoFix::new(
            Reason::NoForm,
            "shaderlint writes no wave form for elements and arrays like these",
        )
    };
    Refusal::NoForm(why)
}

/// The same for one place of elements.
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
        _ if is_spread => "where other elements lie between them",
        _ if array_of_elements(shader, found, global).is_none() => "an array of another type",
        _ => return None,
    };
    let text = match array.ty {
        Type::Array(..) | Type::Resource(..) => {
            format!("shaderlint writes no wave form for elements in `{name}`, {of_what}")
        }
        _ => format!(
            "shaderlint writes no wave form that leaves its result in `{name}`, which is not an \
             array"
        ),
    };
    Some(NoFix::new(Reason::Array, text).named(name))
}

/// The same where the group's size has a name.
fn no_form_of_name(
    context: &Context<'_>,
    found: &Collective,
    rewrite: &Rewrite,
    is_by_atomic: bool,
) -> NoFix {
    let function = context.function(found.function);
    let settled = goes_with_size(context, found, rewrite).and_then(|local| {
        let local = function?.locals.get(local.0 as usize)?;
        Some(&*local.name)
    });
    if let Some(left) = settled {
        let text = format!(
            "`[numthreads]` contains a name instead of a number, and the ladder leaves a number in `{left}` that may depend on that name"
        );
        return NoFix::new(Reason::NamedSize, text).named(left);
    }
    if size_by_name(context, found).is_none() && !is_by_atomic {
        return no_size_by_name();
    }
    NoFix::new(
        Reason::NamedSize,
        "`[numthreads]` contains a name instead of a number, and shaderlint writes no wave form of this ladder that uses the name",
    )
}

/// Why a form that names the group's size is not offered.
pub(crate) fn no_size_by_name() -> NoFix {
    let text = "a wave form needs the group's size, but the name of that size may mean something else here, or nothing";
    NoFix::new(Reason::NamedSize, text)
}

/// Why no other statements can replace the construct.
pub(crate) fn not_replaceable(context: &Context<'_>, found: &Collective, obstacle: Obstacle) -> Refusal {
    let (groups, loops): (Vec<&Instance>, Vec<&Instance>) = found
        .instances
        .iter()
        .partition(|instance| instance.is_of_group());
    let bounds: Vec<&str> = loops.into_iter().map(|instance| &*instance.bound).collect();
    Refusal::NotProved(match (bounds.as_slice(), found.amid) {
        _ if !found.tiles.is_empty() => {
            let text = "the ladder's elements pass through a buffer, which other groups may write meanwhile";
            NoFix::new(Reason::InBuffer, text)
        }
        // There would be no form in any case.
        ([], _) if is_of_no_form(obstacle) => of_obstacle(context.shader, found, obstacle),
        ([], Some(amid)) => of_amid(context, found, amid),
        ([], None) if !groups.is_empty() => {
            let text = "the ladder is proved only for the first group, whose SV_GroupID is 0";
            NoFix::new(Reason::FirstGroup, text)
        }
        ([], None) => match lives_on(context.shader, found) {
            Some(local) => {
                let text = format!(
                    "before HLSL 2021, `{}` after the loop means the loop's variable; from HLSL 2021 on, it means \
                     another variable: pass -HV, or set `hlsl` in shaderlint.toml",
                    local.name
                );
                NoFix::new(Reason::LanguageVersion, text)
                    .named(&*local.name)
                    .at(local.span)
            }
            None => of_obstacle(context.shader, found, obstacle),
        },
        ([bound], _) => {
            let text = format!("the loop's bound {bound} is known only at run time");
            NoFix::new(Reason::UnknownBound, text).named(*bound)
        }
        (bounds, _) => {
            let bounds = bounds.join(" and ");
            let text = format!("the loops' bounds {bounds} are known only at run time");
            NoFix::new(Reason::UnknownBound, text).named(bounds)
        }
    })
}

/// Whether no form is written for such constructs.
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
                "the read {} may run while the ladder stores its elements, as no barrier is proved to separate the two",
                witness::on_lines(context, &[read], found.span)
            ),
            read,
        ),
        Amid::Barrier(barrier) => (
            format!(
                "for some inputs, threads may not reach {}",
                witness::barrier(context, barrier, found.span)
            ),
            barrier,
        ),
    };
    NoFix::new(Reason::UnorderedReads, text).at(place)
}

fn of_obstacle(shader: &Shader, found: &Collective, obstacle: Obstacle) -> NoFix {
    let function = shader.functions.get(found.function.0 as usize);
    let of_local = |id: LocalId, reason: Reason, text: &dyn Fn(&str) -> String| {
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
            let text =
                format!("shaderlint writes no wave form for scans that restart every {length} elements");
            NoFix::new(Reason::Segmented, text)
        }
        Obstacle::Halves => NoFix::new(
            Reason::Halves,
            "shaderlint writes no wave form for sums of 16-bit halves",
        ),
        Obstacle::Companions => {
            let text = "the ladder also selects other values, such as an index, and shaderlint writes no wave form for that";
            NoFix::new(Reason::Companions, text)
        }
        Obstacle::ElementsPerThread => {
            let text = "shaderlint writes wave forms of scans only for up to two elements per thread";
            NoFix::new(Reason::ElementsPerThread, text)
        }
        Obstacle::Declares(id) => of_local(id, Reason::Declares, &|name| {
            format!("later code uses {name}, which the ladder declares")
        }),
        Obstacle::NoPlace => {
            let text =
                "the ladder's result is part of an expression, and no wave form fits into an expression";
            NoFix::new(Reason::ResultInExpression, text)
        }
        Obstacle::Leaves(id) => of_local(id, Reason::Leaves, &|name| {
            format!("later code uses {name}, which the ladder sets, and its value is not uniform")
        }),
        Obstacle::NoIndex => NoFix::new(Reason::NoThreadIndex, NO_INDEX),
        Obstacle::MayLeave => NoFix::new(
            Reason::MayReturn,
            "threads may return inside the ladder, or leave a loop around it",
        ),
        Obstacle::Writes(id) => match shader.globals.get(id.0 as usize) {
            Some(written) => {
                let text = format!("the ladder's statements also write `{}`", written.name);
                NoFix::new(Reason::Writes, text).named(&*written.name)
            }
            None => NoFix::new(Reason::Writes, "the ladder's statements also write a variable"),
        },
        Obstacle::WritesHandle => {
            let text = "the ladder's statements also write a resource through a variable or parameter";
            NoFix::new(Reason::Writes, text)
        }
        Obstacle::SharesMemory => {
            let text = "the ladder's statements also make an atomic, or read a writable resource";
            NoFix::new(Reason::SharedMemory, text)
        }
        Obstacle::Unfollowed => NoFix::new(
            Reason::Unfollowed,
            "shaderlint cannot follow one of the ladder's statements",
        ),
        Obstacle::SomeRuns => NoFix::new(
            Reason::SomeRuns,
            "the ladder is proved only for some runs of the kernel",
        ),
    }
}

/// A variable from the header of a loop in the construct that later code names: some versions of HLSL keep it, others
/// do not.
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
