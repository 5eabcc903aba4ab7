use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mgp_types::Principal;
use mgp_types::mgp::{
    ChannelPattern, Event, EventFilter, EventGap, EventReplay, EventReplayed, EventSeverity, SubscriptionId,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::audience::Spectator;
use super::board::Published;
use super::buffer::{Bounds, Buffer};

/// One subscription as its publisher sees it: what it wants, and the last events it got.
pub(super) struct Feed {
    id: SubscriptionId,
    spectator: Spectator,
    patterns: Vec<ChannelPattern>,
    filter: EventFilter,
    buffer: Mutex<Buffer>,
    /// Wakes whoever sends the events; there is one at most.
    wake: Notify,
    /// The subscription is over.
    closed: AtomicBool,
}

impl Feed {
    pub(super) fn new(
        id: SubscriptionId,
        spectator: Spectator,
        patterns: Vec<ChannelPattern>,
        filter: EventFilter,
        bounds: Bounds,
    ) -> Self {
        let (buffer, wake) = (Mutex::new(Buffer::new(bounds)), Notify::new());
        Self { id, spectator, patterns, filter, buffer, wake, closed: AtomicBool::new(false) }
    }

    pub(super) const fn spectator(&self) -> &Spectator {
        &self.spectator
    }

    pub(super) fn patterns(&self) -> &[ChannelPattern] {
        &self.patterns
    }

    pub(super) fn wants_channel(&self, channel: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(channel))
    }

    /// Events that are not wanted get no number, or their absence would look like a loss.
    pub(super) fn wants_severity(&self, severity: EventSeverity) -> bool {
        self.filter.includes(severity)
    }

    /// Events that may not be seen get no number either.
    pub(super) fn sees(&self, channel: &str, concerns: impl Fn(Option<&Principal>) -> bool) -> bool {
        self.spectator.sees(channel) && concerns(self.spectator.principal.as_ref())
    }

    pub(super) fn push(&self, event: &Arc<Published>) {
        self.buffer.lock().push(Arc::clone(event));
        self.wake.notify_one();
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    pub(super) fn last_seq(&self) -> u64 {
        self.buffer.lock().last_seq()
    }

    pub(super) fn gap_after(&self, seq: u64) -> Option<EventGap> {
        self.buffer.lock().gap_after(seq)
    }

    /// The first event after number `seq` that is kept; waits for one.
    ///
    /// # Cancel safety
    /// Nothing is taken away, so nothing is lost.
    pub(super) async fn next_after(&self, seq: u64) -> Event {
        loop {
            let wake = self.wake.notified();
            let next = self.buffer.lock().after(seq).next().map(|(seq, event)| (seq, Arc::clone(event)));
            if let Some((seq, event)) = next {
                return event.to_event(self.id.clone(), seq);
            }
            wake.await;
        }
    }

    /// Answers a replay. The answer has to fit into a frame of the client, which asks again for what there is more of.
    pub(super) fn replay(&self, asked: &EventReplay) -> EventReplayed {
        let limit = asked.limit.unwrap_or(MAX_REPLAYED).min(MAX_REPLAYED);
        let buffer = self.buffer.lock();
        let mut bytes = 0;
        let fits = |(_, event): &(u64, &Arc<Published>)| {
            let is_first = bytes == 0;
            bytes += event.bytes + EVENT_BYTES;
            is_first || bytes <= MAX_REPLAYED_BYTES
        };
        let wanted =
            buffer.after(asked.after_seq).take(usize::try_from(limit).unwrap_or(usize::MAX)).take_while(fits);
        let events = wanted.map(|(seq, event)| event.to_event(self.id.clone(), seq)).collect();
        let mut answer = EventReplayed::default();
        answer.events = events;
        answer.gap = buffer.gap_after(asked.after_seq);
        answer.last_seq = buffer.last_seq();
        answer
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("patterns", &self.patterns).finish_non_exhaustive()
    }
}

/// How many events one answer brings at most.
const MAX_REPLAYED: u64 = 1000;
/// How large they are together, if they are more than one.
const MAX_REPLAYED_BYTES: usize = 1 << 20;
/// About what an event has beside its data.
const EVENT_BYTES: usize = 256;
