//! What the preprocessor makes of text, includes and broken input.

use shaderlint_hlsl::{
    Branch, FileSpan, Includes, MatrixOrder, NoIncludes, Preprocessed, Problem, SourceFile, preprocess,
};

/// A text of one line for each number.
fn lines(numbers: std::ops::Range<usize>, line: impl FnMut(usize) -> String) -> String {
    numbers.map(line).collect::<Vec<String>>().concat()
}

/// Included files by path.
struct Files<'a>(&'a [(&'a str, &'a [u8])]);

impl Includes for Files<'_> {
    fn resolve(&self, _: &[&str], path: &str, _: bool) -> Option<SourceFile> {
        let (path, text) = self.0.iter().find(|(name, _)| *name == path)?;
        Some(SourceFile {
            path: (*path).to_owned(),
            text: (*text).into(),
        })
    }
}

fn read(input: &[u8]) -> (Preprocessed, Vec<Problem>) {
    preprocess("main.hlsl", input, &[], &NoIncludes)
}

/// What stands at a place.
fn at(unit: &Preprocessed, place: FileSpan) -> String {
    let text = &unit.sources.get(place.file).expect("the place's file").text;
    String::from_utf8_lossy(&text[place.start as usize..place.end as usize]).into_owned()
}

fn shown(unit: &Preprocessed, problems: &[Problem]) -> Vec<String> {
    let one = |problem: &Problem| match problem.place {
        Some(place) => format!("{} @ {}", problem.message, at(unit, place)),
        None => problem.message.clone(),
    };
    problems.iter().map(one).collect()
}

#[track_caller]
fn check(input: &str, expected: &str) {
    let (unit, problems) = read(input.as_bytes());
    assert_eq!(String::from_utf8_lossy(&unit.text), expected, "of {input:?}");
    assert_eq!(shown(&unit, &problems), Vec::<String>::new(), "of {input:?}");
}

#[track_caller]
fn check_problems(input: &str, expected: &str, expected_problems: &[&str]) {
    let (unit, problems) = read(input.as_bytes());
    assert_eq!(String::from_utf8_lossy(&unit.text), expected, "of {input:?}");
    assert_eq!(shown(&unit, &problems), expected_problems, "of {input:?}");
}

#[track_caller]
fn check_files(main: &str, files: &[(&str, &[u8])], expected: &str, expected_problems: &[&str]) {
    let (unit, problems) = preprocess("main.hlsl", main.as_bytes(), &[], &Files(files));
    assert_eq!(String::from_utf8_lossy(&unit.text), expected, "of {main:?}");
    assert_eq!(shown(&unit, &problems), expected_problems, "of {main:?}");
}

#[test]
fn text_is_copied() {
    check("", "");
    check("int x;\r\nint y;\n", "int x;\r\nint y;\n");
    check("a // c\nb", "a \nb");
    check("a/* c\n d */b", "a b");
    check("a /* c */ b", "a  b");
    check("\"// \\\" /*\" b // '", "\"// \\\" /*\" b ");
    check("fo\\\no = b\\\r\nar \\  \n;", "foo = bar ;");
    check("x // comment \\\n goes on\ny", "x \ny");
    check("/\\\n/ comment\ny", "\ny");
    check("\u{feff}int x;", "int x;");
}

