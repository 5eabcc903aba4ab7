//! An identity provider for tests, and for trying things out: an authorization server on a loopback port over plain HTTP.
//!
//! Everybody who asks it is who they say they are, unless its [`Settings`] say that a page has to be filled in. It is right
//! in everything else, until a test switches a [`Fault`] on. [`IdentityProvider::issue`] signs any claims for tests that need
//! no more than a token.
//!
//! | file | holds |
//! |---|---|
//! | `serve`, `exchange` | requests and answers of HTTP |
//! | `keys`, `documents` | keys, and the documents that publish them |
//! | `clients` | registered clients, and how they prove who they are |
//! | `authorize`, `device` | where a person consents |
//! | `token`, `grants`, `issued` | where tokens are handed out, and what is known of them |
//! | `fault` | what it can do wrong, and what it counts |
#![allow(dead_code, unused_imports, reason = "each program that includes this uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod authorize;
mod clients;
mod device;
mod documents;
mod exchange;
mod fault;
mod grants;
mod issued;
mod keys;
mod serve;
mod token;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_security::jose::{Algorithm, Header, Jwk, KeySet};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub(crate) use self::clients::{KnownClient, Proof};
use self::fault::Hits;
pub(crate) use self::fault::{Endpoint, Fault};
use self::issued::Issued;
use self::keys::Keys;

/// An identity provider that runs as long as the runtime in which it was started.
#[derive(Clone)]
pub(crate) struct IdentityProvider(Arc<State>);

struct State {
    origin: String,
    /// The path of the issuer; empty, or with a slash in front and none behind.
    path: String,
    keys: Mutex<Keys>,
    settings: Mutex<Settings>,
    faults: Mutex<Vec<Fault>>,
    hits: Hits,
    clients: Mutex<HashMap<String, KnownClient>>,
    issued: Mutex<Issued>,
    /// The issuers whose assertions are taken, with their keys.
    trusted: Mutex<HashMap<String, KeySet>>,
}

/// The way in which an identity provider works.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a feature of its own")]
pub(crate) struct Settings {
    pub(crate) consent: Consent,
    /// The algorithm by which tokens are signed.
    pub(crate) algorithm: Algorithm,
    /// The time for which access tokens are valid.
    pub(crate) lifetime: Duration,
    /// Access tokens say nothing themselves, and have to be asked about (introspection).
    pub(crate) is_opaque: bool,
    /// Proofs of possession need a nonce.
    pub(crate) demands_nonce: bool,
    /// Clients may register themselves.
    pub(crate) has_registration: bool,
    /// The names of clients may be URLs of documents that describe them.
    pub(crate) has_client_documents: bool,
    pub(crate) scopes: Vec<String>,
    /// Further claims of access tokens; none if it is no object.
    pub(crate) claims: Value,
    pub(crate) documents: Documents,
}

/// Who consents to what clients ask for.
#[derive(Debug, Clone)]
pub(crate) enum Consent {
    /// This person, at once.
    Of(String),
    /// Whoever fills in the page.
    Asked,
    /// Nobody.
    Denied,
}

/// The metadata that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Documents {
    Both,
    OauthOnly,
    OpenIdOnly,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            consent: Consent::Of("person".into()),
            algorithm: Algorithm::ES256,
            lifetime: Duration::from_mins(5),
            is_opaque: false,
            demands_nonce: false,
            has_registration: true,
            has_client_documents: true,
            scopes: ["mgp:use", "offline_access"].map(Into::into).to_vec(),
            claims: Value::Null,
            documents: Documents::Both,
        }
    }
}

impl IdentityProvider {
    /// Starts a provider whose issuer has no path.
    pub(crate) async fn start() -> Self {
        Self::start_at(0, "").await
    }

    /// Starts a provider at this port, or any that is free if it is 0, whose issuer has this path.
    pub(crate) async fn start_at(port: u16, path: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let provider = Self(Arc::new(State {
            origin: format!("http://{}", listener.local_addr().unwrap()),
            path: path.trim_end_matches('/').to_owned(),
            keys: Mutex::new(Keys::new()),
            settings: Mutex::default(),
            faults: Mutex::default(),
            hits: Hits::default(),
            clients: Mutex::default(),
            issued: Mutex::default(),
            trusted: Mutex::default(),
        }));
        tokio::spawn(serve::serve(provider.0.clone(), listener));
        provider
    }

    pub(crate) fn issuer(&self) -> String {
        self.0.issuer()
    }

    /// Returns the URL of one of the endpoints.
    pub(crate) fn url(&self, endpoint: Endpoint) -> String {
        self.0.url(endpoint)
    }

