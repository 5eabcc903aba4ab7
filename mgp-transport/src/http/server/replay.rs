//! The events of one stream: those still to be sent, and those kept for a reader that lost them.

use std::collections::VecDeque;

use bytes::Bytes;

/// A bounded window on a sequence of events, numbered from 0.
#[derive(Debug, Default)]
pub(super) struct ReplayWindow {
    events: VecDeque<Bytes>,
    /// The number of the oldest kept event.
    first: u64,
    /// The number of the next event to be sent.
    cursor: u64,
    bytes: usize,
    unsent_bytes: usize,
}

/// The reasons why a stream cannot be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResumeError {
    /// Events behind the named one are no longer kept.
    Forgotten,
    /// The named event never existed.
    Unknown,
}

impl ReplayWindow {
    /// Returns the number that the next event will have.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    pub(super) fn push(&mut self, event: Bytes) {
        self.bytes += event.len();
        self.unsent_bytes += event.len();
        self.events.push_back(event);
    }

    /// Returns the next event to be sent.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        let index = usize::try_from(self.cursor - self.first).ok()?;
        let event = self.events.get(index)?.clone();
        self.cursor += 1;
        self.unsent_bytes -= event.len();
        Some(event)
    }

    /// Returns whether another event may wait to be sent, within these limits.
    pub(super) fn has_room(&self, max_events: usize, max_bytes: usize) -> bool {
        let unsent = self.next_number() - self.cursor;
        unsent == 0 || (unsent < max_events as u64 && self.unsent_bytes < max_bytes)
    }

    /// Forgets the oldest events beyond the bounds. Unsent events are forgotten only if `lossy`; the newest event never
    /// is.
    pub(super) fn trim(&mut self, max_events: usize, max_bytes: usize, lossy: bool) {
        while self.events.len() > max_events || (self.bytes > max_bytes && self.events.len() > 1) {
            if self.first == self.cursor && !lossy {
                return;
            }
            let Some(oldest) = self.events.pop_front() else { return };
            self.bytes -= oldest.len();
            if self.first == self.cursor {
                self.cursor += 1;
                self.unsent_bytes -= oldest.len();
            }
            self.first += 1;
        }
    }

    /// Goes back to the event behind `last`, to send from there again.
    pub(super) fn resume_after(&mut self, last: u64) -> Result<(), ResumeError> {
        if last >= self.next_number() {
            return Err(ResumeError::Unknown);
        }
        let next = last + 1;
        let Some(kept) = next.checked_sub(self.first) else { return Err(ResumeError::Forgotten) };
        self.cursor = next;
        let sent = usize::try_from(kept).unwrap_or(usize::MAX);
        self.unsent_bytes = self.events.iter().skip(sent).map(Bytes::len).sum();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(events: usize) -> ReplayWindow {
        let mut window = ReplayWindow::default();
        for number in 0..events {
            window.push(Bytes::from(number.to_string()));
        }
        window
    }

    fn rest(window: &mut ReplayWindow) -> Vec<Bytes> {
        std::iter::from_fn(|| window.take()).collect()
    }

    #[test]
    fn the_newest_event_is_kept_however_long() {
        let mut window = window(0);
        window.push(Bytes::from_static(b"long"));
        window.push(Bytes::from_static(b"longer"));
        window.trim(9, 1, true);
        assert_eq!(rest(&mut window), ["longer"]);
        window.trim(0, 0, false);
        assert_eq!((window.bytes, window.unsent_bytes, window.first), (0, 0, 2));
    }
}
