//! What a collective claims, and whether running the group bears it out.
//!
//! The claim: when the construct's statements begin, the input place holds the elements; when they have ended, whatever
//! the order in which the threads took their turns, the output place holds their scan or their total.

use std::collections::BTreeSet;

use shaderlint_hlsl::{GlobalId, Shader, Type};
use shaderlint_simt::{Collective, Elements, Kind, Operator};

use crate::SEEDS;
use crate::group::{End, Group, Order};
use crate::program::{Mark, Program};
use crate::tile;

/// The orders a claim is tried under. The first must end as the others do.
pub const ORDERS: [Order; 6] = [
    Order::InTurn,
    Order::Shuffled,
    Order::Shuffled,
    Order::Fine,
    Order::Fine,
    Order::Fine,
];

/// What is wrong with the claim, if anything. `Ok(false)` where the construct is never reached in the steps there are.
pub fn check(shader: &Shader, program: &Program, claim: &Collective, may_part: bool) -> Result<bool, String> {
    // Of bounds that are not known the claim names those it is made for; columns are counted in a way of their own.
    let is_along_rows = |place: &Elements| match place {
        Elements::Array { axis, .. } | Elements::Cell { axis, .. } => *axis == 0,
        _ => true,
    };
    if !claim.instances.is_empty() || !is_along_rows(&claim.input) || !is_along_rows(&claim.output) {
        return Ok(false);
    }
    let mark = |at: u32, is_end: bool| {
        let wanted = Mark {
            function: claim.function,
            at,
            is_end,
        };
        // Of statements that start at one place the outermost is entered first; of those that end there it is left last.
        let found = if is_end {
            program.marks.iter().rposition(|mark| *mark == wanted)
        } else {
            program.marks.iter().position(|mark| *mark == wanted)
        };
        found
            .map(|number| number as u32)
            .ok_or(format!("no statement at {at}"))
    };
    let (start, end) = (mark(claim.span.start, false)?, mark(claim.span.end, true)?);
    let mut reached = false;
    let mut snapshots: Vec<[Vec<Vec<u32>>; 2]> = Vec::new();
    for seed in 1..=SEEDS {
        if claim.operator == Operator::FloatMul && seed % 2 == 1 {
            continue;
        }
        let mut results: Vec<(Vec<u32>, Vec<u32>)> = Vec::new();
        for (nonce, order) in (1..).zip(ORDERS) {
            let mut group = Group::new(program, seed, order, nonce);
            match group.run(Some(start)) {
                End::AtMark => {}
                End::TooLong | End::Finished => continue,
                // A barrier that some threads do not reach is said to be one; with these inputs nothing is claimed.
                End::Apart | End::OthersLeft if may_part => continue,
                End::Apart | End::OthersLeft => return Err(format!("threads part before it ({order:?})")),
            }
            // As often as it runs.
            for _ in 0..3 {
                let before = tile::rows(shader, program, claim, &group);
                let input = elements(shader, program, claim, false, &group);
                let (raced, left) = (group.raced, group.left_bounds);
                group.raced = false;
                group.raced_in.clear();
                match group.run(Some(end)) {
                    End::AtMark => {}
                    End::OthersLeft if is_of_one(&claim.output) => {}
                    End::TooLong => break,
                    end => return Err(format!("{end:?} inside it ({order:?})")),
                }
                if group.raced || claim.tiles.iter().any(|of| group.raced_in.contains(&of.resource)) {
                    return Err(format!("a race ({order:?}, inputs {seed})"));
                }
                if group.left_bounds && !left {
                    return Err(format!("out of bounds ({order:?}, inputs {seed})"));
                }
                group.raced = raced;
                reached = true;
                if let Some(input) = input {
                    let output = elements(shader, program, claim, true, &group).ok_or("no output")?;
                    holds(claim, &input, &output)
                        .map_err(|what| format!("{what} ({order:?}, inputs {seed})"))?;
                    results.push((input, output));
                } else {
                    snapshots.push([before, tile::rows(shader, program, claim, &group)]);
                }
                if group.run(Some(start)) != End::AtMark {
                    break;
                }
            }
        }
        // The threads do not wait for each other where the construct begins, unless it says so.
        let same_inputs = results.windows(2).all(|pair| pair[0].0 == pair[1].0);
        if let Some((_, expected)) = results.first().filter(|_| same_inputs) {
            for nonce in 1..=4 {
                let mut group = Group::new(program, seed, Order::Fine, 100 + nonce);
                match group.run(Some(end)) {
                    End::AtMark => {}
                    End::OthersLeft if is_of_one(&claim.output) => {}
                    _ => continue,
                }
                let output = elements(shader, program, claim, true, &group).ok_or("no output")?;
                if output != *expected {
                    return Err(format!("another result when threads do not wait (inputs {seed})"));
                }
            }
        }
    }
    if !snapshots.is_empty() {
        spread(program, claim, &snapshots)?;
    }
    tile::keep_apart(program, claim)?;
    Ok(reached)
}

