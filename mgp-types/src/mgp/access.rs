//! The bodies of access control (§5): queries, grants and revocations.

use serde::{Deserialize, Serialize};

use super::{AgentId, ServerId, Timestamp, ToolName};
use crate::macros::record;
use crate::macros::words::words;

/// The permission that an entry gives (§5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum AccessPermission {
    /// The agent may use the server or tool.
    Allow,
    /// The agent may not use the server or tool.
    Deny,
}

/// The reach of an entry (§5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum EntryType {
    /// The entry is about all tools of a server.
    ServerGrant,
    /// The entry is about one tool.
    ToolGrant,
}

/// The source of a decision (§5.2), from the highest priority to the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum AccessSource {
    /// An entry for the tool decided.
    ToolGrant,
    /// An entry for the server decided.
    ServerGrant,
    /// The default policy of the server decided, because no entry does.
    DefaultPolicy,
}

words! {
    /// The policy that holds where no entry does (§5.5).
    #[derive(Default)]
    DefaultPolicy {
        /// Agents may do only what was granted to them.
        #[default]
        OptIn = "opt-in",
        /// Agents may do all that was not denied to them.
        OptOut = "opt-out",
    }
}

impl DefaultPolicy {
    /// Returns the permission that the policy gives every agent.
    pub const fn permission(self) -> AccessPermission {
        match self {
            Self::OptIn => AccessPermission::Deny,
            Self::OptOut => AccessPermission::Allow,
        }
    }
}

record! {
    /// The parameters of `mgp/access/query`.
    pub struct AccessQuery: Eq {
        /// The agent whose access is asked for.
        required agent_id: AgentId;
        /// The server that the agent wants to use.
        required server_id: ServerId;
        /// The tool that the agent wants to use; `None` asks about the server as a whole.
        required tool_name: Option<ToolName>;
    }

    /// The result of `mgp/access/query`. All members but `group` are always there.
    pub struct AccessState: Eq {
        /// The permission of the agent.
        required permission: AccessPermission;
        /// The source of the decision.
        required source: AccessSource;
        /// The name of the granter; null for the default policy.
        nullable granted_by: String;
        /// The time of the grant; null for the default policy.
        nullable granted_at: Timestamp;
        /// The end of the grant; null for a grant without end.
        nullable expires_at: Timestamp => optional with_expires_at;
        /// The group of the agent whose entry decided, as `@name`; left out if none did.
        optional group: AgentId => optional with_group;
    }

    /// The parameters of `mgp/access/grant`.
    pub struct AccessGrant: Eq {
        /// The reach of the entry: a whole server, until [`for_tool`](Self::for_tool) narrows it.
        plain entry_type: EntryType = EntryType::ServerGrant;
        /// The agent that the entry is about.
        required agent_id: AgentId;
        /// The server that the entry is about.
        required server_id: ServerId;
        /// The tool that the entry is about; null for a whole server.
        nullable tool_name: ToolName;
        /// The permission that the entry gives.
        required permission: AccessPermission;
        /// The name of the granter. The label proves nothing: the granter on record is the authenticated principal.
        nullable granted_by: String => into with_granted_by;
        /// The reason for the entry.
        nullable justification: String => into with_justification;
        /// The end of the entry; null for an entry without one.
        nullable expires_at: Timestamp => optional with_expires_at;
        /// True if the entry is made although the server or tool does not exist.
        flag force;
    }

    /// The parameters of `mgp/access/revoke`.
    pub struct AccessRevoke: Eq {
        /// The agent of the entry.
        required agent_id: AgentId;
        /// The server of the entry.
        required server_id: ServerId;
        /// The reach of the entry: a whole server, until [`for_tool`](Self::for_tool) narrows it.
        plain entry_type: EntryType = EntryType::ServerGrant;
        /// The tool of the entry; needed for an entry about one tool.
        nullable tool_name: ToolName;
    }
}

impl AccessState {
    /// Creates the state that the default policy gives.
    pub fn by_default(policy: DefaultPolicy) -> Self {
        Self::new(policy.permission(), AccessSource::DefaultPolicy)
    }

    crate::setters! { self =>
        /// Sets the granter and the time of the grant.
        pub fn with_grant(by: impl Into<String>, at: Timestamp) =>
            (self.granted_by, self.granted_at) = (Some(by.into()), Some(at));
    }
}

impl AccessGrant {
    crate::setters! { self =>
        /// Narrows the entry to one tool.
        pub fn for_tool(tool_name: ToolName) =>
            (self.entry_type, self.tool_name) = (EntryType::ToolGrant, Some(tool_name));
    }
}

impl AccessRevoke {
    crate::setters! { self =>
        /// Names the entry for one tool instead.
        pub fn for_tool(tool_name: ToolName) =>
            (self.entry_type, self.tool_name) = (EntryType::ToolGrant, Some(tool_name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-5.5-01, MGP-5.5-02
    #[test]
    fn the_default_policies_have_their_names_and_meaning() {
        assert_eq!(serde_json::to_string(&DefaultPolicy::OptIn).unwrap(), r#""opt-in""#);
        assert_eq!(serde_json::to_string(&DefaultPolicy::OptOut).unwrap(), r#""opt-out""#);
        assert_eq!(DefaultPolicy::OptIn.permission(), AccessPermission::Deny);
        assert_eq!(DefaultPolicy::OptOut.permission(), AccessPermission::Allow);
    }
}
