//! Files no one would write, and files that went wrong: whatever one holds, the run ends, says what it could not do,
//! and keeps the findings of the other files.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

#[path = "hostile/includes.rs"]
mod includes;
#[path = "hostile/kernels.rs"]
mod kernels;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BARRIER: &str = "GroupMemoryBarrierWithGroupSync();";

/// A file with one finding, and how it is told.
const GOOD: &str = "groupshared uint g_Sum[64];
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex)
{
    g_Sum[gi] = gi;
    g_Sum[gi & 31] = gi;
}
// GroupMemoryBarrierWithGroupSync
";
const FINDING: &str = "good.hlsl:6:5: error[groupshared-race]: data race on g_Sum[0]";

/// Unoptimised, on a machine with other work to do.
const PATIENCE: Duration = Duration::from_secs(30);

/// A file's name and text, and what a run that says everything says of it: nothing is silence.
type Case = (&'static str, Vec<u8>, &'static str);

fn case(name: &'static str, text: impl Into<Vec<u8>>, says: &'static str) -> Case {
    (name, text.into(), says)
}

/// A kernel with this in its body, and `before` in front of it.
fn kernel(before: &str, body: &str) -> String {
    format!(
        "{before}\ngroupshared uint g[64];\nRWStructuredBuffer<uint> o;\n[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex)\n{{\n    g[gi] = gi;\n    {BARRIER}\n{body}\n}}\n"
    )
}

/// What is written for each number below `count`.
fn each(count: u32, write: impl Fn(u32) -> String) -> String {
    (0..count).fold(String::new(), |text, number| text + &write(number))
}

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile").join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The exit code of a run in a folder, and all that it said.
#[track_caller]
fn run(folder: &Path, arguments: &[&str]) -> (i32, String) {
    run_in(folder, &folder.with_extension("said"), arguments)
}

