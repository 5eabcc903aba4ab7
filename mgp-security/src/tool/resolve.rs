//! The layer that attaches the resolved tool to each call, in front of one server.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use arc_swap::ArcSwap;
use mgp_types::mgp::{ResolvedTool, ServerId, ToolName};
use mgp_types::{Error, Method, Object, RawJson, Request, RequestKind, Response, RpcService, call_once};
use tower_layer::Layer;
use tower_service::Service;

use super::effective::{effective, of_name};
use super::operation::OperationRules;
use super::rules::ToolRules;
use super::{MAX_PAGES, MAX_TOOLS};
use crate::GateFuture;

/// A tower layer in front of one server that tells the inner layers which tool a call is for.
///
/// The layer learns the server's tools from the lists that pass by. Before a call of an unknown tool, it fetches the
/// list on behalf of the caller; a tool that is still not listed is known by its name alone, and dangerous. What it
/// knows of a tool it keeps until a list says otherwise: a list may be one page of several, or what another caller may
/// see.
///
/// For requests that call no tool it writes the operation, as [`OperationsGate`](super::OperationsGate) does, and it
/// passes no method that the table of methods does not have. The layer belongs outside of every layer that reads
/// `context.tool`; a gateway with a catalog of its own writes that slot itself and needs no such layer. It writes
/// `context.tool`, `context.operation` and the trail; a known tool costs no allocation.
#[derive(Debug, Clone)]
pub struct ResolveToolLayer {
    shared: Arc<ResolveToolShared>,
}

/// The service that [`ResolveToolLayer`] makes.
#[derive(Debug, Clone)]
pub struct ResolveTool<S> {
    inner: S,
    shared: Arc<ResolveToolShared>,
}

#[derive(Debug)]
struct ResolveToolShared {
    server: ServerId,
    rules: ToolRules,
    operations: OperationRules,
    tools: ArcSwap<Tools>,
}

type Tools = HashMap<ToolName, Arc<ResolvedTool>, foldhash::fast::RandomState>;

impl ResolveToolLayer {
    /// Returns a layer that resolves the tools of `server` under the operator's `rules`.
    pub fn new(server: ServerId, rules: ToolRules) -> Self {
        let operations = OperationRules::new(server.clone(), rules.clone());
        Self { shared: Arc::new(ResolveToolShared { server, rules, operations, tools: ArcSwap::default() }) }
    }
}

impl<S> Layer<S> for ResolveToolLayer {
    type Service = ResolveTool<S>;

    fn layer(&self, inner: S) -> ResolveTool<S> {
        ResolveTool { inner, shared: self.shared.clone() }
    }
}

impl ResolveToolShared {
    fn known(&self, request: &Request) -> Option<Arc<ResolvedTool>> {
        let named = request.params.text("name")?;
        self.tools.load().get(&*named).cloned()
    }

    /// Returns a tool that was never listed, known by its name alone.
    fn stranger(&self, request: &Request) -> Result<Arc<ResolvedTool>, Error> {
        let RequestTarget { tool, .. } = RequestTarget::of(request, Some(&self.server))?;
        let name = tool.ok_or_else(|| Error::invalid_params("`name` is missing"))?;
        let (definition, security) = of_name(&self.server, &name, &self.rules);
        Ok(ResolvedTool::new(self.server.clone(), name, definition, security))
    }

    /// Learns the tools of a page of the list. A page with an entry that is no object is ignored, and a tool without a
    /// name is left out; a tool that is not learned counts as dangerous.
    fn learn(&self, result: &RawJson) {
        let listed = Object::from_raw(result).ok().and_then(|result| result.get("tools"));
        let definitions: Vec<Object> = listed.and_then(|tools| tools.to().ok()).unwrap_or_default();
        self.tools.rcu(|known| {
            let mut learned = Tools::default();
            for definition in &definitions {
                if let Some(name) = definition.text("name") {
                    let name = ToolName::new(&*name);
                    let security = effective(definition, &self.rules);
                    let tool =
                        ResolvedTool::new(self.server.clone(), name.clone(), definition.clone(), security);
                    learned.insert(name, tool);
                }
            }
            let kept = known.iter().filter(|(name, _)| !learned.contains_key(*name));
            let kept: Vec<_> = kept.map(|(name, tool)| (name.clone(), tool.clone())).collect();
            if kept.len() + learned.len() <= MAX_TOOLS {
                learned.extend(kept);
            }
            learned
        });
    }

