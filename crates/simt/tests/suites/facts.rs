//! What is found in a kernel, or by comparing two, as lines; and whether these are the lines that a case states.
//!
//! A fact has parts between commas. A case may leave parts out, but no fact: of each topic that it speaks of, it states all.

use shaderlint_hlsl::{FunctionId, NoIncludes, Problem, Shader, Version, preprocess, read_preprocessed};

use crate::cases::{Case, Kernel};
use crate::kernel::{self, Read};
use crate::pair::{self, Pair};

/// Something that facts are about.
pub(crate) struct Topic<T> {
    /// What its facts begin with.
    pub starts: &'static [&'static str],
    /// All its facts.
    pub facts: fn(&T) -> Vec<String>,
}

/// What a fact of one version of HLSL begins with. Without that, the version is unknown.
const VERSIONS: [(&str, Option<Version>); 4] = [
    ("HLSL 2018: ", Some(Version::V2018)),
    ("HLSL 2021: ", Some(Version::V2021)),
    ("HLSL 202x: ", Some(Version::V202x)),
    ("", None),
];

/// Compares the facts of a case with what is found.
pub(crate) fn check(case: &Case) -> Result<(), String> {
    let mut open: Vec<&str> = case.facts.iter().map(String::as_str).collect();
    let mut wrong = Vec::new();
    for (name, version) in VERSIONS {
        let stated: Vec<&str> = open.iter().filter_map(|fact| fact.strip_prefix(name)).collect();
        open.retain(|fact| !fact.starts_with(name));
        if stated.is_empty() {
            continue;
        }
        let differences = match &case.kernels[..] {
            [kernel] => check_topics(&stated, kernel::TOPICS, &Read::of(kernel, version)?)?,
            [first, second] => check_topics(&stated, pair::TOPICS, &Pair::of([first, second], version)?)?,
            _ => return Err("  a case has one kernel or two".to_owned()),
        };
        wrong.extend(
            differences
                .iter()
                .map(|(is, fact)| format!("  {is} {name}{fact}")),
        );
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

pub(crate) fn shader_of(kernel: &Kernel, version: Option<Version>) -> (Shader, Vec<Problem>) {
    let (mut unit, problems) = preprocess("suite.hlsl", kernel.text.as_bytes(), &[], &NoIncludes);
    unit.version = version;
    read_preprocessed(unit, problems, None)
}

/// The facts of topics on which what is stated is not what is found, and which of the two each is.
fn check_topics<T>(
    stated: &[&str],
    topics: &[Topic<T>],
    of: &T,
) -> Result<Vec<(&'static str, String)>, String> {
    let topic_of = |fact: &str| {
        let begins = |topic: &Topic<T>| topic.starts.iter().any(|start| fact.starts_with(start));
        topics.iter().position(begins)
    };
    let mut of_topics: Vec<Vec<&str>> = vec![Vec::new(); topics.len()];
    for fact in stated {
        let topic = topic_of(fact).ok_or_else(|| format!("  `{fact}` is no fact"))?;
        of_topics[topic].push(fact);
    }
    let mut differences = Vec::new();
    for (topic, stated) in topics.iter().zip(of_topics) {
        if stated.is_empty() {
            continue;
        }
        let found = (topic.facts)(of);
        let mut pairs = stated.iter().zip(&found);
        if found.len() != stated.len() || !pairs.all(|(stated, found)| states(stated, found)) {
            differences.extend(stated.iter().map(|fact| ("stated:", (*fact).to_owned())));
            differences.extend(found.into_iter().map(|fact| ("found: ", fact)));
        }
    }
    Ok(differences)
}

/// Whether a stated fact is what was found, without some of its parts. What stands behind a colon may be left out too.
fn states(stated: &str, found: &str) -> bool {
    let is_part = |stated: &str, found: &str| {
        let rest = found.strip_prefix(stated);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    let (mut stated, mut found) = (stated.split(", "), found.split(", "));
    let first = stated.next().zip(found.next());
    first.is_some_and(|(stated, found)| is_part(stated, found))
        && stated.all(|stated| found.any(|found| is_part(stated, found)))
}

/// A line for each.
pub(crate) fn lines<T>(all: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    all.iter().map(line).collect()
}

pub(crate) fn or_none(facts: Vec<String>, none: &str) -> Vec<String> {
    if facts.is_empty() {
        return vec![none.to_owned()];
    }
    facts
}

/// What the front end does not understand.
pub(crate) fn problems(problems: &[Problem]) -> Vec<String> {
    or_none(
        lines(problems, |problem| format!("problem: {}", problem.message)),
        "no problems",
    )
}

/// The parts of a fact.
pub(crate) fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(", ")
}

pub(crate) fn numbers(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(" ")
}

/// The kernel of a case.
pub(crate) fn entry_of(shader: &Shader) -> Result<FunctionId, String> {
    let entry = shader.entry_points().next();
    entry
        .map(|(entry, _)| entry)
        .ok_or_else(|| "  no entry point".to_owned())
}
