//! Versions of the language, as DXC's `-HV` names them.

/// A version of HLSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    V2016,
    V2017,
    V2018,
    V2021,
    V202x,
}

impl Version {
    pub const ALL: [Version; 5] = [
        Version::V2016,
        Version::V2017,
        Version::V2018,
        Version::V2021,
        Version::V202x,
    ];

    /// The version that DXC compiles by default since its release 1.8; before that it was [`Version::V2018`].
    pub const DEFAULT: Version = Version::V2021;

    /// The macro that holds [`Version::number`].
    pub const MACRO: &'static str = "__HLSL_VERSION";

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Version::V2016 => "2016",
            Version::V2017 => "2017",
            Version::V2018 => "2018",
            Version::V2021 => "2021",
            Version::V202x => "202x",
        }
    }

    #[must_use]
    pub fn named(name: &str) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.name() == name)
    }

    /// The value of [`Version::MACRO`] (DXC's `HLSLVersion.h`).
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Version::V2016 => 2016,
            Version::V2017 => 2017,
            Version::V2018 => 2018,
            Version::V2021 => 2021,
            Version::V202x => 2029,
        }
    }

    /// The version that these definitions name.
    #[must_use]
    pub fn defined(defines: &[(String, String)]) -> Option<Version> {
        let (_, value) = defines.iter().rfind(|(name, _)| name == Version::MACRO)?;
        let number = value.trim().parse().ok()?;
        Version::ALL
            .into_iter()
            .find(|version| version.number() == number)
    }

    /// Whether the scope of a variable in a `for` header ends with its loop, and `&&`, `||` and `?:` skip the
    /// operands that do not matter.
    #[must_use]
    pub fn is_like_cpp(self) -> bool {
        self >= Version::V2021
    }
}
