//! The writer thread of the index.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use mgp_types::mgp::{ServerId, ServerState, ToolName};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use super::embedder_vectors::{ActiveVectors, EmbedderVectors, EmbeddingContext};
use super::{ServerSlots, Snapshot};
use crate::embed::{Embedder, MadeVector, Passage, sent_along};
use crate::keyword::KeywordWriter;
use crate::server_tools::{Server, ToolText};
use crate::slot::Slot;
use crate::text::SketchBuilder;
use crate::tool::{ProposalRank, Tool};
use crate::{ServerTools, ToolListing, category};

/// The tools as everybody sees them, and the number of changes that nobody sees yet.
#[derive(Debug)]
pub(super) struct ShownTools {
    pub(super) current: Arc<ArcSwap<Snapshot>>,
    /// Vectors that are made meanwhile do not count.
    pub(super) pending: Arc<AtomicUsize>,
}

/// Makes all changes, one after the other, and publishes a snapshot when none is waiting.
#[derive(Debug)]
pub(super) struct IndexWriter {
    shown: ShownTools,
    next: Snapshot,
    free: Vec<Slot>,
    slots: u32,
    words: KeywordWriter,
    gists: SketchBuilder,
    lanes: ActiveVectors,
    /// The servers that sent useless vectors, each logged once.
    complained: HashSet<ServerId, RandomState>,
    awaiting_vectors: Vec<oneshot::Sender<()>>,
}

/// The time between two looks; no change waits for longer.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// The number of looks for finished merges after a change.
const LOOKS: u32 = 50;

/// The number of changes after which a snapshot is published, even if others wait.
const AT_ONCE: usize = 256;

impl IndexWriter {
    pub(super) fn new(
        shown: ShownTools,
        words: KeywordWriter,
        embedder: Arc<dyn Embedder>,
        surroundings: EmbeddingContext,
    ) -> Self {
        let next = Snapshot::clone(&shown.current.load());
        Self {
            shown,
            next,
            free: Vec::new(),
            slots: 0,
            words,
            gists: SketchBuilder::new(),
            lanes: ActiveVectors::new(embedder, surroundings),
            complained: HashSet::default(),
            awaiting_vectors: Vec::new(),
        }
    }

    /// Makes changes until the last handle is dropped.
    pub(super) fn run(mut self, mut changes: mpsc::Receiver<IndexChange>) {
        let mut waiting = Vec::new();
        while let Some(first) = self.next_change(&mut changes) {
            let mut change = Some(first);
            let (mut made, mut awaited) = (0, 0);
            while let Some(one) = change {
                made += 1;
                awaited += usize::from(!matches!(one, IndexChange::Made(..)));
                if let Some(settled) = self.make(one) {
                    waiting.push(settled);
                }
                change = if made < AT_ONCE { changes.try_recv().ok() } else { None };
            }
            self.lanes.all().for_each(EmbedderVectors::ask);
            self.lanes.change_if_complete();
            match self.words.commit() {
                Ok(words) => self.next.words = words,
                Err(error) => {
                    tracing::error!(%error, "tools are found by their old words: the word index failed");
                }
            }
            self.show();
            self.shown.pending.fetch_sub(awaited, Ordering::AcqRel);
            if self.lanes.are_complete() {
                waiting.append(&mut self.awaiting_vectors);
            } else {
                self.awaiting_vectors.retain(|waiting| !waiting.is_closed());
            }
            for settled in waiting.drain(..) {
                let _gone = settled.send(());
            }
        }
    }

    /// Waits for the next change. Meanwhile, merges of the word index are published.
    fn next_change(&mut self, changes: &mut mpsc::Receiver<IndexChange>) -> Option<IndexChange> {
        for _ in 0..LOOKS {
            match changes.try_recv() {
                Ok(change) => return Some(change),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => std::thread::sleep(BETWEEN_LOOKS),
            }
            if let Ok(Some(words)) = self.words.merged() {
                self.next.words = words;
                self.show();
            }
        }
        changes.blocking_recv()
    }

    fn make(&mut self, change: IndexChange) -> Option<oneshot::Sender<()>> {
        match change {
            IndexChange::Server(listed) => self.put_server(listed),
            IndexChange::NoServer(server) => self.remove_server(&server),
            IndexChange::State(server, state) => self.set_state(&server, state),
            IndexChange::Embedder(embedder) => self.set_embedder(embedder),
            IndexChange::Made(lane, made) => self.lanes.all().for_each(|other| other.take(lane, &made)),
            IndexChange::Embedded(embedded) => self.awaiting_vectors.push(embedded),
            IndexChange::Settled(settled) => return Some(settled),
        }
        None
    }

    fn put_server(&mut self, listed: ServerTools) {
        let ServerTools { server, tools } = listed;
        let old = self.next.servers.remove(&server.id);
        let mut old: HashMap<ToolName, Slot, RandomState> =
            old.map(|listed| Arc::unwrap_or_clone(listed.slots)).unwrap_or_default();
        let mut slots = HashMap::with_hasher(RandomState::default());
        for tool in &tools {
            if slots.contains_key(&tool.name) {
                tracing::warn!(server = %server.id, tool = %tool.name, "a second tool of this name is left out");
                continue;
            }
            let slot = old.remove(&tool.name).unwrap_or_else(|| self.fresh_slot());
            slots.insert(tool.name.clone(), slot);
            self.put(slot, tool, &server);
        }
        for slot in old.into_values() {
            self.clear(slot);
        }
        self.next.servers.insert(server.id.clone(), ServerSlots { server, slots: Arc::new(slots) });
    }

