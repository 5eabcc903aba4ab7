//! A step that is open: it was logged, and makes its call now.

use mgp_types::Error;
use mgp_types::canonical::Digest;
use mgp_types::ext::{StepId, TransactionId};

use super::book::TransactionBook;
use super::event::TransactionEvent;
use super::refusal;
use super::step::StepOutcome;
use super::transaction_state::StepState;
use crate::in_any_case::in_any_case;

/// A step that is carried out now. It is to be [ended](Self::end); where it is dropped instead, nobody knows how the step
/// ended, and the transaction can only be rolled back.
#[derive(Debug)]
#[must_use = "a step that is not ended is one of which nobody knows how it ended"]
pub struct OpenStep {
    pub(super) book: TransactionBook,
    pub(super) key: Digest,
    pub(super) transaction_id: TransactionId,
    pub(super) step_id: StepId,
    pub(super) progress: StepProgress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepProgress {
    /// The step is being logged; nothing was done.
    Logging,
    Running,
    Ended,
}

impl OpenStep {
    /// Returns the id of the transaction.
    pub const fn transaction_id(&self) -> &TransactionId {
        &self.transaction_id
    }

    /// Returns the id of the step.
    pub const fn step_id(&self) -> &StepId {
        &self.step_id
    }

    /// Notes how the step ended.
    ///
    /// # Errors
    /// 3001 if the log cannot be written: the step was carried out, and this process knows how to take it back, but the next
    /// one will not.
    pub async fn end(mut self, outcome: StepOutcome) -> Result<(), Error> {
        self.progress = StepProgress::Ended;
        let logging = self.settle(outcome);
        in_any_case(async move { logging.await.map_err(|error| refusal::end_not_logged(&error)) }).await
    }

    fn settle(&self, outcome: StepOutcome) -> super::book::Logging {
        let event = TransactionEvent::StepEnded { step: self.step_id.clone(), outcome: bounded(outcome) };
        let (mut table, now) = (self.book.table(), self.book.now());
        if let Some(transaction) = table.transactions.get_mut(&self.key) {
            transaction.apply(event.clone(), now);
        }
        let logging = self.book.log(self.key, now, event);
        self.book.0.changes.send_replace(());
        logging
    }
}

impl Drop for OpenStep {
    fn drop(&mut self) {
        match self.progress {
            StepProgress::Ended => {}
            StepProgress::Logging => drop(self.settle(StepOutcome::Failed)),
            StepProgress::Running => {
                let mut table = self.book.table();
                if let Some(transaction) = table.transactions.get_mut(&self.key) {
                    transaction.set(&self.step_id, StepState::Unknown);
                }
                self.book.0.changes.send_replace(());
            }
        }
    }
}

/// Returns the outcome as it is kept: a compensation that is too large is none.
fn bounded(outcome: StepOutcome) -> StepOutcome {
    match outcome {
        StepOutcome::Undoable(undo) if undo.arguments.written_bytes() > MAX_COMPENSATION_BYTES => {
            tracing::error!(tool = %undo.tool, "the arguments that take a step back are too large to be kept");
            StepOutcome::Final
        }
        outcome => outcome,
    }
}

/// The most bytes of the arguments of a compensation.
const MAX_COMPENSATION_BYTES: usize = 16 * 1024;
