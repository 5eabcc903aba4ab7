use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, Method, RawJson, Request, Response, RpcService};
use tower_layer::Layer;
use tower_service::Service;

use crate::parts::Parts;

/// Says which tool of which server a call is for, by the catalog. Makes [`Resolve`] services.
#[derive(Clone)]
pub(crate) struct ResolveLayer(pub(crate) Arc<Parts>);

impl<S> Layer<S> for ResolveLayer {
    type Service = Resolve<S>;

    fn layer(&self, inner: S) -> Resolve<S> {
        Resolve { inner, parts: Arc::clone(&self.0) }
    }
}

/// The service of [`ResolveLayer`].
///
/// Sits behind whatever records, and in front of all that looks at the tool of a call. Writes `context.tool`, the trail,
/// and the name by which the server knows the tool in place of the one that the client called. The tool is read from the
/// body and from nowhere else. A name that the catalog does not know passes: it may be one of the kernel's own tools.
#[derive(Clone)]
pub(crate) struct Resolve<S> {
    inner: S,
    parts: Arc<Parts>,
}

impl<S: RpcService> Service<Request> for Resolve<S> {
    type Response = Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> S::Future {
        if request.method == Method::TOOLS_CALL
            && let Some(name) = request.params.text("name")
            && let Some(tool) = self.parts.catalog.snapshot().called(&name)
        {
            let resolved = &tool.resolved;
            if resolved.name.as_str() != name
                && let Ok(own) = RawJson::from_value(&resolved.name)
            {
                request.params.set("name", own);
            }
            if let Some(trail) = &request.context.trail {
                trail.note_target(&resolved.server, Some(&resolved.name));
                trail.note_risk(resolved.security.risk);
            }
            request.context.tool = Some(Arc::clone(resolved));
        }
        self.inner.call(request)
    }
}
