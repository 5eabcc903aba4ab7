//! Tests of links over an order in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mgp_store::testing::MemoryOrder;
use rusqlite::params;
use tokio::time::advance;

use super::super::freshness::LONGEST_LAG_MS;
use super::*;

const THINGS: &str = "CREATE TABLE things (name TEXT PRIMARY KEY) STRICT";

/// A kernel with one section, which notes what it reads anew.
struct TestReplica {
    link: Arc<ClusterLink>,
    things: Database,
    reloaded: Arc<Mutex<Vec<String>>>,
    is_failing: Arc<AtomicBool>,
}

impl TestReplica {
    fn of(order: &Arc<MemoryOrder>) -> Self {
        let database = Database::in_memory().unwrap();
        let link = link_over(order);
        share(Some(&link), &database, "policy").unwrap();
        let things = database.clone().section("things", &[THINGS]).unwrap();
        let (reloaded, is_failing) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicBool>::default());
        let (notes, fails) = (Arc::clone(&reloaded), Arc::clone(&is_failing));
        link.follow("policy", database, move |sections| {
            notes.lock().extend(sections);
            let outcome = if fails.load(Ordering::Relaxed) { Err(StoreError::Full) } else { Ok(()) };
            Box::pin(std::future::ready(outcome))
        });
        Self { link, things, reloaded, is_failing }
    }

    fn add(&self, name: &str) {
        self.things.execute("INSERT INTO things VALUES (?1)", params![name]).unwrap();
    }

    fn names(&self) -> Vec<String> {
        self.things.read_all("SELECT name FROM things ORDER BY name", [], |row| Ok(row.get(0)?)).unwrap()
    }

    fn is_stale(&self) -> bool {
        self.link.freshness.status().stale
    }
}

fn link_over(order: &Arc<MemoryOrder>) -> Arc<ClusterLink> {
    let order = Arc::clone(order);
    Arc::new(ClusterLink {
        id: "one".to_owned(),
        peers: None,
        #[cfg(feature = "cluster")]
        postgres: Postgres::new("postgres://127.0.0.1/none", None).unwrap(),
        freshness: Arc::new(Freshness::new()),
        #[cfg(feature = "cluster")]
        vouched: Database::in_memory().unwrap(),
        orders: Box::new(move |_| -> Arc<dyn Order> { Arc::<MemoryOrder>::clone(&order) }),
        key: OrderKey::new("secret"),
        followed: Mutex::default(),
        seen: watch::Sender::default(),
    })
}

impl ClusterLink {
    /// Returns the link of a kernel that knows the way to others.
    pub(crate) fn with_peers(peers: Peers) -> Arc<Self> {
        let mut link = link_over(&Arc::default());
        Arc::get_mut(&mut link).unwrap().peers = Some(peers);
        link
    }
}

#[tokio::test]
async fn sections_that_others_changed_are_read_anew_once() {
    let order = Arc::default();
    let [one, other] = [(); 2].map(|()| TestReplica::of(&order));
    one.add("lamp");
    other.link.look().await;
    other.link.look().await;
    assert_eq!(*other.reloaded.lock(), ["things"]);
    assert_eq!((other.names(), other.is_stale()), (vec!["lamp".to_owned()], false));
    assert_eq!(other.link.versions().await.unwrap()["policy"], 1);
}

#[tokio::test]
async fn sections_that_could_not_be_read_are_read_the_next_time() {
    let order = Arc::default();
    let [one, other] = [(); 2].map(|()| TestReplica::of(&order));
    one.add("lamp");
    other.is_failing.store(true, Ordering::Relaxed);
    other.link.look().await;
    assert!(other.is_stale());
    other.is_failing.store(false, Ordering::Relaxed);
    other.link.look().await;
    assert!(!other.is_stale());
    assert_eq!(*other.reloaded.lock(), ["things", "things"]);
}

#[tokio::test(start_paused = true)]
async fn decisions_hold_for_two_seconds_without_the_others_and_again_once_they_are_known() {
    let order = Arc::default();
    let one = TestReplica::of(&order);
    assert!(one.is_stale(), "nothing is known yet");
    one.link.look().await;
    order.set_away(true);
    advance(Duration::from_millis(LONGEST_LAG_MS)).await;
    one.link.look().await;
    assert!(!one.is_stale());
    advance(Duration::from_millis(1)).await;
    one.link.look().await;
    let status = one.link.freshness.status();
    assert!(status.stale && status.lag_ms == Some(2_001), "{status:?}");
    assert!(status.text().contains("2001 ms ago, so calls are refused") && status.text().contains("away"));
    order.set_away(false);
    one.link.look().await;
    let status = one.link.freshness.status();
    assert!(!status.stale && status.fault.is_none(), "{status:?}");
}

#[tokio::test]
async fn a_kernel_that_finds_what_no_kernel_appended_decides_nothing_at_once() {
    let order = Arc::default();
    let [one, other] = [(); 2].map(|()| TestReplica::of(&order));
    other.link.look().await;
    one.add("a");
    one.add("b");
    order.tamper(2, |body| body[20] ^= 1);
    assert!(!other.is_stale());
    other.link.look().await;
    let status = other.link.freshness.status();
    assert!(status.stale && status.lag_ms.is_none(), "{status:?}");
    assert!(status.fault.unwrap().contains("shared order"));
    assert_eq!(other.names(), ["a"]);
}

#[tokio::test]
async fn a_database_with_decisions_of_its_own_is_not_shared() {
    let order = Arc::default();
    let database = Database::in_memory().unwrap().section("things", &[THINGS]).unwrap();
    let shared = share(Some(&link_over(&order)), &database, "policy");
    assert!(matches!(shared, Err(StoreError::Apart)));
    share(None, &database, "policy").unwrap();
}
