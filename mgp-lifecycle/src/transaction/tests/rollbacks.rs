//! Rollbacks: their order, their failures, and what they wait for.

use mgp_types::ext::transaction::TransactionState::{PartiallyRolledBack, RolledBack};

use super::*;
use crate::doubles::secs;

// covers: EXT-05-26, EXT-05-27, EXT-05-42
#[tokio::test(start_paused = true)]
async fn steps_are_taken_back_in_reverse_order_each_with_a_key_of_its_own() {
    let (book, recorder) = begun().await;
    for id in ["one", "two", "three"] {
        carry_out(&book, id).await;
    }
    let harmless = book.begin_step(&ada(), &step("look"), create()).await.unwrap();
    harmless.end(StepOutcome::Harmless).await.unwrap();
    let failed = book.begin_step(&ada(), &step("failed"), create()).await.unwrap();
    failed.end(StepOutcome::Failed).await.unwrap();
    let report = roll_back(&book, &recorder).await.unwrap();
    assert_eq!(report.status, Some(RolledBack));
    assert_eq!(compensations(&report), ["three compensated", "two compensated", "one compensated"]);
    assert_eq!(recorder.undone(), ["three", "two", "one"]);
    let calls = recorder.calls.lock();
    for (call, id) in calls.iter().zip(["three", "two", "one"]) {
        assert!(call.key.as_str().starts_with(&format!("compensate-tx-001-{id}.")), "{:?}", call.key);
        assert_eq!((call.owner.as_str(), &*call.compensation.tool), ("ada", "delete"));
        assert_eq!(call.step.server.as_str(), "tracker");
    }
}

// covers: EXT-05-28
#[tokio::test(start_paused = true)]
async fn a_step_that_is_not_taken_back_stops_no_other_and_is_told_with_its_error() {
    let (book, recorder) = (TransactionBook::in_memory(), Recorder::failing(&["two"]));
    book.begin(&ada(), &begin()).await.unwrap();
    for id in ["one", "two", "three"] {
        carry_out(&book, id).await;
    }
    let last = book.begin_step(&ada(), &step("mail"), create()).await.unwrap();
    last.end(StepOutcome::Final).await.unwrap();
    let report = roll_back(&book, &recorder).await.unwrap();
    assert_eq!(report.status, Some(PartiallyRolledBack));
    assert_eq!(
        compensations(&report),
        ["mail compensation_failed", "three compensated", "two compensation_failed", "one compensated"]
    );
    let errors: Vec<_> = report.failures().map(|step| step.error.as_ref().unwrap()).collect();
    assert!(errors[0].message.contains("no call takes this step back"));
    assert_eq!((&*errors[1].message, &*errors[1].code), ("the tracker is down", "SERVER_UNAVAILABLE"));
    assert_eq!(book.status(&ada(), &tx()).unwrap(), report, "it stays as it is");
    tokio::time::advance(secs(25 * 3600)).await;
    book.begin(&ada(), &BeginTransaction::new("tx-2".parse().unwrap())).await.unwrap();
    assert_eq!(state(&book), PartiallyRolledBack, "what somebody has to look after is not forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_rollback_waits_for_the_step_that_runs_and_lets_no_other_begin() {
    let (book, recorder) = begun().await;
    carry_out(&book, "one").await;
    let open = book.begin_step(&ada(), &step("two"), create()).await.unwrap();
    let (rolling, undoing) = (book.clone(), Arc::clone(&recorder));
    let rollback = tokio::spawn(async move { roll_back(&rolling, &undoing).await });
    while state(&book) != TransactionState::RollingBack {
        tokio::task::yield_now().await;
    }
    assert_eq!(book.begin_step(&ada(), &step("three"), create()).await.unwrap_err().code(), 2021);
    assert_eq!(book.commit(&ada(), &tx()).await.unwrap_err().code(), 2021);
    assert!(recorder.undone().is_empty());
    open.end(undo("two")).await.unwrap();
    assert_eq!(rollback.await.unwrap().unwrap().status, Some(RolledBack));
    assert_eq!(recorder.undone(), ["two", "one"]);
}

#[tokio::test(start_paused = true)]
async fn two_rollbacks_are_one_and_a_client_that_leaves_stops_none() {
    let (book, recorder) = begun().await;
    for id in ["one", "two"] {
        carry_out(&book, id).await;
    }
    let leaving = tokio::time::timeout(std::time::Duration::ZERO, roll_back(&book, &recorder)).await;
    assert!(leaving.is_err());
    let (first, second) = tokio::join!(roll_back(&book, &recorder), roll_back(&book, &recorder));
    assert_eq!(first.unwrap(), second.unwrap());
    assert_eq!(recorder.undone(), ["two", "one"]);
}

#[tokio::test(start_paused = true)]
async fn keys_differ_where_ids_read_alike_and_for_a_later_transaction_of_the_same_id() {
    let (book, recorder) = (TransactionBook::in_memory(), Arc::<Recorder>::default());
    let long = "x".repeat(128);
    let all = [("a-b", "c"), ("a", "b-c"), (&*long, &*long), ("a", "b-c")];
    for (transaction, step_id) in all {
        let transaction_id: TransactionId = transaction.parse().unwrap();
        book.begin(&ada(), &BeginTransaction::new(transaction_id.clone())).await.unwrap();
        let place = TransactionStep { transaction_id: transaction_id.clone(), step_id: step_id.parse().ok() };
        let open = book.begin_step(&ada(), &place, create()).await.unwrap();
        open.end(undo("x")).await.unwrap();
        let request = RollbackTransaction::new(transaction_id);
        book.rollback(&ada(), &request, Arc::clone(&recorder) as _).await.unwrap();
        tokio::time::advance(secs(24 * 3600)).await;
    }
    let keys: Vec<_> = recorder.calls.lock().iter().map(|call| call.key.clone()).collect();
    let different: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(different.len(), all.len(), "{keys:?}");
}
