//! The messages that come by POST: calls, notifications and answers, in both eras.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use mgp_types::frame::{Frame, Malformed, Message};
use mgp_types::{
    CallOf, Error, Id, Kind, Method, Outbox, Params, Principal, RawJson, Request, RpcService, StreamId,
    Validity, code, frame,
};
use tokio::time::timeout;

use super::body::HttpBody;
use super::call::{BoxCall, Call, Calling, Form, Owner};
use super::decide::Route;
use super::envelope::BodyVersion;
use super::head::{Marks, SessionMark};
use super::in_flight::{Canceller, InFlight};
use super::respond::{Answer, Refusal, is_refused_envelope, stateless_status};
use super::session::Session;
use super::stream::{ResponseStream, StreamKind};
use super::table::Live;
use super::{HttpServer, batch, decide};
use crate::Accept;
use crate::about::{UNNAMED, take_id};

/// The next step for a POST.
pub(super) enum Step {
    Done(Response<HttpBody>),
    Calling(Calling),
}

type Found<A> = Arc<Live<<A as Accept>::Service>>;

impl<A: Accept> HttpServer<A> {
    pub(super) fn post(&self, parts: Arc<Parts>, marks: &Marks, body: &Bytes) -> Step {
        let step = match frame::decode(body, self.config().limits.json) {
            Frame::Single(Ok(message)) => self.message(parts, marks, message),
            Frame::Single(Err(malformed)) => Err(refuse(malformed)),
            Frame::Batch(messages) => self.batch(&parts, marks, messages),
        };
        step.unwrap_or_else(|refusal| Step::Done(refusal.into_response()))
    }

    fn message(&self, parts: Arc<Parts>, marks: &Marks, message: Message) -> Result<Step, Refusal> {
        let (id, method, params) = match message {
            Message::Call { id, method, params } => (Some(id), method, params),
            Message::Notify { method, params } => (None, method, params),
            Message::Reply { id, outcome } => return self.reply(&parts, marks, id.as_ref(), outcome),
        };
        let version = self.envelopes().version(&params);
        match decide::route(marks, Some(&method), &version) {
            Ok(Route::Stateless { compare }) => {
                let kind = if id.is_some() { Kind::Call } else { Kind::Notify };
                if compare && let Err(refusal) = decide::compare(marks, kind, &method, &params) {
                    return Err(refusal.of(id));
                }
                Ok(self.stateless(parts, id, method, params))
            }
            Ok(Route::Session(mark)) => {
                let live = self.find(mark, &parts).map_err(|refusal| refusal.of(id.clone()))?;
                let session = Arc::clone(&live.session);
                match id {
                    Some(id) => session_call(&live, session, parts, id, method, params).map(Step::Calling),
                    None => Ok(session_notify(&live, session, parts, method, params)),
                }
            }
            Ok(Route::Initialize) => match id {
                Some(id) => self.initialize(parts, id, params),
                None => Err(Refusal::bad_request(Error::invalid_request("`initialize` needs an id"))),
            },
            Err(refusal) => Err(refusal.of(id)),
        }
    }

    fn stateless(&self, parts: Arc<Parts>, id: Option<Id>, method: Method, params: Params) -> Step {
        let subscribes = method == Method::LISTEN;
        let kind = if id.is_some() { Kind::Call } else { Kind::Notify };
        let mut request = request(kind, method, params, parts);
        let mut stream = ResponseStream::new(StreamKind::Live, Arc::clone(self.config()), 0);
        if subscribes {
            stream = stream.of_subscription(id.clone());
        }
        let names_call = request.method.about_call() == Some(CallOf::Sender);
        if names_call && let Err(error) = named(&mut request.params, None) {
            return Step::Done(if id.is_some() {
                Refusal::new(stateless_status(&error), error).of(id).into_response()
            } else {
                tracing::debug!(method = %request.method, "dropping a message that names no call");
                Answer::ACCEPTED.into_response()
            });
        }
        if let (Some(id), false) = (&id, names_call) {
            stream = stream.of_call(id.clone());
        }
        let stream = Arc::new(stream);
        let form = match id {
            Some(id) => {
                request.context.outbox = stream.outbox();
                if subscribes { Form::Subscription(id) } else { Form::Stateless(id) }
            }
            None => Form::Notification,
        };
        let call = Box::pin(Call::new(self.stateless_service(), request, form, None));
        let calling = Calling::new(call, stream, Owner::Connection);
        Step::Calling(if subscribes { calling.impatient() } else { calling })
    }

