//! Fits a wave form into the text around its ladder.

use shaderlint_hlsl::{FunctionId, Intrinsic, Shader, Span, blank_comments};
use shaderlint_simt::Collective;

use crate::fixes::waves::form::WaveForm;
use crate::source::words::words;

/// Fits the form into the text around the ladder, and says what it takes the place of.
pub(crate) fn fit(shader: &Shader, found: &Collective, form: &mut WaveForm) -> Span {
    let (over, before, behind, is_flat) = if let Some(sole) = &form.sole_use {
        (sole.over, String::new(), String::new(), true)
    } else if let Some((whole, [before, behind])) = replaced(shader, found.span) {
        let is_flat = form.is_flat && stands_in_block(shader, found.function, whole);
        (whole, before, behind, is_flat)
    } else {
        return found.span;
    };
    for text in std::iter::once(&mut form.block).chain(&mut form.expanded) {
        if is_flat {
            *text = without_braces(text);
        }
        text.insert_str(0, &before);
        if !behind.is_empty() {
            text.push('\n');
            text.push_str(behind.trim_end());
        }
    }
    over
}

/// The text that a form replaces: the statements, the rest of the macro calls that they are part of, and a semicolon
/// behind such a call. Barriers in that rest, before the statements and behind them, stay. `None` where the rest has
/// more.
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

/// Whether several statements with their declarations may replace a statement: it is among others in braces, and in
/// no `switch`, which may jump over declarations.
fn stands_in_block(shader: &Shader, function: FunctionId, statement: Span) -> bool {
    let Some(function) = shader.functions.get(function.0 as usize) else {
        return false;
    };
    let before = Span {
        end: statement.start,
        ..function.span
    };
    let before = blank_comments(before.slice(&shader.text));
    let is_of_switch = words(&before).any(|word| word == b"switch");
    !is_of_switch && matches!(before.trim_ascii_end().last(), Some(b';' | b'{' | b'}'))
}

/// The statements of a block.
fn without_braces(block: &str) -> String {
    let inner = block
        .strip_prefix("{\n")
        .and_then(|block| block.strip_suffix('}'));
    let lines = inner.unwrap_or(block).lines();
    let lines = lines.map(|line| line.strip_prefix("    ").unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}
