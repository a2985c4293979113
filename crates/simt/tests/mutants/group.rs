//! A thread group run for real: each thread by itself, in any order that the barriers allow.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{GlobalId, Intrinsic, Scalar};

use crate::program::{Cell, Memory, Op, Program};
use crate::words;

/// Vigna's xorshift64*.
pub struct Random(pub u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn word(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
    }

    /// What memory may hold that nothing was written to: as floats small whole numbers, so that sums stay exact.
    pub fn garbage(&mut self) -> u32 {
        ((self.word() % 100) as f32).to_bits()
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.word() as usize % bound.max(1)
    }
}

/// In which order threads take their turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By number, each up to its next barrier.
    InTurn,
    /// Any, each up to its next barrier.
    Shuffled,
    /// A few operations at a time.
    Fine,
}

/// Where a run has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every thread is at the mark.
    AtMark,
    /// Those that have not finished are.
    OthersLeft,
    Finished,
    /// Not every thread got to a barrier or to the mark that another one waits at.
    Apart,
    TooLong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Running,
    Waiting,
    /// It reads another lane, as soon as the others of its wave have come as far as they can.
    AtRead,
    AtMark,
    Finished,
}

#[derive(Clone)]
struct Thread {
    pc: u32,
    calls: Vec<u32>,
    slots: Vec<u32>,
    status: Status,
}

/// Who touched a word since the last barrier.
#[derive(Clone, Copy, Default)]
struct Touched {
    interval: u32,
    writer: Option<u16>,
    readers: [Option<u16>; 2],
    atomic: bool,
    /// Every write left the word as it was.
    idle: bool,
}

/// A component of a resource's element.
type Word = (GlobalId, Vec<u32>, u32);

pub type Buffers = BTreeMap<Word, u32>;

pub struct Group<'p> {
    program: &'p Program,
    threads: Vec<Thread>,
    /// Lanes of a wave; each is a run of consecutive threads.
    pub wave: u32,
    pub shared: Vec<Vec<u32>>,
    touched: Vec<Vec<Touched>>,
    touched_on_device: BTreeMap<Word, Touched>,
    pub written: Buffers,
    /// What the buffers hold.
    inputs: u64,
    order: Order,
    random: Random,
    groups: [u32; 3],
    /// Barriers passed that order groupshared memory, and those that order the device's.
    interval: u32,
    device_interval: u32,
    steps: u64,
    /// Two threads touched one word in one interval, and one of them changed it.
    pub raced: bool,
    /// The resources of which that holds.
    pub raced_in: BTreeSet<GlobalId>,
    /// Something was written outside an array.
    pub left_bounds: bool,
}

/// An index outside: no variable has as many words.
const OUTSIDE: u32 = u32::MAX;
/// Operations that one thread of a kernel that ends may need on average.
const STEPS: u64 = 6_000;

