//! What a server asks in the middle of a call.

use mgp_types::mgp::PermissionRequest;
use mgp_types::{Object, Session};

use super::*;
use crate::permission::QUESTION_META;

fn question(session: &Arc<Session>, permissions: &[&str]) -> Request {
    let names = permissions.iter().map(|name| (*name).to_owned()).collect();
    let body = PermissionRequest::new("perm-1", names, ApprovalPolicy::Interactive);
    let mut meta = Object::new();
    meta.set(QUESTION_META, RawJson::from_value(&body).unwrap());
    let mut params = Params::new();
    params.set("_meta", meta.to_raw());
    let mut request = Request::call(Method::ELICIT, params);
    request.context.session = Some(session.clone());
    request
}

fn negotiated() -> Arc<Session> {
    session(Revision::V2025_11_25, mgp_types::mgp::MgpVersion::OURS, &[])
}

async fn answer(gate: &PermissionGate, request: Request) -> String {
    let answer =
        PermissionAnswerGate::new(gate.clone()).layer(TestServer::new()).call(request).await.unwrap();
    Object::from_raw(&answer.to_raw()).unwrap().text("action").unwrap_or_default().into_owned()
}

#[tokio::test]
async fn the_answer_is_what_is_decided() {
    let book = book(&Arc::default()).await;
    let scope: Scope = serde_json::from_str(r#"{"paths":["/data/**"]}"#).unwrap();
    book.grant(&ada(), None, &"s".into(), &SHELL, GrantTerms::default()).await.unwrap();
    book.grant(
        &ada(),
        None,
        &"s".into(),
        &READ,
        GrantTerms { scope: Some(Box::new(scope)), ..GrantTerms::default() },
    )
    .await
    .unwrap();
    book.deny(&ada(), &"s".into(), &Permission::Camera).await.unwrap();
    let gate = connected(policy(ApprovalPolicy::Interactive), &book, &[]).await;
    for (asked, action) in [
        (&["shell"][..], "accept"),
        (&["shell", "camera"], "decline"),
        (&["camera", "memory.read"], "decline"),
        (&["shell", "memory.read"], "cancel"),
        // Within bounds, but nobody says what for.
        (&["filesystem.read"], "cancel"),
        (&[], "cancel"),
    ] {
        assert_eq!(answer(&gate, question(&negotiated(), asked)).await, action, "{asked:?}");
    }
    let many: Vec<String> = (0..65).map(|number| format!("com.example.p{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(answer(&gate, question(&negotiated(), &many)).await, "cancel");
}

#[tokio::test]
async fn a_server_that_is_not_connected_gets_nothing() {
    let book = book(&Arc::default()).await;
    let gate = PermissionGate::new("s".into(), policy(ApprovalPolicy::AutoApprove), book);
    assert_eq!(answer(&gate, question(&negotiated(), &["shell"])).await, "cancel");
}

#[tokio::test]
async fn other_questions_go_on_to_those_who_answer_them() {
    let book = book(&Arc::default()).await;
    let gate = connected(policy(ApprovalPolicy::AutoApprove), &book, &[]).await;
    let plain = Arc::new(Session::new(Revision::LATEST));
    let mut unmarked = question(&negotiated(), &["shell"]);
    unmarked.params.remove("_meta");
    for request in [question(&plain, &["shell"]), unmarked] {
        let human = TestServer::new();
        PermissionAnswerGate::new(gate.clone()).layer(human.clone()).call(request).await.unwrap();
        assert_eq!(human.methods(), ["elicitation/create"]);
    }
}

#[tokio::test]
async fn a_server_that_asks_for_ever_new_names_fills_neither_the_memory_nor_the_trail() {
    let audit = Arc::<RecordingAuditPort>::default();
    let book = book(&audit).await;
    let gate = connected(policy(ApprovalPolicy::DenyAll), &book, &[]).await;
    for round in 0..64 {
        let names: Vec<String> = (0..64).map(|number| format!("com.example.p{round}.{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let layer = PermissionAnswerGate::new(gate.clone());
        let outcome = layer.layer(TestServer::new()).call(question(&negotiated(), &names)).await;
        assert_eq!(outcome.is_ok(), round < 8, "what is not kept count of is not answered either");
    }
    assert_eq!(audit.lines().len(), 512);
    let long = format!("com.example.{}", "x".repeat(10_000));
    assert_eq!(answer(&gate, question(&negotiated(), &[&long])).await, "cancel");
    let interactive = connected(policy(ApprovalPolicy::Interactive), &book, &[]).await;
    assert_eq!(answer(&interactive, question(&negotiated(), &[&long])).await, "cancel");
    assert!(book.waiting().is_empty());
}
