//! What a run found out, in terms a rule can report.

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

/// What one entry point's run showed.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// `numthreads`.
    pub group_size: [u32; 3],
    pub collectives: Vec<Collective>,
    pub races: Vec<Race>,
    /// Pairs of places, each in text order, at which two threads may access one cell between two barriers, at least one of
    /// them writing. It holds the pairs of `races`, and pairs whose cells, values or conditions the run does not know. An
    /// access at an unknown index of an array that others write stands twice in its pair.
    pub unsettled: FxHashSet<(Span, Span)>,
    /// Barriers that some threads reach and others do not; one a barrier.
    pub divergences: Vec<Divergence>,
    /// Accesses of groupshared arrays at an index they do not have; one a place.
    pub out_of_bounds: Vec<OutOfBounds>,
    /// Reads of groupshared memory that nothing was written to; one a place.
    pub uninitialised: Vec<Uninitialised>,
    /// What other wave sizes or packings change.
    pub wave_dependence: Option<WaveDependence>,
    pub claims: Vec<Claim>,
    /// Scans and reductions of a wave's registers by reads of other lanes.
    pub wave_ladders: Vec<WaveLadder>,
    /// Not all accesses to groupshared memory were followed: ladders and races there may be missing.
    pub has_gaps: bool,
    /// What the first run took, in statements times threads.
    pub steps: u64,
    /// What the runs took: values made and looked at.
    pub work: u64,
    /// Where the run had to stop early, and why. What was found before then still holds.
    pub stopped: Option<Stop>,
    /// The same of the run for claims.
    pub claims_stopped: Option<Stop>,
    /// The same of the runs that take bounds which only the host knows for likely numbers, where none of them found anything.
    pub passes_stopped: Option<Stop>,
}

impl Analysis {
    /// Nothing races, leaves an array, or parts the threads at a barrier, as far as the kernel was followed.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.races.is_empty() && self.out_of_bounds.is_empty() && self.divergences.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub reason: String,
    pub span: Span,
    /// What a run may leave out used up at least half of its steps or atoms.
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

    /// Where the steps or atoms were used up.
    pub(crate) fn ran_out(span: Span) -> Stop {
        Stop::new("the run takes too many steps", span)
    }
}

/// What no barrier is known to order with all steps of a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amid {
    /// A read of one of its arrays, which was taken to find anything.
    Read(Span),
    /// What comes after this barrier, which only some inputs lead to.
    Barrier(Span),
}

/// A computation the threads of a group do together, proved for every input.
#[derive(Clone, Debug)]
pub struct Collective {
    pub kind: Kind,
    pub operator: Operator,
    pub element: Scalar,
    /// Components of an element, where it is a vector of which each is combined in the same way; then the places are of
    /// whole vectors.
    pub vector: Option<u8>,
    /// Set where the elements are halves of words, and so are the results: sums modulo 2^16.
    pub half: Option<Half>,
    /// Where the elements are at the start, and where the result is at the end.
    pub input: Elements,
    pub output: Elements,
    /// Number of elements.
    pub count: u32,
    /// Elements after which a scan starts anew; `count` where it does not.
    pub segment: u32,
    /// The scan runs from the last element to the first.
    pub reversed: bool,
    pub shape: Shape,
    /// Steps in which partial results were combined across threads, counted in the run.
    pub rounds: u32,
    /// Group barriers passed, counted in the run.
    pub barriers: u32,
    /// Each barrier in the text of the construct, once.
    pub barrier_spans: Vec<Span>,
    /// A barrier or fence of its statements orders device memory.
    pub orders_device: bool,
    /// The groupshared arrays, and the resources, through which elements went.
    pub arrays: Vec<GlobalId>,
    /// What the same statements make of other elements, or by another operator.
    pub beside: Vec<Beside>,
    /// Of an extremum: what is chosen with it.
    pub companions: Option<Companions>,
    /// From the first to the last statement of the construct.
    pub span: Span,
    /// The function whose text holds `span`.
    pub function: FunctionId,
    /// The bounds it was proved for, where some are not known when compiling.
    pub instances: Vec<Instance>,
    /// Those of `arrays` that are resources. What is said of them holds of a group whose elements there no other group
    /// writes meanwhile.
    pub windows: Vec<Extent>,
    /// That is so for inputs for which all threads reach its barriers.
    pub presumes: bool,
    /// What it needs of floats.
    pub needs: Needs,
    /// What may come meanwhile, as far as the run knows.
    pub amid: Option<Amid>,
    /// What code in its place has to know, or why there can be none.
    pub rewrite: Result<Rewrite, Obstacle>,
    /// Of a reduction: the partial results that it leaves besides the total.
    pub(crate) leftovers: Leftovers,
}

