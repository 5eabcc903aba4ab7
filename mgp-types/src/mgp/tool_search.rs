//! The bodies of tool search (§16.4, §16.5).

use serde::{Deserialize, Deserializer};

use super::{RiskLevel, ServerId, ServerState, ToolName, ToolSecurity};
use crate::RawJson;
use crate::macros::record;
use crate::macros::words::words;

words! {
    /// The methods of searching tools (§16.4).
    SearchStrategy {
        /// The search compares words: names exactly and nearly, text by the rarity of the words.
        Keyword = "keyword",
        /// The search compares meaning: the likeness of embedding vectors.
        Semantic = "semantic",
        /// The search follows the hierarchy of categories.
        Category = "category",
        /// The search compares words and meaning at once; an addition to the specification.
        Hybrid = "hybrid",
    }
}

record! {
    /// The parameters of `mgp/tools/discover` (§16.5).
    pub struct DiscoverTools: Eq {
        /// The need in words; empty with [`SearchStrategy::Category`] for all tools.
        #[serde(default)]
        required query: into String;
        /// The method of the search; `None` leaves the choice to the answerer.
        optional strategy: SearchStrategy => strategy;
        /// The greatest number of tools to return.
        optional max_results: u32 => max_results;
        /// The filter of the tools.
        #[serde(skip_serializing_if = "ToolFilter::is_empty")]
        default filter: ToolFilter;
        /// Set if the answer says what speaks for each tool; an addition of this implementation.
        flag explain;
    }

    /// The filter of a search (§16.5).
    pub struct ToolFilter: Default, Eq {
        /// The categories; a tool passes if it lies in one of them, or below it.
        list categories: String;
        /// The greatest risk of a tool that passes.
        #[serde(deserialize_with = "known_risk")]
        optional risk_level_max: RiskLevel;
        /// The state of the server of a tool that passes; `None` lets only tools pass that can be called.
        optional status: ServerState;
    }

    /// The result of `mgp/tools/discover` (§16.5).
    pub struct DiscoveredTools {
        /// The tools, the best first.
        plain tools: Vec<FoundTool>;
        /// The number of all tools that the caller may use.
        required total_available: u64;
        /// The method of the search that was asked for.
        required search_strategy: SearchStrategy;
        /// The method that was used in fact, where `search_strategy` was not possible.
        optional fallback_strategy: SearchStrategy;
        /// The time in milliseconds that the search took.
        plain query_time_ms: f64;
        /// The number of tools that were found but have no room in the context budget (§16.8).
        #[serde(skip_serializing_if = "is_zero")]
        default omitted: u64;
        /// The servers of these tools that are still starting: a call of such a tool waits for its server.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        default starting: Vec<ServerId>;
        /// The way to call the tools, in words for a model.
        optional next: String;
    }

    /// A tool in the answer to a search or a request, with all facts that a call needs.
    pub struct FoundTool {
        /// The name by which the client calls the tool.
        required name: into String;
        /// The server that has the tool.
        required server_id: ServerId;
        /// The description of the tool.
        default description: String;
        /// The relevance of the tool, from 0 to 1.
        optional relevance_score: f32;
        /// The reasons for the tool, where the search asked for them.
        optional evidence: MatchEvidence;
        /// The JSON Schema of the arguments.
        #[serde(rename = "inputSchema")]
        required input_schema: RawJson;
        /// The security declaration of the tool.
        optional security: ToolSecurity;
        /// True if the schema is shorter than the tool's own; it still holds all that a call needs.
        flag schema_shortened;
    }

    /// The evidence for a tool that was found: shares of one sum, by which tools are ordered. About 5 is one rare word.
    pub struct MatchEvidence as exhaustive: Copy, Default {
        /// The words of the request that the tool has.
        plain words: f32;
        /// The likeness of the tool's meaning and the request's; negative if other tools are more alike.
        plain meaning: f32;
        /// The evidence for the tool that its texts do not give: the request names its server.
        plain prior: f32;
    }

    /// A tool in the index (§16.4).
    pub struct ToolIndexEntry {
        /// The id of the tool, which no other tool has.
        required tool_id: into String;
        /// The server that has the tool.
        required server_id: ServerId;
        /// The name of the tool at its server.
        required name: ToolName;
        /// The description of the tool.
        default description: String;
        /// The categories of the tool; levels are separated by `/` or `.`.
        default categories: Vec<String>;
        /// The words under which searches find the tool.
        default keywords: Vec<String>;
        /// The security declaration of the tool.
        optional security: ToolSecurity;
        /// The embedding vector of the tool.
        list embedding: f32;
    }

    /// The hints of a server, in a tool's `_meta`, on how searches find the tool.
    pub struct ToolHints: Default {
        /// The categories of the tool; levels are separated by `/` or `.`.
        list categories: String;
        /// The words under which searches find the tool.
        list keywords: String;
        /// The embedding vector of the tool, made by `embedder`.
        list embedding: f32;
        /// The name of the model that made `embedding`.
        optional embedder: String;
    }
}

impl DiscoverTools {
    crate::setters! { self =>
        /// Asks what speaks for each tool.
        pub fn explain() => self.explain = true;

        /// Sets the filter of the tools.
        pub fn filter(filter: ToolFilter) => self.filter = filter;
    }
}

impl ToolFilter {
    /// Returns whether every tool passes that can be called.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl MatchEvidence {
    /// Returns the sum of all shares.
    pub const fn sum(&self) -> f32 {
        self.words + self.meaning + self.prior
    }
}

/// Refuses an unknown ceiling of risk, which must not count as the highest one.
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

/// The mark, in the extensions of a request, of a call that the tool of [`TOOLS_CALL`](super::method::TOOLS_CALL) made:
/// its client need not know the schema of the called tool.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "a mark says nothing but that it is there")]
pub struct UnlistedCall;
