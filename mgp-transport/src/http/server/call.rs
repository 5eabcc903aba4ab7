//! One call of the service, from the request to the bytes that answer it, as JSON or as a stream.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::StatusCode;
use mgp_types::{AuthorizationDemand, Error, Id, Request, Response, RpcService};
use parking_lot::Mutex;
use tokio::time::{Sleep, sleep};

use super::body::{EventBody, HttpBody};
use super::in_flight::InFlightCall;
use super::respond::{PostAnswer, events, is_refused_envelope, stateless_status};
use super::session::HttpSession;
use super::stream::ResponseStream;
use crate::era::tag_result;
use crate::http::header;

/// A call with the type of its service erased. It can move between a response, a body and a task.
pub(super) type BoxCall = Pin<Box<dyn Future<Output = PostAnswer> + Send>>;

/// The form of the answer.
pub(super) enum AnswerForm {
    /// Errors have statuses of their own.
    Stateless(Id),
    /// As [`Stateless`](Self::Stateless), with the result of a subscription.
    Subscription(Id),
    /// Errors have the status of every answer, but for demands for authorization.
    Session(Id),
    /// As [`Session`](Self::Session), with the result that opens this session.
    Opening(Id, Arc<HttpSession>),
    /// The message gets no answer.
    Notification,
}

/// Calls a clone of `service` and writes its answer.
pub(super) fn http_call<S: RpcService>(
    service: &Mutex<S>,
    request: Request,
    form: AnswerForm,
    in_flight: Option<InFlightCall>,
) -> impl Future<Output = PostAnswer> + Send + use<S> {
    let mut service = service.lock().clone();
    async move {
        let outcome = match poll_fn(|cx| service.poll_ready(cx)).await {
            Ok(()) => service.call(request).await,
            Err(error) => Err(error),
        };
        // The id is free before the peer can know that it is.
        drop(in_flight);
        form.answer(outcome)
    }
}

impl AnswerForm {
    fn answer(&self, outcome: Result<Response, Error>) -> PostAnswer {
        match (self, outcome) {
            (Self::Stateless(id) | Self::Session(id), Ok(response)) => PostAnswer::reply(id, &response),
            (Self::Subscription(id), Ok(mut response)) => {
                tag_result(&mut response, id);
                PostAnswer::reply(id, &response)
            }
            (Self::Opening(id, session), Ok(response)) => {
                session.agree(&response);
                PostAnswer::reply(id, &response)
            }
            (Self::Opening(id, _), Err(error)) if is_refused_envelope(&error) => {
                PostAnswer::error(StatusCode::BAD_REQUEST, Some(id), &error)
            }
            (Self::Session(id) | Self::Opening(id, _), Err(error)) => {
                PostAnswer::error(StatusCode::OK, Some(id), &error)
            }
            (Self::Stateless(id) | Self::Subscription(id), Err(error)) => {
                PostAnswer::error(stateless_status(&error), Some(id), &error)
            }
            (Self::Notification, Err(error))
                if is_refused_envelope(&error) || AuthorizationDemand::of(&error).is_some() =>
            {
                PostAnswer::error(StatusCode::BAD_REQUEST, None, &error)
            }
            (Self::Notification, _) => PostAnswer::ACCEPTED,
        }
    }
}

/// Polls a call until it is answered or writes to its stream, whichever comes first.
///
/// A plain JSON answer needs neither a task nor a channel.
pub(super) struct RunningCall {
    call: Option<BoxCall>,
    stream: Arc<ResponseStream>,
    owner: CallOwner,
    /// The time after which the answer becomes a stream though no message was written.
    patience: Option<Pin<Box<Sleep>>>,
}

/// The owner of the call, which decides about the call when its client goes away.
pub(super) enum CallOwner {
    /// The connection: the call is dropped with it.
    Connection,
    /// The connection, as in [`Connection`](Self::Connection); the call opens this session.
    Opening(Arc<HttpSession>),
    /// The session: the call goes on in a task.
    Session(Arc<HttpSession>),
    /// The session, as in [`HttpSession`](Self::Session); the client does not wait for an answer.
    Notification(Arc<HttpSession>),
}

