//! Errors of this crate with the recovery advice that MGP gives for their code.

use mgp_types::Error;

/// Returns the error `code` with the recovery advice that MGP gives for it.
pub(crate) fn refused(code: i64, message: &'static str) -> Error {
    Error::new(code, message).with_usual_recovery()
}
