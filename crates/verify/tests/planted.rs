//! Wrong fixes, planted: each has to be caught, and the table in the book says by what.
#![allow(clippy::print_stderr, reason = "the figures are worth seeing")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use shaderlint_hlsl::{FunctionId, Shader};
use shaderlint_simt::{LaneMap, Outcome, compare, unordered};
use shaderlint_verify::interpret::{Interpretation, interpret};
use shaderlint_verify::run::Trial;
use support::{compared, lowered, shader};

/// A kernel around what is replaced.
struct Planted {
    about: &'static str,
    flagged: String,
    fixed: String,
    wrong: String,
}

const SCAN: &str = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out;
groupshared uint g[64]; groupshared uint totals[16];
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {
    g[gi] = In[id.x];
    GroupMemoryBarrierWithGroupSync();
    BODY
    Out[id.x] = g[gi];
}
";

const LADDER: &str = "for (uint s = 1; s < 64; s <<= 1) {
        uint v = gi >= s ? g[gi - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        g[gi] += v;
        GroupMemoryBarrierWithGroupSync();
    }";

const BY_WAVES: &str = "uint element = g[gi];
    uint scan = WavePrefixSum(element) + element;
    uint total = WaveActiveSum(element);
    uint wave = gi / WaveGetLaneCount();
    uint lane = WaveGetLaneIndex();
    if (WaveIsFirstLane()) totals[wave] = total;
    GroupMemoryBarrierWithGroupSync();
    for (uint first = 0; first < wave; first += WaveGetLaneCount())
        scan += WaveActiveSum(first + lane < wave ? totals[first + lane] : 0);
    g[gi] = scan;
    GroupMemoryBarrierWithGroupSync();";

const REDUCTION: &str = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out;
groupshared uint g[64]; groupshared uint total;
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID) {
    BODY
}
";

const HALVES: &str = "g[gi] = In[id.x];
    GroupMemoryBarrierWithGroupSync();
    for (uint s = 32; s > 0; s >>= 1) {
        if (gi < s) g[gi] += g[gi + s];
        GroupMemoryBarrierWithGroupSync();
    }
    if (gi == 0) Out[group.x] = g[0];";

const BY_ATOMIC: &str = "if (gi == 0) total = 0;
    GroupMemoryBarrierWithGroupSync();
    uint sum = WaveActiveSum(In[id.x]);
    if (WaveIsFirstLane()) InterlockedAdd(total, sum);
    GroupMemoryBarrierWithGroupSync();
    if (gi == 0) Out[group.x] = total;";

const CLAIM: &str = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out; RWStructuredBuffer<uint> Next;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    uint own = In[id.x];
    if ((own & 1) == 0) return;
    uint slot;
    BODY
    Out[slot] = own;
}
";

const SLOT: &str = "InterlockedAdd(Next[0], 1, slot);";

const BY_WAVE: &str = "uint count = WaveActiveCountBits(true);
    uint before = WavePrefixCountBits(true);
    if (WaveIsFirstLane()) InterlockedAdd(Next[0], count, slot);
    slot = WaveReadLaneFirst(slot) + before;";

const EXCHANGE: &str = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out;
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    Out[id.x] = In[id.x];
    BODY
    Out[id.x] = other;
}
";

const ORDERED: &str = "AllMemoryBarrierWithGroupSync();
    uint other = Out[id.x ^ 1];
    AllMemoryBarrierWithGroupSync();";

const BY_DEVICE_BARRIERS: &str = "DeviceMemoryBarrierWithGroupSync();
    uint other = Out[id.x ^ 1];
    DeviceMemoryBarrierWithGroupSync();";

