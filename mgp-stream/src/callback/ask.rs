//! Questions to clients in the middle of a call: the server's side, and the gateway's table of those that it passes on.

use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::mcp::LoggingMessageParams;
use mgp_types::mgp::{CallbackAnswer, CallbackRequest, CallbackRespond, Extension, ServerId, method};
use mgp_types::{
    Context, Error, Flow, Gate, GateLayer, Gated, Method, Object, Outbox, Params, RawJson, Request, Response,
    Severity, StreamId, code, random_name,
};
use parking_lot::Mutex;
use scopeguard::guard;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::open::{OpenCallbacks, WaitingCallback};
use super::question::{Callback, wait_for};
use crate::session::{SessionOwner, negotiated, refused};

/// The questions that a server has asked its clients. Clones share the questions; a [`CallbackLayer`] brings the
/// answers.
#[derive(Clone, Default)]
pub struct Callbacks {
    open: Arc<Mutex<OpenCallbacks>>,
}

/// The number of times that a question without an answer is sent again.
const RESENDS: u32 = 3;
const RESEND_AFTER: Duration = Duration::from_secs(5);

/// The prefix of callback ids.
pub(super) const PREFIX: &str = "cb-";

impl Callbacks {
    /// Creates an empty set of questions. A question without an answer is sent three more times, every five seconds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the client in the middle of the call to which `context` belongs.
    ///
    /// In a session with callbacks the question travels on the stream of the call, and again under the same id while
    /// there is no answer. For a client without callbacks the question is an elicitation of MCP, and a notification is
    /// a log message if the client wants those. Revisions without sessions prefer the elicitation: the call is answered
    /// with it, and the handler runs again from its start once the answer has come. So the work that a handler does
    /// before asking must bear being done twice, `key` has to be the same in each run, and errors are passed on with
    /// `?`.
    ///
    /// # Errors
    /// -32603 if options are empty or not all different; 3003 if no answer came in time; 3001 if too many questions are
    /// open; -32602 if the filled form does not fit; an error with `requiredCapabilities` if the client can be asked in
    /// no way; the errors of the connection; or the answer is still to come
    /// ([`Origin::InputRequired`](mgp_types::Origin::InputRequired)).
    ///
    /// # Cancel safety
    /// Dropping the future takes the question back: a later answer is ignored.
    pub async fn ask<A: Send + 'static>(
        &self,
        context: &Context,
        key: &str,
        question: Callback<A>,
    ) -> Result<A, Error> {
        question.check()?;
        let session = context.session()?;
        let speaks = context.outbox.is_open() && negotiated(Some(session), &Extension::Callbacks);
        if !question.kind.wants_answer() {
            if speaks {
                //= mgp §13.4
                //# Informational — no response required
                let id: Box<str> = format!("{PREFIX}{}", random_name()).into();
                let owner = SessionOwner::of(context);
                self.open.lock().remember(id.clone(), owner, None, Instant::now());
                context.outbox.notify(message(&question, id)).await?;
            } else if Severity::named(LEVEL).is_some_and(|level| session.wants_log(level)) {
                context.outbox.notify(Request::notify(Method::MESSAGE, log(&question.message))).await?;
            }
            let nothing = (question.reading.response)(&question.options, &RawJson::null());
            return nothing.ok_or_else(|| Error::internal("a notification has no answer"));
        }
        if speaks && session.lasts() {
            return self.ask_by_callback(context, question).await;
        }
        let params = question.elicitation(session.revision)?;
        match timeout(question.timeout, context.ask(key, Method::ELICIT, params)).await {
            Ok(Ok(answer)) => question.read_elicited(&answer),
            // The client was not asked, because it cannot fill in forms.
            Ok(Err(error)) if speaks && error.code() == code::MISSING_CLIENT_CAPABILITY => {
                self.ask_by_callback(context, question).await
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Err(late()),
        }
    }

    /// Takes the answer of a client, sent with `mgp/callback/respond`.
    pub(super) fn answer(&self, request: &Request) -> Result<Response, Error> {
        let CallbackRespond { callback_id, response, .. } = request.body()?;
        let owner = SessionOwner::of(&request.context);
        let (accepted, asker) = self.open.lock().answer(&owner, &callback_id, &response, Instant::now())?;
        if let Some(asker) = asker {
            // The answer is lost if the call gives up in this moment.
            let _ = asker.send(response);
        }
        Response::with_body(&CallbackAnswer::new(callback_id, accepted))
    }

    async fn ask_by_callback<A: Send + 'static>(
        &self,
        context: &Context,
        question: Callback<A>,
    ) -> Result<A, Error> {
        let id: Box<str> = format!("{PREFIX}{}", random_name()).into();
        let deadline = Instant::now() + question.timeout;
        let request = message(&question, id.clone());
        let (asker, receiver) = oneshot::channel();
        let (options, read) = (question.options, question.reading.response);
        let offered = options.clone();
        let fits = Box::new(move |response: &RawJson| read(&offered, response).is_some());
        let waiting = WaitingCallback { owner: SessionOwner::of(context), deadline, fits, asker };
        self.open.lock().begin(id.clone(), waiting)?;
        // The question is closed when nobody waits for its answer any more.
        let id = guard(id, |id| {
            let ended = self.open.lock().end(&id);
            drop(ended);
        });
        let mut answer = pin!(receiver);
        let mut sending = pin!(keep_sending(&context.outbox, request));
        let mut end = pin!(sleep_until(deadline));
        // The answer is polled first: an answer that came in time counts even if the time is over when it is looked at.
        poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                let read = answer.ok().and_then(|answer| read(&options, &answer));
                return Poll::Ready(read.ok_or_else(Error::cancelled));
            }
            if let Poll::Ready(error) = sending.as_mut().poll(cx) {
                return Poll::Ready(Err(error));
            }
            // An answer that was accepted and is still being delivered is in time: its sender was told so.
            if end.as_mut().poll(cx).is_ready() && self.open.lock().waits(&id) {
                return Poll::Ready(Err(late()));
            }
            Poll::Pending
        })
        .await
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        self.open.lock().len()
    }
}

