//! One transaction: its steps and its phase, without a clock, a disk or a lock.

use std::collections::HashMap;
use std::time::Duration;

use mgp_types::canonical::Digest;
use mgp_types::ext::transaction::{CompensatedStep, TransactionReport, TransactionState};
use mgp_types::ext::{IdempotencyKey, StepId, StructuredError, TransactionId};
use mgp_types::mgp::Timestamp;
use mgp_types::{Error, Object, Principal};

use super::refusal;
#[cfg(feature = "store")]
use super::step::LoggedEvent;
use super::step::{Beginning, LoggedStep, RollbackCause, StepCall, StepOutcome, StepStage, TransactionEvent};

#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) beginning: Beginning,
    pub(super) phase: Phase,
    pub(super) steps: Vec<Step>,
    /// True while a task takes steps back.
    pub(super) is_driven: bool,
    pub(super) ended_at: Option<Timestamp>,
    begun_at: Timestamp,
    active_at: Timestamp,
    /// The number of transactions that were begun before.
    place: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// The beginning is being stored.
    Opening,
    Active,
    /// The commit is being stored.
    Committing,
    Committed,
    RollingBack(RollbackCause),
    RolledBack(RollbackCause),
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) id: StepId,
    pub(super) call: StepCall,
    pub(super) state: StepState,
    /// True once the call that takes the step back may have been made.
    pub(super) undo_begun: bool,
}

#[derive(Debug, Clone)]
pub(super) enum StepState {
    Running,
    /// Nobody knows how the step ended.
    Unknown,
    Ended(StepOutcome),
    Compensated,
    NotCompensated(StructuredError),
}

impl StepState {
    const fn stage(&self) -> StepStage {
        match self {
            Self::Running => StepStage::Running,
            Self::Unknown => StepStage::Unknown,
            Self::Ended(StepOutcome::Failed) => StepStage::Failed,
            Self::Ended(StepOutcome::Undoable(_)) => StepStage::Pending,
            Self::Ended(StepOutcome::Harmless | StepOutcome::Final) => StepStage::Done,
            Self::Compensated => StepStage::Compensated,
            Self::NotCompensated(_) => StepStage::CompensationFailed,
        }
    }
}

impl Transaction {
    const fn new(beginning: Beginning, begun_at: Timestamp, place: u64) -> Self {
        Self {
            beginning,
            phase: Phase::Opening,
            steps: Vec::new(),
            is_driven: false,
            ended_at: None,
            begun_at,
            active_at: begun_at,
            place,
        }
    }

    /// Brings the state up to date with an event that happened at `at`.
    pub(super) fn apply(&mut self, event: TransactionEvent, at: Timestamp) {
        match event {
            TransactionEvent::Begun(_) => self.phase = Phase::Active,
            TransactionEvent::StepBegun { step, call } => {
                self.active_at = self.active_at.max(at);
                // A step that failed may come again.
                self.steps.retain(|one| one.id != step);
                self.steps.push(Step { id: step, call, state: StepState::Running, undo_begun: false });
            }
            TransactionEvent::StepEnded { step, outcome } => {
                self.active_at = self.active_at.max(at);
                if let StepOutcome::Undoable(undo) = &outcome
                    && let Some(ended) = self.steps.iter_mut().find(|one| one.id == step)
                {
                    ended.call.compensation = Some(undo.clone());
                }
                self.set(&step, StepState::Ended(outcome));
            }
            TransactionEvent::Committed => self.end(Phase::Committed, at),
            TransactionEvent::RollbackBegun { cause } => {
                (self.phase, self.ended_at) = (Phase::RollingBack(cause), None);
            }
            TransactionEvent::CompensationBegun { step } => {
                self.note_rollback();
                if let Some(undone) = self.steps.iter_mut().find(|one| one.id == step) {
                    undone.undo_begun = true;
                }
            }
            TransactionEvent::CompensationEnded { step, error } => {
                self.note_rollback();
                self.set(&step, error.map_or(StepState::Compensated, StepState::NotCompensated));
            }
            TransactionEvent::RolledBack => {
                if let Phase::RollingBack(cause) = &self.phase {
                    self.end(Phase::RolledBack(cause.clone()), at);
                }
            }
        }
    }

    /// Notes that steps are taken back. Nobody waits for the write of an expiry, so that it may be missing before.
    fn note_rollback(&mut self) {
        if self.phase == Phase::Active {
            self.phase = Phase::RollingBack(RollbackCause::Expired);
        }
    }

    /// Notes that the process ended in which the steps ran.
    #[cfg(feature = "store")]
    pub(super) fn interrupt(&mut self) {
        for step in &mut self.steps {
            if matches!(step.state, StepState::Running) {
                step.state = StepState::Unknown;
            }
        }
    }

