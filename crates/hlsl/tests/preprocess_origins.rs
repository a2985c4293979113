//! Where expanded text came from.

use shaderlint_hlsl::{FileSpan, Includes, Preprocessed, SourceFile, Span, preprocess};

struct Files<'a>(&'a [(&'a str, &'a str)]);

impl Includes for Files<'_> {
    fn resolve(&self, _: &[&str], path: &str, _: bool) -> Option<SourceFile> {
        let (path, text) = self.0.iter().find(|(name, _)| *name == path)?;
        Some(SourceFile {
            path: (*path).to_owned(),
            text: text.as_bytes().into(),
        })
    }
}

/// The place as `path: text`.
fn shown(unit: &Preprocessed, place: Option<FileSpan>) -> String {
    let Some(place) = place else {
        return "-".to_owned();
    };
    let file = unit.sources.get(place.file).expect("the place's file");
    let text = String::from_utf8_lossy(&file.text[place.start as usize..place.end as usize]);
    match file.path.as_str() {
        "main" => text.into_owned(),
        path => format!("{path}: {text}"),
    }
}

/// `cases`: a part of the expanded text, and what `locate` and `editable` give for it; `=` is the same text.
#[track_caller]
fn check(main: &str, files: &[(&str, &str)], cases: &[(&str, &str, &str)]) {
    let (unit, _) = preprocess("main", main.as_bytes(), &[], &Files(files));
    let text = String::from_utf8(unit.text.clone()).expect("text");
    for (part, located, editable) in cases {
        let start = text.find(part).unwrap_or_else(|| panic!("{part:?} in {text:?}"));
        let span = Span {
            start: u32::try_from(start).expect("short"),
            end: u32::try_from(start + part.len()).expect("short"),
        };
        let expected = |wanted: &str| {
            if wanted == "=" {
                (*part).to_owned()
            } else {
                wanted.to_owned()
            }
        };
        assert_eq!(
            shown(&unit, unit.origins.locate(span)),
            expected(located),
            "locate {part:?} in {text:?}"
        );
        assert_eq!(
            shown(&unit, unit.origins.editable(span)),
            expected(editable),
            "editable {part:?} in {text:?}"
        );
    }
}

#[test]
fn verbatim_text() {
    let main = "int a; // c\nint /* d */ b;\nint c\\\nd;\n";
    check(
        main,
        &[],
        &[
            ("int a;", "=", "="),
            ("a", "=", "="),
            ("b;", "=", "="),
            ("int  b", "int /* d */ b", "int /* d */ b"),
            ("a; \nint", "a; // c\nint", "a; // c\nint"),
            ("cd;", "c\\\nd;", "c\\\nd;"),
            ("int cd", "int c\\\nd", "int c\\\nd"),
        ],
    );
}

#[test]
fn macro_calls() {
    let main = "#define N 64\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\n#define SYNC Barrier();\nx = MAX(left, N + 1) * N; SYNC y";
    check(
        main,
        &[],
        &[
            // Whole calls may be replaced, with and without what is around them.
            (
                "((left) > (64 + 1) ? (left) : (64 + 1))",
                "MAX(left, N + 1)",
                "MAX(left, N + 1)",
            ),
            (
                "x = ((left) > (64 + 1) ? (left) : (64 + 1)) * 64",
                "x = MAX(left, N + 1) * N",
                "x = MAX(left, N + 1) * N",
            ),
            (
                "((left) > (64 + 1) ? (left) : (64 + 1)) * ",
                "MAX(left, N + 1) * ",
                "MAX(left, N + 1) * ",
            ),
            // A part of one may not.
            ("left", "=", "-"),
            ("(left)", "MAX(left, N + 1)", "-"),
            ("64 + 1", "MAX(left, N + 1)", "-"),
            ("+ 1", "=", "-"),
            ("x = ((left)", "x = MAX(left, N + 1)", "-"),
            ("(64 + 1)) * 64", "MAX(left, N + 1) * N", "-"),
            ("* 64;", "* N;", "* N;"),
            ("Barrier();", "SYNC", "SYNC"),
            ("Barrier", "SYNC", "-"),
            ("Barrier(); y", "SYNC y", "SYNC y"),
        ],
    );
}

#[test]
fn calls_that_reach_past_their_name() {
    check(
        "#define NAME f\n#define f(x) x.y\na NAME /* c */ (1) b NAME c -NAME",
        &[],
        &[
            ("1 .y", "NAME /* c */ (1)", "NAME /* c */ (1)"),
            ("f c", "NAME c", "NAME c"),
            ("-f", "-NAME", "-NAME"),
        ],
    );
    // Blanks put in to keep tokens apart belong to no call.
    check(
        "#define N -1\n-N-E",
        &[],
        &[("-1-E", "N-E", "N-E"), ("- -1", "-N", "-N"), ("-E", "=", "=")],
    );
    check("#define E\na E b", &[], &[("a  b", "a E b", "a E b")]);
}

#[test]
fn directives() {
    let main = "a;\n#if 0\nb;\n#endif\nc;\n#define F(x) x\nd; F(1\n#if 1\n2\n#endif\n) e";
    check(
        main,
        &[],
        &[
            ("a;", "=", "="),
            ("c;", "=", "="),
            ("a;\nc;", "a;\n#if 0\nb;\n#endif\nc;", "-"),
            ("1", "=", "-"),
            ("d; 1 2 e", "d; F(1\n#if 1\n2\n#endif\n) e", "-"),
            ("e", "=", "="),
        ],
    );
}

#[test]
fn includes() {
    let files = [("a", "in a;\n#include \"b\"\nend a;\n"), ("b", "in b; N;\n")];
    check(
        "#define N 3\nbefore;\n#include \"a\" // c\nafter; N",
        &files,
        &[
            ("in a", "a: in a", "a: in a"),
            ("in b", "b: in b", "b: in b"),
            ("3;", "b: N;", "b: N;"),
            ("in a;\nin b", "a: in a;\n#include \"b\"", "-"),
            ("in b; 3;\nend", "a: #include \"b\"\nend", "-"),
            ("before;\nin a", "before;\n#include \"a\"", "-"),
            (
                "before;\nin a;\nin b; 3;\nend a;\nafter",
                "before;\n#include \"a\" // c\nafter",
                "-",
            ),
            ("; 3;\nend a;\nafter", "#include \"a\" // c\nafter", "-"),
        ],
    );
    // The same file twice: no edit reaches from one reading into the other.
    check(
        "#include \"b\"\n#include \"b\"\n",
        &files,
        &[("N;\nin b", "#include \"b\"\n#include \"b\"", "-")],
    );
}

#[test]
fn spans_outside_the_text() {
    let (unit, _) = preprocess("main", b"int x;", &[], &Files(&[]));
    let place = |start, end| shown(&unit, unit.origins.locate(Span { start, end }));
    assert_eq!(
        (place(0, 6), place(0, 7), place(7, 7), place(3, 3)),
        ("int x;".into(), "-".into(), "-".into(), String::new())
    );
    assert_eq!(
        unit.origins
            .editable(Span { start: 3, end: 3 })
            .map(|place| place.start),
        Some(3)
    );
    let empty = preprocess("main", b"", &[], &Files(&[])).0;
    assert_eq!(empty.origins.locate(Span { start: 0, end: 0 }), None);
}
