//! Transactions as they happen: their steps, with the ports to whoever takes those back, their events, and the log of these.

use std::fmt;
use std::future::ready;

use mgp_types::canonical::Digest;
use mgp_types::ext::{Compensation, IdempotencyKey, StepId, StructuredError, TransactionId};
use mgp_types::mgp::{ServerId, Timestamp, ToolName};
use mgp_types::{BoxFuture, Error, Object, Principal, PrincipalKind};
use serde::{Deserialize, Serialize};

use super::book::TransactionBook;
use super::refusal;
use super::transaction_state::StepState;
use crate::detached::detached;
#[cfg(feature = "store")]
use crate::store::StoreError;
use crate::store::Written;

/// The call that a step makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepCall {
    /// The server that is called.
    pub server: ServerId,
    /// The tool that is called.
    pub tool: ToolName,
    /// The key of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IdempotencyKey>,
    /// The arguments, where they are needed to find out how an interrupted call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Object>,
    /// The call that takes the step back, where whoever makes the step knows it beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation: Option<Compensation>,
}

impl StepCall {
    /// Creates the call of `tool` at `server`.
    pub const fn new(server: ServerId, tool: ToolName) -> Self {
        Self { server, tool, key: None, arguments: None, compensation: None }
    }

    /// Sets what is needed to make the call again, and so to find out how it ended.
    #[must_use]
    pub fn repeatable(mut self, key: IdempotencyKey, arguments: Object) -> Self {
        (self.key, self.arguments) = (Some(key), Some(arguments));
        self
    }
}

/// The outcome of a step that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepOutcome {
    /// The step was carried out, and this call takes it back.
    Undoable(Compensation),
    /// The step was carried out and changed nothing.
    Harmless,
    /// The step was carried out, and no call takes it back.
    Final,
    /// The step failed and changed nothing.
    Failed,
}

/// A step as the log of its transaction has it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LoggedStep {
    /// The id of the step.
    pub id: StepId,
    /// The call that the step made, and the one that takes it back. The arguments of both are forgotten when the transaction
    /// ends.
    pub call: StepCall,
    /// The key of the call that takes the step back.
    pub compensation_key: IdempotencyKey,
    /// The stage that the step has reached.
    pub stage: StepStage,
}

/// The stage that a step of a transaction has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepStage {
    /// The step makes its call.
    Running,
    /// Nobody knows how the step ended.
    Unknown,
    /// The step failed and changed nothing.
    Failed,
    /// The step was carried out, and there is a call that takes it back.
    Pending,
    /// The step was carried out, and stays.
    Done,
    /// The step was taken back.
    Compensated,
    /// The step was not taken back, and somebody has to look after it.
    CompensationFailed,
}

/// Makes the calls that take steps back.
///
/// The calls are made one after the other, and each in the name of the one that began the transaction: whoever makes them
/// holds them to what that one may do now.
pub trait Compensator: Send + Sync + 'static {
    /// Makes a call that takes a step back. The call may come twice, with the same key, and is to have its effect once; a call
    /// that may have been made before [says so](CompensationCall::was_begun).
    fn compensate(&self, call: CompensationCall) -> BoxFuture<'_, Result<(), Error>>;

    /// Finds out how a step ended whose answer was lost, perhaps by making its call again with the same key.
    ///
    /// # Errors
    /// Nobody knows, or the question fails for now; the step is told as not taken back.
    fn resolve(&self, step: InterruptedStep) -> BoxFuture<'_, Result<StepOutcome, Error>> {
        drop(step);
        Box::pin(ready(Err(refusal::unknown_step())))
    }
}

/// A call that takes a step back.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompensationCall {
    /// The principal that began the transaction.
    pub owner: Principal,
    /// The transaction.
    pub transaction_id: TransactionId,
    /// The step that is taken back.
    pub step_id: StepId,
    /// The call of the step.
    pub step: StepCall,
    /// The call to make.
    pub compensation: Compensation,
    /// The key of the call to make.
    pub key: IdempotencyKey,
    /// True if the call may have been made before: a process died while it made the call, or could not log its end.
    pub was_begun: bool,
}

