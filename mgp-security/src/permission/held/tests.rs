use std::collections::BTreeMap;

use mgp_types::code;
use mgp_types::mgp::{
    ApprovalPolicy, Decision, Grant, PermissionRequest, PermissionResponse, Version, method,
};
use mgp_types::{Gate, Method, Object, Params, RawJson, Request, Revision, RpcService, Session};
use tower_service::Service;

use super::*;
use crate::permission::testing::*;

const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

fn held(hands: &ManualClock) -> impl RpcService + use<> {
    HeldPermissionsGate::new(hands.clock()).layer(TestServer::new())
}

fn client(revision: Revision) -> Arc<Session> {
    session(revision, Version::OURS, &[])
}

fn decided(name: &str, decision: Decision) -> PermissionResponse {
    PermissionResponse::new("perm-001", BTreeMap::from([(name.to_owned(), Grant::new(decision))]))
}

fn raw(grants: &PermissionResponse) -> RawJson {
    RawJson::from_value(grants).unwrap()
}

fn request<T: serde::Serialize>(method: &str, params: &T, session: &Arc<Session>) -> Request {
    let mut request = Request::with_body(method, params).unwrap();
    request.context.session = Some(session.clone());
    request
}

fn question(session: &Arc<Session>, names: &[&str], grants: Option<RawJson>) -> Request {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    let asked = PermissionRequest::new("perm-001", names, ApprovalPolicy::Interactive);
    let mut request = request(method::PERMISSION_REQUEST, &asked, session);
    if let Some(grants) = grants {
        let mut meta = Object::new();
        meta.set(method::GRANTS_META, grants);
        request.params.set("_meta", meta.to_raw());
    }
    request
}

async fn tell(held: &mut impl RpcService, grants: &PermissionResponse, session: &Arc<Session>) {
    held.call(request(method::PERMISSION_RESPONSE, grants, session)).await.unwrap();
}

/// The decision that a request gets which carries these grants.
async fn decision(
    held: &mut impl RpcService,
    permission: &str,
    session: &Arc<Session>,
    grants: Option<RawJson>,
) -> Decision {
    let answer = held.call(question(session, &[permission], grants)).await.unwrap();
    answer.body::<PermissionResponse>().unwrap().grants[permission].decision
}

// covers: MGP-3.6-01..03, MGP-3.6-08
#[tokio::test]
async fn a_request_is_answered_at_once_and_the_decision_is_the_clients() {
    let client = client(Revision::V2025_11_25);
    let mut held = held(&ManualClock::at(0));
    for (ask, tell) in [
        (method::PERMISSION_REQUEST, method::PERMISSION_RESPONSE),
        (method::PERMISSION_AWAIT, method::PERMISSION_GRANT),
    ] {
        let asked = || {
            let mut asked = question(&client, &["shell", "camera"], None);
            asked.method = Method::new(ask);
            asked
        };
        let answer: PermissionResponse = held.call(asked()).await.unwrap().body().unwrap();
        assert_eq!(answer.request_id, "perm-001");
        assert_eq!(answer.grants.keys().collect::<Vec<_>>(), ["camera", "shell"]);
        assert_eq!(answer.grants["camera"].decision, Decision::Deferred);
        held.call(request(tell, &decided("shell", Decision::Approved), &client)).await.unwrap();
        let answer: PermissionResponse = held.call(asked()).await.unwrap().body().unwrap();
        assert_eq!(answer.grants["shell"].decision, Decision::Approved);
    }
}

