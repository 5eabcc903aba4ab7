//! One call of the service, from the request to the bytes that answer it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::StatusCode;
use mgp_types::{Error, Id, Object, Request, Response, RpcService};
use pin_project_lite::pin_project;

use super::in_flight::InFlight;
use super::respond::{Answer, is_refused_envelope, stateless_status};
use crate::era::tag_subscription;

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
