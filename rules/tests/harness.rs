//! Every rule's page and fixtures, executed.
//!
//! `//~ <id>` at a line's end says that a finding of that rule begins there; a page's Example says `// warning`.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]
#![expect(clippy::disallowed_methods, reason = "fixtures are files")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use shaderlint_hlsl::{Includes, NoIncludes, Shader, SourceFile};
use shaderlint_linter::{
    Category, Diagnostic, Rule, Safety, Settings, check_shader, settle, suppressions, unused_suppressions,
};
use shaderlint_rules::{RULES, UNUSED_SUPPRESSION, named};
use shaderlint_simt::{LaneMap, Outcome, compare};

const HEADINGS: [&str; 7] = [
    "What it does",
    "Why is this bad?",
    "Example",
    "Use instead",
    "Fix safety",
    "Limitations",
    "References",
];

fn shader(text: &[u8]) -> Shader {
    shaderlint_hlsl::read("test.hlsl", text, &[], &NoIncludes).0
}

/// What the rules find, and what the text's comments allow without need.
fn lint(text: &[u8]) -> Vec<Diagnostic> {
    let report = check_shader(&shader(text), RULES, &Settings::default());
    let (suppressions, problems) = suppressions(text);
    assert_eq!(problems, []);
    let unused = unused_suppressions(
        &UNUSED_SUPPRESSION,
        UNUSED_SUPPRESSION.category.level(),
        &suppressions,
        &report.used,
        |_| true,
    );
    [report.findings, unused].concat()
}

fn line_of(text: &[u8], offset: u32) -> usize {
    let before = text.get(..offset as usize).unwrap_or_default();
    before.split(|byte| *byte == b'\n').count()
}

/// `line: rule` for each line and rule with findings.
fn found(text: &[u8]) -> String {
    let findings = lint(text);
    let lines = findings
        .iter()
        .map(|finding| (line_of(text, finding.primary.place.start), finding.rule));
    let lines: BTreeSet<(usize, &str)> = lines.collect();
    lines.iter().fold(String::new(), |mut list, (line, rule)| {
        let _ = writeln!(list, "{line}: {rule}");
        list
    })
}

/// The same from the marks in the text.
fn marked(text: &str, id_of_mark: impl Fn(&str) -> Option<String>) -> String {
    let marks = text
        .lines()
        .zip(1..)
        .filter_map(|(line, number)| Some((number, id_of_mark(line)?)));
    marks.fold(String::new(), |mut list, (number, id)| {
        let _ = writeln!(list, "{number}: {id}");
        list
    })
}

fn mark_in_fixture(line: &str) -> Option<String> {
    Some(line.split_once("//~ ")?.1.trim().to_owned())
}

/// The text of a page's fenced block under a heading.
fn block<'a>(page: &'a str, heading: &str) -> &'a str {
    let section = page
        .split_once(&format!("\n## {heading}\n"))
        .map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    let fenced = section.split_once("```hlsl\n").map_or("", |(_, rest)| rest);
    fenced.split("```").next().unwrap_or_default()
}

fn fixtures(rule: &Rule, stem: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/rules")
        .join(rule.id);
    let entries = std::fs::read_dir(folder).expect("every rule has a folder of fixtures");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let name = |path: &PathBuf| {
        path.file_name()
            .map_or(String::new(), |name| name.to_string_lossy().into_owned())
    };
    paths.retain(|path| {
        name(path).starts_with(stem) && path.extension().is_some_and(|extension| extension == "hlsl")
    });
    paths.sort();
    assert!(!paths.is_empty(), "{} has no fixture {stem}.hlsl", rule.id);
    paths
}

#[test]
fn ids_and_pages_have_the_agreed_form() {
    for rule in RULES {
        assert!(
            rule.id
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
            "{}",
            rule.id
        );
        assert_eq!(
            RULES.iter().filter(|other| other.is_named(rule.id)).count(),
            1,
            "{}",
            rule.id
        );
        assert!(
            rule.explanation.starts_with(&format!("# {}\n", rule.id)),
            "{}",
            rule.id
        );
        let headings: Vec<&str> = rule
            .explanation
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .collect();
        assert_eq!(headings, HEADINGS, "{}", rule.id);
        assert!(
            rule.aliases
                .iter()
                .all(|alias| named(alias).any(|meant| meant.id == rule.id))
        );
    }
}

#[test]
fn the_example_warns_where_it_says() {
    for rule in RULES {
        let text = block(rule.explanation, "Example");
        let mark = |line: &str| line.ends_with("// warning").then(|| rule.id.to_owned());
        assert_ne!(marked(text, mark), "", "{}", rule.id);
        assert_eq!(found(text.as_bytes()), marked(text, mark), "{}", rule.id);
    }
}

/// Rules whose better form refines the flagged one: which thread gets which slot, or sees which sum on the way, is open
/// in both. They are not compared lane by lane; that neither races, at any wave size, is what is checked here.
const REFINING: [&str; 3] = ["atomic-slot-claim", "single-cell-atomic", "small-bin-atomic"];

#[test]
fn what_to_use_instead_is_silent_and_equivalent() {
    for rule in RULES {
        let (flagged, better) = (
            block(rule.explanation, "Example"),
            block(rule.explanation, "Use instead"),
        );
        assert_eq!(found(better.as_bytes()), "", "{}", rule.id);
        let (flagged, better) = (shader(flagged.as_bytes()), shader(better.as_bytes()));
        let entry = |shader: &Shader| shader.entry_points().next().map(|(entry, _)| entry);
        let (Some(flagged_entry), Some(better_entry)) = (entry(&flagged), entry(&better)) else {
            panic!("{}: a block has no entry point", rule.id);
        };
        if REFINING.contains(&rule.id) {
            for block in [(&flagged, flagged_entry), (&better, better_entry)] {
                for run in compare(block, block, &LaneMap::ALL) {
                    assert!(
                        !matches!(run.outcome, Outcome::Races { .. }),
                        "{}: {run:?}",
                        rule.id
                    );
                }
            }
            continue;
        }
        // A kernel that is wrong has no meaning to compare with.
        if rule.category == Category::Perf {
            for run in compare(
                (&flagged, flagged_entry),
                (&better, better_entry),
                &[LaneMap::Linear],
            ) {
                assert!(run.outcome.is_equal(), "{}: {run:?}", rule.id);
            }
        }
    }
}

/// What these pages say to use instead is what their fix makes of the example.
#[test]
fn what_to_use_instead_is_the_fix() {
    for id in ["atomic-slot-claim", "single-cell-atomic"] {
        let rule = named(id).next().expect("a rule");
        let example = block(rule.explanation, "Example").replace(" // warning", "");
        let settled = settle(example.as_bytes(), true, lint, |findings| findings);
        let fixed = String::from_utf8_lossy(&settled.text).into_owned();
        assert_eq!(fixed, block(rule.explanation, "Use instead"), "{id}");
    }
}

#[test]
fn marks_are_findings() {
    let (mut all_found, mut all_marked) = (String::new(), String::new());
    for path in RULES.iter().flat_map(|rule| fixtures(rule, "bad")) {
        let text = std::fs::read_to_string(&path).expect("a fixture is UTF-8");
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let _ = write!(all_found, "{name}\n{}", found(text.as_bytes()));
        let _ = write!(all_marked, "{name}\n{}", marked(&text, mark_in_fixture));
    }
    assert!(
        all_found == all_marked,
        "found:\n{all_found}\nmarked:\n{all_marked}"
    );
}

#[test]
fn good_is_silent_under_every_rule() {
    for rule in RULES {
        for path in fixtures(rule, "good") {
            let text = std::fs::read(&path).expect("a fixture can be read");
            assert_eq!(found(&text), "", "{}", path.display());
        }
    }
}

