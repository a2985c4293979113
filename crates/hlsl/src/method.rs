//! The methods of resources.

use crate::Intrinsic;

/// A method of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    GetDimensions,
    /// `Load`, and `Load2` to `Load4`. `words` is the number in the name, and 1 if there is none.
    Load {
        words: u8,
    },
    /// `Store`, and `Store2` to `Store4`. `words` is the number in the name, and 1 if there is none.
    Store {
        words: u8,
    },
    /// An atomic at an address.
    Atomic(Intrinsic),
    /// It moves the hidden counter of a buffer.
    Counter(Counter),
    /// `Sample`, `SampleCmpLevelZero` and others.
    Sample {
        name: Box<str>,
        /// It compares the texels with a reference value.
        compares: bool,
        /// Its level of detail comes from the differences of its coordinates within a quad.
        takes_derivatives: bool,
    },
    /// `Gather`, `GatherCmpRed` and others.
    Gather {
        name: Box<str>,
    },
    /// `CalculateLevelOfDetail` and `CalculateLevelOfDetailUnclamped`.
    CalculateLevelOfDetail {
        name: Box<str>,
    },
}

/// A move of the hidden counter of a buffer, by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// `IncrementCounter`.
    Increment,
    /// `DecrementCounter`.
    Decrement,
    Append,
    Consume,
}

impl Method {
    /// The method of this name (HLSL's names are case-sensitive). After `Sample`, `Gather` and `CalculateLevelOfDetail` any ending
    /// is taken: dialects of HLSL have more of them.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "GetDimensions" => Method::GetDimensions,
            "Load" => Method::Load { words: 1 },
            "Load2" => Method::Load { words: 2 },
            "Load3" => Method::Load { words: 3 },
            "Load4" => Method::Load { words: 4 },
            "Store" => Method::Store { words: 1 },
            "Store2" => Method::Store { words: 2 },
            "Store3" => Method::Store { words: 3 },
            "Store4" => Method::Store { words: 4 },
            "IncrementCounter" => Method::Counter(Counter::Increment),
            "DecrementCounter" => Method::Counter(Counter::Decrement),
            "Append" => Method::Counter(Counter::Append),
            "Consume" => Method::Counter(Counter::Consume),
            _ if name.starts_with("Gather") => Method::Gather { name: name.into() },
            _ if name.starts_with("CalculateLevelOfDetail") => {
                Method::CalculateLevelOfDetail { name: name.into() }
            }
            _ => match name.strip_prefix("Sample") {
                Some(ending) => sample(name, ending),
                None => Intrinsic::from_name(name)
                    .filter(|intrinsic| intrinsic.is_atomic())
                    .map(Method::Atomic)?,
            },
        })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Method::GetDimensions => "GetDimensions",
            Method::Load { words } => match words {
                2 => "Load2",
                3 => "Load3",
                4 => "Load4",
                _ => "Load",
            },
            Method::Store { words } => match words {
                2 => "Store2",
                3 => "Store3",
                4 => "Store4",
                _ => "Store",
            },
            Method::Atomic(intrinsic) => intrinsic.name(),
            Method::Counter(counter) => counter.name(),
            Method::Sample { name, .. }
            | Method::Gather { name }
            | Method::CalculateLevelOfDetail { name } => name,
        }
    }

    /// Whether it reads elements and does nothing else.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(
            self,
            Method::Load { .. } | Method::Sample { .. } | Method::Gather { .. }
        )
    }

    /// Whether what it finds depends on the other threads of a quad (HLSL specifications, shader model 6.6, "Derivatives").
    #[must_use]
    pub fn takes_derivatives(&self) -> bool {
        match self {
            Method::Sample {
                takes_derivatives, ..
            } => *takes_derivatives,
            Method::CalculateLevelOfDetail { .. } => true,
            _ => false,
        }
    }
}

impl Counter {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Counter::Increment => "IncrementCounter",
            Counter::Decrement => "DecrementCounter",
            Counter::Append => "Append",
            Counter::Consume => "Consume",
        }
    }
}

/// The sample of this name, which ends with `ending`.
fn sample(name: &str, ending: &str) -> Method {
    let compared = ending.strip_prefix("Cmp");
    let of_level = compared.unwrap_or(ending);
    Method::Sample {
        name: name.into(),
        compares: compared.is_some(),
        takes_derivatives: !of_level.starts_with("Level") && !of_level.starts_with("Grad"),
    }
}
