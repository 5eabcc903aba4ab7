//! The client side of HTTP: the client of one server, and what it is made from.
//!
//! | file | holds |
//! |---|---|
//! | `streamable` | Streamable HTTP: calls and their streams |
//! | `listen` | the streams of no call: what comes unasked, and HTTP+SSE of 2024-11-05 |
//! | `core` | the state of a client, and the tasks that it owns |
//! | `head`, `status` | what headers say: of a request, and of an answer that is a refusal |
//! | `authorize` | the port by which requests are authorized |
//! | `binary` | binary arguments as parts of their own |
//! | `inbound`, `followed` | messages of the server, to whom they go |
//! | `events`, `sse` | event streams, and when to open them again |
//! | `pool`, `origin`, `body` | HTTP itself: redirects, connections, URLs, bodies |

mod authorize;
mod binary;
mod body;
mod core;
mod events;
mod head;
mod inbound;
mod listen;
mod origin;
mod pool;
mod sse;
mod streamable;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, try_unfold};
use http::header::HOST;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use http_body::Body;
use http_body_util::{BodyExt as _, Either};
use hyper_util::rt::TokioIo;
use mgp_types::frame::check_result;
use mgp_types::{BoxFuture, Error, RawJson, Request, Response, RpcService, Session};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tower_service::Service;

pub use self::authorize::{AfterRefusal, AuthorizationAnswer, Authorize, OutgoingRequest};
pub use self::binary::BinaryArguments;
pub use self::body::{HttpStatus, SessionLost};
use self::core::{ClientCore, ClientOwner, Tasks};
pub use self::head::MirroredHeaders;
use self::pool::{BoxError, ClientIo, ClientTls, ConnectionPool, Dial, HttpLink, dial_network};
use crate::ConnectionLimits;

/// A server behind Streamable HTTP in both eras, or behind HTTP+SSE, as the service that answers its requests.
///
/// The client carries messages and negotiates nothing: the layer above opens the session or asks the server for its
/// description, and puts the agreement into [`Context::session`](mgp_types::Context::session) of each request. The
/// client reads there which headers to send, and whether to take a request back by closing its stream or by
/// `notifications/cancelled`; dropping the future of a call does either. Before an agreement, `initialize` is sent
/// plainly, and a request whose `_meta` names a protocol version under that version.
///
/// `I` answers the server: its notifications come as [`Kind::Notify`](mgp_types::RequestKind::Notify), in order and before the
/// answer they precede, its requests as [`Kind::Call`](mgp_types::RequestKind::Call). Their
/// [`outbox`](mgp_types::Context::outbox) leads back to the server.
///
/// The server's messages about a call go to the outbox of the call and not to `I`, all of them before the answer. The
/// stream of a call is read no faster than its caller takes the messages; where others would have to wait for a slow
/// caller, they do so for a [bounded time](crate::ConnectionLimits::delivery_timeout).
///
/// In a session, the client reads the server's unasked messages as soon as `notifications/initialized` was sent, and
/// resumes a stream that ends early. The HTTP status of an answer is the source of its error as [`HttpStatus`], a
/// session that the server forgot as [`SessionLost`].
///
/// ```no_run
/// use mgp_transport::http::HttpClient;
/// # async fn connect<I: mgp_types::RpcService>(inbound: I) -> Result<(), mgp_types::Error> {
/// let client = HttpClient::builder("http://127.0.0.1:8000/mcp").connect_with(inbound)?;
/// # drop(client); Ok(()) }
/// ```
///
/// Over HTTP+SSE, the transport of revision 2024-11-05, one stream brings every message of the server. The stream is the
/// session: when it ends, every waiting call fails, and so does every later one. A slow notification does not delay the
/// answers behind it.
///
/// Clones share connections and session. When the last one is dropped, and no call is in work, all its tasks end;
/// [`close`](Self::close) ends the session too.
pub struct HttpClient<I>(Arc<ClientOwner<I>>);

