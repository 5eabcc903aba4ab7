//! The first start of a server, for which calls wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mgp_types::mgp::ServerId;
use mgp_types::{Method, Object, Outbox, RawJson, Request};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// The first start of a server, which may still go on. Clones share it.
#[derive(Clone)]
pub(crate) struct FirstStart(Arc<FirstStartInner>);

struct FirstStartInner {
    server: ServerId,
    /// True if the start is over. Calls look at this flag, for most of them come after the start.
    is_over: AtomicBool,
    over: watch::Sender<bool>,
    began: Mutex<Instant>,
    /// The moment until which calls wait for it; `None` while the server is in the queue of those that start.
    until: watch::Sender<Option<Instant>>,
}

impl FirstStart {
    /// Returns a start of `server`, which waits in the queue of those that start.
    pub(crate) fn new(server: ServerId) -> Self {
        Self(Arc::new(FirstStartInner {
            server,
            is_over: AtomicBool::new(false),
            over: watch::Sender::new(false),
            began: Mutex::new(Instant::now()),
            until: watch::Sender::new(None),
        }))
    }

    /// Notes that the start begins now.
    pub(super) fn begin(&self) {
        *self.0.began.lock() = Instant::now();
    }

    /// Notes that the server leaves the queue, and that calls wait for it no longer than `patience` from now on.
    pub(crate) fn leave_queue(&self, patience: Duration) {
        self.0.until.send_replace(Some(Instant::now() + patience));
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }

    /// Returns the time since the start began.
    pub(crate) fn age(&self) -> Duration {
        self.0.began.lock().elapsed()
    }

    /// Ends the start: the server is connected, or could not be.
    pub(crate) fn end(&self) {
        if !self.0.is_over.swap(true, Ordering::AcqRel) {
            self.0.over.send_replace(true);
        }
    }

    /// Waits until the start is over.
    pub(crate) async fn over(&self) {
        // Waiting fails only if the sender is gone, and `self` holds it.
        let _ = self.0.over.subscribe().wait_for(|is_over| *is_over).await;
    }

    /// Waits until the start is over or has taken as long as it may. A caller that asked for progress of the call is
    /// notified meanwhile what it waits for.
    pub(crate) async fn awaited_by(&self, call: &WaitingCall) {
        let late = async {
            let mut until = self.0.until.subscribe();
            let in_queue = timeout(LONGEST_QUEUE, until.wait_for(Option::is_some)).await;
            let until = in_queue.ok().and_then(|until| *until.ok()?);
            if let Some(until) = until {
                sleep_until(until).await;
            }
        };
        let telling = async {
            loop {
                // Progress only ever grows, and what is told of an approval and by the server itself comes later: from -0.001
                // on, and from zero on.
                let progress = (self.age().as_secs_f64() / 1_000.0).min(0.998) - 1.0;
                call.tell(progress, &format!("the server `{}` is starting", self.0.server)).await;
                sleep(TELL_EVERY).await;
            }
        };
        tokio::select! {
            () = self.over() => {}
            () = late => {}
            never = telling => never,
        }
    }
}

/// A call that takes long: the outbox and token of its progress, if its caller asked for that.
#[derive(Clone)]
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

    /// Notifies the caller how far the call is, if it asked for that.
    pub(crate) async fn tell(&self, progress: f64, message: &str) {
        let Some(token) = &self.token else { return };
        let mut params = Object::new();
        params.set("progressToken", token.clone());
        params.set("progress", RawJson::from_written(format!("{progress:.6}").into_bytes()));
        params.set("message", RawJson::from_text(message));
        if let Err(error) = self.outbox.notify(Request::notify(Method::PROGRESS, params)).await {
            tracing::debug!(%error, "a caller is not told how far its call is");
        }
    }
}

/// The longest time that a call waits for a server in the queue of those that start.
const LONGEST_QUEUE: Duration = Duration::from_mins(5);
/// The interval at which a caller is notified that the server is still starting.
const TELL_EVERY: Duration = Duration::from_secs(2);
