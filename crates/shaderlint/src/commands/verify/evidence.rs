//! The evidence on whether two kernels do the same. It is gathered once and shown as a table, as JSON or as a page.

use serde::Serialize;
use shaderlint_simt::WAVE_SIZES;

/// The evidence about one kernel and another that should do the same.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Evidence {
    /// The flagged kernel's file.
    pub file: String,
    pub kernel: String,
    /// `its fix`, or the name of the kernel it is compared with.
    pub other: String,
    /// `numthreads`.
    pub group: [u32; 3],
    pub verdict: Verdict,
    /// The findings in the kernel, if it is compared with its fix.
    pub findings: Vec<FindingLine>,
    pub proof: Proof,
    /// The verdicts in the file's other configurations that contain the kernel.
    pub elsewhere: Vec<Elsewhere>,
    /// Macros that conditions test and to which a build may give values that no configuration here has.
    pub unread: Vec<String>,
    pub interpreter: Vec<Interpreted>,
    /// The dispatches that the interpreter and the devices compared.
    pub cases: Vec<CaseLine>,
    pub devices: Vec<DeviceRow>,
    /// Further remarks for the reader.
    pub remarks: Vec<String>,
    pub flagged: Source,
    pub suggested: Source,
}

impl Evidence {
    /// Whether a device ran both kernels.
    pub fn was_run(&self) -> bool {
        let not_run = |row: &DeviceRow| matches!(row.outcome, DeviceOutcome::NotRun);
        self.devices.iter().any(|row| !not_run(row))
    }
}

/// The verdict under other definitions.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Elsewhere {
    /// For example `with keyword FANCY`.
    pub configuration: String,
    pub verdict: Verdict,
}

/// The conclusion from all evidence.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Verdict {
    pub kind: VerdictKind,
    /// One sentence without a full stop.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum VerdictKind {
    /// Proved equal for every input, bit for bit or up to the order of float operations.
    Proved,
    /// The atomics of the fix leave one of the outcomes that the flagged kernel can leave.
    Refines,
    /// Not proved. Devices or the interpreter gave the same results for the inputs that were tried, which proves
    /// nothing.
    OnlyRun,
    /// Not proved and not run, or different results on inputs that the proof does not cover.
    Unknown,
    /// A run or the engine shows a difference.
    Different,
    /// Proved, but a device or the interpreter leaves something else: it, a driver or the proof is wrong.
    Contradicted,
}

impl VerdictKind {
    /// The second kernel may replace the first.
    pub fn is_equivalent(self) -> bool {
        matches!(self, VerdictKind::Proved | VerdictKind::Refines)
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct FindingLine {
    pub rule: &'static str,
    /// From 1.
    pub line: usize,
    pub message: String,
}

/// What the engine proves for every input.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Proof {
    /// The separate proof about the atomics of the fix.
    pub atomics: Option<&'static str>,
    /// The columns of the matrix; empty if the fix changes only atomics.
    pub wave_sizes: Vec<u32>,
    /// Its rows.
    pub maps: Vec<MapRow>,
    /// It holds only for inputs on which every thread reaches the barriers.
    pub presumes_barriers: bool,
    /// The two write the same except in something that D3D leaves open: if a device then leaves other words, this
    /// shows nothing.
    #[serde(skip)]
    pub left_open: Option<&'static str>,
}

impl Proof {
    /// Under every expected lane map, the kernels are equal, or equal up to the order of float operations.
    pub fn holds(&self) -> bool {
        let expected = self.maps.iter().filter(|row| row.is_expected);
        expected
            .flat_map(|row| &row.cells)
            .all(|cell| cell.outcome.is_equal())
    }

    /// Equal up to the order of float operations, and not bit for bit.
    pub fn is_up_to_order(&self) -> bool {
        let mut cells = self.maps.iter().flat_map(|row| &row.cells);
        self.holds() && cells.any(|cell| cell.outcome == CellOutcome::Reassociates)
    }
}

/// One packing of threads into waves.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MapRow {
    pub map: &'static str,
    /// Hardware may pack a group of this shape like this: the proof has to hold here.
    pub is_expected: bool,
    /// One for each wave size.
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    pub wave_size: u32,
    pub outcome: CellOutcome,
    /// What the engine found, with its place.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CellOutcome {
    Equal,
    Reassociates,
    Differs,
    OutOfBounds,
    Races,
    NotProved,
}

impl CellOutcome {
    pub fn is_equal(self) -> bool {
        matches!(self, CellOutcome::Equal | CellOutcome::Reassociates)
    }

    /// The engine shows that the kernels differ.
    pub fn is_different(self) -> bool {
        matches!(
            self,
            CellOutcome::Differs | CellOutcome::OutOfBounds | CellOutcome::Races
        )
    }
}

