use mgp_types::mgp::Recovery;
use mgp_types::{Error, code};

/// An error of MGP with what is true of every error with its code.
pub(crate) fn advised(error: Error) -> Error {
    match Recovery::for_code(error.code()) {
        Some(recovery) => error.with_recovery(recovery),
        None => error,
    }
}

/// 3001: as much is kept as may be.
pub(crate) fn exhausted(message: &'static str) -> Error {
    advised(Error::new(code::RESOURCE_EXHAUSTED, message))
}
