use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// One incarnation of a server, and the calls it works on. A restarted server is another one.
pub(super) struct Live<T> {
    service: T,
    /// How many calls there are, and whether there may be more: one word, so that no call gets in once it is shut.
    calls: AtomicUsize,
    /// Told when the last call leaves.
    idle: Notify,
    /// Told when no answer can come any more.
    over: Arc<Notify>,
}

impl<T> Live<T> {
    pub(super) fn new(service: T) -> Self {
        Self { service, calls: AtomicUsize::new(0), idle: Notify::new(), over: Arc::default() }
    }

    pub(super) const fn service(&self) -> &T {
        &self.service
    }

    /// Counts a call; `None` if the server takes none.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Entered<T>> {
        // Whoever is let in hears of the end, for it comes after the server was shut.
        let over = Arc::clone(&self.over).notified_owned();
        let before = self.calls.fetch_add(1, Ordering::AcqRel);
        // Its drop uncounts the call, let in or not.
        let call = InFlight { live: Arc::clone(self) };
        (before & SHUT == 0).then_some(Entered { call, over })
    }

    /// Lets no more calls in.
    pub(super) fn shut(&self) {
        self.calls.fetch_or(SHUT, Ordering::AcqRel);
    }

    pub(super) fn is_shut(&self) -> bool {
        self.calls.load(Ordering::Acquire) & SHUT != 0
    }

    pub(super) fn in_flight(&self) -> usize {
        self.calls.load(Ordering::Acquire) & !SHUT
    }

    /// Waits until a server that is shut has no calls. Only one can wait.
    pub(super) async fn idle(&self) {
        while self.in_flight() > 0 {
            self.idle.notified().await;
        }
    }

    /// Ends the calls that are still there; it has to be shut before.
    pub(super) fn end(&self) {
        self.over.notify_waiters();
    }

    fn leave(&self) {
        if self.calls.fetch_sub(1, Ordering::AcqRel) == SHUT | 1 {
            self.idle.notify_one();
        }
    }
}

/// A call that was let in.
pub(super) struct Entered<T> {
    pub(super) call: InFlight<T>,
    /// Done when no answer can come any more.
    pub(super) over: OwnedNotified,
}

/// A call that the server works on, until it is dropped.
pub(super) struct InFlight<T> {
    live: Arc<Live<T>>,
}

impl<T> InFlight<T> {
    pub(super) fn service(&self) -> &T {
        &self.live.service
    }
}

impl<T> Drop for InFlight<T> {
    fn drop(&mut self) {
        self.live.leave();
    }
}

/// The bit that no count of calls reaches.
const SHUT: usize = 1 << (usize::BITS - 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_idle_when_the_last_call_left_and_lets_nobody_in_once_shut() {
        let live = Arc::new(Live::new(()));
        let (one, two) = (live.enter().unwrap(), live.enter().unwrap());
        live.shut();
        assert!(live.enter().is_none() && live.is_shut());
        assert_eq!(live.in_flight(), 2);
        let waiting = tokio::spawn({
            let live = Arc::clone(&live);
            async move { live.idle().await }
        });
        drop(one);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(two);
        waiting.await.unwrap();
    }
}
