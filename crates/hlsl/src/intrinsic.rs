//! The intrinsic functions that compute kernels use.

macro_rules! intrinsics {
    ($($variant:ident $name:literal,)*) => {
        /// An intrinsic function of HLSL, by its name in the language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Intrinsic { $($variant,)* }

        impl Intrinsic {
            /// The intrinsic of this name (HLSL's names are case-sensitive).
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

intrinsics! {
    AllMemoryBarrier "AllMemoryBarrier",
    AllMemoryBarrierWithGroupSync "AllMemoryBarrierWithGroupSync",
    DeviceMemoryBarrier "DeviceMemoryBarrier",
    DeviceMemoryBarrierWithGroupSync "DeviceMemoryBarrierWithGroupSync",
    GroupMemoryBarrier "GroupMemoryBarrier",
    GroupMemoryBarrierWithGroupSync "GroupMemoryBarrierWithGroupSync",
    InterlockedAdd "InterlockedAdd",
    InterlockedAnd "InterlockedAnd",
    InterlockedCompareExchange "InterlockedCompareExchange",
    InterlockedCompareStore "InterlockedCompareStore",
    InterlockedExchange "InterlockedExchange",
    InterlockedMax "InterlockedMax",
    InterlockedMin "InterlockedMin",
    InterlockedOr "InterlockedOr",
    InterlockedXor "InterlockedXor",
    WaveActiveAllEqual "WaveActiveAllEqual",
    WaveActiveAllTrue "WaveActiveAllTrue",
    WaveActiveAnyTrue "WaveActiveAnyTrue",
    WaveActiveBallot "WaveActiveBallot",
    WaveActiveBitAnd "WaveActiveBitAnd",
    WaveActiveBitOr "WaveActiveBitOr",
    WaveActiveBitXor "WaveActiveBitXor",
    WaveActiveCountBits "WaveActiveCountBits",
    WaveActiveMax "WaveActiveMax",
    WaveActiveMin "WaveActiveMin",
    WaveActiveProduct "WaveActiveProduct",
    WaveActiveSum "WaveActiveSum",
    WaveGetLaneCount "WaveGetLaneCount",
    WaveGetLaneIndex "WaveGetLaneIndex",
    WaveIsFirstLane "WaveIsFirstLane",
    WaveMatch "WaveMatch",
    WaveMultiPrefixBitAnd "WaveMultiPrefixBitAnd",
    WaveMultiPrefixBitOr "WaveMultiPrefixBitOr",
    WaveMultiPrefixBitXor "WaveMultiPrefixBitXor",
    WaveMultiPrefixCountBits "WaveMultiPrefixCountBits",
    WaveMultiPrefixProduct "WaveMultiPrefixProduct",
    WaveMultiPrefixSum "WaveMultiPrefixSum",
    WavePrefixCountBits "WavePrefixCountBits",
    WavePrefixProduct "WavePrefixProduct",
    WavePrefixSum "WavePrefixSum",
    WaveReadLaneAt "WaveReadLaneAt",
    WaveReadLaneFirst "WaveReadLaneFirst",
    QuadAll "QuadAll",
    QuadAny "QuadAny",
    QuadReadAcrossDiagonal "QuadReadAcrossDiagonal",
    QuadReadAcrossX "QuadReadAcrossX",
    QuadReadAcrossY "QuadReadAcrossY",
    QuadReadLaneAt "QuadReadLaneAt",
    Abs "abs",
    Acos "acos",
    All "all",
    Any "any",
    AsDouble "asdouble",
    AsFloat "asfloat",
    AsInt "asint",
    AsUint "asuint",
    Asin "asin",
    Atan "atan",
    Atan2 "atan2",
    Ceil "ceil",
    Clamp "clamp",
    Clip "clip",
    Cos "cos",
    Cosh "cosh",
    CountBits "countbits",
    Cross "cross",
    Degrees "degrees",
    Determinant "determinant",
    Distance "distance",
    Dot "dot",
    Dot4AddI8Packed "dot4add_i8packed",
    Dot4AddU8Packed "dot4add_u8packed",
    Dst "dst",
    Exp "exp",
    Exp2 "exp2",
    F16ToF32 "f16tof32",
    F32ToF16 "f32tof16",
    FaceForward "faceforward",
    FirstBitHigh "firstbithigh",
    FirstBitLow "firstbitlow",
    Floor "floor",
    Fma "fma",
    Fmod "fmod",
    Frac "frac",
    Frexp "frexp",
    IsFinite "isfinite",
    IsInf "isinf",
    IsNan "isnan",
    Ldexp "ldexp",
    Length "length",
    Lerp "lerp",
    Lit "lit",
    Log "log",
    Log10 "log10",
    Log2 "log2",
    Mad "mad",
    Max "max",
    Min "min",
    Modf "modf",
    Msad4 "msad4",
    Mul "mul",
    Normalize "normalize",
    Pow "pow",
    Radians "radians",
    Rcp "rcp",
    Reflect "reflect",
    Refract "refract",
    ReverseBits "reversebits",
    Round "round",
    Rsqrt "rsqrt",
    Saturate "saturate",
    Sign "sign",
    Sin "sin",
    SinCos "sincos",
    Sinh "sinh",
    Smoothstep "smoothstep",
    Sqrt "sqrt",
    Step "step",
    Tan "tan",
    Tanh "tanh",
    Transpose "transpose",
    Trunc "trunc",
    And "and",
    Or "or",
    Select "select",
}

impl Intrinsic {
    /// Whether every thread of the group waits here for all others.
    #[must_use]
    pub fn is_group_barrier(self) -> bool {
        matches!(
            self,
            Intrinsic::AllMemoryBarrierWithGroupSync
                | Intrinsic::DeviceMemoryBarrierWithGroupSync
                | Intrinsic::GroupMemoryBarrierWithGroupSync
        )
    }

    /// Whether it orders accesses to memory without waiting.
    #[must_use]
    pub fn is_memory_barrier(self) -> bool {
        matches!(
            self,
            Intrinsic::AllMemoryBarrier | Intrinsic::DeviceMemoryBarrier | Intrinsic::GroupMemoryBarrier
        )
    }

    /// Whether it reads and writes the place in its first argument atomically.
    #[must_use]
    pub fn is_atomic(self) -> bool {
        matches!(
            self,
            Intrinsic::InterlockedAdd
                | Intrinsic::InterlockedAnd
                | Intrinsic::InterlockedCompareExchange
                | Intrinsic::InterlockedCompareStore
                | Intrinsic::InterlockedExchange
                | Intrinsic::InterlockedMax
                | Intrinsic::InterlockedMin
                | Intrinsic::InterlockedOr
                | Intrinsic::InterlockedXor
        )
    }

    /// The number of values that an atomic takes after its place and before the target of the old value.
    #[must_use]
    pub fn atomic_values(self) -> usize {
        match self {
            Intrinsic::InterlockedCompareExchange | Intrinsic::InterlockedCompareStore => 2,
            _ => 1,
        }
    }

    /// Whether the argument at an index is a place that may be written.
    #[must_use]
    pub fn may_write(self, argument: usize) -> bool {
        match self {
            // The place, and the output for the old value.
            _ if self.is_atomic() => argument == 0 || argument >= 2,
            Intrinsic::SinCos | Intrinsic::Modf | Intrinsic::Frexp | Intrinsic::AsUint => argument >= 1,
            _ => false,
        }
    }

    /// Whether each component of the result depends only on the same component of the arguments (a scalar counts for
    /// all components). This excludes `normalize`, `cross`, `reflect`, `mul` and others, although their results may
    /// be as long as their arguments.
    #[must_use]
    pub fn is_by_component(self) -> bool {
        use Intrinsic as I;
        matches!(
            self,
            I::Abs
                | I::Acos
                | I::AsFloat
                | I::AsInt
                | I::AsUint
                | I::Asin
                | I::Atan
                | I::Atan2
                | I::Ceil
                | I::Clamp
                | I::Cos
                | I::Cosh
                | I::CountBits
                | I::Degrees
                | I::Exp
                | I::Exp2
                | I::F16ToF32
                | I::F32ToF16
                | I::FirstBitHigh
                | I::FirstBitLow
                | I::Floor
                | I::Fma
                | I::Fmod
                | I::Frac
                | I::IsFinite
                | I::IsInf
                | I::IsNan
                | I::Ldexp
                | I::Lerp
                | I::Log
                | I::Log10
                | I::Log2
                | I::Mad
                | I::Max
                | I::Min
                | I::Pow
                | I::Radians
                | I::Rcp
                | I::ReverseBits
                | I::Round
                | I::Rsqrt
                | I::Saturate
                | I::Sign
                | I::Sin
                | I::Sinh
                | I::Smoothstep
                | I::Sqrt
                | I::Step
                | I::Tan
                | I::Tanh
                | I::Trunc
        )
    }

    /// Whether the result depends on the other lanes of the wave or on the wave's size.
    #[must_use]
    pub fn is_wave(self) -> bool {
        self.name().starts_with("Wave") || self.name().starts_with("Quad")
    }
}
