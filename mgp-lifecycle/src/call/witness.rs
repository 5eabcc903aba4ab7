use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mgp_types::mgp::method as mgp;
use mgp_types::{BoxFuture, Error, Method, Outbox, OutboxPort, Request, Response, StreamId};

/// Sees whether a caller was shown parts of a result or asked something. It is the call's outbox, so both pass by.
///
/// Such a call is not made again: the caller would get the parts twice, or be asked twice.
pub(super) struct Witness {
    port: Arc<dyn OutboxPort>,
    has_seen: AtomicBool,
}

impl Witness {
    /// Puts itself into the outbox of a request. Where that leads nowhere there is nothing to see, and nothing is
    /// allocated.
    pub(super) fn watch(request: &mut Request) -> Option<Arc<Self>> {
        let (port, stream) = request.context.outbox.clone().into_parts()?;
        let witness = Arc::new(Self { port, has_seen: AtomicBool::new(false) });
        request.context.outbox = Outbox::new(Arc::clone(&witness) as Arc<dyn OutboxPort>, stream);
        Some(witness)
    }

    /// Whether the caller has something in hand already.
    pub(super) fn has_seen(&self) -> bool {
        self.has_seen.load(Ordering::Relaxed)
    }
}

impl OutboxPort for Witness {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method == Method::STREAM_CHUNK || notification.method == *mgp::CALLBACK_REQUEST {
            self.has_seen.store(true, Ordering::Relaxed);
        }
        self.port.notify(stream, notification)
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.has_seen.store(true, Ordering::Relaxed);
        self.port.call(stream, request)
    }
}
