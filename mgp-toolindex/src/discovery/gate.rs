use std::sync::Arc;

use mgp_types::{Error, Flow, Gate, Kind, Method, Request, Response};

use super::ToolDiscoverySettings;
use super::answer::answer;
use super::asked::Asked;
use super::call::ToolUse;
use super::list;
use super::listen::Listening;
use super::shared::Shared;
use crate::Index;
use crate::session::ToolSessions;

/// Has tools searched instead of listed (§16). Clones share what they know of sessions.
///
/// Sits behind whatever authenticates and records, and around what resolves tools and holds calls to the access policy: what
/// it finds for a caller is decided by [`Eyes`](super::Eyes), what a caller may call is decided further in.
///
/// * `mgp/tools/discover`, `mgp/tools/request`, `mgp/tools/session` and `mgp/tools/session/evict` are answered where
///   `tool_discovery` was negotiated, and unknown methods (-32601) elsewhere. As tools, by three spellings of their
///   names, they are answered for everybody; no server's tool is ever called by those names.
/// * `tools/list` is answered with what belongs into the model's context at the gate's [`Level`](crate::level::Level), on one page; at
///   L0 it passes. Whoever asked is told when the list becomes another one, if it is in a session; who
///   describes itself with each request is told where it listens; of tools that it merely used only if
///   [`tell_uses`](ToolDiscoverySettings::tell_uses) says so. The server has to declare `tools.listChanged`.
/// * A call of a tool that the index knows goes on under the name that its server gave it, with the [`Tool`](crate::Tool)
///   among its extensions, so that a catalog behind the gate need not guess whose it is. When it succeeds, the tool is in
///   the list of the session. Where `context.tool` is filled already, nothing is changed.
/// * Everything else passes untouched.
///
/// Reads `context.session`, `context.principal` and `context.tool`; hands `context` to the hooks of the settings, with the
/// task of a request for tools as `context.trace` if there was none. Calls of tools cost a few allocations, what passes
/// none. Dropping the future of a call leaves the session as it was.
#[derive(Debug, Clone)]
pub struct ToolDiscoveryGate(Arc<Shared>);

impl ToolDiscoveryGate {
    /// Returns a gate that searches the tools of `index` and keeps those of each session in `sessions`.
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

impl Gate for ToolDiscoveryGate {
    type Pass = DiscoveredCall;

    fn enter(&self, request: &mut Request) -> Flow<DiscoveredCall> {
        if let Some(asked) = Asked::of(request) {
            return Flow::answer_later(answer(Arc::clone(&self.0), asked, request.take()));
        }
        if request.method == Method::TOOLS_CALL {
            return Flow::Pass(DiscoveredCall(Passed::Call(ToolUse::of(&self.0, request))));
        }
        if request.kind == Kind::Call
            && request.method == Method::TOOLS_LIST
            && let Some(list) = list::answer(&self.0, request)
        {
            return Flow::Answer(list);
        }
        if request.method == Method::LISTEN
            && let Some(listening) = Listening::of(&self.0, request)
        {
            return Flow::Pass(DiscoveredCall(Passed::Listening(listening)));
        }
        Flow::Pass(DiscoveredCall(Passed::Untouched))
    }

    fn leave(&self, call: DiscoveredCall, outcome: &mut Result<Response, Error>) {
        if let (DiscoveredCall(Passed::Call(Some(tool))), Ok(response)) = (call, outcome) {
            tool.answered(&self.0, response);
        }
    }
}

/// A request that tool discovery let pass, with what is done when it is answered.
#[derive(Debug)]
pub struct DiscoveredCall(Passed);

#[derive(Debug)]
enum Passed {
    Untouched,
    /// The call of a tool, which counts as a use once it succeeds.
    Call(Option<ToolUse>),
    /// A request that listens for changes, for as long as this is there.
    Listening(#[expect(dead_code, reason = "it is held, and not read")] Listening),
}
