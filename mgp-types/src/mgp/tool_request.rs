//! Requests for tools (§16.6), the tools of a session (§16.7) and the tokens that they may take (§16.8).

use super::{FoundTool, Permission, RiskLevel, ServerId, TraceId};
use crate::macros::record;
use crate::macros::words::{open_words, words};

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
record! {
    /// The parameters of `mgp/tools/request` (§16.6).
    pub struct RequestTools: Default, Eq {
        /// The reason of the request.
        default reason: RequestReason;
        /// The work that the agent is about to do, in words.
        #[serde(skip_serializing_if = "String::is_empty")]
        default context: String;
        /// The requirements that the tools have to meet.
        default requirements: ToolRequirements;
        /// The trace id of the task that the request belongs to.
        optional task_trace_id: TraceId;
    }

    /// The requirements that tools have to meet (§16.6).
    pub struct ToolRequirements: Default, Eq {
        /// The capabilities; a tool has a capability or lacks it.
        list capabilities: String;
        /// The types of input that the tools accept.
        list input_types: String;
        /// The types of output that the tools produce.
        list output_types: String;
        /// The preferred risk: among equal tools, the one with the nearest risk is taken.
        optional preferred_risk_level: RiskLevel;
    }

    /// The result of `mgp/tools/request` (§16.6).
    pub struct RequestedTools {
        /// The outcome of the request.
        required status: ToolRequestStatus;
        /// The tools that are in the session now. A call of one that is also pending asks for what is missing.
        default tools_loaded: Vec<FoundTool>;
        /// The capabilities that no tool has.
        default tools_unavailable: Vec<String>;
        /// The tools that have a capability once they are granted.
        list tools_pending: PendingTool;
        /// The tools nearest to each missing capability, with the reason why they do not have it.
        list near_misses: NearMiss;
        /// The number of tools in the session.
        plain session_tools_count: u64;
        /// The number of tokens that the loaded tools take.
        plain context_tokens_added: u64;
        /// The way to call the loaded tools, in words for a model.
        optional next: String;
    }

    /// A tool that has a capability once it is granted.
    pub struct PendingTool: Eq {
        /// The name of the tool.
        required name: into String;
        /// The server that has the tool.
        required server_id: ServerId;
        /// The permissions that are not granted; empty if the tool itself is not granted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        required permissions_missing: Vec<Permission>;
        /// The id of the question that waits for an operator, if one does.
        optional approval_id: String;
        /// The reason why the tool waits, and the command that changes it.
        optional message: String;
    }

    /// The tool that comes nearest to a missing capability.
    pub struct NearMiss: Eq {
        /// The capability.
        required capability: into String;
        /// The name of the tool.
        required name: into String;
        /// The server that has the tool.
        required server_id: ServerId;
        /// The reason why the tool does not have the capability.
        required reason: into String;
    }

    /// The result of `mgp/tools/session` (§16.7): the tools that are in the model's context.
    pub struct ToolSession: Eq {
        /// The tools that are always there.
        default pinned: Vec<String>;
        /// The tools that the session used, the latest first.
        default cached: Vec<String>;
        /// The number of tokens that the tools of the session take.
        plain total_tokens: u64;
        /// The greatest number of tokens that the tools of the session may take.
        required max_tokens: u64;
    }

    /// The parameters of `mgp/tools/session/evict` (§16.7).
    pub struct EvictTools: Eq {
        /// The names of the tools.
        plain tools: Vec<String>;
        /// The reason, like `no_longer_needed`.
        optional reason: String;
    }

    /// The result of `mgp/tools/session/evict`.
    pub struct EvictedTools: Eq {
        /// The tools that were taken out.
        default evicted: Vec<String>;
        /// The tools that the session did not have.
        default not_found: Vec<String>;
        /// The tools that stay because they are pinned.
        list pinned: String;
        /// The number of tokens that the remaining tools take.
        plain total_tokens: u64;
        /// The greatest number of tokens that the tools of the session may take.
        required max_tokens: u64;
    }

    /// The numbers of tokens that the definitions of tools may take (§16.8).
    ///
    /// ```
    /// use mgp_types::mgp::ToolContextBudget;
    ///
    /// let budget: ToolContextBudget = serde_json::from_str(r#"{"max_tokens":4000}"#)?;
    /// assert_eq!((budget.max_tokens, budget.cache_limit), (4000, 3000));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[serde(default)]
    pub struct ToolContextBudget: Copy, Eq, Hash {
        /// The limit of all definitions together, in tokens.
        required max_tokens: u32;
        /// The share of the pinned tools, in tokens.
        required pinned_reserve: u32;
        /// The share of one answer to a search or a request, in tokens.
        required discovery_reserve: u32;
        /// The share of the tools that the session used, in tokens.
        required cache_limit: u32;
    }
}

impl RequestTools {
    /// Creates a request for tools that have these capabilities.
    pub fn new(capabilities: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let capabilities = capabilities.into_iter().map(Into::into).collect();
        Self { requirements: ToolRequirements { capabilities, ..Default::default() }, ..Default::default() }
    }

    crate::setters! { self =>
        /// Sets the work that the agent is about to do.
        pub fn context(context: impl Into<String>) => self.context = context.into();
    }
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

impl EvictTools {
    /// Creates the request to take these tools out.
    pub fn new(tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { tools: tools.into_iter().map(Into::into).collect(), reason: None }
    }
}

impl ToolContextBudget {
    /// Returns the budget of the specification for this total.
    pub fn of(max_tokens: u32) -> Self {
        Self { max_tokens, ..Self::default() }
    }
}

impl Default for ToolContextBudget {
    fn default() -> Self {
        Self { max_tokens: 8000, pinned_reserve: 2000, discovery_reserve: 3000, cache_limit: 3000 }
    }
}
