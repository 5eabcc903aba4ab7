//! The gate of tool discovery.

use std::sync::Arc;

use mgp_types::{CallEnding, Context, Error, Flow, Gate, Method, RawJson, Request, RequestKind, Response};

use super::answer::{DiscoveryRequest, answer};
use super::notifier::ListenRequest;
use super::shared::DiscoveryShared;
use super::{ToolDiscoverySettings, UnlistedCallGate, list};
use crate::session::ToolSessions;
use crate::{Index, Tool};

/// Offers a search for tools in place of the full list (§16). Clones share their knowledge of sessions.
///
/// The gate sits inside of the layers that authenticate and record, and around the layers that resolve tools and apply
/// the access policy: [`ToolVisibility`](super::ToolVisibility) decides which tools a caller finds, inner layers decide which tools it may
/// call.
///
/// * `mgp/tools/discover`, `mgp/tools/request`, `mgp/tools/session` and `mgp/tools/session/evict` are answered where
///   `tool_discovery` was negotiated, and unknown methods (-32601) elsewhere. As tools, by three spellings of their
///   names, they are answered for all clients; no server's tool is ever called by those names. A call of the tool
///   `mgp.tools.call` is one of the tool that it names, as an [`UnlistedCallGate`] makes it.
/// * `tools/list` is answered with the tools for the model's context at the gate's [`Level`](crate::level::Level), on
///   one page; at L0 it passes. A client in a session is told when its list changes; a client that describes itself
///   with each request is told where it listens. A client is told when it found tools or asked for some, and when a tool
///   of its list is gone or has another definition; not when it used or evicted a tool: a host that follows lists reads
///   its whole prompt afresh after a change. The server has to declare `tools.listChanged`.
/// * The tools that a search finds join the list of the session, and its client is told.
/// * A call of an indexed tool goes on under the name that its server gave it, with the [`Tool`](crate::Tool) among its
///   extensions, so that a catalog behind the gate need not look it up. After a successful call, the tool is in the
///   list of the session. Where `context.tool` is filled already, nothing is changed.
/// * All other requests pass untouched.
///
/// The gate reads `context.session`, `context.principal` and `context.tool`; it hands `context` to the hooks of the
/// settings, with the task of a request for tools as `context.trace` if there was none. Calls of tools cost a few
/// allocations, other requests none. Dropping the future of a call leaves the session as it was.
#[derive(Debug, Clone)]
pub struct ToolDiscoveryGate(Arc<DiscoveryShared>);

impl ToolDiscoveryGate {
    /// Returns a gate that searches the tools of `index` and keeps those of each session in `sessions`.
    pub fn new(index: Index, sessions: Arc<ToolSessions>, settings: ToolDiscoverySettings) -> Self {
        Self(Arc::new(DiscoveryShared::new(index, sessions, settings)))
    }

    /// Notes that the tools, or the callers who may see them, changed: peers whose list is another one now are told,
    /// within moments.
    ///
    /// Changes that sessions make themselves are noticed without this. Outside of a Tokio runtime no peer is told, and
    /// no peer is told of changed categories at [`Level::L1`](crate::level::Level::L1).
    pub fn tools_changed(&self) {
        self.0.notifier.all_changed(&self.0);
    }
}

impl Gate for ToolDiscoveryGate {
    type Pass = DiscoveredCall;

    fn enter(&self, request: &mut Request) -> Flow<DiscoveredCall> {
        let _ = UnlistedCallGate::new().enter(request);
        if request.context.tool.is_none()
            && let Some(asked) = DiscoveryRequest::of(request)
        {
            return Flow::answer_later(answer(Arc::clone(&self.0), asked, request.take()));
        }
        if request.method == Method::TOOLS_CALL {
            let used = ToolUse::of(&self.0, request);
            return Flow::Pass(DiscoveredCall { used, ..DiscoveredCall::default() });
        }
        if request.kind == RequestKind::Call
            && request.method == Method::TOOLS_LIST
            && let Some(list) = list::answer(&self.0, request)
        {
            return Flow::Answer(list);
        }
        let listens = request.method == Method::LISTEN;
        let listening = if listens { ListenRequest::of(&self.0, request).map(Box::new) } else { None };
        Flow::Pass(DiscoveredCall { listening, ..DiscoveredCall::default() })
    }

    fn leave(&self, call: DiscoveredCall, outcome: &mut Result<Response, Error>) {
        // A tool that failed, or that asks for input first, has not been used yet.
        if let (Some(used), Ok(response)) = (call.used, outcome)
            && response.result.ending() == CallEnding::Done
        {
            self.0.used(&used.caller, &used.tool);
        }
    }
}

/// A request that tool discovery let pass, with the work that is left when it is answered.
#[derive(Debug, Default)]
pub struct DiscoveredCall {
    used: Option<ToolUse>,
    /// The request that listens for changes, for as long as this value lives.
    #[expect(dead_code, reason = "it is held, and not read")]
    listening: Option<Box<ListenRequest>>,
}

/// The call of a tool, which counts as a use once it succeeds.
pub(super) struct ToolUse {
    /// The part of the context that is needed when the call is over.
    caller: Context,
    tool: Arc<Tool>,
}

impl ToolUse {
    /// Returns the tool that a call is for; `None` if the index does not know it.
    ///
    /// Where no layer resolved the call yet, the tool is attached to the request, and the name becomes that by which
    /// its server knows the tool.
    pub(super) fn of(shared: &Arc<DiscoveryShared>, request: &mut Request) -> Option<Self> {
        if request.kind == RequestKind::Notify {
            return None;
        }
        let snapshot = shared.index.snapshot();
        let tool = if let Some(resolved) = &request.context.tool {
            Arc::clone(snapshot.tool(resolved.server.as_str(), resolved.name.as_str())?)
        } else {
            let name = request.params.text("name")?;
            let tool = Arc::clone(snapshot.called(&name)?);
            if tool.name.as_str() != name {
                request.params.set("name", RawJson::from_text(tool.name.as_str()));
            }
            request.extensions.insert_shared(Arc::clone(&tool));
            tool
        };
        let mut caller = Context::default();
        caller.session.clone_from(&request.context.session);
        caller.principal.clone_from(&request.context.principal);
        Some(Self { caller, tool })
    }
}

mgp_types::partial_debug!(ToolUse, self => tool: self.tool.name);
