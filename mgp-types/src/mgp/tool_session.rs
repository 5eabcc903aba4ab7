//! The tools of a session (§16.7) and the tokens that they may take (§16.8).

use serde::{Deserialize, Serialize};

/// The result of `mgp/tools/session` (§16.7): the tools that are in the model's context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolSession {
    /// The tools that are always there.
    #[serde(default)]
    pub pinned: Vec<String>,
    /// The tools that the session used, the latest first.
    #[serde(default)]
    pub cached: Vec<String>,
    /// The number of tokens that the tools of the session take.
    pub total_tokens: u64,
    /// The greatest number of tokens that the tools of the session may take.
    pub max_tokens: u64,
}

impl ToolSession {
    /// Creates a session without tools, whose tools may take `max_tokens` tokens.
    pub const fn new(max_tokens: u64) -> Self {
        Self { pinned: Vec::new(), cached: Vec::new(), total_tokens: 0, max_tokens }
    }
}

/// The parameters of `mgp/tools/session/evict` (§16.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EvictTools {
    /// The names of the tools.
    pub tools: Vec<String>,
    /// The reason, like `no_longer_needed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl EvictTools {
    /// Creates the request to take these tools out.
    pub fn new(tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { tools: tools.into_iter().map(Into::into).collect(), reason: None }
    }
}

/// The result of `mgp/tools/session/evict`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EvictedTools {
    /// The tools that were taken out.
    #[serde(default)]
    pub evicted: Vec<String>,
    /// The tools that the session did not have.
    #[serde(default)]
    pub not_found: Vec<String>,
    /// The tools that stay because they are pinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<String>,
    /// The number of tokens that the remaining tools take.
    pub total_tokens: u64,
    /// The greatest number of tokens that the tools of the session may take.
    pub max_tokens: u64,
}

impl EvictedTools {
    /// Creates the result of an eviction that took no tool out of a session with this limit of tokens.
    pub const fn new(max_tokens: u64) -> Self {
        Self { evicted: Vec::new(), not_found: Vec::new(), pinned: Vec::new(), total_tokens: 0, max_tokens }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // covers: MGP-16.7-06, MGP-16.7-07, MGP-16.7-08, MGP-16.7-09
    #[test]
    fn a_session_is_told_as_in_the_specification() {
        let told = json!({
            "pinned": ["think", "store", "recall"],
            "cached": ["read_file", "analyze_csv"],
            "total_tokens": 2100,
            "max_tokens": 8000
        });
        let session: ToolSession = serde_json::from_value(told.clone()).unwrap();
        assert_eq!(session.cached, ["read_file", "analyze_csv"]);
        assert_eq!(serde_json::to_value(session).unwrap(), told);
    }

    // covers: MGP-16.7-11, MGP-16.7-12
    #[test]
    fn tools_are_taken_out_by_name_and_for_a_reason() {
        let asked = json!({ "tools": ["analyze_csv"], "reason": "no_longer_needed" });
        let evict: EvictTools = serde_json::from_value(asked.clone()).unwrap();
        assert_eq!(serde_json::to_value(evict).unwrap(), asked);
        assert_eq!(
            serde_json::to_value(EvictedTools::new(8000)).unwrap(),
            json!({ "evicted": [], "not_found": [], "total_tokens": 0, "max_tokens": 8000 })
        );
    }
}
