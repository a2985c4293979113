//! Qualifiers in a text that change the meaning of floats or resources.

use std::sync::Arc;

use shaderlint_hlsl::Shader;

use crate::facts::naming_heuristics::is_of_name;

/// Qualifiers in a shader's text that change the meaning of floats or resources.
pub(crate) struct Qualifiers {
    /// The text after each `precise`, to the end of its statement, whatever variable it declares.
    pub precise: Vec<Vec<u8>>,
    /// The text contains `unorm` or `snorm`.
    pub has_norm: bool,
    /// The text contains `globallycoherent`, or a macro that may stand for it.
    pub is_coherent: bool,
}

impl Qualifiers {
    pub fn of(shader: &Shader) -> Arc<Qualifiers> {
        shader.once(|shader| {
            let text = &shader.text;
            let mut found = Qualifiers {
                precise: Vec::new(),
                has_norm: false,
                is_coherent: shader.globals.iter().any(|global| global.coherent),
            };
            let mut end = 0;
            for word in text.split(|byte| !is_of_name(*byte)) {
                end += word.len();
                match word {
                    b"precise" => {
                        let behind = text.get(end..).unwrap_or_default();
                        let statement = behind.split(|byte| *byte == b';').next().unwrap_or_default();
                        let letters = statement.iter().filter(|byte| !byte.is_ascii_whitespace());
                        found.precise.push(letters.copied().collect());
                    }
                    b"unorm" | b"snorm" => found.has_norm = true,
                    // Also on a parameter or a variable.
                    b"globallycoherent" => found.is_coherent = true,
                    _ => {}
                }
                end += 1;
            }
            found
        })
    }
}
