//! Confirmations that hold for more than the call that was asked about: for several calls of a tool, and for the further
//! rounds of a call whose server asked for input.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mgp::{ServerId, Timestamp, ToolName};
use mgp_types::{Object, Principal, Request, Response, ResultKind};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::binding::ConfirmationBinding;
use crate::permission::{ApprovalAnswer, ApprovalId};

/// The confirmations of several calls of a tool by an agent, with any arguments. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ConfirmedCalls(Arc<ConfirmedCallsInner>);

#[derive(Debug, Default)]
struct ConfirmedCallsInner {
    open: StandingConfirmations<ConfirmedBatch>,
    /// The number of times that several calls were confirmed.
    given: watch::Sender<u64>,
}

/// A confirmation of several calls of a tool.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConfirmedBatch {
    /// The server of the tool.
    pub server: ServerId,
    /// The tool.
    pub tool: ToolName,
    /// The agent whose calls are confirmed.
    pub agent: Option<Principal>,
    /// The operator who confirmed them.
    pub approver: Principal,
    /// The question that the operator answered.
    pub question: Option<ApprovalId>,
    /// The number of confirmed calls; `None` for all calls until the end.
    pub calls: Option<u32>,
    /// The number of these calls that are left.
    pub left: u32,
    /// The time at which the confirmation ends.
    pub ends_at: Timestamp,
}

impl ConfirmedCalls {
    /// Returns the confirmations that hold now, by server and tool.
    pub fn list(&self) -> Vec<ConfirmedBatch> {
        let open = self.0.open.0.lock();
        let now = Instant::now();
        let shown = open
            .values()
            .filter(|standing| now < standing.end)
            .map(|standing| ConfirmedBatch { left: standing.left, ..standing.about.clone() });
        let mut all: Vec<_> = shown.collect();
        all.sort_by(|one, other| {
            (&one.server, &one.tool, one.ends_at).cmp(&(&other.server, &other.tool, other.ends_at))
        });
        all
    }

    /// Ends the confirmations that answered the question `id`. Returns whether there was one.
    pub fn forget(&self, id: &ApprovalId) -> bool {
        let mut open = self.0.open.0.lock();
        let before = open.len();
        open.retain(|_, standing| standing.about.question.as_ref() != Some(id));
        open.len() < before
    }

    /// Uses up one call of a confirmation, and returns who gave it.
    pub(super) fn take(&self, key: ConfirmationBinding) -> Option<Principal> {
        self.0.open.take(key)
    }

    /// Returns whether a confirmation holds for one more call.
    pub(super) fn holds(&self, key: ConfirmationBinding) -> bool {
        self.0.open.0.lock().get(&key).is_some_and(|standing| Instant::now() < standing.end)
    }

    /// Waits for a confirmation that is given with another call, and uses up one call of it.
    pub(super) async fn given(&self, key: ConfirmationBinding) -> Principal {
        let mut given = self.0.given.subscribe();
        loop {
            if let Some(approver) = self.take(key) {
                return approver;
            }
            // The sender is held here, so it cannot be dropped.
            let _ = given.changed().await;
        }
    }

    /// Notes the calls that `answer` confirms beyond the one that it was asked for: `all` for a day, or else as many as it
    /// says. A later answer takes the place of an earlier one.
    pub(super) fn give(
        &self,
        key: ConfirmationBinding,
        (server, tool, agent): (ServerId, ToolName, Option<Principal>),
        answer: &ApprovalAnswer,
        all: bool,
    ) {
        let left = if all { u32::MAX } else { answer.max_uses.saturating_sub(1) };
        if left == 0 {
            return;
        }
        let end = answer.terms.expires_at.filter(|_| !all).map(|end| end.since(Timestamp::now()));
        let lasts = end.unwrap_or(if all { MAX_VALIDITY } else { VALIDITY }).min(MAX_VALIDITY);
        let about = ConfirmedBatch {
            server,
            tool,
            agent,
            approver: answer.approver.clone(),
            question: answer.question.clone(),
            calls: (!all).then_some(answer.max_uses),
            left,
            ends_at: Timestamp::now().saturating_add(lasts),
        };
        self.0.open.put(key, answer.approver.clone(), about, left, lasts);
        self.0.given.send_modify(|given| *given += 1);
    }
}

/// The confirmed calls whose servers asked for input before they went on.
#[derive(Debug, Default)]
pub(super) struct ConfirmedRounds(StandingConfirmations<()>);

impl ConfirmedRounds {
    /// Returns who confirmed the call that `request` continues: the round that brings the input which its server asked for
    /// belongs to the same call, and goes on under the same confirmation, once.
    pub(super) fn take(&self, call: ConfirmationBinding, request: &Request) -> Option<Principal> {
        let state = request.params.text("requestState");
        if state.is_none() && request.params.get("inputResponses").is_none() {
            return None;
        }
        self.0.take(call.with_state(state.as_deref()))
    }

    /// Notes that `call`, which `approver` confirmed, has another round if `response` asks for one.
    pub(super) fn note(&self, call: ConfirmationBinding, approver: Principal, response: &Response) {
        if response.result.kind() == ResultKind::InputRequired
            && let Ok(result) = Object::from_raw(&response.result)
        {
            self.0.put(call.with_state(result.text("requestState").as_deref()), approver, (), 1, VALIDITY);
        }
    }
}

/// Confirmations that are used up by a number of calls, and end by time.
#[derive(Debug)]
struct StandingConfirmations<T>(Mutex<HashMap<ConfirmationBinding, StandingConfirmation<T>, RandomState>>);

#[derive(Debug)]
struct StandingConfirmation<T> {
    approver: Principal,
    about: T,
    left: u32,
    end: Instant,
}

impl<T> Default for StandingConfirmations<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> StandingConfirmations<T> {
    /// Uses up one call of a confirmation, and returns who gave it.
    fn take(&self, key: ConfirmationBinding) -> Option<Principal> {
        let mut open = self.0.lock();
        let standing = open.get_mut(&key)?;
        let taken = (Instant::now() < standing.end).then(|| standing.approver.clone());
        standing.left -= 1;
        if standing.left == 0 || taken.is_none() {
            open.remove(&key);
        }
        taken
    }

    fn put(&self, key: ConfirmationBinding, approver: Principal, about: T, left: u32, lasts: Duration) {
        let now = Instant::now();
        let mut open = self.0.lock();
        open.retain(|_, standing| now < standing.end);
        if open.len() < MAX_STANDING {
            open.insert(key, StandingConfirmation { approver, about, left, end: now + lasts });
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
