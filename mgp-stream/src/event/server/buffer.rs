//! The last events of one subscription, which are also the queue to its client.

use std::collections::VecDeque;
use std::sync::Arc;

use mgp_types::mgp::EventGap;

use super::publisher::PublishedEvent;

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

#[cfg(test)]
mod tests {
    use mgp_types::Object;
    use mgp_types::mgp::{EventSeverity, Timestamp};
    use proptest::prelude::*;

    use super::*;

    fn event(bytes: usize) -> Arc<PublishedEvent> {
        Arc::new(PublishedEvent {
            channel: "c".parse().unwrap(),
            timestamp: Timestamp::EPOCH,
            severity: EventSeverity::Info,
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