    pub(super) fn set(&mut self, id: &StepId, state: StepState) {
        if let Some(step) = self.steps.iter_mut().find(|step| step.id == *id) {
            step.state = state;
        }
    }

    /// Ends the transaction. What takes its steps back is not needed any more.
    fn end(&mut self, phase: Phase, at: Timestamp) {
        (self.phase, self.ended_at) = (phase, Some(at));
        for step in &mut self.steps {
            if let StepState::Ended(StepOutcome::Undoable(_)) = &step.state {
                step.state = StepState::Ended(StepOutcome::Final);
            }
            step.call.arguments = None;
            if let Some(compensation) = &mut step.call.compensation {
                compensation.arguments = Object::new();
            }
        }
    }

    /// Returns whether there is a step with this id that did not fail.
    pub(super) fn has_step(&self, id: &StepId) -> bool {
        let has_failed = |step: &Step| matches!(step.state, StepState::Ended(StepOutcome::Failed));
        self.steps.iter().any(|step| step.id == *id && !has_failed(step))
    }

    /// Returns the moment at which the transaction is rolled back if nothing happens. A step that runs is something that
    /// happens, until the transaction is an hour old.
    pub(super) fn expires_at(&self) -> Timestamp {
        let oldest = self.begun_at.saturating_add(LONGEST_TRANSACTION);
        if self.steps.iter().any(|step| matches!(step.state, StepState::Running)) {
            return oldest;
        }
        let timeout = Duration::from_secs(self.beginning.timeout_seconds.into());
        oldest.min(self.active_at.saturating_add(timeout))
    }

    /// Returns whether the transaction has ended, and nobody has to look after it.
    fn is_settled(&self) -> bool {
        self.ended_at.is_some() && self.state() != TransactionState::PartiallyRolledBack
    }

    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.phase == Phase::Active && self.expires_at() <= now
    }

    /// Returns the number of steps that were carried out.
    pub(super) fn completed(&self) -> usize {
        let is_done = |step: &&Step| matches!(&step.state, StepState::Ended(outcome) if *outcome != StepOutcome::Failed);
        self.steps.iter().filter(is_done).count()
    }

    /// Returns the step that a rollback turns to next: one that runs, or else the last that is not taken back yet.
    pub(super) fn next_undo(&self) -> Option<&Step> {
        let runs = |step: &&Step| matches!(step.state, StepState::Running);
        let is_left = |step: &&Step| match &step.state {
            StepState::Unknown => true,
            StepState::Ended(outcome) => matches!(outcome, StepOutcome::Undoable(_) | StepOutcome::Final),
            _ => false,
        };
        self.steps.iter().find(runs).or_else(|| self.steps.iter().rev().find(is_left))
    }

    /// Returns the key of the call that takes a step back. The digest tells the step from others whose ids read alike, and
    /// from those of an earlier transaction with the same id.
    pub(super) fn compensation_key(&self, step: &StepId) -> IdempotencyKey {
        let (id, step) = (self.beginning.id.as_str(), step.as_str());
        let begun_at = self.begun_at.as_millis().to_be_bytes();
        let digest = Digest::of_parts([id.as_bytes(), step.as_bytes(), &begun_at]).to_string();
        let mut key = format!("compensate-{id}-{step}");
        key.truncate(MAX_READABLE);
        format!("{key}.{}", &digest[..16]).parse().expect("ids have the characters of keys")
    }

    /// Returns the steps, the first one first.
    pub(super) fn logged_steps(&self) -> Vec<LoggedStep> {
        let logged = |step: &Step| LoggedStep {
            id: step.id.clone(),
            call: step.call.clone(),
            compensation_key: self.compensation_key(&step.id),
            stage: step.state.stage(),
        };
        self.steps.iter().map(logged).collect()
    }

    pub(super) fn state(&self) -> TransactionState {
        let has_failure = || self.steps.iter().any(|step| matches!(step.state, StepState::NotCompensated(_)));
        match self.phase {
            Phase::Opening | Phase::Active | Phase::Committing => TransactionState::Active,
            Phase::Committed => TransactionState::Committed,
            Phase::RollingBack(_) => TransactionState::RollingBack,
            Phase::RolledBack(_) if has_failure() => TransactionState::PartiallyRolledBack,
            Phase::RolledBack(_) => TransactionState::RolledBack,
        }
    }

    pub(super) fn report(&self) -> TransactionReport {
        let mut report = TransactionReport::new(self.beginning.id.clone(), self.state());
        let steps = self.steps.iter().rev();
        report.steps_compensated = steps
            .filter_map(|step| match &step.state {
                StepState::Compensated => Some(CompensatedStep::compensated(step.id.clone())),
                StepState::NotCompensated(error) => {
                    Some(CompensatedStep::failed(step.id.clone(), error.clone()))
                }
                _ => None,
            })
            .collect();
        report.reason = match &self.phase {
            Phase::RollingBack(cause) | Phase::RolledBack(cause) => cause.reason().map(Into::into),
            _ => None,
        };
        report.expires_at = (self.phase == Phase::Active).then(|| self.expires_at());
        report
    }
}

