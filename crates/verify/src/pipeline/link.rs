//! Checks that each pass provides what its kernel uses.

use std::ops::Range;

use shaderlint_hlsl::Scalar;

use super::{Buffer, Name, Pass, Pipeline, PipelineError};
use crate::{Binding, BindingKind, Lowered, UniformMember};

/// A pipeline with its kernels.
#[derive(Clone, Debug)]
pub struct Linked {
    pub pipeline: Pipeline,
    /// One for each of [`Pipeline::kernels`].
    pub kernels: Vec<Lowered>,
}

impl Pipeline {
    /// Adds the kernels: one for each of [`Pipeline::kernels`], in that order.
    ///
    /// # Errors
    /// At a name that the kernel does not use, at a pass that does not provide what its kernel uses, and at a buffer
    /// that a pass binds twice.
    pub fn link(self, kernels: Vec<Lowered>) -> Result<Linked, PipelineError> {
        for pass in &self.passes {
            let Some(kernel) = kernels.get(pass.kernel) else {
                return Err(PipelineError::new("there is no such kernel", pass.place.clone()));
            };
            let check = Check {
                buffers: &self.buffers,
                pass,
                kernel,
            };
            check.uses_are_given()?;
            check.names_are_used()?;
        }
        Ok(Linked {
            pipeline: self,
            kernels,
        })
    }
}

/// Compares what a pass provides with what its kernel uses.
struct Check<'p> {
    buffers: &'p [Buffer],
    pass: &'p Pass,
    kernel: &'p Lowered,
}

impl<'p> Check<'p> {
    /// Whether the pass provides everything that the kernel uses.
    fn uses_are_given(&self) -> Result<(), PipelineError> {
        let entry = &self.kernel.entry;
        if let Some(what) = self.kernel.replaced.first() {
            return Err(self.error(format!("`{entry}` uses {what}, which a pipeline cannot give it")));
        }
        let mut bound = Vec::new();
        for binding in &self.kernel.bindings {
            let name = &binding.name;
            match &binding.kind {
                BindingKind::Counter => {
                    return Err(
                        self.error(format!("`{entry}` uses `{name}`, which pipelines do not support"))
                    );
                }
                BindingKind::Uniform { members } => self.constants_are_set(members)?,
                BindingKind::ReadOnlyStorage | BindingKind::ReadWriteStorage
                    if binding.dimensions.is_some() =>
                {
                    return Err(self.error(format!(
                        "`{entry}` uses the texture `{name}`; pipelines have buffers only"
                    )));
                }
                BindingKind::ReadOnlyStorage | BindingKind::ReadWriteStorage => {
                    bound.push(self.bound(binding)?);
                }
            }
        }
        is_bound_once(entry, &bound, self.pass)
    }

    fn constants_are_set(&self, members: &[UniformMember]) -> Result<(), PipelineError> {
        let entry = &self.kernel.entry;
        for UniformMember { name, words, .. } in members {
            let is_whole_number = words.len() == 1
                && (words.iter()).all(|word| matches!(word.scalar, Scalar::Int | Scalar::Uint));
            if !is_whole_number {
                return Err(self.error(format!(
                    "`set` cannot give `{name}` of `{entry}`: it gives only single ints and uints of a `cbuffer`"
                )));
            }
            if !self.pass.set.iter().any(|(set, _)| set.name == *name) {
                return Err(self.error(format!("`{entry}` uses `{name}`: give its value in `set`")));
            }
        }
        Ok(())
    }

    /// The buffer that the pass provides for a binding.
    fn bound(&self, binding: &'p Binding) -> Result<Bound<'p, &'p str>, PipelineError> {
        let (entry, name) = (&self.kernel.entry, &binding.name);
        let given = self.pass.bind.iter().find(|(given, _)| given.name == *name);
        // Words of the pipeline's buffers are words of HLSL's elements, without gaps. WGSL inserts gaps between some
        // elements, such as vectors of three.
        let bytes = 4 * binding.element.words.len();
        if bytes != binding.element.stride as usize {
            let message = format!(
                "`{name}` of `{entry}` has elements of {bytes} bytes, which in WGSL are {}; a pipeline can give it elements \
                 of one, two or four words",
                binding.element.stride
            );
            let place = given.map_or(&self.pass.place, |(_, reference)| &reference.place);
            return Err(PipelineError::new(message, place.clone()));
        }
        if let Some((_, reference)) = given {
            return Ok(Bound {
                binding,
                buffer: &reference.written,
                place: Some(&reference.place),
            });
        }
        match self.buffers.iter().find(|buffer| buffer.name == *name) {
            None => Err(self.error(format!("`{entry}` uses `{name}`: name its buffer in `bind`"))),
            Some(buffer) if buffer.count.is_some() => {
                Err(self.error(format!("`{entry}` uses `{name}`: name one of those in `bind`")))
            }
            Some(buffer) => Ok(Bound {
                binding,
                buffer: &buffer.name,
                place: None,
            }),
        }
    }

    /// Whether the kernel uses every name that the pass provides.
    fn names_are_used(&self) -> Result<(), PipelineError> {
        let unknown = |Name { name, place }: &Name, what: &str| {
            let message = format!("`{}` uses no {what} `{name}`", self.kernel.entry);
            Err(PipelineError::new(message, place.clone()))
        };
        for (name, _) in &self.pass.bind {
            let is_there = |binding: &Binding| {
                binding.name == name.name && !matches!(binding.kind, BindingKind::Uniform { .. })
            };
            if !self.kernel.bindings.iter().any(is_there) {
                return unknown(name, "buffer");
            }
        }
        for (name, _) in &self.pass.set {
            let is_there = |binding: &Binding| match &binding.kind {
                BindingKind::Uniform { members } => members.iter().any(|member| member.name == name.name),
                _ => false,
            };
            if !self.kernel.bindings.iter().any(is_there) {
                return unknown(name, "constant");
            }
        }
        Ok(())
    }

    /// An error of the pass as a whole.
    fn error(&self, message: String) -> PipelineError {
        PipelineError::new(message, self.pass.place.clone())
    }
}

/// A buffer that a pass provides for a binding of its kernel.
pub(super) struct Bound<'p, B> {
    pub binding: &'p Binding,
    /// Identifies the buffer.
    pub buffer: B,
    /// Its place in `bind`, if it is there.
    pub place: Option<&'p Range<usize>>,
}

/// Whether the pass binds no buffer twice if the kernel writes to it: no device accepts that. The error is at the
/// place of the second binding in `bind`, or otherwise of the first.
pub(super) fn is_bound_once<B: PartialEq>(
    entry: &str,
    bound: &[Bound<'_, B>],
    pass: &Pass,
) -> Result<(), PipelineError> {
    for (at, second) in bound.iter().enumerate() {
        let same = bound.iter().take(at).find(|first| {
            let is_written = second.binding.kind.is_writable() || first.binding.kind.is_writable();
            first.buffer == second.buffer && is_written
        });
        if let Some(first) = same {
            let message = format!(
                "`{entry}` is given one buffer as `{}` and as `{}`, and writes to it",
                first.binding.name, second.binding.name
            );
            let place = second.place.or(first.place).unwrap_or(&pass.place);
            return Err(PipelineError::new(message, place.clone()));
        }
    }
    Ok(())
}
