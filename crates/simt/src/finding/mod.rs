//! The findings of a run, as a rule can report them.

pub(crate) mod leftovers;

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{Expr, ExprKind, FunctionId, GlobalId, LocalId, Scalar, Shader, Span, Type, UnaryOp};

use crate::facts::calls::Atomic;
use crate::finding::leftovers::Leftovers;
use crate::terms::Needs;
use crate::terms::operator::Operator;
use crate::terms::packed16::Half;
use crate::terms::sample::Inputs;
use crate::waves::LaneMap;

/// The findings of the runs of one entry point.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// `numthreads`.
    pub group_size: [u32; 3],
    pub collectives: Vec<Collective>,
    pub races: Vec<Race>,
    /// Pairs of source positions, each in text order, where two threads may access one cell between two
    /// barriers, at least one of them writing. Contains the pairs of `races`, and pairs whose cells, values or
    /// conditions the run does not know. An access at an unknown index of an array that others write is paired
    /// with itself.
    pub unsettled: FxHashSet<(Span, Span)>,
    /// Barriers that some threads reach and others do not, at most one finding per barrier.
    pub divergences: Vec<Divergence>,
    /// Accesses of groupshared arrays out of bounds, at most one per source position.
    pub out_of_bounds: Vec<OutOfBounds>,
    /// Reads of groupshared memory that was never written, at most one per source position.
    pub uninitialised: Vec<Uninitialised>,
    /// How the kernel depends on the wave size or packing.
    pub wave_dependence: Option<WaveDependence>,
    pub contended_atomics: Vec<ContendedAtomic>,
    /// Scans and reductions of a wave's registers through reads of other lanes.
    pub wave_ladders: Vec<WaveLadder>,
    /// The run did not follow all accesses to groupshared memory, so ladders and races there may be missing.
    pub has_gaps: bool,
    /// The cost of the first run, in statements times threads.
    pub steps: u64,
    /// The cost of the runs, in values made and looked at.
    pub work: u64,
    /// Where and why the run stopped early. Earlier findings still hold.
    pub stopped: Option<Stop>,
    /// Where and why the run for contended atomics stopped early.
    pub atomics_stopped: Option<Stop>,
    /// Where and why the runs with assumed loop bounds stopped early, if none of them found anything.
    pub passes_stopped: Option<Stop>,
}

impl Analysis {
    /// Whether the kernel, as far as the run followed it, has no race, no access out of bounds, and no
    /// divergent barrier.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.races.is_empty() && self.out_of_bounds.is_empty() && self.divergences.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub reason: String,
    pub span: Span,
    /// Work that a run may skip used up at least half of its steps or atoms.
    pub(crate) by_asides: bool,
}

impl Stop {
    pub(crate) fn new(reason: &str, span: Span) -> Stop {
        Stop {
            reason: reason.to_owned(),
            span,
            by_asides: false,
        }
    }

    /// A stop because the steps or atoms were used up.
    pub(crate) fn ran_out(span: Span) -> Stop {
        Stop::new("the run takes too many steps", span)
    }
}

/// An action that no barrier is known to order with all steps of a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amid {
    /// A read of one of its arrays; the run assumes that it may return anything.
    Read(Span),
    /// Whatever follows this barrier, which only some inputs lead to.
    Barrier(Span),
}

