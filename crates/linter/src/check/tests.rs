use shaderlint_hlsl::{Expr, ExprKind, Function, NoIncludes, Span, Stmt, StmtKind, Type};

use super::*;
use crate::finding::{At, Edit, Fix, Label, Safety, Verdict};
use crate::fix::settle;

/// Finds every `old` and replaces it by `new;`, on two lines.
const RULE: Rule = Rule {
    id: "old-word",
    category: Category::Perf,
    summary: "",
    aliases: &["old-alias"],
    explanation: "",
    check: |context, findings| {
        let text = String::from_utf8_lossy(&context.shader.text);
        for (start, word) in text.match_indices("old;") {
            let start = u32::try_from(start).unwrap_or(0);
            let place = Span {
                start,
                end: start + 4,
            };
            findings.push(Finding {
                entry: context.entry,
                message: word.to_owned(),
                shape: None,
                verdict: Verdict::Proved,
                needs: ShaderModel::ANY,
                worth: Level::Error,
                primary: Label {
                    place,
                    text: String::new(),
                },
                secondary: Vec::new(),
                notes: Vec::new(),
                no_fix: None,
                fix: Some(Fix {
                    title: "use the new word".to_owned(),
                    safety: Safety::Safe,
                    proof: None,
                    notes: Vec::new(),
                    edits: vec![Edit {
                        is_block: true,
                        // Groups of different sizes come to different fixes.
                        ..Edit::new(
                            At::Over(place),
                            format!("{{\n    new{};\n}}", context.analysis.group_size[0]),
                        )
                    }],
                    other_form: None,
                }),
            });
        }
    },
};

#[test]
fn what_nobody_waits_for_is_not_looked_at() {
    let shader = shader("[numthreads(1, 1, 1)] void a() { old; }");
    let checked = std::cell::Cell::new(0);
    let settings = Settings {
        // Before the entry point, and before its only rule.
        is_stopped: &|| checked.replace(checked.get() + 1) >= 1,
        ..Settings::default()
    };
    assert_eq!(
        check_shader(&shader, &[RULE], &Settings::default())
            .findings
            .len(),
        1
    );
    assert!(check_shader(&shader, &[RULE], &settings).findings.is_empty());
    assert_eq!(checked.get(), 2);
}

fn shader(text: &str) -> Shader {
    shaderlint_hlsl::read("a.hlsl", text.as_bytes(), &[], &NoIncludes).0
}

/// A run of the entry point at `index` with a group of `threads`.
fn run(index: u32, threads: u32) -> (FunctionId, Analysis) {
    let analysis = Analysis {
        group_size: [threads, 1, 1],
        ..Analysis::default()
    };
    (FunctionId(index), analysis)
}

fn check(text: &str, runs: &[(FunctionId, Analysis)]) -> Report {
    check_analyses(&shader(text), runs, &[RULE], &Settings::default())
}

#[test]
fn what_two_entry_points_show_is_said_once() {
    let report = check("old; x; old;", &[run(0, 64), run(1, 64)]);
    let starts: Vec<u32> = report
        .findings
        .iter()
        .map(|finding| finding.primary.place.start)
        .collect();
    assert_eq!(starts, [0, 8]);
}

#[test]
fn an_allowed_finding_is_not_said() {
    let report = check(
        "// shaderlint: allow(old-alias): measured\nold;\nold; // shaderlint: allow(old-word)\nold;",
        &[run(0, 64)],
    );
    assert_eq!(report.findings.len(), 1);
}

/// The same as a rule whose advice needs wave intrinsics.
const OF_WAVES: Rule = Rule {
    check: |context, findings| {
        (RULE.check)(context, findings);
        for finding in findings {
            finding.needs = ShaderModel::WAVES;
        }
    },
    ..RULE
};

#[test]
fn a_comment_is_used_by_a_finding_that_the_target_is_too_old_for() {
    let text = "old;\nold; // shaderlint: allow(old-word)";
    let check = |model: &str| {
        let settings = Settings {
            shader_model: model.parse().ok(),
            ..Settings::default()
        };
        let report = check_analyses(&shader(text), &[run(0, 64)], &[OF_WAVES], &settings);
        (report.findings.len(), report.allowed.len(), report.used.len())
    };
    assert_eq!(check("6.0"), (1, 1, 1));
    assert_eq!(check("5.0"), (0, 0, 1));
}

