//! The kernel: opens the sections and puts the stack in front of them together.

mod reload;
mod stack;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder, PlainStack};
use mgp_discovery::Config;
use mgp_security::auth::AuthLayer;
use mgp_security::path::usable_folder;
use mgp_toolindex::discovery::ToolDiscoveryGate;
use mgp_transport::era::{ServerEra, ServerEraGate, ServerIdentity};
use mgp_transport::{Accept, Wire};
use mgp_types::mcp::Implementation;
use mgp_types::mgp::{ExtensionSet, Offer, ServerId, ShutdownReason};
use mgp_types::{
    BoxedService, ClientFolders, ClientSession, Error, Gate as _, LOCAL_AGENT, Outbox, Principal,
    PrincipalKind,
};
use tokio::task::JoinSet;

use crate::changes::tell_endings;
use crate::front::connection_role::{ConnectedClient, ConnectionRole, ConnectionRoleService};
use crate::front::resolve::awaits_first_tools;
use crate::kernel::stack::ClientStack;
use crate::lifecycle::KernelEnd;
use crate::proof::OperatorConnection;
use crate::record::push;
use crate::registration::{self, ModelToolCreator};
use crate::sections::Sections;
use crate::sections::inventory::warn_of_unmatched;
use crate::sections::rules::AccessRules;
use crate::servers::events::publish_record;
use crate::servers::upstream;
use crate::visibility::CatalogVisibility;
use crate::{AppliedConfig, ServerView, StartError, record, settings};

/// A kernel: one server between any client and any number of servers. Cheap to clone.
#[derive(Clone)]
pub struct Kernel(Arc<KernelInner>);

struct KernelInner {
    sections: Sections,
    front: ClientStack,
    identity: Arc<ServerIdentity>,
    /// The tasks that run beside all calls.
    _beside: JoinSet<()>,
}

/// The moment at which the servers of a new kernel start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerStarts {
    /// Servers start with the kernel.
    AtOnce,
    /// All start with the first request of an agent's client, and each as soon as an operator needs it.
    WhenNeeded,
    /// The kernel is for a command that needs no server, and has none.
    Never,
}

mgp_types::partial_debug!(Kernel);

impl Drop for KernelInner {
    /// Ends servers at once, even where somebody still holds the sections that know them.
    fn drop(&mut self) {
        self.sections.fleet.abandon();
        self.sections.changes.abandon();
    }
}

impl Kernel {
    /// Opens what the kernel keeps in `state`, and answers from then on. Servers connect in the background, each on its
    /// own.
    ///
    /// # Errors
    /// Fails if the configuration asks for something that there is not, or if the state cannot be opened. Nothing is
    /// started then.
    pub async fn start(config: Config, state: PathBuf) -> Result<Self, StartError> {
        Self::begin(config, state, Vec::new(), ServerStarts::AtOnce).await
    }

    /// Starts a kernel like [`start`](Self::start), with a configuration from `files`, which no server may touch from
    /// then on, and with servers that start as `starts` says. Any socket of the kernel that does not lie in `state` is one
    /// of the files.
    pub async fn begin(
        config: Config,
        state: PathBuf,
        files: Vec<PathBuf>,
        starts: ServerStarts,
    ) -> Result<Self, StartError> {
        let kernel = Self::open(config, state, files, starts).await?;
        // A server that is not started logs the reason, and stays registered.
        kernel.0.sections.registry.resume().await;
        warn_of_unmatched(kernel.sections());
        Ok(kernel)
    }

