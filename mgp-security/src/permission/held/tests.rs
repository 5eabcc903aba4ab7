use std::collections::BTreeMap;

use mgp_types::code;
use mgp_types::mgp::{
    ApprovalPolicy, Decision, Grant, MgpVersion, Permission, PermissionRequest, PermissionResponse, method,
};
use mgp_types::{
    Error, Gate, InputExchange, Method, Object, Params, Principal, RawJson, Request, Response, Revision,
    Session,
};
use tower_service::Service;

use super::*;
use crate::permission::testing::*;

const SHELL: Permission = Permission::ShellExecute;
const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

fn layer(hands: &ManualClock) -> HeldPermissionsGate {
    let needed: NeededPermissions = Arc::new(|tool| match tool {
        "run" => [SHELL].into(),
        _ => [].into(),
    });
    HeldPermissionsGate::new(needed, hands.clock())
}

fn client(revision: Revision) -> Arc<Session> {
    session(revision, MgpVersion::OURS, &[])
}

fn decided(name: &str, decision: Decision) -> PermissionResponse {
    PermissionResponse::new("perm-001", BTreeMap::from([(name.to_owned(), Grant::new(decision))]))
}

fn request<T: serde::Serialize>(method: &str, params: &T, session: &Arc<Session>) -> Request {
    let mut request = Request::with_body(method, params).unwrap();
    request.context.session = Some(session.clone());
    request
}

fn run(session: &Arc<Session>, grants: Option<RawJson>) -> Request {
    let mut request = request("tools/call", &serde_json::json!({ "name": "run" }), session);
    if let Some(grants) = grants {
        let mut meta = Object::new();
        meta.set(method::GRANTS_META, grants);
        request.params.set("_meta", meta.to_raw());
    }
    request
}

#[track_caller]
fn is_refused(outcome: Result<Response, Error>, why: &str) {
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), code::PERMISSION_DENIED, "{error}");
    assert_eq!(reason(&error), why);
}

// covers: MGP-3.6-01..03, MGP-3.6-08
#[tokio::test]
async fn a_request_is_answered_at_once_and_the_decision_is_the_clients() {
    let client = client(Revision::V2025_11_25);
    let mut held = layer(&ManualClock::at(0)).layer(TestServer::new());
    for (ask, tell) in [
        (method::PERMISSION_REQUEST, method::PERMISSION_RESPONSE),
        (method::PERMISSION_AWAIT, method::PERMISSION_GRANT),
    ] {
        let asked = PermissionRequest::new(
            "perm-001",
            vec!["shell".into(), "camera".into()],
            ApprovalPolicy::Interactive,
        );
        let answer = held.call(request(ask, &asked, &client)).await.unwrap();
        let answer: PermissionResponse = answer.body().unwrap();
        assert_eq!(answer.request_id, "perm-001");
        assert_eq!(answer.grants.keys().collect::<Vec<_>>(), ["camera", "shell"]);
        assert_eq!(answer.grants["camera"].decision, Decision::Deferred);
        held.call(request(tell, &decided("shell", Decision::Approved), &client)).await.unwrap();
        let answer: PermissionResponse =
            held.call(request(ask, &asked, &client)).await.unwrap().body().unwrap();
        assert_eq!(answer.grants["shell"].decision, Decision::Approved);
    }
}

// covers: MGP-3.6-05..07
#[tokio::test]
async fn a_tool_runs_while_its_permission_is_held() {
    let hands = ManualClock::at(1000);
    let server = TestServer::new();
    let client = client(Revision::V2025_11_25);
    let mut held = layer(&hands).layer(server.clone());
    is_refused(held.call(run(&client, None)).await, "not_granted");
    for (tell, start) in [(Request::call as fn(_, _) -> _, 1000), (Request::notify, 2000)] {
        let grant = decided("shell", Decision::Approved).with_expires_at(Some(moment(start + 1000)));
        let mut told = tell(Method::new(method::PERMISSION_RESPONSE), Params::from_value(&grant).unwrap());
        told.context.session = Some(client.clone());
        hands.set(start);
        held.call(told).await.unwrap();
        held.call(run(&client, None)).await.unwrap();
        assert!(server.last().context.grants.is_some());
        hands.set(start + 1000);
        is_refused(held.call(run(&client, None)).await, "not_granted");
    }
    let denied = decided("shell.execute", Decision::Denied);
    held.call(request(method::PERMISSION_GRANT, &denied, &client)).await.unwrap();
    is_refused(held.call(run(&client, None)).await, "denied");
}

