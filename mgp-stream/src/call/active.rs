use std::future::{Future, poll_fn, ready};
use std::io::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mgp_types::mgp::{Category, Recovery, StreamSummary};
use mgp_types::{
    BoxFuture, Error, Method, Object, OutboxPort, Params, RawJson, Request, Response, StreamId, code,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout_at};

use super::cancel;
use super::content::Content;
use super::done::{Done, Sent};
use super::pace::{Due, Pace};
use super::resend::Resend;

/// One call in work: what it streamed, and whether it goes on.
///
/// The handler's chunks, the end of its work and whoever stops it meet in one short lock, so that there is one truth
/// about how the call ended.
pub(super) struct Active {
    port: Option<Arc<dyn OutboxPort>>,
    stream: StreamId,
    stall_limit: Duration,
    /// Whose chunk is next. Waiting for room is part of a turn, so that numbers leave in order.
    turn: Semaphore,
    /// The pace was changed, or the call is over.
    changed: Notify,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    began: Instant,
    /// The task of the call.
    waker: Option<Waker>,
    streamed: Streamed,
    resend: Resend,
    pace: Pace,
}

enum Phase {
    Running,
    Stopped(End),
    Over,
}

/// What a call streamed.
#[derive(Debug)]
pub(super) struct Streamed {
    pub(super) content: Content,
    pub(super) summary: StreamSummary,
}

/// How a call ended, if not by its handler.
#[derive(Debug)]
pub(super) enum End {
    /// The caller stopped it, and has what there was.
    Cancelled(Streamed),
    /// The caller did not take what was streamed to it.
    Failed(Error),
}

impl End {
    pub(super) fn into_answer(self) -> Result<Response, Error> {
        match self {
            Self::Cancelled(streamed) => Ok(cancel::result(&streamed)),
            Self::Failed(error) => Err(error),
        }
    }
}

impl Active {
    pub(super) fn new(port: Option<Arc<dyn OutboxPort>>, stream: StreamId, stall_limit: Duration) -> Self {
        let state = State {
            phase: Phase::Running,
            began: Instant::now(),
            waker: None,
            streamed: Streamed { content: Content::default(), summary: StreamSummary::new(0, 0) },
            resend: Resend::default(),
            pace: Pace::default(),
        };
        Self {
            port,
            stream,
            stall_limit,
            turn: Semaphore::new(1),
            changed: Notify::new(),
            state: Mutex::new(state),
        }
    }

    pub(super) const fn stream(&self) -> StreamId {
        self.stream
    }

    pub(super) fn port(&self) -> Option<&dyn OutboxPort> {
        self.port.as_deref()
    }

    /// How the call ended, if somebody else than its handler ended it. The task is woken when somebody does.
    pub(super) fn watch(&self, waker: &Waker) -> Option<End> {
        let mut state = self.state.lock();
        if let Some(end) = state.take_end() {
            return Some(end);
        }
        if !state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
        None
    }

    /// The handler is done. What the call streamed, if anything, or how it ended before.
    pub(super) fn finish(&self) -> Result<Option<Streamed>, End> {
        let mut state = self.state.lock();
        if let Some(end) = state.take_end() {
            return Err(end);
        }
        let streamed = if state.streamed.content.is_empty() { None } else { Some(state.take_streamed()) };
        self.end(state, Phase::Over);
        Ok(streamed)
    }

    /// The call is over without an answer, if it was not before.
    pub(super) fn abandon(&self) {
        let state = self.state.lock();
        if !matches!(state.phase, Phase::Over) {
            self.end(state, Phase::Over);
        }
    }

    /// Stops the call, unless it is over. What the caller is told.
    pub(super) fn cancel(&self) -> Option<Response> {
        let mut state = self.state.lock();
        if !matches!(state.phase, Phase::Running) {
            return None;
        }
        let mut streamed = state.take_streamed();
        streamed.summary = streamed.summary.cancelled();
        let answer = cancel::partial(&streamed.content);
        self.end(state, Phase::Stopped(End::Cancelled(streamed)));
        Some(answer)
    }

    /// Sets how many chunks a second the caller takes. Whether it is a number of chunks.
    pub(super) fn set_pace(&self, per_second: f64) -> bool {
        let set = self.state.lock().pace.set(per_second, self.stall_limit);
        self.changed.notify_waiters();
        set
    }

