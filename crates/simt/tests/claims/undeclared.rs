//! Types, names, functions and macros of headers that are not there.

use super::{check, claims};

/// A macro of a header that is not there may let one thread stay.
#[test]
fn a_statement_that_is_not_known_may_be_a_return() {
    let claim = "uint s; InterlockedAdd(C[0], 1, s); Out[s] = gi;";
    check("", &format!("RETURN_IF(gi > 0); {claim}"), &[]);
    check("", &format!("ONLY_FIRST; {claim}"), &[]);
    check("", &format!("RETURN_IF(Src[id.x] > 3); {claim}"), &["slot"]);
    check("", &format!("Prepare(gi); {claim}"), &["slot"]);
}

/// Types and names of headers that are not there. What is read of them is data of the thread that read it.
#[test]
fn types_that_are_not_known_hold_data() {
    let globals =
        "RWStructuredBuffer<Particle> P; AppendStructuredBuffer<uint> Dead; RWStructuredBuffer<Light> L;";
    let read = "Particle p = P[id.x];";
    let append = "Dead.Append(id.x);";
    for (body, expected) in [
        (format!("{read} if (p.age > 0) {append}"), &["slot"][..]),
        (
            format!("{read} p.age -= Step; if (p.age <= 0) {append}"),
            &["slot"],
        ),
        (
            format!("{read} p.age = -1; p.v.x += 1; p.n++; if (p.age <= 0) {append}"),
            &["slot"],
        ),
        (format!("{read} if (p.age > Limit) {append}"), &["slot"]),
        (
            format!("Particle q; q.age = Src[id.x]; q.at = 1; if (q.age > 3) {append}"),
            &["slot"],
        ),
        (
            "Light l; l.color = 1; uint s = L.IncrementCounter(); L[s] = l;".to_owned(),
            &["slot"],
        ),
        // Which thread this is was written to it: what is read of it may be just that.
        (
            format!("{read} p.isFirst = gi == 0; if (p.isFirst) {append}"),
            &[],
        ),
        (
            format!("Particle q; q.first = gi; if (q.first == 0) {append}"),
            &[],
        ),
        (format!("{read} if (p.age > gi) {append}"), &["slot"]),
        // What a function made of a thread's number may be whether it is the first.
        (
            "Particle q = Get(id.x); if (q.age > 0) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "Particle q = Get(id.x); if (!IsCulled(q.box)) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "Particle q = Get(id.x); if (!IsCulled(q)) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "float2 q = Get(id.x); if (q.x > 0) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "Particle q = Get(id.x); if (q.x > 0) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "Particle q = Get(gid.x); if (q.leader == gi) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            format!("{read} if (IsBehind(p.planes, g_planes)) {append}"),
            &["slot"],
        ),
        (
            "uint first; IsFirst(gi, first); if (first == 1) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "uint far; IsFar(P[id.x], far); if (far == 1) Dead.Append(id.x);".to_owned(),
            &["slot"],
        ),
        // It need not have written to what it was given.
        ("uint n = Scan(gi, Src[id.x]); if (gi == 63) Dead.Append(n);".to_owned(), &[]),
        ("uint x = gi; float y = Src[id.x]; Turn(x, y); if (x == 0) Dead.Append(id.x);".to_owned(), &[]),
        ("uint x = gi; float y = Src[id.x]; Turn(x, y); if (y > 0) Dead.Append(id.x);".to_owned(), &[]),
        ("uint first; IsFirst(first); if (first == 1) Dead.Append(id.x);".to_owned(), &[]),
        (
            "uint many, size; P.GetDimensions(many, size); if (id.x < many && Src[id.x] > 0) Dead.Append(id.x);".to_owned(),
            &["slot"],
        ),
        ("uint s; InterlockedAdd(C[0], 1, s); Put(P, s + 1, Src[id.x]);".to_owned(), &["slot"]),
        ("uint s; InterlockedAdd(C[0], 1, s); Put(s + 1, Src[id.x]);".to_owned(), &["other"]),
        // Which lane is the first may be what it tells.
        (format!("{read} if (p.IsFirstLane()) {append}"), &[]),
    ] {
        check(globals, &body, expected);
    }
}

