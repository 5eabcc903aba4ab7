//! One server: how it is reached, what lies in front of it, what it says unasked.

mod agents;
mod approver;
mod audit;
mod back;
mod changed;
mod confined;
mod connect;
mod environment;
#[cfg(test)]
pub(crate) mod fake;
mod fallback_tool;
mod forward;
mod inbound;
mod instance;
mod last_tools;
mod line;
mod log;
mod of_server;
mod offered;
mod publish;
mod reports;
mod shared;
mod size;
mod start;
mod support;
mod task_progress;
mod told;
mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_discovery::catalog::Catalog;
use mgp_discovery::config::model::{ServerConfig, Sharing};
use mgp_security::definition::DefinitionKind;
use mgp_types::mgp::{ServerId, ServerState, ShutdownReason};
use mgp_types::{BoxFuture, Error, Object, Principal, Request, Response, Session, StreamId};
use tower_service::Service;

use self::agents::{Agents, ByAgent};
use self::back::Kept;
pub(crate) use self::back::{Back, BareWay, Current};
pub(crate) use self::confined::clear_scratch;
pub(crate) use self::environment::is_needed;
pub(crate) use self::fallback_tool::FallbackToolGate;
use self::instance::Instance;
pub(crate) use self::last_tools::list_last_tools;
pub(crate) use self::line::Line;
pub(crate) use self::of_server::OfServer;
pub(crate) use self::offered::Share;
pub(crate) use self::size::ResultSizeGate;
use self::start::Patient;
pub(crate) use self::start::{Start, WaitingCall};
pub(crate) use self::support::ServerSupport;
pub(crate) use self::told::{Told, What};
pub use self::view::{MgpView, ServerView};
use crate::StartError;
use crate::call::meter::Meter;

/// A server of the kernel's, connected or not. Dropping it ends all its connections at once.
pub(crate) struct Upstream {
    id: ServerId,
    config: Arc<ServerConfig>,
    catalog: Catalog,
    of_server: OfServer,
    /// Whether it has ended for good.
    is_over: AtomicBool,
    connections: Connections,
}

enum Connections {
    Shared(Instance),
    ByAgent(Arc<Agents>),
    /// One that lies within a test.
    #[cfg(test)]
    Fake(fake::Fake),
}

impl Upstream {
    /// A server that waits to be [started](Self::start).
    ///
    /// # Errors
    /// The configuration asks for something that there is not.
    pub(crate) fn new(support: &Arc<ServerSupport>, config: ServerConfig) -> Result<Self, StartError> {
        let config = Arc::new(config);
        let id = ServerId::from(config.id.as_str());
        let of_server = OfServer::default();
        let connections = if shares_connection(&config) {
            Connections::Shared(Instance::new(support, &config, Line::shared(id.clone()), &of_server, None)?)
        } else {
            Connections::ByAgent(Agents::new(support, &config, &of_server))
        };
        let catalog = support.tools.catalog.clone();
        Ok(Self { id, config, catalog, of_server, is_over: AtomicBool::new(false), connections })
    }

    /// Connects to it, and goes on doing so. One that agents have connections of their own to waits for them, and one that
    /// was [closed](Self::close) does not start.
    pub(crate) fn start(&self) {
        if self.is_over.load(Ordering::Acquire) {
            return;
        }
        match &self.connections {
            Connections::Shared(instance) => instance.supervised.start(),
            Connections::ByAgent(agents) => agents.open(),
            #[cfg(test)]
            Connections::Fake(_) => {}
        }
    }

    /// Stops it, until it is started again: calls in work have so long to end, then its processes do.
    pub(crate) async fn stop(&self, reason: ShutdownReason, timeout: Duration) {
        match &self.connections {
            Connections::Shared(instance) => instance.stop(reason, timeout).await,
            Connections::ByAgent(agents) => agents.stop(reason, timeout).await,
            #[cfg(test)]
            Connections::Fake(_) => {}
        }
    }

