//! The messages that come by POST: calls, notifications and answers in both eras, and the batches of 2025-03-26.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use mgp_types::frame::{Frame, Malformed, Message};
use mgp_types::{
    CallSide, Error, Id, Method, Outbox, Params, Principal, RawJson, Request, RequestKind, RpcService,
    StreamId, Validity, code, frame,
};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::call::{AnswerForm, BoxCall, CallOwner, RunningCall, http_call};
use super::decide::{BodyVersion, MessageRoute};
use super::head::{BodyHeaders, SessionMark};
use super::in_flight::{CallPort, InFlightCall, SharedStreamPort, named};
use super::respond::{HttpRefusal, PostAnswer, stateless_status};
use super::session::HttpSession;
use super::session_table::{LiveSession, SessionId};
use super::stream::{ResponseStream, StreamKind};
use super::{CaughtService, HttpServer, decide};
use crate::Accept;
use crate::about::take_id;

/// The outcome of a POST: a call in work, or `None` for a message that is accepted and gets no answer.
pub(super) type PostOutcome = Result<Option<RunningCall>, HttpRefusal>;

type FoundSession<A> = Arc<LiveSession<CaughtService<A>>>;

impl<A: Accept> HttpServer<A> {
    pub(super) fn post(&self, parts: Arc<Parts>, marks: &BodyHeaders, body: &Bytes) -> PostOutcome {
        let form = self.in_parts(parts.headers.get(http::header::CONTENT_TYPE));
        let body = &form.map_or_else(|| Ok(body.clone()), |form| self.joined(&form, body))?;
        match frame::decode(body) {
            Frame::Single(Ok(message)) => self.message(parts, marks, message),
            Frame::Single(Err(malformed)) => Err(refuse(malformed)),
            Frame::Batch(messages) => self.batch(&parts, marks, messages),
        }
    }

    /// Returns the message of a request in parts, which is as long as any other message at most.
    fn joined(&self, form: &super::multipart::MultipartRelated, body: &[u8]) -> Result<Bytes, HttpRefusal> {
        let joined = form.join(body).map_err(HttpRefusal::bad_request)?;
        if joined.len() > self.config().limits.max_frame_bytes {
            let why = "the message is too long with its parts in base64";
            return Err(HttpRefusal::because(StatusCode::PAYLOAD_TOO_LARGE, why));
        }
        Ok(joined)
    }

    fn message(&self, parts: Arc<Parts>, marks: &BodyHeaders, message: Message) -> PostOutcome {
        let (id, method, params) = match message {
            Message::Call { id, method, params } => (Some(id), method, params),
            Message::Notify { method, params } => (None, method, params),
            Message::Reply { id, outcome } => return self.reply(&parts, marks, id.as_ref(), outcome),
        };
        let version = self.shared.envelopes.version(&params);
        match decide::route(marks, Some(&method), &version) {
            Ok(MessageRoute::Stateless { compare }) => {
                let kind = if id.is_some() { RequestKind::Call } else { RequestKind::Notify };
                if compare && let Err(refusal) = decide::compare(marks, kind, &method, &params) {
                    return Err(refusal.of(id));
                }
                self.stateless(parts, id, method, params)
            }
            Ok(MessageRoute::Session(mark)) => {
                let live = self.find(mark, &parts).map_err(|refusal| refusal.of(id.clone()))?;
                match id {
                    Some(id) => {
                        session_call(&live, id, request(RequestKind::Call, method, params, parts)).map(Some)
                    }
                    None => Ok(notification(&live, parts, method, params).map(|call| {
                        let session = Arc::clone(&live.session);
                        let stream = Arc::clone(&session.standalone);
                        RunningCall::new(call, stream, CallOwner::Notification(session))
                    })),
                }
            }
            Ok(MessageRoute::Initialize) => match id {
                Some(id) => self.initialize(parts, id, params),
                None => Err(HttpRefusal::invalid("`initialize` needs an id")),
            },
            Err(refusal) => Err(refusal.of(id)),
        }
    }

