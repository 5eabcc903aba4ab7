use mgp_types::mgp::CallRecord;
use mgp_types::{Outbox, StreamId};
use tokio::time::sleep;
use tower_layer::Layer as _;

use super::*;
use crate::call::{RetryPolicy, SendingLayer};
use crate::doubles::{Caller, Log, Upstream, call_of, millis, peer_error, tool_call};

fn naming(tool: &str) -> Error {
    let recovery = Recovery::default().with_retryable(true).with_max_retries(1).with_fallback_tool(tool);
    peer_error(5002, recovery)
}

/// A server whose tools fail with `error`, except `local`.
fn failing_but_local(error: &Error) -> Upstream {
    let error = error.clone();
    Upstream::working(move |_, request| {
        let is_local = request.params.text("name").as_deref() == Some("local");
        std::future::ready(if is_local { Ok(Response::empty()) } else { Err(error.clone()) })
    })
}

fn names(server: &Upstream) -> Vec<String> {
    server.seen().iter().map(|request| request.params.text("name").unwrap().into_owned()).collect()
}

// covers: MGP-14.6-04
#[tokio::test(start_paused = true)]
async fn when_all_retries_have_failed_the_other_tool_gets_the_same_arguments() {
    let server = failing_but_local(&naming("local"));
    let retry = SendingLayer::new().retry(RetryPolicy::default()).layer(server.clone());
    let mut service = FallbackLayer::new().layer(retry);
    assert!(service.call(call_of(r#"{"readOnlyHint":true}"#)).await.is_ok());
    assert_eq!(names(&server), ["search", "search", "local"]);
    let other = server.seen().pop().unwrap();
    assert_eq!(other.params.bytes("arguments"), Some(br#"{"q":"x"}"#.as_slice()));
}

#[tokio::test(start_paused = true)]
async fn nothing_that_is_known_of_the_first_tool_is_said_of_the_other() {
    let server = failing_but_local(&naming("local"));
    let mut request = call_of("{}");
    request.context.trail = Some(Arc::new(CallRecord::default()));
    request.params.set("requestState", RawJson::parse(r#""s""#).unwrap());
    request.params.set("inputResponses", RawJson::empty_object());
    FallbackLayer::new().layer(server.clone()).call(request).await.unwrap();
    let [first, other] = server.seen().try_into().unwrap();
    assert!(first.context.tool.is_some() && first.params.contains("requestState"));
    assert!(other.context.tool.is_none() && other.context.trail.is_none());
    assert_eq!(other.params.to_raw().as_bytes(), br#"{"name":"local","arguments":{"q":"x"}}"#);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_is_to_be_reported_is_reported() {
    for recovery in [
        Recovery::default().with_retryable(false).with_fallback_tool("local"),
        Recovery::default().with_fallback_tool("local"),
        Recovery::default().with_retryable(true),
    ] {
        let error = peer_error(5002, recovery.clone());
        let server = failing_but_local(&error);
        let answer = FallbackLayer::new().layer(server.clone()).call(tool_call()).await.unwrap_err();
        assert_eq!((server.calls(), answer.recovery()), (1, Some(recovery)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_other_tool_names_no_third_and_the_first_error_is_given_back() {
    let server = Upstream::answering(|number| {
        let mut error = naming(["second", "third", "fourth"][number.min(2)]);
        if number == 1 {
            error = error.with_code(5001);
        }
        Err(error)
    });
    let error = FallbackLayer::new().layer(server.clone()).call(tool_call()).await.unwrap_err();
    assert_eq!(names(&server), ["search", "second"]);
    assert_eq!(error.code(), 5002);
    let recovery = error.recovery().unwrap();
    assert_eq!((recovery.retryable, recovery.fallback_tool), (Some(true), None));
    assert_eq!(recovery.details.unwrap().as_bytes(), br#"{"fallback":{"tool":"second","code":5001}}"#);
}

#[tokio::test(start_paused = true)]
async fn a_gateway_says_what_a_tool_of_the_server_is_called_here() {
    let server =
        Upstream::answering(|number| if number == 0 { Err(naming("local")) } else { Ok(Response::empty()) });
    let layer = FallbackLayer::new().known_as(|request, tool| {
        let is_of_web = request.params.text("name").is_some_and(|name| name.starts_with("web__"));
        is_of_web.then(|| format!("web__{tool}").as_str().into())
    });
    let mut request = tool_call();
    assert!(layer.layer(server.clone()).call(request.clone()).await.is_err());
    let server =
        Upstream::answering(|number| if number == 0 { Err(naming("local")) } else { Ok(Response::empty()) });
    request.params.set("name", RawJson::parse(r#""web__search""#).unwrap());
    assert!(layer.layer(server.clone()).call(request).await.is_ok());
    assert_eq!(names(&server), ["web__search", "web__local"]);
}

#[tokio::test(start_paused = true)]
async fn it_is_recorded_or_not_done() {
    let log = Arc::new(Log::default());
    let layer = FallbackLayer::new().with_audit(Arc::clone(&log) as Arc<dyn AuditPort>);
    let server = failing_but_local(&naming("local"));
    assert!(layer.layer(server.clone()).call(tool_call()).await.is_ok());
    assert_eq!(log.events()[0].event_type.as_str(), "TOOL_EXECUTED");
    assert_eq!(log.details("fallback"), [r#"{"tool":"local","code":5002}"#]);
    log.fail();
    assert!(layer.layer(server.clone()).call(tool_call()).await.is_err());
    assert_eq!(names(&server), ["search", "local", "search"]);
}

#[tokio::test(start_paused = true)]
async fn who_has_seen_a_part_gets_no_other() {
    let server = Upstream::working(|_, request| async move {
        request.context.outbox.notify(Request::notify(Method::STREAM_CHUNK, Object::new())).await?;
        Err(naming("local"))
    });
    let mut request = tool_call();
    request.context.outbox = Arc::new(Caller::default()).outbox();
    assert!(FallbackLayer::new().layer(server.clone()).call(request).await.is_err());
    assert_eq!(server.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_other_tool_has_the_time_that_is_left() {
    let server = Upstream::working(|number, _| async move {
        sleep(millis(30)).await;
        if number == 0 { Err(naming("local")) } else { Ok(Response::empty()) }
    });
    let mut request = tool_call();
    request.params.set("_mgp", RawJson::parse(r#"{"deadline_ms":100}"#).unwrap());
    assert!(FallbackLayer::new().layer(server.clone()).call(request).await.is_ok());
    assert_eq!(CallOptions::of(&server.seen()[1].params).deadline_ms, Some(70));

    for late in [Some(r#"{"deadline_ms":30}"#), None] {
        let mut request = tool_call();
        match late {
            Some(wish) => request.params.set("_mgp", RawJson::parse(wish).unwrap()),
            None => request.extensions.insert(Deadline::at(Instant::now() + millis(30))),
        }
        let server = Upstream::working(|_, _| async {
            sleep(millis(30)).await;
            Err(naming("local"))
        });
        assert!(FallbackLayer::new().layer(server.clone()).call(request).await.is_err());
        assert_eq!(server.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_call_of_a_tool_passes_untouched() {
    let server = Upstream::failing(&naming("local"));
    let mut service = FallbackLayer::new().layer(server.clone());
    let mut read = Request::call("resources/read", Object::new());
    read.context.outbox = Outbox::on(StreamId::fresh());
    assert!(service.call(read).await.is_err());
    let mut notification = tool_call();
    notification.kind = RequestKind::Notify;
    assert!(service.call(notification).await.is_err());
    assert_eq!(server.calls(), 2);
}
