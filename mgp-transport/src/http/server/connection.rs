//! One connection of a server, from its first byte to its end.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

use http::Extensions;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::body::HttpBody;
use super::config::{ConnectionAddrs, HttpConfig};
use super::serve::HttpService;
use super::watched_connection::{CONNECTION, WatchedConnection, WatchedIo};

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
        http::Request<Incoming>,
        Response = http::Response<HttpBody>,
        Error = Infallible,
        Future: Send + 'static,
    > + use<S> {
        let (service, marks, watched) = (self.service.clone(), self.marks.clone(), Arc::clone(&self.watched));
        let is_reserved = watched.is_reserved();
        service_fn(move |mut request: http::Request<Incoming>| {
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
