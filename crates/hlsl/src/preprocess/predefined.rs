//! The macros that compilers predefine.

use crate::language::Version;

/// The macros that DXC defines for a compute shader of shader model `major`.`minor` in a version of the language.
///
/// A macro without a known number is defined as itself. Conditions assume a number for it. Code keeps the name, which
/// nothing declares: no proof depends on a number that a build may change.
///
/// FXC compiles models before 6.0, and defines none of these (DirectXShaderCompiler's wiki, "Predefined Version Macros";
/// `__hlsl_dx_compiler` tells the two compilers apart). The others were observed in DXC 3.7, which is a Clang and says so.
#[must_use]
pub fn predefined(major: u8, minor: Option<u8>, version: Option<Version>) -> Vec<(String, String)> {
    if major < 6 {
        return Vec::new();
    }
    let known = [(TARGET_MAJOR, major), (TARGET_STAGE, COMPUTE)];
    let known = known.map(|(name, value)| (name, Some(u32::from(value))));
    let stages = STAGES.map(|(name, value)| (name, Some(value)));
    let given = [
        (TARGET_MINOR, minor.map(u32::from)),
        (Version::MACRO, version.map(Version::number)),
    ];
    let of_clang = CLANG.map(|(name, value)| (name, Some(value)));
    let unknown = UNKNOWN.map(|name| (name, None));
    let of_compiler = COMPILER.into_iter().chain(of_clang).chain(unknown);
    { known.into_iter().chain(stages).chain(of_compiler).chain(given) }
        .map(|(name, value)| {
            let value = value.map_or_else(|| name.to_owned(), |value| value.to_string());
            (name.to_owned(), value)
        })
        .collect()
}

/// The number that conditions assume for a macro that is defined as itself: that of the first model with wave
/// intrinsics, of DXC's default version of the language, or of a current DXC.
pub(super) fn assumed_number(name: &[u8]) -> Option<u32> {
    match str::from_utf8(name).ok()? {
        TARGET_MINOR => Some(0),
        Version::MACRO => Some(Version::DEFAULT.number()),
        COMPILER_MINOR => Some(8),
        _ => None,
    }
}

/// Whether no build sets this macro: a compiler predefines it for some shader model or for C++, or the preprocessor
/// itself changes its value. [`TARGET_STAGE`] does not count: a file may have kernels for several stages.
pub(crate) fn is_predefined(name: &str) -> bool {
    name != TARGET_STAGE
        && (["__SHADER_TARGET_", "__SHADER_STAGE_", "__DXC_VERSION_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
            || name == Version::MACRO
            || name.as_bytes() == CPP
            || PREPROCESSOR.contains(&name)
            || CLANG.iter().any(|(known, _)| *known == name)
            || UNKNOWN.contains(&name)
            || COMPILER.iter().any(|(known, _)| *known == name))
}

/// The macro that names the stage for which a file is compiled.
pub const TARGET_STAGE: &str = "__SHADER_TARGET_STAGE";
const COMPUTE: u8 = 5;

/// The stages, with the numbers of `DXIL::ShaderKind`.
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

/// The macro that C++ compilers define and HLSL compilers do not: in DXC, `InitializeStandardPredefinedMacros` returns before it if
/// the language is HLSL. To FXC and Slang it is a name like any other.
pub(super) const CPP: &[u8] = b"__cplusplus";

const PREPROCESSOR: [&str; 5] = ["__LINE__", "__FILE__", "__INCLUDE_LEVEL__", "true", "false"];

const CLANG: [(&str, u32); 14] = [
    ("__clang__", 1),
    ("__clang_major__", 3),
    ("__clang_minor__", 7),
    ("__clang_patchlevel__", 0),
    ("__llvm__", 1),
    ("__GNUC__", 4),
    ("__GNUC_MINOR__", 2),
    ("__GNUC_PATCHLEVEL__", 1),
    ("__GXX_ABI_VERSION", 1002),
    ("__LITTLE_ENDIAN__", 1),
    ("__ORDER_LITTLE_ENDIAN__", 1234),
    ("__ORDER_BIG_ENDIAN__", 4321),
    ("__ORDER_PDP_ENDIAN__", 3412),
    ("__BYTE_ORDER__", 1234),
];

/// Predefined macros whose values are not modelled here.
const UNKNOWN: [&str; 48] = [
    "__DATE__",
    "__TIME__",
    "__TIMESTAMP__",
    "__BASE_FILE__",
    "__VERSION__",
    "__clang_version__",
    "__DXC_VERSION_RELEASE",
    "__DXC_VERSION_COMMITS",
    "__has_include",
    "__has_include_next",
    "__has_feature",
    "__has_extension",
    "__has_builtin",
    "__has_attribute",
    "__has_cpp_attribute",
    "__has_declspec_attribute",
    "__has_warning",
    "__is_identifier",
    "__COUNTER__",
    "__DECIMAL_DIG__",
    "__FLT_RADIX__",
    "__FLT_DECIMAL_DIG__",
    "__FLT_DENORM_MIN__",
    "__FLT_DIG__",
    "__FLT_EPSILON__",
    "__FLT_HAS_DENORM__",
    "__FLT_HAS_INFINITY__",
    "__FLT_HAS_QUIET_NAN__",
    "__FLT_MANT_DIG__",
    "__FLT_MAX_10_EXP__",
    "__FLT_MAX_EXP__",
    "__FLT_MAX__",
    "__FLT_MIN_10_EXP__",
    "__FLT_MIN_EXP__",
    "__FLT_MIN__",
    "__DBL_DENORM_MIN__",
    "__DBL_DIG__",
    "__DBL_EPSILON__",
    "__DBL_HAS_DENORM__",
    "__DBL_HAS_INFINITY__",
    "__DBL_HAS_QUIET_NAN__",
    "__DBL_MANT_DIG__",
    "__DBL_MAX_10_EXP__",
    "__DBL_MAX_EXP__",
    "__DBL_MAX__",
    "__DBL_MIN_10_EXP__",
    "__DBL_MIN_EXP__",
    "__DBL_MIN__",
];

const TARGET_MAJOR: &str = "__SHADER_TARGET_MAJOR";
const TARGET_MINOR: &str = "__SHADER_TARGET_MINOR";
const COMPILER_MINOR: &str = "__DXC_VERSION_MINOR";

const COMPILER: [(&str, Option<u32>); 3] = [
    ("__hlsl_dx_compiler", Some(1)),
    ("__DXC_VERSION_MAJOR", Some(1)),
    (COMPILER_MINOR, None),
];
