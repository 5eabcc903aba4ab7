//! One session of the HTTP server: its streams, its work, its end.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mgp_types::{
    BoxFuture, Error, Id, Method, Object, Origin, OutboxPort, Principal, RawJson, Request, Response,
    Revision, RunningCalls, StreamId, Validity, ValidityWatch, frame,
};
use parking_lot::Mutex;
use scopeguard::guard;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::config::HttpConfig;
use super::in_flight::InFlightCalls;
use super::replay::ResumeError;
use super::session_table::SessionId;
use super::stream::{ResponseStream, StreamKind};
use crate::http::replies::Replies;

/// The number of finished streams that a session keeps for a client that lost them.
const KEPT_STREAMS: usize = 16;
/// The time for which a finished stream is kept.
const KEPT_FOR: Duration = Duration::from_mins(5);

/// The state of a session without the service that answers it: its streams, and its work.
pub(super) struct HttpSession {
    pub(super) id: SessionId,
    /// True if the session is one of HTTP+SSE, where all messages travel on the standalone stream.
    pub(super) is_sse: bool,
    /// The principal that opened the session; no other principal finds it.
    pub(super) principal: Option<Principal>,
    config: Arc<HttpConfig>,
    revision: OnceLock<Revision>,
    /// The stream of messages that belong to no request.
    pub(super) standalone: Arc<ResponseStream>,
    pub(super) calls: InFlightCalls,
    /// The questions that the peer has not answered.
    questions: Replies,
    last_question: AtomicI64,
    /// The streams of requests that can be resumed.
    streams: Mutex<Vec<Arc<ResponseStream>>>,
    last_stream: AtomicU64,
    tasks: Mutex<JoinSet<()>>,
    /// True if the peer was there since the last sweep. Requests set the flag; only sweeps look at the clock.
    seen: AtomicBool,
    /// The time of the last sweep that found the flag set.
    last_seen: Mutex<Instant>,
    closed: AtomicBool,
    /// True if the key that opened the session holds no longer, so that only its calls may finish.
    retired: AtomicBool,
}

/// The number of the stream of messages that belong to no request.
const STANDALONE: u64 = 0;

impl HttpSession {
    pub(super) fn new(config: Arc<HttpConfig>, principal: Option<Principal>, kind: StreamKind) -> Self {
        let standalone = ResponseStream::new(kind, Arc::clone(&config), STANDALONE);
        let is_sse = kind == StreamKind::Named;
        if let StreamKind::Kept { .. } = kind {
            standalone.detach(0); // Nobody reads it yet.
        }
        Self {
            id: SessionId::random(),
            is_sse,
            principal,
            calls: InFlightCalls::new(&config),
            revision: OnceLock::new(),
            standalone: Arc::new(standalone),
            questions: Replies::new(config.limits.max_in_flight, "the session has ended"),
            config,
            last_question: AtomicI64::new(0),
            streams: Mutex::default(),
            last_stream: AtomicU64::new(STANDALONE),
            tasks: Mutex::default(),
            seen: AtomicBool::new(true),
            last_seen: Mutex::new(Instant::now()),
            closed: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        }
    }

    /// Returns the revision, once it was agreed on.
    pub(super) fn revision(&self) -> Option<Revision> {
        self.revision.get().copied()
    }

    /// Notes the revision that the result of `initialize` names.
    pub(super) fn agree(&self, result: &Response) {
        let result = Object::from_raw(&result.to_raw()).unwrap_or_default();
        let revision = result.text("protocolVersion").and_then(|name| name.parse().ok());
        // An unknown revision is treated as the oldest one, so that no later feature is used.
        let _ = self.revision.set(revision.unwrap_or(Revision::V2024_11_05));
    }

    /// Creates a stream for the answer to one POST.
    pub(super) fn new_stream(self: &Arc<Self>) -> ResponseStream {
        let number = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        let kind = StreamKind::Kept { primed: self.can_poll() };
        let mut stream = ResponseStream::new(kind, Arc::clone(&self.config), number);
        stream.session = Some(Arc::clone(self));
        stream
    }

    /// Returns whether a handler may close the stream of its request for a while.
    pub(super) fn can_poll(&self) -> bool {
        self.revision().is_some_and(|revision| revision >= Revision::V2025_11_25)
    }

    /// Keeps a stream for a reader that loses it.
    pub(super) fn keep(&self, stream: &Arc<ResponseStream>) {
        let mut streams = self.streams.lock();
        let finished = |stream: &Arc<ResponseStream>| stream.finished().is_some();
        while streams.iter().filter(|stream| finished(stream)).count() >= KEPT_STREAMS {
            let Some(oldest) = streams.iter().position(finished) else { break };
            streams.remove(oldest);
        }
        if !self.closed.load(Ordering::Acquire) {
            streams.push(Arc::clone(stream));
        }
    }

