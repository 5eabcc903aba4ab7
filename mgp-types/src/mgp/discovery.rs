use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::words::words;
use super::{MgpVersion, Permission, ServerId, ServerState, TrustLevel};

words! {
    /// What has become of a server, as those who ask for it are told (§15): a state of its life (§11.2), or one that lies
    /// before or behind it.
    ServerStatus {
        /// It waits for an operator, and is not started before.
        PendingApproval = "pending_approval",
        /// It is known and was not started.
        Registered = "registered",
        /// The transport comes up, the handshake runs.
        Connecting = "connecting",
        /// It takes calls.
        Connected = "connected",
        /// It finishes the calls it has and takes no new ones.
        Draining = "draining",
        /// The transport is closed.
        Disconnected = "disconnected",
        /// It could not be connected to, or broke.
        Error = "error",
        /// It is stopped and started again.
        Restarting = "restarting",
        /// It is known no longer.
        Deregistered = "deregistered",
    }
}

impl From<ServerState> for ServerStatus {
    fn from(state: ServerState) -> Self {
        match state {
            ServerState::Registered => Self::Registered,
            ServerState::Connecting => Self::Connecting,
            ServerState::Connected => Self::Connected,
            ServerState::Draining => Self::Draining,
            ServerState::Disconnected => Self::Disconnected,
            ServerState::Error => Self::Error,
            ServerState::Restarting => Self::Restarting,
        }
    }
}

/// The parameters of `mgp/discovery/list` (§15.2).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListServers {
    /// Which servers; all if left out.
    #[serde(default)]
    pub filter: ServerFilter,
}

impl ListServers {
    /// Asks for the servers that pass `filter`.
    pub const fn new(filter: ServerFilter) -> Self {
        Self { filter }
    }
}

/// Which servers are asked for (§15.2): those of which all holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerFilter {
    /// They have all of these extensions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// They need all of these permissions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<Permission>,
    /// They are in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ServerStatus>,
}

impl ServerFilter {
    /// Only servers in this state.
    #[must_use]
    pub const fn with_status(mut self, status: ServerStatus) -> Self {
        self.status = Some(status);
        self
    }
}

/// The result of `mgp/discovery/list` (§15.2).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListedServers {
    /// The servers.
    pub servers: Vec<ListedServer>,
}

impl ListedServers {
    /// These servers.
    pub const fn new(servers: Vec<ListedServer>) -> Self {
        Self { servers }
    }
}

/// A server, as it is listed (§15.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListedServer {
    /// Which server.
    pub id: ServerId,
    /// What has become of it.
    pub status: ServerStatus,
    /// The version of MGP that it speaks; left out for a server of plain MCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mgp_version: Option<MgpVersion>,
    /// The extensions that it has, or is said to have.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// Its tools, by its own names.
    #[serde(default)]
    pub tools: Vec<String>,
    /// How far it is trusted.
    pub trust_level: TrustLevel,
}

impl ListedServer {
    /// A server of which nothing more is known.
    pub const fn new(id: ServerId, status: ServerStatus, trust_level: TrustLevel) -> Self {
        Self { id, status, mgp_version: None, extensions: Vec::new(), tools: Vec::new(), trust_level }
    }
}

/// The parameters of `mgp/discovery/register` (§15.4).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RegisterServer {
    /// What the server is to be called.
    pub id: ServerId,
    /// The program to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What the program is given.
    #[serde(default)]
    pub args: Vec<String>,
    /// How to talk to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// What it says of itself.
    #[serde(default)]
    pub mgp: RegisterMgp,
    /// Variables of the environment that it asks for. Not in the specification.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Where it is reached over HTTP, in place of a program. Not in the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Who made it, in the words of whoever registers it. It proves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<String>,
}

impl RegisterServer {
    /// A server that is started with `command`.
    pub fn new(id: ServerId, command: impl Into<String>, args: Vec<String>) -> Self {
        Self {
            id,
            command: Some(command.into()),
            args,
            transport: None,
            mgp: RegisterMgp::default(),
            env: BTreeMap::new(),
            url: None,
            created_by: None,
            justification: None,
        }
    }

    /// With what it says of itself.
    #[must_use]
    pub fn with_mgp(mut self, mgp: RegisterMgp) -> Self {
        self.mgp = mgp;
        self
    }
}

impl fmt::Debug for RegisterServer {
    /// Shows neither arguments nor values of variables, nor the address: they may hold secrets and reach logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisterServer")
            .field("id", &self.id)
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("mgp", &self.mgp)
            .field("env", &self.env.keys())
            .field("created_by", &self.created_by)
            .finish_non_exhaustive()
    }
}

/// What a server that is registered says of itself (§15.4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RegisterMgp {
    /// The extensions that it has.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// What it needs to be permitted.
    #[serde(default)]
    pub permissions_required: Vec<Permission>,
    /// How far it is to be trusted; sandboxed if left out.
    #[serde(default)]
    pub trust_level: TrustLevel,
}

impl RegisterMgp {
    /// A server that is trusted so far and needs these permissions.
    pub const fn new(trust_level: TrustLevel, permissions_required: Vec<Permission>) -> Self {
        Self { extensions: Vec::new(), permissions_required, trust_level }
    }
}

