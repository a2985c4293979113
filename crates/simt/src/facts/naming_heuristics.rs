//! What names imply by convention, where nothing else shows what they stand for.
//!
//! Names of constants and macros have no lowercase letters; names of variables and functions have some.

/// Whether a name is a macro's rather than a function's.
pub(crate) fn is_named_as_macro(name: &[u8]) -> bool {
    !name.iter().any(u8::is_ascii_lowercase)
}

/// Whether a name is a constant's, or that of a member of something that is no variable.
pub(crate) fn is_named_as_constant(name: &str) -> bool {
    let is_prefixed =
        name.starts_with('k') && name[1..].starts_with(|second: char| second.is_ascii_uppercase());
    is_prefixed || name.contains("::") || is_named_as_macro(name.as_bytes())
}

/// Whether a name is a variable's, or that of a member or element of a variable. A name that suggests choosing a
/// thread does not count: it may do so.
pub(crate) fn is_named_as_variable(text: &str) -> bool {
    let first = text.split(['.', '[']).next().unwrap_or_default();
    !is_named_as_constant(first) && !chooses(text) && !names_lanes(text)
}

/// Whether this is the text of a variable, or of a member or element of one.
pub(crate) fn is_variable(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.all(|byte| is_of_name(byte) || b".[]".contains(&byte)) && is_named_as_variable(text)
}

/// Whether nothing in a name suggests that each thread has its own.
pub(crate) fn is_named_as_one(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(['_', ':']);
    let names_threads = [
        "thread",
        "lane",
        "wave",
        "quad",
        "tid",
        "gid",
        "local",
        "invocation",
        "pixel",
        "uniform",
    ]
    .iter()
    .any(|word| name.contains(word));
    let own = [
        "gi", "id", "i", "j", "idx", "index", "kidx", "kindex", "my", "mine", "self", "slot", "bin", "item",
        "rank", "hash", "random", "per",
    ];
    !names_threads && !words.any(|word| own.contains(&word))
}

/// Whether this text names lanes, or is a call whose name suggests choosing a thread.
pub(crate) fn may_name_one(text: &str) -> bool {
    names_lanes(text) || text.contains('(') && chooses(text)
}

/// Whether a name suggests choosing a thread.
fn chooses(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["leader", "first", "last", "elect", "once", "ballot", "master"]
        .iter()
        .any(|word| text.contains(word))
}

fn names_lanes(text: &str) -> bool {
    let is_of_plane = |at: usize| text.get(..at).is_some_and(|before| before.ends_with(['p', 'P']));
    ["Wave", "Lane", "Quad", "lane", "wave"]
        .iter()
        .any(|word| text.match_indices(word).any(|(at, _)| !is_of_plane(at)))
}

pub(crate) fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