/// HLSL names what a struct inherits as its own members, and not by the base.
#[test]
fn inherited_members_are_named_as_own_ones() {
    let text = |own: &str| {
        format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\nstruct A {{ uint k; }};\nstruct B : A {{ {own} }};\n\
             groupshared B g[64];\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex) {{\n    g[gi].k = Src[gi];\n    \
             GroupMemoryBarrierWithGroupSync();\n    for (uint s = 32; s > 0; s >>= 1) {{\n        \
             if (gi < s) g[gi].k += g[gi + s].k;\n        GroupMemoryBarrierWithGroupSync();\n    }}\n    \
             Out[gi] = g[0].k;\n}}\n"
        )
    };
    let fixed = |own: &str| settle(text(own).as_bytes(), true, lint, |findings| findings);
    let told = String::from_utf8_lossy(&fixed("uint q;").text).into_owned();
    assert!(
        told.contains("+= g[waveElement].k;") && told.contains("g[0].k = "),
        "{told}"
    );
    // Which of two is meant is not followed.
    assert_eq!(fixed("uint k;").fixed, [""; 0]);
}

#[test]
fn fixed_files_are_clean_and_stay_so() {
    for rule in RULES {
        for path in fixtures(rule, "bad") {
            let text = std::fs::read(&path).expect("a fixture can be read");
            let fix = |text: &[u8]| settle(text, true, lint, |findings| findings);
            let once = fix(&text);
            let left: Vec<&Diagnostic> = once.last.iter().filter(|finding| finding.fix.is_some()).collect();
            assert!(left.is_empty(), "{}: {left:?}", path.display());
            let twice = fix(&once.text);
            assert_eq!(twice.fixed, [""; 0], "{}", path.display());
            assert_eq!(twice.text, once.text, "{}", path.display());
        }
    }
}

/// A kernel around the textbook ladder, `before` it and `after` its array.
fn ladder(before: &str, after: &str) -> String {
    format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n{before}{after}\n[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex) {{\n    g[gi] = Src[gi];\n    GroupMemoryBarrierWithGroupSync();\n    \
         for (uint s = 1; s < 64; s <<= 1) {{\n        uint v = gi >= s ? g[gi - s] : 0;\n        \
         GroupMemoryBarrierWithGroupSync();\n        g[gi] += v;\n        GroupMemoryBarrierWithGroupSync();\n    \
         }}\n    Out[gi] = g[gi];\n}}\n"
    )
}

#[test]
fn no_fix_that_would_not_compile_or_mean_something_else() {
    let has_fix = |text: &str| {
        let findings = lint(text.as_bytes());
        assert_eq!(findings.len(), 1, "{text}");
        findings.iter().any(|finding| finding.fix.is_some())
    };
    let array = "groupshared uint g[64];";
    assert!(has_fix(&ladder("", array)));
    // The file's macro, not the intrinsic that was proved.
    assert!(!has_fix(&ladder("#define WavePrefixSum(x) (x)\n", array)));
    assert!(!has_fix(&ladder("# define WaveGetLaneCount() 32\n", array)));
    assert!(has_fix(&ladder("#define WavePrefix(x) (x)\n", array)));
    // Declared among others, or behind the type that it returns; what is called among others, and behind a block.
    for declared in [
        "uint f(), WavePrefixSum(uint v);",
        "struct S { uint a; } WavePrefixSum(uint v);",
    ] {
        assert!(
            !has_fix(&ladder(&format!("#ifdef X\n{declared}\n#endif\n"), array)),
            "{declared}"
        );
    }
    // A variable may have a type's name.
    let sum = |name: &str| {
        format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n{array}\n[numthreads(64, 1, 1)]\n\
             void main(uint gi : SV_GroupIndex) {{\n    int {name} = 3;\n    g[gi] = Src[gi];\n    \
             GroupMemoryBarrierWithGroupSync();\n    for (int s = 32; s > 0; s /= 2) {{\n        \
             if (gi < s) g[gi] += g[gi + s];\n        GroupMemoryBarrierWithGroupSync();\n    }}\n    \
             if (gi == 0) Out[0] = g[0] + {name};\n}}\n"
        )
    };
    assert!(has_fix(&sum("three")));
    assert!(!has_fix(&sum("uint")));
    // A type that another build has under this name: the fix is no safe one.
    let typedef = ladder("#ifdef X\nfloat typedef uint2, uint;\n#endif\n", array);
    let fixes = lint(typedef.as_bytes())
        .into_iter()
        .filter_map(|finding| finding.fix);
    let safety: Vec<Safety> = fixes.map(|fix| fix.safety).collect();
    assert_eq!(safety, [Safety::Unsafe]);
    let called = "#ifdef X\nuint h(uint a, uint b) { if (a > b) { a = 1; } WavePrefixSum(a); return h(a, WavePrefixSum(b)); }\n#endif\n";
    assert!(has_fix(&ladder(called, array)));
    // A macro that calls the barrier, and one under whose name a build may define it.
    for sync in ["SYNC", "SYNC()", "SYNC(x)"] {
        let calls = format!("#define {sync} GroupMemoryBarrierWithGroupSync();\n");
        assert!(has_fix(&ladder(&calls, array)), "{sync}");
        let defines = format!(
            "#define {sync} GroupMemoryBarrierWithGroupSync()\n#ifdef X\nvoid {sync} {{ }}\n#endif\n"
        );
        assert!(!has_fix(&ladder(&defines, array)), "{sync}");
    }
    // No number is assigned to an enumeration.
    let colours = "enum Colour { Red, Green };\n";
    let of_colours = ladder(colours, "typedef Colour C; groupshared C g[64];");
    assert_eq!(lint(of_colours.as_bytes()).len(), 0);
    assert!(has_fix(&ladder(colours, array)));
    // More than the 32 KiB there are.
    assert!(!has_fix(&ladder("", "groupshared uint g[8192];")));
    assert!(has_fix(&ladder("", "groupshared uint g[8176];")));
}

/// A fix's text is put into the file, and read there once more: it means what was proved.
#[test]
fn sizes_mean_in_a_fix_what_they_mean_to_the_group() {
    let scan = |define: &str, length: &str, attribute: &str| {
        format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n{define}\ngroupshared uint g[{length}];\n\
             {attribute}\nvoid main(uint gi : SV_GroupIndex) {{\n    g[gi] = Src[gi];\n    \
             GroupMemoryBarrierWithGroupSync();\n    for (uint s = 1; s < 128; s <<= 1) {{\n        uint v = gi >= s ? \
             g[gi - s] : 0;\n        GroupMemoryBarrierWithGroupSync();\n        g[gi] += v;\n        \
             GroupMemoryBarrierWithGroupSync();\n    }}\n    Out[gi] = g[gi];\n}}\n"
        )
    };
    let named = "[numthreads(N, 1, 1)]";
    for text in [
        scan("#define N 256 >> 1", "N", named),
        scan("#define N 64 + 64", "N", named),
        scan("#define N (64 | 128) - 64", "N", named),
        scan("static const uint N = 128;", "N", named),
        scan("#define N 128", "N // one a thread\n", named),
        scan("#define N 128", "N", named).replace("g[N]", "g // [unroll]\n[N]"),
        scan("#define N 128", "N", named).replace("uint g[N]", "/* g[3] */ uint g [N]"),
        scan("#define N 128", "N", "[numthreads(N /* threads */, 1, 1)]"),
        scan(
            "#define MUL(a, b) ((a) * (b))",
            "128",
            "[numthreads(MUL(16, 8), 1, 1)]",
        ),
        scan("#define NT(log) [numthreads(1u << log, 1, 1)]", "128", "NT(7)"),
        scan(
            "#define N 128\n#define NT(x) [numthreads(x, 1, 1)]",
            "128",
            "NT(N)",
        ),
    ] {
        let fixed = settle(text.as_bytes(), true, lint, |findings| findings);
        let fixed = String::from_utf8_lossy(&fixed.text).into_owned();
        let (before, after) = (shader(text.as_bytes()), shader(fixed.as_bytes()));
        assert_eq!(
            found(fixed.as_bytes()),
            if fixed == text {
                found(text.as_bytes())
            } else {
                String::new()
            }
        );
        let entry = |shader: &Shader| shader.entry_points().next().map(|(entry, _)| entry);
        let (Some(flagged), Some(better)) = (entry(&before), entry(&after)) else {
            panic!("{fixed}: no entry point is left");
        };
        for run in compare((&before, flagged), (&after, better), &[LaneMap::Linear]) {
            assert!(run.outcome.is_equal(), "{fixed}: {run:?}");
        }
    }
}

