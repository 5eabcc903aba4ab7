use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::mgp::{Permission, code};
use mgp_types::{BoxFuture, Error, Origin, Request, Response, RpcService};
use pin_project_lite::pin_project;

use super::PermissionGate;
use super::attach::Carried;

pin_project! {
    /// The answer of [`Permitted`](super::Permitted).
    pub struct PermissionFuture<S: RpcService> {
        #[pin]
        state: State<S::Future>,
        // The gate of a call that carries a handle the server may refuse.
        gate: Option<PermissionGate>,
    }
}

pin_project! {
    #[project = Projection]
    enum State<F> {
        Refused { error: Option<Error> },
        Called { #[pin] future: F },
        Waiting { future: BoxFuture<'static, Result<Response, Error>> },
    }
}

impl<S: RpcService> PermissionFuture<S> {
    pub(super) fn refused(error: Error) -> Self {
        Self { state: State::Refused { error: Some(error) }, gate: None }
    }

    pub(super) fn called(future: S::Future, gate: &PermissionGate, carried: Carried) -> Self {
        let gate = (carried == Carried::Handle).then(|| gate.clone());
        Self { state: State::Called { future }, gate }
    }

    /// Waits for an operator, then calls `inner` when that is ready.
    pub(super) fn waiting(
        gate: PermissionGate,
        mut inner: S,
        mut request: Request,
        undecided: Vec<Permission>,
    ) -> Self {
        let future = async move {
            gate.wait(&request, &undecided).await?;
            // What is decided while the way is blocked counts as well.
            gate.admit_late(&request)?;
            poll_fn(|cx| inner.poll_ready(cx)).await?;
            gate.admit_late(&request)?;
            let carried = gate.attach(&mut request);
            let outcome = inner.call(request).await;
            if carried == Carried::Handle {
                gate.heed(&outcome);
            }
            outcome
        };
        Self { state: State::Waiting { future: Box::pin(future) }, gate: None }
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

impl<S: RpcService> Future for PermissionFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = match this.state.project() {
            Projection::Refused { error } => {
                Err(error.take().expect("a future is not polled again after it was ready"))
            }
            Projection::Called { future } => ready!(future.poll(cx)),
            Projection::Waiting { future } => ready!(future.as_mut().poll(cx)),
        };
        if let Some(gate) = this.gate {
            gate.heed(&outcome);
        }
        Poll::Ready(outcome)
    }
}

impl<S: RpcService> fmt::Debug for PermissionFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionFuture").finish_non_exhaustive()
    }
}
