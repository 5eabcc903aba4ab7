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
}

impl DiscoverTools {
    /// Asks what speaks for each tool.
    pub const fn explain(mut self) -> Self {
        self.explain = true;
        self
    }

    /// Sets the filter of the tools.
    pub fn filter(mut self, filter: ToolFilter) -> Self {
        self.filter = filter;
        self
    }
}

record! {
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
}

impl ToolFilter {
    /// Returns whether every tool passes that can be called.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

record! {
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
        /// The way to call the tools, in words for a model.
        optional next: String;
    }
}

record! {
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
}

record! {
    /// The evidence for a tool that was found: shares of one sum, by which tools are ordered. About 5 is one rare word.
    #[expect(clippy::exhaustive_structs, reason = "a sum is of these and of no others")]
    pub struct MatchEvidence as exhaustive: Copy, Default {
        /// The words of the request that the tool has.
        plain words: f32;
        /// The likeness of the tool's meaning and the request's; negative if other tools are more alike.
        plain meaning: f32;
        /// The evidence for the tool that its texts do not give: the request names its server.
        plain prior: f32;
    }
}

impl MatchEvidence {
    /// Returns the sum of all shares.
    pub const fn sum(&self) -> f32 {
        self.words + self.meaning + self.prior
    }
}

record! {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // covers: MGP-16.5-02, MGP-16.5-03, MGP-16.5-04, MGP-16.5-05, MGP-16.5-06, MGP-16.5-07
    #[test]
    fn a_search_is_read_and_written_as_in_the_specification() {
        let wire = json!({
            "query": "read file contents from disk",
            "strategy": "semantic",
            "max_results": 5,
            "filter": { "categories": ["filesystem"], "risk_level_max": "moderate", "status": "connected" }
        });
        let search: DiscoverTools = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(search.strategy, Some(SearchStrategy::Semantic));
        assert_eq!(search.filter.risk_level_max, Some(RiskLevel::Moderate));
        assert_eq!(search.filter.status, Some(ServerState::Connected));
        assert_eq!(serde_json::to_value(&search).unwrap(), wire);

        let bare: DiscoverTools = serde_json::from_value(json!({ "query": "x" })).unwrap();
        assert_eq!((bare.strategy, bare.max_results, bare.filter.is_empty()), (None, None, true));
        assert_eq!(serde_json::to_value(bare).unwrap(), json!({ "query": "x" }));
    }

    #[test]
    fn a_filter_that_is_not_understood_is_refused_instead_of_letting_more_pass() {
        for (member, word) in [("risk_level_max", "mild"), ("status", "alive")] {
            let asked = json!({ "query": "x", "filter": { member: word } });
            let error = serde_json::from_value::<DiscoverTools>(asked).unwrap_err();
            assert!(error.to_string().contains("unknown"), "{member}: {error}");
        }
        assert!(
            serde_json::from_value::<DiscoverTools>(json!({ "query": "x", "strategy": "magic" })).is_err()
        );
    }

    // covers: MGP-16.5-08, MGP-16.5-09, MGP-16.5-10, MGP-16.5-11, MGP-16.5-13, MGP-16.5-14
    #[test]
    fn found_tools_are_read_and_written_as_in_the_specification() {
        let wire = json!({
            "tools": [{
                "name": "read_file",
                "server_id": "tool.terminal",
                "description": "Read the contents of a file at the given path",
                "relevance_score": 0.75,
                "inputSchema": {
                    "type": "object",
                    "properties": { "path": { "type": "string", "description": "File path to read" } },
                    "required": ["path"]
                },
                "security": {
                    "risk_level": "moderate", "permissions_required": ["filesystem.read"], "validator": "sandbox"
                }
            }],
            "total_available": 47,
            "search_strategy": "semantic",
            "query_time_ms": 12.0
        });
        let found: DiscoveredTools = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(found.tools[0].server_id, ServerId::from("tool.terminal"));
        assert_eq!(serde_json::to_value(found).unwrap(), wire);
    }

    // covers: MGP-16.4-02..09
    #[test]
    fn an_entry_of_the_index_has_the_members_of_the_specification() {
        let wire = json!({
            "tool_id": "filesystem.read_file",
            "server_id": "tool.terminal",
            "name": "read_file",
            "description": "Read the contents of a file at the given path",
            "categories": ["filesystem", "read"],
            "keywords": ["file", "read", "open", "content", "text"],
            "security": { "risk_level": "moderate", "permissions_required": ["filesystem.read"] },
            "embedding": [0.5, -0.25]
        });
        let entry: ToolIndexEntry = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(entry).unwrap(), wire);
    }
}
