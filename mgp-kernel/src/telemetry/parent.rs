//! The chain of spans across processes: W3C `traceparent` and `tracestate` in `_meta`.

use std::collections::HashMap;
use std::task;

use mgp_types::{Error, Flow, Gate, RawJson, Request, Response, RpcService};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tower_service::Service;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// A service that makes the span that the caller names the parent of the spans that are opened further in.
#[derive(Debug, Clone)]
pub(crate) struct ExtractSpan<S>(pub(super) S);

impl<S: RpcService> Service<Request> for ExtractSpan<S> {
    type Response = Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut task::Context<'_>) -> task::Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> S::Future {
        let carried = carried(&request);
        if carried.is_empty() {
            return self.0.call(request);
        }
        let _within = TraceContextPropagator::new().extract(&carried).attach();
        self.0.call(request)
    }
}

/// A gate that passes the open span to the next peer that works on the request.
#[derive(Debug, Clone)]
pub(crate) struct InjectSpan;

impl Gate for InjectSpan {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let span = Span::current();
        if !span.is_disabled() {
            let context = span.context();
            if context.span().span_context().is_valid() {
                let mut carried = HashMap::new();
                TraceContextPropagator::new().inject_context(&context, &mut carried);
                carry(request, &carried);
            }
        }
        Flow::Pass(())
    }
}

fn carried(request: &Request) -> HashMap<String, String> {
    let meta = request.params.object("_meta");
    let Some(meta) = meta else { return HashMap::new() };
    let members =
        MEMBERS.into_iter().filter_map(|name| Some((name.to_owned(), meta.text(name)?.into_owned())));
    members.collect()
}

fn carry(request: &mut Request, carried: &HashMap<String, String>) {
    let meta = request.meta_mut_or_new();
    for (name, value) in carried.iter().filter(|(_, value)| !value.is_empty()) {
        meta.set(name.clone(), RawJson::from_text(value));
    }
}

const MEMBERS: [&str; 2] = ["traceparent", "tracestate"];
