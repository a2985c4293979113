//! Two kernels, every wave size, several lane maps: do they write the same?
//!
//! Both kernels run on the same free atoms: the same buffer element, group index or uniform is the same atom in both.
//! If neither races nor writes out of bounds, and each thread writes the same terms to the same places in the same
//! order, the kernels are equal for every input at that wave size and map (see [`crate::value`]). Where terms differ,
//! they are evaluated on random inputs: only two results seen to differ are reported as a difference, anything else
//! is "not proved".

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{FunctionId, Scalar, Shader, Type};

use crate::finding::{Operator, Race, Stop};
use crate::machine::{BUDGET, Machine, Write};
use crate::sample::Sample;
use crate::terms::{Term, Terms};
use crate::value::{Op, Value};
use crate::wave::{LaneMap, WAVE_SIZES, Waves, is_group};

/// What two kernels do at one wave size under one lane map.
#[derive(Clone, Debug)]
pub struct WaveRun {
    pub wave_size: u32,
    pub map: LaneMap,
    pub outcome: Outcome,
}

#[derive(Clone, Debug)]
pub enum Outcome {
    /// Bit for bit, for every input.
    Equal,
    /// The same sums or products of floats, in another order.
    Reassociates,
    Differs(Difference),
    /// The second kernel writes outside a groupshared array.
    OutOfBounds {
        array: String,
        length: u32,
        index: i32,
        thread: u32,
    },
    /// The second kernel races.
    Races {
        array: String,
        race: Box<Race>,
    },
    NotProved(String),
}

impl Outcome {
    #[must_use]
    pub fn is_equal(&self) -> bool {
        matches!(self, Outcome::Equal | Outcome::Reassociates)
    }
}

/// The first element written differently, in the first group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// For instance `Out[0]`.
    pub place: String,
    pub thread: u32,
    /// What the first kernel writes there, as a formula of its inputs; `nothing` where it does not write.
    pub expected: String,
    pub got: String,
}

/// Compares two kernels at every wave size under each of `maps`.
#[must_use]
pub fn compare(
    first: (&Shader, FunctionId),
    second: (&Shader, FunctionId),
    maps: &[LaneMap],
) -> Vec<WaveRun> {
    let mut runs = Vec::new();
    for map in maps {
        for wave_size in WAVE_SIZES {
            let outcome = compare_at(first, second, wave_size, *map);
            runs.push(WaveRun {
                wave_size,
                map: *map,
                outcome,
            });
        }
    }
    runs
}

/// What a kernel wrote.
struct Trace {
    writes: Vec<Write>,
}

fn compare_at(
    first: (&Shader, FunctionId),
    second: (&Shader, FunctionId),
    wave_size: u32,
    map: LaneMap,
) -> Outcome {
    let mut terms = Terms::default();
    let expected = match trace(first, &mut terms, wave_size, map) {
        Ok(trace) => trace,
        Err(outcome) => {
            return Outcome::NotProved(format!("the first kernel itself: {}", describe(&outcome)));
        }
    };
    let got = match trace(second, &mut terms, wave_size, map) {
        Ok(trace) => trace,
        Err(outcome) => return outcome,
    };
    compare_writes(&mut terms, &expected.writes, &got.writes)
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::OutOfBounds {
            array,
            length,
            index,
            thread,
        } => {
            format!("thread {thread} writes {array}[{index}], past its {length} elements")
        }
        Outcome::Races { array, race } => {
            format!(
                "threads {} and {} race on {array}[{}]",
                race.first.thread, race.second.thread, race.index
            )
        }
        Outcome::NotProved(why) => why.clone(),
        _ => String::new(),
    }
}

fn trace(
    (shader, entry): (&Shader, FunctionId),
    terms: &mut Terms,
    wave_size: u32,
    map: LaneMap,
) -> Result<Trace, Outcome> {
    let unfit = || Outcome::NotProved("its thread group is not one that can be run".to_owned());
    let group = shader
        .functions
        .get(entry.0 as usize)
        .and_then(|function| function.group_size)
        .filter(|group| is_group(*group))
        .ok_or_else(unfit)?;
    let waves = Waves::new(group, wave_size, map);
    let mut machine = Machine::new(shader, terms, entry, waves, BUDGET).ok_or_else(unfit)?;
    let stopped = machine.run();
    if let Some(access) = machine.report.out_of_bounds.first() {
        let array = &shader.globals[access.array.0 as usize];
        let length = match &array.ty {
            Type::Array(_, length) => *length,
            _ => 1,
        };
        return Err(Outcome::OutOfBounds {
            array: array.name.clone(),
            length,
            index: access.index,
            thread: access.access.thread,
        });
    }
    if let Some(race) = machine.report.races.first() {
        let array = shader.globals[race.array.0 as usize].name.clone();
        return Err(Outcome::Races {
            array,
            race: Box::new(race.clone()),
        });
    }
    if let Some(Stop { reason, .. }) = stopped {
        return Err(Outcome::NotProved(reason));
    }
    if machine.report.unproved {
        return Err(Outcome::NotProved("it may race on groupshared memory".to_owned()));
    }
    Ok(Trace {
        writes: machine.state.writes.to_vec(),
    })
}

