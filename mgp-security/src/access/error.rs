//! The errors of reading and changing access.

use mgp_types::{Error, code};

use crate::StoreError;
use crate::refusal::refusal;

/// The reason why access was not changed or not reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// Nobody has authenticated.
    #[error("authenticate first")]
    Unauthenticated,
    /// The caller is not an operator.
    #[error("only an operator may change access")]
    NotOperator,
    /// An agent asked about another agent.
    #[error("an agent may ask about itself only")]
    NotAboutItself,
    /// The parameters are malformed or contradict each other; the text names the fault.
    #[error("{0}")]
    Malformed(&'static str),
    /// The change could not be recorded, so it was not made.
    #[error("the change could not be recorded and was not made")]
    Unrecorded(#[source] Error),
    /// The change could not be stored, so it was not made.
    #[error("the change could not be stored and was not made")]
    Store(#[from] StoreError),
}

impl From<AccessError> for Error {
    fn from(error: AccessError) -> Self {
        let code = match error {
            AccessError::Unauthenticated => code::AUTH_REQUIRED,
            AccessError::NotOperator => code::PERMISSION_DENIED,
            AccessError::NotAboutItself => code::ACCESS_DENIED,
            AccessError::Malformed(complaint) => return Self::invalid_params(complaint),
            AccessError::Unrecorded(error) => return error,
            AccessError::Store(error) => return error.into(),
        };
        refusal(code, error.to_string())
    }
}
