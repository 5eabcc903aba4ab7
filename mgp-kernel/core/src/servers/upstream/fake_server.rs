//! Servers that live within a test.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_discovery::config::model::{ServerConfig, Sharing};
use mgp_types::{BoxedService, Gate as _, Object};
use tokio::task::JoinSet;

use super::connection_shared::{ConnectionShared, ServerDescription};
use super::connections::OwnConnection;
use super::forward::ForwardGate;
use super::server_connection::ServerConnection;
use super::{FirstStart, ServerSupport, Upstream};

/// A server that lives within the test.
pub(crate) struct FakeServer {
    /// Agrees with the kernel on a session.
    pub(crate) handshake: BoxedService,
    /// Answers the calls.
    pub(crate) service: BoxedService,
    pub(crate) capabilities: Object,
    pub(crate) instructions: Option<Arc<str>>,
    /// The start of the server, which the test ends; `None` if it is over.
    pub(crate) start: Option<FirstStart>,
}

impl Upstream {
    /// Returns the server `id`, connected, with nothing but the account of its calls in front of it.
    pub(crate) async fn fake(support: &Arc<ServerSupport>, id: &str, fake: FakeServer) -> Arc<Self> {
        let loaded = support.config.load();
        let mut config = ServerConfig::default();
        config.id = id.into();
        // The configuration of a test says what is different.
        let mut config = loaded.servers.iter().find(|server| server.id == id).cloned().unwrap_or(config);
        config.sharing.get_or_insert(Sharing::Shared);
        let upstream = Self::new(support, config).unwrap();

        let (key, of_server) = (id.into(), &upstream.of_server);
        let shared = ConnectionShared::new(
            support,
            &upstream.config,
            key,
            of_server,
            Arc::default(),
            Box::new(|| None),
        );
        let mut shared = shared.unwrap();
        let (capabilities, instructions) = (fake.capabilities, fake.instructions);
        *shared.state.about.lock() = ServerDescription { capabilities, instructions, description: None };
        match fake.start {
            Some(start) => shared.start = start,
            None => shared.start.end(),
        }

        let supervisor = Client::supervise(id, move || {
            let handshake = fake.handshake.clone();
            async { Ok(Client::builder("kernel", "1").mgp(None).connect(handshake).await?.boxed()) }
        });
        let supervised = supervisor.spawn();
        supervised.start();
        let client = supervised.ready(Duration::from_mins(1)).await.unwrap();
        shared.state.current.store(Some(Arc::new(client)));

        let gate = ForwardGate {
            server: shared.server.clone(),
            calls: shared.state.calls.clone(),
            tasks_at: Arc::clone(&shared.tasks_at),
            tables: Arc::clone(&support.tables),
        };
        let transport = gate.layer(supervised.gate());
        let service = BoxedService::new(gate.layer(fake.service));
        let shared = Arc::new(shared);
        let connection = ServerConnection { shared, supervised, service, transport, _tasks: JoinSet::new() };
        upstream.connections.lock().first = Some(OwnConnection::new(connection));
        upstream
    }
}