/// A computation that the threads of a group perform together, proved for every input.
#[derive(Clone, Debug)]
pub struct Collective {
    pub kind: Kind,
    pub operator: Operator,
    pub element: Scalar,
    /// The number of components of an element, if it is a vector whose components are all combined in the same
    /// way. The places are then those of whole vectors.
    pub vector: Option<u8>,
    /// Set if elements and results are halves of words: sums modulo 2^16.
    pub half: Option<Half>,
    /// The places of the elements at the start and of the result at the end.
    pub input: Elements,
    pub output: Elements,
    /// The number of elements.
    pub count: u32,
    /// The number of elements after which a scan starts anew; `count` if it never does.
    pub segment: u32,
    /// The scan runs from the last element to the first.
    pub reversed: bool,
    pub shape: Shape,
    /// The number of steps that combine partial results across threads, counted in the run.
    pub rounds: u32,
    /// The number of group barriers passed, counted in the run.
    pub barriers: u32,
    /// Each barrier in the construct's text, once.
    pub barrier_spans: Vec<Span>,
    /// A barrier or fence of its statements orders device memory.
    pub orders_device: bool,
    /// The groupshared arrays and resources that the elements pass through.
    pub arrays: Vec<GlobalId>,
    /// Further results of the same statements, of other elements or by another operator.
    pub beside: Vec<Beside>,
    /// For an extremum: the data that is chosen with it.
    pub companions: Option<Companions>,
    /// From the first to the last statement of the construct.
    pub span: Span,
    /// The function whose text holds `span`.
    pub function: FunctionId,
    /// The loop bounds for which it was proved, if some are unknown at compile time.
    pub instances: Vec<Instance>,
    /// Those of `arrays` that are resources. The finding assumes that no other group writes the group's
    /// elements meanwhile.
    pub tiles: Vec<Extent>,
    /// It holds for inputs for which all threads reach its barriers.
    pub assumes_convergence: bool,
    /// What it requires of floats.
    pub needs: Needs,
    /// What may happen meanwhile, as far as the run knows.
    pub amid: Option<Amid>,
    /// What code in its place needs to know, or why none is possible.
    pub rewrite: Result<Rewrite, Obstacle>,
    /// For a reduction: the partial results that it leaves besides the total.
    pub(crate) leftovers: Leftovers,
}

/// Data that belongs to the least or greatest element and is carried along with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companions {
    /// Arrays, each with a component of its elements. The chosen element's component ends in the element that
    /// holds the extremum.
    pub components: Vec<(GlobalId, usize)>,
    pub order: Order,
}

/// The order of elements that decides which of several equal ones is kept: the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Ascending,
    /// By element number with the bits reversed, as a ladder of halves compares them: 0, 4, 2, 6, 1, 5, 3, 7.
    BitReversed,
}

/// A further result of a collective's statements, over the same number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    pub operator: Operator,
    pub output: Elements,
    /// Other places that hold the same result.
    pub(crate) also: Vec<Elements>,
}

impl Collective {
    /// The type of its elements.
    #[must_use]
    pub fn element_type(&self) -> Type {
        match self.vector {
            Some(count) => Type::Vector(self.element, count),
            None => Type::Scalar(self.element),
        }
    }

    /// The collective without its last step, if that stays in the text; otherwise unchanged.
    #[must_use]
    pub fn without_last_step(&self) -> Collective {
        let mut replaced = self.clone();
        if let Ok(Rewrite {
            last_step: Some(step),
            ..
        }) = &self.rewrite
        {
            replaced.span = step.before;
            replaced.output = step.cell.clone();
        }
        replaced
    }

    /// The collective for a further result of its statements, if its elements, of type `element`, start where
    /// the result ends.
    #[must_use]
    pub fn further(&self, result: &Beside, element: Scalar) -> Collective {
        Collective {
            operator: result.operator,
            element,
            input: result.output.clone(),
            output: result.output.clone(),
            beside: Vec::new(),
            companions: None,
            ..self.clone()
        }
    }

    /// The operators of all its results.
    pub fn operators(&self) -> impl Iterator<Item = Operator> {
        std::iter::once(self.operator).chain(self.beside.iter().map(|beside| beside.operator))
    }

    /// Whether regrouping the operands never changes any of its results.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.operators().all(Operator::is_exact)
    }

    /// Whether its statements may sort several arrays, each with its least element first.
    #[must_use]
    pub fn may_be_of_sorted(&self) -> bool {
        let is_alike = |beside: &Beside| beside.operator == self.operator;
        self.operator.is_extremum() && self.beside.iter().any(is_alike)
    }

    /// The HLSL name of the element type.
    #[must_use]
    pub fn element_name(&self) -> String {
        let count = self.vector.map(|count| count.to_string());
        format!("{}{}", self.element.name(), count.unwrap_or_default())
    }
}

