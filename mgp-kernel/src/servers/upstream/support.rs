//! The sections of the kernel that connections to its servers are made with, and the services between them and a server.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwapOption;
use mgp_client_sdk::{Client, StandingRequestsService};
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::registry::Registry;
use mgp_lifecycle::call::ConcurrencyLimit;
use mgp_lifecycle::supervise::SupervisedService;
use mgp_security::definition::DefinitionGuardLayer;
use mgp_security::permission::PermissionGate;
use mgp_types::{AskedRule, Gated, Request};

use super::connection_key::ConnectionKey;
use super::forward::ForwardGate;
use super::server_notifications::ServerNotifications;
use crate::catalog::ToolCatalog;
use crate::data::DataBroker;
use crate::policies::Policies;
use crate::record::AuditTrail;
use crate::running::RunningConfig;
use crate::servers::events::ServerEvents;
use crate::servers::fleet::FleetTables;
use mgp_types::BoxedService;

/// The sections of the kernel that all connections to its servers use.
pub(crate) struct ServerSupport {
    pub(crate) config: Arc<RunningConfig>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) audit: Arc<AuditTrail>,
    pub(crate) data: Arc<DataBroker>,
    pub(crate) tools: ToolCatalog,
    pub(crate) events: ServerEvents,
    /// The clients that are notified of what servers send beside calls. They know the servers, so the reference back is weak.
    pub(crate) changes: Weak<dyn ServerNotifications>,
    pub(crate) tables: Arc<FleetTables>,
    /// The limit on the calls that all servers work on at once.
    pub(crate) concurrency: ConcurrencyLimit,
    /// The servers that registered themselves. Set once, before the first server starts.
    pub(crate) registry: Arc<OnceLock<Registry>>,
}

impl ServerSupport {
    /// Tells the clients of something, unless the kernel stops.
    pub(crate) fn tell(&self, tell: impl FnOnce(Arc<dyn ServerNotifications>)) {
        if let Some(changes) = self.changes.upgrade() {
            tell(changes);
        }
    }

    /// Returns the folder in which the program of `server` behind a connection runs if its entry names none, and at which
    /// paths of its entry begin.
    pub(crate) fn folder(&self, server: &ServerConfig, line: &ConnectionKey) -> PathBuf {
        let client = line.client.as_ref().filter(|_| server.cwd.is_none());
        let clients = client.and_then(|client| self.tables.folder(client.session));
        clients.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| PathBuf::from("/"))
    }
}

/// The client of a server that is kept alive.
pub(crate) type ServerClient = Client<StandingRequestsService<BoxedService>>;

/// The incarnation of a server that was connected last.
pub(crate) type CurrentClient = Arc<ArcSwapOption<ServerClient>>;

/// The way to the incarnation of a server that is connected, without any gate of the stack in front.
pub(crate) type BareWay = Gated<ForwardGate, SupervisedService<ServerClient>>;

/// A function that asks the rules about a call that is not made.
type ExplainCall = dyn Fn(&mut Request) -> Vec<AskedRule> + Send + Sync;

/// The layers in front of one server, made once for all its incarnations. Clones share their state.
#[derive(Clone)]
pub(crate) struct ServerStack<S = BoxedService> {
    pub(crate) service: S,
    /// Returns what the rules about its calls answer to one that is not made, in their order.
    pub(crate) explain: Arc<ExplainCall>,
    /// The gate of permissions, which negotiates with each incarnation.
    pub(crate) permissions: PermissionGate,
    /// The guard of definitions, which is notified when they change.
    pub(crate) definitions: DefinitionGuardLayer,
}