/// So does the name of the group's size, in the kernel or in a function that the kernel calls.
#[test]
fn the_name_of_a_size_means_the_same_where_the_ladder_stands() {
    let array = "groupshared float g[N];\n";
    let function = "void Sum(uint gi) {\n    for (uint s = N / 2; s > 0; s >>= 1) {\n        if (gi < s) g[gi] += g[gi + s];\n        \
                    GroupMemoryBarrierWithGroupSync();\n    }\n}\n";
    let kernel = "[numthreads(N, 1, 1)]\nvoid main(uint gi : SV_GroupIndex) {\n    g[gi] = Src[gi];\n    \
                  GroupMemoryBarrierWithGroupSync();\n    Sum(gi);\n    if (gi == 0) Out[0] = g[0];\n}\n";
    let of_rows = |text: &str| text.replace("(N, 1, 1)", "(8, N / 8, 1)");
    let with_local = function
        .replace("{\n    for", "{\n    uint N = 256; Unused[gi] = N;\n    for")
        .replace("N / 2", "32");
    let constant = "static const uint N = 64;\n";
    let macro_ = "#define N 64\n";
    for (parts, is_fixed) in [
        ([constant, array, function, kernel], true),
        ([macro_, array, function, kernel], true),
        (
            ["#define M 32\n#define N (M * 2)\n", array, function, kernel],
            true,
        ),
        ([constant, array, &with_local, kernel], false),
        // The function stands before the name, or where the name is another one's.
        (
            [
                "",
                "groupshared float g[64];\n",
                &function.replace('N', "64"),
                &format!("{macro_}{kernel}"),
            ],
            false,
        ),
        (
            [
                "",
                "groupshared float g[64];\n",
                &function.replace('N', "64"),
                &format!("{constant}{kernel}"),
            ],
            false,
        ),
        (
            [
                "#define N 128\n",
                "groupshared float g[64];\n",
                &function.replace('N', "64"),
                &format!("#undef N\n{macro_}{kernel}"),
            ],
            false,
        ),
        (
            [
                "#define M 128\n#define N M\n",
                "groupshared float g[64];\n",
                &function.replace('N', "64"),
                &format!("#undef M\n#define M 64\n{kernel}"),
            ],
            false,
        ),
    ] {
        for rows in [false, true] {
            let text = format!(
                "StructuredBuffer<float> Src; RWStructuredBuffer<float> Out; RWStructuredBuffer<uint> Unused;\n{}",
                parts.concat()
            );
            let text = if rows { of_rows(&text) } else { text };
            let fixed = settle(text.as_bytes(), true, lint, |findings| findings);
            let fixed = String::from_utf8_lossy(&fixed.text).into_owned();
            assert_eq!(fixed != text, is_fixed, "{fixed}");
            let (before, after) = (shader(text.as_bytes()), shader(fixed.as_bytes()));
            let entry = |shader: &Shader| shader.entry_points().next().map(|(entry, _)| entry);
            let (Some(flagged), Some(better)) = (entry(&before), entry(&after)) else {
                panic!("{fixed}: no entry point is left");
            };
            for run in compare((&before, flagged), (&after, better), &[LaneMap::Linear]) {
                assert!(run.outcome.is_equal(), "{fixed}: {run:?}");
            }
        }
    }
}

/// One dimension's name is not the group's size where another dimension goes with it: the fix is right for each of both.
#[test]
fn one_dimension_of_two_is_not_the_size() {
    let scan = |columns: u32| {
        format!(
            "#define COLUMNS {columns}\nRWStructuredBuffer<uint> Out; groupshared uint g[64];\n\
             [numthreads(COLUMNS, 64 / COLUMNS, 1)]\nvoid main(uint gi : SV_GroupIndex) {{\n    g[gi] = Out[gi];\n    \
             GroupMemoryBarrierWithGroupSync();\n    for (uint s = 1; s < 64; s <<= 1) {{\n        uint v = gi >= s ? \
             g[gi - s] : 0;\n        GroupMemoryBarrierWithGroupSync();\n        g[gi] += v;\n        \
             GroupMemoryBarrierWithGroupSync();\n    }}\n    Out[gi] = g[gi];\n}}\n"
        )
    };
    let fixed = settle(scan(64).as_bytes(), true, lint, |findings| findings);
    let fixed = String::from_utf8_lossy(&fixed.text).into_owned();
    let in_rows = fixed.replace("COLUMNS 64", "COLUMNS 16");
    assert!(fixed.contains("WavePrefixSum") && in_rows != fixed, "{fixed}");
    let kernels = [scan(16), in_rows].map(|text| shader(text.as_bytes()));
    let [flagged, better] = kernels.each_ref().map(|kernel| {
        let (entry, _) = kernel.entry_points().next().expect("the kernel");
        (kernel, entry)
    });
    for run in compare(flagged, better, &[LaneMap::Linear]) {
        assert!(run.outcome.is_equal(), "{fixed}: {run:?}");
    }
}

