//! The stream of events that may become the answer to one POST.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use mgp_types::{BoxFuture, CallSide, Error, Id, Outbox, OutboxPort, Request, Response, StreamId, frame};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::config::HttpConfig;
use super::replay::{ReplayWindow, ResumeError};
use super::session::HttpSession;
use crate::era::tag_subscription;
use crate::http::sse::Event;
use crate::sent_future::sent;

/// The stream of events that may become the answer to one POST.
///
/// The answer is one JSON text unless a message is written before the result. In a session of revision 2025-11-25 or
/// later a handler finds the stream of its request in [`Request::extensions`](mgp_types::Request) and can
/// [`close`](Self::close) it.
pub struct ResponseStream {
    /// The number of the stream in its session.
    pub(super) number: u64,
    kind: StreamKind,
    pub(super) config: Arc<HttpConfig>,
    /// The session of the stream, through which its reader can be asked.
    pub(super) session: Option<Arc<HttpSession>>,
    /// The call's stream on our side of the connection, and its id on the peer's; `None` if the stream is not that of
    /// one call.
    call: Option<(StreamId, Id)>,
    /// The `subscriptions/listen` that all messages on the stream belong to.
    pub(super) subscription: Option<Id>,
    used: AtomicBool,
    cancelled: AtomicBool,
    state: Mutex<ResponseStreamState>,
    room: Notify,
}

/// The treatment of sent events, and their form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamKind {
    /// Sent events are forgotten; the stream ends with its reader.
    Live,
    /// Sent events are forgotten, and every event is named `message` (HTTP+SSE).
    Named,
    /// Events have ids and are kept for a while, so that a reader can resume.
    Kept {
        /// True if the first event has an id and nothing else, so that the stream can be resumed from
        /// its start.
        primed: bool,
    },
}

#[derive(Default)]
struct ResponseStreamState {
    window: ReplayWindow,
    /// The number of readers so far; only the newest may read.
    reader: u64,
    attached: bool,
    /// The waker of the reader, for new events.
    reading: AtomicWaker,
    /// The waker of the call, for its cancellation.
    calling: AtomicWaker,
    /// True if the reader is to leave, to come back later.
    leaving: bool,
    /// The time at which the last event was written.
    finished: Option<Instant>,
    /// True if the stream is closed for writers.
    closed: bool,
}

impl ResponseStream {
    pub(super) fn new(kind: StreamKind, config: Arc<HttpConfig>, number: u64) -> Self {
        Self {
            number,
            kind,
            config,
            session: None,
            call: None,
            subscription: None,
            used: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            state: Mutex::new(ResponseStreamState { attached: true, ..ResponseStreamState::default() }),
            room: Notify::new(),
        }
    }

    pub(super) fn of_call(mut self, id: Id) -> Self {
        self.call = Some((StreamId::fresh(), id));
        self
    }

    /// Returns the stream as the outbox of its call.
    pub(super) fn outbox(self: &Arc<Self>) -> Outbox {
        let stream = self.call.as_ref().map_or(StreamId::STANDALONE, |(stream, _)| *stream);
        Outbox::new(Arc::clone(self) as _, stream)
    }

    /// Returns the stream as an outbox of no call.
    pub(super) fn standalone_outbox(self: &Arc<Self>) -> Outbox {
        Outbox::new(Arc::clone(self) as _, StreamId::STANDALONE)
    }

    /// Ends the stream for now, while the call goes on.
    ///
    /// The client comes back after the time it was told to wait, and gets the events written since. This saves the
    /// connection of a call that takes long.
    pub fn close(&self) {
        let mut state = self.state.lock();
        self.start(&mut state);
        if state.attached {
            state.leaving = true;
        }
        state.reading.wake();
    }

    /// Returns whether the answer is a stream already.
    pub(super) fn is_used(&self) -> bool {
        self.used.load(Ordering::Acquire)
    }

    /// Makes the answer a stream.
    pub(super) fn set_used(&self) {
        self.start(&mut self.state.lock());
    }

