//! The gate that holds each request to the access policy.

use std::mem;

use mgp_types::mgp::{AccessSource, AgentId, Refusal, ServerId};
use mgp_types::{
    AskedRule, Context, Error, Flow, Gate, Method, MethodRule, Principal, Request, RequestConcern, Response,
    code,
};

use super::{AccessPolicy, AccessVerdict, ServerUse};
use crate::listing::keep_listed;
use crate::refusal::refusal;

/// A gate that lets through only the requests that the policy allows the caller (§5).
///
/// The gate stands behind the layers that authenticate, record and resolve tools, and in front of everything that
/// reaches a server. It reads `context.principal`, without which it refuses with 1002, and `context.tool`; it fills
/// `context.trail`.
///
/// * `tools/call` needs access to the tool, as the catalog resolved it or, failing that, as the body names it.
/// * `tools/list` passes, and its result loses the tools that may not be called; the others keep their bytes. The
///   result is then specific to the caller, so a result marked public is made private.
/// * Requests about a running call, like `tasks/get`, and `logging/setLevel` need access to anything on the server.
/// * Requests that keep the session alive pass: `initialize`, `ping`, `server/discover` and the like.
/// * Every other request, including unknown methods, needs access to the server as a whole. Where the gate does not
///   stand in front of one server, MGP methods and `logging/setLevel` are for this process and pass; the code that
///   serves them decides. Any other request that nothing resolved is refused, `tools/list` included: only the catalog
///   knows to which server a listed tool belongs, so the gates in front of the servers filter the lists before they
///   are merged.
///
/// An operator's calls are held to the entries of its name like an agent's: it can grant itself what it needs, and
/// that is recorded.
///
/// A refusal is 1001 and the same whether the tool exists or not. A request that passes costs no allocation, with two
/// exceptions: the name of an unresolved tool is copied, and a list is filtered. The gate never waits. A request that
/// runs already is ended by [`RunningAccessLayer`](super::RunningAccessLayer).
#[derive(Debug, Clone)]
pub struct AccessGate {
    policy: AccessPolicy,
    server: Option<ServerId>,
}

impl AccessGate {
    /// Returns a gate that asks `policy`.
    pub fn new(policy: AccessPolicy) -> Self {
        Self { policy, server: None }
    }

    mgp_types::setters! { #[must_use] self =>
        /// Takes unresolved requests to be for `server`, for a gate that stands in front of one server.
        pub fn for_server(server: ServerId) => self.server = Some(server);
    }

    fn admit(&self, request: &Request) -> Result<Option<(AgentId, ServerId)>, Error> {
        let concern = MethodRule::of(request).map(|rule| rule.concern);
        if concern == Some(RequestConcern::Session) {
            return Ok(None);
        }
        let principal = request.context.principal.as_ref().ok_or_else(|| {
            note(request, "unauthenticated");
            refusal(code::AUTH_REQUIRED, "authenticate first")
        })?;
        let agent = &*principal.access_id();
        let resolved = request.context.tool.as_deref();
        let Some(server) = resolved.map(|tool| &tool.server).or(self.server.as_ref()) else {
            let is_for_this_process = request.method.is_mgp() || request.method == Method::SET_LEVEL;
            return if is_for_this_process { Ok(None) } else { Err(denied(request, "unresolved")) };
        };
        if concern == Some(RequestConcern::ToolList) {
            return Ok(Some((AgentId::new(agent), server.clone())));
        }
        let used = ServerUse::of(request, server)?;
        if let Some(trail) = &request.context.trail {
            trail.note_target(&used.server, used.tool());
        }
        decided(request, principal, &used.verdict(&self.policy, agent))
    }
}

impl Gate for AccessGate {
    /// The agent and the server of a listing whose answer is cut down to the tools that the agent may call there.
    type Pass = Option<(AgentId, ServerId)>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        self.admit(request).into()
    }

    /// Refuses a call whose access was taken away while it waited.
    fn recheck(&self, _: &mut Self::Pass, request: &mut Request) -> Result<(), Error> {
        self.admit(request).map(drop)
    }

    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        let mut asked = AskedRule::judged("access", self.admit(request).map(|_| ""));
        let Context { principal: Some(principal), tool: Some(tool), .. } = &*request.context else {
            return answers.push(asked);
        };
        let (agent, tool) = (principal.access_id(), (tool.server.as_str(), tool.name.as_str()));
        if let Some(reason) = self.policy.reason_by_group(&agent, tool) {
            asked.reason = reason;
        }
        answers.push(asked);
    }

    fn leave(&self, pass: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some((agent, server)), Ok(response)) = (pass, &mut *outcome) {
            let listed = mem::replace(response, Response::empty());
            *outcome = keep_listed(listed, |tool| {
                self.policy.decide(agent.as_str(), server.as_str(), Some(tool)).allows()
            });
        }
    }
}

fn decided(
    request: &Request,
    principal: &Principal,
    verdict: &AccessVerdict,
) -> Result<Option<(AgentId, ServerId)>, Error> {
    if let (Some(trail), Some(group)) = (&request.context.trail, &verdict.group) {
        trail.note_group(group);
    }
    if verdict.allows_to(principal) {
        return Ok(None);
    }
    let rule = match verdict.source {
        AccessSource::DefaultPolicy => "not-granted",
        AccessSource::ToolGrant | AccessSource::ServerGrant => "denied",
    };
    Err(denied(request, rule))
}

/// Returns the refusal of a request, which is the same for each rule: a different one would tell which names exist.
fn denied(request: &Request, rule: &'static str) -> Error {
    note(request, rule);
    let what = if request.method == Method::TOOLS_CALL { "this tool" } else { "this server" };
    refusal(code::ACCESS_DENIED, format!("no access to {what}; ask an operator for a grant"))
}

fn note(request: &Request, rule: &'static str) {
    request.context.note_refusal(Refusal::new("access", rule));
    tracing::debug!(method = %request.method, rule, "access refused");
}
