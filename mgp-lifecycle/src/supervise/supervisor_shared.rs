//! The state that a supervisor shares with its handles and gates.

use std::time::Duration;

use arc_swap::ArcSwapOption;
use mgp_types::mgp::{ServerId, ServerState};
use mgp_types::{Error, Request};
use parking_lot::Mutex;
use tokio::sync::futures::OwnedNotified;
use tokio::sync::watch;
use tokio::time::Instant;

use super::command::{CommandSlot, SupervisorCommand};
use super::health_tracker::ServerHealth;
use super::live_server::{InFlightCall, LiveServer};
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