    /// Starts a kernel like [`begin`](Self::begin), but leaves the servers that registered themselves as they are.
    pub async fn open(
        config: Config,
        state: PathBuf,
        files: Vec<PathBuf>,
        starts: ServerStarts,
    ) -> Result<Self, StartError> {
        let sections = Sections::open(config, state, files).await?;
        let Sections { config, policies, audit, changes, .. } = &sections;
        if let Some(link) = &sections.link {
            link.look().await;
            if let Err(error) = policies.follow_operators().await {
                tracing::error!(%error, "the operator passphrase of the other kernels is unknown here");
            }
        }
        // Nobody is let in before the rules hold.
        let rules = AccessRules::of(&config.load(), audit.clock.now())?;
        rules.hold(&policies.access, changes, &audit.clock).await?;
        let tools = tool_discovery(&sections)?;
        changes.set_tool_gate(tools.clone());
        let info = Implementation::new(settings::NAME, env!("CARGO_PKG_VERSION"));
        let mut identity = ServerIdentity::new(info);
        identity.mgp = Some(Offer::new(ExtensionSet::standard()));
        let front = ClientStack::new(&sections, tools);
        let mut beside = JoinSet::new();
        beside.spawn(tell_endings(Arc::clone(changes), policies.access.clone()));
        beside.spawn(publish_record(audit.log.clone(), sections.events.clone()));
        beside.spawn(audit.ends.clone().keep(audit.log.heads()));
        beside.spawn(audit.forwarded.keep());
        beside.spawn(record::forget(Arc::clone(config), Arc::clone(audit)));
        beside.spawn(push::push(Arc::clone(config), Arc::clone(audit)));
        beside.spawn(record::watch_disk(config.state().to_owned(), audit.log.clone()));
        if let Some(link) = &sections.link {
            let (audit, servers) = (Arc::clone(audit), Arc::clone(&sections.fleet));
            beside.spawn(Arc::clone(link).run(audit, Arc::clone(config), servers));
            beside.spawn(Arc::clone(policies).count_together(Arc::clone(link)));
        }
        let kernel =
            Self(Arc::new(KernelInner { sections, front, identity: Arc::new(identity), _beside: beside }));
        let Sections { config, policies, tools, fleet, lifecycle, registry, visibility, .. } =
            &kernel.0.sections;
        remove_left_over(&upstream::scratch(config.state())).await;
        remove_left_over(&upstream::copies(config.state())).await;
        let loaded = config.load_full();
        for home in upstream::unused_homes(&loaded, config.state()) {
            remove_left_over(&home).await;
        }
        let configured = if starts == ServerStarts::Never { &[][..] } else { &loaded.servers[..] };
        let servers = fleet.prepare(configured, false)?;
        if starts != ServerStarts::Never {
            upstream::list_last_tools(config, policies.definitions.pins(), tools).await;
        }
        match starts {
            ServerStarts::AtOnce => tools.index.settled().await,
            // Whoever searches waits for the index, and whoever calls a tool by its name need not.
            ServerStarts::WhenNeeded | ServerStarts::Never => fleet.hold(),
        }
        fleet.install(servers);
        registration::remove_left_over(config.state(), registry).await;
        let visibility = Arc::downgrade(visibility);
        lifecycle
            .life
            .tools(move || visibility.upgrade().map_or((0, 0), |visibility| visibility.tool_counts()));
        // A life that begins can always reach these states.
        let begun = lifecycle.life.starting().and_then(|()| lifecycle.life.ready());
        debug_assert!(begun.is_ok(), "{begun:?}");
        Ok(kernel)
    }

    /// Takes a new configuration. Servers about which it says nothing new are left alone; all of them are connected to
    /// anew if what is asked of every server has changed. Waits for no server. The rules of access hold before a new
    /// server is there.
    ///
    /// The form in which clients get tools, where they connect, what is recorded and where the kernel keeps its state
    /// stay as they were at the start; [`AppliedConfig::needs_restart`] names the sections that say something else.
    ///
    /// # Errors
    /// Fails if the configuration asks for something that there is not; then everything stays as it was. Fails as well
    /// if its rules of access could not be recorded or stored; then some of them may hold, and what is denied by
    /// default.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing: the configuration is taken as a whole, or not at all, in either case.
    pub async fn reload(&self, config: Config) -> Result<AppliedConfig, StartError> {
        self.0.sections.reconfigure(config).await
    }