/// What belongs to the least or greatest element, and is carried along with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companions {
    /// Arrays, and the number of a component of their elements. The chosen element's is left in the element that the extremum is
    /// left in.
    pub components: Vec<(GlobalId, usize)>,
    pub order: Order,
}

/// The order of elements in which the first of equal ones is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Ascending,
    /// By their numbers with the bits reversed, as a ladder of halves compares them: 0, 4, 2, 6, 1, 5, 3, 7.
    BitReversed,
}

/// A further result of the statements that a collective is, over as many elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    pub operator: Operator,
    pub output: Elements,
    /// Other places of the same result.
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

    /// The same, ending before its last step where that stays in the text; else unchanged.
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

    /// The same of a further result of its statements, if its elements, of type `element`, begin where it is left.
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

    /// Whether regrouping what it combines never changes any of its results.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.operators().all(Operator::is_exact)
    }

    /// Whether its statements may have sorted several arrays, of each of which the least is in the first element.
    #[must_use]
    pub fn may_be_of_sorted(&self) -> bool {
        let is_alike = |beside: &Beside| beside.operator == self.operator;
        self.operator.is_extremum() && self.beside.iter().any(is_alike)
    }

    /// The name that HLSL gives that type.
    #[must_use]
    pub fn element_name(&self) -> String {
        let count = self.vector.map(|count| count.to_string());
        format!("{}{}", self.element.name(), count.unwrap_or_default())
    }
}

/// A bound that is the same for all threads, taken for a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// As the source calls it.
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

    /// Whether it is the number of the group, and no bound of a loop.
    #[must_use]
    pub fn is_of_group(&self) -> bool {
        self.bound == Instance::GROUP
    }
}

/// Where the elements of a resource that a collective works on begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    pub resource: GlobalId,
    /// The index (of byte-address buffers the address) of element 0, as HLSL writes it; empty for 0.
    pub start: String,
    /// Indices from one element to the next: 4 in byte-address buffers.
    pub stride: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    InclusiveScan,
    ExclusiveScan,
    /// All elements combined into one.
    Reduction,
}

/// The shape of the computation, told from the partial results at its barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Hillis–Steele (Kogge–Stone): windows whose width doubles.
    Doubling,
    /// Blelloch, Brent–Kung: the total is there before the scan is.
    Sweeps,
    /// Partial results whose width doubles in another way: Sklansky's scan, a reduction by halves.
    Tree,
    /// Everything combined between two barriers.
    Serial,
    Other,
}

/// Where the elements of a collective lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Element `i` is `array[offset + i]`, or a component of it: the number of a scalar among those that an element is
    /// made of. Of an array of arrays the elements are counted along the `axis`th dimension from the innermost first.
    Array {
        global: GlobalId,
        offset: u32,
        component: Option<u8>,
        axis: u8,
    },
    /// In ascending places of an array that has others between them, such as padding against bank conflicts. With a `shift`,
    /// element `i` is `array[i + (i >> shift)]`.
    Spread { global: GlobalId, shift: Option<u32> },
    /// One element of an array, or a component of it, counted as for [`Elements::Array`].
    Cell {
        global: GlobalId,
        index: u32,
        component: Option<u8>,
        axis: u8,
    },
    /// Thread `i`'s element is its own variable, or a component of it; of a reduction, all threads' hold the result.
    Register { local: LocalId, component: Option<u8> },
    /// One thread's variable.
    OneRegister {
        local: LocalId,
        component: Option<u8>,
        thread: u32,
    },
    /// What one thread works out, or a component of it.
    Expression {
        span: Span,
        component: Option<u8>,
        thread: u32,
    },
}

impl Elements {
    /// The component that is meant, where it is one of several.
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

