//! The adapters of this machine.

use super::guarded;

/// A device that can run kernels, not opened yet.
#[derive(Clone, Debug)]
pub struct Adapter {
    pub(super) inner: wgpu::Adapter,
    pub info: AdapterInfo,
}

/// The properties that an adapter reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterInfo {
    pub name: String,
    /// `vulkan`, `metal` or `dx12`.
    pub backend: String,
    /// Name and version of the driver, as it reports them.
    pub driver: String,
    /// A software rasteriser such as lavapipe or WARP.
    pub is_cpu: bool,
    /// The smallest and the largest wave size that it may use.
    pub wave_min: u32,
    pub wave_max: u32,
    pub has_subgroups: bool,
    /// Whether it has timestamp queries; without them nothing is timed.
    pub has_timestamps: bool,
}

/// All adapters of this machine, for Vulkan, Metal and Direct3D 12; possibly none. Never panics.
#[must_use]
pub fn adapters() -> Vec<Adapter> {
    let found = guarded(|| {
        let backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
        let mut description = wgpu::InstanceDescriptor::new_without_display_handle();
        description.backends = backends;
        let instance = wgpu::Instance::new(description);
        Ok(pollster::block_on(instance.enumerate_adapters(backends)))
    });
    found
        .unwrap_or_default()
        .into_iter()
        .filter_map(|inner| guarded(|| Ok(describe(inner))).ok())
        .collect()
}

fn describe(inner: wgpu::Adapter) -> Adapter {
    let info = inner.get_info();
    let features = inner.features();
    let driver = format!("{} {}", info.driver, info.driver_info);
    let info = AdapterInfo {
        name: info.name,
        backend: info.backend.to_string(),
        driver: driver.trim().to_owned(),
        is_cpu: info.device_type == wgpu::DeviceType::Cpu,
        wave_min: info.subgroup_min_size,
        wave_max: info.subgroup_max_size,
        has_subgroups: features.contains(wgpu::Features::SUBGROUP),
        has_timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
    };
    Adapter { inner, info }
}
