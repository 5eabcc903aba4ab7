//! The port to whoever makes the calls that take steps back.

use std::future::ready;

use mgp_types::ext::{Compensation, IdempotencyKey, StepId, TransactionId};
use mgp_types::{BoxFuture, Error, Principal};

use super::refusal;
use super::step::{StepCall, StepOutcome};

/// Makes the calls that take steps back.
///
/// The calls are made one after the other, and each in the name of the one that began the transaction: whoever makes them
/// holds them to what that one may do now.
pub trait Compensator: Send + Sync + 'static {
    /// Makes a call that takes a step back. The call may come twice, with the same key, and is to have its effect once; a call
    /// that may have been made before [says so](CompensationCall::was_begun).
    fn compensate(&self, call: CompensationCall) -> BoxFuture<'_, Result<(), Error>>;

    /// Finds out how a step ended whose answer was lost, perhaps by making its call again with the same key.
    ///
    /// # Errors
    /// Nobody knows, or the question fails for now; the step is told as not taken back.
    fn resolve(&self, step: InterruptedStep) -> BoxFuture<'_, Result<StepOutcome, Error>> {
        drop(step);
        Box::pin(ready(Err(refusal::unknown_step())))
    }
}

/// A call that takes a step back.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompensationCall {
    /// The principal that began the transaction.
    pub owner: Principal,
    /// The transaction.
    pub transaction_id: TransactionId,
    /// The step that is taken back.
    pub step_id: StepId,
    /// The call of the step.
    pub step: StepCall,
    /// The call to make.
    pub compensation: Compensation,
    /// The key of the call to make.
    pub key: IdempotencyKey,
    /// True if the call may have been made before: a process died while it made the call, or could not log its end.
    pub was_begun: bool,
}

/// A step whose answer was lost.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InterruptedStep {
    /// The principal that began the transaction.
    pub owner: Principal,
    /// The transaction.
    pub transaction_id: TransactionId,
    /// The step.
    pub step_id: StepId,
    /// The call of the step.
    pub step: StepCall,
}
