//! What a rule is, and what it gets to see.

use std::fmt;
use std::str::FromStr;

use memchr::memmem;
use shaderlint_hlsl::{Directives, Function, FunctionId, Global, GlobalId, Shader, Span, include_guard};
use shaderlint_simt::Analysis;

use crate::finding::Finding;
use crate::place::locate;
use crate::reach::reached;
use crate::suppress::OfFiles;

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// The code is right and could be faster.
    Perf,
    /// The code is wrong.
    Correctness,
    /// A comment for the linter says what is not so.
    Suppression,
}

impl Category {
    pub const ALL: [Category; 3] = [Category::Perf, Category::Correctness, Category::Suppression];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Category::Perf => "perf",
            Category::Correctness => "correctness",
            Category::Suppression => "suppression",
        }
    }

    /// How much its findings matter where nobody says otherwise.
    #[must_use]
    pub fn level(self) -> Level {
        match self {
            Category::Correctness => Level::Error,
            Category::Perf | Category::Suppression => Level::Warn,
        }
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not shown.
    Off,
    /// Shown, and no reason to fail.
    Info,
    Warn,
    Error,
}

/// The level that a configuration gives a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenLevel {
    /// It names the rule: all that the rule finds has this level.
    OfRule(Level),
    /// It names the category, or says nothing: a finding may have a lower level.
    OfCategory(Level),
}

impl GivenLevel {
    /// The rule's level, whichever finding it is.
    #[must_use]
    pub fn level(self) -> Level {
        match self {
            GivenLevel::OfRule(level) | GivenLevel::OfCategory(level) => level,
        }
    }

    /// The level of a finding that has at most the level `worth` by itself.
    #[must_use]
    pub fn of(self, worth: Level) -> Level {
        match self {
            GivenLevel::OfRule(level) => level,
            GivenLevel::OfCategory(level) => level.min(worth),
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Off => "off",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        })
    }
}

/// A rule is data and a function.
#[derive(Debug)]
pub struct Rule {
    /// Kebab-case; reads well after "allow".
    pub id: &'static str,
    pub category: Category,
    /// One line, without a full stop.
    pub summary: &'static str,
    /// Ids under which others have published a rule for the same thing. One may stand for several of our rules.
    pub aliases: &'static [&'static str],
    /// The rule's page, in Markdown.
    pub explanation: &'static str,
    /// Adds what it finds in one entry point's run.
    pub check: fn(&Context<'_>, &mut Vec<Finding>),
}

impl Rule {
    /// Whether `id` is this rule's id or one of its aliases.
    #[must_use]
    pub fn is_named(&self, id: &str) -> bool {
        self.id == id || self.aliases.contains(&id)
    }
}

/// What a rule sees: one entry point and what its run showed.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub shader: &'a Shader,
    pub entry: FunctionId,
    pub analysis: &'a Analysis,
    /// The target's, whichever way it was found out.
    pub shader_model: ShaderModel,
    /// Whether fixes are looked at. Where only places matter, what it takes to prove one is spared.
    pub wants_fixes: bool,
    /// Which form of a fix comes first, where there are two.
    pub form: FixForm,
    pub(crate) suppressions: &'a OfFiles,
    /// Whether nobody waits for the findings any more: proofs may end early.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl<'a> Context<'a> {
    /// A global by its id.
    #[must_use]
    pub fn global(&self, id: GlobalId) -> Option<&'a Global> {
        self.shader.globals.get(id.0 as usize)
    }

    /// A function by its id.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> Option<&'a Function> {
        self.shader.functions.get(id.0 as usize)
    }

    /// The functions that a run may get to, itself among them.
    pub fn reached(&self) -> impl Iterator<Item = &'a Function> {
        let reached = reached(self.shader, [self.entry]);
        let functions = self.shader.functions.iter().zip(reached);
        functions.filter_map(|(function, is_reached)| is_reached.then_some(function))
    }

    /// Whether a comment silences what `rule` finds here. Where a rule makes one finding of several places, those that
    /// are silenced stay apart.
    #[must_use]
    pub fn is_allowed(&self, rule: &Rule, place: Span) -> bool {
        let place = locate(self.shader, place);
        place.is_some_and(|place| self.suppressions.allowing(rule, place).is_some())
    }

    /// Whether the group has more than one row: then nothing is known of which threads share a wave
    /// (`HLSL_SM_6_6_Derivatives.md`).
    #[must_use]
    pub fn has_rows(&self) -> bool {
        let [_, y, z] = self.analysis.group_size;
        y > 1 || z > 1
    }
}