#[test]
fn no_safe_fix_that_another_configuration_would_not_bear() {
    let is_safe = |text: &str, defines: &[(String, String)]| {
        let (shader, _) = shaderlint_hlsl::read("test.hlsl", text.as_bytes(), defines, &NoIncludes);
        let findings = check_shader(&shader, RULES, &Settings::default()).findings;
        assert_eq!(findings.len(), 1, "{text}");
        let fix = findings.into_iter().find_map(|finding| finding.fix);
        fix.is_some_and(|fix| fix.safety == Safety::Safe)
    };
    // The textbook ladder with N for 64, and with something before or instead of parts of it.
    let sized = |before: &str| {
        format!(
            "{before}\n{}",
            ladder("", "groupshared uint g[N];").replace("64", "N")
        )
    };
    let array = "groupshared uint g[64];";
    let with = |before: &str, part: &str, instead: &str| ladder(before, array).replace(part, instead);
    let addition = "g[gi] += v;";
    // Values in the member of a struct.
    let held = |declared: &str| with(declared, addition, "V held; held.v = v; g[gi] += held.v;");
    let end = "    Out[gi] = g[gi];";
    let operators = "#if MAX\n#define OP(a, b) max(a, b)\n#else\n#define OP(a, b) ((a) + (b))\n#endif\n";
    let functions = operators
        .replace("#define OP(a, b)", "uint OP(uint a, uint b) { return")
        .replace(")\n#e", "); }\n#e");
    let arrays = [
        "#if BIG\ngroupshared uint g[128];\n#else\n",
        "groupshared uint g[64];\n#endif\n",
    ];
    // The ladder in a function, with something before and behind all of it.
    let called = |before: &str, behind: &str| {
        let (ladder, rest) = ladder("", "")
            .split_once("[numthreads")
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .expect("a kernel");
        let (head, rest) = rest.split_once("    for (").expect("a ladder");
        let (steps, tail) = rest.split_once("    Out[gi]").expect("what follows it");
        format!(
            "{before}{ladder}{array}\nvoid Ladder(uint gi) {{\n    for ({steps}}}\n[numthreads{head}    Ladder(gi);\n    Out[gi]{tail}{behind}"
        )
    };
    let kernel = "[numthreads(64, 1, 1)] void n(uint gi : SV_GroupIndex) { g[gi] = Src[gi]; \
                  GroupMemoryBarrierWithGroupSync(); Ladder(e); Out[gi] = g[gi]; }\n";
    let macro_kernel = format!("#define KERNEL(n, e) {kernel}");
    let second = |region: &str| format!("#ifdef SECOND\n{region}\n#endif\n");
    for text in [
        // What a region holds is what it expands to: a kernel, memory, a function with an intrinsic's name.
        called(&macro_kernel, &second("KERNEL(Second, 63 - gi)")),
        called(&macro_kernel, &second("#define SECOND_KERNEL KERNEL(Second, 63 - gi)\nSECOND_KERNEL")),
        called(&format!("#define SECOND_KERNEL {}", kernel.replace("(e)", "(63 - gi)")), &second("SECOND_KERNEL")),
        called("#define CALL(f) void Other(uint gi) { f##der(63 - gi); }\n", &second("CALL(Lad)")),
        called("#define SHMEM(n, c) groupshared uint n[c]\n", &second("SHMEM(g_Big, 8128);")),
        ladder(&format!("#define WRAP(f) uint f(uint x) {{ return x; }}\n{}", second("WRAP(WavePrefixSum)")), array),
        ladder(&format!("#define NAME WavePrefixSum\n{}", second("uint NAME(uint x) { return x; }")), array),
        // What a macro is given is compiled as a choice has it.
        called("#ifdef X\n#define MAYBE(x) x\n#else\n#define MAYBE(x)\n#endif\n", &format!("MAYBE({})\n", kernel.trim_end().replace("(e)", "(63 - gi)"))),
        called("#ifdef X\n#define MAYBE(x) x\n#else\n#define MAYBE(x)\n#endif\n#define ALSO(x) MAYBE(x)\n", "void Other(uint gi) { ALSO(Ladder(63 - gi);) }\n"),
        // An enumerator, or a type with parameters, is chosen.
        with("#ifdef X\nenum { TURN = 63 };\n#else\nenum { TURN = 0 };\n#endif\n", "    g[gi] = Src", "    gi ^= TURN;\n    g[gi] = Src"),
        with(
            "#ifdef X\ntemplate<typename T> struct Turn { T by() { return 63; } };\n#else\ntemplate<typename T> struct Turn { T by() \
             { return 0; } };\n#endif\n",
            "    g[gi] = Src",
            "    Turn<uint> turn;\n    gi ^= turn.by();\n    g[gi] = Src",
        ),
        ladder("#ifdef X\nenum { K = 8128 };\n#else\nenum { K = 64 };\n#endif\ngroupshared uint h[K];\n", array)
            .replace("Out[gi] = g[gi];", "h[63 - gi] = gi; GroupMemoryBarrierWithGroupSync(); Out[gi] = g[gi] + h[gi];"),
        sized("#ifndef N\n#define N 64\n#endif"),
        sized("#if BIG\n#define M 128\n#else\n#define M 64\n#endif\n#define N M"),
        ladder(arrays[0], arrays[1]),
        with(operators, addition, "g[gi] = OP(g[gi], v);"),
        with(&functions, addition, "g[gi] = OP(g[gi], v);"),
        with(
            "",
            "    g[gi] = Src",
            "#if SWIZZLE\n    gi = gi ^ 1;\n#endif\n    g[gi] = Src",
        ),
        // The size of the group is chosen, or the sizes of its waves.
        with(
            "",
            "[numthreads(64, 1, 1)]",
            "#ifdef BIG\n[numthreads(128, 1, 1)]\n#else\n[numthreads(64, 1, 1)]\n#endif",
        ),
        with(
            "",
            "[numthreads(64, 1, 1)]",
            "#ifdef BIG\n[numthreads(128, 1, 1)]\n#endif\n#ifndef BIG\n[NumThreads(64, 1, 1)]\n#endif",
        ),
        with(
            "",
            "[numthreads(64, 1, 1)]",
            "#ifndef SMALL\n[WaveSize(32)]\n#endif\n[numthreads(64, 1, 1)]",
        ),
        // Anything in the kernel may change what comes to the ladder, and how often.
        with("", end, &format!("#if DEBUG\n    Out[64] = 3;\n#endif\n{end}")),
        with(
            "",
            "    for (uint s = 1",
            "#ifdef TWICE\n    for (uint k = 0; k < 2; ++k)\n#endif\n    for (uint s = 1",
        ),
        with(
            "",
            "SV_GroupIndex) {",
            "SV_GroupIndex) {\n    gi +=\n#ifdef X\n    1;\n#else\n    0;\n#endif",
        ),
        // What the struct that holds the ladder inherits is chosen.
        "#ifdef X\n#define BASE A\n#else\n#define BASE B\n#endif\nStructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n\
         groupshared uint g[64];\nstruct A { uint steps() { return 32; } }; struct B { uint steps() { return 64; } };\n\
         struct L : BASE {\nvoid scan(uint gi) {\n    for (uint s = 1; s < steps(); s <<= 1) {\n        uint v = gi >= s ? \
         g[gi - s] : 0;\n        GroupMemoryBarrierWithGroupSync();\n        g[gi] += v;\n        \
         GroupMemoryBarrierWithGroupSync();\n    }\n}\n};\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex) {\n    \
         g[gi] = Src[gi];\n    GroupMemoryBarrierWithGroupSync();\n    L all;\n    all.scan(gi);\n    Out[gi] = g[gi];\n}\n"
            .to_owned(),
        // Comments beside directives, and names that are put together.
        sized("/**/ #ifdef X\n#define N 32\n#else\n#define N 64\n#endif"),
        sized("#ifdef X\n/*\n#endif\n*/\n#define N 32\n#else\n#define N 64\n#endif"),
        sized("#\\\nifdef X\n#define N 32\n#\\\r\nelse\n#define N 64\n#endif"),
        with(
            "#define NAME(a, b) a##b\n#ifdef X\n#define COUNT 32\n#else\n#define COUNT 64\n#endif\n",
            "s < 64",
            "s < NAME(COU, NT)",
        ),
        // A guard has no other arm.
        sized("#ifndef X\n#define X\n#define N 64\n#else\n#define N 32\n#endif"),
        // What looks like a guard is none where text stands behind it: a build may give X another value.
        with("#ifndef X\n#define X\n#endif\n", addition, "g[gi] += v; X"),
        // A build may define anything for a macro that is nothing here.
        format!("#ifndef HOOK\n#define HOOK\n#endif\nHOOK\n{}", ladder("", array)),
        // An intrinsic is one in one configuration only.
        ladder(
            "#ifdef X\nuint WavePrefixSum(uint a) { return a; }\n#endif\n",
            array,
        ),
        // What a type is is chosen.
        held("#ifdef X\n#define T int\n#else\n#define T uint\n#endif\nstruct V { T v; };\n"),
        held("struct V {\n#ifdef X\n    int v;\n#else\n    uint v;\n#endif\n};\n"),
        held("#ifdef X\ntypedef int T;\n#else\ntypedef uint T;\n#endif\nstruct V { T v; };\n"),
        held(
            "#ifdef X\n#define BASE A\n#else\n#define BASE B\n#endif\nstruct A { int v; }; struct B { uint v; };\nstruct V : BASE {};\n",
        ),
        held(
            "#ifdef X\n#define T int\n#else\n#define T uint\n#endif\ntemplate<typename S = T> struct W { S v; };\ntypedef W<> V;\n",
        ),
        // It reads what the fix does not leave.
        with("", end, &format!("#if DEBUG\n    Out[64] = g[0];\n#endif\n{end}")),
    ] {
        assert!(!is_safe(&text, &[]), "{text}");
    }
    let given = [("N".to_owned(), "64".to_owned())];
    assert!(!is_safe(&sized(""), &given));
    assert!(!is_safe(&sized("#define M N").replace("[N]", "[M]"), &given));
    // The choice is of the ladder itself, or of nothing that it depends on.
    for text in [
        sized("#define M 64\n#define N M"),
        format!("#ifndef FILE\n#define FILE\n{}#endif\n", ladder("", array)),
        format!("#if NOTHING\n#else\n{}#endif\n", ladder("", array)),
        ladder("#if LIGHTS\nTexture2D Light;\n#endif\n", array),
        ladder(
            "#define MAP(t, n) Texture2D<t> n##Map\n#if LIGHTS\nMAP(float, Light);\n#endif\n",
            array,
        ),
        called(
            "#define KERNEL(n) void n() { Light = 0; }\n",
            "#if LIGHTS\nKERNEL(Shade)\n#endif\n",
        ),
        ladder("#if SIGNED\nstruct Pair { int a, b; };\n#endif\n", array),
        with("", end, &format!("#if DEBUG\n// Nothing yet.\n#endif\n{end}")),
    ] {
        assert!(is_safe(&text, &[]), "{text}");
    }
}

