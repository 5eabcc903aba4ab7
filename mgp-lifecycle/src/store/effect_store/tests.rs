use mgp_store::OrderKey;
use mgp_store::testing::MemoryOrder;
use mgp_types::Principal;
use mgp_types::ext::transaction::BeginTransaction;
use rusqlite::{Connection, params};

use super::*;
use crate::transaction::TransactionBook;

const ADD: &str = "INSERT INTO transaction_log (id, happened_at, event) VALUES (zeroblob(32), 0, ?1)";

fn events(store: &EffectStore) -> Vec<String> {
    let query = "SELECT event FROM transaction_log ORDER BY seq";
    store.database().read_all(query, [], |row| Ok(row.get(0)?)).unwrap()
}

fn sharing(order: &Arc<MemoryOrder>, folder: &Path, kernel: &str) -> EffectStore {
    let store = EffectStore::open(&folder.join(kernel)).unwrap();
    store.database().share(Arc::clone(order) as _, OrderKey::new("secret")).unwrap();
    store.share(kernel, |_| true);
    store
}

fn add(store: &EffectStore, event: &str) -> Written {
    let event = event.to_owned();
    store.write(move |_, change| change.execute(ADD, params![event]))
}

#[tokio::test]
async fn writes_are_made_in_order_whether_or_not_somebody_waits_and_one_that_fails_takes_none_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects.db");
    let store = EffectStore::open(&path).unwrap();
    let guard = store.database().connection();
    drop(add(&store, "first"));
    let wrong = store.write(|_, change| change.execute("NONSENSE", &[]));
    let last = add(&store, "last");
    drop(guard);
    assert!(wrong.await.is_err());
    assert_eq!(last.await.unwrap(), 1);
    assert_eq!(events(&store), ["first", "last"]);
    while Arc::strong_count(&store.0) > 1 {
        tokio::task::yield_now().await;
    }
    drop(store);
    assert_eq!(events(&EffectStore::open(&path).unwrap()), ["first", "last"]);
}

#[tokio::test]
async fn a_full_disk_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let store = EffectStore::open(&folder.path().join("effects.db")).unwrap();
    {
        let connection = store.database().connection();
        let pages: u32 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    }
    let error = add(&store, &"x".repeat(1 << 20)).await.unwrap_err();
    assert!(matches!(error, StoreError::Full), "{error}");
}

#[test]
fn one_process_alone_has_a_store_open_and_it_is_not_a_newer_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects.db");
    let store = EffectStore::open(&path).unwrap();
    assert!(matches!(EffectStore::open(&path), Err(StoreError::InUse)));
    store.database().connection().execute("UPDATE mgp_schema SET version = 9", []).unwrap();
    drop(store);
    let newer = EffectStore::open(&path).unwrap_err();
    assert!(matches!(newer, StoreError::Newer { found: 9, known: 2, .. }), "{newer}");
}

#[test]
fn a_file_that_was_written_before_there_were_sections_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects.db");
    let before = Connection::open(&path).unwrap();
    before.execute_batch(include_str!("../schema.sql")).unwrap();
    before.execute(ADD, ["old"]).unwrap();
    drop(before);
    let store = EffectStore::open(&path).unwrap();
    assert_eq!(events(&store), ["old"]);
    let connection = store.database().connection();
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 1, "the program of before knows the file");
}

#[tokio::test]
async fn writes_that_come_together_are_one_entry_of_the_shared_order_and_fail_together_while_it_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let order = Arc::<MemoryOrder>::default();
    let [one, other] = ["one", "other"].map(|kernel| sharing(&order, folder.path(), kernel));
    let together = |store: &EffectStore, events: [&str; 3]| {
        let _guard = store.database().connection();
        events.map(|event| add(store, event))
    };
    for written in together(&one, ["a", "b", "c"]) {
        written.await.unwrap();
    }
    assert!(order.len() < 3, "{} entries", order.len());
    order.set_away(true);
    for written in together(&one, ["d", "e", "f"]) {
        let error = written.await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    }
    order.set_away(false);
    other.database().catch_up().unwrap();
    assert_eq!(events(&other), ["a", "b", "c"]);
}

#[tokio::test]
async fn a_transaction_belongs_to_the_kernel_that_began_it() {
    let (folder, order) = (tempfile::tempdir().unwrap(), Arc::<MemoryOrder>::default());
    let [one, other] = ["one", "other"].map(|kernel| sharing(&order, folder.path(), kernel));
    let (ada, begin) = (Principal::new("ada"), BeginTransaction::new("tx-1".parse().unwrap()));
    TransactionBook::open(one.clone()).unwrap().begin(&ada, &begin).await.unwrap();
    other.database().catch_up().unwrap();
    assert_eq!(events(&other).len(), 1);
    let status =
        |store: EffectStore| TransactionBook::open(store).unwrap().status(&ada, &begin.transaction_id);
    assert_eq!(status(other).unwrap_err().code(), 2020);
    assert!(status(one).is_ok());
}
