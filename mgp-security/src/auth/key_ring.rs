//! The key ring: it holds all API keys in memory, verifies them, and stores changes of them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use mgp_types::mgp::Timestamp;
use mgp_types::{AgentGroups, Error, Principal, RunningCalls, Validity, code};
use tokio::time::{Instant, sleep};

use super::{ApiPermissions, KeyId, KeyInfo, KeyStore, KeyTerms, SecretKey, StoredKey, reserved_owner};
use crate::latest_time::LatestTime;
use crate::limit::limiter::MeterPace;
use crate::limit::{Limiter, limited};
use crate::refusal::refusal;
use crate::scope::SecretDigest;
use crate::{Clock, StoreError};
use mgp_store::{Database, off_the_runtime};

/// All API keys with their owners. Clones share one ring.
///
/// Verifying a key allocates nothing, and takes no contended lock unless the key has a rate limit.
#[derive(Clone)]
pub struct KeyRing(Arc<KeyRingInner>);

struct KeyRingInner {
    keys: ArcSwap<Keys>,
    store: KeyStore,
    clock: Clock,
    latest: LatestTime,
    /// The meters of the keys with rate limits.
    limiter: OnceLock<Arc<Limiter>>,
    /// The groups of agents, which are told of the groups that keys are for.
    groups: OnceLock<AgentGroups>,
    /// A lock that admits one change at a time, so that the keys in memory are those of the store.
    turn: Arc<tokio::sync::Mutex<()>>,
}

type Keys = HashMap<KeyId, Arc<RingKey>, foldhash::quality::RandomState>;

struct RingKey {
    stored: StoredKey,
    /// True if the owner has a reserved name, by which others are known; the key is then refused.
    is_reserved: bool,
    /// The digest of the secret part alone, known once the whole key was right. Together with the id it proves as
    /// much, and takes half the work to compute.
    proved: OnceLock<SecretDigest>,
    pace: Option<MeterPace>,
    /// The time of the last use in milliseconds since 1970; [`NEVER`] if the key was not used.
    last_used: AtomicI64,
    /// The time of the last use that the store knows.
    noted: AtomicI64,
    /// The validity that ends sessions, streams and calls opened with the key.
    validity: Validity,
}

/// The sender of a right key or token, with what it permits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Authenticated {
    /// The principal that sent the key or the token.
    pub principal: Principal,
    /// The permissions of the key.
    pub permissions: ApiPermissions,
    /// The validity of the key, which ends when the key is revoked or expires.
    pub validity: Validity,
    /// The token; `None` for the sender of a key.
    pub(super) token: Option<crate::oauth::VerifiedToken>,
}