    /// Stops a server, if it runs, and starts it again, however often that was done before.
    ///
    /// # Errors
    /// Fails if there is no such server, or it cannot be connected to.
    pub async fn restart(&self, server: &str) -> Result<(), Error> {
        let fleet = &self.0.sections.fleet;
        let Some(upstream) = fleet.get(server) else {
            let near: Vec<_> = fleet.near(server).iter().map(|id| format!("; is it `{id}`?")).collect();
            return Err(Error::invalid_params(format!("there is no server `{server}`{}", near.concat())));
        };
        upstream.restart(ShutdownReason::OperatorRequest).await
    }

    /// Returns a view of each server and its state.
    pub fn servers(&self) -> Vec<ServerView> {
        self.0.sections.fleet.views()
    }

    /// Returns the last lines that a server wrote to its standard error, the oldest first.
    ///
    /// # Errors
    /// Fails if there is no such server, with the ids that are like it.
    pub fn server_log(&self, server: &str, lines: usize) -> Result<Vec<String>, Vec<ServerId>> {
        let fleet = &self.0.sections.fleet;
        fleet.get(server).map(|server| server.log(lines)).ok_or_else(|| fleet.near(server))
    }

    /// Takes no more calls, and stops all servers: each gets `timeout` to finish the calls it has, and leaves no
    /// process behind. Calls that wait for answers that their clients have to come back with end at once.
    pub async fn shutdown(&self, reason: ShutdownReason, timeout: Duration) {
        self.stop_waiting();
        self.0.sections.lifecycle.life.shutdown(reason, timeout).await;
        self.0.sections.fleet.shut_down(reason, timeout).await;
        let audit = &self.0.sections.audit;
        // The log reports what cannot be written now.
        let _ = audit.log.end().await;
        let (audit, head) = (Arc::clone(audit), audit.log.head());
        let kept = move || {
            audit.ends.note(head);
            audit.forwarded.write();
        };
        let _ = tokio::task::spawn_blocking(kept).await;
        if let Some(link) = &self.0.sections.link {
            link.leave(&self.0.sections.audit).await;
        }
    }

    /// Ends what would wait for clients without an end, so that they can be let go of: requests that listen, and calls
    /// that need their answers.
    pub(crate) fn stop_waiting(&self) {
        self.0.sections.lifecycle.set_ending(KernelEnd::Stop);
        self.0.sections.changes.end();
        self.0.front.parking.close();
        self.0.front.waiting.close();
    }

    /// Returns the service factory for clients that are this principal, and work in the directory of this process.
    pub fn accept(&self, principal: Principal) -> impl Accept<Service: Unpin> {
        let fleet = Arc::clone(&self.sections().fleet);
        let folder = std::env::current_dir().ok().and_then(|own| usable_folder(&own));
        self.accept_as(&AuthLayer::fixed(principal), ConnectionRole::Nothing, move |_| ConnectedClient {
            session: Some(fleet.client_session()),
            folders: Arc::new(ClientFolders::of_process(folder.clone())),
        })
    }

    /// Connects an operator inside this process. All that holds for operators at the socket holds for the connection.
    ///
    /// # Errors
    /// The kernel takes no more connections.
    pub async fn operate_as(
        &self,
        by: Principal,
        connection: OperatorConnection,
        folder: Option<PathBuf>,
    ) -> Result<OperatorClient, Error> {
        let role = ConnectionRole::Operator(Arc::new(connection), Arc::clone(&self.sections().policies));
        let session = self.sections().fleet.client_session();
        operator_client().in_process(self.accept_marked(by, role, session, folder)).await
    }