#[test]
fn fixes_keep_line_endings_and_indentation_and_settle() {
    let text = "void f()\r\n{\r\n\told;\r\n\told; // \u{e9}\r\n}\r\n";
    let look = |text: &[u8]| check(&String::from_utf8_lossy(text), &[run(0, 64)]);
    let settled = settle(text.as_bytes(), false, look, |report| &report.findings);
    let expected = "void f()\r\n{\r\n\t{\r\n\t\tnew64;\r\n\t}\r\n\t{\r\n\t\tnew64;\r\n\t} // \u{e9}\r\n}\r\n";
    assert_eq!(String::from_utf8_lossy(&settled.text), expected);
    assert_eq!((settled.fixed.len(), settled.last.findings.len()), (2, 0));
}

#[test]
fn a_block_stands_where_a_person_would_put_it() {
    let fixed = |text: &str| {
        let look = |text: &[u8]| check(&String::from_utf8_lossy(text), &[run(0, 64)]);
        let settled = settle(text.as_bytes(), false, look, |report| &report.findings);
        String::from_utf8_lossy(&settled.text).into_owned()
    };
    assert_eq!(
        fixed("    if (a)\n        old;\n    b;\n"),
        "    if (a)\n    {\n        new64;\n    }\n    b;\n"
    );
    assert_eq!(
        fixed("\telse\r\n\t\told;\r\n"),
        "\telse\r\n\t{\r\n\t\tnew64;\r\n\t}\r\n"
    );
    assert_eq!(
        fixed("    uint a;  old;\n"),
        "    uint a;\n    {\n        new64;\n    }\n"
    );
    assert_eq!(fixed("old;"), "{\n    new64;\n}");
}

/// `void helper() { old; } void a() { helper(); } void b() { … }`, where `b` calls too if told so.
fn with_helper(b_calls: bool) -> Shader {
    let text = "void helper() { old; } void a() {} void b() {}";
    let function = |name: &str, calls: bool| {
        let start = text
            .find(&format!("void {name}"))
            .map_or(0, |start| u32::try_from(start).unwrap_or(0));
        let call = Stmt {
            kind: StmtKind::Expr(Expr {
                kind: ExprKind::Call(FunctionId(0), Vec::new()),
                ty: Type::Void,
                span: Span::default(),
            }),
            span: Span::default(),
        };
        Function {
            name: name.to_owned(),
            name_span: Span::default(),
            span: Span {
                start,
                end: start + if name == "helper" { 22 } else { 11 },
            },
            parameters: Vec::new(),
            locals: Vec::new(),
            returns: Type::Void,
            body: Some(if calls { vec![call] } else { Vec::new() }),
            group_size: None,
            group_size_span: Span::default(),
            wave_size: None,
            is_instance: false,
            is_called_elsewhere: false,
        }
    };
    Shader {
        functions: vec![
            function("helper", false),
            function("a", true),
            function("b", b_calls),
        ],
        ..shader(text)
    }
}

#[test]
fn a_fix_in_a_shared_function_needs_every_entry_point_to_agree() {
    let is_fixed = |shader: &Shader, runs: &[(FunctionId, Analysis)]| {
        let report = check_analyses(shader, runs, &[RULE], &Settings::default());
        report.findings.iter().all(|finding| finding.fix.is_some())
    };
    assert!(is_fixed(&with_helper(true), &[run(1, 64), run(2, 64)]));
    assert!(!is_fixed(&with_helper(true), &[run(1, 64), run(2, 128)]));
    // A function that is no kernel may be one of another stage. Kernels are looked at in some variant.
    let helper = "void h() { old; } [numthreads(64, 1, 1)] void a() { h(); }";
    assert!(is_fixed(&shader(helper), &[run(1, 64)]));
    let pixels = format!("{helper} float4 p() : SV_Target {{ h(); return 0; }}");
    assert!(!is_fixed(&shader(&pixels), &[run(1, 64)]));
}

#[test]
fn group_sizes_out_of_bounds_are_named() {
    assert_eq!(bad_group_size([64, 1, 1]), None);
    assert_eq!(bad_group_size([1024, 1, 1]), None);
    assert!(bad_group_size([0, 1, 1]).is_some());
    assert!(bad_group_size([2048, 1, 1]).is_some());
    assert!(bad_group_size([u32::MAX; 3]).is_some());
}
