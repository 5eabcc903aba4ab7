//! The versions of MGP.

use std::str::FromStr;

use thiserror::Error;

use crate::macros::text_traits;

/// A version of MGP: major, minor and patch number.
///
/// Pre-release and build suffixes are read and dropped: all of MGP's published versions are drafts, and
/// `0.2.0-draft` speaks what `0.2.0` speaks.
///
/// ```
/// use mgp_types::mgp::MgpVersion;
///
/// let theirs: MgpVersion = "0.6.0-draft".parse()?;
/// assert!(theirs > MgpVersion::OURS);
/// assert!(theirs.is_compatible_with(MgpVersion::OURS));
/// # Ok::<(), mgp_types::mgp::VersionError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MgpVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

impl MgpVersion {
    /// The version that this implementation speaks.
    pub const OURS: Self = Self::new(0, 2, 0);

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
}

impl FromStr for MgpVersion {
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

crate::write_as!(Display of MgpVersion, self => "{}.{}.{}", self.major, self.minor, self.patch);

text_traits!(MgpVersion: SerializeDisplay, DeserializeFromStr);

/// The error of a text that is no semantic version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a semantic version")]
#[non_exhaustive]
pub struct VersionError;

fn number(digits: &str) -> Result<u32, VersionError> {
    // `u32::from_str` would also take a leading plus sign.
    if digits.starts_with('+') { Err(VersionError) } else { digits.parse().map_err(|_| VersionError) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> MgpVersion {
        text.parse().unwrap()
    }

    #[test]
    fn suffixes_do_not_count() {
        for text in ["0.2.0", "0.2.0-draft", "0.2.0-rc.1+build.7", "0.2.0+b-1", "0.2"] {
            assert_eq!(version(text), MgpVersion::OURS, "{text}");
        }
        assert_eq!(version("0.2.0-draft").to_string(), "0.2.0");
    }

    #[test]
    fn other_texts_are_no_versions() {
        for text in
            ["", "draft", "-draft", "1.", "1..2", "1.2.3.4", "v1.0.0", "0.-2", "99999999999.0.0", " 1.0.0"]
        {
            assert_eq!(text.parse::<MgpVersion>(), Err(VersionError), "{text}");
        }
    }

    // covers: MGP-2.4-04
    #[test]
    fn versions_are_compatible_when_their_major_numbers_match() {
        for same in ["0.1.0", "0.2.0", "0.3.0-draft", "0.8.0", "0.99.12"] {
            assert!(version(same).is_compatible_with(MgpVersion::OURS), "{same}");
        }
        assert!(version("1.0.0").is_compatible_with(version("1.9.3")));
        for other in ["1.0.0", "2.2.0", "10.0.0"] {
            assert!(!version(other).is_compatible_with(MgpVersion::OURS), "{other}");
        }
    }

    #[test]
    fn versions_order_by_number() {
        assert!(version("0.10.0") > version("0.9.9"));
        assert!(version("1.0.0") > version("0.99.0"));
    }
}
