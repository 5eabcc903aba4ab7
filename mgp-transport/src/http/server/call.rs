//! One call of the service, from the request to the bytes that answer it, as JSON or as a stream.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::StatusCode;
use mgp_types::{Error, Id, Object, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use super::body::{Events, HttpBody};
use super::in_flight::InFlight;
use super::respond::{Answer, events, is_refused_envelope, stateless_status};
use super::session::Session;
use super::stream::ResponseStream;
use crate::era::tag_subscription;
use crate::http::header;

/// A call with the type of its service erased. It can move between a response, a body and a task.
pub(super) type BoxCall = Pin<Box<dyn Future<Output = Answer> + Send>>;

pin_project! {
    /// Calls the service and writes its answer.
    pub(super) struct Call<S: RpcService> {
        service: S,
        request: Option<Request>,
        #[pin]
        running: Option<S::Future>,
        form: Form,
        in_flight: Option<InFlight>,
    }
}

/// The form of the answer.
#[derive(Debug)]
pub(super) enum Form {
    /// Errors have statuses of their own.
    Stateless(Id),
    /// As [`Stateless`](Self::Stateless), with the result of a subscription.
    Subscription(Id),
    /// Errors have the status of every answer.
    Session(Id),
    /// The message gets no answer.
    Notification,
}

impl<S: RpcService> Call<S> {
    pub(super) fn new(service: S, request: Request, form: Form, in_flight: Option<InFlight>) -> Self {
        Self { service, request: Some(request), running: None, form, in_flight }
    }
}

impl<S: RpcService> Future for Call<S> {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        let mut this = self.project();
        if this.request.is_some() {
            let ready = ready!(this.service.poll_ready(cx));
            if let (Some(request), Ok(())) = (this.request.take(), &ready) {
                this.running.set(Some(this.service.call(request)));
            } else if let Err(error) = ready {
                return Poll::Ready(this.form.answer(Err(error)));
            }
        }
        let outcome = match this.running.as_mut().as_pin_mut() {
            Some(running) => ready!(running.poll(cx)),
            None => Err(Error::internal("the call is over")),
        };
        // The id is free before the peer can know that it is.
        *this.in_flight = None;
        Poll::Ready(this.form.answer(outcome))
    }
}

impl Form {
    fn answer(&self, outcome: Result<Response, Error>) -> Answer {
        match (self, outcome) {
            (Self::Stateless(id) | Self::Session(id), Ok(response)) => Answer::reply(id, &response),
            (Self::Subscription(id), Ok(response)) => Answer::reply(id, &tagged(&response, id)),
            (Self::Session(id), Err(error)) => Answer::error(StatusCode::OK, Some(id), &error),
            (Self::Stateless(id) | Self::Subscription(id), Err(error)) => {
                Answer::error(stateless_status(&error), Some(id), &error)
            }
            (Self::Notification, Err(error)) if is_refused_envelope(&error) => {
                Answer::error(StatusCode::BAD_REQUEST, None, &error)
            }
            (Self::Notification, _) => Answer::ACCEPTED,
        }
    }
}

fn tagged(response: &Response, id: &Id) -> Response {
    match Object::from_raw(&response.to_raw()) {
        Ok(mut result) => {
            tag_subscription(&mut result, id);
            Response::new(result.to_raw())
        }
        Err(_) => response.clone(),
    }
}

/// Polls a call until it is answered or writes to its stream, whichever comes first.
///
/// A plain JSON answer needs neither a task nor a channel.
pub(super) struct Calling {
    call: Option<BoxCall>,
    stream: Arc<ResponseStream>,
    owner: Owner,
    /// The time after which the answer becomes a stream though no message was written.
    patience: Option<Pin<Box<Sleep>>>,
}

/// The owner of the call, which decides about the call when its client goes away.
pub(super) enum Owner {
    /// The connection: the call is dropped with it.
    Connection,
    /// The connection, as in [`Connection`](Self::Connection); the call opens this session.
    Opening(Arc<Session>),
    /// The session: the call goes on in a task.
    Session(Arc<Session>),
    /// The session, as in [`Session`](Self::Session); the client does not wait for an answer.
    Notification(Arc<Session>),
}

