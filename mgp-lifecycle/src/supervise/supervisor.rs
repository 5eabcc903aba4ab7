//! A supervisor: its configuration, and the handle of the server that it supervises.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{AuditPort, LifecycleChange, ServerId, ServerState, Shutdown, ShutdownReason};
use mgp_types::{BoxFuture, Error, RpcService};
use tokio::sync::broadcast;
use tokio::task::JoinSet;

use super::connect::Connect;
use super::probe::{ProbeResult, ProbeSettings, ServerHealth};
use super::run::{LifecycleTracker, SupervisorRun};
use super::supervised_service::SupervisedService;
use super::supervisor_shared::{ReturnOutlook, SupervisorCommand, SupervisorShared};
use crate::restart::Restarts;
use crate::span::{RandomSource, draw};
use crate::state::CHANGES_KEPT;
use crate::{LifecycleChanges, RestartSettings};

/// The supervisor of one server, before it runs: how to connect, and the steps before it takes calls, while it does,
/// and at the end.
#[must_use]
pub struct Supervisor<C: Connect> {
    server: ServerId,
    restarts: RestartSettings,
    audit: Option<Arc<dyn AuditPort>>,
    plan: Plan<C>,
}

/// The settings that do not change while the supervisor runs.
pub(super) struct Plan<C: Connect> {
    pub(super) connect: C,
    pub(super) limits: TimeLimits,
    pub(super) restore: Vec<Restore<C::Service>>,
    pub(super) ask_to_stop: Option<AskToStop<C::Service>>,
    pub(super) probing: Option<Probing<C::Service>>,
    pub(super) chance: RandomSource,
}

pub(super) struct Probing<T> {
    pub(super) settings: ProbeSettings,
    pub(super) ask: Ask<T>,
}

type Restore<T> = Box<dyn Fn(T) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;
type AskToStop<T> = Box<dyn Fn(T, Shutdown) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;
type Ask<T> = Box<dyn Fn(T) -> BoxFuture<'static, ProbeResult> + Send + Sync>;

impl<C: Connect> Supervisor<C> {
    /// Creates a supervisor with the usual settings: the server is restarted if it ended in error, and never probed.
    pub fn new(server: ServerId, connect: C) -> Self {
        let plan = Plan {
            connect,
            limits: TimeLimits::default(),
            restore: Vec::new(),
            ask_to_stop: None,
            probing: None,
            chance: Arc::new(draw),
        };
        Self { server, restarts: RestartSettings::default(), audit: None, plan }
    }

    mgp_types::setters! { self =>
        /// Sets the policy of restarts (§11.5).
        pub fn with_restarts(settings: RestartSettings) => self.restarts = settings;

        /// Sets the time limits of the steps.
        pub fn with_limits(limits: TimeLimits) => self.plan.limits = limits;

        /// Records in `audit` when the server connects and disconnects (§6.4).
        pub fn with_audit(audit: Arc<dyn AuditPort>) => self.audit = Some(audit);
    }

    /// Runs `restore` after each connect, before the server takes calls.
    ///
    /// Steps run one after the other, in the order in which they are added; if one fails, so does the attempt to
    /// connect. A step comes after those that it needs:
    ///
    /// 1. the handshake, which is part of connecting: what is restored depends on what was agreed;
    /// 2. permissions, without which the server does nothing else;
    /// 3. what it was asked to keep in mind ([`StandingRequests`](super::StandingRequests)), so that no change of what
    ///    is asked for next is missed;
    /// 4. the list of tools.
    ///
    /// ```
    /// # use std::future::pending;
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// use mgp_lifecycle::supervise::{ConnectedServer, StandingRequests, Supervisor};
    /// # use mgp_types::{Error, Request, Response, Revision, Session};
    ///
    /// # #[derive(Clone)]
    /// # struct Client(Arc<Session>);
    /// # impl Client {
    /// #     async fn connect() -> Result<Self, Error> { Ok(Self(Arc::new(Session::new(Revision::V2025_11_25)))) }
    /// #     fn session(&self) -> Arc<Session> { Arc::clone(&self.0) }
    /// #     async fn grant_permissions(&self) -> Result<(), Error> { Ok(()) }
    /// #     async fn list_tools(&self) -> Result<(), Error> { Ok(()) }
    /// # }
    /// # impl tower_service::Service<Request> for Client {
    /// #     type Response = Response;
    /// #     type Error = Error;
    /// #     type Future = std::future::Ready<Result<Response, Error>>;
    /// #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
    /// #         std::task::Poll::Ready(Ok(()))
    /// #     }
    /// #     fn call(&mut self, _: Request) -> Self::Future { std::future::ready(Ok(Response::empty())) }
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// let standing = StandingRequests::new();
    /// let connect = || async { Client::connect().await.map(|client| ConnectedServer::new(client, pending())) };
    /// let server = Supervisor::new("files".into(), connect)
    ///     .with_restore(|client: Client| async move { client.grant_permissions().await })
    ///     .with_restore(move |client| {
    ///         let session = client.session();
    ///         standing.restore(client, session)
    ///     })
    ///     .with_restore(|client| async move { client.list_tools().await })
    ///     .spawn();
    /// server.start();
    /// assert!(server.ready(Duration::from_secs(5)).await.is_ok());
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn with_restore<F>(mut self, restore: impl Fn(C::Service) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.plan.restore.push(Box::new(move |service| Box::pin(restore(service))));
        self
    }

