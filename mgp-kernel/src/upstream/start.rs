use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Request, Response};
use tokio::sync::watch;
use tokio::time::Instant;
use tower_service::Service;

use crate::erased::Erased;

/// Whether a server is still being connected to for the first time. Clones are the same.
#[derive(Clone)]
pub(crate) struct Start(Arc<Shared>);

struct Shared {
    /// What calls look at, for most come after it.
    is_over: AtomicBool,
    over: watch::Sender<bool>,
    began: Instant,
}

impl Start {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            is_over: AtomicBool::new(false),
            over: watch::Sender::new(false),
            began: Instant::now(),
        }))
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }

    /// For how long it has been there.
    pub(crate) fn age(&self) -> Duration {
        self.0.began.elapsed()
    }

    /// It is connected, or it could not be.
    pub(super) fn end(&self) {
        if !self.0.is_over.swap(true, Ordering::AcqRel) {
            self.0.over.send_replace(true);
        }
    }

    /// Waits for that.
    pub(crate) async fn over(&self) {
        // It fails only if the sender is gone, which is in our hands.
        let _ = self.0.over.subscribe().wait_for(|is_over| *is_over).await;
    }
}

/// The way to a server, in front of which calls wait while it is still starting.
///
/// Sits in front of all layers of the server: some of them refuse until they know it. A server that starts again after
/// a crash is not waited for; its gate says when to come again.
#[derive(Clone)]
pub(super) struct Patient {
    inner: Erased,
    start: Start,
    patience: Duration,
}

impl Patient {
    pub(super) fn new(inner: Erased, start: Start, patience: Duration) -> Self {
        Self { inner, start, patience }
    }
}

impl Service<Request> for Patient {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // The layers of a server are always ready: they wait inside of a call.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if self.start.is_over() {
            return self.inner.call(request);
        }
        let Self { mut inner, start, patience } = self.clone();
        Box::pin(async move {
            // Whoever has waited long enough is told by the server's gate how it stands.
            let _ = tokio::time::timeout(patience, start.over()).await;
            inner.call(request).await
        })
    }
}
