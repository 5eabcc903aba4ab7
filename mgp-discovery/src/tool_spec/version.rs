//! Versions of tools, and what a step from one version to the next announces.

use std::str::FromStr;

use serde::{Serialize, Serializer};
use thiserror::Error;

/// The version of a tool: major, minor and patch number. It is independent of the versions of protocols.
///
/// ```
/// use mgp_discovery::tool_spec::{ChangeClass, ToolVersion};
///
/// let version: ToolVersion = "1.2.3".parse()?;
/// assert_eq!(version.next(ChangeClass::Compatible).to_string(), "1.3.0");
/// # Ok::<(), mgp_discovery::tool_spec::InvalidToolVersion>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

/// The class of a change: what it means for those who call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "a version has three numbers")]
pub enum ChangeClass {
    /// Neither calls nor results change: the patch number grows.
    Documentation,
    /// Calls that were right stay right, and results have all that they had: the minor number grows.
    Compatible,
    /// A call that was right may be wrong now, or a result may lack what it had: the major number grows.
    Breaking,
}

/// The error of a text that is not the version of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a version of three numbers, such as 1.2.3")]
#[non_exhaustive]
pub struct InvalidToolVersion;

impl ToolVersion {
    /// The version of a tool that declares none.
    pub const FIRST: Self = Self { major: 1, minor: 0, patch: 0 };

    /// Returns the least version after this one that announces a change of this class. The major number grows with
    /// breaking changes below 1.0.0 too.
    #[must_use]
    pub const fn next(self, class: ChangeClass) -> Self {
        let Self { major, minor, patch } = self;
        match class {
            ChangeClass::Documentation => Self { major, minor, patch: patch.saturating_add(1) },
            ChangeClass::Compatible => Self { major, minor: minor.saturating_add(1), patch: 0 },
            ChangeClass::Breaking => Self { major: major.saturating_add(1), minor: 0, patch: 0 },
        }
    }

    /// Returns the class of the change that this version announces to users of the version `old`; `None` if it is not a
    /// later version.
    pub fn announces(self, old: Self) -> Option<ChangeClass> {
        if self <= old {
            None
        } else if self.major > old.major {
            Some(ChangeClass::Breaking)
        } else if self.minor > old.minor {
            Some(ChangeClass::Compatible)
        } else {
            Some(ChangeClass::Documentation)
        }
    }
}

impl FromStr for ToolVersion {
    type Err = InvalidToolVersion;

    fn from_str(text: &str) -> Result<Self, InvalidToolVersion> {
        let mut numbers = text.split('.').map(number);
        let mut next = || numbers.next().flatten().ok_or(InvalidToolVersion);
        let version = Self { major: next()?, minor: next()?, patch: next()? };
        if numbers.next().is_some() { Err(InvalidToolVersion) } else { Ok(version) }
    }
}

fn number(digits: &str) -> Option<u32> {
    let is_written_once = digits == "0" || !digits.starts_with(['0', '+']);
    if is_written_once { digits.parse().ok() } else { None }
}

mgp_types::write_as!(Display of ToolVersion, self => "{}.{}.{}", self.major, self.minor, self.patch);

impl Serialize for ToolVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl ChangeClass {
    /// Returns the word for the class.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Documentation => "documentation",
            Self::Compatible => "compatible",
            Self::Breaking => "breaking",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> ToolVersion {
        text.parse().unwrap()
    }

    #[test]
    fn a_version_is_three_numbers() {
        assert_eq!(version("10.0.7").to_string(), "10.0.7");
        for text in [
            "", "1", "1.2", "1.2.3.4", "1.2.x", "v1.2.3", "1.02.3", "+1.2.3", "1.2.-3", "1.2.3-beta",
            " 1.2.3",
        ] {
            assert_eq!(text.parse::<ToolVersion>(), Err(InvalidToolVersion), "{text}");
        }
    }

    // covers: ENV-5.1-02
    #[test]
    fn the_number_that_grew_says_what_changed() {
        use ChangeClass::{Breaking, Compatible, Documentation};
        for (old, new, class) in [
            ("1.2.3", "2.0.0", Some(Breaking)),
            ("1.2.3", "3.1.4", Some(Breaking)),
            ("0.9.0", "1.0.0", Some(Breaking)),
            ("1.2.3", "1.3.0", Some(Compatible)),
            ("1.9.3", "1.10.0", Some(Compatible)),
            ("1.2.3", "1.2.4", Some(Documentation)),
            ("1.2.3", "1.2.3", None),
            ("1.2.3", "1.2.2", None),
            ("2.0.0", "1.9.9", None),
        ] {
            assert_eq!(version(new).announces(version(old)), class, "{old} to {new}");
        }
        for (class, next) in [(Breaking, "2.0.0"), (Compatible, "1.3.0"), (Documentation, "1.2.4")] {
            assert_eq!(version("1.2.3").next(class), version(next));
            assert_eq!(version(next).announces(version("1.2.3")), Some(class));
        }
    }
}
