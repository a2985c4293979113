//! The builds that Unity's pragmas in a file declare.
//!
//! `#pragma kernel NAME MACRO MACRO=VALUE` names an entry point and the definitions that it is compiled with.
//! `#pragma multi_compile _ A B` and `#pragma shader_feature A` list keywords. Each build defines one of them, or none for `_`
//! (Unity manual, "Declare shader keywords"). Unity also defines macros of its own.

use super::comments::without_comments;
use super::outline;

/// Entry points that are compiled with the same definitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelVariant {
    /// Name and value of each definition; empty if the file is compiled as it stands.
    pub defines: Vec<(String, String)>,
    pub kernels: Vec<String>,
}

/// Adds the entry point that follows `#pragma kernel`.
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
    let plain = without_comments(argument);
    let plain = String::from_utf8_lossy(&plain);
    // Blanks around `=` are ignored.
    let parts: Vec<&str> = plain.split('=').map(str::trim).collect();
    parts.join("=").split_whitespace().map(str::to_owned).collect()
}

/// Keywords to choose from: each build defines one. `None` stands for a build without any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeywordSet(pub Vec<Option<String>>);

impl KeywordSet {
    /// The keyword of a build that makes no choice: none if the set allows that, otherwise the first keyword.
    #[must_use]
    pub fn default(&self) -> Option<String> {
        let has_none = self.0.contains(&None);
        self.0.first().filter(|_| !has_none).cloned().flatten()
    }
}

/// The sets of keywords that the pragmas of a file declare, in order. Included files, and conditions around a pragma,
/// are ignored.
#[must_use]
pub fn keyword_sets(text: &[u8]) -> Vec<KeywordSet> {
    pragmas(text)
        .iter()
        .filter_map(|argument| keyword_set(argument))
        .collect()
}

/// The text that follows each `#pragma`.
fn pragmas(text: &[u8]) -> Vec<Vec<u8>> {
    let directives = outline::directives(text).into_iter();
    let pragmas = directives.filter(|directive| directive.keyword == b"pragma");
    pragmas.map(|directive| directive.argument).collect()
}

fn keyword_set(argument: &[u8]) -> Option<KeywordSet> {
    let mut words = words(argument).into_iter();
    let kind = words.next()?;
    let is_feature = kind.starts_with("shader_feature");
    let suffixes = kind
        .strip_prefix("shader_feature")
        .or_else(|| kind.strip_prefix("multi_compile"))?;
    // `multi_compile_fog` and similar pragmas name sets that the engine knows.
    let is_known = |suffix: &str| suffix.is_empty() || suffix == "local" || STAGES.contains(&suffix);
    if !suffixes.split('_').all(is_known) {
        return None;
    }
    let is_none = |word: &String| word.bytes().all(|byte| byte == b'_');
    let mut choices: Vec<Option<String>> = words.map(|word| (!is_none(&word)).then_some(word)).collect();
    if let ([Some(_)], true) = (&choices[..], is_feature) {
        choices.insert(0, None);
    }
    (!choices.is_empty()).then_some(KeywordSet(choices))
}

/// The stages that a set of keywords may be for.
const STAGES: [&str; 6] = ["vertex", "fragment", "hull", "domain", "geometry", "raytracing"];

/// The macros that Unity defines for every build of a file, beside `defines`.
///
/// For a file that names its entry points, these are Unity's own macros, including a platform: without one, headers
/// leave out what compute shaders need. The platform is Direct3D 11, where the language is plain HLSL, unless
/// `defines` has another one (Unity manual, "Built-in shader macros"). For each set of keywords that requires a
/// choice, the first keyword is added, unless `defines` has one of the set.
#[must_use]
pub fn unity_defines(text: &[u8], defines: &[(String, String)]) -> Vec<(String, String)> {
    let is_defined = |name: &str| defines.iter().any(|(known, _)| known == name);
    let pragmas = pragmas(text);
    let mut all: Vec<(String, String)> = Vec::new();
    if pragmas.iter().any(|argument| names_kernel(argument)) {
        let has_platform = defines.iter().any(|(name, _)| name.starts_with("SHADER_API_"));
        let platform = (!has_platform).then_some(("SHADER_API_D3D11", "1"));
        let others = [
            ("SHADER_STAGE_COMPUTE", "1"),
            ("SHADER_TARGET", "50"),
            ("UNITY_VERSION", "202230"),
        ];
        let macros = platform.into_iter().chain(others);
        all.extend(macros.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    for set in pragmas.iter().filter_map(|argument| keyword_set(argument)) {
        let has_choice = set.0.iter().flatten().any(|keyword| is_defined(keyword));
        let default = set.default().filter(|_| !has_choice);
        all.extend(default.map(|keyword| (keyword, "1".to_owned())));
    }
    all
}

/// Whether a `#pragma` names an entry point.
fn names_kernel(argument: &[u8]) -> bool {
    let rest = argument.trim_ascii_start().strip_prefix(b"kernel");
    rest.and_then(<[u8]>::first).is_some_and(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pragma: &str, expected: &[&[&str]]) {
        let sets = keyword_sets(pragma.as_bytes());
        let shown: Vec<Vec<&str>> = sets
            .iter()
            .map(|KeywordSet(choices)| {
                choices
                    .iter()
                    .map(|choice| choice.as_deref().unwrap_or("_"))
                    .collect()
            })
            .collect();
        assert_eq!(shown, expected, "{pragma}");
    }

    #[test]
    fn pragmas_declare_keywords() {
        check("#pragma multi_compile _ FANCY", &[&["_", "FANCY"]]);
        check("#pragma multi_compile SMALL BIG // two\n", &[&["SMALL", "BIG"]]);
        check("#pragma multi_compile_local __ A B", &[&["_", "A", "B"]]);
        check("#pragma multi_compile ONE", &[&["ONE"]]);
        check("#pragma shader_feature X", &[&["_", "X"]]);
        check("#pragma shader_feature_local_fragment X Y", &[&["X", "Y"]]);
        check(
            "#/**/pragma shader_feature _ X\n#pragma multi_compile A B",
            &[&["_", "X"], &["A", "B"]],
        );
        check(
            "#pragma multi_compile_fog\n#pragma multi_compile\n#pragma kernel A B\n",
            &[],
        );
    }

    #[test]
    fn a_build_has_one_keyword_of_each_set() {
        let text = b"#pragma multi_compile SMALL BIG\n#pragma multi_compile _ FANCY\n";
        let of = |defines: &[(String, String)]| unity_defines(text, defines);
        let one = |name: &str| (name.to_owned(), "1".to_owned());
        assert_eq!(of(&[]), [one("SMALL")]);
        assert_eq!(of(&[one("BIG")]), []);
    }
}
