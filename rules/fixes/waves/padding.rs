//! Whether the padding between elements depends on the group's size.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Global, Shader, Storage, blank_comments};
use shaderlint_simt::Collective;

use crate::source::text::text_in_file;
use crate::source::unit::Unit;
use crate::source::words::{is_part, words};

/// Whether a group of another size may have another padding. A form counts the elements by the name of the size, but
/// has a number for the padding, so the two must not change together. They may, if the statements, or what they name,
/// divide or shift by an expression of the size, or by a variable.
pub(crate) fn may_go_with_size(shader: &Shader, found: &Collective, size: &str) -> bool {
    let Some(statements) = text_in_file(shader, found.span) else {
        return true;
    };
    let is_constant =
        |word: &[u8]| Unit::of(shader).is_macro(word) || constants(shader, word).next().is_some();
    // The parts of the size depend on it too.
    let (_, mut sizes) = reached(shader, size.as_bytes().to_vec());
    sizes.retain(|word| is_constant(word));
    let (texts, _) = reached(shader, statements.into_bytes());
    let mut amounts = texts.iter().flat_map(|text| amounts(text));
    amounts.any(|amount| {
        let mut own = words(amount).filter(|word| !is_figure(word));
        own.any(|word| {
            let (_, all) = reached(shader, word.to_vec());
            !is_constant(word) || !sizes.is_disjoint(&all)
        })
    })
}

fn is_figure(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_digit)
}

/// The constants of this name.
fn constants<'a>(shader: &'a Shader, name: &[u8]) -> impl Iterator<Item = &'a Global> {
    let is_it =
        move |global: &&Global| global.storage == Storage::Const && global.own_name().as_bytes() == name;
    shader.globals.iter().filter(is_it)
}

/// A text with the bodies of all macros, functions and constants that it names, directly or through others; and all
/// of their words.
fn reached(shader: &Shader, text: Vec<u8>) -> (Vec<Vec<u8>>, BTreeSet<Vec<u8>>) {
    let unit = Unit::of(shader);
    let (mut texts, mut known) = (Vec::new(), BTreeSet::new());
    let mut left = vec![text];
    while let Some(text) = left.pop() {
        let text = blank_comments(&text);
        for word in words(&text) {
            if !known.insert(word.to_vec()) {
                continue;
            }
            left.extend(
                unit.definitions(word)
                    .iter()
                    .map(|definition| definition.body.clone()),
            );
            let functions = shader
                .functions
                .iter()
                .filter(|function| function.name.as_bytes() == word);
            let functions = functions
                .filter(|function| function.group_size.is_none())
                .map(|function| function.span);
            let declared = functions
                .chain(constants(shader, word).map(|constant| constant.span))
                .filter_map(|span| text_in_file(shader, span));
            left.extend(declared.map(String::into_bytes));
        }
        texts.push(text);
    }
    (texts, known)
}

/// The divisors of a text and the amounts of its right shifts: a word, or text in parentheses, with the parentheses
/// behind it.
fn amounts(text: &[u8]) -> Vec<&[u8]> {
    let is_operator = |at: &usize| {
        let rest = text.get(*at..).unwrap_or_default();
        rest.starts_with(b"/") || rest.starts_with(b">>")
    };
    let operators = (0..text.len()).filter(is_operator);
    operators
        .filter_map(|at| {
            let rest = text.get(at..)?;
            let start = rest.iter().position(|byte| is_part(*byte) || *byte == b'(')?;
            let operand = rest.get(start..)?;
            let mut depth = 0_usize;
            let end = operand.iter().position(|byte| {
                match byte {
                    b'(' => depth += 1,
                    b')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0 && !is_part(*byte) && !matches!(byte, b')' | b'(')
            });
            operand.get(..end.unwrap_or(operand.len()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::amounts;

    #[test]
    fn amounts_are_whole_operands() {
        let amounts = |text: &'static str| {
            let amounts = amounts(text.as_bytes()).into_iter();
            amounts
                .map(|amount| String::from_utf8_lossy(amount).into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(amounts("a + (a >> 5) * b"), ["5)"]);
        assert_eq!(
            amounts("s >>= 1; t = x / (N / 128) + 1"),
            ["1", "(N / 128)", "128)"]
        );
        assert_eq!(amounts("x >> firstbithigh(N) ; y /"), ["firstbithigh(N)"]);
    }
}
