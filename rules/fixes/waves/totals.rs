//! The arrays for the waves' totals: their names, lengths and places.

use shaderlint_hlsl::{
    ExprKind, Global, LocalId, Shader, Span, StmtKind, Storage, Type, expressions, statements,
};
use shaderlint_linter::{At, Context};
use shaderlint_simt::{Collective, Elements, Kind, Rewrite};

use crate::fixes::waves::padding;
use crate::source::element::row_of_elements;
use crate::source::group_size::{is_known_at, length_text, size_by_name};
use crate::source::names::further_name;
use crate::source::statements::uses_of;
use crate::source::text::{Spelled, is_figure, operand};
use crate::source::unit::Unit;
use crate::source::words::words;

/// The values that the waves leave for each other.
#[derive(Clone)]
pub(crate) struct Totals {
    pub ty: String,
    pub name: String,
    /// The length of the array, as text of the file and as a number; `None` for a single value.
    pub length: Option<(String, u32)>,
}

impl Totals {
    /// The declaration in the file, and with a number for the length.
    pub fn lines(&self) -> Spelled {
        let of = |length: &str| format!("groupshared {} {}{length};", self.ty, self.name);
        match &self.length {
            None => Spelled::alike(of("")),
            Some((text, number)) => Spelled {
                in_file: of(&format!("[{text}]")),
                expanded: of(&format!("[{number}]")),
            },
        }
    }

    pub fn slots(&self) -> u32 {
        self.length.as_ref().map_or(1, |(_, number)| *number)
    }
}

/// A name for the totals that the unit does not mention.
pub(crate) fn totals_name(shader: &Shader, found: &Collective) -> String {
    name_beside(shader, found, TOTALS)
}

/// The same for one total of the whole group.
pub(crate) fn total_name(shader: &Shader, found: &Collective) -> String {
    name_beside(shader, found, ["Total", "_total"])
}

/// A name like that of the array that the elements pass through, with one of these ends, joined as the words of the
/// array are.
pub(crate) fn name_beside(shader: &Shader, found: &Collective, [camel_end, snake_end]: [&str; 2]) -> String {
    let array = found
        .arrays
        .first()
        .and_then(|array| shader.globals.get(array.0 as usize))
        .map_or("g_Scan", Global::own_name);
    // A prefix names a place, not a style.
    let (prefix, rest) = array.split_once('_').unwrap_or(("", array));
    let is_prefix = prefix.len() <= 1 || prefix == "gs";
    let snake = rest.contains('_') || !is_prefix;
    let totals = format!("{array}{}", if snake { snake_end } else { camel_end });
    further_name(shader, &totals, &[])
}

/// The ends of names of totals.
const TOTALS: [&str; 2] = ["WaveTotals", "_wave_totals"];

/// The array that an earlier fix declared for totals like these. The proof shows whether it may serve these too: it
/// would race without a barrier between the ladders.
pub(crate) fn totals_declared<'a>(
    shader: &'a Shader,
    found: &Collective,
    wanted: &Totals,
) -> Option<&'a str> {
    let function = shader.functions.get(found.function.0 as usize)?;
    let (text, number) = wanted.length.as_ref()?;
    let is_totals = |name: &str| {
        let name = name.trim_end_matches(|last: char| last.is_ascii_digit());
        TOTALS.iter().any(|end| name.ends_with(end))
    };
    if !is_totals(&wanted.name) {
        return None;
    }
    let is_long_enough = |global: &Global, length: u32| {
        let written = length_text(shader, global);
        written.is_some_and(|written| {
            written == *text || is_figure(text) && is_figure(&written) && length >= *number
        })
    };
    let found = shader.globals.iter().find(|global| {
        let Type::Array(element, length) = &global.ty else {
            return false;
        };
        global.storage == Storage::Groupshared
            && global.span.end <= function.span.start
            && is_totals(global.own_name())
            && **element == found.element_type()
            && is_long_enough(global, *length)
    });
    Some(&found?.name)
}

