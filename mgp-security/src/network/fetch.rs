//! Bounded requests for documents: metadata, keys and tokens.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use mgp_types::Error;
use tokio::time::timeout;
use url::Url;

use super::{ConnectError, GuardedConnector, JudgedHttp, NetworkPolicy, Redirects, target};
use crate::Finding;

/// Fetches small documents over HTTPS, within bounds of size, time and redirects.
///
/// The policy judges each URL, and the addresses that its name resolves to; the connection goes to the judged addresses.
/// Without TLS, only addresses of this machine are reached, where the policy allows them. No proxy is used.
#[derive(Clone)]
pub struct Fetcher {
    http: JudgedHttp,
    pub(crate) connector: GuardedConnector,
    max_bytes: usize,
    timeout: Duration,
}

/// An answer, of any status.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fetched {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// The reason why a document could not be fetched. It repeats neither the query of a URL nor what was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The URL, or an address of its host, may not be reached.
    #[error("the URL may not be reached: {0}")]
    Refused(#[from] Finding),
    /// The URL needs TLS, because its host is not this machine.
    #[error("the URL must begin with https://")]
    NotEncrypted,
    /// No address of the host answers.
    #[error("the host cannot be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer is larger than the bound.
    #[error("the answer is too large")]
    TooLarge,
    /// The answer did not come in time.
    #[error("the answer did not come in time")]
    TooSlow,
    /// The answer leads to nowhere, on and on, or to another scheme.
    #[error("the answer redirects where requests may not follow")]
    Redirected,
}

impl Fetcher {
    /// Creates a fetcher that reaches what `policy` allows.
    ///
    /// # Errors
    /// TLS is not available.
    pub fn new(policy: NetworkPolicy) -> Result<Self, Error> {
        let connector = GuardedConnector::new(policy);
        Ok(Self { http: JudgedHttp::new()?, connector, max_bytes: MAX_BYTES, timeout: TIMEOUT })
    }

    /// Trusts these certificates (PEM) besides those of the public authorities.
    ///
    /// # Errors
    /// As [`JudgedHttp::trust_pem`].
    pub fn trust_pem(self, pem: &[u8]) -> Result<Self, Error> {
        Ok(Self { http: self.http.trust_pem(pem)?, ..self })
    }

