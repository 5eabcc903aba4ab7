use std::sync::Arc;

use mgp_types::{BoxFuture, Error, Method, OutboxPort, Request, Response, StreamId};

use super::active::Active;

/// The way back to the caller as the handler of a tool sees it: chunks are numbered, paced and kept, or kept only if
/// the caller does not want them; all else passes.
pub(super) struct Writer(Arc<Active>);

impl Writer {
    pub(super) const fn new(active: Arc<Active>) -> Self {
        Self(active)
    }
}

impl OutboxPort for Writer {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method == Method::STREAM_CHUNK {
            return Box::pin(async move { self.0.chunk(&notification.params).await });
        }
        match self.0.port() {
            Some(port) => port.notify(stream, notification),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        match self.0.port() {
            Some(port) => port.call(stream, request),
            None => {
                Box::pin(async { Err(Error::invalid_request("the peer cannot be asked on this connection")) })
            }
        }
    }
}
