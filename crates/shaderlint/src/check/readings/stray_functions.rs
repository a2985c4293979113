//! Functions of headers that no kernel calls: they lack a kernel's group size, and some a semantic.
//!
//! shaderlint runs them in a group with one thread per element of the groupshared arrays that they access. A proof
//! about such a function holds in a group of that size, and each finding says so.
//!
//! Most of these functions distinguish their threads by an input of a kernel. In a header that is read
//! as a unit, shaderlint treats each function with such an input as a kernel. It runs the others if nothing calls them and they
//! have a group barrier, even if the thread index is a plain parameter: if only one parameter can be the thread
//! index, it counts as [`GROUP_INDEX`], and findings say so. Other arguments and earlier values of elements are
//! unknown. If the function returns something, shaderlint assumes that callers use nothing else: if an element or a
//! partial result flows into it, there is no reduction. If it returns nothing, later code may use all that it leaves,
//! including partial results, as in the first half of Blelloch's scan: there is no reduction either.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Direction, ExprKind, FileId, FileSpan, Function, FunctionId, Global, GlobalId, LocalId, MAX_THREADS,
    Parameter, Scalar, Shader, Storage, Type, calls, expressions,
};
use shaderlint_linter::{Category, Diagnostic, NoFix, Reason, Report, Verdict};

use super::Role;
use crate::workspace::prefilter::{self, THREAD_INPUTS};

const GROUP_INDEX: &str = "SV_GroupIndex";

/// A function that is run like a kernel.
pub(super) struct Stray {
    pub name: String,
    assumption: String,
    /// It runs only because nothing calls it: its callers are responsible for code outside of this place.
    runs_by_itself_in: Option<FileSpan>,
    threads: u32,
    /// The parameter that holds the thread index, if none has a semantic that says so.
    thread_index: Option<usize>,
    hands_out: bool,
}

impl Stray {
    /// Whether it runs because nothing in its file calls it.
    pub fn runs_by_itself(&self) -> bool {
        self.runs_by_itself_in.is_some()
    }

    /// Makes the function an entry point.
    fn take(&self, function: &mut Function) {
        function.group_size = Some([self.threads, 1, 1]);
        if let Some(parameter) = self
            .thread_index
            .and_then(|number| function.parameters.get_mut(number))
        {
            parameter.semantic = Some(GROUP_INDEX.to_owned());
        }
        function.is_called_elsewhere = self.runs_by_itself();
    }
}

/// Makes functions of the file itself entry points, if it has none. Nothing calls the functions `uncalled`.
pub(super) fn take_as_entries(shader: &mut Shader, role: Role, uncalled: &[String]) -> Vec<Stray> {
    if role == Role::Unit || shader.entry_points().next().is_some() {
        return Vec::new();
    }
    let ids = (0..).map(FunctionId);
    let found: Vec<Option<Stray>> = ids
        .zip(&shader.functions)
        .map(|(id, function)| stray(shader, id, function, role, uncalled))
        .collect();
    let mut strays: Vec<Stray> = Vec::new();
    for (function, stray) in shader.functions.iter_mut().zip(found) {
        // Findings identify a function by its name.
        let is_other =
            |known: &Stray, stray: &Stray| known.name == stray.name && known.assumption != stray.assumption;
        if let Some(stray) = stray.filter(|stray| !strays.iter().any(|known| is_other(known, stray))) {
            stray.take(function);
            strays.push(stray);
        }
    }
    strays
}

fn stray(
    shader: &Shader,
    id: FunctionId,
    function: &Function,
    role: Role,
    uncalled: &[String],
) -> Option<Stray> {
    let place = shader.origins.locate(function.name_span);
    let place = place.filter(|place| function.body.is_some() && place.file == FileId(0))?;
    let mut semantics = function
        .parameters
        .iter()
        .filter_map(|parameter| parameter.semantic.as_deref());
    let is_like_a_kernel = semantics.any(|semantic| {
        let semantic = semantic.to_ascii_lowercase();
        THREAD_INPUTS.contains(&semantic.as_str())
    });
    let reached = reached(shader, id);
    let runs_by_itself_in = if role == Role::HeaderAsUnit && is_like_a_kernel {
        None
    } else {
        let waits = |function: &Function| prefilter::names_group_barrier(function.span.slice(&shader.text));
        // The name of a method starts with the name of its struct. If a macro makes the name, other expansions of the
        // macro may make other names.
        let is_plain = !function.is_instance && shader.sources.text(place) == function.name.as_bytes();
        let is_it = is_plain && uncalled.contains(&function.name);
        if !is_it || !functions(shader, &reached).any(waits) || has_state(shader, &reached) {
            return None;
        }
        Some(shader.origins.locate(function.span)?)
    };
    let number = if is_like_a_kernel {
        None
    } else {
        Some(thread_index(function)?)
    };
    let (threads, array) = only_length(shader, &reached)?;
    let of_number = number
        .and_then(|number| local(function, function.parameters.get(number)?))
        .map_or_else(String::new, |(name, _)| format!(", if {name} is {GROUP_INDEX}"));
    Some(Stray {
        name: function.name.clone(),
        assumption: format!("in a group of {threads} threads, the length of {array}{of_number}"),
        runs_by_itself_in,
        threads,
        thread_index: number,
        hands_out: hands_out(function),
    })
}

