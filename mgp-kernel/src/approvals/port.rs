//! The way back to the client of a call that may be parked.

use std::sync::Arc;

use mgp_types::{BoxFuture, Error, Method, OutboxPort, Request, Response, StreamId};

use super::check_declared;
use super::conversation::CallConversation;

/// The way back to the client of a call, whichever round it is in.
pub(super) struct ParkedCallPort(pub(super) Arc<CallConversation>);

impl ParkedCallPort {
    /// Asks the client; the answer comes with one of its next rounds.
    async fn ask(&self, question: Request) -> Result<Response, Error> {
        let session = self.0.session().ok_or_else(Error::cancelled)?;
        check_declared(&session, &question).await?;
        self.0.ask(question.method, question.params)?.answer().await
    }
}

impl OutboxPort for ParkedCallPort {
    fn notify(&self, stream: StreamId, mut notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let Some((outbox, progress)) = self.0.way_back() else {
                tracing::debug!(method = %notification.method, "dropping a notification between two rounds");
                return Ok(());
            };
            if notification.method == Method::PROGRESS && progress != self.0.progress {
                // Each round has a progress token of its own, or wants no progress.
                let Some(progress) = progress else { return Ok(()) };
                notification.params.set("progressToken", progress);
            }
            let Some((port, current)) = outbox.into_parts() else { return Ok(()) };
            let stream = if stream == self.0.stream { current } else { stream };
            port.notify(stream, notification).await
        })
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.ask(request))
    }
}
