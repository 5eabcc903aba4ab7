//! Errors of this crate with the recovery advice that MGP gives for their code.

use mgp_types::Error;
use mgp_types::mgp::Recovery;

/// Returns `error` with the recovery advice that MGP gives for its code.
pub(crate) fn advised(error: Error) -> Error {
    match Recovery::for_code(error.code()) {
        Some(recovery) => error.with_recovery(recovery),
        None => error,
    }
}

/// Returns the error `code` with the recovery advice that MGP gives for it.
pub(crate) fn refused(code: i64, message: &'static str) -> Error {
    advised(Error::new(code, message))
}
