//! One input that holds several files.

use shaderlint_hlsl::{Includes, SourceFile};

/// A line with this start begins another file.
const NEXT_FILE: &[u8] = b"//-- ";

/// The files of an input: the first is the one to read, and the others are included by number.
pub struct Input<'t>(Vec<&'t [u8]>);

impl<'t> Input<'t> {
    pub fn of(bytes: &'t [u8]) -> Input<'t> {
        let mut parts = Vec::new();
        let mut start = 0;
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if line.starts_with(NEXT_FILE) {
                parts.push(bytes.get(start..at).unwrap_or_default());
                start = at;
            }
            at += line.len();
        }
        parts.push(bytes.get(start..).unwrap_or_default());
        Input(parts)
    }

    pub fn main(&self) -> &'t [u8] {
        self.0.first().copied().unwrap_or_default()
    }
}

impl Includes for Input<'_> {
    fn resolve(&self, _: &[&str], path: &str, _: bool) -> Option<SourceFile> {
        let number: usize = path.parse().ok()?;
        let text = self.0.get(number)?;
        Some(SourceFile {
            path: path.to_owned(),
            text: (*text).into(),
        })
    }
}
