//! Probes the waves that a device really forms.

use super::device::Mode;
use super::{Device, RunError, guarded};

/// The waves of one thread group, as a probe kernel saw them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waves {
    /// Smallest and largest wave size that lanes reported.
    pub min: u32,
    pub max: u32,
    /// Whether `SV_GroupIndex / size` is the wave and `SV_GroupIndex % size` the lane, for every thread.
    pub is_linear: bool,
    /// By `SV_GroupIndex`: the group index of the first lane of the thread's wave.
    pub first_lanes: Vec<u32>,
    /// By `SV_GroupIndex`: number of lanes before it in its wave.
    pub ranks: Vec<u32>,
}

/// Runs one group of this size and observes its division into waves. Another kernel on the same device may get other
/// wave sizes, if the device has several.
///
/// # Errors
/// If the device has no subgroups, or refuses the probe.
pub fn probe_waves(device: &Device, group_size: [u32; 3]) -> Result<Waves, RunError> {
    if !device.info.has_subgroups {
        return Err(RunError::NoSubgroups);
    }
    let threads = group_size.iter().fold(1u32, |n, size| n.saturating_mul(*size));
    if threads == 0 || threads > 1 << 16 {
        return Err(RunError::TooLarge(format!("a group of {threads} threads")));
    }
    guarded(|| {
        let [x, y, z] = group_size;
        let wgsl = format!(
            "@group(0) @binding(0) var<storage, read_write> seen: array<u32>;
@compute @workgroup_size({x}, {y}, {z})
fn probe(@builtin(local_invocation_index) gi: u32, @builtin(subgroup_size) size: u32) {{
    let first = subgroupBroadcastFirst(gi);
    let rank = subgroupExclusiveAdd(1u);
    seen[gi * 3u] = size;
    seen[gi * 3u + 1u] = first;
    seen[gi * 3u + 2u] = rank;
}}
"
        );
        let (pipeline, layout) = device.pipeline(&wgsl, &[false], Mode::Checked)?;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let seen = device.empty_buffer(u64::from(threads) * 12, usage)?;
        let bind_group = device.bind(&layout, &[&seen])?;
        device.run_group(&pipeline, &bind_group)?;
        let bytes = device.read(&[&seen])?.pop().unwrap_or_default();
        let words: Vec<u32> = (bytes.as_chunks().0.iter())
            .map(|word| u32::from_le_bytes(*word))
            .collect();
        let column = |at: usize| -> Vec<u32> { words.iter().skip(at).step_by(3).copied().collect() };
        let (sizes, first_lanes, ranks) = (column(0), column(1), column(2));
        let is_linear = (0u32..)
            .zip(sizes.iter().zip(first_lanes.iter().zip(&ranks)))
            .all(|(gi, (size, (first, rank)))| *size != 0 && gi % size == *rank && gi - gi % size == *first);
        Ok(Waves {
            min: sizes.iter().copied().min().unwrap_or(0),
            max: sizes.iter().copied().max().unwrap_or(0),
            is_linear,
            first_lanes,
            ranks,
        })
    })
}

impl Device {
    /// Checks that the device runs anything at all: a single thread. A kernel that never ends also keeps its adapter
    /// busy for devices that are opened later.
    ///
    /// # Errors
    /// [`RunError::Timeout`] if it is not done after [`super::PATIENCE_S`].
    pub fn answers(&self) -> Result<(), RunError> {
        guarded(|| {
            let wgsl = "@group(0) @binding(0) var<storage, read_write> seen: array<u32>;
@compute @workgroup_size(1) fn answer() { seen[0] = 1u; }";
            let (pipeline, layout) = self.pipeline(wgsl, &[false], Mode::Checked)?;
            let seen = self.empty_buffer(4, wgpu::BufferUsages::STORAGE)?;
            self.run_group(&pipeline, &self.bind(&layout, &[&seen])?)
        })
    }

    /// Runs one group, to its end.
    fn run_group(
        &self,
        pipeline: &wgpu::ComputePipeline,
        bind_group: &wgpu::BindGroup,
    ) -> Result<(), RunError> {
        self.scoped(|| {
            let mut encoder = (self.gpu).create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, bind_group, &[]);
                pass.dispatch_workgroups(1, 1, 1);
            }
            self.queue.submit([encoder.finish()]);
        })?;
        self.wait()
    }
}
