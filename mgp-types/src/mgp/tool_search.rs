use serde::{Deserialize, Deserializer, Serialize};

use super::words::words;
use super::{RiskLevel, ServerId, ServerState, ToolName, ToolSecurity};
use crate::RawJson;

words! {
    /// How tools are searched (§16.4).
    SearchStrategy {
        /// By words: names exactly and nearly, text by how rare the words are.
        Keyword = "keyword",
        /// By meaning: the likeness of embedding vectors.
        Semantic = "semantic",
        /// By the place in the hierarchy of categories.
        Category = "category",
        /// By words and by meaning at once; an addition to the specification.
        Hybrid = "hybrid",
    }
}

/// The parameters of `mgp/tools/discover` (§16.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiscoverTools {
    /// What is needed, in words; empty with [`SearchStrategy::Category`] for all there is.
    #[serde(default)]
    pub query: String,
    /// How to search; who answers chooses if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<SearchStrategy>,
    /// How many tools to return at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_results: Option<u32>,
    /// Which tools come into question.
    #[serde(default, skip_serializing_if = "ToolFilter::is_empty")]
    pub filter: ToolFilter,
}

impl DiscoverTools {
    /// Searches for what can do this.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), strategy: None, max_results: None, filter: ToolFilter::default() }
    }

    /// Searches in this way.
    pub const fn strategy(mut self, strategy: SearchStrategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// Returns so many tools at the most.
    pub const fn max_results(mut self, most: u32) -> Self {
        self.max_results = Some(most);
        self
    }

    /// Searches only among these.
    pub fn filter(mut self, filter: ToolFilter) -> Self {
        self.filter = filter;
        self
    }
}

/// Which tools come into question (§16.5).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolFilter {
    /// Those in one of these categories, or below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Those of no more than this risk.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_risk")]
    pub risk_level_max: Option<RiskLevel>,
    /// Those whose server is in this state; if it is not said, those that can be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ServerState>,
}

impl ToolFilter {
    /// Whether it lets everything pass that can be called.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The result of `mgp/tools/discover` (§16.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiscoveredTools {
    /// The tools, the one that fits best in front.
    pub tools: Vec<FoundTool>,
    /// How many tools the caller may use at all.
    pub total_available: u64,
    /// How it was searched.
    pub search_strategy: SearchStrategy,
    /// How it was searched in fact, where `search_strategy` was not possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_strategy: Option<SearchStrategy>,
    /// How long it took.
    pub query_time_ms: f64,
    /// How many tools were found that the context budget has no room for (§16.8).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

impl DiscoveredTools {
    /// Nothing was found in this way.
    pub const fn new(strategy: SearchStrategy, total_available: u64) -> Self {
        Self {
            tools: Vec::new(),
            total_available,
            search_strategy: strategy,
            fallback_strategy: None,
            query_time_ms: 0.0,
            omitted: 0,
        }
    }
}

/// A tool in the answer to a search or a request, with all that is needed to call it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FoundTool {
    /// The name to call it by.
    pub name: String,
    /// Whose tool it is.
    pub server_id: ServerId,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// How well it fits, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevance_score: Option<f32>,
    /// The JSON Schema of its arguments.
    #[serde(rename = "inputSchema")]
    pub input_schema: RawJson,
    /// What is to be known of its security.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<ToolSecurity>,
    /// Whether the schema is shorter than the tool's own; it still says all that a call needs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub schema_shortened: bool,
}

impl FoundTool {
    /// The tool `name` of `server`, with this schema.
    pub fn new(name: impl Into<String>, server: ServerId, input_schema: RawJson) -> Self {
        Self {
            name: name.into(),
            server_id: server,
            description: String::new(),
            relevance_score: None,
            input_schema,
            security: None,
            schema_shortened: false,
        }
    }
}

/// A tool as the index knows it (§16.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolIndexEntry {
    /// The name that no other tool has.
    pub tool_id: String,
    /// Whose tool it is.
    pub server_id: ServerId,
    /// The name that its server gave it.
    pub name: ToolName,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// Where it belongs; levels are separated by `/` or `.`.
    #[serde(default)]
    pub categories: Vec<String>,
    /// Words it is to be found by.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// What is to be known of its security.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<ToolSecurity>,
    /// What it means, as a vector.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedding: Vec<f32>,
}

impl ToolIndexEntry {
    /// The tool `name` of `server`, under this id.
    pub fn new(tool_id: impl Into<String>, server: ServerId, name: ToolName) -> Self {
        Self {
            tool_id: tool_id.into(),
            server_id: server,
            name,
            description: String::new(),
            categories: Vec::new(),
            keywords: Vec::new(),
            security: None,
            embedding: Vec::new(),
        }
    }
}

/// What a server says, in a tool's `_meta`, of how the tool is to be found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolHints {
    /// Where it belongs; levels are separated by `/` or `.`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Words it is to be found by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// What it means, as a vector of `embedder`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedding: Vec<f32>,
    /// What made `embedding`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
}

/// A ceiling that is not known must not become the highest one.
fn known_risk<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RiskLevel>, D::Error> {
    let Some(word) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let level = RiskLevel::read(&word);
    if level.as_str() == word {
        Ok(Some(level))
    } else {
        Err(serde::de::Error::custom(format_args!(
            "unknown risk level {word:?}: expected safe, moderate or dangerous"
        )))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes members by reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests;
