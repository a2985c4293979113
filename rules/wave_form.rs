//! The linear wave form of a scan, to stand where the ladder stood.
//!
//! # Why it is right, and what it assumes
//!
//! Each wave scans its own elements (`WavePrefixSum`), its last lane stores the wave's total, and after a barrier each
//! thread adds the totals of the waves before its own, summed a wave's width at a time. Of a partly filled wave no lane
//! is the last: it is the group's last wave, whose total nobody adds. `wave = index / lanes` numbers
//! the waves in the order of their elements if the group is packed linearly: what every implementation seen does with
//! 1-D groups, and the one assumption. `wave` is at most (N - 1) / 4 because no wave is smaller than 4 lanes
//! (hlsl-specs, `HLSL_SM_6_6_WaveSize.md`), whatever the packing: so ceil(N / 4) totals are never run out of.
//! The loop's `WaveActiveSum` needs all lanes of the wave: they agree on `wave`. In a partly filled last wave fewer
//! lanes fetch totals than `WaveGetLaneCount()` says; where that would skip some, the form steps by the active lanes.
//!
//! None of this is believed: the fixed kernel is compared with the flagged one at every wave size before it is offered.

use std::fmt::Write;

use shaderlint_hlsl::{FileId, Scalar, Shader, Span, Storage, Type};
use shaderlint_linter::{At, Context, Edit, Fix, Safety, fixed_shader};
use shaderlint_simt::{Collective, Elements, Kind, LaneMap, Operator, Rewrite, WAVE_SIZES, compare};

use crate::configuration::{self, words};

const BARRIER: &str = "GroupMemoryBarrierWithGroupSync";

/// Text that replaces a scan, and what it needs declared.
struct WaveForm {
    /// Statements, four spaces an indentation step, without a line break at the end.
    block: String,
    /// A groupshared declaration but for its length.
    totals: String,
    /// Its length, as text of the file and as a number.
    length: (String, u32),
}

/// A replacement for a scan that is proved to leave the whole kernel's results as they were, at every wave size under
/// linear packing. `None` where there is none, or no proof.
pub(crate) fn fix(context: &Context<'_>, scan: &Collective) -> Option<Fix> {
    let shader = context.shader;
    let rewrite = scan.rewrite.as_ref()?;
    // In a register nothing after the ladder waits for it; in an array the next reader may.
    let in_register = matches!(scan.output, Elements::Register { .. }) && rewrite.also.is_empty();
    let barriers = if in_register {
        [false, true]
    } else {
        [rewrite.ends_with_barrier, true]
    };
    barriers.into_iter().find_map(|end_barrier| {
        let form = write(context, scan, rewrite, end_barrier)?;
        let others = context
            .analysis
            .collectives
            .iter()
            .filter(|other| other.span != scan.span);
        let slots = others.map(|other| other.count.div_ceil(4)).chain([form.length.1]);
        if !means_the_same_in_the_file(shader, &form) || !fits(shader, slots) {
            return None;
        }
        let is_safe = scan.operator.is_exact()
            && configuration::holds_in_all(shader, context.entry, scan.function, scan.span, &form.block);
        let (length, number) = form.length;
        let totals = Edit {
            at: totals_place(shader, scan)?,
            text: format!("{}[{length}];", form.totals),
            expanded: Some(format!("{}[{number}];", form.totals)),
        };
        let block = Edit {
            at: At::Over(scan.span),
            text: form.block,
            expanded: None,
        };
        let fix = Fix {
            title: "replace the ladder by wave intrinsics".to_owned(),
            safety: if is_safe { Safety::Safe } else { Safety::Unsafe },
            edits: vec![totals, block],
        };
        is_proved(context, &fix).then_some(fix)
    })
}

/// Barriers in a fix.
pub(crate) fn barriers(fix: &Fix) -> usize {
    let edits = fix.edits.iter();
    edits.map(|edit| edit.text.matches(BARRIER).count()).sum()
}

/// Beside the array the elements went through if that is in the file at hand, else before the function.
fn totals_place(shader: &Shader, scan: &Collective) -> Option<At> {
    let beside = scan
        .arrays
        .iter()
        .filter_map(|array| shader.globals.get(array.0 as usize))
        .find(|array| {
            shader
                .origins
                .editable(array.span)
                .is_some_and(|place| place.file == FileId(0))
        });
    match beside {
        Some(array) => Some(At::After(array.span)),
        None => Some(At::Before(shader.functions.get(scan.function.0 as usize)?.span)),
    }
}

fn is_proved(context: &Context<'_>, fix: &Fix) -> bool {
    let Some((fixed, entry)) = fixed_shader(context.shader, context.entry, &fix.edits) else {
        return false;
    };
    let flagged = (context.shader, context.entry);
    compare(flagged, (&fixed, entry), &[LaneMap::Linear])
        .iter()
        .all(|run| run.outcome.is_equal())
}

