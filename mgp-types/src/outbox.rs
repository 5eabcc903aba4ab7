use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Method, Request, Response};

/// A boxed future, for the calls that are rare enough not to need a named one.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The stream of one call: what its messages have in common on this side of the connection, as the JSON-RPC id is on
/// the other. No two calls of a process have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(u64);

impl StreamId {
    /// The stream of messages that belong to no request.
    pub const STANDALONE: Self = Self(0);

    /// A stream that nobody else in this process has.
    pub fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The way back to the peer: what a transport offers to those who answer its requests.
pub trait OutboxPort: Send + Sync + 'static {
    /// Sends a notification on `stream`; it is done when the message has a place in the queue.
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>>;

    /// Sends a request on `stream` and waits for its answer. Dropping the future takes the request back.
    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>>;
}

/// The reverse channel of one request: notifications and requests that travel with its answer.
///
/// A layer that cares about them wraps the port. One that leads nowhere costs nothing.
///
/// # Messages about a call
///
/// Some messages of MGP [name a call](crate::Method::is_about_a_call) by its JSON-RPC id, in `request_id`. No id is seen
/// here: such a message travels on the stream of its call, and the connection alone writes and reads ids.
///
/// * Whoever serves a call sends them on the call's outbox, without `request_id`.
/// * Whoever serves the message finds the stream of the call in the message's own outbox; it is
///   [`STANDALONE`](StreamId::STANDALONE) if the peer has no such call in work.
/// * Whoever makes a call gives it an outbox on a [fresh](StreamId::fresh) stream. What the peer sends about the call
///   comes to that outbox, in order and before the answer; only a question (`notifications/mgp.callback.request`) goes to
///   what answers the peer, with the call's outbox as its own.
/// * Whoever sends a message about a call of its own gives the message an outbox [on](Outbox::on) the call's stream.
///
/// So a gateway that passes a request on with its outbox passes back what comes about it, under the right id.
#[derive(Clone)]
pub struct Outbox {
    port: Option<Arc<dyn OutboxPort>>,
    stream: StreamId,
    /// Whether what only MGP has is kept from the peer.
    is_plain: bool,
}

impl Outbox {
    /// An outbox that leads nowhere.
    pub const CLOSED: Self = Self { port: None, stream: StreamId::STANDALONE, is_plain: false };

    /// The outbox that writes to `stream` of `port`.
    pub fn new(port: Arc<dyn OutboxPort>, stream: StreamId) -> Self {
        Self { port: Some(port), stream, is_plain: false }
    }

    /// An outbox that leads nowhere, for a message about the call that has `stream`.
    pub const fn on(stream: StreamId) -> Self {
        Self { port: None, stream, is_plain: false }
    }

    /// The outbox to a peer that does not speak MGP: it drops the notifications that only MGP has, and refuses its requests.
    /// Events pass: only those hear them who asked for them, which a client of plain MCP does by calling a tool. Whoever knows what was negotiated makes it, so that nobody further in has to ask.
    #[must_use]
    pub fn without_mgp(self) -> Self {
        Self { is_plain: true, ..self }
    }

    /// The stream that it writes to.
    pub const fn stream(&self) -> StreamId {
        self.stream
    }

    /// Whether messages lead somewhere.
    pub fn is_open(&self) -> bool {
        self.port.is_some()
    }

    /// The port and stream behind the outbox, for a layer that puts itself between.
    pub fn into_parts(self) -> Option<(Arc<dyn OutboxPort>, StreamId)> {
        let port = self.port?;
        Some((if self.is_plain { Arc::new(Plain(port)) } else { port }, self.stream))
    }

    /// Sends a notification. Without a way back it is dropped: a notification asks for nothing.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn notify(&self, notification: Request) -> Result<(), Error> {
        match &self.port {
            Some(_) if self.is_plain && is_uninvited(&notification.method) => Ok(()),
            Some(port) => port.notify(self.stream, notification).await,
            None => Ok(()),
        }
    }

    /// Sends a request to the peer and waits for the answer.
    ///
    /// # Errors
    /// There is no way back, the connection is lost, or the peer answers with an error.
    ///
    /// # Cancel safety
    /// Dropping the future takes the request back.
    pub async fn call(&self, request: Request) -> Result<Response, Error> {
        match &self.port {
            Some(_) if self.is_plain && request.method.is_mgp() => Err(unknown_to_plain(&request)),
            Some(port) => port.call(self.stream, request).await,
            None => Err(Error::invalid_request("the peer cannot be asked on this connection")),
        }
    }
}

/// The port to a peer that does not speak MGP.
struct Plain(Arc<dyn OutboxPort>);

impl OutboxPort for Plain {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if is_uninvited(&notification.method) {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.0.notify(stream, notification)
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        if request.method.is_mgp() {
            return Box::pin(std::future::ready(Err(unknown_to_plain(&request))));
        }
        self.0.call(stream, request)
    }
}

/// Whether a peer that does not speak MGP has not asked for notifications of this method.
fn is_uninvited(method: &Method) -> bool {
    method.is_mgp() && *method != Method::EVENT
}

fn unknown_to_plain(request: &Request) -> Error {
    Error::invalid_request(format!("the peer does not speak MGP, which alone has `{}`", request.method))
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox")
            .field("open", &self.is_open())
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}
