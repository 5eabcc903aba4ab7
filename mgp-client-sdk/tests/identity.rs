//! Clients that get their tokens from an identity provider, at a server that holds them against its keys.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod identity_provider;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use identity_provider::{Consent, Documents, Endpoint, Fault, IdentityProvider, KnownClient, Proof};
use mgp_client_sdk::oauth::{
    Algorithm, BoxFuture, Browser, ClientCredentials, Fetcher, Grant, LoginKey, MemoryTokenStore,
    NetworkPolicy, OAuth, OAuthBuilder, OAuthError, RedirectTarget, SigningKey, TokenSource, TokenStore as _,
    WebClient,
};
use mgp_security::jose::{KeySet, dpop, header, verify};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::Digest as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A server that lets nobody in without a token of the provider for it, and keeps the claims of those who came.
#[derive(Clone)]
struct Guarded {
    url: String,
    provider: IdentityProvider,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Guarded {
    async fn start(provider: &IdentityProvider) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let server = Self { url, provider: provider.clone(), seen: Arc::default() };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = serving.clone();
                tokio::spawn(async move {
                    let service = hyper::service::service_fn(|request| {
                        std::future::ready(Ok::<_, Infallible>(server.answer(&request)))
                    });
                    let http = hyper::server::conn::http1::Builder::new();
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        server
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        let metadata = "/.well-known/oauth-protected-resource/mcp";
        if path == metadata {
            let document = json!({
                "resource": self.url,
                "authorization_servers": [self.provider.issuer()],
                "scopes_supported": ["mgp:use"],
            });
            return Response::new(document.to_string().into());
        }
        if let Some(claims) = self.claims(request) {
            self.seen.lock().push(claims);
            return Response::builder().status(StatusCode::METHOD_NOT_ALLOWED).body(Full::default()).unwrap();
        }
        let document = self.url.replace("/mcp", metadata);
        Response::builder()
            .status(StatusCode::UNAUTHORIZED)
            .header(WWW_AUTHENTICATE, format!("Bearer resource_metadata=\"{document}\""))
            .body(Full::default())
            .unwrap()
    }

    /// Returns the claims of the request's token, if it is good.
    fn claims(&self, request: &Request<Incoming>) -> Option<Value> {
        let (scheme, token) = request.headers().get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        let header = header(token).ok()?;
        let keys = KeySet::read(&self.provider.published_keys()).ok()?;
        let key = keys.find(header.kid.as_deref(), header.alg).next()?;
        let claims: Value = verify(token, key, header.alg).ok()?;
        if let Some(bound_to) = claims["cnf"]["jkt"].as_str() {
            let proof = request.headers().get("dpop")?.to_str().ok()?;
            let url: Uri = self.url.parse().ok()?;
            let proof = dpop::verify(proof, request.method(), &url, Some(token)).ok()?;
            return (scheme == "DPoP" && &*proof.thumbprint == bound_to).then_some(claims);
        }
        (scheme == "Bearer" && claims["aud"] == self.url.as_str()).then_some(claims)
    }

    /// Returns the claims with which a client comes after it has logged in.
    async fn visit(&self, oauth: &Arc<OAuth>) -> Result<Value, mgp_client_sdk::Error> {
        let before = self.seen.lock().len();
        let client = mgp_client_sdk::Client::builder("test", "1.0.0");
        // The server answers nothing; it is enough that it let the client in.
        let outcome = client.connect_http_with(&self.url, |http| http.authorize_with(oauth.clone())).await;
        let seen = self.seen.lock();
        match seen.get(before..).and_then(<[Value]>::first) {
            Some(claims) => Ok(claims.clone()),
            None => Err(outcome.map(drop).unwrap_err()),
        }
    }
}

/// A person who goes where the page of the provider leads.
#[derive(Clone)]
struct Follower;

impl Browser for Follower {
    fn redirect_target<'a>(
        &'a self,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn RedirectTarget>, OAuthError>> {
        Box::pin(std::future::ready(Ok(Box::new(Self) as Box<dyn RedirectTarget>)))
    }
}

impl RedirectTarget for Follower {
    fn uri(&self) -> &'static str {
        REDIRECT
    }