    /// Changes how the provider works from now on.
    pub(crate) fn set(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.0.settings.lock());
    }

    /// Has the provider do something wrong from now on.
    pub(crate) fn fault(&self, fault: Fault) {
        self.0.faults.lock().push(fault);
    }

    /// Has the provider do everything right again.
    pub(crate) fn heal(&self) {
        self.0.faults.lock().clear();
    }

    /// Returns how often an endpoint was asked.
    pub(crate) fn count(&self, endpoint: Endpoint) -> usize {
        self.0.hits.of(endpoint)
    }

    /// Returns how often a token was asked for by this grant, such as `refresh_token`.
    pub(crate) fn grants(&self, grant: &str) -> usize {
        self.0.hits.of_grant(grant)
    }

    /// Adds a client.
    pub(crate) fn add_client(&self, id: &str, client: KnownClient) {
        self.0.clients.lock().insert(id.into(), client);
    }

    /// Signs claims as those of an access token, by the key for the algorithm of the settings. `iss`, `iat`, `exp` and `jti`
    /// are added where they are missing; a claim that is `null` is left out.
    pub(crate) fn issue(&self, claims: &Value) -> String {
        let algorithm = self.0.settings.lock().algorithm;
        self.issue_by(algorithm, claims)
    }

    /// As [`Self::issue`], by the key for this algorithm.
    pub(crate) fn issue_by(&self, algorithm: Algorithm, claims: &Value) -> String {
        self.0.signed(algorithm, "at+jwt", claims)
    }

    /// Signs exactly these claims with exactly this header by the current key for the algorithm in it.
    pub(crate) fn sign(&self, header: Header, claims: &Value) -> String {
        let key = self.0.keys.lock().current(header.alg).key.clone();
        key.sign(header, claims).unwrap()
    }

    /// Returns the id of the current key for an algorithm.
    pub(crate) fn key_id(&self, algorithm: Algorithm) -> String {
        self.0.keys.lock().current(algorithm).id.clone()
    }

    /// Returns the published keys as a JWK Set.
    pub(crate) fn published_keys(&self) -> Vec<u8> {
        self.0.keys.lock().published().to_string().into_bytes()
    }

    /// Takes assertions of another issuer, which signs by these keys (a JWK Set).
    pub(crate) fn trust(&self, issuer: &str, keys: &[u8]) {
        self.0.trusted.lock().insert(issuer.into(), KeySet::read(keys).unwrap());
    }

    /// Consents to the login on another device that showed this code.
    pub(crate) fn approve(&self, user_code: &str, subject: &str) {
        assert!(self.0.issued.lock().approve(user_code, subject), "no device shows this code");
    }
}

impl State {
    fn issuer(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }

    fn url(&self, endpoint: Endpoint) -> String {
        format!("{}{}{}", self.origin, self.path, endpoint.path())
    }

    fn has_fault(&self, fault: &Fault) -> bool {
        self.faults.lock().contains(fault)
    }

    fn signed(&self, algorithm: Algorithm, kind: &str, claims: &Value) -> String {
        let now = now();
        let mut all = json!({ "iss": self.issuer(), "iat": now, "exp": now + 300, "jti": issued::random() });
        let members = all.as_object_mut().unwrap();
        members.extend(claims.as_object().cloned().unwrap());
        members.retain(|_, value| !value.is_null());
        let keys = self.keys.lock();
        let current = keys.current(algorithm);
        let mut header = Header::new(algorithm);
        header.typ = Some(kind.into());
        header.kid = Some(current.id.clone());
        current.key.sign(header, &all).unwrap()
    }

    /// Returns the claims of a token that this provider, or one that it trusts, signed and that is not over.
    fn verified(&self, token: &str) -> Option<Value> {
        let header = mgp_security::jose::header(token).ok()?;
        let own = KeySet::read(self.keys.lock().published().to_string().as_bytes()).ok()?;
        let trusted = self.trusted.lock();
        let issuer = self.issuer();
        let mut sets = trusted.iter().chain([(&issuer, &own)]);
        let claims: Value = sets.find_map(|(issuer, set)| {
            let mut keys = set.find(header.kid.as_deref(), header.alg);
            let claims: Value =
                keys.find_map(|key| mgp_security::jose::verify(token, key, header.alg).ok())?;
            (claims["iss"] == issuer.as_str()).then_some(claims)
        })?;
        (claims["exp"].as_i64()? > now()).then_some(claims)
    }
}

fn now() -> i64 {
    mgp_types::mgp::Timestamp::now().as_millis().div_euclid(1000)
}

/// Returns a public key as a value.
fn jwk_value(jwk: &Jwk) -> Value {
    serde_json::to_value(jwk).unwrap()
}
