//! What a run computes on: values as terms over atoms, and what is asked of them.
//!
//! [`value`] has the terms, [`normal_form`] and [`fold`] make them as HLSL's arithmetic does; [`mod@column`] is one value a thread. How
//! a term was made is told by [`taint`] (which atomics had a part in it), [`shape`] (of data, and in which way),
//! [`rounding`] (in which order floats were combined) and [`packed16`] (of which halves of words). [`ranked`] finds the index of the
//! least or greatest element in a term. [`sample`] computes terms for inputs, and [`formula`] shows them to people. Nothing in here
//! knows of a thread group that runs.
//!
//! In this file are the atoms: what each stands for, so that the same operation on equal operands is the same atom.

pub(crate) mod affine;
pub(crate) mod column;
pub(crate) mod fold;
pub(crate) mod formula;
pub(crate) mod history;
mod known_floats;
mod normal_form;
pub(crate) mod operator;
pub(crate) mod packed16;
pub(crate) mod ranked;
pub(crate) mod rounding;
pub(crate) mod sample;
pub(crate) mod shape;
pub(crate) mod source;
mod stable_vec;
pub(crate) mod taint;
pub(crate) mod value;

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher as _, Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use shaderlint_hlsl::UnaryOp;

use crate::terms::column::Column;
use crate::terms::history::Moment;
use crate::terms::packed16::Halved;
use crate::terms::rounding::Derivations;
use crate::terms::sample::{Inputs, Sample};
use crate::terms::shape::{Shape, ShapeError};
use crate::terms::stable_vec::Pile;
use crate::terms::taint::Facts;
use crate::terms::value::{Op, Value};

/// Operations within operations that are made anew on inputs.
const MAX_NESTED: u32 = 16;
/// Operations looked at to see whether inputs choose a value.
const MAX_ASKED: usize = 64;

/// What an atom stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term<'t> {
    /// Element `index` of a block of free inputs, e.g. a groupshared array as a probe finds it.
    Input { block: u32, index: u32 },
    /// A deterministic operation on values.
    Apply(&'t Op, &'t [Value]),
    /// Nothing is known of it, not even whether it equals another.
    Fresh(u32),
}

/// A [`Term`] as it is kept. A run may make a million: small ones, in few pieces of memory.
#[derive(Clone)]
struct Atom {
    kind: AtomKind,
    /// Where an operation's arguments are among all.
    first: u32,
    count: u32,
}

#[derive(Clone)]
enum AtomKind {
    Input { block: u32, index: u32 },
    Apply(Op),
    Fresh(u32),
}

/// An interned name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Symbol(pub u32);

/// The atoms of one or several runs whose terms are to be compared.
pub(crate) struct Terms {
    atoms: Pile<Atom>,
    /// The arguments of all operations.
    arguments: Pile<Value>,
    /// By atom number: what its value depends on, as an index into `facts`.
    facts_of: Vec<u32>,
    /// Each once: few are different.
    facts: Vec<Facts>,
    numbers: FxHashMap<Facts, u32>,
    /// The atoms of operations, each with the hash of what it stands for.
    interned: HashTable<(u32, u32)>,
    names: Vec<Box<str>>,
    symbols: FxHashMap<Box<str>, Symbol>,
    fresh: u32,
    blocks: u32,
    work: Cell<usize>,
    /// Atoms that are taken for numbers.
    assumed: FxHashMap<u32, u32>,
    /// The inputs that operations are taken on.
    at_hand: Option<Inputs>,
    /// Blocks of inputs whose halves were picked.
    pub halved: Vec<Halved>,
    /// By atom: how it was made of data, where that was asked for.
    pub shapes: RefCell<FxHashMap<u32, Result<Shape, ShapeError>>>,
    /// Inputs, by their names.
    pub inputs: FxHashMap<Symbol, Input>,
    /// What has happened to device memory, by the last step.
    pub moments: FxHashMap<Moment, u32>,
    pub floats: Floats,
    /// What was taken to be so for that.
    pub needs: Cell<Needs>,
    /// Operations are taken on numbers, as they stand: floats are rounded.
    pub takes_numbers: bool,
    /// How float sums and products were made, where that is asked for.
    pub derivations: Option<Derivations>,
}

/// Which floats there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floats {
    Any,
    /// None is NaN, so that `a < b ? a : b` is a minimum, and `exp2` and `pow` give the whole number that they should, as
    /// hardware does and D3D does not promise.
    Numbers,
}

/// What something needs of floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// No float that it compares is NaN.
    pub numbers: bool,
    /// Powers that are whole numbers are exact.
    pub powers: bool,
}

