mod groups;
mod introspection;
mod keys;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use http::{HeaderMap, Method, StatusCode};
use mgp_types::{PeerCertificate, Principal, RunningCalls};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tower_layer::Layer as _;
use tower_service::Service;

use super::*;
use crate::auth::HttpAuthLayer;
use crate::doubles::ManualClock;
use crate::jose::{Header, SigningKey};
use crate::network::{Fetcher, GuardedConnector, NetworkPolicy};

const RESOURCE: &str = "https://mgp.example/mcp";

/// An issuer with one key, and a server that accepts its tokens.
struct Scene {
    key: SigningKey,
    issuer: TestIssuer,
    server: ResourceServer,
}

impl Scene {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut ResourceServerSettings)) -> Self {
        let (key, issuer) = (SigningKey::generate().unwrap(), TestIssuer::start().await);
        issuer.publish("/keys", json!({ "keys": [key.public_jwk()] }).to_string());
        let mut settings = settings(with_keys(&issuer.origin, &format!("{}/keys", issuer.origin)));
        change(&mut settings);
        let server = ResourceServer::new(RESOURCE, settings, &fetcher()).unwrap();
        Self { key, issuer, server }
    }

    fn claims(&self) -> Value {
        self.issuer.claims()
    }

    fn token(&self, claims: &Value) -> String {
        self.key.sign(Header::new(self.key.algorithm()), claims).unwrap()
    }

    async fn verify(&self, claims: &Value) -> Result<VerifiedToken, TokenError> {
        verify(&self.server, &shown(&self.token(claims), None)).await
    }
}

fn shown(token: &str, certificate: Option<&PeerCertificate>) -> PresentedToken {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
    PresentedToken::read(&headers, &Method::POST, &"/mcp".parse().unwrap(), certificate).unwrap()
}

/// Verifies a token by what is known, or else by its issuer, as the layer in front of the HTTP server does.
async fn verify(server: &ResourceServer, shown: &PresentedToken) -> Result<VerifiedToken, TokenError> {
    match server.verify_known(shown) {
        Some(verified) => verified,
        None => server.verify(shown).await,
    }
}

#[tokio::test]
async fn with_known_keys_nothing_waits_and_the_scopes_come_along() {
    let scene = Scene::start().await;
    let token = shown(&scene.token(&scene.claims()), None);
    assert!(scene.server.verify_known(&token).is_none(), "the keys are not known yet");
    let verified = verify(&scene.server, &token).await.unwrap();
    assert_eq!(verified.principal, Principal::new("agent.ada"));
    assert!(verified.scopes.has("a") && verified.scopes.has("b"));
    let mut claims = scene.claims();
    claims["aud"] = json!([RESOURCE]);
    let other = shown(&scene.token(&claims), None);
    assert!(scene.server.verify_known(&other).unwrap().is_ok());
    assert_eq!(scene.issuer.asked("/keys"), 1);
}

#[tokio::test]
async fn times_are_judged_with_a_difference_of_clocks() {
    let scene = Scene::start().await;
    let with = |name: &str, value: Value| {
        let mut claims = scene.claims();
        claims[name] = value;
        claims
    };
    for (claims, holds) in [
        (with("exp", 999_999_950.into()), true),
        (with("exp", 999_999_900.into()), false),
        (with("nbf", 1_000_000_050.into()), true),
        (with("nbf", 1_000_000_100.into()), false),
        (with("iat", 1_000_000_100.into()), false),
        (with("exp", Value::Null), false),
        (with("exp", json!(1e300)), false),
        (with("exp", "1000000600".into()), false),
    ] {
        assert_eq!(scene.verify(&claims).await.is_ok(), holds, "{claims}");
    }
}

#[tokio::test]
async fn what_a_principal_opened_ends_with_the_last_of_its_tokens() {
    let scene = Scene::start().await;
    let first = scene.verify(&scene.claims()).await.unwrap();
    let mut longer = scene.claims();
    longer["exp"] = 1_000_003_600.into();
    let second = scene.verify(&longer).await.unwrap();
    let end = |millis: i64| {
        let at = mgp_types::mgp::Timestamp::from_millis(millis).unwrap();
        scene.server.end_expired_at(at, RunningCalls::Cancel);
    };
    end(1_000_000_700_000);
    assert!(first.validity.ended().is_none(), "another token still holds");
    end(1_000_003_700_000);
    assert!(first.validity.ended().is_some() && second.validity.ended().is_some());
}

