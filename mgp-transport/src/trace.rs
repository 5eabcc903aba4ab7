//! The layer that opens one tracing span per request.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::{Error, Method, Request, RequestKind, Response, RpcService};
use pin_project_lite::pin_project;
use tower_service::Service;
use tracing::Span;
use tracing::field::Empty;

/// Opens one span per request; no other layer opens spans.
///
/// The span is called `rpc` and has the fields `method`, `kind`, `tool`, `revision`, `outcome` (`ok` or `error`) and
/// `code`; layers further in add fields with [`Span::record`]. The layer never holds arguments or results. Without an
/// interested subscriber it costs a comparison.
///
/// The layer sits behind the era, whose session it reads, and around all other layers. The layer writes no slot.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TraceLayer;

impl TraceLayer {
    /// Creates the layer.
    pub const fn new() -> Self {
        Self
    }
}

mgp_types::layer!(TraceLayer, self, inner => Trace { inner });

/// The service of [`TraceLayer`].
#[derive(Debug, Clone)]
pub struct Trace<S> {
    inner: S,
}

impl<S: RpcService> Service<Request> for Trace<S> {
    type Future = TraceFuture<S::Future>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, request: Request) -> Self::Future {
        let span = tracing::info_span!(
            "rpc",
            method = %request.method,
            kind = if request.kind == RequestKind::Call { "call" } else { "notify" },
            tool = Empty,
            revision = Empty,
            outcome = Empty,
            code = Empty,
        );
        if !span.is_disabled() {
            if let Some(session) = &request.context.session {
                span.record("revision", session.revision.as_str());
            }
            if request.method == Method::TOOLS_CALL
                && let Some(tool) = request.params.text("name")
            {
                span.record("tool", &*tool);
            }
        }
        let future = span.in_scope(|| self.inner.call(request));
        TraceFuture { future, span }
    }
}

pin_project! {
    /// The future of [`Trace`].
    #[derive(Debug)]
    pub struct TraceFuture<F> {
        #[pin]
        future: F,
        span: Span,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for TraceFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = ready!(this.span.in_scope(|| this.future.poll(cx)));
        match &outcome {
            Ok(_) => this.span.record("outcome", "ok"),
            Err(error) => this.span.record("outcome", "error").record("code", error.code()),
        };
        Poll::Ready(outcome)
    }
}
