//! A pipeline for one n.

use std::ops::Range;

use shaderlint_hlsl::Scalar;

use super::expression::{Expression, GROUPS, INDEX, N, ROW, Scope};
use super::link::{Bound, is_bound_once};
use super::{BUFFERS, Computes, Linked, Pass, PipelineError, Reference};
use crate::{Binding, BindingKind, UniformMember};

/// The maximum of dispatches of a pipeline.
const DISPATCHES: usize = 4096;
/// The maximum of words of all buffers: `WORDS_AN_ELEMENT` per element, and `WORDS_BESIDE` in addition. A scan that
/// keeps the array of each step needs fewer. Without a limit, a pipeline could take all of a machine's memory.
const WORDS_AN_ELEMENT: u64 = 64;
const WORDS_BESIDE: u64 = 1 << 22;

/// The buffers and dispatches for n elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub n: u64,
    pub buffers: Vec<PlannedBuffer>,
    /// Index into [`Plan::buffers`] of the buffer that starts with n words of input.
    pub input: usize,
    /// Index into [`Plan::buffers`] of the buffer that ends with the result.
    pub output: usize,
    /// The number of words of the result.
    pub output_words: u64,
    pub dispatches: Vec<Dispatch>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedBuffer {
    /// For example `Sums[1]`.
    pub name: String,
    pub words: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Index into [`Linked::kernels`].
    pub kernel: usize,
    pub groups: [u32; 3],
    /// For each binding of the kernel, an index into [`Plan::buffers`]; `None` for its constants.
    pub buffers: Vec<Option<usize>>,
    /// The bytes of the kernel's constants.
    pub constants: Vec<u8>,
}

impl Plan {
    /// Whether a dispatch may write to this buffer.
    #[must_use]
    pub fn is_written(&self, buffer: usize, linked: &Linked) -> bool {
        self.dispatches.iter().any(|dispatch| {
            let bindings = linked.kernels.get(dispatch.kernel).map(|kernel| &kernel.bindings);
            let bound = bindings.into_iter().flatten().zip(&dispatch.buffers);
            bound
                .into_iter()
                .any(|(binding, at)| *at == Some(buffer) && binding.kind.is_writable())
        })
    }
}

impl Linked {
    /// The plan for `n` elements on a device that dispatches at most `max_groups` groups in each dimension.
    ///
    /// # Errors
    /// At a number that is out of its range, and if the pipeline does not support this many elements.
    pub fn plan(&self, n: u64, max_groups: u32) -> Result<Plan, PipelineError> {
        let pipeline = &self.pipeline;
        if let Some(most) = self.at_most()?
            && n > most
        {
            let place = pipeline.at_most.as_ref().map_or(0..0, Expression::place);
            return Err(PipelineError::new(
                format!("takes at most {most} elements"),
                place,
            ));
        }
        let mut scope = Scope::default().with(N, n);
        for (name, expression) in &pipeline.lets {
            let value = expression.value(&scope)?;
            scope = scope.with(name, value);
        }
        let mut planning = Planning {
            linked: self,
            max_groups: max_groups.max(1),
            buffers: Vec::new(),
            first: Vec::new(),
            counts: Vec::new(),
            lengths: Vec::new(),
            rounds: 0,
            dispatches: Vec::new(),
        };
        planning.buffers(n, &scope)?;
        let input = planning.buffer(&pipeline.input, &scope)?;
        for pass in &pipeline.passes {
            planning.pass(pass, &scope)?;
        }
        let output = planning.buffer(&pipeline.output, &scope)?;
        let output_words = match pipeline.computes {
            Computes::InclusiveScan | Computes::ExclusiveScan | Computes::Copy => n,
            Computes::Sum => 1,
            Computes::Read => 0,
        };
        for (at, wanted, reference) in [
            (input, n, &pipeline.input),
            (output, output_words, &pipeline.output),
        ] {
            let words = planning.buffers.get(at).map_or(0, |buffer| buffer.words);
            if words < wanted {
                let asked = planning.lengths.get(at).copied().unwrap_or(words);
                let message = format!("has {asked} words, and should have {wanted}");
                return Err(PipelineError::new(message, reference.place.clone()));
            }
        }
        Ok(Plan {
            n,
            buffers: planning.buffers,
            input,
            output,
            output_words,
            dispatches: planning.dispatches,
        })
    }

