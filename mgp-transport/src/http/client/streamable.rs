//! The client of Streamable HTTP in both eras.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, Response as HttpResponse, StatusCode};
use mgp_types::frame::{Message, write_call, write_notification};
use mgp_types::{Error, Method, Origin, Request, RequestKind, Response, RpcService, Session};
use scopeguard::{ScopeGuard, guard};
use tokio::time::timeout;

use super::binary::BinaryArguments;
use super::body::{self, HttpStatus, ResponseBody, SessionLost};
use super::core::ClientCore;
use super::events::{AnswerEvents, BodyKind, ReconnectBackoff, messages};
use super::head::HeaderEra;
use super::inbound::StreamReceiver;
use crate::deliveries::PeerOutcome;
use crate::http::header::SESSION_ID;

/// The body of a call as it is posted, and its content type; `None` if the body is a message of JSON alone.
type PostedCall = (Bytes, Option<HeaderValue>);

/// A call that is made of a request.
#[derive(Clone, Copy)]
struct AskedCall<'a> {
    id: i64,
    era: &'a HeaderEra,
    request: &'a Request,
}

/// The answer to a call; the outer error means that there is none.
type AskOutcome = Result<PeerOutcome, Error>;

/// The last event that the client has seen of a stream it resumes.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The time that the server has to open the stream of its unasked messages.
const LISTEN_PATIENCE: Duration = Duration::from_millis(500);
const MAX_FAILED_RESUMPTIONS: u32 = 5;
/// The time for which a stream may stay open behind its answer.
const MAX_LINGER: Duration = Duration::from_secs(1);

impl<I: RpcService> ClientCore<I> {
    /// Carries one message that has no answer: a notification, or the answer to a request of the server.
    pub(super) async fn post(&self, message: Vec<u8>, session: Option<&Arc<Session>>) -> Result<(), Error> {
        let era = match session {
            _ if self.is_sse => HeaderEra::Sse,
            Some(session) => HeaderEra::Session(session.revision),
            None => HeaderEra::Unknown,
        };
        let id = self.session_id.load_full();
        let head = || Ok(era.headers(&self.post_headers, id.as_deref()));
        self.deliver(self.to_post(message), head, id.is_some()).await
    }

    /// Carries a request, and brings its answer.
    pub(super) async fn exchange(self: Arc<Self>, mut request: Request) -> Result<Response, Error> {
        let id = self.next_id();
        if let Some(over) = self.followed.name(&mut request) {
            return over;
        }
        let era = if self.is_sse && request.method != Method::INITIALIZE {
            HeaderEra::Sse
        } else {
            HeaderEra::of(&request)?
        };
        match request.kind {
            RequestKind::Call => self.call(id, &era, &request).await,
            // Only calls have to be quick; the rare kinds are boxed, so that they do not make the future of calls
            // larger.
            RequestKind::Notify => Box::pin(self.notify(&era, &request)).await,
        }
    }

    async fn notify(self: &Arc<Self>, era: &HeaderEra, request: &Request) -> Result<Response, Error> {
        let mut message = Vec::new();
        write_notification(&mut message, &request.method, &request.params);
        let id = self.session_id.load_full();
        let head = || {
            let mut head = self.post_headers.clone();
            era.write_request(&mut head, id.as_deref(), request).map(|()| head)
        };
        let names_session = id.is_some() && !era.is_stateless();
        let message = self.to_post(message);
        let delivered = timeout(self.limits.write_timeout, self.deliver(message, head, names_session)).await;
        delivered.unwrap_or_else(|_| Err(Error::timeout("the server did not accept the message in time")))?;
        if let (HeaderEra::Session(_), Some(session)) = (era, &request.context.session)
            && request.method == Method::INITIALIZED
        {
            // Servers drop messages that they send while nobody listens. A server that holds the answer back until it
            // has something to send must not delay the client.
            let _ = timeout(LISTEN_PATIENCE, self.listen(session)).await;
        }
        Ok(Response::empty())
    }

    /// Posts a message, and waits until the server has accepted it.
    pub(super) async fn deliver(
        &self,
        message: Bytes,
        head: impl Fn() -> Result<HeaderMap, Error>,
        names_session: bool,
    ) -> Result<(), Error> {
        let response = self.link.send(&HttpMethod::POST, &self.endpoint, message, head).await?;
        if !response.status().is_success() {
            return Err(self.refusal(response, names_session).await);
        }
        body::discard(response.into_body()).await;
        Ok(())
    }

    async fn call(self: &Arc<Self>, id: i64, era: &HeaderEra, request: &Request) -> Result<Response, Error> {
        let message = self.written(id, request)?;
        let take_back = match era {
            // A closed stream takes a request of its own back; opening a session cannot be taken back.
            HeaderEra::Stateless(_) | HeaderEra::Opening => None,
            HeaderEra::Session(_) | HeaderEra::Unknown | HeaderEra::Sse => {
                Some(guard(request.context.session.clone(), |session| self.take_back(id, session)))
            }
        };
        let asking = async {
            let outcome = self.ask(AskedCall { id, era, request }, message).await;
            // The request has its answer, or never gets one.
            if let Some(take_back) = take_back {
                ScopeGuard::into_inner(take_back);
            }
            outcome
        };
        let outcome = self.followed.follow(id, request, &self.limits, asking).await;
        outcome.map(Response::new)
    }