    fn remove_server(&mut self, server: &ServerId) {
        let Some(listed) = self.next.servers.remove(server) else { return };
        self.complained.remove(server);
        for slot in listed.slots.values() {
            self.clear(*slot);
        }
    }

    fn set_state(&mut self, server: &ServerId, state: ServerState) {
        let Some(listed) = self.next.servers.get_mut(server) else { return };
        listed.server.state = state;
        for slot in listed.slots.values() {
            self.next.callable.set(*slot, is_callable(state));
        }
    }

    fn put(&mut self, slot: Slot, listing: &ToolListing, server: &Server) {
        let text = ToolText::of(listing, server);
        let annotations = listing.members.get("annotations").and_then(|annotations| annotations.to().ok());
        let tool = Arc::new(Tool {
            server: server.id.clone(),
            name: listing.name.clone(),
            definition: listing.members.to_raw().detached(),
            categories: category::of(&text, &annotations.unwrap_or_default()),
            risk: listing.risk,
            permissions: listing.permissions.as_slice().into(),
            is_qualified: listing.is_qualified,
            standing: ProposalRank::of(&listing.members),
            gist: self.gists.of(&text.name, &text.description),
        });
        if let Err(error) = self.words.put(slot, &text) {
            tracing::error!(%error, tool = %tool.name, "a tool cannot be found by its words: the word index failed");
        }
        let passage = Passage::of(&text.server, &text.name, &text.description);
        for lane in self.lanes.all() {
            match sent(listing, &*lane.embedder, server, &mut self.complained) {
                Some(vector) => lane.put_vector(slot, &vector),
                None => lane.put(slot, &tool, &passage),
            }
        }
        self.next.count += usize::from(self.next.tools.get(slot).is_none());
        self.next.callable.set(slot, is_callable(server.state));
        self.next.tools.set(slot, Some(tool));
    }

    fn clear(&mut self, slot: Slot) {
        self.next.count -= usize::from(self.next.tools.get(slot).is_some());
        self.next.tools.set(slot, None);
        self.next.callable.set(slot, false);
        if let Err(error) = self.words.remove(slot) {
            tracing::error!(%error, "a removed tool still counts in the word index");
        }
        self.lanes.all().for_each(|lane| lane.clear(slot));
        self.free.push(slot);
    }

    fn fresh_slot(&mut self) -> Slot {
        self.free.pop().unwrap_or_else(|| {
            let slot = Slot(self.slots);
            self.slots += 1;
            slot
        })
    }

    fn set_embedder(&mut self, embedder: Arc<dyn Embedder>) {
        let lane = self.lanes.begin(embedder);
        for ServerSlots { server, slots } in self.next.servers.values() {
            let tools = slots.values().filter_map(|slot| Some((*slot, self.next.tools.get(*slot)?)));
            for (slot, tool) in tools {
                let listing = ToolListing::read(&tool.definition).ok();
                let sent =
                    listing.and_then(|listing| sent(&listing, &*lane.embedder, server, &mut self.complained));
                if let Some(vector) = sent {
                    lane.put_vector(slot, &vector);
                    continue;
                }
                let passage = Passage::of(server.id.as_str(), tool.name.as_str(), &tool.description());
                lane.put(slot, tool, &passage);
            }
        }
    }

    fn show(&mut self) {
        self.next.generation += 1;
        let mut snapshot = self.next.clone();
        let searched = self.lanes.searched(self.next.count);
        snapshot.embedder = Arc::clone(&searched.embedder);
        snapshot.vectors = searched.vectors.clone();
        snapshot.embedding = self.lanes.awaited(self.next.count);
        self.shown.current.store(Arc::new(snapshot));
    }
}

/// Returns whether tools of a server in this state can be called. While it starts, calls wait.
const fn is_callable(state: ServerState) -> bool {
    matches!(state, ServerState::Connected | ServerState::Connecting)
}

/// Returns the vector that a server sent with a tool, if it may and can be used.
fn sent(
    listing: &ToolListing,
    embedder: &dyn Embedder,
    server: &Server,
    complained: &mut HashSet<ServerId, RandomState>,
) -> Option<Vec<f32>> {
    if !server.has_trusted_vectors {
        return None;
    }
    let sent = sent_along(&listing.hints, embedder)?.inspect_err(|error| {
        if complained.insert(server.id.clone()) {
            tracing::warn!(server = %server.id, tool = %listing.name, error, "a vector that a server sent is not used");
        }
    });
    sent.ok()
}

/// A change for the writer.
#[derive(Debug)]
pub(super) enum IndexChange {
    Server(ServerTools),
    NoServer(ServerId),
    State(ServerId, ServerState),
    Embedder(Arc<dyn Embedder>),
    /// The vectors that the background of the lane with this number made.
    Made(u64, Vec<MadeVector>),
    /// A request to answer once all earlier changes are visible.
    Settled(oneshot::Sender<()>),
    /// A request to answer once all tools have their vectors.
    Embedded(oneshot::Sender<()>),
}