    /// The maximum of elements that the pipeline supports, if it has one.
    ///
    /// # Errors
    /// If the limit has no value.
    pub fn at_most(&self) -> Result<Option<u64>, PipelineError> {
        let most = self.pipeline.at_most.as_ref();
        most.map(|most| most.value(&Scope::default())).transpose()
    }
}

struct Planning<'p> {
    linked: &'p Linked,
    max_groups: u32,
    buffers: Vec<PlannedBuffer>,
    /// For each buffer of the pipeline, the index of its first one in `buffers`. Swaps change it.
    first: Vec<usize>,
    /// For each buffer of the pipeline, how many buffers it stands for.
    counts: Vec<u64>,
    /// For each of `buffers`, the length in the pipeline, which may be 0.
    lengths: Vec<u64>,
    /// The number of dispatches, including those without groups: a loop may make only such dispatches.
    rounds: usize,
    dispatches: Vec<Dispatch>,
}

impl Planning<'_> {
    fn buffers(&mut self, n: u64, scope: &Scope) -> Result<(), PipelineError> {
        let mut words_left = WORDS_AN_ELEMENT.saturating_mul(n).saturating_add(WORDS_BESIDE);
        for buffer in &self.linked.pipeline.buffers {
            let first = self.buffers.len();
            self.first.push(first);
            let count = match &buffer.count {
                Some(count) => count.value(scope)?,
                None => 1,
            };
            if count > (BUFFERS - first) as u64 {
                let message = format!("with these {count} there are more than {BUFFERS} buffers");
                let place = buffer.count.as_ref().unwrap_or(&buffer.length).place();
                return Err(PipelineError::new(message, place));
            }
            self.counts.push(count);
            for index in 0..count {
                let (name, length) = match &buffer.count {
                    Some(_) => (
                        format!("{}[{index}]", buffer.name),
                        buffer.length.value(&scope.clone().with(INDEX, index))?,
                    ),
                    None => (buffer.name.clone(), buffer.length.value(scope)?),
                };
                let Some(left) = words_left.checked_sub(length) else {
                    let message = format!(
                        "with `{name}` there are more than {WORDS_AN_ELEMENT} words an element and {WORDS_BESIDE} beside \
                         that"
                    );
                    return Err(PipelineError::new(message, buffer.length.place()));
                };
                words_left = left;
                self.lengths.push(length);
                // An empty buffer cannot be bound.
                let words = length.max(1);
                self.buffers.push(PlannedBuffer { name, words });
            }
        }
        Ok(())
    }

    fn buffer(&self, reference: &Reference, scope: &Scope) -> Result<usize, PipelineError> {
        let first = self.first.get(reference.buffer).copied().unwrap_or(0);
        let Some(index) = &reference.index else {
            return Ok(first);
        };
        let count = self.counts.get(reference.buffer).copied().unwrap_or(0);
        let at = index.value(scope)?;
        if at >= count {
            let message = format!("there is no buffer {at}: there are {count}");
            return Err(PipelineError::new(message, index.place()));
        }
        Ok(first + usize::try_from(at).unwrap_or(0))
    }

    fn pass(&mut self, pass: &Pass, scope: &Scope) -> Result<(), PipelineError> {
        let Some(repeat) = &pass.repeat else {
            return self.dispatch(pass, scope);
        };
        let mut value = repeat.from.value(scope)?;
        loop {
            let inner = scope.clone().with(&repeat.name, value);
            if repeat.condition.value(&inner)? == 0 {
                return Ok(());
            }
            self.dispatch(pass, &inner)?;
            value = repeat.next.value(&inner)?;
        }
    }

    fn dispatch(&mut self, pass: &Pass, scope: &Scope) -> Result<(), PipelineError> {
        self.rounds += 1;
        if self.rounds > DISPATCHES {
            let condition = pass.repeat.as_ref().map(|repeat| repeat.condition.place());
            let message = format!("this repeats for more than {DISPATCHES} dispatches");
            return Err(PipelineError::new(
                message,
                condition.unwrap_or(pass.place.clone()),
            ));
        }
        let groups = pass.groups.value(scope)?;
        let [row, rows] = self.fold(groups, pass)?;
        let mut dispatch = Dispatch {
            kernel: pass.kernel,
            groups: [row, rows, 1],
            buffers: Vec::new(),
            constants: Vec::new(),
        };
        let kernel = self.linked.kernels.get(pass.kernel);
        let mut bound = Vec::new();
        for binding in kernel.into_iter().flat_map(|kernel| &kernel.bindings) {
            if let BindingKind::Uniform { members } = &binding.kind {
                let scope = scope.clone().with(GROUPS, groups).with(ROW, u64::from(row));
                dispatch.constants = constants(pass, binding, members, &scope)?;
                dispatch.buffers.push(None);
                continue;
            }
            let given = pass.bind.iter().find(|(name, _)| name.name == binding.name);
            let (buffer, place) = if let Some((_, reference)) = given {
                (self.buffer(reference, scope)?, Some(&reference.place))
            } else {
                let buffers = &self.linked.pipeline.buffers;
                let alike = buffers.iter().position(|buffer| buffer.name == binding.name);
                let buffer = alike.and_then(|at| self.first.get(at)).copied().unwrap_or(0);
                (buffer, None)
            };
            self.holds_whole_elements(buffer, binding, place.unwrap_or(&pass.place))?;
            dispatch.buffers.push(Some(buffer));
            bound.push(Bound {
                binding,
                buffer,
                place,
            });
        }
        let entry = kernel.map_or("", |kernel| kernel.entry.as_str());
        is_bound_once(entry, &bound, pass)?;
        if groups == 0 {
            return Ok(());
        }
        self.dispatches.push(dispatch);
        // A dispatch without groups writes nothing, so its buffers are not swapped.
        if let Some((a, b)) = pass.swap {
            self.first.swap(a, b);
        }
        Ok(())
    }

    fn holds_whole_elements(
        &self,
        at: usize,
        binding: &Binding,
        place: &Range<usize>,
    ) -> Result<(), PipelineError> {
        let length = self.lengths.get(at).copied().unwrap_or(0);
        let element = u64::from(binding.element.stride / 4).max(1);
        if length.is_multiple_of(element) {
            return Ok(());
        }
        let buffer = self.buffers.get(at).map_or("", |buffer| &buffer.name);
        Err(PipelineError::new(
            format!(
                "`{}` has elements of {element} words, and `{buffer}` has {length} words",
                binding.name
            ),
            place.clone(),
        ))
    }

    /// Arranges groups in rows of equal length. The last row may have surplus groups.
    fn fold(&self, groups: u64, pass: &Pass) -> Result<[u32; 2], PipelineError> {
        let rows = groups.div_ceil(u64::from(self.max_groups));
        let row = groups.div_ceil(rows.max(1));
        match (u32::try_from(row), u32::try_from(rows)) {
            (Ok(row), Ok(rows)) if rows <= self.max_groups => Ok([row, rows]),
            _ => Err(PipelineError::new(
                format!("{groups} groups are more than a device dispatches"),
                pass.groups.place(),
            )),
        }
    }
}

/// The kernel's constants as set by the pass, in the layout of the binding.
fn constants(
    pass: &Pass,
    binding: &Binding,
    members: &[UniformMember],
    scope: &Scope,
) -> Result<Vec<u8>, PipelineError> {
    let mut constants = vec![0; binding.element.stride as usize];
    for member in members {
        let set = pass.set.iter().find(|(name, _)| name.name == member.name);
        let Some((_, expression)) = set else { continue };
        let value = expression.value(scope)?;
        let is_int = member.words.iter().any(|word| word.scalar == Scalar::Int);
        let (most, kind) = if is_int {
            (i32::MAX.unsigned_abs(), "an int")
        } else {
            (u32::MAX, "32 bits")
        };
        let word = u32::try_from(value).ok().filter(|word| *word <= most);
        let Some(word) = word else {
            let message = format!("{value} does not fit into {kind}");
            return Err(PipelineError::new(message, expression.place()));
        };
        for offset in member.words.iter().map(|word| word.offset as usize) {
            if let Some(bytes) = constants.get_mut(offset..offset + 4) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
    }
    Ok(constants)
}
