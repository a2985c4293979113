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
    IncrementCounter,
    DecrementCounter,
    Append,
    Consume,
    /// `Sample`, `SampleCmpLevelZero` and others.
    Sample {
        name: Box<str>,
        /// It compares the texels with a reference value.
        compares: bool,
        level: LevelOfDetail,
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

/// Where a sample takes its level of detail from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelOfDetail {
    /// The differences of its coordinates within a quad.
    Derivatives,
    /// Gradients among its arguments.
    Gradients,
    /// A level among its arguments or in its name.
    Given,
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
            "IncrementCounter" => Method::IncrementCounter,
            "DecrementCounter" => Method::DecrementCounter,
            "Append" => Method::Append,
            "Consume" => Method::Consume,
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
            Method::IncrementCounter => "IncrementCounter",
            Method::DecrementCounter => "DecrementCounter",
            Method::Append => "Append",
            Method::Consume => "Consume",
            Method::Sample { name, .. }
            | Method::Gather { name }
            | Method::CalculateLevelOfDetail { name } => name,
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
        level: if of_level.starts_with("Level") {
            LevelOfDetail::Given
        } else if of_level.starts_with("Grad") {
            LevelOfDetail::Gradients
        } else {
            LevelOfDetail::Derivatives
        },
    }
}
