//! Scans and reductions, and what code in their place needs to know.

use shaderlint_hlsl::{FunctionId, GlobalId, LocalId, Scalar, Span, Type};

use crate::finding::leftovers::Leftovers;
use crate::terms::Needs;
use crate::terms::operator::Operator;
use crate::terms::packed16::Half;

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
    /// For a reduction: the number of consecutive blocks of `count` elements that are each reduced. The places are
    /// those of the first block.
    pub blocks: u32,
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
    pub live_values: Vec<(LocalId, String)>,
    /// Variables whose final value no compiled statement reads.
    pub dead_variables: Vec<(LocalId, FinalValue)>,
    /// Variables that hold a further result of a reduction, with its number.
    pub further_results: Vec<(LocalId, usize)>,
    /// Other places where the construct leaves the same result. The replacement's proof must rule out that
    /// anything uses what else the construct leaves in its arrays, or a reduction in the variables of other
    /// threads.
    pub other_places: Vec<Elements>,
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
    /// A scan that starts anew after this many elements, or a reduction of each of several blocks of this many.
    Segmented(u32),
    /// Its elements are halves of words.
    Halves,
    /// An extremum that also chooses data of the least or greatest element, such as its position, by more than
    /// the order of the elements.
    Companions,
    /// A scan with more than two elements per thread, or with some for part of the threads only.
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
