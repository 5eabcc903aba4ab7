//! The gate that follows what sessions take in, and names it where a call may carry it out.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock};

use foldhash::fast::RandomState;
use memchr::memmem::Finder;
use mgp_types::mgp::{CallEffect, CallFlow, CallSource, FlowSource, ResolvedTool};
use mgp_types::{ClientSessionId, Error, Flow, Gate, GateKind, Principal, RawJson, Request, Response};
use parking_lot::Mutex;

use crate::permission::ShownArguments;

/// A gate that remembers which calls of a session took in private data or the words of others, and notes it in
/// `context.flow` of later calls of the session that run, send, destroy, spend or give access.
///
/// The gate stands further in than the gate that validates, which writes `context.effect` and `context.source`, and
/// further out than the gate of confirmation, which asks about new flows. Clones share what they remember: of a session
/// the first sources, and of sessions the latest. A result with a private key counts as private data.
#[derive(Debug, Clone, Default)]
pub struct FlowGate(Arc<Mutex<SessionFlows>>);

#[derive(Debug, Default)]
struct SessionFlows {
    /// True if flows are only recorded, and none counts as new.
    are_only_recorded: bool,
    sessions: HashMap<FlowSession, SessionFlow, RandomState>,
    order: VecDeque<FlowSession>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FlowSession {
    Client(ClientSessionId),
    /// The caller, where there is no session.
    Caller(Principal),
}

#[derive(Debug, Default)]
struct SessionFlow {
    sources: Arc<[FlowSource]>,
    /// True if a call was made that may have carried out what was taken in.
    has_left: bool,
}

/// The facts about a call that passed the gate.
pub struct FollowedCall {
    session: FlowSession,
    tool: Arc<ResolvedTool>,
    arguments: Option<RawJson>,
    source: Option<CallSource>,
    may_carry_out: bool,
}

mgp_types::partial_debug!(FollowedCall, self => tool: self.tool.name);

impl FlowGate {
    /// Sets whether flows are only recorded, so that nobody is asked about them.
    pub fn only_record(&self, only: bool) {
        self.0.lock().are_only_recorded = only;
    }

    fn follow(&self, request: &mut Request) -> Result<Option<FollowedCall>, Error> {
        request.context.flow = None;
        let Some(effect) = request.context.effect else { return Ok(None) };
        let Some(judged) = request.judged_by(GateKind::Confirmation)? else { return Ok(None) };
        let (tool, arguments) = (judged.tool.clone(), judged.arguments());
        let client = request.context.client.as_ref().map(|client| FlowSession::Client(client.id()));
        let caller = || request.context.principal.clone().map(FlowSession::Caller);
        let Some(session) = client.or_else(caller) else { return Ok(None) };
        let flow = if effect >= CallEffect::Runs { self.0.lock().flow(&session) } else { None };
        if let (Some(flow), Some(trail)) = (&flow, &request.context.trail) {
            trail.note_flow(&flow.sources);
        }
        let may_carry_out = flow.is_some();
        request.context.flow = flow;
        Ok(Some(FollowedCall { session, tool, arguments, source: request.context.source, may_carry_out }))
    }
}

impl Gate for FlowGate {
    type Pass = Option<FollowedCall>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        self.follow(request).into()
    }

    fn leave(&self, pass: Self::Pass, outcome: &mut Result<Response, Error>) {
        // A call that was refused further in carried out nothing.
        let (Some(call), Ok(response)) = (pass, outcome) else { return };
        if call.may_carry_out
            && let Some(known) = self.0.lock().sessions.get_mut(&call.session)
        {
            known.has_left = true;
        }
        let has_key = || PRIVATE_KEY.find(response.result.as_bytes()).is_some();
        if let Some(kind) = call.source.or_else(|| has_key().then_some(CallSource::Private)) {
            self.0.lock().take_in(&call, kind);
        }
    }
}

impl SessionFlows {
    fn flow(&self, session: &FlowSession) -> Option<Arc<CallFlow>> {
        let known = self.sessions.get(session)?;
        Some(Arc::new(CallFlow {
            sources: Arc::clone(&known.sources),
            is_new: !known.has_left && !self.are_only_recorded,
        }))
    }

    fn take_in(&mut self, call: &FollowedCall, kind: CallSource) {
        if !self.sessions.contains_key(&call.session) {
            if self.order.len() >= MAX_SESSIONS
                && let Some(oldest) = self.order.pop_front()
            {
                self.sessions.remove(&oldest);
            }
            self.order.push_back(call.session.clone());
        }
        let known = self.sessions.entry(call.session.clone()).or_default();
        let is_first = !known.sources.iter().any(|source| source.kind == kind);
        if is_first {
            known.has_left = false;
        } else if known.sources.len() >= MAX_SOURCES {
            return;
        }
        let source = source_of(call, kind);
        if !known.sources.contains(&source) {
            known.sources = known.sources.iter().cloned().chain([source]).collect();
        }
    }
}

fn source_of(call: &FollowedCall, kind: CallSource) -> FlowSource {
    let shown = ShownArguments::of(call.arguments.as_ref());
    let arguments = shown.map(|shown| shown.brief().split_whitespace().collect::<Vec<_>>().join(" "));
    let arguments: String = arguments.unwrap_or_default().chars().take(MAX_ARGUMENT_CHARS).collect();
    FlowSource { kind, tool: format!("{}.{}", call.tool.server, call.tool.name), arguments }
}

/// The words in a result by which a private key is known.
static PRIVATE_KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("PRIVATE KEY-----"));
/// The number of sessions that are remembered.
const MAX_SESSIONS: usize = 4096;
/// The number of sources of a session that are named, beside the first of each kind.
const MAX_SOURCES: usize = 4;
/// The number of characters of a source's arguments that are shown.
const MAX_ARGUMENT_CHARS: usize = 120;

#[cfg(test)]
mod tests {
    use mgp_types::Object;
    use mgp_types::mgp::{EffectiveSecurity, RiskLevel};

    use super::*;

    fn call(caller: String, tool: &str) -> FollowedCall {
        let security = EffectiveSecurity::new(RiskLevel::Safe);
        FollowedCall {
            session: FlowSession::Caller(Principal::new(caller)),
            tool: ResolvedTool::new("s".into(), tool.into(), Object::new(), security),
            arguments: None,
            source: Some(CallSource::Private),
            may_carry_out: false,
        }
    }

    #[test]
    fn sessions_and_their_sources_are_bounded_and_the_first_sources_stay() {
        let mut flows = SessionFlows::default();
        for number in 0..=MAX_SESSIONS {
            flows.take_in(&call(format!("caller{number}"), "t"), CallSource::Private);
        }
        assert_eq!((flows.sessions.len(), flows.order.len()), (MAX_SESSIONS, MAX_SESSIONS));
        let (first, last) = (call("caller0".into(), "t"), call("caller1".into(), "t"));
        assert!(flows.flow(&first.session).is_none() && flows.flow(&last.session).is_some());
        for number in 0..20 {
            flows.take_in(&call("caller1".into(), &format!("t{number}")), CallSource::Private);
        }
        flows.take_in(&call("caller1".into(), "web"), CallSource::Foreign);
        let sources = flows.flow(&last.session).unwrap();
        let tools: Vec<_> = sources.sources.iter().map(|source| source.tool.as_str()).collect();
        assert_eq!(tools, ["s.t", "s.t0", "s.t1", "s.t2", "s.web"]);
    }
}
