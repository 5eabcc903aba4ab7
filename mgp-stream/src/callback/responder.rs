//! The client's responder for callbacks: a handler answers the questions of servers, each once, and they are recorded.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::mgp::{CallbackRequest, CallbackRespond, Extension, ServerId, method};
use mgp_types::{
    BoxFuture, Context, Error, Flow, Gate, GateLayer, Gated, Method, RawJson, Request, RequestKind, Response,
    Session, StreamId,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::question::wait_for;
use crate::session::{SessionKey, negotiated};

/// Answers the questions that servers ask in the middle of calls. Clones share all records.
///
/// A server sends a question again while it has no answer. The responder handles each question once: while its handler
/// works, a repeated question does nothing, and afterwards a repeated question brings the recorded answer once more. A
/// question counts as repeated only if it comes from the same server, in the same session, about the same call and in
/// the same words; an answer for one server or call is never given to another, whatever ids they use.
///
/// Handlers run in tasks of the responder, so that no connection waits for them. Handlers end when the server stops
/// waiting, or with the last clone of the responder. An answer that cannot be delivered is not sent again by itself: the
/// server asks again, and gets the recorded answer.
#[derive(Clone)]
pub struct CallbackResponder(Arc<CallbackResponderInner>);

struct CallbackResponderInner {
    handler: Arc<dyn CallbackHandler>,
    book: Mutex<CallbackHistory>,
    /// The hasher of questions, with a secret of this process.
    hasher: RandomState,
}

/// The responder for the questions of one server.
#[derive(Debug, Clone)]
pub struct ServerResponder {
    responder: CallbackResponder,
    server: ServerId,
}

impl CallbackResponder {
    /// Creates a responder whose questions `handler` answers.
    pub fn new(handler: impl CallbackHandler) -> Self {
        let (book, hasher) = (Mutex::default(), RandomState::default());
        Self(Arc::new(CallbackResponderInner { handler: Arc::new(handler), book, hasher }))
    }

    /// Returns the responder for the questions of `server`.
    pub fn of_server(&self, server: ServerId) -> ServerResponder {
        ServerResponder { responder: self.clone(), server }
    }
}

impl ServerResponder {
    /// Takes a question that came in `session` with `context`.
    fn take(&self, session: &Arc<Session>, request: &Request, context: Context) {
        let Some(asked) = CallbackRequest::read(&request.params) else {
            return tracing::warn!(server = %self.server, "a callback was dropped: its id is empty or too long");
        };
        let Ok(runtime) = Handle::try_current() else {
            return tracing::error!(server = %self.server, "a callback was dropped: no async runtime is there to answer it");
        };
        let now = Instant::now();
        let end = now + wait_for(&asked);
        let responder = &*self.responder.0;
        let occurrence = Occurrence::new(&asked, session, context.outbox.stream(), &responder.hasher, end);
        let mut book = responder.book.lock();
        let state = book.note(&self.server, &asked.callback_id, occurrence, now);
        let (server, session) = (self.server.clone(), Arc::clone(session));
        match state {
            CallbackState::New(entry) => {
                let responder = Arc::downgrade(&self.responder.0);
                let question = CallbackInProgress { responder, server, number: entry.number, asked };
                let work = question.answer(Arc::clone(&self.responder.0.handler), session, context, end);
                entry.tasks.spawn_on(work, &runtime);
            }
            CallbackState::Answered(entry, answer) => {
                entry.tasks.spawn_on(respond(server, asked.callback_id, session, answer), &runtime);
            }
            CallbackState::Busy => {}
            CallbackState::Full => {
                tracing::warn!(server = %self.server, "a callback was dropped: too many callbacks of the server are open");
            }
        }
    }
}

/// Takes the questions that a server asks in the middle of calls. The layer makes [`CallbackInbound`] services.
pub type CallbackInboundLayer = GateLayer<ServerResponder>;

/// The service of [`CallbackInboundLayer`].
///
/// The service sits in the stack that answers the server, behind the layer that knows the session. The service takes
/// `notifications/mgp.callback.request` where callbacks were negotiated and lets everything else go on. The responder
/// answers in a task of its own: the connection goes on at once. The service reads `context.session` and the stream of
/// `context.outbox`, writes and refuses nothing, and allocates and locks for its own notification only.
pub type CallbackInbound<S> = Gated<ServerResponder, S>;

impl Gate for ServerResponder {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let is_ours = request.kind == RequestKind::Notify && request.method == *method::CALLBACK_REQUEST;
        if is_ours
            && let Some(session) = &request.context.session
            && negotiated(Some(session), &Extension::Callbacks)
        {
            self.take(session, request, (*request.context).clone());
            return Flow::answer(Response::empty());
        }
        Flow::Pass(())
    }
}

