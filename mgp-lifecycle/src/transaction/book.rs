//! The transactions, and what is asked of them.

use std::sync::Arc;

use mgp_types::canonical::Digest;
use mgp_types::ext::transaction::{
    BeginTransaction, MAX_WORDS_BYTES, TransactionBegun, TransactionCommitted, TransactionReport,
    TransactionStep,
};
use mgp_types::ext::{StepId, TransactionId};
use mgp_types::mgp::Timestamp;
use mgp_types::{Error, Principal};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::refusal::{self, NOT_LOGGED};
use super::step::{
    Beginning, LoggedStep, OpenStep, Owner, RollbackCause, StepCall, StepProgress, TransactionEvent,
    TransactionLog,
};
use super::transaction_state::{Phase, StepState, Transaction, TransactionTable, transaction_key};
use crate::detached::detached;
use crate::refusal::not_stored;
#[cfg(feature = "store")]
use crate::store::StoreError;
use crate::store::Written;
use crate::wall_clock::WallClock;

/// The transactions of all callers. Clones are one book.
///
/// A caller has 16 open transactions at the most, and each has 100 steps at the most. A transaction is remembered for a day
/// after its end. The methods that change something have to be called within a tokio runtime; what they began goes on if
/// their future is dropped.
#[derive(Debug, Clone)]
pub struct TransactionBook(pub(super) Arc<TransactionBookShared>);

#[derive(Debug)]
pub(super) struct TransactionBookShared {
    table: Mutex<TransactionTable>,
    pub(super) log: Option<Box<dyn TransactionLog>>,
    clock: WallClock,
    /// Told of every change that somebody may wait for.
    pub(super) changes: watch::Sender<()>,
}

impl TransactionBook {
    /// Creates a book that is forgotten with the process.
    pub fn in_memory() -> Self {
        Self::with_parts(TransactionTable::default(), None, WallClock::system())
    }

    /// Opens the book in `store`. Transactions that were open go on; [`run`](Self::run) takes care of them.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    #[cfg(feature = "store")]
    pub fn open(store: crate::store::EffectStore) -> Result<Self, StoreError> {
        Self::restored(Box::new(store), WallClock::system())
    }

    /// Returns whether the book outlives the process.
    pub fn is_stored(&self) -> bool {
        self.0.log.is_some()
    }

    #[cfg(feature = "store")]
    pub(super) fn restored(log: Box<dyn TransactionLog>, clock: WallClock) -> Result<Self, StoreError> {
        let table = TransactionTable::restore(log.load()?);
        Ok(Self::with_parts(table, Some(log), clock))
    }

    pub(super) fn with_parts(
        table: TransactionTable,
        log: Option<Box<dyn TransactionLog>>,
        clock: WallClock,
    ) -> Self {
        let changes = watch::Sender::new(());
        Self(Arc::new(TransactionBookShared { table: Mutex::new(table), log, clock, changes }))
    }

    /// Opens a transaction of `owner`.
    ///
    /// # Errors
    /// 2021 if the owner has one with this id, 3001 if there are too many or the log cannot be written.
    pub async fn begin(
        &self,
        owner: &Principal,
        begin: &BeginTransaction,
    ) -> Result<TransactionBegun, Error> {
        check_words("description", begin.description.as_deref())?;
        let beginning = Beginning {
            id: begin.transaction_id.clone(),
            owner: Owner(owner.clone()),
            timeout_seconds: begin.timeout_seconds,
            description: begin.description.clone(),
        };
        let (key, logging) = {
            let (mut table, now) = (self.table(), self.now());
            let (key, forgotten) = table.begin(beginning.clone(), now)?;
            if let Some(log) = self.0.log.as_ref().filter(|_| !forgotten.is_empty()) {
                drop(log.forget(forgotten));
            }
            (key, self.log(key, now, TransactionEvent::Begun(beginning.clone())))
        };
        let book = self.clone();
        let opening = async move {
            let outcome = logging.await;
            let mut table = book.table();
            if let Err(error) = outcome {
                table.transactions.remove(&key);
                return Err(not_stored(NOT_LOGGED, &error));
            }
            let transaction =
                table.transactions.get_mut(&key).ok_or_else(|| refusal::not_found(&beginning.id))?;
            transaction.phase = Phase::Active;
            Ok(TransactionBegun::new(beginning.id, transaction.expires_at()))
        };
        let outcome = detached(opening).await;
        self.0.changes.send_replace(());
        outcome
    }

