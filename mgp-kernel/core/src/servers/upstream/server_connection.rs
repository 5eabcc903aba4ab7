//! A connection to a server, kept alive by a supervisor.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mgp_client_sdk::{Client, RestartSettings, Supervised};
use mgp_discovery::config::model::{ServerConfig, usual};
use mgp_lifecycle::LifecycleChanges;
use mgp_lifecycle::supervise::{ProbeSettings, TimeLimits};
use mgp_types::mcp::SubscriptionFilter;
use mgp_types::mgp::{EventSeverity, LifecycleChange, ServerState, ShutdownReason};
use mgp_types::{BoxFuture, BoxedService, Error, Gate as _, Params, Request, Response, Session, code};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tower_service::Service as _;

use super::audit;
use super::connect::connect;
use super::connection_shared::ConnectionShared;
use super::first_start::WaitingCall;
use super::forward::ForwardGate;
use super::stale_lists::{ListKind, Pauses, pause};
use super::start_attempt::StartAttempt;
use super::support::{ServerClient, ServerStack, UpstreamTransport};
use crate::call::meter::OpenRequest;
use crate::{StartError, settings};

/// A connection to a server, kept alive. Dropping it ends the connection, and the process behind it, at once.
pub(super) struct ServerConnection {
    pub(super) shared: Arc<ConnectionShared>,
    pub(super) supervised: Supervised<ServerClient>,
    /// The layers in front of the server, and the server behind them.
    pub(super) service: BoxedService,
    /// The connection without these layers, for calls that another kernel decided.
    pub(super) transport: UpstreamTransport,
    pub(super) _tasks: JoinSet<()>,
}

impl ServerConnection {
    /// Returns a connection that waits to be started.
    ///
    /// # Errors
    /// Fails if the configuration asks for something that there is not.
    pub(super) fn new(shared: ConnectionShared) -> Result<Self, StartError> {
        let shared = Arc::new(shared);
        let supervised = supervised(&shared);
        let gate = ForwardGate {
            server: shared.server.clone(),
            calls: shared.state.calls.clone(),
            tasks_at: Arc::clone(&shared.tasks_at),
            tables: Arc::clone(&shared.support.tables),
        };
        let transport = gate.layer(supervised.gate());
        let stack = ServerStack::new(&shared, transport.clone())?;
        let service = stack.service.clone();
        // The cell is set here only.
        let _ = shared.state.stack.set(stack);
        let mut tasks = JoinSet::new();
        // The subscription begins now, so that no change is missed before the task has its first turn.
        let changes = supervised.changes();
        tasks.spawn(follow(Arc::clone(&shared), supervised.clone(), changes));
        tasks.spawn(republish(Arc::clone(&shared)));
        Ok(Self { shared, supervised, service, transport, _tasks: tasks })
    }

    /// Makes a request of the server. Calls wait while the server is still starting; those of a server that starts again
    /// after a crash do not, its gate says when to come again. `held` keeps the connection until its layers do.
    pub(super) fn call(
        &self,
        request: Request,
        held: OpenRequest,
    ) -> BoxFuture<'static, Result<Response, Error>> {
        let (mut service, start) = (self.service.clone(), &self.shared.start);
        // Some of the layers refuse until they know the server.
        if start.is_over() {
            return service.call(request);
        }
        let start = start.clone();
        Box::pin(async move {
            // A caller that has waited long enough gets the state from the server's gate.
            start.awaited_by(&WaitingCall::of(&request)).await;
            let answer = service.call(request);
            drop(held);
            answer.await
        })
    }

    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.client()?.session()
    }

    /// Returns the client of the server as it is connected now.
    pub(super) fn client(&self) -> Option<Arc<ServerClient>> {
        self.shared.state.current.load_full()
    }

    /// Ends the connection for good, and withdraws its lists.
    pub(super) async fn end(&self, reason: ShutdownReason, timeout: Duration) {
        self.shared.withdraw().await;
        self.stop(reason, timeout).await;
    }

    /// Stops the server, once it has read what it was told of the record.
    pub(super) async fn stop(&self, reason: ShutdownReason, timeout: Duration) {
        self.shared.start.end();
        let begun = Instant::now();
        let _held = self.shared.state.audited.hold_back(READ_TIMEOUT.min(timeout / 2)).await;
        self.supervised.stop(reason, timeout.saturating_sub(begun.elapsed())).await;
    }
}

impl Drop for ServerConnection {
    /// Aborts the tasks beside the connection: they hold its shared state, and would keep all of it alive.
    fn drop(&mut self) {
        self.shared.state.beside.lock().abort_all();
    }
}

