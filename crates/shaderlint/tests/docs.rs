//! The book and the README say what the program does. `SNAPSHOTS=overwrite` writes the book's rule pages anew.
#![cfg(feature = "gpu")]

use std::path::{Path, PathBuf};
use std::process::Command;

use shaderlint_rules::RULES;
use snapbox::{Data, assert_data_eq};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_book_has_every_rules_page() {
    let contents = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let table = std::fs::read_to_string(root().join("docs/rules.md")).unwrap();
    for rule in RULES {
        let page = format!("rules/{}.md", rule.id);
        let expected = Data::read_from(&root().join("docs").join(&page), None);
        assert_data_eq!(rule.explanation, expected.raw());
        assert!(
            contents.contains(&page) && table.contains(&page),
            "{page} is not listed"
        );
    }
}

#[test]
fn the_readme_shows_what_is_printed() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let block = readme.split("```console\n$ shaderlint ").nth(1).unwrap();
    let (command, rest) = block.split_once('\n').unwrap();
    let (expected, _) = rest.split_once("```").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .args(command.split(' '))
        .current_dir(root())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_data_eq!(String::from_utf8_lossy(&output.stdout).into_owned(), expected);
}