impl Needs {
    #[must_use]
    pub fn floats(self) -> Floats {
        if self == Needs::default() {
            Floats::Any
        } else {
            Floats::Numbers
        }
    }
}

/// What is to be known of an input for samples of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub words: Words,
    /// No index into it is within it that is as large, however large it is made.
    pub end: Option<u32>,
}

/// What the words of an input are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    Any,
    /// Not any word: a bool, or between 0 and 1.
    Narrow,
    /// Told by their addresses in bytes.
    Bytes,
    Floats,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            atoms: Pile::default(),
            arguments: Pile::default(),
            facts_of: Vec::new(),
            facts: vec![Facts::default(), Facts::OPAQUE],
            numbers: FxHashMap::default(),
            interned: HashTable::new(),
            names: Vec::new(),
            symbols: FxHashMap::default(),
            fresh: 0,
            blocks: 0,
            work: Cell::new(0),
            assumed: FxHashMap::default(),
            at_hand: None,
            halved: Vec::new(),
            shapes: RefCell::default(),
            inputs: FxHashMap::default(),
            moments: FxHashMap::default(),
            floats: Floats::Any,
            needs: Cell::default(),
            takes_numbers: false,
            derivations: None,
        }
    }
}

impl Terms {
    /// Terms of such floats.
    pub fn of(floats: Floats) -> Terms {
        Terms {
            floats,
            ..Terms::default()
        }
    }

    /// Without atoms again, for another run: the memory is kept.
    pub fn clear(&mut self) {
        self.atoms.clear();
        self.arguments.clear();
        self.facts_of.clear();
        self.facts.truncate(2);
        self.numbers.clear();
        self.interned.clear();
        self.names.clear();
        self.symbols.clear();
        self.fresh = 0;
        self.blocks = 0;
        self.work.set(0);
        self.assumed.clear();
        self.halved.clear();
        self.shapes.get_mut().clear();
        self.inputs.clear();
        self.moments.clear();
        self.derivations = None;
    }

    pub fn symbol(&mut self, name: &str) -> Symbol {
        if let Some(symbol) = self.symbols.get(name) {
            return *symbol;
        }
        let symbol = Symbol(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(name.into());
        self.symbols.insert(name.into(), symbol);
        symbol
    }

    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.get(symbol.0 as usize).map_or("?", |name| name)
    }

