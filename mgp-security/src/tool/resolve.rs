use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arc_swap::ArcSwap;
use mgp_types::mgp::{ResolvedTool, ServerId, ToolName};
use mgp_types::{Error, Method, Object, RawJson, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::effective::{effective, of_name};
use super::rules::ToolRules;
use crate::Target;

/// Tells the layers further in which tool a call is for, in front of one server.
///
/// It learns the server's tools from the lists that pass by. A tool that was never listed is known by its name alone, and
/// dangerous. Sits outside of every layer that reads `context.tool`; a gateway with a catalog of its own writes that slot
/// itself and needs no such layer. Writes `context.tool` and the trail; a known tool costs no allocation.
#[derive(Debug, Clone)]
pub struct ResolveLayer {
    shared: Arc<Shared>,
}

/// The service of [`ResolveLayer`].
#[derive(Debug, Clone)]
pub struct Resolve<S> {
    inner: S,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: ServerId,
    rules: ToolRules,
    tools: ArcSwap<Tools>,
}

type Tools = HashMap<ToolName, Arc<ResolvedTool>, foldhash::fast::RandomState>;

impl ResolveLayer {
    /// Resolves the tools of `server`, of which the operator says `rules`.
    pub fn new(server: ServerId, rules: ToolRules) -> Self {
        Self { shared: Arc::new(Shared { server, rules, tools: ArcSwap::default() }) }
    }
}

impl<S> Layer<S> for ResolveLayer {
    type Service = Resolve<S>;

    fn layer(&self, inner: S) -> Resolve<S> {
        Resolve { inner, shared: self.shared.clone() }
    }
}

impl Shared {
    fn resolve(&self, request: &mut Request) -> Result<(), Error> {
        if request.method != Method::TOOLS_CALL {
            return Ok(());
        }
        let named = request.params.text("name");
        let known = named.and_then(|name| self.tools.load().get(&*name).cloned());
        let tool = match known {
            Some(tool) => tool,
            None => self.stranger(request)?,
        };
        if let Some(trail) = &request.context.trail {
            trail.note_target(&tool.server, Some(&tool.name));
            trail.note_risk(tool.security.risk);
        }
        request.context.tool = Some(tool);
        Ok(())
    }

    /// A tool that was never listed.
    fn stranger(&self, request: &Request) -> Result<Arc<ResolvedTool>, Error> {
        let Target { tool, .. } = Target::of(request, Some(&self.server))?;
        let name = tool.ok_or_else(|| Error::invalid_params("`name` is missing"))?;
        let (definition, security) = of_name(&self.server, &name, &self.rules);
        Ok(ResolvedTool::new(self.server.clone(), name, definition, security))
    }

    /// Learns from a page of the list. A tool whose definition is broken is left out, and so stays dangerous.
    fn learn(&self, result: &RawJson, starts_over: bool) {
        let listed = Object::from_raw(result).ok().and_then(|result| result.get("tools"));
        let definitions: Vec<Object> = listed.and_then(|tools| tools.to().ok()).unwrap_or_default();
        self.tools.rcu(|known| {
            let mut tools = if starts_over { Tools::default() } else { Tools::clone(known) };
            for definition in &definitions {
                if let Some(name) = definition.text("name") {
                    let name = ToolName::new(&*name);
                    let security = effective(definition, &self.rules);
                    let tool =
                        ResolvedTool::new(self.server.clone(), name.clone(), definition.clone(), security);
                    tools.insert(name, tool);
                }
            }
            tools
        });
    }
}

impl<S: RpcService> Service<Request> for Resolve<S> {
    type Response = Response;
    type Error = Error;
    type Future = ResolveFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let list = (request.method == Method::TOOLS_LIST)
            .then(|| Learn { shared: self.shared.clone(), starts_over: !request.params.contains("cursor") });
        match self.shared.resolve(&mut request) {
            Ok(()) => ResolveFuture { state: State::Inner { future: self.inner.call(request), list } },
            Err(error) => ResolveFuture { state: State::Refused { error: Some(error) } },
        }
    }
}

struct Learn {
    shared: Arc<Shared>,
    starts_over: bool,
}

pin_project! {
    /// The future of [`Resolve`].
    #[must_use = "futures do nothing unless polled"]
    pub struct ResolveFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Inner { #[pin] future: F, list: Option<Learn> },
        Refused { error: Option<Error> },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for ResolveFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Refused { error } => {
                Poll::Ready(Err(error.take().expect("a future is not polled after it was done")))
            }
            StateProj::Inner { future, list } => {
                let result = ready!(future.poll(cx));
                if let (Some(Learn { shared, starts_over }), Ok(response)) = (list.take(), &result) {
                    shared.learn(&response.result, starts_over);
                }
                Poll::Ready(result)
            }
        }
    }
}

impl<F> std::fmt::Debug for ResolveFuture<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResolveFuture").finish_non_exhaustive()
    }
}
