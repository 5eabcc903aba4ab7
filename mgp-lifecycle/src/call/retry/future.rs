use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mgp_types::mgp::AuditEvent;
use mgp_types::{BoxFuture, Error, RawJson, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_service::Service;

use super::idempotency::is_repeatable;
use super::layer::Settings;
use crate::call::kept::Kept;
use crate::call::{Deadline, event};
use crate::chance;
use crate::span::{later, millis_up};

pin_project! {
    /// The future of [`Retry`](super::Retry).
    ///
    /// # Cancel safety
    /// Dropping it drops the attempt or the pause; no further attempt is made.
    #[must_use = "futures do nothing unless polled"]
    pub struct RetryFuture<S>
    where
        S: Service<Request>,
    {
        #[pin]
        state: State<S::Future>,
        call: Option<Call<S>>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F> {
        Attempting { #[pin] future: F },
        Recording { record: BoxFuture<'static, Result<(), Error>>, failed: Failed },
        Pausing { #[pin] sleep: Sleep, failed: Failed },
        Over,
    }
}

/// A call, and how often it was made again.
struct Call<S> {
    kept: Kept<S>,
    settings: Arc<Settings>,
    retries: u32,
}

/// The attempt that failed, and when the next one is due.
struct Failed {
    error: Error,
    due: Instant,
}

impl<S: RpcService> RetryFuture<S> {
    /// A request that is made once.
    pub(super) const fn once(future: S::Future) -> Self {
        Self { state: State::Attempting { future }, call: None }
    }

    /// A call that may be made again. The service is ready.
    pub(super) fn first(service: &mut S, request: Request, settings: Arc<Settings>) -> Self {
        let (future, kept) = Kept::call(service, request);
        Self { state: State::Attempting { future }, call: Some(Call { kept, settings, retries: 0 }) }
    }
}

impl<S: RpcService> Future for RetryFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProjection::Attempting { future } => {
                    let answer = ready!(future.poll(cx));
                    match (answer, this.call.as_mut()) {
                        (Err(error), Some(call)) => call.after(error),
                        (answer, _) => return Poll::Ready(answer),
                    }
                }
                StateProjection::Recording { record, failed } => {
                    let recorded = ready!(record.as_mut().poll(cx));
                    if let Err(cause) = recorded {
                        tracing::warn!(
                            code = cause.code(),
                            "a call is not made again because that could not be recorded"
                        );
                        return Poll::Ready(Err(failed.error.clone()));
                    }
                    Ok(State::pausing(failed.error.clone(), failed.due))
                }
                StateProjection::Pausing { sleep, failed } => {
                    ready!(sleep.poll(cx));
                    let Some(Call { kept, .. }) = this.call.as_mut() else {
                        return Poll::Ready(Err(failed.error.clone()));
                    };
                    match ready!(kept.service.poll_ready(cx)) {
                        Ok(()) => Ok(State::Attempting { future: kept.service.call(kept.request.clone()) }),
                        Err(_) => Err(failed.error.clone()),
                    }
                }
                StateProjection::Over => Err(Error::internal("the answer was given already")),
            };
            match next {
                Ok(state) => this.state.set(state),
                Err(error) => {
                    this.state.set(State::Over);
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

impl<F> State<F> {
    fn pausing(error: Error, due: Instant) -> Self {
        Self::Pausing { sleep: sleep_until(due), failed: Failed { error, due } }
    }
}

impl<S: RpcService> Call<S> {
    /// What comes after an attempt that ended in `error`: the way to the next one, or the end.
    fn after(&mut self, error: Error) -> Result<State<S::Future>, Error> {
        let now = Instant::now();
        let Some(pause) = self.next_pause(&error, now) else { return Err(error) };
        self.retries += 1;
        tracing::debug!(method = %self.kept.request.method, code = error.code(), retry = self.retries, ?pause, "the call is made again");
        let due = later(now, pause);
        let Some(port) = self.settings.audit.clone() else { return Ok(State::pausing(error, due)) };
        let event = self.event(&error, pause);
        // The record counts as a part of the pause.
        let record = Box::pin(async move { port.record(event).await });
        Ok(State::Recording { record, failed: Failed { error, due } })
    }

    fn next_pause(&self, error: &Error, now: Instant) -> Option<Duration> {
        let recovery = error.recovery()?;
        let pause = self.settings.policy.pause(&recovery, self.retries, chance::draw())?;
        let request = &self.kept.request;
        let is_in_time = Deadline::of(request).is_none_or(|deadline| pause < deadline.left());
        let may_come_again = !self.kept.has_shown() && is_in_time && is_repeatable(request, error);
        // The budget comes last: what is not made again must not be paid for.
        (may_come_again && self.settings.budget.spend(now)).then_some(pause)
    }

    fn event(&self, error: &Error, pause: Duration) -> AuditEvent {
        let asked = error.recovery().and_then(|recovery| recovery.max_retries);
        let policy = &self.settings.policy;
        let details = format!(
            r#"{{"attempt":{},"max":{},"after_ms":{},"code":{}}}"#,
            self.retries,
            asked.unwrap_or(policy.usual_retries).min(policy.max_retries),
            millis_up(pause),
            error.code(),
        );
        let mut event = event::failed(&self.kept.request, "dev.cloto.mgp.request_retried");
        event.details.set("retry", RawJson::from_written(details.into_bytes()));
        event
    }
}

impl<S> fmt::Debug for RetryFuture<S>
where
    S: Service<Request>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let retries = self.call.as_ref().map(|call| call.retries);
        f.debug_struct("RetryFuture").field("retries", &retries).finish_non_exhaustive()
    }
}