/// The last step stays in the text, and another build may compile another one.
#[test]
fn no_safe_fix_where_a_build_has_another_last_step() {
    let kernel = |last: &str| {
        format!(
            "RWStructuredBuffer<uint> Out; groupshared uint g[64];\n\
             [numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)\n{{\n\
             g[gi] = Out[id.x];\nGroupMemoryBarrierWithGroupSync();\n\
             for (uint s = 32; s > 1; s >>= 1)\n{{\n\
             if (gi < s)\ng[gi] += g[gi + s];\nGroupMemoryBarrierWithGroupSync();\n}}\n{last}\n}}\n"
        )
    };
    let fix = |last: &str| {
        let found = lint(kernel(last).as_bytes());
        let fix = found.into_iter().find_map(|found| found.fix);
        fix.map(|fix| (fix.safety, fix.edits.len()))
    };
    let stored = "if (gi == 0)\nOut[id.x] = g[0] + g[1];";
    assert_eq!(fix(stored), Some((Safety::Safe, 3)));
    let chosen = |other: &str| format!("#ifdef OTHER\n{other}\n#else\n{stored}\n#endif");
    for other in ["if (gi == 0)\nOut[id.x] = g[0] * g[1];", "Out[id.x] = g[gi];"] {
        assert_eq!(fix(&chosen(other)), Some((Safety::Unsafe, 3)), "{other}");
        let within = stored.replace("Out", &format!("\n#ifdef OTHER\n{other}\n#else\nOut")) + "\n#endif";
        assert_eq!(fix(&within), Some((Safety::Unsafe, 3)), "{other}");
    }
    // A kernel that reads a partial result besides the total gets no fix.
    for more in [
        "if (gi == 0) { Out[id.x] = g[0] + g[1]; Out[id.x + 1] = g[1]; }",
        "if (gi == 0) { uint sum = g[0] + g[1]; Out[id.x] = sum * g[1]; }",
        "if (gi == 0) { g[0] += g[1]; Out[id.x] = g[0] + g[1]; }",
        "if (gi == 0) { g[0] += g[1]; g[1] = 7; Out[id.x] = g[0] + g[1]; }",
        "if (gi < 2) { uint sum = g[gi] + g[1]; Out[id.x] = sum; }",
    ] {
        assert_eq!(fix(more), None, "{more}");
    }
    // What stands beside the step stays, and a variable may be declared without a value.
    let beside = "if (gi == 0) { { g[0] += g[1]; Out[1] = 3; } Out[id.x] = g[0]; }";
    assert_eq!(fix(beside), Some((Safety::Safe, 4)));
    let late = "if (gi == 0) { uint sum; sum = g[0]; sum += g[1]; Out[id.x] = sum; }";
    assert_eq!(fix(late), None);
    let index = "uint i = gi; if (i == 0) { Out[id.x] = g[0] + g[1]; }";
    assert_eq!(fix(index), Some((Safety::Safe, 3)));
    let scalar =
        kernel("if (gi == 0) total = g[0] + g[1];\nGroupMemoryBarrierWithGroupSync();\nOut[id.x] = total;");
    let scalar = scalar.replace("groupshared", "groupshared uint total; groupshared");
    let why = lint(scalar.as_bytes()).into_iter().find_map(|found| found.no_fix);
    let why = why.as_ref().map(shaderlint_linter::NoFix::text);
    let text = "shaderlint writes no wave form that leaves its result in `total`, which is not an array";
    assert_eq!(why, Some(text));
}

/// Other libraries call what is exported, from whichever threads they like.
#[test]
fn no_fix_in_what_is_exported() {
    let has_fix = |function: &str, kernel: &str| {
        let body = "uint t)\n{\n    for (uint s = 32; s > 0; s >>= 1)\n    {\n        if (t < s) g[t] += g[t + s];\n        \
                    GroupMemoryBarrierWithGroupSync();\n    }\n}\n";
        let text = format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\ngroupshared uint g[64];\n{function}{body}{kernel}\
             [numthreads(64, 1, 1)]\nvoid main(uint t : SV_GroupIndex)\n{{\n    g[t] = Src[t];\n    \
             GroupMemoryBarrierWithGroupSync();\n    total(t);\n    if (t == 0) Out[0] = g[0];\n}}\n"
        );
        lint(text.as_bytes()).iter().any(|finding| finding.fix.is_some())
    };
    assert!(has_fix("void total(", ""));
    assert!(has_fix("void total(", "export void other(uint t) { }\n"));
    assert!(!has_fix("export void total(", ""));
    assert!(!has_fix("static export void total(", ""));
    assert!(!has_fix("export void total(uint t);\nvoid total(", ""));
    assert!(!has_fix(
        "void total(",
        "export void other(uint t) { total(t); }\n"
    ));
}

/// A kernel is a function that others may call, with other numbers for their threads, and it may be one of another kernel's group.
#[test]
fn no_fix_in_a_kernel_that_another_function_calls_otherwise() {
    let kernel = |others: &str| {
        let text = ladder("groupshared uint g[64];", "");
        lint(format!("{text}{others}").as_bytes())
    };
    let why_not = |others: &str| {
        let mut findings = kernel(others).into_iter();
        let ladder = findings.find(|finding| finding.rule == "hillis-steele-scan");
        let ladder = ladder.expect("a ladder");
        assert_eq!(ladder.fix.is_some(), ladder.no_fix.is_none());
        ladder.no_fix.map_or("", |why| why.reason.name())
    };
    let other = |group: &str, body: &str| {
        format!("[numthreads({group})] void Other(uint gi : SV_GroupIndex) {{ {body} }}\n")
    };
    assert_eq!(why_not(""), "");
    assert_eq!(why_not(&other("64, 1, 1", "Out[gi] = 1;")), "");
    assert_eq!(why_not(&other("64, 1, 1", "main(gi);")), "");
    assert_eq!(why_not(&other("64, 1, 1", "main(63 - gi);")), "other-kernel");
    assert_eq!(why_not(&other("8, 8, 1", "main(gi);")), "other-kernel");
    assert_eq!(
        why_not("float4 p(float4 at : SV_Position) : SV_Target { main(at.x); return 0; }"),
        "uncalled-user"
    );
    let race = "RWStructuredBuffer<uint> Out; groupshared uint g[64];
[numthreads(64, 1, 1)] void Swap(uint gi : SV_GroupIndex) { g[gi] = gi; Out[gi] = g[gi ^ 2]; }\n";
    let has_fix = |others: &str| {
        let findings = lint(format!("{race}{others}").as_bytes());
        findings.iter().any(|finding| finding.fix.is_some())
    };
    assert!(has_fix(""));
    assert!(!has_fix(&other("64, 1, 1", "if (gi & 1) Swap(gi);")));
}