#[tokio::test]
async fn a_token_for_a_certificate_needs_that_certificate() {
    use base64::Engine as _;
    let scene = Scene::start().await;
    let own = PeerCertificate::from_der(b"own");
    let digest = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(own.thumbprint());
    let mut claims = scene.claims();
    claims["cnf"] = json!({ "x5t#S256": digest });
    let token = scene.token(&claims);
    assert!(verify(&scene.server, &shown(&token, Some(&own))).await.is_ok());
    let other = PeerCertificate::from_der(b"other");
    assert_eq!(
        verify(&scene.server, &shown(&token, Some(&other))).await.err(),
        Some(TokenError::Certificate)
    );
    assert_eq!(verify(&scene.server, &shown(&token, None)).await.err(), Some(TokenError::Certificate));
}

#[tokio::test]
async fn claims_and_types_that_are_not_those_of_access_tokens_are_refused() {
    let scene = Scene::start().await;
    let refused = Some(TokenError::Invalid);
    for (kind, expected) in [
        ("dpop+jwt", refused),
        ("logout+jwt", refused),
        ("secevent+jwt", refused),
        ("", refused),
        ("JWT", None),
        ("at+jwt", None),
        ("application/at+JWT", None),
    ] {
        let mut header = Header::new(scene.key.algorithm());
        header.typ = Some(kind.to_owned());
        let token = scene.key.sign(header, &scene.claims()).unwrap();
        assert_eq!(verify(&scene.server, &shown(&token, None)).await.err(), expected, "{kind}");
    }
}

#[tokio::test]
async fn a_token_that_is_bound_in_an_unknown_way_is_refused() {
    let scene = Scene::start().await;
    for bound_to in [json!({ "jwk": {} }), json!({ "x5u": "https://a.example" }), json!({ "jkt": 7 })] {
        let mut claims = scene.claims();
        claims["cnf"] = bound_to;
        assert_eq!(scene.verify(&claims).await.err(), Some(TokenError::Invalid), "{claims}");
    }
}

#[tokio::test]
async fn the_document_for_clients_stands_at_its_path_and_names_scopes_if_there_are_some() {
    let plain = Scene::start().await;
    let read = |scene: &Scene, path: &str| -> Option<Value> {
        Some(serde_json::from_str(&scene.server.metadata_at(path)?).unwrap())
    };
    let document = read(&plain, "/.well-known/oauth-protected-resource/mcp").unwrap();
    assert_eq!(document["resource"], RESOURCE);
    assert_eq!(document["authorization_servers"], json!([plain.issuer.origin]));
    assert_eq!(document["dpop_signing_alg_values_supported"][0], "ES256");
    assert!(document.get("scopes_supported").is_none());
    assert_eq!(read(&plain, "/.well-known/oauth-protected-resource/mcp/x"), None);
    let scopes = mgp_types::ext::scope::Scopes::read(["b", "a"]).unwrap();
    let rich = Scene::with(|settings| settings.required_scopes = scopes).await;
    let document = read(&rich, "/.well-known/oauth-protected-resource").unwrap();
    assert_eq!(document["scopes_supported"], json!(["a", "b"]));
}

#[tokio::test]
async fn where_every_token_has_to_be_bound_a_plain_one_is_refused() {
    let scene = Scene::with(|settings| settings.dpop = DpopPolicy::Required).await;
    assert_eq!(scene.verify(&scene.claims()).await.err(), Some(TokenError::Proof));
    assert!(scene.server.challenge(TokenError::Missing, None).unwrap().starts_with("DPoP "));
    assert_eq!(scene.server.nonce(TokenError::Proof), None, "proofs need no nonce here");
}

