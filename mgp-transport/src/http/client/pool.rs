//! The pool of connections to one server.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use mgp_types::Error;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use super::body::ResponseBody;
use super::connect::Dial;
use super::core::Tasks;

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

type HttpSender = SendRequest<Full<Bytes>>;

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
        mut request: Request<Full<Bytes>>,
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
                    _ => return Err(broken(failed.into_error())),
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
        let stream = dialled
            .map_err(|error| Error::disconnected("the server cannot be reached").with_source(error))?;
        let (sender, connection) = handshake(stream).await.map_err(broken)?;
        self.tasks.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the server broke");
            }
        });
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
