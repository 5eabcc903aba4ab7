//! Peers and an audit log for tests.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{AuditEvent, AuditPort};
use mgp_types::{BoxFuture, Error, Outbox, OutboxPort, Request, Response, StreamId};
use parking_lot::Mutex;

/// A peer that records its messages, and answers questions after an hour; a peer that is stuck takes none.
#[derive(Debug, Default)]
pub(crate) struct Caller {
    got: Mutex<Vec<(StreamId, Request)>>,
    pub(crate) is_stuck: bool,
}

impl Caller {
    pub(crate) fn stuck() -> Self {
        Self { is_stuck: true, ..Self::default() }
    }

    /// Returns the outbox to the peer for one call.
    pub(crate) fn outbox(self: &Arc<Self>) -> Outbox {
        Outbox::new(Arc::clone(self) as Arc<dyn OutboxPort>, StreamId::fresh())
    }

    /// Returns the outbox to the peer for messages that belong to no call.
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

/// An audit log that can be read back, and can be made to fail.
#[derive(Debug, Default)]
pub(crate) struct Log {
    events: Mutex<Vec<AuditEvent>>,
    fault: Mutex<Option<Error>>,
}

impl Log {
    pub(crate) fn events(&self) -> Vec<AuditEvent> {
        self.events.lock().clone()
    }

    /// Returns the details of the events, as JSON.
    pub(crate) fn details(&self, name: &str) -> Vec<String> {
        let detail = |event: &AuditEvent| event.details.get(name).map(|raw| raw.to_bytes());
        let events = self.events();
        events.iter().filter_map(detail).map(|raw| String::from_utf8(raw.to_vec()).unwrap()).collect()
    }

    pub(crate) fn fail(&self) {
        *self.fault.lock() = Some(Error::internal("the log is full"));
    }

    /// Returns the events so far, and forgets them.
    pub(crate) fn taken(&self) -> Vec<AuditEvent> {
        std::mem::take(&mut self.events.lock())
    }
}

impl AuditPort for Log {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if let Some(error) = self.fault.lock().clone() {
                return Err(error);
            }
            self.events.lock().push(event);
            Ok(())
        })
    }
}
