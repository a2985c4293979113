//! The libraries, from bytes to findings.

use shaderlint_hlsl::{
    Exploration, NoIncludes, Preprocessed, Shader, Span, expressions, preprocess, read, statements,
    unity_defines,
};
use shaderlint_linter::{Settings, check_shader, suppressions};
use shaderlint_rules::RULES;
use shaderlint_simt::{LaneMap, Outcome, analyze, compare, evaluate};

use crate::checks;
use crate::input::Input;

/// The maximum of configurations of a text to check.
const CONFIGURATIONS: usize = 4;

/// The maximum of entry points of a text to run, and its maximum length for that: more would take long and show
/// nothing more.
const ENTRIES: usize = 3;
const LONGEST_RUN: usize = 4096;

/// Definitions made before a text is read.
fn defines() -> Vec<(String, String)> {
    [("SIZE", "64"), ("F(x)", "x"), ("__LINE__", "1")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}

/// The preprocessor, and the configurations of a text: places must be in files.
///
/// # Panics
/// If something is wrong.
pub fn preprocessor(bytes: &[u8]) {
    let input = Input::of(bytes);
    for defines in [Vec::new(), defines()] {
        let (unit, problems) = preprocess("0", input.main(), &defines, &input);
        checks::problems(&unit.sources, &problems);
        check_unit(&unit);
    }
    let (unit, _) = preprocess("0", input.main(), &[], &input);
    let mut exploration = Exploration::new(&|_, _, _| true, &|_| true);
    exploration.note(&unit, &[]);
    let preprocess = |defines: &[(String, String)]| preprocess("0", input.main(), defines, &input);
    for _ in 0..CONFIGURATIONS {
        let Some(found) = exploration.next(&preprocess) else {
            break;
        };
        checks::problems(&found.unit.sources, &found.problems);
        check_unit(&found.unit);
        exploration.note(&found.unit, &found.defines);
    }
    let _ = unity_defines(bytes, &[]);
}

/// Checks that every origin of the expanded text is in a file.
fn check_unit(unit: &Preprocessed) {
    let length = u32::try_from(unit.text.len()).unwrap_or(u32::MAX);
    // All of a short text, a sample of a long one.
    let step = 1 + unit.text.len() / 1024;
    for start in (0..length).step_by(step) {
        for end in [start, start + 1, start.saturating_add(17), length] {
            let span = Span {
                start,
                end: end.min(length),
            };
            let origins = [unit.origins.locate(span), unit.origins.editable(span)];
            for place in origins.into_iter().flatten() {
                let file = unit.sources.get(place.file).expect("a file");
                assert!(
                    place.start <= place.end && place.end as usize <= file.text.len(),
                    "{span:?} comes from {place:?}"
                );
            }
        }
    }
    for inactive in &unit.inactive {
        checks::place(&unit.sources, inactive.region, "inactive");
        checks::place(&unit.sources, inactive.condition, "condition");
        if let Some(taken) = inactive.taken {
            checks::place(&unit.sources, taken.region, "taken");
            checks::place(&unit.sources, taken.condition, "condition");
        }
    }
}

/// Parsing, names, types, constants and entry points: places must be in the text, and indices in the tree must be
/// valid.
///
/// # Panics
/// If something is wrong.
pub fn parser(bytes: &[u8]) {
    let input = Input::of(bytes);
    let (shader, problems) = read("0", input.main(), &[], &input);
    checks::problems(&shader.sources, &problems);
    check_tree(&shader);
}

fn check_tree(shader: &Shader) {
    let check = |span: Span| {
        assert!(
            span.start <= span.end && span.end as usize <= shader.text.len(),
            "{span:?} of {}",
            shader.text.len()
        );
    };
    for global in &shader.globals {
        check(global.span);
        check(global.name_span);
    }
    for function in &shader.functions {
        for span in [function.span, function.name_span, function.group_size_span] {
            check(span);
        }
        for parameter in &function.parameters {
            assert!((parameter.local.0 as usize) < function.locals.len());
        }
        let body = function.body.as_deref().unwrap_or_default();
        statements(body).for_each(|statement| check(statement.span));
        expressions(body).for_each(|expr| check(expr.span));
    }
    for (entry, function) in shader.entry_points() {
        assert!(function.group_size.is_some() && (entry.0 as usize) < shader.functions.len());
    }
}

/// The engine: it must end, and must never find a difference between a kernel and itself.
///
/// # Panics
/// If something is wrong.
pub fn engine(bytes: &[u8]) {
    if bytes.len() > LONGEST_RUN {
        return;
    }
    let (shader, _) = read("0", bytes, &[], &NoIncludes);
    for (entry, _) in shader.entry_points().take(ENTRIES) {
        let _ = analyze(&shader, entry);
        let given = |_: &str, _: &[u32], component: u32| component.wrapping_mul(0x9e37_79b9);
        let [first, again] =
            [(); 2].map(|()| evaluate(&shader, entry, 32, LaneMap::Linear, &[([0; 3], &given)]));
        assert_eq!(first, again, "two runs of one kernel differ");
        for run in compare((&shader, entry), (&shader, entry), &[LaneMap::Linear]) {
            let is_told_apart = matches!(
                run.outcome,
                Outcome::Differs(_) | Outcome::OutOfBounds { .. } | Outcome::Races { .. }
            );
            assert!(!is_told_apart, "a kernel differs from itself: {run:?}");
        }
    }
}

/// The linter and its reports: places must be in files, and each report must have its format.
///
/// # Panics
/// If something is wrong.
pub fn linter(bytes: &[u8]) {
    let (shader, problems) = read("0", bytes, &[], &NoIncludes);
    checks::problems(&shader.sources, &problems);
    let report = check_shader(&shader, RULES, &Settings::default());
    checks::report(&shader.sources, &report);
    let _ = suppressions(bytes);
    let reports = shaderlint::fuzzing::reports(bytes).unwrap_or_else(|error| panic!("{error:#}"));
    for (format, text) in reports {
        let text = String::from_utf8(text).unwrap_or_else(|error| panic!("{format}: {error}"));
        if ["json", "sarif", "gitlab"].contains(&format) {
            let value: Result<serde_json::Value, _> = serde_json::from_str(&text);
            value.unwrap_or_else(|error| panic!("{format}: {error}"));
        }
        if format == "concise" {
            assert!(
                text.lines().all(|line| line.starts_with("fuzzed.hlsl:")),
                "{text}"
            );
        }
    }
}
