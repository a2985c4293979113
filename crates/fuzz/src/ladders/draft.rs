//! The random choices for a kernel: its size, types, operator, names and spellings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Multiply,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// The parts of a shape. Words after `$` are names and sizes of the draft.
#[derive(Default)]
pub(super) struct Shape {
    pub name: &'static str,
    /// Declarations in addition to the buffers.
    pub globals: String,
    pub load: String,
    /// The part that may as well be in a function of its own.
    pub ladder: String,
    pub store: String,
    /// The ladder names only globals and the thread's index.
    pub is_callable: bool,
}

/// A kernel in parts, with room for additions between them. Words after `$` are as in [`Shape`].
#[derive(Default)]
pub(super) struct Kernel {
    /// The first lines.
    pub head: String,
    pub definitions: String,
    /// Buffers, and other declarations before those of the shape.
    pub outer: String,
    /// The declarations of the shape.
    pub globals: String,
    pub load: String,
    pub ladder: String,
    pub store: String,
    /// Statements before the load, between ladder and store, and after the store.
    pub before: String,
    pub after_ladder: String,
    pub after: String,
    /// The text after the kernel.
    pub tail: String,
    pub attributes: String,
    pub group: String,
    pub parameters: Vec<String>,
    /// The statements that give the thread its index.
    pub own: String,
    pub namespace: Namespace,
    /// The prefix of names that the shape declares, inside the kernel.
    pub qualifier: &'static str,
    /// The ladder has an array with one element per thread.
    pub has_array: bool,
    /// The ladder is in a function of its own.
    pub is_called: bool,
    /// It is not a compute shader.
    pub is_of_stage: bool,
    pub is_main_by_macro: bool,
    /// The groupshared memory that is left, if an array fills the rest.
    pub bytes_left: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Namespace {
    #[default]
    None,
    OfAll,
    /// The kernel is outside of it.
    OfWhatIsUsed,
}

/// A place for additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Definitions,
    Globals,
    Before,
    AfterLadder,
    After,
    Tail,
}

impl Kernel {
    pub fn insert(&mut self, at: Place, text: &str) {
        let part = match at {
            Place::Definitions => &mut self.definitions,
            Place::Globals => &mut self.outer,
            Place::Before => &mut self.before,
            Place::AfterLadder => &mut self.after_ladder,
            Place::After => &mut self.after,
            Place::Tail => &mut self.tail,
        };
        part.push_str(text);
        part.push('\n');
    }

    /// An entry point on one line.
    pub fn entry(&self, name: &str, body: &str) -> String {
        let Kernel {
            attributes,
            group,
            own,
            ..
        } = self;
        let parameters = self.parameters.join(", ");
        format!("{attributes}[numthreads({group})] void {name}({parameters}) {{ {own} {body} }}")
    }

    /// The kernel without additions, with the ladder's function called for this thread.
    pub fn plain_body(&self, index: &str) -> String {
        format!("{} {}$call({index}); {}", self.load, self.qualifier, self.store)
    }
}

