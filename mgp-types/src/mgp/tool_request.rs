use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::words::words;
use super::{FoundTool, Permission, RiskLevel, ServerId, TraceId};

/// Why an agent asks for tools (§16.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestReason {
    /// `capability_gap`: its tools cannot do what has to be done.
    #[default]
    CapabilityGap,
    /// `performance`: another tool may do it faster (later drafts).
    Performance,
    /// `preference`: another tool is liked better (later drafts).
    Preference,
    /// A word that is not known here.
    Unknown(Box<str>),
}

impl RequestReason {
    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::CapabilityGap => "capability_gap",
            Self::Performance => "performance",
            Self::Preference => "preference",
            Self::Unknown(word) => word,
        }
    }
}

impl From<&str> for RequestReason {
    fn from(word: &str) -> Self {
        match word {
            "capability_gap" => Self::CapabilityGap,
            "performance" => Self::Performance,
            "preference" => Self::Preference,
            _ => Self::Unknown(word.into()),
        }
    }
}

impl fmt::Display for RequestReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RequestReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for RequestReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'_, str>::deserialize(deserializer).map(|word| Self::from(word.as_ref()))
    }
}

/// The parameters of `mgp/tools/request` (§16.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestTools {
    /// Why.
    #[serde(default)]
    pub reason: RequestReason,
    /// What the agent is about to do, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// What the tools have to be able to do.
    #[serde(default)]
    pub requirements: ToolRequirements,
    /// The task that this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_trace_id: Option<TraceId>,
}

impl RequestTools {
    /// Asks for tools that have these capabilities.
    pub fn new(capabilities: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let capabilities = capabilities.into_iter().map(Into::into).collect();
        Self { requirements: ToolRequirements { capabilities, ..Default::default() }, ..Default::default() }
    }

    /// Says what the agent is about to do.
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = context.into();
        self
    }
}

/// What tools have to be able to do (§16.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolRequirements {
    /// Each is met by a tool, or it is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// What goes in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_types: Vec<String>,
    /// What comes out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_types: Vec<String>,
    /// Which risk is liked best: among tools that do the same, the one that is nearest is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred_risk_level: Option<RiskLevel>,
}

words! {
    /// What came of a request for tools (§16.6).
    ToolRequestStatus {
        /// Every capability is met, and the tools are in the session.
        Fulfilled = "fulfilled",
        /// Some are met.
        Partial = "partial",
        /// None is met.
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
    /// What came of it.
    pub status: ToolRequestStatus,
    /// The tools that can be called now.
    #[serde(default)]
    pub tools_loaded: Vec<FoundTool>,
    /// The capabilities that no tool has.
    #[serde(default)]
    pub tools_unavailable: Vec<String>,
    /// Tools that would do, once they are granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_pending: Vec<PendingTool>,
    /// What came nearest to a capability that is not met, and why it was not enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near_misses: Vec<NearMiss>,
    /// How many tools the session has now.
    pub session_tools_count: u64,
    /// What the tools that were loaded take.
    pub context_tokens_added: u64,
}

impl RequestedTools {
    /// Nothing was loaded.
    pub const fn new(status: ToolRequestStatus) -> Self {
        Self {
            status,
            tools_loaded: Vec::new(),
            tools_unavailable: Vec::new(),
            tools_pending: Vec::new(),
            near_misses: Vec::new(),
            session_tools_count: 0,
            context_tokens_added: 0,
        }
    }
}

/// A tool that would do, once it is granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingTool {
    /// Its name.
    pub name: String,
    /// Whose tool it is.
    pub server_id: ServerId,
    /// What is not granted; empty if the tool itself is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions_missing: Vec<Permission>,
}

impl PendingTool {
    /// The tool `name` of `server`, which lacks these permissions.
    pub fn new(name: impl Into<String>, server: ServerId, permissions_missing: Vec<Permission>) -> Self {
        Self { name: name.into(), server_id: server, permissions_missing }
    }
}

/// What came nearest to a capability that is not met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NearMiss {
    /// The capability.
    pub capability: String,
    /// The name of the tool.
    pub name: String,
    /// Whose tool it is.
    pub server_id: ServerId,
    /// Why it is not enough.
    pub reason: String,
}

impl NearMiss {
    /// The tool `name` of `server` nearly has the capability.
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
mod tests;