    /// Returns a request as it is posted.
    fn written(&self, id: i64, request: &Request) -> Result<PostedCall, Error> {
        let mut message = Vec::new();
        if let Some(binary) = BinaryArguments::of(request).filter(|_| !self.is_sse) {
            write_call(&mut message, &id.into(), &request.method, &binary.params(&request.params));
            let (content_type, body) = binary.join(&self.to_post(message))?;
            return Ok((body, Some(content_type)));
        }
        write_call(&mut message, &id.into(), &request.method, &request.params);
        Ok((self.to_post(message), None))
    }

    /// Sends the request and waits.
    async fn ask(self: &Arc<Self>, asked: AskedCall<'_>, (body, content_type): PostedCall) -> AskOutcome {
        let AskedCall { id, era, request } = asked;
        if self.is_sse {
            return Box::pin(self.ask_sse(id, body)).await;
        }
        let session_id = if let HeaderEra::Opening = era { None } else { self.session_id.load_full() };
        let head = || {
            let mut head = self.post_headers.clone();
            if let Some(content_type) = &content_type {
                head.insert(CONTENT_TYPE, content_type.clone());
            }
            era.write_request(&mut head, session_id.as_deref(), request).map(|()| head)
        };
        let response = self.link.send(&HttpMethod::POST, &self.endpoint, body, head).await?;
        if !response.status().is_success() {
            let names_session = session_id.is_some() && !era.is_stateless();
            return Err(Box::pin(self.refusal(response, names_session)).await);
        }
        if let HeaderEra::Opening = era {
            self.open_session(response.headers())?;
        }
        match BodyKind::of(response.headers()) {
            BodyKind::Json => self.read_json(asked, response.into_body()).await,
            BodyKind::Events => Box::pin(self.read_events(asked, response.into_body())).await,
            BodyKind::Other => Err(Error::misbehaved("the answer is neither JSON nor an event stream")
                .with_source(HttpStatus::new(response.status()))),
        }
    }

    async fn read_json(self: &Arc<Self>, asked: AskedCall<'_>, body: ResponseBody) -> AskOutcome {
        let frame = body::read(body, &self.limits).await?;
        let mut receiver = None;
        let mut answer = None;
        for message in messages(&frame) {
            let reply = match message {
                // The usual answer needs no receiver.
                Ok(Message::Reply { id, outcome }) => super::inbound::ServerReply { id, outcome },
                Err(malformed) if malformed.id.is_none() => {
                    return Err(Error::misbehaved("the answer is malformed").with_source(malformed.error));
                }
                other => {
                    let receiver = receiver.get_or_insert_with(|| self.receiver(asked).about(asked.id));
                    let Some(reply) = Box::pin(receiver.take(other)).await else { continue };
                    reply
                }
            };
            if answer.replace(reply.for_request(asked.id)?).is_some() {
                return Err(Error::misbehaved("the server answered twice"));
            }
        }
        answer.ok_or_else(|| Error::misbehaved("the server sent an empty answer"))
    }

    async fn read_events(self: &Arc<Self>, asked: AskedCall<'_>, body: ResponseBody) -> AskOutcome {
        let events = AnswerEvents::new(body, &self.limits);
        if asked.era.is_stateless() {
            return self.follow(asked, events).await;
        }
        let mut stray = self.replies.wait(asked.id)?;
        tokio::select! {
            biased;
            outcome = self.follow(asked, events) => outcome,
            outcome = stray.answer() => Ok(outcome),
        }
    }