/// A value that is the same for all threads and assumed to be a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its name in the source.
    pub bound: String,
    pub value: u32,
}

impl Instance {
    const GROUP: &'static str = "SV_GroupID";

    /// The group whose `SV_GroupID` is 0.
    pub(crate) fn first_group() -> Self {
        Instance {
            bound: Instance::GROUP.to_owned(),
            value: 0,
        }
    }

    /// Whether it is the group's number rather than a loop bound.
    #[must_use]
    pub fn is_of_group(&self) -> bool {
        self.bound == Instance::GROUP
    }
}

/// Where a collective's elements in a resource begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    pub resource: GlobalId,
    /// The index of element 0 (in byte-address buffers, its address), as HLSL text; empty for 0.
    pub start: String,
    /// The distance between consecutive elements in indices: 4 in byte-address buffers.
    pub stride: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    InclusiveScan,
    ExclusiveScan,
    /// All elements combined into one.
    Reduction,
}

/// The shape of the computation, inferred from the partial results at its barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Hillis–Steele (Kogge–Stone): windows whose width doubles.
    Doubling,
    /// Blelloch, Brent–Kung: the total exists before the scan does.
    Sweeps,
    /// Partial results whose width doubles in another way: Sklansky's scan, a reduction by halves.
    Tree,
    /// All elements combined between two barriers.
    Serial,
    Other,
}

/// Where the elements of a collective lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Element `i` is `array[offset + i]`, or a component of it, numbered among the scalars of an element. In
    /// an array of arrays, elements are counted along dimension `axis`, starting from the innermost.
    Array {
        global: GlobalId,
        offset: u32,
        component: Option<u8>,
        axis: u8,
    },
    /// Elements in ascending positions of an array with gaps between them, such as padding against bank
    /// conflicts. With a `shift`, element `i` is `array[i + (i >> shift)]`.
    Spread { global: GlobalId, shift: Option<u32> },
    /// One element of an array, or a component of it, counted as for [`Elements::Array`].
    Cell {
        global: GlobalId,
        index: u32,
        component: Option<u8>,
        axis: u8,
    },
    /// Thread `i`'s element is its own variable, or a component of it. For a reduction, every thread's variable
    /// holds the result.
    Register { local: LocalId, component: Option<u8> },
    /// One thread's variable.
    OneRegister {
        local: LocalId,
        component: Option<u8>,
        thread: u32,
    },
    /// The value of an expression in one thread, or a component of it.
    Expression {
        span: Span,
        component: Option<u8>,
        thread: u32,
    },
}

impl Elements {
    /// The component, if the place is one of several.
    pub(crate) fn component(&self) -> Option<u8> {
        match self {
            Elements::Array { component, .. }
            | Elements::Cell { component, .. }
            | Elements::Register { component, .. }
            | Elements::OneRegister { component, .. }
            | Elements::Expression { component, .. } => *component,
            Elements::Spread { .. } => None,
        }
    }

    /// The same place with another component, or with all.
    pub(crate) fn with_component(&self, other: Option<u8>) -> Elements {
        let mut place = self.clone();
        match &mut place {
            Elements::Array { component, .. }
            | Elements::Cell { component, .. }
            | Elements::Register { component, .. }
            | Elements::OneRegister { component, .. }
            | Elements::Expression { component, .. } => *component = other,
            Elements::Spread { .. } => {}
        }
        place
    }
}

/// A last step that stays in the text because its statement does something else too, such as storing the total.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastStep {
    /// The statements before it, which leave partial results.
    pub before: Span,
    /// The edits of the step's text, given that the cell already holds the total.
    pub edits: Vec<StepEdit>,
    /// The cell in which the statements before must leave the total: that of the first element.
    pub cell: Elements,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEdit {
    /// The expression computes the total, and now reads it from the cell.
    ReadTotal(Span),
    /// The statement is no longer needed.
    Remove(Span),
}

