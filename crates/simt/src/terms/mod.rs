//! The values that a run computes on, as terms over atoms, and the questions about them.
//!
//! [`value`] defines the terms. [`normal_form`] and [`fold`] build them by HLSL's arithmetic. [`mod@column`]
//! holds one value for each thread.
//! Four modules track where a term comes from: [`taint`] (which atomics it depends on), [`shape`] (how it
//! derives from data), [`rounding`] (in which order floats were combined) and [`packed16`] (which halves of
//! words it uses).
//! [`ranked`] finds the index of the least or greatest element in a term. [`sample`] evaluates terms on inputs,
//! and [`formula`] renders them for people. No module in here knows about the thread group that runs.
//!
//! This file interns the atoms: the same operation on equal operands is the same atom.

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
use crate::terms::taint::Taint;
use crate::terms::value::{Op, Value};

/// How deep nested operations are rebuilt on inputs.
const MAX_NESTED: u32 = 16;
/// How many atoms [`Terms::is_chosen_by_inputs`] looks at.
const MAX_ASKED: usize = 64;

/// What an atom stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term<'t> {
    /// Element `index` of a block of free inputs, e.g. the initial contents of a groupshared array in a probe.
    Input { block: u32, index: u32 },
    /// A deterministic operation on values.
    Apply(&'t Op, &'t [Value]),
    /// An unknown value, not even known to equal another one.
    Fresh(u32),
}

/// The stored form of a [`Term`]. A run may make a million of them, so they are small and lie in few
/// allocations.
#[derive(Clone)]
struct Atom {
    kind: AtomKind,
    /// Where the operation's arguments start in `Terms::arguments`.
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
    /// By atom number: the [`Taint`] of the atom, as an index into `taints`.
    taint_of: Vec<u32>,
    /// Deduplicated: few differ.
    taints: Vec<Taint>,
    numbers: FxHashMap<Taint, u32>,
    /// The atoms of operations, each with the hash of its operation and operands.
    interned: HashTable<(u32, u32)>,
    names: Vec<Box<str>>,
    symbols: FxHashMap<Box<str>, Symbol>,
    fresh: u32,
    blocks: u32,
    work: Cell<usize>,
    /// Atoms that are assumed to equal a number.
    assumed: FxHashMap<u32, u32>,
    /// While these are set, operations on known operands evaluate to their value on these inputs.
    at_hand: Option<Inputs>,
    /// Blocks of inputs whose low halves have atoms.
    pub halved: Vec<Halved>,
    /// By atom: its shape, once computed.
    pub shapes: RefCell<FxHashMap<u32, Result<Shape, ShapeError>>>,
    /// Inputs by name.
    pub inputs: FxHashMap<Symbol, Input>,
    /// The interned history of device memory: the number of each moment.
    pub moments: FxHashMap<Moment, u32>,
    pub floats: Floats,
    /// Which assumptions about floats the terms rely on.
    pub needs: Cell<Needs>,
    /// Operations on numbers evaluate as they stand, with floats rounded.
    pub takes_numbers: bool,
    /// How each float sum and product was made; `None` unless recorded.
    pub derivations: Option<Derivations>,
}

/// Which floats a run assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floats {
    Any,
    /// No float is NaN, so `a < b ? a : b` is a minimum. `exp2` and `pow` give the exact whole number where
    /// there is one: hardware does so, although D3D does not promise it.
    Numbers,
}

/// What a result requires of floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// No compared float is NaN.
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

/// What samples need to know about an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub words: Words,
    /// Every index from here on is out of range, however large the resource is.
    pub end: Option<u32>,
}

