//! The servers and how they do.

use mgp_types::mgp::{ServerId, ServerState};
use serde::{Deserialize, Serialize};

use crate::parts::Parts;

/// All servers, by id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Servers {
    pub(crate) servers: Vec<ServerRow>,
}

/// A server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerRow {
    pub(crate) id: ServerId,
    pub(crate) state: ServerState,
    /// Whether the configuration lets it be used.
    pub(crate) enabled: bool,
    /// How many of its tools are in the catalog.
    pub(crate) tools: u64,
    /// How it is reached.
    pub(crate) transport: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

pub(super) fn list(parts: &Parts) -> Servers {
    let (config, snapshot) = (parts.config.load(), parts.catalog.snapshot());
    let tools = |id: &str| snapshot.tools().filter(|tool| tool.resolved.server.as_str() == id).count() as u64;
    let mut servers: Vec<_> = config
        .servers
        .iter()
        .map(|server| ServerRow {
            id: server.id.as_str().into(),
            state: parts.fleet.get(&server.id).map_or(ServerState::Registered, |running| running.state()),
            enabled: server.enabled,
            tools: tools(&server.id),
            transport: match (&server.command, &server.url, &server.socket) {
                (Some(_), ..) => "stdio",
                (_, Some(_), _) => "http",
                _ => "unix",
            }
            .to_owned(),
            description: server.description.clone(),
        })
        .collect();
    for running in parts.fleet.all() {
        let id = running.id();
        if !servers.iter().any(|server| server.id == *id) {
            servers.push(ServerRow {
                id: id.clone(),
                state: running.state(),
                enabled: true,
                tools: tools(id.as_str()),
                transport: "registered".to_owned(),
                description: None,
            });
        }
    }
    servers.sort_by(|one, other| one.id.cmp(&other.id));
    Servers { servers }
}