    /// Asks a server to stop by `ask`, before its connection is closed; [`ask_to_stop`](super::ask_to_stop) asks one
    /// that speaks MGP. An error is logged, and changes nothing.
    pub fn with_stop<F>(mut self, ask: impl Fn(C::Service, Shutdown) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.plan.ask_to_stop = Some(Box::new(move |service, shutdown| Box::pin(ask(service, shutdown))));
        self
    }

    /// Probes the server by `ask`, as [`probe`](super::probe) does it.
    pub fn with_probe<F>(
        mut self,
        settings: ProbeSettings,
        ask: impl Fn(C::Service) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ProbeResult> + Send + 'static,
    {
        let ask: Ask<C::Service> = Box::new(move |service| Box::pin(ask(service)));
        self.plan.probing = Some(Probing { settings, ask });
        self
    }

    /// Sets when a server that is probed is probed, and when it counts as down.
    pub fn with_probe_settings(mut self, settings: ProbeSettings) -> Self {
        if let Some(probing) = &mut self.plan.probing {
            probing.settings = settings;
        }
        self
    }

    #[cfg(test)]
    pub(super) fn with_chance(mut self, chance: RandomSource) -> Self {
        self.plan.chance = chance;
        self
    }

    /// Runs the supervisor in a task of its own. The server is [registered](mgp_types::mgp::ServerState::Registered)
    /// until it is [started](Supervised::start).
    ///
    /// # Panics
    /// The function panics outside of a tokio runtime.
    pub fn spawn(self) -> Supervised<C::Service> {
        let shared = Arc::new(SupervisorShared::new(self.server));
        let (changes, listener) = broadcast::channel(CHANGES_KEPT);
        let (life, audit) = (ServerState::Registered, self.audit);
        let course = LifecycleTracker { life, shared: Arc::clone(&shared), changes, audit };
        let run = SupervisorRun::new(self.plan, course, Restarts::new(self.restarts));
        let mut task = JoinSet::new();
        task.spawn(run.forever());
        Supervised { shared, owner: Arc::new(SupervisorTask { _task: task, listener }) }
    }
}

mgp_types::partial_debug!([C: Connect] Supervisor<C>, self => server: self.server, restarts: self.restarts);

mgp_types::with_defaults! {
    /// The time limits of the steps in a server's life. By default there is a minute to connect: servers that are
    /// installed when they first run need half of it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct TimeLimits {
        /// The time for connecting, the handshake included.
        pub connect: Duration = Duration::from_mins(1),
        /// The time for each step that restores the server's state before it takes calls.
        pub restore: Duration = Duration::from_secs(30),
        /// The time for calls to finish before a restart.
        pub drain: Duration = Duration::from_secs(30),
        /// The time for the server to acknowledge a request to stop. This time is part of that for finishing calls, not
        /// added to it.
        pub ask_to_stop: Duration = Duration::from_secs(5),
        /// The time for closing; then the server is ended at once.
        pub close: Duration = Duration::from_secs(5),
        /// The time for closing a server that ended in error or does not answer.
        pub close_broken: Duration = Duration::from_secs(1),
    }
}

/// A server that is supervised.
///
/// Clones share it. When the last one is dropped the supervisor ends, and the server is closed at once; gates do not
/// keep it. For a graceful end [`stop`](Self::stop) it first.
pub struct Supervised<T> {
    pub(super) shared: Arc<SupervisorShared<T>>,
    pub(super) owner: Arc<SupervisorTask>,
}