/// What is not understood may call a function with other arguments than what is.
#[test]
fn no_fix_in_what_text_that_is_not_understood_may_call() {
    let why_not = |structs: &str, call: &str| {
        let text = format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[64];
struct S {{ uint q; static void scan(uint gi) {{ // scan(63 - gi)
    for (uint s = 1; s < 64; s <<= 1) {{
        uint l = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync();
        g[gi] += l; GroupMemoryBarrierWithGroupSync();
    }}
}}
{structs}
[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex) {{
    g[gi] = Src[gi]; GroupMemoryBarrierWithGroupSync(); S::scan(gi); Out[gi] = g[gi];
}}
[numthreads(64, 1, 1)] void second(uint gi : SV_GroupIndex) {{
    g[gi] = Src[gi]; GroupMemoryBarrierWithGroupSync(); {call} Out[gi] = g[gi];
}}\n"
        );
        let mut findings = lint(text.as_bytes()).into_iter();
        let ladder = findings.find(|finding| finding.rule == "hillis-steele-scan");
        let ladder = ladder.expect("a ladder");
        assert_eq!(ladder.fix.is_some(), ladder.no_fix.is_none());
        ladder.no_fix.map_or("", |why| why.reason.name())
    };
    assert_eq!(why_not("};", ""), "");
    assert_eq!(why_not("};", "S::scan(gi);"), "");
    assert_eq!(why_not("};", "S::scan(63 - gi);"), "other-kernel");
    let derived = "static void again(uint gi) { scan(gi); } };\nstruct T : S {};";
    let withheld = ["other-kernel", "unknown-user"];
    for call in [
        "S::again(gi); T::scan(63 - gi);",
        "S::again(gi); T::again(63 - gi);",
        "S::again(gi); T t; t.q = 0; ((S)t).scan(63 - gi);",
        "S::again(gi); T t; t.q = 0; t.S::scan(63 - gi);",
    ] {
        let why = why_not(derived, call);
        assert!(withheld.contains(&why), "{call}: {why}");
    }
    let why = why_not(
        "};\ntemplate<typename X> struct T : X {};",
        "T<S>::scan(63 - gi);",
    );
    assert!(withheld.contains(&why), "{why}");
}

/// A variable may hide what has its name, but for a template: DXC takes `uint t = …` for a specialization of it.
#[test]
fn no_variable_of_a_fix_has_the_name_of_a_template() {
    let named = |before: &str| {
        let body = "    if (gi == 0) g_Sum = 0;\n    GroupMemoryBarrierWithGroupSync();\n    InterlockedAdd(g_Sum, Src[gi]);\n    \
                    GroupMemoryBarrierWithGroupSync();\n    if (gi == 0) Out[0] = g_Sum;\n";
        let text = format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n{before}groupshared uint g_Sum;\n\
             [numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex)\n{{\n{body}}}\n"
        );
        let mut fixes = lint(text.as_bytes())
            .into_iter()
            .filter_map(|finding| finding.fix);
        let fix = fixes.next().expect("a fix");
        let edits = fix.edits.iter().map(|edit| edit.text.as_str());
        let text: String = edits.collect();
        (text.contains(" waveTotal "), text.contains(" waveTotal2 "))
    };
    assert_eq!(named(""), (true, false));
    assert_eq!(named("uint waveTotal(uint a) { return a; }\n"), (false, true));
    for template in [
        "template<typename T> T waveTotal(T a) { return a; }\n",
        "template<typename T> struct waveTotal { T a; };\n",
        "template<uint N> static const uint waveTotal = N;\n",
        "#ifdef X\ntemplate<typename T> T waveTotal(T a) { return a; }\n#endif\n",
    ] {
        assert_eq!(named(template), (false, true), "{template}");
    }
    assert_eq!(
        named("template<typename T> T total(T a) { return a; }\n"),
        (true, false)
    );
}

/// The file's text of a fix is read with the file's names.
#[test]
fn no_fix_names_what_the_file_declares_anew() {
    // The form says `uint2`.
    let pair = "vector<uint, 2>";
    let array = format!("groupshared {pair} g[64];");
    let of_pairs = |before: &str| {
        let text = ladder(before, &array).replace("Buffer<uint>", &format!("Buffer<{pair} >"));
        text.replace(
            "uint v = gi >= s ? g[gi - s] : 0;",
            &format!("{pair} v = 0; if (gi >= s) v = g[gi - s];"),
        )
    };
    assert!(
        lint(of_pairs("").as_bytes())
            .iter()
            .any(|finding| finding.fix.is_some())
    );
    for before in [
        "struct uint2 { uint a; };\n",
        "typedef float uint2;\n",
        "uint WaveGetLaneCount() { return 4; }\n",
        "#ifdef X\nstruct uint2 { uint a; };\n#endif\n",
        "enum { uint2 };\n",
        "namespace uint2 { }\n",
        "#ifdef X\nnamespace uint2 { }\n#endif\n",
        "#ifdef X\ntypedef vector<float, 2> uint2;\n#endif\n",
        "#ifdef X\ntypedef float Other, uint2;\n#endif\n",
        "#ifdef X\ntypedef struct { float q; } uint2;\n#endif\n",
        "#ifdef X\nuint uint2(uint x, uint y) { return x; }\n#endif\n",
        "#ifdef X\ntemplate<typename T> T uint2(T x, T y) { return x; }\n#endif\n",
        "#define NAMED(a) typedef float a;\n#ifdef X\nNAMED(uint2)\n#endif\n",
        "#define NAMED(n, a) typedef float a;\n#ifdef X\nNAMED(1, uint2)\n#endif\n",
        "#define NAMED uint2\n#ifdef X\ntypedef float NAMED;\n#endif\n",
        "#define NAMED WaveGetLaneCount\n#ifdef X\nuint NAMED() { return 4; }\n#endif\n",
        "enum E { Other, WaveGetLaneCount };\n",
        "cbuffer C { uint WaveGetLaneCount; };\n",
        "template<typename T> struct WavePrefixSum { T a; };\n",
        "struct Base { uint WavePrefixSum(uint x) { return 5; } };\n",
        "struct Held { uint WavePrefixSum; uint f() { return WavePrefixSum; } };\n",
        "#define HELD }; static const uint\nstruct Held { uint a; HELD WavePrefixSum; };\n",
        "#define JOIN(a, b) a##b\nstruct Held { uint JOIN(WavePre, fixSum); };\n",
        "#define JOIN(a, b) a##b\n#define NAME(b) JOIN(WavePre, b)\nstruct Held { uint NAME(fixSum); };\n",
        // A macro is given to another one, or made, or a build says what is put together.
        "#define JOIN(a, b) a##b\n#define CALL(f, a, b) f(a, b)\nstruct Held { uint CALL(JOIN, WavePre, fixSum); };\n",
        "#define JOIN(a, b) a##b\nstatic const uint Wave = 1, PrefixSum = JOIN(JO, IN)(1, 2);\n",
        "#ifndef P\n#define P Other\n#endif\n#define JOIN_(a, b) a##b\n#define JOIN(a, b) JOIN_(a, b)\n\
         static const uint Wave = 1; struct Held { uint JOIN(P, PrefixSum); };\n",
        // Another line, or count, would be another number.
        "static const uint Line = __LINE__;\n",
        "#define JOIN(a, b) a##b\nstatic const uint Line = JOIN(__LI, NE__);\n",
        "static const uint Line = __LI\\\nNE__;\n",
        "static const uint Count = __COUNTER__;\n",
    ] {
        let findings = lint(of_pairs(before).as_bytes());
        assert_eq!(findings.len(), 1, "{before}");
        assert!(findings.iter().all(|finding| finding.fix.is_none()), "{before}");
    }
    // What `##` puts together is another name; only a build with other definitions could make it one of these.
    let before = "#define JOIN_(a, b) a##b\n#define JOIN(a, b) JOIN_(a, b)\n\
                  static const uint Wave = 1, PrefixSum = 2;\nstatic const uint JOIN(Half, Sum) = 3;\n";
    let findings = lint(of_pairs(before).as_bytes());
    let fixes = findings
        .iter()
        .map(|finding| finding.fix.as_ref().map(|fix| fix.safety));
    assert_eq!(fixes.collect::<Vec<_>>(), [Some(Safety::Unsafe)]);
    // Other names for them, types in their places, and casts.
    for before in [
        "#define uvec2 uint2\nuvec2 Both(uint2 a, vector<uint, 2> b) { return (uint2)a + uint2(b.x, 1); }\n",
        "#define Barrier GroupMemoryBarrierWithGroupSync\nvoid Wait() { Barrier(); }\n",
        "Buffer<uint2> Pairs;\nstatic const uint2 Some[2] = { uint2(1, 2), uint2(3, 4) };\n",
        // A member has a meaning behind a dot only.
        "struct Held { uint WavePrefixSum; float2 Other[4], WaveGetLaneCount; };\n\
         uint Get(Held held) { return held.WavePrefixSum; }\n",
    ] {
        let findings = lint(of_pairs(before).as_bytes());
        assert!(findings.iter().any(|finding| finding.fix.is_some()), "{before}");
    }
}

