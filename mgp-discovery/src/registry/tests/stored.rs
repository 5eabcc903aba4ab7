//! Tests of the store in SQLite.

use mgp_store::testing::MemoryOrder;
use mgp_store::{OrderKey, StoreError};
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
    world.registry.approve(&admin(), None, &world.waiting("waits")).await.unwrap();
    assert_eq!(world.ships.log(), ["+runs", "+waits"]);
}

#[tokio::test]
async fn what_changed_while_the_kernel_was_away_is_not_started() {
    let store = Arc::new(SqliteRegistryStore::in_memory().unwrap());
    let world = world_with(store.clone());
    world.register(&maker(), script("own", "a.py")).await.unwrap();
    world.registry.approve(&admin(), None, &world.waiting("own")).await.unwrap();
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
    later.registry.approve(&admin(), None, &later.waiting("own")).await.unwrap();
    assert_eq!(later.ships.log(), ["+own"]);
    later.registry.set_policy(RegistrationPolicy::default());
    assert!(matches!(&later.registry.resume().await[..], [(_, RegistryError::Forbidden(_))]));
    later.registry.set_policy(RegistrationPolicy::new(&settings(), ["own".into()]));
    assert!(matches!(&later.registry.resume().await[..], [(_, RegistryError::Taken(_))]));
    assert_eq!(later.ships.log(), ["+own"]);
}

#[tokio::test]
async fn a_registration_that_an_earlier_version_stored_is_approved_by_an_id_as_well() {
    let store = Arc::new(SqliteRegistryStore::in_memory().unwrap());
    world_with(store.clone()).register(&maker(), script("new", "a.py")).await.unwrap();
    let remove = "UPDATE registered_servers SET record = json_remove(record, '$.approval_id')";
    store.database().execute(remove, &[]).unwrap();
    let world = world_with(store);
    world.registry.approve(&admin(), None, &world.waiting("new")).await.unwrap();
    assert_eq!(world.ships.log(), ["+new"]);
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
    rusqlite::Connection::open(&path).unwrap().execute("UPDATE mgp_schema SET version = 2", []).unwrap();
    let newer = SqliteRegistryStore::open(&path).unwrap_err();
    assert!(matches!(newer, StoreError::Newer { found: 2, known: 1, .. }), "{newer}");
    let other = directory.path().join("other.db");
    std::fs::write(&other, vec![b'x'; 8192]).unwrap();
    assert!(matches!(SqliteRegistryStore::open(&other), Err(StoreError::Damaged(_))));
}

#[tokio::test]
async fn a_file_that_was_written_before_there_were_sections_is_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("registry.db");
    let world = world_with(open(&path));
    world.register(&admin(), standard("old")).await.unwrap();
    drop(world);
    rusqlite::Connection::open(&path).unwrap().execute("DROP TABLE mgp_schema", []).unwrap();
    assert_eq!(world_with(open(&path)).registry.registered().len(), 1);
}

/// Returns what a kernel has that shares its registrations with others.
fn sharing(order: &Arc<MemoryOrder>) -> World {
    let store = SqliteRegistryStore::in_memory().unwrap();
    store.database().share(Arc::clone(order) as _, OrderKey::new("secret")).unwrap();
    world_with(Arc::new(store))
}

/// Has a kernel learn what the others changed, and returns the starts and stops of its servers.
async fn caught_up(world: &World) -> Vec<String> {
    world.registry.0.store.database().catch_up().unwrap();
    world.registry.reload().await.unwrap();
    world.ships.log()
}

#[tokio::test]
async fn what_one_kernel_registers_runs_at_the_others_until_it_is_removed() {
    let order = Arc::default();
    let [one, other] = [(); 2].map(|()| sharing(&order));
    let terms = RegistrationTerms { lifetime: Lifetime::Session("s".into()), approved_by: Some("x".into()) };
    other.registry.register(&maker(), None, script("own", "a.py"), terms).await.unwrap();
    one.register(&maker(), script("new", "a.py")).await.unwrap();
    assert_eq!(caught_up(&other).await, ["+own"]);
    assert_eq!(other.registry.registered().len(), 2, "it waits there as well");
    one.registry.approve(&admin(), None, &one.waiting("new")).await.unwrap();
    for _ in 0..2 {
        assert_eq!(caught_up(&other).await, ["+own", "+new"]);
    }
    one.registry.deregister(&admin(), None, &DeregisterServer::new("new".into())).await.unwrap();
    assert_eq!(caught_up(&other).await, ["+own", "+new", "-new"]);
    assert_eq!(other.registry.registered().len(), 1);
}

#[tokio::test]
async fn of_two_kernels_that_change_a_server_at_once_one_alone_does() {
    let order = Arc::default();
    let [one, other] = [(); 2].map(|()| sharing(&order));
    one.register(&maker(), script("new", "a.py")).await.unwrap();
    let error = other.register(&admin(), standard("new")).await.unwrap_err();
    assert!(matches!(error, RegistryError::Busy(_)), "{error}");
    caught_up(&other).await;
    let error = other.register(&admin(), standard("new")).await.unwrap_err();
    assert!(matches!(error, RegistryError::Taken(_)), "{error}");
    // Nobody approves another server than the one that was shown.
    one.registry.deregister(&maker(), None, &DeregisterServer::new("new".into())).await.unwrap();
    one.register(&maker(), script("new", "b.py")).await.unwrap();
    let error = other.registry.approve(&admin(), None, &other.waiting("new")).await.unwrap_err();
    assert!(matches!(error, RegistryError::Busy(_)), "{error}");
    assert!(caught_up(&other).await.is_empty());
    other.registry.approve(&admin(), None, &other.waiting("new")).await.unwrap();
    assert_eq!(caught_up(&one).await, ["+new"]);
}
