//! Whether the kernels of a pipeline take what they are given.

use std::ops::Range;

use super::{Name, Pass, Pipeline, PipelineError};
use crate::{Binding, BindingKind, Lowered};
use shaderlint_hlsl::Scalar;

/// A pipeline with its kernels.
#[derive(Clone, Debug)]
pub struct Linked {
    pub pipeline: Pipeline,
    /// One for each of [`Pipeline::kernels`].
    pub kernels: Vec<Lowered>,
}

impl Pipeline {
    /// Puts the kernels in; one for each of [`Pipeline::kernels`], in that order.
    ///
    /// # Errors
    /// At the place of a name that a kernel does not have, at the pass where a name that it has is not given, and at a
    /// buffer that it is given twice.
    pub fn link(self, kernels: Vec<Lowered>) -> Result<Linked, PipelineError> {
        for pass in &self.passes {
            let Some(kernel) = kernels.get(pass.kernel) else {
                return Err(PipelineError::new("there is no such kernel", pass.place.clone()));
            };
            self.check(pass, kernel)?;
        }
        Ok(Linked {
            pipeline: self,
            kernels,
        })
    }

    fn check(&self, pass: &Pass, kernel: &Lowered) -> Result<(), PipelineError> {
        let entry = &kernel.entry;
        let missing = |message: String| Err(PipelineError::new(message, pass.place.clone()));
        if let Some(what) = kernel.replaced.first() {
            return missing(format!("`{entry}` uses {what}, which a pipeline cannot give it"));
        }
        let mut bound = Vec::new();
        for binding in &kernel.bindings {
            match &binding.kind {
                BindingKind::Counter => {
                    return missing(format!(
                        "`{entry}` uses `{}`, which has no form here",
                        binding.name
                    ));
                }
                BindingKind::Uniform { members } => {
                    for member in members {
                        let is_whole_number = member.words.len() == 1
                            && (member.words.iter())
                                .all(|word| matches!(word.scalar, Scalar::Int | Scalar::Uint));
                        if !is_whole_number {
                            return missing(format!(
                                "`{}` of `{entry}` is not one int or uint; a `cbuffer` of those is what `set` fills",
                                member.name
                            ));
                        }
                        if !pass.set.iter().any(|(name, _)| name.name == member.name) {
                            return missing(format!(
                                "`{entry}` uses `{}`: say what it is in `set`",
                                member.name
                            ));
                        }
                    }
                }
                BindingKind::ReadOnlyStorage | BindingKind::ReadWriteStorage
                    if binding.dimensions.is_some() =>
                {
                    return missing(format!(
                        "`{entry}` uses the texture `{}`; pipelines have buffers only",
                        binding.name
                    ));
                }
                BindingKind::ReadOnlyStorage | BindingKind::ReadWriteStorage => {
                    let given = pass.bind.iter().find(|(name, _)| name.name == binding.name);
                    // Words of the pipeline's buffers are words of HLSL's elements, which lie side by side. WGSL puts
                    // some of them further apart, as vectors of three.
                    let bytes = 4 * binding.element.words.len();
                    if bytes != binding.element.stride as usize {
                        let message = format!(
                            "`{}` of `{entry}` has elements of {bytes} bytes, which in WGSL are {}; elements of a word, or of two \
                             or four, can be given it",
                            binding.name, binding.element.stride
                        );
                        let place = given.map_or(&pass.place, |(_, reference)| &reference.place);
                        return Err(PipelineError::new(message, place.clone()));
                    }
                    if let Some((_, reference)) = given {
                        bound.push((binding, reference.written.as_str(), Some(&reference.place)));
                        continue;
                    }
                    let named_alike = self.buffers.iter().find(|buffer| buffer.name == binding.name);
                    match named_alike {
                        None => {
                            return missing(format!(
                                "`{entry}` uses `{}`: say which buffer that is in `bind`",
                                binding.name
                            ));
                        }
                        Some(buffer) if buffer.count.is_some() => {
                            return missing(format!(
                                "`{entry}` uses `{}`: say which of those it is in `bind`",
                                binding.name
                            ));
                        }
                        Some(buffer) => bound.push((binding, buffer.name.as_str(), None)),
                    }
                }
            }
        }
        is_bound_once(entry, &bound, pass)?;
        let unknown = |Name { name, place }: &Name, what: &str| {
            Err(PipelineError::new(
                format!("`{entry}` uses no {what} `{name}`"),
                place.clone(),
            ))
        };
        for (name, _) in &pass.bind {
            let is_there = |binding: &Binding| {
                binding.name == name.name && !matches!(binding.kind, BindingKind::Uniform { .. })
            };
            if !kernel.bindings.iter().any(is_there) {
                return unknown(name, "buffer");
            }
        }
        for (name, _) in &pass.set {
            let is_there = |binding: &Binding| match &binding.kind {
                BindingKind::Uniform { members } => members.iter().any(|member| member.name == name.name),
                _ => false,
            };
            if !kernel.bindings.iter().any(is_there) {
                return unknown(name, "constant");
            }
        }
        Ok(())
    }
}

/// Whether no buffer that the kernel writes to is bound twice, which no device takes. Each has the place in `bind`, if it
/// is there; of two that are equal the second one's is told, or the first one's.
pub(super) fn is_bound_once<B: PartialEq>(
    entry: &str,
    bound: &[(&Binding, B, Option<&Range<usize>>)],
    pass: &Pass,
) -> Result<(), PipelineError> {
    for (at, (binding, buffer, place)) in bound.iter().enumerate() {
        let same = bound.iter().take(at).find(|(other, other_buffer, _)| {
            other_buffer == buffer && (binding.kind.is_writable() || other.kind.is_writable())
        });
        if let Some((other, _, other_place)) = same {
            let message = format!(
                "`{entry}` is given one buffer as `{}` and as `{}`, and writes to it",
                other.name, binding.name
            );
            let place = place.or(*other_place).unwrap_or(&pass.place);
            return Err(PipelineError::new(message, place.clone()));
        }
    }
    Ok(())
}