/// What the words of an input are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    Any,
    /// Only some words occur, as in a bool or in a number between 0 and 1.
    Narrow,
    /// Addressed by byte.
    Bytes,
    Floats,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            atoms: Pile::default(),
            arguments: Pile::default(),
            taint_of: Vec::new(),
            taints: vec![Taint::default(), Taint::OPAQUE],
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
    /// An empty set of terms under this assumption about floats.
    pub fn of(floats: Floats) -> Terms {
        Terms {
            floats,
            ..Terms::default()
        }
    }

    /// Drops all atoms for another run, and keeps the memory.
    pub fn clear(&mut self) {
        self.atoms.clear();
        self.arguments.clear();
        self.taint_of.clear();
        self.taints.truncate(2);
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

    /// The number of atoms and arguments looked up or evaluated so far. It bounds a run's memory and time.
    pub fn work(&self) -> usize {
        self.work.get()
    }

    pub fn note_work(&self, atoms: usize) {
        self.work.set(self.work.get().saturating_add(atoms));
    }

    fn push(&mut self, kind: AtomKind, arguments: &[Value], taint: u32) -> u32 {
        let number = u32::try_from(self.atoms.end()).unwrap_or(u32::MAX - 1);
        self.note_work(1);
        let first = self.arguments.add(arguments);
        self.atoms.push(Atom {
            kind,
            first: u32::try_from(first).unwrap_or(u32::MAX),
            count: u32::try_from(arguments.len()).unwrap_or(0),
        });
        self.taint_of.push(taint);
        number
    }

    /// Adds a block of `length` free inputs with consecutive atoms, and returns the first atom's number.
    pub fn inputs(&mut self, length: u32) -> u32 {
        let block = self.blocks;
        self.blocks += 1;
        let first = u32::try_from(self.atoms.end()).unwrap_or(u32::MAX - 1);
        for index in 0..length {
            self.push(AtomKind::Input { block, index }, &[], 0);
        }
        first
    }

    /// The initial, unknown content of a place in a thread: the same value on every call.
    pub fn free(&mut self, place: Symbol, component: u32, thread: u32) -> Value {
        let op = Op::Free {
            place,
            component,
            thread,
        };
        self.apply(op, &[])
    }

    /// One free value per component and lane: the same values on every call with this name.
    pub fn free_columns(&mut self, name: &str, count: usize, lanes: usize) -> Vec<Column> {
        let name = self.symbol(name);
        (0u32..)
            .take(count)
            .map(|component| Column::from_fn(lanes, |lane| self.free(name, component, lane as u32)))
            .collect()
    }

    /// A new unknown value.
    pub fn fresh(&mut self) -> Value {
        self.fresh += 1;
        let opaque = self.number_of(Taint::OPAQUE);
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
        // On 32-bit targets the hash has 32 bits too.
        let hash = (hash >> 32 ^ hash) as u32;
        // The table uses both the high and the low bits of the hash.
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
        let taint = Taint::of(op, operands.iter().map(|value| self.taint(value)));
        let taint = self.number_of(taint);
        let atom = self.push(AtomKind::Apply(op), operands, taint);
        self.interned
            .insert_unique(spread(hash), (hash, atom), |(hash, _)| spread(*hash));
        atom
    }

    /// The value of an operation's atom: its assumed number, or its value on the inputs at hand, or the atom
    /// itself.
    fn settled(&self, atom: u32, operands: &[Value]) -> Value {
        let value = Value::atom(atom);
        let are_known = || operands.iter().all(|operand| operand.known().is_some());
        match (self.assumed.get(&atom), &self.at_hand) {
            (Some(word), _) => Value::Known(*word),
            (None, Some(inputs)) if are_known() => self.word_for(&value, inputs).map_or(value, Value::Known),
            _ => value,
        }
    }

    /// The value on these inputs; `None` if it depends on something that samples cannot compute.
    fn word_for(&self, value: &Value, inputs: &Inputs) -> Option<u32> {
        let mut sample = Sample::possible(self, inputs.seed, &inputs.given);
        let word = sample.value(value);
        (!sample.guessed).then_some(word)
    }

    /// From here on, evaluates each operation on known operands on these inputs. An assumption about a buffer
    /// element carries over to the element whose index the inputs give.
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

    /// The operation of an atom, with its operands evaluated on the inputs at hand.
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

    /// Stops evaluating operations on the inputs of [`Terms::take_inputs`].
    pub fn leave_inputs(&mut self) {
        self.at_hand = None;
    }

    /// The index of this taint in `taints`; adds it if it is new.
    fn number_of(&mut self, taint: Taint) -> u32 {
        let first = [Taint::default(), Taint::OPAQUE];
        if let Some(number) = (0..).zip(first).find(|(_, known)| *known == taint) {
            return number.0;
        }
        let next = u32::try_from(self.taints.len()).unwrap_or(1);
        *self.numbers.entry(taint).or_insert_with(|| {
            self.taints.push(taint);
            next
        })
    }

    /// Assumes from here on that an operation's atom equals `word`. Values made before stay as they are.
    pub fn assume(&mut self, atom: u32, word: u32) {
        self.assumed.insert(atom, word);
    }

    pub fn forget_assumptions(&mut self) {
        self.assumed.clear();
    }

    /// Whether the value depends on something unknown, so that different terms may still be equal values.
    pub fn is_opaque(&self, value: &Value) -> bool {
        self.taint(value).opaque
    }

    /// Whether inputs certainly choose the value: it depends on some input, and no operation in it is one that
    /// is not worked out, such as `saturate`. `false` also where the value has too many atoms to tell.
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

    /// Whether an unknown index contains the group's number: in a sum, or in the index of an element.
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
    pub fn taint(&self, value: &Value) -> Taint {
        let of = |number: u32| self.taints.get(number as usize).copied().unwrap_or(Taint::OPAQUE);
        let of_run = |start: u32, end: u32| match self.taint_of.get(start as usize..end as usize) {
            Some(&[number]) => of(number),
            Some([first, rest @ ..]) if rest.iter().all(|number| number == first) => of(*first),
            Some(numbers) => Taint::joined(numbers.iter().map(|number| of(*number))),
            None => Taint::OPAQUE,
        };
        match value {
            Value::Known(_) => Taint::default(),
            Value::Run { start, end, .. } => of_run(*start, *end),
            Value::Sum(sum) => Taint::joined(sum.parts.iter().map(|part| of_run(part.start, part.end))),
        }
    }

    /// Whether the value depends only on the group's number and members of `cbuffer`s. Such values tell threads
    /// apart; they are not the data that threads work on.
    pub fn is_place(&self, value: &Value) -> bool {
        value.atoms().all(|atom| match self.term(atom) {
            Some(Term::Apply(Op::GroupId(_), _)) => true,
            Some(Term::Apply(Op::Uniform { .. }, arguments)) => arguments.is_empty(),
            _ => false,
        })
    }

    /// Whether the value is an offset in components ([`Op::Offset`]) rather than an index.
    pub fn is_offset(&self, value: &Value) -> bool {
        matches!(self.single(value), Some(Term::Apply(Op::Offset, _)))
    }

    /// The term of a value that is a single atom.
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

/// A fingerprint that almost certainly tells `value` from others. It is the same on every machine, so that
/// samples are reproducible.
pub(crate) fn fingerprint(value: &impl Hash) -> u64 {
    let mut print = Print::default();
    value.hash(&mut print);
    print.finish()
}

/// The hash of rustc-hash on 64-bit targets.
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
