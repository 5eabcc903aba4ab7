//! Tests of the store in SQLite.

use mgp_types::mgp::DeregisterServer;

use super::*;

fn open(path: &std::path::Path) -> Arc<SqliteRegistryStore> {
    Arc::new(SqliteRegistryStore::open(path).unwrap())
}

#[tokio::test]
async fn a_restart_keeps_what_was_registered_and_starts_what_was_approved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("registry.db");
    let before = {
        let world = world_with(open(&path));
        world.register(&maker(), script("waits", "a.py")).await.unwrap();
        world.register(&admin(), standard("runs")).await.unwrap();
        world.register(&admin(), standard("gone")).await.unwrap();
        world.registry.deregister(&admin(), None, &DeregisterServer::new("gone".into())).await.unwrap();
        world.registry.registered()
    };
    let world = world_with(open(&path));
    assert_eq!(world.registry.registered(), before);
    assert!(world.ships.log().is_empty());
    assert!(world.registry.resume().await.is_empty());
    assert_eq!(world.ships.log(), ["+runs"]);
    world.registry.approve(&admin(), None, &"waits".into()).await.unwrap();
    assert_eq!(world.ships.log(), ["+runs", "+waits"]);
}

#[tokio::test]
async fn what_changed_while_the_kernel_was_away_is_not_started() {
    let store = Arc::new(SqliteRegistryStore::in_memory().unwrap());
    let world = world_with(store.clone());
    world.register(&maker(), script("own", "a.py")).await.unwrap();
    world.registry.approve(&admin(), None, &"own".into()).await.unwrap();
    let later = world_with(store);
    *later.eye.0.lock() += 1;
    let failed = later.registry.resume().await;
    assert!(
        matches!(&failed[..], [(_, RegistryError::Changed { files, .. })] if files == &["a.py"]),
        "{failed:?}"
    );
    assert!(!later.registry.registered()[0].is_approved(), "it waits again");
    assert_eq!(later.trail.lines(), ["server_held SUCCESS"]);
    assert!(later.registry.resume().await.is_empty());
    later.registry.approve(&admin(), None, &"own".into()).await.unwrap();
    assert_eq!(later.ships.log(), ["+own"]);
    later.registry.set_policy(RegistrationPolicy::default());
    assert!(matches!(&later.registry.resume().await[..], [(_, RegistryError::Forbidden(_))]));
    later.registry.set_policy(RegistrationPolicy::new(&settings(), ["own".into()]));
    assert!(matches!(&later.registry.resume().await[..], [(_, RegistryError::Taken(_))]));
    assert_eq!(later.ships.log(), ["+own"]);
}

#[test]
fn one_process_at_a_time_has_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("registry.db");
    let first = open(&path);
    assert!(matches!(SqliteRegistryStore::open(&path), Err(StoreError::InUse)));
    drop(first);
    open(&path);
}

#[test]
fn a_file_of_a_newer_version_and_one_that_is_none_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("registry.db");
    drop(open(&path));
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 2).unwrap();
    let newer = SqliteRegistryStore::open(&path).unwrap_err();
    assert!(matches!(newer, StoreError::Newer { found: 2, known: 1 }), "{newer}");
    let other = directory.path().join("other.db");
    std::fs::write(&other, vec![b'x'; 8192]).unwrap();
    assert!(matches!(SqliteRegistryStore::open(&other), Err(StoreError::Damaged(_))));
}

#[cfg(unix)]
#[test]
fn nobody_else_on_the_machine_reads_the_file() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("registry.db");
    let _store = open(&path);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o077, 0);
}
