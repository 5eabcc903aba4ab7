use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort, AuditTarget, EventType, LifecycleChange, Outcome, ServerState, Timestamp,
};
use tokio::sync::broadcast;

use super::pulse::Health;
use super::shared::{Outlook, Shared};
use crate::chance;
use crate::changes::tell;
use crate::state::Lifecycle;

/// The course of one server's life: takes it from state to state, and tells everybody who wants to know.
///
/// Whatever ends the supervisor drops it; it then takes the server to the end by the shortest way there is.
pub(super) struct Course<T> {
    life: Lifecycle,
    shared: Arc<Shared<T>>,
    changes: broadcast::Sender<LifecycleChange>,
    audit: Option<Arc<dyn AuditPort>>,
}

impl<T> Course<T> {
    pub(super) fn new(
        shared: Arc<Shared<T>>,
        changes: broadcast::Sender<LifecycleChange>,
        audit: Option<Arc<dyn AuditPort>>,
    ) -> Self {
        Self { life: Lifecycle::default(), shared, changes, audit }
    }

    pub(super) const fn state(&self) -> ServerState {
        self.life.state()
    }

    /// Goes to `to`. Nobody who listens can hold it up.
    pub(super) fn go(&mut self, to: ServerState, outlook: Outlook, reason: Option<&str>) {
        let from = match self.life.go(to) {
            Ok(from) => from,
            Err(error) => {
                debug_assert!(false, "{error}");
                tracing::error!(server = self.shared.server.as_str(), %error, "no such transition");
                return;
            }
        };
        self.shared.position.send_modify(|position| (position.state, position.outlook) = (to, outlook));
        // That a server is down stays to be seen until there is another.
        if to == ServerState::Connected || from == ServerState::Connected && self.health() != Health::Down {
            self.shared.health.send_if_modified(|health| std::mem::take(health) != Health::Unknown);
        }
        tell(&self.changes, &self.shared.server, from, to, reason);
    }

    fn health(&self) -> Health {
        *self.shared.health.borrow()
    }

    /// Everything up to the order with this number is carried out.
    pub(super) fn served(&self, number: u64) {
        self.shared.position.send_modify(|position| position.served = position.served.max(number));
    }

    /// The state stays, and this is to be expected.
    pub(super) fn expect(&self, outlook: Outlook) {
        self.shared.position.send_modify(|position| position.outlook = outlook);
    }

    pub(super) fn record_connected(&self) {
        self.record(EventType::ServerConnected, Outcome::Success, None);
    }

    pub(super) fn record_disconnected(&self, outcome: Outcome, reason: &str) {
        self.record(EventType::ServerDisconnected, outcome, Some(reason));
    }

    /// It has happened, and nothing waits for the record: the log decides what becomes of an event it has no room for.
    fn record(&self, event: EventType, outcome: Outcome, reason: Option<&str>) {
        let Some(audit) = &self.audit else { return };
        let target = AuditTarget::new(Some(self.shared.server.clone()), None);
        let trace = chance::trace();
        let mut event = AuditEvent::new(Timestamp::now(), trace, event, Actor::kernel(), target, outcome);
        if let Some(reason) = reason {
            event = event.with_detail("reason", reason);
        }
        // A panic on the way to the end would be a second one, which ends the process.
        if catch_unwind(AssertUnwindSafe(|| audit.record_now(vec![event]))).is_err() {
            tracing::error!(
                server = self.shared.server.as_str(),
                "an event was not recorded: the log panicked"
            );
        }
    }
}

impl<T> Drop for Course<T> {
    fn drop(&mut self) {
        let was_there = matches!(self.state(), ServerState::Connected | ServerState::Draining);
        while let Some(to) = to_the_end(self.state()) {
            self.go(to, Outlook::Ended, Some(ENDED));
        }
        if was_there {
            self.record_disconnected(Outcome::Success, ENDED);
        }
        self.expect(Outlook::Ended);
        self.shared.let_go();
    }
}

/// The next state on the shortest way to one in which a server can stay.
const fn to_the_end(from: ServerState) -> Option<ServerState> {
    match from {
        ServerState::Registered | ServerState::Disconnected | ServerState::Error => None,
        ServerState::Connecting | ServerState::Restarting => Some(ServerState::Error),
        ServerState::Connected => Some(ServerState::Draining),
        ServerState::Draining => Some(ServerState::Disconnected),
    }
}

const ENDED: &str = "the supervisor ended";
