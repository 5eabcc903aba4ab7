//! Tokens that only their issuer can tell about.

use futures_util::future::join_all;

use super::*;

const ASK: &str = "/introspect";

fn asking(issuer: &TestIssuer) -> Issuer {
    let url = format!("{}{ASK}", issuer.origin).into();
    let way = Introspection { url, client_id: "gate:way".into(), client_secret: "p%ss".into() };
    Issuer { introspection: Some(way), ..Issuer::new(issuer.origin.as_str()) }
}

fn active(issuer: &TestIssuer) -> Value {
    let mut claims = issuer.claims();
    claims["active"] = json!(true);
    claims
}

#[tokio::test]
async fn an_issuer_tells_who_came_and_is_asked_once_in_a_while() {
    let issuer = TestIssuer::start().await;
    issuer.publish(ASK, active(&issuer).to_string());
    let server = super::server(asking(&issuer));
    for _ in 0..3 {
        let verified = verify(&server, &shown("opaque", None)).await.unwrap();
        assert_eq!(verified.principal, Principal::new("agent.ada"));
        assert!(verified.scopes.has("a"));
    }
    assert_eq!(issuer.asked(ASK), 1);
    let request = issuer.requests.lock()[0].clone();
    // Basic authentication of the encoded id and secret: `gate%3Away:p%25ss`.
    assert!(request.contains("authorization: Basic Z2F0ZSUzQXdheTpwJTI1c3M="), "{request}");
    assert!(request.ends_with("token=opaque&token_type_hint=access_token"), "{request}");
}

#[tokio::test]
async fn what_an_issuer_tells_of_a_token_has_to_hold_here() {
    let issuer = TestIssuer::start().await;
    let with = |name: &str, value: Value| {
        let mut claims = active(&issuer);
        claims[name] = value;
        claims.to_string()
    };
    for (why, document, expected) in [
        ("it is not active", json!({ "active": false }).to_string(), TokenError::Invalid),
        ("nothing says that it is", issuer.claims().to_string(), TokenError::Invalid),
        ("it is for another server", with("aud", json!("https://other.example")), TokenError::Invalid),
        ("it is for nobody", with("aud", json!([])), TokenError::Invalid),
        ("another issuer has issued it", with("iss", json!("https://id.example")), TokenError::Invalid),
        ("it is over", with("exp", json!(999_999_000)), TokenError::Expired),
        ("it does not hold yet", with("nbf", json!(1_000_000_500)), TokenError::Expired),
        ("it has no end", with("exp", Value::Null), TokenError::Invalid),
        ("nobody is known by it", with("sub", json!("2")), TokenError::UnknownSubject),
        ("the answer is none", "active".to_owned(), TokenError::Invalid),
    ] {
        issuer.publish(ASK, document);
        let server = super::server(asking(&issuer));
        for _ in 0..2 {
            assert_eq!(verify(&server, &shown("opaque", None)).await.err(), Some(expected), "{why}");
        }
    }
}

#[tokio::test]
async fn an_answer_without_a_subject_is_about_a_person_or_else_about_a_client() {
    let issuer = TestIssuer::start().await;
    for (members, expected) in [
        (json!({ "client_id": "batch" }), Ok("agent.batch")),
        (json!({ "client_id": "batch", "username": "ada" }), Err(TokenError::UnknownSubject)),
        (json!({ "client_id": "1" }), Err(TokenError::UnknownSubject)),
        (json!({ "sub": "client_id:batch" }), Err(TokenError::Invalid)),
        (json!({ "sub": "", "client_id": "batch" }), Err(TokenError::Invalid)),
        (json!({ "client_id": "" }), Err(TokenError::Invalid)),
        (json!({}), Err(TokenError::Invalid)),
    ] {
        let mut claims = active(&issuer);
        claims.as_object_mut().unwrap().remove("sub");
        claims.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        issuer.publish(ASK, claims.to_string());
        let find =
            |_: &str, subject: &str| (subject == "client_id:batch").then(|| Principal::new("agent.batch"));
        let settings = ResourceServerSettings { principals: Box::new(find), ..settings(asking(&issuer)) };
        let server = ResourceServer::new(RESOURCE, settings, &fetcher()).unwrap();
        let verified = verify(&server, &shown("opaque", None)).await;
        let found = verified.map(|verified| verified.principal.as_str().to_owned());
        assert_eq!(found.as_deref().map_err(|error| *error), expected, "{members}");
    }
}

