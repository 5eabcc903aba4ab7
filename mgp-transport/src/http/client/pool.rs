//! The connections to one server: opening them (TCP, TLS, or the dialler of the caller), pooling, and redirects.

use std::error::Error as StdError;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::LOCATION;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{Either, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::HttpConnector;
use mgp_types::{BoxFuture, Error};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tower_service::Service;

use super::authorize::{AfterRefusal, AuthorizationAnswer, Authorize, OutgoingRequest};
use super::body::{self, ResponseBody};
use super::core::Tasks;
use super::origin::{resolve, same_origin};
#[cfg(feature = "tls")]
use crate::http::tls_material::{certificates, private_key, provider};

/// The connections to one server. Idle ones serve further requests.
pub(super) struct ConnectionPool {
    dial: Dial,
    /// The time that a connection may take to open.
    connect_timeout: Duration,
    tasks: Arc<Tasks>,
    /// The number of connections that stay open between requests at most.
    max_idle: usize,
    /// The idle connections, the one used last at the end.
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    sender: HttpSender,
    since: Instant,
}

type HttpSender = SendRequest<RequestBody>;

/// The body of a request: a message of the client, or what another one sends.
type RequestBody = Either<Full<Bytes>, UnsyncBoxBody<Bytes, BoxError>>;

pub(super) type BoxError = Box<dyn StdError + Send + Sync>;

const READY_TIMEOUT: Duration = Duration::from_millis(100);
/// The time for which a connection may be idle. It is shorter than the five seconds after which common servers close,
/// so that no request goes into a connection that is just being closed: the client could not know whether such a
/// request was read.
const MAX_IDLE: Duration = Duration::from_secs(4);

impl ConnectionPool {
    pub(super) fn new(dial: Dial, connect_timeout: Duration, tasks: Arc<Tasks>, max_idle: usize) -> Self {
        Self { dial, connect_timeout, tasks, max_idle, idle: Mutex::default() }
    }

    /// Sends a request over a connection of its own for as long as it takes, and waits for the head of the answer. The
    /// body gives the connection back when it was read to its end.
    pub(super) async fn send(
        self: &Arc<Self>,
        origin: &Uri,
        mut request: Request<RequestBody>,
    ) -> Result<Response<ResponseBody>, Error> {
        loop {
            let (mut sender, is_new) = match self.waiting().await {
                Some(sender) => (sender, false),
                // Connecting is rare, and its future is large.
                None => (Box::pin(self.connect(origin)).await?, true),
            };
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let connection = UsedConnection { pool: Arc::clone(self), sender };
                    return Ok(response.map(|body| ResponseBody::new(body, connection)));
                }
                Err(mut failed) => match failed.take_message() {
                    // The server closed an idle connection, and has read nothing of the request.
                    Some(unsent) if !is_new => request = unsent,
                    Some(_) => return Err(broken(failed.into_error()).not_executed()),
                    None => return Err(broken(failed.into_error())),
                },
            }
        }
    }

    /// Returns an idle connection that is still open.
    async fn waiting(&self) -> Option<HttpSender> {
        loop {
            let mut sender = self.take()?;
            if sender.is_ready() {
                return Some(sender);
            }
            // The answer before this request was read, so the connection is ready in a moment; or never, if the server
            // does not read the rest of a request it has answered already.
            if let Ok(Ok(())) = timeout(READY_TIMEOUT, sender.ready()).await {
                return Some(sender);
            }
        }
    }

    fn take(&self) -> Option<HttpSender> {
        let mut idle = self.idle.lock();
        let last = idle.pop()?;
        if last.since.elapsed() < MAX_IDLE {
            return Some(last.sender);
        }
        // All other connections have been idle for longer.
        idle.clear();
        None
    }

    async fn connect(&self, origin: &Uri) -> Result<HttpSender, Error> {
        let dialled = timeout(self.connect_timeout, (self.dial)(origin.clone())).await;
        let dialled = dialled.unwrap_or_else(|elapsed| Err(io::Error::new(io::ErrorKind::TimedOut, elapsed)));
        let unreached = |error| {
            let error = Error::disconnected("the server cannot be reached").with_source(error);
            error.not_executed().with_usual_recovery()
        };
        let (sender, connection) = handshake(dialled.map_err(unreached)?).await.map_err(broken)?;
        // No block: the compiler would not see that its future can be sent.
        self.tasks.spawn(connection.map(|ended| {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection to the server broke");
            }
        }));
        Ok(sender)
    }
}

