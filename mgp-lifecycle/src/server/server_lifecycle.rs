//! The life of one server, as the application holds it, and the sessions that it tells of changes.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mgp_types::mgp::{HealthStatus, LifecycleChange, ServerId, ServerState, ShutdownReason, method};
use mgp_types::{Method, Object, Outbox, RawJson, Request, Session};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::examination::{HealthExamination, replace};
use super::run::ServerRun;
use super::{DrainOutcome, ShutdownPolicy};
use crate::{InvalidTransition, LifecycleChanges};

/// The life of one server, from its start to its end: its state, its health, its calls. Clones are the same life.
///
/// A server that has stopped is over; another run of it is another life. Methods that need a task have to be called
/// inside of a tokio runtime; the tasks end when the last clone is dropped. So closures that are given to a life should
/// not hold it: they would keep it for good.
#[derive(Clone)]
pub struct ServerLifecycle(pub(super) Arc<LifecycleOwner>);

/// The run with its tasks. Calls and tasks share the run; the tasks belong to the clones of the life, so that none
/// keeps itself alive.
pub(super) struct LifecycleOwner {
    pub(super) run: Arc<ServerRun>,
    pub(super) examination: Arc<HealthExamination>,
    pub(super) declared: Mutex<HealthStatus>,
    tools: Mutex<Option<Tools>>,
    pub(super) tasks: Tasks,
}

type Tools = Arc<dyn Fn() -> (u64, u64) + Send + Sync>;

impl ServerLifecycle {
    /// Creates the life of a server that is configured and was not started. The server takes no calls before it is
    /// [ready](Self::ready).
    pub fn new(server: ServerId) -> Self {
        Self(Arc::new(LifecycleOwner {
            run: Arc::new(ServerRun::new(server)),
            examination: Arc::default(),
            declared: Mutex::new(HealthStatus::Healthy),
            tools: Mutex::default(),
            tasks: Tasks::default(),
        }))
    }

    /// Returns the id of the server.
    pub fn server_id(&self) -> &ServerId {
        &self.0.run.server
    }

    /// Returns the state of the server.
    pub fn state(&self) -> ServerState {
        self.0.run.gate.inside().state()
    }

    /// Returns the time since the life was created.
    pub fn uptime(&self) -> Duration {
        self.0.run.since.elapsed()
    }

    /// Returns the number of calls in progress.
    pub fn pending(&self) -> u64 {
        self.0.run.gate.inside().calls()
    }

    /// Notes that the transport is coming up.
    ///
    /// # Errors
    /// The server was started already.
    pub fn starting(&self) -> Result<(), InvalidTransition> {
        self.0.run.change(ServerState::Connecting, None)
    }

    /// Notes that the server takes calls from now on: it was started, or is restarted.
    ///
    /// # Errors
    /// The server takes calls already, is broken, or stops.
    pub fn ready(&self) -> Result<(), InvalidTransition> {
        self.0.run.ready()
    }

    /// Notes that the server broke. New calls are refused until it is [restarted](Self::restarting).
    ///
    /// # Errors
    /// The server was not started, is broken already, or stops.
    pub fn failed(&self, reason: &str) -> Result<(), InvalidTransition> {
        self.0.run.change(ServerState::Error, Some(reason))
    }

    /// Notes that a broken server repairs itself; it is [ready](Self::ready) or has [failed](Self::failed) next.
    ///
    /// # Errors
    /// The server is not broken, or stops.
    pub fn restarting(&self, reason: &str) -> Result<(), InvalidTransition> {
        self.0.run.change(ServerState::Restarting, Some(reason))
    }

    /// Sets the best health that the server reports, whatever its checks find.
    pub fn set_status(&self, status: HealthStatus) {
        *self.0.declared.lock() = status;
    }

    /// Adds a check to the report of `mgp/health/status`, in place of one of the same name.
    ///
    /// Checks run at the same time, at most once a second, and each in a task. A check that panics, or is not done
    /// within two seconds, has failed. A check must not block its thread.
    ///
    /// ```
    /// # use mgp_lifecycle::server::ServerLifecycle;
    /// # let life = ServerLifecycle::new("example".into());
    /// life.check("database_connected", async || true);
    /// ```
    pub fn check<F, T>(&self, name: &str, check: F)
    where
        F: Fn() -> T + Send + Sync + 'static,
        T: Future<Output = bool> + Send + 'static,
    {
        replace(&self.0.examination.checks, name, Arc::new(move || Box::pin(check())));
    }

    /// Adds a resource to the report of `mgp/health/status`, in place of one of the same name; `memory_bytes` is there
    /// where the system provides it. Resources are read at most once a second.
    pub fn resource<F, T>(&self, name: &str, resource: F)
    where
        F: Fn() -> T + Send + Sync + 'static,
        T: Serialize,
    {
        replace(&self.0.examination.resources, name, Arc::new(move || RawJson::from_value(&resource()).ok()));
    }

    /// Sets the source of the numbers of tools: how many can be called, and how many there are.
    pub fn tools(&self, counts: impl Fn() -> (u64, u64) + Send + Sync + 'static) {
        *self.0.tools.lock() = Some(Arc::new(counts));
    }

    /// Sets the policy of who may ask the server to stop.
    pub fn set_shutdown_policy(&self, policy: ShutdownPolicy) {
        *self.0.run.policy.lock() = policy;
    }

    /// Returns the changes of state from now on. A slow listener misses the oldest, and holds up no other.
    pub fn changes(&self) -> LifecycleChanges {
        LifecycleChanges(self.0.run.changes.subscribe())
    }

