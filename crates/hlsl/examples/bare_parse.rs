//! Parses every shader of some folders with tree-sitter and does nothing else: what `speed.sh` measures against.
//!
//! `cargo run --release --example bare_parse -- FOLDER…`. The files are those that the program looks for, as they are: no
//! includes, no macros, each once.
#![expect(
    clippy::disallowed_methods,
    reason = "a program to measure with, no part of the library"
)]

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use tree_sitter::Parser;

/// As the program's `walk.rs` has them.
const EXTENSIONS: [&str; 12] = [
    "hlsl", "hlsli", "ihlsl", "fx", "fxh", "compute", "cginc", "usf", "ush", "csh", "azsl", "azsli",
];

fn shaders(path: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in std::fs::read_dir(path)? {
            shaders(&entry?.path(), found)?;
        }
        return Ok(());
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    if extension.is_some_and(|extension| EXTENSIONS.contains(&&*extension.to_ascii_lowercase())) {
        found.push(path.to_owned());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    for folder in std::env::args_os().skip(1) {
        shaders(Path::new(&folder), &mut files)?;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_hlsl::LANGUAGE_HLSL.into())?;
    let (mut bytes, mut unread) = (0, 0);
    for file in &files {
        let text = std::fs::read(file)?;
        bytes += text.len();
        unread += usize::from(parser.parse(&text, None).is_none());
    }
    writeln!(
        std::io::stdout(),
        "{} files, {bytes} bytes, {unread} not parsed",
        files.len()
    )?;
    Ok(())
}
