//! The wait for `notifications/initialized`, before which a client is not asked.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Outbox, OutboxPort, Request, Response, StreamId};
use tokio::sync::watch;

/// The signal that the client has ended the opening of the session with `notifications/initialized`.
#[derive(Debug)]
pub(super) struct Initialized(watch::Sender<bool>);

impl Default for Initialized {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Initialized {
    pub(super) fn set(&self) {
        self.0.send_replace(true);
    }

    /// Returns an outbox that holds requests until the client is ready for them.
    ///
    //= mcp 2025-11-25 lifecycle
    //# The server SHOULD NOT send requests other than pings and logging before receiving the initialized
    //# notification.
    pub(super) fn holding(&self, outbox: Outbox) -> Outbox {
        if *self.0.borrow() {
            return outbox;
        }
        match outbox.into_parts() {
            Some((port, stream)) => {
                Outbox::new(Arc::new(Holding { port, initialized: self.0.subscribe() }), stream)
            }
            None => Outbox::CLOSED,
        }
    }
}

struct Holding {
    port: Arc<dyn OutboxPort>,
    initialized: watch::Receiver<bool>,
}

const PATIENCE: Duration = Duration::from_secs(10);

impl OutboxPort for Holding {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        self.port.notify(stream, notification)
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        let mut initialized = self.initialized.clone();
        Box::pin(async move {
            // Some clients never send that they are ready; after a while the server takes them for ready.
            let _ = tokio::time::timeout(PATIENCE, initialized.wait_for(|initialized| *initialized)).await;
            self.port.call(stream, request).await
        })
    }
}
