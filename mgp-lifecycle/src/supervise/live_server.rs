//! One incarnation of a server, with its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mgp_types::mgp::ServerState;
use mgp_types::{Error, Origin, Request, Response};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use crate::admission::{AdmissionCounter, AdmissionKind};

/// One incarnation of a server, and its calls in progress. A restarted server is another one.
pub(super) struct LiveServer<T> {
    pub(super) service: T,
    turnstile: AdmissionCounter,
    /// Notified when no answer can come any more.
    over: Arc<Notify>,
    /// True if the server has answered a call since somebody last looked.
    has_answered: AtomicBool,
}

impl<T> LiveServer<T> {
    pub(super) fn new(service: T) -> Self {
        let turnstile = AdmissionCounter::new(ServerState::Connected);
        Self { service, turnstile, over: Arc::default(), has_answered: AtomicBool::new(false) }
    }

    /// Counts a request, and returns its call with the wait for the time when no answer can come any more; `None` if the
    /// server does not take the request.
    pub(super) fn enter(self: &Arc<Self>, request: &Request) -> Option<(InFlightCall<T>, OwnedNotified)> {
        // The wait begins before the check, so that no call that is let in misses the end.
        let over = Arc::clone(&self.over).notified_owned();
        let seat = AdmissionKind::of(&request.method);
        self.turnstile.enter(seat, request.role()).ok()?;
        Some((InFlightCall { live: Arc::clone(self), seat }, over))
    }

    /// Refuses all further calls but those that help others to finish.
    pub(super) fn shut(&self) {
        self.turnstile.set_state(ServerState::Draining);
    }

    pub(super) fn is_shut(&self) -> bool {
        self.turnstile.inside().state() != ServerState::Connected
    }

    /// Returns the number of calls, without subscriptions.
    pub(super) fn in_flight(&self) -> u64 {
        self.turnstile.inside().calls()
    }

    /// Returns whether the server has answered a call since this was last asked.
    pub(super) fn take_answered(&self) -> bool {
        self.has_answered.swap(false, Ordering::Relaxed)
    }

    /// Waits until a server that is shut has no calls. Only one task can wait.
    pub(super) async fn idle(&self) {
        while self.in_flight() > 0 {
            self.turnstile.stirred.notified().await;
        }
    }

    /// Refuses all further requests, and ends the calls that are still there.
    pub(super) fn end(&self) {
        self.shut();
        self.turnstile.end();
        self.over.notify_waiters();
    }
}

/// A call in progress, counted until it is dropped.
pub(super) struct InFlightCall<T> {
    pub(super) live: Arc<LiveServer<T>>,
    seat: AdmissionKind,
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
        self.live.turnstile.leave(self.seat);
    }
}