/// A step whose answer was lost.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InterruptedStep {
    /// The principal that began the transaction.
    pub owner: Principal,
    /// The transaction.
    pub transaction_id: TransactionId,
    /// The step.
    pub step_id: StepId,
    /// The call of the step.
    pub step: StepCall,
}

/// A step that is carried out now. It is to be [ended](Self::end); where it is dropped instead, nobody knows how the step
/// ended, and the transaction can only be rolled back.
#[derive(Debug)]
#[must_use = "a step that is not ended is one of which nobody knows how it ended"]
pub struct OpenStep {
    pub(super) book: TransactionBook,
    pub(super) key: Digest,
    pub(super) transaction_id: TransactionId,
    pub(super) step_id: StepId,
    pub(super) progress: StepProgress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepProgress {
    /// The step is being logged; nothing was done.
    Logging,
    Running,
    Ended,
}

impl OpenStep {
    /// Returns the id of the transaction.
    pub const fn transaction_id(&self) -> &TransactionId {
        &self.transaction_id
    }

    /// Returns the id of the step.
    pub const fn step_id(&self) -> &StepId {
        &self.step_id
    }

    /// Notes how the step ended.
    ///
    /// # Errors
    /// 3001 if the log cannot be written: the step was carried out, and this process knows how to take it back, but the next
    /// one will not.
    pub async fn end(mut self, outcome: StepOutcome) -> Result<(), Error> {
        self.progress = StepProgress::Ended;
        let logging = self.settle(outcome);
        detached(async move { logging.await.map(drop).map_err(|error| refusal::end_not_logged(&error)) })
            .await
    }

    fn settle(&self, outcome: StepOutcome) -> Written {
        let event = TransactionEvent::StepEnded { step: self.step_id.clone(), outcome: bounded(outcome) };
        let (mut table, now) = (self.book.table(), self.book.now());
        if let Some(transaction) = table.transactions.get_mut(&self.key) {
            transaction.apply(event.clone(), now);
        }
        let logging = self.book.log(self.key, now, event);
        self.book.0.changes.send_replace(());
        logging
    }
}

impl Drop for OpenStep {
    fn drop(&mut self) {
        match self.progress {
            StepProgress::Ended => {}
            StepProgress::Logging => drop(self.settle(StepOutcome::Failed)),
            StepProgress::Running => {
                let mut table = self.book.table();
                if let Some(transaction) = table.transactions.get_mut(&self.key) {
                    transaction.set(&self.step_id, StepState::Unknown);
                }
                self.book.0.changes.send_replace(());
            }
        }
    }
}

/// Returns the outcome as it is kept: a compensation that is too large is none.
fn bounded(outcome: StepOutcome) -> StepOutcome {
    match outcome {
        StepOutcome::Undoable(undo) if undo.arguments.written_bytes() > MAX_COMPENSATION_BYTES => {
            tracing::error!(tool = %undo.tool, "the arguments that take a step back are too large to be kept");
            StepOutcome::Final
        }
        outcome => outcome,
    }
}

/// The most bytes of the arguments of a compensation.
const MAX_COMPENSATION_BYTES: usize = 16 * 1024;

/// An event of the transaction that has the digest as its id.
pub(super) type LoggedEvent = (Digest, Timestamp, TransactionEvent);

/// A log of transactions. Writes are asked for when a method is called, in that order, whatever becomes of the futures.
pub(super) trait TransactionLog: fmt::Debug + Send + Sync {
    /// Returns all events of the transactions that this kernel began, in order.
    #[cfg(feature = "store")]
    fn load(&self) -> Result<Vec<LoggedEvent>, StoreError>;

    /// Appends an event.
    fn append(&self, event: LoggedEvent) -> Written;

