use std::borrow::Cow;
use std::sync::Arc;

use mgp_types::mgp::{AccessSource, AgentId, Refusal, ServerId, ToolName};
use mgp_types::{Error, Flow, Gate, Method, Request, Response, code};

use super::scope::AccessNeed;
use super::{AccessPolicy, AccessVerdict};
use crate::listing;
use crate::refusal::refusal;

/// Lets through only what the policy allows the caller (§5).
///
/// Sits behind whatever authenticates, records and resolves tools, and around everything that reaches a server.
/// Reads `context.principal`, without which it refuses with 1002, and `context.tool`; fills `context.trail`.
///
/// * `tools/call` needs the tool, as the catalog resolved it, or else as the body names it.
/// * `tools/list` passes, and its result loses the tools that may not be called; the others keep their bytes. From
///   then on it is the caller's alone, so a result that calls itself public is made private.
/// * What is about a running call, like `tasks/get`, and `logging/setLevel` need anything on the server.
/// * What keeps the session alive passes: `initialize`, `ping`, `server/discover` and the like.
/// * Everything else needs the server, methods that nobody here knows included. Where the layer is not in front of
///   one server, a method of MGP and `logging/setLevel` are for this process and pass: who serves them decides.
///   Anything else that nobody resolved is refused, `tools/list` included: which server a listed tool is of only the
///   catalog knows, so the lists are filtered by the layers in front of the servers before they are put together.
///
/// An operator's calls are held to the entries of its name like an agent's: it can grant itself what it needs, and
/// that is recorded.
///
/// A refusal is 1001 and the same whether there is such a tool or not. What is let through costs no allocation,
/// except that the name of a tool nobody resolved is copied where there is a trail to note it on, and that a list is
/// filtered. Never waits.
#[derive(Debug, Clone)]
pub struct AccessGate(Arc<AccessGateSettings>);

#[derive(Debug, Clone)]
struct AccessGateSettings {
    policy: AccessPolicy,
    server: Option<ServerId>,
    agent: Option<AgentId>,
}

impl AccessGate {
    /// Returns a gate that asks `policy`.
    pub fn new(policy: AccessPolicy) -> Self {
        Self(Arc::new(AccessGateSettings { policy, server: None, agent: None }))
    }

    /// Takes requests to be for `server` where nobody resolved them: the layer stands in front of one server.
    #[must_use]
    pub fn for_server(mut self, server: ServerId) -> Self {
        Arc::make_mut(&mut self.0).server = Some(server);
        self
    }

    /// Takes all requests to come from `agent`, whoever they say they come from: the layer stands in a client.
    #[must_use]
    pub fn for_agent(mut self, agent: AgentId) -> Self {
        Arc::make_mut(&mut self.0).agent = Some(agent);
        self
    }
}

impl Gate for AccessGate {
    type Pass = Option<AccessListing>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        self.0.admit(request).into()
    }

    /// Refuses a call whose access was taken away while it waited.
    fn recheck(&self, _: &mut Self::Pass, request: &mut Request) -> Result<(), Error> {
        self.0.admit(request).map(drop)
    }

    fn leave(&self, pass: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let Some(AccessListing { agent, server }) = pass {
            listing::keep_only(outcome, |tool| {
                self.0.policy.decide(agent.as_str(), server.as_str(), Some(tool)).allows()
            });
        }
    }
}

/// The list that shows only the tools that this agent may call on this server.
#[derive(Debug)]
pub struct AccessListing {
    agent: AgentId,
    server: ServerId,
}

impl AccessGateSettings {
    fn admit(&self, request: &Request) -> Result<Option<AccessListing>, Error> {
        let need = AccessNeed::of(request);
        if need == AccessNeed::Nothing {
            return Ok(None);
        }
        let agent = match (&self.agent, &request.context.principal) {
            (Some(agent), _) => Cow::Borrowed(agent.as_str()),
            (None, Some(principal)) => principal.access_id(),
            (None, None) => return Err(unauthenticated(request)),
        };
        let agent = &*agent;
        let resolved = request.context.tool.as_deref();
        let Some(server) = resolved.map(|tool| &tool.server).or(self.server.as_ref()) else {
            return without_server(request);
        };
        match need {
            AccessNeed::Nothing => Ok(None),
            AccessNeed::ListedTools => {
                Ok(Some(AccessListing { agent: AgentId::new(agent), server: server.clone() }))
            }
            AccessNeed::Tool => {
                let named;
                let tool = if let Some(resolved) = resolved {
                    resolved.name.as_str()
                } else {
                    named = named_tool(request)?;
                    &*named
                };
                if let Some(trail) = &request.context.trail {
                    match resolved {
                        Some(resolved) => trail.note_target(server, Some(&resolved.name)),
                        None => trail.note_target(server, Some(&ToolName::new(tool))),
                    }
                }
                decided(request, self.policy.decide(agent, server.as_str(), Some(tool)))
            }
            AccessNeed::Something | AccessNeed::Server => {
                if let Some(trail) = &request.context.trail {
                    trail.note_target(server, None);
                }
                if need == AccessNeed::Something && self.policy.reaches(agent, server.as_str()) {
                    return Ok(None);
                }
                decided(request, self.policy.decide(agent, server.as_str(), None))
            }
        }
    }
}

/// The tool that the body names, for the body is what the server will read.
fn named_tool(request: &Request) -> Result<Cow<'_, str>, Error> {
    let name = request.params.text("name").filter(|name| !name.is_empty());
    name.ok_or_else(|| Error::invalid_params("`name` is missing"))
}

fn decided(request: &Request, verdict: AccessVerdict) -> Result<Option<AccessListing>, Error> {
    if verdict.allows() {
        return Ok(None);
    }
    let rule = match verdict.source {
        AccessSource::DefaultPolicy => "not-granted",
        AccessSource::ToolGrant | AccessSource::ServerGrant => "denied",
    };
    note(request, rule);
    Err(refusal(code::ACCESS_DENIED, DENIED))
}

fn without_server(request: &Request) -> Result<Option<AccessListing>, Error> {
    if request.method.is_mgp() || request.method == Method::SET_LEVEL {
        return Ok(None);
    }
    note(request, "unresolved");
    // The same answer as to a tool that may not be called: whether a name could be resolved tells what exists.
    Err(refusal(code::ACCESS_DENIED, DENIED))
}

fn unauthenticated(request: &Request) -> Error {
    note(request, "unauthenticated");
    refusal(code::AUTH_REQUIRED, "authenticate first")
}

fn note(request: &Request, rule: &'static str) {
    if let Some(trail) = &request.context.trail {
        trail.note_refusal(Refusal::new("access", rule));
    }
    tracing::warn!(method = %request.method, rule, "access refused");
}

const DENIED: &str = "no access to this tool; ask an operator for a grant";
