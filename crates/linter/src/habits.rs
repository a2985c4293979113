//! How a file writes parentheses and braces, so that new text does the same.
//!
//! Only white space changes, and braces around single statements: the meaning stays.

use shaderlint_hlsl::blank_comments;

/// The habits of most places of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Habits {
    /// `if(x)`.
    has_tight_keywords: bool,
    /// `if ( x )`.
    has_open_headers: bool,
    /// `f( x )`.
    has_open_calls: bool,
    /// `a[ x ]`.
    has_open_brackets: bool,
    /// A single statement in braces.
    braces_single: bool,
    /// `if (x) {`.
    hangs_headers: bool,
    /// `void f() {`.
    hangs_functions: bool,
}

/// The places with a habit, minus those without.
#[derive(Default)]
struct Counts {
    tight_keywords: isize,
    open_headers: isize,
    open_calls: isize,
    open_brackets: isize,
    braced: isize,
    hanging_headers: isize,
    hanging_functions: isize,
}

const KEYWORDS: [&[u8]; 4] = [b"if", b"for", b"while", b"switch"];

impl Habits {
    pub fn of(file: &[u8]) -> Habits {
        let code = blank_comments(file);
        let mut counts = Counts::default();
        let mut depth = 0_usize;
        for (at, byte) in code.iter().enumerate() {
            match byte {
                b'(' => counts.see_parenthesis(&code, at),
                b'[' => counts.open_brackets += is_open(&code[at + 1..]),
                b'{' => {
                    let before = code[..at].trim_ascii_end();
                    if depth == 0 && before.ends_with(b")") {
                        counts.hanging_functions += sign(!code[before.len()..at].contains(&b'\n'));
                    }
                    depth += 1;
                }
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        Habits {
            has_tight_keywords: counts.tight_keywords > 0,
            has_open_headers: counts.open_headers > 0,
            has_open_calls: counts.open_calls > 0,
            has_open_brackets: counts.open_brackets > 0,
            // A single place is no habit.
            braces_single: counts.braced > 1,
            hangs_headers: counts.hanging_headers > 0,
            hangs_functions: counts.hanging_functions > 0,
        }
    }

    /// A text with four spaces for each step, rewritten to the habits of the file.
    pub fn applied(self, text: &str) -> String {
        let mut lines: Vec<String> = Vec::new();
        let mut rest = text.split('\n').peekable();
        while let Some(line) = rest.next() {
            // This does not tell comments from code.
            if line.contains("//") || line.contains("/*") {
                lines.push(line.to_owned());
                continue;
            }
            let is_header = is_header(line);
            let line = self.spaced(line);
            let next = rest.peek().copied();
            let indent = line.len() - line.trim_start().len();
            let hangs = if is_header {
                self.hangs_headers
            } else {
                self.hangs_functions && indent == 0 && line.ends_with(')')
            };
            match next {
                Some(next) if is_header && self.braces_single && is_single(next, indent) => {
                    let margin = " ".repeat(indent);
                    if hangs {
                        lines.push(format!("{line} {{"));
                    } else {
                        lines.extend([line, format!("{margin}{{")]);
                    }
                    lines.extend([self.spaced(next), format!("{margin}}}")]);
                    rest.next();
                }
                Some(next) if hangs && next.trim() == "{" => {
                    lines.push(format!("{line} {{"));
                    rest.next();
                }
                _ => lines.push(line),
            }
        }
        lines.join("\n")
    }

    /// A line with blanks inside its pairs.
    fn spaced(self, line: &str) -> String {
        let mut spaced = String::with_capacity(line.len());
        // Whether blanks go inside each open pair.
        let mut pairs: Vec<bool> = Vec::new();
        let mut characters = line.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            if matches!(character, ')' | ']') && pairs.pop() == Some(true) && !spaced.ends_with(' ') {
                spaced.push(' ');
            }
            if !matches!(character, '(' | '[') {
                spaced.push(character);
                continue;
            }
            let word = last_word(&line.as_bytes()[..at]);
            let is_header = character == '(' && KEYWORDS.contains(&word);
            if is_header && self.has_tight_keywords {
                spaced.truncate(spaced.trim_end().len());
            }
            let is_call = !word.is_empty() && !spaced.ends_with(' ');
            let next = characters.peek().map(|(_, next)| *next);
            let is_filled = !matches!(next, None | Some(')' | ']'));
            let is_open = is_filled
                && if is_header {
                    self.has_open_headers
                } else if character == '[' {
                    self.has_open_brackets
                } else {
                    self.has_open_calls && is_call
                };
            pairs.push(is_open);
            spaced.push(character);
            if is_open && next != Some(' ') {
                spaced.push(' ');
            }
        }
        spaced
    }
}

impl Counts {
    fn see_parenthesis(&mut self, code: &[u8], at: usize) {
        let is_open = is_open(&code[at + 1..]);
        let word = last_word(&code[..at]);
        if !KEYWORDS.contains(&word) {
            if code[..at].ends_with(word) && !word.is_empty() {
                self.open_calls += is_open;
            }
            return;
        }
        self.open_headers += is_open;
        self.tight_keywords += sign(!code[..at].ends_with(b" "));
        let Some(end) = pair(&code[at..], [b'(', b')']) else {
            return;
        };
        let behind = &code[at + end..];
        let body = behind.trim_ascii_start();
        match body.first() {
            Some(b'{') => {
                let gap = &behind[..behind.len() - body.len()];
                self.hanging_headers += sign(!gap.contains(&b'\n'));
                let block = pair(body, [b'{', b'}']).map_or(body, |end| &body[..end]);
                let parts = |by: u8| block.split(|byte| *byte == by).count();
                self.braced += isize::from(parts(b';') == 2 && parts(b'{') == 2);
            }
            // The `while` of a `do`.
            None | Some(b';') => {}
            Some(_) => self.braced -= 1,
        }
    }
}

/// Whether a blank follows the opening of a pair.
fn is_open(inner: &[u8]) -> isize {
    match inner.first() {
        None | Some(b')' | b']' | b'\r' | b'\n') => 0,
        Some(next) => sign(*next == b' '),
    }
}

fn sign(does: bool) -> isize {
    if does { 1 } else { -1 }
}

/// The end of the pair that a text begins with.
fn pair(text: &[u8], [opening, closing]: [u8; 2]) -> Option<usize> {
    let mut depth = 0_usize;
    let end = text.iter().position(|byte| {
        depth += usize::from(*byte == opening);
        if *byte == closing {
            depth = depth.saturating_sub(1);
        }
        depth == 0
    })?;
    Some(end + 1)
}

/// The last word of a text, before any blanks.
fn last_word(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_end();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let start = text
        .iter()
        .rposition(|byte| !is_part(byte))
        .map_or(0, |at| at + 1);
    &text[start..]
}

/// Whether a line is the head of a statement and nothing else.
fn is_header(line: &str) -> bool {
    let line = line.trim();
    let starts = |word: &str| {
        line.strip_prefix(word)
            .is_some_and(|rest| rest.trim_start().starts_with('('))
    };
    line == "else" || line.ends_with(')') && ["if", "for", "while", "else if"].into_iter().any(starts)
}

/// Whether a line is a single statement, one step further in.
fn is_single(line: &str, indent: usize) -> bool {
    let body = line.trim_start();
    line.len() - body.len() == indent + 4
        && body.ends_with(';')
        && body.matches(';').count() == 1
        && !body.contains(['{', '}'])
        && !body.contains("//")
        && !body.contains("/*")
        && !is_header(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "uint Sum(uint value)\n{\n    // if (x)\n    if (WaveIsFirstLane())\n        InterlockedAdd(total, f(value));\n    \
                        for (uint i = 0; i < 4; i++)\n    {\n        a();\n        b();\n    }\n}";

    fn applied(file: &str) -> String {
        Habits::of(file.as_bytes()).applied(FORM)
    }

    #[test]
    fn a_file_without_habits_gets_the_text_as_it_is() {
        assert_eq!(applied(""), FORM);
        assert_eq!(applied("void f(uint a)\n{\n    if (a)\n        g(a);\n}\n"), FORM);
    }

    #[test]
    fn parentheses_are_as_the_file_has_them() {
        let file = "void f( uint a )\n{\n    if( a )\n        g( a );\n}\n";
        assert_eq!(
            applied(file),
            "uint Sum( uint value )\n{\n    // if (x)\n    if( WaveIsFirstLane() )\n        InterlockedAdd( total, f( value ) );\n    \
             for( uint i = 0; i < 4; i++ )\n    {\n        a();\n        b();\n    }\n}"
        );
        let of_headers = "void f(uint a)\n{\n    if ( a )\n        g(a);\n}\n";
        assert_eq!(
            applied(of_headers),
            FORM.replace("(WaveIsFirstLane())", "( WaveIsFirstLane() )")
                .replace("(uint i = 0; i < 4; i++)", "( uint i = 0; i < 4; i++ )")
        );
    }

    #[test]
    fn braces_are_as_the_file_has_them() {
        let file =
            "void f(uint a) {\n    if (a) {\n        g(a);\n    }\n    if (!a) {\n        h(a);\n    }\n}\n";
        assert_eq!(
            applied(file),
            "uint Sum(uint value) {\n    // if (x)\n    if (WaveIsFirstLane()) {\n        InterlockedAdd(total, f(value));\n    }\n    \
             for (uint i = 0; i < 4; i++) {\n        a();\n        b();\n    }\n}"
        );
        // Blocks of several statements tell nothing about single ones.
        let file = "void f(uint a)\n{\n    if (a)\n    {\n        g(a);\n        h(a);\n    }\n    if (a)\n        h(a);\n}\n";
        assert_eq!(applied(file), FORM);
    }

    #[test]
    fn lines_with_comments_stay_as_they_are() {
        let habits = Habits {
            has_open_calls: true,
            braces_single: true,
            hangs_headers: true,
            hangs_functions: true,
            ..Habits::default()
        };
        for text in [
            "// own (old)\n{\n    a;\n}",
            "if (x) // why (y)\n    a;",
            "if (x)\n    a; // why",
            "/* f(x) */ f(x);",
        ] {
            assert_eq!(habits.applied(text), text);
        }
    }

    #[test]
    fn two_statements_on_a_line_stay_two() {
        let habits = Habits {
            braces_single: true,
            ..Habits::default()
        };
        assert_eq!(habits.applied("if (a)\n    b(); c();"), "if (a)\n    b(); c();");
        assert_eq!(
            habits.applied("if (a)\n    b();\nelse\n    c();"),
            "if (a)\n{\n    b();\n}\nelse\n{\n    c();\n}"
        );
    }
}
