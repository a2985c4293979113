//! The ladders that are mutated: every shape the engine knows, in small groups.

/// A kernel around a body, of N threads; T is the elements' type.
fn kernel(threads: u32, ty: &str, globals: &str, body: &str) -> String {
    let text = format!(
        "StructuredBuffer<T> Src;\nRWStructuredBuffer<T> Out;\n{globals}\n[numthreads(N, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex, uint3 tid : SV_GroupThreadID, uint3 id : SV_DispatchThreadID,\n\
         uint3 group : SV_GroupID)\n\
         {{\n{body}\n}}\n"
    );
    let words = text.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_'));
    let mut out = String::new();
    for word in words {
        let name = word.trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
        let meant = match name {
            "N" => threads.to_string(),
            "N2" => (2 * threads).to_string(),
            "H" => (threads / 2).to_string(),
            "T" => ty.to_owned(),
            "SYNC" => "GroupMemoryBarrierWithGroupSync()".to_owned(),
            other => other.to_owned(),
        };
        out.push_str(&meant);
        out.push_str(&word[name.len()..]);
    }
    out
}

const LOAD: &str = "g[gi] = Src[id.x]; SYNC;";
const STORE: &str = "Out[id.x] = g[gi];";

/// Ladders in place in one array.
const LADDERS: [&str; 22] = [
    "for (uint s = 1; s < N; s <<= 1) { T v = gi >= s ? g[gi - s] : 0; SYNC; g[gi] += v; SYNC; }",
    "for (uint s = 1; s < N; s *= 2) { T v = 0; if (gi >= s) { v = g[gi - s]; } SYNC; if (gi >= s) { g[gi] = v + g[gi]; } SYNC; }",
    "uint s = 1; while (s < N) { T v = g[gi]; if (gi >= s) { v += g[gi - s]; } SYNC; g[gi] = v; SYNC; s += s; }",
    "for (uint s = 1; s < N; s <<= 1) { T v = gi >= s ? g[gi - s] : 0; SYNC; g[gi] = max(g[gi], v); SYNC; }",
    "for (uint s = 1; s < N; s <<= 1) { T v = gi >= s ? g[gi - s] : 1; SYNC; g[gi] *= v; SYNC; }",
    "for (uint s = 1; s < N; s <<= 1) { T v = gi + s < N ? g[gi + s] : 0; SYNC; g[gi] += v; SYNC; }",
    "for (uint s = 1; s < H; s <<= 1) { T v = (gi & (H - 1)) >= s ? g[gi - s] : 0; SYNC; g[gi] += v; SYNC; }",
    "for (uint s = 1; s < N; s <<= 1) { T v = gi >= s ? g[gi - s] : 0; SYNC; g[gi] += v; SYNC; } T e = gi > 0 ? g[gi - 1] : 0; SYNC; g[gi] = e; SYNC;",
    "for (uint s = 1; s < N; s <<= 1) { if (gi & s) g[gi] += g[(gi & ~(s - 1)) - 1]; SYNC; }",
    "if (gi == 0) { for (uint i = 1; i < N; ++i) g[i] += g[i - 1]; } SYNC;",
    "if (gi == 0) { T sum = 0; for (uint i = 0; i < N; i++) { T own = g[i]; g[i] = sum; sum += own; } } SYNC;",
    "T sum = 0; for (uint i = 0; i <= gi; i++) { sum += g[i]; } SYNC; g[gi] = sum; SYNC;",
    "uint s; for (s = 1; s < N; s *= 2) { uint i = (gi + 1) * s * 2 - 1; if (i < N) g[i] += g[i - s]; SYNC; }
     for (s = N / 4; s > 0; s /= 2) { uint i = (gi + 1) * s * 2 - 1; if (i + s < N) g[i + s] += g[i]; SYNC; }",
    "for (uint s = 1; s < N; s *= 2) { if (gi % (2 * s) == 0) g[gi] += g[gi + s]; SYNC; }",
    "for (uint s = 1; s < N; s *= 2) { uint i = 2 * s * gi; if (i < N) g[i] += g[i + s]; SYNC; }",
    "for (uint s = H; s > 0; s >>= 1) { if (gi < s) g[gi] += g[gi + s]; SYNC; }",
    "for (uint s = H; s > 0; s >>= 1) { if (gi < s) { g[gi] = max(g[gi], g[gi + s]); } SYNC; }",
    "for (uint s = H; s > 0; s >>= 1) { T v = g[gi ^ s]; SYNC; g[gi] = min(g[gi], v); SYNC; }",
    "if (gi == 0) { T sum = 0; for (uint i = 0; i < N; ++i) sum += g[i]; g[0] = sum; } SYNC;",
    "T sum = 0; for (uint i = 0; i < N; ++i) sum += g[i]; SYNC; g[gi] = sum; SYNC;",
    "for (int d = 0; (1u << d) < N; ++d) { uint s = 1u << d; T v = 0; if (gi >= s) v = g[gi - s]; SYNC; g[gi] += v; SYNC; }",
    "for (uint s = 1; s < N; s <<= 1) { T v = g[gi]; T w = gi >= s ? g[gi - s] : 0; SYNC; g[gi] = v + w; SYNC; }",
];

