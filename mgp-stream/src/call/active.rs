//! One streamed call in progress at the server, between the handler that streams and the caller that reads.

use std::future::{poll_fn, ready};
use std::io::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use mgp_types::mgp::{Category, Recovery, StreamSummary};
use mgp_types::{
    BoxFuture, Error, Method, Object, OutboxPort, Params, RawJson, Request, Response, StreamId, code,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::task::coop;
use tokio::time::{Instant, timeout, timeout_at};

use super::complete::cancellation_answer;
use super::content::{ResendBuffer, StreamedContent};
use super::pace::{ChunkDue, ChunkPacer};

/// The member of a chunk, as a handler gives it, with the number of the first chunk of a call that goes on with an
/// interrupted one. It is read where no chunk has left, and never sent.
pub const FIRST_INDEX: &str = "first_index";

/// The time that a caller has to take one chunk.
const STALL_LIMIT: Duration = Duration::from_secs(10);

/// A streamed call in progress: its chunks, its pace, and whether it goes on.
///
/// The handler's chunks, the end of its work and a cancellation meet in one short lock, so that all agree on how the
/// call ended.
pub(super) struct ActiveCall {
    port: Option<Arc<dyn OutboxPort>>,
    pub(super) stream: StreamId,
    /// The right to send the next chunk. Waiting for room is part of a turn, so that numbers leave in order.
    turn: Semaphore,
    /// Signals that the pace was changed or that the call is over.
    changed: Notify,
    state: Mutex<ActiveCallState>,
}

mgp_types::with_defaults! {
    struct ActiveCallState {
        phase: Phase = Phase::Running,
        began: Instant = Instant::now(),
        /// The waker of the task that runs the call.
        waker: AtomicWaker = AtomicWaker::new(),
        streamed: StreamedResult = StreamedResult::default(),
        resend: ResendBuffer = ResendBuffer::default(),
        pace: ChunkPacer = ChunkPacer::default(),
    }
}

enum Phase {
    Running,
    Stopped(ForcedEnd),
    Over,
}

/// The content that a call streamed, and the summary of it.
#[derive(Debug, Default)]
pub(super) struct StreamedResult {
    pub(super) content: StreamedContent,
    pub(super) summary: StreamSummary,
}

/// The way in which a call ended, if not by its handler.
#[derive(Debug)]
pub(super) enum ForcedEnd {
    /// The caller cancelled the call and gets the content streamed so far.
    Cancelled(StreamedResult),
    /// The caller did not take the chunks in time.
    Failed(Error),
}

impl ActiveCall {
    pub(super) fn new(port: Option<Arc<dyn OutboxPort>>, stream: StreamId) -> Self {
        Self { port, stream, turn: Semaphore::new(1), changed: Notify::new(), state: Mutex::default() }
    }

    /// Returns how the call ended, if its handler did not end it. The task of `waker` is woken when the call ends in
    /// this way.
    pub(super) fn watch(&self, waker: &Waker) -> Option<ForcedEnd> {
        let mut state = self.state.lock();
        if let Some(end) = state.take_end() {
            return Some(end);
        }
        state.waker.register(waker);
        None
    }

    /// Ends the call for its handler. Returns the content that the call streamed, if any, or how the call ended before.
    pub(super) fn finish(&self) -> Result<Option<StreamedResult>, ForcedEnd> {
        let mut state = self.state.lock();
        if let Some(end) = state.take_end() {
            return Err(end);
        }
        let streamed = if state.streamed.content.is_empty() { None } else { Some(state.take_streamed()) };
        self.end(state, Phase::Over);
        Ok(streamed)
    }

    /// Ends the call without an answer, unless the call is over.
    pub(super) fn abandon(&self) {
        let state = self.state.lock();
        if !matches!(state.phase, Phase::Over) {
            self.end(state, Phase::Over);
        }
    }

    /// Cancels the call, unless the call is over, and returns the answer to the caller's cancellation.
    pub(super) fn cancel(&self) -> Option<Response> {
        let mut state = self.state.lock();
        if !matches!(state.phase, Phase::Running) {
            return None;
        }
        let mut streamed = state.take_streamed();
        streamed.summary = streamed.summary.cancelled();
        let answer = cancellation_answer(&streamed.content);
        self.end(state, Phase::Stopped(ForcedEnd::Cancelled(streamed)));
        Some(answer)
    }

    /// Sets the rate in chunks per second that the caller takes. Returns whether `per_second` is a valid rate.
    pub(super) fn set_pace(&self, per_second: f64) -> bool {
        let set = self.state.lock().pace.set(per_second, STALL_LIMIT);
        self.changed.notify_waiters();
        set
    }

    /// Sends a part of the result, given as `content` and `done`; the future is ready when the chunk has left.
    ///
    /// A chunk whose future is dropped while the chunk waits has not left; the next chunk gets its number.
    pub(super) fn chunk(&self, message: Request) -> BoxFuture<'_, Result<(), Error>> {
        let params = &message.params;
        let Some(content) = params.get("content").filter(RawJson::is_object) else {
            return Box::pin(ready(Err(Error::internal("the chunk has no `content`"))));
        };
        if let Some(first) = params.get(FIRST_INDEX).and_then(|first| first.to::<u64>().ok()) {
            // The chunks are numbered from it on, if none has left: the call goes on with another one.
            let mut state = self.state.lock();
            if state.streamed.summary.chunks_sent == 0 {
                state.streamed.summary.chunks_sent = first;
                state.resend.start_at(first);
            }
        }
        let checkpoint = ["operation_id", "checkpoint_token"].map(|name| params.get(name));
        let part = ResultPart { content, done: params.bytes("done") == Some(b"true"), checkpoint };
        // Most chunks need not wait, and then no future has to be boxed.
        let free = self.turn.try_acquire().ok().filter(|_| self.state.lock().pace.is_free());
        match free {
            Some(turn) => self.send_chunk(part, message, turn),
            None => Box::pin(self.chunk_in_turn(part, message)),
        }
    }

    async fn chunk_in_turn(&self, part: ResultPart, message: Request) -> Result<(), Error> {
        let turn = self.turn.acquire().await.map_err(|_| Error::cancelled())?;
        self.keep_pace().await?;
        self.send_chunk(part, message, turn).await
    }

    /// Sends the next chunk in `message`; `turn` gives the right to do so.
    fn send_chunk<'a>(
        &'a self,
        part: ResultPart,
        mut message: Request,
        turn: SemaphorePermit<'a>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        let written = self.running().map(|state| write_chunk(state.streamed.summary.chunks_sent, &part));
        let numbered = written.and_then(|written| Ok((Object::from_raw(&written)?, written)));
        let (params, written) = match numbered {
            Ok(numbered) => numbered,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        message.params = params;
        let mut sending = self.pass_on(self.stream, message);
        match sending.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => {
                self.chunk_left(&part, written);
                sent()
            }
            Poll::Ready(Err(error)) => Box::pin(ready(Err(error))),
            Poll::Pending => Box::pin(async move {
                let _turn = turn;
                self.wait_for_room(sending).await?;
                self.chunk_left(&part, written);
                Ok(())
            }),
        }
    }

    fn chunk_left(&self, part: &ResultPart, written: RawJson) {
        // A chunk that leaves while the call is cancelled is not part of the result that the caller was told.
        if let Ok(mut state) = self.running() {
            state.streamed.summary.chunks_sent += 1;
            state.streamed.content.push(&part.content);
            state.resend.push(written);
        }
    }

    /// Returns the parameters that send chunk `index` again, if the chunk is still kept.
    pub(super) fn kept(&self, index: u64) -> Option<Params> {
        self.state.lock().resend.get(index)
    }

    /// Returns how many chunks have left.
    pub(super) fn chunks_sent(&self) -> u64 {
        self.state.lock().streamed.summary.chunks_sent
    }

    /// Sends a message in its turn, at the caller's pace.
    pub(super) async fn send(&self, method: Method, params: Params) -> Result<(), Error> {
        let _turn = self.turn.acquire().await.map_err(|_| Error::cancelled())?;
        self.keep_pace().await?;
        drop(self.running()?);
        let mut sending = self.pass_on(self.stream, Request::notify(method, params));
        // Most messages find room at once, and need no timer.
        match poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await {
            Poll::Ready(sent) => sent,
            Poll::Pending => Box::pin(self.wait_for_room(sending)).await,
        }
    }

    fn pass_on(&self, stream: StreamId, message: Request) -> BoxFuture<'_, Result<(), Error>> {
        if let Some(port) = &self.port { port.notify(stream, message) } else { sent() }
    }

    async fn wait_for_room(&self, mut sending: BoxFuture<'_, Result<(), Error>>) -> Result<(), Error> {
        let sent = timeout(STALL_LIMIT, async {
            loop {
                let mut changed = pin!(self.changed.notified());
                changed.as_mut().enable();
                drop(self.running()?);
                let news = poll_fn(|cx| match sending.as_mut().poll(cx) {
                    Poll::Ready(sent) => Poll::Ready(Some(sent)),
                    Poll::Pending => changed.as_mut().poll(cx).map(|()| None),
                });
                if let Some(sent) = news.await {
                    return sent;
                }
            }
        });
        sent.await.unwrap_or_else(|_| Err(self.fail()))
    }

    async fn keep_pace(&self) -> Result<(), Error> {
        if self.running()?.pace.is_free() {
            return Ok(());
        }
        Box::pin(self.wait_for_pace()).await
    }

    //= mgp §12.8 (later drafts)
    //# max_chunks_per_second
    async fn wait_for_pace(&self) -> Result<(), Error> {
        let limit = Instant::now() + STALL_LIMIT;
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let due = self.running()?.pace.take(Instant::now());
            match due {
                ChunkDue::Now => return Ok(()),
                // The loop looks again both when the time has come and when the pace was changed.
                ChunkDue::At(due) => drop(timeout_at(due, changed).await),
                ChunkDue::Never if timeout_at(limit, changed).await.is_err() => return Err(self.fail()),
                ChunkDue::Never => {}
            }
        }
    }

    /// Returns the locked state of a call that goes on, or the error of one that is over.
    fn running(&self) -> Result<MutexGuard<'_, ActiveCallState>, Error> {
        let state = self.state.lock();
        match &state.phase {
            Phase::Running => Ok(state),
            Phase::Stopped(ForcedEnd::Failed(error)) => Err(error.clone()),
            Phase::Stopped(ForcedEnd::Cancelled(_)) | Phase::Over => Err(Error::cancelled()),
        }
    }

    /// Ends the call because the caller does not take its chunks.
    fn fail(&self) -> Error {
        // A second try would fail in the same way, after the tool has done its work again.
        let error =
            Error::new(code::RESOURCE_EXHAUSTED, "the caller did not take the streamed chunks in time")
                .with_recovery(Recovery::new(Category::Resource, false));
        let state = self.state.lock();
        if matches!(state.phase, Phase::Running) {
            tracing::debug!(limit = ?STALL_LIMIT, "the caller stopped taking chunks");
            self.end(state, Phase::Stopped(ForcedEnd::Failed(error.clone())));
        }
        error
    }

    fn end(&self, mut state: MutexGuard<'_, ActiveCallState>, phase: Phase) {
        state.phase = phase;
        let waker = state.waker.take();
        // The task of the call itself ends the call as over, and need not be woken then.
        let stopped = matches!(state.phase, Phase::Stopped(_));
        drop(state);
        if let Some(waker) = waker
            && stopped
        {
            waker.wake();
        }
        self.changed.notify_waiters();
    }
}

