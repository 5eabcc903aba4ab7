//! The index: all tools, changed by one writer and read by searches (§16.4).

mod embedder_vectors;
mod finding;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use mgp_types::mgp::{NameStyle, ServerId, ServerState, ToolName};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use self::embedder_vectors::EmbeddingContext;
pub use self::finding::{Search, SearchHit, SearchResult};
use self::writer::{IndexChange, IndexWriter, ShownTools};
use crate::ServerTools;
use crate::embed::{Embedder, VectorStore};
use crate::keyword::{KeywordReader, KeywordWriter};
use crate::server_tools::Server;
use crate::slot::{ChunkedVec, Slot, Slots, slots_of_chunk};
use crate::tool::Tool;
use crate::vector::Vectors;

/// All tools of all servers, to be searched.
///
/// The index is a handle: copies share the tools. Changes are made by a thread of the index, which ends with the last
/// handle; searches read the last complete [`Snapshot`] and never wait.
#[derive(Debug, Clone)]
pub struct Index {
    current: Arc<ArcSwap<Snapshot>>,
    /// The number of changes that are not visible yet.
    pending: Arc<AtomicUsize>,
    changes: mpsc::Sender<IndexChange>,
}

/// The time for which a search waits for changes to be visible.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The number of changes that wait for the writer; further callers wait.
const MAX_WAITING: usize = 1024;

impl Index {
    /// Creates an index without tools, whose vectors `embedder` makes, and no store keeps.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self::with_vectors(embedder, None)
    }

    /// Creates an index without tools, whose vectors `embedder` makes or trusted servers send. Vectors that take long to make
    /// lie in `store`; without one each index makes them anew.
    ///
    /// Within a tokio runtime, vectors that take long to make are made by a task of that runtime, for as long as both
    /// live; outside of one, by a thread of the index.
    ///
    /// # Panics
    /// The function panics where the system starts no thread.
    pub fn with_vectors(embedder: Arc<dyn Embedder>, store: Option<Arc<dyn VectorStore>>) -> Self {
        let mut words = KeywordWriter::new().expect("the system can start threads");
        let no_words = words.commit().expect("an index in memory has no files that could fail");
        let current = Arc::new(ArcSwap::from_pointee(Snapshot::empty(no_words, Arc::clone(&embedder))));
        let (changes, queue) = mpsc::channel(MAX_WAITING);
        let runtime = Handle::try_current().ok();
        let surroundings = EmbeddingContext { store, runtime, changes: changes.downgrade() };
        let pending = Arc::<AtomicUsize>::default();
        let shown = ShownTools { current: Arc::clone(&current), pending: Arc::clone(&pending) };
        let writer = IndexWriter::new(shown, words, embedder, surroundings);
        std::thread::Builder::new()
            .name("mgp-toolindex".into())
            .spawn(move || writer.run(queue))
            .expect("the system can start a thread");
        Self { current, pending, changes }
    }

    /// Returns the current tools.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Returns the tools with all changes that were made before, unless that takes too long. A kernel that starts makes
    /// many at once.
    pub(crate) async fn up_to_date(&self) -> Arc<Snapshot> {
        if self.pending.load(Ordering::Acquire) > 0 {
            let _late = timeout(LONGEST_WAIT, self.settled()).await;
        }
        self.snapshot()
    }

    /// Searches the current tools.
    pub async fn search(&self, search: &Search<'_>) -> SearchResult {
        self.snapshot().search(search).await
    }

    /// Replaces a server and its tools.
    pub async fn put_server(&self, server: ServerTools) {
        self.send(IndexChange::Server(server)).await;
    }

    /// Removes a server with all its tools.
    pub async fn remove_server(&self, server: ServerId) {
        self.send(IndexChange::NoServer(server)).await;
    }

    /// Sets the state of a server.
    pub async fn set_state(&self, server: ServerId, state: ServerState) {
        self.send(IndexChange::State(server, state)).await;
    }

    /// Changes to another embedder. Until all of its vectors are made, searches use the old embedder with its vectors,
    /// and then both change at once. If the old one is instant and the new one is not, searches use the old one whenever
    /// many vectors of the new one are missing.
    pub async fn set_embedder(&self, embedder: Arc<dyn Embedder>) {
        self.send(IndexChange::Embedder(embedder)).await;
    }

    /// Waits until all tools have their vectors. This may take as long as the embedder cannot be reached.
    pub async fn embedded(&self) {
        let (done, embedded) = oneshot::channel();
        self.send(IndexChange::Embedded(done)).await;
        let _ended = embedded.await;
    }

    /// Waits until all earlier changes are visible.
    pub async fn settled(&self) {
        let (done, settled) = oneshot::channel();
        self.send(IndexChange::Settled(done)).await;
        let _ended = settled.await;
    }

    async fn send(&self, change: IndexChange) {
        self.pending.fetch_add(1, Ordering::AcqRel);
        // The thread takes changes for as long as there is a handle, and this is one.
        let _ended = self.changes.send(change).await;
    }
}

