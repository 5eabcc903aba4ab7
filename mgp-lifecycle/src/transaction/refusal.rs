//! The errors of transactions.

use std::time::Duration;

use mgp_types::ext::TransactionId;
use mgp_types::mgp::Recovery;
use mgp_types::{Error, code};

use crate::refusal::{in_words, unsent};
use crate::store::StoreError;

/// Returns 2020 for a transaction that does not exist, is over, or belongs to another caller.
pub(super) fn not_found(id: &TransactionId) -> Error {
    refusal(code::TRANSACTION_NOT_FOUND, format!("there is no open transaction {id}"))
}

/// Returns 2022 for a transaction that was rolled back because nothing happened.
pub(super) fn expired(id: &TransactionId) -> Error {
    let message = format!(
        "the transaction {id} had no step for too long and is rolled back; transaction/status tells more"
    );
    refusal(code::TRANSACTION_EXPIRED, message)
}

/// Returns 2021 for a transaction that is about something else.
pub(super) fn busy(id: &TransactionId, with_what: &str) -> Error {
    conflict(format!("the transaction {id} {with_what}"))
}

/// Returns 2021 with a message.
pub(super) fn conflict(message: impl Into<String>) -> Error {
    refusal(code::TRANSACTION_CONFLICT, message.into())
}

fn refusal(code: i64, message: String) -> Error {
    in_words(Error::new(code, message).with_usual_recovery())
}

/// Returns 3001 for a caller that has too many transactions, or a transaction with too many steps.
pub(super) fn too_many(what: &'static str) -> Error {
    in_words(unsent(code::RESOURCE_EXHAUSTED, what, Duration::from_mins(1)))
}

/// The message about something that could not be logged, and so was not done.
pub(super) const NOT_LOGGED: &str = "the log of transactions cannot be written";

/// Returns the error of a step that ended, whose end could not be logged.
pub(super) fn end_not_logged(error: &StoreError) -> Error {
    let message = format!("the step has ended, but its end is not in the log of transactions: {error}");
    let advice = Recovery::default().with_retryable(false);
    in_words(Error::new(code::RESOURCE_EXHAUSTED, message).with_recovery(advice))
}

/// Returns the error of a rollback that stops because what it did, or does next, cannot be logged.
pub(super) fn rollback_not_logged(error: &StoreError) -> Error {
    tracing::error!(%error, "a rollback cannot be logged");
    let message = format!(
        "the rollback was interrupted because the log of transactions cannot be written: {error}; roll it back again then"
    );
    refusal(code::RESOURCE_EXHAUSTED, message)
}

/// Returns the error of a step of which nobody knows how it ended.
pub(super) fn unknown_step() -> Error {
    conflict(
        "the step was interrupted, and nobody knows whether it had its effect; look, and take it back by hand",
    )
}
