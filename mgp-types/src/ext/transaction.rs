//! Calls that are taken back together: the messages of transactions.

use serde::Deserialize;

use super::idempotency::id_in;
use super::{
    Compensation, ErrorClass, StepId, StructuredError, TransactionId, nearest_seconds, seconds, written,
};
use crate::macros::record;
use crate::macros::words::words;
use crate::mgp::Timestamp;
use crate::{Error, Object, RawJson};

/// The method that opens a transaction.
pub const BEGIN: &str = "transaction/begin";
/// The method that ends a transaction and keeps its effects.
pub const COMMIT: &str = "transaction/commit";
/// The method that ends a transaction and takes its effects back.
pub const ROLLBACK: &str = "transaction/rollback";
/// The method that tells how a transaction stands, for a day after its end.
pub const STATUS: &str = "transaction/status";

/// The most bytes of a description, and of a reason.
pub const MAX_WORDS_BYTES: usize = 1024;

const META: &str = "transaction";
const DEFAULT_TIMEOUT_SECONDS: u32 = 300;
const MAX_TIMEOUT_SECONDS: u32 = 3600;

record! {
    /// The params of `transaction/begin`.
    pub struct BeginTransaction: Eq {
        /// The id of the new transaction.
        required transaction_id: TransactionId;
        /// The time in seconds without a call after which the transaction is rolled back, from one to an hour. A number
        /// beyond that is read as the nearest one.
        #[serde(default = "seconds::<DEFAULT_TIMEOUT_SECONDS>")]
        #[serde(deserialize_with = "nearest_seconds::<MAX_TIMEOUT_SECONDS, _>")]
        plain timeout_seconds: u32 = DEFAULT_TIMEOUT_SECONDS;
        /// The purpose of the transaction, in words.
        optional description: Box<str>;
    }

    /// The params of the methods that name a transaction and say no more: `transaction/commit` and `transaction/status`.
    pub struct NamedTransaction as exhaustive: Eq {
        /// The id of the transaction.
        plain transaction_id: TransactionId;
    }

    /// The params of `transaction/rollback`.
    pub struct RollbackTransaction: Eq {
        /// The id of the transaction.
        required transaction_id: TransactionId;
        /// The reason in words.
        optional reason: Box<str>;
    }

    /// The result of `transaction/begin`.
    pub struct TransactionBegun: Eq {
        /// The id of the transaction.
        required transaction_id: TransactionId;
        /// The word `begun`.
        plain status: Box<str> = "begun".into();
        /// The moment at which the transaction is rolled back if nothing happens.
        required expires_at: Timestamp;
    }

    /// The result of `transaction/commit`.
    pub struct TransactionCommitted: Eq {
        /// The id of the transaction.
        required transaction_id: TransactionId;
        /// The state, which is [`Committed`](TransactionState::Committed).
        plain status: TransactionState = TransactionState::Committed;
        /// The number of steps that were carried out.
        required steps_completed: usize;
    }

    /// The report about one step that was to be taken back.
    pub struct CompensatedStep {
        /// The id of the step.
        plain step_id: StepId;
        /// The outcome.
        plain status: CompensationStatus;
        /// The reason why the step was not taken back. A peer may write it as plain text.
        #[serde(deserialize_with = "error_or_text")]
        optional error: StructuredError;
    }

    /// The result of `transaction/rollback`, and of `transaction/status`.
    pub struct TransactionReport {
        /// The id of the transaction.
        required transaction_id: TransactionId;
        /// The state; some servers do not write it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        required status: into Option<TransactionState>;
        /// The steps that were to be taken back, the last one first.
        default steps_compensated: Vec<CompensatedStep>;
        /// The reason of the rollback.
        optional reason: Box<str>;
        /// The moment at which an active transaction is rolled back if nothing happens.
        optional expires_at: Timestamp;
    }

    /// The word of a server about a step, in the metadata of its result.
    pub struct StepResult {
        /// The id of the transaction.
        required transaction_id: TransactionId;
        /// The id of the step.
        required step_id: StepId;
        /// The outcome; some servers do not write it where the step was carried out.
        #[serde(default = "carried_out")]
        required status: StepStatus;
        /// The call that takes the step back.
        optional compensation: Compensation;
        /// The reason why the step failed.
        #[serde(deserialize_with = "error_or_text")]
        optional error: StructuredError;
    }
}

