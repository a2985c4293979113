//! The evidence about two kernels that should do the same: gathered once, shown as a table, as JSON or as a page.

use serde::Serialize;
use shaderlint_simt::WAVE_SIZES;

/// One kernel and what should do the same.
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
    /// What was found in the kernel, where it is compared with its fix.
    pub findings: Vec<FindingLine>,
    pub proof: Proof,
    /// What is proved in the other configurations of the file that hold the kernel.
    pub elsewhere: Vec<Elsewhere>,
    /// Macros that conditions test and that a build may set to values which no configuration here has.
    pub unread: Vec<String>,
    pub interpreter: Vec<Interpreted>,
    /// The dispatches that the interpreter and the devices compared.
    pub cases: Vec<CaseLine>,
    pub devices: Vec<DeviceRow>,
    /// What a reader has to know besides.
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

/// What is proved under other definitions.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Elsewhere {
    /// Such as `with keyword FANCY`.
    pub configuration: String,
    pub verdict: Verdict,
}

/// What all of it amounts to.
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
    /// Its atomics leave one of the outcomes that the flagged kernel could have left.
    Refines,
    /// Not proved; devices or the interpreter left the same for the inputs that were tried. That is no proof.
    OnlyRun,
    /// Not proved and not run, or differing on inputs that the proof does not speak of.
    Unknown,
    /// Seen to differ.
    Different,
    /// Proved, and yet a device or the interpreter leaves something else: that, a driver or the proof is wrong.
    Contradicted,
}

impl VerdictKind {
    /// The second kernel may stand for the first.
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

/// What the engine shows for every input.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Proof {
    /// How the atomics of the fix are proved, apart from the rest.
    pub atomics: Option<&'static str>,
    /// Columns of the matrix; empty where the atomics are all that was fixed.
    pub wave_sizes: Vec<u32>,
    /// Its rows.
    pub maps: Vec<MapRow>,
    /// It holds for inputs for which every thread reaches the barriers.
    pub presumes_barriers: bool,
    /// The two write the same but for this, which D3D leaves open: that a device leaves other words shows nothing then.
    #[serde(skip)]
    pub left_open: Option<&'static str>,
}

impl Proof {
    /// In the maps that a group may be packed by, equal or equal up to the order of float operations.
    pub fn holds(&self) -> bool {
        let expected = self.maps.iter().filter(|row| row.is_expected);
        expected
            .flat_map(|row| &row.cells)
            .all(|cell| cell.outcome.is_equal())
    }

    /// Equal up to that order, and not bit for bit.
    pub fn is_up_to_order(&self) -> bool {
        let mut cells = self.maps.iter().flat_map(|row| &row.cells);
        self.holds() && cells.any(|cell| cell.outcome == CellOutcome::Reassociates)
    }
}

/// One packing of threads into waves.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MapRow {
    pub map: &'static str,
    /// A group of this shape can be expected to be packed so: here the proof has to hold.
    pub is_expected: bool,
    /// One for each wave size.
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    pub wave_size: u32,
    pub outcome: CellOutcome,
    /// What was seen, with its place.
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

    /// Something shows that the kernels differ.
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
    /// `None` where one of the kernels does what is not computed there.
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
    /// A rasteriser in software.
    pub is_cpu: bool,
    /// Lanes of a wave: what a probe saw, else what the adapter says.
    pub waves: [u32; 2],
    pub outcome: DeviceOutcome,
    /// What the outcome rests on, or why there is none.
    pub text: String,
    /// Words compared in all cases.
    pub words: u64,
    /// Whole kernels.
    pub kernel: Option<Times>,
    /// With what differs repeated in the kernel.
    pub ladder: Option<Times>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DeviceOutcome {
    /// Every word of every case alike. That proves nothing.
    Alike,
    Differs,
    /// Nothing was written in any case: the comparison says nothing.
    NothingWritten,
    /// The flagged kernel may not leave the same twice.
    Unstable,
    /// What differs may be stand-ins for other functions of other arguments.
    NotComparable,
    NotRun,
}

/// Milliseconds a run: median, least, most.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Times {
    /// What is timed, for instance `part ×64`.
    pub what: String,
    pub threads: u64,
    pub runs: u32,
    pub flagged: Milliseconds,
    pub suggested: Milliseconds,
    /// A kernel that reads and writes as many bytes.
    pub copy: Milliseconds,
    /// How many times as fast the suggested kernel is, by medians.
    pub ratio: f64,
    /// The spreads of the runs do not meet. If false, the ratio says nothing.
    pub is_measurable: bool,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Milliseconds {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// A kernel as people and as devices read it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Source {
    /// The file's path; the fixed file has the same.
    pub path: String,
    pub hlsl: String,
    /// `None` where it has no WGSL form.
    pub wgsl: Option<String>,
}

/// What is known of a pair beside the configuration that is shown.
#[derive(Default)]
pub(super) struct InOthers {
    pub elsewhere: Vec<Elsewhere>,
    pub unread: Vec<String>,
}

/// The verdict with that on the other configurations: the two may stand for each other only where all say so.
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

/// The first of these names, and how many more there are.
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

/// The verdict where the proof holds. `contradiction` is what a run shows to the contrary.
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
            // The inputs may be such that not all threads reach the barriers.
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
            "proved to refine: no outcome is new".to_owned(),
        );
    }
    let but_for = match proof.atomics {
        Some(_) => "but for the atomics, which refine, ",
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
        format!("in waves of {}, all that both allow", sizes.join(", "))
    };
    let packing = if has_rows || is_for_all {
        " under every lane map tried"
    } else {
        ", if waves hold consecutive threads (linear packing)"
    };
    let text = format!("{but_for}proved equal {sizes}{packing}{order}{presumed}");
    say(VerdictKind::Proved, text)
}

/// The verdict where something shows that the kernels differ: the engine, the interpreter or a device.
fn difference(proof: &Proof, interpreter: &[Interpreted], differing: Option<&DeviceRow>) -> Option<Verdict> {
    let expected = || proof.maps.iter().filter(|row| row.is_expected);
    let packed = |map: &str, is_of_all: bool| {
        if is_of_all {
            String::new()
        } else {
            format!(", packed {map}")
        }
    };
    // Of a group with rows no map is more to be expected than the others.
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

/// The verdict where nothing is proved and no run shows a difference.
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
            "not proved, and what was run says nothing"
        } else {
            "not proved and not run"
        };
        return say(VerdictKind::Unknown, text.to_owned());
    }
    let text = format!(
        "not proved; alike for the inputs that were tried {}, which proves nothing",
        by.join(" and ")
    );
    say(VerdictKind::OnlyRun, text)
}
