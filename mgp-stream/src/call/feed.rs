//! The client's queue between the connection that brings chunks and progress, and the reader.

use std::collections::VecDeque;
use std::pin::pin;
use std::task::Context;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use mgp_types::mcp::ContentBlock;
use mgp_types::mgp::{StreamChunk, StreamGap, StreamProgress, method};
use mgp_types::{BoxFuture, Error, Method, Object, Outbox, OutboxPort, Request, Response, StreamId};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::active::sent;
use super::assembly::{ChunkAssembly, StreamPart};
use super::content::bare_text;

/// The bounded queue of messages about a call, between the connection and the reader.
///
/// A message that finds no room waits, which keeps the server from sending. The wait is limited, because a later
/// message on the connection can be the one that the reader waits for. After the limit, and once the reader cancels the
/// call, chunks that find no room are left out: they count as missing and can be asked for again.
pub(super) struct CallFeed {
    state: Mutex<CallFeedState>,
    /// The waker of the reader.
    waker: AtomicWaker,
    room: Notify,
    /// The outbox for all other messages.
    outer: Outbox,
}

#[derive(Default)]
struct CallFeedState {
    assembly: ChunkAssembly,
    parts: VecDeque<StreamPart>,
    /// Set while a message waits for room.
    crowded: bool,
    /// Set once a message came that only a server with streaming sends.
    streamed: bool,
    intake: IntakeMode,
}

/// The treatment of messages that find no room.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntakeMode {
    /// Messages wait for room.
    #[default]
    Patient,
    /// Messages are left out until there is room again.
    Impatient,
    /// Messages that find no room are left out, because the reader cancels the call.
    Stopping,
    /// All messages are left out.
    Closed,
}

/// The view that the reader gets of the queue.
pub(super) struct FeedRead {
    pub(super) part: Option<StreamPart>,
    /// The number of parts in the queue behind this one.
    pub(super) left: usize,
    /// The number of the chunk that all later ones wait for.
    pub(super) waits_for: Option<u64>,
    pub(super) streamed: bool,
}

/// The time that a message waits for room, shorter than servers usually wait for their callers.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of parts that wait for their reader at most.
pub(super) const CAPACITY: usize = 64;

impl CallFeed {
    /// Creates the queue of a call whose first chunk has the number `first`.
    pub(super) fn new(outer: Outbox, first: u64) -> Self {
        let state = CallFeedState { assembly: ChunkAssembly::starting_at(first), ..CallFeedState::default() };
        Self { state: Mutex::new(state), waker: AtomicWaker::new(), room: Notify::new(), outer }
    }

    /// Takes out the next part. The task is woken when there is one.
    pub(super) fn pop(&self, cx: &Context<'_>) -> FeedRead {
        let mut state = self.state.lock();
        let part = state.parts.pop_front();
        if part.is_none() {
            self.waker.register(cx.waker());
        }
        let left = state.parts.len();
        if left < CAPACITY && state.intake == IntakeMode::Impatient {
            state.intake = IntakeMode::Patient;
        }
        let waits_for = state.assembly.waits_for();
        let streamed = state.streamed;
        let roomy = left < CAPACITY && std::mem::take(&mut state.crowded);
        drop(state);
        if roomy {
            self.room.notify_waiters();
        }
        FeedRead { part, left, waits_for, streamed }
    }

    /// Forgets the waker, because the reader looks for itself and need not be woken.
    pub(super) fn forget_waker(&self) {
        drop(self.waker.take());
    }

    pub(super) fn missing(&self) -> Vec<u64> {
        self.state.lock().assembly.missing()
    }

    /// Notes that the answer came, after `chunks_sent` chunks if the server says so.
    pub(super) fn end(&self, chunks_sent: Option<u64>) {
        let mut state = self.state.lock();
        state.assembly.end(chunks_sent);
        state.settle();
        state.intake = IntakeMode::Closed;
        drop(state);
        self.room.notify_waiters();
    }