/// A name that is not known may tell one thread from the others; data compared with it may be any for each.
#[test]
fn names_that_are_not_known_may_choose_a_thread() {
    let claim = "uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1;";
    for (condition, expected) in [
        ("Src[id.x] > Limit", &["slot"][..]),
        ("Src[2 * id.x] < g_limit && Src[2 * id.x + 1] != MASK", &["slot"]),
        // The other thread's, too.
        ("Src[id.x] < g_limit && Src[id.x + 1] != MASK", &[]),
        ("float(Src[id.x]) >= 2 * g_limit + 1", &["slot"]),
        ("id.x < g_count", &["slot"]),
        ("id.x < constants.counts.x", &["slot"]),
        ("g_count > gi", &["slot"]),
        // A number, perhaps 1.
        ("id.x < COUNT", &[]),
        ("gi == g_leader", &[]),
        ("g_leader", &[]),
        (
            "(Src[id.x] > g_planes[2].x) | (Src[id.x] < c.frustum.planes[3].y)",
            &["slot"],
        ),
        ("LEADER", &[]),
        ("LEADER && Src[id.x] > 3", &[]),
        ("LEADER * Src[id.x] > 3", &[]),
        ("g_scale * Src[id.x] > g_limit", &["slot"]),
        ("(Src[id.x] & g_mask) != 0", &["slot"]),
        ("((Src[id.x] > 3) & g_isLeader) != 0", &[]),
        ("g_first ? Src[id.x] > 3 : false", &[]),
        ("g_scale * Src[0] > g_limit * Src[1]", &[]),
        ("Src[id.x] > 3 == LEADER", &["slot"]),
        ("Src[0] > LEADER", &[]),
        ("Src[gid.x] > g_limit", &["slot"]),
        ("Lead(gi) > Src[id.x]", &["slot"]),
        ("id.x < g_laneCount", &[]),
        ("id.x < Bound()", &[]),
    ] {
        check("", &format!("if ({condition}) {{ {claim} }}"), expected);
    }
    // Where it says which cell it is, that may be another one for each.
    for cell in ["C[g_at]", "C[g_at + 1]", "C[AT + gi]", "C[LANE]"] {
        check(
            "",
            &format!("uint s; InterlockedAdd({cell}, 1, s); Out[s] = 1;"),
            &[],
        );
    }
}

/// "If the index is not uniform it has to be marked": a name alone names one buffer of the heap for all.
#[test]
fn a_name_alone_names_one_of_the_heap() {
    let claim = "uint s; b.InterlockedAdd(0, 1, s); Out[s] = 1;";
    for (index, expected) in [
        ("COUNTER_UAV", &["slot"][..]),
        ("g_counter", &["slot"]),
        ("Pass.counters.counter", &["slot"]),
        ("NonUniformResourceIndex(g_counter)", &[]),
        ("NonUniformResourceIndex(Pass.counter)", &[]),
        ("Counter()", &[]),
        ("Counters().counter", &[]),
        ("Src[id.x]", &[]),
    ] {
        check(
            "",
            &format!("RWByteAddressBuffer b = ResourceDescriptorHeap[{index}]; {claim}"),
            expected,
        );
    }
    for of_own in [
        "Odd own = Own(gi); RWByteAddressBuffer b = ResourceDescriptorHeap[own.counter];",
        // The mark is on the value.
        "Own.at = NonUniformResourceIndex(gi); RWByteAddressBuffer b = ResourceDescriptorHeap[Own.at];",
        "AT = NonUniformResourceIndex(gi); RWByteAddressBuffer b = ResourceDescriptorHeap[AT];",
        "RWByteAddressBuffer b = ResourceDescriptorHeap[perThread.at];",
    ] {
        check("", &format!("{of_own} {claim}"), &[]);
    }
}