    fn stateless(&self, parts: Arc<Parts>, id: Option<Id>, method: Method, params: Params) -> PostOutcome {
        let subscribes = method == Method::LISTEN;
        let kind = if id.is_some() { RequestKind::Call } else { RequestKind::Notify };
        let mut request = request(kind, method, params, parts);
        let mut stream = ResponseStream::new(StreamKind::Live, Arc::clone(self.config()), 0);
        if subscribes {
            stream.subscription.clone_from(&id);
        }
        let names_call = request.method.about_call() == Some(CallSide::Sender);
        if names_call && let Err(error) = named(&mut request.params, None) {
            if id.is_some() {
                return Err(HttpRefusal::new(stateless_status(&error), error).of(id));
            }
            tracing::debug!(method = %request.method, "dropping a message that names no call");
            return Ok(None);
        }
        if let (Some(id), false) = (&id, names_call) {
            stream = stream.of_call(id.clone());
        }
        let stream = Arc::new(stream);
        let form = match id {
            Some(id) => {
                request.context.outbox = stream.outbox();
                if subscribes { AnswerForm::Subscription(id) } else { AnswerForm::Stateless(id) }
            }
            None => AnswerForm::Notification,
        };
        let call = Box::pin(http_call(self.stateless_service(), request, form, None));
        let calling = RunningCall::new(call, stream, CallOwner::Connection);
        Ok(Some(if subscribes { calling.streamed_soon() } else { calling }))
    }

    fn initialize(&self, parts: Arc<Parts>, id: Id, params: Params) -> PostOutcome {
        let live = self.open(&parts, StreamKind::Kept { primed: false });
        let live = live.map_err(|refusal| refusal.of(Some(id.clone())))?;
        let session = Arc::clone(&live.session);
        let mut request = request(RequestKind::Call, Method::INITIALIZE, params, parts);
        let stream = Arc::new(ResponseStream::new(StreamKind::Live, Arc::clone(self.config()), 0));
        request.context.outbox = stream.standalone_outbox();
        let form = AnswerForm::Opening(id.clone(), Arc::clone(&session));
        let handshake = http_call(&live.service, request, form, None);
        let server = self.clone();
        let call: BoxCall = Box::pin(async move {
            let Ok(answer) = timeout(server.config().handshake_timeout, handshake).await else {
                let error = Error::timeout("`initialize` took too long");
                return PostAnswer::error(StatusCode::OK, Some(&id), &error);
            };
            if live.session.revision().is_some() {
                live.session.touch();
                server.sessions().insert(live, server.config().session_idle);
            }
            answer
        });
        Ok(Some(RunningCall::new(call, stream, CallOwner::Opening(session))))
    }

    fn reply(
        &self,
        parts: &Parts,
        marks: &BodyHeaders,
        id: Option<&Id>,
        outcome: Result<RawJson, Error>,
    ) -> PostOutcome {
        let MessageRoute::Session(mark) = decide::route(marks, None, &BodyVersion::Absent)? else {
            return Err(HttpRefusal::invalid("an answer belongs to a session"));
        };
        self.find(mark, parts)?.session.answer(id, outcome);
        Ok(None)
    }

    /// Starts every message of a batch, in order; returns `None` if none of them is answered.
    fn batch(
        &self,
        parts: &Arc<Parts>,
        marks: &BodyHeaders,
        messages: Vec<Result<Message, Malformed>>,
    ) -> PostOutcome {
        let Ok(MessageRoute::Session(mark)) = decide::route(marks, None, &BodyVersion::Absent) else {
            return Err(HttpRefusal::no_batch());
        };
        let live = self.find(mark, parts)?;
        if live.session.revision() != Some(mgp_types::Revision::V2025_03_26) {
            return Err(HttpRefusal::no_batch());
        }
        if live.session.is_busy() || messages.len() > self.config().limits.max_in_flight {
            return Err(not_entered(Error::new(code::RESOURCE_EXHAUSTED, "too much is in work")));
        }
        let stream = Arc::new(live.session.new_stream());
        let mut answers = Vec::new();
        for message in messages {
            match message {
                Ok(Message::Call { id, method, params }) => {
                    let request = request(RequestKind::Call, method, params, Arc::clone(parts));
                    answers.push(call(&live, &stream, &id, request));
                }
                Ok(Message::Notify { method, params }) => {
                    if let Some(call) = notification(&live, Arc::clone(parts), method, params) {
                        live.session.spawn(call);
                    }
                }
                Ok(Message::Reply { id, outcome }) => live.session.answer(id.as_ref(), outcome),
                Err(malformed) if malformed.answerable => {
                    answers.push(known(malformed.id.as_ref(), &malformed.error));
                }
                Err(_) => {}
            }
        }
        if answers.is_empty() {
            return Ok(None);
        }
        let call: BoxCall = Box::pin(collect(answers));
        Ok(Some(RunningCall::new(call, stream, CallOwner::Session(Arc::clone(&live.session)))))
    }

