//! The keys that hold: a table without a clock, a disk or a lock.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use mgp_types::RawJson;
use mgp_types::canonical::Digest;
use mgp_types::mgp::Timestamp;
use tokio::sync::watch;

use super::layer::KeyedCall;
use super::outcome::CallOutcome;
use super::store::FirstCall;

/// The outcome of a call that runs, for those who wait for it: none yet, or how it ended. With a sender that is gone nobody
/// knows how the call ended if its key is known still, and else another kernel came first.
pub(super) type RunningCall = watch::Receiver<Option<CallOutcome>>;

mgp_types::with_defaults! {
    /// The limits on the number of remembered keys and on the bytes of their outcomes.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct KeyLimits {
        pub(super) keys_of_caller: usize = 10_000,
        pub(super) keys: usize = 100_000,
        pub(super) bytes_of_caller: u64 = 64 << 20,
        pub(super) bytes: u64 = 512 << 20,
    }
}

/// The place where the outcome of a call is.
#[derive(Debug, Clone)]
pub(super) enum KeptOutcome {
    Here(RawJson),
    Stored,
    TooLarge,
}

/// A call that begins.
#[derive(Debug)]
pub(super) struct NewCall {
    pub(super) first: FirstCall,
    /// The sender of the outcome to those who wait.
    pub(super) outcome: watch::Sender<Option<CallOutcome>>,
    /// The keys that were forgotten, because they have expired.
    pub(super) expired: Vec<Digest>,
}

impl FirstCall {
    fn expires_at(self) -> Timestamp {
        self.begun_at.saturating_add(Duration::from_secs(self.ttl.seconds().into()))
    }
}

#[derive(Debug)]
pub(super) struct CallTable {
    limits: KeyLimits,
    calls: HashMap<Digest, KeptCall>,
    callers: HashMap<Digest, CallerKeys>,
    bytes: u64,
    /// No key expires before this moment.
    soonest: Timestamp,
}

/// A call whose key is remembered.
#[derive(Debug, Clone)]
pub(super) struct KeptCall {
    pub(super) first: FirstCall,
    pub(super) state: KeptState,
}

impl KeptCall {
    /// Returns whether the key stands for the call at `now`: for as long as the call runs, and until the key expires.
    pub(super) fn holds(&self, now: Timestamp) -> bool {
        !matches!(self.state, KeptState::Done { .. } | KeptState::Unknown) || self.first.expires_at() > now
    }
}

/// The state of a call whose key is remembered.
#[derive(Debug, Clone)]
pub(super) enum KeptState {
    Running(RunningCall),
    /// Another kernel carries the call out. The table has no such calls.
    #[cfg_attr(not(feature = "store"), expect(dead_code, reason = "kernels share a store"))]
    Elsewhere,
    Done {
        outcome: KeptOutcome,
        bytes: u64,
    },
    /// Nobody knows how the call ended.
    Unknown,
}

#[derive(Debug, Default)]
struct CallerKeys {
    running: usize,
    /// The keys of calls that have ended, by when they expire.
    ended: BTreeSet<(Timestamp, Digest)>,
    bytes: u64,
}

impl CallerKeys {
    fn len(&self) -> usize {
        self.running + self.ended.len()
    }

    fn next_expiry(&self) -> Option<Timestamp> {
        self.ended.first().map(|(expires_at, _)| *expires_at)
    }
}

impl CallTable {
    pub(super) fn new(limits: KeyLimits) -> Self {
        let (calls, callers) = (HashMap::new(), HashMap::new());
        Self { limits, calls, callers, bytes: 0, soonest: Timestamp::EPOCH }
    }

    /// Adds a call that was stored by a process that has ended.
    #[cfg(feature = "store")]
    pub(super) fn restore(&mut self, KeptCall { first, state }: KeptCall) {
        self.insert(first, KeptState::Unknown);
        self.end(first.id, state);
    }

    /// Adds a call that runs, as far as its caller is concerned.
    fn insert(&mut self, first: FirstCall, state: KeptState) {
        self.callers.entry(first.caller).or_default().running += 1;
        self.calls.insert(first.id, KeptCall { first, state });
    }