// covers: MGP-3.6-05..07
#[tokio::test]
async fn a_decision_holds_until_its_end_for_calls_and_notifications_of_its_session_alone() {
    let hands = ManualClock::at(1000);
    let (one, other) = (client(Revision::V2025_11_25), client(Revision::V2025_11_25));
    let mut held = held(&hands);
    for (new_request, start) in [(Request::call as fn(_, _) -> _, 1000), (Request::notify, 2000)] {
        let grant = decided("shell", Decision::Approved).with_expires_at(Some(moment(start + 1000)));
        let mut request =
            new_request(Method::new(method::PERMISSION_RESPONSE), Params::from_value(&grant).unwrap());
        request.context.session = Some(one.clone());
        hands.set(start);
        held.call(request).await.unwrap();
        assert_eq!(decision(&mut held, "shell", &one, None).await, Decision::Approved);
        assert_eq!(decision(&mut held, "shell", &other, None).await, Decision::Deferred);
        hands.set(start + 1000);
        assert_eq!(decision(&mut held, "shell", &one, None).await, Decision::Deferred);
    }
    tell(&mut held, &decided("shell.execute", Decision::Denied), &one).await;
    assert_eq!(decision(&mut held, "shell", &one, None).await, Decision::Denied);
    // Nor does a session inherit what one before it had in the same place.
    drop(one);
    for _ in 0..64 {
        let next = client(Revision::V2025_11_25);
        assert_eq!(decision(&mut held, "shell", &next, None).await, Decision::Deferred);
    }
}

#[tokio::test]
async fn decisions_add_up_and_each_has_its_own_end() {
    let hands = ManualClock::at(0);
    let client = client(Revision::V2025_11_25);
    let mut held = held(&hands);
    let soon = decided("camera", Decision::Approved).with_expires_at(Some(moment(10)));
    tell(&mut held, &decided("shell", Decision::Approved), &client).await;
    tell(&mut held, &soon, &client).await;
    for (now, camera) in [(9, Decision::Approved), (10, Decision::Deferred)] {
        hands.set(now);
        assert_eq!(decision(&mut held, "shell", &client, None).await, Decision::Approved);
        assert_eq!(decision(&mut held, "camera", &client, None).await, camera);
    }
}

#[tokio::test]
async fn without_sessions_each_request_brings_its_grants_2026() {
    let client = client(Revision::V2026_07_28);
    let mut held = held(&ManualClock::at(1000));
    let approved = decided("shell", Decision::Approved);
    tell(&mut held, &approved, &client).await;
    for (grants, expected) in [
        (None, Decision::Deferred),
        (Some(raw(&approved)), Decision::Approved),
        (Some(raw(&decided("shell", Decision::Deferred))), Decision::Deferred),
        (Some(raw(&decided("shell", Decision::Denied))), Decision::Denied),
        (Some(raw(&approved.with_expires_at(Some(moment(1000))))), Decision::Deferred),
    ] {
        assert_eq!(decision(&mut held, "shell", &client, grants.clone()).await, expected, "{grants:?}");
    }
    for junk in [r#""handle""#, "7", "null", "{}", r#"{"request_id":"x","grants":["shell"]}"#] {
        let junk = Some(RawJson::parse(junk).unwrap());
        assert_eq!(decision(&mut held, "shell", &client, junk.clone()).await, Decision::Deferred, "{junk:?}");
    }
}

#[tokio::test]
async fn without_a_session_and_with_broken_parameters_nothing_is_taken() {
    for revision in ERAS {
        let client = client(revision);
        let mut held = held(&ManualClock::at(0));
        // Clients that do not know of permissions see a plain server.
        let plain = question(&Arc::new(Session::new(revision)), &["shell"], None);
        assert_eq!(held.call(plain).await.unwrap_err().code(), code::METHOD_NOT_FOUND);
        held.call(Request::call("tools/call", Params::new())).await.unwrap();
        let mut lost = question(&client, &["shell"], None);
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
        let mut held = held(&hands);
        let grant = decided("shell", Decision::Approved).with_expires_at(Some(moment(2000)));
        tell(&mut held, &grant, &client).await;
        for (now, expected) in
            [(1000, Decision::Approved), (2000, Decision::Deferred), (1000, Decision::Deferred)]
        {
            hands.set(now);
            let sent = Some(raw(&grant)).filter(|_| revision.is_stateless());
            assert_eq!(decision(&mut held, "shell", &client, sent).await, expected, "{revision:?} {now}");
        }
    }
}
