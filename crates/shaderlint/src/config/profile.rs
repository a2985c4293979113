//! Shader models by the names that compilers give their targets.

use shaderlint_linter::ShaderModel;

/// Reads a target such as `cs_6_6`. What no compiler knows is refused: it would silently mean the newest.
pub(crate) fn profile(text: &str) -> Result<ShaderModel, String> {
    let model: ShaderModel = text.parse()?;
    // As FXC and DXC have them; 6.10 is the newest that is published.
    let newest_minor = match model.major {
        4 | 5 => Some(1),
        6 => Some(10),
        _ => None,
    };
    if newest_minor.is_some_and(|newest| model.minor <= newest) {
        Ok(model)
    } else {
        Err(format!(
            "no shader model {model} is known: they are 4.0 to 5.1 and 6.0 to 6.10"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_models_are_read() {
        for text in ["cs_4_0", "cs_5_1", "6.0", "lib_6_9", "cs_6_10"] {
            assert!(profile(text).is_ok(), "{text}");
        }
        for text in ["cs_9_9", "cs_4_2", "cs_5_2", "cs_6_11", "cs_0_0", "six"] {
            assert!(profile(text).is_err(), "{text}");
        }
    }
}
