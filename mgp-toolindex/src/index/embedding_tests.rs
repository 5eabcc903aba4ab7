//! Tests of the vectors of an index.

use std::sync::atomic::Ordering;

use mgp_types::RawJson;
use mgp_types::mgp::ToolHints;
use serde_json::json;

use super::*;
use crate::ToolListing;
use crate::embed::hashed_words::HashedWords;
use crate::slot::Slot;

fn tool(name: &str, description: &str) -> ToolListing {
    let definition = json!({ "name": name, "description": description });
    ToolListing::read(&RawJson::from_value(&definition).unwrap()).unwrap()
}

fn tools(count: usize) -> Vec<ToolListing> {
    (0..count).map(|n| tool(&format!("tool_{n}"), "does something")).collect()
}

fn has_vector(snapshot: &Snapshot, name: &str) -> bool {
    vector(snapshot, name).is_some()
}

fn vector(snapshot: &Snapshot, name: &str) -> Option<Vec<f32>> {
    snapshot.vectors.get(slot(snapshot, name))
}

fn slot(snapshot: &Snapshot, name: &str) -> Slot {
    snapshot.servers["s"].slots[name]
}

/// Puts the tools of the server `s`, and waits until they are seen.
async fn put(index: &Index, tools: Vec<ToolListing>) {
    index.put_server(ServerTools::new("s", tools)).await;
    index.settled().await;
}

// covers: MGP-16.4-09
#[tokio::test]
async fn vectors_of_an_instant_embedder_are_there_with_the_tool() {
    let index = Index::new(Arc::new(HashedWords::new(16)));
    put(&index, tools(3)).await;
    assert_eq!(index.snapshot().vectors.len(), 3);
    put(&index, tools(2)).await;
    assert_eq!(index.snapshot().vectors.len(), 2);
}

#[tokio::test]
async fn vectors_of_a_slow_embedder_come_later_and_each_once() {
    let embedder = Arc::new(HashedWords::slow(16));
    let index = Index::new(Arc::clone(&embedder) as Arc<dyn Embedder>);
    index.put_server(ServerTools::new("s", tools(50))).await;
    index.embedded().await;
    assert_eq!(index.snapshot().vectors.len(), 50);
    assert_eq!(embedder.embedded(), 50);

    let mut again = tools(50);
    again[7] = tool("tool_7", "does something else");
    index.put_server(ServerTools::new("s", again)).await;
    index.embedded().await;
    assert_eq!(embedder.embedded(), 51);
}

#[test]
fn vectors_are_made_outside_of_a_runtime_as_well() {
    let index = Index::new(Arc::new(HashedWords::slow(16)));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        index.put_server(ServerTools::new("s", tools(5))).await;
        index.embedded().await;
    });
    assert_eq!(index.snapshot().vectors.len(), 5);
}

#[tokio::test]
async fn a_tool_that_changes_keeps_its_vector_until_the_new_one_is_there() {
    let embedder = Arc::new(HashedWords::slow(16));
    let index = Index::new(Arc::clone(&embedder) as Arc<dyn Embedder>);
    index.put_server(ServerTools::new("s", vec![tool("t", "reads")])).await;
    index.embedded().await;
    let before = vector(&index.snapshot(), "t");
    embedder.failures.store(usize::MAX, Ordering::Relaxed);
    put(&index, vec![tool("t", "writes")]).await;
    assert_eq!(vector(&index.snapshot(), "t"), before);
}

#[tokio::test]
async fn a_slot_that_is_given_away_again_has_nothing_of_the_tool_before() {
    let embedder = Arc::new(HashedWords::slow(16));
    let index = Index::new(Arc::clone(&embedder) as Arc<dyn Embedder>);
    index.put_server(ServerTools::new("s", vec![tool("t", "reads")])).await;
    index.embedded().await;
    embedder.failures.store(usize::MAX, Ordering::Relaxed);
    let before = slot(&index.snapshot(), "t");
    index.put_server(ServerTools::new("s", Vec::new())).await;
    put(&index, vec![tool("u", "writes")]).await;
    assert_eq!(slot(&index.snapshot(), "u"), before);
    assert!(!has_vector(&index.snapshot(), "u"));
}

#[tokio::test(start_paused = true)]
async fn another_embedder_answers_only_once_all_of_its_vectors_are_there() {
    let index = Index::new(Arc::new(HashedWords::new(16)));
    index.put_server(ServerTools::new("s", tools(40))).await;
    let slow = Arc::new(HashedWords::slow(8));
    slow.failures.store(usize::MAX, Ordering::Relaxed);
    index.set_embedder(Arc::clone(&slow) as Arc<dyn Embedder>).await;
    put(&index, [tools(40), vec![tool("late", "comes while they are made")]].concat()).await;
    let snapshot = index.snapshot();
    assert_eq!((snapshot.embedder.dimension(), snapshot.vectors.dimension()), (16, 16));
    assert!(has_vector(&snapshot, "late"));
    assert_eq!(snapshot.embedding(), Some(EmbeddingProgress { embedded: 0, tools: 41 }));

    slow.failures.store(0, Ordering::Relaxed);
    index.embedded().await;
    let snapshot = index.snapshot();
    assert_eq!((snapshot.embedder.dimension(), snapshot.vectors.dimension()), (8, 8));
    assert_eq!(snapshot.embedding(), None);
    assert_eq!(snapshot.vectors.len(), 41);
}