    /// Reads a stream, and those that continue it, until the answer comes.
    async fn follow(self: &Arc<Self>, asked: AskedCall<'_>, mut events: AnswerEvents) -> AskOutcome {
        let AskedCall { id, era, .. } = asked;
        let mut receiver = self.receiver(asked).of_call(id);
        let mut pause = ReconnectBackoff::new(MAX_FAILED_RESUMPTIONS);
        loop {
            let end = match events.next().await {
                Ok(Some(event)) => {
                    pause.reset();
                    let frame = if event.is_message() { event.data } else { continue };
                    let mut answer = None;
                    for message in messages(&frame) {
                        let Some(reply) = receiver.take(message).await else { continue };
                        if answer.replace(reply.for_request(id)?).is_some() {
                            return Err(Error::misbehaved("the server answered twice"));
                        }
                    }
                    let Some(answer) = answer else { continue };
                    receiver.answered();
                    return self.finish(id, events).await.map(|()| answer);
                }
                Ok(None) => Error::disconnected("the stream ended before the answer came"),
                Err(error) if error.origin() == Origin::Connection => error,
                Err(error) => return Err(error),
            };
            // From 2026-07-28 on a broken stream is not resumed: the request is sent again.
            let Some(last_id) = events.last_id().filter(|_| !era.is_stateless()) else { return Err(end) };
            let mut failure = end;
            loop {
                let Some(wait) = pause.next(events.retry()) else { return Err(failure) };
                tokio::time::sleep(wait).await;
                match self.open_stream(era, Some(&last_id)).await {
                    Ok(body) => {
                        // A server that names a time to come back wants to be asked until there is an answer.
                        if events.retry().is_some() {
                            pause.reset();
                        }
                        break events.resume(body);
                    }
                    // The server has the call, although it cannot be reached now.
                    Err(error) if is_passing(&error) => failure = error.maybe_executed().without_recovery(),
                    // The server accepted the call, which is not made again in another session.
                    Err(error) if SessionLost::is_behind(&error) => {
                        return Err(Error::disconnected("the session ended before the answer came"));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Returns the receiver of the messages that come with the answer to a call.
    fn receiver(self: &Arc<Self>, asked: AskedCall<'_>) -> StreamReceiver<I> {
        let session = asked.request.context.session.as_ref();
        StreamReceiver::new(self, session, !asked.era.is_stateless())
    }

    /// Searches the arrived data for a second answer, and reads the rest of the stream so that its connection can be
    /// used again.
    async fn finish(&self, id: i64, mut events: AnswerEvents) -> Result<(), Error> {
        while let Some(event) = events.arrived().await? {
            let is_answer =
                |message| matches!(message, Ok(Message::Reply { id: Some(other), .. }) if other == id.into());
            if event.is_message() && messages(&event.data).any(is_answer) {
                return Err(Error::misbehaved("the server answered twice"));
            }
        }
        let rest = events.body;
        if rest.is_over() {
            return Ok(());
        }
        if let Ok(room) = Arc::clone(&self.chores).try_acquire_owned() {
            self.tasks.spawn(async move {
                // A stream that goes on after its answer is closed.
                let _ = timeout(MAX_LINGER, body::discard(rest)).await;
                drop(room);
            });
        }
        Ok(())
    }

    /// Opens the stream of the server's unasked messages, or resumes any stream behind an event.
    pub(super) async fn open_stream(
        &self,
        era: &HeaderEra,
        last_id: Option<&HeaderValue>,
    ) -> Result<ResponseBody, Error> {
        let session_id = self.session_id.load_full();
        // The continuation of the answer to `initialize` is within the session that it opened.
        let era = if let HeaderEra::Opening = era { &HeaderEra::Unknown } else { era };
        let head = || {
            let mut head = self.headers.clone();
            head.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
            era.write(&mut head, session_id.as_deref());
            if let Some(last_id) = last_id {
                head.insert(LAST_EVENT_ID, last_id.clone());
            }
            Ok(head)
        };
        let response = self.link.send(&HttpMethod::GET, &self.url, Bytes::new(), head).await?;
        if !response.status().is_success() {
            return Err(self.refusal(response, session_id.is_some()).await);
        }
        if BodyKind::of(response.headers()) != BodyKind::Events {
            return Err(HttpStatus::new(response.status()).into_error());
        }
        Ok(response.into_body())
    }

    /// Tells the server that the session is over.
    pub(super) async fn end_session(&self, revision: Option<&Session>) {
        let Some(id) = self.session_id.swap(None) else { return };
        let era = revision.map_or(HeaderEra::Unknown, |session| HeaderEra::Session(session.revision));
        let head = || Ok(era.headers(&self.headers, Some(&id)));
        // The client ignores the server's answer.
        if let Err(error) = self.link.send(&HttpMethod::DELETE, &self.url, Bytes::new(), head).await {
            tracing::debug!(%error, "the session was not ended");
        }
    }

    fn open_session(&self, headers: &HeaderMap) -> Result<(), Error> {
        let id = headers.get(SESSION_ID);
        if id.is_some_and(|id| id.is_empty() || !id.as_bytes().iter().all(u8::is_ascii_graphic)) {
            return Err(Error::misbehaved("the session id is not visible ASCII"));
        }
        let id = id.cloned().map(|mut id| {
            id.set_sensitive(true);
            Arc::new(id)
        });
        self.session_id.store(id);
        self.set_listener(None);
        Ok(())
    }

    /// Returns the error of an answer that is no success.
    async fn refusal(&self, response: HttpResponse<ResponseBody>, names_session: bool) -> Error {
        if names_session && response.status() == StatusCode::NOT_FOUND {
            return SessionLost.into_error();
        }
        body::refusal(response, &self.limits).await
    }
}

/// Returns whether the same attempt may succeed later.
pub(super) fn is_passing(error: &Error) -> bool {
    error.origin() == Origin::Connection && !SessionLost::is_behind(error)
        || HttpStatus::of(error).is_some_and(|status| status.code() >= 500)
}
