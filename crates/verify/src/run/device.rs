//! An open device, and one run of one kernel.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::{Adapter, AdapterInfo, Inputs, PATIENCE_S, RunError, guarded};
use crate::{Binding, Lowered};

/// An open device. Dropping it closes it.
#[derive(Debug)]
pub struct Device {
    pub info: AdapterInfo,
    pub(super) gpu: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    /// An error outside of any error scope.
    trouble: Arc<Mutex<Option<Trouble>>>,
    /// The listener to the steps of a run.
    steps: Option<mpsc::Sender<&'static str>>,
}

#[derive(Debug)]
struct Trouble {
    error: RunError,
    /// The device can no longer be used.
    is_final: bool,
}

/// The checks of the generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Clamps indices and zeroes workgroup memory, for comparisons.
    Checked,
    /// Does neither, for timing kernels that are known to stay in bounds.
    Unchecked,
}

/// The final contents of each buffer that a kernel may write to, by [`Binding::name`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    pub buffers: BTreeMap<String, Vec<u8>>,
}

impl Adapter {
    /// Opens the adapter with its own limits, and with subgroups and timestamps if it has them.
    ///
    /// # Errors
    /// [`RunError::NoDevice`] with the driver's reason.
    pub fn open(&self) -> Result<Device, RunError> {
        guarded(|| Device::open(self)).map_err(|error| match error {
            // wgpu creates pipelines of its own first, and panics if a driver refuses them.
            RunError::Panicked(_) => RunError::NoDevice(error.to_string()),
            error => error,
        })
    }
}

