//! The confirmations that are for several calls of one tool.

use std::collections::HashMap;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::Principal;
use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::ConfirmationBinding;
use crate::permission::ApprovalAnswer;

/// The confirmations that operators gave for several calls of a tool by an agent, with whatever arguments. They end by a
/// number of calls and by time, and with the gate.
#[derive(Debug)]
pub(super) struct ConfirmationBatches {
    open: Mutex<HashMap<ConfirmationBinding, ConfirmationBatch, RandomState>>,
    given: watch::Sender<u64>,
}

#[derive(Debug)]
struct ConfirmationBatch {
    approver: Principal,
    left: u32,
    end: Instant,
}

impl ConfirmationBatches {
    /// Notes the calls that `answer` confirms beyond the one that it was asked for. A later answer takes the place of an
    /// earlier one.
    pub(super) fn give(&self, tool: ConfirmationBinding, answer: &ApprovalAnswer) {
        let left = answer.max_uses.saturating_sub(1);
        if left == 0 {
            return;
        }
        let until = answer.terms.expires_at.map_or(VALIDITY, |end| end.since(Timestamp::now()));
        let now = Instant::now();
        let batch =
            ConfirmationBatch { approver: answer.approver.clone(), left, end: now + until.min(MAX_VALIDITY) };
        let mut open = self.open.lock();
        open.retain(|_, batch| now < batch.end);
        if open.len() < MAX_BATCHES {
            open.insert(tool, batch);
        }
        drop(open);
        self.given.send_modify(|given| *given += 1);
    }

    /// Uses up one call of a batch, and returns who confirmed it.
    pub(super) fn take(&self, tool: &ConfirmationBinding) -> Option<Principal> {
        let mut open = self.open.lock();
        let batch = open.get_mut(tool)?;
        let taken = (Instant::now() < batch.end).then(|| batch.approver.clone());
        batch.left -= 1;
        if batch.left == 0 || taken.is_none() {
            open.remove(tool);
        }
        taken
    }

    /// Returns a receiver that counts the batches, to wait for the next one.
    pub(super) fn given(&self) -> watch::Receiver<u64> {
        self.given.subscribe()
    }
}

impl Default for ConfirmationBatches {
    fn default() -> Self {
        Self { open: Mutex::default(), given: watch::Sender::new(0) }
    }
}

/// The time for which a batch is valid, if its operator says nothing else.
const VALIDITY: Duration = Duration::from_mins(10);
/// The longest time for which a batch is valid.
const MAX_VALIDITY: Duration = Duration::from_hours(24);
/// The largest number of open batches; beyond it, each call is asked about.
const MAX_BATCHES: usize = 1024;
