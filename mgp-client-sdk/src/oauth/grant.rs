//! The ways to a token.

use std::future::Future;
use std::sync::Arc;

use mgp_types::{BoxFuture, Error};

use super::OAuthError;
use super::registration::ClientCredentials;

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
