use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_security::GateFuture;
use mgp_types::mgp::{ResolvedTool, method};
use mgp_types::{Error, Method, Principal, RawJson, Request, Response, RpcService};
use tokio::time::{Instant, timeout_at};
use tower_layer::Layer;
use tower_service::Service;

use crate::parts::Parts;
use crate::router::Sight;
use crate::upstream::{Share, Start};

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
/// body and from nowhere else; where the caller has a connection of its own, it is that one's. A name that the catalog does
/// not know passes: it may be one of the kernel's own tools. Only while servers are being connected to for the first time,
/// a call of it waits a little, as does a request for a prompt or a resource that is not there yet, and so do lists and
/// searches right after the kernel's start: many clients ask as soon as they are answered, and only once, and the kernel
/// answers before its servers are there. All of these have the caller's own connections begin, and wait for them likewise.
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
        let Some(wanted) = wanted(&self.parts, &mut request) else {
            return GateFuture::passed(self.inner.call(request));
        };
        let starts = starts(&self.parts, wanted, request.context.principal.as_ref());
        let is_call = request.method == Method::TOOLS_CALL;
        if starts.is_empty() {
            if is_call {
                resolve(&self.parts, &mut request, Missing::Sent);
            }
            return GateFuture::passed(self.inner.call(request));
        }
        let parts = Arc::clone(&self.parts);
        // The one that was asked whether it is ready is the one that is called.
        let next = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, next);
        GateFuture::waiting(async move {
            for (start, until) in starts {
                // Whoever has waited long enough is told what there is by then.
                let _ = timeout_at(until, start.over()).await;
            }
            if is_call {
                resolve(&parts, &mut request, Missing::Sent);
            }
            ready.call(request).await
        })
    }
}

/// What a request cannot do without.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Something by a name that is not known so far.
    Name,
    /// All there is.
    All,
}

/// What is done with a call of a tool that the caller's own connection has not listed yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Awaited,
    /// The connection says what is the matter.
    Sent,
}

/// What the request waits for, if servers are starting that may have it. Notes the tool that is called, if it is known.
fn wanted(parts: &Parts, request: &mut Request) -> Option<Wanted> {
    if request.method == Method::TOOLS_CALL {
        if resolve(parts, request, Missing::Awaited) {
            return None;
        }
        let name = request.params.text("name")?;
        return match method::of_tool(&name) {
            None => Some(Wanted::Name),
            Some(method) => searches(method).then_some(Wanted::All),
        };
    }
    if let Some(is_known) = is_known(parts, request) {
        return (!is_known).then_some(Wanted::Name);
    }
    let is_list = LISTS.contains(&request.method) || searches(request.method.as_str());
    is_list.then_some(Wanted::All)
}

/// The servers that are being connected to for the first time, and how long they are waited for. The caller's own
/// connections begin.
fn starts(parts: &Parts, wanted: Wanted, caller: Option<&Principal>) -> Vec<(Start, Instant)> {
    let now = Instant::now();
    let all = parts.fleet.all();
    let starts = all.iter().filter_map(|upstream| {
        let start = upstream.begun(caller?)?;
        let patience = match wanted {
            Wanted::Name => OF_CALLS,
            // A server that never answers must not hold up every list.
            Wanted::All if upstream.is_by_agent() => OF_LISTS.saturating_sub(start.age()),
            Wanted::All => OF_LISTS.saturating_sub(parts.life.uptime()),
        };
        (!patience.is_zero()).then(|| (start, now + patience))
    });
    starts.collect()
}

/// Whether the caller can have the prompt or the resource that is asked for; `None` for other requests.
fn is_known(parts: &Parts, request: &Request) -> Option<bool> {
    let sight = Sight::of(parts, &request.context).ok()?;
    let snapshot = parts.catalog.read();
    if request.method == Method::PROMPTS_GET {
        Some(sight.prompt(&snapshot, &request.params.text("name")?).is_some())
    } else if request.method == Method::RESOURCES_READ {
        Some(sight.resource_owner(&snapshot, &request.params.text("uri")?).is_some())
    } else {
        None
    }
}

fn searches(method: &str) -> bool {
    method == method::TOOLS_DISCOVER || method == method::TOOLS_REQUEST
}

/// Notes the tool that is called, if it is known.
fn resolve(parts: &Parts, request: &mut Request, missing: Missing) -> bool {
    let snapshot = parts.catalog.snapshot();
    let Some(name) = request.params.text("name") else { return false };
    let Some(tool) = snapshot.called(&name) else { return false };
    let Some(resolved) = of_caller(parts, &tool.resolved, request.context.principal.as_ref(), missing) else {
        return false;
    };
    let is_renamed = resolved.name.as_str() != name;
    drop(name);
    if is_renamed {
        request.params.set("name", RawJson::from_text(resolved.name.as_str()));
    }
    if let Some(trail) = &request.context.trail {
        trail.note_target(&resolved.server, Some(&resolved.name));
        trail.note_risk(resolved.security.risk);
    }
    request.context.tool = Some(resolved);
    true
}

/// The tool as the caller's connection lists it.
fn of_caller(
    parts: &Parts,
    tool: &Arc<ResolvedTool>,
    caller: Option<&Principal>,
    missing: Missing,
) -> Option<Arc<ResolvedTool>> {
    match parts.fleet.share(tool.server.as_str(), caller?) {
        Share::Own(own) => {
            let tool = own.tool(tool.server.as_str(), tool.name.as_str())?;
            Some(Arc::clone(&tool.resolved))
        }
        Share::Coming if missing == Missing::Awaited => None,
        // Whoever does not reach it is refused further in, and told why.
        Share::Everything | Share::Coming | Share::Nothing => Some(Arc::clone(tool)),
    }
}

static LISTS: [Method; 4] =
    [Method::TOOLS_LIST, Method::PROMPTS_LIST, Method::RESOURCES_LIST, Method::RESOURCES_TEMPLATES_LIST];

const OF_CALLS: Duration = Duration::from_secs(10);

/// From the start of the kernel, or of the caller's own connection, on.
const OF_LISTS: Duration = Duration::from_secs(5);
