//! The vectors of one embedder for all tools.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use foldhash::fast::RandomState;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::EmbeddingProgress;
use super::writer::IndexChange;
use crate::Tool;
use crate::embed::{
    self, BackgroundEmbedding, Embedder, MadeVector, MissingVector, Passage, PassageHash, VectorStore,
};
use crate::slot::Slot;
use crate::vector::Vectors;

/// The vectors that one embedder makes of the tools.
///
/// Instant vectors are made at once. Others are made in the background, and until then a tool has the vector that it
/// had before its change, or none.
#[derive(Debug)]
pub(super) struct EmbedderVectors {
    number: u64,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) vectors: Vectors,
    surroundings: EmbeddingContext,
    /// The vectors that the background was asked for.
    asked: HashMap<Slot, AskedVector, RandomState>,
    unanswered: usize,
    /// The vectors that the background is still to be asked for.
    fresh: Vec<MissingVector>,
    background: Option<BackgroundEmbedding>,
}

/// The parts of the index that the background works with.
#[derive(Debug, Clone)]
pub(super) struct EmbeddingContext {
    pub(super) store: Option<Arc<dyn VectorStore>>,
    pub(super) runtime: Option<Handle>,
    /// The way to hand vectors in. The sender is weak, or the background would keep the index alive.
    pub(super) changes: mpsc::WeakSender<IndexChange>,
}

#[derive(Debug)]
struct AskedVector {
    hash: PassageHash,
    answered: bool,
}

impl EmbedderVectors {
    pub(super) fn new(number: u64, embedder: Arc<dyn Embedder>, surroundings: EmbeddingContext) -> Self {
        let vectors = Vectors::new(embedder.dimension());
        Self {
            number,
            embedder,
            vectors,
            surroundings,
            asked: HashMap::default(),
            unanswered: 0,
            fresh: Vec::new(),
            background: None,
        }
    }

    /// Adds a tool that is new or has changed.
    pub(super) fn put(&mut self, slot: Slot, tool: &Arc<Tool>, passage: &Passage) {
        if tool.gist.is_empty() {
            // The old vector would be near to queries as empty as this text.
            self.clear(slot);
            return;
        }
        let now = passage.texts().map(|text| self.embedder.embed_now(text));
        if let Some(vectors) = now.collect::<Option<Vec<_>>>() {
            self.set(slot, Passage::vector(&vectors).as_deref());
            return;
        }
        let hash = passage.hash();
        let asked = self.asked.get(&slot);
        if asked.is_some_and(|asked| asked.hash == hash) {
            return;
        }
        if asked.is_none_or(|asked| asked.answered) {
            self.unanswered += 1;
        }
        self.asked.insert(slot, AskedVector { hash, answered: false });
        self.fresh.push(MissingVector { slot, hash, tool: Arc::clone(tool), failures: 0 });
    }

    /// Sets the vector of a tool, whoever made it.
    pub(super) fn put_vector(&mut self, slot: Slot, vector: &[f32]) {
        self.forget(slot);
        self.set(slot, Some(vector));
    }

    /// Removes the vector of a tool that is gone.
    pub(super) fn clear(&mut self, slot: Slot) {
        self.forget(slot);
        self.vectors.clear(slot);
    }

    /// Takes the vectors that the background of the lane with this number made, unless a tool has changed meanwhile.
    pub(super) fn take(&mut self, number: u64, made: &[MadeVector]) {
        if number != self.number {
            return;
        }
        for MadeVector { slot, hash, vector } in made {
            if let Some(asked) = self.asked.get_mut(slot)
                && asked.hash == *hash
                && !asked.answered
            {
                asked.answered = true;
                self.unanswered -= 1;
                self.set(*slot, vector.as_deref());
            }
        }
    }

    /// Asks the background for the missing vectors.
    pub(super) fn ask(&mut self) {
        let Self { number, embedder, surroundings, asked, fresh, background, .. } = self;
        // A tool that changed twice was noted twice, and a tool that is gone again is not to be embedded.
        fresh.retain(|lacking| asked.get(&lacking.slot).is_some_and(|asked| asked.hash == lacking.hash));
        if !fresh.is_empty() {
            let background = background.get_or_insert_with(|| start(*number, embedder, surroundings));
            background.queue.extend(fresh.drain(..));
        }
    }

    /// Returns whether all tools have their vectors.
    pub(super) const fn is_complete(&self) -> bool {
        self.unanswered == 0
    }