    fn sign_in(
        self: Box<Self>,
        page: String,
        is_answer: Box<dyn Fn(&str) -> bool + Send + Sync>,
    ) -> BoxFuture<'static, Result<String, OAuthError>> {
        Box::pin(async move {
            let location = request(&page).await;
            let location =
                location.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().to_owned();
            let query = location.strip_prefix(REDIRECT).unwrap().trim_start_matches('?').to_owned();
            assert!(is_answer(&query), "{query}");
            Ok(query)
        })
    }
}

const REDIRECT: &str = "http://127.0.0.1:9/callback";

/// Sends a request, and returns the whole answer.
async fn request(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let head = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn oauth(server: &Guarded) -> OAuthBuilder {
    OAuth::builder(&server.url).browser(Follower)
}

#[tokio::test]
async fn a_person_signs_in_at_any_issuer_with_any_algorithm() {
    for (path, documents, algorithm) in [
        ("", Documents::Both, Algorithm::ES256),
        ("/tenant/one", Documents::OauthOnly, Algorithm::RS256),
        ("/tenant", Documents::OpenIdOnly, Algorithm::EdDSA),
    ] {
        let provider = IdentityProvider::start_at(0, path).await;
        provider.set(|settings| {
            settings.documents = documents;
            settings.algorithm = algorithm;
            settings.consent = Consent::Of("alice".into());
        });
        let server = Guarded::start(&provider).await;
        let claims = server.visit(&oauth(&server).build().unwrap()).await.unwrap();
        assert_eq!((&claims["sub"], &claims["iss"]), (&json!("alice"), &json!(provider.issuer())));
        assert_eq!(provider.grants("authorization_code"), 1);
    }
}

#[tokio::test]
async fn a_person_signs_in_at_a_page_that_keeps_nothing_of_the_login() {
    let provider = IdentityProvider::start().await;
    let mut known = KnownClient::new(Proof::None);
    known.redirect_uris.push(REDIRECT.into());
    provider.add_client("page", known);
    let client = WebClient {
        fetcher: Fetcher::new(NetworkPolicy::default().allow_loopback()).unwrap(),
        issuer: provider.issuer().into(),
        credentials: ClientCredentials::public("page"),
        resource: "https://nobody.example/mcp".into(),
        scopes: vec!["mgp:use".into()],
    };
    let (page, verifier) = client.page(REDIRECT).await.unwrap();
    assert!(!page.contains(&verifier), "{page}");
    let answer = Box::new(Follower).sign_in(page, Box::new(|_| true)).await.unwrap();
    let (_, another) = client.page(REDIRECT).await.unwrap();
    // Without a verifier, the state is known to everybody.
    let state = |verifier: &str| {
        let digest = sha2::Sha256::new().chain_update("the state of ").chain_update(verifier);
        URL_SAFE_NO_PAD.encode(digest.finalize())
    };
    let own = state(&verifier);
    assert!(answer.contains(&own), "{answer}");
    for (verifier, answer) in [
        (&*another, answer.clone()),
        (&*verifier, answer.replace(&own, &state(&another))),
        ("", answer.replace(&own, &state(""))),
    ] {
        let refused = client.token(REDIRECT, verifier, &answer).await;
        assert!(matches!(refused, Err(OAuthError::OtherLogin)), "{answer}");
    }
    assert_eq!(provider.grants("authorization_code"), 0);
    let token = client.token(REDIRECT, &verifier, &answer).await.unwrap();
    let header = header(&token).unwrap();
    let keys = KeySet::read(&provider.published_keys()).unwrap();
    let key = keys.find(header.kid.as_deref(), header.alg).next().unwrap();
    let claims: Value = verify(&token, key, header.alg).unwrap();
    assert_eq!(claims["aud"], "https://nobody.example/mcp");
    assert_eq!(claims["scope"], "mgp:use", "nothing is asked for that renews it");
    assert!(client.token(REDIRECT, &verifier, &answer).await.is_err(), "a code counts once");
}

#[tokio::test]
async fn clients_prove_who_they_are_in_every_way() {
    let provider = IdentityProvider::start().await;
    let server = Guarded::start(&provider).await;
    let key = SigningKey::generate().unwrap();
    provider.add_client("basic", KnownClient::new(Proof::Basic("a secret: +/%".into())));
    provider.add_client("key", KnownClient::new(Proof::Key(Box::new(key.public_jwk().clone()))));
    for credentials in
        [ClientCredentials::with_secret("basic", "a secret: +/%"), ClientCredentials::with_key("key", key)]
    {
        let id = credentials.id.clone();
        let oauth =
            oauth(&server).grant(Grant::ClientCredentials).credentials(credentials.at(provider.issuer()));
        let claims = server.visit(&oauth.build().unwrap()).await.unwrap();
        assert_eq!(claims["client_id"], *id);
    }
    let wrong = ClientCredentials::with_secret("basic", "another").at(provider.issuer());
    let oauth = oauth(&server).grant(Grant::ClientCredentials).credentials(wrong).build().unwrap();
    assert!(server.visit(&oauth).await.is_err());
}

#[tokio::test]
async fn a_client_may_be_described_by_a_document() {
    let provider = IdentityProvider::start().await;
    let server = Guarded::start(&provider).await;
    let document = provider.url(Endpoint::ClientDocument);
    provider.set(|settings| settings.has_registration = false);
    let claims =
        server.visit(&oauth(&server).client_metadata_url(document.clone()).build().unwrap()).await.unwrap();
    assert_eq!(claims["client_id"], document);
    assert_eq!(provider.count(Endpoint::Register), 0);
}

#[tokio::test]
async fn tokens_are_bound_to_the_key_of_the_client() {
    let provider = IdentityProvider::start().await;
    let server = Guarded::start(&provider).await;
    provider.set(|settings| settings.demands_nonce = true);
    let claims = server.visit(&oauth(&server).bound_tokens().build().unwrap()).await.unwrap();
    assert!(claims["cnf"]["jkt"].is_string(), "{claims}");
}

#[tokio::test]
async fn tokens_are_exchanged_and_other_issuers_vouch_for_people() {
    let (provider, other) = (IdentityProvider::start().await, IdentityProvider::start().await);
    let server = Guarded::start(&provider).await;
    provider.add_client("gateway", KnownClient::new(Proof::Basic("secret".into())));
    provider.trust(&other.issuer(), &other.published_keys());
    let credentials = || ClientCredentials::with_secret("gateway", "secret").at(provider.issuer());
    let subject = provider.issue(&json!({ "sub": "alice", "aud": "gateway" }));
    let vouched = other.issue(&json!({ "sub": "workload", "aud": provider.issuer() }));
    for (grant, who) in [
        (Grant::TokenExchange(TokenSource::fixed(subject)), "alice"),
        (Grant::WorkloadIdentity(TokenSource::fixed(vouched)), "workload"),
    ] {
        let oauth = oauth(&server).grant(grant).credentials(credentials()).build().unwrap();
        assert_eq!(server.visit(&oauth).await.unwrap()["sub"], who);
    }
}

#[tokio::test]
async fn what_an_issuer_does_wrong_is_refused() {
    for fault in [
        Fault::WrongIssuer("https://evil.example".into()),
        Fault::WrongIss("https://evil.example".into()),
        Fault::NoIss,
        Fault::NoPkce,
        Fault::Oversized(Endpoint::Metadata),
        Fault::Failing(Endpoint::Token, 500),
    ] {
        let provider = IdentityProvider::start().await;
        let server = Guarded::start(&provider).await;
        provider.fault(fault.clone());
        let oauth = oauth(&server).build().unwrap();
        assert!(server.visit(&oauth).await.is_err(), "{fault:?}");
        provider.heal();
        assert!(server.visit(&oauth).await.is_ok(), "{fault:?}");
    }
}

#[tokio::test]
async fn a_login_on_another_device_waits_for_consent() {
    let provider = IdentityProvider::start().await;
    provider.set(|settings| settings.is_opaque = true);
    let server = Guarded::start(&provider).await;
    let oauth = oauth(&server).credentials(ClientCredentials::public("tv").at(provider.issuer()));
    provider.add_client("tv", KnownClient::new(Proof::None));
    let consenting = provider.clone();
    let oauth = oauth.build().unwrap();
    oauth.login_by_device(move |device| consenting.approve(&device.code, "alice")).await.unwrap();
    assert!(oauth.stored_login().await.unwrap().is_some());
    assert!(provider.count(Endpoint::Token) >= 1);
}

#[tokio::test]
async fn a_token_is_renewed_once_however_many_need_it() {
    let provider = IdentityProvider::start().await;
    let server = Guarded::start(&provider).await;
    provider.set(|settings| settings.lifetime = Duration::ZERO);
    let oauth = oauth(&server).build().unwrap();
    oauth.login().await.unwrap();
    provider.set(|settings| settings.lifetime = Duration::from_mins(5));
    futures_util::future::join_all((0..10).map(|_| server.visit(&oauth))).await;
    assert_eq!((provider.grants("authorization_code"), provider.grants("refresh_token")), (1, 1));
}

#[tokio::test]
async fn a_renewal_goes_on_when_who_needed_it_gives_up() {
    let provider = IdentityProvider::start().await;
    let server = Guarded::start(&provider).await;
    provider.set(|settings| settings.lifetime = Duration::ZERO);
    let store = MemoryTokenStore::new();
    let builder = || oauth(&server).store(store.clone());
    let first = builder().build().unwrap();
    first.login().await.unwrap();
    let kept = async || store.load(&LoginKey::new(&*server.url, "")).await.unwrap().unwrap().to_json();
    let before = kept().await;
    provider.set(|settings| settings.lifetime = Duration::from_mins(5));
    // Whoever asks is gone before the answer of the issuer comes.
    let mut visit = Box::pin(server.visit(&first));
    while provider.grants("refresh_token") == 0 {
        let _ = tokio::time::timeout(Duration::from_millis(1), &mut visit).await;
    }
    drop(visit);
    let renewed = async {
        while kept().await == before {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), renewed).await.expect("the renewal ended with the visit");
    // Another client of the same store goes on with the token that was given.
    let second = builder().build().unwrap();
    server.visit(&second).await.unwrap();
    assert_eq!((provider.grants("authorization_code"), provider.grants("refresh_token")), (1, 1));
}

#[tokio::test]
async fn owners_have_logins_of_their_own() {
    let provider = IdentityProvider::start().await;
    let server = Guarded::start(&provider).await;
    let store = MemoryTokenStore::new();
    for person in ["alice", "bob"] {
        provider.set(|settings| settings.consent = Consent::Of(person.into()));
        let oauth = oauth(&server).store(store.clone()).owner(person).build().unwrap();
        assert_eq!(server.visit(&oauth).await.unwrap()["sub"], person);
    }
    let nobody =
        OAuth::builder(&server.url).store(store.clone()).login_advice("sign in first").build().unwrap();
    let error = server.visit(&nobody).await.unwrap_err();
    assert!(OAuthError::of(&error).is_some_and(OAuthError::needs_login), "{error}");
    assert!(error.to_string().contains("sign in first"), "{error}");
}

#[tokio::test]
async fn metadata_that_never_end_are_given_up() {
    for fault in [Fault::Slow(Endpoint::Metadata), Fault::Oversized(Endpoint::Metadata)] {
        let provider = IdentityProvider::start().await;
        let server = Guarded::start(&provider).await;
        provider.fault(fault.clone());
        let policy = NetworkPolicy::default().allow_loopback();
        let fetcher = Fetcher::new(policy).unwrap().timeout(Duration::from_millis(200));
        let oauth = oauth(&server).fetcher(fetcher).build().unwrap();
        let error = oauth.login().await.unwrap_err();
        assert!(matches!(error, OAuthError::Unfetched { .. }), "{fault:?}: {error}");
        assert_eq!(provider.count(Endpoint::Authorize), 0);
    }
}

#[tokio::test]
async fn endpoints_in_a_private_network_are_not_asked() {
    let provider = IdentityProvider::start().await;
    let server = Guarded::start(&provider).await;
    provider.fault(Fault::Moved(Endpoint::Token, "http://169.254.169.254/token".into()));
    let error = oauth(&server).build().unwrap().login().await.unwrap_err();
    assert!(matches!(error, OAuthError::Unfetched { .. }), "{error}");
}
