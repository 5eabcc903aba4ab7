//! GET, which reads streams, DELETE, which ends sessions, and HTTP+SSE (2024-11-05), with one stream for all messages.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use mgp_types::frame::{self, Frame, Malformed, Message};
use mgp_types::{Error, Id, Method, Request, RequestKind, RpcService, Validity, code};

use super::HttpServer;
use super::body::{EventBody, HttpBody};
use super::call::AnswerForm;
use super::head::{BodyHeaders, RequestHead, SessionMark, VersionHeader};
use super::post::{not_entered, notification, refuse, request, spawn_call};
use super::replay::ResumeError;
use super::respond::{HttpRefusal, PostAnswer, events, with_status};
use super::session_table::{LiveSession, SessionId};
use super::stream::{StreamKind, parse_event_id};
use crate::Accept;
use crate::http::sse::Event;

impl<A: Accept> HttpServer<A> {
    /// Reads the stream of a session that belongs to no request, or resumes any stream.
    pub(super) fn get(
        &self,
        parts: &Parts,
        head: &RequestHead<'_>,
    ) -> Result<Response<HttpBody>, HttpRefusal> {
        let mark = session(&head.marks)?;
        if !head.accepts.events {
            return Err(HttpRefusal::no_events());
        }
        let session = Arc::clone(&self.find(mark, parts)?.session);
        let (stream, reader) = match head.last_event {
            None => (Arc::clone(&session.standalone), session.standalone.attach(None).map_err(gone)?),
            Some(id) => {
                let (number, last) =
                    parse_event_id(id.as_bytes()).ok_or_else(|| gone(ResumeError::Unknown))?;
                session.resume(number, last).map_err(gone)?
            }
        };
        let watch = parts.extensions.get::<Validity>().map(|validity| {
            let stream = Arc::downgrade(&stream);
            validity.on_end(move |_| {
                if let Some(stream) = stream.upgrade() {
                    stream.close();
                }
            })
        });
        let body = EventBody::new(stream, reader).ending(move || {
            session.touch();
            drop(watch);
        });
        Ok(events(HttpBody::events(body)))
    }

    /// Ends a session.
    pub(super) fn delete(
        &self,
        parts: &Parts,
        head: &RequestHead<'_>,
    ) -> Result<Response<HttpBody>, HttpRefusal> {
        let live = self.find(session(&head.marks)?, parts)?;
        self.sessions().remove(live.session.id);
        Ok(with_status(StatusCode::NO_CONTENT, HttpBody::default()))
    }
}

/// Returns the session that the request names. Without sessions the server answers POST only.
fn session(marks: &BodyHeaders) -> Result<SessionMark, HttpRefusal> {
    match (&marks.version, marks.session) {
        (VersionHeader::Known(revision), _) if revision.is_stateless() => Err(not_allowed()),
        (_, SessionMark::Absent) => Err(HttpRefusal::invalid("the header Mcp-Session-Id is missing")),
        (VersionHeader::Unknown(_), _) => Err(HttpRefusal::invalid("unsupported MCP-Protocol-Version")),
        (_, session) => Ok(session),
    }
}

pub(super) fn not_allowed() -> HttpRefusal {
    HttpRefusal::because(StatusCode::METHOD_NOT_ALLOWED, "the method is not allowed here")
}

/// Returns the refusal of a stream that cannot be resumed. Its status is 400; 404 would mean that the session is gone.
fn gone(gone: ResumeError) -> HttpRefusal {
    HttpRefusal::invalid(match gone {
        ResumeError::Forgotten => "the events behind Last-Event-ID are no longer kept",
        ResumeError::Unknown => "Last-Event-ID names no event of this session",
    })
}

/// The path of messages in HTTP+SSE.
pub(super) const SSE_MESSAGES: &str = "/message";

/// The parameter that names the session in the path of messages.
pub(super) const SESSION_ID: &str = "sessionId";

impl<A: Accept> HttpServer<A> {
    /// Opens a session that lives as long as its stream.
    pub(super) fn sse_open(&self, parts: &Parts) -> Result<Response<HttpBody>, HttpRefusal> {
        let live = self.open(parts, StreamKind::Named)?;
        let session = Arc::clone(&live.session);
        let endpoint = format!("{SSE_MESSAGES}?{SESSION_ID}={}", session.id.as_str());
        let stream = Arc::clone(&session.standalone);
        stream.write_first(Event { name: Some("endpoint"), ..Event::message(endpoint.as_bytes()) });
        self.sessions().insert(live, self.config().session_idle);
        let sessions = Arc::clone(self.sessions());
        Ok(events(HttpBody::events(EventBody::new(stream, 0).ending(move || sessions.remove(session.id)))))
    }

    /// Handles a message of the client. Its answer comes on the stream.
    pub(super) fn sse_message(
        &self,
        session: SessionId,
        parts: &Arc<Parts>,
        body: &Bytes,
    ) -> Result<(), HttpRefusal> {
        let live = self.session(session, parts, true)?;
        match frame::decode(body) {
            Frame::Single(message) => take(&live, parts, message),
            Frame::Batch(messages) if live.session.revision() == Some(mgp_types::Revision::V2025_03_26) => {
                messages.into_iter().try_for_each(|message| take(&live, parts, message))
            }
            Frame::Batch(_) => Err(HttpRefusal::no_batch()),
        }
    }
}

fn take<S: RpcService>(
    live: &LiveSession<S>,
    parts: &Arc<Parts>,
    message: Result<Message, Malformed>,
) -> Result<(), HttpRefusal> {
    if live.session.is_busy() {
        return Err(not_entered(Error::new(code::RESOURCE_EXHAUSTED, "too much is in work")));
    }
    match message.map_err(refuse)? {
        Message::Call { id, method, params } => {
            call(live, id, request(RequestKind::Call, method, params, Arc::clone(parts)))?;
        }
        Message::Notify { method, params } => {
            if let Some(call) = notification(live, Arc::clone(parts), method, params) {
                live.session.spawn(call);
            }
        }
        Message::Reply { id, outcome } => live.session.answer(id.as_ref(), outcome),
    }
    Ok(())
}

fn call<S: RpcService>(live: &LiveSession<S>, id: Id, request: Request) -> Result<(), HttpRefusal> {
    let session = Arc::clone(&live.session);
    let form = if request.method == Method::INITIALIZE {
        AnswerForm::Opening(id.clone(), Arc::clone(&session))
    } else {
        AnswerForm::Session(id.clone())
    };
    let answer = move |answer: PostAnswer| {
        let session = Arc::clone(&session);
        async move {
            // Without a reader the session is about to end.
            let _ = session.standalone.push(&answer.json).await;
        }
    };
    match spawn_call(live, &live.session.standalone, &id, request, form, answer.clone()) {
        Err(error) if error.code() == code::INVALID_PARAMS => {
            let answered = PostAnswer::error(StatusCode::OK, Some(&id), &error);
            live.session.spawn(answer(answered));
            Ok(())
        }
        spawned => spawned.map_err(|error| not_entered(error).of(Some(id))),
    }
}
