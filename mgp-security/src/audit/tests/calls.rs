use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;

use mgp_types::mgp::{ActorType, EffectiveSecurity, ResolvedTool, RiskLevel, Timestamp, ValidatorName};
use mgp_types::{Error, Object, Principal, RawJson, code};

use super::*;
use crate::Clock;
use crate::audit::{ArgumentRecording, DigestKey};

const ID: &str = "550e8400-e29b-41d4-a716-446655440000";

// covers: MGP-6.1-01, MGP-6.2-01, MGP-6.3-01, MGP-6.4-01, ENV-11.2-04
#[tokio::test]
async fn a_call_is_recorded_in_the_form_of_the_specification() {
    let inner = TestServer::answering(|request| {
        let trail = request.context.trail.as_ref().unwrap();
        trail.note_target(&"tool.terminal".into(), Some(&"execute_command".into()));
        trail.note_risk(RiskLevel::Dangerous);
        let mut security = EffectiveSecurity::new(RiskLevel::Dangerous);
        security.validators = vec![ValidatorName::Sandbox];
        let (server, name) = ("tool.terminal".into(), "execute_command".into());
        trail.note_validated(&ResolvedTool::new(server, name, Object::new(), security));
        Ok(Response::empty())
    });
    let kept = Arc::<RecordingAuditPort>::default();
    let noon = Timestamp::from_millis(1_772_193_600_000).unwrap();
    let layer = AuditLayer::new(kept.clone()).clock(Clock::new(move || noon));
    let mut request = call();
    request.params.set("trace_id", RawJson::from_value(ID).unwrap());
    request.context.principal = Some(Principal::new("agent.cloto_default"));
    layer.layer(inner).call(request).await.unwrap();
    let written = serde_json::to_string(&kept.only()).unwrap();
    let duration = kept.only().details.to::<serde_json::Value>().unwrap()["duration_ms"].clone();
    assert_eq!(
        written,
        format!(
            concat!(
                r#"{{"timestamp":"2026-02-27T12:00:00.000Z","trace_id":"{}","event_type":"TOOL_EXECUTED","#,
                r#""actor":{{"type":"agent","id":"agent.cloto_default"}},"#,
                r#""target":{{"server_id":"tool.terminal","tool_name":"execute_command"}},"result":"SUCCESS","#,
                r#""details":{{"risk_level":"dangerous","validator_applied":"sandbox","duration_ms":{}}}}}"#
            ),
            ID, duration
        )
    );
}

