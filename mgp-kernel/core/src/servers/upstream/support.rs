//! The sections of the kernel that connections to its servers are made with, the interface by which servers notify clients of
//! what belongs to no call, and the services between the connections and a server.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwapOption;
use mgp_client_sdk::{Client, StandingRequestsService};
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::registry::Registry;
use mgp_lifecycle::call::{ConcurrencyLimit, SharedBreaker};
use mgp_lifecycle::supervise::SupervisedService;
use mgp_security::definition::DefinitionGuardLayer;
use mgp_security::permission::PermissionGate;
use mgp_types::{AskedRule, BoxedService, Gated, Object, Principal, Request, Session, Severity};

use super::connection_key::ConnectionKey;
use super::forward::ForwardGate;
use super::stale_lists::ListKind;
use super::start_queue::StartQueue;
use crate::catalog::ToolCatalog;
use crate::data::DataBroker;
use crate::policies::Policies;
use crate::record::AuditTrail;
use crate::replicas::{ClusterLink, Peers};
use crate::servers::events::ServerEvents;
use crate::servers::fleet::FleetTables;
use crate::settings::running::RunningConfig;

/// The sections of the kernel that all connections to its servers use.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct ServerSupport {
    pub(crate) config: Arc<RunningConfig>,
    /// The link to other kernels; `None` for a kernel that runs alone.
    pub(crate) link: Option<Arc<ClusterLink>>,
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
    /// The queue in which the programs of servers wait for their start.
    pub(crate) starts: StartQueue,
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

    /// Returns the other kernels, where one of all runs the program of this server.
    pub(crate) fn peers(&self, server: &ServerConfig) -> Option<&Peers> {
        self.link.as_ref()?.peers.as_ref().filter(|_| server.runs_once())
    }

    /// Returns the folder in which the program of `server` behind a connection runs if its entry names none, and at which
    /// paths of its entry begin.
    pub(crate) fn folder(&self, server: &ServerConfig, connection: &ConnectionKey) -> PathBuf {
        let client = connection.client.as_ref().filter(|_| server.cwd.is_none());
        let clients = client.and_then(|client| self.tables.folder(client.session));
        clients.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| PathBuf::from("/"))
    }
}

/// The client of a server that is kept alive.
pub(crate) type ServerClient = Client<StandingRequestsService<BoxedService>>;

/// The incarnation of a server that was connected last.
pub(crate) type CurrentClient = Arc<ArcSwapOption<ServerClient>>;

/// The connected incarnation of a server, without the stack in front.
pub(crate) type UpstreamTransport = Gated<ForwardGate, SupervisedService<ServerClient>>;

/// A function that asks the rules about a call that is not made.
type RuleExplainer = dyn Fn(&mut Request) -> Vec<AskedRule> + Send + Sync;

/// The layers in front of one server, made once for all its incarnations. Clones share their state.
#[derive(Clone)]
pub(crate) struct ServerStack<S = BoxedService> {
    pub(crate) service: S,
    /// Returns what the rules about its calls answer to one that is not made, in their order.
    pub(crate) explain: Arc<RuleExplainer>,
    /// The gate of permissions, which negotiates with each incarnation.
    pub(crate) permissions: PermissionGate,
    /// The guard of definitions, which is notified when they change.
    pub(crate) definitions: DefinitionGuardLayer,
    /// The breaker, which lets calls try each incarnation.
    pub(crate) breaker: SharedBreaker,
}

/// A receiver of the servers' notifications beside their calls, for the clients of the kernel. No method may wait: a
/// client that reads slowly must not hold up a server.
pub(crate) trait ServerNotifications: Send + Sync {
    /// Notes that a server is connected, for the first time if this connection to it `is_new`.
    fn connected(self: Arc<Self>, connection: &ConnectionKey, is_new: bool);

    /// Returns the level of logging to ask a server of these capabilities for, on a connection that was just made; `None`
    /// if there is no need to ask.
    fn log_level(&self, connection: &ConnectionKey, capabilities: &Object) -> Option<Severity>;

    /// Notes that a connection has ended for good.
    fn ended(&self, connection: &ConnectionKey);

    /// Passes the status of a task to the sessions of its owner.
    fn task(&self, from: &ConnectionKey, owner: &Principal, status: &Request);

    /// Passes a notification to this session alone.
    fn one(&self, session: &Arc<Session>, message: Request);

    /// Passes a log message that belongs to no call to the sessions that want messages of its level.
    fn log(&self, from: &ConnectionKey, message: &Request);

    /// Notifies the clients that reach the connection of a change of one of its lists.
    fn changed(&self, connection: &ConnectionKey, what: ListKind);

    /// Notifies the clients of a changed resource.
    fn updated(&self, from: &ConnectionKey, uri: &str);

    /// Returns whether a client wants to know of a resource or a task on this connection.
    fn watches_on(&self, connection: &ConnectionKey) -> bool;

    /// Drops the subscriptions of sessions that are gone.
    fn forget_gone(&self);

    /// Returns the session of the only client that a message can be meant for. A client that has not begun yet counts as
    /// well, although it cannot be asked.
    fn only_client(&self, from: &ConnectionKey) -> Option<Arc<Session>>;
}