/// Of what is chosen by something that may tell threads apart, data stays data if both are.
#[test]
fn what_is_chosen_from_data_is_data() {
    let globals = "RWStructuredBuffer<Particle> P; AppendStructuredBuffer<uint> Dead;";
    let append = "Dead.Append(id.x);";
    for (body, expected) in [
        (
            "Particle p = P[id.x]; if (Flag) { p.age = p.age * 2; }",
            &["slot"][..],
        ),
        ("Particle p = P[id.x]; if (Flag) { p.age = 7; }", &["slot"]),
        ("Particle p = P[id.x]; if (Flag) { p = P[0]; }", &["slot"]),
        (
            "Particle p = P[id.x]; if (Flag && p.n > 10) { p.age = 7; }",
            &["slot"],
        ),
    ] {
        check(globals, &format!("{body} if (p.age > 0) {append}"), expected);
    }
    for (condition, expected) in [
        ("x > 3", &["slot"][..]),
        ("x > 3 || Flag", &["slot"]),
        ("!(x > 3 && Flag)", &["slot"]),
        ("y > 3", &[]),
    ] {
        let body = "uint x = Src[id.x]; uint y = x; if (Flag) x *= 2; if (Flag) y = 4;";
        check(globals, &format!("{body} if ({condition}) {append}"), expected);
    }
}

/// A member that is only read is not written.
#[test]
fn to_read_a_member_changes_nothing() {
    let globals = "RWStructuredBuffer<Particle> P;";
    for (body, expected) in [
        (
            "float4 v = mul(float4(p.v.xyz, 0), g_view); if (p.age > 0 || p.lead)",
            &["slot"][..],
        ),
        // What may have been made of data is data.
        ("float4 v = Get(p.v.xyz, g_view); if (p.age > 0)", &["slot"]),
    ] {
        let body =
            format!("Particle p = P[id.x]; {body} {{ uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1; }}");
        check(globals, &body, expected);
    }
}

/// Whatever a type, a macro or a function that is not known makes of a thread's number may tell it from the others, also
/// where there is data beside it.
#[test]
fn what_is_made_of_a_thread_s_number_is_no_data() {
    let globals = "RWStructuredBuffer<Item> Items;";
    for condition in [
        "if (LIKELY(gi == 0))",
        "if (LIKELY(gi == 0 && Src[id.x] > 3))",
        "bool_t lead = gi == 0; if (lead)",
        "bool_t lead = gi == 0; if (lead && Src[id.x] > 3)",
        "u32 m = 7; if (gi != 0) m = 0; if (m != 0)",
        "u32 m = 0; if (gi == 0) m = Src[id.x]; if (m > 0)",
        "float_t w = gi == 0 ? 1 : 0; if (w > 0)",
        "Item it = (Item)0; if (gi == 0) it = Items[gid.x]; if (it.valid)",
        "Item it = Items[id.x]; it.valid = false; if (gi == 0) it.valid = true; if (it.valid)",
        "u32 p = (Src[id.x] << BITS) | gi; if ((p & MASK) == 0)",
        "u32 key = (Src[id.x] << 5) | gi; if ((key & 31) == 0)",
        "u32 m = Src[id.x]; m *= (gi == 0); if (m != 0)",
        "mybool d = Src[id.x] > 0; d = d & (gi == 0); if (d)",
        "vec2u v = uint2(gi, Src[id.x]); if (v.x == 0)",
        "bool d = Src[id.x] > 0; if (And(d, gi == 0))",
        "Item it = Items[id.x]; if (KeepIf(it, gi == 0))",
        "Item it = Items[id.x]; it.Init(gi); if (it.index == 0)",
        "Item it = Items[gid.x]; if (it.IsOwner(gi))",
        "Item it = Items[gid.x]; if (IsOwner(it, gi))",
        "Item it = Items[gid.x]; bool f; Pick(it, gi, f); if (f)",
        "ThreadInfo t = GetThreadInfo(id, gi); if (t.isMain)",
        "ThreadInfo t; InitThreadInfo(t, gi); if (t.index == 0)",
        "if (gi >= kEnd)",
        "if (gi >= g_lastThread)",
        "Item it = Items[id.x]; if (ELECT(it.key))",
        "Item it = Items[id.x]; uint f; ElectFirst(it, f); if (f)",
    ] {
        check(
            globals,
            &format!("{condition} {{ uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1; }}"),
            &[],
        );
    }
}

