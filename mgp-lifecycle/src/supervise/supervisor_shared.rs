//! The state that a supervisor shares with its handles and gates: the incarnation with its calls, and the orders.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use mgp_types::mgp::{ServerId, ServerState, ShutdownReason};
use mgp_types::{Error, Origin, Request, Response};
use parking_lot::Mutex;
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::probe::ServerHealth;
use crate::admission::{AdmissionCounter, AdmissionKind};
use crate::refusal::not_admitted;

/// The state that a supervisor shares with its handles and gates.
pub(super) struct SupervisorShared<T> {
    pub(super) server: ServerId,
    /// The incarnation that takes calls, as long as one is connected or drains.
    pub(super) live: ArcSwapOption<LiveServer<T>>,
    pub(super) position: watch::Sender<SupervisedStatus>,
    pub(super) health: Mutex<ServerHealth>,
    pub(super) orders: CommandSlot,
}

/// The state of the server, and its outlook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SupervisedStatus {
    pub(super) state: ServerState,
    pub(super) outlook: ReturnOutlook,
    /// The number of orders that are served.
    pub(super) served: u64,
}

/// The time at which a server that takes no calls will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReturnOutlook {
    /// The supervisor is gone, and no order is carried out.
    Ended,
    /// No step is planned.
    Never,
    /// The server is being connected to, or about to be.
    Soon,
    /// The next attempt is at this time.
    At(Instant),
}

impl ReturnOutlook {
    /// Returns the time until then; `None` if that is never.
    fn wait(self) -> Option<Duration> {
        match self {
            Self::Ended | Self::Never => None,
            Self::Soon => Some(Duration::ZERO),
            Self::At(time) => Some(time.saturating_duration_since(Instant::now())),
        }
    }
}

impl<T> SupervisorShared<T> {
    pub(super) fn new(server: ServerId) -> Self {
        let position =
            SupervisedStatus { state: ServerState::Registered, outlook: ReturnOutlook::Never, served: 0 };
        Self {
            server,
            live: ArcSwapOption::empty(),
            position: watch::Sender::new(position),
            health: Mutex::default(),
            orders: CommandSlot::default(),
        }
    }

    pub(super) fn position(&self) -> SupervisedStatus {
        *self.position.borrow()
    }

    /// Returns the refusal of a server that takes no calls now.
    pub(super) fn refusal(&self) -> Error {
        let position = self.position();
        let error = not_admitted(position.state, position.outlook.wait());
        // The message names the server, because callers may know several.
        let message = format!("`{}`: {}", self.server, error.message());
        error.with_message(message)
    }

    /// Counts a call of the current incarnation, if it takes calls.
    pub(super) fn enter(&self, request: &Request) -> Option<(InFlightCall<T>, OwnedNotified)> {
        self.live.load().as_ref()?.enter(request)
    }

    /// Returns the service of the server, if it takes calls.
    pub(super) fn service(&self) -> Option<T>
    where
        T: Clone,
    {
        let live = self.live.load();
        live.as_ref().filter(|live| !live.is_shut()).map(|live| live.service.clone())
    }

    /// Waits for the result of `get` while the server is being connected to.
    pub(super) async fn within<R>(&self, wait: Duration, get: impl Fn() -> Option<R>) -> Result<R, Error> {
        let mut position = self.position.subscribe();
        let found = async {
            loop {
                // The value is marked as seen before it is looked at, so that no change in between is missed.
                let now = *position.borrow_and_update();
                if let Some(found) = get() {
                    return Some(found);
                }
                // A server that is connected and takes no calls is about to change its state.
                if now.state != ServerState::Connected && now.outlook.wait().is_none() {
                    return None;
                }
                position.changed().await.ok()?;
            }
        };
        tokio::time::timeout(wait, found).await.ok().flatten().ok_or_else(|| self.refusal())
    }

    /// Gives an order, and sets the outlook of waiting calls if it is one to run.
    pub(super) fn order(&self, order: SupervisorCommand) -> u64 {
        let number = self.orders.give(order);
        if !matches!(order, SupervisorCommand::Stop { .. }) {
            self.position.send_if_modified(|position| {
                let hope = position.served < number && position.outlook == ReturnOutlook::Never;
                if hope {
                    position.outlook = ReturnOutlook::Soon;
                }
                hope
            });
        }
        number
    }

    /// Releases the incarnation. Its calls that are still there end.
    pub(super) fn let_go(&self) {
        if let Some(live) = self.live.swap(None) {
            live.end();
        }
    }
}

/// One incarnation of a server, and its calls in progress. A restarted server is another one.
pub(super) struct LiveServer<T> {
    pub(super) service: T,
    admission: AdmissionCounter,
    /// Notified when no answer can come any more.
    over: Arc<Notify>,
    /// True if the server has answered a call since somebody last looked.
    has_answered: AtomicBool,
}

impl<T> LiveServer<T> {
    pub(super) fn new(service: T) -> Self {
        let admission = AdmissionCounter::new(ServerState::Connected);
        Self { service, admission, over: Arc::default(), has_answered: AtomicBool::new(false) }
    }

