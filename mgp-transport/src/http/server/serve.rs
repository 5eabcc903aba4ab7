//! Serving HTTP at a socket: listening, accepting, the paths, each connection from its first byte on, and a gentle end.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::request::Parts;
use http::{Extensions, Method, Request, Response, StatusCode};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tower_layer::{Identity, Layer};
use tower_service::Service;

use super::body::HttpBody;
use super::config::{ConnectionAddrs, HttpConfig};
use super::connection_slots::{ConnectionSlots, SlotKind};
use super::get::{SESSION_ID, SSE_MESSAGES, not_allowed};
use super::respond::HttpRefusal;
use super::session_table::SessionId;
use super::watched_connection::{CONNECTION, WatchedConnection, WatchedIo};
use super::{CheckedHead, HttpServer, PostTarget, ResponseFuture};
use crate::Accept;

/// The address or socket to listen at.
#[derive(Debug)]
#[non_exhaustive]
pub enum ListenTarget {
    /// An address. One that others can reach needs [`HttpConfig::allow_host`] as well.
    At(SocketAddr),
    /// A socket that listens already.
    On(TcpListener),
}

mgp_types::convert!(
    /// Listens at the port on the loopback address, which only programs of this machine can reach.
    u16 => ListenTarget, port => Self::At((Ipv4Addr::LOCALHOST, port).into())
);

mgp_types::convert!(SocketAddr => ListenTarget, address => Self::At(address));

mgp_types::convert!(TcpListener => ListenTarget, socket => Self::On(socket));

/// Serves MCP over HTTP/1.1, or over HTTP/2 where the configuration brings TLS: `/mcp` in both eras, and HTTP+SSE at `/sse` and `/message` beside it.
///
/// ```no_run
/// use mgp_transport::Accept;
/// use mgp_transport::http::{HttpConfig, serve};
///
/// async fn run(accept: impl Accept) -> std::io::Result<()> {
///     serve(8080, accept, HttpConfig::default()).await
/// }
/// ```
///
/// The future runs until it is dropped, which ends every connection at once; see [`serve_until`] for a gentle end.
///
/// # Errors
/// The server cannot listen at the address.
pub async fn serve<A: Accept>(
    listen: impl Into<ListenTarget>,
    accept: A,
    config: HttpConfig,
) -> io::Result<()> {
    serve_until(listen, accept, config, std::future::pending()).await
}

/// Serves as [`serve`] does, until `stop` is done.
///
/// From then on no connection is accepted. Streams that belong to no call end, and connections end with the request that is
/// in work, or on its way. Calls in work have [`HttpConfig::shutdown_grace`] to end; then sessions and their streams are
/// closed, and after the same time again the remaining work is dropped.
///
/// # Errors
/// The server cannot listen at the address.
pub async fn serve_until<A: Accept>(
    listen: impl Into<ListenTarget>,
    accept: A,
    config: HttpConfig,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    serve_layered_until(listen, accept, config, Identity::new(), stop).await
}

/// Serves as [`serve_until`] does, with `layer` around all paths: it may authenticate, and answer at paths of its own.
///
/// # Errors
/// The server cannot listen at the address.
pub async fn serve_layered_until<A: Accept, L: Layer<Routes<A>, Service: HttpService>>(
    listen: impl Into<ListenTarget>,
    accept: A,
    config: HttpConfig,
    layer: L,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let socket = match listen.into() {
        ListenTarget::At(address) => TcpListener::bind(address).await?,
        ListenTarget::On(socket) => socket,
    };
    // The bound address is accepted as a host, unless it stands for all addresses.
    let config = match socket.local_addr()?.ip() {
        address if address.is_unspecified() || address.is_loopback() => config,
        IpAddr::V4(address) => config.allow_host(address.to_string()),
        IpAddr::V6(address) => config.allow_host(format!("[{address}]")),
    };
    let routes = HttpServer::with_config(accept, config).routes();
    let (mut tasks, mut places) = (JoinSet::new(), ConnectionSlots::new(routes.server().config()));
    let service = layer.layer(routes.clone());
    accept_until(&socket, routes.server().config(), &service, &mut tasks, &mut places, stop).await;
    drop(socket);
    let grace = routes.server().config().shutdown_grace;
    places.finish();
    routes.server().sessions().end_listening();
    if !ended(&mut tasks, grace.min(FIRST_REQUEST)).await {
        places.end_silent();
        routes.server().sessions().end_listening();
    }
    if !ended(&mut tasks, grace).await {
        routes.server().close_sessions();
        ended(&mut tasks, grace).await;
    }
    tasks.shutdown().await;
    routes.server().close_sessions();
    Ok(())
}

