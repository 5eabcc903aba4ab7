//! The index: what is known of all tools, changed by one writer and read by everybody (§16.4).

mod builder;
mod change;
mod finding;
mod lane;
mod lanes;
mod meaning;
mod search;
mod sight;
mod slots;
mod snapshot;
mod table;
mod writer;

use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::mgp::{ServerId, ServerState, ToolName};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

pub use self::builder::{IndexBuilder, SentVectors};
use self::change::Change;
use self::lane::Surroundings;
pub use self::search::{Found, Hit, Search};
pub use self::sight::Sight;
pub use self::snapshot::Snapshot;
use self::writer::Writer;
use crate::embed::Embedder;
use crate::keyword::KeywordWriter;
use crate::{Listing, ServerTools};

/// All tools of all servers, to be searched.
///
/// It is a handle: copies share the tools. Changes are made by a thread of the index, which ends with the last
/// handle; searches read the last complete [`Snapshot`] and never wait.
#[derive(Debug, Clone)]
pub struct Index {
    current: Arc<ArcSwap<Snapshot>>,
    changes: mpsc::Sender<Change>,
}

impl Index {
    /// An index without tools, whose vectors `embedder` makes, and nobody keeps.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self::builder(embedder).build()
    }

    /// An index without tools, whose vectors `embedder` makes.
    pub fn builder(embedder: Arc<dyn Embedder>) -> IndexBuilder {
        IndexBuilder::new(embedder)
    }

    fn build(builder: IndexBuilder) -> Self {
        let IndexBuilder { embedder, store, sent_vectors } = builder;
        let mut words = KeywordWriter::new().expect("the system can start threads");
        let no_words = words.commit().expect("nothing in memory is nothing to fail");
        let current = Arc::new(ArcSwap::from_pointee(Snapshot::empty(no_words, Arc::clone(&embedder))));
        let (changes, queue) = mpsc::channel(MOST_WAITING);
        let runtime = Handle::try_current().ok();
        let surroundings = Surroundings { store, runtime, changes: changes.downgrade() };
        let writer = Writer::new(Arc::clone(&current), words, embedder, surroundings, sent_vectors);
        std::thread::Builder::new()
            .name("mgp-toolindex".into())
            .spawn(move || writer.run(queue))
            .expect("the system can start a thread");
        Self { current, changes }
    }

    /// The tools as they are now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Searches the tools as they are now.
    pub async fn search(&self, search: &Search<'_>) -> Found {
        self.snapshot().search(search).await
    }

    /// A server and all that it lists, instead of what it listed before.
    pub async fn put_server(&self, server: ServerTools) {
        self.send(Change::Server(server)).await;
    }

    /// One more tool of a server, or another definition of one.
    pub async fn put_tool(&self, server: ServerId, tool: Listing) {
        self.send(Change::Tool(server, Box::new(tool))).await;
    }

    /// One tool less.
    pub async fn remove_tool(&self, server: ServerId, name: ToolName) {
        self.send(Change::NoTool(server, name)).await;
    }

    /// A server less, with all its tools.
    pub async fn remove_server(&self, server: ServerId) {
        self.send(Change::NoServer(server)).await;
    }

    /// A server went into another state.
    pub async fn set_state(&self, server: ServerId, state: ServerState) {
        self.send(Change::State(server, state)).await;
    }

    /// Other vectors, made by another embedder. Until all of them are there, the old ones answer as before, and then
    /// both change at once.
    pub async fn set_embedder(&self, embedder: Arc<dyn Embedder>) {
        self.send(Change::Embedder(embedder)).await;
    }

    /// Waits until all tools have the vectors that they are to have. This may take as long as the embedder cannot be
    /// reached.
    pub async fn embedded(&self) {
        let (done, embedded) = oneshot::channel();
        self.send(Change::Embedded(done)).await;
        let _ended = embedded.await;
    }

    /// Waits until whatever was told before is visible.
    pub async fn settled(&self) {
        let (done, settled) = oneshot::channel();
        self.send(Change::Settled(done)).await;
        let _ended = settled.await;
    }

    async fn send(&self, change: Change) {
        // The thread takes changes for as long as there is a handle, and this is one.
        let _ended = self.changes.send(change).await;
    }
}

/// More changes than this wait where they come from.
const MOST_WAITING: usize = 1024;

#[cfg(test)]
mod embedding_tests;
#[cfg(test)]
mod tests;