/// The reader that a stream has from its start; see [`ResponseStream::attach`].
const FIRST_READER: u64 = 0;
/// The time in which a subscription may be refused with a status.
const PATIENCE: Duration = Duration::from_millis(100);

impl Calling {
    pub(super) fn new(call: BoxCall, stream: Arc<ResponseStream>, owner: Owner) -> Self {
        Self { call: Some(call), stream, owner, patience: None }
    }

    /// Makes the answer a stream soon. A short delay lets a refusal keep its status.
    pub(super) fn impatient(mut self) -> Self {
        self.patience = Some(Box::pin(sleep(PATIENCE)));
        self
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<http::Response<HttpBody>> {
        let answer = match &mut self.call {
            Some(_) if self.stream.is_cancelled() => None,
            Some(call) => match call.as_mut().poll(cx) {
                Poll::Ready(answer) => Some(answer),
                Poll::Pending => return self.poll_pending(cx),
            },
            None => None,
        };
        self.call = None;
        Poll::Ready(match answer {
            Some(answer) => self.answered(answer),
            None => events(HttpBody::empty()),
        })
    }

    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Poll<http::Response<HttpBody>> {
        if let Owner::Notification(session) = &self.owner {
            if session.is_busy() {
                return Poll::Pending; // Its sender waits as long as the others take.
            }
            if let Some(call) = self.call.take() {
                session.spawn(async {
                    call.await;
                });
            }
            return Poll::Ready(Answer::ACCEPTED.into_response());
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
            return Poll::Ready(events(HttpBody::empty()));
        };
        Poll::Ready(self.streaming(Some(call)))
    }

    fn answered(&mut self, answer: Answer) -> http::Response<HttpBody> {
        if !self.shut_unused() {
            self.stream.finish(&answer.json);
            return self.streaming(None);
        }
        let mut response = answer.into_response();
        if let Owner::Opening(session) = &self.owner
            && session.revision().is_some()
        {
            response.headers_mut().insert(header::SESSION_ID, session.id.to_header());
        }
        response
    }

    fn shut_unused(&self) -> bool {
        // The messages of a notification go to the session.
        matches!(self.owner, Owner::Notification(_)) || self.stream.shut_unused()
    }

    fn streaming(&mut self, call: Option<BoxCall>) -> http::Response<HttpBody> {
        let body = Events::new(Arc::clone(&self.stream), FIRST_READER);
        match (&self.owner, call) {
            (Owner::Connection, Some(call)) => events(HttpBody::events(body.owning(call))),
            (Owner::Connection, None) => events(HttpBody::events(body)),
            (Owner::Opening(session), call) => {
                let body = match call {
                    Some(call) => body.owning(call),
                    None => body,
                };
                let mut response = events(HttpBody::events(body));
                response.headers_mut().insert(header::SESSION_ID, session.id.to_header());
                response
            }
            (Owner::Session(session) | Owner::Notification(session), call) => {
                session.keep(&self.stream);
                if let Some(call) = call {
                    session.spawn(run(call, Arc::clone(&self.stream)));
                }
                events(HttpBody::events(body.holding(Touch(Arc::clone(session)))))
            }
        }
    }
}

impl Drop for Calling {
    /// Returns a client of a session that goes away has not cancelled its call.
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        match &self.owner {
            Owner::Connection | Owner::Opening(_) => self.stream.detach(FIRST_READER),
            Owner::Session(session) => {
                self.stream.detach(FIRST_READER);
                session.spawn(run(call, Arc::clone(&self.stream)));
            }
            Owner::Notification(session) => session.spawn(async {
                call.await;
            }),
        }
    }
}

/// The note that a stream's peer was there until now, made for the session when the stream ends.
pub(super) struct Touch(pub(super) Arc<Session>);

impl Drop for Touch {
    fn drop(&mut self) {
        self.0.touch();
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