/// The age at which a transaction is rolled back, whatever happens.
const LONGEST_TRANSACTION: Duration = Duration::from_hours(1);

/// The readable bytes of a key, which leave room for the digest.
const MAX_READABLE: usize = 128 - 17;

#[derive(Debug, Default)]
pub(super) struct TransactionTable {
    pub(super) transactions: HashMap<Digest, Transaction>,
    /// The number of transactions that were begun.
    begun: u64,
}

impl TransactionTable {
    /// Returns the table that the events make. Events of a transaction whose beginning was not stored mean nothing.
    #[cfg(feature = "store")]
    pub(super) fn restore(events: Vec<LoggedEvent>) -> Self {
        let mut table = Self::default();
        for (id, at, event) in events {
            if let TransactionEvent::Begun(beginning) = &event {
                table.insert(id, beginning.clone(), at);
            }
            if let Some(transaction) = table.transactions.get_mut(&id) {
                transaction.apply(event, at);
            }
        }
        table.transactions.values_mut().for_each(Transaction::interrupt);
        table
    }

    /// Adds a transaction, and returns those that were forgotten for it.
    ///
    /// # Errors
    /// 2021 if there is one with the id, 3001 if the owner has too many.
    pub(super) fn begin(
        &mut self,
        beginning: Beginning,
        now: Timestamp,
    ) -> Result<(Digest, Vec<Digest>), Error> {
        let id = transaction_key(&beginning.owner.0, &beginning.id);
        let mut forgotten = self.forget(now);
        if self.transactions.contains_key(&id) {
            let id = beginning.id;
            return Err(refusal::conflict(format!("the transaction {id} exists already; choose another id")));
        }
        let is_own = |one: &Transaction| one.beginning.owner == beginning.owner;
        let own: Vec<_> = self.transactions.iter().filter(|(_, one)| is_own(one)).collect();
        if own.iter().filter(|(_, one)| one.ended_at.is_none()).count() >= MAX_OPEN {
            return Err(refusal::too_many("too many transactions are open; commit one, or roll one back"));
        }
        if own.len() >= MAX_OF_OWNER {
            let settled = own.into_iter().filter(|(_, one)| one.is_settled());
            let oldest = settled.min_by_key(|(_, one)| one.place).map(|(id, _)| *id);
            let full = "too many transactions were rolled back in part; an operator has to look at them";
            let oldest = oldest.ok_or_else(|| refusal::too_many(full))?;
            self.transactions.remove(&oldest);
            forgotten.push(oldest);
        }
        if self.transactions.len() >= MAX_REMEMBERED {
            return Err(refusal::too_many("too many transactions are remembered"));
        }
        self.insert(id, beginning, now);
        Ok((id, forgotten))
    }

    fn insert(&mut self, id: Digest, beginning: Beginning, begun_at: Timestamp) {
        self.transactions.insert(id, Transaction::new(beginning, begun_at, self.begun));
        self.begun += 1;
    }

    /// Forgets what ended a day ago, but for what somebody has to look after.
    fn forget(&mut self, now: Timestamp) -> Vec<Digest> {
        let has_passed = |ended_at| now.since(ended_at) >= REMEMBERED;
        let is_old = |one: &Transaction| one.is_settled() && one.ended_at.is_some_and(has_passed);
        self.transactions.extract_if(|_, one| is_old(one)).map(|(id, _)| id).collect()
    }
}

/// Returns the digest that stands for the transaction `id` of `owner`.
pub(super) fn transaction_key(owner: &Principal, id: &TransactionId) -> Digest {
    let parts = ["mgp transaction 1", owner.kind().as_str(), owner.as_str(), id.as_str()];
    Digest::of_parts(parts.map(str::as_bytes))
}

/// The transactions of an owner that are open at once.
const MAX_OPEN: usize = 16;

/// The transactions of an owner that are remembered.
const MAX_OF_OWNER: usize = 1000;

/// All transactions that are remembered.
const MAX_REMEMBERED: usize = 20_000;

/// The time for which a transaction is remembered after its end.
const REMEMBERED: Duration = Duration::from_hours(24);
