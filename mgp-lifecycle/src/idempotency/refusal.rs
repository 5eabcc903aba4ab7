//! The errors of calls whose key stands in their way.

use std::time::Duration;

use mgp_types::mgp::{Recovery, Timestamp};
use mgp_types::{Error, Object, RawJson, code};

use crate::refusal::{in_words, timed_out, unsent};
use crate::store::StoreError;

/// Returns 4020 for a call with other arguments than the first one with its key.
pub(super) fn other_arguments(begun_at: Timestamp) -> Error {
    conflict(
        "the idempotency key stands for a call with other arguments; give each call a key of its own",
        "other_arguments",
        begun_at,
    )
}

/// Returns 4020 for a call of which nobody knows whether it was carried out.
pub(super) fn unknown_outcome(begun_at: Timestamp) -> Error {
    conflict(
        "a call with this idempotency key was begun, and nobody knows how it ended; \
         find out whether it had its effect, and call again with a new key if it had not",
        "outcome_unknown",
        begun_at,
    )
}

/// Returns 4020 for a call that was carried out, and whose result was too large to be kept.
pub(super) fn result_not_kept(begun_at: Timestamp) -> Error {
    conflict(
        "the call with this idempotency key was carried out, and its result is too large to be told again",
        "result_not_kept",
        begun_at,
    )
}

fn conflict(message: &'static str, reason: &str, begun_at: Timestamp) -> Error {
    let begun_at = RawJson::from_text(&begun_at.to_string());
    let details = Object::from([("reason", RawJson::from_text(reason)), ("original_timestamp", begun_at)]);
    let advice = Recovery::for_code(code::IDEMPOTENCY_CONFLICT).unwrap_or_default();
    in_words(Error::new(code::IDEMPOTENCY_CONFLICT, message).with_recovery(advice.with_details(&details)))
}

/// Returns 3001 for a call with a new key where no more keys are remembered.
pub(super) fn no_room(wait: Duration) -> Error {
    in_words(unsent(
        code::RESOURCE_EXHAUSTED,
        "too many idempotency keys are remembered; wait until one expires, and give keys a shorter time",
        wait,
    ))
}

/// Returns 3003 for a call that waited too long for the first one with its key.
pub(super) fn still_running() -> Error {
    in_words(timed_out(
        "a call with this idempotency key is still running; make the call again later, with the same key",
    ))
}

/// Returns the error of a call whose outcome could not be read from the store.
pub(super) fn not_read(error: &StoreError) -> Error {
    tracing::error!(%error, "the outcome of a call cannot be read");
    Error::internal("the outcome of the call cannot be read; the operator has to look at the store")
}