/// By resource, component, index and thread: what is written there, in program order.
type ByPlace<'w> = BTreeMap<(u32, u32, Vec<u64>, u16), Vec<&'w Write>>;

fn compare_writes(terms: &mut Terms, expected: &[Write], got: &[Write]) -> Outcome {
    let same = |a: &Write, b: &Write| a.guard == b.guard && a.value == b.value;
    // Program order of each thread; writes of one statement are stored thread by thread.
    let per_thread = |writes: &[Write]| {
        let mut writes: Vec<Write> = writes.to_vec();
        writes.sort_by_key(|write| write.thread);
        writes
    };
    let (expected, got) = (per_thread(expected), per_thread(got));
    let equal = expected.len() == got.len()
        && expected.iter().zip(&got).all(|(a, b)| {
            (a.resource, a.component, a.thread) == (b.resource, b.component, b.thread)
                && (&a.index, &a.part) == (&b.index, &b.part)
                && same(a, b)
        });
    if equal {
        let inexact = got.iter().any(|write| terms.reassociated(&write.value));
        return if inexact {
            Outcome::Reassociates
        } else {
            Outcome::Equal
        };
    }
    for seed in 1..=8 {
        let mut sample = Sample::new(terms, seed);
        let expected_at = sample.places(&expected);
        let got_at = sample.places(&got);
        let mut differences: Vec<(u16, u32, Option<&Write>, Option<&Write>)> = Vec::new();
        for (place, writes) in &expected_at {
            let others = got_at.get(place);
            let (a, b) = (
                writes.last().copied(),
                others.and_then(|writes| writes.last()).copied(),
            );
            if sample.outcome(a) != sample.outcome(b) {
                differences.push((place.3, place.0, a, b));
            }
        }
        for (place, writes) in &got_at {
            if !expected_at.contains_key(place) && sample.outcome(writes.last().copied()).is_some() {
                differences.push((place.3, place.0, None, writes.last().copied()));
            }
        }
        differences.sort_by_key(|(thread, resource, ..)| (*thread, *resource));
        let terms: &Terms = terms;
        // Where something is written at a place that is not known, it may be any.
        let is_anywhere = |write: &&Write| {
            let mut place = write.index.iter().chain([&write.part]);
            place.any(|index| terms.is_opaque(index))
        };
        let scattered: BTreeSet<u32> = expected
            .iter()
            .chain(&got)
            .filter(is_anywhere)
            .map(|write| write.resource.0)
            .collect();
        differences.retain(|(_, resource, ..)| !scattered.contains(resource));
        let certain = |write: Option<&Write>| {
            write.is_none_or(|write| !terms.is_opaque(&write.value) && !terms.is_opaque(&write.guard))
        };
        if let Some((thread, _, a, b)) = differences
            .into_iter()
            .find(|(_, _, a, b)| certain(*a) && certain(*b))
        {
            let Some(any) = a.or(b) else { continue };
            let mut sample = Sample::new(terms, 0);
            let index: Vec<String> = any
                .index
                .iter()
                .map(|value| sample.value(value).to_string())
                .collect();
            let place = format!("{}[{}]", terms.name(any.resource), index.join("]["));
            let formula = |write: Option<&Write>| {
                write.map_or_else(|| "nothing".to_owned(), |write| terms.formula(&write.value))
            };
            return Outcome::Differs(Difference {
                place,
                thread: u32::from(thread),
                expected: formula(a),
                got: formula(b),
            });
        }
    }
    Outcome::NotProved("the two write different terms that were not seen to differ".to_owned())
}