/// What the elements of the claim's input or output hold; `None` where the claim leaves open which they are.
fn elements(
    shader: &Shader,
    program: &Program,
    claim: &Collective,
    is_output: bool,
    group: &Group<'_>,
) -> Option<Vec<u32>> {
    // The two may be one place.
    let place = if is_output { &claim.output } else { &claim.input };
    let shared = |global: &GlobalId| {
        let position = program.shared.iter().position(|(known, _)| known == global);
        position.map(|position| &group.shared[position])
    };
    let of_tile = |global: &GlobalId, rank: u32, component: Option<u8>| {
        tile::word(
            program,
            claim,
            group,
            *global,
            rank,
            u32::from(component.unwrap_or(0)),
        )
    };
    // Elements are counted along the `axis`th dimension from the innermost first.
    let cell = |global: &GlobalId, rank: usize, component: Option<u8>, axis: u8| {
        let mut ty = &shader.globals[global.0 as usize].ty;
        let mut lengths = Vec::new();
        while let Type::Array(element, length) = ty {
            lengths.insert(0, *length as usize);
            ty = element;
        }
        // A variable that is no array is one element.
        lengths.push(1);
        let inner: usize = lengths[..usize::from(axis)].iter().product();
        let length = lengths[usize::from(axis)];
        let (row, along) = (rank / length, rank % length);
        let element = (row / inner * length + along) * inner + row % inner;
        element * shader.components(ty) + usize::from(component.unwrap_or(0))
    };
    let is_total = claim.kind == Kind::Reduction && is_output;
    let count = if is_total { 1 } else { claim.count as usize };
    match place {
        Elements::Array {
            global,
            offset,
            component,
            axis,
        } => {
            let Some(cells) = shared(global) else {
                let ranks = (*offset..).take(count);
                return ranks.map(|rank| of_tile(global, rank, *component)).collect();
            };
            let ranks = (*offset as usize..).take(count);
            ranks
                .map(|rank| cells.get(cell(global, rank, *component, *axis)).copied())
                .collect()
        }
        Elements::Cell {
            global,
            index,
            component,
            axis,
        } => {
            let Some(cells) = shared(global) else {
                return Some(vec![of_tile(global, *index, *component)?]);
            };
            let cell = cell(global, *index as usize, *component, *axis);
            Some(vec![*cells.get(cell)?])
        }
        Elements::Register { local, component } => {
            let (first, _) = program.locals.get(&(claim.function, *local))?;
            let values = group.slots(*first + u32::from(component.unwrap_or(0)));
            let is_one = !is_total || values.iter().all(|value| *value == values[0]);
            is_one.then(|| values.into_iter().take(count).collect())
        }
        Elements::OneRegister {
            local,
            component,
            thread,
        } => {
            let (first, _) = program.locals.get(&(claim.function, *local))?;
            let values = group.slots(*first + u32::from(component.unwrap_or(0)));
            Some(vec![values[*thread as usize]])
        }
        Elements::Expression {
            span,
            component,
            thread,
        } => {
            let slots = program.values.get(&(span.start, span.end))?;
            let slot = slots.get(usize::from(component.unwrap_or(0)))?;
            Some(vec![group.slots(*slot)[*thread as usize]])
        }
        Elements::Spread { .. } => None,
    }
}