fn supervised(shared: &Arc<ConnectionShared>) -> Supervised<ServerClient> {
    let config = &shared.config;
    let connecting = Arc::clone(shared);
    let restoring = Arc::clone(shared);
    let mut limits = TimeLimits::default();
    // The attempt has a limit of its own, which does not count the time in the queue.
    limits.connect = Duration::MAX;
    limits.restore = settings::startup_timeout(&shared.support.config.load(), config);
    let supervisor = Client::supervise(shared.server.clone(), move || {
        let shared = Arc::clone(&connecting);
        async move {
            shared.let_go();
            shared.attempt().await.inspect_err(|error| shared.note_error(error))
        }
    });
    let supervisor = supervisor
        .with_restarts(restarts(config, shared.support.peers(config).is_some()))
        .with_limits(limits)
        .with_audit(shared.support.audit.port())
        .with_restore(move |client| {
            let shared = Arc::clone(&restoring);
            let place = shared.state.place.lock().take();
            async move {
                let _place = place;
                shared.restore(client).await.inspect_err(|error| shared.note_error(error))
            }
        });
    // The end of a program is seen at once, and that of a server behind a URL only by asking.
    let probes = if config.url.is_some() { ProbeSettings::remote() } else { ProbeSettings::default() };
    supervisor.with_probe_settings(probes).spawn()
}

fn restarts(config: &ServerConfig, is_leased: bool) -> RestartSettings {
    let mut settings = RestartSettings::default();
    settings.restart_policy = config.restart_policy();
    if config.command.is_none() || is_leased {
        // Nobody here starts a server that is no program of the kernel, or that of another one: it is tried for as long as
        // it is away.
        (settings.max_restarts, settings.backoff_max_ms) = (u32::MAX, usual::REMOTE_BACKOFF_MAX_MS);
    }
    settings.max_restarts = config.max_restarts.unwrap_or(settings.max_restarts);
    settings.restart_window_secs = config.restart_window_secs.unwrap_or(settings.restart_window_secs);
    settings.backoff_base_ms = config.backoff_base_ms.unwrap_or(settings.backoff_base_ms);
    let least_max = settings.backoff_max_ms.max(settings.backoff_base_ms);
    settings.backoff_max_ms = config.backoff_max_ms.unwrap_or(least_max);
    settings
}

impl ConnectionShared {
    /// Connects to the server once. A program waits in the queue first, and keeps its place until the server is set up.
    async fn attempt(self: &Arc<Self>) -> Result<Client<BoxedService>, Error> {
        let starts = &self.support.starts;
        let place = if self.config.command.is_some() {
            *self.state.attempt.lock() = StartAttempt::in_queue(starts.places());
            starts.place().await
        } else {
            None
        };
        let patience = settings::startup_timeout(&self.support.config.load(), &self.config);
        *self.state.attempt.lock() = StartAttempt::within(patience);
        self.start.leave_queue(patience);
        // Some servers are asked for their description, too, and take their time for both. The handshake notices first that
        // it takes too long.
        let connected = timeout(patience * 2 + HANDSHAKE_END, connect(Arc::clone(self))).await;
        let client =
            connected.unwrap_or_else(|_| Err(Error::timeout("the server took too long to connect")))?;
        *self.state.place.lock() = place;
        Ok(client)
    }

    /// Prepares a server that was connected to: settles its permissions, and lists what it offers.
    async fn restore(self: &Arc<Self>, client: ServerClient) -> Result<(), Error> {
        let Some(session) = client.session() else { return Err(Error::internal("nothing was agreed")) };
        self.state.current.store(Some(Arc::new(client.clone())));
        let mut asked = self.state.asked.subscribe();
        let (settle, mut settled) = oneshot::channel();
        let mut beside = JoinSet::new();
        beside.spawn(Arc::clone(self).settle(client.clone(), Arc::clone(&session), settle));
        beside.spawn(Arc::clone(self).follow_events(client.clone(), Arc::clone(&session)));
        beside.spawn(audit::forward(Arc::clone(self), client.clone(), Arc::clone(&session)));
        let is_listening = session.describes_each_request().then(|| {
            let (first, is_listening) = oneshot::channel();
            beside.spawn(listen(Arc::clone(self), client.clone(), first));
            is_listening
        });
        *self.state.beside.lock() = beside;
        // Once a human is asked, the decision is waited for elsewhere: people take their time, and until then calls are
        // refused.
        tokio::select! {
            outcome = &mut settled => outcome.unwrap_or_else(|_| Err(Error::internal("permissions were not settled")))?,
            _ = asked.changed() => {
                self.state.beside.lock().spawn(Arc::clone(self).decided(settled));
            }
        }
        // Changes from then on are reported.
        if let Some(is_listening) = is_listening {
            let _ = timeout(ACKNOWLEDGE_TIMEOUT, is_listening).await;
        }
        let missed = self.publish(&client, ListKind::ALL.into()).await?;
        // Last, so that what sessions asked for meanwhile holds for the first call.
        self.ask_log_level(&client, &session).await;
        self.state.stack.get().into_iter().for_each(|stack| stack.breaker.try_again());
        self.list_later(missed);
        Ok(())
    }