fn broken(error: hyper::Error) -> Error {
    Error::disconnected("the connection broke before the answer came").with_source(error)
}

/// A connection whose answer is being read. Dropping it before the end closes the connection.
pub(super) struct UsedConnection {
    pool: Arc<ConnectionPool>,
    sender: HttpSender,
}

impl UsedConnection {
    /// Gives the connection back after the answer was read to its end.
    pub(super) fn free(self) {
        let Self { pool, sender } = self;
        if sender.is_closed() {
            return;
        }
        let since = Instant::now();
        let mut idle = pool.idle.lock();
        idle.push(Idle { sender, since });
        let outdated = idle.iter().take_while(|idle| since - idle.since >= MAX_IDLE).count();
        let too_many = idle.len().saturating_sub(pool.max_idle);
        idle.drain(..outdated.max(too_many));
    }
}

mgp_types::partial_debug!(UsedConnection);

/// Carries HTTP requests to one server over pooled connections.
pub(super) struct HttpLink {
    pub(super) pool: Arc<ConnectionPool>,
    pub(super) authorizer: Option<Arc<dyn Authorize>>,
}

const MAX_REDIRECTS: usize = 3;
/// The number of times that a refused request is sent again, whatever the authorizer says.
const MAX_RESENDS: u32 = 16;
/// The time for the body of a refusal; a connection that takes longer is closed.
const MAX_DISCARD: Duration = Duration::from_secs(1);

impl HttpLink {
    /// Sends a request and waits for the head of its answer. `head` is called once per hop.
    ///
    /// Redirects are followed where they keep method and origin, so that neither body, credentials nor session ever go
    /// to another server. A request whose answer demands authorization is sent again if the authorizer says so.
    pub(super) async fn send(
        &self,
        method: &Method,
        url: &Uri,
        body: Bytes,
        head: impl Fn() -> Result<HeaderMap, Error>,
    ) -> Result<Response<ResponseBody>, Error> {
        let Some(authorizer) = self.authorizer.as_deref() else {
            return self.follow(method, url, body, 0, &head).await.map(|answered| answered.response);
        };
        // The rare way is boxed, so that it does not make the future of the usual one larger.
        Box::pin(async move {
            let mut attempt = 0;
            loop {
                let AnsweredRequest { response, url, authorized } =
                    self.follow(method, url, body.clone(), attempt, &head).await?;
                let request = OutgoingRequest { method, url: &url, attempt, authorized: authorized.as_ref() };
                let answer = AuthorizationAnswer { status: response.status(), headers: response.headers() };
                authorizer.answered(&request, &answer);
                if !matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                    return Ok(response);
                }
                match authorizer.refused(&request, &answer).await? {
                    AfterRefusal::Resend if attempt < MAX_RESENDS => {
                        let _ = timeout(MAX_DISCARD, body::discard(response.into_body())).await;
                    }
                    AfterRefusal::Resend | AfterRefusal::Keep => return Ok(response),
                }
                attempt += 1;
            }
        })
        .await
    }

    /// Sends a request to where redirects lead it.
    async fn follow(
        &self,
        method: &Method,
        url: &Uri,
        body: Bytes,
        attempt: u32,
        head: &impl Fn() -> Result<HeaderMap, Error>,
    ) -> Result<AnsweredRequest, Error> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut headers = head()?;
            let mut authorized = None;
            if let Some(authorizer) = &self.authorizer {
                let request = OutgoingRequest { method, url: &url, attempt, authorized: None };
                let added = authorized.insert(authorizer.authorize(&request).await?);
                for (name, value) in &*added {
                    headers.insert(name, value.clone());
                }
            }
            let mut request = Request::new(Either::Left(Full::new(body.clone())));
            *request.method_mut() = method.clone();
            // The server itself gets a part of the URL.
            *request.uri_mut() =
                url.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/")).into();
            *request.headers_mut() = headers;
            let response = self.pool.send(&url, request).await?;
            match response.status() {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {}
                _ => return Ok(AnsweredRequest { response, url, authorized }),
            }
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            match target.and_then(|target| resolve(&url, target)) {
                Some(target) if same_origin(&url, &target) => url = target,
                Some(_) => return Err(Error::misbehaved("the server redirects to another origin")),
                None => return Err(Error::misbehaved("the server redirects to nowhere")),
            }
        }
        Err(Error::misbehaved("the server redirects too often"))
    }
}

