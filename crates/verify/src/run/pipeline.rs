//! Pipelines on a device: run, compared with the expected results, timed.

use std::time::{Duration, Instant};

use super::device::{Device, Mode};
use super::inputs::Random;
use super::timing::{Stopwatch, spread};
use super::{RunError, Spread, guarded};
use crate::pipeline::{Computes, Linked, Plan};

/// The number of bytes to read back at once.
const CHUNK: u64 = 64 << 20;

/// How long a GPU works before it is timed. While results are compared it is idle and lowers its clocks: an H200 to
/// 570 of 1980 MHz within a second, at which a scan takes twice as long.
const WAKING: Duration = Duration::from_millis(500);

/// The initial contents of buffers other than the input: nothing may depend on them.
const GARBAGE: u32 = 0xdead_beef;

/// The number of guard words after each buffer. Nothing may write to them, and they are checked after a run. They are
/// bound with the buffer: beyond the bound range, the device drops a write (robust buffer access, which wgpu enables
/// if there is any, in modules with and without checks of their own) or naga's clamped index moves it to the last
/// element, and neither can be seen. So a write beyond this zone is not seen either, unless it is moved into the
/// zone. If a kernel reads its buffer's length, that length has to be right: then the zone is not bound, and shows
/// only what a device without robust access writes.
const GUARD: u64 = 1 << 14;

/// Seeded words over their whole range: a sum that misses one of them is different.
///
/// # Errors
/// [`RunError::OutOfMemory`] if there is no room for them.
pub fn sample_words(n: usize) -> Result<Vec<u32>, RunError> {
    let mut random = Random::new(0x5eed, "pipeline");
    gathered(n, (0..n).map(|_| random.next()))
}

/// The first `n` of these words, if there is room for them.
fn gathered(n: usize, words: impl Iterator<Item = u32>) -> Result<Vec<u32>, RunError> {
    let mut gathered = Vec::new();
    (gathered.try_reserve_exact(n)).map_err(|error| RunError::OutOfMemory(error.to_string()))?;
    gathered.extend(words.take(n));
    Ok(gathered)
}

impl Computes {
    /// The expected result for these words, computed sequentially; empty if there is none.
    ///
    /// # Errors
    /// [`RunError::OutOfMemory`] if there is no room for it.
    pub fn expected(self, words: &[u32]) -> Result<Vec<u32>, RunError> {
        let sum = |before: &mut u32, word: &u32| {
            let own = *before;
            *before = own.wrapping_add(*word);
            Some((own, *before))
        };
        let sums = words.iter().scan(0, sum);
        match self {
            Computes::InclusiveScan => gathered(words.len(), sums.map(|(_, after)| after)),
            Computes::ExclusiveScan => gathered(words.len(), sums.map(|(before, _)| before)),
            Computes::Sum => Ok(vec![sums.last().map_or(0, |(_, after)| after)]),
            Computes::Copy => gathered(words.len(), words.iter().copied()),
            Computes::Read => Ok(Vec::new()),
        }
    }
}

/// The contents of the guard after a buffer: different words for each buffer, so that copies between guards are seen.
fn guard(buffer: usize) -> Vec<u32> {
    let mut random = Random::new(buffer as u64, "guard");
    (0..GUARD).map(|_| random.next()).collect()
}

/// Words on a device, for any number of pipelines.
#[derive(Debug)]
pub struct Data {
    words: u64,
    buffer: wgpu::Buffer,
}

/// A pipeline with its buffers on a device.
#[derive(Debug)]
pub struct Ready<'l> {
    linked: &'l Linked,
    plan: &'l Plan,
    /// With their guards.
    buffers: Vec<wgpu::Buffer>,
    /// If the pipeline changes its input: the copy to restore it from before each run, and the number of bytes.
    restored: Option<(wgpu::Buffer, u64)>,
    constants: Vec<Option<wgpu::Buffer>>,
}

/// The kernels of a pipeline as compiled by a device.
#[derive(Debug)]
pub struct Steps {
    steps: Vec<(wgpu::ComputePipeline, wgpu::BindGroup, [u32; 3])>,
}

/// A wrong result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The first word that differs.
    pub index: u64,
    pub got: u32,
    pub expected: u32,
    /// The number of words that differ.
    pub count: u64,
}

