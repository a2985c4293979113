//! The kernel that a run starts from.

use shaderlint_hlsl::{Function, FunctionId, Shader, is_group_size};

pub(crate) const MAX_THREADS: usize = shaderlint_hlsl::MAX_THREADS as usize;

/// The wave sizes that HLSL allows: powers of two from 4 to 128 (hlsl-specs, HLSL_SM_6_6_WaveSize.md).
pub const WAVE_SIZES: [u32; 6] = [4, 8, 16, 32, 64, 128];

/// A function of a shader that threads run: an entry point, or a function by itself.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'s> {
    pub shader: &'s Shader,
    pub entry: FunctionId,
}

impl<'s> From<(&'s Shader, FunctionId)> for Kernel<'s> {
    fn from((shader, entry): (&'s Shader, FunctionId)) -> Kernel<'s> {
        Kernel { shader, entry }
    }
}

impl<'s> Kernel<'s> {
    #[must_use]
    pub fn new(shader: &'s Shader, entry: FunctionId) -> Kernel<'s> {
        Kernel { shader, entry }
    }

    pub(crate) fn function(self) -> Option<&'s Function> {
        self.shader.functions.get(self.entry.0 as usize)
    }

    /// The size of its group along each axis. `None` if the function is no entry point, or its group is empty or
    /// larger than D3D allows.
    #[must_use]
    pub fn group(self) -> Option<[u32; 3]> {
        let group = self.function()?.group_size;
        group.filter(|group| is_group_size(*group))
    }

    /// The wave sizes that its `[WaveSize]` allows, ascending; all sizes if it has none.
    pub fn wave_sizes(self) -> impl Iterator<Item = u32> + Clone {
        let declared = self.function().and_then(|function| function.wave_size);
        let (least, most) = declared.unwrap_or((0, u32::MAX));
        WAVE_SIZES
            .into_iter()
            .filter(move |size| (least..=most).contains(size))
    }
}
