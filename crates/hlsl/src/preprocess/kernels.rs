//! Unity's `#pragma kernel NAME MACRO MACRO=VALUE`: the entry points of a file, each with definitions of its own; and
//! what Unity itself defines for such a file.

use super::lex;

/// Entry points, and what is defined where they are compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelVariant {
    /// Name and value; none for those that are compiled as the file stands.
    pub defines: Vec<(String, String)>,
    pub kernels: Vec<String>,
}

/// Adds an entry point, as it stands behind `#pragma kernel`.
pub(super) fn note(found: &mut Vec<KernelVariant>, argument: &[u8]) {
    let mut words = words(argument).into_iter();
    let Some(name) = words.next() else { return };
    let defines: Vec<(String, String)> = words
        .map(|word| match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (word, "1".to_owned()),
        })
        .collect();
    match found.iter_mut().find(|known| known.defines == defines) {
        Some(known) => known.kernels.push(name),
        None => found.push(KernelVariant {
            defines,
            kernels: vec![name],
        }),
    }
}

/// The words, without comments.
fn words(argument: &[u8]) -> Vec<String> {
    let mut plain = Vec::new();
    let mut at = 0;
    while let Some(byte) = argument.get(at) {
        if let Some((_, end)) = lex::comment(argument, at) {
            plain.push(b' ');
            at = end;
        } else {
            plain.push(*byte);
            at += 1;
        }
    }
    let plain = String::from_utf8_lossy(&plain);
    // Blanks around `=` mean nothing.
    let parts: Vec<&str> = plain.split('=').map(str::trim).collect();
    parts.join("=").split_whitespace().map(str::to_owned).collect()
}

/// What Unity defines for a file that names its entry points: no build is without, and headers leave out what compute
/// shaders need where no platform is known. The platform is Direct3D 11, for which the language is HLSL as it stands; a
/// platform among `defines` is taken in its place (Unity manual, "Built-in shader macros").
#[must_use]
pub fn unity_defines(text: &[u8], defines: &[(String, String)]) -> Vec<(String, String)> {
    if !text.split(|byte| *byte == b'\n').any(is_kernel) {
        return Vec::new();
    }
    let has_platform = defines.iter().any(|(name, _)| name.starts_with("SHADER_API_"));
    let platform = (!has_platform).then_some(("SHADER_API_D3D11", "1"));
    let others = [
        ("SHADER_STAGE_COMPUTE", "1"),
        ("SHADER_TARGET", "50"),
        ("UNITY_VERSION", "202230"),
    ];
    let all = platform.into_iter().chain(others);
    all.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Whether a line is a `#pragma kernel`.
fn is_kernel(line: &[u8]) -> bool {
    let mut rest = Some(line);
    for word in [&b"#"[..], b"pragma", b"kernel"] {
        rest = rest.and_then(|rest| rest.trim_ascii_start().strip_prefix(word));
    }
    rest.and_then(<[u8]>::first).is_some_and(u8::is_ascii_whitespace)
}