    /// Returns the stream with this number, and its new reader.
    pub(super) fn resume(&self, number: u64, after: u64) -> Result<(Arc<ResponseStream>, u64), ResumeError> {
        let stream = if number == STANDALONE {
            Arc::clone(&self.standalone)
        } else {
            if number > self.last_stream.load(Ordering::Relaxed) {
                return Err(ResumeError::Unknown);
            }
            let streams = self.streams.lock();
            Arc::clone(streams.iter().find(|stream| stream.number == number).ok_or(ResumeError::Forgotten)?)
        };
        let reader = stream.attach(Some(after))?;
        Ok((stream, reader))
    }

    /// Runs `work` until it is done or the session ends.
    pub(super) fn spawn(&self, work: impl Future<Output: Send> + Send + 'static) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        if !self.closed.load(Ordering::Acquire) {
            let work = async {
                work.await;
            };
            tasks.spawn_on(work, &runtime);
        }
    }

    /// Returns whether the session may start no more work for now. Calls are bounded by their ids; this bounds the
    /// rest.
    pub(super) fn is_busy(&self) -> bool {
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.len() >= self.config.limits.max_in_flight.saturating_mul(2)
    }

    /// Notes that the peer is there.
    pub(super) fn touch(&self) {
        self.seen.store(true, Ordering::Relaxed);
    }

    /// Returns whether the session was idle for so long that it may end.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        if self.is_over() {
            return self.calls.is_empty();
        }
        let mut last_seen = self.last_seen.lock();
        if self.seen.swap(false, Ordering::Relaxed) {
            *last_seen = now;
        }
        now.saturating_duration_since(*last_seen) >= self.config.session_idle
            && self.calls.is_empty()
            && !self.standalone.is_attached()
            && !self.streams.lock().iter().any(|stream| stream.is_attached())
    }

    /// Forgets streams whose readers did not come back.
    pub(super) fn sweep(&self, now: Instant) {
        self.streams.lock().retain(|stream| {
            let is_kept = |at| now.saturating_duration_since(at) < KEPT_FOR || stream.is_attached();
            stream.finished().is_none_or(is_kept)
        });
    }

    /// Ends the stream of messages that belong to no request, unless answers travel there as well.
    pub(super) fn end_listening(&self) {
        if !self.is_sse || self.calls.is_empty() {
            self.standalone.close();
        }
    }

    /// Ends all work and all streams of the session.
    pub(super) fn close(&self) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.standalone.shut();
        for stream in std::mem::take(&mut *self.streams.lock()) {
            stream.shut();
        }
        self.calls.cancel_all();
        self.questions.end();
        // The tasks are dropped outside the lock, because dropping them locks it again.
        let tasks = std::mem::take(&mut *self.tasks.lock());
        drop(tasks);
    }

    /// Ends the session with `validity`, that of the key that opened it: at once, or when its calls are done. Dropping the
    /// watch undoes this.
    pub(super) fn end_with(self: &Arc<Self>, validity: &Validity) -> ValidityWatch {
        let session = Arc::downgrade(self);
        validity.on_end(move |calls| {
            let Some(session) = session.upgrade() else { return };
            match calls {
                // The answers of HTTP+SSE come on the one stream that ends.
                RunningCalls::Finish if !session.is_sse => {
                    session.retired.store(true, Ordering::Release);
                    session.standalone.shut();
                }
                _ => session.close(),
            }
        })
    }

    /// Returns whether no new work may begin in the session.
    pub(super) fn is_over(&self) -> bool {
        self.closed.load(Ordering::Acquire) || self.retired.load(Ordering::Acquire)
    }

    /// Sends a request on `stream` and waits for its answer, which comes by a POST of its own.
    ///
    /// # Cancel safety
    /// Dropping the future takes the request back.
    pub(super) async fn ask(&self, stream: &ResponseStream, request: Request) -> Result<Response, Error> {
        let id = self.last_question.fetch_add(1, Ordering::Relaxed) + 1;
        let mut reply = guard(self.questions.wait(id)?, |_reply| {
            if self.questions.is_awaited(id) && stream.is_used() {
                let params = Object::from([("requestId", Id::Number(id).to_raw())]);
                let mut json = Vec::new();
                frame::write_notification(&mut json, &Method::CANCELLED, &params);
                stream.force(&json);
            }
        });
        let mut json = Vec::new();
        frame::write_call(&mut json, &Id::Number(id), &request.method, &request.params);
        stream.push(&json).await?;
        let outcome = timeout(self.config.peer_timeout, reply.answer()).await;
        let result = outcome.unwrap_or_else(|_| Err(Error::timeout("the client did not answer")))?;
        frame::check_result(&request.method, &result)?;
        Ok(Response::new(result))
    }

    /// Hands an answer to the question's asker. An answer without a waiting asker is ignored.
    pub(super) fn answer(&self, id: Option<&Id>, outcome: Result<RawJson, Error>) {
        let Some(Id::Number(id)) = id else { return };
        let outcome = outcome.map_err(|error| match error.origin() {
            Origin::Local => Error::misbehaved("the answer is malformed").with_source(error),
            _ => error,
        });
        self.questions.settle(*id, outcome);
    }
}

impl OutboxPort for HttpSession {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        self.standalone.notify(stream, notification)
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.ask(&self.standalone, request))
    }
}
