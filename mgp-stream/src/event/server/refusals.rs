//! The errors of requests about subscriptions.

use mgp_types::{Error, code};

use crate::advice::advised;

/// Returns the error for a subscription that never was, or belongs to another client.
pub(super) fn unknown() -> Error {
    advised(Error::new(code::RESOURCE_NOT_FOUND, "no such subscription"))
}

/// Returns the error for an id that the client has chosen before.
pub(super) fn taken() -> Error {
    let message = "there is a subscription with this id: end it first, or choose another id";
    advised(Error::new(code::SUBSCRIPTION_CONFLICT, message))
}

/// Returns the error for a client that has as much as it may.
pub(super) fn over_quota(message: &'static str) -> Error {
    advised(Error::new(code::QUOTA_EXCEEDED, message))
}
