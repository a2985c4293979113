//! The surroundings of a ladder: regions that a build turns on, keywords, macros that declare, namespaces, names that
//! a fix may want, publishers, loops whose variables hide others, stages.

use std::fmt::Write;

use super::draft::{Draft, Kernel, Namespace, Place, Size};
use super::readings::{Axis, Builds, Choice};

/// A feature of a ladder's surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A region that a build may turn on by a definition.
    Region,
    /// Sets of keywords; a build defines one keyword of each.
    Keywords,
    /// `#pragma kernel NAME MACRO`.
    KernelPragma,
    /// A macro declares an entry point.
    EntryMacro,
    /// A macro declares a groupshared array.
    ArrayMacro,
    /// A function has an intrinsic's name.
    IntrinsicName,
    /// Another declaration has a name that a fix may want.
    TakenName,
    /// A type has a name that a fix may use.
    TypeName,
    /// A second kernel calls the ladder's function.
    SecondKernel,
    /// Groupshared memory is almost full.
    Ballast,
    /// The kernel reads what the ladder leaves in the array besides its result.
    PartialResults,
    /// The kernel writes coherent data, waits, and raises a flag.
    Publisher,
    /// The variable of a loop hides another one.
    Scope,
    Namespace,
    MeshShader,
    AmplificationShader,
}

impl Feature {
    pub const ALL: [Feature; 16] = [
        Feature::Region,
        Feature::Keywords,
        Feature::KernelPragma,
        Feature::EntryMacro,
        Feature::ArrayMacro,
        Feature::IntrinsicName,
        Feature::TakenName,
        Feature::TypeName,
        Feature::SecondKernel,
        Feature::Ballast,
        Feature::PartialResults,
        Feature::Publisher,
        Feature::Scope,
        Feature::Namespace,
        Feature::MeshShader,
        Feature::AmplificationShader,
    ];
}