    /// The same of another component, or of all.
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

/// A last step that stays in the text, because its statement also does something else, such as storing the total.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastStep {
    /// The statements before it, which leave partial results.
    pub before: Span,
    /// What becomes of the text of the step if the total is in the cell already.
    pub edits: Vec<StepEdit>,
    /// Where the statements before would have to leave it: the first of the elements.
    pub cell: Elements,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEdit {
    /// The expression is the total, and reads it from the cell.
    ReadTotal(Span),
    /// The statement is not needed any more.
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

/// What a replacement in place has to know of the construct's surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The last step, if it stays in the text, and the rest is replaced.
    pub last_step: Option<LastStep>,
    /// An expression in scope whose value is the thread's element index, e.g. `gi` or `tid.x`.
    pub lane: String,
    /// Where no variable holds that index, `lane` is the thread's place in its row of the group, and this is the row.
    pub row: Option<String>,
    /// Variables that live on after the construct and the value it leaves in them, as HLSL text.
    pub settled: Vec<(LocalId, String)>,
    /// Variables whose last value no compiled statement reads.
    pub unread: Vec<(LocalId, Left)>,
    /// Variables that hold a further result of a reduction, by its number.
    pub further: Vec<(LocalId, usize)>,
    /// Other places in which the construct leaves the same result. What else it leaves in its arrays, or a reduction in
    /// the variables of the other threads, is for the replacement's proof to rule out.
    pub also: Vec<Elements>,
    /// Where it stores the total of its elements on its way, as a scan of one block of many does.
    pub stored: Vec<Stored>,
    /// Whether a barrier comes after the construct's last access to groupshared memory.
    pub ends_with_barrier: bool,
}

/// What a construct leaves in a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// One number in all threads, as HLSL text.
    Number(String),
    /// Its result, or the further one of this number.
    Result(Option<usize>),
    Other,
}

/// An assignment, or a call of `Store`, in a construct's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    pub whole: Span,
    /// What is stored.
    pub value: Span,
}

/// Why other code cannot take the place of a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Of a scan: it starts anew after so many elements.
    Segmented(u32),
    /// Its elements are halves of words.
    Halves,
    /// Of an extremum: what belongs to the least or greatest element is chosen with it, such as where that was, and not by the order
    /// of the elements alone.
    Companions,
    /// Of a scan: it has neither one nor two elements for each thread.
    ElementsPerThread,
    /// A variable that it declares is named outside of it.
    Declares(LocalId),
    /// Its result is a part of an expression, or in a variable of its own.
    NoPlace,
    /// What it leaves in this variable is read later, and is not one number for all threads.
    Leaves(LocalId),
    /// No variable in scope holds the thread's index in its group.
    NoIndex,
    /// Threads may return inside it, or leave a loop around it.
    MayLeave,
    /// It writes a resource, or a static variable.
    Writes(GlobalId),
    /// It writes a resource that a variable or a parameter stands for.
    WritesHandle,
    /// It has an atomic, or reads a resource that can be written.
    SharesMemory,
    /// It has a statement that cannot be followed.
    Unfollowed,
    /// It was proved of some of the kernel's runs, not of all.
    SomeRuns,
}

/// A scan or a reduction that the lanes of each wave make of their registers by `WaveReadLaneAt`, proved for every input
/// and at every wave size that the kernel allows.
#[derive(Clone, Debug)]
pub struct WaveLadder {
    pub kind: Kind,
    pub operator: Operator,
    pub element: Scalar,
    /// The scan runs from the last lane to the first.
    pub reversed: bool,
    /// The variables that hold the elements at the start and the result at the end. Element `i` is that of the `i`-th
    /// active lane of the wave.
    pub input: Elements,
    pub output: Elements,
    /// Which lanes are left with the result: all, of a scan.
    pub holders: Holders,
    /// The wave sizes at which it runs.
    pub sizes: Vec<u32>,
    /// The fewest and the most reads of other lanes that it takes at any of them, counted in the run.
    pub reads: (u32, u32),
    /// It holds where `?:` evaluates both of its arms, as before HLSL 2021: lanes are read in an arm.
    pub needs_both_arms: bool,
    /// From the first to the last statement of the construct.
    pub span: Span,
    /// The function whose text holds `span`.
    pub function: FunctionId,
}

/// Lanes of a wave, of those that are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holders {
    AllLanes,
    FirstLane,
}

