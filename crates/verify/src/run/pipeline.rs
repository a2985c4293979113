//! Pipelines on a device: run, compared with what they should leave, timed.

use std::time::{Duration, Instant};

use super::device::{Device, Mode};
use super::inputs::Random;
use super::timing::{Stopwatch, spread};
use super::{RunError, Spread, guarded};
use crate::pipeline::{Computes, Linked, Plan};

/// Bytes that are read back at once.
const CHUNK: u64 = 64 << 20;

/// How long a GPU works before it is timed. While results are compared it has nothing to do, and lowers its clocks: an
/// H200 to 570 of 1980 MHz within a second, at which a scan takes twice as long.
const WAKING: Duration = Duration::from_millis(500);

/// What buffers other than the input hold at first: nothing may depend on it.
const GARBAGE: u32 = 0xdead_beef;

/// Seeded words over their whole range: a sum of them that misses one is another one.
#[must_use]
pub fn sample_words(n: usize) -> Vec<u32> {
    let mut random = Random::new(0x5eed, "pipeline");
    (0..n).map(|_| random.next()).collect()
}

impl Computes {
    /// What is left of these words, computed one after the other; nothing where nothing has to come of them.
    #[must_use]
    pub fn expected(self, words: &[u32]) -> Vec<u32> {
        let sum = |before: &mut u32, word: &u32| {
            let own = *before;
            *before = own.wrapping_add(*word);
            Some((own, *before))
        };
        let sums = words.iter().scan(0, sum);
        match self {
            Computes::InclusiveScan => sums.map(|(_, after)| after).collect(),
            Computes::ExclusiveScan => sums.map(|(before, _)| before).collect(),
            Computes::Sum => vec![sums.last().map_or(0, |(_, after)| after)],
            Computes::Copy => words.to_vec(),
            Computes::Read => Vec::new(),
        }
    }
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
    buffers: Vec<wgpu::Buffer>,
    /// The input is changed: before each run it is copied from here, so many bytes.
    restored: Option<(wgpu::Buffer, u64)>,
    constants: Vec<Option<wgpu::Buffer>>,
}

/// The kernels of a pipeline as a device has taken them.
#[derive(Debug)]
pub struct Steps {
    steps: Vec<(wgpu::ComputePipeline, wgpu::BindGroup, [u32; 3])>,
}

/// A result that is not the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The first word that differs.
    pub index: u64,
    pub got: u32,
    pub expected: u32,
    /// How many do.
    pub count: u64,
}

impl Device {
    /// The most groups of a dispatch in one dimension.
    #[must_use]
    pub fn max_groups(&self) -> u32 {
        self.gpu.limits().max_compute_workgroups_per_dimension
    }

    /// Puts words on the device, with garbage up to the end of the last four.
    ///
    /// # Errors
    /// Where the device cannot hold them.
    pub fn upload(&self, words: &[u32]) -> Result<Data, RunError> {
        guarded(|| {
            let length = words.len() as u64;
            let usage =
                wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let whole = length.next_multiple_of(4).max(4);
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

    /// Makes a pipeline's buffers. Those that are not its input hold garbage.
    ///
    /// # Errors
    /// [`RunError::TooLarge`] and [`RunError::OutOfMemory`] where the device cannot hold them.
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
                if at == plan.input && !plan.is_written(at, linked) && bytes <= data.buffer.size() {
                    ready.buffers.push(data.buffer.clone());
                    continue;
                }
                let buffer = self.empty_buffer(bytes, usage).map_err(|error| match error {
                    RunError::TooLarge(why) => RunError::TooLarge(format!("`{}`: {why}", planned.name)),
                    other => other,
                })?;
                self.scoped(|| {
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
    /// Hands the kernels to the driver.
    ///
    /// # Errors
    /// Where the adapter cannot run one, with its reason.
    pub fn steps(&self, device: &Device, mode: Mode) -> Result<Steps, RunError> {
        guarded(|| {
            let mut compiled = Vec::new();
            for kernel in &self.linked.kernels {
                compiled.push(device.compile(kernel, mode)?);
            }
            let mut steps = Vec::new();
            for (dispatch, constants) in self.plan.dispatches.iter().zip(&self.constants) {
                let Some(kernel) = compiled.get(dispatch.kernel) else {
                    continue;
                };
                let mut bound = Vec::new();
                for at in &dispatch.buffers {
                    let buffer = match at {
                        Some(at) => self.buffers.get(*at).map(|buffer| {
                            let words = self.plan.buffers.get(*at).map_or(0, |planned| planned.words);
                            (buffer, words * 4)
                        }),
                        None => constants.as_ref().map(|buffer| (buffer, buffer.size())),
                    };
                    let Some(buffer) = buffer else {
                        return Err(RunError::Input("a buffer is missing".to_owned()));
                    };
                    bound.push(buffer);
                }
                let (pipeline, layout) = kernel.parts();
                let bind_group = device.bind_parts(layout, &bound)?;
                steps.push((pipeline.clone(), bind_group, dispatch.groups));
            }
            Ok(Steps { steps })
        })
    }

    /// Runs the pipeline once.
    ///
    /// # Errors
    /// Where the device cannot, with its reason; after [`super::PATIENCE_S`] it is given up.
    pub fn run(&self, device: &Device, steps: &Steps) -> Result<(), RunError> {
        guarded(|| self.submit(device, steps, None))
    }

    /// Looks at what the last run left. `expected` is what [`Computes::expected`] says.
    ///
    /// # Errors
    /// Where it cannot be read.
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
                    // Mapping fails only where the device is lost, and then the wait says so.
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
                    for ((index, bytes), expected) in (first..).zip(view.chunks_exact(4)).zip(expected) {
                        let got = bytes
                            .iter()
                            .rev()
                            .fold(0, |word, byte| word << 8 | u32::from(*byte));
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

    /// Times runs of the whole pipeline, from the start of its first dispatch to the end of its last. `None` where the
    /// device has no timestamps, or where nothing is dispatched.
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
