use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, Kind, Method, Request, Response, RpcService};
use tower_layer::Layer;
use tower_service::Service;

use super::ToolDiscoverySettings;
use super::answer::answer;
use super::asked::Asked;
use super::call::Use;
use super::future::ToolDiscoveryFuture;
use super::list;
use super::listen::Listening;
use super::shared::Shared;
use crate::Index;
use crate::session::ToolSessions;

/// Has tools searched instead of listed (§16). Makes [`ToolDiscovery`] services, which share what they know of sessions.
#[derive(Debug, Clone)]
pub struct ToolDiscoveryLayer(Arc<Shared>);

impl ToolDiscoveryLayer {
    /// A layer that searches the tools of `index` and keeps those of each session in `sessions`.
    pub fn new(index: Index, sessions: Arc<ToolSessions>, settings: ToolDiscoverySettings) -> Self {
        Self(Arc::new(Shared::new(index, sessions, settings)))
    }

    /// The tools, or who may see them, changed: peers whose list is another one now are told, within moments.
    ///
    /// What sessions do themselves is noticed without this. It tells nobody outside of a Tokio runtime, and nobody of
    /// changed categories at [`Level::L1`](crate::level::Level::L1).
    pub fn tools_changed(&self) {
        self.0.tellings.all_changed(&self.0);
    }
}

impl<S> Layer<S> for ToolDiscoveryLayer {
    type Service = ToolDiscovery<S>;

    fn layer(&self, inner: S) -> ToolDiscovery<S> {
        ToolDiscovery { inner, shared: Arc::clone(&self.0) }
    }
}

/// The service of [`ToolDiscoveryLayer`].
///
/// Sits behind whatever authenticates and records, and around what resolves tools and holds calls to the access policy: what
/// it finds for a caller is decided by [`Eyes`](super::Eyes), what a caller may call is decided further in.
///
/// * `mgp/tools/discover`, `mgp/tools/request`, `mgp/tools/session` and `mgp/tools/session/evict` are answered where
///   `tool_discovery` was negotiated, and unknown methods (-32601) elsewhere. As tools, by three spellings of their
///   names, they are answered for everybody; no server's tool is ever called by those names.
/// * `tools/list` is answered with what belongs into the model's context at the layer's [`Level`](crate::level::Level), on one page; at
///   L0 it passes. Whoever asked is told when the list becomes another one, if it is in a session; who
///   describes itself with each request is told where it listens; of tools that it merely used only if
///   [`tell_uses`](ToolDiscoverySettings::tell_uses) says so. The server has to declare `tools.listChanged`.
/// * A call of a tool that the index knows goes on under the name that its server gave it, with the [`Tool`](crate::Tool)
///   among its extensions, so that a catalog behind the layer need not guess whose it is. When it succeeds, the tool is in
///   the list of the session. Where `context.tool` is filled already, nothing is changed.
/// * Everything else passes untouched.
///
/// Reads `context.session`, `context.principal` and `context.tool`; hands `context` to the hooks of the settings, with the
/// task of a request for tools as `context.trace` if there was none. Calls of tools cost a few allocations, what passes
/// none. Dropping the future of a call leaves the session as it was.
#[derive(Clone)]
pub struct ToolDiscovery<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S: RpcService> Service<Request> for ToolDiscovery<S> {
    type Response = Response;
    type Error = Error;
    type Future = ToolDiscoveryFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        if let Some(asked) = Asked::of(&request) {
            return ToolDiscoveryFuture::answering(answer(Arc::clone(&self.shared), asked, request));
        }
        if request.method == Method::TOOLS_CALL {
            let tool = Use::of(&self.shared, &mut request);
            return ToolDiscoveryFuture::called(self.inner.call(request), tool);
        }
        if request.kind == Kind::Call
            && request.method == Method::TOOLS_LIST
            && let Some(list) = list::answer(&self.shared, &request)
        {
            return ToolDiscoveryFuture::answered(list);
        }
        if request.method == Method::LISTEN
            && let Some(listening) = Listening::of(&self.shared, &mut request)
        {
            return ToolDiscoveryFuture::listening(self.inner.call(request), listening);
        }
        ToolDiscoveryFuture::passed(self.inner.call(request))
    }
}

impl<S: fmt::Debug> fmt::Debug for ToolDiscovery<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDiscovery").field("inner", &self.inner).finish_non_exhaustive()
    }
}
