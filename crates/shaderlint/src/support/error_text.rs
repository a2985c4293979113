//! Errors of libraries, reworded for users: operating systems write of their calls, and serde writes of Rust.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::support::config_error::ConfigError;
use crate::support::suggestions::{likeness, most_like};

/// An error and its causes, on one line.
pub(crate) fn of_error(error: &anyhow::Error) -> String {
    let causes = error.chain().map(|cause| match cause.downcast_ref() {
        Some(error) => of_io(error),
        None => cause.to_string(),
    });
    causes.collect::<Vec<_>>().join(": ")
}

/// The text of an I/O error. An error without an OS code is our own, and keeps its text.
fn of_io(error: &io::Error) -> String {
    match error.kind() {
        _ if error.raw_os_error().is_none() => error.to_string(),
        ErrorKind::NotFound => "no such file or folder".to_owned(),
        ErrorKind::NotADirectory => "a part of this path is a file".to_owned(),
        ErrorKind::IsADirectory => "a folder, not a file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => {
            let said = error.to_string();
            said.split(" (os error").next().unwrap_or(&said).to_owned()
        }
    }
}

/// Why the walk of a folder failed.
pub(crate) fn of_walk(error: &ignore::Error) -> String {
    match error {
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => of_walk(err),
        ignore::Error::WithPath { path, err } => format!("{}: {}", path.display(), of_walk(err)),
        // Its own text repeats the path.
        ignore::Error::Io(error) => error.kind().to_string(),
        other => other.to_string(),
    }
}

/// The error in the TOML file at `path`, with its position. `tables` are some of its tables, each with its
/// keys.
pub(crate) fn mistake(
    path: &Path,
    text: &str,
    error: &toml::de::Error,
    tables: &[(&str, &[&str])],
) -> ConfigError {
    let place = error.span().unwrap_or(0..0);
    let message = of_serde(error.message(), tables);
    let header = text.get(place.clone()).filter(|text| text.starts_with('['));
    let message = match header {
        Some(header) if message == "expected an array, found a table" => {
            format!("expected an array of tables: write `[{header}]`")
        }
        _ => message,
    };
    ConfigError::new(path, text, place, message)
}

/// Rewords a message of serde, if its form is known.
pub(crate) fn of_serde(message: &str, tables: &[(&str, &[&str])]) -> String {
    unknown_key(message, tables)
        .or_else(|| unknown_value(message))
        .or_else(|| missing(message))
        .or_else(|| other_type(message))
        .unwrap_or_else(|| message.to_owned())
}

fn unknown_key(message: &str, tables: &[(&str, &[&str])]) -> Option<String> {
    let (key, known) = name_and_known(message.strip_prefix("unknown field `")?)?;
    let elsewhere = tables.iter().flat_map(|(_, keys)| keys.iter().copied());
    let lead = format!("no key is called `{key}` here");
    let meant = most_like(key, known.iter().copied().chain(elsewhere));
    // Keys are short, and short words easily share half of their letters by chance.
    Some(match meant.filter(|meant| likeness(key, meant) > 0.6) {
        Some(meant) if known.contains(&meant) => format!("{lead}; did you mean `{meant}`?"),
        Some(meant) => {
            let table = tables.iter().find(|(_, keys)| keys.contains(&meant));
            let table = table.map_or("", |(table, _)| table);
            format!("{lead}; did you mean `{meant}` in `[{table}]`?")
        }
        None => format!("{lead}: the keys are {}", quoted(&known)),
    })
}

fn unknown_value(message: &str) -> Option<String> {
    let (value, known) = name_and_known(message.strip_prefix("unknown variant `")?)?;
    let lead = format!("`{value}` is none of {}", quoted(&known));
    Some(match most_like(value, known.iter().copied()) {
        Some(meant) => format!("{lead}; did you mean `{meant}`?"),
        None => lead,
    })
}

/// The name at the beginning, and the names that serde expects instead.
fn name_and_known(rest: &str) -> Option<(&str, Vec<&str>)> {
    let (name, known) = rest.rsplit_once("`, expected ")?;
    Some((name, known.split('`').skip(1).step_by(2).collect()))
}

fn quoted(names: &[&str]) -> String {
    let names = names.iter().map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}

fn missing(message: &str) -> Option<String> {
    let name = message.strip_prefix("missing field ")?;
    Some(format!("{name} is missing"))
}

fn other_type(message: &str) -> Option<String> {
    if message == "wanted string or table" {
        return Some("expected a string".to_owned());
    }
    let rest = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let found = match found {
        "map" => "a table".to_owned(),
        "sequence" => "an array".to_owned(),
        other => other
            .replacen("floating point", "number", 1)
            .replacen("integer", "number", 1),
    };
    let expected = match expected {
        "a map" => "a table",
        "a sequence" => "an array",
        "path string" => "a path",
        "f32" | "f64" => "a number",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    Some(format!("expected {expected}, found {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_told_in_our_words() {
        let of = |error: io::Error| of_io(&error);
        assert_eq!(of(io::Error::other("our own")), "our own");
        let gone = std::fs::read("there/is/none");
        assert_eq!(gone.map_err(of), Err("no such file or folder".to_owned()));
        let folder = std::fs::write(".", "");
        assert!(!folder.map_err(of).unwrap_err().contains("os error"));
        let error = ignore::Error::WithPath {
            path: "a/b".into(),
            err: Box::new(ignore::Error::Io(io::Error::new(
                ErrorKind::PermissionDenied,
                "IO error for operation on a/b: Permission denied (os error 13)",
            ))),
        };
        assert_eq!(of_walk(&error), "a/b: permission denied");
    }
}
