//! Rollbacks: who takes steps back, and when.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::canonical::Digest;
use mgp_types::ext::StructuredError;
use mgp_types::ext::transaction::{RollbackTransaction, TransactionReport, TransactionState};
use mgp_types::{Error, Principal};
use scopeguard::guard;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::book::{TransactionBook, check_words};
use super::refusal::{self, NOT_LOGGED};
use super::step::{
    CompensationCall, Compensator, InterruptedStep, RollbackCause, StepOutcome, TransactionEvent,
};
use super::transaction_state::{Phase, Step, StepState, Transaction, transaction_key};
use crate::detached::detached;
use crate::refusal::{not_stored, timed_out};

impl TransactionBook {
    /// Takes the steps of a transaction back, the last one first, and returns what became of each. Steps that run are waited
    /// for. A transaction that is being rolled back already is waited for.
    ///
    /// # Errors
    /// 2020 without such a transaction, 2022 if it has expired and was rolled back for that, 2021 if it is being committed,
    /// 3001 if the log cannot be written: then [`run`](Self::run) goes on later.
    pub async fn rollback(
        &self,
        owner: &Principal,
        rollback: &RollbackTransaction,
        compensator: Arc<dyn Compensator>,
    ) -> Result<TransactionReport, Error> {
        check_words("reason", rollback.reason.as_deref())?;
        let id = &rollback.transaction_id;
        let key = transaction_key(owner, id);
        let logging = {
            let mut table = self.table();
            let is_rolling_back =
                table.transactions.get(&key).is_some_and(|one| matches!(one.phase, Phase::RollingBack(_)));
            if is_rolling_back {
                None
            } else {
                let transaction = self.active(&mut table, key, id)?;
                let cause = RollbackCause::Asked(rollback.reason.clone());
                let event = TransactionEvent::RollbackBegun { cause };
                let now = self.now();
                transaction.apply(event.clone(), now);
                // Nobody else begins before this is on the disk.
                transaction.is_driven = true;
                Some(self.log(key, now, event))
            }
        };
        let book = self.clone();
        detached(async move {
            if let Some(logging) = logging {
                let driver = driver(&book, key);
                if let Err(error) = logging.await {
                    if let Some(transaction) = book.table().transactions.get_mut(&key) {
                        transaction.phase = Phase::Active;
                    }
                    drop(driver);
                    return Err(not_stored(NOT_LOGGED, &error));
                }
            }
            book.finish_rollback(key, &*compensator).await
        })
        .await
    }

    /// Rolls back the transactions in which nothing happens, and goes on with rollbacks that were interrupted. The future is
    /// to be run as long as the book is used, and never ends.
    pub async fn run(&self, compensator: Arc<dyn Compensator>) {
        let mut changes = self.0.changes.subscribe();
        let mut rollbacks = JoinSet::new();
        let mut driven = HashSet::new();
        loop {
            changes.borrow_and_update();
            let (due, next) = self.due();
            for key in due {
                if !driven.insert(key) {
                    continue;
                }
                let (book, compensator) = (self.clone(), Arc::clone(&compensator));
                rollbacks.spawn(async move {
                    if let Err(error) = book.finish_rollback(key, &*compensator).await {
                        tracing::error!(%error, "a rollback was interrupted; it goes on later");
                        sleep(BETWEEN_ATTEMPTS).await;
                    }
                    key
                });
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = sleep(next) => {}
                Some(ended) = rollbacks.join_next() => match ended {
                    Ok(key) => drop(driven.remove(&key)),
                    // A panic of the compensator; its rollback is not tried again by this process.
                    Err(error) => tracing::error!(%error, "a rollback broke"),
                },
            }
        }
    }