/// Whether the function returns something, directly or by a parameter.
fn hands_out(function: &Function) -> bool {
    let mut parameters = function.parameters.iter();
    function.returns != Type::Void || parameters.any(|parameter| parameter.direction != Direction::In)
}

fn local<'f>(function: &'f Function, parameter: &Parameter) -> Option<(&'f str, &'f Type)> {
    let local = function.locals.get(parameter.local.0 as usize)?;
    Some((&local.name, &local.ty))
}

/// The only parameter that may be the thread index. If several may be, the only one that is used in an index.
fn thread_index(function: &Function) -> Option<usize> {
    let is_number = |parameter: &Parameter| {
        let ty = local(function, parameter).map(|(_, ty)| ty);
        parameter.direction == Direction::In
            && parameter.semantic.is_none()
            && matches!(ty, Some(Type::Scalar(Scalar::Uint | Scalar::Int)))
    };
    let mut numbers: Vec<usize> = (0..function.parameters.len()).collect();
    numbers.retain(|number| function.parameters.get(*number).is_some_and(is_number));
    if numbers.len() > 1 {
        let in_indices: BTreeSet<LocalId> = expressions(function.body.as_deref()?)
            .filter_map(|expr| match &expr.kind {
                ExprKind::Index(_, index) => Some(index.descendants()),
                _ => None,
            })
            .flatten()
            .filter_map(|expr| match expr.kind {
                ExprKind::Local(local) => Some(local),
                _ => None,
            })
            .collect();
        numbers.retain(|number| {
            let parameter = function.parameters.get(*number);
            parameter.is_some_and(|parameter| in_indices.contains(&parameter.local))
        });
    }
    <[usize; 1]>::try_from(numbers).ok().map(|[number]| number)
}

/// The function and all functions that it calls, directly or not.
fn reached(shader: &Shader, from: FunctionId) -> BTreeSet<FunctionId> {
    let mut reached = BTreeSet::new();
    let mut left = vec![from];
    while let Some(id) = left.pop() {
        if reached.insert(id) {
            let body = shader.functions.get(id.0 as usize);
            let body = body.and_then(|function| function.body.as_deref());
            left.extend(calls(body.unwrap_or_default()));
        }
    }
    reached
}

fn functions<'s>(shader: &'s Shader, ids: &BTreeSet<FunctionId>) -> impl Iterator<Item = &'s Function> {
    ids.iter().filter_map(|id| shader.functions.get(id.0 as usize))
}

/// The global variables that these functions name.
fn globals<'s>(shader: &'s Shader, reached: &BTreeSet<FunctionId>) -> impl Iterator<Item = &'s Global> {
    let bodies = functions(shader, reached).filter_map(|function| function.body.as_deref());
    let named = bodies.flat_map(expressions).filter_map(|expr| match expr.kind {
        ExprKind::Global(id) => Some(id),
        _ => None,
    });
    let named: BTreeSet<GlobalId> = named.collect();
    named
        .into_iter()
        .filter_map(|id| shader.globals.get(id.0 as usize))
}

/// Whether these functions use a `static` variable: callers may have changed it.
fn has_state(shader: &Shader, reached: &BTreeSet<FunctionId>) -> bool {
    globals(shader, reached).any(|global| global.storage == Storage::Static)
}

/// The length of the groupshared arrays that these functions name, if all have the same, and the name of the first
/// one.
fn only_length<'s>(shader: &'s Shader, reached: &BTreeSet<FunctionId>) -> Option<(u32, &'s str)> {
    let mut arrays = globals(shader, reached)
        .filter(|global| global.storage == Storage::Groupshared)
        .filter_map(|global| match &global.ty {
            Type::Array(_, length) => Some((*length, global.name.as_str())),
            _ => None,
        });
    let (length, name) = arrays.next()?;
    let is_one = (2..=MAX_THREADS).contains(&length) && arrays.all(|(other, _)| other == length);
    is_one.then_some((length, name))
}

/// Notes the assumptions in each finding. Drops defects, for the assumed size may cause them if each thread is meant
/// to process several elements. Drops fixes. A function that nothing calls keeps only its own scans and reductions:
/// its callers decide how many threads make its atomics.
pub(super) fn note_assumptions(report: &mut Report, strays: &[Stray]) {
    let is_told = |finding: &mut Diagnostic| {
        let stray = strays.iter().find(|stray| finding.kernels.contains(&stray.name));
        let Some(stray) = stray.filter(|_| finding.category == Category::Perf) else {
            return false;
        };
        if let Some(own) = stray.runs_by_itself_in {
            let place = finding.primary.place;
            let is_own = own.file == place.file && own.start <= place.start && place.end <= own.end;
            let is_proved = matches!(finding.verdict, Verdict::Proved | Verdict::Reassociates);
            if !is_own || !is_proved {
                return false;
            }
            let as_if = if stray.hands_out {
                ", as if only its results were used"
            } else {
                ""
            };
            let note = format!(
                "no file at hand calls {}: shaderlint ran it by itself{as_if}",
                stray.name
            );
            finding.notes.push(note);
        }
        finding.message = format!("{} ({})", finding.message, stray.assumption);
        // This reason replaces any other one.
        finding.fix = None;
        finding.no_fix = Some(NoFix::new(
            Reason::SupposedSize,
            "the size of the group is unknown and assumed",
        ));
        true
    };
    report.findings.retain_mut(is_told);
    report.allowed.retain_mut(|one| is_told(&mut one.finding));
}
