//! Counterexamples: inputs on which two kernels leave different words.
//!
//! Both kernels are evaluated on random inputs, in one group. A place differs if no word that the first kernel
//! may leave there is a word that the second may leave. If several threads write to it between two barriers,
//! any of them may be the last; so may any group if all groups write to one place. Only exactly computed words
//! count, and floats only if they are far apart. If one kernel does not write a place, none of its other groups
//! may write it either. Indices past the end of every resource do not count, as D3D drops writes there.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;
use shaderlint_hlsl::Shader;

use crate::compare::ResourceCell;
use crate::exec::Write;
use crate::terms::formula::{indices, number, part};
use crate::terms::sample::Sample;
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Term, Terms};

/// The seeds of the random inputs.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=8;

/// The first element that is written differently, in the first group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// For example `Out[0]`.
    pub place: String,
    pub thread: u32,
    /// What the first kernel writes there, as a formula of its inputs; `nothing` if it does not write.
    pub expected: String,
    pub got: String,
}

/// A word, and whether it is certainly the computed one.
#[derive(Clone, Copy)]
struct Word {
    word: u32,
    is_certain: bool,
}

/// A write, evaluated on some inputs.
struct Happening<'w> {
    write: &'w Write,
    guard: Word,
    value: Word,
}

/// By cell: the writes of each kernel, in program order of each thread.
type Happenings<'w> = BTreeMap<ResourceCell, [Vec<Happening<'w>>; 2]>;

pub(crate) fn difference(
    terms: &Terms,
    shader: &Shader,
    expected: &[Write],
    got: &[Write],
    is_float: &dyn Fn(&Write) -> bool,
) -> Option<Difference> {
    let all = || expected.iter().chain(got);
    if all().any(|write| terms.is_any_resource(write.resource)) {
        return None;
    }
    for seed in SEEDS {
        let mut sample = Sample::possible(terms, seed, &[]);
        // Resources with a write to an unknown place.
        let mut scattered = BTreeSet::new();
        let mut at = Happenings::new();
        for (which, writes) in [expected, got].into_iter().enumerate() {
            for write in writes {
                let index: Vec<Word> = write.index.iter().map(|index| sample.word(index)).collect();
                let part = sample.word(&write.part);
                let is_certain = part.is_certain && index.iter().all(|index| index.is_certain);
                if !is_certain || write.component == u32::MAX {
                    scattered.insert(write.resource);
                    continue;
                }
                let index: Vec<u32> = index.iter().map(|index| index.word).collect();
                let resource = terms.inputs.get(&write.resource);
                if resource.is_some_and(|resource| resource.is_beyond(&index)) {
                    continue;
                }
                let cell = ResourceCell {
                    resource: write.resource,
                    component: write.component.wrapping_add(part.word),
                    index,
                };
                at.entry(cell).or_default()[which].push(Happening {
                    write,
                    guard: sample.word(&write.guard),
                    value: sample.word(&write.value),
                });
            }
        }
        let mut found: Option<(u16, Symbol, [Option<&Happening<'_>>; 2])> = None;
        for (cell, happenings) in at.iter().filter(|(cell, _)| !scattered.contains(&cell.resource)) {
            let [Some(a), Some(b)] = happenings.each_ref().map(|happenings| last(happenings)) else {
                continue;
            };
            let alike = |a: &&Happening<'_>, b: &&Happening<'_>| {
                let (x, y) = (a.value.word, b.value.word);
                x == y || is_float(a.write) && are_near(x, y)
            };
            let mut is_silent = |writes: &[Write]| {
                let mut may = |write: &Write| may_be_written_by_another(&mut sample, cell, write);
                !writes.iter().any(&mut may)
            };
            let differs = match (a.as_slice(), b.as_slice()) {
                ([], []) => false,
                ([], _) => is_silent(expected),
                (_, []) => is_silent(got),
                (a, b) => {
                    !a.iter().any(|a| b.iter().any(|b| alike(a, b)))
                        && !a
                            .iter()
                            .chain(b)
                            .any(|one| terms.is_other_in_other_groups(one.write))
                }
            };
            let first = [a.first().copied(), b.first().copied()];
            let thread = first.iter().flatten().map(|one| one.write.thread).min();
            if let (true, Some(thread)) = (differs, thread)
                && found.is_none_or(|known| (thread, cell.resource) < (known.0, known.1))
            {
                found = Some((thread, cell.resource, first));
            }
        }
        if let Some((thread, _, [a, b])) = found
            && let Some(any) = a.or(b)
        {
            let is_float = is_float(any.write);
            let [expected, got] = told(terms, shader, [a, b], is_float);
            return Some(Difference {
                place: terms.place_name(shader, any.write),
                thread: u32::from(thread),
                expected,
                got,
            });
        }
    }
    None
}

/// The writes that may be the last to a cell: each thread's last one, among threads after the last barrier.
/// `None` if it is not certain which these are or what they write.
fn last<'h, 'w>(happenings: &'h [Happening<'w>]) -> Option<Vec<&'h Happening<'w>>> {
    let mut of_threads: BTreeMap<u16, &Happening<'_>> = BTreeMap::new();
    for happening in happenings {
        if !happening.guard.is_certain {
            return None;
        }
        if happening.guard.word != 0 {
            of_threads.insert(happening.write.thread, happening);
        }
    }
    let latest = of_threads.values().map(|one| one.write.ordered.interval).max();
    let last: Vec<_> = (of_threads.into_values())
        .filter(|one| Some(one.write.ordered.interval) == latest)
        .collect();
    last.iter().all(|one| one.value.is_certain).then_some(last)
}

/// What both kernels write, as formulas; if the formulas are the same text, with the words on these inputs.
fn told(terms: &Terms, shader: &Shader, of: [Option<&Happening<'_>>; 2], is_float: bool) -> [String; 2] {
    let formula = |one: Option<&Happening<'_>>| {
        one.map_or_else(
            || "nothing".to_owned(),
            |one| terms.formula(shader, &one.write.value, is_float),
        )
    };
    let formulas = of.map(formula);
    match (of, formulas[0] == formulas[1]) {
        ([Some(a), Some(b)], true) => {
            let with_word =
                |one: &Happening<'_>| format!("{} (here {})", formulas[0], number(one.value.word, is_float));
            [a, b].map(with_word)
        }
        _ => formulas,
    }
}

/// Much closer than two different sums of the small whole numbers in samples.
fn are_near(a: u32, b: u32) -> bool {
    let (a, b) = (f32::from_bits(a), f32::from_bits(b));
    (a - b).abs() <= 1e-4 * a.abs().max(b.abs()) || a.is_nan() && b.is_nan()
}

/// Whether another group may write this cell, if the evaluated group does not.
fn may_be_written_by_another(sample: &mut Sample<'_>, cell: &ResourceCell, write: &Write) -> bool {
    let is_of_component = match write.part.known() {
        Some(part) => write.component.wrapping_add(part) == cell.component,
        None => true,
    };
    if write.resource != cell.resource || !is_of_component {
        return false;
    }
    let mut same_axis = None;
    for (value, wanted) in write.index.iter().zip(&cell.index) {
        let Some(affine) = sample.terms.affine(value) else {
            return true;
        };
        let distance = wanted.wrapping_sub(affine.constant);
        match affine.of_group {
            None if distance != 0 => return false,
            None => {}
            Some((axis, factor)) => {
                if !distance.is_multiple_of(factor) && !distance.wrapping_neg().is_multiple_of(factor) {
                    return false;
                }
                let here = sample.group_word(axis);
                if factor.wrapping_mul(here) == distance && u64::from(factor) * 65_536 <= 1 << 32 {
                    same_axis = Some(axis);
                } else {
                    return true;
                }
            }
        }
    }
    // The guard is false for this group's number along this axis, but groups along other axes write the same
    // places.
    sample.terms.depends_on_group(&write.guard, same_axis)
}

impl Sample<'_> {
    fn word(&mut self, value: &Value) -> Word {
        self.guessed = false;
        let word = self.value(value);
        Word {
            word,
            is_certain: !self.guessed && !self.terms.is_opaque(value),
        }
    }
}

