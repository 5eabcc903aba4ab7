//! Who a client is at an issuer.

use http::HeaderMap;
use mgp_security::jose::SigningKey;
use mgp_security::network::Fetcher;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::OAuthError;
use super::metadata::IssuerMetadata;
use super::token_request::{parsed, refusal};

/// A client that is known to an issuer: its id, and how it proves that it is this client.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientCredentials {
    /// The id of the client.
    pub id: Box<str>,
    /// The proof of the client.
    pub proof: ClientProof,
    /// The issuer at which the client is known; `None` if it is whichever the server names.
    pub issuer: Option<Box<str>>,
}

/// The way in which a client proves who it is at the token endpoint.
#[derive(Clone)]
#[non_exhaustive]
pub enum ClientProof {
    /// The client has no secret, as programs on people's machines have none.
    None,
    /// The client has a secret.
    Secret(Box<str>),
    /// The client signs with a private key (`private_key_jwt`).
    Key(SigningKey),
}

impl ClientCredentials {
    /// Creates a client without a secret.
    pub fn public(id: impl Into<Box<str>>) -> Self {
        Self { id: id.into(), proof: ClientProof::None, issuer: None }
    }

    /// Creates a client with a secret.
    pub fn with_secret(id: impl Into<Box<str>>, secret: impl Into<Box<str>>) -> Self {
        Self { id: id.into(), proof: ClientProof::Secret(secret.into()), issuer: None }
    }

    /// Creates a client that signs with a private key.
    pub fn with_key(id: impl Into<Box<str>>, key: SigningKey) -> Self {
        Self { id: id.into(), proof: ClientProof::Key(key), issuer: None }
    }

    /// Sets the issuer at which the client is known. The credentials are sent to no other one.
    #[must_use]
    pub fn at(mut self, issuer: impl Into<Box<str>>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }
}

mgp_types::partial_debug!(ClientCredentials, self => id: self.id, issuer: self.issuer, proof: self.proof);
mgp_types::partial_debug!(ClientProof, self => kind: match self {
    Self::None => "none",
    Self::Secret(_) => "secret",
    Self::Key(_) => "key",
});

/// A client that an issuer registered at run time.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RegisteredClient {
    pub(super) client_id: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token_endpoint_auth_method: Option<Box<str>>,
    /// The address to which answers of logins come.
    #[serde(default)]
    pub(super) redirect_uri: Box<str>,
}

/// Registers a client at an issuer (RFC 7591).
pub(super) async fn register(
    fetcher: &Fetcher,
    issuer: &IssuerMetadata,
    client_name: &str,
    redirect_uri: &str,
    scope: Option<&str>,
) -> Result<RegisteredClient, OAuthError> {
    let endpoint = issuer.registration_endpoint.as_deref().ok_or(OAuthError::Unregistered)?;
    let method = preferred_method(issuer);
    let mut wanted = json!({
        "client_name": client_name,
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    });
    if let Some(scope) = scope {
        wanted["scope"] = scope.into();
    }
    let body = wanted.to_string().into_bytes();
    let answer = fetcher.post_json(endpoint, &HeaderMap::new(), body).await;
    let answer = answer.map_err(OAuthError::unfetched("the registration of the client"))?;
    if !matches!(answer.status.as_u16(), 200 | 201) {
        return Err(refusal(&answer));
    }
    let mut client: RegisteredClient = parsed(&answer)
        .ok_or(OAuthError::Metadata("the issuer registered the client in a form that is not known"))?;
    client.redirect_uri = redirect_uri.into();
    if client.token_endpoint_auth_method.is_none() {
        client.token_endpoint_auth_method = Some(method.into());
    }
    Ok(client)
}

/// Returns the way in which a program on a person's machine proves itself: by nothing, where the issuer accepts that.
fn preferred_method(issuer: &IssuerMetadata) -> &'static str {
    let Some(supported) = &issuer.token_endpoint_auth_methods_supported else { return "client_secret_basic" };
    let known = ["none", "client_secret_basic", "client_secret_post"];
    known.into_iter().find(|method| supported.iter().any(|it| it == method)).unwrap_or("none")
}