impl HttpClient<()> {
    /// Returns the builder of a client of the server at `url`.
    pub fn builder(url: impl Into<String>) -> HttpClientBuilder {
        HttpClientBuilder {
            url: url.into(),
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
}

const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

impl<I: RpcService> HttpClient<I> {
    fn new(core: Arc<ClientCore<I>>) -> Self {
        Self(Arc::new(ClientOwner(core)))
    }

    /// Sends a request as it is, over a connection to the server, and returns the answer once its head is there, with its body as
    /// it comes. Neither has a part in what the client does by itself.
    ///
    /// # Errors
    /// The server cannot be reached, for which the source of the error is an [`io::Error`]; or the connection broke, and the
    /// server may have done what it was asked for.
    pub async fn pass_on<B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static>(
        &self,
        request: http::Request<B>,
    ) -> Result<http::Response<BoxStream<'static, Result<Bytes, Error>>>, Error> {
        let ClientCore { link, url, .. } = &*self.0.0;
        let request = request.map(|body| Either::Right(body.map_err(Into::<BoxError>::into).boxed_unsync()));
        let (head, body) = link.pool.send(url, request).await?.into_parts();
        // The connection lasts as long as the client.
        let pieces = try_unfold((body, self.clone()), |(mut body, client)| async move {
            body.next_chunk().await.map(|piece| piece.map(|piece| (piece, (body, client))))
        });
        Ok(http::Response::from_parts(head, pieces.boxed()))
    }

    /// Ends the session that `session` was agreed in, if there is one, and all work that this client started. The wait
    /// is two seconds at most; calls in work fail.
    pub async fn close(&self, session: Option<&Session>) {
        let core = &self.0.0;
        core.set_listener(None);
        if tokio::time::timeout(CLOSE_TIMEOUT, core.end_session(session)).await.is_err() {
            tracing::debug!("the server did not end the session in time");
        }
        core.replies.end();
        core.tasks.abort_all();
    }
}

mgp_types::partial_debug!([I] HttpClient<I>, self => core: self.0.0);

impl<I> Clone for HttpClient<I> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I: RpcService> Service<Request> for HttpClient<I> {
    type Future = BoxFuture<'static, Result<Response, Error>>;

    mgp_types::always_ready!();

    /// Makes the call, and keeps the client alive for as long as the call is in work.
    fn call(&mut self, request: Request) -> Self::Future {
        let owner = Arc::clone(&self.0);
        Box::pin(async move {
            // The future is made where it is awaited: it is large, and would be copied from elsewhere.
            let method = request.method.clone();
            let outcome = Arc::clone(&owner.0).exchange(request).await;
            drop(owner);
            let response = outcome?;
            check_result(&method, &response.result)?;
            Ok(response)
        })
    }
}

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
    /// Sends a key with every message, as the member `auth` beside `params`, to a server that reads keys there. A
    /// request without a message, such as one that listens, has no key: servers that want one there need a
    /// [`header`](Self::header).
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
            self.tls.further_roots.push(certificates.into());

        /// Trusts these certificates (PEM, one or several) in place of those of the public authorities.
        #[cfg(feature = "tls")]
        pub fn only_root_certificates_pem(certificates: impl Into<Vec<u8>>) =>
            self.tls.only_roots = Some(certificates.into());

        /// Shows this certificate (PEM, followed by those that lead to its authority) to servers that ask for one, and
        /// proves that the client holds its private key (PEM).
        #[cfg(feature = "tls")]
        pub fn client_certificate_pem(chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) =>
            self.tls.own_certificate = Some((chain.into(), key.into()));
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
        let url = origin::parse(&self.url).ok_or_else(unusable)?;
        let host = origin::host(&url).ok_or_else(unusable)?;
        let dial = match self.dial {
            Some(dial) => dial,
            None if cfg!(not(feature = "tls")) && url.scheme_str() == Some("https") => {
                return Err(Error::invalid_params("a URL of https needs TLS: turn on the feature `tls`"));
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

fn unusable() -> Error {
    Error::invalid_params("the server's URL is not one of HTTP without credentials in it")
}

// Headers and the query of a URL may hold credentials.
mgp_types::partial_debug!(HttpClientBuilder, self => url: self.url.split('?').next(), limits: self.limits);
