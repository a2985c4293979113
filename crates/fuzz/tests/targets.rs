//! The targets without a fuzzer: what once went wrong, and some edits of what they start from.

use std::fs;
use std::path::Path;

use shaderlint_fuzz::{TARGETS, mutate, on_deep_stack};

/// The longest text after an edit.
const LONGEST: usize = 4096;

/// How many edits each target gets, where that is not as many as are worth their time in every run of the tests.
const EDITS: &str = "SHADERLINT_FUZZ_EDITS";

/// Gives a target its texts, edited as often as `edits` says.
#[track_caller]
fn edited(name: &str, edits: u32) {
    let (_, target, seeds) = TARGETS
        .iter()
        .find(|(other, ..)| *other == name)
        .expect("a target");
    let seeds = seeds();
    assert!(!seeds.is_empty(), "{name} has nothing to start from");
    let asked = std::env::var(EDITS).ok();
    let edits = asked.map_or(edits, |asked| asked.parse().expect("a number"));
    for seed in 0..edits {
        let text = &seeds[seed as usize % seeds.len()];
        on_deep_stack(*target, &mutate(text, LONGEST, seed));
    }
}

#[test]
fn preprocessor() {
    edited("preprocessor", 400);
}

#[test]
fn parser() {
    edited("parser", 400);
}

#[test]
fn engine() {
    edited("engine", 160);
}

#[test]
fn linter() {
    edited("linter", 160);
}

#[test]
fn fixes() {
    edited("fixes", 160);
}

#[test]
fn configuration() {
    edited("configuration", 2000);
}

#[test]
fn server() {
    edited("server", 30);
}

/// `fixtures/hostile/TARGET/FILE` is what the target was once wrong about.
#[test]
fn what_once_went_wrong() {
    let hostile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hostile");
    for (name, target, _) in TARGETS {
        for entry in fs::read_dir(hostile.join(name)).into_iter().flatten() {
            let path = entry.expect("a file").path();
            on_deep_stack(target, &fs::read(&path).expect("a file"));
        }
    }
}

#[test]
fn edits_are_the_same_each_time_and_no_longer_than_allowed() {
    let text = b"groupshared uint g[64]; void f(uint a) { g[a] += 1; }";
    for seed in 0..200 {
        let edited = mutate(text, 60, seed);
        assert!(edited.len() <= 60);
        assert_eq!(edited, mutate(text, 60, seed));
    }
    assert_ne!(mutate(text, 60, 1), mutate(text, 60, 2));
}