impl<'p> Group<'p> {
    pub fn new(program: &'p Program, inputs: u64, order: Order, nonce: u64) -> Group<'p> {
        let threads = program.group.iter().product::<u32>();
        let mut random = Random::new(nonce ^ inputs << 20);
        let mut garbage = |count: usize| -> Vec<u32> { (0..count).map(|_| random.garbage()).collect() };
        let shared: Vec<Vec<u32>> = program.shared.iter().map(|(_, words)| garbage(*words)).collect();
        let slots = garbage(program.slots as usize);
        let groups = [0, 1, 2].map(|axis| hash(inputs, &[axis]) % 5);
        let entry = program.entries.values().min().copied().unwrap_or(0);
        let thread = |index: u32| {
            let mut slots = slots.clone();
            let [width, height, _] = program.group;
            let within = [index % width, index / width % height, index / width / height];
            for (slot, semantic, component) in &program.system_values {
                let axis = *component as usize;
                slots[*slot as usize] = match semantic.as_str() {
                    "sv_groupindex" => index,
                    "sv_groupthreadid" => within[axis],
                    "sv_groupid" => groups[axis],
                    "sv_dispatchthreadid" => groups[axis] * program.group[axis] + within[axis],
                    other => panic!("{other} is no system value"),
                };
            }
            Thread {
                pc: entry,
                calls: Vec::new(),
                slots,
                status: Status::Running,
            }
        };
        Group {
            program,
            threads: (0..threads).map(thread).collect(),
            wave: 32,
            touched: shared
                .iter()
                .map(|cells| vec![Touched::default(); cells.len()])
                .collect(),
            shared,
            touched_on_device: BTreeMap::new(),
            written: BTreeMap::new(),
            inputs,
            order,
            random,
            groups,
            interval: 1,
            device_interval: 1,
            steps: STEPS * u64::from(threads),
            raced: false,
            raced_in: BTreeSet::new(),
            left_bounds: false,
        }
    }

    /// The words of each thread's variable from `first` on.
    pub fn slots(&self, first: u32) -> Vec<u32> {
        self.threads
            .iter()
            .map(|thread| thread.slots[first as usize])
            .collect()
    }

    /// Runs on until every thread is at the mark, or has finished.
    pub fn run(&mut self, mark: Option<u32>) -> End {
        for thread in &mut self.threads {
            if thread.status == Status::AtMark {
                thread.status = Status::Running;
            }
        }
        loop {
            let running: Vec<usize> = (0..self.threads.len())
                .filter(|thread| self.threads[*thread].status == Status::Running)
                .collect();
            if running.is_empty() && self.read_lanes() {
                continue;
            }
            if running.is_empty() {
                let all = |status| self.threads.iter().all(|thread| thread.status == status);
                if all(Status::Finished) {
                    return End::Finished;
                }
                if all(Status::AtMark) {
                    return End::AtMark;
                }
                let is_done = |thread: &Thread| matches!(thread.status, Status::AtMark | Status::Finished);
                if self.threads.iter().all(is_done) {
                    return End::OthersLeft;
                }
                let first = (self.threads[0].pc, self.threads[0].calls.clone());
                let same = |thread: &Thread| thread.pc == first.0 && thread.calls == first.1;
                if !(all(Status::Waiting) && self.threads.iter().all(same)) {
                    return End::Apart;
                }
                for thread in &mut self.threads {
                    thread.status = Status::Running;
                }
                // All wait at the same one.
                let last = self.program.code.get(first.0 as usize - 1);
                let orders = |other| !matches!(last, Some(Op::Barrier(name)) if *name == other);
                self.interval += u32::from(orders(Intrinsic::DeviceMemoryBarrierWithGroupSync));
                self.device_interval += u32::from(orders(Intrinsic::GroupMemoryBarrierWithGroupSync));
                continue;
            }
            let (chosen, most) = match self.order {
                Order::InTurn => (running[0], u64::MAX),
                Order::Shuffled => (running[self.random.below(running.len())], u64::MAX),
                Order::Fine => {
                    let most = 1 + self.random.below(12) as u64;
                    (running[self.random.below(running.len())], most)
                }
            };
            if !self.advance(chosen, mark, most) {
                return End::TooLong;
            }
        }
    }

    /// Lets the lanes of each wave read that are at the first of the reads at which some wait; whether there were any.
    /// That those behind catch up before those ahead go on is how code with a structure comes together again.
    fn read_lanes(&mut self) -> bool {
        let mut any = false;
        let size = self.wave.max(1) as usize;
        for first in (0..self.threads.len()).step_by(size) {
            let wave = first..(first + size).min(self.threads.len());
            let at = |thread: &Thread| (thread.calls.clone(), thread.pc);
            let waiting = wave.filter(|thread| self.threads[*thread].status == Status::AtRead);
            let waiting: Vec<usize> = waiting.collect();
            let Some(place) = waiting.iter().map(|thread| at(&self.threads[*thread])).min() else {
                continue;
            };
            any = true;
            let here: Vec<usize> = waiting
                .into_iter()
                .filter(|thread| at(&self.threads[*thread]) == place)
                .collect();
            let Some(Op::ReadLane(to, value, lane)) = self.program.code.get(place.1 as usize - 1) else {
                continue;
            };
            let word = |thread: usize, slot: &u32| self.threads[thread].slots[*slot as usize];
            let found: Vec<Option<u32>> = here
                .iter()
                .map(|thread| {
                    let source = first + word(*thread, lane) as usize;
                    here.contains(&source).then(|| word(source, value))
                })
                .collect();
            for (thread, found) in here.iter().zip(found) {
                // Of a lane that is not here it is any value at all.
                let found = found.unwrap_or_else(|| self.random.garbage());
                self.threads[*thread].slots[*to as usize] = found;
                self.threads[*thread].status = Status::Running;
            }
        }
        any
    }

    /// Runs one thread for some operations, or until it waits; whether there is time left.
    fn advance(&mut self, number: usize, mark: Option<u32>, most: u64) -> bool {
        let mut thread = std::mem::replace(
            &mut self.threads[number],
            Thread {
                pc: 0,
                calls: Vec::new(),
                slots: Vec::new(),
                status: Status::Finished,
            },
        );
        let mut left = most;
        while thread.status == Status::Running && left > 0 && self.steps > 0 {
            left -= 1;
            self.steps -= 1;
            self.step(number, &mut thread, mark);
        }
        self.threads[number] = thread;
        self.steps > 0
    }

    fn step(&mut self, number: usize, thread: &mut Thread, mark: Option<u32>) {
        let op = &self.program.code[thread.pc as usize];
        thread.pc += 1;
        let slots = &mut thread.slots;
        let at = |slot: &u32| *slot as usize;
        match op {
            Op::Const(to, word) => slots[at(to)] = *word,
            Op::Garbage(to) => slots[at(to)] = self.random.garbage(),
            Op::Move(to, from) => slots[at(to)] = slots[at(from)],
            Op::Unary(op, scalar, to, a) => slots[at(to)] = words::unary(*op, *scalar, slots[at(a)]),
            Op::Binary(op, scalar, to, a, b) => {
                slots[at(to)] = words::binary(*op, *scalar, slots[at(a)], slots[at(b)]);
            }
            Op::Cast(from, target, to, a) => slots[at(to)] = words::cast(*from, *target, slots[at(a)]),
            Op::Intrinsic(intrinsic, scalar, to, operands) => {
                let operands: Vec<u32> = operands.iter().map(|slot| slots[at(slot)]).collect();
                slots[at(to)] = words::intrinsic(*intrinsic, *scalar, &operands);
            }
            Op::Jump(to) => thread.pc = *to,
            Op::JumpUnless(condition, to) => {
                if slots[at(condition)] == 0 {
                    thread.pc = *to;
                }
            }
            Op::Index {
                to,
                base,
                index,
                stride,
                length,
            } => {
                let base = base.as_ref().map_or(0, |base| slots[at(base)]);
                let index = slots[at(index)];
                slots[at(to)] = if base == OUTSIDE || index >= *length {
                    OUTSIDE
                } else {
                    base + index * stride
                };
            }
            Op::Load(to, cell) => slots[at(to)] = self.load(number, cell, slots),
            Op::Store(cell, value) => self.store(number, cell, slots[at(value)], slots),
            Op::Atomic(intrinsic, cell, operands, old) => {
                let operands: Vec<u32> = operands.iter().map(|slot| slots[at(slot)]).collect();
                slots[at(old)] = self.atomic(number, *intrinsic, cell, &operands, slots);
            }
            Op::LaneIndex(to) => slots[at(to)] = number as u32 % self.wave,
            Op::LaneCount(to) => slots[at(to)] = self.wave,
            Op::ReadLane(..) => thread.status = Status::AtRead,
            Op::Barrier(_) => thread.status = Status::Waiting,
            Op::Call(function) => {
                thread.calls.push(thread.pc);
                thread.pc = self.program.entries[function];
            }
            Op::Return => match thread.calls.pop() {
                Some(caller) => thread.pc = caller,
                None => thread.status = Status::Finished,
            },
            Op::Mark(here) => {
                if Some(*here) == mark {
                    thread.status = Status::AtMark;
                }
            }
        }
    }

    fn address(cell: &Cell, slots: &[u32], length: usize) -> Option<usize> {
        let at = cell.at.map_or(0, |at| slots[at as usize]);
        let word = (at != OUTSIDE).then(|| (at + cell.component) as usize)?;
        (word < length).then_some(word)
    }

    fn load(&mut self, thread: usize, cell: &Cell, slots: &[u32]) -> u32 {
        match &cell.memory {
            Memory::Slots(first, count) => match Self::address(cell, slots, *count as usize) {
                Some(word) => slots[*first as usize + word],
                None => self.random.garbage(),
            },
            Memory::Shared(array) => match Self::address(cell, slots, self.shared[*array].len()) {
                Some(word) => {
                    self.touch(thread, *array, word, false, false, false);
                    self.shared[*array][word]
                }
                None => self.random.garbage(),
            },
            Memory::Device { resource, index } => {
                let index: Vec<u32> = index.iter().map(|slot| slots[*slot as usize]).collect();
                self.touch_on_device(thread, (*resource, index.clone(), cell.component), false, None);
                self.device(*resource, index, cell.component)
            }
        }
    }

    /// What a word of a resource holds.
    pub fn device(&self, resource: GlobalId, index: Vec<u32>, component: u32) -> u32 {
        let (scalar, name) = &self.program.resources[&resource];
        let key: Vec<u32> = name
            .bytes()
            .map(u32::from)
            .chain(index.iter().copied())
            .chain([component])
            .collect();
        if let Some(word) = self.written.get(&(resource, index, component)) {
            return *word;
        }
        input(self.inputs, *scalar, hash(self.inputs, &key))
    }

    fn store(&mut self, thread: usize, cell: &Cell, value: u32, slots: &mut [u32]) {
        match &cell.memory {
            Memory::Slots(first, count) => {
                if let Some(word) = Self::address(cell, slots, *count as usize) {
                    slots[*first as usize + word] = value;
                }
            }
            Memory::Shared(array) => match Self::address(cell, slots, self.shared[*array].len()) {
                Some(word) => {
                    let idle = self.shared[*array][word] == value;
                    self.touch(thread, *array, word, true, idle, false);
                    self.shared[*array][word] = value;
                }
                None => self.left_bounds = true,
            },
            Memory::Device { resource, index } => {
                let index = index.iter().map(|slot| slots[*slot as usize]).collect();
                let word = (*resource, index, cell.component);
                self.touch_on_device(thread, word.clone(), false, Some(value));
                self.written.insert(word, value);
            }
        }
    }

    fn atomic(
        &mut self,
        thread: usize,
        name: Intrinsic,
        cell: &Cell,
        operands: &[u32],
        slots: &[u32],
    ) -> u32 {
        match &cell.memory {
            Memory::Shared(array) => {
                let Some(word) = Self::address(cell, slots, self.shared[*array].len()) else {
                    self.left_bounds = true;
                    return self.random.garbage();
                };
                self.touch(thread, *array, word, true, false, true);
                let old = self.shared[*array][word];
                self.shared[*array][word] = words::atomic(name, old, operands);
                old
            }
            Memory::Device { resource, index } => {
                let index: Vec<u32> = index.iter().map(|slot| slots[*slot as usize]).collect();
                let old = self.device(*resource, index.clone(), cell.component);
                let new = words::atomic(name, old, operands);
                self.touch_on_device(
                    thread,
                    (*resource, index.clone(), cell.component),
                    true,
                    Some(new),
                );
                self.written.insert((*resource, index, cell.component), new);
                old
            }
            Memory::Slots(..) => self.random.garbage(),
        }
    }

    fn touch(&mut self, thread: usize, array: usize, word: usize, writes: bool, idle: bool, atomic: bool) {
        self.raced |= self.touched[array][word].meet(thread, self.interval, writes, idle, atomic);
    }

    fn touch_on_device(&mut self, thread: usize, word: Word, atomic: bool, stored: Option<u32>) {
        let known = self.written.get(&word);
        let idle = !atomic && stored.is_some() && known == stored.as_ref();
        let resource = word.0;
        let touched = self.touched_on_device.entry(word).or_default();
        if touched.meet(thread, self.device_interval, stored.is_some(), idle, atomic) {
            self.raced_in.insert(resource);
        }
    }

    /// The group's number along an axis.
    pub fn group_id(&self, axis: usize) -> u32 {
        self.groups[axis]
    }
}

impl Touched {
    /// Another access; whether it races with one before.
    fn meet(&mut self, thread: usize, interval: u32, writes: bool, idle: bool, atomic: bool) -> bool {
        let thread = thread as u16;
        let touched = self;
        if touched.interval != interval {
            *touched = Touched {
                interval,
                idle: true,
                ..Touched::default()
            };
        }
        let mut raced = false;
        let by_another = |other: &u16| *other != thread;
        let written = touched.writer.is_some_and(|writer| by_another(&writer));
        let read = touched.readers.iter().flatten().any(by_another);
        if writes {
            raced |= !idle && ((written && !(atomic && touched.atomic)) || read);
            if touched.writer.is_none() || !idle {
                touched.writer = Some(thread);
            }
            touched.idle &= idle;
            touched.atomic = atomic;
        } else {
            raced |= written && !touched.idle;
            let slot = touched
                .readers
                .iter()
                .position(|slot| slot.is_none_or(|reader| reader == thread));
            if let Some(slot) = slot {
                touched.readers[slot] = Some(thread);
            }
        }
        raced
    }
}

fn hash(seed: u64, words: &[u32]) -> u32 {
    let mut random = Random::new(seed + 1);
    for word in words {
        random.0 = (random.0 ^ u64::from(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        random.word();
    }
    random.word()
}

/// What a buffer holds: whole floats, whose sums and products are exact in any order.
fn input(seed: u64, scalar: Scalar, word: u32) -> u32 {
    match scalar {
        Scalar::Float | Scalar::Half => {
            let values: &[f32] = match seed % 2 {
                0 => &[1.0, 2.0, -1.0, -2.0],
                _ => &[0.0, 1.0, 3.0, 7.0, -5.0, 100.0],
            };
            values[word as usize % values.len()].to_bits()
        }
        Scalar::Bool => word & 1,
        _ if seed.is_multiple_of(3) => word % 10,
        _ => word,
    }
}