/// Names by role. Some are names that fixes declare.
const NAMES: [(&str, &[&str]); 51] = [
    (
        "g",
        &[
            "g_Scan",
            "s_data",
            "lds",
            "Cells",
            "sharedMem",
            "gs_Temp",
            "g",
            "waveElements",
            "data_",
            "temp",
        ],
    ),
    (
        "h",
        &[
            "g_Other",
            "s_pong",
            "lds2",
            "Back",
            "h",
            "g_ScanWaveTotals",
            "scratch",
        ],
    ),
    (
        "i",
        &[
            "gi",
            "tid",
            "lane",
            "t",
            "threadIndex",
            "idx",
            "waveIndex",
            "localId",
            "GI",
            "i",
        ],
    ),
    (
        "s",
        &["s", "stride", "d", "offset", "step", "waveLane", "dist", "width"],
    ),
    (
        "v",
        &["v", "left", "x", "carry", "prev", "waveScan", "acc", "val"],
    ),
    ("w", &["w", "own", "mine", "waveTotal", "cur", "self"]),
    ("a", &["a", "lo", "ai", "firstWave", "l"]),
    ("b", &["b", "hi", "bi", "r", "right"]),
    ("k", &["k", "n", "j", "index", "waveFirst"]),
    ("to", &["to", "dst", "pout", "writeAt"]),
    ("from", &["from", "src", "pin", "readAt"]),
    ("flip", &["flip", "odd", "toggle", "ping"]),
    ("slot", &["slot", "place", "at", "where", "waveFirst", "index0"]),
    ("src", &["Src", "g_Input", "inBuffer", "Values", "In"]),
    ("out", &["Out", "g_Output", "outBuffer", "Result", "Dst"]),
    ("total", &["Totals", "g_Sums", "blockSums", "GroupTotal"]),
    ("counter", &["Counter", "g_Count", "counters", "Tally"]),
    ("id", &["id", "dtid", "DTid", "dispatchId", "globalId"]),
    ("group", &["group", "gid", "Gid", "groupId"]),
    ("local", &["gt", "GTid", "local", "threadInGroup"]),
    (
        "main",
        &["main", "CSMain", "ScanKernel", "Reduce", "kernel_", "WaveScan"],
    ),
    ("call", &["Scan", "DoScan", "Combine", "ladder", "PrefixSum"]),
    (
        "size",
        &["N", "COUNT", "GROUP_SIZE", "kThreads", "BLOCK", "THREADS"],
    ),
    ("sync", &["SYNC", "BARRIER", "Sync", "GROUP_SYNC"]),
    ("join", &["JOIN", "OP", "COMBINE"]),
    ("rung", &["STEP", "RUNG", "reduceBy"]),
    ("pad", &["PADDED", "CONFLICT_FREE", "BankOf"]),
    ("pair", &["Pair", "Item", "Sums"]),
    ("take", &["Take", "AddTo", "Accumulate"]),
    ("tile", &["tile", "pass_", "waveNumber", "round"]),
    ("count", &["Count", "g_NumElements", "elementCount"]),
    ("constants", &["Constants", "cbScan", "Params"]),
    ("second", &["Second", "CSReverse", "OtherKernel"]),
    ("kernelMacro", &["KERNEL", "ENTRY", "DECLARE_KERNEL"]),
    ("sharedMacro", &["SHMEM", "TGSM", "SHARED_ARRAY"]),
    ("wrapMacro", &["WRAP", "DEFINE_FUNCTION"]),
    ("bound", &["BOUND", "STEPS"]),
    ("big", &["g_Big", "Cache", "history"]),
    ("shown", &["Shown", "g_Cached"]),
    ("seen", &["Seen", "g_Partial"]),
    ("trace", &["Trace", "g_Steps"]),
    ("hidden", &["Hidden", "cbMore"]),
    ("payload", &["Payload", "g_Aggregates"]),
    ("flag", &["Flags", "g_State"]),
    ("space", &["Passes", "scan_lib"]),
    ("message", &["Message", "ToMesh"]),
    ("sent", &["g_Sent", "toMesh"]),
    ("vertex", &["Vertex", "MeshVertex"]),
    ("verts", &["verts", "vertexOut"]),
    ("tris", &["tris", "triangleOut"]),
    ("unused", &["kUnused", "padding"]),
];

pub(super) struct Draft<'r> {
    pub random: &'r mut Random,
    pub operator: Operator,
    pub scalar: &'static str,
    components: usize,
    /// The number of threads of a group.
    pub threads: usize,
    group: [usize; 3],
    names: BTreeMap<&'static str, String>,
    /// The spelling of the number of threads: a macro, a constant, or numbers.
    pub size: Size,
    /// The text after the macro's name, if a macro stands for the barrier.
    pub sync_macro: Option<&'static str>,
    pub has_join_macro: bool,
    /// A function combines elements. It may return early.
    has_taker: bool,
    /// `uint` or `int`.
    pub index: &'static str,
    /// Elements at or beyond `Count` are not read.
    is_counted: bool,
    pub barrier: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Macro,
    Constant,
    Number,
    Unsigned,
    Hexadecimal,
}

