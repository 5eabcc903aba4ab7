//! Books of several kernels that share one order of changes.

use std::sync::Arc;

use futures_util::future::join_all;
use mgp_store::OrderKey;
use mgp_store::testing::MemoryOrder;
use parking_lot::Mutex;
use tokio::task::yield_now;

use super::stored::{alive, book_at};
use super::*;
use crate::doubles::{KillSwitch, life, secs};
use crate::store::EffectStore;

/// The things that kernels share: the order of their changes, the folder of their files, and the list of the dead.
struct Cluster {
    order: Arc<MemoryOrder>,
    folder: tempfile::TempDir,
    dead: Arc<Mutex<Vec<String>>>,
}

impl Cluster {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { order: Arc::default(), folder, dead: Arc::default() }
    }

    fn kernel(&self, name: &str) -> (EffectStore, IdempotencyBook) {
        let store = self.store(name);
        (store.clone(), book_at(store, 0))
    }

    fn store(&self, name: &str) -> EffectStore {
        let store = EffectStore::open(&self.folder.path().join(name)).unwrap();
        let (order, dead) = (Arc::clone(&self.order), Arc::clone(&self.dead));
        let is_alive = move |kernel: &str| !dead.lock().iter().any(|dead| dead == kernel);
        store.database().share(order, OrderKey::new("secret")).unwrap();
        store.share(name, is_alive);
        store
    }

    /// Has the kernel `one` die while it makes a call at `server`.
    fn lose_one(&self, server: &Upstream) {
        let dies = KillSwitch::after(0);
        let end = life(&dies, async {
            let (_, book) = self.kernel("one");
            let mut service = service(&book, server);
            let running = tokio::spawn(async move { call(&mut service, pay("k", "{}")).await });
            begun(server).await;
            // A process that dies has no last word.
            self.order.set_away(true);
            dies.point().await;
            drop(running);
        });
        assert!(end.is_none());
        self.order.set_away(false);
    }

    /// Waits until the order has so many entries.
    async fn reaches(&self, entries: usize) {
        while self.order.len() < entries {
            yield_now().await;
        }
    }
}

async fn begun(server: &Upstream) {
    while server.calls() == 0 {
        yield_now().await;
    }
}

