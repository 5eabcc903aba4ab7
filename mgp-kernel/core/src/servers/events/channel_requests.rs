//! The requests for channels that clients make, while servers are asked for them.
//!
//! What a subscription is for is known to the publisher. Before there is one, its channels are here: the client is told
//! which of them exist, and that is known only once the servers were asked.

use std::collections::BTreeMap;

use mgp_types::Principal;
use mgp_types::mgp::ChannelPattern;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The requests that are being answered, by their numbers, and the number of the last one.
#[derive(Default)]
pub(super) struct ChannelRequests {
    open: Mutex<BTreeMap<u64, (Principal, Vec<ChannelPattern>)>>,
    last: watch::Sender<u64>,
}

impl ChannelRequests {
    pub(super) fn begin(&self, who: Principal, channels: Vec<ChannelPattern>) -> ChannelRequest<'_> {
        let mut open = self.open.lock();
        let number = self.last() + 1;
        open.insert(number, (who, channels));
        self.last.send_replace(number);
        ChannelRequest { requests: self, number }
    }

    pub(super) fn last(&self) -> u64 {
        *self.last.borrow()
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// Waits until all requests up to this number are answered.
    pub(super) async fn answered(&self, number: u64) {
        let mut changes = self.changes();
        while self.open.lock().keys().next().is_some_and(|first| *first <= number) {
            // Waiting fails only if the sender is gone, and `self` holds it.
            let _ = changes.changed().await;
        }
    }

    /// Calls `visit` with each channel that is asked for, and who asks.
    pub(super) fn for_each(&self, mut visit: impl FnMut(Option<&Principal>, &ChannelPattern)) {
        for (who, channels) in self.open.lock().values() {
            for channel in channels {
                visit(Some(who), channel);
            }
        }
    }
}

/// The channels that a client asks for. Servers are asked for them until this value is dropped.
#[must_use]
pub(crate) struct ChannelRequest<'a> {
    requests: &'a ChannelRequests,
    /// The number of the request.
    pub(crate) number: u64,
}

impl Drop for ChannelRequest<'_> {
    fn drop(&mut self) {
        self.requests.open.lock().remove(&self.number);
        self.requests.last.send_modify(|_| ());
    }
}

/// A receiver of the changes of what clients name.
pub(crate) struct ChannelChanges {
    pub(super) subscribed: watch::Receiver<u64>,
    pub(super) requested: watch::Receiver<u64>,
}

impl ChannelChanges {
    pub(crate) fn mark_unchanged(&mut self) {
        self.subscribed.mark_unchanged();
        self.requested.mark_unchanged();
    }

    /// Waits for a change.
    ///
    /// # Cancel safety
    /// A change that nobody was told of is told of the next time.
    pub(crate) async fn changed(&mut self) {
        // The senders last as long as the kernel.
        tokio::select! {
            _ = self.subscribed.changed() => {}
            _ = self.requested.changed() => {}
        }
    }
}