impl Terms {
    /// Whether all groups write this place, but not all the same value: any group may be the last.
    fn is_other_in_other_groups(&self, write: &Write) -> bool {
        let mut values = write.index.iter().chain([&write.part]);
        let is_of_all = values.all(|value| !self.depends_on_group(value, None));
        is_of_all
            && [&write.guard, &write.value]
                .into_iter()
                .any(|value| self.depends_on_group(value, None))
    }

    /// Whether a value depends on the group's number along any axis but `besides`.
    fn depends_on_group(&self, value: &Value, besides: Option<u8>) -> bool {
        let mut seen = FxHashSet::default();
        let mut waiting = vec![value.clone()];
        while let Some(value) = waiting.pop() {
            for atom in value.atoms().filter(|atom| seen.insert(*atom)) {
                match self.term(atom) {
                    Some(Term::Apply(Op::GroupId(axis), _)) if Some(*axis) != besides => return true,
                    Some(Term::Apply(_, arguments)) => waiting.extend(arguments.iter().cloned()),
                    _ => {}
                }
            }
        }
        false
    }

    /// For example `Out[0]`, in the first group.
    fn place_name(&self, shader: &Shader, write: &Write) -> String {
        let mut sample = Sample::new(self, 0);
        let index: Vec<u32> = write.index.iter().map(|value| sample.value(value)).collect();
        let component = write.component.wrapping_add(sample.value(&write.part));
        let name = self.name(write.resource);
        format!("{name}{}{}", indices(&index), part(shader, name, component))
    }
}
