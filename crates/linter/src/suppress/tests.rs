//! Where comments silence, what is wrong in them, and how they are taken out.

use shaderlint_hlsl::SourceFile;

use super::*;
use crate::fix::apply;
use crate::level::{Category, Level};
use crate::rule::Rule;
use crate::unused::unused_suppressions;

const RULE: Rule = Rule {
    id: "a-rule",
    category: Category::Perf,
    summary: "",
    aliases: &["its-alias"],
    explanation: "",
    check: |_, _| {},
};

/// The finding is where `text` says FOUND. Why it is allowed, if it is.
fn reason(text: &str) -> Option<String> {
    let start = text.find("FOUND").unwrap();
    let file = SourceFile {
        path: "a.hlsl".to_owned(),
        text: text.as_bytes().into(),
    };
    let sources = Sources { files: vec![file] };
    let place = in_main_file(start..start + 5);
    SuppressionIndex::of(&sources)
        .allowing(|id| RULE.is_named(id), place)
        .map(|(_, reason)| reason)
}

#[track_caller]
fn check(text: &str, is_allowed: bool) {
    assert_eq!(reason(text).is_some(), is_allowed, "{text}");
}

#[test]
fn on_the_line_or_alone_before_it() {
    check("FOUND // shaderlint: allow(a-rule): measured", true);
    check("// shaderlint: allow(a-rule)\r\n\tFOUND", true);
    check("/* shaderlint: allow( other , its-alias ) */\nFOUND", true);
    check("/* shaderlint: allow(a-rule) */ FOUND", true);
    check("// shaderlint: allow(a-rule)\n// why so\n/* ... */\nFOUND", true);
    check("// seen before. shaderlint: allow(a-rule)\nFOUND", true);
    check("x; // shaderlint: allow(a-rule)\nFOUND", false);
    check("// shaderlint: allow(a-rule)\n\n  \r\n// more\n\nFOUND", true);
    check("x; // shaderlint: allow(a-rule)\n\nFOUND", false);
    check("// shaderlint: allow(a-rule)\nx;\nFOUND", false);
    check("// shaderlint: allow(other)\nFOUND", false);
    check("FOUND\n// shaderlint: allow(a-rule)", false);
    check("FOUND; shaderlint: allow(a-rule)", false);
    check("FOUND", false);
}

#[test]
fn for_the_whole_file() {
    check("FOUND\n// shaderlint: allow-file(a-rule): generated", true);
    check("// shaderlint: allow-file(other, a-rule)\n\n\nFOUND", true);
    check("x; // shaderlint: allow-file(a-rule)\nFOUND", false);
    check("FOUND // shaderlint: allow-file(a-rule)", false);
}

#[test]
fn reasons_are_kept() {
    assert_eq!(
        reason("FOUND // shaderlint: allow(a-rule): measured: 3 %  \r\n"),
        Some("measured: 3 %".to_owned())
    );
    assert_eq!(
        reason("/* shaderlint: allow(a-rule): as is */ FOUND"),
        Some("as is".to_owned())
    );
    assert_eq!(reason("FOUND // shaderlint: allow(a-rule)"), Some(String::new()));
}

/// What is complained of: the text under the place, then the message.
#[track_caller]
fn complains(text: &str, expected: &[(&str, &str)]) {
    let (_, problems) = suppressions(text.as_bytes());
    let said: Vec<(&str, &str)> = problems
        .iter()
        .map(|problem| {
            let place = problem.place.unwrap();
            (&text[place.start as usize..place.end as usize], &*problem.message)
        })
        .collect();
    assert_eq!(said, expected, "{text}");
}

#[test]
fn blanket_forms_are_refused() {
    let blanket =
        "`allow` must name its rules: write `allow(rule-id): reason` or `allow-file(rule-id): reason`";
    complains("// shaderlint: allow", &[("allow", blanket)]);
    complains("// shaderlint: allow: all of it", &[("allow", blanket)]);
    complains("// shaderlint: allow()", &[("allow()", blanket)]);
    complains("// shaderlint:allow-file(*)", &[("allow-file(*)", blanket)]);
    complains(
        "x; // shaderlint: allow(a, all): why",
        &[("allow(a, all)", blanket)],
    );
    complains("// shaderlint: allow(a", &[("allow", blanket)]);
    check("// shaderlint: allow(all)\nFOUND", false);
    check("// shaderlint: allow(*, a-rule)\nFOUND", false);
}