/// A write beyond the end of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// As in [`crate::pipeline::PlannedBuffer`].
    pub buffer: String,
    /// The length of the buffer.
    pub words: u64,
    /// The first word that was written, counted from the start of the buffer.
    pub index: u64,
}

impl Device {
    /// The most groups of a dispatch in one dimension.
    #[must_use]
    pub fn max_groups(&self) -> u32 {
        self.gpu.limits().max_compute_workgroups_per_dimension
    }

    /// Whether a buffer of this many words is within the device's limits.
    ///
    /// # Errors
    /// [`RunError::TooLarge`] if it is not.
    pub fn takes_words(&self, n: u64) -> Result<(), RunError> {
        self.check_size(n.saturating_add(GUARD).saturating_mul(4))
    }

    /// Copies words to the device, with garbage after them.
    ///
    /// # Errors
    /// If the device cannot hold them.
    pub fn upload(&self, words: &[u32]) -> Result<Data, RunError> {
        guarded(|| {
            let length = words.len() as u64;
            let usage =
                wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let whole = length.next_multiple_of(4) + GUARD;
            let buffer = self.empty_buffer(whole * 4, usage)?;
            let rest = vec![GARBAGE; (whole - length) as usize];
            self.scoped(|| {
                self.queue
                    .write_buffer(&buffer, length * 4, bytemuck::cast_slice(&rest));
            })?;
            let step = CHUNK / 4;
            for (at, part) in (0u64..).step_by(CHUNK as usize).zip(words.chunks(step as usize)) {
                self.scoped(|| self.queue.write_buffer(&buffer, at, bytemuck::cast_slice(part)))?;
            }
            Ok(Data {
                words: length,
                buffer,
            })
        })
    }

    /// Creates a pipeline's buffers. All except the input hold garbage.
    ///
    /// # Errors
    /// [`RunError::TooLarge`] and [`RunError::OutOfMemory`] if the device cannot hold them.
    pub fn ready<'l>(&self, linked: &'l Linked, plan: &'l Plan, data: &Data) -> Result<Ready<'l>, RunError> {
        guarded(|| {
            if data.words != plan.n {
                return Err(RunError::Input(format!(
                    "{} words for a pipeline over {}",
                    data.words, plan.n
                )));
            }
            for dispatch in &plan.dispatches {
                self.check_groups(dispatch.groups)?;
            }
            let usage =
                wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let garbage = vec![GARBAGE; 1 << 18];
            let garbage = self.buffer(bytemuck::cast_slice(&garbage), wgpu::BufferUsages::COPY_SRC)?;
            let mut ready = Ready {
                linked,
                plan,
                buffers: Vec::new(),
                restored: None,
                constants: Vec::new(),
            };
            for (at, planned) in plan.buffers.iter().enumerate() {
                let bytes = planned.words.saturating_mul(4);
                let guarded = bytes.saturating_add(GUARD * 4);
                if at == plan.input && !plan.is_written(at, linked) && guarded <= data.buffer.size() {
                    ready.buffers.push(data.buffer.clone());
                    continue;
                }
                let buffer = self.empty_buffer(guarded, usage).map_err(|error| match error {
                    RunError::TooLarge(why) => RunError::TooLarge(format!("`{}`: {why}", planned.name)),
                    other => other,
                })?;
                let guard = guard(at);
                self.scoped(|| {
                    self.queue
                        .write_buffer(&buffer, bytes, bytemuck::cast_slice(&guard));
                    let mut encoder =
                        (self.gpu).create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                    let mut from = 0;
                    while from < bytes {
                        let part = garbage.size().min(bytes - from);
                        encoder.copy_buffer_to_buffer(&garbage, 0, &buffer, from, part);
                        from += part;
                    }
                    self.queue.submit([encoder.finish()]);
                })?;
                if at == plan.input {
                    ready.restored = Some((data.buffer.clone(), plan.n * 4));
                }
                ready.buffers.push(buffer);
            }
            for dispatch in &plan.dispatches {
                ready.constants.push(match dispatch.constants.as_slice() {
                    [] => None,
                    bytes => Some(self.buffer(bytes, wgpu::BufferUsages::STORAGE)?),
                });
            }
            Ok(ready)
        })
    }
}