/// Two threads, one cell, one barrier interval, at least one write.
#[derive(Clone, Debug)]
pub struct Race {
    pub array: GlobalId,
    /// Element of the array that both touch.
    pub index: u32,
    pub first: Access,
    pub second: Access,
    /// Number of group barriers passed before.
    pub interval: u32,
    /// The last of them, as in [`Divergence`]: the same for both accesses.
    pub since: Option<Point>,
    /// The memory barriers that the run passed between the two accesses, at which no thread waits for another.
    pub fences: Vec<Span>,
    /// A condition on inputs under which one of the two accesses happens; `None` where both do for any inputs, or for those
    /// for which one statement leads to both.
    pub condition: Option<Under>,
    /// Bounds of loops for which this happens; none where it happens whatever they are.
    pub given: Vec<Instance>,
    /// The thread that data lead to the element, if any: for others it meets another thread, at another element.
    pub data_dependent: Option<u32>,
    /// Waves have this many lanes where it is met like that, and it is met otherwise where they have others; `None` where
    /// it is met like that at every wave size.
    pub wave_size: Option<u32>,
    /// At another wave size, other threads meet, at another element or in other passes.
    pub(crate) is_met_otherwise: bool,
    /// Inputs for which it is met.
    pub(crate) inputs: Inputs,
}

impl Race {
    /// Whether the same threads meet on the same element at the same time in another run.
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

    /// Whether one of its two accesses is within the construct: before its first barrier or after its last one, that is.
    #[must_use]
    pub fn has_part(&self, found: &Collective) -> bool {
        let is_within =
            |access: &Access| found.span.start <= access.span.start && access.span.end <= found.span.end;
        found.arrays.contains(&self.array) && (is_within(&self.first) || is_within(&self.second))
    }
}

/// What has to hold for a thread.
#[derive(Clone, Copy, Debug)]
pub struct Under {
    pub condition: Span,
    /// It has to, or must not.
    pub holds: bool,
    pub thread: u32,
}

/// A variable, or a number that the host sets, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// As one would write it: `Size.x`.
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

/// An array's element as one would write it, `Row[1][2]`; of arrays in arrays, all elements are counted in order. A variable
/// that is no array has no index.
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
    /// The condition by which the other went elsewhere, or the statement by which it left, if that is known.
    pub parted: Option<Span>,
    /// Values of the host for which this happens; none where it happens for all.
    pub given: Vec<NamedValue>,
    /// The last barrier passed before, or the statement that may hold it where that is not followed; `None` where there
    /// was none.
    pub since: Option<Point>,
    /// As in [`Point`].
    pub around: Vec<Around>,
}

/// A thread accesses an element that a groupshared array does not have.
#[derive(Clone, Debug)]
pub struct OutOfBounds {
    pub array: GlobalId,
    pub index: i32,
    /// A read's value goes to a resource.
    pub access: Access,
    /// As in [`Divergence`].
    pub since: Option<Point>,
}

/// A thread reads what no thread has written, and what it reads goes to a resource.
#[derive(Clone, Debug)]
pub struct Uninitialised {
    pub array: GlobalId,
    pub index: u32,
    pub read: Access,
    /// Where it is stored.
    pub used: Span,
    /// As in [`Divergence`].
    pub since: Option<Point>,
    pub(crate) interval: u32,
}

/// At some wave sizes or packings a kernel is wrong that is right at others.
#[derive(Clone, Debug)]
pub struct WaveDependence {
    /// Where it is wrong, smallest first.
    pub sizes: Vec<u32>,
    pub map: LaneMap,
    /// A size and a packing at which it is not, as far as is known.
    pub sound: (u32, LaneMap),
    /// Nothing is known of some of the others.
    pub is_in_part: bool,
    pub effect: WaveEffect,
}

#[derive(Clone, Debug)]
pub enum WaveEffect {
    OutOfBounds(OutOfBounds),
    Races(Race),
    /// Another value is written to a place, which is named for the first group.
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

/// A place in the text as a run comes to it: in which calls and passes of loops, from the outermost on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub span: Span,
    pub around: Vec<Around>,
}

/// What a place is run in.
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

/// One pass through a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// From 0.
    pub number: u32,
    /// The loop's variable and its value in that pass, where it has one.
    pub variable: Option<NamedValue>,
}