    /// Opens a step of a transaction; one that failed can be opened again. The step is to be carried out when this returns, and ended with
    /// [`OpenStep::end`].
    ///
    /// # Errors
    /// 2020 without such a transaction, 2022 if it has expired, 2021 if it has such a step or ends, 3001 if it has too many
    /// steps or the log cannot be written.
    pub async fn begin_step(
        &self,
        owner: &Principal,
        step: &TransactionStep,
        call: StepCall,
    ) -> Result<OpenStep, Error> {
        let id = &step.transaction_id;
        let key = transaction_key(owner, id);
        let (mut open, logging) = {
            let mut table = self.table();
            let now = self.now();
            let transaction = self.active(&mut table, key, id)?;
            if transaction.steps.len() >= MAX_STEPS {
                let full = "the transaction has 100 steps; commit it, and begin another one";
                return Err(refusal::too_many(full));
            }
            let step_id = match &step.step_id {
                Some(id) if transaction.has_step(id) => {
                    let message = format!("the step {id} exists already; give each step an id of its own");
                    return Err(refusal::conflict(message));
                }
                Some(step_id) => step_id.clone(),
                None => free_step_id(transaction),
            };
            let event = TransactionEvent::StepBegun { step: step_id.clone(), call };
            transaction.apply(event.clone(), now);
            let (book, transaction_id) = (self.clone(), id.clone());
            let open = OpenStep { book, key, transaction_id, step_id, progress: StepProgress::Logging };
            (open, self.log(key, now, event))
        };
        logging.await.map_err(|error| not_stored(NOT_LOGGED, &error))?;
        // The transaction may have ended meanwhile; the step is then closed without having been carried out.
        self.active(&mut self.table(), key, id)?;
        open.progress = StepProgress::Running;
        Ok(open)
    }

    /// Ends a transaction and keeps the effects of its steps.
    ///
    /// # Errors
    /// 2020 without such a transaction, 2022 if it has expired, 2021 if a step runs or nobody knows how one ended, 3001 if
    /// the log cannot be written.
    pub async fn commit(&self, owner: &Principal, id: &TransactionId) -> Result<TransactionCommitted, Error> {
        let key = transaction_key(owner, id);
        let logging = {
            let mut table = self.table();
            let transaction = self.active(&mut table, key, id)?;
            let in_the_way = transaction.steps.iter().find_map(|step| match step.state {
                StepState::Running => Some(format!("waits for its step {}; commit it then", step.id)),
                StepState::Unknown => {
                    Some(format!("has a step {} of which nobody knows how it ended; roll it back", step.id))
                }
                _ => None,
            });
            if let Some(why) = in_the_way {
                return Err(refusal::busy(id, &why));
            }
            transaction.phase = Phase::Committing;
            self.log(key, self.now(), TransactionEvent::Committed)
        };
        let (book, id) = (self.clone(), id.clone());
        detached(async move {
            let outcome = logging.await;
            let mut table = book.table();
            let transaction = table.transactions.get_mut(&key).ok_or_else(|| refusal::not_found(&id))?;
            if let Err(error) = outcome {
                transaction.phase = Phase::Active;
                return Err(not_stored(NOT_LOGGED, &error));
            }
            let completed = transaction.completed();
            transaction.apply(TransactionEvent::Committed, book.now());
            Ok(TransactionCommitted::new(id, completed))
        })
        .await
    }

