//! The groups that tokens tell of.

use mgp_types::{AgentGroup, AgentGroups};

use super::*;

fn payments(value: &str) -> AgentGroup {
    let (claim, values) = (Some("groups".into()), vec![value.into()]);
    AgentGroup { name: "payments".into(), claim, values, ..AgentGroup::default() }
}

fn is_member(groups: &AgentGroups) -> bool {
    groups.of("agent.ada").is_some()
}

#[tokio::test]
async fn a_token_has_its_groups_from_its_verification_on_and_loses_them_with_its_end() {
    let groups = AgentGroups::default();
    groups.set(vec![payments("pay")]);
    let scene = Scene::with(|settings| settings.groups = groups.clone()).await;
    let mut claims = scene.claims();
    claims["groups"] = json!(["other", "pay"]);
    scene.verify(&claims).await.unwrap();
    assert!(is_member(&groups));
    // Other groups hold for a token that was verified before.
    groups.set(vec![payments("bank")]);
    assert!(!is_member(&groups));
    groups.set(vec![payments("other")]);
    scene.verify(&claims).await.unwrap();
    assert!(is_member(&groups));
    claims["groups"] = json!([]);
    scene.verify(&claims).await.unwrap();
    assert!(!is_member(&groups), "a newer token says otherwise");
    claims["groups"] = json!("other");
    scene.verify(&claims).await.unwrap();
    assert!(is_member(&groups));
    let end = mgp_types::mgp::Timestamp::from_millis(1_000_000_700_000).unwrap();
    scene.server.end_expired_at(end, RunningCalls::Cancel);
    assert!(!is_member(&groups));
}

#[tokio::test]
async fn an_issuer_that_is_asked_again_tells_of_other_groups() {
    let groups = AgentGroups::default();
    groups.set(vec![payments("pay")]);
    let issuer = TestIssuer::start().await;
    let told = |of: &[&str]| {
        let mut claims = issuer.claims();
        (claims["active"], claims["groups"]) = (json!(true), json!(of));
        issuer.publish("/introspect", claims.to_string());
    };
    told(&["pay"]);
    let url = format!("{}/introspect", issuer.origin).into();
    let way = Introspection { url, client_id: "gate".into(), client_secret: "pass".into() };
    let of = Issuer { introspection: Some(way), ..Issuer::new(issuer.origin.as_str()) };
    let clock = ManualClock::at(1_000_000_000_000);
    let settings = ResourceServerSettings { clock: clock.clock(), groups: groups.clone(), ..settings(of) };
    let server = ResourceServer::new(RESOURCE, settings, &fetcher()).unwrap();
    let ada = verify(&server, &shown("opaque", None)).await.unwrap();
    assert!(is_member(&groups));
    let _open = ada.validity.on_end(|_| {});
    told(&[]);
    clock.set(1_000_000_031_000);
    server.end_inactive(RunningCalls::Cancel).await;
    assert!(!is_member(&groups) && ada.validity.ended().is_none());
}

#[tokio::test]
async fn a_token_that_came_in_no_request_is_judged_like_others() {
    let groups = AgentGroups::default();
    groups.set(vec![payments("pay")]);
    let scene = Scene::with(|settings| settings.groups = groups.clone()).await;
    let mut claims = scene.claims();
    claims["groups"] = json!("pay");
    for _ in 0..2 {
        let holder = scene.server.holder(&scene.token(&claims)).await;
        assert_eq!(holder, Ok(Principal::new("agent.ada")));
        assert!(is_member(&groups));
    }
    for (claim, value, error) in [
        ("aud", json!("https://other.example"), TokenError::Invalid),
        ("iss", json!("https://other.example"), TokenError::Invalid),
        ("exp", json!(999_999_000), TokenError::Expired),
        ("sub", json!("2"), TokenError::UnknownSubject),
        ("cnf", json!({ "jkt": "somebody's key" }), TokenError::Proof),
    ] {
        let mut wrong = claims.clone();
        wrong[claim] = value;
        assert_eq!(scene.server.holder(&scene.token(&wrong)).await, Err(error), "{claim}");
    }
}