/// A service that answers the HTTP requests of a connection.
pub trait HttpService:
    Service<Request<Incoming>, Response = Response<HttpBody>, Error = Infallible, Future: Send + 'static>
    + Clone
    + Send
    + 'static
{
}

impl<S> HttpService for S where
    S: Service<Request<Incoming>, Response = Response<HttpBody>, Error = Infallible, Future: Send + 'static>
        + Clone
        + Send
        + 'static
{
}

/// The time for the first request of a connection that was accepted a moment before the end.
const FIRST_REQUEST: Duration = Duration::from_millis(500);
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
/// The longest time between two looks at the connections: the clock cannot represent every long time.
const LONGEST_LOOK: Duration = Duration::from_hours(24);

async fn accept_until<S: HttpService>(
    socket: &TcpListener,
    config: &Arc<HttpConfig>,
    service: &S,
    tasks: &mut JoinSet<()>,
    places: &mut ConnectionSlots,
    stop: impl Future<Output = ()>,
) {
    let mut looks = interval((config.header_timeout / 2).clamp(SHORTEST_LOOK, LONGEST_LOOK));
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => return,
            _ = looks.tick() => {
                places.look(config);
                continue;
            }
            accepted = socket.accept() => accepted,
        };
        while tasks.try_join_next().is_some() {}
        match accepted {
            Ok((stream, peer)) => {
                let Some(watched) = places.enter(peer.ip()) else {
                    tracing::warn!(peer = %peer.ip(), "connection refused: there is no room for it");
                    continue;
                };
                let connection = run(stream, service.clone(), Arc::clone(config), Arc::clone(&watched));
                watched.served_by(tasks.spawn(connection));
            }
            // The peer left at once, or file descriptors are short: neither ends the server.
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                // `EMFILE` or `ENFILE`: the process, or the system, can open no further file.
                if cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24)) {
                    places.end_idle(SlotKind::is_usual);
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn ended(connections: &mut JoinSet<()>, within: Duration) -> bool {
    timeout(within, async { while connections.join_next().await.is_some() {} }).await.is_ok()
}

/// The mark of requests on a connection that is there for health alone, because all others have requests in work.
#[derive(Debug, Clone, Copy)]
pub(super) struct HealthOnly;

/// A connection whose protocol is known.
pub(super) struct OpenConnection<S> {
    pub(super) service: S,
    /// The extensions of each request.
    pub(super) marks: Option<Extensions>,
    pub(super) config: Arc<HttpConfig>,
    pub(super) watched: Arc<WatchedConnection>,
}

/// Serves one connection to its end.
pub(super) async fn run<S: HttpService>(
    stream: TcpStream,
    service: S,
    config: Arc<HttpConfig>,
    watched: Arc<WatchedConnection>,
) {
    // Answers are written in one piece, so waiting for more only delays them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY not set");
    }
    let marks = config.marks.as_ref().and_then(|marks| {
        marks.0(ConnectionAddrs { peer: stream.peer_addr().ok()?, own: stream.local_addr().ok()? })
    });
    let open = OpenConnection { service, marks, config, watched: Arc::clone(&watched) };
    #[cfg(feature = "tls-server")]
    if let Some(tls) = open.config.tls.clone() {
        return CONNECTION.scope(watched, Box::pin(open.serve_secured(tls, stream))).await;
    }
    CONNECTION.scope(watched, open.serve_http1(stream)).await;
}

impl<S: HttpService> OpenConnection<S> {
    pub(super) async fn serve_http1(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let mut builder = http1::Builder::new();
        builder
            .max_buf_size(self.config.max_header_bytes)
            .header_read_timeout(None)
            .keep_alive(!self.watched.is_reserved());
        let connection = builder.serve_connection(self.watch(stream), self.requests());
        drive(&self.watched, connection, http1::Connection::graceful_shutdown).await;
    }

    pub(super) fn watch<I>(&self, stream: I) -> WatchedIo<TokioIo<I>> {
        WatchedIo { inner: TokioIo::new(stream), watched: Arc::clone(&self.watched) }
    }