#[tokio::test]
async fn the_target_names_what_the_tool_declares_and_no_secret() {
    let inner = TestServer::answering(|request| {
        let mut security = EffectiveSecurity::new(RiskLevel::Dangerous);
        security.target_arguments = ["instance", "tool_name"].map(Into::into).into();
        let tool = ResolvedTool::new("federation".into(), "federated_call".into(), Object::new(), security);
        request.context.trail.as_ref().unwrap().note_tool(&tool, &request.params);
        Ok(Response::empty())
    });
    let (mut service, kept) = over(inner);
    let mut request = call();
    let arguments =
        r#"{"instance":"prod","tool_name":"Bearer abcdefgh.12345678\n","arguments":{"text":"hidden"}}"#;
    request.params.set("arguments", RawJson::parse(arguments).unwrap());
    service.call(request).await.unwrap();
    let written = serde_json::to_string(&kept.only().target).unwrap();
    assert!(written.contains(r#""arguments":{"instance":"prod","tool_name":"#), "{written}");
    assert!(!written.contains("abcdefgh") && !written.contains("hidden"), "{written}");
}

#[tokio::test]
async fn over_a_plain_server_a_call_is_recorded_without_any_other_layer() {
    let (mut service, kept) = over(TestServer::with_result(r#"{"content":[]}"#));
    service.call(call()).await.unwrap();
    let event = kept.only();
    assert_eq!(name_and_outcome(&event), ("TOOL_EXECUTED", Outcome::Success));
    assert_eq!((event.actor.kind, &*event.actor.id), (ActorType::Agent, "anonymous"));
    assert_eq!(event.target.server_id.unwrap().as_str(), "tool.terminal");
    assert_eq!(event.target.tool_name.unwrap().as_str(), "execute_command");
    assert!(!event.details.contains("arguments"), "values are off by default");
}

#[tokio::test]
async fn a_call_that_went_wrong_is_a_failure_however_it_says_so() {
    for json in [
        r#"{"content":[],"isError":true}"#,
        r#"{ "isError" : true , "content":[{"type":"text","text":"\"isError\":false"}]}"#,
    ] {
        let (mut service, kept) = over(TestServer::with_result(json));
        service.call(call()).await.unwrap();
        assert_eq!(name_and_outcome(&kept.only()), ("TOOL_EXECUTED", Outcome::Failure), "{json}");
    }
    for json in
        [r#"{"isError":false}"#, r#"{"structuredContent":{"isError":true}}"#, r#"{"x":"input_required"}"#]
    {
        let (mut service, kept) = over(TestServer::with_result(json));
        service.call(call()).await.unwrap();
        assert_eq!(name_and_outcome(&kept.only()), ("TOOL_EXECUTED", Outcome::Success), "{json}");
    }
    let (mut service, kept) = over(TestServer::answering(|_| Err(Error::timeout("too late"))));
    assert_eq!(service.call(call()).await.unwrap_err().code(), code::TIMEOUT);
    let event = kept.only();
    assert_eq!(name_and_outcome(&event), ("TOOL_EXECUTED", Outcome::Failure));
    assert_eq!(event.details.bytes("code").unwrap(), b"3003");
}

#[tokio::test]
async fn a_tool_that_asks_for_input_was_not_executed_yet() {
    for inner in [
        TestServer::with_result(r#"{"resultType":"input_required","inputRequests":{}}"#),
        TestServer::answering(|_| Err(Error::input_required())),
    ] {
        let (mut service, kept) = over(inner);
        let _ = service.call(call()).await;
        assert_eq!(name_and_outcome(&kept.only()), ("dev.cloto.mgp.input_required", Outcome::Success));
    }
}

#[tokio::test]
async fn reads_and_prompts_are_recorded_and_the_rest_is_not() {
    let (mut service, kept) = over(TestServer::with_result("{}"));
    for method in ["tools/list", "ping", "resources/list", "notifications/initialized", "mgp/access/query"] {
        service.call(request(method, "{}")).await.unwrap();
    }
    assert!(kept.events().is_empty());
    service
        .call(request("resources/read", r#"{"uri":"https://u:hunter2@x.org/a?key=hunter2"}"#))
        .await
        .unwrap();
    service.call(request("prompts/get", r#"{"name":"greet"}"#)).await.unwrap();
    let events = kept.events();
    assert_eq!(name_and_outcome(&events[0]), ("dev.cloto.mgp.resource_read", Outcome::Success));
    assert_eq!(events[0].details.text("uri").unwrap(), "https://[redacted]@x.org/a");
    assert_eq!(name_and_outcome(&events[1]), ("dev.cloto.mgp.prompt_used", Outcome::Success));
    assert_eq!(events[1].details.text("prompt").unwrap(), "greet");
    assert_eq!(events[1].target.tool_name, None);
}

#[tokio::test]
async fn a_call_in_the_shape_of_a_notification_is_recorded() {
    let (mut service, kept) = over(TestServer::with_result("{}"));
    let mut request = call();
    request.kind = mgp_types::RequestKind::Notify;
    service.call(request).await.unwrap();
    assert_eq!(name_and_outcome(&kept.only()).0, "TOOL_EXECUTED");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_recorded() {
    let (mut service, kept) = over(TestServer::working(|_| Box::pin(std::future::pending())));
    let mut running = service.call(call());
    let mut context = Context::from_waker(std::task::Waker::noop());
    assert!(Pin::new(&mut running).poll(&mut context).is_pending());
    assert!(kept.events().is_empty());
    drop(running);
    let event = kept.only();
    assert_eq!(name_and_outcome(&event), ("TOOL_EXECUTED", Outcome::Failure));
    assert_eq!(event.details.bytes("cancelled").unwrap(), b"true");
    drop(service.call(call()));
    assert_eq!(kept.events().len(), 2, "not even polled");
}

#[tokio::test]
async fn a_call_that_panics_is_recorded() {
    let (service, kept) =
        over(TestServer::working(|_| Box::pin(async { panic!("a tool of somebody else") })));
    let task = tokio::spawn(async move { service.clone().call(call()).await });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!(name_and_outcome(&kept.only()), ("TOOL_EXECUTED", Outcome::Failure));
}

// covers: MGP-6.5-01
#[tokio::test]
async fn the_trace_id_of_the_request_is_kept_and_one_is_made_where_there_is_none() {
    let (mut service, kept) = over(TestServer::answering(|request| {
        assert!(request.context.trail.is_some());
        let id = request.context.trace.unwrap().to_string();
        Ok(Response::new(RawJson::from_value(&serde_json::json!({ "id": id })).unwrap()))
    }));
    let seen = service.call(call()).await.unwrap().body::<serde_json::Value>().unwrap();
    assert_eq!(seen["id"], kept.only().trace_id.to_string());
    let mut request = call();
    request.params.set("_meta", RawJson::parse(format!(r#"{{"trace_id":"{ID}"}}"#)).unwrap());
    service.call(request).await.unwrap();
    assert_eq!(kept.events()[1].trace_id.to_string(), ID);
}

#[tokio::test]
async fn the_actor_is_the_principal_and_the_target_what_the_layers_found() {
    let (mut service, kept) = over(TestServer::with_result("{}"));
    let mut request = call();
    request.context.principal = Some(Principal::operator("op"));
    let security = EffectiveSecurity::new(RiskLevel::Moderate);
    request.context.tool = Some(ResolvedTool::new("real".into(), "inner".into(), Object::new(), security));
    service.call(request).await.unwrap();
    let event = kept.only();
    assert_eq!((event.actor.kind, &*event.actor.id), (ActorType::Operator, "op"));
    assert_eq!(event.target.server_id.unwrap().as_str(), "real");
    assert_eq!(event.target.tool_name.unwrap().as_str(), "inner");
    assert_eq!(event.details.text("risk_level").unwrap(), "moderate");
}

#[tokio::test]
async fn whatever_a_caller_sends_the_event_is_small_and_whole() {
    let long = "n".repeat(1 << 20);
    for params in [
        "{}".into(),
        r#"{"name":7}"#.into(),
        r#"{"name":""}"#.into(),
        format!(r#"{{"name":"{long}"}}"#),
        r#"{"name":"a\"b\\\u0000c"}"#.into(),
    ] {
        let (mut service, kept) = over(TestServer::with_result("{}"));
        service.call(request("tools/call", &params)).await.unwrap();
        let written = serde_json::to_vec(&kept.only()).unwrap();
        assert!(written.len() < 1_024);
        assert_eq!(serde_json::from_slice::<AuditEvent>(&written).unwrap(), kept.only());
    }
}

#[tokio::test]
async fn arguments_are_recorded_as_the_layer_is_told() {
    let record = async |arguments: ArgumentRecording| {
        let kept = Arc::<RecordingAuditPort>::default();
        let layer = AuditLayer::new(kept.clone()).arguments(arguments);
        let request = request("tools/call", r#"{"name":"x","arguments":{"a":1,"password":"hunter2"}}"#);
        layer.layer(TestServer::with_result("{}")).call(request).await.unwrap();
        kept.only().details
    };
    assert!(!record(ArgumentRecording::Omitted).await.contains("arguments"));
    let redacted = record(ArgumentRecording::Redacted).await;
    assert_eq!(redacted.bytes("arguments").unwrap(), br#"{"a":1,"password":"[redacted]"}"#);
    let [one, other] = [1, 2].map(|key| ArgumentRecording::Digest(DigestKey::new([key; 32])));
    let [one, other] = [record(one).await, record(other).await];
    assert_eq!(one.text("arguments_digest").unwrap().len(), 64);
    assert_ne!(one.text("arguments_digest"), other.text("arguments_digest"));
}

// covers: MGP-6.5-02
#[tokio::test]
async fn a_server_puts_the_trace_id_of_the_request_into_its_own_events() {
    let mut request = call();
    request.params.set("trace_id", RawJson::from_value(ID).unwrap());
    let event = AuditEvent::new(
        Timestamp::now(),
        crate::audit::trace_of(&request).unwrap(),
        EventType::Custom("com.example.wiped".into()),
        mgp_types::mgp::Actor::new(ActorType::Server, "tool.disk"),
        mgp_types::mgp::AuditTarget::new(None, None),
        Outcome::Success,
    );
    let sent = crate::audit::notification(&event).unwrap();
    assert_eq!(sent.method.as_str(), "notifications/mgp.audit");
    assert_eq!(sent.params.text("trace_id").unwrap(), ID);
    assert_eq!(sent.params.to::<AuditEvent>().unwrap(), event);
}