/// A file that includes itself compiles two arms of one `#if`, of which one defines what the other is compiled with.
#[test]
fn no_safe_fix_in_a_file_within_itself() {
    struct Itself(String);
    impl Includes for Itself {
        fn resolve(&self, _: &[&str], path: &str, _: bool) -> Option<SourceFile> {
            Some(SourceFile {
                path: path.to_owned(),
                text: self.0.as_bytes().into(),
            })
        }
    }
    let is_safe = |text: String| {
        let includes = Itself(text.clone());
        let (shader, _) = shaderlint_hlsl::read("a.hlsl", text.as_bytes(), &[], &includes);
        let findings = check_shader(&shader, RULES, &Settings::default()).findings;
        let fixes = findings.into_iter().map(|finding| finding.fix);
        fixes
            .map(|fix| fix.map(|fix| fix.safety == Safety::Safe))
            .collect::<Vec<_>>()
    };
    let kernel = ladder("", "groupshared uint g[64];");
    let within_itself = format!("#ifndef S\n#define S 1\n#include \"a.hlsl\"\n#else\n{kernel}#endif\n");
    assert_eq!(is_safe(within_itself), [Some(false)]);
    let guarded = format!("#ifndef S\n#define S\n#include \"a.hlsl\"\n{kernel}#endif\n");
    assert_eq!(is_safe(guarded), [Some(true)]);
}

/// Which file a build reads, and under which name it declares something, an `#if` may choose by way of a macro.
#[test]
fn no_safe_fix_beside_what_a_macro_includes_or_names() {
    struct Empty;
    impl Includes for Empty {
        fn resolve(&self, _: &[&str], path: &str, _: bool) -> Option<SourceFile> {
            Some(SourceFile {
                path: path.to_owned(),
                text: b"\n"[..].into(),
            })
        }
    }
    let is_safe = |before: &str| {
        let text = ladder(before, "groupshared uint g[64];");
        let (shader, _) = shaderlint_hlsl::read("test.hlsl", text.as_bytes(), &[], &Empty);
        let findings = check_shader(&shader, RULES, &Settings::default()).findings;
        assert_eq!(findings.len(), 1, "{text}");
        let fix = findings.into_iter().find_map(|finding| finding.fix);
        fix.expect("a fix").safety == Safety::Safe
    };
    let chosen = |asks: &str| format!("{asks}\n#define H \"a.h\"\n#else\n#define H \"b.h\"\n#endif\n");
    for before in [
        format!("{}#include H\n", chosen("#ifdef X")),
        format!("{}#define NAME H\n#include NAME\n", chosen("#if X == 3")),
        "#ifndef H\n#define H \"a.h\"\n#endif\n#include H\n".to_owned(),
        "#ifndef FN\n#define FN Helper\n#endif\nuint FN(uint a) { return a; }\n".to_owned(),
        "#ifndef T\n#define T Word\n#endif\ntypedef uint T;\n".to_owned(),
    ] {
        assert!(!is_safe(&before), "{before}");
    }
    for before in [
        "#define H \"a.h\"\n#include H\n",
        "#define FN Helper\nuint FN(uint a) { return a; }\n",
        "#ifndef SCALE\n#define SCALE Size\n#endif\nstatic const uint Size = 3;\nuint Other() { return SCALE; }\n",
    ] {
        assert!(is_safe(before), "{before}");
    }
}

/// D3D12 gives the group of a mesh shader 28 KiB.
#[test]
fn totals_fit_into_what_a_stage_has() {
    let has_fix = |before: &str, length: u32| {
        let text = ladder(
            before,
            &format!("groupshared uint g[64]; groupshared uint h[{length}];"),
        );
        let findings = lint(text.as_bytes());
        assert_eq!(findings.len(), 1, "{text}");
        findings.iter().any(|finding| finding.fix.is_some())
    };
    let mesh =
        "[outputtopology(\"triangle\")] [numthreads(1, 1, 1)] void Mesh() { SetMeshOutputCounts(0, 0); }\n";
    assert!(has_fix("", 8120) && has_fix(mesh, 7096));
    assert!(!has_fix("", 8125) && !has_fix(mesh, 7101));
    // Nothing says how many bytes these take.
    for of_unknown_size in [
        "struct P { uint a : 16; uint b : 16; uint c : 1; }; groupshared P p[64];\n",
        "groupshared Undeclared p[64];\n",
    ] {
        assert!(!has_fix(of_unknown_size, 64), "{of_unknown_size}");
    }
}

#[test]
fn no_two_fixes_that_do_not_fit_together() {
    let second = |text: String| {
        let (before, after) = text.split_once("    for (").expect("the ladder");
        let (ladder, after) = after.split_once("    Out[gi]").expect("what follows it");
        let again = ladder.replace("g[gi", "h[gi");
        format!(
            "{before}    for ({ladder}    h[gi] = Src[gi + 64];\n    GroupMemoryBarrierWithGroupSync();\n    for ({again}    Out[gi] = h[gi];\n    Out[gi]{after}"
        )
    };
    for (length, fixes) in [(4084, 2), (4086, 0)] {
        let arrays = format!("groupshared uint g[{length}]; groupshared uint h[{length}];");
        let text = second(ladder("", &arrays));
        let findings = lint(text.as_bytes());
        assert_eq!(findings.len(), 2, "{text}");
        assert_eq!(
            findings.iter().filter(|finding| finding.fix.is_some()).count(),
            fixes
        );
    }
}