#[tokio::test(start_paused = true)]
async fn while_many_vectors_are_missing_those_of_the_instant_embedder_before_are_searched() {
    let index = Index::new(Arc::new(HashedWords::new(16)));
    let slow = Arc::new(HashedWords::slow(8));
    index.set_embedder(Arc::clone(&slow) as Arc<dyn Embedder>).await;
    slow.failures.store(usize::MAX, Ordering::Relaxed);
    put(&index, tools(40)).await;
    let snapshot = index.snapshot();
    assert_eq!((snapshot.embedder.dimension(), snapshot.vectors.len()), (16, 40));

    slow.failures.store(0, Ordering::Relaxed);
    index.embedded().await;
    let snapshot = index.snapshot();
    assert_eq!((snapshot.embedder.dimension(), snapshot.vectors.len()), (8, 40));

    // A few that change do not turn all searches.
    slow.failures.store(usize::MAX, Ordering::Relaxed);
    put(&index, [tools(40), vec![tool("late", "comes alone")]].concat()).await;
    assert_eq!(index.snapshot().embedder.dimension(), 8);
    index.put_server(ServerTools::new("t", tools(40))).await;
    index.settled().await;
    let snapshot = index.snapshot();
    assert_eq!((snapshot.embedder.dimension(), snapshot.vectors.len()), (16, 81));
}

#[tokio::test]
async fn the_last_of_several_embedders_counts() {
    let index = Index::new(Arc::new(HashedWords::new(16)));
    index.put_server(ServerTools::new("s", tools(4))).await;
    let never = HashedWords::slow(8);
    never.failures.store(usize::MAX, Ordering::Relaxed);
    index.set_embedder(Arc::new(never)).await;
    index.set_embedder(Arc::new(HashedWords::new(4))).await;
    index.embedded().await;
    assert_eq!(index.snapshot().embedder.dimension(), 4);
    assert_eq!(index.snapshot().vectors.len(), 4);
}

#[tokio::test]
async fn the_background_ends_with_the_index() {
    let embedder = Arc::new(HashedWords::slow(16));
    let index = Index::new(Arc::clone(&embedder) as Arc<dyn Embedder>);
    index.put_server(ServerTools::new("s", tools(4))).await;
    index.embedded().await;
    drop(index);
    while Arc::strong_count(&embedder) > 1 {
        tokio::task::yield_now().await;
    }
}

fn sends(name: &str, embedding: &[f32], embedder: &str) -> ToolListing {
    let mut hints = ToolHints::default();
    hints.embedding = embedding.to_vec();
    hints.embedder = Some(embedder.into());
    tool(name, "").hints(hints)
}

#[tokio::test]
async fn vectors_of_servers_are_used_only_where_they_are_trusted_and_fit() {
    for expected in [false, true] {
        let embedder = HashedWords::new(2);
        let id = embedder.id().to_owned();
        let index = Index::new(Arc::new(embedder));
        let listed = vec![sends("fits", &[3.0, -4.0], &id), sends("strange", &[3.0, -4.0], "strange")];
        let server = ServerTools::new("s", listed);
        index.put_server(if expected { server.trust_vectors() } else { server }).await;
        index.settled().await;
        let snapshot = index.snapshot();
        // Vectors that are made here have no negative numbers.
        let is_used = |name: &str| vector(&snapshot, name).unwrap()[1] < -0.79;
        assert_eq!(is_used("fits"), expected);
        assert!(!is_used("strange"));
    }
}

#[cfg(feature = "store")]
#[tokio::test]
async fn vectors_that_are_kept_are_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    for expected in [5, 0] {
        let embedder = Arc::new(HashedWords::slow(16));
        let store = crate::embed::SqliteVectors::open(folder.path(), 100).unwrap();
        let index = Index::with_vectors(Arc::clone(&embedder) as Arc<dyn Embedder>, Some(Arc::new(store)));
        index.put_server(ServerTools::new("s", tools(5))).await;
        index.embedded().await;
        assert_eq!(index.snapshot().vectors.len(), 5);
        assert_eq!(embedder.embedded(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_does_not_wait_for_an_embedder_that_does_not_answer() {
    #[derive(Debug)]
    struct Silent;

    impl Embedder for Silent {
        fn id(&self) -> &'static str {
            "silent"
        }

        fn dimension(&self) -> usize {
            2
        }

        fn embed(
            &self,
            _: Vec<String>,
        ) -> mgp_types::BoxFuture<'static, Result<Vec<Vec<f32>>, crate::embed::EmbedError>> {
            Box::pin(std::future::pending())
        }
    }

    let index = Index::new(Arc::new(Silent));
    index.put_server(ServerTools::new("s", tools(3)).description("x")).await;
    index.settled().await;
    let found = index.search(&Search::new(&"tool ".repeat(10_000))).await;
    assert_eq!(found.hits.len(), 3);
}
