//! The shader model that a file is for.

use std::fmt;
use std::str::FromStr;

use memchr::memmem;
use shaderlint_hlsl::{Directives, Shader, include_guard};

/// A shader model, e.g. 6.5. Ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShaderModel {
    pub major: u8,
    pub minor: u8,
}

impl ShaderModel {
    /// Older than all: for what needs no particular model.
    pub const ANY: ShaderModel = ShaderModel { major: 0, minor: 0 };
    /// The first with wave intrinsics.
    pub const WAVES: ShaderModel = ShaderModel { major: 6, minor: 0 };
    /// The first with prefixes of `&`, `|` and `^` (`WaveMultiPrefix*`, `HLSL_ShaderModel6_5.md`).
    pub const MULTI_PREFIX: ShaderModel = ShaderModel { major: 6, minor: 5 };
    /// The first with `[WaveSize]` (`HLSL_SM_6_6_WaveSize.md`).
    pub const WAVE_SIZE: ShaderModel = ShaderModel { major: 6, minor: 6 };

    /// The model that a file names: by `#pragma target`, or the newest for which an effect compiles a compute shader.
    #[must_use]
    pub fn named_in(text: &[u8]) -> Option<ShaderModel> {
        let targeted = text.split(|byte| *byte == b'\n').find_map(pragma_target);
        targeted.or_else(|| of_effect(text))
    }

    /// Whether Unity compiles the first file by FXC for Direct3D, which has no wave intrinsics: the file has kernels
    /// for Unity, and nothing asks for DXC in every build (Unity manual, "HLSL pragma directives": `use_dxc`,
    /// `require`).
    #[must_use]
    pub fn is_of_fxc_in_unity(shader: &Shader) -> bool {
        // Other projects write `#pragma kernel` too, in files with other extensions.
        let first = shader.sources.files.first();
        let Some(file) = first.filter(|file| file.path.to_ascii_lowercase().ends_with(".compute")) else {
            return false;
        };
        let lines = file.text.derived::<Directives>();
        let guards = usize::from(include_guard(&file.text, &lines).is_some());
        let mut depth = 0_usize;
        // Each pragma, and whether every build has it.
        let mut pragmas: Vec<(String, bool)> = Vec::new();
        for line in lines.iter() {
            match &*line.keyword {
                b"if" | b"ifdef" | b"ifndef" => depth += 1,
                b"endif" => depth = depth.saturating_sub(1),
                b"pragma" => {
                    let argument = String::from_utf8_lossy(&line.argument);
                    pragmas.push((argument.trim().to_ascii_lowercase(), depth <= guards));
                }
                _ => {}
            }
        }
        // The keywords behind a colon restrict a pragma to some builds.
        let of_all = pragmas
            .iter()
            .filter(|(argument, is_of_all)| *is_of_all && !argument.contains(':'))
            .map(|(argument, _)| argument);
        let names = |word: &str| {
            let mut words = pragmas
                .iter()
                .filter_map(|(argument, _)| argument.split_whitespace().next());
            words.any(|first| first == word)
        };
        let of_dxc = [
            "wave",
            "quad",
            "native16bit",
            "int64",
            "inlineraytracing",
            "barycentrics",
        ];
        let mut required = of_all.clone().filter(|argument| argument.starts_with("require"));
        let requires = required.any(|argument| of_dxc.iter().any(|feature| argument.contains(feature)));
        // Only for the APIs behind it, if it names any.
        let mut asked = of_all.filter_map(|argument| argument.strip_prefix("use_dxc"));
        let is_asked = asked.any(|apis| apis.trim().is_empty() || apis.contains("d3d"));
        let mut refused = pragmas
            .iter()
            .filter_map(|(argument, _)| argument.strip_prefix("never_use_dxc"));
        let is_refused = refused.any(|apis| apis.trim().is_empty() || apis.contains("d3d11"));
        names("kernel") && (is_refused || !is_asked && !requires && Self::used_in(shader).is_none())
    }

