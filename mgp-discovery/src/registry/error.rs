//! Errors of the registry.

use mgp_store::StoreError;
use mgp_types::mgp::{CodeRejection, Recovery, ServerId};
use mgp_types::{Error, Object, code};

use super::RegistrationId;

/// The outcome of what the registry does.
pub(super) type Result<T, E = RegistryError> = std::result::Result<T, E>;

/// The reason why a server was not registered, approved or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The caller is not authenticated.
    #[error("authenticate first")]
    Unauthenticated,
    /// The caller may not do this, or no caller may.
    #[error("{0}")]
    Forbidden(String),
    /// The parameters do not describe a server.
    #[error("{0}")]
    Malformed(String),
    /// A server of this id exists.
    #[error("a server {0:?} exists already: choose another id")]
    Taken(ServerId),
    /// The limit of registered servers is reached.
    #[error("no more than {0} servers may be registered at once: deregister one first")]
    Full(usize),
    /// The caller knows no such server.
    #[error("no server {0:?} was registered here by you; those of the configuration are changed there")]
    Unknown(ServerId),
    /// No registration waits under this id: it was decided about, or has changed since.
    #[error("no registration `{}` waits for approval, or not any more: list them again", .0.as_str())]
    NotWaiting(RegistrationId),
    /// Another change of the same server is in progress.
    #[error("another change of the server {0:?} is in progress: try again")]
    Busy(ServerId),
    /// The code of a sandboxed server does something that is not allowed.
    #[error(transparent)]
    Code(Box<CodeRejection>),
    /// The code differs from the code that was approved, or shown for approval.
    #[error(
        "the code of the server {id:?} has changed ({}): it is held back; `mgp registrations list --waiting` shows it, \
         and the id by which `mgp registrations approve` starts it as it is now", .files.join(", ")
    )]
    Changed {
        /// The id of the server.
        id: ServerId,
        /// The files that are new, gone or changed.
        files: Vec<String>,
    },
    /// The change could not be recorded, so that it was not made.
    #[error("the change could not be recorded and was not made")]
    Unrecorded(#[source] Error),
    /// The change could not be stored, so that it was not made.
    #[error("the change could not be stored and was not made")]
    Store(#[from] StoreError),
    /// The server could not be stopped or started.
    #[error("{}", .0.message())]
    Fleet(#[source] Error),
}

mgp_types::convert!(RegistryError => Error, error => {
    let code = match error {
        RegistryError::Unauthenticated => code::AUTH_REQUIRED,
        RegistryError::Forbidden(_) => code::PERMISSION_DENIED,
        RegistryError::Malformed(_) | RegistryError::Unknown(_) | RegistryError::NotWaiting(_) => {
            code::INVALID_PARAMS
        }
        RegistryError::Taken(_) => code::SERVER_ALREADY_REGISTERED,
        RegistryError::Full(_) | RegistryError::Store(StoreError::Full) => code::RESOURCE_EXHAUSTED,
        RegistryError::Busy(_) => code::SERVER_NOT_READY,
        RegistryError::Changed { .. } => code::CODE_SAFETY_VIOLATION,
        RegistryError::Code(rejection) => return rejected(&rejection),
        RegistryError::Unrecorded(error) | RegistryError::Fleet(error) => return error,
        RegistryError::Store(error) => {
            return Self::internal("the change could not be stored and was not made").with_source(error);
        }
    };
    Recovery::for_code(code).into_iter().fold(Self::new(code, error.to_string()), Self::with_recovery)
});

/// Returns error 1011, with the findings where readers of recovery fields look for them.
fn rejected(rejection: &CodeRejection) -> Error {
    let details = Object::from_value(rejection).unwrap_or_default();
    let recovery = Recovery::for_code(code::CODE_SAFETY_VIOLATION).unwrap_or_default();
    Error::new(code::CODE_SAFETY_VIOLATION, rejection.to_string())
        .with_recovery(recovery.with_details(&details))
}
