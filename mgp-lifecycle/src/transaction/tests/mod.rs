//! Transactions, and what becomes of their steps.

#[cfg(feature = "store")]
mod full_disk;
#[cfg(feature = "store")]
mod kills;
mod limits;
mod rollbacks;
mod states;

use std::sync::Arc;

use mgp_types::ext::transaction::{
    BeginTransaction, RollbackTransaction, TransactionReport, TransactionState, TransactionStep,
};
use mgp_types::ext::{Compensation, StepId, TransactionId};
use mgp_types::{BoxFuture, Error, Object, Principal};
use parking_lot::Mutex;

use super::{CompensationCall, Compensator, StepCall, StepOutcome, TransactionBook};

fn ada() -> Principal {
    Principal::new("ada")
}

fn tx() -> TransactionId {
    "tx-001".parse().unwrap()
}

fn begin() -> BeginTransaction {
    BeginTransaction::new(tx()).with_timeout_seconds(60)
}

fn step(id: &str) -> TransactionStep {
    TransactionStep { transaction_id: tx(), step_id: Some(id.parse::<StepId>().unwrap()) }
}

fn create() -> StepCall {
    StepCall::new("tracker".into(), "create".into())
}

/// Returns the outcome of a step that this call takes back.
fn undo(id: &str) -> StepOutcome {
    let arguments = Object::parse(format!(r#"{{"id":"{id}"}}"#)).unwrap();
    StepOutcome::Undoable(Compensation::new("delete", arguments))
}

/// Returns a book with an open transaction, and what takes its steps back.
async fn begun() -> (TransactionBook, Arc<Recorder>) {
    let book = TransactionBook::in_memory();
    book.begin(&ada(), &begin()).await.unwrap();
    (book, Arc::default())
}

/// Carries out a step that is taken back by a call of its own.
async fn carry_out(book: &TransactionBook, id: &str) {
    book.begin_step(&ada(), &step(id), create()).await.unwrap().end(undo(id)).await.unwrap();
}

async fn roll_back(book: &TransactionBook, compensator: &Arc<Recorder>) -> Result<TransactionReport, Error> {
    let compensator = Arc::clone(compensator) as Arc<dyn Compensator>;
    book.rollback(&ada(), &RollbackTransaction::new(tx()), compensator).await
}

fn state(book: &TransactionBook) -> TransactionState {
    book.status(&ada(), &tx()).unwrap().status.unwrap()
}

/// Returns the steps of a report, each with the first letter of its status.
fn compensations(report: &TransactionReport) -> Vec<String> {
    let steps = report.steps_compensated.iter();
    steps.map(|step| format!("{} {}", step.step_id, step.status)).collect()
}

/// A compensator that records its calls, and fails for some steps.
#[derive(Debug, Default)]
struct Recorder {
    calls: Mutex<Vec<CompensationCall>>,
    fails: Vec<&'static str>,
}

impl Recorder {
    fn failing(fails: &[&'static str]) -> Arc<Self> {
        Arc::new(Self { fails: fails.to_vec(), ..Self::default() })
    }

    /// Returns the arguments of the calls, in order.
    fn undone(&self) -> Vec<String> {
        let id = |call: &CompensationCall| call.compensation.arguments.text("id").unwrap().into_owned();
        self.calls.lock().iter().map(id).collect()
    }
}

impl Compensator for Recorder {
    fn compensate(&self, call: CompensationCall) -> BoxFuture<'_, Result<(), Error>> {
        let fails = self.fails.contains(&call.step_id.as_str());
        self.calls.lock().push(call);
        Box::pin(async move {
            tokio::task::yield_now().await;
            if fails { Err(Error::disconnected("the tracker is down")) } else { Ok(()) }
        })
    }
}