    fn initialize(&self, parts: Arc<Parts>, id: Id, params: Params) -> Result<Step, Refusal> {
        let live = self.open(&parts, StreamKind::Kept { primed: false });
        let live = live.map_err(|refusal| refusal.of(Some(id.clone())))?;
        let session = Arc::clone(&live.session);
        let mut request = request(Kind::Call, Method::INITIALIZE, params, parts);
        let stream = Arc::new(ResponseStream::new(StreamKind::Live, Arc::clone(self.config()), 0));
        request.context.outbox = stream.standalone_outbox();
        let server = self.clone();
        let call: BoxCall = Box::pin(async move {
            let handshake = call_once(live.service(), request);
            match timeout(server.config().handshake_timeout, handshake).await {
                Ok(Ok(response)) => {
                    live.session.agree(&response);
                    live.session.touch();
                    server.sessions().insert(live, server.config().session_idle);
                    Answer::reply(&id, &response)
                }
                Ok(Err(error)) if is_refused_envelope(&error) => {
                    Answer::error(StatusCode::BAD_REQUEST, Some(&id), &error)
                }
                Ok(Err(error)) => Answer::error(StatusCode::OK, Some(&id), &error),
                Err(_) => {
                    Answer::error(StatusCode::OK, Some(&id), &Error::timeout("`initialize` took too long"))
                }
            }
        });
        Ok(Step::Calling(Calling::new(call, stream, Owner::Opening(session))))
    }

    fn reply(
        &self,
        parts: &Parts,
        marks: &Marks,
        id: Option<&Id>,
        outcome: Result<RawJson, Error>,
    ) -> Result<Step, Refusal> {
        let Route::Session(mark) = decide::route(marks, None, &BodyVersion::Absent)? else {
            return Err(Refusal::bad_request(Error::invalid_request("an answer belongs to a session")));
        };
        self.find(mark, parts)?.session.answer(id, outcome);
        Ok(accepted())
    }

    fn batch(
        &self,
        parts: &Arc<Parts>,
        marks: &Marks,
        messages: Vec<Result<Message, Malformed>>,
    ) -> Result<Step, Refusal> {
        let refused =
            || Refusal::because(StatusCode::BAD_REQUEST, "a batch belongs to a session of 2025-03-26");
        let Ok(Route::Session(mark)) = decide::route(marks, None, &BodyVersion::Absent) else {
            return Err(refused());
        };
        let live = self.find(mark, parts)?;
        if live.session.revision() != Some(mgp_types::Revision::V2025_03_26) {
            return Err(refused());
        }
        if live.session.is_busy() || messages.len() > self.config().limits.max_in_flight {
            return Err(crowded(Error::new(code::RESOURCE_EXHAUSTED, "too much is in work")));
        }
        Ok(match batch::dispatch(&live, parts, messages) {
            Some(calling) => Step::Calling(calling),
            None => accepted(),
        })
    }

    /// Returns the session that a request names, for the principal that the request comes from.
    pub(super) fn find(&self, mark: SessionMark, parts: &Parts) -> Result<Found<A>, Refusal> {
        let SessionMark::Id(id) = mark else { return Err(Refusal::no_session()) };
        let live = self.sessions().find(id, parts.extensions.get::<Principal>());
        let live = live.filter(|live| !live.session.is_sse).ok_or_else(Refusal::no_session)?;
        live.session.touch();
        Ok(live)
    }

    /// Creates a session, which other requests cannot find yet.
    pub(super) fn open(&self, parts: &Parts, kind: StreamKind) -> Result<Live<A::Service>, Refusal> {
        let principal = parts.extensions.get::<Principal>().cloned();
        let refuse = |error| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error);
        let Some(permit) = self.sessions().reserve() else {
            return Err(refuse(Error::new(code::RESOURCE_EXHAUSTED, "too many sessions are open")));
        };
        let session = Arc::new(Session::new(Arc::clone(self.config()), principal, kind).map_err(refuse)?);
        let outbox = Outbox::new(Arc::clone(&session) as _, StreamId::STANDALONE);
        let watch = parts.extensions.get::<Validity>().map(|validity| session.end_with(validity));
        Ok(Live::new(session, self.accept(outbox), permit, watch))
    }
}

