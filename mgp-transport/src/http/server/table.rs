//! The open sessions.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mgp_types::{Principal, RpcService, ValidityWatch};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::session::Session;
use super::session_id::SessionId;

/// A session and the service that answers it. Dropping it ends the session.
pub(super) struct Live<S> {
    pub(super) session: Arc<Session>,
    service: Mutex<S>,
    _permit: OwnedSemaphorePermit,
    /// The watch that ends the session with the key that opened it.
    _watch: Option<ValidityWatch>,
}

impl<S: Clone> Live<S> {
    pub(super) fn new(
        session: Arc<Session>,
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

impl<S> Drop for Live<S> {
    fn drop(&mut self) {
        self.session.close();
    }
}

type Shard<S> = Mutex<HashMap<SessionId, Arc<Live<S>>, BuildHasherDefault<IdHasher>>>;

/// The sessions by id, in shards, so that calls in different sessions seldom meet.
pub(super) struct Table<S> {
    shards: [Shard<S>; SHARDS],
    permits: Arc<Semaphore>,
    sweeper: OnceLock<AbortHandle>,
}

impl<S: RpcService> Table<S> {
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
    pub(super) fn find(&self, id: SessionId, principal: Option<&Principal>) -> Option<Arc<Live<S>>> {
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
    pub(super) fn insert(self: &Arc<Self>, live: Live<S>, idle: Duration) {
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

impl<S> Drop for Table<S> {
    fn drop(&mut self) {
        if let Some(sweeper) = self.sweeper.get() {
            sweeper.abort();
        }
    }
}

const SHARDS: usize = 16;

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
