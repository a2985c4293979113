//! Stand-in until the parser is in.
use crate::*;
/// x
#[derive(Debug)]
pub struct TextProblem {
    /// x
    pub message: String,
    /// x
    pub span: Span,
}
/// x
pub fn parse(text: Vec<u8>) -> (Shader, Vec<TextProblem>) {
    (
        Shader {
            text,
            ..Shader::default()
        },
        Vec::new(),
    )
}
