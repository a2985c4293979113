//! What the compiler defines by itself.

use super::dead::CPP;
use crate::language::Version;

/// What DXC defines for a compute shader of shader model `major`.`minor` in a version of the language, which is its default
/// where nobody says so.
/// For models before 6.0, which FXC compiles, it is nothing (DirectXShaderCompiler's wiki, "Predefined Version Macros";
/// `__hlsl_dx_compiler` is what tells the two apart).
#[must_use]
pub fn predefined(major: u8, minor: u8, version: Option<Version>) -> Vec<(String, String)> {
    if major < 6 {
        return Vec::new();
    }
    let model = [
        ("__SHADER_TARGET_MAJOR", major),
        ("__SHADER_TARGET_MINOR", minor),
        (TARGET_STAGE, COMPUTE),
    ];
    let model = model.map(|(name, value)| (name, u32::from(value)));
    let version = (Version::MACRO, version.unwrap_or(Version::DEFAULT).number());
    let all = model.into_iter().chain(STAGES).chain(COMPILER).chain([version]);
    all.map(|(name, value)| (name.to_owned(), value.to_string()))
        .collect()
}

/// Whether a name is one of those, or of those of another model, or that of C++ compilers, or one that the preprocessor gives
/// another value by itself: no build sets it. The stage may be another one, where
/// there are kernels for several.
pub(crate) fn is_predefined(name: &str) -> bool {
    name != TARGET_STAGE
        && (["__SHADER_TARGET_", "__SHADER_STAGE_", "__DXC_VERSION_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
            || name == Version::MACRO
            || name.as_bytes() == CPP
            || PREPROCESSOR.contains(&name)
            || COMPILER.iter().any(|(known, _)| *known == name))
}

/// The macro that tells for which stage a file is compiled.
pub const TARGET_STAGE: &str = "__SHADER_TARGET_STAGE";
const COMPUTE: u8 = 5;

/// The numbers are those of `DXIL::ShaderKind`.
const STAGES: [(&str, u32); 9] = [
    ("__SHADER_STAGE_PIXEL", 0),
    ("__SHADER_STAGE_VERTEX", 1),
    ("__SHADER_STAGE_GEOMETRY", 2),
    ("__SHADER_STAGE_HULL", 3),
    ("__SHADER_STAGE_DOMAIN", 4),
    ("__SHADER_STAGE_COMPUTE", COMPUTE as u32),
    ("__SHADER_STAGE_LIBRARY", 6),
    ("__SHADER_STAGE_MESH", 13),
    ("__SHADER_STAGE_AMPLIFICATION", 14),
];

const PREPROCESSOR: [&str; 6] = [
    "__LINE__",
    "__FILE__",
    "__DATE__",
    "__TIME__",
    "__COUNTER__",
    "__INCLUDE_LEVEL__",
];

const COMPILER: [(&str, u32); 3] = [
    ("__hlsl_dx_compiler", 1),
    ("__DXC_VERSION_MAJOR", 1),
    ("__DXC_VERSION_MINOR", 8),
];
