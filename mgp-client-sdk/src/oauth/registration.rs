//! The identity of a client at an issuer, and its proof at the token endpoint.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use mgp_security::jose::{Header, SigningKey};
use mgp_security::network::Fetcher;
use mgp_types::mgp::Timestamp;
use mgp_types::random_bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::OAuthError;
use super::discovery::IssuerMetadata;
use super::token_request::{Form, JWT_BEARER_ASSERTION, parsed, refusal};

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

    mgp_types::setters! { #[must_use] self =>
        /// Sets the issuer at which the client is known. The credentials are sent to no other one.
        pub fn at(issuer: impl Into<Box<str>>) => self.issuer = Some(issuer.into());
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

/// A client with the method by which it proves itself.
#[derive(Clone)]
pub(super) struct ProvenClient {
    pub(super) id: Box<str>,
    proof: ClientProof,
    /// True if a secret stands in the form, and not in a header.
    is_posted: bool,
}

impl ProvenClient {
    /// Returns a configured client, which proves itself in a way that the issuer accepts.
    pub(super) fn configured(client: &ClientCredentials, issuer: &IssuerMetadata) -> Self {
        let accepts = |method: &str| match &issuer.token_endpoint_auth_methods_supported {
            Some(supported) => supported.iter().any(|it| it == method),
            None => method == "client_secret_basic",
        };
        let is_posted = !accepts("client_secret_basic") && accepts("client_secret_post");
        Self { id: client.id.clone(), proof: client.proof.clone(), is_posted }
    }

    /// Returns a client that the issuer registered, which proves itself as the issuer said.
    pub(super) fn registered(client: &RegisteredClient) -> Self {
        let method = client.token_endpoint_auth_method.as_deref();
        let secret = client.client_secret.clone().filter(|_| method != Some("none"));
        let proof = secret.map_or(ClientProof::None, ClientProof::Secret);
        Self { id: client.client_id.clone(), proof, is_posted: method == Some("client_secret_post") }
    }

    /// Returns a client without a proof.
    pub(super) fn public(id: &str) -> Self {
        Self { id: id.into(), proof: ClientProof::None, is_posted: false }
    }

    /// Adds the proof to a request to the token endpoint of `issuer`.
    pub(super) fn prove(
        &self,
        issuer: &IssuerMetadata,
        form: &mut Form,
        headers: &mut HeaderMap,
    ) -> Result<(), OAuthError> {
        match &self.proof {
            ClientProof::None => form.set("client_id", &self.id),
            ClientProof::Secret(secret) if self.is_posted => {
                form.set("client_id", &self.id);
                form.set("client_secret", secret);
            }
            ClientProof::Secret(secret) => {
                let pair = format!("{}:{}", Form::encoded(&self.id), Form::encoded(secret));
                let pair = STANDARD.encode(pair);
                let unusable = |_| OAuthError::Metadata("the client's credentials are none of HTTP");
                let mut value: HeaderValue = format!("Basic {pair}").parse().map_err(unusable)?;
                value.set_sensitive(true);
                headers.insert(AUTHORIZATION, value);
            }
            ClientProof::Key(key) => {
                form.set("client_id", &self.id);
                form.set("client_assertion_type", JWT_BEARER_ASSERTION);
                form.set("client_assertion", &self.assertion(key, issuer)?);
            }
        }
        Ok(())
    }

    /// Returns the token by which the holder of a key proves that it is this client (RFC 7523).
    fn assertion(&self, key: &SigningKey, issuer: &IssuerMetadata) -> Result<String, OAuthError> {
        let now = Timestamp::now().as_millis().div_euclid(1000);
        let claims = json!({
            "iss": self.id,
            "sub": self.id,
            "aud": issuer.issuer,
            "jti": random(),
            "iat": now,
            "exp": now + ASSERTION_SECONDS,
        });
        Ok(key.sign(Header::new(key.algorithm()), &claims)?)
    }
}

mgp_types::partial_debug!(ProvenClient, self => id: self.id);

/// The time for which an assertion holds.
const ASSERTION_SECONDS: i64 = 120;

/// Returns a text that nobody can guess.
pub(super) fn random() -> String {
    URL_SAFE_NO_PAD.encode(random_bytes::<32>())
}
