//! The client's side: the layer that answers the questions in a result, and sends the request again.

mod future;
mod rounds;
#[cfg(test)]
mod tests;

use std::task::{Context, Poll};

use mgp_types::{Error, Params, Request, RequestKind, Response, RpcService};
use tower_layer::Layer;
use tower_service::Service;

pub use self::future::InputLoopFuture;
use self::future::WatchedCall;
use super::may_ask;
use crate::era::{Agreement, RoundHandler};

/// Answers the questions that the server asks in its results, as if it had sent requests.
///
/// A result of `tools/call`, `prompts/get` or `resources/read` may ask for input instead of being final. Each question
/// goes as a request into `inbound`, the same stack that answers a server's own requests, so the same gates see it;
/// then the request is sent again with the answers. The questions of one result are asked at the same time.
///
/// The layer sits above the era and below all layers that measure or retry a call as a whole. Each question has the
/// context of its call, so that the answering service can reach the caller, with the server's session in place of the
/// caller's. An ordinary result is not parsed and costs one search. The call fails when the client cannot answer, when
/// the server asks more often than [`MAX_ROUNDS`], or when the result is of a type that was not agreed on. Dropping a
/// call drops the questions in work.
///
/// In a gateway ([`EraOptions::with_relay`](crate::era::EraOptions::with_relay)) the requests of a client that handles
/// rounds itself pass through, as do their results. Where the server has sessions there are no earlier rounds to
/// continue, and a request that tries is refused with -32602.
#[derive(Debug, Clone)]
pub struct InputLoop<W, H> {
    inner: W,
    inbound: H,
    agreement: Agreement,
}

/// The number of times that a server may ask before it answers.
pub const MAX_ROUNDS: usize = 10;

/// Builds [`InputLoop`]s.
#[derive(Debug, Clone)]
pub struct InputLoopLayer<H> {
    inbound: H,
    agreement: Agreement,
}

impl<H> InputLoopLayer<H> {
    /// Creates the layer whose `inbound` answers the questions asked under `agreement`.
    pub fn new(inbound: H, agreement: Agreement) -> Self {
        Self { inbound, agreement }
    }
}

impl<W, H: Clone> Layer<W> for InputLoopLayer<H> {
    type Service = InputLoop<W, H>;

    fn layer(&self, inner: W) -> InputLoop<W, H> {
        InputLoop::new(inner, self.inbound.clone(), self.agreement.clone())
    }
}

impl<W, H> InputLoop<W, H> {
    /// Creates the service whose `inbound` answers the questions of the server behind `inner`, asked under `agreement`.
    pub fn new(inner: W, inbound: H, agreement: Agreement) -> Self {
        Self { inner, inbound, agreement }
    }

    /// Returns the service that carries the requests.
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// Returns the service that carries the requests.
    pub fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: RpcService, H: RpcService> Service<Request> for InputLoop<W, H> {
    type Response = Response;
    type Error = Error;
    type Future = InputLoopFuture<W, H>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.kind == RequestKind::Notify {
            return InputLoopFuture::new(self.inner.call(request), None);
        }
        match self.agreement.rounds_of(&request) {
            RoundHandler::Ours => {}
            RoundHandler::Unknown if may_ask(&request.method) && goes_on(&request.params) => {
                return InputLoopFuture::refused(Error::invalid_params(
                    "no questions were asked that this answers; make the call again without `requestState` and \
                     `inputResponses`",
                ));
            }
            RoundHandler::None | RoundHandler::Callers | RoundHandler::Unknown => {
                return InputLoopFuture::new(self.inner.call(request), None);
            }
        }
        let watched = WatchedCall {
            // Only these methods may ask; questions in any other result are an error.
            request: may_ask(&request.method).then(|| request.clone()),
            service: self.clone(),
        };
        InputLoopFuture::new(self.inner.call(request), Some(watched))
    }
}

/// Returns whether a request continues earlier rounds.
fn goes_on(params: &Params) -> bool {
    params.contains("requestState") || params.contains("inputResponses")
}
