//! Times kernels side by side with timestamp queries.

use super::device::{Device, Mode, Prepared};
use super::{AdapterInfo, InputPlan, Inputs, RunError, guarded, make_inputs};
use crate::{Binding, BindingKind, Lowered};

/// The amount of work to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimingPlan {
    /// Groups in x of one dispatch.
    pub groups: u32,
    /// Dispatches in one timed run.
    pub dispatches: u32,
    /// Timed runs of each kernel; at least 15.
    pub runs: u32,
    /// Runs of each before the first timed one.
    pub warm_up: u32,
}

impl TimingPlan {
    /// 2^24 threads on a GPU, 2^16 on a CPU, with at most 65,535 groups per dispatch.
    #[must_use]
    pub fn for_adapter(adapter: &AdapterInfo, group_size: [u32; 3]) -> Self {
        let threads = group_size
            .iter()
            .fold(1u32, |n, size| n.saturating_mul(*size))
            .max(1);
        let wanted: u32 = if adapter.is_cpu { 1 << 16 } else { 1 << 24 };
        let groups = wanted.div_ceil(threads);
        let dispatches = groups.div_ceil(65_535).max(1);
        Self {
            groups: groups.div_ceil(dispatches),
            dispatches,
            runs: 15,
            warm_up: 3,
        }
    }
}

/// Times of one kernel, in milliseconds per run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    pub median_ms: f64,
    pub min_ms: f64,
    pub max_ms: f64,
}

/// Times of both kernels, their runs interleaved, and of a plain copy beside them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    pub flagged: Spread,
    pub fixed: Spread,
    /// A copy that reads and writes as many bytes as the flagged kernel's buffers have: the cost of memory and
    /// launching alone.
    pub copy: Spread,
    pub plan: TimingPlan,
    /// Threads of one run.
    pub threads: u64,
}

impl Timing {
    /// How many times faster the fixed kernel is, by medians.
    #[must_use]
    pub fn speed_up(&self) -> f64 {
        self.flagged.median_ms / self.fixed.median_ms
    }

    /// Whether the ranges of the two kernels' runs do not overlap: a smaller difference says nothing.
    #[must_use]
    pub fn is_measurable(&self) -> bool {
        self.flagged.min_ms > self.fixed.max_ms || self.fixed.min_ms > self.flagged.max_ms
    }
}

/// Times two kernels in [`Mode::Unchecked`]. `None` if the adapter has no timestamps. Before every run each buffer is
/// reset to its inputs, outside of the measured time.
///
/// # Errors
/// As [`super::run`].
pub fn time(
    device: &Device,
    flagged: &Lowered,
    fixed: &Lowered,
    inputs: &InputPlan,
    plan: TimingPlan,
) -> Result<Option<Timing>, RunError> {
    if !device.info.has_timestamps {
        return Ok(None);
    }
    guarded(|| time_kernels(device, flagged, fixed, inputs, plan).map(Some))
}

fn time_kernels(
    device: &Device,
    flagged: &Lowered,
    fixed: &Lowered,
    inputs: &InputPlan,
    plan: TimingPlan,
) -> Result<Timing, RunError> {
    let plan = TimingPlan {
        runs: plan.runs.clamp(15, 500),
        groups: plan.groups.max(1),
        dispatches: plan.dispatches.max(1),
        ..plan
    };
    let groups = [plan.groups, 1, 1];
    device.check_groups(groups)?;
    let threads = flagged.group_size.iter().product::<u32>().max(1);
    // Slots that are claimed by counting continue from one dispatch to the next.
    let mut sized = inputs.clone();
    sized.elements_per_thread = sized.elements_per_thread.saturating_mul(plan.dispatches);
    let inputs = make_inputs(&[flagged, fixed], groups, &sized);
    let subjects = [
        Subject::kernel(device, flagged, &inputs)?,
        Subject::kernel(device, fixed, &inputs)?,
        Subject::copy(device, threads, plan.groups, copied_words(flagged, &inputs, plan))?,
    ];
    let stopwatch = Stopwatch::new(device)?;
    let mut times: [Vec<f64>; 3] = Default::default();
    for run in 0..plan.warm_up.saturating_add(plan.runs) {
        for (subject, times) in subjects.iter().zip(&mut times) {
            device.tell("timing");
            subject.submit(device, &stopwatch, plan)?;
            let taken = stopwatch.milliseconds(device)?;
            if run >= plan.warm_up {
                times.push(taken);
            }
        }
    }
    let [flagged, fixed, copy] = times.map(spread);
    Ok(Timing {
        flagged,
        fixed,
        copy,
        plan,
        threads: u64::from(plan.groups) * u64::from(plan.dispatches) * u64::from(threads),
    })
}

/// The number of words that each thread of the copy reads and writes, so that the copy moves as much as the kernel's
/// buffers hold for one dispatch.
fn copied_words(kernel: &Lowered, inputs: &Inputs, plan: TimingPlan) -> u32 {
    let is_storage = |binding: &&Binding| {
        matches!(
            binding.kind,
            BindingKind::ReadOnlyStorage | BindingKind::ReadWriteStorage
        )
    };
    let buffers = kernel.bindings.iter().filter(is_storage);
    let bytes: usize = (buffers.filter_map(|binding| inputs.buffers.get(&binding.name)))
        .map(Vec::len)
        .sum();
    let threads = super::inputs::threads(kernel, [plan.groups, 1, 1]);
    // Each byte is read or written, and a word has four bytes.
    let moved = threads
        .saturating_mul(u64::from(plan.dispatches))
        .saturating_mul(8)
        .max(1);
    let words = (bytes as u64).div_ceil(moved).clamp(1, MOST_COPIED);
    u32::try_from(words).unwrap_or(1)
}

