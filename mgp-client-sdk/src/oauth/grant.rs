//! The ways to a token, and how a login elsewhere becomes a token of the server's issuer.

use std::future::Future;
use std::sync::Arc;

use mgp_types::{BoxFuture, Error};
use parking_lot::Mutex;
use serde::Deserialize;

use super::OAuthError;
use super::discovery::IssuerMetadata;
use super::registration::{ClientCredentials, ProvenClient};
use super::token_request::{Form, TokenEndpoint, read};

/// The way to a token.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Grant {
    /// A person signs in, in a browser.
    #[default]
    Login,
    /// The client's own credentials are enough.
    ClientCredentials,
    /// A login at an enterprise's identity provider is enough (SEP-990).
    Enterprise(EnterpriseGrant),
    /// A token of the workload's platform says who asks (SEP-1933).
    WorkloadIdentity(TokenSource),
    /// Another token of the same issuer is exchanged (RFC 8693).
    TokenExchange(TokenSource),
}

/// A login at an enterprise's identity provider, with which tokens of other issuers can be had.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EnterpriseGrant {
    /// The identity provider.
    pub provider: Box<str>,
    /// The token endpoint of the identity provider.
    pub token_endpoint: Box<str>,
    /// The client as the identity provider knows it.
    pub client: ClientCredentials,
    /// The source of the person's id token.
    pub id_token: TokenSource,
}

impl EnterpriseGrant {
    /// Creates the grant.
    pub fn new(
        provider: impl Into<Box<str>>,
        token_endpoint: impl Into<Box<str>>,
        client: ClientCredentials,
        id_token: TokenSource,
    ) -> Self {
        Self { provider: provider.into(), token_endpoint: token_endpoint.into(), client, id_token }
    }
}

/// A source of tokens that others issue, which is asked each time that one is needed.
#[derive(Clone)]
pub struct TokenSource(Arc<AskToken>);

type AskToken = dyn Fn() -> BoxFuture<'static, Result<Box<str>, Error>> + Send + Sync;

impl TokenSource {
    /// Creates a source that calls `ask` for each token.
    pub fn new<F, T>(ask: F) -> Self
    where
        F: Fn() -> T + Send + Sync + 'static,
        T: Future<Output = Result<Box<str>, Error>> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(ask())))
    }

    /// Creates a source of one token.
    pub fn fixed(token: impl Into<Box<str>>) -> Self {
        let token: Box<str> = token.into();
        Self::new(move || std::future::ready(Ok(token.clone())))
    }

    pub(super) async fn token(&self) -> Result<Box<str>, OAuthError> {
        (self.0)().await.map_err(|error| OAuthError::Store(error.message().into()))
    }
}

mgp_types::partial_debug!(TokenSource);

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
