//! One subscription at the server: its filter, its last events, which are also the queue to its client, and its limits.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mgp_types::ext::OwnSubscription;
use mgp_types::mgp::{
    ChannelPattern, Event, EventFilter, EventGap, EventReplay, EventReplayed, SubscriptionId,
};
use mgp_types::{Method, Outbox, Principal, Request};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::gate::AudienceMember;
use super::publisher::PublishedEvent;
use super::registry::{FeedAttachment, SubscriptionRegistry};
use super::terms::SubscriptionTerms;
use crate::session::SessionKey;

/// One subscription as its publisher sees it: its filter, and the last events for it.
pub(super) struct EventFeed {
    /// The id by which the client knows the subscription.
    pub(super) id: SubscriptionId,
    pub(super) spectator: AudienceMember,
    pub(super) patterns: Vec<ChannelPattern>,
    /// The wanted severities. Other events get no number, or their absence would look like a loss.
    pub(super) filter: EventFilter,
    /// The wishes beyond channels and severity.
    pub(super) terms: SubscriptionTerms,
    buffer: Mutex<Buffer>,
    /// Wakes the task that sends the events; there is one at most.
    wake: Notify,
    /// Set once the subscription is over.
    closed: AtomicBool,
}

/// The bytes of an event beside its data, about.
const EVENT_BYTES: usize = 256;

/// The bytes of the events in one answer at most, if there is more than one.
const MAX_REPLAYED_BYTES: usize = 1 << 20;

/// The number of events in one answer at most.
const MAX_REPLAYED: u64 = 1000;

impl EventFeed {
    pub(super) fn new(
        id: SubscriptionId,
        spectator: AudienceMember,
        patterns: Vec<ChannelPattern>,
        filter: EventFilter,
        terms: SubscriptionTerms,
        bounds: Bounds,
    ) -> Self {
        let (buffer, wake) = (Mutex::new(Buffer::new(bounds)), Notify::new());
        Self { id, spectator, patterns, filter, terms, buffer, wake, closed: AtomicBool::new(false) }
    }

    /// Returns the subscription as its owner's list has it.
    pub(super) fn describe(&self) -> OwnSubscription {
        let events = self.patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect();
        OwnSubscription::new(self.id.clone(), events, self.terms.expires_at(), self.last_seq())
    }

    /// Returns whether the time of the subscription is over.
    pub(super) fn is_past(&self, now: Instant) -> bool {
        self.terms.ends().is_some_and(|end| end <= now)
    }

    /// Returns whether the subscriber may see the event. Events that may not be seen get no number either.
    pub(super) fn sees(&self, channel: &str, concerns: impl Fn(Option<&Principal>) -> bool) -> bool {
        self.spectator.sees(channel) && concerns(self.spectator.principal.as_ref())
    }

    pub(super) fn push(&self, event: &Arc<PublishedEvent>) {
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
        self.buffer.lock().last_seq
    }

    pub(super) fn gap_after(&self, seq: u64) -> Option<EventGap> {
        self.buffer.lock().gap_after(seq)
    }

    /// Waits for the first kept event after number `seq`.
    ///
    /// # Cancel safety
    /// Nothing is taken away, so nothing is lost.
    pub(super) async fn next_after(&self, seq: u64) -> Event {
        loop {
            let wake = self.wake.notified();
            let next = self.buffer.lock().after(seq).next().map(|(seq, event)| (seq, Arc::clone(event)));
            if let Some((seq, event)) = next {
                return event.to_event(self.id.clone(), &self.patterns, seq);
            }
            wake.await;
        }
    }

    /// Waits for the first kept event after number `seq`; returns `None` once the time of the subscription is over.
    ///
    /// # Cancel safety
    /// Nothing is taken away, so nothing is lost.
    async fn next_in_time(&self, seq: u64) -> Option<Event> {
        match self.terms.ends() {
            Some(end) if end <= Instant::now() => None,
            Some(end) => timeout_at(end, self.next_after(seq)).await.ok(),
            None => Some(self.next_after(seq).await),
        }
    }