#[tokio::test]
async fn a_token_that_no_issuer_knows_is_asked_about_once_in_ten_seconds() {
    let issuer = TestIssuer::start().await;
    issuer.publish(ASK, json!({ "active": false }).to_string());
    let (server, clock) = timed(asking(&issuer));
    for _ in 0..3 {
        assert_eq!(verify(&server, &shown("opaque", None)).await.err(), Some(TokenError::Invalid));
    }
    assert_eq!(issuer.asked(ASK), 1);
    assert_eq!(verify(&server, &shown("other", None)).await.err(), Some(TokenError::Invalid));
    assert_eq!(issuer.asked(ASK), 2);
    issuer.publish(ASK, active(&issuer).to_string());
    clock.set(1_000_000_010_000);
    assert!(verify(&server, &shown("opaque", None)).await.is_ok(), "it is one by now");
}

#[tokio::test]
async fn all_who_come_with_one_token_at_once_wait_for_one_answer() {
    let issuer = TestIssuer::start().await;
    let server = super::server(asking(&issuer));
    let token = shown("opaque", None);
    for (status, expected) in [(503, Some(TokenError::Unreachable)), (200, None)] {
        issuer.requests.lock().clear();
        issuer.answer_with(ASK, status, active(&issuer).to_string());
        let all = join_all((0..200).map(|_| verify(&server, &token))).await;
        assert!(all.into_iter().all(|verified| verified.err() == expected), "{status}");
        assert_eq!(issuer.asked(ASK), 1);
    }
}

#[tokio::test]
async fn one_issuer_sees_a_token_that_says_nothing_and_no_other() {
    let (first, other) = (TestIssuer::start().await, TestIssuer::start().await);
    first.answer_with(ASK, 503, "");
    let mut settings = settings(asking(&first));
    settings.issuers.push(asking(&other));
    let server = ResourceServer::new(RESOURCE, settings, &fetcher()).unwrap();
    for _ in 0..2 {
        assert_eq!(verify(&server, &shown("opaque", None)).await.err(), Some(TokenError::Unreachable));
    }
    first.publish(ASK, active(&first).to_string());
    assert!(verify(&server, &shown("opaque", None)).await.is_ok());
    assert_eq!((first.asked(ASK), other.asked(ASK)), (3, 0));
}

#[tokio::test]
async fn without_introspection_a_token_that_says_nothing_is_refused_unasked() {
    let issuer = TestIssuer::start().await;
    let server = super::server(Issuer::new(issuer.origin.as_str()));
    for text in ["opaque", "a.b", "a.b.c", "a.b.c.d", ".."] {
        assert_eq!(verify(&server, &shown(text, None)).await.err(), Some(TokenError::Invalid), "{text}");
    }
    assert!(issuer.requests.lock().is_empty());
}

#[tokio::test]
async fn a_token_that_its_issuer_calls_inactive_ends_what_it_opened() {
    let issuer = TestIssuer::start().await;
    issuer.publish(ASK, active(&issuer).to_string());
    let (server, clock) = timed(asking(&issuer));
    let ada = verify(&server, &shown("opaque", None)).await.unwrap();
    let watch = ada.validity.on_end(|_| {});
    server.end_inactive(RunningCalls::Cancel).await;
    assert_eq!(issuer.asked(ASK), 1, "the answer is fresh");
    clock.set(1_000_000_031_000);
    server.end_inactive(RunningCalls::Cancel).await;
    assert_eq!((issuer.asked(ASK), ada.validity.ended()), (2, None));
    issuer.publish(ASK, json!({ "active": false }).to_string());
    clock.set(1_000_000_062_000);
    server.end_inactive(RunningCalls::Cancel).await;
    assert_eq!((issuer.asked(ASK), ada.validity.ended()), (3, Some(RunningCalls::Cancel)));
    drop(watch);
    issuer.publish(ASK, active(&issuer).to_string());
    let later = verify(&server, &shown("other", None)).await.unwrap();
    clock.set(1_000_000_093_000);
    server.end_inactive(RunningCalls::Cancel).await;
    assert_eq!((issuer.asked(ASK), later.validity.ended()), (4, None), "nothing is open by it");
}