/// The result of `mgp/discovery/register`, which the specification leaves open (§15.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RegisteredServer {
    /// Which server.
    pub id: ServerId,
    /// What has become of it.
    pub status: ServerStatus,
    /// What comes next, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl RegisteredServer {
    /// `id` is in this state.
    pub const fn new(id: ServerId, status: ServerStatus) -> Self {
        Self { id, status, message: None }
    }

    /// With what comes next, in words.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}

/// The parameters of `mgp/discovery/deregister` (§15.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeregisterServer {
    /// Which server.
    pub id: ServerId,
    /// Why, as in `no_longer_needed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl DeregisterServer {
    /// Removes `id`.
    pub const fn new(id: ServerId) -> Self {
        Self { id, reason: None }
    }

    /// With the reason.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// The result of `mgp/discovery/deregister`, which the specification leaves open (§15.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeregisteredServer {
    /// Which server.
    pub id: ServerId,
    /// What has become of it.
    pub status: ServerStatus,
    /// What else there is to say, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl DeregisteredServer {
    /// `id` is known no longer.
    pub const fn new(id: ServerId) -> Self {
        Self { id, status: ServerStatus::Deregistered, message: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-15.2-17..19
    #[test]
    fn a_filter_has_the_members_of_the_specification() {
        let json = concat!(
            r#"{"filter":{"extensions":["streaming"],"permissions":["network.outbound"],"#,
            r#""status":"connected"}}"#
        );
        let list: ListServers = serde_json::from_str(json).unwrap();
        assert_eq!(list.filter.extensions, ["streaming"]);
        assert_eq!(list.filter.permissions, [Permission::NetworkOutbound]);
        assert_eq!(list.filter.status, Some(ServerStatus::Connected));
        assert_eq!(serde_json::to_string(&list).unwrap(), json);
        assert_eq!(serde_json::from_str::<ListServers>("{}").unwrap(), ListServers::default());
        assert!(serde_json::from_str::<ListServers>(r#"{"filter":{"status":"all"}}"#).is_err());
    }

    // covers: MGP-15.2-20..26
    #[test]
    fn a_listed_server_has_the_members_of_the_specification() {
        let json = concat!(
            r#"{"servers":[{"id":"mind.cerebras","status":"connected","mgp_version":"0.1.0","#,
            r#""extensions":["security","lifecycle","streaming"],"tools":["think","analyze"],"#,
            r#""trust_level":"standard"}]}"#
        );
        let listed: ListedServers = serde_json::from_str(json).unwrap();
        assert_eq!(listed.servers[0].tools, ["think", "analyze"]);
        assert_eq!(serde_json::to_string(&listed).unwrap(), json);
    }

    // covers: MGP-15.4-02..10
    #[test]
    fn a_registration_has_the_members_of_the_specification() {
        let json = concat!(
            r#"{"id":"dynamic.custom_tool","command":"python","args":["scripts/mcp_custom.py"],"#,
            r#""transport":"stdio","mgp":{"extensions":["security"],"permissions_required":["network.outbound"],"#,
            r#""trust_level":"sandboxed"},"created_by":"agent.cloto_default","#,
            r#""justification":"Agent needs custom data processing tool"}"#
        );
        let register: RegisterServer = serde_json::from_str(json).unwrap();
        assert_eq!(register.mgp.trust_level, TrustLevel::Sandboxed);
        assert_eq!(serde_json::to_string(&register).unwrap(), json);
        let bare: RegisterServer = serde_json::from_str(r#"{"id":"a","command":"b"}"#).unwrap();
        assert_eq!(bare.mgp.trust_level, TrustLevel::Sandboxed);
    }

    // covers: MGP-15.5-02..03
    #[test]
    fn a_deregistration_and_the_answers_have_their_members() {
        let json = r#"{"id":"dynamic.custom_tool","reason":"no_longer_needed"}"#;
        let deregister: DeregisterServer = serde_json::from_str(json).unwrap();
        assert_eq!(
            deregister,
            DeregisterServer::new("dynamic.custom_tool".into()).with_reason("no_longer_needed")
        );
        assert_eq!(serde_json::to_string(&deregister).unwrap(), json);
        let gone = serde_json::to_string(&DeregisteredServer::new("a".into())).unwrap();
        assert_eq!(gone, r#"{"id":"a","status":"deregistered"}"#);
        let waits = RegisteredServer::new("a".into(), ServerStatus::PendingApproval).with_message("wait");
        let json = r#"{"id":"a","status":"pending_approval","message":"wait"}"#;
        assert_eq!(serde_json::to_string(&waits).unwrap(), json);
    }

    #[test]
    fn every_state_of_a_server_is_a_status_of_the_same_name() {
        for state in ServerState::ALL {
            assert_eq!(ServerStatus::from(*state).as_str(), state.as_str());
        }
    }

    #[test]
    fn arguments_and_values_do_not_reach_logs() {
        let mut register = RegisterServer::new("a".into(), "run", vec!["--token=s3cret".into()]);
        register.env.insert("KEY".into(), "s3cret".into());
        register.url = Some("https://u:s3cret@x".into());
        let shown = format!("{register:?}");
        assert!(!shown.contains("s3cret") && shown.contains("KEY"), "{shown}");
    }
}