#[test]
fn macros_expand() {
    check("#define N 64\nint a[N];\n", "int a[64];\n");
    check("#define N\nint a[N];\n", "int a[];\n");
    check("#define F(x) [x]\nF(1) F (2) F\n(3) F;\n", "[1] [2] [3] F;\n");
    check(
        "#define MAX(a, b) ((a) > (b) ? (a) : (b))\nMAX(x, f(y, z))",
        "((x) > (f(y, z)) ? (x) : (f(y, z)))",
    );
    check("#define A B\n#define B A\nA B", "A B");
    check("#define f(x) x f\nf(1)(2)", "1 f(2)");
    check("#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)", "2*9*g");
    check("#define N (-1)\n-N", "-(-1)");
    check("#define N -1\n-N+N", "- -1+-1");
    check("#define E\n+E+ a E b aE\n", "+ + a  b aE\n");
    check("#define x 1\n0x1 1.x x.x 1e+x x\n", "0x1 1.x 1 . 1 1e+x 1\n");
    check("#define A 1\n#undef A\nA", "A");
    check(
        "#define I(x) x\nI(a).I(b) I(2).x I(1e)+I(e)+I(1.)x",
        "a.b 2 .x 1e +e+1. x",
    );
    check(
        "#define F(x, y) x##y #x\nF(a, b) F(,) F(\"q\\n\", ) ",
        "ab \"a\" \"\" \"q\\n\" \"\\\"q\\\\n\\\"\" ",
    );
    check(
        "#define X(a) Y(a)\n#define Y(a) #a\n#define Z 3\nX(Z) Y(Z)",
        "\"3\" \"Z\"",
    );
    check("#define hash_hash # ## #\nhash_hash", "##");
    check("#define P(n) tex##n##_s\nP(0) P()", "tex0_s tex_s");
    check(
        "#define L(...) f(__VA_ARGS__)\nL() L(1) L(1, 2)",
        "f() f(1) f(1, 2)",
    );
    check(
        "#define L(a, ...) f(a, ## __VA_ARGS__)\nL(1) L(1,) L(1, 2, 3)",
        "f(1) f(1,) f(1, 2, 3)",
    );
    check("#define L(a, rest...) f(a, rest)\nL(1, 2, 3)", "f(1, 2, 3)");
    check("#define F(x, y) x y\nF((a, b), F(\n  1\n  ,2))", "(a, b) 1 2");
}

#[test]
fn directives_among_arguments() {
    let input = "#define F(x) <x>\nF(1\n#if 0\n2\n#else\n3\n#endif\n)";
    check(input, "<1 3>");
    check_files(
        "#define F(x) <x>\nF(1\n#include \"a\"\n)",
        &[("a", b"in a")],
        "<1>",
        &["shaderlint does not follow an `#include` among the arguments of a macro call @ \"a\""],
    );
}

#[test]
fn lines_and_files() {
    check("__LINE__\n\\\n__LINE__ __FILE__", "1\n3 \"main.hlsl\"");
    check("#define L __LINE__\n\nL", "\n3");
    check("#define L(x) __LINE__\nL(\n\n);", "4;");
    check("#define F(a, b) a b\nF(__LINE__,\n__LINE__\n) __LINE__", "2 3 4");
    check("#define L() __LINE__\n#define Q L\nQ\n() Q\n__LINE__", "4 L\n5");
    // As DXC counts: an argument is in its own line, and so is a macro's name there.
    for (defines, text, lines) in [
        ("", "F(__LINE__\n)", "3"),
        ("", "F(\n__LINE__\n)", "4"),
        ("#define L __LINE__", "F(\nL\n)", "4"),
        ("#define L() __LINE__", "F(\nL(\n)\n)", "5"),
        ("", "F(\nF(\n__LINE__\n)\n)", "5"),
        ("#define G(x) F(x)", "G(\n__LINE__\n)", "4"),
        ("#define G(x) F(x __LINE__)", "G(\n__LINE__\n)", "4 5"),
        ("#define G(...) __VA_ARGS__", "G(\n__LINE__,\n__LINE__)", "4, 5"),
        ("#define C(a, b) a##b", "C(\n__LI,\nNE__\n)", "6"),
        ("#define A F", "A(\n__LINE__\n)", "4"),
        ("", "F(__LINE__\n#line 50\n__LINE__\n) __LINE__", "3 50 51"),
        ("", "__LI\\\nNE__", "3"),
    ] {
        let text = format!("#define F(x) x\n{defines}\n{text}");
        check(
            &text,
            &format!("{}{lines}", if defines.is_empty() { "\n" } else { "" }),
        );
    }
    check("\n\r__LINE__", "\n\r2");
    check("#line 55\n__LINE__\n__LINE__", "55\n56");
    check("#define AT 10\n#line AT \"other.hlsl\"\n__LINE__", "10");
    check("# 7 \"other.hlsl\"\n__LINE__", "7");
    check("#if __LINE__ == 1\nyes\n#endif", "yes\n");
}

