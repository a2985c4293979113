//! The output of the reports, independent of rules and engine.

use shaderlint_hlsl::{FileId, FileSpan, SourceFile, Sources};
use shaderlint_linter::{Category, Diagnostic, FileEdit, Fix, Label, Level, Proof, Report, Safety, Verdict};
use snapbox::{assert_data_eq, str};

use crate::check::file_report::FileReport;
use crate::support::terminal::Style;

const KERNEL: &str = "\
StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;

groupshared uint g_Scan[64]; // r\u{e9}sultat

[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex)
{
    g_Scan[gi] = Src[gi];
    GroupMemoryBarrierWithGroupSync();
    for (uint s = 1; s < 64; s <<= 1)
    {
        uint left = gi >= s ? g_Scan[gi - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        g_Scan[gi] += left;
        GroupMemoryBarrierWithGroupSync();
    }
    Out[gi] = g_Scan[gi];
}
";

/// From the `nth` `from` to the end of the next `to`.
fn span(from: &str, nth: usize, to: &str) -> FileSpan {
    let offset = |offset: usize| u32::try_from(offset).unwrap_or(0);
    let start = KERNEL.match_indices(from).nth(nth).map_or(0, |(start, _)| start);
    let end = KERNEL[start..]
        .find(to)
        .map_or(start, |end| start + end + to.len());
    FileSpan {
        file: FileId(0),
        start: offset(start),
        end: offset(end),
    }
}

fn checked() -> FileReport {
    let label = |place: FileSpan, text: &str| Label {
        place,
        text: text.to_owned(),
    };
    let barrier = "GroupMemoryBarrierWithGroupSync()";
    let ladder = span("for", 0, "    }");
    let scan = Diagnostic {
        rule: "hillis-steele-scan",
        kernels: vec!["Main".to_owned()],
        is_of_first: false,
        category: Category::Perf,
        level: Level::Warn,
        message: "hand-rolled inclusive scan of 64 uints (Hillis\u{2013}Steele)".to_owned(),
        shape: Some("doubling"),
        verdict: Verdict::Proved,
        primary: label(ladder, "6 rounds, 12 barriers, counted in the run"),
        secondary: vec![
            label(
                span("groupshared", 0, ";"),
                "the elements pass through this array",
            ),
            label(span(barrier, 1, ")"), "every thread waits for the slowest"),
            label(span(barrier, 2, ")"), ""),
        ],
        notes: vec![
            "proved: g_Scan[i] = g_Scan[0] + \u{2026} + g_Scan[i] for all i < 64, race-free".to_owned(),
            "the wave form passes one barrier instead; it needs shader model 6.0 and waves that hold \
             consecutive threads, as every known implementation packs 1-D groups"
                .to_owned(),
        ],
        fix: Some(Fix {
            title: "replace the ladder by its wave form".to_owned(),
            safety: Safety::Safe,
            proof: Some(Proof::new(
                "the fix is proved: the kernel writes the same",
                Vec::new(),
            )),
            notes: Vec::new(),
            edits: vec![FileEdit {
                place: ladder,
                text: "{\n    }".to_owned(),
            }],
            other_form: None,
        }),
        no_fix: None,
    };
    let race = Diagnostic {
        rule: "groupshared-race",
        kernels: vec!["Main".to_owned()],
        is_of_first: false,
        category: Category::Correctness,
        level: Level::Error,
        message: "data race on g_Scan[1]".to_owned(),
        shape: None,
        verdict: Verdict::Racy,
        primary: label(span("g_Scan[gi] +=", 0, "]"), "thread 1 writes g_Scan[1]"),
        secondary: vec![label(span("g_Scan[gi - s]", 0, "]"), "thread 2 reads it here")],
        notes: vec![
            "thread 2 reads g_Scan[1] while thread 1 writes it, both in barrier interval 1 (pass 1 of the loop, s = 1)"
                .to_owned(),
        ],
        fix: None,
        no_fix: None,
    };
    let file = SourceFile {
        path: "scan.hlsl".to_owned(),
        text: KERNEL.as_bytes().into(),
    };
    FileReport {
        path: "scan.hlsl".to_owned(),
        sources: Sources { files: vec![file] },
        report: Report {
            findings: vec![scan, race],
            ..Report::default()
        },
        ..FileReport::default()
    }
}

fn json_of(checked: &[FileReport]) -> anyhow::Result<Vec<u8>> {
    super::json::json(super::Results {
        checked,
        failures: &[],
    })
}

#[test]
fn full() {
    let text = super::text::full(&checked(), Style::default()).unwrap_or_default();
    assert_data_eq!(
        String::from_utf8_lossy(&text).into_owned(),
        str![[r#"
warning[hillis-steele-scan]: hand-rolled inclusive scan of 64 uints (Hillis–Steele)
   ┌─ scan.hlsl:11:5
   │
 4 │   groupshared uint g_Scan[64]; // résultat
   │   ---------------------------- the elements pass through this array
   ·
11 │ ╭     for (uint s = 1; s < 64; s <<= 1)
12 │ │     {
13 │ │         uint left = gi >= s ? g_Scan[gi - s] : 0;
14 │ │         GroupMemoryBarrierWithGroupSync();
   │ │         --------------------------------- every thread waits for the slowest
15 │ │         g_Scan[gi] += left;
16 │ │         GroupMemoryBarrierWithGroupSync();
   │ │         ---------------------------------
17 │ │     }
   │ ╰─────^ 6 rounds, 12 barriers, counted in the run
   │
   = proved: g_Scan[i] = g_Scan[0] + … + g_Scan[i] for all i < 64, race-free
   = the wave form passes one barrier instead; it needs shader model 6.0 and
     waves that hold consecutive threads, as every known implementation packs
     1-D groups
   = the fix is proved: the kernel writes the same
   = fix: replace the ladder by its wave form (--fix)

error[groupshared-race]: data race on g_Scan[1]
   ┌─ scan.hlsl:15:9
   │
13 │         uint left = gi >= s ? g_Scan[gi - s] : 0;
   │                               -------------- thread 2 reads it here
14 │         GroupMemoryBarrierWithGroupSync();
15 │         g_Scan[gi] += left;
   │         ^^^^^^^^^^ thread 1 writes g_Scan[1]
   │
   = thread 2 reads g_Scan[1] while thread 1 writes it, both in barrier
     interval 1 (pass 1 of the loop, s = 1)


"#]]
    );
}

#[test]
fn concise() {
    assert_data_eq!(
        super::text::concise(&checked(), Style::default()),
        str![[r#"
scan.hlsl:11:5: warning[hillis-steele-scan]: hand-rolled inclusive scan of 64 uints (Hillis–Steele) [fix]
scan.hlsl:15:9: error[groupshared-race]: data race on g_Scan[1]

"#]]
    );
}

#[test]
fn json() {
    let text = json_of(&[checked()]).unwrap_or_default();
    assert_data_eq!(
        String::from_utf8_lossy(&text).into_owned(),
        str![[r#"
{
  "version": "0.1.0",
  "findings": [
    {
      "rule": "hillis-steele-scan",
      "category": "perf",
      "severity": "warning",
      "path": "scan.hlsl",
      "start": {
        "line": 11,
        "column": 5
      },
      "end": {
        "line": 17,
        "column": 6
      },
      "message": "hand-rolled inclusive scan of 64 uints (Hillis–Steele)",
      "shape": "doubling",
      "verdict": "proved",
      "notes": [
        "proved: g_Scan[i] = g_Scan[0] + … + g_Scan[i] for all i < 64, race-free",
        "the wave form passes one barrier instead; it needs shader model 6.0 and waves that hold consecutive threads, as every known implementation packs 1-D groups"
      ],
      "fix": {
        "title": "replace the ladder by its wave form",
        "safety": "safe",
        "proof": "the fix is proved: the kernel writes the same",
        "edits": [
          {
            "start": {
              "line": 11,
              "column": 5
            },
            "end": {
              "line": 17,
              "column": 6
            },
            "replacement": "{/n    }"
          }
        ]
      },
      "no_fix": null
    },
    {
      "rule": "groupshared-race",
      "category": "correctness",
      "severity": "error",
      "path": "scan.hlsl",
      "start": {
        "line": 15,
        "column": 9
      },
      "end": {
        "line": 15,
        "column": 19
      },
      "message": "data race on g_Scan[1]",
      "shape": null,
      "verdict": "racy",
      "notes": [
        "thread 2 reads g_Scan[1] while thread 1 writes it, both in barrier interval 1 (pass 1 of the loop, s = 1)"
      ],
      "fix": null,
      "no_fix": null
    }
  ],
  "problems": []
}

"#]]
    );
}

#[test]
fn json_has_what_could_not_be_read() {
    let problem = |place| shaderlint_hlsl::Problem {
        message: "unknown name `x`".to_owned(),
        place,
        cause: shaderlint_hlsl::Cause::Name("x".to_owned()),
    };
    let unread = FileReport {
        problems: vec![problem(Some(span("Src", 0, "c"))), problem(None)],
        report: Report::default(),
        ..checked()
    };
    let text = json_of(&[unread]).expect("it is all text");
    assert_data_eq!(
        String::from_utf8_lossy(&text).into_owned(),
        str![[r#"
{
  "version": "0.1.0",
  "findings": [],
  "problems": [
    {
      "path": "scan.hlsl",
      "start": {
        "line": 1,
        "column": 24
      },
      "end": {
        "line": 1,
        "column": 27
      },
      "message": "unknown name `x`"
    },
    {
      "path": "scan.hlsl",
      "message": "unknown name `x`"
    }
  ]
}

"#]]
    );
}
