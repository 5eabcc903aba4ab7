//! Tests of vectors made in the background.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mgp_types::RawJson;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;

use super::*;
use crate::embed::hashed_words::HashedWords;
use crate::{Tool, ToolListing};

#[derive(Debug, Default)]
struct Taken {
    made: Mutex<BTreeMap<Slot, MadeVector>>,
    more: Notify,
}

impl Taken {
    async fn wait_for(&self, count: usize) -> BTreeMap<Slot, MadeVector> {
        while self.made.lock().len() < count {
            self.more.notified().await;
        }
        self.made.lock().clone()
    }
}

#[derive(Debug, Default)]
struct InMemory(Mutex<BTreeMap<PassageHash, Vec<f32>>>);

impl VectorStore for InMemory {
    fn get_many(&self, _: &str, of: &[PassageHash]) -> Vec<Option<Vec<f32>>> {
        of.iter().map(|hash| self.0.lock().get(hash).cloned()).collect()
    }

    fn put_many(&self, _: &str, vectors: &[(PassageHash, &[f32])]) {
        self.0.lock().extend(vectors.iter().map(|(hash, vector)| (*hash, vector.to_vec())));
    }
}

fn lacking(slot: u32, description: &str) -> MissingVector {
    let definition = json!({ "name": format!("t{slot}"), "description": description });
    let definition = RawJson::from_value(&definition).unwrap();
    let listing = ToolListing::read(&definition).unwrap();
    let tool = Tool {
        server: "s".into(),
        name: listing.name.clone(),
        definition,
        categories: [].into(),
        risk: listing.risk,
        permissions: [].into(),
        is_qualified: false,
        standing: crate::tool::ProposalRank::default(),
        gist: crate::text::WordSketch::default(),
    };
    let hash = Passage::of("s", tool.name.as_str(), description).hash();
    MissingVector { slot: Slot(slot), hash, tool: Arc::new(tool), failures: 0 }
}

struct Running {
    background: BackgroundEmbedding,
    taken: Arc<Taken>,
}

fn start(embedder: &Arc<HashedWords>, store: Option<Arc<InMemory>>) -> Running {
    start_on(embedder, store, Some(&Handle::current()))
}

fn start_on(embedder: &Arc<HashedWords>, store: Option<Arc<InMemory>>, runtime: Option<&Handle>) -> Running {
    let taken = Arc::new(Taken::default());
    let keeper = Arc::clone(&taken);
    let hand_over = Box::new(move |made: Vec<MadeVector>| {
        keeper.made.lock().extend(made.into_iter().map(|made| (made.slot, made)));
        keeper.more.notify_one();
        Box::pin(async {}) as BoxFuture<'static, ()>
    });
    let embedder = Arc::clone(embedder) as Arc<dyn Embedder>;
    let store = store.map(|store| store as Arc<dyn VectorStore>);
    Running {
        background: BackgroundEmbedding::start(EmbeddingBackend { embedder, store, hand_over }, runtime),
        taken,
    }
}

#[tokio::test(start_paused = true)]
async fn tools_are_embedded_in_small_batches_of_like_length() {
    let embedder = Arc::new(HashedWords::slow(8));
    let running = start(&embedder, None);
    running.background.queue.extend((0..100).map(|slot| lacking(slot, &"word ".repeat(slot as usize % 50))));
    let made = running.taken.wait_for(100).await;
    assert!(made.values().all(|made| made.vector.is_some()));
    let calls = embedder.calls.lock();
    assert!(calls.iter().all(|texts| texts.len() <= MAX_TOOLS));
    let longest: Vec<usize> =
        calls.iter().map(|texts| texts.iter().map(String::len).max().unwrap()).collect();
    assert!(longest.is_sorted(), "{longest:?}");
}

#[tokio::test(start_paused = true)]
async fn what_the_store_has_is_not_embedded_again() {
    let (embedder, store) = (Arc::new(HashedWords::slow(8)), Arc::new(InMemory::default()));
    let first = start(&embedder, Some(Arc::clone(&store)));
    first.background.queue.extend([lacking(1, "one"), lacking(2, "two")]);
    let before = first.taken.wait_for(2).await;
    drop(first);
    let again = start(&embedder, Some(Arc::clone(&store)));
    again.background.queue.extend([lacking(1, "one"), lacking(2, "two")]);
    assert_eq!(again.taken.wait_for(2).await, before);
    assert_eq!(embedder.embedded(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_vector_of_the_store_that_cannot_be_right_is_made_anew() {
    let (embedder, store) = (Arc::new(HashedWords::slow(8)), Arc::new(InMemory::default()));
    let (short, odd) = (lacking(1, "one"), lacking(2, "two"));
    store.0.lock().extend([(short.hash, vec![1.0]), (odd.hash, vec![f32::NAN; 8])]);
    let running = start(&embedder, Some(store));
    running.background.queue.extend([short, odd]);
    assert!(running.taken.wait_for(2).await.values().all(|made| made.vector.is_some()));
    assert_eq!(embedder.embedded(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_followed_by_other_attempts_with_growing_pauses() {
    let embedder = Arc::new(HashedWords::slow(8));
    embedder.failures.store(8, Ordering::Relaxed);
    let running = start(&embedder, None);
    let started = tokio::time::Instant::now();
    running.background.queue.extend([lacking(1, "one")]);
    let made = running.taken.wait_for(1).await;
    assert!(made[&Slot(1)].vector.is_some());
    // Each attempt but the first is followed by a probe, so that five of them fail.
    assert!(started.elapsed() >= Duration::from_secs(1 + 2 + 4 + 8), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_text_that_the_embedder_chokes_on_keeps_no_other_waiting() {
    let embedder = Arc::new(HashedWords::slow(8).disliking("poison"));
    let running = start(&embedder, None);
    let tools = (0..20).map(|slot| lacking(slot, if slot == 7 { "poison" } else { "food" }));
    running.background.queue.extend(tools);
    let made = running.taken.wait_for(20).await;
    assert!(made.iter().all(|(slot, made)| made.vector.is_none() == (*slot == Slot(7))));
}

#[tokio::test(start_paused = true)]
async fn what_is_forgotten_is_not_tried_again() {
    let embedder = Arc::new(HashedWords::slow(8));
    embedder.failures.store(usize::MAX, Ordering::Relaxed);
    let running = start(&embedder, None);
    running.background.queue.extend([lacking(1, "one")]);
    tokio::time::sleep(Duration::from_millis(100)).await;
    running.background.queue.forget(Slot(1));
    tokio::time::sleep(Duration::from_hours(1)).await;
    let attempts = embedder.calls.lock().len();
    assert!((1..=2).contains(&attempts), "{attempts}");
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_its_owner() {
    let embedder = Arc::new(HashedWords::slow(8));
    embedder.failures.store(usize::MAX, Ordering::Relaxed);
    let running = start(&embedder, None);
    running.background.queue.extend([lacking(1, "one")]);
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(running);
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(Arc::strong_count(&embedder), 1);
}

#[test]
fn without_a_runtime_it_has_one_of_its_own() {
    let embedder = Arc::new(HashedWords::slow(8));
    let running = start_on(&embedder, None, None);
    running.background.queue.extend([lacking(1, "one")]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(running.taken.wait_for(1)).len(), 1);
}
