//! Tests of the session on the server's requests.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use mgp_types::{Error, Gate as _, Method, Params, Request, Response};
use tower_service::Service;

use super::script::*;
use crate::era::{Agreement, EraOptions, InboundGate};

/// A service that answers with an error that tells whether there was a session.
#[derive(Clone)]
struct Tell;

impl Service<Request> for Tell {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ready(if request.context.session.is_some() {
            Ok(Response::empty())
        } else {
            Err(Error::internal("none"))
        })
    }
}

// covers: BASE-15
#[tokio::test]
async fn ping_is_answered_while_the_handshake_goes_on() {
    let mut inbound = InboundGate::new(Agreement::default()).layer(Tell);
    inbound.call(call(Method::PING)).await.unwrap();
    assert!(inbound.call(call(Method::ROOTS_LIST)).await.is_err());
}

#[tokio::test]
async fn what_the_server_sends_belongs_to_the_session() {
    let agreement = Agreement::default();
    let mut inbound = InboundGate::new(agreement.clone()).layer(Tell);
    let options = EraOptions { agreement, ..EraOptions::default() };
    let era = Script::new(session_server).negotiate(options).await.unwrap();
    inbound.call(call(Method::ROOTS_LIST)).await.unwrap();
    inbound.call(Request::notify(Method::MESSAGE, Params::new())).await.unwrap();
    drop(era);
}

#[tokio::test]
async fn the_way_to_the_server_ends_with_the_client() {
    let script = Script::new(session_server);
    let era = script.connect().await.unwrap();
    let outbox = era.session().unwrap().outbox.clone();
    outbox.call(call(Method::PING)).await.unwrap();
    drop(era);
    assert!(outbox.call(call(Method::PING)).await.is_err());
}
