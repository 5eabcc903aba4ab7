//! The builder of clients over HTTP.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use hyper_util::rt::TokioIo;
#[cfg(feature = "ext")]
use mgp_types::RawJson;
use mgp_types::{Error, RpcService};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;

use super::authorize::Authorize;
use super::core::{ClientCore, Tasks};
use super::pool::{ClientIo, ClientTls, ConnectionPool, Dial, HttpLink, dial_network};
use super::{HttpClient, origin};
use crate::ConnectionLimits;

/// The settings of a client of one server.
#[derive(Clone)]
#[must_use]
pub struct HttpClientBuilder {
    url: String,
    headers: HeaderMap,
    auth: Bytes,
    authorizer: Option<Arc<dyn Authorize>>,
    limits: ConnectionLimits,
    connect_timeout: Duration,
    max_idle_connections: usize,
    dial: Option<Dial>,
    tls: ClientTls,
}

impl HttpClientBuilder {
    pub(super) fn new(url: String) -> Self {
        Self {
            url,
            headers: HeaderMap::new(),
            auth: Bytes::new(),
            authorizer: None,
            limits: ConnectionLimits::default(),
            connect_timeout: Duration::from_secs(10),
            max_idle_connections: 64,
            dial: None,
            tls: ClientTls::default(),
        }
    }

    /// Sends a key with every message, as the member `auth` beside `params`, to a server that reads keys there. A
    /// request without a message, such as one that listens, has no key: servers that want one there need a
    /// [`header`](Self::header).
    #[cfg(feature = "ext")]
    pub fn auth_member(mut self, token: &str) -> Self {
        let token = RawJson::from_text(token);
        let member = [&br#","auth":{"type":"bearer","token":"#[..], token.as_bytes(), b"}}"].concat();
        self.auth = member.into();
        self
    }

    mgp_types::setters! { self =>
        /// Sends a header with every request, like `Authorization`. Headers of the protocol cannot be replaced.
        pub fn header(name: HeaderName, value: HeaderValue) => self.headers.append(name, value);

        /// Has `authorizer` authorize each request, and judge each answer that demands authorization.
        pub fn authorize_with(authorizer: Arc<dyn Authorize>) => self.authorizer = Some(authorizer);

        /// Sets the limits of the connection to the server.
        pub fn limits(limits: ConnectionLimits) => self.limits = limits;

        /// Sets the time that a connection may take to open, and the `endpoint` event of HTTP+SSE to come. Default:
        /// 10 s.
        pub fn connect_timeout(timeout: Duration) => self.connect_timeout = timeout;

        /// Sets how many connections stay open between requests, for a few seconds each. As many connections as there
        /// are concurrent requests save each request from connecting anew. Default: 64.
        pub fn max_idle_connections(connections: usize) => self.max_idle_connections = connections;

        /// Trusts these certificates (PEM, one or several) besides those of the public authorities, like that of a
        /// company's own.
        #[cfg(feature = "tls")]
        pub fn root_certificates_pem(certificates: impl Into<Vec<u8>>) =>
            self.tls.root_certificates_pem.push(certificates.into());

        /// Shows this certificate (PEM, followed by those that lead to its authority) to servers that ask for one, and
        /// proves that the client holds its private key (PEM).
        #[cfg(feature = "tls")]
        pub fn client_certificate_pem(chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) =>
            self.tls.client_certificate_pem = Some((chain.into(), key.into()));
    }

    /// Makes connections by `dial` instead of by TCP: over a Unix socket, a tunnel, or in memory.
    ///
    /// `dial` gets the URL and returns a stream that is ready to carry HTTP/1.1; it also opens TLS, if any.
    pub fn dial_with<F, C, T>(mut self, dial: F) -> Self
    where
        F: Fn(Uri) -> C + Send + Sync + 'static,
        C: Future<Output = io::Result<T>> + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        self.dial = Some(Arc::new(move |url| {
            let connecting = dial(url);
            Box::pin(async move { Ok(Box::new(TokioIo::new(connecting.await?)) as ClientIo) })
        }));
        self
    }

    /// Creates the client, whose server's requests go to `inbound`. No request is sent yet.
    ///
    /// # Errors
    /// The URL cannot be reached, or there is no tokio runtime.
    pub fn connect_with<I: RpcService>(self, inbound: I) -> Result<HttpClient<I>, Error> {
        Ok(HttpClient::new(Arc::new(self.core(inbound)?)))
    }

    /// Creates the client of a server that speaks HTTP+SSE, the transport up to 2024-11-05; the server's requests go to
    /// `inbound`.
    ///
    /// The future ends when the server has named the address for messages.
    ///
    /// # Errors
    /// As [`connect_with`](Self::connect_with); or the server cannot be reached, answers with something else than an
    /// event stream, does not name the address in time, or names one of another origin.
    pub async fn connect_sse_with<I: RpcService>(self, inbound: I) -> Result<HttpClient<I>, Error> {
        let timeout = self.connect_timeout;
        let connecting = self.core(inbound)?.open_sse();
        tokio::time::timeout(timeout, connecting)
            .await
            .unwrap_or_else(|_| Err(Error::timeout("the server did not send the `endpoint` event in time")))
            .map(HttpClient::new)
    }

    fn core<I: RpcService>(mut self, inbound: I) -> Result<ClientCore<I>, Error> {
        let unusable =
            || Error::invalid_params("the server's URL is not one of HTTP without credentials in it");
        let url = origin::parse(&self.url).ok_or_else(unusable)?;
        let host = origin::host(&url).ok_or_else(unusable)?;
        let dial = match self.dial {
            Some(dial) => dial,
            None if cfg!(not(feature = "tls")) && url.scheme_str() == Some("https") => {
                return Err(Error::invalid_params("the server's URL needs TLS, which is not built in"));
            }
            None => dial_network(self.tls)?,
        };
        let runtime = Handle::try_current()
            .map_err(|error| Error::internal("a client needs a tokio runtime").with_source(error))?;
        let tasks = Arc::new(Tasks::new(runtime));
        let max_idle = self.max_idle_connections;
        let pool = ConnectionPool::new(dial, self.connect_timeout, Arc::clone(&tasks), max_idle);
        let link = HttpLink { pool: Arc::new(pool), authorizer: self.authorizer };
        // Redirects keep to the origin, so the host is the same for every request.
        self.headers.insert(HOST, host);
        Ok(ClientCore::new(link, url, self.headers, self.auth, self.limits, tasks, inbound))
    }
}

// Headers and the query of a URL may hold credentials.
mgp_types::partial_debug!(HttpClientBuilder, self => url: self.url.split('?').next(), limits: self.limits);