    /// Returns the session that a request names, for the principal that the request comes from.
    pub(super) fn find(&self, mark: SessionMark, parts: &Parts) -> Result<FoundSession<A>, HttpRefusal> {
        let SessionMark::Id(id) = mark else { return Err(HttpRefusal::no_session()) };
        self.session(id, parts, false)
    }

    /// Returns a session of the principal that the request comes from, if it is one of HTTP+SSE or none, as asked for.
    pub(super) fn session(
        &self,
        id: SessionId,
        parts: &Parts,
        is_sse: bool,
    ) -> Result<FoundSession<A>, HttpRefusal> {
        let live = self.sessions().find(id, parts.extensions.get::<Principal>());
        let live = live.filter(|live| live.session.is_sse == is_sse).ok_or_else(HttpRefusal::no_session)?;
        live.session.touch();
        Ok(live)
    }

    /// Creates a session, which other requests cannot find yet.
    pub(super) fn open(
        &self,
        parts: &Parts,
        kind: StreamKind,
    ) -> Result<LiveSession<CaughtService<A>>, HttpRefusal> {
        let principal = parts.extensions.get::<Principal>().cloned();
        let place = self.sessions().reserve(principal.as_ref()).map_err(|why| {
            HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, Error::new(code::RESOURCE_EXHAUSTED, why))
        })?;
        let session = Arc::new(HttpSession::new(Arc::clone(self.config()), principal, kind));
        let outbox = Outbox::new(Arc::clone(&session) as _, StreamId::STANDALONE);
        let watch = parts.extensions.get::<Validity>().map(|validity| session.end_with(validity));
        let service = Mutex::new(self.accept(outbox));
        Ok(LiveSession { session, service, _place: place, _watch: watch })
    }
}

/// Makes a call in a session.
fn session_call<S: RpcService>(
    live: &LiveSession<S>,
    id: Id,
    mut request: Request,
) -> Result<RunningCall, HttpRefusal> {
    let session = &live.session;
    let stream = Arc::new(session.new_stream().of_call(id.clone()));
    let port = CallPort::Stream(Arc::clone(&stream));
    let guard = InFlightCall::enter(session, &id, &mut request, port);
    let guard = guard.map_err(|error| not_entered(error).of(Some(id.clone())))?;
    if session.can_poll() {
        request.extensions.insert_shared(Arc::clone(&stream));
    }
    let call = Box::pin(http_call(&live.service, request, AnswerForm::Session(id), Some(guard)));
    Ok(RunningCall::new(call, stream, CallOwner::Session(Arc::clone(session))))
}

