//! Requests to token endpoints, and their answers.

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, Uri};
use mgp_security::jose::{SigningKey, dpop};
use mgp_security::network::{Fetched, Fetcher};
use mgp_types::Object;
use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::OAuthError;
use super::discovery::IssuerMetadata;
use super::registration::ProvenClient;

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
        let granted = answer.scope.as_deref().map(|scope| scope.split(' ').map(Into::into).collect());
        let mut all: Vec<Box<str>> = granted.unwrap_or_default();
        all.extend(scopes.iter().cloned());
        all.sort_unstable();
        all.dedup();
        all.retain(|scope| !scope.is_empty());
        let TokenAnswer { access_token: access, refresh_token: refresh, .. } = answer;
        Ok(Token { access, is_bound, refresh, ends_at, scopes: all })
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