    /// Ends all waiting for room, and leaves messages out by this mode, unless all are left out already.
    pub(super) fn leave_out(&self, intake: IntakeMode) {
        let mut state = self.state.lock();
        if state.intake != IntakeMode::Closed {
            state.intake = intake;
        }
        drop(state);
        self.room.notify_waiters();
    }

    /// Takes in a message that found no room before.
    async fn put(&self, mut news: CallUpdate) -> Result<(), Error> {
        let limit = Instant::now() + PATIENCE;
        loop {
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            let Some(refused) = self.offer(news) else { return Ok(()) };
            news = refused;
            if timeout_at(limit, room).await.is_err() {
                tracing::debug!(
                    "a chunk or progress message was left out: the reader of the stream does not keep up"
                );
                self.leave_out(IntakeMode::Impatient);
            }
        }
    }

    /// Takes in a message, or gives it back if there is no room.
    fn offer(&self, news: CallUpdate) -> Option<CallUpdate> {
        let mut state = self.state.lock();
        if state.intake == IntakeMode::Closed {
            return None;
        }
        if state.parts.len() >= CAPACITY {
            if state.intake == IntakeMode::Patient {
                state.crowded = true;
                return Some(news);
            }
            if let CallUpdate::Chunk(chunk, _) = news {
                state.assembly.note(chunk.index);
            }
            return None;
        }
        state.streamed |= !matches!(news, CallUpdate::Progress(_));
        match news {
            CallUpdate::Chunk(chunk, bytes) => state.assembly.take(chunk, bytes),
            CallUpdate::Lost(gap) => state.assembly.lose(gap.missing_indices),
            CallUpdate::Progress(progress) => state.parts.push_back(StreamPart::Progress(progress)),
        }
        state.settle();
        drop(state);
        self.waker.wake();
        None
    }
}

impl OutboxPort for CallFeed {
    fn notify(&self, _: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        let Some(read) = CallUpdate::reader(&notification.method) else {
            return Box::pin(self.outer.notify(notification));
        };
        let Some(news) = read(&notification.params) else {
            tracing::debug!(method = %notification.method, "a message about a stream is malformed and was ignored");
            return sent();
        };
        if let Some(news) = self.offer(news) { Box::pin(self.put(news)) } else { sent() }
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.outer.call(request))
    }
}

impl CallFeedState {
    fn settle(&mut self) {
        self.parts.extend(std::iter::from_fn(|| self.assembly.pop()));
    }
}

/// A message of the server about the call.
enum CallUpdate {
    Chunk(StreamChunk, usize),
    Progress(StreamProgress),
    Lost(StreamGap),
}

impl CallUpdate {
    /// Returns the function that reads the parameters of the notification `name`, if it is about a stream.
    fn reader(name: &Method) -> Option<fn(&Object) -> Option<Self>> {
        match name.as_str() {
            method::STREAM_CHUNK => Some(|params| {
                let bytes = params.bytes("content").map_or(0, <[u8]>::len);
                let chunk = text_chunk(params).or_else(|| params.to().ok());
                chunk.map(|chunk| Self::Chunk(chunk, bytes))
            }),
            method::STREAM_PROGRESS => Some(|params| params.to().ok().map(Self::Progress)),
            method::STREAM_GAP_UNRECOVERABLE => Some(|params| params.to().ok().map(Self::Lost)),
            _ => None,
        }
    }
}

/// Reads a chunk of text without another scan of its JSON; most chunks are of this kind. Other chunks give `None`.
fn text_chunk(params: &Object) -> Option<StreamChunk> {
    if params.contains("checkpoint_token") {
        return None;
    }
    let text = std::str::from_utf8(bare_text(params.bytes("content")?)?).ok()?;
    if text.contains('\\') {
        return None;
    }
    let index = std::str::from_utf8(params.bytes("index")?).ok()?.parse().ok()?;
    let mut chunk = StreamChunk::new(index, ContentBlock::text(text));
    chunk.done = match params.bytes("done") {
        None | Some(b"false") => false,
        Some(b"true") => true,
        Some(_) => return None,
    };
    Some(chunk)
}