#[test]
fn what_is_not_understood_is_told() {
    let form = "write `allow(rule-id): reason` or `allow-file(rule-id): reason`";
    let unknown = format!("unknown directive `disable`: {form}");
    complains("// shaderlint: disable(a)", &[("disable", &unknown)]);
    let file = "`allow-file` must be on a line of its own";
    complains(
        "x; // shaderlint: allow-file(a)",
        &[("// shaderlint: allow-file(a)", file)],
    );
    complains("// as shaderlint: disable says", &[]);
    // Taking out its first line would leave the rest as code.
    let goes_on = "this comment continues on the next line, but a comment to shaderlint must not";
    complains(
        "/* shaderlint: allow(a)\n and so on */",
        &[("/* shaderlint: allow(a)", goes_on)],
    );
    complains(
        "// shaderlint: allow(a) \\\nx;",
        &[("// shaderlint: allow(a) \\", goes_on)],
    );
    complains("// shaderlint: allow(a) // shaderlint: b", &[]);
}

/// What is left of the text once all is taken out that allows nothing.
#[track_caller]
fn cleaned(text: &str, expected: &str) {
    let mut text = text.as_bytes().to_vec();
    loop {
        let (found, _) = suppressions(&text);
        let unused = unused_suppressions(&RULE, Level::Warn, &found, &[], |id| id != "unknown");
        let applied = apply(&text, unused.iter().filter_map(|one| one.fix.as_ref()));
        if applied.count == 0 {
            break;
        }
        text = applied.text;
    }
    assert_eq!(String::from_utf8_lossy(&text), expected);
}

#[test]
fn what_allows_nothing_is_taken_out() {
    cleaned("a;\n  // shaderlint: allow(x): why\nb;\n", "a;\nb;\n");
    cleaned(
        "a; // shaderlint: allow(x): why\r\nb; /* shaderlint: allow(x) */ c;",
        "a;\r\nb; c;",
    );
    cleaned("a; // on it. shaderlint: allow(x): why\nb;", "a; // on it.\nb;");
    cleaned("// shaderlint: allow( x , y,z ): why\n", "");
    cleaned(
        "// shaderlint: allow(x, unknown, y): why\n",
        "// shaderlint: allow(unknown): why\n",
    );
    cleaned(
        "// shaderlint: allow(unknown, x)\n",
        "// shaderlint: allow(unknown)\n",
    );
}

/// A comment is a blank between words, and the end of a macro's line.
#[test]
fn what_stands_around_it_stays_as_it_is() {
    for (text, expected) in [
        ("return/* shaderlint: allow(x) */0;", "return 0;"),
        ("n +/* shaderlint: allow(x) */+ +m;", "n + + +m;"),
        ("#define Q/* shaderlint: allow(x) */7\n", "#define Q 7\n"),
        ("#define F/* shaderlint: allow(x) */(a) a\n", "#define F (a) a\n"),
        (
            "#define T(a) \\\n    a \\\n    // shaderlint: allow(x)\nb;\n",
            "#define T(a) \\\n    a \\\n\nb;\n",
        ),
        (
            "#if 1 \\\r\n// shaderlint: allow(x)\r\nb;\r\n",
            "#if 1 \\\r\n\r\nb;\r\n",
        ),
        (
            "a;\n// shaderlint: allow(x)\nb = __LINE__;\n",
            "a;\n\nb = __LINE__;\n",
        ),
        // A carriage return ends a line.
        (
            "// shaderlint: allow(x): r\r    a += 4;\nb;\n",
            "    a += 4;\nb;\n",
        ),
        ("a; // shaderlint: allow(x)\rb;\rc;\r", "a;\rb;\rc;\r"),
    ] {
        cleaned(text, expected);
    }
}

#[test]
fn what_is_used_is_left_alone() {
    let text = b"// shaderlint: allow(x, y)\n";
    let (found, _) = suppressions(text);
    let unused = unused_suppressions(&RULE, Level::Warn, &found, &[in_main_file(21..22)], |_| true);
    let places: Vec<FileSpan> = unused.iter().map(|one| one.primary.place).collect();
    assert_eq!(places, [in_main_file(24..25)]);
    // That it is not used may itself be allowed.
    cleaned(
        "// shaderlint: allow-file(a-rule): the build of others needs them\n// shaderlint: allow(x)\n",
        "// shaderlint: allow-file(a-rule): the build of others needs them\n// shaderlint: allow(x)\n",
    );
}