    /// Returns whether vectors are made at once.
    fn is_instant(&self) -> bool {
        self.embedder.embed_now("").is_some()
    }

    fn forget(&mut self, slot: Slot) {
        let Some(asked) = self.asked.remove(&slot) else { return };
        if !asked.answered {
            self.unanswered -= 1;
            if let Some(background) = &self.background {
                background.queue.forget(slot);
            }
        }
    }

    fn set(&mut self, slot: Slot, vector: Option<&[f32]>) {
        let Some(vector) = vector else {
            self.vectors.clear(slot);
            return;
        };
        if !self.vectors.set(slot, vector) {
            self.vectors.clear(slot);
            let (embedder, dimension) = (self.embedder.id(), self.embedder.dimension());
            let length = vector.len();
            tracing::warn!(embedder, dimension, length, "a tool has no vector of finite numbers");
        }
    }
}

fn start(number: u64, embedder: &Arc<dyn Embedder>, surroundings: &EmbeddingContext) -> BackgroundEmbedding {
    let changes = surroundings.changes.clone();
    let hand_over = Box::new(move |made| -> mgp_types::BoxFuture<'static, ()> {
        let changes = changes.upgrade();
        Box::pin(async move {
            if let Some(changes) = changes {
                // If the index ended meanwhile, the vectors are not needed.
                let _ended = changes.send(IndexChange::Made(number, made)).await;
            }
        })
    });
    let lane = embed::EmbeddingBackend {
        embedder: Arc::clone(embedder),
        store: surroundings.store.clone(),
        hand_over,
    };
    BackgroundEmbedding::start(lane, surroundings.runtime.as_ref())
}

/// One tool in so many may be without its vector, or have that of an earlier definition, before searches turn to others.
const FEW: usize = 8;

/// The vectors that are searched, and the vectors that replace them once they are complete.
#[derive(Debug)]
pub(super) struct ActiveVectors {
    current: EmbedderVectors,
    coming: Option<EmbedderVectors>,
    /// The instant vectors that were searched before the current ones. They are searched again whenever many of these
    /// are missing, as while the servers of a program that has just started list their tools.
    stand_in: Option<EmbedderVectors>,
    begun: u64,
    surroundings: EmbeddingContext,
}

impl ActiveVectors {
    pub(super) fn new(embedder: Arc<dyn Embedder>, surroundings: EmbeddingContext) -> Self {
        let current = EmbedderVectors::new(0, embedder, surroundings.clone());
        Self { current, coming: None, stand_in: None, begun: 0, surroundings }
    }

    /// Begins to collect the vectors of another embedder. An earlier collection that is not complete is dropped.
    pub(super) fn begin(&mut self, embedder: Arc<dyn Embedder>) -> &mut EmbedderVectors {
        self.begun += 1;
        self.coming.insert(EmbedderVectors::new(self.begun, embedder, self.surroundings.clone()))
    }

    /// Returns all lanes, which have to know of each change.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut EmbedderVectors> {
        std::iter::once(&mut self.current).chain(self.coming.as_mut()).chain(self.stand_in.as_mut())
    }

    /// Replaces the current vectors by the coming ones if these are complete.
    pub(super) fn change_if_complete(&mut self) {
        if let Some(complete) = self.coming.take_if(|lane| lane.is_complete()) {
            let before = mem::replace(&mut self.current, complete);
            if self.current.is_instant() {
                self.stand_in = None;
            } else if before.is_instant() {
                self.stand_in = Some(before);
            }
        }
    }

    /// Returns the vectors to search among this number of tools.
    pub(super) fn searched(&self, tools: usize) -> &EmbedderVectors {
        let is_patchy = self.current.unanswered > tools / FEW;
        self.stand_in.as_ref().filter(|_| is_patchy).unwrap_or(&self.current)
    }

    /// Returns the progress of an embedder that is to be used and is not yet, among this number of tools.
    pub(super) fn awaited(&self, tools: usize) -> Option<EmbeddingProgress> {
        let is_standing_in = !std::ptr::eq(self.searched(tools), &raw const self.current);
        let awaited = self.coming.as_ref().or_else(|| is_standing_in.then_some(&self.current))?;
        Some(EmbeddingProgress { embedded: tools.saturating_sub(awaited.unanswered), tools })
    }

    /// Returns whether all tools have their vectors.
    pub(super) const fn are_complete(&self) -> bool {
        self.coming.is_none() && self.current.is_complete()
    }
}
