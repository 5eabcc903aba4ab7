//! The confirmations that hold for calls to come.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mgp::Timestamp;
use mgp_types::{Object, Principal, Request, Response, ResultKind};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::ConfirmationBinding;
use crate::permission::ApprovalAnswer;

/// Confirmations that are used up by a number of calls, and end by time and with the gate.
#[derive(Debug)]
pub(super) struct StandingConfirmations<K>(Mutex<HashMap<K, StandingConfirmation, RandomState>>);

#[derive(Debug)]
struct StandingConfirmation {
    approver: Principal,
    left: u32,
    end: Instant,
}

/// The key of the next round of a call, with the state that its server gave, if it gave one.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RoundKey {
    call: ConfirmationBinding,
    state: Option<[u8; 32]>,
}

impl<K: Eq + Hash> StandingConfirmations<K> {
    /// Uses up one call of a confirmation, and returns who gave it.
    pub(super) fn take(&self, key: &K) -> Option<Principal> {
        let mut open = self.0.lock();
        let standing = open.get_mut(key)?;
        let taken = (Instant::now() < standing.end).then(|| standing.approver.clone());
        standing.left -= 1;
        if standing.left == 0 || taken.is_none() {
            open.remove(key);
        }
        taken
    }

    fn put(&self, key: K, approver: Principal, left: u32, lasts: Duration) {
        let now = Instant::now();
        let mut open = self.0.lock();
        open.retain(|_, standing| now < standing.end);
        if open.len() < MAX_STANDING {
            open.insert(key, StandingConfirmation { approver, left, end: now + lasts });
        }
    }
}

/// The confirmations that operators gave for several calls of a tool by an agent, with whatever arguments.
impl StandingConfirmations<ConfirmationBinding> {
    /// Notes that `approver` confirmed all calls of `tool` for a day.
    pub(super) fn give_all(&self, tool: ConfirmationBinding, approver: Principal) {
        self.put(tool, approver, u32::MAX, MAX_VALIDITY);
    }

    /// Notes the calls that `answer` confirms beyond the one that it was asked for, and returns whether there are any. A
    /// later answer takes the place of an earlier one.
    pub(super) fn give(&self, tool: ConfirmationBinding, answer: &ApprovalAnswer) -> bool {
        let left = answer.max_uses.saturating_sub(1);
        let lasts = answer.terms.expires_at.map_or(VALIDITY, |end| end.since(Timestamp::now()));
        if left > 0 {
            self.put(tool, answer.approver.clone(), left, lasts.min(MAX_VALIDITY));
        }
        left > 0
    }
}

/// The confirmed calls whose servers asked for input before they went on. The round that brings the input belongs to
/// the same call, and goes on under the same confirmation, once.
impl StandingConfirmations<RoundKey> {
    /// Returns who confirmed the call that `request` continues.
    pub(super) fn take_round(&self, call: ConfirmationBinding, request: &Request) -> Option<Principal> {
        let state = request.params.text("requestState");
        if state.is_none() && request.params.get("inputResponses").is_none() {
            return None;
        }
        self.take(&RoundKey::new(call, state.as_deref()))
    }

    /// Notes that `call`, which `approver` confirmed, has another round if `response` asks for one.
    pub(super) fn note(&self, call: ConfirmationBinding, approver: Principal, response: &Response) {
        if response.result.kind() == ResultKind::InputRequired
            && let Ok(result) = Object::from_raw(&response.result)
        {
            self.put(RoundKey::new(call, result.text("requestState").as_deref()), approver, 1, VALIDITY);
        }
    }
}

impl RoundKey {
    fn new(call: ConfirmationBinding, state: Option<&str>) -> Self {
        Self { call, state: state.map(|state| Sha256::digest(state).into()) }
    }
}

impl<K> Default for StandingConfirmations<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// The time that a client has to bring the input, and for which a confirmation of several calls holds if its operator
/// says nothing else.
const VALIDITY: Duration = Duration::from_mins(10);
/// The longest time for which a confirmation of several calls holds, and the time for which one holds that is asked for
/// once.
const MAX_VALIDITY: Duration = Duration::from_hours(24);
/// The largest number of standing confirmations of a kind; beyond it, each call is asked about.
const MAX_STANDING: usize = 4096;
