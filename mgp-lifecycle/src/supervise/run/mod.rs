//! The task of a supervisor: from rest through attempts and service, back to rest; and the state of its server, told to all listeners.

mod attempt;

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mgp_types::Error;
use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort, AuditTarget, EventType, LifecycleChange, Outcome, ServerState,
    ShutdownReason, Timestamp, TraceId,
};
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::connect::{Close, Connect};
use super::probe::ServerHealth;
use super::supervisor::Plan;
use super::supervisor_shared::{ReturnOutlook, SupervisorCommand, SupervisorShared};
use crate::ServerEnd;
use crate::restart::{RestartDecision, RestartSettings, Restarts};
use crate::span::later;
use crate::state::{take, tell};

/// The task that takes one server through its life, for as long as it is polled.
pub(super) struct SupervisorRun<C: Connect> {
    plan: Arc<Plan<C>>,
    /// The state of the server. The field is dropped after all that holds the server, so that it tells the end when it
    /// is one.
    course: LifecycleTracker<C::Service>,
    restarts: Restarts,
    /// The moment from which times of restarts are counted.
    began: Instant,
    /// The order that is carried out when the next attempt is over.
    ordered: Option<u64>,
    /// Set once the server was restarted too often; only a restart by hand is then taken.
    given_up: bool,
    /// The last reason for which the server could not be connected to, since it was connected.
    last_failure: Option<String>,
}

/// The next step.
enum NextStep {
    /// The task rests until there is an order.
    Rest,
    /// An attempt to connect, at once or at this time.
    Connect(Option<Instant>),
}

impl<C: Connect> SupervisorRun<C> {
    pub(super) fn new(plan: Plan<C>, course: LifecycleTracker<C::Service>, restarts: Restarts) -> Self {
        let (plan, began) = (Arc::new(plan), Instant::now());
        Self { plan, course, restarts, began, ordered: None, given_up: false, last_failure: None }
    }

    pub(super) async fn forever(mut self) {
        let mut then = NextStep::Rest;
        loop {
            then = match then {
                NextStep::Rest => self.rest().await,
                NextStep::Connect(at) => match self.connect(at).await {
                    Ok(server) => self.serve(server).await,
                    Err(then) => then,
                },
            };
        }
    }

    /// Waits for an order to run, and returns the next step.
    async fn rest(&mut self) -> NextStep {
        loop {
            let (order, number) = self.course.shared.orders.taken().await;
            match order {
                SupervisorCommand::Start if !self.given_up => {}
                SupervisorCommand::Restart { .. } => self.restarts.forget(),
                SupervisorCommand::Start | SupervisorCommand::Stop { .. } => {
                    self.course.expect(ReturnOutlook::Never);
                    self.course.served(number);
                    continue;
                }
            }
            self.given_up = false;
            self.ordered = Some(number);
            let again = self.course.life == ServerState::Error;
            let to = if again { ServerState::Restarting } else { ServerState::Connecting };
            self.course.go(to, ReturnOutlook::Soon, order.reason().map(ShutdownReason::as_str));
            return NextStep::Connect(None);
        }
    }

    /// Decides about a server that ended, or could not be connected to, and goes to its next state.
    fn after(&mut self, ended: ServerEnd, reason: &str) -> NextStep {
        let from = self.course.life;
        let verdict = self.restarts.decide(ended, self.began.elapsed(), (self.plan.chance)());
        let (again, reason) = match verdict {
            RestartDecision::Restart { after } => (Some(later(Instant::now(), after)), reason),
            RestartDecision::Stay => (None, reason),
            RestartDecision::GiveUp => (None, RestartSettings::LIMIT_EXCEEDED),
        };
        let outlook = again.map_or(ReturnOutlook::Never, ReturnOutlook::At);
        let given_up = verdict == RestartDecision::GiveUp;
        if from != ServerState::Draining {
            self.course.go(ServerState::Error, outlook, Some(reason));
        } else if verdict == RestartDecision::Stay {
            self.course.go(ServerState::Disconnected, outlook, Some(reason));
        }
        if again.is_some() || from == ServerState::Draining && given_up {
            self.course.go(ServerState::Restarting, outlook, Some(reason));
        }
        if from == ServerState::Draining && given_up {
            // No other transition leads from there to the state of a server that is given up.
            self.course.go(ServerState::Error, outlook, Some(reason));
        }
        if matches!(from, ServerState::Connected | ServerState::Draining) || given_up {
            let well = ended == ServerEnd::InOrder && !given_up;
            let outcome = if well { Outcome::Success } else { Outcome::Failure };
            self.course.record(EventType::ServerDisconnected, outcome, Some(reason));
        }
        self.given_up = given_up;
        again.map_or(NextStep::Rest, |at| NextStep::Connect(Some(at)))
    }

