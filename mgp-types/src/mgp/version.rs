//! The versions of MGP and of tools, and what a step from one version to the next announces.

use std::str::FromStr;

use thiserror::Error;

use crate::macros::text_traits;
use crate::macros::words::words;

/// A version of MGP or of a tool: major, minor and patch number.
///
/// Pre-release and build suffixes are read and dropped: all of MGP's published versions are drafts, and
/// `0.2.0-draft` speaks what `0.2.0` speaks. [`strict`](Self::strict) reads versions of tools, which have none.
///
/// ```
/// use mgp_types::mgp::{ChangeClass, Version};
///
/// let theirs: Version = "0.6.0-draft".parse()?;
/// assert!(theirs > Version::OURS);
/// assert!(theirs.is_compatible_with(Version::OURS));
/// assert_eq!(Version::strict("1.2.3")?.next(ChangeClass::Compatible).to_string(), "1.3.0");
/// # Ok::<(), mgp_types::mgp::VersionError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// The version of MGP that this implementation speaks.
    pub const OURS: Self = Self::new(0, 2, 0);

    /// The version of a tool that declares none.
    pub const FIRST: Self = Self::new(1, 0, 0);

    /// Returns the version with these numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Returns whether two sides with these versions understand one another.
    ///
    /// The major number decides, for `0.*` too, although semver itself promises nothing there.
    //= mgp §2.4
    //# major version must match, minor is backward compatible
    pub const fn is_compatible_with(self, other: Self) -> bool {
        self.major == other.major
    }

    /// Reads a version as tools have it: three numbers without leading zeros, and nothing else.
    ///
    /// # Errors
    /// The text is anything else.
    pub fn strict(text: &str) -> Result<Self, VersionError> {
        let version: Self = text.parse()?;
        if version.to_string() == text { Ok(version) } else { Err(VersionError) }
    }

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
        (self > old).then_some(match self {
            Self { major, .. } if major > old.major => ChangeClass::Breaking,
            Self { minor, .. } if minor > old.minor => ChangeClass::Compatible,
            _ => ChangeClass::Documentation,
        })
    }
}

words! {
    /// The class of a change to a tool: what it means for those who call the tool.
    ChangeClass {
        /// Neither calls nor results change: the patch number grows.
        Documentation = "documentation",
        /// Calls that were right stay right, and results have all that they had: the minor number grows.
        Compatible = "compatible",
        /// A call that was right may be wrong now, or a result may lack what it had: the major number grows.
        Breaking = "breaking",
    }
}

impl FromStr for Version {
    type Err = VersionError;

    /// Reads `major.minor.patch` with an optional suffix; a number left out at the end is 0.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let numbers = text.split_once(['-', '+']).map_or(text, |(numbers, _)| numbers);
        let mut parts = numbers.split('.');
        let major = number(parts.next().unwrap_or_default())?;
        let mut optional = || parts.next().map_or(Ok(0), number);
        let version = Self { major, minor: optional()?, patch: optional()? };
        if parts.next().is_some() { Err(VersionError) } else { Ok(version) }
    }
}

crate::write_as!(Display of Version, self => "{}.{}.{}", self.major, self.minor, self.patch);

text_traits!(Version: SerializeDisplay, DeserializeFromStr);

/// The error of a text that is no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a version of three numbers, such as 1.2.3")]
#[non_exhaustive]
pub struct VersionError;

fn number(digits: &str) -> Result<u32, VersionError> {
    // `u32::from_str` would also take a leading plus sign.
    if digits.starts_with('+') { Err(VersionError) } else { digits.parse().map_err(|_| VersionError) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn suffixes_do_not_count() {
        for text in ["0.2.0", "0.2.0-draft", "0.2.0-rc.1+build.7", "0.2.0+b-1", "0.2"] {
            assert_eq!(version(text), Version::OURS, "{text}");
        }
        assert_eq!(version("0.2.0-draft").to_string(), "0.2.0");
    }

    #[test]
    fn other_texts_are_no_versions() {
        for text in
            ["", "draft", "-draft", "1.", "1..2", "1.2.3.4", "v1.0.0", "0.-2", "99999999999.0.0", " 1.0.0"]
        {
            assert_eq!(text.parse::<Version>(), Err(VersionError), "{text}");
        }
    }

    // covers: MGP-2.4-04
    #[test]
    fn versions_are_compatible_when_their_major_numbers_match() {
        for same in ["0.1.0", "0.2.0", "0.3.0-draft", "0.8.0", "0.99.12"] {
            assert!(version(same).is_compatible_with(Version::OURS), "{same}");
        }
        assert!(version("1.0.0").is_compatible_with(version("1.9.3")));
        for other in ["1.0.0", "2.2.0", "10.0.0"] {
            assert!(!version(other).is_compatible_with(Version::OURS), "{other}");
        }
    }

    #[test]
    fn the_version_of_a_tool_is_three_numbers() {
        assert_eq!(Version::strict("10.0.7").unwrap().to_string(), "10.0.7");
        for text in [
            "", "1", "1.2", "1.2.3.4", "1.2.x", "v1.2.3", "1.02.3", "+1.2.3", "1.2.-3", "1.2.3-beta",
            " 1.2.3",
        ] {
            assert_eq!(Version::strict(text), Err(VersionError), "{text}");
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

    #[test]
    fn versions_order_by_number() {
        assert!(version("0.10.0") > version("0.9.9"));
        assert!(version("1.0.0") > version("0.99.0"));
    }
}
