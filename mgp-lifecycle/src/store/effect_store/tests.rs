use super::*;

const ADD: &str = "INSERT INTO transaction_log (id, happened_at, event) VALUES (zeroblob(32), 0, ?1)";

fn events(store: &EffectStore) -> Vec<String> {
    store
        .read_now(|connection| {
            let mut query = connection.prepare("SELECT event FROM transaction_log ORDER BY seq")?;
            let rows = query.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .unwrap()
}

fn add(store: &EffectStore, event: &str) -> BoxFuture<'static, Result<(), StoreError>> {
    let event = event.to_owned();
    store.write(move |connection| connection.execute(ADD, [&event]).map(drop))
}

#[tokio::test]
async fn writes_are_made_in_order_whether_or_not_somebody_waits_and_one_that_fails_takes_none_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects.db");
    let store = EffectStore::open(&path).unwrap();
    let guard = store.0.connection.lock();
    drop(add(&store, "first"));
    let wrong = store.write(|connection| connection.execute("NONSENSE", []).map(drop));
    let last = add(&store, "last");
    drop(guard);
    assert!(wrong.await.is_err());
    last.await.unwrap();
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
    store
        .read_now(|connection| {
            let pages: u32 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
            Ok(connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?)
        })
        .unwrap();
    let error = add(&store, &"x".repeat(1 << 20)).await.unwrap_err();
    assert!(matches!(error, StoreError::Full), "{error}");
}

#[test]
fn one_process_alone_has_a_store_open_and_it_is_not_a_newer_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects.db");
    let store = EffectStore::open(&path).unwrap();
    assert!(matches!(EffectStore::open(&path), Err(StoreError::InUse)));
    store.read_now(|connection| Ok(connection.pragma_update(None, "user_version", 9)?)).unwrap();
    drop(store);
    assert!(matches!(EffectStore::open(&path), Err(StoreError::Newer { found: 9, known: KNOWN })));
    std::fs::write(&path, vec![b'x'; 8192]).unwrap();
    std::fs::remove_file(folder.path().join("effects.db-wal")).ok();
    assert!(matches!(EffectStore::open(&path), Err(StoreError::Damaged(_))));
}

#[cfg(unix)]
#[test]
fn nobody_else_on_the_machine_reads_what_is_stored_and_a_link_is_not_followed() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects.db");
    let _store = EffectStore::open(&path).unwrap();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", file.file_name());
    }
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(EffectStore::open(&link).is_err());
}
