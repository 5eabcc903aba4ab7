//! The gate that asks the rules of operators whether a person is asked about a call.

use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::mgp::{AskRule, Asking, CallEffect, EventType, Refusal, code};
use mgp_types::{AgentGroups, AskedRule, Error, Flow, Gate, GateKind, Request};

use crate::refusal::advice;

/// A gate that notes in `context.asking` what the rules of operators say about a call, and refuses those that they
/// refuse.
///
/// The gate stands further in than the gate that validates, which writes `context.effect`, and further out than the gates
/// of permission and confirmation, which read `context.asking`. Clones share their rules. Without rules a call costs one
/// load.
#[derive(Debug, Clone, Default)]
pub struct AskGate {
    rules: Arc<ArcSwap<Vec<AskRule>>>,
    groups: AgentGroups,
}

impl AskGate {
    /// Returns a gate without rules, which finds the groups of agents in `groups`.
    pub fn new(groups: AgentGroups) -> Self {
        Self { rules: Arc::default(), groups }
    }

    /// Sets other rules from now on, also for clones that were made before.
    pub fn set(&self, rules: Vec<AskRule>) {
        self.rules.store(Arc::new(rules));
    }

    fn judge(&self, request: &mut Request) -> Result<(), Error> {
        let rules = self.rules.load();
        request.context.asking = None;
        if rules.is_empty() {
            return Ok(());
        }
        let Some(judged) = request.judged_by(GateKind::Confirmation)? else { return Ok(()) };
        let tool = (judged.tool.server.as_str(), judged.tool.name.as_str());
        let caller = request.context.principal.as_ref();
        let agent = caller.ok_or_else(|| Error::invalid_request("nobody says who calls"))?.access_id();
        let groups = self.groups.of(&agent);
        let groups = groups.iter().flat_map(|groups| groups.iter().map(|member| member.group.as_str()));
        let context = &request.context;
        let asking =
            AskRule::deciding(&rules, &agent, groups, tool, context.effect, context.command.as_deref());
        if asking == Some(Asking::Refuse) {
            return Err(refused(tool, request));
        }
        request.context.asking = asking;
        Ok(())
    }
}

impl Gate for AskGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        self.judge(request).into()
    }

    fn recheck(&self, (): &mut (), request: &mut Request) -> Result<(), Error> {
        self.judge(request)
    }

    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        let judged = self.judge(request).map(|()| match request.context.asking {
            None => "no rule of `mgp ask` is about it",
            Some(Asking::Never) => "a rule has nobody asked",
            Some(_) => "a rule has a person asked",
        });
        answers.push(AskedRule::judged("ask rules", judged));
    }
}

fn refused((server, tool): (&str, &str), request: &Request) -> Error {
    let refusal = Refusal::new("confirmation", "rule").with_event(EventType::PermissionDenied);
    request.context.note_refusal(refusal);
    let effect = request.context.effect.map_or("is made", CallEffect::phrase);
    let next = "do not call it again; tell the user that a rule of `mgp ask` refuses it";
    let message = format!("an operator's rule refuses this call of `{tool}` of `{server}`, which {effect}");
    let recovery = advice(code::PERMISSION_DENIED, &[("reason", "refused_by_rule"), ("next", next)]);
    Error::new(code::PERMISSION_DENIED, message).with_recovery(recovery)
}
