//! The clients, and how they prove who they are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use mgp_security::jose::{Jwk, VerifyingKey};
use mgp_security::network::{Fetcher, NetworkPolicy};
use serde_json::{Value, json};

use super::State;
use super::exchange::{self, Answer, Form, Refusal, Request};
use super::fault::Endpoint;
use super::issued::random;

/// A client of the provider.
#[derive(Debug, Clone)]
pub(crate) struct KnownClient {
    pub(crate) proof: Proof,
    pub(crate) redirect_uris: Vec<String>,
}

/// How a client proves who it is.
#[derive(Debug, Clone)]
pub(crate) enum Proof {
    None,
    Basic(String),
    Post(String),
    Key(Box<Jwk>),
}

impl KnownClient {
    pub(crate) fn new(proof: Proof) -> Self {
        Self { proof, redirect_uris: Vec::new() }
    }

    /// Returns whether an address is one of the client's: exactly, but for the port of a loopback address (RFC 8252).
    pub(super) fn has_address(&self, uri: &str) -> bool {
        self.redirect_uris
            .iter()
            .any(|own| own == uri || portless(own).is_some_and(|own| Some(own) == portless(uri)))
    }
}

/// Returns an address of the machine itself without its port.
fn portless(uri: &str) -> Option<url::Url> {
    let mut uri = url::Url::parse(uri).ok()?;
    let is_loopback = matches!(uri.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
    if !is_loopback || uri.scheme() != "http" || uri.fragment().is_some() {
        return None;
    }
    uri.set_port(None).ok()?;
    Some(uri)
}

/// Registers a client by its own words (RFC 7591).
pub(super) fn register(state: &State, request: &Request) -> Result<Answer, Refusal> {
    if !state.settings.lock().has_registration {
        return Err(Refusal { status: StatusCode::NOT_FOUND, ..Refusal::request("no registration") });
    }
    let wrong = |what: &str| Refusal::of("invalid_client_metadata", what);
    let mut asked: Value = serde_json::from_slice(&request.body).map_err(|_| wrong("no JSON"))?;
    let redirect_uris = addresses(&asked);
    let method = asked["token_endpoint_auth_method"].as_str().unwrap_or("client_secret_basic").to_owned();
    let (id, secret) = (format!("client-{}", random()), random());
    let proof = match &*method {
        "none" => Proof::None,
        "client_secret_basic" => Proof::Basic(secret.clone()),
        "client_secret_post" => Proof::Post(secret.clone()),
        "private_key_jwt" => Proof::Key(Box::new(
            serde_json::from_value(asked["jwks"]["keys"][0].clone()).map_err(|_| wrong("no key"))?,
        )),
        _ => return Err(wrong("an unknown method")),
    };
    let members = asked.as_object_mut().ok_or_else(|| wrong("no object"))?;
    if matches!(proof, Proof::Basic(_) | Proof::Post(_)) {
        members.insert("client_secret".into(), json!(secret));
        members.insert("client_secret_expires_at".into(), json!(0));
    }
    members.insert("client_id".into(), json!(id));
    members.insert("token_endpoint_auth_method".into(), json!(method));
    state.clients.lock().insert(id, KnownClient { proof, redirect_uris });
    Ok(exchange::json(StatusCode::CREATED, &asked))
}

fn addresses(metadata: &Value) -> Vec<String> {
    let listed = metadata["redirect_uris"].as_array().into_iter().flatten();
    listed.filter_map(|uri| uri.as_str().map(Into::into)).collect()
}

/// Returns a client by its name: a known one, or one that a document at this URL describes.
pub(super) async fn find(state: &State, id: &str) -> Result<KnownClient, Refusal> {
    if let Some(client) = state.clients.lock().get(id) {
        return Ok(client.clone());
    }
    let unknown = || Refusal::client("the client is not known");
    if !id.starts_with("http") || !state.settings.lock().has_client_documents {
        return Err(unknown());
    }
    let fetcher = Fetcher::new(NetworkPolicy::default().allow_loopback()).map_err(|_| unknown())?;
    let answer = fetcher.get(id, &HeaderMap::new()).await.map_err(|_| unknown())?;
    let document: Value = serde_json::from_slice(&answer.body).map_err(|_| unknown())?;
    if document["client_id"] != id {
        return Err(Refusal::client("the document describes another client"));
    }
    Ok(KnownClient { proof: Proof::None, redirect_uris: addresses(&document) })
}

/// Returns the name of the client that sent a form, once it has proven to be that.
pub(super) async fn authenticate(state: &State, request: &Request, form: &Form) -> Result<String, Refusal> {
    let basic = basic(request);
    let assertion = form.get("client_assertion");
    let id = match (&basic, assertion) {
        (Some((id, _)), _) => id.clone(),
        (None, Some(assertion)) => subject(assertion).ok_or_else(|| Refusal::client("no assertion"))?,
        (None, None) => form.get("client_id").ok_or_else(|| Refusal::client("no client is named"))?.into(),
    };
    let is_proven = match find(state, &id).await?.proof {
        Proof::None => basic.is_none() && assertion.is_none() && form.get("client_secret").is_none(),
        Proof::Basic(secret) => basic.is_some_and(|(_, shown)| shown == secret),
        Proof::Post(secret) => form.get("client_secret") == Some(&secret),
        Proof::Key(key) => assertion.is_some_and(|assertion| asserts(state, assertion, &key, &id)),
    };
    if is_proven { Ok(id) } else { Err(Refusal::client("the client has not proven who it is")) }
}

fn basic(request: &Request) -> Option<(String, String)> {
    let pair = STANDARD.decode(request.header("authorization")?.strip_prefix("Basic ")?).ok()?;
    let pair = String::from_utf8(pair).ok()?;
    let (id, secret) = pair.split_once(':')?;
    let decoded = |text: &str| {
        let form = Form::read(format!("v={text}").as_bytes());
        form.get("v").map(str::to_owned)
    };
    Some((decoded(id)?, decoded(secret)?))
}

/// Returns who an assertion is about, which nothing proves yet.
fn subject(assertion: &str) -> Option<String> {
    let payload = assertion.split('.').nth(1)?;
    let json = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).ok()?;
    let claims: Value = serde_json::from_slice(&json).ok()?;
    claims["sub"].as_str().map(Into::into)
}

fn asserts(state: &State, assertion: &str, jwk: &Jwk, id: &str) -> bool {
    let verified = || {
        let algorithm = mgp_security::jose::header(assertion).ok()?.alg;
        let key = VerifyingKey::from_jwk(jwk).ok()?;
        mgp_security::jose::verify::<Value>(assertion, &key, algorithm).ok()
    };
    verified().is_some_and(|claims| {
        claims["iss"] == id
            && claims["sub"] == id
            && is_for(state, &claims["aud"])
            && claims["exp"].as_i64().is_some_and(|end| end > super::now())
    })
}

/// Returns whether an audience is this provider.
pub(super) fn is_for(state: &State, audience: &Value) -> bool {
    let own = [json!(state.issuer()), json!(state.url(Endpoint::Token))];
    match audience {
        Value::Array(all) => all.iter().any(|one| own.contains(one)),
        one => own.contains(one),
    }
}
