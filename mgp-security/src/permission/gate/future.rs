use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::mgp::{Permission, code};
use mgp_types::{Error, Origin, Request, Response, RpcService};
use pin_project_lite::pin_project;

use super::PermissionGate;
use super::attach::Carried;
use super::once::RunningOnce;
use crate::GateFuture;

pin_project! {
    /// The future of [`Permitted`](super::Permitted).
    #[must_use = "futures do nothing unless polled"]
    pub struct PermissionFuture<F>
    where
        F: Future,
    {
        #[pin]
        future: GateFuture<F>,
        // The gate of a call that carries a handle the server may refuse.
        gate: Option<PermissionGate>,
    }
}

impl<F: Future<Output = Result<Response, Error>>> PermissionFuture<F> {
    pub(super) fn refused(error: Error) -> Self {
        Self { future: GateFuture::refused(error), gate: None }
    }

    pub(super) fn called(future: F, gate: &PermissionGate, carried: Carried) -> Self {
        let gate = (carried == Carried::Handle).then(|| gate.clone());
        Self { future: GateFuture::passed(future), gate }
    }

    /// Waits for an operator, then calls `inner` when that is ready.
    pub(super) fn waiting<S: RpcService<Future = F>>(
        gate: PermissionGate,
        mut inner: S,
        mut request: Request,
        undecided: Vec<Permission>,
    ) -> Self {
        let future = GateFuture::waiting(async move {
            let mut waited = gate.wait(&request, &undecided).await?;
            let once = std::mem::take(&mut waited.once);
            let _running = RunningOnce::begin(gate.book(), gate.server(), once, &mut request);
            // What is decided while the way is blocked counts as well.
            gate.admit_late(&request, &waited)?;
            poll_fn(|cx| inner.poll_ready(cx)).await?;
            gate.admit_late(&request, &waited)?;
            let carried = gate.attach(&mut request);
            let outcome = inner.call(request).await;
            if carried == Carried::Handle {
                gate.heed(&outcome);
            }
            outcome
        });
        Self { future, gate: None }
    }
}

impl PermissionGate {
    /// Gives up a handle that the server does not take any more; the next call carries the grants themselves.
    fn heed(&self, outcome: &Result<Response, Error>) {
        let refused =
            |error: &Error| error.code() == code::PERMISSION_DENIED && error.origin() == Origin::Peer;
        if outcome.as_ref().is_err_and(refused) {
            self.drop_handle();
        }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for PermissionFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = ready!(this.future.poll(cx));
        if let Some(gate) = this.gate {
            gate.heed(&outcome);
        }
        Poll::Ready(outcome)
    }
}

impl<F: Future> fmt::Debug for PermissionFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionFuture").field("future", &self.future).finish_non_exhaustive()
    }
}
