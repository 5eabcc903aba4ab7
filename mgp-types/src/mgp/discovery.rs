//! The bodies of server discovery (§15): lists, registration and deregistration.

use std::collections::BTreeMap;

use super::{Permission, ServerId, ServerState, TrustLevel, Version};
use crate::macros::record;
use crate::macros::words::words;

words! {
    /// The status of a server in answers to `mgp/discovery` (§15): a state of its life (§11.2), or a status before or
    /// after it.
    ServerStatus {
        /// The server waits for an operator's approval, and is not started before.
        PendingApproval = "pending_approval",
        /// The server is known and was not started.
        Registered = "registered",
        /// The transport comes up, the handshake runs.
        Connecting = "connecting",
        /// The server takes calls.
        Connected = "connected",
        /// The server finishes its calls and takes no new ones.
        Draining = "draining",
        /// The transport is closed.
        Disconnected = "disconnected",
        /// The connection failed or broke.
        Error = "error",
        /// The server is stopped and started again.
        Restarting = "restarting",
        /// The server is no longer known.
        Deregistered = "deregistered",
    }
}

// Each state is a status of the same name.
crate::convert!(ServerState => ServerStatus, state => Self::read(state.as_str()).unwrap_or(Self::Error));

record! {
    /// The parameters of `mgp/discovery/list` (§15.2).
    pub struct ListServers: Default, Eq {
        /// The filter of the list; without it the list has all servers.
        #[serde(default)]
        required filter: ServerFilter;
    }

    /// The filter of a list of servers (§15.2). A server passes if every member holds.
    pub struct ServerFilter: Default, Eq {
        /// The extensions that the server must all have.
        list extensions: String;
        /// The permissions that the server must all need.
        list permissions: Permission;
        /// The status that the server must have.
        optional status: ServerStatus => with_status;
    }

    /// The result of `mgp/discovery/list` (§15.2).
    pub struct ListedServers: Default, Eq {
        /// The servers.
        required servers: Vec<ListedServer>;
    }

    /// A server in the list (§15.2).
    pub struct ListedServer: Eq {
        /// The id of the server.
        required id: ServerId;
        /// The status of the server.
        required status: ServerStatus;
        /// The version of MGP that the server speaks; left out for a server of plain MCP.
        optional mgp_version: Version;
        /// The extensions that the server has, or is declared to have.
        default extensions: Vec<String>;
        /// The tools of the server, by its own names.
        default tools: Vec<String>;
        /// The trust in the server.
        required trust_level: TrustLevel;
    }

    /// The parameters of `mgp/discovery/register` (§15.4).
    pub struct RegisterServer shows by_hand: Eq {
        /// The id that the server is to have.
        plain id: ServerId;
        /// The program to start.
        optional command: String;
        /// The arguments of the program.
        default args: Vec<String>;
        /// The transport to the server.
        optional transport: String;
        /// The declaration of the server about itself.
        default mgp: RegisterMgp;
        /// The environment variables that the server asks for. The specification does not have this member.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        default env: BTreeMap<String, String>;
        /// The URL of a server that is reached over HTTP, in place of a program. The specification does not have this
        /// member.
        optional url: String;
        /// The maker of the server, in the words of the registrar. The text proves nothing.
        optional created_by: String;
        /// The purpose of the server.
        optional justification: String;
    }

    /// The declaration of a registered server about itself (§15.4).
    pub struct RegisterMgp: Default, Eq {
        /// The extensions that the server has.
        default extensions: Vec<String>;
        /// The permissions that the server needs.
        default permissions_required: Vec<Permission>;
        /// The trust that the server asks for; sandboxed if left out.
        default trust_level: TrustLevel;
    }

    /// The result of `mgp/discovery/register`; the specification leaves its form open (§15.4).
    pub struct RegisteredServer: Eq {
        /// The id of the server.
        required id: ServerId;
        /// The status of the server.
        required status: ServerStatus;
        /// The next step, in words.
        optional message: String => into with_message;
    }

    /// The parameters of `mgp/discovery/deregister` (§15.5).
    pub struct DeregisterServer: Eq {
        /// The id of the server.
        required id: ServerId;
        /// The reason, as in `no_longer_needed`.
        optional reason: String => into with_reason;
    }

    /// The result of `mgp/discovery/deregister`; the specification leaves its form open (§15.5).
    pub struct DeregisteredServer: Eq {
        /// The id of the server.
        required id: ServerId;
        /// The status of the server.
        plain status: ServerStatus = ServerStatus::Deregistered;
        /// Further remarks, in words.
        optional message: String;
    }
}

// The arguments, the values of variables and the URL may hold secrets, and the text may reach logs.
crate::partial_debug!(RegisterServer, self =>
    id: self.id,
    command: self.command,
    args: self.args.len(),
    mgp: self.mgp,
    env: self.env.keys(),
    created_by: self.created_by,
);

impl RegisterServer {
    /// Creates the registration of a server that is started with `command`.
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

    crate::setters! { #[must_use] self =>
        /// Sets the declaration of the server about itself.
        pub fn with_mgp(mgp: RegisterMgp) => self.mgp = mgp;
    }
}

impl RegisterMgp {
    /// Creates the declaration of a server with this trust and these permissions.
    pub const fn new(trust_level: TrustLevel, permissions_required: Vec<Permission>) -> Self {
        Self { extensions: Vec::new(), permissions_required, trust_level }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
