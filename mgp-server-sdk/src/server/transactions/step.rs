//! How a step ended: what its result says, and what takes it back.

use mgp_lifecycle::transaction::{OpenStep, StepOutcome};
use mgp_types::ext::transaction::{StepResult, StepStatus};
use mgp_types::ext::{Compensation, StructuredError};
use mgp_types::{CallEnding, Error, Origin, Response};

use crate::cx::StepUndo;
use crate::tool::ToolEntry;

/// Returns how a step that called `tool` ended; `None` where nobody knows.
pub(super) fn outcome(
    outcome: &Result<Response, Error>,
    undo: &StepUndo,
    tool: Option<&ToolEntry>,
) -> Option<StepOutcome> {
    if let (Some(arguments), Some(undoing)) = (undo.0.lock().take(), tool.and_then(ToolEntry::undone_by)) {
        // A handler that says how its effect is taken back has had one, however it ends.
        return Some(StepOutcome::Undoable(Compensation::new(undoing, arguments)));
    }
    match outcome {
        Ok(response) if response.result.ending() != CallEnding::Done => Some(StepOutcome::Failed),
        Ok(_) if tool.is_some_and(ToolEntry::is_read_only) => Some(StepOutcome::Harmless),
        Ok(_) => Some(StepOutcome::Final),
        Err(error) if matches!(error.origin(), Origin::Local | Origin::Peer | Origin::InputRequired) => {
            Some(StepOutcome::Failed)
        }
        Err(_) => None,
    }
}

/// Writes into the result of a call what it has to do with its transaction.
pub(super) fn tell(response: &mut Response, open: &OpenStep, outcome: &StepOutcome) {
    let status = match response.result.ending() {
        CallEnding::Done => StepStatus::Ok,
        CallEnding::Failed => StepStatus::Failed,
        CallEnding::Asking => return,
    };
    let mut word = StepResult::new(open.transaction_id().clone(), open.step_id().clone(), status);
    if let StepOutcome::Undoable(compensation) = outcome {
        word.compensation = Some(compensation.clone());
    }
    response.change_meta(|meta| {
        if status == StepStatus::Failed {
            word.error = meta.get("error").and_then(|error| StructuredError::read(&error));
        }
        word.write(meta);
    });
}
