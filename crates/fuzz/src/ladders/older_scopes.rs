//! The scopes of HLSL before 2021: the variable of a `for` stays in scope to the end of the block around the loop,
//! and hides an outer variable of the same name.
//!
//! The text is rewritten so that a reader of HLSL 2021 gives it that meaning. This module shares no code with the
//! library that reads the text: otherwise the generator would not notice a common mistake.

use std::collections::HashMap;

/// The text with each such variable declared at the start of its block, with a new name.
pub(super) fn hoisted(text: &str) -> String {
    let tokens = split(text);
    let mut blocks = vec![Block::default()];
    let mut pieces: Vec<String> = Vec::new();
    let mut hoisted = Vec::new();
    let mut is_member = false;
    for (at, token) in tokens.iter().enumerate() {
        let mut piece = (*token).to_owned();
        match *token {
            "{" => blocks.push(Block {
                opened_by: pieces.len(),
                ..Block::default()
            }),
            "}" if blocks.len() > 1 => drop(blocks.pop()),
            "for" => {
                if let (Some((ty, name)), Some(block)) = (loop_variable(&tokens, at), blocks.last_mut()) {
                    let own = format!("{name}_of_loop{}", hoisted.len());
                    hoisted.push((block.opened_by, format!(" {ty} {own};")));
                    block.renamed.insert(name, own);
                    block.declares = Some(ty);
                }
            }
            _ if is_word(token) && !is_member => {
                let block = blocks.last_mut();
                // The type in the loop's head: the declaration has moved away.
                if let Some(block) = block.filter(|block| block.declares == Some(*token)) {
                    block.declares = None;
                    piece.clear();
                }
                let mut names = blocks.iter().rev();
                if let Some(own) = names.find_map(|block| block.renamed.get(token)) {
                    piece.clone_from(own);
                }
            }
            _ => {}
        }
        if !is_trivia(token) {
            is_member = *token == ".";
        }
        pieces.push(piece);
    }
    for (at, declaration) in hoisted {
        if let Some(piece) = pieces.get_mut(at) {
            piece.push_str(&declaration);
        }
    }
    pieces.concat()
}

#[derive(Default)]
struct Block<'t> {
    /// The number of its brace.
    opened_by: usize,
    /// The loop variables that are in scope from here on, by their original names.
    renamed: HashMap<&'t str, String>,
    /// A loop's head has begun, and the type of its variable comes next.
    declares: Option<&'t str>,
}

/// The type and the name in `for (uint s = …`.
fn loop_variable<'t>(tokens: &[&'t str], at: usize) -> Option<(&'t str, &'t str)> {
    let mut next = tokens
        .iter()
        .skip(at + 1)
        .copied()
        .filter(|token| !is_trivia(token));
    let [open, ty, name, equals] = [next.next()?, next.next()?, next.next()?, next.next()?];
    (open == "(" && is_word(ty) && is_word(name) && equals == "=").then_some((ty, name))
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

fn is_trivia(token: &str) -> bool {
    token.trim().is_empty() || token.starts_with("//") || token.starts_with("/*")
}

/// Words, blanks and comments in one piece each, and every other character on its own.
fn split(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if first.is_whitespace() {
            end(char::is_whitespace)
        } else if first.is_ascii_alphanumeric() || first == '_' {
            end(|c| c.is_ascii_alphanumeric() || c == '_')
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::hoisted;

    #[test]
    fn the_variable_of_a_loop_outlives_it() {
        let text =
            "{ uint s = 7; [loop] for (uint s = 1; s < 9; s <<= 1) { a.s = s; } /* s */ b = s; } c = s;";
        let expected = "{ uint s_of_loop0; uint s = 7; [loop] for ( s_of_loop0 = 1; s_of_loop0 < 9; s_of_loop0 <<= 1) { a.s = \
                        s_of_loop0; } /* s */ b = s_of_loop0; } c = s;";
        assert_eq!(hoisted(text), expected);
    }

    #[test]
    fn what_has_no_such_loop_stays_as_it_is() {
        let text = "#define F(x) x\nfor (s = 1; s < 9; ++s) { uint s = 3; }\r\n";
        assert_eq!(hoisted(text), text);
    }
}
