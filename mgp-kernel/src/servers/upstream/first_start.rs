use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::mgp::ServerId;
use mgp_types::{BoxFuture, Error, Method, Object, Outbox, RawJson, Request, Response};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tower_service::Service;

use crate::call::erased::ErasedService;

/// Whether a server is still being connected to for the first time. Clones are the same.
#[derive(Clone)]
pub(crate) struct FirstStart(Arc<FirstStartInner>);

struct FirstStartInner {
    server: ServerId,
    /// What calls look at, for most come after it.
    is_over: AtomicBool,
    over: watch::Sender<bool>,
    began: Instant,
    /// How long calls wait for it, from its beginning on.
    patience: Duration,
}

impl FirstStart {
    /// A start of `server` that begins now, and that calls wait for no longer than `patience`.
    pub(crate) fn new(server: ServerId, patience: Duration) -> Self {
        Self(Arc::new(FirstStartInner {
            server,
            is_over: AtomicBool::new(false),
            over: watch::Sender::new(false),
            began: Instant::now(),
            patience,
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
    pub(crate) fn end(&self) {
        if !self.0.is_over.swap(true, Ordering::AcqRel) {
            self.0.over.send_replace(true);
        }
    }

    /// Waits for that.
    pub(crate) async fn over(&self) {
        // It fails only if the sender is gone, which is in our hands.
        let _ = self.0.over.subscribe().wait_for(|is_over| *is_over).await;
    }

    /// Waits until the start is over or has taken as long as it may. Whoever asked for progress of the call is told
    /// meanwhile what it waits for.
    pub(crate) async fn awaited_by(&self, call: &WaitingCall) {
        let waited = timeout_at(self.0.began + self.0.patience, self.over());
        let telling = async {
            let mut times = interval(TELL_EVERY);
            times.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                times.tick().await;
                call.tell(&self.0.server, self.age()).await;
            }
        };
        tokio::select! {
            _ = waited => {}
            never = telling => never,
        }
    }
}

/// A call that waits for the start of a server: where its caller is told of progress, if it asked for that.
pub(crate) struct WaitingCall {
    outbox: Outbox,
    token: Option<RawJson>,
}

impl WaitingCall {
    pub(crate) fn of(request: &Request) -> Self {
        // The token outlives the frame that it came in.
        let token = request.meta("progressToken").map(|token| token.detached());
        Self { outbox: request.context.outbox.clone(), token }
    }

    async fn tell(&self, server: &ServerId, age: Duration) {
        let Some(token) = &self.token else { return };
        let mut params = Object::new();
        params.set("progressToken", token.clone());
        // Progress only ever grows, and what the server itself reports begins at one or more.
        let progress = (age.as_secs_f64() / 1_000.0).min(0.999);
        params.set("progress", RawJson::from_written(format!("{progress:.6}").into_bytes()));
        params.set("message", RawJson::from_text(&format!("the server `{server}` is starting")));
        if let Err(error) = self.outbox.notify(Request::notify(Method::PROGRESS, params)).await {
            tracing::debug!(%error, "a caller is not told that a server is starting");
        }
    }
}

/// The way to a server, in front of which calls wait while it is still starting.
///
/// Sits in front of all layers of the server: some of them refuse until they know it. A server that starts again after
/// a crash is not waited for; its gate says when to come again.
#[derive(Clone)]
pub(super) struct WaitForStart {
    inner: ErasedService,
    start: FirstStart,
}

impl WaitForStart {
    pub(super) fn new(inner: ErasedService, start: FirstStart) -> Self {
        Self { inner, start }
    }
}

impl Service<Request> for WaitForStart {
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
        let Self { mut inner, start } = self.clone();
        Box::pin(async move {
            // Whoever has waited long enough is told by the server's gate how it stands.
            start.awaited_by(&WaitingCall::of(&request)).await;
            inner.call(request).await
        })
    }
}

/// How often a caller is told that the server is still starting.
const TELL_EVERY: Duration = Duration::from_secs(2);
