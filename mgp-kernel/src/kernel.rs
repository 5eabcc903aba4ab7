use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::registry::Registry;
use mgp_security::auth::AuthLayer;
use mgp_toolindex::discovery::ToolDiscoveryGate;
use mgp_transport::Accept;
use mgp_transport::era::{ServerEra, ServerIdentity};
use mgp_types::mcp::Implementation;
use mgp_types::mgp::{ExtensionSet, NameStyle, Offer, ServerId, ShutdownReason};
use mgp_types::{Error, Outbox, Principal};
use tokio::task::JoinSet;

use crate::changes::tell_endings;
use crate::erased::Erased;
use crate::marked::{Mark, Marked};
use crate::parts::Parts;
use crate::registration::{self, Creator};
use crate::resolve::awaits_first_tools;
use crate::router::CatalogEyes;
use crate::rules::Rules;
use crate::stack::Front;
use crate::targets::warn_of_unmatched;
use crate::{Applied, ServerView, StartError, record, settings, telemetry, upstream};

/// One server between any client and any number of servers. Cheap to clone.
#[derive(Clone)]
pub struct Kernel(Arc<Inner>);

struct Inner {
    parts: Arc<Parts>,
    front: Front,
    identity: Arc<ServerIdentity>,
    /// What goes on beside all calls.
    _beside: JoinSet<()>,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").finish_non_exhaustive()
    }
}

impl Drop for Inner {
    /// Servers, and what tells clients of tools, know the kernel's parts: they have to be let go of for either to end.
    fn drop(&mut self) {
        self.parts.fleet.abandon();
        self.parts.changes.abandon();
    }
}

impl Kernel {
    /// Opens what the kernel keeps in `state` and answers from then on. Servers connect behind it, each on its own.
    ///
    /// # Errors
    /// The configuration asks for something that there is not, or what is kept cannot be opened. Nothing is started then.
    pub async fn start(config: Config, state: PathBuf) -> Result<Self, StartError> {
        Self::start_from(config, state, Vec::new()).await
    }

