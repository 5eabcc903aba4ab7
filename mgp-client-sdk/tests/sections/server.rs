//! The servers under test: their kinds, their places and the state of their handlers.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mgp_server_sdk::types::mgp::EventSeverity;
use mgp_server_sdk::{Error, Publisher, Server, ServerCore, ServerLifecycle};
use mgp_types::RpcService;
use tokio::io::DuplexStream;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tower_layer::Layer;

use crate::tools;

/// The kinds of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A server with all sections.
    Mgp,
    /// A server with the same tools and none of the sections.
    Mcp,
}

/// The places where a server is reached.
pub(crate) enum Place {
    Stdio,
    Io(DuplexStream),
    #[cfg(unix)]
    Unix(PathBuf),
    Http(TcpListener),
}

/// The state that the handlers of one server share with a test in the same process.
pub(crate) struct State {
    pub(crate) events: Publisher,
    pub(crate) life: ServerLifecycle,
    /// A call that would never have ended was ended.
    pub(crate) stopped: Notify,
    /// A call that never ends by itself has begun.
    pub(crate) begun: Notify,
    /// A call that waits for the test to go on.
    pub(crate) go_on: Notify,
    /// The number of chunks of a stream without an end.
    pub(crate) poured: AtomicU64,
}

pub(crate) const CHANNELS: [&str; 5] =
    ["model.token_usage", "model.errors", "system.error", "security.denied", "tool.done"];
pub(crate) const SERVER_ID: &str = "tests.sections";

impl State {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            events: Publisher::new(CHANNELS).unwrap(),
            life: ServerLifecycle::new(SERVER_ID.into()),
            stopped: Notify::new(),
            begun: Notify::new(),
            go_on: Notify::new(),
            poured: AtomicU64::default(),
        })
    }

    /// Publishes `{"number":…}` on a channel.
    pub(crate) fn publish(&self, channel: &str, severity: EventSeverity, number: u64) {
        let data = mgp_types::Object::from_value(&serde_json::json!({ "number": number })).unwrap();
        self.events.publish(channel, severity, &data).unwrap();
    }
}

/// Serves on this process' standard input and output.
pub(crate) fn serve_stdio(kind: &str) -> ExitCode {
    let kind = Kind::named(kind);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(serve(kind, State::new(), Place::Stdio)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

pub(crate) async fn serve(kind: Kind, state: Arc<State>, place: Place) -> Result<(), Error> {
    let life = state.life.clone();
    let events = state.events.clone();
    let server = tools::add(Server::new("sections", "2.0.0").state(state));
    match kind {
        Kind::Mcp => at(server, place).await,
        Kind::Mgp => {
            life.check("database_connected", async || true);
            life.check("model_reachable", async || false);
            at(server.lifecycle(&life).events(&events).callbacks().streaming(), place).await
        }
    }
}

async fn at<L>(server: Server<L>, place: Place) -> Result<(), Error>
where
    L: Layer<ServerCore>,
    L::Service: RpcService + Sync + Unpin,
{
    match place {
        Place::Stdio => server.serve_stdio().await,
        Place::Io(stream) => {
            let (reader, writer) = tokio::io::split(stream);
            server.serve_io(reader, writer).await
        }
        #[cfg(unix)]
        Place::Unix(path) => server.serve_unix(path).await,
        Place::Http(listener) => server.serve_http(listener).await,
    }
}

impl Kind {
    fn named(name: &str) -> Self {
        [Self::Mgp, Self::Mcp].into_iter().find(|kind| kind.name() == name).unwrap()
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mgp => "mgp",
            Self::Mcp => "mcp",
        }
    }
}
