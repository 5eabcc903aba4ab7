use std::sync::Arc;

use mgp_types::mgp::{CodeRejection, EventType, Recovery, Refusal};
use mgp_types::{Error, Flow, Gate, GateKind, RawJson, Request, code};

use super::call::Located;
use super::prepared::{CallFault, PreparedToolCache};
use super::registry::Validators;
use super::validate::BlockedCall;
use crate::Finding;

/// Checks the arguments of calls, and of what is judged like one, before they are forwarded: against the tool's schema, then with the validators that the
/// tool's security asks for (MGP §4.5).
///
/// Sits inside of whatever resolves the tool, and outside of permission and confirmation, so that a human is only asked
/// about arguments that passed. Reads `context.tool` of calls and `context.operation` of what is judged like one, and
/// refuses what comes without them; notes what was applied, and why it
/// refused, in the trail, and writes `context.converted`. The bytes that were checked are the bytes that are forwarded. Never
/// waits.
#[derive(Debug, Clone)]
pub struct ValidateGate {
    shared: Arc<ValidateGateShared>,
}

/// How arguments are held to the types in the schema of their tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "a type fits or is converted")]
pub enum ArgumentTypes {
    /// Each has the type of the schema.
    #[default]
    Exact,
    /// What a server would convert passes as it came, such as `"5"` for a number, one item for a list, JSON in a text, or
    /// `null` for what may be left out. Validators see such arguments in both forms.
    Loose,
}

#[derive(Debug)]
struct ValidateGateShared {
    validators: Validators,
    prepared: PreparedToolCache,
    types: ArgumentTypes,
}

impl ValidateGate {
    /// Checks with these.
    pub fn new(validators: Validators) -> Self {
        let (prepared, types) = (PreparedToolCache::default(), ArgumentTypes::default());
        Self { shared: Arc::new(ValidateGateShared { validators, prepared, types }) }
    }

    /// Sets how arguments are held to the types in the schema of their tool. [`Exact`](ArgumentTypes::Exact) if it is not said.
    #[must_use]
    pub fn argument_types(self, types: ArgumentTypes) -> Self {
        let validators = self.shared.validators.clone();
        Self {
            shared: Arc::new(ValidateGateShared {
                validators,
                prepared: PreparedToolCache::default(),
                types,
            }),
        }
    }
}

impl ValidateGateShared {
    fn check(&self, request: &Request) -> Result<Option<RawJson>, Error> {
        let Some(judged) = request.judged_by(GateKind::Validators)? else { return Ok(None) };
        let tool = judged.tool;
        let prepared = self.prepared.prepared(tool, &self.validators);
        let checked = prepared.check(judged.arguments().as_ref(), self.types);
        if let Some(trail) = &request.context.trail {
            trail.note_validators(&tool.security.validators);
            if let Err(wrong) = &checked {
                trail.note_refusal(refusal(wrong));
            }
        }
        checked.map_err(told)
    }
}

impl Gate for ValidateGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        match self.shared.check(request) {
            Ok(converted) => {
                request.context.converted = converted;
                Flow::Pass(())
            }
            Err(error) => Flow::refuse(error),
        }
    }
}

fn refusal(wrong: &CallFault) -> Refusal {
    match wrong {
        CallFault::Schema(_) => Refusal::new("validate", "schema").with_event(EventType::ValidationFailed),
        CallFault::Blocked(BlockedCall::Argument(located)) => {
            Refusal::new("validate", located.finding.rule).with_event(EventType::ValidationFailed)
        }
        CallFault::Blocked(BlockedCall::Code(_)) => {
            Refusal::new("code-safety", "code-rejected").with_event(EventType::CodeRejected)
        }
    }
}

/// What the caller is told: the argument, and what to do instead.
fn told(wrong: CallFault) -> Error {
    match wrong {
        CallFault::Schema(violation) => {
            with_recovery(Error::new(code::INVALID_TOOL_ARGS, violation.to_string()), None)
        }
        CallFault::Blocked(BlockedCall::Argument(Located { finding, pointer })) => {
            let Finding { rule, message, .. } = &finding;
            let text = match pointer.as_deref().filter(|pointer| !pointer.is_empty()) {
                Some(pointer) => format!("argument `{pointer}` is blocked ({rule}): {message}"),
                None => format!("the call is blocked ({rule}): {message}"),
            };
            let details = serde_json::json!({ "rule": rule, "argument": pointer, "advice": message });
            with_recovery(Error::new(code::VALIDATION_BLOCKED, text), RawJson::from_value(&details).ok())
        }
        CallFault::Blocked(BlockedCall::Code(rejection)) => {
            let text = summary(&rejection);
            with_recovery(
                Error::new(code::CODE_SAFETY_VIOLATION, text),
                RawJson::from_value(&*rejection).ok(),
            )
        }
    }
}

fn summary(rejection: &CodeRejection) -> String {
    let mut text = rejection.reason.to_string();
    for (index, violation) in rejection.violations.iter().take(MAX_NAMED).enumerate() {
        text.push_str(if index == 0 { ": " } else { "; " });
        text.push_str(violation);
    }
    text
}

fn with_recovery(error: Error, details: Option<RawJson>) -> Error {
    match Recovery::for_code(error.code()) {
        Some(mut recovery) => {
            recovery.details = details;
            error.with_recovery(recovery)
        }
        None => error,
    }
}

/// How many violations the message names; the details have all.
const MAX_NAMED: usize = 4;