    /// Notes that the attempt that was ordered is over.
    fn attempted(&mut self) {
        if let Some(number) = self.ordered.take() {
            self.course.served(number);
        }
    }
}

/// Closes a connection, within the time limit.
async fn finish(close: Close, limit: Duration) {
    match tokio::time::timeout(limit, caught(close)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "closing a server failed"),
        Err(_) => tracing::debug!("a server took too long to close"),
    }
}

/// Returns the result of `make` and its future; a panic in either is an error. The functions that a supervisor is given
/// may be wrong, and its server has to be closed all the same.
async fn caught<F: Future>(make: impl FnOnce() -> F) -> Result<F::Output, Error> {
    let future = catch_unwind(AssertUnwindSafe(make)).map_err(|_| panicked())?;
    let mut future = pin!(future);
    // The future is not polled again after a panic, so that its broken state is not seen.
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(_) => Poll::Ready(Err(panicked())),
    })
    .await
}

fn panicked() -> Error {
    // The panic hook has got the message.
    Error::internal("a function of the supervisor panicked")
}

/// The state of one server: takes it from one to the next, and tells all listeners.
///
/// When the supervisor ends, this value is dropped, and takes the server to its end by the shortest way.
pub(super) struct LifecycleTracker<T> {
    pub(super) life: ServerState,
    pub(super) shared: Arc<SupervisorShared<T>>,
    pub(super) changes: broadcast::Sender<LifecycleChange>,
    pub(super) audit: Option<Arc<dyn AuditPort>>,
}

impl<T> LifecycleTracker<T> {
    /// Goes to the state `to`. The method never waits for a listener.
    pub(super) fn go(&mut self, to: ServerState, outlook: ReturnOutlook, reason: Option<&str>) {
        let from = match take(&mut self.life, to) {
            Ok(from) => from,
            Err(error) => {
                debug_assert!(false, "{error}");
                tracing::error!(server = self.shared.server.as_str(), %error, "the state machine has no such transition");
                return;
            }
        };
        self.shared.position.send_modify(|position| (position.state, position.outlook) = (to, outlook));
        // A server that is down stays visible as down until there is another incarnation.
        if to == ServerState::Connected
            || from == ServerState::Connected && *self.shared.health.lock() != ServerHealth::Down
        {
            *self.shared.health.lock() = ServerHealth::Unknown;
        }
        tell(&self.changes, &self.shared.server, from, to, reason);
    }

    /// Notes that all orders up to this number are carried out.
    pub(super) fn served(&self, number: u64) {
        self.shared.position.send_modify(|position| position.served = position.served.max(number));
    }

    /// Sets the outlook without a change of state.
    pub(super) fn expect(&self, outlook: ReturnOutlook) {
        self.shared.position.send_modify(|position| position.outlook = outlook);
    }

    /// Records an event, without waiting: the log decides about an event for which it has no room.
    pub(super) fn record(&self, event: EventType, outcome: Outcome, reason: Option<&str>) {
        let Some(audit) = &self.audit else { return };
        let target = AuditTarget::new(Some(self.shared.server.clone()), None);
        let trace = TraceId::random();
        let event = AuditEvent::new(Timestamp::now(), trace, event, Actor::kernel(), target, outcome);
        let event = reason.into_iter().fold(event, |event, reason| event.with_detail("reason", reason));
        // A second panic during the drop would end the process.
        if catch_unwind(AssertUnwindSafe(|| audit.record_now(vec![event]))).is_err() {
            let server = self.shared.server.as_str();
            tracing::error!(server, "an event was not recorded: the log panicked");
        }
    }
}

const ENDED: &str = "the supervisor ended";

impl<T> Drop for LifecycleTracker<T> {
    fn drop(&mut self) {
        let was_there = matches!(self.life, ServerState::Connected | ServerState::Draining);
        while let Some(to) = to_the_end(self.life) {
            self.go(to, ReturnOutlook::Ended, Some(ENDED));
        }
        if was_there {
            self.record(EventType::ServerDisconnected, Outcome::Success, Some(ENDED));
        }
        self.expect(ReturnOutlook::Ended);
        self.shared.let_go();
    }
}

/// Returns the next state on the shortest way to one in which a server can stay.
const fn to_the_end(from: ServerState) -> Option<ServerState> {
    match from {
        ServerState::Registered | ServerState::Disconnected | ServerState::Error => None,
        ServerState::Connecting | ServerState::Restarting => Some(ServerState::Error),
        ServerState::Connected => Some(ServerState::Draining),
        ServerState::Draining => Some(ServerState::Disconnected),
    }
}