/// Returns the call of the service for a notification; a cancellation is carried out here instead.
pub(super) fn notification<S: RpcService>(
    live: &LiveSession<S>,
    parts: Arc<Parts>,
    method: Method,
    params: Params,
) -> Option<BoxCall> {
    if method == Method::CANCELLED {
        if let Some(id) = params.bytes("requestId").and_then(Id::from_json) {
            live.session.calls.cancel(&id);
        }
        return None;
    }
    let mut request = request(RequestKind::Notify, method, params, parts);
    let mut about = None;
    match request.method.about_call() {
        None => {}
        Some(CallSide::Sender) => {
            let Ok(outbox) = named(&mut request.params, Some(&live.session)) else {
                tracing::debug!(method = %request.method, "dropping a message that names no call");
                return None;
            };
            about = outbox;
        }
        // The layers above see no id of a question, and nobody follows messages about one.
        Some(CallSide::Receiver) => {
            take_id(&mut request.params);
        }
    }
    request.context.outbox =
        about.unwrap_or_else(|| Outbox::new(Arc::clone(&live.session) as _, StreamId::STANDALONE));
    Some(Box::pin(http_call(&live.service, request, AnswerForm::Notification, None)))
}

/// Creates a request with the facts that HTTP knows about it.
pub(super) fn request(kind: RequestKind, method: Method, params: Params, parts: Arc<Parts>) -> Request {
    let mut request = Request::new(kind, method, params);
    request.context.principal = parts.extensions.get::<Principal>().cloned();
    request.extensions.insert_shared(parts);
    request
}

/// Returns the refusal of a call that was not entered. Its status tells the client to wait, or to choose another id; a
/// request that does not name its call is answered like any other.
pub(super) fn not_entered(error: Error) -> HttpRefusal {
    let status = match error.code() {
        code::RESOURCE_EXHAUSTED => StatusCode::TOO_MANY_REQUESTS,
        code::INVALID_PARAMS => StatusCode::OK,
        _ => StatusCode::BAD_REQUEST,
    };
    HttpRefusal::new(status, error)
}

pub(super) fn refuse(malformed: Malformed) -> HttpRefusal {
    HttpRefusal::bad_request(malformed.error).of(malformed.id)
}

/// An answer that belongs into the array; a call that was cancelled has none.
type PendingAnswer = oneshot::Receiver<PostAnswer>;

/// Returns the answer of a message that is refused.
fn known(id: Option<&Id>, error: &Error) -> PendingAnswer {
    let (answer, answered) = oneshot::channel();
    let _ = answer.send(PostAnswer::error(StatusCode::OK, id, error));
    answered
}

fn call<S: RpcService>(
    live: &LiveSession<S>,
    stream: &Arc<ResponseStream>,
    id: &Id,
    request: Request,
) -> PendingAnswer {
    if request.method == Method::INITIALIZE {
        return known(Some(id), &Error::invalid_request("`initialize` must not be part of a batch"));
    }
    let (answer, answered) = oneshot::channel();
    let form = AnswerForm::Session(id.clone());
    let spawned = spawn_call(live, stream, id, request, form, |done| async {
        let _ = answer.send(done);
    });
    spawned.map_or_else(|error| known(Some(id), &error), |()| answered)
}

/// Makes a call of a session in a task of its own, for an answer that goes to `answered`, and messages that go to a stream
/// of several calls.
pub(super) fn spawn_call<S: RpcService, F: Future<Output = ()> + Send>(
    live: &LiveSession<S>,
    stream: &Arc<ResponseStream>,
    id: &Id,
    mut request: Request,
    form: AnswerForm,
    answered: impl FnOnce(PostAnswer) -> F + Send + 'static,
) -> Result<(), Error> {
    let way = SharedStreamPort::new(id.clone(), stream, &live.session);
    let port = CallPort::Task(Arc::clone(&way));
    let guard = InFlightCall::enter(&live.session, id, &mut request, port)?;
    let call = http_call(&live.service, request, form, Some(guard));
    live.session.spawn(async move {
        tokio::select! {
            biased;
            () = way.stop.notified() => {}
            done = call => answered(done).await,
        }
    });
    Ok(())
}

async fn collect(answers: Vec<PendingAnswer>) -> PostAnswer {
    let mut json = Vec::new();
    for answer in answers {
        let Ok(answer) = answer.await else { continue };
        json.push(if json.is_empty() { b'[' } else { b',' });
        json.extend_from_slice(&answer.json);
    }
    if json.is_empty() {
        return PostAnswer::ACCEPTED; // All were cancelled.
    }
    json.push(b']');
    PostAnswer::ok(json)
}
