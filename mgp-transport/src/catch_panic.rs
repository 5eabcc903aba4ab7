//! The layer that turns panics of handlers into errors.

use std::future::{Ready, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use futures_util::FutureExt as _;
use futures_util::future::{CatchUnwind, Either, Map};
use mgp_types::{Error, Request, Response, RpcService};
use tower_service::Service;

/// Turns a panic behind it into the error -32603, so that one broken handler does not end the connection that other
/// requests share. The layer sits outermost; transports put it there themselves. The layer reads and writes no slot.
#[derive(Debug, Clone)]
pub struct CatchPanic<S> {
    inner: S,
}

impl<S> CatchPanic<S> {
    /// Catches the panics of `inner`.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S: RpcService> Service<Request> for CatchPanic<S> {
    type Future = CatchPanicFuture<S::Future>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, request: Request) -> Self::Future {
        let inner = &mut self.inner;
        match catch_unwind(AssertUnwindSafe(|| inner.call(request))) {
            Ok(future) => {
                Either::Left(AssertUnwindSafe(future).catch_unwind().map(outcome as fn(Unwound) -> Outcome))
            }
            Err(panic) => Either::Right(ready(outcome(Err(panic)))),
        }
    }
}

/// The future of [`CatchPanic`]: that of the call, or the error of one that panicked before it had any.
pub type CatchPanicFuture<F> =
    Either<Map<CatchUnwind<AssertUnwindSafe<F>>, fn(Unwound) -> Outcome>, Ready<Outcome>>;

type Outcome = Result<Response, Error>;

type Unwound = thread::Result<Outcome>;

fn outcome(unwound: Unwound) -> Outcome {
    // The message of a panic may quote the peer's input, so it goes to the panic hook only.
    unwound.unwrap_or_else(|_| {
        tracing::error!("a request handler panicked");
        Err(Error::internal("the request handler panicked"))
    })
}
