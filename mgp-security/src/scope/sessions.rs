//! The sessions of scopes in memory, those of each caller apart from all others.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::ext::scope::Scopes;
use mgp_types::{Error, Principal, Request, code};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use crate::refusal::refusal;

/// The sessions of all callers. A token is looked for among those of its caller only, so it serves nobody else.
#[derive(Default)]
pub(super) struct ScopeSessions(HashMap<Principal, Vec<StoredSession>, RandomState>);

/// One session, without its tokens.
pub(super) struct StoredSession {
    pub(super) token: SecretDigest,
    pub(super) refresh_token: SecretDigest,
    pub(super) scopes: BTreeMap<Box<str>, ScopeEnd>,
    /// The time that the session was given, and is given again when it is refreshed.
    pub(super) ttl: Duration,
    pub(super) end: Instant,
    pub(super) used: Instant,
}

/// The end of one scope of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScopeEnd {
    pub(super) at: Instant,
    /// True if the scope was asked for with a time of its own, which refreshing does not lengthen.
    pub(super) is_limited: bool,
}

impl StoredSession {
    fn is_over(&self, now: Instant) -> bool {
        now >= self.end || now >= self.used + INACTIVITY
    }

    /// Returns the scopes that have not ended.
    pub(super) fn held(&self, now: Instant) -> Scopes {
        let held = self.scopes.iter().filter(|(_, end)| now < end.at).map(|(scope, _)| scope);
        // More scopes than a set can have are never stored.
        Scopes::read(held).unwrap_or_default()
    }
}

impl ScopeSessions {
    /// Returns the scopes of a session, and notes that it is in use.
    ///
    /// # Errors
    /// Fails if the caller has no such session (1002), or if it is over (1003).
    pub(super) fn held(
        &mut self,
        caller: &Principal,
        token: &SecretDigest,
        now: Instant,
    ) -> Result<Scopes, Error> {
        let (place, sessions) = self.find(caller, now, |session| session.token.matches(token))?;
        let session = &mut sessions[place];
        session.used = now;
        Ok(session.held(now))
    }

    /// Takes the session out that has the meant token.
    ///
    /// # Errors
    /// Fails if the caller has no such session (1002), or if it is over (1003).
    pub(super) fn take(
        &mut self,
        caller: &Principal,
        now: Instant,
        is_meant: impl Fn(&StoredSession) -> bool,
    ) -> Result<StoredSession, Error> {
        let (place, sessions) = self.find(caller, now, is_meant)?;
        Ok(sessions.swap_remove(place))
    }

    fn find(
        &mut self,
        caller: &Principal,
        now: Instant,
        is_meant: impl Fn(&StoredSession) -> bool,
    ) -> Result<(usize, &mut Vec<StoredSession>), Error> {
        let unknown =
            || refusal(code::AUTH_REQUIRED, "the session token is not known; negotiate scopes for a new one");
        let sessions = self.0.get_mut(caller).ok_or_else(unknown)?;
        let place = sessions.iter().position(is_meant).ok_or_else(unknown)?;
        if sessions[place].is_over(now) {
            let why = "the session of scopes is over; negotiate scopes for a new one";
            return Err(refusal(code::AUTH_EXPIRED, why));
        }
        Ok((place, sessions))
    }

    /// Makes room for one more session of `caller`: sessions that are over leave once there is none.
    ///
    /// # Errors
    /// Fails if there is no room (3001).
    pub(super) fn make_room(&mut self, caller: &Principal, now: Instant) -> Result<(), Error> {
        if self.has_room(caller) {
            return Ok(());
        }
        self.0.retain(|_, sessions| {
            sessions.retain(|session| !session.is_over(now));
            !sessions.is_empty()
        });
        if self.has_room(caller) {
            return Ok(());
        }
        Err(refusal(code::RESOURCE_EXHAUSTED, "too many sessions of scopes are open; go on with one of them"))
    }

    fn has_room(&self, caller: &Principal) -> bool {
        self.0.get(caller).map_or(0, Vec::len) < MAX_SESSIONS_OF_CALLER && self.len() < MAX_SESSIONS
    }

    pub(super) fn put(&mut self, caller: &Principal, session: StoredSession) {
        self.0.entry(caller.clone()).or_default().push(session);
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

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

/// The member of `_meta` that has the token of a session.
pub(super) const META_MEMBER: &str = "session_token";
/// The header that has the token of a session, over HTTP.
const HEADER: &str = "x-mcp-session-token";

/// The time without a call after which a session ends.
pub(super) const INACTIVITY: Duration = Duration::from_mins(30);

/// The largest number of sessions of one caller.
pub(super) const MAX_SESSIONS_OF_CALLER: usize = 16;

/// The largest number of sessions of all callers.
pub(super) const MAX_SESSIONS: usize = 4096;