impl<'r> Draft<'r> {
    pub fn new(random: &'r mut Random) -> Draft<'r> {
        let (scalar, operators): (_, &[Operator]) = match random.below(5) {
            0 | 1 => ("uint", &ALL),
            2 | 3 => ("int", &ALL),
            _ => (
                "float",
                &[
                    Operator::Add,
                    Operator::Multiply,
                    Operator::Min,
                    Operator::Max,
                    Operator::Add,
                ],
            ),
        };
        let operator = match random.below(5) {
            0..=2 => Operator::Add,
            _ => random.one(operators).copied().unwrap_or(Operator::Add),
        };
        let components = if random.once_in(6) { 2 + random.below(3) } else { 1 };
        let threads = match random.below(16) {
            0..=3 => 32,
            4..=8 => 64,
            9..=10 => 128,
            11..=12 => 256,
            13 if random.once_in(2) => 512,
            14 if random.once_in(2) => 1024,
            _ => [33, 40, 48, 96, 100, 192, 320]
                .get(random.below(7))
                .copied()
                .unwrap_or(48),
        };
        let mut draft = Draft {
            operator,
            scalar,
            components,
            threads,
            group: [threads, 1, 1],
            names: BTreeMap::new(),
            size: Size::Macro,
            sync_macro: [Some("()"), Some(""), None, None, None, None, None]
                .get(random.below(7))
                .copied()
                .flatten(),
            has_join_macro: random.once_in(8),
            has_taker: random.once_in(16),
            index: if random.once_in(5) { "int" } else { "uint" },
            is_counted: random.once_in(8),
            barrier: ["GroupMemoryBarrierWithGroupSync", "AllMemoryBarrierWithGroupSync"]
                .get(usize::from(random.once_in(6)))
                .copied()
                .unwrap_or_default(),
            random,
        };
        draft.size = match draft.random.below(7) {
            0 | 1 => Size::Macro,
            2 => Size::Constant,
            3 => Size::Unsigned,
            4 => Size::Hexadecimal,
            _ => Size::Number,
        };
        draft.group = draft.group();
        draft.draw_names();
        draft
    }

    /// A group size, mostly one row.
    fn group(&mut self) -> [usize; 3] {
        let rows = [2, 4, 8].get(self.random.below(3)).copied().unwrap_or(2);
        match self.random.below(20) {
            0 | 1 if self.threads.is_multiple_of(rows) => [self.threads / rows, rows, 1],
            2 if self.threads.is_multiple_of(2 * rows) => [self.threads / (2 * rows), 2, rows],
            3 => [1, self.threads, 1],
            _ => [self.threads, 1, 1],
        }
    }

    fn draw_names(&mut self) {
        let mut taken = BTreeSet::new();
        for (role, pool) in NAMES {
            let mut name = (*self.random.one(pool).unwrap_or(&role)).to_owned();
            if self.random.once_in(12) {
                let _ = write!(name, "_{}", self.random.below(40));
            }
            while !taken.insert(name.clone()) {
                name.push('0');
            }
            self.names.insert(role, name);
        }
    }

    /// Whether the draft has this name for something.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.values().any(|known| known == name)
    }

    pub fn is_power_of_two(&self) -> bool {
        self.threads.is_power_of_two()
    }

    pub fn is_vector(&self) -> bool {
        self.components > 1
    }

    pub fn is_float(&self) -> bool {
        self.scalar == "float"
    }

    /// Makes elements single integers, with an operator that atomics have.
    pub fn make_atomic(&mut self) {
        self.components = 1;
        if self.is_float() {
            self.scalar = "uint";
        }
        if self.operator == Operator::Multiply {
            self.operator = Operator::Add;
        }
    }

    /// Makes elements numbers that are added.
    pub fn make_sum(&mut self) {
        self.operator = Operator::Add;
    }

    /// Rounds the number of threads up to a power of two.
    pub fn make_power_of_two(&mut self) {
        if !self.is_power_of_two() {
            self.threads = self.threads.next_power_of_two().min(1024);
            self.group = self.group();
        }
    }

    pub fn element(&self) -> String {
        match self.components {
            1 => self.scalar.to_owned(),
            count => format!("{}{count}", self.scalar),
        }
    }

    pub fn about(&self, shape: &str) -> String {
        format!(
            "{shape}, {:?} of {}, {:?}",
            self.operator,
            self.element(),
            self.group
        )
    }

