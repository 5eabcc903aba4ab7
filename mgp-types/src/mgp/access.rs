use std::fmt;

use serde::{Deserialize, Serialize};

use super::{AgentId, ServerId, Timestamp, ToolName};

/// What an entry says (§5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum AccessPermission {
    /// The agent may.
    Allow,
    /// The agent may not.
    Deny,
}

/// How far an entry reaches (§5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum EntryType {
    /// All tools of a server.
    ServerGrant,
    /// One tool.
    ToolGrant,
}

/// What decided (§5.2), from the highest priority to the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum AccessSource {
    /// An entry for the tool.
    ToolGrant,
    /// An entry for the server.
    ServerGrant,
    /// What the server does without one.
    DefaultPolicy,
}

/// What holds where no entry does (§5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum DefaultPolicy {
    /// Nothing is allowed that was not granted.
    #[default]
    #[serde(rename = "opt-in")]
    OptIn,
    /// Everything is allowed that was not denied.
    #[serde(rename = "opt-out")]
    OptOut,
}

impl DefaultPolicy {
    /// What it says to every agent.
    pub const fn permission(self) -> AccessPermission {
        match self {
            Self::OptIn => AccessPermission::Deny,
            Self::OptOut => AccessPermission::Allow,
        }
    }
}

impl fmt::Display for DefaultPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OptIn => "opt-in",
            Self::OptOut => "opt-out",
        })
    }
}

/// The parameters of `mgp/access/query`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AccessQuery {
    /// Who.
    pub agent_id: AgentId,
    /// Where.
    pub server_id: ServerId,
    /// What; without it the server as a whole.
    #[serde(default)]
    pub tool_name: Option<ToolName>,
}

impl AccessQuery {
    /// Whether `agent_id` may use a tool of `server_id`, or the server as a whole.
    pub const fn new(agent_id: AgentId, server_id: ServerId, tool_name: Option<ToolName>) -> Self {
        Self { agent_id, server_id, tool_name }
    }
}

/// The result of `mgp/access/query`; all members are always there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AccessState {
    /// Whether the agent may.
    pub permission: AccessPermission,
    /// What decided.
    pub source: AccessSource,
    /// Who said so; null for the default policy.
    pub granted_by: Option<String>,
    /// Since when; null for the default policy.
    pub granted_at: Option<Timestamp>,
    /// Until when; null for ever.
    pub expires_at: Option<Timestamp>,
}

impl AccessState {
    /// What the default policy says.
    pub const fn by_default(policy: DefaultPolicy) -> Self {
        Self::new(policy.permission(), AccessSource::DefaultPolicy)
    }

    /// A decision of which nothing more is known.
    pub const fn new(permission: AccessPermission, source: AccessSource) -> Self {
        Self { permission, source, granted_by: None, granted_at: None, expires_at: None }
    }

    /// With who said so and since when.
    pub fn with_grant(mut self, by: impl Into<String>, at: Timestamp) -> Self {
        self.granted_by = Some(by.into());
        self.granted_at = Some(at);
        self
    }

    /// With its end.
    pub const fn with_expires_at(mut self, end: Option<Timestamp>) -> Self {
        self.expires_at = end;
        self
    }
}

/// The parameters of `mgp/access/grant`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AccessGrant {
    /// How far the entry reaches.
    pub entry_type: EntryType,
    /// Who.
    pub agent_id: AgentId,
    /// Where.
    pub server_id: ServerId,
    /// What; null for a whole server.
    #[serde(default)]
    pub tool_name: Option<ToolName>,
    /// Whether the agent may.
    pub permission: AccessPermission,
    /// Who says so: a label, for who really did is taken from the authenticated principal.
    #[serde(default)]
    pub granted_by: Option<String>,
    /// Why.
    #[serde(default)]
    pub justification: Option<String>,
    /// Until when; null for ever.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// Whether the entry is made although there is no such server or tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

impl AccessGrant {
    /// What `agent_id` may do with all tools of `server_id`.
    pub const fn of_server(agent_id: AgentId, server_id: ServerId, permission: AccessPermission) -> Self {
        Self {
            entry_type: EntryType::ServerGrant,
            agent_id,
            server_id,
            tool_name: None,
            permission,
            granted_by: None,
            justification: None,
            expires_at: None,
            force: false,
        }
    }

    /// Makes the entry although there may be no such server or tool.
    pub const fn forced(mut self) -> Self {
        self.force = true;
        self
    }