/// The surroundings of a ladder, and the builds that they lead to.
#[derive(Default)]
pub(super) struct Surroundings {
    pub features: Vec<Feature>,
    pub builds: Builds,
    /// The macros that turn on regions, so far.
    switches: Vec<&'static str>,
    /// The `#pragma kernel` lines: an entry point, and the definition for it.
    kernels: Vec<(String, Option<&'static str>)>,
    /// The declared names.
    taken: Vec<String>,
}

impl Surroundings {
    /// Takes a name; returns whether it was free.
    fn take(&mut self, draft: &Draft<'_>, name: &str) -> bool {
        let is_free = !draft.has_name(name) && self.taken.iter().all(|known| known != name);
        self.taken.push(name.to_owned());
        is_free
    }
}

/// Macros that turn on a region.
const SWITCHES: [&str; 7] = [
    "SECOND",
    "FANCY",
    "EXTRA",
    "HIGH_QUALITY",
    "USE_ALT",
    "BIG",
    "DEBUG_VIEW",
];

/// Keywords for a build without any of those.
const OTHERS: [&str; 3] = ["SMALL", "LOW", "NO_EXTRAS"];

/// Names that wave forms declare.
const WANTED: [&str; 14] = [
    "waveTotal",
    "waveIndex",
    "waveLane",
    "waveFirst",
    "waveCount",
    "waveScan",
    "waveElement",
    "waveElements",
    "wavePlace",
    "waveOwn",
    "waveSum",
    "waveRank",
    "firstWave",
    "$gTotals",
];

/// Intrinsics with one argument that wave forms call.
const CALLED: [&str; 12] = [
    "WavePrefixSum",
    "WavePrefixSum",
    "WavePrefixSum",
    "WaveActiveSum",
    "WaveActiveSum",
    "WaveActiveSum",
    "WaveActiveMin",
    "WaveActiveMax",
    "WavePrefixCountBits",
    "WaveActiveCountBits",
    "WaveReadLaneFirst",
    "WaveActiveBitOr",
];

/// The arms of a region: its text if it is turned on, and if it is not.
struct Arms {
    at: Place,
    on: String,
    off: String,
}

impl Arms {
    fn new(at: Place, on: impl Into<String>) -> Arms {
        Arms {
            at,
            on: on.into(),
            off: String::new(),
        }
    }
}

/// Adds surroundings to the kernel, or none.
pub(super) fn surround(draft: &mut Draft<'_>, kernel: &mut Kernel) -> Surroundings {
    let mut around = Surroundings::default();
    if draft.random.once_in(4) {
        return around;
    }
    if draft.random.once_in(6) {
        namespace(draft, kernel, &mut around);
    }
    if draft.random.once_in(8) {
        stage(draft, kernel, &mut around);
    }
    if draft.random.once_in(6) {
        publisher(draft, kernel, &mut around);
    }
    if draft.random.once_in(4) {
        scope(draft, kernel, &mut around);
    }
    if draft.random.once_in(6) {
        array_by_macro(draft, kernel, &mut around);
    }
    let mut left: Vec<usize> = (0..8).collect();
    for number in 0..draft.random.below(4) {
        let mut at = draft.random.below(left.len());
        // Prefers additions that few kernels have room for, if this kernel has.
        if number == 0 && kernel.is_called && !kernel.is_of_stage && draft.random.once_in(3) {
            at = 0;
        } else if number == 0 && kernel.is_of_stage && draft.random.once_in(2) {
            at = 4;
        }
        let addition = left.swap_remove(at);
        let mut is_optional = true;
        let arms = match addition {
            0 => second_kernel(draft, kernel, &mut around),
            1 => taken_name(draft, kernel, &mut around),
            2 => intrinsic_name(draft, &mut around),
            3 => type_name(draft, &mut around),
            4 => ballast(draft, kernel, &mut around),
            5 => partial_results(draft, kernel, &mut around),
            other => {
                is_optional = false;
                if other == 6 {
                    other_definition(draft, kernel)
                } else {
                    vec![Arms::new(Place::Globals, "static const uint $unused = 3;")]
                }
            }
        };
        if arms.is_empty() {
            continue;
        }
        if is_optional && draft.random.once_in(3) {
            for arms in arms {
                kernel.insert(arms.at, &arms.on);
            }
        } else {
            region(draft, kernel, &mut around, arms);
        }
    }
    if around.kernels.is_empty() && !around.switches.is_empty() && draft.random.once_in(3) {
        around.kernels.push(("$main".to_owned(), None));
        around.kernels.push(("$second".to_owned(), None));
    }
    name_kernels(draft, kernel, &mut around);
    around.features.sort_unstable();
    around.features.dedup();
    around
}

/// Puts the arms under a macro that some builds define.
fn region(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings, arms: Vec<Arms>) {
    let mut name = draft.one(&SWITCHES);
    while around.switches.contains(&name) {
        name = draft.one(&SWITCHES);
    }
    around.switches.push(name);
    let mut other = None;
    let choice = |define: Option<&str>| Choice {
        define: define.map(str::to_owned),
        entries: None,
    };
    match draft.random.below(6) {
        0..=2 => {
            around.features.push(Feature::Region);
            around.builds.add(Axis {
                choices: vec![choice(None), choice(Some(name))],
                is_declared: false,
            });
        }
        3 | 4 => {
            around.features.push(Feature::Keywords);
            let has_none = draft.random.once_in(2);
            let line = if has_none {
                draft.one(&[
                    "multi_compile _ ",
                    "multi_compile __ ",
                    "multi_compile_local _ ",
                    "shader_feature ",
                    "shader_feature_local ",
                ])
            } else {
                let two = OTHERS.get(around.switches.len() - 1).copied().unwrap_or("LOW");
                other = Some(two);
                draft.one(&["multi_compile ", "multi_compile_local ", "shader_feature "])
            };
            let others: String = other.map(|other| format!("{other} ")).unwrap_or_default();
            let _ = writeln!(kernel.head, "#pragma {line}{others}{name}");
            around.builds.add(Axis {
                choices: vec![choice(other), choice(Some(name))],
                is_declared: true,
            });
        }
        // One such set suffices.
        _ if !around.kernels.is_empty() => {
            around.features.push(Feature::Region);
            around.builds.add(Axis {
                choices: vec![choice(None), choice(Some(name))],
                is_declared: false,
            });
        }
        _ => {
            around.features.push(Feature::KernelPragma);
            let declares_second = arms.iter().any(|arms| arms.at == Place::Tail);
            if !draft.random.once_in(4) {
                around.kernels.push(("$main".to_owned(), None));
            }
            let of_name = if declares_second { "$second" } else { "$main" };
            around.kernels.push((of_name.to_owned(), Some(name)));
        }
    }
    let form = draft.random.below(4);
    for Arms { at, on, off } in arms {
        let text = match (other, form) {
            (Some(other), 0) => format!("#if defined({other})\n{off}\n#elif defined({name})\n{on}\n#endif"),
            (_, 0) => format!("#if defined({name})\n{on}\n#else\n{off}\n#endif"),
            (_, 1) => format!("#if {name}\n{on}\n#else\n{off}\n#endif"),
            (_, 2) => format!("#ifndef {name}\n{off}\n#else\n{on}\n#endif"),
            _ if off.is_empty() => format!("#ifdef {name}\n{on}\n#endif"),
            _ => format!("#ifdef {name}\n{on}\n#else\n{off}\n#endif"),
        };
        kernel.insert(at, &format!("\n{text}\n"));
    }
}

/// The lines that name the entry points, and the resulting builds.
fn name_kernels(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings) {
    let mut choices: Vec<Choice> = Vec::new();
    // No build has a kernel that no such line names.
    let has_second = around.features.contains(&Feature::SecondKernel);
    let is_named = around.kernels.iter().any(|(entry, _)| entry == "$second");
    if !around.kernels.is_empty() {
        kernel.head.push_str("#pragma use_dxc\n");
        if has_second && !is_named {
            around.kernels.push(("$second".to_owned(), None));
        }
    }
    for (entry, define) in &around.kernels {
        let value = if draft.random.once_in(2) { "=1" } else { "" };
        let defines = define.map(|name| format!(" {name}{value}")).unwrap_or_default();
        let _ = writeln!(kernel.head, "#pragma kernel {entry}{defines}");
        let entry = draft.spelled(entry);
        let known = choices
            .iter_mut()
            .find(|choice| choice.define.as_deref() == *define);
        match known {
            Some(choice) => choice.entries.get_or_insert_default().push(entry),
            None => choices.push(Choice {
                define: define.map(str::to_owned),
                entries: Some(vec![entry]),
            }),
        }
    }
    if !choices.is_empty() {
        around.builds.add(Axis {
            choices,
            is_declared: true,
        });
    }
}

/// Another kernel that calls the ladder's function, with the threads in the same order or in another; by a macro or
/// written out.
fn second_kernel(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings) -> Vec<Arms> {
    if !kernel.is_called || kernel.is_of_stage {
        return Vec::new();
    }
    around.features.push(Feature::SecondKernel);
    let index = draft.one(&["$i", "$i", "$last - $i", "$i ^ 1", "($i + 1) % $n"]);
    if draft.random.once_in(3) {
        let text = kernel.entry("$second", &kernel.plain_body(index));
        return vec![Arms::new(Place::Tail, text)];
    }
    around.features.push(Feature::EntryMacro);
    let macro_text = kernel.entry("name", &kernel.plain_body("(e)"));
    let _ = writeln!(kernel.definitions, "#define $kernelMacro(name, e) {macro_text}");
    kernel.is_main_by_macro = draft.random.once_in(4);
    vec![Arms::new(Place::Tail, format!("$kernelMacro($second, {index})"))]
}

/// Declares the array of the ladder by a macro, which contains the type.
fn array_by_macro(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings) {
    let start = "groupshared $T $g[";
    let Some(at) = kernel.globals.find(start) else {
        return;
    };
    let Some((length, after)) = kernel
        .globals
        .get(at + start.len()..)
        .and_then(|rest| rest.split_once("];"))
    else {
        return;
    };
    if length.contains(']') {
        return;
    }
    let before = kernel.globals.get(..at).unwrap_or_default();
    let macro_call = shared(draft, &mut kernel.definitions, "$g", length);
    kernel.globals = format!("{before}{macro_call}{after}");
    around.features.push(Feature::ArrayMacro);
}

/// A groupshared array declared by a macro, which is defined if it is not yet.
fn shared(draft: &mut Draft<'_>, definitions: &mut String, name: &str, length: &str) -> String {
    let define = "#define $sharedMacro(name, count) groupshared $T name[count]";
    if !definitions.contains(define) {
        let end = draft.one(&["", ";"]);
        let _ = writeln!(definitions, "{define}{end}");
    }
    format!("$sharedMacro({name}, {length});")
}

/// Gives a name that a fix may want to another declaration.
fn taken_name(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings) -> Vec<Arms> {
    let name = if draft.random.once_in(3) {
        // `$` ends a name.
        let totals = draft.one(&["WaveTotals", "_wave_totals"]);
        format!("{}{totals}", draft.spelled("$g"))
    } else {
        let name = draft.one(&WANTED);
        draft.spelled(&name.replace("$gTotals", "WaveTotals"))
    };
    if !around.take(draft, &name) {
        return Vec::new();
    }
    around.features.push(Feature::TakenName);
    let text = match draft.random.below(6) {
        0 => format!("groupshared uint {name}[32];"),
        1 | 2 => {
            around.features.push(Feature::ArrayMacro);
            shared(draft, &mut kernel.definitions, &name, "32")
        }
        3 => format!("static uint {name} = 5;"),
        4 => format!("uint {name}(uint x) {{ return x + 1; }}"),
        _ => format!("#define {name} 5"),
    };
    vec![Arms::new(Place::Globals, format!("\n{text}\n"))]
}

/// A function or a macro with an intrinsic's name.
fn intrinsic_name(draft: &mut Draft<'_>, around: &mut Surroundings) -> Vec<Arms> {
    let name = draft.one(&CALLED);
    if !around.take(draft, name) {
        return Vec::new();
    }
    around.features.push(Feature::IntrinsicName);
    let arms = match draft.random.below(5) {
        0 => vec![Arms::new(
            Place::Globals,
            format!("uint {name}(uint x) {{ return x + 1; }}"),
        )],
        1 => vec![Arms::new(
            Place::Globals,
            format!("\n#define {name}(x) ((x) + 1)\n"),
        )],
        _ => vec![Arms::new(Place::Globals, format!("$wrapMacro({name})"))],
    };
    if let [Arms { at, on, .. }] = arms.as_slice()
        && on.starts_with("$wrapMacro")
    {
        let definition = "\n#define $wrapMacro(f) uint f(uint x) { return x + 1; }\n";
        return vec![Arms::new(*at, format!("{definition}{on}"))];
    }
    arms
}

/// A type with one of HLSL's names, or with a name that a fix declares.
fn type_name(draft: &mut Draft<'_>, around: &mut Surroundings) -> Vec<Arms> {
    // Elements in pairs, as in wave forms with two elements per lane.
    let pair = "$pair";
    let names = [
        pair,
        pair,
        pair,
        pair,
        "uint4",
        "waveTotal",
        "waveIndex",
        "waveLane",
        "waveScan",
        "WavePrefixSum",
        "WaveActiveSum",
        "WaveGetLaneIndex",
    ];
    let name = draft.one(&names).replace(pair, &format!("{}2", draft.scalar));
    if draft.element() == name || !around.take(draft, &name) {
        return Vec::new();
    }
    around.features.push(Feature::TypeName);
    let text = match draft.random.below(3) {
        0 => format!("typedef float {name};"),
        _ => format!("struct {name} {{ uint a; }};"),
    };
    vec![Arms::new(Place::Globals, text)]
}

/// An array that leaves little groupshared memory.
fn ballast(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings) -> Vec<Arms> {
    if draft.threads > 256 || draft.is_vector() || kernel.bytes_left.is_some() {
        return Vec::new();
    }
    around.features.push(Feature::Ballast);
    let bytes = [0, 4, 16, 64, 128, 1024];
    kernel.bytes_left = Some(draft.random.one(&bytes).copied().unwrap_or(0));
    let declared = if draft.random.once_in(2) {
        around.features.push(Feature::ArrayMacro);
        shared(draft, &mut kernel.definitions, "$big", BALLAST)
    } else {
        format!("groupshared uint $big[{BALLAST}];")
    };
    let declared = format!("RWStructuredBuffer<uint> $shown; {declared}");
    vec![
        Arms::new(Place::Globals, declared),
        Arms::new(Place::Before, "$big[$i] = 3;"),
        Arms::new(Place::After, "$shown[$group.x * $n + $i] = (uint)$big[$i];"),
    ]
}

/// Stands for the length of the array that fills the memory, until the rest of the file is known.
pub(super) const BALLAST: &str = "BALLAST_LENGTH";

/// Reads what the ladder leaves in its array besides its result.
fn partial_results(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings) -> Vec<Arms> {
    if draft.is_vector() || !kernel.has_array {
        return Vec::new();
    }
    around.features.push(Feature::PartialResults);
    let qualifier = kernel.qualifier;
    let element = draft.one(&["$i", "$i ^ 1", "0", "$half"]);
    let text = format!("$seen[$group.x * $n + $i] = (uint){qualifier}$g[{element}];");
    kernel.insert(Place::Globals, "RWStructuredBuffer<uint> $seen;\n");
    vec![Arms::new(Place::AfterLadder, text)]
}

/// Defines a macro of the ladder differently, or its bound.
fn other_definition(draft: &mut Draft<'_>, kernel: &mut Kernel) -> Vec<Arms> {
    let half = draft.threads / 2;
    let define = |name: &str, on: &str, off: &str| {
        let line = |body: &str| format!("#define {name} {body}");
        vec![Arms {
            at: Place::Definitions,
            on: line(on),
            off: line(off),
        }]
    };
    let redefine = |name: &str, end: &str, body: &str| {
        let text = format!("#undef {name}\n#define {name}{end} {body}");
        vec![Arms::new(Place::Definitions, text)]
    };
    if kernel.ladder.contains("$s < $n") && draft.random.once_in(2) {
        kernel.ladder = kernel.ladder.replacen("$s < $n", "$s < $bound", 1);
        return define("$bound", "($half)", "($n)");
    }
    if draft.size == Size::Macro && draft.random.once_in(2) {
        return redefine("$size", "", &half.to_string());
    }
    if draft.has_join_macro {
        return redefine("$join", "(a, b)", draft.one(&["((a) - (b))", "max(a, b)", "(b)"]));
    }
    match draft.sync_macro {
        Some(end) => redefine(
            "$sync",
            end,
            draft.one(&[
                "GroupMemoryBarrier()",
                "AllMemoryBarrierWithGroupSync()",
                "GroupMemoryBarrierWithGroupSync()",
            ]),
        ),
        None => Vec::new(),
    }
}

/// Writes data for other groups, and raises a flag when all threads of the group have done so.
fn publisher(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings) {
    around.features.push(Feature::Publisher);
    draft.barrier = draft.one(&[
        "AllMemoryBarrierWithGroupSync",
        "AllMemoryBarrierWithGroupSync",
        "AllMemoryBarrierWithGroupSync",
        "DeviceMemoryBarrierWithGroupSync(); GroupMemoryBarrierWithGroupSync",
        "DeviceMemoryBarrier(); GroupMemoryBarrierWithGroupSync",
        "GroupMemoryBarrierWithGroupSync",
    ]);
    kernel.insert(
        Place::Globals,
        "globallycoherent RWStructuredBuffer<uint> $payload; globallycoherent RWStructuredBuffer<uint> $flag;\n",
    );
    let value = draft.one(&["$i * 3", "$i + 1", "$n - $i"]);
    // After the load's barrier, which would order the write as well.
    let written = format!(" $payload[$group.x * $n + $i] = {value};");
    kernel.load.push_str(&written);
    let raised = draft.one(&["$flag[$group.x] = 1;", "InterlockedOr($flag[$group.x], 1u);"]);
    let at = [Place::AfterLadder, Place::After]
        .get(draft.random.below(2))
        .copied();
    kernel.insert(at.unwrap_or(Place::After), &format!("if ($i == 0) {raised}"));
}

/// Makes the variable of the ladder's loop hide another one, which is used after the loop.
fn scope(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings) {
    let ty = draft.index;
    let ladder = &kernel.ladder;
    let count = |what: &str| ladder.matches(what).count();
    let is_hiding = |name: &&&str| {
        let (declared, of_loop) = (
            count(&format!("{ty} {name}")) + count(&format!("$U {name}")),
            count(&format!("for ({ty} {name} = ")) + count(&format!("for ($U {name} = ")),
        );
        declared == 1 && of_loop == 1
    };
    let Some(name) = ["$s", "$k"].iter().find(is_hiding).copied() else {
        return;
    };
    around.features.push(Feature::Scope);
    around.builds.has_scopes = true;
    kernel.insert(Place::Globals, "RWStructuredBuffer<uint> $trace;\n");
    let used = format!(" $trace[$i] = {name};");
    let outer = format!("$U {name} = 7;");
    match draft.random.below(5) {
        0 | 1 => kernel.ladder = format!("{outer} {}{used}", kernel.ladder),
        2 => {
            // In an inner block, the loop's variable ends with the block.
            kernel.ladder = format!("{outer} {{ {} }}{used}", kernel.ladder);
        }
        3 => {
            let storage = draft.one(&["static ", "static const "]);
            kernel.insert(Place::Globals, &format!("{storage}{outer}\n"));
            kernel.ladder.push_str(&used);
        }
        _ => {
            kernel.insert(Place::Globals, &format!("cbuffer $hidden {{ $U {name}; }}\n"));
            kernel.ladder.push_str(&used);
        }
    }
}

/// Puts everything in a namespace, or only what the kernel uses.
fn namespace(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings) {
    around.features.push(Feature::Namespace);
    kernel.namespace = Namespace::OfAll;
    if draft.random.once_in(2) {
        kernel.namespace = Namespace::OfWhatIsUsed;
        kernel.qualifier = "$space::";
        let mut parts = vec![&mut kernel.load, &mut kernel.store];
        if !kernel.is_called {
            parts.push(&mut kernel.ladder);
        }
        for part in parts {
            for role in ["g", "h", "counter", "total"] {
                *part = qualified(part, role);
            }
            if !kernel.is_called {
                for role in ["call", "take"] {
                    *part = qualified(part, role);
                }
            }
        }
    }
}

/// The text with each `$role` qualified by the namespace.
fn qualified(text: &str, role: &str) -> String {
    let mut parts = text.split('$');
    let mut qualified = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.strip_prefix(role);
        let is_it = rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        qualified.push_str(if is_it { "$space::$" } else { "$" });
        qualified.push_str(part);
    }
    qualified
}

