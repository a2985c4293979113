//! What a word is, judged by the text around it: a declared name, a type, a function, a part of a macro.
//!
//! Other builds compile text that this build has no tree of. There only the words before and behind can tell; where
//! they do not, the word may be anything.

use crate::source::words::{is_part, last_word, words};

/// Whether a declaration declares a type of this name, or an enumeration with an enumerator of this name.
pub(crate) fn declares_type_or_enumerator(item: &[u8], name: &[u8]) -> bool {
    let mut of_item = words(item);
    match of_item.next() {
        Some(b"enum") => of_item.any(|word| word == name),
        Some(b"struct" | b"class" | b"interface" | b"namespace") => of_item.next() == Some(name),
        Some(b"template") => {
            let head = item.split(|byte| *byte == b'{').next().unwrap_or_default();
            words(head).any(|word| word == name)
        }
        _ => false,
    }
}

/// Words before a name that they declare.
const DECLARING: [&[u8]; 7] = [
    b"struct",
    b"class",
    b"enum",
    b"union",
    b"interface",
    b"namespace",
    b"using",
];

/// The macro whose body begins with the word between these texts, and the rest of the body. Whatever stands before a
/// use of the macro then stands before the word.
pub(crate) fn alias<'t>(before: &'t [u8], behind: &'t [u8]) -> Option<(&'t [u8], &'t [u8])> {
    let line = before.rsplit(|byte| *byte == b'\n').next()?;
    let rest = behind.split(|byte| *byte == b'\n').next()?;
    let directive = line.trim_ascii_start().strip_prefix(b"#")?;
    let define = directive.trim_ascii_start().strip_prefix(b"define")?;
    let head = define.trim_ascii();
    let end = head.iter().position(|byte| !is_part(*byte)).unwrap_or(head.len());
    let (name, parameters) = head.split_at(end);
    let is_head = match parameters {
        [] => true,
        [b'(', inner @ .., b')'] => !inner.iter().any(|byte| matches!(byte, b'(' | b')')),
        _ => false,
    };
    (is_head && !name.is_empty()).then(|| (name, rest.trim_ascii()))
}

/// Whether a directive tests, defines or undefines the word behind this text.
pub(crate) fn is_asked_for(before: &[u8]) -> bool {
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut named = words(line);
    let directive = named.next();
    line.trim_ascii_start().starts_with(b"#")
        && matches!(directive, Some(b"define" | b"undef" | b"ifdef" | b"ifndef"))
        && named.next().is_none()
}

/// Whether a word between these texts may be anything but a call of an intrinsic, such as the name of a function. A
/// method of that name is declared elsewhere.
pub(crate) fn may_be_a_function(before: &[u8], behind: &[u8]) -> bool {
    let (before, behind) = (before.trim_ascii_end(), behind.trim_ascii_start());
    let is_behind_word = !matches!(last_word(before), b"" | b"return" | b"else" | b"case" | b"do");
    match behind.first() {
        Some(b'(') => {
            is_behind_word
                || before.ends_with(b"::")
                || match before.last() {
                    Some(b'>' | b'&') => true,
                    // `uint f(), WavePrefixSum(uint v);`, or an argument.
                    Some(b',') => !is_in_list(before),
                    // `struct S { … } WavePrefixSum(uint v);`, or a block.
                    Some(b'}') => ends_struct(before),
                    _ => false,
                }
        }
        // What a macro is given may be the name of an operator, such as `max`.
        Some(b',' | b')') => is_behind_word || matches!(before.last(), Some(b'{')),
        _ => true,
    }
}

/// The words of a struct's declaration that has nothing but members, one of which stands between these texts.
pub(crate) fn members_around<'t>(
    before: &'t [u8],
    behind: &'t [u8],
) -> Option<impl Iterator<Item = &'t [u8]>> {
    let is_of_members = |byte: &u8| is_part(*byte) || byte.is_ascii_whitespace() || b",;:[]".contains(byte);
    let open = before.iter().rposition(|byte| !is_of_members(byte))?;
    let end = behind.iter().position(|byte| !is_of_members(byte))?;
    if before.get(open) != Some(&b'{') || behind.get(end) != Some(&b'}') {
        return None;
    }
    let head = before.get(..open)?.trim_ascii_end();
    let name = last_word(head);
    let head = head.strip_suffix(name)?.trim_ascii_end();
    let line = head.rsplit(|byte| *byte == b'\n').next()?;
    if name.is_empty() || last_word(head) != b"struct" || line.trim_ascii_start().starts_with(b"#") {
        return None;
    }
    let body = [before.get(open..)?, behind.get(..end)?];
    Some(
        [b"struct".as_slice(), name]
            .into_iter()
            .chain(body.into_iter().flat_map(words)),
    )
}

