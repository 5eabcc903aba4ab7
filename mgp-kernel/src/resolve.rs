use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_security::GateFuture;
use mgp_types::mgp::method;
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
/// body and from nowhere else. A name that the catalog does not know passes: it may be one of the kernel's own tools. Only
/// while servers are being connected to for the first time, a call of it waits a little, as does a request for a prompt or a
/// resource that is not there yet, and so do lists and searches right after the kernel's start: many clients ask as soon as
/// they are answered, and only once, and the kernel answers before its servers are there.
#[derive(Clone)]
pub(crate) struct Resolve<S> {
    inner: S,
    parts: Arc<Parts>,
}

impl<S: RpcService<Future: 'static>> Service<Request> for Resolve<S> {
    type Response = Response;
    type Error = Error;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let patience = match patience(&self.parts, &mut request) {
            Some(patience) if self.parts.fleet.is_starting() => patience,
            _ => return GateFuture::passed(self.inner.call(request)),
        };
        let parts = Arc::clone(&self.parts);
        // The one that was asked whether it is ready is the one that is called.
        let next = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, next);
        GateFuture::waiting(async move {
            let started = async {
                for upstream in parts.fleet.all() {
                    upstream.started().await;
                }
            };
            // Whoever has waited long enough is told what there is by then.
            let _ = tokio::time::timeout(patience, started).await;
            if request.method == Method::TOOLS_CALL {
                resolve(&parts, &mut request);
            }
            ready.call(request).await
        })
    }
}

/// How long a request waits for servers that start: one that needs them all, or a tool that is not there yet. Notes the tool
/// that is called, if it is.
fn patience(parts: &Parts, request: &mut Request) -> Option<Duration> {
    if request.method == Method::TOOLS_CALL {
        if resolve(parts, request) {
            return None;
        }
        let name = request.params.text("name")?;
        match method::of_tool(&name) {
            None => return Some(OF_CALLS),
            Some(method) if !searches(method) => return None,
            Some(_) => {}
        }
    } else if let Some(is_known) = is_known(parts, request) {
        return (!is_known).then_some(OF_CALLS);
    } else if !LISTS.contains(&request.method) && !searches(request.method.as_str()) {
        return None;
    }
    // A server that never answers must not hold up every list.
    OF_LISTS.checked_sub(parts.life.uptime()).filter(|left| !left.is_zero())
}

/// Whether the catalog knows the prompt or the resource that is asked for; `None` for other requests.
fn is_known(parts: &Parts, request: &Request) -> Option<bool> {
    let snapshot = parts.catalog.read();
    if request.method == Method::PROMPTS_GET {
        Some(snapshot.prompt(&request.params.text("name")?).is_some())
    } else if request.method == Method::RESOURCES_READ {
        Some(snapshot.resource_owner(&request.params.text("uri")?).is_some())
    } else {
        None
    }
}

fn searches(method: &str) -> bool {
    method == method::TOOLS_DISCOVER || method == method::TOOLS_REQUEST
}

/// Notes the tool that is called, if the catalog knows it.
fn resolve(parts: &Parts, request: &mut Request) -> bool {
    let snapshot = parts.catalog.snapshot();
    let Some(name) = request.params.text("name") else { return false };
    let Some(tool) = snapshot.called(&name) else { return false };
    let resolved = &tool.resolved;
    let is_renamed = resolved.name.as_str() != name;
    drop(name);
    if is_renamed && let Ok(own) = RawJson::from_value(&resolved.name) {
        request.params.set("name", own);
    }
    if let Some(trail) = &request.context.trail {
        trail.note_target(&resolved.server, Some(&resolved.name));
        trail.note_risk(resolved.security.risk);
    }
    request.context.tool = Some(Arc::clone(resolved));
    true
}

static LISTS: [Method; 4] =
    [Method::TOOLS_LIST, Method::PROMPTS_LIST, Method::RESOURCES_LIST, Method::RESOURCES_TEMPLATES_LIST];

const OF_CALLS: Duration = Duration::from_secs(10);

/// From the kernel's start on.
const OF_LISTS: Duration = Duration::from_secs(5);