/// Methods of what a constant buffer holds, template arguments told by a struct's, and macros nobody defines.
#[test]
fn what_is_read_of_real_shaders_is_followed() {
    let globals = "struct Camera { float4 p; float Eye(float d) { return p.x / (d + p.y); } };
        ConstantBuffer<Camera> camera; StructuredBuffer<float> D;
        template<typename T> struct Buf { uint slot; };
        struct P { Buf<uint> counter; };
        ConstantBuffer<P> p;
        template<typename T> void Claim(Buf<T> b, uint i, uint v, out uint s)
        { RWStructuredBuffer<T> c = ResourceDescriptorHeap[b.slot]; InterlockedAdd(c[i], v, s); }
        struct Counters { PADDED uint live; uint dead; };
        RWStructuredBuffer<Counters> Both;";
    for body in [
        "uint s; if (D[id.x] > camera.Eye(0)) { InterlockedAdd(C[0], 1, s); Out[s] = 1; }",
        "uint s; for (uint i = gi; i < n; i += 64) if (D[i] > camera.Eye(0)) { InterlockedAdd(C[0], 1, s); Out[s] = i; }",
        "uint s; Claim(p.counter, 0, 1, s); Out[s] = 1;",
        "uint s; InterlockedAdd(Both[0].live, 1, s); Out[s] = 1;",
    ] {
        check(globals, body, &["slot"]);
    }
}