#[tokio::test]
async fn what_one_session_was_granted_is_no_other_sessions() {
    let (one, other) = (client(Revision::V2025_11_25), client(Revision::V2025_11_25));
    let layer = layer(&ManualClock::at(0));
    let mut held = layer.layer(TestServer::new());
    held.call(request(method::PERMISSION_RESPONSE, &decided("shell", Decision::Approved), &one))
        .await
        .unwrap();
    layer.layer(TestServer::new()).call(run(&one, None)).await.unwrap();
    is_refused(held.call(run(&other, None)).await, "not_granted");
    // Nor does a session inherit what one before it had in the same place.
    drop(one);
    for _ in 0..64 {
        is_refused(held.call(run(&client(Revision::V2025_11_25), None)).await, "not_granted");
    }
}

#[tokio::test]
async fn decisions_add_up_and_each_has_its_own_end() {
    let hands = ManualClock::at(0);
    let client = client(Revision::V2025_11_25);
    let server = TestServer::new();
    let mut held = layer(&hands).layer(server.clone());
    let soon = decided("camera", Decision::Approved).with_expires_at(Some(moment(10)));
    held.call(request(method::PERMISSION_RESPONSE, &decided("shell", Decision::Approved), &client))
        .await
        .unwrap();
    held.call(request(method::PERMISSION_RESPONSE, &soon, &client)).await.unwrap();
    for (now, camera) in [(9, true), (10, false)] {
        hands.set(now);
        held.call(run(&client, None)).await.unwrap();
        let grants = server.last().context.grants.unwrap();
        assert_eq!(grants.decision(&Permission::Camera, moment(now)).is_some(), camera);
    }
}

#[tokio::test]
async fn without_sessions_each_request_brings_its_grants_2026() {
    let client = client(Revision::V2026_07_28);
    let hands = ManualClock::at(1000);
    let mut held = layer(&hands).layer(TestServer::new());
    let raw = |grants: &PermissionResponse| Some(RawJson::from_value(grants).unwrap());
    held.call(request(method::PERMISSION_RESPONSE, &decided("shell", Decision::Approved), &client))
        .await
        .unwrap();
    is_refused(held.call(run(&client, None)).await, "not_granted");
    held.call(run(&client, raw(&decided("shell", Decision::Approved)))).await.unwrap();
    is_refused(held.call(run(&client, raw(&decided("shell", Decision::Deferred)))).await, "not_granted");
    is_refused(held.call(run(&client, raw(&decided("shell", Decision::Denied)))).await, "denied");
    let expired = decided("shell", Decision::Approved).with_expires_at(Some(moment(1000)));
    is_refused(held.call(run(&client, raw(&expired))).await, "not_granted");
    for junk in [r#""handle""#, "7", "null", "{}", r#"{"request_id":"x","grants":["shell"]}"#] {
        is_refused(held.call(run(&client, Some(RawJson::parse(junk).unwrap()))).await, "not_granted");
    }
}

#[tokio::test]
async fn a_handle_stands_for_the_grants_of_its_principal_until_their_end_2026() {
    let client = client(Revision::V2026_07_28);
    let hands = ManualClock::at(1000);
    let mut held = layer(&hands).with_handles(HandleKey::random()).layer(TestServer::new());
    let grants = decided("shell", Decision::Approved).with_expires_at(Some(moment(5000)));
    let mut told = request(method::PERMISSION_RESPONSE, &grants, &client);
    told.context.principal = Some(Principal::new("kernel"));
    let answer: Object = held.call(told).await.unwrap().body().unwrap();
    assert_eq!(answer.text("expires_at").as_deref(), Some("1970-01-01T00:00:05.000Z"));
    let as_principal = |name: &str| {
        let mut request = run(&client, answer.get("handle"));
        request.context.principal = Some(Principal::new(name));
        request
    };
    held.call(as_principal("kernel")).await.unwrap();
    is_refused(held.call(as_principal("other")).await, "not_granted");
    hands.set(5000);
    is_refused(held.call(as_principal("kernel")).await, "not_granted");
}

