//! The states of a transaction, and who may change them.

use mgp_types::ext::transaction::TransactionState::{Active, Committed, PartiallyRolledBack, RolledBack};
use tokio::time::advance;

use std::time::Duration;

use mgp_types::canonical::Digest;
use mgp_types::mgp::Timestamp;

use super::*;
use crate::doubles::{millis, secs};
#[cfg(feature = "store")]
use crate::store::StoreError;
use crate::store::Written;
use crate::transaction::step::{LoggedEvent, TransactionLog};
use crate::transaction::transaction_state::TransactionTable;
use crate::wall_clock::WallClock;

// covers: EXT-05-21
#[tokio::test(start_paused = true)]
async fn a_transaction_is_begun_once_and_a_commit_counts_its_steps() {
    let (book, recorder) = (TransactionBook::in_memory(), Arc::<Recorder>::default());
    let begun = book.begin(&ada(), &begin()).await.unwrap();
    assert_eq!((&*begun.status, begun.transaction_id.as_str()), ("begun", "tx-001"));
    assert_eq!(book.begin(&ada(), &begin()).await.unwrap_err().code(), 2021);
    carry_out(&book, "one").await;
    carry_out(&book, "two").await;
    let failed = book.begin_step(&ada(), &step("three"), create()).await.unwrap();
    failed.end(StepOutcome::Failed).await.unwrap();
    assert_eq!(state(&book), Active);
    let committed = book.commit(&ada(), &tx()).await.unwrap();
    assert_eq!((committed.status, committed.steps_completed), (Committed, 2));
    assert_eq!(roll_back(&book, &recorder).await.unwrap_err().code(), 2020);
    assert_eq!(book.begin(&ada(), &begin()).await.unwrap_err().code(), 2021, "the id is remembered");
    assert!(recorder.undone().is_empty());
}

// covers: EXT-05-30
#[tokio::test(start_paused = true)]
async fn for_everybody_else_a_transaction_does_not_exist() {
    let (book, recorder) = begun().await;
    for stranger in [Principal::new("bob"), Principal::operator("ada")] {
        assert_eq!(book.commit(&stranger, &tx()).await.unwrap_err().code(), 2020);
        assert_eq!(book.status(&stranger, &tx()).unwrap_err().code(), 2020);
        let error = book.begin_step(&stranger, &step("one"), create()).await.unwrap_err();
        assert_eq!(error.code(), 2020);
        let request = RollbackTransaction::new(tx());
        let error = book.rollback(&stranger, &request, Arc::clone(&recorder) as _).await.unwrap_err();
        assert_eq!(error.code(), 2020);
        book.begin(&stranger, &begin()).await.unwrap();
    }
    assert_eq!(state(&book), Active);
    let unknown = "tx-unknown".parse().unwrap();
    assert_eq!(book.commit(&ada(), &unknown).await.unwrap_err().code(), 2020);
}

