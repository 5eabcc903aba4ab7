//! HTTP+SSE, the transport of 2024-11-05: one stream for all messages of the server, and a POST for each of the client.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use mgp_types::frame::{self, Frame, Malformed, Message};
use mgp_types::{Error, Id, Method, Request, RequestKind, RpcService, code};

use super::HttpServer;
use super::batch::spawn_call;
use super::body::{EventBody, HttpBody};
use super::call::{AnswerForm, TouchOnDrop};
use super::post::{not_entered, notification, refuse, request};
use super::respond::{HttpRefusal, PostAnswer, events};
use super::session_table::{LiveSession, SessionId, SessionTable};
use super::stream::StreamKind;
use crate::Accept;
use crate::http::sse::Event;

/// The parameter that names the session in the path of messages.
pub(super) const SESSION_ID: &str = "sessionId";

impl<A: Accept> HttpServer<A> {
    /// Opens a session that lives as long as its stream.
    pub(super) fn sse_open(
        &self,
        parts: &Parts,
        message_path: &str,
    ) -> Result<Response<HttpBody>, HttpRefusal> {
        let live = self.open(parts, StreamKind::Named)?;
        let session = Arc::clone(&live.session);
        let endpoint = format!("{message_path}?{SESSION_ID}={}", session.id.as_str());
        let stream = Arc::clone(&session.standalone);
        stream.write_first(Event { name: Some("endpoint"), ..Event::message(endpoint.as_bytes()) });
        self.sessions().insert(live, self.config().session_idle);
        let ends = EndSessionOnDrop { sessions: Arc::clone(self.sessions()), id: session.id };
        Ok(events(HttpBody::events(EventBody::new(stream, 0).holding((ends, TouchOnDrop(session))))))
    }

    /// Handles a message of the client. Its answer comes on the stream.
    pub(super) fn sse_message(
        &self,
        session: SessionId,
        parts: &Arc<Parts>,
        body: &Bytes,
    ) -> Result<(), HttpRefusal> {
        let live = self.session(session, parts, true)?;
        match frame::decode(body, self.config().limits.json) {
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

/// The guard that ends a session with its stream.
struct EndSessionOnDrop<S: RpcService> {
    sessions: Arc<SessionTable<S>>,
    id: SessionId,
}

impl<S: RpcService> Drop for EndSessionOnDrop<S> {
    fn drop(&mut self) {
        self.sessions.remove(self.id);
    }
}
