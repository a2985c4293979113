//! Kernels on real devices: runs them on every adapter with the same inputs, compares their outputs and times them.
//!
//! A match on a device is necessary, not sufficient: devices that clamp indices and zero their memory hide defects.
//! Only the proof covers what no device can show.

mod adapter;
mod blind;
mod cases;
pub(crate) mod compare;
mod device;
pub(crate) mod inputs;
mod minimal;
mod pipeline;
mod report;
mod timing;
mod trial;
mod watchdog;
mod waves;

use std::ops::RangeInclusive;

pub use adapter::{Adapter, AdapterInfo, adapters};
pub use cases::{Case, cases, more_cases};
pub use compare::{Comparison, Difference, Tolerance, compare, float_depth, magnitude};
pub use device::{Compiled, Device, Mode, Outputs};
pub(crate) use inputs::Random;
pub use inputs::{InputPlan, Inputs, Numbers, Values, bits_of, make_inputs};
pub use minimal::{InputWord, Minimal};
pub use pipeline::{Data, Mismatch, Overrun, Ready, Steps, sample_words};
pub use report::{Report, compare_and_time};
pub use timing::{Spread, Timing, TimingPlan, time};
pub use trial::{Reached, Trial};
pub use waves::{Waves, probe_waves};

/// The seconds that one submission may take before it counts as hung.
pub const PATIENCE_S: u64 = 20;

/// Why an adapter could not run a kernel. Other adapters may still run it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    #[error("the adapter has no subgroup operations")]
    NoSubgroups,
    /// The adapter's wave sizes are not within those of the kernel.
    #[error(
        "the adapter has waves of {} lanes, and the kernel asks for {}",
        sizes(has),
        sizes(asked)
    )]
    OtherWaves {
        has: RangeInclusive<u32>,
        asked: RangeInclusive<u32>,
    },
    #[error("the adapter gave no device: {0}")]
    NoDevice(String),
    /// The reason of wgpu or the driver for rejecting the shader, the pipeline or a command.
    #[error("the adapter refused the kernel: {0}")]
    Refused(String),
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    #[error("the device was lost: {0}")]
    Lost(String),
    /// The device is still executing the dispatch.
    #[error("a dispatch did not finish within {0} s")]
    Timeout(u64),
    /// Neither a dispatch nor any other step ended in time.
    #[error("the driver did not respond within {0} s")]
    Silent(u64),
    /// Beyond a limit of the adapter.
    #[error("too large for the adapter: {0}")]
    TooLarge(String),
    /// The inputs do not fit the kernel.
    #[error("unfit input: {0}")]
    Input(String),
    #[error("the kernel cannot be written as WGSL: {0}")]
    Wgsl(String),
    /// wgpu panicked; the message is its own.
    #[error("wgpu failed: {0}")]
    Panicked(String),
}

/// Wave sizes as text.
fn sizes(sizes: &RangeInclusive<u32>) -> String {
    let (least, most) = (sizes.start(), sizes.end());
    if least == most {
        least.to_string()
    } else {
        format!("{least} to {most}")
    }
}

/// Runs `inner` and turns a panic of wgpu into an error.
fn guarded<T>(inner: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(inner)) {
        Ok(result) => result,
        Err(panic) => {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without a message");
            Err(RunError::Panicked(message.to_owned()))
        }
    }
}
