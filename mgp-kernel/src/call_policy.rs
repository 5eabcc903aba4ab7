//! The policy about the calls of one server: its rules in the order in which calls meet them.

use mgp_security::access::AccessGate;
use mgp_security::confirmation::{AskGate, ConfirmationGate};
use mgp_security::definition::DefinitionGuardLayer;
use mgp_security::permission::PermissionGate;
use mgp_security::scope::ScopeGate;
use mgp_security::validator::ValidateGate;
use mgp_types::mgp::Asking;
use mgp_types::{Error, Flow, Gate, Request};
use serde::{Deserialize, Serialize};

/// The rules of one server that decide by the caller, the tool and the arguments whether a call is made. Clones share
/// their state. `stack.rs` puts the same rules around the server, with what counts, holds and changes calls between them.
#[derive(Clone)]
pub(crate) struct CallPolicy {
    pub(crate) access: AccessGate,
    pub(crate) scopes: ScopeGate,
    pub(crate) definitions: DefinitionGuardLayer,
    pub(crate) arguments: ValidateGate,
    pub(crate) ask_rules: AskGate,
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
    pub(crate) async fn explain(&self, mut request: Request) -> Vec<AskedRule> {
        let request = &mut request;
        let access = AskedRule::of("access", judged(&self.access, request).await, "");
        let scopes = AskedRule::of("scopes", judged(&self.scopes, request).await, "");
        let definition = AskedRule::of("definition", self.definitions.admits(request), "");
        let arguments = judged(&self.arguments, request).await;
        let effect = request.context.effect.map(|effect| format!("the call {}", effect.phrase()));
        let arguments = AskedRule::of("arguments", arguments, &effect.unwrap_or_default());
        let asks = judged(&self.ask_rules, request).await;
        let said = match request.context.asking {
            None => "no rule of `mgp ask` is about it",
            Some(Asking::Never) => "a rule has nobody asked",
            Some(_) => "a rule has a person asked",
        };
        let asks = AskedRule::of("ask rules", asks, said);
        let undecided = self.permissions.questions(request).map(|undecided| {
            let names: Vec<_> = undecided.iter().map(|permission| format!("`{permission}`")).collect();
            (!names.is_empty()).then(|| format!("nobody decided about {}", names.join(", ")))
        });
        let permissions = AskedRule::asking("permissions", undecided);
        let confirmed = match self.confirmation.enter(request) {
            Flow::Pass(_) | Flow::Answer(Ok(_)) => Ok(None),
            Flow::Answer(Err(error)) => Err(error),
            // The question is not asked where nobody waits for it.
            Flow::Wait(_) => Ok(Some("a person confirms it, unless one did already".to_owned())),
        };
        let confirmation = AskedRule::asking("confirmation", confirmed);
        vec![access, scopes, definition, arguments, asks, permissions, confirmation]
    }
}

impl AskedRule {
    /// Returns a rule that asks nobody.
    fn of(rule: &str, answer: Result<(), Error>, reason: &str) -> Self {
        let (answer, reason) = match answer {
            Ok(()) => (RuleAnswer::Allows, reason.to_owned()),
            Err(error) => (RuleAnswer::Refuses, error.message().to_owned()),
        };
        Self { rule: rule.to_owned(), answer, reason }
    }

    /// Returns a rule that asks a person where there is a question.
    fn asking(rule: &str, question: Result<Option<String>, Error>) -> Self {
        match question {
            Ok(Some(reason)) => Self { rule: rule.to_owned(), answer: RuleAnswer::Asks, reason },
            answer => Self::of(rule, answer.map(drop), ""),
        }
    }
}

/// Has a rule judge the request, which goes on as the rule leaves it, or as it was where it is refused.
pub(crate) async fn judged<G: Gate>(gate: &G, request: &mut Request) -> Result<(), Error> {
    let before = request.clone();
    let mut flow = gate.enter(request);
    loop {
        match flow {
            Flow::Pass(_) | Flow::Answer(Ok(_)) => return Ok(()),
            Flow::Answer(Err(error)) => {
                *request = before;
                return Err(error);
            }
            Flow::Wait(waiting) => (*request, flow) = waiting.await,
        }
    }
}