    /// Returns the rollbacks that nobody drives, and how long it is until there may be another one.
    fn due(&self) -> (Vec<Digest>, Duration) {
        let mut table = self.table();
        let now = self.now();
        for (key, transaction) in table.transactions.iter_mut().filter(|(_, one)| one.has_expired(now)) {
            self.expire(*key, transaction);
        }
        let active = table.transactions.iter().filter(|(_, one)| one.phase == Phase::Active);
        let next = active.map(|(_, one)| one.expires_at().since(now)).min();
        let is_idle = |one: &Transaction| matches!(one.phase, Phase::RollingBack(_)) && !one.is_driven;
        let idle = table.transactions.iter().filter(|(_, one)| is_idle(one));
        (idle.map(|(key, _)| *key).collect(), next.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP))
    }

    /// Brings a rollback to its end, or waits for whoever does.
    async fn finish_rollback(
        &self,
        key: Digest,
        compensator: &dyn Compensator,
    ) -> Result<TransactionReport, Error> {
        let mut changes = self.0.changes.subscribe();
        let _driver = loop {
            changes.borrow_and_update();
            {
                let mut table = self.table();
                let transaction = table.transactions.get_mut(&key).ok_or_else(gone)?;
                if transaction.ended_at.is_some() {
                    return Ok(transaction.report());
                }
                if !std::mem::replace(&mut transaction.is_driven, true) {
                    break driver(self, key);
                }
            }
            changes.changed().await.map_err(|_| gone())?;
        };
        loop {
            changes.borrow_and_update();
            let (next, owner, transaction_id) = {
                let table = self.table();
                let transaction = table.transactions.get(&key).ok_or_else(gone)?;
                let beginning = &transaction.beginning;
                (transaction.next_undo().cloned(), beginning.owner.0.clone(), beginning.id.clone())
            };
            let Some(Step { id, call: step, state, undo_begun: was_begun }) = next else {
                self.record(key, TransactionEvent::RolledBack).await?;
                let report = self.table().transactions.get(&key).ok_or_else(gone)?.report();
                if report.status == Some(TransactionState::PartiallyRolledBack) {
                    let steps = report.failures().count();
                    tracing::error!(
                        transaction = %report.transaction_id,
                        steps,
                        "a transaction was rolled back in part; somebody has to take the other steps back"
                    );
                }
                return Ok(report);
            };
            let event = match state {
                StepState::Running => {
                    changes.changed().await.map_err(|_| gone())?;
                    continue;
                }
                StepState::Unknown => {
                    let question = InterruptedStep { owner, transaction_id, step_id: id.clone(), step };
                    match in_time(compensator.resolve(question)).await {
                        Ok(outcome) => TransactionEvent::StepEnded { step: id, outcome },
                        Err(error) => not_compensated(id, &error),
                    }
                }
                StepState::Ended(StepOutcome::Undoable(compensation)) => {
                    self.record(key, TransactionEvent::CompensationBegun { step: id.clone() }).await?;
                    let call = CompensationCall {
                        owner,
                        transaction_id,
                        step_id: id.clone(),
                        step,
                        compensation,
                        key: self.table().transactions.get(&key).ok_or_else(gone)?.compensation_key(&id),
                        was_begun,
                    };
                    match in_time(compensator.compensate(call)).await {
                        Ok(()) => TransactionEvent::CompensationEnded { step: id, error: None },
                        Err(error) => not_compensated(id, &error),
                    }
                }
                _ => {
                    let message = "no call takes this step back; take it back by hand";
                    not_compensated(id, &refusal::conflict(message))
                }
            };
            self.record(key, event).await?;
        }
    }

    /// Logs an event, and then brings the transaction up to date with it: what could not be logged did not happen, and is
    /// done again.
    async fn record(&self, key: Digest, event: TransactionEvent) -> Result<(), Error> {
        let now = self.now();
        self.log(key, now, event.clone()).await.map_err(|error| refusal::rollback_not_logged(&error))?;
        if let Some(transaction) = self.table().transactions.get_mut(&key) {
            transaction.apply(event, now);
        }
        Ok(())
    }
}

/// Returns what the task that takes the steps of a transaction back holds until it ends. There is one at a time.
fn driver(book: &TransactionBook, key: Digest) -> impl Sized + use<> {
    guard(book.clone(), move |book| {
        if let Some(transaction) = book.table().transactions.get_mut(&key) {
            transaction.is_driven = false;
        }
        book.0.changes.send_replace(());
    })
}

fn not_compensated(step: mgp_types::ext::StepId, error: &Error) -> TransactionEvent {
    TransactionEvent::CompensationEnded { step, error: Some(StructuredError::of(error)) }
}

async fn in_time<T>(call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let ended = timeout(LONGEST_CALL, call).await;
    ended.unwrap_or_else(|_| Err(timed_out("the call that takes the step back did not end in time")))
}

fn gone() -> Error {
    Error::internal("the transaction was forgotten while it was rolled back")
}

/// The maximum time of a call that takes a step back.
const LONGEST_CALL: Duration = Duration::from_mins(10);

/// The pause before a rollback that was interrupted goes on.
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(5);

/// The longest time for which [`TransactionBook::run`] sleeps.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);
