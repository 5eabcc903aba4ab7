//! The events of an answer, across the answers that continue it, and the waits before a stream is opened again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use mgp_types::Error;
use mgp_types::frame::{self, Malformed, Message};

use super::body::{self, ResponseBody};
use super::sse::{SseDecoder, SseEvent, SseTooLong};
use crate::http::header::is_media;
use crate::http::sse;
use crate::limits::BudgetShare;
use crate::{ConnectionLimits, TooLong};

/// The events of an answer, and of the answers that continue it.
#[derive(Debug)]
pub(super) struct AnswerEvents {
    pub(super) body: ResponseBody,
    decoder: SseDecoder,
    limits: ConnectionLimits,
    /// The memory that the current event takes of the budget for long ones.
    share: BudgetShare,
}

impl AnswerEvents {
    pub(super) fn new(body: ResponseBody, limits: &ConnectionLimits) -> Self {
        let (limits, share) = (limits.clone(), limits.memory.share());
        Self { body, decoder: SseDecoder::new(limits.max_frame_bytes), limits, share }
    }

    /// Returns the next event; `None` at the end of the answer.
    ///
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Option<SseEvent>, Error> {
        self.read(true).await
    }

    /// Returns the next event if it has arrived already.
    pub(super) async fn arrived(&mut self) -> Result<Option<SseEvent>, Error> {
        self.read(false).await
    }

    async fn read(&mut self, waits: bool) -> Result<Option<SseEvent>, Error> {
        loop {
            let event = self
                .decoder
                .next_event()
                .map_err(|SseTooLong| TooLong::message(&self.limits).answer(self.limits.setting_names));
            if let Some(event) = event? {
                let share = std::mem::replace(&mut self.share, self.limits.memory.share());
                return Ok(Some(SseEvent { data: share.hold(event.data), ..event }));
            }
            let chunk = if waits { self.body.next_chunk().await? } else { self.body.arrived() };
            let Some(chunk) = chunk else { return Ok(None) };
            self.decoder.push(&chunk);
            // The caller learns of an event that is too long when it reads that event.
            let pending = self.decoder.pending_bytes().min(self.limits.max_frame_bytes);
            body::admit(&mut self.share, pending, &self.limits)?;
        }
    }

    /// Continues with the answer that continues this one.
    pub(super) fn resume(&mut self, body: ResponseBody) {
        self.body = body;
        self.decoder.restart();
    }

    /// Forgets the last event, so that no answer continues behind it.
    pub(super) fn forget(&mut self) {
        self.decoder = SseDecoder::new(self.limits.max_frame_bytes);
        self.share = self.limits.memory.share();
    }

    /// Returns the value of `Last-Event-ID` to resume behind the last event.
    pub(super) fn last_id(&self) -> Option<HeaderValue> {
        self.decoder.last_id().and_then(|id| HeaderValue::from_bytes(id).ok())
    }

    /// Returns the time for which the server wants to be left alone before the next attempt.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.decoder.retry
    }
}

/// The way to read the body of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Json,
    Events,
    Other,
}

impl BodyKind {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let is = |media| headers.get(CONTENT_TYPE).is_some_and(|value| is_media(value.as_bytes(), media));
        if is("application/json") {
            Self::Json
        } else if is(sse::MEDIA_TYPE) {
            Self::Events
        } else {
            Self::Other
        }
    }
}

/// Returns the messages of a frame, one by one.
pub(super) fn messages(frame: &Bytes) -> impl Iterator<Item = Result<Message, Malformed>> + use<> {
    let (single, batch) = match frame::decode(frame) {
        frame::Frame::Single(message) => (Some(message), Vec::new()),
        frame::Frame::Batch(messages) => (None, messages),
    };
    single.into_iter().chain(batch)
}

/// The waits between the attempts to open a stream again, and their number.
///
/// The server's wish is kept to the millisecond. Without a wish, and for each failure in a row, the wait grows and is
/// jittered, so that the clients of a server that comes back do not all come at once.
#[derive(Debug)]
pub(super) struct ReconnectBackoff {
    failures: u32,
    max_failures: u32,
    jitter: RandomState,
}

/// The shortest wait: a server that says 0 is still not asked in a busy loop.
const SHORTEST: Duration = Duration::from_millis(10);
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

impl ReconnectBackoff {
    /// Creates the waits of a reader that gives up after `max_failures` attempts in a row without an event.
    pub(super) fn new(max_failures: u32) -> Self {
        Self { failures: 0, max_failures, jitter: RandomState::new() }
    }

    /// Notes that the stream brought an event.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// Returns the wait before the next attempt; `None` to give up. `wish` is the wait that the server asked for.
    pub(super) fn next(&mut self, wish: Option<Duration>) -> Option<Duration> {
        let failures = self.failures;
        if failures >= self.max_failures {
            return None;
        }
        self.failures += 1;
        let wish = wish.map(|wish| wish.max(SHORTEST));
        if let (0, Some(wish)) = (failures, wish) {
            return Some(wish);
        }
        let grown = self.jittered(FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST));
        Some(wish.map_or(grown, |wish| wish.max(grown)))
    }

    /// Adds up to a quarter to the wait.
    fn jittered(&self, wait: Duration) -> Duration {
        let random = u32::try_from(self.jitter.hash_one(self.failures) % 256).unwrap_or(0);
        wait + wait / 4 * random / 256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_wish_is_kept_exactly_at_first() {
        let mut pause = ReconnectBackoff::new(5);
        let wish = Duration::from_millis(500);
        assert_eq!(pause.next(Some(wish)), Some(wish));
        assert!(pause.next(Some(wish)).unwrap() > wish);
        pause.reset();
        assert_eq!(pause.next(Some(wish)), Some(wish));
        assert_eq!(ReconnectBackoff::new(5).next(Some(Duration::ZERO)), Some(SHORTEST));
    }

    #[test]
    fn waits_grow_to_a_bound_and_end() {
        let mut pause = ReconnectBackoff::new(40);
        let waits: Vec<_> = std::iter::from_fn(|| pause.next(None)).collect();
        assert_eq!(waits.len(), 40);
        assert!(waits[0] >= FIRST && waits[0] <= FIRST * 5 / 4);
        assert!(waits[39] >= LONGEST && waits[39] <= LONGEST * 5 / 4);
        let patient = Duration::from_hours(1);
        let mut pause = ReconnectBackoff::new(40);
        assert!(std::iter::from_fn(|| pause.next(Some(patient))).all(|wait| wait == patient));
    }
}