/// What the caller sets for a whole run.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The shader model compiled for; `None` leaves it to what the file itself says, else 6.0.
    pub shader_model: Option<ShaderModel>,
    /// How much it matters what a rule finds in the file of this path.
    pub level: &'a dyn Fn(&Rule, &str) -> GivenLevel,
    /// Which form of a fix comes first, where there are two.
    pub form: FixForm,
    /// Whether nobody waits for the report any more. This is asked before each entry point and each rule; what is left
    /// then is not looked at, and the report is not to be shown.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings {
            shader_model: None,
            level: &|rule, _| GivenLevel::OfCategory(rule.category.level()),
            form: FixForm::default(),
            is_stopped: &|| false,
        }
    }
}

/// How a fix that takes more than a line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FixForm {
    /// A function of the file, and a call of it: short where it stands.
    #[default]
    Helper,
    /// All in its place: often faster.
    Inline,
}

impl FixForm {
    pub const ALL: [FixForm; 2] = [FixForm::Helper, FixForm::Inline];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FixForm::Helper => "helper",
            FixForm::Inline => "inline",
        }
    }

    #[must_use]
    pub fn other(self) -> FixForm {
        match self {
            FixForm::Helper => FixForm::Inline,
            FixForm::Inline => FixForm::Helper,
        }
    }
}

/// A shader model, e.g. 6.5. Ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShaderModel {
    pub major: u8,
    pub minor: u8,
}

impl ShaderModel {
    /// The first with wave intrinsics.
    pub const WAVES: ShaderModel = ShaderModel { major: 6, minor: 0 };
    /// The first with prefixes of `&`, `|` and `^` (`WaveMultiPrefix*`, `HLSL_ShaderModel6_5.md`).
    pub const MULTI_PREFIX: ShaderModel = ShaderModel { major: 6, minor: 5 };
    /// Has every intrinsic that a rule asks for.
    pub const NEWEST: ShaderModel = ShaderModel { major: 6, minor: 9 };
    /// The first with `[WaveSize]` (`HLSL_SM_6_6_WaveSize.md`).
    pub const WAVE_SIZE: ShaderModel = ShaderModel { major: 6, minor: 6 };

    /// The model that a file names: by `#pragma target`, or the newest for which an effect compiles a compute shader.
    #[must_use]
    pub fn named_in(text: &[u8]) -> Option<ShaderModel> {
        let targeted = text.split(|byte| *byte == b'\n').find_map(pragma_target);
        targeted.or_else(|| of_effect(text))
    }

    /// Whether Unity compiles the first file by FXC for Direct3D, which has no wave intrinsics: the file has kernels of Unity's, and
    /// nothing asks for DXC in every build (Unity manual, "HLSL pragma directives": `use_dxc`, `require`).
    #[must_use]
    pub fn is_of_fxc_in_unity(shader: &Shader) -> bool {
        // Others write `#pragma kernel` as well, in files with other endings.
        let first = shader.sources.files.first();
        let Some(file) = first.filter(|file| file.path.to_ascii_lowercase().ends_with(".compute")) else {
            return false;
        };
        let lines = file.text.derived::<Directives>();
        let guards = usize::from(include_guard(&file.text, &lines).is_some());
        let mut depth = 0_usize;
        // Each with whether every build has it.
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
        // Behind a colon stand the keywords of the builds that it is for.
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
        // Of the APIs behind it, if any are named there.
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

    /// The model that has what the shader uses, if that is one with wave intrinsics.
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

/// The names of wave intrinsics that a text calls, and declares nothing by: what a file declares by such a name stands in
/// for the intrinsic where there is none.
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
        // What only some builds ask for.
        for asks in [
            "#if 0\n#pragma use_dxc\n#endif",
            "#ifdef FAST\n#pragma require wavebasic\n#endif",
            "#if defined(SHADER_API_VULKAN)\n#pragma use_dxc\n#endif",
            "#pragma multi_compile _ FAST\n#pragma require wavebasic : FAST",
        ] {
            assert!(is_of_fxc(&format!("#pragma kernel main\n{asks}")), "{asks}");
        }
        assert!(!is_of_fxc(""));
        // A kernel that uses wave intrinsics cannot be for FXC; one with functions of their names can.
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
