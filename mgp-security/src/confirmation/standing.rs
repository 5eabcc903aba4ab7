//! The confirmations that hold for calls to come.

use std::collections::HashMap;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mgp::Timestamp;
use mgp_types::{Object, Principal, Request, Response, ResultKind};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::ConfirmationBinding;
use crate::permission::ApprovalAnswer;

/// Confirmations that are used up by a number of calls, and end by time and with the gate.
#[derive(Debug, Default)]
pub(super) struct StandingConfirmations(
    Mutex<HashMap<ConfirmationBinding, StandingConfirmation, RandomState>>,
);

#[derive(Debug)]
struct StandingConfirmation {
    approver: Principal,
    left: u32,
    end: Instant,
}

impl StandingConfirmations {
    /// Uses up one call of a confirmation, and returns who gave it.
    pub(super) fn take(&self, key: ConfirmationBinding) -> Option<Principal> {
        let mut open = self.0.lock();
        let standing = open.get_mut(&key)?;
        let taken = (Instant::now() < standing.end).then(|| standing.approver.clone());
        standing.left -= 1;
        if standing.left == 0 || taken.is_none() {
            open.remove(&key);
        }
        taken
    }

    /// Returns whether a confirmation holds for one more call.
    pub(super) fn holds(&self, key: ConfirmationBinding) -> bool {
        self.0.lock().get(&key).is_some_and(|standing| Instant::now() < standing.end)
    }

    fn put(&self, key: ConfirmationBinding, approver: Principal, left: u32, lasts: Duration) {
        let now = Instant::now();
        let mut open = self.0.lock();
        open.retain(|_, standing| now < standing.end);
        if open.len() < MAX_STANDING {
            open.insert(key, StandingConfirmation { approver, left, end: now + lasts });
        }
    }

    /// Notes the calls of `tool` that `answer` confirms beyond the one that it was asked for, and returns whether there are
    /// any: `all` for a day, or else as many as it says. A later answer takes the place of an earlier one.
    pub(super) fn give(&self, tool: ConfirmationBinding, answer: &ApprovalAnswer, all: bool) -> bool {
        let left = if all { u32::MAX } else { answer.max_uses.saturating_sub(1) };
        let end = answer.terms.expires_at.filter(|_| !all).map(|end| end.since(Timestamp::now()));
        let lasts = end.unwrap_or(if all { MAX_VALIDITY } else { VALIDITY });
        if left > 0 {
            self.put(tool, answer.approver.clone(), left, lasts.min(MAX_VALIDITY));
        }
        left > 0
    }

    /// Returns who confirmed the call that `request` continues: the round that brings the input which its server asked for
    /// belongs to the same call, and goes on under the same confirmation, once.
    pub(super) fn take_round(&self, call: ConfirmationBinding, request: &Request) -> Option<Principal> {
        let state = request.params.text("requestState");
        if state.is_none() && request.params.get("inputResponses").is_none() {
            return None;
        }
        self.take(call.with_state(state.as_deref()))
    }

    /// Notes that `call`, which `approver` confirmed, has another round if `response` asks for one.
    pub(super) fn note(&self, call: ConfirmationBinding, approver: Principal, response: &Response) {
        if response.result.kind() == ResultKind::InputRequired
            && let Ok(result) = Object::from_raw(&response.result)
        {
            self.put(call.with_state(result.text("requestState").as_deref()), approver, 1, VALIDITY);
        }
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