/// A request that was answered.
struct AnsweredRequest {
    response: Response<ResponseBody>,
    /// The URL that gave the answer, behind all redirects.
    url: Uri,
    /// The headers that the authorizer gave, if there is one.
    authorized: Option<HeaderMap>,
}

#[cfg(feature = "tls")]
type Network = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Network = HttpConnector;

/// The certificates and keys of a client's TLS besides the certificates of the public authorities.
#[derive(Clone, Default)]
pub(super) struct ClientTls {
    /// Further trusted certificates in PEM.
    #[cfg(feature = "tls")]
    pub(super) further_roots: Vec<Vec<u8>>,
    /// The trusted certificates in PEM, if those of the public authorities are not.
    #[cfg(feature = "tls")]
    pub(super) only_roots: Option<Vec<u8>>,
    /// The client's own certificate with its chain, and its key, in PEM.
    #[cfg(feature = "tls")]
    pub(super) own_certificate: Option<(Vec<u8>, Vec<u8>)>,
}

/// The function that opens a connection to the server of a URL.
pub(super) type Dial = Arc<dyn Fn(Uri) -> BoxFuture<'static, io::Result<ClientIo>> + Send + Sync>;

/// Returns the function that opens connections by TCP, and by TLS where the URL says so.
pub(super) fn dial_network(tls: ClientTls) -> Result<Dial, Error> {
    let network = network(tls)?;
    Ok(Arc::new(move |url| {
        let mut network = network.clone();
        Box::pin(async move {
            poll_fn(|cx| network.poll_ready(cx)).await.map_err(io::Error::other)?;
            Ok(Box::new(network.call(url).await.map_err(io::Error::other)?) as ClientIo)
        })
    }))
}

#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "only TLS can be missing")]
fn network(_: ClientTls) -> Result<Network, Error> {
    Ok(tcp())
}

#[cfg(feature = "tls")]
fn network(settings: ClientTls) -> Result<Network, Error> {
    let mut tcp = tcp();
    tcp.enforce_http(false);
    let mut trusted = rustls::RootCertStore::empty();
    if settings.only_roots.is_none() {
        trusted.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for pem in settings.further_roots.iter().chain(&settings.only_roots) {
        for certificate in certificates(pem, "the root certificates")? {
            trusted.add(certificate).map_err(|error| {
                Error::invalid_params("a root certificate cannot be used").with_source(error)
            })?;
        }
    }
    let tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal("TLS is not available").with_source(error))?
        .with_root_certificates(trusted);
    let tls = match settings.own_certificate {
        None => tls.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = certificates(&chain, "the client's certificate")?;
            let key = private_key(&key, "the key of the client's certificate")?;
            tls.with_client_auth_cert(chain, key).map_err(|error| {
                let message =
                    "the client's certificate and private key do not belong together, or cannot be used";
                Error::invalid_params(message).with_source(error)
            })?
        }
    };
    let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls);
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    // A stream may be silent for hours; a peer that vanished must be noticed.
    tcp.set_keepalive(Some(Duration::from_mins(1)));
    tcp
}

/// A connection of any kind. The connection is boxed once, and many requests share it.
pub(super) type ClientIo = Box<dyn HttpStream>;

pub(super) trait HttpStream: Read + Write + Unpin + Send {}

impl<T: Read + Write + Unpin + Send> HttpStream for T {}