    /// The model a file asks for: by `#pragma target`, `[WaveSize]` or the wave intrinsics it uses; else 6.0.
    #[must_use]
    pub fn of(shader: &Shader) -> ShaderModel {
        let text = shader.sources.files.first().map_or(&[][..], |file| &file.text);
        Self::named_in(text)
            .max(Self::used_in(shader))
            .unwrap_or(Self::WAVES)
    }

    /// The model that has the features that the shader uses, if it has wave intrinsics.
    fn used_in(shader: &Shader) -> Option<ShaderModel> {
        let used = wave_intrinsics(&shader.text);
        let names = |start: &[u8]| used.iter().any(|word| word.starts_with(start));
        let mut functions = shader.functions.iter();
        if functions.any(|function| function.wave_size.is_some()) {
            Some(Self::WAVE_SIZE)
        } else if names(b"WaveMultiPrefix") || names(b"WaveMatch") {
            Some(Self::MULTI_PREFIX)
        } else if names(b"WaveGet") || names(b"WaveActive") || names(b"WavePrefix") || names(b"WaveRead") {
            Some(Self::WAVES)
        } else {
            None
        }
    }
}

impl fmt::Display for ShaderModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for ShaderModel {
    type Err = String;

    /// Reads `cs_6_6`, `lib_6_6`, `6_6` and `6.6`.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        let parsed = numbers
            .split_once(['_', '.'])
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        match parsed {
            Some((major, minor)) => Ok(ShaderModel { major, minor }),
            None => Err("expected a profile such as cs_6_6".to_owned()),
        }
    }
}

/// The wave intrinsics that a text calls and does not declare: a file may declare its own stand-in for an intrinsic.
fn wave_intrinsics(text: &[u8]) -> Vec<&[u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (mut called, mut declared) = (Vec::new(), Vec::new());
    for at in memmem::find_iter(text, b"Wave") {
        let (before, from) = text.split_at(at);
        let length = from.iter().position(|byte| !is_part(byte)).unwrap_or(from.len());
        let (name, behind) = from.split_at(length);
        let is_called = behind.trim_ascii_start().first() == Some(&b'(');
        if before.last().is_some_and(is_part) || !is_called {
            continue;
        }
        let before = before.trim_ascii_end();
        let word = before.rsplit(|byte| !is_part(byte)).next().unwrap_or_default();
        let is_member = before.ends_with(b".") || before.ends_with(b"::");
        let is_declared =
            !matches!(word, b"" | b"return" | b"else" | b"do" | b"case") && !word[0].is_ascii_digit();
        if is_declared {
            declared.push(name);
        } else if !is_member {
            called.push(name);
        }
    }
    called.retain(|name| !declared.contains(name));
    called
}

/// The model in a line `#pragma target 5.0`.
fn pragma_target(line: &[u8]) -> Option<ShaderModel> {
    let line = std::str::from_utf8(line).ok()?.trim().strip_prefix('#')?;
    let target = line
        .trim_start()
        .strip_prefix("pragma")?
        .trim_start()
        .strip_prefix("target")?;
    target.split_whitespace().next()?.parse().ok()
}