/// What is on the device or groupshared is one for all threads, whatever header declares it. What it is supposed of is told.
#[test]
fn memory_that_no_file_declares_is_supposed_to_be_one() {
    let supposed = |body: &str| {
        let found = claims("", body);
        let names = found
            .iter()
            .map(|claim| claim.supposed.iter().cloned().collect::<Vec<_>>().join(" "));
        names.collect::<Vec<_>>()
    };
    for (atomic, names) in [
        ("InterlockedAdd(g_dead[0], 1, s)", "g_dead"),
        ("InterlockedAdd(g_dead, 1, s)", "g_dead"),
        ("InterlockedAdd(g_args[COUNT].x, 1, s)", "COUNT g_args"),
        (
            "InterlockedAdd(g_args[Counter::Alive], 1, s)",
            "Counter::Alive g_args",
        ),
        ("InterlockedAdd(C[AT], 1, s)", "AT"),
        ("InterlockedAdd(C[kAlive + n], 1, s)", "kAlive"),
        ("g_raw.InterlockedAdd(16, 1, s)", "g_raw"),
        ("g_raw.InterlockedAdd(OFFSET, 1, s)", "OFFSET g_raw"),
        ("s = g_list.IncrementCounter()", "g_list"),
        ("C.GetDimensions(s, s); g_list.Append(s)", "g_list"),
    ] {
        assert_eq!(
            supposed(&format!("uint s; {atomic}; Out[s] = gi;")),
            [names],
            "{atomic}"
        );
    }
    for atomic in [
        // An address that may be another for each thread: by what is known, or a `static` variable of a header.
        "InterlockedAdd(g_dead[gi], 1, s)",
        "InterlockedAdd(g_dead[Src[gi]], 1, s)",
        "InterlockedAdd(g_dead[slot], 1, s)",
        "InterlockedAdd(C[slot], 1, s)",
        "InterlockedAdd(g_dead[Pick(gi)], 1, s)",
        "InterlockedAdd(g_dead[Pick(COUNT)], 1, s)",
        "InterlockedAdd(Pick(0), 1, s)",
        "InterlockedAdd(Pick(0)[0], 1, s)",
        "g_raw.InterlockedAdd(gi, 1, s)",
        // Named for one thread, or perhaps declared where a declaration was not read.
        "InterlockedAdd(g_perThread[0], 1, s)",
        "InterlockedAdd(C[LANE], 1, s)",
        "InterlockedAdd(C[THREAD_ID], 1, s)",
        "RWBuffer<Odd<3>>> mine = Many[gi]; InterlockedAdd(mine[0], 1, s)",
        // One thread of a wave.
        "if (WaveIsFirstLane()) InterlockedAdd(g_dead[0], 1, s)",
        "if (gi == 0) InterlockedAdd(g_dead[0], 1, s)",
    ] {
        assert_eq!(
            supposed(&format!("uint s; {atomic}; Out[s] = gi;")),
            [""; 0],
            "{atomic}"
        );
    }
    // Given to a macro, or by its name, or something that is another method than that of a buffer.
    for body in [
        "AT = gi; InterlockedAdd(C[AT], 1, s)",
        "AT += gi; InterlockedAdd(C[AT], 1, s)",
        "++AT; InterlockedAdd(C[AT], 1, s)",
        "g_d.buf = Many[gi]; g_d.buf.Append(3)",
        "Odd<Pair<uint>> a, mine = Bufs(gi); InterlockedAdd(mine[0], 1, s)",
        "LEADER_ONLY(g_list.Append(gi))",
        "FIRST(InterlockedAdd(g_dead[0], 1, s))",
        "g_list.Append(gi, 3, s)",
        "g_list.Append()",
        "g_list.Consume(gi)",
        "g_list.IncrementCounter(gi)",
        "g_raw.InterlockedAdd(0)",
        "g_raw.InterlockedAdd(0, 1, s, s)",
    ] {
        assert_eq!(
            supposed(&format!("uint s; {body}; Out[s] = gi;")),
            [""; 0],
            "{body}"
        );
    }
    for body in [
        "LEADER_ONLY(InterlockedAdd(C[0], 1))",
        "ONCE(gi, InterlockedAdd(C[0], 1, s))",
    ] {
        check("", &format!("uint s; {body};"), &[]);
    }
    // What such a method is given may be something else afterwards.
    for call in [
        "g_q.Append(k)",
        "g_q.Append(gi, k)",
        "g_q.InterlockedAdd(k, 1, s)",
        "g_q.InterlockedAdd(0, 1, s, k)",
    ] {
        let own = format!("uint s; uint k = 3; {call}; InterlockedAdd(C[k], 1, s); Out[s] = 1;");
        let found = claims("", &own);
        assert!(found.iter().all(|claim| !claim.supposed.is_empty()), "{call}");
    }
    for condition in [
        "g_isLeader[gi]",
        "kOneHot[gi]",
        "g_firstOf[gi] == 1",
        "gi < min(g_n, 1)",
        "gi < clamp(g_n, 0, 1)",
        "gi < (g_n & 1)",
        "g_tmp[gi] == 0",
    ] {
        let body = format!(
            "g_tmp[gi] = gi; if ({condition}) {{ uint s; InterlockedAdd(C[0], 1, s); Out[s] = gi; }}"
        );
        check("", &body, &[]);
    }
    // An element of it is data, of a type of its own, and a store to it is a store.
    check(
        "",
        "Odd one = g_ones[id.x]; one.age -= g_step; if (one.age > 0) { uint s; InterlockedAdd(g_dead[0], 1, s); g_dead[s] = gi; }",
        &["slot"],
    );
    check(
        "",
        "if (gi == 0) cell = g_dead[0]; GroupMemoryBarrierWithGroupSync();
         if (id.x < cell) { uint s; InterlockedAdd(g_dead[0], -1, s); Out[s] = gi; }",
        &["slot"],
    );
    check(
        "",
        "if (g_ones[0] > 3) { uint s; InterlockedAdd(C[0], 1, s); Out[s] = gi; }",
        &["slot"],
    );
}

/// Each call once, however many stand around it.
#[test]
fn calls_within_calls_are_looked_at_once() {
    let nested = (0..200).fold("0".to_owned(), |inner, _| format!("g_a.Foo({inner})"));
    check("", &format!("{nested}; InterlockedAdd(C[0], 1);"), &["sum"]);
}
