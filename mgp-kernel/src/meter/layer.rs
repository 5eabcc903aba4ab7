use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::{Error, Kind, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use super::Meter;

/// Counts the calls of one server. Makes [`Metered`] services.
#[derive(Debug, Clone)]
pub(crate) struct MeterLayer(pub(crate) Meter);

impl<S> Layer<S> for MeterLayer {
    type Service = Metered<S>;

    fn layer(&self, inner: S) -> Metered<S> {
        Metered { inner, meter: self.0.clone() }
    }
}

/// The service of [`MeterLayer`]. It takes no lock and allocates nothing.
#[derive(Debug, Clone)]
pub(crate) struct Metered<S> {
    inner: S,
    meter: Meter,
}

impl<S: RpcService> Service<Request> for Metered<S> {
    type Response = Response;
    type Error = Error;
    type Future = MeteredFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let visit = (request.kind == Kind::Call).then(|| Visit::begin(&self.meter));
        MeteredFuture { future: self.inner.call(request), visit }
    }
}

/// A call that is counted as in work for as long as this is there.
struct Visit {
    meter: Meter,
    since: Instant,
}

impl Visit {
    fn begin(meter: &Meter) -> Self {
        meter.begun();
        Self { meter: meter.clone(), since: Instant::now() }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.meter.dropped();
    }
}

pin_project! {
    /// The future of [`Metered`].
    pub(crate) struct MeteredFuture<F> {
        #[pin]
        future: F,
        visit: Option<Visit>,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for MeteredFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = ready!(this.future.poll(cx));
        if let Some(visit) = this.visit.take() {
            visit.meter.ended(visit.since.elapsed(), outcome.is_err());
        }
        Poll::Ready(outcome)
    }
}