#[tokio::test]
async fn scopes_that_every_request_needs_are_demanded() {
    let scene = Scene::with(|settings| {
        settings.required_scopes = mgp_types::ext::scope::Scopes::read(["a", "c"]).unwrap();
    })
    .await;
    assert_eq!(scene.verify(&scene.claims()).await.err(), Some(TokenError::Scope));
    let mut claims = scene.claims();
    claims["scope"] = Value::Null;
    claims["scp"] = json!(["a", "c"]);
    assert!(scene.verify(&claims).await.is_ok());
    let challenge = scene.server.challenge(TokenError::Scope, None).unwrap();
    assert!(challenge.starts_with("Bearer ") && challenge.contains(r#"scope="a c""#), "{challenge}");
    assert!(challenge.contains(r#"error="insufficient_scope""#), "{challenge}");
}

#[tokio::test]
async fn an_agent_that_is_no_longer_configured_is_refused_at_once_and_what_it_opened_ends() {
    use std::sync::atomic::AtomicBool;
    let is_known = Arc::new(AtomicBool::new(true));
    let known = Arc::clone(&is_known);
    let scene = Scene::with(move |settings| {
        let find = move |_: &str, _: &str| known.load(Ordering::Relaxed).then(|| Principal::new("agent.ada"));
        settings.principals = Box::new(find);
    })
    .await;
    let ada = scene.verify(&scene.claims()).await.unwrap();
    let now = mgp_types::mgp::Timestamp::from_millis(1_000_000_000_000).unwrap();
    scene.server.end_expired_at(now, RunningCalls::Cancel);
    assert!(ada.validity.ended().is_none());
    is_known.store(false, Ordering::Relaxed);
    assert_eq!(scene.verify(&scene.claims()).await.err(), Some(TokenError::UnknownSubject));
    scene.server.end_expired_at(now, RunningCalls::Cancel);
    assert_eq!(ada.validity.ended(), Some(RunningCalls::Cancel));
}

#[tokio::test]
async fn an_issuer_that_never_answers_is_asked_once_for_all_who_wait() {
    let socket = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let issuer = format!("http://127.0.0.1:{}", socket.local_addr().unwrap().port());
    let asked = Arc::new(AtomicI64::new(0));
    let counted = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = socket.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            held.push(stream);
        }
    });
    let policy = NetworkPolicy::default().allow_loopback();
    let fetcher = Fetcher::new(policy).unwrap().timeout(std::time::Duration::from_millis(50));
    let settings = settings(with_keys(&issuer, &format!("{issuer}/keys")));
    let server = ResourceServer::new(RESOURCE, settings, &fetcher).unwrap();
    let key = SigningKey::generate().unwrap();
    let claims = json!({ "iss": issuer, "sub": "1", "aud": RESOURCE, "exp": 9_999_999_999_u64 });
    let token = shown(&key.sign(Header::new(key.algorithm()), &claims).unwrap(), None);
    let all = futures_util::future::join_all((0..20).map(|_| server.verify(&token))).await;
    assert!(all.into_iter().all(|outcome| outcome.err() == Some(TokenError::Unreachable)));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn metadata_lead_into_no_private_network() {
    // By this resolver, every name leads into the machine's own network.
    let inward = GuardedConnector::answered(NetworkPolicy::default(), || vec![[10, 0, 0, 1].into()]);
    let mut fetcher = Fetcher::new(NetworkPolicy::default()).unwrap();
    fetcher.connector = inward;
    let key = SigningKey::generate().unwrap();
    for keys in ["https://id.example.com/keys", "https://169.254.169.254/keys", "http://id.example.com/keys"]
    {
        let settings = settings(with_keys("https://id.example.com", keys));
        let server = ResourceServer::new(RESOURCE, settings, &fetcher).unwrap();
        let claims =
            json!({ "iss": "https://id.example.com", "sub": "1", "aud": RESOURCE, "exp": 9_999_999_999_u64 });
        let token = key.sign(Header::new(key.algorithm()), &claims).unwrap();
        assert_eq!(
            verify(&server, &shown(&token, None)).await.err(),
            Some(TokenError::Unreachable),
            "{keys}"
        );
    }
}

#[test]
fn an_issuer_on_this_machine_is_refused_at_the_start_unless_it_is_allowed() {
    let issuer = "http://127.0.0.1:9/realm";
    let made = |policy: NetworkPolicy| {
        ResourceServer::new(RESOURCE, settings(Issuer::new(issuer)), &Fetcher::new(policy).unwrap())
    };
    let refused = made(NetworkPolicy::default()).unwrap_err().to_string();
    assert!(refused.contains(issuer) && refused.contains("allow_host_of"), "{refused}");
    assert!(made(NetworkPolicy::default().allow_host_of(issuer)).is_ok());
}

/// A service that answers each request.
#[derive(Clone)]
struct Served;

impl Service<http::Request<String>> for Served {
    type Response = http::Response<String>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<http::Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<String>) -> Self::Future {
        std::future::ready(Ok(http::Response::new("served".to_owned())))
    }
}

#[tokio::test]
async fn who_has_no_token_reads_where_to_get_one_without_a_token() {
    let scene = Scene::start().await;
    let mut door = HttpAuthLayer::of_tokens(scene.server.clone()).layer(Served);
    let refused = door.call(http::Request::post("/mcp").body(String::new()).unwrap()).await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    let challenge = refused.headers()["www-authenticate"].to_str().unwrap();
    let place = challenge.split_once("resource_metadata=\"").unwrap().1.split('"').next().unwrap();
    let path = place.strip_prefix("https://mgp.example").unwrap();
    let read = door.call(http::Request::get(path).body(String::new()).unwrap()).await.unwrap();
    assert_eq!(read.status(), StatusCode::OK);
    assert_eq!(read.headers()["content-type"], "application/json");
    assert_eq!(serde_json::from_str::<Value>(read.body()).unwrap()["resource"], RESOURCE);
    let token = scene.token(&scene.claims());
    let call = http::Request::post("/mcp").header("authorization", format!("Bearer {token}"));
    assert_eq!(door.call(call.body(String::new()).unwrap()).await.unwrap().body(), "served");
}

#[test]
fn headers_that_show_two_tokens_or_none_are_told_apart() {
    let read = |values: &[&str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("authorization", value.parse().unwrap());
        }
        PresentedToken::read(&headers, &Method::GET, &"/mcp".parse().unwrap(), None).err()
    };
    assert_eq!(read(&[]), Some(TokenError::Missing));
    assert_eq!(read(&["Basic eA=="]), Some(TokenError::Missing));
    assert_eq!(read(&["Bearer a", "Bearer b"]), Some(TokenError::Malformed));
    assert_eq!(read(&["Bearer "]), Some(TokenError::Malformed));
    assert_eq!(read(&["Bearer a b"]), Some(TokenError::Malformed));
    assert_eq!(read(&[&format!("Bearer {}", "a".repeat(20_000))]), Some(TokenError::Malformed));
    assert_eq!(read(&["bearer a"]), None);
}