    /// Fetches the list on behalf of the caller of `call`, as far as the server gives it.
    async fn fetch<S: RpcService>(&self, inner: &mut S, call: &Request) -> Result<(), Error> {
        let mut list = Request::call(Method::TOOLS_LIST, Object::new());
        list.context = call.context.clone();
        for _ in 0..MAX_PAGES {
            let response = call_once(&mut *inner, list.clone()).await?;
            self.learn(&response.result);
            let page = Object::from_raw(&response.result)?;
            match page.get("nextCursor").filter(|cursor| !cursor.is_null()) {
                Some(cursor) if self.known(call).is_none() => list.params.set("cursor", cursor),
                _ => break,
            }
        }
        Ok(())
    }
}

fn note(request: &mut Request, tool: Arc<ResolvedTool>) {
    if let Some(trail) = &request.context.trail {
        trail.note_tool(&tool, &request.params);
    }
    request.context.tool = Some(tool);
}

impl<S: RpcService> Service<Request> for ResolveTool<S> {
    type Response = Response;
    type Error = Error;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let shared = &self.shared;
        if request.method == Method::TOOLS_LIST && request.kind == RequestKind::Call {
            let (shared, listing) = (shared.clone(), self.inner.call(request));
            return GateFuture::waiting(async move {
                listing.await.inspect(|listed| shared.learn(&listed.result))
            });
        }
        if request.method != Method::TOOLS_CALL {
            return match shared.operations.resolve(&mut request) {
                Ok(()) => GateFuture::passed(self.inner.call(request)),
                Err(error) => GateFuture::refused(error),
            };
        }
        if let Some(tool) = shared.known(&request) {
            note(&mut request, tool);
            return GateFuture::passed(self.inner.call(request));
        }
        let (shared, mut inner) = (shared.clone(), self.inner.clone());
        GateFuture::waiting(async move {
            let stranger = shared.stranger(&request)?;
            if let Err(error) = shared.fetch(&mut inner, &request).await {
                tracing::debug!(%error, "the tools cannot be listed before a call");
            }
            let tool = shared.known(&request).unwrap_or(stranger);
            note(&mut request, tool);
            call_once(inner, request).await
        })
    }
}

/// The target of a request: a server, and the tool of it that a `tools/call` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestTarget {
    /// The server that the request is for.
    pub(crate) server: ServerId,
    /// The tool that is called; `None` if the request is not a tool call.
    pub(crate) tool: Option<ToolName>,
}

impl RequestTarget {
    /// Returns the target of `request`: the tool that the catalog resolved, or else `server` and the tool that the body
    /// names.
    ///
    /// The tool is read from the body and never from a header, because the server reads the body.
    ///
    /// # Errors
    /// Fails if the request is not resolved and no server is given, or if a call names no tool.
    pub(crate) fn of(request: &Request, server: Option<&ServerId>) -> Result<Self, Error> {
        if let Some(resolved) = &request.context.tool {
            return Ok(Self { server: resolved.server.clone(), tool: Some(resolved.name.clone()) });
        }
        let server =
            server.cloned().ok_or_else(|| Error::invalid_request("nobody says which server this is for"))?;
        if request.method != Method::TOOLS_CALL {
            return Ok(Self { server, tool: None });
        }
        let name = request.params.text("name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Error::invalid_params("`name` is missing"))?;
        Ok(Self { server, tool: Some(ToolName::new(&*name)) })
    }
}