    /// Answers a replay. The answer has to fit into a frame of the client, which asks again for the rest.
    pub(super) fn replay(&self, asked: &EventReplay) -> EventReplayed {
        let limit = asked.limit.unwrap_or(MAX_REPLAYED).min(MAX_REPLAYED);
        let buffer = self.buffer.lock();
        let mut bytes = 0;
        let fits = |(_, event): &(u64, &Arc<PublishedEvent>)| {
            let is_first = bytes == 0;
            bytes += event.bytes + EVENT_BYTES;
            is_first || bytes <= MAX_REPLAYED_BYTES
        };
        let wanted =
            buffer.after(asked.after_seq).take(usize::try_from(limit).unwrap_or(usize::MAX)).take_while(fits);
        let events =
            wanted.map(|(seq, event)| event.to_event(self.id.clone(), &self.patterns, seq)).collect();
        let mut answer = EventReplayed::new(events);
        answer.gap = buffer.gap_after(asked.after_seq);
        answer.last_seq = buffer.last_seq;
        answer
    }
}

mgp_types::partial_debug!(EventFeed, self => patterns: self.patterns);

/// The way of events to their client.
#[derive(Debug, Clone)]
pub(super) enum EventRoute {
    /// The session, for as long as it lasts.
    Session(SessionKey),
    /// The stream of a request that listens.
    Stream(Outbox),
}

impl EventRoute {
    /// Sends a notification, and returns whether the way goes on.
    async fn send(&self, notification: Request) -> bool {
        match self {
            Self::Session(session) => match session.session() {
                Some(session) => session.outbox.notify(notification).await.is_ok(),
                None => false,
            },
            Self::Stream(outbox) => outbox.notify(notification).await.is_ok(),
        }
    }
}

/// Sends the events of `feed` after number `seq` in order, until the way or the time of the subscription ends.
///
/// The task holds no event but the one that it sends: a task that falls behind goes on with the next kept event, and
/// the client sees by the numbers which events are missing.
pub(super) async fn pump(
    feed: Arc<EventFeed>,
    way: EventRoute,
    mut seq: u64,
    attachment: FeedAttachment,
    registry: Weak<SubscriptionRegistry>,
) {
    while let Some(event) = feed.next_in_time(seq).await {
        let is_after_gap = event.seq.is_some_and(|next| next > seq.saturating_add(1));
        seq = event.seq.unwrap_or(seq);
        let Some(params) = feed.terms.write(&event, is_after_gap) else { continue };
        //= mgp §13.3
        //# After subscription, the server emits events as notifications
        if !way.send(Request::notify(Method::EVENT, params)).await {
            if let Some(registry) = registry.upgrade() {
                registry.detach(&attachment);
            }
            return;
        }
    }
    if let Some(end) = feed.terms.end(&feed.id) {
        way.send(end).await;
    }
    if let Some(registry) = registry.upgrade() {
        registry.withdraw(&attachment);
    }
}

/// The last events of one subscription, numbered from 1 without gaps. The buffer is the queue to the client too: an
/// event that was not sent when it leaves the buffer is lost, and the numbers tell.
#[derive(Debug)]
pub(super) struct Buffer {
    events: VecDeque<Arc<PublishedEvent>>,
    pub(super) last_seq: u64,
    bytes: usize,
    bounds: Bounds,
}

/// The limits of a buffer; the last event is always kept.
#[derive(Debug, Clone, Copy)]
pub(in crate::event) struct Bounds {
    pub(in crate::event) events: usize,
    pub(in crate::event) bytes: usize,
}

