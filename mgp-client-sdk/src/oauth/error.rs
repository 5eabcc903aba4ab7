//! The reasons why a client cannot be authorized.

use mgp_security::jose::JoseError;
use mgp_security::network::FetchError;
use mgp_types::{Error, code};

/// The reason why a client cannot be authorized at a server. It is the source of the error of a request, and repeats neither
/// tokens nor secrets nor codes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// A person has to sign in.
    #[error("the server needs a login: {0}")]
    LoginNeeded(Box<str>),
    /// The server says that its tokens are for another one.
    #[error("the server's metadata is about another resource, so no token is asked for")]
    OtherResource,
    /// A document of the server or the issuer cannot be fetched.
    #[error("{what} cannot be fetched: {why}")]
    Unfetched {
        /// The document or request, in words.
        what: &'static str,
        /// The reason.
        #[source]
        why: FetchError,
    },
    /// A document of the server or the issuer is not there, or not what it should be.
    #[error("{0}")]
    Metadata(&'static str),
    /// The answer to a login does not come from the issuer that was asked.
    #[error("the answer to the login does not come from the issuer that was asked; nothing of it was used")]
    OtherIssuer,
    /// The answer to a login belongs to another login, or to none.
    #[error("the answer belongs to another login; sign in again")]
    OtherLogin,
    /// The issuer refuses, with this error code: a word of visible ASCII characters.
    #[error("the issuer refuses: {0}")]
    Refused(Box<str>),
    /// The client is not known to the issuer, and there is no way to register it.
    #[error("the issuer registers no clients by itself: register one there, and configure its `client_id`")]
    Unregistered,
    /// The person did not answer in time, or went away.
    #[error("nobody signed in: {0}")]
    NoAnswer(&'static str),
    /// A key or a token cannot be used.
    #[error("{0}")]
    Key(#[from] JoseError),
    /// The store of tokens cannot be read or written.
    #[error("the stored login cannot be read or written: {0}")]
    Store(Box<str>),
}

impl OAuthError {
    /// Returns the reason behind `error`, if authorization is the reason for it.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// Returns whether a person who signs in again would help.
    pub fn needs_login(&self) -> bool {
        matches!(self, Self::LoginNeeded(_))
    }

    /// Returns the refusal of an issuer with this code. A text that is none, which could be anything, is not kept.
    pub(super) fn refused(code: &str) -> Self {
        let is_code = !code.is_empty()
            && code.len() <= MAX_CODE_BYTES
            && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        Self::Refused(if is_code { code.into() } else { "it gives no reason that can be shown".into() })
    }

    pub(super) fn unfetched(what: &'static str) -> impl Fn(FetchError) -> Self {
        move |why| Self::Unfetched { what, why }
    }
}

impl From<OAuthError> for Error {
    fn from(error: OAuthError) -> Self {
        let code = if error.needs_login() { code::AUTH_REQUIRED } else { code::UPSTREAM_ERROR };
        Self::new(code, error.to_string()).with_source(error)
    }
}

/// The longest error code of an issuer that is repeated.
const MAX_CODE_BYTES: usize = 64;