/// Whether it is one thread that holds the total: the others need not be there any more.
fn is_of_one(output: &Elements) -> bool {
    matches!(output, Elements::OneRegister { .. } | Elements::Expression { .. })
}

pub fn fold(operator: Operator, a: u32, b: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    match operator {
        Operator::Add => a.wrapping_add(b),
        Operator::Mul => a.wrapping_mul(b),
        Operator::FloatAdd => (x + y).to_bits(),
        Operator::FloatMul => (x * y).to_bits(),
        Operator::MinUint => a.min(b),
        Operator::MaxUint => a.max(b),
        Operator::MinInt => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
        Operator::MaxInt => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
        Operator::MinFloat => x.min(y).to_bits(),
        Operator::MaxFloat => x.max(y).to_bits(),
        Operator::And => a & b,
        Operator::Or => a | b,
        Operator::Xor => a ^ b,
    }
}

/// What the specification says the output holds.
fn expected(claim: &Collective, input: &[u32]) -> Vec<u32> {
    let operator = claim.operator;
    let total = |words: &[u32]| {
        words
            .iter()
            .fold(operator.identity(), |a, b| fold(operator, a, *b))
    };
    if claim.kind == Kind::Reduction {
        return vec![total(input)];
    }
    let segment = claim.segment as usize;
    let one = |index: usize| {
        let start = index / segment * segment;
        let end = (start + segment).min(input.len());
        let own = usize::from(claim.kind == Kind::InclusiveScan);
        if claim.reversed {
            total(&input[index + 1 - own..end])
        } else {
            total(&input[start..index + own])
        }
    };
    (0..input.len()).map(one).collect()
}

fn holds(claim: &Collective, input: &[u32], output: &[u32]) -> Result<(), String> {
    let expected = expected(claim, input);
    let is_float = claim.element.is_float();
    // Of a zero only the sign may differ.
    let same = |(a, b): (&u32, &u32)| a == b || (is_float && (a | b) << 1 == 0);
    let fits = match claim.kind {
        Kind::Reduction => output.first().is_some_and(|word| same((&expected[0], word))),
        _ => output.len() == expected.len() && expected.iter().zip(output).all(same),
    };
    if input.len() == claim.count as usize && fits {
        return Ok(());
    }
    Err(format!("of {input:x?} it makes {output:x?}, not {expected:x?}"))
}

/// A scan in a row with gaps: there must be places for it.
fn spread(program: &Program, claim: &Collective, snapshots: &[[Vec<Vec<u32>>; 2]]) -> Result<(), String> {
    let (Elements::Spread { global: from, .. }, Elements::Spread { global: to, .. }) =
        (&claim.input, &claim.output)
    else {
        return Err("only one of its places is spread".into());
    };
    let position = |global: &GlobalId| tile::row_of(program, claim, *global);
    let (from, to) = (position(from).ok_or("no array")?, position(to).ok_or("no array")?);
    // Padding keeps what it held, whatever that is; the first element of an inclusive scan keeps it too.
    let changed: BTreeSet<usize> = snapshots
        .iter()
        .flat_map(|[before, after]| {
            let pairs = before[to].iter().zip(&after[to]).enumerate();
            pairs.filter(|(_, (a, b))| a != b).map(|(index, _)| index)
        })
        .collect();
    let length = snapshots[0][0][to].len();
    let still = (0..length).filter(|index| !changed.contains(index));
    let candidates = std::iter::once(None).chain(still.map(Some)).map(|first| {
        let mut places = changed.clone();
        places.extend(first);
        Vec::from_iter(places)
    });
    let fits = |places: &[usize]| {
        snapshots.iter().all(|[before, after]| {
            let input: Vec<u32> = places.iter().map(|place| before[from][*place]).collect();
            let output: Vec<u32> = places.iter().map(|place| after[to][*place]).collect();
            holds(claim, &input, &output).is_ok()
        })
    };
    // What else there is may lie on either side, where a step is left out for some threads.
    let count = claim.count.max(1) as usize;
    if candidates
        .into_iter()
        .any(|places| places.windows(count).any(fits))
    {
        return Ok(());
    }
    Err("no places in which it would be a scan".into())
}