/// An atomic that many threads of a wave may make on one cell, or on few, in the same step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub operation: Atomic,
    pub cells: Cells,
    /// In a run in which no two threads race.
    pub amount: Amount,
    pub quantity: Quantity,
    pub found: Found,
    /// The text reads what it leaves its old value in. Where a run loses sight of that it may be unused nevertheless.
    pub is_old_value_read: bool,
    /// The cells are groupshared; else they are on the device.
    pub is_shared: bool,
    /// Threads of the group that may take part.
    pub lanes: u32,
    /// They all do, whatever the inputs are.
    pub is_certain: bool,
    /// The number of its cell is known each time that it runs, and hangs on nothing that is read.
    pub has_known_cell: bool,
    /// What happens to any cell of its groupshared array between the same barriers.
    pub meanwhile: Meanwhile,
    /// What names the cell.
    pub place: Span,
    /// The whole call.
    pub span: Span,
    /// The function whose text holds `span`.
    pub function: FunctionId,
    /// Names that no file declares, and that the address is the same by only if each is the same thing in all threads.
    pub supposed: BTreeSet<String>,
    /// Its parts, where one thread of a wave could make it for all, in place; of one of few cells, where it is a statement
    /// by itself.
    pub parts: Result<Parts, NotCombined>,
}

/// What may happen to an array between the same barriers as an atomic on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// Atomics alone.
    Atomics,
    /// A plain access, be it to another cell; its place, where it was run.
    Plain(Option<Span>),
    /// It may be on either side of this barrier, which perhaps not all inputs lead to, or of those of this statement.
    Unreached(Span),
    /// Which barriers it stands between is not known: not all of the kernel was seen, or not all inputs lead to a barrier, or
    /// there are barriers in a loop or a branch around it that is not followed.
    Unknown,
}

/// Why no thread of a wave could make an atomic for all, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCombined {
    /// Not all that makes it was seen: a run was not followed to its end, or its address hangs on what is not declared.
    Unfollowed,
    /// It is a part of another statement, or the head of a loop.
    NotAStatement,
    /// The cell or the amount is no `int` or `uint`, or they differ.
    Type,
    /// No wave intrinsic combines as it does.
    Operator,
    /// The old value is used otherwise than as the place of a slot.
    OldValue,
    /// What names the cell has effects, reads memory, or may change between passes or calls.
    Cell,
    /// What the cell is in is a variable that may stand for what others use under another name.
    Alias,
    /// By this memory barrier a thread could tell when its atomic is made.
    MemoryBarrier(Span),
    /// By this other use of what the cell is in a thread could tell.
    OtherUse(Span),
    /// Another kind of atomic is made on it.
    OtherAtomic(Span),
    /// The old value is asked for of another atomic on it.
    OtherResult(Span),
}

/// The parts of an atomic's call, which is a statement by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The call with its semicolon.
    pub statement: Span,
    /// Nothing else stands in its block.
    pub is_alone: bool,
    /// As in `InterlockedAdd`.
    pub name: &'static str,
    pub operator: Operator,
    /// The resource whose method it is.
    pub object: Option<Span>,
    /// The first argument: the cell, or of a method its address.
    pub place: Span,
    pub amount: Span,
    pub quantity: Quantity,
    /// Where the old value goes, if it is asked for and used.
    pub old: Option<Span>,
    /// The variable that it goes to where nobody uses it: what is left in there is no matter.
    pub unused: Option<LocalId>,
    /// Of one of few cells: the index, or the address, that tells which.
    pub index: Option<Span>,
    /// The cell's type.
    pub cell: Scalar,
    /// The groupshared variable that the cell is, or is in.
    pub array: Option<GlobalId>,
}

/// How an amount is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// As a number, such as `1` or `-1`.
    Figures,
    /// As a variable, or a part of one.
    Variable,
    Expression,
}

/// Where the atomics of one step go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// The address is the same for all active threads.
    One,
    /// To no more than so many different addresses.
    Few(u32),
}

/// What each thread puts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Known(i32),
    /// The same for all active threads.
    Uniform,
    Varying,
}

/// What becomes of the value that the atomic found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing depends on it.
    Unused,
    /// It is made into an address, or kept.
    Slot,
    /// It decides something, or is used in a way that is not followed.
    Otherwise,
}

impl Quantity {
    /// How an amount is written.
    pub(crate) fn of(expr: &Expr) -> Quantity {
        match &expr.kind {
            ExprKind::Literal(_) => Quantity::Figures,
            // A conversion that nobody wrote.
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