impl Device {
    pub(super) fn open(adapter: &Adapter) -> Result<Self, RunError> {
        let wanted = wgpu::Features::SUBGROUP | wgpu::Features::TIMESTAMP_QUERY;
        let description = wgpu::DeviceDescriptor {
            label: None,
            required_features: adapter.inner.features() & wanted,
            required_limits: adapter.inner.limits(),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.inner.request_device(&description))
            .map_err(|error| RunError::NoDevice(error.to_string()))?;
        let trouble = Arc::new(Mutex::new(None));
        let uncaptured = Arc::clone(&trouble);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let mut trouble = uncaptured.lock().unwrap_or_else(PoisonError::into_inner);
            // The loss of the device explains more than a later error.
            trouble.get_or_insert(Trouble {
                error: run_error(error),
                is_final: false,
            });
        }));
        let lost = Arc::clone(&trouble);
        device.set_device_lost_callback(move |_, message| {
            *lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(Trouble {
                error: lost_because(message),
                is_final: true,
            });
        });
        Ok(Self {
            info: adapter.info.clone(),
            gpu: device,
            queue,
            trouble,
            steps: None,
        })
    }

    /// Destroys the device. Every later call returns [`RunError::Lost`].
    pub fn destroy(&self) {
        self.gpu.destroy();
        // The wait reports the loss.
        let _ = self.wait();
    }

    /// The device with a listener to its steps.
    pub(super) fn telling(mut self, steps: mpsc::Sender<&'static str>) -> Self {
        self.steps = Some(steps);
        self
    }

    pub(super) fn tell(&self, step: &'static str) {
        if let Some(steps) = &self.steps {
            // The listener may be gone.
            let _ = steps.send(step);
        }
    }

    /// Runs `inner` inside error scopes.
    pub(super) fn scoped<T>(&self, inner: impl FnOnce() -> T) -> Result<T, RunError> {
        let scopes = [
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::Validation,
        ]
        .map(|filter| self.gpu.push_error_scope(filter));
        let made = inner();
        let mut first = None;
        for scope in scopes.into_iter().rev() {
            first = first.or(pollster::block_on(scope.pop()));
        }
        // On a lost device every later call fails: the loss explains more.
        self.check()?;
        first.map_or(Ok(made), |error| Err(run_error(error)))
    }

    fn check(&self) -> Result<(), RunError> {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match trouble.take_if(|trouble| !trouble.is_final) {
            Some(Trouble { error, .. }) => Err(error),
            None => trouble.as_ref().map_or(Ok(()), |lost| Err(lost.error.clone())),
        }
    }

    /// Whether it accepts more work: it is not lost, and its work so far has ended.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        !trouble.as_ref().is_some_and(|trouble| trouble.is_final)
    }

    /// Waits for everything submitted so far.
    pub(super) fn wait(&self) -> Result<(), RunError> {
        let waited = self.gpu.poll(wgpu::PollType::Wait {
            submission_index: None,
            timeout: Some(Duration::from_secs(PATIENCE_S)),
        });
        match waited {
            Ok(_) => self.check(),
            Err(wgpu::PollError::Timeout) => {
                let error = RunError::Timeout(PATIENCE_S);
                *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(Trouble {
                    error: error.clone(),
                    is_final: true,
                });
                Err(error)
            }
            Err(error) => Err(RunError::Refused(error.to_string())),
        }
    }

    pub(super) fn buffer(&self, bytes: &[u8], usage: wgpu::BufferUsages) -> Result<wgpu::Buffer, RunError> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let buffer = self.empty_buffer(size, usage | wgpu::BufferUsages::COPY_DST)?;
        self.scoped(|| self.queue.write_buffer(&buffer, 0, bytes))
            .map_err(|error| no_room(error, size))?;
        Ok(buffer)
    }

    pub(super) fn empty_buffer(
        &self,
        size: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, RunError> {
        self.check_size(size)?;
        self.scoped(|| {
            self.gpu.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            })
        })
        .map_err(|error| no_room(error, size))
    }

    /// Refuses buffers that are too large for the device.
    pub(super) fn check_size(&self, size: u64) -> Result<(), RunError> {
        let limits = self.gpu.limits();
        let limit = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        if size > limit {
            return Err(RunError::TooLarge(format!(
                "a buffer of {size} bytes, the limit is {limit}"
            )));
        }
        Ok(())
    }

    /// A pipeline for WGSL text with one entry point.
    pub(super) fn pipeline(
        &self,
        wgsl: &str,
        read_only: &[bool],
        mode: Mode,
    ) -> Result<(wgpu::ComputePipeline, wgpu::BindGroupLayout), RunError> {
        let source = wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(wgsl.into()),
        };
        let module = self.scoped(|| match mode {
            Mode::Checked => self.gpu.create_shader_module(source),
            Mode::Unchecked => unchecked_module(&self.gpu, source, self.info.is_cpu),
        })?;
        self.scoped(|| {
            let entries: Vec<wgpu::BindGroupLayoutEntry> = (0u32..)
                .zip(read_only)
                .map(|(binding, read_only)| wgpu::BindGroupLayoutEntry {
                    binding,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Storage {
                            read_only: *read_only,
                        },
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                })
                .collect();
            let bind_layout = self
                .gpu
                .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                    label: None,
                    entries: &entries,
                });
            let layout = self.gpu.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&bind_layout)],
                immediate_size: 0,
            });
            let pipeline = self
                .gpu
                .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: None,
                    layout: Some(&layout),
                    module: &module,
                    entry_point: None,
                    compilation_options: wgpu::PipelineCompilationOptions {
                        zero_initialize_workgroup_memory: mode == Mode::Checked,
                        ..wgpu::PipelineCompilationOptions::default()
                    },
                    cache: None,
                });
            (pipeline, bind_layout)
        })
        .map_err(|error| match error {
            // The device was not lost before.
            RunError::Lost(why) => RunError::Refused(format!("its driver builds no pipeline from it: {why}")),
            error => error,
        })
    }

    pub(super) fn bind(
        &self,
        layout: &wgpu::BindGroupLayout,
        buffers: &[&wgpu::Buffer],
    ) -> Result<wgpu::BindGroup, RunError> {
        let whole: Vec<(&wgpu::Buffer, u64)> =
            buffers.iter().map(|buffer| (*buffer, buffer.size())).collect();
        self.bind_parts(layout, &whole)
    }

    /// Binds this many bytes of each buffer, from its start.
    pub(super) fn bind_parts(
        &self,
        layout: &wgpu::BindGroupLayout,
        buffers: &[(&wgpu::Buffer, u64)],
    ) -> Result<wgpu::BindGroup, RunError> {
        self.scoped(|| {
            let entries: Vec<wgpu::BindGroupEntry<'_>> = (0u32..)
                .zip(buffers)
                .map(|(binding, (buffer, bytes))| wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer,
                        offset: 0,
                        size: std::num::NonZeroU64::new(*bytes),
                    }),
                })
                .collect();
            self.gpu.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout,
                entries: &entries,
            })
        })
    }

    /// Refuses dispatches that are too large for the device.
    pub(super) fn check_groups(&self, groups: [u32; 3]) -> Result<(), RunError> {
        let limit = self.gpu.limits().max_compute_workgroups_per_dimension;
        if groups.iter().any(|n| *n > limit) {
            return Err(RunError::TooLarge(format!(
                "a dispatch of {groups:?} groups, the limit is {limit} in each dimension"
            )));
        }
        Ok(())
    }

    /// Reads buffers back, in order.
    pub(super) fn read(&self, buffers: &[&wgpu::Buffer]) -> Result<Vec<Vec<u8>>, RunError> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let mut staged = Vec::new();
        for buffer in buffers {
            staged.push(self.empty_buffer(buffer.size(), usage)?);
        }
        self.scoped(|| {
            let mut encoder = self
                .gpu
                .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for (from, to) in buffers.iter().zip(&staged) {
                encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
            }
            self.queue.submit([encoder.finish()]);
            for buffer in &staged {
                // Mapping fails only if the device is lost, and then the wait reports the loss.
                buffer.slice(..).map_async(wgpu::MapMode::Read, |_| {});
            }
        })?;
        self.wait()?;
        let mut read = Vec::new();
        for buffer in &staged {
            let view = buffer
                .slice(..)
                .get_mapped_range()
                .map_err(|error| RunError::Lost(error.to_string()))?;
            read.push(view.to_vec());
        }
        Ok(read)
    }
}

