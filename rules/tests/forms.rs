//! The text that a fix leaves of a kernel.

use shaderlint_hlsl::NoIncludes;
use shaderlint_linter::{Diagnostic, Safety, Settings, check_shader, settle};
use shaderlint_rules::RULES;
use snapbox::{assert_data_eq, str};

fn lint(text: &[u8]) -> Vec<Diagnostic> {
    let (shader, _) = shaderlint_hlsl::read("test.hlsl", text, &[], &NoIncludes);
    check_shader(&shader, RULES, &Settings::default()).findings
}

/// A text with all its fixes made.
fn fixed(text: &str) -> String {
    let settled = settle(text.as_bytes(), true, lint, Vec::as_slice);
    String::from_utf8(settled.text).expect("a text")
}

/// A kernel from the line of its group's size on.
fn kernel_of(text: &str) -> &str {
    text.split_once("[numthreads").map_or("", |(_, kernel)| kernel)
}

/// A kernel with a ladder over `g`, with `before` and `behind` it.
fn ladder(globals: &str, before: &str, behind: &str) -> String {
    format!(
        "StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\ngroupshared uint g[64];\n{globals}\
         [numthreads(64, 1, 1)]\nvoid Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)\n{{\n{before}\
         \x20   for (uint s = 1; s < 64; s <<= 1)\n    {{\n        uint left = gi >= s ? g[gi - s] : 0;\n        \
         GroupMemoryBarrierWithGroupSync();\n        g[gi] += left;\n        GroupMemoryBarrierWithGroupSync();\n    }}\n\
         {behind}}}\n"
    )
}

const STORE: &str =
    "    // What there is.\n    g[gi] = Src[id.x];\n    GroupMemoryBarrierWithGroupSync();\n\n";
const READ: &str = "\n    Out[id.x] = g[gi];\n";