impl ActiveCallState {
    fn take_end(&mut self) -> Option<ForcedEnd> {
        let Phase::Stopped(_) = self.phase else { return None };
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Stopped(end) => Some(end),
            Phase::Running | Phase::Over => None,
        }
    }

    fn take_streamed(&mut self) -> StreamedResult {
        let content = std::mem::take(&mut self.streamed.content);
        let summary = StreamSummary::new(self.streamed.summary.chunks_sent, millis_since(self.began));
        StreamedResult { content, summary }
    }
}

/// A part of the result, as the handler gives it.
struct ResultPart {
    content: RawJson,
    done: bool,
    /// The operation and the token of a checkpoint behind the part.
    checkpoint: [Option<RawJson>; 2],
}

pub(super) fn millis_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn write_chunk(index: u64, part: &ResultPart) -> RawJson {
    let content = part.content.as_bytes();
    let mut out = Vec::with_capacity(content.len() + 56);
    // Writing to a `Vec` does not fail.
    let _ = write!(out, r#"{{"index":{index},"content":"#);
    out.extend_from_slice(content);
    out.extend_from_slice(if part.done { br#","done":true"# } else { br#","done":false"# });
    for (name, value) in ["operation_id", "checkpoint_token"].into_iter().zip(&part.checkpoint) {
        if let Some(value) = value {
            let _ = write!(out, r#","{name}":"#);
            out.extend_from_slice(value.as_bytes());
        }
    }
    out.push(b'}');
    RawJson::from_written(out)
}

/// The outbox that the handler of a tool sees: chunks are numbered, paced and kept; all other messages pass.
impl OutboxPort for ActiveCall {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method == Method::STREAM_CHUNK {
            return self.chunk(notification);
        }
        self.pass_on(stream, notification)
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        if let Some(port) = &self.port {
            return port.call(stream, request);
        }
        let error = Error::invalid_request("the peer cannot be asked on this connection");
        Box::pin(std::future::ready(Err(error)))
    }
}

/// Returns the future of a message that has been sent already. It has no size, so that boxing it is free. A handler that
/// sends in a loop gives way to other tasks here now and then.
pub(super) fn sent() -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(poll_fn(|cx| {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(()))
    }))
}