    /// The buffer that is read, if floats may be multiplied: a slip may turn a sum into a product.
    pub fn multiplies(&self, has_slip: bool) -> Option<String> {
        let is_product = self.is_float() && (self.operator == Operator::Multiply || has_slip);
        is_product.then(|| self.names.get("src").cloned().unwrap_or_default())
    }

    /// One of these.
    pub fn one(&mut self, of: &[&'static str]) -> &'static str {
        self.random.one(of).copied().unwrap_or_default()
    }

    /// `a` and `b` combined.
    pub fn combine(&mut self, a: &str, b: &str) -> String {
        let (a, b) = if self.random.once_in(3) { (b, a) } else { (a, b) };
        if self.has_join_macro {
            return format!("$join({a}, {b})");
        }
        match (self.operator, infix(self.operator)) {
            (_, Some(sign)) => format!("{a} {sign} {b}"),
            (Operator::Min, _) if !self.is_vector() && self.random.once_in(6) => {
                format!("({a} < {b} ? {a} : {b})")
            }
            (Operator::Min, _) => format!("min({a}, {b})"),
            (Operator::Max, _) if !self.is_vector() && self.random.once_in(6) => {
                format!("({a} > {b} ? {a} : {b})")
            }
            _ => format!("max({a}, {b})"),
        }
    }

    /// A statement that combines `b` into `a`.
    pub fn onto(&mut self, a: &str, b: &str) -> String {
        if self.has_taker {
            return format!("$take({b}, {a});");
        }
        match infix(self.operator) {
            Some(sign) if !self.has_join_macro && self.random.once_in(2) => format!("{a} {sign}= {b};"),
            _ => format!("{a} = {};", self.combine(a, b)),
        }
    }

    /// The operator's identity.
    pub fn identity(&mut self) -> String {
        let number = match (self.operator, self.scalar) {
            (Operator::Add | Operator::Or | Operator::Xor, "uint") => self.one(&["0", "0u", "0"]),
            (Operator::Add, "float") => self.one(&["0", "0.0", "0.0f", "0.f"]),
            (Operator::Add | Operator::Or | Operator::Xor, _) => "0",
            (Operator::Multiply, "float") => self.one(&["1", "1.0", "1.0f"]),
            (Operator::Multiply, _) => "1",
            (Operator::Min | Operator::And, "uint") => {
                self.one(&["0xffffffff", "0xFFFFFFFFu", "~0u", "4294967295u"])
            }
            (Operator::Min, "int") => self.one(&["0x7fffffff", "2147483647"]),
            (Operator::And, _) => self.one(&["-1", "~0"]),
            (Operator::Min, _) => self.one(&["3.402823466e+38f", "asfloat(0x7f800000)"]),
            (Operator::Max, "uint") => "0",
            (Operator::Max, "int") => self.one(&["(-2147483647 - 1)", "asint(0x80000000)"]),
            (Operator::Max, _) => self.one(&["-3.402823466e+38f", "asfloat(0xff800000)"]),
        };
        if self.is_vector() && self.random.once_in(2) {
            format!("({})({number})", self.element())
        } else {
            number.to_owned()
        }
    }

    /// The statement as the body of an `if` or a loop, with or without braces.
    pub fn body(&mut self, statement: &str) -> String {
        let is_one = statement.matches(';').count() == 1;
        if is_one && self.random.once_in(2) {
            statement.to_owned()
        } else {
            format!("{{ {statement} }}")
        }
    }

    pub fn when(&mut self, condition: &str, statement: &str) -> String {
        let body = self.body(statement);
        format!("if ({condition}) {body}")
    }

    /// Steps of 1, 2, 4, … below `bound`, whose value is `most`.
    pub fn doubling(
        &mut self,
        bound: &str,
        most: usize,
        mut body: impl FnMut(&mut Self, &str) -> String,
    ) -> String {
        let attribute = self.attribute();
        let next = self.one(&["$s <<= 1", "$s *= 2", "$s += $s", "$s = $s << 1", "$s = 2 * $s"]);
        let index = self.index;
        match self.random.below(9) {
            0 => format!(
                "{index} $s = 1; {attribute} while ($s < {bound}) {{ {} {next}; }}",
                body(self, "$s")
            ),
            1 => format!(
                "{index} $s; {attribute} for ($s = 1; $s < {bound}; {next}) {{ {} }}",
                body(self, "$s")
            ),
            2 => {
                let one = if index == "uint" { "1u" } else { "1" };
                let body = body(self, "$s");
                format!(
                    "{attribute} for ({index} $k = 0; ({one} << $k) < {bound}; $k++) {{ {index} $s = {one} << $k; {body} }}"
                )
            }
            3 if most.is_power_of_two() && most <= 64 => {
                let steps = (0..most.ilog2()).map(|round| body(self, &(1u32 << round).to_string()));
                let steps: Vec<String> = steps.map(|step| format!("{{ {step} }}")).collect();
                steps.join(" ")
            }
            4 if most.is_power_of_two() => {
                format!(
                    "{attribute} for ({index} $s = 1; $s <= {bound} / 2; {next}) {{ {} }}",
                    body(self, "$s")
                )
            }
            _ => format!(
                "{attribute} for ({index} $s = 1; $s < {bound}; {next}) {{ {} }}",
                body(self, "$s")
            ),
        }
    }

    /// Steps of half the threads, a quarter, …, 1.
    pub fn halving(&mut self, mut body: impl FnMut(&mut Self, &str) -> String) -> String {
        let attribute = self.attribute();
        let next = self.one(&["$s >>= 1", "$s /= 2", "$s = $s / 2", "$s = $s >> 1"]);
        let while_ = self.one(&["$s > 0", "$s >= 1", "$s != 0", "$s > 0"]);
        let index = self.index;
        match self.random.below(6) {
            0 => format!(
                "{index} $s = $half; while ({while_}) {{ {} {next}; }}",
                body(self, "$s")
            ),
            1 if self.threads <= 128 => {
                let steps = (0..self.threads.ilog2()).rev();
                let steps = steps.map(|round| body(self, &(1u32 << round).to_string()));
                let steps: Vec<String> = steps.collect();
                steps.join(" ")
            }
            _ => format!(
                "{attribute} for ({index} $s = $half; {while_}; {next}) {{ {} }}",
                body(self, "$s")
            ),
        }
    }

    fn attribute(&mut self) -> &'static str {
        self.one(&["", "", "", "", "[unroll]", "[loop]"])
    }

    /// The initial value of a thread.
    pub fn value(&mut self) -> String {
        let own = format!("$src[{}]", self.place());
        let own = match (self.scalar, self.is_vector(), self.random.below(10)) {
            ("uint" | "int", false, 0) => format!("{own} & 15"),
            ("uint" | "int", false, 1) => format!("({own} > 7 ? 1 : 0)"),
            ("uint" | "int", _, 2) => format!("{own} * 3"),
            ("uint" | "int", _, 3) => format!("{own} + $i"),
            _ => own,
        };
        if self.is_counted {
            let identity = self.identity();
            format!("({} < $count ? {own} : {identity})", self.place())
        } else {
            own
        }
    }

    /// The thread's index in the buffers.
    pub fn place(&mut self) -> String {
        let is_row = self.group[0] == self.threads;
        match self.random.below(3) {
            0 | 1 if is_row => "$id.x".to_owned(),
            _ => "$group.x * $n + $i".to_owned(),
        }
    }

    /// The parts of a kernel.
    pub fn kernel(&mut self, shape: Shape) -> Kernel {
        let element = self.element();
        let definitions = self.definitions();
        let mut outer = format!("StructuredBuffer<{element}> $src;\nRWStructuredBuffer<{element}> $out;\n");
        if self.is_counted {
            outer.push_str("cbuffer $constants { uint $count; }\n");
        }
        let longer = self.one(&[
            "$g[$n]",
            "$g[$n]",
            "$g[$n]",
            "$g[$n]",
            "$g[$n]",
            "$g[$n + 8]",
            "$g[$twice]",
            "$g[1024]",
        ]);
        let has_array = shape.globals.contains("groupshared $T $g[$n];");
        let is_called = shape.is_callable && self.random.once_in(2);
        let [x, y, z] = self.group;
        let group = if [x, y, z] == [self.threads, 1, 1] {
            "$n, 1, 1".to_owned()
        } else {
            format!("{x}, {y}, {z}")
        };
        let (parameter, own) = self.own_index();
        let mut parameters = vec![
            parameter,
            "uint3 $id : SV_DispatchThreadID".to_owned(),
            "uint3 $group : SV_GroupID".to_owned(),
        ];
        let turned = self.random.below(3);
        parameters.rotate_left(turned);
        Kernel {
            definitions,
            outer,
            globals: shape.globals.replace("$g[$n]", longer),
            has_array,
            is_called,
            group,
            own,
            parameters,
            load: shape.load,
            ladder: shape.ladder,
            store: shape.store,
            ..Kernel::default()
        }
    }

    /// The text of the file, without layout.
    pub fn file(&mut self, kernel: &Kernel) -> String {
        let mut helper = String::new();
        if kernel.is_called {
            let _ = writeln!(helper, "void $call({} $i) {{ {} }}", self.index, kernel.ladder);
        }
        let ladder = if kernel.is_called {
            format!("{}$call($i);", kernel.qualifier)
        } else {
            kernel.ladder.clone()
        };
        let ladder = format!("{ladder} {}", kernel.after_ladder);
        let body = self.around(&kernel.load, &ladder, &kernel.store);
        let inserted = [
            &kernel.before,
            &kernel.after_ladder,
            &kernel.after,
            &kernel.attributes,
        ];
        let main = if kernel.is_main_by_macro && inserted.iter().all(|part| part.is_empty()) {
            "$kernelMacro($main, $i)".to_owned()
        } else {
            kernel.entry("$main", &format!("{} {body} {}", kernel.before, kernel.after))
        };
        let lower = format!("{}{}{helper}", kernel.globals, self.taker());
        let upper = format!("{main}\n{}", kernel.tail);
        let rest = match kernel.namespace {
            Namespace::None => format!("{lower}{upper}"),
            Namespace::OfAll => format!("namespace $space {{\n{lower}{upper}\n}}"),
            Namespace::OfWhatIsUsed => format!("namespace $space {{\n{lower}\n}}\n{upper}"),
        };
        let Kernel {
            head,
            definitions,
            outer,
            ..
        } = kernel;
        self.spelled(&format!("{head}{definitions}{outer}{rest}\n"))
    }

    /// The function that combines elements, if there is one.
    fn taker(&mut self) -> String {
        if !self.has_taker {
            return String::new();
        }
        self.has_taker = false;
        let (element, onto) = (self.element(), self.onto("own", "left"));
        let of_left = if self.is_vector() { "left.x" } else { "left" };
        let leaves = match self.random.below(4) {
            0 => String::new(),
            1 => format!("if ({of_left} == 0) return;"),
            2 => format!("if ({of_left} > 5) {{ own = left; return; }}"),
            _ => format!("for (uint k = 5; k < 7; k++) if ({of_left} > k) return;"),
        };
        format!("void $take({element} left, inout {element} own) {{ {leaves} {onto} }}\n")
    }

    /// The kernel's statements, mostly once and in sequence.
    fn around(&mut self, load: &str, ladder: &str, store: &str) -> String {
        let whole = format!("{load} {ladder} {store}");
        match self.random.below(24) {
            // One tile after the other.
            0 => {
                let load = load.replace("$src[", "$src[$tile + ");
                format!("for (uint $tile = 0; $tile < 3; ++$tile) {{ {load} {ladder} {store} $SYNC; }}")
            }
            1 => format!("if ($group.x < 2) {{ {whole} }}"),
            // The ladder twice. Sums of sums of floats differ by more than the tolerance of the comparison.
            2 if !self.is_float() => format!("{load} {{ {ladder} }} $SYNC; {{ {ladder} }} $SYNC; {store}"),
            3 => format!("{whole} $SYNC; {{ {load} {ladder} {store} }}"),
            4 => format!("if ($group.x == 7) return; {whole}"),
            _ => whole,
        }
    }

    /// The parameter for the thread's index, and the statements that derive from it.
    fn own_index(&mut self) -> (String, String) {
        let index = self.index;
        let [x, y, z] = self.group;
        if self.random.once_in(10) {
            // An order of the threads other than the hardware's.
            let other = if self.threads.is_multiple_of(2) {
                "$local ^ 1"
            } else {
                "$n - 1 - $local"
            };
            let other = if self.random.once_in(2) {
                "$n - 1 - $local"
            } else {
                other
            };
            return (
                "uint $local : SV_GroupIndex".to_owned(),
                format!("{index} $i = {other};"),
            );
        }
        let row = x == self.threads;
        match self.random.below(4) {
            0 if row => (format!("{index} $i : SV_GroupThreadID"), String::new()),
            1 if row => (
                "uint3 $local : SV_GroupThreadID".to_owned(),
                format!("{index} $i = $local.x;"),
            ),
            1 if z == 1 => (
                "uint3 $local : SV_GroupThreadID".to_owned(),
                format!("{index} $i = $local.y * {x} + $local.x;"),
            ),
            1 => (
                "uint3 $local : SV_GroupThreadID".to_owned(),
                format!("{index} $i = ($local.z * {y} + $local.y) * {x} + $local.x;"),
            ),
            2 if row => (
                "uint3 $local : SV_GroupThreadID".to_owned(),
                format!("const {index} $i = $id.x - $group.x * $n;"),
            ),
            _ => (format!("{index} $i : SV_GroupIndex"), String::new()),
        }
    }

    fn definitions(&mut self) -> String {
        let mut text = String::new();
        let n = self.threads;
        match self.size {
            Size::Macro => {
                let written = match self.random.below(4) {
                    0 => format!("({} + {})", n / 2, n - n / 2),
                    1 if self.is_power_of_two() => format!("(1 << {})", n.ilog2()),
                    _ => n.to_string(),
                };
                let _ = writeln!(text, "#define $size {written}");
            }
            Size::Constant => {
                let _ = writeln!(text, "static const {} $size = {n};", self.index);
            }
            Size::Number | Size::Unsigned | Size::Hexadecimal => {}
        }
        if self.sync_macro.is_some() {
            let _ = writeln!(text, "#define $SYNC $barrier()");
        }
        if self.has_join_macro {
            let joined = match infix(self.operator) {
                Some(sign) => format!("((a) {sign} (b))"),
                None if self.operator == Operator::Min => "min(a, b)".to_owned(),
                None => "max((a), (b))".to_owned(),
            };
            let _ = writeln!(text, "#define $join(a, b) {joined}");
        }
        text
    }

    /// Replaces the words after `$` by names and sizes.
    pub fn spelled(&self, text: &str) -> String {
        let mut parts = text.split('$');
        let mut spelled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(part.len());
            let (word, rest) = part.split_at(end);
            spelled.push_str(&self.word(word));
            spelled.push_str(rest);
        }
        spelled
    }

