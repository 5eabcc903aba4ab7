use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use mgp_types::mgp::Timestamp;
use mgp_types::{Principal, RunningCalls, Validity};
use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior};

use super::{
    ApiPermissions, AuthError, KeyDigest, KeyId, KeyInfo, KeyRequest, KeyStore, SecretKey, StoredKey,
    reserved_owner,
};
use crate::blocking::off_the_runtime;
use crate::latest_time::LatestTime;
use crate::meter::{MeterPace, RateMeter};
use crate::{Clock, StoreError};

/// All keys, and whose they are. A handle: clones share everything.
///
/// Verifying a key takes no lock that others wait for, unless the key has a rate limit, and allocates nothing.
#[derive(Clone)]
pub struct KeyRing(Arc<KeyRingInner>);

struct KeyRingInner {
    keys: ArcSwap<Keys>,
    store: Arc<dyn KeyStore>,
    clock: Clock,
    latest: LatestTime,
    started: Instant,
    /// One change at a time, so that the keys in memory are those of the store.
    turn: Arc<tokio::sync::Mutex<()>>,
}

type Keys = HashMap<KeyId, Arc<RingKey>, foldhash::quality::RandomState>;

struct RingKey {
    stored: StoredKey,
    /// Whether somebody else is known by the name of the owner; then the key is worth nothing.
    is_reserved: bool,
    /// The digest of the secret alone, once the whole key was right: with the id it proves as much, and hashing it is half
    /// of the work.
    proved: OnceLock<KeyDigest>,
    pace: Option<MeterPace>,
    meter: Mutex<RateMeter>,
    /// In milliseconds; [`NEVER`] if it was not used.
    last_used: AtomicI64,
    /// The last use that the store knows.
    noted: AtomicI64,
    /// What is open by the key ends with it.
    validity: Validity,
}

/// Who sent a key that was right, and what the key permits.
#[derive(Debug, Clone)]
pub struct Authenticated {
    principal: Principal,
    key: KeyId,
    permissions: ApiPermissions,
    validity: Validity,
}

