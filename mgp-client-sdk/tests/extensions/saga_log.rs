//! The logs of sagas on disks that take no more.

use std::path::Path;

use mgp_client_sdk::types::code;
use mgp_client_sdk::{Error, Saga, SagaOutcome};
use mgp_lifecycle::store::EffectStore;
use mgp_lifecycle::transaction::TransactionBook;

use crate::office::{Office, page, ticket};
use crate::servers::MODES;

/// Has the log at `path` refuse what is written after so many events.
pub(crate) fn refuse_after(path: &Path, events: u64) {
    change(
        path,
        &format!(
            "CREATE TRIGGER full BEFORE INSERT ON transaction_log \
             WHEN (SELECT count(*) FROM transaction_log) >= {events} BEGIN SELECT RAISE(ABORT, 'full'); END"
        ),
    );
}

/// Has the log at `path` take everything.
pub(crate) fn refuse_nothing(path: &Path) {
    change(path, "DROP TRIGGER IF EXISTS full");
}

fn change(path: &Path, statement: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(statement).unwrap();
}

/// Returns whether an error says that the log takes no more.
pub(crate) fn is_refusal(error: &Error) -> bool {
    error.code() == code::RESOURCE_EXHAUSTED
        && error.message().contains("the log of transactions cannot be written")
}

/// Makes what is missing of three steps, and takes all back.
async fn go_on(saga: &mut Saga, made: &mut usize) -> Result<SagaOutcome, Error> {
    for step in [ticket("a"), page("b"), ticket("c")].into_iter().skip(*made) {
        saga.step(step).await?;
        *made += 1;
    }
    saga.rollback().await
}

#[tokio::test]
async fn a_log_that_takes_no_more_is_told_before_the_next_effect_and_the_saga_goes_on_where_it_stood() {
    for mode in MODES {
        let mut refused = 0;
        for events in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sagas.db");
            let office = Office::open(mode).await;
            let log = TransactionBook::open(EffectStore::open(&path).unwrap()).unwrap();
            let mut saga = office.saga().log(&log).begin().await.unwrap();
            refuse_after(&path, events);
            let mut made = 0;
            let outcome = match go_on(&mut saga, &mut made).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    assert!(is_refusal(&error), "{error}");
                    let done = office.world.done();
                    assert!(is_refusal(&go_on(&mut saga, &mut made).await.unwrap_err()));
                    assert_eq!(office.world.done(), done, "what cannot be logged is not done");
                    let creations = done.iter().filter(|call| call.contains("create")).count();
                    assert_eq!(creations, made, "a step that was made has told its result");
                    refuse_nothing(&path);
                    refused += 1;
                    go_on(&mut saga, &mut made).await.unwrap()
                }
            };
            assert_eq!(outcome, SagaOutcome::Clean);
            assert_eq!(
                office.world.done(),
                [
                    "jira create a", "wiki create b", "jira create c", "jira delete c", "wiki delete b",
                    "jira delete a"
                ],
            );
            // Its beginning is the first event of a saga; each step and each call that takes one back has two.
            if events > 14 {
                break;
            }
        }
        assert_eq!(refused, 14, "each event but the first was refused once");
    }
}

#[tokio::test]
async fn a_saga_whose_log_takes_nothing_does_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sagas.db");
    let log = TransactionBook::open(EffectStore::open(&path).unwrap()).unwrap();
    refuse_after(&path, 0);
    for mode in MODES {
        let office = Office::open(mode).await;
        let error = office.saga().log(&log).begin().await.unwrap_err();
        assert!(is_refusal(&error) && error.message().contains("nothing was done"), "{error}");
    }
}
