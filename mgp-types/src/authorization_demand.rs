//! The demand for authorization that an error carries to the HTTP server.

/// The source of an error: the request needs authorization that its sender has not shown.
///
/// The HTTP server answers such a request with the status and the challenge (`WWW-Authenticate`), in both eras; other
/// transports answer with the error alone.
///
/// ```
/// use mgp_types::{AuthorizationDemand, Error, code};
///
/// let demand = AuthorizationDemand::insufficient_scope(r#"Bearer error="insufficient_scope", scope="files:write""#);
/// let error = Error::new(code::PERMISSION_DENIED, "the token lacks the scope files:write").with_source(demand);
/// assert_eq!(AuthorizationDemand::of(&error).map(AuthorizationDemand::status), Some(403));
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the request needs authorization (HTTP status {status})")]
pub struct AuthorizationDemand {
    status: u16,
    challenge: Box<str>,
}

impl AuthorizationDemand {
    /// Returns the demand for a token, or for another one (401).
    pub fn unauthorized(challenge: impl Into<Box<str>>) -> Self {
        Self { status: 401, challenge: challenge.into() }
    }

    /// Returns the demand for a token with more scopes (403).
    pub fn insufficient_scope(challenge: impl Into<Box<str>>) -> Self {
        Self { status: 403, challenge: challenge.into() }
    }

    /// Returns the demand that `error` carries, if it does.
    pub fn of(error: &crate::Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// Returns the status of the answer.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Returns the value of `WWW-Authenticate`.
    pub fn challenge(&self) -> &str {
        &self.challenge
    }
}

crate::partial_debug!(AuthorizationDemand, self => status: self.status);
