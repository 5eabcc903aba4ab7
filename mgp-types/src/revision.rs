//! The dated revisions of MCP.

use std::str::FromStr;

use thiserror::Error;

use crate::macros::text_traits;

/// A revision of MCP; older revisions come first in the order.
///
/// ```
/// use mgp_types::Revision;
///
/// let revision: Revision = "2025-06-18".parse()?;
/// assert!(revision < Revision::LATEST_SESSION);
/// assert!(!revision.is_stateless());
/// # Ok::<(), mgp_types::UnknownRevision>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// The first revision: sessions over stdio or HTTP+SSE.
    V2024_11_05,
    /// The revision that adds Streamable HTTP, batches, audio and tool annotations.
    V2025_03_26,
    /// The revision that adds elicitation, titles, structured content and resource links, and removes batches.
    V2025_06_18,
    /// The revision that adds icons, URL elicitation, sampling with tools and experimental tasks; the last one with
    /// sessions.
    V2025_11_25,
    /// The stateless revision: every request carries what a session used to hold.
    V2026_07_28,
}

impl Revision {
    /// Every revision, newest first.
    pub const ALL: [Self; 5] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];

    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The newest revision that `initialize` can agree on.
    pub const LATEST_SESSION: Self = Self::V2025_11_25;

    /// Returns the date by which the wire names the revision.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns whether requests stand alone, without `initialize` and a session.
    pub const fn is_stateless(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }
}

text_traits!(Revision: Display);

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(name: &str) -> Result<Self, UnknownRevision> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name).ok_or(UnknownRevision)
    }
}

/// The error of a text that names no revision of MCP known to this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown protocol revision")]
#[non_exhaustive]
pub struct UnknownRevision;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_reads_back_from_its_date() {
        for revision in Revision::ALL {
            assert_eq!(revision.as_str().parse(), Ok(revision));
        }
    }

    #[test]
    fn all_runs_from_newest_to_oldest() {
        assert!(Revision::ALL.is_sorted_by(|newer, older| newer > older));
        assert_eq!(Revision::ALL[0], Revision::LATEST);
    }

    #[test]
    fn unknown_date_is_refused() {
        assert_eq!("1.0.0".parse::<Revision>(), Err(UnknownRevision));
    }
}
