use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::ServerId;
use mgp_types::{BoxFuture, Error, Request, Response};
use tower_service::Service;

use crate::parts::Parts;

/// What comes of a request to the router.
pub(crate) enum RouterFuture {
    Done(Option<Result<Response, Error>>),
    Running(BoxFuture<'static, Result<Response, Error>>),
}

impl RouterFuture {
    pub(super) fn done(outcome: Result<Response, Error>) -> Self {
        Self::Done(Some(outcome))
    }
}

impl Future for RouterFuture {
    type Output = Result<Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Done(outcome) => outcome.take().map_or(Poll::Pending, Poll::Ready),
            Self::Running(future) => future.as_mut().poll(cx),
        }
    }
}

/// Sends a request the way to one server.
pub(super) fn to_server(parts: &Arc<Parts>, server: &ServerId, request: Request) -> RouterFuture {
    let Some(upstream) = parts.fleet.get(server.as_str()) else {
        return RouterFuture::done(Err(Error::disconnected(format!("the server {server} is gone"))));
    };
    let mut service = upstream.service();
    // Its layers are always ready: they wait inside of a call.
    RouterFuture::Running(Service::call(&mut service, request))
}

/// Sends the answer to a callback to the server that asked.
pub(super) fn callback(parts: &Arc<Parts>, mut request: Request) -> RouterFuture {
    let Some((upstream, params)) = parts.fleet.answered(&request.context, &request.params) else {
        let message = "the callback is not known; it was answered before, its call is over, or it was for somebody else";
        return RouterFuture::done(Err(Error::invalid_params(message)));
    };
    request.params = params;
    RouterFuture::Running(Service::call(&mut upstream.service(), request))
}