    pub fn term(&self, atom: u32) -> Option<Term<'_>> {
        let atom = self.atoms.get(atom as usize)?;
        Some(match &atom.kind {
            AtomKind::Input { block, index } => Term::Input {
                block: *block,
                index: *index,
            },
            AtomKind::Apply(op) => Term::Apply(op, arguments(&self.arguments, atom)),
            AtomKind::Fresh(number) => Term::Fresh(*number),
        })
    }

    /// Atoms and arguments looked up or evaluated so far: what keeps a run's memory and time bounded.
    pub fn work(&self) -> usize {
        self.work.get()
    }

    pub fn note_work(&self, atoms: usize) {
        self.work.set(self.work.get().saturating_add(atoms));
    }

    fn push(&mut self, kind: AtomKind, arguments: &[Value], facts: u32) -> u32 {
        let number = u32::try_from(self.atoms.end()).unwrap_or(u32::MAX - 1);
        self.note_work(1);
        let first = self.arguments.add(arguments);
        self.atoms.push(Atom {
            kind,
            first: u32::try_from(first).unwrap_or(u32::MAX),
            count: u32::try_from(arguments.len()).unwrap_or(0),
        });
        self.facts_of.push(facts);
        number
    }

    /// A new block of `length` free inputs with consecutive atoms; the first atom's number.
    pub fn inputs(&mut self, length: u32) -> u32 {
        let block = self.blocks;
        self.blocks += 1;
        let first = u32::try_from(self.atoms.end()).unwrap_or(u32::MAX - 1);
        for index in 0..length {
            self.push(AtomKind::Input { block, index }, &[], 0);
        }
        first
    }

    /// What a place holds in a thread, before anything is known of it: the same whenever it is asked for.
    pub fn free(&mut self, place: Symbol, component: u32, thread: u32) -> Value {
        let op = Op::Free {
            place,
            component,
            thread,
        };
        self.apply(op, &[])
    }

    /// Free values of each lane's own, the same whenever they are asked for by this name.
    pub fn free_columns(&mut self, name: &str, count: usize, lanes: usize) -> Vec<Column> {
        let name = self.symbol(name);
        (0u32..)
            .take(count)
            .map(|component| Column::from_fn(lanes, |lane| self.free(name, component, lane as u32)))
            .collect()
    }

    /// A value of which nothing is known.
    pub fn fresh(&mut self) -> Value {
        self.fresh += 1;
        let opaque = self.number_of(Facts::OPAQUE);
        Value::atom(self.push(AtomKind::Fresh(self.fresh), &[], opaque))
    }

    /// The atom for a deterministic operation on `arguments`.
    pub fn apply(&mut self, op: Op, operands: &[Value]) -> Value {
        let atom = self.intern(op, operands);
        self.settled(atom, operands)
    }

    fn intern(&mut self, op: Op, operands: &[Value]) -> u32 {
        self.note_work(1 + operands.len());
        let hash = FxBuildHasher.hash_one((&op, operands));
        // Where addresses have 32 bits, so has the hash.
        let hash = (hash >> 32 ^ hash) as u32;
        // Both ends of the word choose a place in the table.
        let spread = |hash: u32| u64::from(hash) << 32 | u64::from(hash);
        let is_same = |(known, atom): &(u32, u32)| {
            *known == hash
                && self.atoms.get(*atom as usize).is_some_and(|atom| {
                    matches!(atom.kind, AtomKind::Apply(known) if known == op)
                        && *arguments(&self.arguments, atom) == *operands
                })
        };
        if let Some((_, atom)) = self.interned.find(spread(hash), is_same) {
            return *atom;
        }
        let facts = Facts::of(op, operands.iter().map(|value| self.facts(value)));
        let facts = self.number_of(facts);
        let atom = self.push(AtomKind::Apply(op), operands, facts);
        self.interned
            .insert_unique(spread(hash), (hash, atom), |(hash, _)| spread(*hash));
        atom
    }

    /// The value of an operation's atom: the number that it is taken for, or has on the inputs at hand.
    fn settled(&self, atom: u32, operands: &[Value]) -> Value {
        let value = Value::atom(atom);
        let are_known = || operands.iter().all(|operand| operand.known().is_some());
        match (self.assumed.get(&atom), &self.at_hand) {
            (Some(word), _) => Value::Known(*word),
            (None, Some(inputs)) if are_known() => self.word_for(&value, inputs).map_or(value, Value::Known),
            _ => value,
        }
    }

    /// The value on these inputs, as far as it is understood.
    fn word_for(&self, value: &Value, inputs: &Inputs) -> Option<u32> {
        let mut sample = Sample::possible(self, inputs.seed, &inputs.given);
        let word = sample.value(value);
        (!sample.guessed).then_some(word)
    }

    /// Takes each operation on known operands for the number that it is on these inputs, from here on. What was assumed
    /// of an element of a buffer is assumed of the one that the inputs lead to.
    pub fn take_inputs(&mut self, inputs: &Inputs) {
        let mut assumed: Vec<(u32, u32)> = self.assumed.iter().map(|(atom, word)| (*atom, *word)).collect();
        assumed.sort_unstable();
        self.at_hand = Some(inputs.clone());
        for (atom, word) in assumed {
            if let Some((op, operands)) = self.on_inputs(atom, MAX_NESTED) {
                let atom = self.intern(op, &operands);
                self.assumed.insert(atom, word);
            }
        }
    }

    /// The operation of an atom, with its operands as they are on the inputs at hand.
    fn on_inputs(&mut self, atom: u32, depth: u32) -> Option<(Op, Vec<Value>)> {
        let Some(Term::Apply(op, operands)) = self.term(atom) else {
            return None;
        };
        let (op, operands) = (*op, operands.to_vec());
        let operands = operands.into_iter().map(|operand| {
            let inputs = self.at_hand.clone()?;
            if let Some(word) = self.word_for(&operand, &inputs) {
                return Some(Value::Known(word));
            }
            let Value::Run { start, end, .. } = operand else {
                return None;
            };
            if end - start != 1 || depth == 0 {
                return None;
            }
            match self.on_inputs(start, depth - 1) {
                Some((op, operands)) => Some(self.apply(op, &operands)),
                None => Some(operand),
            }
        });
        let operands: Option<Vec<Value>> = operands.collect();
        Some((op, operands?))
    }

    /// Takes no inputs for given any more.
    pub fn leave_inputs(&mut self) {
        self.at_hand = None;
    }

    /// The index of these facts, kept from now on.
    fn number_of(&mut self, facts: Facts) -> u32 {
        let first = [Facts::default(), Facts::OPAQUE];
        if let Some(number) = (0..).zip(first).find(|(_, known)| *known == facts) {
            return number.0;
        }
        let next = u32::try_from(self.facts.len()).unwrap_or(1);
        *self.numbers.entry(facts).or_insert_with(|| {
            self.facts.push(facts);
            next
        })
    }

    /// Takes an operation's atom for a number from here on; values that were made before stay as they are.
    pub fn assume(&mut self, atom: u32, word: u32) {
        self.assumed.insert(atom, word);
    }

    pub fn forget_assumptions(&mut self) {
        self.assumed.clear();
    }

    /// Whether the value depends on something that was not understood, so that different terms
    /// may well be equal values.
    pub fn is_opaque(&self, value: &Value) -> bool {
        self.facts(value).opaque
    }

    /// Whether it is known that inputs choose the value: it is no function of numbers alone, and none of the operations that it is made of
    /// is one that is not worked out, such as `saturate`. Of what is made of very much it is not known.
    pub fn is_chosen_by_inputs(&self, value: &Value) -> bool {
        let mut left: Vec<u32> = value.atoms().take(MAX_ASKED + 1).collect();
        let (mut asked, mut has_inputs) = (0, false);
        while let Some(atom) = left.pop() {
            asked += 1;
            match self.term(atom) {
                Some(Term::Apply(Op::Intrinsic { .. }, _)) => return false,
                Some(Term::Apply(Op::Opaque { .. }, [_, ..])) => return false,
                Some(Term::Apply(op, arguments)) if op.is_arithmetic() => {
                    left.extend(arguments.iter().flat_map(Value::atoms).take(MAX_ASKED + 1));
                }
                _ => has_inputs = true,
            }
            if asked > MAX_ASKED {
                return false;
            }
        }
        has_inputs
    }

    /// Whether a place that is not known has the group's number in it: as a part of a sum, or of an element's index.
    pub fn is_of_group(&self, value: &Value) -> bool {
        value.atoms().any(|atom| match self.term(atom) {
            Some(Term::Apply(Op::GroupId(_), _)) => true,
            Some(Term::Apply(Op::Offset | Op::Same, [base, index, ..])) => {
                self.is_of_group(index) || self.is_of_group(base)
            }
            _ => false,
        })
    }

    /// What the value depends on.
    pub fn facts(&self, value: &Value) -> Facts {
        let of = |number: u32| self.facts.get(number as usize).copied().unwrap_or(Facts::OPAQUE);
        let of_run = |start: u32, end: u32| match self.facts_of.get(start as usize..end as usize) {
            Some(&[number]) => of(number),
            Some([first, rest @ ..]) if rest.iter().all(|number| number == first) => of(*first),
            Some(numbers) => Facts::joined(numbers.iter().map(|number| of(*number))),
            None => Facts::OPAQUE,
        };
        match value {
            Value::Known(_) => Facts::default(),
            Value::Run { start, end, .. } => of_run(*start, *end),
            Value::Sum(sum) => Facts::joined(sum.parts.iter().map(|part| of_run(part.start, part.end))),
        }
    }

    /// Known but for the group's number and members of `cbuffer`s: what tells threads apart, rather than what they work
    /// on.
    pub fn is_place(&self, value: &Value) -> bool {
        value.atoms().all(|atom| match self.term(atom) {
            Some(Term::Apply(Op::GroupId(_), _)) => true,
            Some(Term::Apply(Op::Uniform { .. }, arguments)) => arguments.is_empty(),
            _ => false,
        })
    }

    /// Whether it is a number of components rather than an index.
    pub fn is_offset(&self, value: &Value) -> bool {
        matches!(self.single(value), Some(Term::Apply(Op::Offset, _)))
    }

    /// The term behind a value that is a single atom.
    pub fn single(&self, value: &Value) -> Option<Term<'_>> {
        match value {
            Value::Run { start, end, .. } if end - start == 1 => self.term(*start),
            _ => None,
        }
    }

    pub fn negated(&self, condition: &Value) -> Option<&Value> {
        match self.single(condition) {
            Some(Term::Apply(Op::Unary(UnaryOp::Not, _), arguments)) => arguments.first(),
            _ => None,
        }
    }
}

/// A number that, as good as always, tells this from others: the same on every machine, so that what sampled inputs show is.
pub(crate) fn fingerprint(value: &impl Hash) -> u64 {
    let mut print = Print::default();
    value.hash(&mut print);
    print.finish()
}

/// As rustc-hash does it where addresses have 64 bits.
#[derive(Default)]
struct Print(u64);

impl Print {
    fn add(&mut self, word: u64) {
        self.0 = self.0.wrapping_add(word).wrapping_mul(0xf135_7aea_2e62_a9c5);
    }
}

impl Hasher for Print {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
            self.add(word);
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.add(word.into());
    }

    fn write_u16(&mut self, word: u16) {
        self.add(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.add(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

fn arguments<'t>(all: &'t Pile<Value>, atom: &Atom) -> &'t [Value] {
    all.slice(atom.first as usize, atom.count as usize)
}