/// What is between `#if` and `#endif` is taken or not.
#[test]
fn conditions() {
    let taken = [
        "1",
        "!0",
        "-1 < 0",
        "-1 > 0u",
        "1 ? 2 : 1/0",
        "0 && 1/0 || 1",
        "1 || 1/0",
        "0x10 == 020",
        "(2 + 3) * 4 == 20",
        "7 / 2 == 3 && 7 % 2 == 1",
        "1 << 4 == 16",
        "-8 >> 1 == -4",
        // As Clang has it.
        "8 >> -2 == 0",
        "4 << -1 == 0",
        "-1 >> -64 == -1",
        "1 << 64 == 0",
        "1u << 64 == 1u << 63",
        "1 >> 4294967296",
        "1 >> 0x8000000000000000",
        "L'a' == 97 && u'a' == U'a'",
        "'\\e' == 27 && '\\E' == 27",
        "~0 == -1",
        "UNKNOWN == 0",
        "defined D",
        "defined(D) && !defined ( NOT_D )",
        "D == 3",
        "F(2) == 4",
        "'a' == 97",
        "'\\n' == 10 && '\\x41' == 'A'",
        "0xFFFFFFFFFFFFFFFF == -1",
        "10ul + 1LL == 11",
        "1, 2",
        "(0, 1)",
        "3 - 2 - 1 == 0",
        "1 ? 1 : 0 ? 0 : 0",
        "true",
        "0b101 == 5",
        "2 > 1 == 1",
        "6 & 3 | 8 ^ 8",
        "-9223372036854775807 - 1 < 0",
        "(-9223372036854775807 - 1) / -1",
        "1 /* a\n b */ // c",
        "1 \\\n + 1 == 2",
        "1 ? 0u - 1 > 0 : 0",
    ];
    for condition in taken {
        let input = format!("#define D 3\n#define F(x) x + x\n#if {condition}\nyes\n#else\nno\n#endif\n");
        check(&input, "yes\n");
        let input =
            format!("#define D 3\n#define F(x) x + x\n#if 0\n#elif {condition}\nyes\n#else\nno\n#endif\n");
        check(&input, "yes\n");
    }
    check(
        "#ifdef A\n1\n#elifdef B\n2\n#elifndef A\n3\n#else\n4\n#endif",
        "3\n",
    );
    check(
        "#if 0\n#if 1\n1\n#else\n2\n#endif\n#elif 1\n3\n#elif 1/0\n4\n#endif x",
        "3\n",
    );
    check("#if 0\n'\"/* #endif\n// /*\n/*\n#endif */ # endif\nx", "x");
    check("#ifndef A // c\nx\n#endif", "x\n");
    check("  #  if 1\n x\n # /**/ endif\n", " x\n");
}

#[test]
fn conditions_that_cannot_be_read() {
    let cases = [
        ("", "condition without an expression @ #if"),
        ("1 +", "unexpected end of the condition @ 1 +"),
        ("(1", "`(` without `)` in a condition @ (1"),
        ("1 2", "unexpected `2` in a condition @ 1 2"),
        ("1 / 0", "division by zero in a condition @ 1 / 0"),
        ("1.5", "`1.5` in a condition is not an integer @ 1.5"),
        ("1 ? 2", "`?` without `:` in a condition @ 1 ? 2"),
        ("F(1)", "unexpected `(` in a condition @ F(1)"),
        ("\"a\"", "unexpected `\"a\"` in a condition @ \"a\""),
        ("1 = 1", "unexpected `=` in a condition @ 1 = 1"),
    ];
    for (condition, problem) in cases {
        check_problems(
            &format!("#if {condition}\nyes\n#else\nno\n#endif"),
            "no\n",
            &[problem],
        );
    }
    check_problems(
        "#if defined(\n#endif\nx",
        "x",
        &["`defined` without a name @ #if defined("],
    );
}