mgp_types::partial_debug!(Callbacks);

/// Takes the answers to the questions that a server asks. The layer makes [`CallbackService`]s.
pub type CallbackLayer = GateLayer<Callbacks>;

/// The service of [`CallbackLayer`].
///
/// The service sits behind the layers that authenticate and record, anywhere in front of the router. The service
/// answers `mgp/callback/respond` where callbacks were negotiated and lets everything else go on. The service reads
/// `context.session` and `context.principal`: only the client that was asked may answer; for all others the callback
/// does not exist. The service writes nothing, allocates and locks for its own method only, and never waits, so that
/// dropping the future changes nothing.
pub type CallbackService<S> = Gated<Callbacks, S>;

impl Gate for Callbacks {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let is_ours = request.method == *method::CALLBACK_RESPOND
            && negotiated(request.context.session.as_deref(), &Extension::Callbacks);
        if is_ours { Flow::Answer(self.answer(request)) } else { Flow::Pass(()) }
    }
}

/// Sends the question until there is an answer, and ends only if the question cannot be sent.
async fn keep_sending(outbox: &Outbox, request: Request) -> Error {
    for _ in 0..=RESENDS {
        if let Err(error) = outbox.notify(request.clone()).await {
            return error;
        }
        sleep(RESEND_AFTER).await;
    }
    pending().await
}

fn message<A>(question: &Callback<A>, id: Box<str>) -> Request {
    let method = Method::from_static(method::CALLBACK_REQUEST);
    Request::notify(method, question.request(id).to_params())
}

fn late() -> Error {
    Error::timeout("the client did not answer the question in time").with_usual_recovery()
}

const LEVEL: &str = "info";

fn log(message: &str) -> Object {
    let log = LoggingMessageParams::new(LEVEL, RawJson::from_text(message));
    Object::from_value(&log).unwrap_or_default()
}

/// The callbacks that a gateway passes on from the servers behind it to the clients in front of it.
///
/// Servers choose ids as they like, and two may choose the same; so each callback goes on under an id of the gateway,
/// which cannot be guessed. A repeated callback goes on under the same id, so that the client recognises it. The answer
/// finds its server by the gateway's id, and only if it comes from the client that was asked.
///
/// The relay does no IO and is given the time: its user puts a lock around it and sends what it returns.
#[derive(Default)]
pub struct CallbackRelay {
    passed: HashMap<Box<str>, PassedCallback, RandomState>,
}

/// The server's key of a callback: ids may be unique within a call only.
#[derive(PartialEq)]
struct ServerCallbackKey {
    server: ServerId,
    stream: StreamId,
    id: Box<str>,
}

struct PassedCallback {
    theirs: ServerCallbackKey,
    owner: SessionOwner,
    is_answered: bool,
    until: Instant,
}

