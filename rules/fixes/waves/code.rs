//! The code of a wave form.

use std::fmt::{self, Write};

/// Statements, one step in and each with its line break, or a function; and the number of barriers in it.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Code {
    pub text: String,
    pub barriers: usize,
}

impl Code {
    pub fn new(text: String) -> Code {
        Code { text, barriers: 0 }
    }

    pub fn push_barrier(&mut self, barrier: &str) {
        let _ = writeln!(self, "    {barrier}();");
        self.barriers += 1;
    }

    /// The statements as a block.
    pub fn in_braces(&self) -> String {
        format!("{{\n{}}}", self.text)
    }

    /// The statements for a place among others.
    pub fn without_braces(&self) -> String {
        let lines = self.text.lines();
        let lines = lines.map(|line| line.strip_prefix("    ").unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Write for Code {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.write_str(text)
    }
}
