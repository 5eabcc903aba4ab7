//! The endpoints of tokens: where they are handed out, and where servers ask about them.

use http::{Method, StatusCode, Uri};
use mgp_security::jose::dpop;
use serde_json::{Map, Value, json};

use super::exchange::{self, Answer, Refusal, Request};
use super::fault::Endpoint;
use super::issued::{Consented, RefreshToken, random};
use super::{State, clients, grants, now};

/// What a grant leads to.
pub(super) struct Granted {
    pub(super) consented: Consented,
    /// Whether the client can renew the token itself.
    pub(super) is_renewable: bool,
    /// The kind of token, where it is not an access token.
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Access,
    /// An access token that was exchanged for another one.
    Exchanged,
    /// An assertion for another issuer (ID-JAG), with the issuer it is for.
    Assertion(String),
}

pub(super) async fn token(state: &State, request: &Request) -> Result<Answer, Refusal> {
    let form = request.form();
    let grant = form.need("grant_type")?;
    state.hits.add_grant(grant);
    let client = clients::authenticate(state, request, &form).await?;
    let bound_to = proof(state, request)?;
    let mut granted = grants::judge(state, &form, &client, bound_to.as_deref())?;
    granted.consented.bound_to = bound_to;
    if let Some(resource) = form.get("resource") {
        granted.consented.resource = Some(resource.into());
    }
    Ok(exchange::json(StatusCode::OK, &Value::Object(answer(state, granted))))
}

/// Returns the thumbprint of the key whose possession the request proves.
fn proof(state: &State, request: &Request) -> Result<Option<String>, Refusal> {
    let Some(proof) = request.header("dpop") else { return Ok(None) };
    let url: Uri = state.url(Endpoint::Token).parse().unwrap();
    let verified = dpop::verify(proof, &Method::POST, &url, None)
        .map_err(|error| Refusal::of("invalid_dpop_proof", &error.to_string()))?;
    if state.settings.lock().demands_nonce && verified.nonce.as_deref() != Some(NONCE) {
        return Err(Refusal { nonce: Some(NONCE), ..Refusal::of("use_dpop_nonce", "a nonce is needed") });
    }
    Ok(Some(verified.thumbprint.into()))
}

fn answer(state: &State, granted: Granted) -> Map<String, Value> {
    let consented = granted.consented;
    let mut answer = Map::new();
    let mut set = |name: &str, value: Value| drop(answer.insert(name.into(), value));
    let lifetime = state.settings.lock().lifetime.as_secs();
    let kind = if consented.bound_to.is_some() { "DPoP" } else { "Bearer" };
    let text = match granted.kind {
        Kind::Assertion(audience) => {
            set("issued_token_type", json!(grants::ID_JAG));
            set("token_type", json!("N_A"));
            assertion(state, &consented, &audience)
        }
        Kind::Access | Kind::Exchanged => {
            set("token_type", json!(kind));
            if let Kind::Exchanged = granted.kind {
                set("issued_token_type", json!(grants::ACCESS_TOKEN));
            }
            access(state, &consented)
        }
    };
    set("access_token", json!(text));
    set("expires_in", json!(lifetime));
    set("scope", json!(consented.scope));
    if consented.scope.split(' ').any(|scope| scope == "openid") {
        let claims = json!({ "sub": consented.subject, "aud": consented.client });
        let algorithm = state.settings.lock().algorithm;
        set("id_token", json!(state.signed(algorithm, "JWT", &claims)));
    }
    if granted.is_renewable {
        let refresh = random();
        set("refresh_token", json!(refresh));
        state.issued.lock().refresh.insert(refresh, RefreshToken { consented, is_used: false });
    }
    answer
}

fn access(state: &State, consented: &Consented) -> String {
    let settings = state.settings.lock().clone();
    let end = now() + i64::try_from(settings.lifetime.as_secs()).unwrap();
    let mut claims = json!({
        "iss": state.issuer(),
        "sub": consented.subject,
        "aud": consented.resource.as_ref().unwrap_or(&consented.client),
        "client_id": consented.client,
        "scope": consented.scope,
        "iat": now(),
        "exp": end,
    });
    claims.as_object_mut().unwrap().extend(settings.claims.as_object().cloned().unwrap_or_default());
    if let Some(thumbprint) = &consented.bound_to {
        claims["cnf"] = json!({ "jkt": thumbprint });
    }
    let text =
        if settings.is_opaque { random() } else { state.signed(settings.algorithm, "at+jwt", &claims) };
    state.issued.lock().access.insert(text.clone(), (claims, consented.family));
    text
}

fn assertion(state: &State, consented: &Consented, audience: &str) -> String {
    let claims = json!({
        "sub": consented.subject,
        "aud": audience,
        "client_id": consented.client,
        "resource": consented.resource,
        "scope": consented.scope,
    });
    let algorithm = state.settings.lock().algorithm;
    state.signed(algorithm, "oauth-id-jag+jwt", &claims)
}

/// Tells a server what is known of a token (RFC 7662).
pub(super) async fn introspect(state: &State, request: &Request) -> Result<Answer, Refusal> {
    let form = request.form();
    clients::authenticate(state, request, &form).await?;
    let token = form.need("token")?;
    let issued = state.issued.lock();
    let mut claims = match issued.access.get(token) {
        Some((claims, family)) if !issued.is_revoked(*family) && claims["exp"].as_i64() > Some(now()) => {
            claims.clone()
        }
        _ => return Ok(exchange::json(StatusCode::OK, &json!({ "active": false }))),
    };
    claims["active"] = json!(true);
    claims["token_type"] = json!(if claims["cnf"].is_null() { "Bearer" } else { "DPoP" });
    Ok(exchange::json(StatusCode::OK, &claims))
}

const NONCE: &str = "nonce-of-the-provider";
