//! The HTTP status behind an error, and lost sessions.

use mgp_types::{Error, Origin, code};

/// The HTTP status behind an error, kept as the error's source.
///
/// The era of a server, and its wish for authorization, can only be told from the status.
///
/// ```
/// # use mgp_transport::http::HttpStatus;
/// # fn judge(error: &mgp_types::Error) -> bool {
/// HttpStatus::of(error).is_some_and(|status| status.code() == 401)
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the server answered with HTTP status {code}")]
pub struct HttpStatus {
    code: u16,
    challenges: Box<[Box<str>]>,
}

/// The source of an error: the server no longer knows the session, because it answered 404 to a request that named one.
///
/// The error has [`Origin::Connection`]; the session has to be opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server no longer knows the session")]
#[non_exhaustive]
pub struct SessionLost;

const MAX_CHALLENGES: usize = 16;

impl HttpStatus {
    pub(super) fn new(status: http::StatusCode, headers: &http::HeaderMap) -> Self {
        let challenges = headers
            .get_all(http::header::WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .take(MAX_CHALLENGES)
            .map(Into::into)
            .collect();
        Self { code: status.as_u16(), challenges }
    }

    /// Returns the status behind `error`, if a server answered with one.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// Returns the status, like 404.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Returns the `WWW-Authenticate` headers, in order.
    pub fn challenges(&self) -> impl Iterator<Item = &str> {
        self.challenges.iter().map(|challenge| &**challenge)
    }

    /// Returns the error for an answer whose body is not one of the protocol.
    pub(super) fn into_error(self) -> Error {
        let message = format!("the server answered with HTTP status {}", self.code);
        let error = match self.code {
            // A proxy answered, or the server is busy: the request has no answer yet.
            408 | 429 | 502..=504 => Error::disconnected(message),
            _ => Error::misbehaved(message),
        };
        error.with_source(self)
    }
}

impl SessionLost {
    /// Returns whether `error` means that the session has to be opened again.
    pub fn is_behind(error: &Error) -> bool {
        std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<Self>)
    }

    pub(super) fn into_error(self) -> Error {
        let message = "the server no longer knows the session";
        Error::from_origin(Origin::Connection, code::UPSTREAM_UNAVAILABLE, message).with_source(self)
    }
}