// covers: EXT-05-29
#[tokio::test(start_paused = true)]
async fn a_transaction_without_steps_for_its_time_is_rolled_back_and_a_late_commit_refused() {
    let (book, recorder) = (TransactionBook::in_memory(), Arc::<Recorder>::default());
    let running = book.clone();
    let compensator = Arc::clone(&recorder);
    let run = tokio::spawn(async move { running.run(compensator).await });
    book.begin(&ada(), &begin()).await.unwrap();
    for id in ["one", "two"] {
        tokio::time::sleep(secs(50)).await;
        carry_out(&book, id).await;
    }
    tokio::time::sleep(millis(59_900)).await;
    assert_eq!(state(&book), Active, "each step is a new beginning of the time");
    tokio::time::sleep(secs(1)).await;
    assert_eq!(state(&book), RolledBack);
    assert_eq!(recorder.undone(), ["two", "one"]);
    assert_eq!(book.status(&ada(), &tx()).unwrap().reason.as_deref(), Some("timeout"));
    assert_eq!(book.commit(&ada(), &tx()).await.unwrap_err().code(), 2022);
    assert_eq!(book.begin_step(&ada(), &step("three"), create()).await.unwrap_err().code(), 2022);
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn a_commit_after_the_time_is_refused_though_nobody_has_noticed_yet() {
    let (book, recorder) = begun().await;
    carry_out(&book, "one").await;
    advance(millis(60_000)).await;
    assert_eq!(book.commit(&ada(), &tx()).await.unwrap_err().code(), 2022);
    let report = roll_back(&book, &recorder).await.unwrap();
    assert_eq!(report.status, Some(RolledBack));
    assert_eq!(recorder.undone(), ["one"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_runs_is_no_silence_until_the_transaction_is_an_hour_old() {
    let (book, recorder) = begun().await;
    let open = book.begin_step(&ada(), &step("long"), create()).await.unwrap();
    advance(secs(3599)).await;
    assert_eq!(state(&book), Active);
    advance(secs(1)).await;
    assert_eq!(state(&book), TransactionState::RollingBack);
    open.end(undo("long")).await.unwrap();
    assert_eq!(roll_back(&book, &recorder).await.unwrap().status, Some(RolledBack));
    assert_eq!(recorder.undone(), ["long"]);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_with_a_step_of_unknown_end_is_not_committed() {
    let (book, recorder) = begun().await;
    let open = book.begin_step(&ada(), &step("one"), create()).await.unwrap();
    let error = book.commit(&ada(), &tx()).await.unwrap_err();
    assert_eq!(error.code(), 2021);
    assert!(error.message().contains("waits for its step one"), "{error}");
    drop(open);
    let error = book.commit(&ada(), &tx()).await.unwrap_err();
    assert!(error.message().contains("roll it back"), "{error}");
    let report = roll_back(&book, &recorder).await.unwrap();
    assert_eq!(report.status, Some(PartiallyRolledBack));
    assert_eq!(compensations(&report), ["one compensation_failed"]);
    assert_eq!(state(&book), PartiallyRolledBack);
}

#[tokio::test(start_paused = true)]
async fn of_a_commit_and_a_rollback_at_once_one_alone_is_done() {
    for _ in 0..20 {
        let (book, recorder) = begun().await;
        carry_out(&book, "one").await;
        let (ada, id) = (ada(), tx());
        let (commit, rollback) = tokio::join!(book.commit(&ada, &id), roll_back(&book, &recorder));
        assert_ne!(commit.is_ok(), rollback.is_ok());
        assert_eq!(recorder.undone().is_empty(), commit.is_ok());
        assert_eq!(state(&book), if commit.is_ok() { Committed } else { RolledBack });
    }
}

/// A log that keeps the time of its last event only.
#[derive(Debug, Clone, Default)]
struct LastTime(Arc<Mutex<Option<Timestamp>>>);

impl TransactionLog for LastTime {
    #[cfg(feature = "store")]
    fn load(&self) -> Result<Vec<LoggedEvent>, StoreError> {
        Ok(Vec::new())
    }

    fn append(&self, (_, at, _): LoggedEvent) -> Written {
        *self.0.lock() = Some(at);
        Box::pin(std::future::ready(Ok(1)))
    }

    fn forget(&self, _: Vec<Digest>) -> Written {
        Box::pin(std::future::ready(Ok(1)))
    }
}

// The keys by which steps are taken back are made of that time, and the next process reads it in the log.
#[tokio::test]
async fn a_transaction_begins_at_the_time_that_its_log_has() {
    let log = LastTime::default();
    let (table, clock) = (TransactionTable::default(), WallClock::system());
    let book = TransactionBook::with_parts(table, Some(Box::new(log.clone())), clock);
    for number in 0..5000 {
        let begun = book.begin(&Principal::new(format!("agent-{number}")), &begin()).await.unwrap();
        let logged = log.0.lock().unwrap();
        assert_eq!(begun.expires_at, logged.saturating_add(Duration::from_mins(1)));
    }
}