impl Sample<'_> {
    fn places<'w>(&mut self, writes: &'w [Write]) -> ByPlace<'w> {
        let mut places = ByPlace::new();
        for write in writes {
            let index = write
                .index
                .iter()
                .map(|value| u64::from(self.value(value)))
                .collect();
            let component = write.component.wrapping_add(self.value(&write.part));
            places
                .entry((write.resource.0, component, index, write.thread))
                .or_default()
                .push(write);
        }
        places
    }

    /// The word left in a place, if the write happens.
    fn outcome(&mut self, write: Option<&Write>) -> Option<u32> {
        let write = write?;
        (self.value(&write.guard) != 0).then(|| self.value(&write.value))
    }
}

impl Terms {
    /// Whether the value is a float sum or product of several parts.
    fn reassociated(&self, value: &Value) -> bool {
        match value {
            Value::Known(_) => false,
            Value::Run { operator, start, end } => {
                if end - start > 1 {
                    return !operator.is_exact();
                }
                match self.term(*start) {
                    Some(Term::Apply(Op::Load { .. } | Op::VolatileLoad { .. }, _)) | None => false,
                    Some(Term::Apply(_, arguments)) => {
                        arguments.iter().any(|argument| self.reassociated(argument))
                    }
                    Some(_) => false,
                }
            }
            Value::Sum(sum) => {
                !sum.operator.is_exact()
                    || sum
                        .parts
                        .iter()
                        .any(|part| (part.start..part.end).any(|atom| self.reassociated(&Value::atom(atom))))
            }
        }
    }

    /// A value as a formula of the kernel's inputs, in the first group.
    pub(crate) fn formula(&self, value: &Value) -> String {
        let parts = match value {
            Value::Known(word) => return word.to_string(),
            Value::Run { operator, start, end } => return self.run_formula(*operator, *start, *end),
            Value::Sum(sum) => sum,
        };
        let sign = operator_sign(parts.operator);
        let mut pieces: Vec<String> = parts
            .parts
            .iter()
            .take(4)
            .map(|part| {
                let run = self.run_formula(parts.operator, part.start, part.end);
                match part.factor {
                    1 => run,
                    u32::MAX => format!("-({run})"),
                    factor => format!("{factor} * ({run})"),
                }
            })
            .collect();
        if parts.parts.len() > 4 {
            pieces.push("…".to_owned());
        }
        if parts.constant != parts.operator.identity() {
            pieces.push(parts.constant.to_string());
        }
        pieces.join(sign)
    }

    fn run_formula(&self, operator: Operator, start: u32, end: u32) -> String {
        let sign = operator_sign(operator);
        match end - start {
            1 => self.atom_formula(start),
            2 => format!(
                "{}{sign}{}",
                self.atom_formula(start),
                self.atom_formula(start + 1)
            ),
            _ => format!(
                "{}{sign}…{sign}{}",
                self.atom_formula(start),
                self.atom_formula(end - 1)
            ),
        }
    }

    fn atom_formula(&self, atom: u32) -> String {
        let Some(Term::Apply(op, arguments)) = self.term(atom) else {
            return "an undefined value".to_owned();
        };
        let mut sample = Sample::new(self, 0);
        match op {
            Op::Load { resource, .. } | Op::VolatileLoad { resource, .. } => {
                let index = arguments
                    .first()
                    .map(|index| sample.value(index))
                    .unwrap_or_default();
                format!("{}[{index}]", self.name(*resource))
            }
            Op::Uniform { name, .. } => self.name(*name).to_owned(),
            Op::GroupId(_) => "0".to_owned(),
            Op::Uninitialised { array, index } => {
                format!("{}[{index}] (never written)", self.name(*array))
            }
            Op::Opaque { text, .. } => self.name(*text).to_owned(),
            Op::Cast {
                to: Scalar::Float, ..
            }
            | Op::Same => arguments
                .first()
                .map(|value| self.formula(value))
                .unwrap_or_default(),
            _ => format!(
                "a function of {}",
                arguments
                    .first()
                    .map(|value| self.formula(value))
                    .unwrap_or_default()
            ),
        }
    }
}

fn operator_sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Add | Operator::FloatAdd => " + ",
        Operator::Mul | Operator::FloatMul => " * ",
        Operator::MinUint | Operator::MinInt | Operator::MinFloat => " min ",
        Operator::MaxUint | Operator::MaxInt | Operator::MaxFloat => " max ",
        Operator::And => " & ",
        Operator::Or => " | ",
        Operator::Xor => " ^ ",
    }
}