    fn word(&self, word: &str) -> String {
        let n = self.threads;
        let size = self.names.get("size").cloned().unwrap_or_default();
        let (number, derived) = match word {
            "n" => (n, size),
            "half" => (n / 2, format!("({size} / 2)")),
            "last" => (n - 1, format!("({size} - 1)")),
            "twice" => (2 * n, format!("({size} * 2)")),
            "end" => (2 * n - 1, format!("(2 * {size} - 1)")),
            "SYNC" => match self.sync_macro {
                Some(end) => return format!("{}{end}", self.names.get("sync").cloned().unwrap_or_default()),
                None => return format!("{}()", self.barrier),
            },
            "T" => return self.element(),
            "U" => return self.index.to_owned(),
            "barrier" => return self.barrier.to_owned(),
            role => return self.names.get(role).cloned().unwrap_or_else(|| role.to_owned()),
        };
        match self.size {
            Size::Macro | Size::Constant => derived,
            Size::Unsigned if self.index == "uint" => format!("{number}u"),
            Size::Hexadecimal => format!("{number:#x}"),
            _ => number.to_string(),
        }
    }
}

const ALL: [Operator; 7] = [
    Operator::Add,
    Operator::Multiply,
    Operator::Min,
    Operator::Max,
    Operator::And,
    Operator::Or,
    Operator::Xor,
];

fn infix(operator: Operator) -> Option<&'static str> {
    match operator {
        Operator::Add => Some("+"),
        Operator::Multiply => Some("*"),
        Operator::And => Some("&"),
        Operator::Or => Some("|"),
        Operator::Xor => Some("^"),
        Operator::Min | Operator::Max => None,
    }
}