#[test]
fn ladders_share_the_totals_if_these_are_free() {
    let kernel = |name: &str, elements: u32, first: &str, last: &str| {
        format!(
            "[numthreads({elements}, 1, 1)]\nvoid {name}(uint gi : SV_GroupIndex) {{\n{first}    g[gi] = Src[gi];\n    \
             GroupMemoryBarrierWithGroupSync();\n    for (uint s = 1; s < {elements}; s *= 2) {{\n        \
             uint left = gi >= s ? g[gi - s] : 0;\n        GroupMemoryBarrierWithGroupSync();\n        \
             g[gi] += left;\n        GroupMemoryBarrierWithGroupSync();\n    }}\n    Out[gi] = g[gi]{last};\n}}\n"
        )
    };
    let given = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\ngroupshared uint g[256];\n";
    let fixed = |text: &str| {
        let settled = settle(text.as_bytes(), true, lint, Vec::as_slice);
        String::from_utf8(settled.text).expect("a text")
    };
    let declared = |text: &str| -> Vec<String> {
        let fixed = fixed(text);
        assert!(!fixed.contains("left"), "{fixed}");
        let lines = fixed.lines().map(str::trim_start);
        let lines = lines.filter(|line| line.starts_with("groupshared uint gWaveTotals"));
        lines.map(str::to_owned).collect()
    };
    let one = kernel("First", 256, "", "");
    // One after the other, in the same kernel and in another, which needs no more of them.
    let body = one.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}'));
    let (body, _) = body.expect("a body");
    let twice = one.replace(
        body,
        &format!("{body}    GroupMemoryBarrierWithGroupSync();\n{{{body}}}"),
    );
    for more in [
        String::new(),
        kernel("Second", 256, "", ""),
        kernel("Second", 64, "", ""),
    ] {
        assert_eq!(
            declared(&format!("{given}{twice}{more}")),
            ["groupshared uint gWaveTotals[64];"]
        );
    }
    // It needs more.
    let text = format!("{given}{}{one}", kernel("Second", 64, "", ""));
    assert_eq!(
        declared(&text),
        [
            "groupshared uint gWaveTotals2[64];",
            "groupshared uint gWaveTotals[16];"
        ]
    );
    // The author's own, which the kernel has a use for, or which is no such array, or not yet, or not always there.
    let own = "groupshared uint gWaveTotals[64];\n";
    let used = kernel(
        "First",
        256,
        "    if (gi < 64) gWaveTotals[gi] = gi;\n",
        " + gWaveTotals[gi & 63]",
    );
    assert_eq!(
        declared(&format!("{given}{own}{used}")),
        [
            "groupshared uint gWaveTotals2[64];",
            "groupshared uint gWaveTotals[64];"
        ]
    );
    assert_eq!(declared(&format!("{given}{own}{one}")), [own.trim_end()]);
    for text in [
        format!("{given}groupshared int gWaveTotals[64];\n{one}"),
        format!("{given}groupshared uint2 gWaveTotals[64];\n{one}"),
        format!("{given}static uint gWaveTotals[64];\n{one}"),
        format!("{given}{one}{own}"),
    ] {
        assert!(
            fixed(&text).contains("groupshared uint gWaveTotals2[64];"),
            "{text}"
        );
    }
    let text = format!("{given}#ifndef NO\n{own}#endif\n{one}");
    let findings = lint(text.as_bytes());
    let fixes = findings.iter().filter_map(|finding| finding.fix.as_ref());
    assert_eq!(fixes.map(|fix| fix.safety).collect::<Vec<_>>(), [Safety::Unsafe]);
}

#[test]
fn a_reduction_is_replaced_where_nothing_else_is_left_over() {
    let reduction = |numthreads: &str, ty: &str, step: &str, end: &str| {
        format!(
            "StructuredBuffer<{ty}> Src; RWStructuredBuffer<{ty}> Out; groupshared {ty} g[64];\n\
             [numthreads({numthreads})]\nvoid main(uint gi : SV_GroupIndex) {{\n    g[gi] = Src[gi];\n    \
             GroupMemoryBarrierWithGroupSync();\n    for (uint s = 32; s > 0; s >>= 1) {{\n        \
             if (gi < s) {step};\n        GroupMemoryBarrierWithGroupSync();\n    }}\n    {end}\n}}\n"
        )
    };
    let fixes = |text: &str| -> Vec<Option<Safety>> {
        let findings = lint(text.as_bytes());
        let fixes = findings.iter().map(|finding| finding.fix.as_ref());
        fixes.map(|fix| fix.map(|fix| fix.safety)).collect()
    };
    let (sum, first) = ("g[gi] += g[gi + s]", "if (gi == 0) Out[0] = g[0];");
    let (row, rows) = ("64, 1, 1", "8, 8, 1");
    let safe = [Some(Safety::Safe)];
    // Beside a half the identity is one: `?:` of a half and a float is a float.
    let greatest = "g[gi] = max(g[gi], g[gi + s])";
    for ty in ["half", "min16float"] {
        assert_eq!(
            fixes(&reduction(row, ty, greatest, first)),
            [Some(Safety::Unsafe)],
            "{ty}"
        );
    }
    assert_eq!(fixes(&reduction(row, "uint", sum, first)), safe);
    assert_eq!(fixes(&reduction(rows, "uint", sum, first)), safe);
    assert_eq!(
        fixes(&reduction(row, "float", sum, first)),
        [Some(Safety::Unsafe)]
    );
    // Without an atomic, waves have to be numbered; or one of them adds up.
    let product = "g[gi] *= g[gi + s]";
    assert_eq!(fixes(&reduction(row, "uint", product, first)), safe);
    assert_eq!(fixes(&reduction(rows, "uint", product, first)), safe);
    assert_eq!(
        fixes(&reduction(rows, "float", sum, first)),
        [Some(Safety::Unsafe)]
    );
    // A partial sum, or the least element of a merge, is not all that is wanted.
    assert_eq!(fixes(&reduction(row, "uint", sum, "Out[gi] = g[gi];")), []);
    assert_eq!(
        fixes(&reduction(row, "uint", sum, "if (gi == 0) Out[0] = g[0] + g[1];")),
        []
    );
    // The file's macro, not the intrinsic that was proved.
    let text = reduction(row, "uint", sum, first);
    assert_eq!(
        fixes(&format!("#define WaveIsFirstLane() (gi == 0)\n{text}")),
        [None]
    );
    assert_eq!(
        fixes(&format!(
            "#if BIG\n#define N 64\n#else\n#define N 64\n#endif\n{}",
            text.replace("64", "N")
        )),
        [Some(Safety::Unsafe)]
    );
}

/// Whether a function of the file or the intrinsic of its name is called is left open: nothing is proved of such a call.
#[test]
fn a_function_of_an_intrinsics_name_proves_nothing() {
    let with = |declared: &str, name: &str| {
        let text = format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[64];\n{declared}\n\
             [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\ng[gi] = Src[gi];\n\
             GroupMemoryBarrierWithGroupSync();\nfor (uint s = 32; s > 0; s >>= 1)\n{{\n\
             if (gi < s) g[gi] = {name}(g[gi], g[gi + s]);\nGroupMemoryBarrierWithGroupSync();\n}}\nOut[gi] = g[0];\n}}\n"
        );
        lint(text.as_bytes()).len()
    };
    assert_eq!(with("", "min"), 1);
    assert_eq!(with("uint Xor(uint a, uint b) { return a ^ b; }", "Xor"), 1);
    assert_eq!(with("uint min(uint a, uint b) { return a ^ b; }", "min"), 0);
    assert_eq!(with("int min(int a, int b) { return a ^ b; }", "min"), 0);
    // The intrinsic takes two.
    let three = "uint min(uint a, uint b, uint c) { return a ^ b; }\nuint Least(uint a, uint b) { return min(a, b, b); }";
    assert_eq!(with(three, "Least"), 1);
}

/// A group leaves whole, by a condition that all its threads share: that costs no fix.
#[test]
fn a_return_of_the_whole_group_keeps_its_fix() {
    let of = |ty: &str, start: &str| {
        let text = format!(
            "StructuredBuffer<{ty}> Src; RWStructuredBuffer<{ty}> Out; uint n; groupshared {ty} g[256];\n\
             [numthreads(256, 1, 1)] void main(uint gi : SV_GroupIndex, uint3 group : SV_GroupID)\n{{\n{start}\n\
             g[gi] = Src[group.x * 256 + gi];\nGroupMemoryBarrierWithGroupSync();\nfor (uint s = 128; s > 0; s >>= 1)\n{{\n\
             if (gi < s) g[gi] += g[gi + s];\nGroupMemoryBarrierWithGroupSync();\n}}\nif (gi == 0) Out[group.x] = g[0];\n}}\n"
        );
        let findings = lint(text.as_bytes());
        let ladder = findings
            .iter()
            .find(|finding| finding.rule == "hand-rolled-reduction");
        let fix = ladder.and_then(|ladder| ladder.fix.as_ref());
        fix.map(|fix| fix.safety)
    };
    for (ty, safety) in [
        ("uint", Safety::Safe),
        ("int", Safety::Safe),
        ("float", Safety::Unsafe),
    ] {
        assert_eq!(of(ty, ""), Some(safety), "{ty}");
        assert_eq!(of(ty, "if (group.x >= n) return;"), Some(safety), "{ty}");
    }
    // Some threads of the last group may leave.
    assert_eq!(
        of("uint", "if (group.x * 256 + gi >= n) return;"),
        Some(Safety::Unsafe)
    );
}