/// The tools at one time. A snapshot does not change.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// A number that is unique for each snapshot of an index.
    pub(crate) generation: u64,
    pub(crate) tools: ChunkedVec<Arc<Tool>>,
    pub(crate) servers: HashMap<ServerId, ServerSlots, RandomState>,
    pub(crate) count: usize,
    /// The tools of the servers that are connected, or starting: a call of such a tool waits.
    callable: Slots,
    /// The words of the tools.
    pub(crate) words: Arc<KeywordReader>,
    pub(crate) embedder: Arc<dyn Embedder>,
    /// The vectors of the tools, made by `embedder`.
    pub(crate) vectors: Vectors,
    /// The progress of another embedder, which is used once it has made its vectors.
    embedding: Option<EmbeddingProgress>,
}

/// The progress of an embedder that is not used yet, because it has not made the vectors of all tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmbeddingProgress {
    /// The number of tools that have their vectors.
    pub embedded: usize,
    /// The number of all tools.
    pub tools: usize,
}

/// A server, and the slots of its tools.
#[derive(Debug, Clone)]
pub(crate) struct ServerSlots {
    pub(crate) server: Server,
    pub(crate) slots: Arc<HashMap<ToolName, Slot, RandomState>>,
}

impl Snapshot {
    fn empty(words: Arc<KeywordReader>, embedder: Arc<dyn Embedder>) -> Self {
        let vectors = Vectors::new(embedder.dimension());
        Self {
            generation: 0,
            tools: ChunkedVec::new(),
            servers: HashMap::default(),
            count: 0,
            callable: Slots::default(),
            words,
            embedder,
            vectors,
            embedding: None,
        }
    }

    /// Returns the progress of another embedder that replaces the current one once it has made its vectors.
    pub const fn embedding(&self) -> Option<EmbeddingProgress> {
        self.embedding
    }

    /// Returns the number of tools.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no tools.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns all tools.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter().map(|(_, tool)| tool)
    }

    /// Returns the tool of this name of this server.
    pub fn tool(&self, server: &str, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(*self.servers.get(server)?.slots.get(name)?)
    }

    /// Returns a server.
    pub fn server(&self, server: &str) -> Option<&Server> {
        Some(&self.servers.get(server)?.server)
    }

    /// Returns the name that a model calls a tool by: its own, or with its server where another server has a tool of
    /// that name or the listing says so.
    pub fn shown_name(&self, tool: &Tool, style: NameStyle) -> String {
        let has_it_alone = || self.bearers(tool.name.as_str()).all(|other| other.server == tool.server);
        if !tool.is_qualified && has_it_alone() {
            return tool.name.to_string();
        }
        style.write(tool.server.as_str(), tool.name.as_str())
    }

    /// Returns the tool that a model calls by this name: its id, its own name if no other has it, or with its server in
    /// any style.
    pub fn called(&self, name: &str) -> Option<&Arc<Tool>> {
        let mut bearers = self.bearers(name);
        if let (Some(tool), None) = (bearers.next(), bearers.next()) {
            return Some(tool);
        }
        let mut dots = name.char_indices().filter(|(_, c)| *c == '.').map(|(at, _)| at);
        let by_id = dots.find_map(|at| self.tool(&name[..at], &name[at + 1..]));
        by_id.or_else(|| {
            self.tools().find(|tool| NameStyle::any_is(name, tool.server.as_str(), tool.name.as_str()))
        })
    }

    fn bearers(&self, name: &str) -> impl Iterator<Item = &Arc<Tool>> {
        self.servers.values().filter_map(move |listed| self.tools.get(*listed.slots.get(name)?))
    }
}

/// The tools of a [`Snapshot`] that an agent may see.
#[derive(Debug, Clone)]
pub struct VisibleTools {
    /// The tools for which the set was made, which share chunks with those of later snapshots.
    tools: ChunkedVec<Arc<Tool>>,
    visible: Slots,
    generation: u64,
}

impl VisibleTools {
    /// Creates the set by asking for each tool of a snapshot.
    pub fn of(snapshot: &Snapshot, sees: impl FnMut(&Tool) -> bool) -> Self {
        let (tools, visible) = (ChunkedVec::new(), Slots::default());
        Self { tools, visible, generation: 0 }.follow(snapshot, sees)
    }

    /// Returns the set for a later snapshot of the same index. `sees` is asked only where tools came, left or changed,
    /// so that the answers about all others must not have changed.
    pub fn follow(&self, snapshot: &Snapshot, mut sees: impl FnMut(&Tool) -> bool) -> Self {
        let tools = snapshot.tools.clone();
        let mut visible = self.visible.clone();
        let has_changed = |chunk: &usize| !self.tools.shares(*chunk, &tools);
        for slot in (0..tools.chunks()).filter(has_changed).flat_map(slots_of_chunk) {
            visible.set(slot, tools.get(slot).is_some_and(|tool| sees(tool)));
        }
        Self { tools, visible, generation: snapshot.generation }
    }

    /// Returns the number of visible tools.
    pub fn count(&self) -> usize {
        self.visible.len()
    }

    /// Returns whether the set was made of this snapshot; for another one it would be wrong.
    pub const fn is_of(&self, snapshot: &Snapshot) -> bool {
        self.generation == snapshot.generation
    }

    pub(crate) fn sees(&self, slot: Slot) -> bool {
        self.visible.contains(slot)
    }
}

#[cfg(test)]
mod embedding_tests;

#[cfg(test)]
mod tests;
