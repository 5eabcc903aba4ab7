use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Method, Uri};
use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Claims {
    sub: String,
}

fn claims() -> Claims {
    Claims { sub: "someone".into() }
}

fn ed25519() -> SigningKey {
    let der = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    SigningKey::from_pkcs8(der.as_ref(), Algorithm::EdDSA).unwrap()
}

fn published(keys: &[&SigningKey]) -> KeySet {
    let keys: Vec<_> = keys.iter().map(|key| serde_json::to_value(key.public_jwk()).unwrap()).collect();
    KeySet::read(serde_json::json!({ "keys": keys }).to_string().as_bytes()).unwrap()
}

fn raw(header: &str, payload: &str, signature: &[u8]) -> String {
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    format!("{}.{}.{}", text(header.as_bytes()), text(payload.as_bytes()), text(signature))
}

#[test]
fn a_token_is_verified_by_the_published_key_of_its_algorithm() {
    for key in [SigningKey::generate().unwrap(), ed25519()] {
        let token = key.sign(Header::new(key.algorithm()), &claims()).unwrap();
        let set = published(&[&key]);
        let found = set.find(None, key.algorithm()).next().unwrap();
        assert_eq!(found.thumbprint(), key.thumbprint());
        assert_eq!(verify::<Claims>(&token, found, key.algorithm()), Ok(claims()));
    }
}

#[test]
fn a_token_of_another_key_or_with_changed_claims_is_refused() {
    let (key, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let token = key.sign(Header::new(Algorithm::ES256), &claims()).unwrap();
    let theirs = VerifyingKey::from_jwk(other.public_jwk()).unwrap();
    assert_eq!(verify::<Claims>(&token, &theirs, Algorithm::ES256), Err(JoseError::Signature));
    let parts: Vec<_> = token.split('.').collect();
    let changed = format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(r#"{"sub":"other"}"#), parts[2]);
    let own = VerifyingKey::from_jwk(key.public_jwk()).unwrap();
    assert_eq!(verify::<Claims>(&changed, &own, Algorithm::ES256), Err(JoseError::Signature));
}

#[test]
fn no_algorithm_and_shared_secrets_are_never_accepted() {
    let key = SigningKey::generate().unwrap();
    let own = VerifyingKey::from_jwk(key.public_jwk()).unwrap();
    for alg in ["none", "None", "HS256", "HS512", "ES512"] {
        let token = raw(&format!(r#"{{"alg":"{alg}"}}"#), r#"{"sub":"someone"}"#, b"signature");
        assert!(verify::<Claims>(&token, &own, Algorithm::ES256).is_err(), "{alg}");
    }
    assert_eq!(SigningKey::from_pkcs8(key.to_der(), Algorithm::HS256).err(), Some(JoseError::Algorithm));
}

#[test]
fn headers_that_demand_extensions_or_repeat_members_are_refused() {
    let extended = raw(r#"{"alg":"ES256","crit":["exp"]}"#, "{}", b"s");
    assert_eq!(header(&extended).err(), Some(JoseError::Critical));
    for json in [r#"{"alg":"ES256","alg":"ES256"}"#, r#"{"alg":"ES256","x":1,"x":2}"#, "[]", ""] {
        assert_eq!(header(&raw(json, "{}", b"s")).err(), Some(JoseError::Malformed), "{json}");
    }
    for token in ["", "a.b", "a.b.c.d", "..", "a..c"] {
        assert_eq!(header(token).err(), Some(JoseError::Malformed), "{token}");
    }
    assert_eq!(header(&"a".repeat(20_000)).err(), Some(JoseError::TooLong));
}

#[test]
fn keys_for_other_purposes_and_private_kinds_are_left_out_of_a_set() {
    let jwk = |more: serde_json::Value| {
        let mut jwk = serde_json::to_value(SigningKey::generate().unwrap().public_jwk()).unwrap();
        jwk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        jwk
    };
    let keys = serde_json::json!({ "keys": [
        jwk(serde_json::json!({ "kid": "signs", "use": "sig", "alg": "ES256" })),
        jwk(serde_json::json!({ "kid": "encrypts", "use": "enc" })),
        jwk(serde_json::json!({ "kid": "other", "alg": "RS256" })),
        { "kty": "oct", "kid": "secret", "k": "c2VjcmV0" },
        { "kty": "new", "kid": "unknown" },
        7,
    ] });
    let set = KeySet::read(keys.to_string().as_bytes()).unwrap();
    let ids: Vec<_> = set.find(None, Algorithm::ES256).map(VerifyingKey::id).collect();
    assert_eq!(ids, [Some("signs")]);
    assert!(set.find(Some("encrypts"), Algorithm::ES256).next().is_none());
    assert!(set.find(Some("signs"), Algorithm::RS256).next().is_none());
    assert!(KeySet::read(br#"{"keys":[],"keys":[]}"#).is_err());
    let many = serde_json::json!({ "keys": vec![serde_json::json!({}); 200] });
    assert_eq!(KeySet::read(many.to_string().as_bytes()).err(), Some(JoseError::KeySet));
}

#[test]
fn a_proof_fits_its_request_and_its_token_alone() {
    let key = SigningKey::generate().unwrap();
    let url: Uri = "https://Mgp.example:443/mcp?secret=1".parse().unwrap();
    let proof = dpop::proof(&key, &Method::POST, &url, Some("token"), Some("nonce")).unwrap();
    let same: Uri = "https://mgp.example/mcp".parse().unwrap();
    let verified = dpop::verify(&proof, &Method::POST, &same, Some("token")).unwrap();
    assert_eq!((&*verified.thumbprint, verified.nonce.as_deref()), (key.thumbprint(), Some("nonce")));
    let wrong =
        |method: &Method, url: &str, token| dpop::verify(&proof, method, &url.parse().unwrap(), token).err();
    assert_eq!(wrong(&Method::GET, "https://mgp.example/mcp", Some("token")), Some(JoseError::ProofRequest));
    assert_eq!(
        wrong(&Method::POST, "https://mgp.example/other", Some("token")),
        Some(JoseError::ProofRequest)
    );
    assert_eq!(wrong(&Method::POST, "http://mgp.example/mcp", Some("token")), Some(JoseError::ProofRequest));
    assert_eq!(wrong(&Method::POST, "https://mgp.example/mcp", Some("stolen")), Some(JoseError::ProofToken));
    assert_eq!(wrong(&Method::POST, "https://mgp.example/mcp", None), Some(JoseError::ProofToken));
    assert!(!proof.contains("secret"));
}

#[test]
fn proofs_differ_and_other_tokens_are_no_proofs() {
    let key = SigningKey::generate().unwrap();
    let url: Uri = "https://mgp.example/mcp".parse().unwrap();
    let make = || dpop::proof(&key, &Method::POST, &url, None, None).unwrap();
    let ids = [make(), make()].map(|proof| dpop::verify(&proof, &Method::POST, &url, None).unwrap().id);
    assert_ne!(ids[0], ids[1]);
    let token = key.sign(Header::new(Algorithm::ES256), &claims()).unwrap();
    assert_eq!(dpop::verify(&token, &Method::POST, &url, None).err(), Some(JoseError::ProofType));
}

#[test]
fn a_key_says_nothing_secret_of_itself() {
    let key = SigningKey::generate().unwrap();
    let text = format!("{key:?}");
    assert!(text.contains(key.thumbprint()) && !text.contains(&format!("{:?}", key.to_der())), "{text}");
}
