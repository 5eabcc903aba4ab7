//! Tests of the session on the server's requests.

use mgp_types::{Gate as _, Method, Params, Request};
use tower_service::Service;

use super::script::*;
use crate::era::{Agreement, EraOptions, InboundGate};

/// Returns a service that answers with an error unless there is a session.
fn tell() -> Script {
    Script::new(|request| match request.context.session {
        Some(_) => Reply::Result("{}"),
        None => refuse(-32603),
    })
}

// covers: BASE-15
#[tokio::test]
async fn ping_is_answered_while_the_handshake_goes_on() {
    let mut inbound = InboundGate::new(Agreement::default()).layer(tell());
    inbound.call(call(Method::PING)).await.unwrap();
    assert!(inbound.call(call(Method::ROOTS_LIST)).await.is_err());
}

#[tokio::test]
async fn what_the_server_sends_belongs_to_the_session() {
    let agreement = Agreement::default();
    let mut inbound = InboundGate::new(agreement.clone()).layer(tell());
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