impl StepEdit {
    #[must_use]
    pub fn span(&self) -> Span {
        match *self {
            StepEdit::ReadTotal(span) | StepEdit::Remove(span) => span,
        }
    }
}

/// What a replacement needs to know about the construct's surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The last step, if it stays in the text and only the rest is replaced.
    pub last_step: Option<LastStep>,
    /// An expression in scope whose value is the thread's element index, e.g. `gi` or `tid.x`.
    pub lane: String,
    /// If no variable holds that index, `lane` is the thread's place in its row of the group, and this is the
    /// row.
    pub row: Option<String>,
    /// Variables that are live after the construct, with the values that it leaves in them, as HLSL text.
    pub settled: Vec<(LocalId, String)>,
    /// Variables whose final value no compiled statement reads.
    pub unread: Vec<(LocalId, FinalValue)>,
    /// Variables that hold a further result of a reduction, with its number.
    pub further: Vec<(LocalId, usize)>,
    /// Other places where the construct leaves the same result. The replacement's proof must rule out that
    /// anything uses what else the construct leaves in its arrays, or a reduction in the variables of other
    /// threads.
    pub also: Vec<Elements>,
    /// Stores of the elements' total within the construct, as in a scan of one block of many.
    pub stored: Vec<Stored>,
    /// Whether a barrier comes after the construct's last access to groupshared memory.
    pub ends_with_barrier: bool,
}

/// What a construct leaves in a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinalValue {
    /// The same number in all threads, as HLSL text.
    Number(String),
    /// Its result, or the further result with this number.
    Result(Option<usize>),
    Other,
}

/// An assignment or a call of `Store` in a construct's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    pub whole: Span,
    /// The stored value.
    pub value: Span,
}

/// Why other code cannot replace a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A scan that starts anew after this many elements.
    Segmented(u32),
    /// Its elements are halves of words.
    Halves,
    /// An extremum that also chooses data of the least or greatest element, such as its position, by more than
    /// the order of the elements.
    Companions,
    /// A scan with neither one nor two elements per thread.
    ElementsPerThread,
    /// A variable that it declares is used outside of it.
    Declares(LocalId),
    /// Its result is part of an expression, or in a variable that it declares.
    NoPlace,
    /// Later code reads what it leaves in this variable, and that is not one number for all threads.
    Leaves(LocalId),
    /// No variable in scope holds the thread's index in its group.
    NoIndex,
    /// Threads may return inside it, or leave a loop around it.
    MayLeave,
    /// It writes a resource or a static variable.
    Writes(GlobalId),
    /// It writes a resource through a variable or parameter.
    WritesHandle,
    /// It contains an atomic, or reads a writable resource.
    SharesMemory,
    /// It contains a statement that the run cannot follow.
    Unfollowed,
    /// It was proved for some of the kernel's runs, but not for all.
    SomeRuns,
}

/// A scan or reduction that the lanes of each wave compute from their registers by `WaveReadLaneAt`, proved for
/// every input and at every wave size that the kernel allows.
#[derive(Clone, Debug)]
pub struct WaveLadder {
    pub kind: Kind,
    pub operator: Operator,
    pub element: Scalar,
    /// The scan runs from the last lane to the first.
    pub reversed: bool,
    /// The variables that hold the elements at the start and the result at the end. Element `i` belongs to the
    /// `i`-th active lane of the wave.
    pub input: Elements,
    pub output: Elements,
    /// The lanes that hold the result: for a scan, all.
    pub holders: Holders,
    /// The wave sizes at which it runs.
    pub sizes: Vec<u32>,
    /// The fewest and the most reads of other lanes at any of these sizes, counted in the run.
    pub reads: (u32, u32),
    /// It requires that `?:` evaluates both arms, as before HLSL 2021, because an arm reads lanes.
    pub needs_both_arms: bool,
    /// From the first to the last statement of the construct.
    pub span: Span,
    /// The function whose text holds `span`.
    pub function: FunctionId,
}