    /// Returns ready when the answer has become a stream, or the call was cancelled.
    pub(super) fn poll_used(&self, cx: &Context<'_>) -> Poll<()> {
        let state = self.state.lock();
        if self.is_used() || self.is_cancelled() {
            return Poll::Ready(());
        }
        state.reading.register(cx.waker());
        Poll::Pending
    }

    /// Asks for the call to be dropped without an answer.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        let state = self.state.lock();
        state.reading.wake();
        state.calling.wake();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Returns ready when the call was cancelled.
    pub(super) fn poll_cancelled(&self, cx: &Context<'_>) -> Poll<()> {
        let state = self.state.lock();
        if self.is_cancelled() {
            return Poll::Ready(());
        }
        state.calling.register(cx.waker());
        Poll::Pending
    }

    /// Writes a message when there is room for it.
    pub(super) async fn push(&self, json: &[u8]) -> Result<(), Error> {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if self.try_push(json)? {
                return Ok(());
            }
            if timeout(self.config.limits.write_timeout, room).await.is_err() {
                self.dismiss();
            }
        }
    }

    /// Writes a notification about the call `id`.
    pub(super) fn notify_about(&self, id: &Id, notification: &Request) -> BoxFuture<'_, Result<(), Error>> {
        let mut json = Vec::new();
        frame::write_notification_about(&mut json, &notification.method, id, &notification.params);
        self.push_soon(json)
    }

    /// Writes a message as [`push`](Self::push) does, without cost where there is room at once.
    fn push_soon(&self, json: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        match self.try_push(&json) {
            Ok(true) => sent(),
            Ok(false) => Box::pin(async move { self.push(&json).await }),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// Writes a message even without room, for the few messages that must not wait.
    pub(super) fn force(&self, json: &[u8]) {
        let mut state = self.state.lock();
        if !state.closed && state.finished.is_none() {
            self.start(&mut state);
            self.append(&mut state, json);
        }
    }

    /// Ends the stream unless a message was written. Later writes are lost.
    pub(super) fn shut_unused(&self) -> bool {
        let mut state = self.state.lock();
        let unused = !self.is_used();
        state.closed |= unused;
        unused
    }

    /// Writes the last message, if there is one, and ends the stream.
    pub(super) fn finish(&self, json: &[u8]) {
        let mut state = self.state.lock();
        if state.finished.is_none() && !state.closed {
            self.start(&mut state);
            if !json.is_empty() {
                self.append(&mut state, json);
            }
        }
        state.finished = Some(Instant::now());
        state.reading.wake();
    }

    /// Ends the stream for good.
    pub(super) fn shut(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.reading.wake();
        drop(state);
        self.room.notify_waiters();
    }

    /// Returns the next event for `reader`; `None` when there will be none.
    pub(super) fn poll_next(&self, reader: u64, cx: &Context<'_>) -> Poll<Option<bytes::Bytes>> {
        let mut state = self.state.lock();
        if state.reader != reader {
            return Poll::Ready(None);
        }
        if let Some(event) = state.window.take() {
            self.trim(&mut state);
            drop(state);
            self.room.notify_waiters();
            return Poll::Ready(Some(event));
        }
        if state.finished.is_some() || state.closed || state.leaving {
            state.attached = false;
            state.leaving = false;
            return Poll::Ready(None);
        }
        state.reading.register(cx.waker());
        Poll::Pending
    }

    /// Notes that the reader is still there, so that writers go on waiting for room.
    pub(super) fn note_reading(&self) {
        self.room.notify_waiters();
    }

    /// Lets a new reader in, in place of an earlier one: behind the event `after`, or at the first unsent event.
    pub(super) fn attach(&self, after: Option<u64>) -> Result<u64, ResumeError> {
        let mut state = self.state.lock();
        if let Some(after) = after {
            state.window.resume_after(after)?;
        }
        state.reader += 1;
        state.attached = true;
        state.leaving = false;
        state.reading.wake();
        Ok(state.reader)
    }

    /// Notes that `reader` left.
    pub(super) fn detach(&self, reader: u64) {
        let mut state = self.state.lock();
        if state.reader != reader {
            return;
        }
        state.attached = false;
        state.leaving = false;
        state.closed |= !self.is_kept();
        drop(state);
        self.room.notify_waiters();
    }

    pub(super) fn is_attached(&self) -> bool {
        self.state.lock().attached
    }

    /// Returns the time at which the last message was written.
    pub(super) fn finished(&self) -> Option<Instant> {
        self.state.lock().finished
    }

    fn is_kept(&self) -> bool {
        matches!(self.kind, StreamKind::Kept { .. })
    }

    /// Sends a reader away that does not keep up.
    fn dismiss(&self) {
        let mut state = self.state.lock();
        state.reader += 1;
        state.attached = false;
        state.closed |= !self.is_kept();
        state.reading.wake();
    }

    fn try_push(&self, json: &[u8]) -> Result<bool, Error> {
        let mut state = self.state.lock();
        if state.closed || state.finished.is_some() {
            return Err(Error::disconnected("the stream has ended"));
        }
        let limits = &self.config.limits;
        // Without a reader waiting is useless: the oldest events make room.
        if state.attached && !state.window.has_room(limits.max_queued, limits.max_unwritten_bytes) {
            return Ok(false);
        }
        self.start(&mut state);
        self.append(&mut state, json);
        Ok(true)
    }

    fn start(&self, state: &mut ResponseStreamState) {
        if self.used.swap(true, Ordering::AcqRel) {
            return;
        }
        if self.kind == (StreamKind::Kept { primed: true }) {
            let retry = Some(self.config.retry);
            self.write(state, Event { retry, ..Event::default() });
        }
        state.reading.wake();
    }

    fn append(&self, state: &mut ResponseStreamState, json: &[u8]) {
        let name = (self.kind == StreamKind::Named).then_some("message");
        self.write(state, Event { name, ..Event::message(json) });
        state.reading.wake();
    }

    pub(super) fn write_first(&self, event: Event<'_>) {
        let mut state = self.state.lock();
        self.start(&mut state);
        self.write(&mut state, event);
    }

    fn write(&self, state: &mut ResponseStreamState, event: Event<'_>) {
        let id = self.is_kept().then(|| format!("{}-{}", self.number, state.window.next_number()));
        let mut bytes = Vec::new();
        Event { id: id.as_deref(), ..event }.write(&mut bytes);
        state.window.push(bytes.into());
        self.trim(state);
    }

    fn trim(&self, state: &mut ResponseStreamState) {
        if self.is_kept() {
            let lossy = !state.attached;
            state.window.trim(self.config.replay_events, self.config.replay_bytes, lossy);
        } else {
            state.window.trim(0, 0, false);
        }
    }
}

impl OutboxPort for ResponseStream {
    fn notify(&self, stream: StreamId, mut notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method.about_call() == Some(CallSide::Receiver) {
            return match &self.call {
                Some((own, id)) if *own == stream => self.notify_about(id, &notification),
                _ => {
                    tracing::debug!(method = %notification.method, "dropping a message about no call in work");
                    sent()
                }
            };
        }
        if let Some(id) = &self.subscription {
            tag_subscription(&mut notification.params, id);
        }
        let mut json = Vec::new();
        frame::write_notification(&mut json, &notification.method, &notification.params);
        self.push_soon(json)
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(async move {
            match &self.session {
                Some(session) => session.ask(self, request).await,
                None => Err(Error::invalid_request("a client without a session cannot be asked")),
            }
        })
    }
}

mgp_types::partial_debug!(ResponseStream, self => number: self.number, kind: self.kind);

/// Reads the id of an event: its stream, and its number in it.
pub(super) fn parse_event_id(id: &[u8]) -> Option<(u64, u64)> {
    let (stream, number) = std::str::from_utf8(id).ok()?.trim().split_once('-')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(stream) && digits(number)).then_some(())?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}
