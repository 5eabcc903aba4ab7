use mgp_types::mgp::{CodeRejection, Recovery, ServerId};
use mgp_types::{Error, Object, code};

/// Why a server was not registered, approved or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Nobody has authenticated.
    #[error("authenticate first")]
    Unauthenticated,
    /// The caller may not do this, or nobody may.
    #[error("{0}")]
    Forbidden(String),
    /// The parameters are not those of a server.
    #[error("{0}")]
    Malformed(String),
    /// There is a server of this id.
    #[error("a server {0:?} is there already: choose another id")]
    Taken(ServerId),
    /// There are as many registered servers as there may be.
    #[error("no more than {0} servers may be registered at once: deregister one first")]
    Full(usize),
    /// There is no such server that the caller could ask for.
    #[error("no server {0:?} was registered here by you; those of the configuration are changed there")]
    Unknown(ServerId),
    /// Another change of the same server is under way.
    #[error("another change of the server {0:?} is under way: try again")]
    Busy(ServerId),
    /// The code of a sandboxed server does what it may not.
    #[error(transparent)]
    Code(Box<CodeRejection>),
    /// The code is another one than was approved, or shown to whoever approves it.
    #[error(
        "the code of the server {id:?} has changed ({}): it is held back; `mgp registrations list --waiting` shows it, \
         and `mgp registrations approve {id}` starts it as it is now", .files.join(", ")
    )]
    Changed {
        /// The server.
        id: ServerId,
        /// The files that are new, gone or changed.
        files: Vec<String>,
    },
    /// The change could not be recorded, so it was not made.
    #[error("the change could not be recorded and was not made")]
    Unrecorded(#[source] Error),
    /// The change could not be stored, so it was not made.
    #[error("the change could not be stored and was not made")]
    Store(#[from] StoreError),
    /// The server could not be stopped or started.
    #[error("{}", .0.message())]
    Fleet(#[source] Error),
}

impl From<RegistryError> for Error {
    fn from(error: RegistryError) -> Self {
        let code = match error {
            RegistryError::Unauthenticated => code::AUTH_REQUIRED,
            RegistryError::Forbidden(_) => code::PERMISSION_DENIED,
            RegistryError::Malformed(_) | RegistryError::Unknown(_) => code::INVALID_PARAMS,
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
        let told = Self::new(code, error.to_string());
        match Recovery::for_code(code) {
            Some(recovery) => told.with_recovery(recovery),
            None => told,
        }
    }
}

/// 1011, with what was found where readers of recovery fields look for it.
fn rejected(rejection: &CodeRejection) -> Error {
    let details = Object::from_value(rejection).unwrap_or_default();
    let recovery = Recovery::for_code(code::CODE_SAFETY_VIOLATION).unwrap_or_default();
    Error::new(code::CODE_SAFETY_VIOLATION, rejection.to_string())
        .with_recovery(recovery.with_details(&details))
}

/// Why a store could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A newer version of this program wrote the store; reading it by guess could lose what it added.
    #[error("the registry has schema {found}, this version knows up to {known}: update mgp")]
    Newer {
        /// The version found.
        found: u32,
        /// The last version known here.
        known: u32,
    },
    /// Another process has the store open.
    #[error("another mgp has the registry open; stop it, or give this one a registry of its own")]
    InUse,
    /// There is no room left.
    #[error("the disk is full; free some space")]
    Full,
    /// What is stored is not what was written.
    #[error("the registry is damaged: {0}")]
    Damaged(String),
    /// The store cannot be reached.
    #[error("the registry cannot be used")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}
