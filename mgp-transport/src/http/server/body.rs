//! The bodies of requests, read within their bounds, and of answers: one JSON text, or a stream of events.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};
use mgp_types::{Error, Id};
use pin_project_lite::pin_project;
use tokio::sync::mpsc;
use tokio::time::{Sleep, sleep};

use super::HttpConfig;
use super::call::BoxCall;
use super::respond::HttpRefusal;
use super::stream::ResponseStream;
use super::watched_connection::{ActiveRequest, AwaitedBody};
use crate::TooLong;
use crate::limits::BudgetShare;
use crate::skipped_message::{MessageHead, SkippedMessage, head, id_at_end};

/// The body of an answer: nothing, one text, a stream of events, pieces that come one by one, or the body of another answer.
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
    /// The body of another answer, which breaks off where that does.
    Passed(BoxStream<'static, Result<Bytes, Error>>),
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

mgp_types::convert!(Bytes => HttpBody, bytes => Self { content: BodyContent::Full(bytes), active: None });

mgp_types::convert!(String => HttpBody, text => Bytes::from(text).into());

mgp_types::convert!(
    /// Creates a body of pieces, which ends when the sender is dropped.
    mpsc::Receiver<Bytes> => HttpBody, pieces => Self { content: BodyContent::Pieces(pieces), active: None }
);

mgp_types::convert!(
    /// Creates a body of the pieces of another one. It breaks off at an error, and the reader sees that.
    BoxStream<'static, Result<Bytes, Error>> => HttpBody,
    pieces => Self { content: BodyContent::Passed(pieces), active: None }
);

impl Default for HttpBody {
    /// Returns an empty body.
    fn default() -> Self {
        Bytes::new().into()
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        let bytes = match &mut this.content {
            BodyContent::Full(bytes) if bytes.is_empty() => None,
            BodyContent::Full(bytes) => Some(std::mem::take(bytes)),
            BodyContent::Events(events) => ready!(events.poll_next(cx)),
            BodyContent::Pieces(pieces) => ready!(pieces.poll_recv(cx)),
            BodyContent::Passed(pieces) => ready!(pieces.poll_next_unpin(cx)).transpose()?,
        };
        if let (Some(active), Some(bytes)) = (&this.active, &bytes) {
            active.0.note_queued(bytes.len());
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, BodyContent::Full(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            BodyContent::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            BodyContent::Events(_) | BodyContent::Pieces(_) | BodyContent::Passed(_) => SizeHint::default(),
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
    next_keep_alive: Pin<Box<Sleep>>,
    /// The function that is called when the stream ends.
    on_end: Option<Box<dyn FnOnce() + Send>>,
}

/// The size of the pieces of an event. Smaller pieces show that a slow reader is not gone.
const PIECE: usize = 64 << 10;

/// A comment, which keeps proxies from closing a silent stream.
const KEEP_ALIVE: &[u8] = b":\n\n";

impl EventBody {
    pub(super) fn new(stream: Arc<ResponseStream>, reader: u64) -> Self {
        stream.config.open_streams.fetch_add(1, Ordering::Relaxed);
        let next_keep_alive = Box::pin(sleep(stream.config.keep_alive));
        Self { stream, reader, call: None, rest: Bytes::new(), next_keep_alive, on_end: None }
    }

    mgp_types::setters! { self =>
        /// Lets the stream own the call whose answer ends it, if that goes on.
        pub(super) fn owning(call: Option<BoxCall>) => self.call = call;

        /// Calls `end` when the stream ends.
        pub(super) fn ending(end: impl FnOnce() + Send + 'static) => self.on_end = Some(Box::new(end));
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
        self.next_keep_alive.set(sleep(self.stream.config.keep_alive));
        Poll::Ready(Some(Bytes::from_static(KEEP_ALIVE)))
    }

    fn piece(&mut self) -> Bytes {
        self.rest.split_to(self.rest.len().min(PIECE))
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        self.stream.detach(self.reader);
        self.stream.config.open_streams.fetch_sub(1, Ordering::Relaxed);
        if let Some(end) = self.on_end.take() {
            end();
        }
    }
}

pin_project! {
    /// A body on its way in. A body of one chunk, which nearly all are, is not copied.
    pub(super) struct BodyReader<B> {
        #[pin]
        body: B,
        first: Bytes,
        more: Vec<u8>,
        config: Arc<HttpConfig>,
        // The memory that the body takes of the budget for long ones.
        share: Option<BudgetShare>,
        refused: Option<RefusedBody>,
        // The deadline starts late, because most bodies arrive with the head and never wait.
        deadline: Option<Pin<Box<Sleep>>>,
        // The number of bytes that came since the deadline was set.
        in_time: usize,
        awaited: Option<AwaitedBody>,
    }
}

/// A body that is refused. It is read to its end all the same, or its sender would not read the answer.
#[derive(Debug)]
struct RefusedBody {
    why: TooLong,
    skipped: SkippedMessage,
}

impl RefusedBody {
    /// Returns the id of the request in the body, if one of its ends holds it.
    fn id(&self) -> Option<Id> {
        match head(&self.skipped.first) {
            MessageHead::Request(Some(id)) => Some(id),
            MessageHead::Request(None) | MessageHead::Unclear => id_at_end(&self.skipped.last),
            MessageHead::Answer(_) => None,
        }
    }
}

/// The number of bytes of a body that have to come in its time.
const ENOUGH_IN_TIME: usize = 1 << 20;

impl<B: Body> BodyReader<B> {
    pub(super) fn new(body: B, config: Arc<HttpConfig>) -> Self {
        Self {
            body,
            first: Bytes::new(),
            more: Vec::new(),
            share: Some(config.limits.memory.share()),
            config,
            refused: None,
            deadline: None,
            in_time: 0,
            awaited: None,
        }
    }

    pub(super) fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Bytes, HttpRefusal>> {
        let mut this = self.project();
        while !this.body.is_end_stream() {
            let frame = match this.body.as_mut().poll_frame(cx) {
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    if this.deadline.is_none() {
                        *this.awaited = AwaitedBody::begin();
                    }
                    let timeout = this.config.body_timeout;
                    let deadline = this.deadline.get_or_insert_with(|| Box::pin(sleep(timeout)));
                    ready!(deadline.as_mut().poll(cx));
                    let why = "the body took too long";
                    return Poll::Ready(Err(HttpRefusal::because(StatusCode::REQUEST_TIMEOUT, why)));
                }
            };
            let Some(frame) = frame else { break };
            let Ok(frame) = frame else {
                return Poll::Ready(Err(HttpRefusal::invalid("the body ended early")));
            };
            let Ok(mut data) = frame.into_data() else { continue };
            let len = data.remaining();
            *this.in_time += len;
            if *this.in_time >= ENOUGH_IN_TIME {
                // A long body gets the same time again, or only a fast peer could send one.
                (*this.deadline, *this.in_time) = (None, 0);
            }
            let length = this.first.len() + this.more.len() + len;
            if this.refused.is_none()
                && let Some(share) = this.share
                && let Err(why) = this.config.limits.admit(share, length)
            {
                let mut skipped = SkippedMessage::default();
                skipped.skip(&std::mem::take(this.first));
                skipped.skip(&std::mem::take(this.more));
                *this.refused = Some(RefusedBody { why, skipped });
                *this.share = None;
            }
            if let Some(RefusedBody { skipped, .. }) = this.refused {
                skipped.skip(&data.copy_to_bytes(len));
                if skipped.bytes > this.config.limits.max_skipped_bytes {
                    break;
                }
                continue;
            }
            if this.first.is_empty() && this.more.is_empty() {
                *this.first = data.copy_to_bytes(len);
                continue;
            }
            if !this.first.is_empty() {
                let expected = usize::try_from(this.body.size_hint().lower()).unwrap_or(0);
                let room = this.first.len() + len + expected.min(this.config.limits.max_frame_bytes);
                this.more.reserve(room);
                this.more.extend_from_slice(&std::mem::take(this.first));
            }
            this.more.put(data);
        }
        Poll::Ready(match this.refused.take() {
            None => {
                let (first, more) = (std::mem::take(this.first), std::mem::take(this.more));
                let whole = if more.is_empty() { first } else { more.into() };
                Ok(if let Some(share) = this.share.take() { share.hold(whole) } else { whole })
            }
            Some(refused) => {
                let status = match refused.why {
                    TooLong::Memory { .. } => StatusCode::SERVICE_UNAVAILABLE,
                    TooLong::Message { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                };
                let error = refused.why.refusal(this.config.limits.setting_names);
                Err(HttpRefusal::new(status, error).of(refused.id()))
            }
        })
    }
}
