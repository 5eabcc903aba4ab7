//! The state of a supervised server, told to all listeners.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort, AuditTarget, EventType, LifecycleChange, Outcome, ServerState, Timestamp,
    TraceId,
};
use tokio::sync::broadcast;

use super::probe::ServerHealth;
use super::supervisor_shared::{ReturnOutlook, SupervisorShared};
use crate::state::{take, tell};

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