    /// Asks a server with sessions for the log level that its clients want. One without gets it with each request.
    async fn ask_log_level(&self, client: &ServerClient, session: &Session) {
        if session.describes_each_request() {
            return;
        }
        let Some(changes) = self.support.changes.upgrade() else { return };
        let Some(level) = changes.log_level(&self.key, &client.capabilities()) else { return };
        // A server that does not answer starts all the same.
        let asked = timeout(ACKNOWLEDGE_TIMEOUT, client.set_log_level(level.as_str().into()));
        if !matches!(asked.await, Ok(Ok(()))) {
            tracing::debug!(server = %self.server, "the server did not take a level of logging");
        }
    }

    /// Asks for missed lists again, all at once, after a pause that is longer each time.
    fn list_later(self: &Arc<Self>, lists: BTreeSet<ListKind>) {
        let pause = {
            let mut missed = self.state.missed.lock();
            let is_waiting = !missed.lists.is_empty();
            let is_none = lists.is_empty();
            missed.lists.extend(lists);
            if is_waiting {
                return;
            }
            if is_none {
                missed.times = 0;
                return;
            }
            missed.times += 1;
            pause(missed.times)
        };
        let this = Arc::clone(self);
        let mut beside = self.state.beside.lock();
        while beside.try_join_next().is_some() {}
        beside.spawn(async move {
            tokio::time::sleep(pause).await;
            let lists = std::mem::take(&mut this.state.missed.lock().lists);
            this.state.changed.mark(lists);
        });
    }

    async fn settle(
        self: Arc<Self>,
        client: ServerClient,
        session: Arc<Session>,
        settled: oneshot::Sender<Result<(), Error>>,
    ) {
        let Some(stack) = self.state.stack.get() else { return };
        let outcome = stack.permissions.negotiate(&mut client.clone(), &session).await;
        let is_rejected = outcome.is_err();
        // Nobody waits for the outcome of an attempt that ended meanwhile.
        let _ = settled.send(outcome);
        if is_rejected {
            return;
        }
        if let Err(error) = stack.permissions.follow(client).await {
            tracing::debug!(server = %self.server, %error, "the server hears of no more decisions");
        }
    }

    /// Has the server stopped if the decision that a human was asked for is against it.
    async fn decided(self: Arc<Self>, settled: oneshot::Receiver<Result<(), Error>>) {
        if let Ok(Err(error)) = settled.await {
            self.note_error(&error);
            self.state.rejected.notify_one();
        }
    }

    /// Makes the tools found only while the server can be called: by the best state of its connections.
    pub(super) async fn tell_state(&self) {
        let _turn = self.of_server.indexed.lock().await;
        if !self.support.tables.is_current(&self.server, &self.of_server) {
            return;
        }
        let Some(state) = (self.by_all)() else { return };
        self.support.tools.index.set_state(self.server.clone(), state).await;
    }

    /// Logs and counts a change of state that nobody ordered: the end of the server, and that it is given up.
    pub(super) fn note_end(&self, change: &LifecycleChange) {
        let (server, reason) = (&self.server, change.reason.as_deref().unwrap_or_default());
        let is_end = change.new_state == ServerState::Error || reason == ENDED_WELL;
        if change.previous_state == ServerState::Connected && is_end {
            self.of_server.ended.fetch_add(1, Ordering::Relaxed);
            let how = match *self.state.exit.lock() {
                Some(status) => format!("the server ended with {status}"),
                None => reason.to_owned(),
            };
            let lines = self.of_server.log.last(TOLD_LINES);
            let bounded = |line: &String| line.chars().take(MAX_LINE_CHARS).collect::<String>();
            let stderr =
                (!lines.is_empty()).then(|| lines.iter().map(bounded).collect::<Vec<_>>().join("\n"));
            tracing::warn!(%server, how, stderr, "a server ended by itself");
            *self.state.last_error.lock() = Some(self.state.attempt.lock().message(&how));
        }
        if change.new_state == ServerState::Error && reason == RestartSettings::LIMIT_EXCEEDED {
            self.of_server.given_up.fetch_add(1, Ordering::Relaxed);
            let error = self.state.last_error.lock().clone().unwrap_or_default();
            tracing::warn!(
                %server,
                error,
                "a server is given up: it was restarted too often; run `mgp restart` with its name"
            );
        }
    }