impl KeyRing {
    /// Opens the ring with the keys in `database` and the given clock. Reading it may block.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn open(database: Database, clock: Clock) -> Result<Self, StoreError> {
        let ring = KeyRingInner {
            keys: ArcSwap::default(),
            store: KeyStore::new(database)?,
            clock,
            latest: LatestTime::default(),
            limiter: OnceLock::new(),
            groups: OnceLock::new(),
            turn: Arc::default(),
        };
        ring.reload()?;
        Ok(Self(Arc::new(ring)))
    }

    /// Reads the keys anew, after another kernel changed them. What was opened with a key that is gone ends at once, calls
    /// in work included. Needs a tokio runtime.
    ///
    /// # Errors
    /// Fails if the store cannot be read; the keys then hold as before.
    pub async fn reload(&self) -> Result<(), StoreError> {
        self.change(KeyRingInner::reload).await
    }

    /// Tells `groups` of the groups that keys are for, now and when that changes. Only the first call counts.
    pub fn tell_groups(&self, groups: AgentGroups) {
        let _ = self.0.groups.set(groups);
        self.0.tell_groups();
    }

    /// Counts the uses of keys with the meters of `limiter` in place of own ones. Only the first call counts, if no key was
    /// used before.
    pub fn count_with(&self, limiter: Arc<Limiter>) {
        let _ = self.0.limiter.set(limiter);
    }

    /// Issues a key. Its secret is returned only this time. Needs a tokio runtime.
    ///
    /// The caller must have checked that an operator asks for the key.
    ///
    /// # Errors
    /// Fails if the key could not be stored; there is then no such key.
    ///
    /// # Cancel safety
    /// Dropping the future leaves either no key, or one that nobody knows and that [`keys`](Self::keys) shows.
    pub async fn issue(&self, wanted: KeyTerms) -> Result<(KeyInfo, SecretKey), StoreError> {
        let (id, secret) = SecretKey::random();
        let info = wanted.issued(id, self.0.clock.now());
        let stored = StoredKey { info: info.clone(), digest: SecretDigest::of(secret.expose()) };
        self.change(move |inner| {
            inner.store.add(&stored)?;
            inner.edit(|keys| keys.insert(id, Arc::new(RingKey::new(stored))));
            Ok(())
        })
        .await?;
        Ok((info, secret))
    }

    /// Revokes a key, and returns whether there was one. Needs a tokio runtime.
    ///
    /// Sessions and streams that were opened with the key end at once; running calls are treated as `calls` says.
    ///
    /// # Errors
    /// Fails if the revocation could not be stored; the key then still holds.
    ///
    /// # Cancel safety
    /// Dropping the future either revokes the key or leaves it as it was.
    pub async fn revoke(&self, id: KeyId, calls: RunningCalls) -> Result<bool, StoreError> {
        self.change(move |inner| {
            // Another kernel may have issued the key a moment ago.
            let was_there = inner.store.remove(id)?;
            // The calls that may finish are known before its groups end.
            if let Some(key) = inner.keys.load().get(&id) {
                key.validity.end(calls);
            }
            inner.edit(|keys| keys.remove(&id));
            Ok(was_there)
        })
        .await
    }

    /// Has a key end at a time, unless it ends before, and returns whether there is such a key. Needs a tokio runtime.
    ///
    /// # Errors
    /// Fails if the end could not be stored; the key then holds as before.
    ///
    /// # Cancel safety
    /// Dropping the future either sets the end or leaves it as it was.
    pub async fn end_at(&self, id: KeyId, end: Timestamp) -> Result<bool, StoreError> {
        self.change(move |inner| {
            let Some(key) = inner.keys.load().get(&id).cloned() else { return Ok(false) };
            if key.stored.info.terms.expires_at.is_none_or(|before| end < before) {
                let ending = Arc::new(key.ending(Some(end)));
                inner.store.end_at(id, end)?;
                inner.edit(|keys| keys.insert(id, ending));
            }
            Ok(true)
        })
        .await
    }

    /// Ends sessions and streams of keys within a second after the keys expire, and stores the last uses of keys every
    /// minute; running calls are treated as `calls` then says. It never returns: run it beside the server that lets
    /// callers in by the ring, and drop it at the end.
    pub async fn watch(&self, calls: impl Fn() -> RunningCalls) -> Infallible {
        let mut noted = Instant::now();
        loop {
            let (now, mut has_ended) = (self.0.latest.after(self.0.clock.now()), false);
            for key in self.0.keys.load().values() {
                if key.is_over(now) && key.validity.ended().is_none() {
                    key.validity.end(calls());
                    has_ended = true;
                }
            }
            if has_ended {
                self.0.tell_groups();
            }
            if noted.elapsed() >= NOTE_EVERY {
                noted = Instant::now();
                if let Err(error) = self.note_uses().await {
                    tracing::warn!(%error, "the last use of keys could not be noted");
                }
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    /// Verifies a key and returns its owner and its permissions. This counts as a use of the key.
    ///
    /// # Errors
    /// Fails if the text is no key, or if the key is unknown, has a reserved owner, has expired or is used too often.
    /// Only a caller that has the right key is told that it has expired.
    pub fn verify(&self, key: &str) -> Result<Authenticated, AuthError> {
        let (id, secret) = KeyId::of_key(key).ok_or(AuthError::Unknown)?;
        let keys = self.0.keys.load();
        let found = keys.get(&id);
        // The work is the same whether the id or the secret is wrong, so that the time it takes reveals nothing.
        let proved = found.and_then(|found| found.proved.get());
        let part = SecretDigest::of(secret);
        let is_proved = part.matches(proved.unwrap_or(&NOBODY)) && proved.is_some();
        let expected = found.map_or(&NOBODY, |found| &found.stored.digest);
        let is_right = is_proved || SecretDigest::of(key).matches(expected);
        let found = found.filter(|_| is_right).ok_or(AuthError::Unknown)?;
        found.proved.get_or_init(|| part);
        if found.is_reserved {
            return Err(AuthError::ReservedOwner);
        }
        let terms = &found.stored.info.terms;
        let now = self.0.clock.now();
        if found.is_over(self.0.latest.after(now)) {
            return Err(AuthError::Expired);
        }
        found.take(self.0.limiter.get_or_init(Arc::default))?;
        found.last_used.fetch_max(now.as_millis(), Ordering::Relaxed);
        Ok(Authenticated {
            principal: terms.owner.clone(),
            permissions: terms.permissions.clone(),
            validity: found.validity.clone(),
            token: None,
        })
    }

    /// Returns the data of all keys, including expired ones, with their last use.
    pub fn keys(&self) -> Vec<KeyInfo> {
        let keys = self.0.keys.load();
        keys.values().map(|key| KeyInfo { last_used: key.last_used(), ..key.stored.info.clone() }).collect()
    }

    /// Stores the last uses of keys now, for example at the end of the process. Needs a tokio runtime.
    ///
    /// # Errors
    /// Fails if the uses could not be stored.
    pub async fn note_uses(&self) -> Result<(), StoreError> {
        let unnoted: Vec<_> = self.0.keys.load().values().filter_map(RingKey::unnoted).collect();
        if unnoted.is_empty() {
            return Ok(());
        }
        self.change(move |inner| {
            let uses: Vec<_> = unnoted.iter().map(|(key, time)| (key.stored.info.id, *time)).collect();
            inner.store.note_used(&uses)?;
            for (key, time) in unnoted {
                key.noted.store(time.as_millis(), Ordering::Relaxed);
            }
            Ok(())
        })
        .await
    }

    /// Changes the store and the keys in memory in one step, on a thread that may block.
    async fn change<T: Send + 'static>(
        &self,
        apply: impl FnOnce(&KeyRingInner) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = Arc::clone(&self.0.turn).lock_owned().await;
        let inner = Arc::clone(&self.0);
        off_the_runtime(move || {
            let _turn = turn;
            apply(&inner)
        })
        .await
    }
}

impl KeyRingInner {
    /// Has the keys in memory be those of the store. A key that stays keeps its counts, and what was opened with it.
    fn reload(&self) -> Result<(), StoreError> {
        let mut gone = Keys::clone(&self.keys.load());
        let mut keys = Keys::default();
        for stored in self.store.load()? {
            let (id, end) = (stored.info.id, stored.info.terms.expires_at);
            let key = match gone.remove(&id) {
                Some(known) if known.stored.info.terms.expires_at == end => known,
                Some(known) => Arc::new(known.ending(end)),
                None => Arc::new(RingKey::new(stored)),
            };
            keys.insert(id, key);
        }
        self.keys.store(Arc::new(keys));
        self.tell_groups();
        for key in gone.values() {
            key.validity.end(RunningCalls::Cancel);
        }
        Ok(())
    }

    /// Changes the keys in memory, and tells the groups of agents.
    fn edit<T>(&self, edit: impl FnOnce(&mut Keys) -> T) -> T {
        let mut keys = Keys::clone(&self.keys.load());
        let outcome = edit(&mut keys);
        self.keys.store(Arc::new(keys));
        self.tell_groups();
        outcome
    }

    /// Tells the groups of agents which owners are members by their keys.
    fn tell_groups(&self) {
        let Some(groups) = self.groups.get() else { return };
        let now = self.latest.after(self.clock.now());
        let mut by_owner = HashMap::<Box<str>, Vec<Box<str>>>::new();
        for key in self.keys.load().values().filter(|key| !key.is_over(now) && !key.is_reserved) {
            let KeyTerms { owner, groups, .. } = &key.stored.info.terms;
            if let Some(name) = owner.agent_name().filter(|_| !groups.is_empty()) {
                by_owner.entry(name.into()).or_default().extend_from_slice(groups);
            }
        }
        for names in by_owner.values_mut() {
            names.sort_unstable();
        }
        groups.set_keys(by_owner);
    }
}

impl RingKey {
    fn new(stored: StoredKey) -> Self {
        let KeyInfo { id, terms, last_used, .. } = &stored.info;
        let (owner, last_used) = (terms.owner.as_str(), last_used.map_or(NEVER, Timestamp::as_millis));
        let is_reserved = reserved_owner(owner).is_some();
        if is_reserved {
            tracing::warn!(key = %id, owner, "a key lets nobody in: its owner has a reserved name; revoke it");
        }
        Self {
            is_reserved,
            pace: stored.info.terms.rate_limit.map(MeterPace::new),
            stored,
            proved: OnceLock::new(),
            last_used: AtomicI64::new(last_used),
            noted: AtomicI64::new(last_used),
            validity: Validity::new(),
        }
    }

    /// Returns the same key with another end. What it opened ends with it.
    fn ending(&self, end: Option<Timestamp>) -> Self {
        let mut stored = self.stored.clone();
        (stored.info.terms.expires_at, stored.info.last_used) = (end, self.last_used());
        Self { validity: self.validity.clone(), ..Self::new(stored) }
    }

    /// Counts one use of the key, or refuses it.
    fn take(&self, limiter: &Limiter) -> Result<(), AuthError> {
        let own = self.pace.as_ref().map(|pace| (limiter.key(self.stored.info.id), pace));
        limiter.ask([None, None, None, own], true).map_err(|(_, wait)| AuthError::TooOften { wait })
    }

    fn is_over(&self, now: Timestamp) -> bool {
        self.stored.info.terms.expires_at.is_some_and(|end| now >= end)
    }

    fn last_used(&self) -> Option<Timestamp> {
        let millis = self.last_used.load(Ordering::Relaxed);
        if millis == NEVER { None } else { Timestamp::from_millis(millis) }
    }

    /// Returns the key with its last use, if the store does not know that use.
    fn unnoted(self: &Arc<Self>) -> Option<(Arc<Self>, Timestamp)> {
        let time = self.last_used()?;
        (time.as_millis() > self.noted.load(Ordering::Relaxed)).then(|| (Arc::clone(self), time))
    }
}

impl Authenticated {
    /// Returns the sender of a token, who may see and call all tools, as far as access rules and scopes allow.
    pub(super) fn of_token(token: crate::oauth::VerifiedToken) -> Self {
        use super::ApiPermission::{AdminRead, ToolInvoke, ToolsListAll};
        let every = mgp_types::mgp::ToolPattern::new("*", "*").map(ToolInvoke);
        Self {
            principal: token.principal.clone(),
            permissions: ApiPermissions::new([ToolsListAll, AdminRead].into_iter().chain(every)),
            validity: token.validity.clone(),
            token: Some(token),
        }
    }
}

mgp_types::partial_debug!(KeyRing, self => keys: self.0.keys.load().len());

/// The time of last use of a key that was never used.
const NEVER: i64 = i64::MIN;
/// The interval at which last uses are stored.
const NOTE_EVERY: Duration = Duration::from_mins(1);
/// A digest that no key has, as far as anybody knows; it takes the place of an unknown key's.
const NOBODY: SecretDigest = SecretDigest([0; 32]);

/// The reason why a caller was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// There is no key, or no known one; the caller is not told which.
    #[error(
        "a valid key is needed, as `Authorization: Bearer KEY`: `mgp keys list` shows the known ones, \
         `mgp keys new AGENT` issues one"
    )]
    Unknown,
    /// The key is right but has expired.
    #[error("the key has expired: `mgp keys new AGENT` issues another one")]
    Expired,
    /// The key is right, but its owner has a reserved name.
    #[error("the owner of the key has a reserved name; have a key issued to another owner")]
    ReservedOwner,
    /// The key is used too often.
    #[error("the key is used too often")]
    TooOften {
        /// The time to wait until the key may be used again; zero if other kernels have to know of its last uses before.
        wait: Duration,
    },
    /// The key does not permit the request.
    #[error(
        "the key does not permit this: it lacks `{missing}`; have one issued with mgp keys new OWNER --allow {missing}"
    )]
    NotPermitted {
        /// The permission that is missing, in the word by which `mgp keys new --allow` gives it.
        missing: &'static str,
    },
}

impl From<AuthError> for Error {
    fn from(error: AuthError) -> Self {
        let code = match error {
            AuthError::Unknown | AuthError::ReservedOwner => code::AUTH_REQUIRED,
            AuthError::Expired => code::AUTH_EXPIRED,
            AuthError::NotPermitted { .. } => code::PERMISSION_DENIED,
            AuthError::TooOften { wait } => return limited(wait, None),
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
            Self::NotPermitted { .. } => "not-permitted",
        }
    }
}