    /// Counts a request, and returns its call with the wait for the time when no answer can come any more; `None` if the
    /// server does not take the request.
    fn enter(self: &Arc<Self>, request: &Request) -> Option<(InFlightCall<T>, OwnedNotified)> {
        // The wait begins before the check, so that no call that is let in misses the end.
        let over = Arc::clone(&self.over).notified_owned();
        let kind = AdmissionKind::of(&request.method);
        self.admission.enter(kind, request.role()).ok()?;
        Some((InFlightCall { live: Arc::clone(self), kind }, over))
    }

    /// Refuses all further calls but those that help others to finish.
    pub(super) fn shut(&self) {
        self.admission.set_state(ServerState::Draining);
    }

    fn is_shut(&self) -> bool {
        self.admission.inside().state() != ServerState::Connected
    }

    /// Returns the number of calls, without subscriptions.
    pub(super) fn in_flight(&self) -> u64 {
        self.admission.inside().calls()
    }

    /// Returns whether the server has answered a call since this was last asked.
    pub(super) fn take_answered(&self) -> bool {
        self.has_answered.swap(false, Ordering::Relaxed)
    }

    /// Waits until a server that is shut has no calls. Only one task can wait.
    pub(super) async fn idle(&self) {
        while self.in_flight() > 0 {
            self.admission.last_left.notified().await;
        }
    }

    /// Refuses all further requests, and ends the calls that are still there.
    fn end(&self) {
        self.shut();
        self.admission.end();
        self.over.notify_waiters();
    }
}

/// A call in progress, counted until it is dropped.
pub(super) struct InFlightCall<T> {
    pub(super) live: Arc<LiveServer<T>>,
    kind: AdmissionKind,
}

impl<T> InFlightCall<T> {
    /// Notes how the call ended, for probes: an answer proves life.
    pub(super) fn ended(&self, outcome: &Result<Response, Error>) {
        let is_answer = outcome.as_ref().map_or_else(|error| error.origin() == Origin::Peer, |_| true);
        // The line of memory is shared, so it is written only where it changes.
        if is_answer && !self.live.has_answered.load(Ordering::Relaxed) {
            self.live.has_answered.store(true, Ordering::Relaxed);
        }
    }
}

impl<T> Drop for InFlightCall<T> {
    fn drop(&mut self) {
        self.live.admission.leave(self.kind);
    }
}

/// An order to a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SupervisorCommand {
    Start,
    Restart { reason: ShutdownReason },
    Stop { reason: ShutdownReason, timeout: Duration },
}

/// The order that waits to be taken. There is one at most: a later order changes the one before.
#[derive(Debug, Default)]
pub(super) struct CommandSlot {
    slot: Mutex<CommandSlotState>,
    given: Notify,
}

#[derive(Debug, Default)]
struct CommandSlotState {
    waiting: Option<SupervisorCommand>,
    /// The count of orders.
    number: u64,
}

impl CommandSlot {
    /// Gives an order, and returns its number. The order is carried out when that number of orders is served.
    fn give(&self, order: SupervisorCommand) -> u64 {
        let mut slot = self.slot.lock();
        slot.waiting = Some(slot.waiting.map_or(order, |before| before.then(order)));
        slot.number += 1;
        self.given.notify_one();
        slot.number
    }

    /// Takes the next order and its number.
    pub(super) async fn taken(&self) -> (SupervisorCommand, u64) {
        loop {
            {
                let mut slot = self.slot.lock();
                if let Some(order) = slot.waiting.take() {
                    return (order, slot.number);
                }
            }
            self.given.notified().await;
        }
    }
}

impl SupervisorCommand {
    pub(super) const fn reason(self) -> Option<ShutdownReason> {
        if let Self::Restart { reason } | Self::Stop { reason, .. } = self { Some(reason) } else { None }
    }

    /// Returns the order that two orders, one after the other, amount to. No restart is lost.
    pub(super) const fn then(self, later: Self) -> Self {
        match (self, later) {
            (Self::Restart { .. }, Self::Start) => self,
            (Self::Stop { reason, .. }, Self::Start) => Self::Restart { reason },
            _ => later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: SupervisorCommand =
        SupervisorCommand::Stop { reason: ShutdownReason::OperatorRequest, timeout: Duration::from_secs(1) };
    const RESTART: SupervisorCommand =
        SupervisorCommand::Restart { reason: ShutdownReason::ConfigurationChange };

    #[tokio::test]
    async fn orders_that_nobody_took_become_one() {
        for (orders, expected) in [
            (vec![RESTART, SupervisorCommand::Start], RESTART),
            (
                vec![STOP, SupervisorCommand::Start],
                SupervisorCommand::Restart { reason: ShutdownReason::OperatorRequest },
            ),
            (vec![SupervisorCommand::Start, STOP], STOP),
            (vec![STOP, RESTART], RESTART),
            (vec![RESTART, STOP], STOP),
        ] {
            let slot = CommandSlot::default();
            let last = orders.iter().map(|order| slot.give(*order)).last().unwrap();
            assert_eq!(slot.taken().await, (expected, last), "{orders:?}");
            assert_eq!(slot.slot.lock().waiting, None);
        }
    }
}