/// A set of a wave's active lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holders {
    AllLanes,
    FirstLane,
}

/// Two threads access one cell in one barrier interval, at least one of them writing.
#[derive(Clone, Debug)]
pub struct Race {
    pub array: GlobalId,
    /// The element of the array that both access.
    pub index: u32,
    pub first: Access,
    pub second: Access,
    /// The number of group barriers passed before.
    pub interval: u32,
    /// The last barrier before, as in [`Divergence`]: the same for both accesses.
    pub since: Option<Point>,
    /// The memory barriers that the run passed between the two accesses. No thread waits for another at them.
    pub fences: Vec<Span>,
    /// A condition on inputs under which one of the two accesses happens. `None` if both happen for any inputs,
    /// or for the inputs for which one statement leads to both.
    pub condition: Option<Under>,
    /// Loop bounds for which the race happens; empty if it happens for all.
    pub given: Vec<Instance>,
    /// The thread whose index depends on data, if any. With other data, it races with another thread on another
    /// element.
    pub data_dependent: Option<u32>,
    /// The wave size at which the race happens as described, if other wave sizes change its details; `None` if
    /// it is the same at every wave size.
    pub wave_size: Option<u32>,
    /// At another wave size, other threads race, or on another element, or in other iterations.
    pub(crate) is_met_otherwise: bool,
    /// Inputs for which the race happens.
    pub(crate) inputs: Inputs,
}

impl Race {
    /// Whether the same threads race on the same element at the same time in another run.
    pub(crate) fn is_met_like(&self, other: &Race) -> bool {
        (self.index, &self.first, &self.second, &self.since, &self.fences)
            == (
                other.index,
                &other.first,
                &other.second,
                &other.since,
                &other.fences,
            )
    }

    /// Whether one of its two accesses is within the construct, which means before its first barrier or after
    /// its last one.
    #[must_use]
    pub fn has_part(&self, found: &Collective) -> bool {
        let is_within =
            |access: &Access| found.span.start <= access.span.start && access.span.end <= found.span.end;
        found.arrays.contains(&self.array) && (is_within(&self.first) || is_within(&self.second))
    }
}

/// A condition of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Under {
    pub condition: Span,
    /// Whether the condition must hold or must not.
    pub holds: bool,
    pub thread: u32,
}

/// A variable, or a number that the host sets, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// As it is written in source, e.g. `Size.x`.
    pub name: String,
    pub scalar: Scalar,
    pub word: u32,
}

impl fmt::Display for NamedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NamedValue { name, scalar, word } = self;
        match scalar {
            Scalar::Float | Scalar::Half => write!(f, "{name} = {}", f32::from_bits(*word)),
            Scalar::Int => write!(f, "{name} = {}", word.cast_signed()),
            Scalar::Bool => write!(f, "{name} = {}", *word != 0),
            _ => write!(f, "{name} = {word}"),
        }
    }
}

/// An element of an array as it is written in source, `Row[1][2]`. `index` counts all elements of nested arrays
/// in order. A variable that is no array has no index.
pub fn element_text(shader: &Shader, array: GlobalId, index: i64) -> String {
    let Some(global) = shader.globals.get(array.0 as usize) else {
        return "groupshared memory".to_owned();
    };
    let mut text = global.name.clone();
    let (mut rest, mut ty) = (index, &global.ty);
    while let Type::Array(element, _) = ty {
        let mut inner = &**element;
        let mut elements = 1;
        while let Type::Array(element, length) = inner {
            elements *= i64::from(*length).max(1);
            inner = element;
        }
        let _ = write!(text, "[{}]", rest.div_euclid(elements));
        rest = rest.rem_euclid(elements);
        ty = element;
    }
    text
}