/// Kernels of other forms: the globals and the body.
const OTHERS: [(&str, &str); 13] = [
    (
        "groupshared T g[N];",
        "g[gi] = Src[id.x]; SYNC; for (uint s = H; s > 1; s >>= 1) { if (gi < s) g[gi] += g[gi + s]; SYNC; }
         if (gi == 0) Out[group.x] = g[0] + g[1];",
    ),
    (
        "groupshared T g[N];",
        "T own = Src[id.x]; g[gi] = own; SYNC;
         for (uint s = H; s > 1; s >>= 1) { if (gi < s) { own += g[gi + s]; g[gi] = own; } SYNC; }
         if (gi != 0) return; Out[group.x] = own + g[1];",
    ),
    (
        "groupshared T a[N]; groupshared T b[N];",
        "a[gi] = Src[id.x]; SYNC; bool flip = false;
         for (uint s = 1; s < N; s <<= 1) {
             if (flip) { a[gi] = gi >= s ? b[gi] + b[gi - s] : b[gi]; } else { b[gi] = gi >= s ? a[gi] + a[gi - s] : a[gi]; }
             flip = !flip; SYNC; }
         Out[id.x] = flip ? b[gi] : a[gi];",
    ),
    (
        "groupshared T t[N2];",
        "uint to = 0; uint from = N; t[gi] = Src[id.x]; SYNC;
         for (uint s = 1; s < N; s *= 2) {
             to = N - to; from = N - to;
             if (gi >= s) t[to + gi] = t[from + gi] + t[from + gi - s]; else t[to + gi] = t[from + gi];
             SYNC; }
         Out[id.x] = t[to + gi];",
    ),
    (
        "groupshared T g[N];",
        "T x = Src[id.x];
         for (uint s = 1; s < N; s <<= 1) { g[gi] = x; SYNC; if (gi >= s) x += g[gi - s]; SYNC; }
         Out[id.x] = x;",
    ),
    (
        "groupshared T g[N2];",
        "g[2 * gi] = Src[2 * id.x]; g[2 * gi + 1] = Src[2 * id.x + 1]; uint offset = 1;
         for (uint d = N; d > 0; d >>= 1) { SYNC; if (gi < d) {
             uint a = offset * (2 * gi + 1) - 1; uint b = offset * (2 * gi + 2) - 1; g[b] += g[a]; } offset *= 2; }
         if (gi == 0) g[N2 - 1] = 0;
         for (uint d = 1; d < N2; d *= 2) { offset >>= 1; SYNC; if (gi < d) {
             uint a = offset * (2 * gi + 1) - 1; uint b = offset * (2 * gi + 2) - 1; T t = g[a]; g[a] = g[b]; g[b] += t; } }
         SYNC; Out[2 * id.x] = g[2 * gi]; Out[2 * id.x + 1] = g[2 * gi + 1];",
    ),
    (
        "groupshared T g[N2 + 8]; uint at(uint i) { return i + (i >> 3); }",
        "g[at(2 * gi)] = Src[2 * id.x]; g[at(2 * gi + 1)] = Src[2 * id.x + 1]; uint offset = 1;
         for (uint d = N; d > 0; d >>= 1) { SYNC; if (gi < d) {
             uint a = offset * (2 * gi + 1) - 1; uint b = offset * (2 * gi + 2) - 1; g[at(b)] += g[at(a)]; } offset *= 2; }
         if (gi == 0) g[at(N2 - 1)] = 0;
         for (uint d = 1; d < N2; d *= 2) { offset >>= 1; SYNC; if (gi < d) {
             uint a = offset * (2 * gi + 1) - 1; uint b = offset * (2 * gi + 2) - 1; T t = g[at(a)]; g[at(a)] = g[at(b)]; g[at(b)] += t; } }
         SYNC; Out[2 * id.x] = g[at(2 * gi)]; Out[2 * id.x + 1] = g[at(2 * gi + 1)];",
    ),
    (
        "groupshared T g[N]; void Scan(uint t) { for (uint s = 1; s < N; s <<= 1) { T v = t >= s ? g[t - s] : 0; SYNC; g[t] += v; SYNC; } }",
        "g[gi] = Src[id.x]; SYNC; Scan(gi); Out[id.x] = g[gi];",
    ),
    (
        "groupshared T g[N]; T Scan(uint t, T own) { g[t] = own; SYNC; for (uint s = 1; s < N; s <<= 1) { T v = g[t]; if (t >= s) v += g[t - s]; SYNC; g[t] = v; SYNC; } return g[t]; }",
        "T own = Src[id.x]; T sum = Scan(gi, own); Out[id.x] = sum - own;",
    ),
    (
        "groupshared vector<T, 2> g[N];",
        "g[gi].x = Src[id.x]; g[gi].y = 0; SYNC; uint f = 0;
         for (uint s = 1; s < N; s <<= 1) {
             if (f == 0) g[gi].y = gi >= s ? g[gi].x + g[gi - s].x : g[gi].x; else g[gi].x = gi >= s ? g[gi].y + g[gi - s].y : g[gi].y;
             f = 1 - f; SYNC; }
         Out[id.x] = f == 0 ? g[gi].x : g[gi].y;",
    ),
    (
        "groupshared T g[N + 1];",
        "g[gi + 1] = Src[id.x]; if (gi == 0) g[0] = 0; SYNC;
         for (uint s = 1; s < N; s <<= 1) { T v = gi + 1 > s ? g[gi + 1 - s] : 0; SYNC; g[gi + 1] += v; SYNC; }
         Out[id.x] = g[gi];",
    ),
    (
        "groupshared T g[N]; groupshared T total;",
        "g[gi] = Src[id.x]; SYNC; if (gi < H) g[gi] += g[gi + H]; SYNC;
         if (gi == 0) { T sum = 0; for (uint i = 0; i < H; i += 2) { sum += g[i] + g[i + 1]; } total = sum; } SYNC;
         Out[id.x] = total;",
    ),
    (
        "groupshared T g[N];",
        "T x = Src[id.x]; T total = 0;
         for (uint r = 0; r < 2; ++r) {
             g[gi] = x; SYNC;
             for (uint s = 1; s < N; s <<= 1) { T v = gi >= s ? g[gi - s] : 0; SYNC; g[gi] += v; SYNC; }
             total += g[gi]; SYNC; }
         Out[id.x] = total;",
    ),
];

