//! The bounds of transactions.

use super::*;
use crate::doubles::secs;

#[tokio::test(start_paused = true)]
async fn a_caller_has_sixteen_open_transactions() {
    let book = TransactionBook::in_memory();
    let begin = |number: u32| BeginTransaction::new(format!("tx-{number}").parse().unwrap());
    for number in 0..16 {
        book.begin(&ada(), &begin(number)).await.unwrap();
    }
    let error = book.begin(&ada(), &begin(16)).await.unwrap_err();
    assert_eq!(error.code(), 3001);
    book.begin(&Principal::new("bob"), &begin(16)).await.unwrap();
    book.commit(&ada(), &"tx-3".parse().unwrap()).await.unwrap();
    book.begin(&ada(), &begin(16)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_transaction_has_a_hundred_steps_and_a_step_has_its_id_alone() {
    let (book, _) = begun().await;
    carry_out(&book, "step-2").await;
    let error = book.begin_step(&ada(), &step("step-2"), create()).await.unwrap_err();
    assert_eq!(error.code(), 2021);
    for outcome in [StepOutcome::Failed, StepOutcome::Failed, StepOutcome::Harmless] {
        let open = book.begin_step(&ada(), &step("again"), create()).await.unwrap();
        open.end(outcome).await.unwrap();
    }
    let nameless = TransactionStep { transaction_id: tx(), step_id: None };
    let mut ids = Vec::new();
    for _ in 0..98 {
        let open = book.begin_step(&ada(), &nameless, create()).await.unwrap();
        ids.push(open.step_id().clone());
        open.end(StepOutcome::Harmless).await.unwrap();
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 98);
    assert_eq!(book.begin_step(&ada(), &nameless, create()).await.unwrap_err().code(), 3001);
    assert_eq!(book.commit(&ada(), &tx()).await.unwrap().steps_completed, 100);
}

#[tokio::test(start_paused = true)]
async fn what_ended_is_remembered_for_a_day_and_a_thousand_at_the_most() {
    let book = TransactionBook::in_memory();
    let id = |number: u32| format!("tx-{number}").parse::<TransactionId>().unwrap();
    for number in 0..1001 {
        book.begin(&ada(), &BeginTransaction::new(id(number))).await.unwrap();
        book.commit(&ada(), &id(number)).await.unwrap();
    }
    assert_eq!(book.status(&ada(), &id(0)).unwrap_err().code(), 2020);
    assert!(book.status(&ada(), &id(1)).is_ok());
    tokio::time::advance(secs(24 * 3600)).await;
    book.begin(&ada(), &BeginTransaction::new(id(5000))).await.unwrap();
    assert_eq!(book.status(&ada(), &id(1000)).unwrap_err().code(), 2020);
}

#[tokio::test(start_paused = true)]
async fn words_and_what_takes_a_step_back_are_bounded() {
    let (book, recorder) = (TransactionBook::in_memory(), Arc::<Recorder>::default());
    let mut wordy = begin();
    wordy.description = Some("x".repeat(1025).into());
    assert_eq!(book.begin(&ada(), &wordy).await.unwrap_err().code(), -32602);
    book.begin(&ada(), &begin()).await.unwrap();
    let open = book.begin_step(&ada(), &step("large"), create()).await.unwrap();
    open.end(undo(&"x".repeat(17 * 1024))).await.unwrap();
    let report = roll_back(&book, &recorder).await.unwrap();
    assert_eq!(compensations(&report), ["large compensation_failed"]);
}
