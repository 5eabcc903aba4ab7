//! The grants: what a client shows for a token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::exchange::{Form, Refusal};
use super::issued::Consented;
use super::token::{Granted, Kind};
use super::{State, clients};

const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
pub(super) const ALL: [&str; 6] =
    ["authorization_code", "refresh_token", "client_credentials", DEVICE, EXCHANGE, JWT_BEARER];
pub(super) const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
pub(super) const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// Returns what a client gets for what it shows.
pub(super) fn judge(
    state: &State,
    form: &Form,
    client: &str,
    bound_to: Option<&str>,
) -> Result<Granted, Refusal> {
    match form.need("grant_type")? {
        "authorization_code" => code(state, form, client, bound_to),
        "refresh_token" => refresh(state, form, client, bound_to),
        "client_credentials" => {
            if let clients::Proof::None = proof_of(state, client) {
                return Err(Refusal::of("unauthorized_client", "the client proves nothing"));
            }
            Ok(access(fresh(state, form, client, client)))
        }
        DEVICE => device(state, form, client),
        EXCHANGE => exchange(state, form, client),
        JWT_BEARER => {
            let claims = state.verified(form.need("assertion")?);
            let claims = claims.filter(|claims| clients::is_for(state, &claims["aud"]));
            let claims = claims.ok_or_else(|| Refusal::grant("the assertion is not valid here"))?;
            let mut consented = fresh(state, form, client, subject(&claims)?);
            consented.resource = claims["resource"].as_str().map(Into::into);
            Ok(access(consented))
        }
        _ => Err(Refusal::of("unsupported_grant_type", "the grant is not known")),
    }
}

fn access(consented: Consented) -> Granted {
    Granted { consented, is_renewable: false, kind: Kind::Access }
}

fn proof_of(state: &State, client: &str) -> clients::Proof {
    let clients = state.clients.lock();
    clients.get(client).map_or(clients::Proof::None, |client| client.proof.clone())
}

fn fresh(state: &State, form: &Form, client: &str, subject: &str) -> Consented {
    Consented {
        client: client.into(),
        subject: subject.into(),
        scope: form.get("scope").unwrap_or_default().into(),
        resource: None,
        bound_to: None,
        family: state.issued.lock().new_family(),
    }
}

fn subject(claims: &Value) -> Result<&str, Refusal> {
    claims["sub"].as_str().ok_or_else(|| Refusal::grant("the token names nobody"))
}

/// A code is good for one token; a second try ends what came from the first.
fn code(state: &State, form: &Form, client: &str, bound_to: Option<&str>) -> Result<Granted, Refusal> {
    let verifier = form.need("code_verifier")?;
    let mut issued = state.issued.lock();
    let code = issued.codes.get_mut(form.need("code")?);
    let code = code.ok_or_else(|| Refusal::grant("the code is not known"))?;
    let was_used = std::mem::replace(&mut code.is_used, true);
    let code = code.clone();
    if was_used {
        issued.revoke_family(code.consented.family);
        return Err(Refusal::grant("the code was used before"));
    }
    let fits_key = code.consented.bound_to.as_deref().is_none_or(|thumbprint| bound_to == Some(thumbprint));
    let is_asker = code.challenge == URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    if code.consented.client != client
        || form.need("redirect_uri")? != code.redirect_uri
        || !is_asker
        || !fits_key
    {
        return Err(Refusal::grant("the code is for another client, address, verifier or key"));
    }
    if code.consented.resource.as_deref() != form.get("resource") {
        return Err(Refusal::of("invalid_target", "the code is for another resource"));
    }
    Ok(Granted { consented: code.consented, is_renewable: true, kind: Kind::Access })
}

/// A refresh token is good for one renewal; a second try ends what came from the first.
fn refresh(state: &State, form: &Form, client: &str, bound_to: Option<&str>) -> Result<Granted, Refusal> {
    let mut issued = state.issued.lock();
    let token = issued.refresh.get_mut(form.need("refresh_token")?);
    let token = token.filter(|token| token.consented.client == client);
    let token = token.ok_or_else(|| Refusal::grant("the refresh token is not known"))?;
    let was_used = std::mem::replace(&mut token.is_used, true);
    let consented = token.consented.clone();
    if was_used {
        issued.revoke_family(consented.family);
    }
    if issued.is_revoked(consented.family) {
        return Err(Refusal::grant("the refresh token was used before, or is revoked"));
    }
    if consented.bound_to.as_deref() != bound_to {
        return Err(Refusal::grant("the refresh token is bound to another key"));
    }
    Ok(Granted { consented, is_renewable: true, kind: Kind::Access })
}

fn device(state: &State, form: &Form, client: &str) -> Result<Granted, Refusal> {
    let mut issued = state.issued.lock();
    let code = form.need("device_code")?;
    let device = issued.devices.get(code).filter(|device| device.consented.client == client);
    let device = device.ok_or_else(|| Refusal::grant("the device code is not known"))?.clone();
    if !device.is_approved {
        return Err(Refusal::of("authorization_pending", "nobody has consented yet"));
    }
    issued.devices.remove(code);
    Ok(Granted { consented: device.consented, is_renewable: true, kind: Kind::Access })
}

/// Exchanges one of the provider's own tokens (RFC 8693).
fn exchange(state: &State, form: &Form, client: &str) -> Result<Granted, Refusal> {
    form.need("subject_token_type")?;
    let claims = state.verified(form.need("subject_token")?);
    let claims = claims.ok_or_else(|| Refusal::request("the subject token is not valid"))?;
    let consented = fresh(state, form, client, subject(&claims)?);
    let kind = match form.get("requested_token_type") {
        Some(ID_JAG) => Kind::Assertion(form.need("audience")?.into()),
        None | Some(ACCESS_TOKEN) => Kind::Exchanged,
        Some(_) => return Err(Refusal::request("this kind of token is not issued")),
    };
    Ok(Granted { consented, is_renewable: false, kind })
}
