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

use std::collections::HashSet;
use std::fmt::Write;

use shaderlint_hlsl::{FileId, Scalar, Shader, Storage};
use shaderlint_linter::{At, Context, Edit, Fix, Safety, fixed_shader};
use shaderlint_simt::{Collective, Elements, Kind, LaneMap, Operator, Rewrite, WAVE_SIZES, compare};

const BARRIER: &str = "GroupMemoryBarrierWithGroupSync";

/// Text that replaces a scan, and what it needs declared.
struct WaveForm {
    /// Statements, four spaces an indentation step, without a line break at the end.
    block: String,
    /// A groupshared declaration.
    totals: String,
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
    let is_exact = scan.operator.is_exact();
    barriers.into_iter().find_map(|end_barrier| {
        let form = write(shader, scan, rewrite, end_barrier)?;
        if !means_the_same_in_the_file(shader, &form) || !fits(shader, scan) {
            return None;
        }
        let totals = Edit {
            at: totals_place(shader, scan)?,
            text: form.totals,
        };
        let block = Edit {
            at: At::Over(scan.span),
            text: form.block,
        };
        let fix = Fix {
            title: "replace the ladder by wave intrinsics".to_owned(),
            safety: if is_exact { Safety::Safe } else { Safety::Unsafe },
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
    let mut macros: HashSet<&[u8]> = HashSet::new();
    for file in &shader.sources.files {
        for line in file.text.split(|byte| *byte == b'\n') {
            let directive = line
                .trim_ascii_start()
                .strip_prefix(b"#")
                .map(<[u8]>::trim_ascii_start);
            if let Some(rest) = directive.and_then(|rest| rest.strip_prefix(b"define")) {
                macros.extend(words(rest).next());
            }
        }
    }
    let is_macro = |text: &str| words(text.as_bytes()).any(|word| macros.contains(word));
    let has_namespaces = words(&shader.text).any(|word| word == b"namespace");
    !has_namespaces && !is_macro(&form.block) && !is_macro(&form.totals)
}

/// The identifiers (and numbers) of a text.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .filter(|word| !word.is_empty())
}

/// Whether the totals still go into the 32 KiB of groupshared memory that a group has (D3D11.3 functional spec, 18.6).
/// Counts all that the unit declares, though an entry point may not use all of it.
fn fits(shader: &Shader, scan: &Collective) -> bool {
    const WORDS: usize = 32 * 1024 / 4;
    let declared: usize = shader
        .globals
        .iter()
        .filter(|global| global.storage == Storage::Groupshared)
        .map(|global| shader.words(&global.ty))
        .fold(0, usize::saturating_add);
    declared.saturating_add(scan.count.div_ceil(4) as usize) <= WORDS
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
fn write(shader: &Shader, scan: &Collective, rewrite: &Rewrite, end_barrier: bool) -> Option<WaveForm> {
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
            } => {
                let array = &shader.globals.get(global.0 as usize)?.name;
                match offset {
                    0 => format!("{array}[{}]", rewrite.lane),
                    offset => format!("{array}[{offset} + {}]", rewrite.lane),
                }
            }
            Elements::Register { local } => function.locals.get(local.0 as usize)?.name.clone(),
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
    let step = if every_total_is_fetched(scan.count) {
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
        totals: format!("groupshared {ty} {totals}[{}];", scan.count.div_ceil(4)),
    })
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
