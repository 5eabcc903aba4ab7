//! The error of a caller that was not let in.

use std::time::Duration;

use mgp_types::{Error, code};

use crate::refusal::{limited, refusal};

/// The reason why a caller was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// There is no key, or no known one; the caller is not told which.
    #[error("a valid key is needed")]
    Unknown,
    /// The key is right but has expired.
    #[error("the key has expired")]
    Expired,
    /// The key is right, but its owner has a reserved name.
    #[error("the owner of the key has a reserved name; have a key issued to another owner")]
    ReservedOwner,
    /// The key is used too often.
    #[error("the key is used too often")]
    TooOften {
        /// The time to wait until the key may be used again.
        wait: Duration,
    },
    /// The key does not permit the request.
    #[error("the key does not permit this")]
    NotPermitted,
}

impl From<AuthError> for Error {
    fn from(error: AuthError) -> Self {
        let code = match error {
            AuthError::Unknown | AuthError::ReservedOwner => code::AUTH_REQUIRED,
            AuthError::Expired => code::AUTH_EXPIRED,
            AuthError::NotPermitted => code::PERMISSION_DENIED,
            AuthError::TooOften { wait } => return limited(wait),
        };
        refusal(code, error.to_string())
    }
}

impl AuthError {
    /// Returns the class of the reason, for the audit trail.
    pub(super) const fn rule(self) -> &'static str {
        match self {
            Self::Unknown => "unauthenticated",
            Self::Expired => "expired",
            Self::ReservedOwner => "reserved-owner",
            Self::TooOften { .. } => "key-rate",
            Self::NotPermitted => "not-permitted",
        }
    }
}
