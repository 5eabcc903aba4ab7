//! The section `[tools]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tools that a model sees, and how it searches for others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolSettings {
    /// The part of the tools that is listed; `auto` if left out.
    pub level: ListLevel,
    /// The tools that are always listed, as `server.tool`.
    pub pinned: Vec<String>,
    /// The embedder, which turns texts into vectors for searches by meaning: `static`, the built-in table of words;
    /// `encoder:DIRECTORY`, a sentence encoder together with the table; `fastembed:DIRECTORY`, in a build with the
    /// feature `fastembed`; or `auto`, what `mgp model install` installed, else the table. `auto` if left out.
    pub embedder: Option<String>,
    /// The space in a model's context that tools may take.
    pub budget: BudgetSettings,
}

/// The part of the tools that is listed (§16.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub enum ListLevel {
    /// All tools are listed if they fit into `budget.max_tokens`; otherwise those of `L3`, and others while
    /// `budget.cache_limit` has room.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// All tools are listed.
    L0,
    /// Categories and the search tools are listed.
    L1,
    /// The search tools are listed.
    L2,
    /// The search tools and the tools that were found, used or pinned are listed.
    L3,
}

/// The tokens that tool definitions may take in a model's context (§16.8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct BudgetSettings {
    /// The maximum of tokens for all tools together; 8000 if left out.
    pub max_tokens: Option<u32>,
    /// The maximum of tokens for pinned tools; 2000 if left out.
    pub pinned_reserve: Option<u32>,
    /// The maximum of tokens for other listed tools; 3000 if left out.
    pub cache_limit: Option<u32>,
    /// The maximum of tokens for what a search finds; 3000 if left out.
    pub discovery_reserve: Option<u32>,
}