/// The newest model in calls such as `CompileShader(cs_5_0, main())`.
fn of_effect(text: &[u8]) -> Option<ShaderModel> {
    let calls =
        memmem::find_iter(text, b"CompileShader").filter_map(|at| text.get(at + b"CompileShader".len()..));
    let profiles = calls.filter_map(|behind| {
        let arguments = behind.trim_ascii_start().strip_prefix(b"(")?.trim_ascii_start();
        let end = arguments
            .iter()
            .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
        let profile = std::str::from_utf8(arguments.get(..end)?).ok()?;
        profile.starts_with("cs_").then(|| profile.parse().ok())?
    });
    profiles.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read() {
        for (text, expected) in [
            ("cs_6_6", "6.6"),
            ("6.0", "6.0"),
            ("lib_6_8", "6.8"),
            ("cs_5_0", "5.0"),
        ] {
            assert_eq!(
                text.parse::<ShaderModel>().map(|model| model.to_string()),
                Ok(expected.to_owned())
            );
        }
        for text in ["", "cs", "cs_6", "6_x", "cs_999_0"] {
            assert!(text.parse::<ShaderModel>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_effect_names_its_model() {
        let of = |text: &str| ShaderModel::named_in(text.as_bytes()).map(|model| model.to_string());
        assert_eq!(
            of("SetComputeShader(CompileShader( cs_5_0, main()));"),
            Some("5.0".to_owned())
        );
        assert_eq!(
            of("CompileShader(vs_5_0, VS()); CompileShader(cs_4_0, A()); CompileShader(cs_5_1, B());"),
            Some("5.1".to_owned())
        );
        assert_eq!(of("CompileShader(vs_5_0, VS());"), None);
    }

    #[test]
    fn unity_takes_fxc_where_nothing_asks_for_dxc() {
        let is_of_fxc = |pragmas: &str| {
            let text = format!("{pragmas}\n[numthreads(64, 1, 1)] void main() {{}}\n");
            let (shader, _) =
                shaderlint_hlsl::read("a.compute", text.as_bytes(), &[], &shaderlint_hlsl::NoIncludes);
            ShaderModel::is_of_fxc_in_unity(&shader)
        };
        assert!(is_of_fxc("#pragma kernel main"));
        assert!(is_of_fxc("#pragma kernel main\n#pragma use_dxc metal vulkan"));
        for asks in [
            "use_dxc",
            "use_dxc d3d11 vulkan",
            "require WaveBasic",
            "require int64bufferatomics",
        ] {
            assert!(
                !is_of_fxc(&format!("#pragma kernel main\n#pragma {asks}")),
                "{asks}"
            );
        }
        // Only some builds ask for it.
        for asks in [
            "#if 0\n#pragma use_dxc\n#endif",
            "#ifdef FAST\n#pragma require wavebasic\n#endif",
            "#if defined(SHADER_API_VULKAN)\n#pragma use_dxc\n#endif",
            "#pragma multi_compile _ FAST\n#pragma require wavebasic : FAST",
        ] {
            assert!(is_of_fxc(&format!("#pragma kernel main\n{asks}")), "{asks}");
        }
        assert!(!is_of_fxc(""));
        // A kernel with wave intrinsics cannot be for FXC; one with functions of their names can.
        let with = |text: &str| is_of_fxc(&format!("#pragma kernel main\n{text}"));
        let used = "uint All(uint a) { return WaveActiveSum(a); }";
        assert!(!with(used));
        assert!(with("uint WaveActiveSum(uint a) { return a; }"));
        assert!(with(
            "struct Q { uint WaveActiveMax(uint b) { return b; } uint M() { return WaveActiveMax(1); } };"
        ));
        assert!(with(
            "struct Q { uint m; }; uint Of(Q q) { return q.WaveActiveMax(4); }"
        ));
        assert!(with("uint Of(uint WaveActiveMax) { return (WaveActiveMax); }"));
        assert!(is_of_fxc(
            "#pragma kernel main\n#pragma use_dxc\n#pragma never_use_dxc d3d11"
        ));
        assert!(with(&format!(
            "uint WaveActiveSum(uint a) {{ return a; }}\n{used}"
        )));
    }

    #[test]
    fn pragma_target_is_read() {
        let five = Some(ShaderModel { major: 5, minor: 0 });
        assert_eq!(pragma_target(b"#pragma target 5.0"), five);
        assert_eq!(pragma_target(b"  # pragma  target 5.0 // why\r"), five);
        assert_eq!(pragma_target(b"#pragma once"), None);
    }
}
