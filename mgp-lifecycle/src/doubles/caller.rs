use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Outbox, OutboxPort, Request, Response, StreamId};
use parking_lot::Mutex;

/// A peer that keeps what it is told, and answers questions after an hour; one that is stuck takes nothing.
#[derive(Debug, Default)]
pub(crate) struct Caller {
    got: Mutex<Vec<(StreamId, Request)>>,
    is_stuck: bool,
}

impl Caller {
    pub(crate) fn stuck() -> Self {
        Self { is_stuck: true, ..Self::default() }
    }

    pub(crate) const fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// The way to it, for one call.
    pub(crate) fn outbox(self: &Arc<Self>) -> Outbox {
        Outbox::new(Arc::clone(self) as Arc<dyn OutboxPort>, StreamId::fresh())
    }

    /// The way to it, for what belongs to no call.
    pub(crate) fn standalone(self: &Arc<Self>) -> Outbox {
        Outbox::new(Arc::clone(self) as Arc<dyn OutboxPort>, StreamId::STANDALONE)
    }

    pub(crate) fn got(&self) -> Vec<(StreamId, Request)> {
        self.got.lock().clone()
    }
}

impl OutboxPort for Caller {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if self.is_stuck {
            return Box::pin(pending());
        }
        self.got.lock().push((stream, notification));
        Box::pin(ready(Ok(())))
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.got.lock().push((stream, request));
        Box::pin(async {
            tokio::time::sleep(Duration::from_hours(1)).await;
            Ok(Response::empty())
        })
    }
}
