//! The order of the events of one subscription, without IO.

use std::collections::{BTreeMap, VecDeque};

use mgp_types::mgp::{Event, EventReplayed, EventSubscribed, SubscriptionId};

/// Puts the events of one subscription in order, whether they come in any order, repeatedly, or not at all. The
/// assembly does no IO: it says what to ask the server for, and is given the answer.
///
/// Each event is given out once. A missing event is [asked for](Self::question); an event that the server does not
/// bring then is reported as [missed](EventItem::Missed), in its place. Memory is bounded: of numbered events the last
/// ones are dropped and asked for again when there is room, of other events the number of dropped ones is noted.
///
/// A server that numbers the events of each subscription says where the numbers begin. Events of others are given out
/// as they arrive.
///
/// ```
/// use mgp_stream::event::{EventAssembly, EventItem};
/// use mgp_types::Object;
/// use mgp_types::mgp::{Event, EventSubscribed, SubscriptionId, Timestamp};
///
/// let id = SubscriptionId::new("sub-001");
/// let mut answer = EventSubscribed::new(id.clone());
/// answer.last_seq = Some(0);
/// let mut assembly = EventAssembly::new(&answer);
/// let event = |seq| Event::new(id.clone(), "system.error", Timestamp::EPOCH, Object::new()).with_seq(seq);
/// assembly.push(event(2));
/// assert!(assembly.pop().is_none());
/// assert_eq!(assembly.question().map(|question| question.after_seq), Some(0));
/// assembly.push(event(1));
/// assert_eq!(assembly.pop(), Some(EventItem::Event(event(1))));
/// assert_eq!(assembly.pop(), Some(EventItem::Event(event(2))));
/// ```
#[derive(Debug)]
pub struct EventAssembly {
    /// The subscription of the events; `None` after its end.
    id: Option<SubscriptionId>,
    /// The number of the next event to give out, if events are numbered.
    next: Option<u64>,
    /// The numbered events that wait for earlier events, or for the reader.
    held: BTreeMap<u64, Event>,
    held_bytes: usize,
    /// The items that go out as they came.
    queue: VecDeque<EventItem>,
    queue_bytes: usize,
    /// The greatest number that is known to exist.
    seen: u64,
    /// The number up to which events that are not held do not come any more.
    lost_to: u64,
}

/// An item that a subscription gives out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "nearly all items are events")]
pub enum EventItem {
    /// An event.
    Event(Event),
    /// Lost events: they did not arrive, and the server does not have them any more.
    Missed {
        /// The number of the first lost event.
        from: u64,
        /// The number of the last lost event.
        to: u64,
    },
    /// The count of events without numbers that came faster than they were read, and are lost.
    Dropped(u64),
    /// The server does not know the subscription any more: events since the last one are lost, and none follow.
    Gone,
}

/// A question to a server, asked with `mgp/events/replay`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventReplayRequest {
    /// The number after which events are wanted.
    pub after_seq: u64,
    /// The number of wanted events at most.
    pub limit: u64,
    /// The number up to which events are known to exist.
    pub(super) until: u64,
}

/// The number of events that one question asks for.
const MAX_QUESTION: u64 = 500;

/// The bytes of the waiting events at most, if there is more than one.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The number of events that wait at most.
const MAX_EVENTS: usize = 1024;

/// The number that no event has, so that there is always a next number.
const MAX_SEQ: u64 = u64::MAX;

impl EventAssembly {
    /// Creates the assembly for a subscription that was just opened.
    pub fn new(answer: &EventSubscribed) -> Self {
        let last = answer.last_seq.map(|last| last.min(MAX_SEQ - 1));
        Self {
            id: Some(answer.subscription_id.clone()),
            next: last.map(|last| last + 1),
            held: BTreeMap::new(),
            held_bytes: 0,
            queue: VecDeque::new(),
            queue_bytes: 0,
            seen: last.unwrap_or(0),
            lost_to: last.unwrap_or(0),
        }
    }

    /// Takes an event that was pushed. An event that came before or is of another subscription is ignored.
    pub fn push(&mut self, event: Event) {
        if self.id.as_ref() != Some(&event.subscription_id) {
            return;
        }
        match (self.next, event.seq) {
            (Some(next), Some(seq)) if (1..MAX_SEQ).contains(&seq) => {
                self.seen = self.seen.max(seq);
                if seq >= next && !self.held.contains_key(&seq) {
                    self.held_bytes += bytes_of(&event);
                    self.held.insert(seq, event);
                }
                // The last events are dropped, because the server keeps those longest.
                while self.held.len() > 1 && (self.held.len() > MAX_EVENTS || self.held_bytes > MAX_BYTES) {
                    self.held_bytes -= self.held.pop_last().map_or(0, |(_, event)| bytes_of(&event));
                }
            }
            _ => self.enqueue(event),
        }
    }

