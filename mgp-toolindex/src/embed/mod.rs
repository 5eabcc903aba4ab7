//! Embedders, which turn text into vectors.

mod background;
mod choice;
#[cfg(feature = "fastembed")]
mod fastembed;
mod passage;
#[cfg(feature = "store")]
mod store;
mod table;

use std::fmt;

use mgp_types::BoxFuture;
use tokio::runtime::Handle;

pub(crate) use self::background::{BackgroundEmbedding, EmbeddingBackend, MadeVector, MissingVector};
pub use self::choice::{ChoiceError, EmbedderChoice};
#[cfg(feature = "fastembed")]
pub use self::fastembed::FastEmbedder;
#[cfg(test)]
pub(crate) use self::hashed_words::NullEmbedder;
pub use self::passage::PassageHash;
pub(crate) use self::passage::{Passage, sent_along};
#[cfg(feature = "store")]
pub use self::store::{SqliteVectors, StoreError};
pub use self::table::StaticEmbedder;

/// An embedder: turns text into vectors that are close where the meanings are.
pub trait Embedder: fmt::Debug + Send + Sync + 'static {
    /// Returns the id of the embedder: vectors are stored under this id, and compared only with others of the same.
    fn id(&self) -> &str;

    /// Returns the dimension of the vectors.
    fn dimension(&self) -> usize;

    /// Returns the vectors of texts, in their order; a text without meaning has the vector of zeros.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>>;

    /// Returns the vector of a text, if it is made in microseconds, so that no task has to wait for it. An embedder
    /// that can do this can do it with every text.
    fn embed_now(&self, _text: &str) -> Option<Vec<f32>> {
        None
    }

    /// Returns how much of a text its vectors express, from 0 to 1. A search by words and meaning lets the words decide
    /// about the rest.
    fn grasps(&self, _text: &str) -> f32 {
        1.0
    }
}

/// A store of vectors, so that no text is embedded twice.
///
/// The store is a cache: missing vectors are made anew, and vectors that it cannot take are lost. So it returns no
/// errors, and logs its problems. Its methods may take milliseconds; they are called off the async runtime.
pub trait VectorStore: fmt::Debug + Send + Sync + 'static {
    /// Returns the stored vectors that `embedder` made of these passages, in their order.
    fn get_many(&self, embedder: &str, of: &[PassageHash]) -> Vec<Option<Vec<f32>>>;

    /// Stores vectors that `embedder` made.
    fn put_many(&self, embedder: &str, vectors: &[(PassageHash, &[f32])]);
}

/// The reason why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EmbedError(Box<str>);

impl EmbedError {
    /// Creates an error with this reason.
    pub fn new(why: impl Into<Box<str>>) -> Self {
        Self(why.into())
    }
}

/// Does work that takes long beside the runtime, where there is one; `None` if it panicked, or the program is ending.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.ok(),
        Err(_) => Some(work()),
    }
}

/// Returns the first eight bytes of a digest in hexadecimal digits, for the id of an embedder.
fn short_hex(digest: &[u8]) -> String {
    String::from_utf8_lossy(&mgp_types::hex::<16>(digest)).into_owned()
}

/// Checks that an embedder returned one vector of this dimension for each text.
pub(crate) fn checked(
    vectors: Vec<Vec<f32>>,
    texts: usize,
    dimension: usize,
) -> Result<Vec<Vec<f32>>, EmbedError> {
    if vectors.len() != texts {
        return Err(EmbedError::new(format!("{texts} texts have {} vectors", vectors.len())));
    }
    if let Some(vector) = vectors.iter().find(|vector| vector.len() != dimension) {
        return Err(EmbedError::new(format!("a vector has {} numbers instead of {dimension}", vector.len())));
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err(EmbedError::new("a vector has numbers that are not finite"));
    }
    Ok(vectors)
}

#[cfg(test)]
pub(crate) mod hashed_words;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_cannot_be_right_are_refused() {
        let refused = |vectors: &[&[f32]]| {
            checked(vectors.iter().map(|vector| vector.to_vec()).collect(), 1, 2).unwrap_err().to_string()
        };
        assert_eq!(refused(&[]), "1 texts have 0 vectors");
        assert_eq!(refused(&[&[1.0]]), "a vector has 1 numbers instead of 2");
        assert_eq!(refused(&[&[1.0, f32::NAN]]), "a vector has numbers that are not finite");
        assert!(checked(vec![vec![1.0, 0.0]], 1, 2).is_ok());
    }
}