/// Beside the array that the elements pass through, if it is in the same file, else before the function.
pub(crate) fn totals_place(shader: &Shader, found: &Collective) -> Option<At> {
    let own_file = shader.origins.locate(found.span).map(|place| place.file);
    let beside = found
        .arrays
        .iter()
        .filter_map(|array| shader.globals.get(array.0 as usize))
        .find(|array| {
            let place = shader.origins.editable(array.span);
            place.is_some_and(|place| Some(place.file) == own_file)
        });
    match beside {
        Some(array) => Some(At::After(array.span)),
        None => Some(At::Before(shader.functions.get(found.function.0 as usize)?.span)),
    }
}

/// Whether the totals fit into the groupshared memory of a group: 32 KiB (D3D11.3 functional spec, 18.6), and 28 KiB
/// where the unit may have a mesh shader (DirectX specs, "Mesh Shader": the attribute `outputtopology` is theirs).
/// This counts everything that the unit declares, though an entry point may not use all of it, and the totals of all
/// its collectives, since other fixes may follow.
///
/// # Errors
///
/// The reason why they may not fit: an array of unknown size may have any.
pub(crate) fn fits(shader: &Shader, slots: impl Iterator<Item = u32>) -> Result<(), String> {
    const KIB: usize = 1024 / 4;
    let is_of_mesh = Unit::of(shader).may_name(b"outputtopology");
    let words = if is_of_mesh { 28 * KIB } else { 32 * KIB };
    let globals = shader.globals.iter();
    let declared = globals.filter(|global| global.storage == Storage::Groupshared);
    if let Some(array) = declared.clone().find(|array| !shader.is_known(&array.ty)) {
        return Err(format!(
            "the size of `{}` is not known, so the per-wave totals may exceed the groupshared memory",
            array.name
        ));
    }
    let declared = declared.map(|array| shader.words(&array.ty));
    let all = declared.chain(slots.map(|slots| slots as usize));
    if all.fold(0, usize::saturating_add) > words {
        let of_mesh = if is_of_mesh {
            " of a mesh shader"
        } else {
            " of a group"
        };
        let kib = words / KIB;
        return Err(format!(
            "with the per-wave totals, the file's groupshared arrays exceed the {kib} KiB of groupshared \
             memory{of_mesh}"
        ));
    }
    Ok(())
}

/// The slots for the totals of a group whose size has a name, as an expression of the length of its array, so that it
/// is right for other sizes as well. `None` where the form would have other numbers that [depend on the
/// size](goes_with_size); in the half of an array behind a scan's first elements, it names the size.
///
/// Where the array's length is not an expression of the group's size, by which the form counts waves, the length of
/// the totals is one: another build may change either alone.
pub(crate) fn length_by_name(
    context: &Context<'_>,
    found: &Collective,
    rewrite: &Rewrite,
) -> Option<(String, u32)> {
    let shader = context.shader;
    let mut places = [&found.input, &found.output]
        .into_iter()
        .chain(&rewrite.other_places);
    let lanes = context.analysis.group_size.iter().product::<u32>();
    let size = size_by_name(context, found);
    let is_plain = |place: &Elements| match place {
        Elements::Array { offset, .. } if found.kind != Kind::Reduction => {
            let row = row_of_elements(shader, found, place);
            let offset = row.map_or(*offset, |row| row.offset);
            offset == 0 || offset == lanes && size.is_some()
        }
        Elements::Array { offset, .. } => *offset == 0,
        Elements::Cell { index, .. } => *index == 0,
        Elements::Register { .. } => true,
        Elements::Spread { shift, .. } => {
            let goes_with = |size: &String| padding::may_go_with_size(shader, found, size);
            shift.is_some() && size.as_ref().is_some_and(|size| !goes_with(size))
        }
        Elements::OneRegister { thread, .. } => *thread == 0,
        Elements::Expression { .. } => false,
    };
    if goes_with_size(context, found, rewrite).is_some() || !places.all(is_plain) {
        return None;
    }
    let arrays = found.arrays.iter();
    let arrays: Vec<&Global> = arrays
        .map(|array| shader.globals.get(array.0 as usize))
        .collect::<Option<_>>()?;
    let of_size = size.map(|size| {
        let is_known =
            |array: &&Global| words(size.as_bytes()).all(|word| is_known_at(shader, array.span, word));
        let slots = (format!("({size} + 3) / 4"), lanes.div_ceil(4));
        (arrays.iter().all(is_known).then_some(slots), size)
    });
    // From the length of a single array.
    let of_length = || {
        let [array] = arrays.as_slice() else {
            return None;
        };
        let Type::Array(element, length) = &array.ty else {
            return None;
        };
        let is_plain = matches!(**element, Type::Scalar(_) | Type::Vector(..) | Type::Struct(_));
        let text = length_text(shader, array).filter(|_| is_plain)?;
        if let Some((_, size)) = &of_size
            && !words(size.as_bytes()).all(|word| words(text.as_bytes()).any(|own| own == word))
        {
            return None;
        }
        Some((text, *length))
    };
    let is_shorter = |text: &str| {
        let by_size = of_size.as_ref().filter(|(slots, _)| slots.is_some());
        by_size.is_none_or(|(_, size)| text.len() <= size.len())
    };
    match of_length() {
        Some((text, length)) if is_shorter(&text) => {
            // A literal length fits the largest group.
            let text = if is_figure(&text) {
                length.div_ceil(4).to_string()
            } else {
                format!("({} + 3) / 4", operand(shader, &text))
            };
            Some((text, length.div_ceil(4)))
        }
        _ => of_size?.0,
    }
}

