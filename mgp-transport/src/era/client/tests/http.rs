//! Tests of the handshake over HTTP, and of lost sessions.

use mgp_types::{Error, Method, Object, Origin, Request, Revision};
use tower_service::Service;

use super::script::*;
use crate::era::ProbeEndedConnection;

fn status(code: u16) -> Reply {
    Reply::Error(Error::misbehaved("refused").with_source(Status(code)))
}

fn status_with(code: u16, json_rpc: i64, message: &'static str) -> Reply {
    Reply::Error(Error::from_origin(Origin::Peer, json_rpc, message).with_source(Status(code)))
}

fn probed(answer: impl Fn() -> Reply + Send + 'static) -> Script {
    Script::new(move |request| match request.method.as_str() {
        "server/discover" => answer(),
        _ => session_server(request),
    })
}

#[tokio::test]
async fn a_refusal_by_status_leads_to_a_session() {
    for code in [400, 404, 405, 406, 415, 422] {
        let script = probed(move || status(code));
        let era = script.connect_http().await.unwrap();
        assert_eq!(era.agreement().revision(), Some(Revision::V2025_11_25), "{code}");
    }
    let script = probed(|| status_with(400, -32600, "session id required"));
    script.connect_http().await.unwrap();
    // Wrong parameters are a verdict only if they are those that describe the client.
    let script = probed(|| status_with(400, -32602, "an argument is wrong"));
    let era = script.connect_http().await.unwrap();
    assert_eq!(era.agreement().revision(), Some(Revision::V2025_11_25));
}

#[tokio::test]
async fn authorization_is_no_verdict() {
    for code in [401, 403] {
        let script = probed(move || status(code));
        let error = script.connect_http().await.unwrap_err();
        assert!(error.to_string().contains("refused"));
        assert_eq!(script.methods(), ["server/discover"], "{code}");
    }
}

#[tokio::test]
async fn a_server_in_trouble_is_no_verdict() {
    for code in [500, 503] {
        let script = probed(move || status(code));
        script.connect_http().await.unwrap_err();
        assert_eq!(script.methods(), ["server/discover"], "{code}");
    }

    let script = probed(|| Reply::Error(Error::disconnected("unreachable")));
    let error = script.connect_http().await.unwrap_err();
    assert!(!ProbeEndedConnection::is_behind(&error));
    assert_eq!(script.methods(), ["server/discover"]);
}

#[tokio::test]
async fn errors_that_only_servers_without_sessions_have_are_verdicts() {
    let script = probed(|| status_with(404, -32601, "method not found"));
    let era = script.connect_http().await.unwrap();
    assert_eq!(era.agreement().revision(), Some(Revision::V2026_07_28));

    for (http, code) in [(400, -32020), (400, -32021), (400, -32602)] {
        let script = probed(move || status_with(http, code, "`_meta` is wrong"));
        assert_eq!(script.connect_http().await.unwrap_err().code(), code);
        assert_eq!(script.methods(), ["server/discover"]);
    }
}

#[tokio::test]
async fn a_lost_session_is_opened_again_and_the_call_sent_again() {
    let script = refusing_lists(1, lost, session_server);
    let mut era = script.connect_http().await.unwrap();
    era.call(call(Method::TOOLS_LIST)).await.unwrap();
    let expected = [
        "server/discover", "initialize", "notifications/initialized", "tools/list", "initialize",
        "notifications/initialized", "tools/list",
    ];
    assert_eq!(script.methods(), expected);
}

#[tokio::test]
async fn a_session_that_is_opened_again_is_like_the_lost_one() {
    let script = refusing_lists(1, lost, session_server);
    let mut era = script.connect_http().await.unwrap();
    for (method, params) in [
        (Method::SET_LEVEL, r#"{"level":"info"}"#),
        (Method::RESOURCES_SUBSCRIBE, r#"{"uri":"a:1"}"#),
        (Method::RESOURCES_SUBSCRIBE, r#"{"uri":"a:2"}"#),
        (Method::RESOURCES_UNSUBSCRIBE, r#"{"uri":"a:1"}"#),
        (Method::SET_LEVEL, r#"{"level":"error"}"#),
    ] {
        era.call(Request::call(method, Object::parse(params).unwrap())).await.unwrap();
    }
    era.call(call(Method::TOOLS_LIST)).await.unwrap();
    let methods = script.methods();
    let again = methods.len() - 3;
    assert_eq!(methods[again..], ["resources/subscribe", "logging/setLevel", "tools/list"]);
    assert_eq!(script.request(again).params.text("uri").as_deref(), Some("a:2"));
    assert_eq!(script.request(again + 1).params.text("level").as_deref(), Some("error"));
}

#[tokio::test]
async fn a_session_that_stays_lost_is_not_opened_for_ever() {
    let script = refusing_lists(u32::MAX, lost, session_server);
    let mut era = script.connect_http().await.unwrap();
    let error = era.call(call(Method::TOOLS_LIST)).await.unwrap_err();
    assert_eq!(error.origin(), Origin::Connection);
    assert_eq!(script.methods().iter().filter(|method| *method == "initialize").count(), 2);
}

#[tokio::test]
async fn several_calls_that_lose_the_session_open_it_once() {
    let script = refusing_lists(3, lost, session_server);
    let mut era = script.connect_http().await.unwrap();
    let calls: Vec<_> = (0..3).map(|_| era.call(call(Method::TOOLS_LIST))).collect();
    let tasks: Vec<_> = calls.into_iter().map(tokio::spawn).collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(script.methods().iter().filter(|method| *method == "initialize").count(), 2);
}

#[tokio::test]
async fn a_notification_is_not_sent_again() {
    let script = Script::new(session_server);
    let mut era = script.connect_http().await.unwrap();
    let progress = mgp_types::Request::notify(Method::PROGRESS, mgp_types::Params::new());
    era.call(progress).await.unwrap();
    assert_eq!(script.methods().len(), 4);
}
