//! Transactions whose log is on a full disk.

use super::*;
use crate::store::{EffectStore, StoreError};

/// Leaves no room for one more event.
fn fill(store: &EffectStore) {
    let connection = store.database().connection();
    let pages: u32 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    let filler = "INSERT INTO transaction_log (id, happened_at, event) VALUES (zeroblob(32), 0, '')";
    let full = loop {
        if let Err(error) = connection.execute(filler, []) {
            break StoreError::from(error);
        }
    };
    assert!(matches!(full, StoreError::Full), "{full}");
}

fn free(store: &EffectStore) {
    let connection = store.database().connection();
    connection.pragma_update_and_check(None, "max_page_count", 1_000_000, |_| Ok(())).unwrap();
    let freed = connection.execute("DELETE FROM transaction_log WHERE id = zeroblob(32)", []).unwrap();
    assert!(freed > 0);
}

fn assert_refused(error: &Error) {
    assert_eq!(error.code(), 3001);
    let message = error.message();
    assert!(message.contains("the disk is full") && message.contains("nothing was done"), "{message}");
    assert!(error.is_not_executed());
}

#[tokio::test]
async fn nothing_begins_on_a_full_disk_and_nothing_that_was_done_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let store = EffectStore::open(&folder.path().join("effects.db")).unwrap();
    let (book, recorder) = (TransactionBook::open(store.clone()).unwrap(), Arc::<Recorder>::default());
    book.begin(&ada(), &begin()).await.unwrap();
    carry_out(&book, "one").await;
    let open = book.begin_step(&ada(), &step("two"), create()).await.unwrap();
    fill(&store);

    let after = open.end(undo("two")).await.unwrap_err();
    assert!(after.message().contains("the step has ended"), "{after}");
    assert!(!after.is_not_executed(), "the step was carried out");
    assert_refused(&book.begin_step(&ada(), &step("three"), create()).await.unwrap_err());
    let other = BeginTransaction::new("tx-2".parse().unwrap());
    assert_refused(&book.begin(&ada(), &other).await.unwrap_err());
    assert_refused(&book.commit(&ada(), &tx()).await.unwrap_err());
    assert_refused(&roll_back(&book, &recorder).await.unwrap_err());
    assert_eq!(state(&book), TransactionState::Active);
    assert!(recorder.undone().is_empty(), "a call is made only once it is logged");

    free(&store);
    assert_eq!(roll_back(&book, &recorder).await.unwrap().status, Some(TransactionState::RolledBack));
    assert_eq!(recorder.undone(), ["two", "one"]);
}

/// A compensator whose first call takes the last room of the disk.
#[derive(Debug)]
struct Filler {
    store: EffectStore,
    calls: Mutex<Vec<CompensationCall>>,
}

impl Compensator for Filler {
    fn compensate(&self, call: CompensationCall) -> BoxFuture<'_, Result<(), Error>> {
        let mut calls = self.calls.lock();
        if calls.is_empty() {
            fill(&self.store);
        }
        calls.push(call);
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn a_rollback_whose_disk_runs_full_goes_on_with_the_same_key_and_says_that_it_comes_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = EffectStore::open(&folder.path().join("effects.db")).unwrap();
    let book = TransactionBook::open(store.clone()).unwrap();
    let filler = Arc::new(Filler { store: store.clone(), calls: Mutex::default() });
    book.begin(&ada(), &begin()).await.unwrap();
    for id in ["one", "two"] {
        carry_out(&book, id).await;
    }
    let (request, compensator) =
        (RollbackTransaction::new(tx()), Arc::clone(&filler) as Arc<dyn Compensator>);
    let error = book.rollback(&ada(), &request, Arc::clone(&compensator)).await.unwrap_err();
    assert!(error.message().contains("the rollback was interrupted"), "{error}");
    assert!(error.message().contains("the disk is full"), "{error}");
    assert!(!error.is_not_executed(), "a step was taken back");
    assert_eq!(state(&book), TransactionState::RollingBack);

    free(&store);
    let report = book.rollback(&ada(), &request, compensator).await.unwrap();
    assert_eq!(report.status, Some(TransactionState::RolledBack));
    let calls = filler.calls.lock();
    let attempts: Vec<_> = calls.iter().map(|call| (call.step_id.as_str(), call.was_begun)).collect();
    assert_eq!(attempts, [("two", false), ("two", true), ("one", false)]);
    assert_eq!(calls[0].key, calls[1].key);
}