    /// As [`start`](Self::start), with a configuration from `files`, which no server may touch from then on. Any socket of
    /// the kernel's that does not lie in `state` is one of them.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub async fn start_from(config: Config, state: PathBuf, files: Vec<PathBuf>) -> Result<Self, StartError> {
        let kernel = Self::open(config, state, files).await?;
        if let Some(registry) = kernel.0.parts.registry.get() {
            // What is not started says why, and stays registered.
            registry.resume().await;
        }
        warn_of_unmatched(kernel.parts());
        Ok(kernel)
    }

    /// As [`start`](Self::start), but for the servers that registered themselves: those stay as they are.
    pub(crate) async fn open(
        config: Config,
        state: PathBuf,
        files: Vec<PathBuf>,
    ) -> Result<Self, StartError> {
        telemetry::check(&config.telemetry)?;
        let name = config.kernel.name.clone().unwrap_or_else(|| "mgp".into());
        let parts = Parts::open(config, state, files).await?;
        // Nobody is let in before they hold.
        Rules::of(&parts, &parts.config.load())?.hold(&parts).await?;
        let registry = registration::open(&parts)?;
        let registry = parts.registry.get_or_init(|| registry).clone();
        let tools = tool_discovery(&parts, &registry)?;
        parts.changes.also_tell(tools.clone());
        let identity = ServerIdentity::new(Implementation::new(name, env!("CARGO_PKG_VERSION")))
            .with_mgp(Offer::new(ExtensionSet::standard()));
        let front = Front::new(&parts, tools, registry);
        let mut beside = JoinSet::new();
        beside.spawn(tell_endings(Arc::clone(&parts.changes), parts.access.clone()));
        beside.spawn(parts.seen_ends.clone().keep(parts.audit.heads()));
        beside.spawn(record::forget(&parts.config.load(), parts.audit.clone()));
        let kernel = Self(Arc::new(Inner { parts, front, identity: Arc::new(identity), _beside: beside }));
        let parts = &kernel.0.parts;
        upstream::clear_scratch(&parts.state).await;
        registration::remove_copies(&parts.state).await;
        let servers = parts.fleet.prepare(parts, &parts.config.load().servers, false)?;
        upstream::list_last_tools(parts).await;
        parts.fleet.install(parts, servers);
        if let Some(registry) = parts.registry.get() {
            registration::remove_left_over(&parts.state, registry).await;
        }
        // A life that begins can always go on to these.
        let begun = parts.life.starting().and_then(|()| parts.life.ready());
        debug_assert!(begun.is_ok(), "{begun:?}");
        Ok(kernel)
    }

    /// Takes a new configuration. Servers about which it says nothing new are left alone; all of them are connected to
    /// anew if what is asked of every server has changed. Waits for none. The rules of access hold before a server that is
    /// new is there.
    ///
    /// What clients are given of the tools, where they connect, what is recorded and where the kernel keeps its state stay as
    /// they were at the start; [`Applied::needs_restart`] names the sections that say something else.
    ///
    /// # Errors
    /// The configuration asks for something that there is not; then everything stays as it was. Or its rules of access
    /// could not be recorded or stored; then some of them may hold, and what is denied by default.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing: the configuration is taken as a whole, or not at all, in either case.
    pub async fn reload(&self, config: Config) -> Result<Applied, StartError> {
        self.0.parts.reconfigure(config).await
    }

    /// Stops a server, if it runs, and starts it again, however often that was done before.
    ///
    /// # Errors
    /// There is no such server, or it cannot be connected to.
    pub async fn restart(&self, server: &str) -> Result<(), Error> {
        let fleet = &self.0.parts.fleet;
        let Some(upstream) = fleet.get(server) else {
            let near: Vec<_> = fleet.near(server).iter().map(|id| format!("; is it `{id}`?")).collect();
            return Err(Error::invalid_params(format!("there is no server `{server}`{}", near.concat())));
        };
        upstream.restart(ShutdownReason::OperatorRequest).await
    }

    /// How the servers do.
    pub fn servers(&self) -> Vec<ServerView> {
        self.0.parts.fleet.views()
    }

    /// The last lines that a server wrote to its standard error, the oldest first.
    ///
    /// # Errors
    /// There is no such server; then the ids that are like it.
    pub fn server_log(&self, server: &str, lines: usize) -> Result<Vec<String>, Vec<ServerId>> {
        let fleet = &self.0.parts.fleet;
        fleet.get(server).map(|server| server.log(lines)).ok_or_else(|| fleet.near(server))
    }

    /// Takes no more calls, and stops all servers: each gets `timeout` to finish the calls it has, and leaves no process
    /// behind. Calls that wait for answers of clients which have to come back with them end at once.
    pub async fn shutdown(&self, reason: ShutdownReason, timeout: Duration) {
        self.stop_waiting();
        self.0.parts.life.shutdown(reason, timeout).await;
        self.0.parts.fleet.shut_down(reason, timeout).await;
        let parts = &self.0.parts;
        // What cannot be written now is told by the log.
        let _ = parts.audit.flush().await;
        let (ends, head) = (parts.seen_ends.clone(), parts.audit.head());
        let _ = tokio::task::spawn_blocking(move || ends.note(head)).await;
    }

    /// Ends what would wait for clients without an end, so that they can be let go of: what they listen to, and calls
    /// that need their answers.
    pub(crate) fn stop_waiting(&self) {
        self.0.parts.set_stopping();
        self.0.parts.changes.end();
        self.0.front.stop_asking();
    }

    /// What answers clients that are this principal, over any transport.
    pub fn accept(&self, principal: Principal) -> impl Accept<Service: Unpin> {
        self.accept_by(&AuthLayer::fixed(principal))
    }

    /// What answers clients that are this principal, and whose connections are marked so.
    pub(crate) fn accept_marked(
        &self,
        principal: Principal,
        mark: Mark,
    ) -> impl Accept<Service: Unpin> + use<> {
        let service = Marked::new(self.0.front.service(&AuthLayer::fixed(principal)), mark);
        let identity = Arc::clone(&self.0.identity);
        move |outbox: Outbox| -> ServerEra<Marked<Erased>> {
            ServerEra::new(service.clone(), Arc::clone(&identity), outbox)
        }
    }

    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.0.parts
    }

    pub(crate) fn accept_by(&self, auth: &AuthLayer) -> impl Accept<Service: Unpin> + use<> {
        let service = self.0.front.service(auth);
        let identity = Arc::clone(&self.0.identity);
        move |outbox: Outbox| -> ServerEra<Erased> {
            ServerEra::new(service.clone(), Arc::clone(&identity), outbox)
        }
    }
}

fn tool_discovery(parts: &Arc<Parts>, registry: &Registry) -> Result<ToolDiscoveryGate, StartError> {
    let config = parts.config.load();
    let of_names = Arc::downgrade(parts);
    let settings = settings::tool_discovery(&config)
        .eyes(Arc::new(CatalogEyes(Arc::downgrade(parts))))
        .names(move |context| {
            of_names.upgrade().map_or_else(|| NameStyle::of_peer(context), |parts| parts.names(context))
        });
    let of_starts = Arc::downgrade(parts);
    let settings = settings.awaiting_tools(move |context| {
        of_starts.upgrade().is_some_and(|parts| awaits_first_tools(&parts, context))
    });
    let settings = match &parts.learned {
        Some(learned) => settings.learning(Arc::clone(learned)),
        None => settings,
    };
    let settings = if config.tools.creating {
        settings.creation(Arc::new(Creator::new(parts, registry.clone())))
    } else {
        settings
    };
    let sessions = settings::tool_sessions(&config, &settings)?;
    Ok(ToolDiscoveryGate::new(parts.index.clone(), Arc::new(sessions), settings))
}