/// An issuer whose documents a test changes.
#[derive(Clone)]
struct TestIssuer {
    origin: String,
    documents: Arc<Mutex<BTreeMap<&'static str, (u16, String)>>>,
    /// The requests that came.
    requests: Arc<Mutex<Vec<String>>>,
}

impl TestIssuer {
    async fn start() -> Self {
        let socket = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let origin = format!("http://{}", socket.local_addr().unwrap());
        let issuer = Self { origin, documents: Arc::default(), requests: Arc::default() };
        let answering = issuer.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = socket.accept().await {
                tokio::spawn(answering.clone().answer(stream));
            }
        });
        issuer
    }

    async fn answer(self, mut stream: TcpStream) {
        let mut request = Vec::new();
        loop {
            let mut part = [0; 4096];
            let read = stream.read(&mut part).await.unwrap_or(0);
            request.extend_from_slice(&part[..read]);
            let text = String::from_utf8_lossy(&request);
            let body = text.find("\r\n\r\n").map(|end| text.len() - end - 4);
            let lengths = text.lines().filter_map(|line| line.strip_prefix("content-length: "));
            let length = lengths.map(|length| length.parse::<usize>().unwrap()).next().unwrap_or(0);
            if read == 0 || body.is_some_and(|body| body >= length) {
                break;
            }
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let (status, body) =
            self.documents.lock().get(&*path).cloned().unwrap_or_else(|| (404, String::new()));
        self.requests.lock().push(request);
        let answer = format!(
            "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nlocation: {body}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        // A reader that has enough goes away.
        let _ = stream.write_all(answer.as_bytes()).await;
    }

    fn publish(&self, path: &'static str, document: impl Into<String>) {
        self.answer_with(path, 200, document);
    }

    fn answer_with(&self, path: &'static str, status: u16, document: impl Into<String>) {
        self.documents.lock().insert(path, (status, document.into()));
    }

    /// Returns how often a path was asked for.
    fn asked(&self, path: &str) -> usize {
        self.requests.lock().iter().filter(|request| request.split(' ').nth(1) == Some(path)).count()
    }

    fn claims(&self) -> Value {
        json!({ "iss": self.origin, "sub": "1", "aud": RESOURCE, "exp": 1_000_000_600, "scope": "a b" })
    }
}

/// Returns a server that accepts the tokens of this issuer.
fn server(of: Issuer) -> ResourceServer {
    ResourceServer::new(RESOURCE, settings(of), &fetcher()).unwrap()
}

/// Returns such a server with a clock that a test sets.
fn timed(of: Issuer) -> (ResourceServer, ManualClock) {
    let clock = ManualClock::at(1_000_000_000_000);
    let settings = ResourceServerSettings { clock: clock.clock(), ..settings(of) };
    (ResourceServer::new(RESOURCE, settings, &fetcher()).unwrap(), clock)
}

/// Returns an issuer whose keys are at this address.
fn with_keys(issuer: &str, keys: &str) -> Issuer {
    Issuer { jwks_uri: Some(keys.into()), ..Issuer::new(issuer) }
}

fn settings(of: Issuer) -> ResourceServerSettings {
    ResourceServerSettings {
        issuers: vec![of],
        principals: Box::new(|_, subject| (subject == "1").then(|| Principal::new("agent.ada"))),
        clock: ManualClock::at(1_000_000_000_000).clock(),
        ..ResourceServerSettings::default()
    }
}

fn fetcher() -> Fetcher {
    Fetcher::new(NetworkPolicy::default().allow_loopback()).unwrap()
}
