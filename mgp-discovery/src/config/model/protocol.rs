//! The revision of MCP that the kernel speaks with a server.

use std::fmt;

use mgp_types::Revision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The revision of MCP that the kernel speaks with a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub enum ServerProtocol {
    /// A session in the newest revision with sessions that the server has, or else the revision without sessions.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// The revision without sessions: each call stands alone.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
    /// A session in this revision.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// A session in this revision.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// A session in this revision.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// A session in this revision.
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
}

impl ServerProtocol {
    /// Returns the revision, unless the server decides.
    pub const fn revision(self) -> Option<Revision> {
        match self {
            Self::Auto => None,
            Self::V2026_07_28 => Some(Revision::V2026_07_28),
            Self::V2025_11_25 => Some(Revision::V2025_11_25),
            Self::V2025_06_18 => Some(Revision::V2025_06_18),
            Self::V2025_03_26 => Some(Revision::V2025_03_26),
            Self::V2024_11_05 => Some(Revision::V2024_11_05),
        }
    }
}

impl fmt::Display for ServerProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.revision().map_or("auto", Revision::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_can_be_configured_by_its_date() {
        for revision in Revision::ALL {
            let protocol: ServerProtocol = serde_json::from_value(revision.as_str().into()).unwrap();
            assert_eq!(protocol.revision(), Some(revision));
        }
    }
}