impl KeyRing {
    /// The keys in `store`, by the clock of the system. It may block.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn open(store: impl KeyStore) -> Result<Self, StoreError> {
        Self::with_clock(store, Clock::system())
    }

    /// The keys in `store`, by `clock`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn with_clock(store: impl KeyStore, clock: Clock) -> Result<Self, StoreError> {
        let keys: Keys =
            store.load()?.into_iter().map(|key| (key.info.id, Arc::new(RingKey::new(key)))).collect();
        for key in keys.values().filter(|key| key.is_reserved) {
            let (id, owner) = (key.stored.info.id, key.stored.info.owner.as_str());
            tracing::warn!(key = %id, owner, "a key lets nobody in: its owner has a reserved name; revoke it");
        }
        Ok(Self(Arc::new(KeyRingInner {
            keys: ArcSwap::from_pointee(keys),
            store: Arc::new(store),
            clock,
            latest: LatestTime::default(),
            started: Instant::now(),
            turn: Arc::default(),
        })))
    }

    /// Makes a key. This is the only time that its secret is seen. It needs a tokio runtime.
    ///
    /// Whoever calls this has made sure that it is an operator who asks.
    ///
    /// # Errors
    /// It could not be stored; then there is no such key.
    ///
    /// # Cancel safety
    /// Dropping the future leaves either no key, or one that nobody knows and [`keys`](Self::keys) shows.
    pub async fn issue(&self, wanted: KeyRequest) -> Result<(KeyInfo, SecretKey), StoreError> {
        let (id, secret) = SecretKey::random()?;
        let info = wanted.issued(id, self.0.clock.now());
        let stored = StoredKey::new(info.clone(), KeyDigest::of(secret.expose()));
        self.change(move |inner| {
            inner.store.add(&stored)?;
            let key = Arc::new(RingKey::new(stored));
            inner.keys.rcu(|keys| with(keys, &key));
            Ok(())
        })
        .await?;
        Ok((info, secret))
    }

    /// Makes a key worthless; says whether there was one. It needs a tokio runtime.
    ///
    /// Sessions and streams that were opened with it end at once, and calls in work as `calls` says.
    ///
    /// # Errors
    /// It could not be stored; the key still holds.
    ///
    /// # Cancel safety
    /// Dropping the future revokes the key or leaves it as it was.
    pub async fn revoke(&self, id: KeyId, calls: RunningCalls) -> Result<bool, StoreError> {
        self.change(move |inner| {
            inner.store.remove(id)?;
            let before = inner.keys.rcu(|keys| without(keys, id));
            let revoked = before.get(&id);
            if let Some(key) = revoked {
                key.validity.end(calls);
            }
            Ok(revoked.is_some())
        })
        .await
    }

    /// Ends what is open by keys that have expired, within a second; calls in work as `calls` says then. Whoever lets callers
    /// in by the ring runs it beside that, and drops it in the end.
    pub async fn end_expired(&self, calls: impl Fn() -> RunningCalls) -> Infallible {
        let mut second = tokio::time::interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            second.tick().await;
            let now = self.0.latest.after(self.0.clock.now());
            for key in self.0.keys.load().values() {
                if key.stored.info.expires_at.is_some_and(|end| now >= end) {
                    key.validity.end(calls());
                }
            }
        }
    }

    /// Whose key `key` is, and what it permits. This is a use of the key.
    ///
    /// # Errors
    /// The key is none, not known, expired, or used too often. That a key has expired is told only to who has it.
    pub fn verify(&self, key: &str) -> Result<Authenticated, AuthError> {
        let (id, secret) = KeyId::of_key(key).ok_or(AuthError::Unknown)?;
        let keys = self.0.keys.load();
        let found = keys.get(&id);
        // The work is the same for whatever is wrong, be its id known or not, so that the time it takes tells nothing.
        let proved = found.and_then(|found| found.proved.get());
        let part = KeyDigest::of(secret);
        let again = part.matches(proved.unwrap_or(&NOBODY)) && proved.is_some();
        let right = again || {
            let expected = found.map_or(&NOBODY, |found| &found.stored.digest);
            KeyDigest::of(key).matches(expected)
        };
        let Some(found) = found.filter(|_| right) else { return Err(AuthError::Unknown) };
        found.proved.get_or_init(|| part);
        if found.is_reserved {
            return Err(AuthError::ReservedOwner);
        }
        let info = &found.stored.info;
        let now = self.0.clock.now();
        if info.expires_at.is_some_and(|end| self.0.latest.after(now) >= end) {
            return Err(AuthError::Expired);
        }
        found.take(self.0.started)?;
        found.last_used.fetch_max(now.as_millis(), Ordering::Relaxed);
        Ok(Authenticated {
            principal: info.owner.clone(),
            key: id,
            permissions: info.permissions.clone(),
            validity: found.validity.clone(),
        })
    }

    /// What is known about all keys, expired ones included, with their last use.
    pub fn keys(&self) -> Vec<KeyInfo> {
        self.0.keys.load().values().map(|key| key.info()).collect()
    }

    /// Notes once a minute in the store when keys were last used; requests do not wait for it. It never ends: whoever
    /// keeps the ring spawns it, and aborts it in the end.
    pub async fn note_uses(&self) {
        let mut minute = tokio::time::interval(NOTE_EVERY);
        minute.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            minute.tick().await;
            if let Err(error) = self.note_uses_now().await {
                tracing::warn!(%error, "the last use of keys could not be noted");
            }
        }
    }

    /// Notes in the store when keys were last used, as at the end of the process. It needs a tokio runtime.
    ///
    /// # Errors
    /// It could not be noted.
    pub async fn note_uses_now(&self) -> Result<(), StoreError> {
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

    /// Changes the store and what is in memory in one step, on a thread that may block.
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

impl RingKey {
    fn new(stored: StoredKey) -> Self {
        let last_used = stored.info.last_used.map_or(NEVER, Timestamp::as_millis);
        Self {
            is_reserved: reserved_owner(stored.info.owner.as_str()).is_some(),
            pace: stored.info.rate_limit.map(MeterPace::new),
            stored,
            proved: OnceLock::new(),
            meter: Mutex::default(),
            last_used: AtomicI64::new(last_used),
            noted: AtomicI64::new(last_used),
            validity: Validity::new(),
        }
    }

    /// Uses the key once; its rates are counted from `started`.
    fn take(&self, started: Instant) -> Result<(), AuthError> {
        let Some(pace) = &self.pace else { return Ok(()) };
        let now = started.elapsed();
        let mut meter = self.meter.lock();
        let wait = meter.wait(pace, now);
        if wait > Duration::ZERO {
            return Err(AuthError::TooOften { wait });
        }
        meter.take(pace, now);
        Ok(())
    }

    fn info(&self) -> KeyInfo {
        let last_used = self.last_used();
        KeyInfo { last_used, ..self.stored.info.clone() }
    }

    fn last_used(&self) -> Option<Timestamp> {
        let millis = self.last_used.load(Ordering::Relaxed);
        if millis == NEVER { None } else { Timestamp::from_millis(millis) }
    }

    /// The key with its last use, if the store does not know of it.
    fn unnoted(self: &Arc<Self>) -> Option<(Arc<Self>, Timestamp)> {
        let time = self.last_used()?;
        (time.as_millis() > self.noted.load(Ordering::Relaxed)).then(|| (Arc::clone(self), time))
    }
}

impl Authenticated {
    /// Who.
    pub const fn principal(&self) -> &Principal {
        &self.principal
    }

    /// By which key.
    pub const fn key(&self) -> KeyId {
        self.key
    }

    /// How long the key holds.
    pub const fn validity(&self) -> &Validity {
        &self.validity
    }

    /// What the key permits.
    pub const fn permissions(&self) -> &ApiPermissions {
        &self.permissions
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("keys", &self.0.keys.load().len()).finish_non_exhaustive()
    }
}

fn with(keys: &Keys, key: &Arc<RingKey>) -> Keys {
    let mut keys = keys.clone();
    keys.insert(key.stored.info.id, Arc::clone(key));
    keys
}

fn without(keys: &Keys, id: KeyId) -> Keys {
    let mut keys = keys.clone();
    keys.remove(&id);
    keys
}

const NEVER: i64 = i64::MIN;
const NOTE_EVERY: Duration = Duration::from_mins(1);
/// No key has this digest, as far as anybody knows.
const NOBODY: KeyDigest = KeyDigest::from_bytes([0; 32]);