    /// The same of one tool.
    pub fn for_tool(mut self, tool_name: ToolName) -> Self {
        self.entry_type = EntryType::ToolGrant;
        self.tool_name = Some(tool_name);
        self
    }

    /// With who says so.
    pub fn with_granted_by(mut self, label: impl Into<String>) -> Self {
        self.granted_by = Some(label.into());
        self
    }

    /// With a reason.
    pub fn with_justification(mut self, reason: impl Into<String>) -> Self {
        self.justification = Some(reason.into());
        self
    }

    /// With its end.
    pub const fn with_expires_at(mut self, end: Option<Timestamp>) -> Self {
        self.expires_at = end;
        self
    }
}

/// The parameters of `mgp/access/revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AccessRevoke {
    /// Who.
    pub agent_id: AgentId,
    /// Where.
    pub server_id: ServerId,
    /// How far the entry reaches.
    pub entry_type: EntryType,
    /// What; needed for an entry about one tool.
    #[serde(default)]
    pub tool_name: Option<ToolName>,
}

impl AccessRevoke {
    /// The entry of `agent_id` for all tools of `server_id`.
    pub const fn of_server(agent_id: AgentId, server_id: ServerId) -> Self {
        Self { agent_id, server_id, entry_type: EntryType::ServerGrant, tool_name: None }
    }

    /// The entry for one tool instead.
    pub fn for_tool(mut self, tool_name: ToolName) -> Self {
        self.entry_type = EntryType::ToolGrant;
        self.tool_name = Some(tool_name);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-5.3-01, MGP-5.3-02, MGP-5.4-11..18
    #[test]
    fn a_grant_has_the_members_of_the_specification() {
        let json = concat!(
            r#"{"entry_type":"server_grant","agent_id":"agent.cloto_default","server_id":"mind.cerebras","#,
            r#""tool_name":null,"permission":"allow","granted_by":"admin","#,
            r#""justification":"Required for agent reasoning","expires_at":null}"#
        );
        let grant: AccessGrant = serde_json::from_str(json).unwrap();
        assert_eq!((grant.entry_type, grant.permission), (EntryType::ServerGrant, AccessPermission::Allow));
        assert_eq!(serde_json::to_string(&grant).unwrap(), json);
        let tool = json
            .replace("server_grant", "tool_grant")
            .replace(r#""tool_name":null"#, r#""tool_name":"think""#);
        let grant: AccessGrant = serde_json::from_str(&tool).unwrap();
        assert_eq!((grant.entry_type, grant.tool_name.unwrap().as_str()), (EntryType::ToolGrant, "think"));
        assert!(serde_json::from_str::<AccessGrant>(&json.replace(r#""allow""#, r#""maybe""#)).is_err());
    }

    // covers: MGP-5.4-02..09
    #[test]
    fn a_query_and_its_answer_have_the_members_of_the_specification() {
        let query: AccessQuery =
            serde_json::from_str(r#"{"agent_id":"a","server_id":"mind.cerebras","tool_name":"think"}"#)
                .unwrap();
        assert_eq!(query.tool_name.unwrap().as_str(), "think");
        let answer = AccessState::new(AccessPermission::Allow, AccessSource::ServerGrant)
            .with_grant("admin", "2026-02-27T12:00:00Z".parse().unwrap());
        assert_eq!(
            serde_json::to_string(&answer).unwrap(),
            concat!(
                r#"{"permission":"allow","source":"server_grant","granted_by":"admin","#,
                r#""granted_at":"2026-02-27T12:00:00.000Z","expires_at":null}"#
            )
        );
    }

    // covers: MGP-5.4-21..23
    #[test]
    fn a_revocation_has_the_members_of_the_specification() {
        let json = r#"{"agent_id":"a","server_id":"s","entry_type":"server_grant"}"#;
        let revoke: AccessRevoke = serde_json::from_str(json).unwrap();
        assert_eq!((revoke.entry_type, revoke.tool_name), (EntryType::ServerGrant, None));
    }

    // covers: MGP-5.5-01, MGP-5.5-02
    #[test]
    fn the_default_policies_have_their_names_and_meaning() {
        assert_eq!(serde_json::to_string(&DefaultPolicy::OptIn).unwrap(), r#""opt-in""#);
        assert_eq!(serde_json::to_string(&DefaultPolicy::OptOut).unwrap(), r#""opt-out""#);
        assert_eq!(DefaultPolicy::OptIn.permission(), AccessPermission::Deny);
        assert_eq!(DefaultPolicy::OptOut.permission(), AccessPermission::Allow);
    }
}
