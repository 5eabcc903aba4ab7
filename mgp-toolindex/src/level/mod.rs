//! How much of the tools is in the context from the start (§16.3), and what that costs.

mod economy;
mod host;
mod sizes;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::economy::{Economy, LevelCost, Reason};
pub use self::host::{HostProfile, ToolLists};
pub use self::sizes::Sizes;

/// What of the tools is in the context from the start (§16.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum Level {
    /// All definitions, as in MCP.
    L0,
    /// The categories.
    L1,
    /// Only what finds tools: the least that `tool_discovery` asks for.
    L2,
    /// What finds tools, those that are pinned, and those that were used.
    L3,
}

impl Level {
    /// The four of them.
    pub const ALL: [Self; 4] = [Self::L0, Self::L1, Self::L2, Self::L3];

    /// The level for a session: what the operator forces, else what is cheaper for the host.
    ///
    /// It is to be chosen when the session begins and kept: another level is another list, and a list that changes
    /// costs more than a level saves.
    pub fn choose(economy: &Economy, forced: Option<Self>) -> Self {
        forced.unwrap_or(economy.level)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        })
    }
}

#[cfg(test)]
mod tests;
