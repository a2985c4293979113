//! The arrays that wave forms keep the waves' totals in: what to call them, how long they are and where they stand.

use shaderlint_hlsl::{Global, LocalId, Shader, Storage, Type};
use shaderlint_linter::{At, Context};
use shaderlint_simt::{Collective, Elements, Kind, Rewrite};

use crate::element::row_of_elements;
use crate::padding;
use crate::unit::{Unit, words};
use crate::written::{free, is_figure, is_known_at, length_text, operand, size_by_name};

/// What the waves leave for each other.
#[derive(Clone)]
pub(crate) struct Totals {
    /// Its groupshared declaration but for its length.
    pub declaration: String,
    /// The length of the array, as text of the file and as a number; `None` of one value.
    pub length: Option<(String, u32)>,
}

impl Totals {
    /// As it is declared in the file, and with its length in figures.
    pub fn lines(&self) -> [String; 2] {
        let of = |length: &str| format!("{}{length};", self.declaration);
        match &self.length {
            None => [of(""), of("")],
            Some((text, number)) => [of(&format!("[{text}]")), of(&format!("[{number}]"))],
        }
    }

    pub fn slots(&self) -> u32 {
        self.length.as_ref().map_or(1, |(_, number)| *number)
    }
}

/// A name for the totals that is used nowhere in the unit.
pub(crate) fn totals_name(shader: &Shader, found: &Collective) -> String {
    name_beside(shader, found, TOTALS)
}

/// The same for one total of the whole group.
pub(crate) fn total_name(shader: &Shader, found: &Collective) -> String {
    name_beside(shader, found, ["Total", "_total"])
}

/// A name like that of the array that the elements go through, with one of these ends: as the array's words are joined.
pub(crate) fn name_beside(shader: &Shader, found: &Collective, [camel_end, snake_end]: [&str; 2]) -> String {
    let array = found
        .arrays
        .first()
        .and_then(|array| shader.globals.get(array.0 as usize))
        .map_or("g_Scan", Global::own_name);
    // A prefix says where it is, not how names are made.
    let (prefix, rest) = array.split_once('_').unwrap_or(("", array));
    let is_prefix = prefix.len() <= 1 || prefix == "gs";
    let snake = rest.contains('_') || !is_prefix;
    let totals = format!("{array}{}", if snake { snake_end } else { camel_end });
    further_name(shader, &totals, &[])
}

/// A name like `totals` that the unit uses nowhere, and that is none of `others`.
pub(crate) fn further_name(shader: &Shader, totals: &str, others: &[String]) -> String {
    let unit = Unit::of(shader);
    free(totals, |name| {
        let is_other = others.iter().any(|other| other == name);
        is_other || unit.may_name(name.as_bytes()) || unit.may_be_pasted(name.as_bytes())
    })
}

/// How names of totals end.
const TOTALS: [&str; 2] = ["WaveTotals", "_wave_totals"];

/// The array that an earlier fix declared for totals like these. Whether it may serve for them, too, the proof says: that
/// would race where no barrier stands between the ladders.
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
    if !is_totals(&wanted.declaration) {
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

/// Beside the array the elements went through if that is in the same file, else before the function.
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

/// Whether the totals still go into the groupshared memory that a group has: 32 KiB (D3D11.3 functional spec, 18.6), and
/// 28 KiB where the unit may have a mesh shader (DirectX specs, "Mesh Shader": the attribute `outputtopology` is theirs).
/// Counts all that the unit declares, though an entry point may not use all of it, and the totals of all its collectives:
/// other fixes may be made as well.
///
/// # Errors
///
/// Says why they may not fit: an array whose size is not known may be of any.
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
            "with the per-wave totals the file's groupshared arrays together exceed {kib} KiB, the groupshared memory{of_mesh}"
        ));
    }
    Ok(())
}

/// Slots for the totals of a group whose size has a name, as many as its array's length asks for: right for the other
/// sizes that the name may stand for, too. `None` where the form would hold other figures that [go with the
/// size](goes_with_size); in the half of an array that is behind a scan's first elements, it names the size.
///
/// Where the array's length is not written in terms of the group's size, by which the form counts waves, the totals'
/// length is: either may be given another value by itself.
pub(crate) fn length_by_name(
    context: &Context<'_>,
    found: &Collective,
    rewrite: &Rewrite,
) -> Option<(String, u32)> {
    let shader = context.shader;
    let mut places = [&found.input, &found.output].into_iter().chain(&rewrite.also);
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
    if goes_with_size(rewrite).is_some() || !places.all(is_plain) {
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
    // By the length of the one array.
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
            // A literal length is as long as the largest of the groups.
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

/// A variable that lives on with a number that may be another one if the group has another size.
///
/// 0 and 1 say in which half of an array, or in which of two, the last pass of a ladder left the elements. A form leaves
/// them in the half that the number which it leaves says, whichever that is, so code behind it finds them for any size.
pub(crate) fn goes_with_size(rewrite: &Rewrite) -> Option<LocalId> {
    let mut settled = rewrite.settled.iter();
    let (local, _) =
        settled.find(|(_, value)| !matches!(value.as_str(), "0" | "0u" | "false" | "1" | "1u" | "true"))?;
    Some(*local)
}
