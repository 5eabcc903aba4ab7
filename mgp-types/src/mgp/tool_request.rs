//! The bodies of requests for tools (§16.6).

use serde::{Deserialize, Serialize};

use super::words::{open_words, words};
use super::{FoundTool, Permission, RiskLevel, ServerId, TraceId};
use crate::macros::text_traits;

open_words! {
    /// The reason why an agent asks for tools (§16.6).
    #[derive(Default)]
    pub enum RequestReason {
        /// `capability_gap`: the tools of the agent cannot do the work.
        #[default]
        CapabilityGap = "capability_gap",
        /// `performance`: another tool may be faster (later drafts).
        Performance = "performance",
        /// `preference`: the agent prefers another tool (later drafts).
        Preference = "preference",
    }
}
text_traits!(RequestReason: Serialize, Deserialize(Self::from));

/// The parameters of `mgp/tools/request` (§16.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestTools {
    /// The reason of the request.
    #[serde(default)]
    pub reason: RequestReason,
    /// The work that the agent is about to do, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// The requirements that the tools have to meet.
    #[serde(default)]
    pub requirements: ToolRequirements,
    /// The trace id of the task that the request belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_trace_id: Option<TraceId>,
}

impl RequestTools {
    /// Creates a request for tools that have these capabilities.
    pub fn new(capabilities: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let capabilities = capabilities.into_iter().map(Into::into).collect();
        Self { requirements: ToolRequirements { capabilities, ..Default::default() }, ..Default::default() }
    }

    /// Sets the work that the agent is about to do.
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = context.into();
        self
    }
}

/// The requirements that tools have to meet (§16.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolRequirements {
    /// The capabilities; a tool has a capability or lacks it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The types of input that the tools accept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_types: Vec<String>,
    /// The types of output that the tools produce.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_types: Vec<String>,
    /// The preferred risk: among equal tools, the one with the nearest risk is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_risk_level: Option<RiskLevel>,
}

words! {
    /// The outcome of a request for tools (§16.6).
    ToolRequestStatus {
        /// Tools with every capability were found, and are in the session.
        Fulfilled = "fulfilled",
        /// Tools with some capabilities were found.
        Partial = "partial",
        /// No tool has any of the capabilities.
        Unavailable = "unavailable",
        /// Tools were found that need a grant first (§3).
        PendingApproval = "pending_approval",
        /// A tool is being made (§7).
        Creating = "creating",
    }
}

/// The result of `mgp/tools/request` (§16.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestedTools {
    /// The outcome of the request.
    pub status: ToolRequestStatus,
    /// The tools that are in the session now. A call of one that is also pending asks for what is missing.
    #[serde(default)]
    pub tools_loaded: Vec<FoundTool>,
    /// The capabilities that no tool has.
    #[serde(default)]
    pub tools_unavailable: Vec<String>,
    /// The tools that have a capability once they are granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_pending: Vec<PendingTool>,
    /// The tools nearest to each missing capability, with the reason why they do not have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near_misses: Vec<NearMiss>,
    /// The number of tools in the session.
    pub session_tools_count: u64,
    /// The number of tokens that the loaded tools take.
    pub context_tokens_added: u64,
    /// The way to call the loaded tools, in words for a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl RequestedTools {
    /// Creates a result without loaded tools.
    pub const fn new(status: ToolRequestStatus) -> Self {
        Self {
            status,
            tools_loaded: Vec::new(),
            tools_unavailable: Vec::new(),
            tools_pending: Vec::new(),
            near_misses: Vec::new(),
            session_tools_count: 0,
            context_tokens_added: 0,
            next: None,
        }
    }
}

/// A tool that has a capability once it is granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingTool {
    /// The name of the tool.
    pub name: String,
    /// The server that has the tool.
    pub server_id: ServerId,
    /// The permissions that are not granted; empty if the tool itself is not granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions_missing: Vec<Permission>,
    /// The id of the question that waits for an operator, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// The reason why the tool waits, and the command that changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl PendingTool {
    /// Creates the entry of the tool `name` of `server`, which lacks these permissions.
    pub fn new(name: impl Into<String>, server: ServerId, permissions_missing: Vec<Permission>) -> Self {
        Self { name: name.into(), server_id: server, permissions_missing, approval_id: None, message: None }
    }
}

/// The tool that comes nearest to a missing capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NearMiss {
    /// The capability.
    pub capability: String,
    /// The name of the tool.
    pub name: String,
    /// The server that has the tool.
    pub server_id: ServerId,
    /// The reason why the tool does not have the capability.
    pub reason: String,
}

impl NearMiss {
    /// Creates the entry of the tool `name` of `server`, which nearly has the capability.
    pub fn new(
        capability: impl Into<String>,
        name: impl Into<String>,
        server: ServerId,
        reason: impl Into<String>,
    ) -> Self {
        Self { capability: capability.into(), name: name.into(), server_id: server, reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // covers: MGP-16.6-02..08
    #[test]
    fn a_request_is_read_and_written_as_in_the_specification() {
        let wire = json!({
            "reason": "capability_gap",
            "context": "Processing CSV data but need statistical analysis functions",
            "requirements": {
                "capabilities": ["data_analysis", "statistics"],
                "input_types": ["csv", "tabular_data"],
                "output_types": ["numeric", "chart"],
                "preferred_risk_level": "safe"
            },
            "task_trace_id": "550e8400-e29b-41d4-a716-446655440000"
        });
        let request: RequestTools = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(request.reason, RequestReason::CapabilityGap);
        assert_eq!(request.requirements.preferred_risk_level, Some(RiskLevel::Safe));
        assert_eq!(serde_json::to_value(request).unwrap(), wire);

        let bare: RequestTools = serde_json::from_value(json!({})).unwrap();
        assert_eq!(bare, RequestTools::default());
        let strange: RequestTools = serde_json::from_value(json!({ "reason": "boredom" })).unwrap();
        assert_eq!(strange.reason.as_str(), "boredom");
    }

    // covers: MGP-16.6-09..13
    #[test]
    fn what_came_of_it_is_read_and_written_as_in_the_specification() {
        let wire = json!({
            "status": "fulfilled",
            "tools_loaded": [{
                "name": "analyze_csv",
                "server_id": "tool.data_processing",
                "description": "Compute statistics on CSV data",
                "inputSchema": { "type": "object" },
                "security": { "risk_level": "safe", "permissions_required": ["memory.read"] }
            }],
            "tools_unavailable": [],
            "session_tools_count": 4,
            "context_tokens_added": 380
        });
        let answer: RequestedTools = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(answer.status, ToolRequestStatus::Fulfilled);
        assert_eq!(serde_json::to_value(answer).unwrap(), wire);
    }

    #[test]
    fn the_five_words_for_what_came_of_it_are_those_of_the_specification() {
        let words: Vec<_> = ToolRequestStatus::ALL.iter().map(|status| status.as_str()).collect();
        assert_eq!(words, ["fulfilled", "partial", "unavailable", "pending_approval", "creating"]);
    }
}