/// A barrier that one thread reaches and another one does not.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The barrier.
    pub span: Span,
    /// A thread that reaches it.
    pub here: u32,
    /// A thread that does not.
    pub away: u32,
    /// The condition by which the other thread diverged, or the statement by which it left, if known.
    pub parted: Option<Span>,
    /// Values set by the host for which this happens; empty if it happens for all.
    pub given: Vec<NamedValue>,
    /// The last barrier passed before, or the unfollowed statement that may contain it. `None` if there was
    /// none.
    pub since: Option<Point>,
    /// As in [`Point`].
    pub around: Vec<Around>,
}

/// A thread accesses a groupshared array out of bounds.
#[derive(Clone, Debug)]
pub struct OutOfBounds {
    pub array: GlobalId,
    pub index: i32,
    /// The value of a read flows into a resource.
    pub access: Access,
    /// As in [`Divergence`].
    pub since: Option<Point>,
}

/// A thread reads a cell that no thread has written, and the value flows into a resource.
#[derive(Clone, Debug)]
pub struct Uninitialised {
    pub array: GlobalId,
    pub index: u32,
    pub read: Access,
    /// Where the value is stored.
    pub used: Span,
    /// As in [`Divergence`].
    pub since: Option<Point>,
    pub(crate) interval: u32,
}

/// A kernel is wrong at some wave sizes or packings and right at others.
#[derive(Clone, Debug)]
pub struct WaveDependence {
    /// The wave sizes at which it is wrong, ascending.
    pub sizes: Vec<u32>,
    pub map: LaneMap,
    /// A wave size and packing at which it is right, as far as known.
    pub sound: (u32, LaneMap),
    /// For some other wave sizes, nothing is known.
    pub is_in_part: bool,
    pub effect: WaveEffect,
}

#[derive(Clone, Debug)]
pub enum WaveEffect {
    OutOfBounds(OutOfBounds),
    Races(Race),
    /// A place, named for the first group, gets another value.
    Differs {
        place: String,
        thread: u32,
        /// As formulas of the kernel's inputs.
        expected: String,
        got: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// `SV_GroupIndex` of the thread.
    pub thread: u32,
    pub is_write: bool,
    pub span: Span,
    /// As in [`Point`].
    pub around: Vec<Around>,
}

/// A source position as a run reaches it: within these calls and loop iterations, outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub span: Span,
    pub around: Vec<Around>,
}

/// What surrounds a source position in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Around {
    /// The call of a function.
    Call(Span),
    Pass {
        /// The loop.
        of: Span,
        iteration: Iteration,
    },
}

/// One iteration of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// From 0.
    pub number: u32,
    /// The loop's variable, if it has one, and its value in that iteration.
    pub variable: Option<NamedValue>,
}

/// A contended atomic: many threads of a wave may make it on one cell, or on few, in the same step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContendedAtomic {
    pub operation: Atomic,
    pub cells: Cells,
    /// The amount, in a run without races.
    pub amount: Amount,
    pub quantity: Quantity,
    pub old_value: OldValueUse,
    /// The code reads the variable that receives the old value. If a run loses track of it, it may be unused
    /// nevertheless.
    pub is_old_value_read: bool,
    /// The cells are groupshared; otherwise in device memory.
    pub is_shared: bool,
    /// The number of threads of the group that may take part.
    pub lanes: u32,
    /// All of them take part, for all inputs.
    pub is_certain: bool,
    /// The cell's index is known at every execution, and depends on nothing that is read.
    pub has_known_cell: bool,
    /// What happens to any cell of its groupshared array between the same barriers.
    pub meanwhile: Meanwhile,
    /// The expression that names the cell.
    pub place: Span,
    /// The whole call.
    pub span: Span,
    /// The function whose text holds `span`.
    pub function: FunctionId,
    /// Undeclared names in the address. The address is the same for all threads only if each name has the same
    /// value in all of them.
    pub supposed: BTreeSet<String>,
    /// Its parts, if one thread of a wave can make it for all, in place; for one of few cells, if it is a
    /// statement of its own.
    pub parts: Result<Parts, NotCombined>,
}