/// A variable that later code reads, with a number that may depend on the size of the group.
///
/// 0 and 1 tell in which half of an array, or in which of two arrays, the last pass of a ladder left the elements, and
/// so do 0 and the number of threads in a variable that only [selects a half](selects_half). A form leaves them in the
/// half that its own number tells, so later code finds them for any size.
pub(crate) fn goes_with_size(
    context: &Context<'_>,
    found: &Collective,
    rewrite: &Rewrite,
) -> Option<LocalId> {
    let tells_half = |local: LocalId, value: &str| {
        matches!(value, "0" | "0u" | "false" | "1" | "1u" | "true")
            || found.kind != Kind::Reduction
                && size_by_name(context, found).is_some()
                && is_all_threads(context, value)
                && selects_half(context, found, local)
    };
    let mut settled = rewrite.live_values.iter();
    let (local, _) = settled.find(|(local, value)| !tells_half(*local, value))?;
    Some(*local)
}

/// Whether a variable begins as 0 or the number of threads, as the offset of a half does and a stride does not, and
/// outside of the ladder only tells elements of the ladder's arrays.
fn selects_half(context: &Context<'_>, found: &Collective, local: LocalId) -> bool {
    let (shader, function) = (context.shader, context.function(found.function));
    let Some((function, body)) = function.and_then(|function| Some((function, function.body.as_deref()?)))
    else {
        return false;
    };
    let begins = statements(body).any(|statement| match &statement.kind {
        StmtKind::Declare {
            local: declared,
            init: Some(init),
        } if *declared == local => {
            let text = String::from_utf8_lossy(init.uncast().span.slice(&shader.text));
            matches!(&*text, "0" | "0u") || is_all_threads(context, &text)
        }
        _ => false,
    });
    let indices = expressions(body).filter_map(|part| match &part.kind {
        ExprKind::Index(of, at) => {
            matches!(of.kind, ExprKind::Global(array) if found.arrays.contains(&array)).then_some(at.span)
        }
        _ => None,
    });
    let places: Vec<Span> = indices.chain([found.span]).collect();
    let is_in_one = |of: &Span| {
        places
            .iter()
            .any(|place| place.start <= of.start && of.end <= place.end)
    };
    begins && uses_of(function, local).iter().all(is_in_one)
}

/// Whether a number is that of the group's threads.
pub(crate) fn is_all_threads(context: &Context<'_>, number: &str) -> bool {
    let threads: u32 = context.analysis.group_size.iter().product();
    number.trim_end_matches('u').parse() == Ok(threads)
}
