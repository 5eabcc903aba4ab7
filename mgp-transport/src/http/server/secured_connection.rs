//! A connection with TLS, which carries HTTP/1.1 or HTTP/2.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use hyper::rt::Executor;
use hyper::server::conn::http2;
use mgp_types::PeerCertificate;
use parking_lot::Mutex;
use rustls::InvalidMessage;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::serve::{HttpService, OpenConnection, drive};
use super::tls::{HTTP2, TlsConfig};
use super::watched_connection::{CONNECTION, WatchedConnection};

/// The number of bytes that a peer may send on one stream of HTTP/2 before they are read.
const STREAM_WINDOW: u32 = 256 << 10;
/// The number of bytes that a peer may send on all streams of a connection before they are read.
const CONNECTION_WINDOW: u32 = 1 << 20;
/// The number of bytes of one answer that wait in HTTP/2.
const MAX_SEND_BUFFER: usize = 64 << 10;
/// The number of streams that a peer may take back before they are looked at; then the connection ends.
const MAX_RESET_UNSEEN: usize = 20;
/// The number of streams that may end for faults of the peer; then the connection ends.
const MAX_RESET_FOR_FAULTS: usize = 64;

impl<S: HttpService> OpenConnection<S> {
    pub(super) async fn serve_secured(mut self, tls: TlsConfig, stream: TcpStream) {
        let peer = stream.peer_addr().ok();
        let stream = match tls.acceptor().accept(stream).await {
            Ok(stream) => stream,
            Err(error) => return log_failure(peer, &error),
        };
        let (_, session) = stream.get_ref();
        if let Some([certificate, ..]) = session.peer_certificates() {
            self.marks.get_or_insert_default().insert(PeerCertificate::from_der(certificate));
        }
        if session.alpn_protocol() == Some(HTTP2) {
            self.serve_http2(stream).await;
        } else {
            self.serve_http1(stream).await;
        }
    }

    async fn serve_http2(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        // Dropping the tasks ends them.
        let tasks = Arc::new(Mutex::new(JoinSet::new()));
        let executor = StreamTasks { tasks: Arc::downgrade(&tasks), watched: Arc::clone(&self.watched) };
        let is_reserved = self.watched.is_reserved();
        let max_headers = u32::try_from(self.config.max_header_bytes).unwrap_or(u32::MAX);
        let connection = http2::Builder::new(executor)
            .max_concurrent_streams(if is_reserved { 1 } else { self.config.max_streams })
            .max_header_list_size(max_headers)
            .max_pending_accept_reset_streams(MAX_RESET_UNSEEN)
            .max_local_error_reset_streams(MAX_RESET_FOR_FAULTS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(MAX_SEND_BUFFER)
            .serve_connection(self.watch(stream), self.requests());
        drive(&self.watched, connection, http2::Connection::graceful_shutdown).await;
    }
}

/// Tells the operator why a connection did not come to be.
fn log_failure(peer: Option<SocketAddr>, error: &io::Error) {
    let peer = peer.map(|peer| peer.ip()).map(tracing::field::display);
    match error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            tracing::warn!(peer, "connection closed: it began without TLS; clients have to use https://");
        }
        Some(error) => tracing::info!(peer, %error, "connection closed: TLS was not agreed"),
        None => tracing::debug!(peer, %error, "connection ended before TLS was agreed"),
    }
}

/// Runs the streams of one HTTP/2 connection, each in a task that ends with the connection.
#[derive(Debug, Clone)]
struct StreamTasks {
    /// The tasks hold the executor themselves.
    tasks: Weak<Mutex<JoinSet<()>>>,
    watched: Arc<WatchedConnection>,
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for StreamTasks {
    fn execute(&self, stream: F) {
        let Some(tasks) = self.tasks.upgrade() else { return };
        let mut tasks = tasks.lock();
        while tasks.try_join_next().is_some() {}
        let stream = CONNECTION.scope(Arc::clone(&self.watched), stream);
        tasks.spawn(async move {
            stream.await;
        });
    }
}