/// What the interpreter shows for the inputs of the cases.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Interpreted {
    pub map: &'static str,
    pub wave_size: u32,
    /// `None` if the interpreter does not support something that one of the kernels does.
    pub is_equal: Option<bool>,
    pub text: String,
}

/// One dispatch.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CaseLine {
    pub about: &'static str,
    pub groups: [u32; 3],
}

/// What one device shows.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DeviceRow {
    pub adapter: String,
    pub backend: String,
    pub driver: String,
    /// A software rasteriser.
    pub is_cpu: bool,
    /// The smallest and largest wave size: measured by a probe, or otherwise reported by the adapter.
    pub waves: [u32; 2],
    pub outcome: DeviceOutcome,
    /// The details of the outcome, or why there is none.
    pub text: String,
    /// The number of words compared in all cases.
    pub words: u64,
    /// Whole kernels.
    pub kernel: Option<Times>,
    /// With the changed statements repeated in the kernel.
    pub ladder: Option<Times>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DeviceOutcome {
    /// Every word is equal in every case. That proves nothing.
    Alike,
    Differs,
    /// Nothing was written in any case: the comparison says nothing.
    NothingWritten,
    /// The flagged kernel may leave different results in two runs.
    Unstable,
    /// The difference may come from a hash that stands for another function.
    NotComparable,
    NotRun,
}

/// Milliseconds per run: median, minimum, maximum.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Times {
    /// What is timed, for instance `part ×64`.
    pub what: String,
    pub threads: u64,
    pub runs: u32,
    pub flagged: Milliseconds,
    pub suggested: Milliseconds,
    /// A kernel that reads and writes the same number of bytes.
    pub copy: Milliseconds,
    /// How many times faster the suggested kernel is, by medians.
    pub ratio: f64,
    /// The ranges of the runs do not overlap. If false, the ratio says nothing.
    pub is_measurable: bool,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Milliseconds {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// A kernel's source for people and for devices.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Source {
    /// The file's path; the fixed file has the same.
    pub path: String,
    pub hlsl: String,
    /// `None` if the kernel has no WGSL form.
    pub wgsl: Option<String>,
}

/// The verdicts on a pair in configurations other than the one shown.
#[derive(Default)]
pub(super) struct InOthers {
    pub elsewhere: Vec<Elsewhere>,
    pub unread: Vec<String>,
}

/// Combines the verdict with those of the other configurations: one kernel may replace the other only if it may in
/// all of them.
pub(super) fn in_all(own: Verdict, InOthers { elsewhere, unread }: &InOthers) -> Verdict {
    if !own.kind.is_equivalent() {
        return own;
    }
    let is_unlike = |one: &&Elsewhere| !one.verdict.kind.is_equivalent();
    let different = |one: &&Elsewhere| one.verdict.kind == VerdictKind::Different;
    let worst = elsewhere
        .iter()
        .find(different)
        .or_else(|| elsewhere.iter().find(is_unlike));
    if let Some(Elsewhere {
        configuration,
        verdict,
    }) = worst
    {
        let is_it = match verdict.kind {
            VerdictKind::Different => "NOT equivalent",
            _ => "not proved",
        };
        return Verdict {
            kind: verdict.kind,
            text: format!("{is_it} {configuration}; as the file stands, {}", own.text),
        };
    }
    let names: Vec<&str> = elsewhere.iter().map(|one| one.configuration.as_str()).collect();
    let also = (!names.is_empty()).then(|| format!("also {}", names.join(", ")));
    let unread = some_of(unread).map(|names| format!("other values of {names} were not read"));
    let parts: Vec<String> = std::iter::once(own.text).chain(also).chain(unread).collect();
    Verdict {
        text: parts.join("; "),
        ..own
    }
}

/// The first few of these names, and how many more there are.
fn some_of(names: &[String]) -> Option<String> {
    const MANY: usize = 5;
    let shown = names
        .get(..MANY)
        .filter(|_| names.len() > MANY + 1)
        .unwrap_or(names);
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more macros"),
    };
    (!names.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
}

/// The verdict on this evidence.
pub(super) fn verdict(
    proof: &Proof,
    has_rows: bool,
    interpreter: &[Interpreted],
    devices: &[DeviceRow],
) -> Verdict {
    let differing = devices.iter().find(|row| row.outcome == DeviceOutcome::Differs);
    let interpreted_otherwise = interpreter.iter().find(|run| run.is_equal == Some(false));
    if !proof.holds() {
        return (difference(proof, interpreter, differing)).unwrap_or_else(|| only_run(interpreter, devices));
    }
    let contradiction = match (differing, interpreted_otherwise) {
        (Some(row), _) => Some(format!("{} differs: {}", row.adapter, row.text)),
        (None, Some(run)) => Some(format!(
            "the interpreter, in waves of {}, {}",
            run.wave_size, run.text
        )),
        (None, None) => None,
    };
    proved(proof, has_rows, contradiction)
}

