use mgp_types::mgp::SearchStrategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words;

/// What a model is given of the tools, and how they are searched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the file")]
pub struct ToolSettings {
    /// How much of the tools is listed. `auto` if left out: all of them while there are fewer than 30, else searched.
    pub level: ListLevel,
    /// Tools that are always listed, as `server.tool`.
    pub pinned: Vec<String>,
    /// How tools are searched where nobody says.
    #[schemars(schema_with = "words::search_strategy")]
    pub strategy: Option<SearchStrategy>,
    /// What makes meanings of texts: `static`, `fastembed:DIRECTORY`, which needs a build with the feature `fastembed`, or
    /// `remote:URL#MODEL`, which needs one with `http`; `static` if left out. The token for a remote one is in the
    /// environment, as `MGP_EMBEDDER_TOKEN`.
    pub embedder: Option<String>,
    /// Whether vectors that servers send along are used.
    pub trust_sent_vectors: bool,
    /// Whether searches learn from what is called after them, for each agent on its own, while the kernel runs.
    pub learning: bool,
    /// Whether tools may be made on demand (§16.6).
    pub creating: bool,
    /// Whether clients are told that the list changed when they merely used a tool. Off keeps prompt caches warm.
    pub tell_uses: bool,
    /// How much room in a model's context tools may take.
    pub budget: BudgetSettings,
}

/// How much of the tools is listed (§16.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub enum ListLevel {
    /// As many as there are decides.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// All tools.
    L0,
    /// Categories, and what searches tools.
    L1,
    /// What searches tools.
    L2,
    /// What searches tools, and those that were used.
    L3,
}

/// Tokens of tool definitions in a model's context (§16.8). What is left out is as in the specification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct BudgetSettings {
    /// All tools together.
    pub max_tokens: Option<u32>,
    /// Pinned tools.
    pub pinned_reserve: Option<u32>,
    /// Tools that were used.
    pub cache_limit: Option<u32>,
    /// Tools that were just found.
    pub discovery_reserve: Option<u32>,
}