#[test]
fn includes_that_are_asked_for() {
    let files: &[(&str, &[u8])] = &[("a", b"in a\n")];
    let has = "#define __has_include __has_include\n#define P \"a\"\n#define Q <b>\n";
    for (condition, holds) in [
        ("__has_include(\"a\")", true),
        ("!__has_include ( <a> )", false),
        ("__has_include(\"b\") || defined(__has_include)", true),
        ("__has_include(P) && !__has_include(Q)", true),
    ] {
        let text = format!("{has}#if {condition}\nyes\n#endif\n");
        check_files(&text, files, if holds { "yes\n" } else { "" }, &[]);
    }
    // Where no compiler is said to know it, it is a word like others.
    let problem = ["unexpected `(` in a condition @ __has_include(\"a\")"];
    check_files("#if __has_include(\"a\")\nyes\n#endif\n", files, "", &problem);
    let problem = ["unexpected `__has_include` in a condition @ __has_include(1)"];
    check_files(
        &format!("{has}#if __has_include(1)\n#endif\n"),
        files,
        "",
        &problem,
    );
}

#[test]
fn pragmas_in_expressions() {
    let once: &[(&str, &[u8])] = &[
        ("a", b"_Pragma(\"once\") a\n"),
        ("b", b"#define ONCE _Pragma(\"once\")\nONCE b\n"),
    ];
    let text = "#include \"a\"\n#include \"a\"\n#include \"b\"\n#include \"b\"\n";
    check_files(text, once, " a\n b\n", &[]);
    check("x _Pragma(\"unroll\") y", "x  y");
    check("_Pragma", "_Pragma");
}

#[test]
fn includes() {
    check_files("#include \"a\"\nb", &[("a", b"in a")], "in a\nb", &[]);
    check_files(
        "#include <a>\n#include \"a\" // c\nb\n",
        &[("a", b"in a\n")],
        "in a\nin a\nb\n",
        &[],
    );
    check_files(
        "#include \"a\"\n#include \"a\"\nb",
        &[("a", b"#pragma once\na\n")],
        "a\nb",
        &[],
    );
    check_files("#define P \"a\"\n#include P\n", &[("a", b"a\n")], "a\n", &[]);
    check_files(
        "__INCLUDE_LEVEL__\n#include \"a\"\n#if !__INCLUDE_LEVEL__\nend\n#endif",
        &[
            ("a", b"#if __INCLUDE_LEVEL__ == 1\na\n#endif\n#include \"b\"\n"),
            ("b", b"__INCLUDE_LEVEL__\n"),
        ],
        "0\na\n2\nend\n",
        &[],
    );
    check_files(
        "#define P <x/a.h>\n#include P\n",
        &[("x/a.h", b"a\n")],
        "a\n",
        &[],
    );
    check_files(
        "#include_with_pragmas \"a\"",
        &[("a", b"#pragma kernel A\na\n")],
        "a\n",
        &[],
    );
    check_files(
        "#include \"a\"\nX",
        &[("a", b"#define X 1\n#if 1\n")],
        "1",
        &["`#if` without `#endif` @ #if"],
    );
    check_files("#include \"b.h\"\nx", &[], "x", &["cannot find `b.h` @ \"b.h\""]);
    // Where statements or members may be missing, something nobody declares stands for them.
    check_files(
        "#include \"b.h\"\nvoid f() {\n#include \"c.h\"\n}\n#include \"d.h\"\n",
        &[],
        "void f() {\n__include_not_found();\n}\n",
        &[
            "cannot find `b.h` @ \"b.h\"",
            "cannot find `c.h` @ \"c.h\"",
            "cannot find `d.h` @ \"d.h\"",
        ],
    );
    check_files("#include\nx", &[], "x", &["`#include` without a path @ #include"]);
    check_files(
        "#include \"a\"\nx",
        &[("a", b"\0\x01")],
        "x",
        &["`a` is not a text file @ "],
    );
}

