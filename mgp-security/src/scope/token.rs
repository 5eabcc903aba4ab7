//! The digests of secrets, and the tokens of sessions of scopes, which are known by their digests alone.

use mgp_types::Request;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The SHA-256 of a token or an API key, in place of the secret.
///
/// A slow hash, as made for passwords, would gain nothing: it makes guessing expensive where there is little to
/// guess, and 256 random bits cannot be guessed. It would cost every request milliseconds, which anybody could make
/// the process spend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SecretDigest(pub(crate) [u8; 32]);

impl SecretDigest {
    pub(crate) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// Returns whether the two digests are equal, in a time that does not depend on where they differ.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        let words = |digest: &Self| {
            let (words, _) = digest.0.as_chunks::<8>();
            [0, 1, 2, 3].map(|at| u64::from_ne_bytes(words[at]))
        };
        words(self).ct_eq(&words(other)).into()
    }
}

mgp_types::partial_debug!(SecretDigest);

/// Returns the token that a request shows: that of its `_meta`, or else that of its HTTP header. A token of another
/// form than text is one that nobody has.
pub(super) fn shown_by(request: &Request) -> Option<SecretDigest> {
    if let Some(token) = request.meta(META_MEMBER) {
        return Some(SecretDigest::of(&token.to_text().unwrap_or_default()));
    }
    let head = request.extensions.get::<http::request::Parts>()?;
    head.headers.get(HEADER).map(|token| SecretDigest::of(token.to_str().unwrap_or_default()))
}

/// Takes the token out of a request, so that nobody further on reads it.
pub(super) fn take_from(request: &mut Request) -> Option<SecretDigest> {
    let shown = shown_by(request)?;
    if let Some(meta) = request.meta_mut() {
        meta.remove(META_MEMBER);
    }
    Some(shown)
}

/// The member of `_meta` that has the token of a session.
const META_MEMBER: &str = "session_token";
/// The header that has the token of a session, over HTTP.
const HEADER: &str = "x-mcp-session-token";