/// An answer and its destination.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RoutedAnswer {
    /// The server that asked.
    pub server: ServerId,
    /// The call of the client that the server asked about.
    pub stream: StreamId,
    /// The parameters of `mgp/callback/respond` as this server knows them.
    pub params: Params,
}

const MAX_OF_SERVER: usize = 128;
const MAX_PASSED: usize = 1024;

/// The time for which answers may come after the server stopped waiting.
const MEMORY: Duration = Duration::from_mins(1);

/// The member that named the call on the connection of the request.
const CALL: &str = "request_id";

const ID: &str = "callback_id";

impl CallbackRelay {
    /// Creates a relay that has passed nothing on yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the parameters under which a callback request of `server` goes on to the client whose call `front` is.
    ///
    /// # Errors
    /// -32602 if the request has no usable id; -32600 if `front` is no call, so that no client is there to be asked;
    /// 3001 if too many callbacks of the server are open.
    pub fn pass_on(
        &mut self,
        server: &ServerId,
        front: &Context,
        params: &Params,
        now: Instant,
    ) -> Result<Params, Error> {
        let request = CallbackRequest::read(params)
            .ok_or_else(|| Error::invalid_params("a callback needs a `callback_id` of 1 to 256 bytes"))?;
        let stream = front.outbox.stream();
        if stream == StreamId::STANDALONE {
            return Err(Error::invalid_request("the callback belongs to a call that is over"));
        }
        let until = now + wait_for(&request) + MEMORY;
        let theirs = ServerCallbackKey { server: server.clone(), stream, id: request.callback_id };
        let known = self.passed.iter_mut().find(|(_, passed)| passed.theirs == theirs);
        let ours = if let Some((ours, passed)) = known {
            passed.until = until;
            ours.clone()
        } else {
            self.make_room(server, now)?;
            let ours: Box<str> = format!("{PREFIX}{}", random_name()).into();
            let passed = PassedCallback { theirs, owner: SessionOwner::of(front), is_answered: false, until };
            self.passed.insert(ours.clone(), passed);
            ours
        };
        let mut params = params.clone();
        params.remove(CALL);
        params.set(ID, RawJson::from_text(&ours));
        Ok(params)
    }

    /// Returns the destination of an answer whose sender has `context`; `None` if the sender was passed no such
    /// callback.
    pub fn route(&mut self, context: &Context, params: &Params, now: Instant) -> Option<RoutedAnswer> {
        let passed = self.passed.get_mut(&*params.text(ID)?)?;
        if now >= passed.until || passed.owner != SessionOwner::of(context) {
            return None;
        }
        // The entry is kept: an answer that was lost on its way to the server is sent again.
        passed.is_answered = true;
        let mut params = params.clone();
        params.set(ID, RawJson::from_text(&passed.theirs.id));
        Some(RoutedAnswer { server: passed.theirs.server.clone(), stream: passed.theirs.stream, params })
    }

    /// Forgets the callbacks of a call that is over.
    pub fn end_of_call(&mut self, stream: StreamId) {
        self.passed.retain(|_, passed| passed.theirs.stream != stream);
    }

    /// Returns whether an answer to a callback that `server` made about the call may still come.
    pub fn waits(&self, stream: StreamId, server: &ServerId) -> bool {
        self.passed.values().any(|passed| passed.theirs.stream == stream && passed.theirs.server == *server)
    }

    /// Makes room for one more callback of `server`: the one that was answered first gives way.
    fn make_room(&mut self, server: &ServerId, now: Instant) -> Result<(), Error> {
        self.passed.retain(|_, passed| now < passed.until);
        let of_server = || self.passed.iter().filter(|(_, passed)| passed.theirs.server == *server);
        if of_server().count() >= MAX_OF_SERVER || self.passed.len() >= MAX_PASSED {
            let answered = of_server().filter(|(_, passed)| passed.is_answered);
            let oldest = answered.min_by_key(|(_, passed)| passed.until).map(|(ours, _)| ours.clone());
            let message = "too many callbacks of the server wait for an answer";
            let oldest = oldest.ok_or_else(|| refused(code::RESOURCE_EXHAUSTED, message))?;
            self.passed.remove(&oldest);
        }
        Ok(())
    }
}

mgp_types::partial_debug!(CallbackRelay, self => passed: self.passed.len());

#[cfg(test)]
mod tests;