/// A question that is being answered.
struct CallbackInProgress {
    /// The responder, which this task must not keep alive.
    responder: Weak<CallbackResponderInner>,
    server: ServerId,
    /// The number of the entry in the book: another question may have taken the id.
    number: u64,
    asked: CallbackRequest,
}

impl CallbackInProgress {
    /// Has the question answered until `end`, and sends the answer.
    async fn answer(
        self,
        handler: Arc<dyn CallbackHandler>,
        session: Arc<Session>,
        context: Context,
        end: Instant,
    ) {
        let wants_answer = self.asked.callback_type.wants_answer();
        let Ok(answer) = timeout_at(end, handler.handle(self.asked.clone(), context)).await else {
            return tracing::debug!(server = %self.server, "a callback got no answer in time");
        };
        let Some(answer) = answer.filter(|_| wants_answer) else {
            if wants_answer {
                tracing::debug!(server = %self.server, "a callback got no answer: its handler gave none");
            }
            return;
        };
        let answer = answer.detached();
        let Some(responder) = self.responder.upgrade() else { return };
        let id = self.asked.callback_id;
        let is_asked = responder.book.lock().answered(&self.server, &id, self.number, &answer);
        drop(responder);
        if is_asked {
            respond(self.server, id, session, answer).await;
        }
    }
}

/// The time to wait for the acknowledgement of an answer.
const DELIVERY: Duration = Duration::from_secs(30);

/// Sends the answer, once.
async fn respond(server: ServerId, id: Box<str>, session: Arc<Session>, answer: RawJson) {
    let body = CallbackRespond::new(id, answer);
    let request = Request::with_body(Method::from_static(method::CALLBACK_RESPOND), &body);
    let sent = timeout(DELIVERY, async { session.outbox.call(request?).await }).await;
    let late = || Error::timeout("the server did not acknowledge the answer");
    if let Err(error) = sent.unwrap_or_else(|_| Err(late())) {
        tracing::debug!(%server, code = error.code(), "the answer to a callback did not reach the server");
    }
}

mgp_types::partial_debug!(CallbackResponder, self => known: self.0.book.lock().len());

/// Answers callbacks: shows them to a user, or decides by a policy. Every function of this shape is a handler.
///
/// The handler gets the question of the server, and the context in which the question came. The answer is any JSON: for
/// a confirmation or a selection one of the options as a text, `null` for a user who closed the question. Without an
/// answer nothing is sent, and the server waits until its time is over; the same holds for unknown types, unless the
/// handler knows them. The answer to a notification is not sent. The future is dropped when the server stops waiting.
pub trait CallbackHandler: Send + Sync + 'static {
    /// Answers one callback.
    fn handle(&self, request: CallbackRequest, context: Context) -> BoxFuture<'static, Option<RawJson>>;
}

impl<F, Answering> CallbackHandler for F
where
    F: Fn(CallbackRequest, Context) -> Answering + Send + Sync + 'static,
    Answering: Future<Output = Option<RawJson>> + Send + 'static,
{
    fn handle(&self, request: CallbackRequest, context: Context) -> BoxFuture<'static, Option<RawJson>> {
        Box::pin(self(request, context))
    }
}

/// The questions that servers asked lately, and their answers.
#[derive(Debug, Default)]
struct CallbackHistory {
    servers: HashMap<ServerId, HashMap<Box<str>, CallbackEntry, RandomState>, RandomState>,
    /// The count of entries so far.
    entries: u64,
}

/// One arrival of a question.
#[derive(Debug)]
struct Occurrence {
    session: SessionKey,
    stream: StreamId,
    digest: u64,
    bytes: usize,
    /// The time at which the server stops waiting.
    end: Instant,
}

/// A question that was asked.
#[derive(Debug)]
struct CallbackEntry {
    number: u64,
    asked: Occurrence,
    answer: Option<RawJson>,
    /// The tasks that work on the answer and deliver it.
    tasks: JoinSet<()>,
}

