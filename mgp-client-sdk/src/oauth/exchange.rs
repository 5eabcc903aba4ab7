//! Tokens for tokens: how a login elsewhere becomes a token of the server's issuer.

use super::OAuthError;
use super::client_proof::ProvenClient;
use super::grant::EnterpriseGrant;
use super::metadata::IssuerMetadata;
use super::token_request::{Form, TokenEndpoint, read};
use parking_lot::Mutex;
use serde::Deserialize;

/// Returns the form that asks for a token with an assertion about who asks (RFC 7523).
pub(super) fn jwt_bearer(assertion: &str) -> Form {
    Form::of(&[("grant_type", JWT_BEARER_GRANT), ("assertion", assertion)])
}

/// Returns the form that asks for a token in exchange for another one (RFC 8693).
pub(super) fn exchanged(subject_token: &str) -> Form {
    Form::of(&[
        ("grant_type", EXCHANGE_GRANT),
        ("subject_token", subject_token),
        ("subject_token_type", ACCESS_TOKEN),
        ("requested_token_type", ACCESS_TOKEN),
    ])
}

/// Asks an enterprise's identity provider for the assertion that lets its user use `resource` (the ID-JAG of SEP-990).
pub(super) async fn enterprise_assertion(
    wanted: &TokenEndpoint<'_>,
    grant: &EnterpriseGrant,
    resource: &str,
    scopes: &[Box<str>],
) -> Result<Box<str>, OAuthError> {
    #[derive(Deserialize)]
    struct Answer {
        access_token: Box<str>,
        issued_token_type: Option<Box<str>>,
    }
    let provider = IssuerMetadata {
        issuer: grant.provider.to_string(),
        token_endpoint: Some(grant.token_endpoint.to_string()),
        ..IssuerMetadata::default()
    };
    let id_token = grant.id_token.token().await?;
    let mut form = Form::of(&[
        ("grant_type", EXCHANGE_GRANT),
        ("requested_token_type", ID_JAG),
        ("audience", &wanted.issuer.issuer),
        ("resource", resource),
        ("subject_token", &id_token),
        ("subject_token_type", ID_TOKEN),
    ]);
    form.set_if_some("scope", joined(scopes).as_deref());
    let endpoint = TokenEndpoint {
        fetcher: wanted.fetcher,
        issuer: &provider,
        resource: None,
        client: ProvenClient::configured(&grant.client, &provider),
        key: None,
        nonce: &Mutex::new(None),
    };
    let answer: Answer = read(&endpoint.post(form).await?)?;
    if answer.issued_token_type.as_deref() != Some(ID_JAG) {
        return Err(OAuthError::Metadata("the identity provider gave something else than was asked for"));
    }
    Ok(answer.access_token)
}

/// Returns scopes as a request names them; `None` if there are none.
pub(super) fn joined(scopes: &[Box<str>]) -> Option<String> {
    (!scopes.is_empty()).then(|| scopes.join(" "))
}

pub(super) const JWT_BEARER_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const JWT_BEARER_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const EXCHANGE_GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
