use std::task::{Context, Poll};

use mgp_security::GateFuture;
use mgp_server_sdk::check_repeated_arguments;
use mgp_types::{Error, Method, Request, Response, RpcService};
use tower_layer::Layer;
use tower_service::Service;

/// Holds calls over HTTP to the headers that their tools want arguments repeated in. Makes [`Repeated`] services.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RepeatedLayer;

impl<S> Layer<S> for RepeatedLayer {
    type Service = Repeated<S>;

    fn layer(&self, inner: S) -> Repeated<S> {
        Repeated { inner }
    }
}

/// The service of [`RepeatedLayer`].
///
/// Whoever stands between a client and the kernel decides by those headers, so they have to say what the body says; the
/// server behind does not see them. Sits behind access. Reads `context.tool` and `context.session`. Costs a look at the
/// tool's schema for calls over HTTP without a session, and nothing for others.
#[derive(Debug, Clone)]
pub(crate) struct Repeated<S> {
    inner: S,
}

impl<S: RpcService> Service<Request> for Repeated<S> {
    type Response = Response;
    type Error = Error;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match check(&request) {
            Ok(()) => GateFuture::passed(self.inner.call(request)),
            Err(error) => GateFuture::refused(error),
        }
    }
}

fn check(request: &Request) -> Result<(), Error> {
    let tool = request.context.tool.as_ref().filter(|_| request.method == Method::TOOLS_CALL);
    match tool.and_then(|tool| tool.definition.get("inputSchema")) {
        Some(schema) => check_repeated_arguments(&schema, request),
        None => Ok(()),
    }
}