    /// Stops the server: new calls are refused, and those in progress have `timeout` to finish; then they are answered
    /// with 2001, and must not be repeated. The future resolves when the server is over and all sessions were told; the
    /// transport can be closed then.
    ///
    /// A server that stops already does so by the earlier of both times. A server that was never ready, or is broken,
    /// takes no calls anyway, and stays in that state.
    ///
    /// # Cancel safety
    /// The server stops even if the future is dropped, once it was polled.
    pub async fn shutdown(&self, reason: ShutdownReason, timeout: Duration) -> DrainOutcome {
        self.begin_shutdown(reason, timeout);
        self.drained().await
    }

    /// Resolves when the server was stopped, with the way it ended: all calls are answered, all sessions were told, and
    /// the transport can be closed.
    ///
    /// The latest time is a second after the time for calls is over, even if a peer reads nothing.
    pub async fn drained(&self) -> DrainOutcome {
        let mut drained = self.0.run.drained.subscribe();
        // The run, which has the sender, is there as long as this value.
        let how = drained.wait_for(Option::is_some).await;
        how.ok().and_then(|how| *how).unwrap_or(DrainOutcome::Finished)
    }

    pub(super) fn begin_shutdown(&self, reason: ShutdownReason, timeout: Duration) {
        if self.0.run.stop(reason, timeout) {
            self.0.tasks.spawn(Arc::clone(&self.0.run).drain());
        }
    }

    /// Adds a session that is told of changes from now on.
    pub(super) fn note(&self, session: &Arc<Session>) {
        if self.0.run.audience.note(session) {
            let (run, changes) = (Arc::clone(&self.0.run), self.0.run.changes.subscribe());
            self.0.tasks.spawn(async move { run.audience.tell_all(changes).await });
        }
    }

    pub(super) fn tool_counts(&self) -> (u64, u64) {
        let counts = self.0.tools.lock().clone();
        counts.map_or((0, 0), |counts| {
            catch_unwind(AssertUnwindSafe(|| counts())).unwrap_or_else(|_| {
                tracing::warn!("the numbers of tools cannot be reported");
                (0, 0)
            })
        })
    }
}

mgp_types::partial_debug!(ServerLifecycle, self =>
    server: self.server_id(),
    state: self.state(),
    pending: self.pending(),
);

/// The tasks of one server's life. The tasks end with it.
#[derive(Debug, Default)]
pub(super) struct Tasks(Mutex<JoinSet<()>>);

impl Tasks {
    /// Starts a task. The number of tasks is small: callers start one of a kind at a time.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}

/// The sessions that are told of changes.
///
/// Sessions are held weakly: one that is over is forgotten, and so is one whose peer does not take a message in time.
#[derive(Debug, Default)]
pub(super) struct ChangeListeners {
    sessions: Mutex<HashMap<usize, Weak<Session>>>,
    has_herald: AtomicBool,
    /// Set once no more changes will be told.
    left: watch::Sender<bool>,
}

/// The time to tell one session: a peer that does not read must not hold up the others, nor the end.
const LONGEST_TELLING: Duration = Duration::from_millis(400);

const MAX_SESSIONS: usize = 1024;

impl ChangeListeners {
    /// Adds a session that is told of changes from now on, and returns whether it is the first one: the caller has to
    /// start [`tell_all`](Self::tell_all) then.
    pub(super) fn note(&self, session: &Arc<Session>) -> bool {
        let mut sessions = self.sessions.lock();
        // No other session can have the address as long as the weak pointer is kept.
        let address = Arc::as_ptr(session).addr();
        if !sessions.contains_key(&address) {
            if sessions.len() >= MAX_SESSIONS {
                sessions.retain(|_, session| session.strong_count() > 0);
            }
            if sessions.len() < MAX_SESSIONS {
                sessions.insert(address, Arc::downgrade(session));
            } else {
                tracing::warn!("a session is not told of changes: there are too many sessions");
            }
        }
        drop(sessions);
        !self.has_herald.swap(true, Ordering::AcqRel)
    }

    /// Tells the sessions of all changes, up to the last one.
    pub(super) async fn tell_all(&self, mut changes: Receiver<LifecycleChange>) {
        loop {
            match changes.recv().await {
                Ok(change) => {
                    self.tell(&change).await;
                    if change.new_state == ServerState::Disconnected {
                        return self.leave();
                    }
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "sessions were not told of all changes: they came too fast");
                }
                Err(RecvError::Closed) => return self.leave(),
            }
        }
    }

    /// Notes that no more changes will be told.
    pub(super) fn leave(&self) {
        self.left.send_replace(true);
    }

    /// Resolves when no more changes will be told.
    pub(super) async fn left(&self) {
        if self.has_herald.load(Ordering::Acquire) {
            // The sender is a field of this value, so that there is always one.
            let _ = self.left.subscribe().wait_for(|left| *left).await;
        }
    }

    async fn tell(&self, change: &LifecycleChange) {
        let Ok(params) = Object::from_value(change) else { return };
        let notification = Request::notify(Method::from_static(method::LIFECYCLE), params);
        let mut telling = JoinSet::new();
        for (address, outbox) in self.outboxes() {
            let notification = notification.clone();
            telling.spawn(async move {
                let outcome = timeout(LONGEST_TELLING, outbox.notify(notification)).await;
                (address, matches!(outcome, Ok(Ok(()))))
            });
        }
        while let Some(joined) = telling.join_next().await {
            if let Ok((address, false)) = joined {
                self.sessions.lock().remove(&address);
            }
        }
    }

    fn outboxes(&self) -> Vec<(usize, Outbox)> {
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| session.strong_count() > 0);
        let live = sessions.iter().filter_map(|(address, session)| Some((*address, session.upgrade()?)));
        live.map(|(address, session)| (address, session.outbox.clone())).collect()
    }
}