pub(super) struct SupervisorTask {
    /// The task of the supervisor, which ends with the set.
    _task: JoinSet<()>,
    /// A receiver of which listeners are made, because it does not keep the channel open. The field is never read.
    pub(super) listener: broadcast::Receiver<LifecycleChange>,
}

impl<T: Clone + Send + Sync + 'static> Supervised<T> {
    /// Returns the id of the server.
    pub fn server(&self) -> &ServerId {
        &self.shared.server
    }

    /// Returns the state of the server.
    pub fn state(&self) -> ServerState {
        self.shared.position().state
    }

    /// Returns the changes of state from now on. A slow listener loses the oldest, and holds up no other.
    pub fn changes(&self) -> LifecycleChanges {
        LifecycleChanges(self.owner.listener.resubscribe())
    }

    /// Returns the health of the server.
    pub fn health(&self) -> ServerHealth {
        *self.shared.health.lock()
    }

    /// Returns the number of calls of gates in progress, without subscriptions that listen.
    pub fn in_flight(&self) -> u64 {
        self.shared.live.load().as_ref().map_or(0, |live| live.in_flight())
    }

    /// Returns the service of the current incarnation. Calls on it are not counted as in flight, and a restart does not
    /// wait for them.
    ///
    /// # Errors
    /// 2000, 2001 or 2002: the server takes no calls now; the recovery tells whether and when it will.
    pub fn current(&self) -> Result<T, Error> {
        self.shared.service().ok_or_else(|| self.shared.refusal())
    }

    /// Returns the same service as [`current`](Self::current), and waits for a server that is about to be connected,
    /// for `wait` at most.
    ///
    /// # Errors
    /// The errors of [`current`](Self::current), at once if no planned step would make the server ready.
    pub async fn ready(&self, wait: Duration) -> Result<T, Error> {
        self.shared.within(wait, || self.shared.service()).await
    }

    /// Returns a service that passes calls to the current incarnation of the server.
    pub fn gate(&self) -> SupervisedService<T>
    where
        T: RpcService,
    {
        SupervisedService { shared: Arc::clone(&self.shared) }
    }

    /// Starts a server that is not running; [`ready`](Self::ready) waits for it.
    ///
    /// A server that was restarted too often stays where it is: only [`restart`](Self::restart) brings it back.
    pub fn start(&self) {
        self.shared.order(SupervisorCommand::Start);
    }

    /// Stops the server gracefully, if it runs, and starts it again, however often it was restarted before.
    ///
    /// An attempt to connect that goes on ends, and another one begins; a server that waits to be restarted waits no more.
    ///
    /// # Errors
    /// The server could not be connected to, or was stopped meanwhile. Further attempts follow as configured.
    ///
    /// # Cancel safety
    /// Once polled, the restart goes on if the future is dropped.
    pub async fn restart(&self, reason: ShutdownReason) -> Result<(), Error> {
        let number = self.shared.order(SupervisorCommand::Restart { reason });
        self.served(number).await;
        self.current().map(drop)
    }

    /// Stops the server: it takes no new calls, gets `timeout` to finish those it has, and is closed. The server is not
    /// started again before [`start`](Self::start) or [`restart`](Self::restart), whatever the policy; restarts are
    /// then counted anew.
    ///
    /// A server that is connected ends [disconnected](ServerState::Disconnected). A server that is still being
    /// connected to, or waits for a restart, ends in [error](ServerState::Error), the one state there is to go to.
    ///
    /// # Cancel safety
    /// Once polled, the stop goes on if the future is dropped.
    pub async fn stop(&self, reason: ShutdownReason, timeout: Duration) {
        let number = self.shared.order(SupervisorCommand::Stop { reason, timeout });
        self.served(number).await;
    }

    async fn served(&self, number: u64) {
        let mut position = self.shared.position.subscribe();
        // Waiting fails only if the sender is gone, and this handle keeps it.
        let served = position
            .wait_for(|position| position.served >= number || position.outlook == ReturnOutlook::Ended);
        let _ = served.await;
    }
}

impl<T> Clone for Supervised<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), owner: Arc::clone(&self.owner) }
    }
}

mgp_types::partial_debug!([T] Supervised<T>, self => server: self.shared.server, state: self.shared.position().state);
