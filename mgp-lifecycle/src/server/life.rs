use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use mgp_types::Session;
use mgp_types::mgp::{HealthReport, HealthStatus, ServerId, ServerState, ShutdownReason};
use parking_lot::Mutex;
use serde::Serialize;

use super::answer::report;
use super::audience::Herald;
use super::examination::{Examination, Findings};
use super::run::{Drain, Run};
use super::tasks::Tasks;
use super::{Drained, ShutdownPolicy};
use crate::{Changes, NoSuchTransition};

/// The life of one server, from its start to its end: its state, its health, its calls. Clones are the same life.
///
/// A server that has stopped is over; another run of it is another life. Whatever needs a task has to happen inside of a
/// tokio runtime; the tasks end when the last clone is dropped. So closures that are given to a life should not hold it:
/// they would keep it for good.
#[derive(Clone)]
pub struct Life(Arc<Owner>);

/// Calls and tasks share the run; the tasks belong to whoever has the life, so that none keeps itself alive.
struct Owner {
    run: Arc<Run>,
    examination: Arc<Examination>,
    declared: Mutex<HealthStatus>,
    tools: Mutex<Option<Tools>>,
    tasks: Tasks,
}

type Tools = Arc<dyn Fn() -> (u64, u64) + Send + Sync>;

impl Life {
    /// The life of a server that is configured and was not started. It takes no calls before it is
    /// [ready](Self::ready).
    pub fn new(server: ServerId) -> Self {
        Self(Arc::new(Owner {
            run: Arc::new(Run::new(server)),
            examination: Arc::default(),
            declared: Mutex::new(HealthStatus::Healthy),
            tools: Mutex::default(),
            tasks: Tasks::default(),
        }))
    }

    /// Which server it is.
    pub fn server_id(&self) -> &ServerId {
        &self.0.run.server
    }

    /// Where the server is in its life.
    pub fn state(&self) -> ServerState {
        self.0.run.gate.inside().state()
    }

    /// How long it lives.
    pub fn uptime(&self) -> Duration {
        self.0.run.since.elapsed()
    }

    /// How many calls it works on.
    pub fn pending(&self) -> u64 {
        self.0.run.gate.inside().calls()
    }

    /// The transport comes up.
    ///
    /// # Errors
    /// The server was started already.
    pub fn starting(&self) -> Result<(), NoSuchTransition> {
        self.0.run.change(ServerState::Connecting, None)
    }

    /// The server takes calls from now on: it was started, or is restarted.
    ///
    /// # Errors
    /// It takes calls already, is broken, or stops.
    pub fn ready(&self) -> Result<(), NoSuchTransition> {
        self.0.run.ready()
    }

    /// The server broke. New calls are refused until it is [restarted](Self::restarting).
    ///
    /// # Errors
    /// It was not started, is broken already, or stops.
    pub fn failed(&self, reason: &str) -> Result<(), NoSuchTransition> {
        self.0.run.change(ServerState::Error, Some(reason))
    }

    /// A broken server mends itself; it is [ready](Self::ready) or has [failed](Self::failed) next.
    ///
    /// # Errors
    /// It is not broken, or stops.
    pub fn restarting(&self, reason: &str) -> Result<(), NoSuchTransition> {
        self.0.run.change(ServerState::Restarting, Some(reason))
    }

    /// Says that the server does no better than this, whatever its checks find.
    pub fn set_status(&self, status: HealthStatus) {
        *self.0.declared.lock() = status;
    }

    /// Adds a check to what `mgp/health/status` tells, in place of one of the same name.
    ///
    /// Checks run at the same time, at most once a second, and each in a task. One that panics, or is not done within
    /// two seconds, has failed. A check must not block its thread.
    ///
    /// ```
    /// # use mgp_lifecycle::server::Life;
    /// # let life = Life::new("example".into());
    /// life.check("database_connected", async || true);
    /// ```
    pub fn check<F, T>(&self, name: &str, check: F)
    where
        F: Fn() -> T + Send + Sync + 'static,
        T: Future<Output = bool> + Send + 'static,
    {
        self.0.examination.check(name.into(), check);
    }

    /// Adds a resource to what `mgp/health/status` tells, in place of one of the same name; `memory_bytes` is there
    /// where the system tells it. Asked for at most once a second.
    pub fn resource<F, T>(&self, name: &str, resource: F)
    where
        F: Fn() -> T + Send + Sync + 'static,
        T: Serialize,
    {
        self.0.examination.resource(name.into(), resource);
    }

    /// Says where the numbers of tools come from: how many can be called, and how many there are.
    pub fn tools(&self, counts: impl Fn() -> (u64, u64) + Send + Sync + 'static) {
        *self.0.tools.lock() = Some(Arc::new(counts));
    }

    /// Says who may ask the server to stop.
    pub fn set_shutdown_policy(&self, policy: ShutdownPolicy) {
        self.0.run.set_policy(policy);
    }

    /// How the server does: what `mgp/health/status` says.
    pub async fn report(&self) -> HealthReport {
        report(self).await
    }

    /// The changes of state from now on. A listener that is slow misses the oldest, and holds up nobody.
    pub fn changes(&self) -> Changes {
        Changes::new(self.0.run.changes.subscribe())
    }

    /// Stops the server: new calls are refused, those in work have `timeout` to finish, then they are answered with
    /// 2001, and are not to be made again.
    /// Resolves when it is over and everybody was told; the transport can be closed then.
    ///
    /// A server that stops already does so by the earlier of both times. One that was never ready, or is broken, takes no
    /// calls anyway, and stays in that state.
    ///
    /// # Cancel safety
    /// The server stops even if the future is dropped, once it was polled.
    pub async fn shutdown(&self, reason: ShutdownReason, timeout: Duration) -> Drained {
        self.begin_shutdown(reason, timeout);
        self.drained().await
    }

    /// Resolves when the server was stopped by whoever may, with how it ended: all calls are answered, everybody was
    /// told, and the transport can be closed.
    ///
    /// That is at most a second after the time for calls is over, even if a peer reads nothing.
    pub async fn drained(&self) -> Drained {
        self.0.run.drained().await
    }

    pub(super) fn begin_shutdown(&self, reason: ShutdownReason, timeout: Duration) {
        if self.0.run.stop(reason, timeout) == Drain::Begins {
            self.0.tasks.spawn(Arc::clone(&self.0.run).drain());
        }
    }

    /// From now on the session is told of changes.
    pub(super) fn note(&self, session: &Arc<Session>) {
        if self.0.run.audience.note(session) == Herald::Missing {
            let (run, changes) = (Arc::clone(&self.0.run), self.0.run.changes.subscribe());
            self.0.tasks.spawn(async move { run.audience.tell_all(changes).await });
        }
    }

    pub(super) fn run(&self) -> &Arc<Run> {
        &self.0.run
    }

    pub(super) fn declared_status(&self) -> HealthStatus {
        *self.0.declared.lock()
    }

    pub(super) fn last_status(&self) -> HealthStatus {
        self.0.examination.last(&self.0.tasks)
    }

    pub(super) async fn examine(&self) -> Arc<Findings> {
        self.0.examination.fresh(&self.0.tasks).await
    }

    pub(super) fn tool_counts(&self) -> (u64, u64) {
        let counts = self.0.tools.lock().clone();
        counts.map_or((0, 0), |counts| {
            catch_unwind(AssertUnwindSafe(|| counts())).unwrap_or_else(|_| {
                tracing::warn!("the numbers of tools cannot be told");
                (0, 0)
            })
        })
    }
}

impl fmt::Debug for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Life")
            .field("server", self.server_id())
            .field("state", &self.state())
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}