/// The maximum of words that each thread of the copy moves.
const MOST_COPIED: u64 = 16;

/// Two timestamps around a compute pass.
#[derive(Debug)]
pub(super) struct Stopwatch {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    period_ns: f64,
}

impl Stopwatch {
    pub(super) fn new(device: &Device) -> Result<Self, RunError> {
        let queries = device.scoped(|| {
            device.gpu.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            })
        })?;
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        Ok(Self {
            queries,
            resolved: device.empty_buffer(16, usage)?,
            period_ns: f64::from(device.queue.get_timestamp_period()),
        })
    }

    /// The timestamps that the timed pass writes.
    pub(super) fn writes(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        }
    }

    /// Resolves the timestamps; called after the pass.
    pub(super) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0);
    }

    /// The duration of the pass, which must be done.
    #[expect(clippy::cast_precision_loss, reason = "times are far below 2^53 ns")]
    pub(super) fn milliseconds(&self, device: &Device) -> Result<f64, RunError> {
        let bytes = device.read(&[&self.resolved])?.pop().unwrap_or_default();
        let stamp = |at: usize| -> u64 {
            let bytes: Option<[u8; 8]> = bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        };
        Ok(stamp(8).saturating_sub(stamp(0)) as f64 * self.period_ns * 1e-6)
    }
}

pub(super) fn spread(mut times: Vec<f64>) -> Spread {
    times.sort_by(f64::total_cmp);
    Spread {
        median_ms: times.get(times.len() / 2).copied().unwrap_or(0.0),
        min_ms: times.first().copied().unwrap_or(0.0),
        max_ms: times.last().copied().unwrap_or(0.0),
    }
}

/// A timed subject.
struct Subject {
    prepared: Prepared,
    /// Buffers that a run may change, with their initial contents.
    restored: Vec<(usize, wgpu::Buffer)>,
}

impl Subject {
    fn kernel(device: &Device, kernel: &Lowered, inputs: &Inputs) -> Result<Self, RunError> {
        let prepared = device.prepare(&device.compile(kernel, Mode::Unchecked)?, inputs)?;
        let mut restored = Vec::new();
        for (at, binding) in kernel.bindings.iter().enumerate() {
            if binding.kind.is_writable() {
                let bytes = inputs.bytes(binding)?;
                restored.push((at, device.buffer(&bytes, wgpu::BufferUsages::COPY_SRC)?));
            }
        }
        Ok(Self { prepared, restored })
    }

    fn copy(device: &Device, threads: u32, groups: u32, words: u32) -> Result<Self, RunError> {
        let all = threads.saturating_mul(groups);
        let wgsl = format!(
            "@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_: array<u32>;
@compute @workgroup_size({threads})
fn copy(@builtin(global_invocation_id) id: vec3<u32>) {{
    for (var word = 0u; word < {words}u; word++) {{
        target_[word * {all}u + id.x] = source[word * {all}u + id.x];
    }}
}}
"
        );
        let (pipeline, layout) = device.pipeline(&wgsl, &[true, false], Mode::Unchecked)?;
        let size = u64::from(all) * u64::from(words) * 4;
        let buffers = vec![
            device.empty_buffer(size, wgpu::BufferUsages::STORAGE)?,
            device.empty_buffer(size, wgpu::BufferUsages::STORAGE)?,
        ];
        let bind_group = device.bind(&layout, &buffers.iter().collect::<Vec<_>>())?;
        Ok(Self {
            prepared: Prepared {
                pipeline,
                bind_group,
                buffers,
            },
            restored: Vec::new(),
        })
    }

    fn submit(&self, device: &Device, stopwatch: &Stopwatch, plan: TimingPlan) -> Result<(), RunError> {
        device.scoped(|| {
            let mut encoder = device
                .gpu
                .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for (at, pristine) in &self.restored {
                if let Some(buffer) = self.prepared.buffers.get(*at) {
                    encoder.copy_buffer_to_buffer(pristine, 0, buffer, 0, buffer.size());
                }
            }
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: None,
                    timestamp_writes: Some(stopwatch.writes()),
                });
                pass.set_pipeline(&self.prepared.pipeline);
                pass.set_bind_group(0, &self.prepared.bind_group, &[]);
                for _ in 0..plan.dispatches {
                    pass.dispatch_workgroups(plan.groups, 1, 1);
                }
            }
            stopwatch.resolve(&mut encoder);
            device.queue.submit([encoder.finish()]);
        })?;
        device.wait()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_within_the_spread_is_none() {
        let of = |flagged: [f64; 3], fixed: [f64; 3]| Timing {
            flagged: spread(flagged.to_vec()),
            fixed: spread(fixed.to_vec()),
            copy: Spread::default(),
            plan: TimingPlan {
                groups: 1,
                dispatches: 1,
                runs: 15,
                warm_up: 3,
            },
            threads: 64,
        };
        let apart = of([4.0, 3.0, 5.0], [2.0, 1.0, 2.5]);
        assert!(apart.is_measurable());
        assert!((apart.speed_up() - 2.0).abs() < 1e-9);
        assert!(of([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]).is_measurable());
        // The slowest run of one is as slow as the fastest run of the other.
        assert!(!of([4.0, 3.0, 5.0], [2.0, 1.0, 3.0]).is_measurable());
        assert!(!of([4.0, 4.0, 4.0], [4.0, 4.0, 4.0]).is_measurable());
    }
}
