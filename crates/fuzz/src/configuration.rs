//! Configuration files, arguments, and comments that suppress findings.

use shaderlint_linter::suppressions;

/// The kinds of configuration that the first line of a text may select.
const NAMES: [&str; 7] = [
    "shaderlint.toml",
    "shadertoolsconfig.json",
    "baseline.toml",
    "kernel.toml",
    "pipeline.toml",
    "--profile",
    "-D",
];

/// Reads a configuration, after a line with its name: the place of an error must be inside the text. A text with any
/// other first line is a shader with comments.
///
/// # Panics
/// If something is wrong.
pub fn configuration(bytes: &[u8]) {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let name = NAMES.iter().find(|name| name.as_bytes() == line);
    let Some(name) = name else {
        comments(bytes);
        return;
    };
    let rest = bytes.get(line.len() + 1..).unwrap_or_default();
    // The file's reader reports that this is not a text.
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    if let Err(wrong) = shaderlint::fuzzing::configuration(name, text) {
        assert!(!wrong.message.is_empty(), "{name}: nothing is said");
        if let Some(place) = wrong.place {
            let is_inside = text.get(place.clone()).is_some();
            assert!(
                is_inside,
                "{name}: {place:?} of {}: {}",
                text.len(),
                wrong.message
            );
        }
    }
}

fn comments(bytes: &[u8]) {
    let (allowed, problems) = suppressions(bytes);
    for (place, id) in allowed.iter().flat_map(|one| &one.ids) {
        let text = bytes.get(place.clone()).expect("a place in the text");
        assert_eq!(String::from_utf8_lossy(text), *id);
    }
    for problem in problems {
        let place = problem.place.expect("a place");
        assert!(
            place.start <= place.end && place.end as usize <= bytes.len(),
            "{problem:?}"
        );
    }
}