#[test]
fn include_cycles_and_bombs_end() {
    let (unit, problems) = preprocess(
        "a",
        b"a\n#include \"a\"\n#include \"a\"\n",
        &[],
        &Files(&[("a", b"a\n#include \"a\"\n#include \"a\"\n")]),
    );
    assert_eq!(shown(&unit, &problems), ["`a` includes itself @ \"a\""]);
    assert_eq!(unit.text, b"a\n".repeat(64));

    let names: Vec<String> = (0..100).map(|index| format!("{index}")).collect();
    let texts: Vec<String> = (1..=100)
        .map(|index| format!("#include \"{index}\"\n#include \"{index}\"\n"))
        .collect();
    let files: Vec<(&str, &[u8])> = names
        .iter()
        .zip(&texts)
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    let (unit, problems) = preprocess("0", texts[0].as_bytes(), &[], &Files(&files));
    assert_eq!(
        shown(&unit, &problems),
        [
            "`64` is included too deeply @ \"64\"",
            "more than 2000 includes: shaderlint skips the rest @ \"62\""
        ]
    );
}

#[test]
fn encodings() {
    let utf16: Vec<u8> = [0xfeff_u16]
        .into_iter()
        .chain("int é;".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let (unit, problems) = read(&utf16);
    assert_eq!((unit.text.as_slice(), problems.len()), ("int é;".as_bytes(), 0));
    let utf16: Vec<u8> = [0xfeff_u16]
        .into_iter()
        .chain("int é;".encode_utf16())
        .flat_map(u16::to_be_bytes)
        .collect();
    assert_eq!(read(&utf16).0.text, "int é;".as_bytes());
    assert_eq!(read(b"a\xe9b \xff").0.text, b"a\xe9b \xff");
    // A Shift-JIS character whose second byte is a backslash ends the comment.
    assert_eq!(read(b"// \x95\\\nint x;\n").0.text, b"\nint x;\n");
    let (unit, problems) = read(b"\x7fELF\0\0");
    assert_eq!(unit.text, b"");
    assert_eq!(shown(&unit, &problems), ["`main.hlsl` is not a text file @ "]);
}

#[test]
fn defines_from_outside() {
    let defines =
        [("N", "64"), ("F(x)", "x + x"), ("1", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let (unit, problems) = preprocess("a", b"N F(1)", &defines, &NoIncludes);
    assert_eq!(unit.text, b"64 1 + 1");
    assert_eq!(
        shown(&unit, &problems),
        ["in the definition `1=2`: a macro's name must be an identifier"]
    );
}

#[test]
fn what_is_amiss_is_told_with_its_place() {
    check_problems("#error don't\nx", "x", &["`#error`: don't @ #error don't"]);
    check_problems("#if 0\n#error a\n#endif\nx", "x", &[]);
    check_problems(
        "#else\n#endif\n#elif 1\nx",
        "x",
        &[
            "`#else` without `#if` @ #else",
            "`#endif` without `#if` @ #endif",
            "`#elif` without `#if` @ #elif",
        ],
    );
    check_problems(
        "#if 1\na\n#else\n#else\nb\n#endif\n",
        "a\n",
        &["`#else` after `#else` @ #else"],
    );
    check_problems("#if 0\n x", "", &["`#if` without `#endif` @ #if"]);
    check_problems("a /* b", "a ", &["comment without `*/` @ /*"]);
    check_problems("#define A 1 /* b", "", &["comment without `*/` @ /*"]);
    check_problems(
        "#define\n#define 1\n#define F(\n#define G(a,a)\nx",
        "x",
        &[
            "#define without a name @ #define",
            "a macro's name must be an identifier @ 1",
            "malformed list of macro parameters @ (",
            "two macro parameters have the same name @ a",
        ],
    );
    check_problems(
        "#define F(a) #b\n#define G ## x\nG F(1)",
        "x #b",
        &[
            "`#` is not followed by a macro parameter @ #",
            "`##` at an end of a macro's body @ ##",
        ],
    );
    check_problems(
        "#define F(a) a\nF(1, 2) y",
        "F(1, 2) y",
        &["macro `F` is called with too many arguments @ F(1, 2)"],
    );
    check_problems(
        "#define F(a, b) a + b;\nF(1) y",
        "1 +; y",
        &["macro `F` is called with too few arguments @ F(1)"],
    );
    check_problems(
        "#define F(a) a\n#define N 1\nF(1, N\nN",
        "F(1, 1\n1",
        &["macro `F` is called without a closing parenthesis @ F(1, N\nN"],
    );
    check_problems(
        "#define F(a) a\n#define G F(\nF(G 1) 2)",
        "F( 1 2)",
        &["macro `F` is called without a closing parenthesis @ F(G 1)"],
    );
    check_problems(
        "#define F a ## +\nF",
        "a +",
        &["`##` makes `a+`, which is not a token @ F"],
    );
    check_problems(
        "#frobnicate\n#\n# 12 \"x\"\n#line 3\n#warning w\n#pragma p\nx",
        "x",
        &["unknown directive @ #frobnicate"],
    );
    check_problems(
        "#fdef A\n#elseif\n#endf\n#Define B\n#a\nx",
        "x",
        &[
            "unknown directive; did you mean `#ifdef`? @ #fdef A",
            "unknown directive; did you mean `#elif`? @ #elseif",
            "unknown directive; did you mean `#endif`? @ #endf",
            "unknown directive; did you mean `#define`? @ #Define B",
            "unknown directive @ #a",
        ],
    );
}

#[test]
fn inactive_regions_are_kept() {
    let (unit, _) = read(
        b"#if A > 1\na\n#elif defined(B)\nb\n#else\nc\n#endif\n#ifndef C\n#else\nd\n#if 0\n#endif\n#endif\n",
    );
    let shown: Vec<_> = unit
        .inactive
        .iter()
        .map(|inactive| {
            let taken = inactive.taken.map(|taken| {
                (
                    at(&unit, taken.region),
                    at(&unit, taken.condition),
                    taken.opened_by,
                )
            });
            (
                at(&unit, inactive.region),
                at(&unit, inactive.condition),
                inactive.opened_by,
                taken,
            )
        })
        .collect();
    let expected = [
        ("a\n", "A > 1", Branch::If, ("c\n", "A > 1", Branch::Else)),
        ("b\n", "defined(B)", Branch::Elif, ("c\n", "A > 1", Branch::Else)),
        ("d\n#if 0\n#endif\n", "C", Branch::Else, ("", "C", Branch::Ifndef)),
    ];
    let expected = expected.map(|(region, condition, branch, taken)| {
        (
            region.to_owned(),
            condition.to_owned(),
            branch,
            Some((taken.0.to_owned(), taken.1.to_owned(), taken.2)),
        )
    });
    assert_eq!(shown, expected);

    // A guarded header has nothing that is always left out.
    let guarded = b"#ifndef G\n#define G\nx\n#endif\n";
    let (unit, _) = preprocess(
        "a",
        b"#include \"g\"\n#include \"g\"\n",
        &[],
        &Files(&[("g", guarded)]),
    );
    assert_eq!(
        (unit.text.as_slice(), unit.inactive.len()),
        (b"x\n".as_slice(), 0)
    );
}

/// Text that would take forever, or all memory, or the whole stack.
#[test]
fn hostile_input_ends() {
    let many = 20_000;
    let deep = format!("#define F(x) x\nF({}1{})", "(".repeat(many), ")".repeat(many));
    assert_eq!(read(deep.as_bytes()).1, []);

    let deep = format!("#if {}1{}\n#endif\n", "(".repeat(many), ")".repeat(many));
    assert_eq!(read(deep.as_bytes()).1.len(), 1);
    let deep = format!("#if {}1\nx\n#endif\n", "!".repeat(many));
    assert_eq!(read(deep.as_bytes()).0.text, b"x\n");
    for open in ["1 ? ", "1 ? 1 : ", "0 ? 1 : "] {
        assert_eq!(
            read(format!("#if {}\n#endif\n", open.repeat(many)).as_bytes())
                .1
                .len(),
            1
        );
    }

    let nested = format!("#define F(x) x\nF{}1{}\nend", "(F".repeat(many), ")".repeat(many));
    let (unit, problems) = read(nested.as_bytes());
    assert!(unit.text.ends_with(b"end"));
    assert_eq!(problems.len(), 1, "{problems:?}");

    let unclosed = format!("#define F(x) x\n{}", "F(".repeat(many));
    assert!(!read(unclosed.as_bytes()).1.is_empty());
    let unclosed = format!("#define F(x) x\n#define G(x) x\nG({})", "F(".repeat(many));
    assert!(!read(unclosed.as_bytes()).1.is_empty());

    let doubling = lines(1..60, |index| format!("#define A{index} A{0} A{0}\n", index - 1));
    let laughs = "#define A0 ha ha\n".to_owned() + &doubling;
    let (unit, problems) = read((laughs.clone() + "A59 end").as_bytes());
    assert_eq!(unit.text, b"A59 end");
    assert_eq!(
        shown(&unit, &problems),
        ["macro `A59` expands to too much text; the call is left as it is @ A59"]
    );
    let (unit, _) = read((laughs + &"A59\n".repeat(many) + "end").as_bytes());
    assert!(unit.text.ends_with(b"A59\nend"));

    let nothing = "#define A0\n".to_owned() + &doubling;
    assert_eq!(read((nothing + "A59").as_bytes()).1.len(), 1);

    let strings = "#define S(x) T(#x #x)\n#define T(x) S(x)\n".to_owned()
        + "#define D(x) #x#x\n#define E(x) D(x)\n"
        + &"E(".repeat(100)
        + &")".repeat(100);
    assert_eq!(read(strings.as_bytes()).1.len(), 1);

    let comment = format!("#define F(x) x\n{}/*{}*/", "F(".repeat(many), " ".repeat(1 << 20));
    assert!(!read(comment.as_bytes()).1.is_empty());
    let doubled = "#define A ".to_owned() + &"ha ".repeat(4_000) + "\n" + &"A\n".repeat(8_000);
    let (unit, problems) = read(doubled.as_bytes());
    assert_eq!((problems.len(), unit.text.len() > 60 << 20), (1, true));

    let ifs = "#if 0\n".repeat(many);
    assert_eq!(read(ifs.as_bytes()).1.len(), 1);
    let ifs = "#if 1\n".repeat(many);
    assert_eq!(read(ifs.as_bytes()).1.len(), 1_000);
    let chain = lines(0..many, |index| format!("#define C{index} C{}\n", index + 1));
    assert_eq!(read((chain + "C0").as_bytes()).0.text, b"C20000");
}

#[test]
fn the_order_of_matrices_holds_from_its_pragma_on() {
    let text = "a\n#pragma pack_matrix( row_major ) // so\nb\n#if 0\n#pragma pack_matrix(column_major)\n#endif\nc\n\
                # pragma pack_matrix (column_major)\nd\n#pragma pack_matrix(other)\n#pragma pack_matrix\n";
    let (unit, problems) = read(text.as_bytes());
    assert!(problems.is_empty(), "{problems:?}");
    let orders: Vec<(String, MatrixOrder)> = unit
        .matrix_orders
        .iter()
        .map(|(at, order)| {
            let after = unit.text.get(*at as usize..).unwrap_or_default();
            (
                String::from_utf8_lossy(after).split_whitespace().collect(),
                *order,
            )
        })
        .collect();
    assert_eq!(
        orders,
        [
            ("bcd".to_owned(), MatrixOrder::RowMajor),
            ("d".to_owned(), MatrixOrder::ColumnMajor)
        ]
    );
}

#[test]
fn configurations_of_kernels() {
    let text = "#pragma kernel First\n#pragma kernel Second SIZE = 4 WIDE\n # pragma kernel Third SIZE=4 WIDE // both\r\n\
                #pragma kernels X Y\n#pragma kernel\n#pragma kernel Fourth \\\n  WIDE /* Z\n */ \n\
                /*\n#pragma kernel Old A\n*/\n// \\\n#pragma kernel Older A\n#if 0\n#pragma kernel Never A\n#endif\n";
    let variants = preprocess("a.compute", text.as_bytes(), &[], &NoIncludes)
        .0
        .kernels;
    let found: Vec<String> = variants
        .iter()
        .map(|variant| format!("{:?} {:?}", variant.kernels, variant.defines))
        .collect();
    assert_eq!(
        found,
        [
            r#"["First"] []"#,
            r#"["Second", "Third"] [("SIZE", "4"), ("WIDE", "1")]"#,
            r#"["Fourth"] [("WIDE", "1")]"#
        ]
    );
}

/// Other spellings of punctuators, blanks and letters, which DXC reads.
#[test]
fn text_may_be_spelled_in_other_ways() {
    check("%:define A 1\nA\n", "1\n");
    check("%: define CAT(a, b) a %:%: b\nCAT(x, y)\n", "xy\n");
    check(
        "int a<:2:> = <% 1, 2 %>; b<::c>\n",
        "int a[ 2]  = {  1, 2 } ; b<::c>\n",
    );
    for blank in ['\u{a0}', '\u{85}', '\u{2003}', '\u{2028}', '\u{3000}', '\u{180e}'] {
        check(
            &format!("#define{blank}A{blank}1\n#ifdef{blank}A\nA\n#else{blank}\n2\n#endif\n"),
            "1\n",
        );
    }
    check(
        "\u{e9} \\u00e9 a\\U000000e9b \"\\u00e9\"\n",
        "\u{e9} \u{e9} a\u{e9}b \"\\u00e9\"\n",
    );
    let (unit, _) = read(b"#define A\\u00e9 @\nint A\\u00e9;\n");
    assert_eq!(String::from_utf8_lossy(&unit.text), "int @;\n");
    let (unit, problems) = read("\\u00e9\\u00e9;\n#error \\u00e9 here\n".as_bytes());
    assert_eq!(
        shown(&unit, &problems),
        ["`#error`: \u{e9} here @ #error \\u00e9 here"]
    );
}

#[test]
fn the_order_of_matrices_may_be_a_macro() {
    let orders = |text: &str| read(text.as_bytes()).0.matrix_orders;
    let by_rows = orders("#pragma pack_matrix(row_major)\n");
    assert_eq!(by_rows, [(0, MatrixOrder::RowMajor)]);
    assert_eq!(
        orders("#define O row_major\n#pragma pack_matrix(O)\n")[0].1,
        MatrixOrder::RowMajor
    );
    assert_eq!(
        orders("#define P(x) (x)\n#pragma pack_matrix P(column_major)\n")[0].1,
        MatrixOrder::ColumnMajor
    );
    assert_eq!(orders("#pragma pack_matrix(O)\n"), []);
}

#[test]
fn comments_begin_neither_in_comments_nor_in_literals() {
    for (text, expected) in [
        ("a /* b */ c // d\ne", vec!["/* b */", "// d"]),
        ("a /*/ b /*/ c /*/ // */ d", vec!["/*/ b /*/", "/*/ // */"]),
        (
            "\"//\" a '/*' b // \" /*\n/**/ c / d */ e",
            vec!["// \" /*", "/**/"],
        ),
        ("a /* b // c\nd", vec!["/* b // c\nd"]),
        (
            "a // b \\\nc \\ \r\nd\ne // f\\",
            vec!["// b \\\nc \\ \r\nd", "// f\\"],
        ),
        ("a // b \\\n \nc", vec!["// b \\\n "]),
        (
            "a // b \\ c\nd // \u{8868}\\\ne",
            vec!["// b \\ c", "// \u{8868}\\\ne"],
        ),
    ] {
        let found = shaderlint_hlsl::comments(text.as_bytes());
        let found: Vec<&str> = found.into_iter().map(|comment| &text[comment]).collect();
        assert_eq!(found, expected, "{text}");
    }
}