/// As [`run`]; what it said is kept in the file `said` meanwhile.
#[track_caller]
fn run_in(folder: &Path, said: &Path, arguments: &[&str]) -> (i32, String) {
    let file = File::create(said).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .current_dir(folder)
        .args(arguments)
        .env_remove("GITHUB_ACTIONS")
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .spawn()
        .unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{arguments:?} takes more than {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let said = String::from_utf8_lossy(&fs::read(said).unwrap()).into_owned();
    let start: String = said.chars().take(2000).collect();
    let code = status
        .code()
        .unwrap_or_else(|| panic!("{arguments:?} died: {status}\n{start}"));
    assert!(
        (0..=2).contains(&code),
        "{arguments:?} ended with {code}:\n{start}"
    );
    let trouble = said
        .lines()
        .find(|line| line.contains("internal error") || line.contains("panicked"));
    assert_eq!(trouble, None, "{arguments:?}");
    (code, said)
}

/// Looks at the files together, one of them good; then lowers and verifies each by itself.
#[track_caller]
fn survives(test: &str, cases: &[Case]) {
    survives_in(&folder(test), cases);
}

/// The same in a folder that may hold other files.
#[track_caller]
fn survives_in(folder: &Path, cases: &[Case]) {
    for (name, text, _) in cases {
        fs::write(folder.join(format!("{name}.hlsl")), text).unwrap();
    }
    fs::write(folder.join("good.hlsl"), GOOD).unwrap();
    let (code, said) = run(folder, &["-v", "--output-format", "concise"]);
    assert!(said.contains(FINDING), "the other file's finding is lost");
    assert_eq!(code, 1);
    for (name, _, says) in cases {
        assert!(said.contains(says), "of {name} `{says}` was expected");
        let file = format!("{name}.hlsl");
        let is_said = said.contains(&format!("{file}:")) || said.contains(&format!("{file} "));
        assert!(is_said || says.is_empty(), "{name} is not named");
        for command in ["wgsl", "verify"] {
            let (code, said) = run(folder, &[command, &file]);
            assert!(
                code == 0 || !said.is_empty(),
                "{command} {name} does not say why it failed"
            );
        }
    }
    for arguments in [
        &["--diff"][..],
        &["--fix", "--unsafe-fixes", "--output-format", "concise"],
    ] {
        let (code, said) = run(folder, arguments);
        assert!(
            code == 1 && (arguments == ["--diff"] || said.contains(FINDING)),
            "{arguments:?}"
        );
    }
}

#[test]
fn nothing_or_no_text() {
    let race = kernel("", "    g[gi] += g[(gi + 1) % 64];");
    let utf16: Vec<u8> = race.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let late = format!("// {}\n{race}\0", "x".repeat(10_000));
    let cases = [
        case("empty", "", ""),
        case("blank", " \n\t\r\n", ""),
        case("binary", (0..=9).cycle().take(5000).collect::<Vec<u8>>(), ""),
        // Compilers take a zero byte for a blank.
        case("nul", race.replace('{', "{\0"), "groupshared-race"),
        case("late-nul", late, "groupshared-race"),
        case(
            "utf16",
            [b"\xff\xfe", utf16.as_slice()].concat(),
            "utf16.hlsl:9:5: error[groupshared-race]",
        ),
        case(
            "crlf",
            race.replace('\n', "\r\n"),
            "crlf.hlsl:9:5: error[groupshared-race]",
        ),
        case("cr", race.replace('\n', "\r"), "groupshared-race"),
        case(
            "bom",
            format!("\u{feff}{race}"),
            "bom.hlsl:9:5: error[groupshared-race]",
        ),
        case(
            "latin1",
            [b"// \xe9\xe8\nuint caf\xe9;\n", race.as_bytes()].concat(),
            "latin1.hlsl:11:5: error[groupshared-race]",
        ),
        // The second byte of the last character is a backslash: the next line is no comment.
        case(
            "shift-jis",
            [b"uint \x83\x81; // \x95\\\n", race.as_bytes()].concat(),
            "shift-jis.hlsl:10:5: error[groupshared-race]",
        ),
    ];
    survives("no-text", &cases);
    let folder = folder("no-text-named");
    fs::write(folder.join("good.hlsl"), GOOD).unwrap();
    let file = "../no-text/binary.hlsl";
    let (code, said) = run(&folder, &["--output-format", "concise", file, "good.hlsl"]);
    assert!(code == 2 && said.contains(FINDING), "{said}");
    assert!(
        said.contains(&format!("error: {file}: not a text file")),
        "{said}"
    );
}

#[test]
fn cut_anywhere() {
    let whole = include_bytes!("../../../fixtures/rules/hillis-steele-scan/bad.hlsl");
    let folder = folder("cut");
    fs::write(folder.join("good.hlsl"), GOOD).unwrap();
    for cut in (0..whole.len()).step_by(13) {
        fs::write(folder.join(format!("{cut}.hlsl")), &whole[..cut]).unwrap();
    }
    for arguments in [
        &["-v", "--output-format", "concise"][..],
        &["--fix", "--output-format", "concise"],
    ] {
        let (code, said) = run(&folder, arguments);
        assert!(code == 1 && said.contains(FINDING), "{arguments:?}");
    }
    for cut in (0..whole.len()).step_by(13 * 12) {
        for command in ["wgsl", "verify"] {
            run(&folder, &[command, &format!("{cut}.hlsl")]);
        }
    }
}

#[test]
fn nested_without_end() {
    let n = 20_000;
    let deep = "nested too deeply";
    let nested = |open: &str, middle: &str, close: &str| {
        kernel(
            "uint f(uint a) { return a; }",
            &format!("    {}{middle}{}", open.repeat(n), close.repeat(n)),
        )
    };
    let value = |open: &str, close: &str| {
        nested(open, "1", close)
            .replacen(&format!("    {open}"), &format!("    o[gi] = {open}"), 1)
            .replacen("\n}\n", ";\n}\n", 1)
    };
    survives(
        "nested",
        &[
            case("parentheses", value("(", ")"), deep),
            case("brackets", value("g[", "]"), deep),
            case("calls", value("f(", ")"), deep),
            case("intrinsics", value("min(1, ", ")"), deep),
            case("ternaries", value("gi ? 1 : ", ""), deep),
            case("ternaries-in-the-middle", value("gi ? ", " : 1"), deep),
            case("minuses", value("- ", ""), deep),
            case("casts", value("(uint)", ""), deep),
            case("sums", value("gi + ", ""), deep),
            case("braces", nested("{", "", "}"), deep),
            case("ifs", nested("if (gi) ", "o[gi] = 1;", ""), deep),
            case(
                "else-ifs",
                nested("if (gi) o[gi] = 1; else ", "o[gi] = 1;", ""),
                deep,
            ),
            case("loops", nested("for (;;) ", ";", ""), deep),
            case("switches", nested("switch (gi) { case 0: ", "", "}"), deep),
            case(
                "initialisers",
                kernel("", &format!("uint a[1] = {}1{};", "{".repeat(n), "}".repeat(n))),
                deep,
            ),
            case(
                "structs",
                format!(
                    "struct S {}int a; {}{}",
                    "{ struct T ".repeat(n),
                    "};".repeat(n),
                    kernel("", "")
                ),
                deep,
            ),
            case(
                "angles",
                kernel("", &format!("o[gi] = {}1{};", "min<".repeat(n), ">".repeat(n))),
                deep,
            ),
            case(
                "regions",
                format!(
                    "{}{}{}",
                    "#if 1\n".repeat(5 * n),
                    "#endif\n".repeat(5 * n),
                    kernel("", "    g[gi] += g[(gi + 1) % 64];")
                ),
                "regions.hlsl:200009:5: error[groupshared-race]",
            ),
            case(
                "regions-left-out",
                format!(
                    "{}{}{}",
                    "#if 0\n".repeat(5 * n),
                    "#endif\n".repeat(5 * n),
                    kernel("", "    g[gi] += g[(gi + 1) % 64];")
                ),
                "regions-left-out.hlsl:200009:5: error[groupshared-race]",
            ),
            case(
                "conditions",
                format!(
                    "#if {}1{}\n#endif\n{}",
                    "(".repeat(n),
                    ")".repeat(n),
                    kernel("", "")
                ),
                "too deep",
            ),
        ],
    );
}

fn ten_megabytes_of(text: &str) -> String {
    text.repeat(10_000_000 / text.len())
}

#[test]
fn ten_megabytes_in_a_kernel() {
    let fill = ten_megabytes_of;
    let long = "too long";
    survives(
        "huge",
        &[
            case("kernel", kernel("", &fill(" g[gi] += gi;\n")), long),
            case(
                "line",
                kernel("", &fill(" g[gi] += g[(gi + 1) % 64];")).replace('\n', " "),
                long,
            ),
            case(
                "initialiser",
                format!(
                    "static const uint T[] = {{ {} 1 }};\n{}",
                    fill("1, "),
                    kernel("", "o[gi] = T[gi];")
                ),
                long,
            ),
        ],
    );
}

#[test]
fn ten_megabytes_beside_a_kernel() {
    let functions = |write: fn(u32) -> String| each(100_000, write);
    let race = kernel("", "    g[gi] += g[(gi + 1) % 64];");
    survives(
        "huge_beside",
        &[
            case(
                "comparisons",
                format!("{} {}", ten_megabytes_of("a < "), kernel("", "")),
                "",
            ),
            case(
                "functions",
                functions(|n| format!("uint f{n}(uint a) {{ return a + {n}; }}\n")) + &race,
                "functions.hlsl",
            ),
            case(
                "overloads",
                functions(|n| format!("uint f(uint a[{}]) {{ return {n}; }}\n", n + 1)) + &race,
                "overloads.hlsl",
            ),
            case(
                "comment",
                format!("{race}/* {}", ten_megabytes_of("x\n")),
                "comment without `*/`",
            ),
        ],
    );
}

/// Ten thousands of what people write a few of, and numbers of a hundred thousand digits.
#[test]
fn many_and_long() {
    let n = 20_000;
    let race = kernel("", "    g[gi] += g[(gi + 1) % 64];");
    let digits = "9".repeat(100_000);
    let with = |body: &str| {
        kernel(
            "",
            &format!("    o[gi] = {body};\n    g[gi] += g[(gi + 1) % 64];"),
        )
    };
    let parameters = each(n, |number| format!("a{number}, "));
    let regions = each(n, |number| {
        format!("#ifdef A{number}\nGroupMemoryBarrier();\n#endif\n")
    });
    survives(
        "many",
        &[
            case(
                "allows",
                "// shaderlint: allow(groupshared-race)\n".repeat(n as usize) + &race,
                "allows.hlsl:20009:5: error[groupshared-race]",
            ),
            case(
                "rules",
                format!(
                    "// shaderlint: allow({}groupshared-race): as said\n{race}",
                    "groupshared-race, ".repeat(n as usize)
                ),
                "rules.hlsl:10:5: error[groupshared-race]",
            ),
            case(
                "regions",
                regions + &race,
                "regions.hlsl:60009:5: error[groupshared-race]",
            ),
            case(
                "parameters",
                format!("#define F({parameters}z) z\n{race}"),
                "parameters.hlsl:10:5: error[groupshared-race]",
            ),
            case("integer", with(&digits), "groupshared-race"),
            case("hexadecimal", with(&format!("0x{digits}")), "groupshared-race"),
            case("fraction", with(&format!("0.{digits}f")), "groupshared-race"),
            case("exponent", with(&format!("1e{digits}")), "groupshared-race"),
            case("octal", with(&format!("0{digits}")), "groupshared-race"),
            case(
                "condition",
                format!("#if {digits} > 1\n#endif\n{race}"),
                "condition.hlsl:11:5: error[groupshared-race]",
            ),
            case(
                "group",
                kernel("", "").replace("64, 1, 1", &format!("{digits}, 1, 1")),
                "the group size is not a positive constant",
            ),
            case(
                "array",
                kernel(&format!("groupshared uint h[{digits}];"), "h[0] += gi;"),
                "the length of this array is not a constant",
            ),
            case(
                "name",
                race.replace("g[", &format!("{}[", "g".repeat(100_000))),
                "name.hlsl:9:5: error[groupshared-race]",
            ),
        ],
    );
}

#[test]
fn preprocessed_without_end() {
    let doubled = |first: &str, next: fn(u32) -> String| first.to_owned() + &each(60, next);
    let race = kernel("", "    g[gi] += g[(gi + 1) % 64];");
    survives(
        "preprocessed",
        &[
            case(
                "itself",
                format!("#include \"itself.hlsl\"\n{race}"),
                "`itself.hlsl` includes itself",
            ),
            case(
                "missing",
                format!("#include \"gone.hlsli\"\n{race}"),
                "cannot find `gone.hlsli`",
            ),
            case("open-if", format!("#if 1\n{race}"), "`#if` without `#endif`"),
            case("open-if-0", format!("#if 0\n{race}"), "`#if` without `#endif`"),
            case(
                "objects",
                doubled("#define A0 x x\n", |n| format!("#define A{} A{n} A{n}\n", n + 1))
                    + &kernel("", "A60;"),
                "expands to too much",
            ),
            case(
                "themselves",
                format!(
                    "#define A A A\n#define B C\n#define C B\n#define F(x) F(F(x))\n{}",
                    kernel("", "A; B; F(F(1));")
                ),
                "",
            ),
            case(
                "functions",
                doubled("#define F0(x) x x\n", |n| {
                    format!("#define F{}(x) F{n}(F{n}(x))\n", n + 1)
                }) + &kernel("", "F60(1);"),
                "expands to too much",
            ),
            case(
                "calls",
                format!(
                    "#define E(...) __VA_ARGS__\n{}",
                    kernel("", &format!("{}1{};", "E(".repeat(3000), ")".repeat(3000)))
                ),
                "expands to too much",
            ),
            case(
                "open-call",
                format!("#define E(...) __VA_ARGS__\n{}", kernel("", &"E(".repeat(20_000))),
                "without a closing parenthesis",
            ),
            case(
                "many",
                format!("#define P o[gi] = 1;\n{}", kernel("", &"P ".repeat(100_000))),
                "",
            ),
        ],
    );
}

#[test]
fn rules_that_are_none() {
    let folder = folder("rules");
    for id in ["", "\u{e9}", "--", "../../etc/passwd", &"x".repeat(10_000)] {
        let (code, said) = run(&folder, &["explain", "--", id]);
        assert!(
            code == 2 && said.starts_with("error: no rule is called"),
            "{said}"
        );
    }
}

#[cfg(unix)]
#[test]
fn names_and_links() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = folder("names");
    fs::write(folder.join("good.hlsl"), GOOD).unwrap();
    fs::write(folder.join(OsStr::from_bytes(b"\xe9\xff.hlsl")), GOOD).unwrap();
    fs::write(folder.join("a b  c.hlsl"), GOOD).unwrap();
    fs::write(folder.join("two\nlines.hlsl"), GOOD).unwrap();
    fs::create_dir(folder.join("folder.hlsl")).unwrap();
    symlink("gone.hlsl", folder.join("dangling.hlsl")).unwrap();
    symlink("round.hlsl", folder.join("about.hlsl")).unwrap();
    symlink("about.hlsl", folder.join("round.hlsl")).unwrap();
    symlink(".", folder.join("here")).unwrap();
    for arguments in [
        &["--output-format", "concise"][..],
        &["--output-format", "concise", "*.hlsl"],
        &["--fix", "--output-format", "concise"],
    ] {
        let (code, said) = run(&folder, arguments);
        assert!(code == 1 && said.contains(FINDING), "{said}");
        for name in ["\u{fffd}\u{fffd}.hlsl", "a b  c.hlsl", "two\u{fffd}lines.hlsl"] {
            assert!(
                said.contains(&format!("{name}:6:5: error[groupshared-race]")),
                "{said}"
            );
        }
    }
    for name in ["dangling.hlsl", "about.hlsl"] {
        let (code, said) = run(&folder, &["--output-format", "concise", name, "good.hlsl"]);
        assert!(
            code == 2 && said.contains(FINDING) && said.contains(&format!("error: {name}")),
            "{said}"
        );
        for command in ["wgsl", "verify"] {
            let (code, said) = run(&folder, &[command, name]);
            assert!(code == 2 && said.contains(&format!("error: {name}")), "{said}");
        }
    }
    let (code, said) = run(&folder, &["wgsl", "folder.hlsl"]);
    assert!(code == 2 && said.starts_with("error: folder.hlsl"), "{said}");

    let locked = folder.join("locked.hlsl");
    fs::write(&locked, GOOD).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    // Nothing is locked for the superuser.
    if File::open(&locked).is_err() {
        let (code, said) = run(&folder, &["--output-format", "concise"]);
        assert!(
            code == 2 && said.contains(FINDING) && said.contains("error: locked.hlsl"),
            "{said}"
        );
    }
}