/// The kernel with its arrays in resources: the text of a body or of globals.
fn on_device(text: &str, barrier: &str) -> String {
    let text = text.replace("SYNC", barrier);
    let globals = text.split_inclusive(';').map(|part| {
        let Some((name, _)) = part
            .trim()
            .strip_prefix("groupshared T ")
            .and_then(|part| part.split_once('['))
        else {
            return part.to_owned();
        };
        format!("RWStructuredBuffer<T> {name};")
    });
    globals.collect()
}

/// The text with `start` added to each index of `g`.
fn from(start: &str, text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("g[") {
        let (before, after) = rest.split_at(at + 2);
        let mut depth = 1;
        let end = after.find(|c| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            depth == 0
        });
        let (index, after) = after.split_at(end.unwrap_or(after.len()));
        out.extend([before, start, " + (", index, ")"]);
        rest = after;
    }
    out + rest
}

/// Ladders over resources.
fn tiles(all: &mut Vec<(String, String)>) {
    let barriers = [
        "DeviceMemoryBarrierWithGroupSync()",
        "AllMemoryBarrierWithGroupSync()",
    ];
    for (number, ladder) in LADDERS.into_iter().enumerate() {
        let threads = [8, 16][usize::from(ladder.contains('^') || ladder.contains("H;"))];
        let ty = ["uint", "int", "float"][number % 3];
        let barrier = barriers[usize::from(number % 4 == 3)];
        let (globals, mut body) = ("groupshared T g[N];", on_device(ladder, barrier));
        match number % 3 {
            0 => {}
            1 => {
                body = from(
                    "group.x * N",
                    &on_device(&format!("{LOAD} {ladder} {STORE}"), barrier),
                );
            }
            _ => body = from("group.x * N2", &body),
        }
        let globals = on_device(globals, barrier);
        all.push((
            format!("tile {number} of {threads} {ty}"),
            kernel(threads, ty, &globals, &body),
        ));
    }
    for (number, (globals, body)) in OTHERS.into_iter().take(4).enumerate() {
        let (globals, body) = (on_device(globals, barriers[0]), on_device(body, barriers[0]));
        all.push((
            format!("tile of kernel {number}"),
            kernel(8, "uint", &globals, &body),
        ));
    }
}

/// Each with its name.
pub fn kernels() -> Vec<(String, String)> {
    let types = ["uint", "int", "float"];
    let mut all = Vec::new();
    for (number, ladder) in LADDERS.into_iter().enumerate() {
        // Sizes and types in turn, one of them not a power of two.
        let threads = [16, 8, 32, 16, 12, 8][number % 6];
        let threads = if ladder.contains('^') || ladder.contains("H;") {
            16
        } else {
            threads
        };
        let ty = types[number % 3];
        let body = format!("{LOAD}\n{ladder}\n{STORE}");
        all.push((
            format!("ladder {number} of {threads} {ty}"),
            kernel(threads, ty, "groupshared T g[N];", &body),
        ));
    }
    for (number, (globals, body)) in OTHERS.into_iter().enumerate() {
        let threads = [8, 16][number % 2];
        let ty = types[(number + 1) % 3];
        let ty = if globals.contains("vector") { "uint" } else { ty };
        all.push((
            format!("kernel {number} of {threads} {ty}"),
            kernel(threads, ty, globals, body),
        ));
    }
    tiles(&mut all);
    all
}
