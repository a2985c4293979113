//! Mutants of ladders of lane reads: whatever the engine calls a scan or a reduction of a wave is one, at every size.

use std::collections::BTreeSet;

use shaderlint_hlsl::{FunctionId, Shader};
use shaderlint_simt::{Elements, Holders, Kind, WAVE_SIZES, WaveLadder, analyze};

use crate::claim::fold;
use crate::edits::{self, Edit};
use crate::group::{End, Group, Order, Random};
use crate::program::{self, Mark, Program};

/// Statements on `x`; N is the bound.
const LADDERS: [&str; 12] = [
    "for (uint s = 1; s < N; s <<= 1) { uint t = WaveReadLaneAt(x, lane - s); if (lane >= s) x += t; }",
    "for (uint s = 1; s < N; s *= 2) { uint t = WaveReadLaneAt(x, lane - s); x = lane < s ? x : x + t; }",
    "uint s = 1; while (s <= N / 2) { uint t = WaveReadLaneAt(x, lane - s); if (lane >= s) { x *= t; } s += s; }",
    "for (uint s = 1; s < N; s <<= 1) { uint t = WaveReadLaneAt(x, lane - s); if (lane >= s) x = max(x, t); }",
    "for (uint s = 1; s < N; s <<= 1) { uint t = WaveReadLaneAt(x, lane + s); if (lane + s < N) x += t; }",
    "for (uint s = 1; s < N; s <<= 1) { x += WaveReadLaneAt(x, lane ^ s); }",
    "for (uint s = N / 2; s > 0; s >>= 1) { x = min(x, WaveReadLaneAt(x, lane ^ s)); }",
    "for (uint s = N / 2; s > 0; s >>= 1) { x ^= WaveReadLaneAt(x, lane + s); }",
    "uint own = x; for (uint s = 1; s < N; s <<= 1) { uint t = WaveReadLaneAt(x, lane - s); if (lane >= s) x += t; } x -= own;",
    "for (uint s = 1; s < N; s <<= 1) { uint t = WaveReadLaneAt(x, lane - s); if (lane >= s) x += t; } uint e = WaveReadLaneAt(x, lane - 1); x = lane == 0 ? 0 : e;",
    "uint own = x; x = 0; for (uint s = 0; s < N; ++s) { x += WaveReadLaneAt(own, s); }",
    "uint t; t = WaveReadLaneAt(x, lane - 1); if (lane >= 1) x += t; t = WaveReadLaneAt(x, lane - 2); if (lane >= 2) x += t; t = WaveReadLaneAt(x, lane - 4); if (lane >= 4) x += t;",
];

/// Attributes, threads and bound.
const FRAMES: [(&str, u32, &str); 4] = [
    ("[WaveSize(8)]", 16, "8"),
    ("[WaveSize(4, 16)]", 32, "WaveGetLaneCount()"),
    ("", 24, "WaveGetLaneCount()"),
    ("[WaveSize(8, 16)]", 8, "8"),
];

fn kernels() -> impl Iterator<Item = String> {
    FRAMES.iter().flat_map(|(attributes, threads, bound)| {
        LADDERS.iter().map(move |ladder| {
            let body = ladder.replace(" N", &format!(" {bound}"));
            format!(
                "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n{attributes}[numthreads({threads}, 1, 1)]\n\
                 void main(uint gi : SV_GroupIndex) {{\n    uint lane = WaveGetLaneIndex();\n    uint x = Src[gi];\n    \
                 {body}\n    Out[gi] = x;\n}}\n"
            )
        })
    })
}

