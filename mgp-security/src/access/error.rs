use mgp_types::{Error, code};

use crate::StoreError;
use crate::refusal::refusal;

/// Why access was not changed or told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// Nobody has authenticated.
    #[error("authenticate first")]
    Unauthenticated,
    /// The caller is no operator.
    #[error("only an operator may change access")]
    NotOperator,
    /// An agent asks about another one.
    #[error("an agent may ask about itself only")]
    NotAboutItself,
    /// The parameters contradict each other.
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