    /// Returns how a transaction stands.
    ///
    /// # Errors
    /// 2020 if `owner` has no such transaction, and had none in the last day.
    pub fn status(&self, owner: &Principal, id: &TransactionId) -> Result<TransactionReport, Error> {
        let (mut table, key, now) = (self.table(), transaction_key(owner, id), self.now());
        let transaction = table.transactions.get_mut(&key).filter(|one| one.phase != Phase::Opening);
        let transaction = transaction.ok_or_else(|| refusal::not_found(id))?;
        if transaction.has_expired(now) {
            self.expire(key, transaction);
        }
        Ok(transaction.report())
    }

    /// Returns the steps of a transaction, the first one first.
    ///
    /// # Errors
    /// 2020 if `owner` has no such transaction, and had none in the last day.
    pub fn steps(&self, owner: &Principal, id: &TransactionId) -> Result<Vec<LoggedStep>, Error> {
        let (table, key) = (self.table(), transaction_key(owner, id));
        let transaction = table.transactions.get(&key).filter(|one| one.phase != Phase::Opening);
        transaction.map(Transaction::logged_steps).ok_or_else(|| refusal::not_found(id))
    }

    pub(super) fn table(&self) -> MutexGuard<'_, TransactionTable> {
        self.0.table.lock()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Asks for the write of an event. That is done under the lock of the table, so that the log has the order of the table.
    /// The table and the log have one time of it: the keys by which steps are taken back are made of the first one, and the
    /// next process has it from the log. Nothing that the event announces is done before it is written.
    pub(super) fn log(&self, key: Digest, at: Timestamp, event: TransactionEvent) -> Written {
        match &self.0.log {
            Some(log) => log.append((key, at, event)),
            None => Box::pin(std::future::ready(Ok(0))),
        }
    }

    /// Returns a transaction that takes steps. One that has expired begins to be rolled back instead.
    pub(super) fn active<'a>(
        &self,
        table: &'a mut MutexGuard<'_, TransactionTable>,
        key: Digest,
        id: &TransactionId,
    ) -> Result<&'a mut Transaction, Error> {
        let now = self.now();
        let transaction = table.transactions.get_mut(&key).ok_or_else(|| refusal::not_found(id))?;
        if transaction.has_expired(now) {
            self.expire(key, transaction);
        }
        match &transaction.phase {
            Phase::Active => Ok(transaction),
            Phase::Opening => Err(refusal::busy(id, "is being opened")),
            Phase::Committing => Err(refusal::busy(id, "is being committed")),
            Phase::RollingBack(RollbackCause::Expired) | Phase::RolledBack(RollbackCause::Expired) => {
                Err(refusal::expired(id))
            }
            Phase::RollingBack(_) => Err(refusal::busy(id, "is being rolled back")),
            Phase::Committed | Phase::RolledBack(_) => Err(refusal::not_found(id)),
        }
    }

    /// Has a transaction rolled back in which nothing happened. Nobody waits for the write: the time that passed is
    /// the same for the next process, and steps are taken back only when that is logged.
    pub(super) fn expire(&self, key: Digest, transaction: &mut Transaction) {
        let event = TransactionEvent::RollbackBegun { cause: RollbackCause::Expired };
        let now = self.now();
        transaction.apply(event.clone(), now);
        drop(self.log(key, now, event));
        tracing::warn!(transaction = %transaction.beginning.id, "nothing happened in a transaction; it is rolled back");
        self.0.changes.send_replace(());
    }
}

/// Returns an id that no step of the transaction has.
fn free_step_id(transaction: &Transaction) -> StepId {
    let is_free = |id: &StepId| transaction.steps.iter().all(|step| step.id != *id);
    let numbers = transaction.steps.len() + 1..;
    let mut ids = numbers.filter_map(|number| format!("step-{number}").parse().ok());
    ids.find(is_free).expect("one of endless ids is free")
}

pub(super) fn check_words(name: &str, words: Option<&str>) -> Result<(), Error> {
    if words.is_some_and(|words| words.len() > MAX_WORDS_BYTES) {
        return Err(Error::invalid_params(format!("`{name}` has at most {MAX_WORDS_BYTES} bytes")));
    }
    Ok(())
}

/// The most steps of a transaction.
const MAX_STEPS: usize = 100;