/// What may happen to an array between the same barriers as an atomic on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// Atomics alone.
    Atomics,
    /// A plain access, possibly of another cell, with its position if it ran.
    Plain(Option<Span>),
    /// The atomic may be on either side of this barrier, which perhaps not all inputs reach, or of the barriers
    /// of this statement.
    Unreached(Span),
    /// The barriers around it are unknown: the run did not see all of the kernel, not all inputs reach a
    /// barrier, or an unfollowed loop or branch around it contains barriers.
    Unknown,
}

/// Why one thread of a wave cannot make an atomic for all, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCombined {
    /// The run did not see every execution of it: it was not followed to its end, or the address depends on an
    /// undeclared name.
    Unfollowed,
    /// It is part of another statement, or in the head of a loop.
    NotAStatement,
    /// The cell or the amount is not `int` or `uint`, or their types differ.
    Type,
    /// No wave intrinsic combines with this operator.
    Operator,
    /// The old value is used other than as the index of a slot.
    OldValue,
    /// The expression that names the cell has effects, reads memory, or may change between iterations or calls.
    Cell,
    /// The cell belongs to a variable that may alias what others use under another name.
    Alias,
    /// This memory barrier lets a thread observe when its atomic is made.
    MemoryBarrier(Span),
    /// This other use of the same memory lets a thread observe it.
    OtherUse(Span),
    /// Another kind of atomic accesses it.
    OtherAtomic(Span),
    /// Another atomic on it uses its old value.
    OtherResult(Span),
}

/// The parts of an atomic's call that is a statement of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The call with its semicolon.
    pub statement: Span,
    /// It is the only statement in its block.
    pub is_alone: bool,
    /// The name, e.g. `InterlockedAdd`.
    pub name: &'static str,
    pub operator: Operator,
    /// The resource, if the call is its method.
    pub object: Option<Span>,
    /// The first argument: the cell, or a method's address.
    pub place: Span,
    pub amount: Span,
    pub quantity: Quantity,
    /// The target of the old value, if there is one and it is used.
    pub old: Option<Span>,
    /// The variable that receives an unused old value; its content does not matter.
    pub unused: Option<LocalId>,
    /// For one of few cells: the index or address that selects it.
    pub index: Option<Span>,
    /// The cell's type.
    pub cell: Scalar,
    /// The groupshared variable that contains the cell.
    pub array: Option<GlobalId>,
}

/// How an amount is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A literal such as `1` or `-1`.
    Figures,
    /// A variable, or a part of one.
    Variable,
    Expression,
}

/// Which cells the atomics of one step access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// The address is the same for all active threads.
    One,
    /// At most this many different addresses.
    Few(u32),
}

/// The amount that each thread contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Known(i32),
    /// The same for all active threads.
    Uniform,
    Varying,
}

/// What happens to the atomic's old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldValueUse {
    /// Nothing depends on it.
    Unused,
    /// It becomes an address, or is kept.
    Slot,
    /// It decides something, or the run does not follow its use.
    Otherwise,
}

impl Quantity {
    /// How an amount is written.
    pub(crate) fn of(expr: &Expr) -> Quantity {
        match &expr.kind {
            ExprKind::Literal(_) => Quantity::Figures,
            // An implicit conversion.
            ExprKind::Cast(inner) if inner.span == expr.span => Quantity::of(inner),
            ExprKind::Unary(UnaryOp::Negate, operand) if Quantity::of(operand) == Quantity::Figures => {
                Quantity::Figures
            }
            ExprKind::Local(_) => Quantity::Variable,
            ExprKind::Field(base, _) | ExprKind::Swizzle(base, _)
                if Quantity::of(base) == Quantity::Variable =>
            {
                Quantity::Variable
            }
            _ => Quantity::Expression,
        }
    }
}
