//! Levels: the part of the tools in the context from the start (§16.3), and what it takes.

use serde::{Deserialize, Serialize};

/// The part of the tools in the context from the start (§16.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum Level {
    /// All definitions, as in MCP.
    L0,
    /// The categories.
    L1,
    /// The tools that find tools, the least that `tool_discovery` asks for.
    L2,
    /// The tools that find tools, and the pinned and used ones.
    L3,
}

mgp_types::write_as!(Display of Level, self => "{self:?}");
