//! Code for an atomic on one of few cells: one atomic for each cell that occurs in a wave. It is shown, not applied:
//! whether a form is faster, and which, depends on the keys.
//!
//! # Why the forms are right
//!
//! `WaveMatch(bin)` gives each active lane the active lanes with the same bin (`HLSL_ShaderModel6_5.md`). The first
//! of these (no lane is before it: `WaveMultiPrefixCountBits` is 0), or the last, makes the atomic for all of them.
//! Below shader model 6.5, and where slots are handed out, a loop does the same: in each pass the remaining lanes
//! that share the first one's bin take the form for one cell, and leave. Each bin takes one pass, so at least one
//! lane leaves in each.

use shaderlint_linter::{Context, ShaderModel};
use shaderlint_simt::{ContendedAtomic, Operator, Quantity};

use crate::fixes::atomics::one_cell::{self, Texts};
use crate::source::text::{indented, on_one_line};

/// A statement for the place of the call, and the shader model that it needs. `None` where the call is no statement
/// by itself. It is a block: an `if` without braces guards one statement, and code for another atomic may follow.
pub(crate) fn code(context: &Context<'_>, claim: &ContendedAtomic) -> Option<(String, ShaderModel)> {
    let (lines, model) = lines(context, claim)?;
    Some((format!("{{\n{}}}", indented(&lines.join("\n"), 1)), model))
}

fn lines(context: &Context<'_>, claim: &ContendedAtomic) -> Option<(Vec<String>, ShaderModel)> {
    let parts = claim.parts.as_ref().ok()?;
    let index = parts.index?;
    let texts = one_cell::texts_of_file(context.shader, parts)?;
    let name = |wanted: &str| one_cell::free_name(context.shader, claim, wanted);
    let [bin, count, first] = ["waveBin", "waveTotal", "waveFirst"].map(name);
    let key = on_one_line(context.shader, index)?;
    // An address is the whole place; an index is between two parts of it.
    let place = if texts.object.is_some() {
        bin.clone()
    } else {
        let (before, after) = one_cell::around(context.shader, parts.place, index)?;
        format!("{before}{bin}{after}")
    };
    let Texts {
        object, amount, old, ..
    } = &texts;
    let ty = parts.cell.name();
    if parts.operator != Operator::Add {
        return None;
    }
    // A value that is no integer is converted before it is added, not after.
    let is_counted = parts.quantity == Quantity::Figures && is_integer(amount);
    let times = |count: &str| match amount.as_str() {
        "1" | "1u" | "1U" => count.to_owned(),
        figures => format!("{figures} * {count}"),
    };
    let call = |total: &str| {
        let object = object
            .as_ref()
            .map(|object| format!("{object}."))
            .unwrap_or_default();
        format!("{object}{}({place}, {total});", parts.name)
    };
    let mut lines = vec![format!("uint {bin} = {key};")];
    let own = if !is_counted && parts.quantity != Quantity::Variable {
        let own = name("waveOwn");
        lines.push(format!("{ty} {own} = {amount};"));
        own
    } else {
        amount.clone()
    };
    if context.shader_model >= ShaderModel::MULTI_PREFIX && old.is_none() {
        let [peers, bits, lanes] = ["wavePeers", "waveBits", "waveCount"].map(name);
        lines.extend([
            format!("uint4 {peers} = WaveMatch({bin});"),
            format!("uint4 {bits} = countbits({peers});"),
            format!("uint {lanes} = {bits}.x + {bits}.y + {bits}.z + {bits}.w;"),
        ]);
        if is_counted {
            lines.extend([
                format!("if (WaveMultiPrefixCountBits(true, {peers}) == 0)"),
                format!("    {}", call(&times(&lanes))),
            ]);
        } else {
            lines.extend([
                format!("{ty} {count} = WaveMultiPrefixSum({own}, {peers}) + {own};"),
                format!("if (WaveMultiPrefixCountBits(true, {peers}) + 1 == {lanes})"),
                format!("    {}", call(&count)),
            ]);
        }
        return Some((lines, ShaderModel::MULTI_PREFIX));
    }
    let left = name("waveLeft");
    let total = if is_counted {
        times("WaveActiveCountBits(true)")
    } else {
        format!("WaveActiveSum({own})")
    };
    lines.extend([
        format!("for (bool {left} = true; {left};)"),
        "{".to_owned(),
        format!("    if ({bin} == WaveReadLaneFirst({bin}))"),
        "    {".to_owned(),
        format!("        {ty} {count} = {total};"),
    ]);
    match old {
        None => lines.extend([
            "        if (WaveIsFirstLane())".to_owned(),
            format!("            {}", call(&count)),
        ]),
        Some(old) => {
            let before = if is_counted {
                times("WavePrefixCountBits(true)")
            } else {
                format!("WavePrefixSum({own})")
            };
            lines.extend([
                format!("        {ty} {first} = 0;"),
                "        if (WaveIsFirstLane())".to_owned(),
                format!("            {}", call(&format!("{count}, {first}"))),
                format!("        {old} = WaveReadLaneFirst({first}) + {before};"),
            ]);
        }
    }
    lines.extend([
        format!("        {left} = false;"),
        "    }".to_owned(),
        "}".to_owned(),
    ]);
    Some((lines, ShaderModel::WAVES))
}

/// Whether a number is an integer.
fn is_integer(figures: &str) -> bool {
    let figures = figures.trim_start_matches(['-', '+', ' ']);
    let number = figures.trim_end_matches(['u', 'U', 'l', 'L']);
    let is_hexadecimal = number.strip_prefix("0x").or_else(|| number.strip_prefix("0X"));
    match is_hexadecimal {
        Some(digits) => digits.bytes().all(|digit| digit.is_ascii_hexdigit()),
        None => !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()),
    }
}
