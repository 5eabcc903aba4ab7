//! The gate that follows what agents take in, and names it where a call may carry it out.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use foldhash::fast::RandomState;
use memchr::memmem::Finder;
use mgp_types::mgp::{CallEffect, CallFlow, CallSource, FlowSource, ResolvedTool};
use mgp_types::{Error, Flow, Gate, GateKind, RawJson, Request, Response};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::departure::Departure;
use crate::definition::has_orders;
use crate::permission::ShownArguments;

/// A gate that remembers which calls of an agent took in private data or the words of others, and notes it in
/// `context.flow` of later calls of the agent, in whatever session, that run, send, destroy, spend or give access; and of calls
/// that only read, where their arguments have room for private data on its way out.
///
/// The gate stands further in than the gate that validates, which writes `context.effect` and `context.source`, and
/// further out than the gate of confirmation, which asks about new flows. Clones share what they remember: of an agent
/// the first sources, for some time, and of agents the latest. A result with a private key counts as private data.
#[derive(Debug, Clone, Default)]
pub struct FlowGate(Arc<Mutex<AgentFlows>>);

#[derive(Debug, Default)]
struct AgentFlows {
    /// True if flows are only recorded, and none counts as new.
    are_only_recorded: bool,
    agents: HashMap<FlowAgent, AgentFlow, RandomState>,
    order: VecDeque<FlowAgent>,
}

/// The id of an agent: its sessions share what they take in.
type FlowAgent = Box<str>;

#[derive(Debug, Default)]
struct AgentFlow {
    sources: Arc<[FlowSource]>,
    /// The time at which the agent last took something in.
    taken_in: Option<Instant>,
    /// True if a call was made that may have carried out what was taken in.
    has_left: bool,
    /// The hosts that calls of the agent have named.
    hosts: VecDeque<Box<str>>,
}

/// The facts about a call that passed the gate.
pub struct FollowedCall {
    agent: FlowAgent,
    tool: Arc<ResolvedTool>,
    arguments: Option<RawJson>,
    source: Option<CallSource>,
    may_carry_out: bool,
    hosts: Vec<Box<str>>,
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
        let Some(agent) = request.context.principal.as_ref().map(|agent| Box::from(agent.access_id())) else {
            return Ok(None);
        };
        if request.context.source == Some(CallSource::Orders) {
            // Who calls a tool has read its definition.
            let source = source_of(&tool, "its definition", CallSource::Orders);
            self.0.lock().take_in(&agent, source);
        }
        let is_known = self.0.lock().known(&agent).is_some();
        let only_reads = effect < CallEffect::Runs;
        let may_name_host = || arguments.as_ref().is_some_and(|it| URL.find(it.as_bytes()).is_some());
        let departure = if only_reads && (is_known || may_name_host()) {
            Departure::of(&tool, arguments.as_ref())
        } else {
            Departure::default()
        };
        let flow = match is_known {
            false => None,
            true if only_reads => self.0.lock().departing(&agent, &tool, &departure),
            true => self.0.lock().flow(&agent),
        };
        if let (Some(flow), Some(trail)) = (&flow, &request.context.trail) {
            trail.note_flow(&flow.sources);
        }
        let may_carry_out = !only_reads && flow.is_some();
        request.context.flow = flow;
        let (source, hosts) = (request.context.source, departure.hosts);
        Ok(Some(FollowedCall { agent, tool, arguments, source, may_carry_out, hosts }))
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
        if call.may_carry_out || !call.hosts.is_empty() {
            let mut flows = self.0.lock();
            let known = flows.entry(&call.agent);
            known.has_left |= call.may_carry_out;
            known.note_hosts(&call.hosts);
        }
        let has_key = || PRIVATE_KEY.find(response.result.as_bytes()).is_some();
        let kind = match call.source {
            Some(CallSource::Orders) => return,
            Some(CallSource::Foreign) if has_orders(&response.result) => Some(CallSource::Orders),
            source => source.or_else(|| has_key().then_some(CallSource::Private)),
        };
        if let Some(kind) = kind {
            let source = source_of(&call.tool, &in_brief(call.arguments.as_ref()), kind);
            self.0.lock().take_in(&call.agent, source);
        }
    }
}

impl AgentFlows {
    /// Returns what the agent has taken in of late.
    fn known(&self, agent: &str) -> Option<&AgentFlow> {
        let known = self.agents.get(agent)?;
        known.taken_in.is_some_and(|at| at.elapsed() < REMEMBERED_FOR).then_some(known)
    }

    fn flow(&self, agent: &str) -> Option<Arc<CallFlow>> {
        let known = self.known(agent)?;
        Some(Arc::new(CallFlow {
            sources: Arc::clone(&known.sources),
            is_new: !known.has_left && !self.are_only_recorded,
            destination: None,
        }))
    }

