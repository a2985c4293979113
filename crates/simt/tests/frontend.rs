//! A ladder behind macros, helpers, accessors, templates and methods is what it is written out: every file of
//! `fixtures/frontend` that says what it `finds` is seen to hold that.
#![expect(clippy::disallowed_methods, reason = "fixtures are files")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use shaderlint_hlsl::{NoIncludes, Shader, read};
use shaderlint_simt::{Collective, Elements, analyze};

/// `Kind Operator count of array`, where the elements are at the start.
fn shown(shader: &Shader, found: &Collective) -> String {
    let array = match found.input {
        Elements::Array { global, .. } | Elements::Spread { global, .. } | Elements::Cell { global, .. } => {
            shader.globals[global.0 as usize].name.clone()
        }
        Elements::Register { .. } | Elements::OneRegister { .. } | Elements::Expression { .. } => {
            "a register".to_owned()
        }
    };
    format!("{:?} {:?} {} of {array}", found.kind, found.operator, found.count)
}

#[test]
fn the_engine_sees_through_the_language() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/frontend");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let (mut wrong, mut count) = (String::new(), 0);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let Some(expected) = text.lines().find_map(|line| line.strip_prefix("// finds: ")) else {
            continue;
        };
        count += 1;
        let (shader, _) = read("fixture.hlsl", text.as_bytes(), &[], &NoIncludes);
        let (entry, _) = shader.entry_points().next().unwrap();
        let analysis = analyze(&shader, entry);
        let found: Vec<String> = analysis
            .collectives
            .iter()
            .map(|found| shown(&shader, found))
            .collect();
        if found != [expected] || !analysis.races.is_empty() {
            let _ = writeln!(
                wrong,
                "{}: {found:?}, races {:?}, stopped {:?}",
                path.display(),
                analysis.races,
                analysis.stopped
            );
        }
    }
    assert!(count >= 8, "{count} files say what they hold");
    assert!(wrong.is_empty(), "{wrong}");
}
