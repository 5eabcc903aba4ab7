//! The open sessions, and their random ids.

use std::collections::HashMap;
use std::sync::{Arc, Once};
use std::time::Duration;

use foldhash::fast::RandomState;
use http::HeaderValue;
use mgp_types::{Principal, RpcService, ValidityWatch, hex, random_bytes};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::config::HttpConfig;
use super::session::HttpSession;

/// A session and the service that answers it. Dropping it ends the session.
pub(super) struct LiveSession<S> {
    pub(super) session: Arc<HttpSession>,
    pub(super) service: Mutex<S>,
    pub(super) _place: SessionPlace,
    /// The watch that ends the session with the key that opened it.
    pub(super) _watch: Option<ValidityWatch>,
}

impl<S> Drop for LiveSession<S> {
    fn drop(&mut self) {
        self.session.close();
    }
}

/// The number of open sessions, in all and of each principal.
#[derive(Debug, Default)]
pub(super) struct OpenSessions(Mutex<SessionCounts>);

#[derive(Debug, Default)]
struct SessionCounts {
    all: usize,
    of: HashMap<Principal, usize>,
}

/// The place of one open session among those that may be. Dropping it makes room.
#[derive(Debug)]
pub(super) struct SessionPlace {
    open: Arc<OpenSessions>,
    principal: Option<Principal>,
}

impl OpenSessions {
    pub(super) fn count(&self) -> usize {
        self.0.lock().all
    }

    fn take(
        self: &Arc<Self>,
        principal: Option<&Principal>,
        most: usize,
        most_of_one: usize,
    ) -> Result<SessionPlace, &'static str> {
        let mut counts = self.0.lock();
        if counts.all >= most {
            return Err("too many sessions are open");
        }
        if let Some(principal) = principal {
            let own = counts.of.entry(principal.clone()).or_default();
            if *own >= most_of_one {
                return Err("this client has too many sessions open: it has to end one with DELETE first");
            }
            *own += 1;
        }
        counts.all += 1;
        Ok(SessionPlace { open: Arc::clone(self), principal: principal.cloned() })
    }
}

impl Drop for SessionPlace {
    fn drop(&mut self) {
        let mut counts = self.open.0.lock();
        counts.all -= 1;
        if let Some(principal) = &self.principal
            && let Some(own) = counts.of.get_mut(principal)
        {
            *own -= 1;
            if *own == 0 {
                let _ = counts.of.remove(principal);
            }
        }
    }
}

type Shard<S> = Mutex<HashMap<SessionId, Arc<LiveSession<S>>, RandomState>>;

const SHARDS: usize = 16;

/// The sessions by id, in shards, so that calls in different sessions seldom meet.
pub(super) struct SessionTable<S> {
    shards: [Shard<S>; SHARDS],
    config: Arc<HttpConfig>,
    sweeper: Once,
}

impl<S: RpcService> SessionTable<S> {
    pub(super) fn new(config: Arc<HttpConfig>) -> Self {
        Self { shards: std::array::from_fn(|_| Shard::default()), config, sweeper: Once::new() }
    }

    /// Returns room for one more session of `principal`, or the reason why there is none. Idle sessions end to make room.
    pub(super) fn reserve(&self, principal: Option<&Principal>) -> Result<SessionPlace, &'static str> {
        let HttpConfig { max_sessions, max_sessions_per_principal, open_sessions, .. } = &*self.config;
        let place = || open_sessions.take(principal, *max_sessions, *max_sessions_per_principal);
        place().or_else(|_| {
            self.sweep();
            place()
        })
    }

    /// Returns the session with this id, if it is that of `principal` and still lives.
    pub(super) fn find(&self, id: SessionId, principal: Option<&Principal>) -> Option<Arc<LiveSession<S>>> {
        let live = self.shard(id).lock().get(&id).map(Arc::clone)?;
        (live.session.principal.as_ref() == principal && !live.session.is_over()).then_some(live)
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

    /// Ends the streams of all sessions on which no answer is waited for.
    pub(super) fn end_listening(&self) {
        for shard in &self.shards {
            for live in shard.lock().values() {
                live.session.end_listening();
            }
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
        self.sweeper.call_once(|| {
            let table = Arc::downgrade(self);
            let every = (idle / 4).clamp(Duration::from_millis(100), Duration::from_mins(1));
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(every).await;
                    let Some(table) = table.upgrade() else { return };
                    table.sweep();
                }
            });
        });
        let id = live.session.id;
        self.shard(id).lock().insert(id, Arc::new(live));
    }

    fn shard(&self, id: SessionId) -> &Shard<S> {
        &self.shards[usize::from(id.0[DIGITS - 1]) % SHARDS]
    }
}

const DIGITS: usize = 32;

/// The id of a session: 128 random bits, as the hexadecimal digits that travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SessionId([u8; DIGITS]);

impl SessionId {
    /// Creates a random id.
    pub(super) fn random() -> Self {
        Self(hex(&random_bytes::<{ DIGITS / 2 }>()))
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_travel() {
        let (one, other) = (SessionId::random(), SessionId::random());
        assert_ne!(one, other);
        assert!(one.as_str().bytes().all(|digit| digit.is_ascii_hexdigit()));
        assert_eq!(SessionId::parse(one.to_header().as_bytes()), Some(one));
        assert_eq!(SessionId::parse(b"short"), None);
    }
}