    /// Reports the state of the server to everybody. `is_so_still` is false if the server has another state by now.
    async fn note(&self, change: LifecycleChange, is_so_still: bool) {
        let state = change.new_state;
        self.note_end(&change);
        match state {
            ServerState::Connected => {
                let is_new = self.state.connects.fetch_add(1, Ordering::Relaxed) == 0;
                *self.state.connected_at.lock() = Some(Instant::now());
                if let Some(error) = self.state.last_error.lock().take() {
                    // The log that tells of the error is not to leave it at that.
                    tracing::warn!(server = %self.server, error, "a server is connected again after an error");
                }
                self.support.tell(|changes| changes.connected(&self.key, is_new));
                if !is_new {
                    for list in ListKind::ALL {
                        self.tell_peers(&Request::notify(list.changed(), Params::new()));
                    }
                }
            }
            ServerState::Error | ServerState::Disconnected | ServerState::Restarting => {
                *self.state.connected_at.lock() = None;
                if is_so_still && state != ServerState::Restarting {
                    self.let_go();
                }
                if let (ServerState::Error, Some(reason)) = (state, &change.reason) {
                    self.state.last_error.lock().get_or_insert_with(|| reason.clone());
                }
            }
            _ => {}
        }
        if !matches!(state, ServerState::Registered | ServerState::Connecting) {
            self.start.end();
        }
        self.tell_state().await;
        let severity = if state == ServerState::Error { EventSeverity::Error } else { EventSeverity::Info };
        self.support.events.tell_lifecycle(&self.key, severity, &change);
    }
}

/// The reason of a server that ended as it should.
const ENDED_WELL: &str = "the server ended";
/// The number of lines of its standard error that are logged when a server ends.
const TOLD_LINES: usize = 5;
/// The number of characters of each of them.
const MAX_LINE_CHARS: usize = 400;

/// Follows the state of the server.
async fn follow(
    shared: Arc<ConnectionShared>,
    supervised: Supervised<ServerClient>,
    mut changes: LifecycleChanges,
) {
    loop {
        tokio::select! {
            change = changes.next() => {
                let Some(change) = change else { return };
                let is_so_still = supervised.state() == change.new_state;
                shared.note(change, is_so_still).await;
            }
            () = shared.state.rejected.notified() => {
                supervised.stop(ShutdownReason::OperatorRequest, STOP_TIMEOUT).await;
            }
        }
    }
}

/// Lists what changed again: once for all that changes in a short time.
async fn republish(shared: Arc<ConnectionShared>) {
    loop {
        shared.state.changed.marked().await;
        tokio::time::sleep(DEBOUNCE).await;
        let lists = shared.state.changed.take();
        // A server that is connected to again is listed anyway.
        let Some(client) = shared.state.current.load_full() else {
            shared.state.changed.listed();
            continue;
        };
        let listed = timeout(LIST_TIMEOUT, shared.publish(&client, lists.clone())).await;
        let listed = listed.unwrap_or_else(|_| Err(Error::timeout("it was not listed in time")));
        let missed = listed.unwrap_or_else(|error| {
            tracing::warn!(server = %shared.server, %error, "what changed cannot be listed");
            lists
        });
        shared.state.changed.listed();
        shared.list_later(missed);
    }
}

/// Listens for the changes of a server without sessions, and signals when the server accepts that for the first time.
/// Its notifications reach the inbound layer; lists that may have changed meanwhile are listed again.
async fn listen(shared: Arc<ConnectionShared>, client: ServerClient, first: oneshot::Sender<()>) {
    let mut first = Some(first);
    let mut pauses = Pauses::default();
    loop {
        let began = Instant::now();
        let filter = SubscriptionFilter::new()
            .with_tools_list_changed(true)
            .with_prompts_list_changed(true)
            .with_resources_list_changed(true);
        match client.subscribe(filter).await {
            Ok(mut listening) => {
                let is_before_all_is_listed = first.take().is_some_and(|first| first.send(()).is_ok());
                if !is_before_all_is_listed {
                    shared.state.changed.mark(ListKind::ALL);
                }
                while listening.next().await.is_some() {}
            }
            Err(error) => {
                tracing::debug!(%error, "the server does not tell what changes");
                // Nobody waits for the acceptance any longer.
                first = None;
                if error.code() == code::METHOD_NOT_FOUND {
                    return;
                }
            }
        }
        tokio::time::sleep(pauses.after(began)).await;
    }
}

const HANDSHAKE_END: Duration = Duration::from_secs(1);
const DEBOUNCE: Duration = Duration::from_millis(100);
const LIST_TIMEOUT: Duration = Duration::from_mins(1);
/// The time for which the kernel waits for a server to acknowledge that it reports changes, before it lists the server.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(1);
/// The time for which the stop of a server waits until it has read what it was told. One that works on a call may be
/// silent until its end.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