/// Makes the kernel a mesh shader or an amplification shader.
fn stage(draft: &mut Draft<'_>, kernel: &mut Kernel, around: &mut Surroundings) {
    if draft.threads > 128 {
        return;
    }
    kernel.is_of_stage = true;
    if draft.random.once_in(3) {
        around.features.push(Feature::AmplificationShader);
        kernel.insert(
            Place::Globals,
            "struct $message { uint first; }; groupshared $message $sent;\n",
        );
        kernel.insert(Place::After, "$sent.first = 0; DispatchMesh(1, 1, 1, $sent);");
        return;
    }
    around.features.push(Feature::MeshShader);
    kernel.attributes.push_str("[outputtopology(\"triangle\")] ");
    if draft.random.once_in(4) {
        kernel
            .globals
            .push_str("struct $vertex { float4 position : SV_Position; };\n");
        kernel
            .parameters
            .push("out vertices $vertex $verts[3]".to_owned());
        kernel.parameters.push("out indices uint3 $tris[1]".to_owned());
        kernel.insert(Place::Before, "SetMeshOutputCounts(3, 1);");
        kernel.insert(
            Place::After,
            "if ($i < 3) $verts[$i].position = 0; if ($i == 0) $tris[0] = uint3(0, 1, 2);",
        );
    }
}