    /// Takes the answer to a question. Events that were asked for and are not in the answer are lost.
    pub fn replayed(&mut self, question: EventReplayRequest, answer: EventReplayed) {
        let new = answer.events.iter().filter_map(|event| event.seq).filter(|seq| *seq > question.after_seq);
        let passed_over = new.min().map_or(question.until, |first| first - 1);
        self.lose_to(passed_over);
        if let Some(gap) = answer.gap {
            self.lose_to(gap.to);
        }
        answer.events.into_iter().for_each(|event| self.push(event));
    }

    /// Notes that the server has events up to the number `last_seq`.
    pub fn expect(&mut self, last_seq: u64) {
        self.seen = self.seen.max(last_seq.min(MAX_SEQ - 1));
    }

    /// Notes that events up to the number `seq` that did not arrive do not come any more.
    pub fn lose_to(&mut self, seq: u64) {
        self.lost_to = self.lost_to.max(seq.min(MAX_SEQ - 1));
    }

    /// Takes out the next item, if there is one.
    pub fn pop(&mut self) -> Option<EventItem> {
        if let Some(item) = self.queue.pop_front() {
            if let EventItem::Event(event) = &item {
                self.queue_bytes -= bytes_of(event);
            }
            return Some(item);
        }
        self.pop_numbered(self.lost_to)
    }

    /// Returns the question for the next event, if that event did not arrive.
    pub fn question(&self) -> Option<EventReplayRequest> {
        let next = self.next?;
        let until = self.held.first_key_value().map_or(self.seen, |(first, _)| first - 1);
        let is_missing = until >= next && self.lost_to < next;
        is_missing.then(|| EventReplayRequest {
            after_seq: next - 1,
            limit: (until - (next - 1)).min(MAX_QUESTION),
            until,
        })
    }

    /// Returns the question for events that the server does not push; `None` if events are not numbered.
    pub fn poll_question(&self) -> Option<EventReplayRequest> {
        let after_seq = self.next? - 1;
        Some(EventReplayRequest { after_seq, limit: MAX_QUESTION, until: after_seq })
    }

    /// Returns the number of the last event that was given out or missed, after which to resume; 0 at the beginning.
    pub fn after_seq(&self) -> u64 {
        self.next.map_or(0, |next| next - 1)
    }

    /// Notes that the server does not know the subscription any more. Events that arrived are still given out.
    pub fn end(&mut self) {
        while let Some(item) = self.pop_numbered(self.seen.max(self.lost_to)) {
            match item {
                EventItem::Event(event) => self.enqueue(event),
                other => self.queue.push_back(other),
            }
        }
        self.id = None;
        if self.queue.back() != Some(&EventItem::Gone) {
            self.queue.push_back(EventItem::Gone);
        }
        (self.next, self.seen, self.lost_to) = (None, 0, 0);
    }

    /// Returns whether the subscription [ended](Self::end).
    pub(super) const fn is_over(&self) -> bool {
        self.id.is_none()
    }

    /// Goes on after the event `after_seq` with a subscription that was opened before.
    pub(super) fn resume(&mut self, after_seq: u64, answer: &EventSubscribed) {
        if self.next.is_none() {
            // Events without numbers cannot be resumed.
            return;
        }
        let after_seq = after_seq.min(MAX_SEQ - 1);
        self.next = Some(after_seq + 1);
        (self.seen, self.lost_to) = (after_seq, answer.gap.map_or(0, |gap| gap.to.min(MAX_SEQ - 1)));
    }

    fn pop_numbered(&mut self, lost_to: u64) -> Option<EventItem> {
        let next = self.next?;
        if let Some(event) = self.held.remove(&next) {
            self.held_bytes -= bytes_of(&event);
            self.next = Some(next + 1);
            return Some(EventItem::Event(event));
        }
        let before_held = self.held.first_key_value().map_or(u64::MAX, |(first, _)| first - 1);
        let to = lost_to.min(before_held);
        (to >= next).then(|| {
            self.next = Some(to + 1);
            EventItem::Missed { from: next, to }
        })
    }

    fn enqueue(&mut self, event: Event) {
        let bytes = bytes_of(&event);
        let is_full = self.queue.len() >= MAX_EVENTS || self.queue_bytes + bytes > MAX_BYTES;
        match self.queue.back_mut() {
            Some(EventItem::Dropped(events)) if is_full => *events += 1,
            Some(_) if is_full => self.queue.push_back(EventItem::Dropped(1)),
            _ => {
                self.queue_bytes += bytes;
                self.queue.push_back(EventItem::Event(event));
            }
        }
    }
}

/// Returns about how many bytes an event takes.
pub(super) fn bytes_of(event: &Event) -> usize {
    event.channel.len() + event.data.to_raw().as_bytes().len()
}
