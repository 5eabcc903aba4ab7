use std::time::Duration;

use mgp_types::{Error, code};

use crate::refusal::{limited, refusal};

/// Why a caller was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// There is no key, or none that is known. Which of the two is not told.
    #[error("a valid key is needed")]
    Unknown,
    /// The key was right and is over.
    #[error("the key has expired")]
    Expired,
    /// The key is right, and its owner has a name by which somebody else is known.
    #[error("the owner of the key has a reserved name; have a key issued to another owner")]
    ReservedOwner,
    /// The key is used too often.
    #[error("the key is used too often")]
    TooOften {
        /// How long to wait.
        wait: Duration,
    },
    /// The key does not permit what is asked for.
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
    /// The class of the reason, for the audit trail.
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
