//! The client's responder for callbacks: a handler answers the questions of servers, each once.

use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::mgp::{CallbackRequest, CallbackRespond, Extension, ServerId, method};
use mgp_types::{
    BoxFuture, Context, Error, Flow, Gate, GateLayer, Gated, Method, RawJson, Request, RequestKind, Response,
    Session,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout, timeout_at};

use self::history::{CallbackHistory, CallbackState, Occurrence};

mod history;

use super::question::wait_for;
use crate::session::negotiated;

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
            tracing::warn!(server = %self.server, "a callback was dropped: its id is empty or too long");
            return;
        };
        let Ok(runtime) = Handle::try_current() else {
            tracing::error!(server = %self.server, "a callback was dropped: no async runtime is there to answer it");
            return;
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
            tracing::debug!(server = %self.server, "a callback got no answer in time");
            return;
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
    let sent = match Request::with_body(Method::from_static(method::CALLBACK_RESPOND), &body) {
        Ok(request) => timeout(DELIVERY, session.outbox.call(request)).await,
        Err(error) => Ok(Err(error)),
    };
    let error = match sent {
        Ok(Ok(_)) => return,
        Ok(Err(error)) => error,
        Err(_) => Error::timeout("the server did not acknowledge the answer"),
    };
    tracing::debug!(%server, code = error.code(), "the answer to a callback did not reach the server");
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