#[tokio::test]
async fn a_call_that_runs_at_one_kernel_is_waited_for_at_the_other_and_told_there() {
    let (cluster, (server, open)) = (Cluster::new(), gated());
    let [(_, one), (other_store, other)] = ["one", "other"].map(|name| cluster.kernel(name));
    let mut first = service(&one, &server);
    let first = tokio::spawn(async move { call(&mut first, pay("k", "{}")).await });
    begun(&server).await;
    let again = (0..3).map(|_| {
        let mut service = service(&other, &server);
        async move { call(&mut service, pay("k", "{}")).await }
    });
    let end = async {
        // From here on the other kernel knows that the call runs, because its own was refused.
        while other_store.database().version().unwrap() == 0 {
            yield_now().await;
        }
        let error = call(&mut service(&other, &server), pay("k", r#"{"more":1}"#)).await.unwrap_err();
        assert_eq!(reason(&error), "other_arguments", "nobody waits to hear that");
        open.notify_one();
        let first = split(first.await.unwrap().unwrap());
        other_store.database().catch_up().unwrap();
        first
    };
    let (again, (first, result)) = tokio::join!(join_all(again), end);
    assert_eq!(server.calls(), 1);
    assert!(!first.was_replay);
    for answer in again {
        let (again, same) = split(answer.unwrap());
        assert!(again.was_replay);
        assert_eq!(again.original_timestamp, first.original_timestamp);
        assert_eq!(same.as_bytes(), result.as_bytes());
    }
}

#[tokio::test]
async fn a_gateway_learns_what_a_key_stands_for_at_another_kernel() {
    let (cluster, server) = (Cluster::new(), counting());
    let [(_, one), (other_store, other)] = ["one", "other"].map(|name| cluster.kernel(name));
    let layer = IdempotencyLayer::new(other);
    assert!(layer.answer_again(&pay("k", "{}")).unwrap().await.is_none(), "the key is new");
    let (_, result) = split(call(&mut service(&one, &server), pay("k", "{}")).await.unwrap());
    other_store.database().catch_up().unwrap();
    let (again, same) = split(layer.answer_again(&pay("k", "{}")).unwrap().await.unwrap().unwrap());
    assert!(again.was_replay);
    assert_eq!(same.as_bytes(), result.as_bytes());
}

#[tokio::test]
async fn a_call_that_was_not_carried_out_at_one_kernel_is_made_at_the_other() {
    let cluster = Cluster::new();
    let server = Upstream::answering(|number| match number {
        0 => Err(Error::new(3000, "busy")),
        _ => Ok(Response::empty()),
    });
    let [(_, one), (_, other)] = ["one", "other"].map(|name| cluster.kernel(name));
    assert_eq!(call(&mut service(&one, &server), pay("k", "{}")).await.unwrap_err().code(), 3000);
    cluster.reaches(2).await;
    assert!(!split(call(&mut service(&other, &server), pay("k", "{}")).await.unwrap()).0.was_replay);
    assert!(split(call(&mut service(&one, &server), pay("k", "{}")).await.unwrap()).0.was_replay);
    assert_eq!(server.calls(), 2);
}

#[test]
fn a_call_that_ran_at_a_kernel_that_died_is_never_made_again_by_itself() {
    let (cluster, (server, _)) = (Cluster::new(), gated());
    cluster.lose_one(&server);
    cluster.dead.lock().push("one".to_owned());
    let is_unknown = |name: &str| {
        alive(async {
            let (store, book) = cluster.kernel(name);
            store.database().catch_up().unwrap();
            let error = call(&mut service(&book, &server), pay("k", "{}")).await.unwrap_err();
            assert_eq!(reason(&error), "outcome_unknown", "at {name}");
            if name == "one" {
                cluster.reaches(2).await;
            }
        });
    };
    is_unknown("other");
    // It lives again, under the same name.
    cluster.dead.lock().clear();
    is_unknown("one");
    is_unknown("other");
    assert_eq!(server.calls(), 1);
}

#[test]
fn a_key_that_ended_while_its_kernel_was_dead_is_free_at_all_of_them() {
    let (cluster, again) = (Cluster::new(), counting());
    cluster.lose_one(&gated().0);
    alive(async {
        let _one = book_at(cluster.store("one"), 61);
        cluster.reaches(2).await;
    });
    alive(async {
        let store = cluster.store("other");
        store.database().catch_up().unwrap();
        let book = book_at(store, 61);
        let answer = call(&mut service(&book, &again), pay("k", "{}")).await.unwrap();
        assert!(!split(answer).0.was_replay);
    });
}

#[tokio::test(start_paused = true)]
async fn without_the_order_nothing_is_done_and_what_was_done_is_told_and_stored_later() {
    let (cluster, (server, open)) = (Cluster::new(), gated());
    let [(_, one), (other_store, other)] = ["one", "other"].map(|name| cluster.kernel(name));
    let mut first = service(&one, &server);
    let first = tokio::spawn(async move { call(&mut first, pay("k", "{}")).await });
    begun(&server).await;
    cluster.order.set_away(true);
    let error = call(&mut service(&one, &server), pay("other", "{}")).await.unwrap_err();
    assert_eq!(error.code(), 3001);
    assert!(error.is_not_executed());
    open.notify_one();
    assert!(!split(first.await.unwrap().unwrap()).0.was_replay);
    assert!(split(call(&mut service(&one, &server), pay("k", "{}")).await.unwrap()).0.was_replay);
    cluster.order.set_away(false);
    let ends_there = || {
        other_store.database().catch_up().unwrap();
        let done = "SELECT state FROM idempotent_calls WHERE state = 'done'";
        other_store.database().read_all(done, [], |row| Ok(row.get::<_, String>(0)?)).unwrap()
    };
    while ends_there().is_empty() {
        tokio::time::sleep(secs(1)).await;
    }
    assert!(split(call(&mut service(&other, &server), pay("k", "{}")).await.unwrap()).0.was_replay);
    assert_eq!(server.calls(), 1);
}