    /// Returns the service factory for the one connection of `client`, which is this principal, with this role. It is a
    /// process of this machine that works in `folder`, if that is known.
    pub(crate) fn accept_marked(
        &self,
        principal: Principal,
        mark: ConnectionRole,
        client: Arc<ClientSession>,
        folder: Option<PathBuf>,
    ) -> impl Accept<Service: Unpin> + use<> {
        let folder = folder.and_then(|folder| usable_folder(&folder));
        if let Some(folder) = &folder {
            self.sections().fleet.set_folder(&client, folder);
        }
        let folders = ClientFolders::of_process(folder);
        let client = ConnectedClient { session: Some(client), folders: Arc::new(folders) };
        self.accept_as(&AuthLayer::fixed(principal), mark, move |_| client.clone())
    }

    /// Everything the kernel has opened; operations and the page work on it.
    pub fn sections(&self) -> &Sections {
        &self.0.sections
    }

    /// Returns the service factory for clients over a network, whom `auth` lets in.
    pub(crate) fn accept_remote(&self, auth: &AuthLayer) -> impl Accept<Service: Unpin> + use<> {
        let fleet = Arc::clone(&self.sections().fleet);
        self.accept_as(auth, ConnectionRole::Nothing, move |outbox| {
            // Requests that belong to no session have no way back to the client, and one service answers all of them.
            let session = outbox.is_open().then(|| fleet.client_session());
            let folders =
                if session.is_some() { ClientFolders::of_session() } else { ClientFolders::of_requests() };
            ConnectedClient { session, folders: Arc::new(folders) }
        })
    }

    fn accept_as<C>(
        &self,
        auth: &AuthLayer,
        mark: ConnectionRole,
        client: C,
    ) -> impl Accept<Service: Unpin> + use<C>
    where
        C: Fn(&Outbox) -> ConnectedClient + Clone + Send + Sync + 'static,
    {
        let service = self.0.front.service(auth);
        let of_user = || AuthLayer::fixed(Principal::of(PrincipalKind::LocalClient, LOCAL_AGENT));
        let as_client =
            matches!(mark, ConnectionRole::Operator(..)).then(|| self.0.front.service(&of_user()));
        let identity = Arc::clone(&self.0.identity);
        move |outbox: Outbox| -> ServerEra<ConnectionRoleService<BoxedService>> {
            let (inner, as_client, mark) = (service.clone(), as_client.clone(), mark.clone());
            let service = ConnectionRoleService { inner, as_client, mark, client: client(&outbox) };
            ServerEraGate::new(Arc::clone(&identity), outbox).layer(service)
        }
    }
}

/// The client with which operators ask a kernel.
pub type OperatorClient = Client<PlainStack<Wire>>;

/// Returns the builder of operators' clients.
pub fn operator_client() -> ClientBuilder {
    Client::builder("mgp", env!("CARGO_PKG_VERSION")).mgp(Offer::new(ExtensionSet::standard())).caching(false)
}

/// Removes a folder of what servers of the last kernel left behind.
async fn remove_left_over(folder: &Path) {
    if let Err(error) = tokio::fs::remove_dir_all(folder).await
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(folder = %folder.display(), %error, "files of the servers of the last kernel stay");
    }
}

pub(crate) fn tool_discovery(sections: &Sections) -> Result<ToolDiscoveryGate, StartError> {
    let Sections { config, visibility, tools, .. } = sections;
    let loaded = config.load();
    let (of_names, of_starts) = (Arc::clone(config), Arc::clone(visibility));
    let (audit, registry) = (Arc::clone(&sections.audit), sections.registry.clone());
    let creator = ModelToolCreator { config: Arc::clone(config), audit, registry };
    let settings = settings::tool_discovery(&loaded)
        .eyes(Arc::new(CatalogVisibility::new(Arc::clone(visibility))))
        .names(move |context| of_names.names(context))
        .awaiting_tools(move |context| awaits_first_tools(&of_starts, context))
        .creation(Arc::new(creator));
    let sessions = settings::tool_sessions(&loaded, &settings)?;
    Ok(ToolDiscoveryGate::new(tools.index.clone(), Arc::new(sessions), settings))
}