/// The state of a question that arrives.
enum CallbackState<'a> {
    /// The question is new.
    New(&'a mut CallbackEntry),
    /// The question has this answer.
    Answered(&'a mut CallbackEntry, RawJson),
    /// A handler works on the question, its answer is being delivered, or there will be no answer.
    Busy,
    /// There is no room for the question.
    Full,
}

/// The time for which a question is remembered after its end.
const MEMORY: Duration = Duration::from_mins(10);

/// The number of deliveries of one answer at once.
const MAX_DELIVERIES: usize = 4;

/// The number of questions of one server that are remembered.
const MAX_KNOWN: usize = 256;

/// The bytes of the open questions of one server together.
const MAX_BYTES_IN_WORK: usize = 8 << 20;

/// The number of questions of one server that are open at once.
const MAX_IN_WORK: usize = 64;

impl CallbackHistory {
    /// Notes that `server` asked the question `id`, and returns its state.
    fn note(&mut self, server: &ServerId, id: &str, asked: Occurrence, now: Instant) -> CallbackState<'_> {
        // Questions that ended long ago are forgotten.
        self.servers.retain(|_, entries| {
            entries.retain(|_, entry| {
                while entry.tasks.try_join_next().is_some() {}
                now < entry.asked.end + MEMORY
            });
            !entries.is_empty()
        });
        let entries = self.servers.entry(server.clone()).or_default();
        if let Some(entry) = entries.get(id)
            && asked.repeats(&entry.asked)
        {
            let entry = entries.get_mut(id).expect("the entry was found under the same lock");
            return match entry.answer.clone() {
                Some(answer) if entry.tasks.len() < MAX_DELIVERIES => CallbackState::Answered(entry, answer),
                _ => CallbackState::Busy,
            };
        }
        // The id may stand for an older question that is over.
        entries.remove(id);
        let in_work = entries.values().filter(|entry| !entry.tasks.is_empty());
        let (questions, bytes) =
            in_work.fold((0, 0), |(questions, bytes), entry| (questions + 1, bytes + entry.asked.bytes));
        if questions >= MAX_IN_WORK || bytes + asked.bytes > MAX_BYTES_IN_WORK {
            return CallbackState::Full;
        }
        if entries.len() >= MAX_KNOWN {
            let idle = entries.iter().filter(|(_, entry)| entry.tasks.is_empty());
            if let Some(oldest) = idle.min_by_key(|(_, entry)| entry.asked.end).map(|(id, _)| id.clone()) {
                entries.remove(&oldest);
            }
        }
        self.entries += 1;
        let entry = CallbackEntry { number: self.entries, asked, answer: None, tasks: JoinSet::new() };
        CallbackState::New(entries.entry(id.into()).or_insert(entry))
    }

    /// Records the answer to a question. Returns whether the question is still open: the id may stand for another
    /// question by now, which this does not answer.
    fn answered(&mut self, server: &ServerId, id: &str, number: u64, answer: &RawJson) -> bool {
        let entry = self.servers.get_mut(server).and_then(|entries| entries.get_mut(id));
        let Some(entry) = entry.filter(|entry| entry.number == number) else { return false };
        entry.answer = Some(answer.clone());
        true
    }

    fn len(&self) -> usize {
        self.servers.values().map(HashMap::len).sum()
    }
}

impl Occurrence {
    /// Creates the record of an arrival. Of the question only a hash is kept, under a secret of this process.
    fn new(
        request: &CallbackRequest,
        session: &Arc<Session>,
        stream: StreamId,
        hasher: &RandomState,
        end: Instant,
    ) -> Self {
        let question = request.to_params().to_raw();
        let (digest, bytes) = (hasher.hash_one(question.as_bytes()), question.as_bytes().len());
        Self { session: SessionKey::of(session), stream, digest, bytes, end }
    }

    /// Returns whether this is `earlier` again. Servers number their callbacks from one again after a restart, and some
    /// for each call. The call may be over when a repeated question comes.
    fn repeats(&self, earlier: &Self) -> bool {
        self.digest == earlier.digest
            && self.session == earlier.session
            && (self.stream == earlier.stream || self.stream == StreamId::STANDALONE)
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::Revision;
    use mgp_types::mgp::CallbackType;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_comes_after_its_id_was_taken_is_not_recorded() {
        let (mut book, hasher, server) =
            (CallbackHistory::default(), RandomState::default(), ServerId::from("s"));
        let (session, now) = (Arc::new(Session::new(Revision::LATEST)), Instant::now());
        let note = |book: &mut CallbackHistory, message: &str| {
            let request = CallbackRequest::new("cb-1", CallbackType::Confirmation, message);
            let asked = Occurrence::new(&request, &session, StreamId::STANDALONE, &hasher, now + MEMORY);
            match book.note(&server, "cb-1", asked, now) {
                CallbackState::New(entry) => Some(entry.number),
                _ => None,
            }
        };
        let yes = RawJson::parse("true").unwrap();
        let file = note(&mut book, "Delete a file?").unwrap();
        let everything = note(&mut book, "Delete everything?").unwrap();
        assert!(!book.answered(&server, "cb-1", file, &yes));
        assert!(book.answered(&server, "cb-1", everything, &yes));
        assert_eq!(note(&mut book, "Delete everything?"), None);
    }
}