    /// Removes transactions.
    fn forget(&self, ids: Vec<Digest>) -> Written;
}

#[cfg(feature = "store")]
mod sqlite {
    use mgp_store::time;
    use mgp_types::RawJson;
    use mgp_types::canonical::Digest;
    use rusqlite::{Row, params};

    use super::{LoggedEvent, TransactionLog, Written};
    use crate::store::{EffectStore, StoreError};

    impl TransactionLog for EffectStore {
        fn load(&self) -> Result<Vec<LoggedEvent>, StoreError> {
            let connection = self.database().connection();
            let mut query = connection.prepare(LOAD)?;
            query.query_and_then([self.kernel()], read)?.collect()
        }

        fn append(&self, (id, at, event): LoggedEvent) -> Written {
            let json = RawJson::from_value(&event).map(|raw| raw.to_string());
            self.write(move |store, change| {
                let json = json
                    .as_ref()
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.to_string().into()))?;
                change.execute(APPEND, params![id.as_bytes(), at.as_millis(), json, store.kernel()])
            })
        }

        fn forget(&self, ids: Vec<Digest>) -> Written {
            self.write(move |store, change| {
                ids.iter().map(|id| change.execute(FORGET, params![id.as_bytes(), store.kernel()])).sum()
            })
        }
    }

    fn read(row: &Row<'_>) -> Result<LoggedEvent, StoreError> {
        let event: String = row.get(2)?;
        let event = RawJson::parse(event).map_err(|_| damaged("an event that is no JSON"))?;
        let event = event.to().map_err(|_| damaged("an event that nobody knows"))?;
        Ok((Digest::from(row.get::<_, [u8; 32]>(0)?), time(row, 1)?, event))
    }

    fn damaged(what: &str) -> StoreError {
        StoreError::Damaged(format!("a transaction has {what}"))
    }

    const LOAD: &str =
        "SELECT id, happened_at, event FROM transaction_log WHERE ?1 IS NULL OR kernel = ?1 ORDER BY seq";

    const APPEND: &str =
        "INSERT INTO transaction_log (id, happened_at, event, kernel) VALUES (?1, ?2, ?3, ?4)";

    const FORGET: &str = "DELETE FROM transaction_log WHERE id = ?1 AND (?2 IS NULL OR kernel = ?2)";
}

/// An event of a transaction, as it is logged.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TransactionEvent {
    Begun(Beginning),
    /// The step is about to make its call.
    StepBegun {
        step: StepId,
        call: StepCall,
    },
    StepEnded {
        step: StepId,
        outcome: StepOutcome,
    },
    Committed,
    RollbackBegun {
        cause: RollbackCause,
    },
    /// The step is about to be taken back.
    CompensationBegun {
        step: StepId,
    },
    /// The step was taken back, or, with an error, was not.
    CompensationEnded {
        step: StepId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<StructuredError>,
    },
    RolledBack,
}

/// The first event of a transaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Beginning {
    pub(super) id: TransactionId,
    pub(super) owner: Owner,
    pub(super) timeout_seconds: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<Box<str>>,
}

/// The reason of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RollbackCause {
    /// The owner asked for it, perhaps with a reason.
    Asked(Option<Box<str>>),
    /// The transaction stood still for too long.
    Expired,
}

impl RollbackCause {
    pub(super) fn reason(&self) -> Option<&str> {
        match self {
            Self::Asked(reason) => reason.as_deref(),
            Self::Expired => Some("timeout"),
        }
    }
}

/// The principal that began a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(PrincipalKind, String)", into = "(PrincipalKind, String)")]
pub(super) struct Owner(pub(super) Principal);

mgp_types::convert!((PrincipalKind, String) => Owner, stored => Self(Principal::of(stored.0, stored.1)));

mgp_types::convert!(Owner => (PrincipalKind, String), owner => (owner.0.kind(), owner.0.as_str().to_owned()));
