//! The way back to the peer: notifications and requests that travel with the answer to a request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Method, Request, Response};

/// A boxed future, for the calls that are rare enough not to need a named one.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The stream of one call. The stream connects the call's messages on this side of the connection, as the JSON-RPC id
/// does on the other. Each call of a process has its own stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(u64);

impl StreamId {
    /// The stream of messages that belong to no request.
    pub const STANDALONE: Self = Self(0);

    /// Creates a stream that no other call of this process has.
    pub fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The transport's way back to the peer, for services that answer the peer's requests.
pub trait OutboxPort: Send + Sync + 'static {
    /// Sends a notification on `stream`. The future ends when the message has a place in the queue.
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>>;

    /// Sends a request on `stream` and waits for its answer. Dropping the future takes the request back. A port that only hears
    /// notifications has no peer to ask, and refuses the request.
    fn call(&self, _stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(std::future::ready(Err(Error::method_not_found(&request.method))))
    }
}

/// The reverse channel of one request: notifications and requests that travel with its answer.
///
/// A layer that watches the messages wraps the port. An outbox that leads nowhere costs nothing.
///
/// # Messages about a call
///
/// Some messages of MGP [name a call](crate::Method::is_about_a_call) by its JSON-RPC id, in `request_id`. Above the
/// connection there are no ids: such a message travels on the stream of its call, and the connection alone writes and
/// reads ids.
///
/// * A service that serves a call sends them on the call's outbox, without `request_id`.
/// * A service that serves the message finds the stream of the call in the message's own outbox; it is
///   [`STANDALONE`](StreamId::STANDALONE) if the peer has no such call in work.
/// * A caller gives its call an outbox on a [fresh](StreamId::fresh) stream. The peer's messages about the call come to
///   that outbox, in order and before the answer; only a question (`notifications/mgp.callback.request`) goes to the
///   service that answers the peer, with the call's outbox as its own.
/// * A sender of a message about its own call gives the message an outbox [on](Outbox::on) the call's stream.
///
/// A gateway that passes a request on with its outbox thus passes back the messages about it, under the right id.
#[derive(Clone, Default)]
pub struct Outbox {
    port: Option<Arc<dyn OutboxPort>>,
    stream: StreamId,
    /// True if messages that only MGP has are kept from the peer.
    is_plain: bool,
}

impl Outbox {
    /// The outbox that leads nowhere.
    pub const CLOSED: Self = Self { port: None, stream: StreamId::STANDALONE, is_plain: false };

    /// Creates the outbox that writes to `stream` of `port`.
    pub fn new(port: Arc<dyn OutboxPort>, stream: StreamId) -> Self {
        Self { port: Some(port), stream, is_plain: false }
    }

    /// Creates an outbox that leads nowhere, for a message about the call that has `stream`.
    pub const fn on(stream: StreamId) -> Self {
        Self { port: None, stream, is_plain: false }
    }

    /// Returns the outbox to a peer that does not speak MGP: it drops the notifications that only MGP has, and refuses
    /// its requests. Events pass, because only a peer that asked for them gets any; a client of plain MCP asks by
    /// calling a tool. The layer that knows the negotiation makes this outbox, so that no layer further in has to ask.
    #[must_use]
    pub fn without_mgp(self) -> Self {
        Self { is_plain: true, ..self }
    }

    /// Returns the stream that the outbox writes to.
    pub const fn stream(&self) -> StreamId {
        self.stream
    }

    /// Returns whether messages lead somewhere.
    pub fn is_open(&self) -> bool {
        self.port.is_some()
    }

    /// Returns the port and stream behind the outbox, for a layer that puts itself between.
    pub fn into_parts(self) -> Option<(Arc<dyn OutboxPort>, StreamId)> {
        let port = self.port?;
        Some((if self.is_plain { Arc::new(Plain(port)) } else { port }, self.stream))
    }

    /// Sends a notification. Without a way back the notification is dropped, because it asks for nothing.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn notify(&self, notification: Request) -> Result<(), Error> {
        match &self.port {
            Some(port) if self.is_plain => Plain(Arc::clone(port)).notify(self.stream, notification).await,
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
            Some(port) if self.is_plain => Plain(Arc::clone(port)).call(self.stream, request).await,
            Some(port) => port.call(self.stream, request).await,
            None => Err(Error::invalid_request("the peer cannot be asked on this connection")),
        }
    }
}

/// The port to a peer that does not speak MGP.
struct Plain(Arc<dyn OutboxPort>);

impl OutboxPort for Plain {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        // The peer has not asked for any but events, and the end of their subscription.
        if notification.method.is_mgp() && !notification.method.as_str().starts_with(Method::EVENT.as_str()) {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.0.notify(stream, notification)
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        if request.method.is_mgp() {
            let why = format!("the peer does not speak MGP and lacks its method `{}`", request.method);
            return Box::pin(std::future::ready(Err(Error::invalid_request(why))));
        }
        self.0.call(stream, request)
    }
}

crate::partial_debug!(Outbox, self => open: self.is_open(), stream: self.stream);
