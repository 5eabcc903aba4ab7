//! How a client proves who it is at the token endpoint.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use mgp_security::jose::{Header, SigningKey};
use mgp_types::mgp::Timestamp;
use mgp_types::random_bytes;
use serde_json::json;

use super::metadata::IssuerMetadata;
use super::registration::{ClientCredentials, ClientProof, RegisteredClient};
use super::token_request::Form;
use super::{OAuthError, exchange};

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
                form.set("client_assertion_type", exchange::JWT_BEARER_ASSERTION);
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