/// Whether the file's text of the form is what was proved. The proof is about expanded text, but the file's is expanded
/// once more: a macro with the name of anything the form spells (a fallback for `WavePrefixSum`, say) would change it.
/// Names declared in a namespace would have to be qualified, which the form does not do.
fn means_the_same_in_the_file(shader: &Shader, form: &WaveForm) -> bool {
    let macros = configuration::macros(shader);
    let is_macro = |text: &str| words(text.as_bytes()).any(|word| macros.contains_key(word));
    let has_namespaces = words(&shader.text).any(|word| word == b"namespace");
    !has_namespaces && !is_macro(&form.block) && !is_macro(&form.totals)
}

/// Whether the totals still go into the 32 KiB of groupshared memory that a group has (D3D11.3 functional spec, 18.6).
/// Counts all that the unit declares, though an entry point may not use all of it, and the totals of all its scans:
/// other fixes may be made as well.
fn fits(shader: &Shader, slots: impl Iterator<Item = u32>) -> bool {
    const WORDS: usize = 32 * 1024 / 4;
    let declared: usize = shader
        .globals
        .iter()
        .filter(|global| global.storage == Storage::Groupshared)
        .map(|global| shader.words(&global.ty))
        .fold(0, usize::saturating_add);
    let slots = slots.map(|slots| slots as usize).fold(0, usize::saturating_add);
    declared.saturating_add(slots) <= WORDS
}

/// The names the form introduces.
struct Names {
    totals: String,
    element: String,
    scan: String,
    wave: String,
    lane: String,
    first: String,
}

/// The wave form for a collective; `None` for operators without a wave prefix.
fn write(context: &Context<'_>, scan: &Collective, rewrite: &Rewrite, end_barrier: bool) -> Option<WaveForm> {
    let shader = context.shader;
    let (prefix, active, sign) = match scan.operator {
        Operator::Add | Operator::FloatAdd => ("WavePrefixSum", "WaveActiveSum", "+"),
        Operator::Mul | Operator::FloatMul => ("WavePrefixProduct", "WaveActiveProduct", "*"),
        _ => return None,
    };
    if !matches!(scan.element, Scalar::Uint | Scalar::Int | Scalar::Float) {
        return None;
    }
    let neutral = match (scan.operator, scan.element) {
        (Operator::Add, Scalar::Uint) => "0u",
        (Operator::Add, _) => "0",
        (Operator::FloatAdd, _) => "0.0",
        (Operator::Mul, Scalar::Uint) => "1u",
        (Operator::Mul, _) => "1",
        _ => "1.0",
    };
    let function = shader.functions.get(scan.function.0 as usize)?;
    let place = |elements: &Elements| -> Option<String> {
        Some(match elements {
            Elements::Array {
                global,
                offset,
                component: None,
                ..
            } => {
                let array = &shader.globals.get(global.0 as usize)?.name;
                match offset {
                    0 => format!("{array}[{}]", rewrite.lane),
                    offset => format!("{array}[{offset} + {}]", rewrite.lane),
                }
            }
            Elements::Register { local, .. } => function.locals.get(local.0 as usize)?.name.clone(),
            _ => return None,
        })
    };
    let names = names(shader, scan);
    let Names {
        totals,
        element,
        scan: result,
        wave,
        lane,
        first,
    } = &names;
    let ty = scan.element.name();
    let index = &rewrite.lane;
    let kind = if scan.kind == Kind::InclusiveScan {
        "Inclusive"
    } else {
        "Exclusive"
    };
    let (own, total) = if scan.kind == Kind::InclusiveScan {
        (format!(" {sign} {element}"), result.clone())
    } else {
        (String::new(), format!("{result} {sign} {element}"))
    };
    let is_fixed = has_literal_size(context);
    let length = if is_fixed {
        (scan.count.div_ceil(4).to_string(), scan.count.div_ceil(4))
    } else {
        length_by_name(shader, scan, rewrite)?
    };
    let step = if is_fixed && every_total_is_fetched(scan.count) {
        "WaveGetLaneCount()"
    } else {
        "WaveActiveCountBits(true)"
    };

    let mut block = format!(
        "{{\n    // {kind} scan by waves; assumes a 1-D group packed into waves in order.\n\
         \x20   {ty} {element} = {input};\n\
         \x20   {ty} {result} = {prefix}({element}){own};\n\
         \x20   uint {wave} = {index} / WaveGetLaneCount();\n\
         \x20   uint {lane} = WaveGetLaneIndex();\n\
         \x20   if ({lane} + 1 == WaveGetLaneCount())\n\
         \x20       {totals}[{wave}] = {total};\n\
         \x20   {BARRIER}();\n\
         \x20   for (uint {first} = 0; {first} < {wave}; {first} += {step})\n\
         \x20       {result} {sign}= {active}({first} + {lane} < {wave} ? {totals}[{first} + {lane}] : {neutral});\n",
        input = place(&scan.input)?,
    );
    for output in std::iter::once(&scan.output).chain(&rewrite.also) {
        let _ = writeln!(block, "    {} = {result};", place(output)?);
    }
    for (local, value) in &rewrite.settled {
        let _ = writeln!(
            block,
            "    {} = {value};",
            function.locals.get(local.0 as usize)?.name
        );
    }
    if end_barrier {
        let _ = writeln!(block, "    {BARRIER}();");
    }
    block.push('}');
    Some(WaveForm {
        block,
        totals: format!("groupshared {ty} {totals}"),
        length,
    })
}

