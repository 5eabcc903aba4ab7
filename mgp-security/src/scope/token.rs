//! The tokens of sessions of scopes: random when made, and known by their digest alone after that.

use std::fmt;

use mgp_types::{Request, random_name};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The member of `_meta` that has the token of a session.
const META_MEMBER: &str = "session_token";
/// The header that has the token of a session, over HTTP.
const HEADER: &str = "x-mcp-session-token";

/// The digest of a token, in place of the token.
#[derive(Clone, Copy)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(super) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Returns the token that a request shows: that of its `_meta`, or else that of its HTTP header. A token of another
    /// form than text is one that nobody has.
    pub(super) fn shown_by(request: &Request) -> Option<Self> {
        if let Some(token) = request.meta(META_MEMBER) {
            return Some(Self::of(&token.to_text().unwrap_or_default()));
        }
        let head = request.extensions.get::<http::request::Parts>()?;
        head.headers.get(HEADER).map(|token| Self::of(token.to_str().unwrap_or_default()))
    }

    /// Takes the token out of a request, so that nobody further on reads it.
    pub(super) fn take_from(request: &mut Request) -> Option<Self> {
        let shown = Self::shown_by(request)?;
        if let Some(meta) = request.meta_mut() {
            meta.remove(META_MEMBER);
        }
        Some(shown)
    }

    /// Returns whether the two digests are equal, in a time that does not depend on where they differ.
    pub(super) fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest(***)")
    }
}

/// Returns a token that nobody can guess: 256 random bits in hexadecimal digits.
pub(super) fn new_token() -> Box<str> {
    (random_name() + &random_name()).into()
}
