use mgp_types::mgp::{AccessPermission, AccessQuery, AccessSource};
use mgp_types::{Method, Object, RawJson};
use tower_layer::Layer as _;
use tower_service::Service as _;

use super::*;
use crate::test_kernel::{TestKernel, TestServer};

const CONFIG: &str = r#"{"access":{"default":"opt-in"},"agents":[
    {"id":"bridge","speaks_for":["helper","team.*"]},
    {"id":"operator:root","speaks_for":["helper"]},
    {"id":"plain"}]}"#;

fn gate(scene: &TestKernel) -> DelegationGate {
    DelegationGate(Arc::new(scene.sections.clone()))
}

fn request(by: &Principal, meta: &str) -> Request {
    let params = format!(r#"{{"name":"x","agent_id":"helper","_meta":{meta}}}"#);
    let mut request = Request::call(Method::TOOLS_CALL, Object::parse(params).unwrap());
    request.context.principal = Some(by.clone());
    request
}

fn claiming(by: &Principal, agent: &str) -> Request {
    request(by, &format!(r#"{{"progressToken":1,"dev.cloto/mgp/agent":{}}}"#, serde_json::json!(agent)))
}

/// Whoever the server behind takes for the caller, and what it got.
async fn arrived(scene: &TestKernel, request: Request) -> Result<Request, Error> {
    let server = TestServer::default();
    let answer = gate(scene).layer(server.clone()).call(request).await;
    let asked = server.asked();
    assert_eq!(asked.len(), usize::from(answer.is_ok()), "what is refused arrives nowhere");
    answer.map(|_| asked.into_iter().next().unwrap())
}

#[tokio::test]
async fn whoever_may_speak_for_an_agent_is_taken_for_it_and_noted_beside_it() {
    let scene = TestKernel::with(CONFIG).await;
    for (speaker, agent) in [("bridge", "helper"), ("bridge", "team.one"), ("bridge", "team.")] {
        let got = arrived(&scene, claiming(&Principal::new(speaker), agent)).await.unwrap();
        assert_eq!(got.context.principal, Some(Principal::of(PrincipalKind::Delegated, agent)));
        assert_eq!(got.context.speaker, Some(Principal::new(speaker)));
        // The claim is nobody else's business.
        assert_eq!(got.params.bytes("_meta"), Some(br#"{"progressToken":1}"#.as_slice()));
    }
}

#[tokio::test]
async fn an_agent_that_an_operator_speaks_for_is_no_operator() {
    let scene = TestKernel::with(CONFIG).await;
    let got = arrived(&scene, claiming(&Principal::operator("root"), "helper")).await.unwrap();
    assert_eq!(got.context.principal.map(|agent| agent.role()), Some(mgp_types::PrincipalRole::Agent));
    assert_eq!(got.context.speaker, Some(Principal::operator("root")));
    let refused = arrived(&scene, claiming(&Principal::operator("admin"), "helper")).await.unwrap_err();
    assert_eq!(refused.code(), code::PERMISSION_DENIED);
}

#[tokio::test]
async fn anybody_else_is_refused_and_that_is_recorded_in_its_own_name() {
    let scene = TestKernel::with(CONFIG).await;
    let attacks = [
        ("plain", "helper"),
        ("stranger", "helper"),
        ("bridge", "helper2"),
        ("bridge", "Helper"),
        ("bridge", " helper"),
        ("bridge", "team"),
        ("bridge", "xteam.one"),
        ("bridge", "root"),
        ("bridge", "*"),
        ("team.one", "bridge"),
        ("helper", "bridge"),
    ];
    for (speaker, agent) in attacks {
        let refused = arrived(&scene, claiming(&Principal::new(speaker), agent)).await.unwrap_err();
        assert_eq!(refused.code(), code::PERMISSION_DENIED, "{speaker} {agent}");
    }
    scene.audit.log.flush().await.unwrap();
    assert_eq!(scene.audit.log.head().seq, attacks.len() as u64);
    let mut events = scene.audit.log.subscribe(0);
    let first = events.next().await.unwrap().unwrap().remove(0).to_notification();
    let first = String::from_utf8(first.params.to_raw().as_bytes().to_vec()).unwrap();
    assert!(first.contains("PERMISSION_DENIED") && first.contains(r#""plain""#), "{first}");
    assert!(first.contains(r#""claimed_agent":"helper""#), "{first}");
}

#[tokio::test]
async fn a_claim_that_is_no_name_is_refused_and_not_overlooked() {
    let scene = TestKernel::with(CONFIG).await;
    let long = serde_json::json!("team.".repeat(200)).to_string();
    for claim in ["null", "1", "true", r#""""#, r#"["helper"]"#, r#"{"id":"helper"}"#, &long] {
        let meta = format!(r#"{{"dev.cloto/mgp/agent":{claim}}}"#);
        let refused = arrived(&scene, request(&Principal::new("bridge"), &meta)).await.unwrap_err();
        assert_eq!(refused.code(), code::INVALID_PARAMS, "{claim}");
    }
}

#[tokio::test]
async fn parameters_that_name_agents_and_other_meta_are_no_claims() {
    let scene = TestKernel::with(CONFIG).await;
    for meta in ["{}", r#"{"agent":"helper","dev.cloto/mgp/agent_id":"helper"}"#, "null", r#""helper""#] {
        let got = arrived(&scene, request(&Principal::new("bridge"), meta)).await.unwrap();
        assert_eq!((got.context.principal, got.context.speaker), (Some(Principal::new("bridge")), None));
        assert_eq!(got.params.bytes("_meta"), Some(meta.as_bytes()));
    }
    // To say who one is is to speak for nobody.
    let got = arrived(&scene, claiming(&Principal::operator("root"), "root")).await.unwrap();
    assert_eq!((got.context.principal, got.context.speaker), (Some(Principal::operator("root")), None));
}

#[tokio::test]
async fn a_notification_that_claims_an_agent_is_held_to_the_same() {
    let scene = TestKernel::with(CONFIG).await;
    let mut cancelled = claiming(&Principal::new("plain"), "helper");
    cancelled.kind = mgp_types::RequestKind::Notify;
    assert!(arrived(&scene, cancelled).await.is_err());
}

#[tokio::test]
async fn nobody_without_a_name_speaks_for_anybody_and_a_speaker_is_not_believed() {
    let scene = TestKernel::with(CONFIG).await;
    let mut nameless = claiming(&Principal::new("bridge"), "helper");
    nameless.context.principal = None;
    assert_eq!(arrived(&scene, nameless).await.unwrap_err().code(), code::AUTH_REQUIRED);
    let mut odd = request(&Principal::new("plain"), "{}");
    odd.context.speaker = Some(Principal::operator("root"));
    assert_eq!(arrived(&scene, odd).await.unwrap().context.speaker, None);
}

#[tokio::test]
async fn access_is_asked_about_in_the_name_of_the_agent_that_is_spoken_for() {
    let scene = TestKernel::with(CONFIG).await;
    scene.grant("helper", "files").await;
    let got = arrived(&scene, claiming(&Principal::new("bridge"), "helper")).await.unwrap();
    let by = got.context.principal.unwrap();
    let of_helper: AccessQuery =
        RawJson::parse(r#"{"agent_id":"helper","server_id":"files"}"#).unwrap().to().unwrap();
    let state = scene.policies.access.query(&by, &of_helper).unwrap();
    assert_eq!((state.permission, state.source), (AccessPermission::Allow, AccessSource::ServerGrant));
    assert!(scene.policies.access.query(&Principal::new("bridge"), &of_helper).is_err());
}

#[tokio::test]
async fn the_record_of_a_call_names_the_agent_and_beside_it_who_spoke() {
    let scene = TestKernel::with(CONFIG).await;
    let recording = mgp_security::audit::AuditLayer::new(Arc::new(scene.audit.log.clone()));
    let service = recording.layer(TestServer::default());
    let mut service = gate(&scene).layer(service);
    service.call(claiming(&Principal::new("bridge"), "helper")).await.unwrap();
    scene.audit.log.flush().await.unwrap();
    let event = scene.audit.log.subscribe(0).next().await.unwrap().unwrap().remove(0).to_notification();
    let event: serde_json::Value = serde_json::from_slice(event.params.to_raw().as_bytes()).unwrap();
    assert_eq!(event["actor"]["id"], "helper");
    assert_eq!(event["details"]["spoken_by"], "bridge");
}
