//! An embedder for tests without a model: texts are alike as far as they share words.

use std::sync::atomic::{AtomicUsize, Ordering};

use mgp_types::BoxFuture;
use parking_lot::Mutex;

use super::{EmbedError, Embedder};

/// An embedder that gives each word a position of its own, modulo the dimension.
#[derive(Debug)]
pub(crate) struct HashedWords {
    id: String,
    dimension: usize,
    instant: bool,
    /// The number of calls that fail before one succeeds.
    pub(crate) failures: AtomicUsize,
    dislikes: Option<&'static str>,
    /// The texts of each call.
    pub(crate) calls: Mutex<Vec<Vec<String>>>,
}

impl HashedWords {
    pub(crate) fn new(dimension: usize) -> Self {
        Self {
            id: format!("hashed words {dimension}"),
            dimension,
            instant: true,
            failures: AtomicUsize::new(0),
            dislikes: None,
            calls: Mutex::default(),
        }
    }

    /// Creates an embedder that has no immediate vectors.
    pub(crate) fn slow(dimension: usize) -> Self {
        Self { instant: false, ..Self::new(dimension) }
    }

    /// Creates an embedder that fails where a text has this word.
    pub(crate) fn disliking(self, word: &'static str) -> Self {
        Self { dislikes: Some(word), ..self }
    }

    pub(crate) fn embedded(&self) -> usize {
        self.calls.lock().iter().map(Vec::len).sum()
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; self.dimension];
        for word in text.to_lowercase().split_whitespace() {
            let hash = word.bytes().fold(5381_usize, |hash, byte| hash.wrapping_mul(33) ^ usize::from(byte));
            vector[hash % self.dimension] += 1.0;
        }
        vector
    }
}

impl Embedder for HashedWords {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        let fails = self
            .failures
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok();
        let disliked = self.dislikes.is_some_and(|word| texts.iter().any(|text| text.contains(word)));
        let answer = if fails || disliked {
            Err(EmbedError::new("not now"))
        } else {
            Ok(texts.iter().map(|text| self.vector(text)).collect())
        };
        self.calls.lock().push(texts);
        Box::pin(async { answer })
    }

    fn embed_now(&self, text: &str) -> Option<Vec<f32>> {
        self.instant.then(|| self.vector(text))
    }
}

/// An embedder without vectors, for tests that do not search by meaning.
#[derive(Debug)]
pub(crate) struct NullEmbedder;

impl Embedder for NullEmbedder {
    fn id(&self) -> &'static str {
        "mute"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn embed(&self, _: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async { Err(EmbedError::new("it says nothing")) })
    }
}
