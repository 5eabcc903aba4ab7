//! The open sessions, and their random ids.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::HeaderValue;
use mgp_types::{Principal, RpcService, ValidityWatch, hex};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::session::HttpSession;

/// A session and the service that answers it. Dropping it ends the session.
pub(super) struct LiveSession<S> {
    pub(super) session: Arc<HttpSession>,
    service: Mutex<S>,
    _permit: OwnedSemaphorePermit,
    /// The watch that ends the session with the key that opened it.
    _watch: Option<ValidityWatch>,
}

impl<S: Clone> LiveSession<S> {
    pub(super) fn new(
        session: Arc<HttpSession>,
        service: S,
        permit: OwnedSemaphorePermit,
        watch: Option<ValidityWatch>,
    ) -> Self {
        Self { session, service: Mutex::new(service), _permit: permit, _watch: watch }
    }

    pub(super) fn service(&self) -> S {
        self.service.lock().clone()
    }
}

impl<S> Drop for LiveSession<S> {
    fn drop(&mut self) {
        self.session.close();
    }
}

type Shard<S> = Mutex<HashMap<SessionId, Arc<LiveSession<S>>, BuildHasherDefault<IdHasher>>>;

const SHARDS: usize = 16;

/// The sessions by id, in shards, so that calls in different sessions seldom meet.
pub(super) struct SessionTable<S> {
    shards: [Shard<S>; SHARDS],
    permits: Arc<Semaphore>,
    sweeper: OnceLock<AbortHandle>,
}

impl<S: RpcService> SessionTable<S> {
    pub(super) fn new(max_sessions: usize) -> Self {
        let permits = Arc::new(Semaphore::new(max_sessions.min(Semaphore::MAX_PERMITS)));
        Self { shards: std::array::from_fn(|_| Shard::default()), permits, sweeper: OnceLock::new() }
    }

    /// Returns room for one more session. Idle sessions end to make room.
    pub(super) fn reserve(&self) -> Option<OwnedSemaphorePermit> {
        let permit = || Arc::clone(&self.permits).try_acquire_owned().ok();
        permit().or_else(|| {
            self.sweep();
            permit()
        })
    }

    /// Returns the session with this id, if it is that of `principal` and still lives.
    pub(super) fn find(&self, id: SessionId, principal: Option<&Principal>) -> Option<Arc<LiveSession<S>>> {
        let live = self.shard(id).lock().get(&id).map(Arc::clone)?;
        (live.session.belongs_to(principal) && !live.session.is_over()).then_some(live)
    }

    pub(super) fn remove(&self, id: SessionId) {
        let removed = self.shard(id).lock().remove(&id);
        if let Some(removed) = removed {
            removed.session.close();
        }
    }

    /// Ends the sessions that were idle for too long.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        for shard in &self.shards {
            let mut idle = Vec::new();
            shard.lock().retain(|_, live| {
                live.session.sweep(now);
                // A session in use has another owner.
                let stays = Arc::strong_count(live) > 1 || !live.session.is_idle(now);
                if !stays {
                    idle.push(Arc::clone(live));
                }
                stays
            });
            drop(idle); // Outside the lock: ending a session takes its time.
        }
    }

    /// Ends all sessions.
    pub(super) fn clear(&self) {
        for shard in &self.shards {
            let sessions = std::mem::take(&mut *shard.lock());
            for live in sessions.values() {
                live.session.close();
            }
        }
    }

    /// Adds a session, and starts the sweeps that end idle ones even if no request comes.
    pub(super) fn insert(self: &Arc<Self>, live: LiveSession<S>, idle: Duration) {
        self.sweeper.get_or_init(|| {
            let table = Arc::downgrade(self);
            let every = (idle / 4).clamp(Duration::from_millis(100), Duration::from_mins(1));
            let sweeper = tokio::spawn(async move {
                loop {
                    tokio::time::sleep(every).await;
                    let Some(table) = table.upgrade() else { return };
                    table.sweep();
                }
            });
            sweeper.abort_handle()
        });
        let id = live.session.id;
        self.shard(id).lock().insert(id, Arc::new(live));
    }

    fn shard(&self, id: SessionId) -> &Shard<S> {
        &self.shards[usize::from(id.last_byte()) % SHARDS]
    }
}

impl<S> Drop for SessionTable<S> {
    fn drop(&mut self) {
        if let Some(sweeper) = self.sweeper.get() {
            sweeper.abort();
        }
    }
}

/// A hasher that takes the id as its own hash: ids are random, and only ids of this server are ever in the table.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, part: u64) {
        self.0 = part;
    }
}

const DIGITS: usize = 32;

/// The id of a session: 128 random bits, as the hexadecimal digits that travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionId([u8; DIGITS]);

impl SessionId {
    /// Creates a random id.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bits = [0; DIGITS / 2];
        getrandom::fill(&mut bits)?;
        Ok(Self(hex(&bits)))
    }

    /// Returns the id with these digits; `None` if their number is wrong.
    pub(super) fn parse(digits: &[u8]) -> Option<Self> {
        digits.try_into().ok().map(Self)
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    pub(super) fn to_header(self) -> HeaderValue {
        HeaderValue::from_bytes(&self.0).unwrap_or(HeaderValue::from_static(""))
    }

    pub(super) fn last_byte(self) -> u8 {
        self.0[DIGITS - 1]
    }
}

impl Hash for SessionId {
    /// Hashes eight of the digits: they are random, and a map only ever holds ids that this server made.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (parts, _) = self.0.as_chunks::<8>();
        state.write_u64(parts.first().map_or(0, |part| u64::from_le_bytes(*part)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_travel() {
        let (one, other) = (SessionId::random().unwrap(), SessionId::random().unwrap());
        assert_ne!(one, other);
        assert!(one.as_str().bytes().all(|digit| digit.is_ascii_hexdigit()));
        assert_eq!(SessionId::parse(one.to_header().as_bytes()), Some(one));
        assert_eq!(SessionId::parse(b"short"), None);
    }
}
