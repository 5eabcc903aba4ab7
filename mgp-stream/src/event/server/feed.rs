use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::{
    ChannelPattern, Event, EventFilter, EventGap, EventReplay, EventReplayed, EventSeverity, SubscriptionId,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::board::Published;
use super::buffer::{Bounds, Buffer};

/// One subscription as its publisher sees it: what it wants, and the last events it got.
pub(super) struct Feed {
    id: SubscriptionId,
    patterns: Vec<ChannelPattern>,
    filter: EventFilter,
    buffer: Mutex<Buffer>,
    /// Wakes whoever sends the events; there is one at most.
    wake: Notify,
}

impl Feed {
    pub(super) fn new(
        id: SubscriptionId,
        patterns: Vec<ChannelPattern>,
        filter: EventFilter,
        bounds: Bounds,
    ) -> Self {
        Self { id, patterns, filter, buffer: Mutex::new(Buffer::new(bounds)), wake: Notify::new() }
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

    pub(super) fn push(&self, event: &Arc<Published>) {
        self.buffer.lock().push(Arc::clone(event));
        self.wake.notify_one();
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

    /// Answers a replay.
    pub(super) fn replay(&self, asked: &EventReplay) -> EventReplayed {
        let limit = asked.limit.unwrap_or(MAX_REPLAYED).min(MAX_REPLAYED);
        let buffer = self.buffer.lock();
        let wanted = buffer.after(asked.after_seq).take(usize::try_from(limit).unwrap_or(usize::MAX));
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