/// Makes a call in a session.
pub(super) fn session_call<S: RpcService>(
    live: &Live<S>,
    session: Arc<Session>,
    parts: Arc<Parts>,
    id: Id,
    method: Method,
    params: Params,
) -> Result<Calling, Refusal> {
    let mut request = request(Kind::Call, method, params, parts);
    let mut about = None;
    if request.method.about_call() == Some(CallOf::Sender) {
        match named(&mut request.params, Some(&session)) {
            Ok(outbox) => about = Some(outbox),
            Err(error) => return Err(Refusal::new(StatusCode::OK, error).of(Some(id))),
        }
    }
    let stream = Arc::new(session.new_stream().of_call(id.clone()));
    let canceller = Canceller::Stream(Arc::clone(&stream));
    let guard = InFlight::enter(Arc::clone(&session), &id, canceller);
    let guard = match guard {
        Ok(guard) => guard,
        Err(error) => return Err(crowded(error).of(Some(id))),
    };
    request.context.outbox = match about {
        None => stream.outbox(),
        Some(named) => named.unwrap_or_else(|| stream.standalone_outbox()),
    };
    if session.can_poll() {
        request.extensions.insert_shared(Arc::clone(&stream));
    }
    let call = Box::pin(Call::new(live.service(), request, Form::Session(id), Some(guard)));
    Ok(Calling::new(call, stream, Owner::Session(session)))
}

fn session_notify<S: RpcService>(
    live: &Live<S>,
    session: Arc<Session>,
    parts: Arc<Parts>,
    method: Method,
    params: Params,
) -> Step {
    match notification(live, parts, method, params) {
        None => accepted(),
        Some(call) => {
            let stream = Arc::clone(session.standalone());
            Step::Calling(Calling::new(call, stream, Owner::Notification(session)))
        }
    }
}

/// Returns the call of the service for a notification; a cancellation is carried out here instead.
pub(super) fn notification<S: RpcService>(
    live: &Live<S>,
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
    let mut request = request(Kind::Notify, method, params, parts);
    let mut about = None;
    match request.method.about_call() {
        None => {}
        Some(CallOf::Sender) => {
            let Ok(outbox) = named(&mut request.params, Some(&live.session)) else {
                tracing::debug!(method = %request.method, "dropping a message that names no call");
                return None;
            };
            about = outbox;
        }
        // The layers above see no id of a question, and nobody follows messages about one.
        Some(CallOf::Receiver) => {
            take_id(&mut request.params);
        }
    }
    request.context.outbox =
        about.unwrap_or_else(|| Outbox::new(Arc::clone(&live.session) as _, StreamId::STANDALONE));
    Some(Box::pin(Call::new(live.service(), request, Form::Notification, None)))
}

/// Creates a request with the facts that HTTP knows about it.
pub(super) fn request(kind: Kind, method: Method, params: Params, parts: Arc<Parts>) -> Request {
    let mut request = Request::new(kind, method, params);
    request.context.principal = parts.extensions.get::<Principal>().cloned();
    request.extensions.insert_shared(parts);
    request
}

/// Returns the refusal. Its status tells the client to wait, or to choose another id.
pub(super) fn crowded(error: Error) -> Refusal {
    let status = match error.code() {
        code::RESOURCE_EXHAUSTED => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::BAD_REQUEST,
    };
    Refusal::new(status, error)
}

pub(super) async fn call_once<S: RpcService>(
    mut service: S,
    request: Request,
) -> Result<mgp_types::Response, Error> {
    std::future::poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(request).await
}

pub(super) fn refuse(malformed: Malformed) -> Refusal {
    Refusal::bad_request(malformed.error).of(malformed.id)
}

fn accepted() -> Step {
    Step::Done(Answer::ACCEPTED.into_response())
}

/// Returns the outbox of the call of the session that a message names in its parameters; `None` if there is no such
/// call in work. Without a session every message stands alone, so there never is one.
///
/// # Errors
/// -32602 if the message names no call.
pub(super) fn named(params: &mut Params, session: Option<&Session>) -> Result<Option<Outbox>, Error> {
    let id = take_id(params).ok_or_else(|| Error::invalid_params(UNNAMED))?;
    Ok(session.and_then(|session| session.calls.outbox(&id)))
}
