use mgp_types::mgp::Refusal;
use mgp_types::{Error, Origin, RawJson, code};

use super::*;

/// Refuses as a layer of ours does.
fn refuses(refusal: Refusal, code: i64) -> TestServer {
    TestServer::answering(move |request| {
        request.context.trail.as_ref().unwrap().note_refusal(refusal.clone());
        Err(Error::new(code, "no"))
    })
}

// covers: MGP-6.4-02, MGP-6.4-04, MGP-6.4-10, MGP-6.4-11
#[tokio::test]
async fn a_blocked_call_is_recorded_with_its_cause_in_one_batch() {
    for (cause, number) in [
        (EventType::ValidationFailed, code::VALIDATION_BLOCKED),
        (EventType::CodeRejected, code::CODE_SAFETY_VIOLATION),
        (EventType::PermissionDenied, code::PERMISSION_DENIED),
    ] {
        let refusal = Refusal::new("validator", "recursive-delete").with_event(cause.clone());
        let (mut service, kept) = over(refuses(refusal, number));
        assert_eq!(service.call(call()).await.unwrap_err().code(), number);
        assert_eq!(kept.batches.lock().len(), 1);
        let events = kept.events();
        assert_eq!(name_and_outcome(&events[0]), ("TOOL_BLOCKED", Outcome::Blocked));
        assert_eq!(name_and_outcome(&events[1]), (cause.as_str(), Outcome::Blocked));
        assert_eq!(events.len(), 2);
        assert_eq!(events[0].trace_id, events[1].trace_id);
        assert_eq!(events[0].target, events[1].target);
        for event in &events {
            assert_eq!(event.details.text("rule").unwrap(), "recursive-delete");
            assert_eq!(event.details.text("section").unwrap(), "validator");
        }
        assert_eq!(events[0].details.bytes("code").unwrap(), number.to_string().as_bytes());
    }
}

#[tokio::test]
async fn a_refusal_without_a_cause_of_its_own_is_one_event() {
    let (mut service, kept) = over(refuses(Refusal::new("access", "denied"), code::ACCESS_DENIED));
    service.call(call()).await.unwrap_err();
    assert_eq!(name_and_outcome(&kept.only()), ("TOOL_BLOCKED", Outcome::Blocked));
}

#[tokio::test]
async fn layers_of_others_block_by_their_code() {
    for (number, cause) in [
        (code::PERMISSION_DENIED, Some("PERMISSION_DENIED")),
        (code::ACCESS_DENIED, None),
        (code::VALIDATION_BLOCKED, Some("VALIDATION_FAILED")),
        (code::CODE_SAFETY_VIOLATION, Some("CODE_REJECTED")),
    ] {
        let (mut service, kept) = over(TestServer::answering(move |_| Err(Error::new(number, "no"))));
        service.call(call()).await.unwrap_err();
        let events = kept.events();
        assert_eq!(name_and_outcome(&events[0]), ("TOOL_BLOCKED", Outcome::Blocked));
        assert_eq!(events.get(1).map(|event| name_and_outcome(event).0), cause);
        // What the server refuses is none of the kernel's causes.
        let (mut service, kept) =
            over(TestServer::answering(move |_| Err(Error::from_origin(Origin::Peer, number, "no"))));
        service.call(call()).await.unwrap_err();
        assert_eq!(name_and_outcome(&kept.only()), ("TOOL_BLOCKED", Outcome::Blocked));
        assert_eq!(kept.only().details.text("section").unwrap(), "peer");
    }
}

#[tokio::test]
async fn a_refusal_that_became_a_result_is_still_one() {
    let inner = TestServer::answering(|request| {
        request.context.trail.as_ref().unwrap().note_refusal(Refusal::new("access", "denied"));
        Ok(Response::new(RawJson::parse(r#"{"content":[],"isError":true}"#).unwrap()))
    });
    let (mut service, kept) = over(inner);
    service.call(call()).await.unwrap();
    assert_eq!(name_and_outcome(&kept.only()), ("TOOL_BLOCKED", Outcome::Blocked));
}

#[tokio::test]
async fn what_was_carried_out_is_never_recorded_as_blocked() {
    let inner = TestServer::answering(|request| {
        request.context.trail.as_ref().unwrap().note_refusal(Refusal::new("access", "denied"));
        Ok(Response::empty())
    });
    let (mut service, kept) = over(inner);
    service.call(call()).await.unwrap();
    assert_eq!(name_and_outcome(&kept.only()), ("TOOL_EXECUTED", Outcome::Success));
}

#[tokio::test]
async fn any_request_that_is_refused_is_recorded() {
    let refusal = Refusal::new("access", "not-an-operator").with_event(EventType::PermissionDenied);
    let (mut service, kept) = over(refuses(refusal, code::ACCESS_DENIED));
    service.call(request("mgp/access/grant", "{}")).await.unwrap_err();
    service.call(request("resources/read", r#"{"uri":"file:///x"}"#)).await.unwrap_err();
    let events = kept.events();
    let names: Vec<_> = events.iter().map(|event| name_and_outcome(event).0).collect();
    assert_eq!(
        names,
        [
            "dev.cloto.mgp.request_blocked",
            "PERMISSION_DENIED",
            "dev.cloto.mgp.resource_read",
            "PERMISSION_DENIED"
        ]
    );
    assert_eq!(events[0].details.text("method").unwrap(), "mgp/access/grant");
    assert!(events.iter().all(|event| event.result == Outcome::Blocked));
}

#[tokio::test]
async fn who_approved_a_call_is_recorded() {
    let inner = TestServer::answering(|request| {
        request.context.trail.as_ref().unwrap().note_approved_by("operator.anna");
        Ok(Response::empty())
    });
    let (mut service, kept) = over(inner);
    service.call(call()).await.unwrap();
    assert_eq!(kept.only().details.text("approved_by").unwrap(), "operator.anna");
}