#[test]
fn the_array_goes_with_its_ladder() {
    assert_data_eq!(
        fixed(&ladder("", STORE, READ)),
        str![[r#"
StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;
groupshared uint gWaveTotals[16];

// The sum of the values of the threads up to this one. Takes waves to hold consecutive threads.
// Two calls need a barrier between them.
uint GroupInclusiveSum(uint value, uint thread)
{
    uint sum = WavePrefixSum(value) + value;
    uint wave = thread / WaveGetLaneCount();
    uint lane = WaveGetLaneIndex();
    if (lane + 1 == WaveGetLaneCount())
        gWaveTotals[wave] = sum;
    GroupMemoryBarrierWithGroupSync();
    for (uint first = 0; first < wave; first += WaveGetLaneCount())
        sum += WaveActiveSum(first + lane < wave ? gWaveTotals[first + lane] : 0);
    return sum;
}

[numthreads(64, 1, 1)]
void Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{
    // What there is.
    uint sum = GroupInclusiveSum(Src[id.x], gi);

    Out[id.x] = sum;
}

"#]]
    );
}

/// A barrier behind the ladder goes where nothing else needs it, and one comes where the totals are used again.
#[test]
fn barriers_go_and_come() {
    let behind = format!("    GroupMemoryBarrierWithGroupSync();\n{READ}");
    let text = fixed(&ladder("", STORE, &behind));
    assert!(!kernel_of(&text).contains("Barrier"), "{text}");
    let others = "    h[gi] = id.x;\n";
    let read = "    Out[id.x] = g[gi] + h[63 - gi];\n";
    let text = fixed(&ladder(
        "groupshared uint h[64];\n",
        &format!("{others}{STORE}"),
        read,
    ));
    assert!(
        !kernel_of(&text).contains("Barrier") && text.contains("sum + h[63 - gi]"),
        "{text}"
    );
    let behind = format!("    h[gi] = id.x;\n    GroupMemoryBarrierWithGroupSync();\n{read}");
    let text = fixed(&ladder("groupshared uint h[64];\n", STORE, &behind));
    assert_eq!(kernel_of(&text).matches("Barrier").count(), 1, "{text}");
    let twice = format!("    for (uint k = 0; k < 2; ++k)\n    {{\n{STORE}");
    let twice = twice.replace("id.x]", "id.x + k]");
    let text = fixed(&ladder("", &twice, &format!("{READ}    }}\n")));
    assert_data_eq!(
        kernel_of(&text),
        str![[r#"
(64, 1, 1)]
void Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{
    for (uint k = 0; k < 2; ++k)
    {
    // What there is.
    GroupMemoryBarrierWithGroupSync();
    uint sum = GroupInclusiveSum(Src[id.x + k], gi);

    Out[id.x] = sum;
    }
}

"#]]
    );
}

/// The last of several ladders that share an array takes it along.
#[test]
fn an_array_goes_with_all_its_ladders() {
    let once = ladder("", STORE, READ);
    let (_, second) = once.split_once("[numthreads").expect("a kernel");
    let text = fixed(&format!(
        "{once}[numthreads{}",
        second.replace("Scan(", "Second(")
    ));
    assert!(!text.contains("uint g["), "{text}");
    let text = fixed(
        "StructuredBuffer<float> Src;\nRWStructuredBuffer<float> Out;\n#define N 256\ngroupshared float tmp[N];\n\
         [numthreads(N, 1, 1)]\nvoid Softmax(uint3 id : SV_DispatchThreadID, uint t : SV_GroupThreadID)\n{\n    \
         float x = Src[id.x];\n    tmp[t] = x;\n    GroupMemoryBarrierWithGroupSync();\n    \
         for (uint s = N / 2; s > 0; s >>= 1)\n    {\n        if (t < s)\n            tmp[t] = max(tmp[t], tmp[t + s]);\n        \
         GroupMemoryBarrierWithGroupSync();\n    }\n    float top = tmp[0];\n    GroupMemoryBarrierWithGroupSync();\n    \
         float e = exp(x - top);\n    tmp[t] = e;\n    GroupMemoryBarrierWithGroupSync();\n    \
         for (uint d = N / 2; d > 0; d >>= 1)\n    {\n        if (t < d)\n            tmp[t] += tmp[t + d];\n        \
         GroupMemoryBarrierWithGroupSync();\n    }\n    Out[id.x] = e / tmp[0];\n}\n",
    );
    assert_data_eq!(
        text,
        str![[r#"
StructuredBuffer<float> Src;
RWStructuredBuffer<float> Out;
#define N 256
groupshared float tmpWaveTotals[(N + 3) / 4];

// The sum of the values of the group's threads. Takes waves to hold consecutive threads.
// Two calls need a barrier between them.
float GroupSum(float value, uint thread)
{
    float sum = WaveActiveSum(value);
    uint wave = thread / WaveGetLaneCount();
    uint lane = WaveGetLaneIndex();
    if (lane == 0)
        tmpWaveTotals[wave] = sum;
    GroupMemoryBarrierWithGroupSync();
    if (wave == 0)
    {
        uint waves = (N + WaveGetLaneCount() - 1) / WaveGetLaneCount();
        sum = 0.0;
        for (uint first = 0; first < waves; first += WaveGetLaneCount())
            sum += WaveActiveSum(first + lane < waves ? tmpWaveTotals[first + lane] : 0.0);
        if (lane == 0)
            tmpWaveTotals[0] = sum;
    }
    GroupMemoryBarrierWithGroupSync();
    return tmpWaveTotals[0];
}

// The maximum of the values of the group's threads. Takes waves to hold consecutive threads.
// Two calls need a barrier between them.
float GroupMax(float value, uint thread)
{
    float maximum = WaveActiveMax(value);
    uint wave = thread / WaveGetLaneCount();
    uint lane = WaveGetLaneIndex();
    if (lane == 0)
        tmpWaveTotals[wave] = maximum;
    GroupMemoryBarrierWithGroupSync();
    if (wave == 0)
    {
        uint waves = (N + WaveGetLaneCount() - 1) / WaveGetLaneCount();
        maximum = asfloat(0xff800000u);
        for (uint first = 0; first < waves; first += WaveGetLaneCount())
            maximum = max(maximum, WaveActiveMax(first + lane < waves ? tmpWaveTotals[first + lane] : asfloat(0xff800000u)));
        if (lane == 0)
            tmpWaveTotals[0] = maximum;
    }
    GroupMemoryBarrierWithGroupSync();
    return tmpWaveTotals[0];
}

[numthreads(N, 1, 1)]
void Softmax(uint3 id : SV_DispatchThreadID, uint t : SV_GroupThreadID)
{
    float x = Src[id.x];
    float top = GroupMax(x, t);
    GroupMemoryBarrierWithGroupSync();
    float e = exp(x - top);
    float sum = GroupSum(e, t);
    Out[id.x] = e / sum;
}

"#]]
    );
}

/// A function of the file's own becomes its call; what is declared stands behind all that was declared there.
#[test]
fn the_call_stands_where_its_result_is_returned() {
    let text = fixed(
        "StructuredBuffer<float4> Src;\nRWStructuredBuffer<float4> Out;\ngroupshared float4 s_sum[256];\ngroupshared uint s_flags[256];\n\n\
         float4 BlockSum(uint t, float4 v)\n{\n    s_sum[t] = v;\n    GroupMemoryBarrierWithGroupSync();\n\n    \
         for (uint s = 128; s > 0; s >>= 1)\n    {\n        if (t < s) s_sum[t] += s_sum[t + s];\n        \
         GroupMemoryBarrierWithGroupSync();\n    }\n\n    return s_sum[0];\n}\n\n\
         [numthreads(256, 1, 1)]\nvoid Reduce(uint3 id : SV_DispatchThreadID, uint gi : SV_GroupIndex)\n{\n    \
         Out[id.x] = BlockSum(gi, Src[id.x]);\n}\n",
    );
    assert!(
        text.contains("float4 BlockSum(uint t, float4 v)\n{\n    return GroupSum(v, t);\n}\n"),
        "{text}"
    );
    let of_array = text.find("s_flags[256];\n\n// The sum of the values of the group's threads.");
    assert!(
        text.contains("float4 s_sumWaveTotals[64];\n") && of_array.is_some(),
        "{text}"
    );
}

/// In a build that has another array the functions that name it have no helper.
#[test]
fn nothing_is_declared_where_a_build_leaves_it_out() {
    let arrays = "#ifndef SIGNED\ngroupshared uint g[64];\n#else\ngroupshared int g[64];\n#endif\n";
    let text = ladder("", STORE, READ).replace("groupshared uint g[64];\n", arrays);
    assert_eq!(fixed(&text), text);
    let guarded = format!("#ifndef FILE\n#define FILE\n{}#endif\n", ladder("", STORE, READ));
    assert!(fixed(&guarded).contains("GroupInclusiveSum("));
}

/// Whatever else names the array keeps it.
#[test]
fn an_array_that_has_other_uses_stays() {
    for text in [
        ladder("#if DEBUG\nuint First() { return g[0]; }\n#endif\n", STORE, READ),
        ladder("#define FIRST g[0]\n", STORE, READ),
        ladder("", STORE, "    Out[id.x] = g[63 - gi];\n"),
        ladder(
            "",
            STORE,
            "    g[gi] += 1;\n    GroupMemoryBarrierWithGroupSync();\n    Out[id.x] = g[gi ^ 1];\n",
        ),
        ladder("", &STORE.replace("= Src", "= g[gi] + Src"), READ),
        ladder(
            "",
            &STORE.replace("    g[gi] =", "    if (id.x > 9) g[gi] ="),
            READ,
        ),
        ladder("", STORE, READ).replace("g[64];", "g[64], h[64];"),
    ] {
        assert!(
            fixed(&text).contains("groupshared uint g[64]"),
            "{}",
            fixed(&text)
        );
    }
}

/// A comment on the array's line stays on the line of what takes its place.
#[test]
fn a_comment_behind_an_array_stays_behind_its_totals() {
    let text = ladder("", STORE, READ).replace("g[64];", "g[64]; // of each thread");
    let text = fixed(&text);
    assert!(!text.contains("g[64]"), "{text}");
    assert!(
        text.contains("groupshared uint gWaveTotals[16]; // of each thread\n\n//"),
        "{text}"
    );
}

/// Builds that compile other arms would need other edits.
#[test]
fn an_array_that_an_arm_names_stays() {
    let behind = "#if TWICE\n    Out[id.x] = g[gi] * 2;\n#else\n    Out[id.x] = g[gi];\n#endif\n";
    let text = fixed(&ladder("", STORE, behind));
    assert!(text.contains("WavePrefixSum") && text.contains(behind), "{text}");
    let around = format!("#if TWICE\n#else\n{}#endif\n", ladder("", STORE, READ));
    assert!(!fixed(&around).contains("g[64]"), "{}", fixed(&around));
}

/// A `using` for one name brings in no other.
#[test]
fn a_using_for_one_name_is_in_no_way() {
    let globals = |using: &str| {
        format!(
            "namespace N {{ uint F(uint a) {{ return a; }} }}\nstruct B {{ uint G(uint a) {{ return a; }} }};\n{using}\n"
        )
    };
    for using in [
        "struct D : B { using B::G; uint G(float a) { return 2; } };",
        "using Word = uint;",
    ] {
        let text = ladder(&globals(using), STORE, READ);
        assert!(fixed(&text).contains("WavePrefixSum"), "{using}");
    }
    for using in [
        "using namespace N;",
        "#define SPACE namespace\nusing SPACE N;",
        "#define USE using\nUSE namespace N;",
        "#define U(x) using x;\nU(namespace N)",
        "using Word = uint;\n#define JOIN(a, b) a##b\nJOIN(us, ing) namespace N;",
        "#ifdef X\nusing\nnamespace N;\n#endif",
    ] {
        let findings = lint(ladder(&globals(using), STORE, READ).as_bytes());
        let reasons = findings.iter().map(|finding| finding.no_fix.as_ref());
        let reasons: Vec<_> = reasons.map(|why| why.map(|why| why.reason.name())).collect();
        assert_eq!(reasons, [Some("namespaces")], "{using}");
    }
}

#[test]
fn elements_in_registers_need_no_array() {
    let text = fixed(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n#define N 64\ngroupshared uint g[N];\n\
         [numthreads(N, 1, 1)]\nvoid Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)\n{\n    \
         uint mine = Src[id.x];\n    for (uint s = 1; s < N; s <<= 1)\n    {\n        g[gi] = mine;\n        \
         GroupMemoryBarrierWithGroupSync();\n        if (gi >= s)\n            mine += g[gi - s];\n        \
         GroupMemoryBarrierWithGroupSync();\n    }\n    Out[id.x] = mine;\n}\n",
    );
    assert!(!text.contains("uint g["), "{text}");
    assert_data_eq!(
        kernel_of(&text),
        str![[r#"
(N, 1, 1)]
void Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{
    uint mine = Src[id.x];
    mine = GroupInclusiveSum(mine, gi);
    Out[id.x] = mine;
}

"#]]
    );
}

/// The variable of such a ladder may be all that code behind it reads, though the array holds the result as well.
#[test]
fn a_result_in_a_variable_is_left_there_alone() {
    let scan = |before: &str, behind: &str| {
        let text = format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\ngroupshared uint g[64];\n\
             [numthreads(64, 1, 1)]\nvoid Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)\n{{\n{before}    \
             for (uint s = 1; s < 64; s <<= 1)\n    {{\n        if (gi >= s)\n            mine += g[gi - s];\n        \
             GroupMemoryBarrierWithGroupSync();\n        g[gi] = mine;\n        \
             GroupMemoryBarrierWithGroupSync();\n    }}\n    Out[id.x] = {behind};\n}}\n"
        );
        let text = fixed(&text);
        let body = kernel_of(&text)
            .split_once('{')
            .map_or("", |(_, body)| body)
            .to_owned();
        (text.contains("uint g["), body)
    };
    let (keeps_array, body) = scan(
        "    uint mine = Src[id.x];\n    g[gi] = mine;\n    GroupMemoryBarrierWithGroupSync();\n",
        "mine",
    );
    assert!(!keeps_array);
    assert_data_eq!(
        body,
        str![[r#"

    uint mine = Src[id.x];
    mine = GroupInclusiveSum(mine, gi);
    Out[id.x] = mine;
}

"#]]
    );
    // The elements come by way of the array, from other threads.
    let rotated = "    g[(gi + 1) & 63] = gi == 63 ? 0 : Src[id.x];\n    GroupMemoryBarrierWithGroupSync();\n    \
                   uint mine = g[gi];\n";
    let (keeps_array, body) = scan(rotated, "mine");
    assert!(keeps_array);
    assert_data_eq!(
        body,
        str![[r#"

    g[(gi + 1) & 63] = gi == 63 ? 0 : Src[id.x];
    GroupMemoryBarrierWithGroupSync();
    uint mine = g[gi];
    mine = GroupInclusiveSum(mine, gi);
    Out[id.x] = mine;
}

"#]]
    );
    // Other threads read the array behind the ladder.
    let (keeps_array, body) = scan(rotated, "mine + g[63 - gi]");
    assert!(
        keeps_array && body.contains("    g[gi] = GroupInclusiveSum(g[gi], gi);"),
        "{body}"
    );
}

/// The lanes of a block exchange what they have.
#[test]
fn blocks_are_reduced_by_exchange() {
    let text = fixed(
        "StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\ngroupshared uint g[64];\n\
             [numthreads(64, 1, 1)]\nvoid Sums(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)\n{\n\
             \x20   g[gi] = Src[id.x];\n    GroupMemoryBarrierWithGroupSync();\n\
             \x20   for (uint s = 8; s > 0; s /= 2)\n    {\n        if (gi % 16 < s)\n            g[gi] += g[gi + s];\n\
             \x20       GroupMemoryBarrierWithGroupSync();\n    }\n\
             \x20   if (gi % 16 == 0)\n        Out[id.x / 16] = g[gi];\n}\n",
    );
    assert_data_eq!(
        text,
        str![[r#"
StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;
groupshared uint gWaveTotals[16];

// The sum of the values of each block of 16 threads. Takes waves to hold consecutive threads.
// Two calls need a barrier between them.
uint BlockSum(uint value, uint thread)
{
    uint sum = value;
    uint part = min(WaveGetLaneCount(), 16);
    for (uint stride = 1; stride < part; stride *= 2)
        sum += WaveReadLaneAt(sum, WaveGetLaneIndex() ^ stride);
    if (thread % part == 0)
        gWaveTotals[thread / part] = sum;
    GroupMemoryBarrierWithGroupSync();
    uint first = thread / 16 * (16 / part);
    sum = gWaveTotals[first];
    for (uint next = 1; next < 16 / part; ++next)
        sum += gWaveTotals[first + next];
    return sum;
}

[numthreads(64, 1, 1)]
void Sums(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{
    uint sum = BlockSum(Src[id.x], gi);
    if (gi % 16 == 0)
        Out[id.x / 16] = sum;
}

"#]]
    );
}

/// Where the last thread reads the last element by its number, it reads its own. The variable that tells the half goes
/// with the reads.
#[test]
fn the_last_thread_reads_its_own_element_by_number() {
    let halves = |last: &str| {
        format!(
            "#define N 128\nStructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\nRWStructuredBuffer<uint> Totals;\n\
             groupshared uint g[2 * N];\n[numthreads(N, 1, 1)]\n\
             void Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID)\n{{\n\
             \x20   uint from = 0;\n    uint to = N;\n    g[from + gi] = Src[id.x];\n    GroupMemoryBarrierWithGroupSync();\n\
             \x20   for (uint s = 1; s < N; s <<= 1)\n    {{\n        g[to + gi] = g[from + gi] + (gi >= s ? g[from + gi - s] : 0);\n\
             \x20       GroupMemoryBarrierWithGroupSync();\n        uint other = from;\n        from = to;\n        to = other;\n    }}\n\
             \x20   Out[id.x] = g[from + gi];\n{last}}}\n"
        )
    };
    let text = fixed(&halves(
        "    if (gi == N - 1)\n        Totals[group.x] = g[from + N - 1];\n",
    ));
    assert_data_eq!(
        kernel_of(&text),
        str![[r#"
(N, 1, 1)]
void Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID)
{
    uint sum = GroupInclusiveSum(Src[id.x], gi);
    Out[id.x] = sum;
    if (gi == N - 1)
        Totals[group.x] = sum;
}

"#]]
    );
    // Another thread reads it, and another element.
    for last in [
        "    if (gi == 0)\n        Totals[group.x] = g[from + N - 1];\n",
        "    if (gi == N - 1)\n        Totals[group.x] = g[from + N - 2];\n",
        "    if (gi <= N - 1)\n        Totals[group.x] = g[from + N - 1];\n",
    ] {
        let text = fixed(&halves(last));
        assert!(
            text.contains("groupshared uint g[2 * N];") && text.contains("from = N;"),
            "{text}"
        );
    }
    // With another size, the variable may have another value, which something else uses than the array.
    for other in [
        "    Totals[group.x] = from;\n",
        "    if (from == N)\n        Totals[group.x] = g[from];\n",
    ] {
        let text = halves(other);
        assert_eq!(fixed(&text), text);
    }
    let stride = halves("").replace("for (uint s = 1;", "uint s = 1;\n    for (;");
    let stride = stride.replace("= g[from + gi];\n}", "= g[from + gi] + s;\n}");
    assert!(stride.contains("] + s;"));
    assert_eq!(fixed(&stride), stride);
}

/// HLSL scans the lanes of a wave by `+` and `*` only. By other operators, lanes read each other's results.
#[test]
fn lanes_read_each_other_where_no_intrinsic_scans() {
    let of = |step: &str| fixed(&ladder("", STORE, READ).replace("g[gi] += left", step));
    assert_data_eq!(
        of("g[gi] = max(g[gi], left)"),
        str![[r#"
StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;
groupshared uint gWaveTotals[16];

// The maximum of the values of the threads up to this one. Takes waves to hold consecutive threads.
// Two calls need a barrier between them.
uint GroupInclusiveMax(uint value, uint thread)
{
    uint maximum = value;
    uint wave = thread / WaveGetLaneCount();
    uint lane = WaveGetLaneIndex();
    for (uint stride = 1; stride < WaveGetLaneCount(); stride *= 2)
        maximum = max(maximum, WaveReadLaneAt(maximum, max(lane, stride) - stride));
    if (lane + 1 == WaveGetLaneCount())
        gWaveTotals[wave] = maximum;
    GroupMemoryBarrierWithGroupSync();
    for (uint first = 0; first < wave; first += WaveGetLaneCount())
        maximum = max(maximum, WaveActiveMax(first + lane < wave ? gWaveTotals[first + lane] : 0));
    return maximum;
}

[numthreads(64, 1, 1)]
void Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{
    // What there is.
    uint maximum = GroupInclusiveMax(Src[id.x], gi);

    Out[id.x] = maximum;
}

"#]]
    );
    assert_data_eq!(
        of("g[gi] ^= left"),
        str![[r#"
StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;
groupshared uint gWaveTotals[16];

// The bitwise exclusive or of the values of the threads up to this one. Takes waves to hold consecutive threads.
// Two calls need a barrier between them.
uint GroupInclusiveXor(uint value, uint thread)
{
    uint bits = value;
    uint wave = thread / WaveGetLaneCount();
    uint lane = WaveGetLaneIndex();
    for (uint stride = 1; stride < WaveGetLaneCount(); stride *= 2)
    {
        uint earlier = WaveReadLaneAt(bits, max(lane, stride) - stride);
        if (lane >= stride)
            bits ^= earlier;
    }
    if (lane + 1 == WaveGetLaneCount())
        gWaveTotals[wave] = bits;
    GroupMemoryBarrierWithGroupSync();
    for (uint first = 0; first < wave; first += WaveGetLaneCount())
        bits ^= WaveActiveBitXor(first + lane < wave ? gWaveTotals[first + lane] : 0);
    return bits;
}

[numthreads(64, 1, 1)]
void Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{
    // What there is.
    uint bits = GroupInclusiveXor(Src[id.x], gi);

    Out[id.x] = bits;
}

"#]]
    );
}

/// The same before each element. Lane 0 begins with the identity.
#[test]
fn lanes_read_each_other_before_their_own_elements() {
    let sweeps = fixed(
        "StructuredBuffer<int> Src;\nRWStructuredBuffer<int> Out;\ngroupshared int g[64];\n\
         [numthreads(32, 1, 1)]\nvoid Scan(uint gi : SV_GroupIndex, uint3 group : SV_GroupID)\n{\n\
         \x20   g[2 * gi] = Src[64 * group.x + 2 * gi];\n    g[2 * gi + 1] = Src[64 * group.x + 2 * gi + 1];\n\
         \x20   uint d = 1;\n    for (uint n = 32; n > 0; n >>= 1, d <<= 1)\n    {\n\
         \x20       GroupMemoryBarrierWithGroupSync();\n        if (gi < n)\n\
         \x20           g[d * (2 * gi + 2) - 1] = min(g[d * (2 * gi + 2) - 1], g[d * (2 * gi + 1) - 1]);\n    }\n\
         \x20   if (gi == 0)\n        g[63] = 0x7fffffff;\n\
         \x20   for (uint m = 1; m < 64; m <<= 1)\n    {\n        d >>= 1;\n\
         \x20       GroupMemoryBarrierWithGroupSync();\n        if (gi < m)\n        {\n\
         \x20           int kept = g[d * (2 * gi + 1) - 1];\n\
         \x20           g[d * (2 * gi + 1) - 1] = g[d * (2 * gi + 2) - 1];\n\
         \x20           g[d * (2 * gi + 2) - 1] = min(g[d * (2 * gi + 2) - 1], kept);\n        }\n    }\n\
         \x20   GroupMemoryBarrierWithGroupSync();\n\
         \x20   Out[64 * group.x + 2 * gi] = g[2 * gi];\n    Out[64 * group.x + 2 * gi + 1] = g[2 * gi + 1];\n}\n",
    );
    assert_data_eq!(
        sweeps,
        str![[r#"
StructuredBuffer<int> Src;
RWStructuredBuffer<int> Out;
groupshared int gWaveTotals[8];

// The minimum of the values of the threads before this one. Takes waves to hold consecutive threads.
// Two calls need a barrier between them.
int GroupExclusiveMin(int value, uint thread)
{
    int minimum = WaveReadLaneAt(value, max(WaveGetLaneIndex(), 1) - 1);
    uint wave = thread / WaveGetLaneCount();
    uint lane = WaveGetLaneIndex();
    if (lane == 0)
        minimum = 2147483647;
    for (uint stride = 1; stride < WaveGetLaneCount(); stride *= 2)
        minimum = min(minimum, WaveReadLaneAt(minimum, max(lane, stride) - stride));
    if (lane + 1 == WaveGetLaneCount())
        gWaveTotals[wave] = min(minimum, value);
    GroupMemoryBarrierWithGroupSync();
    for (uint first = 0; first < wave; first += WaveGetLaneCount())
        minimum = min(minimum, WaveActiveMin(first + lane < wave ? gWaveTotals[first + lane] : 2147483647));
    return minimum;
}

[numthreads(32, 1, 1)]
void Scan(uint gi : SV_GroupIndex, uint3 group : SV_GroupID)
{
    int first = Src[64 * group.x + 2 * gi];
    int second = Src[64 * group.x + 2 * gi + 1];
    int minimum = GroupExclusiveMin(min(first, second), gi);
    Out[64 * group.x + 2 * gi] = minimum;
    Out[64 * group.x + 2 * gi + 1] = min(minimum, first);
}

"#]]
    );
}

/// The helper takes the place of the array that goes, where that follows an array that serves for its totals.
#[test]
fn a_helper_stands_behind_its_totals_in_the_place_of_an_array() {
    let text = ladder("", STORE, READ).replace(
        "groupshared uint g[64];\n",
        "groupshared uint WaveTotals[64];\ngroupshared uint g[64];\n",
    );
    let text = fixed(&text.replace("Scan(uint gi", "WaveScan(uint gi"));
    assert!(!text.contains("uint g["), "{text}");
    assert!(
        text.contains("    uint sum = GroupInclusiveSum(Src[id.x], gi);")
            || text.contains("Out[id.x] = GroupInclusiveSum(Src[id.x], gi);"),
        "{text}"
    );
}

/// The total is stored from variables; what the value's macros stand for is what is proved.
#[test]
fn a_total_between_the_sweeps_is_stored_behind_the_call() {
    let text = fixed(
        "StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out, Sums;\n#define N 64\n#define LOAD(i) Src[(i) * 2]\n\
         groupshared uint temp[N];\n[numthreads(N, 1, 1)]\nvoid Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, \
         uint3 group : SV_GroupID)\n{\n    temp[gi] = LOAD(id.x);\n    uint offset = 1;\n    \
         for (uint d = N >> 1; d > 0; d >>= 1)\n    {\n        GroupMemoryBarrierWithGroupSync();\n        if (gi < d)\n            \
         temp[offset * (2 * gi + 2) - 1] += temp[offset * (2 * gi + 1) - 1];\n        offset *= 2;\n    }\n    \
         GroupMemoryBarrierWithGroupSync();\n    if (gi == 0) { Sums[group.x] = temp[N - 1]; temp[N - 1] = 0; }\n    \
         for (uint e = 1; e < N; e *= 2)\n    {\n        offset >>= 1;\n        GroupMemoryBarrierWithGroupSync();\n        \
         if (gi < e)\n        {\n            uint a = offset * (2 * gi + 1) - 1, b = offset * (2 * gi + 2) - 1;\n            \
         uint t = temp[a];\n            temp[a] = temp[b];\n            temp[b] += t;\n        }\n    }\n    \
         GroupMemoryBarrierWithGroupSync();\n    Out[id.x] = temp[gi];\n}\n",
    );
    assert_data_eq!(
        kernel_of(&text),
        str![[r#"
(N, 1, 1)]
void Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID)
{
    uint element = LOAD(id.x);
    uint sum = GroupExclusiveSum(element, gi);
    if (gi == N - 1)
        Sums[group.x] = sum + element;
    Out[id.x] = sum;
}

"#]]
    );
}

/// A value moves only where it is sure to be what it was: a macro, or a type in the function, may change what it names.
#[test]
fn a_value_that_may_be_another_one_stays() {
    let with = |globals: &str, value: &str, between: &str| {
        let store = STORE.replace("Src[id.x]", &format!("Src[id.x] + {value}"));
        let text = fixed(&ladder(globals, &format!("{store}{between}"), READ));
        assert!(text.contains(" = GroupInclusiveSum("), "{text}");
        text.contains(&format!("g[gi] = Src[id.x] + {value};"))
    };
    assert!(!with("#define V 5\n", "V", ""));
    assert!(with("#define V 5\n", "V", "#undef V\n#define V 6\n"));
    assert!(with("", "id.x", "#define id gi.xxx\n"));
    let space = "namespace N { static const uint j = 4; }\n";
    assert!(!with(space, "N::j", ""));
    let function = "uint F() { return 4; }\n";
    assert!(with(
        function,
        "F()",
        "    uint F = 3;\n    Out[id.x + 64] = F;\n"
    ));
}

/// What stands there hides a function that an earlier fix declared.
#[test]
fn a_helper_that_is_hidden_is_not_called() {
    let once = fixed(&ladder("", STORE, READ));
    let (declared, _) = once.split_once("[numthreads").expect("a kernel");
    let declared = declared
        .split_once("groupshared")
        .map_or("", |(_, helper)| helper);
    let declared = format!("groupshared{declared}");
    for (before, head) in [
        (
            "    uint GroupInclusiveSum = 4;\n    Out[id.x + 64] = GroupInclusiveSum;\n",
            "uint gi",
        ),
        ("", "uint3 GroupInclusiveSum : SV_GroupID, uint gi"),
        ("    static const uint GroupInclusiveSum = 4;\n", "uint gi"),
        (
            "    for (uint GroupInclusiveSum = 0; GroupInclusiveSum < 4; ++GroupInclusiveSum) {}\n",
            "uint gi",
        ),
    ] {
        let text = ladder(&declared, &format!("{before}{STORE}"), READ).replace("uint gi", head);
        assert!(
            fixed(&text).contains(" = GroupInclusiveSum2("),
            "{}",
            fixed(&text)
        );
    }
    for hiding in [
        "    typedef uint GroupInclusiveSum;\n",
        "    struct GroupInclusiveSum { uint a; };\n",
        "    enum Kind { GroupInclusiveSum = 4 };\n",
    ] {
        let text = ladder(&declared, &format!("{hiding}{STORE}"), READ);
        assert_eq!(fixed(&text), text);
    }
}

/// The struct whose method has the ladder may have a method of that name.
#[test]
fn a_helper_that_a_method_hides_is_not_called() {
    let once = fixed(&ladder("", STORE, READ));
    let kernel = ladder("", STORE, READ);
    let (_, kernel) = kernel.split_once("void Scan(").expect("a kernel");
    let method = kernel
        .replace(" : SV_GroupIndex", "")
        .replace(" : SV_DispatchThreadID", "");
    let text = format!(
        "{once}groupshared uint k[64];\nstruct Scanner\n{{\n    static uint GroupInclusiveSum(uint a, uint b) {{ return 1; }}\n    uint a;\n    \
         void Scan({}}};\n[numthreads(64, 1, 1)]\nvoid Second(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)\n{{\n    \
         Scanner scanner = (Scanner)0;\n    scanner.Scan(gi, id);\n}}\n",
        method.replace("g[", "k[")
    );
    let fixed = fixed(&text);
    assert!(fixed.contains("GroupInclusiveSum2(Src[id.x], gi)"), "{fixed}");
}

/// The totals that a helper uses count where it is called, though an earlier fix declared them.
#[test]
fn a_helper_is_not_called_where_its_totals_do_not_fit() {
    let large = ladder("", STORE, READ).replace("64", "1024");
    let declared = fixed(&large);
    assert!(declared.contains("gWaveTotals[256]"), "{declared}");
    let small = |words: u32| {
        let kernel = ladder(&format!("groupshared uint h[{words}];\n"), STORE, READ);
        let kernel = kernel
            .replace("Scan(", "Small(")
            .replace("g[gi", "k[gi")
            .replace(" g[64]", " k[64]");
        let (_, kernel) = kernel.split_once("Out;\n").expect("a line");
        format!("{declared}{}", kernel.replace("] = k[gi];", "] = k[gi] + h[0];"))
    };
    assert_eq!(fixed(&small(7000)).matches("GroupInclusiveSum(").count(), 3);
    assert_eq!(fixed(&small(8192 - 64 - 255)), small(8192 - 64 - 255));
}

/// A vector of 16-bit floats is no call with one component.
#[test]
fn identities_of_small_vectors_are_converted() {
    for (ty, cast) in [
        ("half2", "(half2)0.0"),
        ("min16float3", "(min16float3)0.0"),
        ("half", "half(0.0)"),
    ] {
        let text = ladder("", STORE, READ).replace("<uint>", &format!("<{ty}>"));
        let text = text.replace("groupshared uint", &format!("groupshared {ty}"));
        let text = text
            .replace("uint left", &format!("{ty} left"))
            .replace(": 0;", &format!(": ({ty})0;"));
        assert!(fixed(&text).contains(&format!(": {cast})")), "{}", fixed(&text));
    }
}

/// Whatever a name means where the fix stands, no variable of the fix hides it.
#[test]
fn variables_of_a_fix_hide_nothing() {
    let declared = "struct sum { uint a; };\nuint first(uint x) { return x; }\n";
    let used = "\n    sum q;\n    q.a = first(3);\n    Out[id.x + 64] = q.a;\n    Out[id.x] = g[gi];\n";
    let text = fixed(&ladder(declared, STORE, used));
    assert!(text.contains("uint sum2 = GroupInclusiveSum("), "{text}");
    let chosen = "\n    Out[id.x] = g[gi];\n#ifdef MORE\n    Out[id.x] = sum(4);\n#endif\n";
    let text = fixed(&ladder("uint sum(uint x) { return x; }\n", STORE, chosen));
    assert!(text.contains("uint sum2 = GroupInclusiveSum("), "{text}");
}

/// The float sum of a group of rows, whose steps are a function's.
fn rows(function: &str, behind: &str) -> String {
    format!(
        "#define N 64\nBuffer<float> Src;\nRWBuffer<float> Out;\ngroupshared float part[N];\n\n{function}\n\
         [numthreads(1, N, 1)]\nvoid Sum(uint3 t : SV_GroupThreadID, uint3 g : SV_GroupID)\n{{\n    uint i = t.y;\n    \
         part[i] = Src[g.x * N + i];\n    GroupMemoryBarrierWithGroupSync();\n    Reduce(i, 32);\n    Reduce(i, 16);\n    \
         Reduce(i, 8);\n    Reduce(i, 4);\n    Reduce(i, 2);\n    if (i == 0)\n        Out[g.x] = part[0] + part[1];\n{behind}}}\n"
    )
}

const REDUCE: &str = "// One step.\nvoid Reduce(uint i, uint s)\n{\n    if (i < s)\n        part[i] += part[i + s];\n    \
                      GroupMemoryBarrierWithGroupSync();\n}\n";

#[test]
fn one_wave_combines_what_is_in_the_ladders_array() {
    assert_data_eq!(
        fixed(&rows(REDUCE, "")),
        str![[r#"
#define N 64
Buffer<float> Src;
RWBuffer<float> Out;
groupshared float part[N];

// The sum of the values of the group's threads, by the wave of thread 0.
// Two calls need a barrier between them.
float GroupSum(float value, uint thread)
{
    part[thread] = value;
    GroupMemoryBarrierWithGroupSync();
    float sum = 0.0;
    if (WaveActiveAnyTrue(thread == 0))
    {
        uint lanes = WaveActiveCountBits(true);
        for (uint element = WavePrefixCountBits(true); element < N; element += lanes)
            sum += part[element];
        sum = WaveActiveSum(sum);
    }
    GroupMemoryBarrierWithGroupSync();
    if (thread == 0)
        part[0] = sum;
    GroupMemoryBarrierWithGroupSync();
    return part[0];
}

[numthreads(1, N, 1)]
void Sum(uint3 t : SV_GroupThreadID, uint3 g : SV_GroupID)
{
    uint i = t.y;
    float sum = GroupSum(Src[g.x * N + i], i);
    if (i == 0)
        Out[g.x] = sum;
}

"#]]
    );
}

/// Where an `if` chooses what is stored, `?:` chooses what the call is given.
#[test]
fn values_that_a_condition_chooses_are_given() {
    let chosen = |condition: &str, value: &str, other: &str| {
        let before = format!(
            "    if ({condition})\n    {{\n        g[gi] = {value};\n    }}\n    else\n        g[gi] = {other};\n    \
             GroupMemoryBarrierWithGroupSync();\n"
        );
        let text = fixed(&ladder("uint Count;\n", &before, READ));
        assert!(!text.contains("groupshared uint g["), "{text}");
        let call = text
            .split("GroupInclusiveSum(")
            .nth(2)
            .map(|rest| rest.split(", gi)").next());
        call.flatten().map(str::to_owned)
    };
    assert_eq!(
        chosen("id.x < Count", "Src[id.x]", "0").as_deref(),
        Some("id.x < Count ? Src[id.x] : 0")
    );
    assert_eq!(
        chosen("gi < 3 ? Count > 1 : Count > 2", "Src[id.x]", "gi > 1 ? 1 : 2").as_deref(),
        Some("(gi < 3 ? Count > 1 : Count > 2) ? Src[id.x] : (gi > 1 ? 1 : 2)")
    );
    // A vector of one is none that `?:` takes.
    let before = "    uint1 v = Src[id.x];\n    if (v > 3)\n        g[gi] = v;\n    else\n        g[gi] = 4;\n    \
                  GroupMemoryBarrierWithGroupSync();\n";
    assert!(fixed(&ladder("", before, READ)).contains("groupshared uint g["));
    // One that is stored in some threads alone leaves what was there.
    let before = "    if (id.x < 7)\n        g[gi] = Src[id.x];\n    GroupMemoryBarrierWithGroupSync();\n";
    assert!(fixed(&ladder("", before, READ)).contains("groupshared uint g["));
}

#[test]
fn a_function_that_something_else_names_stays() {
    let stays = |text: String| fixed(&text).contains("void Reduce(");
    assert!(!stays(rows(REDUCE, "")));
    let other = "\n[numthreads(N, 1, 1)]\nvoid Other(uint i : SV_GroupIndex)\n{\n    Reduce(i, 4);\n}\n";
    assert!(stays(rows(REDUCE, "") + other));
    // In another build, by a macro, or as another function of its name.
    assert!(stays(rows(REDUCE, "") + &format!("#ifdef OTHER{other}#endif\n")));
    assert!(stays(rows(REDUCE, "") + "#define STEP(s) Reduce(i, s)\n"));
    let joined = "#define JOINED(name) Re##name\n#ifdef OTHER\nvoid Other(uint i)\n{\n    JOINED(duce)(i, 1);\n}\n#endif\n";
    assert!(stays(rows(REDUCE, "") + joined));
    assert!(stays(rows(
        &format!("{REDUCE}void Reduce(float f)\n{{\n}}\n"),
        ""
    )));
    assert!(stays(rows(REDUCE, "    Reduce(i, 1);\n")));
    // As often as it is called, but elsewhere.
    let twice = rows(REDUCE, "").replace(
        "    Reduce(i, 32);\n    Reduce(i, 16);\n",
        "    STEP(32);\n    STEP(16);\n",
    );
    let other = "\n#ifdef OTHER\nvoid Other(uint i)\n{\n    Reduce(i, 4);\n}\n#endif\n";
    assert!(stays(format!("#define STEP(s) Reduce(i, s)\n{twice}{other}")));
    assert!(stays(rows(REDUCE, "") + &other.replace("Reduce", "Red\\\nuce")));
}

#[test]
fn functions_go_that_only_such_functions_call() {
    let add = "void Add(uint i, uint s)\n{\n    part[i] += part[i + s];\n}\n\n";
    let reduce = REDUCE.replace("part[i] += part[i + s]", "Add(i, s)");
    let fixed = fixed(&rows(&format!("{add}{reduce}"), ""));
    assert!(!fixed.contains("Add") && !fixed.contains("One step"), "{fixed}");
}

/// A kernel with a ladder that carries along what belongs to the least key.
fn choice(element: &str, copies: &str) -> String {
    format!(
        "#define BARRIERS\nstruct Best {{ {element} }};\ngroupshared Best b[128];\nStructuredBuffer<Best> Src;\nRWStructuredBuffer<uint2> Out;\n\
         [numthreads(128, 1, 1)]\nvoid Choose(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 g : SV_GroupID)\n{{\n\
         \x20   b[gi] = Src[id.x];\n    GroupMemoryBarrierWithGroupSync();\n{}\
         \x20   if (gi < 1)\n    {{\n        if (b[gi].key > b[gi + 1].key)\n        {{\n{copies}        }}\n\
         \x20       Out[g.x] = uint2(b[gi].key, b[gi].index);\n    }}\n}}\n",
        [64, 32, 16, 8, 4, 2].map(|stride| format!(
            "    if (gi < {stride})\n    {{\n        if (b[gi].key > b[gi + {stride}].key)\n        {{\n{}        }}\n    }}\n\
             #ifdef BARRIERS\n    GroupMemoryBarrierWithGroupSync();\n#endif\n",
            copies.replace("gi + 1", &format!("gi + {stride}"))
        ))
        .concat(),
    )
}

const COPIES: &str = "            b[gi].key = b[gi + 1].key;\n            b[gi].index = b[gi + 1].index;\n";

#[test]
fn what_belongs_to_the_least_is_copied_from_its_thread() {
    assert_data_eq!(
        fixed(&choice("uint key; float other; uint index;", COPIES)),
        str![[r#"
#define BARRIERS
struct Best { uint key; float other; uint index; };
groupshared Best b[128];
groupshared uint bBest[2];
StructuredBuffer<Best> Src;
RWStructuredBuffer<uint2> Out;

// The number of the thread with the least value; of equal ones the first in
// bit-reversed order.
// Two calls need a barrier between them.
uint GroupArgMin(uint value, uint thread)
{
    uint least = WaveActiveMin(value);
    if (thread == 0)
    {
        bBest[0] = 0xffffffff;
        bBest[1] = 0xffffffff;
    }
    GroupMemoryBarrierWithGroupSync();
    if (WaveIsFirstLane())
        InterlockedMin(bBest[0], least);
    GroupMemoryBarrierWithGroupSync();
    uint rank = WaveActiveMin(value == bBest[0] ? reversebits(thread) : 0xffffffff);
    if (WaveIsFirstLane())
        InterlockedMin(bBest[1], rank);
    GroupMemoryBarrierWithGroupSync();
    return reversebits(bBest[1]);
}

[numthreads(128, 1, 1)]
void Choose(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 g : SV_GroupID)
{
    b[gi] = Src[id.x];
    GroupMemoryBarrierWithGroupSync();
    uint best = GroupArgMin(b[gi].key, gi);
    if (gi == 0)
    {
        b[0].key = b[best].key;
        b[0].index = b[best].index;
    }
    if (gi < 1)
    {
        Out[g.x] = uint2(b[gi].key, b[gi].index);
    }
}

"#]]
    );
    // All of an element that is chosen is copied at once.
    let whole = fixed(&choice(
        "uint key; uint index;",
        "            b[gi] = b[gi + 1];\n",
    ));
    assert!(whole.contains("        b[0] = b[best];\n"), "{whole}");
}

/// A kernel with a ladder that finds the greatest float and its number.
const GREATEST: &str = "\
StructuredBuffer<float> Src;
RWStructuredBuffer<uint> Out;
groupshared float score[128];
groupshared uint number[128];

[numthreads(128, 1, 1)]
void Greatest(uint gi : SV_GroupIndex, uint3 group : SV_GroupID)
{
    score[gi] = Src[group.x * 128 + gi];
    number[gi] = gi;
    GroupMemoryBarrierWithGroupSync();
    for (uint stride = 64; stride > 0; stride >>= 1)
    {
        if (gi < stride && score[gi + stride] > score[gi])
        {
            score[gi] = score[gi + stride];
            number[gi] = number[gi + stride];
        }
        GroupMemoryBarrierWithGroupSync();
    }
    if (gi == 0)
    {
        Out[group.x] = number[0];
    }
}
";

/// There is no atomic of floats: the first wave compares the waves' best elements.
#[test]
fn what_belongs_to_the_greatest_float_is_found_by_waves() {
    let waves = fixed(GREATEST);
    for line in [
        "groupshared uint scoreWaveRanks[32];",
        "        float waveGreatest = WaveActiveMax(score[gi]);",
        "        uint waveRank = WaveActiveMin(score[gi] == waveGreatest ? reversebits(gi) : 0xffffffff);",
        "            number[0] = number[best];",
    ] {
        assert!(waves.lines().any(|own| own == line), "{waves}");
    }
    // `uint`s have atomics.
    let atomic = fixed(&GREATEST.replace("float", "uint"));
    assert!(
        atomic.contains("uint best = GroupArgMax(score[gi], gi);"),
        "{atomic}"
    );
    // The greatest of equal scores is another choice, and a threshold is none.
    for (old, new) in [
        ("> score[gi])", ">= score[gi])"),
        ("> score[gi])", "> score[gi] + 1.0)"),
        ("stride > 0;", "stride > 1;"),
    ] {
        let text = GREATEST.replace(old, new);
        assert_eq!(fixed(&text), text);
    }
}

/// A kernel with a ladder over two blocks of one array.
const BLOCKS: &str = "\
#define THREADS 64
StructuredBuffer<float> Src;
RWStructuredBuffer<float> Out;
groupshared float parts[2 * THREADS];

[numthreads(THREADS, 1, 1)]
void Mean(uint gi : SV_GroupIndex, uint3 group : SV_GroupID)
{
    float weight = Src[group.x * THREADS + gi];
    parts[gi] = weight * gi;
    parts[THREADS + gi] = weight;
    GroupMemoryBarrierWithGroupSync();
    for (uint stride = THREADS / 2; stride > 0; stride >>= 1)
    {
        if (gi < stride)
        {
            parts[gi] += parts[gi + stride];
            parts[THREADS + gi] += parts[THREADS + gi + stride];
        }
        GroupMemoryBarrierWithGroupSync();
    }
    if (gi == 0)
    {
        Out[group.x] = parts[0] / parts[THREADS];
    }
}
";

#[test]
fn blocks_of_one_array_are_summed_at_once() {
    let blocks = fixed(BLOCKS);
    for line in [
        "                waveSecond += parts[waveElement + THREADS];",
        "            parts[THREADS] = waveSecond;",
    ] {
        assert!(blocks.lines().any(|own| own == line), "{blocks}");
    }
    // The length does not go with the size.
    let other = BLOCKS.replace("parts[2 * THREADS]", "parts[128]");
    assert_eq!(fixed(&other), other);
    // The blocks overlap.
    let other = BLOCKS
        .replace("THREADS + gi", "32 + gi")
        .replace("parts[THREADS]", "parts[32]");
    let other = fixed(&other);
    assert!(!other.contains("Wave"), "{other}");
}

/// A kernel in which one thread adds up the last vectors.
const VECTORS: &str = "\
StructuredBuffer<float3> Src;
RWStructuredBuffer<float3> Out;
groupshared float3 part[256];

[numthreads(256, 1, 1)]
void Sum(uint gi : SV_GroupIndex, uint3 group : SV_GroupID)
{
    part[gi] = Src[group.x * 256 + gi];
    GroupMemoryBarrierWithGroupSync();
    if (gi < 16)
    {
        float3 own = part[gi];
        for (uint i = 1; i < 16; i++)
        {
            own += part[gi + 16 * i];
        }
        part[gi] = own;
    }
    GroupMemoryBarrierWithGroupSync();
    if (gi == 0)
    {
        float3 total = 0;
        for (uint i = 0; i < 16; i++)
        {
            total += part[i];
        }
        Out[group.x] = total / 256;
    }
}
";

#[test]
fn the_last_step_over_vectors_reads_the_total() {
    let total = fixed(VECTORS);
    assert!(total.contains("float3 total = sum;"), "{total}");
    // Not all components are sums of all elements.
    for (old, new) in [
        ("total += part[i];", "total.xy += part[i].xy;"),
        ("total += part[i];", "total += part[i].xxz;"),
        ("total / 256;", "total / 256 + part[1];"),
    ] {
        let text = VECTORS.replace(old, new);
        assert_eq!(fixed(&text), text);
    }
}

/// A directive goes with the ladder where it leaves nothing out.
#[test]
fn directives_that_leave_code_out_stay() {
    let kernel = choice("uint key; uint index;", COPIES);
    let [barriers, other, pragma] = [
        ("#ifdef BARRIERS\n", "#ifndef SLOW\n"),
        ("#endif\n", "#else\n    DeviceMemoryBarrier();\n#endif\n"),
        (
            "#ifdef BARRIERS\n",
            "#pragma warning(disable: 1)\n#ifdef BARRIERS\n",
        ),
    ]
    .map(|(old, new)| fixed(&kernel.replacen(old, new, 1)));
    assert!(!barriers.contains("#if"), "{barriers}");
    for text in [other, pragma] {
        assert!(!text.contains("GroupArgMin"), "{text}");
    }
    // Another build may have another choice.
    let without = kernel.replace("#ifdef BARRIERS\n", "").replace("#endif\n", "");
    let safeties = [&kernel, &without].map(|text| {
        let findings = lint(text.as_bytes());
        let mut fixes = findings.iter().filter_map(|finding| finding.fix.as_ref());
        fixes.next().map(|fix| fix.safety)
    });
    assert_eq!(safeties, [Some(Safety::Unsafe), Some(Safety::Safe)]);
}

/// What a fix puts in place of parentheses does not run into a macro beside them.
#[test]
fn words_stay_apart() {
    let text = fixed(
        "#define NEG -\n#define END ;\nStructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\ngroupshared uint g[64];\n\
         [numthreads(64, 1, 1)]\nvoid Sum(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID)\n{\n\
         \x20   g[gi] = Src[id.x];\n    GroupMemoryBarrierWithGroupSync();\n    for (uint s = 32; s > 1; s >>= 1)\n    {\n\
         \x20       if (gi < s)\n            g[gi] += g[gi + s];\n        GroupMemoryBarrierWithGroupSync();\n    }\n\
         \x20   if (gi == 0)\n        Out[group.x] = NEG(g[0] + g[1])END\n}\n",
    );
    assert!(text.contains("Out[group.x] = NEG sum END\n"), "{text}");
}

/// What the group's size is called may mean something else where the fix names it: that is what is proved.
#[test]
fn a_size_is_named_where_it_means_the_same() {
    let kernel = "#define N 64
StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;
groupshared uint g[64];
groupshared uint h[64];
[numthreads(N, 1, 1)]
void Extrema(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{
    g[gi] = Src[id.x];
    h[gi] = Src[id.x];
    GroupMemoryBarrierWithGroupSync();
    for (uint s = 32; s > 0; s >>= 1)
    {
        if (gi < s)
        {
            g[gi] = min(g[gi], g[gi + s]);
            h[gi] = max(h[gi], h[gi + s]);
        }
        GroupMemoryBarrierWithGroupSync();
    }
    Out[id.x] = g[0] * 3 + h[0];
}
";
    assert!(fixed(kernel).contains("< N; waveElement"), "{}", fixed(kernel));
    let again = kernel.replace(
        "#define N 64\n",
        "#define N 8\nstatic const uint First = N;\n#undef N\n#define N 64\n",
    );
    assert!(fixed(&again).contains("< N; waveElement"), "{}", fixed(&again));
    let why = |text: &str| {
        let findings = lint(text.as_bytes());
        let reasons = findings
            .iter()
            .map(|finding| finding.no_fix.as_ref().map(|why| why.reason.name()));
        reasons.collect::<Vec<_>>()
    };
    for edits in [
        // The value of `(64, 1, 1)` is its last number.
        [("#define N 64", "#define N 64, 1, 1"), ("(N, 1, 1)", "(N)")],
        [
            ("(N, 1, 1)", "(N,1, 1)"),
            ("{\n    g[gi]", "{\n#undef N\n#define N 5\n    g[gi]"),
        ],
        [
            ("(N, 1, 1)", "(N,1, 1)"),
            ("{\n    g[gi]", "{\n#undef N\n    g[gi]"),
        ],
        [
            ("#define N 64", "#define SIZE 64\n#define N SIZE"),
            ("{\n    g[gi]", "{\n#undef SIZE\n#define SIZE 5\n    g[gi]"),
        ],
    ] {
        let text = edits
            .iter()
            .fold(kernel.to_owned(), |text, (old, new)| text.replacen(old, new, 1));
        assert_eq!(why(&text), [Some("named-size")], "{text}");
    }
    // An `#if` chooses the size before both places: what the kernel's size expands to is what the name means.
    let chosen = "#ifdef BIG\n#define N 128\n#else\n#define N 64\n#endif\n";
    let of_choice = kernel.replace("#define N 64\n", chosen);
    assert!(
        fixed(&of_choice).contains("< N; waveElement"),
        "{}",
        fixed(&of_choice)
    );
    let between = "#ifdef BIG\n#undef N\n#define N 5\n#endif\n";
    for (old, new) in [
        ("{\n    g[gi]", &*format!("{{\n{between}    g[gi]")),
        ("(N, 1, 1)", "(N * 1, 1, 1)"),
        ("void Extrema", &*format!("{between}void Extrema")),
    ] {
        let text = of_choice.replacen(old, new, 1);
        assert_eq!(why(&text), [Some("named-size")], "{text}");
    }
    let in_namespace = kernel
        .replace("#define N 64\n", "static const uint N = 64;\n")
        .replace(
            "    for (uint s",
            "    Q::Ladder(gi);\n    Out[id.x] = g[0] * 3 + h[0];\n}\nEND for (uint s",
        );
    let (before, ladder) = in_namespace.split_once("END").unwrap_or_default();
    let (ladder, _) = ladder.split_once("    Out[").unwrap_or_default();
    for (constant, reason) in [("", None), ("static const uint N = 5;\n", Some("named-size"))] {
        let (globals, kernel) = before.split_once("[numthreads").unwrap_or_default();
        let text = format!(
            "{globals}namespace Q\n{{\n{constant}void Ladder(uint gi)\n{{\n{ladder}}}\n}}\n[numthreads{kernel}"
        );
        assert_eq!(why(&text), [reason], "{text}");
    }
}

/// A constructor takes as many components as there are.
#[test]
fn values_of_another_width_are_cast() {
    for (stored, element, given) in [
        ("uint", "uint2", "(uint2)(Src[id.x]) + (uint2)(Src[id.x + 128])"),
        ("uint4", "uint", "(uint)(Src[id.x]) + (uint)(Src[id.x + 128])"),
        ("uint2", "uint2", "uint2(Src[id.x]) + uint2(Src[id.x + 128])"),
    ] {
        let text = fixed(&format!(
            "StructuredBuffer<{stored}> Src;\nRWStructuredBuffer<{element}> Out;\ngroupshared {element} g[256];\n\
             [numthreads(128, 1, 1)]\nvoid Sum(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID)\n{{\n\
             \x20   g[gi] = Src[id.x];\n    g[gi + 128] = Src[id.x + 128];\n    GroupMemoryBarrierWithGroupSync();\n\
             \x20   for (uint s = 128; s > 0; s >>= 1)\n    {{\n        if (gi < s)\n            g[gi] += g[gi + s];\n\
             \x20       GroupMemoryBarrierWithGroupSync();\n    }}\n    if (gi == 0)\n        Out[group.x] = g[0];\n}}\n"
        ));
        assert!(text.contains(&format!("GroupSum({given}, gi)")), "{text}");
    }
}

/// DXC has groupshared variables in a `cbuffer`, and crashes on an atomic on them.
#[test]
fn groupshared_variables_of_a_buffer_are_not_understood() {
    let text = ladder("", STORE, READ);
    assert!(fixed(&text).contains("WavePrefixSum"), "{text}");
    let array = "groupshared uint g[64];";
    let in_buffer = text.replace(array, &format!("cbuffer C {{ uint q; {array} }}"));
    assert!(lint(in_buffer.as_bytes()).is_empty(), "{in_buffer}");
    // Between macros that no file at hand defines it may stand outside.
    let by_macros = text.replace(array, &format!("CBUFFER_START(C)\nuint q;\n{array}\n"));
    assert!(!lint(by_macros.as_bytes()).is_empty(), "{by_macros}");
}

/// A kernel that sums 64 floats in each pass of a loop. The host chooses the number of passes.
fn batches(helpers: &str, value: &str, steps: &str, total: &str) -> String {
    format!(
        "StructuredBuffer<float> Src;\nRWStructuredBuffer<float> Out;\nuint Count, Width;\ngroupshared float g[64];\n\
         {helpers}[numthreads(64, 1, 1)]\nvoid Sums(uint gi : SV_GroupIndex)\n{{\n    for (uint n = 0; n < Count; ++n)\n    {{\n        \
         float value = {value};\n        GroupMemoryBarrierWithGroupSync();\n        g[gi] = value;\n        \
         GroupMemoryBarrierWithGroupSync();\n{steps}        if (gi == 0)\n        {{\n            float total = {total};\n            Out[n] = total;\n        }}\n    }}\n}}\n"
    )
}

/// Such a kernel with its fix, from the line of its group's size on.
fn one_call_in_each_pass(value: &str) -> String {
    format!(
        "(64, 1, 1)]
void Sums(uint gi : SV_GroupIndex)
{{
    for (uint n = 0; n < Count; ++n)
    {{
        float value = {value};
        GroupMemoryBarrierWithGroupSync();
        g[gi] = value;
        GroupMemoryBarrierWithGroupSync();
        float sum = GroupSum(g[gi], gi);
        if (gi == 0)
            g[0] = sum;
        GroupMemoryBarrierWithGroupSync();
        if (gi == 0)
        {{
            float total = g[0];
            Out[n] = total;
        }}
    }}
}}
"
    )
}

#[test]
fn what_each_pass_of_a_loop_comes_to_is_replaced_in_all() {
    let halve = "void Halve(uint gi, uint s)\n{\n    if (gi < s)\n        g[gi] += g[gi + s];\n    \
                 GroupMemoryBarrierWithGroupSync();\n}\n\n";
    let steps: String = [32, 16, 8, 4, 2]
        .map(|s| format!("        Halve(gi, {s});\n"))
        .concat();
    let text = batches(halve, "Src[n * 64 + gi]", &steps, "g[0] + g[1]");
    assert_eq!(
        kernel_of(&fixed(&text)),
        one_call_in_each_pass("Src[n * 64 + gi]")
    );
}

#[test]
fn a_helper_may_read_a_resource_in_an_arm() {
    let get =
        "float Get(StructuredBuffer<float> from, uint at)\n{\n    return at < Width ? from[at] : 0.0;\n}\n\n";
    let steps = "        for (uint s = 32; s > 0; s >>= 1)\n        {\n            if (gi < s)\n                g[gi] += g[gi + s];\n            \
                 GroupMemoryBarrierWithGroupSync();\n        }\n";
    let value = "gi < Width ? Get(Src, n * 64 + gi) : 0.0";
    assert_eq!(
        kernel_of(&fixed(&batches(get, value, steps, "g[0]"))),
        one_call_in_each_pass(value)
    );
    // Of one that is written to, it is not known whether it is.
    let writes = get
        .replace("{\n    return", "{\n    from[at + 1] = 0.0;\n    return")
        .replace("StructuredBuffer", "RWStructuredBuffer");
    let text = batches(&writes, value, steps, "g[0]").replacen(
        "StructuredBuffer<float> Src",
        "RWStructuredBuffer<float> Src",
        1,
    );
    assert_eq!(fixed(&text), text);
}
