//! Paths as URIs and back.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The path as a URI reference. A relative path stays relative.
pub(crate) fn of(path: &Path) -> String {
    let text = path.display().to_string();
    let text = if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text
    };
    let scheme = match path.is_absolute() {
        false => "",
        true if text.starts_with('/') => "file://",
        true => "file:///",
    };
    let mut uri = scheme.to_owned();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// The file that a URI names, if it names one.
pub(crate) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    // The authority is empty, or this machine.
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.bytes();
    while let Some(byte) = left.next() {
        if byte == b'%' {
            let digits = [left.next()?, left.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    let has_drive = text.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if cfg!(windows) && has_drive {
        text.get(1..)?
    } else {
        &text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_references() {
        assert_eq!(of(Path::new("a b/c#\u{e9}.hlsl")), "a%20b/c%23%C3%A9.hlsl");
        // A first part with a colon would be a scheme.
        assert_eq!(of(Path::new("a:b.hlsl")), "a%3Ab.hlsl");
    }

    #[test]
    #[cfg(unix)]
    fn paths_come_back() {
        for path in ["/a/b.hlsl", "/a b/\u{e9}%20#.hlsl"] {
            assert_eq!(super::path(&of(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(of(Path::new("/a/b.hlsl")), "file:///a/b.hlsl");
        for other in [
            "untitled:Untitled-1",
            "file://server/a",
            "file:///%",
            "file:///%ff",
            "a",
        ] {
            assert_eq!(super::path(other), None, "{other}");
        }
    }
}