fn say(kind: VerdictKind, text: String) -> Verdict {
    Verdict { kind, text }
}

/// The verdict if the proof holds. `contradiction` describes a run that contradicts it.
fn proved(proof: &Proof, has_rows: bool, contradiction: Option<String>) -> Verdict {
    let order = if proof.is_up_to_order() {
        ", up to the order of float operations"
    } else {
        ""
    };
    let presumed = if proof.presumes_barriers {
        ", where every thread reaches the barriers"
    } else {
        ""
    };
    if let Some(contradiction) = contradiction {
        let (kind, why) = if proof.presumes_barriers {
            // On these inputs, some threads may not reach the barriers.
            (VerdictKind::Unknown, "but ")
        } else {
            (VerdictKind::Contradicted, "and yet ")
        };
        let text = format!("proved equal{order}{presumed}, {why}{contradiction}");
        return say(kind, text);
    }
    if proof.maps.is_empty() {
        return say(
            VerdictKind::Refines,
            "proved to refine: no new outcome".to_owned(),
        );
    }
    let but_for = match proof.atomics {
        Some(_) => "apart from the atomics, which refine, ",
        None => "",
    };
    let is_for_all = proof
        .maps
        .iter()
        .all(|row| row.cells.iter().all(|cell| cell.outcome.is_equal()));
    let sizes = if proof.wave_sizes.len() == WAVE_SIZES.len() {
        "at every wave size".to_owned()
    } else {
        let sizes: Vec<String> = proof.wave_sizes.iter().map(u32::to_string).collect();
        format!(
            "in waves of {}, all sizes that both kernels allow",
            sizes.join(", ")
        )
    };
    let packing = if has_rows || is_for_all {
        " under every lane map tried"
    } else {
        ", if waves hold consecutive threads (linear packing)"
    };
    let text = format!("{but_for}proved equal {sizes}{packing}{order}{presumed}");
    say(VerdictKind::Proved, text)
}

/// The verdict if the engine, the interpreter or a device shows a difference.
fn difference(proof: &Proof, interpreter: &[Interpreted], differing: Option<&DeviceRow>) -> Option<Verdict> {
    let expected = || proof.maps.iter().filter(|row| row.is_expected);
    let packed = |map: &str, is_of_all: bool| {
        if is_of_all {
            String::new()
        } else {
            format!(", packed {map}")
        }
    };
    // In a group with rows, all maps are equally expected.
    let differs = |cell: &&Cell| cell.outcome.is_different();
    let of_engine = || {
        let (row, cell) = expected().find_map(|row| Some((row, row.cells.iter().find(differs)?)))?;
        let all_differ = expected().all(|row| row.cells.iter().any(|cell| differs(&cell)));
        let packed = packed(row.map, all_differ);
        Some(format!("in waves of {}{packed}, {}", cell.wave_size, cell.text))
    };
    let of_interpreter = || {
        let is_other = |run: &Interpreted| run.is_equal == Some(false);
        let run = interpreter.iter().find(|run| is_other(run))?;
        let packed = packed(run.map, interpreter.iter().all(is_other));
        Some(format!(
            "interpreted in waves of {}{packed}, {}",
            run.wave_size, run.text
        ))
    };
    let of_device = || differing.map(|row| format!("on {}, {}", row.adapter, row.text));
    let difference = of_engine().or_else(of_interpreter).or_else(of_device)?;
    Some(say(
        VerdictKind::Different,
        format!("NOT equivalent: {difference}"),
    ))
}

/// The verdict if there is no proof and no run shows a difference.
fn only_run(interpreter: &[Interpreted], devices: &[DeviceRow]) -> Verdict {
    let alike: Vec<&str> = (devices.iter())
        .filter(|row| row.outcome == DeviceOutcome::Alike)
        .map(|row| row.adapter.as_str())
        .collect();
    let mut by: Vec<String> = Vec::new();
    if !alike.is_empty() {
        by.push(format!("on {}", alike.join(", ")));
    }
    if interpreter.iter().any(|run| run.is_equal == Some(true)) {
        by.push("in the interpreter".to_owned());
    }
    if by.is_empty() {
        let was_run = |row: &DeviceRow| row.outcome != DeviceOutcome::NotRun;
        let text = if devices.iter().any(was_run) {
            "not proved, and the runs show nothing"
        } else {
            "not proved and not run"
        };
        return say(VerdictKind::Unknown, text.to_owned());
    }
    let text = format!(
        "not proved; equal for the tested inputs {}, which proves nothing",
        by.join(" and ")
    );
    say(VerdictKind::OnlyRun, text)
}