    /// Sets the largest size of an answer. Default: 256 KiB.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        Self { max_bytes: bytes, ..self }
    }

    /// Sets the time that a request may take, with its redirects and its whole answer. Default: 10 s.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Fetches `url`, and follows up to three redirects within the scheme. The headers go no further than the origin of
    /// `url`.
    ///
    /// # Errors
    /// There is no answer, or none that may be read.
    pub async fn get(&self, url: &str, headers: &HeaderMap) -> Result<Fetched, FetchError> {
        timeout(self.timeout, self.follow(url, headers)).await.unwrap_or(Err(FetchError::TooSlow))
    }

    /// Posts a form (`application/x-www-form-urlencoded`). Redirects are not followed.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post_form(
        &self,
        url: &str,
        headers: &HeaderMap,
        form: impl Into<Bytes>,
    ) -> Result<Fetched, FetchError> {
        self.post(url, headers, "application/x-www-form-urlencoded", form.into()).await
    }

    /// Posts JSON. Redirects are not followed.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post_json(
        &self,
        url: &str,
        headers: &HeaderMap,
        json: impl Into<Bytes>,
    ) -> Result<Fetched, FetchError> {
        self.post(url, headers, "application/json", json.into()).await
    }

    async fn post(
        &self,
        url: &str,
        headers: &HeaderMap,
        media_type: &'static str,
        body: Bytes,
    ) -> Result<Fetched, FetchError> {
        let mut headers = headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        let posting = async {
            let url = target::parse(url, &self.connector.policy)?;
            self.send(Method::POST, &url, headers, body).await
        };
        timeout(self.timeout, posting).await.unwrap_or(Err(FetchError::TooSlow))
    }

    async fn follow(&self, url: &str, headers: &HeaderMap) -> Result<Fetched, FetchError> {
        let mut redirects = Redirects::new(url, &self.connector.policy)?;
        let first = redirects.at.clone();
        let mut at = first.clone();
        for _ in 0..=MAX_REDIRECTS {
            let sent = if at.origin() == first.origin() { headers.clone() } else { HeaderMap::new() };
            let fetched = self.send(Method::GET, &at, sent, Bytes::new()).await?;
            if !matches!(fetched.status.as_u16(), 301..=303 | 307 | 308) {
                return Ok(fetched);
            }
            let location = fetched.headers.get(LOCATION).and_then(|location| location.to_str().ok());
            redirects.follow(location.ok_or(FetchError::Redirected)?)?;
            if redirects.at.scheme() != at.scheme() {
                return Err(FetchError::Redirected);
            }
            at = redirects.at.clone();
        }
        Err(FetchError::Redirected)
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Fetched, FetchError> {
        let (host, port) = (url.host_str().ok_or_else(malformed)?, url.port_or_known_default());
        let addresses = self.connector.addresses(host, port.ok_or_else(malformed)?).await?;
        if url.scheme() != "https" && !addresses.iter().all(|address| address.ip().is_loopback()) {
            return Err(FetchError::NotEncrypted);
        }
        headers.insert(USER_AGENT, HeaderValue::from_static("mgp"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut plain = url.clone();
        plain.set_fragment(None);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = plain.as_str().parse().map_err(|_| malformed())?;
        *request.headers_mut() = headers;
        let answer = self.http.send(request, &addresses).await;
        self.read(answer.map_err(|error| FetchError::Unreachable(error.into()))?).await
    }

    async fn read(&self, answer: http::Response<Incoming>) -> Result<Fetched, FetchError> {
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, self.max_bytes).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() { FetchError::TooLarge } else { FetchError::Unreachable(error) }
        })?;
        Ok(Fetched { status: head.status, headers: head.headers, body: body.to_bytes() })
    }
}

impl From<ConnectError> for FetchError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused(finding) => Self::Refused(finding),
            ConnectError::Unreachable(error) => Self::Unreachable(error.into()),
        }
    }
}

mgp_types::partial_debug!(Fetcher, self => max_bytes: self.max_bytes, timeout: self.timeout);

/// Returns the URLs at which an issuer's metadata may stand, in the order in which they are tried (RFC 8414 and OpenID Connect
/// Discovery); `None` for a text that is no issuer: one that is no URL, or has a query or a fragment.
///
/// ```
/// # use mgp_security::network::issuer_metadata_urls;
/// let urls = issuer_metadata_urls("https://id.example/team").unwrap();
/// assert_eq!(urls[0], "https://id.example/.well-known/oauth-authorization-server/team");
/// ```
pub fn issuer_metadata_urls(issuer: &str) -> Option<Vec<String>> {
    let url = Url::parse(issuer).ok()?;
    if url.query().is_some() || url.fragment().is_some() || !url.has_host() {
        return None;
    }
    let (origin, path) = (url.origin().ascii_serialization(), url.path().trim_end_matches('/'));
    let mut urls = vec![format!("{origin}{OAUTH}{path}"), format!("{origin}{OPENID}{path}")];
    if !path.is_empty() {
        urls.push(format!("{origin}{path}{OPENID}"));
    }
    Some(urls)
}

fn malformed() -> FetchError {
    FetchError::Refused(Finding::new("ambiguous-url", "it is no URL of HTTP: check it"))
}

#[cfg(test)]
mod tests;

/// The largest answer, unless another bound is set.
const MAX_BYTES: usize = 256 << 10;
/// The longest time of a request, unless another bound is set.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The number of redirects that are followed.
const MAX_REDIRECTS: usize = 3;
const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