impl Ready<'_> {
    /// Compiles the kernels with the driver.
    ///
    /// # Errors
    /// If the adapter cannot run one, with its reason.
    pub fn steps(&self, device: &Device, mode: Mode) -> Result<Steps, RunError> {
        guarded(|| {
            let mut compiled = Vec::new();
            for kernel in &self.linked.kernels {
                compiled.push((device.compile(kernel, mode)?, kernel));
            }
            let mut steps = Vec::new();
            for (dispatch, constants) in self.plan.dispatches.iter().zip(&self.constants) {
                let Some((compiled, kernel)) = compiled.get(dispatch.kernel) else {
                    continue;
                };
                let mut bound = Vec::new();
                for (binding, at) in kernel.bindings.iter().zip(&dispatch.buffers) {
                    let buffer = match at {
                        Some(at) => self.buffers.get(*at).map(|buffer| {
                            let words = self.plan.buffers.get(*at).map_or(0, |planned| planned.words);
                            let bytes = if binding.is_asked {
                                // A binding must have at least one element.
                                (words * 4).max(u64::from(binding.element.stride))
                            } else {
                                (words + GUARD) * 4
                            };
                            (buffer, bytes)
                        }),
                        None => constants.as_ref().map(|buffer| (buffer, buffer.size())),
                    };
                    let Some(buffer) = buffer else {
                        return Err(RunError::Input("a buffer is missing".to_owned()));
                    };
                    bound.push(buffer);
                }
                let (pipeline, layout) = compiled.parts();
                let bind_group = device.bind_parts(layout, &bound)?;
                steps.push((pipeline.clone(), bind_group, dispatch.groups));
            }
            Ok(Steps { steps })
        })
    }

    /// Runs the pipeline once.
    ///
    /// # Errors
    /// If the device cannot run it, with its reason. The run is abandoned after [`super::PATIENCE_S`].
    pub fn run(&self, device: &Device, steps: &Steps) -> Result<(), RunError> {
        guarded(|| self.submit(device, steps, None))
    }

    /// Compares the result of the last run with `expected`, the result of [`Computes::expected`].
    ///
    /// # Errors
    /// If the result cannot be read.
    pub fn mismatch(&self, device: &Device, expected: &[u32]) -> Result<Option<Mismatch>, RunError> {
        guarded(|| {
            let Some(output) = self.buffers.get(self.plan.output) else {
                return Ok(None);
            };
            let bytes = (self.plan.output_words.min(expected.len() as u64)) * 4;
            if bytes == 0 {
                return Ok(None);
            }
            let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
            let staged = device.empty_buffer(bytes.min(CHUNK), usage)?;
            let mut mismatch: Option<Mismatch> = None;
            let mut from = 0;
            while from < bytes {
                let part = staged.size().min(bytes - from);
                device.scoped(|| {
                    let mut encoder =
                        (device.gpu).create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                    encoder.copy_buffer_to_buffer(output, from, &staged, 0, part);
                    device.queue.submit([encoder.finish()]);
                    // Mapping fails only if the device is lost, and then the wait reports the loss.
                    staged.slice(..part).map_async(wgpu::MapMode::Read, |_| {});
                })?;
                device.wait()?;
                {
                    let view = staged
                        .slice(..part)
                        .get_mapped_range()
                        .map_err(|error| RunError::Lost(error.to_string()))?;
                    let first = from / 4;
                    let expected = expected.iter().skip(first as usize);
                    let (words, _) = view.as_chunks();
                    for ((index, word), expected) in (first..).zip(words).zip(expected) {
                        let got = u32::from_le_bytes(*word);
                        if got != *expected {
                            mismatch
                                .get_or_insert(Mismatch {
                                    index,
                                    got,
                                    expected: *expected,
                                    count: 0,
                                })
                                .count += 1;
                        }
                    }
                }
                staged.unmap();
                from += part;
            }
            Ok(mismatch)
        })
    }

    /// Checks the guards after the buffers, for all runs so far. Returns the first buffer with a write beyond its
    /// end.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn overrun(&self, device: &Device) -> Result<Option<Overrun>, RunError> {
        guarded(|| {
            let shared = self.restored.is_none().then_some(self.plan.input);
            let mut looked_at: Vec<usize> = (0..self.buffers.len()).collect();
            looked_at.retain(|at| Some(*at) != shared);
            let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let all = device.empty_buffer((looked_at.len() as u64 * GUARD * 4).max(4), usage)?;
            device.scoped(|| {
                let mut encoder =
                    (device.gpu).create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                let targets = (0u64..).step_by(GUARD as usize * 4);
                for (target, at) in targets.zip(&looked_at) {
                    if let (Some(buffer), Some(planned)) = (self.buffers.get(*at), self.plan.buffers.get(*at))
                    {
                        encoder.copy_buffer_to_buffer(buffer, planned.words * 4, &all, target, GUARD * 4);
                    }
                }
                device.queue.submit([encoder.finish()]);
            })?;
            let bytes = device.read(&[&all])?.pop().unwrap_or_default();
            for (found, at) in bytes.chunks_exact(GUARD as usize * 4).zip(looked_at) {
                let expected = guard(at);
                let words = found.chunks_exact(4).zip(&expected);
                let first = (0u64..)
                    .zip(words)
                    .find(|(_, (found, expected))| *found != expected.to_le_bytes());
                if let (Some((index, _)), Some(planned)) = (first, self.plan.buffers.get(at)) {
                    return Ok(Some(Overrun {
                        buffer: planned.name.clone(),
                        words: planned.words,
                        index: planned.words + index,
                    }));
                }
            }
            Ok(None)
        })
    }

    /// Times runs of the whole pipeline, from the start of its first dispatch to the end of its last. `None` if the
    /// device has no timestamps, or if nothing is dispatched.
    ///
    /// # Errors
    /// As [`Ready::run`].
    pub fn time(
        &self,
        device: &Device,
        steps: &Steps,
        warm_up: u32,
        runs: u32,
    ) -> Result<Option<Spread>, RunError> {
        if !device.info.has_timestamps || steps.steps.is_empty() {
            return Ok(None);
        }
        guarded(|| {
            let stopwatch = Stopwatch::new(device)?;
            let mut times = Vec::new();
            let (started, mut warming) = (Instant::now(), warm_up);
            while times.len() < runs as usize {
                device.tell("timing");
                self.submit(device, steps, Some(&stopwatch))?;
                let taken = stopwatch.milliseconds(device)?;
                let is_cold = !device.info.is_cpu && started.elapsed() < WAKING;
                if warming == 0 && !is_cold {
                    times.push(taken);
                }
                warming = warming.saturating_sub(1);
            }
            Ok(Some(spread(times)))
        })
    }

    fn submit(&self, device: &Device, steps: &Steps, stopwatch: Option<&Stopwatch>) -> Result<(), RunError> {
        device.scoped(|| {
            let mut encoder = (device.gpu).create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            if let (Some((pristine, bytes)), Some(input)) =
                (&self.restored, self.buffers.get(self.plan.input))
                && *bytes > 0
            {
                encoder.copy_buffer_to_buffer(pristine, 0, input, 0, *bytes);
            }
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: None,
                    timestamp_writes: stopwatch.map(Stopwatch::writes),
                });
                for (pipeline, bind_group, [x, y, z]) in &steps.steps {
                    pass.set_pipeline(pipeline);
                    pass.set_bind_group(0, bind_group, &[]);
                    pass.dispatch_workgroups(*x, *y, *z);
                }
            }
            if let Some(stopwatch) = stopwatch {
                stopwatch.resolve(&mut encoder);
            }
            device.queue.submit([encoder.finish()]);
        })?;
        device.wait()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::adapters;

    #[test]
    fn a_lost_device_says_so_and_its_adapter_opens_another() {
        for adapter in adapters() {
            let device = adapter.open().unwrap();
            let data = device.upload(&[1, 2, 3]);
            assert!(data.is_ok(), "{data:?}");
            device.destroy();
            for _ in 0..2 {
                let lost = device.upload(&[1, 2, 3]);
                assert!(matches!(lost, Err(RunError::Lost(_))), "{lost:?}");
            }
            let again = adapter.open().unwrap().upload(&[1, 2, 3]);
            assert!(again.is_ok(), "{again:?}");
        }
    }
}
