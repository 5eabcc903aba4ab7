//! The ways to a token, the requests to token endpoints, and their answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, Uri};
use mgp_security::jose::{SigningKey, dpop};
use mgp_security::network::{Fetched, Fetcher};
use mgp_types::mgp::Timestamp;
use mgp_types::{BoxFuture, Error, Object};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::OAuthError;
use super::discovery::IssuerMetadata;
use super::registration::{ClientCredentials, ProvenClient};

/// The fields of a form, in order.
#[derive(Clone, Default)]
pub(super) struct Form(Vec<(&'static str, String)>);

impl Form {
    pub(super) fn of(fields: &[(&'static str, &str)]) -> Self {
        Self(fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect())
    }

    pub(super) fn set(&mut self, name: &'static str, value: &str) {
        self.0.push((name, value.to_owned()));
    }

    pub(super) fn set_if_some(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Returns the form as it is posted, or as it stands in a query.
    pub(super) fn to_text(&self) -> String {
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }

    /// Returns one value as forms write it.
    pub(super) fn encoded(text: &str) -> String {
        url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
    }
}

/// A token, and what renews it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Token {
    #[serde(rename = "access_token")]
    pub(super) access: Box<str>,
    /// True if the token is to be bound to the key of the client.
    #[serde(default)]
    pub(super) is_bound: bool,
    #[serde(default, rename = "refresh_token", skip_serializing_if = "Option::is_none")]
    pub(super) refresh: Option<Box<str>>,
    /// The time from which the token no longer holds, in milliseconds; `None` if the issuer did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ends_at: Option<i64>,
    /// The scopes that the token was asked for.
    #[serde(default)]
    pub(super) scopes: Vec<Box<str>>,
}

impl Token {
    /// Returns whether the token no longer holds, or only for a moment.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.ends_at.is_some_and(|end| now.as_millis() >= end.saturating_sub(EARLY_MILLIS))
    }
}

mgp_types::partial_debug!(Token, self => ends_at: self.ends_at, scopes: self.scopes);

/// The answer of a token endpoint.
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: Box<str>,
    token_type: Option<Box<str>>,
    refresh_token: Option<Box<str>>,
    expires_in: Option<f64>,
    scope: Option<Box<str>>,
}

/// A token endpoint as a client uses it.
pub(super) struct TokenEndpoint<'a> {
    pub(super) fetcher: &'a Fetcher,
    pub(super) issuer: &'a IssuerMetadata,
    /// The server that tokens are for, if it says what it is called.
    pub(super) resource: Option<&'a str>,
    pub(super) client: ProvenClient,
    /// The key to which tokens are bound, if they are.
    pub(super) key: Option<SigningKey>,
    /// The nonce that the issuer gave last.
    pub(super) nonce: &'a Mutex<Option<Box<str>>>,
}

impl TokenEndpoint<'_> {
    /// Asks for a token with `form`; `scopes` are those that it asks for.
    pub(super) async fn ask(&self, mut form: Form, scopes: &[Box<str>]) -> Result<Token, OAuthError> {
        form.set_if_some("resource", self.resource);
        let fetched = self.post(form).await?;
        let answer: TokenAnswer = read(&fetched)?;
        let kind = answer.token_type.as_deref().unwrap_or("bearer");
        let is_bound = kind.eq_ignore_ascii_case("dpop");
        if !is_bound && !kind.eq_ignore_ascii_case("bearer") {
            return Err(OAuthError::Metadata("the issuer gave a token of a kind that is not known"));
        }
        // A token that anybody may use is not what was asked for.
        if is_bound != self.key.is_some() {
            let what = "the issuer does not bind tokens to the client's key, or does so unasked";
            return Err(OAuthError::Metadata(what));
        }
        if answer.access_token.is_empty() || !answer.access_token.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(OAuthError::Metadata("the issuer gave a token that no header can carry"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "a number of seconds, bounded")]
        let ends_at = answer
            .expires_in
            .filter(|seconds| seconds.is_finite())
            .map(|seconds| Timestamp::now().as_millis() + (seconds.clamp(0.0, MAX_SECONDS) * 1000.0) as i64);
        let granted = answer.scope.iter().flat_map(|scope| scope.split(' '));
        let all = granted.chain(scopes.iter().map(|scope| &**scope)).filter(|scope| !scope.is_empty());
        let all: BTreeSet<Box<str>> = all.map(Into::into).collect();
        let TokenAnswer { access_token: access, refresh_token: refresh, .. } = answer;
        Ok(Token { access, is_bound, refresh, ends_at, scopes: all.into_iter().collect() })
    }

    /// Posts a form with the client's proof. A nonce that the issuer demands is used once more at most.
    pub(super) async fn post(&self, form: Form) -> Result<Fetched, OAuthError> {
        let endpoint = self.issuer.token_endpoint.as_deref();
        let endpoint = endpoint.ok_or(OAuthError::Metadata("the issuer has no token endpoint"))?;
        for attempt in 0..2 {
            let (mut form, mut headers) = (form.clone(), HeaderMap::new());
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
            self.client.prove(self.issuer, &mut form, &mut headers)?;
            if let Some(key) = &self.key {
                let url: Uri =
                    endpoint.parse().map_err(|_| OAuthError::Metadata("the token endpoint is no URL"))?;
                let nonce = self.nonce.lock().clone();
                let proof = dpop::proof(key, &Method::POST, &url, None, nonce.as_deref())?;
                if let Ok(proof) = proof.parse() {
                    headers.insert("dpop", proof);
                }
            }
            let posted = self.fetcher.post_form(endpoint, &headers, form.to_text()).await;
            let fetched = posted.map_err(OAuthError::unfetched("a token"))?;
            if let Some(nonce) = fetched.headers.get("dpop-nonce").and_then(|nonce| nonce.to_str().ok()) {
                *self.nonce.lock() = Some(nonce.into());
            }
            if fetched.status.is_success() {
                return Ok(fetched);
            }
            let refused = refusal(&fetched);
            let wants_nonce = matches!(&refused, OAuthError::Refused(code) if **code == *"use_dpop_nonce");
            if !(wants_nonce && self.key.is_some() && attempt == 0) {
                return Err(refused);
            }
        }
        Err(OAuthError::Metadata("the issuer demands one nonce after the other"))
    }
}

/// Reads the JSON of a document; `None` if it has another form.
pub(super) fn parsed<T: DeserializeOwned>(fetched: &Fetched) -> Option<T> {
    Object::parse(fetched.body.clone()).ok()?.to().ok()
}

/// Reads the JSON of an answer.
pub(super) fn read<T: DeserializeOwned>(fetched: &Fetched) -> Result<T, OAuthError> {
    parsed(fetched).ok_or(OAuthError::Metadata("the issuer's answer is malformed"))
}

/// Returns the error that an issuer answered with.
pub(super) fn refusal(fetched: &Fetched) -> OAuthError {
    let object = Object::parse(fetched.body.clone()).unwrap_or_default();
    match object.text("error") {
        Some(code) => OAuthError::refused(&code),
        None => OAuthError::Refused(format!("HTTP {}, without a reason", fetched.status.as_u16()).into()),
    }
}

/// The time before its end at which a token is renewed.
const EARLY_MILLIS: i64 = 10_000;
/// The longest time that a token is taken to hold.
const MAX_SECONDS: f64 = 366.0 * 86_400.0;

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
