//! Calls that a client makes in the name of an agent.

use std::sync::Arc;

use mgp_discovery::config::model::AgentSettings;
use mgp_security::audit::trace_of;
use mgp_security::auth::reserved_owner;
use mgp_types::mgp::{AgentPattern, TraceId};
use mgp_types::{Error, Flow, Gate, Principal, PrincipalKind, Request, agent_family, code};

use crate::call::AGENT_META;
use crate::sections::Sections;

/// A gate that takes requests to come from the agent that they name, where the configuration lets their sender speak
/// for it.
///
/// Sits directly behind authentication, and outside of the record, in which the agent is the actor and the speaker
/// stands beside it. Reads `context.principal` and `_meta`; writes both, `context.speaker`, and `context.trace`. A
/// client that claims an agent for which it may not speak gets 1000, which is recorded in the client's own name. A
/// claimed agent is never more than an agent, whoever speaks for it. Parameters of a method that name agents are no
/// claims.
///
/// Costs a look at `_meta`; allocates for claims only. Nobody further in, and no server, sees the claim.
#[derive(Clone)]
pub(crate) struct DelegationGate(pub(crate) Arc<Sections>);

impl Gate for DelegationGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        // Only authentication decides who speaks.
        request.context.speaker = None;
        // All that follows from the request stands in one chain, including another tool that is called in place of a
        // failed one.
        let trace = trace_of(request).unwrap_or_else(TraceId::random);
        request.context.trace = Some(trace);
        let claimed = match take_claim(request) {
            Ok(None) => return Flow::Pass(()),
            Ok(Some(claimed)) => claimed,
            Err(error) => return Flow::refuse(error),
        };
        let Some(speaker) = request.context.principal.take() else {
            return Flow::refuse(Error::new(code::AUTH_REQUIRED, "who calls is not known"));
        };
        if [Some(speaker.as_str()), agent_family(speaker.as_str())].contains(&Some(&*claimed)) {
            request.context.principal = Some(speaker);
            return Flow::Pass(());
        }
        if !may_speak(&self.0.config.load().agents, &speaker, &claimed) {
            tracing::warn!(?speaker, "somebody claimed to speak for an agent for which it may not");
            let why = "the caller may not speak for this agent; an operator can allow it by `speaks_for` in mgp.toml";
            let error = Error::new(code::PERMISSION_DENIED, why);
            let details = [("claimed_agent", &*claimed)];
            return Flow::answer_later(self.0.audit.refused(&speaker, trace, &details, error));
        }
        request.context.principal =
            Some(Principal::of(PrincipalKind::Delegated, claimed).through(speaker.client()));
        request.context.speaker = Some(speaker);
        Flow::Pass(())
    }
}

/// Takes the claim out of the request. Returns the agent that the request claimed.
fn take_claim(request: &mut Request) -> Result<Option<String>, Error> {
    let Some(claim) = request.meta_mut().and_then(|meta| meta.remove(AGENT_META)) else { return Ok(None) };
    let claimed = claim.to_text().filter(|agent| (1..=MAX_NAME_BYTES).contains(&agent.len()));
    claimed.map(Some).ok_or_else(|| {
        Error::invalid_params(format!(
            "`{AGENT_META}` in `_meta` has to be the id of an agent, a string of 1 to {MAX_NAME_BYTES} bytes"
        ))
    })
}

/// Returns whether the configuration lets `speaker` call in the name of `agent`. A speaker that is no agent of the
/// configuration, such as the local client, speaks for nobody, whatever pattern is written.
fn may_speak(agents: &[AgentSettings], speaker: &Principal, agent: &str) -> bool {
    let fits = |pattern: &String| AgentPattern::new(pattern).matches(agent);
    reserved_owner(agent).is_none()
        && agents.iter().any(|known| known.id == speaker.access_id() && known.speaks_for.iter().any(fits))
}

const MAX_NAME_BYTES: usize = 512;

#[cfg(test)]
mod tests;
