use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use mgp_types::Error;

use super::body::{Arrived, Body};
use super::sse::{SseDecoder, SseEvent, SseTooLong};
use crate::{ConnectionLimits, TooLong};

/// The events of an answer, and of the answers that continue it.
#[derive(Debug)]
pub(super) struct Events {
    body: Body,
    decoder: SseDecoder,
    max_bytes: usize,
}

impl Events {
    pub(super) fn new(body: Body, limits: &ConnectionLimits) -> Self {
        let max_bytes = limits.max_frame_bytes;
        Self { body, decoder: SseDecoder::new(max_bytes), max_bytes }
    }

    /// The next event; `None` at the end of the answer.
    ///
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Option<SseEvent>, Error> {
        loop {
            if let Some(event) = self.decoded()? {
                return Ok(Some(event));
            }
            match self.body.next_chunk().await? {
                Some(chunk) => self.decoder.push(&chunk),
                None => return Ok(None),
            }
        }
    }

    /// The next event if it has arrived already.
    pub(super) async fn arrived(&mut self) -> Result<Option<SseEvent>, Error> {
        loop {
            if let Some(event) = self.decoded()? {
                return Ok(Some(event));
            }
            match self.body.arrived().await {
                Arrived::Chunk(chunk) => self.decoder.push(&chunk),
                Arrived::Nothing | Arrived::End => return Ok(None),
            }
        }
    }

    /// Goes on with the answer that continues this one.
    pub(super) fn resume(&mut self, body: Body) {
        self.body = body;
        self.decoder.restart();
    }

    /// Forgets what has come, so that no answer continues behind it.
    pub(super) fn forget(&mut self) {
        self.decoder = SseDecoder::new(self.max_bytes);
    }

    /// What `Last-Event-ID` has to say to resume behind the last event.
    pub(super) fn last_id(&self) -> Option<HeaderValue> {
        self.decoder.last_id().and_then(|id| HeaderValue::from_bytes(id).ok())
    }

    /// How long the server wants to be left alone before the next attempt.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.decoder.retry()
    }

    /// What is left of the answer.
    pub(super) fn into_rest(self) -> Body {
        self.body
    }

    fn decoded(&mut self) -> Result<Option<SseEvent>, Error> {
        self.decoder.next_event().map_err(|SseTooLong| TooLong::answer(self.max_bytes))
    }
}

/// How the body of an answer is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    Events,
    Other,
}

impl Kind {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let Some(value) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
            return Self::Other;
        };
        let media = value.split(';').next().unwrap_or(value).trim();
        if media.eq_ignore_ascii_case("application/json") {
            Self::Json
        } else if media.eq_ignore_ascii_case("text/event-stream") {
            Self::Events
        } else {
            Self::Other
        }
    }
}

/// The messages of a frame, one by one.
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