    /// Returns the flow of a call that only reads, if private data of another server may leave by its arguments.
    fn departing(&self, agent: &str, tool: &ResolvedTool, departure: &Departure) -> Option<Arc<CallFlow>> {
        let known = self.known(agent)?;
        let is_private = |source: &&FlowSource| {
            let of_server = source.tool.strip_prefix(tool.server.as_str());
            source.kind == CallSource::Private && !of_server.is_some_and(|rest| rest.starts_with('.'))
        };
        let sources: Arc<[_]> = known.sources.iter().filter(is_private).cloned().collect();
        let destination = departure.destination(|host| known.hosts.iter().any(|known| **known == *host))?;
        (!sources.is_empty()).then(|| {
            let is_new = !self.are_only_recorded;
            Arc::new(CallFlow { sources, is_new, destination: Some(destination.into()) })
        })
    }

    fn entry(&mut self, agent: &FlowAgent) -> &mut AgentFlow {
        if !self.agents.contains_key(agent) {
            if self.order.len() >= MAX_AGENTS
                && let Some(oldest) = self.order.pop_front()
            {
                self.agents.remove(&oldest);
            }
            self.order.push_back(agent.clone());
        }
        self.agents.entry(agent.clone()).or_default()
    }

    fn take_in(&mut self, agent: &FlowAgent, source: FlowSource) {
        let is_remembered = self.known(agent).is_some();
        let known = self.entry(agent);
        known.taken_in = Some(Instant::now());
        if !is_remembered {
            known.sources = Arc::default();
        }
        let is_first = !known.sources.iter().any(|known| known.kind == source.kind);
        if is_first {
            known.has_left = false;
        } else if known.sources.len() >= MAX_SOURCES {
            return;
        }
        if !known.sources.contains(&source) {
            known.sources = known.sources.iter().cloned().chain([source]).collect();
        }
    }
}

impl AgentFlow {
    fn note_hosts(&mut self, hosts: &[Box<str>]) {
        for host in hosts {
            if !self.hosts.contains(host) {
                self.hosts.truncate(MAX_HOSTS - 1);
                self.hosts.push_front(host.clone());
            }
        }
    }
}

fn source_of(tool: &ResolvedTool, arguments: &str, kind: CallSource) -> FlowSource {
    FlowSource { kind, tool: format!("{}.{}", tool.server, tool.name), arguments: arguments.to_owned() }
}

/// Returns the start of the arguments in one line, for a person.
fn in_brief(arguments: Option<&RawJson>) -> String {
    let shown = ShownArguments::of(arguments);
    let text = shown.map(|shown| shown.brief().split_whitespace().collect::<Vec<_>>().join(" "));
    text.unwrap_or_default().chars().take(MAX_ARGUMENT_CHARS).collect()
}

/// The words in a result by which a private key is known.
static PRIVATE_KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("PRIVATE KEY-----"));
/// The mark of a URL.
static URL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("://"));
/// The time for which it counts what an agent took in.
const REMEMBERED_FOR: Duration = Duration::from_hours(1);
/// The number of agents that are remembered.
const MAX_AGENTS: usize = 4096;
/// The number of hosts of an agent that are remembered.
const MAX_HOSTS: usize = 64;
/// The number of sources of an agent that are named, beside the first of each kind.
const MAX_SOURCES: usize = 4;
/// The number of characters of a source's arguments that are shown.
const MAX_ARGUMENT_CHARS: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    fn source(tool: &str, kind: CallSource) -> FlowSource {
        FlowSource { kind, tool: format!("s.{tool}"), arguments: String::new() }
    }

    #[test]
    fn agents_and_their_sources_are_bounded_and_the_first_sources_stay() {
        let mut flows = AgentFlows::default();
        for number in 0..=MAX_AGENTS {
            flows.take_in(&format!("caller{number}").into(), source("t", CallSource::Private));
        }
        assert_eq!((flows.agents.len(), flows.order.len()), (MAX_AGENTS, MAX_AGENTS));
        let last: FlowAgent = "caller1".into();
        assert!(flows.flow("caller0").is_none() && flows.flow(&last).is_some());
        for number in 0..20 {
            flows.take_in(&last, source(&format!("t{number}"), CallSource::Private));
        }
        flows.take_in(&last, source("web", CallSource::Foreign));
        let sources = flows.flow(&last).unwrap();
        let tools: Vec<_> = sources.sources.iter().map(|source| source.tool.as_str()).collect();
        assert_eq!(tools, ["s.t", "s.t0", "s.t1", "s.t2", "s.web"]);
    }
}