fn planted() -> Vec<Planted> {
    let barrier = "GroupMemoryBarrierWithGroupSync();";
    let lists = [
        (
            (SCAN, LADDER, BY_WAVES),
            vec![
                (
                    "scan: one wave's total left out",
                    "first < wave;",
                    "first + 1 < wave;",
                ),
                (
                    "scan: exclusive for inclusive",
                    "(element) + element",
                    "(element)",
                ),
                ("scan: the barrier after the totals dropped", barrier, ""),
                ("scan: a slot too few for the totals", "totals[16]", "totals[15]"),
                ("scan: `^=` for `+=`", "scan +=", "scan ^="),
                (
                    "scan: a maximum for the sum of totals",
                    "scan += WaveActiveSum",
                    "scan += WaveActiveMax",
                ),
            ],
        ),
        (
            (REDUCTION, HALVES, BY_ATOMIC),
            vec![
                (
                    "reduction: every lane adds the wave's sum",
                    "if (WaveIsFirstLane()) ",
                    "",
                ),
                ("reduction: the total starts with 1", "total = 0", "total = 1"),
                (
                    "reduction: the barrier before the result dropped",
                    "sum);\n    GroupMemoryBarrierWithGroupSync();",
                    "sum);",
                ),
                (
                    "reduction: a maximum for the sum",
                    "WaveActiveSum",
                    "WaveActiveMax",
                ),
            ],
        ),
        (
            (CLAIM, SLOT, BY_WAVE),
            vec![
                ("claim: all lanes take the wave's first slot", " + before", ""),
                ("claim: a slot more than are used", ", count,", ", count + 1,"),
                ("claim: slots overlap by one", ", count,", ", count - 1,"),
            ],
        ),
        (
            (EXCHANGE, ORDERED, BY_DEVICE_BARRIERS),
            vec![(
                "exchange: the barrier before the load dropped",
                "DeviceMemoryBarrierWithGroupSync();",
                "",
            )],
        ),
    ];
    let mut planted = Vec::new();
    for ((kernel, ladder, fix), edits) in lists {
        for (about, from, to) in edits {
            let fixed = kernel.replace("BODY", fix);
            let wrong = if kernel.contains(from) {
                fixed.replace(from, to)
            } else {
                // In the fix, and there the first.
                kernel.replace("BODY", &fix.replacen(from, to, 1))
            };
            assert_ne!(wrong, fixed, "{about}");
            planted.push(Planted {
                about,
                flagged: kernel.replace("BODY", ladder),
                fixed,
                wrong,
            });
        }
    }
    planted
}

fn entry(shader: &Shader) -> FunctionId {
    shader.entry_points().next().expect("an entry point").0
}

fn trial(flagged: &str, fixed: &str) -> Trial {
    let shader = shader(flagged);
    let mut trial = Trial::new(&lowered(flagged), &lowered(fixed));
    trial.unordered = unordered(&shader, entry(&shader)).as_sets;
    trial.is_untimed = true;
    trial
}

