//! The client's side: who answers what servers ask.

mod book;
mod handler;
mod inbound;

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::mgp::{CallbackRequest, CallbackRespond, ServerId, method};
use mgp_types::{Context, Error, Method, RawJson, Request, Session};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout, timeout_at};

use self::book::{Book, Occurrence, State};
pub use self::handler::CallbackHandler;
pub use self::inbound::{CallbackInbound, CallbackInboundFuture, CallbackInboundLayer};
use super::wait;
use crate::task::Task;

/// Answers what servers ask in the middle of calls. Clones share what they know.
///
/// A server sends a question again while it has no answer. Each is handled once: while somebody works on it a repeated
/// one does nothing, and afterwards it brings the recorded answer once more. It is the same question only from the same
/// server, in the same session, about the same call and in the same words; what was answered for one server or call
/// is never an answer to another, whatever ids they use.
///
/// Handlers run in tasks of the desk, so no connection waits for them, and end with the time that the server waits, or
/// with the last clone of the desk. An answer that cannot be delivered is not sent again by itself: the server asks
/// again for what it did not get, and gets the recorded answer.
#[derive(Clone)]
pub struct CallbackDesk(Arc<Inner>);

struct Inner {
    handler: Arc<dyn CallbackHandler>,
    book: Mutex<Book>,
    /// Hashes questions under a secret of this process.
    hasher: RandomState,
}

/// The desk for what one server asks.
#[derive(Debug, Clone)]
pub struct ServerDesk {
    desk: CallbackDesk,
    server: ServerId,
}

impl CallbackDesk {
    /// A desk where `handler` answers.
    pub fn new(handler: impl CallbackHandler) -> Self {
        let handler = Arc::new(handler);
        Self(Arc::new(Inner { handler, book: Mutex::default(), hasher: RandomState::default() }))
    }

    /// The desk for what `server` asks.
    pub fn of_server(&self, server: ServerId) -> ServerDesk {
        ServerDesk { desk: self.clone(), server }
    }
}

impl ServerDesk {
    /// Takes a question that came in `session` with `context`.
    fn take(&self, session: &Arc<Session>, request: &Request, context: Context) {
        let Some(asked) = CallbackRequest::read(&request.params) else {
            tracing::warn!(server = %self.server, "a callback without a usable id is dropped");
            return;
        };
        let Ok(runtime) = Handle::try_current() else {
            tracing::error!(server = %self.server, "a callback is dropped: no runtime is there to answer it");
            return;
        };
        let now = Instant::now();
        let end = now + wait::of(&asked);
        let desk = &*self.desk.0;
        let occurrence = Occurrence::new(&asked, session, context.outbox.stream(), &desk.hasher, end);
        let mut book = desk.book.lock();
        let state = book.note(&self.server, &asked.callback_id, occurrence, now);
        let (server, session) = (self.server.clone(), Arc::clone(session));
        match state {
            State::New(entry) => {
                let desk = Arc::downgrade(&self.desk.0);
                let question = Question { desk, server, number: entry.number(), asked };
                let work = question.answer(Arc::clone(&self.desk.0.handler), session, context, end);
                entry.runs(Task::spawn(&runtime, work));
            }
            State::Answered(entry, answer) => {
                entry.runs(Task::spawn(&runtime, respond(server, asked.callback_id, session, answer)));
            }
            State::Busy => {}
            State::Full => {
                tracing::warn!(server = %self.server, "a callback is dropped: too many of the server's are open");
            }
        }
    }
}

/// One question on its way.
struct Question {
    /// Whose tasks must not keep it alive.
    desk: Weak<Inner>,
    server: ServerId,
    /// Which entry of the book it is: another question may have taken its id.
    number: u64,
    asked: CallbackRequest,
}

impl Question {
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
                tracing::debug!(server = %self.server, "a callback has no handler");
            }
            return;
        };
        let answer = answer.detached();
        let Some(desk) = self.desk.upgrade() else { return };
        let id = self.asked.callback_id;
        let is_asked = desk.book.lock().answered(&self.server, &id, self.number, &answer);
        drop(desk);
        if is_asked {
            respond(self.server, id, session, answer).await;
        }
    }
}

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
    tracing::debug!(%server, code = error.code(), "the answer to a callback did not arrive");
}

impl fmt::Debug for CallbackDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackDesk").field("known", &self.0.book.lock().len()).finish_non_exhaustive()
    }
}

/// How long the acknowledgement of an answer is waited for.
const DELIVERY: Duration = Duration::from_secs(30);