impl BeginTransaction {
    crate::setters! { #[must_use] self =>
        /// Sets the time in seconds without a call after which the transaction is rolled back.
        pub fn with_timeout_seconds(seconds: u32) =>
            self.timeout_seconds = seconds.clamp(1, MAX_TIMEOUT_SECONDS);
    }
}

words! {
    /// The state of a transaction.
    TransactionState {
        /// The transaction takes steps.
        Active = "active",
        /// The effects of all steps are kept.
        Committed = "committed",
        /// The steps are being taken back.
        RollingBack = "rolling_back",
        /// All steps that had an effect were taken back.
        RolledBack = "rolled_back",
        /// A step could not be taken back, and somebody has to look after it.
        PartiallyRolledBack = "partially_rolled_back",
    }

    /// The outcome of taking a step back.
    CompensationStatus {
        /// The step was taken back.
        Compensated = "compensated",
        /// The step was not taken back: its effect is still there, or nobody knows.
        CompensationFailed = "compensation_failed",
    }

    /// The outcome of a step.
    StepStatus {
        /// The step was carried out.
        Ok = "ok",
        /// The step failed; its client decides what happens to the others.
        Failed = "failed",
    }
}

impl TransactionState {
    /// Returns whether nothing changes any more.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Committed | Self::RolledBack | Self::PartiallyRolledBack)
    }
}

impl CompensatedStep {
    /// Creates the report about a step that was taken back.
    pub const fn compensated(step_id: StepId) -> Self {
        Self { step_id, status: CompensationStatus::Compensated, error: None }
    }

    /// Creates the report about a step that was not taken back.
    pub const fn failed(step_id: StepId, error: StructuredError) -> Self {
        Self { step_id, status: CompensationStatus::CompensationFailed, error: Some(error) }
    }
}

fn error_or_text<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<StructuredError>, D::Error> {
    let Some(error) = Option::<RawJson>::deserialize(deserializer)? else { return Ok(None) };
    Ok(StructuredError::read(&error).or_else(|| {
        let text = error.to_text()?;
        Some(StructuredError::new("SERVER_ERROR", ErrorClass::Permanent, text))
    }))
}

impl TransactionReport {
    /// Returns the steps that were not taken back.
    pub fn failures(&self) -> impl Iterator<Item = &CompensatedStep> {
        self.steps_compensated.iter().filter(|step| step.status == CompensationStatus::CompensationFailed)
    }
}

/// The place of a call in a transaction, in the metadata of its params.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "closed by the specification")]
pub struct TransactionStep {
    /// The id of the transaction.
    pub transaction_id: TransactionId,
    /// The id of the step; the server chooses one where the call has none.
    pub step_id: Option<StepId>,
}

impl TransactionStep {
    /// Reads the place in the metadata of a call; `None` if the call belongs to no transaction.
    ///
    /// # Errors
    ///
    /// An id of another form is an error for the caller: a step that is overlooked would not be taken back.
    pub fn read(meta: &Object) -> Result<Option<Self>, Error> {
        let Some(transaction_id) = id_in(meta, "transaction_id")? else { return Ok(None) };
        Ok(Some(Self { transaction_id, step_id: id_in(meta, "step_id")? }))
    }

    /// Writes the place into the metadata of a call.
    pub fn write(&self, meta: &mut Object) {
        meta.set("transaction_id", RawJson::from_text(self.transaction_id.as_str()));
        if let Some(step_id) = &self.step_id {
            meta.set("step_id", RawJson::from_text(step_id.as_str()));
        }
    }
}

const fn carried_out() -> StepStatus {
    StepStatus::Ok
}

impl StepResult {
    /// Reads the word about the step in the metadata of a result.
    ///
    /// # Errors
    ///
    /// A word of another form is an error: a compensation that is overlooked would never run.
    pub fn read(meta: &Object) -> Result<Option<Self>, Error> {
        let Some(step) = meta.get(META) else { return Ok(None) };
        step.to().map(Some).map_err(|error| {
            Error::misbehaved("the server's `_meta.transaction` is not that of a step").with_source(error)
        })
    }

    /// Writes the word about the step into the metadata of a result.
    pub fn write(&self, meta: &mut Object) {
        meta.set(META, written(self));
    }
}

#[cfg(test)]
mod tests;