/// What is wrong with the claim, if anything; `Ok(false)` where not all threads get there.
fn check(shader: &Shader, program: &Program, claim: &WaveLadder) -> Result<bool, String> {
    // The judge evaluates one arm of `?:`.
    if claim.needs_both_arms {
        return Ok(false);
    }
    let mark = |at: u32, is_end: bool| {
        let wanted = Mark {
            function: claim.function,
            at,
            is_end,
        };
        let found = if is_end {
            program.marks.iter().rposition(|mark| *mark == wanted)
        } else {
            program.marks.iter().position(|mark| *mark == wanted)
        };
        found.map(|number| number as u32).ok_or("no such statement")
    };
    let (start, end) = (mark(claim.span.start, false)?, mark(claim.span.end, true)?);
    let slot = |place: &Elements| match place {
        Elements::Register { local, component } => {
            let (first, _) = program.locals.get(&(claim.function, *local))?;
            Some(first + u32::from(component.unwrap_or(0)))
        }
        _ => None,
    };
    let (input, output) = (
        slot(&claim.input).ok_or("no input")?,
        slot(&claim.output).ok_or("no output")?,
    );
    let (least, most) = shader.functions[claim.function.0 as usize]
        .wave_size
        .unwrap_or((4, 128));
    let mut reached = false;
    for size in WAVE_SIZES
        .into_iter()
        .filter(|size| (least..=most).contains(size))
    {
        for nonce in 1..=4 {
            let mut group = Group::new(program, 1 + nonce % 3, Order::Fine, nonce);
            group.wave = size;
            if group.run(Some(start)) != End::AtMark {
                continue;
            }
            if !claim.sizes.contains(&size) {
                return Err(format!("it runs in waves of {size}"));
            }
            let before = group.slots(input);
            match group.run(Some(end)) {
                End::AtMark => {}
                other => return Err(format!("{other:?} inside it, in waves of {size}")),
            }
            reached = true;
            let after = group.slots(output);
            for (before, after) in before.chunks(size as usize).zip(after.chunks(size as usize)) {
                holds(claim, before, after).map_err(|what| format!("in waves of {size}: {what}"))?;
            }
        }
    }
    Ok(reached)
}

fn holds(claim: &WaveLadder, input: &[u32], output: &[u32]) -> Result<(), String> {
    for (lane, got) in output.iter().enumerate() {
        let part = match (claim.kind, claim.reversed) {
            (Kind::Reduction, _) if claim.holders == Holders::FirstLane && lane > 0 => continue,
            (Kind::Reduction, _) => input,
            (Kind::InclusiveScan, false) => &input[..=lane],
            (Kind::InclusiveScan, true) => &input[lane..],
            (Kind::ExclusiveScan, false) => &input[..lane],
            (Kind::ExclusiveScan, true) => &input[lane + 1..],
        };
        let identity = claim.operator.identity();
        let expected = part.iter().fold(identity, |a, b| fold(claim.operator, a, *b));
        if *got != expected {
            return Err(format!(
                "of {input:x?} it makes {output:x?}; lane {lane} is {expected:x}"
            ));
        }
    }
    Ok(())
}

/// All single edits, and as many pairs.
fn mutants(text: &str) -> Vec<Vec<Edit>> {
    let mut single: Vec<Edit> = Vec::new();
    for edit in edits::edits(&crate::parse(text)) {
        if !single.contains(&edit) {
            single.push(edit);
        }
    }
    let mut random = Random::new(text.len() as u64);
    let mut all: Vec<Vec<Edit>> = single.iter().map(|edit| vec![edit.clone()]).collect();
    for _ in 0..single.len() {
        let pair =
            [random.below(single.len()), random.below(single.len())].map(|index| single[index].clone());
        let (first, second) = (pair[0].span, pair[1].span);
        if first.end < second.start || second.end < first.start {
            all.push(pair.to_vec());
        }
    }
    all
}

#[test]
fn whatever_is_called_a_ladder_of_lane_reads_is_one() {
    let (mut count, mut claims, mut unreached) = (0, 0, 0);
    let mut found_in: BTreeSet<usize> = BTreeSet::new();
    let mut judge = |number: usize, text: &str| {
        let shader = crate::parse(text);
        let entry = FunctionId(0);
        let Ok(program) = program::compile(&shader, entry) else {
            return;
        };
        count += 1;
        if Group::new(&program, 1, Order::InTurn, 1).run(None) == End::TooLong {
            return;
        }
        for claim in analyze(&shader, entry).wave_ladders {
            claims += 1;
            found_in.insert(number);
            match check(&shader, &program, &claim) {
                Ok(true) => {}
                Ok(false) => unreached += 1,
                Err(what) => panic!("{claim:?}\n{what}\n{text}"),
            }
        }
    };
    for (number, text) in kernels().enumerate() {
        judge(number, &text);
        for edits in mutants(&text) {
            judge(number, &edits::apply(&text, &edits.iter().collect::<Vec<_>>()));
        }
    }
    eprintln!(
        "{count} kernels, {claims} claims, {unreached} not reached, ladders in {} texts",
        found_in.len()
    );
    assert!(found_in.len() >= 30 && claims >= 500, "{claims}");
}
