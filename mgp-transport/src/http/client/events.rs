//! The events of an answer, across the answers that continue it.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use mgp_types::Error;

use super::body::{self, ResponseBody};
use super::sse::{SseDecoder, SseEvent, SseTooLong};
use crate::http::header::is_media;
use crate::http::sse;
use crate::memory_budget::BudgetShare;
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
            if let Some(event) = self.decoded()? {
                return Ok(Some(event));
            }
            let chunk = if waits { self.body.next_chunk().await? } else { self.body.arrived() };
            match chunk {
                Some(chunk) => self.push(&chunk)?,
                None => return Ok(None),
            }
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
        self.decoder.retry()
    }

    fn push(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.decoder.push(chunk);
        // The caller learns of an event that is too long when it reads that event.
        let pending = self.decoder.pending_bytes().min(self.limits.max_frame_bytes);
        body::admit(&mut self.share, pending, &self.limits)
    }

    fn decoded(&mut self) -> Result<Option<SseEvent>, Error> {
        let event = self.decoder.next_event();
        let event =
            event.map_err(|SseTooLong| TooLong::message(&self.limits).answer(self.limits.setting_names))?;
        Ok(event.map(|event| {
            let share = std::mem::replace(&mut self.share, self.limits.memory.share());
            SseEvent { data: share.hold(event.data), ..event }
        }))
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
pub(super) fn messages(
    frame: &Bytes,
    limits: &ConnectionLimits,
) -> impl Iterator<Item = Result<mgp_types::frame::Message, mgp_types::frame::Malformed>> + use<> {
    let (single, batch) = match mgp_types::frame::decode(frame, limits.json) {
        mgp_types::frame::Frame::Single(message) => (Some(message), Vec::new()),
        mgp_types::frame::Frame::Batch(messages) => (None, messages),
    };
    single.into_iter().chain(batch)
}