    /// Starts it no more; what is connected stays until its [end](Self::end).
    pub(crate) fn close(&self) {
        self.is_over.store(true, Ordering::Release);
        if let Connections::ByAgent(agents) = &self.connections {
            agents.close();
        }
    }

    /// Stops it for good.
    pub(crate) async fn end(&self, reason: ShutdownReason, timeout: Duration) {
        self.close();
        self.stop(reason, timeout).await;
    }

    /// Stops it, and starts it again, however often that was done before.
    ///
    /// # Errors
    /// It cannot be connected to; of several connections some may be up all the same.
    pub(crate) async fn restart(&self, reason: ShutdownReason) -> Result<(), Error> {
        if let Connections::ByAgent(agents) = &self.connections {
            agents.open();
        }
        let mut outcome = Ok(());
        for instance in self.instances() {
            outcome = outcome.and(instance.supervised().restart(reason).await);
        }
        outcome
    }

    /// Lists definitions of `kind` again in a moment: what was held back may be shown now.
    pub(crate) fn list_anew(&self, kind: DefinitionKind) {
        let what = match kind {
            DefinitionKind::Tool => What::Tools,
            DefinitionKind::Prompt => What::Prompts,
            DefinitionKind::Template | DefinitionKind::Resource => What::Resources,
        };
        for instance in self.instances() {
            instance.get().shared.changed.mark(what);
        }
    }

    /// The start of the connection that this agent uses, if that is not over; one of its own begins.
    pub(crate) fn begun(&self, agent: &Principal) -> Option<Start> {
        let start = match &self.connections {
            Connections::Shared(instance) => instance.shared.start.clone(),
            Connections::ByAgent(agents) if agents.reaches(agent) => match agents.connection(agent) {
                Ok(instance) => instance.shared.start.clone(),
                Err(error) => {
                    tracing::debug!(server = %self.id, %error, "an agent has no connection");
                    return None;
                }
            },
            Connections::ByAgent(_) => return None,
            #[cfg(test)]
            Connections::Fake(_) => return None,
        };
        (!start.is_over()).then_some(start)
    }

    /// Whether it is being connected to for the first time, for all agents together.
    pub(crate) fn is_starting(&self) -> bool {
        match &self.connections {
            Connections::Shared(instance) => !instance.shared.start.is_over(),
            Connections::ByAgent(_) => false,
            #[cfg(test)]
            Connections::Fake(_) => false,
        }
    }

    /// Whether this agent reaches the server at all.
    pub(crate) fn admits(&self, agent: &Principal) -> bool {
        match &self.connections {
            Connections::Shared(_) => true,
            Connections::ByAgent(agents) => agents.admits(agent),
            #[cfg(test)]
            Connections::Fake(_) => true,
        }
    }

    /// What of its lists is this agent's.
    pub(crate) fn share(&self, agent: &Principal) -> Share {
        match &self.connections {
            Connections::Shared(_) => Share::Everything,
            Connections::ByAgent(agents) => agents.share(agent),
            #[cfg(test)]
            Connections::Fake(_) => Share::Everything,
        }
    }

    /// Whether agents have connections of their own to it.
    pub(crate) fn is_by_agent(&self) -> bool {
        matches!(self.connections, Connections::ByAgent(_))
    }

    pub(crate) fn of_server(&self) -> &OfServer {
        &self.of_server
    }

    pub(crate) fn id(&self) -> &ServerId {
        &self.id
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// The way to the server with everything that lies in front of it.
    pub(crate) fn service(&self) -> UpstreamService {
        match &self.connections {
            Connections::Shared(instance) => UpstreamService(Way::Shared(instance.service())),
            Connections::ByAgent(agents) => UpstreamService(Way::ByAgent(ByAgent(Arc::clone(agents)))),
            #[cfg(test)]
            Connections::Fake(fake) => UpstreamService(Way::Fake(fake.service.clone())),
        }
    }

    /// How it does now. Of several connections the one that does best counts.
    pub(crate) fn state(&self) -> ServerState {
        let states = self.instances().into_iter().map(|instance| instance.supervised().state());
        states.max_by_key(|state| *state == ServerState::Connected).unwrap_or(ServerState::Registered)
    }

    /// What was agreed with it, if it is connected.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        #[cfg(test)]
        if let Connections::Fake(fake) = &self.connections {
            return Some(Arc::clone(&fake.session));
        }
        self.up().find_map(|instance| instance.get().session())
    }

