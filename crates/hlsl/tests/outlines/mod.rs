//! Source in, outline and problems out.

mod print;

use std::fmt::Write;

use shaderlint_hlsl::parse;

use self::print::outline;

/// Parses a source and compares its outline, and then its problems, one a line.
#[track_caller]
pub fn check(source: &str, expected: &str) {
    let (shader, problems) = parse(source.as_bytes().to_vec());
    let mut found = outline(&shader);
    for problem in &problems {
        let at = String::from_utf8_lossy(problem.span.slice(&shader.text)).into_owned();
        let at = at.lines().next().unwrap_or_default().to_owned();
        let _ = writeln!(found, "! {}: {at}", problem.message);
    }
    assert!(
        found.trim() == expected.trim(),
        "found:\n{found}\nexpected:\n{expected}"
    );
}
