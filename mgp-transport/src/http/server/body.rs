//! The bodies of answers: one JSON text, or a stream of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::{Sleep, sleep};

use super::call::BoxCall;
use super::stream::ResponseStream;
use super::watched_connection::ActiveRequest;
use crate::http::sse;

/// The body of an answer: nothing, one text, a stream of events, or pieces that come one by one.
#[must_use]
pub struct HttpBody {
    content: BodyContent,
    /// The request that is in work until the body was taken, if the server watches its connection.
    active: Option<ActiveRequest>,
}

enum BodyContent {
    Full(Bytes),
    Events(Box<EventBody>),
    Pieces(mpsc::Receiver<Bytes>),
}

impl HttpBody {
    pub(super) fn events(events: EventBody) -> Self {
        Self { content: BodyContent::Events(Box::new(events)), active: None }
    }

    /// Keeps the request in work until the body was taken.
    pub(super) fn of_request(self, active: ActiveRequest) -> Self {
        Self { active: Some(active), ..self }
    }
}

impl From<Bytes> for HttpBody {
    fn from(bytes: Bytes) -> Self {
        Self { content: BodyContent::Full(bytes), active: None }
    }
}

impl From<String> for HttpBody {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<mpsc::Receiver<Bytes>> for HttpBody {
    /// Creates a body of pieces, which ends when the sender is dropped.
    fn from(pieces: mpsc::Receiver<Bytes>) -> Self {
        Self { content: BodyContent::Pieces(pieces), active: None }
    }
}

impl Default for HttpBody {
    /// Returns an empty body.
    fn default() -> Self {
        Bytes::new().into()
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let bytes = match &mut this.content {
            BodyContent::Full(bytes) if bytes.is_empty() => None,
            BodyContent::Full(bytes) => Some(std::mem::take(bytes)),
            BodyContent::Events(events) => ready!(events.poll_next(cx)),
            BodyContent::Pieces(pieces) => ready!(pieces.poll_recv(cx)),
        };
        if let (Some(active), Some(bytes)) = (&this.active, &bytes) {
            active.connection().note_queued(bytes.len());
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, BodyContent::Full(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            BodyContent::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            BodyContent::Events(_) | BodyContent::Pieces(_) => SizeHint::default(),
        }
    }
}

mgp_types::partial_debug!(HttpBody);

/// A stream of events on its way to one reader.
///
/// Where the call is cancelled with its reader, the body owns the call: dropping the body drops the call.
pub(super) struct EventBody {
    stream: Arc<ResponseStream>,
    /// The number of this reader of the stream; see [`ResponseStream::attach`].
    reader: u64,
    call: Option<BoxCall>,
    /// The rest of an event that is too long to be written in one piece.
    rest: Bytes,
    keep_alive: Duration,
    next_keep_alive: Pin<Box<Sleep>>,
    /// The value that is dropped with the stream.
    held: Option<Box<dyn Send>>,
}

/// The size of the pieces of an event. Smaller pieces show that a slow reader is not gone.
const PIECE: usize = 64 << 10;

impl EventBody {
    pub(super) fn new(stream: Arc<ResponseStream>, reader: u64) -> Self {
        let keep_alive = stream.config.keep_alive;
        stream.config.open_streams.fetch_add(1, Ordering::Relaxed);
        let next_keep_alive = Box::pin(sleep(keep_alive));
        Self { stream, reader, call: None, rest: Bytes::new(), keep_alive, next_keep_alive, held: None }
    }

    mgp_types::setters! { self =>
        /// Lets the stream own the call whose answer ends it, if that goes on.
        pub(super) fn owning(call: Option<BoxCall>) => self.call = call;

        /// Drops `held` when the stream ends.
        pub(super) fn holding(held: impl Send + 'static) => self.held = Some(Box::new(held));
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(call) = &mut self.call
            && let Poll::Ready(answer) = call.as_mut().poll(cx)
        {
            self.call = None;
            self.stream.finish(&answer.json);
        }
        if !self.rest.is_empty() {
            self.stream.note_reading();
            return Poll::Ready(Some(self.piece()));
        }
        if let Poll::Ready(event) = self.stream.poll_next(self.reader, cx) {
            let Some(event) = event else { return Poll::Ready(None) };
            self.rest = event;
            return Poll::Ready(Some(self.piece()));
        }
        if self.next_keep_alive.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.next_keep_alive.set(sleep(self.keep_alive));
        Poll::Ready(Some(Bytes::from_static(sse::KEEP_ALIVE)))
    }

    fn piece(&mut self) -> Bytes {
        self.rest.split_to(self.rest.len().min(PIECE))
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        self.stream.detach(self.reader);
        self.stream.config.open_streams.fetch_sub(1, Ordering::Relaxed);
        self.held = None;
    }
}
