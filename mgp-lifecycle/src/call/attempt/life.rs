use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Method, Outbox, OutboxPort, Request, Response, StreamId};
use tokio::time::Instant;

use crate::call::asked::Asked;
use crate::call::deadline::Running;

/// The signs of life that a server gives about one attempt. It is the attempt's outbox, so they pass by.
pub(super) struct Life {
    /// Where messages go; nowhere if the caller wants none.
    port: Option<Arc<dyn OutboxPort>>,
    began: Instant,
    /// When the last sign came, in nanoseconds since the beginning.
    last_nanos: AtomicU64,
    /// How long the server waited for others.
    asked: Asked,
    /// The time of the whole call, which does not run meanwhile.
    running: Option<Arc<Running>>,
}

impl Life {
    /// Puts itself into the outbox of a call.
    pub(super) fn watch(request: &mut Request) -> Arc<Self> {
        let stream = request.context.outbox.stream();
        let is_about_a_call = request.method.is_about_a_call();
        // A message about a call has the stream of that call, where nothing comes about the message itself.
        let port =
            if is_about_a_call { None } else { std::mem::take(&mut request.context.outbox).into_parts() };
        let life = Arc::new(Self {
            port: port.map(|(port, _)| port),
            began: Instant::now(),
            last_nanos: AtomicU64::new(0),
            asked: Asked::default(),
            running: request.extensions.get_shared(),
        });
        if !is_about_a_call {
            let stream = if stream == StreamId::STANDALONE { StreamId::fresh() } else { stream };
            request.context.outbox = Outbox::new(Arc::clone(&life) as Arc<dyn OutboxPort>, stream);
        }
        life
    }

    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    /// When the last sign was: now, while the server waits for somebody else.
    pub(super) fn last_sign(&self, now: Instant) -> Instant {
        if self.is_asking() {
            return now;
        }
        self.began + Duration::from_nanos(self.last_nanos.load(Ordering::Relaxed))
    }

    /// Whether the server waits for somebody else.
    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_open()
    }

    /// How long it has waited for others.
    pub(super) fn asked(&self, now: Instant) -> Duration {
        self.asked.total(now)
    }

    fn note_sign(&self) {
        let nanos = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last_nanos.fetch_max(nanos, Ordering::Relaxed);
    }
}

impl OutboxPort for Life {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method.is_about_a_call() || notification.method == Method::PROGRESS {
            self.note_sign();
        }
        match &self.port {
            Some(port) => port.notify(stream, notification),
            None => Box::pin(ready(Ok(()))),
        }
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        let Some(port) = &self.port else {
            return Box::pin(ready(Err(Error::invalid_request("the caller cannot be asked"))));
        };
        let question = OpenQuestion::new(self);
        Box::pin(async move {
            let _question = question;
            port.call(stream, request).await
        })
    }
}

impl std::fmt::Debug for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Life").field("began", &self.began).finish_non_exhaustive()
    }
}

struct OpenQuestion<'a>(&'a Life);

impl<'a> OpenQuestion<'a> {
    fn new(life: &'a Life) -> Self {
        life.asked.begin();
        if let Some(running) = &life.running {
            running.asked.begin();
        }
        Self(life)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.note_sign();
        self.0.asked.end();
        if let Some(running) = &self.0.running {
            running.asked.end();
        }
    }
}
