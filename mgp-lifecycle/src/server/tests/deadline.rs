//! Tests of the deadlines that callers of a server wish for.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{Category, Extension};
use mgp_types::{Error, Outbox, Response, Session, code};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use super::{request, session_with};
use crate::call::SendingLayer;
use crate::doubles::{Upstream, millis};

async fn call(server: &Upstream, session: &Arc<Session>, params: &str) -> Result<Response, Error> {
    let mut service = SendingLayer::new().deadline(Duration::MAX).layer(server.clone());
    service.call(request(session, "tools/call", params)).await
}

fn mgp() -> Arc<Session> {
    session_with(&[Extension::Streaming], Outbox::CLOSED)
}

// covers: MGP-14.3-13
#[tokio::test(start_paused = true)]
async fn a_call_is_cut_off_when_nobody_waits_any_more() {
    let server = Upstream::obeying();
    let asked = Instant::now();
    let error = call(&server, &mgp(), r#"{"name":"never","_mgp":{"deadline_ms":250}}"#).await.unwrap_err();
    assert_eq!((error.code(), asked.elapsed()), (code::TIMEOUT, millis(250)));
    assert_eq!(error.recovery().unwrap().category, Some(Category::Resource));
    assert_eq!(server.running(), 0, "its handler is gone");
}

#[tokio::test(start_paused = true)]
async fn a_call_without_time_never_begins() {
    let server = Upstream::obeying();
    let error = call(&server, &mgp(), r#"{"name":"now","_mgp":{"deadline_ms":0}}"#).await.unwrap_err();
    assert_eq!(error.code(), code::TIMEOUT);
    assert!(server.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_done_in_time_is_answered() {
    let server = Upstream::obeying();
    for millis in ["101", "18446744073709551615"] {
        let params = format!(r#"{{"name":"after-100","_mgp":{{"deadline_ms":{millis}}}}}"#);
        assert!(call(&server, &mgp(), &params).await.is_ok(), "{millis}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_has_all_the_time() {
    let server = Upstream::obeying();
    let asked = Instant::now();
    for params in [
        r#"{"name":"after-60000"}"#,
        r#"{"name":"after-60000","_mgp":{"stream":true}}"#,
        r#"{"name":"after-60000","_mgp":{"deadline_ms":"soon"}}"#,
    ] {
        assert!(call(&server, &mgp(), params).await.is_ok(), "{params}");
    }
    assert_eq!(asked.elapsed(), Duration::from_mins(3));
}