    /// Returns what is known of a call that comes at `now`; `None` if its key is new, or has expired.
    pub(super) fn known(&self, call: &KeyedCall, now: Timestamp) -> Option<KeptCall> {
        self.calls.get(&call.id).filter(|known| known.holds(now)).cloned()
    }

    /// Notes that a call begins at `now` whose key is new, or has expired.
    ///
    /// # Errors
    /// No more keys are remembered for the caller, or for all; one may be free after the time.
    pub(super) fn begin(&mut self, call: &KeyedCall, now: Timestamp) -> Result<NewCall, Duration> {
        self.remove(&call.id);
        let expired = self.make_room(&call.caller, now)?;
        let (outcome, running) = watch::channel(None);
        let (id, caller, arguments) = (call.id, call.caller, call.arguments);
        let first = FirstCall { id, caller, arguments, begun_at: now, ttl: call.key_terms.ttl };
        self.insert(first, KeptState::Running(running));
        Ok(NewCall { first, outcome, expired })
    }

    /// Forgets a call.
    pub(super) fn remove(&mut self, id: &Digest) {
        let Some(call) = self.calls.remove(id) else { return };
        let Some(keys) = self.callers.get_mut(&call.first.caller) else { return };
        if let KeptState::Running(_) = call.state {
            keys.running -= 1;
        } else {
            keys.ended.remove(&(call.first.expires_at(), *id));
        }
        if let KeptState::Done { bytes, .. } = call.state {
            keys.bytes -= bytes;
            self.bytes -= bytes;
        }
        if keys.len() == 0 {
            self.callers.remove(&call.first.caller);
        }
    }

    /// Notes how a call that ran has ended.
    pub(super) fn end(&mut self, id: Digest, state: KeptState) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let Some(keys) = self.callers.get_mut(&call.first.caller) else { return };
        if let KeptState::Done { bytes, .. } = &state {
            keys.bytes += bytes;
            self.bytes += bytes;
        }
        keys.running -= 1;
        keys.ended.insert((call.first.expires_at(), id));
        self.soonest = self.soonest.min(call.first.expires_at());
        call.state = state;
    }

    /// Forgets keys of the caller that have expired, and those of all where there are too many, and returns them.
    fn make_room(&mut self, caller: &Digest, now: Timestamp) -> Result<Vec<Digest>, Duration> {
        let mut expired = self.callers.get(caller).map_or_else(Vec::new, |keys| expired_at(keys, now));
        for id in &expired {
            self.remove(id);
        }
        if self.is_full() && self.soonest <= now {
            let of_others: Vec<_> = self.callers.values().flat_map(|keys| expired_at(keys, now)).collect();
            for id in &of_others {
                self.remove(id);
            }
            expired.extend(of_others);
            self.soonest = self.callers.values().filter_map(CallerKeys::next_expiry).min().unwrap_or(now);
        }
        let keys = self.callers.get(caller);
        let is_full_for_caller = keys.is_some_and(|keys| {
            keys.len() >= self.limits.keys_of_caller || keys.bytes >= self.limits.bytes_of_caller
        });
        let next = match (is_full_for_caller, self.is_full()) {
            (false, false) => return Ok(expired),
            (true, _) => keys.and_then(CallerKeys::next_expiry),
            (false, true) => Some(self.soonest),
        };
        Err(next.map_or(Duration::ZERO, |next| next.since(now)).max(LEAST_WAIT))
    }

    fn is_full(&self) -> bool {
        self.calls.len() >= self.limits.keys || self.bytes >= self.limits.bytes
    }
}

/// Returns the first keys that have expired; the bound keeps one call from paying for many.
fn expired_at(keys: &CallerKeys, now: Timestamp) -> Vec<Digest> {
    let expired = keys.ended.iter().take_while(|(expires_at, _)| *expires_at <= now);
    expired.take(MAX_AT_ONCE).map(|(_, id)| *id).collect()
}

/// The least time to wait for a key to expire.
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// The number of keys of a caller that one call forgets at most.
const MAX_AT_ONCE: usize = 256;