/// Whether a text ends inside parentheses, or inside the braces of an initializer, which its last statement opens.
fn is_in_list(text: &[u8]) -> bool {
    let mut closed = 0_usize;
    for (at, byte) in text.iter().enumerate().rev() {
        match byte {
            b')' | b'}' => closed += 1,
            b'(' | b'{' if closed > 0 => closed -= 1,
            b'(' => return true,
            b'{' => match text.get(..at).unwrap_or_default().trim_ascii_end().last() {
                Some(b'=') => return true,
                // A list within one, or a block.
                Some(b'{' | b',') => {}
                _ => return false,
            },
            b';' => return false,
            _ => {}
        }
    }
    false
}

/// Whether a text ends with a type's closing brace.
fn ends_struct(text: &[u8]) -> bool {
    let mut depth = 0_usize;
    let open = text.iter().rposition(|byte| {
        match byte {
            b'}' => depth += 1,
            b'{' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    let head = text.get(..open.unwrap_or(0)).unwrap_or_default();
    let head = head.rsplit(|byte| matches!(byte, b';' | b'{' | b'}')).next();
    words(head.unwrap_or_default()).any(|word| matches!(word, b"struct" | b"class" | b"union" | b"enum"))
}

/// The functions and macros in whose calls a text ends, the innermost first: `G` and `F` behind `x; F(a, G(b,`.
pub(crate) fn calls_around(before: &[u8]) -> Vec<&[u8]> {
    let mut depth = 0_usize;
    let mut callees = Vec::new();
    for (at, byte) in before.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' if depth > 0 => depth -= 1,
            b'(' => callees.push(last_word(before.get(..at).unwrap_or_default().trim_ascii_end())),
            b';' | b'{' | b'}' if depth == 0 => break,
            _ => {}
        }
    }
    callees
}

/// Whether a word between these texts may be declared there, rather than used as a type.
pub(crate) fn may_be_a_type(before: &[u8], behind: &[u8]) -> bool {
    let (before, behind) = (before.trim_ascii_end(), behind.trim_ascii_start());
    let word = last_word(before);
    // Words that may stand before a type.
    let is_qualifier = matches!(
        word,
        b"" | b"const"
            | b"static"
            | b"in"
            | b"out"
            | b"inout"
            | b"uniform"
            | b"groupshared"
            | b"return"
            | b"typedef"
            | b"unsigned"
            | b"row_major"
            | b"column_major"
            | b"precise"
            | b"volatile"
            | b"typename"
            | b"unorm"
            | b"snorm"
            | b"globallycoherent"
            | b"nointerpolation"
            | b"inline"
            | b"extern"
            | b"shared"
            | b"else"
    );
    let is_assigned = behind.first() == Some(&b'=') && behind.get(1) != Some(&b'=');
    // A cast stands behind no word; what does is given to a macro.
    let is_given = || {
        let callee = before
            .split_last()
            .map_or(&[][..], |(_, rest)| last_word(rest.trim_ascii_end()));
        !matches!(callee, b"" | b"return" | b"else" | b"case" | b"sizeof")
    };
    let next = behind.first().copied().unwrap_or(b' ');
    let is_declared = match before.last() {
        Some(b'.') => true,
        // `typedef vector<float, 2> uint2;`, or a comparison.
        Some(b'>') => matches!(next, b';' | b',' | b'[' | b'(' | b':'),
        // `typedef struct { … } uint2;`
        Some(b'}') => matches!(next, b';' | b',' | b'['),
        // `typedef float A, uint2;`, `enum { A, uint2 }`, `DECLARE(A, uint2)`
        Some(b',') => matches!(next, b';' | b',' | b'[' | b')' | b'}'),
        Some(b'{') => matches!(next, b',' | b'}'),
        Some(b'(') => next == b',' || next == b')' && is_given(),
        // `float typedef uint2;`
        _ if word == b"typedef" => matches!(next, b';' | b',' | b'['),
        _ => !is_qualifier && matches!(next, b';' | b',' | b')' | b'[' | b'}' | b':' | b'('),
    };
    DECLARING.contains(&word) || is_assigned || is_declared
}

/// The names that `typedef`, `using` and `namespace` declare: the last word of each declarator of a `typedef`, and
/// the first word behind the others. Text between commas within `<>` counts as a declarator too.
pub(crate) fn typedefs(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let statements = text.split(|byte| matches!(byte, b';' | b'{' | b'}'));
    statements.flat_map(|statement| {
        let mut of_statement = words(statement);
        let declared: Vec<&[u8]> = match of_statement.next() {
            Some(b"using" | b"namespace") => of_statement.next().into_iter().collect(),
            Some(b"typedef") => {
                let declarators = statement.split(|byte| *byte == b',');
                let names = declarators.map(|one| one.split(|byte| *byte == b'[').next().unwrap_or_default());
                names.filter_map(|one| words(one).last()).collect()
            }
            _ => Vec::new(),
        };
        declared
    })
}
