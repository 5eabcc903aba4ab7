use mgp_types::{BoxFuture, Error, Method, OutboxPort, Request, Response, StreamId};

use super::active::Active;

/// The way back to the caller as the handler of a tool sees it: chunks are numbered, paced and kept, or kept only if
/// the caller does not want them; all else passes.
impl OutboxPort for Active {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method == Method::STREAM_CHUNK {
            return Box::pin(async move { self.chunk(&notification.params).await });
        }
        match self.port() {
            Some(port) => port.notify(stream, notification),
            None => Box::pin(std::future::ready(Ok(()))),
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
