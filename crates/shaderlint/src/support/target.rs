//! Shader models and versions of HLSL, by the names that compilers use.

/// The stages with thread groups, and libraries, whose entry points may have thread groups.
const STAGES: [&str; 4] = ["cs", "lib", "ms", "as"];

use shaderlint_hlsl::Version;
use shaderlint_linter::ShaderModel;

/// Reads a target such as `cs_6_6`. Rejects a model that no compiler knows: it would silently mean the newest
/// one.
pub(crate) fn profile(text: &str) -> Result<ShaderModel, String> {
    let model: ShaderModel = text.parse()?;
    let stage = text
        .split(|c: char| c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    if let Some(stage) = stage
        .strip_suffix('_')
        .or(Some(stage).filter(|stage| !stage.is_empty()))
        && !STAGES.contains(&stage)
    {
        let instead = STAGES
            .map(|stage| format!("{stage}_{}_{}", model.major, model.minor))
            .join(", ");
        return Err(format!(
            "`{stage}` has no thread groups: expected one of {instead}"
        ));
    }
    // The models of FXC and DXC. 6.10 is the newest published one.
    let newest_minor = match model.major {
        4 | 5 => Some(1),
        6 => Some(10),
        _ => None,
    };
    if newest_minor.is_some_and(|newest| model.minor <= newest) {
        Ok(model)
    } else {
        Err(format!(
            "unknown shader model {model}: expected 4.0 to 5.1 or 6.0 to 6.10"
        ))
    }
}

/// Reads a version of HLSL such as `2021`.
pub(crate) fn hlsl_version(text: &str) -> Result<Version, String> {
    Version::named(text).ok_or_else(|| {
        let names = Version::ALL.map(Version::name).join(", ");
        format!("`{text}` is not a version of HLSL: expected one of {names}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_versions_are_read() {
        assert_eq!(hlsl_version("2018"), Ok(Version::V2018));
        assert_eq!(
            hlsl_version("2019"),
            Err("`2019` is not a version of HLSL: expected one of 2016, 2017, 2018, 2021, 202x".to_owned())
        );
    }

    #[test]
    fn only_known_models_are_read() {
        for text in ["cs_4_0", "cs_5_1", "6.0", "lib_6_9", "cs_6_10", "6_6", "as_6_5"] {
            assert!(profile(text).is_ok(), "{text}");
        }
        for text in [
            "cs_9_9", "cs_4_2", "cs_5_2", "cs_6_11", "cs_0_0", "six", "ps_6_0", "_6_0", "x6.0",
        ] {
            assert!(profile(text).is_err(), "{text}");
        }
    }
}