/// Whether the file says in figures how many threads the group has: what holds for this many is all there is to prove.
fn has_literal_size(context: &Context<'_>) -> bool {
    let shader = context.shader;
    let function = shader.functions.get(context.entry.0 as usize);
    let written = function.and_then(|function| text_in_file(shader, function.group_size_span));
    let arguments = written.as_deref().and_then(|text| text.split_once('('));
    let first = arguments.and_then(|(_, arguments)| arguments.split([',', ')']).next());
    first.is_some_and(|first| is_figure(first.trim()))
}

fn is_figure(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn text_in_file(shader: &Shader, span: Span) -> Option<String> {
    let place = shader.origins.locate(span)?;
    let text = &shader.sources.files.get(place.file.0 as usize)?.text;
    let text = text.get(place.start as usize..place.end as usize)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Slots for the totals of a group whose size has a name, as many as its array's length asks for: right for the other
/// sizes that the name may stand for, too. `None` where the form would hold other figures that go with the size.
fn length_by_name(shader: &Shader, scan: &Collective, rewrite: &Rewrite) -> Option<(String, u32)> {
    let places = [&scan.input, &scan.output].into_iter().chain(&rewrite.also);
    let is_plain = |place: &Elements| {
        matches!(
            place,
            Elements::Array { offset: 0, .. } | Elements::Register { .. }
        )
    };
    let [array] = scan.arrays.as_slice() else {
        return None;
    };
    if !rewrite.settled.is_empty() || !places.into_iter().all(is_plain) {
        return None;
    }
    let array = shader.globals.get(array.0 as usize)?;
    let Type::Array(element, length) = &array.ty else {
        return None;
    };
    let written = text_in_file(shader, array.span)?;
    let (_, after) = written.split_once(&array.name)?;
    let length_text = after.split_once('[')?.1.split_once(']')?.0.trim();
    let is_name = length_text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    // A literal length is as long as the largest of the groups.
    let text = match (is_figure(length_text), is_name) {
        (true, _) => length.div_ceil(4).to_string(),
        (false, true) => format!("({length_text} + 3) / 4"),
        (false, false) => format!("(({length_text}) + 3) / 4"),
    };
    matches!(**element, Type::Scalar(_)).then_some((text, length.div_ceil(4)))
}

/// Whether the active lanes of a partly filled last wave are enough to fetch the totals before it in the
/// passes that stepping by the wave's size makes.
fn every_total_is_fetched(lanes: u32) -> bool {
    WAVE_SIZES.into_iter().all(|size| {
        let (waves, rest) = (lanes / size, lanes % size);
        rest == 0 || rest >= waves.min(size)
    })
}

/// Names that are neither used where the form stands nor macros anywhere in the unit.
fn names(shader: &Shader, scan: &Collective) -> Names {
    let contains = |text: &[u8], name: &str| text.windows(name.len()).any(|window| window == name.as_bytes());
    let anywhere = |name: &str| {
        contains(&shader.text, name) || shader.sources.files.iter().any(|file| contains(&file.text, name))
    };
    let function = shader.functions.get(scan.function.0 as usize);
    // A local hides nothing that the form does not use itself: variables and arrays of the function are enough.
    let hides = |name: &str| {
        shader.globals.iter().any(|global| global.name == name)
            || function.is_some_and(|function| function.locals.iter().any(|local| local.name == name))
            || shader
                .sources
                .files
                .iter()
                .any(|file| contains(&file.text, &format!("define {name}")))
    };
    let array = scan
        .arrays
        .first()
        .and_then(|array| shader.globals.get(array.0 as usize))
        .map_or("g_Scan", |global| &global.name);
    let snake = array.contains('_') && array.chars().nth(1) != Some('_');
    let totals = if snake {
        format!("{array}_wave_totals")
    } else {
        format!("{array}WaveTotals")
    };
    Names {
        totals: free(&totals, anywhere),
        element: free("waveElement", hides),
        scan: free("waveScan", hides),
        wave: free("waveIndex", hides),
        lane: free("waveLane", hides),
        first: free("firstWave", hides),
    }
}

/// `wanted`, or with the first number after it that makes it free.
fn free(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2u32..1000).map(|number| format!("{wanted}{number}"));
    std::iter::once(wanted.to_owned())
        .chain(numbered)
        .find(|name| !taken(name))
        .unwrap_or_default()
}