    /// Sends a part of the result, given as `content` and `done`; done when it has left.
    ///
    /// A chunk that was dropped while it waited has not left, and its number goes to the next one.
    pub(super) fn chunk(&self, params: &Params) -> BoxFuture<'_, Result<(), Error>> {
        let Some(content) = params.get("content").filter(RawJson::is_object) else {
            return Box::pin(ready(Err(Error::internal("a chunk has no block of content"))));
        };
        let part = Part { content, done: params.bytes("done") == Some(b"true") };
        // Most chunks need not wait for anything, and then there is nothing to put into a box.
        let free = self.turn.try_acquire().ok().filter(|_| self.state.lock().pace.is_free());
        match free {
            Some(turn) => self.send_chunk(part, turn),
            None => Box::pin(self.chunk_in_turn(part)),
        }
    }

    async fn chunk_in_turn(&self, part: Part) -> Result<(), Error> {
        let turn = self.turn.acquire().await.map_err(|_| over())?;
        self.keep_pace().await?;
        self.send_chunk(part, turn).await
    }

    /// Sends the next chunk, whose turn it is.
    fn send_chunk<'a>(&'a self, part: Part, turn: SemaphorePermit<'a>) -> BoxFuture<'a, Result<(), Error>> {
        let written = self.running().map(|state| write_chunk(state.streamed.summary.chunks_sent, &part));
        let message = written.and_then(|written| Ok((Object::from_raw(&written)?, written)));
        let (params, written) = match message {
            Ok(message) => message,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let mut sending = self.pass_on(Method::STREAM_CHUNK, params);
        match sending.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => {
                self.chunk_left(&part, written);
                Box::pin(Sent)
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

    fn chunk_left(&self, part: &Part, written: RawJson) {
        // A chunk that leaves while the call is stopped is not part of what was told about it.
        if let Ok(mut state) = self.running() {
            state.streamed.summary.chunks_sent += 1;
            state.streamed.content.push(&part.content);
            state.resend.push(written);
        }
    }

    /// The parameters that send the chunk again, if it is still kept.
    pub(super) fn kept(&self, index: u64) -> Option<Params> {
        self.state.lock().resend.get(index)
    }

    /// How many chunks have left.
    pub(super) fn chunks_sent(&self) -> u64 {
        self.state.lock().streamed.summary.chunks_sent
    }

    /// Sends a message in its turn, at the caller's pace.
    pub(super) async fn send(&self, method: Method, params: Params) -> Result<(), Error> {
        let _turn = self.turn.acquire().await.map_err(|_| over())?;
        self.keep_pace().await?;
        self.check()?;
        self.deliver(method, params).await
    }

    /// Waits until there is room for the message, at most as long as a caller may take.
    async fn deliver(&self, method: Method, params: Params) -> Result<(), Error> {
        let mut sending = self.pass_on(method, params);
        // Most messages find room at once, and need no timer.
        match poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await {
            Poll::Ready(sent) => sent,
            Poll::Pending => Box::pin(self.wait_for_room(sending)).await,
        }
    }

    fn pass_on(&self, method: Method, params: Params) -> BoxFuture<'_, Result<(), Error>> {
        match &self.port {
            Some(port) => port.notify(self.stream, Request::notify(method, params)),
            None => Box::pin(Done),
        }
    }

    async fn wait_for_room(&self, mut sending: BoxFuture<'_, Result<(), Error>>) -> Result<(), Error> {
        let mut limit = pin!(sleep(self.stall_limit));
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            self.check()?;
            let turn_of_events = poll_fn(|cx| {
                if let Poll::Ready(sent) = sending.as_mut().poll(cx) {
                    return Poll::Ready(Room::Found(sent));
                }
                if limit.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Room::Stalled);
                }
                changed.as_mut().poll(cx).map(|()| Room::Changed)
            });
            match turn_of_events.await {
                Room::Found(sent) => return sent,
                Room::Stalled => return Err(self.fail()),
                Room::Changed => {}
            }
        }
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
        let limit = Instant::now() + self.stall_limit;
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let due = self.running()?.pace.take(Instant::now());
            match due {
                Due::Now => return Ok(()),
                // Due or changed: the next look tells.
                Due::At(due) => drop(timeout_at(due, changed).await),
                Due::Never if timeout_at(limit, changed).await.is_err() => return Err(self.fail()),
                Due::Never => {}
            }
        }
    }

    /// The state of a call that goes on.
    fn running(&self) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.state.lock();
        match &state.phase {
            Phase::Running => Ok(state),
            Phase::Stopped(End::Failed(error)) => Err(error.clone()),
            Phase::Stopped(End::Cancelled(_)) | Phase::Over => Err(over()),
        }
    }

    fn check(&self) -> Result<(), Error> {
        self.running().map(drop)
    }

    /// Ends the call, for the caller does not take what is streamed to it.
    fn fail(&self) -> Error {
        let error = stalled();
        let state = self.state.lock();
        if matches!(state.phase, Phase::Running) {
            tracing::debug!(limit = ?self.stall_limit, "the caller stopped taking chunks");
            self.end(state, Phase::Stopped(End::Failed(error.clone())));
        }
        error
    }

    fn end(&self, mut state: MutexGuard<'_, State>, phase: Phase) {
        state.phase = phase;
        let waker = state.waker.take();
        // Whoever ends the call as over is its task.
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

impl State {
    fn take_end(&mut self) -> Option<End> {
        if !matches!(self.phase, Phase::Stopped(_)) {
            return None;
        }
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Stopped(end) => Some(end),
            Phase::Running | Phase::Over => None,
        }
    }

    fn take_streamed(&mut self) -> Streamed {
        let content = std::mem::take(&mut self.streamed.content);
        let summary = StreamSummary::new(self.streamed.summary.chunks_sent, millis_since(self.began));
        Streamed { content, summary }
    }
}

/// A part of the result, as the handler gives it.
struct Part {
    content: RawJson,
    done: bool,
}

/// What became of a message that waits for room.
enum Room {
    Found(Result<(), Error>),
    Stalled,
    Changed,
}

pub(super) fn millis_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn write_chunk(index: u64, part: &Part) -> RawJson {
    let content = part.content.as_bytes();
    let mut out = Vec::with_capacity(content.len() + 56);
    // Writing to memory does not fail.
    let _ = write!(out, r#"{{"index":{index},"content":"#);
    out.extend_from_slice(content);
    out.extend_from_slice(if part.done { br#","done":true}"# } else { br#","done":false}"# });
    RawJson::from_written(out)
}

/// The caller asked for chunks and does not take them. Trying again as before fails as before, after the tool has done
/// its work a second time: that is the caller's to change, so the error is not one to retry.
fn stalled() -> Error {
    Error::new(code::RESOURCE_EXHAUSTED, "what is streamed is not taken")
        .with_recovery(Recovery::new(Category::Resource, false))
}

/// For what is sent after the answer, by whatever a handler left running.
fn over() -> Error {
    Error::cancelled()
}