#[tokio::test]
async fn a_client_that_can_ask_a_human_is_asked_for_what_is_missing_2026() {
    let mut session = Session::new(Revision::V2026_07_28);
    session.mgp.clone_from(&client(Revision::V2026_07_28).mgp);
    session.capabilities = Object::parse(r#"{"elicitation":{}}"#).unwrap();
    let session = Arc::new(session);
    let mut held = layer(&ManualClock::at(0)).layer(TestServer::new());
    let exchange = Arc::new(InputExchange::default());
    let mut first = run(&session, None);
    first.context.input = Some(exchange.clone());
    assert_eq!(held.call(first).await.unwrap_err().origin(), mgp_types::Origin::InputRequired);
    let question = exchange.take_questions().remove(0);
    assert_eq!(question.method, Method::ELICIT);
    let meta = Object::from_raw(&question.params.get("_meta").unwrap()).unwrap();
    let asked: PermissionRequest = meta.get(crate::permission::QUESTION_META).unwrap().to().unwrap();
    assert_eq!(asked.permissions, ["shell.execute"]);
    for (answer, why) in [
        (r#"{"action":"accept","content":{"decision":"approve"}}"#, None),
        (r#"{"action":"decline"}"#, Some("denied")),
        (r#"{"action":"cancel"}"#, Some("not_granted")),
    ] {
        let mut answers = Object::new();
        answers.set(question.key.to_string(), RawJson::parse(answer).unwrap());
        let mut again = run(&session, None);
        again.context.input = Some(Arc::new(InputExchange::new(answers)));
        let outcome = held.call(again).await;
        match why {
            None => assert!(outcome.is_ok()),
            Some(why) => is_refused(outcome, why),
        }
    }
}

#[tokio::test]
async fn plain_clients_see_a_plain_server() {
    for revision in ERAS {
        let plain = Arc::new(Session::new(revision));
        let mut held = layer(&ManualClock::at(0)).layer(TestServer::new());
        held.call(run(&plain, None)).await.unwrap();
        let asked = PermissionRequest::new("perm-001", vec!["shell".into()], ApprovalPolicy::Interactive);
        let unknown = held.call(request(method::PERMISSION_REQUEST, &asked, &plain)).await.unwrap_err();
        assert_eq!(unknown.code(), code::METHOD_NOT_FOUND);
        held.call(request("prompts/list", &Params::new(), &plain)).await.unwrap();
    }
}

#[tokio::test]
async fn without_a_session_and_with_broken_parameters_nothing_is_taken() {
    for revision in ERAS {
        let client = client(revision);
        let mut held = layer(&ManualClock::at(0)).layer(TestServer::new());
        let mut lost = run(&client, None);
        lost.context.session = None;
        assert_eq!(held.call(lost).await.unwrap_err().code(), code::INVALID_REQUEST);
        for name in [method::PERMISSION_REQUEST, method::PERMISSION_RESPONSE] {
            let broken = held.call(request(name, &serde_json::json!({ "grants": 7 }), &client)).await;
            assert_eq!(broken.unwrap_err().code(), code::INVALID_PARAMS);
        }
        let many: BTreeMap<_, _> =
            (0..65).map(|n| (format!("com.example.p{n}"), Grant::new(Decision::Approved))).collect();
        let many = PermissionResponse::new("x", many);
        assert!(held.call(request(method::PERMISSION_GRANT, &many, &client)).await.is_err());
    }
}

#[tokio::test]
async fn a_clock_put_back_revives_no_grant_in_either_era() {
    for revision in ERAS {
        let hands = ManualClock::at(1000);
        let client = client(revision);
        let mut held = layer(&hands).layer(TestServer::new());
        let grant = decided("shell", Decision::Approved).with_expires_at(Some(moment(2000)));
        held.call(request(method::PERMISSION_RESPONSE, &grant, &client)).await.unwrap();
        let sent = || revision.is_stateless().then(|| RawJson::from_value(&grant).unwrap());
        held.call(run(&client, sent())).await.unwrap();
        hands.set(2000);
        is_refused(held.call(run(&client, sent())).await, "not_granted");
        hands.set(1000);
        is_refused(held.call(run(&client, sent())).await, "not_granted");
    }
}
