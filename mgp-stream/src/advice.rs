//! Errors of this crate with the recovery advice that MGP gives for their code.

use mgp_types::mgp::Recovery;
use mgp_types::{Error, code};

/// Returns `error` with the recovery advice that MGP gives for its code.
pub(crate) fn advised(error: Error) -> Error {
    match Recovery::for_code(error.code()) {
        Some(recovery) => error.with_recovery(recovery),
        None => error,
    }
}

/// Returns error 3001 (resource exhausted) for a limit that is reached.
pub(crate) fn exhausted(message: &'static str) -> Error {
    advised(Error::new(code::RESOURCE_EXHAUSTED, message))
}
