//! Bounded requests for documents: metadata, keys and tokens.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mgp_types::{BoxFuture, Error};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;
use url::Url;

use super::{FetchError, GuardedConnector, NetworkPolicy, target};
use crate::Finding;

/// Fetches small documents over HTTPS, within bounds of size, time and redirects.
///
/// The policy judges each URL, and the addresses that its name resolves to; the connection goes to the judged addresses.
/// Without TLS, only addresses of this machine are reached, where the policy allows them. No proxy is used.
#[derive(Clone)]
#[must_use]
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

type FetchOutcome = Result<Fetched, FetchError>;

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

    mgp_types::setters! { self =>
        /// Sets the largest size of an answer. Default: 256 KiB.
        pub fn max_bytes(bytes: usize) => self.max_bytes = bytes;

        /// Sets the time that a request may take, with its redirects and its whole answer. Default: 10 s.
        pub fn timeout(timeout: Duration) => self.timeout = timeout;
    }

    /// Fetches `url`, and follows up to three redirects within the scheme. The headers go no further than the origin of
    /// `url`.
    ///
    /// # Errors
    /// There is no answer, or none that may be read.
    pub async fn get(&self, url: &str, headers: &HeaderMap) -> FetchOutcome {
        timeout(self.timeout, self.follow(url, headers)).await.unwrap_or(Err(FetchError::TooSlow))
    }

    /// Posts a form (`application/x-www-form-urlencoded`). Redirects are not followed.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post_form(&self, url: &str, headers: &HeaderMap, form: impl Into<Bytes>) -> FetchOutcome {
        self.post(url, headers, "application/x-www-form-urlencoded", form.into()).await
    }

    /// Posts JSON. Redirects are not followed.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post_json(&self, url: &str, headers: &HeaderMap, json: impl Into<Bytes>) -> FetchOutcome {
        self.post(url, headers, "application/json", json.into()).await
    }

    async fn post(&self, url: &str, headers: &HeaderMap, media: &'static str, body: Bytes) -> FetchOutcome {
        let mut headers = headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
        let posting = async {
            let url = target::parse(url, &self.connector.policy)?;
            self.send(Method::POST, &url, headers, body).await
        };
        timeout(self.timeout, posting).await.unwrap_or(Err(FetchError::TooSlow))
    }

    async fn follow(&self, url: &str, headers: &HeaderMap) -> FetchOutcome {
        let first = target::parse(url, &self.connector.policy)?;
        let mut at = first.clone();
        for _ in 0..=MAX_REDIRECTS {
            let sent = if at.origin() == first.origin() { headers.clone() } else { HeaderMap::new() };
            let fetched = self.send(Method::GET, &at, sent, Bytes::new()).await?;
            if !matches!(fetched.status.as_u16(), 301..=303 | 307 | 308) {
                return Ok(fetched);
            }
            let location = fetched.headers.get(LOCATION).and_then(|location| location.to_str().ok());
            at = target::redirected(&at, location.ok_or(FetchError::Redirected)?, &self.connector.policy)?;
            if at.scheme() != first.scheme() {
                return Err(FetchError::Redirected);
            }
        }
        Err(FetchError::Redirected)
    }

    async fn send(&self, method: Method, url: &Url, mut headers: HeaderMap, body: Bytes) -> FetchOutcome {
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
        let (head, body) = self.http.send(request, &addresses).await?.into_parts();
        let body = Limited::new(body, self.max_bytes).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() { FetchError::TooLarge } else { FetchError::Unreachable(error) }
        })?;
        Ok(Fetched { status: head.status, headers: head.headers, body: body.to_bytes() })
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

/// A client of HTTP that connects to given addresses and to no other, follows no redirect and uses no proxy. It trusts
/// the certificates that browsers trust, and those that were added.
#[derive(Clone)]
pub struct JudgedHttp {
    trusted: Arc<RootCertStore>,
    tls: Arc<rustls::ClientConfig>,
}

impl JudgedHttp {
    /// Creates the client.
    ///
    /// # Errors
    /// TLS is not available.
    pub fn new() -> Result<Self, Error> {
        Self::trusting(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() })
    }

    /// Trusts these certificates (PEM) as well, like those of a company's own authority.
    ///
    /// # Errors
    /// The text is no PEM, or has no certificate that can be used.
    pub fn trust_pem(self, pem: &[u8]) -> Result<Self, Error> {
        let mut trusted = Arc::unwrap_or_clone(self.trusted);
        let before = trusted.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate
                .map_err(|error| Error::invalid_params("a root certificate is no PEM").with_source(error))?;
            trusted.add(certificate).map_err(|error| {
                Error::invalid_params("a root certificate cannot be used").with_source(error)
            })?;
        }
        if trusted.len() == before {
            return Err(Error::invalid_params("there is no certificate among the root certificates"));
        }
        Self::trusting(trusted)
    }

    /// Returns the settings of TLS, for protocols other than HTTP.
    pub fn tls(&self) -> Arc<rustls::ClientConfig> {
        Arc::clone(&self.tls)
    }

    fn trusting(trusted: RootCertStore) -> Result<Self, Error> {
        let trusted = Arc::new(trusted);
        // The provider is named, because the default of the process panics where a program has built in two.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::internal("TLS is not available").with_source(error))?
            .with_root_certificates(Arc::clone(&trusted))
            .with_no_client_auth();
        Ok(Self { trusted, tls: Arc::new(tls) })
    }

    /// Sends a request to one of `addresses`, whatever address the name in its URL has, and returns the answer's head and
    /// the body that is still to be read.
    ///
    /// # Errors
    /// No address can be connected to, or none answers.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
        addresses: &[SocketAddr],
    ) -> Result<Response<Incoming>, FetchError> {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config((*self.tls).clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(JudgedAddresses(addresses.into()));
        // A client of its own for each request: no connection is used again for another name.
        let client = Client::builder(TokioExecutor::new()).build(connector);
        client.request(request).await.map_err(|error| FetchError::Unreachable(error.into()))
    }
}

mgp_types::partial_debug!(JudgedHttp);

/// A connector to addresses that are known already, whatever name the request has.
#[derive(Clone)]
struct JudgedAddresses(Arc<[SocketAddr]>);

impl Service<Uri> for JudgedAddresses {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let addresses = Arc::clone(&self.0);
        Box::pin(async move { Ok(TokioIo::new(TcpStream::connect(&*addresses).await?)) })
    }
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
