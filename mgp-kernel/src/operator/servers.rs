//! The servers and how they do; starting, stopping, and what they wrote.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{AuditTarget, ServerId, ServerState, ShutdownReason};
use mgp_types::{Error, code};
use serde::{Deserialize, Serialize};

use super::layer::Asked;
use crate::parts::Parts;
use crate::upstream::Upstream;

/// All servers, by id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Servers {
    pub(crate) servers: Vec<ServerRow>,
}

/// A server; or a connection of it, where agents have their own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerRow {
    pub(crate) id: ServerId,
    /// Whose connection it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent_id: Option<String>,
    pub(crate) state: ServerState,
    /// Whether the configuration lets it be used.
    pub(crate) enabled: bool,
    /// How many of its tools are offered.
    pub(crate) tools: u64,
    /// How it is reached.
    pub(crate) transport: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// The version of MGP that was agreed on; nothing for a plain MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mgp: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_error: Option<String>,
    #[serde(default)]
    pub(crate) restarts: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uptime_secs: Option<u64>,
}

/// Names a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedServer {
    pub(crate) server_id: ServerId,
}

/// How the server is after it was started or stopped.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerMoved {
    pub(crate) state: ServerState,
}

/// Asks for the last lines that a server wrote to its standard error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LogLines {
    pub(crate) server_id: ServerId,
    pub(crate) lines: u32,
}

/// The lines, the oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerLog {
    pub(crate) lines: Vec<String>,
}

pub(super) fn list(parts: &Parts) -> Servers {
    let config = parts.config.load();
    let of = |id: &ServerId| config.servers.iter().find(|server| server.id == id.as_str());
    let running = parts.fleet.views().into_iter().map(|view| {
        let configured = of(&view.id);
        ServerRow {
            agent_id: view.agent,
            state: view.state,
            enabled: true,
            tools: view.tools as u64,
            transport: configured.map_or("registered", way).to_owned(),
            description: configured.and_then(|server| server.description.clone()),
            mgp: view.mgp.map(|mgp| mgp.version),
            last_error: view.last_error,
            restarts: view.restarts,
            pid: view.pid,
            uptime_secs: view.uptime.map(|uptime| uptime.as_secs()),
            id: view.id,
        }
    });
    let mut servers: Vec<_> = running.collect();
    // Those that do not run are shown as well, so that nobody looks for them.
    for server in &config.servers {
        if !servers.iter().any(|running| running.id.as_str() == server.id) {
            servers.push(ServerRow {
                id: server.id.as_str().into(),
                agent_id: None,
                state: ServerState::Registered,
                enabled: server.enabled,
                tools: 0,
                transport: way(server).to_owned(),
                description: server.description.clone(),
                mgp: None,
                last_error: None,
                restarts: 0,
                pid: None,
                uptime_secs: None,
            });
        }
    }
    servers.sort_by(|one, other| (&one.id, &one.agent_id).cmp(&(&other.id, &other.agent_id)));
    Servers { servers }
}

pub(super) async fn restart(asked: &Asked, named: NamedServer) -> Result<ServerMoved, Error> {
    let server = recorded(asked, &named, "dev.cloto.mgp.server_restarted").await?;
    server.restart(ShutdownReason::OperatorRequest).await?;
    Ok(ServerMoved { state: server.state() })
}

pub(super) async fn start(asked: &Asked, named: NamedServer) -> Result<ServerMoved, Error> {
    let server = recorded(asked, &named, "dev.cloto.mgp.server_started").await?;
    server.start();
    Ok(ServerMoved { state: server.state() })
}

pub(super) async fn stop(asked: &Asked, named: NamedServer) -> Result<ServerMoved, Error> {
    let server = recorded(asked, &named, "dev.cloto.mgp.server_stopped").await?;
    server.stop(ShutdownReason::OperatorRequest, DRAIN).await;
    Ok(ServerMoved { state: server.state() })
}

pub(super) fn logs(parts: &Parts, asked: &LogLines) -> Result<ServerLog, Error> {
    let server = known(parts, &asked.server_id)?;
    Ok(ServerLog { lines: server.log(asked.lines.min(MOST_LINES) as usize) })
}

/// The server, after it was recorded what is about to be done with it.
async fn recorded(asked: &Asked, named: &NamedServer, what: &str) -> Result<Arc<Upstream>, Error> {
    let server = known(&asked.parts, &named.server_id)?;
    let target = AuditTarget::new(Some(named.server_id.clone()), None);
    asked.record(what, target, ("state", server.state().as_str())).await?;
    Ok(server)
}

fn known(parts: &Parts, id: &ServerId) -> Result<Arc<Upstream>, Error> {
    parts.fleet.get(id.as_str()).ok_or_else(|| {
        let near: Vec<_> = parts.fleet.near(id.as_str()).iter().map(ToString::to_string).collect();
        let message = if near.is_empty() {
            format!("there is no server `{id}`; `mgp servers` shows those there are")
        } else {
            format!("there is no server `{id}`; did you mean {}?", near.join(", "))
        };
        Error::new(code::INVALID_PARAMS, message)
    })
}

fn way(server: &mgp_discovery::config::model::ServerConfig) -> &'static str {
    match (&server.command, &server.url) {
        (Some(_), _) => "stdio",
        (None, Some(_)) => "http",
        (None, None) => "unix",
    }
}

const DRAIN: Duration = Duration::from_secs(10);
const MOST_LINES: u32 = 1_000;
