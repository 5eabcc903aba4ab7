//! The gate that checks the arguments of requests with the validators of their tool.

use std::sync::Arc;

use mgp_types::mgp::{CallSource, CodeRejection, EventType, Recovery, Refusal};
use mgp_types::{AskedRule, Error, Flow, Gate, GateKind, RawJson, Request, code};
use serde::Serialize;

use super::call::{BlockedCall, Located};
use super::prepared::{CheckedArguments, PreparedToolCache};
use super::standard::Validators;
use crate::Finding;
use crate::path::{CallFolders, UNASKED, declared_roots};
use crate::refusal::refusal;

/// A gate that checks the arguments of tool calls, and of other operations that are judged like calls, before they are
/// forwarded: first against the schema of the tool, then with the validators that the security of the tool requires
/// (MGP §4.5).
///
/// The gate stands inside the layer that resolves the tool, and outside the gates of permission and confirmation, so
/// that people are only asked about arguments that passed. It reads `context.tool` of calls and `context.operation` of
/// other judged operations, and refuses requests without them. It writes `context.converted` and `context.effect`, and
/// records in the trail which validators were applied and the reason of a refusal. The bytes that were checked are the
/// bytes that are forwarded. The gate waits only where a path has to be judged by the roots of the client, and asks the
/// client for them.
#[derive(Debug, Clone)]
#[must_use]
pub struct ValidateGate {
    validators: Arc<Validators>,
    prepared: Arc<PreparedToolCache>,
    has_loose_types: bool,
    has_named_roots: bool,
}

impl ValidateGate {
    /// Creates a gate that checks with these validators, and demands that each argument has the type of its schema.
    pub fn new(validators: Validators) -> Self {
        Self {
            validators: Arc::new(validators),
            prepared: Arc::default(),
            has_loose_types: false,
            has_named_roots: false,
        }
    }

    mgp_types::setters! { self =>
        /// Lets arguments pass, unchanged, that a server would convert: `"5"` for a number, a single item for a list,
        /// JSON in a string, or `null` for an optional argument. Validators see such arguments in both forms.
        pub fn with_loose_types() => self.has_loose_types = true;

        /// Takes no file that a call may read for one outside the folders of the client: the operator named the folders
        /// of all clients.
        pub fn with_named_roots() => self.has_named_roots = true;
    }

    /// Judges the arguments, and notes which validators were applied. `is_asked` says whether the client was asked for
    /// its roots.
    fn judge(&self, request: &Request, is_asked: bool) -> Judged {
        let Some(judged) = request.judged_by(GateKind::Validators)? else {
            return Ok(Ok(CheckedArguments::default()));
        };
        let tool = judged.tool;
        let prepared = self.prepared.prepared(tool, &self.validators);
        if let Some(trail) = &request.context.trail {
            trail.note_validated(tool);
        }
        let folders = CallFolders::of(&request.context, is_asked, self.has_named_roots);
        Ok(prepared.check(judged.arguments().as_ref(), self.has_loose_types, folders))
    }

    /// Judges arguments that take long, or that depend on the roots of the client, while other requests go on.
    async fn judge_waiting(self, request: Request, judged: Option<Judged>) -> (Request, Flow) {
        let (mut request, mut judged) = match judged {
            Some(judged) => (request, judged),
            None => self.clone().judge_beside(request, false).await,
        };
        if is_unasked(&judged) {
            if let Some(folders) = request.context.folders.clone() {
                let question = folders.question();
                folders.set_roots(&question, declared_roots(&request.context).await);
            }
            (request, judged) = self.judge_beside(request, true).await;
        }
        let flow = decided(&mut request, judged).into();
        (request, flow)
    }

    /// Judges the arguments on a thread that nobody else waits for.
    async fn judge_beside(self, mut request: Request, is_asked: bool) -> (Request, Judged) {
        let judging = tokio::task::spawn_blocking({
            let request = request.take();
            move || {
                let judged = self.judge(&request, is_asked);
                (request, judged)
            }
        });
        judging
            .await
            .unwrap_or_else(|_| (request, Err(Error::internal("the arguments could not be checked"))))
    }
}

impl Gate for ValidateGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let is_long = request.params.bytes("arguments").is_some_and(|bytes| bytes.len() > MAX_AT_ONCE_BYTES);
        let judged = if is_long { None } else { Some(self.judge(request, false)) };
        match judged {
            Some(judged) if !is_unasked(&judged) => decided(request, judged).into(),
            judged => Flow::wait(self.clone().judge_waiting(request.take(), judged)),
        }
    }

    /// Judges arguments of any length at once, and does not ask the client for its roots.
    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        let judged = self.judge(request, false);
        let effect = decided(request, judged).map(|()| request.context.effect);
        let phrase = effect.map(|effect| effect.map(|effect| format!("the call {}", effect.phrase())));
        answers.push(AskedRule::judged("arguments", phrase.map(Option::unwrap_or_default)));
    }
}

/// The outcome of a check of arguments.
type Judged = Result<Result<CheckedArguments, BlockedCall>, Error>;

fn is_unasked(judged: &Judged) -> bool {
    matches!(judged, Ok(Err(BlockedCall::Argument(located))) if located.finding.rule == UNASKED)
}

/// The length of arguments up to which they are checked at once, in bytes.
const MAX_AT_ONCE_BYTES: usize = 16 * 1024;

fn decided(request: &mut Request, judged: Judged) -> Result<(), Error> {
    let checked = judged?.map_err(|wrong| {
        let (refusal, error) = refused(wrong);
        request.context.note_refusal(refusal);
        error
    })?;
    request.context.converted = checked.converted;
    request.context.effect = checked.effect;
    request.context.command = checked.command;
    // What was found in the definition of the tool counts, whatever the call takes in.
    let orders = request.context.source.filter(|source| *source == CallSource::Orders);
    request.context.source = orders.or(checked.source);
    Ok(())
}

/// Returns the refusal for the trail, and the error for the caller: it names the argument and says what to do instead.
fn refused(wrong: BlockedCall) -> (Refusal, Error) {
    match wrong {
        BlockedCall::Schema(violation) => (
            Refusal::new("validate", "schema").with_event(EventType::ValidationFailed),
            refusal(code::INVALID_TOOL_ARGS, violation.to_string()),
        ),
        BlockedCall::Argument(Located { finding: Finding { rule, message, .. }, pointer }) => {
            let text = match pointer.as_deref().filter(|pointer| !pointer.is_empty()) {
                Some(pointer) => format!("argument `{pointer}` is blocked ({rule}): {message}"),
                None => format!("the call is blocked ({rule}): {message}"),
            };
            let details = serde_json::json!({ "rule": rule, "argument": pointer, "advice": message });
            let noted = Refusal::new("validate", rule).with_event(EventType::ValidationFailed);
            (noted, with_details(code::VALIDATION_BLOCKED, text, &details))
        }
        BlockedCall::Code(rejection) => (
            Refusal::new("code-safety", "code-rejected").with_event(EventType::CodeRejected),
            with_details(code::CODE_SAFETY_VIOLATION, summary(&rejection), &*rejection),
        ),
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

fn with_details(code: i64, message: String, details: &impl Serialize) -> Error {
    let mut recovery = Recovery::for_code(code).unwrap_or_default();
    recovery.details = RawJson::from_value(details).ok();
    Error::new(code, message).with_recovery(recovery)
}

/// The largest number of code violations that the message of an error names; its details hold all of them.
const MAX_NAMED: usize = 4;
