use mgp_types::{BoxFuture, Error, Method, OutboxPort, Request, Response, StreamId};

use super::active::Active;
use super::done::Done;

/// The way back to the caller as the handler of a tool sees it: chunks are numbered, paced and kept; all else passes.
impl OutboxPort for Active {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method == Method::STREAM_CHUNK {
            return self.chunk(&notification.params);
        }
        match self.port() {
            Some(port) => port.notify(stream, notification),
            None => Box::pin(Done),
        }
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        if let Some(port) = self.port() {
            return port.call(stream, request);
        }
        let error = Error::invalid_request("the peer cannot be asked on this connection");
        Box::pin(std::future::ready(Err(error)))
    }
}
