//! The policy about the calls of one server: its rules in the order in which calls meet them.

use mgp_security::access::AccessGate;
use mgp_security::confirmation::{AskGate, ConfirmationGate, FlowGate};
use mgp_security::permission::PermissionGate;
use mgp_security::scope::ScopeGate;
use mgp_security::validator::ValidateGate;
use mgp_types::mgp::{Asking, CallEffect};
use mgp_types::{Flow, Gate, Request};
use serde::{Deserialize, Serialize};

/// The rules of one server that decide by the caller, the tool and the arguments whether a call is made. Clones share
/// their state. `stack.rs` puts the same rules around the server, with what counts, holds and changes calls between them.
#[derive(Clone)]
pub(crate) struct CallPolicy {
    pub(crate) access: AccessGate,
    pub(crate) scopes: ScopeGate,
    pub(crate) arguments: ValidateGate,
    pub(crate) asks: AskGate,
    pub(crate) flows: FlowGate,
    pub(crate) permissions: PermissionGate,
    pub(crate) confirmation: ConfirmationGate,
}

/// The answer of a rule to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RuleAnswer {
    Allows,
    Asks,
    Refuses,
}

/// A rule that was asked about a call, its answer, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskedRule {
    pub(crate) rule: String,
    pub(crate) answer: RuleAnswer,
    pub(crate) reason: String,
}

impl CallPolicy {
    /// Asks every rule about a call that is not made, in order, also those behind one that refuses it. No person is asked,
    /// and nothing is counted or recorded.
    pub(crate) fn explain(&self, mut request: Request) -> Vec<AskedRule> {
        let asked = &mut Vec::new();
        ask("access", &self.access, &mut request, asked, |_| String::new());
        ask("scopes", &self.scopes, &mut request, asked, |_| String::new());
        ask("arguments", &self.arguments, &mut request, asked, |request| {
            let effect = request.context.effect.map(CallEffect::phrase);
            effect.map(|effect| format!("the call {effect}")).unwrap_or_default()
        });
        ask("ask rules", &self.asks, &mut request, asked, |request| match request.context.asking {
            None => "no rule of `mgp ask` is about it".to_owned(),
            Some(Asking::Never) => "a rule has nobody asked".to_owned(),
            Some(_) => "a rule has a person asked".to_owned(),
        });
        ask("flows", &self.flows, &mut request, asked, |_| String::new());
        ask("permissions", &self.permissions, &mut request, asked, |request| {
            let undecided = self.permissions.undecided(request);
            let names: Vec<_> = undecided.iter().map(|permission| format!("`{permission}`")).collect();
            if names.is_empty() {
                String::new()
            } else {
                format!("nobody decided about {}", names.join(", "))
            }
        });
        ask("confirmation", &self.confirmation, &mut request, asked, |_| String::new());
        std::mem::take(asked)
    }
}

/// Has a rule judge the request, and notes its answer. The request goes on as the rule leaves it, or as it was where the
/// rule would wait for somebody.
fn ask<G: Gate>(
    rule: &str,
    gate: &G,
    request: &mut Request,
    asked: &mut Vec<AskedRule>,
    reason: impl Fn(&Request) -> String,
) {
    let before = request.clone();
    let (answer, why) = match gate.enter(request) {
        Flow::Pass(_) | Flow::Answer(Ok(_)) => (RuleAnswer::Allows, None),
        Flow::Answer(Err(error)) => (RuleAnswer::Refuses, Some(error.message().to_owned())),
        // What is not awaited does nothing.
        Flow::Wait(_) => (RuleAnswer::Asks, None),
    };
    if answer != RuleAnswer::Allows {
        *request = before;
    }
    let reason = why.unwrap_or_else(|| reason(request));
    asked.push(AskedRule { rule: rule.to_owned(), answer, reason });
}
