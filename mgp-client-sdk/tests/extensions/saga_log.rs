//! The logs of sagas on disks that take no more.

use std::path::Path;

use mgp_client_sdk::Error;
use mgp_client_sdk::types::code;
use mgp_lifecycle::store::EffectStore;
use mgp_lifecycle::transaction::TransactionBook;

use crate::office::Office;
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
