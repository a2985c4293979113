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
    QuadReadAcrossDiagonal "QuadReadAcrossDiagonal",
    QuadReadAcrossX "QuadReadAcrossX",
    QuadReadAcrossY "QuadReadAcrossY",
    QuadReadLaneAt "QuadReadLaneAt",
    Abs "abs",
    Acos "acos",
    All "all",
    Any "any",
    AsFloat "asfloat",
    AsInt "asint",
    AsUint "asuint",
    Asin "asin",
    Atan "atan",
    Atan2 "atan2",
    Ceil "ceil",
    Clamp "clamp",
    Cos "cos",
    CountBits "countbits",
    Cross "cross",
    Degrees "degrees",
    Distance "distance",
    Dot "dot",
    Exp "exp",
    Exp2 "exp2",
    F16ToF32 "f16tof32",
    F32ToF16 "f32tof16",
    FirstBitHigh "firstbithigh",
    FirstBitLow "firstbitlow",
    Floor "floor",
    Fmod "fmod",
    Frac "frac",
    IsInf "isinf",
    IsNan "isnan",
    Length "length",
    Lerp "lerp",
    Log "log",
    Log2 "log2",
    Mad "mad",
    Max "max",
    Min "min",
    Mul "mul",
    Normalize "normalize",
    Pow "pow",
    Radians "radians",
    Rcp "rcp",
    ReverseBits "reversebits",
    Round "round",
    Rsqrt "rsqrt",
    Saturate "saturate",
    Sign "sign",
    Sin "sin",
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
    /// Whether every thread of the group waits here for the others.
    #[must_use]
    pub fn is_group_barrier(self) -> bool {
        matches!(
            self,
            Intrinsic::AllMemoryBarrierWithGroupSync
                | Intrinsic::DeviceMemoryBarrierWithGroupSync
                | Intrinsic::GroupMemoryBarrierWithGroupSync
        )
    }

    /// Whether the first argument is a place that is read and written atomically.
    #[must_use]
    pub fn is_atomic(self) -> bool {
        self.name().starts_with("Interlocked")
    }

    /// Whether the result depends on the other lanes of the wave or on the wave's size.
    #[must_use]
    pub fn is_wave(self) -> bool {
        self.name().starts_with("Wave") || self.name().starts_with("Quad")
    }
}