impl Buffer {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { events: VecDeque::new(), last_seq: 0, bytes: 0, bounds }
    }

    pub(super) fn push(&mut self, event: Arc<PublishedEvent>) {
        self.last_seq += 1;
        self.bytes += event.bytes;
        self.events.push_back(event);
        while self.events.len() > 1
            && (self.events.len() > self.bounds.events || self.bytes > self.bounds.bytes)
        {
            self.bytes -= self.events.pop_front().map_or(0, |event| event.bytes);
        }
    }

    /// Returns the events after number `seq` that are kept, with their numbers.
    pub(super) fn after(&self, seq: u64) -> impl Iterator<Item = (u64, &Arc<PublishedEvent>)> {
        let first = self.first_seq();
        let skipped = usize::try_from((seq.saturating_add(1)).saturating_sub(first)).unwrap_or(usize::MAX);
        (first..).zip(&self.events).skip(skipped)
    }

    /// Returns the range of events after number `seq` that are not kept any more.
    pub(super) fn gap_after(&self, seq: u64) -> Option<EventGap> {
        let from = seq.saturating_add(1);
        (from < self.first_seq()).then(|| EventGap { from, to: self.first_seq() - 1 })
    }

    /// Returns the number of the first event that is kept.
    fn first_seq(&self) -> u64 {
        self.last_seq + 1 - self.events.len() as u64
    }
}

mgp_types::with_defaults! {
    /// The limits of the subscriptions of clients, and of the memory for them. Default: 32 subscriptions of one owner,
    /// 1,024 in all, 64 channels in each; an unused one is kept for an hour; the last 1,000 events of each, or 4 MiB of
    /// them, can be sent again.
    #[derive(Debug, Clone)]
    pub(in crate::event) struct EventQuotas {
        /// The number of subscriptions of one owner: a principal, or the session of an anonymous client. A principal that
        /// wants one more loses the subscription that it has not used for longest, if that one goes nowhere.
        pub(in crate::event) per_owner: usize = 32,
        /// The number of subscriptions in all. Anonymous clients have half of them, so that they leave room for others.
        pub(in crate::event) in_all: usize = 1024,
        /// The number of names and patterns of channels that a subscription may list.
        pub(in crate::event) channels: usize = 64,
        /// The time for which a subscription is kept that is neither connected nor asked for.
        pub(in crate::event) idle_timeout: Duration = Duration::from_hours(1),
        /// The events of a subscription that can be sent again. The last event is kept however large it is; subscriptions
        /// share the data of an event, so that all of them together take less than the sum.
        pub(in crate::event) bounds: Bounds = Bounds { events: 1000, bytes: 4 * 1024 * 1024 },
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::Object;
    use mgp_types::mgp::{EventSeverity, Timestamp};
    use proptest::prelude::*;

    use super::*;

    fn event(bytes: usize) -> Arc<PublishedEvent> {
        Arc::new(PublishedEvent {
            channel: "c".parse().unwrap(),
            other_name: None,
            timestamp: Timestamp::EPOCH,
            severity: Some(EventSeverity::Info),
            data: Object::new(),
            hint: None,
            bytes,
        })
    }

    proptest! {
        #[test]
        fn what_is_asked_for_is_kept_or_in_the_gap(
            sizes in proptest::collection::vec(0..50usize, 0..60),
            bounds in (1..20usize, 1..200usize),
            seq in prop_oneof![0..70u64, Just(u64::MAX)],
        ) {
            let mut buffer = Buffer::new(Bounds { events: bounds.0, bytes: bounds.1 });
            for size in &sizes {
                buffer.push(event(*size));
                prop_assert!(buffer.events.len() <= bounds.0);
                prop_assert!(buffer.bytes <= bounds.1 || buffer.events.len() == 1);
            }
            let last = sizes.len() as u64;
            prop_assert_eq!(buffer.last_seq, last);
            let kept: Vec<u64> = buffer.after(seq).map(|(seq, _)| seq).collect();
            let lost = buffer.gap_after(seq).map_or_else(Vec::new, |gap| (gap.from..=gap.to).collect());
            let all: Vec<u64> = lost.into_iter().chain(kept).collect();
            prop_assert_eq!(all, (seq.saturating_add(1)..=last).collect::<Vec<_>>());
        }
    }
}
