//! The C preprocessor of the system, to compare with.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

/// What `cpp` makes of a file, or of `input` where that is called `-`, and whether without complaint; `None` where it
/// is not installed.
pub fn cpp(options: &[String], file: &str, input: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut child = Command::new("cpp")
        .args(["-undef", "-nostdinc", "-P", "-w", "-x", "c"])
        .args(options)
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    // It may write before it has read all, so neither side may wait for the other.
    let output = thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().ok()
    })?;
    Some((output.stdout, output.status.success()))
}

/// The tokens of a text. Where white space stands in a string is no matter: compilers do not agree on it.
pub fn tokens(text: &[u8]) -> Vec<Vec<u8>> {
    const LONG: [&[u8]; 23] = [
        b"<<=", b">>=", b"...", b"->", b"++", b"--", b"<<", b">>", b"<=", b">=", b"==", b"!=", b"&&", b"||",
        b"+=", b"-=", b"*=", b"/=", b"%=", b"&=", b"|=", b"^=", b"##",
    ];
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80;
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let mut tokens = Vec::new();
    let mut rest = text.trim_ascii_start();
    while let Some(&first) = rest.first() {
        let length = if matches!(first, b'"' | b'\'') {
            let mut escaped = false;
            let closing = rest.iter().skip(1).position(|&byte| {
                let found = byte == first && !escaped;
                escaped = byte == b'\\' && !escaped;
                found
            });
            closing.map_or(rest.len(), |at| at + 2)
        } else if is_letter(first) || first.is_ascii_digit() {
            let word =
                |byte: u8| is_letter(byte) || byte.is_ascii_digit() || (!is_letter(first) && is_number(byte));
            rest.iter().position(|&byte| !word(byte)).unwrap_or(rest.len())
        } else {
            LONG.iter()
                .find(|long| rest.starts_with(long))
                .map_or(1, |long| long.len())
        };
        let (token, after) = rest.split_at(length);
        let mut token = token.to_vec();
        if first == b'"' {
            token.retain(|byte| *byte != b' ');
        }
        tokens.push(token);
        rest = after.trim_ascii_start();
    }
    tokens
}
