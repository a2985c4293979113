//! Unity's `#pragma kernel NAME MACRO MACRO=VALUE`: the entry points of a file, each with definitions of its own; and
//! what Unity itself defines for such a file.

/// Entry points, and what is defined where they are compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelVariant {
    /// Name and value; none for those that are compiled as the file stands.
    pub defines: Vec<(String, String)>,
    pub kernels: Vec<String>,
}

/// The sets of definitions that a file names for its entry points, in its order. Those of includes do not count.
#[must_use]
pub fn kernel_variants(text: &[u8]) -> Vec<KernelVariant> {
    let mut found: Vec<KernelVariant> = Vec::new();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for words in text.split(|byte| *byte == b'\n').filter_map(kernel) {
        let mut words = words.into_iter();
        let Some(name) = words.next() else { continue };
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
    found
}

/// What Unity defines for a file that names its entry points: no build is without, and headers leave out what compute
/// shaders need where no platform is known. The platform is Direct3D 11, for which the language is HLSL as it stands; a
/// platform among `defines` is taken in its place (Unity manual, "Built-in shader macros").
#[must_use]
pub fn unity_defines(text: &[u8], defines: &[(String, String)]) -> Vec<(String, String)> {
    if !text
        .split(|byte| *byte == b'\n')
        .any(|line| kernel(line).is_some())
    {
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

/// The words behind `#pragma kernel`.
fn kernel(line: &[u8]) -> Option<Vec<String>> {
    let line = line.trim_ascii_start().strip_prefix(b"#")?;
    let line = line.trim_ascii_start().strip_prefix(b"pragma")?;
    let line = line.trim_ascii_start().strip_prefix(b"kernel")?;
    if !line.first().is_some_and(u8::is_ascii_whitespace) {
        return None;
    }
    let line = String::from_utf8_lossy(line).into_owned();
    let line = line.split("//").next().unwrap_or_default();
    // Blanks around `=` mean nothing.
    let parts: Vec<&str> = line.split('=').map(str::trim).collect();
    Some(parts.join("=").split_whitespace().map(str::to_owned).collect())
}