    /// The connection that this agent uses, or would.
    pub(crate) fn line(&self, agent: &Principal) -> Line {
        match &self.connections {
            Connections::ByAgent(_) => Line::of_agent(self.id.clone(), agent),
            Connections::Shared(_) => Line::shared(self.id.clone()),
            #[cfg(test)]
            Connections::Fake(_) => Line::shared(self.id.clone()),
        }
    }

    /// Hears what the server says of a task on this connection.
    pub(crate) fn hear_of_task(&self, line: &Line, status: &Object) {
        let connection = self.on(line);
        if let Some(back) = connection.as_ref().and_then(|instance| instance.get().shared.back.get()) {
            back.tasks.hear(status);
        }
    }

    /// All connections that are up: what was agreed, and what the server said there that it can do.
    pub(crate) fn lines(&self) -> Vec<(Line, Arc<Session>, Object)> {
        #[cfg(test)]
        if let Connections::Fake(fake) = &self.connections {
            let line = Line::shared(self.id.clone());
            return vec![(line, Arc::clone(&fake.session), fake.capabilities.clone())];
        }
        let line = |held: Held<'_>| {
            let instance = held.get();
            Some((instance.shared.line.clone(), instance.session()?, instance.capabilities()))
        };
        self.up().filter_map(line).collect()
    }

    /// What was agreed on this connection last.
    pub(crate) fn session_on(&self, line: &Line) -> Option<Arc<Session>> {
        #[cfg(test)]
        if let Connections::Fake(fake) = &self.connections {
            return line.agent.is_none().then(|| Arc::clone(&fake.session));
        }
        self.on(line)?.get().session()
    }

    /// The connection that carries the call with `stream` now, past all that lies in front.
    pub(crate) fn carrying(&self, stream: StreamId) -> Option<Arc<Kept>> {
        let mut instances = self.instances().into_iter();
        instances.find(|instance| instance.get().shared.calls.has(stream))?.get().client()
    }

    /// The client of it, past all that lies in front; of several connections any that is up.
    pub(crate) fn client(&self) -> Option<Arc<Kept>> {
        self.up().find_map(|instance| instance.get().client())
    }

    /// What it said that it can do on the connection of this agent, if that is up.
    pub(crate) fn capabilities(&self, agent: &Principal) -> Object {
        #[cfg(test)]
        if let Connections::Fake(fake) = &self.connections {
            return fake.capabilities.clone();
        }
        self.on(&self.line(agent)).map(|instance| instance.get().capabilities()).unwrap_or_default()
    }

    /// What it told a model about itself on the connection of this agent, if that is up and nothing is hidden in it.
    pub(crate) fn instructions(&self, agent: &Principal) -> Option<Arc<str>> {
        #[cfg(test)]
        if let Connections::Fake(fake) = &self.connections {
            return fake.instructions.clone();
        }
        let connection = self.on(&self.line(agent))?;
        let instance = connection.get();
        instance.client()?;
        let about = instance.shared.about.lock();
        about.instructions.clone()
    }

    /// What was counted of its calls, by all its connections.
    pub(crate) fn meter(&self) -> &Meter {
        &self.of_server.meter
    }

    /// The last lines that it wrote to its standard error, the oldest first.
    pub(crate) fn log(&self, lines: usize) -> Vec<String> {
        self.of_server.log.last(lines)
    }

    /// How all its connections do; one line for a server without any.
    pub(crate) fn views(&self) -> Vec<ServerView> {
        let instances = self.instances();
        if instances.is_empty() {
            return vec![self.view(None)];
        }
        instances.iter().map(|instance| self.view(Some(instance.get()))).collect()
    }

    fn view(&self, instance: Option<&Instance>) -> ServerView {
        let shared = instance.map(|instance| &instance.shared);
        let agent = shared.and_then(|shared| shared.line.agent.as_ref());
        let tools = match agent {
            Some(agent) => self.of_server.offered.of(agent),
            None => Some(self.catalog.snapshot()),
        };
        let session = instance.and_then(Instance::session);
        let mgp = session.and_then(|session| {
            let agreed = session.mgp.as_ref()?;
            let extensions = agreed.extensions().names().map(ToString::to_string).collect();
            Some(MgpView { version: agreed.version().to_string(), extensions })
        });
        let pid = shared.map_or(0, |shared| shared.pid.load(Ordering::Relaxed));
        let state = instance.map_or(ServerState::Registered, |instance| instance.supervised.state());
        let is_up = state == ServerState::Connected;
        ServerView {
            id: self.id.clone(),
            agent: agent.map(|agent| agent.access_id().into_owned()),
            state,
            last_error: shared.and_then(|shared| shared.last_error.lock().clone()).filter(|_| !is_up),
            restarts: shared.map_or(0, |shared| shared.connects.load(Ordering::Relaxed).saturating_sub(1)),
            mgp,
            trust: self.config.trust(),
            tools: tools.map_or(0, |lists| lists.of_server(self.id.as_str()).len()),
            pid: (is_up && pid > 0).then_some(pid),
            uptime: shared.and_then(|shared| *shared.connected_at.lock()).map(|since| since.elapsed()),
        }
    }

    /// The connection, if it has begun.
    fn on(&self, line: &Line) -> Option<Held<'_>> {
        match (&self.connections, &line.agent) {
            (Connections::Shared(instance), None) => Some(Held::Borrowed(instance)),
            (Connections::ByAgent(agents), Some(agent)) => agents.of(agent).map(Held::Kept),
            _ => None,
        }
    }

    /// The connections that are up.
    fn up(&self) -> impl Iterator<Item = Held<'_>> {
        let is_up = |instance: &Held<'_>| instance.supervised().state() == ServerState::Connected;
        self.instances().into_iter().filter(is_up)
    }

    fn instances(&self) -> Vec<Held<'_>> {
        match &self.connections {
            Connections::Shared(instance) => vec![Held::Borrowed(instance)],
            Connections::ByAgent(agents) => agents.all().into_iter().map(Held::Kept).collect(),
            #[cfg(test)]
            Connections::Fake(_) => Vec::new(),
        }
    }
}

/// Whether all agents share one connection to the server.
fn shares_connection(config: &ServerConfig) -> bool {
    config.sharing == Sharing::Shared && config.agents.is_empty()
}

/// A connection that is looked at.
enum Held<'a> {
    Borrowed(&'a Instance),
    Kept(Arc<Instance>),
}

impl Held<'_> {
    fn get(&self) -> &Instance {
        match self {
            Self::Borrowed(instance) => instance,
            Self::Kept(instance) => instance,
        }
    }

    fn supervised(&self) -> &mgp_client_sdk::Supervised<Kept> {
        &self.get().supervised
    }
}

/// The way to a server. It is always ready: what has to wait does so inside of a call.
#[derive(Clone)]
pub(crate) struct UpstreamService(Way);

#[derive(Clone)]
enum Way {
    Shared(Patient),
    ByAgent(ByAgent),
    #[cfg(test)]
    Fake(crate::call::erased::Erased),
}

impl Service<Request> for UpstreamService {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match &mut self.0 {
            Way::Shared(patient) => patient.call(request),
            Way::ByAgent(agents) => agents.call(request),
            #[cfg(test)]
            Way::Fake(service) => service.call(request),
        }
    }
}
