use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::change::Change;
use crate::Tool;
use crate::embed::{self, Background, Embedder, Lacking, Made, Passage, PassageHash, Purpose, VectorStore};
use crate::slot::Slot;
use crate::vector::Vectors;

/// The vectors that one embedder makes of the tools.
///
/// If it is instant they are made here and now. If not they are made in the background, and until then a tool has the
/// vector that it had before it changed, or none.
#[derive(Debug)]
pub(super) struct Lane {
    number: u64,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) vectors: Vectors,
    surroundings: Surroundings,
    /// What the background was asked for.
    asked: HashMap<Slot, Asked, RandomState>,
    unanswered: usize,
    /// What the background is still to be asked for.
    fresh: Vec<Lacking>,
    background: Option<Background>,
}

/// What the background works with.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    pub(super) store: Option<Arc<dyn VectorStore>>,
    pub(super) runtime: Option<Handle>,
    /// Where vectors are handed in. It is a weak one, or the background would keep the index alive.
    pub(super) changes: mpsc::WeakSender<Change>,
}

#[derive(Debug)]
struct Asked {
    hash: PassageHash,
    answered: bool,
}

impl Lane {
    pub(super) fn new(number: u64, embedder: Arc<dyn Embedder>, surroundings: Surroundings) -> Self {
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

    /// A tool is new or has changed.
    pub(super) fn put(&mut self, slot: Slot, tool: &Arc<Tool>, passage: &Passage) {
        if tool.gist.is_empty() {
            // It would be near to whatever is asked in as empty words.
            self.clear(slot);
            return;
        }
        if let Some(vector) = self.embedder.embed_now(passage.text(), Purpose::Passage) {
            self.set(slot, embed::unit(&vector).as_deref());
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
        self.asked.insert(slot, Asked { hash, answered: false });
        self.fresh.push(Lacking { slot, hash, tool: Arc::clone(tool) });
    }

    /// A tool has this vector, whoever made it.
    pub(super) fn put_vector(&mut self, slot: Slot, vector: &[f32]) {
        self.forget(slot);
        self.set(slot, Some(vector));
    }

    /// A tool is gone.
    pub(super) fn clear(&mut self, slot: Slot) {
        self.forget(slot);
        self.vectors.clear(slot);
    }

    /// Takes what the background of the lane of this number made, unless the tool has changed meanwhile.
    pub(super) fn take(&mut self, number: u64, made: &[Made]) {
        if number != self.number {
            return;
        }
        for Made { slot, hash, vector } in made {
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

    /// Asks the background for what is not there yet.
    pub(super) fn ask(&mut self) {
        let Self { number, embedder, surroundings, asked, fresh, background, .. } = self;
        // A tool that changed twice was noted twice, and one that is gone again is not to be embedded.
        fresh.retain(|lacking| asked.get(&lacking.slot).is_some_and(|asked| asked.hash == lacking.hash));
        if !fresh.is_empty() {
            let background = background.get_or_insert_with(|| start(*number, embedder, surroundings));
            background.extend(fresh.drain(..));
        }
    }

    /// Whether all tools have the vectors that they are to have.
    pub(super) const fn is_complete(&self) -> bool {
        self.unanswered == 0
    }

    fn forget(&mut self, slot: Slot) {
        let Some(asked) = self.asked.remove(&slot) else { return };
        if !asked.answered {
            self.unanswered -= 1;
            if let Some(background) = &self.background {
                background.forget(slot);
            }
        }
    }

    fn set(&mut self, slot: Slot, vector: Option<&[f32]>) {
        let Some(vector) = vector else {
            self.vectors.clear(slot);
            return;
        };
        if let Err(error) = self.vectors.set(slot, vector) {
            self.vectors.clear(slot);
            tracing::warn!(%error, embedder = self.embedder.id(), "a tool has no vector");
        }
    }
}

fn start(number: u64, embedder: &Arc<dyn Embedder>, surroundings: &Surroundings) -> Background {
    let changes = surroundings.changes.clone();
    let hand_over = Box::new(move |made| -> mgp_types::BoxFuture<'static, ()> {
        let changes = changes.upgrade();
        Box::pin(async move {
            if let Some(changes) = changes {
                // If the index ended meanwhile, nobody needs them.
                let _ended = changes.send(Change::Made(number, made)).await;
            }
        })
    });
    let lane = embed::Lane { embedder: Arc::clone(embedder), store: surroundings.store.clone(), hand_over };
    Background::start(lane, surroundings.runtime.as_ref())
}