/// The reader that a stream has from its start; see [`ResponseStream::attach`].
const FIRST_READER: u64 = 0;
/// The time in which a subscription may be refused with a status.
const PATIENCE: Duration = Duration::from_millis(100);

impl RunningCall {
    pub(super) fn new(call: BoxCall, stream: Arc<ResponseStream>, owner: CallOwner) -> Self {
        Self { call: Some(call), stream, owner, patience: None }
    }

    /// Makes the answer a stream soon. A short delay lets a refusal keep its status.
    pub(super) fn streamed_soon(mut self) -> Self {
        self.patience = Some(Box::pin(sleep(PATIENCE)));
        self
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<http::Response<HttpBody>> {
        let mut answer = None;
        if let Some(call) = &mut self.call
            && !self.stream.is_cancelled()
        {
            match call.as_mut().poll(cx) {
                Poll::Ready(done) => answer = Some(done),
                Poll::Pending => return self.poll_pending(cx),
            }
        }
        self.call = None;
        Poll::Ready(answer.map_or_else(|| events(HttpBody::default()), |answer| self.answered(answer)))
    }

    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Poll<http::Response<HttpBody>> {
        if let CallOwner::Notification(session) = &self.owner {
            if session.is_busy() {
                return Poll::Pending; // Its sender waits as long as the others take.
            }
            if let Some(call) = self.call.take() {
                session.spawn(call);
            }
            return Poll::Ready(PostAnswer::ACCEPTED.into_response());
        }
        if let Some(patience) = &mut self.patience
            && patience.as_mut().poll(cx).is_ready()
        {
            self.patience = None;
            self.stream.set_used();
        }
        if self.stream.poll_used(cx).is_pending() {
            return Poll::Pending;
        }
        let Some(call) = self.call.take().filter(|_| !self.stream.is_cancelled()) else {
            return Poll::Ready(events(HttpBody::default()));
        };
        Poll::Ready(self.streaming(Some(call)))
    }

    fn answered(&mut self, answer: PostAnswer) -> http::Response<HttpBody> {
        // The messages of a notification go to the session.
        if !matches!(self.owner, CallOwner::Notification(_)) && !self.stream.shut_unused() {
            self.stream.finish(&answer.json);
            return self.streaming(None);
        }
        let mut response = answer.into_response();
        if let CallOwner::Opening(session) = &self.owner
            && session.revision().is_some()
        {
            response.headers_mut().insert(header::SESSION_ID, session.id.to_header());
        }
        response
    }

    fn streaming(&mut self, call: Option<BoxCall>) -> http::Response<HttpBody> {
        let body = EventBody::new(Arc::clone(&self.stream), FIRST_READER);
        let body = match &self.owner {
            CallOwner::Connection | CallOwner::Opening(_) => body.owning(call),
            CallOwner::Session(session) | CallOwner::Notification(session) => {
                session.keep(&self.stream);
                if let Some(call) = call {
                    session.spawn(run(call, Arc::clone(&self.stream)));
                }
                let session = Arc::clone(session);
                // The peer was there until now.
                body.ending(move || session.touch())
            }
        };
        let mut response = events(HttpBody::events(body));
        if let CallOwner::Opening(session) = &self.owner {
            response.headers_mut().insert(header::SESSION_ID, session.id.to_header());
        }
        response
    }
}

impl Drop for RunningCall {
    // In a session, a client that disconnects has not cancelled its call, so the call goes on without a reader.
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        match &self.owner {
            CallOwner::Connection | CallOwner::Opening(_) => self.stream.detach(FIRST_READER),
            CallOwner::Session(session) => {
                self.stream.detach(FIRST_READER);
                session.spawn(run(call, Arc::clone(&self.stream)));
            }
            CallOwner::Notification(session) => session.spawn(call),
        }
    }
}

async fn run(mut call: BoxCall, stream: Arc<ResponseStream>) {
    let answer = poll_fn(|cx| match stream.poll_cancelled(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => call.as_mut().poll(cx).map(Some),
    })
    .await;
    drop(call);
    stream.finish(&answer.map(|answer| answer.json).unwrap_or_default());
}
