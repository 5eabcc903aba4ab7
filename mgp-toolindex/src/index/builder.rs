use std::sync::Arc;

use super::Index;
use crate::embed::{Embedder, VectorStore};

/// Says how an [`Index`] is to be.
#[derive(Debug)]
#[must_use]
pub struct IndexBuilder {
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) store: Option<Arc<dyn VectorStore>>,
    pub(super) sent_vectors: SentVectors,
}

/// What becomes of vectors that servers send along with their tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "they are used, or they are not")]
pub enum SentVectors {
    /// Nothing: all vectors are made here.
    #[default]
    Ignored,
    /// They are used if the embedder in use made them, as the server says. A server that lies can make its tools near
    /// to whatever it likes, which cannot be seen from the vectors; so this is for servers that one trusts.
    Trusted,
}

impl IndexBuilder {
    pub(super) fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, store: None, sent_vectors: SentVectors::default() }
    }

    /// Where vectors are kept that take long to make; without it they are made anew by each index.
    pub fn store(mut self, store: impl VectorStore) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// What becomes of vectors that servers send along.
    pub const fn sent_vectors(mut self, sent_vectors: SentVectors) -> Self {
        self.sent_vectors = sent_vectors;
        self
    }

    /// An index without tools.
    ///
    /// Within a tokio runtime, vectors that take long to make are made by a task of that runtime, for as long as both
    /// live; outside of one, by a thread of the index.
    pub fn build(self) -> Index {
        Index::build(self)
    }
}