    /// Returns the service that answers the requests of the connection.
    pub(super) fn requests(
        &self,
    ) -> impl hyper::service::Service<
        Request<Incoming>,
        Response = Response<HttpBody>,
        Error = Infallible,
        Future: Send + 'static,
    > + use<S> {
        let (service, marks, watched) = (self.service.clone(), self.marks.clone(), Arc::clone(&self.watched));
        let is_reserved = watched.is_reserved();
        service_fn(move |mut request: Request<Incoming>| {
            if let Some(marks) = &marks {
                request.extensions_mut().extend(marks.clone());
            }
            let active = watched.begin();
            if is_reserved {
                request.extensions_mut().insert(HealthOnly);
                // HTTP/1.1 ends after an answer by itself.
                watched.finish();
            }
            let mut service = service.clone();
            async move {
                poll_fn(|cx| service.poll_ready(cx)).await?;
                let response = service.call(request).await?;
                Ok(response.map(|body| body.of_request(active)))
            }
        })
    }
}

/// Runs a connection to its end. `finish` has it end after its work, once the server wants that.
pub(super) async fn drive<C>(watched: &WatchedConnection, connection: C, finish: impl Fn(Pin<&mut C>))
where
    C: Future<Output = hyper::Result<()>>,
{
    tokio::pin!(connection);
    let mut is_registered = false;
    let served = poll_fn(|cx| {
        // The waker of a task stays the same, so one registration is enough.
        if !std::mem::replace(&mut is_registered, true) {
            watched.waker.register(cx.waker());
        }
        if watched.is_finishing() {
            // To finish a connection without any request would close it. Its first request wakes the task.
            if watched.is_silent() {
                watched.waker.register(cx.waker());
            } else {
                // Finishing a connection again changes nothing.
                finish(connection.as_mut());
            }
        }
        connection.as_mut().poll(cx)
    });
    if let Err(error) = served.await {
        tracing::debug!(%error, "connection ended");
    }
}

/// An [`HttpServer`] at the paths of its configuration, with HTTP+SSE beside it; every other path is 404.
#[derive(Clone)]
pub struct Routes<A: Accept> {
    pub(super) server: HttpServer<A>,
}

/// The path of the stream in HTTP+SSE.
const SSE_STREAM: &str = "/sse";

impl<A: Accept> Routes<A> {
    /// Returns the server behind the paths.
    pub fn server(&self) -> &HttpServer<A> {
        &self.server
    }

    /// Answers one request.
    pub fn handle<B: Body>(&self, request: Request<B>) -> ResponseFuture<A, B> {
        self.server.proceed(request, |parts| match parts.uri.path() {
            _ if parts.extensions.get::<HealthOnly>().is_some() => {
                let why = "too many connections are open; try again later";
                Err(HttpRefusal::because(StatusCode::SERVICE_UNAVAILABLE, why))
            }
            path if path == &*self.server.config().path => self.server.check(parts),
            SSE_STREAM => self.check_stream(parts),
            SSE_MESSAGES => self.check_message(parts),
            _ => Err(HttpRefusal::because(StatusCode::NOT_FOUND, "there is nothing here")),
        })
    }

    fn check_stream(&self, parts: &Parts) -> Result<CheckedHead, HttpRefusal> {
        let head = self.server.guarded(parts)?;
        if parts.method != Method::GET {
            return Err(not_allowed());
        }
        if !head.accepts.events {
            return Err(HttpRefusal::no_events());
        }
        self.server.sse_open(parts).map(CheckedHead::Done)
    }

    fn check_message(&self, parts: &Parts) -> Result<CheckedHead, HttpRefusal> {
        let head = self.server.guarded(parts)?;
        if parts.method != Method::POST {
            return Err(not_allowed());
        }
        HttpServer::<A>::check_body(&head)?;
        let id = session(parts.uri.query()).ok_or_else(HttpRefusal::no_session)?;
        self.server.session(id, parts, true)?;
        Ok(CheckedHead::Post(PostTarget::Sse(id)))
    }
}

fn session(query: Option<&str>) -> Option<SessionId> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    SessionId::parse(pairs.find(|(name, _)| *name == SESSION_ID)?.1.as_bytes())
}

impl<A: Accept, B: Body> Service<Request<B>> for Routes<A> {
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = ResponseFuture<A, B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.handle(request)
    }
}

mgp_types::partial_debug!([A: Accept] Routes<A>, self => server: self.server);