/// Which wave sizes show what, for instance `differs (4, 8)`.
fn by_size(outcomes: impl Iterator<Item = (u32, &'static str)>) -> String {
    let mut sizes: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for (size, outcome) in outcomes {
        sizes.entry(outcome).or_default().push(size.to_string());
    }
    let all = sizes.len() == 1;
    let listed = sizes.into_iter().map(|(outcome, sizes)| {
        if all {
            outcome.to_owned()
        } else {
            format!("{outcome} ({})", sizes.join(", "))
        }
    });
    listed.collect::<Vec<_>>().join(", ")
}

fn by_proof(flagged: &str, fixed: &str) -> String {
    let shaders = [shader(flagged), shader(fixed)];
    let [flagged, fixed] = shaders.each_ref().map(|shader| (shader, entry(shader)));
    by_size(compare(flagged, fixed, &[LaneMap::Linear]).map(|run| {
        let outcome = match run.outcome {
            Outcome::Equal | Outcome::Reassociates => "equal",
            Outcome::Differs(_) => "**differs**",
            Outcome::OutOfBounds { .. } => "**out of bounds**",
            Outcome::Races { .. } => "**races**",
            Outcome::RoundsBeyond(_) | Outcome::Undecided | Outcome::NotProved(_) => "not proved",
        };
        (run.wave_size, outcome)
    }))
}

fn by_interpreter(flagged: &str, fixed: &str) -> String {
    let shaders = [shader(flagged), shader(fixed)];
    let [first, second] = shaders.each_ref().map(|shader| (shader, entry(shader)));
    let runs = interpret(first, second, &trial(flagged, fixed), &[LaneMap::Linear]);
    by_size(runs.iter().map(|run| {
        let outcome = match run.outcome {
            Interpretation::Equal { .. } => "equal",
            Interpretation::Differs { .. } => "**differs**",
            Interpretation::NotFollowed => "not followed",
        };
        (run.wave_size, outcome)
    }))
}

/// What devices show of each, a line each. Lavapipe's waves are of so many bits.
fn by_devices(width: &str) -> String {
    let mut lines = String::new();
    for Planted {
        about,
        flagged,
        fixed,
        wrong,
    } in planted()
    {
        let mut seen = Vec::new();
        for (kernel, is_right) in [(&fixed, true), (&wrong, false)] {
            for (adapter, report) in compared(&trial(&flagged, kernel)) {
                let report = report.unwrap_or_else(|error| panic!("{about} on {}: {error}", adapter.name));
                if let (Some(waves), true) = (&report.waves, adapter.name.starts_with(LAVAPIPE)) {
                    assert_eq!((32 * waves.min).to_string(), width, "{about}");
                }
                if is_right {
                    assert!(
                        report.is_match(),
                        "{about} on {}: {:?}",
                        adapter.name,
                        report.comparisons
                    );
                    continue;
                }
                assert_eq!(report.is_match(), !report.is_difference(), "{about}");
                assert_eq!(report.is_difference(), report.minimal.is_some(), "{about}");
                seen.push(if report.is_difference() {
                    "**differs**"
                } else {
                    "equal"
                });
            }
        }
        let seen = seen.first().copied().unwrap_or("–");
        let _ = writeln!(lines, "device: {about}: {seen}");
    }
    lines
}

/// What Mesa's device in software calls itself.
const LAVAPIPE: &str = "llvmpipe";

const NAME: &str = "every_planted_fix_is_caught";

/// Mesa's lavapipe takes its wave size from the environment when it starts, so the test starts itself anew for each.
#[test]
fn every_planted_fix_is_caught() {
    if let Ok(width) = std::env::var(support::WIDTH) {
        eprint!("{}", by_devices(&width));
        return;
    }
    let mut devices = Vec::new();
    for (width, mut again) in support::at_each_width(NAME) {
        let output = again.output().expect("the test starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{width} bits: {said}");
        devices.push(said);
    }
    let mut table = String::from(
        "| planted | proof | interpreter | device, waves of 4 | of 8 | of 16 |\n|---|---|---|---|---|---|\n",
    );
    for Planted {
        about,
        flagged,
        fixed,
        wrong,
    } in planted()
    {
        // What is planted is all that is wrong.
        for outcome in [by_proof(&flagged, &fixed), by_interpreter(&flagged, &fixed)] {
            assert!(
                ["equal", "not proved", "not followed"].contains(&outcome.as_str()),
                "{about}: {outcome}"
            );
        }
        let mut row = vec![by_proof(&flagged, &wrong), by_interpreter(&flagged, &wrong)];
        let is_lost = by_proof(&flagged, &fixed) == "equal" && row[0] == "not proved";
        if is_lost {
            row[0] = "**not proved**".to_owned();
        }
        let is_race = is_lost || row[0].contains("races");
        for said in &devices {
            if is_race {
                // What a device makes of it is chance.
                row.push("chance".to_owned());
                continue;
            }
            let line = said
                .lines()
                .find_map(|line| line.strip_prefix(&format!("device: {about}: ")));
            row.push(line.expect("a line for each").to_owned());
        }
        let caught: BTreeSet<usize> = (0..)
            .zip(&row)
            .filter(|(_, word)| word.contains("**"))
            .map(|(at, _)| at)
            .collect();
        assert!(!caught.is_empty(), "{about} is caught by nothing: {row:?}");
        let _ = writeln!(table, "| {about} | {} |", row.join(" | "));
    }
    eprintln!("{table}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verification.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    if support::devices()
        .iter()
        .all(|device| device.info.name.starts_with(LAVAPIPE))
    {
        assert!(
            page.contains(&table),
            "docs/verification.md should have this table:\n{table}"
        );
    }
}