impl Drop for Device {
    /// Does not close a device that can no longer be used: closing waits for its work, which may never end.
    fn drop(&mut self) {
        if !self.is_usable() {
            std::mem::forget((self.gpu.clone(), self.queue.clone()));
        }
    }
}

/// A module without bounds checks.
#[expect(unsafe_code, reason = "wgpu offers modules without run-time checks only so")]
fn unchecked_module(
    device: &wgpu::Device,
    source: wgpu::ShaderModuleDescriptor<'_>,
    is_cpu: bool,
) -> wgpu::ShaderModule {
    let mut checks = wgpu::ShaderRuntimeChecks::unchecked();
    // On a CPU a division by zero would trap.
    checks.int_div_checks = is_cpu;
    // SAFETY: kernels are timed only after a checked run of the same text on the same inputs, which matched; storage
    // buffers stay behind the device's own robust access, and an out-of-bounds access to workgroup memory stays
    // within the device's memory.
    unsafe { device.create_shader_module_trusted(source, checks) }
}

fn run_error(error: wgpu::Error) -> RunError {
    match error {
        wgpu::Error::OutOfMemory { source } => RunError::OutOfMemory(source.to_string()),
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            RunError::Refused(in_one_line(&description))
        }
    }
}

/// wgpu loses a device whose driver runs out of memory, and only this message says so.
fn lost_because(message: String) -> RunError {
    if message.contains("Not enough memory") {
        RunError::OutOfMemory(message)
    } else {
        RunError::Lost(message)
    }
}

/// wgpu names the function that ran out of memory. The purpose of the memory explains more.
fn no_room(error: RunError, bytes: u64) -> RunError {
    match error {
        RunError::OutOfMemory(_) => RunError::OutOfMemory(format!("no room for a buffer of {bytes} bytes")),
        error => error,
    }
}

/// wgpu nests causes in each other and often repeats the last one.
fn in_one_line(description: &str) -> String {
    let lines = description
        .lines()
        .map(|line| line.trim_matches([' ', '=', '\t']));
    let mut said: Vec<&str> = lines
        .filter(|line| !["", "Validation Error", "Caused by:"].contains(line))
        .collect();
    said.dedup();
    said.join(": ")
}

/// A kernel that a device has compiled.
pub struct Compiled<'k> {
    kernel: &'k Lowered,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

/// A kernel with its buffers, ready to be dispatched.
pub(super) struct Prepared {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) bind_group: wgpu::BindGroup,
    /// One for each binding.
    pub(super) buffers: Vec<wgpu::Buffer>,
}

