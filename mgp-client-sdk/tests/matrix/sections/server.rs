//! The server of the tests of sections, and the state of its handlers.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mgp_server_sdk::types::mgp::EventSeverity;
use mgp_server_sdk::{Publisher, Server, ServerCore, ServerLifecycle};
use mgp_types::RpcService;
use tokio::sync::Notify;
use tower_layer::Layer;

use crate::sections::tools;

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

/// Returns a server with the tools of these tests and no section.
pub(crate) fn plain(state: Arc<State>) -> Server {
    tools::add(Server::new("sections", "2.0.0").state(state))
}

/// Returns the same server with all sections.
pub(crate) fn with_sections(
    state: Arc<State>,
) -> Server<impl Layer<ServerCore, Service: RpcService + Sync + Unpin>> {
    let (life, events) = (state.life.clone(), state.events.clone());
    life.check("database_connected", async || true);
    life.check("model_reachable", async || false);
    plain(state).lifecycle(&life).events(&events).callbacks().streaming()
}
