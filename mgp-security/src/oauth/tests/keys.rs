//! The keys of issuers: found, changed, withdrawn and out of reach.

use std::time::Duration;

use futures_util::future::join_all;

use super::*;

const KEYS: &str = "/keys";

fn published(keys: &[(&str, &SigningKey)]) -> String {
    let keys = keys.iter().map(|(id, key)| {
        let mut jwk = json!(key.public_jwk());
        jwk["kid"] = json!(id);
        jwk
    });
    json!({ "keys": keys.collect::<Vec<_>>() }).to_string()
}

/// Signs a token that is another one for each `number`, by the key with this id.
fn token(issuer: &TestIssuer, (id, key): (&str, &SigningKey), number: u64) -> PresentedToken {
    let mut header = Header::new(key.algorithm());
    header.kid = (!id.is_empty()).then(|| id.to_owned());
    let mut claims = issuer.claims();
    claims["jti"] = json!(number);
    shown(&key.sign(header, &claims).unwrap(), None)
}

fn by_keys(issuer: &TestIssuer) -> ResourceServer {
    super::server(with_keys(&issuer.origin, &format!("{}{KEYS}", issuer.origin)))
}

/// Lets time pass, of which the network takes no notice.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_new_key_is_fetched_once_by_all_who_come_with_it() {
    let issuer = TestIssuer::start().await;
    let (old, new) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    issuer.publish(KEYS, published(&[("old", &old)]));
    let server = by_keys(&issuer);
    assert!(verify(&server, &token(&issuer, ("old", &old), 0)).await.is_ok());
    issuer.publish(KEYS, published(&[("old", &old), ("new", &new)]));
    // The keys were fetched a moment ago, and somebody may just be trying out ids.
    let early = verify(&server, &token(&issuer, ("new", &new), 0)).await;
    assert_eq!((early.err(), issuer.asked(KEYS)), (Some(TokenError::Invalid), 1));
    pass(Duration::from_secs(11)).await;
    let tokens: Vec<_> = (1..=20).map(|number| token(&issuer, ("new", &new), number)).collect();
    let verified = join_all(tokens.iter().map(|token| verify(&server, token))).await;
    assert!(verified.iter().all(Result::is_ok));
    assert!(verify(&server, &token(&issuer, ("old", &old), 1)).await.is_ok());
    assert_eq!(issuer.asked(KEYS), 2);
}

#[tokio::test]
async fn a_withdrawn_key_ends_its_tokens_also_those_that_were_verified() {
    let issuer = TestIssuer::start().await;
    let (kept, withdrawn) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    issuer.publish(KEYS, published(&[("kept", &kept), ("withdrawn", &withdrawn)]));
    let server = by_keys(&issuer);
    let stolen = token(&issuer, ("withdrawn", &withdrawn), 0);
    assert!(verify(&server, &stolen).await.is_ok());
    assert!(verify(&server, &token(&issuer, ("kept", &kept), 0)).await.is_ok());
    issuer.publish(KEYS, published(&[("kept", &kept)]));
    pass(Duration::from_secs(301)).await;
    // Whoever comes next has the keys fetched, and does not wait for it.
    assert!(server.verify_known(&token(&issuer, ("kept", &kept), 1)).unwrap().is_ok());
    while server.verify_known(&stolen).is_some_and(|verified| verified.is_ok()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(verify(&server, &stolen).await.err(), Some(TokenError::Invalid));
    assert!(verify(&server, &token(&issuer, ("kept", &kept), 2)).await.is_ok());
    assert_eq!(issuer.asked(KEYS), 2);
}

#[tokio::test]
async fn keys_of_an_issuer_that_is_away_hold_for_an_hour() {
    let issuer = TestIssuer::start().await;
    let key = SigningKey::generate().unwrap();
    issuer.publish(KEYS, published(&[("a", &key)]));
    let server = by_keys(&issuer);
    assert!(verify(&server, &token(&issuer, ("a", &key), 0)).await.is_ok());
    issuer.answer_with(KEYS, 503, "");
    pass(Duration::from_mins(59)).await;
    assert!(verify(&server, &token(&issuer, ("a", &key), 1)).await.is_ok());
    pass(Duration::from_mins(2)).await;
    assert_eq!(verify(&server, &token(&issuer, ("a", &key), 2)).await.err(), Some(TokenError::Unreachable));
    issuer.publish(KEYS, published(&[("a", &key)]));
    pass(Duration::from_secs(11)).await;
    assert!(verify(&server, &token(&issuer, ("a", &key), 3)).await.is_ok());
}

#[tokio::test]
async fn tokens_of_unknown_keys_make_one_question_in_ten_seconds() {
    let issuer = TestIssuer::start().await;
    let (key, stranger) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    issuer.publish(KEYS, published(&[("a", &key)]));
    let server = by_keys(&issuer);
    for number in 0..20 {
        for id in ["", "a", "unknown"] {
            let judged = verify(&server, &token(&issuer, (id, &stranger), number)).await;
            assert_eq!(judged.err(), Some(TokenError::Invalid), "{id}");
        }
    }
    assert!(verify(&server, &token(&issuer, ("", &key), 0)).await.is_ok(), "a token need not name its key");
    assert_eq!(issuer.asked(KEYS), 1);
}

#[tokio::test]
async fn keys_are_found_by_metadata_of_exactly_the_issuer() {
    let issuer = TestIssuer::start().await;
    let key = SigningKey::generate().unwrap();
    issuer.publish(KEYS, published(&[("a", &key)]));
    let metadata =
        |named: &str| json!({ "issuer": named, "jwks_uri": format!("{}{KEYS}", issuer.origin) }).to_string();
    let place = "/.well-known/openid-configuration";
    for other in [format!("{}/", issuer.origin), "https://id.example".to_owned()] {
        issuer.publish(place, metadata(&other));
        let server = super::server(Issuer::new(issuer.origin.as_str()));
        let judged = verify(&server, &token(&issuer, ("a", &key), 0)).await;
        assert_eq!((judged.err(), issuer.asked(KEYS)), (Some(TokenError::Unreachable), 0), "{other}");
    }
    issuer.publish(place, metadata(&issuer.origin));
    let server = super::server(Issuer::new(issuer.origin.as_str()));
    assert!(verify(&server, &token(&issuer, ("a", &key), 0)).await.is_ok());
}

#[tokio::test]
async fn documents_that_are_no_keys_leave_nobody_in() {
    let issuer = TestIssuer::start().await;
    let key = SigningKey::generate().unwrap();
    let secret = json!({ "keys": [{ "kty": "oct", "kid": "a", "k": "c2VjcmV0" }] });
    for (status, document) in [
        (200, "no JSON".to_owned()),
        (200, "{}".to_owned()),
        (200, json!({ "keys": [] }).to_string()),
        (200, secret.to_string()),
        (200, format!("{{\"keys\":[],\"x\":\"{}\"}}", "x".repeat(4 << 20))),
        (302, "http://10.0.0.1/keys".to_owned()),
        (302, "file:///etc/passwd".to_owned()),
        (500, published(&[("a", &key)])),
    ] {
        let excerpt: String = document.chars().take(80).collect();
        issuer.answer_with(KEYS, status, document);
        let judged = verify(&by_keys(&issuer), &token(&issuer, ("a", &key), 0)).await;
        assert_eq!(judged.err(), Some(TokenError::Unreachable), "{status} {excerpt}");
    }
}