impl Device {
    /// Compiles a kernel with the driver.
    ///
    /// # Errors
    /// If the adapter cannot run the kernel, with its reason.
    pub fn compile<'k>(&self, kernel: &'k Lowered, mode: Mode) -> Result<Compiled<'k>, RunError> {
        guarded(|| {
            self.tell("compiling");
            if kernel.uses_subgroups && !self.info.has_subgroups {
                return Err(RunError::NoSubgroups);
            }
            if let Some((least, most)) = kernel.wave_sizes.filter(|_| kernel.uses_subgroups)
                && !(least <= self.info.wave_min && self.info.wave_max <= most)
            {
                return Err(RunError::OtherWaves {
                    has: self.info.wave_min..=self.info.wave_max,
                    asked: least..=most,
                });
            }
            // wgpu and drivers may not check this: an NVIDIA H200 never ends such a dispatch.
            let (bytes, limit) = (
                kernel.shared_bytes(),
                self.gpu.limits().max_compute_workgroup_storage_size,
            );
            if bytes > limit {
                return Err(RunError::TooLarge(format!(
                    "{bytes} bytes of groupshared memory, as WGSL lays it out, the limit is {limit}"
                )));
            }
            let wgsl = crate::wgsl(kernel, false).map_err(|error| RunError::Wgsl(error.to_string()))?;
            let read_only: Vec<bool> = kernel.bindings.iter().map(|b| !b.kind.is_writable()).collect();
            let (pipeline, layout) = self.pipeline(&wgsl, &read_only, mode)?;
            Ok(Compiled {
                kernel,
                pipeline,
                layout,
            })
        })
    }

    pub(super) fn prepare(&self, compiled: &Compiled<'_>, inputs: &Inputs) -> Result<Prepared, RunError> {
        let mut buffers = Vec::new();
        for binding in &compiled.kernel.bindings {
            let bytes = inputs.bytes(binding)?;
            buffers.push(self.buffer(&bytes, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC)?);
        }
        let bind_group = self.bind(&compiled.layout, &buffers.iter().collect::<Vec<_>>())?;
        Ok(Prepared {
            pipeline: compiled.pipeline.clone(),
            bind_group,
            buffers,
        })
    }
}

impl Compiled<'_> {
    /// The compiled pipeline and the layout of its bindings.
    pub(super) fn parts(&self) -> (&wgpu::ComputePipeline, &wgpu::BindGroupLayout) {
        (&self.pipeline, &self.layout)
    }

    /// Runs the kernel once over `groups` groups.
    ///
    /// # Errors
    /// If the device cannot run the kernel, with its reason. A run of more than [`PATIENCE_S`] is abandoned.
    pub fn run(&self, device: &Device, inputs: &Inputs, groups: [u32; 3]) -> Result<Outputs, RunError> {
        guarded(|| {
            device.tell("comparing");
            device.check_groups(groups)?;
            let prepared = device.prepare(self, inputs)?;
            device.scoped(|| {
                let mut encoder = device
                    .gpu
                    .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                {
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                    pass.set_pipeline(&prepared.pipeline);
                    pass.set_bind_group(0, &prepared.bind_group, &[]);
                    let [x, y, z] = groups;
                    pass.dispatch_workgroups(x, y, z);
                }
                device.queue.submit([encoder.finish()]);
            })?;
            device.wait()?;
            let written: Vec<(&Binding, &wgpu::Buffer)> =
                (self.kernel.bindings.iter().zip(&prepared.buffers))
                    .filter(|(binding, _)| binding.kind.is_writable())
                    .collect();
            let bytes = device.read(&written.iter().map(|(_, buffer)| *buffer).collect::<Vec<_>>())?;
            Ok(Outputs {
                buffers: (written.iter().map(|(binding, _)| binding.name.clone()).zip(bytes)).collect(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wgpu_reports_is_told_apart() {
        let source = || Box::<dyn std::error::Error + Send + Sync>::from("no more room");
        let memory = run_error(wgpu::Error::OutOfMemory { source: source() });
        assert_eq!(memory.to_string(), "out of memory: no more room");
        let refused = run_error(wgpu::Error::Internal {
            source: source(),
            description: "Validation Error\n\nCaused by:\n  In a pipeline\n = too wide\n\n      too wide\n"
                .to_owned(),
        });
        assert_eq!(
            refused.to_string(),
            "the adapter refused the kernel: In a pipeline: too wide"
        );
    }
}
